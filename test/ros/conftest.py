"""A context of its own for each test, and a motor node whose clock is moved by hand."""

import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs rclpy: run it through make, or source ROS 2')

from rclpy.clock import ClockType  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from rclpy.time import Time  # noqa: E402

SECOND = 1_000_000_000
PATIENCE = 10.0  # s; how long a message may be on its way on a busy machine


class Bench:
    """A motor node, and a second node that sends to it and hears it."""

    def __init__(self, context, values):
        from mime_motor_ros.node import MotorNode

        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.motor = MotorNode(context=context, parameter_overrides=overrides)
        self.peer = rclpy.create_node('peer', context=context)
        self.now_ns = 0
        self._ears = {}
        self._mouths = {}

    def hear(self, kind, topic, qos=None):
        """Begin to listen; messages are taken by ``heard``."""
        subscription = self.peer.create_subscription(
            kind, topic, lambda _: None, qos or QoSProfile(depth=1000)
        )
        self._ears[topic] = (subscription, kind)
        name = subscription.topic_name
        self.until(lambda: self.peer.count_publishers(name) > 0, f'a publisher of {topic}')
        self.until(lambda: self.motor.count_subscribers(name) > 0, f'a reader of {topic}')

    def heard(self, topic, count=1):
        """Return the next messages of a topic, as many as are asked for."""
        subscription, kind = self._ears[topic]
        messages = []

        def take():
            with subscription.handle:
                while (taken := subscription.handle.take_message(kind, False)) is not None:
                    messages.append(taken[0])
            return len(messages) >= count

        self.until(take, f'{count} messages on {topic}')
        return messages

    def silent(self, topic):
        """Tell whether nothing has come on a topic."""
        subscription, kind = self._ears[topic]
        with subscription.handle:
            return subscription.handle.take_message(kind, False) is None

    def send(self, message, topic, qos=10):
        """Send a message and wait until the motor node has it at hand."""
        if topic not in self._mouths:
            self._mouths[topic] = self.peer.create_publisher(type(message), topic, qos)
            name = self._mouths[topic].topic_name
            self.until(
                lambda: self._mouths[topic].get_subscription_count() > 0, f'a reader of {name}'
            )
            self.until(lambda: self.motor.count_publishers(name) > 0, f'the writer of {name}')
        before = len(self.arrived)
        self._mouths[topic].publish(message)
        self.until(lambda: self._read() > before, f'the arrival of {topic}')

    arrived: list = []

    def _read(self):
        self.arrived = self.arrived + self.motor._read()
        return len(self.arrived)

    def tick(self, seconds):
        """Move the clock to a time and let the node do one cycle; return its outcomes."""
        self.now_ns = round(seconds * SECOND)
        now = Time(nanoseconds=self.now_ns, clock_type=ClockType.ROS_TIME)
        self.motor.get_clock().set_ros_time_override(now)
        for item in self.arrived:
            self.motor.session.take(item, self.now_ns)
        self.arrived = []
        self.motor._looked = -1.0
        return self.motor.cycle()

    def until(self, true, what):
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}'
            time.sleep(0.002)

    def close(self):
        self.peer.destroy_node()
        self.motor.destroy_node()


@pytest.fixture
def context():
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    rclpy.shutdown(context=context)


@pytest.fixture
def make_bench(context):
    benches = []

    def make(**values):
        values = {name.replace('__', '.'): value for name, value in values.items()}
        benches.append(Bench(context, {'use_sim_time': True, **values}))
        return benches[-1]

    yield make
    for bench in benches:
        bench.close()
