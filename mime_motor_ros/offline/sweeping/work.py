"""
The folder in which a sweep works: what was gathered, and each finished chunk in a file of its own.

Files get their names when they are complete, so whatever ends a process leaves nothing but whole
ones, and the same sweep goes on from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
import fcntl
import json
import os
from pathlib import Path
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import MotorError
from ..gathering import row_type

Array = NDArray[Any]

MARK = {'made by': 'motor_sweep'}
"""In sweep.json, by which a folder is known."""
NAMES = r'checked\.json|gathered-\d+-\d+\.(rows|json)|part-\d{4,}-\d{6,}\.npy'
OWN = re.compile(rf'lock|{NAMES}|\.({NAMES}|sweep\.json)\.part')


class WorkError(MotorError):
    """The folder of a sweep cannot be used; the text says why and what to do."""


class Stored(NamedTuple):
    """Gathered rows in a file."""

    path: str
    motors: int
    loads: bool
    placed: bool
    notes: tuple[str, ...]

    def rows(self) -> Array:
        """Return them, read where they are used: any length of a recording fits."""
        return np.asarray(np.memmap(self.path, row_type(self.motors, self.loads), 'r'))


class Chunk(NamedTuple):
    """Points that are run in one go through one recording."""

    recording: int
    number: int
    first: int
    size: int

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f'part-{self.recording:04d}-{self.number:06d}.npy'


class Folder:
    """
    The folder of one sweep, which no other process uses meanwhile.

    Parameters
    ----------
    path
        Where; it is made where it is not there.
    identity
        What the sweep is made of, by name. A folder of another one is refused.

    Raises
    ------
    WorkError
        If it is that of another sweep, in use, or cannot be written to.

    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        # What is in it is removed at the end, so it must be nobody else's.
        is_new = not path.exists() and not path.is_symlink()
        if not is_new and not (path.is_dir() and all(map(_is_own, path.iterdir()))):
            raise WorkError(
                f'{path} must be a new folder, or that of a sweep; other things are in it. '
                'Choose another one with --work.'
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = open(path / 'lock', 'w')  # noqa: SIM115 - held as long as the object
        except OSError as error:
            raise WorkError(f'{path} cannot be written: {error.strerror}.') from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise WorkError(f'{path} is in use by another process. Wait for its end.') from None
        wanted = json.loads(json.dumps({**MARK, **identity}, default=str))
        known = self.read('sweep.json')
        if known is None or (known != wanted and not self._has_results()):
            (path / 'checked.json').unlink(missing_ok=True)
            self.write('sweep.json', wanted)
        elif known != wanted:
            other = [name for name in wanted if known.get(name) != wanted[name]]
            raise WorkError(
                f'{path} has chunks of another sweep, of other {", ".join(other)}. Remove it, or '
                'choose another folder with --work.'
            )

    def _has_results(self) -> bool:
        return any(x.suffix in ('.npy', '.rows') for x in self.path.iterdir())

    def read(self, name: str) -> Any:
        """Return what a file of JSON holds, None where it is not there or not whole."""
        try:
            return json.loads((self.path / name).read_text())
        except (OSError, ValueError):
            return None

    def write(self, name: str, value: Any) -> None:
        """Write a file of JSON."""
        self._put(name, lambda part: part.write_text(json.dumps(value, indent=1)))

    def gathered(self, name: str) -> Stored | None:
        """Return the rows of a name, None where they are not there."""
        known = self.read(f'{name}.json')
        if known is None:
            return None
        size_said = known.pop('bytes')
        path = str(self.path / f'{name}.rows')
        found = Stored(path, **{**known, 'notes': tuple(known['notes'])})
        try:
            size = os.path.getsize(found.path)
        except OSError:
            return None
        return found if size == size_said else None

    def gather(self, name: str, gathering: Any) -> Stored:
        """Write what is gathered, and return it; whatever that raises, nothing is kept of it."""
        size = 0

        def fill(part: Path) -> None:
            nonlocal size
            with open(part, 'wb') as file:
                for rows in gathering:
                    size += rows.nbytes
                    rows.tofile(file)

        self._put(f'{name}.rows', fill)
        found = Stored(
            str(self.path / f'{name}.rows'),
            len(gathering.settings.motors),
            'loads' in gathering.type.names,
            gathering.placed,
            tuple(gathering.notes),
        )
        kept = found._asdict()
        del kept['path']
        self.write(f'{name}.json', {**kept, 'bytes': size})
        return found

    def part(self, chunk: Chunk, width: int) -> Array | None:
        """Return the figures of a chunk, None where it is not there or not whole."""
        try:
            found: Array = np.load(self.path / chunk.name)
        except (OSError, ValueError, EOFError):
            return None
        return found if found.shape == (chunk.size, width) else None

    def put(self, chunk: Chunk, figures: Array) -> None:
        """Keep the figures of a chunk."""

        def save(part: Path) -> None:
            with open(part, 'wb') as file:
                np.save(file, figures)

        self._put(chunk.name, save)

    def remove(self) -> None:
        """Remove what is its own of it, and it where nothing else is there."""
        with suppress(OSError):
            for one in [*self.path.iterdir()]:
                if _is_own(one):
                    one.unlink()
            self.path.rmdir()

    def close(self) -> None:
        """Let others use it."""
        self._lock.close()

    def _put(self, name: str, fill: Any) -> None:
        part = self.path / f'.{name}.part'
        try:
            fill(part)
            os.replace(part, self.path / name)
        except OSError as error:
            part.unlink(missing_ok=True)
            reason = error.strerror or error
            raise WorkError(f'{self.path / name} cannot be written: {reason}.') from None
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _is_own(path: Path) -> bool:
    """Tell whether a file has a name that this module gives, and is what it gives it to."""
    if path.name == 'sweep.json':
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError):
            return False
        return isinstance(known, dict) and MARK.items() <= known.items()
    return path.is_file() and OWN.fullmatch(path.name) is not None
