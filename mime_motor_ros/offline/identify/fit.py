"""
Least squares of rollouts against measurements: starts, noise, and the search itself.

What a rollout misses adds up along it, so that its errors are no white noise. They are taken for
an autoregressive series, of which the residual holds what is new in each sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log

import numpy as np
from scipy.optimize import least_squares, lsq_linear
from scipy.signal import lfilter

from .logs import Array
from .rolling import NAMES, Segment, Signals, simulated, torque

IN_LOG = ('inertia', 'torque_scale')
"""What is searched for by its logarithm; of the rest `damping` and others may end at 0."""
NOT_NEGATIVE = ('damping', 'coulomb_friction', 'command_delay')
ROBUST = 2.0
"""In standard deviations of the residual, where soft_l1 begins to bend."""
MOST_ORDER = 12
DEFAULTS = dict.fromkeys(NAMES, 0.0) | {'inertia': 1.0, 'torque_scale': 1.0}


@dataclass(frozen=True)
class Noise:
    """How the residual is made of independent parts: e_i = (r_i - sum a_k r_(i-k)) / deviation."""

    deviation: float = 1.0
    of_first: float = 1.0
    """Of r itself, of which the first samples of a segment have nothing before them."""
    a: tuple[float, ...] = ()

    def whitened(self, r: Array) -> Array:
        """Return e of the residuals of one segment, along the first axis."""
        p = len(self.a)
        e = lfilter([1.0, *(-x for x in self.a)], [1.0], r, axis=0) / self.deviation
        e[:p] = r[:p] / self.of_first
        return np.asarray(e)


@dataclass
class Problem:
    """
    Recordings, what is known of their motor, and what is to be found.

    The vector of the search has the free parameters first, then of each segment the speed at its
    first row, and the angle where positions are what was measured.
    """

    signals: Sequence[Signals]
    segments: Sequence[Segment]
    free: tuple[str, ...]
    known: Mapping[str, float]
    max_delay: float
    noise: Noise = field(default_factory=Noise)

    def __post_init__(self) -> None:
        torques = np.concatenate([np.diff(s.impulse) / s.dt for s in self.signals])
        speeds = np.concatenate([s.speed for s in self.signals])
        of_torque = float(np.std(torques)) or 1.0
        of_speed = float(np.abs(speeds).max()) or 1.0
        self.step = float(np.median(np.concatenate([s.dt for s in self.signals])))
        self.scales = {
            'damping': of_torque / of_speed,
            'coulomb_friction': of_torque,
            'command_delay': self.step,
            'load': of_torque,
            'offset': of_torque,
            'speed': of_speed,
        }

    def packed(self, values: Mapping[str, float]) -> Array:
        """Return the vector of the search for parameter values, segments where they measured."""
        x = [log(values[n]) if n in IN_LOG else values[n] for n in self.free]
        for s in self.segments:
            one = self.signals[s.log]
            x.append(float(one.speed[s.start]))
            if not one.of_speed:
                x.append(float(one.measured[s.start]))
        return np.array(x)

    def values(self, x: Array) -> dict[str, float]:
        """Return all parameters, the known ones among them."""
        found = {
            n: exp(v) if n in IN_LOG else float(v)
            for n, v in zip(self.free, x[: len(self.free)], strict=True)
        }
        return {**DEFAULTS, **self.known, **found}

    def bounds(self) -> tuple[Array, Array]:
        """Return the least and the greatest vector."""
        n = len(self.packed(DEFAULTS))
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        for i, name in enumerate(self.free):
            if name in NOT_NEGATIVE:
                low[i] = 0.0
            if name == 'command_delay':
                high[i] = self.max_delay
        return low, high

    def _starts(self, x: Array) -> list[tuple[float, float]]:
        rest, starts = list(x[len(self.free) :]), []
        for s in self.segments:
            speed = rest.pop(0)
            starts.append((0.0 if self.signals[s.log].of_speed else rest.pop(0), speed))
        return starts

    def raw(self, x: Array) -> list[Array]:
        """Return by segment what was measured less what is simulated."""
        values, out = self.values(x), []
        for s, start in zip(self.segments, self._starts(x), strict=True):
            one = self.signals[s.log]
            out.append(_measured(one, s) - simulated(one, s, [values], [start])[0])
        return out

    def residual(self, x: Array) -> Array:
        """Return the whitened residual of all segments, in standard deviations."""
        return np.concatenate([self.noise.whitened(r) for r in self.raw(x)])

    def jacobian(self, x: Array) -> Array:
        """Return the derivative of `residual`, of shape (n, len(x)), by differences."""
        p = len(self.free)
        steps = [1e-6 if n in IN_LOG else 1e-6 * self.scales[n] for n in self.free]
        sets = [self.values(x)]
        for i, h in enumerate(steps):
            moved = x.copy()
            moved[i] += h
            sets.append(self.values(moved))
        sets.append(sets[0])
        of_speed = 1e-6 * self.scales['speed']
        rows, column = [], p
        for s, (angle, speed) in zip(self.segments, self._starts(x), strict=True):
            one = self.signals[s.log]
            starts = [(angle, speed)] * (p + 1) + [(angle, speed + of_speed)]
            y = simulated(one, s, sets, starts)
            J = np.zeros((y.shape[1], len(x)))
            J[:, :p] = ((y[0] - y[1 : p + 1]) / np.array(steps)[:, None]).T
            J[:, column] = (y[0] - y[p + 1]) / of_speed
            column += 1
            if not one.of_speed:
                J[:, column] = -1.0
                column += 1
            rows.append(self.noise.whitened(J))
        return np.concatenate(rows)


def _measured(one: Signals, s: Segment) -> Array:
    return one.measured[s.start + 1 : s.stop]


def starts(problem: Problem, guesses: Mapping[str, float]) -> list[dict[str, float]]:
    """
    Return parameter values to search from, likely ones first.

    The balance of momentum over some steps is linear in all but the delay: it is solved for a
    row of delays. What is guessed is taken as it is, with each of the best of them.
    """
    delays = [problem.known.get('command_delay', 0.0)]
    if 'command_delay' in problem.free:
        n = min(61, int(problem.max_delay / problem.step) + 1)
        delays = list(np.linspace(0.0, problem.max_delay, n))
    fixed = {**DEFAULTS, **problem.known}
    rated = sorted((_balanced(problem, d, fixed) for d in delays), key=lambda pair: pair[0])
    made = [{**values, **guesses} for _, values in rated[:3]]
    plain = [values for _, values in rated[:2]] if guesses else []
    return made + plain


def _balanced(
    problem: Problem, delay: float, fixed: Mapping[str, float]
) -> tuple[float, dict[str, float]]:
    columns: dict[str, list[Array]] = {name: [] for name in NAMES if name != 'command_delay'}
    late = [torque(one, delay) for one in problem.signals]
    for s in problem.segments:
        one, steps = problem.signals[s.log], slice(s.start, s.stop - 1)
        dt, v = one.dt[steps], 0.5 * (one.speed[s.start : s.stop - 1] + one.speed[s.start + 1 : s.stop])
        h = min(max(10, round(0.01 / problem.step)), len(dt))

        def over(x: Array, dt: Array = dt, h: int = h) -> Array:
            total = np.concatenate([[0.0], np.cumsum(x * dt)])
            return np.asarray(total[h:] - total[:-h])[:: max(1, h // 3)]

        spin = one.speed[s.start + 1 : s.stop] + one.turning[steps]
        first = one.speed[s.start] + one.turning[max(0, s.start - 1)]
        columns['inertia'].append(over(np.diff(spin, prepend=first) / dt))
        columns['damping'].append(over(v))
        columns['coulomb_friction'].append(over(np.sign(v)))
        columns['load'].append(over(np.zeros_like(v) if one.lever is None else one.lever[steps]))
        columns['torque_scale'].append(-over(late[s.log][steps]))
        columns['offset'].append(-over(np.ones_like(v)))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    free = [name for name in problem.free if name in joined]
    b = -sum(fixed[n] * column for n, column in joined.items() if n not in free)
    A = np.stack([joined[n] for n in free], axis=1)
    size = np.linalg.norm(A, axis=0)
    size[size == 0.0] = 1.0
    low = [-np.inf if n in ('load', 'offset') else 1e-9 for n in free]
    done = lsq_linear(A / size, b, bounds=(low, np.inf))
    values = dict(zip(free, done.x / size, strict=True))
    return float(done.cost), {**fixed, **values, 'command_delay': delay}


def noise_of(residuals: Sequence[Array], floor: float) -> Noise:
    """
    Return the noise that residuals look like, by segment; its order by Schwarz's criterion.

    Deviations are robust ones, out of the median of the sizes; ``floor`` is the least.
    """
    joined = np.concatenate(residuals)
    spread = _deviation(joined)
    if spread <= floor:
        return Noise(floor, floor)
    clipped = [np.clip(r, -6.0 * spread, 6.0 * spread) for r in residuals]
    n = len(joined)
    best, chosen = np.inf, Noise(spread, spread)
    most = min(MOST_ORDER, n // 40, min(len(r) for r in clipped) // 4)
    for order in range(most + 1):
        X, y = _lagged(clipped, most, order)
        a = np.linalg.lstsq(X, y, rcond=None)[0] if order else np.zeros(0)
        left = y - X @ a
        score = len(y) * log(max(float(np.mean(left**2)), floor**2)) + order * log(len(y))
        if score < best:
            best = score
            chosen = Noise(max(_deviation(left), floor), spread, tuple(a.tolist()))
    return chosen


def _lagged(series: Sequence[Array], most: int, order: int) -> tuple[Array, Array]:
    X = [np.stack([r[most - k - 1 : len(r) - k - 1] for k in range(order)], axis=1)
         if order else np.zeros((len(r) - most, 0)) for r in series]  # fmt: skip
    return np.concatenate(X), np.concatenate([r[most:] for r in series])


def _deviation(r: Array) -> float:
    """Return the standard deviation of what is normal among some values."""
    robust = 1.4826 * float(np.median(np.abs(r)))
    # A quantised signal may have a median of 0.
    return robust if robust > 0.2 * float(np.std(r)) else float(np.std(r))


def search(
    problem: Problem,
    guesses: Mapping[str, float],
    goes_on: Callable[[], None] = lambda: None,
) -> Array:
    """
    Return the vector that explains the measurements best.

    ``goes_on`` is called between two evaluations; what it raises ends the search.
    """
    low, high = problem.bounds()

    def fitted(x: Array, loss: str, most: int) -> tuple[float, Array]:
        def fun(x: Array) -> Array:
            goes_on()
            return problem.residual(x)

        inside = np.clip(x, low, high)
        done = least_squares(
            fun, inside, problem.jacobian, (low, high), x_scale='jac', loss=loss,
            f_scale=ROBUST if loss != 'linear' else 1.0,
            ftol=1e-13, xtol=1e-13, gtol=1e-13, max_nfev=most,
        )  # fmt: skip
        return float(done.cost), done.x

    size = float(np.std(np.concatenate([_measured(problem.signals[s.log], s)
                                        for s in problem.segments]))) or 1.0  # fmt: skip
    problem.noise = Noise(size, size)
    first = [fitted(problem.packed(v), 'linear', 12) for v in starts(problem, guesses)]
    _, x = min(first, key=lambda pair: pair[0])
    _, x = fitted(x, 'linear', 30)
    for _ in range(2):
        problem.noise = noise_of(problem.raw(x), 1e-10 * size)
        _, x = fitted(x, 'soft_l1', 40)
    return x
