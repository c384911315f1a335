"""Whole rollouts against the same steps taken one by one, compiled and plain; what is refused."""

from contextlib import redirect_stdout
import io
from math import nan, pi, sin
import os
from pathlib import Path
import re
import subprocess
import sys

from mime_motor_ros.axial import Friction, Gear
from mime_motor_ros.compiling import SAID
from mime_motor_ros.drive import after, Armature, at_rest, Drive, Gains, MODES, Setpoint, wanted
from mime_motor_ros.energy import Energy, Exchange
from mime_motor_ros.errors import MotorError, ParameterError
from mime_motor_ros.imbalance import Imbalance
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
from mime_motor_ros.rollout import rollout, RolloutMotor, WIDTHS
from mime_motor_ros.sensing import Encoder, Reading, sense, Sensors, Tachometer, TorqueSensor
from mime_motor_ros.winding import Winding
import numpy as np
import pytest

N = 50
WHEEL = MotorParameters(1e-3, 1e-4)
SKEW = MotorParameters(
    0.02,
    0.03,
    (0.0, 0.6, 0.8),
    (0.005, 0.0, 0.0, -0.0032, 0.0024, -0.0018),
    Pose((0.3, -0.2, 0.1), (0.5, -0.5, 0.1, 0.7)),
)
ROUGH = MotorParameters(1e-3, 1e-4, friction=Friction(2e-3, 3e-3, 0.5, 1e-6, 1e-8))
GEARED = MotorParameters(1e-3, 1e-4, friction=Friction(1e-3), gear=Gear(5.0, 1e-5))
SHAKING = MotorParameters(
    1e-3, 1e-4, imbalance=Imbalance(1e-5, (1.0, 0.0, 0.0), 1e-7, (0.0, 1.0, 0.0))
)
ARMATURE = Armature(0.5, 0.02, 0.02, 1e-3, 0.9, 24.0, 5.0)


def moving(n=N):
    """Return poses, angular velocities and loads of a tumbling mount."""
    t = np.arange(n)[:, None] * 1e-3
    turns = np.hstack([np.sin(3.0 * t), np.cos(2.0 * t), 0.3 + 0.0 * t, 1.0 + 0.5 * np.sin(t)])
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    positions = np.hstack([t, 2.0 * t, np.cos(t)])
    rates = np.hstack([np.sin(5.0 * t), 1.0 + t, np.cos(7.0 * t)])
    loads = 1e-3 * np.sin(np.arange(1, 13) * (1.0 + 40.0 * t))
    return np.hstack([positions, turns]), rates, loads


def one_by_one(motor, dt, command, mount, rates, loads, start=None):
    """Return the steps of a motor as a session takes them: step, drive and reading."""
    model, drive, sensors = motor
    state, drove, reading = start or MotorState(), at_rest(drive), Reading()
    drive_spin, made, energy = None, [], Energy()
    for i in range(len(command)):
        pose = Pose(tuple(mount[i, :3].tolist()), tuple(mount[i, 3:].tolist()))
        rate = tuple(rates[i].tolist())
        on = loads[i].tolist()
        stator = Wrench(tuple(on[:3]), tuple(on[3:6]))
        rotor = Wrench(tuple(on[6:9]), tuple(on[9:]))
        if drive.is_plain and not model.gear.inertia:
            torque = 0.0 if np.isnan(command[i]) else float(command[i])
            before = None
            step = advance(model, state, StepInputs(pose, rate, torque, stator, rotor), dt)
        else:
            plain = advance(model, state, StepInputs(pose, rate), dt)  # for the axis
            axis = np.array(plain.momentum) / np.linalg.norm(plain.momentum)
            axis *= np.sign(plain.state.spin)
            about = float(axis @ rates[i])
            speed = state.spin - about
            if drive_spin is None:
                drive_spin = about + model.gear.ratio * speed
            setpoint = None if np.isnan(command[i]) else Setpoint(float(command[i]))
            law = wanted(drive, drove, setpoint, state.angle, speed, dt)
            given = StepInputs(pose, rate, 0.0, stator, rotor, law.bounded, drive_spin)
            step = advance(model, state, given, dt)
            drove = after(
                drive, drove, law, step.torque, step.state.angle, step.relative_speed, dt
            )
            before, drive_spin = drive_spin, step.drive_spin
        energy.add(model, state, step, dt, before if model.gear.inertia else None)
        state = step.state
        measured, reading = sense(
            sensors, reading, state.angle, step.relative_speed, step.torque, dt
        )
        sums = Exchange(energy.work, energy.dissipated, energy.stored)
        made.append((step, drove, measured, sums))
    return made


def numbers(name, step, drove, measured, energy):
    """Return what is kept of one step under a name."""
    if name.startswith('measured_'):
        value = getattr(measured, name.removeprefix('measured_'))
        return nan if value is None else value
    if name in Exchange._fields:
        return getattr(energy, name)
    if name in ('current', 'voltage', 'temperature'):
        return getattr(drove, name)
    if name in ('angle', 'spin'):
        return getattr(step.state, name)
    if name in ('reaction', 'mount_wrench', 'rotor'):
        return np.concatenate(getattr(step, name))
    return {
        'limits': drove.active,
        'speed': step.relative_speed,
        'torque': step.torque,
        'friction_torque': step.friction_torque,
        'load_torque': step.load_torque,
        'momentum': step.momentum,
    }[name]


MOTORS = {
    'plain': RolloutMotor(WHEEL),
    'asymmetric': RolloutMotor(SKEW),
    'rough': RolloutMotor(ROUGH),
    'geared': RolloutMotor(GEARED),
    'shaking': RolloutMotor(SHAKING),
    'measured': RolloutMotor(
        WHEEL,
        sensors=Sensors(
            Encoder(4096), Tachometer(0.1, 0.2, 50.0, 0.01), TorqueSensor(1e-3, 0.0, 100.0), 7, 'a'
        ),
    ),
    'warm': RolloutMotor(
        GEARED,
        Drive(
            'voltage',
            armature=ARMATURE,
            ratio=-2.0,
            command_limit=10.0,
            dead_zone=1e-3,
            winding=Winding(2.0, 0.01, limit=26.0, maximum=60.0),
        ),
        Sensors(Encoder(4096)),
    ),
} | {
    f'drive {mode}': RolloutMotor(
        ROUGH,
        Drive(
            mode,
            Gains(0.05, 0.5),
            Gains(0.2, 0.5, 0.01),
            ARMATURE,
            torque_limit=0.04,
            slew_rate=20.0,
            speed_limit=3.0,
            power_limit=0.05,
        ),
    )
    for mode in MODES
}


def commands(motor):
    """Return commands that come, stop and change sign."""
    size = {'torque': 0.02, 'voltage': 12.0, 'damper': 0.5}.get(motor.drive.mode, 4.0)
    values = size * np.sin(np.arange(N) / 8.0)
    values[20:25] = nan
    return values


@pytest.mark.parametrize('name', MOTORS)
def test_all_that_is_kept_is_what_single_steps_give(name):
    motor, start = MOTORS[name], MotorState(0.3, 2.0)
    mount, rates, loads = moving()
    made = rollout(
        motor,
        dt=1e-3,
        command=commands(motor),
        initial=start,
        mount=mount,
        mount_rate=rates,
        loads=loads,
        keep=tuple(WIDTHS),
    )
    single = one_by_one(motor, 1e-3, commands(motor), mount, rates, loads, start)
    for kept in WIDTHS:
        right = np.array([numbers(kept, *step) for step in single], dtype=float)
        assert made[kept].shape == (1, *right.shape)
        assert made[kept][0] == pytest.approx(right, rel=1e-11, abs=1e-13, nan_ok=True), kept


def test_the_bare_rotor_is_the_closed_form():
    made = rollout(WHEEL, dt=1e-3, command=np.full(N, 0.01))
    k = np.arange(1, N + 1)
    final = 0.01 / 1e-4
    right = final * (1.0 - (1.0 / (1.0 + 1e-3 * 1e-4 / 1e-3)) ** k)
    assert made['spin'][0] == pytest.approx(right, rel=1e-12)
    assert list(made) == ['angle', 'spin']
    assert len(made) == 2


def test_motors_are_those_alone_whatever_they_are_beside():
    motors = [WHEEL, RolloutMotor(ROUGH), MOTORS['drive velocity']]
    command = np.random.default_rng(3).normal(size=(3, N))
    mount, rates, loads = moving()
    each = np.stack([loads, 2.0 * loads, -loads])
    states = [MotorState(), MotorState(1.0, 2.0), MotorState(0.0, -3.0)]
    given = {'dt': 1e-3, 'mount': mount, 'mount_rate': rates}
    made = rollout(motors, command=command, loads=each, initial=states, **given)
    for m, motor in enumerate(motors):
        alone = rollout(motor, command=command[m], loads=each[m], initial=states[m], **given)
        for name in made:
            assert np.array_equal(made[name][m], alone[name][0])


@pytest.fixture
def plain(monkeypatch):
    """Have rollouts run as on a machine without numba."""
    import mime_motor_ros.rollout  # noqa: F401  its name in the package is that of the function

    module = sys.modules['mime_motor_ros.rollout']

    def as_plain(*args, **kwargs):
        with monkeypatch.context() as patch:
            patch.setattr(module, 'numba', lambda: None)
            return rollout(*args, **kwargs)

    return as_plain


@pytest.mark.parametrize('name', MOTORS)
def test_compiled_it_is_the_plain_one_to_the_bit(name, plain):
    pytest.importorskip('numba', reason='needs numba, an extra of the package')
    motor = MOTORS[name]
    mount, rates, loads = moving()
    given = {
        'dt': np.linspace(1e-3, 2e-3, N),
        'command': commands(motor),
        'initial': MotorState(0.3, 2.0),
        'mount': mount,
        'mount_rate': rates,
        'loads': loads,
        'gravity': (0.01, 0.3),
        'keep': tuple(WIDTHS),
    }
    fast, slow = rollout(motor, **given), plain(motor, **given)
    for kept in WIDTHS:
        assert np.array_equal(fast[kept], slow[kept], equal_nan=True), kept
    assert repr(fast.state) == repr(slow.state)


def test_whole_numbers_are_numbers_too():
    def of(one, two):
        friction, gear = Friction(one), Gear(two, one)
        model = MotorParameters(one, one, (0, 0, two), friction=friction, gear=gear)
        drive = Drive('velocity', Gains(two, one), torque_limit=two)
        return RolloutMotor(model, drive, Sensors(Encoder(8), Tachometer(one), None, 2**70))

    given = {'dt': 1, 'command': [1, 2, 3], 'keep': ('angle', 'measured_speed')}
    whole = rollout(of(1, 2), initial=MotorState(1, 2), every=np.int64(2), **given)
    right = rollout(of(1.0, 2.0), initial=MotorState(1.0, 2.0), every=2, **given)
    assert repr(whole.state) == repr(right.state)
    assert np.array_equal(whole['measured_speed'], right['measured_speed'])


def test_threads_change_nothing():
    motors = [*MOTORS.values()] * 3
    command = np.random.default_rng(5).normal(size=(len(motors), N))
    given = {'dt': 1e-3, 'command': command, 'keep': tuple(WIDTHS)}
    one, four = rollout(motors, threads=1, **given), rollout(motors, threads=4, **given)
    assert np.array_equal(one['spin'], four['spin'])
    assert np.array_equal(one['limits'], four['limits'])
    assert repr(one.state) == repr(four.state)


def compiled_in(folder):
    """Return what a process says that rolls a motor out, with its compiled code in a folder."""
    code = (
        'import numpy as np\n'
        'from mime_motor_ros.model import MotorParameters\n'
        'from mime_motor_ros.rollout import rollout\n'
        'for _ in range(2):\n'
        "    print(rollout(MotorParameters(1.0), dt=0.1, command=np.ones(2))['spin'])"
    )
    done = subprocess.run(
        [sys.executable, '-c', code],
        env={**os.environ, 'NUMBA_CACHE_DIR': str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == '[[0.1 0.2]]\n' * 2
    return done.stderr


def test_that_it_compiles_is_said_once_and_what_it_compiled_is_kept(tmp_path):
    pytest.importorskip('numba', reason='needs numba, an extra of the package')
    assert compiled_in(tmp_path) == f'{SAID}\n'
    assert compiled_in(tmp_path) == ''


def test_nothing_but_a_rollout_imports_numba():
    code = (
        'import sys\n'
        'import mime_motor_ros.session, mime_motor_ros.rollout\n'
        "print([name for name in sys.modules if name.startswith(('numba', 'llvm'))])"
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == '[]\n'


@pytest.mark.parametrize('name', MOTORS)
def test_two_halves_are_the_whole(name):
    motor = MOTORS[name]
    mount, rates, loads = moving()
    dt = np.linspace(1e-3, 2e-3, N)
    keep = tuple(WIDTHS)

    def part(cut, initial):
        return rollout(
            motor,
            dt=dt[cut],
            command=commands(motor)[cut],
            mount=mount[cut],
            mount_rate=rates[cut],
            loads=loads[cut],
            initial=initial,
            keep=keep,
        )

    whole, first = part(slice(None), None), part(slice(0, 22), None)
    second = part(slice(22, None), first.state)
    assert repr(second.state) == repr(whole.state)  # NaN stands for what there is not
    for kept in keep:
        both = np.concatenate([first[kept], second[kept]], axis=1)
        assert np.array_equal(both, whole[kept], equal_nan=True)


def test_of_every_third_step_the_first_is_kept():
    given = {'dt': 1e-3, 'command': np.sin(np.arange(N)), 'keep': ('angle', 'momentum')}
    all_of_them, some = rollout(WHEEL, **given), rollout(WHEEL, every=3, **given)
    assert some['angle'].shape == (1, 17)
    for name in some:
        assert np.array_equal(some[name], all_of_them[name][:, ::3])


@pytest.mark.parametrize('every', [1, 3, 60])
def test_in_parts_it_is_the_same(every, monkeypatch):
    import mime_motor_ros.rollout  # noqa: F401  its name in the package is that of the function

    mount, rates, loads = moving()
    given = {
        'dt': np.linspace(1e-3, 2e-3, N),
        'command': np.sin(np.arange(N)),
        'mount': mount,
        'mount_rate': rates,
        'loads': loads[None],
        'every': every,
        'keep': tuple(WIDTHS),
    }
    whole = rollout(MOTORS['measured'], **given)
    monkeypatch.setattr(sys.modules['mime_motor_ros.rollout'], 'LENGTH', 7)
    parts = rollout(MOTORS['measured'], **given)
    for name in WIDTHS:
        assert np.array_equal(whole[name], parts[name], equal_nan=True)
    assert repr(parts.state) == repr(whole.state)


def test_gravity_is_a_load_about_the_axis_by_the_angle():
    made = rollout(
        [WHEEL, WHEEL],
        dt=1e-3,
        command=np.zeros(N),
        initial=MotorState(0.4),
        gravity=([0.02, 0.0], pi / 2.0),
        keep=('angle', 'load_torque'),
    )
    before = np.concatenate([[0.4], made['angle'][0, :-1]])
    right = [-0.02 * sin(angle - pi / 2.0) for angle in before]
    assert made['load_torque'][0] == pytest.approx(right, rel=1e-12)
    assert not made['load_torque'][1].any()


@pytest.mark.parametrize(
    ('wrong', 'line'),
    [
        ({'dt': 0.0}, r'dt must be finite and > 0 s, a number or of shape \(4,\), got 0.0.'),
        ({'dt': [1.0, 1.0]}, r'dt must be .*, got shape \(2,\)\.'),
        (
            {'command': np.zeros((3, 4))},
            r'command must be .* \(1, N\), N >= 1, got shape \(3, 4\)',
        ),
        ({'command': [0.0, np.inf, 0.0, 0.0]}, 'command must be .*, not all finite'),
        ({'command': 'fast'}, 'command must be numbers, got str'),
        ({'mount': np.zeros((4, 7))}, 'mount must be poses with quaternions of length 1, got len'),
        ({'mount': np.zeros((4, 6))}, r'mount must be None or finite .* \(4, 7\) \[x y z'),
        ({'mount_rate': np.full((4, 3), nan)}, r'mount_rate must be .*, not all finite'),
        ({'loads': np.zeros((2, 4, 12))}, r'loads must be .* \(4, 12\) or \(1, 4, 12\) \[N'),
        ({'gravity': 3.0}, r'gravity must be None or \(moment'),
        ({'gravity': ([1.0, 2.0], 0.0)}, r'gravity must be .*, got shape \(2,\) and shape \(\)'),
        ({'keep': 'spin'}, "keep must be names of angle, spin, .*, got 'spin'"),
        ({'keep': ('spin', 'omega')}, "keep must be names of .*, got 'omega'"),
        ({'keep': None}, 'keep must be names of .*, got None'),
        ({'keep': 3}, 'keep must be names of .*, got 3'),
        ({'keep': ()}, r'keep must be names of .*, got \(\)'),
        ({'keep': [['spin']]}, r"keep must be names of .*, got \['spin'\]"),
        ({'every': 0}, 'every must be a whole number >= 1, got 0'),
        ({'threads': 0}, 'threads must be a whole number >= 1, got 0'),
        ({'initial': [MotorState()] * 2}, 'initial must be None, .* sequence of 1 of them, got 2'),
        ({'initial': MotorState(nan)}, 'initial must be of finite angle .*, got'),
        ({'initial': 3}, 'initial must be None, .* sequence of 1 of them, got 0 of int'),
    ],
)
def test_what_breaks_a_rule_is_one_line(wrong, line):
    with pytest.raises(ParameterError, match=line) as caught:
        rollout(WHEEL, **{'dt': 1e-3, 'command': np.zeros(4), **wrong})
    assert '\n' not in str(caught.value)


def test_something_that_is_no_motor_is_refused():
    with pytest.raises(ParameterError, match='motors must be a RolloutMotor or MotorParameters'):
        rollout([3.0], dt=1e-3, command=np.zeros(4))
    with pytest.raises(ParameterError, match='motors must be .* at least one of them, got list'):
        rollout([], dt=1e-3, command=np.zeros(4))
    for nothing in (None, 5, ''):
        with pytest.raises(ParameterError, match='motors must be a RolloutMotor or'):
            rollout(nothing, dt=1e-3, command=np.zeros(4))
    with pytest.raises(ParameterError, match='model of motor 1 must be a MotorParameters, got No'):
        rollout([WHEEL, RolloutMotor(None)], dt=1e-3, command=np.zeros(4))
    with pytest.raises(ParameterError, match='drive of motor 0 must be a Drive, got int'):
        rollout(RolloutMotor(WHEEL, 3), dt=1e-3, command=np.zeros(4))


def test_what_does_not_fit_into_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(np, 'empty', lambda *_: bytearray(2**62))
    with pytest.raises(MotorError, match='What is to be kept, 8 numbers, does not fit into the m'):
        rollout(WHEEL, dt=1e-3, command=np.zeros(4))


@pytest.mark.parametrize('every', [5, 10**30, np.int64(7)])
def test_of_fewer_steps_than_every_the_first_is_kept(every):
    made = rollout(WHEEL, dt=1e-3, command=np.ones(4), every=every)
    assert made['spin'].shape == (1, 1)
    assert made['spin'][0, 0] == rollout(WHEEL, dt=1e-3, command=np.ones(4))['spin'][0, 0]


@pytest.mark.parametrize('keep', [np.array(['spin']), (name for name in ['spin']), {'spin'}])
def test_what_is_kept_may_be_anything_of_names(keep):
    assert list(rollout(WHEEL, dt=1e-3, command=np.ones(4), keep=keep)) == ['spin']


def test_numbers_beyond_computing_are_told_with_the_motor():
    with pytest.raises(MotorError, match='The numbers of motor 1 grow beyond computing'):
        rollout([WHEEL, WHEEL], dt=1e3, command=np.array([[0.0] * 9, [1e307] * 9]))


def test_the_example_of_the_page_prints_what_stands_beside_it():
    page = (Path(__file__).parents[1] / 'doc' / 'offline.md').read_text(encoding='utf-8')
    section = page.partition('\n## rollout\n')[2].partition('\n## ')[0]
    (program,) = re.findall(r'^```python\n(.*?)^```', section, re.DOTALL | re.MULTILINE)
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, 'offline.md', 'exec'), {})
    said = re.findall(r'^print\(.*\)  # (.*)$', program, re.MULTILINE)
    assert printed.getvalue().splitlines() == said
