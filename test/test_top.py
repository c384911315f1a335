import io
import math

from mime_motor_ros.figures import duration
from mime_motor_ros.screen import (
    ago,
    loop_rows,
    Motor,
    motor_rows,
    number,
    plain_line,
    screen,
    state,
    state_text,
    Status,
    status_age,
    status_rows,
    status_text,
    vector_rows,
    View,
)
from mime_motor_ros.top import Display, parser
from mime_motor_ros.vector import norm
from mime_motor_ros.watch import Tally
import pytest

STEPPING = Status(
    0,
    '1000.0 steps/s',
    {
        'wanted rate (Hz)': '1000',
        'reached rate (Hz)': '999.8',
        'lateness p50 (ms)': '0.061',
        'lateness p99 (ms)': '0.204',
        'lateness max (ms)': '1.310',
        'steps': '12000',
        'steps caught up': '3',
        'gaps': '0',
    },
)
FULL = View(
    node='motor',
    seconds=12.0,
    age=0.004,
    publishers=1,
    motors=(Motor('wheel', 184.3217, 183.1, 2.0 * math.pi * 25, 3.1e-3),),
    momentum=(0.0, 0.0, 0.01843),
    reaction=((0.0, 0.0, 0.0), (0.0, 0.0, -3.1e-3)),
    mount_wrench=((0.0, 0.0, 0.0), (0.012, -0.016, -3.1e-3)),
    statuses={
        'stepping': STEPPING,
        'mount pose': Status(0, 'from tf', {'source': 'tf', 'age (s)': '0.0041'}),
        'command': Status(1, '0.612 s old, more than 0.5 s: torque 0', {'age (s)': '0.6120'}),
        'transforms': Status(0, 'ours alone'),
    },
)


@pytest.mark.parametrize(
    ('value', 'text'),
    [
        (None, '-'),
        (0.0, ' 0'),
        (-0.0, ' 0'),
        (1.0, ' 1.000'),
        (184.3217, ' 184.3'),
        (-184.3217, '-184.3'),
        (12345.6, ' 12346'),
        (0.021234, ' 0.02123'),
        (-0.00012341, '-0.0001234'),
        (1.2341e-9, ' 1.234e-09'),
        (-3e7, '-3.000e+07'),
        (math.nan, 'nan'),
        (-math.inf, '-inf'),
    ],
)
def test_numbers_have_four_digits_and_a_column_for_the_sign(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ('seconds', 'text'),
    [
        (0.0, '0 us'),
        (250e-6, '250 us'),
        (0.9996e-3, '1 ms'),
        (0.0123, '12 ms'),
        (0.9996, '1.0 s'),
        (3.21, '3.2 s'),
        (59.94, '59.9 s'),
        (59.96, '1 min 00 s'),
        (245.0, '4 min 05 s'),
        (-0.004, '-4 ms'),
        (math.inf, 'for ever'),
    ],
)
def test_durations_are_told_in_the_unit_a_reader_would_take(seconds, text):
    assert duration(seconds) == text


def test_ages_are_told_in_words_and_what_comes_from_the_future_is_new():
    assert ago(None) == 'never'
    assert ago(0.012) == '12 ms ago'
    assert ago(-0.5) == '0 us ago'


def test_the_age_of_a_status_is_found_in_either_unit():
    assert status_age(Status(0, '', {'age (s)': '0.25'})) == 0.25
    assert status_age(Status(0, '', {'age (ms)': '250'})) == 0.25
    assert status_age(Status(0, '', {'age (s)': 'soon'})) is None
    assert status_age(Status(0, '')) is None


def test_a_status_that_is_well_shows_its_age_and_one_that_is_not_its_reason():
    assert status_text(FULL.statuses['mount pose']) == '4 ms ago'
    assert status_text(FULL.statuses['command']) == (
        '612 ms ago: 0.612 s old, more than 0.5 s: torque 0'
    )
    silent = Status(3, 'nothing usable from imu yet')
    assert status_text(silent) == 'nothing usable from imu yet'


def test_the_loop_is_told_with_what_was_wanted():
    assert loop_rows(STEPPING) == [
        ('loop', '999.8 of 1000 steps/s, caught up 3, gaps 0'),
        ('lateness', 'p50 0.061, p99 0.204, max 1.310 ms'),
    ]
    on_imu = Status(0, '', {'wanted rate (Hz)': 'as the imu', 'reached rate (Hz)': '285.7'})
    assert loop_rows(on_imu) == [('loop', '285.7 steps/s, as the imu')]
    assert loop_rows(None) == [('loop', 'no diagnostics yet')]


def test_a_rate_that_was_not_measured_is_none():
    began = Status(1, '12.0 steps/s, wanted 1000', {'wanted rate (Hz)': '1000', 'gaps': '0'})
    assert loop_rows(began) == [('loop', 'not measured yet, 1000 steps/s wanted, gaps 0')]
    assert status_rows(View('motor', statuses={'stepping': began}))[0][2] == 'dim'
    assert loop_rows(Status(0, '')) == [('loop', 'not measured yet')]


def test_a_row_for_all_that_is_wrong_and_no_motor_is_taken_for_well():
    statuses = {
        'outputs': Status(1, 'nothing of /motor/reaction goes to /rviz'),
        'left': Status(1, 'energy does not balance: 1 J of 2 J', {'spin (rad/s)': '1.0'}),
        'right': Status(0, '2 rad/s', {'spin (rad/s)': '2.0'}),
    }
    assert status_rows(View('motor', statuses=statuses))[1:] == [
        ('outputs', 'nothing of /motor/reaction goes to /rviz', 'yellow'),
        ('left', 'energy does not balance: 1 J of 2 J', 'yellow'),
    ]


def test_why_there_are_no_steps_is_a_row_where_no_other_says_it():
    held = Status(1, 'no steps: paused by ~/pause', {'reached rate (Hz)': '0.0'})
    rows = status_rows(View('motor', statuses={'stepping': held}))
    assert rows[-1] == ('stepping', 'no steps: paused by ~/pause', 'yellow')
    silent = Status(3, 'no Imu on /imu/data yet')
    rows = status_rows(View('motor', statuses={'stepping': held, 'mount rate': silent}))
    assert [name for name, *_ in rows] == ['loop', 'mount rate']


def test_the_state_says_what_is_waited_for():
    assert state_text(FULL) == 'stepping'
    nobody = View('motor')
    assert state_text(nobody) == 'waiting for the node motor; is ROS_DOMAIN_ID the same?'
    gone = View('motor', age=3.2)
    assert state_text(gone) == (
        'waiting for the node motor (its last output came 3.2 s ago); is ROS_DOMAIN_ID the same?'
    )
    statuses = {'mount pose': Status(3, 'nothing usable from tf yet'), 'time': Status(0, 'fine')}
    blind = View('motor', publishers=1, statuses=statuses)
    assert state_text(blind) == (
        'motor is there and has made no step yet (mount pose: nothing usable from tf yet)'
    )
    clockless = View(
        'motor',
        publishers=1,
        statuses={
            'mount pose': Status(3, 'nothing usable from tf yet'),
            'stepping': Status(3, 'no steps: no clock yet'),
        },
    )
    assert state_text(clockless) == ('motor is there and has made no step yet (no clock yet)')
    assert state(clockless) == 'no step yet'
    held = View('motor', age=1.5, publishers=1)
    assert state_text(held) == 'motor made its last step 1.5 s ago (no reason given yet)'
    assert state(held) == 'no step for 1.5 s'


def test_a_note_takes_the_place_of_what_is_wrong():
    statuses = {
        'stepping': Status(3, 'no steps: no imu', {'steps': '3060', 'steps caught up': '2'}),
        'mount rate': Status(3, 'no Imu on /imu/data for 1.0 s', {'age (s)': '1.0'}),
    }
    view = View('motor', 9.0, 1.7, 1, statuses=statuses, note='the recording has ended')
    assert plain_line(view) == '   9.0 s  the recording has ended'
    assert status_rows(view) == [('loop', '3060 steps, caught up 2', 'dim')]
    before = View('motor', statuses={'stepping': Status(3, '', {'steps': '0'})}, note='starting')
    assert status_rows(before) == []
    assert state(before) == 'starting'


def test_a_plain_line_tells_the_same_in_one_line():
    assert plain_line(FULL) == (
        '  12.0 s  wheel: spin 184.3 rad/s, angle 157.1 rad, torque 0.003100 N m'
        ' | |mount wrench| 0.02024 N m'
        ' | loop: 999.8 of 1000 steps/s, caught up 3, gaps 0'
        ' | lateness: p50 0.061, p99 0.204, max 1.310 ms'
    )
    assert plain_line(View('motor', 0.5)).startswith('   0.5 s  waiting for the node motor')


def test_without_a_terminal_there_is_a_line_a_second_and_one_for_each_note(capsys):
    with Display(plain=True) as display:
        for note in ('starting', 'starting', '', '', 'ended', 'ended'):
            display.show(View('motor', 1.0, note=note))
    said = capsys.readouterr().out.splitlines()
    assert said == ['   1.0 s  starting', '   1.0 s  ended']


def test_rows_leave_a_dash_for_what_was_not_received():
    assert motor_rows(FULL) == [('wheel', ' 184.3', ' 183.1', ' 157.1', ' 25.0', ' 0.003100')]
    assert motor_rows(View('motor', motors=(Motor('a'),))) == [('a', '-', '-', '-', '-', '-')]
    assert vector_rows(FULL)[0] == ('momentum', 'N m s', ' 0', ' 0', ' 0.01843', ' 0.01843')
    assert vector_rows(View('motor'))[4] == ('mount wrench, torque', 'N m', '-', '-', '-', '-')


def test_what_rounding_leaves_of_a_zero_is_shown_as_zero():
    row = vector_rows(View('motor', momentum=(8.7e-19, -1e-13, 0.0127)))[0]
    assert row == ('momentum', 'N m s', ' 0', '-1.000e-13', ' 0.01270', ' 0.01270')


@pytest.mark.parametrize('view', [FULL, View('motor'), View('motor', motors=(Motor('a'),))])
def test_the_screen_fits_eighty_columns(view):
    console = pytest.importorskip('rich.console', reason='needs the package rich')
    terminal = console.Console(width=80, record=True, file=io.StringIO())
    terminal.print(screen(view))
    lines = terminal.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert view.node in lines[0]
    if view is FULL:
        text = '\n'.join(lines)
        assert '184.3' in text
        assert 'command     612 ms ago: 0.612 s old' in text
        assert 'transforms' not in text  # what is well and has no age is not worth a line
        assert len(lines) == 16


def test_a_long_status_goes_on_below_itself_and_is_said_once():
    console = pytest.importorskip('rich.console', reason='needs the package rich')
    terminal = console.Console(width=80, record=True, file=io.StringIO())
    why = "no transform names frame 'odom'. Check its spelling and that its publisher runs"
    pose = f"no pose of 'base_link' in 'odom' from /tf yet: {why}. The motors are held"
    statuses = {
        'stepping': Status(3, f'no steps: mount pose: {why}.'),
        'mount pose': Status(3, pose),
    }
    terminal.print(screen(View('motor', 5.1, publishers=1, statuses=statuses)))
    lines = [line.rstrip() for line in terminal.export_text().splitlines()]
    assert lines[0] == 'motor  5.1 s  no step yet'
    assert lines[-3:] == [
        "mount pose  no pose of 'base_link' in 'odom' from /tf yet: no transform names",
        "            frame 'odom'. Check its spelling and that its publisher runs. The",
        '            motors are held',
    ]


def test_names_that_look_like_markup_are_shown_as_they_are():
    console = pytest.importorskip('rich.console', reason='needs the package rich')
    terminal = console.Console(width=80, record=True, file=io.StringIO())
    terminal.print(screen(View('motor', motors=(Motor('[bold]w[/bold]'),))))
    assert '[bold]w[/bold]' in terminal.export_text()


def test_a_tally_keeps_peaks_and_the_time_between_first_and_last():
    tally = Tally()
    assert (tally.received, tally.seconds) == (0, 0.0)
    tally.add(5_000_000_000, (3.0, 4.0, 0.0), (0.0, 0.0, -2.0))
    tally.add(6_500_000_000, (0.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    assert (tally.received, tally.seconds) == (2, 1.5)
    assert (tally.peak_force, tally.peak_torque) == (5.0, 2.0)


def test_the_command_has_defaults_that_watch_until_ctrl_c():
    options = parser().parse_args([])
    assert (options.node, options.seconds, options.once) == ('motor', math.inf, False)


def test_the_length_of_a_vector():
    assert norm((2.0, 3.0, 6.0)) == 7.0
