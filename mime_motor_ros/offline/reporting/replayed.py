"""A recording that goes through the session of a node on its way into a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..replaying import Replay
from ..table import columns, row
from .source import arrays, Block, Told

ROWS = 4096


class Replayed:
    """A replay; see `Source`."""

    def __init__(self, replay: Replay, parameters: dict[str, Any]) -> None:
        self._replay = replay
        self.name, self.node = replay.recording.name, replay.names.full_node
        self.motors = [motor.name for motor in replay.settings.motors]
        self.parameters = parameters
        self.told = Told(counts_refused=True, notes=list(replay.notes))
        self.told.lacks['lateness'] = 'a replay takes its steps in no time of its own'
        self.what = f'replay of a recording, in order of {replay.by}'

    @property
    def share(self) -> float:
        """Return how much is read, 0 to 1."""
        return self._replay.share

    def blocks(self) -> Iterator[Block]:
        """Take the steps, once."""
        replay, names = self._replay, columns(self._replay.settings)
        stamps: list[int] = []
        rows: list[list[float]] = []
        for outcome in replay:
            stamps.append(outcome.stamp_ns)
            rows.append(row(outcome, replay.session))
            if len(rows) == ROWS:
                yield Block(np.array(stamps), arrays(names, rows))
                stamps, rows = [], []
        if rows:
            yield Block(np.array(stamps), arrays(names, rows))
        session = replay.session
        self.told.cut = replay.cut
        if not session.steps:
            self.told.cut = replay.why_none
        self.told.refused = {
            f'{source} {reason}': count for (source, reason), count in session.counts.items()
        }
        if session.gaps:
            held = ', '.join(f'{name} {count}' for name, count in session.held.items() if count)
            self.told.gaps = f'{session.gaps} gaps were not integrated' + (held and f' ({held})')
