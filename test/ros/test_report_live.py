"""A running node, recorded as `ros2 bag record` does it, and the report about that."""

from math import hypot
from pathlib import Path
import subprocess
import sys
import time

import pytest

rosbag2 = pytest.importorskip('rosbags.rosbag2', reason='needs the package rosbags')
pytest.importorskip('matplotlib', reason='needs the package matplotlib')

from control_msgs.msg import DynamicJointState  # noqa: E402
from geometry_msgs.msg import Vector3Stamped  # noqa: E402
from mime_motor_ros.node import message_class  # noqa: E402
from mime_motor_ros.offline.bag import Types  # noqa: E402
from mime_motor_ros.offline.reporting import report  # noqa: E402
import numpy as np  # noqa: E402
import rclpy  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from std_msgs.msg import Float64, Float64MultiArray  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # s
VALUES = {
    'rate': '100.0',
    'wheel.limit.torque': '0.004',
    'wheel.initial_spin': '150.0',
    'wheel.inertia': '2.0e-4',
}
TOPICS = {
    '/tf': 'tf2_msgs/msg/TFMessage',
    '/tf_static': 'tf2_msgs/msg/TFMessage',
    '/joint_states': 'sensor_msgs/msg/JointState',
    '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
    '/motor/reaction': 'geometry_msgs/msg/WrenchStamped',
    '/motor/mount_wrench': 'geometry_msgs/msg/WrenchStamped',
    '/motor/momentum': 'geometry_msgs/msg/Vector3Stamped',
    '/motor/wheel/spin': 'std_msgs/msg/Float64',
    '/motor/wheel/momentum': 'geometry_msgs/msg/Vector3Stamped',
    '/motor/wheel/motor_state': 'control_msgs/msg/DynamicJointState',
}


def started(module, *values):
    arguments = [x for value in values for x in ('-p', value)]
    return subprocess.Popen(
        [sys.executable, '-m', f'mime_motor_ros.{module}', '--ros-args', *arguments], cwd=ROOT
    )


class Recorder:
    """A node that writes down what comes, byte for byte, and when."""

    def __init__(self, context):
        self.node = rclpy.create_node('recorder', context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self.heard = []
        for topic, kind in TOPICS.items():
            qos = QoSProfile(depth=1000)
            if topic == '/tf_static':
                qos.durability = DurabilityPolicy.TRANSIENT_LOCAL

            def hear(data, topic=topic):
                self.heard.append((topic, time.time_ns(), bytes(data)))

            self.node.create_subscription(message_class(kind), topic, hear, qos, raw=True)
        self.commands = self.node.create_publisher(Float64MultiArray, '/motor/commands', 10)

    def run(self, until):
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end, f'heard only {len(self.heard)} messages'
            self._executor.spin_once(timeout_sec=0.1)

    def count(self, topic):
        return sum(one == topic for one, _, _ in self.heard)

    @property
    def has_mount(self):
        return any(topic == '/tf' and b'base_link' in data for topic, _, data in self.heard)

    def close(self):
        self._executor.remove_node(self.node)
        self._executor.shutdown()
        self.node.destroy_node()

    def write(self, folder):
        types = Types().store
        writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
        with writer:
            to = {
                topic: writer.add_connection(topic, kind, typestore=types)
                for topic, kind in TOPICS.items()
            }
            for topic, received_ns, data in self.heard:
                writer.write(to[topic], received_ns, data)
        return folder


@pytest.fixture
def recorded(tmp_path):
    """Three seconds of a node on a mount that moves, with commands, one of them of two motors."""
    context = rclpy.Context()
    rclpy.init(context=context)
    recorder = Recorder(context)
    values = [f'{name}:={value}' for name, value in VALUES.items()]
    processes = [started('demo_mount'), started('main', *values)]
    try:
        recorder.run(lambda: recorder.count('/motor/wheel/motor_state') > 10)
        recorder.run(lambda: recorder.has_mount)
        # From here on, with the poses before it.
        recorder.heard[:] = [one for one in recorder.heard if one[0].startswith('/tf')]
        for _ in range(3):
            recorder.commands.publish(Float64MultiArray(data=[0.01]))
            recorder.commands.publish(Float64MultiArray(data=[0.01, 0.02]))
            seen = recorder.count('/diagnostics')
            recorder.run(lambda seen=seen: recorder.count('/diagnostics') > seen)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        recorder.close()
        context.shutdown()
    return recorder, recorder.write(tmp_path / 'live')


def test_a_live_node_is_reported_with_lateness_energy_world_momentum_and_refusals(recorded):
    recorder, folder = recorded
    made = report(folder)
    gathered, told, traces = made.gathered, made.source.told, made.gathered.traces
    assert [one.key for one in made.pictures] == [
        'spin', 'torque', 'drive', 'wrench', 'momentum', 'energy', 'timing', 'refusals',
    ]  # fmt: skip
    assert made.missing == {}
    assert (made.source.node, made.source.motors) == ('/motor', ['wheel'])
    # Every message of a quantity is in it.
    heard = [data for topic, _, data in recorder.heard if topic == '/motor/wheel/spin']
    spins = [deserialize_message(data, Float64).data for data in heard]
    assert traces['wheel.spin_rad_s'].count == len(spins)
    assert made.peaks['wheel.spin_rad_s'].value == max(spins, key=abs)
    # Every second command was refused; the torque of the others was that of the limit.
    assert told.refused['commands size'] == 3
    assert made.peaks['wheel.torque_n_m'].value == 0.004
    assert gathered.limited['wheel']['torque limit'] > 0.1
    # The mount turns the momentum, and keeps its size.
    heard = [data for topic, _, data in recorder.heard if topic == '/motor/momentum']
    vectors = [deserialize_message(data, Vector3Stamped).vector for data in heard]
    largest = max(hypot(one.x, one.y, one.z) for one in vectors)
    assert traces['momentum_world_norm_n_m_s'].high == pytest.approx(largest, rel=1e-9)
    assert largest == pytest.approx(2e-4 * max(spins), rel=0.01)
    for one in ('low', 'high'):
        world, mount = (traces[f'{x}_norm_n_m_s'] for x in ('momentum_world', 'momentum'))
        # A busy machine may lose a pose, at the beginning or the end: then one row less is known.
        assert world.count > 0.9 * mount.count
        near = 1e-9 if world.count == mount.count else 0.01
        assert getattr(world, one) == pytest.approx(getattr(mount, one), rel=near)
    assert traces['momentum_world_x_n_m_s'].size > 1e-6
    # Of a node the stamps are before the receipt, and the node tells its own lateness.
    assert gathered.is_live
    assert gathered.lateness.high < 2e9
    late = [
        received_ns - stamp(data)
        for topic, received_ns, data in recorder.heard
        if topic == '/motor/wheel/motor_state'
    ]
    assert 0.0 < gathered.lateness.low <= min(late)
    assert traces['diagnostics.lateness_p99_ms'].count == recorder.count('/diagnostics')
    assert any('were received within' in text for text in made.findings)
    # The sums out of messages are what the node itself counts from one second to the next.
    if gathered.spacing.high < 1.5 * gathered.spacing.low:  # nothing was lost on a busy machine
        assert traces['wheel.residual_j'].size < 1e-12
        times, work = traces['diagnostics.wheel.work_j'].points()
        at, sums = traces['wheel.work_j'].points()
        own = [sums[np.searchsorted(at, one, 'right') - 1] for one in times[:2]]
        slack = 3.0 * np.abs(np.diff(sums)).max()  # a step, as its time is between two
        assert own[1] - own[0] == pytest.approx(work[1] - work[0], abs=slack)


def stamp(data):
    header = deserialize_message(data, DynamicJointState).header
    return header.stamp.sec * 10**9 + header.stamp.nanosec
