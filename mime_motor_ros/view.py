"""
A panel in the browser: a running motor node to watch and to command, or a recording to play.

    motor_view                 the node `motor`, at http://127.0.0.1:8080
    motor_view RECORDING       a recording through the motors of a parameter file, without ROS
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import redirect_stdout
import errno
from io import StringIO
import os
import socket
import sys
import time
from typing import Any, NoReturn, TYPE_CHECKING

from .errors import MotorError
from .options import split, whole
from .stopping import leave, Stop

if TYPE_CHECKING:
    from .panel import Panel

FRAME = 1.0 / 30.0
"""Between two pictures [s]."""
HOST, PORT = '127.0.0.1', 8080
NEXT_PORTS = 100
"""How many are tried where none was asked for."""


class ViewError(MotorError):
    """The panel cannot be opened as asked."""


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='motor_view',
        description='Show a motor node in the browser and command it, until Ctrl-C; or play a '
        'recording, which needs no ROS.',
        epilog='ROS arguments, as a namespace, go behind --ros-args.',
    )
    options.add_argument(
        'recording', nargs='?', help='a rosbag2 folder, or an .mcap, .db3 or .csv file'
    )
    options.add_argument('--node', default='motor', help='name of the motor node (motor)')
    options.add_argument('--host', default=HOST, help=f'address to bind to ({HOST}: this machine)')
    options.add_argument(
        '--port',
        type=whole('from 0 to 65535', lambda x: 0 <= x <= 65535),
        help=f'port; none: the first that is free from {PORT} on; 0: any',
    )
    played = options.add_argument_group('a recording')
    played.add_argument(
        '--params-file',
        metavar='FILE',
        help="the node's parameter file; none: its defaults, and the frames of the recording",
    )
    played.add_argument(
        '-p',
        '--param',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        help='one parameter more; may be given several times',
    )
    played.add_argument(
        '-r',
        '--remap',
        action='append',
        default=[],
        metavar='FROM:=TO',
        help='another name for a topic; may be given several times',
    )
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Run the panel until it is asked to stop; return the exit code of the process."""
    stop = Stop().catch_signals()
    own, of_ros = split(args)
    options_of = parser()
    options = options_of.parse_args(own)
    if options.recording is None and (options.params_file or options.param or options.remap):
        options_of.error('--params-file, -p and -r are for a recording: give one too.')
    if options.recording is not None:
        try:
            return _play(options, stop)
        except MotorError as error:
            print(f'motor_view: {error}', file=sys.stderr)
            return 1
    return _follow(options, of_ros, stop)


def free_port(host: str, port: int | None) -> int:
    """Return a port that can be bound: the one asked for, or the first free one."""
    last = OSError()
    for candidate in [port] if port is not None else range(PORT, PORT + NEXT_PORTS):
        kind = socket.AF_INET6 if ':' in host else socket.AF_INET
        with socket.socket(kind, socket.SOCK_STREAM) as probe:
            if os.name == 'posix':  # as the server does; one that still waits is no hindrance
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except OSError as error:
                last = error
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    continue
                raise ViewError(
                    f'host must be an address of this machine, got {host!r}: {error.strerror}. '
                    f'{HOST} is for this machine alone, 0.0.0.0 for all that reach it.'
                ) from None
            return int(probe.getsockname()[1])
    what = f'{port} of {host}' if port is not None else f'{PORT} of {host} and those behind it'
    raise ViewError(
        f'port must be one that is free, got {what}: {last.strerror or last}. '
        'Choose another with --port, or none.'
    )


def _server(options: argparse.Namespace) -> Any:
    """Open the server, and say where it is."""
    import viser

    port = free_port(options.host, options.port)
    with redirect_stdout(StringIO()):  # it has more to say than where it is
        server = viser.ViserServer(options.host, port, label='motor_view', verbose=False)
    shown = f'[{options.host}]' if ':' in options.host else options.host
    print(f'motor_view: http://{shown}:{server.get_port()}', flush=True)
    return server


def _close(server: Any) -> None:
    with redirect_stdout(StringIO()):
        server.stop()


def _follow(options: argparse.Namespace, of_ros: Sequence[str], stop: Stop) -> int:
    import rclpy

    from .arguments import plain_line
    from .following import Follower, open_nodes
    from .panel import Panel
    from .starting import initialise, REFUSED

    nodes: tuple[Any, ...] = ()
    server = follower = None
    told: list[str] = []
    try:
        initialise(of_ros)
        nodes = open_nodes()
        follower = Follower(nodes[0], nodes[1], options.node, told.append)
        server = _server(options)
        panel = Panel(server, follower)
        due = time.monotonic()
        while not stop:
            follower.poll()
            panel.show(follower.moment())
            while told:
                panel.note(told.pop(0))
            due = _wait(due)
        return 0
    except REFUSED as error:
        print(f'motor_view: {plain_line(error)}', file=sys.stderr)
        return 1
    finally:
        if server is not None:
            _close(server)
        if follower is not None:
            follower.close()
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()


def _play(options: argparse.Namespace, stop: Stop) -> int:
    from .offline.playing import Film, Player
    from .panel import Panel

    film = Film.of(options.recording, options.params_file, options.param, options.remap, stop)
    if stop:
        return 0
    server = _server(options)
    try:
        panel: Panel = Panel(server, None)
        player = Player(server, film)
        due = time.monotonic()
        while not stop:
            panel.show(player.moment(time.monotonic()))
            due = _wait(due)
        return 0
    finally:
        _close(server)


def _wait(due: float) -> float:
    """Sleep until the next picture is due; return when that was."""
    due = max(due + FRAME, time.monotonic())
    time.sleep(max(0.0, due - time.monotonic()))
    return due


def run() -> NoReturn:
    """Be the console script ``motor_view``."""
    leave(main)


if __name__ == '__main__':
    run()
