"""
How late a sample acts, and when one is taken: delay, interpolation and interval.

Integer nanoseconds and tuples of floats, no clock, no ROS, no numpy. The same for commands, which
arrive in any order, and for what a sensor measures. A step that ends at t looks at x = t - delay.
Of the samples stamped at or before t, none later, with p_1 the newest at or before x, p_2 the
next, h = s_2 - s_1 and u = (x - s_1) / h, there acts

    hold    p_1
    linear  p_1 + u (p_2 - p_1)
    cubic   p_1 + u (m_1 + u (3 d - 2 m_1 - m_2 + u (m_1 + m_2 - 2 d))),    d = p_2 - p_1,
            m_1 = h (p_2 - p_0) / (s_2 - s_0),    m_2 = h (p_3 - p_1) / (s_3 - s_1)

which is Catmull and Rom's curve in Hermite's form; m_1 = d without p_0, and m_2 = d without p_3.
These slopes, over the real stamps, keep the curve near its samples however unequal they are
spaced: m_1 is never more than p_2 - p_0, where the slope of a parabola through p_0, p_1, p_2 is
a billion times that when two stamps are 1 ns apart. Without p_2 nothing is extrapolated: p_1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar

from .errors import ParameterError
from .timeline import NANOSECONDS, Stream

INTERPOLATIONS = ('hold', 'linear', 'cubic')
_SLACK = 16  # so many samples stay, needed or not, so that forgetting is not done at every step

Sample = TypeVar('Sample', bound='tuple[float, ...]')


@dataclass(frozen=True)
class Sampling:
    """
    How late samples act and how often one is taken; without arguments, at once at every step.

    Parameters
    ----------
    delay : [ns], 0 to max_delay
        From the stamp of a sample to when it acts; all of its numbers together.
    interpolation : 'hold', 'linear' or 'cubic'
        Between two samples. It needs the sample after, so it is smooth where the delay is not
        shorter than the time between two samples (cubic: two); the sample before is held
        until the one after is there, so without a delay it does nothing.
    interval : [ns], >= 0
        Between two instants at which a sample is taken, and held until the next; 0: every step.
    phase : [ns]
        The instants are phase + k interval, k any whole number, from the zero of the clock.
    max_delay : [ns], >= 0
        How far back samples are kept, up to which the delay may be changed while running.

    Raises
    ------
    ParameterError
        If a value breaks its rule; the text gives times in seconds.

    """

    delay: int = 0
    interpolation: str = 'hold'
    interval: int = 0
    phase: int = 0
    max_delay: int = NANOSECONDS

    def __post_init__(self) -> None:
        for name in ('delay', 'interval', 'max_delay'):
            value = getattr(self, name)
            if not value >= 0:
                raise ParameterError(name, '>= 0 s', value / NANOSECONDS)
        if not self.delay <= self.max_delay:
            raise ParameterError(
                'delay',
                f'<= max_delay, which is {self.max_delay / NANOSECONDS} s',
                self.delay / NANOSECONDS,
            )
        if self.interpolation not in INTERPOLATIONS:
            rule = f'one of {", ".join(INTERPOLATIONS)}'
            raise ParameterError('interpolation', rule, repr(self.interpolation))

    @property
    def is_none(self) -> bool:
        """Tell whether the newest sample acts at every step: then a plain Stream does it too."""
        return not (self.delay or self.interval)


def due(start_ns: int, end_ns: int, sampling: Sampling) -> bool:
    """Tell whether a sample is taken in a step: an instant lies after its start, up to its end."""
    interval = sampling.interval
    if not interval:
        return True
    phase = sampling.phase
    return (end_ns - phase) // interval > (start_ns - phase) // interval


class Delayed(Stream[Sample]):
    """
    A stream that remembers what it read, so that a sample can act later than its stamp.

    What is offered is judged as by a Stream, whatever the delay is, so that changing the delay
    changes nothing about which samples are taken. ``stamp`` and ``value`` are the sample read
    last, as if there were no delay. Where the clock jumps, ``clear``.

    Parameters
    ----------
    make
        Makes a sample of its numbers: ``tuple``, or ``_make`` of a named tuple.
    max_delay : [ns], >= 0
        How far back samples are kept, and two before, which the curves need.
    size
        How many samples may wait, and how many are kept of those read; >= 2. Where there is no
        room for ``max_delay`` the oldest go, and a longer delay acts as the longest there is
        room for.

    """

    __slots__ = ('_gone', '_make', '_max_delay', '_past', '_past_stamps', '_taken')

    def __init__(
        self, make: Callable[[Iterable[float]], Sample], max_delay: int, size: int
    ) -> None:
        self._make, self._max_delay = make, max_delay
        super().__init__(size)

    def clear(self) -> None:
        """Forget every sample."""
        super().clear()
        self._past_stamps: list[int] = []
        self._past: list[Sample] = []
        self._gone = False  # whether there were older samples than the first of these
        self._taken: tuple[int, Sample] | None = None

    def __len__(self) -> int:
        """Return how many samples are kept, read or not."""
        return len(self._stamps) + len(self._past_stamps)

    def read(self, until_ns: int) -> None:
        """Move to the newest sample stamped at or before a time, and remember those before."""
        stamps, values = self._stamps, self._values
        if not stamps or stamps[0] > until_ns:
            return
        while stamps and stamps[0] <= until_ns:
            self.stamp, self.value = stamps.popleft(), values.popleft()
            self._past_stamps.append(self.stamp)
            self._past.append(self.value)
        self._forget(until_ns - self._max_delay)

    def _forget(self, before_ns: int) -> None:
        """Let go what no delay reaches any more, once it is the greater part, and what is more."""
        past = self._past_stamps
        count = len(past)
        more = count - self._size
        if count > _SLACK and past[count // 2] <= before_ns:
            more = max(more, bisect_right(past, before_ns) - 2)
        if more > 0:
            del past[:more], self._past[:more]
            self._gone = True

    def at(self, time_ns: int, sampling: Sampling) -> tuple[int, Sample] | None:
        """
        Return what acts in a step that ends at a time, None where there is no sample yet.

        Returns
        -------
        The stamp of the newest sample at or before time - delay, and the values. The sample's
        age is time - delay - stamp.

        """
        told = self._told(time_ns, sampling)
        return told and (told[0], told[2])

    def _told(self, time_ns: int, sampling: Sampling) -> tuple[int, int, Sample] | None:
        """Return the same, and between the two the time that the values stand for."""
        self.read(time_ns)
        at_ns = time_ns - sampling.delay
        stamp, value = self.stamp, self.value
        if stamp is None or value is None:
            return None
        if stamp <= at_ns:
            return stamp, stamp, value
        past = self._past_stamps
        place = bisect_right(past, at_ns) - 1
        if place < 0:
            held = self._gone and past[0] <= time_ns
            return (past[0], past[0], self._past[0]) if held else None
        stamp, value = past[place], self._past[place]
        if sampling.interpolation == 'hold' or stamp == at_ns or past[place + 1] > time_ns:
            return stamp, stamp, value
        if sampling.interpolation == 'linear':
            numbers = self._line(place, at_ns)
        else:
            numbers = self._curve(place, at_ns, time_ns)
        # Where a number is none, that of the sample before holds.
        pairs = zip(numbers, value, strict=True)
        return stamp, at_ns, self._make(new if isfinite(new) else held for new, held in pairs)

    def acting(self, start_ns: int, end_ns: int, sampling: Sampling) -> tuple[int, Sample] | None:
        """
        Return what acts in a step: taken anew where that is due, else what was taken last.

        None before the first instant at which there was a sample to take.
        """
        if due(start_ns, end_ns, sampling):
            self._taken = self.at(end_ns, sampling)
        else:
            self.read(end_ns)
        return self._taken

    def _line(self, place: int, at_ns: int) -> list[float]:
        """Return the numbers at a time between the sample of a place and the next: linear."""
        s_1, s_2 = self._past_stamps[place : place + 2]
        u = (at_ns - s_1) / (s_2 - s_1)
        pairs = zip(self._past[place], self._past[place + 1], strict=True)
        return [p_1 + u * (p_2 - p_1) for p_1, p_2 in pairs]

    def _curve(self, place: int, at_ns: int, time_ns: int) -> list[float]:
        """Return the numbers at a time between the sample of a place and the next: cubic."""
        stamps, values = self._past_stamps, self._past
        first, last = max(place - 1, 0), place + 1
        if last + 1 < len(stamps) and stamps[last + 1] <= time_ns:
            last += 1
        s_1, s_2 = stamps[place : place + 2]
        h = s_2 - s_1
        u = (at_ns - s_1) / h
        # Without p_0 it is p_1 itself, without p_3 it is p_2: the slope of one side.
        before, after = s_2 - stamps[first], stamps[last] - s_1
        numbers = []
        for p_0, p_1, p_2, p_3 in zip(
            values[first], values[place], values[place + 1], values[last], strict=True
        ):
            d, m_1, m_2 = p_2 - p_1, h * (p_2 - p_0) / before, h * (p_3 - p_1) / after
            bend = 3.0 * d - 2.0 * m_1 - m_2 + u * (m_1 + m_2 - 2.0 * d)
            numbers.append(p_1 + u * (m_1 + u * bend))
        return numbers


class Output(Delayed[Sample]):
    """
    What a sensor measured, told later.

    A sensor measures when a sample is ``due`` and pushes it; ``told`` is what is told of it.
    """

    __slots__ = ()

    def push(self, stamp: int, value: Sample | None) -> None:
        """Add a sample measured at a time; None where it was lost, so that those before hold."""
        if value is not None:
            self.offer(stamp, value, newer=True, now_ns=stamp)

    def told(self, time_ns: int, sampling: Sampling) -> tuple[int, Sample] | None:
        """
        Return what is told at a time: of when that is, and the values.

        That is the stamp of a sample, or a time between the two that it is interpolated of.
        """
        told = self._told(time_ns, sampling)
        return told and told[1:]
