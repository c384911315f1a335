"""What /diagnostics says of a node, once a second on a steady clock, in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from .drive import Active
from .errors import shortened
from .figures import quantile
from .graph import NOBODY, Peers, readers, senders
from .sensing import Fault
from .session import ADVICE, USUAL
from .settings import FAULTY
from .timeline import NANOSECONDS

OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)
PERIOD = 1.0  # [s]
RESIDUAL = 1e-6  # of the energy turned over, above which the audit is a WARN
ENDS_A_LOOK = 32  # topics whose other ends are looked up each time, beside those of the mount
STANDS = 2.0  # [s] without a new /clock, above which that is said
MOUNT = ('tf', 'imu', 'twist', 'odometry')
WORDS = {'imu': 'Imu', 'twist': 'TwistStamped', 'odometry': 'Odometry'}


def _with_advice(count: int, reason: str) -> str:
    advice = ADVICE.get(reason, '').rstrip('.')
    return f'{count} {reason}' + (f' ({advice})' if advice else '')


class Diagnostics:
    """Collects what the loop meets and publishes it; one status for each thing that can fail."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._system = Clock(clock_type=ClockType.SYSTEM_TIME)
        self._timer = node.create_timer(PERIOD, self.publish, clock=self._steady)
        self._lateness: list[int] = []
        self._peers: dict[str, Peers] = {}
        # The other ends of what the mount needs are looked up every time, the rest in turn.
        inputs = [(source, senders, subscription) for source, subscription, _ in node.inputs]
        self._first = [(look, end) for source, look, end in inputs if source in MOUNT]
        others: list[tuple[Any, Any]] = [
            (look, end) for source, look, end in inputs if source not in MOUNT
        ]
        others += [(readers, output.publisher) for output in node.outputs]
        self._others = cycle(others)
        self._others_a_look = min(ENDS_A_LOOK, len(others))
        self._topics: dict[str, list[str]] = {}
        for source, _, subscription in inputs:
            self._topics.setdefault(source, []).append(subscription.topic_name)
        self._received: Counter[str] = Counter()  # by source, at the last look
        self._counts: Counter[tuple[str, str]] = Counter()
        self._before = (self._steady.now().nanoseconds, 0, 0)  # steady and node's clock, steps
        self._poses_before = 0
        self._moved = (0, 0)  # the node's clock, and when on the steady one it came there

    def woke(self, late_ns: int) -> None:
        """Note how late the loop woke."""
        self._lateness.append(late_ns)

    def publish(self) -> None:
        """Publish one DiagnosticArray."""
        now = self._node.get_clock().now()
        if not now.nanoseconds:  # no /clock yet, and nothing is stamped 0
            now = self._system.now()
        self.look_around()
        with self._node.lock:
            statuses = self._statuses()
        message = DiagnosticArray(status=statuses)
        message.header.stamp = now.to_msg()
        self._publisher.publish(message)

    def look_around(self) -> None:
        """See who is at the other end of our topics."""
        for look, end in (*self._first, *islice(self._others, self._others_a_look)):
            self._peers[end.topic_name] = look(self._node, end)

    def _status(
        self, name: str, level: bytes, text: str, values: Mapping[str, Any]
    ) -> DiagnosticStatus:
        node = self._node
        return DiagnosticStatus(
            level=level,
            name=f'{node.get_name()}: {name}',
            message=shortened(text),
            hardware_id=node.get_fully_qualified_name(),
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )

    def _statuses(self) -> list[DiagnosticStatus]:
        node, session = self._node, self._node.session
        chosen, steady_ns = session.settings, self._steady.now().nanoseconds
        self._seconds = max(1, steady_ns - self._before[0]) / NANOSECONDS
        self._new = node.received - self._received
        self._newly_refused = session.counts - self._counts
        self._poses, self._poses_before = session.poses - self._poses_before, session.poses
        statuses = [
            self._input('mount pose', session.pose_stamp, chosen.pose_timeout, chosen.pose_source),
            self._input('mount rate', session.rate_stamp, chosen.rate_timeout, chosen.rate_source),
            self._command(),
            self._stepping(),
            self._time(steady_ns),
            self._transforms(),
            self._outputs(),
            *(self._motor(i) for i in range(len(chosen.motors))),
        ]
        self._before = (steady_ns, session.now_ns, session.steps)
        self._received, self._counts = node.received.copy(), session.counts.copy()
        return statuses

    def _shown(self, age: float | None) -> dict[str, str]:
        return {} if age is None else {'age (s)': f'{age:.4f}'}

    def _refused(self, sources: Sequence[str]) -> dict[str, int]:
        counts = self._node.session.counts
        return {
            f'{source} {reason}': count
            for (source, reason), count in sorted(counts.items())
            if source in sources
        }

    def _input(self, name: str, stamp: int | None, timeout: int, source: str) -> DiagnosticStatus:
        session = self._node.session
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
        chosen, session = self._node.session.settings, self._node.session
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
            strangers = any(self._peers.get(topic, NOBODY).misfits for topic in topics)
            why.insert(0, f'{topics[0]} has no publisher{" that fits" * strangers}')
        elif not self._new[source]:
            why.append(f'{", ".join(there)} publishes there, its QoS fits, and nothing comes')
        if not why and source == 'tf':
            why.append(self._behind())
        why = why or ['its stamps are too old' if self._new[source] else 'nothing comes']
        return f'no {what} {since}: {"; ".join(why)}. The motors are held'

    def _behind(self) -> str:
        """Return which transform of the mount's chain is the oldest."""
        chosen, session = self._node.session.settings, self._node.session
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
        found = {name for topic in topics for name in self._peers.get(topic, NOBODY).fitting}
        return sorted(found)

    def _complaints(self, sources: Sequence[str]) -> Iterator[str]:
        """Give what is wrong with these inputs now: who does not fit, and what is refused."""
        for source in sources:
            for topic in self._topics.get(source, ()):
                for misfit in self._peers.get(topic, NOBODY).misfits:
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

    def _command(self) -> DiagnosticStatus:
        session = self._node.session
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

    def _reached(self) -> float:
        """Return the steps a second since the last look, of the clock that the steps follow."""
        session, (_, before_ns, before) = self._node.session, self._before
        seconds = self._seconds
        if self._node.get_clock().ros_time_is_active:
            seconds = (session.now_ns - before_ns) / NANOSECONDS
        return (session.steps - before) / seconds if seconds > 0.0 else 0.0

    def _stepping(self) -> DiagnosticStatus:
        session, reached = self._node.session, self._reached()
        late, self._lateness = sorted(self._lateness), []
        if session.waiting:
            level, text = (WARN if session.paused else STALE), f'no steps: {session.waiting}'
        elif (
            reached + 1.0 / self._seconds < 0.95 * session.settings.rate
            and session.settings.step_on == 'timer'
            and not self._node.get_clock().ros_time_is_active  # whose steps have no time to keep
        ):
            level, text = WARN, f'{reached:.1f} steps/s, wanted {session.settings.rate:g}'
        else:
            level, text = OK, f'{reached:.1f} steps/s'
        wanted = (
            f'{session.settings.rate:g}' if session.settings.step_on == 'timer' else 'as the imu'
        )
        return self._status(
            'stepping',
            level,
            text,
            {
                'wanted rate (Hz)': wanted,
                'reached rate (Hz)': f'{reached:.1f}',
                'lateness p50 (ms)': f'{quantile(late, 0.5) / 1e6:.3f}',
                'lateness p99 (ms)': f'{quantile(late, 0.99) / 1e6:.3f}',
                'lateness max (ms)': f'{(late or [0])[-1] / 1e6:.3f}',
                'steps': session.steps,
                'steps caught up': session.caught_up,
                'gaps': session.gaps,
                'overflows': session.counts['step', 'overflow'],
                **session.held,
            },
        )

    def _time(self, steady_ns: int) -> DiagnosticStatus:
        node, session = self._node, self._node.session
        simulated = node.get_clock().ros_time_is_active
        if session.now_ns != self._moved[0] or not simulated:
            self._moved = (session.now_ns, steady_ns)
        stood = (steady_ns - self._moved[1]) / NANOSECONDS
        publishers = node.count_publishers('/clock')
        values = {
            'source': '/clock' if simulated else 'system',
            'jumps back': session.jumps,
            **({'publishers': publishers} if simulated else {}),
            **self._refused(('clock',)),
        }
        if not session.now_ns:
            there = f'{publishers} publish' if publishers else 'it has no publisher'
            text = f'no clock: nothing on /clock yet ({there}). No steps until it comes'
            return self._status('time', STALE, text, values)
        if stood > STANDS:
            return self._status('time', WARN, f'/clock stands still for {stood:.1f} s', values)
        if simulated and publishers > 1:
            text = f'/clock has {publishers} publishers: time may jump between them'
            return self._status('time', WARN, text, values)
        text = 'follows /clock' if simulated else 'follows the system clock'
        return self._status('time', OK, text, values)

    def _outputs(self) -> DiagnosticStatus:
        node = self._node
        topics = [output.publisher.topic_name for output in node.outputs]
        misfits = [
            f'nothing of {topic} goes to {misfit}'
            for topic in topics
            for misfit in self._peers.get(topic, NOBODY).misfits
        ]
        read = sum(output.read for output in node.outputs)
        text = '; '.join(misfits) or f'{read} of {len(topics)} topics are read'
        return self._status('outputs', WARN if misfits else OK, text, {'topics read': read})

    def _transforms(self) -> DiagnosticStatus:
        foreign, refused = self._node.foreign, self._refused(('tf',))
        complaints = list(self._complaints(('tf',)))
        if foreign:
            return self._status(
                'transforms',
                ERROR,
                'somebody else publishes our frames too: '
                f'{", ".join(foreign)}; set publish_tf to false or rename',
                {'frames': ', '.join(foreign), **refused},
            )
        sent = self._node.session.settings.publish_tf
        text = 'ours alone' if sent else 'not published (publish_tf)'
        level = WARN if complaints else OK
        return self._status('transforms', level, '; '.join((text, *complaints)), refused)

    def _motor(self, index: int) -> DiagnosticStatus:
        session = self._node.session
        motor, state, energy = (
            session.settings.motors[index],
            session.states[index],
            session.energy[index],
        )
        kinetic = 0.5 * motor.model.inertia * state.spin * state.spin  # what rounding goes with
        turned = energy.turned_over + kinetic
        level, text = OK, f'{state.spin:.6g} rad/s'
        active = Active(session.drives[index].active)
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
