"""
What a node has published, out of a rosbag2 recording: its messages of one stamp make one row.

What `motor_replay --out` writes and what `ros2 bag record` writes of a live node are read alike.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
import heapq
from math import isfinite, nan
from operator import attrgetter
import re
from typing import Any, NamedTuple

import numpy as np

from ...errors import FrameError
from ...frames import FrameTree
from ...messages import stamp_of, transforms
from ...model import Pose
from ...timeline import NANOSECONDS
from ...vector import normalized, rotate
from ..recording import Recording, RecordingError
from .source import arrays, Block, ReportError, Told

FLOAT = 'std_msgs/msg/Float64'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
VECTOR = 'geometry_msgs/msg/Vector3Stamped'
JOINTS = 'sensor_msgs/msg/JointState'
STATE = 'control_msgs/msg/DynamicJointState'
DIAGNOSTICS = 'diagnostic_msgs/msg/DiagnosticArray'
TF = 'tf2_msgs/msg/TFMessage'

APART_NS = 300_000_000
"""How much later than others of its stamp a message may come, and a transform of its time."""
MOST_ROWS = 20_000
MOST_WARNINGS = 32
NUMBER = re.compile(r'[0-9.]+')
JUMP_NS = 10 * NANOSECONDS
"""A stamp so far before the newest is of a clock that was set back."""
UNREADABLE = (ValueError, OverflowError, TypeError, IndexError, RecordingError)

QUANTITIES = {
    'effort': 'torque_n_m',
    'friction_torque': 'friction_torque_n_m',
    'mechanical_power': 'power_w',
    'limits': 'limits',
    'current': 'current_a',
    'voltage': 'voltage_v',
    'electrical_power': 'electrical_power_w',
    'temperature': 'temperature_deg_c',
}
LATENESS = {
    f'lateness {one} (ms)': f'diagnostics.lateness_{one}_ms' for one in ('p50', 'p99', 'max')
}
AUDIT = {
    'work in (J)': 'work_j',
    'dissipated (J)': 'dissipated_j',
    'stored (J)': 'stored_j',
    'residual (J)': 'residual_j',
}
REFUSING = ('mount pose', 'mount rate', 'command', 'time', 'transforms')


def _vector(name: str, unit: str) -> list[str]:
    return [f'{name}_{axis}_{unit}' for axis in 'xyz']


class Found(NamedTuple):
    """A node of which there is something in a recording."""

    node: str
    motors: tuple[str, ...]


def nodes(topics: dict[str, str]) -> list[Found]:
    """Return the nodes whose topics, with their types, are in a recording."""
    motors: dict[str, set[str]] = {}
    for name, kind in topics.items():
        node, _, last = name.rpartition('/')
        if (kind, last) in ((FLOAT, 'spin'), (STATE, 'motor_state')) and node.count('/') >= 2:
            node, _, motor = node.rpartition('/')
            motors.setdefault(node, set()).add(motor)
    for name, kind in topics.items():
        node, _, last = name.rpartition('/')
        inside = any(f'{other}/{m}' == node for other, ms in motors.items() for m in ms)
        if (kind, last) == (WRENCH, 'mount_wrench') and node and not inside:
            motors.setdefault(node, set())
    return [Found(node, tuple(sorted(found))) for node, found in sorted(motors.items())]


class Rows:
    """Numbers by stamp, until nothing more of a stamp will come."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._at = {name: i for i, name in enumerate(self.columns)}
        self._rows: dict[int, tuple[int, list[float]]] = {}
        self.newest = self._oldest = 0

    def index(self, name: str) -> int:
        """Return the place of a column."""
        return self._at[name]

    def put(self, stamp: int, received: int, first: int, numbers: Sequence[float]) -> None:
        """Put numbers into the row of a stamp, from one column on."""
        row = self._rows.get(stamp)
        if row is None:
            row = self._rows[stamp] = (received, [nan] * len(self.columns))
            self.newest = max(self.newest, stamp)
            self._oldest = min(self._oldest or stamp, stamp)
        row[1][first : first + len(numbers)] = numbers

    def is_back(self, stamp: int) -> bool:
        """Tell whether the clock was set back before a stamp."""
        return stamp < self.newest - JUMP_NS

    @property
    def are_due(self) -> bool:
        """Tell whether rows can be taken."""
        return self.newest - self._oldest > 3 * APART_NS or len(self._rows) > MOST_ROWS

    def taken(self, everything: bool = False) -> list[tuple[int, int, list[float]]]:
        """Take rows that are complete, in order of their stamps, and when they began to come."""
        due = [x for x in self._rows if everything or x <= self.newest - APART_NS]
        if len(self._rows) - len(due) > MOST_ROWS:
            due = sorted(self._rows)[: MOST_ROWS // 2]
        taken = [(stamp, *self._rows.pop(stamp)) for stamp in sorted(due)]
        self._oldest = min(self._rows, default=0)
        if everything:
            self.newest = 0
        return taken


class Bag:
    """
    The topics of one node in a recording; see `Source`.

    Parameters
    ----------
    recording
        What is read.
    node
        The full name of the node; '' where the recording has only one.
    mount
        Another recording, whose transforms are read too.
    world
        The frame in whose axes the momentum is wanted; '' is the root of the mount's frames.

    """

    def __init__(
        self,
        recording: Recording,
        node: str = '',
        mount: Recording | None = None,
        world: str = '',
    ) -> None:
        self._recording, self._mount, self._world = recording, mount, world.lstrip('/')
        self._types = {topic.name: topic.type for topic in recording.topics}
        self._counts: Counter[str] = Counter()
        for topic in recording.topics:
            self._counts[topic.name] += topic.count
        found = self._chosen(node)
        self.name, self.node, self.motors = recording.name, found.node, list(found.motors)
        self.parameters: dict[str, Any] = {}
        self.told = Told(notes=list(getattr(recording, 'notes', ())))
        self.what = f'recording, {recording.count} messages'
        self.share, self._seconds = 0.0, max(1e-9, recording.seconds)
        self._tree = FrameTree(most_samples=200_000)
        self._parents: dict[str, str] = {}
        self._mount_frame = ''
        self._statuses: list[Block] = []
        self._readers: dict[str, Callable[[Any], None]] = {}
        self._spin_of: dict[str, deque[Any]] = {}
        self._columns: list[str] = []
        self._plan()

    def _chosen(self, node: str) -> Found:
        found = nodes(self._types)
        path = self._recording.path
        if not found:
            raise ReportError(
                f'{path} has no topics of a motor node. To replay it into a report, give the '
                'parameters too: --params-file FILE.'
            )
        names = ', '.join(one.node for one in found)
        if node:
            wanted = '/' + node.strip('/')
            for one in found:
                if one.node == wanted:
                    return one
            raise ReportError(f'node must be one in {path} ({names}), got {node!r}.')
        if len(found) > 1:
            raise ReportError(f'{path} holds several nodes: {names}. Choose one with --node.')
        return found[0]

    # which topics are read, and how

    def _plan(self) -> None:
        node, columns = self.node, self._columns
        readers = self._readers

        def add(topic: str, kind: str, names: list[str], read: Any) -> None:
            if self._types.get(topic) == kind:
                first = len(columns)
                columns.extend(names)
                readers[topic] = partial(read, first)

        for wrench in ('reaction', 'mount_wrench'):
            names = _vector(f'{wrench}_force', 'n') + _vector(f'{wrench}_torque', 'n_m')
            add(f'{node}/{wrench}', WRENCH, names, self._wrench)
        momentum = _vector('momentum', 'n_m_s') + _vector('momentum_world', 'n_m_s')
        add(f'{node}/momentum', VECTOR, momentum, self._vector)
        self._joint_of: dict[str, str] = {}
        self._joints: dict[str, int] = {}  # first column
        for motor in self.motors:
            own = f'{node}/{motor}'
            self._joint_of[motor] = self._joint(own, motor)
            self._joints[self._joint_of[motor]] = len(columns)
            columns += [f'{motor}.{x}' for x in ('angle_rad', 'speed_rad_s', 'effort_n_m')]
            add(f'{own}/momentum', VECTOR, _vector(f'{motor}.momentum', 'n_m_s'), self._vector)
            state = [f'{motor}.{x}' for x in QUANTITIES.values()]
            add(f'{own}/motor_state', STATE, state, self._state)
            self._plan_spin(own, motor)
            if self._types.get(f'{own}/measured') == JOINTS:
                readers[f'{own}/measured'] = self._measured(motor)
        if topic := self._joint_topic():
            readers[topic] = self._joint_states
            self._sort_motors(topic)
        for name, kind in self._types.items():
            if kind == TF:
                readers[name] = partial(self._transforms, name.endswith('static'))
        if self._types.get('/diagnostics') == DIAGNOSTICS:
            readers['/diagnostics'] = self._diagnostics
        self.rows = Rows(columns)

    def _joint_topic(self) -> str:
        """Return the topic of joint_states: in the node's namespace, or the only one."""
        expected = f'{self.node.rpartition("/")[0]}/joint_states'
        others = [
            x for x, kind in self._types.items() if kind == JOINTS and not x.endswith('/measured')
        ]
        return expected if expected in others else others[0] if len(others) == 1 else ''

    def _sort_motors(self, topic: str) -> None:
        """Have the motors in the order of the node, which joint_states has."""
        message = self._first(topic)
        order = list(message.name) if message is not None else []
        joints = self._joint_of
        self.motors.sort(
            key=lambda m: order.index(joints[m]) if joints[m] in order else len(order)
        )

    def _first(self, topic: str) -> Any:
        """Return the first message of a topic, None where none can be read."""
        if not self._counts[topic]:
            return None
        try:
            return next(self._recording.records((topic,))).message
        except (*UNREADABLE, StopIteration):
            return None

    def _joint(self, own: str, motor: str) -> str:
        """Return the name of a motor's joint: what its own topics say, or the default."""
        for topic, kind in ((f'{own}/motor_state', STATE), (f'{own}/measured', JOINTS)):
            message = self._first(topic) if self._types.get(topic) == kind else None
            if message is not None:
                names = message.joint_names if kind == STATE else message.name
                if names:
                    return str(names[0])
        return f'{motor}_joint'

    def _plan_spin(self, own: str, motor: str) -> None:
        """
        Have the spin, whose messages have no stamp, take that of the n-th row of the motor.

        Where there are not as many of both it takes the newest stamp at its receipt. One of a
        recording that is cut short may be missing at its end.
        """
        if self._types.get(f'{own}/spin') != FLOAT:
            return
        first = len(self._columns)
        self._columns.append(f'{motor}.spin_rad_s')
        beside = (f'{own}/motor_state', f'{own}/momentum', f'{self.node}/mount_wrench')
        count, lost = self._counts[f'{own}/spin'], 1 if self._recording.cut else 0
        partner = next(
            (x for x in beside if x in self._readers and abs(self._counts[x] - count) <= lost), ''
        )
        if not partner:
            self.told.notes.append(
                f'{own}/spin has no stamps, and not as many messages as its motor has states: '
                'its times are those of receipt.'
            )
            self._readers[f'{own}/spin'] = lambda record: self.rows.put(
                self.rows.newest or record.received_ns,
                record.received_ns,
                first,
                (float(record.message.data),),
            )
            return
        stamps: deque[tuple[int, int]] = deque()
        spins: deque[float] = deque()

        def pair() -> None:
            while stamps and spins:
                stamp, received = stamps.popleft()
                self.rows.put(stamp, received, first, (spins.popleft(),))

        def spin(record: Any) -> None:
            spins.append(float(record.message.data))
            pair()

        read = self._readers[partner]

        def beside_it(record: Any) -> None:
            read(record)
            stamps.append((self._stamp, record.received_ns))
            pair()

        self._readers[f'{own}/spin'] = spin
        self._readers[partner] = beside_it

    # one message

    def _put(self, record: Any, header: Any, first: int, numbers: Sequence[float]) -> None:
        self._stamp = stamp_of(header)
        self.rows.put(self._stamp, record.received_ns, first, numbers)

    def _wrench(self, first: int, record: Any) -> None:
        message = record.message
        force, torque = message.wrench.force, message.wrench.torque
        numbers = (force.x, force.y, force.z, torque.x, torque.y, torque.z)
        self._put(record, message.header, first, numbers)
        self._mount_frame = message.header.frame_id.lstrip('/')

    def _vector(self, first: int, record: Any) -> None:
        message = record.message
        vector = message.vector
        self._put(record, message.header, first, (vector.x, vector.y, vector.z))
        self._mount_frame = message.header.frame_id.lstrip('/')

    def _state(self, first: int, record: Any) -> None:
        message = record.message
        values = message.interface_values[0]
        known = dict(zip(values.interface_names, values.values, strict=True))
        numbers = [float(known.get(name, nan)) for name in QUANTITIES]
        self._put(record, message.header, first, numbers)

    def _joint_states(self, record: Any) -> None:
        message = record.message
        for i, name in enumerate(message.name):
            first = self._joints.get(name)
            if first is not None:
                lists = (message.position, message.velocity, message.effort)
                numbers = [float(one[i]) if i < len(one) else nan for one in lists]
                self._put(record, message.header, first, numbers)

    def _measured(self, motor: str) -> Callable[[Any], None]:
        names = [f'{motor}.measured_{x}' for x in ('position_rad', 'speed_rad_s', 'torque_n_m')]

        def read(record: Any) -> None:
            message = record.message
            lists = (message.position, message.velocity, message.effort)
            columns = {
                name: np.array([float(one[0])])
                for name, one in zip(names, lists, strict=True)
                if len(one)
            }
            self._statuses.append(
                Block(np.array([stamp_of(message.header)]), columns, are_steps=False)
            )

        return read

    def _transforms(self, static: bool, record: Any) -> None:
        for one in transforms(record.message, static):
            parent, child = one.parent.lstrip('/'), one.child.lstrip('/')
            size = sum(x * x for x in one.orientation)
            usable = all(map(isfinite, (*one.position, *one.orientation)))
            if parent and child and parent != child and usable and abs(size - 1.0) < 2e-2:
                pose = Pose(one.position, normalized(one.orientation))
                self._tree.insert(max(0, one.stamp), parent, child, pose, static)
                self._parents[child] = parent

    def _diagnostics(self, record: Any) -> None:
        message = record.message
        stamp = stamp_of(message.header)
        told, columns = self.told, {}
        for status in message.status:
            if status.hardware_id != self.node:
                continue
            told.counts_refused = True
            name = status.name.partition(': ')[2]
            values = {one.key: one.value for one in status.values}
            told.figures[name] = values
            level = status.level if isinstance(status.level, int) else status.level[0]
            if level:
                # The same words with other numbers are one warning.
                key = f'{name}: {NUMBER.sub("#", status.message)}'
                if key in told.said or len(told.said) < MOST_WARNINGS:
                    first = (0, stamp, f'{name}: {status.message}')
                    count, since, text = told.said.get(key, first)
                    told.said[key] = (count + 1, since, text)
            for key, column in LATENESS.items():
                if name == 'stepping' and key in values:
                    columns[column] = np.array([float(values[key])])
            for key, column in AUDIT.items():
                if name in self.motors and key in values:
                    columns[f'diagnostics.{name}.{column}'] = np.array([float(values[key])])
            for key, value in values.items():
                is_count = ' ' in key and key != 'jumps back' and value.isdigit()
                if is_count and name in REFUSING:
                    told.refused[key] = int(value)
        if columns:
            self._statuses.append(Block(np.array([stamp]), columns, are_steps=False))

    # all of them

    def blocks(self) -> Iterator[Block]:
        """Read the rows, once."""
        rows, readers, unreadable = self.rows, self._readers, 0
        self._stamp = 0
        try:
            for record in self._records():
                try:
                    readers[record.topic](record)
                except UNREADABLE as error:
                    unreadable += 1
                    first = str(error).rstrip('.')
                    continue
                if self._stamp and rows.is_back(self._stamp):
                    back = self._stamp
                    yield from self._blocks(everything=True)
                    self._tree.clear()
                    rows.newest = back
                elif rows.are_due:
                    yield from self._blocks()
                if len(self._statuses) >= 4096:
                    yield from self._alone()
        except RecordingError as error:
            self.told.cut = str(error)
        self.told.cut = self.told.cut or self._recording.cut
        yield from self._blocks(everything=True)
        yield from self._alone()
        if unreadable:
            self.told.notes.append(f'{unreadable} messages cannot be read, as: {first}.')

    def _records(self) -> Iterator[Any]:
        records = self._recording.records(tuple(self._readers))
        if self._mount is None:
            return records
        topics = [topic.name for topic in self._mount.topics if topic.type == TF]
        if not topics:
            raise ReportError(f'{self._mount.path} has no transforms. Give one that has.')
        for name in topics:
            static = name.endswith('static')
            self._readers[name] = partial(self._transforms, static)
        beside = self._mount.records(tuple(topics))
        return heapq.merge(records, beside, key=attrgetter('received_ns'))

    def _blocks(self, everything: bool = False) -> Iterator[Block]:
        taken = self.rows.taken(everything)
        if not taken:
            return
        self.share = (taken[-1][1] - self._recording.start_ns) * 1e-9 / self._seconds
        self._turn_into_world(taken)
        stamps, received, rows = zip(*taken, strict=True)
        columns = arrays(self.rows.columns, list(rows))
        yield Block(np.array(stamps, np.int64), columns, np.array(received, np.int64))

    def _alone(self) -> Iterator[Block]:
        """Return what has times of its own, by the columns that come together."""
        together: dict[tuple[str, ...], list[Block]] = {}
        for block in self._statuses:
            together.setdefault(tuple(block.columns), []).append(block)
        self._statuses = []
        for names, blocks in together.items():
            stamps = np.concatenate([one.stamps for one in blocks])
            columns = {
                name: np.concatenate([one.columns[name] for one in blocks]) for name in names
            }
            yield Block(stamps, columns, are_steps=False)

    def _turn_into_world(self, taken: list[tuple[int, int, list[float]]]) -> None:
        """Put in the momentum in world axes: the pose is the newest of the step's time."""
        if f'{self.node}/momentum' not in self._readers:
            return
        world = self._world or self._root(self._mount_frame)
        if world == self._mount_frame:
            return
        first = self.rows.index('momentum_x_n_m_s')
        for stamp, _, row in taken:
            try:
                _, pose = self._tree.newest(world, self._mount_frame, stamp)
            except FrameError:
                continue
            x, y, z = row[first : first + 3]
            row[first + 3 : first + 6] = rotate(pose.orientation, (x, y, z))

    def _root(self, frame: str) -> str:
        seen = {frame}
        while (parent := self._parents.get(frame)) is not None and parent not in seen:
            frame = parent
            seen.add(frame)
        return frame

    @property
    def frames(self) -> tuple[str, str]:
        """Return the names of the world and of the mount."""
        return self._world or self._root(self._mount_frame), self._mount_frame
