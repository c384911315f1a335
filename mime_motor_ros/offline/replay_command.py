# PYTHON_ARGCOMPLETE_OK
"""
A recording through the motors of a parameter file: ``motor_replay``.

Exit codes: 0 all was read; 1 something is wrong, or it was interrupted; 2 wrong arguments. What
was made until then is complete and valid in each case.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from math import inf
import os
from pathlib import Path
import sys
import time
from typing import Any, NoReturn

from ..errors import MotorError, shortened
from ..figures import duration
from ..options import number
from ..stopping import leave, Stop
from ..vector import norm
from .progress import progress

MOST_RECEIVED = 1_000_000
"""Inputs that a check looks at."""
EPILOG = """
examples:
  motor_replay walk --params-file motor.yaml --out replayed
        a rosbag2 folder of all that the node would have published
  motor_replay walk.mcap --params-file motor.yaml --csv steps.csv -r imu/data:=/imu
        a table of one file, its IMU on another topic
  motor_replay walk --by stamp --step-on imu --parquet steps.parquet
        with the node's defaults, in order of the stamps, a step from sample to sample
  motor_replay walk --params-file motor.yaml --check
        what a motor would lack in it, and what looks wrong
  motor_replay bench.csv -p wheel.inertia:=0.0175 --column wheel.command=u --csv steps.csv
        a log whose column u is the torque
"""


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_replay',
        description='Send a recording through the motors of a parameter file, and write what the '
        'node would have published. No ROS is needed.',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument('recording', help='a rosbag2 folder, or an .mcap, .db3 or .csv file')
    given = options.add_argument_group('the node')
    given.add_argument(
        '--params-file',
        '--params',
        metavar='FILE',
        help="the node's parameter file; none: its defaults, and the frames of the recording",
    )
    given.add_argument(
        '-p',
        '--param',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        help='one parameter more; may be given several times',
    )
    given.add_argument(
        '-r',
        '--remap',
        action='append',
        default=[],
        metavar='FROM:=TO',
        help='another name for a topic, __node or __ns; may be given several times',
    )
    given.add_argument('--step-on', choices=('timer', 'imu'), help='what makes a step')
    given.add_argument(
        '--rate', type=number('> 0 Hz', lambda x: 0.0 < x < inf), help='steps a second [Hz]'
    )
    read = options.add_argument_group('what is read')
    read.add_argument(
        '--by',
        choices=('receipt', 'stamp'),
        default='receipt',
        help='order of the inputs: as they were received (receipt), or as they were stamped',
    )
    read.add_argument(
        '--start',
        type=number('>= 0 s', lambda x: 0.0 <= x < inf),
        default=0.0,
        metavar='S',
        help='begin so far behind its beginning [s] (0)',
    )
    read.add_argument(
        '--duration',
        type=number('> 0 s', lambda x: 0.0 < x < inf),
        metavar='S',
        help='read so much of it [s] (all)',
    )
    read.add_argument(
        '--column',
        action='append',
        default=[],
        metavar='NAME=COLUMN',
        help='which column of a CSV file is an input; may be given several times',
    )
    made = options.add_argument_group('what is made')
    made.add_argument('--out', metavar='BAG', help='a rosbag2 folder (MCAP)')
    made.add_argument('--csv', metavar='FILE', help='a table, one row a step')
    made.add_argument('--parquet', metavar='FILE', help='the same as Parquet')
    made.add_argument(
        '--check',
        action='store_true',
        help='say what motor_check says of the live graph, of the recording; nothing is made',
    )
    made.add_argument('--json', action='store_true', help='with --check: as one JSON object')
    made.add_argument('--overwrite', action='store_true', help='replace what is there already')
    made.add_argument('-q', '--quiet', action='store_true', help='no progress bar')
    return options


def say(text: str) -> None:
    """Complain, as far as anybody listens: what is made does not depend on that."""
    with suppress(OSError):
        print(f'motor_replay: {text}', file=sys.stderr, flush=True)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code of the process."""
    stop = Stop(code=1).catch_signals()
    stop.at_once = True  # nothing has to be put away
    options_of = parser()
    with suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(options_of)
    options = options_of.parse_args(args)
    if options.check and (options.out or options.csv or options.parquet):
        options_of.error('--check makes nothing: leave --out, --csv and --parquet out.')
    if options.json and not options.check:
        options_of.error('--json says what --check finds: give --check too.')
    for name in ('recording', 'out', 'csv', 'parquet'):
        if getattr(options, name) == '':
            options_of.error(f'{name} must be a name, got nothing.')
    try:
        return _replay(options, stop)
    except MotorError as error:
        say(str(error))
        return 1


def _replay(options: argparse.Namespace, stop: Stop) -> int:
    from ..parameter_file import parse
    from .compiled import NotCompiled
    from .replaying import Replay, replay

    overrides = dict(parse(rule) for rule in options.param)
    for name in ('step_on', 'rate'):
        if getattr(options, name) is not None:
            overrides[name] = getattr(options, name)

    def anew() -> Replay:
        made = replay(
            options.recording,
            options.params_file,
            by=options.by,
            remap=options.remap,
            start=options.start,
            duration=options.duration,
            overrides=overrides,
            columns=dict(column(text) for text in options.column),
        )
        made.stop = lambda: stop.asked
        return made

    made = anew()
    for note in made.notes:
        say(note)
    if options.check:
        return _check(made, options.json)
    fast = not options.out and _compiles(made)
    stop.at_once = False
    try:
        summary = _write(options, made, _run_compiled if fast else _run)
    except NotCompiled as why:
        say(f'{why} It is replayed uncompiled, from its beginning.')
        made = anew()
        summary = _write(options, made, _run)
    for text in made.session.news.values():  # what the node would have warned of
        say(shortened(text))
    if made.session.steps:
        print(summary)
    complaints = [made.cut, '' if made.session.steps or stop else made.why_none]
    if stop:
        complaints.append('interrupted: what was made is complete to there.')
    for text in filter(None, complaints):
        say(text)
    return 1 if any(complaints) else 0


def _compiles(made: Any) -> bool:
    """Tell whether a replay can be had compiled; what it takes is then there."""
    from ..compiling import numba
    from .compiled import compile_for, why_not

    if numba() is None:
        return False
    if why := why_not(made):
        say(f'{why}: it is replayed uncompiled.')
        return False
    compile_for(made.settings)
    return True


def _write(options: argparse.Namespace, made: Any, run: Callable[..., str]) -> str:
    """Make the files that are asked for; return the summary."""
    from .compiled import NotCompiled

    outputs = _outputs(options, made)
    try:
        summary = run(made, [one.writer for one in outputs], options.quiet)
    except NotCompiled:
        _drop(outputs)
        raise
    except OSError as error:
        with suppress(MotorError):
            _finish(outputs, failed=True)
        names = ', '.join(str(one.path) for one in outputs)
        raise MotorError(f'{names} cannot be written: {error.strerror or error}.') from None
    except BaseException:
        with suppress(MotorError):
            _finish(outputs, failed=True)
        raise
    if made.session.steps:
        _finish(outputs)
    else:
        _drop(outputs)
    return summary


def _drop(outputs: Sequence[Any]) -> None:
    for one in outputs:
        with suppress(Exception):
            one.writer.close()
        one.drop()


def _finish(outputs: Sequence[Any], failed: bool = False) -> None:
    """Put all outputs in their places, and only then say what went wrong with any of them."""
    wrong = []
    for one in outputs:
        try:
            if elsewhere := one.finish(failed):
                say(elsewhere)
        except MotorError as error:
            wrong.append(str(error))
    if wrong:
        raise MotorError(' '.join(wrong))


def _check(made: Any, as_one_object: bool) -> int:
    """Print what is found in the inputs of a recording; return 0 where nothing looks wrong."""
    from ..check.case import Seen
    from ..check.command import as_json, table
    from ..check.findings import findings, is_good

    received = list(islice(made.received(), MOST_RECEIVED + 1))
    seen = Seen(received[:MOST_RECEIVED], flooded=len(received) > MOST_RECEIVED)
    found = findings(made.settings, seen)
    seconds = round((received[-1].now_ns - received[0].now_ns) * 1e-9, 3) if received else 0.0
    name = made.recording.name
    colour = sys.stdout.isatty() and not os.environ.get('NO_COLOR')
    print(as_json(name, seconds, found) if as_one_object else table(name, seconds, found, colour))
    if made.cut:
        say(made.cut)
    return 0 if is_good(found) and not made.cut else 1


def column(text: str) -> tuple[str, str]:
    """Return the name of an input and the column that is meant by it."""
    name, equals, of_file = text.partition('=')
    if not (name and equals and of_file):
        raise MotorError(f'--column must be NAME=COLUMN, got {text!r}.')
    return name, of_file


def _outputs(options: argparse.Namespace, made: Any) -> list[Any]:
    """Open the files that are asked for, all or none."""
    from .writing import Made

    def bag(path: Any) -> Any:
        from .bag import Bag

        return Bag(path, made)

    def table(name: str) -> Callable[[Any], Any]:
        from . import table

        return lambda path: getattr(table, name)(path, made.settings)

    kinds = {'out': bag, 'csv': table('CsvTable'), 'parquet': table('ParquetTable')}
    outputs: list[Any] = []
    try:
        for name, opened in kinds.items():
            if path := getattr(options, name):
                reads = [made.recording.path, *map(Path, filter(None, [options.params_file]))]
                outputs.append(Made(path, options.overwrite, name == 'out', reads))
                outputs[-1].writer = opened(outputs[-1].part)
    except BaseException:
        for one in outputs:
            one.drop()
        raise
    return outputs


def _run(made: Any, writers: Sequence[Any], quiet: bool) -> str:
    """Replay into the writers; return what there is to say of it, in one line."""
    from .table import row

    began, begun = time.monotonic(), False
    first_ns = last_ns = 0
    spin = torque = 0.0
    rows = any(writer.wants_rows for writer in writers)
    session = made.session
    with progress(quiet, 'replay') as shown:
        for outcome in made:
            if not begun:
                begun, first_ns = True, outcome.start_ns
                for writer in writers:
                    writer.begin(made.first_ns)
            numbers = row(outcome, session) if rows else ()
            for writer in writers:
                writer.add(outcome, session, numbers)
            last_ns = outcome.stamp_ns
            for step in outcome.steps:
                spin = max(spin, abs(step.state.spin))
            torque = max(torque, norm(outcome.mount_wrench().torque))
            if session.steps % 512 == 0:
                shown(made.share, (last_ns - first_ns) * 1e-9)
        shown(1.0, (last_ns - first_ns) * 1e-9)
    return _summary(made, '', last_ns - first_ns, time.monotonic() - began, spin, torque)


def _run_compiled(made: Any, writers: Sequence[Any], quiet: bool) -> str:
    """Do the same with all steps of a block at once, for tables alone."""
    import numpy as np

    from .compiled import compiled_replay
    from .table import columns

    began, begun = time.monotonic(), False
    first_ns = last_ns = 0
    spin = torque = 0.0
    names = columns(made.settings)
    spins = [k for k, name in enumerate(names) if name.endswith('.spin_rad_s')]
    of_torque = names.index('mount_wrench_torque_x_n_m')
    with progress(quiet, 'replay') as shown:
        for block in compiled_replay(made):
            stamps, dts = block[:2]
            if not begun:
                begun, first_ns = True, int(stamps[0]) - round(float(dts[0]) * 1e9)
            last_ns = int(stamps[-1])
            for writer in writers:
                writer.add_columns(block)
            spin = max(spin, *(float(np.abs(block[k]).max()) for k in spins))
            wrench = np.stack(block[of_torque : of_torque + 3])
            torque = max(torque, float(np.linalg.norm(wrench, axis=0).max()))
            shown(made.share, (last_ns - first_ns) * 1e-9)
        shown(1.0, (last_ns - first_ns) * 1e-9)
    return _summary(made, ', compiled', last_ns - first_ns, time.monotonic() - began, spin, torque)


def _summary(made: Any, how: str, length_ns: int, took: float, spin: float, torque: float) -> str:
    length, session = length_ns * 1e-9, made.session
    told = [(session.gaps, 'gaps'), (session.jumps, 'jumps of the clock')]
    odd = ''.join(f'; {count} {what}' for count, what in told if count)
    return (
        f'{session.steps} steps, {duration(length)} in {duration(took)} '
        f'({length / max(took, 1e-9):.1f} times real time{how}); refused or late: '
        f'{made.refused or "none"}{odd}; peak spin {spin:.6g} rad/s, mount torque {torque:.6g} N m'
    )


def run() -> NoReturn:
    """Be the console script ``motor_replay``."""
    leave(main)


if __name__ == '__main__':
    run()
