"""The energy audit: exact for the scheme, and each term where it belongs."""

from hypothesis import given
from hypothesis import strategies as st
from mime_motor_ros.energy import Energy
from mime_motor_ros.inputs import Load
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
import pytest
from sessions import make, ORIGIN, play, START, still

finite = st.floats(-5.0, 5.0)
vectors = st.tuples(finite, finite, finite)


def audit(parameters, state, inputs, dt, steps):
    energy, start = Energy(), state
    for _ in range(steps):
        step = advance(parameters, state, inputs, dt)
        energy.add(parameters, state, step, dt)
        state = step.state
    stored = 0.5 * parameters.inertia * (state.spin**2 - start.spin**2)
    return energy, stored


@given(
    rate=vectors,
    load=vectors,
    torque=finite,
    spin=st.floats(-500.0, 500.0),
    damping=st.floats(0.0, 1.0),
    dt=st.floats(1e-4, 1.0),
)
def test_work_in_is_dissipated_plus_stored_to_rounding(rate, load, torque, spin, damping, dt):
    asymmetry = (1e-3, 2e-4, 0.0, -1e-3, 0.0, 0.0)
    parameters = MotorParameters(2e-2, damping, asymmetry=asymmetry)
    mount = Pose((1.0, 0.0, 0.0), (0.5, 0.5, 0.5, 0.5))
    inputs = StepInputs(mount, rate, torque, Wrench(), Wrench(load, load))
    energy, stored = audit(parameters, MotorState(0.3, spin), inputs, dt, 20)
    size = abs(energy.work) + energy.dissipated + abs(stored) + 0.02 * spin * spin
    assert energy.dissipated >= 0.0
    assert energy.stored == pytest.approx(stored, abs=1e-9 * size + 1e-12)
    assert abs(energy.residual) <= 1e-9 * size + 1e-12


def test_a_coasting_rotor_turns_what_it_stores_into_heat():
    energy, stored = audit(
        MotorParameters(1e-3, 1e-2), MotorState(0.0, 100.0), StepInputs(), 0.01, 9
    )
    assert stored < 0.0
    assert energy.dissipated + energy.stored == pytest.approx(energy.work)
    # Heat is b W^2 with the new speed; the mean of old and new makes the work of the scheme's
    # own damping, which is small and negative.
    assert energy.work < 0.0
    assert abs(energy.work) < 0.1 * energy.dissipated


def test_without_bearing_and_turning_mount_the_work_is_torque_times_angle():
    parameters = MotorParameters(1e-3)
    energy, stored = audit(parameters, MotorState(), StepInputs(torque=0.5), 0.01, 10)
    assert energy.work == pytest.approx(stored)
    assert energy.work == pytest.approx(0.5 * 0.5 * (0.5 / 1e-3) * 0.1**2)
    assert energy.dissipated == 0.0


def test_a_bearing_dragged_along_by_the_mount_takes_its_work_from_there():
    """At the mount's own rate nothing slips, so nothing is lost."""
    turning = StepInputs(mount_angular_velocity=(0.0, 0.0, 7.0))
    energy, _ = audit(MotorParameters(1e-3, 1e-2), MotorState(0.0, 7.0), turning, 0.01, 10)
    assert energy.dissipated == pytest.approx(0.0, abs=1e-25)
    spun, stored = audit(MotorParameters(1e-3, 1e-2), MotorState(), turning, 0.01, 200)
    assert stored == pytest.approx(0.5 * 1e-3 * 49.0, rel=1e-6)
    assert spun.work == pytest.approx(spun.dissipated + stored)


def test_a_session_keeps_one_balance_a_motor_and_starts_it_anew_with_other_values():
    session = make({'motors': ['a', 'b'], 'a.damping': 1e-3})
    session.take(Load(START, 'a', 'rotor', 'base_link', ORIGIN, (0.0, 0.0, 0.1)), START)
    play(session, START + 500_000_000)
    first, second = session.energy
    assert first.work > 0.0
    assert abs(first.residual) < 1e-12 * first.work
    assert second.work != first.work
    model = MotorParameters(2e-4)
    session.update(session.settings.with_motor(0, model=model))
    assert session.energy[0].work == 0.0
    assert session.energy[1] is second
    session.reset()
    assert session.energy[1].work == 0.0


def test_a_step_left_out_is_not_counted():
    session = still(initial_spin=10.0)
    session.advance_to(START)
    session.paused = True
    session.advance_to(START + 100_000_000)
    assert session.energy[0].stored == 0.0


def test_a_rotor_that_is_back_at_rest_balances_against_all_that_was_turned_over():
    parameters, state, energy = MotorParameters(1e-4), MotorState(), Energy()
    for k in range(12_000):
        torque = 0.01 if k < 5000 else -0.01 if k < 10_000 else 0.0
        step = advance(parameters, state, StepInputs(torque=torque), 1e-3)
        energy.add(parameters, state, step, 1e-3)
        state = step.state
    assert energy.turned_over == pytest.approx(4 * 0.5 * 1e-4 * 500.0**2, rel=1e-3)
    assert abs(energy.residual) < 1e-9 * energy.turned_over
