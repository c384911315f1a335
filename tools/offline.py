"""
Run the session on recordings directly, without ROS, and print what came out as a table.

    python tools/offline.py RECORDING [RECORDING ...]

One wheel that turns at 200 rad/s from the start and coasts; a step from each IMU sample to the
next. A node that is played the same recording (tools/player.py) gives the same numbers to the
last bit, as long as nothing reaches it late.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
import sys
from typing import Any

from mime_motor_ros.errors import MotorError
from mime_motor_ros.offline.recording import guess_frames, Recording
from mime_motor_ros.offline.replaying import replay
from mime_motor_ros.session import Outcome, Session
from mime_motor_ros.stopping import leave, Stop

WHEEL: dict[str, Any] = {
    'step_on': 'imu',
    'wheel.inertia': 1e-4,
    'wheel.damping': 1e-6,
    'wheel.initial_spin': 200.0,
    'settle': 0.5,
}


def values_for(recording: Recording, **more: Any) -> dict[str, Any]:
    """Return the node's parameters for a recording: its own frames and one coasting wheel."""
    frames = guess_frames(recording)
    return {**WHEEL, 'world_frame': frames.world, 'mount_frame': frames.mount, **more}


def outcomes(recording: Recording, values: Mapping[str, Any]) -> tuple[Session, list[Outcome]]:
    """Return what the session makes of a recording: all inputs in order of receipt."""
    made = replay(recording, values, remap={'imu/data': guess_frames(recording).imu_topic})
    return made.session, list(made)


def size(vector: Any) -> float:
    """Return the length of a vector."""
    return sqrt(sum(x * x for x in vector))


def row(path: str) -> str:
    """Return one line of the table."""
    return row_of(*result(path))


def result(path: str) -> tuple[Recording, Session, list[Outcome]]:
    """Return a recording, and what the session makes of it."""
    recording = Recording(path)
    return recording, *outcomes(recording, values_for(recording))


def row_of(recording: Recording, session: Session, made: list[Outcome]) -> str:
    """Return one line of the table: what went in and what came out."""
    spin = max((abs(outcome.steps[0].state.spin) for outcome in made), default=None)
    torque = max((size(outcome.mount_wrench().torque) for outcome in made), default=None)
    return (
        f'| {recording.name} | {recording.seconds:.1f} s | {len(made)} | '
        f'{refusals(session) or "none"} | {"-" if spin is None else f"{spin:.6f} rad/s"} | '
        f'{"-" if torque is None else f"{torque:.6f} N m"} |'
    )


def refusals(session: Session) -> str:
    """Return what was not used, with its reasons."""
    counts = sorted(session.counts.items())
    return ', '.join(f'{source} {reason} {count}' for (source, reason), count in counts)


def why_none(recording: Recording, session: Session) -> str:
    """Return why a recording gave no step, in one line."""
    reasons = [session.waiting if session.rate_stamp else 'no usable IMU message']
    if counted := refusals(session):
        reasons.append(f'refused: {counted}')
    return f'{recording.name} gives no step: {"; ".join(x.rstrip(".") for x in reasons)}.'


def main() -> int:
    """Print the table; 1 when a recording cannot be read or gives no step."""
    if len(sys.argv) < 2:
        print('offline: give the folder of a recording, or several.', file=sys.stderr)
        return 1
    print(
        '| recording | length | steps | refused, late or repeated | peak spin '
        '| peak mount wrench |'
    )
    print('|---|---|---|---|---|---|')
    empty = []
    try:
        for path in sys.argv[1:]:
            recording, session, made = result(path)
            print(row_of(recording, session, made))
            if not made:
                empty.append(why_none(recording, session))
    except MotorError as error:
        print(f'offline: {error}', file=sys.stderr)
        return 1
    for text in empty:
        print(f'offline: {text}', file=sys.stderr)
    return 1 if empty else 0


if __name__ == '__main__':
    stop = Stop(code=1).catch_signals()
    stop.at_once = True  # nothing has to be put away
    leave(main)
