"""The demos by name: what moves the mount, and which motors are on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .errors import ParameterError


class Demo(NamedTuple):
    """One demo, as `make demo` and the launch file start it."""

    program: str
    """Which moves the mount, by the motion of the demo's name."""
    text: str
    """What is seen."""
    file: str = ''
    """Of config/, for the motors; without one there is one wheel."""


DEMOS: Mapping[str, Demo] = {
    'tumble': Demo('demo_mount', 'A wheel on a tumbling mount'),
    'bench': Demo('demo_mount', 'A wheel on a bench that tilts'),
    'precession': Demo(
        'demo_body', 'A body on a fast rotor, that precesses and nutates', 'precession.yaml'
    ),
    'wheels': Demo('demo_body', 'A body that four wheels point, each 10 s anew', 'wheels.yaml'),
}
USUAL = 'tumble'


def demo(name: str, argument: str = 'demo') -> Demo:
    """Return a demo by its name; an error names the argument it was given by."""
    found = DEMOS.get(name)
    if found is None:
        raise ParameterError(argument, f'one of {", ".join(DEMOS)}', repr(name))
    return found
