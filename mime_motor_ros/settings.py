"""
Every parameter of the node, described once, and the checked settings made of their values.

No ROS here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
import math
import re
from typing import Any, NamedTuple

from transforms3d.euler import euler2quat

from .axial import Friction, Gear
from .drive import (
    Armature,
    Drive,
    from_datasheet,
    Gains,
    MODES,
    PLAIN,
    torque_over_current,
)
from .errors import ParameterError
from .imbalance import across, Imbalance
from .model import from_rotor_inertia, MotorParameters, MotorState, Pose
from .sampling import INTERPOLATIONS, Sampling
from .sensing import (
    Channel,
    Encoder,
    Fault,
    Faults,
    MOST_COUNTS,
    NO_FAULTS,
    NO_SENSORS,
    Sensors,
    Tachometer,
    TorqueSensor,
)
from .timeline import nanoseconds
from .vector import Quaternion
from .winding import ABSOLUTE_ZERO, NO_WINDING, Winding

MOST_MOTORS = 64
FASTEST = 10_000.0  # [Hz]
HIGHEST_PRIORITY = 99
LARGEST_SEED = 2**31 - 1
LONGEST_GAP = 60.0  # [s]
LONGEST_DELAY = 10.0  # [s], for which a motor keeps its commands or what it measured
LONGEST_SETTLE = 5.0  # [s], for which the session keeps what comes meanwhile
RATE_SOURCES = ('imu', 'twist', 'odometry', 'tf', 'zero')
POSE_SOURCES = ('auto', 'tf', 'imu', 'odometry')
OF_RCLPY = {'use_sim_time', 'start_type_description_service', 'qos_overrides'}
"""Parameters of every rclpy node, and what others of it begin with."""
_ZEROS = (0.0,) * 6
FAULTY = ('position', 'velocity', 'effort')
FRICTION = ('coulomb', 'static', 'stribeck_speed', 'quadratic', 'cubic')
LEAST_BACK_EMF = 0.95
"""Of the torque constant: in SI they are one number, and data sheets round."""
CHANNEL = ('noise', 'bias', 'cutoff', 'resolution')
AT_ONCE = Sampling(max_delay=0)
SHEET = ('nominal', 'stall_torque', 'no_load_speed', 'no_load_current')


class Parameter(NamedTuple):
    """One parameter: what a user reads about it and which plain rule its value keeps."""

    name: str
    default: Any
    unit: str
    text: str
    rule: str = ''
    low: float = -math.inf  # for numbers, included unless ``above``
    high: float = math.inf
    above: bool = False  # the value must be above ``low``, not at it
    choices: tuple[str, ...] = ()
    live: bool = False  # may change between two steps

    @property
    def description(self) -> str:
        """Return what ``ros2 param describe`` shows."""
        rule = self.rule or ('one of ' + ', '.join(self.choices) if self.choices else '')
        unit = f' [{self.unit}]' if self.unit else ''
        return f'{self.text}{unit}' + (f'; {rule}' if rule else '') + '.'


def _amount(name: str, unit: str, text: str, live: bool = True) -> Parameter:
    """Return a parameter that is 0 where it is not given."""
    rule = f'finite and >= 0 {unit}'.rstrip()
    return Parameter(name, 0.0, unit, text, rule, 0.0, live=live)


_AGE: dict[str, Any] = {'low': 0.0, 'above': True, 'rule': 'finite and > 0 s', 'live': True}

NODE = (
    Parameter('motors', ('wheel',), '', 'names of the motors, in the order of ~/commands'),
    Parameter(
        'rate',
        1000.0,
        'Hz',
        'steps a second (also how often the inputs are looked at)',
        f'> 0 Hz and <= {FASTEST:g} Hz',
        0.0,
        FASTEST,
        above=True,
    ),
    Parameter(
        'step_on',
        'timer',
        '',
        'what makes a step: the grid of rate, or each rate message',
        choices=('timer', 'imu'),
    ),
    Parameter(
        'publish_rate',
        0.0,
        'Hz',
        'wrenches, momentum and joint states a second, 0 = every step',
        f'>= 0 Hz and <= {FASTEST:g} Hz',
        0.0,
        FASTEST,
    ),
    Parameter(
        'tf_rate',
        50.0,
        'Hz',
        'rotor transforms a second, 0 = every step',
        f'>= 0 Hz and <= {FASTEST:g} Hz',
        0.0,
        FASTEST,
    ),
    Parameter('publish_tf', True, '', 'publish the frames of stators and rotors'),
    Parameter('frame_prefix', '', '', "put before the motors' own frame ids"),
    Parameter(
        'overview_rate',
        30.0,
        'Hz',
        'messages a second on ~/overview, for panel and table',
        f'> 0 Hz and <= {FASTEST:g} Hz',
        0.0,
        FASTEST,
        above=True,
    ),
    Parameter(
        'markers.rate',
        20.0,
        'Hz',
        'messages a second on ~/markers, 0 = there is no such topic',
        f'>= 0 Hz and <= {FASTEST:g} Hz',
        0.0,
        FASTEST,
    ),
    _amount('markers.force_scale', 'm/N', 'length of the arrow of a force; 0 = as fits'),
    _amount('markers.torque_scale', 'm/(N m)', 'length of the arrow of a torque; 0 = as fits'),
    _amount('markers.momentum_scale', 'm/(N m s)', 'the same of a momentum; 0 = as fits'),
    Parameter('world_frame', 'odom', '', 'frame the pose of the mount is given in'),
    Parameter(
        'mount_frame',
        'base_link',
        '',
        'frame of the mount; the same as world_frame: the mount stands still',
    ),
    Parameter(
        'rate_source',
        'imu',
        '',
        "where the mount's angular velocity comes from",
        choices=RATE_SOURCES,
    ),
    Parameter(
        'pose_source',
        'auto',
        '',
        'where the pose of the mount comes from (auto: odometry as rate_source, else tf)',
        choices=POSE_SOURCES,
    ),
    Parameter(
        'pose_timeout',
        0.5,
        's',
        'age of the pose up to which it is held, then the motors pause',
        **_AGE,
    ),
    Parameter(
        'rate_timeout',
        0.1,
        's',
        'age of the rate up to which it is held, then the motors pause',
        **_AGE,
    ),
    Parameter(
        'command_timeout',
        0.5,
        's',
        'age of a torque command or load up to which it acts, then it is 0; 0 = for ever',
        'finite and >= 0 s',
        0.0,
        live=True,
    ),
    Parameter(
        'max_gap',
        0.5,
        's',
        'longest time without steps that is caught up, and the farthest stamp in the future',
        f'> 0 s and <= {LONGEST_GAP:g} s',
        0.0,
        LONGEST_GAP,
        above=True,
        live=True,
    ),
    Parameter(
        'settle',
        0.0,
        's',
        'how long after its end a step is taken, for inputs on their way',
        f'>= 0 s and <= {LONGEST_SETTLE:g} s',
        0.0,
        LONGEST_SETTLE,
        live=True,
    ),
    Parameter(
        'on_time_jump',
        'hold',
        '',
        'angle and spin when the clock goes back',
        choices=('hold', 'reset'),
        live=True,
    ),
    _amount(
        'torque_limit',
        'N m',
        'sum of the sizes of the torques of all drives on the mount, 0 = no limit',
    ),
    Parameter(
        'groups_off',
        '',
        '',
        "groups of motors whose drives give no torque, as '1,3-4'; empty = none",
        live=True,
    ),
    Parameter(
        'seed',
        0,
        '',
        'of the noise of all sensors: the same seed, the same noise',
        f'a whole number from 0 to {LARGEST_SEED}',
        0,
        LARGEST_SEED,
    ),
    Parameter(
        'priority',
        0,
        '',
        'SCHED_FIFO priority of the loop, 0 = an ordinary thread',
        f'a whole number from 0 to {HIGHEST_PRIORITY}',
        0,
        HIGHEST_PRIORITY,
    ),
    Parameter('cpus', '', '', "cores the loop keeps to, as '0,2-3'; empty = any"),
    Parameter('lock_memory', False, '', 'keep the memory of the process from being paged out'),
    Parameter(
        'collect_garbage',
        True,
        '',
        "Python's garbage collector at any time, or (false) once a second behind a step",
    ),
)

DRIVE = (
    Parameter(
        'mode',
        'torque',
        '',
        'what a command is: N m, rad/s, rad, rad/s of an angle, V or N m s',
        choices=MODES,
        live=True,
    ),
    _amount('velocity.kp', 'N m s', 'gain on the speed'),
    _amount('velocity.ki', 'N m', 'integral gain on the speed'),
    _amount('position.kp', 'N m', 'gain on the angle, for a radian'),
    _amount('position.ki', 'N m/s', 'integral gain on the angle'),
    _amount('position.kd', 'N m s', 'gain on the speed'),
    Parameter(
        'position.range',
        (0.0, 0.0),
        'rad',
        'lowest and highest angle of integrated_velocity; zeros = any',
        live=True,
    ),
    _amount('voltage.resistance', 'ohm', 'R of the armature; 0 = no armature'),
    _amount('voltage.inductance', 'H', 'L of the armature'),
    _amount('voltage.torque_constant', 'N m/A', 'Kt, torque over current'),
    _amount('voltage.back_emf', 'V s', 'Ke; 0 = as torque_constant'),
    _amount('voltage.nominal', 'V', 'instead of R, Kt and Ke: nominal voltage,'),
    _amount('voltage.stall_torque', 'N m', 'torque at stall,'),
    _amount('voltage.no_load_speed', 'rad/s', 'speed without load,'),
    _amount('voltage.no_load_current', 'A', 'and current without load'),
    _amount('voltage.supply', 'V', 'limit of a command of volts, in the mode voltage; 0 = none'),
    _amount('voltage.current_limit', 'A', 'limit of the current; 0 = none'),
    Parameter(
        'gear.ratio',
        1.0,
        '',
        "n, turns of the drive's own rotor to one of this; negative: it reverses",
        'finite and not 0',
    ),
    _amount('gear.inertia', 'kg m^2', "J_m, of the drive's own rotor about the same axis", False),
    Parameter(
        'gear.efficiency',
        1.0,
        '',
        'of the gear, with an armature',
        '> 0 and <= 1',
        0.0,
        1.0,
        True,
    ),
    _amount('limit.command', '', 'of a command, in its unit; 0 = none'),
    _amount('limit.dead_zone', 'N m', 'torque below which the drive gives none'),
    _amount('limit.slew_rate', 'N m/s', 'change of the torque; 0 = any'),
    _amount('limit.torque', 'N m', 'torque; 0 = any'),
    _amount(
        'limit.speed', 'rad/s', 'speed to the stator above which no torque speeds it up; 0 = any'
    ),
    _amount('limit.power', 'W', 'torque times speed to the stator; 0 = any'),
    _amount('friction.coulomb', 'N m', 'tau_c, dry friction that slides'),
    _amount('friction.static', 'N m', 'tau_s, dry friction at rest; 0 = as coulomb'),
    _amount('friction.stribeck_speed', 'rad/s', 'v_s, over which it falls to coulomb'),
    _amount('friction.quadratic', 'N m s^2', 'c_2, drag of the speed squared'),
    _amount('friction.cubic', 'N m s^3', 'c_3, drag of the speed cubed'),
    _amount('imbalance.static', 'kg m', 'U_s, mass times its distance from the axis', False),
    _amount('imbalance.dynamic', 'kg m^2', 'U_d, product of inertia of the axis', False),
    Parameter('imbalance.static_phase', 0.0, 'rad', 'where the heavy side is at angle 0'),
    Parameter('imbalance.dynamic_phase', 0.0, 'rad', 'the same of the product of inertia'),
    Parameter(
        'group',
        0,
        '',
        'number of the group, see groups_off',
        'a whole number from 0 to 999',
        0,
        999,
    ),
)


def _channel(name: str, unit: str, what: str) -> tuple[Parameter, ...]:
    """Return the parameters of a sensor of one quantity."""
    return (
        Parameter(f'{name}.enabled', False, '', f'whether {what} is measured'),
        _amount(f'{name}.noise', unit, 'standard deviation of a sample'),
        Parameter(f'{name}.bias', 0.0, unit, 'added to each sample', live=True),
        _amount(f'{name}.cutoff', 'Hz', 'of a first-order low-pass; 0 = none'),
        _amount(f'{name}.resolution', unit, 'step of the quantisation; 0 = none'),
    )


def _sampling(name: str, when: str) -> tuple[Parameter, ...]:
    """Return the parameters of the sampling of a command or of what is measured."""
    return (
        _amount(f'{name}.delay', 's', f'from {when}'),
        Parameter(
            f'{name}.max_delay',
            0.0,
            's',
            'longest delay that may be set while running',
            f'>= 0 s and <= {LONGEST_DELAY:g} s',
            0.0,
            LONGEST_DELAY,
        ),
        Parameter(
            f'{name}.interpolation',
            INTERPOLATIONS[0],
            '',
            'between two of them, where the delay reaches back behind both',
            choices=INTERPOLATIONS,
            live=True,
        ),
        _amount(f'{name}.interval', 's', 'one is taken so often and held; 0 = every step', False),
        Parameter(f'{name}.phase', 0.0, 's', 'when, from the zero of the clock, modulo interval'),
    )


_TEMPERATURE: dict[str, Any] = {
    'low': ABSOLUTE_ZERO,
    'rule': f'finite and >= {ABSOLUTE_ZERO:g} deg C',
    'live': True,
}
SENSE = (
    *_sampling('command', 'the stamp of a command to when it acts'),
    Parameter(
        'encoder.counts',
        0,
        '',
        'counts of the encoder a turn; 0 = no encoder',
        f'a whole number from 0 to {MOST_COUNTS}',
        0,
        MOST_COUNTS,
    ),
    *_channel('tachometer', 'rad/s', 'the speed to the stator'),
    *_channel('torque_sensor', 'N m', 'the torque of the drive'),
    *_sampling('measured', 'when it is measured to when it is told'),
    *(
        Parameter(
            f'fault.{name}',
            Fault.NONE.value,
            '',
            f'what is wrong with the measured {name}',
            choices=tuple(fault.value for fault in Fault),
            live=True,
        )
        for name in FAULTY
    ),
    _amount('winding.thermal_resistance', 'K/W', 'R_th, to what is around; 0 = it stays as warm'),
    _amount('winding.thermal_capacity', 'J/K', 'C_th, heat it takes for a degree'),
    Parameter(
        'winding.ambient', NO_WINDING.ambient, 'deg C', 'around, at the start', **_TEMPERATURE
    ),
    Parameter(
        'winding.coefficient',
        NO_WINDING.coefficient,
        '1/K',
        'alpha, of the electrical resistance',
        'finite and >= 0 1/K',
        0.0,
        live=True,
    ),
    Parameter(
        'winding.reference',
        NO_WINDING.reference,
        'deg C',
        'at which voltage.resistance holds',
        **_TEMPERATURE,
    ),
    _amount(
        'winding.limit',
        'deg C',
        'from which limits of torque and current are made smaller; 0 = none',
    ),
    _amount('winding.maximum', 'deg C', 'at which nothing is left of them'),
)

MOTOR = (
    Parameter(
        'inertia',
        1e-4,
        'kg m^2',
        'J, inertia of the rotor about its axis',
        'finite and > 0 kg m^2',
        0.0,
        above=True,
        live=True,
    ),
    Parameter(
        'damping',
        1e-5,
        'N m s',
        'b, viscous damping on the speed relative to the stator',
        'finite and >= 0 N m s',
        0.0,
        live=True,
    ),
    Parameter('axis', (0.0, 0.0, 1.0), '', 'a, axis in the stator frame, normalised'),
    Parameter(
        'asymmetry',
        _ZEROS,
        'kg m^2',
        'Q, asymmetry across the axis in the stator frame at angle 0: ixx ixy ixz iyy iyz izz',
        live=True,
    ),
    Parameter(
        'rotor_inertia',
        _ZEROS,
        'kg m^2',
        'full inertia of the rotor at angle 0 (ixx ixy ixz iyy iyz izz) instead of inertia and'
        ' asymmetry; zeros = not given',
    ),
    Parameter('placement.xyz', (0.0, 0.0, 0.0), 'm', 'origin of the stator in the mount frame'),
    Parameter(
        'placement.rpy',
        (0.0, 0.0, 0.0),
        'rad',
        'roll, pitch, yaw of the stator in the mount frame (fixed axes, as in URDF)',
    ),
    Parameter(
        'placement.quaternion',
        (0.0, 0.0, 0.0, 1.0),
        '',
        'orientation of the stator in the mount frame, x y z w, instead of placement.rpy',
    ),
    *DRIVE,
    *SENSE,
    Parameter('initial_spin', 0.0, 'rad/s', 'absolute spin at the start and after a reset'),
    Parameter('initial_angle', 0.0, 'rad', 'angle at the start and after a reset'),
    Parameter('stator_frame', '', '', "the stator's frame id; empty = <motor>_stator"),
    Parameter('rotor_frame', '', '', "the rotor's frame id; empty = <motor>_rotor"),
    Parameter('joint', '', '', "the joint's name in joint_states; empty = <motor>_joint"),
)


def parameters(motors: Iterable[str]) -> dict[str, Parameter]:
    """Return every parameter of a node that has these motors, by full name."""
    return dict(_parameters(tuple(motors)))


@lru_cache(maxsize=8)  # a sweep asks for the same ones a million times
def _parameters(motors: tuple[str, ...]) -> dict[str, Parameter]:
    table = {parameter.name: parameter for parameter in NODE}
    for motor in motors:
        for parameter in MOTOR:
            name = f'{motor}.{parameter.name}'
            default = parameter.default
            if parameter.name in ('stator_frame', 'rotor_frame', 'joint'):
                default = f'{motor}_{parameter.name.split("_")[0]}'
            table[name] = parameter._replace(name=name, default=default)
    return table


@dataclass(frozen=True)
class MotorSettings:
    """One motor: its names, its model and where it starts."""

    name: str
    model: MotorParameters
    initial: MotorState
    stator_frame: str
    rotor_frame: str
    joint: str
    drive: Drive = PLAIN
    group: int = 0
    command: Sampling = AT_ONCE
    """How late a command acts, and how often one is taken."""
    sensors: Sensors = NO_SENSORS
    faults: Faults = NO_FAULTS
    measured: Sampling = AT_ONCE
    """How late the sensors tell, and how often they measure."""


class MarkerSettings(NamedTuple):
    """What RViz is sent; a scale of 0 is chosen from the motors, see ``picture``."""

    rate: float = 20.0
    force_scale: float = 0.0
    torque_scale: float = 0.0
    momentum_scale: float = 0.0


@dataclass(frozen=True)
class Settings:
    """The checked values of all parameters; durations as integer nanoseconds."""

    motors: tuple[MotorSettings, ...]
    rate: float
    step_on: str
    publish_rate: float
    tf_rate: float
    overview_rate: float
    publish_tf: bool
    world_frame: str
    mount_frame: str
    rate_source: str
    pose_source: str
    pose_timeout: int
    rate_timeout: int
    command_timeout: int
    max_gap: int
    settle: int
    on_time_jump: str
    priority: int = 0
    cpus: tuple[int, ...] = ()
    lock_memory: bool = False
    collect_garbage: bool = True
    torque_limit: float = math.inf
    groups_off: frozenset[int] = frozenset()
    markers: MarkerSettings = MarkerSettings()
    remarks: tuple[str, ...] = ()
    """What a user should know about these values, one line each."""

    def with_motor(self, index: int, **changes: Any) -> Settings:
        """Return the settings with the fields of one motor changed."""
        motors = list(self.motors)
        motors[index] = replace(motors[index], **changes)
        return replace(self, motors=tuple(motors))


def settings(values: Mapping[str, Any] | None = None) -> Settings:
    """
    Return the settings for parameter values by full name; what is not named has its default.

    Raises
    ------
    ParameterError
        One line that names the parameter, its rule with unit, and the value.

    """
    values = dict(values or {})
    remarks: list[str] = []
    motors = motor_names(values.get('motors', NODE[0].default))
    table = parameters(motors)
    check_names(values, motors)
    value = {
        name: plain(parameter, values.get(name, parameter.default))
        for name, parameter in table.items()
    }
    frame: dict[str, Any] = {
        name: _frame(name, value[name], remarks)
        for name in value
        if name in ('world_frame', 'mount_frame')
    }
    made = tuple(_motor(motor, value, values, remarks) for motor in motors)
    _distinct(made, frame)
    _combinations(value)
    timeout = value['command_timeout']
    remarks += [
        f'motor {motor!r}: command.interval is not below command_timeout of {timeout:g} s: '
        'a command stops acting before the next one is taken.'
        for motor in motors
        if 0.0 < timeout <= value[f'{motor}.command.interval']
    ]
    pose = value['pose_source']
    if pose == 'auto':
        pose = 'odometry' if value['rate_source'] == 'odometry' else 'tf'
    durations: dict[str, Any] = {
        # Not 0 for what is shorter than the unit: that would mean for ever.
        name: nanoseconds(value[name]) or int(value[name] > 0.0)
        for name in ('pose_timeout', 'rate_timeout', 'command_timeout', 'max_gap', 'settle')
    }
    same: dict[str, Any] = {
        name: value[name]
        for name in (
            'rate',
            'step_on',
            'publish_rate',
            'tf_rate',
            'overview_rate',
            'publish_tf',
            'rate_source',
            'on_time_jump',
            'priority',
            'lock_memory',
            'collect_garbage',
        )
    }
    return Settings(
        motors=made,
        pose_source=pose,
        cpus=_whole('cpus', value['cpus'], 'cores'),
        torque_limit=value['torque_limit'] or math.inf,
        groups_off=frozenset(_whole('groups_off', value['groups_off'], 'groups')),
        markers=MarkerSettings(*[value[f'markers.{name}'] for name in MarkerSettings._fields]),
        remarks=tuple(remarks),
        **frame,
        **durations,
        **same,
    )


def motor_names(value: Any) -> tuple[str, ...]:
    """Return the names of the motors, checked."""
    names = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    rule = f'1 to {MOST_MOTORS} different names of letters, digits and _ that begin with a letter'
    good = all(
        isinstance(name, str) and re.fullmatch('[A-Za-z](_?[A-Za-z0-9])*', name) for name in names
    )
    if not (good and 1 <= len(names) <= MOST_MOTORS and len(set(names)) == len(names)):
        raise ParameterError('motors', rule, list(names))
    taken = ({parameter.name.split('.')[0] for parameter in NODE} | OF_RCLPY) & set(names)
    if taken:
        raise ParameterError('motors', 'names that no parameter has', repr(min(taken)))
    return names


def check_names(values: Mapping[str, Any], motors: Sequence[str]) -> list[str]:
    """
    Refuse names that were meant for us; return those that mean nothing here.

    A parameter file keyed /** may hold what is another node's, so a name that resembles none
    of ours is not an error. One that is nearly ours, or one of our motor parameters for a
    motor that is not there, is a mistake that would silently leave a default in place.
    """
    table = parameters(motors)
    ends = [parameter.name for parameter in MOTOR]
    strangers = []
    for name in values:
        if name in table:
            continue
        motor, _, end = name.partition('.')
        rule, hint = 'the name of a parameter', ''
        if name in ends:
            hint = f'Did you mean {motors[0]}.{name}?'
        elif motor in motors:
            near = get_close_matches(end.lower(), ends, 1)
            hint = f'Did you mean {motor}.{near[0]}?' if near else f'There are {", ".join(ends)}.'
        elif end in ends:
            like = (get_close_matches(motor, motors, 1) or motors)[0]
            rule = f'a parameter of one of the motors {list(motors)}'
            hint = f'Add {motor!r} to motors, or name it {like}.{end}.'
        elif near := get_close_matches(name.lower(), [*table, *ends], 1, 0.8):
            whose = f'{motors[0]}.' if near[0] in ends else ''
            hint = f'Did you mean {whose}{near[0]}?'
        else:
            strangers.append(name)
            continue
        raise ParameterError(name, rule, _shown(values[name]), hint)
    return strangers


def plain(parameter: Parameter, value: Any) -> Any:
    """Return a value as the parameter's own type, or raise; an int is taken for a double."""
    kind = type(parameter.default)
    if kind is bool:
        if not isinstance(value, bool):
            raise ParameterError(parameter.name, 'true or false', _shown(value))
        return value
    if kind is str:
        return _text(parameter, value)
    if kind is tuple and parameter.name != 'motors':
        return _numbers(parameter, value)
    if kind is tuple:
        return motor_names(value)
    if kind is int:
        return _count(parameter, value)
    rule = parameter.rule or f'a finite number [{parameter.unit}]'
    number = _number(value)
    low = parameter.low < number if parameter.above else parameter.low <= number
    if not (low and number <= parameter.high and math.isfinite(number)):
        raise ParameterError(parameter.name, rule, _shown(value))
    return number


def _shown(value: Any) -> Any:
    """Return a value as an error shows it: text in quotes, a sequence as a list."""
    if isinstance(value, str):
        return repr(value)
    return (
        value if isinstance(value, (bool, int, float)) else list(value) if _many(value) else value
    )


def _many(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, '__len__')


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _numbers(parameter: Parameter, value: Any) -> tuple[float, ...]:
    size = len(parameter.default)
    sizes = (6, 9) if parameter.name.endswith('.asymmetry') else (size,)
    unit = f' [{parameter.unit}]' if parameter.unit else ''
    numbers = tuple(_number(x) for x in value) if _many(value) else ()
    if len(numbers) not in sizes or not all(math.isfinite(x) for x in numbers):
        words = ' or '.join(map(str, sizes))
        raise ParameterError(parameter.name, f'{words} finite numbers{unit}', _shown(value))
    return numbers


def _count(parameter: Parameter, value: Any) -> int:
    whole = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (whole and parameter.low <= value <= parameter.high and value == int(value)):
        raise ParameterError(parameter.name, parameter.rule, _shown(value))
    return int(value)


def _whole(name: str, text: str, what: str) -> tuple[int, ...]:
    """Return the numbers that a text as '0,2-3' means."""
    cores: set[int] = set()
    for part in text.split(',') if text else ():
        match = re.fullmatch(r'([0-9]{1,4})(?:-([0-9]{1,4}))?', part.strip())
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise ParameterError(name, f"numbers of {what} as '0,2-3', or empty", repr(text))
        cores.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(cores))


def _text(parameter: Parameter, value: Any) -> str:
    if parameter.name in ('cpus', 'groups_off') and type(value) is int:
        value = str(value)  # YAML makes a number of one core
    if value is False and 'off' in parameter.choices:
        value = 'off'  # which YAML takes for it
    if not isinstance(value, str):
        raise ParameterError(parameter.name, 'a text', _shown(value), 'Put it in quotes.')
    if parameter.choices and value not in parameter.choices:
        near = get_close_matches(value, parameter.choices, 1)
        hint = f'Did you mean {near[0]}?' if near else ''
        raise ParameterError(
            parameter.name, f'one of {", ".join(parameter.choices)}', repr(value), hint
        )
    return value


def _frame(name: str, value: str, remarks: list[str]) -> str:
    """Return a frame id without the leading slash that tf2 refuses."""
    frame = value[1:] if value.startswith('/') else value
    if not frame or frame.startswith('/') or frame != frame.strip():
        raise ParameterError(name, 'a frame id, not empty and no spaces around it', repr(value))
    if frame != value:
        remarks.append(f"{name}: leading '/' of {value!r} stripped, tf2 has none.")
    return frame


def _motor(
    motor: str, value: Mapping[str, Any], given: Mapping[str, Any], remarks: list[str]
) -> MotorSettings:
    """Return the settings of one motor out of its checked plain values."""

    def own(name: str) -> Any:
        return value[f'{motor}.{name}']

    def named(name: str) -> str:
        full = f'{motor}.{name}'
        return _frame(
            full, value['frame_prefix'].lstrip('/') + _frame(full, own(name), remarks), remarks
        )

    inertia, asymmetry = own('inertia'), own('asymmetry')
    try:
        if any(own('rotor_inertia')):
            parts = from_rotor_inertia(own('rotor_inertia'), own('axis'))
            for name, part in (('inertia', parts.inertia), ('asymmetry', parts.asymmetry)):
                if f'{motor}.{name}' in given and not _near(own(name), part):
                    raise ParameterError(
                        name,
                        f'left out or {_shown(part)} kg m^2, as rotor_inertia gives it',
                        _shown(own(name)),
                    )
            inertia, asymmetry = parts.inertia, parts.asymmetry
            remarks.append(
                f"motor {motor!r}: the mount's link has to carry the rotor's mass at the stator's "
                f'origin and {parts.transverse:.6g} kg m^2 across its axis (none about it).'
            )
        model = MotorParameters(
            inertia,
            own('damping'),
            own('axis'),
            asymmetry,
            Pose(own('placement.xyz'), _orientation(own)),
            Friction(*(own(f'friction.{name}') for name in FRICTION)),
            Gear(own('gear.ratio'), own('gear.inertia')),
            _imbalance(own),
        )
        drive = _drive(own)
        command, measured = _sampled(own, 'command'), _sampled(own, 'measured')
        sensors = _sensors(own, motor, value['seed'])
        faults = Faults(*(Fault(own(f'fault.{name}')) for name in FAULTY))
    except ParameterError as error:
        if error.name == 'placement':  # its position has been checked as a list of numbers
            raise ParameterError(
                f'{motor}.placement.quaternion',
                'x y z w of length 1, within 1e-2',
                error.value,
            ) from None
        raise ParameterError(
            f'{motor}.{error.name}', error.rule, error.value, error.hint
        ) from None
    if abs(model.mean_asymmetry) > 1e-9 * max(map(abs, model.asymmetry)):
        remarks.append(
            f'motor {motor!r}: asymmetry has a mean part of {model.mean_asymmetry:.6g} kg m^2 '
            "across the axis, which belongs to the mount's link: leave it out here."
        )
    remarks += [f'motor {motor!r}: {text}' for text in _doubts(own, model, drive, sensors)]
    return MotorSettings(
        motor,
        model,
        MotorState(own('initial_angle'), own('initial_spin')),
        named('stator_frame'),
        named('rotor_frame'),
        own('joint'),
        drive,
        own('group'),
        command,
        sensors,
        faults,
        measured,
    )


def _doubts(
    own: Callable[[str], Any], model: MotorParameters, drive: Drive, sensors: Sensors
) -> Iterable[str]:
    """Yield what of a motor is allowed and hardly meant."""
    holds = model.friction.static or model.friction.coulomb
    a = drive.armature
    bounds = {'limit.torque': drive.torque_limit}
    if a is not None:
        most = abs(torque_over_current(a, drive.ratio, True)) * a.current
        bounds['the torque of voltage.current_limit,'] = most
    for name, most in bounds.items():
        if most <= holds:
            yield (
                f'{name} of {most:g} N m is not above its dry friction of {holds:g} N m: '
                'the drive alone cannot turn it.'
            )
    if drive.dead_zone >= drive.torque_limit:
        yield 'limit.dead_zone is not below limit.torque: the drive gives none.'
    gains = {'velocity': drive.velocity, 'position': drive.position}
    gains['integrated_velocity'] = drive.position
    if drive.mode in gains and not any(gains[drive.mode]):
        yield f'mode {drive.mode} without gains: commands do nothing but what they feed forward.'
    if a is None:
        for name in ('supply', 'current_limit', 'back_emf'):
            if own(f'voltage.{name}'):
                yield f'voltage.{name} without an armature (voltage.resistance): it is not used.'
        if own('gear.efficiency') != 1.0:
            yield 'gear.efficiency without an armature (voltage.resistance): it is not used.'
    if own('winding.thermal_capacity') and drive.winding.is_none:
        yield 'winding.thermal_capacity without winding.thermal_resistance: it is not used.'
    if model.friction.stribeck_speed and not model.friction.static:
        yield 'friction.stribeck_speed without friction.static: it is not used.'
    for name, fitted in zip(FAULTY, sensors.fitted, strict=True):
        if own(f'fault.{name}') != Fault.NONE.value and not fitted:
            yield f'fault.{name} without a sensor: nothing is measured that could be wrong.'
    for kind in (Tachometer, TorqueSensor):
        given = [f'{kind.name}.{part}' for part in CHANNEL if own(f'{kind.name}.{part}')]
        if given and not own(f'{kind.name}.enabled'):
            yield f'{given[0]} without {kind.name}.enabled: it is not measured.'


def _sampled(own: Callable[[str], Any], name: str) -> Sampling:
    """Return the sampling of a command or of what is measured."""

    def time(end: str) -> int:
        return nanoseconds(own(f'{name}.{end}'))

    try:
        return Sampling(
            time('delay'),
            own(f'{name}.interpolation'),
            time('interval'),
            time('phase'),
            time('max_delay'),
        )
    except ParameterError as error:
        raise ParameterError(
            f'{name}.{error.name}',
            f'<= {name}.max_delay, which is {own(f"{name}.max_delay"):g} s',
            own(f'{name}.{error.name}'),
            f'Set {name}.max_delay, at the start.',
        ) from None


def _sensors(own: Callable[[str], Any], motor: str, seed: int) -> Sensors:
    """Return the sensors of a motor."""

    def channel(kind: type[Channel]) -> Any:
        if own(f'{kind.name}.enabled'):
            return kind(*(own(f'{kind.name}.{part}') for part in CHANNEL))
        return None

    encoder = Encoder(own('encoder.counts'))
    return Sensors(encoder, channel(Tachometer), channel(TorqueSensor), seed, motor)


def _winding(own: Callable[[str], Any]) -> Winding:
    """Return the winding of a motor; limits of 0 are none."""
    limit, maximum = own('winding.limit'), own('winding.maximum')
    try:
        return Winding(
            own('winding.thermal_resistance'),
            own('winding.thermal_capacity'),
            own('winding.ambient'),
            own('winding.coefficient'),
            own('winding.reference'),
            limit or math.inf,
            maximum or math.inf,
        )
    except ParameterError as error:
        if error.name == 'winding.maximum':  # whose words are of infinities
            rule = (
                f'> winding.limit, which is {limit:g} deg C'
                if limit
                else '0 deg C without winding.limit'
            )
            raise ParameterError(error.name, rule, maximum) from None
        raise


def _imbalance(own: Callable[[str], Any]) -> Imbalance | None:
    """Return the imbalance, its directions counted from the first of two across the axis."""
    if not (own('imbalance.static') or own('imbalance.dynamic')):
        return None
    axis = MotorParameters(1.0, axis=own('axis')).axis
    return Imbalance(
        own('imbalance.static'),
        across(axis, own('imbalance.static_phase')),
        own('imbalance.dynamic'),
        across(axis, own('imbalance.dynamic_phase')),
    )


def _drive(own: Callable[[str], Any]) -> Drive:
    """Return the drive of a motor; 0 stands for no limit."""

    def limit(name: str) -> float:
        return own(name) or math.inf

    low, high = own('position.range')
    if low > high:
        raise ParameterError(
            'position.range', 'the lowest, then the highest angle [rad]', [low, high]
        )
    if not own('gear.ratio'):
        raise ParameterError('gear.ratio', 'finite and not 0', own('gear.ratio'))
    return Drive(
        own('mode'),
        Gains(own('velocity.kp'), own('velocity.ki')),
        Gains(own('position.kp'), own('position.ki'), own('position.kd')),
        _armature(own),
        own('gear.ratio'),
        (low, high) if (low, high) != (0.0, 0.0) else (-math.inf, math.inf),
        limit('limit.command'),
        own('limit.dead_zone'),
        limit('limit.slew_rate'),
        limit('limit.torque'),
        limit('limit.speed'),
        limit('limit.power'),
        _winding(own),
    )


def _armature(own: Callable[[str], Any]) -> Armature | None:
    """Return the armature, out of its constants or of a data sheet."""
    R, Kt, Ke = own('voltage.resistance'), own('voltage.torque_constant'), own('voltage.back_emf')
    sheet = [own(f'voltage.{name}') for name in SHEET]
    if any(sheet) and (R or Kt or Ke):
        name, value = next(pair for pair in zip(SHEET, sheet, strict=True) if pair[1])
        rule = '0 where voltage.resistance or a constant is given'
        raise ParameterError(f'voltage.{name}', rule, value)
    if own('voltage.inductance') and not (R or any(sheet)):
        raise ParameterError('voltage.resistance', '> 0 ohm where there is an inductance', R)
    if Ke and Ke < LEAST_BACK_EMF * Kt:
        rule = (
            f'0 or >= {LEAST_BACK_EMF:g} of voltage.torque_constant, which is {Kt:g} N m/A: with '
            'less the motor would give more power than it takes'
        )
        raise ParameterError('voltage.back_emf', rule, Ke)
    if not (R or Kt or any(sheet)):
        return None
    try:
        if any(sheet):
            R, Kt, Ke = from_datasheet(*sheet)
        return Armature(
            R,
            Kt,
            Ke or Kt,
            own('voltage.inductance'),
            own('gear.efficiency'),
            own('voltage.supply') or math.inf,
            own('voltage.current_limit') or math.inf,
        )
    except ParameterError as error:
        name = {'nominal_voltage': 'nominal'}.get(error.name, error.name)
        raise ParameterError(f'voltage.{name}', error.rule, error.value, error.hint) from None


def _orientation(own: Callable[[str], Any]) -> Quaternion:
    """Return the placement's orientation from roll, pitch, yaw or the quaternion."""
    quaternion: Quaternion = own('placement.quaternion')
    rpy = own('placement.rpy')
    if not any(rpy):
        return quaternion
    w, x, y, z = (float(q) for q in euler2quat(*rpy, axes='sxyz'))
    if quaternion != (0.0, 0.0, 0.0, 1.0) and not _near(quaternion, (x, y, z, w)):
        raise ParameterError(
            'placement.quaternion', 'left out where placement.rpy is given', _shown(quaternion)
        )
    return (x, y, z, w)


def _near(a: Any, b: Any) -> bool:
    a, b = (a, b) if isinstance(a, tuple) else ((a,), (b,))
    size = max(map(abs, b), default=0.0)
    return len(a) == len(b) and all(abs(x - y) <= 1e-9 * size for x, y in zip(a, b, strict=True))


def _distinct(motors: Sequence[MotorSettings], frame: Mapping[str, str]) -> None:
    """Refuse one name for two things: a frame has one parent, a joint one motor."""
    used = {frame['world_frame']: 'world_frame', frame['mount_frame']: 'mount_frame'}
    names = {motor.name: f'motor {motor.name!r}' for motor in motors}
    for motor in motors:
        joints = {name: whose for name, whose in names.items() if name != motor.name}
        for name, value, known in (
            ('stator_frame', motor.stator_frame, used),
            ('rotor_frame', motor.rotor_frame, used),
            ('joint', motor.joint, joints),
        ):
            if value in known or not value:
                why = f'that of {known[value]}' if value in known else 'empty'
                raise ParameterError(
                    f'{motor.name}.{name}', 'a name of its own', repr(value), f'It is {why}.'
                )
            known[value] = f'{motor.name}.{name}'
        names[motor.joint] = f'{motor.name}.joint'


def _combinations(value: Mapping[str, Any]) -> None:
    if value['step_on'] == 'imu' and value['rate_source'] in ('tf', 'zero'):
        raise ParameterError(
            'step_on',
            f'timer where rate_source is {value["rate_source"]}',
            repr('imu'),
            'Steps on messages need a rate that comes as messages.',
        )
