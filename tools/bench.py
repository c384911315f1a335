"""
Measure what the motor costs, beside what else there is, and print it as one table.

    python tools/bench.py [--seconds 10] [--rounds 3] [--json FILE] [--recording FOLDER] [--bag]
                          [--habits]

One step: ``advance`` with all outputs, against MuJoCo's ``mj_step`` of the same rig, called from
Python; and a step of a session whose motor has no drive and no sensors, against one that cannot
have them. Many steps in one call: see bench_rollout.py. Recordings: how fast one is replayed, and
the memory that an hour of 1 kHz takes. The loop: the motor node at 1 kHz,
against an ordinary rclpy node (plain_node.py) with the same step and topics. This process sends
both an IMU at 1 kHz and /tf at 100 Hz and reads every topic they publish. The node has one core,
this process the other. A third run is the motor node with more around it: 20 requests a second
for a parameter, and a /tf of 40 frames at 50 Hz. All takes turns with what it is compared with, so
that a busy machine hits both; numbers are medians over the rounds. ``--habits`` compares, instead,
the habits of a real-time loop with none.

Ends with code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
import json
from math import inf, isnan, nan
import os
from pathlib import Path
import signal
from statistics import median
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

import bench_replay
import bench_rollout
from demo import die_with_the_parent, prepare_environment
from mime_motor_ros.compiling import numba
from mime_motor_ros.demo_mount import gyro, IMU_ON_MOUNT, tumble
from mime_motor_ros.errors import MotorError
from mime_motor_ros.figures import quantile
from mime_motor_ros.inputs import Commands
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
from mime_motor_ros.options import number, whole
from mime_motor_ros.session import _are_moderate, Outcome, Session
from mime_motor_ros.settings import settings
from mime_motor_ros.timeline import NANOSECONDS
from rich.console import Console
from rich.table import Table

RECORDING = Path(__file__).resolve().parents[2] / 'shared/data/broad07_fast_rotation'
STEP_TARGET = 15.0  # us, one advance with all outputs
UNUSED_TARGET = 1.0  # us a step, for drives and sensors that a motor does not use
MADE_TARGET = 99.9  # % of the steps due
CPU_TARGET = 0.5  # of what the plain node takes
BUSY_TARGET = 2.0  # of the lateness p99 with nothing more around the node

STEPS = 1000  # calls timed as one
BATCHES = 60  # of each contestant
RATE = 1000  # Hz, of the steps and of the IMU
TOPICS_A_TICK = 2  # read in turn
TF_EVERY = 10  # steps: /tf at 100 Hz
PERIOD_NS = 1_000_000_000 // RATE
WARM_UP = 2.0  # s from the first step on, in which a node has settled
PANEL_START = 8.0  # s in which a panel has found the node and reads it
PATIENCE = 20.0  # s until the first step; a start takes two
MOTOR = ['-m', 'mime_motor_ros.main']
NODES = {
    'motor': MOTOR,
    'plain': [str(Path(__file__).with_name('plain_node.py'))],
    'busy': MOTOR,
}
PANEL = ['-m', 'mime_motor_ros.view', '--port', '0']
BUSY_TF_EVERY, BUSY_FRAMES, BUSY_GET_EVERY = 20, 40, 50  # steps, frames, steps: 50 Hz, 20 Hz
HABITS = {
    'none': [],
    'priority 20': ['-p', 'priority:=20'],
    'collect_garbage false': ['-p', 'collect_garbage:=false'],
    'lock_memory': ['-p', 'lock_memory:=true'],
    'all': ['-p', 'priority:=20', '-p', 'collect_garbage:=false', '-p', 'lock_memory:=true'],
}
PANELS = {'without': 'motor', 'panel open': 'panel'}
RIG = """
<mujoco>
  <option timestep="0.001" gravity="0 0 0"/>
  <worldbody>
    <body name="mount">
      <freejoint/>
      <inertial pos="0 0 0" mass="5" diaginertia="0.05 0.05 0.05"/>
      <body name="rotor" pos="0.05 0.02 0.1">
        <joint name="wheel" type="hinge" axis="0 0 1" damping="1e-5"/>
        <inertial pos="0 0 0" mass="0.2" diaginertia="7e-5 5e-5 1e-4"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="wheel"/></actuator>
</mujoco>
"""


Rolled = dict[str, float | None]


class BenchError(MotorError):
    """A node cannot be measured; the text says why."""


# --- one step ---------------------------------------------------------------------------------


def advance_batch(asymmetry: tuple[float, ...]) -> Callable[[], None]:
    """Return what takes ``STEPS`` steps of a wheel on a turning mount, with loads."""
    pose, rate = tumble(1.0)
    parameters = MotorParameters(
        1e-4, 1e-5, (0.0, 0.0, 1.0), asymmetry, Pose((0.05, 0.02, 0.1), IMU_ON_MOUNT.orientation)
    )
    load = Wrench((0.1, -0.2, 0.3), (1e-3, 2e-3, -3e-3))
    inputs = StepInputs(pose, rate, 1e-3, load, load)
    state = MotorState()

    def batch() -> None:
        nonlocal state
        for _ in range(STEPS):
            state = advance(parameters, state, inputs, 1e-3).state

    return batch


class WithoutDrives(Session):
    """A session whose steps know nothing of drives, of sampling and of sensors."""

    def _step(self, start_ns: int, stamp_ns: int, dt: float) -> Outcome | None:
        self._read(start_ns, stamp_ns)
        moving = self._moving(stamp_ns)
        if moving is None:
            return None
        mount, rate = moving
        setpoints, inputs, steps = [], [], []
        for i, motor in enumerate(self.motors):
            stream, setpoint = motor.commands, None
            if self.enabled and stream.value and self._fresh(stream.stamp, stamp_ns):
                setpoint = stream.value
            setpoints.append(setpoint)
            torque = setpoint.value if setpoint else 0.0
            stator, rotor = self._load(i, 'stator', mount), self._load(i, 'rotor', mount)
            inputs.append(StepInputs(mount, rate, torque, stator, rotor))
            try:
                steps.append(advance(motor.settings.model, motor.state, inputs[-1], dt))
            except (ValueError, OverflowError):
                return None
        if not _are_moderate(steps):
            return None
        for motor, step in zip(self.motors, steps, strict=True):
            motor.energy.add(motor.settings.model, motor.state, step, dt)
            motor.state = step.state
        self.steps += 1
        self.waiting = ''
        return Outcome(
            start_ns, stamp_ns, dt, mount, rate, tuple(steps), (), (), (), tuple(setpoints)
        )


def session_batch(kind: type[Session]) -> Callable[[], None]:
    """Return what takes ``STEPS`` steps of a session at 1 kHz, with a torque that is held."""
    still = {'world_frame': 'base_link', 'rate_source': 'zero'}
    session = kind(settings({**still, 'command_timeout': 0.0, 'max_gap': 60.0}))
    session.advance_to(NANOSECONDS)
    session.take(Commands((1e-3,)), NANOSECONDS)

    def batch() -> None:
        session.advance_to(session.now_ns + STEPS * PERIOD_NS)

    return batch


def mujoco_batch() -> Callable[[], None]:
    """Return what takes ``STEPS`` steps of the same wheel on a free mount in MuJoCo."""
    try:
        import mujoco
    except ImportError:
        raise BenchError('mujoco is not installed; run: make setup') from None

    model = mujoco.MjModel.from_xml_string(RIG)
    data = mujoco.MjData(model)
    data.qvel[3:6] = tumble(1.0)[1]
    step, control = mujoco.mj_step, data.ctrl

    def batch() -> None:
        for _ in range(STEPS):
            control[0] = 1e-3
            step(model, data)

    return batch


def time_steps() -> dict[str, float]:
    """Return how long one step takes [us], by contestant, and what drives cost that are not."""
    batches = {
        'symmetric': advance_batch((0.0,) * 6),
        'asymmetric': advance_batch((1e-5, 0.0, 0.0, -1e-5, 0.0, 0.0)),
        'mujoco': mujoco_batch(),
        'session': session_batch(Session),
        'without drives': session_batch(WithoutDrives),
    }
    times: dict[str, list[float]] = {name: [] for name in batches}
    for _ in range(BATCHES):
        for name, batch in batches.items():
            before = time.thread_time_ns()  # others' turns on this core do not count
            batch()
            times[name].append((time.thread_time_ns() - before) / STEPS / 1000)
    medians = {name: median(values) for name, values in times.items()}
    pairs = zip(times['session'], times['without drives'], strict=True)
    return {**medians, 'unused': median(ours - bare for ours, bare in pairs)}


def time_rollouts() -> Rolled:
    """Return how long a step of a motor in a rollout takes [ns], by contestant."""
    if numba() is None:
        raise BenchError('numba is not installed; run: make bench')
    return bench_rollout.time_rollouts(RIG)


class Replays(NamedTuple):
    """What replaying costs."""

    name: str
    speed: float
    """Of a recording, times real time, with a table made of it."""
    seconds: float
    """Of a long one at 1 kHz [s]."""
    peak: float
    """The most memory that took, with a table made of it, or a bag too [MB]."""


def time_replays(recording: Path | None, seconds: float, bag: bool) -> Replays:
    """Return how fast recordings are replayed, and with how much memory."""
    try:
        name = recording.name if recording else 'a recording at 1 kHz'
        return Replays(
            name, bench_replay.speed(recording), seconds, bench_replay.memory(seconds, bag).peak
        )
    except (MotorError, RuntimeError, OSError) as error:
        raise BenchError(str(error)) from None


# --- the loop ---------------------------------------------------------------------------------


class Run(NamedTuple):
    """What one run of one node gave."""

    node: str
    seconds: float
    made: float
    """Steps made, of the steps due [%]."""
    received: float
    """Steps of which the first message was read here, of the steps due [%]."""
    cpu: float
    """Share of a core [%]."""
    lateness: list[float]
    """From the end of each step to the sending of its first message [ms], sorted."""
    read: dict[str, int]
    """Messages, by topic."""


class Surroundings:
    """The robot around the node: sends what the node needs and reads all it publishes."""

    def __init__(self, motors: Sequence[str] = ('wheel',)) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import (
            InertiaStamped,
            TransformStamped,
            TwistStamped,
            Vector3Stamped,
            WrenchStamped,
        )
        from rcl_interfaces.srv import GetParameters
        import rclpy
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from rclpy.serialization import deserialize_message
        from sensor_msgs.msg import Imu, JointState
        from std_msgs.msg import Float64
        from tf2_msgs.msg import TFMessage

        self.node = rclpy.create_node('bench')
        self._deserialize = deserialize_message
        self._imu = self.node.create_publisher(Imu, 'imu/data', 10)
        self._tf = self.node.create_publisher(TFMessage, '/tf', 100)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._tf_static = self.node.create_publisher(TFMessage, '/tf_static', latched)
        self._imu_message, self._pose_message = Imu(), TransformStamped()
        self._imu_message.header.frame_id = 'imu_link'
        self._pose_message.header.frame_id, self._pose_message.child_frame_id = 'odom', 'base_link'
        self._poses = TFMessage(transforms=[self._pose_message])

        sensor = TransformStamped(child_frame_id='imu_link')
        sensor.header.frame_id = 'base_link'
        fill(sensor.transform.translation, IMU_ON_MOUNT.position)
        fill(sensor.transform.rotation, IMU_ON_MOUNT.orientation)
        self._tf_static.publish(TFMessage(transforms=[sensor]))
        self.busy = False
        self._others = TFMessage(
            transforms=[TransformStamped(child_frame_id=f'link_{i}') for i in range(BUSY_FRAMES)]
        )
        for transform in self._others.transforms:
            transform.header.frame_id = 'base_link'
        self._get = self.node.create_client(GetParameters, '/motor/get_parameters').handle
        self._request = GetParameters.Request(names=['wheel.inertia'])
        self._answer = GetParameters.Response
        self.answers = 0

        kinds = {
            '/motor/reaction': WrenchStamped,  # the first that either node sends of a step
            '/motor/mount_wrench': WrenchStamped,
            '/motor/momentum': Vector3Stamped,
            '/joint_states': JointState,
            '/tf': TFMessage,
            '/diagnostics': DiagnosticArray,
        }
        own = {
            'spin': Float64,
            'reaction': WrenchStamped,
            'mount_wrench': WrenchStamped,
            'momentum': Vector3Stamped,
            'stator_twist': TwistStamped,
            'rotor_twist': TwistStamped,
            'asymmetry': InertiaStamped,
            'asymmetry_next': InertiaStamped,
        }
        for motor in motors:
            kinds |= {f'/motor/{motor}/{topic}': kind for topic, kind in own.items()}
        self._readers = [
            (topic, kind, self.node.create_subscription(kind, topic, lambda _: None, 1000).handle)
            for topic, kind in kinds.items()
        ]
        self.read: Counter[str] = Counter()
        self.sent_ns: dict[int, int] = {}
        """When the first message of a step was sent, by the stamp of the step."""
        self.counted: list[tuple[int, int]] = []
        """Time [ns] and steps so far, as the node's diagnostics tell them."""
        self.stepping: dict[str, str] = {}
        """The newest that the diagnostics tell of the loop."""

    def forget(self) -> None:
        """Start counting anew."""
        self.read.clear()
        self.sent_ns.clear()
        self.counted.clear()

    def send(self, now_ns: int, with_pose: bool) -> None:
        """Send what the sensors of a tumbling mount say at a time."""
        pose, rate = tumble(now_ns % 1_000_000_000_000 / 1e9)
        message = self._imu_message
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now_ns, 1_000_000_000)
        fill(message.angular_velocity, gyro(rate))
        self._imu.publish(message)
        if with_pose:
            self._pose_message.header.stamp = message.header.stamp
            fill(self._pose_message.transform.translation, pose.position)
            fill(self._pose_message.transform.rotation, pose.orientation)
            self._tf.publish(self._poses)

    def send_more(self, tick: int) -> None:
        """Send what a busy robot has beside the mount: other frames, and who asks the node."""
        if tick % BUSY_TF_EVERY == 0:
            for transform in self._others.transforms:
                transform.header.stamp = self._imu_message.header.stamp
            self._tf.publish(self._others)
        if tick % BUSY_GET_EVERY == 0:
            while self._get.take_response(self._answer)[1] is not None:
                self.answers += 1
            self._get.send_request(self._request)

    def take(self, index: int) -> None:
        """Read what has come on one of the topics, as bytes."""
        topic, kind, handle = self._readers[index % len(self._readers)]
        while taken := handle.take_message(kind, True):
            self.read[topic] += 1
            if topic == '/motor/reaction':
                self.sent_ns.setdefault(stamp_of(taken[0]), taken[1]['source_timestamp'])
            elif topic == '/diagnostics':
                message = self._deserialize(taken[0], kind)
                for status in message.status:
                    if status.name.endswith(': stepping'):
                        self.stepping = {pair.key: pair.value for pair in status.values}
                        steps = int(self.stepping.get('steps', 0))
                        self.counted.append((stamp_of(taken[0]), steps))

    def live(self, seconds: float, until: Callable[[], Any] = lambda: False) -> None:
        """Send and read for a while, or until something is the case."""
        start_ns = time.time_ns()
        end_ns = start_ns + round(seconds * 1e9)
        tick = start_ns // PERIOD_NS
        while (now_ns := time.time_ns()) < end_ns and not until():
            if now_ns // PERIOD_NS > tick:
                tick = now_ns // PERIOD_NS
                self.send(now_ns, tick % TF_EVERY == 0)
                if self.busy:
                    self.send_more(tick)
                for i in range(TOPICS_A_TICK):
                    self.take(TOPICS_A_TICK * tick + i)
            else:
                time.sleep(((tick + 1) * PERIOD_NS - now_ns) / 1e9)


def stamp_of(data: bytes) -> int:
    """Return the stamp [ns] of a serialized message that begins with a header."""
    seconds, nanoseconds = struct.unpack_from('<iI', data, 4)
    return int(seconds * 1_000_000_000 + nanoseconds)


def fill(target: Any, numbers: tuple[float, ...]) -> None:
    """Put three or four numbers into a vector or quaternion."""
    for name, value in zip('xyzw', numbers, strict=False):
        setattr(target, name, value)


def cpu_seconds(pid: int) -> float:
    """Return the processor time a process has taken so far, all threads."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def start(
    name: str, core: int, errors: Any, arguments: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start a node on one core: a child has the affinity of the thread that made it."""
    ours, parent = os.sched_getaffinity(0), os.getpid()
    os.sched_setaffinity(0, {core})
    try:
        return subprocess.Popen(
            [sys.executable, *(PANEL if name == 'view' else NODES.get(name, MOTOR)), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # Ctrl-C ends this process, which ends the node
            preexec_fn=lambda: die_with_the_parent(parent),
        )
    finally:
        os.sched_setaffinity(0, ours)


def end_by_signals() -> None:
    """Have SIGINT and SIGTERM raise KeyboardInterrupt, also where they were ignored."""
    for asked in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked, signal.default_int_handler)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a node to end; kill it when it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_node(
    name: str,
    surroundings: Surroundings,
    core: int,
    seconds: float,
    arguments: Sequence[str] = (),
) -> Run:
    """Run one node in the surroundings and return what it did."""
    with tempfile.TemporaryFile() as errors:
        surroundings.busy = name == 'busy'
        process = start(name, core, errors, arguments)
        # The panel shares the core of what surrounds the node, as on another machine.
        others = os.sched_getaffinity(0)
        view = start('view', max(others), errors) if name == 'panel' else None
        try:
            surroundings.forget()
            surroundings.live(PATIENCE, lambda: surroundings.sent_ns or process.poll() is not None)
            surroundings.live(WARM_UP if view is None else PANEL_START)
            surroundings.forget()
            cpu, start_ns = cpu_seconds(process.pid), time.time_ns()
            surroundings.live(seconds)
            cpu, end_ns = cpu_seconds(process.pid) - cpu, time.time_ns()
            read = dict(surroundings.read)
            surroundings.live(0.2)  # what was sent last is still to be read
        finally:
            if view is not None:
                end(view)
            end(process)
        steps = {at: sent for at, sent in surroundings.sent_ns.items() if start_ns < at <= end_ns}
        counted = surroundings.counted
        if not steps or len(counted) < 2:
            errors.seek(0)
            said = errors.read().decode(errors='replace')
            raise BenchError(f'the {name} node made no steps (code {process.returncode}). {said}')
    # What was read here was made for certain. What was lost on the way the node's own count tells,
    # but not to the step: it comes with the time of a message, not with that of a step.
    received = min(100.0, 100.0 * len(steps) * PERIOD_NS / (end_ns - start_ns))
    (first_ns, first), (last_ns, last) = counted[0], counted[-1]
    told = min(100.0, 100.0 * (last - first) * PERIOD_NS / (last_ns - first_ns))
    return Run(
        name,
        (end_ns - start_ns) / 1e9,
        max(received, told),
        received,
        100e9 * cpu / (end_ns - start_ns),
        sorted((sent - at) / 1e6 for at, sent in steps.items()),
        read,
    )


def run_loops(
    seconds: float, rounds: int, contestants: Mapping[str, tuple[str, Sequence[str]]]
) -> list[Run]:
    """Run the contestants in turns: by the name in the results, which node with what."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[-1:])  # before there are threads, which then stay there too
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    surroundings = Surroundings()
    try:
        return [
            run_node(node, surroundings, cores[0], seconds, arguments)._replace(node=name)
            for _ in range(rounds)
            for name, (node, arguments) in contestants.items()
        ]
    finally:
        surroundings.node.destroy_node()
        rclpy.try_shutdown()


# --- the table --------------------------------------------------------------------------------


class Loop(NamedTuple):
    """What the runs of one node gave: medians over the runs, but the longest lateness of all."""

    made: float
    received: float
    cpu: float
    cpu_a_step: float
    p50: float
    p99: float
    longest: float
    read: float


def summary(runs: list[Run], node: str) -> Loop:
    """Return the figures of one node."""
    own = [run for run in runs if run.node == node]
    return Loop(
        median(run.made for run in own),
        median(run.received for run in own),
        median(run.cpu for run in own),
        median(1e6 * run.cpu / run.made / RATE for run in own),
        median(quantile(run.lateness, 0.5) for run in own),
        median(quantile(run.lateness, 0.99) for run in own),
        max(run.lateness[-1] for run in own),
        median(sum(run.read.values()) / run.seconds for run in own),
    )


def judge(
    steps: dict[str, float], rolled: Rolled, replays: Replays, motor: Loop, plain: Loop, busy: Loop
) -> list[tuple[str, str, bool]]:
    """Return what has a target: which, how it came out, and whether it is reached."""
    slowest = max(steps['symmetric'], steps['asymmetric'])
    ratio = motor.cpu / plain.cpu
    later = busy.p99 / motor.p99
    many, most = rolled['rollout 1000'] or inf, bench_rollout.TARGET
    return [
        ('one step', f'{slowest:.1f} us of at most {STEP_TARGET:g} us', slowest <= STEP_TARGET),
        (
            'drives not used',
            f'{steps["unused"]:.2f} us a step, at most {UNUSED_TARGET:g} us',
            steps['unused'] <= UNUSED_TARGET,
        ),
        ('rollout', f'{many:.0f} ns a motor-step, at most {most:g} ns', many <= most),
        (
            'memory of a replay',
            f'{replays.peak:.0f} MB, at most {bench_replay.MEMORY_TARGET:g} MB',
            replays.peak <= bench_replay.MEMORY_TARGET,
        ),
        ('steps', f'{motor.made:.2f} % of at least {MADE_TARGET:g} %', motor.made >= MADE_TARGET),
        ('CPU', f'{ratio:.2f} of the plain node, at most {CPU_TARGET:g}', ratio <= CPU_TARGET),
        (
            'lateness when busy',
            f'p99 {later:.2f} of that with nothing more around, at most {BUSY_TARGET:g}',
            later <= BUSY_TARGET,
        ),
    ]


def table(
    steps: dict[str, float], rolled: Rolled, replays: Replays, motor: Loop, plain: Loop, busy: Loop
) -> Table:
    """Return all figures as a table."""
    shown = Table('', 'motor', 'compared with', 'ratio', 'target', title='Bench (medians)')

    def row(name: str, form: str, ours: float, theirs: float, target: str = '') -> None:
        if isnan(theirs):
            shown.add_row(name, form.format(ours), 'not installed', '', target)
            return
        ratio = f'{ours / theirs:.2f}' if theirs else ''
        shown.add_row(name, form.format(ours), form.format(theirs), ratio, target)

    for rotor in ('symmetric', 'asymmetric'):
        name, target = f'one step, {rotor} rotor (us)', f'<= {STEP_TARGET:g}'
        row(name, '{:.1f}', steps[rotor], steps['mujoco'], target)
    name, target = 'step of a session, without drives (us)', f'<= {UNUSED_TARGET:g} us more'
    bare = steps['without drives']
    row(name, '{:.1f}', bare + steps['unused'], bare, target)  # of pairs of batches, as judged
    shown.add_section()
    for count in bench_rollout.COUNTS:
        motors = '1 motor' if count == 1 else f'{count} motors'
        target = '' if count == 1 else f'<= {bench_rollout.TARGET:g}'
        for other in ('mujoco', 'basilisk'):
            name, theirs = f'rollout, {motors}, {other} (ns)', rolled[f'{other} {count}']
            row(name, '{:.0f}', rolled[f'rollout {count}'] or 0.0, theirs or nan, target)
    name = 'rollout, mount_wrench too (ns)'
    row(name, '{:.0f}', rolled['rollout 1000 wrench'] or 0.0, rolled['rollout 1000'] or nan)
    shown.add_section()
    name = f'replay of {replays.name} (times real time)'
    shown.add_row(name, f'{replays.speed:.1f}', '', '', '')
    name = f'memory of a replay of {replays.seconds:g} s at 1 kHz (MB)'
    shown.add_row(name, f'{replays.peak:.0f}', '', '', f'<= {bench_replay.MEMORY_TARGET:g}')
    shown.add_section()
    row('steps made of those due (%)', '{:.2f}', motor.made, plain.made, f'>= {MADE_TARGET:g}')
    row('steps received here (%)', '{:.2f}', motor.received, plain.received)
    row('CPU of a core (%)', '{:.1f}', motor.cpu, plain.cpu, f'ratio <= {CPU_TARGET:g}')
    row('CPU a step made (us)', '{:.0f}', motor.cpu_a_step, plain.cpu_a_step)
    row('lateness p50 (ms)', '{:.3f}', motor.p50, plain.p50)
    row('lateness p99 (ms)', '{:.3f}', motor.p99, plain.p99)
    row('lateness max (ms)', '{:.3f}', motor.longest, plain.longest)
    row('messages read a second', '{:.0f}', motor.read, plain.read)
    shown.add_section()
    target = f'ratio <= {BUSY_TARGET:g}'
    row('lateness p99 (ms), busy against not', '{:.3f}', busy.p99, motor.p99, target)
    row('steps made (%), busy against not', '{:.2f}', busy.made, motor.made)
    return shown


def loops_table(runs: list[Run], what: str, names: Iterable[str]) -> Table:
    """Return how late loops were that differ in one thing, and what they took."""
    shown = Table(
        what, 'p50 ms', 'p99 ms', 'max ms', 'CPU %', 'steps %', title='Lateness (medians)'
    )
    for name in names:
        loop = summary(runs, name)
        shown.add_row(
            name,
            *(f'{x:.3f}' for x in (loop.p50, loop.p99, loop.longest)),
            f'{loop.cpu:.1f}',
            f'{loop.made:.2f}',
        )
    return shown


def main() -> int:
    """Measure, print; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(
        prog='bench.py', description='Measure one step and the running node; 1 = target missed.'
    )
    parser.add_argument(
        '--seconds',
        type=number('>= 4 s and finite', lambda x: 4.0 <= x < float('inf')),  # diagnostics: 1 Hz
        default=10.0,
        help='of each run (default 10)',
    )
    parser.add_argument(
        '--rounds',
        type=whole('>= 1', lambda x: x >= 1),
        default=3,
        help='runs of each node (default 3)',
    )
    parser.add_argument('--json', type=Path, help='write the raw numbers to this file')
    parser.add_argument(
        '--recording',
        type=Path,
        default=RECORDING if RECORDING.is_dir() else None,
        help=f'to replay, where there is no {RECORDING.name} beside the checkout',
    )
    parser.add_argument(
        '--replayed',
        type=number('> 0 s', lambda x: 0.0 < x < float('inf')),
        default=3600.0,
        metavar='S',
        help='length of the recording of which the memory is measured [s] (3600)',
    )
    parser.add_argument(
        '--bag', action='store_true', help='the memory with a bag made too, which takes longer'
    )
    parser.add_argument(
        '--habits', action='store_true', help='compare the habits of a real-time loop instead'
    )
    parser.add_argument(
        '--panel', action='store_true', help='compare the node with and without a panel instead'
    )
    options = parser.parse_args()
    prepare_environment(os.environ)
    end_by_signals()
    contestants: dict[str, tuple[str, Sequence[str]]] = {name: (name, ()) for name in NODES}
    if options.habits:
        contestants = {
            name: ('motor', ['--ros-args', *words] if words else [])
            for name, words in HABITS.items()
        }
    if options.panel:
        contestants = {name: (node, ()) for name, node in PANELS.items()}
    is_short = options.habits or options.panel
    print(
        f'{options.rounds} times {options.seconds:g} s of each of {len(contestants)} '
        f'({len(contestants) * options.rounds * (options.seconds + WARM_UP + 1.5):.0f} s) ...',
        flush=True,
    )
    try:
        steps = {} if is_short else time_steps()
        rolled = {} if is_short else time_rollouts()
        replays = None
        if not is_short:
            replays = time_replays(options.recording, options.replayed, options.bag)
        runs = run_loops(options.seconds, options.rounds, contestants)
    except BenchError as error:
        print(f'bench: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.json is not None:
        raw = {'steps_us': steps, 'rollouts_ns': rolled, 'runs': [run._asdict() for run in runs]}
        options.json.write_text(json.dumps(raw) + '\n')
    if replays is None:
        what, names = ('panel', PANELS) if options.panel else ('habit', HABITS)
        Console().print(loops_table(runs, what, names))
        return 0
    motor, plain, busy = (summary(runs, name) for name in NODES)
    Console().print(table(steps, rolled, replays, motor, plain, busy))
    print('One step is compared with mj_step of MuJoCo; the node with a plain rclpy timer node.')
    print('Rollouts: ns of one core for a step of a motor, with angle and spin kept, against')
    print("mujoco.rollout and Basilisk's wheel; 1000 with mount_wrench against 1000 without.")
    print(f'Lateness: from the end of a step to its first message sent, at {RATE} steps/s.')
    judged = judge(steps, rolled, replays, motor, plain, busy)
    missed = [(name, text) for name, text, reached in judged if not reached]
    for name, text in missed:
        print(f'missed: {name}: {text}')
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
