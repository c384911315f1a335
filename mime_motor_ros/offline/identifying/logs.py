"""
Recordings of one motor as columns of equal length, whatever file they come from.

A CSV has one row a sample. What its columns are called is told by options; the names that
`COLUMNS` lists are known, and the tables that a replay writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..recording import RecordingError

Array = NDArray[np.float64]
NANOSECONDS = 'stamp_ns'
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
            if not np.isfinite(array).all():
                row = int(np.flatnonzero(~np.isfinite(array))[0])
                raise RecordingError(
                    f'{name} of {self.name} must be finite, got {array[row]} in sample {row}. '
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


def read(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    motor: str = '',
    topic: str = '',
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

    Raises
    ------
    RecordingError
        If it cannot be read, or a column is missing or no number.

    """
    from .bags import is_bag, read_bag

    if is_bag(Path(path)):
        return read_bag(Path(path), topic, motor)
    given = dict(columns or {})
    header, table = _csv(Path(path))
    chosen: dict[str, str] = {}
    if 'current' in given:
        given['torque'] = given.pop('current')
    for quantity, known in COLUMNS.items():
        name = given.get(quantity) or _known(known, header, motor)
        if name and name not in header:
            raise RecordingError(
                f'{path} has no column {name!r}; it has {", ".join(map(repr, header))}.'
            )
        if name:
            chosen[quantity] = name
    for quantity in ('time', 'torque'):
        if quantity not in chosen:
            raise RecordingError(
                f'{path} has no column known as {quantity}; it has '
                f'{", ".join(map(repr, header))}. Name one with --{quantity}, or the motor '
                'of several with --motor.'
            )
    values: dict[str, Any] = {q: table[:, header.index(name)] for q, name in chosen.items()}
    if chosen['time'] == NANOSECONDS:
        values['time'] = values['time'] * 1e-9
    own = chosen['torque'].endswith('.torque_n_m')
    return Log(name=Path(path).name, at_end=own, **values)


def _known(known: Sequence[str], header: Sequence[str], motor: str) -> str:
    below = str(int(motor) - 1) if motor.isdigit() else ''
    names = {'motor': motor, 'name': motor, 'below': below}
    for pattern in known:
        if ('{below}' in pattern and below in ('', '0')) or ('{' in pattern and not motor):
            continue
        name = pattern.format(**names)
        if name in header:
            return name
    return ''


def _csv(path: Path) -> tuple[list[str], Array]:
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            rows = csv.reader(file)
            header = [name.strip() for name in next(rows, [])]
            table = []
            stamp = header.index(NANOSECONDS) if NANOSECONDS in header else -1
            first = 0
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise RecordingError(
                        f'line {rows.line_num} of {path} must have {len(header)} values as the '
                        f'header, got {len(row)}. Is the file cut short?'
                    )
                numbers = [_number(x) for x in row]
                if stamp >= 0 and row[stamp].strip().isdecimal():  # a float is exact to 256 ns
                    first = first or int(row[stamp])
                    numbers[stamp] = float(int(row[stamp]) - first)
                table.append(numbers)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise RecordingError(f'{path} cannot be read: {reason}.') from None
    if len(table) < 2:
        raise RecordingError(f'{path} must be a CSV of a header and at least 2 rows, got none.')
    return header, np.array(table)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
