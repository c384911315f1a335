"""What table and panel read: all of a step in one message, some times a second."""

from itertools import pairwise

from mime_motor_ros.inputs import Commands
from mime_motor_ros.outputs import Overview
from mime_motor_ros.overview import OF_MOTOR, OF_MOUNT
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings
import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')
from mime_motor_ros.offline.bag import Types  # noqa: E402

TYPES = Types()
TWO = {
    'motors': ['a', 'b'],
    'a.axis': [1.0, 0.0, 0.0],
    'b.initial_spin': 50.0,
    'b.placement.xyz': [0.1, 0.0, 0.2],
    'world_frame': 'base_link',
    'rate_source': 'zero',
}


def outcomes(**values):
    session = Session(settings({**TWO, **values}))
    made = list(session.advance_to(10**9))
    for ms in range(1000, 2000, 100):
        session.take(Commands((0.5, -0.25)), ms * 10**6)
        made += session.advance_to((ms + 100) * 10**6)
    return session, made


def told(overview, outcome):
    data = overview.message(outcome, divmod(outcome.stamp_ns, 10**9))
    return data and TYPES.store.deserialize_cdr(data, overview.type)


def test_an_overview_has_the_numbers_of_the_step():
    session, made = outcomes()
    overview = Overview(TYPES.serialize, session.settings)
    seen = [(x, message) for x in made if (message := told(overview, x)) is not None]
    assert seen
    for outcome, message in seen:
        assert message.header.frame_id == 'base_link'
        stamp = message.header.stamp
        assert stamp.sec * 10**9 + stamp.nanosec == outcome.stamp_ns
        assert list(message.joint_names) == ['a', 'b', 'mount']
        held = message.interface_values
        assert [tuple(x.interface_names) for x in held] == [OF_MOTOR, OF_MOTOR, OF_MOUNT]
        for of, step in zip(held, outcome.steps, strict=False):
            state = step.state
            assert tuple(of.values) == (state.spin, step.relative_speed, state.angle, step.torque)
        reaction, wrench = outcome.reaction(), outcome.mount_wrench()
        assert tuple(held[2].values) == (
            *outcome.momentum(), *reaction.force, *reaction.torque, *wrench.force, *wrench.torque,
        )  # fmt: skip
    assert seen[-1][0].steps[0].torque == 0.5


@pytest.mark.parametrize('rate', [10.0, 30.0, 1000.0])
def test_it_comes_as_often_as_its_rate_says(rate):
    session, made = outcomes(overview_rate=rate)
    overview = Overview(TYPES.serialize, session.settings)
    stamps = [x.stamp_ns for x in made if told(overview, x) is not None]
    assert len(stamps) == pytest.approx(rate, abs=1)
    for before, after in pairwise(stamps):
        assert after - before == pytest.approx(1e9 / rate, abs=1e6)
