"""
What plays a stream of received things into a graph: its deadlines, its /clock.

Shared by the player of recordings and the injection of faults. ROS is imported only when
something is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time
from typing import Any, TYPE_CHECKING

from mime_motor_ros.errors import MotorError
from mime_motor_ros.offline.feed import Instant, instants, LONGEST_GAP_NS, TAIL
from mime_motor_ros.timeline import NANOSECONDS

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = ['Instant', 'instants', 'LONGEST_GAP_NS', 'TAIL']  # which are shared with replays

SLOWEST = 0.001
"""The lowest speed there is, but for 0."""
SPEED = '0 or >= 0.001 times real time'
GRACE = 0.2  # s; a writer sees its readers some ms before they see it, and would lose messages


class PlayError(MotorError):
    """A stream cannot be played as asked."""


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
