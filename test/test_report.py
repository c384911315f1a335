"""``motor_report``: what it says and draws of a replay, a table and a recording."""

from html.parser import HTMLParser
from itertools import pairwise
from math import cos, sin
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')
pytest.importorskip('matplotlib', reason='needs the package matplotlib')

from mime_motor_ros.offline import replay_command  # noqa: E402
from mime_motor_ros.offline.recording import Recording  # noqa: E402
from mime_motor_ros.offline.reporting import command, report  # noqa: E402
from mime_motor_ros.offline.reporting.bag import nodes  # noqa: E402
from mime_motor_ros.offline.reporting.style import quantity  # noqa: E402
from mime_motor_ros.offline.reporting.traces import (  # noqa: E402
    band,
    BUCKETS,
    HELD,
    is_dense,
    Spread,
    Trace,
)
import numpy as np  # noqa: E402
from test_recording import header, imu, ros, START_NS, write  # noqa: E402

pytestmark = pytest.mark.usefixtures('restored_signals')

COMMAND = 'mime_motor_ros.offline.reporting.command'
TURN = 2.0  # rad/s, of the mount about the x axis of the world
J, SPIN = 2e-4, 150.0
PARAMETERS = """
/**:
  ros__parameters:
    world_frame: odom
    mount_frame: base_link
    rate: 100.0
    wheel: {inertia: 2.0e-4, damping: 1.0e-6, initial_spin: 150.0, limit.torque: 0.004}
"""
FIGURES = ['spin', 'torque', 'drive', 'wrench', 'momentum', 'energy', 'timing']


def pose(stamp_ns, seconds):
    half = 0.5 * TURN * seconds
    transform = ros(
        'geometry_msgs/msg/Transform',
        ros('geometry_msgs/msg/Vector3', 0.0, 0.0, 0.0),
        ros('geometry_msgs/msg/Quaternion', sin(half), 0.0, 0.0, cos(half)),
    )
    stamped = ros(
        'geometry_msgs/msg/TransformStamped', header(stamp_ns, 'odom'), 'base_link', transform
    )
    return ros('tf2_msgs/msg/TFMessage', [stamped])


def torque(value):
    layout = ros('std_msgs/msg/MultiArrayLayout', [], 0)
    return ros('std_msgs/msg/Float64MultiArray', layout, np.array([value]))


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """A second of a mount that turns steadily; for its second half a torque beyond the limit."""
    messages = []
    for k in range(101):
        stamp_ns = START_NS + k * 10_000_000
        messages.append(('/tf', stamp_ns, pose(stamp_ns, k / 100)))
        messages.append(('/imu/data', stamp_ns, imu(stamp_ns, (TURN, 0.0, 0.0), 'base_link')))
        messages.append(('/motor/commands', stamp_ns, torque(0.01 if k >= 50 else 0.0)))
    return write(tmp_path_factory.mktemp('walk') / 'walk', messages)


@pytest.fixture(scope='module')
def made(walk, tmp_path_factory):
    """Its replay as a folder, CSV and Parquet, and the parameters."""
    folder = tmp_path_factory.mktemp('made')
    (folder / 'motor.yaml').write_text(PARAMETERS)
    args = [walk, '--params-file', folder / 'motor.yaml', '-q', '--out', folder / 'bag']
    args += ['--csv', folder / 'steps.csv', '--parquet', folder / 'steps.parquet']
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    assert replay_command.main([str(x) for x in args]) == 0
    for number, handler in kept.items():
        signal.signal(number, handler)
    return folder


@pytest.fixture(scope='module')
def page(made, walk):
    """The report of the folder, as text, and its object."""
    of = report(made / 'bag', mount=walk)
    return of, of.html()


@pytest.fixture
def run(capsys):
    """Run the command; return its exit code, what it says and what it complains of."""

    def run(*args):
        code = command.main([str(x) for x in args])
        return (code, *capsys.readouterr())

    return run


def table(made):
    return np.genfromtxt(made / 'steps.csv', delimiter=',', names=True, deletechars='')


# what it shows is what was


def test_a_report_has_every_figure_of_what_was_recorded(page, made):
    of, _ = page
    assert [one.key for one in of.pictures] == FIGURES
    assert of.missing == {'Refusals': 'nothing was refused or late'}
    assert of.source.node == '/motor'
    assert of.source.motors == ['wheel']
    assert of.gathered.rows == len(table(made))


def test_peaks_are_the_largest_values_of_the_steps_and_when_they_were(page, made):
    of, html = page
    rows = table(made)
    stamps = [int(line.split(',')[0]) for line in (made / 'steps.csv').open().readlines()[1:]]
    for ending in ('spin_rad_s', 'speed_rad_s', 'torque_n_m', 'friction_torque_n_m'):
        values = rows[f'wheel.{ending}']
        at = int(np.argmax(np.abs(values)))
        peak = of.peaks[f'wheel.{ending}']
        assert peak.value == values[at]
        assert peak.seconds == pytest.approx((stamps[at] - stamps[0]) * 1e-9, abs=1e-9)
        assert peak.rms == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-12)
    sizes = np.sqrt(sum(rows[f'mount_wrench_torque_{x}_n_m'] ** 2 for x in 'xyz'))
    peak = of.peaks['mount_wrench_torque_norm_n_m']
    assert peak.value == pytest.approx(sizes.max(), rel=1e-12)
    # The gyroscopic torque by hand: J W w, where the wheel is fastest.
    assert peak.value == pytest.approx(J * rows['wheel.spin_rad_s'].max() * TURN, rel=0.01)
    assert f'<td class="n">{quantity(peak.value, "N m")}</td>' in html
    spin = of.peaks['wheel.spin_rad_s'].value
    assert f'<td>spin</td><td class="n">{quantity(spin, "rad/s")}</td>' in html


@pytest.mark.parametrize('source', ['bag', 'steps.csv', 'steps.parquet', 'replay'])
def test_momentum_in_world_axes_is_that_of_the_hand_from_every_source(made, walk, source):
    if source == 'replay':
        of = report(walk, parameters=made / 'motor.yaml')
    else:
        of = report(made / source, mount=walk if source == 'bag' else None)
    spins = table(made)['wheel.spin_rad_s']
    traces = of.gathered.traces
    times, x = traces['momentum_world_x_n_m_s'].points()
    _, y = traces['momentum_world_y_n_m_s'].points()
    _, z = traces['momentum_world_z_n_m_s'].points()
    assert len(times) == len(spins)
    for stamp, spin, *found in zip(times, spins, x, y, z, strict=True):
        angle = TURN * (stamp - START_NS) * 1e-9
        by_hand = (0.0, -J * spin * sin(angle), J * spin * cos(angle))
        assert found == pytest.approx(by_hand, abs=1e-12)


def test_without_transforms_momentum_stays_in_mount_axes_and_that_is_said(made):
    of = report(made / 'bag')
    assert 'momentum_world_x_n_m_s' not in of.gathered.traces
    titles = [one.title for one in of.pictures]
    assert 'Momentum' in titles
    assert 'Momentum in world axes' not in titles
    assert any("no transform recorded carries 'base_link'" in text for text in of.findings)


def test_the_energy_balance_of_messages_is_that_of_the_session(page, made):
    of, _ = page
    rows = table(made)
    traces = of.gathered.traces
    for name in ('work_j', 'dissipated_j', 'stored_j'):
        _, sums = traces[f'wheel.{name}'].points()
        session = rows[f'wheel.{name}'] - rows[f'wheel.{name}'][0]
        assert sums == pytest.approx(session, abs=1e-12)
    assert of.gathered.balances['wheel'].inertia == pytest.approx(J, rel=1e-12)
    assert of.gathered.skipping == 0.0
    assert traces['wheel.residual_j'].size < 1e-13
    stored = 0.5 * J * (rows['wheel.spin_rad_s'][-1] ** 2 - rows['wheel.spin_rad_s'][0] ** 2)
    assert traces['wheel.stored_j'].points()[1][-1] == pytest.approx(stored, rel=1e-12)


def test_a_thinned_recording_is_said_to_give_an_approximate_balance(made, walk, tmp_path):
    args = [walk, '--params-file', made / 'motor.yaml', '-p', 'publish_rate:=20.0', '-q']
    assert replay_command.main([str(x) for x in (*args, '--out', tmp_path / 'thin')]) == 0
    of = report(tmp_path / 'thin', mount=walk)
    assert of.gathered.rows == 20
    assert of.gathered.skipping > 0.9
    (text,) = [x for x in of.findings if 'approximate' in x]
    assert text.startswith('Before 100 % of the rows in which a rotor turned, steps were left out')


def test_limits_and_timing_are_told_in_words(page):
    of, html = page
    seconds = of.gathered.limited['wheel']['torque limit']
    assert seconds == pytest.approx(0.51, abs=0.011)
    assert 'wheel: torque limit acted 51.5 % of the time.' in of.findings
    assert 'All steps are 10 ms apart.' in of.findings
    assert 'No input was refused or late.' in of.findings
    for text in of.findings:
        assert f'<li>{text}</li>' in html


def test_a_gap_is_counted_and_its_length_told(tmp_path):
    lines = ['stamp_ns,wheel.spin_rad_s']
    stamps = [k * 10_000_000 + (54_800_000 if k > 30 else 0) for k in range(60)]
    lines += [f'{stamp},{100 + k}' for k, stamp in enumerate(stamps)]
    (tmp_path / 'gap.csv').write_text('\n'.join(lines) + '\n')
    of = report(tmp_path / 'gap.csv')
    assert of.findings == ['1 gap between steps, longest 64.8 ms, which ends at 0.3648 s.']
    assert of.missing['Torque'] == 'neither motor_state nor joint_states are recorded'
    assert of.missing['Refusals'] == 'a table does not hold what was refused'


def test_what_is_missing_leaves_out_its_figure_and_is_listed(made, tmp_path):
    recording = Recording(made / 'bag')
    kept = ('/motor/mount_wrench', '/motor/wheel/spin')
    messages = [(x.topic, x.received_ns, x.message) for x in recording.records(kept)]
    of = report(write(tmp_path / 'part', messages))
    assert [one.key for one in of.pictures] == ['spin', 'wrench', 'timing']
    assert list(of.missing) == [
        'Torque', 'Drive', 'Momentum in world axes', 'Energy balance', 'Refusals',
    ]  # fmt: skip
    assert '<li>Momentum in world axes: momentum is not recorded.</li>' in of.html()
    spins = table(made)['wheel.spin_rad_s']
    assert of.gathered.traces['wheel.spin_rad_s'].points()[1] == pytest.approx(spins, rel=0)


def test_a_span_shows_what_is_in_it(made):
    of = report(made / 'steps.csv', start=0.2, duration=0.3)
    assert of.gathered.rows == 31
    rows = table(made)
    assert of.peaks['wheel.spin_rad_s'].value == rows['wheel.spin_rad_s'][20:51].max()
    heat = rows['wheel.dissipated_j'][50] - rows['wheel.dissipated_j'][20]
    assert of.gathered.traces['wheel.dissipated_j'].points()[1][-1] == pytest.approx(heat)


def test_refusals_of_a_replay_are_counted_by_reason(made, tmp_path):
    messages = []
    for k in range(21):
        stamp_ns = START_NS + k * 10_000_000
        messages.append(('/tf', stamp_ns, pose(stamp_ns, k / 100)))
        messages.append(('/imu/data', stamp_ns, imu(stamp_ns, (TURN, 0.0, 0.0), 'base_link')))
        messages.append(('/motor/commands', stamp_ns, torque(float('nan'))))
    raw = write(tmp_path / 'bad', messages)
    of = report(raw, parameters=made / 'motor.yaml')
    assert of.source.told.refused == {'commands non-finite': 21}
    assert [one.key for one in of.pictures][-1] == 'refusals'
    assert 'Refused or late: commands non-finite 21.' in of.findings


def test_a_node_is_found_by_its_topics_and_chosen_where_there_are_several():
    wrench, state = 'geometry_msgs/msg/WrenchStamped', 'control_msgs/msg/DynamicJointState'
    topics = {
        '/arm/motor/mount_wrench': wrench,
        '/arm/motor/left/mount_wrench': wrench,
        '/arm/motor/left/motor_state': state,
        '/arm/motor/right/motor_state': state,
        '/wheels/spin': 'std_msgs/msg/Float64',
        '/other/mount_wrench': wrench,
    }
    assert nodes(topics) == [('/arm/motor', ('left', 'right')), ('/other', ())]


# the page


class Page(HTMLParser):
    """Reads a page strictly: every element is closed, every id is its own."""

    VOID = {'meta', 'link', 'br', 'img', 'input', 'hr'}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.names, self.texts = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self._look(attrs)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self._look(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def _look(self, attrs):
        for name, value in attrs:
            if name == 'id':
                self.ids.append(value)
            elif name in ('src', 'href', 'xlink:href', 'data', 'action', 'srcset'):
                self.links.append(value)
            self.links += re.findall(r'url\(([^)]*)\)', value or '')


def test_the_page_is_whole_and_links_nothing_from_outside(page):
    _, html = page
    read = Page(html)
    assert len(set(read.ids)) == len(read.ids)
    assert read.links
    for link in read.links:
        assert link.startswith('#')
        assert link[1:] in read.ids
    assert 'http' not in html
    assert '@import' not in html
    assert not {'script', 'link', 'iframe', 'object', 'img'} & set(read.names)
    assert read.names.count('figure') == read.names.count('svg') == len(FIGURES)


def test_the_page_is_made_for_paper(page):
    _, html = page
    assert '@page { size: A4;' in html
    assert 'figure { margin: 1.4em 0 2em; break-inside: avoid; }' in html


def test_the_same_input_gives_the_same_bytes(page, made, walk):
    first, second = (report(made / 'bag', mount=walk, duration=0.3) for _ in range(2))
    assert first.html() == second.html()
    # Also once more of one object, as the page and the PNG are made of the same figures.
    assert page[0].html() == page[1]


def test_a_title_is_shown_as_it_was_written(made):
    html = report(made / 'steps.csv', title='A & B <test>', duration=0.1).html()
    assert '<h1>A &amp; B &lt;test&gt;</h1>' in html
    assert '<title>A &amp; B &lt;test&gt;</title>' in html


def test_parameters_of_a_replay_are_listed(made, walk):
    html = report(
        walk, parameters=made / 'motor.yaml', overrides={'rate': 50.0}, duration=0.2
    ).html()
    assert '<tr><th>wheel.limit.torque</th><td>0.004</td></tr>' in html
    assert '<tr><th>rate</th><td>50.0</td></tr>' in html


@pytest.mark.parametrize(
    ('value', 'unit', 'text'),
    [
        (0.0, 'N m', '0 N m'),
        (0.00123456, 'N m', '1.235 mN m'),
        (-0.4, 'W', '\N{MINUS SIGN}400 mW'),
        (12345.0, 'rad/s', '1.234·10^4 rad/s'),
        (1e-15, 'J', '1 fJ'),
        (2e7, 'J', '20 MJ'),
    ],
)
def test_quantities_are_written_as_one_reads_them(value, unit, text):
    assert quantity(value, unit) == text


# what is kept


def test_one_peak_of_a_million_rows_is_kept_at_its_time_in_bounded_memory():
    trace = Trace()
    for first in range(0, 1_000_000, 5000):
        n = np.arange(first, first + 5000)
        values = np.sin(n * 0.37)
        values[n == 765_432] = -50.0
        values[n == 765_433] = np.nan
        trace.add(n * 1_000_000, values)
        assert sum(len(x) for x, _ in trace._parts) <= HELD + 5000
    times, values = trace.points()
    assert len(times) <= 2 * BUCKETS
    assert values[times == 765_432_000_000].tolist() == [-50.0]
    assert (trace.peak, trace.peak_ns, trace.count) == (-50.0, 765_432_000_000, 999_999)
    assert all(a < b for a, b in pairwise(times.tolist()))
    # Each point is one that was given.
    given = np.sin((times // 1_000_000) * 0.37)
    assert np.count_nonzero(values != given) == 1


def test_few_points_are_all_kept():
    trace = Trace()
    trace.add(np.array([3, 1, 2]), np.array([30.0, 10.0, 20.0]))
    times, values = trace.points()
    assert (times.tolist(), values.tolist()) == ([1, 2, 3], [10.0, 20.0, 30.0])
    assert not trace.is_thinned


def test_a_line_that_would_fill_an_area_is_a_band_and_another_is_not():
    n = np.arange(6000)
    assert is_dense(n, np.sin(2.0 * n))
    assert not is_dense(n, np.sin(0.01 * n))
    spike = 1e-3 * np.sin(2.0 * n) + (n == 3000)
    assert not is_dense(n, spike)
    middles, low, high = band(n, np.sin(2.0 * n) + (n == 3000))
    assert high.max() == (np.sin(2.0 * n) + (n == 3000)).max()
    assert np.all(low <= -0.99)
    assert len(middles) == 300


def test_numbers_beyond_computing_are_none():
    trace = Trace()
    trace.add(np.array([1, 2, 3]), np.array([1e308, -np.inf, 2.0]))
    assert (trace.count, trace.peak) == (1, 2.0)


def test_rows_with_one_stamp_and_numbers_beyond_computing_are_findings(made, tmp_path):
    head, *rows = (made / 'steps.csv').read_text().splitlines()
    at = head.split(',').index('wheel.spin_rad_s')
    cells = rows[10].split(',')
    cells[at] = '1e308'
    rows[10] = ','.join(cells)
    path = tmp_path / 'odd.csv'
    path.write_text('\n'.join([head, *rows, rows[-1], rows[-1]]) + '\n')
    html = report(path).html()
    assert '2 rows with the stamp of the row before.' in html
    assert 'wheel.spin_rad_s: 1 number beyond all computing, the first at ' in html
    whole = report(made / 'steps.csv').html()
    assert 'beyond all computing' not in whole
    assert 'with the stamp of' not in whole


def test_quantiles_are_right_to_a_percent_and_extremes_exact():
    values = np.random.default_rng(1).lognormal(14.0, 1.0, 20_000)
    spread = Spread()
    for part in np.array_split(values, 7):
        spread.add(part)
    for share in (0.01, 0.5, 0.99):
        exact = np.quantile(values, share)
        assert spread.quantile(share) == pytest.approx(exact, rel=0.015)
    assert (spread.low, spread.high) == (values.min(), values.max())
    assert Spread().quantile(0.5) == 0.0
    same = Spread()
    same.add(np.full(10, 5_000_000))
    assert same.quantile(0.99) == 5_000_000


# the command


def test_the_command_writes_the_page_and_the_figures(made, tmp_path, run):
    out, folder = tmp_path / 'steps.html', tmp_path / 'figures'
    code, said, err = run(made / 'steps.csv', '--out', out, '--png', folder, '--start', '0.3')
    assert (code, err) == (0, '')
    assert said.startswith(f'{out}: 7 figures, 70 steps\n')
    assert out.read_bytes().startswith(b'<!DOCTYPE html>')
    assert sorted(x.stem for x in folder.iterdir()) == sorted(FIGURES)
    assert all(x.read_bytes().startswith(b'\x89PNG') for x in folder.iterdir())
    assert sorted(x.name for x in tmp_path.iterdir()) == ['figures', 'steps.html']


def test_what_is_there_already_is_kept(made, tmp_path, run):
    out = tmp_path / 'mine.html'
    out.write_text('mine')
    code, said, err = run(made / 'steps.csv', '--out', out)
    assert (code, said) == (1, '')
    assert err.startswith(
        f'motor_report: {out} is there already. Choose another name, or add --ov'
    )
    assert out.read_text() == 'mine'
    assert run(made / 'steps.csv', '--out', out, '--overwrite', '--duration', '0.1')[0] == 0
    assert out.read_text().startswith('<!DOCTYPE html>')


NO_TABLE = 'is no table of motor_replay: '
HEAD = 'stamp_ns,wheel.spin_rad_s\n'


@pytest.mark.parametrize(
    ('name', 'content', 'why'),
    [
        ('none.csv', None, 'does not exist. Give a recording, or the table of a replay.'),
        ('none', None, 'does not exist. Give the folder of a recording.'),
        ('empty.csv', '', f'{NO_TABLE}Empty CSV file.'),
        ('none.parquet', 'x' * 99, f'{NO_TABLE}Parquet magic bytes not found'),
        ('head.csv', HEAD, 'has no step.'),
        ('word.csv', f'{HEAD}1,abc\n', f'{NO_TABLE}In CSV column #1: Row #2: CSV conversion'),
        ('log.csv', 't_s,u\n1,2\n', f'{NO_TABLE}it has no columns stamp_ns and <motor>.spin'),
        ('x.mcap', 'x' * 99, 'holds no message that can be read. Copy it again.'),
    ],
)
def test_a_broken_input_is_one_line(tmp_path, run, name, content, why):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    code, said, err = run(path, '--out', tmp_path / 'out.html')
    assert (code, said) == (1, '')
    assert err.startswith(f'motor_report: {path} {why}')
    assert err.count('\n') == 1
    assert not (tmp_path / 'out.html').exists()


def test_a_raw_recording_is_refused_with_what_to_do(walk, tmp_path, run):
    code, _, err = run(walk, '--out', tmp_path / 'out.html')
    assert code == 1
    assert err == (
        f'motor_report: {walk} has no topics of a motor node. To replay it into a report, give '
        'the parameters too: --params-file FILE.\n'
    )


def test_a_table_that_is_cut_in_its_last_number_is_said_to_be(made, tmp_path, run):
    path = tmp_path / 'cut.csv'
    path.write_bytes((made / 'steps.csv').read_bytes()[:-4])
    code, _, err = run(path, '--out', tmp_path / 'cut.html')
    assert code == 1
    assert err == (
        f'motor_report: {path} is cut short: its last line has no end, so its last number may be '
        'wrong.\n'
    )


def test_of_a_table_that_is_cut_the_whole_rows_are_shown(made, tmp_path, run):
    path, out = tmp_path / 'cut.csv', tmp_path / 'cut.html'
    path.write_bytes((made / 'steps.csv').read_bytes()[:20_000])
    rows = path.read_bytes().count(b'\n') - 1
    code, said, err = run(path, '--out', out)
    assert code == 1
    assert f'{rows} steps\n' in said
    assert re.fullmatch(
        rf'motor_report: {path} is damaged or cut short: a row has \d+ columns, not \d+, and is '
        r'left out\.\n',
        err,
    )
    assert out.exists()


def test_it_ends_at_once_when_asked_to_and_leaves_nothing(made, tmp_path):
    path = tmp_path / 'endless.csv'
    lines = ''.join(f'{k * 1_000_000},{k % 100}\n' for k in range(400_000))
    path.write_text(HEAD + lines)
    process = subprocess.Popen(
        [sys.executable, '-m', COMMAND, str(path), '--out', 'o'],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not _catches(process):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 1
    assert process.stderr.read() == b''
    assert [x.name for x in tmp_path.iterdir()] == ['endless.csv']


def _catches(process):
    """Tell whether a process has its handlers: that of SIGTERM is the last."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    return int(re.search(r'SigCgt:\s*(\w+)', status)[1], 16) >> (signal.SIGTERM - 1) & 1


# the page about it


ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / 'shared' / 'data'
PROGRAMS = {
    'motor_replay': 'mime_motor_ros.offline.replay_command',
    'motor_report': COMMAND,
}


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}')
def test_the_commands_of_the_documentation_run_as_they_stand(tmp_path):
    page = (ROOT / 'doc' / 'offline.md').read_text().split('\n## motor_report\n')[1]
    commands = re.search(r'```sh\n(.*?)```', page, re.DOTALL)[1]
    tools, out = tmp_path / 'bin', tmp_path / 'out'
    tools.mkdir()
    out.mkdir()
    for name, module in PROGRAMS.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (tools / name).chmod(0o755)
    path = f'{tools}:{os.environ["PATH"]}'
    environment = {**os.environ, 'DATA': str(SHARED), 'OUT': str(out), 'PATH': path}
    subprocess.run(['sh', '-euc', commands], cwd=ROOT, env=environment, check=True)
    names = ['broad.html', 'figures', 'husky', 'husky.html', 'pendulum.html']
    assert sorted(x.name for x in out.iterdir()) == names
    for path in out.glob('*.html'):
        Page(path.read_text())
