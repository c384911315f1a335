"""Each sensor by hand, its noise by its statistics, the winding by its closed form."""

from dataclasses import replace
from itertools import product
import math
from statistics import fmean, pstdev
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.sensing import (
    Channel,
    Encoder,
    Fault,
    Faults,
    low_passed,
    Measured,
    NO_FAULTS,
    NO_SENSORS,
    noise_key,
    normal,
    Reading,
    sampled,
    sense,
    Sensors,
    Tachometer,
    TorqueSensor,
)
from mime_motor_ros.winding import (
    ABSOLUTE_ZERO,
    derating,
    NO_WINDING,
    resistance,
    temperature_after,
    Winding,
)
import pytest

NAN, INF = math.nan, math.inf
FULL = Sensors(
    Encoder(1000),
    Tachometer(noise=0.5, bias=0.25, cutoff=20.0, resolution=0.125),
    TorqueSensor(noise=0.01, bias=-0.02, cutoff=50.0, resolution=0.001),
    seed=7,
    motor='wheel',
)
COPPER = Winding(2.0, 15.0, ambient=20.0, limit=100.0, maximum=150.0)
WAY = [(0.03 * n, 30.0 * math.sin(0.1 * n), 0.1 * math.cos(0.2 * n)) for n in range(60)]


def played(sensors, states, dt=1e-3, faults=(), reading=None):
    """Return what is measured of states, with the faults of some samples, and what is kept."""
    reading, measured, faults = reading or Reading(), [], dict(faults)
    for number, state in enumerate(states):
        read, reading = sense(sensors, reading, *state, dt, faults.get(number, NO_FAULTS))
        measured.append(read)
    return measured, reading


def speeds(sensors, values, dt=1e-3):
    return [m.speed for m in played(sensors, [(0.0, v, 0.0) for v in values], dt)[0]]


# Which sensor measures what


def test_a_motor_without_sensors_measures_nothing():
    assert NO_SENSORS.is_none
    assert sense(NO_SENSORS, Reading(), 1.0, 2.0, 3.0, 0.1)[0] == Measured(None, None, None)
    for one in (Sensors(Encoder(1)), Sensors(tachometer=Tachometer()), FULL):
        assert not one.is_none
    assert not Sensors(torque=TorqueSensor()).is_none
    assert Sensors(seed=3, motor='wheel').is_none


def test_a_channel_without_arguments_measures_exactly():
    exact = Sensors(tachometer=Tachometer(), torque=TorqueSensor())
    for _, speed, torque in WAY:
        assert sense(exact, Reading(), 9.0, speed, torque, 0.1)[0] == (None, speed, torque)


def test_the_tachometer_measures_the_speed_where_there_is_an_encoder_too():
    both = Sensors(Encoder(4), Tachometer())
    measured, _ = played(both, [(0.0, 1.0, 0.0), (math.pi, 2.0, 0.0)], 1.0)
    assert measured == [(0.0, 1.0, None), (math.pi, 2.0, None)]


# The encoder


@pytest.mark.parametrize(
    ('turns', 'count'), [(0.0, 0), (0.24, 0), (0.26, 1), (1.01, 4), (-0.01, -1), (-1.24, -5)]
)
def test_an_encoder_knows_the_last_whole_count(turns, count):
    measured, reading = sense(Sensors(Encoder(4)), Reading(), turns * math.tau, 0.0, 0.0, 0.1)
    assert measured.position == count * math.tau / 4
    assert reading.counted == count


def test_an_encoder_gives_the_speed_of_what_it_counted():
    quarter = math.tau / 4
    states = [(n * quarter, 0.0, 0.0) for n in (0.5, 1.5, 1.9, 4.1, 3.9)]
    measured, _ = played(Sensors(Encoder(4)), states, 0.5)
    assert [m.speed for m in measured] == pytest.approx(
        [None, 2 * quarter, 0.0, 6 * quarter, -2 * quarter]
    )


@given(
    counts=st.integers(1, 5000),
    ways=st.lists(st.floats(-20.0, 20.0), min_size=2, max_size=30),
    dt=st.floats(1e-4, 1.0),
)
def test_the_counts_of_all_samples_add_up_to_those_of_the_whole_way(counts, ways, dt):
    angles = [sum(ways[: n + 1]) for n in range(len(ways))]
    measured, _ = played(Sensors(Encoder(counts)), [(a, 0.0, 0.0) for a in angles], dt)
    counted = [m.speed * dt * counts / math.tau for m in measured[1:]]
    whole = math.floor(angles[-1] * counts / math.tau) - math.floor(angles[0] * counts / math.tau)
    assert sum(map(round, counted)) == whole
    assert counted == pytest.approx([round(c) for c in counted], abs=1e-6)


def test_a_slow_rotor_is_seen_as_the_right_speed_in_the_mean():
    """A tenth of a count a sample: most samples read 0, and none of the way is lost."""
    counts, dt = 100, 1e-3
    speed = 0.1 * math.tau / counts / dt
    states = [((n + 0.5) * dt * speed, speed, 0.0) for n in range(1001)]
    read = [m.speed for m in played(Sensors(Encoder(counts)), states, dt)[0][1:]]
    assert fmean(read) == pytest.approx(speed, rel=1e-12)
    assert set(read) == {0.0, math.tau / (counts * dt)}


# The low-pass, bias and quantisation of a channel


def test_a_low_pass_follows_a_step_as_its_closed_form():
    cutoff, dt = 10.0, 3e-3
    read = speeds(Sensors(tachometer=Tachometer(cutoff=cutoff)), [1.0] + [5.0] * 50, dt)
    expected = [5.0 - 4.0 * math.exp(-math.tau * cutoff * dt * n) for n in range(51)]
    assert read == pytest.approx(expected, rel=1e-12)


def test_a_low_pass_does_not_hang_on_the_sampling_where_the_value_holds():
    channel = Channel(cutoff=3.0)
    once = low_passed(channel, 2.0, -1.0, 0.1)
    half = low_passed(channel, 2.0, low_passed(channel, 2.0, -1.0, 0.05), 0.05)
    assert half == pytest.approx(once, rel=1e-14)
    assert low_passed(channel, 2.0, NAN, 0.1) == 2.0


def test_a_slow_sine_passes_and_a_fast_one_is_damped_as_a_first_order_filter_does():
    cutoff, dt = 10.0, 1e-4
    sensors = Sensors(tachometer=Tachometer(cutoff=cutoff))
    for ratio in (0.1, 1.0, 5.0):
        periods = round(1.0 / (ratio * cutoff) / dt)
        values = [math.sin(math.tau * n / periods) for n in range(4000 + 2 * periods)]
        top = max(speeds(sensors, values, dt)[-2 * periods :])
        assert top == pytest.approx(1.0 / math.hypot(1.0, ratio), rel=2e-2)


def test_quantisation_is_to_the_nearest_and_after_the_bias():
    sensors = Sensors(tachometer=Tachometer(bias=0.2, resolution=0.5))
    assert speeds(sensors, [0.0, 0.04, 0.06, -0.44, -0.46, 1.3]) == [0.0, 0.0, 0.5, 0.0, -0.5, 1.5]


@given(st.floats(-1e300, 1e300), st.floats(0.0, 1e300))
def test_a_quantised_value_is_within_half_a_step(value, resolution):
    read = sampled(Channel(resolution=resolution), value, 0, 0)
    assert abs(read - value) <= 0.5 * resolution + 1e-15 * abs(value)


def test_the_order_is_low_pass_bias_noise_quantisation():
    channel, torque = FULL.tachometer, FULL.torque
    passed = felt = None
    for number, (state, read) in enumerate(zip(WAY, played(FULL, WAY)[0], strict=True)):
        passed = state[1] if passed is None else low_passed(channel, state[1], passed, 1e-3)
        noise = normal(noise_key(7, 'wheel', 'speed'), number)
        assert read.speed == round((passed + 0.25 + 0.5 * noise) / 0.125) * 0.125
        felt = state[2] if felt is None else low_passed(torque, state[2], felt, 1e-3)
        noise = normal(noise_key(7, 'wheel', 'torque'), number)
        assert read.torque == round((felt - 0.02 + 0.01 * noise) / 0.001) * 0.001
        assert read.position == math.floor(state[0] * 1000 / math.tau) * math.tau / 1000


# The noise


def test_the_noise_that_is_asked_for_is_the_noise_that_acts():
    number, sigma, bias = 20_000, 0.5, 3.0
    sensors = Sensors(tachometer=Tachometer(noise=sigma, bias=bias), seed=1, motor='wheel')
    read = speeds(sensors, [10.0] * number)
    assert fmean(read) == pytest.approx(13.0, abs=4 * sigma / math.sqrt(number))
    assert pstdev(read) == pytest.approx(sigma, rel=4 / math.sqrt(2 * number))
    assert len(set(read)) > 0.999 * number


def test_the_noise_is_normal_and_no_sample_knows_of_the_one_before():
    number = 20_000
    noise = sorted(drawn := [normal(noise_key(5, 'wheel', 'speed'), n) for n in range(number)])
    cdf = [0.5 * math.erfc(-x / math.sqrt(2)) for x in noise]
    furthest = max(abs(p - (n + 0.5) / number) for n, p in enumerate(cdf))  # Kolmogorov, Smirnov
    assert furthest < 1.63 / math.sqrt(number)  # 1 %
    for lag in (1, 2, 10):
        pairs = zip(drawn, drawn[lag:], strict=False)
        assert abs(fmean(a * b for a, b in pairs)) < 4 / math.sqrt(number)


def test_other_seeds_motors_and_quantities_have_noises_of_their_own():
    keys = [noise_key(*of) for of in product((0, 1, -1), ('a', 'b'), ('speed', 'torque'))]
    assert len(set(keys)) == 12
    streams = [[normal(key, n) for n in range(2000)] for key in keys]
    for i, one in enumerate(streams):
        for other in streams[:i]:
            assert abs(fmean(a * b for a, b in zip(one, other, strict=True))) < 0.1


def test_the_same_samples_read_the_same_to_the_last_bit_from_any_of_them_on():
    whole, _ = played(FULL, WAY)
    first, reading = played(FULL, WAY[:25])
    rest, _ = played(replace(FULL), WAY[25:], reading=reading)
    assert first + rest == whole


def test_another_process_draws_the_same_noise():
    """Python's own hash of a text would differ."""
    code = (
        'from mime_motor_ros.sensing import noise_key, normal\n'
        "print(*(normal(noise_key(7, 'wheel', 'speed'), n).hex() for n in range(5)))"
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True
    )
    here = [normal(noise_key(7, 'wheel', 'speed'), n).hex() for n in range(5)]
    assert done.stdout.split() == here


def test_the_noise_stays_what_recordings_were_made_with():
    """The bits of SplitMix64 from 0, as published: E220A8397B1DCDAF, 6E789E6AA1B965F4."""
    for number, z in ((1, 0xE220A8397B1DCDAF), (2, 0x6E789E6AA1B965F4)):
        radius = math.sqrt(-2.0 * math.log(((z >> 32) + 0.5) / 2**32))
        assert normal(0, number) == radius * math.cos((z & 0xFFFFFFFF) * (math.tau / 2**32))
    # No formula says what a key is: taken from the first version.
    assert noise_key(7, 'wheel', 'speed') == 3090214335493885291


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**70))
def test_every_number_of_the_noise_is_finite(key, number):
    assert abs(normal(key, number)) < 6.8


# Faults


def test_a_stuck_quantity_holds_its_last_value_and_comes_back_as_if_nothing_had_been():
    healthy, _ = played(FULL, WAY)
    stuck = dict.fromkeys(range(10, 30), Faults(speed=Fault.STUCK))
    read, reading = played(FULL, WAY, faults=stuck)
    assert read[:10] + read[30:] == healthy[:10] + healthy[30:]
    assert {m.speed for m in read[10:30]} == {healthy[9].speed}
    assert [m[::2] for m in read] == [m[::2] for m in healthy]
    assert reading == played(FULL, WAY)[1]


@pytest.mark.parametrize(('fault', 'value'), [(Fault.OFF, 0.0), (Fault.DROP, None)])
@pytest.mark.parametrize('quantity', Measured._fields)
def test_what_is_off_reads_0_and_what_is_dropped_reads_nothing(fault, value, quantity):
    healthy, _ = played(FULL, WAY)
    faults = dict.fromkeys(range(5, 8), Faults(**{quantity: fault}))
    read, _ = played(FULL, WAY, faults=faults)
    for number, (one, other) in enumerate(zip(read, healthy, strict=True)):
        assert one == (other._replace(**{quantity: value}) if 5 <= number < 8 else other)


def test_what_sticks_after_another_fault_holds_what_was_before_both():
    order = [Fault.NONE, Fault.NONE, Fault.OFF, Fault.DROP, Fault.STUCK, Fault.STUCK, Fault.NONE]
    states = [(0.0, 0.0, float(n)) for n in range(7)]
    faults = {n: Faults(torque=fault) for n, fault in enumerate(order)}
    read, _ = played(Sensors(torque=TorqueSensor()), states, faults=faults)
    assert [m.torque for m in read] == [0.0, 1.0, 0.0, None, 1.0, 1.0, 6.0]


def test_what_sticks_from_the_start_holds_its_first_value():
    states = [(0.0, 0.0, float(n)) for n in range(3, 7)]
    faults = dict.fromkeys(range(3), Faults(torque=Fault.STUCK))
    read, _ = played(Sensors(torque=TorqueSensor()), states, faults=faults)
    assert [m.torque for m in read] == [3.0, 3.0, 3.0, 6.0]


@pytest.mark.parametrize('fault', Fault)
def test_a_sensor_that_is_not_there_has_no_fault(fault):
    faults = Faults(fault, fault, fault)
    assert sense(NO_SENSORS, Reading(), 1.0, 2.0, 3.0, 0.1, faults)[0] == (None, None, None)


def test_a_position_that_sticks_does_not_stop_the_counting():
    states = [(n * math.pi, 0.0, 0.0) for n in range(4)]
    faults = {2: Faults(position=Fault.STUCK)}
    read, _ = played(Sensors(Encoder(2)), states, 1.0, faults)
    assert [m.position for m in read] == pytest.approx([0.0, math.pi, math.pi, 3 * math.pi])
    assert [m.speed for m in read] == pytest.approx([None, math.pi, math.pi, math.pi])


def test_a_fault_is_known_by_its_name():
    assert [Fault(name) for name in ('none', 'stuck', 'off', 'drop')] == list(Fault)


# The winding


@pytest.mark.parametrize('dt', [1e-3, 1.0, 30.0, 1e4])
def test_a_constant_power_warms_as_the_closed_form_for_any_step(dt):
    temperature = 20.0
    for n in range(1, 51):
        temperature = temperature_after(COPPER, temperature, 40.0, dt)
        assert temperature == pytest.approx(100.0 - 80.0 * math.exp(-n * dt / 30.0), rel=1e-12)


def test_a_winding_cools_to_the_ambient_and_stays_there():
    temperature = temperature_after(COPPER, 120.0, 0.0, 30.0)
    assert temperature == pytest.approx(20.0 + 100.0 / math.e)
    assert temperature_after(COPPER, 20.0, 0.0, 1e-3) == 20.0
    assert temperature_after(COPPER, 120.0, 0.0, 1e9) == 20.0


def test_the_heat_that_is_stored_is_the_one_that_came_less_the_one_that_left():
    temperature, dt, stored = 20.0, 1e-4, 0.0
    for n in range(2000):
        power = 100.0 * math.sin(0.01 * n) ** 2
        after = temperature_after(COPPER, temperature, power, dt)
        stored += dt * (power - (0.5 * (temperature + after) - 20.0) / 2.0)
        temperature = after
    assert 15.0 * (temperature - 20.0) == pytest.approx(stored, rel=1e-9)


def test_without_a_thermal_resistance_the_winding_stays_at_the_ambient_temperature():
    assert NO_WINDING.is_none
    assert not COPPER.is_none
    assert temperature_after(NO_WINDING, 80.0, 1e6, 1.0) == 25.0
    assert resistance(NO_WINDING, 1.7, 25.0) == 1.7
    assert derating(NO_WINDING, 1e9) == 1.0


@pytest.mark.parametrize('tiny', [1e-200, 5e-324])
def test_a_winding_without_mass_is_at_its_final_temperature_at_once(tiny):
    assert temperature_after(Winding(tiny, tiny), 90.0, 0.0, 1e-3) == 25.0


def test_copper_has_two_fifths_more_resistance_when_100_kelvin_warmer():
    assert resistance(COPPER, 2.0, 25.0) == 2.0
    assert resistance(COPPER, 2.0, 125.0) == pytest.approx(2.786)
    assert resistance(replace(COPPER, reference=20.0), 2.0, 20.0) == 2.0
    assert resistance(replace(COPPER, coefficient=0.0), 2.0, 500.0) == 2.0


@pytest.mark.parametrize(
    ('temperature', 'factor'),
    [(20.0, 1.0), (100.0, 1.0), (112.5, 0.75), (140.0, 0.2), (150.0, 0.0), (1e9, 0.0)],
)
def test_derating_falls_in_a_line_from_the_limit_to_the_maximum(temperature, factor):
    assert derating(COPPER, temperature) == pytest.approx(factor)


# What is refused


BAD = [
    (Channel, {'noise': -1.0}, 'channel.noise must be finite and >= 0, got -1.0.'),
    (Channel, {'bias': INF}, 'channel.bias must be finite, got inf.'),
    (
        Winding,
        {'thermal_resistance': 2.0},
        'winding.thermal_capacity must be > 0 J/K where there is a thermal resistance, got 0.0.',
    ),
    (
        Winding,
        {'ambient': -100.0, 'coefficient': 0.01},
        'winding.ambient must be > -75 deg C, where the electrical resistance is 0, got -100.0.',
    ),
    (
        Winding,
        {'maximum': 150.0},
        'winding.maximum must be infinite deg C where winding.limit is, got 150.0.',
    ),
]
for value in (-1, 10**9 + 1, 1024.0, True):
    rule = 'a whole number from 0 to 1000000000 (counts a turn)'
    text = f'encoder.counts must be {rule}, got {value}.'
    BAD.append((Encoder, {'counts': value}, text))
for kind, name, unit in (
    (Tachometer, 'tachometer', 'rad/s'),
    (TorqueSensor, 'torque_sensor', 'N m'),
):
    for field, rule in (
        ('noise', f'finite and >= 0 {unit}'),
        ('resolution', f'finite and >= 0 {unit}'),
        ('cutoff', 'finite and >= 0 Hz'),
    ):
        for value in (-0.5, NAN, INF):
            BAD.append((kind, {field: value}, f'{name}.{field} must be {rule}, got {value}.'))
    for value in (NAN, -INF):
        BAD.append((kind, {'bias': value}, f'{name}.bias must be finite [{unit}], got {value}.'))
for field, unit in (
    ('thermal_resistance', 'K/W'),
    ('thermal_capacity', 'J/K'),
    ('coefficient', '1/K'),
):
    for value in (-0.5, NAN, INF):
        text = f'winding.{field} must be finite and >= 0 {unit}, got {value}.'
        BAD.append((Winding, {field: value}, text))
for field, value in product(('ambient', 'reference'), (-273.2, NAN, INF)):
    text = f'winding.{field} must be finite and >= -273.15 deg C, got {value}.'
    BAD.append((Winding, {field: value}, text))
for value in (-300.0, NAN):
    text = f'winding.limit must be >= -273.15 deg C, infinite for no derating, got {value}.'
    BAD.append((Winding, {'limit': value}, text))
for value in (80.0, 100.0, NAN, INF):
    text = f'winding.maximum must be finite and > winding.limit, which is 100 deg C, got {value}.'
    BAD.append((Winding, {'limit': 100.0, 'maximum': value}, text))


@pytest.mark.parametrize(('kind', 'values', 'text'), BAD)
def test_a_bad_value_is_refused_in_one_sentence(kind, values, text):
    with pytest.raises(ParameterError) as caught:
        kind(**values)
    assert str(caught.value) == text


def test_what_lies_on_its_bound_is_taken():
    Tachometer(0.0, -1e9, 0.0, 0.0)
    Encoder(10**9)
    Winding(ambient=ABSOLUTE_ZERO, reference=ABSOLUTE_ZERO, limit=ABSOLUTE_ZERO, maximum=-273.0)
