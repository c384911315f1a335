"""Whether pose and rate of the mount are of one motion, in words. No ROS here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import degrees

import numpy as np
from transforms3d.quaternions import mat2quat

from ..errors import FrameError
from ..frames import FOREVER
from ..inputs import Odometry
from ..vector import cross, dot, multiply, Quaternion, Vector
from .agreement import Agreement, AS_THEY_ARE, compare, ENOUGH, LEAST
from .case import Case, different, Finding, KINDS, listed, plain

SURE = 0.7
"""Correlation of pose and rate from which on they are of one motion."""
DEGREES = degrees(1.0)
PLACEHOLDER = 1e-6  # [rad/s, rms] of a pose that is filled in once and for all
SUBJECT = 'pose and rate'
SCALE_OFF = 1.3  # times too much or too little


def judge_agreement(case: Case) -> Iterator[Finding]:
    """Judge whether the mount turns as its rate says."""
    settings = case.settings
    if case.still or settings.rate_source not in KINDS:
        return
    found = compare(case.heard.poses, case.heard.rates)
    if found is None:
        yield Finding('ok', SUBJECT, 'not judged: no steps have read both')
        return
    values = {
        'pose (rad/s)': found.pose,
        'rate (rad/s)': found.rate,
        'correlation': found.correlation,
        'scale': found.scale,
        'intervals': found.intervals,
    }
    yield Finding(*_compared(case, found), values=values)


def _compared(case: Case, found: Agreement) -> tuple[str, str, str]:
    """Return level, subject and text of what a comparison shows."""
    level, text = (_turning if found.turns else _hardly_turning)(case, found)
    return level, SUBJECT, text


def _hardly_turning(case: Case, found: Agreement) -> tuple[str, str]:
    turning, rate = f'{found.pose:.3g} rad/s rms', _rate_name(case)
    if found.intervals < LEAST or found.rate < ENOUGH or found.rate < 10.0 * found.pose:
        return 'ok', (
            f'not judged: the mount hardly turns ({turning}, {ENOUGH:g} are needed). Turn it by '
            'hand about all its axes meanwhile.'
        )
    if found.best >= SURE and (unit := _unit(found, rate)):
        return 'error', unit
    return 'error' if found.pose < PLACEHOLDER else 'warning', (
        f'the pose hardly turns ({turning}), and {rate} says {found.rate:.3g} rad/s: the '
        'orientation is a placeholder, or the rate is in degrees, or of another body.'
    )


def _turning(case: Case, found: Agreement) -> tuple[str, str]:
    turning, rate = f'{found.pose:.3g} rad/s rms', _rate_name(case)
    by_world = abs(found.world)
    if by_world >= SURE and by_world > found.best + 0.02 and found.is_clearly_below(by_world):
        return 'error', _in_world(case, rate, found.world)
    if found.best < SURE:
        level, do = 'warning', 'One is wrong or slips, or they are of different bodies.'
        if found.pose < 2.0 * ENOUGH:  # where all else that shakes the mount is as large
            level, do = 'ok', 'Not judged: turn the mount more.'
        return level, (
            f'the pose turns at {turning}, {rate} says {found.rate:.3g} rad/s, and they have '
            f'little in common (correlation {found.correlation:.2f}). {do}'
        )
    wrong = [_axes(case, found, rate)] if found.is_clearly_below(found.best) else []
    wrong += filter(None, [_unit(found, rate)])
    if wrong:
        return 'error', ' '.join(text[:1].upper() + text[1:] for text in wrong)
    if not 1 / SCALE_OFF < found.scale < SCALE_OFF:
        return 'warning', (
            f'{rate} reads {found.scale:.3g} for 1 rad/s of the pose (correlation '
            f'{found.best:.2f}). Check its scale and unit.'
        )
    unseen = [name for name, told in zip('xyz', found.told, strict=True) if not told]
    rest = f'; nothing told about {", ".join(unseen)}, which it hardly turns about'
    return 'ok', (
        f'they turn alike: correlation {found.best:.3f}, {found.scale:.3f} for 1 rad/s, at '
        f'{turning}{rest if unseen else ""}'
    )


def _unit(found: Agreement, rate: str) -> str:
    """Return which unit the rate seems to have instead of rad/s, if any."""
    for scale, what in (
        (DEGREES, 'degrees, and has to be rad/s. Multiply it by pi/180 in the driver.'),
        (1.0 / DEGREES, 'rad/s taken for degrees. Leave the factor pi/180 out in the driver.'),
    ):
        if 1 / SCALE_OFF < found.scale / scale < SCALE_OFF:
            return f'{rate} reads {found.scale:.3g} for 1 rad/s of the pose: it looks like {what}'
    return ''


def _rate_name(case: Case) -> str:
    return {'imu': 'the gyro'}.get(
        case.settings.rate_source, f'the {case.settings.rate_source} rate'
    )


def _in_world(case: Case, rate: str, sign: float) -> str:
    world, mount = case.settings.world_frame, case.settings.mount_frame
    if sign < 0.0:
        return (
            f'the pose looks inverted: it turns as that of {world!r} in {mount!r} would. Publish '
            f'the pose of {mount!r} in {world!r}.'
        )
    return (
        f'{rate} looks like one in the axes of {world!r}, not of the frame its messages name. '
        f'Set their frame_id to {world!r}, or turn it in the driver.'
    )


def _axes(case: Case, found: Agreement, rate: str) -> str:
    """Return which axes of the rate look like which others, and what would mend it."""
    mount = case.settings.mount_frame
    differ = [
        f"its {'xyz'[i]} looks like the mount's {'-' if sign < 0 else ''}{'xyz'[j]}"
        for i, (j, sign) in enumerate(found.axes)
        if (j, sign) != AS_THEY_ARE[i] and found.told[j]
    ]
    frames = sorted({plain(x.child if type(x) is Odometry else x.frame)
                     for x in different(case, case.settings.rate_source)})  # fmt: skip
    text = f'{rate}, turned into the axes of {mount!r}: {", ".join(differ)}.'
    if frames == [mount]:
        return f'{text} Correct the axes in the driver.'
    if all(found.told) and _is_mirror(found):
        return f'{text} No way of mounting it does that: correct the axes in the driver.'
    mended = _mended(case, found, frames)
    do = f' as the rotation x y z w = [{mended}]' if mended else ''
    return (
        f'{text} Correct the transform from {mount!r} to {listed([repr(x) for x in frames])}{do}, '
        'or the axes in the driver.'
    )


def _is_mirror(found: Agreement) -> bool:
    x, y, z = _rows_back(found)
    return dot(cross(x, y), z) < 0.0


def _rows_back(found: Agreement) -> list[Vector]:
    """Return the matrix from the axes of the rate to those of the pose, by rows."""
    back = [[0.0] * 3 for _ in range(3)]
    for i, (j, sign) in enumerate(found.axes):
        back[j][i] = float(sign)
    return [(row[0], row[1], row[2]) for row in back]


def _mended(case: Case, found: Agreement, frames: Sequence[str]) -> str:
    """Return the rotation of the sensor on the mount with which both would agree, or ''."""
    if len(frames) != 1 or not all(found.told):
        return ''
    try:
        _, pose = case.heard.session.frames.newest(case.settings.mount_frame, frames[0], FOREVER)
    except FrameError:
        return ''
    qw, qx, qy, qz = (float(number) for number in mat2quat(np.array(_rows_back(found))))
    mended = multiply((qx, qy, qz, qw), pose.orientation)
    return ', '.join(f'{number:.4g}' for number in _upright(mended))


def _upright(q: Quaternion) -> tuple[float, ...]:
    """Return a quaternion as one would write it: w not negative, no -0."""
    sign = -1.0 if q[3] < 0.0 else 1.0
    return tuple(0.0 if abs(number) < 1e-9 else sign * number for number in q)
