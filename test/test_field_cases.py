"""Cases out of public bug reports with the right values; data/field/README.md tells of them."""

import json
from pathlib import Path

from mime_motor_ros.errors import ParameterError
from mime_motor_ros.inputs import Commands, Imu, Transform
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings
import pytest

CASES = Path(__file__).parent / 'data' / 'field'
IDENTITY = {'xyz_m': (0.0, 0.0, 0.0), 'xyzw': (0.0, 0.0, 0.0, 1.0)}


def case(name):
    (path,) = CASES.glob(f'{name}-*.json')
    return json.loads(path.read_text())


def ns(message):
    return message.get('stamp_ns') or round(message['stamp_s'] * 1e9)


def make(data, **more):
    """Return a session with the parameters of a case, stepping on the rate messages."""
    p, initial = data['parameters'], data['initial']
    frames = {k: data['input'][k] for k in ('world_frame', 'mount_frame') if k in data['input']}
    q = p['asymmetry_kg_m2']
    values = {
        'wheel.inertia': p['inertia_kg_m2'],
        'wheel.damping': p['damping_Nms'],
        'wheel.axis': p['axis'],
        'wheel.asymmetry': [*q[0], *q[1][1:], q[2][2]],
        'wheel.placement.xyz': p['placement']['xyz_m'],
        'wheel.placement.quaternion': p['placement']['xyzw'],
        'wheel.initial_spin': initial.get('spin_rad_s', 0.0),
        'wheel.initial_angle': initial.get('angle_rad', 0.0),
        'step_on': 'imu',
        **frames,
        **more,
    }
    return Session(settings(values))


def feed(session, message):
    """Hand one message to the session at the time of its stamp; return the steps it makes."""
    topic, now = message['topic'], ns(message)
    if topic.startswith('/tf'):
        static = topic == '/tf_static'
        pose = (tuple(map(float, message['xyz_m'])), tuple(map(float, message['xyzw'])))
        item = Transform(now, message['frame_id'], message['child_frame_id'], *pose, static)
    elif topic == '/imu/data':
        item = Imu(
            now,
            message['frame_id'],
            tuple(map(float, message['angular_velocity_rad_s'])),
            message['angular_velocity_covariance_0'],
            tuple(map(float, message['orientation_xyzw'])),
            message['orientation_covariance_0'],
        )
    else:
        item = Commands((message['torque_Nm'],))
    session.take(item, now)
    return []


def run(session, messages):
    """Play messages: all of one stamp are there before time comes to it."""
    outcomes = []
    for i, message in enumerate(messages):
        feed(session, message)
        if i + 1 == len(messages) or ns(messages[i + 1]) != ns(message):
            outcomes += session.advance_to(ns(message))
    return outcomes


def prescribed(session, steps, start=1_000_000_000):
    """Step by a list of dt, torque and mount rate on a mount held at the identity."""
    outcomes, now = [], start
    world, mount = session.settings.world_frame, session.settings.mount_frame
    for step in [None, *steps]:
        now += round(step['dt_s'] * 1e9) if step else 0
        torque = step['torque_Nm'] if step and 'torque_Nm' in step else 0.0
        rate = step.get('mount_rate_world', (0.0, 0.0, 0.0)) if step else (0.0, 0.0, 0.0)
        session.take(Transform(now, world, mount, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)), now)
        session.take(Imu(now, mount, tuple(map(float, rate))), now)
        session.take(Commands((torque,)), now)
        outcomes += session.advance_to(now)
    return outcomes


def check(data, outcome, expected):
    tolerance = data['tolerance']
    step = outcome.steps[0]
    found = {
        'spin': step.state.spin,
        'angle': step.state.angle,
        'relative_spin': step.relative_speed,
        'reaction_torque': list(step.reaction.torque),
        'momentum': list(step.momentum),
        'tau_q': step.asymmetry_torque,
        'Q': [list(row) for row in step.asymmetry_now],
        'Q_next': [list(row) for row in step.asymmetry_next],
    }
    for name, value in expected.items():
        if name in found:
            near(found[name], value, tolerance)


def near(found, expected, tolerance):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            near(a, b, tolerance)
    else:
        assert found == pytest.approx(expected, rel=tolerance['rel'], abs=tolerance['abs'])


def test_FD01_an_imu_turned_on_its_mount_is_read_in_its_own_axes():
    data = case('FD01')
    outcomes = run(make(data), data['input']['messages'])
    assert len(outcomes) == data['expected']['steps']
    for outcome, rate, after in zip(
        outcomes,
        data['expected']['mount_rate_world'],
        data['expected']['after_each_step'],
        strict=True,
    ):
        near(list(outcome.rate), rate, data['tolerance'])
        check(data, outcome, after)


def test_FD02_a_zero_quaternion_is_dropped_and_the_last_good_pose_held():
    data = case('FD02')
    session = make(data)
    outcomes = run(session, data['input']['messages'])
    assert len(outcomes) == data['expected']['steps']
    for outcome, after in zip(outcomes, data['expected']['after_each_step'], strict=True):
        check(data, outcome, after)
    assert session.counts['tf', 'quaternion'] == 1
    assert any('length 0' in text for text in session.news.values())


def test_FD03_repeated_stamps_make_no_step():
    data = case('FD03')
    session = make(data, command_timeout=0.0)
    outcomes = []
    for message in data['input']['messages']:
        feed(
            session,
            {
                **message,
                'frame_id': 'odom',
                'child_frame_id': 'zed2_imu_link',
                **IDENTITY,
                'topic': '/tf',
            },
        )
        feed(session, {**message, 'topic': 'torque', 'torque_Nm': 0.01})
        feed(session, message)
        outcomes += session.advance_to(ns(message))
    assert len(outcomes) == data['expected']['steps_that_move_time']
    for outcome, after in zip(outcomes, data['expected']['after_each_step'], strict=True):
        check(data, outcome, after)
    elapsed = outcomes[-1].stamp_ns - outcomes[0].start_ns
    assert elapsed * 1e-9 == pytest.approx(data['expected']['elapsed_s'], abs=1e-12)
    assert session.counts['imu', 'repeated'] == 2


@pytest.mark.parametrize('axis', case('FD04')['input']['axes_to_try'])
def test_FD04_an_axis_is_normalised_and_one_without_length_refused(axis):
    data = case('FD04')
    values = {'wheel.axis': axis}
    if sum(x * x for x in axis) < 1e-12:
        with pytest.raises(ParameterError, match='wheel.axis must be'):
            make(data, **values)
        return
    outcomes = prescribed(make(data, **values), [data['input']['step']])
    check(data, outcomes[0], data['expected']['for [0,0,1], [0,0,0.01] and [0,0,2] if accepted'])


def test_FD05_the_mount_gets_the_opposite_of_what_the_rotor_gets():
    data = case('FD05')
    outcomes = prescribed(make(data), data['input']['steps'])
    spin = 0.0
    for outcome, after in zip(outcomes, data['expected']['after_each_step'], strict=True):
        check(data, outcome, after)
        step = outcome.steps[0]
        gained = data['parameters']['inertia_kg_m2'] * (step.state.spin - spin) / outcome.dt
        assert gained + step.reaction.torque[2] == pytest.approx(0.0, abs=1e-13)
        spin = step.state.spin
    back = prescribed(make(data), [{'dt_s': 0.002, 'torque_Nm': -0.02}])
    check(data, back[0], data['expected']['one step with torque -0.02'])


def test_FD06_speeds_are_rad_per_second_and_nothing_else():
    data = case('FD06')
    (outcome,) = prescribed(make(data), data['input']['steps'])
    check(data, outcome, data['expected'])
    near(
        list(outcome.steps[0].gyroscopic_torque),
        data['expected']['gyroscopic_torque_on_mount'],
        data['tolerance'],
    )


@pytest.mark.parametrize('variant', ['at rest', 'mount turning'])
def test_FD07_stiff_damping_never_passes_zero(variant):
    data = case('FD07')
    rate = data['input']['variants'][variant]
    steps = [{**step, 'mount_rate_world': rate} for step in data['input']['steps']]
    outcomes = prescribed(make(data), steps)
    expected = data['expected'][variant]
    for outcome, spin, reaction in zip(
        outcomes, expected['spin'], expected['reaction_z'], strict=True
    ):
        near(outcome.steps[0].state.spin, spin, data['tolerance'])
        near(outcome.steps[0].reaction.torque[2], reaction, data['tolerance'])
        assert outcome.steps[0].state.spin > rate[2]


@pytest.mark.parametrize('variant', ['rides along', 'at rest in space'])
def test_FD08_spin_is_absolute(variant):
    data = case('FD08')
    spin = data['initial']['variants'][variant]['spin_rad_s']
    session = make(data, **{'wheel.initial_spin': spin})
    outcomes = prescribed(session, data['input']['steps'])
    assert len(outcomes) == 3
    for outcome, after in zip(outcomes, data['expected'][variant], strict=True):
        check(data, outcome, after)


@pytest.mark.parametrize(
    ('jump', 'answer'),
    [('hold', 'hold over the jump (second pass)'), ('reset', 'reset on the jump (second pass)')],
)
def test_FD09_a_loop_starts_again_without_a_step_over_the_jump(jump, answer):
    data = case('FD09')
    session = make(data, on_time_jump=jump)
    outcomes, said = [], []
    for stamp in data['input']['stamps_s']:
        now = round(stamp * 1e9)
        pose = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
        session.take(Transform(now, 'odom', 'base_link', *pose), now)
        session.take(Imu(now, 'base_link', (0.0, 0.0, 0.0)), now)
        session.take(Commands((data['input']['torque_Nm'],)), now)
        outcomes += session.advance_to(now)
        said += [text for text in session.news.values() if 'went back' in text]
        session.news.clear()
    assert len(said) == session.jumps == 1
    expected = data['expected']['first pass'] + data['expected']['acceptable'][answer]
    assert len(outcomes) == len(expected)
    for outcome, after in zip(outcomes, expected, strict=True):
        check(data, outcome, after)


def test_FD10_one_leading_slash_is_stripped():
    data = case('FD10')
    session = make(data)
    outcomes = run(session, data['input']['messages'])
    assert len(outcomes) == data['expected']['steps']
    near(list(outcomes[0].rate), data['expected']['mount_rate_world'], data['tolerance'])
    check(data, outcomes[0], data['expected'])
    assert any("'/imu'" in text for text in session.news.values())


def test_FD11_an_asymmetric_rotor_trembles_and_does_not_drift():
    data = case('FD11')
    given, expected = data['input']['constant mount'], data['expected']['constant mount']
    steps = [{'dt_s': given['dt_s'], 'mount_rate_world': given['mount_rate_world']}] * given[
        'steps'
    ]
    outcomes = prescribed(make(data), steps)
    spins = [outcome.steps[0].state.spin for outcome in outcomes]
    near(
        [o.steps[0].asymmetry_torque for o in outcomes[:3]],
        expected['tau_q of steps 1, 2, 3'],
        data['tolerance'],
    )
    near([spins[0], spins[9], spins[999]], expected['spin after 1, 10, 1000'], data['tolerance'])
    near(outcomes[-1].steps[0].state.angle, expected['angle after 1000'], data['tolerance'])
    check(
        data,
        outcomes[0],
        {'Q': expected['Q after step 1'], 'Q_next': expected['Q_next after step 1']},
    )
    low, high = expected['spin stays within']
    assert low - 1e-9 <= min(spins)
    assert max(spins) <= high + 1e-9


def test_FD11_on_a_turned_mount():
    from transforms3d.euler import euler2quat

    data = case('FD11')
    given, expected = data['input']['turned mount'], data['expected']['turned mount']
    session = make(data, **{'wheel.placement.rpy': given['placement_rpy']})
    w, x, y, z = (float(q) for q in euler2quat(*given['mount_rpy'], axes='sxyz'))
    outcomes = []
    # The rate is given in world axes: take it as if from a sensor that does not turn.
    for now in (10**9, 10**9 + 10**6):
        session.take(Transform(now, 'odom', 'base_link', (0.0, 0.0, 0.0), (x, y, z, w)), now)
        session.take(Imu(now, 'odom', tuple(given['mount_rate_world'])), now)
        outcomes += session.advance_to(now)
    check(data, outcomes[0], expected)


def test_every_case_has_its_test():
    here = Path(__file__).read_text()
    names = [path.name.split('-')[0] for path in CASES.glob('FD*.json')]
    assert len(names) == 11
    assert all(f'def test_{name}' in here for name in names)
