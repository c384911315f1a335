"""motor_check as a process of its own, on graphs with and without faults."""

from contextlib import suppress
import json
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

from ending import Ending, SLACK
from geometry_msgs.msg import TransformStamped
import pytest
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

pytestmark = [pytest.mark.ros, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
CHECK = [sys.executable, '-m', 'mime_motor_ros.check']
MOTOR = [sys.executable, '-m', 'mime_motor_ros.main']
MOUNT = [sys.executable, '-m', 'mime_motor_ros.demo_mount']
PATIENCE = 30.0  # s
SECONDS = '4'  # publishers that are not found at once are after 3 s
STILL = ['-p', 'world_frame:=base_link', '-p', 'rate_source:=zero']
UNHURRIED = ['-p', 'rate_timeout:=2.0', '-p', 'pose_timeout:=2.0', '-p', 'max_gap:=5.0']


class Graph:
    """Processes and publishers around the check; all are gone after the test."""

    def __init__(self, context):
        self.node = rclpy.create_node('peer', context=context)
        self._processes = []
        self._sends = []

    def start(self, command, *ros):
        process = subprocess.Popen(
            [*command, *(['--ros-args', *ros] if ros else [])],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def until(self, reached, what):
        end = time.monotonic() + PATIENCE
        while not reached():
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}'
            self.publish()
            time.sleep(0.01)

    def mount(self):
        """Run the demo mount, and wait for it."""
        self.start(MOUNT)
        self.until(lambda: self.node.count_publishers('/imu/data'), 'the demo mount')

    def motor(self, *ros):
        """Run a motor node, and wait until it makes steps."""
        from sensor_msgs.msg import JointState

        heard = []
        subscription = self.node.create_subscription(JointState, 'joint_states', heard.append, 10)
        self.start(MOTOR, *ros)

        def stepped():
            with subscription.handle:
                return subscription.handle.take_message(JointState, False)

        self.until(stepped, 'a step of the motor node')
        self.node.destroy_subscription(subscription)

    def sends(self, kind, topic, make, qos=10):
        """Publish on a topic, a hundred times a second, while the check runs."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self._sends.append((publisher, make))

    def publish(self):
        stamp = self.node.get_clock().now().to_msg()
        for publisher, make in self._sends:
            publisher.publish(make(stamp))

    def check(self, *ros, options=('--seconds', SECONDS)):
        """Run the check with the publishers at work; return exit code, output and errors."""
        return self._run([self.start([*CHECK, *options], *ros)])[0]

    def found(self, *checks):
        """Run checks at once, each with its arguments; return exit codes and what is not good."""
        options = ('--seconds', SECONDS, '--json')
        ran = self._run([self.start([*CHECK, *options], *ros) for ros in checks])
        return [self._told(*one) for one in ran]

    def _run(self, processes):
        self.until(lambda: all(one.poll() is not None for one in processes), 'the checks')
        return [(one.returncode, *one.communicate()) for one in processes]

    def _told(self, code, out, err):
        assert err == ''
        told = json.loads(out)
        bad = [(x['level'], x['subject'], x['text']) for x in told['findings']
               if x['level'] != 'ok']  # fmt: skip
        assert (told['good'], code) == (not bad, 1 if bad else 0)
        return bad

    def close(self):
        for process in self._processes:
            process.kill()
            process.communicate()
        self.node.destroy_node()


@pytest.fixture
def graph(context):
    graph = Graph(context)
    yield graph
    graph.close()


def imu(stamp):
    message = Imu()
    message.header.stamp, message.header.frame_id = stamp, 'base_link'
    return message


def tf(parent, child):
    def made(stamp):
        transform = TransformStamped(child_frame_id=child)
        transform.header.stamp, transform.header.frame_id = stamp, parent
        transform.transform.rotation.w = 1.0
        return TFMessage(transforms=[transform])

    return made


@pytest.mark.slow
def test_nothing_is_wrong_beside_a_running_motor_node_and_without_one(graph):
    graph.mount()
    code, out, err = graph.check(*UNHURRIED)
    assert (code, err) == (0, ''), out
    assert out.splitlines()[0] == 'motor_check for /motor, 4 s: nothing looks wrong'
    assert re.search(r'^ok +pose and rate +they turn alike: correlation (1\.0|0\.9)', out, re.M)
    assert re.search(r'^ok +transforms +the frames of the motors are free', out, re.M)
    assert '\x1b' not in out  # no colour where there is no terminal

    graph.motor()
    code, out, err = graph.check(*UNHURRIED, options=('--seconds', SECONDS, '--json'))
    told = json.loads(out)
    assert (code, err, told['good'], told['node']) == (0, '', True, '/motor'), out
    (text,) = [x['text'] for x in told['findings'] if x['subject'] == 'transforms']
    assert text == 'the frames of the motors are from /motor alone'


def test_a_graph_without_publishers_is_told(graph):
    (bad,) = graph.found(['-p', 'mount_frame:=base'])
    assert [(level, subject) for level, subject, _ in bad] == [
        ('error', 'mount pose'),
        ('error', 'mount rate'),
        ('error', 'frames'),
        ('error', 'session'),
    ]
    assert bad[1][2].startswith('nobody publishes /imu/data (sensor_msgs/msg/Imu).')


@pytest.mark.slow
def test_what_comes_under_another_name_or_type_is_told(graph):
    graph.sends(Imu, '/imu/data_raw', imu)
    graph.sends(Float64MultiArray, '/gyro', lambda _: Float64MultiArray(data=[1.0]))
    graph.sends(TFMessage, '/tf', tf('odom', 'base_link'))
    other, right, wrong = graph.found(
        UNHURRIED,
        [*UNHURRIED, '-r', 'imu/data:=/imu/data_raw'],
        [*UNHURRIED, '-r', 'imu/data:=/gyro'],
    )
    assert other[0][:2] == ('error', 'mount rate')
    assert other[0][2].endswith('start with --ros-args -r imu/data:=/imu/data_raw')
    assert right == []
    assert '/peer: std_msgs/msg/Float64MultiArray is not sensor_msgs/msg/Imu' in wrong[0][2]


@pytest.mark.slow
def test_a_quality_that_does_not_fit_is_told_and_heard_all_the_same(graph):
    best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    graph.sends(Imu, '/imu/data', imu, best_effort)
    graph.sends(TFMessage, '/tf', tf('odom', 'base_link'), best_effort)
    # The sensor fits, unless reliability is asked for.
    quality = 'qos_overrides./imu/data.subscription.reliability:=reliable'
    usual, asked = graph.found(UNHURRIED, [*UNHURRIED, '-p', quality])
    pose, frames, session = usual
    assert pose[:2] == ('error', 'mount pose')
    assert re.match(
        r'/tf: what these publish does not arrive: /peer: best effort publisher .*'
        r'Make the publisher reliable\.$',
        pose[2],
    )
    assert 'It is in some that do not arrive' in frames[2]
    assert session[1] == 'session'
    assert 'best effort publisher' in next(text for _, name, text in asked if name == 'mount rate')


@pytest.mark.slow
def test_a_second_authority_is_found_with_and_without_a_motor_node(graph):
    graph.sends(TFMessage, '/tf', tf('base_link', 'wheel_rotor'))
    graph.sends(TFMessage, '/tf', tf('left_stator', 'left_rotor'))
    left = [*STILL, '-p', 'motors:=[left]']
    (wrong_parent,), (nobody,) = graph.found(STILL, left)
    assert wrong_parent == (
        'error',
        'transforms',
        "our frame 'wheel_rotor' is published under 'base_link', and belongs under "
        "'wheel_stator'; transforms come from /peer. Rename one of the two frames, or set "
        'publish_tf to false.',
    )
    assert nobody[2].startswith(
        "somebody publishes our frame 'left_rotor' (under 'left_stator'), and no motor node of "
        'this name runs; transforms come from /peer.'
    )
    graph.motor(*left)
    (second,), none = graph.found(left, [*left, '-p', 'publish_tf:=false'])
    assert second[2].startswith(
        "our frame 'left_rotor' comes from a second publisher too; transforms come from /peer."
    )
    assert none == []


@pytest.mark.slow
def test_two_motor_nodes_of_one_name_are_told(graph):
    graph.motor(*STILL)
    graph.start(MOTOR, *STILL)
    graph.until(lambda: graph.node.count_publishers('/motor/reaction') == 2, 'the second')
    (bad,) = graph.found(STILL)
    assert bad[0][2].startswith('2 motor nodes of one name run: /motor, /motor.')


@pytest.mark.slow
def test_simulated_time_is_that_of_the_clock(graph):
    sim = ['-p', 'use_sim_time:=true']
    (bad,) = graph.found([*STILL, *sim])
    assert bad[0][1] == 'time'
    assert 'nothing came on /clock: nobody publishes it' in bad[0][2]

    def at(stamp):
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = stamp.sec % 1000 + 1, stamp.nanosec
        return clock

    graph.sends(Clock, '/clock', at)
    graph.sends(Imu, '/imu/data', imu)
    good, bad = graph.found([*STILL, *sim], [*UNHURRIED, *sim, '-p', 'world_frame:=base_link'])
    assert good == []
    assert 'ahead of /clock: one follows another clock' in bad[0][2]


@pytest.mark.slow
def test_names_and_parameters_are_those_of_the_motor_node(graph, tmp_path):
    values = 'world_frame: base_link, rate_source: zero, motors: [a, b]'
    for name, node in (('root', 'left'), ('any', '/**/left')):
        text = f'{node}:\n  ros__parameters: {{{values}}}\n'
        (tmp_path / f'{name}.yaml').write_text(text)
    graph.sends(Float64MultiArray, '/arm/left/commands', lambda _: Float64MultiArray(data=[1.0]))
    names = ['-r', '__node:=left', '-r', '__ns:=/arm', '--params-file']
    root, any_namespace = graph.found(
        *([*names, str(tmp_path / f'{name}.yaml')] for name in ('root', 'any'))
    )
    assert 'error' in {level for level, *_ in root}  # the file is for /left, and there is no mount
    assert any_namespace == [
        (
            'warning',
            'command',
            any_namespace[0][2],
        )
    ]
    assert 'refused: commands: 1 torques for 2 motors' in any_namespace[0][2]


@pytest.mark.slow
def test_the_check_is_seen_by_nobody_as_a_motor_node_and_publishes_nothing(graph):
    process = graph.start([*CHECK, '--seconds', SECONDS], *STILL)
    nodes, topics = set(), set()
    while process.poll() is None:
        nodes |= {name for name, _ in graph.node.get_node_names_and_namespaces()}
        for name in nodes - {'peer'}:
            with suppress(RuntimeError):  # just gone
                of_node = graph.node.get_publisher_names_and_types_by_node(name, '/')
                topics |= {topic for topic, _ in of_node}
        time.sleep(0.02)
    assert nodes == {'peer', f'motor_check_{process.pid}'}
    assert topics <= {'/parameter_events'}
    assert process.returncode == 0


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        (['--ros-args', '-p', 'rate:=0'], 'rate must be > 0 Hz and <= 10000 Hz, got 0.'),
        (
            ['--ros-args', '-p', 'wheel.inertai:=0.1'],
            'wheel.inertai must be the name of a parameter, got 0.1. Did you mean wheel.inertia?',
        ),
        (
            ['--ros-args', '--params-file', 'absent.yaml'],
            'parameter file absent.yaml cannot be read: No such file or directory.',
        ),
        (['--seconds', '0'], "argument --seconds: must be a number > 0 s and <= 60 s, got '0'."),
        (['--second'], None),
    ],
)
def test_wrong_arguments_are_told_in_one_line_with_exit_code_2(given, said):
    ended = subprocess.run([*CHECK, *given], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stdout) == (2, '')
    if said and '--ros-args' in given:
        assert ended.stderr == f'motor_check: {said}\n'
    elif said:
        assert ended.stderr.splitlines()[-1] == f'motor_check: error: {said}'


@pytest.mark.slow
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['SIGINT', 'SIGTERM'])
@pytest.mark.parametrize('delay', [0.0, 0.2, 0.5, 0.9, 1.5])
def test_interrupted_it_leaves_at_once_without_a_judgement(graph, number, delay):
    process = graph.start([*CHECK, '--seconds', '60'], *STILL)
    graph.until(lambda: catches_signals(process), 'the handlers of the signals')
    time.sleep(delay)
    ending = Ending(process)
    process.send_signal(number)
    took = ending.seconds(PATIENCE)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (1, '', '')
    assert took < 1.0 + SLACK


def catches_signals(process):
    """Tell whether the process has its own handlers, of which that of SIGTERM comes last."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    return int(re.search(r'SigCgt:\s*(\w+)', status)[1], 16) >> (signal.SIGTERM - 1) & 1
