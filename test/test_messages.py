"""Messages in and out, by attribute: what stands in for them here has the fields alone."""

from array import array
from types import SimpleNamespace as Message

from mime_motor_ros import messages
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
import numpy as np
import pytest

SINGLE = np.float32(0.1)


def xyz(*numbers):
    return Message(**dict(zip('xyzw', numbers, strict=False)))


def header(sec=3, nanosec=7, frame='f'):
    return Message(stamp=Message(sec=sec, nanosec=nanosec), frame_id=frame)


def empty():
    """Return what takes the fields of a TransformStamped."""
    return Message(header=header(0, 0, ''), transform=Message(translation=xyz(), rotation=xyz()))


def numbers(message):
    """Return every number in a message."""
    for value in vars(message).values():
        if isinstance(value, Message):
            yield from numbers(value)
        else:
            yield value


# in


def test_a_stamp_is_whole_nanoseconds():
    assert messages.stamp_of(header(1_700_000_000, 123_456_789)) == 1_700_000_000_123_456_789
    assert messages.stamp_of(header(0, 0)) == 0
    assert messages.stamp_of(header(-1, 5)) == -999_999_995
    small = header(np.int32(1_700_000_000), np.uint32(999_999_999))
    assert messages.stamp_of(small) == 1_700_000_000_999_999_999
    assert type(messages.stamp_of(small)) is int


def test_an_imu():
    msg = Message(
        header=header(frame='imu_link'),
        angular_velocity=xyz(1, 2, 3),
        angular_velocity_covariance=[-1.0] + [0.0] * 8,
        orientation=xyz(0, 0, 1, 0),
        orientation_covariance=array('d', [0.5] * 9),
    )
    assert messages.imu(msg) == Imu(
        3_000_000_007, 'imu_link', (1.0, 2.0, 3.0), -1.0, (0.0, 0.0, 1.0, 0.0), 0.5
    )


def test_transforms_moving_and_static():
    one = Message(
        header=header(frame='odom'),
        child_frame_id='base_link',
        transform=Message(translation=xyz(1, 2, 3), rotation=xyz(0, 0, 0, 1)),
    )
    for static in (False, True):
        expected = Transform(
            3_000_000_007, 'odom', 'base_link', (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), static
        )
        assert messages.transforms(Message(transforms=[one, one]), static) == [expected] * 2
    assert messages.transforms(Message(transforms=[]), False) == []


def test_a_twist_gives_its_angular_part():
    msg = Message(header=header(), twist=Message(angular=xyz(1, 2, 3), linear=xyz(9, 9, 9)))
    assert messages.twist(msg) == Twist(3_000_000_007, 'f', (1.0, 2.0, 3.0))


def test_an_odometry():
    msg = Message(
        header=header(frame='odom'),
        child_frame_id='base_link',
        pose=Message(pose=Message(position=xyz(1, 2, 3), orientation=xyz(0, 0, 0, 1))),
        twist=Message(twist=Message(angular=xyz(4, 5, 6), linear=xyz(9, 9, 9))),
    )
    assert messages.odometry(msg) == Odometry(
        3_000_000_007, 'odom', 'base_link', (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), (4.0, 5.0, 6.0)
    )


def test_commands_by_order_and_by_name():
    assert messages.commands(Message(data=array('d', [1, 2]))) == Commands((1.0, 2.0))
    assert messages.commands(Message(data=[])) == Commands(())
    msg = Message(
        header=header(), name=['a', 'b'], effort=array('d', [1, 2]), position=[], velocity=[]
    )
    assert messages.joint_command(msg) == JointCommand(3_000_000_007, ('a', 'b'), (1.0, 2.0))


def test_a_load():
    msg = Message(header=header(), wrench=Message(force=xyz(1, 2, 3), torque=xyz(4, 5, 6)))
    assert messages.load(msg, 'wheel', 'rotor') == Load(
        3_000_000_007, 'wheel', 'rotor', 'f', (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    )


@pytest.mark.parametrize('number', [1, SINGLE, np.float64(0.1), np.int64(3)])
def test_numbers_of_any_kind_come_in_as_floats(number):
    imu = messages.imu(
        Message(
            header=header(),
            angular_velocity=xyz(*[number] * 3),
            angular_velocity_covariance=[number] * 9,
            orientation=xyz(*[number] * 4),
            orientation_covariance=np.full(9, number),
        )
    )
    found = [*imu.angular_velocity, imu.covariance, *imu.orientation, imu.orientation_covariance]
    found += messages.commands(Message(data=[number])).torques
    one = np.full(1, number)
    msg = Message(header=header(), name=['a'], effort=one, velocity=one, position=one)
    command = messages.joint_command(msg)
    found += command.torques + command.velocities + command.positions
    assert {type(x) for x in found} == {float}
    assert set(found) == {float(number)}
