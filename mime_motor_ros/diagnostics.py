"""What /diagnostics says of a node, once a second on a steady clock, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from .timeline import NANOSECONDS

OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)
PERIOD = 1.0  # [s]
RESIDUAL = 1e-6  # of the energy turned over, above which the audit is a WARN


def quantile(sorted_values: Sequence[float], share: float) -> float:
    """Return the value below which a share of sorted values lies, 0.0 when there are none."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


class Diagnostics:
    """Collects what the loop meets and publishes it; one status for each thing that can fail."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._system = Clock(clock_type=ClockType.SYSTEM_TIME)
        self._timer = node.create_timer(PERIOD, self.publish, clock=self._steady)
        self._lateness: list[int] = []
        self._before = (self._steady.now().nanoseconds, 0)

    def woke(self, late_ns: int) -> None:
        """Note how late the loop woke."""
        self._lateness.append(late_ns)

    def publish(self) -> None:
        """Publish one DiagnosticArray."""
        now = self._node.get_clock().now()
        if not now.nanoseconds:  # no /clock yet, and nothing is stamped 0
            now = self._system.now()
        with self._node.lock:
            statuses = self._statuses()
        message = DiagnosticArray(status=statuses)
        message.header.stamp = now.to_msg()
        self._publisher.publish(message)

    def _status(
        self, name: str, level: bytes, text: str, values: Mapping[str, Any]
    ) -> DiagnosticStatus:
        node = self._node
        return DiagnosticStatus(
            level=level,
            name=f'{node.get_name()}: {name}',
            message=text,
            hardware_id=node.get_fully_qualified_name(),
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )

    def _statuses(self) -> list[DiagnosticStatus]:
        session = self._node.session
        chosen = session.settings
        return [
            self._input(
                'mount pose',
                session.pose_stamp,
                chosen.pose_timeout,
                chosen.pose_source,
                ('tf', 'odometry', 'imu'),
            ),
            self._input(
                'mount rate',
                session.rate_stamp,
                chosen.rate_timeout,
                chosen.rate_source,
                ('imu', 'twist', 'odometry'),
            ),
            self._command(),
            self._stepping(),
            self._time(),
            self._transforms(),
            *(self._motor(i) for i in range(len(chosen.motors))),
        ]

    def _age(self, stamp: int | None) -> float | None:
        return None if stamp is None else (self._node.session.now_ns - stamp) / NANOSECONDS

    def _shown(self, age: float | None) -> dict[str, str]:
        return {} if age is None else {'age (s)': f'{age:.4f}'}

    def _refused(self, sources: tuple[str, ...]) -> dict[str, int]:
        counts = self._node.session.counts
        return {
            f'{source} {reason}': count
            for (source, reason), count in sorted(counts.items())
            if source in sources
        }

    def _input(
        self, name: str, stamp: int | None, timeout: int, source: str, sources: tuple[str, ...]
    ) -> DiagnosticStatus:
        session, age = self._node.session, self._age(stamp)
        still = source == 'zero' or (name == 'mount pose' and session.still)
        if still:
            level, text = OK, 'stands still'
        elif age is None and not session.waiting:
            level, text = OK, f'from {source}, by transforms that are all static'
        elif age is None:
            level, text = STALE, f'nothing usable from {source} yet'
        elif age * NANOSECONDS > timeout:
            level = STALE
            text = f'{age:.3f} s old, more than {timeout / NANOSECONDS:g} s: the motors are held'
        else:
            level, text = OK, f'from {source}'
        values = {'source': source, **self._shown(age), **self._refused(sources)}
        return self._status(name, level, text, values)

    def _command(self) -> DiagnosticStatus:
        session = self._node.session
        age, timeout = self._age(session.command_stamp), session.settings.command_timeout
        if not session.enabled:
            level, text = WARN, 'switched off by ~/enable: torque 0'
        elif age is None:
            level, text = OK, 'none yet: torque 0'
        elif timeout and age * NANOSECONDS > timeout:
            level, text = WARN, f'{age:.3f} s old, more than {timeout / NANOSECONDS:g} s: torque 0'
        else:
            level, text = OK, 'acts'
        loads = tuple(
            f'{motor.name} {link}_wrench'
            for motor in session.settings.motors
            for link in ('stator', 'rotor')
        )
        refused = self._refused(('commands', 'joint_command', *loads))
        return self._status('command', level, text, {**self._shown(age), **refused})

    def _stepping(self) -> DiagnosticStatus:
        session = self._node.session
        now, steps = self._steady.now().nanoseconds, session.steps
        seconds = max(1, now - self._before[0]) / NANOSECONDS
        reached, self._before = (steps - self._before[1]) / seconds, (now, steps)
        late, self._lateness = sorted(self._lateness), []
        if session.waiting:
            level, text = (WARN if session.paused else STALE), f'no steps: {session.waiting}'
        elif (
            reached + 1.0 / seconds < 0.95 * session.settings.rate
            and session.settings.step_on == 'timer'
            and not self._node.get_clock().ros_time_is_active
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
                'steps': steps,
                'steps caught up': session.caught_up,
                'gaps': session.gaps,
                'overflows': session.counts['step', 'overflow'],
            },
        )

    def _time(self) -> DiagnosticStatus:
        session = self._node.session
        simulated = self._node.get_clock().ros_time_is_active
        if not session.now_ns:
            return self._status(
                'time', STALE, 'no clock: nothing on /clock yet', {'source': '/clock'}
            )
        return self._status(
            'time',
            OK,
            'follows /clock' if simulated else 'follows the system clock',
            {
                'source': '/clock' if simulated else 'system',
                'jumps back': session.jumps,
                **self._refused(('clock',)),
            },
        )

    def _transforms(self) -> DiagnosticStatus:
        foreign = self._node.foreign
        if foreign:
            return self._status(
                'transforms',
                ERROR,
                'somebody else publishes our frames too: '
                f'{", ".join(foreign)}; set publish_tf to false or rename',
                {'frames': ', '.join(foreign)},
            )
        sent = self._node.session.settings.publish_tf
        text = 'ours alone' if sent else 'not published (publish_tf)'
        return self._status('transforms', OK, text, {})

    def _motor(self, index: int) -> DiagnosticStatus:
        session = self._node.session
        motor, state, energy = (
            session.settings.motors[index],
            session.states[index],
            session.energy[index],
        )
        kinetic = 0.5 * motor.model.inertia * state.spin * state.spin  # what rounding goes with
        turned = abs(energy.work) + energy.dissipated + abs(energy.stored) + kinetic
        level, text = OK, f'{state.spin:.6g} rad/s'
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
                'angle (rad)': repr(state.angle),
                'work in (J)': f'{energy.work:.9g}',
                'dissipated (J)': f'{energy.dissipated:.9g}',
                'stored (J)': f'{energy.stored:.9g}',
                'residual (J)': f'{energy.residual:.3g}',
            },
        )
