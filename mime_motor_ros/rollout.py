"""
Many steps of many motors at once: arrays in, arrays out.

The same functions as those of a session (`model.advance`, `drive.wanted`, `sensing.sense`), step
by step over whole arrays of inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import arrays
from .arrays import Array
from .compiling import compiled, cores, numba, numbers
from .drive import at_rest, Drive, PLAIN
from .errors import MotorError, ParameterError
from .loop import Given, HELPERS, Kept, run, State, Vectors
from .model import MotorParameters, MotorState
from .sensing import NO_SENSORS, Reading, Sensors

WIDTHS: dict[str, tuple[int, ...]] = dict.fromkeys(Kept._fields, ()) | {
    'momentum': (3,),
    'reaction': (6,),
    'mount_wrench': (6,),
    'rotor': (7,),
}
"""What can be kept, and of how many numbers a step."""

KINDS = {'limits': np.int64}
NOT_KEPT = {name: np.empty(0, KINDS.get(name, float)) for name in WIDTHS}
LONG = 4000
"""Steps of a motor from which on several cores are of use."""
LENGTH = 1_000_000
"""Steps in one part: a signal is heard between two of them."""


class RolloutMotor(NamedTuple):
    """A motor with its drive and its sensors."""

    model: MotorParameters
    drive: Drive = PLAIN
    sensors: Sensors = NO_SENSORS


PARTS = (MotorParameters, Drive, Sensors)


class Rollout(Mapping[str, Array]):
    """
    What a rollout gives: arrays by name, of shape (M, K) or (M, K, n).

    Attributes
    ----------
    state : the last state of each motor, a tuple of M `State`

    """

    def __init__(self, kept: dict[str, Array], state: tuple[State, ...]) -> None:
        self._arrays, self.state = kept, state

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        shapes = ', '.join(f'{name} {array.shape}' for name, array in self._arrays.items())
        return f'Rollout({shapes})'


def rollout(
    motors: Any,
    *,
    dt: ArrayLike,
    command: ArrayLike,
    initial: Any = None,
    mount: ArrayLike | None = None,
    mount_rate: ArrayLike | None = None,
    loads: ArrayLike | None = None,
    gravity: tuple[ArrayLike, ArrayLike] | None = None,
    keep: Sequence[str] = ('angle', 'spin'),
    every: int = 1,
    threads: int | None = None,
) -> Rollout:
    """
    Take N steps of M motors, which do not act on each other.

    Parameters
    ----------
    motors : RolloutMotor or MotorParameters, or a sequence of M of them
        Motors, or parameter sets of one.
    dt : scalar or shape (N,) [s]
        Length of the steps, finite and > 0.
    command : shape (N,) or (M, N)
        In the unit of the mode of the drive, held over the step; NaN: none, the drive is off.
    initial : None, MotorState or State, or a sequence of M of them
        Where each begins, the drive and the sensors unused but for a State; None: at angle
        0 and at rest in the world.
    mount : None or shape (N, 7)
        Its pose in the world, x y z [m] qx qy qz qw; None: it is the world.
    mount_rate : None or shape (N, 3) [rad/s], world axes
        Its angular velocity.
    loads : None or shape (N, 12) or (M, N, 12) [N, N m], world axes
        Force and torque on the stator, force and torque on the rotor, each at the link's origin.
    gravity : None or (moment [N m], phase [rad]), each a scalar or of shape (M,)
        A load about the axis of -moment sin(angle - phase), at the angle before the step.
    keep : names of WIDTHS
        What is kept of the end of each step.
    every : whole number >= 1
        Of so many steps the first is kept: the steps 0, every, 2 every, ...
    threads : None or whole number >= 1
        How many motors are worked on at once; None: as many as there are cores to use, or one of
        less than `LONG` steps.

    Returns
    -------
    Rollout
        By name an array of shape (M, K), K = ceil(N / every): angle [rad] and speed [rad/s]
        against the stator, spin [rad/s]; torque of the drive, friction_torque and load_torque on
        the rotor [N m]; current [A], voltage [V], temperature [deg C]; limits (`Active`, whole
        numbers); measured_position [rad], measured_speed [rad/s], measured_torque [N m], NaN
        where there is no sensor; work, dissipated and stored [J], the sums of `Energy` since the
        rollout began, or those of ``initial`` and on. Of shape (M, K, 3) momentum [N m s]; of
        shape (M, K, 6) reaction and mount_wrench, force and torque about the mount's origin; of
        shape (M, K, 7) rotor, its pose; all in world axes.

    Raises
    ------
    ParameterError
        If an argument breaks its rule.
    MotorError
        If the numbers of a motor grow beyond computing.

    """
    every_motor = _motors(motors)
    M = len(every_motor)
    commands = arrays.numbers('command', command)
    N = commands.shape[-1] if commands.ndim else 0
    if commands.shape not in ((N,), (M, N)) or not N or np.isinf(commands).any():
        rule = f'finite numbers or NaN of shape (N,) or ({M}, N), N >= 1'
        raise ParameterError('command', rule, arrays.told(commands))
    steps, poses = arrays.steps('dt', dt, N), arrays.poses('mount', mount, N)
    rates = arrays.rows('mount_rate', mount_rate, [(N, 3)], 'rad/s, world axes')
    shapes = [(N, 12), (M, N, 12)]
    wrenches = arrays.rows('loads', loads, shapes, 'N and N m, world axes')
    moments, phases = arrays.pair('gravity', gravity, M, 'moment [N m], phase [rad]')
    names = _names(keep)
    arrays.check_whole('every', every)
    if threads is not None:
        arrays.check_whole('threads', threads)
    starts = _initial(initial, every_motor)

    every = min(int(every), N)
    K = -(-N // every)
    try:
        kept = {n: np.empty((M, K, *WIDTHS[n]), KINDS.get(n, float)) for n in names}
    except (MemoryError, ValueError):
        numbers_kept = M * K * sum(int(np.prod(WIDTHS[n])) for n in names)
        raise MotorError(
            f'What is to be kept, {numbers_kept:.3g} numbers, does not fit into the memory. '
            'Keep less of it, or fewer steps with every.'
        ) from None
    has_vectors = any(name in kept for name in Vectors._fields)
    is_compiled = numba() is not None
    kernel = compiled(run, *HELPERS) if is_compiled else run
    length = every * max(1, LENGTH // every)  # so that every part begins with a kept step

    def one(m: int) -> State:
        model, drive, sensors = every_motor[m]
        own = wrenches[m] if wrenches.ndim == 3 else wrenches
        mine = commands[m] if commands.ndim == 2 else commands
        is_free = drive.is_plain and not model.gear.inertia
        constants = (
            numbers(model),
            model._Q_S,
            numbers(model.imbalance),
            None if model._is_plain and is_free else numbers(drive),
            is_free,
            None if sensors.is_none else numbers(sensors.numbers),
        )
        state = numbers(starts[m])
        for begin in range(0, N, length):
            part = slice(begin, begin + length)
            rows: Any = [
                (x[part] if len(x) > 1 else x).reshape(-1)
                for x in (steps, poses, rates, own, mine)
            ]
            rows = rows if is_compiled else [x.tolist() for x in rows]
            dts, where, turning, on, wished = rows
            given = Given(dts, where, turning, on, wished, float(moments[m]), float(phases[m]))
            part = slice(begin // every, (begin + length) // every)
            row = NOT_KEPT | {name: x[m, part].reshape(-1) for name, x in kept.items()}
            state = kernel(
                *constants,
                state,
                given,
                Kept(*[row[name] for name in Kept._fields]),
                Vectors(*[row[name] for name in Vectors._fields]) if has_vectors else None,
                every,
            )
        return State(*state)

    def tried(m: int) -> State:
        try:
            last = one(m)
        except (ArithmeticError, ValueError):
            raise _too_large(m) from None
        if not all(map(isfinite, (*last.motor, last.drive.current, last.drive.temperature))):
            raise _too_large(m)
        return last

    # Of short runs the calls take longer than the steps, and only one thread makes calls.
    usual = cores() if N >= LONG else 1
    workers = min(threads or usual, M) if is_compiled else 1
    if workers == 1:
        return Rollout(kept, tuple(map(tried, range(M))))
    size = min(max(1, LENGTH // N), -(-M // workers))
    parts = [range(begin, min(begin + size, M)) for begin in range(0, M, size)]
    with ThreadPoolExecutor(workers) as pool:
        states = pool.map(lambda part: [tried(m) for m in part], parts)
        return Rollout(kept, tuple(state for part in states for state in part))


def _motors(value: Any) -> list[RolloutMotor]:
    is_one = isinstance(value, (MotorParameters, RolloutMotor))
    each = [value] if is_one else arrays.listed(value)
    motors = [RolloutMotor(x) if isinstance(x, MotorParameters) else x for x in each]
    if not motors or not all(isinstance(x, RolloutMotor) for x in motors):
        rule = 'a RolloutMotor or MotorParameters, or a sequence of at least one of them'
        raise ParameterError('motors', rule, type(value).__name__)
    for m, motor in enumerate(motors):
        for name, part, kind in zip(motor._fields, motor, PARTS, strict=True):
            if not isinstance(part, kind):
                got = type(part).__name__
                raise ParameterError(f'{name} of motor {m}', f'a {kind.__name__}', got)
    return motors


def _names(keep: Any) -> list[str]:
    names = [] if isinstance(keep, str) else arrays.listed(keep)
    unknown = [name for name in names if not isinstance(name, str) or name not in WIDTHS]
    if unknown or not names:
        given = ', '.join(map(repr, unknown)) or repr(keep)
        raise ParameterError('keep', f'names of {", ".join(WIDTHS)}', given)
    return names


def _initial(value: Any, motors: list[RolloutMotor]) -> list[State]:
    M, is_one = len(motors), value is None or isinstance(value, (MotorState, State))
    each = [value] * M if is_one else arrays.listed(value)
    if len(each) != M or not (is_one or all(isinstance(x, (MotorState, State)) for x in each)):
        rule = f'None, a MotorState or State, or a sequence of {M} of them'
        raise ParameterError('initial', rule, f'{len(each)} of {type(value).__name__}')
    states = [
        x if isinstance(x, State) else State(x or MotorState(), at_rest(motor.drive), Reading())
        for x, motor in zip(each, motors, strict=True)
    ]
    if not all(isfinite(x) for state in states for x in state.motor):
        rule = 'of finite angle [rad] and spin [rad/s]'
        raise ParameterError('initial', rule, next(x for x in each if x is not None))
    return states


def _too_large(m: int) -> MotorError:
    return MotorError(
        f'The numbers of motor {m} grow beyond computing. '
        'Its commands, loads or gains are too large.'
    )
