"""One motor in a session: sampling before its drive, sensors and winding behind the model."""

from math import cos, exp, isfinite, pi, sin, tau

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.drive import Active
from mime_motor_ros.inputs import Commands, JointCommand
from mime_motor_ros.model import MotorState
from mime_motor_ros.motor import report
from mime_motor_ros.sensing import Measured
from mime_motor_ros.settings import settings
import pytest
from sessions import effort, MS, SECOND, START, still, tf

ARMATURE = {
    'wheel.voltage.resistance': 0.5,
    'wheel.voltage.torque_constant': 0.02,
}
WARM = {
    **ARMATURE,
    'wheel.winding.thermal_resistance': 2.0,
    'wheel.winding.thermal_capacity': 5.0,
}


STILL = {
    'world_frame': 'base_link',
    'rate_source': 'zero',
    'rate': 1000.0,
    'command_timeout': 0.0,
}


def begun(**values):
    """Return a session at 1 kHz whose clock has begun."""
    session = still(**{**STILL, **values})
    session.advance_to(START)
    return session


def torques(outcomes):
    return [outcome.torques[0] for outcome in outcomes]


# delay and interval of commands


def test_a_command_acts_its_delay_after_its_stamp():
    session = begun(**{'wheel.command.delay': 0.02, 'wheel.command.max_delay': 0.1})
    session.take(effort(START + 5 * MS, 0.5), START)
    made = session.advance_to(START + 50 * MS)
    assert torques(made) == [0.0] * 24 + [0.5] * 26


def test_a_whole_command_is_delayed_with_what_it_feeds_forward():
    values = {'wheel.mode': 'position', 'wheel.position.kd': 1e-3, 'wheel.command.max_delay': 0.1}
    late, now = begun(**values, **{'wheel.command.delay': 0.02}), begun(**values)
    late.take(JointCommand(START, ('wheel',), (2e-3,), (3.0,), (0.1,)), START)
    made = late.advance_to(START + 60 * MS)
    now.take(JointCommand(START + 20 * MS, ('wheel',), (2e-3,), (3.0,), (0.1,)), START)
    assert torques(made) == torques(now.advance_to(START + 60 * MS))
    assert made[18].torques == (0.0,)
    assert made[19].torques != (0.0,)


def test_between_two_commands_the_torque_runs_in_a_line():
    session = begun(**{
        'wheel.command.delay': 0.02, 'wheel.command.max_delay': 0.1,
        'wheel.command.interpolation': 'linear',
    })  # fmt: skip
    session.take(effort(START + 10 * MS, 1.0), START)
    session.take(effort(START + 20 * MS, 2.0), START + 5 * MS)
    made = session.advance_to(START + 50 * MS)
    assert torques(made)[29:42] == pytest.approx([1.0 + 0.1 * min(k, 10) for k in range(13)])


@pytest.mark.parametrize(
    ('phase', 'seconds'), [(0.0, [3, 5, 8, 10, 13]), (-1.5, [1, 4, 6, 9, 11, 14])]
)
def test_commands_are_taken_at_instants_that_the_step_does_not_know(phase, seconds):
    """A command of each second k has the value k; what acts tells when it was taken."""
    session = still(**{
        'rate': 1.0, 'command_timeout': 0.0, 'max_gap': 10.0,
        'wheel.command.interval': 2.5, 'wheel.command.phase': phase,
    })  # fmt: skip
    session.advance_to(START)  # a whole number of intervals from the zero of the clock
    made = []
    for k in range(1, 15):
        session.take(effort(START + k * SECOND, float(k)), START + k * SECOND)
        made += session.advance_to(START + k * SECOND)
    taken = torques(made)
    assert [s for s in dict.fromkeys(taken) if s] == seconds
    assert taken == [max([s for s in seconds if s <= k], default=0) for k in range(1, 15)]


def test_the_delay_is_changed_while_running_and_nothing_is_lost():
    values = {
        **STILL,
        'wheel.command.max_delay': 0.1,
    }  # fmt: skip
    session = begun(**values)
    for k in range(100):
        session.take(effort(START + k * MS, float(k)), START + k * MS)
        session.advance_to(START + k * MS)
    session.update(settings({**values, 'wheel.command.delay': 0.05}))
    assert torques(session.advance_to(START + 100 * MS)) == [50.0]
    session.update(settings({**values, 'wheel.command.delay': 0.0}))
    assert torques(session.advance_to(START + 101 * MS)) == [99.0]


def test_the_age_of_a_delayed_command_counts_from_when_it_acts():
    session = begun(**{
        'command_timeout': 0.03, 'wheel.command.delay': 0.05, 'wheel.command.max_delay': 0.05,
    })  # fmt: skip
    session.take(effort(START, 1.0), START)
    made = session.advance_to(START + 120 * MS)
    assert torques(made) == [0.0] * 49 + [1.0] * 31 + [0.0] * 40


def test_a_sampled_command_goes_on_over_a_pause_and_is_dropped_with_the_clock():
    session = begun(**{'wheel.command.interval': 0.01})
    session.take(effort(START + MS, 1.0), START)
    session.advance_to(START + 20 * MS)
    session.paused = True
    session.take(effort(START + 30 * MS, 2.0), START + 25 * MS)
    assert session.advance_to(START + 41 * MS) == []
    session.paused = False
    assert torques(session.advance_to(START + 42 * MS)) == [2.0]
    session.advance_to(START)
    assert torques(session.advance_to(START + 20 * MS)) == [0.0] * 20


def test_what_waits_of_a_sampled_command_is_counted_and_bounded():
    session = begun(**{'wheel.command.delay': 0.4, 'wheel.command.max_delay': 0.4})
    for k in range(5000):
        session.take(Commands((float(k),)), START + k * 1000)
    session.advance_to(START + 6 * MS)
    assert session.held['samples waiting'] <= 4096


def test_live_equals_late_with_a_delay_as_long_as_all_was_there():
    """Order of arrival does not matter to what is delayed."""
    values = {
        'wheel.command.delay': 0.02, 'wheel.command.max_delay': 0.1,
        'wheel.command.interpolation': 'cubic', 'wheel.command.interval': 0.003,
    }  # fmt: skip
    commands = [effort(START + k * 7 * MS, (k % 5) - 2.0) for k in range(1, 20)]
    first, second = begun(**values), begun(**values)
    for item in commands:
        first.take(item, START)
    for item in reversed(commands):
        second.take(item, START)
    whole = first.advance_to(START + 200 * MS)
    parts = [o for k in range(1, 201) for o in second.advance_to(START + k * MS)]
    assert torques(whole) == torques(parts)
    assert len(set(torques(whole))) > 30


# sensors


def test_without_sensors_nothing_is_measured():
    (outcome,) = begun().advance_to(START + MS)
    assert outcome.measured == (None,)


def test_an_encoder_carries_the_remainder():
    session = begun(**{
        'wheel.encoder.counts': 100, 'wheel.initial_spin': 7.0, 'wheel.damping': 0.0,
    })  # fmt: skip
    made = session.advance_to(START + SECOND // 2)
    read = [outcome.measured[0] for outcome in made]
    counts = [int(outcome.steps[0].state.angle * 100 / tau) for outcome in made]
    assert [m.position for m in read] == [n * tau / 100 for n in counts]
    assert read[0].speed is None
    way = sum(m.speed * 1e-3 for m in read[1:])
    assert way == pytest.approx((counts[-1] - counts[0]) * tau / 100, rel=1e-12)


def test_what_is_measured_is_told_late_and_held():
    session = begun(**{
        'wheel.tachometer.enabled': True, 'wheel.measured.delay': 0.01,
        'wheel.measured.max_delay': 0.01, 'wheel.measured.interval': 0.004, 'wheel.inertia': 1e-3,
    })  # fmt: skip
    session.take(Commands((1e-2,)), START)
    made = session.advance_to(START + 100 * MS)
    speeds = [outcome.steps[0].relative_speed for outcome in made]
    for k, outcome in enumerate(made, 1):
        at = (k - 10) // 4 * 4  # the instants lie at whole multiples of 4 ms
        expected = Measured(None, speeds[at - 1]) if at > 0 else None
        assert outcome.measured == (expected,)


def test_noise_is_of_the_seed_and_of_each_motor_its_own():
    def noise(seed, **more):
        session = begun(**{
            'motors': ['a', 'b'], 'seed': seed, 'a.tachometer.enabled': True,
            'b.tachometer.enabled': True, 'a.tachometer.noise': 0.1, 'b.tachometer.noise': 0.1,
            **more,
        })  # fmt: skip
        made = session.advance_to(START + 100 * MS)
        return [[outcome.measured[i].speed for outcome in made] for i in (0, 1)]

    assert noise(1) == noise(1)
    a, b = noise(1)
    assert a != b != noise(2)[1]
    assert 0.05 < sum(x * x for x in a) / len(a) / 0.01 < 2.0


def test_a_fault_is_commanded_and_ends():
    values = {
        **STILL,
        'wheel.torque_sensor.enabled': True, 'wheel.encoder.counts': 360,
        'wheel.initial_spin': 100.0, 'wheel.damping': 0.0,
    }  # fmt: skip
    session = begun(**values)
    session.take(Commands((0.5,)), START)
    before = session.advance_to(START + 10 * MS)[-1].measured[0]

    def with_fault(k, **faults):
        faulty = {f'wheel.fault.{name}': fault for name, fault in faults.items()}
        session.update(settings({**values, **faulty}))
        return session.advance_to(START + k * MS)[-1].measured[0]

    stuck = with_fault(20, position='stuck', velocity='off', effort='drop')
    assert stuck == Measured(before.position, 0.0, None)
    after = with_fault(30)
    assert after.torque == 0.5
    assert after.position > before.position


def test_reset_and_a_clock_that_goes_back_begin_the_sensors_anew():
    session = begun(**{'wheel.encoder.counts': 100, 'wheel.initial_spin': 50.0})
    first = session.advance_to(START + 5 * MS)
    session.reset()
    again = session.advance_to(START + 10 * MS)
    assert [o.measured[0] for o in again] == [o.measured[0] for o in first]
    session.advance_to(START)
    (outcome,) = session.advance_to(START + MS)
    assert outcome.measured[0] is not None


@given(
    st.sampled_from(['none', 'stuck', 'off', 'drop']),
    st.sampled_from([0.0, 0.0023, 0.05]),
    st.sampled_from([0.0, 0.0031, 0.1]),
    st.sampled_from(['hold', 'linear', 'cubic']),
    st.floats(-1e300, 1e300),
)
def test_no_measurement_is_ever_not_finite(fault, delay, interval, interpolation, bias):
    session = begun(**{
        'wheel.encoder.counts': 7, 'wheel.tachometer.enabled': True, 'wheel.tachometer.bias': bias,
        'wheel.tachometer.noise': 1e300, 'wheel.fault.velocity': fault,
        'wheel.measured.delay': delay, 'wheel.measured.max_delay': 0.05,
        'wheel.measured.interval': interval, 'wheel.measured.interpolation': interpolation,
        'wheel.initial_spin': 1e3,
    })  # fmt: skip
    for outcome in session.advance_to(START + 150 * MS):
        for one in outcome.measured[0] or ():
            assert one is None or isfinite(one)


# electrical quantities and the winding


def quantities(session, outcome):
    return report(session.settings.motors[0], outcome.steps[0], outcome.drives[0])


def test_a_motor_without_an_armature_tells_torques_and_power():
    session = begun(**{'wheel.initial_spin': 10.0, 'wheel.damping': 1e-4})
    session.take(Commands((0.01,)), START)
    outcome = session.advance_to(START + 10 * MS)[-1]
    v = outcome.steps[0].relative_speed
    assert quantities(session, outcome) == {
        'effort': 0.01,
        'friction_torque': -1e-4 * v,
        'mechanical_power': 0.01 * v,
        'limits': 0.0,
    }


@pytest.mark.parametrize('mode', ['torque', 'voltage'])
def test_electrical_power_is_heat_and_mechanical_power(mode):
    session = begun(**ARMATURE, **{'wheel.mode': mode, 'wheel.voltage.inductance': 0.0})
    session.take(Commands((2.0 if mode == 'voltage' else 0.05,)), START)
    told = [quantities(session, o) for o in session.advance_to(START + 300 * MS)]
    for one in told[1:]:
        assert one['effort'] == pytest.approx(0.02 * one['current'], rel=1e-12)
        heat = 0.5 * one['current'] ** 2
        assert one['electrical_power'] == pytest.approx(heat + one['mechanical_power'], rel=1e-9)
        assert one['electrical_power'] == one['voltage'] * one['current']
    if mode == 'voltage':
        assert told[-1]['voltage'] == pytest.approx(2.0, rel=1e-12)


def test_the_winding_warms_as_its_closed_form_says():
    """A rotor too heavy to move: P = R i^2 with the resistance of copper at its temperature."""
    session = begun(**WARM, **{
        'wheel.mode': 'torque', 'wheel.inertia': 1e6, 'wheel.winding.coefficient': 0.0,
    })  # fmt: skip
    session.take(Commands((0.02 * 5.0,)), START)
    for k in range(1, 21):
        outcome = session.advance_to(START + k * SECOND // 2)[-1]
    power = 0.5 * 25.0
    expected = 25.0 + 2.0 * power * (1.0 - exp(-10.0 / 10.0))
    assert quantities(session, outcome)['temperature'] == pytest.approx(expected, rel=1e-9)


def test_a_warm_winding_has_more_resistance_and_takes_less_current():
    session = begun(**WARM, **{'wheel.mode': 'voltage', 'wheel.inertia': 1e6})
    session.take(Commands((5.0,)), START)
    for k in range(1, 21):
        outcome = session.advance_to(START + k * SECOND // 2)[-1]
    one = quantities(session, outcome)
    warm = 0.5 * (1.0 + 0.00393 * (session.drives[0].temperature - 25.0))
    assert one['current'] == pytest.approx(5.0 / warm, rel=1e-5)
    assert one['current'] < 9.0


def test_a_hot_winding_leaves_less_of_the_limits_and_says_so():
    session = begun(**WARM, **{
        'wheel.inertia': 1e6, 'wheel.limit.torque': 0.2, 'wheel.winding.ambient': 125.0,
        'wheel.winding.limit': 100.0, 'wheel.winding.maximum': 150.0,
    })  # fmt: skip
    session.take(Commands((1.0,)), START)
    outcome = session.advance_to(START + MS)[-1]
    assert outcome.torques[0] == pytest.approx(0.1, rel=1e-12)
    both = Active.TORQUE_LIMIT | Active.WINDING_TEMPERATURE
    assert quantities(session, outcome)['limits'] == float(both)
    for k in range(1, 401):  # it gets hotter until what heats is what is left
        outcome = session.advance_to(START + k * SECOND // 2)[-1]
    assert 125.0 < session.drives[0].temperature < 150.0
    assert 0.0 < outcome.torques[0] < 0.1


def test_a_winding_cools_while_the_drive_is_off_and_starts_cold_after_a_reset():
    session = begun(**WARM, **{'wheel.inertia': 1e6})
    session.take(Commands((0.1,)), START)
    for k in range(1, 11):
        session.advance_to(START + k * SECOND // 2)
    warm = session.drives[0].temperature
    session.enabled = False
    for k in range(11, 21):
        session.advance_to(START + k * SECOND // 2)
    expected = 25.0 + (warm - 25.0) * exp(-0.5)
    assert session.drives[0].temperature == pytest.approx(expected, rel=1e-9)
    session.reset()
    assert session.drives[0].temperature == 25.0


@pytest.mark.parametrize('mode', ['torque', 'velocity', 'voltage'])
def test_the_limit_of_the_current_acts_in_every_mode(mode):
    session = begun(**ARMATURE, **{
        'wheel.mode': mode, 'wheel.voltage.current_limit': 2.0, 'wheel.velocity.kp': 1.0,
        'wheel.inertia': 1e3,
    })  # fmt: skip
    session.take(Commands((100.0,)), START)
    if mode == 'velocity':
        session.take(JointCommand(START, ('wheel',), (), (100.0,)), START)
    outcome = session.advance_to(START + 5 * MS)[-1]
    assert outcome.torques[0] == pytest.approx(0.04, rel=1e-12)
    assert outcome.drives[0].active == Active.CURRENT_LIMIT


def test_a_group_that_is_off_is_in_the_state_of_each_of_its_motors():
    session = begun(**{
        'motors': ['a', 'b'], 'b.group': 3, 'groups_off': '3', 'b.limit.torque': 1.0,
        'a.group': 3,
    })  # fmt: skip
    (outcome,) = session.advance_to(START + MS)
    assert [drive.active for drive in outcome.drives] == [Active.GROUP_OFF] * 2
    session.update(settings({
        'world_frame': 'base_link', 'rate_source': 'zero', 'rate': 1000.0, 'motors': ['a', 'b'],
        'b.group': 3, 'b.limit.torque': 1.0, 'a.group': 3,
    }))  # fmt: skip
    (outcome,) = session.advance_to(START + 2 * MS)
    assert [drive.active for drive in outcome.drives] == [Active(0)] * 2


def test_an_overflow_of_what_the_drive_reports_leaves_the_step_out():
    session = begun(**{
        'wheel.voltage.resistance': 1e200, 'wheel.voltage.torque_constant': 1e-100,
        'wheel.mode': 'torque',
    })  # fmt: skip
    session.take(Commands((1.0,)), START)
    assert session.advance_to(START + 5 * MS) == []
    assert session.counts['step', 'overflow'] == 5
    assert session.states == [MotorState()]


def test_a_torque_of_a_moving_mount_is_measured_against_its_stator():
    session = still(**{
        'world_frame': 'odom', 'rate_source': 'tf', 'rate': 1000.0, 'wheel.encoder.counts': 1000,
        'wheel.tachometer.enabled': True,
    })  # fmt: skip
    session.advance_to(START)
    for k in range(1, 50):
        half = 0.5 * 2.0 * k * 1e-3
        session.take(
            tf(START + k * MS, orientation=(0.0, 0.0, sin(half), cos(half))), START + k * MS
        )
        made = session.advance_to(START + k * MS)
    assert made[-1].measured[0].speed == pytest.approx(-2.0, rel=1e-2)
    assert abs(made[-1].measured[0].position) < pi


# what a reader of the rules found


@pytest.mark.parametrize('rate', [1000.0, 4000.0])
def test_a_delay_of_seconds_is_kept_in_full(rate):
    session = begun(**{
        'rate': rate, 'wheel.command.delay': 6.0, 'wheel.command.max_delay': 6.0,
        'wheel.encoder.counts': 1000, 'wheel.measured.delay': 6.0, 'wheel.measured.max_delay': 6.0,
    })  # fmt: skip
    step = round(SECOND / rate)
    made = []
    for k in range(1, round(8 * rate) + 1):
        session.take(effort(START + k * step, float(k)), START + k * step)
        made += session.advance_to(START + k * step)
    late = round(6 * rate)
    assert torques(made)[late:] == [float(k) for k in range(1, len(made) - late + 1)]
    assert [outcome.measured[0] is not None for outcome in made].index(True) == late


@pytest.mark.parametrize('volts', [4.9, 1.0, 0.0, -0.001, -5.0])
@pytest.mark.parametrize('reverse', [1.0, -1.0])
def test_a_gear_takes_power_whichever_way_it_flows(volts, reverse):
    """Overrun, the current brakes though the voltage is along: n Kt / eta is between them."""
    session = begun(**{
        'wheel.mode': 'voltage', 'wheel.voltage.resistance': 2.0, 'wheel.damping': 0.0,
        'wheel.voltage.torque_constant': 0.05, 'wheel.gear.efficiency': 0.5,
        'wheel.initial_spin': reverse * 100.0, 'wheel.inertia': 1e3,
    })  # fmt: skip
    session.take(Commands((reverse * volts,)), START)
    (outcome,) = session.advance_to(START + MS)
    one = quantities(session, outcome)
    current = (volts - 0.05 * 100.0) / 2.0
    assert one['current'] == pytest.approx(reverse * current, rel=1e-6)
    assert one['effort'] == pytest.approx(reverse * 0.05 * current / 0.5, rel=1e-6)
    emf = 0.05 * 100.0 * abs(current)
    assert abs(one['mechanical_power']) > emf


def test_the_limit_of_the_mount_is_told_of_a_motor_without_limits_of_its_own():
    session = begun(**{'motors': ['a', 'b'], 'torque_limit': 1.0})
    session.take(Commands((3.0, 1.0)), START)
    (outcome,) = session.advance_to(START + MS)
    assert outcome.torques == pytest.approx((0.75, 0.25))
    assert [drive.active for drive in outcome.drives] == [Active.MOUNT_TORQUE_LIMIT] * 2


def test_a_slew_rate_given_while_running_begins_from_the_torque_that_acts():
    values = {
        **STILL,
        'wheel.inertia': 1e3,
    }  # fmt: skip
    session = begun(**values)
    session.take(Commands((1.0,)), START)
    session.advance_to(START + 5 * MS)
    session.update(settings({**values, 'wheel.limit.slew_rate': 1.0}))
    session.take(Commands((0.0,)), START + 5 * MS)
    made = session.advance_to(START + 8 * MS)
    assert torques(made) == pytest.approx([0.999, 0.998, 0.997])
    session.update(settings({**values, **ARMATURE, 'wheel.voltage.inductance': 0.1}))
    (outcome,) = session.advance_to(START + 9 * MS)
    assert outcome.drives[0].voltage == pytest.approx(-0.1 * 0.997 / 0.02 / 1e-3)  # it ends at 0


@pytest.mark.parametrize('command', [-9.9, -10.0, -20.0, 20.0])
@pytest.mark.parametrize('of_mount', [0.0, 5.0])
def test_the_power_limit_holds_at_the_old_speed_and_at_the_new_one(command, of_mount):
    session = begun(**{
        'wheel.inertia': 1e-4, 'wheel.initial_spin': 100.0, 'wheel.damping': 0.0,
        'wheel.limit.power': 1.0, 'torque_limit': of_mount,
    })  # fmt: skip
    session.take(Commands((command,)), START)
    before = 100.0
    for outcome in session.advance_to(START + 50 * MS):
        after, torque = outcome.steps[0].relative_speed, outcome.torques[0]
        assert abs(torque * before) <= 1.0 + 1e-9
        assert abs(torque * after) <= 1.0 + 1e-9
        before = after
    assert outcome.drives[0].active & Active.POWER_LIMIT


def test_every_limit_that_takes_something_is_told():
    session = begun(**{
        'wheel.limit.torque': 2.0, 'torque_limit': 1.0, 'wheel.limit.slew_rate': 3000.0,
        'wheel.inertia': 1e3,
    })  # fmt: skip
    session.take(Commands((5.0,)), START)
    first, second = session.advance_to(START + 2 * MS)
    all_three = Active.SLEW_RATE | Active.TORQUE_LIMIT | Active.MOUNT_TORQUE_LIMIT
    assert first.drives[0].active == all_three
    assert second.drives[0].active == all_three  # from 1 N m to 4, not to 5


def test_a_damper_cannot_drive_and_says_so():
    session = begun(**{'wheel.mode': 'damper', 'wheel.initial_spin': 10.0})
    session.take(Commands((-1.0,)), START)
    (outcome,) = session.advance_to(START + MS)
    assert outcome.torques == (0.0,)
    assert outcome.drives[0].active == Active.COMMAND_RANGE


@pytest.mark.parametrize('command', [0.0, 1.0, -1.0])
def test_an_integrated_target_that_begins_outside_its_range_is_not_thrown(command):
    session = begun(**{
        'wheel.mode': 'integrated_velocity', 'wheel.position.range': [-1.0, 1.0],
        'wheel.position.kp': 1.0, 'wheel.position.kd': 0.05, 'wheel.initial_angle': 2.0,
        'wheel.inertia': 1e-2,
    })  # fmt: skip
    session.take(JointCommand(START, ('wheel',), (), (command,)), START)
    made = session.advance_to(START + 200 * MS)
    assert abs(made[0].torques[0]) < 0.06
    targets = [outcome.drives[0].target for outcome in made]
    if command < 0.0:
        assert targets[-1] == pytest.approx(1.8)
    else:
        assert targets == [2.0] * 200


def test_a_stiff_position_begins_without_a_step_while_the_rotor_turns():
    values = {
        **STILL,
        'wheel.position.kp': 100.0, 'wheel.position.ki': 1.0, 'wheel.initial_spin': 10.0,
        'wheel.inertia': 1.0,
    }  # fmt: skip
    session = begun(**values)
    session.take(Commands((0.02,)), START)
    session.advance_to(START + 5 * MS)
    session.update(settings({**values, 'wheel.mode': 'position'}))
    (outcome,) = session.advance_to(START + 6 * MS)
    assert outcome.torques[0] == pytest.approx(0.02, abs=1e-4)


def test_a_mode_set_where_no_command_acts_switches_nothing_on():
    values = {
        **STILL,
        'wheel.position.kp': 1.0, 'wheel.position.kd': 0.1, 'wheel.initial_spin': 100.0,
    }  # fmt: skip
    session = begun(**values)
    session.advance_to(START + 5 * MS)
    session.update(settings({**values, 'wheel.mode': 'position'}))
    assert torques(session.advance_to(START + 8 * MS)) == [0.0] * 3


def test_what_is_held_after_a_change_of_mode_ends_with_a_reset():
    values = {
        **STILL,
        'wheel.position.kp': 1.0, 'wheel.initial_spin': 100.0,
    }  # fmt: skip
    session = begun(**values)
    session.take(Commands((0.0,)), START)
    session.advance_to(START + 100 * MS)
    session.update(settings({**values, 'wheel.mode': 'position'}))
    session.reset()
    assert torques(session.advance_to(START + 102 * MS)) == [0.0] * 2


def test_a_position_found_in_motion_is_where_the_rotor_comes_to_rest():
    values = {
        **STILL,
        'wheel.position.kp': 1.0, 'wheel.position.ki': 0.5, 'wheel.position.kd': 0.2,
        'wheel.inertia': 1e-2, 'wheel.initial_spin': 10.0, 'wheel.damping': 0.0,
    }  # fmt: skip
    session = begun(**values)
    session.take(Commands((0.01,)), START)
    session.advance_to(START + 100 * MS)
    found = session.states[0].angle
    session.update(settings({**values, 'wheel.mode': 'position'}))
    (first,) = session.advance_to(START + 101 * MS)
    assert first.torques[0] == pytest.approx(0.01, abs=0.01)  # of kd 2 N m were wanted
    for k in range(1, 241):
        session.advance_to(START + k * SECOND // 2)
    assert session.states[0].angle == pytest.approx(found, abs=0.02)


def test_a_target_does_not_run_ahead_of_a_rotor_that_is_held():
    session = begun(**{
        'wheel.mode': 'integrated_velocity', 'wheel.position.kp': 1.0,
        'wheel.limit.torque': 1e-3, 'wheel.friction.coulomb': 2e-3,
    })  # fmt: skip
    session.take(JointCommand(START, ('wheel',), (), (10.0,)), START)
    for k in range(1, 11):
        session.advance_to(START + k * SECOND // 2)
    assert not abs(session.drives[0].target) >= 0.02  # NaN: where the rotor is


@pytest.mark.parametrize('kp', [1e6, 1e9, 1e12, 1e15])
def test_torque_and_momentum_belong_together_however_stiff_the_gains_are(kp):
    session = begun(**{'wheel.mode': 'velocity', 'wheel.velocity.kp': kp, 'wheel.damping': 0.0})
    spin = 0.0
    for k, command in enumerate((100.0, 100.1, 100.0, 100.0, -50.0), 1):
        session.take(JointCommand(START + k * MS, ('wheel',), (), (command,)), START + k * MS)
        (outcome,) = session.advance_to(START + k * MS)
        gained = 1e-4 * (outcome.steps[0].state.spin - spin) / 1e-3
        assert outcome.torques[0] == pytest.approx(gained, rel=1e-9, abs=1e-9)
        spin = outcome.steps[0].state.spin
    energy = session.energy[0]
    assert abs(energy.residual) <= 1e-11 * energy.turned_over


def test_gains_beyond_computing_leave_the_step_out():
    session = begun(**{'wheel.mode': 'damper', 'wheel.initial_spin': 100.0})
    session.take(Commands((1e308,)), START)
    assert session.advance_to(START + 2 * MS) == []
    assert session.counts['step', 'overflow'] == 2


def test_a_winding_that_burns_stops_no_other_motor():
    session = begun(**{
        'motors': ['a', 'b'], 'rate': 100.0, 'a.voltage.resistance': 1.0, 'a.inertia': 1e3,
        'a.voltage.torque_constant': 0.05, 'a.winding.thermal_resistance': 5.0,
        'a.winding.thermal_capacity': 2.0,
    })  # fmt: skip
    session.take(Commands((1.0, 0.0)), START)
    for k in range(1, 1201):
        session.advance_to(START + k * SECOND // 2)
    hottest = 25.0 + 5.0 * 20.0**2 * (1.0 + 0.00393 * (1085.0 - 25.0))
    assert session.drives[0].temperature == pytest.approx(hottest, rel=1e-9)
    assert session.counts['step', 'overflow'] == 0


def test_a_winding_set_to_other_figures_keeps_a_resistance():
    values = {
        **STILL,
        **WARM, 'wheel.mode': 'voltage', 'wheel.inertia': 1e-3,
    }  # fmt: skip
    session = begun(**values)
    session.take(Commands((5.0,)), START)
    session.advance_to(START + 100 * MS)
    more = {'wheel.winding.ambient': 100.0, 'wheel.winding.reference': 300.0}
    session.update(settings({**values, **more}))
    for k in range(1, 7):
        outcome = session.advance_to(START + k * SECOND // 2)[-1]
        assert outcome.drives[0].current >= 0.0
        assert outcome.drives[0].temperature > 24.0


def test_a_motor_that_became_plain_is_not_judged_by_the_drive_it_had():
    values = {
        **STILL,
        'motors': ['a', 'b'], 'b.limit.torque': 1.0,
    }  # fmt: skip
    session = begun(**values, **{'a.limit.torque': 1.0})
    session.take(Commands((5.0, 0.5)), START)
    session.advance_to(START + 5 * MS)
    session.update(settings(values))
    session.take(Commands((0.3, 0.5)), START + 5 * MS)
    outcome = session.advance_to(START + 8 * MS)[-1]
    assert outcome.torques == (0.3, 0.5)
    assert [drive.active for drive in outcome.drives] == [Active(0)] * 2


def test_a_gear_gives_no_impulse_behind_a_time_without_steps():
    """The mount turned meanwhile; its casing did not take that at once."""
    from mime_motor_ros.inputs import Imu

    session = still(**{
        'world_frame': 'odom', 'rate_source': 'imu', 'rate': 100.0, 'wheel.gear.ratio': 6.0,
        'wheel.gear.inertia': 7.66e-5, 'wheel.damping': 0.0,
    })  # fmt: skip
    most = 0.0
    for k in range(1, 400):
        now = START + k * 10 * MS
        session.take(tf(now), now)
        if not 100 < k < 300:
            session.take(Imu(now, 'base_link', (0.0, 0.0, 0.0 if k <= 100 else 1.0)), now)
        for outcome in session.advance_to(now):
            most = max(most, *map(abs, outcome.reaction().torque))
    assert session.steps > 150
    assert most < 1e-9


def test_a_lost_quantity_does_not_stop_the_others_from_running_in_a_line():
    session = begun(**{
        'wheel.encoder.counts': 100, 'wheel.tachometer.enabled': True,
        'wheel.fault.position': 'drop', 'wheel.measured.interval': 0.01,
        'wheel.measured.delay': 0.02, 'wheel.measured.max_delay': 0.02,
        'wheel.measured.interpolation': 'linear', 'wheel.inertia': 1e-2, 'wheel.damping': 0.0,
    })  # fmt: skip
    session.take(Commands((1.0,)), START)
    made = session.advance_to(START + 100 * MS)[50:]
    assert [o.measured[0].speed for o in made] == pytest.approx(
        [o.steps[0].state.spin - 2.0 for o in made]
    )
    assert {o.measured[0].position for o in made} == {None}
    assert [o.told_ns[0] for o in made] == [o.stamp_ns - 20 * MS for o in made]


@pytest.mark.parametrize('command', [0.5, -1.0])
def test_a_gear_takes_power_by_the_torque_that_acts_not_by_the_one_asked_for(command):
    """Behind a slew rate the drive goes on driving for long after it was told to brake."""
    session = begun(**{
        'wheel.voltage.resistance': 0.5, 'wheel.voltage.torque_constant': 0.05,
        'wheel.gear.efficiency': 0.5, 'wheel.limit.slew_rate': 1.0, 'wheel.inertia': 1.0,
        'wheel.damping': 0.0, 'wheel.initial_spin': 100.0, 'max_gap': 5.0,
    })  # fmt: skip
    session.take(Commands((1.0,)), START)
    session.advance_to(START + 2 * SECOND)
    session.take(Commands((command,)), START + 2 * SECOND)
    for outcome in session.advance_to(START + 2500 * MS):
        torque, drive = outcome.torques[0], outcome.drives[0]
        assert drive.current == pytest.approx(torque / (0.5 * 0.05))
        through = drive.voltage * drive.current - 0.5 * drive.current**2
        assert through * 0.5 == pytest.approx(torque * outcome.steps[0].relative_speed)
    assert torque == pytest.approx(0.5)


def test_a_current_limit_lets_a_brake_have_what_the_gear_takes_while_the_slew_rate_turns_it():
    session = begun(**{
        'wheel.voltage.resistance': 0.5, 'wheel.voltage.torque_constant': 0.05,
        'wheel.voltage.current_limit': 10.0, 'wheel.gear.efficiency': 0.5,
        'wheel.limit.slew_rate': 1.0, 'wheel.inertia': 1.0, 'wheel.damping': 0.0,
        'wheel.initial_spin': 100.0, 'max_gap': 5.0,
    })  # fmt: skip
    session.take(Commands((-1.0,)), START)
    session.advance_to(START + 2 * SECOND)
    session.take(Commands((1.0,)), START + 2 * SECOND)
    (outcome,) = session.advance_to(START + 2 * SECOND + MS)
    assert outcome.torques == (pytest.approx(-0.999),)
    assert outcome.drives[0].active == Active.SLEW_RATE


def test_a_limit_is_derated_by_what_is_around_where_no_armature_warms():
    session = begun(**{
        'wheel.limit.torque': 1.0, 'wheel.winding.ambient': 90.0, 'wheel.winding.limit': 80.0,
        'wheel.winding.maximum': 100.0,
    })  # fmt: skip
    session.take(Commands((5.0,)), START)
    made = session.advance_to(START + 5 * MS)
    assert torques(made) == [0.5] * 5
    assert {outcome.drives[0].temperature for outcome in made} == {90.0}


def test_a_winding_given_while_running_begins_as_warm_as_what_is_around():
    session = begun()
    session.advance_to(START + 10 * MS)
    session.update(still(**{**STILL, **WARM, 'wheel.winding.ambient': 60.0}).settings)
    made = session.advance_to(START + 20 * MS)
    assert {outcome.drives[0].temperature for outcome in made} == {60.0}


def test_a_target_beyond_computing_makes_no_step():
    session = begun(**{'wheel.mode': 'integrated_velocity', 'rate': 1.0, 'max_gap': 60.0,
                       'wheel.position.kp': 1e-300})  # fmt: skip
    session.take(Commands((1e200,)), START)
    assert session.advance_to(START + 2 * SECOND) == []
    assert session.counts['step', 'overflow'] == 2


def test_a_sample_that_is_held_is_told_once_with_the_stamp_it_was_measured_at():
    session = begun(**{
        'wheel.tachometer.enabled': True, 'wheel.measured.interval': 0.01,
        'wheel.measured.delay': 0.004, 'wheel.measured.max_delay': 0.004,
        'wheel.measured.interpolation': 'linear', 'wheel.inertia': 1e-2, 'wheel.damping': 0.0,
    })  # fmt: skip
    session.take(Commands((1.0,)), START)
    made = session.advance_to(START + 100 * MS)
    speeds = {o.stamp_ns: o.steps[0].relative_speed for o in made}
    told = {o.told_ns[0]: o.measured[0].speed for o in made if o.measured[0]}
    assert all(value == pytest.approx(speeds[stamp]) for stamp, value in told.items())
    held = [stamp for stamp in told if (stamp // MS) % 10 == 0]
    # Between two samples there is a line from when the later one is there: 6 to 9 ms on.
    assert len(held) == 9  # the one of the end is told 4 ms behind it
    assert {(stamp // MS) % 10 for stamp in told} == {0, 6, 7, 8, 9}


def test_a_delay_that_grows_tells_no_sample_a_second_time():
    values = {'wheel.tachometer.enabled': True, 'wheel.measured.max_delay': 0.02}
    session = begun(**values)
    before = session.advance_to(START + 50 * MS)
    session.update(still(**{**STILL, **values, 'wheel.measured.delay': 0.02}).settings)
    made = before + session.advance_to(START + 100 * MS)
    told = [o.told_ns[0] for o in made]
    assert told == sorted(told)
    assert told[-1] == made[-1].stamp_ns - 20 * MS


def test_of_a_motor_that_asks_for_nothing_the_limit_of_the_mount_takes_nothing():
    session = begun(motors=['a', 'b'], torque_limit=1.0)
    session.take(Commands((5.0, 0.0)), START)
    (outcome,) = session.advance_to(START + MS)
    assert outcome.torques == (1.0, 0.0)
    assert [drive.active for drive in outcome.drives] == [Active.MOUNT_TORQUE_LIMIT, Active(0)]


def test_torques_whose_sum_is_beyond_computing_make_no_step():
    session = begun(motors=['a', 'b'], torque_limit=1.0, **{'a.inertia': 1e9, 'b.inertia': 1e9})
    session.take(Commands((1e308, 1e308)), START)
    assert session.advance_to(START + MS) == []
    assert session.counts['step', 'overflow'] == 1


def test_a_reset_forgets_what_is_still_on_its_way_from_the_sensors():
    session = begun(**{
        'wheel.tachometer.enabled': True, 'wheel.measured.delay': 0.05,
        'wheel.measured.max_delay': 0.05, 'wheel.initial_spin': 10.0, 'wheel.damping': 0.0,
        'wheel.inertia': 1e-3,
    })  # fmt: skip
    session.take(Commands((1.0,)), START)
    session.advance_to(START + 100 * MS)
    session.reset()
    made = session.advance_to(START + 160 * MS)
    assert {outcome.measured[0] for outcome in made[:50]} == {None}
    assert made[50].measured[0].speed == made[0].steps[0].relative_speed


def test_steps_that_nobody_waits_for_are_not_taken_twice():
    once, twice = begun(), begun()
    for session in (once, twice):
        session.take(Commands((1e-3,)), START)
    next(twice.stepping(START + 10 * MS))
    twice.advance_to(START + 10 * MS)
    once.advance_to(START + 10 * MS)
    assert twice.states == once.states


def test_an_encoder_counts_over_the_steps_that_were_made():
    session = begun(**{'wheel.encoder.counts': 10000, 'wheel.initial_spin': 100.0,
                       'wheel.damping': 0.0})  # fmt: skip
    session.advance_to(START + 10 * MS)
    session.paused = True
    session.advance_to(START + 400 * MS)
    session.paused = False
    (outcome,) = session.advance_to(START + 401 * MS)
    assert outcome.measured[0].speed == pytest.approx(100.0, abs=1.0)


@pytest.mark.parametrize(
    'sheet', [(1e200, 1.0, 1.0, 1.0), (1.0, 1e-200, 1e-200, 0.1), (24.0, 1e300, 1e300, 0.0)]
)
def test_a_data_sheet_of_no_motor_is_refused(sheet):
    from mime_motor_ros.errors import ParameterError

    names = ('nominal', 'stall_torque', 'no_load_speed', 'no_load_current')
    given = zip((f'wheel.voltage.{name}' for name in names), sheet, strict=True)
    with pytest.raises(ParameterError, match=r'^wheel\.voltage\.stall_torque must be that of a '):
        settings(dict(given))


@pytest.mark.parametrize('ratio', [6.0, -6.0])
def test_a_step_of_volts_behind_a_gear_by_hand(ratio):
    """L (i+ - i)/dt = V - R i+ - Ke n v+, tau = n eta Kt i+, one unknown v+."""
    n, R, L, K, eta, J, J_m, b, V, dt = ratio, 0.8, 0.02, 0.05, 0.7, 1e-3, 1e-5, 1e-3, 12.0, 1e-3
    session = begun(**{
        'wheel.mode': 'voltage', 'wheel.voltage.resistance': R, 'wheel.voltage.inductance': L,
        'wheel.voltage.torque_constant': K, 'wheel.gear.efficiency': eta, 'wheel.gear.ratio': n,
        'wheel.gear.inertia': J_m, 'wheel.inertia': J, 'wheel.damping': b,
    })  # fmt: skip
    session.take(Commands((V,)), START)
    v = i = 0.0
    for outcome in session.advance_to(START + 20 * MS):
        # two linear equations: (R dt + L) i+ + Ke n dt v+ = L i + dt V, M v+ - n eta K dt i+ = ...
        M = J + n * n * J_m + dt * b
        i = (L * i + dt * V - K * n * dt * (J + n * n * J_m) * v / M) / (
            R * dt + L + K * n * dt * n * eta * K * dt / M
        )
        v = ((J + n * n * J_m) * v + dt * n * eta * K * i) / M
        one = quantities(session, outcome)
        assert one['current'] == pytest.approx(i, rel=1e-9)
        assert outcome.steps[0].relative_speed == pytest.approx(v, rel=1e-9)
        assert one['voltage'] == pytest.approx(V, rel=1e-9)
        assert one['electrical_power'] == pytest.approx(V * i, rel=1e-9)
