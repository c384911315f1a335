"""A program that speaks RTPS without ROS drives the node and reads it: the wire is standard."""

import os
from pathlib import Path
import subprocess
import sys
import time

import pytest

rosless = pytest.importorskip('rosless', reason='needs the package rosless')

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from mime_motor_ros.model import (  # noqa: E402
    advance,
    MotorParameters,
    MotorState,
    Pose,
    StepInputs,
)
import rclpy  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # s; for machines that are busy with something else
PERIOD = 10_000_000  # ns between two samples of the IMU
SAMPLES = 100
TORQUE = 0.0125
TOPICS = {'/motor/mount_wrench': WrenchStamped, '/joint_states': JointState, '/tf': TFMessage}
TYPES = {
    WrenchStamped: 'geometry_msgs/msg/WrenchStamped',
    JointState: 'sensor_msgs/msg/JointState',
    TFMessage: 'tf2_msgs/msg/TFMessage',
}
VALUES = {
    'step_on': 'imu',
    'world_frame': 'base_link',  # the mount stays where it is, its rate comes from the IMU
    'command_timeout': 0.0,
    'rate_timeout': 0.5,
    'tf_rate': 0.0,
    'wheel.inertia': 2e-4,
    'wheel.damping': 1e-3,
    'wheel.initial_spin': 50.0,
    'wheel.asymmetry': '[4.0e-5, 1.0e-5, 0.0, -4.0e-5, 0.0, 0.0]',
    'wheel.placement.xyz': '[0.1, 0.0, 0.0]',
}


def rate(k):
    """Return a rate for sample k whose numbers have all their 53 bits."""
    return 0.1 + 1e-3 * k / 7.0, -0.2 + 1e-3 * k / 3.0, 0.3 - 1e-3 * k / 11.0


def plain(value):
    """Return a message of either client as nested dicts and lists of numbers."""
    if hasattr(value, 'to_dict'):
        value = value.to_dict()
    elif hasattr(value, 'get_fields_and_field_types'):
        value = {name: getattr(value, name) for name in value.get_fields_and_field_types()}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if hasattr(value, '__len__') and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def stamp(message):
    header = (message['transforms'][0] if 'transforms' in message else message)['header']
    return header['stamp']['sec'] * 10**9 + header['stamp']['nanosec']


class Foreigner:
    """The client without ROS: it publishes the IMU and the torques, and hears what comes."""

    def __init__(self, domain):
        node = rosless.Node(domain)
        self.imu = node.advertise('/imu/data', 'sensor_msgs/msg/Imu')
        self.commands = node.advertise('/motor/commands', 'std_msgs/msg/Float64MultiArray')
        deep = {'reliability': 'reliable', 'depth': 1000}
        self.ears = {
            topic: node.subscribe(topic, TYPES[kind], **deep) for topic, kind in TOPICS.items()
        }
        self.heard = {topic: {} for topic in TOPICS}
        self.node = node

    def send(self, stamp_ns, rate):
        at = {'sec': stamp_ns // 10**9, 'nanosec': stamp_ns % 10**9}
        self.imu.send(
            {
                'header': {'stamp': at, 'frame_id': 'base_link'},
                'angular_velocity': dict(zip('xyz', rate, strict=True)),
            }
        )

    def hear(self):
        for topic, ear in self.ears.items():
            while (message := ear.read(0.0)) is not None:
                message = plain(message)
                self.heard[topic][stamp(message)] = message

    def statics(self):
        latched = {'reliability': 'reliable', 'durability': 'transient_local'}
        with self.node.subscribe('/tf_static', TYPES[TFMessage], **latched) as ear:
            return plain(ear.read(PATIENCE))


class Native:
    """The same ears in rclpy."""

    def __init__(self, context):
        self.node = rclpy.create_node('listener', context=context)
        self.heard = {topic: {} for topic in TOPICS}
        for topic, kind in TOPICS.items():
            self.node.create_subscription(
                kind, topic, lambda m, topic=topic: self._keep(topic, plain(m)), 1000
            )
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def _keep(self, topic, message):
        self.heard[topic][stamp(message)] = message

    def hear(self):
        for _ in range(50):
            self._executor.spin_once(timeout_sec=0.0)


@pytest.fixture
def motor():
    command = [sys.executable, '-m', 'mime_motor_ros.main', '--ros-args']
    for name, value in VALUES.items():
        command += ['-p', f'{name}:={value}']
    for topic in TOPICS:
        if topic != '/tf':  # a burst of steps must not overwrite what is on its way
            command += ['-p', f'qos_overrides.{topic}.publisher.depth:=1000']
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def native(context):
    native = Native(context)
    yield native
    native.node.destroy_node()


def test_a_client_without_ros_drives_the_node_and_reads_the_same_numbers(motor, native):
    foreign = Foreigner(int(os.environ['ROS_DOMAIN_ID']))
    end = time.monotonic() + PATIENCE
    next_ns = time.time_ns() // PERIOD * PERIOD
    first = None
    sent = {}

    def sample(k):
        nonlocal next_ns
        next_ns += PERIOD
        time.sleep(max(0.0, (next_ns - time.time_ns()) * 1e-9))
        foreign.send(next_ns, rate(k))
        sent[next_ns] = rate(k)
        foreign.hear()
        native.hear()

    def hear_all(since):
        return all(
            heard and max(heard) >= since
            for client in (foreign, native)
            for heard in client.heard.values()
        )

    # Until everybody has found everybody and the torque acts; then the samples that count.
    while first is None:
        assert time.monotonic() < end, [
            {t: len(h) for t, h in c.heard.items()} for c in (foreign, native)
        ]
        if foreign.commands.subscriber_count:
            foreign.commands.send({'data': [TORQUE]})
        sample(0)
        joints = native.heard['/joint_states']
        if hear_all(1) and joints[max(joints)]['effort'] == [TORQUE]:
            first = next_ns + PERIOD
    for k in range(SAMPLES):
        sample(k)
    last = next_ns
    while not hear_all(last):
        assert time.monotonic() < end + PATIENCE
        foreign.hear()
        native.hear()
        time.sleep(0.01)

    stamps = [at for at in sent if first <= at <= last]
    for topic in TOPICS:
        for client in (foreign, native):
            assert [at for at in sorted(client.heard[topic]) if first <= at <= last] == stamps
        for at in stamps:
            assert foreign.heard[topic][at] == native.heard[topic][at], topic

    # What was sent is what the node has computed with.
    wheel = MotorParameters(
        2e-4, 1e-3, asymmetry=(4e-5, 1e-5, 0.0, -4e-5, 0.0, 0.0), placement=Pose((0.1, 0.0, 0.0))
    )
    for before, at in zip(stamps, stamps[1:], strict=False):
        joint = foreign.heard['/joint_states'][before]
        state = MotorState(joint['position'][0], joint['velocity'][0] + sent[before][2])
        step = advance(
            wheel, state, StepInputs(mount_angular_velocity=sent[at], torque=TORQUE), PERIOD * 1e-9
        )
        now = foreign.heard['/joint_states'][at]
        assert now['name'] == ['wheel_joint']
        assert now['effort'] == [TORQUE]
        assert now['position'] == pytest.approx([step.state.angle], rel=1e-13)
        assert now['velocity'] == pytest.approx([step.relative_speed], rel=1e-12)
        wrench = foreign.heard['/motor/mount_wrench'][at]
        assert wrench['header']['frame_id'] == 'base_link'
        torque = wrench['wrench']['torque']
        assert [torque[x] for x in 'xyz'] == pytest.approx(step.mount_wrench.torque, rel=1e-9)
        (rotor,) = foreign.heard['/tf'][at]['transforms']
        assert (rotor['header']['frame_id'], rotor['child_frame_id']) == (
            'wheel_stator',
            'wheel_rotor',
        )
    (stator,) = foreign.statics()['transforms']
    assert (stator['header']['frame_id'], stator['child_frame_id']) == (
        'base_link',
        'wheel_stator',
    )
    assert stator['transform']['translation'] == {'x': 0.1, 'y': 0.0, 'z': 0.0}

    motor.terminate()
    _, said = motor.communicate(timeout=PATIENCE)
    assert motor.returncode == 0
    assert all('no steps' in line for line in said.splitlines()), said
