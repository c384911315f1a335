"""
The stamped inputs of a session, as plain tuples: no ROS, no clock, nothing checked yet.

A ``stamp`` is an integer [ns] of the header; 0 stands for "not given". SI units, quaternions
(x, y, z, w), covariances by their element 0 only (REP 145: -1 marks a field as not reported).
"""

from __future__ import annotations

from typing import NamedTuple

from .vector import Quaternion, Vector


class Transform(NamedTuple):
    """One transform of /tf or /tf_static: the pose of ``child`` in ``parent``."""

    stamp: int
    parent: str
    child: str
    position: Vector
    orientation: Quaternion
    static: bool = False


class Imu(NamedTuple):
    """Angular velocity [rad/s] in the sensor's own axes; the sensor's orientation in the world."""

    stamp: int
    frame: str
    angular_velocity: Vector
    covariance: float = 0.0
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)
    orientation_covariance: float = -1.0


class Twist(NamedTuple):
    """The mount's angular velocity [rad/s], expressed in ``frame``."""

    stamp: int
    frame: str
    angular_velocity: Vector


class Odometry(NamedTuple):
    """Pose of ``child`` in ``frame`` and its angular velocity [rad/s], expressed in ``child``."""

    stamp: int
    frame: str
    child: str
    position: Vector
    orientation: Quaternion
    angular_velocity: Vector


class Commands(NamedTuple):
    """Set points in the order of the motors, each in the unit of its mode (torque: N m)."""

    torques: tuple[float, ...]


class JointCommand(NamedTuple):
    """
    Set points by joint name; motors that are not named keep their command.

    ``torques`` [N m] (or V, N m s in the modes of voltage and damper), ``velocities`` [rad/s] and
    ``positions`` [rad] are as long as ``names``, or empty.
    """

    stamp: int
    names: tuple[str, ...]
    torques: tuple[float, ...]
    velocities: tuple[float, ...] = ()
    positions: tuple[float, ...] = ()


class Load(NamedTuple):
    """A wrench [N, N m] on one link of a motor, about the origin and in the axes of ``frame``."""

    stamp: int
    motor: str
    link: str
    frame: str
    force: Vector
    torque: Vector
