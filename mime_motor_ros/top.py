"""
A live table of a running motor node in the terminal: ``python -m mime_motor_ros.top``.

ROS is imported only when the table runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import sys
import time
from typing import Any, NoReturn

from .options import number, split
from .screen import plain_line, screen, state_text, View
from .stopping import leave, Stop
from .watch import Watch

FRAME = 0.1  # s; ten frames a second


class Display:
    """Shows views one after the other: a live table; a line a second where no terminal is."""

    def __init__(self, plain: bool | None = None) -> None:
        self.plain = not sys.stdout.isatty() if plain is None else plain
        self._said = float('-inf')
        self._note = ''
        self._live: Any = None

    def __enter__(self) -> Display:
        if not self.plain:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(), auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, view: View) -> None:
        """Show a view."""
        if self._live is not None:
            self._live.update(screen(view), refresh=True)
        elif time.monotonic() - self._said >= 1.0 - FRAME / 2 or view.note not in ('', self._note):
            self._said, self._note = time.monotonic(), view.note
            print(plain_line(view), flush=True)


def show(watch: Watch, display: Display, ended: Callable[[], bool]) -> None:
    """Show a watch ten times a second until ``ended``, on absolute deadlines."""
    due = time.monotonic()
    while not ended():
        watch.poll()
        display.show(watch.view())
        due = max(due + FRAME, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_top',
        description='Show a running motor node in the terminal, until Ctrl-C.',
        epilog='ROS arguments, as a namespace, go behind --ros-args.',
    )
    options.add_argument('--node', default='motor', help='name of the motor node (motor)')
    options.add_argument(
        '--seconds',
        type=number('> 0 s', lambda x: x > 0.0),
        default=float('inf'),
        help='end after so long',
    )
    options.add_argument(
        '--once', action='store_true', help='show one full table and end (waits 10 s for it)'
    )
    options.add_argument('--plain', action='store_true', help='a line a second in a terminal too')
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Run the table until it is asked to stop; return the exit code of the process."""
    stop = Stop().catch_signals()
    own, of_ros = split(args)
    options = parser().parse_args(own)

    import rclpy

    from .arguments import plain_line as plain_error
    from .starting import initialise, REFUSED

    node = None
    try:
        initialise(of_ros)
        node = rclpy.create_node('motor_top')
        return _run(Watch(node, options.node), options, stop)
    except REFUSED as error:
        print(f'motor_top: {plain_error(error)}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()


def _run(watch: Watch, options: argparse.Namespace, stop: Stop) -> int:
    start = time.monotonic()
    last = start + options.seconds
    if options.once:
        last = min(last, start + 10.0)
        while not stop and time.monotonic() < last and not _is_full(watch.view()):
            watch.poll()
            time.sleep(FRAME / 2)
        if not _is_full(watch.view()):
            print(f'motor_top: {state_text(watch.view())}', file=sys.stderr)
            return 0 if stop else 1
        if options.plain:
            print(plain_line(watch.view()))
        else:
            from rich.console import Console

            Console().print(screen(watch.view()))
        return 0
    with Display(options.plain or None) as display:
        show(watch, display, lambda: stop.asked or time.monotonic() >= last)
    return 0


def _is_full(view: View) -> bool:
    """Return whether every part of the table has something to show."""
    motors = view.motors and all(None not in (x.spin, x.angle) for x in view.motors)
    return bool(
        motors
        and view.momentum is not None
        and view.reaction is not None
        and view.mount_wrench is not None
        and view.age is not None
        and 'stepping' in view.statuses
    )


def run() -> NoReturn:
    """Be the console script ``motor_top``."""
    leave(main)


if __name__ == '__main__':
    run()
