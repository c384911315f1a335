"""
The newest that a running motor node tells of itself, for whoever shows it.

It subscribes like any client. ROS is imported only when a watch is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from .overview import OF_MOTOR, OF_MOUNT
from .screen import Motor, RATE, Status, View
from .vector import norm, Vector

if TYPE_CHECKING:
    from rclpy.node import Node


@dataclass
class Tally:
    """What every single mount wrench told; kept only when a watch is asked to."""

    received: int = 0
    first_ns: int = 0
    last_ns: int = 0
    peak_force: float = 0.0
    peak_torque: float = 0.0

    def add(self, stamp_ns: int, force: Vector, torque: Vector) -> None:
        """Count one mount wrench."""
        self.first_ns = self.first_ns or stamp_ns
        self.received += 1
        self.last_ns = stamp_ns
        self.peak_force = max(self.peak_force, norm(force))
        self.peak_torque = max(self.peak_torque, norm(torque))

    @property
    def seconds(self) -> float:
        """Return the time between the first stamp and the last [s]."""
        return (self.last_ns - self.first_ns) * 1e-9


class _Read(NamedTuple):
    subscription: Any
    kind: type
    use: Callable[[Any], None]


class Watch:
    """
    The newest that a motor node tells, read when asked and not when it comes.

    It reads ``~/overview`` and the diagnostics: some messages a second, whatever the rate of the
    steps is, so that looking costs the node nothing that would be noticed.

    Parameters
    ----------
    node
        The node whose subscriptions are used; it need not be spun.
    motor
        The name of the motor node, absolute or in the namespace of ``node``.
    tally
        Whether every mount wrench is taken and counted too.

    """

    def __init__(self, node: Node, motor: str = 'motor', *, tally: bool = False) -> None:
        from control_msgs.msg import DynamicJointState
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import QoSProfile, ReliabilityPolicy

        self.node, self.motor = node, motor.rstrip('/')
        self._start = time.monotonic()
        self._seen: float | None = None
        self._reads: list[_Read] = []
        self._motors: tuple[Motor, ...] = ()
        self._mount: tuple[Vector, ...] | None = None
        self._statuses: dict[str, Status] = {}
        self._steps = -1  # that the diagnostics told last
        self.tally = Tally()
        self.note = ''  # see View

        self._prefix = f'{self.motor.rpartition("/")[2]}: '
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        some = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
        if tally:
            # Deep enough for 0.1 s at 10 kHz; reliable, or a lost one would look like a lost step.
            every = QoSProfile(depth=1000)
            self._read(WrenchStamped, f'{self.motor}/mount_wrench', self._on_wrench, every)
        self._read(DynamicJointState, f'{self.motor}/overview', self._on_overview, newest)
        self._outputs = tuple(self._reads)
        self._read(DiagnosticArray, '/diagnostics', self._on_diagnostics, some)

    def _read(self, kind: type, topic: str, use: Callable[[Any], None], qos: Any) -> None:
        subscription = self.node.create_subscription(kind, topic, lambda _: None, qos)
        self._reads.append(_Read(subscription, kind, use))

    def poll(self) -> None:
        """Take what has come."""
        for read in self._reads:
            handle = read.subscription.handle
            with handle:
                while (taken := handle.take_message(read.kind, False)) is not None:
                    read.use(taken[0])

    def view(self) -> View:
        """Return what is known now."""
        now = time.monotonic()
        momentum = reaction = wrench = None
        if self._mount is not None:
            momentum, *others = self._mount
            reaction, wrench = (others[0], others[1]), (others[2], others[3])
        return View(
            node=self.motor,
            seconds=now - self._start,
            age=None if self._seen is None else now - self._seen,
            publishers=self.node.count_publishers(f'{self.motor}/overview'),
            motors=self._motors,
            momentum=momentum,
            reaction=reaction,
            mount_wrench=wrench,
            statuses=dict(self._statuses),
            note=self.note,
        )

    @property
    def is_met(self) -> bool:
        """Return whether the node and we know of each other: no step to come is missed."""
        outputs = self._statuses.get('outputs')
        try:  # what the node knows, which it tells once a second
            read = int(outputs.values['topics read']) if outputs else 0
        except (KeyError, ValueError):
            read = 0
        return read >= len(self._outputs) and all(
            one.subscription.get_publisher_count() for one in self._outputs
        )

    def _on_overview(self, message: Any) -> None:
        *motors, mount = [tuple(held.values) for held in message.interface_values] or [()]
        names = message.joint_names
        if len(names) != len(motors) + 1 or len(mount) != len(OF_MOUNT):
            return  # not of a motor node
        if any(len(values) != len(OF_MOTOR) for values in motors):
            return
        self._seen = time.monotonic()
        self._motors = tuple(
            Motor(name, *values) for name, values in zip(names, motors, strict=False)
        )
        self._mount = tuple((x, y, z) for x, y, z in zip(*[iter(mount)] * 3, strict=True))

    def _on_wrench(self, message: Any) -> None:
        stamp, wrench = message.header.stamp, message.wrench
        self.tally.add(
            stamp.sec * 1_000_000_000 + stamp.nanosec,
            _vector(wrench.force),
            _vector(wrench.torque),
        )

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if not status.name.startswith(self._prefix):
                continue
            name = status.name[len(self._prefix) :]
            values = {value.key: value.value for value in status.values}
            if name == 'stepping':
                self._drop_half_a_second(values)
            level = int.from_bytes(status.level, 'little')
            self._statuses[name] = Status(level, status.message, values)

    def _drop_half_a_second(self, values: dict[str, str]) -> None:
        """Leave out the rate of a second in which the steps only began: it looks like a fault."""
        try:
            steps, reached = int(values['steps']), float(values[RATE])
        except (KeyError, ValueError):
            return
        before, self._steps = self._steps, steps
        if not 0 <= before <= steps:  # not known, or of a node that was there before
            before = int(steps - 1.1 * reached)  # a look is a second, and a little
        if before <= 0:
            del values[RATE]


def _vector(v: Any) -> Vector:
    return (v.x, v.y, v.z)
