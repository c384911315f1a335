"""Parameter files, read as the node would take them and written so that it does."""

from math import inf

from mime_motor_ros import parameter_file
from mime_motor_ros.parameter_file import FileError, parse, read
from mime_motor_ros.settings import settings
import pytest


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'p.yaml'

    def written(text):
        path.write_text(text)
        return path

    return written


def of(file, value):
    return read(file(f'/**:\n  ros__parameters:\n    a: {value}\n'))['a']


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('1e-4', 1e-4),  # which YAML 1.1 takes for a text
        ('1.0e-4', 1e-4),
        ('5.', 5.0),
        ('.5', 0.5),
        ('-.INF', -inf),
        ('+5', 5),
        ('0x10', 16),
        ('010', 8),
        ('09', 9.0),
        ('on', True),
        ('n', False),
        ("'on'", 'on'),
        ('"1.0"', '1.0'),
        ('1e400', '1e400'),
        ('1_000', '1_000'),
        ('12:30', '12:30'),
        ('~', '~'),
        ('hello world', 'hello world'),
        ('[1.0, 2.0]', [1.0, 2.0]),
        ('[yes, no]', [True, False]),
        ('[]', []),
    ],
)
def test_a_value_is_what_rcl_makes_of_it(file, text, value):
    found = of(file, text)
    assert (found, type(found)) == (value, type(value))


def test_nested_names_are_joined_by_dots(file):
    text = '/**:\n  ros__parameters:\n    wheel: {inertia: 1e-4, voltage: {resistance: 2.0}}\n'
    assert read(file(text)) == {'wheel.inertia': 1e-4, 'wheel.voltage.resistance': 2.0}


SECTIONS = """
/**:
  ros__parameters: {a: 0, b: 0}
/robot/motor:
  ros__parameters: {a: 1}
/robot/*:
  ros__parameters: {c: 2}
/*/motor:
  ros__parameters: {d: 3}
/**/motor:
  ros__parameters: {e: 4}
/*:
  ros__parameters: {f: 5}
robot:
  motor:
    ros__parameters: {g: 6}
other:
  ros__parameters: {a: 7}
"""


def test_the_sections_of_a_node_are_found_by_its_name_and_by_wildcards(file):
    path = file(SECTIONS)
    assert read(path, '/robot/motor') == {'a': 1, 'b': 0, 'c': 2, 'd': 3, 'e': 4, 'g': 6}
    assert read(path, '/motor') == {'a': 0, 'b': 0, 'e': 4, 'f': 5}


def test_of_two_sections_the_later_counts(file):
    star, own = '/**:\n  ros__parameters: {a: 1}\n', 'motor:\n  ros__parameters: {a: 2}\n'
    assert read(file(star + own)) == {'a': 2}
    assert read(file(own + star)) == {'a': 1}


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        ('/**:\n  a: 1\n', 'must have ros__parameters between the name of the node (or /**) and '
         'the parameters, got /** in line 2.'),
        ('- 1\n', 'must have names with a colon, as name: value, in line 1.'),
        ('/**: {a\n', 'is not YAML: '),
        ('/**:\n  ros__parameters:\n    a:\n', 'must have a value behind each name, got none in '
         'line 3.'),
        ('/**:\n  ros__parameters:\n    a: [[1]]\n', 'must have numbers, texts or lists of them, '
         'in line 3.'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_place(file, text, error):
    path = file(text)
    with pytest.raises(FileError) as raised:
        read(path)
    assert str(raised.value).startswith(f'parameter file {path} {error}')
    assert '\n' not in str(raised.value)


def test_a_list_of_mixed_numbers_is_refused_as_rcl_does(file):
    with pytest.raises(FileError, match=r'^wheel.axis must be a list of one type, numbers all '):
        read(file('/**:\n  ros__parameters:\n    wheel.axis: [0, 0.5, 1]\n'))


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(FileError) as raised:
        read(tmp_path / 'none.yaml')
    assert str(raised.value) == (
        f'parameter file {tmp_path}/none.yaml cannot be read: No such file or directory.'
    )


def test_what_is_written_is_read_back_to_the_bit(tmp_path):
    values = {
        'motors': ['left', 'right'],
        'rate': 1000.0,
        'seed': 3,
        'publish_tf': False,
        'frame_prefix': "it's: #1",
        'left.inertia': 0.1 + 0.2,
        'left.damping': 1e-300,
        'left.axis': (0, 0.5, 1),
        'left.joint': 'yes',
    }
    path = tmp_path / 'made.yaml'
    parameter_file.write(path, values)
    found = read(path)
    assert found == {**values, 'left.axis': [0.0, 0.5, 1.0]}
    assert settings({'motors': ['left', 'right'], 'left.axis': found['left.axis']})


def test_a_rule_of_the_command_line_is_a_name_and_a_value():
    assert parse('wheel.inertia:=1e-4') == ('wheel.inertia', 1e-4)
    assert parse('wheel.axis:=[0.0, 1.0, 0.0]') == ('wheel.axis', [0.0, 1.0, 0.0])
    with pytest.raises(FileError, match=r"^-p must be NAME:=VALUE, got 'rate=5'.$"):
        parse('rate=5')
