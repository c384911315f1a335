"""Pointing with the four wheels of config/wheels.yaml, stepped by the model."""

from math import hypot
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.free_body import released, stepped, upright
from mime_motor_ros.model import advance, Pose, StepInputs
from mime_motor_ros.parameter_file import read
from mime_motor_ros.pointing import (
    Array,
    bias_at,
    body_torque,
    bounded,
    error_angle,
    EVERY,
    Gains,
    null_pattern,
    shifting,
    target_at,
    TARGETS,
    wheel_torques,
)
from mime_motor_ros.settings import settings
from mime_motor_ros.vector import about, add, dot, norm, rotate, scale, subtract
import pytest

CONFIG = Path(__file__).parents[1] / 'config'
DT = 2e-3
MOST_SPEED = 628.3  # rad/s, of the wheels in that file
MOTORS = settings(read(CONFIG / 'wheels.yaml')).motors
AXES = [motor.model.axis for motor in MOTORS]
ARRAY = Array(AXES)
BODY = upright((0.022, 0.025, 0.018))
GAINS = Gains(2.0, 0.25)
LEVEL = (0.0, 0.0, 0.0, 1.0)
numbers = st.floats(-1.0, 1.0)
vectors = st.tuples(numbers, numbers, numbers)


@given(vectors)
def test_what_is_allocated_adds_up_to_what_was_asked_for(torque):
    assert ARRAY.together(ARRAY.allocated(torque)) == pytest.approx(torque, abs=1e-15)


@given(vectors, numbers)
def test_no_other_torques_that_add_up_to_it_are_smaller(torque, along):
    found = ARRAY.allocated(torque)
    other = [u + along * n for u, n in zip(found, null_pattern(ARRAY), strict=True)]
    assert hypot(*found) <= hypot(*other) + 1e-15


@given(st.lists(numbers, min_size=4, max_size=4), st.lists(numbers, min_size=4, max_size=4))
def test_the_body_does_not_feel_a_shift_between_the_wheels(momenta, wanted):
    torques = shifting(ARRAY, momenta, wanted, 3.0)
    assert ARRAY.together(torques) == pytest.approx((0.0, 0.0, 0.0), abs=1e-15)


def test_a_shift_ends_at_what_is_wanted_where_the_sum_allows_it():
    wanted = [0.02 * n for n in null_pattern(ARRAY)]
    momenta = [0.0] * 4
    for _ in range(2000):
        torques = shifting(ARRAY, momenta, wanted, 1.0)
        momenta = [h + 0.01 * u for h, u in zip(momenta, torques, strict=True)]
    assert momenta == pytest.approx(wanted, abs=1e-9)


def test_the_null_pattern_of_the_file_is_that_of_its_initial_spins():
    momenta = [motor.model.inertia * motor.initial.spin for motor in MOTORS]
    size = hypot(*momenta)
    assert [h / size for h in momenta] == pytest.approx(null_pattern(ARRAY), abs=1e-3)


def test_three_wheels_have_nothing_to_shift():
    three = Array([(1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0)])
    assert null_pattern(three) == (0.0, 0.0, 0.0)
    assert three.unfelt((0.3, 0.2, 0.1)) == pytest.approx((0.0, 0.0, 0.0), abs=1e-16)


@pytest.mark.parametrize(
    'axes',
    [
        [(1.0, 0.0, 0.0)],
        [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
        [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (1.0, -1.0, 0.0)],
    ],
)
def test_wheels_in_a_plane_are_refused(axes):
    with pytest.raises(ParameterError, match='motors must be three or more whose axes do not lie'):
        Array(axes)


def test_the_error_is_the_angle_either_way_round():
    turn = about((0.6, 0.0, 0.8), 0.7)
    assert error_angle(turn, LEVEL) == pytest.approx(0.7)
    assert error_angle(scale4(-1.0, turn), LEVEL) == pytest.approx(0.7)


def scale4(s, q):
    return tuple(s * x for x in q)


def test_the_torque_goes_the_short_way_and_is_bounded_by_the_rate_of_a_slew():
    turn = about((0.0, 0.0, 1.0), 1.0)
    still = (0.0, 0.0, 0.0)
    for sign in (1.0, -1.0):
        torque = body_torque(BODY.tensor, scale4(sign, turn), still, still, LEVEL, GAINS)
        assert torque == pytest.approx((0.0, 0.0, -0.018 * 2.0 * 2.0 * 0.25))
    at_rate = (0.0, 0.0, -0.25)  # where it neither pulls nor brakes
    torque = body_torque(BODY.tensor, turn, at_rate, still, LEVEL, GAINS)
    assert torque == pytest.approx(still, abs=1e-15)


def test_a_wheel_that_is_at_its_most_turns_the_sum_of_all_no_other_way():
    assert bounded((1.0, -4.0, 2.0), 2.0) == (0.5, -2.0, 1.0)
    assert bounded((1.0, -2.0), 2.0) == (1.0, -2.0)
    shift = scale4(0.01, null_pattern(ARRAY))
    found = wheel_torques(ARRAY, (0.5, 0.1, 0.0), shift, (0.0,) * 4, 0.02)
    assert max(map(abs, found)) == pytest.approx(0.02)
    along = ARRAY.together(found)
    assert scale(-hypot(0.5, 0.1) / norm(along), along) == pytest.approx((0.5, 0.1, 0.0))


@pytest.fixture(scope='module')
def flown():
    """Return what happened in four targets: of each step time, body, spins and target."""
    motors = [motor.initial for motor in MOTORS]
    models = [motor.model for motor in MOTORS]
    bias = hypot(*(m.inertia * s.spin for m, s in zip(models, motors, strict=True)))

    def rotors():
        total = (0.0, 0.0, 0.0)
        for model, state in zip(models, motors, strict=True):
            total = add(total, scale(model.inertia * state.spin, model.axis))
        return total

    state = released(BODY, LEVEL, (0.02, -0.03, 0.01), rotors())
    flown = []
    for k in range(round(len(TARGETS) * EVERY / DT)):
        t = k * DT
        target = target_at(t)
        spins = [motor.spin for motor in motors]
        torque = body_torque(
            BODY.tensor, state.orientation, state.rate, state.momentum, target, GAINS
        )
        momenta = [m.inertia * spin for m, spin in zip(models, spins, strict=True)]
        wanted = [bias_at(t) * bias * n for n in null_pattern(ARRAY)]
        shift = shifting(ARRAY, momenta, wanted, 2.0)
        drags = [
            m.damping * (s - dot(m.axis, state.rate)) for m, s in zip(models, spins, strict=True)
        ]
        torques = wheel_torques(ARRAY, torque, shift, drags, 0.02)
        pose, w_W = Pose(orientation=state.orientation), rotate(state.orientation, state.rate)
        motors = [
            advance(m, s, StepInputs(pose, w_W, u), DT).state
            for m, s, u in zip(models, motors, torques, strict=True)
        ]
        state = stepped(BODY, state, rotors(), DT)
        flown.append((t + DT, state, spins, target))
    return flown


def test_pointing_settles_before_each_next_target(flown):
    for turn in range(len(TARGETS)):
        _, state, _, target = flown[round((turn + 1) * EVERY / DT) - 1]
        assert error_angle(state.orientation, target) < 5e-4
        assert norm(state.rate) < 1e-3


def test_the_momentum_of_body_and_wheels_is_conserved(flown):
    first = flown[0][1].spatial_momentum
    assert norm(first) > 1e-4
    for _, state, _, _ in flown[::500]:
        assert norm(subtract(state.spatial_momentum, first)) < 1e-13


def test_the_wheels_stay_below_their_speed_and_keep_their_bias(flown):
    assert max(abs(spin) for _, _, spins, _ in flown for spin in spins) < 0.8 * MOST_SPEED
    inertia = MOTORS[0].model.inertia
    bias = hypot(*(inertia * motor.initial.spin for motor in MOTORS))
    for turn in range(len(TARGETS)):
        t, _, spins, _ = flown[round((turn + 1) * EVERY / DT) - 1]
        kept = inertia * sum(s * n for s, n in zip(spins, null_pattern(ARRAY), strict=True))
        assert kept == pytest.approx(bias_at(t - 2 * DT) * bias, rel=0.02)
