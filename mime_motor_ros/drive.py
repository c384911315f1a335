"""
From a command to the torque that acts: modes, gains and limits of the drive of one motor.

Pure functions and frozen parameters; no clock, no ROS, no numpy. What a drive wants is an affine
law of the speed at the end of the step, `axial.Law`, so gains may be as stiff as one likes; its
limits are bounds of the torque, applied in one order (doc/drives.md): slew rate, torque, current,
speed, power, and at last the limit that all motors of a mount share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag
from functools import cached_property
from math import inf, isnan, nan, sqrt
from typing import NamedTuple

from .axial import Law
from .errors import not_negative, ParameterError, positive
from .winding import derating, NO_WINDING, resistance, temperature_after, Winding

MODES = ('torque', 'velocity', 'position', 'integrated_velocity', 'voltage', 'damper')
TORQUE, VELOCITY, POSITION, INTEGRATED, VOLTAGE, DAMPER = range(6)  # their numbers


class Active(IntFlag):
    """Which limits act, as a bit field; the name of each is what is said of it."""

    COMMAND_RANGE = 1
    DEAD_ZONE = 2
    SLEW_RATE = 4
    TORQUE_LIMIT = 8
    CURRENT_LIMIT = 16
    SUPPLY_VOLTAGE = 32
    SPEED_LIMIT = 64
    POWER_LIMIT = 128
    MOUNT_TORQUE_LIMIT = 256
    GROUP_OFF = 512
    WINDING_TEMPERATURE = 1024

    @property
    def words(self) -> str:
        """Return the names of all that act, in words."""
        return ', '.join(str(one.name).lower().replace('_', ' ') for one in Active if one in self)


# As plain numbers, which is what a step counts with: a flag takes 0.3 us to be joined to another.
(
    COMMAND_RANGE,
    DEAD_ZONE,
    SLEW_RATE,
    TORQUE_LIMIT,
    CURRENT_LIMIT,
    SUPPLY_VOLTAGE,
    SPEED_LIMIT,
    POWER_LIMIT,
    MOUNT_TORQUE_LIMIT,
    GROUP_OFF,
    WINDING_TEMPERATURE,
) = map(int, Active)
DERATED = TORQUE_LIMIT | CURRENT_LIMIT
"""The limits of which a warm winding leaves less."""
BOUNDING = (SLEW_RATE, TORQUE_LIMIT, CURRENT_LIMIT, SPEED_LIMIT, POWER_LIMIT)
"""The limits that are bounds of the torque, in the order in which they are applied."""
UNBOUNDED = (-inf, inf)
UNUSED_TEMPERATURE = NO_WINDING.ambient


class Gains(NamedTuple):
    """Gains on an error of speed or angle; torques [N m]."""

    proportional: float = 0.0
    """[N m s] of a speed, [N m] of an angle (a radian)."""
    integral: float = 0.0
    """[N m] of a speed, [N m/s] of an angle."""
    derivative: float = 0.0
    """[N m s], of an angle."""


@dataclass(frozen=True)
class Armature:
    """
    A DC motor behind a gear: V = R i + L di/dt + Ke n v, tau = n eta Kt i.

    Parameters
    ----------
    resistance : R [ohm], finite and > 0
    inductance : L [H], finite and >= 0
    torque_constant : Kt [N m/A], finite and > 0
    back_emf : Ke [V s], finite and >= 0
    efficiency : eta, of the gear, > 0 and <= 1; it takes while the drive drives
    supply : [V], > 0
    current : limit of abs(i) [A], > 0

    """

    resistance: float
    torque_constant: float
    back_emf: float
    inductance: float = 0.0
    efficiency: float = 1.0
    supply: float = inf
    current: float = inf

    def __post_init__(self) -> None:
        not_negative('resistance', self.resistance, 'ohm')
        not_negative('inductance', self.inductance, 'H')
        positive('torque_constant', self.torque_constant, 'N m/A')
        not_negative('back_emf', self.back_emf, 'V s')
        if not 0.0 < self.efficiency <= 1.0:
            raise ParameterError('efficiency', '> 0 and <= 1', self.efficiency)
        if self.resistance == 0.0:
            rule = '> 0 ohm: without it the current of a held voltage would grow for ever'
            raise ParameterError('resistance', rule, self.resistance)


NO_ARMATURE = Armature(1.0, 1.0, 0.0)
"""In the place of one; it limits nothing."""


def torque_over_current(armature: Armature, ratio: float, drives: bool) -> float:
    """Return n eta Kt [N m/A] while it drives, and n Kt / eta while it brakes."""
    share = armature.efficiency if drives else 1.0 / armature.efficiency
    return ratio * armature.torque_constant * share


def from_datasheet(
    nominal_voltage: float, stall_torque: float, no_load_speed: float, no_load_current: float
) -> tuple[float, float, float]:
    """
    Return R [ohm], Kt [N m/A] and Ke [V s] out of four figures of a data sheet.

    V = R i0 + K w0 with one K for both constants, and the stall torque K (V / R - i0): what the
    current without load overcomes does not reach the shaft.

    Raises
    ------
    ParameterError
        If no motor has these figures.

    """
    V, T, w0, i0 = nominal_voltage, stall_torque, no_load_speed, no_load_current
    positive('nominal_voltage', V, 'V')
    positive('stall_torque', T, 'N m')
    positive('no_load_speed', w0, 'rad/s')
    not_negative('no_load_current', i0, 'A')
    # K = (V - R i0) / w0 into T = K (V / R - i0) = (V - R i0)^2 / (w0 R): a quadratic in R, of
    # which the smaller root is the motor (its no-load current is far below that of its stall).
    try:
        half = V * i0 + 0.5 * w0 * T
        R = V * V / (half + sqrt(half * half - (V * i0) ** 2))  # no difference of like numbers
        K = (V - R * i0) / w0
    except ArithmeticError:
        R = K = inf
    if not (0.0 < R < inf and 0.0 < K < inf):
        raise ParameterError('stall_torque', 'that of a motor with the other three figures', T)
    return R, K, K


@dataclass(frozen=True)
class Drive:
    """
    What turns commands into torque; limits of inf are none.

    Parameters
    ----------
    mode : one of MODES
        What a command is: N m, rad/s, rad, rad/s (integrated), V or N m s.
    velocity, position : Gains
        Of the modes `velocity`, and `position` and `integrated_velocity`.
    armature : Armature or None
        Needed by the mode `voltage`.
    winding : Winding
        How warm the armature is: its resistance, and what is left of torque and current limit.
    ratio : n
        Of the gear between the armature and the rotor.
    target_range : (low, high) [rad]
        What an integrated target is clamped to.
    command_limit : in the unit of the mode, > 0
    dead_zone : [N m], >= 0
        Torque below which the drive gives none.
    slew_rate : [N m/s], torque_limit : [N m], speed_limit : [rad/s], power_limit : [W], all > 0

    """

    mode: str = 'torque'
    velocity: Gains = Gains()
    position: Gains = Gains()
    armature: Armature | None = None
    ratio: float = 1.0
    target_range: tuple[float, float] = (-inf, inf)
    command_limit: float = inf
    dead_zone: float = 0.0
    slew_rate: float = inf
    torque_limit: float = inf
    speed_limit: float = inf
    power_limit: float = inf
    winding: Winding = NO_WINDING
    number: int = field(init=False, repr=False, compare=False)
    """Of the mode."""
    has_armature: bool = field(init=False, repr=False, compare=False)
    circuit: Armature = field(init=False, repr=False, compare=False)
    """The armature, or what stands for none."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ParameterError('mode', f'one of {", ".join(MODES)}', repr(self.mode))
        if self.mode == 'voltage' and self.armature is None:
            hint = 'Give voltage.resistance and voltage.torque_constant, or the data sheet.'
            raise ParameterError('mode', 'another one without an armature', "'voltage'", hint)
        if not self.winding.is_none and self.armature is None:
            rule = '0 K/W without an armature, whose current is what heats'
            hint = 'Give voltage.resistance and voltage.torque_constant, or the data sheet.'
            value = self.winding.thermal_resistance
            raise ParameterError('winding.thermal_resistance', rule, value, hint)
        current = inf if self.armature is None else self.armature.current
        if self.winding.limit < inf and self.torque_limit == current == inf:
            rule = '0 deg C (none) without a limit of torque or current that it could make smaller'
            hint = 'Give limit.torque or voltage.current_limit.'
            raise ParameterError('winding.limit', rule, self.winding.limit, hint)
        derived: tuple[tuple[str, object], ...] = (
            ('number', MODES.index(self.mode)),
            ('has_armature', self.armature is not None),
            ('circuit', NO_ARMATURE if self.armature is None else self.armature),
        )
        for name, of_it in derived:
            object.__setattr__(self, name, of_it)

    @cached_property
    def is_plain(self) -> bool:
        """Tell whether a command is the torque, with nothing in between."""
        return self == PLAIN


PLAIN = Drive()


class Setpoint(NamedTuple):
    """A command as a whole; the value is in the unit of the mode."""

    value: float
    velocity: float = 0.0
    """Fed forward [rad/s], in the modes of angle."""
    torque: float = 0.0
    """Fed forward [N m], in the modes of speed and angle."""


COMMANDED_BY = {
    'velocity': 'velocities',
    'integrated_velocity': 'velocities',
    'position': 'positions',
}
"""Which numbers of a command by joint a mode needs; the others need efforts."""


def commanded(mode: str, effort: float, velocity: float, position: float) -> Setpoint:
    """Return the set point of a mode out of a command by joint; what is not its own is fed."""
    if mode == 'position':
        return Setpoint(position, velocity, effort)
    if mode in COMMANDED_BY:
        return Setpoint(velocity, 0.0, effort)
    return Setpoint(effort)


class DriveState(NamedTuple):
    """What a drive remembers from step to step."""

    integral: float = 0.0
    """Of the gains [N m]."""
    target: float = nan
    """Of an integrated velocity [rad]; NaN: where the rotor is."""
    current: float = 0.0
    """i [A]."""
    torque: float = 0.0
    """tau of the step before [N m]."""
    voltage: float = 0.0
    """V of the step before [V]."""
    active: int = 0
    """The limits that act: `Active`, as a number."""
    temperature: float = UNUSED_TEMPERATURE
    """Of the winding [deg C]."""


def at_rest(drive: Drive) -> DriveState:
    """Return the state of a drive that has not been used."""
    return DriveState(temperature=drive.winding.ambient)


Bound = tuple[float, float]
Bounds = tuple[Bound, Bound, Bound, Bound, Bound]
"""Low and high [N m], in the order of BOUNDING."""


class Wanted(NamedTuple):
    """The law of one step, before and with its limits, and what it was made of."""

    free: Law
    bounded: Law
    setpoint: Setpoint
    """Its value is NaN where the drive is off."""
    target: float
    """Of an angle [rad]; NaN in the other modes."""
    bounds: Bounds
    active: int
    k: float
    """tau over i [N m/A] of an armature, 0 without."""


OFF = Wanted(Law(0.0), Law(0.0), Setpoint(nan), nan, (UNBOUNDED,) * 5, 0, 0.0)


def wanted(
    drive: Drive,
    state: DriveState,
    setpoint: Setpoint | None,
    angle: float,
    speed: float,
    dt: float,
) -> Wanted:
    """
    Return what the drive does in a step: None as set point switches it off, torque 0.

    ``angle`` [rad] and ``speed`` [rad/s] are against the stator, at the beginning of the step.
    """
    if setpoint is None:
        return OFF
    value, active = setpoint.value, 0
    most = drive.command_limit
    if drive.number == VOLTAGE:
        if abs(value) > drive.circuit.supply:
            active |= SUPPLY_VOLTAGE
        most = min(most, drive.circuit.supply)
    if abs(value) > most:
        if abs(value) > drive.command_limit:
            active |= COMMAND_RANGE
        value = min(max(value, -most), most)
    if drive.number == DAMPER and value < 0.0:  # it would drive
        value, active = 0.0, active | COMMAND_RANGE
    within = Setpoint(value, setpoint.velocity, setpoint.torque)
    torque, slope, target, k = _law(drive, state, within, angle, speed, dt)
    tau = torque - slope * speed
    if drive.dead_zone and abs(tau) < drive.dead_zone:
        torque, slope, active = 0.0, 0.0, active | DEAD_ZONE
    if drive.has_armature and not k:
        k = torque_over_current(drive.circuit, drive.ratio, tau * speed >= 0.0)
    bounds = _bounds(drive, state, speed, dt, k)
    low, high = -inf, inf
    for least, most in bounds:
        if least > -inf or most < inf:
            low, high = min(max(low, least), most), max(min(high, most), least)
    free = Law(torque, slope, -inf, inf, inf)
    bounded = Law(torque, slope, low, high, drive.power_limit)
    return Wanted(free, bounded, within, target, bounds, active, k)


def _law(
    drive: Drive, state: DriveState, setpoint: Setpoint, angle: float, speed: float, dt: float
) -> tuple[float, float, float, float]:
    """Return the law without limits, the target of an angle, and k of the mode `voltage`."""
    value, forward, torque = setpoint
    if drive.number == TORQUE:
        return value, 0.0, nan, 0.0
    if drive.number == DAMPER:
        return 0.0, value, nan, 0.0
    if drive.number == VELOCITY:
        gain = drive.velocity.proportional + dt * drive.velocity.integral
        return gain * value + state.integral + torque, gain, nan, 0.0
    if drive.number == VOLTAGE:
        a, n = drive.circuit, drive.ratio
        D = a.inductance + dt * resistance(drive.winding, a.resistance, state.temperature)
        pushed = a.inductance * state.current + dt * value  # D i+ of a rotor at rest
        drives = (pushed - dt * a.back_emf * n * speed) * n * speed >= 0.0
        k = torque_over_current(a, n, drives)
        return k * pushed / D, k * dt * a.back_emf * n / D, nan, k
    target = value
    if drive.number == INTEGRATED:
        low, high = drive.target_range
        before = angle if isnan(state.target) else state.target
        # One that begins outside is not pulled in at once: it only goes no farther out.
        target = min(max(before + dt * value, min(low, before)), max(high, before))
        forward = (target - before) / dt
    p, i, d = drive.position
    gain = p + dt * i
    tau = gain * (target - angle) + d * forward + state.integral + torque
    return tau, gain * dt + d, target, 0.0


def _bounds(drive: Drive, state: DriveState, speed: float, dt: float, k: float) -> Bounds:
    """Return the bounds of the torque in the order in which they are applied: a later one wins."""
    slew = torque = current = spin = power = UNBOUNDED
    if drive.slew_rate < inf:
        room = drive.slew_rate * dt
        slew = (state.torque - room, state.torque + room)
    left = derating(drive.winding, state.temperature)
    if drive.torque_limit < inf:
        most = left * drive.torque_limit
        torque = (-most, most)
    if drive.circuit.current < inf:
        most = left * abs(k) * drive.circuit.current
        current = (-most, most)
    if speed >= drive.speed_limit:
        spin = (-inf, 0.0)
    elif speed <= -drive.speed_limit:
        spin = (0.0, inf)
    if drive.power_limit < inf and speed:  # at the old speed; at the new one it is in the law
        most = drive.power_limit / abs(speed)
        power = (-most, most)
    return (slew, torque, current, spin, power)


def after(
    drive: Drive,
    state: DriveState,
    made: Wanted,
    torque: float,
    angle: float,
    speed: float,
    dt: float,
    shared: bool = False,
) -> DriveState:
    """
    Return what the drive remembers of a step that ended with this torque, angle and speed.

    ``shared``: whether the torque was made smaller for the limit that all of a mount share.
    """
    value = made.setpoint.value
    if isnan(value):  # off: nothing is carried over but the warmth
        return _electrical(drive, state, 0.0, nan, torque, 0, 0.0, speed, dt)
    unlimited = made.free.torque - made.free.slope * speed
    active = made.active
    full = abs(torque * speed) >= drive.power_limit * (1.0 - 1e-9)
    is_limited = full or shared or not made.bounded.low < torque < made.bounded.high
    if is_limited:
        active |= _acting(drive, made.bounds, unlimited, speed)
        if active & DERATED and derating(drive.winding, state.temperature) < 1.0:
            active |= WINDING_TEMPERATURE
    if shared:
        active |= MOUNT_TORQUE_LIMIT
    integral = state.integral
    if drive.number == VELOCITY:
        error, gain = value - speed, drive.velocity.integral
    else:
        aim = angle if isnan(made.target) else made.target
        error, gain = aim - angle, drive.position.integral
    # Behind a limit the integral only unwinds.
    excess = unlimited - torque if is_limited else 0.0
    if VELOCITY <= drive.number <= INTEGRATED and excess * error <= 0.0:
        integral += dt * gain * error
    target = made.target
    if drive.number == INTEGRATED and excess * value > 0.0:
        target = state.target  # nor does this run ahead
    kept = integral if gain else 0.0
    return _electrical(drive, state, kept, target, torque, active, made.k, speed, dt)


def _acting(drive: Drive, bounds: Bounds, unlimited: float, speed: float) -> int:
    """Return which limits of a drive take something of a torque, one after the other."""
    acting, left = 0, unlimited
    for i in range(len(bounds)):
        low, high = bounds[i]
        within = min(max(left, low), high)
        if within != left:
            acting, left = acting | BOUNDING[i], within
    if abs(left * speed) > drive.power_limit * (1.0 + 1e-9):
        acting |= POWER_LIMIT
    return acting


def _electrical(
    drive: Drive,
    old: DriveState,
    integral: float,
    target: float,
    torque: float,
    active: int,
    k: float,
    speed: float,
    dt: float,
) -> DriveState:
    """
    Return a state with what its torque needs of current and voltage, and how warm that makes.

    V = R i + L di/dt + Ke n v, in every mode; without current the armature is open.
    """
    if not drive.has_armature:
        return DriveState(integral, target, 0.0, torque, 0.0, active, UNUSED_TEMPERATURE)
    a = drive.circuit
    R = resistance(drive.winding, a.resistance, old.temperature)
    current = torque / k if k else 0.0
    change = (current - old.current) / dt if k else 0.0
    voltage = R * current + a.inductance * change + a.back_emf * drive.ratio * speed
    temperature = temperature_after(drive.winding, old.temperature, R * current * current, dt)
    return DriveState(integral, target, current, torque, voltage, active, temperature)


def taken_over(drive: Drive, torque: float, speed: float, temperature: float) -> DriveState:
    """Return the state of a drive that comes to a torque [N m] from another way of giving it."""
    current = 0.0
    if drive.armature is not None:
        k = torque_over_current(drive.armature, drive.ratio, torque * speed >= 0.0)
        current = torque / k if k else 0.0  # a product of tiny numbers may be none
    return DriveState(torque=torque, current=current, temperature=temperature)


def switched(
    drive: Drive, state: DriveState, angle: float, speed: float, dt: float
) -> tuple[Setpoint, DriveState]:
    """
    Return the set point and state with which a mode begins without a step of the torque.

    The set point is where the rotor is, of an angle at the end of the next step of ``dt`` [s].
    What the torque was is carried by the integral, so a mode without an integral gain begins
    with what its gains give there; a damper cannot drive, and no limit is passed by.
    """
    torque = state.torque
    fresh = taken_over(drive, torque, speed, state.temperature)
    if drive.mode == 'torque':
        return Setpoint(torque), fresh
    if drive.mode == 'damper':
        against = -torque / speed if speed and torque * speed < 0.0 else 0.0
        return Setpoint(against), fresh
    if drive.mode == 'voltage' and drive.armature is not None:
        a = drive.armature
        R = resistance(drive.winding, a.resistance, state.temperature)
        return Setpoint(R * fresh.current + a.back_emf * drive.ratio * speed), fresh
    if drive.mode == 'velocity':
        kept = torque if drive.velocity.integral else 0.0
        return Setpoint(speed), fresh._replace(integral=kept)
    # Set at the angle, so that no gain acts but the derivative, which the integral carries too.
    if drive.mode == 'integrated_velocity':
        kept = torque if drive.position.integral else 0.0
        return Setpoint(speed), fresh._replace(integral=kept, target=angle)
    kept = torque + drive.position.derivative * speed if drive.position.integral else 0.0
    return Setpoint(angle + dt * speed), fresh._replace(integral=kept)
