"""
The tree of frames: transforms in, the pose of one frame in another at a time out, without tf2.

It answers as tf2 does (BufferCore: interpolation, newest common time, what is refused), but for
one thing: the same transforms give the same answers in whatever order they came. And on top of
tf2's lookups it has the session's own, ``newest``: as new as possible, but never newer than a
time, reading nothing stamped after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from math import acos, sin
from typing import NamedTuple

from .errors import FrameConnectivityError, FrameExtrapolationError, FrameLookupError
from .model import compose, Pose
from .timeline import NANOSECONDS
from .vector import conjugate, Quaternion, rotate, scale

IDENTITY = Pose()
DEEPEST = 1000  # as tf2: a chain that is longer is a loop


class Sample(NamedTuple):
    """What one transform says of its child; compared as a tuple where two have one stamp."""

    parent: str
    pose: Pose


class Edge:
    """All that is known of one child frame, in the order of the stamps."""

    __slots__ = ('child', 'fixed', 'fixed_stamp', 'parents', 'samples', 'stamps')

    def __init__(self, child: str) -> None:
        self.child = child
        self.fixed: Sample | None = None  # a static transform, valid at all times
        self.fixed_stamp = 0
        self.stamps: list[int] = []
        self.samples: list[Sample] = []
        self.parents: set[str] = set()  # ever seen: one, unless somebody moves frames about

    def last(self, until_ns: int | None) -> int:
        """Return the index of the newest sample at or before a time, -1 when there is none."""
        stamps = self.stamps
        if until_ns is None or not stamps or stamps[-1] <= until_ns:
            return len(stamps) - 1
        return bisect_right(stamps, until_ns) - 1

    def newest(self, until_ns: int | None) -> tuple[int, Sample] | None:
        """Return stamp and sample of the newest at or before a time; stamp 0 when static."""
        if self.fixed is not None:
            return 0, self.fixed
        i = self.last(until_ns)
        return (self.stamps[i], self.samples[i]) if i >= 0 else None

    def at(self, time_ns: int, until_ns: int | None) -> Sample | None:
        """Return the sample at a time, interpolated between two of one parent, or None."""
        if self.fixed is not None:
            return self.fixed
        i, end = self.last(time_ns), self.last(until_ns)
        if i < 0 or i > end:
            return None
        sample = self.samples[i]
        if self.stamps[i] == time_ns:
            return sample
        if i == end:
            return None
        after = self.samples[i + 1]
        if after.parent != sample.parent:
            return sample
        ratio = (time_ns - self.stamps[i]) / (self.stamps[i + 1] - self.stamps[i])
        return Sample(sample.parent, between(sample.pose, after.pose, ratio))


class FrameTree:
    """
    The frames known, by their transforms.

    Parameters
    ----------
    cache_ns
        How far back from its newest sample a moving frame is remembered [ns]; tf2's 10 s.
    most_frames, most_samples
        Bounds of the memory: how many child frames, and how many samples of all together. At
        the second the frame that gets a new one loses its oldest.
    """

    def __init__(self, cache_ns: int = 10 * NANOSECONDS, most_frames: int = 4096,
                 most_samples: int = 200_000) -> None:
        self._cache_ns, self._most_frames, self._most_samples = cache_ns, most_frames, most_samples
        self._edges: dict[str, Edge] = {}
        self._names: dict[str, int] = {}  # of roots too: by how many edges a name is used
        self._paths: dict[tuple[str, str], tuple[list[Edge], list[Edge]]] = {}
        self._count = 0

    def insert(self, stamp_ns: int, parent: str, child: str, pose: Pose,
               static: bool = False) -> str:
        """
        Take the pose of ``child`` in ``parent`` at a time; the arguments are valid.

        Two of one stamp that differ: the one greater as a tuple is kept, since which came first
        must not matter. A frame that is static stays so.

        Returns
        -------
        'inserted'; 'repeated', the stamp was there; 'old', more than the cache behind the newest
        of this child; 'full', no room for another frame.
        """
        edge = self._edges.get(child)
        if edge is None:
            if len(self._edges) >= self._most_frames:
                return 'full'
            edge = self._edges[child] = Edge(child)
            self._names[child] = 1
            self._paths.clear()
        if parent not in edge.parents:
            edge.parents.add(parent)
            self._names[parent] = 1
            self._paths.clear()
        sample = Sample(parent, pose)
        if static:
            new = edge.fixed is None or (stamp_ns, sample) > (edge.fixed_stamp, edge.fixed)
            if new:
                edge.fixed, edge.fixed_stamp = sample, stamp_ns
                self._paths.clear()
            return 'inserted' if new else 'repeated'
        return self._insert_moving(edge, stamp_ns, sample)

    def _insert_moving(self, edge: Edge, stamp_ns: int, sample: Sample) -> str:
        stamps, samples = edge.stamps, edge.samples
        if not stamps or stamp_ns > stamps[-1]:
            stamps.append(stamp_ns)
            samples.append(sample)
        else:
            if stamp_ns < stamps[-1] - self._cache_ns:
                return 'old'
            place = bisect_right(stamps, stamp_ns)
            if place and stamps[place - 1] == stamp_ns:
                samples[place - 1] = max(samples[place - 1], sample)
                return 'repeated'
            stamps.insert(place, stamp_ns)
            samples.insert(place, sample)
        self._count += 1
        drop = 0
        if stamps[0] < stamps[-1] - self._cache_ns:
            drop = bisect_right(stamps, stamps[-1] - self._cache_ns - 1)
        elif self._count > self._most_samples and len(stamps) > 2:
            drop = 1
        if drop:
            del stamps[:drop], samples[:drop]
            self._count -= drop
        return 'inserted'

    def clear(self) -> None:
        """Forget the moving samples, as after a jump of the clock; what is static stays."""
        for edge in self._edges.values():
            edge.stamps.clear()
            edge.samples.clear()
        self._count = 0

    def frames(self) -> list[str]:
        """Return the names of all frames seen."""
        return sorted(self._names)

    def newest_stamp(self, child: str, until_ns: int) -> int | None:
        """Return the stamp of the newest moving sample of a frame at or before a time [ns]."""
        edge = self._edges.get(child)
        i = edge.last(until_ns) if edge is not None else -1
        return edge.stamps[i] if edge is not None and i >= 0 else None

    def newest(self, target: str, source: str, until_ns: int) -> tuple[int | None, Pose]:
        """
        Return the newest pose of ``source`` in ``target`` that samples up to a time give.

        Of every moving frame of the chain the newest sample at or before ``until_ns``, then all
        at the oldest of these. Nothing stamped after ``until_ns`` is read.

        Returns
        -------
        The time of the pose [ns], None when the whole chain is static; the pose.

        Raises
        ------
        FrameLookupError, FrameConnectivityError, FrameExtrapolationError
        """
        if target == source:
            return None, IDENTITY
        path = self._paths.get((target, source))
        if path is None:
            up, down = self._path(target, source, lambda edge: edge.newest(until_ns))
            if all(len(edge.parents) == 1 for edge in up + down):
                self._paths[target, source] = up, down  # holds until a frame comes or moves
        else:
            up, down = path
        common: int | None = None
        for edges in (up, down):
            for edge in edges:
                if edge.fixed is None:
                    i = edge.last(until_ns)
                    if i < 0:
                        raise FrameExtrapolationError(_too_early(edge, until_ns))
                    stamp = edge.stamps[i]
                    if common is None or stamp < common:
                        common = stamp
        time_ns = until_ns if common is None else common
        return common, self._along(target, source, up, down, time_ns, until_ns)

    def lookup(self, target: str, source: str, at_ns: int) -> tuple[int, Pose]:
        """
        Return the pose of ``source`` in ``target`` at a time, as tf2's lookupTransform does.

        Parameters
        ----------
        at_ns
            Time [ns]; 0 for the newest that all frames of the chain have.

        Returns
        -------
        The time of the pose [ns] (0 for a chain that is static, asked for at 0); the pose.

        Raises
        ------
        FrameLookupError, FrameConnectivityError, FrameExtrapolationError
        """
        if target == source:
            edge = self._edges.get(target)
            latest = edge.newest(None) if edge is not None else None
            return at_ns or (latest[0] if latest else 0), IDENTITY
        if at_ns == 0:
            up, down = self._path(target, source, lambda edge: edge.newest(None))
            stamps = [edge.stamps[-1] for edge in up + down if edge.fixed is None]
            at_ns = min(stamps, default=0)
        else:
            up, down = self._path_at(target, source, at_ns)
        return at_ns, self._along(target, source, up, down, at_ns, None)

    def _know(self, *frames: str) -> None:
        for frame in frames:
            if frame not in self._names:
                raise FrameLookupError(f'frame {frame!r} is not known: nothing publishes it')

    def _path(self, target: str, source: str,
              of: Callable[[Edge], tuple[int, Sample] | None]) -> tuple[list[Edge], list[Edge]]:
        """Return the edges from source and from target up to their common ancestor."""
        self._know(target, source)
        ups: list[Edge] = []
        seen = {source: 0}
        frame = source
        while frame != target:
            edge = self._edges.get(frame)
            found = of(edge) if edge is not None else None
            if edge is None or found is None:
                break
            ups.append(edge)
            frame = found[1].parent
            if frame in seen or len(ups) > DEEPEST:
                raise FrameLookupError(_loop(target, source))
            seen[frame] = len(ups)
        if frame == target:
            return ups, []
        downs: list[Edge] = []
        frame = target
        while frame not in seen:
            edge = self._edges.get(frame)
            found = of(edge) if edge is not None else None
            if edge is None or found is None:
                raise FrameConnectivityError(_apart(target, source))
            downs.append(edge)
            frame = found[1].parent
            if len(downs) > DEEPEST:
                raise FrameLookupError(_loop(target, source))
        return ups[:seen[frame]], downs

    def _path_at(self, target: str, source: str, at_ns: int) -> tuple[list[Edge], list[Edge]]:
        """Return the path as the parents are at one time; tell a missing time from no chain."""
        missing: list[Edge] = []

        def of(edge: Edge) -> tuple[int, Sample] | None:
            sample = edge.at(at_ns, None)
            if sample is None and edge.stamps:
                missing.append(edge)
            return None if sample is None else (at_ns, sample)

        try:
            return self._path(target, source, of)
        except FrameConnectivityError:
            if missing:
                raise FrameExtrapolationError(_outside(missing[0], at_ns)) from None
            raise

    def _along(self, target: str, source: str, up: list[Edge], down: list[Edge], time_ns: int,
               until_ns: int | None) -> Pose:
        """Return the pose of source in target at a time, up to the ancestor and down again."""
        pose = self._ascend(up, time_ns, until_ns)
        if not down:
            return pose
        back = inverse(self._ascend(down, time_ns, until_ns))
        return compose(back, pose) if up else back

    def _ascend(self, edges: list[Edge], time_ns: int, until_ns: int | None) -> Pose:
        pose = None
        for n, edge in enumerate(edges):
            sample = edge.at(time_ns, until_ns)
            if sample is None:
                raise FrameExtrapolationError(_outside(edge, time_ns))
            if n + 1 < len(edges) and sample.parent != edges[n + 1].child:
                raise FrameExtrapolationError(
                    f'frame {edge.child!r} had another parent at {time_ns / NANOSECONDS:.6f} s')
            pose = sample.pose if pose is None else compose(sample.pose, pose)
        return IDENTITY if pose is None else pose


def inverse(X_AB: Pose) -> Pose:
    """Return X_BA."""
    back = conjugate(X_AB.orientation)
    return Pose(rotate(back, scale(-1.0, X_AB.position)), back)


def between(a: Pose, b: Pose, ratio: float) -> Pose:
    """Return the pose at a share of the way from a to b: straight, and turned the short way."""
    rest = 1.0 - ratio
    (ax, ay, az), (bx, by, bz) = a.position, b.position
    position = (rest * ax + ratio * bx, rest * ay + ratio * by, rest * az + ratio * bz)
    return Pose(position, slerp(a.orientation, b.orientation, ratio))


def slerp(p: Quaternion, q: Quaternion, ratio: float) -> Quaternion:
    """Return the rotation at a share of the short way from p to q."""
    cosine = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
    if cosine < 0.0:
        cosine, q = -cosine, (-q[0], -q[1], -q[2], -q[3])
    angle = acos(min(1.0, cosine))
    size = sin(angle)
    if size < 1e-12:
        return p
    a, b = sin((1.0 - ratio) * angle) / size, sin(ratio * angle) / size
    return (a * p[0] + b * q[0], a * p[1] + b * q[1], a * p[2] + b * q[2], a * p[3] + b * q[3])


def _seconds(time_ns: int) -> str:
    return f'{time_ns // NANOSECONDS}.{time_ns % NANOSECONDS:09d} s'


def _outside(edge: Edge, time_ns: int) -> str:
    if not edge.stamps:
        return f'no transform of frame {edge.child!r} yet'
    side = 'after' if time_ns > edge.stamps[-1] else 'before'
    known = f'{_seconds(edge.stamps[0])} to {_seconds(edge.stamps[-1])}'
    return f'{_seconds(time_ns)} is {side} what is known of frame {edge.child!r}: {known}'


def _too_early(edge: Edge, until_ns: int) -> str:
    return f'no transform of frame {edge.child!r} at or before {_seconds(until_ns)}'


def _apart(target: str, source: str) -> str:
    return f'frames {source!r} and {target!r} are in two trees: no transform joins them'


def _loop(target: str, source: str) -> str:
    return f'the transforms between {source!r} and {target!r} make a loop: a frame has one parent'
