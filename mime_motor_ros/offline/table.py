"""One row a step, as CSV or Parquet: what acted, the state, the reaction and the energy audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import csv
from math import nan
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..session import Outcome, Session
from ..settings import MotorSettings, Settings

ROWS = 4096
"""Rows of a group of Parquet, which are held until it is full."""
XYZ = ('x', 'y', 'z')


def _vector(name: str, unit: str) -> list[str]:
    return [f'{name}_{axis}_{unit}' for axis in XYZ]


def columns(chosen: Settings) -> list[str]:
    """Return the names of the columns, with units; doc/offline.md says what they mean."""
    names = ['stamp_ns', 'dt_s', *_vector('mount', 'm')]
    names += [f'mount_q{axis}' for axis in (*XYZ, 'w')]
    names += _vector('mount_rate', 'rad_s')
    for motor in chosen.motors:
        names += [f'{motor.name}.{name}' for name in _of_motor(motor)]
    for wrench in ('reaction', 'mount_wrench'):
        names += _vector(f'{wrench}_force', 'n') + _vector(f'{wrench}_torque', 'n_m')
    return names + _vector('momentum_world', 'n_m_s')


def _of_motor(motor: MotorSettings) -> list[str]:
    names = ['command', 'angle_rad', 'spin_rad_s', 'speed_rad_s', 'torque_n_m']
    names += ['friction_torque_n_m', 'load_torque_n_m', 'limits']
    if motor.drive.armature is not None:
        names += ['current_a', 'voltage_v']
    if not motor.drive.winding.is_none:
        names += ['temperature_deg_c']
    if not motor.sensors.is_none:
        names += ['measured_position_rad', 'measured_speed_rad_s', 'measured_torque_n_m']
    names += _vector('momentum', 'n_m_s')
    return [*names, 'work_j', 'dissipated_j', 'stored_j']


def row(outcome: Outcome, session: Session) -> list[float]:
    """Return the row of a step that a session has just taken; what there is not is NaN."""
    position, orientation = outcome.mount
    numbers = [outcome.stamp_ns, outcome.dt, *position, *orientation, *outcome.rate]
    x = y = z = 0.0
    for i, step in enumerate(outcome.steps):
        motor, energy = session.settings.motors[i], session.energy[i]
        setpoint, drive, measured = outcome.commands[i], outcome.drives[i], outcome.measured[i]
        numbers += (
            nan if setpoint is None else setpoint.value,
            step.state.angle,
            step.state.spin,
            step.relative_speed,
            step.torque,
            step.friction_torque,
            step.load_torque,
            int(drive.active),
        )
        if motor.drive.armature is not None:
            numbers += (drive.current, drive.voltage)
        if not motor.drive.winding.is_none:
            numbers.append(drive.temperature)
        if not motor.sensors.is_none:
            numbers += (
                (nan, nan, nan)
                if measured is None
                else [nan if value is None else value for value in measured]
            )
        numbers += outcome.momentum(i)
        numbers += (energy.work, energy.dissipated, energy.stored)
        x, y, z = x + step.momentum[0], y + step.momentum[1], z + step.momentum[2]
    for force, torque in (outcome.reaction(), outcome.mount_wrench()):
        numbers += force
        numbers += torque
    numbers += (x, y, z)
    return numbers


class CsvTable:
    """A CSV file with a header line; numbers are written so that they are read back exactly."""

    wants_rows = True

    def __init__(self, path: Path, chosen: Settings) -> None:
        self._file = open(path, 'w', newline='')  # noqa: SIM115 - closed by close
        self._writer = csv.writer(self._file, lineterminator='\n')
        self._writer.writerow(columns(chosen))

    def begin(self, now_ns: int) -> None:
        """Do nothing: the head is there."""

    def add(self, outcome: Outcome, session: Session, numbers: Sequence[float]) -> None:
        """Write one row."""
        self._writer.writerow(numbers)

    def add_columns(self, made: Sequence[Any]) -> None:
        """Write some rows that are given as arrays, one a column."""
        self._writer.writerows(zip(*(array.tolist() for array in made), strict=True))

    def close(self) -> None:
        """Finish the file."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


class ParquetTable:
    """A Parquet file, zstd, in groups of rows."""

    wants_rows = True

    def __init__(self, path: Path, chosen: Settings) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = columns(chosen)
        kinds = {'stamp_ns': pa.int64()}
        fields = [
            (name, kinds.get(name, pa.int64() if name.endswith('.limits') else pa.float64()))
            for name in names
        ]
        self._schema = pa.schema(fields)
        self._batch: Callable[..., Any] = pa.record_batch
        self._array: Callable[..., Any] = pa.array
        self._writer = pq.ParquetWriter(path, self._schema, compression='zstd')
        self._rows: list[Sequence[float]] = []
        self._held: list[Any] = []

    def begin(self, now_ns: int) -> None:
        """Do nothing: the head is there."""

    def add(self, outcome: Outcome, session: Session, numbers: Sequence[float]) -> None:
        """Keep one row, and write them when there are enough."""
        self._rows.append(numbers)
        if len(self._rows) == ROWS:
            self._write()

    def add_columns(self, made: Sequence[Any]) -> None:
        """Keep some rows that are given as arrays, one a column; write what fills a group."""
        both = zip(self._held, made, strict=True) if self._held else ((x,) for x in made)
        self._held = [np.concatenate(x) for x in both]
        while len(self._held[0]) >= ROWS:
            self._write_columns([array[:ROWS] for array in self._held])
            self._held = [array[ROWS:] for array in self._held]

    def _write(self) -> None:
        if self._rows:
            self._write_columns(zip(*self._rows, strict=True))
            self._rows.clear()
        if self._held and len(self._held[0]):
            self._write_columns(self._held)
            self._held = []

    def _write_columns(self, made: Iterable[Any]) -> None:
        arrays = [
            self._array(values, field.type)
            for values, field in zip(made, self._schema, strict=True)
        ]
        self._writer.write_batch(self._batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._write()
        self._writer.close()
