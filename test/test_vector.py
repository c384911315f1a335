"""The quaternions, against transforms3d as a witness; it writes them (w, x, y, z)."""

from hypothesis import given, settings
from hypothesis import strategies as st
from mime_motor_ros.vector import (
    about,
    add,
    apply,
    conjugate,
    cross,
    dot,
    matrix,
    multiply,
    normalized,
    rotate,
    scale,
    spun,
    subtract,
    turned,
)
import numpy as np
import pytest
from transforms3d import quaternions

numbers = st.floats(-10.0, 10.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)
lengthy = st.tuples(numbers, numbers, numbers, numbers).filter(lambda q: np.linalg.norm(q) > 1e-3)
units = lengthy.map(lambda q: tuple(float(x) for x in q / np.linalg.norm(q)))
axes = vectors.filter(lambda v: np.linalg.norm(v) > 1e-3).map(
    lambda v: tuple(float(x) for x in v / np.linalg.norm(v))
)
law = settings(deadline=None, max_examples=50, derandomize=True)

S = ((1.0, 2.0, 3.0), (2.0, -4.0, 5.0), (3.0, 5.0, 6.0))


def wxyz(q):
    return np.array([q[3], q[0], q[1], q[2]])


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


@law
@given(p=units, q=units)
def test_the_product_turns_by_the_second_first(p, q):
    near(wxyz(multiply(p, q)), quaternions.qmult(wxyz(p), wxyz(q)))


@law
@given(q=units)
def test_the_matrix_is_that_of_transforms3d(q):
    near(matrix(q), quaternions.quat2mat(wxyz(q)))


@law
@given(q=units, v=vectors)
def test_rotate_turns_a_vector_actively(q, v):
    near(rotate(q, v), quaternions.rotate_vector(np.array(v), wxyz(q)))


@law
@given(axis=axes, angle=st.floats(-20.0, 20.0))
def test_about_turns_by_the_right_hand(axis, angle):
    near(wxyz(about(axis, angle)), quaternions.axangle2quat(axis, angle))


@law
@given(q=units, axis=axes, angle=st.floats(-20.0, 20.0))
def test_spun_turns_about_an_axis_of_the_frame_itself(q, axis, angle):
    swing = quaternions.axangle2quat(axis, angle)
    near(wxyz(spun(q, axis, angle)), quaternions.qmult(wxyz(q), swing))


@law
@given(q=units, v=vectors)
def test_the_conjugate_turns_back(q, v):
    near(wxyz(conjugate(q)), quaternions.qconjugate(wxyz(q)))
    near(rotate(conjugate(q), rotate(q, v)), v)


@law
@given(q=lengthy)
def test_normalized_keeps_the_direction(q):
    near(normalized(q), np.array(q) / np.linalg.norm(q))


@law
@given(q=units)
def test_a_turned_tensor_is_r_s_rt_and_symmetric_to_the_bit(q):
    R = quaternions.quat2mat(wxyz(q))
    found = turned(q, S)
    near(found, R @ np.array(S) @ R.T)
    np.testing.assert_array_equal(found, np.transpose(found))


@law
@given(a=vectors, b=vectors, s=numbers)
def test_the_rest_is_as_in_numpy(a, b, s):
    u, v = np.array(a), np.array(b)
    near(add(a, b), u + v)
    near(subtract(a, b), u - v)
    near(scale(s, a), s * u)
    near(dot(a, b), u @ v)
    near(cross(a, b), np.cross(u, v))
    near(apply(S, a), np.array(S) @ u)


def test_a_quarter_turn_about_z_takes_x_to_y():
    q = about((0.0, 0.0, 1.0), np.pi / 2)
    assert q == pytest.approx((0.0, 0.0, 0.5**0.5, 0.5**0.5))
    assert rotate(q, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0))
    assert matrix(q)[1] == pytest.approx((1.0, 0.0, 0.0))
