"""
A rigid body that carries rotors and turns freely: the momentum of the rotors is in its solve.

Pure functions of floats and tuples. ``doc/free_body.md`` derives the step and says why a torque
out of the last step, in place of the momentum of this one, makes the body diverge.

Vectors are in the axes of the body, which are those of the mount: I its inertia without the
rotors' J, but with their mass and transverse inertia; w its rate; H the momentum of the rotors by
their absolute spin, equation (11); p = I w + H all there is, which without a torque from outside
only turns: dp/dt = p x w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import NamedTuple

from .errors import ParameterError
from .vector import (
    add,
    apply,
    conjugate,
    cross,
    dot,
    Matrix,
    multiply,
    normalized,
    Quaternion,
    rotate,
    scale,
    subtract,
    Vector,
)

ZERO: Vector = (0.0, 0.0, 0.0)
MOST_ITERATIONS = 20
CONVERGED = 1e-15
"""Of the rate, relative: a step of Newton's shorter than this is rounding."""


@dataclass(frozen=True)
class Body:
    """
    A rigid body, checked here once.

    Parameters
    ----------
    inertia : six numbers (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2]
        I, about the point it turns about; positive definite.

    """

    inertia: tuple[float, float, float, float, float, float]
    tensor: Matrix = field(init=False, repr=False, compare=False)
    inverse: Matrix = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        six = tuple(float(x) for x in self.inertia)
        rule = 'six numbers (ixx, ixy, ixz, iyy, iyz, izz) of a positive tensor [kg m^2]'
        if len(six) != 6 or not all(isfinite(x) for x in six):
            raise ParameterError('inertia', rule, list(six))
        xx, xy, xz, yy, yz, zz = six
        rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        if not (xx > 0.0 and xx * yy > xy * xy and dot(rows[0], cross(rows[1], rows[2])) > 0.0):
            raise ParameterError('inertia', rule, list(six))
        object.__setattr__(self, 'inertia', six)
        object.__setattr__(self, 'tensor', rows)
        object.__setattr__(self, 'inverse', inverse(rows))


class BodyState(NamedTuple):
    """What a free body carries from step to step."""

    orientation: Quaternion
    """R, of the body in the world."""
    momentum: Vector
    """p = I w + H, body axes [N m s]."""
    rotors: Vector
    """H, of the rotors alone, body axes [N m s]: equation (11)."""
    rate: Vector
    """w, body axes [rad/s]."""

    @property
    def spatial_momentum(self) -> Vector:
        """Return R p, which only a torque from outside changes, in world axes [N m s]."""
        return rotate(self.orientation, self.momentum)


def released(body: Body, orientation: Quaternion, rate: Vector, rotors: Vector) -> BodyState:
    """Return a body let go at a rate [rad/s] with rotors of a momentum [N m s]."""
    momentum = add(apply(body.tensor, rate), rotors)
    return BodyState(normalized(orientation), momentum, rotors, rate)


def pushed(body: Body, state: BodyState, impulse: Vector) -> BodyState:
    """Return the body after an impulse from outside, body axes [N m s]."""
    momentum = add(state.momentum, impulse)
    rate = apply(body.inverse, subtract(momentum, state.rotors))
    return BodyState(state.orientation, momentum, state.rotors, rate)


def turned_on(body: Body, state: BodyState, rotors: Vector, dt: float) -> BodyState:
    """
    Return the body a step of ``dt`` on, with rotors whose momentum has come to be ``rotors``.

    Implicit midpoint with the Cayley map, second order: w is the mean rate,

        p+ - p = dt (p + p+)/2 x w,   I w = (p + p+)/2 - (H + H+)/2,   R+ = R cay(dt w).

    The first says p+ = cay(dt w)^T p, so R+ p+ = R p to rounding, whatever w is and however far
    it was solved for. With H in the solve the step is stable for every dt.
    """
    p, before = state.momentum, state.rotors
    mean = (
        0.5 * (before[0] + rotors[0]),
        0.5 * (before[1] + rotors[1]),
        0.5 * (before[2] + rotors[2]),
    )
    w = _mean_rate(body.tensor, p, mean, state.rate, 0.5 * dt)
    h = 0.5 * dt
    turn = normalized((h * w[0], h * w[1], h * w[2], 1.0))  # cay(dt w)
    momentum = rotate(conjugate(turn), p)
    orientation = normalized(multiply(state.orientation, turn))
    rate = apply(body.inverse, subtract(momentum, rotors))
    return BodyState(orientation, momentum, rotors, rate)


def stepped(
    body: Body, state: BodyState, rotors: Vector, dt: float, torque: Vector = ZERO
) -> BodyState:
    """
    Return the body a step on, with a torque from outside that is held in its axes [N m].

    Half of its impulse acts before the turn and half behind it. What the rotors' bearings and
    drives do to the body is in the change of ``rotors``, not in the torque.
    """
    if torque == ZERO:
        return turned_on(body, state, rotors, dt)
    half = scale(0.5 * dt, torque)
    return pushed(body, turned_on(body, pushed(body, state, half), rotors, dt), half)


def from_outside(reaction: Vector, before: Vector, now: Vector, dt: float) -> Vector:
    """
    Return the torque of loads from outside [N m], out of what a step of the rotors gave.

    The reaction is what the loads bring less what the rotors took of it about their axes, which
    is the change of their momentum: its axial part goes into the body by that change alone. All
    in the axes of the body, about its origin. For rotors without a gear's casing or an imbalance.
    """
    return add(reaction, scale(1.0 / dt, subtract(now, before)))


def energy(body: Body, state: BodyState) -> float:
    """Return the body's energy of rotation, without the rotors' [J]."""
    return 0.5 * dot(state.rate, apply(body.tensor, state.rate))


def explicit_rate(
    body: Body, rate: Vector, gyroscopic_torque: Vector, dt: float, reaction: Vector = ZERO
) -> Vector:
    """
    Return the rate a step on the way that does NOT hold: with torques out of the last step.

    It is what feeding back a mount wrench comes to, and here to be compared with: each step turns
    and lengthens the rate by sqrt(1 + (dt H / I)^2), whatever the step is.
    """
    own = cross(apply(body.tensor, rate), rate)
    torque = add(add(own, gyroscopic_torque), reaction)
    return add(rate, scale(dt, apply(body.inverse, torque)))


def inverse(rows: Matrix) -> Matrix:
    """Return the inverse of a symmetric matrix."""
    a, b, c = rows
    x, y, z = cross(b, c), cross(c, a), cross(a, b)
    s = 1.0 / dot(a, x)
    return (scale(s, x), scale(s, y), scale(s, z))


def upright(inertia: Sequence[float]) -> Body:
    """Return a body by its three principal moments about its own axes [kg m^2]."""
    xx, yy, zz = inertia
    return Body((xx, 0.0, 0.0, yy, 0.0, zz))


def _mean_rate(tensor: Matrix, p: Vector, rotors: Vector, guess: Vector, h: float) -> Vector:
    """
    Return w of I w + H + h w x (I w + H) = p, by Newton's method: three unknowns, quadratic.

    p's mean over the step is m = I w + H, and h is half of dt.
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    hx, hy, hz = rotors
    px, py, pz = p
    x, y, z = guess
    size = inf
    for _ in range(MOST_ITERATIONS):
        mx = xx * x + xy * y + xz * z + hx
        my = xy * x + yy * y + yz * z + hy
        mz = xz * x + yz * y + zz * z + hz
        fx = mx + h * (y * mz - z * my) - px
        fy = my + h * (z * mx - x * mz) - py
        fz = mz + h * (x * my - y * mx) - pz
        # The slope of f: I + h ([w] I - [m]).
        a, b, c = (
            xx + h * (y * xz - z * xy),
            xy + h * (y * yz - z * yy + mz),
            xz + h * (y * zz - z * yz - my),
        )
        d, e, f = (
            xy + h * (z * xx - x * xz - mz),
            yy + h * (z * xy - x * yz),
            yz + h * (z * xz - x * zz + mx),
        )
        g, i, j = (
            xz + h * (x * xy - y * xx + my),
            yz + h * (x * yy - y * xy - mx),
            zz + h * (x * yz - y * xz),
        )
        ej, fg, di = e * j - f * i, f * g - d * j, d * i - e * g
        s = 1.0 / (a * ej + b * fg + c * di)
        dx = s * (ej * fx + (c * i - b * j) * fy + (b * f - c * e) * fz)
        dy = s * (fg * fx + (a * j - c * g) * fy + (c * d - a * f) * fz)
        dz = s * (di * fx + (b * g - a * i) * fy + (a * e - b * d) * fz)
        x, y, z = x - dx, y - dy, z - dz
        last, size = size, abs(dx) + abs(dy) + abs(dz)
        if size <= CONVERGED * (abs(x) + abs(y) + abs(z)) or size >= 0.5 * last:
            break  # at the root, or in its rounding
    return (x, y, z)
