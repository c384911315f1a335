"""The pages of doc/: their commands and programs run, their links lead somewhere, they build."""

import ast
from contextlib import redirect_stdout
from html.parser import HTMLParser
import inspect
import io
import os
from pathlib import Path
import re
import subprocess
import sys
from urllib.parse import unquote, urlsplit

from mime_motor_ros.errors import MotorError
from mime_motor_ros.settings import NODE, settings
from mime_motor_ros.subscriptions import subscriptions
from mime_motor_ros.vector import about, multiply, rotate
import pytest

pytest.importorskip('yaml', reason='needs the package yaml')
from pages import (  # noqa: E402
    blocks,
    check,
    code,
    lines,
    PAGES,
    programs,
    README,
    README_TEXT,
    ROOT,
    tables,
    targets,
)
import yaml  # noqa: E402

if not PAGES or not README.is_file():
    pytest.skip('the pages are not here: this is no checkout', allow_module_level=True)
import figures_of_doc  # noqa: E402
import site_hook  # noqa: E402

TEXTS = {page.name: page.read_text(encoding='utf-8') for page in PAGES}
PROSE = {name: ' '.join(text.split()) for name, text in TEXTS.items()}
MOST_BYTES = 80_000  # of a figure


def each(of):
    """Return test parameters: every block or line of every page, named by the page."""
    return [
        pytest.param(name, item, id=f'{name}:{k}')
        for name, text in TEXTS.items()
        for k, item in enumerate(of(text))
    ]


# --- commands and programs --------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'line'), each(lines))
def test_a_command_of_a_page_names_what_is_there(name, line):
    check(line, TEXTS[name])


@pytest.mark.parametrize(
    'line',
    [
        'make dcos',
        'ros2 launch mime_motor_ros motor.launch.py mount:=base_link',
        'ros2 launch mime_motor_ros motor.launch.py params_file:=config/none.yaml',
        'ros2 run mime_motor_ros motor_chek',
        'ros2 run mime_motor_ros motor_check --second 5 --jason',
        'ros2 run mime_motor_ros motor --ros-args -p wheel.inertia:=-1.0',
        'ros2 run mime_motor_ros motor --ros-args -p wheel.inertai:=1.0',
        'ros2 run mime_motor_ros motor --ros-args -r imu:=/imu/data',
        'ros2 topic echo /motor/wrench',
        "ros2 topic pub -r 1 /motor/commands std_msgs/msg/Float64MultiArray '{data: [0.001]}'",
        "ros2 topic pub -r 10 /motor/commands std_msgs/msg/Float64 '{data: 0.001}'",
        'ros2 service call /motor/reset std_srvs/srv/SetBool',
        'ros2 param set /motor rate 500.0',
        'tools/env.sh python -m mime_motor_ros.man',
        'tools/env.sh python tools/none.py',
        'motor_replay $DATA/a.csv --csvs $OUT/b.csv',
        'motor_sweep config/none.yaml $DATA/a',
    ],
)
def test_a_command_that_names_what_is_not_there_is_found(line):
    with pytest.raises((AssertionError, KeyError, StopIteration, MotorError, ImportError)):
        check(line)


def test_every_make_in_the_pages_is_a_target():
    told = {name for text in TEXTS.values() for name in re.findall(r'`make (\w+)', text)}
    assert told <= targets()


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Stand in a folder with the parameter files of the checkout and a recording."""
    pytest.importorskip('rosbags', reason='needs the package rosbags')
    from test_offline import record

    record(tmp_path / 'recording', [(0.0, 0.0, 0.5)] * 20)
    (tmp_path / 'config').symlink_to(ROOT / 'config')
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(('name', 'program'), each(programs))
def test_a_program_of_a_page_prints_what_stands_below_it(request, monkeypatch, name, program):
    source, shown = program
    if "'recording'" in source:
        request.getfixturevalue('desk')
    else:
        monkeypatch.chdir(ROOT)
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, name, 'exec'), {'__name__': '__main__'})
    assert shown is None or printed.getvalue() == shown
    assert 'print(' in source


@pytest.mark.parametrize(('name', 'block'), each(lambda text: blocks('yaml', text)))
def test_the_parameters_of_a_page_are_taken(name, block):
    values = flat(yaml.safe_load(block)['/**']['ros__parameters'])
    values = {k: v for k, v in values.items() if not k.startswith('qos_overrides')}
    assert settings(values).remarks == ()


def flat(values, before=''):
    """Return nested parameters by their full names."""
    found = {}
    for name, value in values.items():
        is_group = isinstance(value, dict)
        found |= flat(value, f'{before}{name}.') if is_group else {f'{before}{name}': value}
    return found


def test_the_imu_of_the_page_lies_as_its_program_has_it():
    (line,) = (line for line in lines(TEXTS['hil.md']) if 'static_transform_publisher' in line)
    words = line.split()
    yaw, roll = (float(words[words.index(f'--{name}') + 1]) for name in ('yaw', 'roll'))
    turn = multiply(about((0.0, 0.0, 1.0), yaw), about((1.0, 0.0, 0.0), roll))
    assert 'turned = (sqrt(0.5), sqrt(0.5), 0.0, 0.0)' in TEXTS['hil.md']
    assert turn == pytest.approx((0.5**0.5, 0.5**0.5, 0.0, 0.0), abs=1e-7)


def test_the_axis_of_a_stator_that_is_turned_points_where_the_page_says():
    block = blocks('yaml', TEXTS['motors.md'])[0]
    right = settings(flat(yaml.safe_load(block)['/**']['ros__parameters'])).motors[1].model
    assert rotate(right.placement.orientation, right.axis) == pytest.approx((0.0, -1.0, 0.0))
    assert 'has its axis along −y of the mount' in PROSE['motors.md']


@pytest.fixture
def make_node(tmp_path):
    """Make a node out of a parameter file and further arguments of ROS."""
    rclpy = pytest.importorskip('rclpy')
    from mime_motor_ros.node import MotorNode

    made = []

    def make(block, *arguments):
        file = tmp_path / 'bench.yaml'
        file.write_text(block)
        context = rclpy.Context()
        rclpy.init(args=['--ros-args', '--params-file', str(file), *arguments], context=context)
        made.append((MotorNode(context=context), context))
        return made[-1][0]

    yield make
    for node, context in made:
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.ros
def test_the_complete_example_reads_and_sends_under_the_names_it_gives(make_node):
    (block,) = (x for x in blocks('yaml', TEXTS['hil.md']) if 'mount_frame: platform' in x)
    (line,) = (x for x in lines(TEXTS['hil.md']) if '/bench/wrench' in x)
    words = line.split()
    node = make_node(block, *words[words.index('bench.yaml') + 1 :])
    assert '/bench/imu' in {one.topic_name for one in node.subscriptions}
    assert '/bench/wrench' in {one.topic_name for one in node.publishers}


@pytest.mark.ros
def test_groups_are_switched_off_live_as_the_page_does(make_node):
    rclpy = pytest.importorskip('rclpy')
    (line,) = (x for x in lines(TEXTS['motors.md']) if 'groups_off' in x)
    node = make_node((ROOT / 'config' / 'wheels.yaml').read_text())
    name, value = line.split()[-2:]
    (answer,) = node.set_parameters([rclpy.parameter.Parameter(name, value=yaml.safe_load(value))])
    assert answer.successful, answer.reason
    assert node.session.settings.groups_off == {0}


@pytest.mark.ros
def test_the_qos_override_of_the_page_is_taken_by_the_node(make_node):
    (block,) = (x for x in blocks('yaml', TEXTS['hil.md']) if 'qos_overrides' in x)
    found = {x.topic_name: x.qos_profile for x in make_node(block).subscriptions}
    assert found['/motor/commands'].reliability.name == 'BEST_EFFORT'


def test_no_block_passes_by_under_another_name():
    for name, text in TEXTS.items():
        kinds = set(re.findall(r'^```(\S+)', text, re.MULTILINE))
        others = {'bash', 'shell', 'zsh', 'shell-session', 'py', 'python3', 'pycon', 'yml'}
        assert not kinds & others, name
        # What is indented, or has more behind its language, would not be found above.
        assert all(re.fullmatch(r'```\w*', line) for line in text.splitlines() if '```' in line)


# --- tables -----------------------------------------------------------------------------------


def test_the_times_are_those_of_the_code():
    by_name = {parameter.name: parameter for parameter in NODE}
    rows = tables('Times', TEXTS['hil.md'])[0]
    for row in rows:
        one = by_name[code(row[0])]
        live = 'yes' if one.live else 'no'
        assert row[1:4] == [f'`{one.default!r}`', one.unit, live], one.name
    of_time = {name for name in by_name if name.endswith('timeout')}
    assert of_time | {'rate', 'step_on', 'settle', 'max_gap'} <= {code(row[0]) for row in rows}


def quality(profile):
    """Return reliability, durability and depth as a row has them."""
    words = profile.reliability.name, profile.durability.name
    return [*(word.lower().replace('_', ' ') for word in words), str(profile.depth)]


@pytest.mark.ros
def test_the_quality_of_service_is_that_of_the_node():
    pytest.importorskip('rclpy')
    from mime_motor_ros.node import LATCHED, OUTPUT, QUALITY, TRANSFORMS

    asked, offered = tables('QoS', TEXTS['hil.md'])
    found = {}
    for source in ('imu', 'twist', 'odometry'):
        for one in subscriptions(settings({'rate_source': source})):
            found[one.topic.replace('wheel', '<motor>')] = quality(QUALITY[one.quality])
    assert {code(row[0]): row[1:] for row in asked} == found
    assert [row[1:] for row in offered] == [quality(x) for x in (OUTPUT, TRANSFORMS, LATCHED)]


def test_what_the_figures_show_is_what_the_page_says():
    text = PROSE['concepts.md']
    turn = figures_of_doc.turned(figures_of_doc.COASTING, figures_of_doc.FIRST)
    assert {point.spin for point in turn} == {20.0}
    assert min(point.relative for point in turn) == pytest.approx(12.0)
    stuck = figures_of_doc.turned(figures_of_doc.STUCK, 0.0)
    assert all(point.relative == 0.0 for point in stuck)
    assert max(point.spin for point in stuck) == pytest.approx(8.0)
    nods = figures_of_doc.nodding()
    assert f'up to {1e3 * max(x.wrench[1] for x in nods):.1f} mN m about y' in text
    assert max(abs(x.reaction[i]) for x in nods for i in (0, 1)) < 1e-15
    assert all(x.reaction[2] == pytest.approx(x.wrench[2], abs=1e-15) for x in nods)
    whole, solved, alone = (max(h for _, h in figures_of_doc.free(w)) for w in figures_of_doc.WAYS)
    assert f'within {1e3 * max(whole, solved):.4f} mN m s' in text
    assert f'drifts by {1e3 * alone:.1f} mN m s' in text
    ends = [time for time, _ in figures_of_doc.rules().steps]
    pause = max(b - a for a, b in zip(ends, ends[1:], strict=False))
    assert pause == pytest.approx(0.3)
    assert 'silent from 0.3 to 0.7 s' in text


# --- figures and links ------------------------------------------------------------------------


def test_the_figures_can_be_drawn(tmp_path):
    pytest.importorskip('matplotlib', reason='needs matplotlib: run tools/setup.sh offline')
    made = figures_of_doc.draw(tmp_path, 40)
    assert {path.stem for path in made} == set(figures_of_doc.FIGURES)
    assert all(path.read_bytes().startswith(b'\x89PNG') for path in made)


def test_every_figure_is_there_small_and_shown_with_words_for_those_who_do_not_see_it():
    found = [x for text in TEXTS.values() for x in re.findall(r'!\[(.*?)\]\((\S+?)\)', text)]
    for words, name in found:
        assert (ROOT / 'doc' / name).is_file(), name
        assert len(words) > 40, name
    drawn = {f'{name}.png' for name in figures_of_doc.FIGURES}
    assert drawn <= {name for _, name in found}
    assert all((ROOT / 'doc' / name).stat().st_size < MOST_BYTES for name in drawn)


def anchors(text):
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    found = set()
    prose = re.sub(r'^```.*?^```$', '', text, flags=re.MULTILINE | re.DOTALL)
    for title in re.findall(r'^#+ (.*)$', prose, re.MULTILINE):
        plain = re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')
        found.add(plain)
    return found


@pytest.mark.parametrize('name', [*TEXTS, 'README.md'])
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(name):
    page = README if name == 'README.md' else ROOT / 'doc' / name
    text = re.sub(r'^```.*?^```$', '', page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r'\]\((?!\w+:)([^)\s]*)\)', text)
    for link in links:
        path, _, anchor = link.partition('#')
        there = (page.parent / path).resolve() if path else page
        assert there.is_file(), link
        assert ROOT in there.parents
        assert not anchor or anchor in anchors(there.read_text(encoding='utf-8')), link


def test_every_page_can_be_reached():
    rules = re.sub(r'!!\S+', '', (ROOT / 'mkdocs.yml').read_text())
    listed = set(re.findall(r'([\w-]+\.md)', str(yaml.safe_load(rules)['nav'])))
    assert listed - {site_hook.OVERVIEW} <= set(TEXTS)
    linked = {
        Path(link).name
        for text in (README_TEXT, *TEXTS.values())
        for link in site_hook.links(text)
    }
    assert set(TEXTS) <= listed | linked
    assert 'doc/index.md' in site_hook.links(README_TEXT)


def test_no_page_names_a_path_of_one_machine():
    for name, text in TEXTS.items():
        assert not re.search(r'(?<![\w.])/(home|root|tmp|work|usr|opt)/', text), name


# --- the site ---------------------------------------------------------------------------------


class Seen(HTMLParser):
    """What a page of the site links to, loads and may be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given['id']} if given.get('id') else set()
        if tag == 'a' and given.get('href'):
            self.links.append(given['href'])
        for name in ('src', *(['href'] if tag == 'link' else [])):
            if given.get(name) and given.get('rel') != 'canonical':
                self.loaded.append(given[name])


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    """Build the site as `make docs` does; return its folder."""
    for module in ('mkdocs', 'material'):
        pytest.importorskip(module, reason='needs mkdocs-material: run tools/setup.sh docs')
    folder = tmp_path_factory.mktemp('site')
    done = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(folder)],
        cwd=ROOT,
        env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not re.search('warning|error', done.stdout + done.stderr, re.IGNORECASE), done.stderr
    return folder


@pytest.fixture(scope='module')
def built(site):
    return {path.name: Seen(path.read_text(encoding='utf-8')) for path in site.glob('*.html')}


def test_the_site_has_every_page(built):
    assert {Path(name).stem for name in TEXTS} <= {Path(name).stem for name in built}


def test_nothing_of_the_site_comes_from_outside_or_is_missing(site, built):
    for name, seen in built.items():
        if name == '404.html':  # of a server, which has it at the root
            continue
        for link in [*seen.loaded, *seen.links]:
            where = urlsplit(link)
            is_outside = where.scheme or where.netloc
            assert not (is_outside and link in seen.loaded), (name, link)
            if is_outside or where.path in ('', '.'):
                there = name
            else:
                path = (site / unquote(where.path)).resolve()
                assert path.exists(), (name, link)
                assert site.resolve() in path.parents or path == site.resolve(), (name, link)
                there = path.name
            if where.fragment and not is_outside and there in built:
                assert unquote(where.fragment) in built[there].ids, (name, link)


# --- names and signatures ---------------------------------------------------------------------

SECTIONS = [
    (module, names.split() or site_hook.public(__import__(module, fromlist=['_'])))
    for module, names in site_hook.MARKER.findall(TEXTS['api.md'])
]


KINDS = {
    inspect.Parameter.KEYWORD_ONLY: 'keyword',
    inspect.Parameter.VAR_POSITIONAL: 'rest',
    inspect.Parameter.VAR_KEYWORD: 'rest',
}


def shape(text):
    """Return what a signature says, whatever its spaces: parameters with kind, type, default."""
    (node,) = ast.parse(f'def {text}: ...' if '(' in text else f'def {text}(): ...').body
    kinds = [
        *(('positional', arg) for arg in node.args.args),
        *(('keyword', arg) for arg in node.args.kwonlyargs),
        *(('rest', arg) for arg in (node.args.vararg, node.args.kwarg) if arg),
    ]
    return [
        (kind, arg.arg, arg.annotation and ast.unparse(arg.annotation).replace('"', "'"))
        for kind, arg in kinds
    ], len(node.args.defaults) + sum(x is not None for x in node.args.kw_defaults)


@pytest.mark.parametrize(('module', 'names'), SECTIONS, ids=[module for module, _ in SECTIONS])
def test_the_page_has_the_signatures_of_the_code(module, names):
    page = site_hook.reference(module, names)
    for name in names:
        thing = getattr(__import__(module, fromlist=['_']), name)
        told = re.search(rf'^### {name}\n\n```py\n(.*?)```', page, re.MULTILINE | re.DOTALL)[1]
        try:
            real = inspect.signature(thing).parameters.values()
        except ValueError:  # an exception without an __init__ of its own
            assert told.strip() == name
            continue
        parameters, defaults = shape(told.strip())
        assert [x for _, x, _ in parameters] == [x.name for x in real], name
        assert [k for k, _, _ in parameters] == [KINDS.get(x.kind, 'positional') for x in real], (
            name
        )
        assert defaults == sum(x.default is not x.empty for x in real), name
        for (_, _, annotation), x in zip(parameters, real, strict=True):
            of_code = getattr(x.annotation, '__forward_arg__', x.annotation)
            if isinstance(of_code, str):
                assert annotation == ast.unparse(ast.parse(of_code)).replace('"', "'"), x
        assert (inspect.getdoc(thing) or '').split('\n')[0][:20].replace('``', '`') in page, name


@pytest.mark.parametrize('package', ['offline', 'offline.identifying', 'offline.reporting'])
def test_every_name_that_a_package_offers_is_on_the_page(package):
    offered = __import__(f'mime_motor_ros.{package}', fromlist=['_']).__all__
    assert set(offered) <= {name for _, names in SECTIONS for name in names}


def test_what_a_program_of_a_page_imports_is_on_the_page_of_names():
    told = {(module, name) for module, names in SECTIONS for name in names}
    for text in TEXTS.values():
        for source, _ in programs(text):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ImportFrom) and node.module.startswith('mime_motor_ros'):
                    assert {(node.module, x.name) for x in node.names} <= told


def test_the_site_shows_every_name(site, built):
    shown = (site / 'api.html').read_text(encoding='utf-8')
    for _, names in SECTIONS:
        for name in names:
            assert re.search(rf'<h3 id="{name.lower()}(_\d+)?">{name}<', shown), name
