"""
Many steps of many motors at once: arrays in, arrays out.

The same functions as those of a session (`model.advance`, `drive.wanted`, `sensing.sense`), step
by step over whole arrays of inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .compiling import compiled, numba, numbers
from .drive import at_rest, Drive, PLAIN
from .errors import MotorError, ParameterError
from .loop import Given, HELPERS, Kept, run, State, Vectors
from .model import MotorParameters, MotorState
from .sensing import NO_SENSORS, Reading, Sensors

Array = NDArray[Any]

WIDTHS: dict[str, tuple[int, ...]] = dict.fromkeys(Kept._fields, ()) | {
    'momentum': (3,),
    'reaction': (6,),
    'mount_wrench': (6,),
    'rotor': (7,),
}
"""What can be kept, and of how many numbers a step."""

NOT_KEPT = {name: np.empty(0, np.int64 if name == 'limits' else np.float64) for name in WIDTHS}
STILL = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])


class RolloutMotor(NamedTuple):
    """A motor with its drive and its sensors."""

    model: MotorParameters
    drive: Drive = PLAIN
    sensors: Sensors = NO_SENSORS


class Rollout(Mapping[str, Array]):
    """
    What a rollout gives: arrays by name, of shape (M, K) or (M, K, n).

    Attributes
    ----------
    state : the last state of each motor, a tuple of M `State`

    """

    def __init__(self, arrays: dict[str, Array], state: tuple[State, ...]) -> None:
        self._arrays, self.state = arrays, state

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
        Where each begins; None: at angle 0 at rest in the world.
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
        How many motors are worked on at once; None: as many as there are cores to use.

    Returns
    -------
    Rollout
        By name an array of shape (M, K), K = ceil(N / every): angle [rad] and speed [rad/s]
        against the stator, spin [rad/s]; torque of the drive, friction_torque and load_torque on
        the rotor [N m]; current [A], voltage [V], temperature [deg C]; limits (`Active`, whole
        numbers); measured_position [rad], measured_speed [rad/s], measured_torque [N m], NaN
        where there is no sensor. Of shape (M, K, 3) momentum [N m s]; of shape (M, K, 6)
        reaction and mount_wrench, force and torque about the mount's origin; of shape (M, K, 7)
        rotor, its pose; all in world axes.

    Raises
    ------
    ParameterError
        If an argument breaks its rule.
    MotorError
        If the numbers of a motor grow beyond computing.

    """
    given = [motors] if isinstance(motors, (MotorParameters, RolloutMotor)) else list(motors)
    all_motors = [RolloutMotor(x) if isinstance(x, MotorParameters) else x for x in given]
    if not all_motors or not all(isinstance(x, RolloutMotor) for x in all_motors):
        rule = 'a RolloutMotor or MotorParameters, or a sequence of at least one of them'
        raise ParameterError('motors', rule, type(motors).__name__)
    M = len(all_motors)
    commands = _numbers('command', command)
    N = commands.shape[-1] if commands.ndim else 0
    if commands.shape not in ((N,), (M, N)) or not N or np.isinf(commands).any():
        rule = f'finite numbers or NaN of shape (N,) or ({M}, N), N >= 1'
        raise ParameterError('command', rule, _told(commands))
    steps = _numbers('dt', dt)
    if steps.shape not in ((), (N,)) or not ((steps > 0.0) & (steps < np.inf)).all():
        rule = f'finite and > 0 s, a number or of shape ({N},)'
        raise ParameterError('dt', rule, dt if not steps.ndim else _told(steps))
    poses = _rows('mount', mount, N, (7,), 'x y z [m] qx qy qz qw')
    if mount is not None:
        lengths = np.sqrt((poses[..., 3:] ** 2).sum(axis=-1))
        if not (np.abs(lengths - 1.0) <= 1e-2).all():
            worst = float(lengths[np.abs(lengths - 1.0).argmax()])
            raise ParameterError(
                'mount', 'poses with quaternions of length 1', f'length {worst:g}'
            )
    rates = _rows('mount_rate', mount_rate, N, (3,), 'rad/s, world axes')
    wrenches = _rows('loads', loads, N, (12,), 'N and N m, world axes', M)
    moments, phases = _gravity(gravity, M)
    unknown = [name for name in keep if name not in WIDTHS]
    if isinstance(keep, str) or unknown or not keep:
        named = repr(keep) if isinstance(keep, str) or not keep else ', '.join(map(repr, unknown))
        raise ParameterError('keep', f'names of {", ".join(WIDTHS)}', named)
    if not _is_whole(every):
        raise ParameterError('every', 'a whole number >= 1', every)
    if not (threads is None or _is_whole(threads)):
        raise ParameterError('threads', 'None or a whole number >= 1', threads)
    starts = _initial(initial, all_motors)

    K = -(-N // every)
    arrays = {
        name: np.empty((M, K, *WIDTHS[name]), np.int64 if name == 'limits' else np.float64)
        for name in keep
    }
    kernel = compiled(run, *HELPERS) if numba() else run
    inputs = [
        np.atleast_1d(steps),
        STILL if mount is None else poses,
        rates[:1] if mount_rate is None else rates,
    ]
    vectors = any(name in arrays for name in Vectors._fields)

    def one(m: int) -> State:
        model, drive, sensors = all_motors[m]
        own = wrenches if wrenches.ndim == 2 else wrenches[m]
        own = own[:1] if loads is None else own
        mine = commands if commands.ndim == 1 else commands[m]
        rows: Any = [row.reshape(-1) for row in (*inputs, own, mine)]
        rows = rows if numba() else [row.tolist() for row in rows]
        dts, where, rate, on, wished = rows
        kept = NOT_KEPT | {name: array[m].reshape(-1) for name, array in arrays.items()}
        is_free = drive.is_plain and not model.gear.inertia
        last = kernel(
            numbers(model),
            model._Q_S,
            numbers(model.imbalance),
            None if model._is_plain and is_free else numbers(drive),
            is_free,
            None if sensors.is_none else numbers(sensors.numbers),
            numbers(starts[m]),
            Given(dts, where, rate, on, wished, float(moments[m]), float(phases[m])),
            Kept(*[kept[name] for name in Kept._fields]),
            Vectors(*[kept[name] for name in Vectors._fields]) if vectors else None,
            every,
        )
        return State(*last)

    def tried(m: int) -> State:
        try:
            last = one(m)
        except (ArithmeticError, ValueError):
            raise _too_large(m) from None
        if not all(map(isfinite, (*last.motor, last.drive.current, last.drive.temperature))):
            raise _too_large(m)
        return last

    workers = min(threads or len(os.sched_getaffinity(0)), M) if numba() else 1
    if workers == 1:
        return Rollout(arrays, tuple(map(tried, range(M))))
    first = tried(0)  # what has to be compiled is so once
    with ThreadPoolExecutor(workers) as pool:
        return Rollout(arrays, (first, *pool.map(tried, range(1, M))))


def _numbers(name: str, value: Any) -> Array:
    try:
        return np.ascontiguousarray(np.asarray(value, dtype=np.float64)).reshape(np.shape(value))
    except (TypeError, ValueError):
        raise ParameterError(name, 'numbers', type(value).__name__) from None


def _told(array: Array) -> str:
    odd = '' if np.isfinite(array).all() else ', not all finite'
    return f'shape {array.shape}{odd}'


def _rows(
    name: str, value: Any, N: int, width: tuple[int, ...], unit: str, M: int | None = None
) -> Array:
    """Return the rows of an input, one a step; zeros where it is not given."""
    if value is None:
        return np.zeros((N, *width))
    array = _numbers(name, value)
    shapes = [(N, *width)] if M is None else [(N, *width), (M, N, *width)]
    if array.shape not in shapes or not np.isfinite(array).all():
        rule = f'None or finite numbers of shape {" or ".join(map(str, shapes))} [{unit}]'
        raise ParameterError(name, rule, _told(array))
    return array


def _gravity(value: Any, M: int) -> tuple[Array, Array]:
    if value is None:
        return np.zeros(M), np.zeros(M)
    rule = f'None or (moment [N m], phase [rad]), each a finite number or of shape ({M},)'
    try:
        moment, phase = (np.asarray(x, dtype=np.float64) for x in value)
    except (TypeError, ValueError):
        raise ParameterError('gravity', rule, type(value).__name__) from None
    if not {moment.shape, phase.shape} <= {(), (M,)} or not (
        np.isfinite(moment).all() and np.isfinite(phase).all()
    ):
        raise ParameterError('gravity', rule, f'{_told(moment)} and {_told(phase)}')
    return np.broadcast_to(moment, (M,)), np.broadcast_to(phase, (M,))


def _initial(value: Any, motors: list[RolloutMotor]) -> list[State]:
    M, is_one = len(motors), value is None or isinstance(value, (MotorState, State))
    each = [value] * M if is_one else list(value)
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


def _is_whole(value: Any) -> bool:
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return is_number and int(value) >= 1


def _too_large(m: int) -> MotorError:
    return MotorError(
        f'The numbers of motor {m} grow beyond computing. '
        'Its commands, loads or gains are too large.'
    )
