"""
A parameter sweep: points x recordings -> a table of figures.

    table = sweep('sweep.yaml', ['recording'])
    table['wheel.inertia_kg_m2'], table['peak_mount_torque_n_m']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil, inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...arrays import check_whole
from ...errors import MotorError, ParameterError
from ...settings import Settings
from ..gathering import gather, Gathering
from ..writing import Made, OutputError, refuse
from . import table
from .figures import columns
from .points import points
from .running import cluster, Job, local, run
from .specification import read, Specification
from .work import Chunk, Folder, Stored

Array = NDArray[Any]

STEPS = 500_000
"""Steps of a motor in a chunk: a fraction of a second compiled, some seconds plain."""
MOST_CHUNKS = 5_000
MOST_GATHERED = 1_000
"""Of one recording."""

Show = Callable[[str, float, float], None]
"""Told what is done, how much of it and of how much."""


class Stopped(MotorError):  # noqa: N818 - an answer, not an error
    """A sweep was stopped; what is finished stays."""


class Sweep:
    """
    One sweep, from its specification to its table.

    Parameters
    ----------
    specification
        As `read` gives it.
    work
        Folder for finished chunks.
    show
        Is told how far it is.
    stop
        Is asked whether to stop.

    Attributes
    ----------
    points : Points
    notes : what a user should know, one line each; the keys
    found, finished : how many runs of a point were there already, and are now

    """

    def __init__(
        self,
        specification: Specification,
        work: Path,
        show: Show = lambda *_: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        if not specification.recordings:
            hint = 'Name them in the specification, or behind it on the command line.'
            raise ParameterError('recordings', 'at least one recording', 'nothing', hint)
        if len(set(specification.recordings)) < len(specification.recordings):
            raise ParameterError(
                'recordings', 'each there once', ', '.join(specification.recordings)
            )
        self.specification, self.show, self.stop = specification, show, stop
        self.points = points(specification)
        self.points.settings(0)
        for path in specification.recordings:  # the last is looked at before hours of the first
            self._reading(path, 0)
        self.folder = Folder(work, self._identity())
        self.notes: dict[str, None] = {}
        self.found = self.finished = 0
        self._firsts: dict[bool, dict[Any, int]] = {}

    @property
    def total(self) -> int:
        """Return how many runs there are, of each point through each recording."""
        return len(self.points) * len(self.specification.recordings)

    @cached_property
    def names(self) -> list[str]:
        """Return the columns of the figures."""
        return columns(self.specification.figures, self.points.motors)

    def _check(self) -> None:
        """Check the parameters of every point; see which need a gathering of their own."""
        known = self.folder.read('checked.json')
        firsts: dict[bool, list[int]] = {False: [], True: []}
        if known is None:
            keys: dict[bool, dict[Any, int]] = {False: {}, True: {}}
            for point in range(len(self.points)):
                chosen = self.points.settings(point)
                if chosen.torque_limit < inf:
                    hint = 'It makes what a motor does hang on the others; motor_replay has it.'
                    rule = '0 N m (none) in a sweep'
                    raise ParameterError('torque_limit', rule, chosen.torque_limit, hint)
                for placed, found in keys.items():
                    if len(found) <= MOST_GATHERED:
                        found.setdefault(_key(chosen, placed), point)
                if point % 256 == 0:
                    self._look('checking', point, len(self.points))
            firsts = {placed: list(found.values()) for placed, found in keys.items()}
            self.folder.write('checked.json', [firsts[False], firsts[True]])
        else:
            firsts = {False: known[0], True: known[1]}
        for placed, some in firsts.items():
            self._firsts[placed] = {_key(self.points.settings(p), placed): p for p in some}

    def _look(self, what: str, done: float, of: float) -> None:
        self.show(what, done, of)
        if self.stop():
            raise Stopped(
                f'interrupted: {self.finished} of {self.total} runs are finished in '
                f'{self.folder.path}; the same command goes on from there.'
            )

    def gathered(self, recording: int, point: int) -> Stored:
        """Return what the recording gives the motors of a point, read where it is not there."""
        name = f'gathered-{recording:04d}-{point}'
        found = self.folder.gathered(name)
        if found is None:
            path = self.specification.recordings[recording]
            made = self._reading(path, point)
            made.replay.stop = self.stop
            shown = _Shown(made, lambda share: self._look(f'reading {path}', share, 1.0))
            found = self.folder.gather(name, shown)
        self.notes.update(dict.fromkeys(found.notes))
        return found

    def _reading(self, path: str, point: int) -> Gathering:
        base = None if self.specification.parameters is None else self.points.base
        overrides = self.points.overrides(point)
        return gather(path, base, overrides=overrides, **self.specification.options)

    @cached_property
    def chunks(self) -> list[Chunk]:
        """Return all chunks, in order; they hang on the specification alone."""
        made = []
        count = len(self.points)
        least = ceil(self.total / MOST_CHUNKS)
        for recording in range(len(self.specification.recordings)):
            steps = len(self.gathered(recording, 0).rows()) * len(self.points.motors)
            size = max(1, min(1024, STEPS // steps), least)
            made += [
                Chunk(recording, number, first, min(size, count - first))
                for number, first in enumerate(range(0, count, size))
            ]
        return made

    def _job(self, chunk: Chunk) -> Job:
        """Return a chunk with all that it needs."""
        placed = self.gathered(chunk.recording, 0).placed
        firsts = self._firsts[placed]
        if len(firsts) > MOST_GATHERED:
            raise MotorError(
                f'the points read {self.specification.recordings[chunk.recording]} in more than '
                f'{MOST_GATHERED} ways: vary fewer values of what says when steps are taken, when '
                'commands act and where loads are.'
            )
        if len(firsts) == 1:
            which, used = [0] * chunk.size, [0]
        else:
            own = [
                firsts[_key(self.points.settings(point), placed)]
                for point in range(chunk.first, chunk.first + chunk.size)
            ]
            used = sorted(set(own))
            which = [used.index(x) for x in own]
        gathered = [self.gathered(chunk.recording, point) for point in used]
        return chunk, self.points, self.specification.figures, which, gathered

    def run(self, workers: int | None = None, scheduler: str | None = None) -> None:
        """
        Check the parameters of every point, then do all that is not there yet.

        Raises
        ------
        Stopped
            If the stop came before all was done.
        MotorError
            If the parameters of a point break a rule, or a recording, the folder or a cluster
            cannot be used.

        """
        with cluster(scheduler) if scheduler else local(workers) as (submit, width):
            self._check()
            width_of_row = len(self.names)
            missing = [x for x in self.chunks if self.folder.part(x, width_of_row) is None]
            self.found = self.finished = self.total - sum(chunk.size for chunk in missing)
            self.show('points', self.finished, self.total)
            run((self._job(chunk) for chunk in missing), submit, width, self._done, self.stop)
        self._look('points', self.finished, self.total)

    def _done(self, chunk: Chunk, figures: Array) -> None:
        self.folder.put(chunk, figures)
        self.finished += chunk.size
        self.show('points', self.finished, self.total)

    def rows(self) -> Iterator[list[Any]]:
        """Return the rows of the table in order."""
        drawn = any(one.distribution for one in self.points.vary)
        for chunk in self.chunks:
            figures = self.folder.part(chunk, len(self.names))
            if figures is None:
                raise MotorError(f'{self.folder.path / chunk.name} is gone: run it again.')
            path = self.specification.recordings[chunk.recording]
            for point, numbers in enumerate(figures.tolist(), chunk.first):
                sample = [point % self.points.samples] if drawn else []
                yield [path, point, *sample, *self.points.row(point), *numbers]

    @property
    def columns(self) -> list[tuple[str, type]]:
        """Return name and type of each column of these rows."""
        drawn = any(one.distribution for one in self.points.vary)
        head: list[tuple[str, type]] = [('recording', str), ('point', int)]
        head += [('sample', int)] if drawn else []
        varied = zip(self.points.columns(), self.points.kinds(), strict=True)
        return [*head, *varied, *((name, float) for name in self.names)]

    def write(self, out: Made) -> None:
        """Write the table of all that was done."""
        names, kinds = zip(*self.columns, strict=True)
        table.write(out.part, out.path, names, kinds, self.rows())

    def _identity(self) -> dict[str, Any]:
        """Return all that the table hangs on."""
        given = self.specification
        return {
            'version': __version__,
            'recordings': [[path, *_stamp(Path(path))] for path in given.recordings],
            'parameters': None if given.parameters is None else dict(self.points.base),
            'vary': [list(one) for one in given.vary],
            'samples': given.samples,
            'seed': given.seed,
            'figures': list(given.figures),
            'options': {name: repr(value) for name, value in given.options.items()},
        }


class _Shown:
    """A gathering whose progress is shown, and that is whole or raises."""

    def __init__(self, made: Gathering, look: Callable[[float], None]) -> None:
        self._made, self._look = made, look
        self.settings, self.type = made.settings, made.type

    @property
    def placed(self) -> bool:
        return self._made.placed

    @property
    def notes(self) -> list[str]:
        replay = self._made.replay
        return [note for note in (*replay.notes, replay.cut) if note]

    def __iter__(self) -> Iterator[Array]:
        is_empty = True
        for rows in self._made:
            is_empty = False
            self._look(self._made.replay.share)
            yield rows
        self._look(1.0)  # where it was stopped, it ended early
        if is_empty:
            raise MotorError(self._made.replay.why_none)


def _stamp(path: Path) -> tuple[int, int]:
    """Return size and time of a recording: another one of the same name is another one."""
    files = [x for x in sorted(path.rglob('*')) if x.is_file()] if path.is_dir() else [path]
    stats = [x.stat() for x in files]
    return sum(x.st_size for x in stats), max((x.st_mtime_ns for x in stats), default=0)


def _key(chosen: Settings, placed: bool) -> tuple[Any, ...]:
    """Return what of the settings says which steps there are and what they are given."""
    return (
        chosen.rate,
        chosen.step_on,
        chosen.world_frame,
        chosen.mount_frame,
        chosen.rate_source,
        chosen.pose_source,
        chosen.pose_timeout,
        chosen.rate_timeout,
        chosen.command_timeout,
        chosen.max_gap,
        chosen.settle,
        chosen.on_time_jump,
        *(
            (
                motor.joint,
                motor.stator_frame,
                motor.rotor_frame,
                motor.drive.mode,
                motor.group in chosen.groups_off,
                motor.command,
                motor.model.placement if placed else None,
            )
            for motor in chosen.motors
        ),
    )


def sweep(
    specification: str | Path | Mapping[str, Any],
    recordings: str | Path | Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    work: str | Path | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    show: Show = lambda *_: None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Array]:
    """
    Run every point of a sweep through every recording; return the table by columns.

    Without numba, and with more than one worker, it starts processes: a script then has to call
    it below ``if __name__ == '__main__':``.

    Parameters
    ----------
    specification
        The path of its file, or a mapping of the same form: doc/offline.md.
    recordings
        Beside those that it names.
    out
        Where the table is written too, a .csv or .parquet file; None: nowhere.
    work
        Folder of what is finished, with which a sweep goes on that was stopped; None: beside
        ``out``, or one for this call.
    overwrite
        Replace ``out`` where it is there.
    workers
        How many chunks at a time; None: as many as there are cores.
    scheduler
        Address of a cluster of dask.distributed to run them on.
    show
        Is told what is being done, how much of it and of how much.
    stop
        Is asked now and then whether to stop.

    Returns
    -------
    Arrays by name of the column, in order of recording and point: recording, point, the varied
    parameters and the figures, with units in their names.

    Raises
    ------
    MotorError
        If the specification, the parameters of a point, a recording, an output or a cluster
        cannot be used; Stopped where ``stop`` said so.

    """
    given = read(specification)
    more = [recordings] if isinstance(recordings, (str, Path)) else recordings
    given = replace(given, recordings=(*given.recordings, *map(str, more)))
    if workers is not None:
        check_whole('workers', workers)
    made = Output(out, work, overwrite, given.reads) if out is not None else None
    with TemporaryDirectory() as folder:
        path = Path(work) if work is not None else made.work if made else Path(folder)
        one = Sweep(given, path, show, stop)
        try:
            one.run(workers, scheduler)
            columns = list(zip(*one.rows(), strict=True))
            if made:
                made.finish(one)
        finally:
            one.folder.close()
    return {
        name: np.array(values, dtype=object if kind is str else kind)
        for (name, kind), values in zip(one.columns, columns, strict=True)
    }


class Output:
    """
    Where the table goes, and beside it the folder of what is finished.

    Raises
    ------
    OutputError
        If there is a file already, it is what is read, or its name says nothing of what it is.

    """

    def __init__(
        self, out: str | Path, work: str | Path | None, overwrite: bool, reads: Sequence[str]
    ) -> None:
        self.path, self._overwrite = Path(out), overwrite
        table.check(self.path)
        refuse(self.path, overwrite, reads=[Path(one) for one in reads])
        self.work = Path(work) if work else self.path.with_name(f'{self.path.name}.work')
        if self.work.resolve() in self.path.resolve().parents:
            raise OutputError(
                f'{self.path} must not be in {self.work}, which goes when the table is complete. '
                'Choose another folder with --work.'
            )

    def finish(self, one: Sweep) -> None:
        """Write the table, and remove the folder."""
        made = Made(self.path, self._overwrite)
        try:
            one.write(made)
        except BaseException:
            made.drop()
            raise
        made.finish()
        one.folder.remove()
