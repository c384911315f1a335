"""The table of a compiled replay against that of the plain one."""

import os
from pathlib import Path
import signal

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from mime_motor_ros.errors import MotorError  # noqa: E402
from mime_motor_ros.offline import replay_command  # noqa: E402
from mime_motor_ros.offline.compiled import compiled_replay, why_not  # noqa: E402
from mime_motor_ros.offline.replaying import replay  # noqa: E402
from mime_motor_ros.offline.table import columns, CsvTable, row  # noqa: E402
from test_gathering import FRAMES, GEARED, recorded, TWO  # noqa: E402

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'data'
SKEW = {
    **TWO,
    'fan.asymmetry': [2e-5, 0.0, 0.0, -1e-5, 1e-5, -1e-5],
    'fan.placement.rpy': [0.3, 0.2, 0.1],
    'fan.initial_spin': -20.0,
}
WARM = {
    'wheel.mode': 'voltage',
    'wheel.voltage.resistance': 1.5,
    'wheel.voltage.torque_constant': 0.02,
    'wheel.winding.thermal_resistance': 800.0,
    'wheel.winding.thermal_capacity': 1e-4,
    'wheel.tachometer.enabled': True,
    'wheel.tachometer.noise': 0.1,
    'wheel.encoder.counts': 4096,
    'wheel.imbalance.static': 1e-5,
}


def plain(recording, parameters):
    made = replay(recording, parameters)
    return columns(made.settings), np.array([row(x, made.session) for x in made])


@pytest.mark.parametrize(
    ('more', 'motors'),
    [({}, 1), ({'wheel.group': 1, 'groups_off': '1'}, 1), (SKEW, 2), (GEARED, 1), (WARM, 1)],
    ids=['plain', 'switched off', 'two, one asymmetric', 'geared', 'warm, with sensors'],
)
def test_each_column_is_that_of_the_plain_table(tmp_path, more, motors):
    recording = recorded(tmp_path / 'r', motors=motors)
    names, right = plain(recording, {**FRAMES, **more})
    made = replay(recording, {**FRAMES, **more})
    assert why_not(made) == ''
    found = np.concatenate([np.stack(block, axis=1) for block in compiled_replay(made)])
    assert found.shape == right.shape
    for k, name in enumerate(names):
        # What a column is rounded at: its own size; a sum of energy that of what it is made of.
        size = np.nanmax(np.abs(right[:, k]), initial=0.0)
        if name.endswith('_j'):
            size = np.nanmax(np.abs(right[:, k - 2 : k + 3]))
        np.testing.assert_allclose(
            found[:, k], right[:, k], rtol=1e-12, atol=1e-12 * size, err_msg=name
        )
    assert made.session.steps == len(right)


@pytest.mark.parametrize(
    ('more', 'frame', 'why'),
    [
        ({'torque_limit': 1.0}, None, 'torque_limit makes the motors hang on each other'),
        ({}, 'base_link', 'loads may be given in axes of a rotor'),
        (
            {'wheel.encoder.counts': 8, 'wheel.measured.interval': 0.01},
            None,
            'the sensors of wheel tell late, now and then or wrongly',
        ),
    ],
)
def test_what_only_the_session_can_do_is_not_compiled(tmp_path, more, frame, why):
    made = replay(recorded(tmp_path / 'r', frame=frame), {**FRAMES, **more})
    assert why_not(made) == why
    with pytest.raises(MotorError, match=why):
        next(compiled_replay(made))


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command, as it is or uncompiled; return exit code, what it says, its complaints."""
    pytest.importorskip('numba', reason='needs numba, an extra of the package')

    def run(*args, plain=False):
        with monkeypatch.context() as patch:
            if plain:
                patch.setattr(replay_command, '_compiles', lambda made: False)
            code = replay_command.main([str(x) for x in args])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def given(parameters):
    """Return parameters as arguments."""
    return [x for k, v in parameters.items() for x in ('-p', f'{k}:={v}')]


def files(folder, run, *args, plain=False):
    """Return the bytes of both tables that a replay makes."""
    paths = folder / f'{plain}.csv', folder / f'{plain}.parquet'
    code, said, err = run(*args, '--csv', paths[0], '--parquet', paths[1], plain=plain)
    assert code == 0, err
    assert (', compiled)' in said) is not plain
    return [path.read_bytes() for path in paths]


@pytest.mark.usefixtures('restored_signals')
@pytest.mark.parametrize('more', [{'rate': 6000.0}, {**GEARED, 'rate': 200.0}, WARM])
def test_the_files_are_those_of_the_plain_replay_byte_by_byte(tmp_path, run, more):
    pytest.importorskip('pyarrow', reason='needs the package pyarrow')
    recording = recorded(tmp_path / 'r')
    args = (recording, *given(more))
    assert files(tmp_path, run, *args) == files(tmp_path, run, *args, plain=True)


@pytest.mark.usefixtures('restored_signals')
def test_beyond_computing_it_begins_again_uncompiled_and_says_so(tmp_path, run):
    recording = recorded(tmp_path / 'r')
    made, right = tmp_path / 'a.csv', tmp_path / 'b.csv'
    # Of the commands, 4 to 5 N m, this makes spins that a session leaves out.
    args = (recording, *given({'wheel.inertia': 1e-90, 'wheel.damping': 0.0}), '--csv')
    code, said, err = run(*args, made)
    assert 'The numbers grow beyond computing' in err
    assert 'It is replayed uncompiled, from its beginning.' in err
    assert 'compiled' not in said
    assert code == run(*args, right, plain=True)[0] == 0
    assert made.read_bytes() == right.read_bytes()
    assert sorted(x.name for x in tmp_path.iterdir()) == ['a.csv', 'b.csv', 'r']


@pytest.mark.usefixtures('restored_signals')
def test_interrupted_what_was_made_compiled_is_complete_to_there(tmp_path, run, monkeypatch):
    recording, out = recorded(tmp_path / 'r'), tmp_path / 'a.csv'
    rows = CsvTable.add_columns

    def interrupted(self, made):
        rows(self, made)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(CsvTable, 'add_columns', interrupted)
    code, said, err = run(recording, *given({'rate': 6000.0}), '--csv', out)
    assert code == 1
    assert err.splitlines()[-1] == 'motor_replay: interrupted: what was made is complete to there.'
    lines = out.read_text().splitlines()
    assert 100 < len(lines) < 5000
    assert len({line.count(',') for line in lines}) == 1
    assert ', compiled)' in said


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}')
@pytest.mark.parametrize('name', ['broad07_fast_rotation', 'husky_imu_odom'])
def test_a_real_recording_has_the_same_table(name):
    made = replay(SHARED / name, duration=15.0, overrides={'wheel.initial_spin': 100.0})
    begun = replay(SHARED / name, duration=15.0, overrides={'wheel.initial_spin': 100.0})
    right = np.array([row(x, begun.session) for x in begun])
    found = np.concatenate([np.stack(block, axis=1) for block in compiled_replay(made)])
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)
