"""Integer nanoseconds: the grid of the steps and the stamped samples they read."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from fractions import Fraction
import math
from typing import Generic, TypeVar

NANOSECONDS = 1_000_000_000

Value = TypeVar('Value')


def nanoseconds(seconds: float) -> int:
    """Return a duration [s] as a whole number of nanoseconds."""
    return round(Fraction(seconds) * NANOSECONDS)  # as a float, a long one would overflow


class Grid:
    """
    The fixed times of a rate: tick k lies at floor(k / rate), counted from the clock's zero.

    The grid hangs on the clock, not on the start of a process, so a node and a replay step at
    the same times. Ticks are counted, never summed, so ten hours end on the grid.

    Parameters
    ----------
    rate : [Hz], > 0
        Taken as the nearest fraction with a denominator of at most a million, so that a tick
        takes eleven days at the most.

    """

    def __init__(self, rate: float) -> None:
        ratio = max(Fraction(rate).limit_denominator(1_000_000), Fraction(1, 1_000_000))
        self._ticks, self._span = ratio.numerator, ratio.denominator * NANOSECONDS
        self.dt = float(1 / ratio)

    def time_ns(self, tick: int) -> int:
        """Return the time of a tick [ns]."""
        return tick * self._span // self._ticks

    def tick(self, time_ns: int) -> int:
        """Return the last tick at or before a time."""
        return ((time_ns + 1) * self._ticks - 1) // self._span

    def crossed(self, before_ns: int, after_ns: int) -> bool:
        """Tell whether a tick lies after the first time and not after the second."""
        return self.tick(after_ns) > self.tick(before_ns)


def _order(value: Value) -> tuple[Value, str]:
    """Return what two values of one stamp are ordered by; text tells 0.0 from -0.0."""
    return value, repr(value)


class Stream(Generic[Value]):
    """
    The stamped samples of one input, read in the order of their stamps.

    ``stamp`` and ``value`` are the sample last read (None before any). What has not been read
    yet waits in order, whatever the order of arrival was.

    Parameters
    ----------
    size
        How many samples may wait, so that a flood cannot fill the memory.

    """

    __slots__ = ('_size', '_stamps', '_values', 'stamp', 'value')

    def __init__(self, size: int) -> None:
        self._size = size
        self.clear()

    def clear(self) -> None:
        """Forget every sample."""
        self.stamp: int | None = None
        self.value: Value | None = None
        self._stamps: deque[int] = deque()
        self._values: deque[Value] = deque()

    def __len__(self) -> int:
        """Return how many samples wait."""
        return len(self._stamps)

    def offer(
        self, stamp: int, value: Value, newer: bool = False, now_ns: float = math.inf
    ) -> str:
        """
        Take a sample for the steps to come; return '' or why it is not (all) kept.

        Two samples of one stamp: the result must not hang on which came first, so the greater
        value is kept; with ``newer`` (stamps of receipt, whose order is their time) the later.
        Where there is no room one goes: the farthest ahead of ``now_ns``, so that who sends
        from the future pushes out nothing of the present; with none ahead the oldest.

        Returns
        -------
        '' taken; 'repeated' this stamp is known; 'old' a newer one was read; 'full' one went.

        """
        if self.stamp is not None and stamp <= self.stamp:
            return 'old' if stamp < self.stamp else 'repeated'
        stamps = self._stamps
        if not stamps or stamp > stamps[-1]:
            stamps.append(stamp)
            self._values.append(value)
        else:
            place = bisect_right(stamps, stamp)
            if place and stamps[place - 1] == stamp:
                if newer or _order(value) > _order(self._values[place - 1]):
                    self._values[place - 1] = value
                return '' if newer else 'repeated'
            stamps.insert(place, stamp)
            self._values.insert(place, value)
        if len(stamps) <= self._size:
            return ''
        if stamps[-1] > now_ns:
            stamps.pop()
            self._values.pop()
        else:
            stamps.popleft()
            self._values.popleft()
        return 'full'

    def read(self, until_ns: int) -> None:
        """Move to the newest sample stamped at or before a time."""
        stamps = self._stamps
        while stamps and stamps[0] <= until_ns:
            self.stamp, self.value = stamps.popleft(), self._values.popleft()

    def waiting(self, until_ns: int) -> list[int]:
        """Return the stamps up to a time that no step has read yet, in order."""
        stamps = self._stamps
        if not stamps or stamps[0] > until_ns:
            return []
        return [stamp for stamp in stamps if stamp <= until_ns]
