"""
What a session makes of inputs that were heard: its steps, the ages it met, and its own words.

No rule about time or validity is here: a `Session` is fed and watched. No ROS, no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
import re
from typing import Any, NamedTuple

from ..session import Session, source_of
from ..settings import LONGEST_GAP, Settings
from ..timeline import NANOSECONDS
from ..vector import conjugate, Quaternion, rotate, Vector

MOST_STEPS = 60_000
"""Steps times motors, above which the steps of the grid are made more rarely,"""
LEAST_A_TIMEOUT = 10
"""but never so rarely that fewer come in the shortest timeout: ages are met at steps."""


class Received(NamedTuple):
    """One input and when it was received."""

    now_ns: int
    """The clock of the session [ns], 0 before the first /clock."""
    item: Any = None
    """An input, or None: time went on."""
    arrives: bool = True
    """False for what was heard in another way, and would not reach the motor node."""
    sequence: int | None = None
    """The sender's own count of its messages, where the transport tells it."""


@dataclass
class Rehearsal:
    """A session that was fed, and what was seen of it meanwhile."""

    session: Session
    given: Counter[str] = field(default_factory=Counter)
    """Inputs, by the session's names for them."""
    looks: int = 0
    """Looks at the session since its first step."""
    stepping: int = 0
    """Of these, those that found no step missing."""
    words: Counter[str] = field(default_factory=Counter)
    """Why steps were missing, without figures, by looks since the first step."""
    examples: dict[str, str] = field(default_factory=dict)
    """The same words with the figures of the last time."""
    pose_ages: list[float] = field(default_factory=list)
    """Age of the pose at each look [s]; empty where it is static."""
    rate_ages: list[float] = field(default_factory=list)
    poses: list[tuple[int, Quaternion]] = field(default_factory=list)
    """Stamps and orientations of the mount that steps have read."""
    rates: list[tuple[int, Vector]] = field(default_factory=list)
    """Stamps of the rates that steps have read, and these in mount axes."""

    def look(self) -> None:
        """Note how the session does."""
        session = self.session
        for ages, stamp in (
            (self.pose_ages, session.pose_stamp),
            (self.rate_ages, session.rate_stamp),
        ):
            if (age := session.age(stamp)) is not None:
                ages.append(age)
        if not session.steps:
            return
        self.looks += 1
        if not session.waiting:
            self.stepping += 1
            return
        words = re.sub(r'\d[\d.]*', '#', session.waiting)
        self.words[words] += 1
        self.examples[words] = session.waiting

    def advance(self, now_ns: int, most: int) -> None:
        """Let time come so far, one step after the other, and note what each has read."""
        session = self.session
        for _ in range(most):
            for outcome in session.advance_to(now_ns, 1):
                self._note(self.poses, session.pose_stamp, outcome.mount.orientation)
                back = conjugate(outcome.mount.orientation)
                self._note(self.rates, session.rate_stamp, rotate(back, outcome.rate))

    def _note(self, series: list[tuple[int, Any]], stamp: int | None, value: Any) -> None:
        if stamp is not None and not (series and series[-1][0] == stamp):
            series.append((stamp, value))


def elapsed(received: Sequence[Received]) -> float:
    """Return how much time went on meanwhile [s]; jumps back and of minutes are none."""
    times = [one.now_ns for one in received if one.now_ns]
    steps = (b - a for a, b in zip(times, times[1:], strict=False))
    return sum(step for step in steps if 0 < step <= LONGEST_GAP * NANOSECONDS) / NANOSECONDS


def rehearse(settings: Settings, received: Sequence[Received]) -> Rehearsal:
    """Feed a session with what was received, in this order."""
    seconds = max(elapsed(received), 1e-3)
    shortest = min(settings.pose_timeout, settings.rate_timeout) / NANOSECONDS
    least = max(MOST_STEPS / len(settings.motors) / seconds, LEAST_A_TIMEOUT / shortest)
    rate = min(settings.rate, least)
    session = Session(replace(settings, rate=rate))
    made = Rehearsal(session)
    on_rate = settings.step_on == 'imu'
    # More at once is a gap, and two steps apart is none.
    most = 2 + int(max(settings.max_gap * rate / NANOSECONDS, 2.0))
    ticked, fresh = None, 0
    for i, (now_ns, item, *_) in enumerate(received):
        if item is not None:
            made.given[source_of(item)] += 1
            session.take(item, now_ns)
            fresh += 1
        if i + 1 < len(received) and received[i + 1].now_ns == now_ns:
            continue  # all that came at one moment, then the steps
        tick = session.grid.tick(now_ns - settings.settle)
        due = fresh if on_rate else tick - (tick if ticked is None else ticked)
        ticked, fresh = tick, 0
        made.advance(now_ns, 1 + max(0, due if on_rate else min(due, most)))
        made.look()
    return made
