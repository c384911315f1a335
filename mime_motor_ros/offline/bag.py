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

from ..names import Names
from ..outputs import Outputs
from ..session import Outcome, Session
from ..timeline import NANOSECONDS

CONTROL_MSGS = {  # which is no part of the core of ROS
    'control_msgs/msg/InterfaceValue': 'string[] interface_names\nfloat64[] values\n',
    'control_msgs/msg/DynamicJointState': 'std_msgs/Header header\nstring[] joint_names\n'
    'control_msgs/InterfaceValue[] interface_values\n',
}
FOR_EVER = QosTime(2147483647, 4294967295)


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


class Bag:
    """
    A rosbag2 folder that is being written.

    Each message is recorded as received at the stamp of its step, so that played beside the
    recording it came from it is in step with it.

    Parameters
    ----------
    path
        The folder, which must not be there.
    session
        Whose steps come.
    names
        Under which the node has its topics.

    """

    wants_rows = False

    def __init__(self, path: Path, session: Session, names: Names) -> None:
        types = Types()
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

    def begin(self, now_ns: int) -> None:
        """Write what a node publishes once, when there is a clock."""
        if (data := self._outputs.stators_at(now_ns)) is not None:
            self._writer.write(self._tf_static, now_ns, data)

    def add(self, outcome: Outcome, session: Session, numbers: Sequence[float]) -> None:
        """Write the messages about one step."""
        stamp_ns = outcome.stamp_ns
        if self._outputs.are_due(outcome):
            stamp = divmod(stamp_ns, NANOSECONDS)
            for connection, output in self._topics:
                if (data := output.message(outcome, stamp)) is not None:
                    self._writer.write(connection, stamp_ns, data)
        if (data := self._outputs.rotors_of(outcome)) is not None:
            self._writer.write(self._tf, stamp_ns, data)

    def close(self) -> None:
        """Finish the folder."""
        self._writer.close()
