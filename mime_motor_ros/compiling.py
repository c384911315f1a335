"""
The functions of the equations, compiled by numba where it is installed.

They are registered as they stand, so there is no second copy of them; the modules they are in know
nothing of it, and a program that compiles nothing does not import numba.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from hashlib import sha256
from inspect import isfunction
import logging
from operator import attrgetter
import os
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from . import axial, drive, energy, imbalance, model, sensing, vector, winding

MODULES: tuple[ModuleType, ...] = (
    vector,
    axial,
    imbalance,
    model,
    energy,
    winding,
    drive,
    sensing,
)
INLINE = (model.advanced, model._turn, axial.turn, axial._turned, energy.exchanged)
"""Where they are called, what nobody keeps of their results is not computed."""
SAID = 'Compiling for this kind of motor, a few seconds; what it gives is kept on disk.'

Convert = Callable[[Any], Any]

_log = logging.getLogger(__name__)


@cache
def numba() -> Any:
    """Return the module numba, which then knows our functions; None where it is not installed."""
    try:
        import numba
        from numba.core import event
        from numba.extending import register_jitable
    except ImportError:
        return None
    for module in MODULES:
        for function in own(module):
            register_jitable(forceinline=function in INLINE)(function)

    class Sayer(event.Listener):
        def on_start(self, event: Any) -> None:
            """Say that it takes a while, of our own functions."""
            if getattr(event.data['dispatcher'], 'is_of_the_motor', False):
                _log.warning(SAID)

        def on_end(self, event: Any) -> None:
            """Say nothing."""

    event.register('numba:compile', Sayer())
    return numba


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # where a system does not say which


def own(module: ModuleType) -> list[Callable[..., Any]]:
    """Return the functions that a module defines."""
    return [f for f in vars(module).values() if isfunction(f) and f.__module__ == module.__name__]


@cache
def compiled(function: FunctionType, *callees: FunctionType) -> Any:
    """
    Return a function compiled; it may call the ``callees`` beside what is in MODULES.

    What was compiled is kept on disk, where numba finds a folder for it.
    """
    compiler = numba()
    for callee in callees:
        compiler.extending.register_jitable(forceinline=True)(callee)
    # Numba would see a change of this function, but not of those that it calls.
    named = FunctionType(function.__code__, function.__globals__, function.__name__)
    named.__module__ = function.__module__
    named.__qualname__ = f'{function.__qualname__}_{_digest(function)}'
    options = {'nogil': True, 'error_model': 'numpy'}
    try:
        made = compiler.njit(cache=True, **options)(named)
    except RuntimeError:  # no folder can be written to: compiled anew by each process
        made = compiler.njit(**options)(named)
    made.is_of_the_motor = True
    return made


def _digest(function: FunctionType) -> str:
    """Return a digest of the source text that a compiled function is made of."""
    digest = sha256()
    files = [__file__, function.__code__.co_filename]
    for file in (*files, *(module.__file__ for module in MODULES)):
        digest.update(Path(str(file)).read_bytes())
    return digest.hexdigest()[:16]


# A dataclass is no type of numba, a named tuple is: of each there is one with the same names.


def numbers(value: Any) -> Any:
    """
    Return constants or a state as numbers and tuples alone, in types that are always the same.

    Of a dataclass, text is left out, what may be None and what begins with an underscore.
    """
    kind: Any = type(value)
    return None if value is None else _converter(kind)(value)


@cache
def _converter(kind: Any) -> Convert:
    """Return what makes numbers of the values of a class."""
    cls = next((base for base in kind.__mro__ if base in TWINS), None)
    if cls is not None:
        make, types = TWINS[cls], _types(cls)
    else:
        make = kind
        types = {n: str(getattr(t, '__forward_arg__', t)) for n, t in kind.__annotations__.items()}
    parts, get = [_part(name) for name in types.values()], attrgetter(*types)
    if all(part is float for part in parts):
        return lambda value: make(*map(float, get(value)))
    return lambda value: make(*[part(x) for part, x in zip(parts, get(value), strict=True)])


def _part(annotation: str) -> Convert:
    """Return what makes numbers of a field."""
    if annotation in ('Vector', 'Quaternion', 'Sample') or annotation.startswith('tuple[float'):
        return lambda value: tuple(map(float, value))
    whole: dict[str, Convert] = {'float': float, 'int': _signed, 'bool': bool}
    return whole.get(annotation, numbers)


def _signed(value: int) -> int:
    """Return a number of 64 bits as a signed one, which is what numba computes with."""
    return int(value) - 2**64 if value >= 2**63 else int(value)


def _types(cls: Any) -> dict[str, str]:
    """Return the fields of a dataclass that are kept, and of which type they are."""
    return {
        f.name: str(f.type)
        for f in fields(cls)
        if not (f.type == 'str' or str(f.type).endswith('None') or f.name.startswith('_'))
    }


def _twin(cls: Any) -> Any:
    """Return the named tuple of a dataclass, here where what is kept on disk looks for it."""
    name, names = f'{cls.__name__}Numbers', list(_types(cls))
    made: Any = namedtuple(name, names, module=__name__)  # type: ignore[misc]  # noqa: PYI024
    globals()[made.__name__] = made
    return made


TWINS: dict[Any, Any] = {
    cls: _twin(cls)
    for cls in (
        axial.Friction,
        model.MotorParameters,
        winding.Winding,
        drive.Armature,
        drive.Drive,
        sensing.Channel,
    )
}
