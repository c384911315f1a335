import os
import re
import signal
import subprocess
import sys
import time

from control_msgs.msg import DynamicJointState, InterfaceValue
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from mime_motor_ros.screen import Motor, Status
from mime_motor_ros.watch import Tally, Watch
import pytest
import rclpy

pytestmark = pytest.mark.ros

OVERVIEW = DynamicJointState(
    joint_names=['left', 'right', 'mount'],
    interface_values=[
        InterfaceValue(values=[100.0, 10.0, 1.0, 0.1]),
        InterfaceValue(values=[101.0, 20.0, 2.0, 0.2]),
        InterfaceValue(
            values=[0.0, 0.5, 0.0, 0.0, 0.0, -1.0, 2.0, 0.0, 0.0, 0.0, 0.0, -1.0, 3.0, 0.0, 0.0]
        ),
    ],
)
COMMAND = [sys.executable, '-m', 'mime_motor_ros.top']


class StandIn:
    """The outputs of a motor node with two motors, published when told to."""

    def __init__(self, context):
        self.node = rclpy.create_node('motor', context=context)
        make = self.node.create_publisher
        self.wrench = make(WrenchStamped, '~/mount_wrench', 10)
        self.overview = make(DynamicJointState, '~/overview', 10)
        self.diagnostics = make(DiagnosticArray, '/diagnostics', 10)

    def publish(self, stamp=1):
        message = WrenchStamped()
        message.header.stamp.sec = stamp
        message.wrench.torque.x, message.wrench.force.z = 3.0, -1.0
        self.wrench.publish(message)
        self.overview.publish(OVERVIEW)

    def diagnose(self, name='motor'):
        stepping = DiagnosticStatus(level=b'\x01', name=f'{name}: stepping', message='slow')
        stepping.values = [KeyValue(key='wanted rate (Hz)', value='1000')]
        statuses = [stepping]
        statuses.append(DiagnosticStatus(name=f'{name}: outputs'))
        spin = [KeyValue(key='spin (rad/s)', value='1.0')]
        statuses += [
            DiagnosticStatus(name=f'{name}: {motor}', values=spin) for motor in ('left', 'right')
        ]
        self.diagnostics.publish(DiagnosticArray(status=statuses))


@pytest.fixture
def motor(context):
    motor = StandIn(context)
    yield motor
    motor.node.destroy_node()


@pytest.fixture
def make_watch(context):
    node = rclpy.create_node('motor_top', context=context)
    yield lambda **options: Watch(node, **options)
    node.destroy_node()


def until(watch, motor, is_reached, seconds=10.0):
    """Publish and poll until the view is as wanted; return it."""
    end = time.monotonic() + seconds
    while not is_reached(watch.view()):
        assert time.monotonic() < end, watch.view()
        motor.diagnose()
        motor.publish()
        time.sleep(0.01)
        watch.poll()
    return watch.view()


def test_a_view_holds_the_newest_of_everything(make_watch, motor):
    def is_full(view):
        return (
            all(None not in x for x in (motor_values(m) for m in view.motors))
            and len(view.motors) == 2
            and None not in (view.momentum, view.reaction, view.mount_wrench)
        )

    view = until(make_watch(), motor, is_full)
    assert view.motors == (
        Motor('left', 100.0, 10.0, 1.0, 0.1),
        Motor('right', 101.0, 20.0, 2.0, 0.2),
    )
    assert view.momentum == (0.0, 0.5, 0.0)
    assert view.reaction == ((0.0, 0.0, -1.0), (2.0, 0.0, 0.0))
    assert view.mount_wrench == ((0.0, 0.0, -1.0), (3.0, 0.0, 0.0))
    assert view.statuses['stepping'] == Status(1, 'slow', {'wanted rate (Hz)': '1000'})
    assert view.age < 5.0
    assert view.publishers == 1


def motor_values(motor):
    return (motor.spin, motor.relative_speed, motor.angle, motor.torque)


def test_a_message_of_somebody_else_is_no_overview(make_watch, motor):
    watch = make_watch()
    before = until(watch, motor, lambda view: bool(view.motors))
    short = DynamicJointState(joint_names=['a'], interface_values=[InterfaceValue(values=[1.0])])
    for message in (DynamicJointState(), short):
        watch._on_overview(message)
    assert watch.view().motors == before.motors


def test_the_diagnostics_of_other_nodes_are_left_alone(make_watch, motor):
    watch = make_watch()
    until(watch, motor, lambda view: 'stepping' in view.statuses)
    before = dict(watch.view().statuses)
    array = DiagnosticArray(status=[DiagnosticStatus(name='motor2: stepping', message='no')])
    watch._on_diagnostics(array)
    assert watch.view().statuses == before


def seconds_of(*looks):
    """Return diagnostics that come one after the other: steps so far, and steps a second."""
    for steps, reached in looks:
        values = {'steps': str(steps), 'reached rate (Hz)': str(reached)}
        stepping = DiagnosticStatus(name='motor: stepping')
        stepping.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        yield DiagnosticArray(status=[stepping])


@pytest.mark.parametrize(
    ('looks', 'shown'),
    [  # not in the second in which the steps begin, which is no full one
        (((0, 0.0), (430, 428.0), (1431, 1000.0)), (None, None, '1000.0')),
        (((1431, 1000.0), (1431, 0.0)), ('1000.0', '0.0')),  # of a node that is there before us
        (((1020, 1000.0),), (None,)),
        (((9000, 1000.0), (300, 299.0), (1300, 1000.0)), ('1000.0', None, '1000.0')),  # anew
        ((('?', 1000.0),), ('1000.0',)),
    ],
)
def test_a_rate_is_shown_when_a_full_second_was_measured(make_watch, looks, shown):
    watch, seen = make_watch(), []
    for message in seconds_of(*looks):
        watch._on_diagnostics(message)
        seen.append(watch.view().statuses['stepping'].values.get('reached rate (Hz)'))
    assert tuple(seen) == shown


def test_a_tally_counts_every_wrench_and_only_when_asked_to(make_watch, motor):
    watch = make_watch(tally=True)
    until(watch, motor, lambda view: view.mount_wrench is not None)
    time.sleep(0.2)
    watch.poll()
    watch.tally = Tally()
    for stamp in range(1, 9):
        motor.publish(stamp)
    time.sleep(0.2)
    watch.poll()
    assert (watch.tally.received, watch.tally.seconds) == (8, 7.0)
    assert (watch.tally.peak_torque, watch.tally.peak_force) == (3.0, 1.0)


def test_a_node_by_its_full_name_is_found_in_its_namespace(context, make_watch):
    watch = make_watch(motor='/arm/motor')
    topics = {read.subscription.topic_name for read in watch._reads}
    assert topics == {'/arm/motor/overview', '/diagnostics'}
    assert watch._prefix == 'motor: '


def test_the_command_says_what_it_waits_for_and_ends_cleanly():
    process = subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ, text=True
    )
    try:
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=5)
    finally:
        process.kill()
    assert re.fullmatch(
        r'\d\.\d s  waiting for the node motor; is ROS_DOMAIN_ID the same\?', line.strip()
    )
    assert (process.returncode, err) == (0, '')


def test_once_without_a_node_is_told_in_one_line():
    ended = subprocess.run(
        [*COMMAND, '--once', '--seconds', '0.2', '--node', 'none'],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (ended.returncode, ended.stdout) == (1, '')
    assert ended.stderr == ('motor_top: waiting for the node none; is ROS_DOMAIN_ID the same?\n')
