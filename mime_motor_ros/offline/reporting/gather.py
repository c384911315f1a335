"""From rows that pass by to what a report needs of them, in bounded memory."""

from __future__ import annotations

import numpy as np

from ...drive import Active
from ...timeline import nanoseconds
from .source import Block
from .traces import Spread, Times, Trace, Values

XYZ = ('x', 'y', 'z')
PAUSE = 0.5
"""A longer time between two rows [s] is a gap, in which a session takes no steps."""
MISSING = 1.9
"""Of the usual spacing: from there on one step at least is missing."""
OTHER_CLOCK = 1e3
"""Between stamp and receipt [s]: they are of different clocks."""
SUMS = ('work_j', 'dissipated_j', 'stored_j')
TOTALS = {
    'reaction_force': 'n',
    'reaction_torque': 'n_m',
    'mount_wrench_force': 'n',
    'mount_wrench_torque': 'n_m',
    'momentum': 'n_m_s',
    'momentum_world': 'n_m_s',
}


class Balance:
    """
    The energy balance of one rotor, out of its recorded state, as `energy.Energy` has it.

    Without the work of loads and of the asymmetry, which are not recorded: it is what remains.
    The inertia is that of momentum over spin.
    """

    def __init__(self) -> None:
        self.inertia = np.nan
        self._work = self._heat = self._squares = self._rest = 0.0
        self._spin = np.nan

    def add(
        self, dt: Values, spin: Values, speed: Values, torque: Values, friction: Values, H: Values
    ) -> dict[str, Values]:
        """Return the sums behind each row [J]; ``dt`` [s] is 0 where none was integrated."""
        known = np.isfinite(spin)
        if not known.all():  # as where a message was lost: its time goes to the row behind it
            sums = np.full((3, len(spin)), np.nan)
            time = self._rest + np.cumsum(dt)
            if known.any():
                rows = [x[known] for x in (spin, speed, torque, friction, H)]
                self._rest, rest = 0.0, float(time[-1] - time[known][-1])
                sums[:, known] = [*self.add(np.diff(time[known], prepend=0.0), *rows).values()]
                self._rest = rest
            else:
                self._rest = float(time[-1])
            return dict(zip(SUMS, sums, strict=True))
        dt = dt.copy()
        dt[0] += self._rest
        self._rest = 0.0
        fastest = int(np.argmax(np.abs(spin)))
        if not np.isfinite(self.inertia) and abs(spin[fastest]) > 1e-9:
            self.inertia = float(H[fastest] / abs(spin[fastest]))
        old = np.concatenate(([self._spin], spin[:-1]))
        old = np.where(np.isfinite(old), old, spin)
        dt = np.where(np.isfinite(torque + friction + speed), dt, 0.0)
        mean = 0.5 * (old + spin)
        drag = -np.where(dt > 0.0, friction, 0.0)
        driven = np.where(dt > 0.0, torque, 0.0)
        relative = np.where(dt > 0.0, speed, 0.0)
        work = self._work + np.cumsum(dt * (driven * mean - drag * (mean - relative)))
        heat = self._heat + np.cumsum(dt * drag * relative)
        squares = self._squares + np.cumsum(mean * (spin - old))
        self._work, self._heat, self._squares = float(work[-1]), float(heat[-1]), squares[-1]
        self._spin = float(spin[-1])
        inertia = self.inertia if np.isfinite(self.inertia) else 0.0
        return dict(zip(SUMS, (work, heat, inertia * squares), strict=True))


class Gathered:
    """
    All of a recording that a report shows.

    Attributes
    ----------
    traces : by column; norms of vectors end in ``_norm``
    first_ns, last_ns : the earliest and the latest stamp in the span
    rows : how many
    spacing, lateness : between the stamps of steps, and from stamp to receipt
    limited : by motor, for how long which limits acted [s]
    seconds : how long rows say what acted
    backwards, repeated : times at which the stamps went back, or did not go on
    skipping : of the rows in which a rotor turned, the share before which others were left out
    balances : by motor, where the energy is counted here

    """

    def __init__(self, motors: list[str], start: float = 0.0, duration: float | None = None):
        self.motors = motors
        self.traces: dict[str, Trace] = {}
        self.spacing, self.lateness = Spread(), Spread()
        self.first_ns = self.last_ns = self.rows = self.backwards = self.repeated = 0
        self.seconds = 0.0
        self.limited: dict[str, dict[str, float]] = {name: {} for name in motors}
        self.balances: dict[str, Balance] = {}
        self.is_live = self.has_other_clock = False
        self._zero_ns: int | None = None
        self._start_ns = nanoseconds(start)
        self._length_ns = None if duration is None else nanoseconds(duration)
        self._before: int | None = None
        self._angles: dict[str, float] = {}
        self._turned = self._skipped = 0
        self._bases: dict[str, float] = {}

    def add(self, block: Block) -> bool:
        """Take rows; return whether later ones can be in the span."""
        stamps = block.stamps
        if not len(stamps):
            return True
        if self._zero_ns is None:
            if not block.are_steps:
                return True
            self._zero_ns = int(stamps[0])
        begin = self._zero_ns + self._start_ns
        end = None if self._length_ns is None else begin + self._length_ns
        inside = stamps >= begin if self._start_ns else np.ones(len(stamps), bool)
        if end is not None:
            inside &= stamps <= end
        more = end is None or not block.are_steps or int(stamps[0]) <= end
        if not inside.any():
            return more
        columns = block.columns
        received = block.received
        if not inside.all():
            stamps = stamps[inside]
            columns = {name: values[inside] for name, values in columns.items()}
            received = None if received is None else received[inside]
        if block.are_steps:
            columns = self._steps(stamps, dict(columns), received)
        for name, values in columns.items():
            self._trace(name).add(stamps, values)
        return more

    def _trace(self, name: str) -> Trace:
        if name not in self.traces:
            self.traces[name] = Trace()
        return self.traces[name]

    def _steps(
        self, stamps: Times, columns: dict[str, Values], received: Times | None
    ) -> dict[str, Values]:
        first, last = int(stamps.min()), int(stamps.max())
        self.first_ns = min(self.first_ns, first) if self.rows else first
        self.last_ns = max(self.last_ns, last) if self.rows else last
        self.rows += len(stamps)
        dt = self._timing(stamps, received)
        for motor in self.motors:
            self._motor(motor, dt, columns)
        if 'momentum_x_n_m_s' not in columns:
            for axis in XYZ:
                parts = [columns.get(f'{m}.momentum_{axis}_n_m_s') for m in self.motors]
                known = [x for x in parts if x is not None]
                if known:
                    columns[f'momentum_{axis}_n_m_s'] = np.sum(known, axis=0)
        for name, unit in TOTALS.items():
            if (norm := _norm(columns, name, unit)) is not None:
                columns[f'{name}_norm_{unit}'] = norm
        return columns

    def _timing(self, stamps: Times, received: Times | None) -> Values:
        """Note how the rows follow each other; return dt [s], 0 before the first and in a gap."""
        is_first = self._before is None
        before = int(stamps[0]) if self._before is None else self._before
        steps = np.diff(stamps, prepend=before)
        self._before = int(stamps[-1])
        forward = steps > 0
        self.backwards += int(np.count_nonzero(steps < 0))
        self.repeated += int(np.count_nonzero(steps == 0)) - is_first
        self.spacing.add(steps[forward])
        self._trace('spacing_ms').add(stamps[forward], steps[forward] * 1e-6)
        if received is not None and (received != stamps).any():
            self.is_live = True
            late = received - stamps
            if abs(float(np.median(late))) > OTHER_CLOCK * 1e9:
                self.has_other_clock = True
            else:
                self.lateness.add(late)
                self._trace('lateness_ms').add(stamps, late * 1e-6)
        dt = np.where(forward, steps * 1e-9, 0.0)
        dt[dt > PAUSE] = 0.0
        self.seconds += float(dt.sum())
        return dt

    def _motor(self, motor: str, dt: Values, columns: dict[str, Values]) -> None:
        def of(name: str) -> Values | None:
            return columns.get(f'{motor}.{name}')

        effort = columns.pop(f'{motor}.effort_n_m', None)
        if of('torque_n_m') is None and effort is not None:
            columns[f'{motor}.torque_n_m'] = effort
        torque, speed, spin = of('torque_n_m'), of('speed_rad_s'), of('spin_rad_s')
        if of('power_w') is None and torque is not None and speed is not None:
            columns[f'{motor}.power_w'] = torque * speed
        limits, angle, friction = of('limits'), of('angle_rad'), of('friction_torque_n_m')
        if limits is not None:
            bits = np.where(np.isfinite(limits), limits, 0.0).astype(np.int64)
            for one in Active:
                acts = float(dt[bits & one.value != 0].sum())
                if acts:
                    words = self.limited[motor]
                    words[one.words] = words.get(one.words, 0.0) + acts
            columns[f'{motor}.limited'] = (bits != 0).astype(float)
        H = _norm(columns, f'{motor}.momentum', 'n_m_s')
        if of('work_j') is not None:
            self._rebased(motor, columns)
        else:
            parts = [x for x in (spin, speed, torque, friction, H) if x is not None]
            if len(parts) == 5:
                sums = self.balances.setdefault(motor, Balance()).add(dt, *parts)
                columns.update({f'{motor}.{name}': x for name, x in sums.items()})
            if angle is not None and speed is not None:
                self._skips(motor, dt, angle, speed)
        work, heat, stored = (of(x) for x in SUMS)
        if work is not None and heat is not None and stored is not None:
            columns[f'{motor}.residual_j'] = work - heat - stored

    def _rebased(self, motor: str, columns: dict[str, Values]) -> None:
        """Have the sums of energy begin where the span begins."""
        if not self._start_ns:
            return
        for name in SUMS:
            key = f'{motor}.{name}'
            if key in columns:
                base = self._bases.setdefault(key, float(columns[key][0]))
                columns[key] = columns[key] - base

    def _skips(self, motor: str, dt: Values, angle: Values, speed: Values) -> None:
        """
        Count rows before which others were left out.

        Equation (7): in one step the angle goes on by dt times the speed at its end, which it
        does not over several steps of a speed that changes.
        """
        before = np.concatenate(([self._angles.get(motor, np.nan)], angle[:-1]))
        self._angles[motor] = float(angle[-1])
        off = np.abs(angle - before - dt * speed)
        way = np.abs(dt * speed)
        turned = (dt > 0.0) & (way > 1e-9) & np.isfinite(off)
        skipped = off > 1e-6 * way + 1e-12 * np.abs(angle) + 1e-12
        self._turned += int(np.count_nonzero(turned))
        self._skipped += int(np.count_nonzero(turned & skipped))

    @property
    def skipping(self) -> float:
        """Return the share of rows before which others were left out."""
        return self._skipped / self._turned if self._turned else 0.0

    @property
    def gaps(self) -> int:
        """Return how often one step at least was missing."""
        middles, counts = self.spacing.bins()
        usual = self.spacing.quantile(0.5)
        return int(counts[middles > MISSING * usual].sum())


def _norm(columns: dict[str, Values], name: str, unit: str) -> Values | None:
    parts = [columns.get(f'{name}_{axis}_{unit}') for axis in XYZ]
    known = [x for x in parts if x is not None]
    if len(known) < len(XYZ):
        return None
    norm: Values = np.sqrt(np.sum(np.square(known), axis=0))
    return norm
