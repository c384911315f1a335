"""A report: what is read, what is said of it, and the files it goes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np

from ... import parameter_file
from ...figures import duration as in_words
from ...names import names
from ..replaying import replay
from ..salvage import readable
from ..writing import write_whole
from . import page
from .bag import Bag
from .figures import Picture, pictures
from .findings import findings, Peak, peaks, sums
from .gather import Gathered
from .replayed import Replayed
from .source import ReportError, Source
from .style import quantity
from .tables import Table

HOW_TO_READ = (
    'Lines pass through the highest and the lowest value of every stretch of time, so that no '
    'peak is lost in a long recording. Where a line would fill an area, the band between its '
    'lowest and highest values is drawn.'
)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ON_EARTH_NS = 10**18
"""A stamp beyond it (September 2001) is of the time of day, not of a clock of its own."""


@dataclass(frozen=True)
class Report:
    """
    What a recording shows.

    Attributes
    ----------
    title : of the page
    source : what was read
    gathered : what was kept of it, by column
    peaks : by column
    findings : sentences
    pictures : the figures
    missing : why there is no such figure, by its title

    """

    title: str
    source: Source
    gathered: Gathered
    peaks: dict[str, Peak]
    findings: list[str]
    pictures: list[Picture]
    missing: dict[str, str]

    def html(self) -> str:
        """Return the page."""
        parts = [page.facts(self._head()), page.section('Findings', page.items(self.findings))]
        parts.append(page.section('Peaks', self._peaks()))
        if energy := sums(self.gathered):
            head = ('motor', 'work in', 'heat', 'gained', 'residual')
            rows = [(one[0], *(quantity(x, 'J') for x in one[1:])) for one in energy]
            parts.append(page.section('Energy', page.table(head, rows, range(1, 5))))
        parts.append(page.section('Figures', page.paragraph(HOW_TO_READ)))
        parts += [page.figure(i, one) for i, one in enumerate(self.pictures, 1)]
        if self.missing:
            left_out = [f'{title}: {why}.' for title, why in self.missing.items()]
            parts.append(page.section('Left out', page.items(left_out)))
        if self.source.parameters:
            pairs = [
                (name, _shown(value)) for name, value in sorted(self.source.parameters.items())
            ]
            parts.append(page.section('Parameters', page.facts(pairs)))
        return page.page(self.title, self.source.what, parts)

    def _head(self) -> Iterator[tuple[str, str]]:
        gathered, source = self.gathered, self.source
        seconds = (gathered.last_ns - gathered.first_ns) * 1e-9
        yield 'Recording', source.name
        if source.node:
            yield 'Node', source.node
        yield 'Motors', ', '.join(source.motors) or 'none recorded'
        yield 'Begins', _moment(gathered.first_ns)
        steps = f'{gathered.rows} steps in {in_words(seconds)}'
        if usual := gathered.spacing.quantile(0.5):
            steps += f', half of them at most {quantity(usual * 1e-9, "s")} apart'
        yield 'Steps', steps
        for motor, balance in gathered.balances.items():
            yield f'Inertia of {motor}', f'{balance.inertia:.6g} kg m² (momentum over spin)'
        if not source.parameters:
            yield 'Parameters', 'not recorded'

    def _peaks(self) -> str:
        head = ('of', 'quantity', 'peak', 'at', 'rms')
        rows, before = [], ''
        for one in self.peaks.values():
            whose = '' if one.whose == before else one.whose
            before = one.whose
            rows.append(
                (
                    whose,
                    one.name,
                    quantity(one.value, one.unit),
                    f'{one.seconds:.3f} s',
                    quantity(one.rms, one.unit),
                )
            )
        return page.table(head, rows, (2, 3, 4))

    def write(self, path: str | Path, overwrite: bool = False) -> None:
        """
        Write the page.

        Raises
        ------
        MotorError
            If there is a file already, or it cannot be written.

        """
        text = self.html().encode('utf-8', 'replace')  # a name of a file may be any bytes
        write_whole(Path(path), lambda part: part.write_bytes(text), overwrite)

    def write_pngs(self, folder: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the figures into a folder, as <key>.png; return their paths."""
        paths = [Path(folder) / f'{one.key}.png' for one in self.pictures]
        refuse_pngs(Path(folder), overwrite)
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReportError(f'{folder} cannot be made: {error.strerror}.') from None
        for path, one in zip(paths, self.pictures, strict=True):
            write_whole(path, one.png, overwrite)
        return paths


def refuse_pngs(folder: Path, overwrite: bool) -> None:
    """Raise ReportError where a folder of figures has some already."""
    if folder.exists() and not folder.is_dir():
        raise ReportError(f'{folder} is no folder. Give the name of one.')
    if not overwrite and any(folder.glob('*.png')):
        hint = 'Choose another, or add --overwrite (overwrite=True).'
        raise ReportError(f'{folder} has figures already. {hint}')


def _moment(stamp_ns: int) -> str:
    if stamp_ns < ON_EARTH_NS:
        return f'at {stamp_ns * 1e-9:.3f} s of its clock'
    with suppress(OverflowError):
        when = EPOCH + timedelta(microseconds=stamp_ns // 1000)
        return f'{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d} UTC'
    return f'at {stamp_ns} ns'


def _shown(value: object) -> str:
    return ', '.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def source_of(
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    remap: Sequence[str] = (),
    by: str = 'receipt',
    columns: Mapping[str, str] | None = None,
    is_raw: bool = False,
    node: str = '',
    mount: str | Path | None = None,
    world: str = '',
    until: float | None = None,
) -> Source:
    """Return what reads an input; the arguments are those of `report`."""
    path = Path(path)
    if is_raw or parameters is not None or overrides or remap or columns:
        if mount is not None:
            raise ReportError('mount must be left out where a recording is replayed: it has one.')
        made = replay(
            path,
            parameters,
            by=by,
            remap=remap,
            duration=until,
            overrides=overrides,
            columns=columns,
        )
        given: dict[str, Any] = dict(overrides or {})
        if isinstance(parameters, Mapping):
            given = {**parameters, **given}
        elif parameters is not None:
            given = {**parameter_file.read(parameters, names(remap).full_node), **given}
        return Replayed(made, given)
    if path.suffix in ('.csv', '.parquet'):
        if not path.is_file():
            raise ReportError(
                f'{path} does not exist. Give a recording, or the table of a replay.'
            )
        return Table(path)
    beside = None if mount is None else readable(mount)
    return Bag(readable(path), node, beside, world)


def report(
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    remap: Sequence[str] = (),
    by: str = 'receipt',
    columns: Mapping[str, str] | None = None,
    is_raw: bool = False,
    node: str = '',
    mount: str | Path | None = None,
    world: str = '',
    start: float = 0.0,
    duration: float | None = None,
    title: str = '',
    shown: Callable[[float, float], None] = lambda share, seconds: None,
) -> Report:
    """
    Return the report about a recording or a table.

    Parameters
    ----------
    path
        A rosbag2 folder, .mcap or .db3 file with the topics of a node; a .csv or .parquet table
        of `motor_replay`; or, with parameters, whatever can be replayed.
    parameters, overrides, remap, columns, by
        As of `replay`; with any but the last, or ``is_raw``, the recording is replayed.
    is_raw
        Replay it, with the node's defaults.
    node
        Which node's topics, where there are several.
    mount
        Another recording, which has the transforms of the mount.
    world
        The frame in whose axes momentum is wanted; '' is the root of the mount's frames.
    start, duration
        Which part [s] behind the first step is shown; a replay begins before it all the same.
    title
        Of the page; '' is the name of the recording.
    shown
        Called now and then with how much is read, 0 to 1, and how far it is [s].

    Raises
    ------
    MotorError
        If it cannot be read, or holds nothing to report.

    """
    until = None if duration is None else start + duration + 1.0
    source = source_of(
        path,
        parameters=parameters,
        overrides=overrides,
        remap=remap,
        by=by,
        columns=columns,
        is_raw=is_raw,
        node=node,
        mount=mount,
        world=world,
        until=until,
    )
    gathered = Gathered(source.motors, start, duration)
    with np.errstate(all='ignore'):  # of numbers beyond computing there is nothing to show
        for block in source.blocks():
            if not gathered.add(block):
                break
            shown(source.share, (gathered.last_ns - gathered.first_ns) * 1e-9)
    told = source.told
    if not gathered.rows:
        if told.cut:
            raise ReportError(told.cut)
        span = ' in the span asked for' if start or duration is not None else ''
        raise ReportError(f'{path} has no step{span}.')
    kept = gathered.traces
    if (
        isinstance(source, Bag)
        and 'momentum_world_x_n_m_s' not in kept
        and 'momentum_x_n_m_s' in kept
    ):
        _, frame = source.frames
        told.lacks['world'] = (
            f'no transform recorded carries {frame!r}: it stands still, or its transforms are in '
            'another recording, see --mount'
        )
        told.notes.append(f'Momentum is in mount axes: {told.lacks["world"]}.')
    found, missing = pictures(gathered, told)
    return Report(
        title or source.name,
        source,
        gathered,
        {one.column: one for one in peaks(gathered)},
        findings(gathered, told),
        found,
        missing,
    )
