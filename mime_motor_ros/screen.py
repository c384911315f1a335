"""
What is known of a running motor node, as text: numbers to words, lines and a table.

Pure functions of a `View`; no ROS, no clock. Only `screen` needs the package rich.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
from typing import Any

from .figures import duration
from .vector import norm, Vector

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
    note: str = ''
    """What is known better than the node knows it: that it starts, that a recording has ended."""


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


def status_text(status: Status) -> str:
    """Return a status in words: how old what it is about is, and what is wrong with it."""
    age = status_age(status)
    if age is None or not math.isfinite(age):
        return status.message
    return ago(age) if status.level == 0 else f'{ago(age)}: {status.message}'


def loop_rows(stepping: Status | None) -> list[tuple[str, str]]:
    """Return the health of the node's loop: its rate and what it missed, and its lateness."""
    if stepping is None:
        return [('loop', 'no diagnostics yet')]
    value = stepping.values
    wanted, reached = value.get('wanted rate (Hz)', '?'), value.get(RATE)
    is_number = wanted.replace('.', '', 1).isdigit()
    if reached is None:
        rate = 'not measured yet' + (f', {wanted} steps/s wanted' if is_number else '')
    else:
        rate = f'{reached} of {wanted} steps/s' if is_number else f'{reached} steps/s, {wanted}'
    rows = [('loop', ', '.join([rate, *_counts(value)]))]
    late = [f'{x} {value[key]}' for x in _LATE if (key := f'lateness {x} (ms)') in value]
    if late:
        rows.append(('lateness', f'{", ".join(late)} ms'))
    return rows


def _counts(value: Mapping[str, str]) -> list[str]:
    return [f'{name} {value[key]}' for name, key in _COUNTS if key in value]


RATE = 'reached rate (Hz)'
_COUNTS = (('caught up', 'steps caught up'), ('gaps', 'gaps'))
_LATE = ('p50', 'p99', 'max')


def status_rows(view: View) -> list[tuple[str, str, str]]:
    """Return what the node says of itself, a row each: about what, in words, and its style."""
    stepping = view.statuses.get('stepping')
    if view.note:  # what is missing is missing as it should be
        steps = stepping.values.get('steps', '0') if stepping else '0'
        made = [] if stepping is None or steps == '0' else _counts(stepping.values)
        return [('loop', ', '.join([f'{steps} steps', *made]), 'dim')] if made else []
    is_measured = stepping is not None and RATE in stepping.values
    style = STYLES[min(stepping.level, 3)] if stepping is not None and is_measured else 'dim'
    rows = [(*row, style) for row in loop_rows(stepping)]
    others = {name: status for name, status in view.statuses.items() if name != 'stepping'}
    if stepping is not None and stepping.level and not any(x.level > 1 for x in others.values()):
        rows.append(('stepping', stepping.message, style))  # else they say it, and more
    rows += [
        (name, status_text(status), STYLES[min(status.level, 3)])
        for name, status in others.items()
        if status.level or status_age(status) is not None
    ]
    return rows


def state(view: View) -> str:
    """Return in some words what the node is doing."""
    if view.note:
        return view.note
    if view.age is not None and view.age < 1.0:
        return 'stepping'
    if view.publishers == 0:
        gone = '' if view.age is None else f' (its last output came {ago(view.age)})'
        return f'waiting for the node {view.node}{gone}; is ROS_DOMAIN_ID the same?'
    if view.age is None:
        return 'no step yet'
    return f'no step for {duration(view.age)}'


def state_text(view: View) -> str:
    """Return in one line what the node is doing, or what is waited for and why."""
    said = state(view)
    if not said.startswith('no step'):
        return said
    why = _why_silent(view.statuses)
    if view.age is None:
        return f'{view.node} is there and has made no step yet ({why})'
    return f'{view.node} made its last step {ago(view.age)} ({why})'


def _why_silent(statuses: Mapping[str, Status]) -> str:
    """Return why there are no steps: what the loop itself says, or else all that is wrong."""
    stepping = statuses.get('stepping')
    if stepping is not None and stepping.level:
        return stepping.message.removeprefix('no steps: ')
    wrong = [f'{name}: {status.message}' for name, status in statuses.items() if status.level]
    return '; '.join(wrong) or 'no reason given yet'


def plain_line(view: View) -> str:
    """Return the view in one line, for where there is no terminal."""
    if state(view) != 'stepping':
        return f'{view.seconds:6.1f} s  {state_text(view)}'
    parts = [
        f'{motor.name}: spin {number(motor.spin).strip()} rad/s, '
        f'angle {number(motor.angle).strip()} rad, torque {number(motor.torque).strip()} N m'
        for motor in view.motors
    ]
    if view.mount_wrench is not None:
        parts.append(f'|mount wrench| {number(norm(view.mount_wrench[1])).strip()} N m')
    parts += [f'{name}: {text}' for name, text in loop_rows(view.statuses.get('stepping'))]
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

    health = Table.grid(padding=(0, 2, 0, 0))
    health.add_column(min_width=10, max_width=20)
    health.add_column()  # a long text goes on below itself
    for name, text, style in status_rows(view):
        health.add_row(Text(name, style), Text(text, style))

    said = state(view)
    is_good = said == 'stepping'
    title = Text.assemble(
        (view.node, 'bold'), f'  {view.seconds:.1f} s  ', (said, 'green' if is_good else 'yellow')
    )
    return Group(title, Text(), motors, Text(), vectors, Text(), health)
