# PYTHON_ARGCOMPLETE_OK
"""
A page about a replay or a live recording: ``motor_report``.

Exit codes: 0 all is there; 1 something is wrong, or it was interrupted; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
import sys
from typing import NoReturn

from ...errors import MotorError
from ...options import number
from ...stopping import leave, Stop
from ..progress import progress

EPILOG = """
examples:
  motor_report live
        of what `ros2 bag record -a` took of a running node: live.html
  motor_report walk --params-file motor.yaml --out walk.html --png figures
        of a recording that is replayed first; the figures also as files
  motor_report steps.parquet --start 10 --duration 5
        of the table of motor_replay, five seconds of it
  motor_report replayed --mount walk
        of what motor_replay --out wrote, with the transforms it was made from
"""


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_report',
        description='Write one HTML file about a replay or a live recording: spin, torques, '
        'reaction, momentum, energy, timing, refusals. No ROS is needed.',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument(
        'recording', help='a rosbag2 folder, .mcap or .db3 file, or a .csv or .parquet table'
    )
    read = options.add_argument_group('what is read')
    read.add_argument('--node', default='', help='the node, where there are several: /motor')
    read.add_argument(
        '--mount', metavar='RECORDING', help="a recording that has the mount's transforms"
    )
    read.add_argument('--world', default='', metavar='FRAME', help='the frame of the world')
    read.add_argument(
        '--start',
        type=number('>= 0 s', lambda x: 0.0 <= x < inf),
        default=0.0,
        metavar='S',
        help='show what is so far behind the first step [s] (0)',
    )
    read.add_argument(
        '--duration',
        type=number('> 0 s', lambda x: 0.0 < x < inf),
        metavar='S',
        help='show so much of it [s] (all)',
    )
    given = options.add_argument_group('of a raw recording, which is replayed first')
    given.add_argument('--replay', action='store_true', help="with the node's defaults")
    given.add_argument(
        '--params-file',
        '--params',
        '--parameters',
        metavar='FILE',
        help="the node's parameter file",
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
    given.add_argument(
        '--column',
        action='append',
        default=[],
        metavar='NAME=COLUMN',
        help='which column of a CSV file is an input; may be given several times',
    )
    given.add_argument(
        '--by', choices=('receipt', 'stamp'), default='receipt', help='order of the inputs'
    )
    made = options.add_argument_group('what is made')
    made.add_argument('--out', metavar='FILE', help='the page (NAME.html in this folder)')
    made.add_argument('--png', metavar='FOLDER', help='the figures, one file each')
    made.add_argument('--title', default='', help='of the page (the name of the recording)')
    made.add_argument('--overwrite', action='store_true', help='replace what is there already')
    made.add_argument('-q', '--quiet', action='store_true', help='no progress bar')
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code of the process."""
    stop = Stop(code=1).catch_signals()
    stop.at_once = True  # until it writes, nothing has to be put away
    options_of = parser()
    with suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(options_of)
    options = options_of.parse_args(args)
    try:
        return _report(options, stop)
    except MotorError as error:
        print(f'motor_report: {error}', file=sys.stderr)
        return 1


def _report(options: argparse.Namespace, stop: Stop) -> int:
    from ...parameter_file import parse
    from ..replay_command import column
    from ..writing import refuse
    from .reporting import refuse_pngs, report

    name = Path(options.recording).resolve().name
    for ending in ('.mcap', '.db3', '.csv', '.parquet'):
        name = name.removesuffix(ending)
    out = Path(options.out or f'{name}.html')
    read = (options.recording, options.mount, options.params_file)
    refuse(out, options.overwrite, reads=[Path(one) for one in read if one])
    if options.png:
        refuse_pngs(Path(options.png), options.overwrite)
    with progress(options.quiet, 'report') as shown:
        made = report(
            options.recording,
            parameters=options.params_file,
            overrides=dict(parse(rule) for rule in options.param),
            remap=options.remap,
            columns=dict(column(text) for text in options.column),
            by=options.by,
            is_raw=options.replay,
            node=options.node,
            mount=options.mount,
            world=options.world,
            start=options.start,
            duration=options.duration,
            title=options.title,
            shown=shown,
        )
    stop.at_once = False
    made.write(out, options.overwrite)
    if options.png and not stop:
        made.write_pngs(options.png, options.overwrite)
    if stop:
        print('motor_report: interrupted: the page is complete.', file=sys.stderr)
        return 1
    print(f'{out}: {len(made.pictures)} figures, {made.gathered.rows} steps')
    for text in made.findings:
        print(f'  {text}')
    if made.source.told.cut:
        print(f'motor_report: {made.source.told.cut}', file=sys.stderr)
        return 1
    return 0


def run() -> NoReturn:
    """Be the console script ``motor_report``."""
    leave(main)


if __name__ == '__main__':
    run()
