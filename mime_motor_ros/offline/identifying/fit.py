"""
Least squares of rollouts against measurements: the residual, where to start, and the search.

The error of the output is what is made small, robustly. What a rollout misses adds up along it,
so its errors are no white noise: `confidence` reckons with that, the search need not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from scipy.optimize import least_squares, lsq_linear

from .logs import Array
from .rolling import NAMES, Segment, Signals, simulated, torque

IN_LOG = ('inertia', 'torque_scale')
"""What is searched for by its logarithm; of the rest `damping` and others may end at 0."""
NOT_NEGATIVE = ('damping', 'coulomb_friction', 'command_delay')
LEAST, MOST = 1e-12, 1e12
"""Between which values of IN_LOG are looked for; the others are up to MOST as well."""
ROBUST = 3.0
"""In standard deviations of the residual, where soft_l1 begins to bend."""
WINDOWS = (0.01, 0.1, 0.4)
"""[s], over which the momentum is balanced for a start."""
LIKELIEST, MOST_STARTS = 4, 32
"""So many starts are followed, and more until two end at the same best, up to so many."""
SPREAD = 0.3
"""Of the ones that are drawn about the best so far, where the likely ones have been followed."""
DEFAULTS = dict.fromkeys(NAMES, 0.0) | {'inertia': 1.0, 'torque_scale': 1.0}


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
    deviation: float = 1.0
    """Of the residual, in the unit of what was measured."""

    def __post_init__(self) -> None:
        torques = np.concatenate([np.diff(s.impulse) / s.dt for s in self.signals])
        speeds = np.concatenate([s.speed for s in self.signals])
        of_torque = float(np.std(torques)) or 1.0
        of_speed = float(np.abs(speeds).max()) or 1.0
        self.step = float(np.median(np.concatenate([s.dt for s in self.signals])))
        measured = [_measured(self.signals[s.log], s) for s in self.segments]
        self.size = float(np.std(np.concatenate(measured))) or 1.0
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
            if name in IN_LOG:
                low[i], high[i] = log(LEAST), log(MOST)
            if name in NOT_NEGATIVE:
                low[i] = 0.0
            if name == 'command_delay':
                high[i] = self.max_delay
        return low, high

    def about(self, x: Array, random: np.random.Generator) -> Array:
        """Return a vector near another in what is searched for, to start from."""
        scales = [1.0 if n in IN_LOG else self.scales[n] for n in self.free]
        moved = x.copy()
        moved[: len(scales)] += SPREAD * np.array(scales) * random.standard_normal(len(scales))
        return moved

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
        """Return the residual of all segments, in standard deviations."""
        return np.concatenate(self.raw(x)) / self.deviation

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
            rows.append(J)
        return np.concatenate(rows) / self.deviation


def _measured(one: Signals, s: Segment) -> Array:
    return one.measured[s.start + 1 : s.stop]


def starts(problem: Problem, guesses: Mapping[str, float]) -> list[dict[str, float]]:
    """
    Return parameter values to search from, likely ones first.

    The balance of momentum over some time is linear in all but the delay: it is solved for a
    row of delays, over short times and long, once with the noise in the torque and once in the
    speed. A guess is joined to each of these.
    """
    delays = [problem.known.get('command_delay', 0.0)]
    if 'command_delay' in problem.free:
        n = min(61, int(problem.max_delay / problem.step) + 1)
        delays = list(np.linspace(0.0, problem.max_delay, n))
    fixed = {**DEFAULTS, **problem.known}
    made = []
    for seconds in WINDOWS:
        for of_torque in (True, False):
            rated = [_balanced(problem, d, fixed, seconds, of_torque) for d in delays]
            made += [min(rated, key=lambda pair: pair[0])[1], rated[0][1]]
    guessed = [{**values, **guesses} for values in made] if guesses else []
    return guessed + made


def _balanced(
    problem: Problem, delay: float, fixed: Mapping[str, float], seconds: float, of_torque: bool
) -> tuple[float, dict[str, float]]:
    columns: dict[str, list[Array]] = {name: [] for name in NAMES if name != 'command_delay'}
    late = [torque(one, delay) for one in problem.signals]
    for s in problem.segments:
        one, steps = problem.signals[s.log], slice(s.start, s.stop - 1)
        dt = one.dt[steps]
        v = 0.5 * (one.speed[s.start : s.stop - 1] + one.speed[s.start + 1 : s.stop])
        h = min(max(5, round(seconds / problem.step)), len(dt))

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
    swapped = not of_torque and 'inertia' in free and 'torque_scale' not in free
    if swapped:  # the inertia is taken as known and the scale looked for, then both divided
        free = ['torque_scale' if name == 'inertia' else name for name in free]
        fixed = {**fixed, 'inertia': 1.0}
    b = -sum(fixed[n] * column for n, column in joined.items() if n not in free)
    A = np.stack([joined[n] for n in free], axis=1)
    size = np.linalg.norm(A, axis=0)
    size[size == 0.0] = 1.0
    low = [-np.inf if n in ('load', 'offset') else 1e-9 for n in free]
    done = lsq_linear(A / size, b, bounds=(low, np.inf))
    values = dict(zip(free, done.x / size, strict=True))
    if swapped:
        over = {**DEFAULTS, **problem.known}['torque_scale'] / values.pop('torque_scale')
        values = {'inertia': over, **{n: v * over for n, v in values.items()}}
        fixed = {**DEFAULTS, **problem.known}
    return float(done.cost), {**fixed, **values, 'command_delay': delay}


def _deviation(r: Array) -> float:
    """Return the standard deviation of what is normal among some values."""
    robust = 1.4826 * float(np.median(np.abs(r)))
    # A quantised signal may have a median of 0.
    return robust if robust > 0.2 * float(np.std(r)) else float(np.std(r))


def search(
    problem: Problem, guesses: Mapping[str, float], show: Callable[[str], None] = lambda _: None
) -> Array:
    """Return the vector that explains the measurements best; ``show`` is told how far it is."""
    low, high = problem.bounds()

    def fitted(x: Array, loss: str, most: int) -> tuple[float, Array]:
        done = least_squares(
            problem.residual,
            np.clip(x, low, high),
            problem.jacobian,
            (low, high),
            x_scale='jac',
            loss=loss,
            f_scale=ROBUST,
            ftol=1e-13,
            xtol=1e-13,
            gtol=1e-13,
            max_nfev=most,
        )
        return float(done.cost), done.x

    def costs(x: Array) -> float:
        return float(np.sum(problem.residual(np.clip(x, low, high)) ** 2))

    problem.deviation = size = problem.size
    show('looking for starts')
    tried: list[Array] = []
    for x in sorted((problem.packed(v) for v in starts(problem, guesses)), key=costs):
        if not any(np.allclose(x, y, rtol=1e-6, atol=1e-12) for y in tried):
            tried.append(x)
    # Dry friction that holds and lets go makes many small valleys: on until the deepest is met
    # again.
    exact = 0.5e-12 * len(problem.residual(tried[0]))
    random, ends, x = np.random.default_rng(0), [np.inf], tried[0]
    for k in range(MOST_STARTS):
        show(f'from start {k + 1}')
        begin = tried[k] if k < min(len(tried), LIKELIEST) else problem.about(x, random)
        cost, found = fitted(begin, 'linear', 12)
        x = found if cost < min(ends) else x
        ends = sorted([*ends, cost])
        if k + 1 >= LIKELIEST and ends[1] <= 1.01 * ends[0] + exact:
            break
    show('on from the best')
    _, x = fitted(x, 'linear', 30)
    for k in (1, 2):
        show(f'robustly, pass {k} of 2')
        problem.deviation = max(_deviation(np.concatenate(problem.raw(x))), 1e-12 * size)
        _, x = fitted(x, 'soft_l1', 40)
    return x
