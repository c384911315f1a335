"""
Show the motor node at work: the node and a moving mount as processes, and a live table of them.

    python tools/demo.py [--demo tumble] [--seconds 12] [--bag RECORDING]

Without a recording the mount moves as the demo has it, see `mime_motor_ros.demos`, and sends
torques; with one it is what was recorded, and the node steps on its IMU. It ends with one line of
what was made of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
import ctypes
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

from mime_motor_ros.demos import demo, DEMOS, USUAL
from mime_motor_ros.errors import MotorError, ParameterError
from mime_motor_ros.offline.recording import Frames, guess_frames, Recording
from mime_motor_ros.screen import number, RATE, state_text, View
from mime_motor_ros.settings import settings
from mime_motor_ros.stopping import leave, Stop
from mime_motor_ros.top import Display, show
from mime_motor_ros.view import free_port, HOST
from mime_motor_ros.watch import Tally, Watch
from pacing import is_speed, SPEED

TOOLS = Path(__file__).resolve().parent
CONFIG = TOOLS.parent / 'config'
STARTING = 'starting: the node and the mount find each other'
ENDED = 'the recording has ended'
STALE = 3  # of diagnostic_msgs/DiagnosticStatus
PATIENCE = 20.0  # s until the first step; a start takes two
LOOK = 1.0  # s in which a node that is there already is found
CALM = 8.0  # s after the start of the mount in which no step is no fault
LAST = 3.0  # s after the end of the mount until its last step is told, at most
SETTLE = 0.05  # s; the recordings' samples were received up to 26 ms after their stamps


class DemoError(MotorError):
    """The demo cannot go on; the text says why."""


def die_with_the_parent(parent: int) -> None:
    """Have SIGTERM sent to this process when the one that started it is gone, even by kill -9."""
    _LIBC.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, of Linux alone
    if os.getppid() != parent:  # it went while we came
        os._exit(1)


_LIBC = ctypes.CDLL(None)  # loaded here: a process just forked should load nothing


class Child:
    """A process of the demo; what it writes is kept for when it fails."""

    def __init__(self, name: str, command: Sequence[str | Path]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile(mode='w+')  # noqa: SIM115  closed by stop
        parent = os.getpid()
        # In a session of its own: Ctrl-C reaches the demo, which ends its children in order.
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
            preexec_fn=lambda: die_with_the_parent(parent),
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


def summary(tally: Tally, made: int | None, due: int, view: View, loop: Loop, ending: str) -> str:
    """
    Return in one line what was made and received.

    ``made`` are the steps by the node's own count, None when it did not tell; ``due`` those from
    the first that was made to the last, both among them.
    """
    spins = [f'{number(x.spin).strip()} rad/s' for x in view.motors if x.spin is not None]
    parts = [f'{tally.seconds:.1f} s']
    if made is None:
        parts.append(f'{tally.received} of {due} steps read here')
    else:
        # More than due: the first was made before anybody read, and was due like the others.
        parts.append(f'{made} of {max(due, made)} steps made')
        if tally.received < made:
            parts.append(f'{tally.received} read here')
    parts += [
        f'spin {" ".join(spins) or "not received"}',
        f'peak |mount wrench| {number(tally.peak_torque).strip()} N m',
    ]
    if loop.p99:
        # The middle of the seconds: the worst is the start, where two processes import.
        p99, longest = (number(x, 2).strip() for x in (median(loop.p99), loop.longest))
        parts.append(f'lateness p99 {p99} ms, max {longest} ms')
    return ', '.join([*parts, ending])


def steps_on_grid(tally: Tally, rate: float) -> int:
    """Return how many steps end from the first stamp received to the last, both among them."""
    return round(tally.seconds * rate) + 1 if tally.received else 0


def steps_on_imu(recording: Recording, frames: Frames, first_ns: int, until_ns: float) -> int:
    """Return how many samples of the IMU end a step, from the first step's stamp to a time."""
    newest_ns = count = 0
    for record in recording.records((frames.imu_topic,)):
        stamp = record.message.header.stamp
        stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        if newest_ns < stamp_ns <= until_ns:
            newest_ns = stamp_ns
            count += stamp_ns >= first_ns
    return count if first_ns else 0


def steps_made(view: View) -> int | None:
    """Return how many steps the node has made by its own count, None when it has not told."""
    stepping = view.statuses.get('stepping')
    try:
        return None if stepping is None else int(stepping.values['steps'])
    except (KeyError, ValueError):
        return None


def node_command(options: argparse.Namespace, frames: Frames | None) -> list[str]:
    """Return the command of the motor node: the motors of the demo, or one wheel."""
    command = [sys.executable, '-m', 'mime_motor_ros.main', '--ros-args']
    values = {'rate': str(options.rate)}
    if frames is None:
        values |= {'world_frame': 'odom', 'mount_frame': 'base_link'}
        if file := demo(options.demo).file:
            command += ['--params-file', str(CONFIG / file)]
        else:
            values |= {'motors': '[wheel]', 'wheel.inertia': '1.0e-4', 'wheel.damping': '1.0e-5'}
    else:
        # Nobody recorded a torque: the wheel turns from the start and coasts.
        values |= {
            'motors': '[wheel]',
            'use_sim_time': 'true',
            'step_on': 'imu',
            'world_frame': frames.world,
            'mount_frame': frames.mount,
            'settle': str(SETTLE),
            'wheel.inertia': '1.0e-4',
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
        chosen = demo(options.demo)
        command = [sys.executable, '-m', f'mime_motor_ros.{chosen.program}', '--ros-args']
        if chosen.file:
            command += ['--params-file', CONFIG / chosen.file]
        return [*command, '-p', f'motion:={options.demo}']
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
        f'  {shown} {python} -m mime_motor_ros.top\n'
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
        print(f'{demo(options.demo).text}; {options.rate:g} steps/s.')
    panel: list[Any] = []
    if options.view:
        port = free_port(HOST, None)
        panel = [sys.executable, '-m', 'mime_motor_ros.view', '--port', str(port)]
        print(f'The panel is at http://{HOST}:{port} (VIEW=0 does without).')
    print(how_it_ends(options))
    print(invitation(os.environ), flush=True)

    import rclpy
    from rclpy.signals import SignalHandlerOptions

    children: list[Child] = []
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('demo_table')
    try:
        watch = Watch(node, tally=True)
        watch.note = STARTING
        loop = Loop()
        refuse_a_stranger(watch, 0.0 if options.is_alone else LOOK, stop)
        with Display(options.plain or None) as display:
            children.append(Child('motor node', node_command(options, frames)))
            if panel:
                children.append(Child('panel', panel))
            wait_for_node(watch, display, children, stop)
            if not stop:
                name = 'demo mount' if recording is None else 'player'
                children.append(Child(name, mount_command(options)))
                end_ns = None if recording is None else recording.end_ns
                has_ended = watch_over(watch, display, loop, children, options, end_ns, stop)
        codes = [child.stop() for child in children[1:]]
        count_the_last(watch, children)
        codes.append(children[0].stop())
        view = watch.view()
    finally:
        for child in reversed(children):
            if child.code is None:
                child.stop()
        node.destroy_node()
        rclpy.try_shutdown()

    tally = watch.tally
    if recording is None or frames is None:
        due = steps_on_grid(tally, options.rate)
    else:
        until_ns = float('inf') if has_ended else tally.last_ns
        due = steps_on_imu(recording, frames, tally.first_ns, until_ns)
    failures = [child.failure() for child in children if child.code]
    end = 'not cleanly' if any(codes) else 'stopped cleanly'
    print(summary(tally, steps_made(view), due, view, loop, end))
    for failure in failures:
        print(f'demo: {failure}', file=sys.stderr)
    if not tally.received and not stop:
        print(f'demo: nothing was received: {state_text(view)}', file=sys.stderr)
        return 1
    return 1 if failures else 0


def how_it_ends(options: argparse.Namespace) -> str:
    """Return when the demo ends."""
    ends = ['with the recording'] if options.bag is not None else []
    if options.seconds < float('inf'):
        ends.append(f'after {options.seconds:.12g} s')
    ends.append('with Ctrl-C')
    return f'It ends {", ".join(ends[:-1])}{" or " if ends[:-1] else ""}{ends[-1]}.'


def chosen_frames(recording: Recording, options: argparse.Namespace) -> Frames:
    """Return the frames of a recording, as found in it or as the user names them."""
    if options.world and options.mount and options.imu_topic:
        return Frames(options.world, options.mount, '', options.imu_topic)
    found = guess_frames(recording, options.imu_topic or '')
    world, mount = options.world or found.world, options.mount or found.mount
    return found._replace(world=world, mount=mount)


def refuse_a_stranger(watch: Watch, seconds: float, stop: Stop) -> None:
    """Look so long for a motor node that is there before ours, and refuse to show its numbers."""
    end = time.monotonic() + seconds
    while not stop and time.monotonic() < end:
        refuse_more_than(0, watch)
        time.sleep(0.02)


def refuse_more_than(count: int, watch: Watch) -> None:
    """Raise an error when more motor nodes are seen."""
    if watch.view().publishers > count:
        domain = os.environ.get('ROS_DOMAIN_ID', '0')
        raise DemoError(
            f'there is a node /motor on ROS_DOMAIN_ID {domain} already. End it, or run the demo '
            'without ROS_DOMAIN_ID: then it takes one that is free.'
        )


def wait_for_node(watch: Watch, display: Display, children: list[Child], stop: Stop) -> None:
    """Wait until the node and we have found each other, so that its first step is seen."""
    began = time.monotonic()
    there: float | None = None

    def is_up() -> bool:
        nonlocal there
        refuse_dead(children)
        refuse_more_than(1, watch)
        now = time.monotonic()
        if there is None and watch.view().publishers:
            there = now
        if there is None and now - began > PATIENCE:
            raise DemoError(
                f'the motor node did not come up within {PATIENCE:g} s: it is not seen. Is the '
                'loopback interface up (ip link show lo)? Else try another ROS_DOMAIN_ID '
                f'than {os.environ.get("ROS_DOMAIN_ID", "0")}.'
            )
        # What the demo shows does not hang on it: after a while it goes on all the same.
        return stop.asked or watch.is_met or (there is not None and now - there > CALM)

    show(watch, display, is_up)


def watch_over(
    watch: Watch,
    display: Display,
    loop: Loop,
    children: list[Child],
    options: argparse.Namespace,
    end_ns: int | None,
    stop: Stop,
) -> bool:
    """Show the table until the demo is over; return whether a recording was played to its end."""
    source = children[-1]
    began = time.monotonic()
    first: float | None = None
    last: Last | None = None

    def is_over() -> bool:
        nonlocal first, last
        view, now = watch.view(), time.monotonic()
        loop.add(view)
        refuse_more_than(1, watch)
        if first is None and watch.tally.received:
            first = now
        if first is None and now - began > CALM:
            watch.note = ''  # now the node's own reasons are of use
        if first is not None:
            silent = view.age is not None and view.age > 0.3
            is_at_end = end_ns is not None and watch.tally.last_ns > end_ns - 500_000_000
            watch.note = ENDED if last or (silent and is_at_end) else ''
        if options.bag is None:
            refuse_dead(children)
            if first is None and now - began > PATIENCE:
                raise DemoError(f'no step within {PATIENCE:g} s: {state_text(view)}')
        else:
            refuse_dead(children[:1])
            if source.code == 0 and last is None:
                last = Last(watch)
            elif source.code:
                watch.note = ''
                raise DemoError(f'{source.failure()}\n    {state_text(watch.view())}')
        is_late = first is not None and now - first >= options.seconds
        return stop.asked or is_late or (last is not None and last.is_told())

    show(watch, display, is_over)
    if last is not None:
        watch.note = ENDED
        display.show(watch.view())
    return last is not None


class Last:
    """Tells when the node's own count of its steps is final, once its mount is gone."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._before = watch.view().statuses.get('stepping')
        self._until = time.monotonic() + LAST

    def is_told(self) -> bool:
        """Return whether diagnostics have come since that tell of a time without steps."""
        now = self._watch.view().statuses.get('stepping')
        is_new = now is not None and now is not self._before
        still = is_new and (now.level == STALE or now.values.get(RATE) == '0.0')
        return still or time.monotonic() > self._until


def count_the_last(watch: Watch, children: Sequence[Child]) -> None:
    """Wait, when the mount is gone, until the node has told of its last step."""
    last = Last(watch)
    while watch.tally.received and children[0].code is None and not last.is_told():
        time.sleep(0.02)
        watch.poll()
    watch.poll()


def refuse_dead(children: Sequence[Child]) -> None:
    """Raise an error for a child that has ended by itself."""
    for child in children:
        if child.code is not None:
            raise DemoError(child.failure())


def parser() -> argparse.ArgumentParser:
    """Return the options of the command, as they are written."""
    options = argparse.ArgumentParser(
        prog='demo.py', description='Run the motor node on a moving mount and show a live table.'
    )

    def add(name: str, text: str, **more: Any) -> None:
        options.add_argument(name, help=text, **more)

    add('--demo', f'{", ".join(DEMOS)} ({USUAL})', metavar='NAME')
    add('--seconds', 'end so long after the first step (until Ctrl-C)', default='')
    add('--rate', 'steps a second (1000)', default='1000')
    add('--view', 'start the panel in the browser too', action='store_true')
    add('--plain', 'a line a second in a terminal too', action='store_true')
    add('--bag', 'the mount is that of this rosbag2 folder', metavar='RECORDING')
    add('--speed', 'times real time for a recording (1)', default='1')
    add('--world', 'world frame of the recording (found in it)')
    add('--mount', 'mount frame of the recording (found in it)')
    add('--imu-topic', 'IMU topic of the recording (its first)')
    return options


def chosen_options(args: Sequence[str] | None) -> argparse.Namespace:
    """Return the options with their numbers, which are checked before anything is started."""
    options = parser().parse_args(args)
    if options.bag is not None and options.demo:
        raise DemoError('give DEMO or BAG: a recording has its own motion.')
    options.demo = options.demo or USUAL
    demo(options.demo, 'DEMO')
    # Nothing is for ever, as in an unset make variable.
    options.seconds = _number(options.seconds.strip() or 'inf')
    if not isinstance(options.seconds, float) or not options.seconds > 0.0:
        raise ParameterError('SECONDS', 'a number > 0 s', repr(options.seconds))
    options.rate = _number(options.rate)
    settings({'rate': options.rate})
    options.speed = _number(options.speed)
    if not isinstance(options.speed, float) or not is_speed(options.speed):
        raise ParameterError('speed', SPEED, repr(options.speed))
    return options


def _number(text: str) -> float | str:
    """Return a number, or what was written instead."""
    try:
        return float(text)
    except ValueError:
        return text


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    stop = Stop().catch_signals()
    # A terminal that is closed is a reason to stop like any other: children would go on.
    signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
    try:
        options = chosen_options(args)
        options.is_alone = not os.environ.get('ROS_DOMAIN_ID')
        prepare_environment(os.environ)
        return run(options, stop)
    except MotorError as error:
        print(f'demo: {error}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    leave(main)
