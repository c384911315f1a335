"""
Recordings that are not whole, cut short, damaged or without their metadata: what is there is read.

A recorder that was killed leaves files without an index, and a folder without metadata.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, ExitStack
from functools import partial
import heapq
from operator import itemgetter
from pathlib import Path
import re
import sqlite3
from typing import Any, NamedTuple

from rosbags.highlevel import AnyReader
from rosbags.typesys import get_types_from_idl, get_types_from_msg, get_typestore, Stores

from .recording import Recording, RecordingError

SUFFIXES = ('.mcap', '.db3')
REMEDY = {
    '.mcap': 'Copy it again, or mend it with: mcap recover',
    '.db3': 'Copy it again, or mend it with: sqlite3 FILE .recover',
}
NOTHING: Any = type('Nothing', (), {'offered_qos_profiles': ()})()
Read = tuple[Any, int, bytes]
AHEAD = 65536
"""Rows of a database that are looked ahead: some 20 MB of an IMU."""


class Connection(NamedTuple):
    """A topic, as far as it is known from a file that is not whole."""

    topic: str
    msgtype: str
    msgcount: int = 0
    ext: Any = NOTHING


class Cut:
    """
    A file that is read from its beginning, as far as it goes.

    It has of rosbags' reader what a `Recording` uses. ``read`` gives topic, type, time and bytes
    of each message; it raises where the file ends or is spoilt.
    """

    def __init__(self, path: Path, said: Callable[[str], None]) -> None:
        self.path, self._said = path, said
        self.typestore = get_typestore(Stores.ROS2_JAZZY)
        self._where = ''
        counts: dict[tuple[str, str], int] = {}
        times: list[int] = []
        for topic, kind, time_ns, _ in self._messages():
            counts[topic, kind] = counts.get((topic, kind), 0) + 1
            times = [min([time_ns, *times[:1]]), max([time_ns, *times[1:]])]
        self.connections = [Connection(*key, count) for key, count in counts.items()]
        self.message_count = sum(counts.values())
        self.start_time, end = times[0] if times else 0, times[-1] if times else 0
        self.end_time = end + 1
        seconds = (end - self.start_time) * 1e-9
        said(
            f'{path} is cut short or damaged{self._where}: the {self.message_count} messages '
            f'before that, {seconds:.3f} s, are used. '
            f'{REMEDY[path.suffix].replace("FILE", str(path))}.'
        )

    def messages(self, chosen: Sequence[Connection]) -> Iterator[Read]:
        """Give the messages of some topics in order of receipt."""
        wanted = {(one.topic, one.msgtype): one for one in chosen}
        for topic, kind, time_ns, data in self._messages():
            if (topic, kind) in wanted:
                yield wanted[topic, kind], time_ns, data

    def _messages(self) -> Iterator[tuple[str, str, int, bytes]]:
        try:
            yield from self.read()
        except OSError as error:
            raise RecordingError(f'{self.path} cannot be read: {error.strerror}.') from None
        except (GeneratorExit, RecordingError):
            raise
        except Exception:  # whatever a decompressor or database makes of what is spoilt
            return

    def read(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Give what can be read."""
        raise NotImplementedError

    def know(self, kind: str, text: str, encoding: str) -> None:
        """Learn a type from its definition in the file; one that cannot be read stays unknown."""
        try:
            if encoding == 'ros2msg':
                types = get_types_from_msg(text, kind)
            else:
                parts = re.split(r'=+\nIDL: .*\n', text)
                types = {
                    k: v for part in parts if part for k, v in get_types_from_idl(part).items()
                }
            known = self.typestore.fielddefs
            self.typestore.register({k: v for k, v in types.items() if k not in known})
        except Exception:
            return


class CutMcap(Cut):
    """An MCAP file without its end."""

    def read(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Give what can be read: whole chunks, those that overlap in order of their times."""
        from mcap.records import Channel, Chunk, Message, Schema
        from mcap.stream_reader import breakup_chunk, StreamReader

        schemas: dict[int, Any] = {}
        channels: dict[int, Any] = {}
        waiting: list[tuple[int, int, Any]] = []
        number = at = 0
        size = self.path.stat().st_size
        with open(self.path, 'rb') as file:
            try:
                for record in StreamReader(file, emit_chunks=True).records:
                    before_ns = None
                    parts = [record]
                    if isinstance(record, Chunk):
                        parts = breakup_chunk(record, validate_crc=True)
                        before_ns = record.message_start_time
                    for part in parts:
                        if isinstance(part, Schema):
                            schemas[part.id] = part
                            self.know(part.name, part.data.decode(), part.encoding)
                        elif isinstance(part, Channel):
                            channels[part.id] = part
                        elif isinstance(part, Message):
                            heapq.heappush(waiting, (part.log_time, number, part))
                            number += 1
                            before_ns = part.log_time if before_ns is None else before_ns
                    at = file.tell()
                    while waiting and before_ns is not None and waiting[0][0] < before_ns:
                        yield self._message(heapq.heappop(waiting)[2], schemas, channels)
            except (GeneratorExit, OSError):
                raise
            except Exception:  # however a cut file ends; what was whole before is used
                pass
        self._where = f' behind byte {at} of {size}'
        while waiting:
            yield self._message(heapq.heappop(waiting)[2], schemas, channels)

    def _message(self, part: Any, schemas: Any, channels: Any) -> tuple[str, str, int, bytes]:
        channel = channels[part.channel_id]
        schema = schemas.get(channel.schema_id)
        return channel.topic, schema.name if schema else '', part.log_time, part.data


class CutDb3(Cut):
    """An SQLite file that is not whole."""

    def read(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Give what can be read; it is written in about the order of receipt, but not quite."""
        yield from _sorted(self._rows())

    def _rows(self) -> Iterator[tuple[str, str, int, bytes]]:
        with closing(sqlite3.connect(f'file:{self.path}?immutable=1', uri=True)) as base:
            base.execute('PRAGMA writable_schema=ON')  # or one shorter than it says is refused
            topics = {x: (name, kind) for x, name, kind in base.execute(
                'SELECT id, name, type FROM topics')}  # fmt: skip
            for topic, time_ns, data in base.execute(
                'SELECT topic_id, timestamp, data FROM messages NOT INDEXED'
            ):
                if topic not in topics:
                    return  # the row is spoilt
                yield *topics[topic], time_ns, data


def _sorted(
    rows: Iterator[tuple[str, str, int, bytes]],
) -> Iterator[tuple[str, str, int, bytes]]:
    """Give rows in order of their times, as far as none is more than AHEAD rows behind others."""
    waiting: list[tuple[int, int, tuple[str, str, int, bytes]]] = []
    try:
        for number, one in enumerate(rows):
            heapq.heappush(waiting, (one[2], number, one))
            if len(waiting) > AHEAD:
                yield heapq.heappop(waiting)[2]
    except sqlite3.Error:  # where it is cut; what was read before is used
        pass
    while waiting:
        yield heapq.heappop(waiting)[2]


class Pieces(Recording):
    """
    The storage files of a recording, each read on its own, in order of receipt.

    Parameters
    ----------
    path
        Folder or file.
    note
        What there is to say of that.

    """

    def __init__(self, path: Path, note: str = '') -> None:
        files = (
            sorted(x for x in path.iterdir() if x.suffix in SUFFIXES) if path.is_dir() else [path]
        )
        self._files_of = [file for file in files if file.is_file()]
        self._found: list[str] = []
        if not self._files_of:
            raise RecordingError(
                f'{path} is no rosbag2 folder: it has neither metadata.yaml nor .mcap or .db3 '
                'files. Give the folder that holds them.'
            )
        self._opened: dict[Path, Cut | None] = {
            file: self._judged(file) for file in self._files_of
        }
        super().__init__(path)
        self.cut = ' '.join(self._found)
        self.notes = [note] if note else []
        if not self.count:
            raise RecordingError(f'{path} holds no message that can be read. Copy it again.')

    def _judged(self, file: Path) -> Cut | None:
        """Return what reads a file from its beginning, None where it is whole."""
        try:
            Recording(file)
            return None
        except RecordingError:
            kind = CutMcap if file.suffix == '.mcap' else CutDb3
            return kind(file, self._found.append)

    def _check_path(self) -> None:
        """Do nothing: the files were looked at."""

    def _reader(self) -> AbstractContextManager[Any]:
        return _joined(self._opened)


class _Joined(NamedTuple):
    """Of rosbags' reader what a `Recording` uses."""

    connections: list[Any]
    typestore: Any
    message_count: int
    start_time: int
    end_time: int
    messages: Callable[[Sequence[Any]], Iterator[Read]]


@contextmanager
def _joined(opened: dict[Path, Cut | None]) -> Iterator[_Joined]:
    """Open all files."""
    default = get_typestore(Stores.ROS2_JAZZY)
    types = get_typestore(Stores.ROS2_JAZZY)
    with ExitStack() as stack:
        readers: list[Any] = [
            stack.enter_context(AnyReader([path], default_typestore=default))
            if cut is None
            else cut
            for path, cut in opened.items()
        ]
        for reader in readers:
            new = {k: v for k, v in reader.typestore.fielddefs.items() if k not in types.fielddefs}
            types.register(new)

        def messages(chosen: Sequence[Any]) -> Iterator[Read]:
            streams = []
            for reader in readers:
                own = [x for x in reader.connections if any(x is one for one in chosen)]
                if own:
                    streams.append(partial(reader.messages, own)())
            yield from heapq.merge(*streams, key=itemgetter(1))

        full = [reader for reader in readers if reader.message_count]
        yield _Joined(
            [x for reader in readers for x in reader.connections],
            types,
            sum(reader.message_count for reader in readers),
            min((reader.start_time for reader in full), default=0),
            max((reader.end_time for reader in full), default=0),
            messages,
        )


def readable(path: str | Path) -> Recording:
    """
    Return a recording, whole or not.

    Its ``cut`` says where an unreadable rest begins, its ``notes`` what else there is to say.

    Raises
    ------
    RecordingError
        If nothing of it can be read.

    """
    made = _readable(Path(path))
    for file in [*Path(path).iterdir()] if Path(path).is_dir() else [Path(path)]:
        log = file.with_name(f'{file.name}-wal')
        if file.suffix == '.db3' and log.is_file() and log.stat().st_size:
            made.notes.append(
                f'{log} is not read: its recorder was killed. Put it in, in a copy of both, with: '
                f"sqlite3 {file} 'PRAGMA wal_checkpoint'."
            )
    return made


def _readable(path: Path) -> Recording:
    if path.is_dir() and not (path / 'metadata.yaml').is_file():
        return Pieces(
            path,
            f'{path} has no metadata.yaml: its files are read as they are. ros2 bag reindex '
            'makes it anew.',
        )
    try:
        return Recording(path)
    except RecordingError:
        files = list(path.iterdir()) if path.is_dir() else [path]
        if not any(x.is_file() and x.suffix in SUFFIXES for x in files):
            raise
        return Pieces(path)
