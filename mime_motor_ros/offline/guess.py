"""What parameters a node would need for a recording, where none are given."""

from __future__ import annotations

from typing import Any

from ..names import Names
from ..settings import Settings
from .log import Log, POSE, RATE, RATE_IN_WORLD
from .recording import guess_frames, IMU, Recording, RecordingError

ODOMETRY = 'nav_msgs/msg/Odometry'


def guess(recording: Recording, named: Names) -> tuple[dict[str, Any], Names, list[str]]:
    """Return parameters, names and what was taken for granted, in a line."""
    topic = named.full('imu/data')
    known = {one.name for one in recording.topics}
    kinds = {one.type: one.name for one in recording.topics if one.count}
    odometry = named.full('odom')
    if odometry != named.expanded('odom'):  # it was remapped by hand
        recording.check(odometry)
        return _guess_odometry(recording, named, odometry)
    if IMU not in kinds and ODOMETRY in kinds:
        return _guess_odometry(recording, named, kinds[ODOMETRY])
    if topic != named.expanded('imu/data'):
        recording.check(topic)  # it was remapped by hand
    frames = guess_frames(recording, topic if topic in known else '')
    rule = (named.expanded('imu/data'), frames.imu_topic)
    values = {'world_frame': frames.world, 'mount_frame': frames.mount}
    note = (
        f'no parameter file given: the mount is {frames.mount!r} in {frames.world!r}, its rate '
        f'comes from {frames.imu_topic}.'
    )
    return values, named._replace(rules=(*named.rules, rule)), [note]


def _guess_odometry(
    recording: Recording, named: Names, topic: str
) -> tuple[dict[str, Any], Names, list[str]]:
    (one,) = (one for one in recording.topics if one.name == topic)
    if one.type != ODOMETRY or not one.count:
        raise RecordingError(
            f'-r odom:={topic} must name a topic of {ODOMETRY}, got one of {one.count} {one.type}.'
        )
    first = next(recording.records((topic,))).message
    world, mount = (x.lstrip('/') for x in (first.header.frame_id, first.child_frame_id))
    values = {'world_frame': world, 'mount_frame': mount, 'rate_source': 'odometry'}
    note = (
        f'no parameter file given: the mount is {mount!r} in {world!r}, pose and rate come from '
        f'{topic}.'
    )
    return values, named._replace(rules=(*named.rules, (named.expanded('odom'), topic))), [note]


def guess_log(log: Log) -> tuple[dict[str, Any], list[str]]:
    """Return parameters for a CSV file: what its columns can feed."""
    moves, has_rate = _tells(log)
    values: dict[str, Any] = {
        'world_frame': 'odom' if moves else 'base_link',
        'mount_frame': 'base_link',
        'rate_source': 'twist' if has_rate else 'tf' if moves else 'zero',
    }
    how = 'moves as its columns say' if moves or has_rate else 'stands still'
    return values, [f'no parameter file given: the mount {how}.']


def at_rest(log: Log, chosen: Settings) -> dict[str, Any]:
    """
    Return what has a mount stand still of which a CSV file tells less than these settings ask.

    There is no publisher who could still tell it.
    """
    has_pose, has_rate = _tells(log)
    is_one = chosen.world_frame == chosen.mount_frame
    still: dict[str, Any] = {}
    if not has_pose and not is_one:
        still['world_frame'] = chosen.mount_frame
    if chosen.pose_source == 'imu' or (chosen.pose_source == 'odometry' and not has_pose):
        still['pose_source'] = 'tf'
    if chosen.rate_source in ('imu', 'twist') and not has_rate:
        still['rate_source'] = 'tf' if has_pose and not is_one else 'zero'
    return still


def _tells(log: Log) -> tuple[bool, bool]:
    """Tell whether a CSV file has the pose of the mount, and its rate."""
    has = set(log.header)
    return has >= set(POSE), has >= set(RATE) or has >= set(RATE_IN_WORLD)
