"""The README: its commands and programs are run, its tables compared with the node."""

import ast
from collections import defaultdict
from contextlib import redirect_stdout
import importlib.util
import io
import math
import os
from pathlib import Path
import re
import shlex
import subprocess
import sys
from xml.etree import ElementTree

from mime_motor_ros.errors import ParameterError
from mime_motor_ros.session import Session
from mime_motor_ros.settings import DRIVE, MOTOR, NODE, SENSE, settings
import pytest

yaml = pytest.importorskip('yaml')
from pages import (  # noqa: E402
    absolute,
    blocks,
    check,
    code,
    lines,
    README,
    README_TEXT,
    ROOT,
    section,
    tables,
    targets,
)

RECORDINGS = ROOT.parent / 'shared' / 'data'

if not README.is_file():
    pytest.skip('the README is not here: this is no checkout', allow_module_level=True)
TEXT = README_TEXT
PROSE = ' '.join(TEXT.split())

needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason=f'needs the recordings in {RECORDINGS}'
)
needs_venv = pytest.mark.skipif(
    Path(sys.prefix).resolve() != ROOT / '.venv',
    reason='runs where make has set up .venv: other environments are not touched',
)


COMMANDS = lines(TEXT)

# --- the commands ----------------------------------------------------------------------------


def run(command, patience=60):
    """Run a command of the README as a user would; return what it printed."""
    # Under `make test` the make of the README would take itself for a part of that one.
    environment = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL')}
    done = subprocess.run(
        shlex.split(command),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ''), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    'line', [*COMMANDS, 'make help', 'make bench', 'make witness', 'make plot']
)
def test_a_command_names_what_is_there(line):
    """Those that need a ROS distribution or a recording are looked up word by word."""
    check(line)


def test_make_in_the_text_is_a_target():
    assert set(re.findall(r'`make (\w+)`', TEXT)) <= targets()
    told = set(re.findall(r'make (\w+)', TEXT))
    assert {'demo', 'test', 'bench', 'witness', 'plot', 'help'} <= told


def test_make_help_lists_every_target():
    said = run('make --no-print-directory help')
    assert set(re.findall(r'^ {2}([a-z]+)\t', said, re.MULTILINE)) == targets()


@needs_venv
@pytest.mark.ros
@pytest.mark.slow
def test_make_demo_ends_as_the_screen_shows():
    assert any(line.startswith('make demo SECONDS=') for line in COMMANDS)
    said = run('make --no-print-directory demo SECONDS=3').splitlines()[-1]
    shown = next(block for block in blocks('text') if 'stopped cleanly' in block).splitlines()[-1]

    def form(line):
        line = re.sub(r', \d+ read here', '', line)  # where some were lost
        return re.sub(r'-?\d[\d.e+-]*', '#', line)

    assert form(said) == form(shown)


@needs_venv
@needs_recordings
@pytest.mark.ros
@pytest.mark.slow
def test_make_demo_takes_a_recording():
    assert 'make demo BAG=path/to/recording' in COMMANDS
    bag = RECORDINGS / 'jackal_sim_imu_odom'
    said = run(f'make --no-print-directory demo SECONDS=3 BAG={shlex.quote(str(bag))}')
    assert said.splitlines()[-1].endswith('stopped cleanly')


# --- programs and what they print ------------------------------------------------------------


OF_ROS = [block for block in blocks('python') if 'rclpy' in block]
OFFLINE = [block for block in blocks('python') if block not in OF_ROS]


@pytest.mark.parametrize('program', OFFLINE)
def test_a_program_prints_what_is_shown_below_it(program):
    shown = TEXT.split(program)[1].split('```text\n')[1].split('```')[0]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program, 'README.md', 'exec'), {})
    assert printed.getvalue() == shown


@pytest.mark.ros
@pytest.mark.slow
def test_the_torque_of_the_program_turns_the_wheel_of_a_node():
    pytest.importorskip('rclpy')
    pytest.importorskip('rich', reason='needs the package rich')
    (program,) = OF_ROS
    python = [sys.executable, '-m']
    start, table = (
        [*python, *shlex.split(line)[3:]]
        for module in ('main', 'top')
        for line in [next(x for x in COMMANDS if f'python -m mime_motor_ros.{module}' in x)]
    )
    node = subprocess.Popen(start, stderr=subprocess.DEVNULL)
    try:
        pushed = subprocess.run([sys.executable, '-c', program], capture_output=True, timeout=60)
        assert (pushed.returncode, pushed.stderr) == (0, b'')
        once = [*table, '--once', '--plain']
        seen = subprocess.run(once, capture_output=True, text=True, timeout=60).stdout
    finally:
        node.terminate()
        node.wait(10.0)
    spin = float(re.search(r'wheel: spin (\S+) rad/s', seen)[1])
    # 100 rad/s (1 - exp(-t / 10 s)), less what was sent before the two had found each other, and
    # what was lost while the table started.
    assert 'goes to 39 rad/s' in PROSE
    assert 100.0 * (1.0 - math.exp(-0.5)) == pytest.approx(39.3, abs=0.1)
    assert 15.0 < spin < 45.0, seen


def test_the_mount_of_the_parameter_file_stands_still():
    (block,) = blocks('yaml')
    chosen = settings(yaml.safe_load(block)['/**']['ros__parameters'])
    assert chosen.world_frame == chosen.mount_frame
    assert chosen.rate_source == 'zero'
    assert chosen.publish_rate == 50.0
    assert not next(parameter for parameter in NODE if parameter.name == 'publish_rate').live


def test_the_joint_state_shown_lies_on_the_curve_the_text_tells():
    """From torque over damping, with the time constant of inertia over damping."""
    block = next(block for block in blocks('text') if 'wheel_joint' in block)
    shown = yaml.safe_load(block.replace('---', ''))
    model = settings().motors[0].model
    (torque,), (speed,) = shown['effort'], shown['velocity']
    assert torque / model.damping == pytest.approx(100.0)
    assert model.inertia / model.damping == pytest.approx(10.0)
    assert 0.0 < speed < torque / model.damping
    assert 'goes to 100 rad/s' in PROSE
    assert 'time constant of 10 s' in PROSE


def test_the_lines_of_the_node_are_as_shown():
    session = Session(settings())
    for now in (1_000_000_000, 1_010_000_000):
        session.advance_to(now)
    assert f'[motor]: no steps: {session.waiting}\n' in TEXT
    with pytest.raises(ParameterError) as refused:
        settings({'wheel.inertia': -1.0})
    assert f'`{refused.value}`' in PROSE


def test_the_difference_told_is_that_of_the_picture():
    import plot

    points = plot.run(plot.still)
    assert f'within {plot.largest_difference(points):.4f} rad/s' in PROSE
    assert f'gets {plot.TORQUE * 1e3:g} mN m for {plot.OFF - plot.ON:g} s' in PROSE


def test_the_picture_can_be_drawn(tmp_path):
    pytest.importorskip('matplotlib', reason='needs matplotlib: run tools/setup.sh offline')
    import plot

    plot.draw(tmp_path / 'spin.png', 40)
    assert (tmp_path / 'spin.png').read_bytes().startswith(b'\x89PNG')


# --- tables ----------------------------------------------------------------------------------


def row_of(parameter):
    default = parameter.default
    if parameter.name in ('stator_frame', 'rotor_frame', 'joint'):
        default = f'<motor>_{parameter.name.split("_")[0]}'
    default = list(default) if isinstance(default, tuple) else default
    return [f'`{parameter.name}`', f'`{default!r}`', parameter.unit,
            'yes' if parameter.live else 'no']  # fmt: skip


DRIVES = (ROOT / 'doc' / 'drives.md').read_text(encoding='utf-8')
TABLES = {
    'node': (NODE, tables('Parameters')[0]),
    'motor': ([p for p in MOTOR if p not in (*DRIVE, *SENSE)], tables('Parameters')[1]),
    'drive': (DRIVE, tables('From a command to the torque', DRIVES)[0]),
    'sense': (SENSE, tables('Sampling, sensors and winding', DRIVES)[0]),
}


@pytest.mark.parametrize('which', TABLES)
def test_every_parameter_is_told_with_its_default_unit_and_whether_it_is_live(which):
    described, rows = TABLES[which]
    if which in ('drive', 'sense'):  # a symbol stands behind the name
        rows = [[name, *rest] for name, _, *rest in rows]
    assert [row[:4] for row in rows] == [row_of(parameter) for parameter in described]


@pytest.mark.parametrize('which', TABLES)
def test_every_choice_is_told(which):
    described, rows = TABLES[which]
    told = {code(row[0]): row[-1] for row in rows}
    for parameter in described:
        assert len(told[parameter.name]) > 5
        for choice in parameter.choices:
            assert f'`{choice}`' in told[parameter.name], parameter.name


@pytest.fixture
def make_node():
    rclpy = pytest.importorskip('rclpy')
    from mime_motor_ros.node import MotorNode

    context = rclpy.Context()
    rclpy.init(context=context)
    nodes = []

    def make(**values):
        overrides = [rclpy.parameter.Parameter(name, value=x) for name, x in values.items()]
        nodes.append(MotorNode(context=context, parameter_overrides=overrides))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def endpoint(entity):
    """Return a subscription or publisher as a row tells it: topic, then type and QoS."""
    quality, kind = entity.qos_profile, entity.msg_type
    words = [str(quality.depth)]
    if quality.reliability.name == 'BEST_EFFORT':
        words.append('best effort')
    if quality.durability.name == 'TRANSIENT_LOCAL':
        words.append('transient local')
    package, name = kind.__module__.split('.')[0], kind.__name__
    return entity.topic_name, (f'{package}/msg/{name}', ', '.join(words))


def told(title):
    return {absolute(code(row[0])): (code(row[1]), row[2]) for row in tables(title)[0]}


# Of every rclpy node, and told in words.
OF_RCLPY = {'/rosout', '/parameter_events', '/clock'}


@pytest.mark.ros
def test_the_inputs_are_those_of_the_node(make_node):
    found = {}
    for source in ('imu', 'twist', 'odometry'):
        found |= dict(map(endpoint, make_node(rate_source=source).subscriptions))
    assert {t: row for t, row in found.items() if t not in OF_RCLPY} == told('In')


@pytest.mark.ros
def test_an_input_is_subscribed_to_only_where_it_is_asked_for(make_node):
    asked = {'/imu/data', '/mount_twist', '/odom'}
    for values in (
        {'rate_source': 'imu'},
        {'rate_source': 'twist'},
        {'rate_source': 'odometry'},
        {'rate_source': 'zero', 'pose_source': 'imu'},
    ):
        there = {one.topic_name for one in make_node(**values).subscriptions} & asked
        assert len(there) == 1, values


@pytest.mark.ros
def test_the_outputs_are_those_of_the_node(make_node):
    found = dict(map(endpoint, make_node(**{'wheel.encoder.counts': 100}).publishers))
    assert {t: row for t, row in found.items() if t not in OF_RCLPY} == told('Out')


@pytest.mark.ros
def test_the_services_are_those_of_the_node(make_node):
    node = make_node()
    found = {
        node.resolve_service_name(one.srv_name): (
            f'{one.srv_type.__module__.split(".")[0]}/srv/{one.srv_type.__name__}'
        )
        for one in node.services
    }
    rows = {absolute(code(row[0])): code(row[1]) for row in tables('Services')[0]}
    assert set(rows.items()) <= set(found.items())
    # The others are of every node: parameters, and the description of types.
    ours = {name for name in found if 'parameter' not in name and 'type_description' not in name}
    assert set(rows) == ours


@pytest.mark.ros
def test_the_statuses_are_those_of_the_node(make_node):
    node = make_node()
    names = [status.name for status in node.diagnostics._statuses()]
    rows = [name for row in tables('Diagnostics')[0] for name in re.findall('`(.*?)`', row[0])]
    assert [f'motor: {name}'.replace('<motor>', 'wheel') for name in rows] == names
    (owner,) = {status.hardware_id for status in node.diagnostics._statuses()}
    assert owner == node.get_fully_qualified_name()


@needs_recordings
@pytest.mark.slow
def test_the_recordings_give_the_rows_that_are_shown():
    pytest.importorskip('rosbags', reason='needs the package rosbags')
    from offline import row

    rows = [line for line in section('Recordings').splitlines() if line.startswith('| ')][1:]
    names = [line.split('|')[1].strip() for line in rows]
    assert [row(str(RECORDINGS / name)) for name in names] == rows


def test_the_figures_have_the_names_and_targets_of_the_bench():
    for module in ('rich', 'rosbags'):
        pytest.importorskip(module, reason=f'needs the package {module}')
    from bench import Loop, Replays, table

    steps = dict.fromkeys(
        ('symmetric', 'asymmetric', 'mujoco', 'session', 'without drives', 'unused'), 1.0
    )
    rolled = defaultdict(lambda: 1.0)
    loop = Loop(*[1.0] * len(Loop._fields))
    replays = Replays('broad07_fast_rotation', 1.0, 3600.0, 1.0)
    shown = table(steps, rolled, replays, loop, loop, loop)
    names, *_, goals = (list(column.cells) for column in shown.columns)
    of_bench = dict(zip(names, goals, strict=True))
    rows = {row[0]: row[4] for row in tables('Figures')[0]}
    assert rows.items() <= of_bench.items()


# --- the rest --------------------------------------------------------------------------------


def test_what_it_points_to_is_there():
    links = re.findall(r'\]\(([^)#]+)\)', TEXT)
    assert 'doc/spin.png' in links
    opened = [x for row in tables('To change')[0] for x in re.findall('`(.*?)`', row[1])]
    named = re.findall(r'`((?:config|doc|launch|tools|test|mime_motor_ros)/[^` ]+\.\w+)`', TEXT)
    for path in {*links, *opened, *named}:
        assert list(ROOT.glob(path)), path


def test_every_module_that_can_be_imported_from_the_readme_is_there():
    for block in OFFLINE:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                assert importlib.util.find_spec(node.module)


def test_it_says_the_version_and_licence_that_the_package_has():
    manifest = ElementTree.parse(ROOT / 'package.xml')
    assert manifest.findtext('license') in section('Licence')
    changes = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    title, line = re.search(r'^(\d\S+ \(\d{4}-\d\d-\d\d\))\n(-+)$', changes, re.MULTILINE).groups()
    assert title.startswith(manifest.findtext('version') + ' ')
    assert len(line) == len(title)


def test_it_names_no_path_of_one_machine():
    assert not re.search(r'(?<![\w.])/(home|root|tmp|work|usr|opt)/', TEXT)
