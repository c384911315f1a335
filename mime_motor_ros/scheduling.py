"""How the system shares a core among the threads of a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import ctypes
import os
from pathlib import Path
import re
import resource

from .settings import Settings

MCL_CURRENT, MCL_FUTURE = 1, 2  # of <sys/mman.h> on Linux
CAP_IPC_LOCK = 14  # of <linux/capability.h>


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


def adopt(settings: Settings) -> list[str]:
    """
    Take up the habits of a real-time loop that the settings ask for, in the thread that calls.

    Returns
    -------
    What the process may not do, one line each, with what would allow it; the loop runs anyway.

    """
    refused = []
    if settings.cpus:
        why = ''
        try:
            os.sched_setaffinity(0, settings.cpus)
        except OSError as error:
            why = str(error.strerror)
        have = os.sched_getaffinity(0)
        if have != set(settings.cpus):  # of several, Linux leaves out those that are not there
            refused.append(
                f'cpus {_listed(settings.cpus)} cannot be had ({why or "not all are there"}): '
                f'this process may use {_listed(tuple(sorted(have)))}; it uses those'
            )
    if settings.priority:
        try:  # threads that this one starts later do not get it
            policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(0, policy, os.sched_param(settings.priority))
        except OSError as error:
            refused.append(
                f'priority {settings.priority} cannot be had ({error.strerror}): allow it by '
                'rtprio in /etc/security/limits.conf or CAP_SYS_NICE; the loop runs as an '
                'ordinary thread'
            )
    if settings.lock_memory and (why := _lock_memory()):
        refused.append(
            f'lock_memory cannot be had ({why}): allow it by memlock unlimited in '
            '/etc/security/limits.conf or CAP_IPC_LOCK; memory may be paged out'
        )
    return refused


def _lock_memory() -> str:
    """
    Lock what the process has and will have; return why it may not.

    A bound that is only just met today would end the process at its next thread.
    """
    most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if most != resource.RLIM_INFINITY and not _is_capable(CAP_IPC_LOCK):
        return f'memlock is {most // 1024} kB'
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE):
        return os.strerror(ctypes.get_errno())
    return ''


def _is_capable(capability: int) -> bool:
    """Tell whether the process has a capability of Linux."""
    try:
        status = Path('/proc/self/status').read_text()
    except OSError:
        return False
    known = re.search(r'^CapEff:\s*(\w+)', status, re.MULTILINE)
    return known is not None and bool(int(known[1], 16) >> capability & 1)


def _listed(cores: tuple[int, ...]) -> str:
    return ','.join(map(str, cores))
