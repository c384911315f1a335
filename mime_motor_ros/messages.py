"""
ROS messages to session inputs and session outcomes into ROS messages, by attribute only.

Nothing of ROS is imported, so what rclpy hands over and what a reader of recorded files hands
over go through the same lines. No arithmetic here but seconds to nanoseconds. No number is put
into a message object, where an int or a numpy.float32 in a float field is sent as garbage: they
go to ``wire``, and ``struct`` converts or raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from .model import Wrench
from .session import Outcome
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


# out: only the numbers, as they stand at the end of a message


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
    """Return lists as they stand at the end of a message; the first comes without its length."""
    numbers: list[float] = []
    for values in lists:
        if numbers:
            numbers.append(len(values))
        numbers += values
    return numbers
