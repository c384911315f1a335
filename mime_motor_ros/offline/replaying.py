"""
A recording through the same session that the node runs: the same stamped inputs, the same bits.

    for outcome in replay('recording', 'motor.yaml'):
        print(outcome.stamp_ns, outcome.steps[0].state.spin)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from operator import attrgetter
from pathlib import Path
from typing import Any

from .. import parameter_file
from ..check.rehearsal import Received
from ..errors import MotorError, ParameterError
from ..names import Names, names
from ..session import NOT_DUE, Outcome, Session
from ..settings import (
    check_names,
    LONGEST_GAP,
    motor_names,
    OF_RCLPY,
    parameters,
    Settings,
    settings,
)
from ..timeline import NANOSECONDS, nanoseconds
from .feed import Arrived, by_stamp, Feed, instants, TICK_NS
from .guess import at_rest, guess, guess_log
from .log import Log, LogFeed
from .recording import Recording, RecordingError
from .salvage import readable

BY = ('receipt', 'stamp')
_turn: Callable[[Arrived], int] = attrgetter('turn')


class ReplayError(MotorError):
    """A recording cannot be replayed as asked."""


class Replay:
    """
    The outcomes of a session that is fed with a recording, made while one iterates, once.

    Attributes
    ----------
    recording : what is read
    settings : those of the node
    names : under which it has its topics
    session : behind each outcome as that step has left it
    topics : recorded topics, or columns, that are read, and what for
    notes : what a user should know, one line each
    cut : one line that says where an unreadable rest begins, '' where all was read
    first_ns : the first time of the clock; 0 before it
    now_ns : how far time has come

    """

    def __init__(
        self,
        recording: Recording | Log,
        chosen: Settings,
        named: Names,
        by: str = 'receipt',
        start: float = 0.0,
        duration: float | None = None,
    ) -> None:
        if by not in BY:
            raise ReplayError(f'by must be one of {", ".join(BY)}, got {by!r}.')
        self.recording, self.settings, self.names, self.by = recording, chosen, named, by
        self.session = Session(chosen)
        self._feed: Feed | LogFeed = (
            LogFeed(recording, chosen)
            if isinstance(recording, Log)
            else Feed(recording, chosen, named)
        )
        self.notes = list(self._feed.notes)
        self.topics = self._feed.sources
        self.cut = ''
        self.first_ns = self.now_ns = 0
        self.stop: Callable[[], bool] = lambda: False
        """Asked at each instant: whether to end there."""
        self.each_second: Callable[[int], None] = lambda now_ns: None
        """Called with the time of the first instant in each second that begins."""
        self.received_by: Counter[str] = Counter()
        """Messages by source, refused ones among them."""
        self._is_used = False
        self._latched: list[Any] = []
        self._offset_ns = 0
        self._start_ns = nanoseconds(start)
        self._length_ns = None if duration is None else nanoseconds(duration)

    @property
    def share(self) -> float:
        """Return how much of it is done, 0 to 1."""
        begin = self.recording.start_ns + self._start_ns
        length = self._length_ns or self.recording.end_ns - begin
        return min(1.0, max(0.0, (self.now_ns - begin) / max(1, length)))

    def __iter__(self) -> Iterator[Outcome]:
        """Take the steps one by one, once: behind them the session is at the end."""
        if self._is_used:
            raise ReplayError('A replay is gone through once. Call replay(...) again.')
        self._is_used = True
        session, settle = self.session, self.settings.settle
        last_ns = 0
        # No longer than what the session takes for a gap, or there would be nothing else.
        tick_ns = min(TICK_NS, self.settings.max_gap)
        for now_ns, records in instants(self._in_span(), settle / NANOSECONDS, tick_ns):
            if self.stop():
                return
            # A node looks at its topics in a fixed order.
            for one in sorted(records, key=_turn) if len(records) > 1 else records:
                if one.error:
                    session.counts[one.source, 'unreadable'] += 1
                    session.news.setdefault(f'{one.source} unreadable', one.error)
                self.received_by[one.source] += 1
                for item in one.items:
                    if not self._offset_ns and (stamp := getattr(item, 'stamp', 0)):
                        self._offset_ns = stamp - now_ns or 1
                    session.take(item, now_ns)
            last_ns = now_ns if records else last_ns
            self.first_ns = self.first_ns or now_ns
            before_ns, self.now_ns = self.now_ns, now_ns
            yield from session.stepping(now_ns)
            if before_ns and now_ns // NANOSECONDS != before_ns // NANOSECONDS:
                self.each_second(now_ns)
        if last_ns and self.now_ns < last_ns + settle:  # between two ticks
            self.now_ns = last_ns + settle
            yield from session.stepping(self.now_ns)

    def _in_span(self) -> Iterator[Arrived]:
        """Give what arrived, in order, between start and end; what is latched before that too."""
        end_ns = begin_ns = None
        arrived = self._arrived()
        if self.by == 'stamp':
            arrived = by_stamp(arrived, most_ns=self.settings.max_gap)
        for one in arrived:
            if begin_ns is None:
                if self.by == 'stamp' and not one.received_ns:
                    self._latch(one)  # static, before the first that has a stamp
                    continue
                zero = self.recording.start_ns if self.by == 'receipt' else one.received_ns
                begin_ns = zero + self._start_ns
                end_ns = None if self._length_ns is None else begin_ns + self._length_ns
            if end_ns is not None and one.received_ns > end_ns:
                return
            if one.received_ns < begin_ns:
                self._latch(one)
            else:
                yield one

    def _latch(self, one: Arrived) -> None:
        """Take static transforms before the clock begins: who starts later has them too."""
        for item in one.items:
            if getattr(item, 'static', False):
                self._latched.append(item)
                self.session.take(item, 0)

    def received(self) -> Iterator[Received]:
        """Give the inputs alone, in order: what ``motor_check`` judges. It reads them anew."""
        for one in self._in_span():
            items = [*self._latched, *one.items]
            self._latched.clear()
            for item in items:
                yield Received(one.received_ns, item)

    def _arrived(self) -> Iterator[Arrived]:
        try:
            yield from self._feed.arrived()
        except RecordingError as error:
            came = max(0, self.now_ns - self.recording.start_ns) / NANOSECONDS
            self.cut = f'{error} What came before, {came:.3f} s, is used.'
        self.cut = self.cut or self.recording.cut

    @property
    def refused(self) -> str:
        """Return what was not used, with its reasons, '' where nothing was."""
        counts = sorted(self.session.counts.items())
        return ', '.join(f'{source} {reason} {count}' for (source, reason), count in counts)

    @property
    def why_none(self) -> str:
        """Return why a recording gave no step, in one line."""
        name = self.recording.name
        if not self.now_ns:
            start = self._start_ns / NANOSECONDS
            length = (self.recording.end_ns - self.recording.start_ns) / NANOSECONDS
            after = f' behind its first {start:g} s; it is {length:.3f} s long' if start else ''
            return f'{name} gives no step: no input is in it{after}.'
        reasons = [self.session.waiting]
        if self.session.waiting == NOT_DUE:
            reasons = ['it ends before the first step is due']
        if self.refused:
            reasons.append(f'refused: {self.refused}')
        if self.by == 'receipt' and abs(self._offset_ns) > LONGEST_GAP * NANOSECONDS:
            reasons.append(
                f'its first stamp is {self._offset_ns / NANOSECONDS:.3f} s from its time of '
                'receipt, so take them by stamp (--by stamp)'
            )
        return f'{name} gives no step: {"; ".join(x.rstrip(".") for x in reasons)}.'


def replay(
    recording: Recording | Log | str | Path,
    parameters: Mapping[str, Any] | str | Path | None = None,
    *,
    by: str = 'receipt',
    remap: Sequence[str] | Mapping[str, str] = (),
    start: float = 0.0,
    duration: float | None = None,
    overrides: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Replay:
    """
    Return a recording as it goes through the session of a node, to be iterated over.

    Parameters
    ----------
    recording
        A rosbag2 folder, an .mcap, .db3 or .csv file, or one that is open.
    parameters
        Those of the node, by full name, or the path of its parameter file; None: the node's
        defaults, with the frames that the recording shows.
    by
        'receipt': as the node sees it that is played the recording; 'stamp': as if nothing had
        been on its way.
    remap
        As behind ``-r`` of ros2 run: 'imu/data:=/imu', or a mapping.
    start, duration
        Which part [s] of it; steps begin at rest there.
    overrides
        Parameters that count more than those.
    columns
        Of a CSV file: names of inputs, and which of its columns are meant by them.

    Raises
    ------
    MotorError
        If it cannot be read, or a parameter is wrong.

    """
    if not (isfinite(start) and start >= 0.0):
        raise ParameterError('start', 'finite and >= 0 s', start)
    if duration is not None and not (isfinite(duration) and duration > 0.0):
        raise ParameterError('duration', 'finite and > 0 s', duration)
    pairs = [f'{a}:={b}' for a, b in remap.items()] if isinstance(remap, Mapping) else remap
    named = names(pairs)
    opened = recording
    if not isinstance(opened, (Recording, Log)):
        is_log = Path(opened).suffix.lower() == '.csv'
        opened = Log(opened, columns) if is_log else readable(opened)
    if columns and not isinstance(opened, Log):
        raise ReplayError(
            f'{opened.name} has topics and no columns. Remap topics with -r FROM:=TO.'
        )
    notes: list[str] = []
    if parameters is None and isinstance(opened, Log):
        values, notes = guess_log(opened)
    elif parameters is None and isinstance(opened, Recording):
        values, named, notes = guess(opened, named)
    elif isinstance(parameters, (str, Path)):
        values = parameter_file.read(parameters, named.full_node)
    else:
        values = dict(parameters or {})
    given = {**values, **(overrides or {})}
    chosen = _settings(given, notes)
    if isinstance(opened, Log) and (still := at_rest(opened, chosen)):
        chosen = _settings({**given, **still}, [])
        rules = ' '.join(f'-p {name}:={value}' for name, value in still.items())
        notes.append(
            f'{opened.name} does not tell all of the mount that is asked for: taken as {rules}.'
        )
    made = Replay(opened, chosen, named, by, start, duration)
    made.notes[:0] = [*getattr(opened, 'notes', ()), *notes]
    return made


def _settings(values: Mapping[str, Any], notes: list[str]) -> Settings:
    """Return settings as the node takes them from its parameters; what it warns of is noted."""
    given = {
        name: value
        for name, value in values.items()
        if name not in OF_RCLPY and not name.startswith('qos_overrides.')
    }
    motors = motor_names(given.get('motors', parameters(())['motors'].default))
    for stranger in check_names(given, motors):
        notes.append(f'parameter {stranger!r} is not one of ours: not used.')
    chosen = settings(given)
    notes += chosen.remarks
    return chosen
