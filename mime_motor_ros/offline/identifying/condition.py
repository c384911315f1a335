"""Which rows of a recording may speak: no saturated stretches, no gaps, and pieces of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .logs import Array
from .rolling import Segment, Signals

SHORTEST = 12
"""Samples of a segment; what is shorter is left out."""


class Stretch(NamedTuple):
    """Rows of a recording that are left out."""

    log: int
    start: int
    stop: int
    value: float
    """Where it stands still [rad/s], or the torque at its limit [N m]."""
    code: str
    """`speed` or `torque`."""


def plateaus(one: Signals, log: int) -> list[Stretch]:
    """
    Return where the speed stands still at its extreme while the torque pushes on.

    These may be at the limit of the drive, or simply as fast as the torque can turn them:
    whether a model fitted to the rest would have gone on has to tell.
    """
    found = []
    least = max(20, round(0.05 / float(np.median(one.dt))))
    push = np.append(np.diff(one.impulse) / one.dt, 0.0)
    for sign in (1.0, -1.0):
        v = sign * one.speed
        top = float(np.quantile(v, 0.999))
        if top <= 0.0:
            continue
        near = (v >= 0.985 * top) & (sign * push > 0.0)
        for start, stop in _runs(near):
            if stop - start >= least:
                value = sign * float(np.median(v[start:stop]))
                found.append(Stretch(log, start, stop, value, 'speed'))
    return found


def beyond(torque: Array, limit: float, log: int, late: int) -> list[Stretch]:
    """Return where a commanded torque is at its limit or beyond, and ``late`` rows more."""
    runs = _runs(np.abs(torque) >= limit)
    return [
        Stretch(log, start, min(stop + late, len(torque)), float(torque[start]), 'torque')
        for start, stop in runs
    ]


def segments(one: Signals, log: int, out: list[Stretch], seconds: float) -> list[Segment]:
    """Return what is left of a recording in pieces of about a length [s]."""
    good = np.ones(len(one.time), dtype=bool)
    for stretch in out:
        if stretch.log == log:
            good[stretch.start : stretch.stop] = False
    # A sample that was lost: nobody knows the torque meanwhile.
    gaps = np.flatnonzero(one.dt > 5.0 * np.median(one.dt)) + 1
    made = []
    for start, stop in _runs(good, gaps):
        if stop - start < SHORTEST:
            continue
        length = one.time[stop - 1] - one.time[start]
        pieces = max(1, min(round(length / seconds), (stop - start) // SHORTEST))
        ends = np.linspace(start, stop - 1, pieces + 1).astype(int)
        made += [Segment(log, int(a), int(b) + 1) for a, b in zip(ends, ends[1:], strict=False)]
    return made


def _runs(good: NDArray[np.bool_], cuts: NDArray[np.int64] | None = None) -> list[tuple[int, int]]:
    """Return (first, behind the last) of each run of True; cut before each row of ``cuts``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    runs = []
    for start, stop in edges.reshape(-1, 2).tolist():
        inner = [] if cuts is None else [c for c in cuts.tolist() if start < c < stop]
        bounds = [start, *inner, stop]
        runs += list(zip(bounds, bounds[1:], strict=False))
    return runs


def directions(speeds: Array) -> bool:
    """Tell whether speeds, of all recordings, go both ways, each for some while."""
    size = float(np.abs(speeds).max())
    return all(np.mean(s * speeds > 0.1 * size) > 0.02 for s in (1.0, -1.0))
