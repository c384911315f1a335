"""
Pointing a body with reaction wheels: quaternion control, allocation, and momentum between wheels.

Pure functions of floats and tuples, for any number of wheels whose axes span all directions.
Vectors are in the axes of the body; A has the wheels' axes as columns, ``axes`` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, hypot, inf, sqrt
from typing import NamedTuple

from .errors import ParameterError
from .free_body import inverse
from .vector import (
    add,
    apply,
    conjugate,
    cross,
    dot,
    Matrix,
    multiply,
    norm,
    normalized,
    Quaternion,
    scale,
    Vector,
)

LEAST_SPREAD = 1e-6
"""Of det(A A^T): below it the axes lie in a plane."""


class Gains(NamedTuple):
    """How fast a body is turned to its target."""

    bandwidth: float = 2.0
    """Of the closed loop, critically damped [rad/s]."""
    most_rate: float = 0.25
    """Of a slew [rad/s]."""


class Array:
    """
    Reaction wheels as one actuator.

    Parameters
    ----------
    axes
        Of each wheel, in body axes; of any length.

    Raises
    ------
    ParameterError
        If a direction is left that no wheel turns the body about.

    """

    def __init__(self, axes: Sequence[Vector]) -> None:
        self.axes = tuple(scale(1.0 / norm(axis), axis) for axis in axes)
        x, y, z = ([axis[i] for axis in self.axes] for i in range(3))
        rows = tuple(tuple(_sum_of_products(a, b) for b in (x, y, z)) for a in (x, y, z))
        (a, b, c), (_, d, e), (_, _, f) = rows
        spread: Matrix = ((a, b, c), (b, d, e), (c, e, f))
        if not dot(spread[0], cross(spread[1], spread[2])) > LEAST_SPREAD:
            rule = 'three or more whose axes do not lie in a plane'
            raise ParameterError('motors', rule, [list(axis) for axis in axes])
        self._inverse = inverse(spread)

    def allocated(self, torque: Vector) -> tuple[float, ...]:
        """Return the smallest torques, one a wheel, that are this one together: A^T (A A^T)^-1."""
        shared = apply(self._inverse, torque)
        return tuple([dot(axis, shared) for axis in self.axes])

    def together(self, torques: Sequence[float]) -> Vector:
        """Return what the wheels' torques (or momenta) add up to: A u."""
        total: Vector = (0.0, 0.0, 0.0)
        for axis, torque in zip(self.axes, torques, strict=True):
            total = add(total, scale(torque, axis))
        return total

    def unfelt(self, torques: Sequence[float]) -> tuple[float, ...]:
        """Return the part of the wheels' torques the body does not feel: (1 - A^+ A) u."""
        felt = self.allocated(self.together(torques))
        return tuple([u - part for u, part in zip(torques, felt, strict=True)])


def error_angle(orientation: Quaternion, target: Quaternion) -> float:
    """Return the angle from an orientation to its target [rad]."""
    x, y, z, w = multiply(conjugate(target), orientation)
    return 2.0 * atan2(hypot(x, y, z), abs(w))


def body_torque(
    inertia: Matrix,
    orientation: Quaternion,
    rate: Vector,
    momentum: Vector,
    target: Quaternion,
    gains: Gains,
) -> Vector:
    """
    Return the torque that turns a body to its target and stops it there, body axes [N m].

    Proportional to the vector part of the quaternion between the two, the short way round, and to
    the rate; the first is bounded, so that a slew goes at ``most_rate``. What turns the momentum
    with the body, w x (I w + H), is given beside it; ``momentum`` is I w + H [N m s].
    """
    k = gains.bandwidth
    x, y, z, w = multiply(conjugate(target), orientation)
    error = scale(2.0 if w >= 0.0 else -2.0, (x, y, z))
    size, most = norm(error), 2.0 * gains.most_rate / k
    if size > most:
        error = scale(most / size, error)
    acceleration = scale(-k, add(scale(k, error), scale(2.0, rate)))
    return add(apply(inertia, acceleration), cross(rate, momentum))


def shifting(
    array: Array, momenta: Sequence[float], wanted: Sequence[float], time: float
) -> tuple[float, ...]:
    """
    Return torques that take the wheels' momenta towards others and that the body does not feel.

    The momenta, of each wheel about its axis [N m s], come as near to ``wanted`` as they can with
    the sum they have; what is left falls to a third in ``time`` seconds.
    """
    return array.unfelt([(b - a) / time for a, b in zip(momenta, wanted, strict=True)])


def bounded(torques: Sequence[float], most: float) -> tuple[float, ...]:
    """Return torques of the same direction of which none is above the most a wheel has."""
    largest = max(map(abs, torques), default=0.0)
    if largest <= most:
        return tuple(torques)
    return tuple([torque * most / largest for torque in torques])


def wheel_torques(
    array: Array,
    needed: Vector,
    shift: Sequence[float],
    drags: Sequence[float],
    most: float = inf,
) -> tuple[float, ...]:
    """
    Return the torque of each drive [N m], none of which turns its wheel by more than ``most``.

    The body feels ``needed``, the opposite of what the wheels get. ``shift``, which it does not
    feel, has what the pointing leaves. ``drags`` are what each bearing takes from its wheel,
    b (Omega - e.w), and the drive gives back.
    """
    pointing = bounded(array.allocated(scale(-1.0, needed)), most)
    room = most - max(map(abs, pointing), default=0.0)
    unfelt = bounded(shift, room)
    return tuple([a + b + c for a, b, c in zip(pointing, unfelt, drags, strict=True)])


TARGETS: tuple[Quaternion, ...] = tuple(
    normalized(q)
    for q in (
        (0.0, 0.0, 0.5, 0.866),  # 60 deg about z
        (0.35, -0.2, 0.1, 0.9),
        (-0.25, 0.3, 0.2, 0.88),
        (0.0, 0.0, 0.0, 1.0),
    )
)
BIASES = (0.5, 1.0)
"""Of the wheels' own bias, in turns: what they keep between them of the momentum."""
EVERY = 10.0  # s


def target_at(t: float) -> Quaternion:
    """Return the target attitude at a time: another one every 10 s."""
    return TARGETS[int(max(0.0, t) / EVERY) % len(TARGETS)]


def bias_at(t: float) -> float:
    """Return which share of their bias the wheels are to keep, the same way."""
    return BIASES[int(max(0.0, t) / EVERY) % len(BIASES)]


def null_pattern(array: Array) -> tuple[float, ...]:
    """
    Return the momenta, of length 1, that add up to nothing; the last wheel's is positive.

    Of the four axes of a usual array there is one; of more wheels, that which is nearest to the
    last one alone. Three have none: zeros.
    """
    last = [0.0] * (len(array.axes) - 1) + [1.0]
    pattern = array.unfelt(last)
    size = sqrt(_sum_of_products(pattern, pattern))
    return tuple([x / size for x in pattern]) if size > 1e-9 else (0.0,) * len(last)


def _sum_of_products(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
