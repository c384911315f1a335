"""
The newest of all that a running motor node publishes, for whoever shows it.

It subscribes like any client. ROS is imported only when a watch is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from .screen import Motor, RATE, Status, View
from .vector import norm, Vector

if TYPE_CHECKING:
    from rclpy.node import Node

SPIN = 'spin (rad/s)'  # what only the status of a motor has


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


@dataclass
class _Joint:
    position: float | None = None
    velocity: float | None = None
    effort: float | None = None


class Watch:
    """
    The newest of all that a motor node publishes, read when asked and not when it comes.

    The subscriptions keep one message each and ask for no acknowledgement, so that the table
    costs the node as little as a reader can.

    Parameters
    ----------
    node
        The node whose subscriptions are used; it need not be spun.
    motor
        The name of the motor node, absolute or in the namespace of ``node``.
    tally
        Whether every mount wrench is taken and counted, not only the newest.

    """

    def __init__(self, node: Node, motor: str = 'motor', *, tally: bool = False) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import Vector3Stamped, WrenchStamped
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState

        self.node, self.motor = node, motor.rstrip('/')
        self._newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._start = time.monotonic()
        self._seen: float | None = None
        self._reads: list[_Read] = []
        self._spins: dict[str, float | None] = {}
        self._joints: dict[str, _Joint] = {}
        self._statuses: dict[str, Status] = {}
        self._steps = -1  # that the diagnostics told last
        self._momentum: Vector | None = None
        self._reaction: tuple[Vector, Vector] | None = None
        self._wrench: tuple[Vector, Vector] | None = None
        self._counted = tally
        self.tally = Tally()
        self.note = ''  # see View

        base, name = self.motor.rpartition('/')[::2]
        self._prefix = f'{name}: '
        joints = f'{base}/joint_states' if '/' in self.motor else 'joint_states'
        # Deep enough for 0.1 s at 10 kHz; reliable, or a lost one would look like a lost step.
        every = QoSProfile(depth=1000)
        some = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._read(
            WrenchStamped,
            f'{self.motor}/mount_wrench',
            self._on_wrench,
            every if tally else self._newest,
        )
        self._read(WrenchStamped, f'{self.motor}/reaction', self._on_reaction, self._newest)
        self._read(Vector3Stamped, f'{self.motor}/momentum', self._on_momentum, self._newest)
        self._read(JointState, joints, self._on_joints, self._newest)
        self._outputs = tuple(self._reads)
        self._read(DiagnosticArray, '/diagnostics', self._on_diagnostics, some)

    def _read(self, kind: type, topic: str, use: Callable[[Any], None], qos: Any) -> None:
        subscription = self.node.create_subscription(kind, topic, lambda _: None, qos)
        self._reads.append(_Read(subscription, kind, use))

    def poll(self) -> None:
        """Take what has come."""
        for read in tuple(self._reads):
            handle = read.subscription.handle
            with handle:
                while (taken := handle.take_message(read.kind, False)) is not None:
                    read.use(taken[0])

    def view(self) -> View:
        """Return what is known now."""
        now = time.monotonic()
        return View(
            node=self.motor,
            seconds=now - self._start,
            age=None if self._seen is None else now - self._seen,
            publishers=self.node.count_publishers(f'{self.motor}/mount_wrench'),
            motors=self._motors(),
            momentum=self._momentum,
            reaction=self._reaction,
            mount_wrench=self._wrench,
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

    def _motors(self) -> tuple[Motor, ...]:
        # The node gives its joints in the order of its motors, under names of the user's choice.
        joints: Sequence[_Joint] = tuple(self._joints.values())
        if len(joints) != len(self._spins):
            joints = [self._joints.get(f'{name}_joint', _Joint()) for name in self._spins]
        return tuple(
            Motor(name, spin, joint.velocity, joint.position, joint.effort)
            for (name, spin), joint in zip(self._spins.items(), joints, strict=True)
        )

    def _on_wrench(self, message: Any) -> None:
        self._seen = time.monotonic()
        self._wrench = force, torque = _wrench(message)
        if self._counted:
            stamp = message.header.stamp
            self.tally.add(stamp.sec * 1_000_000_000 + stamp.nanosec, force, torque)

    def _on_reaction(self, message: Any) -> None:
        self._reaction = _wrench(message)

    def _on_momentum(self, message: Any) -> None:
        self._momentum = _vector(message.vector)

    def _on_joints(self, message: Any) -> None:
        columns = (message.name, message.position, message.velocity, message.effort)
        if len({len(column) for column in columns}) > 1:
            return  # not of a motor node, which always gives all of them
        for name, *values in zip(*columns, strict=True):
            self._joints[name] = _Joint(*values)

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
            if SPIN in values and name not in self._spins:
                self._add_motor(name)

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

    def _add_motor(self, name: str) -> None:
        from std_msgs.msg import Float64

        def use(message: Any) -> None:
            self._spins[name] = message.data

        self._spins[name] = None
        self._read(Float64, f'{self.motor}/{name}/spin', use, self._newest)


def _vector(v: Any) -> Vector:
    return (v.x, v.y, v.z)


def _wrench(message: Any) -> tuple[Vector, Vector]:
    return _vector(message.wrench.force), _vector(message.wrench.torque)
