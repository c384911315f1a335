"""What a user reads of a result: a table, a parameter file of the node, a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import textwrap

from .identifying import Identified
from .logs import Log
from .rolling import NAMES, Segment, UNITS

OF_NODE = {
    'inertia': 'inertia',
    'damping': 'damping',
    'coulomb_friction': 'friction.coulomb',
    'command_delay': 'command.delay',
}
"""What of it is a parameter of the node."""


def table(made: Identified, known: Mapping[str, float], width: int = 99) -> str:
    """Return a result as lines of text: values, correlations, flags."""
    unit = 'rad/s' if made.of_speed else 'rad'
    samples = sum(map(len, made.measured))
    names = ', '.join(log.name for log in made.logs)
    lines = [
        f'motor_identify: {names}: {samples} samples in {_counted(made.segments)}, '
        f'rms of the residual {made.residual:.4g} {unit}',
        *(_read(log, width) for log in made.logs),
        '',
        f'{"":18}{"value":>13}{"std. error":>13}  unit',
    ]
    for name in NAMES:
        value = made.values[name]
        if name in made.free:
            error = f'{made.standard_errors[name]:13.2g}'
        else:
            how = 'given' if name in known else 'not told' if value is None else 'fixed'
            error = f'{how:>13}'
        told = f'{"-":>13}' if value is None else f'{value:13.5g}'
        lines.append(f'{name:18}{told}{error}  {UNITS[name]}')
    if len(made.free) > 1:
        short = [name[:11] for name in made.free]
        lines += ['', f'{"correlations":18}' + ''.join(f'{name:>12}' for name in short)]
        for i, name in enumerate(made.free):
            row = ''.join(f'{made.correlations[i, j]:12.3f}' for j in range(i + 1))
            lines.append(f'{name:18}{row}')
    if made.flags:
        lines.append('')
    for flag in made.flags:
        head = f'{flag.code:14}'
        lines += textwrap.wrap(
            flag.text,
            width,
            initial_indent=head,
            subsequent_indent=' ' * 14,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return '\n'.join(lines)


def parameter_file(made: Identified, motor: str) -> str:
    """Return a parameter file of the node with one motor of what was found."""
    names = ', '.join(log.name for log in made.logs)
    lines = [
        f'# Found by motor_identify in {names}.',
        '/**:',
        '  ros__parameters:',
        f'    motors: [{motor}]',
        f'    {motor}:',
    ]
    for name, of_node in OF_NODE.items():
        value = made.values[name]
        error = made.standard_errors.get(name)
        how = 'given' if error is None else f'+- {error:.2g}'
        # With a decimal point, or rcl reads a text.
        lines.append(f'      {of_node}: {value:.9e}  # {how} {UNITS[name]}')
    longest = made.values['command_delay']
    lines.append(f'      command.max_delay: {longest:.9e}  # may be set greater')
    for name in ('torque_scale', 'load', 'offset'):
        value = made.values[name]
        if value is not None:
            unit = '' if UNITS[name] == '1' else f' {UNITS[name]}'
            lines.append(f'      # {name}: {value:.6g}{unit}, no parameter of the node')
    return '\n'.join(lines) + '\n'


def _read(log: Log, width: int) -> str:
    said = ', '.join(f'{column} ({quantity})' for quantity, column in log.columns.items())
    return textwrap.fill(f'{log.name}: read {said}', width, subsequent_indent='    ')


def _counted(segments: Sequence[Segment]) -> str:
    return f'{len(segments)} segment' + ('s' if len(segments) > 1 else '')


def plot(made: Identified, path: Path) -> None:
    """Draw what was measured, the rollout, and what is left between them, into a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n = len(made.logs)
    figure = Figure(figsize=(10.0, 1.0 + 4.0 * n), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(2 * n, 1, squeeze=False, height_ratios=[2.0, 1.0] * n)[:, 0]
    unit = 'rad/s' if made.of_speed else 'rad'
    for i, log in enumerate(made.logs):
        above, below = axes[2 * i], axes[2 * i + 1]
        whole = log.speed if made.of_speed else log.position
        if whole is not None:
            above.plot(log.time, whole, color='0.75', lw=3.0, label='recorded')
        first = True
        for s, rolled, measured in zip(made.segments, made.rolled, made.measured, strict=True):
            if s.log != i:
                continue
            t = log.time[s.start + 1 : s.stop]
            above.plot(t, rolled, 'C0', lw=1.0, label='rollout' if first else None)
            below.plot(t, measured - rolled, 'C3', lw=0.8)
            first = False
        for stretch in made.excluded:
            if stretch.log == i:
                ends = log.time[stretch.start], log.time[stretch.stop - 1]
                above.axvspan(*ends, color='C1', alpha=0.2, label='left out: saturated')
        above.set(ylabel=f'{"speed" if made.of_speed else "position"} [{unit}]', title=log.name)
        above.legend(loc='best')
        below.set(ylabel=f'residual [{unit}]', xlabel='t [s]')
        below.axhline(0.0, color='0.5', lw=0.5)
        below.set_xlim(*above.get_xlim())
    figure.savefig(path)
