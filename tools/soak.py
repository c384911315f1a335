"""
Run the motor node for a long time under full load, and see whether anything grows or is lost.

    python tools/soak.py [--minutes 10] [--json FILE]

The node has four motors (config/wheels.yaml) and 1 kHz; this process sends an IMU at 1 kHz and
/tf at 100 Hz, and reads every topic. Resident memory is read once a second. What counts is from
the first minute on (the first half, in a run of less than two): what a process keeps of its
start has come by then.

Ends with code 1 when memory grows by a megabyte, a step in a thousand is lost, or more is kept.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from statistics import median
import sys
import tempfile
import time
from typing import NamedTuple

from bench import (
    BenchError,
    end,
    end_by_signals,
    PATIENCE,
    PERIOD_NS,
    quantile,
    RATE,
    start,
    Surroundings,
    TF_EVERY,
    WARM_UP,
)
from demo import prepare_environment
from mime_motor_ros.options import number
from rich.console import Console
from rich.table import Table

MOTORS = ('wheel_x', 'wheel_y', 'wheel_z', 'wheel_s')
CONFIG = Path(__file__).resolve().parents[1] / 'config' / 'wheels.yaml'
MEMORY_TARGET = 1.0  # MB of growth
LOST_TARGET = 0.1  # % of the steps due
KEPT = ('samples waiting', 'transforms kept', 'frames')
KEPT_DUE = (0, RATE // TF_EVERY * 10, 0)  # at all times: the tree of frames keeps 10 s of /tf
KEPT_TARGET = 100  # more of any of these at the end than before: what a busy moment leaves


class Second(NamedTuple):
    """What was seen in one second."""

    at: float
    """Since the start [s]."""
    memory: float
    """Resident memory of the node [MB]."""
    steps: int
    """So far, as the node counts them."""
    stamp_ns: int
    """When it counted."""
    lateness: float
    """p99 of that second [ms]."""
    kept: tuple[int, ...]


def resident(pid: int) -> float:
    """Return the resident memory of a process [MB]."""
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def run(minutes: float) -> list[Second]:
    """Run the node and return what was seen, second by second."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[-1:])  # before there are threads, which then stay there too
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    surroundings = Surroundings(MOTORS)
    seen: list[Second] = []
    with tempfile.TemporaryFile() as errors:
        arguments = ['--ros-args', '--params-file', str(CONFIG)]
        # What this process is late with, who sends the IMU, is not for the node to answer for.
        arguments += ['-p', 'rate_timeout:=1.0', '-p', 'pose_timeout:=1.0']
        process = start('motor', cores[0], errors, arguments)
        try:
            surroundings.live(PATIENCE, lambda: surroundings.sent_ns or process.poll() is not None)
            surroundings.live(WARM_UP)
            begun = time.monotonic()
            while process.poll() is None and time.monotonic() - begun < 60.0 * minutes:
                surroundings.forget()
                surroundings.live(1.0)
                told, counted = surroundings.stepping, surroundings.counted
                if process.poll() is None and counted:
                    seen.append(
                        Second(
                            time.monotonic() - begun,
                            resident(process.pid),
                            counted[-1][1],
                            counted[-1][0],
                            float(told['lateness p99 (ms)']),
                            tuple(int(told[name]) for name in KEPT),
                        )
                    )
        finally:
            alive = process.poll() is None
            end(process)
            surroundings.node.destroy_node()
            rclpy.try_shutdown()
        errors.seek(0)
        said = errors.read().decode(errors='replace')
    if not alive or len(seen) < 4:
        raise BenchError(f'the node ended or made no steps (code {process.returncode}). {said}')
    if said:
        print(f'The node said:\n{said}', file=sys.stderr)
    return seen


def settled(seen: list[Second]) -> list[Second]:
    """Return what counts: from the first minute on, or the first half of a short run."""
    first = min(60.0, seen[-1].at / 2)
    return [second for second in seen if second.at >= first]


def lost(seen: list[Second]) -> float:
    """Return the share of the steps due that was not made [%]."""
    due = (seen[-1].stamp_ns - seen[0].stamp_ns) / PERIOD_NS
    return 100.0 * max(0.0, 1.0 - (seen[-1].steps - seen[0].steps) / due)


def growth(seen: list[Second]) -> float:
    """Return by how much memory grew, between the middles of the first and last tenth [MB]."""
    part = max(1, len(seen) // 10)
    first, last = seen[:part], seen[-part:]
    return median(x.memory for x in last) - median(x.memory for x in first)


def more_kept(seen: list[Second]) -> int:
    """
    Return by how much the most that is kept of anything grew between the two halves.

    What is kept at all times by right is no growth, though less of it is there while this process
    was too busy to send at its rate.
    """
    half = len(seen) // 2
    first, last = seen[:half], seen[half:]
    return max(
        max(x.kept[i] for x in last) - max(due, *(x.kept[i] for x in first))
        for i, due in enumerate(KEPT_DUE)
    )


def table(seen: list[Second]) -> Table:
    """Return one row a minute, or for every tenth of a short run."""
    shown = Table('from s', 'memory MB', 'lost so far %', 'lateness p99 ms', *KEPT, title='Soak')
    length = min(60.0, max(1.0, seen[-1].at / 10))
    rows: dict[int, list[Second]] = {}
    for second in seen:
        rows.setdefault(int(second.at / length), []).append(second)
    for index, row in rows.items():
        late = sorted(x.lateness for x in row)
        shown.add_row(
            f'{index * length:.0f}',
            f'{median(x.memory for x in row):.2f}',
            f'{lost([seen[0], row[-1]]):.3f}' if row[-1] is not seen[0] else '',
            f'{quantile(late, 0.5):.2f}',
            *(str(max(x.kept[i] for x in row)) for i in range(len(KEPT))),
        )
    return shown


def main() -> int:
    """Run, print; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(
        prog='soak.py', description='Run the node for long; 1 = something grew or was lost.'
    )
    parser.add_argument(
        '--minutes',
        type=number('>= 0.25 min and finite', lambda x: 0.25 <= x < float('inf')),
        default=10.0,
        help='how long (default 10)',
    )
    parser.add_argument('--json', type=Path, help='write what was seen to this file')
    options = parser.parse_args()
    prepare_environment(os.environ)
    end_by_signals()
    print(f'Four motors and an IMU at 1 kHz for {options.minutes:g} min ...', flush=True)
    try:
        seen = run(options.minutes)
    except BenchError as error:
        print(f'soak: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    counted = settled(seen)
    Console().print(table(seen))
    judged = [
        ('memory', f'{growth(counted):+.2f} MB', growth(counted) < MEMORY_TARGET),
        ('steps lost', f'{lost(counted):.3f} %', lost(counted) <= LOST_TARGET),
        ('kept more', f'{more_kept(counted):+d}', more_kept(counted) <= KEPT_TARGET),
    ]
    print(f'From second {counted[0].at:.0f} on: ' + ', '.join(f'{a} {b}' for a, b, _ in judged))
    if options.json is not None:
        options.json.write_text(json.dumps([second._asdict() for second in seen]) + '\n')
    missed = [name for name, _, reached in judged if not reached]
    for name in missed:
        print(f'missed: {name}')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
