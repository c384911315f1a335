"""
Recordings of one motor as columns of equal length, whatever file they come from.

A CSV has one row a sample. What its columns are called is told by options; the names that
`COLUMNS` lists are known, and the tables that a replay writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
import csv
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, shortened
from ..recording import check_separator, RecordingError

Array = NDArray[np.float64]
NANOSECONDS = 'stamp_ns'
OF_TABLE = '.torque_n_m'
"""How the torque of a motor ends in a table of motor_replay."""
LARGEST = 1e12
"""Of all that is recorded, in SI units."""
UNITS_OF_TIME = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
COLUMNS: dict[str, tuple[str, ...]] = {
    'time': ('t_s', 'time_s', 'time', 't', 'stamp_ns'),
    'torque': ('torque_Nm', 'torque_cmd_Nm', 'tau_meas{motor}_Nm', '{name}.torque_n_m',
               'torque_n_m', 'effort', 'torque'),
    'speed': ('speed_rad_s', 'velocity_rad_s', 'vel{motor}_rad_s', '{name}.speed_rad_s',
              'velocity', 'speed'),
    'position': ('position_rad', 'pos{motor}_rad', '{name}.angle_rad', 'angle_rad', 'position'),
    'mount_rate': ('vel{below}_rad_s', 'mount_rate_z_rad_s', 'mount_rate_rad_s'),
    'mount_angle': ('pos{below}_rad', 'mount_angle_rad'),
}  # fmt: skip
"""By quantity the names known, the first that a file has is taken; motor: --motor, a number."""


@dataclass(frozen=True)
class Log:
    """
    One recording, arrays of shape (N,), N >= 2.

    Parameters
    ----------
    time : [s], rising
    torque : [N m], or [A] with a current
        On the rotor about the axis, as commanded or as measured; held from its row to the next.
    speed : [rad/s] against the stator, or None
    position : [rad] against the stator, unwrapped, or None
    mount_rate : [rad/s], or None where the mount stands still
        Of the mount about the axis.
    mount_angle : [rad] or None
        Of the mount about the axis: with it the load hangs on position + mount_angle.
    at_end : bool
        The torque of a row acted until the row, as in what this package writes, not from it on.

    Raises
    ------
    RecordingError
        If the arrays are no such recording.

    """

    time: Array
    torque: Array
    speed: Array | None = None
    position: Array | None = None
    mount_rate: Array | None = None
    mount_angle: Array | None = None
    name: str = 'recording'
    at_end: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    """By quantity what it is called in the recording."""

    def __post_init__(self) -> None:
        arrays = {}
        for name in ('time', 'torque', 'speed', 'position', 'mount_rate', 'mount_angle'):
            value = getattr(self, name)
            if value is None:
                continue
            array = arrays[name] = np.asarray(value, dtype=np.float64)
            if array.ndim != 1 or len(array) < 2 or len(array) != len(arrays['time']):
                rule = 'one number a sample, at least 2, as many as there are times'
                raise RecordingError(
                    f'{name} of {self.name} must be {rule}, got shape {array.shape}.'
                )
            most = np.finfo(float).max if name == 'time' else LARGEST
            odd = ~(np.abs(array) <= most)
            if odd.any():
                row = int(np.flatnonzero(odd)[0])
                rule = 'finite' if name == 'time' else f'finite and at most {LARGEST:g}'
                raise RecordingError(
                    f'{name} of {self.name} must be {rule}, got {array[row]} in sample {row}. '
                    'Cut that stretch out.'
                )
            object.__setattr__(self, name, array)
        if self.speed is None and self.position is None:
            raise RecordingError(f'{self.name} must have a speed or a position, got neither.')
        if not (np.diff(self.time) > 0.0).all():
            row = int(np.flatnonzero(np.diff(self.time) <= 0.0)[0]) + 1
            raise RecordingError(
                f'time of {self.name} must rise from sample to sample, got '
                f'{self.time[row]:.9g} s after {self.time[row - 1]:.9g} s in sample {row}.'
            )

    def __len__(self) -> int:
        return len(self.time)

    def between(self, start: float = 0.0, duration: float | None = None) -> Log:
        """
        Return the part that begins ``start`` [s] after the first sample; None: to the end.

        Raises
        ------
        RecordingError
            If there are not two samples in it.

        """
        since = self.time - self.time[0]
        stop = np.inf if duration is None else start + duration
        inside = (since >= start) & (since <= stop)
        if np.count_nonzero(inside) < 2:
            raise RecordingError(
                f'{self.name} must have 2 samples from {start:g} s on'
                + ('' if duration is None else f' for {duration:g} s')
                + f', got {np.count_nonzero(inside)}; it lasts {since[-1]:.9g} s.'
            )
        names = ('time', 'torque', 'speed', 'position', 'mount_rate', 'mount_angle')
        arrays = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        return replace(self, **{n: array[inside] for n, array in arrays.items()})


def read(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    motor: str = '',
    topic: str = '',
    time_unit: str = '',
) -> Log:
    """
    Read a CSV with a header line, or a rosbag2 recording with JointState in it.

    Parameters
    ----------
    path
        Of the file or folder.
    columns
        Names of its columns by quantity (keys of COLUMNS, or `current`); others are looked for.
    motor
        Number or name of the motor, where a file has several; of a recording, that of the joint.
    topic
        Of JointState, where a recording has several.
    time_unit
        Of the column of the time, a key of UNITS_OF_TIME; '': s, or ns of `stamp_ns`.

    Raises
    ------
    RecordingError
        If it cannot be read, or a column is missing or no number.
    ParameterError
        If the unit is none.

    """
    from .bags import is_bag, read_bag

    if time_unit and time_unit not in UNITS_OF_TIME:
        raise ParameterError('time_unit', f'one of {", ".join(UNITS_OF_TIME)}', repr(time_unit))
    path = Path(path)
    if is_bag(path):
        return read_bag(path, topic, motor)
    if path.suffix.lower() == '.parquet':
        raise RecordingError(f'{path} must be a CSV or a rosbag2. Have the table made with --csv.')
    with _rows(path) as rows:
        header = [name.strip() for name in next(rows, [])]
        chosen = _chosen(path, header, dict(columns or {}), motor)
        unit = time_unit or ('ns' if chosen['time'] == NANOSECONDS else 's')
        values = _columns(path, rows, header, chosen, from_first=unit != 's')
    values['time'] = values['time'] * UNITS_OF_TIME[unit]
    own = chosen['torque'].endswith(OF_TABLE)
    return Log(name=path.name, at_end=own, columns=chosen, **values)


def _chosen(
    path: Path, header: Sequence[str], given: dict[str, str], motor: str
) -> dict[str, str]:
    """Return the names of the columns by quantity."""
    hint = 'Save it with commas between columns and points in numbers.'
    check_separator(path, header, hint)
    if 'current' in given:
        given['torque'] = given.pop('current')
    there = shortened(', '.join(map(repr, header)) or 'none')
    tables = [x.removesuffix(OF_TABLE) for x in header if x.endswith(OF_TABLE)]
    asked = motor
    if not motor and len(tables) == 1:
        motor = tables[0]
    chosen: dict[str, str] = {}
    for quantity, known in COLUMNS.items():
        name = given.get(quantity) or _known(known, header, motor)
        if name and name not in header:
            raise RecordingError(f'{path} has no column {name!r}; it has {there}.')
        if header.count(name) > 1:
            raise RecordingError(f'{path}, line 1: there are two columns {name!r}.')
        if name:
            chosen[quantity] = name
    for quantity in ('time', 'torque'):
        if quantity not in chosen:
            of = f' of motor {motor!r}' if motor and quantity == 'torque' else ''
            raise RecordingError(
                f'{path} has no column known as {quantity}{of}; it has {there}. Name one with '
                f'--{quantity}, or the motor of several with --motor.'
            )
    if asked and not set(chosen.values()) & set(_names_of(asked)):
        raise RecordingError(
            f'{path} has no column of motor {asked!r}; it has {there}. Leave --motor out.'
        )
    return chosen


def _names_of(motor: str) -> list[str]:
    """Return what the columns of one motor of several may be called."""
    known = [x for names in COLUMNS.values() for x in names if '{motor}' in x or '{name}' in x]
    return [pattern.format(motor=motor, name=motor) for pattern in known]


def _known(known: Sequence[str], header: Sequence[str], motor: str) -> str:
    below = str(int(motor) - 1) if motor.isdecimal() else ''
    names = {'motor': motor, 'name': motor, 'below': below}
    for pattern in known:
        if ('{below}' in pattern and below in ('', '0')) or ('{' in pattern and not motor):
            continue
        name = pattern.format(**names)
        if name in header:
            return name
    return ''


@contextmanager
def _rows(path: Path) -> Iterator[Any]:
    """Open a CSV; what goes wrong with the file becomes a RecordingError."""
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            yield csv.reader(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise RecordingError(f'{path} cannot be read: {reason}.') from None


def _columns(
    path: Path, rows: Any, header: Sequence[str], chosen: Mapping[str, str], from_first: bool
) -> dict[str, Any]:
    """Return the columns that were chosen as arrays, by quantity; the time as it is or from 0."""
    places = [header.index(name) for name in chosen.values()]
    time = list(chosen).index('time')
    first: int | float | None = None
    table = []
    for row in rows:
        if not row:
            continue
        if len(row) != len(header):
            raise RecordingError(
                f'line {rows.line_num} of {path} must have {len(header)} values as the '
                f'header, got {len(row)}. Is the file cut short?'
            )
        numbers = [_number(path, rows.line_num, header[k], row[k]) for k in places]
        if from_first:  # of a count of ns since 1970 no digit is lost
            first = numbers[time] if first is None else first
            numbers[time] -= first
        table.append(numbers)
    if len(table) < 2:
        raise RecordingError(
            f'{path} must be a CSV of a header and at least 2 rows, got {len(table)}.'
        )
    return dict(zip(chosen, np.array(table, dtype=np.float64).T.copy(), strict=True))


def _number(path: Path, line: int, column: str, text: str) -> int | float:
    with suppress(ValueError):
        # A float holds whole numbers to 2^53 only, and stamps are greater.
        return int(text) if text.strip().isdecimal() and len(text) < 25 else float(text)
    hint = ' Numbers have a point, not a comma.' if ',' in text else ' Cut that row out.'
    raise RecordingError(
        f'line {line} of {path}: {column} must be a number, got {shortened(text, 40)!r}.{hint}'
    )
