"""The markers of RViz, as bytes that a reader of messages without ROS takes apart again."""

from math import isfinite, pi

from mime_motor_ros import picture
from mime_motor_ros.markers import ADD, ARROW, CYLINDER, DELETE, LINE_STRIP, Markers, TEXT
from mime_motor_ros.outputs import Outputs
from mime_motor_ros.picture import COLOURS
from mime_motor_ros.vector import cross, dot, norm, rotate
import pytest
from sessions import make, MS, play, SECOND, START, still

pytest.importorskip('rosbags', reason='needs rosbags')
from mime_motor_ros.offline.bag import Types  # noqa: E402

TYPES = Types()
SKEW = {
    'motors': ['a', 'b', 'c'],
    'mount_frame': 'base_link',
    'a.axis': [1.0, 2.0, -3.0],
    'a.placement.rpy': [0.3, -0.4, 2.0],
    'a.placement.xyz': [0.1, 0.0, 0.2],
    'a.initial_spin': 80.0,
    'b.axis': [0.0, 0.0, -1.0],
    'b.inertia': 3e-4,
    'b.placement.rpy': [-1.0, 0.1, 0.0],
    'b.initial_spin': -120.0,
    'c.axis': [-1.0, 0.5, 0.2],
    'c.initial_spin': 200.0,
    'frame_prefix': 'r1/',
}


def seconds(outcome):
    return divmod(outcome.stamp_ns, SECOND)


def decoded(data, kind=Markers.type):
    return TYPES.store.deserialize_cdr(data, kind)


def by_name(data):
    found = {(one.ns, one.id): one for one in decoded(data).markers}
    assert len(found) == len(decoded(data).markers)
    return found


def drawn(session, outcome):
    """Return the markers after a step by namespace and number."""
    markers = Markers(TYPES.serialize, session)
    due = outcome._replace(start_ns=outcome.stamp_ns - SECOND)
    return by_name(markers.message(due, seconds(outcome)))


def skew():
    session = make(SKEW)
    return session, play(session, START + 300 * MS)[-1]


def xyz(vector):
    return (vector.x, vector.y, vector.z)


def turn(marker):
    q = marker.pose.orientation
    return (q.x, q.y, q.z, q.w)


def tip(marker):
    start, end = marker.points
    assert xyz(start) == (0.0, 0.0, 0.0)
    return xyz(end)


def colour(marker):
    return pytest.approx((marker.color.r, marker.color.g, marker.color.b), abs=1e-6)


def test_each_marker_is_in_a_frame_that_is_published():
    session, outcome = skew()
    outputs = Outputs(session, TYPES.serialize)
    children = {child for _, child in (*outputs.rotors.frames, *outputs.stators.frames)}
    for (name, i), one in drawn(session, outcome).items():
        frame = one.header.frame_id
        motor = session.settings.motors[i] if i < 3 else None
        if name.startswith('rotor'):
            assert frame == motor.rotor_frame
        elif name in ('momentum', 'spin direction', 'name'):
            assert frame == motor.stator_frame
        else:
            assert frame == 'base_link'
            continue
        assert frame in children


def test_every_marker_is_one_that_rviz_draws():
    session, outcome = skew()
    for one in drawn(session, outcome).values():
        assert (one.header.stamp.sec, one.header.stamp.nanosec) == seconds(outcome)
        assert one.frame_locked
        assert one.lifetime.sec == one.lifetime.nanosec == 0
        assert norm(turn(one)[:3]) ** 2 + turn(one)[3] ** 2 == pytest.approx(1.0)
        numbers = [*xyz(one.pose.position), *xyz(one.scale)]
        assert all(map(isfinite, [*numbers, *(x for point in one.points for x in xyz(point))]))
        given = [x > 0.0 for x in xyz(one.scale)]
        assert (
            given
            == {
                ARROW: [True, True, False],  # of a head that is a part of the length
                CYLINDER: [True, True, True],
                LINE_STRIP: [True, False, False],
                TEXT: [False, False, True],
            }[one.type]
        )
        assert bool(one.text) == (one.type == TEXT)
        assert len(one.points) == 2 if one.type == ARROW else len(one.points) != 1
        assert 0.0 < one.color.a <= 1.0


def test_a_rotor_is_a_disc_about_its_axis_with_its_inertia_and_a_mark_on_it():
    session, outcome = skew()
    found = drawn(session, outcome)
    for i, motor in enumerate(session.settings.motors):
        disc, line = found['rotor', i], found['rotor mark', i]
        width, depth, height = xyz(disc.scale)
        assert width == depth
        inertia = 0.5 * (7850.0 * pi * (width / 2) ** 2 * height) * (width / 2) ** 2
        assert inertia == pytest.approx(motor.model.inertia)
        assert rotate(turn(disc), (0.0, 0.0, 1.0)) == pytest.approx(motor.model.axis, abs=1e-12)
        assert turn(line) == turn(disc)
        off = [norm(xyz(point)[:2]) for point in line.points]
        assert max(off) > width / 2  # it is seen, and not on the axis alone
        assert min(off) == 0.0
        assert colour(disc) == COLOURS['rotor']


def test_arrows_are_the_numbers_of_the_topics():
    session, outcome = skew()
    outcome = outcome._replace(
        steps=tuple(
            step._replace(
                reaction=step.reaction._replace(force=(0.1, 0.2, 0.3 + i)),
                mount_wrench=step.mount_wrench._replace(force=(-0.3, 0.2, i)),
            )
            for i, step in enumerate(outcome.steps)
        )
    )
    found = drawn(session, outcome)
    scale = picture.scales(session.settings)
    told = {
        one.topic: decoded(one.message(outcome, seconds(outcome)), one.type)
        for one in Outputs(session, TYPES.serialize).outputs
        if one.topic.endswith(('momentum', 'reaction', 'mount_wrench'))
    }
    for i, motor in enumerate(session.settings.motors):
        in_mount = rotate(motor.model.placement.orientation, tip(found['momentum', i]))
        said = xyz(told[f'~/{motor.name}/momentum'].vector)
        assert in_mount == pytest.approx([scale.momentum * x for x in said])
    for name in ('reaction', 'mount wrench'):
        wrench = told['~/' + name.replace(' ', '_')].wrench
        force, torque = found[f'{name} force', 0], found[f'{name} torque', 0]
        assert tip(force) == pytest.approx([scale.force * x for x in xyz(wrench.force)])
        assert tip(torque) == pytest.approx([scale.torque * x for x in xyz(wrench.torque)])
        assert force.action == torque.action == ADD


@pytest.mark.parametrize('spin', [150.0, -150.0])
def test_the_ring_and_the_momentum_go_the_way_of_the_spin(spin):
    session = still(initial_spin=spin)
    outcome = play(session, START + 100 * MS, messages=lambda _: [])[-1]
    found = drawn(session, outcome)
    assert dot(tip(found['momentum', 0]), (0.0, 0.0, spin)) > 0.0
    ring = found['spin direction', 0]
    first, second = (rotate(turn(ring), xyz(point)) for point in ring.points[:2])
    assert cross(first, second)[2] * spin > 0.0
    assert ring.action == ADD


def test_what_is_too_short_is_deleted():
    session = still(initial_spin=0.0)
    outcome = play(session, START + 100 * MS, messages=lambda _: [])[-1]
    found = drawn(session, outcome)
    gone = {name for (name, _), one in found.items() if one.action == DELETE}
    wrenches = {name for name in COLOURS if name.startswith(('reaction', 'mount'))}
    assert gone == {'momentum', 'spin direction'} | wrenches
    assert all(one.action in (ADD, DELETE) for one in found.values())


def test_the_legend_has_the_colours_that_are_used():
    session, outcome = skew()
    found = drawn(session, outcome)
    legend = [one for (name, _), one in sorted(found.items()) if name == 'legend']
    assert [one.text for one in legend] == list(COLOURS)
    for line in legend:
        used = [one for (name, _), one in found.items() if name == line.text]
        assert used
        assert all(colour(one) == COLOURS[line.text] for one in [line, *used])
    heights = [one.pose.position.z for one in legend]
    assert heights == sorted(heights, reverse=True)


def test_names_tell_the_spin():
    session, outcome = skew()
    found = drawn(session, outcome)
    texts = [found['name', i].text.split() for i in range(3)]
    spins = [f'{step.state.spin:.4g}' for step in outcome.steps]
    assert texts == [[name, spin, 'rad/s'] for name, spin in zip('abc', spins, strict=True)]


@pytest.mark.parametrize('size', [1e99, 1e-300, 5e-324])
def test_any_numbers_of_a_session_can_be_drawn(size):
    session, outcome = skew()
    steps = []
    for step in outcome.steps:
        huge = (size, -size, 0.0)
        state = step.state._replace(spin=-size)
        steps.append(step._replace(state=state, momentum=huge))
    outcome = outcome._replace(steps=tuple(steps))
    for one in drawn(session, outcome).values():
        assert all(isfinite(x) for point in one.points for x in xyz(point))
        assert norm(turn(one)[:3]) <= 1.0 + 1e-9


def sent(session, outcomes):
    """Return the stamps of the markers that are sent of steps, in ns."""
    markers = next(x for x in Outputs(session, TYPES.serialize).outputs if x.topic == '~/markers')
    assert markers.paced
    return [o.stamp_ns for o in outcomes if markers.message(o, seconds(o)) is not None]


@pytest.mark.parametrize('publish_rate', [0.0, 1.0])
def test_they_have_a_rate_of_their_own(publish_rate):
    session = make(publish_rate=publish_rate)
    stamps = sent(session, play(session, START + SECOND))
    assert len(stamps) == 20
    assert {stamp % (50 * MS) for stamp in stamps} == {0}


def test_at_rate_0_there_is_no_such_topic():
    outputs = Outputs(make({'markers.rate': 0.0}), TYPES.serialize)
    assert outputs.markers is None
    assert '~/markers' not in [one.topic for one in outputs.outputs]


def test_what_is_set_live_is_drawn():
    session, outcome = skew()
    markers = Markers(TYPES.serialize, session)
    due = outcome._replace(start_ns=0)
    before = by_name(markers.message(due, (1, 0)))
    again = {**SKEW, 'a.inertia': 1e-2, 'markers.momentum_scale': 12.5}
    session.update(make(again).settings)
    after = by_name(markers.message(due, (2, 0)))
    assert before.keys() == after.keys()
    assert after['rotor', 0].scale.x == pytest.approx(before['rotor', 0].scale.x * 100**0.2)
    assert norm(tip(after['momentum', 2])) == pytest.approx(12.5 * norm(outcome.momentum(2)))


def test_what_was_sent_is_deleted_once():
    session, outcome = skew()
    markers = Markers(TYPES.serialize, session)
    assert markers.cleared() is None
    here = by_name(markers.message(outcome._replace(start_ns=0), seconds(outcome)))
    gone = by_name(markers.cleared())
    assert gone.keys() == here.keys()
    assert {one.action for one in gone.values()} == {DELETE}
    assert {one.header.stamp.sec for one in gone.values()} == {seconds(outcome)[0]}
    assert all(isfinite(x) for one in gone.values() for x in turn(one))
    assert markers.cleared() is None
