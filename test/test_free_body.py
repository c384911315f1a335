"""A free body with rotors: momentum, nutation, and the explicit way that does not hold."""

from cmath import sqrt
from collections import deque
from math import atan, cos, exp, hypot, log, pi, sin
from pathlib import Path
import re

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.free_body import (
    Body,
    energy,
    explicit_rate,
    from_outside,
    pushed,
    released,
    stepped,
    turned_on,
    upright,
    ZERO,
)
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
from mime_motor_ros.vector import (
    about,
    add,
    apply,
    conjugate,
    cross,
    multiply,
    norm,
    normalized,
    rotate,
    scale,
    subtract,
)
import pytest

PAGE = Path(__file__).parents[1] / 'doc' / 'free_body.md'
DT = 1e-3
LEVEL = (0.0, 0.0, 0.0, 1.0)
BODY = Body((0.010, 0.001, -0.0005, 0.012, 0.0008, 0.015))
WHEEL = MotorParameters(inertia=1e-4, damping=1e-5, axis=(1.0, 2.0, 3.0))
SPIN = 2000.0
numbers = st.floats(-3.0, 3.0)
vectors = st.tuples(numbers, numbers, numbers)


def momentum_of(wheel, state):
    """Return H in body axes, where the stator lies as the body does."""
    return scale(wheel.inertia * state.spin, wheel.axis)


def together(body, wheel, spin, rate, seconds, torque=lambda t: 0.0):
    """Return the body at the start, and after some time in lockstep with its wheel."""
    motor = MotorState(spin=spin)
    start = state = released(body, LEVEL, rate, momentum_of(wheel, motor))
    for k in range(round(seconds / DT)):
        mount, w_W = Pose(orientation=state.orientation), rotate(state.orientation, state.rate)
        motor = advance(wheel, motor, StepInputs(mount, w_W, torque(k * DT)), DT).state
        state = stepped(body, state, momentum_of(wheel, motor), DT)
    return start, state


def drift(start, state):
    """Return how far the momentum in the world has gone, relative."""
    before = start.spatial_momentum
    return norm(subtract(state.spatial_momentum, before)) / norm(before)


def drive(t):
    return 0.02 * sin(0.5 * t)


def test_momentum_is_conserved_with_the_motor_in_lockstep():
    start, state = together(BODY, WHEEL, SPIN, (0.5, -0.3, 0.2), 5.0, drive)
    assert drift(start, state) < 1e-12
    assert norm(state.rate) < 5.0


@pytest.mark.slow
def test_momentum_is_conserved_over_ten_minutes():
    start, state = together(BODY, WHEEL, SPIN, (0.5, -0.3, 0.2), 600.0, drive)
    assert drift(start, state) < 1e-9
    assert norm(state.rate) < 20.0


@given(rate=vectors, rotors=vectors, after=vectors, dt=st.sampled_from([1e-4, 1e-2, 1.0, 100.0]))
def test_no_step_changes_the_momentum_in_the_world(rate, rotors, after, dt):
    start = released(BODY, about((0.6, 0.0, 0.8), 1.0), rate, rotors)
    state = turned_on(BODY, start, after, dt)
    before = start.spatial_momentum
    assert norm(subtract(state.spatial_momentum, before)) <= 1e-14 * norm(before)


@given(rate=vectors, rotors=vectors, after=vectors)
def test_the_step_is_the_implicit_midpoint(rate, rotors, after):
    dt = 1e-2
    start = released(BODY, LEVEL, rate, rotors)
    state = turned_on(BODY, start, after, dt)
    mean = scale(0.5, add(start.momentum, state.momentum))
    w = apply(BODY.inverse, subtract(mean, scale(0.5, add(rotors, after))))
    turn = scale(dt, cross(mean, w))
    size = norm(start.momentum) + norm(rotors)
    assert subtract(state.momentum, start.momentum) == pytest.approx(
        turn, abs=1e-11 * size + 1e-15
    )
    # cay(dt w) is the turn about w by 2 atan(dt |w| / 2).
    angle = 2.0 * atan(0.5 * dt * norm(w))
    if norm(w) > 1e-9:
        expected = about(scale(1.0 / norm(w), w), angle)
        assert state.orientation == pytest.approx(expected, abs=1e-10)


def test_the_rate_is_what_the_rotors_leave_of_the_momentum():
    _, state = together(BODY, WHEEL, 100.0, (0.1, 0.2, 0.3), 0.1)
    total = add(apply(BODY.tensor, state.rate), state.rotors)
    assert total == pytest.approx(state.momentum, abs=1e-16)


@pytest.mark.parametrize('ratio', [1e-3, 0.1, 1.0])
def test_a_symmetric_body_nutates_as_the_closed_form_has_it(ratio):
    """Of the body's axes: H / I_t; a step turns by 2 atan(dt H / (2 I_t)) and no more."""
    across = 0.01
    H = ratio * across / DT
    body, steps = upright((across, across, 0.004)), 200
    state = released(body, LEVEL, (0.3, 0.0, 0.0), (0.0, 0.0, H))
    turn = 2.0 * atan(0.5 * DT * H / across)
    for k in range(1, steps + 1):
        state = turned_on(body, state, (0.0, 0.0, H), DT)
        expected = (0.3 * cos(k * turn), 0.3 * sin(k * turn), 0.0)
        assert state.rate == pytest.approx(expected, abs=1e-11 * (1 + H / across))
    assert turn / DT == pytest.approx(H / across, rel=ratio**2 / 11.0)


def test_the_axis_goes_round_the_momentum_at_the_nutation_frequency():
    """In the world: |L| / I_t about L, for a body that does not turn about its axis."""
    across, H = 0.01, 0.05
    body = upright((across, across, 0.004))
    state = released(body, LEVEL, (0.5, 0.0, 0.0), (0.0, 0.0, H))
    L = norm(state.spatial_momentum)
    for _ in range(round(2.0 * pi / (L / across) / DT)):
        state = turned_on(body, state, (0.0, 0.0, H), DT)
    assert rotate(state.orientation, (0.0, 0.0, 1.0)) == pytest.approx((0.0, 0.0, 1.0), abs=1e-3)


def test_a_weight_makes_it_precess_and_the_vertical_momentum_stays():
    """A fast top: m g l / H about the vertical, on which the nutation is small."""
    weight, H, tilt = 0.02, 0.2, 0.5
    body = upright((0.01, 0.01, 0.004))
    start = released(body, about((0.0, 1.0, 0.0), tilt), (0.0, 0.0, 0.0), (0.0, 0.0, H))
    state = start

    def torque(state):
        up = rotate(conjugate(state.orientation), (0.0, 0.0, 1.0))
        return scale(-weight, cross((0.0, 0.0, 1.0), up))

    seconds = 5.0
    for _ in range(round(seconds / DT)):
        state = pushed(body, state, scale(0.5 * DT, torque(state)))
        state = turned_on(body, state, (0.0, 0.0, H), DT)
        state = pushed(body, state, scale(0.5 * DT, torque(state)))
    x, y, _ = rotate(state.orientation, (0.0, 0.0, 1.0))
    expected = weight / H * seconds
    assert x == pytest.approx(hypot(x, y) * cos(expected), abs=0.02)
    assert y == pytest.approx(hypot(x, y) * sin(expected), abs=0.02)
    assert state.spatial_momentum[2] == pytest.approx(start.spatial_momentum[2], rel=1e-13)


def test_without_rotors_the_energy_stays_within_the_order_of_the_step():
    state = released(BODY, LEVEL, (2.0, 0.1, 0.1), (0.0, 0.0, 0.0))
    before = energy(BODY, state)
    for _ in range(2000):
        state = turned_on(BODY, state, (0.0, 0.0, 0.0), DT)
    assert energy(BODY, state) == pytest.approx(before, rel=1e-12)


def test_a_torque_held_in_body_axes_is_an_impulse():
    body = upright((0.01, 0.01, 0.01))
    state = released(body, LEVEL, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for _ in range(1000):
        state = stepped(body, state, (0.0, 0.0, 0.0), DT, (0.0, 0.03, 0.0))
    assert state.rate == pytest.approx((0.0, 3.0, 0.0), abs=1e-12)
    assert state.orientation == pytest.approx(about((0.0, 1.0, 0.0), 1.5), abs=1e-6)


@given(stator=vectors, rotor=vectors, torque=numbers, spin=st.floats(-300.0, 300.0), rate=vectors)
def test_what_comes_from_outside_is_found_in_reaction_and_momentum(
    stator, rotor, torque, spin, rate
):
    inputs = StepInputs(
        mount_angular_velocity=rate,
        torque=torque,
        stator_wrench=Wrench(torque=stator),
        rotor_wrench=Wrench(torque=rotor),
    )
    step = advance(WHEEL, MotorState(spin=spin), inputs, DT)
    before = momentum_of(WHEEL, MotorState(spin=spin))
    outside = from_outside(step.reaction.torque, before, step.momentum, DT)
    assert outside == pytest.approx(add(stator, rotor), abs=1e-9)


# --- the way that does not hold ------------------------------------------------------------------

TRANSVERSE = 0.01
RATIOS = (0.05, 0.1, 0.3, 1.0)
SECONDS = 2.0


def explicit_growth(ratio, late=0, seconds=SECONDS):
    """Return the growth of the rate, a power of e a second, where the mount wrench is fed back."""
    body = upright((TRANSVERSE,) * 3)
    wheel = MotorParameters(inertia=1e-4)
    motor = MotorState(spin=ratio * TRANSVERSE / DT / wheel.inertia)
    orientation, rate = LEVEL, (1e-9, 0.0, 0.0)
    waiting, rates = deque([ZERO] * late), []
    for _ in range(round(seconds / DT)):
        inputs = StepInputs(Pose(orientation=orientation), rotate(orientation, rate))
        step = advance(wheel, motor, inputs, DT)
        motor = step.state
        # Semi-implicit Euler: the attitude goes by the new rate.
        waiting.append(rotate(conjugate(orientation), step.mount_wrench.torque))
        rate = explicit_rate(body, rate, waiting.popleft(), DT)
        rates.append(norm(rate))
        turn = about(scale(1.0 / norm(rate), rate), DT * norm(rate))
        orientation = normalized(multiply(orientation, turn))
        if norm(rate) > 1e-3:  # so far the closed form is that of a small rate
            break
    half = len(rates) // 2  # the second half: a late torque has a beginning of its own
    return log(rates[-1] / rates[half]) / DT / (len(rates) - 1 - half)


def growth_a_second(ratio, late=0):
    """Return the closed form: of z = 1 + i r, r = dt H / I; of z^2 = z + i r a message late."""
    z = 0.5 * (1.0 + sqrt(1.0 + 4.0j * ratio)) if late else 1.0 + 1.0j * ratio
    return log(abs(z)) / DT


@pytest.mark.parametrize('late', [0, 1])
@pytest.mark.parametrize('ratio', RATIOS)
def test_the_explicit_torque_diverges_as_its_eigenvalues_say(ratio, late):
    measured = explicit_growth(ratio, late)
    assert measured == pytest.approx(growth_a_second(ratio, late), rel=1e-3)
    assert measured > 1.0  # three times larger within a second


def test_a_step_makes_it_larger_by_the_root_of_one_and_the_ratio_squared():
    for ratio in RATIOS:
        assert exp(growth_a_second(ratio) * DT) == pytest.approx(hypot(1.0, ratio))


@pytest.mark.parametrize('ratio', RATIOS)
def test_the_implicit_step_does_not_where_the_explicit_one_diverges(ratio):
    body, H = upright((TRANSVERSE,) * 3), (0.0, 0.0, ratio * TRANSVERSE / DT)
    state = released(body, LEVEL, (1e-9, 0.0, 0.0), H)
    for _ in range(round(SECONDS / DT)):
        state = turned_on(body, state, H, DT)
        assert norm(state.rate) < 1.001e-9 + 1e-11 * ratio


def test_the_page_tells_the_growth_that_is_measured():
    rows = [
        f'| {ratio:g} | {growth_a_second(ratio):.3g} | {explicit_growth(ratio):.3g} '
        f'| {explicit_growth(ratio, 1):.3g} | 0 |'
        for ratio in RATIOS
    ]
    told = re.findall(r'^\| [\d.]+ \|.*', PAGE.read_text(encoding='utf-8'), re.MULTILINE)
    assert told == rows


@pytest.mark.parametrize(
    'inertia',
    [(1, 0, 0, 1, 0, -1), (1, 2, 0, 1, 0, 1), (0,) * 6, (1, 0, 0, 1, 0), (float('nan'),) * 6],
)
def test_a_tensor_that_no_body_has_is_refused(inertia):
    with pytest.raises(ParameterError, match='inertia must be six numbers'):
        Body(inertia)
