"""
What replaying costs: times real time of a recording, and the memory of a long one.

Recordings are made here, where none is given: an IMU at 1 kHz and the pose of its mount at 100 Hz.
Each figure is of a process of its own, ``motor_replay`` with its outputs.
"""

from __future__ import annotations

from math import cos, sin
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from mime_motor_ros.offline.bag import Types
from mime_motor_ros.timeline import NANOSECONDS
from rosbags import rosbag2

RATE = 1000  # Hz
START_NS = 1_700_000_000 * NANOSECONDS


class Cost(NamedTuple):
    """What one replay took."""

    seconds: float
    """Of the process, its start among them [s]."""
    peak: float
    """The most memory it had at one time [MB]."""


def make(folder: Path, seconds: float) -> Path:
    """Write a long recording: a mount that turns to and fro about all its axes."""
    types = Types()
    writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
    kinds = {'/imu/data': 'sensor_msgs/msg/Imu', '/tf': 'tf2_msgs/msg/TFMessage'}
    with writer:
        topics = {
            name: writer.add_connection(name, kind, typestore=types.store)
            for name, kind in kinds.items()
        }
        for k in range(round(seconds * RATE)):
            now_ns = START_NS + k * NANOSECONDS // RATE
            t = k / RATE
            stamp = dict(zip(('sec', 'nanosec'), divmod(now_ns, NANOSECONDS), strict=True))
            rate = {'x': sin(t), 'y': cos(1.3 * t), 'z': sin(0.7 * t)}
            head = {'stamp': stamp, 'frame_id': 'base_link'}
            fields = {'header': head, 'angular_velocity': rate}
            data = {'/imu/data': types.serialize(kinds['/imu/data'], fields)}
            if k % 10 == 0:
                turn = {'z': sin(0.2 * sin(t)), 'w': cos(0.2 * sin(t))}
                head = {'stamp': stamp, 'frame_id': 'odom'}
                one = {'header': head, 'child_frame_id': 'base_link'}
                fields = {'transforms': [{**one, 'transform': {'rotation': turn}}]}
                data['/tf'] = types.serialize(kinds['/tf'], fields)
            for name, message in data.items():
                writer.write(topics[name], now_ns, message)
    return folder


def replayed(recording: str | Path, *options: str) -> Cost:
    """Run ``motor_replay`` and return what it took."""
    command = [sys.executable, '-m', 'mime_motor_ros.offline.replay_command', str(recording)]
    began = time.monotonic()
    process = subprocess.Popen(
        [*command, '-q', *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = process.stderr.read() if process.stderr else ''
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f'motor_replay ended with {process.returncode}: {said}')
    return Cost(time.monotonic() - began, usage.ru_maxrss / 1024)


MEMORY_TARGET = 500.0
"""[MB], however long a recording is."""


def memory(seconds: float, bag: bool = False) -> Cost:
    """Return what replaying so long a recording costs, with a table made of it, or a bag too."""
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder) / 'long', seconds)
        outputs = ['--parquet', f'{folder}/steps.parquet']
        if bag:
            outputs += ['--out', f'{folder}/out']
        return replayed(made, *outputs)


def speed(recording: str | Path | None = None, seconds: float = 20.0) -> float:
    """Return how many times real time a recording is replayed with a table made of it."""
    from mime_motor_ros.offline.recording import Recording

    with tempfile.TemporaryDirectory() as folder:
        recording = recording or make(Path(folder) / 'made', seconds)
        cost = replayed(recording, '--parquet', f'{folder}/steps.parquet')
        return Recording(recording).seconds / cost.seconds
