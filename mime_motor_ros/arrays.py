"""Arrays that somebody gives: of which shapes and numbers they have to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ParameterError

Array = NDArray[Any]

STILL = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
LONGER = 1e-2  # than 1, or shorter, of a quaternion


def told(array: Array) -> str:
    """Return an array as an error shows it."""
    return f'shape {array.shape}{"" if np.isfinite(array).all() else ", not all finite"}'


def numbers(name: str, value: Any) -> Array:
    """Return numbers as an array of floats in one piece."""
    try:
        return np.asarray(value, dtype=np.float64, order='C')
    except (TypeError, ValueError):
        raise ParameterError(name, 'numbers', type(value).__name__) from None


def listed(value: Any) -> list[Any]:
    """Return what can be gone through as a list; nothing of what cannot."""
    return list(value) if isinstance(value, Iterable) else []


def steps(name: str, value: Any, N: int) -> Array:
    """Return lengths of steps [s] of shape (N,), or (1,) of all."""
    array = numbers(name, value)
    if array.shape not in ((), (N,)) or not ((array > 0.0) & (array < np.inf)).all():
        rule = f'finite and > 0 s, a number or of shape ({N},)'
        raise ParameterError(name, rule, told(array) if array.ndim else value)
    return array.reshape(-1)


def rows(name: str, value: Any, shapes: Sequence[tuple[int, ...]], unit: str) -> Array:
    """Return finite numbers of one of these shapes; one row of zeros where there are none."""
    if value is None:
        return np.zeros((1, shapes[0][-1]))
    array = numbers(name, value)
    if array.shape not in shapes or not np.isfinite(array).all():
        rule = f'None or finite numbers of shape {" or ".join(map(str, shapes))} [{unit}]'
        raise ParameterError(name, rule, told(array))
    return array


def poses(name: str, value: Any, N: int) -> Array:
    """Return poses of shape (N, 7), or the one that is none at all."""
    if value is None:
        return STILL
    array = rows(name, value, [(N, 7)], 'x y z [m] qx qy qz qw')
    lengths = np.sqrt((array[:, 3:] ** 2).sum(axis=1))
    worst = float(lengths[np.abs(lengths - 1.0).argmax()])
    if not abs(worst - 1.0) <= LONGER:
        raise ParameterError(name, 'poses with quaternions of length 1', f'length {worst:g}')
    return array


def pair(name: str, value: Any, M: int, words: str) -> tuple[Array, Array]:
    """Return two numbers for each of M; zeros where there are none."""
    if value is None:
        return np.zeros(M), np.zeros(M)
    rule = f'None or ({words}), each a finite number or of shape ({M},)'
    try:
        first, second = (np.asarray(x, dtype=np.float64) for x in value)
    except (TypeError, ValueError):
        raise ParameterError(name, rule, type(value).__name__) from None
    are_finite = np.isfinite(first).all() and np.isfinite(second).all()
    if not {first.shape, second.shape} <= {(), (M,)} or not are_finite:
        raise ParameterError(name, rule, f'{told(first)} and {told(second)}')
    return np.broadcast_to(first, (M,)), np.broadcast_to(second, (M,))


def check_whole(name: str, value: Any) -> None:
    """Raise ParameterError unless a value is a whole number >= 1."""
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not (is_number and int(value) >= 1):
        raise ParameterError(name, 'a whole number >= 1', value)
