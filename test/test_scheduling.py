"""The habits of a real-time loop: taken up where the process may, refused in words where not."""

import errno
import os
import subprocess
import sys

from mime_motor_ros import scheduling
from mime_motor_ros.settings import settings
import pytest

linux = pytest.mark.skipif(not hasattr(os, 'SCHED_FIFO'), reason='needs the scheduler of Linux')


def not_permitted(*_):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_nothing_is_changed_unless_asked_for(monkeypatch):
    for name in ('sched_setscheduler', 'sched_setaffinity'):
        monkeypatch.setattr(scheduling.os, name, not_permitted, raising=False)
    monkeypatch.setattr(scheduling, '_lock_memory', lambda: 'asked for')
    assert scheduling.adopt(settings()) == []


@linux
def test_what_the_process_may_not_do_is_refused_in_words(monkeypatch):
    for name in ('sched_setscheduler', 'sched_setaffinity'):
        monkeypatch.setattr(scheduling.os, name, not_permitted)
    monkeypatch.setattr(scheduling.os, 'sched_getaffinity', lambda _: {1, 0})
    monkeypatch.setattr(scheduling, '_lock_memory', lambda: 'Cannot allocate memory')
    chosen = settings({'priority': 20, 'cpus': '3,7', 'lock_memory': True})
    assert scheduling.adopt(chosen) == [
        'cpus 3,7 cannot be had (Operation not permitted): this process may use 0,1; '
        'it uses those',
        'priority 20 cannot be had (Operation not permitted): allow it by rtprio in '
        '/etc/security/limits.conf or CAP_SYS_NICE; the loop runs as an ordinary thread',
        'lock_memory cannot be had (Cannot allocate memory): allow it by memlock unlimited in '
        '/etc/security/limits.conf or CAP_IPC_LOCK; memory may be paged out',
    ]


@linux
def test_cores_and_priority_are_those_of_the_loop_and_not_of_threads_it_starts():
    core = max(os.sched_getaffinity(0))
    code = f"""
import os
from threading import Thread
from mime_motor_ros.scheduling import adopt
from mime_motor_ros.settings import settings
refused = adopt(settings({{'priority': 5, 'cpus': '{core}'}}))
policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
print(len(refused), policy == os.SCHED_FIFO, sorted(os.sched_getaffinity(0)))
child = []
thread = Thread(target=lambda: child.append(os.sched_getscheduler(0)))
thread.start()
thread.join()
print(child[0] == os.SCHED_OTHER)
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first in (f'0 True [{core}]', f'1 False [{core}]')  # as the process may
    assert second == 'True'


@linux
def test_memory_is_locked_or_the_reason_is_told():
    code = """
from mime_motor_ros.scheduling import _lock_memory
why = _lock_memory()
with open('/proc/self/status') as file:
    locked = int(next(line for line in file if line.startswith('VmLck')).split()[1])
print(bool(why) != (locked > 1000))
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout == 'True\n'
