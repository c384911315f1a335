"""
The functions of the equations, compiled by numba where it is installed.

They are registered as they stand, so there is no second copy of them; the modules they are in know
nothing of it, and a program that compiles nothing does not import numba.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from hashlib import sha256
from inspect import isfunction
import logging
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from . import axial, drive, imbalance, model, sensing, vector, winding

MODULES: tuple[ModuleType, ...] = (vector, axial, imbalance, model, winding, drive, sensing)
INLINE = (model.advanced, model._turn, axial.turn, axial._turned)
"""Where they are called, what nobody keeps of their results is not computed."""
SAID = 'Compiling for this kind of motor, some 5 s; it is kept on disk.'

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
    for file in (*(module.__file__ for module in MODULES), function.__code__.co_filename):
        digest.update(Path(str(file)).read_bytes())
    return digest.hexdigest()[:16]


# A dataclass is no type of numba, a named tuple is: of each there is one with the same names.


def _whole(value: int) -> int:
    """Return a number of 64 bits as a signed one, which is what numba computes with."""
    return int(value) - 2**64 if value >= 2**63 else int(value)


def numbers(value: Any) -> Any:
    """
    Return constants or a state as numbers and tuples alone, in types that are always the same.

    Of a dataclass, text is left out, what may be None and what begins with an underscore.
    """
    kind = type(value)
    if kind is float or value is None:
        return value
    twin = TWINS.get(kind)
    if twin is not None:
        make, parts = twin
        return make(*[convert(getattr(value, name)) for name, convert in parts])
    if isinstance(value, tuple):
        if hasattr(value, '_fields'):
            parts = _named(kind)
            return kind(*[convert(getattr(value, name)) for name, convert in parts])
        return tuple([numbers(part) for part in value])
    return float(value)


CONVERTERS: dict[str, Callable[[Any], Any]] = {'float': float, 'int': _whole, 'bool': bool}


@cache
def _named(kind: type) -> list[tuple[str, Callable[[Any], Any]]]:
    types = {name: getattr(t, '__forward_arg__', t) for name, t in kind.__annotations__.items()}
    return [(name, CONVERTERS.get(types[name], numbers)) for name in types]


def _twin(cls: Any) -> tuple[Any, list[tuple[str, Callable[[Any], Any]]]]:
    """Return the named tuple of a dataclass, and what is made of each of its fields."""
    parts = [
        (f.name, CONVERTERS.get(str(f.type), numbers))
        for f in fields(cls)
        if not (f.type == 'str' or str(f.type).endswith('None') or f.name.startswith('_'))
    ]
    make: Any = NamedTuple(f'{cls.__name__}Numbers', [(name, Any) for name, _ in parts])  # type: ignore[misc]
    make.__module__ = __name__
    globals()[make.__name__] = make  # where what is kept on disk looks for it
    return make, parts


TWINS: dict[type, Any] = {
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
TWINS |= {cls: TWINS[sensing.Channel] for cls in (sensing.Tachometer, sensing.TorqueSensor)}
