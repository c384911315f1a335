"""
What is kept of a quantity while it passes by: bounded, and never without a peak.

Nothing here knows what the numbers mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.floating[Any]]

BUCKETS = 1500
"""The most that a trace is cut into: some for each line of a page's width at 200 a inch."""
MOST = 1e100
"""A larger number is none: nothing can be drawn beside it."""
HELD = 8 * BUCKETS
"""Points that are held before they are thinned."""


def thinned(times: Times, values: Values, width: int) -> tuple[Times, Values]:
    """Return, in order of time, the lowest and the highest point of each bucket of ``width``."""
    bucket = times // width
    order = np.lexsort((times, values, bucket))
    edges = np.flatnonzero(np.diff(bucket[order])) + 1
    ends = (np.concatenate(([0], edges)), np.concatenate((edges - 1, [len(order) - 1])))
    kept = np.unique(np.concatenate((order[ends[0]], order[ends[1]])))
    kept = kept[np.argsort(times[kept], kind='stable')]
    return times[kept], values[kept]


class Trace:
    """
    One quantity over time: its envelope, its extremes and its square mean.

    The points of the envelope are points that were given. Of short ones they are all of them.

    Attributes
    ----------
    count : numbers given; NaN is none, nor is what is beyond `MOST`
    beyond, beyond_ns : how many those were, and when the first was
    low, high : the extremes
    low_ns, high_ns : when they were first

    """

    def __init__(self) -> None:
        self.count = self.beyond = self.beyond_ns = 0
        self.low, self.high, self.low_ns, self.high_ns = np.inf, -np.inf, 0, 0
        self._squares = 0.0
        self._width = 0
        self._parts: list[tuple[Times, Values]] = []
        self._held = 0

    def add(self, times: Times, values: Values) -> None:
        """Take numbers and their times [ns]."""
        known = np.abs(values) < MOST
        if not known.all():
            beyond = np.abs(values) >= MOST
            if beyond.any():
                self.beyond_ns = self.beyond_ns or int(times[beyond][0])
                self.beyond += int(np.count_nonzero(beyond))
            times, values = times[known], values[known]
        if not len(values):
            return
        self.count += len(values)
        self._squares += float(np.dot(values, values))
        low, high = int(np.argmin(values)), int(np.argmax(values))
        if values[low] < self.low:
            self.low, self.low_ns = float(values[low]), int(times[low])
        if values[high] > self.high:
            self.high, self.high_ns = float(values[high]), int(times[high])
        self._parts.append((times, values))
        self._held += len(values)
        if self._held > HELD:
            self._thin()

    def _thin(self) -> None:
        times, values = self._joined()
        # Widths are powers of two from time zero on, so that a wider bucket is a pair of others.
        span = int(times.max() - times.min())
        while self._width * BUCKETS < span:
            self._width = max(1, 2 * self._width)
        self._parts = [thinned(times, values, max(1, self._width))]
        self._held = len(self._parts[0][0])

    def _joined(self) -> tuple[Times, Values]:
        if not self._parts:
            return np.zeros(0, np.int64), np.zeros(0)
        times, values = zip(*self._parts, strict=True)
        return np.concatenate(times), np.concatenate(values)

    def points(self) -> tuple[Times, Values]:
        """Return times [ns] and values of the envelope, in order of time."""
        if self._held > 2 * BUCKETS:
            self._thin()
        times, values = self._joined()
        order = np.argsort(times, kind='stable')
        return times[order], values[order]

    @property
    def is_thinned(self) -> bool:
        """Tell whether the points are not all of the numbers."""
        return self._width > 0

    @property
    def size(self) -> float:
        """Return the largest absolute value, 0.0 where there is no number."""
        return max(abs(self.low), abs(self.high)) if self.count else 0.0

    @property
    def peak(self) -> float:
        """Return the value that is farthest from 0."""
        if not self.count:
            return 0.0
        return self.low if abs(self.low) > abs(self.high) else self.high

    @property
    def peak_ns(self) -> int:
        """Return when that was first."""
        return self.low_ns if abs(self.low) > abs(self.high) else self.high_ns

    @property
    def rms(self) -> float:
        """Return the root of the mean square over all numbers given."""
        return float(np.sqrt(self._squares / self.count)) if self.count else 0.0


def band(times: Times, values: Values, columns: int = 300) -> tuple[Times, Values, Values]:
    """Return times, and the lowest and the highest value of some columns of time around each."""
    middles, low, high = _columns(times, values, columns)
    # Of its neighbours too, or the columns beat with a period.
    low, high = np.pad(low, 1, 'edge'), np.pad(high, 1, 'edge')
    low = np.minimum(np.minimum(low[:-2], low[1:-1]), low[2:])
    high = np.maximum(np.maximum(high[:-2], high[1:-1]), high[2:])
    return middles, low, high


def _columns(times: Times, values: Values, columns: int) -> tuple[Times, Values, Values]:
    span = max(1, int(times[-1] - times[0]))
    column = ((times - times[0]) * (columns / span)).astype(np.int64)
    column = np.minimum(column, columns - 1)  # the last point is on the edge
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    ends = np.append(starts[1:], len(times)) - 1
    return (times[starts] + times[ends]) // 2, low, high


def is_dense(times: Times, values: Values) -> bool:
    """Tell whether a line would fill an area: it turns more often than a page has room for."""
    slopes = np.sign(np.diff(values))
    slopes = slopes[slopes != 0.0]
    if np.count_nonzero(np.diff(slopes)) < 1000:
        return False
    _, low, high = _columns(times, values, 300)
    return bool(np.median(high - low) > 0.25 * (values.max() - values.min()))


class Spread:
    """
    How often which value came, in bins that are 2 % wide; the extremes are exact.

    A bin stands at the mean of what is in it. Bins are counted from 1 ns upwards, and the
    negative ones mirror them.
    """

    STEP = np.log(1.02)

    def __init__(self) -> None:
        self.low, self.high, self.count = np.inf, -np.inf, 0
        self._bins: dict[int, tuple[int, float]] = {}

    def add(self, values: Any) -> None:
        """Take numbers [ns]."""
        values = np.asarray(values, float)
        if not len(values):
            return
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))
        self.count += len(values)
        sizes = np.rint(np.log(np.maximum(np.abs(values), 1.0)) / self.STEP).astype(int) + 1
        signed = np.where(values < 0.0, -sizes, sizes)
        signed[np.abs(values) < 1.0] = 0
        found, where, counts = np.unique(signed, return_inverse=True, return_counts=True)
        sums = np.bincount(where, values)
        for one, count, total in zip(found.tolist(), counts.tolist(), sums.tolist(), strict=True):
            known, before = self._bins.get(one, (0, 0.0))
            self._bins[one] = (known + count, before + total)

    def bins(self) -> tuple[Values, NDArray[np.int64]]:
        """Return the bins that are not empty: their means [ns], rising, and their counts."""
        found = [self._bins[n] for n in sorted(self._bins)]
        means = np.array([total / count for count, total in found])
        return np.clip(means, self.low, self.high), np.array([n for n, _ in found], np.int64)

    def quantile(self, share: float) -> float:
        """Return the value [ns] below which a share lies, to 1 %; 0.0 when there are none."""
        if not self.count:
            return 0.0
        means, counts = self.bins()
        at = int(np.searchsorted(np.cumsum(counts), share * self.count))
        return float(means[min(at, len(means) - 1)])
