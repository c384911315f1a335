"""The grid of the steps and the stamped samples, against plain arithmetic and plain lists."""

from fractions import Fraction
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.timeline import Grid, NANOSECONDS, nanoseconds, Stream
import pytest

rates = st.one_of(
    st.floats(0.01, 10_000.0), st.sampled_from([1.0, 50.0, 200.0, 400.0, 1000 / 3, 1000.0, 1024.0])
)
times = st.integers(0, 2**62)


def test_durations_are_the_nearest_whole_nanoseconds():
    assert [nanoseconds(s) for s in (0.0, 0.1, 0.5, 1e-9, 4e-10, 3.0)] == [
        0,
        100_000_000,
        500_000_000,
        1,
        0,
        3_000_000_000,
    ]


@pytest.mark.parametrize('rate', [1000.0, 400.0, 1000 / 3, 7.0, 0.5])
def test_ten_hours_end_on_the_grid(rate):
    grid = Grid(rate)
    ticks = round(36_000 * rate)
    assert abs(grid.time_ns(ticks) - 36_000 * NANOSECONDS) <= 1
    assert grid.tick(36_000 * NANOSECONDS) == ticks
    assert grid.dt == pytest.approx(1.0 / rate, rel=1e-15)


@given(rate=rates, time=times)
def test_a_tick_is_the_last_one_at_or_before_a_time(rate, time):
    grid = Grid(rate)
    tick = grid.tick(time)
    assert grid.time_ns(tick) <= time < grid.time_ns(tick + 1)


@given(rate=rates, tick=st.integers(0, 10**12))
def test_the_time_of_a_tick_is_that_of_exact_arithmetic_rounded_down(rate, tick):
    grid = Grid(rate)
    assert grid.tick(grid.time_ns(tick)) == tick
    ratio = max(Fraction(rate).limit_denominator(10**6), Fraction(1, 10**6))
    exact = tick / ratio * NANOSECONDS
    assert grid.time_ns(tick) == exact.numerator // exact.denominator
    assert abs((grid.time_ns(tick + 1) - grid.time_ns(tick)) - grid.dt * 1e9) <= 1.0 + 1e-6


@pytest.mark.parametrize('rate', [5e-324, 1e-300, 1e-9])
def test_the_slowest_grid_ticks_once_in_eleven_days(rate):
    grid = Grid(rate)
    assert grid.dt == 1e6
    assert grid.time_ns(1) == 10**15


@given(rate=rates, before=times, length=st.integers(0, NANOSECONDS))
def test_crossed_tells_whether_a_tick_lies_behind_one_time_and_not_behind_another(
    rate, before, length
):
    grid = Grid(rate)
    after = before + length
    first = grid.time_ns(grid.tick(before) + 1)
    assert grid.crossed(before, after) == (first <= after)


def test_decimation_takes_every_tenth_step_whatever_the_phase():
    steps, sent = Grid(1000.0), Grid(100.0)
    crossed = [sent.crossed(steps.time_ns(k - 1), steps.time_ns(k)) for k in range(1, 1001)]
    assert sum(crossed) == 100
    assert all(crossed[9::10])


# samples


def read_all(stream, until):
    """Return stamps and values in the order in which steps would find them."""
    found = []
    for stamp in stream.waiting(until):
        stream.read(stamp)
        found.append((stream.stamp, stream.value))
    return found


def test_a_stream_starts_without_a_sample():
    stream = Stream(64)
    stream.read(100)
    assert (stream.stamp, stream.value, stream.waiting(100)) == (None, None, [])


def test_reading_moves_to_the_newest_sample_at_or_before_a_time():
    stream = Stream(64)
    for stamp in (30, 10, 20):
        assert stream.offer(stamp, f'at {stamp}') == ''
    stream.read(9)
    assert stream.stamp is None
    stream.read(29)
    assert (stream.stamp, stream.value) == (20, 'at 20')
    assert stream.waiting(29) == []
    assert stream.waiting(30) == [30]
    stream.read(1000)
    assert (stream.stamp, stream.value) == (30, 'at 30')


def test_what_is_not_newer_than_the_sample_read_is_refused():
    stream = Stream(64)
    stream.offer(20, 'a')
    stream.read(25)
    assert stream.offer(20, 'b') == 'repeated'
    assert stream.offer(19, 'b') == 'old'
    assert stream.offer(21, 'b') == ''  # newer than the sample, if older than the reading
    assert (stream.stamp, stream.value) == (20, 'a')


def test_of_one_stamp_the_greater_value_is_kept_and_of_receipt_the_later():
    for order in permutations((0.0, -0.0, 1.0)):
        stream = Stream(64)
        assert [stream.offer(5, value) for value in order] == ['', 'repeated', 'repeated']
        assert read_all(stream, 5) == [(5, 1.0)]
    for order in permutations((0.0, -0.0)):
        stream = Stream(64)
        for value in order:
            stream.offer(5, value)
        stream.read(5)
        assert repr(stream.value) == '0.0'
    stream = Stream(64)
    assert [stream.offer(5, value, newer=True) for value in (3, 1, 2)] == ['', '', '']
    assert read_all(stream, 5) == [(5, 2)]


@pytest.mark.parametrize(
    ('now', 'left'), [(5, [3, 4, 5]), (4, [2, 3, 4]), (3, [1, 2, 3]), (0, [1, 2, 3])]
)
def test_a_flood_leaves_the_newest_of_the_present_in_any_order_of_arrival(now, left):
    for order in permutations(range(1, 6)):
        stream = Stream(size=3)
        answers = [stream.offer(stamp, stamp, now_ns=now) for stamp in order]
        assert answers.count('full') == 2
        assert read_all(stream, 10) == [(stamp, stamp) for stamp in left]


def test_clearing_forgets_all_even_what_was_read():
    stream = Stream(64)
    stream.offer(10, 'a')
    stream.read(10)
    stream.offer(20, 'b')
    stream.clear()
    assert (stream.stamp, stream.value, stream.waiting(99)) == (None, None, [])
    assert stream.offer(5, 'c') == ''


pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), max_size=20)


@given(samples=pairs, until=st.integers(0, 13))
def test_a_stream_reads_as_a_sorted_table_of_the_greatest_values(samples, until):
    stream = Stream(64)
    for stamp, value in samples:
        stream.offer(stamp, value)
    table = {}
    for stamp, value in samples:
        table[stamp] = max(value, table.get(stamp, value))
    assert read_all(stream, until) == sorted(
        (stamp, value) for stamp, value in table.items() if stamp <= until
    )
