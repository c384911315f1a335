"""The markers of a real node: who gets them, how often, and what takes them away again."""

import os
import signal
import subprocess
import sys
import time

from mime_motor_ros.markers import Markers
from mime_motor_ros.node import serialized
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings
import pytest
import rclpy
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

pytestmark = pytest.mark.ros

PATIENCE = 20.0  # s; for machines that are busy with something else
TOPIC = 'motor/markers'
STILL = {'world_frame': 'base_link', 'rate_source': 'zero'}
SPINNING = {**STILL, 'wheel__initial_spin': 100.0}


def stamp(message):
    (only,) = {(one.header.stamp.sec, one.header.stamp.nanosec) for one in message.markers}
    return only[0] * 10**9 + only[1]


def actions(message):
    return {one.action for one in message.markers}


def names(message):
    return [(one.ns, one.id) for one in message.markers]


def test_without_a_reader_nothing_is_sent(make_bench, monkeypatch):
    bench = make_bench(**SPINNING)
    monkeypatch.setattr(Markers, 'message', lambda *_: pytest.fail('nobody reads this'))
    monkeypatch.setattr(Markers, 'cleared', lambda *_: pytest.fail('nobody reads this'))
    bench.tick(1.0)
    assert len(bench.tick(1.2)) == 200
    bench.motor._on_reset(Trigger.Request(), Trigger.Response())
    bench.motor.leave()


def test_a_reader_gets_them_at_their_rate_of_a_thousand_steps_a_second(make_bench):
    bench = make_bench(**SPINNING, publish_rate=7.0)
    bench.hear(MarkerArray, TOPIC)
    bench.tick(1.0)
    assert sum(len(bench.tick(1.0 + 0.1 * k)) for k in range(1, 11)) == 1000
    heard = bench.heard(TOPIC, 20)
    assert [stamp(message) for message in heard] == [10**9 + k * 50_000_000 for k in range(1, 21)]
    assert bench.silent(TOPIC)
    assert actions(heard[-1]) == {Marker.ADD, Marker.DELETE}  # no force, so no arrow of it
    (text,) = (one.text for one in heard[-1].markers if one.ns == 'name')
    assert text.split()[0] == 'wheel'


def test_a_reset_takes_them_away_until_the_next(make_bench):
    bench = make_bench(**SPINNING)
    bench.hear(MarkerArray, TOPIC)
    bench.tick(1.0)
    bench.tick(1.05)
    (drawn,) = bench.heard(TOPIC)
    for _ in range(2):  # the second has nothing to take away
        bench.motor._on_reset(Trigger.Request(), Trigger.Response())
    (gone,) = bench.heard(TOPIC)
    assert actions(gone) == {Marker.DELETE}
    assert names(gone) == names(drawn)
    assert stamp(gone) == stamp(drawn)
    bench.tick(1.1)
    assert Marker.ADD in actions(bench.heard(TOPIC)[0])


def test_a_recording_has_the_same_markers():
    """What another serializer makes of them has the same fields, bytes between them aside."""
    pytest.importorskip('rosbags', reason='needs rosbags')
    from mime_motor_ros.offline.bag import Types

    session = Session(settings({**STILL, 'wheel.initial_spin': -70.0, 'wheel.axis': [1, 2, 3]}))
    session.advance_to(10**9)
    outcome = session.advance_to(10**9 + 50_000_000)[-1]
    one, other = (
        deserialize_message(Markers(serialize, session).message(outcome, (1, 5)), MarkerArray)
        for serialize in (serialized, Types().serialize)
    )
    assert one == other


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_end_of_the_node_takes_them_away(context, number):
    peer = rclpy.create_node('viewer', context=context)
    heard = []
    peer.create_subscription(MarkerArray, TOPIC, heard.append, 100)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(peer)

    def until(true, what):
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}'
            executor.spin_once(timeout_sec=0.02)

    given = [word for name, value in STILL.items() for word in ('-p', f'{name}:={value}')]
    process = subprocess.Popen(
        [sys.executable, '-m', 'mime_motor_ros.main', '--ros-args', *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell may have had it ignored for what runs in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        until(lambda: heard, 'a marker')
        assert Marker.ADD in actions(heard[-1])
        os.kill(process.pid, number)
        until(lambda: actions(heard[-1]) == {Marker.DELETE}, 'the last message')
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, '', '')
        assert stamp(heard[-1]) == stamp(heard[-2]) > 0
        assert names(heard[-1]) == names(heard[-2])
    finally:
        process.kill()
        process.wait()
        executor.shutdown()
        peer.destroy_node()
