"""
What the motor node reads: one table of topics, for the live node and for recorded files.

No ROS here. A type is named as ROS writes it; ``read`` turns what comes into session inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from . import messages
from .settings import Settings
from .wire import imu, transforms

TF = 'tf2_msgs/msg/TFMessage'
IMU = 'sensor_msgs/msg/Imu'
MOST_BYTES = 1 << 19
"""Of one message; one that is longer is not looked at, and counts as unreadable."""


class Subscription(NamedTuple):
    """One topic that is read."""

    source: str
    """The session's name for what comes on it."""
    type: str
    topic: str
    """As the node names it: ``~/`` stands for its own name."""
    quality: str
    """moving, latched, sensor or command: which quality of service it is asked for with."""
    read: Callable[[Any], Sequence[Any]]
    """The inputs in a message."""
    of_bytes: bool = False
    """Whether that is read from the bytes, without a message object."""


def subscriptions(settings: Settings) -> list[Subscription]:
    """Return what a node with these settings reads, in the order in which it looks."""
    found = [
        Subscription('tf', TF, '/tf', 'moving', partial(transforms, static=False), True),
        Subscription('tf', TF, '/tf_static', 'latched', partial(transforms, static=True), True),
    ]

    def add(source: str, kind: str, topic: str, quality: str, read: Callable[[Any], Any]) -> None:
        found.append(Subscription(source, kind, topic, quality, lambda m: (read(m),)))

    sources = (settings.rate_source, settings.pose_source)
    if 'imu' in sources:
        found.append(
            Subscription('imu', IMU, 'imu/data', 'sensor', lambda data: (imu(data),), True)
        )
    if 'twist' in sources:
        add('twist', 'geometry_msgs/msg/TwistStamped', 'mount_twist', 'sensor', messages.twist)
    if 'odometry' in sources:
        add('odometry', 'nav_msgs/msg/Odometry', 'odom', 'sensor', messages.odometry)
    numbers, joints = 'std_msgs/msg/Float64MultiArray', 'sensor_msgs/msg/JointState'
    add('commands', numbers, '~/commands', 'command', messages.commands)
    add('joint_command', joints, '~/joint_command', 'command', messages.joint_command)
    for motor in settings.motors:
        for link in ('rotor', 'stator'):
            source = f'{motor.name} {link}_wrench'
            topic = f'~/{motor.name}/{link}_wrench'
            read = partial(messages.load, motor=motor.name, link=link)
            add(source, 'geometry_msgs/msg/WrenchStamped', topic, 'command', read)
    return found
