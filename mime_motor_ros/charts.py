"""Plots of the last seconds in the panel: spin, torque, momentum and mount wrench."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from .screen import Motor, View

WINDOW = 20.0
"""What the plots go back [s]."""
PLOT_EVERY = 0.2
"""Between two pictures of the plots [s]."""
LINES = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b')


class Charts:
    """
    The plots.

    Parameters
    ----------
    gui
        That of a ``viser.ViserServer``.
    motors
        Their names.
    order
        Where they stand in the panel.

    """

    def __init__(self, gui: Any, motors: Sequence[str], order: float) -> None:
        self._motors = motors
        self._rows: deque[tuple[float, list[float]]] = deque()  # time, and all numbers of all
        self._drawn = float('-inf')
        self._plots: list[Any] = []
        self._folder = gui.add_folder('Plots', order=order)
        still = np.array([0.0, 1.0])
        with self._folder:
            for title, names in (
                ('spin [rad/s]', motors),
                ('torque [N m]', motors),
                ('momentum, mount axes [N m s]', 'xyz'),
                ('mount wrench, torque [N m]', 'xyz'),
            ):
                series: list[dict[str, Any]] = [{'label': 's'}]
                for at, name in enumerate(names):
                    series.append({'label': name, 'stroke': LINES[at % len(LINES)], 'width': 2})
                plot = gui.add_uplot(
                    (still, *(np.zeros(2) for _ in names)),
                    tuple(series),
                    title=title,
                    scales={'x': {'time': False}},
                    aspect=2.2,
                )
                self._plots.append(plot)

    def remove(self) -> None:
        """Take them away."""
        self._folder.remove()

    def show(self, view: View, now: float) -> None:
        """Add what is seen at a time [s]; a time before the last one begins anew."""
        known = {motor.name: motor for motor in view.motors}
        named = [known.get(name, Motor(name)) for name in self._motors]
        nothing = (None, None, None)
        values: list[float | None] = [
            *(motor.spin for motor in named),
            *(motor.torque for motor in named),
            *(view.momentum or nothing),
            *(view.mount_wrench[1] if view.mount_wrench else nothing),
        ]
        row = [x for x in values if x is not None]
        if len(row) < len(values):
            return  # not all of it has come yet
        if self._rows and now < self._rows[-1][0]:
            self._rows.clear()
            self._drawn = float('-inf')
        self._rows.append((now, row))
        while now - self._rows[0][0] > WINDOW:
            self._rows.popleft()
        if now - self._drawn < PLOT_EVERY or len(self._rows) < 2:
            return
        self._drawn = now
        times = np.array([time for time, _ in self._rows])
        columns = iter(np.array([numbers for _, numbers in self._rows]).T.copy())
        for plot in self._plots:
            lines = len(plot.data) - 1
            plot.data = (times, *(next(columns) for _ in range(lines)))
