"""What a motor's parameters may be, and every error with its whole text."""

from dataclasses import FrozenInstanceError, replace

from mime_motor_ros.errors import MotorError, ParameterError
from mime_motor_ros.model import from_rotor_inertia, MotorParameters, Pose
import numpy as np
import pytest

NAN, INF = float('nan'), float('inf')
SIX = '6 finite numbers ixx ixy ixz iyy iyz izz, or 9 in rows [kg m^2]'
ACROSS = 'What lies along the axis is the inertia, and what tilts it is an imbalance.'
TILTED = 'A tilted one is an imbalance: give imbalance.dynamic.'
UNIT = (0.0, 0.0, 0.0, 1.0)
HALF = 0.5**0.5

WRONG = [
    ({'inertia': 0.0}, 'inertia must be finite and > 0 kg m^2, got 0.0.'),
    ({'inertia': -1}, 'inertia must be finite and > 0 kg m^2, got -1.'),
    ({'inertia': NAN}, 'inertia must be finite and > 0 kg m^2, got nan.'),
    ({'inertia': INF}, 'inertia must be finite and > 0 kg m^2, got inf.'),
    ({'inertia': 10**400}, f'inertia must be finite and > 0 kg m^2, got {10**400}.'),
    ({'inertia': '1.0'}, "inertia must be finite and > 0 kg m^2, got '1.0'."),
    ({'inertia': True}, 'inertia must be finite and > 0 kg m^2, got True.'),
    ({'inertia': None}, 'inertia must be finite and > 0 kg m^2, got None.'),
    ({'inertia': [1.0]}, 'inertia must be finite and > 0 kg m^2, got [1.0].'),
    ({'inertia': 1j}, 'inertia must be finite and > 0 kg m^2, got 1j.'),
    ({'damping': -1e-9}, 'damping must be finite and >= 0 N m s, got -1e-09.'),
    ({'damping': NAN}, 'damping must be finite and >= 0 N m s, got nan.'),
    ({'damping': INF}, 'damping must be finite and >= 0 N m s, got inf.'),
    ({'damping': False}, 'damping must be finite and >= 0 N m s, got False.'),
    ({'damping': b'0'}, "damping must be finite and >= 0 N m s, got b'0'."),
    (
        {'axis': (0.0, 0.0, 0.0)},
        'axis must be longer than 1e-9: a direction, got [0.0, 0.0, 0.0].',
    ),
    (
        {'axis': [0.0, 0.0, 1e-16]},
        'axis must be longer than 1e-9: a direction, got [0.0, 0.0, 1e-16].',
    ),
    ({'axis': (0.0, NAN, 1.0)}, 'axis must be 3 finite numbers, got [0.0, nan, 1.0].'),
    ({'axis': (0.0, INF, 1.0)}, 'axis must be 3 finite numbers, got [0.0, inf, 1.0].'),
    ({'axis': (0.0, 1.0)}, 'axis must be 3 finite numbers, got [0.0, 1.0].'),
    ({'axis': (0, 0, 0, 1)}, 'axis must be 3 finite numbers, got [0, 0, 0, 1].'),
    ({'axis': 'xyz'}, "axis must be 3 finite numbers, got 'xyz'."),
    ({'axis': (0.0, '1', 0.0)}, "axis must be 3 finite numbers, got [0.0, '1', 0.0]."),
    ({'axis': (False, False, True)}, 'axis must be 3 finite numbers, got [False, False, True].'),
    ({'axis': 1.0}, 'axis must be 3 finite numbers, got 1.0.'),
    ({'axis': [[0.0, 0.0, 1.0]]}, 'axis must be 3 finite numbers, got [[0.0, 0.0, 1.0]].'),
    ({'axis': np.eye(3)[2] > 0}, 'axis must be 3 finite numbers, got [False, False, True].'),
    ({'axis': np.ones((2, 2))}, 'axis must be 3 finite numbers, got [[1.0, 1.0], [1.0, 1.0]].'),
    ({'asymmetry': (0.1, -0.1)}, f'asymmetry must be {SIX}, got [0.1, -0.1].'),
    ({'asymmetry': [0.0] * 7}, f'asymmetry must be {SIX}, got {[0.0] * 7}.'),
    ({'asymmetry': [[0.0] * 2] * 3}, f'asymmetry must be {SIX}, got {[[0.0] * 2] * 3}.'),
    ({'asymmetry': 'zeros!'}, f"asymmetry must be {SIX}, got 'zeros!'."),
    ({'asymmetry': (True,) * 6}, f'asymmetry must be {SIX}, got {[True] * 6}.'),
    (
        {'asymmetry': (NAN, 0.0, 0.0, 0.0, 0.0, 0.0)},
        f'asymmetry must be {SIX}, got [nan, 0.0, 0.0, 0.0, 0.0, 0.0].',
    ),
    (
        {'asymmetry': (0.1, 0.0, 0.0, -0.1, 0.0, -INF)},
        f'asymmetry must be {SIX}, got [0.1, 0.0, 0.0, -0.1, 0.0, -inf].',
    ),
    (
        {'asymmetry': [[0.1, 0.02, 0.0], [0.0, -0.1, 0.0], [0.0, 0.0, 0.0]]},
        'asymmetry must be symmetric [kg m^2], '
        'got [[0.1, 0.02, 0.0], [0.0, -0.1, 0.0], [0.0, 0.0, 0.0]].',
    ),
    (
        {'asymmetry': (0.1, 0.0, 0.5, 0.0, -0.1, 0.0, 0.0, 0.0, 0.0)},
        'asymmetry must be symmetric [kg m^2], '
        'got [0.1, 0.0, 0.5, 0.0, -0.1, 0.0, 0.0, 0.0, 0.0].',
    ),
    (
        {'asymmetry': (0.1, 0.0, 0.0, -0.1, 0.5, 0.0, 0.0, 0.0, 0.0)},
        'asymmetry must be symmetric [kg m^2], '
        'got [0.1, 0.0, 0.0, -0.1, 0.5, 0.0, 0.0, 0.0, 0.0].',
    ),
    (
        {'asymmetry': (0.1, 0.0, 0.0, 0.0, 0.0, -0.1)},
        'asymmetry must be across the axis, |Q axis| <= 1e-9 |Q| kg m^2, '
        f'got [0.1, 0.0, 0.0, 0.0, 0.0, -0.1]. {ACROSS}',
    ),
    (
        {'asymmetry': (0.1, 0.0, 1e-9, -0.1, 0.0, 0.0)},
        'asymmetry must be across the axis, |Q axis| <= 1e-9 |Q| kg m^2, '
        f'got [0.1, 0.0, 1e-09, -0.1, 0.0, 0.0]. {ACROSS}',
    ),
    (
        {'asymmetry': (1e200, 0.0, 0.0, 0.0, 0.0, -1e200)},
        'asymmetry must be across the axis, |Q axis| <= 1e-9 |Q| kg m^2, '
        f'got [1e+200, 0.0, 0.0, 0.0, 0.0, -1e+200]. {ACROSS}',
    ),
    (
        {'placement': None},
        'placement must be a pose: a position [m] and a quaternion (x, y, z, w), got None.',
    ),
    (
        {'placement': (1.0, 2.0, 3.0)},
        'placement must be a pose: a position [m] and a quaternion (x, y, z, w), '
        'got [1.0, 2.0, 3.0].',
    ),
    (
        {'placement': Pose((0.0, NAN, 0.0), UNIT)},
        'placement must be a pose with a position of 3 finite numbers [m], got [0.0, nan, 0.0].',
    ),
    (
        {'placement': Pose((0.0, 1.0), UNIT)},
        'placement must be a pose with a position of 3 finite numbers [m], got [0.0, 1.0].',
    ),
    (
        {'placement': Pose('123', UNIT)},
        "placement must be a pose with a position of 3 finite numbers [m], got '123'.",
    ),
    (
        {'placement': Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))},
        'placement must be a pose with a quaternion (x, y, z, w) of length 1, '
        'got [0.0, 0.0, 0.0, 0.0].',
    ),
    (
        {'placement': Pose((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.02))},
        'placement must be a pose with a quaternion (x, y, z, w) of length 1, '
        'got [0.0, 0.0, 0.0, 1.02].',
    ),
    (
        {'placement': Pose((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))},
        'placement must be a pose with a quaternion (x, y, z, w) of length 1, '
        'got [0.0, 0.0, 1.0].',
    ),
    (
        {'placement': Pose((0.0, 0.0, 0.0), (NAN, 0.0, 0.0, 1.0))},
        'placement must be a pose with a quaternion (x, y, z, w) of length 1, '
        'got [nan, 0.0, 0.0, 1.0].',
    ),
]

IMPOSSIBLE = 'positive, no principal moment above the sum of the two others [kg m^2]'
PRINCIPAL = 'of a rotor whose axis is a principal axis [kg m^2]'
Z = (0.0, 0.0, 1.0)

WRONG_ROTORS = [
    ((1.0, 2.0), Z, f'rotor_inertia must be {SIX}, got [1.0, 2.0].'),
    ((1.0, 0, 0, NAN, 0, 1.0), Z, f'rotor_inertia must be {SIX}, got [1.0, 0, 0, nan, 0, 1.0].'),
    ('diagonal', Z, f"rotor_inertia must be {SIX}, got 'diagonal'."),
    (
        (1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        Z,
        'rotor_inertia must be symmetric [kg m^2], '
        'got [1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0].',
    ),
    (
        (1.0, 0.0, 1e-3, 1.0, 0.0, 1.5),
        Z,
        f'rotor_inertia must be {PRINCIPAL}, got [1.0, 0.0, 0.001, 1.0, 0.0, 1.5]. {TILTED}',
    ),
    (
        (1.0, 0.0, 0.0, 1.1, 0.0, 1.5),
        (1.0, 1.0, 0.0),
        f'rotor_inertia must be {PRINCIPAL}, got [1.0, 0.0, 0.0, 1.1, 0.0, 1.5]. {TILTED}',
    ),
    ((0.0,) * 6, Z, f'rotor_inertia must be {IMPOSSIBLE}, got {[0.0] * 6}.'),
    (
        (1.0, 0.0, 0.0, 1.0, 0.0, -1.0),
        Z,
        f'rotor_inertia must be {IMPOSSIBLE}, got [1.0, 0.0, 0.0, 1.0, 0.0, -1.0].',
    ),
    (
        (1.0, 0.0, 0.0, 1.0, 0.0, 2.1),  # more about the axis than any disc
        Z,
        f'rotor_inertia must be {IMPOSSIBLE}, got [1.0, 0.0, 0.0, 1.0, 0.0, 2.1].',
    ),
    (
        (3.1, 0.0, 0.0, 1.0, 0.0, 2.0),
        Z,
        f'rotor_inertia must be {IMPOSSIBLE}, got [3.1, 0.0, 0.0, 1.0, 0.0, 2.0].',
    ),
    (
        (3.0, 0.0, 0.0, -1.0, 0.0, 2.0),
        Z,
        f'rotor_inertia must be {IMPOSSIBLE}, got [3.0, 0.0, 0.0, -1.0, 0.0, 2.0].',
    ),
    (
        (1.0, 0.0, 0.0, 1.0, 0.0, 1.0),
        (0.0, 0.0, 0.0),
        'axis must be longer than 1e-9: a direction, got [0.0, 0.0, 0.0].',
    ),
]


@pytest.mark.parametrize(('values', 'text'), WRONG)
def test_a_wrong_value_is_refused_in_one_line(values, text):
    with pytest.raises(ParameterError) as caught:
        MotorParameters(**{'inertia': 1.0, **values})
    assert str(caught.value) == text
    assert caught.value.name in values
    assert '\n' not in text


@pytest.mark.parametrize(('inertia', 'axis', 'text'), WRONG_ROTORS)
def test_a_wrong_rotor_inertia_is_refused_in_one_line(inertia, axis, text):
    with pytest.raises(ParameterError) as caught:
        from_rotor_inertia(inertia, axis)
    assert str(caught.value) == text


def test_an_error_keeps_its_parts_and_is_a_value_error():
    with pytest.raises(MotorError) as caught:
        MotorParameters(-1.0)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.name, error.rule, error.value, error.hint) == (
        'inertia',
        'finite and > 0 kg m^2',
        -1.0,
        '',
    )


def test_a_value_changed_later_is_checked_too():
    motor = MotorParameters(1.0, 0.1)
    assert replace(motor, damping=0.2).damping == 0.2
    with pytest.raises(ParameterError, match='^damping must be'):
        replace(motor, damping=-0.2)
    with pytest.raises(FrozenInstanceError):
        motor.inertia = 2.0


@pytest.mark.parametrize('size', [1e-8, 0.01, 2.0, 1e200, 1.7e308])
def test_any_axis_with_a_direction_is_made_unit(size):
    assert MotorParameters(1.0, axis=(0.0, 0.6 * size, 0.8 * size)).axis == pytest.approx(
        (0.0, 0.6, 0.8), abs=1e-15
    )


@pytest.mark.parametrize(
    'asymmetry',
    [
        (0.1, 0.02, 0.0, -0.1, 0.0, 0.0),
        (0.1, 0.02, 0.0, 0.02, -0.1, 0.0, 0.0, 0.0, 0.0),
        [[0.1, 0.02, 0.0], [0.02, -0.1, 0.0], [0.0, 0.0, 0.0]],
        np.array([[0.1, 0.02, 0.0], [0.02, -0.1, 0.0], [0.0, 0.0, 0.0]]),
    ],
    ids=['six', 'nine', 'rows', 'array'],
)
def test_an_asymmetry_may_be_six_numbers_nine_or_rows(asymmetry):
    motor = MotorParameters(1.0, asymmetry=asymmetry)
    assert motor.asymmetry == (0.1, 0.02, 0.0, -0.1, 0.0, 0.0)
    assert motor == MotorParameters(1.0, asymmetry=(0.1, 0.02, 0.0, -0.1, 0.0, 0.0))


def test_what_is_kept_is_plain_floats_and_a_unit_quaternion():
    placement = ([1, 2, 3], np.array([0.0, 0.0, 1.005, 0.0]))
    motor = MotorParameters(np.float32(2.0), 1, [0, 0, 3], [0] * 6, placement)
    assert motor == MotorParameters(
        2.0, 1.0, (0.0, 0.0, 1.0), (0.0,) * 6, Pose((1.0, 2.0, 3.0), (0.0, 0.0, 1.0, 0.0))
    )
    kept = [motor.inertia, motor.damping, *motor.axis, *motor.asymmetry]
    kept += [*motor.placement.position, *motor.placement.orientation]
    assert {type(number) for number in kept} == {float}


def test_the_parts_of_a_rotor_inertia():
    assert from_rotor_inertia((1.2, 0.0, 0.0, 0.8, 0.0, 1.5), (0, 0, 5)) == pytest.approx(
        (1.5, pytest.approx((0.2, 0.0, 0.0, -0.2, 0.0, 0.0), abs=1e-15), 1.0)
    )


def test_the_parts_of_a_rotor_inertia_about_a_skew_axis():
    # Moments 1.5 about (0, 1, 1), 1.3 about (1, 0, 0) and 0.9 about (0, 1, -1).
    rows = [[1.3, 0.0, 0.0], [0.0, 1.2, 0.3], [0.0, 0.3, 1.2]]
    parts = from_rotor_inertia(rows, (0.0, 1.0, 1.0))
    assert parts.inertia == pytest.approx(1.5)
    assert parts.transverse == pytest.approx(1.1)
    assert parts.asymmetry == pytest.approx((0.2, 0.0, 0.0, -0.1, 0.1, -0.1), abs=1e-15)
    MotorParameters(parts.inertia, 0.0, (0.0, 1.0, 1.0), parts.asymmetry)


def test_rounding_is_not_taken_for_an_asymmetry():
    a = np.array([1.0, 2.0, 3.0]) / 14.0**0.5
    rows = 0.3 * np.outer(a, a) + 0.2 * (np.eye(3) - np.outer(a, a))
    assert from_rotor_inertia(rows, (1.0, 2.0, 3.0)).asymmetry == (0.0,) * 6
