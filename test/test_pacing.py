from typing import NamedTuple

import pacing
from pacing import instants, Pace, PlayError
import pytest

MS = 1_000_000


class Record(NamedTuple):
    received_ns: int


class Time:
    """A monotonic clock that sleeping moves on, and the test."""

    def __init__(self):
        self.now_ns, self.slept = 5_000_000_000, 0

    def monotonic_ns(self):
        return self.now_ns

    def sleep(self, seconds):
        self.now_ns += round(seconds * 1e9)
        self.slept += 1


@pytest.fixture
def clock(monkeypatch):
    clock = Time()
    monkeypatch.setattr(pacing, 'time', clock)
    return clock


def never():
    return False


def test_deadlines_count_from_the_first_time_that_is_waited_for(clock):
    pace = Pace(4.0)
    clock.now_ns += 700 * MS
    start_ns = clock.now_ns
    for at_ns in (1000 * MS, 1400 * MS, 1800 * MS):
        assert pace.wait(at_ns, never)
    assert clock.now_ns - start_ns == 200 * MS
    assert pace.behind_ns == 0


@pytest.mark.parametrize(('slips', 'then_ns'), [(False, 200 * MS), (True, 280 * MS)])
def test_a_deadline_missed_is_made_up_for_or_puts_off_the_rest(clock, slips, then_ns):
    pace = Pace(1.0, slips)
    pace.wait(0, never)
    start_ns = clock.now_ns
    clock.now_ns += 180 * MS
    pace.wait(100 * MS, never)
    assert pace.behind_ns == 80 * MS
    pace.wait(200 * MS, never)
    assert clock.now_ns - start_ns == then_ns


def test_without_speed_nothing_is_waited_for(clock):
    pace = Pace(0.0)
    assert all(pace.wait(at_ns, never) for at_ns in (0, 1000 * MS))
    assert clock.slept == 0


def test_who_asks_to_stop_is_heard_before_the_deadline(clock):
    pace = Pace(1.0)
    pace.wait(0, never)
    assert not pace.wait(1000 * MS, lambda: clock.slept > 2)
    assert clock.slept == 3
    assert not Pace(0.0).wait(0, lambda: True)


@pytest.mark.parametrize('speed', [-1.0, 1e-300, float('inf'), float('nan')])
def test_what_is_no_speed_is_refused(speed):
    with pytest.raises(PlayError) as refused:
        Pace(speed)
    assert str(refused.value) == (f'speed must be 0 or >= 0.001 times real time, got {speed}.')


def test_no_records_are_no_instants():
    assert list(instants(())) == []


def test_no_time_passes_where_the_clock_of_a_recorder_was_set(clock):
    years_ns = 10 * 365 * 24 * 3600 * 1000 * MS
    later = [Record(0), Record(years_ns)]
    assert [x.received_ns for x in instants(later, tail=0.0)] == [0, years_ns]
    pace = Pace(1.0)
    start_ns = clock.now_ns
    for at_ns in (0, years_ns, years_ns + 100 * MS):
        assert pace.wait(at_ns, never)
    assert clock.now_ns - start_ns == 100 * MS
