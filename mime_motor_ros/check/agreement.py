"""
Whether the mount turns as its rate says: degrees, swapped axes, signs, a pose that stands still.

Two series are compared by what they have in common whatever their rates are: the turn of the
pose from one instant to a later one, and the mean of the rate in between. No ROS here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np

from ..timeline import NANOSECONDS
from ..vector import Quaternion, Vector

ENOUGH = 0.1
"""Turning below this tells nothing [rad/s, root mean square]: biases and noise are as large."""
LEAST = 10  # intervals
INTERVAL = 0.05  # [s]; shorter ones show the noise of the pose, longer ones average shaking out
LONGEST = 1.0  # [s]
MOST_TURN = 2.0  # [rad] in an interval; more may be a turn the other way round
LEAST_AXIS = 0.05  # [rad/s, rms] about one axis, to tell something of this one
SIGNS = tuple(product((1, -1), repeat=3))

Axes = tuple[tuple[int, int], ...]
"""Of each axis of the rate: which axis of the pose it looks like, and with which sign."""
AS_THEY_ARE: Axes = ((0, 1), (1, 1), (2, 1))


class Agreement(NamedTuple):
    """
    How two series of turning compare; correlations are 1 for series that differ in scale.

    The largest twentieth of each is clipped, so that no jump or spike decides.
    """

    intervals: int
    interval: float
    """How long one is, at the median [s]."""
    pose: float
    """Turning of the pose [rad/s, rms]."""
    rate: float
    """The rate [its own unit, rms]."""
    correlation: float
    """With the axes as they are."""
    axes: Axes
    """The axes that explain the rate best; as they are wherever that explains as much."""
    best: float
    """The correlation with these."""
    world: float
    """The correlation with the turning of the pose expressed in world axes."""
    scale: float
    """What the rate reads for 1 rad/s of the pose, with the best axes."""
    told: tuple[bool, bool, bool]
    """About which axes the pose turns enough to tell."""

    @property
    def turns(self) -> bool:
        """Tell whether the pose turns enough to judge anything."""
        return self.intervals >= LEAST and self.pose >= ENOUGH

    def is_clearly_below(self, other: float) -> bool:
        """Tell whether another correlation is so much better that this is no matter of noise."""
        return 1.0 - self.correlation > _clearly(other)


def compare(
    poses: Sequence[tuple[int, Quaternion]], rates: Sequence[tuple[int, Vector]]
) -> Agreement | None:
    """
    Compare orientations with rates, both stamped [ns] and of the same frame.

    None where they do not overlap. Only what comes after the last jump of the stamps counts.
    """
    poses, rates = _rising(poses), _rising(rates)
    if len(poses) < 2 or len(rates) < 2:
        return None
    start = poses[0][0]
    at = np.array([(stamp - start) / NANOSECONDS for stamp, _ in poses])
    when = np.array([(stamp - start) / NANOSECONDS for stamp, _ in rates])
    q, w = np.array([q for _, q in poses]), np.array([w for _, w in rates])

    first, last = _intervals(at, max(INTERVAL, 2.1 * float(np.median(np.diff(when)))))
    length = at[last] - at[first]
    begin = np.searchsorted(when, at[first], side='right')
    end = np.searchsorted(when, at[last], side='right')
    turn = _turns(q[first], q[last])
    good = (end > begin) & (length <= LONGEST) & (np.linalg.norm(turn, axis=1) <= MOST_TURN)
    if not good.any():
        return None
    total = np.vstack([np.zeros(3), np.cumsum(w, axis=0)])
    mean = (total[end] - total[begin])[good] / (end - begin)[good, None]
    turning = turn[good] / length[good, None]
    turning, mean = _clipped(turning), _clipped(mean)
    in_world = _rotated(q[first][good], turning)
    return _agreement(turning, in_world, mean, float(np.median(length[good])))


def _clearly(correlation: float) -> float:
    """
    Return which part has to be unexplained by one motion for another one to be the right one.

    Noise leaves a part unexplained by the right one too, and the more so by the wrong one.
    """
    return 3.0 * (1.0 - correlation) + 0.02


def _agreement(turning: Any, turning_in_world: Any, mean: Any, interval: float) -> Agreement:
    size, of_rate = float(np.sum(turning**2)), float(np.sum(mean**2))
    both = max(np.sqrt(size) * np.sqrt(of_rate), 1e-300)
    products = mean.T @ turning / both  # by the rate's axis, then the pose's
    by_axes = {
        tuple(zip(order, signs, strict=True)): sum(
            sign * products[i, j] for i, (j, sign) in enumerate(zip(order, signs, strict=True))
        )
        for order in permutations(range(3))
        for signs in SIGNS
    }
    most = max(by_axes.values())
    axes = max(
        (axes for axes, value in by_axes.items() if 1.0 - value <= 1.5 * (1.0 - most) + 0.005),
        key=lambda axes: (sum(a == b for a, b in zip(axes, AS_THEY_ARE, strict=True)),
                          by_axes[axes]),
    )  # fmt: skip
    count = len(turning)
    by_axis = np.sum(turning**2, axis=0)
    # The other way round an axis would explain twice its share less.
    told = (2.0 * by_axes[axes] * by_axis > _clearly(by_axes[axes]) * size) & (
        by_axis >= count * LEAST_AXIS**2
    )
    return Agreement(
        len(turning),
        interval,
        float(np.sqrt(size / count)),
        float(np.sqrt(of_rate / count)),
        float(by_axes[AS_THEY_ARE]),
        axes,
        float(by_axes[axes]),
        float(np.sum(turning_in_world * mean) / both),
        float(by_axes[axes] * both / max(size, 1e-300)),
        (bool(told[0]), bool(told[1]), bool(told[2])),
    )


def _rising(series: Sequence[Any]) -> Sequence[Any]:
    """Return what follows the last stamp that is not above the one before."""
    for i in range(len(series) - 1, 0, -1):
        if series[i][0] <= series[i - 1][0]:
            return series[i:]
    return series


def _intervals(at: Any, least: float) -> tuple[Any, Any]:
    """Return where intervals begin and end that follow each other, each at least so long."""
    first, last, i = [], [], 0
    while (j := int(np.searchsorted(at, at[i] + least - 1e-9))) < len(at):
        first.append(i)
        last.append(j)
        i = j
    return np.array(first, dtype=int), np.array(last, dtype=int)


def _clipped(vectors: Any) -> Any:
    """Return vectors of which the longest twentieth is shortened: jumps of a pose, spikes."""
    size = np.linalg.norm(vectors, axis=1)
    most = np.quantile(size, 0.95)
    return vectors * (most / np.maximum(size, max(float(most), 1e-300)))[:, None]


def _turns(p: Any, q: Any) -> Any:
    """Return the rotation vectors from p to q, in the axes of p."""
    u, v = -p[:, :3], q[:, :3]
    real = p[:, 3] * q[:, 3] - np.sum(u * v, axis=1)
    imaginary = p[:, 3:] * v + q[:, 3:] * u + np.cross(u, v)
    size = np.linalg.norm(imaginary, axis=1)
    angle = 2.0 * np.arctan2(size, np.abs(real)) * np.where(real < 0.0, -1.0, 1.0)
    return imaginary * (angle / np.maximum(size, 1e-300))[:, None]


def _rotated(q: Any, v: Any) -> Any:
    """Return vectors turned by unit quaternions."""
    t = 2.0 * np.cross(q[:, :3], v)
    return v + q[:, 3:] * t + np.cross(q[:, :3], t)
