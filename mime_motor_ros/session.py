"""
The rules of time: stamped inputs in, in any order; steps out. The same object live and offline.

A session is told of inputs (``take``) and how far time has come (``advance_to``). It decides
which steps are due, which sample each of them reads, what is too old, and what happens when
the clock jumps. It knows no ROS, no clock of its own and no file.

Rules, by the numbers used in the code and the tests:

1. A step that ends at t reads, of every input, the newest sample stamped at or before t.
2. ``step_on: timer`` steps on the grid of ``rate``; ``imu`` from one rate stamp to the next.
3. Steps due come from elapsed time; more than ``max_gap`` at once is left out and reported.
4. A clock that goes back drops the inputs and holds or resets the state. Time 0 is no time.
5. Stamp 0 is the time of receipt; older than one already read, or too far ahead, is refused.
6. What is not finite, not a rotation, not a frame, not reported or not ours is refused.
7. The rate is turned from the frame of its message into the world.
8. Without a fresh pose and rate there are no steps; without a fresh command no torque.
9. A step is taken ``settle`` after its end; what arrives behind it is late and read by the next.
10. No input makes an output that is not finite.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import atan2, inf, isfinite, sqrt
from typing import Any, NamedTuple

from .axial import Law
from .drive import commanded, COMMANDED_BY, DriveState, Setpoint
from .energy import Energy
from .errors import FrameError
from .frames import FOREVER, FrameTree
from .inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from .model import advance, compose, MotorState, Pose, Step, StepInputs, Wrench
from .motor import MOST_HELD, MOST_SQUARED, Motor
from .sensing import Measured
from .settings import MOST_MOTORS, Settings
from .timeline import Grid, NANOSECONDS, Stream
from .vector import (
    about,
    add,
    conjugate,
    cross,
    Matrix,
    multiply,
    Quaternion,
    rotate,
    subtract,
    turned,
    Vector,
)

NO_WRENCH = Wrench()
STILL = ORIGIN = (0.0, 0.0, 0.0)
SOURCES: dict[type, str] = {
    Transform: 'tf',
    Imu: 'imu',
    Twist: 'twist',
    Odometry: 'odometry',
    Commands: 'commands',
    JointCommand: 'joint_command',
}
WORDS = {
    'repeated': 'the stamp of one that was there already',
    'old': 'older than one already used',
    'late': 'behind the step that should have read it',
    'full': 'more are waiting than are kept',
    'frames': 'there are more frames than are remembered',
}
TREE_FULL = {'full': 'frames', 'inserted': ''}
"""What the tree of frames answers, in the words of here, where they differ."""
BEFORE_ZERO = 'stamp {} ns is before the zero of every clock'
MOST_WAITING = 16_384
"""Samples of the mount's pose or rate: the longest ``settle`` at 3 kHz."""
LONGEST_NAME = 256
"""Characters of a frame id or joint; in Gazebo and tf2 a scoped one has some dozens."""
MESSAGES = ('imu', 'twist', 'odometry')
"""The sources of the mount's rate that are messages of their own."""
USUAL = frozenset({'late', 'repeated'})
"""What is counted but not worth a line: two drivers in three repeat a stamp now and then."""


NOT_DUE = 'the first step is not due yet'
ADVICE = {
    'covariance': 'Set it to 0 (unknown) in the driver if the field is filled, or take another '
    'rate_source or pose_source.',
    'quaternion': 'The sender has to fill it with a rotation, or not to be used for the pose.',
    'non-finite': 'The sender must leave out what it does not know.',
    'future': 'Compare the clocks of the hosts (chrony, PTP) and use_sim_time of both.',
    'frame': 'Set the frame ids of the sender (frame_id, child_frame_id).',
    'size': 'Send one number for each motor, in the order of the parameter motors, or for each '
    'joint that is named.',
    'name': 'Use the names of the parameter joint.',
    'stamp': 'Look at the clock of the sender.',
    'old': 'Let one node alone send them, in order.',
    'full': 'Somebody sends far too many.',
    'frames': 'Somebody invents frame ids; remap /tf to one without those.',
}
"""What to do about what is refused, by reason."""


def source_of(item: Any) -> str:
    """Return the name under which an input is counted."""
    return f'{item.motor} {item.link}_wrench' if type(item) is Load else SOURCES[type(item)]


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """An input that is not used: the reason it is counted under and the words that say it."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Outcome(NamedTuple):
    """
    One step of all motors, and what it gives to the outside.

    ``steps`` hold vectors in world axes; the methods give them in mount axes, wrenches about
    the mount's origin, for one motor or (index None) summed over all.
    """

    start_ns: int
    """Where the step began [ns]; nothing else lies between the two."""
    stamp_ns: int
    """Where the step ended [ns]: the time of the state."""
    dt: float
    """Length of the step [s]."""
    mount: Pose
    """Pose of the mount in the world at the end of the step."""
    rate: Vector
    """Angular velocity of the mount, world axes [rad/s]."""
    steps: tuple[Step, ...]
    drives: tuple[DriveState, ...]
    """Of each motor what its drive remembers."""
    measured: tuple[Measured | None, ...]
    """Of each motor what its sensors tell; None without, or before the first sample."""
    told_ns: tuple[int, ...] = ()
    """Of each motor when that was measured [ns]; empty where no motor has sensors."""
    commands: tuple[Setpoint | None, ...] = ()
    """Of each motor the set point that acted; None without one, or where it was too old or off."""

    @property
    def torques(self) -> tuple[float, ...]:
        """Return the torque that acted, a motor [N m]."""
        return tuple([step.torque for step in self.steps])

    def reaction(self, motor: int | None = None) -> Wrench:
        """Return the reaction on the mount in mount axes [N, N m]: equation (10)."""
        return self._wrench([step.reaction for step in self._of(motor)])

    def mount_wrench(self, motor: int | None = None) -> Wrench:
        """Return what a real mount would feel, in mount axes [N, N m]: equation (14)."""
        return self._wrench([step.mount_wrench for step in self._of(motor)])

    def momentum(self, motor: int | None = None) -> Vector:
        """Return the spin momentum in mount axes [N m s]: equation (11)."""
        return self.in_mount(_sum([step.momentum for step in self._of(motor)]))

    def in_mount(self, vector: Vector) -> Vector:
        """Return a vector of world axes in mount axes."""
        return rotate(conjugate(self.mount.orientation), vector)

    def tensor_in_mount(self, rows: Matrix) -> Matrix:
        """Return a tensor of world axes in mount axes, by rows."""
        return turned(conjugate(self.mount.orientation), rows)

    def rotor_in_stator(self, motor: int, axis: Vector) -> Pose:
        """Return the pose of the rotor in its stator: a turn about the axis."""
        return Pose(ORIGIN, about(axis, self.steps[motor].state.angle))

    def _of(self, motor: int | None) -> tuple[Step, ...]:
        return self.steps if motor is None else (self.steps[motor],)

    def _wrench(self, wrenches: list[Wrench]) -> Wrench:
        force = self.in_mount(_sum([wrench.force for wrench in wrenches]))
        return Wrench(force, self.in_mount(_sum([wrench.torque for wrench in wrenches])))


def _sum(vectors: list[Vector]) -> Vector:
    total = vectors[0]
    for vector in vectors[1:]:
        total = add(total, vector)
    return total


class Session:
    """
    Motors on one mount, stepped through time by stamped inputs.

    Attributes
    ----------
    motors : what is kept of each motor
    counts : Counter of (input, reason) for all that was refused, late or repeated
    gaps, jumps, steps, caught_up : what has happened to time so far
    poses : poses of the mount with stamps of their own that were read so far
    waiting : why the last step due was not taken, '' when it was
    lacking : which input was not there for it, 'mount pose' or 'mount rate', '' when neither
    news : what is to be said, by kind; the edge takes it out and decides how often

    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.motors = [Motor(settings, i) for i in range(len(settings.motors))]
        self._dt = 1.0 / settings.rate
        self.counts: Counter[tuple[str, str]] = Counter()
        self.news: dict[str, str] = {}
        self.steps = self.caught_up = self.gaps = self.jumps = self.poses = 0
        self.waiting = NOT_DUE
        self.lacking = ''
        self.paused = False
        self.enabled = True
        self.pose_stamp: int | None = None
        self.rate_stamp: int | None = None
        self.command_stamp: int | None = None

        self.grid = Grid(settings.rate)
        self.frames = FrameTree()
        for motor in settings.motors:  # so that what sits on a stator is found from there
            self.frames.insert(
                -1, settings.mount_frame, motor.stator_frame, motor.model.placement, static=True
            )
        self._said: set[str] = set()
        self.ours: deque[Transform] = deque(maxlen=MOST_HELD)
        self._answers: list[str] = []
        self._before_clock: deque[Any] = deque(maxlen=MOST_HELD)
        self._now = self._advanced = self._end = self._tick = 0
        self._seen: dict[str, int | None] = {}  # of each child sent since: newest stamp by _end
        self._rate: Stream[tuple[str, Vector]] = Stream(MOST_WAITING)
        self._pose: Stream[tuple[str, str, Pose]] = Stream(MOST_WAITING)
        count = len(settings.motors)
        self._loads: dict[tuple[int, str], Stream[tuple[str, Wrench]]] = {
            (i, link): Stream(MOST_HELD) for i in range(count) for link in ('stator', 'rotor')
        }
        self._index = {
            name: i
            for i, motor in enumerate(settings.motors)
            for name in (motor.name, motor.joint)
        }
        self._own = {
            frame for motor in settings.motors for frame in (motor.stator_frame, motor.rotor_frame)
        }
        self._streams: list[Stream[Any]] = [
            self._rate,
            self._pose,
            *(motor.commands for motor in self.motors if not motor.is_sampled),
            *self._loads.values(),
        ]
        self._sampled = [motor for motor in self.motors if motor.is_sampled]
        self._takers: dict[type, Callable[[Any], None]] = {
            Transform: self._take_transform,
            Imu: self._take_imu,
            Twist: self._take_twist,
            Odometry: self._take_odometry,
            Commands: self._take_commands,
            JointCommand: self._take_joint_command,
            Load: self._take_load,
        }
        self._look_at_motors()
        self._forget()

    # what the outside may do between two steps

    def update(self, settings: Settings) -> None:
        """Use other values of the parameters that may change while running."""
        timeout = self.settings.command_timeout
        for motor in self.motors:
            acting = self.enabled and motor.setpoint(self._end, timeout) is not None
            motor.update(settings, acting, self._end, self._dt)
        self.settings = settings
        self._look_at_motors()

    def reset(self) -> None:
        """Put every motor back to its initial angle and spin; time and inputs go on."""
        for motor in self.motors:
            motor.reset()
        self._look_at_motors()

    def _look_at_motors(self) -> None:
        """See what no step can change: of motors without drives and without sensors."""
        plain = all(motor.is_plain for motor in self.motors)
        self._idle = tuple(self.drives) if plain else ()
        silent = all(motor.settings.sensors.is_none for motor in self.motors)
        self._untold = (None,) * len(self.motors) if silent else ()

    @property
    def states(self) -> list[MotorState]:
        """Return angle and spin of each motor."""
        return [motor.state for motor in self.motors]

    @property
    def drives(self) -> list[DriveState]:
        """Return the drive of each motor; without modes and limits it stays as it begins."""
        return [motor.drive for motor in self.motors]

    @property
    def energy(self) -> list[Energy]:
        """Return the energy audit of each motor."""
        return [motor.energy for motor in self.motors]

    @property
    def torques(self) -> tuple[float, ...]:
        """Return the torque of each drive in the last step [N m]."""
        return tuple(motor.torque for motor in self.motors)

    @property
    def still(self) -> bool:
        """Tell whether the mount has the world's own frame and cannot move."""
        return self.settings.world_frame == self.settings.mount_frame

    @property
    def held(self) -> dict[str, int]:
        """Return how much is kept: samples no step has read, transforms, names of frames."""
        return {
            'samples waiting': sum(map(len, self._streams))
            + sum(len(motor.commands) for motor in self._sampled)
            + len(self._before_clock),
            'transforms kept': self.frames.size,
            'frames': len(self.frames.frames()),
        }

    @property
    def now_ns(self) -> int:
        """Return how far time has come [ns], 0 before the first."""
        return self._now

    def age(self, stamp_ns: int | None) -> float | None:
        """Return how old a sample is [s] for the steps that are due, which ``settle`` puts off."""
        if stamp_ns is None:
            return None
        return (self._now - self.settings.settle - stamp_ns) / NANOSECONDS

    # inputs

    def take(self, item: Any, now_ns: int) -> bool:
        """
        Take one input, received now; return whether steps will read it.

        Never raises for what the input holds: what is wrong is counted and said.
        """
        self._observe(now_ns)
        if not self._now and not getattr(item, 'static', False):
            if _is_large(item):
                self._refuse(item, 'size', 'more than can be kept until there is a clock')
                return False
            if len(self._before_clock) == MOST_HELD:
                self._refuse(self._before_clock[0], 'full', WORDS['full'])
            self._before_clock.append(item)
            return True
        answers = self._answers
        answers.clear()
        try:
            self._takers[type(item)](item)
        except Refused as refused:
            self._refuse(item, refused.reason, str(refused))
        for answer in answers:
            if answer:
                self._refuse(item, answer, WORDS[answer])
        return '' in answers or 'late' in answers

    def _refuse(self, item: Any, reason: str, text: str) -> None:
        source = source_of(item)
        self.counts[source, reason] += 1
        if reason not in USUAL:
            self.news.setdefault(f'{source} {reason}', f'{source}: {text}; not used')

    def _once(self, key: str, text: str) -> None:
        if key not in self._said and len(self._said) < 256:
            self._said.add(key)
            self.news[key] = text

    def _take_transform(self, item: Transform) -> None:
        parent, child = self._frame(item.parent), self._frame(item.child)
        if parent == child:
            raise Refused('frame', f'a transform of {child!r} to itself')
        if child in self._own:  # our own, come back; or somebody else's of the same name
            self.ours.append(item._replace(parent=parent, child=child))
            return
        pose = pose_of(item.position, item.orientation)
        if item.static:
            if item.stamp < 0:
                raise Refused('stamp', BEFORE_ZERO.format(item.stamp))
            # One of a clock that was ahead must not win over the right one for good.
            stamp = min(item.stamp or self._now, self._now or item.stamp)
            answer = self.frames.insert(stamp, parent, child, pose, True)
            self._say_both(child)
            # Latched and sent again and again: that it says nothing new means nothing.
            self._answers.append('' if answer == 'repeated' else TREE_FULL.get(answer, answer))
            return
        stamp = self._stamp(item.stamp)
        if child not in self._seen:
            self._seen[child] = self.frames.newest_stamp(child, self._end)
        read = self._seen[child]
        if read is not None and stamp <= read:
            self._answers.append('repeated' if stamp == read else 'old')
            return
        answer = self.frames.insert(stamp, parent, child, pose)
        if answer == 'full':
            del self._seen[child]  # or a flood of names would stay here
        self._say_both(child)
        self._answered(TREE_FULL.get(answer, answer), stamp)

    def _say_both(self, child: str) -> None:
        if self.frames.is_both(child):
            self._once(
                f'both {child}',
                f'frame {child!r} is sent as static and as moving: the moving ones are used. '
                'Let one publisher alone place it',
            )

    def _take_imu(self, item: Imu) -> None:
        frame = self._frame(item.frame)
        if self.settings.rate_source == 'imu':
            try:
                _reported(item.covariance, 'angular_velocity_covariance')
                self._offer(self._rate, item.stamp, (frame, _finite(item.angular_velocity)))
            except Refused as refused:  # the orientation may still be good
                self._refuse(item, refused.reason, str(refused))
        if self.settings.pose_source == 'imu':
            _reported(item.orientation_covariance, 'orientation_covariance')
            pose = Pose(STILL, _unit(item.orientation))
            self._offer(self._pose, item.stamp, (self.settings.world_frame, frame, pose))

    def _take_twist(self, item: Twist) -> None:
        if self.settings.rate_source == 'twist':
            value = (self._frame(item.frame), _finite(item.angular_velocity))
            self._offer(self._rate, item.stamp, value)

    def _take_odometry(self, item: Odometry) -> None:
        frame, child = self._frame(item.frame), self._frame(item.child)
        if frame == child:
            raise Refused('frame', f'an odometry of {child!r} in itself')
        # Of what is used all is good or none is taken; what is not used may be anything.
        samples: list[tuple[Stream[Any], Any]] = []
        if self.settings.pose_source == 'odometry':
            pose = pose_of(item.position, item.orientation)
            samples.append((self._pose, (frame, child, pose)))
        if self.settings.rate_source == 'odometry':
            samples.append((self._rate, (child, _finite(item.angular_velocity))))
        for stream, value in samples:
            self._offer(stream, item.stamp, value)

    def _take_commands(self, item: Commands) -> None:
        if len(item.torques) != len(self.motors):
            raise Refused('size', f'{len(item.torques)} torques for {len(self.motors)} motors')
        for motor, value in zip(self.motors, _finite(item.torques), strict=True):
            self._offer(motor.commands, 0, Setpoint(value), said=False)

    def _take_joint_command(self, item: JointCommand) -> None:
        count = len(item.names)
        lists = {
            'efforts': item.torques,
            'velocities': item.velocities,
            'positions': item.positions,
        }
        for name, numbers in lists.items():
            if not count or len(numbers) not in (0, count):
                raise Refused('size', f'{count} names with {len(numbers)} {name}')
        unknown = [name for name in item.names if name not in self._index]
        if unknown:
            raise Refused(
                'name',
                f'no joint {unknown[0]!r}, there are '
                + ', '.join(motor.joint for motor in self.settings.motors),
            )
        if len({self._index[name] for name in item.names}) < len(item.names):
            raise Refused('name', 'a motor is named twice')
        setpoints = []
        for k, name in enumerate(item.names):
            mode = self.settings.motors[self._index[name]].drive.mode
            needed = COMMANDED_BY.get(mode, 'efforts')
            if not lists[needed]:
                raise Refused('size', f'{count} names with 0 {needed}, the command of mode {mode}')
            fed = [numbers[k] if numbers else 0.0 for numbers in lists.values()]
            setpoints.append(Setpoint(*_finite(commanded(mode, *fed))))
        for name, setpoint in zip(item.names, setpoints, strict=True):
            self._offer(self.motors[self._index[name]].commands, item.stamp, setpoint)

    def _take_load(self, item: Load) -> None:
        stream = self._loads.get((self._index.get(item.motor, -1), item.link))
        if stream is None:
            raise Refused('name', f'no motor {item.motor!r}')
        wrench = Wrench(_finite(item.force), _finite(item.torque))
        self._offer(stream, item.stamp, (self._frame(item.frame), wrench))

    def _offer(self, stream: Stream[Any], stamp: int, value: Any, said: bool = True) -> None:
        used = self._stamp(stamp, said)
        self._answered(stream.offer(used, value, newer=not stamp, now_ns=self._now), used)

    def _answered(self, answer: str, stamp: int) -> None:
        """Note what became of a sample; one that a step taken should have read is late: rule 9."""
        self._answers.append(answer or ('late' if 0 < stamp <= self._end else ''))

    def _stamp(self, stamp: int, said: bool = True) -> int:
        """Return the stamp to use: rule 5."""
        if stamp == 0:
            if said:
                self._once('stamp 0', 'an input has stamp 0: its time of receipt is used')
            # After the steps already taken, so that it is read by the next one.
            return max(self._now, self._end + 1)
        if stamp < 0:
            raise Refused('stamp', BEFORE_ZERO.format(stamp))
        if stamp - self._now > self.settings.max_gap:
            ahead = min(stamp - self._now, FOREVER) / NANOSECONDS
            raise Refused('future', f'stamp is {ahead:.3f} s ahead of the clock')
        return stamp

    def _frame(self, frame: str) -> str:
        if frame.startswith('/'):
            self._once(f'slash {frame}', f"the leading '/' of frame {frame!r} is left out")
            frame = frame[1:]
        if not frame or frame.startswith('/'):
            raise Refused('frame', f'{frame!r} is not a frame id')
        if len(frame) > LONGEST_NAME:
            raise Refused('frame', f'a frame id of {len(frame)} characters, not <= {LONGEST_NAME}')
        return frame

    # time

    def advance_to(self, now_ns: int, most: int | None = None) -> list[Outcome]:
        """Take the steps due by now, or the first ``most`` of them, and return them in order."""
        return list(self.stepping(now_ns, most))

    def stepping(self, now_ns: int, most: int | None = None) -> Iterator[Outcome]:
        """Take these steps one by one: behind each the session is as that step has left it."""
        self._observe(now_ns)
        if not self._now:
            self.waiting = 'no clock yet'
            return
        horizon = self._now - self.settings.settle
        made = 0
        if self.settings.step_on == 'imu':
            due = self._rate.waiting(horizon)
            for stamp in due[:most]:
                outcome = self._step_between(self._rate.stamp, stamp)
                if outcome:
                    made += 1
                    yield outcome
            if most is None or len(due) <= most:
                self._miss_the_rate()
        else:
            last = self.grid.tick(horizon)
            # Two steps apart is no gap, however short max_gap is or rare the steps are.
            longest = max(self.settings.max_gap, 2 * self.grid.time_ns(1) + 1)
            if self._now - self._advanced > longest:
                self._gap(self._now - self._advanced)
                self._tick = max(self._tick, last)
                self.waiting = 'more time than max_gap passed at once'
            if most is not None:
                last = min(last, self._tick + most)
            for tick in range(self._tick + 1, last + 1):
                self._tick = tick  # before anybody may leave off
                outcome = self._step(
                    self.grid.time_ns(tick - 1), self.grid.time_ns(tick), self.grid.dt
                )
                if outcome:
                    made += 1
                    yield outcome
            self._tick = max(self._tick, last)
        self.caught_up += max(0, made - 1)
        self._advanced = self._now

    def _observe(self, now_ns: int) -> None:
        """See how far time has come: its start, and whether it went back (rule 4)."""
        if now_ns <= 0 or now_ns == self._now:
            return
        if not self._now:
            self._begin(now_ns)
            waiting, self._before_clock = self._before_clock, deque(maxlen=MOST_HELD)
            for item in waiting:
                self.take(item, now_ns)
        elif now_ns < self._now:
            self.jumps += 1
            hold = self.settings.on_time_jump == 'hold'
            if not hold:
                self.reset()
            self.news['clock'] = (
                f'the clock went back by {(self._now - now_ns) / NANOSECONDS:.3f} s: '
                f'inputs dropped, angle and spin {"held" if hold else "reset"}'
            )
            self._forget()
            self._begin(now_ns)
        self._now = now_ns

    def _begin(self, now_ns: int) -> None:
        self._now = self._advanced = self._began = now_ns
        self._tick = max(0, self.grid.tick(now_ns - self.settings.settle))  # no step ends at 0

    def _forget(self) -> None:
        """Drop every input but the static transforms, which nobody sends again."""
        for stream in self._streams:
            stream.clear()
        for motor in self.motors:
            motor.forget()
        self.frames.clear()
        self._end = 0
        self._seen.clear()
        self.pose_stamp = self.rate_stamp = self.command_stamp = None
        self._turned: tuple[int, Pose] | None = None
        self._turning: tuple[int, Vector] | None = None

    def _gap(self, length_ns: int) -> None:
        self.gaps += 1
        self.news['gap'] = (
            f'{length_ns / NANOSECONDS:.3f} s passed at once, more than max_gap: '
            'not integrated, angle and spin held'
        )

    def _step_between(self, start_ns: int | None, stamp_ns: int) -> Outcome | None:
        """Step from one rate stamp to the next; the first only starts the clock: rule 2."""
        length = stamp_ns - start_ns if start_ns is not None else 0
        if 0 < length <= min(self.settings.max_gap, self.settings.rate_timeout):
            return self._step(stamp_ns - length, stamp_ns, length / NANOSECONDS)
        if length > self.settings.max_gap:
            self._gap(length)
        self._read(stamp_ns - length, stamp_ns)
        after = f' after {length / NANOSECONDS:.3f} s, more than rate_timeout,' if length else ''
        self.waiting = f'the first rate{after} only starts the clock'
        return None

    def _miss_the_rate(self) -> None:
        """Say that steps wait for a rate message, once it is overdue."""
        silent = self._now - self.settings.settle - (self._rate.stamp or self._began)
        if silent > self.settings.rate_timeout:
            self.lacking = 'mount rate'
            self.waiting = (
                f'no {self.settings.rate_source} message to step on for '
                f'{silent / NANOSECONDS:.3f} s'
            )

    def _read(self, start_ns: int, time_ns: int) -> None:
        since = self._end or start_ns
        for stream in self._streams:
            stream.read(time_ns)
        self._end = time_ns
        self._seen.clear()
        # Whether or not a step can use them.
        if self.settings.rate_source in MESSAGES:
            self.rate_stamp = self._rate.stamp
        for motor in self._sampled:
            motor.read(since, time_ns)
        for motor in self.motors:
            stamp = motor.commands.stamp
            if stamp is not None and stamp > (self.command_stamp or 0):
                self.command_stamp = stamp

    def _step(self, start_ns: int, stamp_ns: int, dt: float) -> Outcome | None:
        """Take the step that ends at a stamp, or say in ``waiting`` why there is none."""
        self._read(start_ns, stamp_ns)
        moving = self._moving(stamp_ns)
        if moving is None:
            return None
        mount, rate = moving
        setpoints, inputs, steps = [], [], []
        try:
            for i, motor in enumerate(self.motors):
                setpoint, stator, rotor = self._given(i, stamp_ns, mount)
                setpoints.append(setpoint)
                if motor.is_plain:
                    torque = setpoint.value if setpoint else 0.0
                    given = StepInputs(mount, rate, torque, stator, rotor)
                else:
                    given = motor.inputs(setpoint, mount, rate, stator, rotor, start_ns, dt)
                inputs.append(given)
                steps.append(advance(motor.settings.model, motor.state, given, dt))
            shared = self.settings.torque_limit < inf and self._share(inputs, steps, dt)
            drives = self._idle or [
                motor.driven(step, shared, dt)
                for motor, step in zip(self.motors, steps, strict=True)
            ]
        except (ValueError, ArithmeticError):  # the sine of an angle that is not finite, 0/0
            self._overflow()
            return None
        if not _are_moderate(steps):
            self._overflow()
            return None
        for i, motor in enumerate(self.motors):
            step = steps[i]
            motor.energy.add(motor.settings.model, motor.state, step, dt, inputs[i].drive_spin)
            motor.state, motor.drive, motor.last = step.state, drives[i], step
            motor.last_ns = stamp_ns
            if motor.measures:
                motor.measure(start_ns, stamp_ns, dt)
        self.steps += 1
        self.waiting = ''
        self._dt = dt
        return Outcome(
            start_ns,
            stamp_ns,
            dt,
            mount,
            rate,
            tuple(steps),
            self._idle or tuple(drives),
            self._untold or tuple([motor.measured for motor in self.motors]),
            () if self._untold else tuple([motor.told_ns for motor in self.motors]),
            tuple(setpoints),
        )

    def _given(
        self, index: int, time_ns: int, mount: Pose
    ) -> tuple[Setpoint | None, Wrench, Wrench]:
        """Return what a motor is given in a step: its set point, and loads in world axes."""
        motor, setpoint = self.motors[index], None
        if self.enabled:
            setpoint = motor.setpoint(time_ns, self.settings.command_timeout)
        return setpoint, self._load(index, 'stator', mount), self._load(index, 'rotor', mount)

    def _share(self, inputs: list[StepInputs], steps: list[Step], dt: float) -> bool:
        """Where all drives want more than the mount may take, let each have less, in place."""
        most = self.settings.torque_limit
        total = sum([abs(step.torque) for step in steps])
        if total <= most:
            return False
        if total == inf:
            raise OverflowError
        for i, motor in enumerate(self.motors):
            law = Law(steps[i].torque * (most / total), power=motor.settings.drive.power_limit)
            given = inputs[i]._replace(law=law)
            steps[i] = advance(motor.settings.model, motor.state, given, dt)
        return True

    def _overflow(self) -> None:
        """Leave out a step whose numbers are beyond computing: rule 10."""
        self.counts['step', 'overflow'] += 1
        self.waiting = 'inputs too large to compute with'
        self.news['overflow'] = f'{self.waiting}: step left out, angle and spin held'

    # what a step reads

    def _moving(self, time_ns: int) -> tuple[Pose, Vector] | None:
        """Return pose and rate of the mount for a step, None where there is to be none."""
        mount, rate = self._mount(time_ns), None
        if mount is not None:
            rate = self._mount_rate(time_ns, mount)
        self.lacking = 'mount pose' if mount is None else 'mount rate' if rate is None else ''
        if self.paused:
            self.waiting = 'paused by ~/pause'
        if mount is None or rate is None or self.paused:
            return None
        return mount, rate

    def _mount(self, time_ns: int) -> Pose | None:
        """Return the pose of the mount that a step ending now reads, None when there is none."""
        world, mount = self.settings.world_frame, self.settings.mount_frame
        if self.still:
            return Pose()
        try:
            if self.settings.pose_source == 'tf':
                stamp, pose = self.frames.newest(world, mount, time_ns)
            else:
                stamp, pose = self._pose.stamp, Pose()
                if self._pose.value is None:
                    self.waiting = f'no {self.settings.pose_source} message yet for the mount pose'
                    return None
                frame, child, pose = self._pose.value
                pose = compose(
                    compose(self._connect(world, frame, time_ns), pose),
                    self._connect(child, mount, time_ns),
                )
        except FrameError as error:
            self.waiting = f'mount pose: {error}'
            return None
        self.poses += stamp != self.pose_stamp
        self.pose_stamp = stamp
        if stamp is not None and time_ns - stamp > self.settings.pose_timeout:
            self.waiting = f'the mount pose is {(time_ns - stamp) / NANOSECONDS:.3f} s old'
            return None
        return pose

    def _mount_rate(self, time_ns: int, mount: Pose) -> Vector | None:
        """Return the mount's angular velocity in world axes: rule 7."""
        source = self.settings.rate_source
        if source == 'zero':
            return STILL
        if source == 'tf':
            known = self._rate_from_poses(mount)
        else:
            known = self._rate_from_message(time_ns, mount)
        if known is None:
            return None
        self.rate_stamp, rate = known
        if time_ns - self.rate_stamp > self.settings.rate_timeout:
            age = (time_ns - self.rate_stamp) / NANOSECONDS
            self.waiting = f'the mount rate ({source}) is {age:.3f} s old'
            return None
        return rate

    def _rate_from_message(self, time_ns: int, mount: Pose) -> tuple[int, Vector] | None:
        stamp, value = self._rate.stamp, self._rate.value
        if stamp is None or value is None:
            self.waiting = f'no {self.settings.rate_source} message yet for the mount rate'
            return None
        frame, rate = value
        if frame == self.settings.world_frame:
            return stamp, rate
        try:
            sensor = self._connect(self.settings.mount_frame, frame, time_ns)
        except FrameError as error:
            self.waiting = f'mount rate: {error}'
            return None
        return stamp, rotate(mount.orientation, rotate(sensor.orientation, rate))

    def _rate_from_poses(self, mount: Pose) -> tuple[int, Vector] | None:
        """Return the rate that turned the mount from the pose before to this one."""
        stamp = self.pose_stamp
        if stamp is None:
            return self._end, STILL  # a static chain stands still
        if self._turned is None or self._turned[0] != stamp:
            before, self._turned = self._turned, (stamp, mount)
            self._turning = None
            if before is not None and 0 < stamp - before[0] <= self.settings.pose_timeout:
                seconds = (stamp - before[0]) / NANOSECONDS
                self._turning = (stamp, _turn(before[1], mount, seconds))
        if self._turning is None:
            self.waiting = 'one pose more is needed for the mount rate'
        return self._turning

    def _connect(self, target: str, source: str, time_ns: int) -> Pose:
        """Return the pose of one frame in another, not older than ``pose_timeout``."""
        if target == source:
            return Pose()
        stamp, pose = self.frames.newest(target, source, time_ns)
        if stamp is not None and time_ns - stamp > self.settings.pose_timeout:
            age = (time_ns - stamp) / NANOSECONDS
            raise FrameError(f'the transform from {source!r} to {target!r} is {age:.3f} s old')
        return pose

    def _fresh(self, stamp: int | None, time_ns: int) -> bool:
        timeout = self.settings.command_timeout
        return stamp is not None and (not timeout or time_ns - stamp <= timeout)

    def _load(self, motor: int, link: str, mount: Pose) -> Wrench:
        """Return a load in world axes about the link's origin: rotated, and moved by its arm."""
        stream = self._loads[motor, link]
        if stream.value is None or not self._fresh(stream.stamp, self._end):
            return NO_WRENCH
        frame, wrench = stream.value
        settings = self.settings.motors[motor]
        stator = compose(mount, settings.model.placement)
        try:
            origin = self._place(frame, mount)
        except FrameError as error:
            self.news[f'load {motor}'] = f'{settings.name} {link}_wrench: {error}; taken as zero'
            return NO_WRENCH
        force = rotate(origin.orientation, wrench.force)
        torque = rotate(origin.orientation, wrench.torque)
        arm = subtract(origin.position, stator.position)
        return Wrench(force, add(torque, cross(arm, force)))

    def _place(self, frame: str, mount: Pose) -> Pose:
        """Return the pose of any frame in the world, our own rotors and what they carry among."""
        if frame == self.settings.world_frame:
            return Pose()
        rotors = [motor.rotor_frame for motor in self.settings.motors]
        if frame in rotors:
            return self._rotor(rotors.index(frame), mount)
        try:
            return compose(mount, self._connect(self.settings.mount_frame, frame, self._end))
        except FrameError:
            for i, rotor in enumerate(rotors):
                with suppress(FrameError):
                    carried = self._connect(rotor, frame, self._end)
                    return compose(self._rotor(i, mount), carried)
            raise

    def _rotor(self, motor: int, mount: Pose) -> Pose:
        """Return the pose of a rotor in the world at the beginning of the step."""
        model = self.settings.motors[motor].model
        stator = compose(mount, model.placement)
        turn = about(model.axis, self.motors[motor].state.angle)
        return Pose(stator.position, multiply(stator.orientation, turn))


def _is_large(item: Any) -> bool:
    """Tell whether an input has longer texts or lists than any of 64 motors needs."""
    for part in item:
        if isinstance(part, str) and len(part) > LONGEST_NAME + 1:
            return True
        if isinstance(part, tuple) and (
            len(part) > MOST_MOTORS
            or any(isinstance(x, str) and len(x) > LONGEST_NAME for x in part)
        ):
            return True
    return False


def _finite(numbers: tuple[float, ...]) -> Any:
    for number in numbers:
        if not isfinite(number):
            raise Refused('non-finite', f'{number} is not finite')
    return numbers


def pose_of(position: Vector, orientation: Quaternion) -> Pose:
    """
    Return the pose that somebody sent, its quaternion of length 1.

    Raises
    ------
    Refused
        A number is not finite, or the length of the quaternion is not 1 to 1 %.

    """
    return Pose(_finite(position), _unit(orientation))


def _unit(quaternion: Quaternion) -> Quaternion:
    x, y, z, w = _finite(quaternion)
    length = sqrt(x * x + y * y + z * z + w * w)
    if not abs(length - 1.0) <= 1e-2:
        raise Refused('quaternion', f'a quaternion of length {length:.6g}, not 1')
    return (x / length, y / length, z / length, w / length)


def _reported(covariance: float, field: str) -> None:
    _finite((covariance,))
    if abs(covariance + 1.0) < 1e-9:
        raise Refused('covariance', f'{field}[0] is -1: the sender does not report it')


def _turn(before: Pose, after: Pose, seconds: float) -> Vector:
    """Return the constant rate, world axes, that turns one orientation into another."""
    x, y, z, w = multiply(after.orientation, conjugate(before.orientation))
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    size = sqrt(x * x + y * y + z * z)
    factor = 2.0 * atan2(size, w) / size / seconds if size > 0.0 else 0.0
    return (factor * x, factor * y, factor * z)


def _are_moderate(steps: list[Step]) -> bool:
    """
    Tell whether every number that leaves is finite, and below 1e100.

    So far from the largest float, turning them into other axes, summing them over the motors
    and their products, as energy, stay finite too. A square is not below where a number is NaN.
    """
    total = 0.0
    for step in steps:
        angle, spin = step.state
        total += angle * angle + spin * spin
        total += step.torque * step.torque + step.friction_torque * step.friction_torque
        for x, y, z in (
            step.reaction.force,
            step.reaction.torque,
            step.mount_wrench.torque,
            step.momentum,
            step.stator.position,
            step.stator_angular_velocity,
            step.rotor_angular_velocity,
        ):
            total += x * x + y * y + z * z
    return total < MOST_SQUARED
