"""The files of config/: complete, and in step with the node's own table of parameters."""

import math
from pathlib import Path
import re

from mime_motor_ros.drive import Active, from_datasheet
from mime_motor_ros.inputs import Commands
from mime_motor_ros.picture import scales
from mime_motor_ros.session import Session
from mime_motor_ros.settings import parameters, settings
import pytest
from sessions import START

yaml = pytest.importorskip('yaml')

CONFIG = Path(__file__).parents[1] / 'config'
# A value with its comment: symbol or -, unit in brackets, meaning.
LINE = re.compile(r'^ +([a-z_.]+): (.*?) +# ([\w/]+|-) +\[([^]]+)\] *(.*)$')


def read(name):
    return yaml.safe_load((CONFIG / name).read_text(encoding='utf-8'))


def values(name):
    """Return the parameters of a file by full name, as the node is given them."""

    def flat(tree, prefix=''):
        for key, value in tree.items():
            if isinstance(value, dict):
                yield from flat(value, f'{prefix}{key}.')
            else:
                yield prefix + key, value

    return dict(flat(read(name)['/**']['ros__parameters']))


def comments(name):
    """Return symbol, unit and meaning of each parameter of a file, by full name."""
    found, motor = {}, ''
    for line in (CONFIG / name).read_text(encoding='utf-8').splitlines():
        if section := re.fullmatch(r' {4}(\w+):', line):
            motor = section[1] + '.'
        if match := LINE.match(line):
            key, _, symbol, unit, meaning = match.groups()
            found[motor + key] = (symbol, unit, meaning)
    return found


@pytest.mark.parametrize('name', ['motor.yaml', 'wheels.yaml'])
def test_a_file_holds_for_the_node_under_any_name_and_namespace(name):
    content = read(name)
    assert list(content) == ['/**']
    assert list(content['/**']) == ['ros__parameters']


def test_motor_yaml_names_every_parameter_once_with_its_default():
    defaults = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in ((p.name, p.default) for p in parameters(['wheel']).values())
    }
    assert values('motor.yaml') == defaults
    assert list(values('motor.yaml')) == list(defaults)


def test_motor_yaml_gives_the_settings_that_no_file_gives():
    assert settings(values('motor.yaml')) == settings()


def test_motor_yaml_says_symbol_and_unit_of_every_parameter_as_the_node_does():
    said = comments('motor.yaml')
    for name, parameter in parameters(['wheel']).items():
        symbol, unit, meaning = said.pop(name)
        numbers = isinstance(parameter.default, (float, tuple)) and name != 'motors'
        assert unit == (parameter.unit or ('1' if numbers else '-')), name
        assert meaning, name
        if letter := re.match(r'([A-Za-z]), ', parameter.text):
            assert symbol == letter[1], name
    assert not said


def test_motor_yaml_marks_what_may_be_set_live():
    said = comments('motor.yaml')
    for name, parameter in parameters(['wheel']).items():
        assert said[name][2].endswith('(live)') == parameter.live, name


@pytest.mark.parametrize('name', ['motor.yaml', 'wheels.yaml'])
def test_every_number_is_written_as_a_float(name):
    """The parser of ROS refuses a list of mixed numbers, and an int is no double to it."""

    def numbers(value):
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, (str, bool)):
                yield item

    whole = {name for name, x in parameters(['wheel']).items() if type(x.default) is int}
    for key, value in values(name).items():
        kind = int if key in whole else float
        assert all(isinstance(x, kind) for x in numbers(value)), key
    # What Python reads as a float ROS must not read as a text, and the reverse: 1e-4 without a
    # point is a text to one of the two.
    text = (CONFIG / name).read_text(encoding='utf-8')
    for line in text.splitlines():
        assert not re.search(r'(?<![\w.])\d+e[-+]?\d', line.partition('#')[0]), line


def test_wheels_yaml_says_symbol_and_unit_of_every_number_as_motor_yaml_does():
    said, of_motor = comments('wheels.yaml'), comments('motor.yaml')
    given = set(values('wheels.yaml')) - {'motors'}
    assert set(said) == given
    for name, (symbol, unit, _) in said.items():
        assert (symbol, unit) == of_motor['wheel.' + name.partition('.')[2]][:2], name


def test_wheels_yaml_is_three_orthogonal_wheels_and_one_between_them():
    motors = settings(values('wheels.yaml')).motors
    assert [motor.name for motor in motors] == ['wheel_x', 'wheel_y', 'wheel_z', 'wheel_s']
    third = 1.0 / math.sqrt(3.0)
    axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (third, third, third)]
    assert [motor.model.axis for motor in motors] == [pytest.approx(axis) for axis in axes]
    assert not settings(values('wheels.yaml')).remarks


def test_wheels_yaml_has_the_figures_its_head_promises():
    """0.04 N m s and 1.3 mN m of drag at 6000 rpm; momenta that add up to nothing at the start."""
    most = 6000.0 * 2.0 * math.pi / 60.0
    motors = settings(values('wheels.yaml')).motors
    for motor in motors:
        assert motor.model.inertia * most == pytest.approx(0.04, rel=2e-3)
        assert motor.model.damping * most == pytest.approx(1.3e-3, rel=4e-2)
        assert abs(motor.initial.spin) <= 0.5001 * most
    for i in range(3):
        total = sum(m.model.inertia * m.initial.spin * m.model.axis[i] for m in motors)
        assert abs(total) < 1e-5


VIEWS = {'motor.rviz': 'motor.yaml', 'wheels.rviz': 'wheels.yaml'}
READS = {'Wrench': 'geometry_msgs/msg/WrenchStamped',
         'MarkerArray': 'visualization_msgs/msg/MarkerArray'}  # fmt: skip


def displays(name):
    """Return the displays of a view by name, each with its kind."""
    found = {}
    for display in read(name)['Visualization Manager']['Displays']:
        display['Kind'] = display['Class'].removeprefix('rviz_default_plugins/')
        found[display['Name']] = display
    return found


@pytest.mark.parametrize('name', VIEWS)
def test_a_view_shows_the_frames_and_the_markers_and_offers_the_rest(name):
    shown = displays(name)
    on = [display['Kind'] for display in shown.values() if display['Enabled']]
    assert on == ['Grid', 'TF', 'Axes', 'MarkerArray', 'Wrench', 'Wrench', 'RobotModel']
    wheels = [motor.name for motor in settings(values(VIEWS[name])).motors]
    more = wheels if len(wheels) > 1 else []
    off = [display['Name'] for display in shown.values() if not display['Enabled']]
    assert off == [f'{wheel} {what}' for wheel in more for what in ('reaction', 'mount wrench')]
    assert all(display['Value'] == display['Enabled'] for display in shown.values())


@pytest.mark.parametrize('name', VIEWS)
def test_every_topic_of_a_view_is_published_with_the_type_that_is_read(name):
    pytest.importorskip('rosbags', reason='needs rosbags')
    from mime_motor_ros.offline.bag import Types
    from mime_motor_ros.outputs import Outputs

    session = Session(settings(values(VIEWS[name])))
    sent = {one.topic: one.type for one in Outputs(session, Types().serialize).outputs}
    shown = displays(name)
    read = {}
    for display in shown.values():
        if 'Topic' in display:
            # Relative, so that they are found in the namespace that RViz is started in.
            topic = display['Topic']['Value'].replace('motor/', '~/', 1)
            read[topic] = READS[display['Kind']]
    assert len(read) == sum('Topic' in display for display in shown.values())
    assert read.items() <= sent.items()
    assert {'~/markers', '~/reaction', '~/mount_wrench'} <= set(read)


@pytest.mark.parametrize('name', VIEWS)
def test_every_frame_of_a_view_is_there_and_every_frame_is_in_it(name):
    chosen = settings(values(VIEWS[name]))
    view, shown = read(name)['Visualization Manager'], displays(name)
    assert view['Global Options']['Fixed Frame'] == chosen.world_frame
    assert view['Views']['Current']['Target Frame'] == chosen.mount_frame
    assert shown['Mount']['Reference Frame'] == chosen.mount_frame
    tree = {motor.stator_frame: {motor.rotor_frame: {}} for motor in chosen.motors}
    assert shown['Frames']['Tree'] == {chosen.world_frame: {chosen.mount_frame: tree}}
    frames = {chosen.world_frame, chosen.mount_frame, *tree}
    frames |= {motor.rotor_frame for motor in chosen.motors}
    assert set(shown['Frames']['Frames']) == {'All Enabled', *frames}


@pytest.mark.parametrize('name', VIEWS)
def test_a_view_names_every_group_of_markers(name):
    from mime_motor_ros.markers import shown

    groups = {one.fields['ns'] for one in shown(settings(values(VIEWS[name])))}
    assert set(displays(name)['Markers']['Namespaces']) == groups


def test_a_robot_that_was_latched_is_found():
    """By the topic of robot_state_publisher; RViz draws and complains of nothing without one."""
    topic = displays('motor.rviz')['Robot model']['Description Topic']
    assert topic['Value'] == '/robot_description'
    assert topic['Durability Policy'] == 'Transient Local'


@pytest.mark.parametrize('name', VIEWS)
def test_the_view_draws_the_torques_of_a_small_wheel(name):
    """RViz draws an arrow only where it is longer than it is wide."""
    for display in displays(name).values():
        if display['Kind'] == 'Wrench':
            least = display['Arrow Width'] / display['Torque Arrow Scale']
            assert least <= 2.5e-3  # [N m]


@pytest.mark.parametrize('name', VIEWS)
def test_the_wrench_displays_are_drawn_as_large_as_the_markers(name):
    fits = scales(settings(values(VIEWS[name])))
    for display in displays(name).values():
        if display['Kind'] == 'Wrench':
            assert display['Force Arrow Scale'] == pytest.approx(fits.force, rel=0.05)
            assert display['Torque Arrow Scale'] == pytest.approx(fits.torque, rel=0.05)


def run(name, value, seconds):
    """Step the motor of an example with a command that is held; return the last step."""
    session = Session(settings({**values(name), 'command_timeout': 0.0}))
    session.advance_to(START)
    session.take(Commands((value,)), START)
    for k in range(1, 10 * seconds + 1):
        outcomes = session.advance_to(START + k * 10**8)
    energy = session.energy[0]
    assert abs(energy.residual) <= 1e-11 * energy.turned_over
    return outcomes[-1].steps[0], session.drives[0]


def test_the_reaction_wheel_holds_within_its_limits_and_shakes():
    step, _ = run('reaction_wheel.yaml', 4e-4, 1)
    assert step.state == (0.0, 0.0)
    step, drive = run('reaction_wheel.yaml', 0.05, 5)
    assert step.torque == 0.02
    assert Active(drive.active).words == 'torque limit'
    assert math.hypot(*step.reaction.force) == pytest.approx(4.8e-6 * step.state.spin**2, rel=1e-4)


def test_the_geared_actuator_goes_where_it_is_told():
    step, _ = run('geared_actuator.yaml', 1.0, 10)
    assert step.state.angle == pytest.approx(1.0, abs=0.01)


def test_the_flywheel_turns_as_its_voltage_says():
    R, Kt, Ke = from_datasheet(24.0, 1.2, 620.0, 0.2)
    step, drive = run('flywheel.yaml', 12.0, 60)
    v = step.relative_speed
    R *= 1.0 + 0.00393 * (drive.temperature - 25.0)  # of copper that is warm
    assert 26.0 < drive.temperature < 30.0
    assert (12.0 - Ke * v) / R * Kt == pytest.approx(1e-5 * v + 1e-8 * v * v, rel=1e-3)


def history(name, value, seconds):
    """Step the motor of an example with a command that is held; return an outcome each 10 ms."""
    session = Session(settings({**values(name), 'command_timeout': 0.0}))
    session.advance_to(START)
    session.take(Commands((value,)), START)
    return [session.advance_to(START + k * 10**7)[-1] for k in range(1, 100 * seconds + 1)]


def test_the_figures_of_the_three_examples_are_what_they_give():
    wheel = history('reaction_wheel.yaml', 0.05, 60)
    speeds = [outcome.steps[0].relative_speed for outcome in wheel]
    assert speeds[99] == pytest.approx(12.3, abs=0.05)
    reached = next(k for k, speed in enumerate(speeds) if speed >= 300.0)
    assert reached / 100 == pytest.approx(25.0, abs=0.5)
    assert speeds[-1] == pytest.approx(549.0, abs=0.5)
    assert wheel[-1].torques[0] == pytest.approx(10.9e-3, abs=5e-5)
    assert math.hypot(*wheel[-1].reaction().force) == pytest.approx(1.4, abs=0.05)

    arm = history('geared_actuator.yaml', 1.0, 1)
    assert max(outcome.torques[0] for outcome in arm) == 6.0
    assert arm[-1].steps[0].state.angle == pytest.approx(1.028, abs=5e-4)

    flywheel = history('flywheel.yaml', 24.0, 60)
    limited = [k for k, outcome in enumerate(flywheel) if outcome.drives[0].active]
    assert limited[-1] / 100 == pytest.approx(2.1, abs=0.2)
    assert flywheel[100].torques[0] == pytest.approx(0.385, abs=5e-4)
    assert flywheel[-1].steps[0].relative_speed == pytest.approx(618.6, abs=0.1)
    assert max(outcome.drives[0].temperature for outcome in flywheel) == pytest.approx(35, abs=1)
