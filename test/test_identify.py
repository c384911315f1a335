"""Parameters of a motor out of recordings: what was put in comes out, or it is said why not."""

from dataclasses import replace
import json
import os
from pathlib import Path
import shlex
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('scipy')

from identify_coverage import DT, far, made, TRUE, within
from mime_motor_ros.axial import Friction
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.model import MotorParameters
from mime_motor_ros.offline.identifying import identify, IdentifyError, Log, read, RecordingError
from mime_motor_ros.offline.identifying.command import main
from mime_motor_ros.offline.identifying.logs import COLUMNS
from mime_motor_ros.offline.identifying.rolling import signals, torque
from mime_motor_ros.rollout import rollout
from mime_motor_ros.settings import settings

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / 'shared' / 'data'
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason='needs the folder of recordings')
COMMAND = [sys.executable, '-m', 'mime_motor_ros.offline.identifying.command']


def run(*args, **variables):
    return subprocess.run(
        [*COMMAND, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **variables},
    )


def codes(result):
    return {flag.code for flag in result.flags}


def hanging(n=1500, seed=3):
    """Return a recording of an arm with a load of 0.8 N m, thrown about, without noise."""
    random = np.random.default_rng(seed)
    command = np.repeat(random.uniform(-1.5, 1.5, n), 40)[:n]
    motor = MotorParameters(0.03, 0.02, friction=Friction(coulomb=0.04))
    out = rollout(motor, dt=DT, command=command, gravity=(0.8, 0.0), keep=('angle', 'speed'))
    rows = {name: np.concatenate([[0.0], out[name][0]]) for name in ('angle', 'speed')}
    held = np.concatenate([[command[0]], command])  # of the step that ends with the row
    return Log(DT * np.arange(n + 1), held, rows['speed'], rows['angle'], at_end=True)


@pytest.mark.parametrize('seed', [0, 1])
def test_what_was_put_in_comes_out_from_guesses_8_times_off(seed):
    result = identify(made(seed), guess=far(seed))
    for name, true in TRUE.items():
        assert result.values[name] == pytest.approx(true, rel=1e-6, abs=1e-7), name


def test_a_hanging_load_is_found_with_the_inertia():
    result = identify(hanging(), known={'command_delay': 0.0})
    assert result.values['inertia'] == pytest.approx(0.03, rel=1e-6)
    assert result.values['load'] == pytest.approx(0.8, rel=1e-6)
    assert result.values['damping'] == pytest.approx(0.02, rel=1e-5)


def test_a_known_load_gives_the_torque_scale():
    log = hanging()
    twice = Log(log.time, log.torque / 1.2, log.speed, log.position, at_end=True)
    result = identify(twice, known={'load': 0.8, 'command_delay': 0.0})
    assert result.values['torque_scale'] == pytest.approx(1.2, rel=1e-6)
    assert result.values['inertia'] == pytest.approx(0.03, rel=1e-6)
    assert 'scale_fixed' not in codes(result)


def test_the_turning_of_the_mount_is_reckoned_with():
    n = 1000
    time = DT * np.arange(n + 1)
    rate = 3.0 * np.sin(7.0 * time)
    command = np.repeat(np.random.default_rng(1).uniform(-1.0, 1.0, n), 30)[:n]
    rates = np.zeros((n, 3))
    rates[:, 2] = rate[1:]
    motor = MotorParameters(0.02, 0.05)
    speed = rollout(motor, dt=DT, command=command, mount_rate=rates, keep=('speed',))['speed'][0]
    log = Log(time, np.append(command, 0.0), np.append(-rate[0], speed), mount_rate=rate)
    result = identify(log)
    assert result.values['inertia'] == pytest.approx(0.02, rel=1e-6)
    assert result.values['damping'] == pytest.approx(0.05, rel=1e-6)
    still = identify(Log(time, log.torque, log.speed))
    assert abs(still.values['inertia'] / 0.02 - 1.0) > 0.01


def test_two_recordings_have_parameters_in_common_and_starts_of_their_own():
    result = identify([made(4, seconds=1.0), made(5, seconds=1.0)])
    assert result.values['inertia'] == pytest.approx(TRUE['inertia'], rel=1e-6)
    assert {s.log for s in result.segments} == {0, 1}


def test_a_delay_takes_the_impulse_along_and_loses_none():
    one = signals(made(0), 'speed')
    late, now = torque(one, 0.0031), torque(one, 0.0)  # 1.55 steps
    i = int(np.flatnonzero(np.diff(now))[0])  # the last step before a change
    assert late[i + 1] == pytest.approx(now[i])
    assert late[i + 2] == pytest.approx(0.45 * now[i + 1] + 0.55 * now[i])
    assert late[i + 3] == pytest.approx(now[i + 1])
    gone = np.sum(now * one.dt) - np.sum(late * one.dt)
    assert gone == pytest.approx((now[-1] - now[0]) * 0.0031)


def test_standard_errors_hold_in_most_of_a_few_seeds():
    for name, off in within(range(12)).items():
        assert np.mean(off <= 3.0) >= 10 / 12, name
        assert np.mean(off <= 0.01) <= 6 / 12, name  # and are not simply huge


def test_standard_errors_shrink_with_the_noise():
    loud, low = identify(made(0, 0.1)), identify(made(0, 0.01))
    ratio = loud.standard_errors['inertia'] / low.standard_errors['inertia']
    assert ratio == pytest.approx(10.0, rel=0.3)


def test_no_motion_is_refused():
    time = DT * np.arange(100)
    with pytest.raises(IdentifyError, match='The speed never changes.*Record a torque'):
        identify(Log(time, np.sin(time), np.zeros(100)))


def test_a_torque_that_never_changes_is_refused():
    time = DT * np.arange(100)
    with pytest.raises(IdentifyError, match='The torque never changes.*Record steps of torque'):
        identify(Log(time, np.full(100, 0.3), time))


def test_a_current_alone_is_refused():
    with pytest.raises(IdentifyError, match='torque constant. Give --known torque_scale'):
        identify(made(0), of_current=True)


def test_a_known_torque_constant_makes_torque_of_a_current():
    log = made(0)
    amps = Log(log.time, log.torque / 0.09, log.speed)
    result = identify(amps, of_current=True, known={'torque_scale': 0.09})
    assert result.values['inertia'] == pytest.approx(TRUE['inertia'], rel=1e-6)


def test_a_torque_of_the_wrong_sign_is_refused():
    log = made(0, 0.02)
    with pytest.raises(IdentifyError, match='The motion does not follow the torque, so the inert'):
        identify(replace(log, torque=-log.torque))


def test_a_load_that_nobody_told_of_is_said_to_be_missing_something():
    log = hanging()
    without = identify(replace(log, position=None))
    assert 'misfit' in codes(without)
    text = next(flag.text for flag in without.flags if flag.code == 'misfit')
    assert text.startswith('the residual is ')
    assert 'misfit' not in codes(identify(log))


def one_way(sign):
    """Return a recording of a rotor that is only ever driven one way, with an offset of 0.02."""
    random = np.random.default_rng(1)
    command = sign * np.repeat(random.uniform(0.2, 0.9, 40), 50)
    motor = MotorParameters(0.02, 0.05, friction=Friction(coulomb=0.05))
    speed = rollout(motor, dt=DT, command=command + 0.02, keep=('speed',))['speed'][0]
    time = DT * np.arange(len(command) + 1)
    return Log(time, np.append(command, command[-1]), np.concatenate([[0.0], speed]))


def test_a_residual_that_is_no_noise_is_said_to_be_none():
    assert 'structured' not in codes(identify(made(0, 0.05)))
    assert 'structured' not in codes(identify(made(0, 0.05, correlation=0.9)))
    assert 'structured' not in codes(identify(made(0)))
    log = made(0, 0.002)
    drag = replace(log, torque=log.torque - 2e-2 * log.speed * np.abs(log.speed))
    assert 'structured' in codes(identify(drag))


def test_recordings_that_together_turn_both_ways_tell_an_offset():
    assert 'one_direction' in codes(identify(one_way(1.0)))
    both = identify([one_way(1.0), one_way(-1.0)])
    assert 'one_direction' not in codes(both)
    assert both.values['offset'] == pytest.approx(0.02, rel=1e-6)
    assert both.values['coulomb_friction'] == pytest.approx(0.05, rel=1e-6)


def test_what_is_too_much_for_the_memory_is_refused_before_it_is_tried(monkeypatch):
    monkeypatch.setattr('mime_motor_ros.offline.identifying.identifying.MOST_NUMBERS', 1000)
    text = 'too long for one fit: 1000 samples in 2 segments. Take a part with --start and'
    with pytest.raises(IdentifyError, match=text):
        identify(made(0))


def test_one_direction_and_one_speed_are_said():
    n = 600
    command = np.where(np.arange(n) < 100, 0.02, 0.5)
    speed = rollout(MotorParameters(0.02, 0.01), dt=DT, command=command, keep=('speed',))['speed']
    random = np.random.default_rng(0)
    noisy = np.append(0.0, speed[0]) + 0.02 * random.normal(size=n + 1)
    result = identify(Log(DT * np.arange(n + 1), np.append(command, 0.5), noisy))
    assert {'one_direction', 'scale_fixed', 'no_angle'} <= codes(result)
    assert result.values['load'] is None


def saturated(limit):
    n = 1500
    command = np.where(np.arange(n) < 100, 0.1, 1.0)
    speed = [0.0]
    for u in command:
        speed.append(min(speed[-1] + DT / 0.02 * (u - 0.01 * speed[-1]), limit))
    return Log(DT * np.arange(n + 1), np.append(command, 1.0), np.array(speed))


def test_a_speed_that_stops_while_the_torque_goes_on_is_left_out_and_said():
    result = identify(saturated(20.0))
    (flag,) = (flag for flag in result.flags if flag.code == 'saturated')
    assert 'stays at 20 rad/s' in flag.text
    assert result.values['inertia'] == pytest.approx(0.02, rel=0.02)


def test_a_speed_at_which_torque_and_damping_balance_is_not_left_out():
    n = 2000
    command = np.where(np.arange(n) < 100, 0.1, 1.0)
    out = rollout(MotorParameters(0.02, 0.05), dt=DT, command=command, keep=('speed',))
    speed = np.append(0.0, out['speed'][0])
    result = identify(Log(DT * np.arange(n + 1), np.append(command, 1.0), speed))
    assert 'saturated' not in codes(result)
    assert result.values['damping'] == pytest.approx(0.05, rel=1e-6)


def test_commands_beyond_the_torque_limit_are_left_out():
    result = identify(made(0), torque_limit=0.9)
    assert 'saturated' in codes(result)
    assert result.values['inertia'] == pytest.approx(TRUE['inertia'], rel=1e-6)


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        ({'known': {'mass': 1.0}}, 'known mass must be one of inertia, damping'),
        (
            {'guess': {'inertia': 0.0}},
            'guess inertia must be from 1e-12 to 1e+12 kg m^2, got 0.0.',
        ),
        ({'known': {'damping': -1.0}}, 'known damping must be from 0 to 1e+12 N m s, got -1.0.'),
        (
            {'known': {'offset': 1e300}},
            'known offset must be from -1e+12 to 1e+12 N m, got 1e+3',
        ),
        (
            {'known': {'command_delay': 2.0}},
            'known command_delay must be shorter than seed 0, 2 s, got 2.0.',
        ),
        (
            {
                'known': dict.fromkeys(('inertia', 'torque_scale'), 1.0)
                | dict.fromkeys(
                    ('damping', 'coulomb_friction', 'command_delay', 'load', 'offset'), 0.0
                )
            },
            'known must be fewer than all of inertia, damping',
        ),
        ({'segment': 0.0}, 'segment must be finite and > 0 s, got 0.0'),
        ({'segment': 'a'}, 'segment must be finite and > 0 s, got a'),
        ({'known': 5}, 'known must be values by name, or None, got 5'),
        ({'known': {'inertia': None}}, 'known inertia must be from 1e-12 to 1e+12 kg m^2, got No'),
        ({'load_angle': 'a'}, 'load_angle must be from -1e+12 to 1e+12, got a'),
        ({'max_delay': float('nan')}, 'max_delay must be finite and > 0 s, got nan'),
    ],
)
def test_a_bad_argument_is_refused(arguments, text):
    with pytest.raises(ParameterError) as error:
        identify(made(0), **arguments)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize('logs', [None, 5, [], [None]])
def test_what_is_no_recording_is_refused(logs):
    with pytest.raises(ParameterError, match='logs must be a Log or path, or a sequence of'):
        identify(logs)


def test_time_that_goes_back_is_refused():
    with pytest.raises(RecordingError, match='time of recording must rise.*in sample 2'):
        Log([0.0, 1.0, 1.0], [0.0] * 3, [0.0] * 3)


@pytest.mark.parametrize(('unit', 'factor'), [('ms', 1e3), ('us', 1e6), ('ns', 1e9)])
def test_a_time_in_other_units_is_asked_about_and_read(tmp_path, unit, factor):
    log, file = made(0, 0.02), tmp_path / 'a.csv'
    first = 1_700_000_000 * 10**9 if unit == 'ns' else 0
    stamps = [first + round(t * factor) for t in log.time]
    rows = zip(stamps, log.torque, log.speed, strict=True)
    lines = [f'{t},{u:.9g},{w:.9g}' for t, u, w in rows]
    file.write_text('\n'.join(['t,torque,speed', *lines]))
    with pytest.raises(
        IdentifyError,
        match=r'a.csv must have samples closer than 0.5 s, got .*'
        'between them. If its time is in other units, name them with --time-unit',
    ):
        identify(read(file))  # fmt: skip
    assert read(file, time_unit=unit).time == pytest.approx(log.time, abs=1e-12)
    with pytest.raises(ParameterError, match='time_unit must be one of s, ms, us, ns, got'):
        read(file, time_unit='h')


def test_a_time_since_1970_gives_what_a_time_from_0_gives():
    log = made(0, 0.02)
    late, early = identify(replace(log, time=log.time + 1.7e9)).values, identify(log).values
    for name in TRUE:
        assert late[name] == pytest.approx(early[name], rel=1e-3, abs=1e-6), name


def test_a_part_is_taken_by_the_time_from_the_first_sample(recording):
    log = replace(read(recording), time=read(recording).time + 5.0)
    part = log.between(0.5, 1.0)
    assert (part.time[0], part.time[-1]) == pytest.approx((5.5, 6.5))
    assert len(part) == len(part.torque) == len(part.speed) == 501
    text = 'step.csv must have 2 samples from 3 s on for 1 s, got 0; it lasts 2 s.'
    with pytest.raises(RecordingError, match=text):
        log.between(3.0, 1.0)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('t;torque;speed\n0;0;0', "line 1: columns must be separated by commas, got ';'. Save it"),
        ('t\ttorque\tspeed\n0\t0\t0', "columns must be separated by commas, got '\\t'"),
        ('t,torque,speed,t\n0,0,0,0', "line 1: there are two columns 't'."),
        (
            't,torque,speed\n0,0,0\n1,"0,5",0',
            "line 3 of a.csv: torque must be a number, got '0,5'.",
        ),
        ('t,torque,speed\n1,"0,5",0', "got '0,5'. Numbers have a point, not a comma."),
        ('t,torque,speed\n0,0,off', "line 2 of a.csv: speed must be a number, got 'off'. Cut "),
        (
            't,torque,speed\n0,0,nan\n1,0,0',
            'speed of a.csv must be finite and at most 1e+12, got nan in sample 0.',
        ),
        (f't,torque,speed\n0,0,0\n{"9" * 400},0,0', 'time of a.csv must be finite, got inf'),
        ('t,torque,speed\n0,0,0', 'a.csv must be a CSV of a header and at least 2 rows, got 1.'),
    ],
)
def test_what_is_no_table_of_numbers_is_told_with_its_place(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    Path('a.csv').write_text(text)
    with pytest.raises(RecordingError) as error:
        read('a.csv')
    assert said in str(error.value)


def test_a_column_that_is_not_taken_may_hold_anything(tmp_path):
    (tmp_path / 'a.csv').write_text('t,torque,speed,note,note\n0,0,0,on,\n1,1,1,off,x')
    assert read(tmp_path / 'a.csv').torque.tolist() == [0.0, 1.0]


def test_a_motor_that_a_file_does_not_have_is_named(tmp_path):
    (tmp_path / 'a.csv').write_text('t,tau_meas1_Nm,vel1_rad_s\n0,0,0\n1,1,1')
    with pytest.raises(RecordingError, match="no column known as torque of motor '7'; it has 't'"):
        read(tmp_path / 'a.csv', motor='7')


def test_a_path_is_read(recording):
    assert identify(recording).values == identify([str(recording)]).values


def test_the_one_motor_of_a_table_is_taken(tmp_path):
    head = 'stamp_ns,wheel.torque_n_m,wheel.speed_rad_s'
    (tmp_path / 'a.csv').write_text(f'{head}\n0,0,0\n10,1,1')
    log = read(tmp_path / 'a.csv')
    assert log.at_end
    assert log.columns == {'time': 'stamp_ns', 'torque': 'wheel.torque_n_m',
                           'speed': 'wheel.speed_rad_s'}  # fmt: skip
    (tmp_path / 'a.csv').write_text(f'{head},arm.torque_n_m\n0,0,0,0\n10,1,1,0')
    with pytest.raises(RecordingError, match='has no column known as torque'):
        read(tmp_path / 'a.csv')


def test_numbers_beyond_all_motors_are_refused():
    log = made(0)
    for huge in (1e13, -1e300):
        with pytest.raises(RecordingError, match='torque of seed 0 must be finite and at most 1e'):
            replace(log, torque=np.where(log.time == 0.5, huge, log.torque))


def test_a_recording_counts_once(recording):
    with pytest.raises(ParameterError, match='logs must be recordings that are each there once'):
        identify([recording, read(recording)])


@pytest.mark.parametrize('name', ['load_angle', 'mount_arm', 'torque_limit'])
@pytest.mark.parametrize('value', [float('nan'), float('inf')])
def test_lengths_and_limits_are_finite(name, value):
    with pytest.raises(ParameterError, match=f'{name} must be f'):
        identify(made(0), **{name: value})


def test_a_damaged_file_that_says_nothing_names_its_column_shortly(tmp_path):
    (tmp_path / 'a.csv').write_text(','.join(f'c{k}' for k in range(100000)) + '\n')
    with pytest.raises(RecordingError) as error:
        read(tmp_path / 'a.csv')
    assert len(str(error.value)) < 1000
    (tmp_path / 'a.csv').write_text('')
    with pytest.raises(RecordingError, match='no column known as time; it has none. Name one'):
        read(tmp_path / 'a.csv')
    (tmp_path / 'a.csv').write_text('t,u\n')
    with pytest.raises(RecordingError, match="'²'"):
        read(tmp_path / 'a.csv', motor='²')


def test_a_motor_of_a_file_without_any_is_refused(recording):
    with pytest.raises(RecordingError, match="has no column of motor '2'; it has 't_s', .* out"):
        read(recording, motor='2')


def test_a_table_in_parquet_is_asked_for_as_csv(tmp_path):
    with pytest.raises(RecordingError, match='must be a CSV or a rosbag2. Have the table made wi'):
        read(tmp_path / 'a.parquet')


def test_the_page_lists_the_columns_that_are_known():
    text = (ROOT / 'doc' / 'offline.md').read_text()
    for quantity, names in COLUMNS.items():
        shown = [x.format(motor='M', name='NAME', below='L') for x in names]
        row = f'| {quantity.replace("_", " ")} | ' + ', '.join(f'`{x}`' for x in shown) + ' |'
        assert row in text


def test_columns_are_known_or_named(tmp_path):
    file = tmp_path / 'a.csv'
    file.write_text('when,torque_Nm,speed_rad_s\n0,1,2\n0.1,1,3\n')
    with pytest.raises(RecordingError, match="no column known as time; it has 'when'"):
        read(file)
    log = read(file, {'time': 'when'})
    assert log.speed.tolist() == [2.0, 3.0]
    with pytest.raises(RecordingError, match="has no column 'w'; it has 'when'"):
        read(file, {'time': 'when', 'speed': 'w'})


def test_a_bag_of_the_node_gives_the_motor_that_made_it(tmp_path):
    from mime_motor_ros.offline.replay_command import main

    time = DT * np.arange(1000)
    torque = np.repeat(np.random.default_rng(1).uniform(-0.1, 0.1, 25), 40)
    rows = np.column_stack([time, torque, 0 * time, 0 * time, np.sin(9.0 * time), 1.0 + 0 * time])
    header = 't_s,command,wx_rad_s,wy_rad_s,wz_rad_s,mount_qw'
    pose = ('mount_x_m', 'mount_y_m', 'mount_z_m', 'mount_qx', 'mount_qy', 'mount_qz')
    rows = np.column_stack([rows, np.zeros((1000, 6))])
    log, bag = tmp_path / 'log.csv', tmp_path / 'bag'
    np.savetxt(log, rows, '%.17g', ',', header=','.join((header, *pose)), comments='')
    wheel = {'inertia': 2e-3, 'damping': 4e-3}
    made = [f'wheel.{name}:={value}' for name, value in wheel.items()]
    options = ['--out', str(bag), *(x for one in made for x in ('-p', one)), '--quiet']
    assert main([str(log), *options, '-p', 'wheel.placement.xyz:=[0.0, 0.0, 0.0]']) == 0
    for motor in ('', 'wheel', 'wheel_joint'):
        read_again = read(bag, motor=motor)
    at = np.rint((read_again.time + DT) / DT).astype(int)
    turning = np.abs(read_again.mount_rate) > 0.0
    assert turning.sum() > 900
    np.testing.assert_allclose(read_again.mount_rate[:-1], np.sin(9.0 * DT * at)[:-1], atol=0.03)
    result = identify(read_again, known={'command_delay': 0.0})
    for name, value in wheel.items():
        assert result.values[name] == pytest.approx(value, rel=1e-4)
    with pytest.raises(RecordingError, match="one of wheel_joint, got 'arm'"):
        read(bag, motor='arm')
    with pytest.raises(RecordingError, match='has no topic /nope'):
        read(bag, topic='/nope')


def test_stamps_in_nanoseconds_keep_their_last_digit(tmp_path):
    file = tmp_path / 'a.csv'
    now = 1_700_000_000_000_000_001
    file.write_text(f'stamp_ns,torque_Nm,speed_rad_s\n{now},1,2\n{now + 1000001},1,3\n')
    assert read(file).time.tolist() == [0.0, 1000001 * 1e-9]


def test_a_cut_file_and_a_missing_one_are_told(tmp_path):
    file = tmp_path / 'a.csv'
    file.write_text('t_s,torque_Nm,speed_rad_s\n0,1,2\n0.1,1\n')
    with pytest.raises(RecordingError, match=r'line 3 of .* must have 3 values .* got 2'):
        read(file)
    with pytest.raises(RecordingError, match='cannot be read: No such file'):
        read(tmp_path / 'b.csv')


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    log = made(0, 0.02)
    file = tmp_path_factory.mktemp('log') / 'step.csv'
    rows = np.column_stack([log.time, log.torque, log.speed])
    header = 't_s,torque_Nm,speed_rad_s'
    np.savetxt(file, rows, delimiter=',', header=header, comments='', fmt='%.9g')
    return file


def test_the_program_prints_json_and_writes_what_the_node_takes(recording, tmp_path):
    yaml = pytest.importorskip('yaml')
    out, picture = tmp_path / 'rotor.yaml', tmp_path / 'rotor.png'
    done = run(recording, '--json', '--out', out, '--plot', picture, '--name', 'wheel_1')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['inertia'] == pytest.approx(0.02, rel=0.02)
    assert set(found) >= {'inertia', 'damping', 'coulomb_friction', 'torque_scale',
                          'command_delay', 'load', 'standard_errors', 'flags'}  # fmt: skip
    values = yaml.safe_load(out.read_text())['/**']['ros__parameters']
    flat = {f'wheel_1.{name}': value for name, value in values['wheel_1'].items()}
    (motor,) = settings({'motors': values['motors'], **flat}).motors
    assert motor.model.inertia == pytest.approx(found['inertia'], rel=1e-9)
    assert motor.model.friction.coulomb == pytest.approx(found['coulomb_friction'], rel=1e-9)
    assert motor.command.delay == round(found['command_delay'] * 1e9)
    assert picture.read_bytes()[:4] == b'\x89PNG'
    assert sorted(x.name for x in tmp_path.iterdir()) == ['rotor.png', 'rotor.yaml']


def test_what_it_writes_runs_the_recording_that_it_came_from(recording, tmp_path, capsys):
    from mime_motor_ros.offline import replay_command

    out = tmp_path / 'rotor.yaml'
    assert main([str(recording), '--out', str(out)]) == 0
    arguments = [recording, '--params-file', out, '--column', 'rotor.command=torque_Nm']
    assert replay_command.main([*map(str, arguments), '--csv', str(tmp_path / 'a.csv'), '-q']) == 0
    told = np.genfromtxt(tmp_path / 'a.csv', delimiter=',', names=True, deletechars='')
    log = read(recording)
    then = np.interp(told['stamp_ns'] * 1e-9, log.time, log.speed)
    assert np.abs(told['rotor.speed_rad_s'] - then).max() < 0.15 * np.abs(log.speed).max()


@pytest.mark.parametrize('option', ['--out', '--plot'])
def test_the_program_replaces_nothing_that_it_is_not_told_to(recording, tmp_path, capsys, option):
    there = tmp_path / 'there.png'
    there.write_text('mine')
    assert main([str(recording), option, str(there)]) == 1
    assert (
        'is there already. Choose another name, or add --overwrite (overwrite=True).'
        in capsys.readouterr().err
    )
    assert there.read_text() == 'mine'
    assert main([str(recording), option, str(there), '--overwrite']) == 0
    assert there.read_bytes() != b'mine'


def test_the_program_writes_over_nothing_that_it_reads(recording, tmp_path, capsys):
    file = tmp_path / 'a.csv'
    file.write_bytes(recording.read_bytes())
    png = tmp_path / 'a.png'
    for outputs in (
        ['--out', file],
        ['--out', tmp_path / 'no' / 'a'],
        ['--out', png, '--plot', png],
    ):
        assert main([str(file), *map(str, outputs), '--overwrite']) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert 'there is no folder' in said[1]
    assert '--out and --plot must be two files' in said[2]
    assert file.read_bytes() == recording.read_bytes()


def commands():
    """Return the commands in the section of the page."""
    text = (ROOT / 'doc' / 'offline.md').read_text().split('\n## motor_identify\n')[1]
    return text.split('```sh\n')[1].split('```')[0].splitlines()


@needs_data
@pytest.mark.parametrize('command', commands())
def test_a_command_of_the_page_runs_as_it_stands(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setenv('DATA', str(DATA))
    monkeypatch.setenv('OUT', str(tmp_path))
    program, *arguments = shlex.split(os.path.expandvars(command))
    assert (program, main(arguments)) == ('motor_identify', 0)
    assert 'inertia' in capsys.readouterr().out


def test_the_program_prints_a_table(recording):
    done = run(recording)
    assert done.returncode == 0, done.stderr
    for name in ('inertia', 'correlations', 'scale_fixed', 'rms of the residual'):
        assert name in done.stdout
    said = 'step.csv: read t_s (time), torque_Nm (torque), speed_rad_s (speed)'
    assert said in done.stdout


@pytest.mark.parametrize(
    ('arguments', 'code', 'text'),
    [
        (['nothing.csv'], 1, 'motor_identify: nothing.csv cannot be read: No such file'),
        (['a.csv', '--known', 'mass=1'], 2, 'must be NAME=VALUE with NAME one of inertia'),
        (['a.csv', '--max-delay', '-1'], 2, 'must be a number finite and > 0'),
        (['a.csv', '--torque', 'a', '--current', 'b'], 2, 'give --torque or --current, not both'),
        (['a.csv', '--plot', 'a.doc'], 2, "--plot must end in .png, .svg, .pdf, got 'a.doc'."),
        (['a.csv', '--time-unit', 'h'], 2, "invalid choice: 'h' (choose from"),
    ],
)
def test_the_program_refuses_in_words(arguments, code, text):
    done = run(*arguments)
    assert done.returncode == code
    assert text in done.stderr
    assert 'Traceback' not in done.stderr


def test_help_has_examples_and_is_quick_to_say_so():
    done = run('--help', COLUMNS='100')
    assert done.returncode == 0
    assert 'motor_identify step_12.csv step_13.csv --out rotor.yaml' in done.stdout


@needs_data
def test_ak109_steps_give_the_published_inertia_and_the_dead_time():
    logs = [read(DATA / f'ak109_speed_step_{k}.csv') for k in (12, 13)]
    result = identify(logs)
    assert 0.0154 <= result.values['inertia'] <= 0.0210
    assert abs(result.values['command_delay'] - 0.008) < 0.002


@needs_data
def test_ak109_step_11_is_said_to_be_saturated():
    result = identify(read(DATA / 'ak109_speed_step_11.csv'))
    (flag,) = (flag for flag in result.flags if flag.code == 'saturated')
    assert 'stays at 28.34 rad/s' in flag.text
    assert 0.0154 <= result.values['inertia'] <= 0.0210


@needs_data
def test_the_pendulum_with_its_load_known_has_the_published_inertia():
    log = read(DATA / 'pendulum_sysid.csv')
    result = identify(log, known={'load': 0.1022 * 9.81, 'torque_scale': 1.0})
    assert result.values['inertia'] == pytest.approx(0.06259, rel=0.1)


@needs_data
@pytest.mark.slow
def test_the_pendulum_alone_is_said_to_tell_only_a_ratio():
    result = identify(read(DATA / 'pendulum_sysid.csv'))
    pairs = {flag.parameters for flag in result.flags if flag.code == 'correlated'}
    assert ('inertia', 'load') in pairs


@needs_data
@pytest.mark.slow
def test_the_second_arm_rides_on_the_first():
    log = read(DATA / 'double_pendulum_A_00.csv', motor='2')
    assert log.mount_rate is not None
    result = identify(log, mount_arm=0.3)
    off = abs(result.values['inertia'] - 0.0239) / result.standard_errors['inertia']
    assert off < 3.0
