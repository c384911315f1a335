import os
import signal
import subprocess
import sys
import time

from mime_motor_ros.demo_mount import (
    bench,
    DemoMount,
    gyro,
    IMU_ON_MOUNT,
    PATIENCE,
    torques,
    tumble,
)
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.model import Pose
import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.ros

STAMP_NS = 1_700_000_000_123_456_789
KEPT = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
COMMAND = [sys.executable, '-m', 'mime_motor_ros.demo_mount']


@pytest.fixture
def make(context):
    nodes = []

    def make(**values):
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        nodes.append(
            rclpy.create_node('demo_mount', context=context, parameter_overrides=overrides)
        )
        return DemoMount(nodes[-1])

    yield make
    for node in nodes:
        node.destroy_node()


@pytest.fixture
def listen(context):
    """Subscribe; what has come is asked for by calling what is returned."""
    node = rclpy.create_node('listener', context=context)

    def listen(kind, topic, qos=10):
        subscription = node.create_subscription(kind, topic, lambda _: None, qos)

        def newest(seconds=5.0):
            message, end = None, time.monotonic() + seconds
            handle = subscription.handle
            while time.monotonic() < end:
                with handle:
                    while (taken := handle.take_message(kind, False)) is not None:
                        message = taken[0]
                if message is not None:
                    return message
                time.sleep(1e-3)
            raise AssertionError(f'nothing came on {topic}')

        return newest

    yield listen
    node.destroy_node()


def pose_of(transform):
    p, q = transform.translation, transform.rotation
    return Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def test_every_message_carries_the_bits_of_the_motion(make, listen):
    mount = make(motors=2, torque_amplitude=0.02)
    newest = [
        listen(TFMessage, '/tf'),
        listen(Imu, 'imu/data', qos_profile_sensor_data),
        listen(Float64MultiArray, 'motor/commands'),
    ]
    wait_for_readers(mount, 3)
    mount.publish(STAMP_NS, 7.25)
    tf, imu, command = (message() for message in newest)
    pose, rate = tumble(7.25)

    (transform,) = tf.transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ('odom', 'base_link')
    assert pose_of(transform.transform) == pose
    for header in (transform.header, imu.header):
        assert header.stamp.sec * 10**9 + header.stamp.nanosec == STAMP_NS
    assert imu.header.frame_id == 'imu_link'
    w = imu.angular_velocity
    assert (w.x, w.y, w.z) == gyro(rate)
    assert list(command.data) == torques(7.25, 2, 0.02)


def test_the_bench_is_another_motion_of_the_same_mount(make, listen):
    mount = make(motion='bench')
    newest = listen(TFMessage, '/tf')
    wait_for_readers(mount)
    mount.publish(STAMP_NS, 7.25)
    (transform,) = newest().transforms
    assert pose_of(transform.transform) == bench(7.25)[0]


def test_it_yields_its_torques_to_somebody_else_and_takes_them_back(make, context, ear):
    mount = make()
    heard = ear(Float64MultiArray, 'motor/commands', 10)
    wait_for_readers(mount)
    other = rclpy.create_node('other', context=context)

    def until(yields):
        end = time.monotonic() + 10.0
        while mount._carrier.yields is not yields:
            assert time.monotonic() < end
            time.sleep(0.02)
        heard.taken()
        mount.publish(STAMP_NS, 3.0)

    until(False)
    assert list(heard.first(5.0).data) == torques(3.0, 1, 5e-3)
    slider = other.create_publisher(Float64MultiArray, 'motor/commands', 10)
    until(True)
    time.sleep(0.2)
    assert heard.taken() == []
    other.destroy_publisher(slider)
    until(False)
    assert list(heard.first(5.0).data) == torques(3.0, 1, 5e-3)
    other.destroy_node()


def test_what_the_imu_does_not_measure_is_said_as_rep_145_says_it(make, listen):
    mount = make()
    newest = listen(Imu, 'imu/data', qos_profile_sensor_data)
    wait_for_readers(mount)
    mount.publish(STAMP_NS, 0.0)
    imu = newest()
    assert imu.orientation_covariance[0] == -1.0
    assert imu.linear_acceleration_covariance[0] == -1.0
    assert list(imu.angular_velocity_covariance) == [0.0] * 9


def test_the_place_of_the_imu_is_there_for_those_who_come_late(make, listen):
    make(mount_frame='/plate', imu_frame='gyro')
    (transform,) = listen(TFMessage, '/tf_static', KEPT)().transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ('plate', 'gyro')
    assert pose_of(transform.transform) == IMU_ON_MOUNT


def test_an_int_serves_for_a_rate(make):
    assert make(rate=250).period_ns == 4_000_000


def test_the_parameters_are_described_and_cannot_change(make):
    node = make().node
    frames = ('world_frame', 'mount_frame', 'imu_frame')
    for name in ('motion', 'rate', 'motors', 'torque_amplitude', *frames):
        descriptor = node.describe_parameter(name)
        assert descriptor.read_only
        assert descriptor.description
    assert node.describe_parameter('rate').description == (
        'messages of each kind a second [Hz], 0.1 to 10000'
    )


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'rate': 0.0}, 'rate must be a number from 0.1 to 10000 Hz, got 0.0.'),
        ({'rate': float('nan')}, 'rate must be a number from 0.1 to 10000 Hz, got nan.'),
        ({'rate': 'fast'}, 'rate must be a number from 0.1 to 10000 Hz, got fast.'),
        ({'rate': True}, 'rate must be a number from 0.1 to 10000 Hz, got True.'),
        ({'motors': 1.5}, 'motors must be a whole number from 0 to 100, got 1.5.'),
        (
            {'torque_amplitude': float('inf')},
            'torque_amplitude must be a number from -1000 to 1000 N m, got inf.',
        ),
        ({'motion': 'fly'}, "motion must be one of tumble, bench, got 'fly'."),
        ({'imu_frame': '/'}, "imu_frame must be the name of a frame, got '/'."),
        (
            {'world_frame': 'base_link'},
            'world_frame, mount_frame, imu_frame must be three different frames, '
            'got base_link, base_link, imu_link.',
        ),
    ],
)
def test_a_wrong_parameter_is_told_with_its_rule(make, values, text):
    with pytest.raises(ParameterError) as error:
        make(**values)
    assert str(error.value) == text


def test_a_wrong_parameter_ends_the_process_with_one_line():
    ended = subprocess.run(
        [*COMMAND, '--ros-args', '-p', 'rate:=-1'], capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 1
    assert ended.stderr == 'demo_mount: rate must be a number from 0.1 to 10000 Hz, got -1.\n'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('times', [1, 2])
def test_the_process_ends_cleanly_when_asked_once_or_twice(listen, number, times):
    newest = listen(Imu, 'imu/data', qos_profile_sensor_data)
    process = subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, text=True
    )
    try:
        newest(30.0)
        for _ in range(times):
            process.send_signal(number)
        out, err = process.communicate(timeout=5)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (0, '', '')


class Ear:
    """Takes what comes on a topic, when asked."""

    def __init__(self, node, kind, topic, qos):
        self.subscription = node.create_subscription(kind, topic, lambda _: None, qos)

    def taken(self):
        messages, handle = [], self.subscription.handle
        with handle:
            while (taken := handle.take_message(self.subscription.msg_type, False)) is not None:
                messages.append(taken[0])
        return messages

    def first(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if messages := self.taken():
                return messages[0]
            time.sleep(5e-3)
        raise AssertionError(f'nothing came on {self.subscription.topic_name}')


@pytest.fixture
def ear(context):
    node = rclpy.create_node('ear', context=context)
    yield lambda *what: Ear(node, *what)
    node.destroy_node()


@pytest.fixture
def alone():
    """A demo mount as a process, which nobody has looked for yet."""
    process = subprocess.Popen(COMMAND, env=os.environ)
    yield process
    process.terminate()
    assert process.wait(5.0) == 0


def test_the_motion_begins_at_its_start_when_somebody_reads_the_imu(ear, alone):
    tf = ear(TFMessage, '/tf', 1000)
    commands = ear(Float64MultiArray, 'motor/commands', 1000)
    end = time.monotonic() + 30.0
    while not tf.subscription.get_publisher_count():
        assert time.monotonic() < end
        time.sleep(5e-3)
    time.sleep(1.0)
    assert tf.taken() == commands.taken() == []
    ear(Imu, 'imu/data', qos_profile_sensor_data)
    (transform,) = tf.first(4.0).transforms  # less than it waits for nobody
    assert pose_of(transform.transform) == tumble(0.0)[0]
    assert list(commands.first(1.0).data) == [0.0]


def test_the_motion_begins_after_a_while_when_nobody_does(ear, alone):
    began = time.monotonic()
    (transform,) = ear(TFMessage, '/tf', 1000).first(30.0).transforms
    assert time.monotonic() - began > PATIENCE
    assert pose_of(transform.transform) == tumble(0.0)[0]


def wait_for_readers(mount, count=1):
    """Wait until so many of the publishers have a reader."""
    publishers, end = (
        (mount._carrier._tf, mount._carrier._imu, mount._carrier._commands),
        time.monotonic() + 10.0,
    )
    while sum(publisher.get_subscription_count() for publisher in publishers) < count:
        assert time.monotonic() < end
        time.sleep(1e-3)
    time.sleep(0.2)  # a writer sees its readers some time before they see it
