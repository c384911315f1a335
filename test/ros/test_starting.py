"""Arguments that are wrong: every program says them in one line, and its exit code is 1."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ros

# Of each module its name in texts.
PROGRAMS = {'demo_body': 'demo_body', 'demo_mount': 'demo_mount', 'top': 'motor_top'}
LINES = [  # arguments, what is said
    (
        ['--foo'],
        "these arguments are unknown: ['--foo']. Parameters are given as -p name:=value.",
    ),
    (['-p'], "Couldn't parse trailing -p flag. No parameter override rule found."),
    (['-p', 'rate'], '-p must be name:=value, got rate.'),
    (['-p', 'use_sim_time:=abc'], "use_sim_time must be of type bool, got 'abc'."),
    (['-r', 'x:=1!'], "Couldn't parse remap rule: '-r x:=1!'. Error: error not set"),
    (
        ['--log-level', 'junk'],
        "Couldn't parse log level: '--log-level junk'. "
        'Error: Argument does not use a valid severity level',
    ),
    (
        ['--params-file', '/nope'],
        'parameter file /nope cannot be read: No such file or directory.',
    ),
]
NO_TEXT = b'mount_frame:=\xff'
ONE_AFTER_THE_OTHER = """
import json, sys
from mime_motor_ros.{module} import main

for arguments in json.loads(sys.argv[1]):
    print(main(['--ros-args', *arguments]))
"""


def ended(*command):
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(('module', 'name'), PROGRAMS.items())
def test_wrong_arguments_are_one_line_each(module, name):
    program = ONE_AFTER_THE_OTHER.format(module=module)
    code, out, err = ended('-c', program, json.dumps([given for given, _ in LINES]))
    assert err.splitlines() == [f'{name}: {said}' for _, said in LINES]
    assert (code, out.split()) == (0, ['1'] * len(LINES))


@pytest.mark.parametrize(('module', 'name'), PROGRAMS.items())
def test_an_argument_that_is_no_text_is_one_line(module, name):
    code, out, err = ended('-m', f'mime_motor_ros.{module}', '--ros-args', '-p', NO_TEXT)
    assert (code, out) == (1, '')
    assert err == f'{name}: an argument must be text in UTF-8, got {NO_TEXT!r}.\n'


def test_a_name_that_is_none_of_ros_is_one_line():
    code, out, err = ended('-m', 'mime_motor_ros.top', '--node', 'a b')
    assert (code, out) == (1, '')
    assert err.startswith('motor_top: Invalid topic name: topic name must not contain ')
    assert err.count('\n') == 1
