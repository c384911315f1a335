"""Faults over the wire: a motor node makes of them what a session does that is fed directly."""

import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

from chaos import message, Mouth
from faults import Chaos, demo, ORDER
from geometry_msgs.msg import WrenchStamped
from mime_motor_ros import messages
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Transform
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings
from mime_motor_ros.timeline import NANOSECONDS
from mime_motor_ros.wire import imu
from pacing import instants
import pytest
import rclpy
from rclpy.clock import ClockType
from rclpy.serialization import serialize_message
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

pytestmark = [pytest.mark.ros, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
START = 1000 * NANOSECONDS
SECONDS = 20.0
VALUES = {'motors': ['a', 'b'], 'rate': 200.0, 'settle': 0.05, 'a.placement.xyz': [0.1, -0.2, 0.3]}
# Nothing may be lost on a busy machine, where as many are sent as in a second.
DEEP = {
    'qos_overrides./imu/data.subscription.reliability': 'reliable',
    **{
        f'qos_overrides./motor/{name}.subscription.depth': 1000
        for name in ('commands', 'joint_command')
    },
}


def events(chosen, seed, seconds=SECONDS):
    chaos = Chaos(chosen, seed)
    return chaos.events(instants(demo(chosen, seconds, START), chaos.tail))


def read(item):
    """Return an input as the node reads it from its message."""
    made = message(item)
    if type(item) is Transform:
        return messages.transforms(made, item.static)[0]
    if type(item) is Imu:
        assert repr(imu(serialize_message(made))) == repr(messages.imu(made))
        return messages.imu(made)
    if type(item) is Commands:
        return messages.commands(made)
    if type(item) is JointCommand:
        return messages.joint_command(made)
    return messages.load(made, item.motor, item.link)


def test_messages_hold_what_the_inputs_hold_faults_and_all():
    items = [item for event in events(settings(VALUES), 1, 5.0) for item in event.items]
    assert {type(item) for item in items} == set(ORDER)
    assert all(repr(read(item)) == repr(item) for item in items)  # exact, and nan is nan


def is_returned(item):
    """Tell whether an input is a transform that the motor node itself has sent."""
    return type(item) is Transform and item.child.endswith(('_stator', '_rotor'))


class Wire:
    """A motor node in this process, to which the events come over DDS, one after the other."""

    def __init__(self, bench):
        self.bench = bench
        self.mouth = Mouth(bench.peer, '/motor', bench.motor.session.settings)
        for name, publisher in self.mouth.publishers.items():
            bench.until(lambda p=publisher: p.get_subscription_count() > 0, f'a reader of {name}')
            bench.until(
                lambda n=name: bench.motor.count_publishers(n) > 0, f'the writer of {name}'
            )

    def play(self, event):
        """Send what arrives, wait until it is there, show the time; return the outcomes."""
        self.mouth.say(event.items)
        arrived, end = [], time.monotonic() + 10.0
        while sum(not is_returned(item) for item in arrived) < len(event.items):
            assert time.monotonic() < end
            arrived += self.bench.motor._read()
            time.sleep(2e-5)
        motor = self.bench.motor
        now = Time(nanoseconds=event.now_ns, clock_type=ClockType.ROS_TIME)
        motor.get_clock().set_ros_time_override(now)
        # What came at two looks is put into the order of one.
        for item in sorted(arrived, key=lambda item: ORDER[type(item)]):
            motor.session.take(item, event.now_ns)
        return motor.cycle()


@pytest.mark.parametrize(('seed', 'step_on'), [(21, 'timer'), (22, 'imu'), (23, 'timer')])
def test_the_node_gives_the_numbers_of_the_session_to_the_last_bit(make_bench, seed, step_on):
    values = {**VALUES, 'step_on': step_on}
    bench = make_bench(**values, **DEEP)
    wire, session = Wire(bench), Session(settings(values))
    bench.hear(JointState, 'joint_states')
    bench.hear(WrenchStamped, 'motor/mount_wrench')
    steps = spent = 0
    for event in events(session.settings, seed):
        began = time.process_time()
        made = wire.play(event)
        spent += time.process_time() - began
        for item in event.items:
            session.take(item, event.now_ns)
        assert repr(made) == repr(session.advance_to(event.now_ns))
        steps += len(made)
        if made:
            stamps = [outcome.stamp_ns for outcome in made]
            states = bench.heard('joint_states', len(made))
            assert [messages.stamp_of(state.header) for state in states] == stamps
            assert [list(state.velocity) for state in states] == [
                [step.relative_speed for step in outcome.steps] for outcome in made
            ]
            wrenches = bench.heard('motor/mount_wrench', len(made))
            assert [wrench.wrench.torque.x for wrench in wrenches] == [
                outcome.mount_wrench().torque[0] for outcome in made
            ]
    motor = bench.motor.session
    assert steps == session.steps > 3000
    assert session.counts == motor.counts
    assert (session.jumps, session.gaps) == (motor.jumps, motor.gaps)
    assert session.jumps + session.gaps > 2


# the command, and the node as a process


def start(*values):
    command = [sys.executable, '-m', 'mime_motor_ros.main', '--ros-args']
    for value in values:
        command += ['-p', value]
    return subprocess.Popen(
        command, env=os.environ | {'PYTHONPATH': str(ROOT)}, stderr=subprocess.PIPE, text=True
    )


def rehearse(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / 'tools' / 'chaos.py', *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_running_node_is_found_to_have_counted_all():
    values = ['use_sim_time:=true', 'rate:=200.0', 'settle:=0.05', 'motors:=[a, b]']
    process = start(*values, *(f'{name}:={value}' for name, value in DEEP.items()))
    try:
        done = rehearse('--seed', '4', '--speed', '4', '--blind', '0.5')  # a seed with all kinds
    finally:
        process.terminate()
        _, said = process.communicate(timeout=10)
    assert process.returncode == 0, said
    assert 'Traceback' not in said
    assert (done.returncode, done.stderr) == (0, ''), done.stdout
    assert 'MISSING' not in done.stdout
    assert done.stdout.count(' found\n') > 15
    assert re.search(r'jumps back .* found', done.stdout)
    assert re.search(r'gaps .* found', done.stdout)
    assert done.stdout.endswith('\nall found, all numbers finite, stamps in order\n')


def test_a_node_on_the_system_clock_is_refused_in_one_line():
    process = start('rate:=200.0')
    try:
        done = rehearse()
    finally:
        process.terminate()
        process.communicate(timeout=10)
    assert done.returncode == 1
    assert done.stderr == (
        'chaos: /motor must run with use_sim_time:=true, to see the clock jump.\n'
    )


def test_no_node_is_said_in_one_line():
    done = rehearse('--wait', '0.2', '--node', 'other/motor')
    assert done.returncode == 1
    assert done.stderr.startswith('chaos: no node /other/motor answers. Start one: ')
    assert done.stderr.count('\n') == 1
    assert not done.stdout


def test_somebody_else_on_clock_is_refused(context):
    process = start('use_sim_time:=true', 'rate:=200.0')
    other = rclpy.create_node('simulator', context=context)
    clock = other.create_publisher(Clock, '/clock', 10)
    try:
        done = rehearse('--seconds', '60')  # as soon as he is seen
    finally:
        process.terminate()
        process.communicate(timeout=10)
        other.destroy_publisher(clock)
        other.destroy_node()
    assert done.returncode == 1
    assert done.stderr.startswith('chaos: somebody else publishes /clock. Rehearse in a graph')
    assert not done.stdout


def test_wrong_ros_arguments_get_one_line_and_code_2():
    done = rehearse('--ros-args', '-r', 'junk')
    assert done.returncode == 2
    assert done.stderr.startswith("chaos: Couldn't parse remap rule: '-r junk'.")
    assert done.stderr.count('\n') == 1


def test_it_stops_when_asked(context):
    process = start('use_sim_time:=true', 'rate:=200.0')
    listener, heard = rclpy.create_node('listener', context=context), None
    clock = listener.create_subscription(Clock, '/clock', lambda _: None, 10)
    chaos = subprocess.Popen(
        [sys.executable, ROOT / 'tools' / 'chaos.py', '--speed', '1'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + 30.0
        while not heard and time.monotonic() < end:
            time.sleep(0.02)
            with clock.handle:
                heard = clock.handle.take_message(Clock, True)
        chaos.send_signal(signal.SIGINT)
        out, err = chaos.communicate(timeout=5)
    finally:
        chaos.kill()
        process.terminate()
        process.communicate(timeout=10)
        listener.destroy_node()
    assert heard
    assert (chaos.returncode, err) == (1, '')
    assert out.startswith('stopped after ')
