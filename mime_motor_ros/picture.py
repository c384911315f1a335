"""
What there is to see of motors: shapes, sizes and colours, for whoever paints them.

Lengths in m, angles in rad, colours as red, green, blue from 0 to 1. Nothing of a painter here.
"""

from __future__ import annotations

from math import cos, hypot, inf, pi, sin
import sys
from typing import NamedTuple

from .settings import MotorSettings, Settings
from .vector import multiply, normalized, Quaternion, Vector

DENSITY = 7850.0  # [kg/m^3], of steel
FLATNESS = 4.0  # radius over thickness
RADII = 3.0  # length of an arrow, in radii of the largest rotor, at what is usual for the motors
LONGEST = 1e4  # the same of any arrow
USUAL_SPIN = 100.0  # [rad/s], where a motor names none
USUAL_TIME = 1.0  # [s], in which a usual torque gives the usual momentum
ARC = 1.5 * pi  # [rad], of the ring that shows where a rotor turns to
CHORDS = 24  # of which it is made
SPIN_WIDTH = 11  # characters of any spin, so that a label keeps its length

COLOURS = {
    'rotor': (0.75, 0.75, 0.78),
    'spin direction': (0.94, 0.89, 0.26),
    'momentum': (0.10, 0.75, 0.50),
    'reaction force': (0.95, 0.65, 0.10),
    'reaction torque': (0.40, 0.75, 0.95),
    'mount wrench force': (0.88, 0.30, 0.10),
    'mount wrench torque': (0.20, 0.40, 0.90),
}
"""By the words of the legend, in its order: forces are warm, torques are blue."""


class Disc(NamedTuple):
    """A flat cylinder."""

    radius: float
    thickness: float


class Scales(NamedTuple):
    """Lengths of arrows."""

    force: float
    """[m/N]"""
    torque: float
    """[m/(N m)]"""
    momentum: float
    """[m/(N m s)]"""


def disc(inertia: float) -> Disc:
    """
    Return the steel disc that has this inertia about its axis [kg m^2].

    Of radius r and thickness r / 4: J = m r^2 / 2 = density pi r^5 / 8.
    """
    radius = float((2.0 * FLATNESS / (DENSITY * pi)) ** 0.2 * inertia**0.2)
    return Disc(radius, radius / FLATNESS)


def largest(settings: Settings) -> float:
    """Return the radius of the largest rotor, after which all else is sized."""
    return max(disc(motor.model.inertia).radius for motor in settings.motors)


def scales(settings: Settings) -> Scales:
    """
    Return the lengths of arrows: as the parameters say, and where these are 0 so that it fits.

    With R the radius of the largest rotor, an arrow is 3 R long at what is usual, the most that
    any motor has of it:

        momentum  h = J Omega, Omega being limit.speed, else abs(initial_spin), else 100 rad/s
        torque    T = limit.torque, else h / 1 s
        force     T / R, which gives that torque at the rim
    """
    chosen, radius = settings.markers, largest(settings)
    momentum = max(map(_usual_momentum, settings.motors))
    torque = max(map(_usual_torque, settings.motors))
    return Scales(
        chosen.force_scale or _over(RADII * radius, torque / radius),
        chosen.torque_scale or _over(RADII * radius, torque),
        chosen.momentum_scale or _over(RADII * radius, momentum),
    )


def _usual_momentum(motor: MotorSettings) -> float:
    limit = motor.drive.speed_limit
    spin = limit if limit < inf else abs(motor.initial.spin) or USUAL_SPIN
    return motor.model.inertia * spin


def _usual_torque(motor: MotorSettings) -> float:
    limit = motor.drive.torque_limit
    return limit if limit < inf else _usual_momentum(motor) / USUAL_TIME


def _over(length: float, amount: float) -> float:
    """Return a quotient that is finite whatever the two are."""
    return min(length / amount, sys.float_info.max) if amount > 0.0 else sys.float_info.max


def arrow(vector: Vector, scale: float, least: float, most: float) -> Vector | None:
    """Return the tip of an arrow from the origin, not farther than ``most``; None: too short."""
    size = hypot(*vector)
    length = min(size * scale, most)
    if not (size > 0.0 and length >= least):
        return None
    x, y, z = vector
    return (x / size * length, y / size * length, z / size * length)


def onto(axis: Vector, sense: float = 1.0) -> Quaternion:
    """Return a turn of z onto a unit axis, or against it where ``sense`` is negative."""
    x, y, z = axis
    if z >= 0.0:
        turn = normalized((-y, x, 0.0, 1.0 + z))
    else:  # over -z, which a half turn about x makes of z
        turn = multiply(normalized((y, -x, 0.0, 1.0 - z)), (1.0, 0.0, 0.0, 0.0))
    return turn if sense >= 0.0 else multiply(turn, (1.0, 0.0, 0.0, 0.0))


def mark(of: Disc) -> list[Vector]:
    """Return a line on a disc about z, by which it is seen to turn: along x, over both faces."""
    out, up = 1.01 * of.radius, 0.52 * of.thickness
    return [(0.0, 0.0, up), (out, 0.0, up), (out, 0.0, -up), (0.0, 0.0, -up)]


def ring(radius: float) -> list[Vector]:
    """Return a line about z by the right hand: most of a circle, and an arrowhead at its end."""
    arc = [ARC * k / CHORDS for k in range(CHORDS + 1)]
    line = [(radius * cos(angle), radius * sin(angle), 0.0) for angle in arc]
    behind = ARC - 0.25
    for wing in (0.85, 1.15):
        barb = (wing * radius * cos(behind), wing * radius * sin(behind), 0.0)
        line += (barb, line[CHORDS])
    return line


def label(name: str, spin: float) -> str:
    """Return what is written beside a motor; of one name always as long."""
    return f'{name} {spin:{SPIN_WIDTH}.4g} rad/s'
