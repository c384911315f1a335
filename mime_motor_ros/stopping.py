"""
A flag that SIGINT and SIGTERM set, for processes that end when asked and never with a traceback.

It imports nothing heavy, so that a `main` can set it up before its own slow imports.
"""

from __future__ import annotations

from contextlib import suppress
import os
import signal
import sys
from types import FrameType
from typing import NoReturn


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

        The handlers stay until the interpreter is gone: a second signal during the tear-down
        finds them too.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        return self

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self.at_once:
            os._exit(self.code)


def leave(code: int) -> NoReturn:
    """
    End the process at once, when all is put away.

    No moment is left in which a signal finds an interpreter half gone.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # as it is where the process was started without
            with suppress(OSError):  # nobody reads it any more
                stream.flush()
    os._exit(code)
