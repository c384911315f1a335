"""The table of a sweep: a row of each recording and point, in this order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import csv
import os
from pathlib import Path
from typing import Any

from ..writing import OutputError

GROUP = 65_536
"""Rows of a group of Parquet."""
KINDS = ('.csv', '.parquet')


def check(path: Path) -> None:
    """Raise unless the name of a table says what it is to be."""
    if path.suffix.lower() not in KINDS:
        raise OutputError(f'{path} must end in {" or ".join(KINDS)}.')


def write(
    path: Path,
    like: Path,
    names: Sequence[str],
    kinds: Sequence[type],
    rows: Iterable[Sequence[Any]],
) -> None:
    """
    Write rows as the file that ``like`` names.

    Parameters
    ----------
    path
        Where.
    like
        Its name in the end, whose suffix chooses CSV or Parquet.
    names, kinds
        Of the columns: str, int, float or bool.
    rows
        In order.

    """
    if like.suffix.lower() == '.csv':
        with open(path, 'w', newline='') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow(names)
            writer.writerows(rows)
            file.flush()
            os.fsync(file.fileno())
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(n, types[kind]) for n, kind in zip(names, kinds, strict=True)])
    with pq.ParquetWriter(path, schema, compression='zstd') as made:
        for group in grouped(rows, GROUP):
            arrays = [
                pa.array(column, kind)
                for column, kind in zip(zip(*group, strict=True), schema.types, strict=True)
            ]
            made.write_batch(pa.record_batch(arrays, schema=schema))


def grouped(rows: Iterable[Sequence[Any]], size: int) -> Iterator[list[Sequence[Any]]]:
    """Return rows in lists of a size."""
    group: list[Sequence[Any]] = []
    for row in rows:
        group.append(row)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
