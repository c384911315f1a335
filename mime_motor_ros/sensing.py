"""
From the state of a motor to what its sensors read.

Pure functions of floats, no clock, no ROS, no numpy. A quantity passes, in this order,

    true value -> low-pass -> bias -> noise -> quantisation -> fault,

an encoder quantisation and fault only. What has to be remembered is a `Reading`, which the caller
keeps; when a sample is due, and how late it is told, is the caller's too. The noise is a function
of seed, motor, quantity and number of the sample, so the same samples read the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import sha256
from math import cos, exp, floor, isfinite, isnan, log, nan, sqrt, tau
from typing import ClassVar, NamedTuple

from .errors import not_negative, ParameterError

MOST_COUNTS = 1_000_000_000
_64_BITS = 0xFFFF_FFFF_FFFF_FFFF
_32_BITS = 0xFFFF_FFFF
_34_BITS, _37_BITS, _33_BITS = 0x3_FFFF_FFFF, 0x1F_FFFF_FFFF, 0x1_FFFF_FFFF
_WHOLE = 2.0**53  # from here on every float is a whole number


@dataclass(frozen=True)
class Channel:
    """
    How one quantity is measured; without arguments, exactly.

    The unit is that of the quantity: a `Tachometer` and a `TorqueSensor` are channels.

    Parameters
    ----------
    noise : finite and >= 0
        Standard deviation of a sample, normally distributed, each sample anew.
    bias : finite
        Added to every sample.
    cutoff : f [Hz], finite and >= 0
        Of a first-order low-pass, which sees the samples only; 0: none.
    resolution : finite and >= 0
        Step of the quantisation, to the nearest; 0: none.

    Raises
    ------
    ParameterError
        If a value breaks its rule.

    """

    name: ClassVar[str] = 'channel'
    unit: ClassVar[str] = ''

    noise: float = 0.0
    bias: float = 0.0
    cutoff: float = 0.0
    resolution: float = 0.0

    def __post_init__(self) -> None:
        not_negative(f'{self.name}.noise', self.noise, self.unit)
        not_negative(f'{self.name}.cutoff', self.cutoff, 'Hz')
        not_negative(f'{self.name}.resolution', self.resolution, self.unit)
        if not isfinite(self.bias):
            unit = f' [{self.unit}]' if self.unit else ''
            raise ParameterError(f'{self.name}.bias', f'finite{unit}', self.bias)


def low_passed(channel: Channel, value: float, before: float, dt: float) -> float:
    """
    Return what the low-pass lets through of a value, exact for one held during ``dt`` [s].

    ``before`` is what it let through last; NaN: the filter starts settled.
    """
    if isnan(before) or not channel.cutoff:
        return value
    return value + (before - value) * exp(-tau * channel.cutoff * dt)


def sampled(channel: Channel, through: float, key: int, number: int) -> float:
    """Return the sample of a number made of what the low-pass let through."""
    value = through + channel.bias
    if channel.noise:
        value += channel.noise * normal(key, number)
    if channel.resolution:
        steps = value / channel.resolution
        if abs(steps) < _WHOLE:
            value = round(steps) * channel.resolution
    return value


class Tachometer(Channel):
    """The channel of the speed against the stator [rad/s]."""

    name, unit = 'tachometer', 'rad/s'


class TorqueSensor(Channel):
    """The channel of the torque [N m]."""

    name, unit = 'torque_sensor', 'N m'


@dataclass(frozen=True)
class Encoder:
    """
    An incremental encoder: it knows the angle as whole counts, and a speed from their changes.

    Parameters
    ----------
    counts : a whole number from 0 to 1000000000
        A turn, all edges counted; 0: no encoder.

    Raises
    ------
    ParameterError
        If it is no such number.

    """

    counts: int = 0

    def __post_init__(self) -> None:
        whole = isinstance(self.counts, int) and not isinstance(self.counts, bool)
        if not (whole and 0 <= self.counts <= MOST_COUNTS):
            rule = f'a whole number from 0 to {MOST_COUNTS} (counts a turn)'
            raise ParameterError('encoder.counts', rule, self.counts)


class Fault(Enum):
    """What is wrong with a measured quantity, on command."""

    NONE = 'none'
    STUCK = 'stuck'
    """Holds the last value before the fault; before any, the first it would have given."""
    OFF = 'off'
    """Reads 0.0, as an input without a signal."""
    DROP = 'drop'
    """Gives no sample at all: None."""


class Faults(NamedTuple):
    """A fault for each quantity; an encoder that fails is often two of them."""

    position: Fault = Fault.NONE
    speed: Fault = Fault.NONE
    torque: Fault = Fault.NONE


class Measured(NamedTuple):
    """What the sensors of a motor read; None where there is no sensor or no sample."""

    position: float | None = None
    """Angle of the encoder's count [rad], not wrapped."""
    speed: float | None = None
    """Against the stator [rad/s], of the tachometer or else of the encoder."""
    torque: float | None = None
    """[N m]."""


Sample = tuple[float, float, float]
"""Position, speed and torque; NaN for None."""
NO_SAMPLE: Sample = (nan, nan, nan)
NEVER = -(2**63)


class Reading(NamedTuple):
    """What is remembered from one sample to the next; a new one at the start and a reset."""

    samples: int = 0
    """How many were taken, lost ones too: the number of the next."""
    counted: int = NEVER
    """Of the encoder, at the last sample."""
    passed_speed: float = nan
    """Behind the tachometer's low-pass [rad/s]; NaN: nothing yet, as in the next two."""
    passed_torque: float = nan
    """Behind the torque sensor's low-pass [N m]."""
    healthy: Sample = NO_SAMPLE
    """Of each quantity, the last value without a fault."""


class Fitted(NamedTuple):
    """The sensors of a motor as numbers alone; a channel that is not there is one that could."""

    counts: int
    has_tachometer: bool
    tachometer: Channel
    has_torque: bool
    torque: Channel
    speed_key: int
    torque_key: int


@dataclass(frozen=True)
class Sensors:
    """
    The sensors of one motor.

    Parameters
    ----------
    encoder
        Measures the position, and without a tachometer the speed.
    tachometer
        Measures the speed; None: there is none.
    torque
        Measures the torque; None: there is none.
    seed
        Of the noise, any whole number.
    motor
        Its name, so that motors of one seed have noises of their own.

    """

    encoder: Encoder = Encoder()
    tachometer: Tachometer | None = None
    torque: TorqueSensor | None = None
    seed: int = 0
    motor: str = ''

    @cached_property
    def is_none(self) -> bool:
        """Tell whether nothing is measured."""
        return not self.encoder.counts and self.tachometer is None and self.torque is None

    @cached_property
    def fitted(self) -> tuple[bool, bool, bool]:
        """Tell of position, speed and torque whether a sensor is there."""
        encoder, tachometer = self.encoder.counts > 0, self.tachometer is not None
        return encoder, encoder or tachometer, self.torque is not None

    @cached_property
    def numbers(self) -> Fitted:
        """Return what a sample is made with."""
        seed, motor = self.seed, self.motor
        return Fitted(
            self.encoder.counts,
            self.tachometer is not None,
            self.tachometer or Channel(),
            self.torque is not None,
            self.torque or Channel(),
            noise_key(seed, motor, 'speed'),
            noise_key(seed, motor, 'torque'),
        )


NO_FAULTS = Faults()
NO_SENSORS = Sensors()


def noise_key(seed: int, motor: str, quantity: str) -> int:
    """Return the key of the noise of one quantity of one motor: 64 bits."""
    return int.from_bytes(sha256(f'{seed}/{motor}/{quantity}'.encode()).digest()[:8], 'big')


def normal(key: int, number: int) -> float:
    """
    Return a number of the standard normal distribution, the same for the same key and number.

    The bits are those of SplitMix64 (Steele2014), which reaches any number of its sequence at
    once; the transform is Box and Muller's with 32 bits each, so no value is beyond 6.8.
    """
    # Compiled, these are signed numbers of 64 bits; so what is shifted in has to be masked too.
    z = (key + number * 0x9E37_79B9_7F4A_7C15) & _64_BITS
    z = ((z ^ (z >> 30 & _34_BITS)) * 0xBF58_476D_1CE4_E5B9) & _64_BITS
    z = ((z ^ (z >> 27 & _37_BITS)) * 0x94D0_49BB_1331_11EB) & _64_BITS
    z ^= z >> 31 & _33_BITS
    first = z >> 32 & _32_BITS
    radius = sqrt(-2.0 * log((first + 0.5) * 2.0**-32))  # half a step off 0, which has no log
    return radius * cos((z & _32_BITS) * (tau * 2.0**-32))


def sense(
    sensors: Sensors,
    reading: Reading,
    angle: float,
    speed: float,
    torque: float,
    dt: float,
    faults: Faults = NO_FAULTS,
) -> tuple[Measured, Reading]:
    """
    Return what the sensors read of a state, and what to remember for the next sample.

    The speed of an encoder is what it counted since the last sample: the counts of all samples
    add up to those of the whole way, so it does not drift; the first sample has none. Filters,
    counts and noise run on below a fault, so that a motor reads after one as if none had been.

    Parameters
    ----------
    sensors
        Of the motor.
    reading
        What was remembered at the last sample.
    angle, speed
        Of the rotor against the stator [rad], not wrapped, and [rad/s].
    torque
        What a torque sensor there would feel [N m].
    dt
        Time since the last sample [s], > 0.
    faults
        As commanded.

    """
    given = new = sample(sensors.numbers, reading, angle, speed, torque, dt)
    told = given.healthy
    if faults != NO_FAULTS:
        told, healthy = zip(*map(_faulty, faults, given.healthy, reading.healthy), strict=True)
        new = given._replace(healthy=healthy)
    position, rate, felt = told
    return Measured(
        None if isnan(position) else position,
        None if isnan(rate) else rate,
        None if isnan(felt) else felt,
    ), new


def sample(
    fitted: Fitted, reading: Reading, angle: float, speed: float, torque: float, dt: float
) -> Reading:
    """Return what to remember of a sample without faults; what was read is ``healthy`` in it."""
    number, count = reading.samples, reading.counted
    position = rate = felt = passed_speed = passed_torque = nan
    counts = fitted.counts
    if counts:
        count = floor(angle * counts / tau)
        position = count * tau / counts
        if reading.counted != NEVER:
            rate = (count - reading.counted) * tau / (counts * dt)
    if fitted.has_tachometer:
        passed_speed = low_passed(fitted.tachometer, speed, reading.passed_speed, dt)
        rate = sampled(fitted.tachometer, passed_speed, fitted.speed_key, number)
    if fitted.has_torque:
        passed_torque = low_passed(fitted.torque, torque, reading.passed_torque, dt)
        felt = sampled(fitted.torque, passed_torque, fitted.torque_key, number)
    return Reading(number + 1, count, passed_speed, passed_torque, (position, rate, felt))


def _faulty(fault: Fault, value: float, healthy: float) -> tuple[float, float]:
    """Return what is read of a value, and the last healthy one."""
    if fault is Fault.NONE or isnan(value):
        return value, value
    if fault is Fault.STUCK:
        held = value if isnan(healthy) else healthy
        return held, held
    return (0.0 if fault is Fault.OFF else nan), healthy
