"""Packages whose names are imported when they are asked for, and with them what those need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(
    package: str, where: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """
    Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its full name.
    where
        By name the module that has it, relative to the package. A module hides what has its own
        name, so that the two differ.

    """

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        return getattr(import_module(where[name], package), name)

    return get, lambda: sorted(where)
