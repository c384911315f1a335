"""A program's own options: apart from those of ROS, and numbers that are checked."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import sys


def split(args: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return a program's own arguments and those of ROS; None: those of the process."""
    given = list(sys.argv[1:] if args is None else args)
    ros = given.index('--ros-args') if '--ros-args' in given else len(given)
    return given[:ros], given[ros:]


def number(rule: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """Return what argparse is to read a number by; ``rule`` says in words what ``holds``."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float('nan')
        if not holds(value):  # as it is with nan, for every comparison
            raise argparse.ArgumentTypeError(f'must be a number {rule}, got {text!r}.')
        return value

    return read


def whole(rule: str = '', holds: Callable[[int], bool] = lambda _: True) -> Callable[[str], int]:
    """Return the same for whole numbers."""

    def read(text: str) -> int:
        try:
            value = int(text)
            if holds(value):
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f'must be a whole number{rule}, got {text!r}.')

    return read
