"""Laws the model obeys as a whole; the equations one by one are in test_equations.py."""

from math import cos, sin

from hypothesis import given, settings
from hypothesis import strategies as st
from mime_motor_ros.model import (
    advance,
    compose,
    from_rotor_inertia,
    MotorParameters,
    MotorState,
    Pose,
    StepInputs,
    Wrench,
)
import numpy as np
import pytest
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

PLACEMENT = Pose((0.3, -0.2, 0.1), (0.5, -0.5, 0.1, 0.7))
AXIS = (0.0, 0.6, 0.8)
HALF = 0.5**0.5
ASYMMETRY = (0.005, 0.0, 0.0, -0.0032, 0.0024, -0.0018)
MOTOR = MotorParameters(0.02, 0.03, AXIS, ASYMMETRY, PLACEMENT)
FREE = MotorParameters(0.02, 0.0, AXIS, ASYMMETRY, PLACEMENT)
ROUND = MotorParameters(0.02, 0.03, AXIS, placement=PLACEMENT)

numbers = st.floats(-10.0, 10.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)
wrenches = st.builds(Wrench, vectors, vectors)
turns = (
    st.tuples(numbers, numbers, numbers, numbers)
    .filter(lambda q: np.linalg.norm(q) > 1e-3)
    .map(lambda q: tuple(float(x) for x in q / np.linalg.norm(q)))
)
poses = st.builds(Pose, vectors, turns)
all_inputs = st.builds(
    StepInputs, poses, vectors, numbers, wrenches, wrenches, st.none(), st.none()
)
states = st.builds(MotorState, numbers, st.floats(-300.0, 300.0))
law = settings(deadline=None, max_examples=50, derandomize=True)


def turn(q):
    """Return the rotation matrix of (x, y, z, w)."""
    x, y, z, w = q
    return quat2mat([w, x, y, z])


def swung(q, rate, seconds):
    """Return an orientation (x, y, z, w) after turning at this rate in the world."""
    x, y, z, w = q
    swing = axangle2quat(rate, np.linalg.norm(rate) * seconds)
    w, x, y, z = qmult(swing, [w, x, y, z])
    return (float(x), float(y), float(z), float(w))


def axis_of(step):
    """Return e, out of the two angular velocities."""
    relative = np.subtract(step.rotor_angular_velocity, step.stator_angular_velocity)
    return relative / step.relative_speed


def near(found, expected, atol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=atol)


@pytest.mark.parametrize('dt', [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize('along', [0.0, 4.0])
def test_constant_torque_gives_the_exact_discrete_solution(dt, along):
    """The spin above that of the mount is tau/b (1 - (J/(J + dt b))^n)."""
    torque, state, angle = 0.7, MotorState(0.0, along), 0.0
    inputs = StepInputs(mount_angular_velocity=(0.0, 0.0, along), torque=torque)
    motor = MotorParameters(0.02, 0.03)
    decay = motor.inertia / (motor.inertia + dt * motor.damping)
    for n in range(1, 51):
        state = advance(motor, state, inputs, dt).state
        relative = torque / motor.damping * (1.0 - decay**n)
        angle += dt * relative
        assert state.spin - along == pytest.approx(relative, rel=1e-10)
        assert state.angle == pytest.approx(angle, rel=1e-10)


def test_no_damping_is_too_stiff_for_any_step():
    state = MotorState(0.0, 1e4)
    for _ in range(20):
        after = advance(MotorParameters(1e-6, 1e3), state, StepInputs(), 100.0).state
        assert 0.0 <= after.spin < state.spin or after.spin == state.spin == 0.0
        state = after


def test_without_any_torque_the_absolute_spin_stays_however_the_mount_turns():
    rate = (1.0, -2.0, 3.0)
    step = advance(MotorParameters(0.02), MotorState(0.0, 50.0), StepInputs(Pose(), rate), 0.1)
    assert step.state.spin == 50.0
    assert step.relative_speed == 47.0


@law
@given(inputs=all_inputs, state=states, dt=st.floats(1e-4, 1.0))
def test_no_axial_torque_is_lost(inputs, state, dt):
    """What turns the two links goes into the mount or into the rotor's momentum."""
    step = advance(MOTOR, state, inputs, dt)
    e = turn(inputs.mount.orientation) @ turn(PLACEMENT.orientation) @ AXIS
    arm = np.subtract(step.stator.position, inputs.mount.position)
    into_mount = e @ (step.reaction.torque - np.cross(arm, step.reaction.force))
    into_rotor = MOTOR.inertia * (step.state.spin - state.spin) / dt
    given_torque = e @ np.add(inputs.stator_wrench.torque, inputs.rotor_wrench.torque)
    assert into_mount + into_rotor == pytest.approx(given_torque, abs=1e-8)


@law
@given(inputs=all_inputs, state=states, frame=poses)
def test_turning_and_moving_the_world_turns_the_outputs_and_leaves_the_spin(inputs, state, frame):
    R = turn(frame.orientation)

    def moved(vector):
        return tuple((R @ vector).tolist())

    def wrench(one):
        return Wrench(moved(one.force), moved(one.torque))

    there = StepInputs(
        compose(frame, inputs.mount),
        moved(inputs.mount_angular_velocity),
        inputs.torque,
        wrench(inputs.stator_wrench),
        wrench(inputs.rotor_wrench),
    )
    one, other = advance(MOTOR, state, inputs, 0.01), advance(MOTOR, state, there, 0.01)
    near(other.state, one.state)
    near(
        (other.relative_speed, other.load_torque, other.asymmetry_torque),
        (one.relative_speed, one.load_torque, one.asymmetry_torque),
    )
    for name in (
        'momentum',
        'stator_angular_velocity',
        'rotor_angular_velocity',
        'gyroscopic_torque',
    ):
        near(getattr(other, name), R @ getattr(one, name), atol=1e-8)
    for name in ('asymmetry_now', 'asymmetry_next'):
        near(getattr(other, name), R @ getattr(one, name) @ R.T, atol=1e-12)
    for name in ('reaction', 'mount_wrench'):
        near(getattr(other, name).force, R @ getattr(one, name).force, atol=1e-8)
        near(getattr(other, name).torque, R @ getattr(one, name).torque, atol=1e-8)
    for name in ('stator', 'rotor'):
        found, right = getattr(other, name), compose(frame, getattr(one, name))
        near(found.position, right.position)
        near(turn(found.orientation), turn(right.orientation), atol=1e-12)


@law
@given(inputs=all_inputs, state=states)
def test_a_symmetric_rotor_has_no_torque_out_of_asymmetry(inputs, state):
    step = advance(ROUND, state, inputs, 0.01)
    assert step.asymmetry_torque == 0.0
    assert step.asymmetry_now == step.asymmetry_next == ((0.0,) * 3,) * 3
    near(step.gyroscopic_torque, np.cross(step.momentum, inputs.mount_angular_velocity))


@law
@given(inputs=all_inputs, state=states)
def test_a_nearly_symmetric_rotor_does_nearly_what_a_symmetric_one_does(inputs, state):
    nearly = MotorParameters(0.02, 0.03, AXIS, [1e-12 * x for x in ASYMMETRY], PLACEMENT)
    one, other = advance(ROUND, state, inputs, 0.01), advance(nearly, state, inputs, 0.01)
    near(other.state, one.state)
    near(other.mount_wrench.torque, one.mount_wrench.torque, atol=1e-7)


@law
@given(inputs=all_inputs, state=states)
def test_what_goes_out_is_as_it_should_be_in_every_state(inputs, state):
    step = advance(MOTOR, state, inputs, 0.01)
    for pose in (step.stator, step.rotor):
        assert np.linalg.norm(pose.orientation) == pytest.approx(1.0, abs=1e-14)
    near(np.linalg.norm(step.momentum), abs(MOTOR.inertia * step.state.spin))
    for tensor in (step.asymmetry_now, step.asymmetry_next):
        np.testing.assert_array_equal(tensor, np.transpose(tensor))
        near(np.linalg.eigvalsh(tensor), [-0.005, 0.0, 0.005], atol=1e-15)
    assert step.mount_wrench.force == step.reaction.force
    # plain floats everywhere, which is what messages can hold
    flat = [step]
    while flat:
        part = flat.pop()
        flat += part if isinstance(part, tuple) else []
        assert isinstance(part, (tuple, float))


def test_energy_a_free_rotor_swings_in_the_field_of_a_turning_mount():
    """
    J/2 speed^2 - omega.Q omega / 2 stays, as for a pendulum: the sign of tau_q.

    A constantly turning mount does work, so the energy itself does not stay.
    """
    dt, rate, q = 1e-3, (3.0, 2.0, 1.0), (0.2, -0.4, 0.4, 0.8)
    state = MotorState(0.3, 3.5)
    kinetic, field = [], []
    for n in range(4000):
        inputs = StepInputs(Pose((0.0, 0.0, 0.0), swung(q, rate, n * dt)), rate)
        step = advance(FREE, state, inputs, dt)
        state = step.state
        kinetic.append(0.5 * FREE.inertia * step.relative_speed**2)
        field.append(0.5 * np.dot(rate, step.asymmetry_now @ np.array(rate)))
    swing = np.ptp(field)
    assert swing > 1e-3
    assert np.ptp(kinetic) > 0.9 * swing
    assert np.ptp(np.subtract(kinetic, field)) < 0.02 * swing


def drift(dt, seconds=1.0):
    """
    Return how energy and angular momentum of a free body with a free rotor are lost in a run.

    The body takes the mount wrench and, as whoever knows its acceleration has to, adds the
    asymmetry to its inertia.
    """
    inertia = np.diag([0.08, 0.1, 0.15])
    q, rate, state = (0.2, -0.4, 0.4, 0.8), np.array([1.0, -2.0, 1.5]), MotorState(0.3, 12.0)
    energies, momenta = [], []
    for _ in range(round(seconds / dt)):
        step = advance(FREE, state, StepInputs(Pose((0.0, 0.0, 0.0), q), tuple(rate.tolist())), dt)
        state = step.state
        body = turn(q) @ inertia @ turn(q).T
        Q = np.array(step.asymmetry_now)
        whole = body @ rate + step.momentum + Q @ rate
        momenta.append(whole)
        energies.append(0.5 * (rate @ (body + Q) @ rate + FREE.inertia * state.spin**2))
        change = step.mount_wrench.torque - np.cross(rate, body @ rate)
        rate = rate + dt * np.linalg.solve(body + Q, change)
        q = swung(q, rate, dt)
    energy = np.ptp(energies) / energies[0]
    return energy, np.linalg.norm(np.ptp(momenta, axis=0)) / np.linalg.norm(momenta[0])


def test_a_free_body_with_a_free_rotor_keeps_its_energy_and_its_angular_momentum():
    """To first order in dt: all of the torques on the mount and their signs at once."""
    coarse, fine = np.array(drift(2e-3)), np.array(drift(1e-3))
    assert np.all(fine < 0.01)
    near(coarse / fine, [2.0, 2.0], atol=0.3)


def test_the_error_is_of_first_order_in_the_step():
    rate, q, start, torque, seconds = (3.0, 2.0, 1.0), (0.2, -0.4, 0.4, 0.8), (0.3, 3.5), 0.05, 1.0
    u, v = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.8, -0.6])
    R_WS = turn(q) @ turn(PLACEMENT.orientation)  # in the mount's axes nothing else turns
    e, along, across = R_WS @ AXIS @ rate, R_WS @ u @ rate, R_WS @ v @ rate

    def slope(y):
        # half the slope of 0.005 (x^2 - y^2), x and y the rate along the rotor's own u and v
        c, s = cos(y[0]), sin(y[0])
        tau_q = 0.01 * (c * along + s * across) * (c * across - s * along)
        return np.array([y[1] - e, (torque + tau_q + 0.03 * (e - y[1])) / 0.02])

    def exact(steps=2000):
        y, h = np.array(start), seconds / steps
        for _ in range(steps):
            a = slope(y)
            b = slope(y + 0.5 * h * a)
            c = slope(y + 0.5 * h * b)
            y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + slope(y + h * c))
        return y

    def error(steps):
        state, dt = MotorState(*start), seconds / steps
        for n in range(steps):
            mount = Pose((0.0, 0.0, 0.0), swung(q, rate, (n + 1) * dt))
            state = advance(MOTOR, state, StepInputs(mount, rate, torque), dt).state
        return np.abs(np.array(state) - right)

    right = exact()
    coarse, fine = error(500), error(1000)
    assert np.all(fine < 0.02)
    near(coarse / fine, [2.0, 2.0], atol=0.15)


def test_poses_compose_as_matrices_do():
    one = Pose((1.0, 2.0, 3.0), PLACEMENT.orientation)
    other = Pose((4.0, 5.0, 6.0), (HALF, 0.0, 0.0, HALF))
    both = compose(one, other)
    near(both.position, one.position + turn(one.orientation) @ other.position)
    near(turn(both.orientation), turn(one.orientation) @ turn(other.orientation))


moments = st.floats(1e-6, 10.0)


@law
@given(
    J=moments,
    excess=st.floats(0.01, 0.99),
    half=st.sampled_from([0.0, 1e-9, 1e-6, 0.1, 0.9]),
    placed=turns,
    rate=vectors,
    spin=numbers,
)
def test_the_three_parts_of_a_rotor_inertia_carry_its_whole_momentum(
    J, excess, half, placed, rate, spin
):
    # Principal moments: J about the axis, m + half and m - half across it, of a possible body.
    m = J * (0.5 + excess)
    half = half * min(0.5 * J, m, m - 0.5 * J)
    R = turn(placed)
    whole = R @ np.diag([m + half, m - half, J]) @ R.T
    axis = R @ [0.0, 0.0, 1.0]
    parts = from_rotor_inertia(whole.tolist(), (3.0 * axis).tolist())
    assert parts.inertia == pytest.approx(J, rel=1e-9)
    assert parts.transverse == pytest.approx(m, rel=1e-9)
    motor = MotorParameters(parts.inertia, 0.0, axis.tolist(), parts.asymmetry)  # takes them
    assert abs(motor.mean_asymmetry) <= 1e-9 * J
    near(np.linalg.norm(motor.asymmetry) > 0.0, half > 0.0)

    step = advance(motor, MotorState(0.0, spin), StepInputs(Pose(), rate), 1e-9)
    rate_across = rate - axis * (axis @ rate)
    found = step.momentum + parts.transverse * rate_across + step.asymmetry_now @ np.array(rate)
    near(found, whole @ step.rotor_angular_velocity, atol=1e-6)


def test_a_thin_disc_about_a_diameter_is_a_possible_rotor():
    assert from_rotor_inertia((1.0, 0.0, 0.0, 2.0, 0.0, 1.0), (1.0, 0.0, 0.0)) == (
        1.0,
        (0.0, 0.0, 0.0, 0.5, 0.0, -0.5),
        1.5,
    )


def test_the_mean_part_of_an_asymmetry_is_told():
    assert MotorParameters(1.0, asymmetry=(0.3, 0.0, 0.0, 0.1, 0.0, 0.0)).mean_asymmetry == 0.2
    assert MOTOR.mean_asymmetry == pytest.approx(0.0, abs=1e-18)


def test_nothing_given_is_nothing_moved():
    step = advance(MotorParameters(1.0), MotorState(), StepInputs(), 1e-3)
    assert step.state == MotorState(0.0, 0.0)
    assert step.mount_wrench == Wrench()
    assert step.rotor == Pose()
    assert step.momentum == (0.0, 0.0, 0.0)
