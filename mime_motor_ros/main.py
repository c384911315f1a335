"""The process of the motor node: signals first, then everything that takes time to import."""

from __future__ import annotations

from typing import NoReturn

from .options import ros_only
from .stopping import leave, Stop


def main(args: list[str] | None = None) -> int:
    """Run the node until it is asked to stop; return the exit code of the process."""
    stop = Stop().catch_signals()

    ros_only('motor', 'Simulate gyroscopic actuators on a moving mount.', args)
    stop.at_once = True
    from .node import serve

    stop.at_once = False
    return serve(stop, args)


def run() -> NoReturn:
    """Be the console script ``motor``."""
    leave(main)


if __name__ == '__main__':
    run()
