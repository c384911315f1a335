"""
What a motor node would find in the live graph: ``ros2 run mime_motor_ros motor_check``.

It takes the parameters and remaps of the node, listens for some seconds as the node would, and
prints what is missing or looks wrong.

Exit codes: 0 a session would run and nothing looks wrong; 1 something does, or the check was
interrupted before it could judge; 2 wrong arguments or parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
import os
import shutil
import sys
import textwrap
from typing import NoReturn, TYPE_CHECKING

from ..options import number, split
from ..stopping import leave, Stop

if TYPE_CHECKING:
    from .case import Finding

LONGEST = 60.0  # [s]
COLOURS = {'ok': '32', 'warning': '33', 'error': '1;31'}


def table(name: str, seconds: float, found: Sequence[Finding], colour: bool = False) -> str:
    """Return findings as lines of text, as wide as the terminal."""
    width = max(60, min(shutil.get_terminal_size((99, 24)).columns, 120))
    levels, subjects = (max(map(len, column)) for column in list(zip(*found, strict=True))[:2])
    lines = [f'motor_check for {name}, {seconds:g} s: {verdict(found)}']
    for level, subject, text, _ in found:
        head = f'{level:{levels}}  {subject:{subjects}}  '
        wrapped = textwrap.wrap(
            text,
            width,
            initial_indent=head,
            subsequent_indent=' ' * len(head),
            break_long_words=False,
            break_on_hyphens=False,
        )
        if colour:
            wrapped[0] = f'\x1b[{COLOURS[level]}m{level}\x1b[0m{wrapped[0][len(level) :]}'
        lines += wrapped
    return '\n'.join(lines)


def verdict(found: Sequence[Finding]) -> str:
    """Return in a few words how it is."""
    from .findings import is_good

    if is_good(found):
        return 'nothing looks wrong'
    counts = [(sum(one.level == level for one in found), level) for level in ('error', 'warning')]
    return ', '.join(f'{n} {level}{"s" if n > 1 else ""}' for n, level in counts if n)


def as_json(name: str, seconds: float, found: Sequence[Finding]) -> str:
    """Return findings as one JSON object."""
    from .findings import is_good

    return json.dumps(
        {
            'node': name,
            'seconds': seconds,
            'good': is_good(found),
            'findings': [one._asdict() for one in found],
        },
        default=str,
    )


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_check',
        description='Look at the live graph and say what a motor node would lack in it.',
        epilog='Parameters and remaps are those of the motor node and go behind --ros-args, as '
        '--params-file FILE, -p NAME:=VALUE or -r imu/data:=/imu. Exit code 0: a session would '
        'run and nothing looks wrong; 1: something does, or it was interrupted; 2: wrong '
        'arguments.',
    )
    options.add_argument(
        '--seconds',
        type=number(f'> 0 s and <= {LONGEST:g} s', lambda x: 0.0 < x <= LONGEST),
        default=5.0,
        help='how long to listen, once the publishers are found (up to 4 s) [s] (5)',
    )
    options.add_argument('--json', action='store_true', help='print one JSON object')
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Check until all was heard or it is asked to stop; return the exit code of the process."""
    stop = Stop(code=1).catch_signals()
    own, of_ros = split(args)
    options = parser().parse_args(own)

    stop.at_once = True
    import rclpy

    from ..arguments import plain_line
    from ..starting import initialise, REFUSED
    from .case import Seen
    from .findings import findings, is_good
    from .listener import Listener, plan

    try:
        planned = plan(of_ros)
        stop.at_once = False
        initialise(of_ros)
    except REFUSED as error:
        print(f'motor_check: {plain_line(error)}', file=sys.stderr)
        return 2
    listener = None
    try:
        listener = Listener(planned)
        heard = listener.listen(options.seconds, stop)
        seen = listener.seen() if heard else Seen()
    finally:
        if listener is not None:
            listener.close()
        rclpy.try_shutdown()
    if stop:
        return 1
    stop.at_once = True  # nothing is left to put away, and what follows only computes
    found = findings(planned.settings, seen)
    if options.json:
        text = as_json(planned.name, options.seconds, found)
    else:
        colour = sys.stdout.isatty() and not os.environ.get('NO_COLOR')
        text = table(planned.name, options.seconds, found, colour)
    print(text)
    return 0 if is_good(found) else 1


def run() -> NoReturn:
    """Be the console script ``motor_check``."""
    leave(main)
