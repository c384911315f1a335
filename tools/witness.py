"""
Run the same motors in MuJoCo and print how far the two agree, as one table.

    python tools/witness.py

Ours is the session as the node runs it, fed with stamped commands; theirs is ``mj_step`` of one
hinge with one actuator and MuJoCo's integrator ``implicitfast``, which takes forces at the new
speed as our steps do. doc/witness.md says how to read the table.

Ends with code 1 when a row does not hold.
"""

from __future__ import annotations

import argparse
import cmath
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, exp, inf, log2, sin
import sys
from typing import Any, NamedTuple

from bench import end_by_signals
from mime_motor_ros.errors import MotorError
from mime_motor_ros.inputs import Commands
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings
from rich.console import Console
from rich.table import Table

EXACT = 1e-12  # of the greatest speed: what is left of floats where the schemes are the same
ORDER = 0.1  # how far an order may be from 1
DT, SECONDS = 5e-4, 0.3  # s; orders are seen between DT and half of it
J, B = 1e-4, 2e-4  # kg m^2, N m s
KP, KD = 2e-2, 5e-4  # N m, N m s
R, L, K, VOLTS = 2.0, 0.06, 0.05, 12.0  # ohm, H, N m/A and V s, V
TORQUE, TURN, RATE, SPIN = 2e-3, 3.0, 20.0, 50.0  # N m, rad, rad/s, rad/s
COULOMB, STALL, COAST = 1e-3, 0.5e-3, 5.0  # N m, N m, rad/s
CREEP, BIAS = 5e-3, 4e-4  # rad/s, rad: what MuJoCo's friction is off by, and more
INTERVAL = 2.5  # steps
WIDTH = 170  # characters, more than the table has
START = 1000.0  # s; a whole number of every interval here
RIG = """
<mujoco>
  <option timestep="{dt}" gravity="0 0 0" integrator="implicitfast"/>
  <worldbody>
    <body>
      <joint name="wheel" type="hinge" axis="0 0 1" {joint}/>
      <inertial pos="0 0 0" mass="1" diaginertia="{J} {J} {J}"/>
    </body>
  </worldbody>
  <actuator><{actuator} joint="wheel"/></actuator>
  <sensor>{sensor}</sensor>
</mujoco>
"""


class WitnessError(MotorError):
    """There is no witness; the text says why."""


class Moved(NamedTuple):
    """What a simulator says after a step."""

    angle: float
    speed: float
    torque: float
    """That acted [N m]; of MuJoCo at the speed before the step."""
    sensed: float = 0.0
    """By the sensor of MuJoCo's rig."""


class Row(NamedTuple):
    """One row of the table."""

    unit: str
    numbers: Sequence[str]
    """Ours, theirs and, '-' where there is no formula, what both should be."""
    reached: str
    stated: str
    holds: bool
    otherwise: str = ''
    """What MuJoCo does otherwise, where that is what holds."""


# --- the two simulators -----------------------------------------------------------------------


def ours(
    motor: dict[str, Any], command: Callable[[int], float], dt: float, steps: int
) -> list[Moved]:
    """Return what a session makes of one motor that is sent a command for every step."""
    session = Session(
        settings(
            {
                'rate': 1.0 / dt,
                'world_frame': 'base_link',  # as mount_frame: it stands still
                'rate_source': 'zero',
                'command_timeout': 0.0,  # an interval may be longer
                **{f'wheel.{name}': value for name, value in ({'inertia': J} | motor).items()},
            }
        )
    )
    first = round(START / dt)
    session.advance_to(session.grid.time_ns(first - 1))
    moved = []
    for k in range(steps):
        now_ns = session.grid.time_ns(first + k)
        session.take(Commands((command(k),)), now_ns)
        for outcome in session.advance_to(now_ns):
            state = outcome.steps[0].state
            moved.append(Moved(state.angle, state.spin, outcome.torques[0]))
    return moved


def theirs(
    actuator: str,
    command: Callable[[int], float],
    dt: float,
    steps: int,
    joint: str = '',
    sensor: str = '',
    speed: float = 0.0,
    activation: float = 0.0,
) -> list[Moved]:
    """Return what MuJoCo makes of one hinge whose control is set before every step."""
    try:
        import mujoco
    except ImportError:
        raise WitnessError('mujoco is not installed; run: make setup') from None

    model = mujoco.MjModel.from_xml_string(
        RIG.format(dt=dt, J=J, joint=joint, actuator=actuator, sensor=sensor)
    )
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    if model.na:
        data.act[0] = activation
    moved = []
    for k in range(steps):
        data.ctrl[0] = command(k)
        mujoco.mj_step(model, data)
        sensed = data.sensordata[0] if sensor else 0.0
        numbers = (data.qpos[0], data.qvel[0], data.actuator_force[0], sensed)
        moved.append(Moved(*map(float, numbers)))
    return moved


# --- a motor that both have, under a constant command -----------------------------------------


class Case(NamedTuple):
    """A motor in the words of both, and the speed it should have at a time."""

    motor: dict[str, Any]
    actuator: Callable[[float], str]
    """For a length of the step."""
    command: float
    speed: Callable[[float], float]
    exact: bool = True
    """Whether the two schemes are the same; else they come together in first order of dt."""
    damping: float = B
    """Of MuJoCo's joint [N m s]."""
    ahead: float = 0.0
    """What its activation is ahead of 0 at the start, a second of the step."""


def response(a2: float, a1: float, a0: float, t: float) -> tuple[float, float]:
    """Return x(t) and x'(t) of a2 x'' + a1 x' + a0 x = 1 from rest."""
    root = cmath.sqrt(a1 * a1 - 4.0 * a2 * a0)
    p, q = (-a1 + root) / (2.0 * a2), (-a1 - root) / (2.0 * a2)
    x = (1.0 + (q * cmath.exp(p * t) - p * cmath.exp(q * t)) / (p - q)) / a0
    return x.real, ((cmath.exp(p * t) - cmath.exp(q * t)) / root).real


def lag(torque: float, slope: float) -> Callable[[float], float]:
    """Return the speed from rest under torque - slope v."""
    return lambda t: torque / slope * (1.0 - exp(-slope * t / J))


DAMPED = {'damping': B}
VELOCITY = {**DAMPED, 'mode': 'velocity', 'velocity.kp': KD}
POSITION = {**DAMPED, 'mode': 'position', 'position.kp': KP, 'position.kd': KD}
INTEGRATED = {'damping': KD, 'mode': 'integrated_velocity', 'position.kp': KP}
DAMPER = {**DAMPED, 'mode': 'damper', 'initial_spin': SPIN}
VOLTAGE = {**DAMPED, 'mode': 'voltage'}
ARMATURE = {**VOLTAGE, 'voltage.resistance': R, 'voltage.torque_constant': K}
SHEET = {
    **VOLTAGE,
    'voltage.nominal': VOLTS,
    'voltage.stall_torque': K * VOLTS / R,
    'voltage.no_load_speed': VOLTS / K,
}
DCMOTOR = f'dcmotor resistance="{R}" motorconst="{K} {K}"'


def turn(t: float) -> float:
    """Return the speed of a rotor whose position is commanded to be TURN."""
    return TURN * KP * response(J, KD + B, KP, t)[1]


def follow(t: float) -> float:
    """Return the speed of a rotor whose target turns with RATE."""
    return RATE * KP * response(J, KD, KP, t)[0]


charge = lag(K * VOLTS / R, K * K / R + B)
CASES = {
    'motor': Case(DAMPED, lambda _: 'motor', TORQUE, lag(TORQUE, B)),
    'velocity': Case(VELOCITY, lambda _: f'velocity kv="{KD}"', RATE, lag(KD * RATE, KD + B)),
    'position': Case(POSITION, lambda _: f'position kp="{KP}" kv="{KD}"', TURN, turn, exact=False),
    'position, implicit': Case(
        POSITION, lambda dt: f'position kp="{KP}" kv="{KD + KP * dt}"', TURN, turn
    ),
    'intvelocity': Case(
        INTEGRATED,
        lambda _: f'intvelocity actrange="-9 9" kp="{KP}" kv="{KD}"',
        RATE,
        follow,
        exact=False,
        damping=0.0,
    ),
    'intvelocity, implicit': Case(
        INTEGRATED,
        lambda dt: f'intvelocity actrange="-9 9" kp="{KP}" kv="{KP * dt}"',
        RATE,
        follow,
        damping=KD,
        ahead=RATE,
    ),
    'damper': Case(
        DAMPER,
        lambda _: 'damper kv="1" ctrlrange="0 1"',
        KD,
        lambda t: SPIN * exp(-(KD + B) * t / J),
    ),
    'dcmotor': Case(ARMATURE, lambda _: DCMOTOR, VOLTS, charge),
    'dcmotor, data sheet': Case(
        SHEET, lambda _: f'dcmotor nominal="{VOLTS} {K * VOLTS / R} {VOLTS / K}"', VOLTS, charge
    ),
    'dcmotor, inductance': Case(
        {**ARMATURE, 'voltage.inductance': L},
        lambda _: f'{DCMOTOR} inductance="{L} 0"',
        VOLTS,
        lambda t: K * VOLTS * response(J * L, J * R + B * L, K * K + R * B, t)[0],
        exact=False,
    ),
}


def compare(name: str) -> Row:
    """Return how a motor of both does, at DT and at half of it."""
    case = CASES[name]
    apart, off, size = [], [], 0.0
    for dt in (DT, DT / 2.0):
        steps = round(SECONDS / dt)
        we = ours(case.motor, lambda _: case.command, dt, steps)
        they = theirs(
            case.actuator(dt),
            lambda _: case.command,
            dt,
            steps,
            f'damping="{case.damping}"',
            speed=case.motor.get('initial_spin', 0.0),
            activation=case.ahead * dt,
        )
        speeds = [moved.speed for moved in we]
        analytic = [case.speed((k + 1) * dt) for k in range(steps)]
        apart.append(greatest(speeds, [moved.speed for moved in they]))
        off.append(greatest(speeds, analytic))
        size = max(map(abs, speeds))
    order, gap = order_of(*off), max(apart) / size
    holds = abs(order - 1.0) <= ORDER
    if case.exact:
        reached, stated = f'{gap:.0e}, order {order:.2f}', f'<= {EXACT:g}, order 1'
        holds = holds and gap <= EXACT
    else:
        between = order_of(*apart)
        reached, stated = f'orders {between:.2f}, {order:.2f}', 'orders 1, 1'
        holds = holds and abs(between - 1.0) <= ORDER
    numbers = shown(we[-1].speed, they[-1].speed, analytic[-1])
    return Row('rad/s', numbers, reached, stated, holds)


def greatest(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the greatest difference."""
    return max(abs(a - b) for a, b in zip(some, others, strict=True))


def order_of(whole: float, half: float) -> float:
    """Return the order of a difference that was seen at a step and at half of it."""
    return log2(whole / half) if whole and half else inf


def shown(*numbers: float) -> list[str]:
    """Return numbers as the table has them."""
    return [f'{number:.6g}' for number in numbers]


# --- when a command acts ----------------------------------------------------------------------


def wave(k: int) -> float:
    """Return a command that moves, and is 0 at first: before, ours has none where theirs is 0."""
    return sin(0.04 * k) if k > 1 else 0.0


def delay(
    steps: float, interpolation: str, command: Callable[[int], float] = wave
) -> tuple[list[float], list[float]]:
    """Return what acts of a command a number of steps later: ours and theirs."""
    interp = 'zoh' if interpolation == 'hold' else interpolation
    late = steps * DT
    motor = {
        'command.delay': late,
        'command.max_delay': late,
        'command.interpolation': interpolation,
    }
    we = ours(motor, command, DT, 500)
    actuator = f'motor delay="{late}" nsample="8" interp="{interp}"'
    they = theirs(actuator, command, DT, 500)
    return [moved.torque for moved in we], [moved.torque for moved in they]


def compare_delay(interpolation: str) -> Row:
    """Return how far a delay of both agrees, which is no whole number of steps."""
    we, they = delay(3.4, interpolation)
    apart, numbers = greatest(we, they), [*shown(we[-1], they[-1]), '-']
    return Row('N m', numbers, f'{apart:.0e}', f'<= {EXACT:g}', apart <= EXACT)


def compare_interval(phase: float) -> Row:
    """Return in which of 15 steps a command is taken: ours, and what a sensor of theirs is."""
    motor = {'command.interval': INTERVAL, 'command.phase': phase}
    we = [moved.torque for moved in ours(motor, lambda k: k + 1.0, 1.0, 15)]
    sensor = f'<actuatorfrc actuator="motor" nsample="1" interval="{INTERVAL} {phase}"/>'
    moved = theirs('motor name="motor"', lambda k: k + 1.0, 1.0, 15, sensor=sensor)
    they = [step.sensed for step in moved]
    # In a step that takes it the command is that of the step.
    taken = [[k for k in range(15) if torques[k] == k + 1.0] for torques in (we, they)]
    instants = (ceil(phase + n * INTERVAL) for n in range(15))
    analytic = [k for k in instants if 0 <= k < 15]
    texts = [' '.join(map(str, steps)) for steps in (*taken, analytic)]
    holds = taken[0] == taken[1] == analytic
    return Row('step', texts, 'the same' if holds else 'others', 'the same', holds)


# --- what MuJoCo does otherwise ---------------------------------------------------------------


def creep() -> Row:
    """Return how fast a rotor turns after 10 s against which friction is twice the torque."""
    we = ours({'damping': 0.0, 'friction.coulomb': COULOMB}, lambda _: STALL, 1e-3, 10_000)
    they = theirs('motor', lambda _: STALL, 1e-3, 10_000, f'frictionloss="{COULOMB}"')
    most = max(abs(moved.angle) + abs(moved.speed) for moved in we)
    numbers, off = shown(we[-1].speed, they[-1].speed, 0.0), they[-1].speed
    holds = most == 0.0 and off > CREEP
    return Row('rad/s', numbers, off_by(most, off), f'0; off > {CREEP:g}', holds, 'MuJoCo creeps')


def coast() -> Row:
    """Return where a rotor comes to rest by dry friction: theirs has a bias at any step."""
    motor = {'damping': 0.0, 'initial_spin': COAST, 'friction.coulomb': COULOMB}
    joint = f'frictionloss="{COULOMB}"'
    we, they = [], []
    for dt in (DT, DT / 2.0):
        steps = round(1.0 / dt)
        we.append(ours(motor, lambda _: 0.0, dt, steps)[-1])
        they.append(theirs('motor', lambda _: 0.0, dt, steps, joint, speed=COAST)[-1])
    analytic = J * COAST**2 / (2.0 * COULOMB)
    order = order_of(*(abs(moved.angle - analytic) for moved in we))
    off = abs(2.0 * they[1].angle - they[0].angle - analytic)  # what is left at a step of 0
    holds = abs(order - 1.0) <= ORDER and we[0].speed == we[1].speed == 0.0
    holds = holds and off > BIAS and all(moved.speed for moved in they)
    numbers = shown(we[1].angle, they[1].angle, analytic)
    reached, stated = f'order {order:.2f}; off {off:.2g}', f'order 1; off > {BIAS:g}'
    return Row('rad', numbers, reached, stated, holds, 'MuJoCo never stops')


def supply() -> Row:
    """Return the speed at a command of twice the supply: theirs does not bound the voltage."""
    steps, half, joint = round(SECONDS / DT), VOLTS / 2.0, f'damping="{B}"'
    limited = f'{DCMOTOR} controller="0 0 0 0 0 {half}"'
    we = ours({**ARMATURE, 'voltage.supply': half}, lambda _: VOLTS, DT, steps)[-1].speed
    they = theirs(limited, lambda _: VOLTS, DT, steps, joint)[-1].speed
    right = theirs(limited, lambda _: half, DT, steps, joint)[-1].speed
    gap, off = abs(we / right - 1.0), abs(they / right - 1.0)
    holds = gap <= EXACT and abs(off - 1.0) <= EXACT
    numbers = shown(we, they, 0.5 * charge(SECONDS))
    stated = f'<= {EXACT:g}; twice'
    return Row('rad/s', numbers, off_by(gap, off), stated, holds, 'MuJoCo goes beyond')


def ramp(steps: float, interpolation: str, least: float, otherwise: str) -> Row:
    """Return what acts of a command that goes up by 1 a step: theirs is off by more than that."""
    we, they = delay(steps, interpolation, float)
    analytic = len(we) - 1.0 - steps
    gap, off = abs(we[-1] / analytic - 1.0), abs(they[-1] - analytic)
    holds = gap <= EXACT and off > least
    stated, numbers = f'<= {EXACT:g}; off > {least:g}', shown(we[-1], they[-1], analytic)
    return Row('N m', numbers, off_by(gap, off), stated, holds, otherwise)


def off_by(ours: float, theirs: float) -> str:
    """Return how far ours and theirs are from what is right."""
    return f'{ours:.0e}; off {theirs:.2g}'


ROWS: dict[str, Callable[[], Row]] = {
    **{name: partial(compare, name) for name in CASES},
    'delay, hold': partial(compare_delay, 'hold'),
    'delay, linear': partial(compare_delay, 'linear'),
    'delay, cubic': partial(compare_delay, 'cubic'),
    'interval': partial(compare_interval, 0.0),
    'interval, phase': partial(compare_interval, -1.5),
    'friction, stalled': creep,
    'friction, coasting': coast,
    'dcmotor, Vmax': supply,
    'delay < a step': partial(ramp, 0.4, 'linear', 0.5, 'MuJoCo: a whole step'),
    'cubic, newest': partial(ramp, 1.5, 'cubic', 0.1, 'MuJoCo: slope 0'),
}


# --- the table --------------------------------------------------------------------------------


def table(rows: dict[str, Row]) -> Table:
    """Return all rows as a table."""
    heads = ('', 'unit', 'ours', 'theirs', 'analytic', 'reached', 'stated', '')
    filled = Table(*heads, title='Witness')
    for name, row in rows.items():
        verdict = f'holds: {row.otherwise}'.rstrip(': ') if row.holds else 'DOES NOT HOLD'
        filled.add_row(name, row.unit, *row.numbers, row.reached, row.stated, verdict)
    return filled


def main() -> int:
    """Compare, print; return 1 when a row does not hold."""
    argparse.ArgumentParser(
        prog='witness.py', description='Compare with MuJoCo; 1 = a row does not hold.'
    ).parse_args()
    end_by_signals()
    try:
        rows = {name: row() for name, row in ROWS.items()}
    except WitnessError as error:
        print(f'witness: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    Console(width=WIDTH).print(table(rows))
    print('Reached: ours against theirs, then ours against the analytic; orders are of dt.')
    print('Where MuJoCo does otherwise: ours, then theirs, against what is right.')
    failed = [name for name, row in rows.items() if not row.holds]
    for name in failed:
        print(f'does not hold: {name}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
