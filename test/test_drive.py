"""From a command to a torque: each mode, each limit in each mode, and switching between them."""

from mime_motor_ros.drive import (
    Active,
    after,
    Armature,
    Drive,
    DriveState,
    from_datasheet,
    Gains,
    MODES,
    Setpoint,
    switched,
    wanted,
)
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.inputs import Commands, JointCommand
from mime_motor_ros.model import advance, MotorParameters, MotorState, StepInputs
import pytest
from sessions import MS, SECOND, START, still

DT = 1e-3
MOTOR = MotorParameters(1e-4, 1e-5)
ARMATURE = Armature(0.5, 0.02, 0.02)
GAINS = {'velocity': Gains(0.05, 0.5), 'position': Gains(0.2, 0.5, 0.01), 'armature': ARMATURE}
COMMANDS = {'torque': 0.01, 'velocity': 60.0, 'position': 2.0, 'integrated_velocity': 60.0,
            'voltage': 12.0, 'damper': 1.0}  # fmt: skip


def run(drive, setpoint, steps, state=None, drove=None):
    """Step a motor with its drive; return every step and what the drive remembered of it."""
    state, drove, made = state or MotorState(), drove or DriveState(), []
    for _ in range(steps):
        law = wanted(drive, drove, setpoint, state.angle, state.spin, DT)
        step = advance(MOTOR, state, StepInputs(law=law.bounded), DT)
        state = step.state
        drove = after(drive, drove, law, step.torque, state.angle, step.relative_speed, DT)
        made.append((step, drove))
    return made


def test_each_mode_reaches_its_set_point():
    def last(mode, value, steps=8000):
        step, _ = run(Drive(mode, **GAINS), Setpoint(value), steps)[-1]
        return step

    assert last('torque', 1e-3, 1).torque == 1e-3
    assert last('velocity', 60.0).relative_speed == pytest.approx(60.0, rel=1e-6)
    assert last('velocity', 0.0).relative_speed == 0.0
    assert last('position', 2.0, 20_000).state.angle == pytest.approx(2.0, rel=1e-4)
    # V = R i + Ke v, Kt i = b v
    k = 0.02 * 0.02
    assert last('voltage', 2.0).relative_speed == pytest.approx(2.0 * 0.02 / (k + 0.5 * 1e-5))
    step, drove = run(Drive('integrated_velocity', **GAINS), Setpoint(3.0), 2000)[-1]
    assert drove.target == pytest.approx(6.0)
    assert step.state.angle == pytest.approx(6.0, rel=1e-2)
    step, _ = run(Drive('damper'), Setpoint(1.0), 1, MotorState(0.0, 100.0))[-1]
    assert step.relative_speed == pytest.approx(100.0 * 1e-4 / (1e-4 + 1e-3 * (1.0 + 1e-5)))


def test_stiff_gains_do_not_shake():
    speeds = [
        step.relative_speed
        for step, _ in run(Drive('velocity', Gains(1e6, 0.0)), Setpoint(10.0), 50)
    ]
    assert speeds == sorted(speeds)
    assert speeds[-1] == pytest.approx(10.0, rel=1e-9)


def test_a_target_is_clamped_to_its_range():
    drive = Drive('integrated_velocity', target_range=(-1.0, 1.0), **GAINS)
    assert run(drive, Setpoint(5.0), 1000)[-1][1].target == 1.0
    assert run(drive, Setpoint(-5.0), 1000)[-1][1].target == -1.0


def test_the_current_follows_the_armature_to_first_order():
    """Held at rest: i = V/R (1 - exp(-t R / L)), semi-implicit."""
    armature = Armature(0.5, 0.02, 0.02, inductance=0.05)
    drive, drove = Drive('voltage', armature=armature), DriveState()
    for _ in range(100):
        law = wanted(drive, drove, Setpoint(2.0), 0.0, 0.0, DT)
        drove = after(drive, drove, law, law.bounded.torque, 0.0, 0.0, DT)
    exact = 4.0 * (1.0 - (0.05 / (0.05 + DT * 0.5)) ** 100)
    assert drove.current == pytest.approx(exact)
    assert exact == pytest.approx(4.0 * (1.0 - 2.718281828**-1.0), rel=5e-3)


def test_the_constants_of_a_data_sheet_give_its_figures_back():
    V, stall, w0, i0 = 24.0, 0.3, 700.0, 0.2
    R, Kt, Ke = from_datasheet(V, stall, w0, i0)
    assert Kt == Ke
    assert Kt * (V / R - i0) == pytest.approx(stall)
    assert (V - R * i0) / Ke == pytest.approx(w0)
    assert from_datasheet(V, stall, w0, 0.0)[0] == pytest.approx(V * V / (w0 * stall))


@pytest.mark.parametrize('wrong', [0, 1, 2])
def test_a_data_sheet_of_no_motor_is_refused(wrong):
    figures = [24.0, 0.3, 700.0, 0.2]
    figures[wrong] = 0.0
    with pytest.raises(ParameterError, match='must be finite and > 0'):
        from_datasheet(*figures)


@pytest.mark.parametrize('mode', MODES)
def test_every_limit_holds_in_every_mode_and_is_told(mode):
    start = MotorState(0.0, 100.0 if mode == 'damper' else 0.0)

    def limited(name, value):
        return run(Drive(mode, **GAINS, **{name: value}), Setpoint(COMMANDS[mode]), 300, start)

    made = limited('torque_limit', 2e-3)
    assert max(abs(step.torque) for step, _ in made) == 2e-3
    assert made[0][1].active & Active.TORQUE_LIMIT

    made = limited('slew_rate', 1.0)
    torques = [0.0, *(step.torque for step, _ in made)]
    assert max(abs(b - a) for a, b in zip(torques, torques[1:], strict=False)) <= 1e-3 + 1e-15
    assert made[0][1].active & Active.SLEW_RATE

    made = limited('power_limit', 0.01)
    assert max(abs(step.torque * step.relative_speed) for step, _ in made) <= 0.01 * (1.0 + 1e-9)
    assert any(drove.active & Active.POWER_LIMIT for _, drove in made)

    if mode != 'damper':
        made = limited('speed_limit', 5.0)
        beyond = [step for step, drove in made if drove.active & Active.SPEED_LIMIT]
        assert beyond
        assert all(step.torque <= 0.0 for step in beyond)

    made = limited('dead_zone', 1e3)
    assert all(step.torque == 0.0 for step, _ in made)
    assert made[0][1].active & Active.DEAD_ZONE

    made = limited('command_limit', COMMANDS[mode] / 2)
    half = run(Drive(mode, **GAINS), Setpoint(COMMANDS[mode] / 2), 300, start)
    assert [step.torque for step, _ in made] == [step.torque for step, _ in half]
    assert made[0][1].active & Active.COMMAND_RANGE


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_beyond_its_speed_limit_a_rotor_is_braked_in_both_directions(sign):
    drive = Drive(speed_limit=50.0)
    for torque in (1e-3, -1e-3):
        step, drove = run(drive, Setpoint(sign * torque), 1, MotorState(0.0, sign * 60.0))[0]
        assert step.torque == (0.0 if torque > 0.0 else sign * torque)
        assert bool(drove.active & Active.SPEED_LIMIT) == (torque > 0.0)


def test_supply_and_current_are_limits_of_the_armature():
    limits = {'supply': 6.0, 'current': 3.0}
    armature = Armature(0.5, 0.02, 0.02, **limits)
    made = run(Drive('voltage', armature=armature), Setpoint(24.0), 500)
    assert max(drove.current for _, drove in made) == pytest.approx(3.0)
    assert max(abs(drove.voltage) for _, drove in made) == pytest.approx(6.0, rel=1e-12)
    assert made[0][1].active == Active.SUPPLY_VOLTAGE | Active.CURRENT_LIMIT
    assert Active(made[0][1].active).words == 'current limit, supply voltage'


def test_behind_a_limit_the_integral_does_not_wind_up():
    free = run(Drive('velocity', Gains(1e-4, 1e-2)), Setpoint(50.0), 4000)
    held = Drive('velocity', Gains(1e-4, 1e-2), torque_limit=2e-3)
    made = run(held, Setpoint(50.0), 4000)
    most = max(step.relative_speed for step, _ in made)
    assert most < max(step.relative_speed for step, _ in free) + 1.0
    wound = max(drove.integral for _, drove in made)
    assert wound <= 2e-3 + 1e-9


@pytest.mark.parametrize('after_mode', ['torque', 'velocity', 'position', 'integrated_velocity',
                                        'voltage'])  # fmt: skip
@pytest.mark.parametrize('before_mode', ['torque', 'velocity', 'voltage'])
def test_a_mode_begins_without_a_step_of_the_torque(before_mode, after_mode):
    made = run(Drive(before_mode, **GAINS), Setpoint(COMMANDS[before_mode]), 3000)
    step, drove = made[-1]
    drive = Drive(after_mode, **GAINS)
    held, drove = switched(drive, drove, step.state.angle, step.relative_speed, DT)
    (then, _), *_ = run(drive, held, 1, step.state, drove)
    # But for what the gains do of where the rotor goes in that step, which is of order dt.
    moved = 0.06 * abs(then.relative_speed - step.relative_speed)
    moved += 0.2 * abs(then.state.angle - step.state.angle) * (after_mode == 'position')
    assert then.torque == pytest.approx(step.torque, abs=1.01 * moved + 1e-9)


def test_off_is_no_torque_and_nothing_is_remembered():
    drove = DriveState(integral=1.0, current=2.0)
    law = wanted(Drive('velocity', **GAINS), drove, None, 0.0, 5.0, DT)
    assert (law.bounded.torque, law.bounded.slope) == (0.0, 0.0)
    left = after(Drive('velocity', **GAINS), drove, law, 0.0, 0.0, 5.0, DT)
    assert left == DriveState(voltage=0.02 * 5.0)  # what turns an open armature gives


# in a session

SPEEDY = {'wheel.mode': 'velocity', 'wheel.velocity.kp': 1.0, 'wheel.velocity.ki': 10.0}


def test_commands_are_of_the_mode_of_each_motor():
    session = still(**{**SPEEDY, 'motors': ['wheel', 'arm'], 'rate': 1000.0})
    session.advance_to(START)
    session.take(Commands((20.0, 1e-3)), START)
    for k in range(1, 400):
        session.advance_to(START + k * MS)
    (outcome,) = session.advance_to(START + 400 * MS)
    assert outcome.steps[0].relative_speed == pytest.approx(20.0, rel=1e-3)
    assert outcome.torques[1] == 1e-3


@pytest.mark.parametrize(
    ('mode', 'needed'),
    [('velocity', 'velocities'), ('position', 'positions'), ('integrated_velocity', 'velocities'),
     ('damper', 'efforts')],
)  # fmt: skip
def test_a_joint_command_without_what_the_mode_needs_is_refused(mode, needed):
    session = still(**{'wheel.mode': mode, 'wheel.position.kp': 1.0, 'wheel.velocity.kp': 1.0})
    session.advance_to(START)
    lists = {name: (1.0,) for name in ('torques', 'velocities', 'positions')}
    lists['torques' if needed == 'efforts' else needed] = ()
    assert not session.take(JointCommand(START, ('wheel',), **lists), START)
    assert f'1 names with 0 {needed}, the command of mode {mode}' in str(session.news)


def test_the_mode_changed_live_goes_on_from_where_the_rotor_is():
    from mime_motor_ros.settings import settings

    values = {
        'world_frame': 'base_link',
        'rate_source': 'zero',
        'command_timeout': 0.0,
        'rate': 1000.0,
        **SPEEDY,
    }
    session = still(**values)
    session.advance_to(START)
    session.take(JointCommand(START, ('wheel',), (), (20.0,)), START)
    session.advance_to(START + SECOND // 2)
    before = session.torques[0]
    session.update(settings({**values, 'wheel.mode': 'torque'}))
    (outcome,) = session.advance_to(START + SECOND // 2 + MS)
    assert outcome.torques == (before,)


def test_a_group_that_is_off_coasts_and_the_others_go_on():
    session = still(**{
        'motors': ['a', 'b'], 'a.group': 1, 'b.group': 2, 'groups_off': '1',
        'a.initial_spin': 10.0, 'a.friction.coulomb': 1e-4, 'rate': 1000.0,
    })  # fmt: skip
    session.advance_to(START)
    session.take(Commands((1e-3, 1e-3)), START)
    outcomes = session.advance_to(START + 10 * MS)
    assert [outcome.torques for outcome in outcomes[1:]] == [(0.0, 1e-3)] * 9
    assert outcomes[-1].steps[0].state.spin < 10.0


def test_all_drives_of_a_mount_share_a_limit():
    session = still(**{'motors': ['a', 'b'], 'torque_limit': 0.03, 'rate': 1000.0})
    session.advance_to(START)
    session.take(Commands((0.04, -0.02)), START)
    outcome = session.advance_to(START + 5 * MS)[-1]
    assert outcome.torques == pytest.approx((0.02, -0.01))
    assert sum(map(abs, outcome.torques)) <= 0.03 * (1.0 + 1e-15)


def test_a_motor_without_a_drive_gives_the_numbers_it_gave_before():
    plain, driven = still(), still(**{'wheel.limit.torque': 1e3})
    for session in (plain, driven):
        session.advance_to(START)
        session.take(Commands((1e-3,)), START)
        session.advance_to(START + 100 * MS)
    assert driven.states[0].spin == pytest.approx(plain.states[0].spin, rel=1e-12)
    assert plain.states[0].angle == pytest.approx(driven.states[0].angle, rel=1e-12)
