"""
The equations of one gyroscopic actuator: pure functions, no clock, no ROS, no numpy.

Frames: W world, M mount, S stator, R rotor; ``X_WS`` is the pose of S in W and a vector ends
with the frame it is expressed in. The numbers behind the lines are those of doc/equations.md.
All vectors that go in and come out are in world axes, SI units; quaternions are (x, y, z, w).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot, inf, isfinite, nan, sqrt
from typing import Any, NamedTuple

from .axial import drag, dry, Friction, Gear, Law, NO_FRICTION, NO_GEAR, turn
from .errors import ParameterError
from .imbalance import Imbalance
from .imbalance import reaction as unbalanced
from .vector import (
    add,
    apply,
    cross,
    dot,
    Matrix,
    multiply,
    normalized,
    Quaternion,
    rotate,
    scale,
    spun,
    subtract,
    turned,
    Vector,
)

ZERO: Vector = (0.0, 0.0, 0.0)
NONE: Matrix = (ZERO, ZERO, ZERO)


class Pose(NamedTuple):
    """A pose of one frame in another: position [m] and unit quaternion (x, y, z, w)."""

    position: Vector = ZERO
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)


class Wrench(NamedTuple):
    """A force [N] and a torque [N m]; which point they are taken about, the user of it says."""

    force: Vector = ZERO
    torque: Vector = ZERO


class MotorState(NamedTuple):
    """Angle relative to the stator, unwrapped, phi [rad]; absolute spin, Omega [rad/s]."""

    angle: float = 0.0
    spin: float = 0.0


class StepInputs(NamedTuple):
    """
    What one step is given, held over the step; vectors in world axes.

    Wrenches act on a link at the origin of its own frame.
    """

    mount: Pose = Pose()
    """Pose of the mount in the world, X_WM."""
    mount_angular_velocity: Vector = ZERO
    """omega [rad/s]."""
    torque: float = 0.0
    """Torque of the drive on the rotor, about the axis, tau [N m]."""
    stator_wrench: Wrench = Wrench()
    """Load on the stator, F_s [N], T_s [N m]."""
    rotor_wrench: Wrench = Wrench()
    """Load on the rotor, F_r [N], T_r [N m]."""
    law: Law | None = None
    """What the drive does instead of ``torque``, where that depends on the speed: (D1)."""
    drive_spin: float | None = None
    """Omega_m, absolute spin of the drive's own rotor behind a gear [rad/s]; None: as geared."""


class Step(NamedTuple):
    """What one step gives; vectors and tensors in world axes."""

    state: MotorState
    """Angle and spin at the end of the step: equations (6), (7)."""
    relative_speed: float
    """New spin against the stator, Omega - e.omega [rad/s]."""
    reaction: Wrench
    """Wrench on the mount about the mount's origin: equation (10)."""
    momentum: Vector
    """Spin momentum, H [N m s]: equation (11)."""
    asymmetry_now: Matrix
    """Asymmetry at the new angle, three rows [kg m^2]: equation (12)."""
    asymmetry_next: Matrix
    """Asymmetry one step on, three rows [kg m^2]: equation (12)."""
    stator: Pose
    """X_WS: equation (1)."""
    rotor: Pose
    """X_WR: equation (8)."""
    stator_angular_velocity: Vector
    """omega_s [rad/s]: equation (9)."""
    rotor_angular_velocity: Vector
    """omega_r [rad/s]: equation (9)."""
    gyroscopic_torque: Vector
    """T_g [N m]: equation (13)."""
    mount_wrench: Wrench
    """What a real mount would feel, about its origin: equation (14)."""
    load_torque: float
    """Load on the rotor about its axis, tau_l [N m]: equation (3)."""
    asymmetry_torque: float
    """Torque about the axis out of the asymmetry, tau_q [N m]: equation (5)."""
    torque: float
    """Torque of the drive on the rotor that acted, tau [N m]."""
    friction_torque: float
    """Torque of the bearing on the rotor, damping and all friction [N m]."""
    drive_spin: float
    """Omega_m+ of the drive's own rotor [rad/s], for the next step; without a gear the spin."""


@dataclass(frozen=True)
class MotorParameters:
    """
    The constants of one motor, checked here once; ``advance`` trusts them.

    Parameters
    ----------
    inertia : J [kg m^2], finite and > 0
        Of the rotor about its axis.
    damping : b [N m s], finite and >= 0
        Viscous, on the speed relative to the stator.
    axis : shape (3,), in the stator frame
        Any finite vector that is not zero; it is normalised.
    asymmetry : six numbers (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2], in the stator frame
        Q at angle 0, across the axis: abs(Q axis) <= 1e-9 abs(Q). Nine numbers, or three rows,
        are taken as well when they are symmetric.
    placement : Pose
        Of the stator on the mount, X_MS; its quaternion is normalised.
    friction : Friction
        Of the bearing, beside the damping.
    gear : Gear
        The drive's own rotor, where it turns faster than this one.
    imbalance : Imbalance or None
        What of the rotor's mass is off its axis.

    Raises
    ------
    ParameterError
        If a value breaks its rule.

    """

    inertia: float
    damping: float = 0.0
    axis: Vector = (0.0, 0.0, 1.0)
    asymmetry: tuple[float, float, float, float, float, float] = (0.0,) * 6
    placement: Pose = Pose()
    friction: Friction = NO_FRICTION
    gear: Gear = NO_GEAR
    imbalance: Imbalance | None = None
    _is_plain: bool = field(init=False, repr=False, compare=False)
    """Whether (6) is all there is about the axis."""
    _Q_S: Matrix | None = field(init=False, repr=False, compare=False)
    """Q as the equations use it; None where it is nothing, as most rotors are symmetric."""

    def __post_init__(self) -> None:
        inertia, damping = _number(self.inertia), _number(self.damping)
        if not 0.0 < inertia < inf:
            raise ParameterError('inertia', 'finite and > 0 kg m^2', _shown(self.inertia))
        if not 0.0 <= damping < inf:
            raise ParameterError('damping', 'finite and >= 0 N m s', _shown(self.damping))
        axis, six = _axis(self.axis), _six('asymmetry', self.asymmetry)
        Q = _rows(six)
        size = _size(Q)
        if not hypot(*apply(Q, axis)) <= 1e-9 * size < inf:
            rule = 'across the axis, |Q axis| <= 1e-9 |Q| kg m^2'
            hint = 'What lies along the axis is the inertia, and what tilts it is an imbalance.'
            raise ParameterError('asymmetry', rule, list(six), hint)
        placement = _placement(self.placement)
        for name, value in (
            ('inertia', inertia),
            ('damping', damping),
            ('axis', axis),
            ('asymmetry', six),
            ('placement', placement),
            ('_Q_S', Q if size > 0.0 else None),
            ('_is_plain', self.friction.is_none and not self.gear.inertia),
        ):
            object.__setattr__(self, name, value)

    @property
    def mean_asymmetry(self) -> float:
        """Return half the trace of the asymmetry [kg m^2]: the mean part, the mount's to carry."""
        return 0.5 * (self.asymmetry[0] + self.asymmetry[3] + self.asymmetry[5])


class RotorInertia(NamedTuple):
    """A full rotor inertia in its three parts [kg m^2]."""

    inertia: float
    """J, about the axis."""
    asymmetry: tuple[float, float, float, float, float, float]
    """Q, the difference between the directions across the axis (ixx, ixy, ixz, iyy, iyz, izz)."""
    transverse: float
    """The mean across the axis, which rides on the mount's link with the rotor's mass."""


def from_rotor_inertia(inertia: Sequence[float], axis: Sequence[float]) -> RotorInertia:
    """
    Split a full inertia of the rotor, I = J a a^T + m (1 - a a^T) + Q.

    Parameters
    ----------
    inertia : six numbers (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2]
        About the rotor's origin, in the stator frame at angle 0.
    axis : shape (3,)
        In the stator frame.

    Raises
    ------
    ParameterError
        If the axis is not a principal axis (an imbalance, which is given beside it), or
        no body can have this inertia.

    """
    six, a = _six('rotor_inertia', inertia), _axis(axis)
    I_S = _rows(six)
    size, I_a = _size(I_S), apply(I_S, a)
    J = dot(a, I_a)
    if not hypot(*subtract(I_a, scale(J, a))) <= 1e-9 * size:
        rule = 'of a rotor whose axis is a principal axis [kg m^2]'
        hint = 'A tilted one is an imbalance: give imbalance.dynamic.'
        raise ParameterError('rotor_inertia', rule, list(six), hint)
    m = 0.5 * (six[0] + six[3] + six[5] - J)
    Q = _across(_minus_mean(I_S, m), a)
    half = _size(Q) / sqrt(2.0)  # the two moments across the axis are m + half and m - half
    room = 1.0 + 1e-9
    if not (J > 0.0 and m > half and 2.0 * half <= J * room and 2.0 * m * room >= J):
        rule = 'positive, no principal moment above the sum of the two others [kg m^2]'
        raise ParameterError('rotor_inertia', rule, list(six))
    if half <= 1e-12 * size:  # rounding, not a rotor
        return RotorInertia(J, (0.0,) * 6, m)
    # Once more, or the rounding of J and m would be along the axis of a Q that is far smaller.
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = _across(Q, a)
    return RotorInertia(J, (xx, xy, xz, yy, yz, zz), m)


def compose(X_AB: Pose, X_BC: Pose) -> Pose:
    """Return X_AC, the pose of C in A."""
    position = add(X_AB.position, rotate(X_AB.orientation, X_BC.position))
    return Pose(position, multiply(X_AB.orientation, X_BC.orientation))


def advance(parameters: MotorParameters, state: MotorState, inputs: StepInputs, dt: float) -> Step:
    """
    Advance one motor by a step of ``dt`` seconds: equations (1) to (14).

    Semi-implicit Euler, first order. The inputs are held over the step; the damping acts on the
    new spin and the angle follows the new spin, so the step is stable for every dt. The mount's
    orientation is normalised here, since messages carry it to seven digits only.

    Raises
    ------
    ParameterError
        If dt is not finite and > 0 s.

    """
    if not 0.0 < dt < inf:
        raise ParameterError('dt', 'finite and > 0 s', dt)
    law = inputs.law
    if law is None and not parameters._is_plain:
        law = Law(inputs.torque)
    return advanced(parameters, parameters._Q_S, parameters.imbalance, law, state, inputs, dt)


def advanced(
    parameters: MotorParameters,
    Q_S: Matrix | None,
    imbalance: Imbalance | None,
    law: Law | None,
    state: MotorState,
    inputs: StepInputs,
    dt: float,
) -> Step:
    """
    Return what `advance` does, of what it has looked up; ``law`` None: (6) is all there is.

    What may be None is handed over by itself: compiled, a function is one for each kind of its
    arguments, and what it does with those it has not is left out.
    """
    J, b, a = parameters.inertia, parameters.damping, parameters.axis
    (x_WM, R_WM), w_W, tau, (F_s, T_s), (F_r, T_r), _, drive_spin = inputs
    x_MS, R_MS = parameters.placement
    R_WM = normalized(R_WM)

    x_WS = add(x_WM, rotate(R_WM, x_MS))  # (1)
    R_WS = multiply(R_WM, R_MS)  # (1)
    e_W = rotate(R_WS, a)  # (2)
    tau_l = dot(e_W, T_r)  # (3)
    w_e = dot(e_W, w_W)
    if Q_S is None:
        tau_q = 0.0
    else:
        Q_W = turned(spun(R_WS, a, state.angle), Q_S)  # (4)
        tau_q = dot(cross(w_W, e_W), apply(Q_W, w_W))  # (5)
    if law is None:
        spin = (J * state.spin + dt * (tau + tau_l + tau_q + b * w_e)) / (J + dt * b)  # (6)
        relative = spin - w_e
        tau_b, drive_spin, momentum = -b * relative, spin, J * spin
        axial = tau_l + (tau + tau_b + tau_q)
    else:
        relative, tau, tau_b, drive_spin, momentum, axial = _turn(
            parameters, state.spin, drive_spin, law, tau_l + tau_q, w_e, dt
        )
        spin = w_e + relative
    angle = state.angle + dt * relative  # (7)
    R_WR = spun(R_WS, a, angle)  # (8)
    w_WR = add(w_W, scale(relative, e_W))  # (9)

    F = add(F_s, F_r)  # (10)
    if imbalance is not None:
        spin_dot = (spin - state.spin) / dt
        off = unbalanced(imbalance, R_WR, e_W, w_W, relative, spin_dot)  # (D8)
        F, T_s = add(F, off.force), add(T_s, off.torque)
    arm = cross(subtract(x_WS, x_WM), F)
    T = (
        T_s[0] + T_r[0] - axial * e_W[0] + arm[0],
        T_s[1] + T_r[1] - axial * e_W[1] + arm[1],
        T_s[2] + T_r[2] - axial * e_W[2] + arm[2],
    )  # (10)
    H = scale(momentum, e_W)  # (11)
    if Q_S is None:
        Q_now = Q_next = NONE
        T_g = cross(H, w_W)  # (13)
    else:
        Q_now = turned(R_WR, Q_S)  # (12)
        Q_next = turned(spun(R_WS, a, angle + dt * relative), Q_S)  # (12)
        L = apply(Q_now, w_W)
        L_next = apply(Q_next, w_W)
        T_g = subtract(cross(add(H, L), w_W), scale(1.0 / dt, subtract(L_next, L)))  # (13)
    return Step(
        MotorState(angle, spin),
        relative,
        Wrench(F, T),
        H,
        Q_now,
        Q_next,
        Pose(x_WS, R_WS),
        Pose(x_WS, R_WR),
        w_W,
        w_WR,
        T_g,
        Wrench(F, add(T, T_g)),  # (14)
        tau_l,
        tau_q,
        tau,
        tau_b,
        drive_spin,
    )


def _turn(
    parameters: MotorParameters,
    spin: float,
    drive_spin: float | None,
    law: Law,
    load: float,
    w_e: float,
    dt: float,
) -> tuple[float, float, float, float, float, float]:
    """
    Return what (6) is with friction, a gear or the law of a drive: (D1) to (D6).

    That is v+, tau, the torque of the bearing, Omega_m+, the momentum about the axis and what
    the mount takes of torque about it.
    """
    J, friction, (n, J_m) = parameters.inertia, parameters.friction, parameters.gear
    speed = spin - w_e
    c = drag(friction, parameters.damping, speed)  # (D2)
    K = J * speed + dt * load
    if not J_m:
        v, tau, tau_b = turn(law, dry(friction, speed), c, J, K, dt)
        return v, tau, tau_b, w_e + n * v, J * (w_e + v), load + (tau + tau_b)
    before = w_e + n * speed if drive_spin is None else drive_spin
    K += n * J_m * (before - w_e)
    v, tau, tau_b = turn(law, dry(friction, speed), c, J + n * n * J_m, K, dt)
    after = w_e + n * v
    # What the gear's casing takes beside: the drive's rotor gains n - 1 times what reaches it.
    axial = load + tau + tau_b - (n - 1.0) * J_m * (after - before) / dt  # (D6)
    return v, tau, tau_b, after, J * (w_e + v) + J_m * after, axial


def _minus_mean(rows: Matrix, m: float) -> Matrix:
    """Return S - m 1."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rows
    return ((xx - m, xy, xz), (xy, yy - m, yz), (xz, yz, zz - m))


def _across(S: Matrix, a: Vector) -> Matrix:
    """Return P S P for a symmetric S, where P = 1 - a a^T takes off what lies along the axis."""
    along = apply(S, a)
    both = dot(a, along)
    rows = [
        [S[i][j] - a[i] * along[j] - along[i] * a[j] + both * a[i] * a[j] for j in range(3)]
        for i in range(3)
    ]
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rows
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def _number(value: Any) -> float:
    """Return a real number as a float, and what is none as NaN, which every rule refuses."""
    if isinstance(value, (str, bytes)) or type(value).__name__ in ('bool', 'bool_'):  # or numpy's
        return nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return nan


def _shown(value: Any) -> Any:
    """Return a value as an error shows it, on one line: text in quotes, sequences as lists."""
    if isinstance(value, str):
        return repr(value)
    if hasattr(value, 'tolist'):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _shape(value: Any) -> tuple[int, ...]:
    """Return the lengths of numbers in rows, as numpy does; -1 for rows of different lengths."""
    try:
        rows = {_shape(part) for part in value} if not isinstance(value, (str, bytes)) else {()}
        return (len(value), *(rows.pop() if len(rows) == 1 else (-1,)))
    except TypeError:  # no length, so a number
        return ()


def _numbers(value: Any) -> tuple[float, ...]:
    """Return a flat tuple of floats out of numbers or rows of numbers."""
    if _shape(value) == () or isinstance(value, (str, bytes)):
        return (_number(value),)
    return tuple(number for part in value for number in _numbers(part))


def _axis(value: Any) -> Vector:
    numbers = _numbers(value)
    if _shape(value) != (3,) or not all(map(isfinite, numbers)):
        raise ParameterError('axis', '3 finite numbers', _shown(value))
    if not hypot(*numbers) > 1e-9:
        raise ParameterError('axis', 'longer than 1e-9: a direction', _shown(value))
    largest = max(map(abs, numbers))
    x, y, z = (number / largest for number in numbers)  # so that no square overflows
    length = sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def _six(name: str, value: Any) -> tuple[float, float, float, float, float, float]:
    numbers = _numbers(value)
    if _shape(value) not in ((6,), (9,), (3, 3)) or not all(map(isfinite, numbers)):
        rule = '6 finite numbers ixx ixy ixz iyy iyz izz, or 9 in rows [kg m^2]'
        raise ParameterError(name, rule, _shown(value))
    if len(numbers) == 6:
        xx, xy, xz, yy, yz, zz = numbers
        return (xx, xy, xz, yy, yz, zz)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = numbers
    apart = max(abs(xy - yx), abs(xz - zx), abs(yz - zy))
    if not apart <= 1e-9 * max(map(abs, numbers)):
        raise ParameterError(name, 'symmetric [kg m^2]', _shown(value))
    return (xx, xy, xz, yy, yz, zz)


def _rows(six: tuple[float, ...]) -> Matrix:
    xx, xy, xz, yy, yz, zz = six
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def _size(rows: Matrix) -> float:
    """Return the Frobenius norm of a matrix."""
    return hypot(*(x for row in rows for x in row))


def _placement(value: Any) -> Pose:
    try:
        first, second = value
    except (TypeError, ValueError):
        rule = 'a pose: a position [m] and a quaternion (x, y, z, w)'
        raise ParameterError('placement', rule, _shown(value)) from None
    position, orientation = _numbers(first), _numbers(second)
    if len(position) != 3 or not all(map(isfinite, position)):
        rule = 'a pose with a position of 3 finite numbers [m]'
        raise ParameterError('placement', rule, _shown(first))
    if len(orientation) != 4 or not abs(hypot(*orientation) - 1.0) <= 1e-2:
        rule = 'a pose with a quaternion (x, y, z, w) of length 1'
        raise ParameterError('placement', rule, _shown(second))
    (px, py, pz), (x, y, z, w) = position, orientation
    return Pose((px, py, pz), normalized((x, y, z, w)))
