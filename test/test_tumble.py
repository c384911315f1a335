import math

from mime_motor_ros.demo_mount import bench, Grid, gyro, IMU_ON_MOUNT, START_UP, torques, tumble
import pytest

TIMES = [0.0, 0.1, 1.0, 3.3, 7.77, 12.0, 60.0, 3600.0]


def product(a, b):
    """Return the Hamilton product of two quaternions x, y, z, w, written out on its own."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q):
    return (-q[0], -q[1], -q[2], q[3])


@pytest.mark.parametrize('motion', [tumble, bench])
@pytest.mark.parametrize('t', TIMES)
def test_the_orientation_has_length_one(motion, t):
    assert math.hypot(*motion(t)[0].orientation) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize('motion', [tumble, bench])
@pytest.mark.parametrize('t', TIMES)
def test_the_rate_is_the_slope_of_the_orientation_in_mount_axes(motion, t):
    """2 q* dq/dt is the body rate; the slope is a central difference of fourth order."""
    h = 1e-3
    weights = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))
    slope = [0.0] * 4
    for step, weight in weights:
        for i, x in enumerate(motion(t + step * h)[0].orientation):
            slope[i] += weight * x / h
    pose, rate = motion(t)
    x, y, z, w = product(conjugate(pose.orientation), slope)
    assert (2 * x, 2 * y, 2 * z) == pytest.approx(rate, abs=1e-9)
    assert w == pytest.approx(0.0, abs=1e-9)


def test_the_mount_tumbles_about_all_axes_and_never_too_fast():
    rates = [tumble(0.01 * k)[1] for k in range(10000)]
    for axis in range(3):
        values = [rate[axis] for rate in rates]
        assert min(values) < -0.3
        assert max(values) > 0.3
    assert max(math.hypot(*rate) for rate in rates) < 2.3


def test_the_bench_starts_level_and_at_rest_and_smoothly():
    assert bench(0.0) == (((0.0, 0.0, 0.8), (0.0, 0.0, 0.0, 1.0)), (0.0, 0.0, 0.0))
    for t in (0.0, START_UP):  # no jump of the acceleration
        before, at, after = (bench(t + h)[1] for h in (-1e-4, 0.0, 1e-4))
        for x, y, z in zip(before, at, after, strict=True):
            assert (z - y) / 1e-4 == pytest.approx((y - x) / 1e-4, abs=2e-3)


def test_the_bench_tilts_about_two_axes_by_some_twenty_degrees():
    tilts, up = [], []
    for k in range(10000):
        x, y, z, w = bench(0.01 * k)[0].orientation
        tilts.append((2.0 * math.atan2(x, w), 2.0 * math.atan2(y, w)))
        up.append(1.0 - 2.0 * (x * x + y * y))
    for values in zip(*tilts, strict=True):
        assert 15.0 < math.degrees(max(values)) < 21.0
        assert 15.0 < math.degrees(-min(values)) < 21.0
    assert min(up) > math.cos(math.radians(30.0))


def test_orientations_follow_each_other_without_a_change_of_sign():
    for k in range(20000):
        a, b = (tumble(0.01 * (k + n))[0].orientation for n in (0, 1))
        assert sum(x * y for x, y in zip(a, b, strict=True)) > 0.99


@pytest.mark.parametrize('t', TIMES)
def test_the_gyro_is_the_rate_turned_into_the_axes_of_the_imu(t):
    rate = tumble(t)[1]
    q = IMU_ON_MOUNT.orientation
    turned = product(product(conjugate(q), (*rate, 0.0)), q)
    assert gyro(rate) == pytest.approx(turned[:3], abs=1e-14)


def test_torques_are_sines_a_quarter_apart():
    assert torques(3.0, 1, 5e-3) == pytest.approx([5e-3])
    assert torques(0.0, 3, 1.0) == pytest.approx([0.0, -1.0, 0.0], abs=1e-15)
    assert torques(1.0, 0, 1.0) == []
    assert all(isinstance(torque, float) for torque in torques(2.0, 4, 1.0))


def test_the_grid_lies_on_the_clock_and_leaves_out_what_was_slept_through():
    grid = Grid(5_000_000)
    assert grid.due_ns(1_000_000_001) == 1_005_000_000
    assert grid.due_ns(1_005_000_000) == 1_010_000_000
    assert grid.due_ns(1_031_000_000) == 1_035_000_000


def test_the_grid_never_gives_an_instant_twice_when_the_sleep_ends_early():
    grid = Grid(5_000_000)
    assert grid.due_ns(1_004_000_000) == 1_005_000_000
    assert grid.due_ns(1_004_999_999) == 1_010_000_000


def test_the_grid_follows_a_clock_that_is_set_back():
    grid = Grid(5_000_000)
    grid.due_ns(1_000_000_000)
    assert grid.due_ns(500_000_000) == 505_000_000
