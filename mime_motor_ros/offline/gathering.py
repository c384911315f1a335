"""
What every step of a recording is given, as arrays: with it many motors are run through at once.

The session itself says which steps there are and what they read; only what it makes of them is
left out. So `rollout` over what is gathered gives what `replay` gives.

    for rows in gather('recording', 'motor.yaml'):
        print(rows['stamp_ns'], rows['command'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MotorError
from ..loop import State
from ..model import MotorState, Pose
from ..rollout import Rollout, rollout, RolloutMotor
from ..session import Session
from ..settings import MotorSettings, Settings
from .recording import Recording
from .replaying import Replay, replay

Array = NDArray[Any]

ROWS = 4096
"""Steps of a block."""


class GatherError(MotorError):
    """What a step is given hangs on the state of a motor."""


def row_type(motors: int, loads: bool) -> np.dtype[Any]:
    """
    Return the type of a row: what one step is given.

    start_ns, stamp_ns; dt [s]; mount: pose x y z [m] qx qy qz qw; rate [rad/s], world axes;
    command: a motor, NaN where none acts; loads: force and torque on the stator, then on the
    rotor, world axes [N, N m], where the recording has any. Where a step does not begin when the
    one before ended, none was taken between them.
    """
    fields: list[Any] = [
        ('start_ns', 'i8'),
        ('stamp_ns', 'i8'),
        ('dt', 'f8'),
        ('mount', 'f8', (7,)),
        ('rate', 'f8', (3,)),
        ('command', 'f8', (motors,)),
    ]
    return np.dtype([*fields, ('loads', 'f8', (motors, 12))] if loads else fields)


class _Reading(Session):
    """A session that takes no steps: it tells what they would be given."""

    def __init__(self, chosen: Settings, name: str) -> None:
        if chosen.torque_limit < inf:
            raise GatherError(
                f'torque_limit must be 0 N m (none) here, got {chosen.torque_limit:g}. It makes '
                'what a motor does hang on the others; motor_replay has it.'
            )
        self._name = name
        self.stators = {motor.stator_frame for motor in chosen.motors}
        self.placed = False
        super().__init__(chosen)

    def _frame(self, frame: str) -> str:
        found = super()._frame(frame)
        self.placed |= found in self.stators
        return found

    def _rotor(self, motor: int, mount: Pose) -> Pose:
        raise GatherError(
            f'a load in {self._name} is given in the frame of a rotor, so it hangs on the angle '
            'of the motor. Give it in a frame of the mount or the world, or use motor_replay.'
        )

    def _step(self, start_ns: int, stamp_ns: int, dt: float) -> Any:
        self._read(start_ns, stamp_ns)
        moving = self._moving(stamp_ns)
        if moving is None:
            return None
        mount, rate = moving
        commands, loads = [], []
        for i, motor in enumerate(self.settings.motors):
            setpoint, stator, rotor = self._given(i, stamp_ns, mount)
            if setpoint is not None and (setpoint.velocity or setpoint.torque):
                raise GatherError(
                    f'a command to {motor.name} in {self._name} feeds velocity or torque forward. '
                    'Only motor_replay can do with that.'
                )
            commands.append(nan if setpoint is None else setpoint.value)
            loads.append((*stator.force, *stator.torque, *rotor.force, *rotor.torque))
        self.steps += 1
        self.waiting = ''
        pose = (*mount.position, *mount.orientation)
        return (start_ns, stamp_ns, dt, pose, rate, tuple(commands), tuple(loads))


class Gathering:
    """
    The rows of `row_type` of a recording, in blocks, made while one iterates, once.

    Attributes
    ----------
    replay : what reads the recording, with its notes, ``cut`` and ``share``
    settings : those of the node
    type : of a row

    Parameters
    ----------
    made
        A replay that nothing was taken from; it gives no outcomes any more.

    Raises
    ------
    GatherError
        If what a step is given hangs on a state: a load in axes of a rotor, a limit that all
        motors share, commands fed forward.

    """

    def __init__(self, made: Replay) -> None:
        self.replay, self.settings = made, made.settings
        made.session = self._session = _Reading(made.settings, made.recording.name)
        self._has_loads = any(x.endswith('_wrench') for x in made.topics.values())
        self.type = row_type(len(self.settings.motors), self._has_loads)

    @property
    def placed(self) -> bool:
        """Tell whether it would be another one with the stators elsewhere."""
        return self._has_loads or self._session.placed

    def __iter__(self) -> Iterator[Array]:
        """Return the blocks."""
        rows: list[Any] = []
        given: Iterator[Any] = iter(self.replay)
        for row in given:
            rows.append(row if self._has_loads else row[:-1])
            if len(rows) == ROWS:
                yield np.array(rows, self.type)
                rows.clear()
        if rows:
            yield np.array(rows, self.type)


def gather(
    recording: Recording | str | Path,
    parameters: Mapping[str, Any] | str | Path | None = None,
    **options: Any,
) -> Gathering:
    """Return what the steps of a recording are given; the arguments are those of `replay`."""
    return Gathering(replay(recording, parameters, **options))


def rollout_motor(motor: MotorSettings) -> RolloutMotor:
    """Return a motor of a node as `rollout` takes it."""
    return RolloutMotor(motor.model, motor.drive, motor.sensors)


def rollouts(
    motors: Sequence[RolloutMotor],
    initial: Sequence[MotorState],
    blocks: Iterable[Array],
    keep: Sequence[str],
    threads: int | None = None,
) -> Iterator[tuple[Array, Rollout]]:
    """
    Run motors through what was gathered; return the rows and what they give, piece by piece.

    Parameters
    ----------
    motors
        Of each parameter set all motors of the node, in its order, one set after the other.
    initial
        Where each begins.
    blocks
        Rows of `row_type`.
    keep, threads
        As of `rollout`.

    """
    states: list[MotorState | State] = list(initial)
    ended: int | None = None
    for block in blocks:
        before = [block['start_ns'][0] if ended is None else ended, *block['stamp_ns'][:-1]]
        breaks = np.flatnonzero(block['start_ns'] != before).tolist()
        for start, end in pairwise([0, *(x for x in breaks if x), len(block)]):
            if start in breaks:
                # How the mount turned meanwhile is no impulse of the drive's own rotor.
                states = [_geared(x) for x in states]
            rows = block[start:end]
            made = _piece(motors, states, rows, keep, threads)
            states = list(made.state)
            yield rows, made
        ended = int(block['stamp_ns'][-1])


def _geared(state: MotorState | State) -> MotorState | State:
    """Return a state whose drive turns as the gear has it, whatever it did before."""
    return state._replace(drive_spin=nan) if isinstance(state, State) else state


def _piece(
    motors: Sequence[RolloutMotor],
    states: Sequence[MotorState | State],
    rows: Array,
    keep: Sequence[str],
    threads: int | None,
) -> Rollout:
    sets = len(motors) // rows['command'].shape[1]
    loads = None
    if 'loads' in (rows.dtype.names or ()):
        loads = np.tile(rows['loads'].transpose(1, 0, 2), (sets, 1, 1))
    return rollout(
        motors,
        dt=rows['dt'],
        command=np.tile(rows['command'].T, (sets, 1)),
        initial=states,
        mount=rows['mount'],
        mount_rate=rows['rate'],
        loads=loads,
        keep=keep,
        threads=threads,
    )
