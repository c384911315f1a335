"""
The loop of a rollout: one motor over many steps, by the functions that a session steps with.

Plain Python, on lists, or compiled, on arrays: what may be None here is left out when compiled.
"""

from __future__ import annotations

from math import inf, isnan, nan, sin
from typing import Any, NamedTuple

from .axial import Law
from .drive import after, DriveState, OFF, Setpoint, wanted
from .energy import Exchange, exchanged
from .model import advanced, MotorState, Pose, Step, StepInputs, Wrench
from .sensing import Reading, sample
from .vector import add, dot, multiply, normalized, rotate, scale, Vector


class State(NamedTuple):
    """Where a motor is between two steps."""

    motor: MotorState
    drive: DriveState = DriveState()
    reading: Reading = Reading()
    drive_spin: float = nan
    """Of the drive's own rotor behind a gear [rad/s]; NaN: as geared."""
    energy: Exchange = Exchange()
    """Sums since the rollout began that counted first; counted where one of them is kept."""


class Given(NamedTuple):
    """Rows of inputs, one behind the other; of the first four one a step, or one for all."""

    dts: Any
    poses: Any
    rates: Any
    loads: Any
    commands: Any
    moment: float
    """Of gravity [N m]."""
    phase: float


class Kept(NamedTuple):
    """Arrays of what is kept; of length 0 where it is not."""

    angle: Any
    spin: Any
    speed: Any
    torque: Any
    friction_torque: Any
    load_torque: Any
    current: Any
    voltage: Any
    temperature: Any
    limits: Any
    measured_position: Any
    measured_speed: Any
    measured_torque: Any
    work: Any
    dissipated: Any
    stored: Any


class Vectors(NamedTuple):
    """The same of rows of numbers, one behind the other."""

    momentum: Any
    reaction: Any
    mount_wrench: Any
    rotor: Any


def run(
    model: Any,
    Q_S: Any,
    imbalance: Any,
    drive: Any,
    is_free: bool,
    sensors: Any,
    state: State,
    given: Given,
    kept: Kept,
    vectors: Vectors | None,
    every: int,
) -> State:
    """
    Take all steps of a motor, put what is kept into the arrays, and return its last state.

    Without a ``drive`` a command is the torque, and (6) all there is about the axis; ``is_free``
    says of one with a drive that a command is the torque nevertheless.
    """
    motor, drove, reading, drive_spin, energy = state
    dts, poses, rates, loads, commands, moment, phase = given
    a, b, c, d = _stride(dts, 1), _stride(poses, 7), _stride(rates, 3), _stride(loads, 12)
    counts = len(kept.work) + len(kept.dissipated) + len(kept.stored) > 0
    for i in range(len(commands)):
        dt, command = dts[a * i], commands[i]
        k = b * i
        x_WM = (poses[k], poses[k + 1], poses[k + 2])
        pose = Pose(x_WM, (poses[k + 3], poses[k + 4], poses[k + 5], poses[k + 6]))
        k = c * i
        rate = (rates[k], rates[k + 1], rates[k + 2])
        k = d * i
        F_s, T_s = (
            (loads[k], loads[k + 1], loads[k + 2]),
            (loads[k + 3], loads[k + 4], loads[k + 5]),
        )
        k += 6
        F_r, T_r = (
            (loads[k], loads[k + 1], loads[k + 2]),
            (loads[k + 3], loads[k + 4], loads[k + 5]),
        )
        if moment != 0.0:
            e_W = rotate(
                multiply(normalized(pose.orientation), model.placement.orientation), model.axis
            )
            T_r = add(T_r, scale(-moment * sin(motor.angle - phase), e_W))
        stator, rotor = Wrench(F_s, T_s), Wrench(F_r, T_r)
        step, drove, turned, drive_spin = _step(
            model, Q_S, imbalance, drive, is_free, motor, drove, drive_spin,
            pose, rate, command, stator, rotor, dt,
        )  # fmt: skip
        if counts:
            energy = _counted(energy, model, motor.spin, turned, step, dt)
        motor = step.state
        if sensors is not None:
            reading = sample(sensors, reading, motor.angle, step.relative_speed, step.torque, dt)
        if i % every == 0:
            _keep(kept, i // every, step, drove, reading, energy)
            if vectors is not None:
                _keep_vectors(vectors, i // every, step)
    return State(motor, drove, reading, drive_spin, energy)


def _stride(rows: Any, width: int) -> int:
    return width if len(rows) > width else 0


def _step(
    model: Any,
    Q_S: Any,
    imbalance: Any,
    drive: Any,
    is_free: bool,
    motor: MotorState,
    drove: DriveState,
    drive_spin: float,
    pose: Pose,
    rate: Vector,
    command: float,
    stator: Wrench,
    rotor: Wrench,
    dt: float,
) -> tuple[Step, DriveState, float, float]:
    """Take one step; return it, the drive, and the spin of the drive's rotor before and after."""
    torque = 0.0 if isnan(command) else command
    if drive is None:
        inputs = StepInputs(pose, rate, torque, stator, rotor, None, None)
        step = advanced(model, Q_S, imbalance, None, motor, inputs, dt)
        return step, drove, drive_spin, drive_spin
    made = OFF
    law = Law(torque, 0.0, -inf, inf, inf)
    if not is_free:
        about = dot(
            rotate(multiply(pose.orientation, model.placement.orientation), model.axis), rate
        )
        speed = motor.spin - about
        if isnan(drive_spin):
            drive_spin = about + model.gear.ratio * speed
        if not isnan(command):
            setpoint = Setpoint(command, 0.0, 0.0)
            made = wanted(drive, drove, setpoint, motor.angle, speed, dt)
        law = made.bounded
    inputs = StepInputs(pose, rate, 0.0, stator, rotor, law, drive_spin)
    before, step = drive_spin, advanced(model, Q_S, imbalance, law, motor, inputs, dt)
    if not is_free:
        drove = after(
            drive, drove, made, step.torque, step.state.angle, step.relative_speed, dt, False
        )
        drive_spin = step.drive_spin
    return step, drove, before, drive_spin


def _counted(
    sums: Exchange, model: Any, old: float, drive_spin: float, step: Step, dt: float
) -> Exchange:
    work, heat, gain = exchanged(model, old, drive_spin, step, dt)
    return Exchange(sums.work + work, sums.dissipated + heat, sums.stored + gain)


def _keep(
    kept: Kept, k: int, step: Step, drove: DriveState, reading: Reading, energy: Exchange
) -> None:
    if len(kept.angle):
        kept.angle[k] = step.state.angle
    if len(kept.spin):
        kept.spin[k] = step.state.spin
    if len(kept.speed):
        kept.speed[k] = step.relative_speed
    if len(kept.torque):
        kept.torque[k] = step.torque
    if len(kept.friction_torque):
        kept.friction_torque[k] = step.friction_torque
    if len(kept.load_torque):
        kept.load_torque[k] = step.load_torque
    if len(kept.current):
        kept.current[k] = drove.current
    if len(kept.voltage):
        kept.voltage[k] = drove.voltage
    if len(kept.temperature):
        kept.temperature[k] = drove.temperature
    if len(kept.limits):
        kept.limits[k] = drove.active
    position, speed, torque = reading.healthy
    if len(kept.measured_position):
        kept.measured_position[k] = position
    if len(kept.measured_speed):
        kept.measured_speed[k] = speed
    if len(kept.measured_torque):
        kept.measured_torque[k] = torque
    if len(kept.work):
        kept.work[k] = energy.work
    if len(kept.dissipated):
        kept.dissipated[k] = energy.dissipated
    if len(kept.stored):
        kept.stored[k] = energy.stored


def _keep_vectors(vectors: Vectors, k: int, step: Step) -> None:
    if len(vectors.momentum):
        _put(vectors.momentum, 3 * k, step.momentum)
    if len(vectors.reaction):
        _put(vectors.reaction, 6 * k, step.reaction.force)
        _put(vectors.reaction, 6 * k + 3, step.reaction.torque)
    if len(vectors.mount_wrench):
        _put(vectors.mount_wrench, 6 * k, step.mount_wrench.force)
        _put(vectors.mount_wrench, 6 * k + 3, step.mount_wrench.torque)
    if len(vectors.rotor):
        _put(vectors.rotor, 7 * k, step.rotor.position)
        _put(vectors.rotor, 7 * k + 3, step.rotor.orientation)


def _put(rows: Any, start: int, values: tuple[float, ...]) -> None:
    for j in range(len(values)):
        rows[start + j] = values[j]


HELPERS = (_stride, _step, _counted, _keep, _keep_vectors, _put)
