"""The motion of one joint out of a rosbag2 recording: JointState, of our node or of a drive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...messages import stamp_of
from ..recording import Recording, RecordingError
from .logs import Log

KIND = 'sensor_msgs/msg/JointState'
SUFFIXES = ('.mcap', '.db3')


def is_bag(path: Path) -> bool:
    """Tell whether a path is a recording of topics, and no CSV file."""
    return path.is_dir() or path.suffix in SUFFIXES


def read_bag(path: Path, topic: str = '', joint: str = '') -> Log:
    """
    Read position, velocity and effort of one joint.

    Of a recording of our node (`ros2 bag record -a`, or `motor_replay --out`) the rate of the
    mount about the axis is there too: the absolute spin less the speed against the stator.

    Parameters
    ----------
    path
        A rosbag2 folder, or one of its files.
    topic
        Of JointState; '': the one there is, or the one named joint_states.
    joint
        Its name, with or without _joint; '': the one there is.

    Raises
    ------
    RecordingError
        If it cannot be read, or has no such topic or joint, or no effort of it.

    """
    recording = Recording(path)
    topic = topic or _topic(recording)
    recording.check(topic)
    stamps: list[int] = []
    rows: list[list[float]] = []
    names: set[str] = set()
    for record in recording.records((topic,)):
        message = record.message
        names.update(message.name)
        found = [x for x in message.name if x in (joint, f'{joint}_joint')]
        if not joint and len(message.name) == 1:
            found = list(message.name)
        if found:
            i = list(message.name).index(found[0])
            lists = (message.position, message.velocity, message.effort)
            values = [float(x[i]) if i < len(x) else np.nan for x in lists]
            stamps.append(stamp_of(message.header) or record.received_ns)
            rows.append(values)
    if not rows:
        rule = f'the name of a joint on {topic}, one of {", ".join(sorted(names)) or "none"}'
        raise RecordingError(f'--motor must be {rule}, got {joint!r}.')
    motion = np.array(rows)
    what: dict[str, Any] = {
        name: None if np.isnan(motion[:, k]).all() else motion[:, k]
        for k, name in enumerate(('position', 'speed', 'torque'))
    }
    if what['torque'] is None:
        raise RecordingError(
            f'{path} has no effort of a joint on {topic}. Record a topic that has, or name one '
            'with --topic.'
        )
    own = topic.rpartition('/')[0]
    spins = _spins(recording, own, joint or next(iter(names)))
    if what['speed'] is not None and spins is not None and len(spins) == len(rows):
        rate = spins - what['speed']
        what['mount_rate'] = rate if np.abs(rate).max() > 1e-9 else None
    return Log(
        name=recording.name,
        at_end=spins is not None,
        columns={name: topic for name in ('torque', 'speed', 'position') if what[name] is not None}
        | ({'mount_rate': f'{own}/.../spin'} if what.get('mount_rate') is not None else {}),
        time=np.array([stamp - stamps[0] for stamp in stamps]) * 1e-9,
        **what,
    )


def _topic(recording: Recording) -> str:
    found = [one.name for one in recording.topics if one.type == KIND and one.count]
    usual = [name for name in found if name.rpartition('/')[2] == 'joint_states']
    if not found:
        raise RecordingError(
            f'{recording.path} must have a topic of sensor_msgs/JointState, with the position or '
            'velocity and the effort of a joint; it has none.'
        )
    if len(found) != 1 and len(usual) != 1:
        has = f'it has {", ".join(found)}'
        raise RecordingError(
            f'{recording.path} must have one topic of sensor_msgs/JointState, {has}. '
            'Name one with --topic.'
        )
    return (found if len(found) == 1 else usual)[0]


def _spins(recording: Recording, namespace: str, motor: str) -> Any:
    """Return the absolute spins that our node tells of a motor; None in other recordings."""
    motor = motor.removesuffix('_joint')
    own = [
        one.name
        for one in recording.topics
        if one.type == 'std_msgs/msg/Float64'
        and one.name.startswith(f'{namespace}/')
        and one.name.endswith(f'/{motor}/spin')
    ]
    if len(own) != 1:
        return None
    return np.array([float(record.message.data) for record in recording.records((own[0],))])
