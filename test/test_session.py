"""The rules of time, by their numbers in design and module; T.. are cases users reported."""

from math import pi

from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from mime_motor_ros.model import MotorParameters, MotorState
from mime_motor_ros.vector import add, cross, dot, multiply, rotate, subtract
import pytest
from sessions import (
    effort,
    give,
    imu,
    make,
    moving,
    MS,
    ORIGIN,
    play,
    SECOND,
    spins,
    stamps,
    START,
    still,
    tf,
    TURNING,
    UPRIGHT,
    yawed,
)

NAN, INF = float('nan'), float('inf')


def near(a, b, tolerance=1e-12):
    assert a == pytest.approx(b, rel=tolerance, abs=tolerance)


# 1: which sample a step reads


def test_rule_1_a_step_reads_the_newest_sample_stamped_at_or_before_its_end():
    session = make()
    give(session, [tf(START)])
    session.advance_to(START)
    for offset, rate in ((9 * MS, 1.0), (10 * MS, 2.0), (10 * MS + 1, 3.0), (19 * MS, 4.0)):
        session.take(imu(START + offset, (rate, 0.0, 0.0)), START + 20 * MS)
    first, second = session.advance_to(START + 20 * MS)
    assert first.rate == (2.0, 0.0, 0.0)
    assert second.rate == (4.0, 0.0, 0.0)


def test_rule_1_of_every_input_alike():
    session = make(command_timeout=0.0)
    session.advance_to(START)
    give(session, [tf(START), imu(START)], START + 20 * MS)
    for end in (10 * MS, 20 * MS):
        now = START + end
        give(
            session,
            [
                tf(now, position=(end / MS, 0.0, 0.0)),
                tf(now + 1, position=(-1.0, 0.0, 0.0)),
                effort(now, float(end)),
                effort(now + 1, -1.0),
                Load(now, 'wheel', 'rotor', 'base_link', (0.0, 0.0, end / MS), ORIGIN),
                Load(now + 1, 'wheel', 'rotor', 'base_link', (0.0, 0.0, -1.0), ORIGIN),
            ],
            START + 20 * MS,
        )
    first, second = session.advance_to(START + 20 * MS)
    assert first.mount.position == (10.0, 0.0, 0.0)
    assert second.mount.position == (20.0, 0.0, 0.0)
    assert first.torques == (10.0 * MS,)
    assert second.torques == (20.0 * MS,)
    assert first.reaction().force == (0.0, 0.0, 10.0)
    assert second.reaction().force == (0.0, 0.0, 20.0)


def test_rule_1_T38_a_command_is_held_until_the_next_so_a_silent_sender_makes_no_cycle():
    session = still(command_timeout=0.0)
    session.advance_to(START)
    session.take(Commands((0.01,)), START + 5 * MS)
    made = [outcome for k in range(1, 200) for outcome in session.advance_to(START + k * 10 * MS)]
    assert [outcome.torques for outcome in made] == [(0.01,)] * 199


def test_rule_1_T17_a_pose_that_lags_behind_the_imu_is_read_as_it_is():
    session = make()
    session.advance_to(START)
    made = []
    for k in range(1, 50):
        now = START + k * 10 * MS
        give(session, [tf(now - 20 * MS, position=(float(k), 0.0, 0.0)), imu(now)], now)
        made += session.advance_to(now)
    assert len(made) == 49
    assert [outcome.mount.position[0] for outcome in made] == [float(k) for k in range(1, 50)]


def test_rule_1_T33_after_a_stall_the_newest_sample_is_read_not_the_next_in_a_queue():
    session = make()
    give(session, [tf(START)])
    session.advance_to(START)
    for k in range(1, 201):  # 1 kHz, all of it found at once after 200 ms
        session.take(imu(START + k * MS, (float(k), 0.0, 0.0)), START + 200 * MS)
    made = session.advance_to(START + 200 * MS)
    assert [outcome.rate[0] for outcome in made] == [float(10 * k) for k in range(1, 21)]
    assert session.rate_stamp == START + 200 * MS


def test_rule_1_late_transforms_are_read_alike_in_any_order_of_arrival():
    """Two of one frame came behind the last step; a third frame's stamp lies between them."""

    def pose(*offsets):
        session = make(world_frame='map')
        give(session, [tf(START, 'map', 'odom'), tf(START), imu(START)], START + 10 * MS)
        session.advance_to(START + 10 * MS)
        session.take(imu(START + 100 * MS), START + 100 * MS)
        session.advance_to(START + 100 * MS)
        for k in offsets:
            now = START + 105 * MS
            session.take(tf(START + k * MS, position=(k**2 * 1.0, 0.0, 0.0)), now)
        session.take(tf(START + 70 * MS, 'map', 'odom'), START + 105 * MS)
        return session.advance_to(START + 110 * MS)[0].mount

    assert pose(60, 80) == pose(80, 60)
    near(pose(60, 80).position[0], (60**2 + 80**2) / 2)


# 2: what makes a step


def test_rule_2_timer_steps_end_on_the_grid_of_the_clock_whenever_it_is_called():
    session = still(rate=1000 / 3)
    made = []
    now = START + 1
    while now < START + SECOND:
        made += session.advance_to(now)
        now += 7_654_321
    assert (
        stamps(made)
        == [k * 3 * MS for k in range(START // (3 * MS) + 1, now // (3 * MS))][: len(made)]
    )
    assert all(outcome.dt == 0.003 for outcome in made)
    assert all(b.start_ns == a.stamp_ns for a, b in zip(made, made[1:], strict=False))


def test_rule_2_imu_steps_go_from_one_rate_stamp_to_the_next_and_the_first_starts_the_clock():
    session = make(step_on='imu')
    offsets = [0, 3_000_001, 7 * MS, 30 * MS]
    give(session, [tf(START), *(imu(START + k) for k in offsets)], START + 40 * MS)
    made = session.advance_to(START + 40 * MS)
    assert [(o.start_ns - START, o.stamp_ns - START) for o in made] == [
        (0, 3_000_001),
        (3_000_001, 7 * MS),
        (7 * MS, 30 * MS),
    ]
    assert [outcome.dt for outcome in made] == [0.003000001, 0.003999999, 0.023]


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_rule_2_T09_a_repeated_stamp_makes_no_step(step_on):
    session = make(step_on=step_on)
    made = play(session, START + 50 * MS)
    for _ in range(3):
        give(session, moving(START + 50 * MS), START + 50 * MS)
        made += session.advance_to(START + 50 * MS)
    assert stamps(made) == [START + k * 10 * MS for k in range(1, 6)]
    assert session.counts['imu', 'repeated'] == 3
    assert session.counts['tf', 'repeated'] == 3


def test_rule_2_steps_on_twist_and_odometry_stamps_too():
    for source, item in (
        ('twist', lambda t: Twist(t, 'base_link', TURNING)),
        ('odometry', lambda t: Odometry(t, 'odom', 'base_link', ORIGIN, UPRIGHT, TURNING)),
    ):
        session = make(step_on='imu', rate_source=source)
        made = play(session, START + 50 * MS, messages=lambda t, item=item: [tf(t), item(t)])
        assert [outcome.rate for outcome in made] == [TURNING] * 5


# 3: elapsed time, not calls


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_rule_3_T03_a_blocked_process_gives_the_numbers_of_one_that_is_not(step_on):
    free, blocked = make(step_on=step_on), make(step_on=step_on)
    expected = play(free, START + 500 * MS)
    made = play(blocked, START + 100 * MS)
    for k in range(11, 51):
        give(blocked, moving(START + k * 10 * MS), START + 500 * MS)
    caught = blocked.advance_to(START + 500 * MS)
    assert len(caught) == 40
    assert made + caught == expected
    assert blocked.states == free.states
    assert blocked.gaps == 0


def test_rule_3_exactly_max_gap_is_caught_up_and_more_is_left_out_and_said():
    session = still(initial_spin=10.0, damping=0.0)
    session.advance_to(START)
    assert len(session.advance_to(START + 500 * MS)) == 50
    assert session.caught_up == 49
    held = session.states[0]
    assert session.advance_to(START + 1000 * MS + 1) == []
    assert session.states[0] == held
    assert session.gaps == 1
    assert session.news['gap'] == (
        '0.500 s passed at once, more than max_gap: not integrated, angle and spin held'
    )
    (outcome,) = session.advance_to(START + 1010 * MS)
    assert outcome.dt == 0.01
    near(outcome.steps[0].state.angle, held.angle + 0.1)


def test_rule_3_T07_six_years_at_once_are_one_gap():
    session = make()
    play(session, START + 100 * MS)
    held = session.states[0]
    later = START + 6 * 365 * 86400 * SECOND
    give(session, moving(later), later)
    assert session.advance_to(later) == []
    assert (session.gaps, session.states[0]) == (1, held)
    assert len(play(session, later + 50 * MS, messages=lambda t: [tf(t), imu(t)])) == 5


def test_rule_3_imu_steps_are_no_longer_than_rate_timeout():
    for length, steps in ((100 * MS, 1), (100 * MS + 1, 0)):
        session = make(step_on='imu')
        give(session, [tf(START), imu(START)])
        session.advance_to(START)
        session.take(imu(START + length), START + length)
        assert len(session.advance_to(START + length)) == steps
        assert session.gaps == 0


def test_rule_3_T31_imu_steps_leave_out_what_lies_between_two_far_stamps():
    session = make(step_on='imu')
    play(session, START + 100 * MS)
    held = session.states[0]
    now = START + 5 * SECOND
    give(session, moving(now), now)
    assert session.advance_to(now) == []
    assert (session.gaps, session.states[0]) == (1, held)
    (outcome,) = play(session, now + 10 * MS)
    assert outcome.start_ns == now


# 4: clocks that start, stop and jump


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_rule_4_T05_the_first_clock_is_a_start_and_nothing_is_integrated_up_to_it(step_on):
    session = make(step_on=step_on, rate=100.0)
    assert session.advance_to(0) == []
    assert session.waiting == 'no clock yet'
    give(session, moving(START), 0)
    assert session.advance_to(0) == []
    assert session.advance_to(START) == []
    assert (session.jumps, session.gaps, session.states[0]) == (0, 0, MotorState())
    assert len(play(session, START + 20 * MS)) == 2
    assert session.news == {}


def test_rule_4_what_came_before_the_clock_is_taken_when_it_starts():
    session = make()
    static = tf(5, static=True)
    assert session.take(static, 0)
    assert session.take(imu(START), 0)
    assert session.take(imu(START + 3600 * SECOND), 0)
    session.advance_to(START)
    assert session.counts == {('imu', 'future'): 1}
    (outcome,) = session.advance_to(START + 10 * MS)
    assert outcome.rate == TURNING


@pytest.mark.parametrize('settle', [0.0, 0.025])
def test_rule_4_T10_nothing_is_stamped_0_or_before(settle):
    session = still(settle=settle)
    made = [outcome for now in range(0, 100 * MS, MS) for outcome in session.advance_to(now)]
    assert stamps(made)[0] == 10 * MS
    assert stamps(made) == sorted(set(stamps(made)))


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
@pytest.mark.parametrize('jump', ['hold', 'reset'])
@pytest.mark.parametrize('back', [1, 5 * MS, 10 * SECOND, 995 * SECOND])
def test_rule_4_T06_T01_a_clock_that_goes_back_starts_anew(step_on, jump, back):
    session = make({'wheel.initial_spin': 3.0}, step_on=step_on, on_time_jump=jump)
    play(session, START + 200 * MS, torque=0.01)
    session.take(tf(START + 201 * MS), START + 200 * MS)
    held = session.states[0]
    assert held != MotorState(0.0, 3.0)
    session.news.clear()
    now = START + 200 * MS - back
    assert session.advance_to(now) == []
    assert session.states[0] == (held if jump == 'hold' else MotorState(0.0, 3.0))
    what = 'held' if jump == 'hold' else 'reset'
    assert session.news == {
        'clock': f'the clock went back by {back / SECOND:.3f} s: inputs dropped, '
        f'angle and spin {what}'
    }
    session.news.clear()
    assert (session.jumps, session.pose_stamp, session.command_stamp) == (1, None, None)
    assert session.take(tf(now), now)  # inputs were dropped, and are not compared with
    assert session.advance_to(now + 20 * MS) == []
    assert session.waiting == 'no imu message yet for the mount rate' or step_on == 'imu'
    made = play(session, now + SECOND)
    assert len(made) >= 97
    assert stamps(made) == sorted(set(stamps(made)))
    assert all(outcome.dt > 0.0 and outcome.torques == (0.0,) for outcome in made)
    assert session.news == {}


def test_rule_4_static_transforms_outlive_a_jump_because_nobody_sends_them_again():
    session = make(world_frame='map')
    session.take(tf(1, 'map', 'odom', (1.0, 0.0, 0.0), static=True), START)
    play(session, START + 50 * MS)
    session.advance_to(START - SECOND)
    made = play(session, START - SECOND + 50 * MS)
    assert len(made) == 5
    near(made[0].mount.position[0], 1.0 + 0.1 * -0.99)


def test_rule_4_a_jump_seen_by_an_input_first_is_the_same_jump():
    session = make()
    play(session, START + 100 * MS)
    now = START - SECOND
    for item in moving(now):
        assert session.take(item, now)
    session.advance_to(now)
    assert session.jumps == 1
    assert len(session.advance_to(now + 10 * MS)) == 1


def test_rule_4_T09_a_clock_that_stands_makes_no_second_output():
    session = make()
    made = play(session, START + 50 * MS)
    for _ in range(10):
        assert session.advance_to(START + 50 * MS) == []
    assert session.advance_to(0) == []
    assert len(made) == 5
    assert session.jumps == 0


# 5: stamps


def test_rule_5_T29_stamp_0_takes_the_time_of_receipt_and_is_said_once():
    session = make()
    give(session, [tf(0), imu(0)])
    session.advance_to(START)
    made = play(session, START + 100 * MS, messages=lambda _: [tf(0), imu(0)])
    assert len(made) == 10
    assert session.pose_stamp == session.rate_stamp == START + 100 * MS
    assert session.news == {'stamp 0': 'an input has stamp 0: its time of receipt is used'}
    assert not session.counts


def test_rule_5_stamp_0_behind_a_step_of_the_same_moment_is_read_by_the_next():
    session = still()
    session.advance_to(START)
    session.take(Commands((3.0,)), START + 10 * MS)
    session.advance_to(START + 10 * MS)
    session.take(Commands((2.0,)), START + 10 * MS)
    session.take(Commands((1.0,)), START + 10 * MS)  # of two the later
    (outcome,) = session.advance_to(START + 20 * MS)
    assert outcome.torques == (1.0,)
    assert not session.counts


def test_rule_5_a_repeated_stamp_with_another_content_changes_nothing_that_was_read():
    session = make()
    play(session, START + 50 * MS)
    pose, rate = moving(START + 50 * MS)
    now = START + 55 * MS
    assert not session.take(pose._replace(position=(9.0, 9.0, 9.0)), now)
    assert not session.take(rate._replace(angular_velocity=(9.0, 9.0, 9.0)), now)
    assert session.counts == {('tf', 'repeated'): 1, ('imu', 'repeated'): 1}
    (outcome,) = session.advance_to(START + 60 * MS)
    assert outcome.mount.position == pose.position
    near(outcome.in_mount(outcome.rate), rate.angular_velocity)


def test_rule_5_T30_T08_what_is_older_than_one_read_is_dropped_and_counted():
    session, ordered = make(step_on='imu'), make(step_on='imu')
    expected = play(ordered, START + 200 * MS)
    made = []
    for k in range(21):
        now = START + k * 10 * MS
        items = moving(now)
        if k > 2:
            items += moving(now - 15 * MS)  # again, out of order
        give(session, items, now)
        made += session.advance_to(now)
    assert made == expected
    assert all(outcome.dt > 0.0 for outcome in made)
    assert session.counts['imu', 'old'] == 18
    assert session.counts['tf', 'old'] == 18


def test_rule_5_a_stamp_beyond_max_gap_is_refused_and_one_within_waits_for_its_time():
    session = make(step_on='imu')
    give(session, [tf(START)])
    assert not session.take(imu(START + 500 * MS + 1), START)
    assert session.counts == {('imu', 'future'): 1}
    assert session.news['imu future'] == ('imu: stamp is 0.500 s ahead of the clock; not used')
    assert session.take(imu(START + 450 * MS), START)
    assert session.take(imu(START + 500 * MS), START)
    assert session.advance_to(START + 499 * MS) == []
    assert stamps(session.advance_to(START + 500 * MS)) == [START + 500 * MS]


def test_rule_5_a_stamp_below_zero_is_refused():
    session = make()
    assert not session.take(imu(-1), START)
    assert session.news['imu stamp'] == (
        'imu: stamp -1 ns is before the zero of every clock; not used'
    )


# 6: what is refused

Q = (0.0, 0.0, 0.0, 1.02)
REFUSED = [
    (imu(START, (NAN, 0.0, 0.0)), 'imu', 'non-finite', 'nan is not finite'),
    (imu(START, (0.0, INF, 0.0)), 'imu', 'non-finite', 'inf is not finite'),
    (imu(START, covariance=NAN), 'imu', 'non-finite', 'nan is not finite'),
    (
        imu(START, covariance=-1.0),
        'imu',
        'covariance',
        'angular_velocity_covariance[0] is -1: the sender does not report it',
    ),
    (imu(START, frame=''), 'imu', 'frame', "'' is not a frame id"),
    (imu(START, frame='/'), 'imu', 'frame', "'' is not a frame id"),
    (imu(START, frame='//a'), 'imu', 'frame', "'/a' is not a frame id"),
    (tf(START, 'a', 'a'), 'tf', 'frame', "a transform of 'a' to itself"),
    (tf(START, '/a', 'a'), 'tf', 'frame', "a transform of 'a' to itself"),
    (tf(START, '', 'a'), 'tf', 'frame', "'' is not a frame id"),
    (tf(START, 'a', ''), 'tf', 'frame', "'' is not a frame id"),
    (tf(START, 'a', 'b', (NAN, 0.0, 0.0)), 'tf', 'non-finite', 'nan is not finite'),
    (tf(START, 'a', 'b', ORIGIN, (NAN,) * 4), 'tf', 'non-finite', 'nan is not finite'),
    (
        tf(START, 'a', 'b', ORIGIN, (0.0,) * 4),
        'tf',
        'quaternion',
        'a quaternion of length 0, not 1',
    ),
    (tf(START, 'a', 'b', ORIGIN, Q), 'tf', 'quaternion', 'a quaternion of length 1.02, not 1'),
    (
        tf(START, 'a', 'b', ORIGIN, (1e308,) * 4, True),
        'tf',
        'quaternion',
        'a quaternion of length inf, not 1',
    ),
    (Commands(()), 'commands', 'size', '0 torques for 1 motors'),
    (Commands((1.0, 2.0)), 'commands', 'size', '2 torques for 1 motors'),
    (Commands((NAN,)), 'commands', 'non-finite', 'nan is not finite'),
    (Commands((-INF,)), 'commands', 'non-finite', '-inf is not finite'),
    (JointCommand(START, (), ()), 'joint_command', 'size', '0 names with 0 efforts'),
    (
        JointCommand(START, ('wheel_joint',), ()),
        'joint_command',
        'size',
        '1 names with 0 efforts, the command of mode torque',
    ),
    (
        JointCommand(START, ('elbow',), (1.0,)),
        'joint_command',
        'name',
        "no joint 'elbow', there are wheel_joint",
    ),
    (
        JointCommand(START, ('wheel_joint',), (NAN,)),
        'joint_command',
        'non-finite',
        'nan is not finite',
    ),
    (
        Load(START, 'wheel', 'rotor', 'base_link', (NAN, 0.0, 0.0), ORIGIN),
        'wheel rotor_wrench',
        'non-finite',
        'nan is not finite',
    ),
    (
        Load(START, 'wheel', 'stator', '', ORIGIN, ORIGIN),
        'wheel stator_wrench',
        'frame',
        "'' is not a frame id",
    ),
    (
        Load(START, 'fan', 'rotor', 'base_link', ORIGIN, ORIGIN),
        'fan rotor_wrench',
        'name',
        "no motor 'fan'",
    ),
]


@pytest.mark.parametrize(('item', 'source', 'reason', 'text'), REFUSED)
def test_rule_6_what_is_wrong_is_refused_counted_and_said(item, source, reason, text):
    session = make()
    assert not session.take(item, START)
    assert session.counts == {(source, reason): 1}
    assert session.news[f'{source} {reason}'] == f'{source}: {text}; not used'


@pytest.mark.parametrize(
    ('item', 'reason', 'text'),
    [
        (
            Odometry(START, 'a', 'a', ORIGIN, UPRIGHT, ORIGIN),
            'frame',
            "an odometry of 'a' in itself",
        ),
        (Odometry(START, 'a', 'b', ORIGIN, Q, ORIGIN), 'quaternion', 'length 1.02'),
        (Odometry(START, 'a', 'b', ORIGIN, UPRIGHT, (NAN,) * 3), 'non-finite', 'nan'),
        (Odometry(START, '', 'b', ORIGIN, UPRIGHT, ORIGIN), 'frame', "''"),
        (Odometry(START + SECOND, 'a', 'b', ORIGIN, UPRIGHT, ORIGIN), 'future', '1.000 s'),
    ],
)
def test_rule_6_a_wrong_odometry_is_refused_whole(item, reason, text):
    session = make(rate_source='odometry')
    assert not session.take(item, START)
    assert session.counts['odometry', reason]
    assert text in session.news[f'odometry {reason}']


def test_rule_6_T28_T37_nothing_known_is_lost_by_what_is_refused():
    clean, fuzzed = make(), make()
    bad = [item for item, *_ in REFUSED if not isinstance(item, Commands | JointCommand)]
    bad += [Commands((NAN,)), Commands(()), JointCommand(0, ('elbow',), (1.0,))]

    def both(t):
        return [*moving(t), *bad, imu(t, (NAN,) * 3), tf(t, orientation=(0.0,) * 4)]

    expected = play(clean, START + 200 * MS, torque=0.1)
    assert play(fuzzed, START + 200 * MS, messages=both, torque=0.1) == expected
    assert fuzzed.counts['commands', 'non-finite'] == 21


def test_rule_6_T37_a_refused_command_leaves_the_last_good_one_until_its_timeout():
    session = still()
    session.advance_to(START)
    session.take(Commands((0.5,)), START)
    made = []
    for k in range(1, 80):
        session.take(Commands((NAN,)), START + k * 10 * MS)
        made += session.advance_to(START + k * 10 * MS)
    assert [outcome.torques[0] for outcome in made] == [0.5] * 50 + [0.0] * 29


def test_rule_6_a_quaternion_within_a_hundredth_is_normalised():
    session = make()
    session.advance_to(START)
    give(session, [tf(START, orientation=(0.0, 0.0, 0.0, 1.009)), imu(START)])
    (outcome,) = session.advance_to(START + 10 * MS)
    assert outcome.mount.orientation == UPRIGHT


def test_rule_6_T18_one_leading_slash_is_left_out_even_now_and_then_and_said_once():
    session, plain = make(), make()
    expected = play(plain, START + 100 * MS)

    def slashed(t):
        pose, rate = moving(t)
        if t // (10 * MS) % 2:
            pose, rate = pose._replace(child='/base_link'), rate._replace(frame='/base_link')
        return [pose, rate]

    assert play(session, START + 100 * MS, messages=slashed) == expected
    assert session.news == {
        'slash /base_link': "the leading '/' of frame '/base_link' is left out"
    }


def test_rule_6_T27_a_covariance_of_zeros_is_unknown_and_a_large_one_no_reason_to_refuse():
    session = make()
    assert session.take(imu(START, covariance=0.0), START)
    assert session.take(imu(START + 1, covariance=1e300), START)
    assert session.take(imu(START + 2, covariance=-2.0), START)
    assert not session.take(imu(START + 3, covariance=-1.0 + 1e-10), START)


def test_rule_6_our_own_frames_that_come_back_are_kept_apart():
    session = make()
    item = tf(START, '/base_link', 'wheel_rotor')
    assert not session.take(item, START)
    assert list(session.ours) == [item._replace(parent='base_link')]
    assert not session.counts


def test_rule_6_a_flood_is_refused_and_the_memory_bounded():
    session = make()
    for k in range(17_000):
        session.take(imu(START + k), START)
    for k in range(5000):
        session.take(tf(START, 'odom', f'child {k}'), START)
    assert session.counts['imu', 'full'] == 17_000 - 16_384
    assert session.counts['tf', 'frames'] > 0
    assert session.news['tf frames'] == ('tf: there are more frames than are remembered; not used')
    full = session.counts['tf', 'frames']
    assert not session.take(tf(START, 'odom', 'another', static=True), START)
    assert session.counts['tf', 'frames'] == full + 1


def test_rule_6_a_static_transform_takes_nothing_from_a_mount_that_moves():
    session = make()
    play(session, START + 50 * MS)
    now = START + 50 * MS
    bogus = tf(now, position=(7.0, 7.0, 7.0), static=True)
    session.take(bogus, now)
    assert session.news['both base_link'] == (
        "frame 'base_link' is sent as static and as moving: the moving ones are used. "
        'Let one publisher alone place it'
    )
    made = play(session, START + 100 * MS)
    assert [outcome.mount.position[1] for outcome in made] == [0.2] * 5
    assert session.pose_stamp == START + 100 * MS


def test_rule_6_of_static_transforms_the_earlier_is_counted_where_it_says_another_thing():
    session = make()
    assert session.take(tf(START, 'base_link', 'imu', (1.0, 0.0, 0.0), static=True), START)
    assert session.take(tf(START - 1, 'base_link', 'imu', (1.0, 0.0, 0.0), static=True), START)
    assert not session.take(tf(START - 1, 'base_link', 'imu', (2.0, 0.0, 0.0), static=True), START)
    assert session.counts['tf', 'old'] == 1
    assert not session.take(tf(-1, 'base_link', 'imu', static=True), START)
    assert session.counts['tf', 'stamp'] == 1


def test_rule_5_a_stamp_beyond_every_clock_is_refused_in_words():
    session = make()
    session.take(imu(START), START)
    for item in (imu(10**400), tf(10**400), effort(10**400, 1.0)):
        assert not session.take(item, START)
    assert session.counts['imu', 'future'] == session.counts['tf', 'future'] == 1


def test_rule_6_a_motor_named_twice_in_a_command_is_refused():
    session = still()
    session.advance_to(START)
    both = JointCommand(START, ('wheel', 'wheel_joint'), (1.0, 2.0))
    assert not session.take(both, START)
    assert session.counts['joint_command', 'name'] == 1


def test_rule_6_while_steps_wait_for_a_rate_the_newest_command_is_kept():
    session = make(step_on='imu', world_frame='base_link')
    for k in range(10_000):
        session.take(Commands((k * 1e-6,)), START + k * MS)
        session.advance_to(START + k * MS)
    assert session.counts['commands', 'full'] == 10_000 - 4096
    now = START + 10_000 * MS
    give(session, [imu(now), imu(now + 10 * MS)], now + 10 * MS)
    (outcome,) = session.advance_to(now + 10 * MS)
    assert outcome.torques == (9999e-6,)


def test_rule_6_of_what_comes_before_the_first_clock_the_newest_is_kept():
    session = make(step_on='imu', world_frame='base_link')
    for k in range(5000):
        session.take(imu(START + k * MS, (0.0, 0.0, k * 1e-3)), 0)
    assert session.counts['imu', 'full'] == 5000 - 4096
    made = session.advance_to(START + 5 * SECOND)
    assert len(made) == 4095
    assert made[-1].rate == (0.0, 0.0, 4.999)


# 7: whose axes


def test_rule_7_T26_an_imu_mounted_in_another_orientation_gives_the_same_wrench():
    mounted = multiply(yawed(pi / 2), (1.0, 0.0, 0.0, 0.0))  # yaw 90 deg, then roll 180 deg
    values = {'wheel.axis': [0.3, -0.5, 0.8], 'wheel.initial_spin': 300.0}
    aligned, turned = make(values), make(values)
    turned.take(tf(START, 'base_link', 'imu_link', (0.1, 0.0, 0.2), mounted, True), START)

    def seen(t):
        pose, rate = moving(t)
        back = (-mounted[0], -mounted[1], -mounted[2], mounted[3])
        return [pose, imu(t, rotate(back, rate.angular_velocity), 'imu_link')]

    expected = play(aligned, START + 200 * MS)
    made = play(turned, START + 200 * MS, messages=seen)
    assert len(made) == 20
    for a, b in zip(made, expected, strict=True):
        near(a.mount_wrench().torque, b.mount_wrench().torque)
        near(a.rate, b.rate)


def test_rule_7_the_rate_is_turned_into_the_world_by_the_pose_of_the_mount():
    session = make()
    session.advance_to(START)
    give(session, [tf(START, orientation=yawed(pi / 2)), imu(START, (1.0, 2.0, 3.0))])
    (outcome,) = session.advance_to(START + 10 * MS)
    near(outcome.rate, (-2.0, 1.0, 3.0))
    near(outcome.in_mount(outcome.rate), (1.0, 2.0, 3.0))


def test_rule_7_a_twist_may_be_given_in_the_world_or_in_any_frame():
    session = make(rate_source='twist')
    session.advance_to(START)
    give(session, [tf(START, orientation=yawed(pi / 2)), Twist(START, 'odom', (1.0, 2.0, 3.0))])
    (first,) = session.advance_to(START + 10 * MS)
    assert first.rate == (1.0, 2.0, 3.0)
    session.take(Twist(START + 10 * MS, 'base_link', (1.0, 2.0, 3.0)), START + 20 * MS)
    (second,) = session.advance_to(START + 20 * MS)
    near(second.rate, (-2.0, 1.0, 3.0))


def test_rule_7_an_odometry_gives_the_pose_in_its_frame_and_the_rate_in_its_child():
    session = make(world_frame='map', rate_source='odometry')
    session.advance_to(START)
    give(
        session,
        [
            tf(START, 'map', 'odom', (10.0, 0.0, 0.0), yawed(pi / 2)),
            tf(START, 'wheels', 'base_link', (0.0, 0.0, 1.0), static=True),
            Odometry(START, 'odom', 'wheels', (1.0, 2.0, 0.0), UPRIGHT, (1.0, 2.0, 3.0)),
        ],
    )
    (outcome,) = session.advance_to(START + 10 * MS)
    near(outcome.mount.position, (8.0, 1.0, 1.0))
    near(outcome.rate, (-2.0, 1.0, 3.0))


def test_rule_7_an_imu_on_a_stator_is_found_by_the_placement_of_its_motor():
    session = make({'wheel.placement.rpy': [0.0, 0.0, pi / 2]})
    session.advance_to(START)
    session.take(tf(START, 'wheel_stator', 'gyro', static=True), START)
    give(session, [tf(START), imu(START, (1.0, 2.0, 3.0), 'gyro')])
    (outcome,) = session.advance_to(START + 10 * MS)
    near(outcome.rate, (-2.0, 1.0, 3.0))


def test_rule_7_a_rate_whose_frame_is_not_known_makes_no_step_and_says_so():
    session = make()
    session.advance_to(START)
    give(session, [tf(START), imu(START, frame='imu_link')])
    assert session.advance_to(START + 10 * MS) == []
    assert session.waiting.startswith("mount rate: no transform names frame 'imu_link'")


def test_rule_7_T28_the_orientation_of_an_imu_is_used_only_when_asked_for():
    values = {'covariance': 0.0, 'orientation_covariance': 0.0}
    zeros = imu(START, orientation=(0.0,) * 4, **values)
    nothing = make()
    assert nothing.take(zeros, START)
    assert not nothing.counts
    session = make(pose_source='imu')
    assert session.take(zeros, START)  # the rate
    assert session.counts == {('imu', 'quaternion'): 1}
    for item, reason in (
        (zeros._replace(stamp=START + 1, orientation=(NAN,) * 4), 'non-finite'),
        (zeros._replace(stamp=START + 2, orientation_covariance=-1.0), 'covariance'),
    ):
        assert session.take(item, START)
        assert session.counts['imu', reason] == 1
    session.advance_to(START)
    assert session.advance_to(START + 10 * MS) == []
    assert session.waiting == 'no imu message yet for the mount pose'
    good = imu(START + 15 * MS, (1.0, 2.0, 3.0), orientation=yawed(pi / 2), **values)
    session.take(good, START + 20 * MS)
    (outcome,) = session.advance_to(START + 20 * MS)
    near(outcome.mount.orientation, yawed(pi / 2))
    near(outcome.rate, (-2.0, 1.0, 3.0))


def test_rule_7_an_orientation_stays_good_where_the_rate_of_the_same_imu_is_not():
    session = make(pose_source='imu', rate_source='twist')
    item = Imu(START, 'base_link', (NAN,) * 3, -1.0, UPRIGHT, 0.0)
    assert session.take(item, START)
    both = make(pose_source='imu')
    assert both.take(item, START)
    assert both.counts == {('imu', 'covariance'): 1}


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_rule_7_the_rate_may_be_what_turned_one_pose_into_the_next(sign):
    """About the world's z, of a mount that lies on its side; q and -q are one orientation."""
    tilt = (0.5, 0.5, 0.5, 0.5)

    def turning(t):
        q = multiply(yawed(7.0 * (t - START) / SECOND), tilt)
        flip = sign if t // (10 * MS) % 2 else 1.0
        return [tf(t, orientation=(flip * q[0], flip * q[1], flip * q[2], flip * q[3]))]

    session = make(rate_source='tf')
    made = play(session, START + 300 * MS, messages=turning)
    assert len(made) == 29  # the first pose alone has no rate
    for outcome in made:
        near(outcome.rate, (0.0, 0.0, 7.0), 1e-9)


def test_rule_7_no_rate_is_made_of_two_poses_with_a_silence_between():
    session = make(rate_source='tf', rate_timeout=5.0)
    play(session, START + 100 * MS, messages=lambda t: [tf(t, orientation=yawed(0.0))])
    later = START + 700 * MS
    for k in range(11, 70):
        session.advance_to(START + k * 10 * MS)
    made = play(session, later, messages=lambda t: [tf(t, orientation=yawed(2.0))])
    assert made == []
    assert session.waiting == 'one pose more is needed for the mount rate'
    (outcome,) = play(session, later + 10 * MS, messages=lambda t: [tf(t, orientation=yawed(2.0))])
    near(outcome.rate, ORIGIN)


def test_rule_7_a_static_chain_stands_still():
    session = make(rate_source='tf')
    session.take(tf(1, static=True), START)
    made = play(session, START + 900 * MS, messages=lambda _: [])
    assert [outcome.rate for outcome in made] == [ORIGIN] * 90


# 8: what is too old


def test_rule_8_a_pose_is_held_for_pose_timeout_and_then_the_motors_pause():
    session = make({'wheel.initial_spin': 50.0})
    session.advance_to(START)
    session.take(tf(START), START)
    made = play(session, START + 700 * MS, messages=lambda t: [imu(t)])
    assert stamps(made) == [START + k * 10 * MS for k in range(1, 51)]
    assert session.waiting == 'the mount pose is 0.700 s old'


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_rule_8_T31_after_silence_the_held_state_goes_on_without_an_impulse(step_on):
    session = make({'wheel.initial_spin': 50.0, 'wheel.damping': 0.0}, step_on=step_on)
    play(session, START + 200 * MS, messages=lambda t: [tf(t), imu(t, ORIGIN)])
    for k in range(21, 521):
        now = START + k * 10 * MS
        session.take(tf(now), now)
        session.advance_to(now)
    held = session.states[0]
    quiet = 0.1 if step_on == 'timer' else 0.0
    near(held.angle, 50.0 * (0.2 + quiet))
    assert 'old' in session.waiting or 'to step on for 5.000 s' in session.waiting
    made = play(session, START + 5300 * MS, messages=lambda t: [tf(t), imu(t, ORIGIN)])
    assert len(made) == (10 if step_on == 'timer' else 9)
    near(made[0].steps[0].state.angle, held.angle + 0.5)
    assert spins(made) == [50.0] * len(made)
    assert all(outcome.reaction().torque == ORIGIN for outcome in made)


def test_rule_8_a_chain_of_frames_to_the_sensor_may_be_too_old_as_well():
    session = make()
    give(session, [tf(START, 'base_link', 'imu_link')])
    made = play(session, START + 600 * MS, messages=lambda t: [tf(t), imu(t, frame='imu_link')])
    assert len(made) == 50
    assert session.waiting == (
        "mount rate: the transform from 'imu_link' to 'base_link' is 0.600 s old"
    )


def test_rule_8_T34_T36_a_command_ends_after_its_timeout_until_the_next_good_one():
    session = still(damping=1e-4)
    session.advance_to(START)
    session.take(effort(START, 0.02), START)
    made = [o for k in range(1, 71) for o in session.advance_to(START + k * 10 * MS)]
    assert [outcome.torques[0] for outcome in made] == [0.02] * 50 + [0.0] * 20
    speed = spins(made)
    decay = 1e-4 / (1e-4 + 0.01 * 1e-4)
    near(speed[55], speed[54] * decay)
    session.take(effort(START + 705 * MS, -0.01), START + 710 * MS)
    (outcome,) = session.advance_to(START + 710 * MS)
    assert outcome.torques == (-0.01,)


def test_rule_8_T35_a_command_timeout_of_0_never_ends_a_command():
    session = still(command_timeout=0.0)
    session.advance_to(START)
    session.take(Commands((0.1,)), START)
    made = [o for k in range(1, 1000) for o in session.advance_to(START + k * 100 * MS)]
    assert {outcome.torques for outcome in made} == {(0.1,)}


def test_rule_8_a_load_ends_after_the_same_timeout():
    session = still()
    session.advance_to(START)
    session.take(Load(START, 'wheel', 'stator', 'base_link', (1.0, 0.0, 0.0), ORIGIN), START)
    made = [o for k in range(1, 71) for o in session.advance_to(START + k * 10 * MS)]
    assert [o.reaction().force[0] for o in made] == [1.0] * 50 + [0.0] * 20


def test_rule_8_no_steps_without_any_pose_or_rate_and_the_reason_is_at_hand():
    session = make()
    session.advance_to(START)
    assert session.advance_to(START + 10 * MS) == []
    assert session.waiting.startswith("mount pose: no transform names frame 'odom'")
    session.take(tf(START), START + 20 * MS)
    assert session.advance_to(START + 20 * MS) == []
    assert session.waiting == 'no imu message yet for the mount rate'
    session.take(imu(START), START + 30 * MS)
    assert len(session.advance_to(START + 30 * MS)) == 1
    assert session.waiting == ''


def test_pausing_holds_the_state_and_resuming_makes_no_impulse():
    session = still(initial_spin=20.0, damping=0.0)
    session.advance_to(START)
    session.take(Commands((0.1,)), START)
    session.advance_to(START + 100 * MS)
    held = session.states[0]
    session.paused = True
    assert session.advance_to(START + 300 * MS) == []
    assert session.waiting == 'paused by ~/pause'
    assert session.states[0] == held
    session.paused = False
    (outcome,) = session.advance_to(START + 310 * MS)
    near(outcome.steps[0].state.spin - held.spin, 0.01 * 0.1 / 1e-4)


def test_disabled_motors_coast_and_reset_puts_them_back():
    session = still(initial_spin=20.0, damping=0.0)
    session.advance_to(START)
    session.enabled = False
    session.take(Commands((0.1,)), START)
    made = session.advance_to(START + 100 * MS)
    assert {outcome.torques for outcome in made} == {(0.0,)}
    assert spins(made) == [20.0] * 10
    session.reset()
    assert session.states == [MotorState(0.0, 20.0)]
    session.enabled = True
    (outcome,) = session.advance_to(START + 110 * MS)
    assert outcome.torques == (0.1,)


def test_other_values_of_the_parameters_act_from_the_next_step_on():
    session = still(initial_spin=20.0, damping=0.0)
    session.advance_to(START)
    session.advance_to(START + 10 * MS)
    chosen = session.settings
    model = MotorParameters(chosen.motors[0].model.inertia, 1e-3)
    session.update(chosen.with_motor(0, model=model))
    (outcome,) = session.advance_to(START + 20 * MS)
    near(outcome.steps[0].state.spin, 20.0 * 1e-4 / (1e-4 + 0.01 * 1e-3))


# 9: when a step is taken


def test_rule_9_a_step_is_taken_settle_after_its_end_and_reads_what_came_meanwhile():
    session = make(settle=0.02)
    give(session, [tf(START), imu(START, ORIGIN)])
    session.advance_to(START + 10 * MS)
    session.take(imu(START + 9 * MS, TURNING), START + 29 * MS)
    assert stamps(session.advance_to(START + 30 * MS - 1)) == [START]
    (outcome,) = session.advance_to(START + 30 * MS)
    assert (outcome.stamp_ns, outcome.rate) == (START + 10 * MS, TURNING)
    assert not session.counts


def test_rule_9_a_late_sample_changes_nothing_behind_it_and_is_read_by_the_next_step():
    session = make()
    give(session, [tf(START), imu(START, ORIGIN)])
    session.advance_to(START)
    (first,) = session.advance_to(START + 10 * MS)
    now = START + 12 * MS
    assert session.take(imu(START + 9 * MS, TURNING), now)
    assert session.take(tf(START + 9 * MS, position=(1.0, 0.0, 0.0)), now)
    assert session.take(effort(START + 10 * MS, 1.0), now)  # at the end itself
    assert session.counts == {('imu', 'late'): 1, ('tf', 'late'): 1, ('joint_command', 'late'): 1}
    assert session.advance_to(now) == []
    (second,) = session.advance_to(START + 20 * MS)
    assert (first.rate, first.torques) == (ORIGIN, (0.0,))
    assert (second.rate, second.torques) == (TURNING, (1.0,))
    assert second.mount.position == (1.0, 0.0, 0.0)
    assert session.news == {}  # counted, not worth a line


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_rule_9_with_settle_for_the_latency_live_is_replay_to_the_bit(step_on):
    replayed, live = make(step_on=step_on, settle=0.05), make(step_on=step_on, settle=0.05)
    expected = play(replayed, START + 350 * MS)
    made = live.advance_to(START)
    for k in range(36):
        now = START + k * 10 * MS
        pose, rate = moving(now - 50 * MS)[0], moving(now - 20 * MS)[1]
        give(live, [item for item in (rate, pose) if item.stamp >= START], now)
        made += live.advance_to(now)
    assert len(made) >= 30
    assert made == expected
    assert not live.counts


# 10: nothing that is not finite


@pytest.mark.parametrize(
    'items',
    [
        [Commands((1e308,))],
        [Load(START, 'wheel', 'rotor', 'base_link', ORIGIN, (0.0, 0.0, 1e308))],
        [Load(START, 'wheel', 'rotor', 'base_link', (1e308,) * 3, ORIGIN)],
        [Load(START, 'wheel', 'stator', 'far', (1e200,) * 3, ORIGIN)],
        [imu(START + 5 * MS, (1e308, -1e308, 1e308))],
        [imu(START + 5 * MS, (0.0, 0.0, 1e308))],
        [tf(START + 5 * MS, position=(1e308, -1e308, 1e308))],
    ],
)
@pytest.mark.parametrize('asymmetry', [[0] * 6, [1e-5, 0, 0, -1e-5, 0, 0]])
def test_rule_10_what_would_overflow_is_left_out_and_the_state_held(items, asymmetry):
    session = make({'wheel.asymmetry': asymmetry, 'wheel.placement.xyz': [1.0, 2.0, 3.0]})
    give(session, [tf(START), imu(START), tf(1, 'base_link', 'far', (1e200,) * 3, static=True)])
    session.advance_to(START)
    held = session.states[0]
    give(session, items)
    assert session.advance_to(START + 10 * MS) == []
    assert session.states[0] == held
    assert session.counts['step', 'overflow'] == 1
    assert session.news['overflow'] == (
        'inputs too large to compute with: step left out, angle and spin held'
    )
    now = START + 20 * MS
    none = [Load(now, 'wheel', link, 'base_link', ORIGIN, ORIGIN) for link in ('rotor', 'stator')]
    give(session, [tf(now), imu(now), effort(now, 0.0), *none], now)
    assert len(session.advance_to(now)) == 1
    assert session.waiting == ''


def test_rule_10_sums_over_the_motors_and_turned_vectors_stay_finite():
    session = make({'motors': ['a', 'b']}, world_frame='base_link', rate_source='zero')
    session.advance_to(START)
    for motor in 'ab':
        session.take(
            Load(START, motor, 'stator', 'base_link', (1e308, -1e308, 0.0), ORIGIN), START
        )
    assert session.advance_to(START + 10 * MS) == []
    assert session.counts['step', 'overflow'] == 1


def test_rule_10_what_is_finite_but_beyond_computing_is_left_out_too():
    for spin, steps in ((1e95, 1), (1e101, 0)):
        session = still(initial_spin=spin)
        session.advance_to(START)
        assert len(session.advance_to(START + 10 * MS)) == steps


# loads and wrenches


def test_T40_a_torque_spins_the_rotor_up_and_the_mount_feels_the_opposite_less_drag():
    session = still(damping=1e-3)
    session.advance_to(START)
    session.take(Commands((0.5,)), START)
    (outcome,) = session.advance_to(START + 10 * MS)
    step = outcome.steps[0]
    assert step.state.spin > 0.0
    near(outcome.reaction().torque, (0.0, 0.0, -(0.5 - 1e-3 * step.relative_speed)))


def test_T41_a_load_in_another_frame_gains_its_lever_arm_times_the_force():
    session = still()
    arm, force, torque = (0.3, -0.2, 0.5), (1.0, 2.0, 3.0), (0.1, 0.2, 0.3)
    session.advance_to(START)
    session.take(tf(1, 'base_link', 'tool', arm, static=True), START)
    session.take(Load(START, 'wheel', 'stator', 'tool', force, torque), START)
    (outcome,) = session.advance_to(START + 10 * MS)
    assert outcome.reaction().force == force
    near(outcome.reaction().torque, add(torque, cross(arm, force)))


@pytest.mark.parametrize('frame', ['base_link', 'odom', 'wheel_stator', 'wheel_rotor', 'tool'])
def test_T39_T41_a_load_is_the_same_load_in_whichever_connected_frame_it_is_given(frame):
    """The same push in the world, given in five frames, gives the same wrench on the mount."""
    placement, angle = (0.2, 0.1, -0.3), 0.9
    session = make(
        {
            'wheel.placement.xyz': placement,
            'wheel.placement.rpy': [0.1, 0.2, 0.3],
            'wheel.initial_angle': angle,
        },
        rate_source='zero',
    )
    session.advance_to(START)
    mount = ((1.0, 2.0, 3.0), yawed(0.8))
    give(session, [tf(START, position=mount[0], orientation=mount[1])])
    session.take(tf(1, 'base_link', 'tool', (0.5, 0.0, 0.0), yawed(-0.4), True), START)
    force, torque = (3.0, -1.0, 2.0), (0.2, 0.4, -0.1)  # in the world, about the world's origin
    stator = add(mount[0], rotate(mount[1], placement))
    turn = multiply(mount[1], session.settings.motors[0].model.placement.orientation)
    origin, axes = {
        'odom': (ORIGIN, UPRIGHT),
        'base_link': mount,
        'tool': (add(mount[0], rotate(mount[1], (0.5, 0.0, 0.0))), yawed(0.4)),
        'wheel_stator': (stator, turn),
        'wheel_rotor': (stator, multiply(turn, yawed(angle))),
    }[frame]
    back = (-axes[0], -axes[1], -axes[2], axes[3])
    moved = subtract(torque, cross(origin, force))
    load = Load(START, 'wheel', 'stator', frame, rotate(back, force), rotate(back, moved))
    session.take(load, START)
    (outcome,) = session.advance_to(START + 10 * MS)
    reaction = outcome.steps[0].reaction
    near(reaction.force, force)
    near(reaction.torque, subtract(torque, cross(mount[0], force)))


def test_T39_the_same_motor_on_another_frame_of_the_same_body_gives_the_same_wrench():
    """The wrench about one mount frame, moved to the other's origin, is the other's."""
    at, turn = (0.4, -0.1, 0.2), yawed(1.1)  # of 'tool' in 'base_link'
    back = (-turn[0], -turn[1], -turn[2], turn[3])
    outcomes = []
    for frame, xyz, yaw in (
        ('base_link', (0.5, 0.6, 0.7), 0.3),
        ('tool', rotate(back, subtract((0.5, 0.6, 0.7), at)), 0.3 - 1.1),
    ):
        session = make(
            {
                'wheel.placement.xyz': list(xyz),
                'wheel.placement.rpy': [0.0, 0.0, yaw],
                'wheel.axis': [1, 2, 2],
                'wheel.initial_spin': 400.0,
            },
            mount_frame=frame,
        )
        session.take(tf(1, 'base_link', 'tool', at, turn, True), START)
        session.take(Load(START, 'wheel', 'rotor', 'base_link', (1.0, 2.0, 3.0), TURNING), START)
        outcomes.append(play(session, START + 100 * MS, torque=0.05)[-1])
    base, tool = outcomes
    assert base.steps[0].state == pytest.approx(tool.steps[0].state, rel=1e-12)
    for name in ('reaction', 'mount_wrench'):
        a, b = getattr(base, name)(), getattr(tool, name)()
        near(rotate(turn, b.force), a.force)
        near(add(rotate(turn, b.torque), cross(at, rotate(turn, b.force))), a.torque)
    near(rotate(turn, tool.momentum()), base.momentum())


def test_a_load_whose_frame_is_not_known_is_taken_as_zero_and_said():
    session = still()
    session.advance_to(START)
    session.take(Load(START, 'wheel', 'rotor', 'nowhere', (1.0, 0.0, 0.0), ORIGIN), START)
    (outcome,) = session.advance_to(START + 10 * MS)
    assert outcome.reaction().force == ORIGIN
    assert session.news['load 0'].startswith(
        "wheel rotor_wrench: no transform names frame 'nowhere'"
    )
    assert session.news['load 0'].endswith('taken as zero')


def test_several_motors_are_summed_about_the_mount():
    session = make(
        {
            'motors': ['a', 'b'],
            'a.placement.xyz': [1.0, 0.0, 0.0],
            'b.axis': [1.0, 0.0, 0.0],
            'b.initial_spin': 10.0,
        },
        world_frame='base_link',
        rate_source='zero',
    )
    session.advance_to(START)
    session.take(Commands((0.5, 0.25)), START)
    session.take(Load(START, 'a', 'rotor', 'a_stator', (0.0, 2.0, 0.0), ORIGIN), START)
    session.take(JointCommand(START + 1, ('b_joint',), (0.75,)), START + 10 * MS)
    (outcome,) = session.advance_to(START + 10 * MS)
    assert outcome.torques == (0.5, 0.75)
    near(outcome.reaction().force, (0.0, 2.0, 0.0))
    near(
        outcome.reaction().torque,
        add(outcome.reaction(0).torque, outcome.reaction(1).torque),
    )
    near(outcome.reaction(0).torque[2], 2.0 - (0.5 - 1e-5 * outcome.steps[0].relative_speed))
    near(outcome.momentum(), add(outcome.momentum(0), outcome.momentum(1)))
    near(dot(outcome.momentum(1), (1.0, 0.0, 0.0)), 1e-4 * outcome.steps[1].state.spin)


def test_a_session_is_told_of_time_by_its_inputs_too():
    session = make()
    session.take(imu(START), START)
    assert session.now_ns == START
    assert session.still is False
    assert make(world_frame='base_link').still


def test_vectors_and_tensors_go_out_in_the_axes_of_the_mount():
    """A mount that lies on its side sees its own motor as one that stands upright does."""
    values = {
        'wheel.asymmetry': [1e-5, 0, 0, -1e-5, 0, 0],
        'wheel.inertia': 1e-3,
        'wheel.initial_spin': 30.0,
        'wheel.initial_angle': 0.2,
        'wheel.placement.xyz': [0.1, 0.2, 0.3],
    }
    found = []
    for orientation in (UPRIGHT, (0.5, 0.5, 0.5, 0.5)):
        session = make(values)
        session.advance_to(START)
        push = Load(START, 'wheel', 'rotor', 'base_link', (1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
        give(session, [tf(START, orientation=orientation), imu(START), push])
        (outcome,) = session.advance_to(START + 10 * MS)
        (step,) = outcome.steps
        found.append(
            [
                outcome.in_mount(step.rotor_angular_velocity),
                outcome.mount_wrench().torque,
                outcome.mount_wrench(0).force,
                outcome.momentum(),
                *outcome.tensor_in_mount(step.asymmetry_now),
                *outcome.tensor_in_mount(step.asymmetry_next),
            ]
        )
    for a, b in zip(*found, strict=True):
        near(a, b)


def test_odometry_gives_its_rate_though_its_unused_pose_is_no_rotation():
    session = make(rate_source='odometry', pose_source='tf')
    session.take(tf(START), START)
    zero = (0.0, 0.0, 0.0, 0.0)
    assert session.take(Odometry(START, 'odom', 'base_link', ORIGIN, zero, TURNING), START)
    session.advance_to(START)
    (outcome,) = session.advance_to(START + 10 * MS)
    near(outcome.rate, TURNING)
    assert not session.counts


def test_imu_stepping_names_the_timeout_that_is_too_short_for_the_sensor():
    session = make(step_on='imu')
    for now in (START, START + 200 * MS):
        give(session, [tf(now), imu(now)])
        assert session.advance_to(now) == []
    assert session.waiting == (
        'the first rate after 0.200 s, more than rate_timeout, only starts the clock'
    )


def test_a_load_on_what_the_rotor_carries_acts_on_the_rotor():
    session = still()
    session.take(tf(START, 'wheel_rotor', 'blade', (0.1, 0.0, 0.0), static=True), START)
    session.advance_to(START)
    load = Load(START, 'wheel', 'rotor', 'blade', (0.0, 2.0, 0.0), (0.0, 0.0, 0.5))
    assert session.take(load, START)
    (outcome,) = session.advance_to(START + 10 * MS)
    assert outcome.steps[0].load_torque == pytest.approx(0.7)


def test_a_gap_is_never_shorter_than_two_steps():
    session = still(max_gap=0.001)
    session.advance_to(START)
    assert len(session.advance_to(START + 10 * MS)) == 1
    assert session.gaps == 0


def test_a_mount_that_is_the_world_needs_no_pose():
    session = make(world_frame='base_link', rate_source='odometry')
    session.advance_to(START)
    session.take(Odometry(START, 'odom', 'base_link', ORIGIN, UPRIGHT, ORIGIN), START)
    assert len(session.advance_to(START + 10 * MS)) == 1


def test_steps_caught_up_in_pieces_do_not_miss_the_rate_messages_that_wait():
    session = make(step_on='imu', world_frame='base_link', max_gap=10.0)
    for k in range(1000):
        session.take(imu(START + k * MS), START + k * MS)
    now = START + 1000 * MS
    for _ in range(9):
        assert len(session.advance_to(now, 100)) in (99, 100)
        assert session.waiting == ''
    session.advance_to(now + SECOND)
    assert session.waiting == 'no imu message to step on for 1.001 s'


def test_names_longer_than_any_is_are_refused():
    session = still()
    session.advance_to(START)
    assert not session.take(Transform(START, 'x' * 257, 'y', ORIGIN, UPRIGHT), START)
    assert session.take(Transform(START, 'x' * 256, 'y', ORIGIN, UPRIGHT), START)
    assert session.counts['tf', 'frame'] == 1


def test_before_the_clock_nothing_large_is_kept_and_what_is_kept_is_counted():
    session = make()
    assert not session.take(Imu(START, 'x' * 100_000, ORIGIN), 0)
    assert not session.take(JointCommand(START, ('j' * 300_000,), (0.0,)), 0)
    assert not session.take(Commands((0.0,) * 1000), 0)
    assert session.take(Imu(START, 'imu', ORIGIN), 0)
    assert session.held['samples waiting'] == 1
    assert session.counts['imu', 'size'] == 1


def test_a_static_transform_of_a_clock_that_was_ahead_gives_way_to_the_next():
    session = make()
    session.advance_to(START)
    upside_down = (1.0, 0.0, 0.0, 0.0)
    ahead = Transform(2**31 * SECOND, 'base_link', 'imu', ORIGIN, upside_down, True)
    assert session.take(ahead, START)
    assert session.take(
        Transform(START + MS, 'base_link', 'imu', ORIGIN, UPRIGHT, True), START + 2 * MS
    )
    _, pose = session.frames.newest('base_link', 'imu', START + SECOND)
    assert pose.orientation == UPRIGHT
