"""
The inputs as they come: who sends pose, rate and commands, how often, how old, how stamped.

No ROS here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from ..figures import duration
from ..inputs import Commands, JointCommand
from ..timeline import NANOSECONDS
from .agreement import compare
from .case import Case, Finding, KINDS, listed, plain, Topic, topic_of
from .links import chain, way
from .rehearsal import Received

USUAL_NAMES = {
    'imu': 'imu/data',
    'twist': 'mount_twist',
    'odometry': 'odom',
    'tf': '/tf',
    'commands': '~/commands',
}
"""The inputs by the names that are remapped."""
OTHER_CLOCK = 60.0  # [s] between stamp and receipt, which no cable makes
AHEAD = 0.005  # [s]; nothing is received before it is stamped but by another clock
FEW_REPEATED = 0.01  # share of messages that may repeat a stamp


def judge_pose(case: Case) -> Iterator[Finding]:
    """Judge where the pose of the mount comes from."""
    settings = case.settings
    if case.still:
        yield Finding('ok', 'mount pose', 'world_frame is mount_frame: the mount stands still')
        return
    if settings.pose_source != 'tf':
        yield from _stream(case, 'mount pose', settings.pose_source, settings.pose_timeout,
                           case.heard.pose_ages)  # fmt: skip
        return
    subject = 'mount pose'
    lack = list(_senders(case, subject, 'tf', bool(case.transforms)))
    yield from lack
    if any(one.level == 'error' for one in lack):
        return
    world, mount = case.settings.world_frame, case.settings.mount_frame
    children = way(case, world, mount)
    moving = [
        [(one, t) for one, t in case.transforms if plain(t.child) == child and not t.static]
        for child in children
    ]
    moving = [link for link in moving if link]
    if not moving:
        moves = topic_of(case, 'tf')
        if children:
            yield Finding('ok', subject, f'{chain(case, children)}: all static, it does not age')
        elif moves is not None and not moves.fitting:
            yield _nobody(subject, 'tf', moves)
        return
    slowest = min(moving, key=len)
    flow = Flow.of(slowest)
    name = f'{plain(slowest[-1][1].parent)} -> {plain(slowest[-1][1].child)}'
    yield from _flow(subject, name, flow, settings.pose_timeout, case.heard.pose_ages, case)


def judge_rate(case: Case) -> Iterator[Finding]:
    """Judge where the angular velocity of the mount comes from."""
    settings, subject = case.settings, 'mount rate'
    if settings.rate_source in KINDS:
        if settings.rate_source == settings.pose_source and not case.still:
            level, age = _age(case, case.heard.rate_ages, settings.rate_timeout, 'rate_timeout')
            yield Finding(level, subject, f'from the same {settings.rate_source} messages: {age}')
            return
        yield from _stream(case, subject, settings.rate_source, settings.rate_timeout,
                           case.heard.rate_ages)  # fmt: skip
    elif settings.rate_source == 'tf':
        level, age = _age(case, case.heard.rate_ages, settings.rate_timeout, 'rate_timeout')
        yield Finding(level, subject, f'from the differences of the poses: {age}')
    else:
        found = compare(case.heard.poses, [(t, (0.0, 0.0, 0.0)) for t, _ in case.heard.poses])
        if found is not None and found.turns:
            yield Finding(
                'warning',
                subject,
                f'rate_source is zero, but the pose turns at {found.pose:.3g} rad/s rms: choose '
                'imu, twist, odometry or tf.',
                {'pose (rad/s)': found.pose},
            )
        else:
            yield Finding('ok', subject, 'rate_source is zero: the mount does not turn')


def _stream(
    case: Case, subject: str, source: str, timeout: int, ages: Sequence[float]
) -> Iterator[Finding]:
    """Judge an input that comes as messages of its own."""
    heard = case.of(KINDS[source])
    lack = list(_senders(case, subject, source, bool(heard)))
    yield from lack
    if not heard:
        return
    topic = topic_of(case, source)
    frames = sorted({item.frame for _, item in heard})
    if len(frames) > 1:
        yield Finding(
            'warning',
            subject,
            f'its frame_id changes between {listed(frames)}: let one node alone send it, '
            'under one name.',
        )
    name = topic.name if topic else source
    yield from _flow(subject, name, Flow.of(heard), timeout, ages, case)


def _senders(case: Case, subject: str, source: str, came: bool) -> Iterator[Finding]:
    """Judge who sends an input that is needed."""
    topics = [topic for topic in case.seen.topics if topic.source == source]
    if not topics:
        if not came:
            yield Finding('error', subject, f'there are no {source} messages.')
        return
    topic = topics[0]
    fitting = [name for one in topics for name in one.fitting]
    misfits = [text for one in topics for text in one.misfits]
    if misfits:
        level = 'warning' if fitting else 'error'
        yield Finding(
            level,
            subject,
            f'{" and ".join(one.name for one in topics if one.misfits)}: what these publish does '
            f'not arrive: {"; ".join(misfits)}. {fitting_advice(topic, misfits)}',
            {'misfits': misfits},
        )
    elif not fitting:
        yield _nobody(subject, source, topic)
    elif not came and any(topic.unreadable for topic in topics):
        yield Finding('error', subject, f'nothing that can be read came on {topic.name}.')
    elif not came:
        yield Finding(
            'error',
            subject,
            f'{listed(fitting)} publishes {topic.name} and sent nothing in {case.seconds:.1f} s.',
        )
    elif len(topic.fitting) > 1 and source in KINDS:
        yield Finding(
            'warning',
            subject,
            f'{topic.name} comes from {listed(topic.fitting)}: a session mixes them. Let one '
            'alone send it, or remap.',
        )


def _nobody(subject: str, source: str, topic: Topic) -> Finding:
    """Say that a topic has no publisher, and where there are such messages."""
    text = f'nobody publishes {topic.name} ({topic.type}).'
    if topic.elsewhere:
        text += _elsewhere(source, topic)
    else:
        text += ' Start its publisher; is its ROS_DOMAIN_ID the same as here?'
    return Finding('error', subject, text, {'elsewhere': list(topic.elsewhere)})


def _elsewhere(source: str, topic: Topic) -> str:
    return (
        f' There is such a thing on {listed(topic.elsewhere)}: start with '
        f'--ros-args -r {USUAL_NAMES.get(source, topic.name)}:={topic.elsewhere[0]}'
    )


def fitting_advice(topic: Topic, misfits: Sequence[str]) -> str:
    """Return what to do about publishers that do not fit."""
    words = ' '.join(misfits)
    if 'transient local' in words or 'volatile' in words:
        return 'Make the publisher transient local.'
    if 'reliab' in words or 'best effort' in words:
        if topic.source == 'tf':
            return 'Make the publisher reliable.'
        return (
            'Make the publisher reliable, or start with --ros-args '
            f'-p qos_overrides.{topic.name}.subscription.reliability:=best_effort'
        )
    return 'Remap one of the two to another topic.'


class Flow(NamedTuple):
    """How the messages of one input follow each other."""

    messages: int
    period: float
    """Between two stamps, at the median [s]; 0.0 where there are not two."""
    longest: float
    """Between two stamps, at the most [s]."""
    behind: float
    """Stamp to receipt, at the median [s]; negative: stamped ahead."""
    unstamped: int
    repeated: int
    back: int

    @classmethod
    def of(cls, heard: Sequence[tuple[Received, Any]]) -> Flow:
        """Look at messages in order of receipt."""
        stamps = [item.stamp for _, item in heard]
        known = [stamp for stamp in stamps if stamp]
        pairs = list(zip(known, known[1:], strict=False))
        in_order = sorted(set(known))
        steps = [(b - a) / NANOSECONDS for a, b in zip(in_order, in_order[1:], strict=False)]
        behind = [
            (one.now_ns - item.stamp) / NANOSECONDS
            for one, item in heard
            if item.stamp and one.now_ns
        ]
        return cls(
            len(stamps),
            median(steps) if steps else 0.0,
            max(steps, default=0.0),
            median(behind) if behind else 0.0,
            stamps.count(0),
            sum(a == b for a, b in pairs),
            sum(b < a for a, b in pairs),
        )


def _flow(
    subject: str, name: str, flow: Flow, timeout: int, ages: Sequence[float], case: Case
) -> Iterator[Finding]:
    parameter = f'{subject.split()[1]}_timeout'
    jumped = case.heard.session.jumps > 0
    if flow.unstamped:
        yield Finding(
            'warning',
            subject,
            f'{name}: {flow.unstamped} of {flow.messages} messages have stamp 0: their time of '
            'receipt is used, which shakes. Let the sender stamp them.',
            {'stamp 0': flow.unstamped},
        )
    if flow.repeated > FEW_REPEATED * flow.messages:
        yield Finding(
            'warning',
            subject,
            f'{name}: {flow.repeated} of {flow.messages} messages repeat the stamp of the one '
            'before: these are dropped. Let one node alone send it, and stamp each anew.',
            {'repeated': flow.repeated},
        )
    if flow.back and not jumped:
        yield Finding(
            'warning',
            subject,
            f'{name}: the stamp goes back {flow.back} times in {flow.messages} messages. Do two '
            'nodes send it, or one with two clocks?',
            {'back': flow.back},
        )
    values = {
        'messages': flow.messages,
        'rate (Hz)': 1.0 / flow.period if flow.period else 0.0,
        'longest pause (s)': flow.longest,
        'stamp to receipt (s)': flow.behind,
    }
    often = (
        f'{name}: {1.0 / flow.period:.1f} Hz' if flow.period else f'{name}: {flow.messages} sent'
    )
    clock = _clocks(case, flow)
    if clock:
        yield Finding(clock[0], subject, f'{often}, {clock[1]}', values)
        return
    level, age = _age(case, ages, timeout, parameter)
    if level == 'ok' and 2.0 * flow.period * NANOSECONDS > timeout:
        level = 'warning'
        age += (
            f'; when one message is lost, {parameter} ({timeout / NANOSECONDS:g} s) is over: send '
            'it faster, or raise it.'
        )
    yield Finding(level, subject, f'{often}, {age}', values)


def _clocks(case: Case, flow: Flow) -> tuple[str, str] | None:
    """Return what is wrong between the clock of the sender and ours."""
    behind, max_gap = flow.behind, case.settings.max_gap / NANOSECONDS
    if abs(behind) > OTHER_CLOCK:
        ours = '/clock' if case.seen.simulated else 'the clock of this machine'
        return (
            'error',
            f'stamped {abs(behind):.6g} s {"behind" if behind > 0 else "ahead of"} {ours}: one '
            'follows another clock. Set use_sim_time alike for the sender and here.',
        )
    if -behind > AHEAD + _tick(case):
        return (
            'error' if -behind > max_gap else 'warning',
            f'stamped {-behind:.3g} s ahead of its receipt, which no delay can do: the clocks of '
            'two hosts differ. Synchronise them (chrony, PTP).',
        )
    return None


def _tick(case: Case) -> float:
    """Return how far apart the times of /clock are [s], by which a stamp may be ahead."""
    if not case.seen.simulated:
        return 0.0
    times = sorted({one.now_ns for one in case.seen.received if one.now_ns})
    steps = [(b - a) / NANOSECONDS for a, b in zip(times, times[1:], strict=False)]
    return 2.0 * median(steps) if steps else 0.0


def _age(case: Case, ages: Sequence[float], timeout: int, parameter: str) -> tuple[str, str]:
    """Return how old something is where steps read it, against its timeout."""
    if not ages:
        return 'ok', 'no step has read it'
    limit = timeout / NANOSECONDS
    usual, most = median(ages), max(ages)
    text = f'{duration(usual)} old where it is read, {duration(most)} at the most'
    if most <= limit:
        return 'ok', f'{text} ({parameter} {duration(limit)})'
    level = 'error' if usual > limit else 'warning'
    text += (
        f': beyond {parameter} ({duration(limit)}) the motors pause. Send it faster, look for '
        'what holds it up, or raise the parameter.'
    )
    if case.held_up > 0.5 * limit:
        text += (
            f' The check itself was held up for {duration(case.held_up)} meanwhile: this machine '
            'may be too busy.'
        )
    return level, text


def judge_command(case: Case) -> Iterator[Finding]:
    """Judge who sends torques, and how often."""
    heard = case.of(Commands, JointCommand)
    topics = [x for x in case.seen.topics if x.source in ('commands', 'joint_command')]
    misfits = [f'{x.name}: {text}' for x in topics for text in x.misfits]
    if misfits:
        yield Finding(
            'error',
            'command',
            f'torques that do not arrive: {"; ".join(misfits)}. '
            + fitting_advice(topics[0], misfits),
            {'misfits': misfits},
        )
    for topic in topics:
        if len(topic.fitting) > 1:
            yield Finding(
                'warning',
                'command',
                f'{topic.name} comes from {listed(topic.fitting)}: the newest torque acts, '
                'whoever sent it.',
            )
    if not heard:
        names = ' or '.join(topic.name for topic in topics) or 'commands'
        if not misfits:
            hints = [_elsewhere(x.source, x) for x in topics if x.elsewhere]
            text = f'nobody sends torques on {names}: torque 0{"".join(hints[:1])}'
            yield Finding('ok', 'command', text.replace(': torque 0 There', ': torque 0. There'))
        return
    times = [one.now_ns for one, _ in heard if one.now_ns]
    pauses = [(b - a) / NANOSECONDS for a, b in zip(times, times[1:], strict=False)]
    usual, limit = median(pauses or [0.0]), case.settings.command_timeout / NANOSECONDS
    text = f'{len(heard)} received' + (f', every {duration(usual)}' if pauses else '')
    values = {'messages': len(heard), 'period (s)': usual, 'longest pause (s)': max(pauses or [0])}
    if limit and pauses and max(pauses) > limit:
        yield Finding(
            'warning',
            'command',
            f'{text}, once after {duration(max(pauses))}: beyond command_timeout '
            f'({duration(limit)}) the torque is 0. Send it faster or raise the parameter.',
            values,
        )
    else:
        yield Finding('ok', 'command', text, values)
