"""Files that are made under another name and get their own when they are complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import errno
import os
from pathlib import Path
import shutil
from typing import Any

from ..errors import MotorError

OF_A_BAG = {'.mcap', '.db3', '.yaml', '.zstd', '.db3-wal', '.db3-shm'}


class OutputError(MotorError):
    """An output cannot be written; the text says which, why and what to do."""


class Made:
    """
    One output on its way: ``part`` is where it is made, ``path`` where it goes.

    Parameters
    ----------
    path
        Of the file, or of the folder of a recording.
    overwrite
        Whether what is there already is replaced: a file by a file, a recording by one.
    is_bag
        Whether it is a folder.
    reads
        What is read meanwhile, and must stay.

    Raises
    ------
    OutputError
        If there is something that is not to be replaced, or its folder cannot be written to.

    """

    def __init__(
        self,
        path: str | Path,
        overwrite: bool = False,
        is_bag: bool = False,
        reads: Sequence[Path] = (),
    ) -> None:
        self.path = Path(path)
        refuse(self.path, overwrite, is_bag, reads)
        self._replaces = overwrite
        # A folder of its own, so that what names a file by its folder gets the right one.
        self._folder = self.path.parent / f'.{self.path.name}.{os.getpid()}'
        self.part = self._folder / self.path.name
        try:
            self._folder.mkdir()
        except FileExistsError:
            raise OutputError(
                f'{self.path} is named twice. Give each output a name of its own.'
            ) from None
        except OSError as error:
            raise OutputError(f'{self.path} cannot be written: {error.strerror}.') from None
        self.writer: Any = None

    def finish(self, failed: bool = False) -> str:
        """
        Close what was made and put it in its place.

        ``failed``: it is not what was asked for, so what is there already stays.

        Returns
        -------
        Where it is instead, in one line; '' where it is in its place.

        Raises
        ------
        OutputError
            If it cannot be written; what can be had of it is kept, and the text says where.

        """
        old = self._folder / 'old'
        try:
            if self.writer is not None:
                self.writer.close()
            if not self.part.exists():
                self.drop()
                return ''
            if not self._replaces and self.path.exists():
                raise OutputError(
                    f'{self.path} was made by another meanwhile, and stays. What was made here is '
                    f'{self.part}.'
                )
            if failed and self.path.exists():
                return f'What was made of {self.path} is {self.part}; the old one stays.'
            if self.path.is_dir():
                os.replace(self.path, old)
            os.replace(self.part, self.path)
        except OSError as error:
            if old.exists() and not self.path.exists():
                os.replace(old, self.path)
            kept = f' What was made is {self.part}.' if self.part.exists() else ''
            raise OutputError(f'{self.path} cannot be written: {error.strerror}.{kept}') from None
        self.drop()
        return ''

    def drop(self) -> None:
        """Remove what is left of it."""
        shutil.rmtree(self._folder, ignore_errors=True)


def write_whole(path: Path, write: Callable[[Path], Any], overwrite: bool = False) -> None:
    """
    Have a file written, as a whole or not at all; ``write`` is given where.

    Raises
    ------
    OutputError
        If there is something that is not to be replaced, or it cannot be written.

    """
    made = Made(path, overwrite)
    try:
        write(made.part)
    except OSError as error:
        made.drop()
        raise OutputError(f'{path} cannot be written: {error.strerror or error}.') from None
    except BaseException:
        made.drop()
        raise
    made.finish()


def refuse(
    path: Path, overwrite: bool = False, is_bag: bool = False, reads: Sequence[Path] = ()
) -> None:
    """
    Raise OutputError where an output is not to be written; parameters as of `Made`.

    A program calls it before it begins on what takes its time.
    """
    if path.name in ('', '..'):
        raise OutputError(f'{path} must be the name of a new file or folder.')
    try:
        is_there = path.exists() or path.is_symlink()
        if not path.parent.is_dir():
            raise OutputError(f'{path} cannot be written: there is no folder {path.parent}.')
    except OSError as error:
        raise OutputError(f'{path} cannot be written: {error.strerror}.') from None
    apart(path, reads)
    if is_there and not overwrite:
        hint = 'Choose another name, or add --overwrite (overwrite=True).'
        raise OutputError(f'{path} is there already. {hint}')
    if is_there:
        _check_what_goes(path, is_bag)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f'{path} cannot be written: {os.strerror(errno.EACCES)}.')


def apart(path: Path, reads: Sequence[Path]) -> None:
    """Refuse to write over, around or into what is read."""
    try:
        real, *others = (one.resolve() for one in (path, *reads))
    except (OSError, RuntimeError) as error:  # the latter of links in a circle, to Python 3.12
        reason = getattr(error, 'strerror', None) or 'links in a circle'
        raise OutputError(f'{path} cannot be written: {reason}.') from None
    for one, read in zip(reads, others, strict=True):
        if real == read or real in read.parents or (read.is_dir() and read in real.parents):
            raise OutputError(
                f'{path} must be apart from {one}, which is read. Choose another name.'
            )


def _check_what_goes(path: Path, is_bag: bool) -> None:
    """Refuse to replace what is of another kind than what replaces it."""
    if is_bag:
        kept = path.is_dir() and not path.is_symlink() and (path / 'metadata.yaml').is_file()
        if not kept or any(x.is_dir() or x.suffix not in OF_A_BAG for x in path.iterdir()):
            raise OutputError(
                f'{path} must be a rosbag2 folder with nothing else in it, or not there, to be '
                'overwritten. Choose another name.'
            )
    elif not path.is_file():
        raise OutputError(
            f'{path} must be a file, or not there, to be overwritten. Choose another name.'
        )
