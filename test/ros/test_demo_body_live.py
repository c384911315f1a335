"""The demo body as a node: its parameters, its start, and the loop it closes with a motor node."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from geometry_msgs.msg import Vector3Stamped
from mime_motor_ros.demo_body import DemoBody, POSITION
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.free_body import Body
from mime_motor_ros.vector import about, add, apply, norm, rotate, subtract
import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64, Float64MultiArray
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

CONFIG = Path(__file__).parents[2] / 'config'
BODY = [sys.executable, '-m', 'mime_motor_ros.demo_body']
MOTOR = [sys.executable, '-m', 'mime_motor_ros.main']
STAMP_NS = 1_700_000_000_000_000_000
WHEELS = {
    'motion': 'wheels',
    'motors': ['x', 'y', 'z', 's'],
    'x.axis': [1.0, 0.0, 0.0],
    'y.axis': [0.0, 1.0, 0.0],
    's.axis': [1.0, 1.0, 1.0],
    'rate': 1000,
}


@pytest.fixture
def make(context):
    nodes = []

    def make(**values):
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        nodes.append(
            rclpy.create_node('demo_body', context=context, parameter_overrides=overrides)
        )
        return DemoBody(nodes[-1])

    yield make
    for node in nodes:
        node.destroy_node()


class Ear:
    """Takes what comes on a topic, when asked."""

    def __init__(self, node, kind, topic, qos=1000):
        self.kind = kind
        self.subscription = node.create_subscription(kind, topic, lambda _: None, qos)

    def taken(self):
        messages, handle = [], self.subscription.handle
        with handle:
            while (taken := handle.take_message(self.kind, False)) is not None:
                messages.append(taken[0])
        return messages

    def until(self, good, seconds=30.0):
        """Return the first message that is good."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.taken():
                if good(message):
                    return message
            time.sleep(5e-3)
        raise AssertionError(f'nothing good came on {self.subscription.topic_name}')


@pytest.fixture
def peer(context):
    node = rclpy.create_node('peer', context=context)
    yield node
    node.destroy_node()


def met(*true):
    end = time.monotonic() + 10.0
    while not all(one() for one in true):
        assert time.monotonic() < end
        time.sleep(2e-3)
    time.sleep(0.2)  # a writer sees its readers some time before they see it


def stamped(message, stamp_ns):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    return message


def orientation(tf):
    q = tf.transforms[0].transform.rotation
    return (q.x, q.y, q.z, q.w)


def test_it_stands_until_the_momentum_comes_and_turns_from_there(make, peer):
    body = make(initial_rate=[0.5, 0.0, 0.0], tilt=0.3, weight=0.0)
    tf, commands = Ear(peer, TFMessage, '/tf'), Ear(peer, Float64MultiArray, 'motor/commands')
    momentum = peer.create_publisher(Vector3Stamped, 'motor/momentum', 10)
    met(
        lambda: momentum.get_subscription_count(),
        lambda: body._carrier._tf.get_subscription_count(),
    )
    met(lambda: body._carrier._commands.get_subscription_count())
    for k in range(3):
        body.tick(STAMP_NS + k * 1_000_000)
    first = tf.until(lambda _: True)
    p = first.transforms[0].transform.translation
    assert (p.x, p.y, p.z) == POSITION
    first_turn = about((0.0, 1.0, 0.0), 0.3)
    assert orientation(first) == first_turn
    assert commands.taken() == []

    momentum.publish(stamped(Vector3Stamped(), STAMP_NS))
    end, k = time.monotonic() + 10.0, 3
    while body.mount.state is None:
        assert time.monotonic() < end
        body.tick(STAMP_NS + k * 1_000_000)
        k += 1
        time.sleep(1e-3)
    body.tick(STAMP_NS + (k + 99) * 1_000_000)  # 0.1 s at once
    turned = body.mount.pose.orientation
    assert tf.until(lambda message: orientation(message) == turned)
    assert norm(subtract(turned[:3], first_turn[:3])) == pytest.approx(0.025, rel=0.1)
    assert commands.until(lambda _: True).data[0] == 0.0


def test_it_knows_its_motors_by_the_parameters_of_the_motor_node(make):
    node = make(**WHEELS).node
    assert list(node.get_parameter('motors').value) == ['x', 'y', 'z', 's']
    assert node.get_parameter('z.axis').value[2] == 1.0
    for name in ('motion', 'rate', 'inertia', 'tilt', 'weight', 'initial_rate', 'bandwidth',
                 'slew_rate', 'wheel_torque', 'torque_amplitude', 'motors', 's.axis', 's.inertia',
                 's.damping', 'world_frame', 'mount_frame', 'imu_frame'):  # fmt: skip
        descriptor = node.describe_parameter(name)
        assert descriptor.read_only, name
        assert descriptor.description, name


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'motion': 'fly'}, "motion must be one of precession, wheels, got 'fly'."),
        ({'rate': 0.0}, 'rate must be a number from 1 to 10000 Hz, got 0.0.'),
        (
            {'inertia': [1.0, 0.0, 0.0, 1.0, 0.0, -1.0]},
            'inertia must be six numbers (ixx, ixy, ixz, iyy, iyz, izz) of a positive tensor '
            '[kg m^2], got [1.0, 0.0, 0.0, 1.0, 0.0, -1.0].',
        ),
        ({'initial_rate': [1.0]}, 'initial_rate must be 3 finite numbers, got '),
        ({'motion': 'wheels'}, 'motors must be three or more whose axes do not lie in a plane'),
        ({'wheel.inertia': -1.0}, 'wheel.inertia must be finite and > 0 kg m^2, got -1.0.'),
    ],
)
def test_a_wrong_parameter_is_told_with_its_rule(make, values, text):
    with pytest.raises(ParameterError) as error:
        make(**values)
    assert str(error.value).startswith(text)


@pytest.fixture
def running():
    """Start processes; at the end they are asked to stop and have ended well."""
    processes = []

    def start(*command):
        processes.append(
            subprocess.Popen(
                [str(word) for word in command],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, text=True,
            )
        )  # fmt: skip
        return processes[-1]

    yield start
    for process in processes:
        process.send_signal(signal.SIGINT)
    ended = [(*process.communicate(timeout=10), process.returncode) for process in processes]
    assert all(code == 0 and 'Traceback' not in err for _, err, code in ended), ended


def test_with_a_motor_node_it_nutates_and_its_momentum_stays(running, peer):
    """The weight is off: then the momentum in the world is that of the start."""
    file = ['--ros-args', '--params-file', CONFIG / 'precession.yaml']
    running(*MOTOR, *file)
    values = {'weight': 0.0, 'tilt': 0.0, 'torque_amplitude': 0.01}
    running(*BODY, *file, *(x for n, v in values.items() for x in ('-p', f'{n}:={v}')))
    tf, imu = Ear(peer, TFMessage, '/tf'), Ear(peer, Imu, 'imu/data', qos_profile_sensor_data)
    momentum = Ear(peer, Vector3Stamped, 'motor/momentum')
    body = Body((0.01, 0.0, 0.0, 0.01, 0.0, 0.006))
    rates, errors, H, q, pose = [], [], None, None, {}
    end = time.monotonic() + 40.0
    while len(errors) < 2000:
        assert time.monotonic() < end
        for message in tf.taken():
            if message.transforms[0].child_frame_id == 'base_link':
                header = message.transforms[0].header.stamp
                pose[header.sec, header.nanosec] = orientation(message)
        for message in momentum.taken():
            H = (message.vector.x, message.vector.y, message.vector.z)
        for message in imu.taken():
            q = pose.get((message.header.stamp.sec, message.header.stamp.nanosec))
            w = message.angular_velocity
            rate = (w.y, w.x, -w.z)
            if H is None or q is None or norm(rate) == 0.0:
                continue
            L = rotate(q, add(apply(body.tensor, rate), H))
            errors.append(norm(subtract(L, (0.006, 0.0, 0.05))))
            rates.append(rate)
        time.sleep(1e-3)
    # Between the messages of both up to some ms, in which the torque acts.
    assert max(errors) < 0.01 * 0.1
    assert all(0.5 < norm(rate[:2]) < 0.7 for rate in rates)
    assert min(rate[0] for rate in rates) < -0.4  # it has gone round


def test_with_four_wheels_it_turns_to_its_target(running, peer):
    error = Ear(peer, Float64, 'demo_body/pointing_error')
    joints = Ear(peer, JointState, 'joint_states')
    file = ['--ros-args', '--params-file', CONFIG / 'wheels.yaml']
    quick = {'motion': 'wheels', 'bandwidth': 5.0, 'slew_rate': 1.0, 'wheel_torque': 0.1}
    running(*MOTOR, *file)
    running(*BODY, *file, *(x for n, v in quick.items() for x in ('-p', f'{n}:={v}')))
    assert error.until(lambda m: m.data > 0.1)
    assert error.until(lambda m: m.data < 0.01)
    assert max(map(abs, joints.until(lambda m: len(m.velocity) == 4).velocity)) < 628.0


def test_it_yields_its_torques_to_somebody_else(make, peer):
    body = make()
    heard = Ear(peer, Float64MultiArray, 'motor/commands')
    met(lambda: body._carrier._commands.get_subscription_count())
    body._carrier.command([0.5])
    assert heard.until(lambda m: list(m.data) == [0.5])
    peer.create_publisher(Float64MultiArray, 'motor/commands', 10)
    met(lambda: body._carrier.yields)
    body._carrier.command([0.5])
    time.sleep(0.2)
    assert heard.taken() == []


def test_a_wrong_parameter_ends_the_process_with_one_line():
    ended = subprocess.run(
        [*BODY, '--ros-args', '-p', 'tilt:=round'], capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 1
    assert ended.stderr == 'demo_body: tilt must be a number from -3.2 to 3.2 rad, got round.\n'
