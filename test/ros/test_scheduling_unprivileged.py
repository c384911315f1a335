"""The habits of a real-time loop, asked for by a node that the system refuses or allows them."""

import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # s; for machines that are busy with something else
ABSENT = 1023  # a core that no machine of ours has
BARE = ['setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-sys_nice,-ipc_lock']
NOTHING = ['prlimit', '--rtprio=0', '--memlock=65536']  # as a user has it who was given nothing
ALLOWED = {  # who: how it may, and what keeps root from it by the other way
    'capabilities': NOTHING,
    'limits': ['prlimit', '--rtprio=20', '--memlock=unlimited', *BARE],
}
HABITS = {'priority': 20, 'lock_memory': 'true'}

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(
        shutil.which('setpriv') is None or shutil.which('prlimit') is None,
        reason='needs setpriv and prlimit of util-linux on Linux',
    ),
]


def may(*rights):
    """Return the command that starts a process with these rights, or skip and say why."""
    tried = subprocess.run([*rights, 'true'], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f'this process may not give such rights: {tried.stderr.strip()}')
    return rights


def capabilities():
    """Return the effective capabilities of this process, as a bit mask."""
    return int(re.search(r'CapEff:\s*(\w+)', Path('/proc/self/status').read_text())[1], 16)


@pytest.fixture
def running():
    """Start a node that is gone after the test, whatever happened."""
    processes = []

    def run(rights, **values):
        values = {'world_frame': 'base_link', 'rate_source': 'zero', **values}
        given = [word for name, value in values.items() for word in ('-p', f'{name}:={value}')]
        command = [*rights, sys.executable, '-m', 'mime_motor_ros.main', '--ros-args', *given]
        process = subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE)
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def stepped(context):
    """Wait until a node has taken steps; all of its start is behind it then."""
    import rclpy

    node = rclpy.create_node('peer', context=context)
    reader = node.create_subscription(
        JointState, 'joint_states', lambda _: None, QoSProfile(depth=1)
    )

    def wait(process):
        end = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end, f'waited {PATIENCE} s for a step'
            with reader.handle:
                if reader.handle.take_message(JointState, False) is not None:
                    return
            time.sleep(0.01)

    yield wait
    node.destroy_node()


def said_at_the_end(process):
    """Ask a node to end; return what it has said, without the times."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return [re.sub(r'^\[WARN\] \[[\d.]+\] \[motor\]: ', '', line) for line in err.splitlines()]


def locked(process):
    """Return how much memory of a process is locked [kB]."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    return int(re.search(r'VmLck:\s*(\d+) kB', status)[1])


def test_a_node_without_rights_says_once_what_it_was_refused_and_runs(running, stepped):
    rights = NOTHING if not capabilities() else [*NOTHING, *BARE]
    process = running(may(*rights), cpus=f"'{ABSENT}'", **HABITS)
    stepped(process)
    have = os.sched_getaffinity(0)
    assert os.sched_getscheduler(process.pid) == os.SCHED_OTHER
    assert os.sched_getaffinity(process.pid) == have
    assert locked(process) == 0
    assert said_at_the_end(process) == [
        f'cpus {ABSENT} cannot be had (Invalid argument): this process may use '
        f'{",".join(map(str, sorted(have)))}; it uses those',
        'priority 20 cannot be had (Operation not permitted): allow it by rtprio in '
        '/etc/security/limits.conf or CAP_SYS_NICE; the loop runs as an ordinary thread',
        'lock_memory cannot be had (memlock is 64 kB): allow it by memlock unlimited in '
        '/etc/security/limits.conf or CAP_IPC_LOCK; memory may be paged out',
    ]


@pytest.mark.parametrize('way', ALLOWED)
def test_what_the_advice_names_is_enough(running, stepped, way):
    needed = 1 << 23 | 1 << 14  # CAP_SYS_NICE, CAP_IPC_LOCK
    if way == 'capabilities' and capabilities() & needed != needed:
        pytest.skip('this process has not CAP_SYS_NICE and CAP_IPC_LOCK itself: run it as root')
    core = max(os.sched_getaffinity(0))
    process = running(may(*ALLOWED[way]), cpus=f"'{core}'", **HABITS)
    stepped(process)
    assert os.sched_getscheduler(process.pid) == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
    assert os.sched_getparam(process.pid).sched_priority == 20
    assert os.sched_getaffinity(process.pid) == {core}
    assert locked(process) > 1000
    assert said_at_the_end(process) == []
