"""
A CSV file of a bench as a recording: each row becomes stamped inputs of a session.

The first line names the columns. ``t_s`` or ``stamp_ns`` is the time; what else is an input is
in `KNOWN`, and the columns that ``motor_replay`` writes are among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
import csv
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from ..drive import COMMANDED_BY
from ..errors import shortened
from ..inputs import Imu, JointCommand, Odometry, Transform, Twist
from ..session import source_of
from ..settings import MotorSettings, Settings
from ..timeline import NANOSECONDS
from ..vector import conjugate, rotate
from .feed import Arrived
from .recording import check_separator, RecordingError

TIME = ('stamp_ns', 't_s')
POSE = ('mount_x_m', 'mount_y_m', 'mount_z_m', 'mount_qx', 'mount_qy', 'mount_qz', 'mount_qw')
RATE = ('wx_rad_s', 'wy_rad_s', 'wz_rad_s')
RATE_IN_WORLD = ('mount_rate_x_rad_s', 'mount_rate_y_rad_s', 'mount_rate_z_rad_s')
COMMANDS = {
    # By what a command is: names without a motor's, the likeliest first.
    'efforts': (
        'command',
        'torque_des_Nm',
        'torque_cmd_Nm',
        'tau_cmd_Nm',
        'torque_des_n_m',
        'torque_cmd_n_m',
        'torque_n_m',
        'torque_Nm',
    ),
    'velocities': ('command', 'speed_cmd_rad_s', 'velocity_cmd_rad_s', 'speed_des_rad_s'),
    'positions': ('command', 'position_cmd_rad', 'position_des_rad'),
    'volts': ('command', 'voltage_cmd_v', 'voltage_v'),
}
LATEST_NS = 2**31 * NANOSECONDS
"""Where the stamps of ROS end [ns]."""
NUMBERED = ('tau_cmd{}_Nm', 'torque_cmd{}_Nm', 'torque{}_n_m')
"""Torques of several motors, counted from 1."""


class _Columns(NamedTuple):
    """Where in a row what stands."""

    time: int
    is_ns: bool
    pose: tuple[int, ...]
    rate: tuple[int, ...]
    rate_in_world: bool
    commands: dict[int, int]
    """By the index of the motor."""


class Log:
    """
    A CSV file.

    Parameters
    ----------
    path
        The file.
    columns
        Names of inputs, and the columns of the file that are meant by them.

    Attributes
    ----------
    header : the names of the columns, as inputs are named
    cut : one line that says where an unreadable rest begins

    Raises
    ------
    RecordingError
        If it cannot be read, or has no column for the time.

    """

    def __init__(self, path: str | Path, columns: Mapping[str, str] | None = None) -> None:
        self.path = Path(path)
        self.cut = ''
        if self.path.exists() and not self.path.is_file():
            raise RecordingError(f'{self.path} must be a file, and is none.')
        with self._open() as file:
            try:
                found = [name.strip() for name in next(csv.reader(file), [])]
            except csv.Error as error:
                raise RecordingError(f'{self.path}, line 1: {error}.') from None
        if not any(found):
            raise RecordingError(
                f'{self.path}, line 1: it is empty. The first line must name the columns.'
            )
        check_separator(self.path, found)
        self._own = list(found)
        for name, column in (columns or {}).items():
            if column not in found:
                raise RecordingError(
                    f'{self.path}, line 1: no column {column!r} for {name}; there are '
                    f'{_listed(found)}.'
                )
            found[found.index(column)] = name
        self.header, self._given = found, dict(columns or {})
        twice = next((x for x in found if x and found.count(x) > 1), '')
        if twice:
            raise RecordingError(f'{self.path}, line 1: there are two columns {twice!r}.')
        if not set(TIME) & set(found):
            raise RecordingError(
                f'{self.path}, line 1: a column t_s [s] or stamp_ns is needed, there are '
                f'{_listed(found)}. Name it so, or say which it is: --column t_s=NAME.'
            )
        self.start_ns = self.end_ns = 0
        self._look_at_the_ends()

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.path.name

    def _open(self) -> Any:
        try:
            return open(self.path, newline='', encoding='utf-8-sig', errors='replace')
        except OSError as error:
            raise RecordingError(f'{self.path} cannot be read: {error.strerror}.') from None

    def _look_at_the_ends(self) -> None:
        """Find the times of the first row and of the last, as far as they are good."""
        is_ns = 'stamp_ns' in self.header
        at = self.header.index('stamp_ns' if is_ns else 't_s')

        def first_good(rows: Iterator[list[str]]) -> int:
            for cells in rows:
                with suppress(ValueError, IndexError):
                    return _time(cells[at], is_ns)
            return 0

        with self._open() as file, suppress(csv.Error):
            rows = csv.reader(file)
            next(rows)
            self.start_ns = first_good(islice(rows, 100))
        with open(self.path, 'rb') as file:
            file.seek(max(0, self.path.stat().st_size - 65536))
            last = file.read().decode('utf-8', 'replace').splitlines()[-100:]
        with suppress(csv.Error):
            self.end_ns = max(self.start_ns, first_good(iter([*csv.reader(last)][::-1])))

    def columns(self, chosen: Settings) -> _Columns:
        """
        Find where what stands, for a node with these settings.

        Raises
        ------
        RecordingError
            If nothing in it is an input, or a column that was named is none.

        """
        where = {name: i for i, name in reversed(list(enumerate(self.header)))}

        def all_of(names: Sequence[str]) -> tuple[int, ...]:
            return tuple(where[x] for x in names) if all(x in where for x in names) else ()

        commands = {}
        for i, motor in enumerate(chosen.motors):
            names = [f'{motor.name}.{x}' for x in _commands_of(motor)]
            names += [x.format(i + 1) for x in NUMBERED]
            names += _commands_of(motor) if len(chosen.motors) == 1 else ()
            found = [where[x] for x in names if x in where]
            if found:
                commands[i] = found[0]
        is_ns = 'stamp_ns' in where
        rate = all_of(RATE)
        made = _Columns(
            where['stamp_ns' if is_ns else 't_s'],
            is_ns,
            all_of(POSE),
            rate or all_of(RATE_IN_WORLD),
            not rate,
            commands,
        )
        if not (made.pose or made.rate or made.commands):
            first = chosen.motors[0].name
            raise RecordingError(
                f'{self.path}, line 1: no column is an input, such as {first}.command, '
                f'{RATE[0]} or {POSE[0]}; there are {_listed(self.header)}. Say which is what: '
                f'--column {first}.command=NAME.'
            )
        taken = {made.time, *made.pose, *made.rate, *made.commands.values()}
        if idle := next((name for name in self._given if where[name] not in taken), ''):
            commands_of = [f'{motor.name}.{_commands_of(motor)[0]}' for motor in chosen.motors]
            raise RecordingError(
                f'--column {idle}={self._given[idle]} must name an input, one of '
                f'{_listed([*TIME, *commands_of])}, or {", ".join(RATE)}, or all 7 of '
                f'{", ".join(POSE)}.'
            )
        return made

    def used(self, found: _Columns, chosen: Settings) -> dict[str, str]:
        """Return which columns are read, and for what."""
        has_pose = chosen.world_frame != chosen.mount_frame and (
            chosen.pose_source != 'imu' or chosen.rate_source == 'odometry'
        )
        used = {self._own[i]: 'mount pose' for i in found.pose if has_pose}
        if chosen.rate_source in ('imu', 'twist', 'odometry'):
            used |= {self._own[i]: 'mount rate' for i in found.rate}
        return used | {
            self._own[at]: f'command of {chosen.motors[i].name}'
            for i, at in found.commands.items()
        }

    def unread(self, found: _Columns) -> list[str]:
        """Return the numbered torques of motors that the settings do not have."""
        numbered = {x.format(n) for x in NUMBERED for n in range(1, len(self.header) + 1)}
        read = {self.header[at] for at in found.commands.values()}
        return [name for name in self.header if name in numbered and name not in read]

    def rows(self, found: _Columns) -> Iterator[tuple[int, list[float]]]:
        """Give time [ns] and numbers of each row, until one is no good: that is said in `cut`."""
        needed = sorted({*found.pose, *found.rate, *found.commands.values()})
        width, last_ns, count = len(self.header), -1, 0
        with self._open() as file:
            reader = csv.reader(file)
            next(reader)
            try:
                for cells in reader:
                    if not any(cell.strip() for cell in cells):
                        continue
                    if len(cells) != width:
                        raise ValueError(f'{len(cells)} cells for {width} columns')
                    stamp_ns = _time(cells[found.time], found.is_ns)
                    numbers = [0.0] * width
                    for at in needed:
                        text = cells[at].strip()
                        try:
                            numbers[at] = float(_digits(text)) if text else float('nan')
                        except ValueError:
                            raise ValueError(
                                f'{self.header[at]} must be a number, got {text!r}'
                            ) from None
                    if stamp_ns < 0:
                        raise ValueError('a time before 0; count from the first row')
                    if stamp_ns < last_ns:
                        name, now = self.header[found.time], cells[found.time].strip()
                        raise ValueError(f'{name} goes back, to {now}; sort the rows by time')
                    last_ns, count = stamp_ns, count + 1
                    yield stamp_ns, numbers
            except (ValueError, csv.Error) as error:
                self.cut = (
                    f'{self.path}, line {reader.line_num}: {error}. The {count} rows before it '
                    'are used.'
                )


def _commands_of(motor: MotorSettings) -> tuple[str, ...]:
    """Return the names that the command of a motor may have."""
    mode = motor.drive.mode
    return COMMANDS['volts' if mode == 'voltage' else COMMANDED_BY.get(mode, 'efforts')]


def _time(text: str, is_ns: bool) -> int:
    shown = shortened(text.strip(), 40)
    name, least = (TIME[0], LATEST_NS) if is_ns else (TIME[1], LATEST_NS // NANOSECONDS)
    try:
        time_ns = int(_digits(text)) if is_ns else round(float(_digits(text)) * NANOSECONDS)
    except OverflowError:
        time_ns = LATEST_NS
    except ValueError:
        raise ValueError(f'{name} must be a number, got {shown!r}') from None
    if time_ns >= LATEST_NS:
        raise ValueError(f'{name} must be below {least}, got {shown} (another unit?)')
    return time_ns


def _digits(text: str) -> str:
    """Return a text that may be a number; Python takes 1_0 for one too."""
    if '_' in text:
        raise ValueError
    return text


def _listed(names: Sequence[str]) -> str:
    shown = [name if name.isprintable() else repr(name) for name in names[:12]]
    more = f' and {len(names) - 12} more' if len(names) > 12 else ''
    return (', '.join(shown) + more) or 'none'


class LogFeed:
    """The inputs in a CSV file, for a node with these settings."""

    def __init__(self, log: Log, chosen: Settings) -> None:
        self._log, self._chosen = log, chosen
        self._found = log.columns(chosen)
        if chosen.rate_source == 'odometry' and not (self._found.rate and self._found.pose):
            raise RecordingError(
                f'{log.path}, line 1: rate_source odometry needs columns of the rate and of the '
                f'pose, {RATE[0]} ... and {POSE[0]} ...; there are {_listed(log.header)}. Take '
                'another rate_source.'
            )
        self._begins = self._begin()
        log.start_ns = self._begins or log.start_ns
        self.sources = log.used(self._found, chosen)
        self.notes = [
            'read: ' + ', '.join(f'{column} ({what})' for column, what in self.sources.items())
        ]
        if unread := log.unread(self._found):
            self.notes.append(
                f'not read: {", ".join(unread)}. Name as many motors, as -p motors:=[one,two].'
            )

    def arrived(self) -> Iterator[Arrived]:
        """Read the rows."""
        found = self._found
        if self._begins:
            yield Arrived(self._begins, 0, 'csv', ())
        for stamp_ns, numbers in self._log.rows(found):
            now_ns = stamp_ns or 1  # nothing is stamped 0
            items = list(self._items(now_ns, numbers))
            for turn, item in enumerate(items):
                yield Arrived(now_ns, turn, source_of(item), (item,))
            if not items:
                yield Arrived(now_ns, 0, 'csv', ())

    def _begin(self) -> int:
        """Return where the first step of a table begins [ns], so that it is taken again."""
        if 'dt_s' in self._log.header:
            at = self._log.header.index('dt_s')
            found = self._found._replace(rate=(*self._found.rate, at))
            for stamp_ns, numbers in self._log.rows(found):
                if 0.0 < numbers[at] < 1.0:
                    return max(1, stamp_ns - round(numbers[at] * NANOSECONDS))
                break
        return 0

    def _items(self, stamp_ns: int, numbers: list[float]) -> Iterator[Any]:
        found, chosen = self._found, self._chosen
        world, mount = chosen.world_frame, chosen.mount_frame
        pose = tuple(numbers[i] for i in found.pose)
        rate: Any = tuple(numbers[i] for i in found.rate)
        if pose and world != mount:
            position: Any = pose[:3]
            orientation: Any = pose[3:]
            if 'odometry' in (chosen.pose_source, chosen.rate_source):
                own: Any = rate or (0.0, 0.0, 0.0)  # which then is not read
                if rate and found.rate_in_world:  # of an odometry it is in the mount's axes
                    own = rotate(conjugate(orientation), rate)
                yield Odometry(stamp_ns, world, mount, position, orientation, own)
            if chosen.pose_source == 'tf':
                yield Transform(stamp_ns, world, mount, position, orientation)
        if rate:
            frame = world if found.rate_in_world else mount
            if chosen.rate_source == 'imu':
                yield Imu(stamp_ns, frame, rate)
            elif chosen.rate_source == 'twist':
                yield Twist(stamp_ns, frame, rate)
        for i, at in found.commands.items():
            value, motor = numbers[at], chosen.motors[i]
            if not isfinite(value):
                continue  # a cell that is empty, or nan: no command in this row
            kind = COMMANDED_BY.get(motor.drive.mode, 'efforts')
            one = (value,)
            yield JointCommand(
                stamp_ns,
                (motor.joint,),
                one if kind == 'efforts' else (),
                one if kind == 'velocities' else (),
                one if kind == 'positions' else (),
            )
