"""
Draw the figures of the pages in doc/, out of the model's own numbers.

    python tools/figures_of_doc.py [--folder doc] [--dpi 130] [NAME ...]

They are narrow, with large letters, so that they can be read on a phone, and told apart by line
styles and words, so that they can be printed in grey. Only the drawing needs matplotlib.
"""

from __future__ import annotations

import argparse
from math import cos, pi, sin
from pathlib import Path
import sys
from typing import Any, NamedTuple

from mime_motor_ros.axial import Friction
from mime_motor_ros.inputs import Commands, Imu, Transform
from mime_motor_ros.model import advance, compose, MotorParameters, MotorState, Pose, StepInputs
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings
from mime_motor_ros.vector import (
    about,
    add,
    conjugate,
    cross,
    multiply,
    norm,
    normalized,
    rotate,
    scale,
    subtract,
    Vector,
)
from plot import GREY, INK, PALE

FOLDER = Path(__file__).resolve().parents[1] / 'doc'
WIDTH = 5.6  # inch
DT = 1e-3  # s
DARK, MID, LIGHT = '#0b3d91', '#c2410c', '#7c8a99'  # dark, middle and light in grey too
STYLE = {
    'font.size': 11.5,
    'text.color': INK,
    'axes.labelcolor': INK,
    'axes.edgecolor': GREY,
    'xtick.color': INK,
    'ytick.color': INK,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.titlelocation': 'left',
    'axes.titlesize': 12.5,
    'axes.titleweight': 'bold',
    'lines.linewidth': 2.0,
    'legend.frameon': False,
}

# --- what is shown ----------------------------------------------------------------------------

COASTING = MotorParameters(inertia=1e-4)
STUCK = MotorParameters(inertia=1e-4, friction=Friction(coulomb=0.01))
FIRST, HIGH, TURN_END = 20.0, 8.0, 10.0  # rad/s, rad/s, s


class Turn(NamedTuple):
    """A wheel on a mount that turns about the wheel's axis, at the end of one step."""

    time: float
    spin: float
    relative: float
    rate: float


def swing(time: float) -> float:
    """Return the rate of a mount [rad/s] that stands, turns for a while and stands again."""
    if not 2.0 <= time <= 8.0:
        return 0.0
    return HIGH * 0.5 * (1.0 - cos(pi * min(1.0, time - 2.0, 8.0 - time)))


def turned(motor: MotorParameters, spin: float) -> list[Turn]:
    """Return what becomes of a wheel while its mount turns about the wheel's axis."""
    state, angle, found = MotorState(spin=spin), 0.0, []
    for count in range(1, round(TURN_END / DT) + 1):
        rate = swing(count * DT)
        angle += rate * DT
        mount = Pose(orientation=about((0.0, 0.0, 1.0), angle))
        step = advance(motor, state, StepInputs(mount, (0.0, 0.0, rate)), DT)
        state = step.state
        found.append(Turn(count * DT, state.spin, step.relative_speed, rate))
    return found


WHEEL = MotorParameters(inertia=1e-4, damping=1e-5)
WHEEL_SPIN = 200.0  # rad/s
NOD, NOD_PERIOD, NOD_END = 0.5, 4.0, 8.0  # rad/s, s, s


class Nod(NamedTuple):
    """Reaction and mount wrench on a mount that nods, torques in mount axes [N m]."""

    time: float
    reaction: Vector
    wrench: Vector


def nodding() -> list[Nod]:
    """Return what a coasting wheel with its axis along z does to a mount that nods about x."""
    state, angle, found = MotorState(spin=WHEEL_SPIN), 0.0, []
    for count in range(1, round(NOD_END / DT) + 1):
        rate = NOD * sin(2.0 * pi * count * DT / NOD_PERIOD)
        angle += rate * DT
        mount = Pose(orientation=about((1.0, 0.0, 0.0), angle))
        step = advance(WHEEL, state, StepInputs(mount, (rate, 0.0, 0.0)), DT)
        state = step.state
        back = conjugate(mount.orientation)
        felt = (rotate(back, step.reaction.torque), rotate(back, step.mount_wrench.torque))
        found.append(Nod(count * DT, *felt))
    return found


BODY = (0.02, 0.03, 0.04)  # kg m^2, about the axes of the body
BODY_RATE = (0.3, 0.1, 0.0)  # rad/s
BODY_END = 20.0  # s
WAYS = ('mount wrench', 'reaction, H in the solve', 'reaction alone')


def free(way: str) -> list[tuple[float, float]]:
    """
    Return how far the angular momentum of a free body with a wheel wanders off.

    Of each step the time [s] and the change since the start [N m s], which ought to be nothing.
    """
    pose, rate, state = Pose(), BODY_RATE, MotorState(spin=WHEEL_SPIN)
    found, first = [], None
    for count in range(1, round(BODY_END / DT) + 1):
        rate_W = rotate(pose.orientation, rate)
        step = advance(WHEEL, state, StepInputs(pose, rate_W), DT)
        state = step.state
        used = step.mount_wrench if way == 'mount wrench' else step.reaction
        torque = rotate(conjugate(pose.orientation), used.torque)
        carried = own(rate)
        if way == 'reaction, H in the solve':
            carried = add(carried, rotate(conjugate(pose.orientation), step.momentum))
        torque = subtract(torque, cross(rate, carried))
        rate = tuple(w + DT * t / i for w, t, i in zip(rate, torque, BODY, strict=True))
        turn = norm(rate) * DT
        if turn:
            by = about(scale(DT / turn, rate), turn)
            pose = Pose(orientation=normalized(multiply(pose.orientation, by)))
        axis = rotate(pose.orientation, (0.0, 0.0, 1.0))
        total = add(rotate(pose.orientation, own(rate)), scale(WHEEL.inertia * state.spin, axis))
        first = first or total
        found.append((count * DT, norm(subtract(total, first))))
    return found


def own(rate: Vector) -> Vector:
    """Return the angular momentum of the body without the wheel, in its own axes."""
    x, y, z = (i * w for i, w in zip(BODY, rate, strict=True))
    return x, y, z


class Row(NamedTuple):
    """What came of one input: the times of its samples [s]."""

    name: str
    times: list[float]


class Rules(NamedTuple):
    """What a session makes of inputs, one of which falls silent and one of which ends."""

    inputs: list[Row]
    steps: list[tuple[float, float]]
    """Of each step its end [s] and the torque that acted [N m]."""


RULES_END, SILENT, BACK = 1.0, 0.3, 0.7  # s
LAST_COMMAND = 0.12  # s
TIMEOUTS = {'rate_timeout': 0.1, 'command_timeout': 0.4, 'pose_timeout': 0.5}


def rules() -> Rules:
    """Run a session whose IMU falls silent for a while and whose commands end."""
    session = Session(settings({'rate': 50.0, **TIMEOUTS}))
    start = 1000.0
    rows = {'pose (TF)': [], 'rate (IMU)': [], 'command': []}  # type: dict[str, list[float]]
    steps = []
    for ms in range(0, round(RULES_END * 1000) + 1, 2):
        time, now = ms / 1000, round((start + ms / 1000) * 1e9)
        if ms % 50 == 0:
            session.take(
                Transform(now, 'odom', 'base_link', (0.0,) * 3, (0.0, 0.0, 0.0, 1.0)), now
            )
            rows['pose (TF)'].append(time)
        if ms % 20 == 0 and not SILENT < time < BACK:
            session.take(Imu(now, 'base_link', (0.5, 0.0, 0.0)), now)
            rows['rate (IMU)'].append(time)
        if ms % 40 == 0 and time <= LAST_COMMAND:
            session.take(Commands((1e-3,)), now)
            rows['command'].append(time)
        for outcome in session.advance_to(now):
            steps.append(((outcome.stamp_ns * 1e-9) - start, outcome.torques[0]))
    return Rules([Row(*row) for row in rows.items()], steps)


# --- the figures ------------------------------------------------------------------------------


def draw_spin(plt: Any) -> Any:
    """Draw absolute and relative spin of a wheel that coasts, and of one that sticks."""
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 5.6), sharex=True, layout='constrained')
    for axes, (title, motor, spin) in zip(
        panels,
        (('A wheel that coasts', COASTING, FIRST), ('A wheel that sticks', STUCK, 0.0)),
        strict=True,
    ):
        points = turned(motor, spin)
        times = [point.time for point in points]
        for values, look, name in (
            ([p.spin for p in points], {'color': DARK, 'lw': 2.6}, 'spin, absolute'),
            ([p.relative for p in points], {'color': MID, 'ls': '--'}, 'speed against the stator'),
            (
                [p.rate for p in points],
                {'color': LIGHT, 'ls': ':', 'lw': 3.0},
                'rate of the mount',
            ),
        ):
            axes.plot(times, values, label=name, **look)
        axes.set_title(title)
        axes.set_ylabel('rad/s')
        axes.set_xlim(0.0, TURN_END)
        axes.set_ylim(-1.5, 24.0)
    panels[1].legend(loc='upper left')
    panels[1].set_xlabel('time [s]')
    return figure


def draw_wrench(plt: Any) -> Any:
    """Draw reaction and mount wrench of a coasting wheel on a mount that nods."""
    points = nodding()
    times = [point.time for point in points]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.7), layout='constrained')
    for values, look, name in (
        ([1e3 * p.wrench[1] for p in points], {'color': DARK, 'lw': 2.6}, 'mount wrench, about y'),
        ([1e3 * p.reaction[1] for p in points], {'color': MID, 'ls': '--'}, 'reaction, about y'),
        (
            [1e3 * p.wrench[2] for p in points],
            {'color': LIGHT, 'ls': ':', 'lw': 3.0},
            'both, about z (drag)',
        ),
    ):
        axes.plot(times, values, label=name, **look)
    axes.set_title('Torque on a mount that nods about x')
    axes.set_xlabel('time [s]')
    axes.set_ylabel('mN m')
    axes.set_xlim(0.0, NOD_END)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.75 * (high - low))
    axes.legend(loc='upper left')
    return figure


def draw_momentum(plt: Any) -> Any:
    """Draw how well a free body keeps its angular momentum, driven in three ways."""
    figure, axes = plt.subplots(figsize=(WIDTH, 3.5), layout='constrained')
    looks = (
        {'color': DARK, 'lw': 2.6},
        {'color': LIGHT, 'ls': ':', 'lw': 4.0},
        {'color': MID, 'ls': '--'},
    )
    for way, look in zip(WAYS, looks, strict=True):
        points = free(way)[:: round(0.02 / DT)]
        axes.plot([t for t, _ in points], [1e3 * h for _, h in points], label=way, **look)
    axes.set_title('How far the momentum of a free body drifts')
    axes.set_xlabel('time [s]')
    axes.set_ylabel('mN m s')
    axes.set_xlim(0.0, BODY_END)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.5 * (high - low))
    axes.legend(loc='upper left')
    return figure


MOUNT = Pose((0.2, 2.1, 0.5), about((0.0, 0.0, 1.0), 0.3))
PLACEMENT = Pose((-0.2, 1.75, 0.95), about((1.0, 0.0, 0.0), -0.4))
UNITS = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 1.0, 0.0), 'z': (0.0, 0.0, 1.0)}


def flat(point: Vector) -> tuple[float, float]:
    """Return where a point in world axes is on the paper."""
    x, y, z = point
    return y - 0.5 * x, z - 0.42 * x - 0.08 * y


def draw_frames(plt: Any) -> Any:
    """Draw world, mount, stator and rotor, as the model places them."""
    motor = MotorParameters(inertia=1e-4, placement=PLACEMENT)
    step = advance(motor, MotorState(angle=0.7), StepInputs(MOUNT), DT)
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6), layout='constrained')
    axes.set_aspect('equal')
    axes.axis('off')

    def area(pose: Pose, points: list[tuple[float, float]]) -> None:
        corners = [flat(compose(pose, Pose((x, y, 0.0))).position) for x, y in points]
        axes.fill(*zip(*corners, strict=True), facecolor=PALE, edgecolor=GREY, lw=1.2, zorder=0)

    def triad(pose: Pose, lengths: dict[str, float], colour: str, letter: str, ls: str) -> None:
        for name, length in lengths.items():
            arrow = rotate(pose.orientation, scale(length, UNITS[name]))
            tip = flat(add(pose.position, arrow))
            axes.plot(*tip, ' ')  # so that the axes hold it
            look = {'arrowstyle': '-|>', 'color': colour, 'lw': 2.0, 'ls': ls, 'shrinkA': 0}
            axes.annotate('', tip, flat(pose.position), arrowprops={**look, 'shrinkB': 0})
            far = flat(add(pose.position, scale(1.0 + 0.17 / length, arrow)))
            label = f'{name}$_{letter}$'
            axes.text(*far, label, ha='center', va='center', color=colour)

    def joined(a: Pose, b: Pose, text: str, share: float, aside: tuple[float, float]) -> None:
        ends = [flat(a.position), flat(b.position)]
        axes.plot(*zip(*ends, strict=True), color=GREY, ls='--', lw=1.3, zorder=1)
        place = [p + share * (q - p) for p, q in zip(*ends, strict=True)]
        axes.annotate(text, place, aside, 'data', 'offset points', ha='center', color=INK)

    area(MOUNT, [(-0.6, -0.5), (0.7, -0.5), (0.7, 1.15), (-0.6, 1.15)])
    area(step.rotor, [(0.72 * cos(k * pi / 40), 0.72 * sin(k * pi / 40)) for k in range(81)])
    even = dict.fromkeys('xyz', 0.95)
    triad(Pose(), even, INK, 'W', '-')
    triad(MOUNT, even, DARK, 'M', '-')
    triad(step.stator, {**even, 'y': 1.05}, LIGHT, 'S', '-')
    triad(step.rotor, {'x': 0.72, 'y': 0.72}, MID, 'R', '--')
    joined(Pose(), MOUNT, 'pose, from /tf', 0.52, (0, -32))
    joined(MOUNT, step.stator, 'placement', 0.62, (-40, 12))
    for pose, name, aside, colour in (
        (Pose(), 'world', (6, 34), INK),
        (MOUNT, 'mount', (16, -20), DARK),
        (step.stator, 'stator', (-40, 44), LIGHT),
        (step.rotor, 'rotor', (38, 18), MID),
    ):
        look = {'color': colour, 'weight': 'bold'}
        axes.annotate(name, flat(pose.position), aside, 'data', 'offset points', **look)
    axes.margins(0.06)
    return figure


def draw_time(plt: Any) -> Any:
    """Draw what a session does while an input is silent, and after the last command."""
    found = rules()
    figure, axes = plt.subplots(figsize=(WIDTH, 3.5), layout='constrained')
    rows = [*found.inputs, Row('steps', [t for t, _ in found.steps])]
    for level, row in enumerate(reversed(rows)):
        is_step = row.name == 'steps'
        look = {'color': DARK if is_step else INK, 'ms': 12 if is_step else 8, 'mew': 1.8}
        axes.plot(row.times, [level] * len(row.times), '|', **look)
    axes.set_yticks(range(len(rows)), [row.name for row in reversed(rows)])
    last = SILENT + TIMEOUTS['rate_timeout']
    axes.axvspan(last, BACK, color=PALE, zorder=0, lw=0)
    axes.text(0.5 * (last + BACK), 0.0, 'no steps', ha='center', va='center')
    axes.annotate(
        '', (last, 2.0), (SILENT, 2.0), arrowprops={'arrowstyle': '<->', 'color': MID, 'lw': 1.6}
    )
    axes.text(0.5 * (SILENT + last), 2.2, 'rate_timeout', ha='center', color=MID)
    ends = LAST_COMMAND + TIMEOUTS['command_timeout']
    axes.annotate(
        '',
        (ends, 1.0),
        (LAST_COMMAND, 1.0),
        arrowprops={'arrowstyle': '<->', 'color': MID, 'lw': 1.6},
    )
    axes.text(0.5 * (LAST_COMMAND + ends), 1.2, 'command_timeout', ha='center', color=MID)
    axes.text(ends + 0.03, 1.0, 'torque 0', va='center')
    axes.set_xlim(-0.02, RULES_END + 0.02)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel('time [s]')
    axes.spines['left'].set_visible(False)
    axes.tick_params(axis='y', length=0)
    return figure


CHAIN = (
    ('command', 'command.delay\ncommand.interval', 'limit.command\nvoltage.supply'),
    ('mode and gains:\n$\\tau = \\tau_0 - s\\,v^+$', 'limit.dead_zone', 'limit.slew_rate'),
    ('limit.torque\nless when warm', 'voltage.current_limit\nless when warm', 'limit.speed'),
    ('D1: friction, gear\nlimit.power', 'torque_limit\nof all motors', 'torque $\\tau$'),
    (
        'the model',
        'low-pass, bias, noise\nquantisation, fault',
        'measured.interval\nmeasured.delay',
    ),
)
"""From a command to what is measured, by rows; the last one gives the topic measured."""


def draw_chain(plt: Any) -> Any:
    """Draw what a command passes on its way to the torque, and the state to a measurement."""
    figure, axes = plt.subplots(figsize=(WIDTH, 4.6), layout='constrained')
    axes.axis('off')
    axes.set_xlim(-0.5, 2.5)
    axes.set_ylim(-0.62, len(CHAIN) - 0.5)
    wide, high = 0.82, 0.5
    arrow = {'arrowstyle': '-|>', 'color': INK, 'lw': 1.5, 'shrinkA': 0, 'shrinkB': 0}
    for row, names in enumerate(CHAIN):
        y = len(CHAIN) - 1 - row
        for x, name in enumerate(names):
            is_value = name in ('command', CHAIN[3][2])
            corner = (x - wide / 2, y - high / 2)
            face = 'white' if is_value else PALE
            look = {'facecolor': face, 'edgecolor': GREY, 'lw': 1.2}
            axes.add_patch(plt.Rectangle(corner, wide, high, **look))
            weight = 'bold' if is_value else 'normal'
            axes.text(x, y, name, ha='center', va='center', fontsize=9.5, weight=weight)
            if x < 2:
                axes.annotate('', (x + 1 - wide / 2, y), (x + wide / 2, y), arrowprops=arrow)
        middle = y - 0.5
        if row + 1 < len(CHAIN):
            axes.plot([2, 2, 0], [y - high / 2, middle, middle], color=INK, lw=1.5)
            axes.annotate('', (0, y - 1 + high / 2), (0, middle), arrowprops=arrow)
        else:
            axes.annotate('', (2, middle), (2, y - high / 2), arrowprops=arrow)
            axes.text(1.94, middle, '~/<motor>/measured', ha='right', va='center', fontsize=9.5)
    return figure


FIGURES = {
    'spin_absolute': draw_spin,
    'wrench': draw_wrench,
    'momentum': draw_momentum,
    'frames': draw_frames,
    'time': draw_time,
    'chain': draw_chain,
}


def draw(folder: Path, dpi: int, names: list[str] | None = None) -> list[Path]:
    """Draw the figures into a folder and return their paths."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    made = []
    with plt.rc_context(STYLE):
        for name in names or FIGURES:
            figure = FIGURES[name](plt)
            made.append(folder / f'{name}.png')
            # Without the date or version of a program: the same numbers give the same bytes.
            figure.savefig(made[-1], dpi=dpi, facecolor='white', metadata={'Software': None})
            plt.close(figure)
    return made


def main() -> int:
    """Draw the figures and say where they are."""
    parser = argparse.ArgumentParser(
        prog='figures_of_doc.py', description='Draw the figures of the pages in doc/.'
    )
    parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(FIGURES))
    parser.add_argument('--folder', type=Path, default=FOLDER, help='where they go (doc)')
    parser.add_argument('--dpi', type=int, default=130, help='dots an inch (130)')
    options = parser.parse_args()
    if unknown := set(options.names) - set(FIGURES):
        parser.error(f'no figure {", ".join(sorted(unknown))}; there are {", ".join(FIGURES)}')
    try:
        made = draw(options.folder, options.dpi, options.names)
    except ImportError as error:
        print(f'figures_of_doc: {error}. Run: make plot', file=sys.stderr)
        return 1
    except OSError as error:
        print(f'figures_of_doc: {options.folder}: {error.strerror}.', file=sys.stderr)
        return 1
    for path in made:
        print(f'figures_of_doc: {path}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
