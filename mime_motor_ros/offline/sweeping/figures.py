"""
What a sweep tells of a run: peaks, sums and last values, gathered block by block.

Blocks are those of `gathering.rollouts`: P points with the motors of each, n steps at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...drive import Active
from ...errors import MotorError, ParameterError
from ...sensing import NO_SENSORS
from ...settings import Settings
from ..gathering import rollout_motor, rollouts

Array = NDArray[Any]

ROWS = 4096
"""Steps of a block: with 16 points some MB."""
SATURATED = ~(Active.DEAD_ZONE | Active.GROUP_OFF)
"""The limits that take something of a command or a torque."""


class Block(NamedTuple):
    """Some steps of P points with m motors: arrays of shape (P, m, n) or (P, m, n, k)."""

    inertia: Array
    """J [kg m^2], of shape (P, m, 1), as the next two."""
    ratio: Array
    gear_inertia: Array
    """J_m [kg m^2]."""
    kept: dict[str, Array]

    def size(self, name: str, part: slice = slice(None)) -> Array:
        """Return the length of a vector that is summed over the motors: (P, n)."""
        x, y, z = np.moveaxis(self.kept[name][..., part], -1, 0).sum(axis=2)
        length: Array = np.sqrt(x * x + y * y + z * z)
        return length

    def rotor_energy(self) -> Array:
        """Return J/2 Omega^2, and of a drive's own rotor J_m/2 Omega_m^2 [J]."""
        spin, speed = self.kept['spin'], self.kept['speed']
        drive = spin + (self.ratio - 1.0) * speed
        return 0.5 * (self.inertia * spin * spin + self.gear_inertia * drive * drive)


class Figure(NamedTuple):
    """One figure of a run."""

    unit: str
    text: str
    how: str
    """max; last: of the last step; sum: of all steps, times dt; rms: over time."""
    keep: tuple[str, ...]
    """What of a rollout it is made of."""
    of: Callable[[Block], Array]
    of_motor: bool = True
    """Whether each motor has one, from (P, m, n); else it is of all together, from (P, n)."""
    needs: str = ''
    """armature or winding: without it a motor has none, NaN."""


def _size(name: str, part: slice = slice(None)) -> Callable[[Block], Array]:
    return lambda block: block.size(name, part)


def _magnitude(name: str) -> Callable[[Block], Array]:
    return lambda block: np.abs(block.kept[name])


def _itself(name: str) -> Callable[[Block], Array]:
    return lambda block: block.kept[name]


def _product(a: str, b: str, sign: float = 1.0) -> Callable[[Block], Array]:
    return lambda block: sign * block.kept[a] * block.kept[b]


def _of_wrench(name: str, kept: str, what: str) -> dict[str, Figure]:
    """Return the figures of a wrench on the mount, about its origin, of all motors together."""
    kinds = (('force', 'N', slice(0, 3)), ('torque', 'N m', slice(3, 6)))
    ways = (('peak', 'max', 'largest size'), ('rms', 'rms', 'root mean square size'))
    return {
        f'{word}_{name}_{kind}': Figure(
            unit, f'{words} of the {kind} of {what}', how, (kept,), _size(kept, part), False
        )
        for word, how, words in ways
        for kind, unit, part in kinds
    }


def _of_number(name: str, unit: str, what: str, needs: str = '') -> dict[str, Figure]:
    """Return peak and root mean square of a number that each motor has."""
    return {
        f'peak_{name}': Figure(
            unit, f'largest size of the {what}', 'max', (name,), _magnitude(name), needs=needs
        ),
        f'rms_{name}': Figure(
            unit, f'root mean square of the {what}', 'rms', (name,), _itself(name), needs=needs
        ),
    }


def _last(name: str, unit: str, what: str, needs: str = '') -> dict[str, Figure]:
    """Return the last value of a number that each motor has."""
    figure = Figure(unit, f'{what} at the end', 'last', (name,), _itself(name), needs=needs)
    return {f'final_{name}': figure}


POWER = ('torque', 'speed')
FIGURES: dict[str, Figure] = {
    **_of_wrench('mount', 'mount_wrench', 'what the mount would feel, (14)'),
    **_of_wrench('reaction', 'reaction', 'the reaction on the mount, (10)'),
    'peak_momentum': Figure(
        'N m s', 'largest size of the spin momentum of all rotors, (11)', 'max', ('momentum',),
        _size('momentum'), False,
    ),
    'final_momentum': Figure(
        'N m s', 'size of the spin momentum of all rotors at the end', 'last', ('momentum',),
        _size('momentum'), False,
    ),
    **_of_number('spin', 'rad/s', 'absolute spin'),
    **_last('spin', 'rad/s', 'absolute spin'),
    **_of_number('speed', 'rad/s', 'speed to the stator'),
    **_last('speed', 'rad/s', 'speed to the stator'),
    **_last('angle', 'rad', 'angle to the stator'),
    **_of_number('torque', 'N m', 'torque of the drive'),
    'peak_power': Figure(
        'W', 'largest size of torque times speed of the drive', 'max', POWER,
        lambda block: np.abs(block.kept['torque'] * block.kept['speed']),
    ),
    'drive_work': Figure(
        'J', 'torque times speed of the drive, over time', 'sum', POWER,
        _product('torque', 'speed'),
    ),
    'friction_heat': Figure(
        'J', 'heat of the bearing', 'sum', ('friction_torque', 'speed'),
        _product('friction_torque', 'speed', -1.0),
    ),
    'peak_rotor_energy': Figure(
        'J', "largest energy of the spin, that of the drive's own rotor with it", 'max',
        ('spin', 'speed'), Block.rotor_energy,
    ),
    'final_rotor_energy': Figure(
        'J', 'the same at the end', 'last', ('spin', 'speed'), Block.rotor_energy,
    ),
    **_of_number('current', 'A', 'current', 'armature'),
    **_of_number('voltage', 'V', 'voltage', 'armature'),
    'electrical_energy': Figure(
        'J', 'voltage times current, over time', 'sum', ('voltage', 'current'),
        _product('voltage', 'current'), needs='armature',
    ),
    'peak_temperature': Figure(
        'deg C', 'highest temperature of the winding', 'max', ('temperature',),
        _itself('temperature'), needs='winding',
    ),
    **_last('temperature', 'deg C', 'temperature of the winding', 'winding'),
    'saturation_time': Figure(
        's', 'time in which a limit takes of the command or the torque', 'sum', ('limits',),
        lambda block: (block.kept['limits'] & int(SATURATED)) != 0,
    ),
}  # fmt: skip
"""All that may be asked for."""
DEFAULT = (
    'peak_mount_force',
    'peak_mount_torque',
    'peak_momentum',
    'peak_spin',
    'final_spin',
    'peak_torque',
    'drive_work',
    'friction_heat',
    'peak_temperature',
    'saturation_time',
)


def chosen(names: Sequence[str]) -> list[Figure]:
    """
    Return figures by name.

    Raises
    ------
    ParameterError
        If there is none of a name.

    """
    for name in names:
        if name not in FIGURES:
            near = get_close_matches(name, FIGURES, 1)
            hint = f'Did you mean {near[0]}?' if near else f'There are {", ".join(FIGURES)}.'
            raise ParameterError('figures', 'names of figures', repr(name), hint)
        if list(names).count(name) > 1:
            raise ParameterError('figures', 'names, each once', repr(name))
    return [FIGURES[name] for name in names]


def suffix(unit: str) -> str:
    """Return a unit as the end of a column's name: kg m^2 is kg_m2, rad/s rad_s."""
    return unit.replace('^', '').replace(' ', '_').replace('/', '_').lower()


def columns(names: Sequence[str], motors: Sequence[str]) -> list[str]:
    """Return the names of the columns of figures, with units: first those of all together."""
    made = []
    for whose in ('', *motors):
        for name, figure in zip(names, chosen(names), strict=True):
            if figure.of_motor == bool(whose):
                unit = suffix(figure.unit)
                made.append(f'{whose}.{name}_{unit}' if whose else f'{name}_{unit}')
    return made


def measure(of: Sequence[Settings], rows: Array, names: Sequence[str]) -> Array:
    """
    Run points through what was gathered; return their figures, a row of `columns` each.

    Where the numbers of a point grow beyond computing, its figures are NaN.

    Parameters
    ----------
    of
        The settings of P points, which differ in nothing that was gathered.
    rows
        Of `gathering.row_type`.
    names
        Of FIGURES.

    """
    try:
        with np.errstate(over='ignore', invalid='ignore'):
            return _measure(of, rows, chosen(names))
    except ParameterError:  # not of the numbers: a mistake
        raise
    except MotorError:
        if len(of) > 1:
            return np.concatenate([measure([one], rows, names) for one in of])
        return np.full((1, len(columns(names, [x.name for x in of[0].motors]))), np.nan)


def _measure(of: Sequence[Settings], rows: Array, figures: Sequence[Figure]) -> Array:
    motors = [motor for one in of for motor in one.motors]
    shape = (len(of), len(of[0].motors))

    def constant(values: Iterable[float]) -> Array:
        return np.array(list(values)).reshape(*shape, 1)

    inertia = constant(motor.model.inertia for motor in motors)
    ratio = constant(motor.model.gear.ratio for motor in motors)
    gear_inertia = constant(motor.model.gear.inertia for motor in motors)
    found = [
        np.full(shape if x.of_motor else shape[:1], -np.inf if x.how == 'max' else 0.0)
        for x in figures
    ]
    total = 0.0
    blocks = (rows[first : first + ROWS] for first in range(0, len(rows), ROWS))
    for given, made in rollouts(
        [rollout_motor(motor)._replace(sensors=NO_SENSORS) for motor in motors],
        [motor.initial for motor in motors],
        blocks,
        sorted({name for figure in figures for name in figure.keep}),
        threads=1,
    ):
        dt = np.ascontiguousarray(given['dt'])
        total += float(dt.sum())
        kept = {name: made[name].reshape(*shape, *made[name].shape[1:]) for name in made}
        block = Block(inertia, ratio, gear_inertia, kept)
        for k, figure in enumerate(figures):
            found[k] = _joined(figure.how, found[k], figure.of(block), dt)
    columns = []
    has = {
        '': np.ones(shape, bool),
        'armature': constant(x.drive.armature is not None for x in motors)[..., 0],
        'winding': constant(not x.drive.winding.is_none for x in motors)[..., 0],
    }
    for figure, value in zip(figures, found, strict=True):
        if figure.how == 'rms':
            value = np.sqrt(value / total)
        columns.append(np.where(has[figure.needs], value, np.nan) if figure.of_motor else value)
    whole = [x[:, None] for x, figure in zip(columns, figures, strict=True) if not figure.of_motor]
    each = [
        x[:, i, None]
        for i in range(shape[1])
        for x, figure in zip(columns, figures, strict=True)
        if figure.of_motor
    ]
    return np.concatenate([*whole, *each], axis=1)


def _joined(how: str, before: Array, values: Array, dt: Array) -> Array:
    """Return what a figure is with the values of one block more."""
    joined: Array
    if how == 'max':
        joined = np.maximum(before, values.max(axis=-1))
    elif how == 'last':
        joined = values[..., -1].copy()
    else:
        joined = before + ((values * values if how == 'rms' else values) * dt).sum(axis=-1)
    return joined
