"""
Play a rosbag2 folder into a running ROS graph, with the messages' own bytes and stamps.

    python tools/player.py RECORDING [--speed 1] [--remap FROM:=TO] ...

Every record is published as the bytes it was recorded as, at the time of its receipt, on a
schedule of absolute deadlines; then /clock says how far the recording's time has come. Nodes
that listen run with use_sim_time. ROS is imported only when something is played.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
import sys
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from mime_motor_ros.arguments import plain_line
from mime_motor_ros.errors import MotorError
from mime_motor_ros.messages import stamp_of
from mime_motor_ros.offline.recording import IMU, Record, Recording, TF, Topic
from mime_motor_ros.options import number, split, whole
from mime_motor_ros.stopping import leave, Stop
from pacing import (
    Instant,
    instants,
    is_speed,
    Pace,
    PlayError,
    ShownClock,
    SPEED,
    TAIL,
    wait_for_readers,
)

if TYPE_CHECKING:
    from rclpy.node import Node

CLOCK = '/clock'


class Played(NamedTuple):
    """What was played, and how well the schedule was kept."""

    records: int
    instants: int
    seconds: float
    """How long it took [s]."""
    behind: float
    """How far it was behind its schedule at the worst [s]; 0 where there is none."""
    unanswered: int
    """Samples a listener in lockstep did not answer in time."""


class Player:
    """
    Publishes a recording through a node that is given; the node need not be spun.

    Parameters
    ----------
    node
        The node whose publishers are used.
    recording
        What is played.
    speed
        Seconds of the recording a second; 0 waits for nothing, in lockstep for the answers alone.
    remaps
        Names to publish topics under instead of their own.
    topics
        The topics to play; none means all.
    seconds
        Where in the recording to stop [s after its first record].
    clock
        Whether /clock is published.
    tail
        How far /clock goes past the last record [s]: more than what listeners hold back.

    """

    def __init__(
        self,
        node: Node,
        recording: Recording,
        *,
        speed: float = 1.0,
        remaps: dict[str, str] | None = None,
        topics: Sequence[str] = (),
        seconds: float = float('inf'),
        clock: bool = True,
        tail: float = TAIL,
    ) -> None:
        Pace(speed)  # refuses what is no speed
        for name in (*topics, *(remaps or {})):
            recording.check(name)
        self.node, self.recording, self.speed = node, recording, speed
        self.topics, self.seconds, self.tail = tuple(topics), seconds, tail
        self.lockstep: Lockstep | None = None
        self.skipped: dict[str, str] = {}
        """Topics that are not played, and why."""
        self._publishers: dict[str, Any] = {}
        self._clock = ShownClock(node) if clock else None
        for topic in recording.topics:
            if not topics or topic.name in topics:
                self._add(topic, (remaps or {}).get(topic.name, topic.name))

    def _add(self, topic: Topic, name: str) -> None:
        from rclpy.qos import DurabilityPolicy, QoSProfile

        if self._clock is not None and self.node.resolve_topic_name(name) == CLOCK:
            if topic.name != CLOCK:
                raise PlayError(f'{topic.name} cannot be played as {CLOCK}, which is ours.')
            self.skipped[CLOCK] = 'it shows the times of receipt; --no-clock plays the recorded'
            return
        package, _, kind = topic.type.partition('/msg/')
        try:
            message_type = getattr(import_module(f'{package}.msg'), kind)
        except (ImportError, AttributeError):
            self.skipped[topic.name] = f'{topic.type} is not installed'
            return
        if topic.transient_local:
            # A reader that comes later gets all of them.
            qos = QoSProfile(
                depth=max(1, topic.count), durability=DurabilityPolicy.TRANSIENT_LOCAL
            )
        else:
            qos = QoSProfile(depth=100)  # reliable serves best-effort readers too
        publisher = self.node.create_publisher(message_type, name, qos)
        # The bytes are sent as they are, so both ends must mean the same by them.
        here = _type_hash(self.node, publisher.topic_name)
        if here != topic.type_hash:
            self.node.destroy_publisher(publisher)
            self.skipped[topic.name] = f'{topic.type} is defined differently here'
            return
        self._publishers[topic.name] = publisher

    def follow(self, topic: str, message_type: type, settle: float = 0.0, ahead: int = 1) -> None:
        """
        Play in lockstep from now on: wait for the answer to each IMU sample before the next.

        Parameters
        ----------
        topic
            Where a message comes with the stamp of each sample, as ``joint_states`` does when
            the motor node steps on the IMU.
        message_type
            The type of that topic; it has a header.
        settle
            How long after its stamp an answer is held back [s].
        ahead
            How many answers may be owed; more is faster, and must fit the listener's queue.

        """
        self.lockstep = Lockstep(self.node, topic, message_type, settle, ahead)

    def wait(
        self, seconds: float, topics: Sequence[str] = (), stop: Callable[[], bool] = lambda: False
    ) -> list[str]:
        """
        Wait until these topics have a reader; return those that have none after ``seconds``.

        None named means those a motor node reads: every IMU and every transform.
        """
        kinds = {topic.name: topic.type for topic in self.recording.topics}
        wanted = topics or [name for name in self._publishers if kinds[name] in (IMU, TF)]
        return wait_for_readers({name: self._publishers[name] for name in wanted}, seconds, stop)

    def play(self, stop: Callable[[], bool] = lambda: False) -> Played:
        """Play the recording once, until its end or until ``stop`` says so."""
        start, pace = time.monotonic_ns(), Pace(self.speed)
        sent = count = 0
        for instant in self._instants():
            if not pace.wait(instant.received_ns, stop):
                break
            self.send(instant)
            sent += len(instant.records)
            count += 1
            if self.lockstep is not None:
                self.lockstep.wait(instant.received_ns, stop)
            if not self.speed and not instant.records:
                time.sleep(1e-3)  # or the clock would jump for those who look now and then
        return Played(
            sent,
            count,
            (time.monotonic_ns() - start) * 1e-9,
            pace.behind_ns * 1e-9,
            0 if self.lockstep is None else self.lockstep.unanswered,
        )

    def send(self, instant: Instant) -> None:
        """Publish the records of one instant, then the clock."""
        for record in instant.records:
            self._publishers[record.topic].publish(record.data)
            if self.lockstep is not None and record.type == IMU:
                self.lockstep.sent(record)
        if self._clock is not None:
            self._clock.show(instant.received_ns)

    def _instants(self) -> Iterator[Instant]:
        played = tuple(name for name in self._publishers)
        if not played:
            return
        end_ns = self.recording.start_ns + self.seconds * 1e9
        records = self.recording.records(played)
        yield from instants((x for x in records if x.received_ns <= end_ns), self.tail)


class Lockstep:
    """Waits until a listener has answered the samples that are due for an answer."""

    PATIENCE = 0.1  # s; long against a step, short where a sample is refused and has no answer
    MOST_UNANSWERED = 100  # in a row: then nobody is there any more

    def __init__(
        self, node: Node, topic: str, message_type: type, settle: float, ahead: int
    ) -> None:
        if ahead < 1:
            raise PlayError(f'ahead must be >= 1, got {ahead}.')
        self.topic, self.ahead, self.unanswered = topic, ahead, 0
        self._type, self._settle_ns = message_type, round(settle * 1e9)
        self._subscription = node.create_subscription(message_type, topic, lambda _: None, 100)
        self._sent: list[int] = []
        self._owed: list[int] = []
        self._in_a_row = 0

    def sent(self, record: Record) -> None:
        """Note that a sample was sent."""
        self._sent.append(stamp_of(record.message.header))

    def wait(self, now_ns: int, stop: Callable[[], bool]) -> None:
        """Wait until fewer than ``ahead`` of the samples due at ``now_ns`` owe an answer."""
        self._owed += [x for x in self._sent if x + self._settle_ns <= now_ns]
        self._sent = [x for x in self._sent if x + self._settle_ns > now_ns]
        end = time.monotonic() + self.PATIENCE
        while len(self._owed) >= self.ahead:
            if not self._take():
                if time.monotonic() > end or stop():
                    self._give_up()
                    return
                time.sleep(1e-4)

    def _take(self) -> bool:
        with self._subscription.handle:
            taken = self._subscription.handle.take_message(self._type, False)
        if taken is None:
            return False
        answered_ns = stamp_of(taken[0].header)
        self._owed = [x for x in self._owed if x > answered_ns]
        self._in_a_row = 0
        return True

    def _give_up(self) -> None:
        self.unanswered += len(self._owed)
        self._in_a_row += len(self._owed)
        self._owed = []
        if self._in_a_row > self.MOST_UNANSWERED:
            raise PlayError(
                f'nothing came on {self.topic} for the last {self._in_a_row} samples. '
                'Does the listener still run, and does it step on the IMU?'
            )


def _type_hash(node: Node, topic: str) -> str:
    """Return the type hash of this node's own publisher of a topic."""
    for info in node.get_publishers_info_by_topic(topic):
        if (info.node_name, info.node_namespace) == (node.get_name(), node.get_namespace()):
            return str(info.topic_type_hash)
    return ''


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='player.py',
        description='Play a rosbag2 folder: every record with its own stamps, and /clock.',
        epilog='Nodes that listen run with use_sim_time. ROS arguments go behind --ros-args.',
    )
    options.add_argument('recording', help='a rosbag2 folder (MCAP or SQLite)')
    not_negative = number('>= 0 s', lambda x: 0.0 <= x < float('inf'))
    options.add_argument(
        '--speed',
        type=number(f'({SPEED})', is_speed),
        default=1.0,
        help='times real time (1); 0: as lockstep lets it',
    )
    options.add_argument(
        '--remap',
        action='append',
        default=[],
        metavar='FROM:=TO',
        help='publish a topic under another name; may be given several times',
    )
    options.add_argument(
        '--topics', nargs='+', default=(), metavar='TOPIC', help='play only these topics'
    )
    options.add_argument(
        '--seconds',
        type=number('>= 0 s', lambda x: x >= 0.0),
        default=float('inf'),
        help='play so much of the recording [s]',
    )
    options.add_argument(
        '--wait',
        type=not_negative,
        default=10.0,
        help='how long to wait for readers at the start [s] (10)',
    )
    options.add_argument('--loop', action='store_true', help='start again at the end')
    options.add_argument(
        '--lockstep',
        nargs='?',
        const='joint_states',
        metavar='TOPIC',
        help='wait for the JointState that answers each IMU sample (joint_states)',
    )
    options.add_argument(
        '--settle', type=not_negative, default=0.0, help='settle of the node in lockstep [s] (0)'
    )
    options.add_argument(
        '--ahead',
        type=whole('>= 1', lambda x: x >= 1),
        default=1,
        help='answers that may be owed in lockstep (1)',
    )
    options.add_argument('--no-clock', action='store_true', help='leave /clock to somebody else')
    return options


def remaps(pairs: Sequence[str]) -> dict[str, str]:
    """Return 'FROM:=TO' pairs as a table."""
    table = {}
    for pair in pairs:
        before, colon, after = pair.partition(':=')
        if not (before and colon and after):
            raise PlayError(f"remap must be 'FROM:=TO', got {pair!r}.")
        table[before] = after
    return table


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    stop = Stop().catch_signals()
    own, of_ros = split(args)
    options = parser().parse_args(own)
    try:
        recording = Recording(options.recording)
        table = remaps(options.remap)
    except MotorError as error:
        print(f'player: {error}', file=sys.stderr)
        return 1
    return _run(options, recording, table, of_ros, stop)


def _run(
    options: argparse.Namespace,
    recording: Recording,
    table: dict[str, str],
    ros_args: list[str],
    stop: Stop,
) -> int:
    from mime_motor_ros.starting import initialise, REFUSED
    import rclpy
    from sensor_msgs.msg import JointState

    node = None
    try:
        initialise(ros_args)
        node = rclpy.create_node('player')
        player = Player(
            node,
            recording,
            speed=options.speed,
            remaps=table,
            topics=options.topics,
            seconds=options.seconds,
            clock=not options.no_clock,
        )
        if options.lockstep:
            player.follow(options.lockstep, JointState, options.settle, options.ahead)
        for topic, why in player.skipped.items():
            print(f'player: {topic} is left out: {why}', file=sys.stderr)
        for topic in player.wait(options.wait, stop=lambda: stop.asked):
            print(f'player: nobody reads {topic}', file=sys.stderr)
        while not stop:
            played = player.play(lambda: stop.asked)
            print(summary(recording, played), flush=True)
            if not options.loop or not played.records:
                break
    except REFUSED as error:
        print(f'player: {plain_line(error)}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def summary(recording: Recording, played: Played) -> str:
    """Return what was played in one line."""
    text = (
        f'played {played.records} of {recording.count} records of {recording.name} '
        f'in {played.seconds:.1f} s, at most {played.behind * 1e3:.1f} ms behind schedule'
    )
    return text + (f', {played.unanswered} samples unanswered' if played.unanswered else '')


if __name__ == '__main__':
    leave(main)
