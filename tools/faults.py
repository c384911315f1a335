"""
Faults between what is received and who listens, from a seed: a stream in, what arrives out.

What is injected is written into a ledger, with what a session must count for it. No ROS, no
clock and no file here: the streams are inputs of the session and times in nanoseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import merge
from math import inf, nan, pi
from random import Random
from typing import Any, NamedTuple

from mime_motor_ros.demo_mount import gyro, IMU_ON_MOUNT, torques, tumble
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Transform
from mime_motor_ros.session import Session, source_of
from mime_motor_ros.settings import Settings
from mime_motor_ros.timeline import Grid, NANOSECONDS, nanoseconds
from pacing import Instant

LATE = 'late or old'
"""Both reasons of what comes too late; which it is hangs on whether a newer one was read."""
JUMP, GAP = ('time', 'jumps back'), ('stepping', 'gaps')
"""What becomes of time itself, by the names that diagnostics give it."""
INPUTS: dict[str, type] = {
    'tf': Transform,
    'imu': Imu,
    'commands': Commands,
    'joint_command': JointCommand,
    'load': Load,
}
"""What faults are done to, in the order in which the node reads its topics."""
ORDER = {kind: place for place, kind in enumerate(INPUTS.values())}
STAMPED = (Transform, Imu, JointCommand, Load)
EVERY = tuple(INPUTS.values())
CALM = 0.2  # s; after a start or a jump, until every input has been read again
LONGEST = 0.15  # s; how far beyond settle a late message comes at the most
YOUNG_NS = 20 * NANOSECONDS  # a clock that shows less has no room to go back in


class Received(NamedTuple):
    """One input of a session and when it was received."""

    received_ns: int
    item: Any


class Event(NamedTuple):
    """What happens at one time: inputs arrive, then the clock shows a time."""

    at_ns: int
    """Time of the undisturbed stream [ns], which goes on evenly: when to play it."""
    now_ns: int
    """What the clock shows [ns]; at a fault it stands, or jumps."""
    items: tuple[Any, ...]


class Ledger:
    """
    What was done to a stream, and what a session must count for it.

    Attributes
    ----------
    injected : Counter of (fault, input)
    expected : Counter of (input, reason, fault)
    withheld : Counter of inputs that never came, by their name in the session's counts

    """

    def __init__(self) -> None:
        self.injected: Counter[tuple[str, str]] = Counter()
        self.expected: Counter[tuple[str, str, str]] = Counter()
        self.withheld: Counter[str] = Counter()

    def due(self) -> Counter[tuple[str, str]]:
        """Return how often each (input, reason) must be counted, over all faults."""
        due: Counter[tuple[str, str]] = Counter()
        for (name, reason, _), count in self.expected.items():
            due[name, reason] += count
        return due


def counted(session: Session) -> Counter[tuple[str, str]]:
    """Return what a session has counted, in the words of the ledger."""
    counts: Counter[tuple[str, str]] = Counter()
    for (name, reason), count in session.counts.items():
        counts[name, LATE if reason in ('late', 'old') else reason] += count
    counts[JUMP], counts[GAP] = session.jumps, session.gaps
    return +counts


# the faults


class Kind(NamedTuple):
    """One kind of fault."""

    text: str
    inputs: tuple[type, ...] = ()
    """What it is done to; nothing: to the clock."""
    reason: str = ''
    """What a session counts it under; nothing where it leaves no trace."""
    change: Callable[[Any, Chaos], Any] | None = None
    """What a message becomes of which nothing but its content is wrong."""
    weight: float = 1.0
    """How often, among the others."""


def _unusable(item: Any, chaos: Chaos) -> Any:
    """Put a number into a message that is none."""
    fields = {
        Transform: ('position', 'orientation'),
        Imu: ('angular_velocity',),
        Commands: ('torques',),
        JointCommand: ('torques',),
        Load: ('force', 'torque'),
    }
    field = chaos.random.choice(fields[type(item)])
    numbers = list(getattr(item, field))
    numbers[chaos.random.randrange(len(numbers))] = chaos.random.choice((nan, inf, -inf))
    return item._replace(**{field: tuple(numbers)})


def _stray(item: Any, chaos: Chaos) -> Any:
    """Give a message frames that are none."""
    if type(item) is Transform:
        parent, child = chaos.random.choice(((item.child, item.child), ('', item.child)))
        return item._replace(parent=parent, child=child)
    return item._replace(frame=chaos.random.choice(('', '//imu')))


def _misaddressed(item: Any, chaos: Chaos) -> Any:
    """Command a motor more than there are, or one of another name."""
    if type(item) is Commands:
        return item._replace(torques=(*item.torques, 0.0))
    return item._replace(names=tuple(f'{name}_of_another' for name in item.names))


def _past(item: Any, chaos: Chaos) -> Any:
    """Stamp a message before what has been read for sure."""
    back = chaos.settings.settle + chaos.blind_ns + chaos.between(1.0, 5.0)
    return item._replace(stamp=item.stamp - back)


def _future(item: Any, chaos: Chaos) -> Any:
    """Stamp a message farther ahead than may be."""
    ahead = chaos.settings.max_gap + chaos.blind_ns + chaos.between(1.0, 10.0)
    return item._replace(stamp=chaos.due_ns + ahead)


def _zeros(item: Transform, chaos: Chaos) -> Transform:
    return item._replace(orientation=(0.0, 0.0, 0.0, 0.0))


def _unreported(item: Imu, chaos: Chaos) -> Imu:
    return item._replace(covariance=-1.0)


def _in_degrees(item: Imu, chaos: Chaos) -> Imu:
    x, y, z = (180.0 / pi * rate for rate in item.angular_velocity)
    return item._replace(angular_velocity=(x, y, z))


def _unstamped(item: Any, chaos: Chaos) -> Any:
    return item._replace(stamp=0)


KINDS = {
    'drop': Kind('a message is lost', EVERY),
    'duplicate': Kind('a message comes twice', EVERY, 'repeated'),
    'delay': Kind('a message comes later, but within settle', EVERY),
    'late': Kind('a message comes behind the step that should have read it', STAMPED, LATE),
    'reorder': Kind('a message comes behind the next one of its kind', EVERY, LATE),
    'silence': Kind('an input says nothing for a while', EVERY, weight=0.3),
    'freeze': Kind('an input says the same again and again', EVERY, 'repeated', weight=0.3),
    'zero_stamp': Kind('a stamp is 0', STAMPED, '', _unstamped),
    'past_stamp': Kind('a stamp is seconds too old', STAMPED, LATE, _past),
    'future_stamp': Kind('a stamp is seconds ahead', STAMPED, 'future', _future),
    'nan': Kind('a number is not finite', EVERY, 'non-finite', _unusable),
    'quaternion': Kind('a rotation is all zeros', (Transform,), 'quaternion', _zeros),
    'covariance': Kind('a covariance says -1: not reported', (Imu,), 'covariance', _unreported),
    'degrees': Kind('a rate is in degrees a second', (Imu,), '', _in_degrees),
    'frame': Kind('a frame id is empty, or its own parent', (Transform, Imu), 'frame', _stray),
    'size': Kind('a command has a torque too many', (Commands,), 'size', _misaddressed),
    'name': Kind('a command is for another joint', (JointCommand,), 'name', _misaddressed),
    'back': Kind('the clock jumps back, stamps with it', weight=0.1),
    'forward': Kind('the clock jumps ahead, stamps with it', weight=0.1),
    'stall': Kind('the clock stands still, then catches up', weight=0.1),
}


class Chaos:
    """
    Faults for one stream, and the ledger of them.

    Each fault meets a message of a good neighbourhood: of the messages of one sensor or joint
    none is hit right behind another, only one input is silent or frozen at a time, and the clock
    jumps while nothing is on its way. So what must be counted for a fault is known for sure,
    however many others there are around it.

    Parameters
    ----------
    settings
        Those of the session that listens: what is late, or too far ahead, hangs on them.
    seed
        The same seed and stream give the same faults.
    only
        The kinds of faults, by name.
    inputs
        What they are done to, by name.
    rate
        Faults wanted in a second of the stream; there are fewer where they have to wait.
    blind
        How long the listener may be away from its inputs [s of the stream]; a session that is
        fed directly never is. What is to be late or a jump is then so by more than this.

    """

    def __init__(
        self,
        settings: Settings,
        seed: int,
        *,
        only: Collection[str] = tuple(KINDS),
        inputs: Collection[str] = tuple(INPUTS),
        rate: float = 20.0,
        blind: float = 0.0,
    ) -> None:
        self.settings, self.random, self.ledger = settings, Random(seed), Ledger()
        self.blind_ns = nanoseconds(blind)
        self.due_ns = 0
        """What the clock would show by now if it did not stand still."""
        chosen = {INPUTS[name] for name in inputs}
        self._victims = {
            name: [x for x in KINDS[name].inputs if x in chosen]
            for name in only
            # Where a step is taken at once, nothing that is delayed is in time.
            if settings.settle or name != 'delay'
        }
        self._kinds = [x for x, of in self._victims.items() if of or not KINDS[x].inputs]
        self._weights = [KINDS[name].weight for name in self._kinds]
        self._rate = rate if self._kinds else 0.0
        longest_step = 0.0 if settings.step_on == 'imu' else 2.0 / settings.rate
        self._rest_ns = settings.settle + nanoseconds(max(CALM, longest_step) + blind)
        self._steps = _Steps(settings)
        self._at = self._now = self._shift = 0
        self._calm_ns = self._stalled_ns = self._next_ns = 0
        self._armed: list[tuple[str, type]] = []  # faults that wait for their message
        self._turn = ''  # the fault of the clock that waits until all others have been seen
        self._seen_ns = 0  # when they will have been
        self._hit: set[tuple[str, str]] = set()  # whose next message is left alone
        self._held: list[_Held] = []
        self._muted: _Muted | None = None
        self._ways: dict[str, Callable[[str, Any], list[Any]]] = {
            'drop': self._drop,
            'duplicate': self._duplicate,
            'delay': self._hold,
            'late': self._hold,
            'reorder': self._hold,
            'silence': self._mute,
            'freeze': self._mute,
        }

    @property
    def tail(self) -> float:
        """Return how long the clock must go on behind the stream for all of it to be seen [s]."""
        longest = 2 * self.settings.settle + 2 * self.blind_ns + self._rest_ns
        return longest / NANOSECONDS + LONGEST

    def between(self, low: float, high: float) -> int:
        """Return a random duration [ns] between two given in seconds."""
        return nanoseconds(self.random.uniform(low, high))

    def events(self, stream: Iterable[Instant]) -> Iterator[Event]:
        """
        Return what happens instead of a stream.

        Parameters
        ----------
        stream
            Instants of ``Received``, at most some ten milliseconds apart, with ticks of ``tail``
            seconds behind the last.

        """
        for instant in stream:
            self._at, items = instant.received_ns, [record.item for record in instant.records]
            if not self._calm_ns:
                self._rest()
            self._arm()
            self._turn_clock(items)
            self.due_ns = self._at + self._shift
            if self._at >= self._stalled_ns:
                self._now = self.due_ns
            if self._muted is not None and self._at >= self._muted.until_ns:
                self._muted = None
            arriving = self._let_go(lambda held: held.release_ns <= self._at)
            for item in items:
                arriving += self._meet(item)
            # Of those that take the time of receipt the last counts.
            arriving.sort(key=lambda item: ORDER[type(item)])
            yield Event(self._at, self._now, tuple(arriving))
            self._steps.advance(self._now)

    # when

    def _rest(self) -> None:
        """Leave the stream alone until the listener has read all of it again."""
        self._calm_ns = self._at + self._rest_ns
        self._next_ns = max(self._next_ns, self._calm_ns)

    def _arm(self) -> None:
        """Choose the faults whose time has come."""
        while self._rate and self._next_ns <= self._at:
            self._next_ns += nanoseconds(self.random.expovariate(self._rate))
            kind = self.random.choices(self._kinds, self._weights)[0]
            if not self._victims[kind]:
                self._turn = self._turn or kind
                continue
            fault = kind, self.random.choice(self._victims[kind])
            if fault not in self._armed:
                self._armed.append(fault)

    def _fault_for(self, item: Any) -> str:
        """Return the fault that this message is to meet, if any."""
        key = _key(item)
        if self._at < self._calm_ns or key in self._hit:
            self._hit.discard(key)
            return ''
        if self._turn:
            return ''
        for fault in self._armed:
            kind, victim = fault
            if victim is type(item) and self._is_possible(kind, item):
                self._armed.remove(fault)
                self._hit.add(key)
                return kind
        return ''

    def _is_possible(self, kind: str, item: Any) -> bool:
        if kind == 'delay':
            return self._room(item) > 0
        if kind in ('silence', 'freeze'):
            return self._muted is None
        if kind == 'zero_stamp':  # two would be of one stamp while the clock stands still
            return self._at >= self._stalled_ns
        return kind != 'past_stamp' or not self._is_young()

    def _is_young(self) -> bool:
        return self.due_ns < YOUNG_NS + self.settings.settle + self.blind_ns

    def _room(self, item: Any) -> int:
        """Return how much later a message may come and still be in time [ns]."""
        stamp = self.due_ns if type(item) is Commands else item.stamp
        return int(self.settings.settle - (self.due_ns - stamp))

    # what becomes of a message

    def _meet(self, item: Any) -> list[Any]:
        """Return what arrives in place of one message."""
        if getattr(item, 'static', False):
            return [item]
        if getattr(item, 'stamp', 0):
            item = item._replace(stamp=item.stamp + self._shift)
        if self._muted is not None and self._muted.key == _key(item):
            return self._unheard(item)
        kind = self._fault_for(item)
        if not kind:
            return [self._good(item), *self._overtaken(item)]
        self.ledger.injected[kind, source_of(item)] += 1
        self._seen_ns = self._at + self.blind_ns
        return self._ways.get(kind, self._change)(kind, item)

    def _expect(self, kind: str, item: Any, reason: str) -> None:
        self.ledger.expected[source_of(item), reason, kind] += 1

    def _good(self, item: Any) -> Any:
        """Return a message that will be read, and count on it."""
        if type(item) is Imu:
            self._steps.offer(item.stamp or max(self._now, self._steps.end + 1))
        return item

    def _drop(self, kind: str, item: Any) -> list[Any]:
        self.ledger.withheld[source_of(item)] += 1
        return []

    def _duplicate(self, kind: str, item: Any) -> list[Any]:
        if type(item) is not Commands:
            self._expect(kind, item, KINDS[kind].reason)
        return [self._good(item), item]

    def _hold(self, kind: str, item: Any) -> list[Any]:
        if kind == 'delay':
            longer = round(self.random.uniform(0.0, 1.0) * self._room(item))
        elif kind == 'late':
            longer = self.settings.settle + self.blind_ns + self.between(0.0, LONGEST)
        else:
            longer = self.settings.settle + nanoseconds(LONGEST)  # if no next one comes
        self._held.append(_Held(self._at + longer, kind, item))
        return []

    def _overtaken(self, item: Any) -> list[Any]:
        """Return what was to come behind the next one of its kind, which is here."""
        key = _key(item)
        return self._let_go(lambda held: held.kind == 'reorder' and _key(held.item) == key)

    def _let_go(self, goes: Callable[[_Held], bool]) -> list[Any]:
        going = sorted(filter(goes, self._held), key=lambda held: held.release_ns)
        self._held = [held for held in self._held if not goes(held)]
        for held in going:
            self._seen_ns = self._at + self.blind_ns
            self._arrive_late(held.kind, held.item)
        return [self._good(held.item) for held in going]

    def _arrive_late(self, kind: str, item: Any) -> None:
        """Expect what the rules of time have for a stamp that steps may have passed."""
        if type(item) is not Commands and item.stamp <= self._steps.end - self.blind_ns:
            self._expect(kind, item, LATE)

    def _mute(self, kind: str, item: Any) -> list[Any]:
        # Shorter than max_gap with all that may be missing at its ends.
        longest = 0.6 * self.settings.max_gap / NANOSECONDS
        until_ns = self._at + self.between(0.2 * longest, longest)
        self._muted = _Muted(_key(item), until_ns, item if kind == 'freeze' else None)
        return [self._good(item)] if kind == 'freeze' else self._drop(kind, item)

    def _unheard(self, item: Any) -> list[Any]:
        """Return what comes instead from an input that is silent or frozen."""
        self._hit.add(_key(item))
        self._seen_ns = self._at + self.blind_ns
        last = self._muted.last if self._muted is not None else None
        if last is None:
            return self._drop('silence', item)
        if type(last) is not Commands:
            self._expect('freeze', last, KINDS['freeze'].reason)
        return [last]

    def _change(self, kind: str, item: Any) -> list[Any]:
        change, reason = KINDS[kind].change, KINDS[kind].reason
        changed = change(item, self) if change is not None else item
        if reason == LATE:
            self._arrive_late(kind, changed)
        elif reason:
            self._expect(kind, item, reason)
        return [changed if reason else self._good(changed)]

    # what becomes of the clock

    def _turn_clock(self, items: list[Any]) -> None:
        """Let the clock jump or stand still, if that waits and nothing else is going on."""
        busy_ns = max(self._calm_ns, self._stalled_ns, self._seen_ns)
        busy = self._held or self._muted or self._at < busy_ns
        # Where steps hang on the IMU, only from its next sample on time is seen to have jumped.
        needed = Imu if self.settings.step_on == 'imu' else object
        if not self._turn or busy or not any(isinstance(item, needed) for item in items):
            return
        kind, self._turn = self._turn, ''
        if kind == 'back' and self._is_young():
            return
        self.ledger.injected[kind, 'clock'] += 1
        if kind == 'stall':
            longest = 0.4 * self.settings.max_gap / NANOSECONDS  # stamps are ahead of it meanwhile
            self._stalled_ns = self._at + self.between(0.2 * longest, longest)
            return
        if kind == 'back':
            self._shift -= self.blind_ns + self.between(0.05, 5.0)
            self.ledger.expected[(*JUMP, kind)] += 1
        else:
            gap = max(self.settings.max_gap / NANOSECONDS, 2.0 / self.settings.rate)
            self._shift += self.between(2.0 * gap, 2.0 * gap + 5.0)
            self.ledger.expected[(*GAP, kind)] += 1
        self._steps.clear()
        self._rest()


class _Held(NamedTuple):
    """A message on its way."""

    release_ns: int
    kind: str
    item: Any


class _Muted(NamedTuple):
    """An input that is silent, or frozen with its last message."""

    key: tuple[str, str]
    until_ns: int
    last: Any


class _Steps:
    """Where the steps have come to, by the rules of time: what is stamped up to there is late."""

    def __init__(self, settings: Settings) -> None:
        self._settle, self._grid = settings.settle, Grid(settings.rate)
        self._on_imu = settings.step_on == 'imu'
        self.clear()

    def clear(self) -> None:
        self.end = 0
        self._ends: list[int] = []

    def offer(self, stamp_ns: int) -> None:
        """Note the stamp of an Imu that will be read."""
        self._ends.append(stamp_ns)

    def advance(self, now_ns: int) -> None:
        horizon = now_ns - self._settle
        if not self._on_imu:
            self.end = self._grid.time_ns(self._grid.tick(horizon))
            self._ends.clear()
            return
        self.end = max([self.end, *(stamp for stamp in self._ends if stamp <= horizon)])
        self._ends = [stamp for stamp in self._ends if stamp > horizon]


def _key(item: Any) -> tuple[str, str]:
    """Return whose message it is: one sensor, one joint, one frame."""
    if type(item) is Transform:
        return 'tf', item.child
    if type(item) is JointCommand:
        return 'joint_command', ' '.join(item.names)
    return source_of(item), ''


# a stream to do them to


def demo(settings: Settings, seconds: float, start_ns: int) -> Iterator[Received]:
    """Return a tumbling mount with all that its motors can be told."""
    return merge(
        tumbling(settings, seconds, start_ns),
        told(settings, seconds, start_ns),
        key=lambda received: received.received_ns,
    )


def tumbling(settings: Settings, seconds: float, start_ns: int) -> Iterator[Received]:
    """Return an IMU at 200 Hz and poses at 50 Hz of a mount that tumbles."""
    world, mount = settings.world_frame, settings.mount_frame
    imu_frame, lag = f'{mount}_imu', _lag(settings)
    yield Received(start_ns, Transform(start_ns, mount, imu_frame, *IMU_ON_MOUNT, static=True))
    for k in range(round(seconds * 200)):
        now_ns = start_ns + k * 5_000_000
        pose, rate = tumble(k / 200)
        if k % 4 == 0 and world != mount:
            yield Received(now_ns, Transform(now_ns - lag, world, mount, *pose))
        if settings.rate_source == 'imu':
            yield Received(now_ns, Imu(now_ns - lag, imu_frame, gyro(rate)))


def told(settings: Settings, seconds: float, start_ns: int) -> Iterator[Received]:
    """
    Return torques at 50 Hz and, for the first motor, a load on each of its links at 20 Hz.

    Torques come for all motors at once or by name, in turns of a second: they are about the
    same thing, and one of the two that comes late is behind the other.
    """
    motors, lag = [motor.name for motor in settings.motors], _lag(settings)
    for k in range(round(seconds * 200)):
        t, now_ns = k / 200, start_ns + k * 5_000_000
        if k % 4 == 2:
            values = torques(t, len(motors), 5e-3)
            turn = k // 4 % len(motors)
            by_name = JointCommand(now_ns - lag, (motors[turn],), (values[turn],))
            yield Received(now_ns, by_name if k // 200 % 2 else Commands(tuple(values)))
        elif k % 10 in (1, 7):
            link = 'rotor' if k % 10 == 1 else 'stator'
            force, torque = (0.1, 0.01 * t, -0.2), (1e-3, 0.0, 2e-4)
            load = Load(now_ns - lag, motors[0], link, settings.mount_frame, force, torque)
            yield Received(now_ns, load)


def _lag(settings: Settings) -> int:
    """Return how long after its stamp a message is received [ns]: in time for the steps."""
    return min(2_000_000, settings.settle // 4)
