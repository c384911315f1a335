"""A bar on a terminal, for what takes longer than one waits without a sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import sys
import time


@contextmanager
def telling(quiet: bool, what: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done, in one line that is gone in the end."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return

    def show(text: str) -> None:
        line = f'{what}: {text}' if text else ''
        print(f'\r\x1b[K{line}', end='', file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        show('')


@contextmanager
def progress(quiet: bool, what: str) -> Iterator[Callable[[float, float], None]]:
    """Show a bar on a terminal, with how fast it goes and how long it will still take."""
    if quiet or not sys.stderr.isatty():
        yield lambda share, seconds: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn('{task.fields[rate]}'),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    began = time.monotonic()
    with bar:
        task = bar.add_task(what, total=1.0, rate='')

        def show(share: float, seconds: float) -> None:
            rate = seconds / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=share, rate=f'{rate:.1f} x real time')

        yield show
