"""The motors as markers of RViz: the shapes of ``picture``, in a message that changes little."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from . import picture
from .picture import COLOURS
from .session import Outcome, Session
from .settings import Settings
from .timeline import Grid
from .vector import add, conjugate, norm, Quaternion, rotate, scale, Vector
from .wire import MARK, Scattered, Serialize

ARROW, CYLINDER, LINE_STRIP, TEXT = 0, 3, 4, 9  # of visualization_msgs/msg/Marker
ADD, DELETE = 0, 2
LEGEND = 'legend'
NUMBERS = ('x', 'y', 'z', 'w')
ORIGIN: Vector = (0.0, 0.0, 0.0)
STILL: Quaternion = (0.0, 0.0, 0.0, 1.0)
# What an example has where messages differ, and nothing else has.
STAMP, ACTION = (0x5AC3_96A5, 0x2CD3_E1B4), (0x69B5_A3D2,)
# Sizes in radii of the rotor, those about all motors in radii of the largest.
RING, NAME, LETTER = 1.2, 1.8, 0.4
MARK_WIDTH, RING_WIDTH, MOMENTUM_WIDTH = 0.05, 0.04, 0.1
HEAD = 2.0  # width of an arrowhead, in those of its shaft
BESIDE = 5.0  # from the farthest motor to the legend
WRENCHES: tuple[tuple[str, float, float, Callable[[Outcome], Vector]], ...] = (
    # The mount wrench has the reaction in it: its arrow is seen within the other, and beyond.
    ('reaction force', 0.14, 0.5, lambda outcome: outcome.reaction().force),
    ('reaction torque', 0.14, 0.5, lambda outcome: outcome.reaction().torque),
    ('mount wrench force', 0.07, 1.0, lambda outcome: outcome.mount_wrench().force),
    ('mount wrench torque', 0.07, 1.0, lambda outcome: outcome.mount_wrench().torque),
)


class Shown(NamedTuple):
    """One marker."""

    fields: Mapping[str, Any]
    """With what is in ``example`` where it changes."""
    form: str = ''
    """What changes beside stamp and action, as a format of ``struct``."""
    example: Sequence[Any] = ()
    hidden: Sequence[Any] = ()
    """What stands there while it is not to be seen."""
    values: Callable[[Outcome], Sequence[Any] | None] = lambda _: ()
    """Gives what stands there after a step; None: it is not to be seen."""


class Markers:
    """
    All markers of a session, as often as ``markers.rate`` says.

    The message is laid out once, and again when parameters change; all its texts and lists keep
    their length. Each marker is in each message, to be drawn or to be deleted.
    """

    topic = '~/markers'
    type = 'visualization_msgs/msg/MarkerArray'
    paced = True

    def __init__(self, serialize: Serialize, session: Session) -> None:
        self._serialize, self._session = serialize, session
        self._grid = Grid(session.settings.markers.rate)
        self._sent: tuple[int, int] | None = None
        self._lay_out(session.settings)

    def _lay_out(self, chosen: Settings) -> None:
        self._laid_out = chosen
        self.shown = shown(chosen)
        changing: list[tuple[str, Sequence[Any]]] = []
        for one in self.shown:
            changing += (('iI', STAMP), ('i', ACTION))
            if one.form:
                changing.append((one.form, one.example))
        example = self._serialize(self.type, {'markers': [one.fields for one in self.shown]})
        self._template = Scattered(example, changing)

    def message(self, outcome: Outcome, stamp: tuple[int, int]) -> bytes | None:
        """Return the message about a step, None where none is due."""
        if not self._grid.crossed(outcome.start_ns, outcome.stamp_ns):
            return None
        if self._session.settings is not self._laid_out:
            self._lay_out(self._session.settings)
        self._sent = stamp
        return self._filled(stamp, [one.values(outcome) for one in self.shown])

    def cleared(self) -> bytes | None:
        """Return the message that deletes what was sent, stamped as that; None: nothing was."""
        if self._sent is None:
            return None
        stamp, self._sent = self._sent, None
        return self._filled(stamp, [None] * len(self.shown))

    def _filled(self, stamp: tuple[int, int], values: Sequence[Sequence[Any] | None]) -> bytes:
        given: list[Sequence[Any]] = []
        for one, seen in zip(self.shown, values, strict=True):
            given += (stamp, (DELETE if seen is None else ADD,))
            if one.form:
                given.append(one.hidden if seen is None else seen)
        return self._template.filled(given)


def shown(chosen: Settings) -> list[Shown]:
    """Return every marker of motors with these settings."""
    scales, radius = picture.scales(chosen), picture.largest(chosen)
    most = picture.LONGEST * radius
    found: list[Shown] = []
    for i in range(len(chosen.motors)):
        found += _of_motor(chosen, i, scales.momentum, most)
    for name, width, alpha, of in WRENCHES:
        long = scales.force if name.endswith('force') else scales.torque
        base = _fields(ARROW, chosen.mount_frame, name, 0, COLOURS[name], alpha)
        found.append(_arrow(base, width * radius, most, long, of))
    return found + _legend(chosen, radius)


def _of_motor(chosen: Settings, i: int, long: float, most: float) -> list[Shown]:
    motor = chosen.motors[i]
    axis, placement = motor.model.axis, motor.model.placement
    disc, upright = picture.disc(motor.model.inertia), picture.onto(motor.model.axis)
    radius, grey = disc.radius, COLOURS['rotor']

    def momentum(outcome: Outcome) -> Vector:
        return rotate(conjugate(placement.orientation), outcome.momentum(i))

    def sense(outcome: Outcome) -> Quaternion | None:
        spin = outcome.steps[i].state.spin
        return picture.onto(axis, spin) if spin else None

    def label(outcome: Outcome) -> tuple[bytes]:
        return (picture.label(motor.name, outcome.steps[i].state.spin).encode(),)

    body = {
        **_fields(CYLINDER, motor.rotor_frame, 'rotor', i, grey),
        'scale': _vector((2.0 * radius, 2.0 * radius, disc.thickness)),
    }
    dark = scale(0.3, grey)
    line = {
        **_fields(LINE_STRIP, motor.rotor_frame, 'rotor mark', i, dark),
        'scale': _vector((MARK_WIDTH * radius, 0.0, 0.0)),
        'points': [_vector(point) for point in picture.mark(disc)],
    }
    for one in (body, line):
        one['pose'] = _pose(ORIGIN, upright)
    arc = {
        **_fields(LINE_STRIP, motor.stator_frame, 'spin direction', i, COLOURS['spin direction']),
        'pose': _pose(ORIGIN, (MARK, 0.0, 0.0, 1.0)),
        'scale': _vector((RING_WIDTH * radius, 0.0, 0.0)),
        'points': [_vector(point) for point in picture.ring(RING * radius)],
    }
    base = _fields(ARROW, motor.stator_frame, 'momentum', i, COLOURS['momentum'])
    empty = picture.label(motor.name, 0.0)
    beside = rotate(upright, (0.0, NAME * radius, 0.0))
    name = _text(motor.stator_frame, 'name', i, grey, empty, beside, LETTER * radius)
    word = empty.encode()
    return [
        Shown(body),
        Shown(line),
        Shown(arc, '4d', (MARK, 0.0, 0.0, 1.0), STILL, sense),
        _arrow(base, MOMENTUM_WIDTH * radius, most, long, momentum),
        Shown(name, f'{len(word)}s', (word,), (word,), label),
    ]


def _arrow(
    base: Mapping[str, Any],
    width: float,
    most: float,
    long: float,
    of: Callable[[Outcome], Vector],
) -> Shown:
    """Return the arrow of a quantity, from the origin of its frame; not shorter than thick."""

    def tip(outcome: Outcome) -> Vector | None:
        return picture.arrow(of(outcome), long, width, most)

    end = (MARK, 0.0, 0.0)
    fields = {
        **base,
        'scale': _vector((width, HEAD * width, 0.0)),
        'points': [_vector(ORIGIN), _vector(end)],
    }
    return Shown(fields, '3d', end, (0.0, 0.0, width), tip)


def _legend(chosen: Settings, radius: float) -> list[Shown]:
    """Return a line of text for each colour, in it, beside the motors on the mount."""
    farthest = max(norm(motor.model.placement.position) for motor in chosen.motors)
    at = (0.0, -farthest - BESIDE * radius, 0.0)
    words = partial(_text, chosen.mount_frame, LEGEND)
    height = LETTER * radius
    places = [add(at, (0.0, 0.0, -1.5 * i * height)) for i in range(len(COLOURS))]
    return [
        Shown(words(i, COLOURS[name], name, places[i], height)) for i, name in enumerate(COLOURS)
    ]


def _text(
    frame: str, group: str, number: int, colour: Vector, text: str, at: Vector, height: float
) -> dict[str, Any]:
    return {
        **_fields(TEXT, frame, group, number, colour),
        'pose': _pose(at, STILL),
        'scale': _vector((0.0, 0.0, height)),
        'text': text,
    }


def _fields(
    kind: int, frame: str, group: str, number: int, colour: Vector, alpha: float = 1.0
) -> dict[str, Any]:
    """Return the fields that every marker has; a group is what RViz switches on and off."""
    return {
        'header': {'stamp': dict(zip(('sec', 'nanosec'), STAMP, strict=True)), 'frame_id': frame},
        'ns': group,
        'id': number,
        'type': kind,
        'action': ACTION[0],
        'pose': _pose(ORIGIN, STILL),
        'color': dict(zip('rgba', (*colour, alpha), strict=True)),
        'frame_locked': True,
    }


def _vector(numbers: Sequence[float]) -> dict[str, float]:
    return dict(zip(NUMBERS, numbers, strict=False))


def _pose(position: Vector, orientation: Quaternion) -> dict[str, Any]:
    return {'position': _vector(position), 'orientation': _vector(orientation)}
