"""Real recordings, played live: what comes over the wire is what a replay without ROS writes."""

import os
from pathlib import Path
import subprocess
import sys
import time

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from mime_motor_ros.node import message_class  # noqa: E402
from mime_motor_ros.offline import replay  # noqa: E402
from mime_motor_ros.offline.bag import Bag  # noqa: E402
from mime_motor_ros.offline.recording import (
    guess_frames,  # noqa: E402
    Recording,  # noqa: E402
)
from mime_motor_ros.wire import transforms  # noqa: E402
import numpy as np  # noqa: E402
from offline import values_for  # noqa: E402
from player import Player  # noqa: E402
import rclpy  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from test_recording import ros, write  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / 'shared' / 'data'
pytestmark = [
    pytest.mark.ros,
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}'),
]
# Faster than real time in lockstep, so that a busy machine is waited for; one in real time, whose
# steps are those of the grid.
WHOLE = float('inf')
PLAYS = [
    ('broad07_fast_rotation', 10.0, WHOLE),
    ('husky_imu_odom', 30.0, WHOLE),
    ('jackal_sim_imu_odom', 20.0, WHOLE),
    ('px4_auavx21_handheld', 10.0, WHOLE),
    ('px4_auavx21_handheld', 1.0, 5.0),
    ('commanded', 5.0, WHOLE),
]
HELD = 5.0  # s of the recording: half a second or less here, for what is lost and sent again
SKEWED = {
    'wheel.asymmetry': [8e-6, 1e-6, 0.0, -8e-6, 0.0, 0.0],
    'wheel.placement.xyz': [0.1, 0.2, 0.3],
    'wheel.voltage.resistance': 0.5,
    'wheel.voltage.torque_constant': 0.02,
    'wheel.encoder.counts': 4096,
    'wheel.tachometer.enabled': True,
    'wheel.tachometer.noise': 0.01,
}


def commanded(folder):
    """Return the first seconds of a recording, with commands and loads for the wheel."""
    whole = Recording(SHARED / 'broad07_fast_rotation')
    names = tuple(x.name for x in whole.topics if x.name in ('/imu/data', '/tf', '/tf_static'))
    messages, frame = [], guess_frames(whole).mount
    for k, one in enumerate(whole.records(names)):
        if one.received_ns > whole.start_ns + 3 * 10**9:
            break
        messages.append((one.topic, one.received_ns, one.message))
        if one.topic != '/imu/data' or k % 25:
            continue
        head = one.message.header
        nothing = np.zeros(0)
        effort = np.array([0.02 * np.sin(0.01 * k)])
        command = ros('sensor_msgs/msg/JointState', head, ['wheel'], nothing, nothing, effort)
        vector = 'geometry_msgs/msg/Vector3'
        wrench = ros(
            'geometry_msgs/msg/Wrench', ros(vector, 0.0, 1.0, 0.0), ros(vector, 0.1, 0, 0.01)
        )
        load = ros('geometry_msgs/msg/WrenchStamped', type(head)(head.stamp, frame), wrench)
        messages.append(('/motor/joint_command', one.received_ns, command))
        messages.append(('/motor/wheel/rotor_wrench', one.received_ns, load))
    return Recording(write(folder, messages))


def replayed(folder, recording, values):
    """Return topic -> type and every message as bytes, of the bag that a replay makes."""
    made = replay(recording, values)
    bag = Bag(folder, made)
    for k, outcome in enumerate(made):
        if not k:
            bag.begin(made.first_ns)
        bag.add(outcome, made.session, ())
    bag.close()
    assert made.session.steps > 100
    written = Recording(folder)
    hashes = {one.name: one.type_hash for one in written.topics}
    table = {one.name: (message_class(one.type), []) for one in written.topics}
    for record in written.records():
        table[record.topic][1].append((record.received_ns, record.data))
    return table, hashes


def of_rotor(data):
    """Tell whether a transform is the node's own, and not of the recording."""
    return deserialize_message(data, TFMessage).transforms[0].child_frame_id == 'wheel_rotor'


def telling(data, kind, asked):
    """Return which of the bits asked for tell something: bytes between the fields may be any."""
    words = repr(deserialize_message(data, kind))
    bits = 0
    for place in range(len(data)):
        if not asked >> 8 * place & 255:
            continue
        other = bytearray(data)
        other[place] ^= 255
        try:
            told = repr(deserialize_message(bytes(other), kind)) != words
        except Exception:
            told = True  # no message any more
        bits |= told * 255 << 8 * place
    return bits


def number(data):
    return int.from_bytes(data, 'little')


def differing(came, wanted, kind):
    """Return where messages are not equal to the last bit: by the bytes, -0.0 is not 0.0."""
    apart = {}  # by length: the names in the messages of a topic are always the same
    for one, other in zip(came, wanted, strict=False):
        if len(one) == len(other):
            apart[len(one)] = apart.get(len(one), 0) | number(one) ^ number(other)
    example = {len(one): one for one in wanted}
    bits = {size: telling(example[size], kind, asked) for size, asked in apart.items()}
    return [
        i
        for i, (one, other) in enumerate(zip(came, wanted, strict=False))
        if len(one) != len(other) or (number(one) ^ number(other)) & bits[len(one)]
    ]


def drain(subscription, kind, into):
    with subscription.handle:
        while (taken := subscription.handle.take_message(kind, True)) is not None:
            into.append(taken[0])


@pytest.mark.timeout(120)
@pytest.mark.parametrize(('name', 'speed', 'seconds'), PLAYS)
def test_what_comes_over_the_wire_is_what_a_replay_writes(name, speed, seconds, tmp_path):
    is_real = name != 'commanded'
    recording = Recording(SHARED / name) if is_real else commanded(tmp_path / name)
    values = values_for(recording, settle=HELD, max_gap=HELD, **SKEWED)
    if seconds < WHOLE:
        values |= {'step_on': 'timer', 'rate': 250.0, 'publish_rate': 125.0}
    until_ns = recording.start_ns + round(seconds * 1e9) - 10**9 if seconds < WHOLE else WHOLE
    written, hashes = replayed(tmp_path / 'bag', recording, values)
    wanted = {
        topic: (kind, [data for stamp_ns, data in messages if stamp_ns <= until_ns])
        for topic, (kind, messages) in written.items()
    }
    assert len(wanted) == 19
    del wanted['/diagnostics']  # which a node sends on a steady clock
    stators = wanted.pop('/tf_static')
    steps = len(wanted['/joint_states'][1])
    efforts = {deserialize_message(x, JointState).effort[0] for x in wanted['/joint_states'][1]}
    assert is_real or len(efforts) > 20

    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('listener', context=context)
    heard = {topic: [] for topic in wanted}
    ears = [
        (
            node.create_subscription(kind, topic, lambda _: None, QoSProfile(depth=20000)),
            kind,
            heard[topic],
        )
        for topic, (kind, _) in wanted.items()
    ]
    command = [
        sys.executable,
        '-m',
        'mime_motor_ros.main',
        '--ros-args',
        '-p',
        'use_sim_time:=true',
    ]
    for key, value in values.items():
        command += ['-p', f'{key}:={value}']
    for topic in wanted.keys() - {
        '/tf'
    }:  # a burst of steps caught up must not overwrite what is on its way
        command += ['-p', f'qos_overrides.{topic}.publisher.depth:=1000']
    # Best effort may lose a sample on a busy machine, as it should: here all have to come.
    command += ['-p', 'qos_overrides./imu/data.subscription.reliability:=reliable']
    process = subprocess.Popen(
        command, env=os.environ | {'PYTHONPATH': str(ROOT)}, stderr=subprocess.PIPE, text=True
    )
    try:
        player = Player(node, recording, speed=speed, seconds=seconds, tail=HELD + 1.0)
        if speed > 1.0:
            player.follow('joint_states', JointState, values['settle'])
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        placed = []
        ears.append(
            (
                node.create_subscription(TFMessage, '/tf_static', lambda _: None, latched),
                TFMessage,
                placed,
            )
        )
        assert player.wait(20.0, ['/imu/data', '/tf']) == []
        end = time.monotonic() + 10.0
        while any(node.count_publishers(topic) == 0 for topic in wanted):
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(0.5)
        for topic, type_hash in hashes.items():
            of_motor = [
                x for x in node.get_publishers_info_by_topic(topic) if x.node_name == 'motor'
            ]
            assert [str(x.topic_type_hash) for x in of_motor] == [type_hash], topic
        emptied = 0.0

        def empty():
            """Take what came, now and then: the middleware keeps some thousands of each topic."""
            nonlocal emptied
            if time.monotonic() - emptied > 0.05:
                emptied = time.monotonic()
                for ear in ears:
                    drain(*ear)
            return False

        player.play(empty)
        end = time.monotonic() + 5.0
        while len(heard['/joint_states']) < steps and time.monotonic() < end:
            for ear in ears:
                drain(*ear)
            time.sleep(0.02)
        time.sleep(0.3)
        for ear in ears:
            drain(*ear)
    finally:
        process.terminate()
        _, said = process.communicate(timeout=10)
        node.destroy_node()
        rclpy.shutdown(context=context)
    assert process.returncode == 0
    assert all('no clock yet' in line for line in said.splitlines()), said
    for topic, (kind, messages_wanted) in wanted.items():
        came = [one for one in heard[topic] if topic != '/tf' or of_rotor(one)]
        assert len(came) >= len(messages_wanted), topic
        differ = differing(came, messages_wanted, kind)
        assert not differ, f'{topic}: {len(differ)} differ, the first is {differ[0]}'
        assert len(came) == len(messages_wanted) or seconds < WHOLE
    # When the first /clock came is known to the node alone.
    ours = [transforms(one, True) for one in placed if b'wheel_stator' in one]
    assert [[x._replace(stamp=0) for x in one] for one in ours] == [
        [x._replace(stamp=0) for x in transforms(data, True)] for data in stators[1]
    ]
