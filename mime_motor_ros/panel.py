"""
What the panel in the browser shows of motors, and what is set there.

It paints what `picture` has, as the RViz markers do. No ROS, no clock: a `Moment` in, handles of
viser set; what the user does goes to the functions of `Controls`. Nothing is kept of a moment but
the last seconds of the plots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np

from .commanding import command_range
from .drive import MODES
from .figures import duration
from .model import Pose
from .picture import arrow, COLOURS, disc, label, largest, mark, onto, ring, scales
from .screen import LEVELS, loop_rows, Motor, state, state_text, status_text, View
from .settings import Settings
from .vector import about, norm, Quaternion, Vector

WINDOW = 20.0
"""What the plots go back [s]."""
PLOT_EVERY = 0.2
"""Between two pictures of the plots [s]."""
TEXT_EVERY = 0.25
"""Between two of what is written [s]."""
LINES = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b')


class Moment(NamedTuple):
    """All that is shown at one time."""

    view: View
    settings: Settings | None = None
    """Those of the node; None: not known yet."""
    mount: Pose | None = None
    """The mount in the world; None: not known."""
    seconds: float = 0.0
    """On the axis of the plots [s]."""


class Controls(Protocol):
    """What a user may do to a node; each returns at once."""

    def command(self, on: bool, values: Sequence[float]) -> None:
        """Repeat these commands, one a motor, or none."""

    def mode(self, motor: str, mode: str) -> None:
        """Have a drive take commands in another mode."""

    def call(self, service: str, data: bool | None) -> None:
        """Call ``reset``, ``pause`` or ``enable`` of the node."""


@dataclass
class _Plot:
    """A chart of the last seconds."""

    title: str
    names: list[str]
    handle: Any = None
    rows: deque[tuple[float, ...]] = field(default_factory=deque)


class Panel:
    """
    The scene and the controls on a server of viser.

    Parameters
    ----------
    server
        A ``viser.ViserServer``.
    controls
        Where what the user does goes; None: nothing can be commanded, as in a recording.

    """

    def __init__(self, server: Any, controls: Controls | None) -> None:
        self._server, self._controls = server, controls
        self._settings: Settings | None = None
        self._scene: dict[str, Any] = {}
        self._motors: list[dict[str, Any]] = []
        self._plots: list[_Plot] = []
        self._plotted = self._written = -1.0
        self._text = ''
        self._shape: tuple[Any, ...] = ()
        server.gui.configure_theme(control_width='large', show_share_button=False)
        server.scene.set_up_direction('+z')
        self._world = server.scene.add_frame('/world', show_axes=False)
        self._state = server.gui.add_markdown('**waiting**')
        self._follow = server.gui.add_checkbox(
            'follow the mount', initial_value=True, hint='off: the world stands still'
        )
        self._folders: list[Any] = []
        self._sliders: list[Any] = []
        self._switch: Any = None

    def note(self, text: str) -> None:
        """Tell the user one thing that came of what was asked for."""
        for client in self._server.get_clients().values():
            client.add_notification('motor_view', text, auto_close_seconds=8.0)

    # what there is

    def _build(self, settings: Settings) -> None:
        """Lay out scene and controls anew, for other motors or shapes."""
        for thing in self._folders:
            thing.remove()
        for handle in self._scene.values():
            handle.remove()
        self._folders, self._scene, self._motors, self._plots = [], {}, [], []
        self._build_scene(settings)
        self._aim(settings)
        if self._controls is not None:
            self._controls.command(False, [])  # the box of the new layout is not ticked
            self._build_controls(settings, self._controls)
        self._build_plots(settings)
        self._build_legend()

    def _build_scene(self, settings: Settings) -> None:
        scene, size = self._server.scene, largest(settings)
        self._scene['grid'] = scene.add_grid(
            '/world/grid',
            width=40 * size,
            height=40 * size,
            cell_size=2 * size,
            section_size=10 * size,
        )
        mount = scene.add_frame('/world/mount', axes_length=2.5 * size, axes_radius=0.02 * size)
        self._scene['mount'] = mount
        for index, motor in enumerate(settings.motors):
            base, model = f'/world/mount/{motor.name}', motor.model
            of = disc(model.inertia)
            stator = scene.add_frame(
                base,
                axes_length=1.6 * of.radius,
                axes_radius=0.015 * of.radius,
                wxyz=_wxyz(model.placement.orientation),
                position=model.placement.position,
            )
            rotor = scene.add_frame(f'{base}/rotor', show_axes=False)
            scene.add_frame(f'{base}/rotor/disc', show_axes=False, wxyz=_wxyz(onto(model.axis)))
            scene.add_cylinder(
                f'{base}/rotor/disc/body',
                radius=of.radius,
                height=of.thickness,
                color=_rgb('rotor'),
            )
            scene.add_line_segments(
                f'{base}/rotor/disc/mark',
                _segments(mark(of)),
                (20, 20, 20),
                thickness=4.0,
                thickness_units='screen',
            )
            turning = scene.add_line_segments(
                f'{base}/ring',
                _segments(ring(1.2 * of.radius)),
                _rgb('spin direction'),
                thickness=3.0,
                thickness_units='screen',
                visible=False,
            )
            below = (0.0, 0.0, -0.8 * of.radius)
            text = scene.add_label(
                f'{base}/label', motor.name, position=below, anchor='top-center'
            )
            momentum = self._arrow(f'{base}/momentum', 'momentum', size)
            self._scene[f'motor {index}'] = stator
            self._motors.append(
                {'rotor': rotor, 'ring': turning, 'label': text, 'momentum': momentum}
            )
        for name in ('reaction', 'mount wrench'):
            for part in ('force', 'torque'):
                key = f'{name} {part}'
                path = f'/world/mount/{key.replace(" ", "_")}'
                self._scene[key] = self._arrow(path, key, size)

    def _aim(self, settings: Settings) -> None:
        """Have all motors in view, for those that look already and those that come."""
        far = largest(settings) + max(norm(x.model.placement.position) for x in settings.motors)
        at = (2.4 * far, -2.4 * far, 1.8 * far)
        self._server.initial_camera.position = at
        self._server.initial_camera.look_at = (0.0, 0.0, 0.0)
        for client in self._server.get_clients().values():
            client.camera.position = at
            client.camera.look_at = (0.0, 0.0, 0.0)

    def _arrow(self, path: str, name: str, size: float) -> Any:
        return self._server.scene.add_arrows(
            path,
            np.zeros((1, 2, 3)),
            _rgb(name),
            shaft_radius=0.06 * size,
            head_radius=0.14 * size,
            head_length=0.3 * size,
            visible=False,
        )

    def _build_controls(self, settings: Settings, controls: Controls) -> None:
        gui, motors = self._server.gui, settings.motors
        folder = gui.add_folder('Command')
        self._folders.append(folder)
        self._sliders = []
        with folder:
            switch = gui.add_checkbox('send commands', initial_value=False)
            for motor in motors:
                most, unit = command_range(motor)
                slider = gui.add_slider(
                    f'{motor.name} [{unit}]', -most, most, most / 200.0, initial_value=0.0
                )
                slider.on_update(lambda _: self._send(controls))
                self._sliders.append(slider)
            zero = gui.add_button('all to 0')
            with gui.add_folder('Modes of the drives', expand_by_default=len(motors) == 1):
                for motor in motors:
                    mode = gui.add_dropdown(motor.name, MODES, initial_value=motor.drive.mode)
                    mode.on_update(_mode_setter(controls, motor.name, mode))
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
        switch.on_update(lambda _: self._send(controls))
        self._switch = switch
        zero.on_click(lambda _: self._zero(controls))

        folder = gui.add_folder('Node')
        self._folders.append(folder)
        with folder:
            reset = gui.add_button('reset', hint='initial angle and spin')
            pause = gui.add_checkbox('pause', initial_value=False, hint='time is held')
            enable = gui.add_checkbox(
                'enable', initial_value=True, hint='off: torque 0, the rotors coast'
            )
        reset.on_click(lambda _: controls.call('reset', None))
        pause.on_update(lambda _: controls.call('pause', pause.value))
        enable.on_update(lambda _: controls.call('enable', enable.value))

    def _zero(self, controls: Controls) -> None:
        for slider in self._sliders:
            slider.value = 0.0
        self._send(controls)

    def _send(self, controls: Controls) -> None:
        controls.command(self._switch.value, [slider.value for slider in self._sliders])

    def _build_plots(self, settings: Settings) -> None:
        names = [motor.name for motor in settings.motors]
        folder = self._server.gui.add_folder('Plots')
        self._folders.append(folder)
        self._plots = [
            _Plot('spin [rad/s]', names),
            _Plot('torque [N m]', names),
            _Plot('momentum, mount axes [N m s]', ['x', 'y', 'z']),
            _Plot('mount wrench, torque [N m]', ['x', 'y', 'z']),
        ]
        still = np.array([0.0, 1.0])
        with folder:
            for plot in self._plots:
                series: list[dict[str, Any]] = [{'label': 's'}]
                for at, name in enumerate(plot.names):
                    series.append({'label': name, 'stroke': LINES[at % len(LINES)], 'width': 2})
                plot.handle = self._server.gui.add_uplot(
                    (still, *(np.zeros(2) for _ in plot.names)),
                    tuple(series),
                    title=plot.title,
                    scales={'x': {'time': False}},
                    aspect=2.2,
                )

    def _build_legend(self) -> None:
        folder = self._server.gui.add_folder('Colours')
        self._folders.append(folder)
        rows = [
            f'<div><span style="display:inline-block;width:1em;height:1em;margin-right:0.5em;'
            f'background:rgb{_rgb(name)}"></span>{escape(name)}</div>'
            for name in COLOURS
        ]
        with folder:
            self._server.gui.add_html(f'<div style="padding:0 0.75em">{"".join(rows)}</div>')

    # what is shown

    def show(self, moment: Moment) -> None:
        """Show a moment."""
        with self._server.atomic():
            chosen = moment.settings
            if chosen is not None and _shape(chosen) != self._shape:
                self._shape = _shape(chosen)
                self._build(chosen)
            self._settings = chosen or self._settings
            self._write(moment)
            if self._settings is not None:
                self._place(moment, self._settings)
                self._plot(moment)

    def _place(self, moment: Moment, settings: Settings) -> None:
        mount = self._scene['mount']
        if moment.mount is not None:
            mount.position = moment.mount.position
            mount.wxyz = _wxyz(moment.mount.orientation)
            x, y, z = moment.mount.position if self._follow.value else (0.0, 0.0, 0.0)
            self._world.position = (-x, -y, -z)
        scale, size = scales(settings), largest(settings)
        motors = {motor.name: motor for motor in moment.view.motors}
        for motor, drawn in zip(settings.motors, self._motors, strict=True):
            seen = motors.get(motor.name, Motor(motor.name))
            axis, of = motor.model.axis, disc(motor.model.inertia)
            if seen.angle is not None:
                drawn['rotor'].wxyz = _wxyz(about(axis, seen.angle))
            spin = seen.spin or 0.0
            drawn['label'].text = (
                motor.name if seen.spin is None else ' '.join(label(motor.name, spin).split())
            )
            drawn['ring'].visible = spin != 0.0
            drawn['ring'].wxyz = _wxyz(onto(axis, spin))
            amount = motor.model.inertia * spin
            momentum = (amount * axis[0], amount * axis[1], amount * axis[2])
            _point(drawn['momentum'], momentum, scale.momentum, of.radius)
        for name, wrench in (
            ('reaction', moment.view.reaction),
            ('mount wrench', moment.view.mount_wrench),
        ):
            force, torque = wrench or ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            _point(self._scene[f'{name} force'], force, scale.force, size)
            _point(self._scene[f'{name} torque'], torque, scale.torque, size)

    def _write(self, moment: Moment) -> None:
        if 0.0 <= moment.view.seconds - self._written < TEXT_EVERY:
            return
        self._written = moment.view.seconds
        text = words(moment.view)
        if text != self._text:
            self._text = self._state.content = text

    def _plot(self, moment: Moment) -> None:
        view, now = moment.view, moment.seconds
        if state(view) != 'stepping':
            return
        wrench = view.mount_wrench or (None, None)
        motors = {motor.name: motor for motor in view.motors}
        named = [motors.get(name, Motor(name)) for name in self._plots[0].names]
        values: list[Sequence[float | None]] = [
            [motor.spin for motor in named],
            [motor.torque for motor in named],
            view.momentum or [None] * 3,
            wrench[1] or [None] * 3,
        ]
        is_back = bool(self._plots[0].rows) and now < self._plots[0].rows[-1][0]
        if any(None in row for row in values):
            return  # not all of it has come yet
        for plot, row in zip(self._plots, values, strict=True):
            if is_back:
                plot.rows.clear()
            plot.rows.append((now, *(x for x in row if x is not None)))
            while now - plot.rows[0][0] > WINDOW:
                plot.rows.popleft()
        if 0.0 <= now - self._plotted < PLOT_EVERY or len(self._plots[0].rows) < 2:
            return
        self._plotted = now
        for plot in self._plots:
            plot.handle.data = tuple(np.array(plot.rows).T.copy())


def words(view: View) -> str:
    """Return what is known of a node as Markdown: what it does, its loop and its statuses."""
    said = state(view)
    lines = [f'**{view.node}**: {state_text(view)}']
    if view.statuses and (view.publishers or said == 'stepping'):
        lines += [f'- {name}: {text}' for name, text in loop_rows(view.statuses.get('stepping'))]
        for name, status in view.statuses.items():
            if name == 'stepping' and not status.level:
                continue
            mark_of = '' if not status.level else f' **{LEVELS[min(status.level, 3)]}**'
            lines.append(f'- {name}:{mark_of} {status_text(status)}')
    first, *rest = lines
    return '\n\n'.join([first, '\n'.join(rest)]) if rest else first


def _shape(settings: Settings) -> tuple[Any, ...]:
    """Return what the layout hangs on; other live parameters change nothing of it."""
    return (
        settings.mount_frame,
        settings.command_timeout,
        *(
            (motor.name, motor.model, motor.drive.mode, command_range(motor))
            for motor in settings.motors
        ),
    )


def _mode_setter(controls: Controls, motor: str, handle: Any) -> Callable[[Any], None]:
    return lambda _: controls.mode(motor, handle.value)


def _point(handle: Any, vector: Vector, scale: float, size: float) -> None:
    """Have an arrow point along a vector, or go."""
    tip = arrow(vector, scale, 0.1 * size, 40.0 * size) if norm(vector) > 0.0 else None
    handle.visible = tip is not None
    if tip is not None:
        handle.points = np.array([[(0.0, 0.0, 0.0), tip]])


def _segments(line: Sequence[Vector]) -> Any:
    """Return a line as pieces from point to point, shape (n, 2, 3)."""
    return np.array([line[:-1], line[1:]]).transpose(1, 0, 2)


def _rgb(name: str) -> tuple[int, int, int]:
    red, green, blue = COLOURS[name]
    return round(255 * red), round(255 * green), round(255 * blue)


def _wxyz(q: Quaternion) -> tuple[float, float, float, float]:
    x, y, z, w = q
    return w, x, y, z
