"""
What a user of the panel may do to a node: commands by sliders, modes, the services.

No ROS: what is asked for goes to the functions of `Controls`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi
from typing import Any, Protocol

from .drive import MODES
from .figures import duration
from .picture import USUAL_SPIN, USUAL_TIME
from .settings import MotorSettings, Settings

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


class Controls(Protocol):
    """What a user may do to a node; each returns at once."""

    def command(self, on: bool, values: Sequence[float]) -> None:
        """Repeat these commands, one a motor, or none."""

    def mode(self, motor: str, mode: str) -> None:
        """Have a drive take commands in another mode."""

    def call(self, service: str, data: bool | None) -> None:
        """Call ``reset``, ``pause`` or ``enable`` of the node."""


class Commands:
    """
    The sliders, modes and buttons.

    Parameters
    ----------
    gui
        That of a ``viser.ViserServer``.
    controls
        Where what the user does goes.
    settings
        Whose motors are commanded; other ones need other controls, see `layout`.
    order
        Where they stand in the panel.

    """

    def __init__(self, gui: Any, controls: Controls, settings: Settings, order: float) -> None:
        self._gui, self._controls = gui, controls
        self._sliders: list[Any] = []
        self._modes: dict[str, Any] = {}
        self._folders = [
            gui.add_folder('Command', order=order),
            gui.add_folder('Node', order=order),
        ]
        with self._folders[0]:
            self._build_sliders(settings)
        with self._folders[1]:
            self._build_buttons()

    def remove(self) -> None:
        """Take them away, and send no more commands."""
        self._controls.command(False, [])
        for folder in self._folders:
            folder.remove()

    def show(self, settings: Settings) -> None:
        """Show what the node has now: a mode that it refused is shown no longer."""
        for motor in settings.motors:
            self._modes[motor.name].value = motor.drive.mode

    def _build_sliders(self, settings: Settings) -> None:
        gui, motors = self._gui, settings.motors
        self._switch = gui.add_checkbox('send commands', initial_value=False)
        self._switch.on_update(lambda _: self._send())
        for motor in motors:
            most, unit = command_range(motor)
            slider = gui.add_slider(
                f'{motor.name} [{unit}]', -most, most, most / 200.0, initial_value=0.0
            )
            slider.on_update(lambda _: self._send())
            self._sliders.append(slider)
        gui.add_button('all to 0').on_click(lambda _: self._zero())
        with gui.add_folder('Modes of the drives', expand_by_default=len(motors) == 1):
            for motor in motors:
                self._add_mode(motor)
        limit = duration(settings.command_timeout * 1e-9)
        held = (
            f'A command acts for {limit} (`command_timeout`), then the torque is 0: so it is '
            'sent again and again while the box is ticked, and the rotors coast when it is '
            'not, or when this panel is gone.'
            if settings.command_timeout
            else 'A command acts until the next one (`command_timeout` is 0): untick the box '
            'and the last one stays.'
        )
        gui.add_markdown(f'{held} Of several senders the newest command acts.')

    def _add_mode(self, motor: MotorSettings) -> None:
        mode = self._gui.add_dropdown(motor.name, MODES, initial_value=motor.drive.mode)
        self._modes[motor.name] = mode

        def chosen(event: Any) -> None:
            if event.client is not None:  # and not `show`
                self._controls.mode(motor.name, mode.value)

        mode.on_update(chosen)

    def _build_buttons(self) -> None:
        # Buttons, not boxes: another panel may have paused the node, or a program.
        for name, service, data, hint in (
            ('reset', 'reset', None, 'initial angle and spin'),
            ('pause', 'pause', True, 'time is held'),
            ('go on', 'pause', False, 'time goes on'),
            ('enable', 'enable', True, 'commands act'),
            ('disable', 'enable', False, 'torque 0, the rotors coast'),
        ):
            self._add_button(name, service, data, hint)

    def _add_button(self, name: str, service: str, data: bool | None, hint: str) -> None:
        button = self._gui.add_button(name, hint=hint)
        button.on_click(lambda _: self._controls.call(service, data))

    def _zero(self) -> None:
        for slider in self._sliders:
            slider.value = 0.0
        self._send()

    def _send(self) -> None:
        self._controls.command(self._switch.value, [slider.value for slider in self._sliders])


def layout(settings: Settings) -> tuple[Any, ...]:
    """Return what controls hang on: while it stays the same, so do sliders and what they say."""
    return (
        settings.command_timeout,
        *((motor.name, motor.drive.mode, command_range(motor)) for motor in settings.motors),
    )
