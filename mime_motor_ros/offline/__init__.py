"""
Programs and functions for the desk: recordings in, numbers out, without ROS.

    from mime_motor_ros.offline import identify, replay, report, rollout, sweep

Each is imported when it is asked for, and with it the libraries that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# In modules of other names, as a module hides a function of its name.
FUNCTIONS = {
    'Replay': 'mime_motor_ros.offline.replaying',
    'replay': 'mime_motor_ros.offline.replaying',
    'Rollout': 'mime_motor_ros.rollout',
    'rollout': 'mime_motor_ros.rollout',
    'gather': 'mime_motor_ros.offline.gathering',
    'identify': 'mime_motor_ros.offline.identifying',
    'report': 'mime_motor_ros.offline.reporting',
    'sweep': 'mime_motor_ros.offline.sweeping.sweeping',
}


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(FUNCTIONS[name]), name)
