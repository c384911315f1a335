"""A program is ended at once, whatever its streams are."""

from pathlib import Path
import subprocess
import sys

import pytest

CODE = """
from mime_motor_ros.stopping import leave

def main():
    print('w\\xf6rld')
    return 3

leave(main)
"""


def ended(shell, **more):
    command = ['sh', '-c', f'exec "$0" -c "$1" {shell}', sys.executable, CODE]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, **more)


def test_the_code_is_that_of_the_program():
    assert (ended('').returncode, ended('').stderr) == (3, '')


@pytest.mark.parametrize('closed', ['<&-', '>&-', '2>&-', '<&- >&- 2>&-'])
def test_streams_that_are_closed_do_not_matter(closed):
    done = ended(closed)
    assert (done.returncode, done.stderr) == (3, '')


def test_a_full_disk_is_one_line():
    done = ended('> /dev/full')
    assert (done.returncode, done.stderr) == (
        1,
        'the output cannot be written: No space left on device.\n',
    )


def test_a_reader_that_is_gone_is_no_fault():
    done = ended('| true')
    assert done.stderr == ''


def test_letters_that_the_terminal_has_not_are_written_another_way():
    done = ended('', env={'PYTHONIOENCODING': 'ascii'})
    assert (done.returncode, done.stdout) == (3, 'w\\xf6rld\n')


@pytest.mark.parametrize('module', ['main', 'demo_mount', 'demo_body'])
def test_options_that_are_none_are_refused_and_help_helps(module):
    pytest.importorskip('rclpy', reason='needs rclpy')

    def run(*args):
        command = [sys.executable, '-m', f'mime_motor_ros.{module}', *args]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert run('-p', 'rate:=100').returncode == 2
    assert run('--help').returncode == 0
    assert '--params-file FILE' in run('--help').stdout


@pytest.mark.parametrize(
    ('package', 'remedy'),
    [
        ('rosbags', 'pip install'),
        ('viser', "'.[offline,view]'"),
        ('rosgraph_msgs', 'Source ROS 2'),
        ('rclpy', 'Source ROS 2'),
    ],
)
def test_a_package_comes_from_where_it_is_to_be_had(package, remedy):
    code = (
        'import sys; from mime_motor_ros.stopping import leave; '
        f'sys.modules[{package!r}] = None; leave(lambda: __import__({package!r}))'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f'{package} is missing. ' in line
    assert remedy in line


@pytest.mark.parametrize(
    ('module', 'remedy'),
    [
        ('main', 'Source ROS 2, or'),
        ('demo_mount', 'Source ROS 2, or'),
        ('demo_body', 'Source ROS 2, or'),
        ('top', 'Source ROS 2, or'),
        ('view', 'Source ROS 2, or'),
        ('check.command', 'Source ROS 2, or'),
        ('offline.replay_command', "Install it with: pip install '.[offline]'"),
        ('offline.identifying.command', "Install it with: pip install '.[offline]'"),
        ('offline.sweeping.command', "Install it with: pip install '.[offline]'"),
        ('offline.reporting.command', "Install it with: pip install '.[offline]'"),
    ],
)
def test_what_is_not_installed_is_said_in_one_line_and_help_needs_none_of_it(
    tmp_path, module, remedy
):
    root = str(Path(__file__).resolve().parents[1])

    def run(*args):
        code = f'from mime_motor_ros.{module} import run; run()'
        return subprocess.run(
            [sys.executable, '-S', '-c', code, *args],  # -S: nothing but the standard library
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={'PYTHONPATH': root},
            cwd=tmp_path,
        )

    assert run('--help').returncode == 0
    (tmp_path / 'a.yaml').write_text('')
    (tmp_path / 'a.csv').write_text('t_s\n0\n')
    sweeps, told = 'sweeping' in module, 'offline' in module
    done = run(*['a.yaml'] * sweeps, *['a.csv'] * told, *['--out', 'b.csv'] * sweeps)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert ' is missing. ' in line
    assert remedy in line
