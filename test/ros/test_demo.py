import math
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from demo import (  # noqa: E402
    chosen_frames,
    chosen_options,
    DemoError,
    free_domain,
    how_it_ends,
    invitation,
    Last,
    Loop,
    parser,
    prepare_environment,
    refuse_more_than,
    STARTING,
    steps_made,
    steps_on_grid,
    steps_on_imu,
    summary,
)
from mime_motor_ros.demo_mount import torques, tumble  # noqa: E402
from mime_motor_ros.demos import DEMOS  # noqa: E402
from mime_motor_ros.errors import ParameterError  # noqa: E402
from mime_motor_ros.model import (  # noqa: E402
    advance,
    MotorParameters,
    MotorState,
    StepInputs,
)
from mime_motor_ros.offline.recording import guess_frames, Recording  # noqa: E402
from mime_motor_ros.screen import Motor, Status, View  # noqa: E402
from mime_motor_ros.vector import rotate  # noqa: E402
from mime_motor_ros.watch import Tally  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / 'shared' / 'data'
needs_recordings = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}'
)
DEMO = [sys.executable, str(ROOT / 'tools' / 'demo.py')]
LINE = re.compile(
    r'(?P<seconds>[\d.]+) s, (?P<made>\d+) of (?P<due>\d+) steps made, '
    r'((?P<read>\d+) read here, )?spin (?P<spin>\S+) rad/s, '
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
    # All of them, where the mount is never silent for 0.1 s, as it may be on a busy machine.
    assert 0.9 * int(found['due']) <= int(found['made']) <= int(found['due'])
    assert found['read'] is None or int(found['read']) > 0.9 * int(found['made'])
    assert float(found['spin']) > 1.0
    assert found['end'] == 'stopped cleanly'
    assert f'ROS_DOMAIN_ID={os.environ["ROS_DOMAIN_ID"]} ' in out
    begins = [line[10:] for line in out.splitlines() if re.match(r' *\d+\.\d s  ', line)]
    stepping = next(i for i, line in enumerate(begins) if line.startswith('wheel: spin'))
    assert set(begins[:stepping]) == {STARTING}


def spin_after(steps):
    """Return the spin of the demo's wheel when it meets the motion and torque from their start."""
    wheel, state = MotorParameters(inertia=1e-4, damping=1e-5), MotorState()
    for step in range(1, steps + 1):
        pose, rate = tumble(step * 1e-3)
        (torque,) = torques(step * 1e-3, 1, 5e-3)
        inputs = StepInputs(pose, rotate(pose.orientation, rate), torque)
        state = advance(wheel, state, inputs, 1e-3).state
    return state.spin


def test_the_wheel_meets_the_whole_motion_so_that_two_demos_agree():
    for _ in range(3):
        process = start('--seconds', '2')
        out, err = process.communicate(timeout=60)
        found = LINE.fullmatch(out.splitlines()[-1])
        assert (process.returncode, err) == (0, '')
        if found['made'] == found['due']:
            break  # else it was held while the mount was silent, on a busy machine
    # The last torque is held for a moment after the end of the mount, and some wait at the start.
    assert float(found['spin']) == pytest.approx(spin_after(int(found['made'])), abs=1.5)


@needs_recordings
def test_a_recording_is_played_to_its_end_and_every_sample_makes_a_step():
    process = start('--bag', str(SHARED / 'jackal_sim_imu_odom'), '--speed', '10')
    out, err = process.communicate(timeout=90)
    found = LINE.fullmatch(out.splitlines()[-1])
    assert (process.returncode, err) == (0, '')
    assert found, out
    assert (found['made'], found['due'], found['read']) == ('3060', '3060', None)
    assert found['seconds'] == '61.2'
    assert '  the recording has ended' in out
    assert 'no imu message' not in out


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


def test_the_processes_go_with_a_demo_that_is_killed():
    process = start()
    read_until(process, 'wheel: spin')
    children = children_of(process)
    assert len(children) == 2
    process.kill()
    process.communicate(timeout=5)
    end = time.monotonic() + 5.0
    while left := [n for n in children.values() if is_running(n)]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


def is_running(number):
    """Return whether a process is there, and not only the rest of one nobody has waited for."""
    try:
        return Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


OTHER = (
    'there is a node /motor on ROS_DOMAIN_ID {} already. End it, or run the demo '
    'without ROS_DOMAIN_ID: then it takes one that is free.'
)


def test_a_motor_node_that_is_there_already_is_told_and_none_is_started():
    command = [sys.executable, '-m', 'mime_motor_ros.main']
    other = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert 'no steps' in other.stderr.readline()  # so it is up
        process = start()
        out, err = process.communicate(timeout=30)
    finally:
        other.terminate()
        other.communicate(timeout=5)
    assert (process.returncode, err) == (
        1, f'demo: {OTHER.format(os.environ["ROS_DOMAIN_ID"])}\n'
    )  # fmt: skip
    assert 'wheel' not in out.partition('\n')[2]


def test_a_second_motor_node_that_is_found_late_is_told(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '7')
    watch = SimpleNamespace(view=lambda: View('motor', publishers=2))
    refuse_more_than(2, watch)
    with pytest.raises(DemoError) as told:
        refuse_more_than(1, watch)
    assert str(told.value) == OTHER.format(7)


def test_a_missing_recording_is_told_before_anything_is_started():
    process = start('--bag', '/nowhere/bag')
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, '')
    assert err == 'demo: /nowhere/bag does not exist. Give the folder of a recording.\n'


@pytest.mark.parametrize(
    ('made', 'received', 'steps'),
    [
        (12000, 12000, '12000 of 12000 steps made'),
        (12000, 11990, '12000 of 12000 steps made, 11990 read here'),
        (11500, 11499, '11500 of 12000 steps made, 11499 read here'),
        (12003, 12000, '12003 of 12003 steps made, 12000 read here'),  # 3 before the first read
        (None, 11990, '11990 of 12000 steps read here'),
    ],
)
def test_the_summary_tells_what_was_made_from_what_was_read(made, received, steps):
    tally = Tally(received=received, first_ns=1, last_ns=11_999_000_001, peak_torque=0.0213)
    loop = Loop()
    for p99, longest in (('0.9', '4.2'), ('0.21', '346.1'), ('0.2', '0.8')):
        values = {'lateness p99 (ms)': p99, 'lateness max (ms)': longest}
        view = View('motor', motors=(Motor('wheel', 184.32),))
        loop.add(View('motor', statuses={'stepping': Status(0, '', values)}))
        loop.add(View('motor', statuses={'stepping': Status(0, '', values)}))
    assert len(loop.p99) == 3
    assert summary(tally, made, steps_on_grid(tally, 1000.0), view, loop, 'stopped cleanly') == (
        f'12.0 s, {steps}, spin 184.3 rad/s, peak |mount wrench| 0.02130 N m, '
        'lateness p99 0.21 ms, max 346 ms, stopped cleanly'
    )


def test_the_summary_of_nothing():
    assert summary(Tally(), 0, 0, View('motor'), Loop(), 'stopped cleanly') == (
        '0.0 s, 0 of 0 steps made, spin not received, peak |mount wrench| 0 N m, stopped cleanly'
    )


def test_the_steps_due_are_those_from_the_first_stamp_to_the_last():
    assert steps_on_grid(Tally(), 1000.0) == 0
    assert steps_on_grid(Tally(1, 5, 5), 1000.0) == 1
    assert steps_on_grid(Tally(2, 1_000_000_000, 1_001_000_000), 1000.0) == 2
    assert steps_on_grid(Tally(9, 333_333_333, 1_000_000_000), 3.0) == 3


def test_the_steps_made_are_told_by_the_node():
    assert steps_made(View('motor')) is None
    assert steps_made(View('motor', statuses={'stepping': Status(0, '', {'steps': '?'})})) is None
    assert steps_made(View('motor', statuses={'stepping': Status(0, '', {'steps': '8'})})) == 8


def test_the_count_is_final_when_diagnostics_tell_of_a_time_without_steps():
    statuses = {}
    watch = SimpleNamespace(view=lambda: View('motor', statuses=statuses))
    last = Last(watch)
    assert not last.is_told()
    statuses['stepping'] = Status(3, 'no steps: it began with none')
    assert last.is_told()
    last = Last(watch)  # what was told before is not of now
    assert not last.is_told()
    statuses['stepping'] = Status(0, '', {'reached rate (Hz)': '430.0'})
    assert not last.is_told()
    statuses['stepping'] = Status(0, '', {'reached rate (Hz)': '0.0'})
    assert last.is_told()


@needs_recordings
def test_steps_on_an_imu_are_its_samples_from_the_first_step_on():
    recording = Recording(SHARED / 'broad07_fast_rotation')
    frames = guess_frames(recording)
    stamps = []
    for record in recording.records((frames.imu_topic,)):
        stamp = record.message.header.stamp
        stamps.append(stamp.sec * 1_000_000_000 + stamp.nanosec)
    assert steps_on_imu(recording, frames, stamps[1], math.inf) == 5713  # one sample fewer
    assert steps_on_imu(recording, frames, stamps[11], math.inf) == 5703
    assert steps_on_imu(recording, frames, stamps[1], stamps[285]) == 285
    assert steps_on_imu(recording, frames, 0, math.inf) == 0


@needs_recordings
def test_the_frames_of_a_recording_can_be_named():
    recording = Recording(SHARED / 'husky_imu_odom')
    given = parser().parse_args(['--bag', 'x', '--mount', 'imu_link'])
    assert chosen_frames(recording, given)[:2] == ('odom', 'imu_link')
    words = ['--world', 'a', '--mount', 'b', '--imu-topic', '/c']
    given = parser().parse_args(words)
    assert chosen_frames(recording, given) == ('a', 'b', '', '/c')


def test_no_seconds_are_for_ever_and_many_are_as_good():
    assert chosen_options([]).seconds == math.inf
    assert chosen_options(['--seconds', '']).seconds == math.inf
    assert chosen_options(['--seconds', '1e9']).seconds == 1e9


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--demo', 'x'], "DEMO must be one of tumble, bench, precession, wheels, got 'x'."),
        (['--seconds', 'abc'], "SECONDS must be a number > 0 s, got 'abc'."),
        (['--seconds', '-1'], 'SECONDS must be a number > 0 s, got -1.0.'),
        (['--seconds', 'nan'], 'SECONDS must be a number > 0 s, got nan.'),
        (['--rate', '-5'], 'rate must be > 0 Hz and <= 10000 Hz, got -5.0.'),
        (['--rate', 'fast'], "rate must be > 0 Hz and <= 10000 Hz, got 'fast'."),
        (['--speed', '-1'], 'speed must be 0 or >= 0.001 times real time, got -1.0.'),
        (
            ['--speed', 'fast'],
            "speed must be 0 or >= 0.001 times real time, got 'fast'.",
        ),
    ],
)
def test_a_wrong_number_is_told_before_anything_is_started(words, text):
    with pytest.raises(ParameterError) as refused:
        chosen_options(words)
    assert str(refused.value) == text


@pytest.mark.parametrize('name', ['bench', 'precession', 'wheels'])
def test_each_demo_steps_and_stops_cleanly(name):
    process = start('--seconds', '2', '--demo', name)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, '')
    assert out.startswith(DEMOS[name].text)
    last = out.splitlines()[-1]
    assert last.endswith(', stopped cleanly')
    spins = re.search(r'spin (.*) rad/s, peak', last)[1].split(' rad/s ')
    assert len(spins) == (4 if name == 'wheels' else 1)
    assert not re.search(r'wrench\| 0 N m', last)


def test_a_recording_has_its_own_motion():
    with pytest.raises(DemoError, match='give DEMO or BAG'):
        chosen_options(['--bag', 'x', '--demo', 'bench'])


def test_a_wrong_number_is_one_line():
    process = start('--seconds', 'abc')
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, '')
    assert err == "demo: SECONDS must be a number > 0 s, got 'abc'.\n"


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        ([], 'with Ctrl-C'),
        (['--seconds', '12'], 'after 12 s or with Ctrl-C'),
        (['--seconds', '1e9'], 'after 1000000000 s or with Ctrl-C'),
        (['--bag', 'x'], 'with the recording or with Ctrl-C'),
        (['--bag', 'x', '--seconds', '0.5'], 'with the recording, after 0.5 s or with Ctrl-C'),
    ],
)
def test_it_says_when_it_ends(words, text):
    assert how_it_ends(chosen_options(words)) == f'It ends {text}.'


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
