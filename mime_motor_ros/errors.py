"""What can go wrong by somebody's hand: who sets parameters, who sends frames."""

from __future__ import annotations

from math import inf


def shortened(text: str, most: int = 500) -> str:
    """Return a text that may have been sent by anybody, not longer than a line of a log."""
    return text if len(text) <= most else f'{text[:most]}...'


class MotorError(Exception):
    """The base of every error this package raises on purpose."""


class ParameterError(MotorError, ValueError):
    """
    A parameter has a value for which the equations mean nothing.

    Parameters
    ----------
    name
        Full name of the parameter.
    rule
        What it must be, with the unit.
    value
        What was given.
    hint
        What to do, a sentence, where that is not plain from the rule.

    """

    def __init__(self, name: str, rule: str, value: object, hint: str = '') -> None:
        text = f'{name} must be {rule}, got {shortened(str(value))}.'
        super().__init__(text + (f' {hint}' if hint else ''))
        self.name, self.rule, self.value, self.hint = name, rule, value, hint


def positive(name: str, value: float, unit: str) -> None:
    """Raise ParameterError unless a value is finite and > 0."""
    if not 0.0 < value < inf:
        raise ParameterError(name, f'finite and > 0 {unit}'.rstrip(), value)


def not_negative(name: str, value: float, unit: str) -> None:
    """Raise ParameterError unless a value is finite and >= 0."""
    if not 0.0 <= value < inf:
        raise ParameterError(name, f'finite and >= 0 {unit}'.rstrip(), value)


class FrameError(MotorError, LookupError):
    """A transform cannot be had."""


class FrameLookupError(FrameError):
    """A frame is not known."""


class FrameConnectivityError(FrameError):
    """Two frames are known and no chain of transforms joins them."""


class FrameExtrapolationError(FrameError):
    """The chain is there, but not at the time asked for."""
