"""Faults that the rules of time have to hold under, by their numbers in doc/faults.md."""

import random

import pytest
from sessions import (
    effort,
    give,
    imu,
    make,
    moving,
    MS,
    play,
    SECOND,
    spins,
    stamps,
    START,
    still,
    tf,
)


@pytest.mark.parametrize('rate', [200.0, 500.0])
def test_T02_a_minute_of_late_wake_ups_is_a_minute_of_steps(rate):
    session, dice = still(rate=rate), random.Random(2)
    session.advance_to(START)
    now, made = START, []
    while now < START + 60 * SECOND:
        now += dice.choice((1, 2, 5, 20, 90)) * MS + dice.randrange(MS)
        made += session.advance_to(now)
    period = round(1e9 / rate)
    assert 0 <= now - made[-1].stamp_ns < period
    assert stamps(made) == list(range(START + period, made[-1].stamp_ns + 1, period))
    assert session.gaps == 0


def test_T04_a_coarse_clock_gives_the_numbers_of_a_fine_one():
    ends = []
    for every in (100 * MS, 10 * MS, 1 * MS):
        session = still()
        session.advance_to(START)
        session.take(effort(START, 1e-3), START)
        for now in range(START + every, START + 10 * SECOND + 1, every):
            session.take(effort(now, 1e-3), now)
            session.advance_to(now)
        ends.append((session.steps, *session.states))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][0] == 1000


def test_T14_after_the_clock_went_back_a_pose_of_before_is_not_used():
    session = make()
    play(session, START + 100 * MS)
    back = START - 500 * SECOND
    session.take(imu(back), back)
    session.advance_to(back)
    session.take(imu(back + 10 * MS), back + 10 * MS)
    assert session.advance_to(back + 10 * MS) == []
    assert session.waiting.startswith("mount pose: no transform names frame 'odom'")
    # What is older than all before is not "old": there is no end of refusals.
    give(session, [tf(back + 20 * MS), imu(back + 20 * MS)], back + 20 * MS)
    assert stamps(session.advance_to(back + 20 * MS)) == [back + 20 * MS]
    assert not session.counts


def test_T15_a_pose_that_never_comes_costs_no_step_once_it_is_there():
    session = make()
    for now in range(START, START + 5 * SECOND, 10 * MS):
        session.take(imu(now), now)
        assert session.advance_to(now) == []
    assert session.waiting.startswith('mount pose: ')
    end = START + 5 * SECOND
    give(session, moving(end), end)
    assert stamps(session.advance_to(end)) == [end]
    assert session.gaps == 0


def test_T19_an_empty_frame_of_an_imu_is_refused_by_its_reason():
    session = make()
    assert not session.take(imu(START, frame=''), START)
    assert not session.take(imu(START, frame='/'), START)
    assert session.counts['imu', 'frame'] == 2
    assert session.news['imu frame'] == "imu: '' is not a frame id; not used"


def test_T21_a_placement_is_not_moved_by_a_transform_of_ours_from_elsewhere():
    session, plain = make(), make()
    expected = play(plain, START + 50 * MS)
    session.take(tf(START, 'base_link', 'wheel_stator', (9.0, 0.0, 0.0), static=True), START)
    assert play(session, START + 50 * MS) == expected
    assert [item.position for item in session.ours] == [(9.0, 0.0, 0.0)]


def test_T56_in_the_middle_of_a_recording_the_placement_comes_from_the_parameters():
    session = make({'wheel.placement.xyz': [0.1, 0.2, 0.3]}, step_on='imu')
    made = play(session, START + 50 * MS)  # not one static transform came
    assert len(spins(made)) == 5
    assert made[-1].steps[0].stator.position != made[-1].mount.position
