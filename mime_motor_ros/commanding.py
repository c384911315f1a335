"""How far commands to a motor reach that somebody gives by hand, and in which unit."""

from __future__ import annotations

from math import inf, pi

from .picture import USUAL_SPIN, USUAL_TIME
from .settings import MotorSettings

UNITS = {
    'torque': 'N m',
    'velocity': 'rad/s',
    'position': 'rad',
    'integrated_velocity': 'rad/s',
    'voltage': 'V',
    'damper': 'N m s',
}
"""Of a command, by the mode of the drive."""


def command_range(motor: MotorSettings) -> tuple[float, str]:
    """
    Return the largest command of a slider, and its unit.

    The limit that the drive has for it; where it has none, what a motor of this inertia usually
    gets: with Omega = limit.speed, else 2 abs(initial_spin), else 100 rad/s, a torque of
    J Omega / 1 s, a speed of Omega, an angle of a turn, 24 V, a damping of J / 1 s.
    """
    drive, inertia = motor.drive, motor.model.inertia
    unit = UNITS[drive.mode]
    if drive.command_limit < inf:
        return drive.command_limit, unit
    speed = drive.speed_limit
    if speed == inf:
        speed = 2.0 * abs(motor.initial.spin) or USUAL_SPIN
    if drive.mode == 'torque':
        torque = drive.torque_limit
        return (torque if torque < inf else inertia * speed / USUAL_TIME), unit
    if drive.mode == 'voltage':
        supply = drive.circuit.supply
        return (supply if 0.0 < supply < inf else 24.0), unit
    most = {'position': 2.0 * pi, 'damper': inertia / USUAL_TIME}
    return most.get(drive.mode, speed), unit
