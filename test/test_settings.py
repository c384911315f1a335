"""Every parameter: its default, and for each wrong value the whole text of the refusal."""

import math

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.drive import MODES
from mime_motor_ros.errors import MotorError, ParameterError
from mime_motor_ros.model import MotorState, Pose
from mime_motor_ros.settings import (
    check_names,
    DRIVE,
    MOTOR,
    motor_names,
    NODE,
    Parameter,
    parameters,
    plain,
    SENSE,
    settings,
)
from mime_motor_ros.vector import rotate
import numpy as np
import pytest
from transforms3d.euler import euler2mat

NAN, INF = math.nan, math.inf
NAMES = '1 to 64 different names of letters, digits and _ that begin with a letter'
SOURCES = 'imu, twist, odometry, tf, zero'
FRAME = 'a frame id, not empty and no spaces around it'
ENDS = f'There are {", ".join(parameter.name for parameter in MOTOR)}.'
AMOUNTS = [
    p for p in (*NODE, *DRIVE, *SENSE)
    if p.rule.startswith('finite and >= 0') and p.name != 'command_timeout'
]  # fmt: skip
WHOLE = [p for p in (*NODE, *SENSE) if p.name in ('seed', 'encoder.counts')]
CHOSEN = [p for p in SENSE if p.choices]
SWITCHES = [p for p in SENSE if p.default is False]
NUMBERS = [p for p in SENSE if p.name.endswith(('.phase', '.bias'))]
WARMTHS = [p for p in SENSE if p.unit == 'deg C']


def full(parameter):
    return parameter.name if parameter in NODE else f'wheel.{parameter.name}'


ACROSS = 'across the axis, |Q axis| <= 1e-9 |Q| kg m^2'
ALONG = 'What lies along the axis is the inertia, and what tilts it is an imbalance.'
BODY = 'positive, no principal moment above the sum of the two others [kg m^2]'
MESSAGES = 'Steps on messages need a rate that comes as messages.'
ROTOR = [6e-5, 0.0, 0.0, 6e-5, 0.0, 1e-4]

BAD = [
    # motors
    ('motors', [], f'motors must be {NAMES}, got [].'),
    ('motors', ['a', 'a'], f"motors must be {NAMES}, got ['a', 'a']."),
    ('motors', ['1a'], f"motors must be {NAMES}, got ['1a']."),
    ('motors', ['a.b'], f"motors must be {NAMES}, got ['a.b']."),
    ('motors', ['a b'], f"motors must be {NAMES}, got ['a b']."),
    ('motors', ['a_'], f"motors must be {NAMES}, got ['a_']."),
    ('motors', ['a__b'], f"motors must be {NAMES}, got ['a__b']."),
    ('motors', [''], f"motors must be {NAMES}, got ['']."),
    ('motors', ['a', 3], f"motors must be {NAMES}, got ['a', 3]."),
    ('motors', 3, f'motors must be {NAMES}, got [3].'),
    (
        'motors',
        ['qos_overrides'],
        "motors must be names that no parameter has, got 'qos_overrides'.",
    ),
    ('motors', ['rate'], "motors must be names that no parameter has, got 'rate'."),
    # the drive
    *(
        (full(parameter), value, f'{full(parameter)} must be {parameter.rule}, got {value}.')
        for parameter in AMOUNTS
        for value in (-1.0, NAN, INF)
    ),
    *((full(p), 1.5, f'{full(p)} must be {p.rule}, got 1.5.') for p in WHOLE),
    *((full(p), -1, f'{full(p)} must be {p.rule}, got -1.') for p in WHOLE),
    *(
        (full(p), 'never', f"{full(p)} must be one of {', '.join(p.choices)}, got 'never'.")
        for p in CHOSEN
    ),
    *((full(p), 1, f'{full(p)} must be true or false, got 1.') for p in SWITCHES),
    *((full(p), INF, f'{full(p)} must be a finite number [{p.unit}], got inf.') for p in NUMBERS),
    *(
        (
            full(p),
            NAN,
            f'{full(p)} must be {p.rule or "a finite number [deg C]"}, got nan.',
        )
        for p in WARMTHS
    ),
    *(
        (
            f'wheel.{name}.delay',
            0.02,
            f'wheel.{name}.delay must be <= {name}.max_delay, which is 0 s, got 0.02. '
            f'Set {name}.max_delay, at the start.',
        )
        for name in ('command', 'measured')
    ),
    (
        'wheel.winding.thermal_resistance',
        1.0,
        'wheel.winding.thermal_capacity must be > 0 J/K where there is a thermal resistance, '
        'got 0.0.',
    ),
    (
        'wheel.winding.limit',
        100.0,
        'wheel.winding.maximum must be > winding.limit, which is 100 deg C, got 0.0.',
    ),
    (
        'wheel.winding.maximum',
        100.0,
        'wheel.winding.maximum must be 0 deg C without winding.limit, got 100.0.',
    ),
    (
        'wheel.winding.ambient',
        -273.0,
        'wheel.winding.ambient must be > -229.453 deg C, where the electrical resistance is 0, '
        'got -273.0.',
    ),
    ('wheel.mode', 'speed', f'wheel.mode must be one of {", ".join(MODES)}, got {"speed"!r}.'),
    (
        'wheel.mode',
        'voltage',
        "wheel.mode must be another one without an armature, got 'voltage'. Give "
        'voltage.resistance and voltage.torque_constant, or the data sheet.',
    ),
    (
        'wheel.position.range',
        [1.0, -1.0],
        'wheel.position.range must be the lowest, then the highest angle [rad], got [1.0, -1.0].',
    ),
    ('wheel.gear.ratio', 0.0, 'wheel.gear.ratio must be finite and not 0, got 0.0.'),
    ('wheel.gear.efficiency', 1.1, 'wheel.gear.efficiency must be > 0 and <= 1, got 1.1.'),
    (
        'wheel.imbalance.static_phase',
        INF,
        'wheel.imbalance.static_phase must be a finite number [rad], got inf.',
    ),
    (
        'wheel.imbalance.dynamic_phase',
        INF,
        'wheel.imbalance.dynamic_phase must be a finite number [rad], got inf.',
    ),
    ('wheel.group', 1.5, 'wheel.group must be a whole number from 0 to 999, got 1.5.'),
    ('groups_off', 'a', "groups_off must be numbers of groups as '0,2-3', or empty, got 'a'."),
    (
        'wheel.voltage.inductance',
        1e-3,
        'wheel.voltage.resistance must be > 0 ohm where there is an inductance, got 0.0.',
    ),
    (
        'wheel.voltage.resistance',
        1.0,
        'wheel.voltage.torque_constant must be finite and > 0 N m/A, got 0.0.',
    ),
    *(
        (
            f'wheel.{name}.max_delay',
            value,
            f'wheel.{name}.max_delay must be >= 0 s and <= 10 s, got {value}.',
        )
        for name in ('command', 'measured')
        for value in (-1.0, 10.1, NAN)
    ),
    # plain numbers
    ('rate', 0.0, 'rate must be > 0 Hz and <= 10000 Hz, got 0.0.'),
    ('rate', -1, 'rate must be > 0 Hz and <= 10000 Hz, got -1.'),
    ('rate', NAN, 'rate must be > 0 Hz and <= 10000 Hz, got nan.'),
    ('rate', INF, 'rate must be > 0 Hz and <= 10000 Hz, got inf.'),
    ('rate', 10001, 'rate must be > 0 Hz and <= 10000 Hz, got 10001.'),
    ('rate', '100', "rate must be > 0 Hz and <= 10000 Hz, got '100'."),
    ('rate', True, 'rate must be > 0 Hz and <= 10000 Hz, got True.'),
    ('rate', [1.0], 'rate must be > 0 Hz and <= 10000 Hz, got [1.0].'),
    ('rate', None, 'rate must be > 0 Hz and <= 10000 Hz, got None.'),
    ('rate', 10**400, f'rate must be > 0 Hz and <= 10000 Hz, got {10**400}.'),
    ('rate', 10**900, f'rate must be > 0 Hz and <= 10000 Hz, got {10**499}....'),
    ('publish_rate', -1.0, 'publish_rate must be >= 0 Hz and <= 10000 Hz, got -1.0.'),
    ('tf_rate', NAN, 'tf_rate must be >= 0 Hz and <= 10000 Hz, got nan.'),
    ('overview_rate', 0.0, 'overview_rate must be > 0 Hz and <= 10000 Hz, got 0.0.'),
    ('markers.rate', -1.0, 'markers.rate must be >= 0 Hz and <= 10000 Hz, got -1.0.'),
    ('markers.force_scale', -1.0, 'markers.force_scale must be finite and >= 0 m/N, got -1.0.'),
    (
        'markers.torque_scale',
        NAN,
        'markers.torque_scale must be finite and >= 0 m/(N m), got nan.',
    ),
    (
        'markers.momentum_scale',
        INF,
        'markers.momentum_scale must be finite and >= 0 m/(N m s), got inf.',
    ),
    ('pose_timeout', -0.1, 'pose_timeout must be finite and > 0 s, got -0.1.'),
    ('rate_timeout', NAN, 'rate_timeout must be finite and > 0 s, got nan.'),
    ('command_timeout', -1, 'command_timeout must be finite and >= 0 s, got -1.'),
    ('rate_timeout', 0.0, 'rate_timeout must be finite and > 0 s, got 0.0.'),
    ('max_gap', 0.0, 'max_gap must be > 0 s and <= 60 s, got 0.0.'),
    ('max_gap', 60.1, 'max_gap must be > 0 s and <= 60 s, got 60.1.'),
    ('settle', INF, 'settle must be >= 0 s and <= 5 s, got inf.'),
    ('settle', 5.1, 'settle must be >= 0 s and <= 5 s, got 5.1.'),
    ('priority', -1, 'priority must be a whole number from 0 to 99, got -1.'),
    ('priority', 100, 'priority must be a whole number from 0 to 99, got 100.'),
    ('priority', 1.5, 'priority must be a whole number from 0 to 99, got 1.5.'),
    ('priority', NAN, 'priority must be a whole number from 0 to 99, got nan.'),
    ('priority', True, 'priority must be a whole number from 0 to 99, got True.'),
    ('priority', 'high', "priority must be a whole number from 0 to 99, got 'high'."),
    ('cpus', '0,x', "cpus must be numbers of cores as '0,2-3', or empty, got '0,x'."),
    ('cpus', '3-1', "cpus must be numbers of cores as '0,2-3', or empty, got '3-1'."),
    ('cpus', '1,', "cpus must be numbers of cores as '0,2-3', or empty, got '1,'."),
    ('cpus', 1.5, 'cpus must be a text, got 1.5. Put it in quotes.'),
    ('lock_memory', 1, 'lock_memory must be true or false, got 1.'),
    ('collect_garbage', 'no', "collect_garbage must be true or false, got 'no'."),
    ('wheel.inertia', 0.0, 'wheel.inertia must be finite and > 0 kg m^2, got 0.0.'),
    ('wheel.inertia', -1, 'wheel.inertia must be finite and > 0 kg m^2, got -1.'),
    ('wheel.inertia', NAN, 'wheel.inertia must be finite and > 0 kg m^2, got nan.'),
    ('wheel.inertia', INF, 'wheel.inertia must be finite and > 0 kg m^2, got inf.'),
    ('wheel.inertia', '1', "wheel.inertia must be finite and > 0 kg m^2, got '1'."),
    ('wheel.damping', -1e-9, 'wheel.damping must be finite and >= 0 N m s, got -1e-09.'),
    ('wheel.damping', NAN, 'wheel.damping must be finite and >= 0 N m s, got nan.'),
    ('wheel.initial_spin', NAN, 'wheel.initial_spin must be a finite number [rad/s], got nan.'),
    ('wheel.initial_angle', '0', "wheel.initial_angle must be a finite number [rad], got '0'."),
    # lists of numbers
    ('wheel.axis', [0, 0], 'wheel.axis must be 3 finite numbers, got [0, 0].'),
    ('wheel.axis', [0, 0, NAN], 'wheel.axis must be 3 finite numbers, got [0, 0, nan].'),
    ('wheel.axis', [0, INF, 0], 'wheel.axis must be 3 finite numbers, got [0, inf, 0].'),
    ('wheel.axis', 1.0, 'wheel.axis must be 3 finite numbers, got 1.0.'),
    ('wheel.axis', 'xyz', "wheel.axis must be 3 finite numbers, got 'xyz'."),
    (
        'wheel.axis',
        [0, 0, 0],
        'wheel.axis must be longer than 1e-9: a direction, got [0.0, 0.0, 0.0].',
    ),
    (
        'wheel.asymmetry',
        [1e-5, 0, 0, -1e-5, 0],
        'wheel.asymmetry must be 6 or 9 finite numbers [kg m^2], got [1e-05, 0, 0, -1e-05, 0].',
    ),
    (
        'wheel.asymmetry',
        [NAN, 0, 0, 0, 0, 0],
        'wheel.asymmetry must be 6 or 9 finite numbers [kg m^2], got [nan, 0, 0, 0, 0, 0].',
    ),
    (
        'wheel.asymmetry',
        [1e-5, 1e-6, 0, 0, -1e-5, 0, 0, 0, 0],
        'wheel.asymmetry must be symmetric [kg m^2], got '
        '[1e-05, 1e-06, 0.0, 0.0, -1e-05, 0.0, 0.0, 0.0, 0.0].',
    ),
    (
        'wheel.asymmetry',
        [1e-5, 0, 0, -1e-5, 0, 1e-5],
        f'wheel.asymmetry must be {ACROSS}, got [1e-05, 0.0, 0.0, -1e-05, 0.0, 1e-05]. {ALONG}',
    ),
    (
        'wheel.asymmetry',
        [1e-5, 0, 1e-5, -1e-5, 0, 0],
        f'wheel.asymmetry must be {ACROSS}, got [1e-05, 0.0, 1e-05, -1e-05, 0.0, 0.0]. {ALONG}',
    ),
    (
        'wheel.rotor_inertia',
        [1, 2, 3],
        'wheel.rotor_inertia must be 6 finite numbers [kg m^2], got [1, 2, 3].',
    ),
    (
        'wheel.rotor_inertia',
        [1e-4, 0, 1e-6, 1e-4, 0, 2e-4],
        'wheel.rotor_inertia must be of a rotor whose axis is a principal axis [kg m^2], got '
        '[0.0001, 0.0, 1e-06, 0.0001, 0.0, 0.0002]. '
        'A tilted one is an imbalance: give imbalance.dynamic.',
    ),
    (
        'wheel.rotor_inertia',
        [1e-4, 0, 0, 1e-4, 0, 3e-4],
        f'wheel.rotor_inertia must be {BODY}, got [0.0001, 0.0, 0.0, 0.0001, 0.0, 0.0003].',
    ),
    (
        'wheel.rotor_inertia',
        [-1e-4, 0, 0, 1e-4, 0, 1e-4],
        f'wheel.rotor_inertia must be {BODY}, got [-0.0001, 0.0, 0.0, 0.0001, 0.0, 0.0001].',
    ),
    (
        'wheel.placement.xyz',
        [0, 0, INF],
        'wheel.placement.xyz must be 3 finite numbers [m], got [0, 0, inf].',
    ),
    (
        'wheel.placement.rpy',
        [0, NAN, 0],
        'wheel.placement.rpy must be 3 finite numbers [rad], got [0, nan, 0].',
    ),
    (
        'wheel.placement.quaternion',
        [0, 0, 0],
        'wheel.placement.quaternion must be 4 finite numbers, got [0, 0, 0].',
    ),
    (
        'wheel.placement.quaternion',
        [0, 0, 0, 0],
        'wheel.placement.quaternion must be x y z w of length 1, within 1e-2, '
        'got [0.0, 0.0, 0.0, 0.0].',
    ),
    # texts, choices, frames
    ('step_on', 'clock', "step_on must be one of timer, imu, got 'clock'."),
    ('step_on', 'imus', "step_on must be one of timer, imu, got 'imus'. Did you mean imu?"),
    ('step_on', 1, 'step_on must be a text, got 1. Put it in quotes.'),
    ('rate_source', 'gyro', f"rate_source must be one of {SOURCES}, got 'gyro'."),
    (
        'rate_source',
        'odometri',
        f"rate_source must be one of {SOURCES}, got 'odometri'. Did you mean odometry?",
    ),
    ('pose_source', 'gps', "pose_source must be one of auto, tf, imu, odometry, got 'gps'."),
    (
        'on_time_jump',
        'rest',
        "on_time_jump must be one of hold, reset, got 'rest'. Did you mean reset?",
    ),
    ('publish_tf', 'true', "publish_tf must be true or false, got 'true'."),
    ('publish_tf', 1, 'publish_tf must be true or false, got 1.'),
    ('world_frame', '', f"world_frame must be {FRAME}, got ''."),
    ('world_frame', 7, 'world_frame must be a text, got 7. Put it in quotes.'),
    ('mount_frame', '//a', f"mount_frame must be {FRAME}, got '//a'."),
    ('mount_frame', ' a', f"mount_frame must be {FRAME}, got ' a'."),
    ('wheel.stator_frame', '/', f"wheel.stator_frame must be {FRAME}, got '/'."),
    ('frame_prefix', ' ', f"wheel.stator_frame must be {FRAME}, got ' wheel_stator'."),
    (
        'wheel.stator_frame',
        'base_link',
        "wheel.stator_frame must be a name of its own, got 'base_link'. "
        'It is that of mount_frame.',
    ),
    (
        'wheel.rotor_frame',
        'wheel_stator',
        "wheel.rotor_frame must be a name of its own, got 'wheel_stator'. "
        'It is that of wheel.stator_frame.',
    ),
    ('wheel.joint', '', "wheel.joint must be a name of its own, got ''. It is empty."),
    # names
    (
        'fan.inertia',
        1e-4,
        "fan.inertia must be a parameter of one of the motors ['wheel'], got 0.0001. "
        "Add 'fan' to motors, or name it wheel.inertia.",
    ),
    (
        'wheel.inertai',
        1e-4,
        'wheel.inertai must be the name of a parameter, got 0.0001. Did you mean wheel.inertia?',
    ),
    (
        'inertia',
        1e-4,
        'inertia must be the name of a parameter, got 0.0001. Did you mean wheel.inertia?',
    ),
    ('Rate', 200.0, 'Rate must be the name of a parameter, got 200.0. Did you mean rate?'),
    (
        'wheel.INERTIA',
        1e-4,
        'wheel.INERTIA must be the name of a parameter, got 0.0001. Did you mean wheel.inertia?',
    ),
    ('wheel.mass', 1.0, f'wheel.mass must be the name of a parameter, got 1.0. {ENDS}'),
    ('rates', 1.0, 'rates must be the name of a parameter, got 1.0. Did you mean rate?'),
    (
        'world_fame',
        'map',
        "world_fame must be the name of a parameter, got 'map'. Did you mean world_frame?",
    ),
    ('motor', ['a'], "motor must be the name of a parameter, got ['a']. Did you mean motors?"),
]
WARM = {'wheel.winding.thermal_resistance': 1.0, 'wheel.winding.thermal_capacity': 1.0}
LIMITED = {'wheel.winding.limit': 100.0, 'wheel.winding.maximum': 150.0}
ARMATURE = {'wheel.voltage.resistance': 1.0, 'wheel.voltage.torque_constant': 0.02}
CONFLICTS = [
    (
        WARM,
        'wheel.winding.thermal_resistance must be 0 K/W without an armature, whose current is '
        'what heats, got 1.0. Give voltage.resistance and voltage.torque_constant, or the data '
        'sheet.',
    ),
    (
        {**ARMATURE, 'wheel.voltage.back_emf': 0.0189},
        'wheel.voltage.back_emf must be 0 or >= 0.95 of voltage.torque_constant, which is 0.02 '
        'N m/A: with less the motor would give more power than it takes, got 0.0189.',
    ),
    (
        {**ARMATURE, **WARM, **LIMITED},
        'wheel.winding.limit must be 0 deg C (none) without a limit of torque or current that it '
        'could make smaller, got 100.0. Give limit.torque or voltage.current_limit.',
    ),
    (
        {'wheel.command.max_delay': 0.5, 'wheel.command.delay': 0.6},
        'wheel.command.delay must be <= command.max_delay, which is 0.5 s, got 0.6. '
        'Set command.max_delay, at the start.',
    ),
    (
        {'step_on': 'imu', 'rate_source': 'tf'},
        f"step_on must be timer where rate_source is tf, got 'imu'. {MESSAGES}",
    ),
    (
        {'step_on': 'imu', 'rate_source': 'zero'},
        f"step_on must be timer where rate_source is zero, got 'imu'. {MESSAGES}",
    ),
    (
        {'wheel.placement.rpy': [0, 0, 1], 'wheel.placement.quaternion': [0, 0, 1, 0]},
        'wheel.placement.quaternion must be left out where placement.rpy is given, '
        'got [0.0, 0.0, 1.0, 0.0].',
    ),
    (
        {'wheel.rotor_inertia': ROTOR, 'wheel.inertia': 2e-4},
        'wheel.inertia must be left out or 0.0001 kg m^2, as rotor_inertia gives it, got 0.0002.',
    ),
    (
        {'wheel.rotor_inertia': ROTOR, 'wheel.asymmetry': [1e-5, 0, 0, -1e-5, 0, 0]},
        'wheel.asymmetry must be left out or [0.0, 0.0, 0.0, 0.0, 0.0, 0.0] kg m^2, '
        'as rotor_inertia gives it, got [1e-05, 0.0, 0.0, -1e-05, 0.0, 0.0].',
    ),
    (
        {'motors': ['a', 'b'], 'b.joint': 'a_joint'},
        "b.joint must be a name of its own, got 'a_joint'. It is that of a.joint.",
    ),
    (
        {'motors': ['a', 'b'], 'b.rotor_frame': 'a_rotor'},
        "b.rotor_frame must be a name of its own, got 'a_rotor'. It is that of a.rotor_frame.",
    ),
]


@pytest.mark.parametrize(('name', 'value', 'text'), BAD)
def test_a_wrong_value_is_refused_by_name_rule_unit_and_value(name, value, text):
    with pytest.raises(ParameterError) as caught:
        settings({name: value})
    assert str(caught.value) == text
    assert '\n' not in text
    assert isinstance(caught.value, MotorError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(('values', 'text'), CONFLICTS)
def test_values_that_contradict_each_other_are_refused(values, text):
    with pytest.raises(ParameterError) as caught:
        settings(values)
    assert str(caught.value) == text


def test_the_table_above_has_every_parameter():
    names = {name for name, *_ in BAD}
    named = names | {name.split('.', 1)[-1] for name in names}
    assert {parameter.name for parameter in (*NODE, *MOTOR)} <= named


def test_T46_a_name_that_resembles_none_of_ours_is_somebody_elses():
    assert check_names({'joy_vendor': 1, 'other.node': 2, 'rate': 3}, ['wheel']) == [
        'joy_vendor',
        'other.node',
    ]
    settings({'joy_vendor': 1, 'other.node': 2})


def test_cores_are_given_as_taskset_takes_them():
    for text, cores in (('', ()), ('1', (1,)), (1, (1,)), ('0,2-4, 3', (0, 2, 3, 4))):
        assert settings({'cpus': text}).cpus == cores


def test_T47_of_several_values_one_wrong_one_refuses_all():
    with pytest.raises(ParameterError, match=r'^wheel\.damping must be finite and >= 0 N m s'):
        settings({'wheel.inertia': 1e-3, 'wheel.damping': -1.0})


def test_T43_an_int_is_taken_for_a_double():
    made = settings(
        {
            'rate': 200,
            'max_gap': 1,
            'wheel.inertia': 1,
            'wheel.damping': 0,
            'wheel.axis': [0, 3, 4],
            'wheel.placement.xyz': (1, 0, 2.5),
            'wheel.placement.quaternion': [0, 0, 0, 1],
            'wheel.initial_spin': -3,
        }
    )
    (motor,) = made.motors
    assert (made.rate, made.max_gap) == (200.0, 1_000_000_000)
    assert motor.model.axis == (0.0, 0.6, 0.8)
    assert motor.initial == MotorState(0.0, -3.0)
    numbers = [made.rate, motor.model.inertia, motor.model.damping, *motor.model.axis]
    numbers += [*motor.model.placement.position, *motor.initial]
    assert all(type(number) is float for number in numbers)


def test_arrays_of_numbers_are_taken_as_lists():
    axis = plain(parameters(['wheel'])['wheel.axis'], np.array([0.0, 0.0, 2.0]))
    assert axis == (0.0, 0.0, 2.0)


def test_the_defaults():
    made = settings()
    (motor,) = made.motors
    assert (made.rate, made.step_on, made.publish_rate, made.tf_rate) == (1000.0, 'timer', 0.0, 50)
    assert made.publish_tf is True
    assert (made.world_frame, made.mount_frame) == ('odom', 'base_link')
    assert (made.rate_source, made.pose_source, made.on_time_jump) == ('imu', 'tf', 'hold')
    assert (made.pose_timeout, made.rate_timeout) == (500_000_000, 100_000_000)
    assert (made.command_timeout, made.max_gap, made.settle) == (500_000_000, 500_000_000, 0)
    assert (motor.name, motor.joint) == ('wheel', 'wheel_joint')
    assert (motor.stator_frame, motor.rotor_frame) == ('wheel_stator', 'wheel_rotor')
    assert motor.initial == MotorState(0.0, 0.0)
    model = motor.model
    assert (model.inertia, model.damping, model.axis) == (1e-4, 1e-5, (0.0, 0.0, 1.0))
    assert (model.asymmetry, model.placement) == ((0.0,) * 6, Pose())
    assert made.remarks == ()


def test_every_default_passes_its_own_rule():
    values = {name: parameter.default for name, parameter in parameters(['wheel']).items()}
    assert settings(values) == settings()


def test_what_may_change_while_running():
    live = {parameter.name for parameter in (*NODE, *MOTOR) if parameter.live}
    assert live == {
        'inertia',
        'damping',
        'asymmetry',
        'pose_timeout',
        'rate_timeout',
        'command_timeout',
        'max_gap',
        'settle',
        'on_time_jump',
        'groups_off',
        'mode',
        'position.range',
        'command.interpolation',
        'measured.interpolation',
        'tachometer.bias',
        'torque_sensor.bias',
        'fault.position',
        'fault.velocity',
        'fault.effort',
        'winding.ambient',
        'winding.coefficient',
        'winding.reference',
        'winding.limit',
        'winding.maximum',
    } | {parameter.name for parameter in AMOUNTS} - {
        'gear.inertia',
        'imbalance.static',
        'imbalance.dynamic',
        'command.interval',
        'command.max_delay',
        'measured.interval',
        'measured.max_delay',
    }


@pytest.mark.parametrize('parameter', [*NODE, *MOTOR], ids=lambda parameter: parameter.name)
def test_every_parameter_is_described_with_its_unit_and_rule(parameter):
    text = parameter.description
    assert text.startswith(parameter.text)
    assert text.endswith('.')
    assert f'[{parameter.unit}]' in text or not parameter.unit
    assert parameter.rule in text
    assert all(choice in text for choice in parameter.choices)


def test_a_description_in_full():
    assert parameters(['wheel'])['wheel.inertia'].description == (
        'J, inertia of the rotor about its axis [kg m^2]; finite and > 0 kg m^2.'
    )
    assert Parameter('a', 'b', '', 'a choice', choices=('b', 'c')).description == (
        'a choice; one of b, c.'
    )


def test_the_pose_comes_with_the_odometry_where_the_rate_does_unless_told_otherwise():
    assert settings({'rate_source': 'odometry'}).pose_source == 'odometry'
    assert settings({'rate_source': 'odometry', 'pose_source': 'tf'}).pose_source == 'tf'
    assert settings({'rate_source': 'twist'}).pose_source == 'tf'


def test_several_motors_have_their_own_names_and_values():
    made = settings({'motors': ['a', 'b2'], 'b2.inertia': 2.0, 'a.joint': 'shoulder'})
    assert [motor.model.inertia for motor in made.motors] == [1e-4, 2.0]
    assert [motor.joint for motor in made.motors] == ['shoulder', 'b2_joint']
    assert [motor.rotor_frame for motor in made.motors] == ['a_rotor', 'b2_rotor']
    assert motor_names('alone') == ('alone',)


def test_T22_a_prefix_stands_before_our_own_frames_alone():
    made = settings({'frame_prefix': '/r1/', 'wheel.stator_frame': '/base'})
    (motor,) = made.motors
    assert (motor.stator_frame, motor.rotor_frame) == ('r1/base', 'r1/wheel_rotor')
    assert (made.world_frame, made.mount_frame) == ('odom', 'base_link')


def test_T18_a_leading_slash_of_a_frame_is_stripped_with_a_remark():
    made = settings({'world_frame': '/map', 'wheel.rotor_frame': '/r'})
    assert (made.world_frame, made.motors[0].rotor_frame) == ('map', 'r')
    assert made.remarks == (
        "world_frame: leading '/' of '/map' stripped, tf2 has none.",
        "wheel.rotor_frame: leading '/' of '/r' stripped, tf2 has none.",
    )


def test_a_full_rotor_inertia_gives_inertia_asymmetry_and_what_the_link_has_to_carry():
    made = settings({'wheel.rotor_inertia': [7e-5, 0, 0, 5e-5, 0, 1e-4]})
    model = made.motors[0].model
    assert model.inertia == pytest.approx(1e-4, rel=1e-12)
    assert model.asymmetry == pytest.approx((1e-5, 0, 0, -1e-5, 0, 0), abs=1e-17)
    assert made.remarks == (
        "motor 'wheel': the mount's link has to carry the rotor's mass at the stator's origin "
        'and 6e-05 kg m^2 across its axis (none about it).',
    )
    again = settings(
        {
            'wheel.rotor_inertia': [7e-5, 0, 0, 5e-5, 0, 1e-4],
            'wheel.inertia': model.inertia,
            'wheel.asymmetry': model.asymmetry,
        }
    )
    assert again == made


def test_an_asymmetry_with_a_mean_part_is_taken_with_a_remark():
    made = settings({'wheel.asymmetry': [2e-5, 0, 0, 1e-5, 0, 0]})
    assert made.remarks == (
        "motor 'wheel': asymmetry has a mean part of 1.5e-05 kg m^2 across the axis, which "
        "belongs to the mount's link: leave it out here.",
    )


def test_nine_numbers_of_a_symmetric_matrix_are_its_six():
    nine = settings({'wheel.asymmetry': [1e-5, 2e-6, 0, 2e-6, -1e-5, 0, 0, 0, 0]})
    six = settings({'wheel.asymmetry': [1e-5, 2e-6, 0, -1e-5, 0, 0]})
    assert nine == six


angles = st.floats(-7.0, 7.0)


@given(rpy=st.tuples(angles, angles, angles))
def test_T58_roll_pitch_yaw_turn_about_the_fixed_axes_as_in_urdf(rpy):
    made = settings({'wheel.placement.rpy': rpy, 'wheel.placement.xyz': [1, 2, 3]})
    placement = made.motors[0].model.placement
    witness = euler2mat(*rpy, axes='sxyz')
    found = np.array([rotate(placement.orientation, axis) for axis in np.eye(3).tolist()]).T
    np.testing.assert_allclose(found, witness, atol=1e-12)
    assert placement.position == (1.0, 2.0, 3.0)


def test_T58_a_quarter_turn_about_z_is_0_0_s_s():
    for values in (
        {'wheel.placement.rpy': [0, 0, math.pi / 2]},
        {'wheel.placement.quaternion': [0, 0, 0.70710678, 0.70710678]},
    ):
        (motor,) = settings(values).motors
        s = math.sqrt(0.5)
        assert motor.model.placement.orientation == pytest.approx((0, 0, s, s), abs=1e-12)


def test_rpy_and_the_quaternion_of_the_same_turn_may_both_be_given():
    half = {'wheel.placement.rpy': [0, 0, math.pi], 'wheel.placement.quaternion': [0, 0, 1, 0]}
    assert settings(half) == settings({'wheel.placement.rpy': [0, 0, math.pi]})


@pytest.mark.parametrize('seconds', [1e300, 1e9, 0.3, 1e-9, 5e-324])
def test_durations_are_whole_nanoseconds_of_any_size(seconds):
    made = settings({'pose_timeout': seconds})
    assert isinstance(made.pose_timeout, int)
    assert made.pose_timeout / 10**9 == pytest.approx(seconds, abs=1.1e-9)
    assert made.pose_timeout > 0


def test_one_field_of_one_motor_changed_leaves_the_rest():
    made = settings({'motors': ['a', 'b']})
    changed = made.with_motor(1, initial=MotorState(1.0, 2.0))
    assert changed.motors[0] is made.motors[0]
    assert changed.motors[1].initial == MotorState(1.0, 2.0)
    assert made.motors[1].initial == MotorState()


values = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.text(max_size=3),
    st.none(),
    st.lists(st.floats(), max_size=9),
    st.lists(st.integers(-2, 2), min_size=3, max_size=9),
    st.lists(st.text(max_size=2), max_size=2),
)
names = st.one_of(st.sampled_from(sorted(parameters(['wheel']))), st.text(max_size=8))


@given(values=st.dictionaries(names, values, max_size=4))
def test_any_value_at_all_is_taken_or_refused_in_one_line(values):
    made = refused = None
    try:
        made = settings(values)
    except ParameterError as error:
        refused = error
    if made is None:
        assert str(refused).startswith(f'{refused.name} must be {refused.rule}, got ')
        return
    for motor in made.motors:
        assert motor.model.inertia > 0.0
        assert motor.model.damping >= 0.0
    assert 0.0 < made.rate <= 10_000.0
    assert all(isinstance(time, int) for time in (made.rate_timeout, made.settle, made.max_gap))


def test_a_joint_may_not_have_the_name_of_another_motor():
    values = {'motors': ['left', 'right'], 'right.joint': 'left'}
    with pytest.raises(ParameterError) as caught:
        settings(values)
    assert str(caught.value) == (
        "right.joint must be a name of its own, got 'left'. It is that of motor 'left'."
    )


def test_a_misspelt_motor_parameter_without_its_motor_is_refused_too():
    with pytest.raises(ParameterError) as caught:
        settings({'inertai': 1.0})
    assert str(caught.value) == (
        'inertai must be the name of a parameter, got 1.0. Did you mean wheel.inertia?'
    )


@pytest.mark.parametrize(
    ('values', 'remark'),
    [
        (
            {'wheel.limit.torque': 1e-3, 'wheel.friction.coulomb': 2e-3},
            "motor 'wheel': limit.torque of 0.001 N m is not above its dry friction of 0.002 N m: "
            'the drive alone cannot turn it.',
        ),
        (
            {'wheel.limit.torque': 1e-3, 'wheel.friction.static': 1e-3},
            "motor 'wheel': limit.torque of 0.001 N m is not above its dry friction of 0.001 N m: "
            'the drive alone cannot turn it.',
        ),
        (
            {**ARMATURE, 'wheel.voltage.current_limit': 0.1, 'wheel.friction.coulomb': 2e-3},
            "motor 'wheel': the torque of voltage.current_limit, of 0.002 N m is not above its "
            'dry friction of 0.002 N m: the drive alone cannot turn it.',
        ),
        (
            {'wheel.limit.dead_zone': 0.2, 'wheel.limit.torque': 0.1},
            "motor 'wheel': limit.dead_zone is not below limit.torque: the drive gives none.",
        ),
        (
            {'wheel.mode': 'integrated_velocity', 'wheel.velocity.kp': 1.0},
            "motor 'wheel': mode integrated_velocity without gains: commands do nothing but what "
            'they feed forward.',
        ),
        (
            {'wheel.voltage.current_limit': 1.0},
            "motor 'wheel': voltage.current_limit without an armature (voltage.resistance): it is "
            'not used.',
        ),
        (
            {'wheel.friction.stribeck_speed': 1.0},
            "motor 'wheel': friction.stribeck_speed without friction.static: it is not used.",
        ),
        (
            {'wheel.fault.velocity': 'off'},
            "motor 'wheel': fault.velocity without a sensor: nothing is measured that could be "
            'wrong.',
        ),
        (
            {'wheel.tachometer.bias': -0.1},
            "motor 'wheel': tachometer.bias without tachometer.enabled: it is not measured.",
        ),
        (
            {'wheel.torque_sensor.noise': 0.1},
            "motor 'wheel': torque_sensor.noise without torque_sensor.enabled: it is not "
            'measured.',
        ),
        (
            {'wheel.command.interval': 0.5},
            "motor 'wheel': command.interval is not below command_timeout of 0.5 s: a command "
            'stops acting before the next one is taken.',
        ),
    ],
)
def test_what_is_hardly_meant_is_told(values, remark):
    assert settings(values).remarks == (remark,)


def test_what_makes_sense_is_not_remarked():
    assert not settings({
        'wheel.limit.torque': 2.1e-3, 'wheel.friction.coulomb': 2e-3,
        'wheel.tachometer.noise': 0.1, 'wheel.tachometer.enabled': True,
        'wheel.command.interval': 0.1,
    }).remarks  # fmt: skip
