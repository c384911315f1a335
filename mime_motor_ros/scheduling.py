"""How the system shares a core among the threads of a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os


@contextmanager
def standing_back() -> Iterator[None]:
    """
    Have the threads started meanwhile never interrupt this one when they wake on its core.

    Every message sent wakes a thread of the middleware. As an ordinary thread it would run at
    once, a dozen times a step; so it runs when the loop sleeps, which took a fifth off the CPU
    and most off the lateness. A policy chosen from outside, as by ``chrt``, is left alone.
    """
    ordinary = getattr(os, 'SCHED_OTHER', None)  # Linux only, as the other one
    if ordinary is None or os.sched_getscheduler(0) != ordinary:
        yield
        return
    with suppress(OSError):  # a container may forbid it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, ordinary, os.sched_param(0))
