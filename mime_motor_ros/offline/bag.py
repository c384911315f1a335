"""All that a node would have published, as a rosbag2 folder: MCAP storage, zstd chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import (
    Nodetype,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from ..errors import shortened
from ..outputs import Outputs
from ..session import Outcome, Session
from ..statuses import OK, Status, Statuses
from ..subscriptions import subscriptions
from ..timeline import NANOSECONDS
from .log import Log
from .replaying import Replay

CONTROL_MSGS = {  # which is no part of the core of ROS
    'control_msgs/msg/InterfaceValue': 'string[] interface_names\nfloat64[] values\n',
    'control_msgs/msg/DynamicJointState': 'std_msgs/Header header\nstring[] joint_names\n'
    'control_msgs/InterfaceValue[] interface_values\n',
}
FOR_EVER = QosTime(9223372036, 854775807)  # as rosbag2 writes it


def _offered(depth: int, durability: QosDurability = QosDurability.VOLATILE) -> list[Qos]:
    """Return the quality of service that the node offers."""
    reliable, automatic = QosReliability.RELIABLE, QosLiveliness.AUTOMATIC
    times = (FOR_EVER, FOR_EVER)
    return [
        Qos(QosHistory.KEEP_LAST, depth, reliable, durability, *times, automatic, FOR_EVER, False)
    ]


class Types:
    """The message types of ROS 2 Jazzy and of control_msgs."""

    def __init__(self) -> None:
        self.store = get_typestore(Stores.ROS2_JAZZY)
        for name, text in CONTROL_MSGS.items():
            self.store.register(get_types_from_msg(text, name))

    def serialize(self, kind: str, fields: Mapping[str, Any]) -> bytes:
        """Return a message as bytes; fields that are not given are zero or empty."""
        return bytes(self.store.serialize_cdr(self._made(kind, fields), kind))

    def _made(self, kind: str, fields: Mapping[str, Any]) -> Any:
        _, defined = self.store.fielddefs[kind]
        values = {name: self._value(of, fields.get(name)) for name, of in defined}
        return self.store.types[kind](**values)

    def _value(self, of: Any, given: Any) -> Any:
        node, arg = of
        if node == Nodetype.NAME:
            return self._made(arg, given or {})
        if node == Nodetype.BASE:
            return given if given is not None else '' if arg[0] == 'string' else 0
        (inner, name), size = arg
        if inner == Nodetype.NAME:
            return [self._made(name, one) for one in given or []]
        if name[0] == 'string':
            return list(given or [])
        return np.array(given or [0] * size, dtype=name[0])


class Recorded(Statuses):
    """What there is to say of a session that a recording feeds."""

    def __init__(self, made: Replay) -> None:
        topics: dict[str, list[str]] = {}
        is_log = isinstance(made.recording, Log)
        self._read = {made.recording.name} if is_log else set(made.topics)
        if not is_log:  # one may be read in place of another
            for name, source in made.topics.items():
                topics.setdefault(source, []).append(name)
        for one in subscriptions(made.settings):
            name = made.recording.name if is_log else made.names.full(one.topic)
            topics.setdefault(one.source, [name])
        super().__init__(made.session, made.received_by, topics)
        self._made = made
        self._before_ns = 0

    def fitting(self, topic: str) -> Sequence[str]:
        """Return whether the recording has a topic."""
        return ('the recording',) if topic in self._read else ()

    def no_sender(self, topic: str, strangers: bool) -> str:
        """Say that a topic was not recorded."""
        return f'{topic} is not in the recording'

    def silence(self, senders: Sequence[str]) -> str:
        """Say that nothing was recorded for a while."""
        return 'nothing more is recorded'

    def all(self, now_ns: int) -> list[Status]:
        """Return all that does not hang on a process."""
        session = self.session
        before_ns = self._before_ns or self._made.first_ns
        self.look(max(1, now_ns - before_ns) / NANOSECONDS)
        self._before_ns = now_ns
        values = {'source': 'recording', 'jumps back': session.jumps, 'gaps': session.gaps}
        return [
            *self.of_inputs(),
            Status('time', OK, 'follows the recording', values),
            self.of_transforms(),
            *self.of_motors(),
        ]


class Bag:
    """
    A rosbag2 folder that is being written.

    Each message is recorded as received at the stamp of its step, so that played beside the
    recording it came from it is in step with it.

    Parameters
    ----------
    path
        The folder, which must not be there.
    made
        The replay whose steps come.

    """

    wants_rows = False

    def __init__(self, path: Path, made: Replay) -> None:
        session, names = made.session, made.names
        self._types = types = Types()
        self._outputs = Outputs(session, types.serialize)
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        self._writer.open()

        def topic(name: str, kind: str, qos: list[Qos]) -> Any:
            return self._writer.add_connection(
                names.full(name), kind, typestore=types.store, offered_qos_profiles=qos
            )

        self._topics = [
            (topic(one.topic, one.type, _offered(10)), one) for one in self._outputs.outputs
        ]
        latched = _offered(100, QosDurability.TRANSIENT_LOCAL)
        rotors, stators = self._outputs.rotors, self._outputs.stators
        self._tf: Any = None
        self._tf_static: Any = None
        if rotors is not None and stators is not None:
            self._tf = topic(rotors.topic, rotors.type, _offered(100))
            self._tf_static = topic(stators.topic, stators.type, latched)

        kind = 'diagnostic_msgs/msg/DiagnosticArray'
        self._diagnostics = topic('/diagnostics', kind, _offered(10))
        self._name = names.node, names.full_node
        self._statuses = Recorded(made)
        made.each_second = self._say

    def _say(self, now_ns: int) -> None:
        """Write how everything is."""
        name, full_name = self._name
        statuses = [
            {
                'level': one.level,
                'name': f'{name}: {one.name}',
                'message': shortened(one.text),
                'hardware_id': full_name,
                'values': [{'key': key, 'value': str(x)} for key, x in one.values.items()],
            }
            for one in self._statuses.all(now_ns)
        ]
        stamp = dict(zip(('sec', 'nanosec'), divmod(now_ns, NANOSECONDS), strict=True))
        fields = {'header': {'stamp': stamp}, 'status': statuses}
        data = self._types.serialize(self._diagnostics.msgtype, fields)
        self._writer.write(self._diagnostics, now_ns, data)

    def begin(self, now_ns: int) -> None:
        """Write what a node publishes once, when there is a clock."""
        if (data := self._outputs.stators_at(now_ns)) is not None:
            self._writer.write(self._tf_static, now_ns, data)

    def add(self, outcome: Outcome, session: Session, numbers: Sequence[float]) -> None:
        """Write the messages about one step."""
        stamp_ns, due = outcome.stamp_ns, self._outputs.are_due(outcome)
        stamp = divmod(stamp_ns, NANOSECONDS)
        for connection, output in self._topics:
            if (due or output.paced) and (data := output.message(outcome, stamp)) is not None:
                self._writer.write(connection, stamp_ns, data)
        if (data := self._outputs.rotors_of(outcome)) is not None:
            self._writer.write(self._tf, stamp_ns, data)

    def close(self) -> None:
        """Finish the folder."""
        self._writer.close()
