"""What recordings cannot tell, and the excitation that is missing, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .logs import Array

CORRELATED = 0.95
UNCERTAIN = 0.5
"""Standard error over value."""
VAGUE = 0.1
"""The same, from which a correlation is worth a word."""
BLIND = 1e-6
"""Smallest singular value of the scaled derivative, of the greatest."""
MISSING = {
    'inertia': 'a torque that speeds the rotor up and slows it down, faster than friction does',
    'damping': 'steady running at several speeds, the highest it has and a low one',
    'coulomb_friction': 'slow turning and coasting to rest, beside fast turning',
    'torque_scale': 'steps of torque against the inertia or load that is known',
    'command_delay': 'steps of torque, and samples not much farther apart than the delay',
    'load': 'the arm held, or moved slowly, at angles all around, up and down alike',
    'offset': 'the same motion in both directions',
}
PAIRS = {
    ('inertia', 'load'): 'The arm only swung near its own frequency, where both give one ratio. '
    'Record quick steps of torque and slow turning at many angles, or give '
    '--known load=... of the mass and its distance.',
    ('damping', 'coulomb_friction'): 'The speeds are too alike. Record steady running at several '
    'speeds, slow and fast, or coasting from fast to rest.',
    ('coulomb_friction', 'offset'): 'It turns mostly one way. Record the same motion both ways.',
    ('inertia', 'command_delay'): 'Record steps of torque that are shorter and longer than the '
    'delay.',
    ('inertia', 'torque_scale'): 'Give --known inertia=... with another body fixed to it, or '
    '--known load=... of a mass on an arm.',
    ('inertia', 'damping'): 'Record steps of torque, and coasting.',
}  # fmt: skip


class Flag(NamedTuple):
    """Something a reader of the result has to know."""

    code: str
    parameters: tuple[str, ...]
    text: str


def words(name: str) -> str:
    """Return a parameter as it is called in a sentence."""
    return name.replace('_', ' ')


def blind(jacobian: Array, free: Sequence[str]) -> str:
    """
    Return the parameter that cannot be told at all, or nothing.

    Parameters
    ----------
    jacobian : shape (n, p)
        The first columns are those of ``free``.
    free : names of NAMES
        What was searched for.

    """
    k = len(free)
    own, nuisance = jacobian[:, :k], jacobian[:, k:]
    size = np.linalg.norm(own, axis=0)
    if not size.all():
        return free[int(np.flatnonzero(size == 0.0)[0])]
    Q, _ = np.linalg.qr(nuisance)
    left = own - Q @ (Q.T @ own)
    _, s, V = np.linalg.svd(left / size, full_matrices=False)
    if s[-1] > BLIND * s[0]:
        return ''
    order = ('offset', 'load', 'coulomb_friction', 'damping', 'command_delay', 'torque_scale')
    share = dict(zip(free, np.abs(V[-1]), strict=True))
    among = [n for n in order if share.get(n, 0.0) > 0.1]
    return among[0] if among else ''


def flags(
    free: Sequence[str],
    values: dict[str, float],
    errors: dict[str, float],
    correlations: Array,
    max_delay: float,
) -> list[Flag]:
    """Return what standard errors and correlations say of the parameters that were found."""
    found = []
    for i, a in enumerate(free):
        for j in range(i + 1, len(free)):
            b = free[j]
            unsure = any(errors[n] > VAGUE * abs(values[n]) for n in (a, b))
            if unsure and abs(correlations[i, j]) >= CORRELATED:
                why = PAIRS.get((a, b)) or PAIRS.get((b, a)) or f'Record {MISSING[b]}.'
                found.append(
                    Flag(
                        'correlated',
                        (a, b),
                        f'{words(a)} and {words(b)} are hardly told apart (correlation '
                        f'{correlations[i, j]:.3f}). {why}',
                    )
                )
    for name in free:
        value, error = values[name], errors[name]
        if name in ('damping', 'coulomb_friction', 'command_delay') and value == 0.0:
            found.append(
                Flag(
                    'at_bound',
                    (name,),
                    f'{words(name)} would be negative: it is taken as 0. Record {MISSING[name]}.',
                )
            )
        elif name == 'command_delay' and value > 0.999 * max_delay:
            found.append(
                Flag(
                    'at_bound',
                    (name,),
                    f'command delay is at the longest that was tried, {max_delay:g} s. '
                    'Try a longer one with --max-delay.',
                )
            )
        elif name != 'offset' and error > UNCERTAIN * abs(value):
            found.append(
                Flag(
                    'uncertain',
                    (name,),
                    f'{words(name)} is known to +-{100.0 * error / abs(value):.0f} % only. '
                    f'Record {MISSING[name]}.',
                )
            )
    return found
