"""What has arrived on a subscription that is polled: as much as one look may take, read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import struct
from typing import Any, NamedTuple

from rclpy._rclpy_pybind11 import RMWError
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock

from .subscriptions import MOST_BYTES
from .timeline import NANOSECONDS

MOST_A_CYCLE = 1000  # messages of one topic looked at before the next step; and about MOST_BYTES
UNREADABLE = (ValueError, OverflowError, struct.error, RMWError)


class Taken(NamedTuple):
    """One message: what was read of it, or why it cannot be read."""

    items: Sequence[Any]
    info: dict[str, Any]
    """As rclpy gives it: times, and the sender's own count where the transport has one."""
    error: Exception | None = None


def arrived(subscription: Any, read: Callable[[bytes], Sequence[Any]]) -> Iterator[Taken]:
    """
    Take what has arrived on one topic.

    Taken as bytes: of a message that ROS cannot read, ``take_message`` says nothing.

    Raises
    ------
    rclpy.exceptions.InvalidHandle
        If the subscription is gone.

    """
    handle, kind, size = subscription.handle, subscription.msg_type, 0
    with handle:
        for _ in range(MOST_A_CYCLE):
            message = handle.take_message(kind, True)
            if message is None:
                return
            data, info = message
            size += len(data)
            try:
                if len(data) > MOST_BYTES:
                    raise ValueError(f'{len(data)} bytes, more than {MOST_BYTES}')
                taken = Taken(read(data), info)
            except UNREADABLE as error:
                taken = Taken((), info, error)
            yield taken
            if size > MOST_BYTES:
                return


def clock(data: bytes) -> tuple[Clock, ...]:
    """Return a /clock, or raise ValueError where its numbers are no time."""
    message = deserialize_message(data, Clock)
    if message.clock.sec < 0 or message.clock.nanosec >= NANOSECONDS:
        raise ValueError('not a time')
    return (message,)
