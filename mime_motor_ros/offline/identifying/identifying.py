"""From recordings to the parameters of a motor: `identify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ...errors import MotorError, ParameterError
from . import condition, excitation
from .condition import Stretch
from .confidence import covariance
from .excitation import Flag, MISSING, words
from .fit import IN_LOG, NOT_NEGATIVE, Problem, search
from .logs import Array, Log
from .rolling import NAMES, Segment, Signals, signals, simulated, UNITS


class IdentifyError(MotorError):
    """Recordings tell nothing of a motor; the text names the excitation that is missing."""


@dataclass(frozen=True)
class Identified:
    """What recordings tell of a motor; SI units."""

    values: dict[str, float | None]
    """By name of NAMES; None: neither found nor given."""
    standard_errors: dict[str, float]
    """Of what was found."""
    free: tuple[str, ...]
    """Names of what was found, in the order of `correlations`."""
    correlations: Array
    """Of what was found, (p, p)."""
    flags: tuple[Flag, ...]
    residual: float
    """Root of the mean square of measured less simulated [rad/s], or [rad] of positions."""
    logs: tuple[Log, ...]
    segments: tuple[Segment, ...]
    rolled: tuple[Array, ...]
    """By segment what the rollout gives at its rows but the first."""
    measured: tuple[Array, ...]
    """By segment what was measured there."""
    of_speed: bool
    excluded: tuple[Stretch, ...]


def identify(
    logs: Log | Sequence[Log],
    *,
    known: Mapping[str, float] | None = None,
    guess: Mapping[str, float] | None = None,
    max_delay: float = 0.05,
    segment: float | None = None,
    output: str = 'auto',
    torque_limit: float = 0.0,
    load_angle: float = 0.0,
    mount_arm: float = 0.0,
    of_current: bool = False,
) -> Identified:
    """
    Find the parameters of one motor with which its rollout gives what was measured.

    Parameters
    ----------
    logs : Log, or a sequence of them
        Recordings of the same motor: parameters are shared, how each begins is its own.
    known : by name of NAMES
        What is not searched for. `torque_scale` is 1 unless `inertia` or `load` is known.
    guess : by name of NAMES
        Where a search starts, beside those that the recordings suggest.
    max_delay : [s]
        Longest command delay that is tried.
    segment : [s]
        A recording is simulated in pieces of about this length, each from a start of its own.
        None: 1 s of speeds; 4 s of positions, which follow the torque more slowly.
    output : `auto`, `speed` or `position`
        What the rollout is held against; auto: positions where all recordings have them.
    torque_limit : [N m], 0: none
        Where the torque is a command: from here on the drive does not follow.
    load_angle : [rad]
        Angle at which the load hangs down.
    mount_arm : [m]
        Distance of the axis from the one about which the mount turns; see `rolling.signals`.
    of_current : bool
        The torque of the logs is a current [A]: `torque_scale` is the torque constant [N m/A].

    Returns
    -------
    Identified

    Raises
    ------
    IdentifyError
        If the recordings tell nothing: no motion, or a torque that never changes.
    ParameterError
        If an argument breaks its rule.

    """
    logs = [logs] if isinstance(logs, Log) else list(logs)
    fixed, guesses = dict(known or {}), dict(guess or {})
    for what, given in (('known', fixed), ('guess', guesses)):
        for name, value in given.items():
            check(f'{what} {name}', name, value)
    asked = 1.0 if segment is None else segment
    for name, value in (('max_delay', max_delay), ('segment', asked)):
        if not 0.0 < value < float('inf'):
            raise ParameterError(name, 'finite and > 0 s', value)
    if output not in ('auto', 'speed', 'position'):
        raise ParameterError('output', 'auto, speed or position', repr(output))
    if not logs:
        raise ParameterError('logs', 'at least one recording', '[]')
    max_delay = max(max_delay, fixed.get('command_delay', 0.0))
    made = [signals(log, output, load_angle, mount_arm, _all(logs, 'position')) for log in logs]
    free, notes = _told(logs, made, fixed, of_current)
    length = segment or (1.0 if made[0].of_speed else 4.0)

    out = [
        stretch
        for i, one in enumerate(made)
        for stretch in condition.beyond(
            np.diff(one.impulse) / one.dt, torque_limit or float('inf'), i, _rows(one, max_delay)
        )
    ]
    suspected = [x for i, one in enumerate(made) for x in condition.plateaus(one, i)]

    def solved(names: tuple[str, ...], left_out: list[Stretch]) -> tuple[Problem, Array]:
        pieces = [
            x for i, one in enumerate(made) for x in condition.segments(one, i, left_out, length)
        ]
        if not pieces:
            raise IdentifyError(
                'Nothing is left of the recordings without their saturated stretches. Record '
                'motion below the limits of the drive.'
            )
        problem = Problem(made, pieces, names, fixed, max_delay)
        return problem, search(problem, guesses)

    problem, x = solved(free, out + suspected)
    if suspected:
        values = problem.values(x)
        truly = [s for s in suspected if _goes_on(made[s.log], s, values)]
        out += truly
        if len(truly) < len(suspected):
            problem, x = solved(free, out)
    while name := excitation.blind(problem.jacobian(x), free):
        if len(free) == 1:
            raise IdentifyError(f'The recordings tell nothing: record {MISSING[name]}.')
        free = tuple(n for n in free if n != name)
        text = f'{words(name)} cannot be told and is left out. Record {MISSING[name]}.'
        notes.append(Flag('not_told', (name,), text))
        problem, x = solved(free, out)
    return _identified(logs, problem, x, out, notes)


def check(label: str, name: str, value: float) -> None:
    """Raise ParameterError unless a value is one that a parameter of NAMES can have."""
    if name not in NAMES:
        raise ParameterError(label, f'one of {", ".join(NAMES)}', name)
    unit = UNITS[name]
    if name in IN_LOG and not 0.0 < value < float('inf'):
        raise ParameterError(label, f'finite and > 0 {unit}', value)
    if name in NOT_NEGATIVE and not 0.0 <= value < float('inf'):
        raise ParameterError(label, f'finite and >= 0 {unit}', value)
    if not isfinite(value):
        raise ParameterError(label, f'a finite number [{unit}]', value)


def _all(logs: Sequence[Log], name: str) -> bool:
    return all(getattr(log, name) is not None for log in logs)


def _rows(one: Signals, seconds: float) -> int:
    return round(seconds / float(np.median(one.dt)))


def _told(
    logs: Sequence[Log],
    made: Sequence[Signals],
    fixed: Mapping[str, float],
    of_current: bool,
) -> tuple[tuple[str, ...], list[Flag]]:
    """Return what can be searched for in recordings at all, and what not and why."""
    torques = np.concatenate([np.diff(one.impulse) / one.dt for one in made])
    speeds = np.concatenate([one.speed for one in made])
    if max(map(len, logs)) < 2 * condition.SHORTEST:
        raise IdentifyError('A recording must have at least 24 samples to tell something.')
    if not np.ptp(speeds) > 0.0:
        raise IdentifyError(
            'The speed never changes, so nothing can be told. Record a torque that speeds the '
            'rotor up and slows it down.'
        )
    if not np.ptp(torques) > 1e-9 * float(np.abs(torques).max()):
        raise IdentifyError(
            'The torque never changes, so inertia, friction and delay cannot be told. Record '
            'steps of torque.'
        )
    free, notes = [n for n in NAMES if n not in fixed], []

    def drop(code: str, name: str, text: str) -> None:
        if name in free:
            free.remove(name)
            notes.append(Flag(code, (name,), text))

    if not (fixed.get('inertia') or fixed.get('load')):
        if of_current and 'torque_scale' in free:
            raise IdentifyError(
                'Current and motion alone give inertia and friction over the torque constant. '
                'Give --known torque_scale=... [N m/A], --known inertia=... or --known load=...'
            )
        drop(
            'scale_fixed',
            'torque_scale',
            'torque and speed alone give inertia, friction and load over the torque scale: it is '
            'taken as 1. Give --known inertia=... or --known load=... to find it.',
        )
    if any(one.lever is None for one in made):
        drop(
            'no_angle',
            'load',
            'a load m g l is not looked for without an angle. Record the position, through a '
            'turn of the arm.',
        )
        if fixed.get('load'):
            raise IdentifyError(
                'A known load needs the angle it hangs at: record the position as well.'
            )
    if not any(condition.directions(one) for one in made):
        drop(
            'one_direction',
            'offset',
            'it turns one way only: an offset of the torque cannot be told from dry friction and '
            'is taken as 0. Record the same motion both ways.',
        )
    return tuple(free), notes


def _goes_on(one: Signals, stretch: Stretch, values: dict[str, float]) -> bool:
    """Tell whether a model would have turned clearly faster than a recording that stood still."""
    row = Segment(stretch.log, stretch.start, stretch.stop)
    (rolled,) = simulated(one, row, [values], [(0.0, stretch.value)], speed=True)
    ahead = np.sign(stretch.value) * (rolled - stretch.value)
    return bool(np.median(ahead) > 0.05 * abs(stretch.value))


def _identified(
    logs: Sequence[Log],
    problem: Problem,
    x: Array,
    out: Sequence[Stretch],
    notes: Sequence[Flag],
) -> Identified:
    free, p = problem.free, len(problem.free)
    lengths = [s.stop - s.start - 1 for s in problem.segments]
    C = covariance(problem.residual(x), problem.jacobian(x), lengths)[:p, :p]
    found = problem.values(x)
    errors = np.sqrt(np.diag(C))
    correlations = C / np.outer(errors, errors)
    natural = {
        n: float(e * (found[n] if n in IN_LOG else 1.0)) for n, e in zip(free, errors, strict=True)
    }
    for name in free:
        if name in NOT_NEGATIVE and found[name] < 0.05 * natural[name]:
            found[name] = 0.0
    raw = problem.raw(x)
    measured = [problem.signals[s.log].measured[s.start + 1 : s.stop] for s in problem.segments]
    values: dict[str, float | None] = {
        n: found[n] if n in free or n in problem.known or n != 'load' else None for n in NAMES
    }
    told = [_saturated(logs, stretch) for stretch in out]
    told += [*notes, *excitation.flags(free, found, natural, correlations, problem.max_delay)]
    return Identified(
        values,
        natural,
        free,
        correlations,
        tuple(told),
        float(np.sqrt(np.mean(np.concatenate(raw) ** 2))),
        tuple(logs),
        tuple(problem.segments),
        tuple(m - r for m, r in zip(measured, raw, strict=True)),
        tuple(measured),
        problem.signals[0].of_speed,
        tuple(out),
    )


def _saturated(logs: Sequence[Log], stretch: Stretch) -> Flag:
    log = logs[stretch.log]
    start, stop = log.time[stretch.start], log.time[stretch.stop - 1]
    if stretch.code == 'torque':
        text = f'the torque is at its limit, {stretch.value:.4g} N m'
    else:
        text = (
            f'the speed stays at {stretch.value:.4g} rad/s while the torque would drive it on, as '
            'at a limit of the drive'
        )
    where = f'{log.name}, {start:.4g} to {stop:.4g} s'
    hint = 'That stretch is left out; record below the limit.'
    return Flag('saturated', (), f'{where}: {text}. {hint}')


def as_dict(made: Identified) -> dict[str, Any]:
    """Return a result as plain numbers and texts, for JSON."""
    return {
        **made.values,
        'standard_errors': {n: made.standard_errors.get(n) for n in NAMES},
        'correlations': {
            a: {b: float(made.correlations[i, j]) for j, b in enumerate(made.free)}
            for i, a in enumerate(made.free)
        },
        'flags': [
            {'code': f.code, 'parameters': list(f.parameters), 'text': f.text} for f in made.flags
        ],
        'found': list(made.free),
        'residual': made.residual,
        'residual_unit': 'rad/s' if made.of_speed else 'rad',
        'recordings': [log.name for log in made.logs],
        'samples': int(sum(map(len, made.measured))),
    }
