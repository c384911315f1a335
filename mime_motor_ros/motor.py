"""
One motor of a session: what is kept of it from one step to the next.

Before the model stand the sampling of its command and its drive, behind it its sensors. A motor
that uses none of them passes by them all.
"""

from __future__ import annotations

from math import ceil, inf, isfinite, isnan, nan

from .drive import (
    Active,
    after,
    at_rest,
    DriveState,
    Setpoint,
    switched,
    taken_over,
    Wanted,
    wanted,
)
from .energy import Energy
from .model import MotorState, Pose, Step, StepInputs, Wrench
from .sampling import Delayed, due, Output, Sampling
from .sensing import Measured, Reading, sense
from .settings import MotorSettings, Settings
from .timeline import NANOSECONDS, Stream
from .vector import dot, multiply, rotate, Vector

MOST_HELD = 4096
"""Samples of one load, or of one command or sensor without a delay that needs more."""
MOST_SQUARED = 1e200
"""Of numbers whose sums and products stay finite."""


class Motor:
    """
    A motor between two steps.

    ``chosen`` are the settings of all, ``index`` says which of its motors this is.

    Attributes
    ----------
    settings : MotorSettings
    off : whether its group is switched off
    is_plain : whether a command is the torque, with nothing in between
    is_sampled : whether it acts late, or is taken now and then
    state : angle and spin
    drive : DriveState; of a motor without modes and limits it stays as it begins
    energy : the audit of its rotor
    last : the step before; None at the start and after a reset
    commands : its stream of set points
    measures : whether it has sensors
    measured : what they tell; None without, or before the first sample
    told_ns : of when that is
    last_ns : when the step before ended

    """

    settings: MotorSettings
    state: MotorState
    drive: DriveState
    energy: Energy
    last: Step | None
    measured: Measured | None
    _acting: tuple[int, Setpoint] | None  # of a command that is sampled: its stamp, and what acts
    _held: tuple[int, Setpoint] | None  # until the first command of a mode
    _wanted: Wanted | None
    _reading: Reading

    def __init__(self, chosen: Settings, index: int) -> None:
        def room(sampling: Sampling) -> int:
            steps = sampling.max_delay / NANOSECONDS * chosen.rate
            return max(MOST_HELD, 2 * ceil(steps))

        self._index = index
        self._use(chosen)
        settings = self.settings
        sampling = settings.command
        self.commands: Stream[Setpoint] = (
            Delayed(Setpoint._make, sampling.max_delay, room(sampling))
            if sampling.interval or sampling.max_delay
            else Stream(MOST_HELD)
        )
        self.is_sampled = isinstance(self.commands, Delayed)
        self._told: Output[tuple[float, ...]] | None = (
            None
            if settings.sensors.is_none
            else Output(tuple, settings.measured.max_delay, room(settings.measured))
        )
        self.measures = self._told is not None
        self.reset()
        self.forget()

    def _use(self, chosen: Settings) -> None:
        self.settings = settings = chosen.motors[self._index]
        self.off = settings.group in chosen.groups_off
        is_free = settings.drive.is_plain and not settings.model.gear.inertia
        self.is_plain = is_free and chosen.torque_limit == inf  # which all motors share

    def update(self, chosen: Settings, acting: bool, now_ns: int, dt: float) -> None:
        """
        Use other values from now on, in steps of ``dt`` [s], from where the rotor is.

        ``acting``: whether a command does; a drive that gave no torque is not switched on.
        """
        before, was_plain = self.settings, self.is_plain
        self._use(chosen)
        settings = self.settings
        speed = self.last.relative_speed if self.last else 0.0
        if was_plain or (before.drive.armature is None) != (settings.drive.armature is None):
            kept = self.drive
            self.drive = taken_over(settings.drive, self.torque, speed, kept.temperature)
            self.drive = self.drive._replace(integral=kept.integral, target=kept.target)
        if before.drive.winding.is_none:  # until now it was as warm as what is around
            self.drive = self.drive._replace(temperature=settings.drive.winding.ambient)
        if before.model != settings.model:
            self.energy = Energy()
        if before.drive.mode != settings.drive.mode:
            # What was commanded before had another unit, so it is forgotten; the set point that
            # holds the torque is as fresh as a command that came now.
            drive = self.drive._replace(torque=self.torque)
            held, self.drive = switched(settings.drive, drive, self.state.angle, speed, dt)
            self.commands.clear()
            self._acting = None
            self._held = (now_ns, held) if acting else None
        if self.is_plain:
            self.drive, self._wanted = at_rest(settings.drive), None
        self.drive = self._marked(self.drive)

    def reset(self) -> None:
        """Go back to the initial angle and spin, a cold winding, and sensors just switched on."""
        self.state = self.settings.initial
        self.energy = Energy()
        self.drive = self._marked(at_rest(self.settings.drive))
        self.last = None
        self._wanted = self._held = None
        self._reading = Reading()
        self._since = 0.0  # [s] of steps since the last sample
        self.last_ns = 0
        self._tell_nothing()

    def forget(self) -> None:
        """Drop what was commanded and measured: the clock went back."""
        self.commands.clear()
        self._acting = None
        self._held = None
        self._looked_ns = 0
        self._tell_nothing()

    def _tell_nothing(self) -> None:
        self.measured = None
        self.told_ns = 0
        if self._told is not None:
            self._told.clear()

    def _marked(self, drive: DriveState) -> DriveState:
        """Return the state of a drive with the mark of a group that is off, where it is."""
        return drive._replace(active=drive.active | Active.GROUP_OFF) if self.off else drive

    @property
    def torque(self) -> float:
        """Return the torque of the drive in the step before [N m]."""
        return self.last.torque if self.last else 0.0

    # before a step

    def read(self, start_ns: int, end_ns: int) -> None:
        """Move to what of a sampled command acts in a step, or in a time without one."""
        if isinstance(self.commands, Delayed):
            self._acting = self.commands.acting(start_ns, end_ns, self.settings.command)

    def setpoint(self, time_ns: int, timeout_ns: int) -> Setpoint | None:
        """Return the command that acts; None without one, or where it is too old or off."""
        if self.off:
            return None
        stamp, value = self.commands.stamp, self.commands.value
        if self.is_sampled:
            stamp = None
            if self._acting is not None:
                stamp, value = self._acting
                stamp += self.settings.command.delay
        if stamp is None and self._held is not None:
            stamp, value = self._held
        if stamp is None or (timeout_ns and time_ns - stamp > timeout_ns):
            return None
        return value

    def inputs(
        self,
        setpoint: Setpoint | None,
        mount: Pose,
        rate: Vector,
        stator: Wrench,
        rotor: Wrench,
        start_ns: int,
        dt: float,
    ) -> StepInputs:
        """Return what the model is given of a motor that is not plain: what its drive does."""
        model, state = self.settings.model, self.state
        about = dot(
            rotate(multiply(mount.orientation, model.placement.orientation), model.axis), rate
        )
        speed = state.spin - about
        self._wanted = wanted(self.settings.drive, self.drive, setpoint, state.angle, speed, dt)
        drive_spin = None
        if model.gear.inertia:
            # Of the step before; behind a time without steps as the gear has it, or the way
            # that the mount turned meanwhile would come as one impulse.
            if self.last is not None and self.last_ns == start_ns:
                drive_spin = self.last.drive_spin
            else:
                drive_spin = about + model.gear.ratio * speed
        return StepInputs(mount, rate, 0.0, stator, rotor, self._wanted.bounded, drive_spin)

    # behind a step

    def driven(self, step: Step, shared: bool, dt: float) -> DriveState:
        """
        Return the state of the drive behind a step, and whether the mount's limit took of it.

        Raises
        ------
        OverflowError
            If its numbers are beyond computing.

        """
        if self._wanted is None:
            return self.drive
        state = after(
            self.settings.drive,
            self.drive,
            self._wanted,
            step.torque,
            step.state.angle,
            step.relative_speed,
            dt,
            shared and step.torque != 0.0,
        )
        target = 0.0 if isnan(state.target) else state.target
        numbers = (state.integral, state.current, state.voltage, state.temperature, target)
        if not sum([x * x for x in numbers]) < MOST_SQUARED:
            raise OverflowError
        return self._marked(state)

    def measure(self, start: int, end: int, dt: float) -> None:
        """Let the sensors measure, where that is due, and tell what they tell of the last step."""
        told, step = self._told, self.last
        if told is None or step is None:
            return
        chosen = self.settings
        self._since += dt
        if due(self._looked_ns or start, end, chosen.measured):
            measured, self._reading = sense(
                chosen.sensors,
                self._reading,
                step.state.angle,
                step.relative_speed,
                step.torque,
                self._since,
                chosen.faults,
            )
            self._since = 0.0
            told.push(end, tuple(nan if x is None else x for x in measured))
        self._looked_ns = end
        known = told.told(end, chosen.measured)
        # Each once, and none behind a newer one, as a delay made longer would have it.
        if known is not None and known[0] > self.told_ns:
            self.told_ns, values = known
            self.measured = Measured(*(x if isfinite(x) else None for x in values))


def report(motor: MotorSettings, step: Step, drive: DriveState) -> dict[str, float]:
    """
    Return the state of a motor behind a step, by quantity.

    effort, friction_torque [N m] on the rotor, mechanical_power [W] of the drive, limits (`Active`
    as a number); with an armature current [A], voltage [V], electrical_power [W]; with a winding
    that warms temperature [deg C].
    """
    quantities = {
        'effort': step.torque,
        'friction_torque': step.friction_torque,
        'mechanical_power': step.torque * step.relative_speed,
        'limits': float(drive.active),
    }
    if motor.drive.armature is not None:
        quantities['current'] = drive.current
        quantities['voltage'] = drive.voltage
        quantities['electrical_power'] = drive.voltage * drive.current
    if not motor.drive.winding.is_none:
        quantities['temperature'] = drive.temperature
    return quantities
