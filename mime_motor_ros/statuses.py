"""
What is to be said of a session once a second, in plain words: for /diagnostics, live and recorded.

No ROS here. Who is at the other end of a topic is known to the node alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .sensing import Fault
from .session import ADVICE, Session, USUAL
from .settings import FAULTY
from .timeline import NANOSECONDS

OK, WARN, ERROR, STALE = range(4)
RESIDUAL = 1e-6  # of the energy turned over, above which the audit is a WARN
MOUNT = ('tf', 'imu', 'twist', 'odometry')
WORDS = {'imu': 'Imu', 'twist': 'TwistStamped', 'odometry': 'Odometry'}


def _with_advice(count: int, reason: str) -> str:
    advice = ADVICE.get(reason, '').rstrip('.')
    return f'{count} {reason}' + (f' ({advice})' if advice else '')


class Status(NamedTuple):
    """How one thing is that can fail."""

    name: str
    level: int
    text: str
    values: Mapping[str, Any]


class Statuses:
    """
    The statuses of a session; one for each thing that can fail.

    Parameters
    ----------
    session
        What is looked at.
    received
        Messages so far, by source, refused ones among them.
    topics
        Full names of the topics, by source.

    """

    def __init__(
        self, session: Session, received: Counter[str], topics: Mapping[str, Sequence[str]]
    ) -> None:
        self.session, self.received = session, received
        self._topics = topics
        self._received_before: Counter[str] = Counter()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._poses_before = 0
        self._seconds = 1.0

    def fitting(self, topic: str) -> Sequence[str]:
        """Return who sends on a topic what arrives here."""
        return ()

    def misfits(self, topic: str) -> Sequence[str]:
        """Return who sends there what does not, and why."""
        return ()

    def no_sender(self, topic: str, strangers: bool) -> str:
        """Say that nobody sends on a topic, or nobody who fits."""
        return f'{topic} has no publisher{" that fits" * strangers}'

    def silence(self, senders: Sequence[str]) -> str:
        """Say that those who send on a topic are silent."""
        return f'{", ".join(senders)} publishes there, its QoS fits, and nothing comes'

    def foreign(self) -> Sequence[str]:
        """Return which of the motors' frames somebody else has published of late."""
        return ()

    def look(self, seconds: float) -> None:
        """See what has come since the last look, so many seconds ago."""
        session = self.session
        self._seconds = seconds
        self._new = self.received - self._received_before
        self._newly_refused = session.counts - self._counts
        self._poses, self._poses_before = session.poses - self._poses_before, session.poses
        self._received_before, self._counts = self.received.copy(), session.counts.copy()

    def of_inputs(self) -> list[Status]:
        """Return how the inputs are."""
        session, chosen = self.session, self.session.settings
        return [
            self._input('mount pose', session.pose_stamp, chosen.pose_timeout, chosen.pose_source),
            self._input('mount rate', session.rate_stamp, chosen.rate_timeout, chosen.rate_source),
            self._command(),
        ]

    def of_transforms(self) -> Status:
        """Return how the transforms are, the motors' own and those that come in."""
        return self._transforms()

    def of_motors(self) -> list[Status]:
        """Return how each motor is."""
        return [self._motor(i) for i in range(len(self.session.settings.motors))]

    def _status(self, name: str, level: int, text: str, values: Mapping[str, Any]) -> Status:
        return Status(name, level, text, values)

    def _shown(self, age: float | None) -> dict[str, str]:
        return {} if age is None else {'age (s)': f'{age:.4f}'}

    def _refused(self, sources: Sequence[str]) -> dict[str, int]:
        counts = self.session.counts
        return {
            f'{source} {reason}': count
            for (source, reason), count in sorted(counts.items())
            if source in sources
        }

    def _input(self, name: str, stamp: int | None, timeout: int, source: str) -> Status:
        session = self.session
        age = session.age(stamp)
        complaints = list(self._complaints((source,)))
        if source == 'zero' or (name == 'mount pose' and session.still):
            return self._status(name, OK, 'stands still', {'source': source})
        old = age * NANOSECONDS > timeout if age is not None else bool(session.waiting)
        if old or session.lacking == name:
            level, text = STALE, self._missing(name, source, age, complaints)
        elif complaints:
            level, text = WARN, f'from {source}; {"; ".join(complaints)}'
        elif age is None:
            level, text = OK, f'from {source}, by transforms that are all static'
        else:
            level, text = OK, f'from {source}'
        topics = self._topics.get(source, ())
        values = {
            'source': source,
            **self._shown(age),
            'rate (Hz)': f'{self._came(source) / self._seconds:.1f}',
            'publishers': ' '.join(self._senders(topics)) or 'none',
            **self._refused((source,)),
        }
        return self._status(name, level, text, values)

    def _came(self, source: str) -> int:
        """Return how many came since the last look; of /tf, how many poses of the mount."""
        return int(self._poses if source == 'tf' else self._new[source])

    def _missing(
        self, name: str, source: str, age: float | None, complaints: Sequence[str]
    ) -> str:
        """Return what is missing, since when, why, and what follows: for who has to mend it."""
        chosen, session = self.session.settings, self.session
        topics = self._topics.get(source, [])
        if source == 'tf':
            what = f'pose of {chosen.mount_frame!r} in {chosen.world_frame!r} from /tf'
        else:
            what = f'{WORDS[source]} on {topics[0]}'
        if self._new[source] and source != 'tf':
            what = f'usable {what}'
        since = 'yet' if age is None else f'for {age:.1f} s'
        why = list(complaints)
        if session.lacking == name:
            prefix, _, reason = session.waiting.partition(f'{name}: ')
            why += [reason.rstrip('.')] if reason and not prefix else []
        there = self._senders(topics)
        if not there:
            strangers = any(self.misfits(topic) for topic in topics)
            why.insert(0, self.no_sender(topics[0], strangers))
        elif not self._new[source]:
            why.append(self.silence(there))
        if not why and source == 'tf':
            why.append(self._behind())
        why = why or ['its stamps are too old' if self._new[source] else 'nothing comes']
        return f'no {what} {since}: {"; ".join(why)}. The motors are held'

    def _behind(self) -> str:
        """Return which transform of the mount's chain is the oldest."""
        chosen, session = self.session.settings, self.session
        oldest = session.frames.oldest(chosen.world_frame, chosen.mount_frame, session.now_ns)
        if oldest is None:
            return 'nothing comes'
        child, stamp = oldest
        who = ', '.join(self._senders(self._topics['tf'][:1]))
        return (
            f'the newest transform of {child!r} is stamped {session.age(stamp):.1f} s ago '
            f'(/tf comes from {who})'
        )

    def _senders(self, topics: Sequence[str]) -> list[str]:
        found = {name for topic in topics for name in self.fitting(topic)}
        return sorted(found)

    def _complaints(self, sources: Sequence[str]) -> Iterator[str]:
        """Give what is wrong with these inputs now: who does not fit, and what is refused."""
        for source in sources:
            for topic in self._topics.get(source, ()):
                for misfit in self.misfits(topic):
                    yield f'nothing comes on {topic} from {misfit}'
            refused = {
                reason: count
                for (of, reason), count in sorted(self._newly_refused.items())
                if of == source and reason not in USUAL
            }
            if refused:
                reasons = ', '.join(map(_with_advice, refused.values(), refused))
                topics = ' and '.join(self._topics.get(source, (source,)))
                yield f'refused on {topics} in the last {self._seconds:.0f} s: {reasons}'

    def _command(self) -> Status:
        session = self.session
        age, timeout = session.age(session.command_stamp), session.settings.command_timeout
        sources = [source for source in self._topics if source not in MOUNT]
        complaints = list(self._complaints(sources))
        if not session.enabled:
            level, text = WARN, 'switched off by ~/enable: torque 0'
        elif age is None:
            level, text = OK, 'none yet: torque 0'
        elif timeout and age * NANOSECONDS > timeout:
            level, text = WARN, f'{age:.3f} s old, more than {timeout / NANOSECONDS:g} s: torque 0'
        else:
            level, text = OK, 'acts'
        if complaints:
            level, text = max(level, WARN), '; '.join((text, *complaints))
        new = sum(self._new[source] for source in sources)
        values = {
            **self._shown(age),
            'rate (Hz)': f'{new / self._seconds:.1f}',
            'publishers': ' '.join(
                self._senders([topic for source in sources for topic in self._topics[source]])
            )
            or 'none',
            **self._refused(sources),
        }
        return self._status('command', level, text, values)

    def _transforms(self) -> Status:
        foreign, refused = self.foreign(), self._refused(('tf',))
        complaints = list(self._complaints(('tf',)))
        if foreign:
            return self._status(
                'transforms',
                ERROR,
                'somebody else publishes our frames too: '
                f'{", ".join(foreign)}; set publish_tf to false or rename',
                {'frames': ', '.join(foreign), **refused},
            )
        sent = self.session.settings.publish_tf
        text = 'ours alone' if sent else 'not published (publish_tf)'
        level = WARN if complaints else OK
        return self._status('transforms', level, '; '.join((text, *complaints)), refused)

    def _motor(self, index: int) -> Status:
        session = self.session
        motor, state, energy = (
            session.settings.motors[index],
            session.states[index],
            session.energy[index],
        )
        kinetic = 0.5 * motor.model.inertia * state.spin * state.spin  # what rounding goes with
        turned = energy.turned_over + kinetic
        level, text = OK, f'{state.spin:.6g} rad/s'
        active = session.drives[index].active
        if active:
            text += f', limited: {active.words}'
        faults = [
            f'{name} {fault.value}'
            for name, fault in zip(FAULTY, motor.faults, strict=True)
            if fault is not Fault.NONE
        ]
        if faults:
            text += f', sensor faults: {", ".join(faults)}'
        if abs(energy.residual) > RESIDUAL * turned:
            level, text = (
                WARN,
                f'energy does not balance: {energy.residual:.3g} J of {turned:.3g} J',
            )
        return self._status(
            motor.name,
            level,
            text,
            {
                'spin (rad/s)': repr(state.spin),
                'torque (N m)': repr(session.torques[index]),
                'limits active': active.words or 'none',
                'angle (rad)': repr(state.angle),
                'work in (J)': f'{energy.work:.9g}',
                'dissipated (J)': f'{energy.dissipated:.9g}',
                'stored (J)': f'{energy.stored:.9g}',
                'residual (J)': f'{energy.residual:.3g}',
            },
        )
