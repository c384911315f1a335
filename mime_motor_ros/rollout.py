"""
Many steps of many motors at once: arrays in, arrays out.

The same functions as those of a session (`model.advance`, `drive.wanted`, `sensing.sense`), step
by step over whole arrays of inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .drive import after, at_rest, Drive, DriveState, PLAIN, Setpoint, wanted
from .errors import MotorError, ParameterError
from .model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
from .sensing import NO_SENSORS, Reading, sense, Sensors
from .vector import add, dot, multiply, normalized, rotate, scale

Array = NDArray[Any]

WIDTHS = {
    'angle': 0,
    'spin': 0,
    'speed': 0,
    'torque': 0,
    'friction_torque': 0,
    'load_torque': 0,
    'current': 0,
    'voltage': 0,
    'temperature': 0,
    'limits': 0,
    'measured_position': 0,
    'measured_speed': 0,
    'measured_torque': 0,
    'momentum': 3,
    'reaction': 6,
    'mount_wrench': 6,
    'rotor': 7,
}
"""What can be kept, and how many numbers a step that is; 0: one, without an axis of its own."""


class RolloutMotor(NamedTuple):
    """A motor with its drive and its sensors."""

    model: MotorParameters
    drive: Drive = PLAIN
    sensors: Sensors = NO_SENSORS


class RolloutState(NamedTuple):
    """Where a motor is between two steps: with this another rollout goes on from here."""

    motor: MotorState = MotorState()
    drive: DriveState | None = None
    """None: of a drive that has not been used."""
    reading: Reading = Reading()
    drive_spin: float | None = None
    """Of the drive's own rotor behind a gear [rad/s]; None: as geared."""


class Rollout(Mapping[str, Array]):
    """
    What a rollout gives: arrays by name, of shape (M, K) or (M, K, n).

    Attributes
    ----------
    state : the last state of each motor, a tuple of M `RolloutState`

    """

    def __init__(self, arrays: dict[str, Array], state: tuple[RolloutState, ...]) -> None:
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
    initial : None, MotorState or RolloutState, or a sequence of M of them
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
    starts = _initial(initial, M)

    K = -(-N // every)
    arrays = {
        name: np.empty(
            (M, K, WIDTHS[name]) if WIDTHS[name] else (M, K),
            dtype=np.int64 if name == 'limits' else np.float64,
        )
        for name in keep
    }
    every_dt = np.broadcast_to(steps, (N,)).tolist()
    moving = _moving(poses if mount is not None else None, rates, N)
    states = []
    for m, motor in enumerate(all_motors):
        own = wrenches if wrenches.ndim == 2 else wrenches[m]
        rows: dict[str, list[Any]] = {name: [] for name in arrays}
        try:
            last = _run(
                motor,
                starts[m],
                every_dt,
                (commands if commands.ndim == 1 else commands[m]).tolist(),
                moving,
                own.tolist() if loads is not None else None,
                None if gravity is None else (float(moments[m]), float(phases[m])),
                rows,
                every,
            )
        except (ArithmeticError, ValueError):
            raise _too_large(m) from None
        if not np.isfinite([*last.motor]).all():
            raise _too_large(m)
        states.append(last)
        for name, values in rows.items():
            arrays[name][m] = values
    return Rollout(arrays, tuple(states))


def _run(
    motor: RolloutMotor,
    start: RolloutState,
    dts: list[float],
    commands: list[float],
    moving: list[tuple[Pose, tuple[float, float, float]]],
    loads: list[list[float]] | None,
    gravity: tuple[float, float] | None,
    rows: dict[str, list[Any]],
    every: int,
) -> RolloutState:
    """Take the steps of one motor; put what is kept into the rows and return its last state."""
    model, drive, sensors = motor
    state, drove, reading, drive_spin = start
    drove = at_rest(drive) if drove is None else drove
    axis, R_MS = model.axis, model.placement.orientation
    is_free, measures = drive.is_plain and not model.gear.inertia, not sensors.is_none
    measured = None
    stator = rotor = Wrench()
    for i, (dt, command, (pose, rate)) in enumerate(zip(dts, commands, moving, strict=True)):
        if loads is not None:
            a, b, c, d, e, f, g, h, k, p, q, r = loads[i]
            stator, rotor = Wrench((a, b, c), (d, e, f)), Wrench((g, h, k), (p, q, r))
        carried = rotor
        if gravity is not None:
            about = rotate(multiply(normalized(pose.orientation), R_MS), axis)
            tau_g = -gravity[0] * sin(state.angle - gravity[1])
            carried = Wrench(rotor.force, add(rotor.torque, scale(tau_g, about)))
        if is_free:
            torque = 0.0 if isnan(command) else command
            step = advance(model, state, StepInputs(pose, rate, torque, stator, carried), dt)
        else:
            turning = dot(rotate(multiply(pose.orientation, R_MS), axis), rate)
            speed = state.spin - turning
            if drive_spin is None:
                drive_spin = turning + model.gear.ratio * speed
            setpoint = None if isnan(command) else Setpoint(command)
            made = wanted(drive, drove, setpoint, state.angle, speed, dt)
            inputs = StepInputs(pose, rate, 0.0, stator, carried, made.bounded, drive_spin)
            step = advance(model, state, inputs, dt)
            drove = after(
                drive, drove, made, step.torque, step.state.angle, step.relative_speed, dt
            )
            drive_spin = step.drive_spin
        state = step.state
        if measures:
            measured, reading = sense(
                sensors, reading, state.angle, step.relative_speed, step.torque, dt
            )
        if i % every == 0:
            for name, row in rows.items():
                row.append(KEPT[name](step, drove, measured))
    return RolloutState(state, drove, reading, drive_spin)


KEPT: dict[str, Any] = {
    'angle': lambda step, drove, measured: step.state.angle,
    'spin': lambda step, drove, measured: step.state.spin,
    'speed': lambda step, drove, measured: step.relative_speed,
    'torque': lambda step, drove, measured: step.torque,
    'friction_torque': lambda step, drove, measured: step.friction_torque,
    'load_torque': lambda step, drove, measured: step.load_torque,
    'current': lambda step, drove, measured: drove.current,
    'voltage': lambda step, drove, measured: drove.voltage,
    'temperature': lambda step, drove, measured: drove.temperature,
    'limits': lambda step, drove, measured: int(drove.active),
    'measured_position': lambda step, drove, measured: _or_nan(measured and measured.position),
    'measured_speed': lambda step, drove, measured: _or_nan(measured and measured.speed),
    'measured_torque': lambda step, drove, measured: _or_nan(measured and measured.torque),
    'momentum': lambda step, drove, measured: step.momentum,
    'reaction': lambda step, drove, measured: (*step.reaction.force, *step.reaction.torque),
    'mount_wrench': lambda step, drove, measured: (
        *step.mount_wrench.force,
        *step.mount_wrench.torque,
    ),
    'rotor': lambda step, drove, measured: (*step.rotor.position, *step.rotor.orientation),
}


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _moving(
    poses: Array | None, rates: Array, N: int
) -> list[tuple[Pose, tuple[float, float, float]]]:
    """Return pose and angular velocity of the mount by step."""
    if poses is None:
        where = [Pose()] * N
    else:
        where = [Pose((x, y, z), (a, b, c, d)) for x, y, z, a, b, c, d in poses.tolist()]
    return [(pose, (x, y, z)) for pose, (x, y, z) in zip(where, rates.tolist(), strict=True)]


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


def _initial(value: Any, M: int) -> list[RolloutState]:
    one = value is None or isinstance(value, (MotorState, RolloutState))
    each = [value] * M if one else list(value)
    if len(each) != M or not all(isinstance(x, (MotorState, RolloutState)) or one for x in each):
        rule = f'None, a MotorState or RolloutState, or a sequence of {M} of them'
        raise ParameterError('initial', rule, f'{len(each)} of {type(value).__name__}')
    states = [x if isinstance(x, RolloutState) else RolloutState(x or MotorState()) for x in each]
    if not np.isfinite([x.motor for x in states]).all():
        raise ParameterError('initial', 'finite', next(x for x in each if x is not None))
    return states


def _is_whole(value: Any) -> bool:
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return is_number and int(value) >= 1


def _too_large(m: int) -> MotorError:
    return MotorError(
        f'The numbers of motor {m} grow beyond computing: its commands, loads or gains are too large.'
    )
