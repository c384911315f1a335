"""
Chunks on the cores of this machine, or on a cluster: one loop, whatever takes them.

Compiled steps need no interpreter, so threads share what is gathered; plain ones have a process
of each core. A cluster is that of dask.distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    Executor,
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
import logging
import multiprocessing
import os
import signal
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiling import cores, numba
from ...errors import MotorError
from .figures import columns, measure
from .points import Points
from .work import Chunk, Stored

Array = NDArray[Any]

TOGETHER = 16
"""Points of one rollout: enough to hide what a call costs, few enough for the caches."""
TRIES = 4
"""How often a chunk is given to a cluster that loses its workers."""
POLL = 0.1  # [s] at which a stop is seen


class ClusterError(MotorError):
    """A cluster cannot be used; the text says why and what to do."""


def compute(
    points: Points,
    names: Sequence[str],
    first: int,
    which: Sequence[int],
    *gathered: Stored | Array,
) -> Array:
    """
    Return the figures of the points from ``first`` on; of each, through which of the gathered.

    It hangs on nothing but its arguments, so it may be run anywhere, and twice.
    """
    motors = points.motors
    found = np.empty((len(which), len(columns(names, motors))))
    for number, given in enumerate(gathered):
        rows = given.rows() if isinstance(given, Stored) else given
        own = [i for i, x in enumerate(which) if x == number]
        for begin in range(0, len(own), TOGETHER):
            some = own[begin : begin + TOGETHER]
            found[some] = measure([points.settings(first + i) for i in some], rows, names)
    return found


Job = tuple[Chunk, Points, Sequence[str], Sequence[int], Sequence[Stored]]
Submit = Callable[[Job], 'Future[Array]']


@contextmanager
def local(workers: int | None) -> Iterator[tuple[Submit, int]]:
    """Give what takes jobs on this machine, and how many to hand it at a time."""
    count = workers or cores()
    made: Executor
    if numba():
        made = ThreadPoolExecutor(count)
    else:
        spawning = multiprocessing.get_context('spawn')
        made = ProcessPoolExecutor(count, spawning, _end_with_parent)

    def submit(job: Job) -> Future[Array]:
        chunk, points, names, which, gathered = job
        # What is started here does not see the Ctrl-C of a terminal: this process ends it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return made.submit(compute, points, names, chunk.first, which, *gathered)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    others = multiprocessing.active_children()
    try:
        yield submit, 2 * count
    finally:
        ours = [child for child in multiprocessing.active_children() if child not in others]
        for child in ours:  # idle, or stopped: what it does is not wanted any more
            child.terminate()
        made.shutdown(wait=bool(ours), cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however it went."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def cluster(address: str) -> Iterator[tuple[Submit, int]]:
    """
    Give the same of a cluster.

    Raises
    ------
    ClusterError
        If there is none at the address, or it has no workers.

    """
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "distributed is missing. Install it with: pip install '.[cluster]'"
        ) from None
    Client: Any = distributed.Client
    logging.getLogger('distributed').setLevel(logging.CRITICAL)  # it is said once, and by us
    try:
        client: Any = Client(address, timeout=3, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        text = ' '.join(str(error).split()) or type(error).__name__
        raise ClusterError(
            f'there is no scheduler at {address} ({text}). Start one with: dask scheduler'
        ) from None
    try:
        try:
            client.wait_for_workers(1, timeout=10)
        except TimeoutError:
            raise ClusterError(
                f'the scheduler at {address} has no workers. Start one with: dask worker {address}'
            ) from None
        taker = client.get_executor(retries=TRIES)
        held: dict[Stored, Any] = {}

        def submit(job: Job) -> Future[Array]:
            chunk, points, names, which, gathered = job
            for old in [x for x in held if x not in gathered]:
                del held[old]
            for one in gathered:
                if one not in held or held[one].status != 'finished':
                    held[one] = client.scatter(one.rows().copy(), broadcast=True, hash=False)
            there = [held[one] for one in gathered]
            made: Future[Array] = taker.submit(compute, points, names, chunk.first, which, *there)
            return made

        threads = sum(client.nthreads().values())
        yield submit, 2 * max(1, threads)
    finally:
        client.close(timeout=2)


def run(
    jobs: Iterator[Job],
    submit: Submit,
    width: int,
    done: Callable[[Chunk, Array], None],
    stop: Callable[[], bool],
) -> bool:
    """
    Have all jobs done; return whether they are, or the stop came before.

    Raises
    ------
    ClusterError
        If a worker cannot do them.

    """
    pending: dict[Future[Array], tuple[Job, int]] = {}
    again: list[tuple[Job, int]] = []
    while not stop():
        while len(pending) < width:
            job, tries = again.pop() if again else (next(jobs, None), 1)
            if job is None:
                break
            pending[submit(job)] = job, tries
        if not pending:
            return True
        for future in wait(pending, POLL, FIRST_COMPLETED).done:
            job, tries = pending.pop(future)
            try:
                figures = future.result()
            except MotorError:
                raise
            except BaseException as error:
                if not _is_lost(error) or tries == TRIES:
                    raise ClusterError(_told(error)) from error
                again.append((job, tries + 1))
            else:
                done(job[0], figures)
    return False


def _is_lost(error: BaseException) -> bool:
    """Tell whether a chunk went with a worker, and not by what it is."""
    return type(error).__name__ in (
        'CancelledError',
        'FutureCancelledError',
        'FuturesCancelledError',
        'KilledWorker',
    )


def _told(error: BaseException) -> str:
    text = ' '.join(str(error).split()) or type(error).__name__
    if isinstance(error, ImportError):
        return f'a worker cannot import {error.name}: install this package there too.'
    if type(error).__name__ == 'BrokenProcessPool':
        return (
            'the processes of the sweep ended at once. A script must call sweep under '
            "if __name__ == '__main__': (or install numba, which needs no processes)."
        )
    return f'a worker failed ({type(error).__name__}: {text}).'
