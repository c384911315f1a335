"""
What is known of a running motor node, as text: numbers to words, lines and a table.

Pure functions of a `View`; no ROS, no clock. Only `screen` needs the package rich.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from typing import Any

from .vector import Vector

LEVELS = ('ok', 'warning', 'error', 'stale')  # of diagnostic_msgs/DiagnosticStatus
STYLES = ('green', 'yellow', 'bold red', 'red')  # one a level


@dataclass(frozen=True)
class Status:
    """One status of the node's diagnostics."""

    level: int
    message: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Motor:
    """The newest of one motor; None is what was not received."""

    name: str
    spin: float | None = None
    relative_speed: float | None = None
    angle: float | None = None
    torque: float | None = None


@dataclass(frozen=True)
class View:
    """All that is shown at one moment; None is what was not received."""

    node: str
    seconds: float = 0.0
    age: float | None = None
    """Time since the last output of the node was received [s]."""
    publishers: int = 0
    """How many publish the node's outputs; 0: there is no such node."""
    motors: tuple[Motor, ...] = ()
    momentum: Vector | None = None
    reaction: tuple[Vector, Vector] | None = None
    mount_wrench: tuple[Vector, Vector] | None = None
    statuses: Mapping[str, Status] = field(default_factory=dict)
    """By what they are about: 'stepping', 'mount pose', 'mount rate', 'command' ..."""


def number(value: float | None, digits: int = 4) -> str:
    """
    Return a number with its sign column and ``digits`` significant digits, short of exponents.

    Numbers too small or too large to read that way get an exponent; '-' is a number not known.
    """
    if value is None:
        return '-'
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size == 0.0:
        return ' 0'
    if not 1e-4 <= size < 1e6:
        return f'{value: .{digits - 1}e}'
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    return f'{value: .{decimals}f}'


def norm(vector: Vector) -> float:
    """Return the length of a vector."""
    return math.hypot(*vector)


def duration(seconds: float) -> str:
    """Return a time in the unit a reader would take: 250 us, 12 ms, 3.2 s, 4 min 05 s."""
    if not math.isfinite(seconds):
        return 'for ever'
    size = abs(seconds)
    if size < 0.9995e-3:
        return f'{seconds * 1e6:.0f} us'
    if size < 0.9995:
        return f'{seconds * 1e3:.0f} ms'
    if size < 59.95:
        return f'{seconds:.1f} s'
    minutes, rest = divmod(round(size), 60)
    return f'{"-" if seconds < 0 else ""}{minutes} min {rest:02d} s'


def ago(seconds: float | None) -> str:
    """Return the age of something in words."""
    if seconds is None:
        return 'never'
    return f'{duration(max(0.0, seconds))} ago'


def status_age(status: Status) -> float | None:
    """Return the age a status tells [s]: its value named 'age (s)' or 'age (ms)'."""
    for key, scale in (('age (s)', 1.0), ('age (ms)', 1e-3)):
        try:
            return float(status.values[key]) * scale
        except (KeyError, ValueError):
            continue
    return None


def input_text(name: str, status: Status) -> str:
    """Return one input of the node in words: its name, its age, and what is wrong with it."""
    age = status_age(status)
    text = name if age is None or not math.isfinite(age) else f'{name} {ago(age)}'
    return text if status.level == 0 and age is not None else f'{text} ({status.message})'


def loop_lines(stepping: Status | None) -> list[str]:
    """Return the health of the node's loop: its rate and what it missed, and its lateness."""
    if stepping is None:
        return ['loop: no diagnostics yet']
    value = stepping.values
    wanted, reached = value.get('wanted rate (Hz)', '?'), value.get('reached rate (Hz)', '?')
    is_number = wanted.replace('.', '', 1).isdigit()
    rate = f'{reached} of {wanted} steps/s' if is_number else f'{reached} steps/s, {wanted}'
    counts = [f'{name} {value[key]}' for name, key in _COUNTS if key in value]
    lines = ['loop: ' + ', '.join([rate, *counts])]
    late = [f'{x} {value[key]}' for x in _LATE if (key := f'lateness {x} (ms)') in value]
    if late:
        lines.append(f'lateness: {", ".join(late)} ms')
    return lines


_COUNTS = (('caught up', 'steps caught up'), ('gaps', 'gaps'))
_LATE = ('p50', 'p99', 'max')


def state_text(view: View) -> str:
    """Return in one line what the node is doing, or what is waited for."""
    if view.age is not None and view.age < 1.0:
        return 'stepping'
    if view.publishers == 0:
        gone = '' if view.age is None else f' (its last output came {ago(view.age)})'
        return f'waiting for the node {view.node}{gone}; is ROS_DOMAIN_ID the same?'
    why = _why_silent(view.statuses)
    if view.age is None:
        return f'{view.node} is there and has made no step yet ({why})'
    return f'{view.node} made its last step {ago(view.age)} ({why})'


def _why_silent(statuses: Mapping[str, Status]) -> str:
    """Return why there are no steps: what the loop itself says, or else all that is wrong."""
    stepping = statuses.get('stepping')
    if stepping is not None and stepping.level:
        return stepping.message
    wrong = [f'{name}: {status.message}' for name, status in statuses.items() if status.level]
    return '; '.join(wrong) or 'no reason given yet'


def plain_line(view: View) -> str:
    """Return the view in one line, for where there is no terminal."""
    if view.age is None or view.age >= 1.0:
        return f'{view.seconds:6.1f} s  {state_text(view)}'
    parts = [
        f'{motor.name}: spin {number(motor.spin).strip()} rad/s, '
        f'angle {number(motor.angle).strip()} rad, torque {number(motor.torque).strip()} N m'
        for motor in view.motors
    ]
    if view.mount_wrench is not None:
        parts.append(f'|mount wrench| {number(norm(view.mount_wrench[1])).strip()} N m')
    parts += loop_lines(view.statuses.get('stepping'))
    return f'{view.seconds:6.1f} s  ' + ' | '.join(parts)


def motor_rows(view: View) -> list[tuple[str, ...]]:
    """Return one row a motor: name, spin, relative speed, angle, turns, torque."""
    return [
        (
            motor.name,
            number(motor.spin),
            number(motor.relative_speed),
            number(motor.angle),
            '-' if motor.angle is None else f'{motor.angle / math.tau: .1f}',
            number(motor.torque),
        )
        for motor in view.motors
    ]


def vector_rows(view: View) -> list[tuple[str, ...]]:
    """Return one row a vector, all in mount axes: name, unit, x, y, z, length."""
    reaction, wrench = view.reaction or (None, None), view.mount_wrench or (None, None)
    return [
        _vector_row('momentum', 'N m s', view.momentum),
        _vector_row('reaction, force', 'N', reaction[0]),
        _vector_row('reaction, torque', 'N m', reaction[1]),
        _vector_row('mount wrench, force', 'N', wrench[0]),
        _vector_row('mount wrench, torque', 'N m', wrench[1]),
    ]


def _vector_row(name: str, unit: str, vector: Vector | None) -> tuple[str, ...]:
    if vector is None:
        return (name, unit, '-', '-', '-', '-')
    length = norm(vector)
    # What rounding leaves of a component that is 0 is no reading.
    shown = (0.0 if abs(x) < 1e-12 * length else x for x in vector)
    return (name, unit, *(number(x) for x in shown), number(length))


def screen(view: View) -> Any:
    """Return the view as something rich can draw."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    def table(*columns: str) -> Table:
        drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style='dim')
        for at, column in enumerate(columns):
            is_text = at == 0 or column == 'unit'
            # A least width keeps the columns still while the numbers change.
            drawn.add_column(
                column,
                justify='left' if is_text else 'right',
                min_width=20 if at == 0 else 5 if is_text else 10,
                no_wrap=True,
            )
        return drawn

    motors = table('motor', 'spin rad/s', 'relative', 'angle rad', 'turns', 'torque N m')
    for row in motor_rows(view):
        motors.add_row(*(Text(cell) for cell in row))
    vectors = table('in mount axes', 'unit', 'x', 'y', 'z', 'length')
    for row in vector_rows(view):
        vectors.add_row(*(Text(cell) for cell in row))

    state = state_text(view)
    is_good = state == 'stepping'
    title = Text.assemble(
        (view.node, 'bold'), f'  {view.seconds:.1f} s  ', (state, 'green' if is_good else 'yellow')
    )
    lines: list[Any] = [title, Text(), motors, Text(), vectors, Text()]
    stepping = view.statuses.get('stepping')
    style = STYLES[min(stepping.level, 3)] if stepping else 'dim'
    lines += [Text(line, style) for line in loop_lines(stepping)]
    for name in ('mount pose', 'mount rate', 'command', 'transforms', 'time'):
        status = view.statuses.get(name)
        if status is not None and (status.level or status_age(status) is not None):
            lines.append(Text(input_text(name, status), STYLES[min(status.level, 3)]))
    return Group(*lines)
