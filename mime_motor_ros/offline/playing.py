"""A recording that went through the motors, kept to be played in the panel."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model import Pose, Wrench
from ..panel import Moment
from ..parameter_file import parse
from ..screen import Motor, View
from ..session import Outcome
from ..settings import Settings
from ..stopping import Stop
from ..timeline import Grid
from .progress import progress
from .replaying import replay, ReplayError

PICTURES = 50.0
"""Kept of a second [Hz]."""
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5', '10')


class Picture(NamedTuple):
    """What is shown of one step."""

    stamp_ns: int
    mount: Pose
    motors: tuple[Motor, ...]
    momentum: Any
    reaction: Wrench
    mount_wrench: Wrench


class Film:
    """The pictures of a recording, in order of time; there is at least one."""

    def __init__(self, name: str, settings: Settings, pictures: Sequence[Picture]) -> None:
        self.name, self.settings, self.pictures = name, settings, pictures
        self._stamps = [picture.stamp_ns for picture in pictures]

    @property
    def seconds(self) -> float:
        """Return how long it is [s]."""
        return (self._stamps[-1] - self._stamps[0]) * 1e-9

    @classmethod
    def of(
        cls,
        recording: str,
        params_file: str | None,
        rules: Sequence[str],
        remap: Sequence[str],
        stop: Stop | bool = False,
    ) -> Film:
        """
        Return a recording as it went through its motors.

        Raises
        ------
        MotorError
            If it cannot be read, a parameter is wrong, or there was no step.

        """
        overrides = dict(parse(rule) for rule in rules)
        made = replay(recording, params_file, overrides=overrides, remap=remap)
        grid = Grid(PICTURES)
        pictures: list[Picture] = []
        with progress(False, made.recording.name) as told:
            for outcome in made:
                if stop:
                    break
                if grid.crossed(outcome.start_ns, outcome.stamp_ns) or not pictures:
                    pictures.append(_picture(outcome, made.settings))
                    told(made.share, len(pictures) / PICTURES)
        if not pictures and not stop:
            raise ReplayError(made.why_none)
        return cls(made.recording.name, made.settings, pictures)

    def at(self, seconds: float) -> Picture:
        """Return the newest picture at a time since the first [s]."""
        stamp = self._stamps[0] + round(seconds * 1e9)
        return self.pictures[max(0, bisect_right(self._stamps, stamp) - 1)]


def _picture(outcome: Outcome, settings: Settings) -> Picture:
    motors = tuple(
        Motor(motor.name, step.state.spin, step.relative_speed, step.state.angle, step.torque)
        for motor, step in zip(settings.motors, outcome.steps, strict=True)
    )
    return Picture(
        outcome.stamp_ns,
        outcome.mount,
        motors,
        outcome.momentum(),
        outcome.reaction(),
        outcome.mount_wrench(),
    )


class Player:
    """The time slider, play and speed of a film."""

    def __init__(self, server: Any, film: Film) -> None:
        self._film = film
        self._shown = 0.0
        self._before: float | None = None
        with server.gui.add_folder('Recording'):
            self._play = server.gui.add_checkbox('play', initial_value=True)
            self._speed = server.gui.add_dropdown('speed', SPEEDS, initial_value='1')
            self._slider = server.gui.add_slider(
                'time [s]', 0.0, max(film.seconds, 0.01), 0.01, initial_value=0.0
            )

    def moment(self, now: float) -> Moment:
        """Return what is to be seen at a time of a steady clock [s]."""
        film, before = self._film, self._before
        self._before = now
        chosen = float(self._slider.value)
        if abs(chosen - round(self._shown, 2)) > 0.006:  # moved by the user
            self._shown = chosen
        elif self._play.value and before is not None:
            self._shown += (now - before) * float(self._speed.value)
            if self._shown > film.seconds:
                self._shown = 0.0
            self._slider.value = round(self._shown, 2)
        seen = film.at(self._shown)
        view = View(
            node=film.name,
            seconds=now,
            age=0.0,
            publishers=1,
            motors=seen.motors,
            momentum=seen.momentum,
            reaction=(seen.reaction.force, seen.reaction.torque),
            mount_wrench=(seen.mount_wrench.force, seen.mount_wrench.torque),
        )
        return Moment(view, film.settings, seen.mount, self._shown)
