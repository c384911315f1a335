"""The node as a process of its own: how it starts, what it refuses, how it ends."""

from concurrent.futures import ThreadPoolExecutor
import json
import os
from pathlib import Path
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time

from diagnostic_msgs.msg import DiagnosticArray
from ending import Ending, SLACK
from geometry_msgs.msg import WrenchStamped
import pytest
from rcl_interfaces.srv import (
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger
import yaml

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]  # s; many processes, busy machines

ROOT = Path(__file__).resolve().parents[2]
MODULE = [sys.executable, '-m', 'mime_motor_ros.main']
MOUNT = [sys.executable, '-m', 'mime_motor_ros.demo_mount']
INSTALLED = Path(sysconfig.get_path('data')) / 'lib' / 'mime_motor_ros' / 'motor'
PATIENCE = 20.0  # s; for machines that are busy with something else
STILL = {'world_frame': 'base_link', 'rate_source': 'zero', 'max_gap': PATIENCE}
PHASES = int(os.environ.get('MOTOR_PHASES', '4'))  # random instants of each signal
NAN, INF = float('nan'), float('inf')


def arguments(values, *others):
    """Return the arguments that give these parameters on the command line."""
    made = ['--ros-args', *others]
    for name, value in values.items():
        text = value if isinstance(value, str) else yaml.safe_dump(value, default_flow_style=True)
        made += ['-p', f'{name}:={text.removesuffix(os.linesep).removesuffix("...").strip()}']
    return made


def start(values, *others, command=MODULE, **options):
    return subprocess.Popen(
        [*command, *arguments(values, *others)],
        cwd=ROOT,
        text=True,
        **{'stderr': subprocess.PIPE, 'stdout': subprocess.PIPE, **options},
    )


class Peer:
    """A node that looks at the others."""

    def __init__(self, context):
        self.node = rclpy.create_node('peer', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def close(self):
        self._executor.remove_node(self.node)
        self._executor.shutdown()
        self.node.destroy_node()

    def until(self, reached, what, process=None):
        """Spin until something holds; fail at once when the process that should do it ended."""
        end = time.monotonic() + PATIENCE
        while not reached():
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}'
            ended = process is not None and process.poll() is not None
            assert not ended, f'ended while waiting for {what}: {process.stderr.read()}'
            self._executor.spin_once(timeout_sec=0.02)

    def hear(self, kind, topic):
        """Return a list into which all messages of a topic go."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, 100)
        return heard

    def call(self, kind, name, request, process):
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, name, process)
        future = client.call_async(request)
        self.until(future.done, f'the answer of {name}', process)
        return future.result()


class WireClock:
    """A /clock that a test moves on by 10 ms at each look, until the node has followed it."""

    def __init__(self, peer, now):
        self._publisher = peer.node.create_publisher(Clock, '/clock', 10)
        self._heard = peer.hear(JointState, 'joint_states')
        self.now = now

    def stepped(self):
        self.now += 0.01
        self._publisher.publish(time_message(self.now))
        return self._heard and abs(self._heard[-1].header.stamp.sec - self.now) < 1.0


@pytest.fixture
def peer(context):
    peer = Peer(context)
    yield peer
    peer.close()


@pytest.fixture
def running():
    """Start processes that are gone after the test, whatever happened."""
    processes = []

    def run(values, *others, **options):
        processes.append(start(values, *others, **options))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def ended(process):
    """Return exit code, stdout and stderr of a process that has been asked to end."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


# wrong parameters: one line, and live the same line

NAMES = '1 to 64 different names of letters, digits and _ that begin with a letter'
RATE = 'rate must be > 0 Hz and <= 10000 Hz, got'
INERTIA = 'wheel.inertia must be finite and > 0 kg m^2, got'
DAMPING = 'wheel.damping must be finite and >= 0 N m s, got'
TENSOR = 'wheel.asymmetry must be'
ALONG = 'What lies along the axis is the inertia, and what tilts it is an imbalance.'
WRONG = [  # what is given, what is said
    ({'rate': 0.0}, f'{RATE} 0.0.'),
    ({'rate': -1}, f'{RATE} -1.'),
    ({'rate': NAN}, f'{RATE} nan.'),
    ({'rate': 1e6}, f'{RATE} 1000000.0.'),
    ({'rate': 'fast'}, f"{RATE} 'fast'."),
    ({'rate': [1.0]}, f'{RATE} [1.0].'),
    ({'rate': True}, f'{RATE} True.'),
    ({'publish_rate': -1.0}, 'publish_rate must be >= 0 Hz and <= 10000 Hz, got -1.0.'),
    ({'pose_timeout': INF}, 'pose_timeout must be finite and > 0 s, got inf.'),
    ({'max_gap': 0.0}, 'max_gap must be > 0 s and <= 60 s, got 0.0.'),
    ({'publish_tf': 1}, 'publish_tf must be true or false, got 1.'),
    (
        {'rate_source': 'imo'},
        "rate_source must be one of imu, twist, odometry, tf, zero, got 'imo'. Did you mean imu?",
    ),
    (
        {'step_on': 'imu', 'rate_source': 'zero'},
        "step_on must be timer where rate_source is zero, got 'imu'. "
        'Steps on messages need a rate that comes as messages.',
    ),
    ({'world_frame': 3}, 'world_frame must be a text, got 3. Put it in quotes.'),
    ({'motors': []}, f'motors must be {NAMES}, got [].'),
    ({'motors': ['a', 'b', 'a']}, f"motors must be {NAMES}, got ['a', 'b', 'a']."),
    ({'motors': ['left.arm']}, f"motors must be {NAMES}, got ['left.arm']."),
    ({'motors': ['left arm']}, f"motors must be {NAMES}, got ['left arm']."),
    ({'motors': [1, 2]}, f'motors must be {NAMES}, got [1, 2].'),
    ({'motors': ['rate']}, "motors must be names that no parameter has, got 'rate'."),
    (
        {'motors': [f'm{i}' for i in range(65)]},
        f'motors must be {NAMES}, got {[f"m{i}" for i in range(65)]}.',
    ),
    ({'wheel.inertia': 0.0}, f'{INERTIA} 0.0.'),
    ({'wheel.inertia': -1e-4}, f'{INERTIA} -0.0001.'),
    ({'wheel.inertia': NAN}, f'{INERTIA} nan.'),
    ({'wheel.inertia': INF}, f'{INERTIA} inf.'),
    ({'wheel.inertia': 'heavy'}, f"{INERTIA} 'heavy'."),
    ({'wheel.inertia': [1.0]}, f'{INERTIA} [1.0].'),
    ({'wheel.damping': -1e-9}, f'{DAMPING} -1e-09.'),
    ({'wheel.damping': NAN}, f'{DAMPING} nan.'),
    (
        {'wheel.axis': [0.0, 0.0, 0.0]},
        'wheel.axis must be longer than 1e-9: a direction, got [0.0, 0.0, 0.0].',
    ),
    ({'wheel.axis': [0.0, 1.0]}, 'wheel.axis must be 3 finite numbers, got [0.0, 1.0].'),
    (
        {'wheel.axis': [0.0, NAN, 1.0]},
        'wheel.axis must be 3 finite numbers, got [0.0, nan, 1.0].',
    ),
    ({'wheel.axis': 1.0}, 'wheel.axis must be 3 finite numbers, got 1.0.'),
    (
        {'wheel.asymmetry': [1e-5, 0.0, 0.0]},
        f'{TENSOR} 6 or 9 finite numbers [kg m^2], got [1e-05, 0.0, 0.0].',
    ),
    (
        {'wheel.asymmetry': [1e-5, 2e-5, 0.0, 0.0, -1e-5, 0.0, 0.0, 0.0, 0.0]},
        f'{TENSOR} symmetric [kg m^2], got [1e-05, 2e-05, 0.0, 0.0, -1e-05, 0.0, 0.0, 0.0, 0.0].',
    ),
    (
        {'wheel.asymmetry': [0.0, 0.0, 1e-5, 0.0, 0.0, 0.0]},
        f'{TENSOR} across the axis, |Q axis| <= 1e-9 |Q| kg m^2, '
        f'got [0.0, 0.0, 1e-05, 0.0, 0.0, 0.0]. {ALONG}',
    ),
    (
        {'wheel.placement.quaternion': [0.0, 0.0, 0.0, 0.5]},
        'wheel.placement.quaternion must be x y z w of length 1, within 1e-2, '
        'got [0.0, 0.0, 0.0, 0.5].',
    ),
    (
        {'wheel.rotor_frame': 'wheel_stator'},
        "wheel.rotor_frame must be a name of its own, got 'wheel_stator'. "
        'It is that of wheel.stator_frame.',
    ),
    (
        {'wheel.stator_frame': 'base_link'},
        "wheel.stator_frame must be a name of its own, got 'base_link'. "
        'It is that of mount_frame.',
    ),
    (
        {'wheel.inertai': 0.1},
        'wheel.inertai must be the name of a parameter, got 0.1. Did you mean wheel.inertia?',
    ),
    ({'rat': 5.0}, 'rat must be the name of a parameter, got 5.0. Did you mean rate?'),
    (
        {'inertia': 0.1},
        'inertia must be the name of a parameter, got 0.1. Did you mean wheel.inertia?',
    ),
    (
        {'wheels.inertia': 0.1},
        "wheels.inertia must be a parameter of one of the motors ['wheel'], got 0.1. "
        "Add 'wheels' to motors, or name it wheel.inertia.",
    ),
]
FILES = {  # what is in the file, what is said of it
    'mixed.yaml': (
        '/**: {ros__parameters: {wheel: {axis: [0, 0.5, 1]}}}',
        'wheel.axis must be numbers all written with a decimal point, as [0.0, 0.5, 1.0], '
        'got [0, 0.5, 1]. It is in {path}.',
    ),
    'mixed_unit.yaml': (
        '/**:\n  ros__parameters:\n    wheel.placement.xyz: [0, 0.5, 1]\n',
        'wheel.placement.xyz must be numbers [m] all written with a decimal point, '
        'as [0.0, 0.5, 1.0], got [0, 0.5, 1]. It is in {path}.',
    ),
    'syntax.yaml': (
        '/**: {ros__parameters: [',
        'parameter file {path} is not YAML: while parsing a flow node expected the node '
        'content, but found \'<stream end>\' in "{path}", line 1, column 25.',
    ),
    'no_node.yaml': (
        'rate: 5.0\n',
        'parameter file {path} must have ros__parameters between the name of the node (or /**) '
        'and the parameters, got rate: 5.0.',
    ),
    'absent.yaml': (None, 'parameter file {path} cannot be read: No such file or directory.'),
    'text.yaml': (
        '/**: {ros__parameters: {motors: left right}}',
        f"motors must be {NAMES}, got ['left right'].",
    ),
}
QUALITY = 'qos_overrides./motor/reaction.publisher'
LINES = [  # arguments that are wrong as text, what is said
    (
        ['-p', 'wheel.axis:=[0, 0.5, 1]'],
        'wheel.axis must be numbers all written with a decimal point, as [0.0, 0.5, 1.0], '
        'got [0, 0.5, 1].',
    ),
    (['-p', 'wheel.axis:=[0.0, '], 'wheel.axis must be a value as YAML has it, got [0.0, .'),
    (['-p', 'rate:='], 'rate must be a value as YAML has it, got nothing.'),
    (['-p', 'rate'], '-p must be name:=value, got rate.'),
    (
        ['--what'],
        "these arguments are unknown: ['--what']. Parameters are given as -p name:=value.",
    ),
    (['-p', 'use_sim_time:=maybe'], "use_sim_time must be of type bool, got 'maybe'."),
    (
        ['-p', f'{QUALITY}.depth:=-1'],
        f'{QUALITY}.depth must be a whole number >= 1 (messages), got -1.',
    ),
    (
        ['-p', f'{QUALITY}.reliability:=sure'],
        f'{QUALITY}.reliability must be one of system_default, reliable, best_effort, '
        "best_available, got 'sure'.",
    ),
    (
        ['-p', 'mount_frame:=\udcff'],  # a byte that is no text, as Python keeps it
        "an argument must be text in UTF-8, got b'mount_frame:=\\xff'.",
    ),
]


FORKS = """
import json
import os
import signal
import sys
import tempfile

import mime_motor_ros.node
from mime_motor_ros.main import run

for arguments in json.load(sys.stdin):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            signal.alarm(60)  # a node that runs in spite of all
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = ['motor', *arguments]
            run()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
        print(json.dumps([code, *said]), flush=True)
"""


@pytest.fixture(scope='module')
def refused(tmp_path_factory):
    """
    Start a node with each of the wrong parameters; return how each process ended.

    They are forks of one process that has imported everything, which is most of a start.
    """
    folder = tmp_path_factory.mktemp('parameters')
    cases = {}
    for i, (values, _) in enumerate(WRONG):
        cases[i] = arguments(values)
        if i % 2:  # the other half out of a file, by full name
            path = folder / f'{i}.yaml'
            path.write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))
            cases[i] = ['--ros-args', '--params-file', str(path)]
    for name, (text, _) in FILES.items():
        if text is not None:
            (folder / name).write_text(text)
        cases[name] = ['--ros-args', '--params-file', str(folder / name)]
    for given, _ in LINES:
        cases[tuple(given)] = ['--ros-args', *given]

    made = subprocess.run(
        [sys.executable, '-c', FORKS],
        input=json.dumps(list(cases.values())),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert not made.stderr
    ends = map(json.loads, made.stdout.splitlines())
    return folder, dict(zip(cases, ends, strict=True))


def check_refused(end, said):
    assert end == [1, '', f'motor: {said}\n']


def case(i):
    return f'{i}-' + ','.join(WRONG[i][0])


@pytest.mark.slow  # only the first: it starts all of them
@pytest.mark.parametrize('i', range(len(WRONG)), ids=case)
def test_T43_T46_a_wrong_parameter_ends_the_start_with_one_line(refused, i):
    check_refused(refused[1][i], WRONG[i][1])


@pytest.mark.parametrize('name', FILES)
def test_T43_a_wrong_parameter_file_ends_the_start_with_one_line(refused, name):
    folder, ends = refused
    check_refused(ends[name], FILES[name][1].replace('{path}', str(folder / name)))


@pytest.mark.parametrize(('given', 'said'), LINES, ids=[given[-1] for given, _ in LINES])
def test_a_wrong_argument_ends_the_start_with_one_line(refused, given, said):
    check_refused(refused[1][tuple(given)], said)


@pytest.mark.slow
def test_T47_set_live_the_same_is_refused_with_the_same_text_and_nothing_changes(peer, running):
    process = running({})

    def values():
        listed = peer.call(
            ListParameters, '/motor/list_parameters', ListParameters.Request(), process
        )
        names = sorted(listed.result.names)
        request = GetParameters.Request(names=names)
        got = peer.call(GetParameters, '/motor/get_parameters', request, process)
        return dict(zip(names, map(repr, got.values), strict=True))

    before = values()
    assert len(before) > 30
    for given, said in WRONG:
        parameters = [Parameter(n, value=v).to_parameter_msg() for n, v in given.items()]
        # Something right before it: not even that may stay.
        first = Parameter('wheel.damping', value=0.5).to_parameter_msg()
        together = [*([] if 'wheel.damping' in given else [first]), *parameters]
        result = peer.call(
            SetParametersAtomically,
            '/motor/set_parameters_atomically',
            SetParametersAtomically.Request(parameters=together),
            process,
        ).result
        assert (result.successful, result.reason) == (False, said), given
        if len(given) == 1:
            request = SetParameters.Request(parameters=parameters)
            (result,) = peer.call(SetParameters, '/motor/set_parameters', request, process).results
            assert (result.successful, result.reason) == (False, said), given
    assert values() == before
    for name, value in (('rate', 500.0), ('motors', ['left']), ('wheel.axis', [1.0, 0.0, 0.0])):
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        (result,) = peer.call(SetParameters, '/motor/set_parameters', request, process).results
        assert not result.successful
        assert 'read-only' in result.reason, result.reason
    good = Parameter('wheel.inertia', value=1).to_parameter_msg()  # an int for a double
    (result,) = peer.call(
        SetParameters, '/motor/set_parameters', SetParameters.Request(parameters=[good]), process
    ).results
    assert result.successful
    after = values()
    assert [name for name in before if before[name] != after[name]] == ['wheel.inertia']
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 0
    assert all('no transform' in line for line in err.splitlines()), err


def test_T43_ints_for_doubles_start_the_node(peer, running):
    process = running({**STILL, 'rate': 200, 'wheel.axis': [0, 0, 1], 'wheel.inertia': 1})
    heard = peer.hear(JointState, 'joint_states')
    peer.until(lambda: heard, 'a step', process)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (0, '', '')


@pytest.mark.slow
def test_steps_may_be_rarer_than_the_longest_gap_that_is_caught_up(peer, running):
    process = running({**STILL, 'rate': 1.0, 'max_gap': 0.5})
    heard = peer.hear(JointState, 'joint_states')
    peer.until(lambda: len(heard) > 2, 'three steps', process)
    stamps = [message.header.stamp for message in heard]
    assert [stamp.nanosec for stamp in stamps] == [0] * len(stamps)
    assert [b.sec - a.sec for a, b in zip(stamps, stamps[1:], strict=False)] == [1] * (
        len(stamps) - 1
    )
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (0, '', '')


@pytest.mark.skipif(not INSTALLED.exists(), reason=f'needs the package installed ({INSTALLED})')
def test_T52_the_installed_executable_is_the_node(peer, running):
    process = running(STILL, command=[str(INSTALLED)])
    heard = peer.hear(JointState, 'joint_states')
    peer.until(lambda: heard, 'a step', process)
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, '', '')
    bad = subprocess.run(
        [INSTALLED, '--ros-args', '-p', 'rate:=0'],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (bad.returncode, bad.stdout, bad.stderr) == (1, '', f'motor: {RATE} 0.\n')


# asked to end: T48 and T49

SIGNALS = {
    'SIGINT': [signal.SIGINT],
    'SIGTERM': [signal.SIGTERM],
    'SIGINT twice': [signal.SIGINT] * 2,
    'SIGTERM twice': [signal.SIGTERM] * 2,
}


def catches(process):
    """Tell whether the process has its own handler of SIGTERM yet."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    return int(re.search(r'SigCgt:\s*(\w+)', status)[1], 16) >> (signal.SIGTERM - 1) & 1


def asked_to_end(process, signals, delays):
    """Send the signals, each after its delay; return how long the end took and how it was."""
    for number, delay in zip(signals, delays, strict=True):
        time.sleep(delay)
        ending = Ending(process)
        os.kill(process.pid, number)  # it may have ended, but nobody has asked how
    took = ending.seconds(PATIENCE)
    return took, ended(process)


def report(slowest, record_property):
    """Say how long the slowest end took; 1 s, and what a busy machine may add to it."""
    record_property('slowest end (s)', f'{max(slowest):.3f}')
    print(f'slowest end: {max(slowest):.3f} s of {len(slowest)}')
    assert max(slowest) < 1.0 + SLACK


@pytest.mark.slow
@pytest.mark.skipif(not Path('/proc/self/status').exists(), reason='looks into /proc')
@pytest.mark.parametrize('signals', SIGNALS)
def test_T48_T49_a_signal_while_everything_is_imported(running, signals, record_property):
    def one(phase):
        process = running(STILL, '-r', f'__ns:=/n{phase}', '-r', '/tf:=tf', '-r', '/tf_static:=s')
        end = time.monotonic() + PATIENCE
        while not catches(process):
            assert time.monotonic() < end
            time.sleep(0.001)
        delays = [random.uniform(0.0, 0.6), *(random.uniform(0.0, 0.05) for _ in numbers[1:])]
        return delays, *asked_to_end(process, numbers, delays)

    numbers = SIGNALS[signals]
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(one, range(PHASES)))
    for delays, _, end in ends:
        assert end == (0, '', ''), delays
    report([took for _, took, _ in ends], record_property)


@pytest.mark.slow
@pytest.mark.parametrize('load', ['alone', 'IMU at 1 kHz'])
@pytest.mark.parametrize('signals', SIGNALS)
def test_T48_T49_a_signal_while_it_steps(peer, running, signals, load, record_property):
    values = STILL
    if load != 'alone':
        demo = running({'rate': 1000.0}, command=MOUNT)
        patient = ('max_gap', 'pose_timeout', 'rate_timeout', 'command_timeout')
        values = dict.fromkeys(patient, PATIENCE)
        peer.until(lambda: peer.node.count_publishers('/imu/data'), 'the demo mount', demo)
    numbers = SIGNALS[signals]
    # Whoever reads makes the node publish; that is all it is here for.
    reader = rclpy.create_node('reader', context=peer.node.context)
    slowest = []
    for first in range(0, PHASES, 2):
        processes = {}
        for name in (f'n{first}', f'n{first + 1}'):
            # They share one mount, but no name of a topic or a frame.
            processes[name] = running(
                {**values, 'frame_prefix': f'{name}/'},
                *('-r', f'__ns:=/{name}', '-r', 'imu/data:=/imu/data'),
            )
            for topic in ('reaction', 'mount_wrench', 'wheel/reaction', 'wheel/mount_wrench'):
                reader.create_subscription(WrenchStamped, f'/{name}/motor/{topic}', print, 10)
        for name, process in processes.items():
            heard = []
            step = peer.node.create_subscription(
                JointState, f'/{name}/joint_states', heard.append, 1
            )
            peer.until(lambda heard=heard: heard, f'a step of {name}', process)
            peer.node.destroy_subscription(step)
        for process in processes.values():
            delays = [random.uniform(0.0, 0.1), *(random.uniform(0.0, 0.05) for _ in numbers[1:])]
            took, (code, out, err) = asked_to_end(process, numbers, delays)
            # A node whose inputs took seconds to come, on a busy machine, has said so.
            said = [line for line in err.splitlines() if 'no steps: mount' not in line]
            assert (code, out, said) == (0, '', []), delays
            slowest.append(took)
    reader.destroy_node()
    report(slowest, record_property)


@pytest.mark.parametrize('signals', SIGNALS)
def test_T48_T49_a_signal_while_far_more_steps_are_due_than_can_be_made(
    peer, running, signals, record_property
):
    motors = [f'm{i}' for i in range(64)]
    process = running({**STILL, 'motors': motors, 'rate': 10000.0})
    heard = peer.hear(JointState, 'joint_states')
    peer.until(lambda: heard, 'a step', process)
    time.sleep(random.uniform(0.5, 1.0))  # by now it is behind for good
    numbers = SIGNALS[signals]
    took, (code, out, err) = asked_to_end(process, numbers, [0.0, 0.02][: len(numbers)])
    said = [line for line in err.splitlines() if 'without steps' not in line]
    assert (code, out, said) == (0, '', [])
    report([took], record_property)


# an error of the program ends it: T50

PLANTED = """
import sys
import mime_motor_ros.{module} as module


def fail(*_):
    fail.left -= 1
    if fail.left < 0:
        raise ArithmeticError('planted')
    return real(*_)


fail.left = {left}
real = module.{name}
module.{name} = fail

from mime_motor_ros.main import run

run()
"""


@pytest.mark.parametrize(
    ('module', 'name', 'left', 'service'),
    [
        ('session', 'Session.advance_to', 0, False),
        ('session', 'Session.advance_to', 50, False),
        ('node', 'MotorNode._publish', 5, False),
        ('node', 'MotorNode._on_reset', 0, True),
        ('diagnostics', 'Diagnostics._statuses', 0, False),
    ],
)
def test_T50_an_error_ends_the_process_at_once_and_is_said_once(
    peer, running, module, name, left, service
):
    code = PLANTED.format(module=module, name=name, left=left)
    process = running(STILL, command=[sys.executable, '-c', code])
    if service:
        client = peer.node.create_client(Trigger, '/motor/reset')
        peer.until(client.service_is_ready, 'the service', process)
        client.call_async(Trigger.Request())
    code, out, err = ended(process)
    assert (code, out) == (1, '')
    assert err.count('Traceback') == 1
    assert err.splitlines()[-1] == (
        "motor: stopped by an error of the program: ArithmeticError('planted')"
    )


# surroundings


@pytest.mark.skipif(not shutil.which('sh'), reason='needs sh')
@pytest.mark.parametrize('closed', ['<&-', '>&-', '<&- >&-'])
def test_closed_standard_streams_do_not_matter(peer, running, closed):
    process = running(STILL, command=['sh', '-c', f'exec "$@" {closed}', 'sh', *MODULE])
    heard = peer.hear(JointState, 'joint_states')
    peer.until(lambda: heard, 'a step', process)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == (0, '', '')


@pytest.mark.parametrize('gone', ['stdout', 'stderr'])
def test_a_reader_of_its_output_that_is_gone_does_not_end_it(peer, running, gone):
    process = running({**STILL, 'use_sim_time': True, 'max_gap': 0.5})
    getattr(process, gone).close()
    setattr(process, gone, None)
    clock = WireClock(peer, 100.0)
    peer.until(clock.stepped, 'a step', process)
    clock.now = 10.0  # back: that is said
    peer.until(clock.stepped, 'a step after it has said something', process)
    process.send_signal(signal.SIGTERM)
    code, out, err = ended(process)
    assert (code, out or '') == (0, ''), err


def time_message(seconds):
    message = Clock()
    message.clock.sec, message.clock.nanosec = int(seconds), round(seconds % 1 * 1e9) % 10**9
    return message


@pytest.mark.slow
def test_T54_ten_seconds_without_a_transform_are_at_most_ten_lines(peer, running):
    process = running({})
    imu = peer.node.create_publisher(Imu, 'imu/data', 10)
    peer.until(imu.get_subscription_count, 'the node', process)
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        message = Imu()
        message.header.stamp = peer.node.get_clock().now().to_msg()
        message.header.frame_id = 'imu_link'
        imu.publish(message)
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 0
    assert 1 <= len(err.splitlines()) <= 10, err
    assert "'odom'" in err


def test_T54_a_clock_that_goes_back_is_said_also_after_another_time(peer, running):
    process = running({**STILL, 'use_sim_time': True})
    clock = WireClock(peer, 1000.0)
    peer.until(clock.stepped, 'steps', process)
    clock.now = 10.0
    peer.until(clock.stepped, 'steps after the jump', process)
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 0
    assert len([line for line in err.splitlines() if 'went back' in line]) == 1, err


@pytest.mark.slow
def test_a_mount_that_dies_and_comes_back(peer, running):
    process = running({'command_timeout': 0.2, 'rate_timeout': 2.0, 'pose_timeout': 2.0})
    joints = peer.hear(JointState, 'joint_states')
    diagnostics = peer.hear(DiagnosticArray, '/diagnostics')

    def level(name):
        for message in reversed(diagnostics):
            for status in message.status:
                if status.name == f'motor: {name}':
                    return status.level, status.message
        return None, ''

    demo = running({'rate': 200.0}, command=MOUNT)
    peer.until(lambda: joints and joints[-1].effort[0] != 0.0, 'a torque', process)
    peer.until(lambda: level('mount pose')[0] == b'\x00', 'a good pose', process)
    demo.kill()
    demo.wait()
    peer.until(lambda: joints[-1].effort[0] == 0.0, 'torque 0', process)
    peer.until(lambda: level('command')[0] == b'\x01', 'a warning about the command', process)
    peer.until(lambda: level('mount pose')[0] == b'\x03', 'a stale pose', process)
    assert level('mount pose')[1].startswith("no pose of 'base_link' in 'odom' from /tf for ")
    for name in ('mount rate', 'stepping'):
        peer.until(lambda name=name: level(name)[0] == b'\x03', f'a stale {name}', process)
    held = joints[-1]
    count = len(joints)
    demo = running({'rate': 200.0}, command=MOUNT)
    peer.until(lambda: len(joints) > count, 'a step', process)
    # It goes on from what was held, without an impulse over the time that was not integrated.
    assert joints[count].position[0] == pytest.approx(held.position[0], abs=0.5)
    peer.until(lambda: joints[-1].effort[0] != 0.0, 'a torque', process)
    wanted = ('mount pose', 'mount rate', 'command', 'stepping')
    peer.until(lambda: {level(n)[0] for n in wanted} == {b'\x00'}, 'all well again', process)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 0
    assert len(err.splitlines()) <= 5, err
