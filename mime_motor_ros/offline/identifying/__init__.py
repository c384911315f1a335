"""The parameters of a motor out of recordings: `identify`, and the program motor_identify."""

from ..recording import RecordingError
from .identifying import Identified, identify, IdentifyError
from .logs import Log, read

__all__ = ['Identified', 'IdentifyError', 'Log', 'RecordingError', 'identify', 'read']
