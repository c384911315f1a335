"""Files that are made under another name and get their own when they are complete."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
from typing import Any

from ..errors import MotorError


class OutputError(MotorError):
    """An output cannot be written; the text says which, why and what to do."""


class Made:
    """
    One output on its way: ``part`` is where it is made, ``path`` where it goes.

    Raises
    ------
    OutputError
        If there is something already, or its folder cannot be written to.

    """

    def __init__(self, path: str | Path, overwrite: bool = False) -> None:
        self.path = Path(path)
        if not overwrite and (self.path.exists() or self.path.is_symlink()):
            raise OutputError(
                f'{self.path} is there already. Choose another name, or add --overwrite.'
            )
        # A folder of its own, so that what names a file by its folder gets the right one.
        self._folder = self.path.parent / f'.{self.path.name}.{os.getpid()}'
        self.part = self._folder / self.path.name
        try:
            self._folder.mkdir()
        except OSError as error:
            raise OutputError(f'{self.path} cannot be written: {error.strerror}.') from None
        self.writer: Any = None

    def finish(self) -> None:
        """Close what was made and put it in its place."""
        try:
            if self.writer is not None:
                self.writer.close()
            if self.path.is_dir() and not self.path.is_symlink():
                shutil.rmtree(self.path)
            if self.part.exists():
                os.replace(self.part, self.path)
        except OSError as error:
            raise OutputError(f'{self.path} cannot be written: {error.strerror}.') from None
        finally:
            self.drop()

    def drop(self) -> None:
        """Remove what is left of it."""
        shutil.rmtree(self._folder, ignore_errors=True)
