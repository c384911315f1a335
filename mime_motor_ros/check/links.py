"""The frames: whether they are connected, and whether one alone publishes each. No ROS here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from ..errors import FrameError
from ..frames import FOREVER
from ..inputs import Odometry, Transform
from ..settings import MotorSettings
from ..vector import conjugate, cross, multiply, norm, subtract
from .case import Case, different, Finding, listed, plain, SHOWN
from .rehearsal import Received


def judge_frames(case: Case) -> Iterator[Finding]:
    """Judge whether the frames are connected that a session has to turn into each other."""
    if not case.heard.session.now_ns:
        return  # without a clock the session has looked at none
    tree, good = case.arriving.session.frames, []
    needed = _needed(case)
    for target, source, what in needed:
        try:
            tree.newest(target, source, FOREVER)
        except FrameError as error:
            yield _missing(case, target, source, what, str(error))
        else:
            good.append(f'{target} -> {source}')
    slashed = sorted(
        text for key, text in case.heard.session.news.items() if key.startswith('slash ')
    )
    if slashed:
        shown = '; '.join(slashed[:SHOWN])
        yield Finding('warning', 'frames', f'{shown}. tf2 refuses such names: correct the sender.')
    yield from _publishers(case, _above(case, [name for pair in needed for name in pair[:2]]))
    if good:
        yield Finding('ok', 'frames', f'connected: {", ".join(good)}')
    elif not needed:
        mount = case.settings.mount_frame
        yield Finding('ok', 'frames', f'no transform is needed but those of {mount!r} itself')


def _missing(case: Case, target: str, source: str, what: str, error: str) -> Finding:
    """Return what is missing between two frames, and which names may be meant."""
    named = {plain(x) for _, t in case.transforms for x in (t.parent, t.child)}
    arrived = {plain(x) for one, t in case.transforms if one.arrives for x in (t.parent, t.child)}
    missing = [name for name in (target, source) if name not in arrived]
    if not named:
        why = 'There are no transforms at all: start who publishes them.'
    elif not missing:
        why = error
    else:
        parts = [f'no transform that arrives names {listed([repr(x) for x in missing])}.']
        if set(missing) <= named:
            parts.append('It is in some that do not arrive: see their publishers above.')
        elif near := [text for name in missing if (text := _nearest(name, named))]:
            parts += near
        else:
            parts.append(f'There are {listed(sorted(named))}.')
        why = ' '.join(parts)
    return Finding(
        'error',
        'frames',
        f'{what}: no way from {source!r} to {target!r}: {why[:1].lower()}{why[1:]}',
        {'target': target, 'source': source, 'seen': sorted(named)[:100]},
    )


def _needed(case: Case) -> list[tuple[str, str, str]]:
    """Return which frame has to be found in which, and for what."""
    settings = case.settings
    world, mount = settings.world_frame, settings.mount_frame
    needed: dict[tuple[str, str], str] = {}
    if not case.still:
        if settings.pose_source == 'tf':
            needed[world, mount] = 'mount pose'
        for item in different(case, settings.pose_source):
            if type(item) is Odometry:
                needed[world, plain(item.frame)] = 'mount pose'
                needed[plain(item.child), mount] = 'mount pose'
            else:
                needed[plain(item.frame), mount] = 'mount pose'
    for item in different(case, settings.rate_source):
        frame = plain(item.child if type(item) is Odometry else item.frame)
        if frame != world:
            needed.setdefault((mount, frame), 'mount rate')
    return [(a, b, what) for (a, b), what in needed.items() if a != b and a and b]


def _nearest(name: str, names: set[str]) -> str:
    """Return a question for a name that may be a misspelling of one of those."""
    lower = {other.lower(): other for other in sorted(names)}
    near = get_close_matches(name.lower(), lower, 1, 0.7)
    return f'Is {lower[near[0]]!r} meant for {name!r}?' if near else ''


def way(case: Case, target: str, source: str) -> list[str]:
    """Return the children of the transforms between two frames, from the source on."""
    parents = {plain(t.child): plain(t.parent) for _, t in case.transforms}

    def up(frame: str) -> list[str]:
        passed = [frame]
        while passed[-1] in parents and parents[passed[-1]] not in passed:
            passed.append(parents[passed[-1]])
        return passed

    of_source, of_target = up(source), up(target)
    if of_source[-1] != of_target[-1]:
        return []
    return [x for x in of_source if x not in of_target] + [
        x for x in of_target if x not in of_source
    ]


def _above(case: Case, names: Iterable[str]) -> list[str]:
    """Return these frames and all from which transforms lead to them, in order of discovery."""
    parents: dict[str, set[str]] = {}
    for _, t in case.transforms:
        parents.setdefault(plain(t.child), set()).add(plain(t.parent))
    found, left = dict.fromkeys(names), list(dict.fromkeys(names))
    while left:
        new = [x for x in sorted(parents.get(left.pop(0), ())) if x not in found]
        found.update(dict.fromkeys(new))
        left += new
    return [name for name in found if name in parents]


def chain(case: Case, children: Sequence[str]) -> str:
    """Return the frames of the way in a line, the world first."""
    return ' -> '.join([case.settings.world_frame, *reversed(children)])


def _publishers(case: Case, children: Iterable[str]) -> Iterator[Finding]:
    """Judge whether one alone says where each of these frames is."""
    for child in children:
        of_child = [(one, t) for one, t in case.transforms if plain(t.child) == child]
        parents = Counter(plain(t.parent) for _, t in of_child)
        if len(parents) > 1:
            shown = ', '.join(f'{name!r} ({n} times)' for name, n in parents.most_common(SHOWN))
            yield Finding(
                'error',
                'transforms',
                f'frame {child!r} is published under several parents: {shown}. A frame has one '
                f'parent and one publisher{_suspects(case)}.',
                {'frame': child, 'parents': dict(parents)},
            )
        elif len({t.static for _, t in of_child}) > 1:
            yield Finding(
                'error',
                'transforms',
                f'frame {child!r} is published both as static and as moving: the moving one '
                f'counts. Stop one of the two{_suspects(case)}.',
                {'frame': child},
            )
        elif of_child[0][1].static and len({t[3:5] for _, t in of_child}) > 1:
            yield Finding(
                'warning',
                'transforms',
                f'frame {child!r} has static transforms that differ: the one of the latest stamp '
                f'wins. Stop all but one publisher{_suspects(case)}.',
                {'frame': child},
            )
        elif _mixed(of_child):
            yield Finding(
                'warning',
                'transforms',
                f'frame {child!r} comes from two publishers at once: its pose jumps between them. '
                f'Stop one of the two{_suspects(case)}.',
                {'frame': child},
            )


def _mixed(of_child: Sequence[tuple[Received, Transform]]) -> bool:
    """Tell whether messages come from several senders: each counts its own without going back."""
    counts = [one.sequence for one, t in of_child if not t.static and one.sequence is not None]
    return sum(b <= a for a, b in zip(counts, counts[1:], strict=False)) >= 3


def _suspects(case: Case) -> str:
    others = [name for name in case.seen.senders_of_tf if name not in case.seen.motors]
    return f'; transforms come from {listed(others)}' if others else ''


def judge_authority(case: Case) -> Iterator[Finding]:
    """Judge whether the motor node alone publishes the frames of its motors."""
    settings, motors = case.settings, case.seen.motors
    if len(motors) > 1:
        yield Finding(
            'error',
            'transforms',
            f'{len(motors)} motor nodes of one name run: {listed(motors)}. Stop all but one, or '
            'give them names (-r __node:=...) and frames of their own.',
        )
        return
    bad = False
    for motor in settings.motors:
        for child, parent in (
            (motor.stator_frame, settings.mount_frame),
            (motor.rotor_frame, motor.stator_frame),
        ):
            of_child = [(one, t) for one, t in case.transforms if plain(t.child) == child]
            why = _foreign(case, motor, child, parent, of_child) if of_child else ''
            if why:
                bad = True
                yield Finding(
                    'error',
                    'transforms',
                    f'{why}{_suspects(case)}. Rename one of the two frames, or set publish_tf to '
                    'false.',
                    {'frame': child, 'messages': len(of_child)},
                )
    if not bad:
        who = f'from {motors[0]} alone' if motors else 'free: nobody publishes them yet'
        if not settings.publish_tf:
            who = 'left to others (publish_tf is false)'
        yield Finding('ok', 'transforms', f'the frames of the motors are {who}')


def _foreign(
    case: Case,
    motor: MotorSettings,
    child: str,
    parent: str,
    of_child: Sequence[tuple[Received, Transform]],
) -> str:
    """Return how transforms of a frame of ours show that another than the motor node sends it."""
    parents = sorted({plain(t.parent) for _, t in of_child})
    if parents != [parent]:
        under = listed([repr(name) for name in parents])
        return f'our frame {child!r} is published under {under}, and belongs under {parent!r}'
    if not case.settings.publish_tf:
        return ''
    if not case.seen.motors:
        return (
            f'somebody publishes our frame {child!r} (under {parent!r}), and no motor node of '
            'this name runs'
        )
    is_stator = child == motor.stator_frame
    if {t.static for _, t in of_child} != {is_stator}:
        kind = 'moving' if is_stator else 'static'
        return f'our frame {child!r} is published as {kind} too'
    if is_stator and len({t for _, t in of_child}) > 1:
        return f'our frame {child!r} has several static transforms, the motor node sends one'
    if _mixed(of_child):
        return f'our frame {child!r} comes from a second publisher too'
    strange = [t for _, t in of_child if not _is_ours(motor, t, is_stator)]
    if strange:
        shown = ', '.join(f'{x:.6g}' for x in strange[0].orientation)
        what = 'its placement' if is_stator else 'a turn about its axis'
        return (
            f'{len(strange)} of {len(of_child)} transforms of our frame {child!r} are not {what} '
            f'(x y z w = {shown}): somebody else sends them, or the motor node runs with other '
            'parameters'
        )
    return ''


def _is_ours(motor: MotorSettings, t: Transform, is_stator: bool) -> bool:
    """Tell whether a transform is one that the motor node can have sent."""
    placement = motor.model.placement
    if is_stator:
        x, y, z, w = multiply(conjugate(placement.orientation), t.orientation)
        moved = norm(subtract(t.position, placement.position))
        return moved < 1e-6 and norm((x, y, z)) < 1e-6
    x, y, z, w = t.orientation
    return norm(t.position) < 1e-6 and norm(cross((x, y, z), motor.model.axis)) < 1e-6
