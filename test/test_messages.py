"""Messages in and out, by attribute: what stands in for them here has the fields alone."""

from array import array
import struct
from types import SimpleNamespace as Message

from mime_motor_ros import messages
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from mime_motor_ros.model import MotorState, Pose, Step, Wrench
from mime_motor_ros.session import Outcome
from mime_motor_ros.settings import settings
from mime_motor_ros.timeline import NANOSECONDS
import numpy as np
import pytest
from sessions import START, still

SINGLE = np.float32(0.1)


def xyz(*numbers):
    return Message(**dict(zip('xyzw', numbers, strict=False)))


def header(sec=3, nanosec=7, frame='f'):
    return Message(stamp=Message(sec=sec, nanosec=nanosec), frame_id=frame)


def empty():
    """Return a message that takes any field of the outgoing ones."""
    return Message(
        header=header(0, 0, ''),
        wrench=Message(force=xyz(), torque=xyz()),
        vector=xyz(),
        twist=Message(angular=xyz(), linear=xyz(0.0, 0.0, 0.0)),
        inertia=Message(m=0.0),
        transform=Message(translation=xyz(), rotation=xyz()),
    )


def numbers(message):
    """Return every number in a message but those of its header."""
    for name, value in vars(message).items():
        if name == 'header' or isinstance(value, str):
            continue
        if isinstance(value, Message):
            yield from numbers(value)
        else:
            yield value


def outcome(number):
    """Return an outcome of one motor in which every number is of another type than float."""
    v, q = (number,) * 3, (number, number, number, number)
    rows = (v, v, v)
    step = Step(
        MotorState(number, number),
        number,
        Wrench(v, v),
        v,
        rows,
        rows,
        Pose(v, q),
        Pose(v, q),
        v,
        v,
        v,
        Wrench(v, v),
        number,
        number,
    )
    return Outcome(0, 5 * NANOSECONDS + 6, number, Pose(v, q), v, (number,), (step,))


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
    msg = Message(header=header(), name=['a', 'b'], effort=array('d', [1, 2]), position=[])
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
    msg = Message(header=header(), name=['a'], effort=np.full(1, number))
    found += messages.joint_command(msg).torques
    assert {type(x) for x in found} == {float}
    assert set(found) == {float(number)}


# out


def test_a_wrench_goes_out_with_the_stamp_and_frame_it_is_given():
    msg = empty()
    wrench = Wrench((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    messages.put_wrench(msg, 5 * NANOSECONDS + 6, 'base_link', wrench)
    assert msg.header == header(5, 6, 'base_link')
    assert msg.wrench == Message(force=xyz(1.0, 2.0, 3.0), torque=xyz(4.0, 5.0, 6.0))


def test_an_inertia_has_its_six_elements_by_row_and_no_mass():
    msg = empty()
    rows = ((1.0, 2.0, 3.0), (2.0, 4.0, 5.0), (3.0, 5.0, 6.0))
    messages.put_inertia(msg, 1, 'f', rows)
    assert msg.inertia == Message(m=0.0, ixx=1.0, ixy=2.0, ixz=3.0, iyy=4.0, iyz=5.0, izz=6.0)


def test_the_angular_part_of_a_twist_alone_is_filled():
    msg = empty()
    messages.put_angular(msg, 1, 'f', (1.0, 2.0, 3.0))
    assert msg.twist == Message(angular=xyz(1.0, 2.0, 3.0), linear=xyz(0.0, 0.0, 0.0))


def test_joint_states_have_all_three_lists_in_the_order_of_the_names():
    session = still(motors=['a', 'b'], **{'b.initial_spin': 4.0})
    session.advance_to(START)
    (made,) = session.advance_to(START + 10_000_000)
    msg = empty()
    messages.put_joints(msg, made, ['a_joint', 'b_joint'])
    assert msg.header == header(1000, 10_000_000, '')
    assert msg.name == ['a_joint', 'b_joint']
    assert list(msg.position) == [step.state.angle for step in made.steps]
    assert list(msg.velocity) == [step.relative_speed for step in made.steps]
    assert list(msg.effort) == [0.0, 0.0]
    assert msg.position[1] > 0.03


def test_a_rotor_goes_out_as_a_turn_about_its_axis_in_its_stator():
    chosen = settings({'wheel.axis': [0, 1, 0], 'wheel.initial_angle': 3.0})
    (motor,) = chosen.motors
    session = still(**{'wheel.axis': [0, 1, 0], 'wheel.initial_angle': 3.0})
    session.advance_to(START)
    (made,) = session.advance_to(START + 10_000_000)
    msg = empty()
    messages.put_rotor(msg, made, 0, motor)
    assert (msg.header.frame_id, msg.child_frame_id) == ('wheel_stator', 'wheel_rotor')
    assert msg.transform.translation == xyz(0.0, 0.0, 0.0)
    turn = msg.transform.rotation
    assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((0, np.sin(1.5), 0, np.cos(1.5)))


FILLS = {
    'wrench': lambda m, o: messages.put_wrench(m, o.stamp_ns, 'f', o.steps[0].reaction),
    'vector': lambda m, o: messages.put_vector(m, o.stamp_ns, 'f', o.steps[0].momentum),
    'angular': lambda m, o: messages.put_angular(m, o.stamp_ns, 'f', o.rate),
    'inertia': lambda m, o: messages.put_inertia(m, o.stamp_ns, 'f', o.steps[0].asymmetry_now),
    'transform': lambda m, o: messages.put_transform(m, o.stamp_ns, 'f', 'c', o.steps[0].stator),
    'number': lambda m, o: messages.put_number(m, o.steps[0].state.spin),
    'joints': lambda m, o: messages.put_joints(m, o, ['j']),
}


@pytest.mark.parametrize('fill', FILLS.values(), ids=FILLS)
@pytest.mark.parametrize('number', [3, SINGLE, np.float64(0.1), np.int32(-2)])
def test_T57_every_number_goes_out_as_a_float_to_the_bit(fill, number):
    msg = Message() if fill is FILLS['number'] else empty()
    fill(msg, outcome(number))
    found = []
    for value in numbers(msg):
        if isinstance(value, array):
            assert value.typecode == 'd'
            found += value
        elif not isinstance(value, list):
            found.append(value)
    assert float(number) in found
    assert {type(x) for x in found} == {float}
    expected = {struct.pack('d', float(number)), struct.pack('d', 0.0)}
    assert {struct.pack('d', x) for x in found} <= expected
    if hasattr(msg, 'header'):
        assert type(msg.header.stamp.sec) is int
        assert type(msg.header.stamp.nanosec) is int
        assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (5, 6)


def test_a_message_may_be_filled_again_and_again():
    msg = empty()
    messages.put_vector(msg, 1, 'a', (1.0, 2.0, 3.0))
    messages.put_vector(msg, 2 * NANOSECONDS, 'b', (4.0, 5.0, 6.0))
    assert msg.header == header(2, 0, 'b')
    assert msg.vector == xyz(4.0, 5.0, 6.0)
