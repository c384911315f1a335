"""
Hears what a motor node would hear in the live graph, and how well it would.

Nothing is published, no node is needed, none is disturbed. ROS is imported only when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
import os
import time
from typing import Any, TYPE_CHECKING

from ..settings import Settings
from ..stopping import Stop
from ..timeline import NANOSECONDS
from .case import KINDS, Seen, Topic
from .rehearsal import Received

if TYPE_CHECKING:
    from rclpy.node import Node

LOOK = 0.002  # [s] between looks at the topics, which is how well a time of receipt is known
LOOK_AT_GRAPH = 0.25  # [s]
DISCOVERY = 4.0
"""How long publishers may take to be found [s]: those who are missed at first come after 3 s."""
MOST_RECEIVED = 1_000_000
UNSEEN = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', 'ROS_LOCALHOST_ONLY': '0'}


class Ear:
    """
    One input topic, heard with the quality of service of the motor node.

    What does not fit that is heard too, once ``open`` was called, and marked as not arriving.
    """

    def __init__(
        self, source: str, subscription: Any, read: Callable[[bytes], Sequence[Any]]
    ) -> None:
        self.source, self.read = source, read
        self.topic: str = subscription.topic_name
        self.kind: type = subscription.msg_type
        self.qos = copy(subscription.qos_profile)
        self.unreadable = 0
        self._main: Any = None
        self._other: Any = None

    def listen(self, node: Node) -> None:
        """Subscribe as the motor node does."""
        self._main = node.create_subscription(self.kind, self.topic, _nothing, copy(self.qos))

    def open(self, node: Node) -> None:
        """Subscribe so that every publisher fits."""
        from rclpy.qos import QoSProfile, ReliabilityPolicy

        if self._other is None:
            any_qos = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._other = node.create_subscription(self.kind, self.topic, _nothing, any_qos)

    def senders(self, node: Node) -> Any:
        """Return who publishes on the topic, for the motor node's kind of subscription."""
        from ..graph import senders

        return senders(node, self._main)

    def taken(self) -> Iterator[tuple[Any, bool, int | None]]:
        """Return what has arrived: an input, whether the motor node gets it, its number."""
        from ..taking import arrived

        for subscription in (self._main, self._other):
            if subscription is None:
                continue
            arrives = subscription is self._main
            for items, info, error in arrived(subscription, self.read):
                self.unreadable += arrives and error is not None
                for item in items:
                    yield item, arrives, info.get('publication_sequence_number')


def _nothing(_: Any) -> None:
    """Do nothing: the messages are taken, not called back with."""


class Plan:
    """What a motor node with these arguments would be and read."""

    def __init__(self, motor: Any) -> None:
        self.settings: Settings = motor.session.settings
        self.name: str = motor.get_fully_qualified_name()
        self.namespace: str = motor.get_namespace()
        self.output: str = motor.resolve_topic_name('~/mount_wrench')
        self.simulated: bool = motor.get_parameter('use_sim_time').value
        self.ears = [Ear(*one) for one in motor.inputs]


def plan(args: Sequence[str]) -> Plan:
    """
    Return what a motor node with these arguments would read, by making one that nobody sees.

    So parameters, remaps and qualities of service are the node's own, and so are its errors.
    """
    import rclpy

    from ..node import MotorNode
    from ..starting import initialise

    with _environment(UNSEEN):
        initialise(list(args))
        try:
            motor = MotorNode(start_parameter_services=False, enable_rosout=False)
            try:
                return Plan(motor)
            finally:
                motor.destroy_node()
        finally:
            rclpy.try_shutdown()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Listener:
    """Hears what a plan reads, on a node of its own."""

    def __init__(self, planned: Plan) -> None:
        import rclpy
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from rosgraph_msgs.msg import Clock

        def node(name: str) -> Any:
            return rclpy.create_node(
                name,
                namespace=planned.namespace,
                use_global_arguments=False,  # the plan has resolved every name
                start_parameter_services=False,
                enable_rosout=False,
            )

        # By its own name, or two checks at once would take each other's endpoints for theirs.
        name = f'motor_check_{os.getpid()}'
        self.plan, self.node = planned, node(name)
        self._other_node: Any = None
        self._make_other: Callable[[], Any] = lambda: node(f'{name}_other')
        self.received: list[Received] = []
        self._now_ns = 0
        self._looked = 0.0
        for ear in planned.ears:
            ear.listen(self.node)
        self._clock: Any = None
        if planned.simulated:
            qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._clock = self.node.create_subscription(Clock, '/clock', _nothing, qos)

    def listen(self, seconds: float, stop: Stop) -> bool:
        """Listen for some seconds from when the senders are found; return whether it could."""
        now = time.monotonic()
        latest, end = now + DISCOVERY, now + seconds
        while not stop and now < end and not self.flooded:
            self.look()
            time.sleep(LOOK)
            now = time.monotonic()
            if now < latest:
                if self._lacks_a_sender():
                    end = now + seconds
                else:
                    latest = now
        return not stop

    @property
    def flooded(self) -> bool:
        """Tell whether more came than is kept."""
        return len(self.received) >= MOST_RECEIVED

    def _lacks_a_sender(self) -> bool:
        """Tell whether a topic that is needed has no publisher yet, as far as one knows."""
        settings = self.plan.settings
        needed = {settings.rate_source}
        if settings.world_frame != settings.mount_frame:
            needed.add(settings.pose_source)
        # Of the two topics of transforms the moving one comes first; the other need not be there.
        topics = {ear.source: ear.topic for ear in reversed(self.plan.ears)}
        wanted = [topics[source] for source in needed if source in topics]
        wanted += ['/clock'] if self.plan.simulated else []
        return any(not self.node.count_publishers(topic) for topic in wanted)

    def look(self) -> None:
        """Take what has arrived, as a cycle of the motor node does."""
        now = time.monotonic()
        if now - self._looked >= LOOK_AT_GRAPH:
            self._looked = now
            self._open_where_needed()
        arrived = self._arrived()
        if self._follow_clock():
            arrived += self._arrived()  # what was sent before this /clock and is here only now
        now_ns = self._now_ns
        self.received += [Received(now_ns, *one) for one in arrived]
        self.received.append(Received(now_ns))

    def _arrived(self) -> list[tuple[Any, bool, int | None]]:
        return [one for ear in self.plan.ears for one in ear.taken()]

    def _follow_clock(self) -> bool:
        """Look at the clock; return whether a /clock came."""
        from ..taking import arrived, clock

        if self._clock is None:
            self._now_ns = self.node.get_clock().now().nanoseconds
            return False
        times = [time for taken in arrived(self._clock, clock) for time in taken.items]
        if times:
            newest = times[-1].clock
            self._now_ns = newest.sec * NANOSECONDS + newest.nanosec
        return bool(times)

    def _open_where_needed(self) -> None:
        """Hear what does not fit, too; on another node, so that the first is the motor's like."""
        for ear in self.plan.ears:
            if ear.senders(self.node).misfits:
                self._other_node = self._other_node or self._make_other()
                ear.open(self._other_node)

    def seen(self) -> Seen:
        """Return all that was seen."""
        from ..graph import full_name

        node, planned = self.node, self.plan
        topics = [self._topic(ear) for ear in planned.ears]
        motors = [full_name(x) for x in node.get_publishers_info_by_topic(planned.output)]
        clocks = {full_name(x) for x in node.get_publishers_info_by_topic('/clock')}
        of_tf = {name for topic in topics if topic.source == 'tf' for name in topic.fitting}
        main = {one.item for one in self.received if one.arrives and one.item is not None}
        received = [one for one in self.received if one.arrives or one.item not in main]
        return Seen(
            received,
            topics,
            motors,
            planned.simulated,
            sorted(clocks),
            sorted(of_tf),
            self.flooded,
        )

    def _topic(self, ear: Ear) -> Topic:
        from ..graph import type_name

        kind, peers = type_name(ear.kind), ear.senders(self.node)
        ours = {ear.topic for ear in self.plan.ears}
        elsewhere = [
            name
            for name, kinds in self.node.get_topic_names_and_types()
            if kind in kinds and name not in ours and self.node.count_publishers(name)
        ]
        return Topic(
            ear.source,
            ear.topic,
            kind,
            peers.fitting,
            peers.misfits,
            tuple(elsewhere) if ear.source in (*KINDS, 'tf', 'commands') else (),
            ear.unreadable,
        )

    def close(self) -> None:
        """Put the nodes away."""
        for node in (self.node, self._other_node):
            if node is not None:
                node.destroy_node()
