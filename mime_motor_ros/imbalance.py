"""
What of a rotor's mass is off its axis: the once-per-turn force and torque of equation (D8).

Pure functions of tuples. The rotor is rigid and turns at omega_r = omega + v e; what is known of
its angular acceleration is alpha = (dv/dt) e + v omega x e. The part in d omega/dt and in the
acceleration of the mount's origin acts as added inertia and mass of the mount. Left out too is
what acts about the axis: of second order in the mount's rate, or a load (gravity) to be given.
"""

from __future__ import annotations

from math import cos, sin
from typing import NamedTuple

from .vector import add, cross, dot, norm, Quaternion, rotate, scale, subtract, Vector


class Imbalance(NamedTuple):
    """
    Static imbalance U_s [kg m] and dynamic imbalance U_d [kg m^2] of a rotor, both >= 0.

    ``static_direction`` points to the heavy side; ``dynamic_direction`` is w of the products of
    inertia -U_d (e w^T + w e^T). Unit vectors across the axis, in rotor axes.
    """

    static: float
    static_direction: Vector
    dynamic: float
    dynamic_direction: Vector


def across(axis: Vector, phase: float) -> Vector:
    """
    Return the unit vector across an axis at a phase [rad], by the right hand.

    Phase 0 is x of the stator, or y where the axis is nearer to x, made perpendicular.
    """
    start = (1.0, 0.0, 0.0) if abs(axis[0]) < 0.9 else (0.0, 1.0, 0.0)
    first = subtract(start, scale(dot(axis, start), axis))
    first = scale(1.0 / norm(first), first)
    return add(scale(cos(phase), first), scale(sin(phase), cross(axis, first)))


class Unbalanced(NamedTuple):
    """What the mount feels of an imbalance: world axes, about the rotor's origin."""

    force: Vector
    torque: Vector


def reaction(
    imbalance: Imbalance, R_WR: Quaternion, e: Vector, w: Vector, v: float, spin_dot: float
) -> Unbalanced:
    """
    Return the wrench on the mount: (D8).

    Parameters
    ----------
    imbalance
        Of the rotor.
    R_WR
        Orientation of the rotor in the world.
    e
        The axis, world axes.
    w
        Angular velocity of the mount, world axes [rad/s].
    v, spin_dot
        Speed of the rotor against the stator [rad/s] and change of its absolute spin [rad/s^2].

    """
    w_r = add(w, scale(v, e))
    alpha = add(scale(spin_dot, e), scale(v, cross(w, e)))
    u = rotate(R_WR, imbalance.static_direction)
    force = scale(-imbalance.static, add(cross(alpha, u), cross(w_r, cross(w_r, u))))
    d, U_d = rotate(R_WR, imbalance.dynamic_direction), imbalance.dynamic

    def apply(x: Vector) -> Vector:
        return scale(-U_d, add(scale(dot(d, x), e), scale(dot(e, x), d)))

    torque = scale(-1.0, add(apply(alpha), cross(w_r, apply(w_r))))
    return Unbalanced(force, subtract(torque, scale(dot(e, torque), e)))
