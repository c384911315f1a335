import math
import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from demo import (  # noqa: E402
    chosen_frames,
    free_domain,
    invitation,
    Loop,
    parser,
    prepare_environment,
    steps_on_grid,
    steps_on_imu,
    summary,
)
from mime_motor_ros.screen import Motor, Status, View  # noqa: E402
from mime_motor_ros.table import Tally  # noqa: E402
from recording import guess_frames, Recording  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / 'shared' / 'data'
needs_recordings = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}'
)
DEMO = [sys.executable, str(ROOT / 'tools' / 'demo.py')]
LINE = re.compile(
    r'(?P<seconds>[\d.]+) s, (?P<made>\d+) of (?P<due>\d+) steps, spin (?P<spin>\S+) rad/s, '
    r'peak \|mount wrench\| (?P<peak>\S+) N m'
    r'(, lateness p99 \S+ ms, max \S+ ms)?, (?P<end>stopped cleanly|not cleanly)'
)


def start(*options):
    return subprocess.Popen(
        [*DEMO, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
        text=True,
    )


def read_until(process, word):
    """Return the lines the demo writes up to the first with this word."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            return lines
    raise AssertionError(f'{word!r} never came: {lines} {process.stderr.read()}')


def children_of(process):
    tasks = Path(f'/proc/{process.pid}/task')
    numbers = [int(x) for task in tasks.iterdir() for x in (task / 'children').read_text().split()]
    return {Path(f'/proc/{n}/cmdline').read_text().replace('\0', ' '): n for n in numbers}


def test_the_demo_runs_for_the_seconds_asked_and_sums_up_in_its_last_line():
    process = start('--seconds', '3')
    out, err = process.communicate(timeout=60)
    found = LINE.fullmatch(out.splitlines()[-1])
    assert (process.returncode, err) == (0, '')
    assert found, out
    assert 2.5 < float(found['seconds']) < 5.0
    assert int(found['made']) >= 0.9 * int(found['due'])
    assert float(found['spin']) > 1.0
    assert found['end'] == 'stopped cleanly'
    assert f'ROS_DOMAIN_ID={os.environ["ROS_DOMAIN_ID"]} ' in out


@needs_recordings
def test_a_recording_is_played_to_its_end_and_every_sample_makes_a_step():
    process = start('--bag', str(SHARED / 'jackal_sim_imu_odom'), '--speed', '10')
    out, err = process.communicate(timeout=90)
    found = LINE.fullmatch(out.splitlines()[-1])
    assert (process.returncode, err) == (0, '')
    assert found, out
    assert (found['made'], found['due']) == ('3060', '3060')
    assert found['seconds'] == '61.2'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_demo_ends_its_processes_when_asked_to_stop(number):
    process = start()
    read_until(process, 'wheel: spin')
    children = children_of(process)
    assert len(children) == 2
    process.send_signal(number)
    out, err = process.communicate(timeout=15)
    assert (process.returncode, err) == (0, '')
    assert LINE.fullmatch(out.splitlines()[-1])
    assert not any(Path(f'/proc/{number}').exists() for number in children.values())


@pytest.mark.parametrize(
    ('module', 'name'),
    [('mime_motor_ros.main', 'motor node'), ('mime_motor_ros.demo_mount', 'demo mount')],
)
def test_a_process_that_dies_is_named_and_ends_the_demo(module, name):
    process = start()
    read_until(process, 'wheel: spin')
    victim = next(pid for command, pid in children_of(process).items() if module in command)
    os.kill(victim, signal.SIGKILL)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 1
    assert err.splitlines()[0].startswith(f'demo: the {name} ended with code -9')


def test_what_the_dead_process_wrote_last_is_shown():
    process = start('--rate', '-5')
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.startswith('demo: the motor node ended with code 1:\n    motor: rate must be ')


def test_a_missing_recording_is_told_before_anything_is_started():
    process = start('--bag', '/nowhere/bag')
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, '')
    assert err == 'demo: /nowhere/bag does not exist. Give the folder of a recording.\n'


def test_the_summary_says_what_was_received():
    tally = Tally(received=11990, first_ns=1, last_ns=11_999_000_001, peak_torque=0.0213)
    loop = Loop()
    for p99, longest in (('0.9', '4.2'), ('0.21', '1.1'), ('0.2', '0.8')):
        values = {'lateness p99 (ms)': p99, 'lateness max (ms)': longest}
        view = View('motor', motors=(Motor('wheel', 184.32),))
        loop.add(View('motor', statuses={'stepping': Status(0, '', values)}))
        loop.add(View('motor', statuses={'stepping': Status(0, '', values)}))
    assert len(loop.p99) == 3
    assert summary(tally, steps_on_grid(tally, 1000.0), view, loop, 'stopped cleanly') == (
        '12.0 s, 11990 of 12000 steps, spin 184.3 rad/s, peak |mount wrench| 0.02130 N m, '
        'lateness p99 0.21 ms, max 4.2 ms, stopped cleanly'
    )
    assert summary(Tally(), 0, View('motor'), Loop(), 'stopped cleanly') == (
        '0.0 s, 0 of 0 steps, spin not received, peak |mount wrench| 0 N m, stopped cleanly'
    )


@needs_recordings
def test_steps_on_an_imu_are_one_fewer_than_its_samples():
    recording = Recording(SHARED / 'broad07_fast_rotation')
    frames = guess_frames(recording)
    assert steps_on_imu(recording, frames, math.inf) == 5713
    assert steps_on_imu(recording, frames, recording.start_ns + 1_000_000_000) == 285
    assert steps_on_imu(recording, frames, 0) == 0


@needs_recordings
def test_the_frames_of_a_recording_can_be_named():
    recording = Recording(SHARED / 'husky_imu_odom')
    given = parser().parse_args(['--bag', 'x', '--mount', 'imu_link'])
    assert chosen_frames(recording, given)[:2] == ('odom', 'imu_link')
    words = ['--world', 'a', '--mount', 'b', '--imu-topic', '/c']
    given = parser().parse_args(words)
    assert chosen_frames(recording, given) == ('a', 'b', '', '/c')


def test_no_seconds_are_for_ever_and_wrong_ones_are_refused(capsys):
    assert parser().parse_args([]).seconds == math.inf
    assert parser().parse_args(['--seconds', '']).seconds == math.inf
    with pytest.raises(SystemExit):
        parser().parse_args(['--seconds', '-1'])
    assert 'must be > 0 s, got -1.' in capsys.readouterr().err


def test_a_domain_of_its_own_is_chosen_unless_the_user_has_one():
    environment = {}
    prepare_environment(environment)
    assert 41 <= int(environment['ROS_DOMAIN_ID']) <= 101
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    chosen = {'ROS_DOMAIN_ID': '7', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
    prepare_environment(chosen)
    assert chosen == {'ROS_DOMAIN_ID': '7', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
    assert 'ROS_DOMAIN_ID=7 ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET ' in invitation(chosen)
    assert 41 <= free_domain() <= 101
