"""Faults of all kinds, fed to a session directly: each is counted, and no number goes wrong."""

from collections import Counter
from functools import cache
from itertools import pairwise
from math import isfinite, isnan
import time

from chaos import count, main, rows, table
from faults import Chaos, counted, demo, Event, GAP, INPUTS, JUMP, KINDS, LATE, Ledger
from mime_motor_ros.drive import DriveState
from mime_motor_ros.inputs import Commands, Imu
from mime_motor_ros.session import Session, source_of
from mime_motor_ros.settings import settings
from pacing import instants
import pytest
from sessions import SECOND, START

SEEDS = range(20)
SECONDS = 20.0
ASYMMETRIC = {
    'motors': ['a', 'b'],
    'rate': 200.0,
    'settle': 0.05,
    'a.asymmetry': [2e-5, 1e-5, 0.0, -2e-5, 0.0, 0.0],
    'a.placement.xyz': [0.1, -0.2, 0.3],
    'b.axis': [1.0, 2.0, -1.0],
    'b.initial_spin': 120.0,
}


class Run:
    """A session that was fed with a stream and the faults in it."""

    def __init__(self, seed=0, seconds=SECONDS, start=START, keep=None, values=(), **faults):
        self.settings = settings({**ASYMMETRIC, **dict(values)})
        self.chaos = Chaos(self.settings, seed, **faults)
        self.session = Session(self.settings)
        self.given, self.sent, self.taken = Counter(), Counter(), Counter()
        self.epochs = [[]]
        self.events = list(self.chaos.events(instants(self._stream(seconds, start, keep), 1.0)))
        for event in self.events:
            for item in event.items:
                self.sent[source_of(item)] += 1
                self.taken[source_of(item)] += self.session.take(item, event.now_ns)
            jumps = self.session.jumps
            made = self.session.advance_to(event.now_ns)
            if self.session.jumps > jumps or len(self.epochs) <= self.session.jumps:
                self.epochs.append([])
            self.epochs[-1] += made

    def _stream(self, seconds, start, keep):
        for received in demo(self.settings, seconds, start):
            if keep is None or keep(received.item):
                self.given[source_of(received.item)] += 1
                yield received

    @property
    def outcomes(self):
        return [outcome for epoch in self.epochs for outcome in epoch]

    @property
    def injected(self):
        injected = Counter()
        for (kind, _), number in self.chaos.ledger.injected.items():
            injected[kind] += number
        return injected


def is_finite(value):
    """Tell whether all the numbers of nested tuples are; None stands for no number."""
    if isinstance(value, DriveState) and isnan(value.target):
        value = value._replace(target=0.0)  # there is none
    for x in value:  # noqa: SIM110  a loop, as this looks at millions
        if not (is_finite(x) if isinstance(x, tuple) else x is None or isfinite(x)):
            return False
    return True


@cache
def mixed(seed, step_on):
    """Return what a session made of 20 s with faults of all kinds, without the outcomes."""
    began = time.process_time()
    run = Run(
        seed,
        values={'step_on': step_on, 'on_time_jump': 'reset' if seed % 3 == 0 else 'hold'}.items(),
    )
    run.cpu = time.process_time() - began
    run.finite = is_finite(run.outcomes)
    run.in_order = all(a.stamp_ns < b.stamp_ns for epoch in run.epochs for a, b in pairwise(epoch))
    run.steps, run.epochs, run.events = len(run.outcomes), None, None
    return run


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
@pytest.mark.parametrize('seed', SEEDS)
def test_every_fault_is_counted_once_and_nothing_else_is(seed, step_on):
    run = mixed(seed, step_on)
    ledger, session = run.chaos.ledger, run.session
    assert counted(session) == ledger.due()
    assert run.finite
    assert run.in_order
    assert sum(run.injected.values()) > 250
    assert session.steps == run.steps > 3000
    # What leaves no trace in the counts: so many did not come, and all others were taken.
    for name, given in run.given.items():
        twice = ledger.injected['duplicate', name]
        assert run.sent[name] == given - ledger.withheld[name] + twice
        refused = {reason: n for (of, reason), n in session.counts.items() if of == name}
        lost = sum(refused.values()) - refused.get('late', 0)  # late ones are read by the next
        assert run.taken[name] == run.sent[name] - lost


def test_the_seeds_have_faults_of_every_kind_and_on_every_input():
    met = {pair for seed in SEEDS for pair in mixed(seed, 'timer').chaos.ledger.injected}
    names = {
        kind: {next(name for name, x in INPUTS.items() if x is one) for one in KINDS[kind].inputs}
        for kind in KINDS
    }
    loads = {'a rotor_wrench', 'a stator_wrench'}
    wanted = {(kind, name) for kind in KINDS for name in names[kind] - {'load'}}
    wanted |= {(kind, name) for kind in KINDS for name in loads if 'load' in names[kind]}
    wanted |= {(kind, 'clock') for kind in KINDS if not names[kind]}
    assert met == wanted


@pytest.mark.parametrize('values', [{'settle': 0.0}, {'settle': 0.2, 'rate': 77.7}])
@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_it_holds_for_steps_taken_at_once_and_for_steps_taken_long_after(values, step_on):
    run = Run(1, 10.0, values={**values, 'step_on': step_on}.items())
    assert counted(run.session) == run.chaos.ledger.due()
    assert ('delay' in run.injected) == (values['settle'] > 0)


def test_a_seed_is_a_run_and_another_seed_another():
    first, again, other = Run(5, 5.0), Run(5, 5.0), Run(6, 5.0)
    assert repr(first.events) == repr(again.events)
    assert repr(first.outcomes) == repr(again.outcomes)
    assert first.chaos.ledger.expected == again.chaos.ledger.expected
    assert repr(first.events) != repr(other.events)


def test_without_faults_the_stream_is_what_it_was():
    run = Run(seconds=2.0, rate=0.0)
    stream = instants(demo(run.settings, 2.0, START), 1.0)
    assert run.events == [
        Event(now_ns, now_ns, tuple(sorted((x.item for x in records), key=order)))
        for now_ns, records in stream
    ]
    assert not run.session.counts


def order(item):
    return list(INPUTS.values()).index(type(item))


# what leaves no trace in the counts is seen in the steps


@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_what_comes_within_settle_changes_no_bit(step_on):
    """Stamps alone count, but for torques without one, which are left out here."""
    values = {'step_on': step_on}.items()
    only = ['duplicate', 'delay', 'reorder', 'stall']
    run = Run(2, 10.0, only=only, values=values, keep=stamped)
    clean = Run(seconds=10.0, rate=0.0, values=values, keep=stamped)
    assert set(run.injected) == set(only)
    # Of each input the last message has no next one that it could come behind in time.
    end_ns = START + 9_900_000_000
    of = [[x for x in one.outcomes if x.stamp_ns < end_ns] for one in (run, clean)]
    assert repr(of[0]) == repr(of[1])
    assert len(of[0]) > 1900


def stamped(item):
    return type(item) is not Commands


def on_imu(kind):
    """Return a run with one kind of fault to the IMU that is stepped on, and one without."""
    run = Run(3, 10.0, only=[kind], inputs=['imu'], rate=10.0, values=ON_IMU)
    assert sum(run.injected.values()) > 20
    return run, clean_on_imu()


ON_IMU = {'step_on': 'imu'}.items()


@cache
def clean_on_imu():
    return Run(seconds=10.0, rate=0.0, values=ON_IMU)


@pytest.mark.parametrize('kind', ['drop', 'nan', 'covariance', 'frame', 'future_stamp', 'late'])
def test_a_sample_that_is_not_there_is_a_step_less(kind):
    run, clean = on_imu(kind)
    assert len(run.outcomes) == len(clean.outcomes) - run.injected[kind]


def test_a_silence_takes_its_steps_and_if_it_is_long_the_one_across_it():
    run, clean = on_imu('silence')
    stamps = [x.stamp for event in run.events for x in event.items if type(x) is Imu]
    long = sum(b - a > run.settings.rate_timeout for a, b in pairwise(stamps))
    assert 10 < long < run.injected['silence']
    assert len(run.outcomes) == len(clean.outcomes) - run.chaos.ledger.withheld['imu'] - long


def test_a_rate_in_degrees_is_believed_for_the_step_it_is_for():
    run, clean = on_imu('degrees')
    pairs = zip(run.outcomes, clean.outcomes, strict=True)
    assert sum(a.rate != b.rate for a, b in pairs) == run.injected['degrees']


def test_a_stamp_of_zero_is_the_time_of_receipt():
    run, clean = on_imu('zero_stamp')
    known = {outcome.stamp_ns for outcome in clean.outcomes}
    odd = [outcome.stamp_ns for outcome in run.outcomes if outcome.stamp_ns not in known]
    assert len(odd) == run.injected['zero_stamp']
    assert {stamp % 5_000_000 for stamp in odd} == {0}  # those of the IMU are 2 ms before


# the ledger and the clock


def test_a_young_clock_does_not_go_back_behind_its_start():
    only = ['back', 'past_stamp', 'forward']
    run = Run(1, seconds=15.0, start=SECOND, only=only)
    back = [(a.now_ns, b.now_ns) for a, b in pairwise(run.events) if a.now_ns > b.now_ns]
    assert back
    assert all(before > 20 * SECOND and after > 10 * SECOND for before, after in back)
    assert counted(run.session) == run.chaos.ledger.due()
    assert run.session.counts.keys() <= {(name, x) for name in run.given for x in ('old', 'late')}


@pytest.mark.parametrize(('kind', 'key'), [('back', JUMP), ('forward', GAP)])
@pytest.mark.parametrize('step_on', ['timer', 'imu'])
def test_a_clock_that_jumps_is_seen_each_time(kind, key, step_on):
    run = Run(4, 10.0, only=[kind], values={'step_on': step_on}.items())
    assert run.injected[kind] > 10
    assert counted(run.session) == {key: run.injected[kind]}


def test_who_may_be_blind_is_given_time_to_see():
    blind = 0.5
    run = Run(4, only=['back', 'late', 'past_stamp'], blind=blind)
    # Expected is what is sure for whoever is blind for a while; the session never is.
    assert run.chaos.ledger.due() <= counted(run.session)
    assert counted(run.session).total() < sum(run.injected.values()) + 10
    now_ns = [event.now_ns for event in run.events]
    back = [a - b for a, b in pairwise(now_ns) if a > b]
    assert len(back) == run.injected['back'] > 3
    assert min(back) > blind * SECOND


def test_a_fault_the_node_has_not_counted_is_named_missing():
    ledger = Ledger()
    ledger.injected.update({('late', 'imu'): 3, ('nan', 'tf'): 2, ('drop', 'tf'): 1})
    ledger.expected.update({('imu', LATE, 'late'): 3, ('tf', 'non-finite', 'nan'): 2})
    before = {'imu late': 5, 'gaps': 1}
    found = rows(ledger, before, {'imu late': 6, 'imu old': 1, 'tf non-finite': 9, 'gaps': 2})
    assert [(row.name, row.expected, row.counted, row.is_found) for row in found] == [
        ('imu', 3, 2, False),
        ('tf', 2, 9, True),
    ]
    assert table(ledger, found).splitlines() == [
        'injected 6 faults: late 3, nan 2, drop 1',
        '',
        'input  counted as   faults  expected  counted',
        'imu    late or old  late 3  3         2        MISSING',
        'tf     non-finite   nan 2   2         9        found',
        '',
        'leave no trace, as they should: drop',
    ]
    assert count(before, GAP) == 1


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        ('--seed x', "argument --seed: must be a whole number, got 'x'. See --help."),
        ('--speed 0', "argument --speed: must be a number >= 0.001, got '0'. See --help."),
        ('--seconds nan', "argument --seconds: must be a number > 0, got 'nan'. See --help."),
        (
            '--rate-of-faults -1',
            "argument --rate-of-faults: must be a number >= 0, got '-1'. See --help.",
        ),
        (
            '--only drop,lost',
            f"argument --only: must be of {', '.join(KINDS)}, got 'lost'. See --help.",
        ),
        (
            '--inputs odom',
            f"argument --inputs: must be of {', '.join(INPUTS)}, got 'odom'. See --help.",
        ),
        ('bag', 'unrecognized arguments: bag. See --help.'),
    ],
)
def test_a_bad_argument_gets_one_line_and_code_2(arguments, said, capsys, restored_signals):
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == 2
    assert capsys.readouterr().err == f'chaos: {said}\n'


def test_a_missing_recording_too(capsys, restored_signals):
    pytest.importorskip('rosbags')
    assert main(['--bag', '/nowhere']) == 2
    assert capsys.readouterr().err == (
        'chaos: /nowhere does not exist. Give the folder of a recording.\n'
    )


def test_help_names_every_fault(capsys, restored_signals):
    with pytest.raises(SystemExit) as ended:
        main(['--help'])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(f'  {name} ' in said and kind.text in said for name, kind in KINDS.items())
