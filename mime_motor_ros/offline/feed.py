"""
From what was recorded to the inputs of a session, in one of two orders.

By receipt: as a node sees them that is played the recording; by stamp: as if nothing had been on
its way. Nothing is held but what one instant, or the reordering, needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
import heapq
from itertools import count
import struct
from typing import Any, NamedTuple

from rosbags.typesys import get_typestore, Stores

from ..inputs import Commands
from ..names import Names
from ..settings import Settings
from ..subscriptions import MOST_BYTES, Subscription, subscriptions
from ..timeline import NANOSECONDS
from .recording import Recording, RecordingError

TICK_NS = 10_000_000
"""The longest time of a stream without a /clock: time goes on where nothing was received."""
LONGEST_GAP_NS = 3600 * NANOSECONDS
"""A longer time between two records is a step of the recorder's clock: none passes meanwhile."""
TAIL = 1.0
"""How far time goes on past the last record [s], so that what is held back is let go."""
REORDERED = 4096
"""Inputs that are looked ahead, by stamp: 4 s of a 1 kHz sensor."""
ELECTORS = 32
"""Inputs that say whether a stamp before them is of another clock."""
MOUNT = ('imu', 'twist', 'odometry')
UNREADABLE = (ValueError, OverflowError, struct.error, RecordingError)


class Arrived(NamedTuple):
    """What came at one time: the inputs of one message, or why it cannot be read."""

    received_ns: int
    turn: int
    """Which of the topics it came on: a node looks at them in this order."""
    source: str
    items: Sequence[Any]
    error: str = ''


class Instant(NamedTuple):
    """The records of one time; none at the ticks between."""

    received_ns: int
    records: tuple[Any, ...]


def instants(
    records: Iterable[Any], tail: float = TAIL, tick_ns: int = TICK_NS
) -> Iterator[Instant]:
    """
    Return the records grouped by time of receipt, with empty ticks in every longer gap.

    But not in one of more than an hour, as where the clock of a recorder was set.

    Parameters
    ----------
    records
        Anything with a ``received_ns``, in order.
    tail
        How long ticks go on after the last record [s].
    tick_ns
        Between two ticks [ns].

    """
    group: list[Any] = []
    for record in records:
        if group and record.received_ns != group[0].received_ns:
            yield Instant(group[0].received_ns, tuple(group))
            if record.received_ns - group[0].received_ns <= LONGEST_GAP_NS:
                yield from _ticks(group[0].received_ns, record.received_ns, tick_ns)
            group = []
        group.append(record)
    if group:
        last_ns = group[0].received_ns
        yield Instant(last_ns, tuple(group))
        yield from _ticks(last_ns, last_ns + round(tail * 1e9) + 1, tick_ns)


def _ticks(after_ns: int, before_ns: int, tick_ns: int) -> Iterator[Instant]:
    for now_ns in range(after_ns + tick_ns, before_ns, tick_ns):
        yield Instant(now_ns, ())


def by_stamp(
    arrived: Iterable[Arrived], ahead: int = REORDERED, most_ns: int = NANOSECONDS // 2
) -> Iterator[Arrived]:
    """
    Return the inputs in order of their stamps, one by one, the stamp as time of receipt.

    Where two have one stamp the order is that of the topics, then that of the file. What has no
    stamp takes the newest one before it. Static transforms hold at all times, and are handed on
    at once. An input that is more than ``ahead`` behind others keeps its stamp and its place:
    the session says that it is late, or old. A stamp of more than ``most_ns`` ahead, or the first,
    is of another clock where most of the `ELECTORS` behind it are not so far: it is handed on at
    once, and the session refuses it.
    """
    heap: list[tuple[int, int, int, Arrived]] = []
    aside: list[Arrived] = []  # what has no time of its own: at the next there is
    coming: deque[tuple[int, Arrived]] = deque()
    number = count()
    newest = now = received = 0

    def put(stamp: int, one: Arrived) -> None:
        heapq.heappush(heap, (stamp, one.turn, next(number), one))

    def taken() -> list[Arrived]:
        nonlocal now
        stamp, _, _, single = heapq.heappop(heap)
        now = max(now, stamp)
        found = [one._replace(received_ns=now) for one in (single, *aside)]
        aside.clear()
        return found

    def goes_on(stamp: int, one: Arrived) -> bool:
        """Tell whether time goes on from a stamp: by those behind it, else by its receipt."""
        votes = [other >= stamp - most_ns for other, _ in coming if other]
        if votes:
            return 2 * sum(votes) >= len(votes)
        return not newest or stamp - newest - most_ns <= one.received_ns - received

    def place() -> None:
        nonlocal newest, received
        stamp, one = coming.popleft()
        if one.error or not one.items:
            aside.append(one)
        elif not stamp:
            put(newest, one)
        elif (newest and stamp - newest <= most_ns) or goes_on(stamp, one):
            if stamp > newest:
                newest, received = stamp, one.received_ns
            put(stamp, one)
        else:
            aside.append(one)

    for one in arrived:
        if one.error or not one.items:
            coming.append((0, one))
        for item in one.items:
            single = one._replace(items=(item,))
            if getattr(item, 'static', False):
                yield single._replace(received_ns=now)
            else:
                coming.append((0 if type(item) is Commands else item.stamp, single))
        while len(coming) > ELECTORS:
            place()
        while len(heap) > ahead:
            yield from taken()
    while coming:
        place()
        while len(heap) > ahead:
            yield from taken()
    while heap:
        yield from taken()
    for one in aside:
        yield one._replace(received_ns=now)


class Feed:
    """
    The inputs in a recording, for a node with these settings and names.

    ``notes`` are what a user should know about that, one line each.

    """

    def __init__(self, recording: Recording, settings: Settings, names: Names) -> None:
        self.recording = recording
        self.notes: list[str] = []
        self._topics: dict[str, tuple[int, Subscription]] = {}
        self._types = {topic.name: topic.type for topic in recording.topics}
        hashes = {topic.name: topic.type_hash for topic in recording.topics}
        known = get_typestore(Stores.ROS2_JAZZY)
        for turn, one in enumerate(subscriptions(settings)):
            name = names.full(one.topic)
            if (
                name not in self._types
                and one.source in MOUNT
                and name == names.expanded(one.topic)
            ):
                name = self._only_one(one) or name
            kind = self._types.get(name)
            if kind == one.type and hashes[name] not in ('', known.hash_rihs01(kind)):
                self.notes.append(
                    f'{name} is left out: {kind} is defined differently in the recording.'
                )
            elif kind == one.type:
                self._topics[name] = turn, one
            elif kind is not None:
                self.notes.append(
                    f'{name} is left out: it is a {kind} in the recording, and the motor reads '
                    f'{one.type} there.'
                )

    @property
    def sources(self) -> dict[str, str]:
        """Return recorded topics that are read, and the session's name for what comes on them."""
        return {name: one.source for name, (_, one) in self._topics.items()}

    def _only_one(self, wanted: Subscription) -> str:
        """Return the one topic of the type of an input; '' where there is none, or several."""
        found = [name for name, kind in self._types.items() if kind == wanted.type]
        if len(found) == 1:
            self.notes.append(f'{found[0]} is read for {wanted.topic}.')
            return found[0]
        if found:
            self.notes.append(
                f'{wanted.topic} is not in the recording. Say which it is, as '
                f'-r {wanted.topic}:={found[0]} (also {", ".join(found[1:])}).'
            )
        return ''

    def arrived(self) -> Iterator[Arrived]:
        """Read the inputs in order of receipt."""
        if not self._topics:
            return
        for record in self.recording.records(tuple(self._topics)):
            turn, one = self._topics[record.topic]
            try:
                if record.type != one.type:  # a topic may have had two, one after the other
                    raise ValueError(f'it is a {record.type}, not a {one.type}')
                if len(record.data) > MOST_BYTES:
                    raise ValueError(f'{len(record.data)} bytes, more than {MOST_BYTES}')
                items = one.read(record.data if one.of_bytes else record.message)
            except UNREADABLE as error:
                why = f'{record.topic}: a message cannot be read ({error}); not used'
                yield Arrived(record.received_ns, turn, one.source, (), why)
            else:
                yield Arrived(record.received_ns, turn, one.source, items)
