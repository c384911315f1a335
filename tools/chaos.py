"""
Rehearse what goes wrong on a rig: play inputs with faults in them into a running motor node.

    tools/env.sh python tools/chaos.py --seed 3 [--bag RECORDING] [--only late,nan] ...

A mount that tumbles, or the one of a recording, with torques and loads for the motors. On their
way to the node messages are lost, late, doubled, out of order, wrongly stamped or wrong in
themselves, inputs fall silent or freeze, and the clock jumps. At the end a table says what was
injected, what the node's diagnostics have counted for it, and whether all of it was found; they
may have counted more, as what is sent to a busy node can be late by itself.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from math import inf, isfinite
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple, NoReturn, TYPE_CHECKING

from faults import Chaos, demo, GAP, INPUTS, JUMP, KINDS, LATE, Ledger, Received, told
from mime_motor_ros import messages
from mime_motor_ros.arguments import plain_line
from mime_motor_ros.errors import MotorError
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Transform
from mime_motor_ros.options import number, split, whole
from mime_motor_ros.settings import NODE, Settings, settings
from mime_motor_ros.stopping import leave, Stop
from mime_motor_ros.timeline import NANOSECONDS
from pacing import instants, Pace, PlayError, ShownClock, SLOWEST, wait_for_readers

if TYPE_CHECKING:
    from mime_motor_ros.offline.recording import Recording
    from rclpy.node import Node

LOOK_FOR_OTHERS = 0.5  # s; it takes some until all of a graph is known
SILENT = 8.0  # s without diagnostics, which come every second
SECONDS = 20.0
Key = tuple[str, str]


# to the wire


def message(item: Any) -> Any:
    """Return an input of the session as the ROS message it is read from."""
    from geometry_msgs.msg import TransformStamped, WrenchStamped
    from sensor_msgs.msg import Imu as ImuMessage
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray
    from tf2_msgs.msg import TFMessage

    if type(item) is Transform:
        moved = TransformStamped(child_frame_id=item.child)
        _head(moved.header, item.stamp, item.parent)
        _put(moved.transform.translation, item.position)
        _put(moved.transform.rotation, item.orientation)
        return TFMessage(transforms=[moved])
    if type(item) is Imu:
        sample = ImuMessage()
        _head(sample.header, item.stamp, item.frame)
        _put(sample.angular_velocity, item.angular_velocity)
        _put(sample.orientation, item.orientation)
        sample.angular_velocity_covariance[0] = item.covariance
        sample.orientation_covariance[0] = item.orientation_covariance
        return sample
    if type(item) is Commands:
        return Float64MultiArray(data=list(item.torques))
    if type(item) is JointCommand:
        joints = JointState(name=list(item.names), effort=list(item.torques))
        _head(joints.header, item.stamp, '')
        return joints
    load = WrenchStamped()
    _head(load.header, item.stamp, item.frame)
    _put(load.wrench.force, item.force)
    _put(load.wrench.torque, item.torque)
    return load


def _head(header: Any, stamp_ns: int, frame: str) -> None:
    header.stamp.sec, header.stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
    header.frame_id = frame


def _put(target: Any, numbers: Sequence[float]) -> None:
    for name, value in zip('xyzw', numbers, strict=False):
        setattr(target, name, value)


def topic(item: Any, motor_node: str) -> str:
    """Return where a motor node of this name reads an input."""
    if type(item) is Transform:
        return '/tf_static' if item.static else '/tf'
    if type(item) is Imu:
        return f'{motor_node.rpartition("/")[0]}/imu/data'
    if type(item) is Load:
        return f'{motor_node}/{item.motor}/{item.link}_wrench'
    return f'{motor_node}/{"commands" if type(item) is Commands else "joint_command"}'


class Mouth:
    """The publishers of all that a motor node reads, and of /clock."""

    def __init__(self, node: Node, motor_node: str, chosen: Settings) -> None:
        from rclpy.qos import DurabilityPolicy, QoSProfile

        self._node, self._motor_node, self._looked = node, motor_node, 0.0
        kept = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.publishers: dict[str, Any] = {}
        for item in _one_of_each(chosen):
            name = topic(item, motor_node)
            self.publishers[name] = node.create_publisher(
                type(message(item)), name, kept if name == '/tf_static' else QoSProfile(depth=1000)
            )
        self._clock = ShownClock(node)

    def refuse_others(self) -> None:
        """Raise an error where somebody else speaks too, but for transforms, which all may."""
        if (now := time.monotonic()) - self._looked < LOOK_FOR_OTHERS:
            return
        self._looked = now
        ours = [name for name in (*self.publishers, '/clock') if not name.startswith('/tf')]
        if others := [name for name in ours if self._node.count_publishers(name) > 1]:
            raise PlayError(
                f'somebody else publishes {", ".join(others)}. Rehearse in a graph of its own: '
                'set another ROS_DOMAIN_ID for the node and for this.'
            )

    def say(self, items: Sequence[Any]) -> None:
        """Publish what arrives at one time."""
        for item in items:
            self.publishers[topic(item, self._motor_node)].publish(message(item))

    def show(self, now_ns: int) -> None:
        """Publish the time of the clock."""
        self._clock.show(now_ns)


def _one_of_each(chosen: Settings) -> Iterator[Any]:
    for static in (False, True):
        yield Transform(0, '', '', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), static)
    if chosen.rate_source == 'imu':
        yield Imu(0, '', (0.0, 0.0, 0.0))
    yield Commands(())
    yield JointCommand(0, (), ())
    for motor in chosen.motors:
        for link in ('rotor', 'stator'):
            yield Load(0, motor.name, link, '', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


# from the wire


class Ear:
    """Hears the outputs of a motor node, and what its diagnostics have counted."""

    def __init__(self, node: Node, motor_node: str) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from sensor_msgs.msg import JointState

        self._motor_node = motor_node
        self._states = _Polled(node, JointState, f'{motor_node.rpartition("/")[0]}/joint_states')
        self._diagnostics = _Polled(node, DiagnosticArray, '/diagnostics')
        self.values: dict[str, int] = {}
        """The newest diagnostics' whole numbers by key."""
        self.told = 0
        """How often diagnostics have come."""
        self.states = self.wrong = self.back = self.last_ns = 0
        self._heard = time.monotonic()

    @property
    def silent(self) -> float:
        """Return how long no diagnostics have come [s]."""
        return time.monotonic() - self._heard

    def listen(self) -> None:
        """Take what has come."""
        for state in self._states.taken():
            stamp = messages.stamp_of(state.header)
            numbers = (*state.position, *state.velocity, *state.effort)
            # A stamp that comes again is wrong; one that goes back begins another epoch.
            self.wrong += not all(map(isfinite, numbers)) or stamp == self.last_ns
            self.back += stamp < self.last_ns
            self.states, self.last_ns = self.states + 1, stamp
        for array in self._diagnostics.taken():
            ours = [x for x in array.status if x.hardware_id == self._motor_node]
            pairs = [pair for status in ours for pair in status.values]
            if pairs:
                self.told += 1
                self._heard = time.monotonic()
                self.values = {x.key: int(x.value) for x in pairs if x.value.isdecimal()}

    def wait(self, times: int, seconds: float, stop: Callable[[], bool]) -> bool:
        """Listen until diagnostics have come so often more; False when they do not."""
        until, end = self.told + times, time.monotonic() + seconds
        while self.told < until and time.monotonic() < end and not stop():
            time.sleep(0.01)
            self.listen()
        return self.told >= until


def count(values: Mapping[str, int], key: Key) -> int:
    """Return what diagnostics have counted under an (input, reason) of the ledger."""
    name, reason = key
    if key in (JUMP, GAP):
        return values.get(reason, 0)
    reasons = ('late', 'old') if reason == LATE else (reason,)
    return sum(values.get(f'{name} {one}', 0) for one in reasons)


class _Polled:
    """A subscription that is looked at now and then; nothing has to be spun for it."""

    def __init__(self, node: Node, kind: type, name: str) -> None:
        from rclpy.qos import QoSProfile

        self._kind = kind
        self._subscription = node.create_subscription(
            kind, name, lambda _: None, QoSProfile(depth=1000)
        )

    def taken(self) -> Iterator[Any]:
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(self._kind, False)) is not None:
                yield taken[0]


def settings_of(node: Node, motor_node: str, seconds: float, stop: Callable[[], bool]) -> Settings:
    """Return the settings by which a running motor node reads its inputs."""
    import rclpy
    from rclpy.parameter import parameter_value_to_python
    from rclpy.parameter_client import AsyncParameterClient

    names = ['use_sim_time', *(parameter.name for parameter in NODE)]
    client = AsyncParameterClient(node, motor_node)
    answer, end = None, time.monotonic() + seconds
    while not client.services_are_ready() and time.monotonic() < end and not stop():
        time.sleep(0.02)
    if client.services_are_ready():
        future = client.get_parameters(names)
        rclpy.spin_until_future_complete(node, future, timeout_sec=seconds)
        answer = future.result()
    if answer is None:
        raise PlayError(
            f'no node {motor_node} answers. Start one: '
            'python -m mime_motor_ros.main --ros-args -p use_sim_time:=true'
        )
    values = dict(zip(names, map(parameter_value_to_python, answer.values), strict=False))
    if not values.get('motors'):
        raise PlayError(f'{motor_node} is no motor node. Name yours with --node.')
    if not values.pop('use_sim_time'):
        raise PlayError(f'{motor_node} must run with use_sim_time:=true, to see the clock jump.')
    chosen = settings({name: value for name, value in values.items() if value is not None})
    if {chosen.rate_source, chosen.pose_source} & {'twist', 'odometry'}:
        raise PlayError(
            f'rate_source and pose_source of {motor_node} must be of imu, tf and zero, '
            f'got {chosen.rate_source} and {chosen.pose_source}.'
        )
    return chosen


# what is played


def recorded(recording: Recording, imu_topic: str, seconds: float) -> Iterator[Received]:
    """Return what a motor node reads of a recording: its transforms and one IMU."""
    from mime_motor_ros.offline.recording import IMU, TF

    end_ns = recording.start_ns + seconds * NANOSECONDS
    for record in recording.records():
        if record.received_ns > end_ns:
            break
        if record.type == TF:
            for item in messages.transforms(record.message, record.topic.endswith('tf_static')):
                yield Received(record.received_ns, item)
        elif record.type == IMU and record.topic == imu_topic:
            yield Received(record.received_ns, messages.imu(record.message))


def stream(chosen: Settings, options: argparse.Namespace) -> Iterator[Received]:
    """Return what would be received if there were no faults."""
    recording = options.bag
    if recording is None:
        # The time of now, so that a second rehearsal is not behind the first.
        return demo(chosen, options.seconds, int(time.time()) * NANOSECONDS)
    seconds = min(options.seconds, recording.seconds)
    return merge(
        recorded(recording, options.imu_topic, seconds),
        told(chosen, seconds, recording.start_ns),
        key=lambda received: received.received_ns,
    )


# what is said


class Row(NamedTuple):
    """One line of the table."""

    name: str
    reason: str
    faults: str
    expected: int
    counted: int

    @property
    def is_found(self) -> bool:
        """Tell whether the node has counted all: more is no fault of its, inputs are late too."""
        return self.counted >= self.expected


def rows(ledger: Ledger, before: Mapping[str, int], after: Mapping[str, int]) -> list[Row]:
    """Return what was to be counted and what was, by the diagnostics before and after."""
    made = []
    for key, expected in sorted(ledger.due().items()):
        faults = {x[2]: n for x, n in sorted(ledger.expected.items()) if x[:2] == key}
        made.append(Row(*key, _listed(faults), expected, count(after, key) - count(before, key)))
    return made


def _listed(counts: Mapping[str, int]) -> str:
    return ', '.join(f'{name} {count}' for name, count in counts.items())


def table(ledger: Ledger, found: Sequence[Row]) -> str:
    """Return the ledger in words: what was injected, then what was counted for it."""
    injected: Counter[str] = Counter()
    for (kind, _), count in ledger.injected.items():
        injected[kind] += count
    silent = set(injected) - {kind for _, _, kind in ledger.expected}
    lines = [f'injected {injected.total()} faults: {_listed(dict(injected.most_common()))}', '']
    head = ('input', 'counted as', 'faults', 'expected', 'counted', '')
    body = [
        (
            row.name,
            row.reason,
            row.faults,
            str(row.expected),
            str(row.counted),
            'found' if row.is_found else 'MISSING',
        )
        for row in found
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines += [
        '  '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (head, *body)
    ]
    if silent:
        lines += ['', f'leave no trace, as they should: {", ".join(sorted(silent))}']
    return '\n'.join(lines)


def verdict(ear: Ear, jumps: int, end_ns: int) -> list[str]:
    """Return what is wrong with the outputs that were heard, of inputs until ``end_ns``."""
    wrong = []
    if ear.wrong:
        wrong.append(f'{ear.wrong} joint states are not finite, or of the stamp of the one before')
    if ear.back > jumps:
        wrong.append(f'stamps went back {ear.back} times, the clock {jumps} times')
    if ear.last_ns < end_ns - NANOSECONDS:
        wrong.append('there were no steps any more at the end')
    return wrong


# the command


class _Parser(argparse.ArgumentParser):
    def error(self, text: str) -> NoReturn:
        """Say what is wrong in one line; argparse would print all the options too."""
        self.exit(2, f'chaos: {text.rstrip(".")}. See --help.\n')


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    widest = max(map(len, KINDS))
    options = _Parser(
        prog='chaos.py',
        description=(
            'Play inputs with faults in them into a running motor node, from a seed, and say '
            'whether its diagnostics have counted each of them.'
        ),
        epilog='\n'.join(
            [
                'faults:',
                *(f'  {name:{widest}}  {kind.text}' for name, kind in KINDS.items()),
                '',
                'The node must run with use_sim_time:=true; its frames, settle and motors are',
                'asked for. With a recording it has to be given its frames, as to play it.',
                'Never in the graph of a robot that runs: /clock, /tf and torques are published.',
                'ROS arguments go behind --ros-args. Exit code 0: all was found, 1: not.',
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def add(name: str, text: str, **more: Any) -> None:
        options.add_argument(name, help=text, **more)

    add(
        '--seed',
        'the same seed does the same faults (1)',
        type=whole(),
        default=1,
    )
    add('--bag', 'play this rosbag2 folder; else a mount tumbles', metavar='RECORDING')
    add('--imu-topic', 'IMU topic of the recording (its first)', default='')
    add(
        '--seconds',
        f'so much of the inputs [s] ({SECONDS:g})',
        type=number('> 0', lambda x: 0.0 < x < inf),
        default=SECONDS,
    )
    add(
        '--speed',
        'times real time (4)',
        type=number(f'>= {SLOWEST:g}', lambda x: SLOWEST <= x < inf),
        default=4.0,
    )
    add(
        '--rate-of-faults',
        'faults wanted in a second of the inputs (20)',
        type=number('>= 0', lambda x: 0.0 <= x < inf),
        default=20.0,
        metavar='RATE',
    )
    add(
        '--only', 'only these faults (all)', type=_names(KINDS), default=[*KINDS], metavar='FAULTS'
    )
    add(
        '--inputs',
        f'only to these inputs ({",".join(INPUTS)})',
        type=_names(INPUTS),
        default=[*INPUTS],
    )
    add(
        '--blind',
        'how long the node may be away from its inputs on a busy machine [s] (0.25)',
        type=number('>= 0', lambda x: 0.0 <= x < inf),
        default=0.25,
        metavar='SECONDS',
    )
    add('--node', 'name of the motor node (/motor)', default='/motor', type=_full_name)
    add(
        '--wait',
        'how long to wait for the node [s] (10)',
        type=number('>= 0', lambda x: 0.0 <= x < inf),
        default=10.0,
        metavar='SECONDS',
    )
    return options


def _names(known: Mapping[str, Any]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(',')]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f'must be of {", ".join(known)}, got {name!r}')
        return names

    return read


def _full_name(text: str) -> str:
    return '/' + text.strip('/')


def _open(options: argparse.Namespace) -> None:
    """Put the recording in place of its path, and its IMU in place of none."""
    if options.bag is None:
        return
    try:
        from mime_motor_ros.offline.recording import guess_frames, Recording
    except ImportError as error:
        raise PlayError(f'a recording needs the package rosbags ({error}).') from None
    options.bag = Recording(Path(options.bag))
    options.imu_topic = guess_frames(options.bag, options.imu_topic).imu_topic


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    stop = Stop().catch_signals()
    own, of_ros = split(args)
    options = parser().parse_args(own)
    try:
        _open(options)
    except MotorError as error:
        print(f'chaos: {error}', file=sys.stderr)
        return 2

    from mime_motor_ros.starting import initialise, REFUSED
    import rclpy

    try:
        initialise(of_ros)
    except REFUSED as error:
        print(f'chaos: {plain_line(error)}', file=sys.stderr)
        return 2
    node = rclpy.create_node('chaos')
    try:
        return _run(node, options, stop)
    except REFUSED as error:
        print(f'chaos: {plain_line(error)}', file=sys.stderr)
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _run(node: Node, options: argparse.Namespace, stop: Stop) -> int:
    def is_asked() -> bool:
        return stop.asked

    chosen = settings_of(node, options.node, options.wait, is_asked)
    mouth, ear = Mouth(node, options.node, chosen), Ear(node, options.node)
    _meet(mouth, ear, options, is_asked)
    if options.bag is not None:
        _hint(options, chosen)
    chaos = Chaos(
        chosen,
        options.seed,
        only=options.only,
        inputs=options.inputs,
        rate=options.rate_of_faults,
        blind=options.blind * options.speed,
    )
    before, now_ns, pace = ear.values, 0, Pace(options.speed, slips=True)
    for event in chaos.events(instants(stream(chosen, options), chaos.tail)):
        if not pace.wait(event.at_ns, is_asked):
            break
        mouth.refuse_others()
        mouth.say(event.items)
        mouth.show(event.now_ns)
        ear.listen()
        if ear.silent > SILENT:
            raise PlayError(
                f'{options.node} has said nothing for {ear.silent:.0f} s: it has ended, or hangs.'
            )
        now_ns = event.now_ns
    ear.wait(2, 5.0, is_asked)  # the first that come may have been on their way
    if stop:
        print(f'stopped after {chaos.ledger.injected.total()} faults, before they were looked for')
        return 1

    found = rows(chaos.ledger, before, ear.values)
    jumps = sum(row.counted for row in found if row[:2] == JUMP)
    wrong = verdict(ear, jumps, now_ns - round(chaos.tail * NANOSECONDS))
    wrong += [f'{row.name} {row.reason}: not found' for row in found if not row.is_found]
    print(table(chaos.ledger, found))
    print('\nMore may be counted than expected: one fault can spoil what comes behind it.')
    print(
        f'\nseed {options.seed}: {ear.states} joint states heard, an event came '
        f'{pace.behind_ns * 1e-6:.0f} ms late at the most'
    )
    print('; '.join(wrong) or 'all found, all numbers finite, stamps in order')
    return 1 if wrong else 0


def _hint(options: argparse.Namespace, chosen: Settings) -> None:
    """Say it where the recording's mount is not that of the node, which then makes no steps."""
    from mime_motor_ros.offline.recording import guess_frames

    frames = guess_frames(options.bag, options.imu_topic)
    if (frames.world, frames.mount) != (chosen.world_frame, chosen.mount_frame):
        print(
            f'chaos: the mount of the recording seems to be {frames.mount!r} in {frames.world!r}; '
            f'that of the node is {chosen.mount_frame!r} in {chosen.world_frame!r}. Start the '
            f'node with -p world_frame:={frames.world} -p mount_frame:={frames.mount}',
            file=sys.stderr,
        )


def _meet(
    mouth: Mouth, ear: Ear, options: argparse.Namespace, is_asked: Callable[[], bool]
) -> None:
    """Wait until the node hears and is heard."""
    for name in wait_for_readers(mouth.publishers, options.wait, is_asked):
        print(f'chaos: nobody reads {name}', file=sys.stderr)
    if not (ear.wait(1, max(2.0, options.wait), is_asked) or is_asked()):
        raise PlayError(f'no diagnostics of {options.node} come, so nothing can be found in them.')


if __name__ == '__main__':
    leave(main)
