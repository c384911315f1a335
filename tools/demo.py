"""
Show the motor node at work: the node and a moving mount as processes, and a live table of them.

    python tools/demo.py [--seconds 12] [--bag RECORDING]

Without a recording the mount is the demo mount, which tumbles and sends torques; with one it is
what was recorded, and the node steps on its IMU. It ends with one line of what was received.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import os
from pathlib import Path
import shlex
import signal
import socket
from statistics import median
import subprocess
import sys
import tempfile
import time
from typing import Any

from mime_motor_ros.errors import MotorError
from mime_motor_ros.screen import number, state_text, View
from mime_motor_ros.stopping import leave, Stop
from mime_motor_ros.table import Display, show, Tally, Watch
from recording import Frames, guess_frames, Recording

TOOLS = Path(__file__).resolve().parent
PATIENCE = 20.0  # s until the first step; a start takes two
SETTLE = 0.05  # s; the recordings' samples were received up to 26 ms after their stamps


class DemoError(MotorError):
    """The demo cannot go on; the text says why."""


class Child:
    """A process of the demo; what it writes is kept for when it fails."""

    def __init__(self, name: str, command: Sequence[str | Path]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile(mode='w+')  # noqa: SIM115  closed by stop
        # In a session of its own: Ctrl-C reaches the demo, which ends its children in order.
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )

    @property
    def code(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.poll()

    def stop(self) -> int:
        """Ask the process to end and return its exit code; kill it when it does not."""
        if self.code is None:
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def failure(self) -> str:
        """Return how it ended, and the last lines it wrote on stderr."""
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()[-8:]
        said = ''.join(f'\n    {line}' for line in lines)
        return f'the {self.name} ended with code {self.code}{":" if said else "."}{said}'


@dataclass
class Loop:
    """What the diagnostics told of the node's loop, second by second."""

    p99: list[float] = field(default_factory=list)
    longest: float = 0.0
    _last: Mapping[str, str] | None = None

    def add(self, view: View) -> None:
        """Take the newest diagnostics, once each."""
        stepping = view.statuses.get('stepping')
        if stepping is None or stepping.values is self._last:
            return
        self._last = stepping.values
        p99, longest = (stepping.values.get(f'lateness {x} (ms)') for x in ('p99', 'max'))
        if p99 is not None and longest is not None:
            self.p99.append(float(p99))
            self.longest = max(self.longest, float(longest))


def summary(tally: Tally, due: int, view: View, loop: Loop, ending: str) -> str:
    """Return all that was received in one line."""
    spins = [f'{number(x.spin).strip()} rad/s' for x in view.motors if x.spin is not None]
    parts = [
        f'{tally.seconds:.1f} s',
        f'{tally.received} of {due} steps',
        f'spin {" ".join(spins) or "not received"}',
        f'peak |mount wrench| {number(tally.peak_torque).strip()} N m',
    ]
    if loop.p99:
        # The middle of the seconds: the worst is the start, where two processes import.
        parts.append(f'lateness p99 {median(loop.p99):.2g} ms, max {loop.longest:.2g} ms')
    return ', '.join([*parts, ending])


def steps_on_grid(tally: Tally, rate: float) -> int:
    """Return how many steps lie between the first stamp received and the last."""
    return round(tally.seconds * rate) + 1 if tally.received else 0


def steps_on_imu(recording: Recording, frames: Frames, until_ns: float) -> int:
    """Return how many steps the IMU makes until a time; the first sample only starts the clock."""
    newest_ns = count = 0
    for record in recording.records((frames.imu_topic,)):
        stamp = record.message.header.stamp
        stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        if newest_ns < stamp_ns <= until_ns:
            newest_ns = stamp_ns
            count += 1
    return max(0, count - 1)


def node_command(options: argparse.Namespace, frames: Frames | None) -> list[str]:
    """Return the command of the motor node: one wheel with enough momentum to see."""
    values = {'motors': '[wheel]', 'rate': str(options.rate), 'wheel.inertia': '1.0e-4'}
    command = [sys.executable, '-m', 'mime_motor_ros.main', '--ros-args']
    if frames is None:
        values |= {'world_frame': 'odom', 'mount_frame': 'base_link', 'wheel.damping': '1.0e-5'}
    else:
        # Nobody recorded a torque: the wheel turns from the start and coasts.
        values |= {
            'use_sim_time': 'true',
            'step_on': 'imu',
            'world_frame': frames.world,
            'mount_frame': frames.mount,
            'settle': str(SETTLE),
            'wheel.initial_spin': '200.0',
            'wheel.damping': '1.0e-6',
        }
        command += ['-r', f'imu/data:={frames.imu_topic}']
    for name, value in values.items():
        command += ['-p', f'{name}:={value}']
    return command


def mount_command(options: argparse.Namespace) -> list[Any]:
    """Return the command of what moves the mount."""
    if options.bag is None:
        return [sys.executable, '-m', 'mime_motor_ros.demo_mount']
    command = [sys.executable, TOOLS / 'player.py', options.bag, '--speed', str(options.speed)]
    if options.speed != 1.0:
        # Faster than the real thing the node may fall behind; then the player waits for it.
        command += ['--lockstep', '--settle', str(SETTLE), '--ahead', '10']
    return command


def free_domain() -> int:
    """Return a ROS domain nobody on this machine seems to be in; 101 is the last safe one."""
    for domain in range(101, 40, -1):
        # Participants take the ports from here on, one pair each (DDS-RTPS 9.6.1.1).
        first = 7400 + 250 * domain + 10
        if all(_is_free(port) for port in range(first, first + 8, 2)):
            return domain
    return 0


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True


def prepare_environment(environment: dict[str, str] | os._Environ[str]) -> None:
    """Choose a domain of our own and stay on this machine, unless the user chose otherwise."""
    if not environment.get('ROS_DOMAIN_ID'):
        environment['ROS_DOMAIN_ID'] = str(free_domain())
    if not environment.get('ROS_LOCALHOST_ONLY'):
        environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')


def invitation(environment: Mapping[str, str]) -> str:
    """Return how to look at the demo from another terminal."""
    names = ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')
    shown = ' '.join(f'{name}={environment[name]}' for name in names if name in environment)
    # In the environment made here the wheels need more than their interpreter.
    here = Path(sys.prefix).resolve() == TOOLS.parent / '.venv'
    python = (
        f'{shlex.quote(str(TOOLS / "env.sh"))} python' if here else shlex.quote(sys.executable)
    )
    return (
        'From another terminal:\n'
        f'  {shown} {python} -m mime_motor_ros.table\n'
        f'  {shown} ros2 topic echo /motor/mount_wrench    # with ROS 2 sourced'
    )


def run(options: argparse.Namespace, stop: Stop) -> int:
    """Run the demo; return the exit code of the process."""
    recording = frames = None
    if options.bag is not None:
        recording = Recording(options.bag)
        frames = chosen_frames(recording, options)
        print(
            f'{recording.name}: {recording.seconds:.1f} s at {options.speed:g} times real time, '
            f'{frames.mount} in {frames.world}, the node steps on {frames.imu_topic}.'
        )
    else:
        print(f'A wheel on a tumbling mount, {options.rate:g} steps/s.')
    ends = ['Ctrl-C'] if options.seconds == float('inf') else [f'{options.seconds:g} s', 'Ctrl-C']
    print(f'It ends with {" or ".join(["the recording"] * (recording is not None) + ends)}.')
    print(invitation(os.environ), flush=True)

    import rclpy
    from rclpy.signals import SignalHandlerOptions

    children: list[Child] = []
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('demo_table')
    try:
        watch = Watch(node, tally=True)
        loop = Loop()
        children.append(Child('motor node', node_command(options, frames)))
        wait_for_node(watch, children, stop)
        if not stop:
            name = 'demo mount' if recording is None else 'player'
            children.append(Child(name, mount_command(options)))
        has_ended = watch_over(watch, loop, children, options, stop)
        view = watch.view()
        codes = [child.stop() for child in reversed(children)]
    finally:
        for child in children:
            if child.code is None:
                child.stop()
        node.destroy_node()
        rclpy.try_shutdown()

    tally = watch.tally
    if recording is None or frames is None:
        due = steps_on_grid(tally, options.rate)
    else:
        until_ns = float('inf') if has_ended else tally.last_ns
        due = steps_on_imu(recording, frames, until_ns)
    failures = [child.failure() for child in children if child.code]
    print(summary(tally, due, view, loop, 'not cleanly' if any(codes) else 'stopped cleanly'))
    for failure in failures:
        print(f'demo: {failure}', file=sys.stderr)
    if not tally.received and not stop:
        print(f'demo: nothing was received: {state_text(view)}', file=sys.stderr)
        return 1
    return 1 if failures else 0


def chosen_frames(recording: Recording, options: argparse.Namespace) -> Frames:
    """Return the frames of a recording, as found in it or as the user names them."""
    if options.world and options.mount and options.imu_topic:
        return Frames(options.world, options.mount, '', options.imu_topic)
    found = guess_frames(recording, options.imu_topic or '')
    world, mount = options.world or found.world, options.mount or found.mount
    return found._replace(world=world, mount=mount)


def wait_for_node(watch: Watch, children: list[Child], stop: Stop) -> None:
    """Wait until the node's outputs are there, so that its first step is seen."""
    end = time.monotonic() + PATIENCE
    while not stop and watch.view().publishers == 0:
        refuse_dead(children)
        if time.monotonic() > end:
            raise DemoError(f'the motor node did not come up within {PATIENCE:g} s.')
        time.sleep(0.02)
    time.sleep(0.2)  # reader and writer see each other a little after the node is seen


def watch_over(
    watch: Watch, loop: Loop, children: list[Child], options: argparse.Namespace, stop: Stop
) -> bool:
    """Show the table until the demo is over; return whether a recording was played to its end."""
    source = children[-1]
    began = time.monotonic()
    first: float | None = None
    ended: float | None = None

    def is_over() -> bool:
        nonlocal first, ended
        loop.add(watch.view())
        now = time.monotonic()
        if first is None and watch.tally.received:
            first = now
        if options.bag is None:
            refuse_dead(children)
            if first is None and now - began > PATIENCE:
                raise DemoError(f'no step within {PATIENCE:g} s: {state_text(watch.view())}')
        else:
            refuse_dead(children[:1])
            if source.code == 0 and ended is None:
                ended = now
            elif source.code:
                raise DemoError(f'{source.failure()}\n    {state_text(watch.view())}')
        is_late = first is not None and now - first >= options.seconds
        # A second and a bit: so much later the diagnostics have told of the last step.
        return stop.asked or is_late or (ended is not None and now - ended > 1.2)

    with Display(options.plain or None) as display:
        show(watch, display, is_over)
    watch.poll()
    return ended is not None


def refuse_dead(children: Sequence[Child]) -> None:
    """Raise an error for a child that has ended by itself."""
    for child in children:
        if child.code is not None:
            raise DemoError(child.failure())


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog='demo.py', description='Run the motor node on a moving mount and show a live table.'
    )

    def add(name: str, text: str, **more: Any) -> None:
        options.add_argument(name, help=text, **more)

    add('--seconds', 'end so long after the first step (until Ctrl-C)', type=_seconds)
    add('--rate', 'steps a second (1000)', type=float, default=1000.0)
    add('--plain', 'a line a second in a terminal too', action='store_true')
    add('--bag', 'the mount is that of this rosbag2 folder', metavar='RECORDING')
    add('--speed', 'times real time for a recording (1)', type=float, default=1.0)
    add('--world', 'world frame of the recording (found in it)')
    add('--mount', 'mount frame of the recording (found in it)')
    add('--imu-topic', 'IMU topic of the recording (its first)')
    options.set_defaults(seconds=float('inf'))
    return options


def _seconds(text: str) -> float:
    """Return a positive number of seconds; nothing is for ever, as in an unset make variable."""
    if not text.strip():
        return float('inf')
    seconds = float(text)
    if not seconds > 0.0:
        raise argparse.ArgumentTypeError(f'must be > 0 s, got {text}.')
    return seconds


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    stop = Stop().catch_signals()
    # A terminal that is closed is a reason to stop like any other: children would go on.
    signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    options = parser().parse_args(args)
    prepare_environment(os.environ)
    try:
        return run(options, stop)
    except MotorError as error:
        print(f'demo: {error}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    leave(main())
