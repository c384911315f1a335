"""The shapes, sizes and colours of motors, whoever paints them."""

import colorsys
from itertools import combinations
import math
import sys

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros import picture
from mime_motor_ros.picture import COLOURS, disc, label, onto, RADII, ring, scales
from mime_motor_ros.settings import settings
from mime_motor_ros.vector import cross, dot, norm, normalized, rotate
import pytest

numbers = st.floats(-1.0, 1.0)
axes = st.tuples(numbers, numbers, numbers).filter(lambda v: norm(v) > 1e-3)


@pytest.mark.parametrize('inertia', [1e-9, 1e-4, 0.3, 1e6])
def test_a_disc_has_the_inertia_it_was_made_for(inertia):
    """As the sum of thin tubes: mass of each times the square of its radius."""
    radius, thickness = disc(inertia)
    assert radius == pytest.approx(4.0 * thickness)
    n = 1000
    tubes = (radius * (k + 0.5) / n for k in range(n))
    total = sum(7850.0 * 2.0 * math.pi * r * (radius / n) * thickness * r**2 for r in tubes)
    assert total == pytest.approx(inertia, rel=1e-5)


def test_the_wheel_of_the_defaults_fits_into_a_hand():
    assert disc(1e-4) == pytest.approx((0.0318, 0.00795), rel=1e-3)


def reached(more):
    """Return how many radii of the largest rotor a unit of force, torque and momentum is."""
    chosen = settings(more)
    return [scale / picture.largest(chosen) for scale in scales(chosen)]


@pytest.mark.parametrize(
    ('more', 'momentum', 'torque'),
    [
        ({}, 1e-4 * 100.0, 1e-4 * 100.0),
        ({'wheel.initial_spin': -250.0}, 1e-4 * 250.0, 1e-4 * 250.0),
        ({'wheel.initial_spin': -250.0, 'wheel.limit.speed': 40.0}, 1e-4 * 40.0, 1e-4 * 40.0),
        ({'wheel.limit.torque': 0.2}, 1e-4 * 100.0, 0.2),
        ({'motors': ['a', 'b'], 'a.inertia': 1e-2, 'b.limit.torque': 3.0}, 1.0, 3.0),
    ],
)
def test_what_is_usual_for_the_motors_is_three_radii_long(more, momentum, torque):
    force = torque / picture.largest(settings(more))  # at the rim
    usual = [force, torque, momentum]
    found = [of * x for of, x in zip(reached(more), usual, strict=True)]
    assert found == pytest.approx([RADII] * 3)


def test_a_scale_that_is_given_holds():
    given = {'markers.force_scale': 0.1, 'markers.torque_scale': 2.0}
    found = scales(settings(given))
    assert found[:2] == (0.1, 2.0)
    assert found.momentum == scales(settings()).momentum
    assert scales(settings({'markers.momentum_scale': 7.0})).momentum == 7.0


@pytest.mark.parametrize('inertia', [5e-324, 1e-200, 1e307])
@pytest.mark.parametrize('limit', [5e-324, 1e-300, 1e300])
def test_sizes_are_finite_whatever_the_motor(inertia, limit):
    given = {'wheel.inertia': inertia, 'wheel.limit.speed': limit}
    assert all(map(math.isfinite, scales(settings(given))))
    assert 0.0 < picture.largest(settings(given)) < 1e62


@given(axes, st.sampled_from([1.0, -1.0]))
def test_z_is_turned_onto_the_axis_or_against_it(vector, sense):
    axis = tuple(x / norm(vector) for x in vector)
    turn = onto(axis, sense)
    assert normalized(turn) == pytest.approx(turn)
    assert rotate(turn, (0.0, 0.0, sense)) == pytest.approx(axis, abs=1e-12)


@pytest.mark.parametrize('z', [1.0, -1.0])
def test_an_axis_along_z_is_no_exception(z):
    assert rotate(onto((0.0, 0.0, z)), (0.0, 0.0, 1.0)) == (0.0, 0.0, z)


@given(axes, st.floats(0.0, sys.float_info.max))
def test_an_arrow_points_along_and_is_as_long_as_said_within_bounds(vector, scale):
    tip = picture.arrow(vector, scale, 0.1, 100.0)
    length = norm(vector) * scale
    if length < 0.1:
        assert tip is None
    else:
        assert norm(tip) == pytest.approx(min(length, 100.0))
        assert dot(tip, vector) == pytest.approx(norm(tip) * norm(vector))


def test_of_nothing_there_is_no_arrow():
    assert picture.arrow((0.0, 0.0, 0.0), sys.float_info.max, 0.0, 1.0) is None


def test_the_ring_goes_about_z_by_the_right_hand_and_has_its_head_at_its_end():
    line = ring(2.0)
    arc = line[: picture.CHORDS + 1]
    assert all(cross(a, b)[2] > 0.0 for a, b in zip(arc, arc[1:], strict=False))
    assert all(norm(point) == pytest.approx(2.0) for point in arc)
    inner, tip, outer, again = line[len(arc) :]
    assert tip == again == arc[-1]
    assert norm(inner) < 2.0 < norm(outer)
    assert all(cross(barb, tip)[2] > 0.0 for barb in (inner, outer))  # they trail it


@given(st.floats(-1e100, 1e100, allow_subnormal=True))
def test_a_label_keeps_its_length(spin):
    assert len(label('wheel', spin)) == len(label('wheel', 0.0))


def test_a_label_tells_the_spin_as_a_number():
    assert label('wheel', -63.449) == 'wheel      -63.45 rad/s'


def test_no_two_colours_are_near_each_other_and_forces_are_warm():
    for one, other in combinations(COLOURS.values(), 2):
        assert math.dist(one, other) > 0.25, (one, other)
    for name, colour in COLOURS.items():
        hue = colorsys.rgb_to_hsv(*colour)[0] * 360.0
        if name.endswith('force'):
            assert hue < 60.0, name
        if name.endswith('torque'):
            assert 180.0 < hue < 260.0, name
