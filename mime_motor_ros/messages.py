"""
ROS messages to session inputs and session outcomes into ROS messages, by attribute only.

Nothing of ROS is imported, so what rclpy hands over and what a reader of recorded files hands
over go through the same lines. No arithmetic here but seconds to nanoseconds. Every number put
into a message object goes through ``float``: an int or a numpy.float32 in a float field is sent
as garbage. The numbers for ``wire`` need no such care: ``struct`` converts or raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from .model import Pose, Wrench
from .sensing import Measured
from .session import Outcome
from .settings import MotorSettings
from .timeline import NANOSECONDS
from .vector import Quaternion, Vector

# in


def stamp_of(header: Any) -> int:
    """Return the stamp of a header [ns]."""
    return int(header.stamp.sec) * NANOSECONDS + int(header.stamp.nanosec)


def _vector(v: Any) -> Vector:
    return (float(v.x), float(v.y), float(v.z))


def _quaternion(q: Any) -> Quaternion:
    return (float(q.x), float(q.y), float(q.z), float(q.w))


def transforms(msg: Any, static: bool) -> list[Transform]:
    """Return the transforms of a tf2_msgs/TFMessage."""
    return [
        Transform(
            stamp_of(t.header),
            t.header.frame_id,
            t.child_frame_id,
            _vector(t.transform.translation),
            _quaternion(t.transform.rotation),
            static,
        )
        for t in msg.transforms
    ]


def imu(msg: Any) -> Imu:
    """Return what counts of a sensor_msgs/Imu."""
    return Imu(
        stamp_of(msg.header),
        msg.header.frame_id,
        _vector(msg.angular_velocity),
        float(msg.angular_velocity_covariance[0]),
        _quaternion(msg.orientation),
        float(msg.orientation_covariance[0]),
    )


def twist(msg: Any) -> Twist:
    """Return the angular part of a geometry_msgs/TwistStamped."""
    return Twist(stamp_of(msg.header), msg.header.frame_id, _vector(msg.twist.angular))


def odometry(msg: Any) -> Odometry:
    """Return pose and angular velocity of a nav_msgs/Odometry."""
    pose = msg.pose.pose
    return Odometry(
        stamp_of(msg.header),
        msg.header.frame_id,
        msg.child_frame_id,
        _vector(pose.position),
        _quaternion(pose.orientation),
        _vector(msg.twist.twist.angular),
    )


def commands(msg: Any) -> Commands:
    """Return the torques of a std_msgs/Float64MultiArray."""
    return Commands(tuple(float(x) for x in msg.data))


def joint_command(msg: Any) -> JointCommand:
    """Return names, efforts, velocities and positions of a sensor_msgs/JointState."""
    return JointCommand(
        stamp_of(msg.header),
        tuple(msg.name),
        tuple(float(x) for x in msg.effort),
        tuple(float(x) for x in msg.velocity),
        tuple(float(x) for x in msg.position),
    )


def load(msg: Any, motor: str, link: str) -> Load:
    """Return the load of a geometry_msgs/WrenchStamped on one link of a motor."""
    return Load(
        stamp_of(msg.header),
        motor,
        link,
        msg.header.frame_id,
        _vector(msg.wrench.force),
        _vector(msg.wrench.torque),
    )


# out: transforms, as message objects that may be filled again and again


def _head(header: Any, stamp_ns: int, frame: str) -> None:
    header.stamp.sec, header.stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
    header.frame_id = frame


def _put(target: Any, vector: Vector) -> None:
    target.x, target.y, target.z = float(vector[0]), float(vector[1]), float(vector[2])


def put_transform(msg: Any, stamp_ns: int, parent: str, child: str, pose: Pose) -> None:
    """Fill a TransformStamped with the pose of ``child`` in ``parent``."""
    _head(msg.header, stamp_ns, parent)
    msg.child_frame_id = child
    _put(msg.transform.translation, pose.position)
    rotation, (x, y, z, w) = msg.transform.rotation, pose.orientation
    rotation.x, rotation.y, rotation.z, rotation.w = float(x), float(y), float(z), float(w)


def put_rotor(msg: Any, outcome: Outcome, index: int, motor: MotorSettings) -> None:
    """Fill a TransformStamped with the rotor in its stator: a turn about the axis."""
    put_transform(
        msg,
        outcome.stamp_ns,
        motor.stator_frame,
        motor.rotor_frame,
        outcome.rotor_in_stator(index, motor.model.axis),
    )


def put_measured(msg: Any, stamp_ns: int, measured: Measured) -> None:
    """Fill a JointState of one joint; a list is empty where there is no number."""
    _head(msg.header, stamp_ns, '')
    msg.position, msg.velocity, msg.effort = (
        [] if value is None else [float(value)] for value in measured
    )


# out, for what is sent at every step: only the numbers, as they stand at the end of a message


def wrench_numbers(wrench: Wrench) -> tuple[float, ...]:
    """Return the numbers of a WrenchStamped."""
    return (*wrench.force, *wrench.torque)


def inertia_numbers(rows: tuple[Vector, Vector, Vector]) -> tuple[float, ...]:
    """Return the six elements of an InertiaStamped; mass and centre before them stay 0."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rows
    return (xx, xy, xz, yy, yz, zz)


def joint_numbers(outcome: Outcome) -> list[float]:
    """Return the three lists of a JointState."""
    angles = [step.state.angle for step in outcome.steps]
    speeds = [step.relative_speed for step in outcome.steps]
    return list_numbers((angles, speeds, outcome.torques))


def list_numbers(lists: Iterable[Sequence[float]]) -> list[float]:
    """Return lists as they stand at the end of a message, each behind the first with its length."""
    numbers: list[float] = []
    for values in lists:
        if numbers:
            numbers.append(len(values))
        numbers += values
    return numbers
