"""
What the panel in the browser shows of motors: scene, controls, plots, and what is known in words.

No ROS, no clock: a `Moment` in, handles of viser set. A part is made anew when what it hangs on
has changed, and only then: another live parameter leaves the sliders where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from .charts import Charts
from .commanding import Commands, Controls, layout
from .model import Pose
from .picture import COLOURS
from .scene import rgb, Scene, shape
from .screen import LEVELS, loop_rows, state, state_text, status_text, View
from .settings import Settings

TEXT_EVERY = 0.25
"""Between two of what is written [s]."""
COMMANDS, CHARTS, LEGEND = 1e6, 2e6, 3e6
"""Where parts stand: behind what is added without an order, and again there when made anew."""


class Moment(NamedTuple):
    """All that is shown at one time."""

    view: View
    settings: Settings | None = None
    """Those of the node; None: not known yet."""
    mount: Pose | None = None
    """The mount in the world; None: not known."""
    seconds: float = 0.0
    """On the axis of the plots [s]."""


class _Part:
    """A part of the panel, and what it hangs on."""

    def __init__(self) -> None:
        self.made: Any = None
        self._key: object = None

    def renew(self, key: object, make: Callable[[], Any]) -> None:
        """Make the part anew if what it hangs on has changed."""
        if self.made is None or key != self._key:
            if self.made is not None:
                self.made.remove()
            self._key, self.made = key, make()


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
        self._scene, self._commands, self._charts = _Part(), _Part(), _Part()
        self._written = float('-inf')
        self._text = ''
        server.gui.configure_theme(control_width='large', show_share_button=False)
        server.scene.set_up_direction('+z')
        self._state = server.gui.add_html(_padded('waiting'))
        self._follow = server.gui.add_checkbox(
            'follow the mount', initial_value=True, hint='off: the world stands still'
        )
        self._legend: Any = None

    def note(self, text: str) -> None:
        """Tell the user one thing that came of what was asked for."""
        for client in self._server.get_clients().values():
            client.add_notification('motor_view', text, auto_close_seconds=8.0)

    def show(self, moment: Moment) -> None:
        """Show a moment."""
        with self._server.atomic():
            if moment.settings is not None and moment.settings is not self._settings:
                self._settings = moment.settings
                self._lay_out(moment.settings)
            self._write(moment.view)
            if self._settings is not None:
                self._scene.made.show(
                    moment.view, self._settings, moment.mount, self._follow.value
                )
                if state(moment.view) == 'stepping':
                    self._charts.made.show(moment.view, moment.seconds)

    def _lay_out(self, settings: Settings) -> None:
        server, controls = self._server, self._controls
        names = [motor.name for motor in settings.motors]
        self._scene.renew(shape(settings), lambda: Scene(server, settings))
        self._charts.renew(names, lambda: Charts(server.gui, names, CHARTS))
        if controls is not None:
            self._commands.renew(
                layout(settings), lambda: Commands(server.gui, controls, settings, COMMANDS)
            )
            self._commands.made.show(settings)
        if self._legend is None:
            self._legend = _legend(server.gui)

    def _write(self, view: View) -> None:
        if 0.0 <= view.seconds - self._written < TEXT_EVERY:
            return
        self._written = view.seconds
        text = words(view)
        if text != self._text:
            self._text = self._state.content = text


def words(view: View) -> str:
    """
    Return what is known of a node as HTML: what it does, its loop and its statuses.

    What others wrote is shown as it stands; as Markdown, braces in it would be run as a program.
    """
    said = state(view)
    rows: list[tuple[str, str, int]] = []
    if view.statuses and (view.publishers or said == 'stepping'):
        rows = [(*row, 0) for row in loop_rows(view.statuses.get('stepping'))]
        rows += [
            (name, status_text(status), status.level)
            for name, status in view.statuses.items()
            if name != 'stepping' or status.level
        ]
    items = ''.join(
        f'<li>{_level(level)}{escape(name)}: {escape(text)}</li>' for name, text, level in rows
    )
    return _padded(
        f'<b>{escape(view.node)}</b>: {escape(state_text(view))}'
        f'<ul style="margin:0.5em 0;padding-left:1.2em">{items}</ul>'
    )


def _level(level: int) -> str:
    return f'<b>{LEVELS[min(level, 3)]}</b> ' if level else ''


def _padded(html: str) -> str:
    return f'<div style="padding:0 0.75em;font-size:0.9em;overflow-wrap:anywhere">{html}</div>'


def _legend(gui: Any) -> Any:
    folder = gui.add_folder('Colours', order=LEGEND)
    rows = [
        f'<div><span style="display:inline-block;width:1em;height:1em;margin-right:0.5em;'
        f'background:rgb{rgb(name)}"></span>{escape(name)}</div>'
        for name in COLOURS
    ]
    with folder:
        gui.add_html(_padded(''.join(rows)))
    return folder
