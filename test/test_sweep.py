"""Sweeps: what is varied, what is told of it, and that nothing finished is lost."""

import csv
import itertools
import math
import os
from pathlib import Path
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')
pq = pytest.importorskip('pyarrow.parquet', reason='needs the package pyarrow')

from mime_motor_ros.drive import Active  # noqa: E402
from mime_motor_ros.errors import MotorError, ParameterError  # noqa: E402
from mime_motor_ros.offline.replaying import replay  # noqa: E402
from mime_motor_ros.offline.sweeping.command import main  # noqa: E402
from mime_motor_ros.offline.sweeping.figures import FIGURES  # noqa: E402
from mime_motor_ros.offline.sweeping.points import points  # noqa: E402
from mime_motor_ros.offline.sweeping.specification import read  # noqa: E402
from mime_motor_ros.offline.sweeping.sweeping import Stopped, sweep  # noqa: E402
from test_gathering import recorded  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / 'shared' / 'data'
FRAMES = {'world_frame': 'odom', 'mount_frame': 'base_link'}
DRIVEN = {
    **FRAMES,
    'motors': ['wheel', 'fan'],
    'rate': 200.0,
    'wheel.mode': 'velocity',
    'wheel.velocity.kp': 1e-3,
    'wheel.velocity.ki': 1e-2,
    'wheel.limit.torque': 2e-3,
    'wheel.friction.coulomb': 1e-4,
    'wheel.voltage.resistance': 1.5,
    'wheel.voltage.torque_constant': 0.02,
    'wheel.winding.thermal_resistance': 800.0,
    'wheel.winding.thermal_capacity': 1e-4,
    'wheel.gear.ratio': 3.0,
    'wheel.gear.inertia': 1e-6,
    'fan.axis': [0.0, 1.0, 1.0],
    'fan.initial_spin': 50.0,
}


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """Return a recording of one second with a pause, for two motors."""
    return str(recorded(tmp_path_factory.mktemp('sweep') / 'walk', motors=2))


@pytest.fixture(scope='module')
def lone(tmp_path_factory):
    """Return the same for one motor."""
    return str(recorded(tmp_path_factory.mktemp('sweep') / 'lone', motors=1))


# what is varied


def test_a_grid_is_the_product_of_its_values_and_the_last_changes_fastest():
    made = points(
        read(
            {
                'vary': {
                    'wheel.inertia': {'from': 1e-4, 'to': 1e-2, 'steps': 3, 'scale': 'log'},
                    'wheel.damping': {'from': 0.0, 'to': 1.0, 'steps': 2},
                    'wheel.mode': ['torque', 'damper'],
                }
            }
        )
    )
    grid = itertools.product([1e-4, 1e-3, 1e-2], [0.0, 1.0], ['torque', 'damper'])
    for k, (inertia, damping, mode) in enumerate(grid):
        assert made.values(k) == (pytest.approx(inertia, rel=1e-15), damping, mode)
    assert len(made) == 12
    assert made.columns() == ['wheel.inertia_kg_m2', 'wheel.damping_n_m_s', 'wheel.mode']


def test_each_point_of_the_grid_sees_the_same_samples_and_a_seed_changes_them():
    vary = {'wheel.inertia': [1e-4, 1e-3], 'wheel.damping': {'uniform': {'low': 0, 'high': 1}}}
    one, other = (points(read({'vary': vary, 'samples': 5, 'seed': s})) for s in (1, 2))
    drawn = [one.values(k)[1] for k in range(10)]
    assert drawn[:5] == drawn[5:]
    assert len(set(drawn)) == 5
    assert {other.values(k)[1] for k in range(5)}.isdisjoint(drawn)


@pytest.mark.parametrize(
    ('how', 'mean', 'std', 'low', 'high'),
    [
        ({'uniform': {'low': 2.0, 'high': 4.0}}, 3.0, 2.0 / 12**0.5, 2.0, 4.0),
        (
            {'uniform': {'low': 1.0, 'high': math.e, 'scale': 'log'}},
            math.e - 1.0,
            math.sqrt((math.e**2 - 1.0) / 2.0 - (math.e - 1.0) ** 2),
            1.0,
            math.e,
        ),
        ({'normal': {'mean': 5.0, 'std': 0.5}}, 5.0, 0.5, 2.0, 8.0),
        # Half a normal distribution: sqrt(2 / pi), and the root of 1 - 2 / pi.
        (
            {'normal': {'mean': 0.0, 'std': 1.0, 'low': 0.0}},
            (2.0 / math.pi) ** 0.5,
            (1.0 - 2.0 / math.pi) ** 0.5,
            0.0,
            6.0,
        ),
        (
            {'lognormal': {'median': 2.0, 'sigma': 0.25}},
            2.0 * math.exp(0.03125),
            2.0 * math.exp(0.03125) * math.sqrt(math.exp(0.0625) - 1.0),
            0.5,
            8.0,
        ),
        (
            {'lognormal': {'median': 2.0, 'sigma': 0.25, 'low': 1.0, 'high': 2.0}},
            1.6602,
            0.22695,
            1.0,
            2.0,
        ),
    ],
)
def test_samples_have_the_distribution_that_was_asked_for(how, mean, std, low, high):
    made = points(read({'vary': {'wheel.damping': how}, 'samples': 20_000}))
    drawn = np.array([made.values(k)[0] for k in range(20_000)])
    assert drawn.mean() == pytest.approx(mean, abs=0.03 * std)
    assert drawn.std() == pytest.approx(std, rel=0.03)
    assert (low <= drawn.min(), drawn.max() <= high) == (True, True)


def test_a_million_points_take_no_memory():
    made = points(
        read(
            {
                'vary': {
                    'wheel.inertia': {'from': 1e-4, 'to': 1e-3, 'steps': 1000},
                    'wheel.damping': {'normal': {'mean': 1.0, 'std': 0.1}},
                },
                'samples': 1_000_000,
            }
        )
    )
    assert len(made) == 1_000_000_000
    assert made.values(len(made) - 1)[0] == 1e-3


VARY = {'wheel.inertia': [1e-4]}
WRONG = [
    ({'vary': {}}, 'vary must be parameters and what each of them takes, got {}.'),
    ({'vry': VARY}, "vry must be a name that a sweep knows, got 'vry'. Did you mean vary?"),
    ({'vary': {'wheel.inertia': []}}, 'vary.wheel.inertia must be at least one value, got [].'),
    ({'vary': {'wheel.inertia': 3}}, 'vary.wheel.inertia must be a list of values, {from:, to:,'),
    (
        {'vary': {'wheel.inertia': {'from': 1, 'to': 2}}},
        'vary.wheel.inertia.steps must be a whole',
    ),
    (
        {'vary': {'wheel.inertia': {'from': 1, 'to': math.nan, 'steps': 2}}},
        'vary.wheel.inertia.to must be a finite number, got nan.',
    ),
    (
        {'vary': {'wheel.inertia': {'from': 0, 'to': 1, 'steps': 2, 'scale': 'log'}}},
        'vary.wheel.inertia must be from and to > 0 on a scale: log, got 0 and 1.',
    ),
    (
        {'vary': {'wheel.inertia': {'from': 1, 'to': 2, 'steps': 2, 'scal': 'log'}}},
        'Did you mean scale?',
    ),
    (
        {'vary': {'wheel.inertia': {'normal': {'mean': 1, 'std': 0}}}, 'samples': 2},
        'vary.wheel.inertia.normal.std must be > 0, got 0.0.',
    ),
    (
        {'vary': {'wheel.inertia': {'uniform': {'low': 2, 'high': 1}}}, 'samples': 2},
        'vary.wheel.inertia.uniform must be low < high, got 2 and 1.',
    ),
    (
        {'vary': {'wheel.inertia': {'normal': {'mean': 1, 'std': 1, 'low': 99}}}, 'samples': 2},
        'some of the distribution',
    ),
    (
        {'vary': {'wheel.inertia': {'uniform': {'low': 1, 'high': 2}}}},
        'samples must be a whole number >= 1 where a parameter has a distribution, got nothing.',
    ),
    ({'vary': VARY, 'samples': 3}, 'samples must be left out where no parameter has a distri'),
    ({'vary': VARY, 'seed': 1.5}, 'seed must be a whole number from 0 to'),
    ({'vary': VARY, 'figures': ['peak_torqe']}, "got 'peak_torqe'. Did you mean peak_torque?"),
    ({'vary': VARY, 'figures': 3}, 'figures must be a list of texts, got 3.'),
    ({'vary': VARY, 'by': 'chance'}, "by must be receipt or stamp, got 'chance'."),
    ({'vary': VARY, 'duration': -1}, 'duration must be finite and > 0 s, got -1.'),
    ({'vary': VARY, 'columns': [1]}, 'columns must be names of inputs and the columns of a'),
    ({'vary': VARY, 'parameters': [1]}, 'parameters must be the path of a parameter file, or'),
    ({'vary': {'wheel.inertai': [1e-4]}}, 'Did you mean wheel.inertia?'),
    ({'vary': {'qwertz': [1e-4]}}, "vary must be parameters of the node, got 'qwertz'."),
    ({'vary': {'motors': [['a']]}}, "vary must be other parameters than motors, got 'motors'."),
    ({'vary': {'wheel.axis': [1.0]}}, 'values that are lists of 3 numbers, got 1.0.'),
    (
        {'vary': {f'wheel.{x}': {'from': 0, 'to': 1, 'steps': 1000000} for x in ('a', 'b')}},
        'vary must be at most 1000000000 points, got 1000000000000.',
    ),
]


@pytest.mark.parametrize(('given', 'text'), WRONG, ids=[text[:40] for _, text in WRONG])
def test_what_cannot_be_swept_is_said_in_one_line(given, text):
    with pytest.raises(MotorError) as caught:
        points(read(given))
    assert text in str(caught.value)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('vary: {a: [', 'is not YAML'),
        ('vary: {wheel.inertia: [1], wheel.inertia: [2]}', 'wheel.inertia is there twice'),
        ('- 1', 'must have names with a colon'),
        ('', 'must have names with a colon, as vary: ..., got nothing.'),
        ('vary: {? [a] : [1]}', 'is not YAML'),
        ('vary: 2026-13-45', 'is not YAML'),
        ('\0', 'is not YAML'),
        ('vary: {wheel.inertia: [1e-4]}\nparameters: none.yaml', 'cannot be read: No such file'),
        ('a: &a [*a, *a]\nvary: *a', 'must be a name that a sweep knows'),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(tmp_path, capsys, text, said):
    path = tmp_path / 'sweep.yaml'
    path.write_text(text)
    assert main([str(path), '--out', str(tmp_path / 'a.csv')]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1


def test_numbers_are_those_of_a_parameter_file(tmp_path):
    path = tmp_path / 'sweep.yaml'
    path.write_text('vary: {wheel.inertia: [1e-4, 2.5E+3, 1]}')
    assert read(path).vary[0].values == (1e-4, 2500.0, 1)


# what is told of it


def test_every_figure_is_that_of_the_steps_of_a_replay(recording):
    given = {'parameters': DRIVEN, 'figures': list(FIGURES)}
    inertias = (2e-4, 1e-3)
    table = sweep({**given, 'vary': {'wheel.inertia': list(inertias)}}, [recording])
    size = np.linalg.norm
    for k, inertia in enumerate(inertias):
        outcomes = list(replay(recording, {**DRIVEN, 'wheel.inertia': inertia}))
        dt = np.array([x.dt for x in outcomes])
        wheel = [x.steps[0] for x in outcomes]
        drive = [x.drives[0] for x in outcomes]
        force = [size(x.mount_wrench().force) for x in outcomes]
        torque = np.array([size(x.mount_wrench().torque) for x in outcomes])
        reaction = np.array([size(x.reaction().torque) for x in outcomes])
        momentum = [size(np.add(x.momentum(0), x.momentum(1))) for x in outcomes]
        spin, speed = (
            np.array([x.state.spin for x in wheel]),
            np.array([x.relative_speed for x in wheel]),
        )
        tau = np.array([x.torque for x in wheel])
        friction = np.array([x.friction_torque for x in wheel])
        i, V, T = (
            np.array([getattr(x, n) for x in drive]) for n in ('current', 'voltage', 'temperature')
        )
        limited = np.array([x.active & ~Active.DEAD_ZONE != 0 for x in drive])
        energy = 0.5 * inertia * spin**2 + 0.5e-6 * np.array([x.drive_spin for x in wheel]) ** 2

        def rms(x, dt=dt):
            return math.sqrt((x**2 * dt).sum() / dt.sum())

        right = {
            'peak_mount_force_n': max(force),
            'peak_mount_torque_n_m': torque.max(),
            'rms_mount_torque_n_m': rms(torque),
            'peak_reaction_torque_n_m': reaction.max(),
            'rms_reaction_torque_n_m': rms(reaction),
            'peak_momentum_n_m_s': max(momentum),
            'final_momentum_n_m_s': momentum[-1],
            'wheel.peak_spin_rad_s': abs(spin).max(),
            'wheel.rms_spin_rad_s': rms(spin),
            'wheel.final_spin_rad_s': spin[-1],
            'wheel.peak_speed_rad_s': abs(speed).max(),
            'wheel.final_speed_rad_s': speed[-1],
            'wheel.final_angle_rad': wheel[-1].state.angle,
            'wheel.peak_torque_n_m': abs(tau).max(),
            'wheel.rms_torque_n_m': rms(tau),
            'wheel.peak_power_w': abs(tau * speed).max(),
            'wheel.drive_work_j': (tau * speed * dt).sum(),
            'wheel.friction_heat_j': -(friction * speed * dt).sum(),
            'wheel.peak_rotor_energy_j': energy.max(),
            'wheel.final_rotor_energy_j': energy[-1],
            'wheel.peak_current_a': abs(i).max(),
            'wheel.rms_current_a': rms(i),
            'wheel.peak_voltage_v': abs(V).max(),
            'wheel.electrical_energy_j': (V * i * dt).sum(),
            'wheel.peak_temperature_deg_c': T.max(),
            'wheel.final_temperature_deg_c': T[-1],
            'wheel.saturation_time_s': (limited * dt).sum(),
            'fan.final_spin_rad_s': outcomes[-1].steps[1].state.spin,
        }
        assert {name: table[name][k] for name in right} == pytest.approx(right, rel=1e-9)
        assert right['wheel.saturation_time_s'] > 0.05
        assert right['wheel.peak_temperature_deg_c'] > 25.5
    for name in ('peak_current_a', 'electrical_energy_j', 'final_temperature_deg_c'):
        assert np.isnan(table[f'fan.{name}']).all()  # which has no armature
    assert len(table) == 3 + sum(1 + f.of_motor for f in FIGURES.values())


def test_what_changes_the_steps_themselves_has_a_gathering_of_its_own(lone):
    values = {
        'rate': [100.0, 250.0],
        'wheel.command.delay': [0.0, 0.05],
        'command_timeout': [0.05, 0.5],
    }
    base = {**FRAMES, 'wheel.inertia': 1.0, 'wheel.command.max_delay': 0.1}
    table = sweep({'parameters': base, 'vary': values, 'figures': ['final_spin']}, [lone])
    right = []
    for rate, delay, timeout in itertools.product(*values.values()):
        more = {'rate': rate, 'wheel.command.delay': delay, 'command_timeout': timeout}
        *_, last = replay(lone, {**base, **more})
        right.append(last.steps[0].state.spin)
    assert table['wheel.final_spin_rad_s'].tolist() == pytest.approx(right, rel=1e-12)
    assert len(set(right)) == 8


@pytest.mark.parametrize('frame', ['base_link', None])
def test_the_place_of_a_stator_counts_for_loads_and_for_the_arm(tmp_path, frame):
    walk = recorded(tmp_path / 'walk', frame=frame)
    places = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.1]]
    base = {**FRAMES, 'rate': 100.0, 'wheel.imbalance.static': 1e-3, 'wheel.initial_spin': 20.0}
    given = {'parameters': base, 'vary': {'wheel.placement.xyz': places}}
    table = sweep({**given, 'figures': ['peak_mount_torque']}, [walk])
    right = []
    for place in places:
        outcomes = replay(walk, {**base, 'wheel.placement.xyz': place})
        right.append(max(np.linalg.norm(x.mount_wrench().torque) for x in outcomes))
    assert table['peak_mount_torque_n_m'].tolist() == pytest.approx(right, rel=1e-9)
    assert right[0] != pytest.approx(right[1], rel=1e-3)
    assert table['wheel.placement.xyz_x_m'].tolist() == [0.0, 0.3]


def test_points_that_grow_beyond_computing_are_nan_and_no_others(lone):
    table = sweep(
        {
            'parameters': {**FRAMES, 'rate': 100.0, 'wheel.friction.cubic': 0.0},
            'vary': {'wheel.initial_spin': [1.0, 1e308, 2.0]},
            'figures': ['final_spin', 'peak_momentum'],
        },
        [lone],
    )
    assert np.isfinite(table['wheel.final_spin_rad_s'][[0, 2]]).all()


# the table and the command


def written(folder, text, name='sweep.yaml'):
    path = folder / name
    path.write_text(text)
    return str(path)


def rows_of(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file))


SMALL = """
parameters: {world_frame: odom, mount_frame: base_link, rate: 100.0}
vary:
  wheel.inertia: [1e-4, 1e-3]
  wheel.damping: {normal: {mean: 1e-4, std: 1e-5}}
samples: 3
figures: [final_spin, peak_mount_torque]
"""


def test_the_table_has_a_row_of_each_recording_and_point_in_order(
    tmp_path, lone, recording, capsys
):
    given = written(tmp_path, SMALL)
    other = str(recorded(tmp_path / 'other', seconds=0.5))
    code = main([given, lone, other, '--out', str(tmp_path / 'a.csv')])
    said = capsys.readouterr()
    assert (code, said.err) == (0, 'motor_sweep: 6 points x 2 recordings\n')
    assert said.out.startswith(f'12 rows in {tmp_path / "a.csv"}: 12 runs in ')
    rows = rows_of(tmp_path / 'a.csv')
    assert [row['recording'] for row in rows] == [lone] * 6 + [other] * 6
    assert [row['point'] for row in rows] == [*'012345'] * 2
    assert [row['sample'] for row in rows] == [*'012'] * 4
    assert [float(row['wheel.inertia_kg_m2']) for row in rows] == ([1e-4] * 3 + [1e-3] * 3) * 2
    assert list(rows[0])[3:] == [
        'wheel.inertia_kg_m2',
        'wheel.damping_n_m_s',
        'peak_mount_torque_n_m',
        'wheel.final_spin_rad_s',
    ]
    assert main([given, lone, other, '--out', str(tmp_path / 'a.parquet')]) == 0
    table = pq.read_table(tmp_path / 'a.parquet').to_pydict()
    assert table['wheel.final_spin_rad_s'] == [float(x['wheel.final_spin_rad_s']) for x in rows]
    assert not [x for x in tmp_path.iterdir() if x.name.endswith('.work')]


def test_a_table_that_is_there_is_not_replaced_unasked(tmp_path, lone, capsys):
    given, out = written(tmp_path, SMALL), tmp_path / 'a.csv'
    out.write_text('mine')
    assert main([given, lone, '--out', str(out)]) == 1
    assert f'{out} is there already' in capsys.readouterr().err
    assert out.read_text() == 'mine'
    assert main([given, lone, '--out', str(out), '--overwrite']) == 0
    assert out.read_text().startswith('recording,')


def test_a_bad_point_ends_it_before_anything_runs(tmp_path, lone, capsys):
    text = SMALL.replace('[1e-4, 1e-3]', '[1e-4, -1.0]')
    assert main([written(tmp_path, text), lone, '--out', str(tmp_path / 'a.csv')]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith('motor_sweep: point 3 (wheel.inertia -1, wheel.damping ')
    assert last.endswith('): wheel.inertia must be finite and > 0 kg m^2, got -1.0.')
    assert not list(tmp_path.rglob('part-*'))


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['gone'], 'gone'),
        ([], 'recordings must be at least one recording, got nothing.'),
        (['{}', '{}'], 'recordings must be each there once'),
        (['{}', '--out', 'a.txt'], 'a.txt must end in .csv or .parquet.'),
        (['{}', '--out', 'no/a.csv'], 'no/a.csv cannot be written: there is no folder no.'),
        (['{}', '--scheduler', 'tcp://127.0.0.1:9'], 'there is no scheduler at tcp://127.0.0.1:9'),
        (['{}', '--scheduler', 'junk://x'], 'there is no scheduler at junk://x'),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    tmp_path, lone, capsys, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    if '--scheduler' in arguments:
        pytest.importorskip('distributed', reason='needs the package distributed')
    arguments = [x.format(lone) for x in arguments]
    assert main([written(tmp_path, SMALL), '--out', 'a.csv', *arguments]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert said in last
    assert last.startswith('motor_sweep: ')


def test_a_folder_with_chunks_of_another_sweep_is_refused(tmp_path, lone):
    work = tmp_path / 'work'
    given = {'parameters': FRAMES, 'vary': {'wheel.inertia': [1e-4]}, 'figures': ['final_spin']}
    sweep(given, [lone], work=work)
    with pytest.raises(MotorError, match='chunks of another sweep, of other vary. Remove it'):
        sweep({**given, 'vary': {'wheel.inertia': [2e-4]}}, [lone], work=work)


def test_a_recording_without_steps_is_said_in_one_line(lone):
    given = {'parameters': {'world_frame': 'moon'}, 'vary': VARY}
    with pytest.raises(MotorError, match='lone gives no step: mount pose: '):
        sweep(given, [lone])


def test_the_example_runs_as_it_stands(tmp_path, lone, capsys):
    out = tmp_path / 'a.parquet'
    assert main([str(ROOT / 'config' / 'sweep.yaml'), lone, '--out', str(out)]) == 0
    assert pq.read_table(out).num_rows == 100


def test_all_figures_are_listed_with_their_units(capsys):
    assert main(['--list-figures']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FIGURES)
    assert 'peak_power           [W] of each motor: largest size of torque times speed of the' in (
        next(line for line in lines if line.startswith('peak_power'))
    )


# nothing finished is lost

MANY = """
parameters: {world_frame: odom, mount_frame: base_link, rate: 5000.0}
vary: {wheel.inertia: {uniform: {low: 1e-4, high: 1e-3}}}
samples: 1000
figures: [final_spin, rms_mount_torque]
"""
COMMAND = [sys.executable, '-m', 'mime_motor_ros.offline.sweeping.command']


def begun(arguments, work, parts=2):
    """Start a sweep; return its process once some chunks are there."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and len(list(work.glob('part-*.npy'))) < parts:
        time.sleep(0.005)
    return process


@pytest.fixture(scope='module')
def whole(tmp_path_factory, lone):
    """Return specification, and the bytes of its table made in one go by one worker."""
    folder = tmp_path_factory.mktemp('whole')
    given = written(folder, MANY)
    assert main([given, lone, '--out', str(folder / 'a.parquet'), '--workers', '1']) == 0
    return given, (folder / 'a.parquet').read_bytes()


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_was_ended_goes_on_and_gives_the_same_bytes(tmp_path, lone, whole, number):
    given, right = whole
    out = tmp_path / 'a.parquet'
    arguments = [given, lone, '--out', str(out), '--workers', '2']
    process = begun(arguments, tmp_path / 'a.parquet.work')
    process.send_signal(number)
    _, error = process.communicate()
    left = {x.name: x.stat().st_mtime_ns for x in tmp_path.glob('a.parquet.work/part-*.npy')}
    assert 2 <= len(left) < 9
    assert not out.exists()
    if number == signal.SIGINT:
        assert process.returncode == 1
        finished = min(len(left) * 113, 1000)  # of 4425 steps each
        assert f'interrupted: {finished} of 1000 runs are finished' in error
        assert 'the same command goes on from there' in error
    again = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True)
    assert f'{min(len(left) * 113, 1000)} were there already' in again.stdout
    assert out.read_bytes() == right


def test_a_chunk_that_is_not_whole_is_run_again(tmp_path, lone):
    given = {'parameters': FRAMES, 'vary': {'wheel.inertia': [1e-4, 1e-3]}}
    work = tmp_path / 'work'
    before = sweep(given, [lone], work=work)
    (part,) = work.glob('part-*.npy')
    for text in (b'', part.read_bytes()[:-8]):
        part.write_bytes(text)
        after = sweep(given, [lone], work=work)
        for name, values in before.items():
            np.testing.assert_array_equal(after[name], values)


def test_a_recording_that_was_half_read_when_it_was_stopped_is_read_again(tmp_path, lone):
    given = {'parameters': {**FRAMES, 'rate': 10_000.0}, 'vary': {'wheel.inertia': [1e-3]}}
    right = sweep(given, [lone])
    asked = []
    with pytest.raises(Stopped, match='0 of 1 runs are finished'):
        sweep(
            given,
            [lone],
            work=tmp_path / 'work',
            show=lambda what, done, of: asked.append(1) if what.startswith('reading') else None,
            stop=lambda: bool(asked),
        )
    after = sweep(given, [lone], work=tmp_path / 'work')
    assert after['wheel.final_spin_rad_s'].tolist() == right['wheel.final_spin_rad_s'].tolist()


def test_a_recording_that_is_cut_is_told_of_as_often_as_it_is_used(tmp_path, capsys):
    log = tmp_path / 'log.csv'
    log.write_text('t_s,u\n0.0,1.0\n0.1,1.0\n0.2,oops\n')
    still = 'parameters: {world_frame: base_link, rate_source: zero}\ncolumns: {wheel.command: u}'
    given = written(tmp_path, f'{still}\nvary: {{wheel.inertia: [1e-3]}}')
    for name in ('a.csv', 'b.csv'):
        assert main([given, str(log), '--out', str(tmp_path / name)]) == 0
        assert 'log.csv' in capsys.readouterr().err.splitlines()[-1]


PLAIN = """
import sys
sys.modules['numba'] = None
from mime_motor_ros.offline.sweeping.command import main
if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_without_numba_processes_give_the_same_numbers(tmp_path, lone):
    script = written(tmp_path, PLAIN, 'plain.py')
    given = written(tmp_path, SMALL)
    out = [str(tmp_path / name) for name in ('a.csv', 'b.csv')]
    for arguments in (
        [*COMMAND, given, lone, '--out', out[0]],
        [sys.executable, script, given, lone, '--out', out[1], '--workers', '2'],
    ):
        made = subprocess.run(arguments, capture_output=True, text=True, check=True)
        assert made.stderr == 'motor_sweep: 6 points x 1 recordings\n'
    compiled, plain = map(rows_of, out)
    for a, b in zip(compiled, plain, strict=True):
        assert {x: float(y) for x, y in a.items() if x != 'recording'} == pytest.approx(
            {x: float(y) for x, y in b.items() if x != 'recording'}, rel=1e-12
        )


@pytest.mark.slow
@pytest.mark.parametrize('kills', [False, True], ids=['whole', 'a worker is killed'])
def test_a_cluster_of_two_processes_gives_the_same_bytes(tmp_path, lone, whole, kills):
    distributed = pytest.importorskip('distributed', reason='needs the package distributed')
    given, right = whole
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host='127.0.0.1'
    ) as cluster:
        out = tmp_path / 'a.parquet'
        arguments = [given, lone, '--out', str(out), '--scheduler', cluster.scheduler_address]
        process = begun(arguments, tmp_path / 'a.parquet.work')
        if kills:
            os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)
        said, error = process.communicate()
    assert (process.returncode, error) == (0, 'motor_sweep: 1000 points x 1 recordings\n')
    assert said.startswith('1000 rows in ')
    assert out.read_bytes() == right


# the page


def page(kind):
    """Return the code of a kind in the section of the page."""
    text = (ROOT / 'doc' / 'offline.md').read_text().split('\n## motor_sweep\n')[1]
    return re.findall(rf'```{kind}\n(.*?)```', text.split('\n## ')[0], re.DOTALL)


@pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}')
@pytest.mark.parametrize('command', page('sh')[0].splitlines())
def test_a_command_of_the_page_runs_as_it_stands(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setenv('DATA', str(SHARED))
    monkeypatch.setenv('OUT', str(tmp_path))
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(os.path.expandvars(command))
    assert (program, main(arguments)) == ('motor_sweep', 0)
    assert ' rows in ' in capsys.readouterr().out


@pytest.mark.parametrize('code', page('python'))
def test_the_python_of_the_page_runs_as_it_stands(monkeypatch, capsys, lone, code):
    monkeypatch.chdir(ROOT)
    exec(code.replace("'recording'", repr(lone)), {})
    assert capsys.readouterr().out.startswith('[')


@pytest.mark.parametrize('text', ['# my notes {', '[1]', '{"vary": {}, "recordings": []}', ''])
def test_a_folder_with_a_file_of_that_name_is_not_taken_either(tmp_path, text):
    from mime_motor_ros.offline.sweeping.work import Folder, WorkError

    (tmp_path / 'sweep.json').write_text(text)
    with pytest.raises(WorkError, match='must be a new folder, or that of a sweep'):
        Folder(tmp_path, {})
    assert (tmp_path / 'sweep.json').read_text() == text


def test_of_a_folder_no_more_goes_than_was_made(tmp_path):
    from mime_motor_ros.offline.sweeping.work import Folder

    folder = Folder(tmp_path / 'work', {})
    (tmp_path / 'work' / 'thesis.txt').write_text('years')
    folder.remove()
    assert [x.name for x in (tmp_path / 'work').iterdir()] == ['thesis.txt']


def test_the_table_is_no_file_of_the_work_and_no_file_that_is_read(tmp_path, lone, capsys):
    spec = tmp_path / 'spec.csv'
    spec.write_text('vary: {wheel.inertia: [1e-4, 2e-4]}')
    work = tmp_path / 'work'
    work.mkdir()
    for out in (work / 'a.csv', spec):
        arguments = [spec, lone, '--out', out, '--work', work, '--overwrite']
        assert main([str(x) for x in arguments]) == 1
    one, other = capsys.readouterr().err.splitlines()
    assert 'must not be in' in one
    assert 'must be apart from' in other
    assert 'vary' in spec.read_text()


def test_a_table_that_another_made_meanwhile_stays(tmp_path, lone):
    from mime_motor_ros.offline.writing import OutputError

    out = tmp_path / 'a.csv'

    def show(what, done, of):
        out.write_text('mine')

    given = {'vary': {'wheel.inertia': [1e-4, 2e-4]}}
    with pytest.raises(OutputError, match='is there already|was made by another meanwhile'):
        sweep(given, [lone], out=out, show=show)
    assert out.read_text() == 'mine'


def test_one_path_is_one_recording_and_workers_are_counted(lone):
    given = {'vary': {'wheel.inertia': [1e-4, 2e-4]}, 'figures': ['final_spin']}
    assert len(sweep(given, lone)['recording']) == 2
    with pytest.raises(ParameterError, match='workers must be a whole number >= 1, got 0'):
        sweep(given, [lone], workers=0)


def test_links_in_a_circle_are_no_output(tmp_path, lone, capsys):
    (tmp_path / 'a.csv').symlink_to('a.csv')
    (tmp_path / 's.yaml').write_text('vary: {wheel.inertia: [1e-4, 2e-4]}')
    arguments = [tmp_path / 's.yaml', lone, '--out', tmp_path / 'a.csv', '--overwrite']
    assert main([str(x) for x in arguments]) == 1
    assert 'a.csv' in capsys.readouterr().err


def test_a_folder_in_which_nothing_was_made_yet_is_taken_by_another_sweep(tmp_path):
    from mime_motor_ros.offline.sweeping.work import Folder, WorkError

    for identity in ({'seed': 1}, {'seed': 2}):
        folder = Folder(tmp_path / 'work', identity)
        assert identity.items() <= folder.read('sweep.json').items()
        folder.close()
    (tmp_path / 'work' / 'part-0000-000000.npy').write_bytes(b'')
    with pytest.raises(WorkError, match='has chunks of another sweep, of other seed'):
        Folder(tmp_path / 'work', {'seed': 3})


def test_a_folder_with_other_things_in_it_is_never_taken_for_work(tmp_path):
    from mime_motor_ros.offline.sweeping.work import Folder, WorkError

    (tmp_path / 'thesis.txt').write_text('years')
    with pytest.raises(WorkError, match='must be a new folder, or that of a sweep'):
        Folder(tmp_path, {})
    assert [x.name for x in tmp_path.iterdir()] == ['thesis.txt']
