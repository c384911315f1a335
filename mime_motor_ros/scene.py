"""
The motors and their mount as the panel's scene has them: frames, discs, arrows, names.

It draws what `picture` has, as the RViz markers do. No ROS, no clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .model import Pose
from .picture import arrow, COLOURS, disc, label, largest, mark, onto, ring, scales
from .screen import Motor, View
from .settings import Settings
from .vector import about, norm, Quaternion, Vector


class Scene:
    """
    The motors of a node on their mount.

    Parameters
    ----------
    server
        A ``viser.ViserServer``.
    settings
        Whose motors are drawn; other ones need another scene, see `shape`.

    """

    def __init__(self, server: Any, settings: Settings) -> None:
        self._server = server
        self._arrows: dict[str, Any] = {}
        self._motors: list[dict[str, Any]] = []
        self._world = server.scene.add_frame('/world', show_axes=False)
        self._build(settings)
        self._aim(settings)

    def remove(self) -> None:
        """Take all of it away."""
        self._world.remove()

    def _build(self, settings: Settings) -> None:
        scene, size = self._server.scene, largest(settings)
        scene.add_grid(
            '/world/grid',
            width=40 * size,
            height=40 * size,
            cell_size=2 * size,
            section_size=10 * size,
        )
        self._mount = scene.add_frame(
            '/world/mount', axes_length=2.5 * size, axes_radius=0.02 * size
        )
        for motor in settings.motors:
            base, model = f'/world/mount/{motor.name}', motor.model
            of = disc(model.inertia)
            scene.add_frame(
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
                color=rgb('rotor'),
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
                rgb('spin direction'),
                thickness=3.0,
                thickness_units='screen',
                visible=False,
            )
            below = (0.0, 0.0, -0.8 * of.radius)
            text = scene.add_label(
                f'{base}/label', motor.name, position=below, anchor='top-center'
            )
            momentum = self._arrow(f'{base}/momentum', 'momentum', size)
            self._motors.append(
                {'rotor': rotor, 'ring': turning, 'label': text, 'momentum': momentum}
            )
        for name in ('reaction', 'mount wrench'):
            for part in ('force', 'torque'):
                key = f'{name} {part}'
                path = f'/world/mount/{key.replace(" ", "_")}'
                self._arrows[key] = self._arrow(path, key, size)

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
            rgb(name),
            shaft_radius=0.06 * size,
            head_radius=0.14 * size,
            head_length=0.3 * size,
            visible=False,
        )

    def show(self, view: View, settings: Settings, mount: Pose | None, follow: bool) -> None:
        """
        Show a moment.

        Parameters
        ----------
        view
            What the motors do.
        settings
            Those of the node now, of the `shape` that was drawn.
        mount
            The mount in the world; None: not known, it stays.
        follow
            Whether the mount stays in the middle, and not the world.

        """
        if mount is not None:
            self._mount.position = mount.position
            self._mount.wxyz = _wxyz(mount.orientation)
            x, y, z = mount.position if follow else (0.0, 0.0, 0.0)
            self._world.position = (-x, -y, -z)
        scale, size = scales(settings), largest(settings)
        motors = {motor.name: motor for motor in view.motors}
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
            ('reaction', view.reaction),
            ('mount wrench', view.mount_wrench),
        ):
            force, torque = wrench or ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            _point(self._arrows[f'{name} force'], force, scale.force, size)
            _point(self._arrows[f'{name} torque'], torque, scale.torque, size)


def shape(settings: Settings) -> tuple[Any, ...]:
    """Return what a scene hangs on: while it stays the same, so does the scene."""
    return tuple(
        (motor.name, motor.model.placement, motor.model.axis, motor.model.inertia)
        for motor in settings.motors
    )


def rgb(name: str) -> tuple[int, int, int]:
    """Return the colour of what has this name, each part from 0 to 255."""
    red, green, blue = COLOURS[name]
    return round(255 * red), round(255 * green), round(255 * blue)


def _point(handle: Any, vector: Vector, scale: float, size: float) -> None:
    """Have an arrow point along a vector, or go."""
    tip = arrow(vector, scale, 0.1 * size, 40.0 * size) if norm(vector) > 0.0 else None
    handle.visible = tip is not None
    if tip is not None:
        handle.points = np.array([[(0.0, 0.0, 0.0), tip]])


def _segments(line: Sequence[Vector]) -> Any:
    """Return a line as pieces from point to point, shape (n, 2, 3)."""
    return np.array([line[:-1], line[1:]]).transpose(1, 0, 2)


def _wxyz(q: Quaternion) -> tuple[float, float, float, float]:
    x, y, z, w = q
    return w, x, y, z
