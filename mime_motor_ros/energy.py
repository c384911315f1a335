"""
The energy audit of one rotor: work in = dissipated + stored.

Exact for the scheme, so a residual is a fault.
"""

from __future__ import annotations

from typing import NamedTuple

from .model import MotorParameters, MotorState, Step


class Exchange(NamedTuple):
    """Energy of one step, or sums of it [J]: work = dissipated + stored."""

    work: float = 0.0
    dissipated: float = 0.0
    stored: float = 0.0


def exchanged(
    parameters: MotorParameters, old: float, drive_spin: float | None, step: Step, dt: float
) -> tuple[float, float, float]:
    """Return work, heat and gain [J] of a step; ``Energy`` says of what they are made."""
    new, relative = step.state.spin, step.relative_speed
    mean, drag = 0.5 * (old + new), -step.friction_torque
    driven = step.torque + step.load_torque + step.asymmetry_torque
    work = dt * (driven * mean - drag * (mean - relative))
    heat = dt * drag * relative
    gain = parameters.inertia * mean * (new - old)
    if drive_spin is not None:
        n, J_m = parameters.gear
        if J_m:
            # The drive's rotor stores too, and the casing of the gear does work on both.
            momentum = J_m * (step.drive_spin - drive_spin)
            both = 0.5 * (step.drive_spin + drive_spin)
            work += momentum * (both - n * mean)
            gain += momentum * both
    return work, heat, gain


class Energy:
    """
    Sums of energy [J] of one rotor, since the start, a reset or other parameters.

    With W the mean of old and new spin, equation (6) times dt W is an identity:
    J/2 (spin+^2 - spin^2) = dt W (tau + tau_l + tau_q - b relative). The bearing's part splits
    into what becomes heat, b relative^2 and what dry friction takes, and what the mount takes or
    gives. A drive's own rotor behind a gear counts with its J_m/2 Omega_m^2.

    Attributes
    ----------
    work : by the drive, the loads, the asymmetry, and by the mount through the bearing
    dissipated : heat of the bearing
    stored : gained in J/2 spin^2
    turned_over : sizes of all of these, step by step: what rounding goes with

    """

    __slots__ = ('dissipated', 'stored', 'turned_over', 'work')

    def __init__(self) -> None:
        self.work = self.dissipated = self.stored = self.turned_over = 0.0

    def add(
        self,
        parameters: MotorParameters,
        before: MotorState,
        step: Step,
        dt: float,
        drive_spin: float | None = None,
    ) -> None:
        """Count one step; ``drive_spin`` is that of the drive's own rotor before it [rad/s]."""
        work, heat, gain = exchanged(parameters, before.spin, drive_spin, step, dt)
        self.work += work
        self.dissipated += heat
        self.stored += gain
        self.turned_over += (
            (work if work > 0.0 else -work) + heat + (gain if gain > 0.0 else -gain)
        )

    @property
    def residual(self) -> float:
        """Return what does not balance [J]: rounding only, unless something is wrong."""
        return self.work - self.dissipated - self.stored
