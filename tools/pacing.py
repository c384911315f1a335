"""
What plays a stream of received things into a graph: its instants, its deadlines, its /clock.

Shared by the player of recordings and the injection of faults. ROS is imported only when
something is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from mime_motor_ros.errors import MotorError
from mime_motor_ros.timeline import NANOSECONDS

if TYPE_CHECKING:
    from rclpy.node import Node

TICK_NS = 10_000_000
"""The longest time of a stream without a /clock: time goes on where nothing was received."""
LONGEST_GAP_NS = 3600 * NANOSECONDS
"""A longer time between two records is a step of the recorder's clock: none passes meanwhile."""
SLOWEST = 0.001
"""The lowest speed there is, but for 0."""
SPEED = '0 or >= 0.001 times real time'
TAIL = 1.0
"""How far /clock goes past the last record [s], so that what listeners hold back is let go."""
GRACE = 0.2  # s; a writer sees its readers some ms before they see it, and would lose messages


class PlayError(MotorError):
    """A stream cannot be played as asked."""


class Instant(NamedTuple):
    """The records of one time of receipt; none at the ticks between."""

    received_ns: int
    records: tuple[Any, ...]


def instants(records: Iterable[Any], tail: float = TAIL) -> Iterator[Instant]:
    """
    Return the records grouped by time of receipt, with empty ticks in every longer gap.

    But not in one of more than an hour, as where the clock of a recorder was set.

    Parameters
    ----------
    records
        Anything with a ``received_ns``, in order.
    tail
        How long ticks go on after the last record [s].

    """
    group: list[Any] = []
    for record in records:
        if group and record.received_ns != group[0].received_ns:
            yield Instant(group[0].received_ns, tuple(group))
            if record.received_ns - group[0].received_ns <= LONGEST_GAP_NS:
                yield from _ticks(group[0].received_ns, record.received_ns)
            group = []
        group.append(record)
    if group:
        last_ns = group[0].received_ns
        yield Instant(last_ns, tuple(group))
        yield from _ticks(last_ns, last_ns + round(tail * 1e9) + 1)


def _ticks(after_ns: int, before_ns: int) -> Iterator[Instant]:
    for tick_ns in range(after_ns + TICK_NS, before_ns, TICK_NS):
        yield Instant(tick_ns, ())


def is_speed(speed: float) -> bool:
    """Tell whether something can be played at this speed."""
    return speed == 0.0 or SLOWEST <= speed < float('inf')


class Pace:
    """
    Absolute deadlines for the times of a stream, counted from the first that is waited for.

    A gap of more than an hour is not waited for.

    Parameters
    ----------
    speed
        Seconds of the stream a second; 0 waits for nothing.
    slips
        Whether a deadline that was missed puts off those behind it, so that nothing comes in a
        burst to make up for it.

    """

    def __init__(self, speed: float, slips: bool = False) -> None:
        if not is_speed(speed):
            raise PlayError(f'speed must be {SPEED}, got {speed}.')
        self.speed, self.slips = speed, slips
        self.behind_ns = 0
        """How far a deadline was missed at the worst [ns]."""
        self._start_ns = time.monotonic_ns()
        self._first_ns: int | None = None
        self._last_ns = 0

    def wait(self, at_ns: int, stop: Callable[[], bool]) -> bool:
        """Sleep until a time of the stream is due; False when asked to stop before."""
        if self._first_ns is None:
            self._first_ns, self._start_ns = at_ns, time.monotonic_ns()
        elif at_ns - self._last_ns > LONGEST_GAP_NS:
            self._first_ns += at_ns - self._last_ns
        self._last_ns = at_ns
        if not self.speed:
            return not stop()
        due_ns = self._start_ns + round((at_ns - self._first_ns) / self.speed)
        while not stop():
            left_ns = due_ns - time.monotonic_ns()
            if left_ns <= 0:
                self.behind_ns = max(self.behind_ns, -left_ns)
                self._start_ns -= left_ns if self.slips else 0
                return True
            # In pieces: a signal only sets a flag, the sleep itself goes on.
            time.sleep(min(left_ns * 1e-9, 0.05))
        return False


class ShownClock:
    """The publisher of /clock."""

    def __init__(self, node: Node) -> None:
        from rosgraph_msgs.msg import Clock

        self.publisher = node.create_publisher(Clock, '/clock', 10)
        self._message = Clock()

    def show(self, now_ns: int) -> None:
        """Publish a time."""
        stamp = self._message.clock
        stamp.sec, stamp.nanosec = divmod(now_ns, NANOSECONDS)
        self.publisher.publish(self._message)


def wait_for_readers(
    publishers: Mapping[str, Any], seconds: float, stop: Callable[[], bool] = lambda: False
) -> list[str]:
    """Wait until each publisher has a reader; return those that have none after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        missing = [
            name
            for name, publisher in publishers.items()
            if publisher.get_subscription_count() == 0
        ]
        if not missing or time.monotonic() > end or stop():
            break
        time.sleep(0.01)
    time.sleep(GRACE)
    return missing
