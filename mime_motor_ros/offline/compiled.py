"""
The table of a replay out of a rollout: the same columns, for where steps are compiled.

What every step is given is gathered by the session, as always; only the steps themselves are
taken by `rollout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drive import Active
from ..errors import MotorError
from ..rollout import Rollout, rollout
from ..sensing import NO_FAULTS
from ..settings import Settings
from ..vector import add, conjugate, rotate
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
    'work',
    'dissipated',
    'stored',
)
LARGEST = 1e90
"""Beyond it the session leaves out steps, see its rule 10; rather far below its bound."""
TOO_LARGE = 'The numbers grow beyond computing: commands, loads or gains are too large.'


class NotCompiled(MotorError):  # noqa: N818 - an answer, not an error
    """It was found on the way that only the session itself can do this one; why."""


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
    NotCompiled
        If numbers grow beyond computing, where a session leaves out steps; if the clock goes
        back, where it forgets; if `why_not` was not asked.

    """
    if why := why_not(made):
        raise NotCompiled(f'It cannot be compiled: {why}.')
    motors = made.settings.motors
    pieces = rollouts(
        [rollout_motor(motor) for motor in motors],
        [motor.initial for motor in motors],
        Gathering(made),
        _keep(made.settings),
    )
    try:
        for rows, run in pieces:
            if not _largest(rows, run) < LARGEST:
                raise NotCompiled(TOO_LARGE)
            if made.session.jumps:
                raise NotCompiled('The clock goes back.')
            yield _columns(made.settings, rows, run)
    except MotorError as error:
        raise NotCompiled(str(error)) from None


def compile_for(chosen: Settings) -> None:
    """Compile what these motors need, or load it: a few seconds in which nothing is made."""
    motors = [rollout_motor(motor) for motor in chosen.motors]
    rollout(motors, dt=1e-3, command=np.zeros(1), keep=_keep(chosen))


def _largest(rows: Array, run: Rollout) -> float:
    """Return the largest of all numbers, NaN where one is."""
    arrays = [rows['mount'], rows['rate'], *(run[name] for name in KEEP)]
    drives = [state.drive for state in run.state]
    arrays += [np.array([(x.integral, x.current, x.voltage, x.temperature) for x in drives])]
    return float(np.max([np.abs(array).max() for array in arrays]))


def _keep(chosen: Settings) -> list[str]:
    keep = [*KEEP]
    if any(motor.drive.armature is not None for motor in chosen.motors):
        keep += ['current', 'voltage', 'temperature']
    if not all(motor.sensors.is_none for motor in chosen.motors):
        keep += ['measured_position', 'measured_speed', 'measured_torque']
    return keep


def _columns(chosen: Settings, rows: Array, run: Rollout) -> list[Array]:
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
        made += [run[name][i] for name in ('work', 'dissipated', 'stored')]
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
