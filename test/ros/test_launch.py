"""
The launch files: what they describe, and what really comes up when they are started.

They run where launch_ros is installed and are skipped with a reason elsewhere.
"""

from contextlib import suppress
import json
import os
from pathlib import Path
import re
import runpy
import signal
import subprocess
import sys
import time

import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile

pytest.importorskip('launch_ros', reason='needs launch_ros: source ROS 2')

from ament_index_python.packages import get_package_prefix, PackageNotFoundError  # noqa: E402
from launch import LaunchContext  # noqa: E402
from launch.actions import DeclareLaunchArgument, LogInfo  # noqa: E402
from launch.substitutions import TextSubstitution  # noqa: E402
from launch.utilities import perform_substitutions  # noqa: E402
from launch_ros.actions import Node  # noqa: E402
from mime_motor_ros.demos import DEMOS  # noqa: E402
from mime_motor_ros.errors import ParameterError  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.parameter import parameter_value_to_python  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

ROOT = Path(__file__).parents[2]
MOTOR, DEMO = ROOT / 'launch' / 'motor.launch.py', ROOT / 'launch' / 'demo.launch.py'
CONFIG = ROOT / 'config'
FRAMES = ('world_frame:="odom"', 'mount_frame:="base_link"')
PATIENCE = 30.0  # s; a node on a busy machine takes a few to come up
AGAIN = 1.0  # s; before a question is put again

# What `ros2 launch` does, for machines without its command line.
RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *arguments = sys.argv[1:]
service = LaunchService(argv=arguments)
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(path),
    launch_arguments=[argument.split(':=', 1) for argument in arguments])]))
sys.exit(service.run())
"""


def why_not():
    """Return why the package cannot be started by launch here, or nothing."""
    try:
        prefix = Path(get_package_prefix('mime_motor_ros'))
    except PackageNotFoundError:
        return 'mime_motor_ros is not installed'
    executables = [prefix / 'lib' / 'mime_motor_ros' / name for name in ('motor', 'demo_mount')]
    return '' if all(map(os.path.exists, executables)) else f'no executables in {prefix}/lib'


started = pytest.mark.skipif(bool(why_not()), reason=why_not() or 'installed')

# --- what is described -----------------------------------------------------------------------


def arguments(path):
    """Return the declared arguments of a launch file by name; the first one holds."""
    described = runpy.run_path(str(path))['generate_launch_description']()
    found = {}
    for argument, _ in described.get_launch_arguments_with_include_launch_description_actions():
        found.setdefault(argument.name, argument)
    return found


def default(argument):
    return perform_substitutions(LaunchContext(), argument.default_value)


def context(path, **given):
    """Return a launch context with the arguments of a file, as they are once it is started."""
    made = LaunchContext()
    for name, argument in arguments(path).items():
        made.launch_configurations[name] = given.get(name, default(argument))
    return made


def texts(node):
    """Return the fixed words of a node's command line."""
    return [
        ''.join(part.text for part in word)
        for word in node.cmd
        if all(isinstance(part, TextSubstitution) for part in word)
    ]


def rules(node):
    """Return the parameters on a node's command line, as YAML texts."""
    words = texts(node)
    return [words[i + 1] for i, word in enumerate(words) if word == '-p']


@pytest.mark.parametrize('path', [MOTOR, DEMO], ids=['motor', 'demo'])
def test_every_argument_is_described_and_has_a_default(path):
    for name, argument in arguments(path).items():
        assert isinstance(argument, DeclareLaunchArgument)
        assert len(argument.description) > 10, name
        assert argument.default_value is not None, name


def test_the_motor_takes_what_a_user_may_want_to_change():
    assert set(arguments(MOTOR)) == {
        'namespace', 'params_file', 'use_sim_time', 'imu_topic', 'mount_frame', 'world_frame',
        'publish_tf', 'frame_prefix', 'rviz', 'rviz_config', 'respawn', 'log_level', 'enclave',
    }  # fmt: skip


def test_the_demo_takes_the_same_and_two_figures_of_its_mount():
    more = {'mount_rate', 'torque_amplitude'}
    assert set(arguments(DEMO)) == set(arguments(MOTOR)) | more


def test_rviz_is_for_the_demo_and_for_those_who_ask():
    assert default(arguments(MOTOR)['rviz']) == 'false'
    assert default(arguments(DEMO)['rviz']) == 'true'


@pytest.mark.parametrize('name', ['params_file', 'rviz_config'])
def test_the_default_files_are_there(name):
    assert Path(default(arguments(MOTOR)[name])).resolve().parent == CONFIG


def test_nothing_is_put_over_the_file_unasked():
    (node,) = runpy.run_path(str(MOTOR))['motor'](context(MOTOR))
    assert texts(node)[:3] == ['--ros-args', '--log-level', '--params-file']
    assert rules(node) == []


@pytest.mark.parametrize(
    ('name', 'text', 'value'),
    [
        ('mount_frame', '007', '007'),
        ('mount_frame', '0483', '0483'),
        ('world_frame', '123E5', '123E5'),
        ('world_frame', 'true', 'true'),
        ('world_frame', 'a: b', 'a: b'),
        ('frame_prefix', 'r1/', 'r1/'),
        ('use_sim_time', 'True', True),
        ('use_sim_time', 'true', True),
        ('use_sim_time', 'False', False),
        ('publish_tf', 'false', False),
    ],
)
def test_T44_what_is_given_goes_over_the_file_in_its_own_type(name, text, value):
    (node,) = runpy.run_path(str(MOTOR))['motor'](context(MOTOR, **{name: text}))
    (rule,) = rules(node)
    key, _, written = rule.partition(':=')
    assert key == name
    assert json.loads(written) == value
    assert texts(node).index('-p') > texts(node).index('--params-file')


def test_the_enclave_goes_to_the_node_when_there_is_one():
    motor = runpy.run_path(str(MOTOR))['motor']
    assert '--enclave' not in texts(*motor(context(MOTOR)))
    words = texts(*motor(context(MOTOR, enclave='/bench/motor')))
    assert words[words.index('--enclave') + 1] == '/bench/motor'


@pytest.mark.parametrize('name', ['use_sim_time', 'publish_tf', 'rviz', 'respawn'])
def test_a_flag_that_is_neither_true_nor_false_is_refused(name):
    with pytest.raises(ValueError, match='must be') as refused:
        runpy.run_path(str(MOTOR))['nodes'](context(MOTOR, **{name: 'perhaps'}))
    assert str(refused.value) == f"{name} must be true or false, got 'perhaps'."


@pytest.mark.parametrize('name', ['mount_rate', 'torque_amplitude'])
def test_a_figure_that_is_no_number_is_refused(name):
    with pytest.raises(ValueError, match='must be') as refused:
        runpy.run_path(str(DEMO))['mount'](context(DEMO, **{name: 'fast'}))
    assert str(refused.value) == f"{name} must be a number, got 'fast'."


def test_a_parameter_file_that_is_not_there_is_refused():
    with pytest.raises(FileNotFoundError) as refused:
        runpy.run_path(str(MOTOR))['motor'](context(MOTOR, params_file='/no/such.yaml'))
    assert str(refused.value) == "params_file must be the path of a file, got '/no/such.yaml'."


@pytest.fixture
def no_rviz(monkeypatch):
    """Have no package installed, as far as the ament index knows."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/nowhere')


@pytest.fixture
def some_rviz(monkeypatch, tmp_path):
    """Have a package rviz2 whose executable writes down how it was called."""
    marker = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'rviz2'
    executable = tmp_path / 'lib' / 'rviz2' / 'rviz2'
    for file, text in (
        (marker, ''),
        (executable, f'#!/bin/sh\necho "$*" > {tmp_path}/called.new\n'
                     f'mv {tmp_path}/called.new {tmp_path}/called\n'),
    ):  # fmt: skip
        file.parent.mkdir(parents=True)
        file.write_text(text)
    executable.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}:{os.environ["AMENT_PREFIX_PATH"]}')
    return tmp_path / 'called'


def test_without_rviz_one_line_says_so(no_rviz):
    (line,) = runpy.run_path(str(MOTOR))['rviz'](context(MOTOR, rviz='true'))
    assert isinstance(line, LogInfo)
    said = perform_substitutions(LaunchContext(), line.msg)
    assert said == 'rviz2 is not installed: going on without RViz.'


def test_rviz_is_left_alone_unless_asked_for(some_rviz):
    assert runpy.run_path(str(MOTOR))['rviz'](context(MOTOR)) == []


def test_rviz_shows_the_world_that_was_given(some_rviz):
    asked = context(MOTOR, rviz='true', world_frame='map')
    (node,) = runpy.run_path(str(MOTOR))['rviz'](asked)
    assert isinstance(node, Node)
    words = texts(node)
    assert words[words.index('--display-config') + 1] == str(CONFIG / 'motor.rviz')
    assert words[words.index('--fixed-frame') + 1] == 'map'


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({}, {'motors:=1', 'world_frame:="odom"', 'mount_frame:="base_link"'}),
        ({'mount_rate': '200', 'torque_amplitude': '5e-3'}, {'motors:=1', *FRAMES}),
        ({'params_file': str(CONFIG / 'wheels.yaml')}, {'motors:=4'}),
        ({'mount_frame': '007'}, {'motors:=1', 'world_frame:="odom"', 'mount_frame:="007"'}),
    ],
)
def test_the_demo_mount_goes_by_the_parameter_file_and_the_arguments(given, expected):
    (node,) = runpy.run_path(str(DEMO))['mount'](context(DEMO, **given))
    same = {'rate:=200.0', 'torque_amplitude:=0.005', 'motion:="tumble"'}
    assert set(rules(node)) == expected | same


def test_the_demos_are_described_and_one_that_is_none_is_refused():
    assert all(name in arguments(DEMO)['demo'].description for name in DEMOS)
    with pytest.raises(ParameterError, match="demo must be one of tumble, .*, got 'x'."):
        runpy.run_path(str(DEMO))['check'](context(DEMO, demo='x'))


@pytest.mark.parametrize(('name', 'file'), [('precession', 'precession'), ('wheels', 'wheels')])
def test_a_body_that_turns_freely_has_motors_of_its_own_unless_others_are_given(name, file):
    described = runpy.run_path(str(DEMO))
    chosen = context(DEMO, demo=name)
    del chosen.launch_configurations['params_file']  # as nobody has given it
    described['check'](chosen)
    path = CONFIG / f'{file}.yaml'
    assert chosen.launch_configurations['params_file'] == str(path)
    (node,) = described['mount'](chosen)
    words = texts(node)
    assert words[words.index('--params-file') + 1] == str(path)
    assert {f'motion:="{name}"', 'rate:=1000.0'} < set(rules(node))
    chosen.launch_configurations['params_file'] = 'mine.yaml'
    described['check'](chosen)
    assert chosen.launch_configurations['params_file'] == 'mine.yaml'


def test_the_demo_mount_takes_a_whole_number_for_a_figure():
    (node,) = runpy.run_path(str(DEMO))['mount'](context(DEMO, mount_rate='100'))
    assert 'rate:=100.0' in rules(node)


# --- what comes up ---------------------------------------------------------------------------


class Launched:
    """A launch file that runs, as from a terminal."""

    def __init__(self, log, path, given):
        self._log = log
        with log.open('w') as output:
            self._process = subprocess.Popen(
                [sys.executable, '-c', RUN, path, *(f'{k}:={v}' for k, v in given.items())],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {'OVERRIDE_LAUNCH_PROCESS_OUTPUT': 'screen'},
                start_new_session=True,  # a group of its own, for Ctrl-C
                # A shell may have had it ignored for what runs in the background.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    @property
    def said(self):
        return self._log.read_text()

    def says(self, pattern, times=1):
        """Wait until something was said so often; return all it matched."""
        end = time.monotonic() + PATIENCE
        while len(found := re.findall(pattern, self.said)) < times:
            ended = self._process.poll() is not None
            assert not ended or re.search(pattern, self.said), f'ended early:\n{self.said}'
            assert time.monotonic() < end, f'no {pattern!r} in:\n{self.said}'
            time.sleep(0.05)
        return found

    def pids(self, times=1):
        """Return the process ids that motor nodes had so far, at least so many."""
        found = self.says(r'\[motor-\d+\]: process started with pid \[(\d+)\]', times)
        return [int(pid) for pid in found]

    def interrupt(self):
        """Press Ctrl-C, which reaches the whole group; return the exit code."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(PATIENCE)

    def ends(self):
        return self._process.wait(PATIENCE)

    def close(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
        with suppress(ProcessLookupError):  # whatever a failed test left of the group
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def start(tmp_path):
    running = []

    def start(path, **given):
        log = tmp_path / f'launch{len(running)}.log'
        running.append(Launched(log, str(path), given))
        return running[-1]

    yield start
    for launched in running:
        launched.close()


class Peer:
    """A node that asks the launched ones."""

    def __init__(self, node):
        self.node = node

    def until(self, true, what):
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}'
            rclpy.spin_once(self.node, executor=self.executor, timeout_sec=0.05)

    def parameters(self, of, *names):
        """Return the values of parameters of a node, once it answers."""
        client = self.node.create_client(GetParameters, f'{of}/get_parameters')
        self.until(client.service_is_ready, f'the parameters of {of}')
        answers, asked = [], -AGAIN

        def answered():
            # A node that was killed is on the network for a while and takes what is asked.
            nonlocal asked
            if time.monotonic() - asked > AGAIN:
                asked = time.monotonic()
                answers.append(client.call_async(GetParameters.Request(names=list(names))))
            return any(answer.done() for answer in answers)

        self.until(answered, f'an answer of {of}')
        values = next(answer.result().values for answer in answers if answer.done())
        self.node.destroy_client(client)
        return [parameter_value_to_python(value) for value in values]

    def message(self, kind, topic, qos, good=lambda _: True):
        """Return the first message of a topic that is good."""
        heard = []
        reader = self.node.create_subscription(
            kind, topic, lambda m: heard.append(m) if good(m) else None, qos
        )
        self.until(lambda: heard, f'a message on {topic}')
        self.node.destroy_subscription(reader)
        return heard[0]


@pytest.fixture
def peer():
    context = rclpy.Context()
    rclpy.init(context=context)
    made = Peer(rclpy.create_node('peer', context=context))
    made.executor = rclpy.executors.SingleThreadedExecutor(context=context)
    yield made
    made.executor.shutdown()
    made.node.destroy_node()
    rclpy.shutdown(context=context)


LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@started
def test_the_node_comes_up_with_the_file_and_leaves_at_ctrl_c(start, peer):
    launched = start(MOTOR)
    names = ['motors', 'wheel.inertia', 'mount_frame', 'publish_tf', 'use_sim_time']
    values = peer.parameters('/motor', *names)
    assert values == [['wheel'], 1e-4, 'base_link', True, False]
    assert launched.interrupt() == 0
    assert 'process has finished cleanly' in launched.said
    assert 'Traceback' not in launched.said
    assert 'SIGTERM' not in launched.said


@started
def test_T45_one_file_holds_in_two_namespaces_with_what_is_given_over_it(start, peer):
    wheels = CONFIG / 'wheels.yaml'
    start(MOTOR, namespace='r1', params_file=wheels, mount_frame='007', use_sim_time='True')
    start(MOTOR, namespace='r2', params_file=wheels, world_frame='123E5', publish_tf='False')
    names = ['wheel_s.axis', 'mount_frame', 'world_frame', 'publish_tf', 'use_sim_time']
    assert peer.parameters('/r1/motor', *names) == [[1.0] * 3, '007', 'odom', True, True]
    assert peer.parameters('/r2/motor', *names) == [[1.0] * 3, 'base_link', '123E5', False, False]


@started
def test_the_imu_is_where_it_was_said_to_be(start, peer):
    start(MOTOR, namespace='r1', imu_topic='bno/imu')
    peer.until(lambda: peer.node.count_subscribers('/r1/bno/imu') == 1, 'a reader of the IMU')
    assert peer.node.count_subscribers('/r1/imu/data') == 0


@started
def test_two_motors_on_one_tf_have_frames_of_their_own_with_a_prefix(start, peer):
    start(MOTOR, namespace='r1', frame_prefix='r1/', mount_frame='r1/base_link')
    start(MOTOR, namespace='r2', frame_prefix='r2/', mount_frame='r2/base_link')
    for name in ('r1', 'r2'):
        message = peer.message(
            TFMessage, '/tf_static', LATCHED,
            lambda m, name=name: m.transforms[0].header.frame_id.startswith(name),
        )  # fmt: skip
        (transform,) = message.transforms
        assert transform.header.frame_id == f'{name}/base_link'
        assert transform.child_frame_id == f'{name}/wheel_stator'


@started
def test_T22_a_group_gives_each_namespace_a_tf_of_its_own(start, peer, tmp_path):
    """As the head of the launch file tells."""
    both = tmp_path / 'both.launch.py'
    both.write_text(f"""
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import PushRosNamespace, SetRemap


def generate_launch_description():
    return LaunchDescription([
        GroupAction([
            PushRosNamespace(name),
            SetRemap('/tf', 'tf'),
            SetRemap('/tf_static', 'tf_static'),
            IncludeLaunchDescription(PythonLaunchDescriptionSource({str(MOTOR)!r})),
        ])
        for name in ('r1', 'r2')
    ])
""")
    start(both)
    for name in ('r1', 'r2'):
        assert peer.parameters(f'/{name}/motor', 'mount_frame') == ['base_link']
        peer.message(TFMessage, f'/{name}/tf_static', LATCHED)
        assert peer.node.count_publishers(f'/{name}/tf_static') == 1
    assert peer.node.count_publishers('/tf_static') == 0


@started
def test_T50_a_node_that_was_killed_comes_back(start, peer):
    launched = start(MOTOR, respawn='true')
    peer.parameters('/motor', 'rate')
    os.kill(launched.pids()[0], signal.SIGKILL)
    first, second = launched.pids(2)
    assert first != second
    assert peer.parameters('/motor', 'rate') == [1000.0]
    assert launched.interrupt() == 0


@started
def test_a_node_that_was_killed_stays_away_unless_asked_for(start, peer):
    launched = start(MOTOR)
    peer.parameters('/motor', 'rate')
    os.kill(launched.pids()[0], signal.SIGKILL)
    launched.ends()
    assert len(launched.pids()) == 1


@started
def test_the_demo_moves_four_wheels_and_leaves_at_ctrl_c(start, peer):
    launched = start(DEMO, params_file=CONFIG / 'wheels.yaml', rviz='false', mount_rate='100')
    state = peer.message(JointState, '/joint_states', 10, lambda m: any(m.effort))
    assert list(state.name) == [f'wheel_{axis}_joint' for axis in 'xyzs']
    assert peer.parameters('/demo_mount', 'motors', 'rate') == [4, 100.0]
    assert launched.interrupt() == 0
    assert launched.said.count('process has finished cleanly') == 2
    assert 'Traceback' not in launched.said


@started
def test_rviz_is_started_in_the_namespace_of_the_motor(start, some_rviz):
    start(MOTOR, rviz='true', namespace='r1', world_frame='map', use_sim_time='True')
    end = time.monotonic() + PATIENCE
    while not some_rviz.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    called = some_rviz.read_text()
    assert f'--display-config {CONFIG}/motor.rviz --fixed-frame map --ros-args' in called
    assert '-p use_sim_time:=true' in called
    assert '-r __node:=rviz -r __ns:=/r1' in called


@started
@pytest.mark.parametrize(
    ('path', 'given', 'line'),
    [
        (
            MOTOR,
            {'params_file': '/no/such.yaml'},
            "params_file must be the path of a file, got '/no/such.yaml'.",
        ),
        (MOTOR, {'rviz': 'perhaps'}, "rviz must be true or false, got 'perhaps'."),
        (DEMO, {'respawn': 'perhaps'}, "respawn must be true or false, got 'perhaps'."),
        (DEMO, {'demo': 'x'}, "demo must be one of tumble, bench, precession, wheels, got 'x'."),
        (DEMO, {'mount_rate': 'fast'}, "mount_rate must be a number, got 'fast'."),
    ],
)
def test_a_wrong_argument_ends_the_start_with_one_line_and_nothing_is_left(
    start, path, given, line
):
    launched = start(path, **given)
    assert launched.ends() == 1
    assert line in launched.said
    assert 'Traceback' not in launched.said
    assert 'process started' not in launched.said


@started
def test_a_wrong_value_ends_the_node_with_its_one_line(start, tmp_path):
    wrong = tmp_path / 'wrong.yaml'
    wrong.write_text('/**: {ros__parameters: {wheel: {inertia: -1.0}}}')
    launched = start(MOTOR, params_file=wrong)
    launched.ends()
    assert 'wheel.inertia must be finite and > 0 kg m^2, got -1.0.' in launched.said
    assert 'exit code 1' in launched.said
    assert 'Traceback' not in launched.said
