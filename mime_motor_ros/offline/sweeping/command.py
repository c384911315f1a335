# PYTHON_ARGCOMPLETE_OK
"""
Many parameters through many recordings: ``motor_sweep``.

Exit codes: 0 the table is there; 1 something is wrong, or it was interrupted; 2 wrong arguments.
What is finished stays, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
import sys
import time
from typing import Any, NoReturn

from ...errors import MotorError
from ...figures import duration
from ...options import whole
from ...stopping import leave, Stop

EPILOG = """
examples:
  motor_sweep sweep.yaml walk --out sweep.parquet
        every point of sweep.yaml through the recording walk, on all cores
  motor_sweep sweep.yaml walk run.mcap --out sweep.csv --workers 1
        through two recordings, on one core
  motor_sweep sweep.yaml walk --out sweep.parquet --scheduler tcp://10.0.0.1:8786
        on the cluster of a dask scheduler
  motor_sweep --list-figures
        what may be told of a run

Interrupted or killed, the same command goes on from what was finished.
"""


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_sweep',
        description='Run every point of a grid or a distribution of parameters through '
        'recordings, and write a table of figures: a row of each recording and point.',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument(
        'specification', nargs='?', help='YAML: what is varied, and which figures are wanted'
    )
    options.add_argument(
        'recording', nargs='*', help='beside those of the specification: as of motor_replay'
    )
    options.add_argument('--out', metavar='FILE', help='the table, .parquet or .csv')
    options.add_argument(
        '--work', metavar='DIR', help='folder of what is finished (beside the table, FILE.work)'
    )
    options.add_argument('--overwrite', action='store_true', help='replace a table that is there')
    where = options.add_mutually_exclusive_group()
    where.add_argument(
        '--workers',
        type=whole('>= 1', lambda x: x >= 1),
        metavar='N',
        help='how many chunks at a time (one on each core)',
    )
    where.add_argument('--scheduler', metavar='ADDRESS', help='of a cluster of dask.distributed')
    options.add_argument(
        '--list-figures', action='store_true', help='list what may be told of a run, and end'
    )
    options.add_argument('-q', '--quiet', action='store_true', help='no progress bar')
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code of the process."""
    stop = Stop(code=1).catch_signals()
    stop.at_once = True  # nothing has to be put away
    options_of = parser()
    with suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(options_of)
    options = options_of.parse_intermixed_args(args)
    if not options.list_figures and (options.specification is None or options.out is None):
        options_of.error('a specification and --out FILE are needed')
    try:
        return _list() if options.list_figures else _sweep(options, stop)
    except MotorError as error:
        print(f'motor_sweep: {error}', file=sys.stderr)
        return 1


def _list() -> int:
    from .figures import FIGURES

    for name, figure in FIGURES.items():
        whose = 'of each motor' if figure.of_motor else 'of all motors'
        print(f'{name:20} [{figure.unit}] {whose}: {figure.text}')
    return 0


def _sweep(options: argparse.Namespace, stop: Stop) -> int:
    from dataclasses import replace

    from .specification import read
    from .sweeping import Output, Sweep

    given = read(options.specification)
    given = replace(given, recordings=(*given.recordings, *options.recording))
    out = Output(options.out, options.work, options.overwrite, given.reads)
    began = time.monotonic()
    stop.at_once = False
    with _progress(options.quiet) as show:
        one = Sweep(given, Path(options.work) if options.work else out.work, show, stop.__bool__)
        count = len(one.points)
        print(f'motor_sweep: {count} points x {len(given.recordings)} recordings', file=sys.stderr)
        one.run(options.workers, options.scheduler)
        out.finish(one)
    for note in one.notes:
        print(f'motor_sweep: {note}', file=sys.stderr)
    took, made = time.monotonic() - began, one.total - one.found
    there = f', {one.found} were there already' if one.found else ''
    print(
        f'{one.total} rows in {out.path}: {made} runs in {duration(took)} '
        f'({made / max(took, 1e-9):.1f} a second){there}'
    )
    return 0


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, float, float], None]]:
    """Show a bar on a terminal, with how fast it goes and how long it will still take."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, of: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn('{task.fields[rate]}'),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        tasks: dict[str, Any] = {}
        began: dict[str, tuple[float, float]] = {}

        def show(what: str, done: float, of: float) -> None:
            if what not in tasks:
                for other in tasks.values():
                    bar.update(other, visible=False)
                tasks[what] = bar.add_task(what, total=of, rate='')
                bar.update(tasks[what], completed=done)
                began[what] = time.monotonic(), done
            since, before = began[what]
            rate = (done - before) / max(time.monotonic() - since, 1e-9)
            shown = f'{rate:.1f} a second' if of > 1.0 else ''
            bar.update(tasks[what], completed=done, visible=True, rate=shown)

        yield show


def run() -> NoReturn:
    """Be the console script ``motor_sweep``."""
    leave(main)


if __name__ == '__main__':
    run()
