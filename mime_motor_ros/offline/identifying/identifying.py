"""From recordings to the parameters of a motor: `identify`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import listed
from ...errors import MotorError, ParameterError
from . import condition, excitation
from .condition import Stretch
from .confidence import covariance
from .excitation import Flag, MISSING, words
from .fit import IN_LOG, LEAST, MOST, NOT_NEGATIVE, Problem, search
from .logs import Array, Log, read
from .rolling import NAMES, Segment, Signals, signals, simulated, UNITS

UNFOLLOWED = (
    'The motion does not follow the torque, so the inertia cannot be told. Is the sign of the '
    f'torque that of the speed? If so, record {MISSING["inertia"]}.'
)
COARSEST = 0.5
"""[s], between samples; of slower ones the unit of the time is another."""
MOST_NUMBERS = 50_000_000
"""Of the derivative of a fit, which is held in memory as a whole, some times over."""
UNEXPLAINED = 0.5
"""Root mean square of the residual over that of the motion within segments: a misfit."""
EXPLAINED = 1e-3
"""The same, from which on it is worth a word what the residual looks like."""
STRUCTURED = 5.0
"""Residual over its noise from sample to sample; 3.2 with a correlation of 0.9 between them."""
UNMOVED = 0.01
"""Part of the changes of speed that the torque makes: a misfit with less has found nothing."""


class IdentifyError(MotorError):
    """Recordings tell nothing of a motor; the text names the excitation that is missing."""


@dataclass(frozen=True)
class Identified:
    """What recordings tell of a motor; SI units."""

    values: dict[str, float | None]
    """By name of NAMES; None: neither found nor given."""
    standard_errors: dict[str, float]
    """Of what was found."""
    free: tuple[str, ...]
    """Names of what was found, in the order of `correlations`."""
    correlations: Array
    """Of what was found, (p, p)."""
    flags: tuple[Flag, ...]
    residual: float
    """Root of the mean square of measured less simulated [rad/s], or [rad] of positions."""
    logs: tuple[Log, ...]
    segments: tuple[Segment, ...]
    rolled: tuple[Array, ...]
    """By segment what the rollout gives at its rows but the first."""
    measured: tuple[Array, ...]
    """By segment what was measured there."""
    of_speed: bool
    excluded: tuple[Stretch, ...]


def identify(
    logs: Log | str | Path | Sequence[Log | str | Path],
    *,
    known: Mapping[str, float] | None = None,
    guess: Mapping[str, float] | None = None,
    max_delay: float = 0.05,
    segment: float | None = None,
    output: str = 'auto',
    torque_limit: float = 0.0,
    load_angle: float = 0.0,
    mount_arm: float = 0.0,
    of_current: bool = False,
    show: Callable[[str], None] = lambda _: None,
) -> Identified:
    """
    Find the parameters of one motor with which its rollout gives what was measured.

    Parameters
    ----------
    logs : Log or path, or a sequence of them
        Recordings of the same motor: parameters are shared, how each begins is its own. Of a
        path the columns are those that `read` knows.
    known : by name of NAMES
        What is not searched for. `torque_scale` is 1 unless `inertia` or `load` is known.
    guess : by name of NAMES
        Where a search starts, beside those that the recordings suggest.
    max_delay : [s]
        Longest command delay that is tried.
    segment : [s]
        A recording is simulated in pieces of about this length, each from a start of its own.
        None: 1 s of speeds; 4 s of positions, which follow the torque more slowly.
    output : `auto`, `speed` or `position`
        What the rollout is held against; auto: positions where all recordings have them.
    torque_limit : [N m], 0: none
        Where the torque is a command: from here on the drive does not follow.
    load_angle : [rad]
        Angle at which the load hangs down.
    mount_arm : [m]
        Distance of the axis from the one about which the mount turns; see `rolling.signals`.
    of_current : bool
        The torque of the logs is a current [A]: `torque_scale` is the torque constant [N m/A].
    show
        Called with what is being done, in words.

    Returns
    -------
    Identified

    Raises
    ------
    IdentifyError
        If the recordings tell nothing: no motion, a torque that never changes, or motion that
        does not follow it.
    ParameterError
        If an argument breaks its rule.

    """
    given = [logs] if isinstance(logs, (Log, str, Path)) else listed(logs)
    if not all(isinstance(one, (Log, str, Path)) for one in given) or not given:
        rule = 'a Log or path, or a sequence of at least one of them'
        raise ParameterError('logs', rule, repr(logs))
    every = [one if isinstance(one, Log) else read(one) for one in given]
    for what, wanted in (('known', known), ('guess', guess)):
        if not isinstance(wanted, Mapping | None):
            raise ParameterError(what, 'values by name, or None', repr(wanted))
    fixed, guesses = dict(known or {}), dict(guess or {})
    for what, values in (('known', fixed), ('guess', guesses)):
        for name, value in values.items():
            check(f'{what} {name}', name, value)
    if set(fixed) == set(NAMES):
        raise ParameterError('known', f'fewer than all of {", ".join(NAMES)}', 'all of them')
    asked = 1.0 if segment is None else segment
    for name, value in (('max_delay', max_delay), ('segment', asked)):
        if not (isinstance(value, Real) and 0.0 < value < float('inf')):
            raise ParameterError(name, 'finite and > 0 s', value)
    for name, value in (('load_angle', load_angle), ('mount_arm', mount_arm)):
        if not (isinstance(value, Real) and -MOST <= value <= MOST):
            raise ParameterError(name, f'from {-MOST:g} to {MOST:g}', value)
    if not (isinstance(torque_limit, Real) and 0.0 <= torque_limit < float('inf')):
        raise ParameterError('torque_limit', 'finite and >= 0 N m, 0: none', torque_limit)
    if output not in ('auto', 'speed', 'position'):
        raise ParameterError('output', 'auto, speed or position', repr(output))
    for i, one in enumerate(every):
        if any(_same(one, other) for other in every[:i]):
            raise ParameterError('logs', 'recordings that are each there once', one.name)
    _check_times(every, fixed.get('command_delay', 0.0))
    max_delay = max(max_delay, fixed.get('command_delay', 0.0))
    max_delay = min(max_delay, max(float(log.time[-1] - log.time[0]) for log in every))
    made = [signals(log, output, load_angle, mount_arm, _all(every, 'position')) for log in every]
    free, notes = _told(every, made, fixed, of_current)
    length = segment or (1.0 if made[0].of_speed else 4.0)

    out = [
        stretch
        for i, one in enumerate(made)
        for stretch in condition.beyond(
            np.diff(one.impulse) / one.dt, torque_limit or float('inf'), i, _rows(one, max_delay)
        )
    ]
    suspected = [x for i, one in enumerate(made) for x in condition.plateaus(one, i)]

    def solved(names: tuple[str, ...], left_out: list[Stretch]) -> tuple[Problem, Array]:
        pieces = [
            x for i, one in enumerate(made) for x in condition.segments(one, i, left_out, length)
        ]
        if not pieces:
            raise IdentifyError(
                'Nothing is left of the recordings without their saturated stretches. Record '
                'motion below the limits of the drive.'
            )
        _check_size(pieces, names, made[0].of_speed)
        problem = Problem(made, pieces, names, fixed, max_delay)
        return problem, search(problem, guesses, show)

    problem, x = solved(free, out + suspected)
    if suspected:
        values = problem.values(x)
        truly = [s for s in suspected if _goes_on(made[s.log], s, values)]
        out += truly
        if len(truly) < len(suspected):
            problem, x = solved(free, out)
    while name := excitation.blind(problem.jacobian(x), free):
        if name == 'inertia':
            raise IdentifyError(UNFOLLOWED)
        if len(free) == 1:
            raise IdentifyError(f'The recordings tell nothing: record {MISSING[name]}.')
        free = tuple(n for n in free if n != name)
        text = f'{words(name)} cannot be told and is left out. Record {MISSING[name]}.'
        notes.append(Flag('not_told', (name,), text))
        problem, x = solved(free, out)
    return _identified(every, problem, x, out, notes)


def _same(one: Log, other: Log) -> bool:
    """Tell whether two recordings have the same samples: twice they would count as twice."""
    return np.array_equal(one.time, other.time) and np.array_equal(one.torque, other.torque)


def check(label: str, name: str, value: float) -> None:
    """Raise ParameterError unless a value is one that a parameter of NAMES can have."""
    if name not in NAMES:
        raise ParameterError(label, f'one of {", ".join(NAMES)}', name)
    low = LEAST if name in IN_LOG else 0.0 if name in NOT_NEGATIVE else -MOST
    if not (isinstance(value, Real) and low <= value <= MOST):
        raise ParameterError(label, f'from {low:g} to {MOST:g} {UNITS[name]}', value)


def _check_times(logs: Sequence[Log], delay: float) -> None:
    for log in logs:
        step, length = float(np.median(np.diff(log.time))), float(log.time[-1] - log.time[0])
        if not step < COARSEST:
            raise IdentifyError(
                f'{log.name} must have samples closer than {COARSEST:g} s, got {step:.4g} s '
                'between them. If its time is in other units, name them with --time-unit.'
            )
        if delay >= length:
            rule = f'shorter than {log.name}, {length:.4g} s'
            raise ParameterError('known command_delay', rule, delay)


def _check_size(pieces: Sequence[Segment], names: Sequence[str], of_speed: bool) -> None:
    rows = sum(s.stop - s.start - 1 for s in pieces)
    columns = len(names) + len(pieces) * (1 if of_speed else 2)
    if rows * columns > MOST_NUMBERS:
        raise IdentifyError(
            f'The recordings are too long for one fit: {rows} samples in {len(pieces)} segments. '
            'Take a part with --start and --duration, or longer pieces with --segment.'
        )


def _all(logs: Sequence[Log], name: str) -> bool:
    return all(getattr(log, name) is not None for log in logs)


def _rows(one: Signals, seconds: float) -> int:
    return round(seconds / float(np.median(one.dt)))


def _told(
    logs: Sequence[Log],
    made: Sequence[Signals],
    fixed: Mapping[str, float],
    of_current: bool,
) -> tuple[tuple[str, ...], list[Flag]]:
    """Return what can be searched for in recordings at all, and what not and why."""
    torques = np.concatenate([np.diff(one.impulse) / one.dt for one in made])
    speeds = np.concatenate([one.speed for one in made])
    if max(map(len, logs)) < 2 * condition.SHORTEST:
        raise IdentifyError('A recording must have at least 24 samples to tell something.')
    if not np.ptp(speeds) > 0.0:
        raise IdentifyError(
            'The speed never changes, so nothing can be told. Record a torque that speeds the '
            'rotor up and slows it down.'
        )
    if not np.ptp(torques) > 1e-9 * float(np.abs(torques).max()):
        raise IdentifyError(
            'The torque never changes, so inertia, friction and delay cannot be told. Record '
            'steps of torque.'
        )
    free, notes = [n for n in NAMES if n not in fixed], []

    def drop(code: str, name: str, text: str) -> None:
        if name in free:
            free.remove(name)
            notes.append(Flag(code, (name,), text))

    if not (fixed.get('inertia') or fixed.get('load')):
        if of_current and 'torque_scale' in free:
            raise IdentifyError(
                'Current and motion alone give inertia and friction over the torque constant. '
                'Give --known torque_scale=... [N m/A], --known inertia=... or --known load=...'
            )
        drop(
            'scale_fixed',
            'torque_scale',
            'torque and speed alone give inertia, friction and load over the torque scale: it is '
            'taken as 1. Give --known inertia=... or --known load=... to find it.',
        )
    if any(one.lever is None for one in made):
        drop(
            'no_angle',
            'load',
            'a load m g l is not looked for without an angle. Record the position, through a '
            'turn of the arm.',
        )
        if fixed.get('load'):
            raise IdentifyError(
                'A known load needs the angle it hangs at: record the position as well.'
            )
    if not condition.directions(speeds):
        drop(
            'one_direction',
            'offset',
            'it turns one way only: an offset of the torque cannot be told from dry friction and '
            'is taken as 0. Record the same motion both ways.',
        )
    return tuple(free), notes


def _goes_on(one: Signals, stretch: Stretch, values: dict[str, float]) -> bool:
    """Tell whether a model would have turned clearly faster than a recording that stood still."""
    row = Segment(stretch.log, stretch.start, stretch.stop)
    (rolled,) = simulated(one, row, [values], [(0.0, stretch.value)], speed=True)
    ahead = np.sign(stretch.value) * (rolled - stretch.value)
    return bool(np.median(ahead) > 0.05 * abs(stretch.value))


def _identified(
    logs: Sequence[Log],
    problem: Problem,
    x: Array,
    out: Sequence[Stretch],
    notes: Sequence[Flag],
) -> Identified:
    free, p = problem.free, len(problem.free)
    lengths = [s.stop - s.start - 1 for s in problem.segments]
    C = covariance(problem.residual(x), problem.jacobian(x), lengths)[:p, :p]
    found = problem.values(x)
    errors = np.sqrt(np.diag(C))
    correlations = C / np.outer(errors, errors)
    natural = {
        n: float(e * (found[n] if n in IN_LOG else 1.0)) for n, e in zip(free, errors, strict=True)
    }
    for name in free:
        if name in NOT_NEGATIVE and found[name] < 0.05 * natural[name]:
            found[name] = 0.0
    raw = problem.raw(x)
    measured = [problem.signals[s.log].measured[s.start + 1 : s.stop] for s in problem.segments]
    values: dict[str, float | None] = {
        n: found[n] if n in free or n in problem.known or n != 'load' else None for n in NAMES
    }
    told = [_saturated(logs, stretch) for stretch in out]
    left = _unexplained(problem, raw, measured)
    if left > UNEXPLAINED:
        if 'inertia' in free and _moved(problem, found) < UNMOVED:
            raise IdentifyError(UNFOLLOWED)
        text = (
            f'the residual is {100.0 * left:.0f} % of the motion within segments: the model does '
            'not explain it, whatever the standard errors say. Is the torque of this motor and '
            'of the sign of its speed, the time in s, a load or the turning of the mount missing?'
        )
        told.append(Flag('misfit', (), text))
    elif left > EXPLAINED and (over := _over_noise(raw)) > STRUCTURED:
        text = (
            f'the residual is {over:.0f} times what it changes from sample to sample: it is no '
            'noise, the model lacks something of this motor. Values differ by more than the '
            'standard errors where other parts, or another --segment, are taken.'
        )
        told.append(Flag('structured', (), text))
    told += [*notes, *excitation.flags(free, found, natural, correlations, problem.max_delay)]
    return Identified(
        values,
        natural,
        free,
        correlations,
        tuple(told),
        float(np.sqrt(np.mean(np.concatenate(raw) ** 2))),
        tuple(logs),
        tuple(problem.segments),
        tuple(m - r for m, r in zip(measured, raw, strict=True)),
        tuple(measured),
        problem.signals[0].of_speed,
        tuple(out),
    )


def _unexplained(problem: Problem, raw: Sequence[Array], measured: Sequence[Array]) -> float:
    """
    Return the residual over the motion, roots of mean squares over all segments.

    The motion is what is left of a segment without what its start gives it for nothing: a
    constant speed, a straight line of positions.
    """
    total = 0.0
    for s, y in zip(problem.segments, measured, strict=True):
        one = problem.signals[s.log]
        t = one.time[s.start + 1 : s.stop]
        line = np.polyfit(t - t[0], y, 0 if one.of_speed else 1)
        total += float(np.sum((y - np.polyval(line, t - t[0])) ** 2))
    return float(np.sqrt(sum(float(r @ r) for r in raw) / total)) if total else 0.0


def _over_noise(raw: Sequence[Array]) -> float:
    """Return the residual over its noise, which is taken from neighbours; white noise has 1."""
    squares = sum(float(r @ r) for r in raw) / sum(map(len, raw))
    steps = [np.diff(r) for r in raw]
    noise = sum(float(d @ d) for d in steps) / sum(map(len, steps)) / 2.0
    return float(np.sqrt(squares / noise)) if noise else 1.0


def _moved(problem: Problem, values: Mapping[str, float]) -> float:
    """Return how much of the changes of speed the torque, less its mean, makes; of all logs."""
    made = seen = 0.0
    for one in problem.signals:
        drift = np.interp(one.time, one.time[[0, -1]], one.impulse[[0, -1]])
        made += float(np.ptp(one.impulse - drift)) * values['torque_scale'] / values['inertia']
        seen += float(np.ptp(one.speed))
    return made / seen if seen else 0.0


def _saturated(logs: Sequence[Log], stretch: Stretch) -> Flag:
    log = logs[stretch.log]
    start, stop = log.time[stretch.start], log.time[stretch.stop - 1]
    if stretch.code == 'torque':
        text = f'the torque is at its limit, {stretch.value:.4g} N m'
    else:
        text = (
            f'the speed stays at {stretch.value:.4g} rad/s while the torque would drive it on, as '
            'at a limit of the drive'
        )
    where = f'{log.name}, {start:.4g} to {stop:.4g} s'
    hint = 'That stretch is left out; record below the limit.'
    return Flag('saturated', (), f'{where}: {text}. {hint}')


def as_dict(made: Identified) -> dict[str, Any]:
    """Return a result as plain numbers and texts, for JSON."""
    return {
        **made.values,
        'standard_errors': {n: made.standard_errors.get(n) for n in NAMES},
        'correlations': {
            a: {b: float(made.correlations[i, j]) for j, b in enumerate(made.free)}
            for i, a in enumerate(made.free)
        },
        'flags': [
            {'code': f.code, 'parameters': list(f.parameters), 'text': f.text} for f in made.flags
        ],
        'found': list(made.free),
        'residual': made.residual,
        'residual_unit': 'rad/s' if made.of_speed else 'rad',
        'recordings': [log.name for log in made.logs],
        'columns': [dict(log.columns) for log in made.logs],
        'samples': int(sum(map(len, made.measured))),
    }
