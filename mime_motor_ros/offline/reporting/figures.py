"""The figures of a report. Each is left out, with a reason, where its quantities are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure
import matplotlib.ticker
import numpy as np

from .gather import Gathered, XYZ
from .source import Told
from .style import (
    draw,
    finish,
    label,
    legend,
    LIMITED,
    LINES,
    logarithmic,
    MOST_ROWS,
    Picture,
    RC,
    ROW,
    rows,
    scale,
    settle,
    Time,
    WIDTH,
)
from .traces import Spread

Made = Iterator[Picture]
BEHIND = {'color': '#cccccc', 'linestyle': '-', 'linewidth': 2.4, 'zorder': 1.5}


class Missing(Exception):  # noqa: N818 - it is no error
    """Why a figure is left out."""


def pictures(
    gathered: Gathered, told: Told, alive: Callable[[], None] = lambda: None
) -> tuple[list[Picture], dict[str, str]]:
    """Return all figures, and by title why others are left out; ``alive`` is called between."""
    found: list[Picture] = []
    missing: dict[str, str] = {}
    time = Time(gathered.first_ns, gathered.last_ns)
    kinds: dict[str, Callable[[], Made]] = {
        'Spin': lambda: spin(gathered, time),
        'Torque': lambda: torque(gathered, time),
        'Drive': lambda: drive(gathered, time),
        'Reaction and mount wrench': lambda: wrench(gathered, time),
        'Momentum in world axes': lambda: momentum(gathered, time, told),
        'Energy balance': lambda: energy(gathered, time),
        'Step timing': lambda: timing(gathered, time, told),
        'Refusals': lambda: refusals(told),
    }
    with matplotlib.rc_context(RC):
        for title, make in kinds.items():
            try:
                for picture in make():
                    alive()
                    settle(picture.figure)
                    found.append(picture)
            except Missing as reason:
                missing[title] = str(reason)
    return found, missing


def _pages(motors: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Return motors, as many as a figure holds, with an ending of its key and of its title."""
    for first in range(0, len(motors), MOST_ROWS):
        some = motors[first : first + MOST_ROWS]
        if len(motors) <= MOST_ROWS:
            yield '', '', some
        else:
            yield f'_{first // MOST_ROWS + 1}', f', {some[0]} to {some[-1]}', some


def _size(gathered: Gathered, names: Sequence[str]) -> float:
    return max((gathered.traces[x].size for x in names if x in gathered.traces), default=0.0)


def _with(gathered: Gathered, ending: str) -> list[str]:
    return [m for m in gathered.motors if f'{m}.{ending}' in gathered.traces]


def _lines(
    ax: Any,
    gathered: Gathered,
    time: Time,
    named: Sequence[tuple[str, str]],
    unit: str,
    **more: Any,
) -> str:
    """Draw traces by (column, name in the legend) in one unit; return it."""
    factor, unit = scale(_size(gathered, [name for name, _ in named]), unit)
    for kind, (column, name) in enumerate(named):
        if column in gathered.traces:
            draw(ax, time, gathered.traces[column], factor, name, kind, **more)
    return unit


def spin(gathered: Gathered, time: Time) -> Made:
    """Spin and speed, a row a motor."""
    motors = [
        m
        for m in gathered.motors
        if m in {*_with(gathered, 'spin_rad_s'), *_with(gathered, 'speed_rad_s')}
    ]
    if not motors:
        raise Missing('neither spin nor joint_states are recorded')
    for key, more, some in _pages(motors):
        figure, axes = rows(len(some))
        for ax, motor in zip(axes, some, strict=True):
            named = [
                (f'{motor}.spin_rad_s', 'spin, absolute'),
                (f'{motor}.speed_rad_s', 'speed against the stator'),
            ]
            label(ax, 'spin', _lines(ax, gathered, time, named, 'rad/s'))
            measured = gathered.traces.get(f'{motor}.measured_speed_rad_s')
            if measured is not None:
                draw(ax, time, measured, 1.0, 'speed as measured', 0, **BEHIND)
            legend(ax, motor)
        finish(figure, axes, time)
        yield Picture(
            f'spin{key}',
            f'Spin{more}',
            'Absolute spin of each rotor about its own axis, and its speed relative to the '
            'stator; they differ by the turning of the mount about that axis.',
            figure,
        )


def torque(gathered: Gathered, time: Time) -> Made:
    """Torques about the axis, a row a motor."""
    motors = _with(gathered, 'torque_n_m')
    if not motors:
        raise Missing('neither motor_state nor joint_states are recorded')
    for key, more, some in _pages(motors):
        figure, axes = rows(len(some))
        limited = False
        for ax, motor in zip(axes, some, strict=True):
            named = [
                (f'{motor}.torque_n_m', 'drive'),
                (f'{motor}.friction_torque_n_m', 'friction'),
            ]
            load = gathered.traces.get(f'{motor}.load_torque_n_m')
            if load is not None and load.size > 0.0:
                named.append((f'{motor}.load_torque_n_m', 'load'))
            limited |= _shade(ax, gathered, time, motor)
            label(ax, 'torque', _lines(ax, gathered, time, named, 'N m'))
            legend(ax, motor)
        finish(figure, axes, time)
        yield Picture(
            f'torque{key}',
            f'Torque{more}',
            'Torques on each rotor about its axis: of the drive, after its limits, of the '
            'friction of its bearing, and of loads where there are any.'
            + (' Grey: a limit acts.' if limited else ''),
            figure,
        )


def _shade(ax: Any, gathered: Gathered, time: Time, motor: str) -> bool:
    trace = gathered.traces.get(f'{motor}.limited')
    if trace is None or trace.high <= 0.0:
        return False
    times, acts = trace.points()
    ax.fill_between(
        time.of(times),
        0.0,
        1.0,
        where=acts > 0.5,
        step='pre',
        transform=ax.get_xaxis_transform(),
        color=LIMITED,
        linewidth=0.4,
        zorder=0.2,
        label='a limit acts',
    )
    return True


def drive(gathered: Gathered, time: Time) -> Made:
    """Power, and what is electrical and thermal where there is an armature or a winding."""
    kinds = [
        ('power_w', 'mechanical power', 'W'),
        ('current_a', 'current', 'A'),
        ('voltage_v', 'voltage', 'V'),
        ('temperature_deg_c', 'winding', '°C'),
    ]
    kinds = [one for one in kinds if _with(gathered, one[0])]
    if not kinds:
        raise Missing('motor_state is not recorded')
    if not any(_size(gathered, [f'{m}.{one[0]}' for m in gathered.motors]) for one in kinds):
        raise Missing('no drive did anything')
    for key, more, some in _pages(gathered.motors):
        figure, axes = rows(len(kinds))
        for i, (ax, (ending, name, unit)) in enumerate(zip(axes, kinds, strict=True)):
            named = [(f'{motor}.{ending}', motor) for motor in some]
            label(ax, name, _lines(ax, gathered, time, named, unit))
            if i == 0:
                legend(ax)
        finish(figure, axes, time)
        rest = [name for _, name, _ in kinds[1:]]
        yield Picture(
            f'drive{key}',
            f'Drive{more}',
            'Mechanical power of each drive: its torque times the speed against the stator'
            + (f'; {", ".join(rest)} of those that have it.' if rest else '.'),
            figure,
        )


def wrench(gathered: Gathered, time: Time) -> Made:
    """Force and torques on the mount."""
    if not {'reaction_torque_x_n_m', 'mount_wrench_torque_x_n_m'} & set(gathered.traces):
        raise Missing('neither reaction nor mount_wrench are recorded')
    parts = [
        ('reaction_torque', 'reaction torque', 'N m', 'n_m'),
        ('mount_wrench_torque', 'mount wrench torque', 'N m', 'n_m'),
        ('reaction_force', 'force', 'N', 'n'),
    ]
    force = _size(gathered, [f'reaction_force_{axis}_n' for axis in XYZ])
    parts = [
        one
        for one in parts
        if f'{one[0]}_x_{one[3]}' in gathered.traces and (one[2] == 'N m' or force > 0.0)
    ]
    figure, axes = rows(len(parts), 1.75)
    for i, (ax, (column, name, unit, ending)) in enumerate(zip(axes, parts, strict=True)):
        named = [(f'{column}_{axis}_{ending}', axis) for axis in XYZ]
        label(ax, name, _lines(ax, gathered, time, named, unit))
        if i == 0:
            legend(ax)
    finish(figure, axes, time)
    yield Picture(
        'wrench',
        'Reaction and mount wrench',
        'What all motors together apply to the mount, in mount axes, with moments about its '
        'origin. The mount wrench has the gyroscopic torque too: it is what a real mount feels.'
        + ('' if force > 0.0 else ' There was no force.'),
        figure,
    )


def momentum(gathered: Gathered, time: Time, told: Told) -> Made:
    """Spin momentum in world and in mount axes."""
    has_world = 'momentum_world_x_n_m_s' in gathered.traces
    has_mount = 'momentum_x_n_m_s' in gathered.traces
    if not has_world and not has_mount:
        raise Missing(told.lacks.get('momentum', 'momentum is not recorded'))
    parts = [('momentum_world', 'in world axes')] * has_world + [
        ('momentum', 'in mount axes')
    ] * has_mount
    figure, axes = rows(len(parts), 1.9)
    for ax, (column, name) in zip(axes, parts, strict=True):
        named = [(f'{column}_{axis}_n_m_s', axis) for axis in XYZ]
        named.append((f'{column}_norm_n_m_s', 'norm'))
        label(ax, 'momentum', _lines(ax, gathered, time, named, 'N m s'))
        legend(ax, name)
    finish(figure, axes, time)
    why = told.lacks.get('world', '')
    yield Picture(
        'momentum',
        'Momentum in world axes' if has_world else 'Momentum',
        'Spin momentum, summed over all motors'
        + (
            ', in the axes of the world and of the mount that turns in it.'
            if has_world
            else f', in mount axes{f" ({why})" if why else ""}.'
        ),
        figure,
    )


def energy(gathered: Gathered, time: Time) -> Made:
    """Work, heat and what is stored, and what does not balance."""
    motors = _with(gathered, 'work_j')
    if not motors:
        raise Missing('it takes spin, momentum, motor_state and joint_states, or a table')
    for key, more, some in _pages(motors):
        figure, axes = rows(len(some) + 1)
        for ax, motor in zip(axes, some, strict=False):
            named = [
                (f'{motor}.work_j', 'work in'),
                (f'{motor}.dissipated_j', 'heat of the bearing'),
                (f'{motor}.stored_j', 'gained by the rotor'),
            ]
            label(ax, 'energy', _lines(ax, gathered, time, named, 'J'))
            legend(ax, motor)
        named = [(f'{motor}.residual_j', motor) for motor in some]
        unit = _lines(axes[-1], gathered, time, named, 'J')
        label(axes[-1], 'residual', unit)
        legend(axes[-1], 'work in less heat and gain')
        finish(figure, axes, time)
        yield Picture(
            f'energy{key}',
            f'Energy balance{more}',
            'Sums since the first step. '
            + (
                'Work in is that of the drive, and of the mount through the bearing; of what is '
                'recorded here loads are no part, so the residual is their work and rounding.'
                if gathered.balances
                else 'Work in is that of the drive, of loads, and of the mount through the '
                'bearing. The residual is rounding, where the model is right.'
            ),
            figure,
        )


def timing(gathered: Gathered, time: Time, told: Told) -> Made:
    """Spacing of the steps and lateness of their receipt."""
    spacing = gathered.traces.get('spacing_ms')
    if spacing is None or not spacing.count:
        raise Missing('there is only one step')
    late = gathered.traces.get('lateness_ms')
    own = gathered.traces.get('diagnostics.lateness_p99_ms')
    parts: list[tuple[str, str, Any]] = [('spacing', 'spacing of steps', spacing)]
    if late is not None or own is not None:
        parts.append(('lateness', 'lateness', late))
    figure = Figure(figsize=(WIDTH, 0.35 + 1.75 * len(parts)))
    grid = figure.subplots(
        len(parts), 2, squeeze=False, sharex='col', sharey='row', width_ratios=(3, 1)
    )
    for (left, right), (key, name, trace) in zip(grid, parts, strict=True):
        if trace is not None:
            draw(left, time, trace, 1.0, 'received less stamp' if key == 'lateness' else '', 0)
        if key == 'spacing':
            usual = gathered.spacing.quantile(0.5) * 1e-6
            left.axhline(
                usual, color='#000000', linewidth=0.8, linestyle=(0, (1.2, 1.2)),
                label=f'half of all: {usual:.4g} ms',
            )  # fmt: skip
            if gathered.spacing.high > 20.0 * gathered.spacing.quantile(0.5):
                logarithmic(left.yaxis)
            else:
                left.set_ylim(0.0, 1.15 * max(spacing.high, usual))
        else:
            for kind, quantile in ((1, 'p99'), (3, 'max')):
                of = gathered.traces.get(f'diagnostics.lateness_{quantile}_ms')
                if of is not None:
                    draw(
                        left,
                        time,
                        of,
                        1.0,
                        f'of waking, {quantile}',
                        kind,
                        drawstyle='steps-pre',  # of the second before
                        marker='.',
                        markersize=3,
                    )
            left.set_ylim(
                bottom=min(0.0, left.get_ylim()[0] if trace and trace.low < 0.0 else 0.0)
            )
        label(left, name, 'ms')
        legend(left)
        if trace is not None:
            _histogram(right, gathered.spacing if key == 'spacing' else gathered.lateness)
        right.tick_params(labelleft=False)
        left.set_xlim(0.0, time.end)
    grid[-1][0].set_xlabel(f'time since the first step [{time.unit}]')
    grid[-1][1].set_xlabel('steps')
    figure.align_ylabels(grid[:, 0])
    yield Picture(
        'timing',
        'Step timing',
        'Time between the stamps of one step and the next'
        + (
            '; below, how long after its stamp the first message of a step was received, and how '
            'late the node itself says that it woke.'
            if len(parts) > 1
            else '.'
        )
        + ' Right: how many steps had which.',
        figure,
    )


def _histogram(ax: Any, spread: Spread) -> None:
    """Draw how often which came, over the vertical axis as it stands."""
    middles, counts = spread.bins()
    low, high = ax.get_ylim()
    between = np.geomspace if ax.get_yscale() == 'log' else np.linspace
    edges = between(low, high, 41)
    heights, _ = np.histogram(middles * 1e-6, edges, weights=counts)
    ax.stairs(heights, edges, orientation='horizontal', fill=True, color=LINES[0][0])
    logarithmic(ax.xaxis)
    ax.set_xlim(0.7, 2.0 * max(1.0, float(heights.max())))


def refusals(told: Told) -> Made:
    """Draw counts by reason."""
    if not told.counts_refused:
        raise Missing(told.lacks.get('refusals', '/diagnostics is not recorded'))
    counts = {name: count for name, count in told.refused.items() if count}
    if not counts:
        raise Missing('nothing was refused or late')
    names = sorted(counts, key=lambda name: (-counts[name], name))[:24]
    figure = Figure(figsize=(WIDTH, 0.6 + 0.22 * len(names)))
    ax = figure.subplots()
    values = [counts[name] for name in names]
    ax.barh(range(len(names)), values, height=0.6, color=LINES[0][0])
    for i, value in enumerate(values):
        ax.annotate(
            f'{value}', (value, i), (3, 0), textcoords='offset points', va='center', fontsize=7.5
        )
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.grid(False, axis='y')
    if values[0] > 50 * values[-1]:
        logarithmic(ax.xaxis)
        ax.set_xlim(0.7, values[0] * 2.0)
    else:
        ax.set_xlim(0.0, values[0] * 1.1)
        ax.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    ax.set_xlabel('inputs that were not used, or came late')
    yield Picture(
        'refusals',
        'Refusals',
        'Inputs by source and reason, since the session began. Late ones are used by the step '
        'after; repeated ones stand beside another of the same stamp.',
        figure,
    )


__all__ = ['pictures', 'Picture', 'ROW']
