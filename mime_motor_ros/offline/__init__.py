"""
Programs and functions for the desk: recordings in, numbers out, without ROS.

    from mime_motor_ros.offline import identify, replay, report, rollout, sweep

Each is imported when it is asked for, and with it the libraries that it needs.
"""

from __future__ import annotations

from ..lazily import names_of

WHERE = {
    'Replay': '.replaying',
    'replay': '.replaying',
    'Rollout': '..rollout',
    'rollout': '..rollout',
    'gather': '.gathering',
    'identify': '.identifying',
    'report': '.reporting',
    'sweep': '.sweeping.sweeping',
}
__all__ = list(WHERE)  # noqa: PLE0605
__getattr__, __dir__ = names_of(__name__, WHERE)
