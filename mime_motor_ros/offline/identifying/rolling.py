"""
From recordings to rollouts: the torque that a step had, the load, segments and what is simulated.

The residual of a fit is made here: the project's own `rollout`, segment by segment, against what
was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...axial import Friction
from ...model import MotorParameters, MotorState
from ...rollout import rollout
from ..recording import RecordingError
from .logs import Array, Log

G = 9.80665
NAMES = (
    'inertia', 'damping', 'coulomb_friction', 'torque_scale', 'command_delay', 'load', 'offset',
)  # fmt: skip
"""What can be found."""
UNITS = {
    'inertia': 'kg m^2',
    'damping': 'N m s',
    'coulomb_friction': 'N m',
    'torque_scale': '1',
    'command_delay': 's',
    'load': 'N m',
    'offset': 'N m',
}


class Segment(NamedTuple):
    """A stretch of a recording that is simulated by itself, of n steps and n + 1 samples."""

    log: int
    start: int
    """Row where it begins; the row of step i ends at start + i + 1."""
    stop: int
    """Row behind its last."""


@dataclass(frozen=True)
class Signals:
    """What of a recording a rollout needs; steps go from a row to the next."""

    time: Array
    dt: Array
    """(N - 1,) [s]."""
    impulse: Array
    """(N,) integral of the recorded torque up to the row [N m s]."""
    held: tuple[float, float]
    """Torque before the first row and after the last [N m]."""
    lever: Array | None
    """(N - 1,) load torque over -load by step [1]: sin of the angle of the hanging mass."""
    turning: Array
    """(N - 1,) rate of the mount in the step [rad/s]."""
    measured: Array
    """(N,) what the rollout is held against."""
    of_speed: bool
    """Whether that is the speed; the position otherwise."""
    speed: Array
    """(N,) against the stator; the slope of the position where none was recorded."""
    drawn_back: float
    """By how many steps the angle lies behind the row: see `simulated`."""


def signals(
    log: Log,
    output: str = 'auto',
    load_angle: float = 0.0,
    mount_arm: float = 0.0,
    has_positions: bool = True,
) -> Signals:
    """
    Return what a rollout needs of a recording.

    ``output``: `position`, `speed`, or `auto` for positions where ``has_positions``.

    ``load_angle`` [rad]: angle at which the mass hangs down. ``mount_arm`` [m]: distance of the
    axis from that about which the mount turns, in the direction in which the mount hangs at
    angle 0; the mount's own motion then throws the mass about.
    """
    dt = np.diff(log.time)
    torque = log.torque[1:] if log.at_end else log.torque[:-1]
    impulse = np.concatenate([[0.0], np.cumsum(torque * dt)])
    still = np.zeros(len(log))
    rate = still if log.mount_rate is None else log.mount_rate
    speed = np.gradient(log.position, log.time) if log.speed is None else log.speed  # type: ignore[arg-type]
    of_speed = output == 'speed' or (output == 'auto' and not has_positions)
    if log.position is None and not of_speed:
        raise RecordingError(f'{log.name} must have positions to be held against, got none.')
    lever = None
    if log.position is not None:
        mount = still if log.mount_angle is None else log.mount_angle
        own = log.position - load_angle
        lever = np.sin(own + mount)
        if mount_arm:
            # The pivot is carried along: what it is accelerated by adds to gravity.
            forth = np.gradient(_smooth(rate, log.time), log.time)
            lever = lever + mount_arm / G * (forth * np.cos(own) + rate**2 * np.sin(own))
        lever = lever[:-1]
    return Signals(
        log.time - log.time[0],
        dt,
        impulse,
        (float(torque[0]), float(torque[-1])),
        lever,
        rate[1:],
        speed if of_speed else log.position,  # type: ignore[arg-type]
        of_speed,
        speed,
        0.0 if log.at_end else 0.5,
    )


def _smooth(values: Array, time: Array, width: float = 0.02) -> Array:
    """Return values without what is faster than some 20 ms: they are about to be derived."""
    n = max(1, round(width / float(np.median(np.diff(time)))))
    kernel = np.hanning(n + 2)[1:-1]
    padded = np.pad(values, (n // 2, n - 1 - n // 2), mode='edge')
    return np.asarray(np.convolve(padded, kernel / kernel.sum(), mode='valid'))


def torque(one: Signals, delay: float) -> Array:
    """
    Return the recorded torque of each step, (N - 1,), as late as ``delay`` [s] has it.

    It is the mean over the step of what was held from row to row, so that no impulse is lost
    and the residual follows the delay continuously, over fractions of a step as well.
    """
    late = one.time - delay
    total = np.interp(late, one.time, one.impulse)
    before, after = one.held
    total = total + np.minimum(late - one.time[0], 0.0) * before
    total = total + np.maximum(late - one.time[-1], 0.0) * after
    return np.asarray(np.diff(total) / one.dt)


def simulated(
    one: Signals,
    segment: Segment,
    sets: Sequence[Mapping[str, float]],
    starts: Sequence[tuple[float, float]],
    speed: bool = False,
) -> Array:
    """
    Return what a segment would have measured, (M, n), with each of M parameter sets.

    ``speed``: of the speed, whatever was measured. ``starts``: by set the angle [rad] and the
    speed against the stator [rad/s] at its first row.
    The load acts at the recorded angle, which is known far better than it is simulated, so
    that errors do not grow as they would where a mass stands upright.
    """
    steps = slice(segment.start, segment.stop - 1)
    turning = one.turning[steps]
    before = turning[0] if segment.start == 0 else one.turning[segment.start - 1]
    commands, models, initial = [], [], []
    for p, (angle, first) in zip(sets, starts, strict=True):
        acting = p['torque_scale'] * torque(one, p['command_delay'])[steps] + p['offset']
        if one.lever is not None and p['load']:
            acting = acting - p['load'] * one.lever[steps]
        commands.append(acting)
        dry = Friction(coulomb=p['coulomb_friction'])
        models.append(MotorParameters(p['inertia'], p['damping'], friction=dry))
        initial.append(MotorState(angle, before + first))
    rates = None
    if turning.any():
        rates = np.zeros((len(turning), 3))
        rates[:, 2] = turning
    of_speed = speed or one.of_speed
    keep = ('speed',) if of_speed else ('angle', 'speed')
    made = rollout(
        models,
        dt=one.dt[steps],
        command=np.array(commands),
        initial=initial,
        mount_rate=rates,
        keep=keep,
    )
    if of_speed:
        return np.asarray(made['speed'])
    # The step moves the angle with the speed of its end; a shaft that was sampled moved with the
    # mean of both ends. Where the two begin is part of the fit.
    return np.asarray(made['angle'] - one.drawn_back * one.dt[steps] * made['speed'])
