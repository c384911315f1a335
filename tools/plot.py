"""
Draw the picture of the README, doc/spin.png.

    python tools/plot.py [--output FILE] [--dpi 150]

Left, a wheel on a mount that stands still gets a torque for a while: the model, step by step,
beside the closed form. Right, the same wheel and torque on the demo's tumbling mount: what the
mount feels. Only the drawing needs matplotlib.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import exp
from pathlib import Path
import sys
from typing import Any, NamedTuple

from mime_motor_ros.demo_mount import tumble
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs
from mime_motor_ros.vector import conjugate, rotate, Vector

WHEEL = MotorParameters(inertia=1e-4, damping=1e-5)
TORQUE = 1e-3  # N m, while it is on
ON, OFF, END = 2.0, 22.0, 30.0  # s
STEPS_A_SECOND = 1000
DEFAULT = Path(__file__).resolve().parents[1] / 'doc' / 'spin.png'

INK, GREY, PALE = '#24292f', '#6e7781', '#eef1f4'
BLUE, ORANGE, GREEN = '#0969da', '#d1570a', '#1a7f37'


class Point(NamedTuple):
    """The wheel at the end of one step."""

    time: float
    """Since the start [s]."""
    spin: float
    """Absolute [rad/s]."""
    torque: Vector
    """Of the mount wrench, mount axes [N m]."""


def still(_: float) -> tuple[Pose, Vector]:
    """Return pose and rate of a mount that stands still, as ``tumble`` does of one that moves."""
    return Pose(), (0.0, 0.0, 0.0)


def run(mount: Callable[[float], tuple[Pose, Vector]]) -> list[Point]:
    """Return what the model makes of the torque on a mount, step by step."""
    state, points = MotorState(), []
    for count in range(1, round(END * STEPS_A_SECOND) + 1):
        time = count / STEPS_A_SECOND  # where the step ends
        pose, rate_M = mount(time)
        rate_W = rotate(pose.orientation, rate_M)
        torque = TORQUE if ON < time <= OFF else 0.0
        step = advance(WHEEL, state, StepInputs(pose, rate_W, torque), 1.0 / STEPS_A_SECOND)
        state = step.state
        felt_M = rotate(conjugate(pose.orientation), step.mount_wrench.torque)
        points.append(Point(time, state.spin, felt_M))
    return points


def closed_form(time: float) -> float:
    """Return the spin [rad/s] on a still mount: the solution of J dW/dt = torque - b W."""
    J, b = WHEEL.inertia, WHEEL.damping
    reached = TORQUE / b * (1.0 - exp(-b / J * (min(max(time, ON), OFF) - ON)))
    return reached * exp(-b / J * max(0.0, time - OFF))


def largest_difference(points: list[Point]) -> float:
    """Return how far the model gets from the closed form [rad/s]."""
    return max(abs(point.spin - closed_form(point.time)) for point in points)


# --- the picture ------------------------------------------------------------------------------


def draw(path: Path, dpi: int) -> None:
    """Draw both panels into a file."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            'font.size': 10.5,
            'text.color': INK,
            'axes.labelcolor': INK,
            'axes.edgecolor': GREY,
            'xtick.color': GREY,
            'ytick.color': GREY,
            'axes.spines.top': False,
            'axes.spines.right': False,
            'axes.titlelocation': 'left',
            'axes.titlesize': 11.5,
            'axes.titleweight': 'bold',
        }
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.9), layout='constrained')
    draw_spin(left, run(still))
    draw_wrench(right, run(tumble))
    for axes in (left, right):
        axes.axvspan(ON, OFF, color=PALE, linewidth=0, zorder=0)
        axes.set_xlim(0.0, END)
        axes.set_xlabel('time [s]')
    figure.savefig(path, dpi=dpi, facecolor='white')
    plt.close(figure)


def draw_spin(axes: Any, points: list[Point]) -> None:
    """Draw the spin: a line for the closed form, a dot of the model every so many steps."""
    times = [point.time for point in points]
    axes.plot(times, [closed_form(t) for t in times], color=GREY, lw=1.4, label='closed form')
    shown = points[STEPS_A_SECOND - 1 :: STEPS_A_SECOND]
    axes.plot(
        [point.time for point in shown],
        [point.spin for point in shown],
        'o',
        color=BLUE,
        ms=4.5,
        clip_on=False,
        zorder=3,
        label=f'model, every {STEPS_A_SECOND}th step',
    )
    axes.set_title('Spin, mount standing still')
    axes.set_ylabel('spin [rad/s]')
    axes.set_ylim(0.0, 100.0)
    axes.text(ON + 0.6, 92.0, f'torque {TORQUE * 1e3:g} mN m', color=GREY)
    axes.legend(
        frameon=False, loc='lower right', bbox_to_anchor=(OFF / END, 0.1), handlelength=1.2
    )
    difference = f'largest difference {largest_difference(points):.4f} rad/s'
    axes.text(OFF - 0.6, 6.0, difference, color=GREY, ha='right')


def draw_wrench(axes: Any, points: list[Point]) -> None:
    """Draw the torque on the mount by its components, each named at its own line."""
    times = [point.time for point in points]
    for i, (name, colour) in enumerate((('x', BLUE), ('y', ORANGE), ('z, the axis', GREEN))):
        axes.plot(times, [1e3 * p.torque[i] for p in points], color=colour, lw=1.5, label=name)
    axes.axhline(0.0, color=GREY, lw=0.6)
    axes.set_title('Mount wrench, mount tumbling')
    axes.set_ylabel('torque on the mount [mN m]')
    axes.legend(frameon=False, loc='upper left', ncols=3, handlelength=1.3, columnspacing=1.2)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.12 * (high - low))


def main() -> int:
    """Draw the picture and say where it is."""
    parser = argparse.ArgumentParser(prog='plot.py', description='Draw the picture of the README.')
    parser.add_argument('--output', type=Path, default=DEFAULT, help='file (doc/spin.png)')
    parser.add_argument('--dpi', type=int, default=150, help='dots an inch (150)')
    options = parser.parse_args()
    try:
        draw(options.output, options.dpi)
    except ImportError as error:
        print(f'plot: {error}. Run: make plot', file=sys.stderr)
        return 1
    except OSError as error:
        print(f'plot: {options.output} cannot be written: {error.strerror}.', file=sys.stderr)
        return 1
    print(f'plot: {options.output}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
