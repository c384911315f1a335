"""Each equation of doc/equations.md once, worked by hand or by finite differences."""

from math import cos, pi, sin
from pathlib import Path
import re

from mime_motor_ros import model, vector
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
import numpy as np
import pytest
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

TABLE = Path(__file__).parents[1] / 'doc' / 'equations.md'
HALF = 0.5**0.5

# For finite differences: nothing lies along an axis of anything.
SKEW = MotorParameters(
    inertia=0.02,
    damping=0.03,
    axis=(0.0, 0.6, 0.8),
    # 0.005 (u u^T - v v^T) with u = (1, 0, 0), v = (0, 0.8, -0.6)
    asymmetry=(0.005, 0.0, 0.0, -0.0032, 0.0024, -0.0018),
    placement=Pose((0.3, -0.2, 0.1), (0.5, -0.5, 0.1, 0.7)),
)
START = Pose((0.4, 0.5, -0.6), (0.2, -0.4, 0.4, 0.8))
RATE = (1.5, -2.0, 0.7)


def turn(q):
    """Return the rotation matrix of (x, y, z, w)."""
    x, y, z, w = q
    return quat2mat([w, x, y, z])


def carried(seconds):
    """Return the mount's pose after this time of turning at RATE about the world's origin."""
    x, y, z, w = START.orientation
    swing = axangle2quat(RATE, np.linalg.norm(RATE) * seconds)
    w, x, y, z = qmult(swing, [w, x, y, z])
    position = quat2mat(swing) @ START.position
    return Pose(tuple(position.tolist()), (float(x), float(y), float(z), float(w)))


def momentum(mount, state):
    """Return the rotor's angular momentum but for its mean transverse part, by numpy alone."""
    R_WS = turn(mount.orientation) @ turn(SKEW.placement.orientation)
    xx, xy, xz, yy, yz, zz = SKEW.asymmetry
    x, y, z = SKEW.axis
    angle = state.angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    R_WR = R_WS @ (np.eye(3) + sin(angle) * K + (1.0 - cos(angle)) * K @ K)
    Q_W = R_WR @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R_WR.T
    return SKEW.inertia * state.spin * (R_WS @ SKEW.axis) + Q_W @ RATE


def two_steps(dt, **more):
    """Return two steps on the carried mount, and the slope of the rotor's momentum between."""
    one = advance(SKEW, MotorState(0.7, 40.0), StepInputs(carried(0.0), RATE, **more), dt)
    two = advance(SKEW, one.state, StepInputs(carried(dt), RATE, **more), dt)
    slope = momentum(carried(dt), two.state) - momentum(carried(0.0), one.state)
    return one, two, slope / dt


def test_01_the_stator_rides_on_the_mount_by_its_placement():
    motor = MotorParameters(1.0, placement=Pose((1.0, 0.0, 0.0), (HALF, 0.0, 0.0, HALF)))
    mount = Pose((1.0, 2.0, 3.0), (0.0, 0.0, HALF, HALF))
    step = advance(motor, MotorState(), StepInputs(mount), 0.1)
    assert step.stator.position == pytest.approx((1.0, 3.0, 3.0))
    assert step.stator.orientation == pytest.approx((0.5, 0.5, 0.5, 0.5))


def test_01_an_orientation_of_seven_digits_is_made_unit_here():
    mount = Pose(orientation=(0.0, 0.0, 1.002 * HALF, 1.002 * HALF))
    motor = MotorParameters(1.0, axis=(1, 0, 0))
    step = advance(motor, MotorState(0.0, 3.0), StepInputs(mount), 0.1)
    assert step.stator.orientation == pytest.approx((0.0, 0.0, HALF, HALF), abs=1e-15)
    assert step.momentum == pytest.approx((0.0, 3.0, 0.0), abs=1e-15)


def test_02_the_axis_turns_with_the_stator():
    # z of the stator, tilted to -y of the mount, is turned to x of the world
    motor = MotorParameters(1.0, axis=(0, 0, 2), placement=Pose(orientation=(HALF, 0, 0, HALF)))
    mount = Pose(orientation=(0.0, 0.0, HALF, HALF))
    step = advance(motor, MotorState(0.0, 5.0), StepInputs(mount), 0.1)
    assert step.rotor_angular_velocity == pytest.approx((5.0, 0.0, 0.0))


def test_03_a_load_on_the_rotor_acts_about_the_axis_alone():
    motor = MotorParameters(2.0, axis=(0.0, 3.0, 4.0))
    loads = StepInputs(rotor_wrench=Wrench(torque=(9.0, 5.0, 10.0)))
    step = advance(motor, MotorState(), loads, 0.5)
    assert step.load_torque == pytest.approx(0.6 * 5.0 + 0.8 * 10.0)
    assert step.state.spin == pytest.approx(0.5 * 11.0 / 2.0)

    step = advance(motor, MotorState(), StepInputs(stator_wrench=loads.rotor_wrench), 0.5)
    assert step.load_torque == step.state.spin == 0.0


def test_03_the_load_and_the_axis_are_in_world_axes():
    # the mount's quarter turn about x takes the axis (0, 0.6, 0.8) to (0, -0.8, 0.6)
    motor = MotorParameters(2.0, axis=(0.0, 3.0, 4.0))
    mount = Pose(orientation=(HALF, 0.0, 0.0, HALF))
    loads = StepInputs(mount, rotor_wrench=Wrench(torque=(9.0, 5.0, 10.0)))
    step = advance(motor, MotorState(), loads, 0.5)
    assert step.load_torque == pytest.approx(-0.8 * 5.0 + 0.6 * 10.0)


@pytest.mark.parametrize('turned', [0.0, 0.4])
def test_04_the_asymmetry_turns_with_the_rotor_from_its_old_angle(turned):
    # For Q = q diag(1, -1, 0) and omega = (1, 1, 0), equation (5) is 2 q cos 2 phi.
    motor = MotorParameters(10.0, asymmetry=(0.3, 0.0, 0.0, -0.3, 0.0, 0.0))
    mount = Pose(orientation=(0.0, 0.0, sin(0.5 * turned), cos(0.5 * turned)))
    step = advance(motor, MotorState(0.3, 5.0), StepInputs(mount, (1.0, 1.0, 0.0)), 0.1)
    assert step.asymmetry_torque == pytest.approx(0.6 * cos(2 * (0.3 + turned)), rel=1e-12)


def test_05_the_asymmetry_torque_is_the_slope_of_the_rotational_energy():
    def energy(angle):
        state = MotorState(angle, 0.0)  # without spin: the momentum is Q omega alone
        return 0.5 * np.dot(RATE, momentum(START, state))

    h = 1e-5
    slope = (energy(0.7 + h) - energy(0.7 - h)) / (2.0 * h)
    step = advance(SKEW, MotorState(0.7, 40.0), StepInputs(START, RATE), 0.1)
    assert abs(slope) > 1e-3
    assert step.asymmetry_torque == pytest.approx(slope, rel=1e-6)


def test_06_the_spin_by_hand():
    # J Omega = 20, torques 3 + 1 + b e.omega = 6 for 0.1 s, over J + dt b = 2.05
    motor = MotorParameters(2.0, 0.5)
    inputs = StepInputs(
        mount_angular_velocity=(7.0, 0.0, 4.0),
        torque=3.0,
        rotor_wrench=Wrench(torque=(0.0, 8.0, 1.0)),
    )
    step = advance(motor, MotorState(0.0, 10.0), inputs, 0.1)
    assert step.state.spin == pytest.approx(20.6 / 2.05, rel=1e-14)


def test_06_the_asymmetry_torque_speeds_the_rotor_up():
    motor = MotorParameters(2.0, asymmetry=(0.3, 0.0, 0.0, -0.3, 0.0, 0.0))
    step = advance(motor, MotorState(), StepInputs(mount_angular_velocity=(1.0, 1.0, 0.0)), 0.1)
    assert step.state.spin == pytest.approx(0.1 * 0.6 / 2.0)


def test_07_the_angle_follows_the_new_speed_against_the_stator_unwrapped():
    inputs = StepInputs(mount_angular_velocity=(0.0, 0.0, 4.0), torque=2.0)
    step = advance(MotorParameters(1.0), MotorState(1.0, 10.0), inputs, 0.5)
    assert step.state == (4.5, 11.0)
    assert step.relative_speed == 7.0
    step = advance(MotorParameters(1.0), step.state, inputs, 0.5)
    assert step.state == (8.5, 12.0)


def test_08_the_rotor_sits_on_the_stator_turned_by_the_new_angle():
    placement = Pose((0.0, 0.0, 0.5), (HALF, 0.0, 0.0, HALF))
    motor = MotorParameters(1.0, axis=(1.0, 0.0, 0.0), placement=placement)
    step = advance(motor, MotorState(0.2, 3.0), StepInputs(Pose((1.0, 0.0, 0.0))), 0.1)
    # a quarter turn about x, and 0.5 rad more about the same axis
    half = 0.5 * (0.5 * pi + 0.5)
    assert step.rotor.position == step.stator.position == (1.0, 0.0, 0.5)
    assert step.rotor.orientation == pytest.approx((sin(half), 0.0, 0.0, cos(half)))


def test_08_the_rotor_turns_in_the_axes_of_the_stator():
    motor = MotorParameters(1.0, axis=(0, 0, 1), placement=Pose(orientation=(HALF, 0, 0, HALF)))
    step = advance(motor, MotorState(0.5 * pi, 0.0), StepInputs(), 0.1)
    # x of the rotor is y of the stator, which is z of the mount
    assert turn(step.rotor.orientation) @ [1, 0, 0] == pytest.approx([0, 0, 1], abs=1e-12)


def test_09_the_angular_velocities_of_the_two_links_by_hand():
    inputs = StepInputs(mount_angular_velocity=(1.0, 2.0, 3.0))
    step = advance(MotorParameters(1.0), MotorState(0.0, 10.0), inputs, 0.1)
    assert step.stator_angular_velocity == (1.0, 2.0, 3.0)
    assert step.rotor_angular_velocity == (1.0, 2.0, 10.0)  # the spin is absolute


def test_09_the_rotor_turns_as_its_frame_does():
    dt = 1e-6
    one, two, _ = two_steps(dt)
    change = turn(two.rotor.orientation) @ turn(one.rotor.orientation).T
    found = np.array([change[2, 1], change[0, 2], change[1, 0]]) / dt
    np.testing.assert_allclose(two.rotor_angular_velocity, found, rtol=0.0, atol=1e-2)


def test_10_the_reaction_by_hand():
    motor = MotorParameters(1.0, 0.5, axis=(1, 0, 0), placement=Pose((0.0, 0.5, 0.0)))
    inputs = StepInputs(
        mount=Pose((1.0, 1.0, 1.0)),  # the moment is about the mount's origin, not the world's
        mount_angular_velocity=(2.0, 0.0, 0.0),
        torque=2.0,
        stator_wrench=Wrench((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)),
        rotor_wrench=Wrench((0.0, 0.0, -1.0), (4.0, 5.0, 6.0)),
    )
    step = advance(motor, MotorState(), inputs, 1.0)
    # tau_l = 4; spin (2 + 4 + 1) / 1.5; relative 8 / 3; the drive less the bearing 2 - 4 / 3
    assert step.state.spin == pytest.approx(14.0 / 3.0)
    assert step.reaction.force == pytest.approx((1.0, 2.0, 2.0))
    # arm (0, 0.5, 0) x force = (1, 0, -0.5)
    assert step.reaction.torque == pytest.approx((4.1 - 4.0 - 2.0 / 3.0 + 1.0, 5.2, 5.8))


def test_10_the_torque_out_of_the_asymmetry_reacts_on_the_mount():
    motor = MotorParameters(2.0, asymmetry=(0.3, 0.0, 0.0, -0.3, 0.0, 0.0))
    step = advance(motor, MotorState(), StepInputs(mount_angular_velocity=(1.0, 1.0, 0.0)), 0.1)
    assert step.reaction.torque == pytest.approx((0.0, 0.0, -0.6))


def test_11_the_spin_momentum_is_of_the_new_absolute_spin():
    motor = MotorParameters(2.0, axis=(0.0, 3.0, 4.0))
    inputs = StepInputs(mount_angular_velocity=(0.0, 1.0, 1.0), torque=4.0)
    step = advance(motor, MotorState(0.0, 9.0), inputs, 0.5)
    assert step.momentum == pytest.approx((0.0, 0.6 * 20.0, 0.8 * 20.0))


def test_12_the_asymmetry_at_the_new_angle_and_one_step_on():
    def at(angle):
        c, s = 0.3 * cos(2.0 * angle), 0.3 * sin(2.0 * angle)
        return [[c, s, 0.0], [s, -c, 0.0], [0.0, 0.0, 0.0]]

    motor = MotorParameters(2.0, asymmetry=(0.3, 0.0, 0.0, -0.3, 0.0, 0.0))
    inputs = StepInputs(Pose((0.0, 0.0, 9.0)), (0.0, 0.0, 1.0), torque=4.0)
    step = advance(motor, MotorState(0.2, 3.0), inputs, 0.1)  # spin 3.2, relative 2.2
    np.testing.assert_allclose(step.asymmetry_now, at(0.42), atol=1e-14)
    np.testing.assert_allclose(step.asymmetry_next, at(0.64), atol=1e-14)


def test_12_the_asymmetry_is_in_world_axes():
    step = advance(SKEW, MotorState(0.7, 0.0), StepInputs(START, RATE), 0.1)
    rested = MotorState(step.state.angle, 0.0)
    found = np.array(step.asymmetry_now) @ RATE
    np.testing.assert_allclose(found, momentum(START, rested), rtol=0.0, atol=1e-14)


def test_13_the_gyroscopic_torque_is_what_the_reaction_leaves_out():
    # Prescribed motion, no loads: the mount takes what the rotor's momentum loses.
    _, step, slope = two_steps(1e-6, torque=0.3)
    assert np.linalg.norm(step.gyroscopic_torque) > 1.0
    np.testing.assert_allclose(
        step.gyroscopic_torque, -slope - step.reaction.torque, rtol=0.0, atol=2e-3
    )


def test_13_a_wheel_on_a_turning_mount_by_hand():
    # H = 6 z, omega = 2 x: the wheel pushes its mount about +y, against the turn of H to -y
    motor = MotorParameters(2.0)
    inputs = StepInputs(mount_angular_velocity=(2.0, 0.0, 0.0))
    step = advance(motor, MotorState(0.0, 3.0), inputs, 0.1)
    assert step.gyroscopic_torque == (0.0, 12.0, 0.0)


def test_14_the_mount_feels_the_loads_less_what_the_momentum_gains():
    on_stator = Wrench((1.0, -2.0, 0.5), (0.3, 0.2, -0.4))
    on_rotor = Wrench((-0.4, 0.8, 1.1), (0.2, -0.5, 0.6))
    _, step, slope = two_steps(1e-6, torque=0.3, stator_wrench=on_stator, rotor_wrench=on_rotor)
    force = np.add(on_stator.force, on_rotor.force)
    arm = turn(carried(1e-6).orientation) @ SKEW.placement.position
    torque = np.add(on_stator.torque, on_rotor.torque) + np.cross(arm, force) - slope
    assert step.mount_wrench.force == pytest.approx(tuple(force))
    np.testing.assert_allclose(step.mount_wrench.torque, torque, rtol=0.0, atol=2e-3)


@pytest.mark.parametrize('dt', [0.0, -1e-3, float('nan'), float('inf')])
def test_a_step_needs_a_length(dt):
    with pytest.raises(ValueError, match=rf'^dt must be finite and > 0 s, got {dt}\.$'):
        advance(SKEW, MotorState(), StepInputs(), dt)


def rows():
    """Return the rows of the table in doc/equations.md: number, formula, name, function, tests."""
    lines = re.findall(r'^\| *\d+ *\|.*$', TABLE.read_text(), re.MULTILINE)
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]


def test_the_table_of_equations_has_every_number_once():
    assert [int(row[0]) for row in rows()] == list(range(1, 15))


def test_every_equation_has_its_tag_and_its_names_in_the_model():
    source = Path(model.__file__).read_text()
    for number, _, names, function, _ in rows():
        tagged = [line for line in source.splitlines() if f'# ({number})' in line]
        assert tagged, number
        for name in re.findall('`([^`]+)`', names):
            assert re.search(rf'\b{re.escape(name)}\b', source), (number, name)
        for name in re.findall('`([^`]+)`', function):
            assert hasattr(model, name) or hasattr(vector, name), (number, name)


def test_every_test_named_in_the_table_exists_and_every_equation_has_its_own():
    here = Path(__file__).parent
    for number, _, _, _, tests in rows():
        named = re.findall('`([^`]+)`', tests)
        assert any(name.startswith(f'test_{int(number):02d}_') for name in named), number
        for name in named:
            assert any(f'def {name}(' in path.read_text() for path in here.glob('test_*.py')), name
