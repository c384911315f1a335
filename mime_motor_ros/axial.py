"""
What turns a rotor about its axis: bearing friction, a geared drive, the law of a drive.

Pure functions of floats, no clock, no ROS, no numpy; the numbers behind the lines are those of
doc/drives.md. One step is one linear equation for the new speed v+ against the stator,

    D v+ = K + dt (tau + tau_f),    D = J + n^2 J_m + dt c,                                  (D1)

with c the drag at the old speed and K all that is known before. What a drive wants falls with
the new speed, what dry friction does opposes it, and both have bounds: so there is one solution,
found without iterating, and none of it can overshoot however long the step is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, exp, inf, sqrt
from typing import NamedTuple

from .errors import not_negative, ParameterError


@dataclass(frozen=True)
class Friction:
    """
    Friction of a bearing beside the viscous one: dry, and drag of higher order.

    Parameters
    ----------
    coulomb : tau_c [N m], finite and >= 0
        Dry friction of a rotor that slides.
    static : tau_s [N m], finite, 0 or >= coulomb
        Dry friction at rest, up to which it sticks; 0: as coulomb.
    stribeck_speed : v_s [rad/s], finite and >= 0
        Speed over which it falls from one to the other; 0: at once.
    quadratic : c_2 [N m s^2], finite and >= 0
        Drag c_2 abs(v) v, as of air.
    cubic : c_3 [N m s^3], finite and >= 0
        Drag c_3 v^3.

    Raises
    ------
    ParameterError
        If a value breaks its rule: none of these may drive the rotor.

    """

    coulomb: float = 0.0
    static: float = 0.0
    stribeck_speed: float = 0.0
    quadratic: float = 0.0
    cubic: float = 0.0

    def __post_init__(self) -> None:
        for name, unit in (
            ('coulomb', 'N m'),
            ('static', 'N m'),
            ('stribeck_speed', 'rad/s'),
            ('quadratic', 'N m s^2'),
            ('cubic', 'N m s^3'),
        ):
            not_negative(f'friction.{name}', getattr(self, name), unit)
        if 0.0 < self.static < self.coulomb:
            raise ParameterError(
                'friction.static',
                f'0 or >= friction.coulomb, which is {self.coulomb:g} N m',
                self.static,
            )

    @property
    def is_none(self) -> bool:
        """Tell whether there is no friction but the viscous one."""
        return not any((self.coulomb, self.static, self.quadratic, self.cubic))


class Gear(NamedTuple):
    """
    A rotor of the drive's own, about the same axis, that turns ``ratio`` times as fast.

    Its momentum is real: carried by its own absolute spin Omega_m = e.omega + n v, and felt by
    the mount, which a reflected inertia (an armature) of n^2 J_m would not be.
    """

    ratio: float = 1.0
    """n [1], not 0; negative where the gear reverses."""
    inertia: float = 0.0
    """J_m [kg m^2], of the drive's rotor about the axis."""


class Law(NamedTuple):
    """
    What a drive does in one step: tau = torque - slope v+, within bounds.

    That the torque follows the speed at the end of the step is what keeps stiff gains stable.
    """

    torque: float
    """[N m], at v+ = 0."""
    slope: float = 0.0
    """[N m s], >= 0."""
    low: float = -inf
    """Bounds of the torque [N m], low <= high."""
    high: float = inf
    power: float = inf
    """Bound of abs(tau v+) [W], > 0."""


class Turn(NamedTuple):
    """How a rotor turns about its axis at the end of a step."""

    speed: float
    """v+ against the stator [rad/s]; exactly 0 where friction holds it."""
    torque: float
    """tau, of the drive on the rotor [N m]."""
    friction: float
    """Of the bearing on the rotor, dry friction and all drag [N m]."""


NO_FRICTION = Friction()
NO_GEAR = Gear()


def dry(friction: Friction, speed: float) -> float:
    """Return the dry friction that a speed [rad/s] can have at most [N m]: (D3), Stribeck's."""
    at_rest = friction.static or friction.coulomb
    more = at_rest - friction.coulomb
    if not more or not speed:
        return at_rest
    width = friction.stribeck_speed
    ratio = speed / width if width else inf
    return friction.coulomb + more * exp(-min(ratio * ratio, 700.0))


def drag(friction: Friction, viscous: float, speed: float) -> float:
    """Return c [N m s], drag over speed, at a speed [rad/s]: (D2)."""
    return viscous + abs(speed) * (friction.quadratic + friction.cubic * abs(speed))


def turn(law: Law, friction: float, c: float, inertia: float, momentum: float, dt: float) -> Turn:
    """
    Return how the rotor turns at the end of a step of ``dt`` [s]: the solution of (D1).

    Parameters
    ----------
    law
        Of the drive.
    friction
        Bound of the dry friction [N m].
    c
        Drag over speed [N m s].
    inertia
        J + n^2 J_m [kg m^2].
    momentum
        K [N m s]: what v+ times (J + n^2 J_m) would be without drive, drag and dry friction.
    dt
        Length of the step [s].

    """
    turned = _turned(law, friction, c, inertia, momentum, dt)
    if abs(turned.torque * turned.speed) > law.power:
        sign, D = copysign(1.0, turned.torque), inertia + dt * c
        tau = _of_power(law.power, sign, momentum, friction, D, dt)
        return _turned(Law(tau, 0.0, -inf, inf, inf), friction, c, inertia, momentum, dt)
    return turned


def _turned(
    law: Law, friction: float, c: float, inertia: float, momentum: float, dt: float
) -> Turn:
    """Return what `turn` does, whatever the power is."""
    gain = dt / (inertia + dt * c)
    free = momentum / (inertia + dt * c)
    at_rest = min(max(law.torque, law.low), law.high)
    start = free + gain * at_rest  # the new speed of a drive at rest, without dry friction
    if abs(start) <= gain * friction:  # it sticks: friction takes all there is (D4)
        return Turn(0.0, at_rest, -(momentum / dt + at_rest))
    free -= copysign(gain * friction, start)
    stiff = 1.0 + gain * law.slope
    if stiff == inf:
        raise OverflowError
    # The speed follows from the torque, so that both belong together however stiff the law is.
    tau = min(max((law.torque - law.slope * free) / stiff, law.low), law.high)
    speed = free + gain * tau
    return Turn(speed, tau, -copysign(friction, start) - c * speed)


def _of_power(
    power: float, sign: float, momentum: float, friction: float, D: float, dt: float
) -> float:
    """
    Return the torque of a sign for which abs(tau v+) is the power: (D5).

    Of the two that brake so much, the weaker; friction opposes the turning in any case.
    """
    along, gain = sign * momentum / D, dt / D
    braked = along + gain * friction
    if braked < 0.0 and braked * braked >= 4.0 * gain * power:
        return sign * 2.0 * power / (sqrt(braked * braked - 4.0 * gain * power) - braked)
    driven = along - gain * friction
    root = sqrt(driven * driven + 4.0 * gain * power)
    if driven < 0.0:  # either form is exact where the other cancels
        return sign * (root - driven) / (2.0 * gain)
    return sign * 2.0 * power / (root + driven)
