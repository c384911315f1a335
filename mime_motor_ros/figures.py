"""Figures for people: times in the unit a reader would take, shares of many values."""

from __future__ import annotations

from collections.abc import Sequence
import math


def duration(seconds: float) -> str:
    """Return a time in the unit a reader would take: 250 us, 12 ms, 3.2 s, 4 min 05 s."""
    if not math.isfinite(seconds):
        return 'for ever'
    size = abs(seconds)
    if size < 0.9995e-3:
        return f'{seconds * 1e6:.0f} us'
    if size < 0.9995:
        return f'{seconds * 1e3:.0f} ms'
    if size < 59.95:
        return f'{seconds:.1f} s'
    minutes, rest = divmod(round(size), 60)
    return f'{"-" if seconds < 0 else ""}{minutes} min {rest:02d} s'


def quantile(sorted_values: Sequence[float], share: float) -> float:
    """Return the value below which a share of sorted values lies, 0.0 when there are none."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]
