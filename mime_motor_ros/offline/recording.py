"""
Read a rosbag2 folder (MCAP or SQLite) record by record, without ROS.

The message definitions stored in the file are used; where a file holds none, those of ROS 2
Jazzy. What is read is handed on as it is: nothing here knows what the messages mean, but for
`guess_frames`, which looks for the frames of a mount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.typesys import get_typestore, Stores

from ..errors import MotorError
from ..subscriptions import IMU, TF

__all__ = ['Frames', 'guess_frames', 'IMU', 'Record', 'Recording', 'RecordingError', 'TF', 'Topic']


class RecordingError(MotorError):
    """A recording cannot be read; the text says which, why and what to do."""


class Topic(NamedTuple):
    """One topic of a recording, with what its publisher had offered."""

    name: str
    type: str
    count: int  # type: ignore[assignment] # a tuple's own count is of no use here
    transient_local: bool
    best_effort: bool
    type_hash: str
    """The RIHS01 hash of the type, from the message definitions used; '' where it has none."""


@dataclass(frozen=True)
class Record:
    """One message as it was received, its bytes and, when asked for, its fields."""

    topic: str
    type: str
    received_ns: int
    data: bytes
    _decode: Callable[[bytes, str], Any] = field(repr=False, compare=False)

    @property
    def message(self) -> Any:
        """Return the message, decoded anew at each call; its attributes are named as in ROS."""
        try:
            return self._decode(self.data, self.type)
        except Exception as error:
            # The decoder unpacks whatever bytes it is given and fails in many ways.
            raise RecordingError(
                f'the message on {self.topic} received at {self.received_ns} ns '
                f'is no {self.type}: {error}.'
            ) from None


class Frames(NamedTuple):
    """The frames of a recording in which a motor would ride on what carries the IMU."""

    world: str
    mount: str
    imu: str
    imu_topic: str


class Recording:
    """
    A rosbag2 folder, or one MCAP file of it.

    The folder is opened at each reading, so that one object can be read several times.

    Raises
    ------
    RecordingError
        If there is no such folder, it is no recording, or its index cannot be read.

    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.cut = ''
        """Where an unreadable rest begins, in one line."""
        self.notes: list[str] = []
        """What else there is to say of it, one line each."""
        with self._open() as reader:
            # One that is split into several files may name a topic in each.
            topics: dict[str, Topic] = {}
            for one in reader.connections:
                topic = _topic(one, reader.typestore)
                known = topics.get(topic.name, topic._replace(count=0))
                topics[topic.name] = known._replace(count=known.count + topic.count)
            self.topics = tuple(topics.values())
            self.count = reader.message_count
            self.start_ns = reader.start_time if self.count else 0
            # The reader counts its end as the first nanosecond after the last message.
            self.end_ns = reader.end_time - 1 if self.count else 0

    @property
    def name(self) -> str:
        """Return the name of the folder."""
        return self.path.resolve().name

    @property
    def seconds(self) -> float:
        """Return the time between the receipt of the first and of the last message [s]."""
        return (self.end_ns - self.start_ns) * 1e-9

    def check(self, topic: str) -> None:
        """Raise RecordingError where a topic is not in the recording."""
        known = [one.name for one in self.topics]
        if topic not in known:
            has = f'it has {", ".join(known)}' if known else 'it is empty'
            raise RecordingError(f'{self.path} has no topic {topic}; {has}.')

    def records(self, topics: tuple[str, ...] = ()) -> Iterator[Record]:
        """
        Read the records in order of receipt; those of one instant in the order of the file.

        Parameters
        ----------
        topics
            Names of the topics to read; none means all.

        """
        for name in topics:
            self.check(name)
        with self._open() as reader:
            chosen = [x for x in reader.connections if not topics or x.topic in topics]
            # Taken here: the reader forgets its types when it closes, a record may live longer.
            decode = reader.typestore.deserialize_cdr
            for connection, received_ns, data in reader.messages(chosen):
                yield Record(
                    connection.topic, connection.msgtype, received_ns, bytes(data), decode
                )

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Open the reader; turn whatever it or its decompressor raises into one clear line."""
        self._check_path()
        try:
            with self._reader() as reader:
                yield reader
        except (GeneratorExit, MotorError):
            raise
        except OSError as error:
            raise RecordingError(
                f'{self.path} cannot be read: {error.strerror or error}.'
            ) from None
        except Exception as error:
            # A cut or overwritten file makes the reader fail anywhere: in an index, a checksum,
            # a decompressor, an assertion. The user can only do one thing about any of them.
            reason = ' '.join(str(error).split()).rstrip('.') or type(error).__name__
            raise RecordingError(
                f'{self.path} is damaged or cut short: {reason}. Copy it again from its source.'
            ) from None

    def _reader(self) -> AbstractContextManager[Any]:
        """Return what reads it: a reader of rosbags, or its like."""
        default = get_typestore(Stores.ROS2_JAZZY)
        return AnyReader([self.path], default_typestore=default)

    def _files(self) -> list[Path]:
        return [self.path, *(self.path.iterdir() if self.path.is_dir() else ())]

    def _check_path(self) -> None:
        """Refuse what is no recording, in words."""
        if not self.path.exists():
            raise RecordingError(f'{self.path} does not exist. Give the folder of a recording.')
        if self.path.is_dir() and not (self.path / 'metadata.yaml').is_file():
            raise RecordingError(
                f'{self.path} has no metadata.yaml, so it is no rosbag2 folder. '
                'Give the folder that holds it, or make it anew with: ros2 bag reindex.'
            )
        if odd := next((x for x in self._files() if x.exists() and not _is_plain(x)), None):
            raise RecordingError(f'{odd} is neither a file nor a folder. Copy the recording anew.')
        if self.path.is_file() and self.path.suffix not in ('.mcap', '.db3'):
            raise RecordingError(f'{self.path} is no recording. Give a rosbag2 folder.')


def _is_plain(path: Path) -> bool:
    """Tell whether a path can be opened without waiting for somebody at its other end."""
    return path.is_file() or path.is_dir()


def check_separator(path: Path, header: Sequence[str], hint: str = '') -> None:
    """Raise RecordingError where the columns of a CSV are separated by anything but commas."""
    if len(header) == 1 and (other := next((x for x in ';\t' if x in header[0]), '')):
        text = f'{path}, line 1: columns must be separated by commas, got {other!r}. {hint}'
        raise RecordingError(text.strip())


def guess_frames(recording: Recording, imu_topic: str = '') -> Frames:
    """
    Find the frames of a recording: what carries the IMU, and the world it moves in.

    From the IMU's frame upwards through static transforms to the first frame that a moving
    transform carries: the mount. From there upwards to the root: the world. Only the first
    records are looked at, as many as it takes for every transform to have come once.

    Raises
    ------
    RecordingError
        If the recording has no IMU, or no moving transform leads to it.

    """
    imu_topics = [topic.name for topic in recording.topics if topic.type == IMU and topic.count]
    imu_topic = imu_topic or (imu_topics[0] if imu_topics else '')
    if imu_topic not in imu_topics:
        known = ', '.join(imu_topics) or 'none'
        wanted = imu_topic or 'of type sensor_msgs/Imu'
        raise RecordingError(f'{recording.path} has no topic {wanted}; its IMU topics: {known}.')

    moving, static, imu = _edges(recording, imu_topic)
    mount = imu
    while mount not in moving and mount in static:
        mount = static[mount]
    if mount not in moving:
        raise RecordingError(
            f'{recording.path} has no moving transform that leads to the IMU frame {imu!r}. '
            'Name the frames by hand.'
        )
    world, seen = mount, {mount}
    parents = {**static, **moving}
    while world in parents and parents[world] not in seen:
        world = parents[world]
        seen.add(world)
    return Frames(world, mount, imu, imu_topic)


def _edges(recording: Recording, imu_topic: str) -> tuple[dict[str, str], dict[str, str], str]:
    """Return child -> parent of the moving and the static transforms, and the IMU's frame."""
    moving: dict[str, str] = {}
    static: dict[str, str] = {}
    imu = ''
    transforms = tuple(topic.name for topic in recording.topics if topic.type == TF)
    # 2000 records: some seconds of any recording, many times the slowest transform's period.
    for record in islice(recording.records((imu_topic, *transforms)), 2000):
        try:
            message = record.message
        except RecordingError:
            continue  # a damaged one, which counts as refused when it is replayed
        if record.topic == imu_topic:
            imu = imu or message.header.frame_id.lstrip('/')
            continue
        edges = static if record.topic.endswith('static') else moving
        for transform in message.transforms:
            parent = transform.header.frame_id.lstrip('/')
            edges[transform.child_frame_id.lstrip('/')] = parent
    return moving, static, imu


def _topic(connection: Any, types: Any) -> Topic:
    """Return a connection of the reader as our Topic."""
    offered = connection.ext.offered_qos_profiles
    return Topic(
        connection.topic,
        connection.msgtype,
        connection.msgcount,
        any(qos.durability == QosDurability.TRANSIENT_LOCAL for qos in offered),
        any(qos.reliability == QosReliability.BEST_EFFORT for qos in offered),
        types.hash_rihs01(connection.msgtype) if connection.msgtype in types.fielddefs else '',
    )
