"""What was seen of the inputs, what is found in it, and words for both. No ROS here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..inputs import Imu, Odometry, Transform, Twist
from ..settings import Settings
from ..timeline import NANOSECONDS
from .rehearsal import elapsed, Received, Rehearsal

KINDS: dict[str, type] = {'imu': Imu, 'twist': Twist, 'odometry': Odometry}
SHOWN = 6  # names in a line


class Finding(NamedTuple):
    """One thing that was looked at, and how it is."""

    level: str
    """'ok', 'warning' or 'error'."""
    subject: str
    text: str
    values: Mapping[str, Any] = {}
    """The figures of the text, for programs."""


class Topic(NamedTuple):
    """One input topic of the motor node, and who is at its other end."""

    source: str
    """The session's name for what comes on it."""
    name: str
    type: str
    fitting: tuple[str, ...] = ()
    """Who publishes it in a way that the motor node receives."""
    misfits: tuple[str, ...] = ()
    """Who does not, and why."""
    elsewhere: tuple[str, ...] = ()
    """Other topics on which such messages come."""
    unreadable: int = 0
    """Messages that ROS could not read."""


@dataclass(frozen=True)
class Seen:
    """All that was seen of inputs in some seconds, or of a recording."""

    received: Sequence[Received] = ()
    topics: Sequence[Topic] = ()
    """None: of a recording, whose ends are not known."""
    motors: Sequence[str] = ()
    """Full names of the motor nodes that run where this one would, one for each."""
    simulated: bool = False
    """Whether time is that of /clock."""
    clocks: Sequence[str] = ()
    """Who publishes /clock."""
    senders_of_tf: Sequence[str] = ()
    """Who publishes transforms, moving or static."""
    flooded: bool = False
    """Whether so much came that listening ended before its time."""


@dataclass
class Case:
    """What the parts of the judgement share."""

    settings: Settings
    seen: Seen
    heard: Rehearsal
    """A session that was fed with all that was heard."""
    arriving: Rehearsal
    """One that was fed with what reaches the motor node."""

    @cached_property
    def transforms(self) -> list[tuple[Received, Transform]]:
        """Return the transforms that were heard."""
        return self.of(Transform)

    @property
    def seconds(self) -> float:
        """Return how long was listened, by the session's clock [s]."""
        return elapsed(self.seen.received)

    @property
    def held_up(self) -> float:
        """Return the longest time between two looks at the live topics [s]."""
        if self.seen.simulated or not self.seen.topics:
            return 0.0
        looks = [one.now_ns for one in self.seen.received if one.item is None]
        return (
            max((b - a for a, b in zip(looks, looks[1:], strict=False)), default=0) / NANOSECONDS
        )

    @property
    def still(self) -> bool:
        """Tell whether the mount cannot move."""
        return self.heard.session.still

    def of(self, *kinds: type) -> list[tuple[Received, Any]]:
        """Return what was heard of some kinds of inputs."""
        return [(one, one.item) for one in self.seen.received if type(one.item) in kinds]


def different(case: Case, source: str) -> list[Any]:
    """Return one message of each frame that an input has, a few at the most."""
    if source not in KINDS:
        return []
    by_frame: dict[Any, Any] = {}
    for _, item in case.of(KINDS[source]):
        by_frame.setdefault((item.frame, getattr(item, 'child', '')), item)
    return list(by_frame.values())[:SHOWN]


def topic_of(case: Case, source: str) -> Topic | None:
    """Return the first topic of a source, None in a recording."""
    return next((topic for topic in case.seen.topics if topic.source == source), None)


def plain(frame: str) -> str:
    """Return a frame id as the session uses it."""
    return frame.removeprefix('/')


def listed(names: Sequence[str]) -> str:
    """Return names in a line, a few of many."""
    rest = len(names) - SHOWN
    shown = [name if name.isprintable() else repr(name) for name in names[:SHOWN]]
    return ', '.join(shown) + (f' and {rest} more' if rest > 0 else '')
