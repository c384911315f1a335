"""
How often the truth lies within 1, 2 and 3 standard errors of what `identify` finds.

    python tools/identify_coverage.py [SEEDS]

A rotor of known parameters is turned by random steps of torque both ways; its speed is measured
with noise, once white and once correlated from sample to sample. Without noise, the same from
guesses that are 8 times off.
"""

from __future__ import annotations

import argparse

from mime_motor_ros.axial import Friction
from mime_motor_ros.model import MotorParameters
from mime_motor_ros.offline.identifying import identify, Log
from mime_motor_ros.options import whole
from mime_motor_ros.rollout import rollout
from mime_motor_ros.stopping import leave, Stop
import numpy as np

TRUE = {
    'inertia': 0.02,
    'damping': 0.01,
    'coulomb_friction': 0.05,
    'command_delay': 0.0075,
    'offset': 0.0,
}
DT = 0.002
NORMAL = (0.6827, 0.9545, 0.9973)
"""What a normal distribution has within 1, 2 and 3 standard deviations."""


def made(seed: int, noise: float = 0.0, correlation: float = 0.0, seconds: float = 2.0) -> Log:
    """Return a recording of the rotor with noise [rad/s] of its speed."""
    random = np.random.default_rng(seed)
    n = round(seconds / DT)
    torque, total = np.empty(0), 0.0
    while len(torque) < n:  # each step pulls back, so that it turns both ways
        size = random.uniform(0.3, 1.0) * (-1.0 if total > 0.0 else 1.0)
        step = np.full(random.integers(15, 60), size)
        torque, total = np.append(torque, step), total + step.sum()
    torque = torque[:n]
    back = TRUE['command_delay'] / DT
    whole, part = int(back), back - int(back)
    padded = np.concatenate([np.full(whole + 1, torque[0]), torque])
    command = (1.0 - part) * padded[1 : n + 1] + part * padded[:n]
    motor = MotorParameters(
        TRUE['inertia'], TRUE['damping'], friction=Friction(coulomb=TRUE['coulomb_friction'])
    )
    speed = rollout(motor, dt=DT, command=command, keep=('speed',))['speed'][0]
    speed = np.concatenate([[0.0], speed])
    white = random.normal(size=n + 1)
    error = np.empty(n + 1)
    error[0] = white[0]
    for i in range(1, n + 1):
        error[i] = correlation * error[i - 1] + np.sqrt(1.0 - correlation**2) * white[i]
    time = DT * np.arange(n + 1)
    return Log(time, np.append(torque, torque[-1]), speed + noise * error, name=f'seed {seed}')


def far(seed: int) -> dict[str, float]:
    """Return guesses 8 times too great or too small."""
    random = np.random.default_rng(seed)
    names = ('inertia', 'damping', 'command_delay')
    return {name: TRUE[name] * 8.0 ** random.choice([-1, 1]) for name in names}


def within(seeds: range, correlation: float = 0.0) -> dict[str, np.ndarray]:
    """Return by name |found - true| in standard errors, one number a seed."""
    found: dict[str, list[float]] = {name: [] for name in TRUE}
    for seed in seeds:
        result = identify(made(seed, 0.05, correlation), guess=far(seed))
        for name, true in TRUE.items():
            off = (result.values[name] or 0.0) - true
            found[name].append(abs(off) / result.standard_errors[name])
    return {name: np.array(values) for name, values in found.items()}


def main() -> int:
    """Print the tables."""
    stop = Stop().catch_signals()
    stop.at_once = True
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        'seeds',
        nargs='?',
        type=whole('>= 1', lambda x: x >= 1),
        default=200,
        help='how many recordings of each kind (200, three minutes)',
    )
    count = options.parse_args().seeds
    print(f'{count} seeds; normal: ' + ', '.join(f'{100 * x:.1f} %' for x in NORMAL))
    for correlation in (0.0, 0.9):
        print(f'noise 0.05 rad/s, correlation from sample to sample {correlation:g}:')
        for name, off in within(range(count), correlation).items():
            shares = [f'{100.0 * np.mean(off <= k):6.1f} %' for k in (1, 2, 3)]
            print(f'  {name:18}' + ''.join(shares), flush=True)
    worst = 0.0
    for seed in range(min(count, 20)):
        result = identify(made(seed), guess=far(seed))
        worst = max(
            [worst]
            + [abs((result.values[n] or 0.0) / v - 1.0) for n, v in TRUE.items() if v]
        )  # fmt: skip
    print(f'without noise, guesses 8 times off, {min(count, 20)} seeds: worst error {worst:.1e}')
    return 0


if __name__ == '__main__':
    leave(main)
