"""What there is to say of a recording, in words and in a table of its peaks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from .gather import Gathered
from .source import Told
from .style import quantity

PEAKS = (  # of each motor: ending of the column, name, unit
    ('spin_rad_s', 'spin', 'rad/s'),
    ('speed_rad_s', 'speed against the stator', 'rad/s'),
    ('torque_n_m', 'torque of the drive', 'N m'),
    ('friction_torque_n_m', 'friction torque', 'N m'),
    ('load_torque_n_m', 'load torque', 'N m'),
    ('power_w', 'mechanical power', 'W'),
    ('current_a', 'current', 'A'),
    ('voltage_v', 'voltage', 'V'),
    ('temperature_deg_c', 'temperature', '°C'),
)
TOTALS = (
    ('reaction_force_norm_n', 'reaction force', 'N'),
    ('reaction_torque_norm_n_m', 'reaction torque', 'N m'),
    ('mount_wrench_torque_norm_n_m', 'mount wrench torque', 'N m'),
    ('momentum_norm_n_m_s', 'momentum', 'N m s'),
)
BALANCED = 1e-6
"""Of the energy turned over: above it a balance is worth a word, as in /diagnostics."""


class Peak(NamedTuple):
    """The value of a quantity that is farthest from 0."""

    whose: str
    name: str
    column: str
    value: float
    unit: str
    seconds: float
    """Since the first step."""
    rms: float


class Sum(NamedTuple):
    """The energy of one motor at the end [J]."""

    motor: str
    work: float
    heat: float
    stored: float
    residual: float


def peaks(gathered: Gathered) -> list[Peak]:
    """Return the peaks of all that was recorded."""
    found = []
    columns = [
        (m, f'{m}.{ending}', name, unit) for m in gathered.motors for ending, name, unit in PEAKS
    ]
    columns += [('all motors', column, name, unit) for column, name, unit in TOTALS]
    for whose, column, name, unit in columns:
        trace = gathered.traces.get(column)
        if trace is not None and trace.count and (trace.size or name == 'torque of the drive'):
            seconds = (trace.peak_ns - gathered.first_ns) * 1e-9
            found.append(Peak(whose, name, column, trace.peak, unit, seconds, trace.rms))
    return found


def sums(gathered: Gathered) -> list[Sum]:
    """Return the energy of each motor at the end."""
    found = []
    for motor in gathered.motors:
        names = ('work_j', 'dissipated_j', 'stored_j', 'residual_j')
        traces = [gathered.traces.get(f'{motor}.{name}') for name in names]
        if all(trace is not None and trace.count for trace in traces):
            found.append(Sum(motor, *(float(t.points()[1][-1]) for t in traces if t)))
    return found


def share(part: float) -> str:
    """Return a share in percent, never 0 or 100 of what is not."""
    if 0.0 < part < 0.001:
        return 'less than 0.1 %'
    if 0.999 < part < 1.0:
        return 'more than 99.9 %'
    return f'{100.0 * part:.3g} %'


def findings(gathered: Gathered, told: Told) -> list[str]:
    """Return sentences, what is most in need of a look first."""
    notes = [f'{note.rstrip(".")}.' for note in told.notes]
    parts = (_limits(gathered), _energy(gathered), _timing(gathered), _refused(told), notes)
    return [*_broken(gathered, told), *chain.from_iterable(parts)]


def _count(n: int, what: str) -> str:
    return f'{n} {what}{"" if n == 1 else "s"}'


def _broken(gathered: Gathered, told: Told) -> Iterator[str]:
    if told.cut:
        yield f'{told.cut.rstrip(".")}.'
    for name, trace in gathered.traces.items():
        if trace.beyond and '_norm_' not in name:
            at = (trace.beyond_ns - gathered.first_ns) * 1e-9
            yield (
                f'{name}: {_count(trace.beyond, "number")} beyond all computing, the first at '
                f'{at:.4g} s, and not shown.'
            )
    if gathered.repeated:
        yield f'{_count(gathered.repeated, "row")} with the stamp of the row before.'
    if gathered.backwards:
        yield f'The stamps go back {_count(gathered.backwards, "time")}: a clock was set back.'
    for count, first, text in told.said.values():
        seconds = max(0.0, (first - gathered.first_ns) * 1e-9)
        times = f'{_count(count, "time")}, first at {seconds:.1f} s'
        yield f'/diagnostics warned {times}: {text.rstrip(".")}.'
    if told.gaps:
        yield f'{told.gaps}.'


def _limits(gathered: Gathered) -> Iterator[str]:
    for motor, limited in gathered.limited.items():
        for words, seconds in sorted(limited.items(), key=lambda one: -one[1]):
            acted = share(seconds / gathered.seconds)
            verb = 'was' if words == 'group off' else 'acted'
            yield f'{motor}: {words} {verb} {acted} of the time.'
    known = any(f'{motor}.limited' in gathered.traces for motor in gathered.motors)
    if known and not any(gathered.limited.values()):
        yield 'No limit of a drive acted.'


def _energy(gathered: Gathered) -> Iterator[str]:
    is_thinned = gathered.skipping > 0.0
    if is_thinned:
        yield (
            f'Before {share(gathered.skipping)} of the rows in which a rotor turned, steps were '
            'left out (publish_rate, or lost messages): the energy balance is approximate.'
        )
    for one in sums(gathered):
        turned = abs(one.work) + abs(one.heat) + abs(one.stored)
        if turned == 0.0:
            continue
        part = abs(one.residual) / turned
        if part <= BALANCED:
            yield f'{one.motor}: the energy balances to {part:.1g} of {quantity(turned, "J")}.'
        else:
            why = (
                'loads and the steps left out'
                if gathered.balances and is_thinned
                else 'loads, which are not recorded here'
                if gathered.balances
                else 'a fault, where there are no jumps or resets'
            )
            yield (
                f'{one.motor}: {quantity(one.residual, "J")} of {quantity(turned, "J")} do not '
                f'balance: {why}.'
            )


def _timing(gathered: Gathered) -> Iterator[str]:
    spacing = gathered.spacing
    if not spacing.count:
        return
    trace = gathered.traces['spacing_ms']
    if gathered.gaps:
        at = (trace.high_ns - gathered.first_ns) * 1e-9
        yield (
            f'{_count(gathered.gaps, "gap")} between steps, longest {trace.high:.4g} ms, which '
            f'ends at {at:.4g} s.'
        )
    elif spacing.high - spacing.low > 0.02 * spacing.quantile(0.5):
        yield f'Steps are {trace.low:.4g} to {trace.high:.4g} ms apart; none is missing.'
    else:
        yield f'All steps are {trace.high:.4g} ms apart.'
    late = gathered.lateness
    if gathered.has_other_clock:
        yield 'Stamps and times of receipt are of different clocks: there is no lateness.'
    elif gathered.is_live and late.count:
        yield (
            f'Half of all steps were received within {late.quantile(0.5) * 1e-6:.3g} ms of their '
            f'stamps, 99 % within {late.quantile(0.99) * 1e-6:.3g} ms, the last after '
            f'{late.high * 1e-6:.4g} ms.'
        )


def _refused(told: Told) -> Iterator[str]:
    if not told.counts_refused:
        return
    counts = {name: n for name, n in sorted(told.refused.items()) if n}
    if counts:
        yield f'Refused or late: {", ".join(f"{name} {n}" for name, n in counts.items())}.'
    else:
        yield 'No input was refused or late.'
