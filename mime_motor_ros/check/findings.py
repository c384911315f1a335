"""
What a session would lack, and what looks wrong, out of inputs that were heard or recorded.

Pure: what was seen goes in, findings come out, in words that a technician can act on. What is
valid, stale or refused is not decided here but by the session itself, which is fed with all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..session import ADVICE, USUAL
from ..settings import Settings
from .case import Case, Finding, listed, Seen
from .flows import judge_command, judge_pose, judge_rate
from .links import judge_authority, judge_frames
from .rehearsal import rehearse
from .turning import judge_agreement

FEW_OLD = 0.01  # share of messages that may come behind newer ones
FEW_MISSED = 0.01  # share of looks that may find no step


def findings(settings: Settings, seen: Seen) -> list[Finding]:
    """Return what there is to say about what was seen, for a session with these settings."""
    everything = rehearse(settings, seen.received)
    arriving = everything
    if not all(one.arrives for one in seen.received):
        arriving = rehearse(settings, [one for one in seen.received if one.arrives])
    case = Case(settings, seen, everything, arriving)
    return [
        *_time(case),
        *judge_pose(case),
        *judge_rate(case),
        *judge_frames(case),
        *judge_command(case),
        *_refused(case),
        *judge_authority(case),
        *judge_agreement(case),
        *_session(case),
    ]


def is_good(found: Sequence[Finding]) -> bool:
    """Tell whether a session would run and nothing looks wrong."""
    return all(one.level == 'ok' for one in found)


def _time(case: Case) -> Iterator[Finding]:
    session, clocks = case.heard.session, case.seen.clocks
    if case.seen.flooded:
        yield Finding(
            'warning',
            'time',
            f'{len(case.seen.received)} inputs came in {case.seconds:.1f} s: no more were '
            'listened to. Look for who sends so many.',
        )
    if case.seen.simulated and not session.now_ns:
        who = f'{listed(clocks)} sent no time' if clocks else 'nobody publishes it'
        yield Finding(
            'error',
            'time',
            f'use_sim_time is set and nothing came on /clock: {who}. Start the simulator or '
            'player, or leave use_sim_time out.',
        )
        return
    if case.seen.simulated and case.seconds == 0.0:
        yield Finding('error', 'time', '/clock stands still. Let the simulator or player run.')
    elif case.seen.simulated and len(clocks) > 1:
        yield Finding(
            'error', 'time', f'/clock comes from {listed(clocks)}: let one of them alone send it.'
        )
    elif session.jumps or session.gaps:
        said = [session.news[key] for key in ('clock', 'gap') if key in session.news]
        yield Finding(
            'warning',
            'time',
            f'{"; ".join(said)} ({session.jumps} times back, {session.gaps} gaps).',
            {'jumps back': session.jumps, 'gaps': session.gaps},
        )
    elif not case.seen.topics:
        yield Finding('ok', 'time', f'{case.seconds:.1f} s of a recording')
    else:
        source = '/clock' if case.seen.simulated else 'the clock of this machine'
        yield Finding('ok', 'time', f'follows {source}, {case.seconds:.1f} s were looked at')


def _refused(case: Case) -> Iterator[Finding]:
    session, settings = case.heard.session, case.settings
    needed = {settings.rate_source} | (set() if case.still else {settings.pose_source})
    for (source, reason), count in sorted(session.counts.items()):
        given = case.heard.given[source]
        if reason == 'full' and not session.now_ns:
            continue  # they wait for the clock, and that it does not come is said
        if reason in USUAL or not given or (reason == 'old' and count <= FEW_OLD * given):
            continue
        text = session.news.get(f'{source} {reason}', f'{source} {reason}').removesuffix(
            '; not used'
        )
        yield Finding(
            'error' if source in needed and 2 * count >= given else 'warning',
            _subject(case, source),
            f'{count} of {given} messages refused: {text}. {ADVICE.get(reason, "")}'.strip(),
            {'source': source, 'reason': reason, 'refused': count, 'messages': given},
        )
    for topic in case.seen.topics:
        if topic.unreadable:
            yield Finding(
                'warning',
                _subject(case, topic.source),
                f'{topic.name}: {topic.unreadable} messages cannot be read as {topic.type}. Is '
                'the sender built with other message definitions?',
                {'unreadable': topic.unreadable},
            )
    for key, text in session.news.items():
        if key == 'overflow' or key.startswith('load '):
            yield Finding('warning', 'loads' if key.startswith('load ') else 'session', f'{text}.')


def _subject(case: Case, source: str) -> str:
    if source == case.settings.rate_source and source != 'tf':
        return 'mount rate'
    if source == case.settings.pose_source and source != 'tf':
        return 'mount pose'
    named = {'tf': 'transforms', 'commands': 'command', 'joint_command': 'command'}
    return named.get(source, 'loads')


def _session(case: Case) -> Iterator[Finding]:
    """Judge whether steps would be made, in the session's own words."""
    made, session = case.arriving, case.arriving.session
    why = session.waiting.removesuffix('.')
    missed = made.looks - made.stepping
    share = made.stepping / max(made.looks, 1)
    values = {'steps': session.steps, 'share of the time': share, 'waiting': session.waiting}
    if not session.steps:
        level, text = 'error', f'would make no steps: {why}.'
    elif missed <= FEW_MISSED * made.looks:
        level, text = 'ok', 'would run, without a step missed'
        if missed:
            text = f'would run, {100 * share:.1f} % of the time'
    elif why:
        level, text = 'error', f'would make no steps at the end: {why}.'
    else:
        words = made.words.most_common(1)[0][0]
        why = made.examples[words].removesuffix('.')
        level, text = (
            'warning',
            f'would make steps in {100 * share:.0f} % of the time; else {why}.',
        )
    yield Finding(level, 'session', text, values)
