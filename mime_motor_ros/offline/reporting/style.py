"""How figures look: 170 mm wide on A4, in colour and in grey; same numbers, same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
import re
from typing import Any, NamedTuple

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
import matplotlib.ticker
import numpy as np

from .gather import PAUSE
from .traces import band, is_dense, Times, Trace, Values

WIDTH = 6.7  # inch: the text of an A4 page with 20 mm margins
ROW = 1.45  # inch, one of several axes one above the other
MOST_ROWS = 4
RC = {
    'font.family': 'DejaVu Sans',  # which comes with matplotlib
    'font.size': 8.0,
    'axes.titlesize': 8.0,
    'axes.labelsize': 8.0,
    'axes.linewidth': 0.6,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.formatter.useoffset': False,
    'axes.formatter.limits': (-4, 5),
    'axes.xmargin': 0.0,
    'axes.ymargin': 0.08,
    'grid.color': '#dddddd',
    'grid.linewidth': 0.5,
    'lines.linewidth': 1.0,
    'lines.solid_joinstyle': 'round',
    'lines.dash_capstyle': 'butt',
    'legend.fontsize': 7.5,
    'legend.frameon': False,
    'legend.handlelength': 2.6,
    'legend.columnspacing': 1.4,
    'legend.borderpad': 0.0,
    'legend.borderaxespad': 0.2,
    'xtick.labelsize': 7.5,
    'ytick.labelsize': 7.5,
    'xtick.major.width': 0.6,
    'ytick.major.width': 0.6,
    'xtick.direction': 'out',
    'figure.constrained_layout.use': True,
    'figure.constrained_layout.h_pad': 0.03,
    'figure.dpi': 100,
    'svg.hashsalt': 'motor_report',
    'svg.fonttype': 'path',
    'path.simplify': True,
}
# Colours of Okabe and Ito, told apart by all eyes; dashes tell them apart in grey.
LINES = (
    ('#0072B2', '-'),
    ('#D55E00', (0, (4.5, 1.5))),
    ('#009E73', (0, (6, 1.2, 1.2, 1.2))),
    ('#000000', (0, (1.2, 1.2))),
    ('#CC79A7', (0, (8, 2))),
    ('#56B4E9', (0, (3, 1, 1, 1, 1, 1))),
)
LIMITED = '#e4e4e4'
PREFIXES = (
    (1e-15, 'f'), (1e-12, 'p'), (1e-9, 'n'), (1e-6, 'µ'), (1e-3, 'm'), (1.0, ''), (1e3, 'k'),
    (1e6, 'M'),
)  # fmt: skip
PREFIXED = ('N', 'N m', 'N m s', 'J', 'W', 'A', 'V', 's')


class Picture(NamedTuple):
    """One figure, and the words about it."""

    key: str
    title: str
    caption: str
    figure: Figure

    def svg(self, number: int) -> str:
        """Return it as an element of a page in which it is the n-th."""
        buffer = BytesIO()
        with matplotlib.rc_context(RC):
            FigureCanvasSVG(self.figure)
            self.figure.savefig(buffer, format='svg', metadata=dict.fromkeys(META))
        return embedded(buffer.getvalue().decode('utf-8'), f'f{number}-', self.title)

    def png(self, path: Any) -> None:
        """Write it as a PNG file of 200 dots an inch."""
        with matplotlib.rc_context(RC):
            FigureCanvasAgg(self.figure)
            self.figure.savefig(path, format='png', dpi=200, metadata={'Software': None})


META = ('Creator', 'Date', 'Format', 'Type')


def embedded(svg: str, prefix: str, label: str) -> str:
    """Return a matplotlib SVG for use inside HTML: ids of its own, no name of another place."""
    svg = svg[svg.index('<svg') :].strip()
    svg = re.sub(r'<metadata>.*?</metadata>', '', svg, flags=re.DOTALL)
    svg = re.sub(r'\s*<!--.*?-->', '', svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', '', svg)
    svg = svg.replace('xlink:href="#', 'href="#')
    svg = re.sub(r'(\bid="|\bhref="#|url\(#)', rf'\g<1>{prefix}', svg)
    # Its size is that of the page; the box in it has the proportions.
    svg = re.sub(r'^<svg[^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 role="img">', svg)
    return svg.replace('role="img">', f'role="img" aria-label="{label}">', 1)


def scale(size: float, unit: str) -> tuple[float, str]:
    """Return what to multiply numbers of a size with, and the unit they then have."""
    if unit not in PREFIXED or not np.isfinite(size) or size == 0.0:
        return 1.0, unit
    fits = [one for one in PREFIXES if one[0] <= size * 1.0000001]
    factor, prefix = fits[-1] if fits else PREFIXES[0]
    return 1.0 / factor, prefix + unit


def quantity(value: float, unit: str, digits: int = 4) -> str:
    """Return a number with its unit, as one reads it: 1.234 mN m."""
    factor, named = scale(abs(value), unit)
    text = f'{value * factor:.{digits}g}'
    if 'e' in text:
        mantissa, exponent = text.split('e')
        text = f'{mantissa}·10^{int(exponent)}'
    return f'{text} {named}'.strip().replace('-', '\N{MINUS SIGN}')


class Time:
    """The axis of time: seconds since the first row, or minutes of a long recording."""

    def __init__(self, first_ns: int, last_ns: int) -> None:
        self.first_ns = first_ns
        seconds = max(1e-9, (last_ns - first_ns) * 1e-9)
        self.per, self.unit = (1 / 60.0, 'min') if seconds > 600.0 else (1.0, 's')
        self.end = seconds * self.per

    def of(self, times: Any) -> Any:
        """Return times [ns] on the axis."""
        return (np.asarray(times) - self.first_ns) * 1e-9 * self.per


def rows(count: int, height: float = ROW) -> tuple[Figure, list[Any]]:
    """Return a figure with axes one above the other, one time for all."""
    figure = Figure(figsize=(WIDTH, 0.35 + height * count))
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    return figure, list(axes)


def finish(figure: Figure, axes: Sequence[Any], time: Time) -> None:
    """Put in what all axes over time have."""
    for ax in axes:
        ax.set_xlim(0.0, time.end)
        low, high = ax.get_ylim()
        middle, size = 0.5 * (low + high), max(abs(low), abs(high))
        if high - low < 1e-5 * size:  # a constant, and its rounding
            ax.set_ylim(middle - 0.01 * size, middle + 0.01 * size)
        if low <= 0.0 <= high:
            ax.axhline(0.0, color='#999999', linewidth=0.6, zorder=0.5)
        ax.yaxis.set_major_locator(
            matplotlib.ticker.MaxNLocator(5, min_n_ticks=4, steps=(1, 2, 2.5, 5, 10))
        )
    axes[-1].set_xlabel(f'time since the first step [{time.unit}]')
    figure.align_ylabels(axes)


def short(value: float) -> str:
    """Return a number of a logarithmic axis: 0.1, 10, 100k, 1M."""
    size, ending = next((one for one in ((1e6, 'M'), (1e3, 'k')) if value >= one[0]), (1.0, ''))
    return f'{value / size:g}{ending}'


def logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with plain numbers."""
    set_scale = getattr(axis.axes, f'set_{axis.axis_name}scale')
    set_scale('log')
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: short(x)))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def settle(figure: Figure) -> None:
    """Lay a figure out once and for all, or each time it is drawn it shifts by a hair."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine('none')


def label(ax: Any, name: str, unit: str) -> None:
    """Name the vertical axis."""
    ax.set_ylabel(f'{name}\n[{unit}]')


def legend(ax: Any, title: str = '') -> None:
    """Put the legend above the axes, right of their title, where no data are."""
    if title:
        ax.set_title(title, loc='left', fontweight='bold', pad=3.0)
    handles, labels = ax.get_legend_handles_labels()
    if handles and (len(handles) > 1 or not title):
        ax.legend(
            handles, labels, loc='lower right', bbox_to_anchor=(1.0, 1.0), ncols=len(handles)
        )


def draw(
    ax: Any, time: Time, trace: Trace, factor: float, name: str, kind: int, **more: Any
) -> None:
    """
    Draw a trace, broken where there were no rows.

    One that goes to and fro more often than a page can show is the band between its lowest and
    its highest values.
    """
    times, values = trace.points()
    if not len(times):
        return
    values = values * factor
    colour, dashes = LINES[kind % len(LINES)]
    style = {'color': colour, 'linestyle': dashes, 'label': name, **more}
    if is_dense(times, values):
        x, low, high = _broken(time, *band(times, values))
        style['linewidth'] = 0.7
        ax.fill_between(x, low, high, color=style['color'], alpha=0.22, linewidth=0.0)
        ax.plot(x, low, **style)
        ax.plot(x, high, **{**style, 'label': None})
        return
    if len(times) == 1:
        style['marker'] = '.'
    ax.plot(*_broken(time, times, values), **style)


def _broken(time: Time, times: Times, *values: Values) -> list[Any]:
    """Return times on the axis and values, with a NaN in each gap."""
    width = (int(times[-1]) - int(times[0])) / len(times)
    breaks = np.flatnonzero(np.diff(times) > max(PAUSE * 1e9, 6.0 * width)) + 1
    return [np.insert(x, breaks, np.nan) for x in (time.of(times), *values)]
