"""The equations evaluated to 50 digits: data/golden/README.md tells how the files are written."""

import json
from pathlib import Path

from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
import numpy as np
import pytest

FILES = sorted((Path(__file__).parent / 'data' / 'golden').glob('*.json'))


def pose(data):
    w, x, y, z = data['orientation']
    return Pose(tuple(data['position']), (x, y, z, w))


def wrench(data):
    return Wrench(tuple(data['force']), tuple(data['torque']))


def inputs(data):
    return StepInputs(
        pose(data['mount']),
        tuple(data['mount_angular_velocity']),
        data['torque'],
        wrench(data['stator_wrench']),
        wrench(data['rotor_wrench']),
    )


def flat(value):
    """Return the numbers of nested sequences in one list."""
    return [x for part in value for x in flat(part)] if hasattr(value, '__len__') else [value]


def numbers(name, step, expected):
    """Return what a step gives under this name, and what it has to be, as lists of numbers."""
    found = getattr(step.state if name in ('angle', 'spin') else step, name)
    if name in ('stator', 'rotor'):
        right = pose(expected)
        # q and -q are one orientation
        sign = 1.0 if np.dot(found.orientation, right.orientation) > 0.0 else -1.0
        return flat(found), flat(right.position) + [sign * x for x in right.orientation]
    if name in ('reaction', 'mount_wrench'):
        return flat(found), flat(wrench(expected))
    return flat(found), flat(expected)


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_every_number_of_every_step(path):
    data = json.loads(path.read_text())
    p, state = data['parameters'], MotorState(**data['initial'])
    parameters = MotorParameters(**{**p, 'placement': pose(p['placement'])})
    for number, case in enumerate(data['steps']):
        step = advance(parameters, state, inputs(case['inputs']), data['dt'])
        for name, expected in case['expected'].items():
            found, right = numbers(name, step, expected)
            assert found == pytest.approx(right, rel=1e-11, abs=1e-12), (number, name)
        state = step.state


def test_all_cases_are_here_and_none_is_empty():
    assert len(FILES) == 6
    for path in FILES:
        steps = json.loads(path.read_text())['steps']
        assert len(steps) >= 5
        # all but the two that are only of the state and the two that follow from others
        assert all(len(case['expected']) == 13 for case in steps), path
