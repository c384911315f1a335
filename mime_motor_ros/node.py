"""
The motor node: topics, parameters and services around a session, and the loop that drives it.

No arithmetic here.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from functools import partial
import gc
from importlib import import_module
import sys
from threading import Lock, Thread
import time
import traceback
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message, serialize_message
from rosgraph_msgs.msg import Clock as ClockMessage
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

from .arguments import plain_line
from .diagnostics import Diagnostics
from .errors import MotorError, ParameterError, shortened
from .outputs import Output, Outputs
from .parameter_services import ParameterServices
from .scheduling import adopt, standing_back
from .session import Outcome, Session
from .settings import check_names, motor_names, OF_RCLPY, parameters, plain, settings
from .starting import initialise, REFUSED
from .stopping import Stop
from .subscriptions import subscriptions
from .taking import arrived, clock
from .timeline import Grid, NANOSECONDS

OUTPUT = QoSProfile(depth=10)  # reliable, volatile
LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
TRANSFORMS = QoSProfile(depth=100)
# What the loop reads keeps a second of a 1 kHz sensor: with the usual depth of 5 a loop that
# waits 6 ms, or a recording played fast, loses samples for good.
MOVING = QoSProfile(depth=1000)
SENSOR = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
QUALITY = {
    'moving': MOVING,
    'latched': LATCHED,
    'sensor': SENSOR,
    'command': QoSProfile(depth=10),
}
MOST_REMEMBERED = 1 << 16  # of our own transforms, to know them when they come back
MOST_STEPS = 500  # of a motor caught up in one cycle: no signal and no service is kept waiting
WAIT_BEFORE_WARNING = 2.0  # [s] without steps, as at any start
REPEAT_AFTER = 10.0  # [s] before the same thing is said again
QUALITIES = {'depth': None, 'history': HistoryPolicy, 'reliability': ReliabilityPolicy}
ASIDE = 2e-5  # [s] for the other threads, where the loop is behind and would never sleep
LONGEST_SLEEP = 50_000_000  # [ns]
COLLECT_EVERY = 1.0  # [s], where the collector is off: what rclpy leaves in circles
LOOK_FOR_READERS = 0.05  # [s] between looks at who subscribes
LAST_WORD = 0.2  # [s] until what is said at the end must have been heard


def message_class(name: str) -> Any:
    """Return the class of a message type that is named as ROS writes it."""
    package, _, kind = name.partition('/msg/')
    return getattr(import_module(f'{package}.msg'), kind)


def serialized(name: str, fields: Mapping[str, Any]) -> bytes:
    """Return a message as ROS serializes it; fields that are not given are zero or empty."""
    return bytes(serialize_message(_filled(message_class(name)(), fields)))


def _filled(message: Any, fields: Mapping[str, Any]) -> Any:
    kinds = message.get_fields_and_field_types()
    for name, value in fields.items():
        if isinstance(value, Mapping):
            _filled(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            kind = message_class(kinds[name][len('sequence<') : -1].replace('/', '/msg/'))
            setattr(message, name, [_filled(kind(), one) for one in value])
        else:
            setattr(message, name, value)
    return message


def _read_message(read: Callable[[Any], Sequence[Any]], kind: Any, data: bytes) -> Sequence[Any]:
    return read(deserialize_message(data, kind))


class Polled(CallbackGroup):
    """A group no executor may run: its subscriptions are read by the loop."""

    def can_execute(self, entity: Any) -> bool:
        """Leave every entity to the loop."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never begin."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing has begun."""


class Publication:
    """A topic that is published, while somebody reads it."""

    def __init__(self, node: Node, output: Output) -> None:
        self.publisher = node.create_publisher(
            message_class(output.type),
            output.topic,
            copy(OUTPUT),  # rclpy writes overrides into the profile that it is given
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self.output = output
        self.read = False

    def look(self) -> None:
        """See whether anybody subscribes."""
        self.read = self.publisher.get_subscription_count() > 0

    def send(self, outcome: Outcome, stamp: tuple[int, int]) -> None:
        """Publish what the outcome gives."""
        data = self.output.message(outcome, stamp)
        if data is not None:
            self.publisher.publish(data)


class MotorNode(Node):
    """
    The node ``motor``: one session fed from topics, its outcomes published.

    ``cycle`` takes what has arrived, looks at the clock once, takes the steps due and publishes
    them; the loop of ``serve`` calls it at the rate of the steps. Parameters, services and
    diagnostics are served by an executor in another thread, between two cycles.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._polled = Polled()
        self._clock_subscription: Any = None
        serves = kwargs.pop('start_parameter_services', True)
        super().__init__('motor', start_parameter_services=False, **kwargs)
        if serves:
            self._parameter_services = ParameterServices(self)
        self.lock = Lock()
        self._values = self._declare()
        chosen = settings(self._values)
        self.session = Session(chosen)
        self.grid = Grid(chosen.rate)
        self._said: dict[str, float] = {}
        self._silent_since: float | None = None
        self._last_ns = 0
        self._looked = -1.0
        self._sent: dict[tuple[str, int], None] = {}  # of ours, those that did not come back yet
        self._foreign: dict[str, float] = {}
        self.inputs: list[tuple[str, Any, Callable[[bytes], Sequence[Any]]]] = []
        self._most_steps = max(1, MOST_STEPS // len(chosen.motors))
        self.received: Counter[str] = Counter()  # messages by source, refused ones among them
        self._sent_of = Outputs(self.session, serialized)
        self.outputs = [Publication(self, output) for output in self._sent_of.outputs]
        self._paced = [one for one in self.outputs if one.output.paced]
        self._create_inputs()
        self._create_frames()
        self._create_services()
        self.diagnostics = Diagnostics(self)
        for name in self._parameter_overrides:
            if name.startswith('qos_overrides.') and not self.has_parameter(name):
                near = get_close_matches(name, self.get_parameters_by_prefix(''), 1)
                hint = f' Did you mean {near[0]}?' if near else ''
                self.get_logger().warning(
                    f'{name} is no override of a topic here: not used.{hint}'
                )
        for remark in chosen.remarks:
            self.get_logger().warning(remark)

    # parameters

    def _declare(self) -> dict[str, Any]:
        """Declare every parameter with its checked value; raise ParameterError for a wrong one."""
        # The overrides as they came: rclpy ignores unknown names in silence, refuses an int for
        # a double, and has no public way to ask for them.
        overrides = {name: _value(one) for name, one in self._parameter_overrides.items()}
        for name, value in overrides.items():
            _check_quality(name, value)
        given = {name: value for name, value in overrides.items() if not _is_of_rclpy(name)}
        motors = motor_names(given.get('motors', parameters(())['motors'].default))
        for stranger in check_names(given, motors):
            self.get_logger().warning(f'parameter {stranger!r} is not one of ours: not used.')
        checked = settings(given)
        values = dict(given)
        for motor in checked.motors:  # what follows from rotor_inertia is shown as it acts
            values[f'{motor.name}.inertia'] = motor.model.inertia
            if any(motor.model.asymmetry):
                values[f'{motor.name}.asymmetry'] = motor.model.asymmetry
        declared = {}
        for name, parameter in parameters(motors).items():
            value = plain(parameter, values.get(name, parameter.default))
            descriptor = ParameterDescriptor(
                description=parameter.description, read_only=not parameter.live
            )
            if isinstance(parameter.default, float):
                most = sys.float_info.max  # a range is made of finite numbers
                descriptor.floating_point_range = [
                    FloatingPointRange(
                        from_value=max(parameter.low, -most), to_value=min(parameter.high, most)
                    )
                ]
            elif type(parameter.default) is int:
                descriptor.integer_range = [
                    IntegerRange(
                        from_value=int(parameter.low), to_value=int(parameter.high), step=1
                    )
                ]
            self.declare_parameter(
                name,
                list(value) if isinstance(value, tuple) else value,
                descriptor,
                ignore_override=True,
            )
            declared[name] = value
        return declared

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set all or none: refused with the text of the start, used between two steps."""
        table, ours, passed = parameters(self._motors), {}, []
        try:
            given = {x.name: _value(x) for x in parameter_list if not _is_of_rclpy(x.name)}
            check_names(given, self._motors)
            for stranger in parameter_list:
                if not self.has_parameter(stranger.name):
                    rule = 'the name of a parameter of this node'
                    raise ParameterError(repr(stranger.name), rule, repr(_value(stranger)))
            for parameter in parameter_list:
                if parameter.name in table:
                    value = plain(table[parameter.name], _value(parameter))
                    ours[parameter.name] = value
                    value = list(value) if isinstance(value, tuple) else value
                    parameter = Parameter(parameter.name, value=value)
                passed.append(parameter)
            # Other motors would have other parameters; that they are read-only is said below.
            chosen = settings({**self._values, **ours, 'motors': self._motors})
            for name in ours:
                if not table[name].live:
                    raise MotorError(
                        f'{name} is read-only: it is taken at the start. '
                        'Start the node anew with it.'
                    )
        except MotorError as error:
            return SetParametersResult(successful=False, reason=str(error))
        result = super().set_parameters_atomically(passed)
        if result.successful and ours:
            with self.lock:
                known = self.session.settings.remarks
                self._values.update(ours)
                self.session.update(chosen)
            for remark in chosen.remarks:
                if remark not in known:
                    self.get_logger().warning(remark)
        return result

    def set_parameters(self, parameter_list: list[Parameter]) -> list[SetParametersResult]:
        """Set one after the other, each checked as all are."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]

    @property
    def _motors(self) -> tuple[str, ...]:
        return tuple(motor.name for motor in self.session.settings.motors)

    # endpoints

    def _create_inputs(self) -> None:
        for one in subscriptions(self.session.settings):
            kind = message_class(one.type)
            read = one.read if one.of_bytes else partial(_read_message, one.read, kind)
            options = None
            if not one.topic.startswith('/tf'):
                options = QoSOverridingOptions.with_default_policies()
            subscription = self.create_subscription(
                kind,
                one.topic,
                lambda _: None,
                copy(QUALITY[one.quality]),
                callback_group=self._polled,
                qos_overriding_options=options,
            )
            self.inputs.append((one.source, subscription, read))

    def _create_frames(self) -> None:
        """Create what sends the motors' own frames."""
        frames = self._sent_of.rotors, self._sent_of.stators
        self._tf: Any = None
        self._tf_static: Any = None
        if frames != (None, None):
            self._tf = self.create_publisher(TFMessage, '/tf', TRANSFORMS)
            self._tf_static = self.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._parents = {
            frame: parent
            for motor in self.session.settings.motors
            for frame, parent in (
                (motor.stator_frame, self.session.settings.mount_frame),
                (motor.rotor_frame, motor.stator_frame),
            )
        }

    def _create_services(self) -> None:
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(SetBool, '~/enable', self._on_enable)

    def _on_reset(self, request: Any, response: Any) -> Any:
        with self.lock:
            self.session.reset()
            self._clear_markers()
        response.success, response.message = True, 'initial angle and spin'
        return response

    def _clear_markers(self, patience: float = 0.0) -> None:
        """Have what was drawn taken away again, where somebody looks; wait until it has come."""
        markers = self._sent_of.markers
        for one in self.outputs:
            if one.output is markers and one.read and (data := markers.cleared()) is not None:
                one.publisher.publish(data)
                if patience:
                    one.publisher.wait_for_all_acked(Duration(seconds=patience))

    def leave(self) -> None:
        """Say what there is to say at the end."""
        with self.lock:
            self._clear_markers(LAST_WORD)

    def _on_pause(self, request: Any, response: Any) -> Any:
        with self.lock:
            self.session.paused = request.data
        response.success = True
        response.message = 'time is held' if request.data else 'time goes on'
        return response

    def _on_enable(self, request: Any, response: Any) -> Any:
        with self.lock:
            self.session.enabled = request.data
        response.success = True
        response.message = 'commands act' if request.data else 'torque 0, the rotors coast'
        return response

    # one cycle

    def cycle(self) -> list[Outcome]:
        """Take the inputs that are there, look at the clock once, take the steps due, publish."""
        with self.lock:
            arrived = self._read()
            if self._clock_subscription is not None and self._follow_clock():
                arrived += self._read()  # what was sent before this /clock and is here only now
            now_ns = self.get_clock().now().nanoseconds
            for item in arrived:
                self.session.take(item, now_ns)
            outcomes = self.session.advance_to(now_ns, self._most_steps)
            self._look(time.monotonic())
            if now_ns > 0 and self._tf_static is not None:
                self._send_stators(now_ns)
            for outcome in outcomes:
                self._publish(outcome)
            self._know_our_own()
            self._report(now_ns, bool(outcomes))
        return outcomes

    def create_subscription(self, msg_type: Any, topic: str, *args: Any, **kwargs: Any) -> Any:
        """
        Create a subscription; that of rclpy to /clock is read by the loop too.

        So the order of /clock among the inputs is kept, and no other thread works through it.
        """
        if msg_type is ClockMessage:
            kwargs['callback_group'] = self._polled
        subscription = super().create_subscription(msg_type, topic, *args, **kwargs)
        if msg_type is ClockMessage:
            self._clock_subscription = subscription
        return subscription

    def _follow_clock(self) -> bool:
        """Set the clock by the newest /clock; return whether there was one."""
        subscription = self._clock_subscription
        try:
            times = self._taken('clock', subscription, clock)
        except InvalidHandle:  # use_sim_time was switched off
            if self._clock_subscription is subscription:
                self._clock_subscription = None
            return False
        if times:
            subscription.callback(times[-1])
        return bool(times)

    def _read(self) -> list[Any]:
        """Return what has arrived on all topics, in the order of the topics."""
        arrived: list[Any] = []
        for source, subscription, read in self.inputs:
            arrived += self._taken(source, subscription, read)
        return arrived

    def _taken(
        self, source: str, subscription: Any, read: Callable[[bytes], Sequence[Any]]
    ) -> list[Any]:
        """Return what has arrived on one topic, as much as one cycle may look at."""
        taken: list[Any] = []
        for items, _, error in arrived(subscription, read):
            self.received[source] += 1
            if error is None:
                taken += items
            else:
                self._count_unreadable(source, subscription.topic_name, error)
        return taken

    def _count_unreadable(self, source: str, topic: str, error: Exception) -> None:
        self.session.counts[source, 'unreadable'] += 1
        why = str(error).partition(', at /')[0]  # after which rmw names a line of its source
        self.session.news.setdefault(
            f'{topic} unreadable', f'{topic}: a message cannot be read ({why}); not used'
        )

    def _look(self, now: float) -> None:
        if now - self._looked >= LOOK_FOR_READERS:
            self._looked = now
            for output in self.outputs:
                output.look()

    def _send_stators(self, now_ns: int) -> None:
        """Send where the stators sit, once, in one message: it is latched."""
        self._tf_static.publish(self._sent_of.stators_at(now_ns))
        for motor in self.session.settings.motors:
            self._remember_sent(motor.stator_frame, now_ns)
        self.static_publisher, self._tf_static = self._tf_static, None

    def _publish(self, outcome: Outcome) -> None:
        seconds = divmod(outcome.stamp_ns, NANOSECONDS)
        for output in self.outputs if self._sent_of.are_due(outcome) else self._paced:
            if output.read:
                output.send(outcome, seconds)
        rotors = self._sent_of.rotors_of(outcome)
        if rotors is not None:
            for motor in self.session.settings.motors:
                self._remember_sent(motor.rotor_frame, outcome.stamp_ns)
            self._tf.publish(rotors)

    @property
    def foreign(self) -> list[str]:
        """Return which of our frames somebody else has published of late."""
        now = time.monotonic()
        return sorted(child for child, seen in self._foreign.items() if now - seen < REPEAT_AFTER)

    def _remember_sent(self, child: str, stamp_ns: int) -> None:
        self._sent[child, stamp_ns] = None
        if len(self._sent) > MOST_REMEMBERED:
            del self._sent[next(iter(self._sent))]

    def _know_our_own(self) -> None:
        """
        Look through the transforms of our frames that came in: all should be ours.

        Each of ours comes back once. Of another node with the same frames on the same grid the
        stamps are the same; then it comes twice.
        """
        chosen, returned = self.session.settings, self.session.ours
        while returned:
            item = returned.popleft()
            sent = item.child, item.stamp
            if sent in self._sent and item.parent == self._parents[item.child]:
                del self._sent[sent]
            elif chosen.publish_tf:
                self._foreign[item.child] = time.monotonic()
                self.session.news['foreign'] = (
                    f'somebody else publishes our frame {item.child!r} (under {item.parent!r}): '
                    'set publish_tf to false, or rename one of the two'
                )

    # what is said

    def _report(self, now_ns: int, stepped: bool) -> None:
        news = self.session.news
        now = time.monotonic()
        stands, self._last_ns = 0 < now_ns == self._last_ns, now_ns
        if stepped or stands:  # a simulated clock that stands still owes no steps
            self._silent_since = None
        else:
            if self._silent_since is None:
                self._silent_since = now
            if now - self._silent_since > WAIT_BEFORE_WARNING and self.session.waiting:
                news['waiting'] = f'no steps: {self.session.waiting}'
        if news:
            for kind, text in news.items():
                if now - self._said.get(kind, -REPEAT_AFTER) >= REPEAT_AFTER:
                    self._said[kind] = now
                    self.get_logger().warning(shortened(text))
            news.clear()


def _value(parameter: Parameter) -> Any:
    """Return the value of a parameter as one would write it."""
    if parameter.type_ == Parameter.Type.NOT_SET:  # so an empty list comes here
        return []
    return list(parameter.value) if isinstance(parameter.value, array) else parameter.value


def _is_of_rclpy(name: str) -> bool:
    return name in OF_RCLPY or name.startswith('qos_overrides.')


def _check_quality(name: str, value: Any) -> None:
    """Refuse a quality of service that rclpy would raise for without naming the parameter."""
    policy = name.rpartition('.')[2]
    if not name.startswith('qos_overrides.') or policy not in QUALITIES:
        return
    if policy == 'depth':
        if type(value) is not int or not 1 <= value < 2**31:
            raise ParameterError(name, 'a whole number >= 1 (messages)', value)
    else:
        choices = [key for key in QUALITIES[policy].short_keys() if key != 'unknown']
        if value not in choices:
            raise ParameterError(name, f'one of {", ".join(choices)}', repr(value))


def serve(stop: Stop, args: list[str] | None = None) -> int:
    """Run a motor node until ``stop`` is set; return the exit code."""
    node = None
    try:
        with standing_back():
            initialise(args)
            node = MotorNode()
        gc.collect()
        gc.freeze()  # looking through all that has been imported again would take 20 ms
        with Served(node) as served:
            chosen = node.session.settings
            for refused in adopt(chosen):
                node.get_logger().warning(refused)
            if not chosen.collect_garbage:
                gc.disable()
            loop(node, stop, served)
        node.leave()
        return 0
    except REFUSED as error:
        print(f'motor: {plain_line(error)}', file=sys.stderr)
        return 1
    except ExternalShutdownException:
        return 0
    except Exception as error:  # a failing step ends the process, so that respawn works
        traceback.print_exc()
        print(f'motor: stopped by an error of the program: {error!r}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()


class Served:
    """An executor in a thread of its own for parameters, services and diagnostics."""

    def __init__(self, node: Node) -> None:
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self.failure: BaseException | None = None
        self._thread = Thread(target=self._spin, name='executor', daemon=True)

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            pass
        except BaseException as error:  # said by the loop, in the thread that ends the process
            self.failure = error

    def __enter__(self) -> Served:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(timeout_sec=0.5)
        self._thread.join(0.5)


def loop(node: MotorNode, stop: Stop, served: Served) -> None:
    """
    Cycle at the rate of the steps until asked to stop.

    Wakes at the ends of the steps on the node's clock (plus ``settle``), so that no delay adds
    up and the phase is that of the grid; where steps are rare it looks at the inputs in between,
    so that none is lost and no time seems to have been slept through. Under ``use_sim_time`` the
    clock moves by messages: then it wakes at the rate on a steady clock and the steps follow.
    """
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    collected = time.monotonic()
    last = None  # the tick up to which cycles have been made, and of which clock
    while not stop:
        if served.failure is not None:
            raise served.failure
        simulated = node.get_clock().ros_time_is_active
        clock = steady if simulated else node.get_clock()
        settle = 0 if simulated else node.session.settings.settle
        now_ns = clock.now().nanoseconds
        tick = node.grid.tick(now_ns - settle)
        if last is not None and last[0] is clock and last[1] < tick:
            tick = last[1]  # passed while the cycle before was at work: its lateness counts
        due_ns = min(node.grid.time_ns(tick + 1) + settle, now_ns + LONGEST_SLEEP)
        if now_ns >= due_ns:
            time.sleep(ASIDE)
        while not stop and now_ns < due_ns:
            time.sleep((due_ns - now_ns) / NANOSECONDS)
            before_ns, now_ns = now_ns, clock.now().nanoseconds
            if now_ns < before_ns:
                break  # the clock went back: the session sees to it
        else:
            node.diagnostics.woke(now_ns - due_ns)
        last = clock, node.grid.tick(now_ns - settle)
        node.cycle()
        if not gc.isenabled() and time.monotonic() - collected > COLLECT_EVERY:
            gc.collect()
            collected = time.monotonic()
