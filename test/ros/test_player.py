from itertools import pairwise
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from mime_motor_ros.offline.recording import Record, Recording  # noqa: E402
from pacing import Instant, instants, PlayError, TAIL  # noqa: E402
from player import main, Player, remaps  # noqa: E402
import rclpy  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from rosbags import rosbag2, typesys  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / 'shared' / 'data'
needs_recordings = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}'
)
DEEP = QoSProfile(depth=20000)
BEST_EFFORT = QoSProfile(depth=20000, reliability=ReliabilityPolicy.BEST_EFFORT)
KEPT = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
START_NS = 1_000_000_000_000
STORE = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)


@pytest.fixture
def nodes(context):
    made = [rclpy.create_node(name, context=context) for name in ('player', 'listener')]
    yield made
    for node in made:
        node.destroy_node()


class Ear:
    """A subscription that keeps what comes until it is asked."""

    def __init__(self, node, kind, topic, qos=DEEP, raw=True):
        self.kind, self.raw = kind, raw
        self.subscription = node.create_subscription(kind, topic, lambda _: None, qos)

    def drain(self):
        handle = self.subscription.handle
        with handle:
            while (taken := handle.take_message(self.kind, self.raw)) is not None:
                yield taken[0]

    def expect(self, count, seconds=5.0):
        """Return what has come once it is so many, or after some seconds."""
        messages, end = [], time.monotonic() + seconds
        while len(messages) < count and time.monotonic() < end:
            messages += self.drain()
            time.sleep(1e-3)
        return messages


def nanoseconds(stamp):
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def record(received_ns, topic='/tf'):
    return Record(topic, 'tf2_msgs/msg/TFMessage', received_ns, b'', lambda *_: None)


def test_records_of_one_instant_stay_together_and_every_gap_has_ticks():
    records = [record(0), record(0, '/imu'), record(25_000_000)]
    played = list(instants(iter(records)))
    assert played[:4] == [
        Instant(0, tuple(records[:2])),
        Instant(10_000_000, ()),
        Instant(20_000_000, ()),
        Instant(25_000_000, (records[2],)),
    ]
    tail = [instant.received_ns for instant in played[4:]]
    assert (tail[0], tail[-1]) == (35_000_000, 25_000_000 + round(TAIL * 1e9))


def test_an_empty_recording_has_no_instants():
    assert list(instants(iter(()))) == []


def test_remaps_are_pairs():
    assert remaps(['/husky/odom:=odom']) == {'/husky/odom': 'odom'}
    with pytest.raises(PlayError, match="remap must be 'FROM:=TO', got '/a=b'."):
        remaps(['/a=b'])


@needs_recordings
def test_what_is_received_equals_the_file_bit_for_bit(nodes):
    recording = Recording(SHARED / 'jackal_sim_imu_odom')
    player = Player(nodes[0], recording, speed=0.0)
    ears = {
        '/imu/data': Ear(nodes[1], Imu, '/imu/data', BEST_EFFORT),
        '/tf': Ear(nodes[1], TFMessage, '/tf'),
    }
    assert player.wait(10.0) == []
    played = player.play()
    assert played.records == recording.count == 9181
    for topic, ear in ears.items():
        wanted = [record.data for record in recording.records((topic,))]
        assert ear.expect(len(wanted)) == wanted


@needs_recordings
def test_the_clock_comes_after_the_records_of_its_instant_and_goes_on_past_the_last(nodes):
    recording = Recording(SHARED / 'husky_imu_odom')
    player = Player(nodes[0], recording, speed=0.0, seconds=2.0)
    ear = Ear(nodes[1], Clock, '/clock', raw=False)
    order = []
    for name, publisher in player._publishers.items():
        player._publishers[name] = Spy(publisher, order)
    player._clock.publisher = Spy(player._clock.publisher, order)
    player.wait(0.0)
    player.play()
    times = [nanoseconds(message.clock) for message in ear.expect(300, 1.0)]
    assert times == sorted(set(times))
    assert max(b - a for a, b in pairwise(times)) <= 10_000_000
    end_ns = max(
        record.received_ns
        for record in recording.records()
        if record.received_ns <= recording.start_ns + 2_000_000_000
    )
    tail_ns = round(TAIL * 1e9)  # a float has no room for the nanoseconds of today
    assert times[0] == recording.start_ns
    assert end_ns + tail_ns - 10_000_000 < times[-1] <= end_ns + tail_ns
    # Every record was sent before the clock that tells its time.
    told_ns = 0
    received = iter(recording.records())
    for sent in order:
        if isinstance(sent, Clock):
            told_ns = times.pop(0)
        else:
            assert next(received).received_ns > told_ns


class Spy:
    """A publisher that also notes what it sends."""

    def __init__(self, publisher, order):
        self.publisher, self.order = publisher, order

    def publish(self, message):
        self.order.append(message)
        self.publisher.publish(message)

    def __getattr__(self, name):
        return getattr(self.publisher, name)


@needs_recordings
def test_a_static_transform_waits_for_those_who_come_late(nodes):
    recording = Recording(SHARED / 'husky_imu_odom')
    player = Player(nodes[0], recording, speed=0.0, seconds=0.5)
    player.play()
    late = Ear(nodes[1], TFMessage, '/tf_static', KEPT)
    wanted = [record.data for record in recording.records(('/tf_static',))]
    assert late.expect(1) == wanted


@needs_recordings
def test_topics_can_be_chosen_and_renamed(nodes):
    recording = Recording(SHARED / 'husky_imu_odom')
    player = Player(
        nodes[0],
        recording,
        speed=0.0,
        seconds=1.0,
        topics=('/imu/data',),
        remaps={'/imu/data': 'mount/imu'},
    )
    ear = Ear(nodes[1], Imu, '/mount/imu', BEST_EFFORT)
    assert player.wait(10.0) == []
    played = player.play()
    assert len(ear.expect(played.records)) == played.records == 31


@needs_recordings
def test_the_schedule_is_kept_and_faster_is_so_many_times_faster(nodes):
    player = Player(nodes[0], Recording(SHARED / 'broad07_fast_rotation'), speed=4.0, seconds=3.0)
    played = player.play()
    # 3 s of the recording and 1 s of clock behind it; a tick short of that.
    assert 0.9 <= played.seconds <= 1.0 + played.behind + 0.1  # a busy machine is behind


@needs_recordings
def test_playing_stops_when_asked(nodes):
    player = Player(nodes[0], Recording(SHARED / 'broad07_fast_rotation'))
    asked = iter([False] * 20 + [True] * 100)
    assert player.play(lambda: next(asked)).seconds < 1.0


@needs_recordings
@pytest.mark.parametrize('ahead', [1, 3])
def test_lockstep_owes_no_more_answers_than_it_may(nodes, ahead):
    """A listener that answers with a JointState is never more samples behind than that."""
    recording = Recording(SHARED / 'broad07_fast_rotation')
    player = Player(nodes[0], recording, speed=0.0, seconds=0.5)
    player.follow('joint_states', JointState, ahead=ahead)
    ear = Ear(nodes[1], Imu, '/imu/data', BEST_EFFORT, raw=False)
    answers = nodes[1].create_publisher(JointState, 'joint_states', 10)
    waiting = []

    def answer():
        samples = list(ear.drain())
        waiting.append(len(samples))
        for sample in samples:
            reply = JointState()
            reply.header = sample.header
            answers.publish(reply)

    player.wait(10.0, ['/imu/data'])
    # The listener has its turn where the player would sleep or look whether it is to stop.
    player.lockstep._take = taking(player.lockstep._take, answer)
    played = player.play()
    assert played.unanswered == 0
    assert sum(waiting) + len(list(ear.drain())) == 143
    assert max(waiting) == ahead


def taking(take, answer):
    def turn():
        answer()
        return take()

    return turn


@needs_recordings
def test_lockstep_gives_up_in_words_when_nobody_answers(nodes):
    player = Player(nodes[0], Recording(SHARED / 'broad07_fast_rotation'), speed=0.0)
    player.follow('joint_states', JointState)
    player.lockstep.PATIENCE = 0.0
    with pytest.raises(PlayError, match='nothing came on joint_states for the last 101 samples'):
        player.play()


@needs_recordings
def test_a_type_defined_differently_here_is_left_out(nodes):
    recording = Recording(SHARED / 'jackal_sim_imu_odom')
    recording.topics = tuple(
        topic._replace(type_hash='RIHS01_other') if topic.name == '/tf' else topic
        for topic in recording.topics
    )
    player = Player(nodes[0], recording)
    assert player.skipped == {'/tf': 'tf2_msgs/msg/TFMessage is defined differently here'}


def test_a_negative_speed_is_refused():
    with pytest.raises(PlayError, match='speed must be 0 or >= 0.001 times real time, got -1.0.'):
        Player(None, None, speed=-1.0)


def test_a_missing_recording_ends_the_command_with_one_line(capfd, restored_signals):
    assert main(['/nowhere/bag']) == 1
    assert capfd.readouterr().err == (
        'player: /nowhere/bag does not exist. Give the folder of a recording.\n'
    )


@needs_recordings
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_command_plays_and_ends_cleanly_when_asked(nodes, number):
    ear = Ear(nodes[1], Imu, '/imu/data', BEST_EFFORT)
    tf = Ear(nodes[1], TFMessage, '/tf')
    process = subprocess.Popen(
        [sys.executable, ROOT / 'tools' / 'player.py', SHARED / 'broad07_fast_rotation'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
        text=True,
    )
    try:
        assert len(ear.expect(20, 30.0)) >= 20
        assert tf.expect(1)
        process.send_signal(number)
        out, err = process.communicate(timeout=5)
    finally:
        process.kill()
    assert (process.returncode, err) == (0, '')
    assert out.startswith('played ')


@needs_recordings
@pytest.mark.parametrize('given', [['--foo'], ['-p', 'rate'], ['--log-level', 'junk']])
def test_wrong_ros_arguments_are_one_line(given, capsys, restored_signals):
    bag = str(SHARED / 'broad07_fast_rotation')
    assert main([bag, '--ros-args', *given]) == 1
    said = capsys.readouterr().err
    assert said.startswith('player: ')
    assert said.count('\n') == 1


@needs_recordings
@pytest.mark.parametrize(
    ('given', 'said'),
    [
        (['--topics', '/nope'], 'has no topic /nope; it has /imu/data, /tf'),
        (['--remap', '/nope:=/imu'], 'has no topic /nope; it has /imu/data, /tf'),
        (['--remap', '/imu/data:=/a//b'], "topic name must not contain repeated '/'"),
        (['--remap', '/imu/data:=/clock'], '/imu/data cannot be played as /clock, which is ours.'),
        (['--lockstep', '1bad!'], "topic name token must not start with a number: '1bad!'\n"),
    ],
)
def test_names_that_cannot_be_played_are_one_line(given, said, capsys, restored_signals):
    assert main([str(SHARED / 'broad07_fast_rotation'), *given]) == 1
    line = capsys.readouterr().err
    assert line.startswith('player: ')
    assert said in line
    assert line.count('\n') == 1


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        (['--speed', '1e-300'], '--speed: must be a number (0 or >= 0.001 times real time)'),
        (['--speed', 'fast'], '--speed: must be a number (0 or >= 0.001 times real time)'),
        (['--wait', 'nan'], "--wait: must be a number >= 0 s, got 'nan'."),
        (['--settle', 'nan'], "--settle: must be a number >= 0 s, got 'nan'."),
        (['--seconds', '-1'], "--seconds: must be a number >= 0 s, got '-1'."),
        (['--ahead', '0'], "--ahead: must be a whole number >= 1, got '0'."),
    ],
)
def test_numbers_out_of_range_end_the_command(given, said, capsys, restored_signals):
    with pytest.raises(SystemExit):
        main(['recording', *given])
    assert said in capsys.readouterr().err


def test_a_loop_over_nothing_ends(tmp_path, capsys, restored_signals):
    with rosbag2.Writer(tmp_path / 'empty', version=9) as writer:
        writer.add_connection('/imu/data', 'sensor_msgs/msg/Imu', typestore=STORE)
    assert main([str(tmp_path / 'empty'), '--loop', '--wait', '0']) == 0
    assert capsys.readouterr().out.startswith('played 0 of 0 records')
