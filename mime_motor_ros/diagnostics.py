"""What /diagnostics says of a node, once a second on a steady clock, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from .errors import shortened
from .figures import quantile
from .graph import NOBODY, Peers, readers, senders
from .statuses import MOUNT, OK, STALE, Status, Statuses, WARN
from .timeline import NANOSECONDS

PERIOD = 1.0  # [s]
ENDS_A_LOOK = 32  # topics whose other ends are looked up each time, beside those of the mount
STANDS = 2.0  # [s] without a new /clock, above which that is said


class Diagnostics(Statuses):
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
        topics: dict[str, list[str]] = {}
        for source, _, subscription in inputs:
            topics.setdefault(source, []).append(subscription.topic_name)
        super().__init__(node.session, node.received, topics)
        self._before = (self._steady.now().nanoseconds, 0, 0)  # steady and node's clock, steps
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

    def fitting(self, topic: str) -> Sequence[str]:
        """Return who sends on a topic what arrives here."""
        return self._peers.get(topic, NOBODY).fitting

    def misfits(self, topic: str) -> Sequence[str]:
        """Return who is at the other end and exchanges nothing with us, and why."""
        return self._peers.get(topic, NOBODY).misfits

    def foreign(self) -> Sequence[str]:
        """Return which of the motors' frames somebody else has published of late."""
        return list(self._node.foreign)

    def _statuses(self) -> list[DiagnosticStatus]:
        session, steady_ns = self.session, self._steady.now().nanoseconds
        self.look(max(1, steady_ns - self._before[0]) / NANOSECONDS)
        statuses = [
            *self.of_inputs(),
            self._stepping(),
            self._time(steady_ns),
            self.of_transforms(),
            self._outputs(),
            *self.of_motors(),
        ]
        self._before = (steady_ns, session.now_ns, session.steps)
        return [self._message(one) for one in statuses]

    def _message(self, status: Status) -> DiagnosticStatus:
        node = self._node
        return DiagnosticStatus(
            level=bytes([status.level]),
            name=f'{node.get_name()}: {status.name}',
            message=shortened(status.text),
            hardware_id=node.get_fully_qualified_name(),
            values=[KeyValue(key=key, value=str(value)) for key, value in status.values.items()],
        )

    def _reached(self) -> float:
        """Return the steps a second since the last look, of the clock that the steps follow."""
        session, (_, before_ns, before) = self.session, self._before
        seconds = self._seconds
        if self._node.get_clock().ros_time_is_active:
            seconds = (session.now_ns - before_ns) / NANOSECONDS
        return (session.steps - before) / seconds if seconds > 0.0 else 0.0

    def _stepping(self) -> Status:
        session, reached = self.session, self._reached()
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

    def _time(self, steady_ns: int) -> Status:
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

    def _outputs(self) -> Status:
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
