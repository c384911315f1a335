"""
The start of rclpy, and which of its errors are the user's: programs say those in one line.

It imports rclpy, so a `main` imports it behind its signals, see `stopping`.
"""

from __future__ import annotations

from collections.abc import Sequence
import os
import sys

import rclpy
from rclpy._rclpy_pybind11 import RCLError, UnknownROSArgsError
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.logging import get_logger_level, LoggingSeverity, set_logger_level
from rclpy.signals import SignalHandlerOptions

from .errors import MotorError, ParameterError

REFUSED = (MotorError, ParameterException, NameValidationException, RCLError, UnknownROSArgsError)
"""What is wrong with arguments and parameters; `arguments.plain_line` puts it into words."""


def initialise(args: Sequence[str] | None) -> None:
    """
    Start rclpy; what is wrong with the arguments is said once and by us, not by rcl too.

    Parameters
    ----------
    args
        All arguments, of which rcl takes those behind ``--ros-args``; None: those of the process.

    """
    given = sys.argv if args is None else args
    for argument in given:
        _check_text(argument)
    quiet = LoggingSeverity.FATAL
    set_logger_level('rcl', quiet)
    try:
        rclpy.init(args=list(given), signal_handler_options=SignalHandlerOptions.NO)
    finally:
        if get_logger_level('rcl') == quiet:  # else the arguments have chosen it
            set_logger_level('rcl', LoggingSeverity.UNSET)


def _check_text(argument: str) -> None:
    """Refuse bytes that are no text: rclpy would raise an error that names no argument."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise ParameterError('an argument', 'text in UTF-8', os.fsencode(argument)) from None
