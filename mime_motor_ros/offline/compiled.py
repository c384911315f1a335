"""
The table of a replay out of a rollout: the same columns, for where steps are compiled.

What every step is given is gathered by the session, as always; only the steps themselves are
taken by `rollout`. The sums of energy are made as `energy.Energy` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drive import Active
from ..errors import MotorError
from ..rollout import Rollout
from ..sensing import NO_FAULTS
from ..settings import MotorSettings, Settings
from ..vector import add, apply, conjugate, cross, dot, multiply, rotate, turned
from .gathering import Gathering, rollout_motor, rollouts
from .replaying import Replay

Array = NDArray[Any]
Vectors = Any  # three or four arrays, one for each number of a vector or quaternion

FED = ('velocity', 'position', 'integrated_velocity')
"""The modes in which a command by joint may have more than its own numbers."""
KEEP = (
    'angle',
    'spin',
    'speed',
    'torque',
    'friction_torque',
    'load_torque',
    'limits',
    'momentum',
    'reaction',
    'mount_wrench',
)
LARGEST = 1e90
"""Beyond it the session leaves out steps, see its rule 10; rather far below its bound."""
TOO_LARGE = 'The numbers grow beyond computing: commands, loads or gains are too large.'


def why_not(made: Replay) -> str:
    """Return why a replay cannot be had compiled, in one line; '' where it can."""
    chosen = made.settings
    sources = set(made.topics.values())
    if chosen.torque_limit < inf:
        return 'torque_limit makes the motors hang on each other'
    if any(source.endswith('_wrench') for source in sources):
        return 'loads may be given in axes of a rotor'
    for motor in chosen.motors:
        if motor.drive.mode in FED and 'joint_command' in sources:
            return f'commands to {motor.name} may be fed forward'
        told = motor.measured
        if not motor.sensors.is_none and (
            motor.faults != NO_FAULTS or told.delay or told.interval or told.max_delay
        ):
            return f'the sensors of {motor.name} tell late, now and then or wrongly'
    return ''


def compiled_replay(made: Replay) -> Iterator[list[Array]]:
    """
    Return the columns of `table.columns` of a replay, block by block, as arrays.

    Parameters
    ----------
    made
        A replay that nothing was taken from and of which `why_not` has nothing to say. Behind
        each block its ``session`` has counted what was read, but has no states.

    Raises
    ------
    MotorError
        If numbers grow beyond computing, where a session leaves out steps; `why_not` was not
        asked.

    """
    if why := why_not(made):
        raise MotorError(f'It cannot be compiled: {why}.')
    motors = made.settings.motors
    audits = [_Audit(motor) for motor in motors]
    gathering = Gathering(made)
    for rows, run in rollouts(
        [rollout_motor(motor) for motor in motors],
        [motor.initial for motor in motors],
        gathering,
        _keep(made.settings),
    ):
        largest = np.max([np.abs(run[name]).max() for name in KEEP])
        if not largest < LARGEST:
            raise MotorError(TOO_LARGE)
        yield _columns(made.settings, rows, run, audits)


def _keep(chosen: Settings) -> list[str]:
    keep = [*KEEP]
    if any(motor.drive.armature is not None for motor in chosen.motors):
        keep += ['current', 'voltage', 'temperature']
    if not all(motor.sensors.is_none for motor in chosen.motors):
        keep += ['measured_position', 'measured_speed', 'measured_torque']
    return keep


def _columns(chosen: Settings, rows: Array, run: Rollout, audits: Sequence[_Audit]) -> list[Array]:
    mount = _parts(rows['mount'])
    rate = _parts(rows['rate'])
    back = conjugate(mount[3:])
    made: list[Any] = [rows['stamp_ns'], rows['dt'], *mount, *rate]
    momentum: Any = (0.0, 0.0, 0.0)
    for i, motor in enumerate(chosen.motors):
        off = int(Active.GROUP_OFF) if motor.group in chosen.groups_off else 0
        made += [rows['command'][:, i], *(run[name][i] for name in KEEP[:6])]
        made.append(run['limits'][i] | off)
        if motor.drive.armature is not None:
            made += [run['current'][i], run['voltage'][i]]
        if not motor.drive.winding.is_none:
            made.append(run['temperature'][i])
        if not motor.sensors.is_none:
            made += [run[f'measured_{name}'][i] for name in ('position', 'speed', 'torque')]
        own = _parts(run['momentum'][i])
        made += rotate(back, own)
        made += audits[i].add(rows, {name: run[name][i] for name in KEEP}, mount, rate)
        momentum = add(momentum, own)
    for name in ('reaction', 'mount_wrench'):
        total = _parts(run[name][0])
        for i in range(1, len(chosen.motors)):
            other = _parts(run[name][i])
            total = tuple(a + b for a, b in zip(total, other, strict=True))
        made += rotate(back, total[:3])
        made += rotate(back, total[3:])
    return [*map(np.ascontiguousarray, made), *momentum]


def _parts(array: Array) -> Vectors:
    """Return the numbers of vectors by themselves, so that the functions of `vector` take them."""
    return tuple(np.ascontiguousarray(array.T))


class _Audit:
    """The sums of energy of one motor so far, as `Energy` has them."""

    def __init__(self, motor: MotorSettings) -> None:
        self._model = motor.model
        self._angle, self._spin = motor.initial
        self._drive_spin: float | None = None
        self._ended = 0
        self._sums = [0.0, 0.0, 0.0]

    def add(
        self, rows: Array, run: dict[str, Array], mount: Vectors, rate: Vectors
    ) -> list[Array]:
        """Return work, heat and what is stored [J] behind each step of some more."""
        dt, spin, speed = np.ascontiguousarray(rows['dt']), run['spin'], run['speed']
        old = np.concatenate([[self._spin], spin[:-1]])
        mean, drag = 0.5 * (old + spin), -run['friction_torque']
        driven = run['torque'] + run['load_torque'] + self._asymmetry(run, mount, rate)
        work = dt * (driven * mean - drag * (mean - speed))
        heat = dt * drag * speed
        gain = self._model.inertia * mean * (spin - old)
        n, J_m = self._model.gear
        if J_m:
            about = spin - speed
            after = about + n * speed
            before = np.concatenate([[0.0], after[:-1]])
            follows = self._drive_spin is not None and rows['start_ns'][0] == self._ended
            # Behind a time without steps it turns as the gear has it, at what the mount does now.
            before[0] = self._drive_spin if follows else about[0] + n * (old[0] - about[0])
            momentum, both = J_m * (after - before), 0.5 * (after + before)
            work += momentum * (both - n * mean)
            gain += momentum * both
            self._drive_spin = float(after[-1])
        self._ended = int(rows['stamp_ns'][-1])
        self._angle, self._spin = float(run['angle'][-1]), float(spin[-1])
        found = []
        for k, part in enumerate((work, heat, gain)):
            sums = np.cumsum(np.concatenate([[self._sums[k]], part]))[1:]
            self._sums[k] = float(sums[-1])
            found.append(sums)
        return found

    def _asymmetry(self, run: dict[str, Array], mount: Vectors, rate: Vectors) -> Any:
        """Return tau_q [N m]: equations (4), (5)."""
        Q_S, a = self._model._Q_S, self._model.axis
        if Q_S is None:
            return 0.0
        half = 0.5 * np.concatenate([[self._angle], run['angle'][:-1]])
        x, y, z, w = mount[3:]
        length = np.sqrt(x * x + y * y + z * z + w * w)
        R_WM: Any = (x / length, y / length, z / length, w / length)
        R_WS = multiply(R_WM, self._model.placement.orientation)
        turn: Any = (*(k * np.sin(half) for k in a), np.cos(half))
        e_W, Q_W = rotate(R_WS, a), turned(multiply(R_WS, turn), Q_S)
        return dot(cross(rate, e_W), apply(Q_W, rate))
