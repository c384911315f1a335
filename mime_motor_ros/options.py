"""A program's own options: apart from those of ROS, and numbers that are checked."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import sys


def split(args: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """
    Return a program's own arguments and those of ROS; None: those of the process.

    Those of ROS go from ``--ros-args`` to ``--`` or to the end, as rcl has it.
    """
    given = list(sys.argv[1:] if args is None else args)
    own: list[str] = []
    ros: list[str] = []
    while '--ros-args' in given:
        start = given.index('--ros-args')
        end = given.index('--', start) if '--' in given[start:] else len(given)
        own += given[:start]
        ros += given[start:end]
        given = given[end + 1 :]
    return own + given, ros


def ros_only(prog: str, description: str, args: Sequence[str] | None) -> None:
    """End a program that has no options of its own where it is given some, or asked for help."""
    own, _ = split(args)
    argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog='Parameters and remaps go behind --ros-args, as -p NAME:=VALUE, -r FROM:=TO or '
        '--params-file FILE.',
    ).parse_args(own)


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
        raise argparse.ArgumentTypeError(
            ' '.join(('must be a whole number', rule)).strip() + f', got {text!r}.'
        )

    return read
