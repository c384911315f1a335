"""
The points of a sweep, by their number: nothing is kept of them, so there may be any number.

The grid is the product of all values, the last parameter changing fastest; each of its points
has all samples, one after the other. What is drawn hangs on the seed, the name and the number of
the sample alone: so each point of the grid sees the same samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
import math
from typing import Any

from ...errors import MotorError, ParameterError
from ...settings import (
    check_names,
    motor_names,
    OF_RCLPY,
    Parameter,
    parameters,
    Settings,
    settings,
)
from .figures import suffix
from .specification import Specification, Varied

LETTERS = {2: ('low', 'high'), 3: 'xyz', 4: 'xyzw', 6: ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')}
"""What the numbers of a list are called in the names of columns."""


def share(seed: int, name: str, sample: int) -> float:
    """Return a number of the uniform distribution over 0 to 1, without both."""
    bits = int.from_bytes(sha256(f'{seed}/{name}/{sample}'.encode()).digest()[:8], 'big')
    return ((bits >> 12) + 0.5) * 2.0**-52


@dataclass(frozen=True)
class Points:
    """
    All points of a specification.

    Parameters
    ----------
    base : values of parameters that all have, by full name
    vary : parameters that change
    samples, seed : as of the specification

    """

    base: Mapping[str, Any]
    vary: tuple[Varied, ...]
    samples: int
    seed: int

    def __len__(self) -> int:
        """Return how many there are."""
        return self.samples * math.prod(len(one.values) or 1 for one in self.vary)

    def values(self, point: int) -> tuple[Any, ...]:
        """Return the values of the varied parameters of a point, in their order."""
        rest, sample = divmod(point, self.samples)
        found: list[Any] = []
        for one in reversed(self.vary):
            if one.distribution is not None:
                found.append(one.distribution.at(share(self.seed, one.name, sample)))
            else:
                rest, place = divmod(rest, len(one.values))
                found.append(one.values[place])
        return tuple(reversed(found))

    def overrides(self, point: int) -> dict[str, Any]:
        """Return the same by name."""
        return {x.name: value for x, value in zip(self.vary, self.values(point), strict=True)}

    def settings(self, point: int) -> Settings:
        """
        Return the checked settings of a point.

        Raises
        ------
        MotorError
            If its parameters break a rule; the text says which, and at which point.

        """
        own = self.overrides(point)
        try:
            return settings({**self.base, **own})
        except MotorError as error:
            shown = ', '.join(f'{name} {_short(value)}' for name, value in own.items())
            raise MotorError(f'point {point} ({shown}): {error}') from None

    @cached_property
    def motors(self) -> tuple[str, ...]:
        """Return the names of the motors."""
        return motor_names(self.base.get('motors', ('wheel',)))

    @cached_property
    def table(self) -> dict[str, Parameter]:
        """Return every parameter of the node, by full name."""
        return parameters(self.motors)

    def columns(self) -> list[str]:
        """Return the names of the columns of the varied parameters, with units."""
        made = []
        for one in self.vary:
            parameter = self.table[one.name]
            unit = f'_{suffix(parameter.unit)}' if parameter.unit else ''
            letters = self._letters(parameter)
            made += [f'{one.name}{letter}{unit}' for letter in letters] or [f'{one.name}{unit}']
        return made

    def row(self, point: int) -> list[Any]:
        """Return what is in these columns; numbers as floats where the parameter is one."""
        made: list[Any] = []
        for one, value in zip(self.vary, self.values(point), strict=True):
            parameter = self.table[one.name]
            if self._letters(parameter):
                made += map(float, value)
            else:
                made.append(type(parameter.default)(value))
        return made

    def kinds(self) -> list[type]:
        """Return the types of what is in these columns."""
        return [type(x) for x in self.row(0)]

    def _letters(self, parameter: Parameter) -> list[str]:
        """Return what the columns of a parameter end in; nothing where it is no list."""
        if not isinstance(parameter.default, tuple):
            return []
        return [f'_{letter}' for letter in LETTERS[len(parameter.default)]]


def _short(value: Any) -> str:
    return f'{value:.9g}' if isinstance(value, float) else str(value)


def points(given: Specification) -> Points:
    """
    Return the points of a specification, the names of its parameters checked.

    Raises
    ------
    MotorError
        If a name is none of the node's, or nothing that can be varied.

    """
    base = {
        name: value
        for name, value in (given.parameters or {}).items()
        if name not in OF_RCLPY and not name.startswith('qos_overrides.')
    }
    made = Points(base, given.vary, given.samples, given.seed)
    check_names(base, made.motors)
    for one in given.vary:
        strangers = check_names({one.name: 'what to vary'}, made.motors)
        if strangers or one.name == 'motors':
            rule = 'parameters of the node' if strangers else 'other parameters than motors'
            raise ParameterError('vary', rule, repr(one.name))
        for value in one.values:
            default = made.table[one.name].default
            if isinstance(default, tuple) != isinstance(value, tuple):
                rule = (
                    f'lists of {len(default)} numbers' if isinstance(default, tuple) else 'plain'
                )
                raise ParameterError(f'vary.{one.name}', f'values that are {rule}', value)
    return made
