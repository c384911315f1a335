"""What holds for any inputs at all: order does not matter, and nothing wrong comes out."""

from math import isfinite
from typing import NamedTuple

from hypothesis import given, HealthCheck
from hypothesis import settings as effort_of
from hypothesis import strategies as st
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from mime_motor_ros.settings import POSE_SOURCES, RATE_SOURCES
import pytest
from sessions import give, imu, make, MS, ORIGIN, play, SECOND, START, tf, UPRIGHT, yawed

TRIALS = effort_of(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)

MOTORS = {
    'motors': ['a', 'b'],
    'a.asymmetry': [2e-5, 1e-5, 0.0, -2e-5, 0.0, 0.0],
    'a.inertia': 1e-3,
    'a.placement.xyz': [0.1, -0.2, 0.3],
    'a.placement.rpy': [0.4, 0.5, 0.6],
    'b.axis': [1.0, 2.0, -1.0],
    'b.initial_spin': 120.0,
    'world_frame': 'map',
    'pose_timeout': 5.0,
}
CHAIN = (('map', 'odom'), ('odom', 'base_link'), ('base_link', 'imu_link'))

# good inputs, all stamped: few stamps and values, so that they meet

stamps = st.integers(0, 24).map(lambda k: START + k * 4 * MS)
numbers = st.sampled_from([0.0, -0.0, 0.5, -0.5, 1.5])
vectors = st.tuples(numbers, numbers, numbers)
turns = st.integers(-6, 6).map(lambda k: yawed(0.5 * k))
transforms = st.builds(
    lambda stamp, edge, position, turn: Transform(stamp, *edge, position, turn),
    stamps,
    st.sampled_from([*CHAIN, *CHAIN, ('map', 'base_link')]),
    vectors,
    turns,
)
rates = st.builds(Imu, stamps, st.sampled_from(['imu_link', 'base_link', 'map']), vectors)
efforts = st.builds(
    lambda stamp, name, torque: JointCommand(stamp, (name,), (torque,)),
    stamps,
    st.sampled_from(['a_joint', 'b_joint']),
    numbers,
)
loads = st.builds(
    Load,
    stamps,
    st.sampled_from('ab'),
    st.sampled_from(['stator', 'rotor']),
    st.sampled_from(['map', 'odom', 'imu_link', 'a_stator', 'b_rotor', 'base_link']),
    vectors,
    vectors,
)
batches = st.lists(st.one_of(transforms, transforms, rates, rates, efforts, loads), max_size=40)


def ready(step_on, **more):
    """Return a session whose frames and rate are known from the start."""
    session = make(MOTORS, step_on=step_on, **more)
    give(session, [tf(START, parent, child, (0.1, 0.2, 0.3)) for parent, child in CHAIN])
    session.take(imu(START, (0.1, 0.2, 0.3), 'imu_link'), START)
    session.advance_to(START)
    return session


def facts(outcomes):
    """Return outcomes to the bit: text tells 0.0 from -0.0."""
    return [repr(outcome) for outcome in outcomes]


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
@TRIALS
@given(data=st.data(), before=batches, later=batches)
def test_rule_1_the_order_of_arrival_changes_not_a_bit(step_on, data, before, later):
    """Of what came before a step, and of what came too late for it, as long as all came."""
    ways = []
    for order in (before, data.draw(st.permutations(before))):
        session = ready(step_on)
        give(session, order, START + 50 * MS)
        made = session.advance_to(START + 50 * MS)
        again = later if order is before else data.draw(st.permutations(later))
        give(session, again, START + 100 * MS)
        made += session.advance_to(START + 100 * MS)
        made += session.advance_to(START + 130 * MS)
        ways.append((facts(made), repr(session.states), session.pose_stamp, session.rate_stamp))
    assert ways[0] == ways[1]


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
@TRIALS
@given(
    items=batches,
    calls=st.lists(st.integers(0, 100 * MS).map(lambda offset: START + offset), max_size=12),
)
def test_rule_3_how_time_is_cut_into_calls_changes_not_a_bit(step_on, items, calls):
    ways = []
    for times in ([], sorted(calls)):
        session = ready(step_on, max_gap=1.0)
        give(session, items)
        made = []
        for now in [*times, START + 100 * MS]:
            made += session.advance_to(now)
        ways.append((facts(made), repr(session.states)))
    assert ways[0] == ways[1]


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
@TRIALS
@given(items=batches, stall=st.tuples(st.integers(0, 10), st.integers(0, 10)))
def test_rule_3_a_blocked_process_is_one_that_was_never_blocked(step_on, items, stall):
    """Each input comes at its own stamp; the blocked one finds those of the stall at its end."""
    first, last = sorted(START + k * 10 * MS for k in stall)
    unique = {
        (type(i), getattr(i, 'child', ''), getattr(i, 'names', ''), *i[:3]): i for i in items
    }
    items = sorted(
        {(type(i).__name__, _stream(i), i.stamp): i for i in unique.values()}.values(),
        key=lambda i: i.stamp,
    )
    ways = []
    for blocked in (False, True):
        session, made, waiting = ready(step_on), [], list(items)
        for now in range(START, START + 101 * MS, MS):
            if blocked and first < now < last:
                continue
            while waiting and waiting[0].stamp <= now:
                session.take(waiting.pop(0), now)
            made += session.advance_to(now)
        ways.append((facts(made), repr(session.states)))
    assert ways[0] == ways[1]


def _stream(item):
    """Return what tells the inputs apart of which one stamp may come only once."""
    if isinstance(item, Transform):
        return item.child
    if isinstance(item, Load):
        return item.motor + item.link
    return getattr(item, 'names', '')


@TRIALS
@given(
    offsets=st.lists(st.integers(1, 60), min_size=2, max_size=2, unique=True),
    torque=st.floats(-1.0, 1.0),
)
def test_rule_8_a_pause_of_any_length_makes_no_impulse(offsets, torque):
    """What is left out of the torque's time is all that a pause changes."""
    first, last = sorted(offsets)
    frames = {'world_frame': 'base_link', 'rate_source': 'zero', 'command_timeout': 0.0}
    session = make({**frames, 'wheel.damping': 0.0})
    session.advance_to(START)
    session.take(Commands((torque,)), START)
    for k in range(1, 61):
        session.paused = first <= k < last
        session.advance_to(START + k * 10 * MS)
    gained = (60 - (last - first)) * 0.01 * torque / 1e-4
    assert session.states[0].spin == pytest.approx(gained, rel=1e-9, abs=1e-9)


# anything at all

wild = st.one_of(
    st.floats(),
    st.sampled_from([0.0, 1.0, 1e308, -1e308, 1.7e308, 1e-320, 1e154, 1e77, float('nan')]),
    st.integers(-3, 3),
)
wild_vectors = st.tuples(wild, wild, wild)
wild_turns = st.one_of(
    st.tuples(wild, wild, wild, wild),
    st.sampled_from([UPRIGHT, (0.0,) * 4, (0.0, 0.0, 0.0, -1.0), (0.5, 0.5, 0.5, 0.5)]),
    turns,
)
wild_stamps = st.one_of(
    stamps,
    stamps,
    st.sampled_from([0, 1, -1, -START, 2**63 - 1, 2**64, START + 6 * 365 * 86400 * SECOND]),
    st.integers(START - SECOND, START + SECOND),
)
frames = st.sampled_from(
    ['', '/', '//', '/odom', 'map', 'odom', 'base_link', 'imu_link', 'a_stator', 'b_rotor', 'é']
)
covariances = st.sampled_from([0.0, -1.0, 1e308, float('nan'), float('inf'), 0.01])
wild_items = st.one_of(
    st.builds(Transform, wild_stamps, frames, frames, wild_vectors, wild_turns, st.booleans()),
    st.builds(Imu, wild_stamps, frames, wild_vectors, covariances, wild_turns, covariances),
    st.builds(Twist, wild_stamps, frames, wild_vectors),
    st.builds(Odometry, wild_stamps, frames, frames, wild_vectors, wild_turns, wild_vectors),
    st.builds(Commands, st.lists(wild, max_size=3).map(tuple)),
    st.builds(
        JointCommand,
        wild_stamps,
        st.lists(st.sampled_from(['a_joint', 'b_joint', 'a', 'elbow', '']), max_size=3).map(tuple),
        st.lists(wild, max_size=3).map(tuple),
    ),
    st.builds(
        Load,
        wild_stamps,
        st.sampled_from(['a', 'b', 'c', '']),
        st.sampled_from(['stator', 'rotor', 'bearing']),
        frames,
        wild_vectors,
        wild_vectors,
    ),
)
huge = st.sampled_from([0.0, 1.0, 1e308, -1e308, 1.7e308, 1e154, -1e77, 1e-320])
huge_vectors = st.tuples(huge, huge, huge)


class Now(NamedTuple):
    """Inputs of good form, stamped with the time at which they come."""

    rate: tuple[float, float, float]
    torques: tuple[float, float]
    force: tuple[float, float, float]
    position: tuple[float, float, float]

    def items(self, now):
        return [
            Imu(now, 'imu_link', self.rate, 0.0, UPRIGHT, 0.0),
            Twist(now, 'base_link', self.rate),
            Odometry(now, 'odom', 'base_link', self.position, UPRIGHT, self.rate),
            tf(now, 'odom', 'base_link', self.position),
            Commands(self.torques),
            Load(now, 'a', 'rotor', 'imu_link', self.force, self.rate),
            Load(now, 'b', 'stator', 'base_link', self.force, self.rate),
        ]


class Clock(NamedTuple):
    """Time that goes on, or stands at any value."""

    forward: int
    at: int | None = None


still_now = st.just(Now((0.1, 0.2, 0.3), (0.0, 0.0), ORIGIN, ORIGIN))
huge_now = st.builds(Now, huge_vectors, st.tuples(huge, huge), huge_vectors, huge_vectors)
good_items = st.one_of(transforms, rates, efforts, loads)
onward = st.builds(Clock, st.integers(0, 30).map(lambda k: k * MS))
jumps = st.builds(
    Clock,
    st.just(0),
    st.one_of(
        st.integers(0, 1200).map(lambda k: START + k * MS),
        st.sampled_from([0, -1, 1, MS, 10 * MS, START - 1, 5 * SECOND, 2**62]),
    ),
)
events = st.lists(
    st.one_of(wild_items, wild_items, good_items, huge_now, still_now, onward, onward, jumps),
    max_size=60,
)
choices = st.fixed_dictionaries(
    {
        'rate_source': st.sampled_from(RATE_SOURCES),
        'pose_source': st.sampled_from(POSE_SOURCES),
        'on_time_jump': st.sampled_from(['hold', 'reset']),
        'settle': st.sampled_from([0.0, 0.005, 2.0]),
        'command_timeout': st.sampled_from([0.0, 0.5]),
        'world_frame': st.sampled_from(['map', 'base_link']),
    }
)


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
@effort_of(parent=TRIALS, max_examples=400)
@given(events=events, chosen=choices)
def test_rule_10_T42_no_mixture_of_inputs_makes_a_wrong_output_or_an_exception(
    step_on, events, chosen
):
    if step_on == 'imu' and chosen['rate_source'] in ('tf', 'zero'):
        chosen = {**chosen, 'rate_source': 'imu'}
    session = make({**MOTORS, **chosen}, step_on=step_on)
    now, last, jumps = START, 0, 0
    give(session, [tf(START, *edge, static=edge != CHAIN[1]) for edge in CHAIN])
    for event in events:
        if isinstance(event, Clock):
            now = now + event.forward if event.at is None else event.at
        for item in event.items(now) if isinstance(event, Now) else [event]:
            if not isinstance(item, Clock):
                session.take(item, now)
        made = session.advance_to(now)
        if session.jumps != jumps:
            last, jumps = 0, session.jumps
        for outcome in made:
            assert last < outcome.stamp_ns
            assert last <= outcome.start_ns < outcome.stamp_ns <= session.now_ns
            assert outcome.dt > 0.0
            assert all(map(isfinite, flat(everything(outcome)))), outcome
            last = outcome.stamp_ns
        assert all(map(isfinite, flat(session.states)))
    for energy in session.energy:
        assert isfinite(energy.residual)
    assert all(isinstance(text, str) and text for text in session.news.values())
    for stream in session._streams:
        assert len(stream.waiting(2**70)) <= 4096


@TRIALS
@given(events=events)
def test_rule_6_bad_inputs_leave_the_good_ones_as_they_are(events):
    """A clean session and one that gets rubbish under names and stamps of its own."""
    bad = [
        event._replace(**{field: (float('nan'),) * 3})
        for event in events
        if not isinstance(event, Clock | Now)
        for field in ('position', 'angular_velocity', 'force')
        if hasattr(event, field)
    ]
    clean, dirty = ready('timer'), ready('timer')

    def messages(now):
        return [
            tf(now, *CHAIN[1], (1e-9 * (now - START), 0.0, 0.0), yawed(1e-9 * (now - START))),
            imu(now, (0.3, 0.2, 0.1), 'imu_link'),
        ]

    expected = play(clean, START + 100 * MS, messages=messages, torque=None)
    made = play(dirty, START + 100 * MS, messages=lambda now: [*bad, *messages(now), *bad])
    assert facts(made) == facts(expected)


def everything(outcome):
    """Return all numbers that an edge can send of an outcome."""
    yield outcome[2:6]
    yield from outcome.steps
    for motor in (None, *range(len(outcome.steps))):
        yield outcome.reaction(motor)
        yield outcome.mount_wrench(motor)
        yield outcome.momentum(motor)
    for i, step in enumerate(outcome.steps):
        yield outcome.in_mount(step.stator_angular_velocity)
        yield outcome.in_mount(step.rotor_angular_velocity)
        yield outcome.tensor_in_mount(step.asymmetry_now)
        yield outcome.tensor_in_mount(step.asymmetry_next)
        yield outcome.rotor_in_stator(i, (0.0, 0.0, 1.0))


def flat(numbers):
    if isinstance(numbers, (int, float)):
        yield numbers
    else:
        for part in numbers:
            yield from flat(part)


def test_the_same_items_of_one_stamp_from_two_senders_keep_the_greater():
    """What the first property rests on, once by hand, and for the sign of a zero."""
    for one, two in (((0.0, 0.0, 1.0), (0.0, 0.0, 2.0)), ((0.0, -0.0, 2.0), (0.0, 0.0, 2.0))):
        ways = []
        for order in ((one, two), (two, one)):
            session = ready('timer')
            give(session, [imu(START + MS, rate, 'map') for rate in order])
            assert session.counts == {('imu', 'repeated'): 1}
            ways.append(repr(session.advance_to(START + 10 * MS)[0].rate))
        assert ways == ['(0.0, 0.0, 2.0)'] * 2
