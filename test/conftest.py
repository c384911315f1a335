"""
What holds for every test: a ROS network of its own, and a reason for every test left out.

The network is chosen before anything imports rclpy, and processes a test starts inherit it.
"""

import os
from pathlib import Path
import random
import signal
import socket

from hypothesis import settings
import pytest

settings.register_profile('shared machine', deadline=None)  # no test asserts milliseconds
settings.load_profile('shared machine')

TESTS = Path(__file__).parent
# The files that take longest come first, so that none is left over for one worker at the end.
# In the two minutes of the soak, which needs a core of its own, the other workers have what
# calculates in one process or mostly waits; files that start processes by the handful come later.
LONGEST = (
    'test_soak.py',
    'test_findings.py',
    'test_chaos.py',
    'test_recordings_live.py',  # of the worker that had the soak: it gets its next file at once
    'test_sweep.py',
    'test_replay.py',
    'test_identify.py',
    'test_session_properties.py',
    'test_report.py',
    'test_rollout.py',
    'test_demo_mount.py',
    'test_player.py',
    'test_frames.py',
    'test_drive.py',
    'test_process.py',
    'test_check.py',
    'test_demo.py',
    'test_view.py',
    'test_demo_body_live.py',
    'test_readme.py',
    'test_chaos_live.py',
    'test_mutants.py',
)


def _bound(kind, port):
    """Return a socket on this port of the loopback, or None where it is taken."""
    found = socket.socket(socket.AF_INET, kind)
    try:
        found.bind(('127.0.0.1', port))
    except OSError:
        found.close()
        return None
    return found


def _own_domain():
    """
    Return a domain id that nobody on this machine uses, and the lock that keeps it.

    DDS gives every domain 250 UDP ports; the first participant takes the eleventh. The TCP port
    is ours to say that a test process is here, whether or not it has a participant right now.
    """
    for domain in random.sample(range(1, 102), 101):  # 0 to 101 are safe on Linux
        base = 7400 + 250 * domain
        lock = _bound(socket.SOCK_STREAM, base)
        free = lock and _bound(socket.SOCK_DGRAM, base + 10)
        if free:
            free.close()
            return domain, lock
        if lock:
            lock.close()
    raise RuntimeError('all ROS domain ids of this machine are in use')


# The lock is held as long as this module lives.
DOMAIN, _LOCK = _own_domain()
os.environ['ROS_DOMAIN_ID'] = str(DOMAIN)
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['PYTHONFAULTHANDLER'] = '1'  # a process that crashes tells where

try:
    import rclpy  # noqa: F401
except ImportError as error:
    NO_ROS = f'rclpy cannot be imported ({error})'
else:
    NO_ROS = ''


def pytest_report_header():
    checks = 'on' if os.environ.get('ROS_PYTHON_CHECK_FIELDS') == '1' else 'off'
    if NO_ROS:
        return f'ROS: {NO_ROS}; tests of it are skipped'
    return f'ROS: rclpy imported, domain {DOMAIN}, localhost only, field checks {checks}'


@pytest.fixture
def restored_signals():
    """Put back the handlers that a command under test replaces."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


class _LeftOut(pytest.Module):
    """A file of tests that is not even imported, as it would fail to import rclpy."""

    def collect(self):
        pytest.skip(NO_ROS, allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    if NO_ROS and module_path.is_relative_to(TESTS / 'ros'):
        return _LeftOut.from_parent(parent, path=module_path)
    return None


def pytest_collection_modifyitems(items):
    turns = {name: turn for turn, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get(item.path.name, len(turns)))  # else as they were
    for item in items:
        if item.path.is_relative_to(TESTS / 'ros'):
            item.add_marker('ros')
        if NO_ROS and item.get_closest_marker('ros'):
            item.add_marker(pytest.mark.skip(reason=NO_ROS))
