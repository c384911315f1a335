"""The bytes made without ROS are those ROS makes of the message objects."""

from itertools import product
from math import nan
import struct

import filled
from geometry_msgs.msg import (
    InertiaStamped,
    TransformStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
from mime_motor_ros import messages, wire
from mime_motor_ros.drive import DriveState
from mime_motor_ros.model import MotorState, Pose, Step, Wrench
from mime_motor_ros.node import serialized
from mime_motor_ros.session import Outcome
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64, Header
from tf2_msgs.msg import TFMessage

STAMP = 1_700_000_000_123_456_789
SECONDS = divmod(STAMP, 1_000_000_000)
WRENCH = Wrench((1.0, -2.5, 3e-300), (-0.0, 5e300, 6.25))
TENSOR = ((1.0, 2.0, 3.0), (2.0, 4.0, 5.0), (3.0, 5.0, 6.0))
VECTOR = (0.1, -0.2, 0.3)
FRAMES = ['', 'b', 'base_link', 'rämen/base', 'a' * 255]  # every alignment, and not only ASCII


def assert_same(data, message):
    """Compare what is read back, to the sign of zero; gaps between numbers are arbitrary."""
    assert len(data) == len(serialize_message(message))
    assert repr(deserialize_message(data, type(message))) == repr(message)


def outcome(motors):
    steps = [
        Step(
            MotorState(0.5 + i, 9.0),
            8.0 - i,
            WRENCH,
            VECTOR,
            TENSOR,
            TENSOR,
            Pose(),
            Pose(),
            VECTOR,
            VECTOR,
            VECTOR,
            WRENCH,
            0.0,
            0.0,
            0.1 * i,
            0.0,
            9.0,
        )
        for i in range(motors)
    ]
    nothing = (None,) * motors
    drives = (DriveState(),) * motors
    return Outcome(STAMP - 1, STAMP, 1e-3, Pose(), VECTOR, tuple(steps), drives, nothing)


@pytest.mark.parametrize('counts', [x for x in product((0, 1, 3), repeat=3) if any(x)])
def test_lists_that_may_be_empty_are_what_ros_makes_of_them(counts):
    fields = ('position', 'velocity', 'effort')
    lists = [[0.5 + 10 * i + k for k in range(n)] for i, n in enumerate(counts)]
    still = {name: [wire.MARK] * n for name, n in zip(fields, counts, strict=True)}
    example = serialized('sensor_msgs/msg/JointState', {'name': ['wheel_joint'], **still})
    template = wire.Template(example, wire.lists_form(counts), True)
    data = template.filled(SECONDS, messages.list_numbers(lists))
    message = JointState(name=['wheel_joint'], **dict(zip(fields, lists, strict=True)))
    message.header.stamp.sec, message.header.stamp.nanosec = SECONDS
    assert repr(deserialize_message(data, JointState)) == repr(message)


@pytest.mark.parametrize('frames', [[('a', 'b')], [('b', 'rämen'), ('x' * 255, 'ab'), ('', '')]])
@pytest.mark.parametrize('number', [3, np.float32(0.1), np.float64(-0.0), np.int32(-2)])
def test_T57_every_number_of_a_pose_goes_out_as_a_double_to_the_bit(frames, number):
    pose = Pose((number, 2.0, -0.0), (0.1, number, 0.3, 0.9))
    transforms = [{'header': {'frame_id': a}, 'child_frame_id': b} for a, b in frames]
    template = wire.TransformsTemplate(
        serialized('tf2_msgs/msg/TFMessage', {'transforms': transforms})
    )
    data = template.filled(SECONDS, [pose] * len(frames))
    found = wire.transforms(data, False)
    position, orientation = (tuple(map(float, part)) for part in pose)
    assert repr(found) == repr(
        [wire.Transform(STAMP, a, b, position, orientation) for a, b in frames]
    )
    assert len(deserialize_message(data, TFMessage).transforms) == len(frames)


@pytest.mark.parametrize('frame', FRAMES)
@pytest.mark.parametrize(
    ('kind', 'form', 'numbers', 'put', 'value'),
    [
        (WrenchStamped, '6d', messages.wrench_numbers, filled.wrench, WRENCH),
        (Vector3Stamped, '3d', tuple, filled.vector, VECTOR),
        (TwistStamped, '3d', tuple, filled.angular, VECTOR),
        (InertiaStamped, '6d', messages.inertia_numbers, filled.inertia, TENSOR),
    ],
)
def test_a_filled_template_is_what_ros_makes_of_the_object(frame, kind, form, numbers, put, value):
    template = wire.Template(serialize_message(kind(header=Header(frame_id=frame))), form, True)
    message = kind()
    put(message, STAMP, frame, value)
    assert_same(template.filled(SECONDS, numbers(value)), message)


@pytest.mark.parametrize('number', [3, np.float32(0.1), np.float64(0.1), np.int32(-2)])
def test_T57_every_kind_of_number_goes_out_as_a_double_to_the_bit(number):
    template = wire.Template(serialize_message(WrenchStamped()), '6d', True)
    message = deserialize_message(template.filled(SECONDS, (number,) * 6), WrenchStamped)
    for part in (message.wrench.force, message.wrench.torque):
        assert (part.x, part.y, part.z) == (float(number),) * 3


@pytest.mark.parametrize('motors', [1, 2, 5])
def test_so_are_joint_states(motors):
    names = [f'{"wheel" * (i + 1)}_joint' for i in range(motors)]
    still = [wire.MARK] * motors
    example = JointState(name=names, position=still, velocity=still, effort=still)
    template = wire.Template(serialize_message(example), wire.lists_form((motors,) * 3), True)
    message = JointState()
    filled.joints(message, outcome(motors), names)
    assert_same(template.filled(SECONDS, messages.joint_numbers(outcome(motors))), message)


def test_so_is_a_number_without_a_header():
    template = wire.Template(serialize_message(Float64()), 'd', False)
    assert_same(template.filled(SECONDS, (2.5,)), Float64(data=2.5))


def imu(frame):
    message = Imu(header=Header(frame_id=frame))
    message.header.stamp.sec, message.header.stamp.nanosec = SECONDS
    for field, values in (
        (message.orientation, (0.1, 0.2, 0.3, 0.9)),
        (message.angular_velocity, (nan, -5.0, 6.0)),
        (message.linear_acceleration, (7.0, 8.0, 9.0)),
    ):
        for name, value in zip('xyzw', values, strict=False):
            setattr(field, name, value)
    message.orientation_covariance[:] = range(9)
    message.orientation_covariance[0] = -1.0
    message.angular_velocity_covariance[:] = range(10, 19)
    return message


@pytest.mark.parametrize('frame', FRAMES)
def test_an_imu_read_from_bytes_is_the_one_read_from_the_object(frame):
    message = imu(frame)
    assert repr(wire.imu(serialize_message(message))) == repr(messages.imu(message))


def test_an_imu_of_another_byte_order_is_read_too():
    little = serialize_message(imu('imu_link'))
    seconds, nanoseconds, length = struct.unpack_from('<iII', little, 4)
    numbers = struct.unpack_from('<37d', little, 28)
    big = b'\0\0\0\0' + struct.pack('>iII', seconds, nanoseconds, length) + little[16:28]
    big += struct.pack('>37d', *numbers)
    assert repr(wire.imu(big)) == repr(wire.imu(little))


def tf_message(frames):
    """Return transforms between frames of all lengths, so that every alignment comes."""
    message = TFMessage()
    for i, (parent, child) in enumerate(frames):
        transform = TransformStamped(header=Header(frame_id=parent), child_frame_id=child)
        transform.header.stamp.sec, transform.header.stamp.nanosec = SECONDS[0] + i, SECONDS[1]
        t, r = transform.transform.translation, transform.transform.rotation
        t.x, t.y, t.z = 1.0 + i, -0.0, nan
        r.x, r.y, r.z, r.w = 0.1, -0.2, 0.3, 1e300
        message.transforms.append(transform)
    return message


NAMES = ['', 'a', 'ab', 'abc', 'abcd', 'rämen', 'x' * 255]
TREES = [[], *([pair] for pair in product(NAMES, NAMES)), list(product(NAMES, NAMES))]


@pytest.mark.parametrize('frames', TREES)
@pytest.mark.parametrize('static', [False, True])
def test_transforms_read_from_bytes_are_those_read_from_the_object(frames, static):
    message = tf_message(frames)
    found = wire.transforms(serialize_message(message), static)
    assert repr(found) == repr(messages.transforms(message, static))


@pytest.mark.parametrize('end', range(0, 200, 7))
def test_transforms_that_are_cut_off_are_refused_with_an_error_the_loop_expects(end):
    data = serialize_message(tf_message([('base_link', 'imu_link'), ('odom', 'base_link')]))
    assert end < len(data)
    with pytest.raises((struct.error, ValueError)):
        wire.transforms(data[:end], False)


def test_a_count_or_a_length_beyond_the_message_is_refused():
    data = serialize_message(tf_message([('base_link', 'imu_link')]))
    for at in (4, 16, 32):
        spoiled = data[:at] + b'\xff\xff\xff\x7f' + data[at + 4 :]
        with pytest.raises((struct.error, ValueError)):
            wire.transforms(spoiled, False)


@pytest.mark.parametrize(
    'spoil',
    [
        lambda data: b'',
        lambda data: data[:3],
        lambda data: data[:17],
        lambda data: data[:100],
        lambda data: b'\0\x09' + data[2:],
        lambda data: data[:12] + b'\xff\xff\xff\xff' + data[16:],
        lambda data: data[:16] + b'\xff\xfe' + data[18:],
    ],
)
def test_what_is_no_imu_is_refused_with_an_error_the_loop_expects(spoil):
    with pytest.raises((struct.error, ValueError)):
        wire.imu(spoil(serialize_message(imu('imu_link'))))
