"""The free body of the demos: what it makes of what it hears, without ROS."""

from math import hypot, sin

from mime_motor_ros.demo_body import DEFAULTS, FreeMount, Pilot
from mime_motor_ros.demos import demo, DEMOS
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.free_body import Body
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs
from mime_motor_ros.pointing import error_angle, Gains, target_at
from mime_motor_ros.settings import settings
from mime_motor_ros.vector import conjugate, norm, rotate, scale, subtract
import pytest

DT = 1e-3
STEP_NS = 1_000_000
BODY = Body((0.01, 0.0, 0.0, 0.01, 0.0, 0.006))
WHEEL = MotorParameters(inertia=1e-4)
START = Pose((0.0, 0.0, 0.5))
H = (0.0, 0.0, 0.05)


def made(weight=0.0, rate=(0.6, 0.0, 0.0)):
    return FreeMount(BODY, START, rate, weight, DT)


def let_go():
    mount = made()
    mount.hear(STEP_NS, H, None)
    mount.step(1)
    return mount


def test_it_stands_still_until_the_rotors_are_known():
    mount = made()
    mount.step(1000)
    assert (mount.pose, mount.rate) == (START, (0.0, 0.0, 0.0))
    mount.hear(STEP_NS, H, None)
    mount.step(7)
    assert (mount.pose, mount.rate) == (START, (0.6, 0.0, 0.0))
    mount.step(1)
    assert mount.pose.orientation != START.orientation
    assert mount.pose.position == START.position


def in_lockstep(steps, late, lost=lambda k: False, torque=lambda t: 0.0):
    """Return a mount whose motor reads the pose of some steps before, and is heard as late."""
    mount, motor = let_go(), MotorState(spin=500.0)
    poses = [(mount.pose, mount.rate)] * (late + 1)
    messages = []
    for k in range(steps):
        pose, rate = poses.pop(0)
        w_W = rotate(pose.orientation, rate)
        step = advance(WHEEL, motor, StepInputs(pose, w_W, torque(k * DT)), DT)
        motor = step.state
        reaction = rotate(conjugate(pose.orientation), step.reaction.torque)  # as it is sent
        messages.append(((k + 2) * STEP_NS, (0.0, 0.0, 1e-4 * motor.spin), reaction))
        if len(messages) > late and not lost(k):
            mount.hear(*messages[-1 - late])
        mount.step(1)
        poses.append((mount.pose, mount.rate))
    return mount


@pytest.mark.parametrize('late', [0, 1, 5])
def test_it_stays_stable_and_keeps_its_momentum_though_messages_come_late(late):
    start = let_go().state.spatial_momentum
    mount = in_lockstep(20000, late, torque=lambda t: 0.02 * sin(t))
    assert norm(subtract(mount.state.spatial_momentum, start)) < 1e-10 * norm(start)
    assert hypot(*mount.rate[:2]) == pytest.approx(0.6, rel=0.01)


def test_a_message_that_is_lost_loses_no_momentum():
    start = let_go().state.spatial_momentum
    mount = in_lockstep(5000, 1, lost=lambda k: k % 7 < 3, torque=lambda t: 0.02 * sin(t))
    assert norm(subtract(mount.state.spatial_momentum, start)) < 1e-10 * norm(start)
    assert hypot(*mount.rate[:2]) == pytest.approx(0.6, rel=0.01)


def test_a_load_on_the_motors_pushes_the_body():
    """Of what they hand on, all that their own momentum does not account for is from outside."""
    mount = let_go()
    start = mount.state.spatial_momentum
    for k in range(2, 1002):
        rotors = (0.0, 0.0, 0.05 + 1e-5 * k)  # by a drive, which gives the body the opposite
        mount.hear(k * STEP_NS, rotors, subtract((0.0, 0.0, 0.003), (0.0, 0.0, 0.01)))
        mount.step(1)
    gained = norm(mount.state.spatial_momentum) - norm(start)
    assert gained == pytest.approx(0.003, rel=0.05)


def test_a_motor_node_that_starts_anew_or_is_reset_does_not_kick_the_body():
    mount = let_go()
    mount.step(100)
    before = mount.rate
    mount.hear(mount._heard_ns + 3_000_000_000, (0.0, 0.0, 0.01), None)  # after a silence
    mount.step(1)
    assert mount.rate == pytest.approx(before, abs=1e-2)
    before = mount.rate
    mount.hear(mount._heard_ns + STEP_NS, (0.0, 0.0, 0.05), (0.0, 0.0, 0.0))  # by ~/reset
    mount.step(1)
    assert mount.rate == pytest.approx(before, abs=1e-2)


def test_what_is_no_number_is_not_heard():
    mount = let_go()
    mount.hear(2 * STEP_NS, (0.0, float('nan'), 0.05), None)
    assert mount.rotors == H


def test_the_weight_makes_no_torque_about_the_vertical():
    mount = made(weight=0.02)
    mount.hear(STEP_NS, H, None)
    mount.step(1)
    before = mount.state.spatial_momentum
    mount.step(3000)
    after = mount.state.spatial_momentum
    assert after[2] == pytest.approx(before[2], rel=1e-13)
    assert norm(subtract(after, before)) > 1e-4


WHEELS = {
    'motors': ['x', 'y', 'z', 's'],
    **{f'{name}.inertia': 6.37e-5 for name in 'xyzs'},
    **{f'{name}.damping': 2e-6 for name in 'xyzs'},
    'x.axis': (1.0, 0.0, 0.0),
    'y.placement.rpy': (-1.5707963267948966, 0.0, 0.0),  # its stator's z lies along y
    'z.axis': (0.0, 0.0, 1.0),
    's.axis': (1.0, 1.0, 1.0),
}


def test_the_pilot_points_the_body_by_what_it_hears_of_the_speeds():
    motors = settings(WHEELS).motors
    default = DEFAULTS['wheels']
    mount = FreeMount(Body(default['inertia']), START, default['initial_rate'], 0.0, DT)
    pilot = Pilot(motors, Gains(), 0.02)
    states = [MotorState(spin=spin) for spin in (-181.4, -181.4, -181.4, 314.2)]
    assert pilot.torques(0.0, mount, (0.0,) * 4) == (0.0,) * 4
    torques = (0.0,) * 4
    speeds = [state.spin for state in states]
    for k in range(9000):
        total = (0.0, 0.0, 0.0)
        w_W, steps = rotate(mount.pose.orientation, mount.rate), []
        for i, motor in enumerate(motors):
            inputs = StepInputs(mount.pose, w_W, torques[i])
            steps.append(advance(motor.model, states[i], inputs, DT))
            momentum = scale(motor.model.inertia * steps[-1].state.spin, pilot.array.axes[i])
            total = tuple(a + b for a, b in zip(total, momentum, strict=True))
        states = [step.state for step in steps]
        mount.hear((k + 1) * STEP_NS, total, None)
        mount.step(1)
        if k % 5 == 0:
            torques = pilot.torques(k * DT, mount, speeds)
        speeds = [step.relative_speed for step in steps]
    assert error_angle(mount.pose.orientation, target_at(8.9)) < 2e-3
    assert norm(mount.rate) < 5e-3


def test_a_demo_that_is_none_is_told_with_those_there_are():
    assert demo('bench') is DEMOS['bench']
    with pytest.raises(ParameterError) as refused:
        demo('x', 'DEMO')
    assert str(refused.value) == (
        "DEMO must be one of tumble, bench, precession, wheels, got 'x'."
    )
