"""
The process of the motor node: signals first, then everything that takes time to import.

It ends by ``os._exit`` once all is put away, so no moment is left in which a signal finds an
interpreter half gone.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .stopping import Stop


def main(args: list[str] | None = None) -> int:
    """Run the node until it is asked to stop; return the exit code of the process."""
    stop = Stop().catch_signals()

    from .node import serve

    return serve(stop, args)


def run() -> NoReturn:
    """Be the console script ``motor``."""
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == '__main__':
    run()
