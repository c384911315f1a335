"""Friction, gear and the law of a drive in one step: the solution of (D1)."""

from math import copysign, exp, inf

from hypothesis import given, Phase, settings
from hypothesis import strategies as st
from mime_motor_ros.axial import drag, dry, Friction, Gear, Law, turn
from mime_motor_ros.energy import Energy
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.imbalance import across, Imbalance, reaction
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs
from mime_motor_ros.vector import (
    about,
    add,
    cross,
    dot,
    multiply,
    norm,
    rotate,
    scale,
    subtract,
)
import pytest

# Without the phase that explains a failure, which takes a minute.
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
exact = settings(deadline=None, max_examples=200, derandomize=True, phases=PHASES)
torques = st.floats(-2.0, 2.0)
amounts = st.one_of(st.just(0.0), st.floats(1e-3, 1.0))


def test_a_stalled_rotor_holds_at_exactly_0():
    parameters = MotorParameters(1e-4, friction=Friction(coulomb=1e-3))
    state = MotorState(0.25, 0.0)
    for _ in range(10_000):
        step = advance(parameters, state, StepInputs(torque=0.5e-3), 1e-3)
        state = step.state
    assert state == (0.25, 0.0)
    assert step.friction_torque == -0.5e-3
    assert step.reaction.torque == (0.0, 0.0, 0.0)


def test_a_stalled_rotor_holds_on_a_turning_mount_too():
    parameters = MotorParameters(1e-4, friction=Friction(coulomb=1e-3))
    state = MotorState()
    for k in range(100):
        rate = (0.0, 0.0, 0.01 * k)
        state = advance(parameters, state, StepInputs(mount_angular_velocity=rate), 1e-2).state
        assert state == (0.0, rate[2])


@pytest.mark.parametrize('dt', [1e-3, 1e-4])
def test_it_coasts_down_to_exactly_0_at_the_angle_of_theory(dt):
    parameters, state = MotorParameters(1e-4, friction=Friction(coulomb=1e-3)), MotorState(0, 5.0)
    for _ in range(round(1.0 / dt)):
        state = advance(parameters, state, StepInputs(), dt).state
    assert state.spin == 0.0
    assert state.angle == pytest.approx(1.25 - 2.5 * dt, abs=1e-9)  # first order in dt


def test_dry_friction_falls_from_static_to_coulomb():
    friction = Friction(coulomb=1.0, static=1.5, stribeck_speed=0.1)
    assert dry(friction, 0.0) == 1.5
    assert dry(friction, 0.1) == dry(friction, -0.1) == 1.0 + 0.5 * exp(-1.0)
    assert dry(friction, 1e6) == 1.0
    assert dry(Friction(coulomb=1.0, static=1.5), 1e-9) == 1.0
    assert dry(Friction(coulomb=1.0), 0.0) == 1.0


def test_drag_is_of_the_speed_its_square_and_its_cube():
    friction = Friction(quadratic=2.0, cubic=3.0)
    for v in (0.5, -0.5):
        assert drag(friction, 4.0, v) * v == copysign(4.0 * 0.5 + 2.0 * 0.25 + 3.0 * 0.125, v)


@pytest.mark.parametrize(
    ('values', 'said'),
    [
        ({'coulomb': -1.0}, 'friction.coulomb must be finite and >= 0 N m, got -1.0.'),
        ({'cubic': inf}, 'friction.cubic must be finite and >= 0 N m s^3, got inf.'),
        (
            {'coulomb': 2.0, 'static': 1.0},
            'friction.static must be 0 or >= friction.coulomb, which is 2 N m, got 1.0.',
        ),
    ],
)
def test_friction_that_would_drive_is_refused(values, said):
    with pytest.raises(ParameterError) as refused:
        Friction(**values)
    assert str(refused.value) == said


FULL = MotorParameters(
    1e-3,
    1e-4,
    (0.0, 0.6, 0.8),
    friction=Friction(0.01, 0.02, 0.1, 1e-4, 1e-6),
    gear=Gear(-6.0, 7e-5),
)


def test_the_momentum_of_both_rotors_goes_to_the_mount():
    state, spin, energy = MotorState(0.0, 3.0), None, Energy()
    before = None
    for k in range(200):
        rate = (0.3, -0.2, 0.01 * k)
        inputs = StepInputs(mount_angular_velocity=rate, law=Law(0.5, 0.05), drive_spin=spin)
        step = advance(FULL, state, inputs, 1e-3)
        momentum = FULL.inertia * step.state.spin + FULL.gear.inertia * step.drive_spin
        if before is not None:
            gained = (momentum - before) / 1e-3
            assert dot(step.reaction.torque, FULL.axis) == pytest.approx(-gained, abs=1e-9)
            energy.add(FULL, state, step, 1e-3, spin)
        assert step.drive_spin == pytest.approx(
            dot(FULL.axis, rate) - 6.0 * step.relative_speed, abs=1e-12
        )
        assert norm(step.momentum) == pytest.approx(abs(momentum))
        state, spin, before = step.state, step.drive_spin, momentum
    assert abs(energy.residual) < 1e-12 * energy.turned_over
    assert energy.dissipated > 0.0


def test_reflected_inertia_slows_the_rotor_as_n_squared():
    parameters = MotorParameters(1e-3, gear=Gear(10.0, 1e-4))
    step = advance(parameters, MotorState(), StepInputs(torque=1.0), 1e-3)
    assert step.state.spin == pytest.approx(1e-3 / (1e-3 + 100 * 1e-4))


def test_an_imbalance_of_a_real_wheel_pulls_and_tilts_once_a_turn():
    U_s, U_d, spin = 4.8e-6, 1.54e-6, 100.0
    x, y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    parameters = MotorParameters(1e-2, imbalance=Imbalance(U_s, x, U_d, y))
    step = advance(parameters, MotorState(-1e-3 * spin, spin), StepInputs(), 1e-3)
    assert step.state.angle == pytest.approx(0.0, abs=1e-15)
    # d'Alembert: the heavy side pulls outwards; minus the change of I_d omega, I_d = -U_d (e d^T +
    # d e^T), so of e x (-U_d d omega): along -x for d along y, and the mount feels the opposite.
    assert step.reaction.force == pytest.approx((U_s * spin**2, 0.0, 0.0), abs=1e-12)
    assert step.reaction.torque == pytest.approx((-U_d * spin**2, 0.0, 0.0), abs=1e-12)
    assert step.mount_wrench.force == step.reaction.force


def test_the_force_of_an_imbalance_is_that_of_a_mass_off_the_axis_on_a_turning_mount():
    """About the axis of both the rates add up."""
    U_s, dt, placed = 2e-3, 1e-4, Pose((0.1, 0.2, 0.3))
    direction = across((0.0, 0.0, 1.0), 0.4)
    parameters = MotorParameters(
        1e-2, placement=placed, imbalance=Imbalance(U_s, direction, 0.0, direction)
    )
    state, rate = MotorState(0.3, 40.0), (0.0, 0.0, 5.0)
    step = advance(parameters, state, StepInputs(mount_angular_velocity=rate), dt)
    total = norm(step.rotor_angular_velocity)
    assert norm(step.reaction.force) == pytest.approx(U_s * total**2)
    arm = cross(placed.position, step.reaction.force)
    axial = dot(step.reaction.torque, (0.0, 0.0, 1.0)) - arm[2]
    assert axial == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('rate', [(0.0, 0.0, 0.0), (3.0, -7.0, 2.0), (20.0, 5.0, -30.0)])
@pytest.mark.parametrize('speeding_up', [0.0, 400.0])
def test_an_imbalance_by_differences_of_where_the_mass_is(rate, speeding_up):
    """A mount that tumbles across the axis, and a rotor that turns faster and faster on it."""
    axis, U_s, U_d, v, h = (0.36, 0.48, 0.8), 2e-3, 3e-4, 50.0, 1e-5
    imbalance = Imbalance(U_s, across(axis, 0.4), U_d, across(axis, -1.1))

    def orientation(t):
        size = norm(rate)
        mount = about(scale(1.0 / size, rate), size * t) if size else (0.0, 0.0, 0.0, 1.0)
        return multiply(mount, about(axis, 0.3 + v * t + 0.5 * speeding_up * t * t)), mount

    def momentum(t):
        """Return that of the products of inertia."""
        R, mount = orientation(t)
        e, d = rotate(mount, axis), rotate(R, imbalance.dynamic_direction)
        turning = add(rate, scale(v + speeding_up * t, e))
        along = add(scale(dot(d, turning), e), scale(dot(e, turning), d))
        return scale(-U_d, along)

    def slope(f, t):
        return scale(0.5 / h, subtract(f(t + h), f(t - h)))

    def place(t):
        return rotate(orientation(t)[0], imbalance.static_direction)

    R, mount = orientation(0.0)
    e = rotate(mount, axis)
    made = reaction(imbalance, R, e, rate, v, speeding_up)
    force = scale(-U_s, slope(lambda t: slope(place, t), 0.0))
    torque = scale(-1.0, slope(momentum, 0.0))
    torque = subtract(torque, scale(dot(torque, e), e))
    assert made.force == pytest.approx(force, abs=1e-4 * norm(force))
    assert made.torque == pytest.approx(torque, abs=1e-6 * norm(torque))


def test_an_imbalance_of_a_rotor_that_sticks_on_a_mount_that_speeds_up():
    """The part of d omega/dt about the axis is in: the rotor's absolute spin changes."""
    parameters = MotorParameters(
        1e-3,
        friction=Friction(coulomb=10.0),
        imbalance=Imbalance(1e-3, (1.0, 0.0, 0.0), 0.0, (1.0, 0.0, 0.0)),
    )
    inputs = StepInputs(mount_angular_velocity=(0.0, 0.0, 0.1))
    step = advance(parameters, MotorState(), inputs, 1e-3)
    assert step.relative_speed == 0.0
    assert step.reaction.force[1] == pytest.approx(-1e-3 * 0.1 / 1e-3)


@pytest.mark.parametrize('slope', [1e-6, 0.5, 1e3, 1e12])
@pytest.mark.parametrize('momentum', [3e-3, -3e-3])
def test_a_law_follows_the_new_speed_and_the_speed_follows_from_its_torque(slope, momentum):
    c, inertia, dt = 0.01, 1e-2, 1e-2
    made = turn(Law(0.5, slope), 0.0, c, inertia, momentum, dt)
    assert 0.5 - slope * made.speed == pytest.approx(made.torque, rel=1e-9, abs=1e-15 * slope)
    gained = momentum + dt * (made.torque + made.friction)
    assert inertia * made.speed == pytest.approx(gained, rel=1e-9, abs=1e-15)


def test_directions_across_an_axis():
    for axis in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.6, 0.8)):
        for phase in (0.0, 1.0, -2.0):
            direction = across(axis, phase)
            assert norm(direction) == pytest.approx(1.0)
            assert dot(direction, axis) == pytest.approx(0.0, abs=1e-15)
    assert across((0.0, 0.0, 1.0), 0.0) == (1.0, 0.0, 0.0)
    quarter = across((0.0, 0.0, 1.0), 0.5 * 3.141592653589793)
    assert quarter == pytest.approx((0.0, 1.0, 0.0), abs=1e-15)


@exact
@given(
    wanted=torques, slope=amounts, low=st.floats(-2.0, 0.0), high=st.floats(0.0, 2.0),
    power=st.floats(1e-3, 5.0), friction=amounts, c=amounts, J=st.floats(1e-5, 0.1),
    K=st.floats(-1.0, 1.0), dt=st.floats(1e-4, 0.1),
)  # fmt: skip
def test_a_step_keeps_the_balance_every_bound_and_dry_friction_never_drives(
    wanted, slope, low, high, power, friction, c, J, K, dt
):
    made = turn(Law(wanted, slope, low, high, power), friction, c, J, K, dt)
    size = abs(K) + dt * (abs(made.torque) + abs(made.friction)) + 1e-12
    assert J * made.speed == pytest.approx(K + dt * (made.torque + made.friction), abs=1e-9 * size)
    assert low <= made.torque <= high
    assert abs(made.torque * made.speed) <= power * (1.0 + 1e-9)
    dried = made.friction + c * made.speed
    assert abs(dried) <= friction * (1.0 + 1e-9) + 1e-9 * size / dt
    if made.speed:
        assert dried * made.speed <= 1e-9 * size / dt * abs(made.speed)
