"""
A flag that SIGINT and SIGTERM set, for processes that end when asked and never with a traceback.

It imports nothing heavy, so that a `main` can set it up before its own slow imports.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import errno
from io import TextIOWrapper
import os
from pathlib import Path
import signal
import sys
from types import FrameType
from typing import NoReturn

OF_ROS = ('rclpy', 'rosidl_', 'tf2_')  # and what ends as packages of messages do


class Stop:
    """
    True once the process was asked to stop, however often it is asked.

    While ``at_once`` is set there is nothing to put away, and a signal ends the process there,
    with ``code``.
    """

    def __init__(self, code: int = 0) -> None:
        self.asked = self.at_once = False
        self.code = code

    def __bool__(self) -> bool:
        return self.asked

    def catch_signals(self) -> Stop:
        """
        Have SIGINT and SIGTERM set the flag from now on, in place of ending the process.

        And SIGHUP, of a terminal that was closed, unless it is ignored, as under nohup.

        The handlers stay until the interpreter is gone: a second signal during the tear-down
        finds them too.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
            signal.signal(signal.SIGHUP, self._on_signal)
        return self

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self.at_once:
            os._exit(self.code)


def leave(main: Callable[[], int]) -> NoReturn:
    """
    Run a program and end the process at once, with the code that it returns.

    No moment is left in which a signal finds an interpreter half gone. Whatever standard output
    and error are, closed, full, gone or of another encoding, there is no traceback for them.
    """
    _open_standard_streams()
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads it any more, as behind `| head`
        code = 0
    except ModuleNotFoundError as error:
        name = (error.name or '').partition('.')[0]
        if name in ('', __package__):
            raise
        with suppress(OSError):
            print(f'{Path(sys.argv[0]).name}: {_missing(name)}', file=sys.stderr)
        code = 1
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO) or error.filename is not None:
            raise
        with suppress(OSError):
            print(f'the output cannot be written: {error.strerror}.', file=sys.stderr)
        code = 1
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _missing(package: str) -> str:
    """Return in words that a package is not installed, and who has it."""
    if package.startswith(OF_ROS) or package.endswith(('_msgs', '_interfaces', '_srvs')):
        return f'{package} is missing. Source ROS 2, or run it in the environment of make setup.'
    extra = 'offline,view' if package == 'viser' else 'offline'
    return f"{package} is missing. Install it with: pip install '.[{extra}]'"


def _open_standard_streams() -> None:
    """Open what the process was started without, before a socket or a log gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    for name, number in (('stdout', 1), ('stderr', 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, 'w', closefd=False))
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors='backslashreplace')
