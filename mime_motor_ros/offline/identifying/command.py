# PYTHON_ARGCOMPLETE_OK
"""
The parameters of a motor out of recordings: ``motor_identify``.

Exit codes: 0 parameters were found; 1 the recordings cannot be read or tell nothing, or it was
interrupted; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
import math
from pathlib import Path
import re
import shutil
import sys
from typing import NoReturn, TYPE_CHECKING

from ...errors import MotorError, ParameterError
from ...options import number
from ...stopping import leave, Stop
from ..progress import telling

if TYPE_CHECKING:
    from .identifying import Identified

NAMES = (
    'inertia', 'damping', 'coulomb_friction', 'torque_scale', 'command_delay', 'load', 'offset',
)  # fmt: skip
"""As `rolling.NAMES`, which is not imported for a --help."""
QUANTITIES = ('time', 'torque', 'current', 'speed', 'position', 'mount_rate', 'mount_angle')
PICTURES = ('.png', '.svg', '.pdf')
EXAMPLES = """
examples:
  motor_identify step.csv
  motor_identify step_12.csv step_13.csv --out rotor.yaml --plot rotor.png
  motor_identify pendulum.csv --known load=1.0026 --guess inertia=0.05
  motor_identify arms.csv --motor 2 --mount-arm 0.3
  motor_identify log.csv --time t --current i_q --speed w --known torque_scale=0.091
  motor_identify long.csv --time-unit ms --start 30 --duration 60
  motor_identify recorded_live --motor wheel
  motor_identify step.csv --json | jq .inertia

parameters:  inertia [kg m^2], damping [N m s], coulomb_friction [N m], torque_scale [1] (with
  --current [N m/A]), command_delay [s], load (m g l) [N m], offset (of the torque) [N m]
"""


def pair(text: str) -> tuple[str, float]:
    """Return NAME=VALUE as a pair, as argparse wants it."""
    name, _, value = text.partition('=')
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if name not in NAMES or not math.isfinite(found):
        rule = f'must be NAME=VALUE with NAME one of {", ".join(NAMES)}'
        raise argparse.ArgumentTypeError(f'{rule} and VALUE a finite number, got {text!r}.')
    return name, found


def motor_name(text: str) -> str:
    """Return the name that a motor has in a parameter file, as argparse wants it."""
    if not re.fullmatch('[A-Za-z](_?[A-Za-z0-9])*', text):
        rule = 'must be letters, digits and _ that begin with a letter'
        raise argparse.ArgumentTypeError(f'{rule}, got {text!r}.')
    return text


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_identify',
        description='Find the parameters of a motor out of recordings of torque and motion.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    not_negative = number('finite and >= 0', lambda x: 0.0 <= x < math.inf)
    positive = number('finite and > 0', lambda x: 0.0 < x < math.inf)
    any_number = number('that is finite', math.isfinite)
    options.add_argument(
        'recordings',
        nargs='+',
        metavar='RECORDING',
        help='CSV with a header, or rosbag2 with JointState; all of one motor',
    )
    options.add_argument('--known', type=pair, action='append', default=[], metavar='NAME=VALUE',
                         help='a parameter that is not searched for')  # fmt: skip
    options.add_argument('--guess', type=pair, action='append', default=[], metavar='NAME=VALUE',
                         help='where to begin')  # fmt: skip
    for name in QUANTITIES:
        what = {'torque': 'torque [N m]', 'current': 'current [A], in place of a torque'}
        options.add_argument(
            f'--{name.replace("_", "-")}',
            metavar='COLUMN',
            help=f'column of the {what.get(name, name.replace("_", " "))}',
        )
    options.add_argument('--time-unit', choices=('s', 'ms', 'us', 'ns'), default='',
                         help='of the time of a CSV (s; ns of stamp_ns)')  # fmt: skip
    options.add_argument('--start', type=not_negative, default=0.0, metavar='S',
                         help='leave out what is before, from the first sample [s]')  # fmt: skip
    options.add_argument('--duration', type=positive, metavar='S',
                         help='take so much of each recording [s]')  # fmt: skip
    options.add_argument('--motor', default='', help='number or name of it, where a file has many')
    options.add_argument('--topic', default='', help='of JointState, where a rosbag2 has several')
    options.add_argument('--max-delay', type=positive, default=0.05, metavar='S',
                         help='longest command delay that is tried [s] (0.05)')  # fmt: skip
    options.add_argument('--segment', type=positive, metavar='S',
                         help='length of what is simulated in one piece [s] (1 of speeds, '
                         '4 of positions)')  # fmt: skip
    options.add_argument('--output', choices=('auto', 'speed', 'position'), default='auto',
                         help='what the rollout is held against (auto: positions, '
                         'else speeds)')  # fmt: skip
    options.add_argument('--torque-limit', type=positive, default=0.0, metavar='NM',
                         help='of the drive: commands beyond are left out [N m]')  # fmt: skip
    options.add_argument('--load-angle', type=any_number, default=0.0, metavar='RAD',
                         help='angle at which the load hangs down [rad] (0)')  # fmt: skip
    options.add_argument('--mount-arm', type=any_number, default=0.0, metavar='M',
                         help='distance of the axis from that of the mount [m] (0)')  # fmt: skip
    options.add_argument('--json', action='store_true', help='print one JSON object')
    options.add_argument('--out', type=Path, metavar='FILE', help='parameter file for the node')
    options.add_argument('--name', type=motor_name, default='rotor',
                         help='of the motor in --out (rotor)')  # fmt: skip
    options.add_argument('--plot', type=Path, metavar='FILE', help='picture (.png, .svg, .pdf)')
    options.add_argument('--overwrite', action='store_true', help='replace --out and --plot')
    options.add_argument('--quiet', action='store_true', help='no line of what is being done')
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Find parameters and print them; return the exit code of the process."""
    stop = Stop(code=1).catch_signals()
    stop.at_once = True  # nothing has to be put away, until files are written
    made_of = parser()
    try:
        import argcomplete
    except ImportError:
        pass
    else:
        argcomplete.autocomplete(made_of)
    options = made_of.parse_args(args)
    given = {name: getattr(options, name) for name in QUANTITIES if getattr(options, name)}
    if 'current' in given and 'torque' in given:
        made_of.error('give --torque or --current, not both.')
    if options.plot and options.plot.suffix.lower() not in PICTURES:
        made_of.error(f'--plot must end in {", ".join(PICTURES)}, got {str(options.plot)!r}.')
    try:
        made = _identified(options, given, stop)
    except ParameterError as error:
        print(f'motor_identify: {error}', file=sys.stderr)
        return 2
    except MotorError as error:
        print(f'motor_identify: {error}', file=sys.stderr)
        return 1
    from . import show
    from .identifying import as_dict

    if options.json:
        print(json.dumps(as_dict(made), allow_nan=False))
    else:
        width = max(60, min(shutil.get_terminal_size((99, 24)).columns, 120))
        print(show.table(made, dict(options.known), width))
    return 0


def _identified(options: argparse.Namespace, columns: dict[str, str], stop: Stop) -> Identified:
    """Read, find, and write what is to be written."""
    from ..writing import OutputError, refuse, write_whole
    from . import show
    from .identifying import identify
    from .logs import read

    outputs = [path for path in (options.out, options.plot) if path]
    for path in outputs:
        refuse(path, options.overwrite, reads=[Path(one) for one in options.recordings])
    if len(outputs) == 2 and options.out.resolve() == options.plot.resolve():
        raise OutputError(f'--out and --plot must be two files, got {options.out} twice.')
    if options.plot:
        import matplotlib  # noqa: F401, before what takes its time
    with telling(options.quiet, 'motor_identify') as tell:
        tell('reading')
        logs = [
            read(path, columns, options.motor, options.topic, options.time_unit).between(
                options.start, options.duration
            )
            for path in options.recordings
        ]
        made = identify(
            logs,
            known=dict(options.known),
            guess=dict(options.guess),
            max_delay=options.max_delay,
            segment=options.segment,
            output=options.output,
            torque_limit=options.torque_limit,
            load_angle=options.load_angle,
            mount_arm=options.mount_arm,
            of_current='current' in columns,
            show=tell,
        )
        stop.at_once = False
        if options.out:
            text = show.parameter_file(made, options.name)
            write_whole(
                options.out, lambda part: part.write_text(text, 'utf-8'), options.overwrite
            )
        if options.plot:
            tell('drawing')
            write_whole(options.plot, lambda part: show.plot(made, part), options.overwrite)
    return made


def run() -> NoReturn:
    """Be the console script ``motor_identify``."""
    leave(main)


if __name__ == '__main__':
    run()
