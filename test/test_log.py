"""CSV files of a bench as recordings."""

from math import cos, pi, sin
import os

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from mime_motor_ros.inputs import Imu, JointCommand, Odometry, Transform, Twist  # noqa: E402
from mime_motor_ros.offline import replay, replay_command  # noqa: E402
from mime_motor_ros.offline.log import Log, LogFeed, RATE_IN_WORLD  # noqa: E402
from mime_motor_ros.offline.recording import RecordingError  # noqa: E402
from mime_motor_ros.settings import settings  # noqa: E402

pytestmark = pytest.mark.usefixtures('restored_signals')
POSE = 'mount_x_m,mount_y_m,mount_z_m,mount_qx,mount_qy,mount_qz,mount_qw'
TURNED = '1,2,3,0,0,0.6,0.8'
AXES = (1.0, 2.0, 3.0), (0.0, 0.0, 0.6, 0.8)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / 'bench.csv'

    def written(text, **columns):
        path.write_bytes(text.encode())
        return Log(path, columns)

    return written


def items(log, **values):
    feed = LogFeed(log, settings(values))
    return [item for one in feed.arrived() for item in one.items]


@pytest.mark.parametrize(
    ('head', 'row', 'values', 'found'),
    [
        ('t_s,torque_n_m', '2,0.5', {}, [JointCommand(2 * 10**9, ('wheel_joint',), (0.5,))]),
        ('stamp_ns,wheel.command', '7,-1e-3', {}, [JointCommand(7, ('wheel_joint',), (-1e-3,))]),
        (
            't_s,torque_cmd_Nm,speed_cmd_rad_s',
            '1,5,30',
            {'wheel.mode': 'velocity'},
            [JointCommand(10**9, ('wheel_joint',), (), (30.0,))],
        ),
        (
            't_s,wheel.position_cmd_rad',
            '1,0.25',
            {'wheel.mode': 'position'},
            [JointCommand(10**9, ('wheel_joint',), (), (), (0.25,))],
        ),
        (
            't_s,tau_cmd1_Nm,tau_cmd2_Nm',
            '1,5,6',
            {'motors': ['a', 'b']},
            [JointCommand(10**9, ('a_joint',), (5.0,)), JointCommand(10**9, ('b_joint',), (6.0,))],
        ),
        ('t_s,wheel.command', '1,nan', {}, []),
        ('t_s,wheel.command', '1,', {}, []),
        (
            't_s,wx_rad_s,wy_rad_s,wz_rad_s',
            '1,2,3,4',
            {'rate_source': 'twist'},
            [Twist(10**9, 'base_link', (2.0, 3.0, 4.0))],
        ),
        (
            't_s,wx_rad_s,wy_rad_s,wz_rad_s',
            '1,2,3,4',
            {},
            [Imu(10**9, 'base_link', (2.0, 3.0, 4.0))],
        ),
        (
            't_s,mount_rate_x_rad_s,mount_rate_y_rad_s,mount_rate_z_rad_s',
            '1,2,3,4',
            {'rate_source': 'twist'},
            [Twist(10**9, 'odom', (2.0, 3.0, 4.0))],
        ),
        (
            f't_s,{POSE}',
            f'1,{TURNED}',
            {'rate_source': 'tf'},
            [Transform(10**9, 'odom', 'base_link', *AXES)],
        ),
        (
            f't_s,{POSE},wx_rad_s,wy_rad_s,wz_rad_s',
            f'1,{TURNED},4,5,6',
            {'rate_source': 'odometry'},
            [Odometry(10**9, 'odom', 'base_link', *AXES, (4.0, 5.0, 6.0))],
        ),
    ],
)
def test_a_row_becomes_the_inputs_that_its_columns_say(log, head, row, values, found):
    assert items(log(f'{head}\n{row}\n'), **values) == found


def test_the_first_row_at_time_0_is_stamped_1_ns_as_0_means_no_stamp(log):
    first, second = items(log('t_s,torque_n_m\n0,1\n0.1,2\n'))
    assert (first.stamp, second.stamp) == (1, 100_000_000)


def test_a_command_is_preferred_to_what_was_measured(log):
    (item,) = items(log('t_s,torque_Nm,torque_des_Nm\n1,5,6\n'))
    assert item.torques == (6.0,)


def test_other_names_are_given_by_hand(log):
    made = log('time,u\n1,5\n', **{'t_s': 'time', 'wheel.command': 'u'})
    assert items(made) == [JointCommand(10**9, ('wheel_joint',), (5.0,))]


def test_what_windows_and_spreadsheets_put_around_it_is_no_matter(log):
    made = log('\ufefft_s , torque_n_m\r\n1, 5\r\n\r\n2,6\r\n')
    assert [x.torques for x in items(made)] == [(5.0,), (6.0,)]


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        (
            'time,u\n1,2\n',
            'a column t_s [s] or stamp_ns is needed, there are time, u. Name it so, or say which '
            'it is: --column t_s=NAME.',
        ),
        ('', 'it is empty. The first line must name the columns.'),
        (
            't_s,u\n1,2\n',
            'no column is an input, such as wheel.command, wx_rad_s or mount_x_m; there are t_s, '
            'u. Say which is what: --column wheel.command=NAME.',
        ),
    ],
)  # fmt: skip
def test_a_wrong_header_is_one_line_with_what_is_missing_and_what_there_is(
    tmp_path, capsys, text, error
):
    path = tmp_path / 'bench.csv'
    path.write_text(text)
    assert replay_command.main([str(path), '-q']) == 1
    _, err = capsys.readouterr()
    assert err.splitlines()[-1] == f'motor_replay: {path}, line 1: {error}'
    assert 'Traceback' not in err


def test_a_column_that_is_not_there_is_named(log, tmp_path):
    with pytest.raises(RecordingError) as error:
        log('t_s,u\n1,2\n', **{'wheel.command': 'v'})
    assert str(error.value) == (
        f"{tmp_path}/bench.csv, line 1: no column 'v' for wheel.command; there are t_s, u."
    )


@pytest.mark.parametrize(
    ('head', 'values', 'said'),
    [
        (
            't_s,command',
            {'world_frame': 'odom'},
            '-p world_frame:=base_link -p rate_source:=zero.',
        ),
        (
            't_s,command',
            {'rate_source': 'zero', 'world_frame': 'odom'},
            ' -p world_frame:=base_link.',
        ),
        (
            't_s,command,wx_rad_s,wy_rad_s,wz_rad_s',
            {'world_frame': 'odom'},
            '-p world_frame:=base_link.',
        ),
        (f't_s,command,{POSE}', {'world_frame': 'odom'}, 'taken as -p rate_source:=tf.'),
        (
            f't_s,command,{POSE}',
            {'world_frame': 'odom', 'rate_source': 'tf', 'pose_source': 'imu'},
            'taken as -p pose_source:=tf.',
        ),
        (f't_s,command,{POSE}', {'world_frame': 'odom', 'rate_source': 'tf'}, ''),
    ],
)
def test_a_mount_of_which_a_file_tells_nothing_is_at_rest(tmp_path, head, values, said):
    cells = ['0'] * head.count(',')
    cells[-1] = '1'
    (tmp_path / 'a.csv').write_text(
        '\n'.join([head, *(','.join([str(k / 100), *cells]) for k in range(50))])
    )
    made = replay(tmp_path / 'a.csv', {'mount_frame': 'base_link', **values})
    assert len(list(made)) > 100
    assert any(note.endswith(said) for note in made.notes)
    assert said or not any('taken as' in note for note in made.notes)


def test_numbered_torques_of_motors_that_are_not_there_are_named(log):
    found = log('t_s,tau_cmd1_Nm,tau_cmd2_Nm,tau_cmd3_Nm\n1,2,3,4\n')
    feed = LogFeed(found, settings({}))
    assert feed.notes[-1] == (
        'not read: tau_cmd2_Nm, tau_cmd3_Nm. Name as many motors, as -p motors:=[one,two].'
    )


def test_what_is_read_is_told_by_the_names_of_the_file(log):
    feed = LogFeed(log('t_s,u\n1,2\n', **{'wheel.command': 'u'}), settings({}))
    assert feed.notes == ['read: u (command of wheel)']


def test_a_table_that_begins_at_0_is_as_long_when_it_is_compiled(tmp_path, capsys):
    pytest.importorskip('numba', reason='needs numba')
    (tmp_path / 'a.csv').write_text('t_s,command\n' + ''.join(f'{k},0.1\n' for k in range(11)))
    assert (
        replay_command.main([str(tmp_path / 'a.csv'), '--csv', str(tmp_path / 'b.csv'), '-q']) == 0
    )
    assert ' 10.0 s in ' in capsys.readouterr().out


@pytest.mark.parametrize('name', ['wheel.comand', 'wx_rad_s', 'other.command', 'mount_x_m'])
def test_a_column_that_becomes_no_input_is_refused(log, name):
    found = log('t_s,command,u\n1,2,3\n', **{name: 'u'})
    with pytest.raises(RecordingError) as error:
        LogFeed(found, settings({}))
    assert str(error.value).startswith(
        f'--column {name}=u must name an input, one of stamp_ns, t_s, wheel.command, or wx_rad_s,'
    )


@pytest.mark.parametrize(
    ('rate_source', 'pose_source', 'read'),
    [
        ('imu', 'tf', 10),
        ('tf', 'tf', 7),
        ('imu', 'imu', 3),
        ('odometry', 'imu', 10),
        ('zero', 'tf', 7),
    ],
)
def test_it_says_what_is_read_and_of_nothing_else_that_it_is(log, rate_source, pose_source, read):
    found = log(f't_s,wx_rad_s,wy_rad_s,wz_rad_s,{POSE}\n1,0,0,1,{TURNED}\n')
    chosen = settings({
        'rate_source': rate_source, 'pose_source': pose_source, 'world_frame': 'world',
        'mount_frame': 'base_link',
    })  # fmt: skip
    assert len(LogFeed(found, chosen).sources) == read


@pytest.mark.parametrize(
    ('row', 'error'),
    [
        ('0.5,1', 't_s goes back, to 0.5; sort the rows by time'),
        ('oops,1', "t_s must be a number, got 'oops'"),
        ('inf,1', 't_s must be below 2147483648, got inf (another unit?)'),
        ('3,x', "torque_n_m must be a number, got 'x'"),
        ('3', '1 cells for 2 columns'),
        ('3,4,5', '3 cells for 2 columns'),
    ],
)
def test_a_bad_row_is_one_line_with_its_number_and_those_before_it_are_kept(
    tmp_path, capsys, row, error
):
    path, out = tmp_path / 'bench.csv', tmp_path / 'out.csv'
    path.write_text(f't_s,torque_n_m\n1.0,0.1\n1.1,0.2\n1.2,0.3\n{row}\n1.4,0.5\n')
    assert replay_command.main([str(path), '-q', '--csv', str(out), '--rate', '100']) == 1
    _, err = capsys.readouterr()
    assert err.splitlines()[-1] == (
        f'motor_replay: {path}, line 5: {error}. The 3 rows before it are used.'
    )
    assert len(out.read_text().splitlines()) == 1 + 20


def test_a_time_before_0_is_refused(log):
    made = log('t_s,torque_n_m\n-1,5\n')
    assert items(made) == []
    assert made.cut.endswith(
        'line 2: a time before 0; count from the first row. The 0 rows before it are used.'
    )


def test_a_log_whose_mount_turns_carries_its_wheel_along(tmp_path):
    path = tmp_path / 'bench.csv'
    rows = [f'{k / 10},0,0,{0.5}' for k in range(1, 12)]
    path.write_text('\n'.join(['t_s,wx_rad_s,wy_rad_s,wz_rad_s', *rows]) + '\n')
    made = replay(path, overrides={'rate': 100.0, 'wheel.inertia': 1.0, 'wheel.damping': 1.0})
    *_, last = made
    # J W' = b (w - W), implicit: 1 - W/w falls by 1 / (1 + dt b/J) each step.
    assert last.steps[0].state.spin == pytest.approx(0.5 * (1.0 - 1.01**-made.session.steps))
    assert made.session.steps == 100


def test_quotes_and_blank_lines_are_no_matter_to_a_part_of_a_log(tmp_path):
    quoted, plain = tmp_path / 'quoted.csv', tmp_path / 'plain.csv'
    rows = [(f'{1 + k / 100}', '0.1') for k in range(300)]
    plain.write_text('t_s,command\n' + ''.join(f'{t},{u}\n' for t, u in rows))
    quoted.write_text('"t_s","command"\n\n' + ''.join(f'"{t}","{u}"\n' for t, u in rows))
    parts = [list(replay(path, start=1.0, duration=1.0)) for path in (quoted, plain)]
    assert [len(part) for part in parts] == [1000, 1000]
    assert parts[0][-1] == parts[1][-1]


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('t_s,command,command\n', "line 1: there are two columns 'command'."),
        ('t_s;command\n0;1\n', "line 1: columns must be separated by commas, got ';'."),
    ],
)
def test_a_header_that_says_two_things_or_none_is_refused(tmp_path, text, said):
    path = tmp_path / 'log.csv'
    path.write_text(text)
    with pytest.raises(RecordingError) as caught:
        Log(path)
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize(
    ('row', 'said'),
    [
        ('3000000000,1', 't_s must be below 2147483648, got 3000000000 (another unit?)'),
        ('1e308,1', 't_s must be below 2147483648, got 1e308 (another unit?)'),
        ('1_0,1', "t_s must be a number, got '1_0'"),
        ('2,1_0', "command must be a number, got '1_0'"),
    ],
)
def test_numbers_that_are_none_of_a_log_end_it(tmp_path, row, said):
    path = tmp_path / 'log.csv'
    path.write_text(f't_s,command\n1,1\n1.5,1\n{row}\n')
    made = replay(path)
    assert len(list(made)) == 500
    assert f'{path}, line 4: {said}. The 2 rows before it are used.' in made.cut


def test_a_pipe_is_no_log(tmp_path):
    os.mkfifo(tmp_path / 'log.csv')
    with pytest.raises(RecordingError, match='must be a file, and is none'):
        Log(tmp_path / 'log.csv')


def test_a_rate_in_world_axes_is_turned_into_those_of_an_odometry(tmp_path):
    path = tmp_path / 'log.csv'
    names = ['t_s', *RATE_IN_WORLD, *POSE.split(','), 'command']
    lying = [0, 0, 1, 0, 0, 0, sin(pi / 4), 0, 0, cos(pi / 4), 0]  # rolled by a quarter turn
    rows = [','.join(map(str, [1 + k / 100, *lying])) for k in range(50)]
    path.write_text('\n'.join([','.join(names), *rows]) + '\n')
    for source in ('odometry', 'twist'):
        *_, outcome = replay(path, {'rate_source': source, 'pose_source': 'tf'})
        assert outcome.rate == pytest.approx((0.0, 0.0, 1.0))
    path.write_text('t_s,command\n1,1\n2,1\n')
    with pytest.raises(RecordingError, match='rate_source odometry needs columns of the rate and'):
        replay(path, {'rate_source': 'odometry'})
