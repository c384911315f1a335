"""
What a report is made of: blocks of rows, in the columns of the table that `motor_replay` writes.

Each kind of input (`bag`, `tables`, `replayed`) is a `Source`. A column that an input has not is
not there, a number that it has not is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...errors import MotorError
from .traces import Times, Values


class ReportError(MotorError):
    """A report cannot be made as asked; the text says why and what to do."""


class Block(NamedTuple):
    """Rows of one stretch of time."""

    stamps: Times
    """Shape (n,) [ns], what the rows are of."""
    columns: dict[str, Values]
    """Each of shape (n,), by name."""
    received: Times | None = None
    """When the first message of each row came [ns]; None where that is not known."""
    are_steps: bool = True
    """False: of some quantities alone, as a sensor's, at times of their own."""


@dataclass
class Told:
    """What an input tells beside its rows; complete once all rows were read."""

    refused: dict[str, int] = field(default_factory=dict)
    """By 'source reason'."""
    counts_refused: bool = False
    """Whether the input says what was refused, were it nothing."""
    figures: dict[str, dict[str, str]] = field(default_factory=dict)
    """The last values of /diagnostics, by status."""
    said: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """What /diagnostics warned of: how often, when first [ns], and with which words."""
    gaps: str = ''
    """What a session says of its gaps."""
    cut: str = ''
    """Where an unreadable rest begins, in one line."""
    notes: list[str] = field(default_factory=list)
    lacks: dict[str, str] = field(default_factory=dict)
    """Why there is no such quantity, by the name of its figure."""


class Source(Protocol):
    """One input of a report."""

    name: str
    what: str
    """What it is, in some words."""
    node: str
    motors: list[str]
    parameters: dict[str, Any]
    told: Told

    @property
    def share(self) -> float:
        """Return how much is read, 0 to 1."""

    def blocks(self) -> Iterator[Block]:
        """Read the rows, once."""


def arrays(columns: list[str], rows: list[list[float]]) -> dict[str, Values]:
    """Return rows as columns; those without any number are left out."""
    table = np.array(rows, dtype=float)
    known = np.isfinite(table).any(axis=0)
    return {name: table[:, i] for i, name in enumerate(columns) if known[i]}
