"""
The start of rclpy, and which of its errors are the user's: programs say those in one line.

It imports rclpy, so a `main` imports it behind its signals, see `stopping`.
"""

from __future__ import annotations

from collections.abc import Sequence
import os
import sys
import warnings

import rclpy
from rclpy._rclpy_pybind11 import RCLError, UnknownROSArgsError
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.logging import get_logger_level, LoggingSeverity, set_logger_level
from rclpy.signals import SignalHandlerOptions

from .errors import MotorError, ParameterError

HIGHEST_DOMAIN = 232
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
    # Where no node can be made, rclpy warns of what that leaves behind, above our own line.
    warnings.filterwarnings('ignore', 'Failed to fini rosout publisher', RuntimeWarning)
    domain = os.environ.get('ROS_DOMAIN_ID', '')
    if domain.isdecimal() and int(domain) > HIGHEST_DOMAIN:
        raise ParameterError('ROS_DOMAIN_ID', f'0 to {HIGHEST_DOMAIN}', domain)
    quiet = LoggingSeverity.FATAL
    try:
        set_logger_level('rcl', quiet)
    except RuntimeError as error:  # of the environment's, which nothing has looked at before
        raise MotorError(f'logging cannot be started: {error}. Look at RCUTILS_*.') from None
    try:
        rclpy.init(args=list(given), signal_handler_options=SignalHandlerOptions.NO)
    except RCLError as error:
        secure = os.environ.get('ROS_SECURITY_ENABLE') == 'true'
        if secure and not os.environ.get('ROS_SECURITY_KEYSTORE'):  # rcl gives no reason for this
            what = 'the folder of a keystore where ROS_SECURITY_STRATEGY is Enforce'
            if str(error).endswith('rcl: error not set'):
                raise ParameterError('ROS_SECURITY_KEYSTORE', what, 'nothing') from None
        raise
    finally:
        if get_logger_level('rcl') == quiet:  # else the arguments have chosen it
            set_logger_level('rcl', LoggingSeverity.UNSET)


def _check_text(argument: str) -> None:
    """Refuse bytes that are no text: rclpy would raise an error that names no argument."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise ParameterError('an argument', 'text in UTF-8', os.fsencode(argument)) from None
