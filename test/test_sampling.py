"""Delay, interpolation and interval, against hand numbers, plain lists and closed forms."""

from itertools import permutations
from math import nan
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.sampling import Delayed, due, Output, Sampling
from mime_motor_ros.timeline import NANOSECONDS as S
from mime_motor_ros.timeline import Stream
import pytest

MS = 1_000_000


class Pair(NamedTuple):
    angle: float
    torque: float


def kept(samples, max_delay=100, size=64, make=tuple):
    buffer = Delayed(make, max_delay, size)
    for stamp, *numbers in samples:
        buffer.offer(stamp, make(numbers))
    return buffer


def of(delay, interpolation='hold', **more):
    return Sampling(delay, interpolation, **{'max_delay': max(delay, 100), **more})


# what may be asked for


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'delay': -1}, 'delay must be >= 0 s, got -1e-09.'),
        ({'interval': -S}, 'interval must be >= 0 s, got -1.0.'),
        ({'max_delay': -2 * S}, 'max_delay must be >= 0 s, got -2.0.'),
        ({'delay': nan}, 'delay must be >= 0 s, got nan.'),
        ({'delay': 2 * S}, 'delay must be <= max_delay, which is 1.0 s, got 2.0.'),
        (
            {'delay': 20 * MS + 1, 'max_delay': 20 * MS},
            'delay must be <= max_delay, which is 0.02 s, got 0.020000001.',
        ),
        (
            {'interpolation': 'Cubic'},
            "interpolation must be one of hold, linear, cubic, got 'Cubic'.",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(values, text):
    with pytest.raises(ParameterError) as error:
        Sampling(**values)
    assert str(error.value) == text


def test_without_delay_and_interval_there_is_nothing_to_do():
    assert Sampling().is_none
    assert Sampling(phase=-3, max_delay=0).is_none
    assert not Sampling(delay=1).is_none
    assert not Sampling(interval=1).is_none
    assert Sampling(delay=S, max_delay=S).delay == S  # up to and with max_delay


# when a sample is taken


@pytest.mark.parametrize(
    ('phase', 'ends'), [(0.0, [0, 3, 5, 8, 10, 13]), (-1.5, [1, 4, 6, 9, 11, 14])]
)
def test_a_period_that_is_no_multiple_of_the_step_keeps_its_mean(phase, ends):
    sampling = Sampling(interval=5 * S // 2, phase=round(phase * S))
    assert [k for k in range(15) if due((k - 1) * S, k * S, sampling)] == ends


def test_without_interval_every_step_takes_a_sample():
    assert due(0, 1, Sampling(phase=5))
    assert all(due(k - 1, k, Sampling(interval=1)) for k in range(-3, 3))


@given(
    start=st.integers(-(10**6), 2 * 10**18),
    length=st.integers(0, 10**4),
    interval=st.integers(1, 10**4),
    phase=st.integers(-(10**5), 10**5),
)
def test_an_instant_belongs_to_the_step_it_ends_and_not_to_the_one_it_begins(
    start, length, interval, phase
):
    k = (start - phase) // interval + 1  # the first instant after the start
    sampling = Sampling(interval=interval, phase=phase)
    assert due(start, start + length, sampling) == (phase + k * interval <= start + length)


def test_between_two_instants_what_was_taken_last_is_held():
    buffer = kept([(k * S, float(k)) for k in range(1, 12)], max_delay=S)
    sampling = Sampling(interval=5 * S // 2)
    found = [buffer.acting((k - 1) * S, k * S, sampling) for k in range(1, 12)]
    assert [None if taken is None else taken[1][0] for taken in found] == [
        None,
        None,
        3.0,
        3.0,
        5.0,
        5.0,
        5.0,
        8.0,
        8.0,
        10.0,
        10.0,
    ]
    assert buffer.acting(11 * S, 12 * S, Sampling()) == (11 * S, (11.0,))


def test_what_is_taken_at_an_instant_is_as_late_as_the_delay():
    buffer = kept([(k * S, float(k)) for k in range(1, 12)], max_delay=S)
    sampling = Sampling(delay=S, interval=5 * S // 2)
    found = [buffer.acting((k - 1) * S, k * S, sampling) for k in range(3, 9)]
    assert [taken[1][0] for taken in found] == [2.0, 2.0, 4.0, 4.0, 4.0, 7.0]


def test_a_step_that_takes_no_sample_still_reads_so_what_is_refused_does_not_hang_on_it():
    buffer = kept([(5, 1.0), (15, 2.0)])
    assert buffer.acting(10, 20, Sampling(interval=50)) is None
    assert buffer.offer(14, (3.0,)) == 'old'


# which sample acts


def test_a_sample_acts_from_its_stamp_plus_the_delay():
    buffer = kept([(10, 1.0), (20, 2.0), (30, 3.0)])
    found = [buffer.at(t, of(7)) for t in (16, 17, 26, 27, 36, 37, 99)]
    assert found == [
        None,
        (10, (1.0,)),
        (10, (1.0,)),
        (20, (2.0,)),
        (20, (2.0,)),
        (30, (3.0,)),
        (30, (3.0,)),
    ]


def test_linear_by_hand():
    buffer = kept([(10, 1.0, -4.0), (20, 2.0, 0.0), (60, 4.0, 8.0)])
    found = [buffer.at(t, of(50, 'linear')) for t in (59, 60, 65, 70, 80, 100, 110, 150)]
    assert found == [
        None,
        (10, (1.0, -4.0)),
        (10, (1.5, -2.0)),
        (20, (2.0, 0.0)),
        (20, (2.5, 2.0)),
        (20, (3.5, 6.0)),
        (60, (4.0, 8.0)),
        (60, (4.0, 8.0)),  # never beyond the newest
    ]


def test_cubic_by_hand_at_equal_spacing():
    # Catmull and Rom at the middle: (-p0 + 9 p1 + 9 p2 - p3) / 16.
    buffer = kept([(10, 1.0), (20, 2.0), (30, 4.0), (40, -8.0)])
    assert buffer.at(100, of(75, 'cubic')) == (20, ((-1 + 18 + 36 + 8) / 16,))


def test_cubic_by_hand_at_unequal_spacing():
    # h = 20, u = 1/4: h00 = 54/64, h10 = 9/64, h01 = 10/64, h11 = -3/64; slopes over the real
    # stamps 20 (4 - 1) / 30 = 2 and 20 (7 - 2) / 50 = 2.
    buffer = kept([(10, 1.0), (20, 2.0), (40, 4.0), (70, 7.0)])
    assert buffer.at(100, of(75, 'cubic')) == (20, (2.5,))
    # Slopes 20 (4 - -2) / 30 = 4 and 20 (12 - 2) / 50 = 4.
    buffer = kept([(10, -2.0), (20, 2.0), (40, 4.0), (70, 12.0)])
    expected = (54 * 2 + 9 * 4 + 10 * 4 - 3 * 4) / 64
    assert buffer.at(100, of(75, 'cubic')) == (20, (expected,))


def test_the_ends_of_the_cubic_are_one_sided():
    # First piece: m1 = d = 10, m2 = (0 - 0) / 2 = 0, at u = 1/2: 5 + (10 - 0) / 8.
    buffer = kept([(10, 0.0), (20, 10.0), (30, 0.0)])
    assert buffer.at(100, of(85, 'cubic')) == (10, (6.25,))
    # Last piece, mirrored; m2 = d = -10.
    assert buffer.at(100, of(75, 'cubic')) == (20, (6.25,))
    # Of two samples alone, the straight line; of one, itself.
    assert kept([(10, 0.0), (20, 10.0)]).at(100, of(88, 'cubic')) == (10, (2.0,))
    assert kept([(10, 3.0)]).at(100, of(88, 'cubic')) == (10, (3.0,))


@pytest.mark.parametrize('interpolation', ['linear', 'cubic'])
@given(
    gaps=st.lists(st.sampled_from([4, 8, 16, 32]), min_size=3, max_size=10),
    slope=st.integers(-1000, 1000),
    where=st.integers(0, 200),
)
def test_a_straight_line_is_reproduced_exactly_whatever_the_stamps(
    interpolation, gaps, slope, where
):
    stamps = [1000 + sum(gaps[:k]) for k in range(len(gaps) + 1)]
    buffer = kept([(s, slope * s / 4, 7.0) for s in stamps], max_delay=10_000)
    x = min(stamps[0] + where, stamps[-1])
    stamp, values = buffer.at(5000, of(5000 - x, interpolation))
    assert values == (slope * x / 4, 7.0)
    assert stamp == max(s for s in stamps if s <= x)


def test_a_cubic_reproduces_a_parabola_at_equal_spacing():
    def parabola(ns):
        t = ns / S
        return 0.3 * t * t - 1.7 * t + 0.4

    buffer = kept([(k * S // 10, parabola(k * S // 10)) for k in range(1, 31)], max_delay=3 * S)
    for x in range(S // 5, 29 * S // 10, 7_654_321):
        found = buffer.at(3 * S, Sampling(3 * S - x, 'cubic', max_delay=3 * S))
        assert found[1][0] == pytest.approx(parabola(x), abs=1e-12)


def test_a_cubic_goes_through_its_samples_without_a_kink():
    samples = [(1000, 1.0), (1700, -2.0), (2000, 3.0), (3100, 0.5), (4000, 2.0)]
    buffer = kept(samples, max_delay=10_000)

    def value(x):
        return buffer.at(5000, of(5000 - x, 'cubic', max_delay=10_000))[1][0]

    for stamp, number in samples:
        assert value(stamp) == number
    for stamp, _ in samples[1:-1]:
        assert value(stamp) - value(stamp - 1) == pytest.approx(
            value(stamp + 1) - value(stamp), abs=2e-4
        )


@given(
    stamps=st.lists(st.integers(1, 10**9), min_size=4, max_size=4, unique=True).map(sorted),
    values=st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4),
    part=st.floats(0.0, 1.0),
)
def test_a_cubic_stays_near_its_samples_however_close_two_of_them_are(stamps, values, part):
    buffer = kept(zip(stamps, values, strict=True), max_delay=S)
    x = stamps[1] + int(part * (stamps[2] - stamps[1]))
    found = buffer.at(S, Sampling(S - x, 'cubic'))[1][0]
    low, high = sorted(values[1:3])
    over = 4 / 27 * (abs(values[2] - values[0]) + abs(values[3] - values[1])) + 1e-12
    assert low - over <= found <= high + over


def test_all_numbers_of_a_sample_are_of_one_time_and_it_stays_what_it_is():
    buffer = kept([(10, 1.0, 100.0), (20, 2.0, 200.0)], make=Pair._make)
    for interpolation, expected in (('hold', (1.0, 100.0)), ('linear', (1.5, 150.0))):
        stamp, values = buffer.at(60, of(45, interpolation))
        assert (stamp, values, type(values)) == (10, expected, Pair)


@pytest.mark.parametrize('interpolation', ['linear', 'cubic'])
def test_what_is_too_large_to_compute_with_is_held(interpolation):
    buffer = kept([(10, -1.5e308, 1.0), (20, 1.5e308, 2.0), (30, -1.5e308, 3.0)])
    assert buffer.at(60, of(45, interpolation)) == (10, (-1.5e308, 1.5))  # and no other


# the rules of time


@pytest.mark.parametrize('interpolation', ['hold', 'linear', 'cubic'])
def test_what_is_stamped_after_the_step_is_not_there_yet(interpolation):
    samples = [(10, 1.0), (20, 5.0), (30, 2.0), (40, -3.0), (50, 9.0)]
    for t in range(5, 70):
        for delay in (0, 3, 12, 25):
            early = kept(samples).at(t, of(delay, interpolation))
            only = kept([s for s in samples if s[0] <= t]).at(t, of(delay, interpolation))
            assert early == only, (t, delay)
    buffer = kept(samples)
    buffer.at(60, of(0))  # even when it was read, as after a look at a time before
    for t in range(5, 70):
        for delay in (0, 3, 12, 25):
            only = kept([s for s in samples if s[0] <= t]).at(t, of(delay, interpolation))
            assert buffer.at(t, of(delay, interpolation)) == only, (t, delay)


def test_the_next_sample_changes_what_acts_only_once_it_is_there():
    buffer = kept([(10, 0.0), (20, 10.0)])
    assert buffer.at(19, of(4, 'linear')) == (10, (0.0,))
    assert buffer.at(20, of(4, 'linear')) == (10, (6.0,))


def test_any_order_of_arrival_acts_the_same():
    samples = [(10, 1.0), (20, 5.0), (30, 2.0), (30, 2.5), (40, -3.0)]
    found = set()
    for order in permutations(samples):
        buffer = kept(order)
        found.add(
            tuple(
                buffer.at(t, of(15, interpolation))
                for t in (33, 38, 44, 47, 52)
                for interpolation in ('hold', 'linear', 'cubic')
            )
        )
    assert len(found) == 1


actions = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 40), st.integers(0, 3), st.booleans(), st.integers(0, 40)),
        st.integers(0, 40),
    ),
    max_size=40,
)


@given(actions=actions, delay=st.integers(0, 50))
def test_what_is_offered_is_judged_as_by_a_stream_whatever_the_delay(actions, delay):
    stream, buffer = Stream(5), Delayed(tuple, 100, 5)
    for action in actions:
        if isinstance(action, tuple):
            stamp, value, newer, now = action
            value = (float(value),)
            assert buffer.offer(stamp, value, newer, now) == stream.offer(stamp, value, newer, now)
        else:
            stream.read(action)
            buffer.at(action, of(delay))
            assert (buffer.stamp, buffer.value) == (stream.stamp, stream.value)
        assert buffer.waiting(25) == stream.waiting(25)


@given(
    gaps=st.lists(st.integers(1, 30), min_size=1, max_size=150),
    steps=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 100)), min_size=1, max_size=60),
    interpolation=st.sampled_from(['hold', 'linear', 'cubic']),
)
def test_forgetting_changes_nothing_up_to_the_longest_delay(gaps, steps, interpolation):
    """However the delay changes from step to step, up and down."""
    samples = [(sum(gaps[: k + 1]), float(k * k % 17)) for k in range(len(gaps))]
    short = kept(samples, max_delay=100, size=200)
    everything = kept(samples, max_delay=10**9, size=200)
    t = 0
    for step, delay in steps:
        t += step
        sampling = of(delay, interpolation)
        found = short.at(t, sampling)
        assert found == everything.at(t, sampling)
        before = [s for s in samples if s[0] <= t - delay]
        assert (found is None) == (not before)
        if before:
            assert found[0] == before[-1][0]
            if interpolation == 'hold':
                assert found[1] == before[-1][1:]


def test_the_delay_changes_live_up_and_down():
    buffer = Delayed(tuple, 50, 64)
    found = []
    for t in range(10, 400, 10):
        buffer.offer(t, (t / 10,))
        delay = 0 if t < 200 else 50 if t < 300 else 20
        found.append(buffer.at(t, of(delay, max_delay=50))[1][0] * 10)
    times = range(10, 400, 10)
    assert found == [t if t < 200 else t - 50 if t < 300 else t - 20 for t in times]


def test_a_flood_stays_bounded_and_leaves_the_present():
    buffer, full = Delayed(tuple, S, 100), 0
    for t in range(1, 5001):
        full += buffer.offer(t, (float(t),), now_ns=t) == 'full'
        full += buffer.offer(10**6 - t, (0.0,), now_ns=t) == 'full'  # from the future
        if t % 25 == 0:
            assert buffer.at(t, Sampling(delay=20)) == ((t - 20, (t - 20.0,)) if t > 20 else None)
        assert len(buffer) <= 200
    waiting = len(buffer) - 100
    assert full == 5000 - waiting  # what went was all from the future


def test_a_delay_there_is_no_room_for_acts_as_the_longest_there_is_room_for():
    buffer = Delayed(tuple, S, 100)
    for t in range(1, 1001):
        buffer.offer(t, (float(t),))
        found = buffer.at(t, Sampling(delay=500))
        expected = None if t <= 100 else max(t - 99, t - 500)
        assert found == (None if expected is None else (expected, (float(expected),)))
    assert len(buffer) == 100
    assert buffer.at(900, Sampling(delay=500)) is None  # and never what is stamped after


def test_little_is_kept_where_no_delay_can_be_asked_for():
    buffer = Delayed(tuple, 0, 4096)
    for t in range(1, 1000):
        buffer.offer(t, (float(t),))
        assert buffer.at(t, Sampling(max_delay=0)) == (t, (float(t),))
        assert len(buffer) <= 20


def test_a_clock_that_jumps_clears_all():
    buffer = kept([(10, 1.0), (20, 2.0), (90, 9.0)])
    everything = Sampling(interval=1)
    assert buffer.acting(40, 50, everything) == (20, (2.0,))
    buffer.clear()
    assert len(buffer) == 0
    assert (buffer.stamp, buffer.value, buffer.waiting(99)) == (None, None, [])
    assert buffer.at(200, of(50)) is None
    assert buffer.acting(0, 0, Sampling(interval=50)) is None
    assert buffer.offer(5, (5.0,)) == ''
    assert buffer.at(9, of(4)) == (5, (5.0,))
    assert buffer.at(8, of(4)) is None


def test_a_cleared_buffer_does_not_remember_that_it_was_once_full():
    buffer = Delayed(tuple, 1000, 5)
    for t in range(1, 20):
        buffer.offer(t, (1.0,))
        buffer.read(t)
    buffer.clear()
    buffer.offer(5, (5.0,))
    assert buffer.at(9, of(6)) is None


def test_at_the_time_of_this_century_no_nanosecond_is_lost():
    now = 1_790_000_000 * S
    buffer = kept([(now + 1, 0.0), (now + 4, 3.0)], max_delay=S)
    found = [buffer.at(now + S, Sampling(S - k, 'linear')) for k in (0, 1, 2, 3, 4, 5)]
    assert found[0] is None
    numbers = [values[0] for _, values in found[1:]]
    assert numbers == [0.0, 1.0, 2.0, 3.0, 3.0]


# what a sensor measured


def test_an_output_is_told_later_and_a_lost_sample_leaves_the_one_before():
    output = Output(tuple, S, 64)
    told = []
    for t in range(10, 80, 10):
        output.push(t, None if t in (30, 40) else (float(t),))
        told.append(output.at(t, of(20)))
    assert told == [
        None,
        None,
        (10, (10.0,)),
        (20, (20.0,)),
        (20, (20.0,)),
        (20, (20.0,)),
        (50, (50.0,)),
    ]


def test_an_output_measured_twice_at_one_time_is_the_later():
    output = Output(tuple, S, 64)
    for number in (3.0, 1.0):
        output.push(10, (number,))
    assert output.at(10, Sampling()) == (10, (1.0,))


def test_an_output_nobody_looks_at_stays_bounded_and_keeps_the_newest():
    output = Output(tuple, S, 8)
    for t in range(1, 100):
        output.push(t, (float(t),))
    assert len(output) == 8
    assert output.at(99, Sampling()) == (99, (99.0,))


def test_a_sensor_with_an_interval_and_a_delay_tells_what_was_at_the_instants():
    output, sampling = (
        Output(tuple, 10 * S, 64),
        Sampling(S, interval=5 * S // 2, max_delay=10 * S),
    )
    told = []
    for k in range(10):
        if due((k - 1) * S, k * S, sampling):
            output.push(k * S, (float(k),))
        found = output.at(k * S, sampling)
        told.append(None if found is None else found[1][0])
    assert told == [None, 0.0, 0.0, 0.0, 3.0, 3.0, 5.0, 5.0, 5.0, 8.0]
