"""How long a process takes to end, however busy the machine is with something else."""

import os
from pathlib import Path
import time

SLACK = float(os.environ.get('MOTOR_SLACK', '1.0'))  # s; what a busy machine may add to 1 s


def kept_waiting(process):
    """Return how long the process was ready to run so far and another one ran [s]."""
    try:
        told = Path(f'/proc/{process.pid}/schedstat').read_text()
    except OSError:
        return 0.0  # no such count here: it all is the process's own
    return int(told.split()[1]) * 1e-9


class Ending:
    """Measures from now on how long a process takes to end, less what others kept it waiting."""

    def __init__(self, process):
        self._process = process
        self._waited, self._begun = kept_waiting(process), time.monotonic()

    def seconds(self, patience):
        """Wait for the end; the process is left to be asked how it was."""
        end = self._begun + patience
        while not os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            assert time.monotonic() < end, f'not ended after {patience} s'
            time.sleep(0.002)
        took = time.monotonic() - self._begun
        return took - (kept_waiting(self._process) - self._waited)
