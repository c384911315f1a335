"""
The tree of frames: transforms in, poses of frames in each other out, as of tf2 but without ROS.

One rule is not tf2's: the same transforms give the same answers, to the bit, in whatever order
they came. What is kept hangs on stamps and contents alone. Of moving transforms of one frame and
one stamp it is the greater as a tuple (parent, position, orientation); of static ones that of the
latest stamp, then the greater; and of a frame that is sent as both the moving ones hold from
the first of them on, so that nothing latched can take the place of what is alive.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Container
from math import acos, sin
from operator import attrgetter
from typing import NamedTuple

from .errors import FrameConnectivityError, FrameError, FrameExtrapolationError, FrameLookupError
from .model import compose, Pose
from .timeline import NANOSECONDS
from .vector import conjugate, Quaternion, rotate, scale

IDENTITY = Pose()
FOREVER = 1 << 63  # later than every stamp of 64 bits: when a static transform ends
DEEPEST = 1000  # transforms in a row, as in tf2


class Sample(NamedTuple):
    """One transform of a child: its stamp [ns], the parent, the child's pose in the parent."""

    stamp: int
    parent: str
    pose: Pose


STAMP = attrgetter('stamp')


class Edge:
    """What is known of one child: a static transform or, by their stamps, moving ones, or both."""

    __slots__ = ('fixed', 'fixed_by', 'samples')

    def __init__(self) -> None:
        self.fixed: Sample | None = None  # stamped FOREVER
        self.fixed_by: Sample | None = None  # with the stamp it came with
        self.samples: deque[Sample] = deque()

    def fix(self, sample: Sample) -> str:
        """Take a static transform."""
        if self.fixed_by is not None and greater(self.fixed_by, sample) is self.fixed_by:
            same = sample[1:] == self.fixed_by[1:]
            return 'repeated' if same else 'old'
        self.fixed_by, self.fixed = sample, sample._replace(stamp=FOREVER)
        return 'inserted'

    def insert(self, sample: Sample, cache_ns: int, most: int) -> str:
        """Take a moving transform, then drop what is too far back or too much."""
        samples, stamp = self.samples, sample.stamp
        if not samples or stamp > samples[-1].stamp:
            samples.append(sample)
        else:
            i = bisect_left(samples, stamp, key=STAMP)
            if samples[i].stamp == stamp:
                samples[i] = greater(samples[i], sample)
                return 'repeated'
            samples.insert(i, sample)
        while samples[0].stamp < samples[-1].stamp - cache_ns or len(samples) > most:
            samples.popleft()
        return 'inserted' if samples[0].stamp <= stamp else 'old'

    def count(self, until_ns: int) -> int:
        """Return how many moving transforms there are at or before a time."""
        samples = self.samples
        if not samples or samples[-1].stamp <= until_ns:
            return len(samples)
        near = max(0, len(samples) - 16)  # most are asked for a time close to the newest
        first = near if samples[near].stamp <= until_ns else 0
        return bisect_right(samples, until_ns, first, key=STAMP)

    def moving(self, until_ns: int) -> Sample | None:
        """Return the newest moving transform at or before a time."""
        i = self.count(until_ns)
        return self.samples[i - 1] if i else None

    def newest(self, until_ns: int) -> Sample | None:
        """Return the newest moving transform at or before a time, else the static one."""
        return self.moving(until_ns) or self.fixed

    def at(self, time_ns: int, until_ns: int) -> Sample | None:
        """
        Return the transform at a time, read from those at or before ``until_ns``.

        Between two of one parent it is interpolated, between two of different parents the older
        one holds, before all it is the static one, if there is one; behind all there is none.
        """
        i = self.count(time_ns)
        if not i:
            return self.fixed
        before = self.samples[i - 1]
        if before.stamp == time_ns:
            return before
        after = self.samples[i] if i < len(self.samples) else None
        if after is None or after.stamp > until_ns:
            return None
        if after.parent != before.parent:
            return before
        ratio = (time_ns - before.stamp) / (after.stamp - before.stamp)
        return Sample(time_ns, before.parent, between(before.pose, after.pose, ratio))


Read = Callable[[Edge], Sample | None]


class FrameTree:
    """
    The frames known, by their transforms, in bounded memory.

    Parameters
    ----------
    cache_ns
        How far back from its newest transform a moving frame is remembered [ns], as in tf2.
    most_frames
        How many names are taken, of parents and children; names beyond are refused.
    most_samples
        How many transforms of one moving frame are remembered, the newest.

    """

    def __init__(
        self, cache_ns: int = 10 * NANOSECONDS, most_frames: int = 4096, most_samples: int = 20_000
    ) -> None:
        self._cache_ns, self._most_frames, self._most_samples = cache_ns, most_frames, most_samples
        self._edges: dict[str, Edge] = {}
        self._names: set[str] = set()

    def insert(
        self, stamp_ns: int, parent: str, child: str, pose: Pose, static: bool = False
    ) -> str:
        """
        Take the pose of ``child`` in ``parent`` at a time; the arguments are valid.

        Returns
        -------
        'inserted'; 'repeated': of this stamp there was one, the greater is kept, or a static one
        says nothing new; 'old': further back from the newest of this child than is remembered,
        or a static one of an earlier stamp than the one that is kept; 'full': no room for a name.

        """
        names = self._names
        if child not in names or parent not in names:
            if len(names) + (child not in names) + (parent not in names) > self._most_frames:
                return 'full'
            names.update((child, parent))
        edge = self._edges.get(child)
        if edge is None:
            edge = self._edges[child] = Edge()
        sample = Sample(stamp_ns, parent, pose)
        if static:
            return edge.fix(sample)
        return edge.insert(sample, self._cache_ns, self._most_samples)

    def clear(self) -> None:
        """Forget all but static transforms, as at a jump of the clock; newer ones replace them."""
        kept = {child: edge.fixed for child, edge in self._edges.items() if edge.fixed}
        self._edges, self._names = {}, set()
        for child, sample in kept.items():
            self.insert(-1, sample.parent, child, sample.pose, static=True)

    @property
    def size(self) -> int:
        """Return how many transforms are kept."""
        edges = self._edges.values()
        return sum(len(edge.samples) + (edge.fixed is not None) for edge in edges)

    def is_both(self, child: str) -> bool:
        """Tell whether a frame is sent as static and as moving."""
        edge = self._edges.get(child)
        return edge is not None and edge.fixed is not None and bool(edge.samples)

    def frames(self) -> list[str]:
        """Return the names of all frames known, sorted."""
        return sorted(self._names)

    def newest_stamp(self, child: str, until_ns: int) -> int | None:
        """Return the stamp [ns] of a frame's newest moving transform at or before a time."""
        edge = self._edges.get(child)
        sample = edge.moving(until_ns) if edge is not None else None
        return None if sample is None else sample.stamp

    def oldest(self, target: str, source: str, until_ns: int) -> tuple[str, int] | None:
        """Return which moving frame between two has the oldest newest transform, and its stamp."""
        seen: list[tuple[int, str]] = []
        for start in (source, target):
            frame, steps = start, 0
            while (edge := self._edges.get(frame)) is not None and steps < DEEPEST:
                sample = edge.newest(until_ns)
                if sample is None:
                    break
                if sample.stamp != FOREVER:
                    seen.append((sample.stamp, frame))
                frame, steps = sample.parent, steps + 1
        if not seen:
            return None
        stamp, child = min(seen)
        return child, stamp

    def newest(self, target: str, source: str, until_ns: int) -> tuple[int | None, Pose]:
        """
        Return the newest pose of ``source`` in ``target`` known at a time, and its own time [ns].

        It is what tf2 has as the newest common time in a tree without the transforms stamped
        after ``until_ns``: of every moving frame of the chain the newest, and all of them at the
        time of the oldest of these. The time is None when the whole chain is static.
        """
        if target == source:
            return None, IDENTITY
        up, down = self._chain(target, source, until_ns, lambda edge: edge.newest(until_ns))
        stamps = [sample.stamp for sample in up + down if sample.stamp != FOREVER]
        if not stamps:
            return None, joined(up, down)
        common = min(stamps)
        if down or common != max(stamps):  # two ways may meet elsewhere at another time
            up, down = self._chain(target, source, common, lambda edge: edge.at(common, until_ns))
        return common, joined(up, down)

    def lookup(self, target: str, source: str, at_ns: int) -> tuple[int, Pose]:
        """
        Return time [ns] and pose of ``source`` in ``target`` as tf2's lookupTransform does.

        ``at_ns`` 0 asks for the newest time that the frames of the chain have in common; 0 comes
        back when they are all static.
        """
        if target == source:  # as in tf2 even of a frame never heard of
            edge = self._edges.get(target)
            moves = at_ns == 0 and edge is not None and bool(edge.samples)
            return (self.newest_stamp(target, FOREVER) or 0) if moves else at_ns, IDENTITY
        if at_ns == 0:
            common, pose = self.newest(target, source, FOREVER)
            return common or 0, pose
        ways = self._chain(target, source, at_ns, lambda edge: edge.at(at_ns, FOREVER))
        return at_ns, joined(*ways)

    def _chain(
        self, target: str, source: str, time_ns: int, read: Read
    ) -> tuple[list[Sample], list[Sample]]:
        """Return what is read on the ways up from source and from target to where they meet."""
        up, top = self._way_up(source, (target,), read)
        if top == target:
            return list(up.values()), []
        down, meeting = self._way_up(target, {*up, top}, read)
        if meeting != top and meeting not in up:
            raise self._apart(target, source, time_ns, meeting, top)
        return list(up.values())[: [*up, top].index(meeting)], list(down.values())

    def _way_up(
        self, frame: str, ends: Container[str], read: Read
    ) -> tuple[dict[str, Sample], str]:
        """Return what is read from a frame up to one of ``ends``, or to the last, and its name."""
        way: dict[str, Sample] = {}
        while frame not in ends:
            edge = self._edges.get(frame)
            sample = read(edge) if edge is not None else None
            if sample is None:
                break
            if frame in way or len(way) == DEEPEST:
                raise FrameLookupError(_endless(list(way), frame))
            way[frame] = sample
            frame = sample.parent
        return way, frame

    def _apart(self, target: str, source: str, time_ns: int, *tops: str) -> FrameError:
        """Return why the ways up from target and source do not meet, by where they ended."""
        for frame in (target, source):
            if frame not in self._names:
                return FrameLookupError(
                    f'no transform names frame {frame!r}. '
                    'Check its spelling and that its publisher runs.'
                )
        for frame in tops:
            if frame in self._edges:  # no root: it has a parent, but not at this time
                last, first = self._edges[frame].moving(time_ns), self._edges[frame].samples[0]
                if last:
                    bound = f'{_seconds(last.stamp)} or before, the newest'
                    do = 'Wait for its next'
                else:
                    bound = f'{_seconds(first.stamp)} or after, the first'
                    do = 'Wait, or compare the clocks'
                return FrameExtrapolationError(
                    f'time of {source!r} in {target!r} must be {bound} transform of {frame!r}, '
                    f'got {_seconds(time_ns)}. {do}.'
                )
        return FrameConnectivityError(
            f'no transform joins {source!r} and {target!r}: their trees end at {tops[1]!r} and '
            f'{tops[0]!r}. Publish one that does.'
        )


def greater(a: Sample, b: Sample) -> Sample:
    """Return which of two is kept: by their texts when only those differ, as -0.0 and 0.0 do."""
    return max(a, b, key=lambda sample: (sample, repr(sample)))


def joined(up: list[Sample], down: list[Sample]) -> Pose:
    """Return the pose of the source in the target from the two ways up to where they meet."""
    if not down:
        return _along(up)
    p, q = _along(down)
    back = conjugate(q)
    X_TM = Pose(rotate(back, scale(-1.0, p)), back)
    return compose(X_TM, _along(up)) if up else X_TM


def _along(way: list[Sample]) -> Pose:
    pose = way[0].pose
    for sample in way[1:]:
        pose = compose(sample.pose, pose)
    return pose


def between(a: Pose, b: Pose, ratio: float) -> Pose:
    """Return the pose at a share of the way from a to b: straight, and turned the short way."""
    rest = 1.0 - ratio
    (ax, ay, az), (bx, by, bz) = a.position, b.position
    position = (rest * ax + ratio * bx, rest * ay + ratio * by, rest * az + ratio * bz)
    return Pose(position, slerp(a.orientation, b.orientation, ratio))


def slerp(p: Quaternion, q: Quaternion, ratio: float) -> Quaternion:
    """Return the rotation at a share of the short way from p to q."""
    (px, py, pz, pw), (qx, qy, qz, qw) = p, q
    cosine = px * qx + py * qy + pz * qz + pw * qw
    angle = acos(min(1.0, abs(cosine)))
    size = sin(angle)
    if size > 0.0:
        a, b = sin((1.0 - ratio) * angle) / size, sin(ratio * angle) / size
    else:  # 1e-8 rad or less: the limit of the above
        a, b = 1.0 - ratio, ratio
    if cosine < 0.0:  # q and -q are one rotation
        b = -b
    return (a * px + b * qx, a * py + b * qy, a * pz + b * qz, a * pw + b * qw)


def _endless(way: list[str], frame: str) -> str:
    got = f'more than {DEEPEST} transforms in a row'
    if frame in way:
        loop = way[way.index(frame) :]
        shown = loop if len(loop) < 7 else [*loop[:5], '...']
        got = 'the loop ' + ' -> '.join([*shown, frame])
    return (
        f'frame {way[0]!r} must lead up to a root, got {got}. '
        'Let one publisher alone say which parent a frame has.'
    )


def _seconds(time_ns: int) -> str:
    return f'{time_ns // NANOSECONDS}.{time_ns % NANOSECONDS:09d} s'
