"""
A running motor node as the panel follows it: all that it publishes, its parameters, the mount.

It subscribes and calls services like any client. Nothing here waits: what was asked for comes
when the node has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
import time
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from .errors import FrameError, MotorError
from .frames import FrameTree
from .messages import transforms
from .model import Pose
from .panel import Moment
from .session import pose_of, Refused
from .settings import motor_names, parameters, Settings, settings
from .timeline import NANOSECONDS
from .watch import Watch

LOOK = 5.0
"""Between two looks at the parameters of the node, which may be set by others [s]."""
PATIENCE = 2.0
"""How long an answer is waited for [s]."""
REPEAT = 0.05
"""Between two messages of one command [s]."""
FOREVER = 2**63 - 1


class Follower:
    """
    See the module; the functions of `Controls` may be called from any thread.

    Parameters
    ----------
    node
        Whose subscriptions are used; it is not spun.
    calls
        A node of its own for services and commands, spun here.
    motor
        The name of the motor node.
    tell
        Is given one line when the node has answered what the user asked for.

    """

    def __init__(self, node: Node, calls: Node, motor: str, tell: Callable[[str], None]) -> None:
        self.watch = Watch(node, motor)
        self._calls, self._tell = calls, tell
        self._name = motor.rstrip('/')
        self._executor = SingleThreadedExecutor(context=calls.context)
        self._executor.add_node(calls)
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._pending: list[tuple[Any, float, Callable[[Any], None], str]] = []
        self._clients: dict[str, Any] = {}
        self._settings: Settings | None = None
        self._looked = float('-inf')
        self._was_there = self._has_said = False
        self._commands: Any = None
        self._values: Sequence[float] = ()
        self._sent = float('-inf')
        self._tree = FrameTree()
        newest = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
        latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._transforms = [
            (node.create_subscription(TFMessage, '/tf', lambda _: None, newest), False),
            (node.create_subscription(TFMessage, '/tf_static', lambda _: None, latched), True),
        ]

    # what a user does, from any thread

    def command(self, on: bool, values: Sequence[float]) -> None:
        """Repeat these commands, one a motor, or none."""
        chosen = [float(x) for x in values] if on else []
        self._asked.put(lambda: self._hold(chosen))

    def mode(self, motor: str, mode: str) -> None:
        """Have a drive take commands in another mode."""
        name = f'{motor}.mode'
        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=mode)
        request = SetParameters.Request(parameters=[ParameterMessage(name=name, value=value)])

        def answered(response: Any) -> None:
            result = response.results[0]
            self._tell(f'{motor}: {mode}' if result.successful else result.reason)
            self._look()

        self._asked.put(lambda: self._call('set_parameters', SetParameters, request, answered))

    def call(self, service: str, data: bool | None) -> None:
        """Call ``reset``, ``pause`` or ``enable`` of the node."""
        kind = Trigger if data is None else SetBool
        request = kind.Request() if data is None else kind.Request(data=data)

        def answered(response: Any) -> None:
            self._tell(f'{service}: {response.message}')

        self._asked.put(lambda: self._call(service, kind, request, answered))

    # the loop

    def poll(self) -> None:
        """Take what has come, ask what was asked for, and send what is due."""
        self.watch.poll()
        for subscription, static in self._transforms:
            with subscription.handle:
                while (taken := subscription.handle.take_message(TFMessage, False)) is not None:
                    self._place(taken[0], static)
        while True:
            try:
                self._asked.get_nowait()()
            except Empty:
                break
        for _ in range(10):
            self._executor.spin_once(timeout_sec=0.0)
        self._take_answers()
        now = time.monotonic()
        is_there = self.watch.view().publishers > 0
        if is_there and (not self._was_there or now - self._looked > LOOK):
            self._look()
        self._was_there = is_there
        if self._commands is not None and now - self._sent >= REPEAT:
            self._sent = now
            self._commands.publish(Float64MultiArray(data=self._values))

    def moment(self) -> Moment:
        """Return what is known now."""
        view = self.watch.view()
        return Moment(view, self._settings, self._mount(), view.seconds)

    def close(self) -> None:
        """Let go of the executor."""
        self._executor.shutdown(timeout_sec=0.5)

    def _mount(self) -> Pose | None:
        chosen = self._settings
        if chosen is None:
            return None
        try:
            return self._tree.newest(chosen.world_frame, chosen.mount_frame, FOREVER)[1]
        except FrameError:
            return None

    def _place(self, message: Any, static: bool) -> None:
        for one in transforms(message, static):
            try:
                pose = pose_of(one.position, one.orientation)
            except Refused:
                continue  # the node says so
            if one.parent and one.child and one.parent != one.child:
                newest = self._tree.newest_stamp(one.child, FOREVER)
                if not static and newest is not None and one.stamp < newest - NANOSECONDS:
                    self._tree.clear()  # the clock was set back
                self._tree.insert(one.stamp, one.parent, one.child, pose, static)

    def _hold(self, values: list[float]) -> None:
        """Keep a publisher as long as commands are sent: others see by it that they are."""
        self._values = values
        if values and self._commands is None:
            topic = f'{self._name}/commands'
            self._commands = self._calls.create_publisher(Float64MultiArray, topic, 10)
        elif not values and self._commands is not None:
            self._calls.destroy_publisher(self._commands)
            self._commands = None

    # services

    def _call(self, service: str, kind: Any, request: Any, use: Callable[[Any], None]) -> None:
        client = self._clients.get(service)
        if client is None:
            name = f'{self._name}/{service}'
            client = self._clients[service] = self._calls.create_client(kind, name)
        until = time.monotonic() + PATIENCE
        self._pending.append((client.call_async(request), until, use, service))

    def _take_answers(self) -> None:
        pending, self._pending = self._pending, []
        for one in pending:
            future, until, use, service = one
            if future.done():
                if future.exception() is None:
                    use(future.result())
            elif time.monotonic() < until:
                self._pending.append(one)
            else:
                self._clients[service].remove_pending_request(future)
                if service != 'get_parameters':
                    self._tell(f'{service}: the node has not answered within {PATIENCE:g} s.')

    def _look(self) -> None:
        """Ask for the parameters: first which motors there are, then all."""
        self._looked = time.monotonic()
        self._call(
            'get_parameters', GetParameters, GetParameters.Request(names=['motors']), self._named
        )

    def _named(self, response: Any) -> None:
        try:
            (motors,) = map(parameter_value_to_python, response.values)
            table = parameters(motor_names(motors))
        except (MotorError, ValueError):
            if self._settings is None and not self._has_said:
                self._has_said = True
                self._tell(f'{self._name} has no parameter motors: it is not a motor node.')
            return
        names = list(table)

        def answered(response: Any) -> None:
            given = {}
            for name, message in zip(names, response.values, strict=False):
                value = parameter_value_to_python(message)
                if value is not None and not _is_default(value, table[name].default):
                    given[name] = value
            try:
                self._settings = settings(given)
            except MotorError as error:  # as of a node of another version
                self._tell(str(error))

        self._call('get_parameters', GetParameters, GetParameters.Request(names=names), answered)


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(default, (list, tuple)) or not isinstance(value, (str, bool, int, float)):
        return list(value) == list(default)
    return bool(value == default)


def open_nodes() -> tuple[Node, Node]:
    """Return the node that subscribes and the one that calls."""
    watching = rclpy.create_node('motor_view', start_parameter_services=False)  # nobody spins it
    return watching, rclpy.create_node('motor_view_calls')
