"""The table of a replay, CSV or Parquet, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from io import FileIO
import os
from pathlib import Path
from typing import Any

import numpy as np

from .source import Block, ReportError, Told

SPIN = '.spin_rad_s'
ROWS = 8192


class Ascii(FileIO):
    """A file in which other bytes are question marks, so that there is nothing to decode."""

    _ONLY = bytes(x if x < 128 else 63 for x in range(256))

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes."""
        return (super().read(size) or b'').translate(self._ONLY)


class Table:
    """A table of `motor_replay`; see `Source`."""

    node = ''
    share = 0.0  # of a table that is not known, and it is soon read

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._path = path
        self._refused: tuple[type[Exception], ...] = (pa.ArrowException, ValueError, OSError)
        self.name = path.name
        self.parameters: dict[str, Any] = {}
        self.told = Told()
        self._open_end = ''
        self.told.lacks['refusals'] = 'a table does not hold what was refused'
        self.told.lacks['lateness'] = 'a table holds no times of receipt'
        try:
            schema, self._batches = self._opened()
        except OSError as error:
            raise ReportError(
                f'{path} cannot be read: {error.strerror or _line(error)}.'
            ) from None
        except self._refused as error:
            raise ReportError(f'{path} is no table of motor_replay: {_line(error)}.') from None
        self.motors = [name[: -len(SPIN)] for name in schema.names if name.endswith(SPIN)]
        if 'stamp_ns' not in schema.names or not self.motors:
            raise ReportError(
                f'{path} is no table of motor_replay: it has no columns stamp_ns and '
                '<motor>.spin_rad_s. To have a log replayed add --replay, or the parameters: '
                '--params-file FILE.'
            )
        odd = [one.name for one in schema if not _is_number(one.type)]
        if odd:
            raise ReportError(
                f'{path} is no table of motor_replay: its column {odd[0]} holds no numbers.'
            )
        self.what = f'table of a replay, {len(schema.names)} columns'

    def _opened(self) -> tuple[Any, Iterator[Any]]:
        import pyarrow as pa
        import pyarrow.csv as pcsv
        import pyarrow.parquet as pq

        if self._path.suffix == '.parquet':
            file = pq.ParquetFile(self._path, pre_buffer=False)  # which is all of it
            return file.schema_arrow, file.iter_batches(ROWS, use_threads=False)
        with open(self._path, 'rb') as file:
            names = file.readline().decode('utf-8', 'replace').strip().split(',')
            file.seek(-min(1, os.path.getsize(self._path)), os.SEEK_END)
            if file.read() != b'\n':
                self._open_end = (
                    f'{self._path} is cut short: its last line has no end, so its last number may '
                    'be wrong.'
                )
        kinds = {name: pa.float64() for name in names}
        kinds['stamp_ns'] = pa.int64()
        convert = pcsv.ConvertOptions(column_types=kinds, null_values=['', 'nan', 'NaN'])
        read = pcsv.ReadOptions(use_threads=False, block_size=1 << 21)
        parse = pcsv.ParseOptions(invalid_row_handler=self._left_out)
        reader = pcsv.open_csv(
            Ascii(self._path), read_options=read, parse_options=parse, convert_options=convert
        )
        return reader.schema, reader

    def _left_out(self, row: Any) -> str:
        """Note a row that is not whole."""
        self.told.cut = self.told.cut or (
            f'{self._path} is damaged or cut short: a row has {row.actual_columns} columns, not '
            f'{row.expected_columns}, and is left out.'
        )
        return 'skip'

    def blocks(self) -> Iterator[Block]:
        """Read the rows, once."""
        batches = iter(self._batches)
        while True:
            try:
                batch = next(batches, None)
            except self._refused as error:
                self.told.cut = f'{self._path} is damaged or cut short: {_line(error)}.'
                return
            if batch is None:
                self.told.cut = self.told.cut or self._open_end
                return
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            stamps = columns.pop('stamp_ns')
            if stamps.null_count:
                self.told.cut = f'{self._path} is damaged: a row has no stamp.'
                return
            numbers = {
                name: np.array(column.to_numpy(zero_copy_only=False), dtype=float)
                for name, column in columns.items()
            }
            yield Block(np.array(stamps.to_numpy(), dtype=np.int64), numbers)


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _line(error: Exception) -> str:
    text = ' '.join(str(error).split())[:200].rstrip('.')
    return ''.join(x if x.isprintable() and x.isascii() else '?' for x in text)
