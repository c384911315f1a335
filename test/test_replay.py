"""``motor_replay``: recordings and logs through the session of the node, and what is made."""

import csv
from itertools import islice, pairwise
import json
from math import isnan
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from bench_replay import make, replayed  # noqa: E402
from mime_motor_ros.errors import MotorError  # noqa: E402
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Transform  # noqa: E402
from mime_motor_ros.model import advance, MotorParameters, MotorState, StepInputs  # noqa: E402
from mime_motor_ros.offline import (
    replay,  # noqa: E402
    replay_command,  # noqa: E402
)
from mime_motor_ros.offline.feed import Arrived, by_stamp  # noqa: E402
from mime_motor_ros.offline.recording import Recording, RecordingError  # noqa: E402
from mime_motor_ros.offline.table import columns, row  # noqa: E402
from mime_motor_ros.settings import settings  # noqa: E402
import numpy as np  # noqa: E402
from rosbags import rosbag2, typesys  # noqa: E402
from test_recording import imu, ros, START_NS, tf, write  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / 'shared' / 'data'
needs_recordings = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}'
)
pytestmark = pytest.mark.usefixtures('restored_signals')


@pytest.fixture
def run(capsys):
    """Run the command; return its exit code, what it says and what it complains of."""

    def run(*args):
        code = replay_command.main([str(x) for x in args])
        out, err = capsys.readouterr()
        lines = [line.removeprefix('motor_replay: ') for line in err.splitlines()]
        return code, out, lines

    return run


def recorded(folder, seconds=0.2, rates=(0.1, 0.2, 0.5), late_ns=0):
    """Write a mount that turns: a pose and a rate every 10 ms, the rate received late."""
    messages = [('/tf_static', START_NS, tf(START_NS, 'base_link', 'imu_link'))]
    for k in range(round(seconds * 100) + 1):
        stamp_ns = START_NS + k * 10_000_000
        rate = tuple(x * (1 + k) for x in rates)
        messages.append(('/tf', stamp_ns, tf(stamp_ns, 'odom', 'base_link')))
        messages.append(('/imu/data', stamp_ns + late_ns, imu(stamp_ns, rate)))
    return write(folder, sorted(messages, key=lambda x: x[1]))


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


# what a step gives


def test_a_torque_of_a_log_turns_the_wheel_as_the_model_says(tmp_path, run):
    log = tmp_path / 'bench.csv'
    log.write_text('t_s,torque_cmd_Nm\n' + ''.join(f'{1 + k / 100},{0.1 * k}\n' for k in range(6)))
    out = tmp_path / 'steps.csv'
    code, said, _ = run(log, '-p', 'rate:=100.0', '-p', 'wheel.inertia:=0.02', '--csv', out)
    assert code == 0
    assert said.startswith('5 steps, 50 ms in ')
    state, parameters = MotorState(), MotorParameters(0.02, 1e-5)
    rows = table(out)
    assert len(rows) == 5
    for k, made in enumerate(rows, 1):
        step = advance(parameters, state, StepInputs(torque=0.1 * k), 0.01)
        state = step.state
        assert int(made['stamp_ns']) == 1_000_000_000 + k * 10_000_000
        assert float(made['wheel.command']) == 0.1 * k
        assert float(made['wheel.spin_rad_s']).hex() == state.spin.hex()
        assert float(made['wheel.angle_rad']).hex() == state.angle.hex()
        assert float(made['reaction_torque_z_n_m']) == step.reaction.torque[2]
        assert float(made['momentum_world_z_n_m_s']) == 0.02 * state.spin
    work = float(rows[-1]['wheel.work_j'])
    kept = float(rows[-1]['wheel.dissipated_j']) + float(rows[-1]['wheel.stored_j'])
    assert work == pytest.approx(kept, rel=1e-12)
    assert float(rows[-1]['wheel.stored_j']) == pytest.approx(0.01 * state.spin**2, rel=1e-12)


def test_the_table_has_the_columns_of_what_a_motor_has():
    plain = columns(settings({}))
    assert plain[:2] == ['stamp_ns', 'dt_s']
    assert not [x for x in plain if x.endswith(('_a', '_v', 'deg_c')) or 'measured' in x]
    rich = columns(
        settings(
            {
                'wheel.voltage.resistance': 1.0,
                'wheel.voltage.torque_constant': 0.1,
                'wheel.winding.thermal_resistance': 1.0,
                'wheel.winding.thermal_capacity': 1.0,
                'wheel.encoder.counts': 100,
            }
        )
    )
    assert [x for x in rich if x not in plain] == [
        'wheel.current_a',
        'wheel.voltage_v',
        'wheel.temperature_deg_c',
        'wheel.measured_position_rad',
        'wheel.measured_speed_rad_s',
        'wheel.measured_torque_n_m',
    ]
    assert set(plain) <= set(rich)


def test_both_tables_hold_the_same_numbers_to_the_bit(tmp_path, run):
    pq = pytest.importorskip('pyarrow.parquet', reason='needs the package pyarrow')
    bag = recorded(tmp_path / 'bag', 1.0)
    made = tmp_path / 'a.csv', tmp_path / 'a.parquet'
    code, _, _ = run(bag, '--csv', made[0], '--parquet', made[1], '-p', 'rate:=5000.0')
    assert code == 0
    rows, read = table(made[0]), pq.read_table(made[1])
    assert read.column_names == list(rows[0])
    assert len(rows) == read.num_rows > 4096  # more than a group of rows
    assert pq.ParquetFile(made[1]).num_row_groups > 1
    for name in read.column_names:
        numbers = read[name].to_numpy()
        given = np.array([float(row[name]) for row in rows])
        assert np.array_equal(given, numbers.astype(float), equal_nan=True), name


def test_a_table_is_read_again_as_a_log_and_gives_itself(tmp_path, run):
    log, first, again = (tmp_path / name for name in ('bench.csv', 'a.csv', 'b.csv'))
    log.write_text('t_s,wx_rad_s,wy_rad_s,wz_rad_s,wheel.command\n')
    with open(log, 'a') as file:
        file.writelines(f'{1 + k / 1000},0.1,{k},{-k},{0.01 * k}\n' for k in range(100))
    assert run(log, '--csv', first)[0] == 0
    code, _, lines = run(first, '-p', 'world_frame:=base_link', '--csv', again)
    assert code == 0
    assert 'wheel.command (command of wheel)' in lines[-1]
    assert again.read_bytes() == first.read_bytes()


# order


def arrivals(*stamps):
    return [Arrived(0, 0, 'imu', (Imu(stamp, 'f', (0.0, 0.0, 0.0)),)) for stamp in stamps]


def test_by_stamp_the_order_is_that_of_the_stamps_whatever_came_first():
    found = [x.received_ns for x in by_stamp(arrivals(30, 10, 20, 50, 40))]
    assert found == [10, 20, 30, 40, 50]


def test_by_stamp_no_more_is_held_than_allowed_and_time_never_goes_back():
    given = arrivals(20, 30, 40, 50, 10, 60)
    found = [(x.received_ns, x.items[0].stamp) for x in by_stamp(iter(given), ahead=2)]
    assert found == [(20, 20), (30, 30), (30, 10), (40, 40), (50, 50), (60, 60)]


def test_by_stamp_a_stamp_of_another_clock_is_handed_on_at_once_and_moves_nothing():
    torque = Arrived(0, 4, 'commands', (Commands((1.0,)),))
    given = [*arrivals(10, 10**18), torque, *arrivals(20, 30)]
    found = [(x.received_ns, getattr(x.items[0], 'stamp', 0)) for x in by_stamp(given, 2, 1000)]
    assert found == [(10, 10), (10, 10**18), (10, 0), (20, 20), (30, 30)]


@pytest.mark.parametrize(
    ('stamps', 'order'),
    [
        ((10**18, 10, 20, 30), [10, 10**18, 20, 30]),  # the first
        ((10**18, 10**18 + 1, 10, 20, 30), [10, 10**18, 10**18 + 1, 20, 30]),
        ((10, 20, 10**18, 10**18 + 9, 30, 40, 50), [10, 20, 10**18, 10**18 + 9, 30, 40, 50]),
        ((10, 20, 30, 10**18), [10, 20, 30, 10**18]),  # the last
    ],
)
def test_by_stamp_wrong_stamps_do_not_make_each_other_right(stamps, order):
    found = list(by_stamp(arrivals(*stamps), 1, 1000))
    assert [x.items[0].stamp for x in found] == order
    assert found[-1].received_ns < 100


def test_by_stamp_the_last_of_a_slow_sensor_is_judged_by_its_receipt():
    slow = [one._replace(received_ns=5 + k) for k, one in enumerate(arrivals(10, 5010, 10010))]
    assert [x.received_ns for x in by_stamp(slow, 1, 1000)] == [10, 5010, 5010]
    slow = [one._replace(received_ns=one.items[0].stamp + 5) for one in slow]
    assert [x.received_ns for x in by_stamp(slow, 1, 1000)] == [10, 5010, 10010]


def test_by_stamp_a_gap_in_a_recording_is_no_other_clock():
    found = [x.received_ns for x in by_stamp(arrivals(10, 20, 5000, 5010, 20000, 20010), 2, 1000)]
    assert found == [10, 20, 5000, 5010, 20000, 20010]


def test_by_stamp_a_wrong_stamp_is_refused_and_commands_stay_where_they_are(tmp_path):
    messages = [('/tf_static', START_NS, tf(START_NS, 'base_link', 'imu_link'))]
    for k in range(100):
        now = START_NS + k * 10_000_000
        messages.append(('/tf', now, tf(now, 'odom', 'base_link')))
        stamp = now + 3600 * 10**9 if k == 30 else now
        messages.append(('/imu/data', now, imu(stamp, (0.1, 0.2, 0.3))))
    made = replay(write(tmp_path / 'bag', messages), by='stamp')
    *_, last = made
    assert last.stamp_ns <= START_NS + 10**9
    assert made.refused == 'imu future 1'


def test_a_gap_that_is_shorter_than_a_tick_is_none(tmp_path):
    log = tmp_path / 'log.csv'
    log.write_text('t_s,command\n' + ''.join(f'{1 + k / 100},0.1\n' for k in range(100)))
    made = replay(log, overrides={'max_gap': 0.008})
    assert (len(list(made)), made.session.gaps) == (990, 0)


def test_by_stamp_what_has_no_stamp_takes_the_newest_before_it():
    torque = Arrived(0, 4, 'commands', (Commands((1.0,)),))
    named = Arrived(0, 5, 'joint_command', (JointCommand(0, ('wheel',), (1.0,)),))
    given = [*arrivals(10, 20), torque, *arrivals(30), named]
    found = [(x.received_ns, x.source) for x in by_stamp(given)]
    assert found[:3] == [(10, 'imu'), (20, 'imu'), (20, 'commands')]
    assert found[3:] == [(30, 'imu'), (30, 'joint_command')]


def test_by_stamp_a_static_transform_is_there_from_the_beginning():
    placed = Transform(10**18, 'a', 'b', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), True)
    given = [*arrivals(10), Arrived(0, 1, 'tf', (placed,))]
    assert [x.source for x in by_stamp(given)] == ['tf', 'imu']


def test_by_stamp_a_late_imu_gives_what_a_punctual_one_gives(tmp_path):
    late = recorded(tmp_path / 'late', late_ns=25_000_000)
    punctual = recorded(tmp_path / 'punctual')
    given = {'world_frame': 'odom', 'mount_frame': 'base_link', 'rate': 200.0}
    first, second = (list(replay(x, given, by='stamp')) for x in (late, punctual))
    assert len(first) == len(second) == 40
    assert repr(first) == repr(second)
    received = list(replay(late, given))
    assert repr(received[-5:]) != repr(first[-5:])


def test_by_receipt_settle_makes_it_independent_of_the_way_too(tmp_path):
    late, punctual = recorded(tmp_path / 'a', late_ns=25_000_000), recorded(tmp_path / 'b')
    given = {'world_frame': 'odom', 'mount_frame': 'base_link', 'rate': 200.0, 'settle': 0.05}
    first, second = (list(replay(x, given)) for x in (late, punctual))
    shared = min(len(first), len(second))
    assert shared >= 40
    assert repr(first[:shared]) == repr(second[:shared])


def test_a_part_of_a_recording_has_its_static_transforms_and_begins_at_rest(tmp_path):
    bag = recorded(tmp_path / 'bag', 1.0)
    given = {'world_frame': 'odom', 'mount_frame': 'base_link', 'rate': 100.0}
    for by in ('receipt', 'stamp'):
        made = replay(bag, given, by=by, start=0.3, duration=0.2)
        stamps = [outcome.stamp_ns - START_NS for outcome in made]
        assert stamps == [k * 10_000_000 for k in range(31, 51)], by
        assert made.refused == ''


# the bag


def test_the_bag_has_every_topic_at_the_rate_of_its_parameter(tmp_path, run):
    bag, out = recorded(tmp_path / 'bag', 1.0), tmp_path / 'out'
    code, _, _ = run(
        bag, '--out', out, '-p', 'publish_rate:=50.0', '-p', 'tf_rate:=10.0',
        '-p', 'wheel.encoder.counts:=100', '-p', 'wheel.measured.interval:=0.005',
        '-r', '__ns:=/robot', '-r', '~/reaction:=/felt', '-r', 'imu/data:=/imu/data',
    )  # fmt: skip
    assert code == 0
    made = Recording(out)
    counts = {topic.name: topic.count for topic in made.topics}
    own = '/robot/motor/wheel'
    names = ['spin', 'motor_state', 'reaction', 'mount_wrench', 'momentum',
             'stator_twist', 'rotor_twist', 'asymmetry', 'asymmetry_next']  # fmt: skip
    assert counts == {
        '/felt': 50,
        '/robot/motor/mount_wrench': 50,
        '/robot/motor/momentum': 50,
        '/robot/joint_states': 50,
        '/robot/motor/overview': 30,
        '/robot/motor/markers': 20,
        **{f'{own}/{name}': 50 for name in names},
        f'{own}/measured': 200,  # each sample, whatever publish_rate is
        '/tf': 10,
        '/tf_static': 1,
        '/diagnostics': 1,
    }
    latched = {topic.name for topic in made.topics if topic.transient_local}
    assert latched == {'/tf_static'}
    for record in made.records(('/felt',)):
        header = record.message.header
        assert header.stamp.sec * 10**9 + header.stamp.nanosec == record.received_ns


def test_the_messages_of_the_bag_say_what_the_outcomes_say(tmp_path, run):
    bag, out = recorded(tmp_path / 'bag', 0.1), tmp_path / 'out'
    assert run(bag, '--out', out, '--step-on', 'imu', '-p', 'wheel.initial_spin:=50.0')[0] == 0
    given = {'world_frame': 'odom', 'mount_frame': 'base_link', 'step_on': 'imu'}
    outcomes = list(replay(bag, {**given, 'wheel.initial_spin': 50.0}))
    made = Recording(out)
    messages = {
        name: [x.message for x in made.records((name,))]
        for name in ('/motor/mount_wrench', '/joint_states', '/motor/wheel/motor_state')
    }
    assert {len(x) for x in messages.values()} == {len(outcomes)} == {10}
    for outcome, wrench, joints, state in zip(outcomes, *messages.values(), strict=True):
        torque = wrench.wrench.torque
        assert (torque.x, torque.y, torque.z) == outcome.mount_wrench().torque
        assert wrench.header.frame_id == 'base_link'
        assert list(joints.name) == ['wheel_joint']
        assert list(joints.position) == [outcome.steps[0].state.angle]
        assert list(joints.effort) == list(outcome.torques)
        (values,) = state.interface_values
        assert list(values.interface_names)[0] == 'effort'


def test_the_bag_says_once_a_second_how_everything_is(tmp_path, run):
    messages = []
    for k in range(300):  # the pose ends after a second
        stamp_ns = START_NS + k * 10**7
        messages += [('/imu/data', stamp_ns, imu(stamp_ns, (0.0, 0.0, 1.0), 'base_link'))]
        messages += [('/tf', stamp_ns, tf(stamp_ns, 'odom', 'base_link'))] * (k < 100)
    bag, out = write(tmp_path / 'bag', messages), tmp_path / 'out'
    assert run(bag, '--out', out, '-p', 'rate:=100.0')[0] == 0
    said = [x.message for x in Recording(out).records(('/diagnostics',))]
    assert [x.header.stamp.sec - START_NS // 10**9 for x in said] == [1, 2]
    names = [one.name.removeprefix('motor: ') for one in said[0].status]
    assert names == ['mount pose', 'mount rate', 'command', 'time', 'transforms', 'wheel']
    levels = [[one.level for one in x.status] for x in said]
    assert levels == [[0] * 6, [3, 0, 0, 0, 0, 0]]
    first, last = said[0].status[1], said[1].status[0]
    assert {x.key: x.value for x in first.values} == {
        'source': 'imu',
        'age (s)': '0.0000',
        'rate (Hz)': '101.0',
        'publishers': 'the recording',
    }
    assert last.message == (
        "no pose of 'base_link' in 'odom' from /tf for 1.0 s: nothing more is recorded. The "
        'motors are held'
    )
    assert last.hardware_id == '/motor'


def test_a_bag_that_was_made_can_be_replayed(tmp_path, run):
    bag, out = recorded(tmp_path / 'bag'), tmp_path / 'out'
    assert run(bag, '--out', out)[0] == 0
    code, _, lines = run(out, '-p', 'world_frame:=base_link', '-p', 'rate_source:=zero',
                         '--params-file', ROOT / 'config' / 'motor.yaml')  # fmt: skip
    assert (code, lines) == (0, [])


# what goes wrong


def test_what_is_there_already_is_kept_unless_one_says_so(tmp_path, run):
    bag, out = recorded(tmp_path / 'bag'), tmp_path / 'out.csv'
    out.write_text('mine')
    code, said, lines = run(bag, '--csv', out, '--out', tmp_path / 'made')
    assert (code, said) == (1, '')
    assert lines[-1].startswith(f'{out} is there already. Choose another name, or add --overwr')
    assert out.read_text() == 'mine'
    assert sorted(x.name for x in tmp_path.iterdir()) == ['bag', 'out.csv']
    assert run(bag, '--csv', out, '--overwrite')[0] == 0
    assert len(table(out)) > 100


@pytest.mark.parametrize('option', ['--csv', '--parquet', '--out'])
def test_a_folder_that_is_no_recording_is_never_overwritten(tmp_path, run, option):
    bag, thesis = recorded(tmp_path / 'bag'), tmp_path / 'deep' / 'thesis.txt'
    thesis.parent.mkdir()
    thesis.write_text('years')
    if option == '--out':
        (thesis.parent / 'metadata.yaml').write_text('')
    code, _, said = run(bag, option, thesis.parent, '--overwrite')
    assert code == 1
    assert re.fullmatch(r'.*deep must be a .*, or not there.*\. Choose .*\.', said[-1])
    assert thesis.read_text() == 'years'
    assert sorted(x.name for x in tmp_path.iterdir()) == ['bag', 'deep']


def test_what_is_read_is_never_overwritten(tmp_path, run):
    bag = recorded(tmp_path / 'bags' / 'bag')
    before = sorted((bag / 'metadata.yaml').read_bytes())
    for out in (bag, bag.parent, bag / 'within'):
        code, _, said = run(bag, '--out', out, '--overwrite')
        assert code == 1
        assert said[-1] == f'{out} must be apart from {bag}, which is read. Choose another name.'
    assert sorted((bag / 'metadata.yaml').read_bytes()) == before


def test_a_replay_without_a_step_leaves_the_old_table_alone(tmp_path, run):
    bag, table = recorded(tmp_path / 'bag'), tmp_path / 'steps.csv'
    table.write_text('old')
    code, _, said = run(bag, '--csv', table, '--overwrite', '-p', 'rate_source:=twist')
    assert code == 1
    assert 'gives no step' in said[-1]
    assert table.read_text() == 'old'


def test_one_output_that_cannot_be_put_in_its_place_takes_no_other_along(tmp_path):
    from mime_motor_ros.offline.writing import Made, OutputError

    made = Made(tmp_path / 'a.csv')
    made.part.write_text('rows')
    (tmp_path / 'a.csv').mkdir()
    (tmp_path / 'a.csv' / 'x').write_text('')
    with pytest.raises(OutputError, match='cannot be written'):
        Made(tmp_path / 'a.csv' / 'x' / 'y')
    os.rename(tmp_path / 'a.csv', tmp_path / 'b')
    assert made.finish() == ''
    assert (tmp_path / 'a.csv').read_text() == 'rows'


def test_two_outputs_of_one_name_are_refused(tmp_path, run):
    bag, out = recorded(tmp_path / 'bag'), tmp_path / 'x'
    code, _, said = run(bag, '--csv', out, '--parquet', out)
    assert code == 1
    assert said[-1] == f'{out} is named twice. Give each output a name of its own.'
    assert [x.name for x in tmp_path.iterdir()] == ['bag']


def test_a_replay_is_gone_through_once(tmp_path):
    made = replay(recorded(tmp_path / 'bag'))
    assert len(list(made)) > 100
    with pytest.raises(MotorError, match=r'gone through once\. Call replay'):
        list(made)


def test_what_the_node_would_warn_of_is_said_once(tmp_path, run):
    log = tmp_path / 'log.csv'
    rows = [f'{t / 100},0.1' for t in [*range(1, 50), *range(250, 300)]]
    log.write_text('\n'.join(['t_s,command', *rows]) + '\n')
    code, out, said = run(log, '--csv', tmp_path / 'steps.csv', '-p', 'wheel.limit.torque:=0.01')
    assert code == 0
    assert '; peak spin' in out
    assert len(said) == len(set(said))


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        ({'start': float('nan')}, 'start must be finite and >= 0 s, got nan.'),
        ({'duration': 0.0}, 'duration must be finite and > 0 s, got 0.0.'),
        ({'columns': {'a': 'b'}}, 'bag has topics and no columns. Remap topics with -r FROM:=TO.'),
    ],
)
def test_a_wrong_argument_of_replay_is_refused(tmp_path, given, text):
    with pytest.raises(MotorError) as caught:
        replay(recorded(tmp_path / 'bag'), **given)
    assert str(caught.value) == text


def test_a_part_behind_the_end_is_told_as_that(tmp_path, run):
    code, _, said = run(recorded(tmp_path / 'bag'), '--start', 5, '--csv', tmp_path / 'x.csv')
    assert (code, (tmp_path / 'x.csv').exists()) == (1, False)
    assert said[-1] == (
        'bag gives no step: no input is in it behind its first 5 s; it is 0.200 s long.'
    )


def test_a_full_disk_is_told_with_the_name_of_what_is_on_it(tmp_path, run):
    """Of a device that is always full, as nobody but root can make a small disk."""
    log, out = tmp_path / 'log.csv', tmp_path / 'out.csv'
    log.write_text('t_s,command\n' + ''.join(f'{k / 10},0.1\n' for k in range(1, 60)))
    from mime_motor_ros.offline.table import CsvTable

    opened = CsvTable.__init__

    def full(self, path, chosen):
        opened(self, path, chosen)
        self._file.close()
        self._file = open('/dev/full', 'w')  # noqa: SIM115 - closed by close
        self._writer = csv.writer(self._file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvTable, '__init__', full)
        code, _, said = run(log, '--csv', out)
    assert (code, out.exists()) == (1, False)
    assert f'{out} cannot be written: No space left on device.' in said[-1]


def test_stamps_of_another_clock_than_that_of_the_recorder_are_told_with_the_remedy(tmp_path, run):
    messages = []
    for k in range(30):  # of a simulator: its stamps begin near 0
        stamp_ns, now_ns = (k + 1) * 10**7, START_NS + k * 10**7
        messages.append(('/tf', now_ns, tf(stamp_ns, 'odom', 'base_link')))
        messages.append(('/imu/data', now_ns, imu(stamp_ns, (0.0, 0.0, 1.0), 'base_link')))
    bag = write(tmp_path / 'bag', messages)
    code, _, lines = run(bag)
    assert code == 1
    assert lines[-1].endswith(
        '; its first stamp is -1599999999.990 s from its time of receipt, so take them by stamp '
        '(--by stamp).'
    )
    assert run(bag, '--by', 'stamp')[0] == 0


def test_a_wrong_parameter_is_one_line_and_nothing_is_made(tmp_path, run):
    bag, out = recorded(tmp_path / 'bag'), tmp_path / 'out.csv'
    code, _, lines = run(bag, '-p', 'wheel.inertia:=-1.0', '--csv', out)
    assert code == 1
    assert lines == ['wheel.inertia must be finite and > 0 kg m^2, got -1.0.']
    assert not out.exists()


def test_an_input_of_another_type_is_left_out_with_a_line(tmp_path, run):
    stamp = START_NS
    twist = ros('geometry_msgs/msg/Vector3', 1.0, 2.0, 3.0)
    bag = write(tmp_path / 'bag', [('/imu/data', stamp, twist)])
    code, _, lines = run(bag, '-p', 'rate:=10.0', '--params-file', ROOT / 'config' / 'motor.yaml')
    assert code == 1
    assert lines[0] == (
        '/imu/data is left out: it is a geometry_msgs/msg/Vector3 in the recording, and the motor '
        'reads sensor_msgs/msg/Imu there.'
    )
    assert lines[1].startswith('bag gives no step: ')


def test_an_input_that_is_defined_otherwise_is_left_out_with_a_line(tmp_path):
    types = typesys.get_typestore(typesys.Stores.EMPTY)
    kind, text = 'sensor_msgs/msg/Imu', 'int32 x\n'
    types.register(typesys.get_types_from_msg(text, kind))
    bag = tmp_path / 'bag'
    writer = rosbag2.Writer(bag, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
    with writer:
        topic = writer.add_connection('/imu/data', kind, typestore=types)
        writer.write(topic, START_NS, b'\0\1\0\0\5\0\0\0')
    made = replay(bag, {})
    assert made.notes == [
        '/imu/data is left out: sensor_msgs/msg/Imu is defined differently in the recording.'
    ]
    assert not list(made)


@needs_recordings
def test_a_recording_with_odometry_alone_is_replayed_by_it(tmp_path):
    whole = Recording(SHARED / 'jackal_sim_imu_odom')
    name = '/jackal_velocity_controller/odom'
    some = islice(whole.records((name,)), 100)
    bag = write(tmp_path / 'bag', [(name, x.received_ns, x.message) for x in some])
    made = replay(bag, by='stamp')
    outcomes = list(made)
    assert made.notes == [
        "no parameter file given: the mount is 'base_link' in 'odom', pose and rate come from "
        f'{name}.'
    ]
    assert made.settings.rate_source == 'odometry'
    assert len(outcomes) == pytest.approx(99 * 20, abs=1)
    with pytest.raises(RecordingError, match='has no topic /typo; it has /jackal_velocity_contro'):
        replay(bag, remap=['odom:=/typo'])


@needs_recordings
def test_odometry_that_is_named_is_taken_though_there_is_an_imu():
    path, name = SHARED / 'jackal_sim_imu_odom', '/jackal_velocity_controller/odom'
    made = replay(path, remap=[f'odom:={name}'])
    assert made.settings.rate_source == 'odometry'
    wrong = next(x.name for x in Recording(path).topics if x.type.endswith('/Imu'))
    with pytest.raises(RecordingError, match=f'odom:={wrong} must name a topic of nav_msgs/msg/'):
        replay(path, remap=[f'odom:={wrong}'])


def test_the_only_imu_of_a_recording_is_read_and_that_is_said(tmp_path, run):
    messages = [('/sensors/imu', START_NS + k * 10**7, imu(START_NS + k * 10**7, (0.0, 0.0, 1.0)))
                for k in range(10)]  # fmt: skip
    bag = write(tmp_path / 'bag', messages)
    out = tmp_path / 'a.csv'
    made = replay(bag, {'world_frame': 'imu_link', 'mount_frame': 'imu_link', 'rate': 100.0})
    assert made.notes == ['/sensors/imu is read for imu/data.']
    assert len(list(made)) == 9
    other = write(tmp_path / 'two', [*messages, ('/imu2', START_NS, messages[0][2])])
    made = replay(other, {'world_frame': 'imu_link', 'mount_frame': 'imu_link'})
    (note,) = made.notes
    assert note.startswith('imu/data is not in the recording. Say which it is, as -r imu/data:=/')
    assert not list(made)
    assert not out.exists()


def test_messages_that_cannot_be_read_are_counted_as_the_node_does(tmp_path):
    bag = recorded(tmp_path / 'bag')
    made = replay(bag, {'world_frame': 'odom', 'mount_frame': 'base_link'})
    wanted = made._feed._topics['/imu/data']
    made._feed._topics['/imu/data'] = (
        wanted[0],
        wanted[1]._replace(read=lambda data: wanted[1].read(data[:20])),
    )
    assert not list(made)
    assert made.session.counts['imu', 'unreadable'] == 21
    assert 'a message cannot be read' in made.session.news['imu unreadable']


def test_asked_to_stop_it_ends_within_a_second_with_complete_outputs(tmp_path):
    bag, out = make(tmp_path / 'long', 15.0), tmp_path / 'out'
    command = [sys.executable, '-m', 'mime_motor_ros.offline.replay_command', str(bag)]
    process = subprocess.Popen(
        [*command, '--out', str(out), '--csv', f'{out}.csv'],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    part = tmp_path / f'.out.csv.{process.pid}' / 'out.csv'
    while process.poll() is None and not (part.exists() and part.stat().st_size > 10**5):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, err = process.communicate(timeout=10)
    assert process.returncode == 1
    assert err.splitlines()[-1] == (
        'motor_replay: interrupted: what was made is complete to there.'
    )
    steps = int(said.split()[0])
    assert 100 < steps < 14_990
    assert len(table(f'{out}.csv')) == steps
    assert {x.name: x.count for x in Recording(out).topics}['/motor/reaction'] == steps
    assert sorted(os.listdir(tmp_path)) == ['long', 'out', 'out.csv']


@pytest.mark.slow
def test_a_recording_three_times_as_long_takes_no_more_memory(tmp_path):
    pytest.importorskip('pyarrow', reason='needs the package pyarrow')
    peaks = []
    for seconds in (11.0, 25.0):  # more than the 10 s of transforms that are kept by right
        bag = make(tmp_path / f'{seconds:g}', seconds)
        out = str(tmp_path / f'{seconds:g}.parquet')
        peaks.append(replayed(bag, '--parquet', out).peak)
    # All outcomes of the longer one would be 14000 times some 5 kB more.
    assert peaks[1] - peaks[0] < 12.0


# real recordings


@needs_recordings
@pytest.mark.parametrize(
    ('name', 'steps'),
    [
        ('broad07_fast_rotation', 5713),
        ('husky_imu_odom', None),
        ('jackal_sim_imu_odom', 3060),
        ('px4_auavx21_handheld', None),
    ],
)
def test_a_real_recording_is_replayed_whole(tmp_path, run, name, steps):
    out = tmp_path / 'steps.csv'
    code, said, _ = run(SHARED / name, '--by', 'stamp', '--step-on', 'imu', '--csv', out)
    assert code == 0
    rows = table(out)
    assert len(rows) == int(said.split()[0])
    assert len(rows) > 3000
    assert steps is None or len(rows) == steps
    assert all(int(a['stamp_ns']) < int(b['stamp_ns']) for a, b in pairwise(rows))
    assert not any(isnan(float(row['wheel.spin_rad_s'])) for row in rows)
    # The audit closes, so nothing is missing between two rows.
    last = rows[-1]
    assert float(last['wheel.work_j']) == pytest.approx(
        float(last['wheel.dissipated_j']) + float(last['wheel.stored_j']), rel=1e-9, abs=1e-15
    )


@needs_recordings
@pytest.mark.parametrize('path', sorted(SHARED.glob('*.csv')), ids=lambda x: x.stem)
def test_a_real_log_is_replayed_whole(tmp_path, run, path):
    out = tmp_path / 'steps.csv'
    code, said, _ = run(path, '--csv', out, '-p', 'wheel.inertia:=0.02', '-p', 'rate:=200.0')
    assert code == 0
    rows, given = table(out), path.read_text().splitlines()
    end = float(given[-1].split(',')[0])
    assert float(rows[-1]['stamp_ns']) * 1e-9 == pytest.approx(end, abs=5e-3)
    if 'cubesat' not in path.name:
        column = [i for i, x in enumerate(given[0].split(',')) if x in
                  ('torque_cmd_Nm', 'torque_des_Nm', 'tau_cmd1_Nm')][0]  # fmt: skip
        torques = [float(line.split(',')[column]) for line in given[1:]]
        assert {float(row['wheel.command']) for row in rows} <= set(torques)


def test_a_command_is_nan_where_none_acts(tmp_path):
    made = list(
        replay(recorded(tmp_path / 'bag'), {'world_frame': 'odom', 'mount_frame': 'base_link'})
    )
    assert {outcome.commands for outcome in made} == {(None,)}
    session = replay(tmp_path / 'bag', {'world_frame': 'odom', 'mount_frame': 'base_link'})
    outcome = next(iter(session))
    numbers = dict(zip(columns(session.settings), row(outcome, session.session), strict=True))
    assert isnan(numbers['wheel.command'])
    assert numbers['wheel.torque_n_m'] == 0.0


# --check


@needs_recordings
def test_the_check_finds_in_a_recording_what_it_would_find_live(run):
    code, said, _ = run(SHARED / 'broad07_fast_rotation', '--check')
    assert code == 0
    assert said.startswith('motor_check for broad07_fast_rotation, 19.99')
    assert 'nothing looks wrong' in said
    assert 'they turn alike: correlation 0.99' in ' '.join(said.split())
    code, said, _ = run(SHARED / 'jackal_sim_imu_odom', '--check', '--json')
    assert code == 1
    found = json.loads(said)
    assert [x['subject'] for x in found['findings'] if x['level'] != 'ok'] == ['pose and rate']


def test_a_check_of_a_recording_without_a_pose_says_so(tmp_path, run):
    stamps = [START_NS + k * 10**7 for k in range(30)]
    bag = write(tmp_path / 'bag', [('/imu/data', x, imu(x, (0.0, 0.0, 1.0))) for x in stamps])
    code, said, _ = run(bag, '--check', '--params-file', ROOT / 'config' / 'motor.yaml')
    assert code == 1
    assert 'error' in said
    assert 'would make no steps' in said


def test_a_check_makes_nothing(tmp_path, run):
    with pytest.raises(SystemExit) as left:
        run(tmp_path, '--check', '--csv', tmp_path / 'a.csv')
    assert left.value.code == 2


# the page


def block(heading):
    """Return the commands below a heading of the page."""
    page = (ROOT / 'doc' / 'offline.md').read_text().split(f'\n## {heading}\n')[1]
    return re.search(r'```sh\n(.*?)```', page, re.DOTALL)[1].splitlines()


@needs_recordings
@pytest.mark.parametrize('command', block('motor_replay'))
def test_a_command_of_the_page_runs_as_it_stands(tmp_path, command):
    environment = {**os.environ, 'DATA': str(SHARED), 'OUT': str(tmp_path)}
    tools = tmp_path / 'bin'
    tools.mkdir()
    script = tools / 'motor_replay'
    program = 'mime_motor_ros.offline.replay_command'
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {program} "$@"\n')
    script.chmod(0o755)
    environment['PATH'] = f'{tools}:{environment["PATH"]}'
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 'nothing looks wrong' in done.stdout or 'times real time' in done.stdout
    made = {x.name for x in tmp_path.iterdir()} - {'bin'}
    assert made == {x.split('/')[-1] for x in re.findall(r'\$OUT/\S+', command)}


def test_every_column_of_the_table_is_on_the_page():
    page = (ROOT / 'doc' / 'offline.md').read_text()
    for name in columns(settings({'wheel.encoder.counts': 10})):
        shown = re.sub(r'^wheel', '', name)
        first = re.sub(r'_(y|z|qy|qz)(_|$)', r'_x\2', shown)
        known = shown in page or first in page or shown.startswith(('reaction', 'mount_'))
        assert known, name
