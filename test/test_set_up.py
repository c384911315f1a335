"""What `make` says where it cannot set up, and which ROS it takes. Nothing is installed here."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    'bash cat chmod cmake cut dirname env find flock g++ gcc grep make mkdir rm sed sha256sum '
    'sort tail uname xargs'
)

pytestmark = pytest.mark.skipif(
    not (ROOT / 'Makefile').is_file() or not all(map(shutil.which, ['bash', 'flock', 'make'])),
    reason='needs the checkout, and make, bash and flock',
)


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of the checkout's set-up, in a folder with a space in its name."""
    copy = tmp_path / 'a copy'
    copy.mkdir()
    shutil.copy(ROOT / 'Makefile', copy)
    shutil.copytree(ROOT / 'tools', copy / 'tools')
    return copy


@pytest.fixture
def machine(tmp_path):
    """Return a folder for PATH: what a machine has, and the Python that runs the tests."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    for name in COMMANDS.split():
        found = shutil.which(name)
        (folder / name).symlink_to(found or '/bin/true')
    script(folder / 'python3', f'exec "{sys.executable}" "$@"')
    return folder


def script(path, text):
    path.unlink(missing_ok=True)
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(0o755)


def set_up(checkout, machine, command=('make', 'setup'), **variables):
    clean = {key: value for key, value in os.environ.items() if key in ('HOME', 'LANG')}
    return subprocess.run(
        command,
        cwd=checkout,
        env={**clean, 'PATH': str(machine), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refusal(done):
    """Return the one line that says why the set-up ended, without make's own line below it."""
    assert done.returncode != 0
    assert done.stdout == ''
    lines = [line for line in done.stderr.splitlines() if not line.startswith('make: ***')]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize('name', ['gcc', 'g++', 'cmake'])
def test_a_missing_tool_is_named_with_its_package(checkout, machine, name):
    (machine / name).unlink()
    said = refusal(set_up(checkout, machine))
    assert said == f'setup: missing: {name}. Install: sudo apt install {name}'


def test_several_missing_tools_are_one_line(checkout, machine):
    for name in ('gcc', 'cmake'):
        (machine / name).unlink()
    said = refusal(set_up(checkout, machine))
    assert said == 'setup: missing: gcc, cmake. Install: sudo apt install gcc cmake'


def test_a_python_without_venv_or_headers_is_named_with_its_packages(checkout, machine):
    script(machine / 'python3', 'case "$2" in *%d.%d*) echo 3.12 ;; *) exit 1 ;; esac')
    assert refusal(set_up(checkout, machine)) == (
        'setup: missing: the venv module of python3, Python.h of python3. '
        'Install: sudo apt install python3.12-venv python3.12-dev'
    )


@pytest.mark.parametrize('version', ['3.9', '3.14', '2.7'])
def test_a_python_out_of_range_is_refused(checkout, machine, version):
    script(machine / 'python3', f'echo {version}')
    said = refusal(set_up(checkout, machine))
    assert said.startswith(f'setup: missing: Python 3.10 to 3.13 (python3 is {version}).')
    assert 'sudo apt install python3 python3-venv' in said


def test_without_any_python_the_line_says_so(checkout, machine):
    (machine / 'python3').unlink()
    assert '(python3 does not run here)' in refusal(set_up(checkout, machine))


def test_another_python_in_range_is_taken_when_python3_is_not(checkout, machine):
    script(machine / 'python3', 'echo 3.9')
    script(machine / 'python3.12', 'case "$2" in *%d.%d*) echo 3.12 ;; *) exit 1 ;; esac')
    assert 'the venv module of python3.12' in refusal(set_up(checkout, machine))


def test_a_python_named_by_the_user_must_be_in_range(checkout, machine):
    script(machine / 'old', 'echo 3.9')
    said = refusal(set_up(checkout, machine, PYTHON='old'))
    assert said == 'setup: PYTHON must be a Python 3.10 to 3.13, got old: old is 3.9.'


def test_a_python_named_by_the_user_that_does_not_run_is_told_so(checkout, machine):
    script(machine / 'shim', 'echo "shim: command not found" >&2; exit 127')
    said = refusal(set_up(checkout, machine, PYTHON='shim'))
    assert said == 'setup: PYTHON must be a Python 3.10 to 3.13, got shim: shim does not run here.'


def test_another_processor_is_refused(checkout, machine):
    script(machine / 'uname', 'echo aarch64')
    said = refusal(set_up(checkout, machine))
    assert said.startswith('setup: the wheels of ROS 2 are for x86_64, this is aarch64.')


def test_a_venv_is_made_before_a_command_runs_in_it(checkout, machine):
    done = set_up(checkout, machine, ('tools/env.sh', 'true'))
    assert (done.returncode, done.stderr) == (1, 'env: there is no .venv yet; run: make setup\n')


@pytest.fixture
def prefix(tmp_path):
    """Return a folder that looks like the prefix of a ROS 2 distribution."""
    folder = tmp_path / 'ros'
    marker = folder / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'rclpy'
    marker.parent.mkdir(parents=True)
    marker.touch()
    return folder


def chosen(checkout, machine, **variables):
    asked = set_up(checkout, machine, ['bash', '-c', '. tools/setup.sh; sourced_ros'], **variables)
    assert (asked.returncode, asked.stderr) == (0, '')
    return asked.stdout.strip()


def test_a_sourced_ros_is_found_behind_other_prefixes(checkout, machine, prefix):
    path = f'/some/workspace:{prefix}'
    found = chosen(checkout, machine, ROS_DISTRO='jazzy', AMENT_PREFIX_PATH=path)
    assert found == f'jazzy in {prefix}'


@pytest.mark.parametrize(
    'variables',
    [
        {},
        {'ROS_DISTRO': 'jazzy'},
        {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/some/workspace'},
        {'AMENT_PREFIX_PATH': '{prefix}'},
    ],
)
def test_half_a_sourced_ros_is_none(checkout, machine, prefix, variables):
    given = {key: value.format(prefix=prefix) for key, value in variables.items()}
    assert chosen(checkout, machine, **given) == 'wheels'


def test_our_own_venv_is_no_sourced_ros(checkout, machine, prefix):
    shutil.copytree(prefix, checkout / '.venv')
    path = str(checkout / '.venv')
    assert chosen(checkout, machine, ROS_DISTRO='jazzy', AMENT_PREFIX_PATH=path) == 'wheels'


def test_a_sourced_ros_whose_python_is_another_one_is_said(checkout, machine, prefix):
    script(machine / 'python3', 'exit 1')
    given = {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': str(prefix), 'PYTHON': 'python3'}
    said = refusal(set_up(checkout, machine, **given))
    assert said.startswith(f'setup: ROS 2 (jazzy in {prefix}) is sourced, but python3 cannot')


@pytest.mark.parametrize(
    ('ros', 'text'),
    [
        (
            'jazzy in /opt/ros/jazzy',
            'ROS 2 (jazzy in /opt/ros/jazzy) is sourced, but .venv, made by python3, cannot '
            "import its rclpy (ModuleNotFoundError: No module named 'rclpy'). Where that is in a "
            'virtual environment: leave it, use a shell without ROS, or name the Python of that '
            'ROS with PYTHON=...',
        ),
        (
            'wheels',
            'the rclpy of the wheels does not run here: '
            "ModuleNotFoundError: No module named 'rclpy'",
        ),
    ],
)
def test_a_venv_that_does_not_see_rclpy_is_not_taken_for_ready(checkout, machine, ros, text):
    binaries = checkout / '.venv' / 'bin'
    binaries.mkdir(parents=True)
    lines = 'Traceback (most recent call last):', "ModuleNotFoundError: No module named 'rclpy'"
    script(binaries / 'python', f'printf "%s\\n" "{lines[0]}" "{lines[1]}" >&2; exit 1')
    ask = f". tools/setup.sh; ros='{ros}' python=python3; check_rclpy; echo ready"
    assert refusal(set_up(checkout, machine, ['bash', '-c', ask])) == f'setup: {text}'
    script(binaries / 'python', 'exit 0')
    assert set_up(checkout, machine, ['bash', '-c', ask]).stdout == 'ready\n'


def test_with_a_sourced_ros_its_prefix_stays_and_no_library_path_is_set(checkout, machine):
    venv = checkout / '.venv'
    (venv / 'bin').mkdir(parents=True)
    (venv / 'bin' / 'python').symlink_to(sys.executable)
    (venv / '.ros').write_text('jazzy in /opt/ros/jazzy\n')
    given = {'AMENT_PREFIX_PATH': '/opt/ros/jazzy', 'PYTHONPATH': '/opt/ros/jazzy/lib'}
    done = set_up(checkout, machine, ['tools/env.sh', 'env'], **given)
    seen = dict(line.split('=', 1) for line in done.stdout.splitlines())
    assert seen['AMENT_PREFIX_PATH'] == f'{venv}:/opt/ros/jazzy'
    assert seen['PYTHONPATH'] == f'{venv}/src:/opt/ros/jazzy/lib'
    assert not {'LD_LIBRARY_PATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE'} & seen.keys()


def test_the_network_stays_local_unless_the_user_chose(checkout, machine):
    (checkout / '.venv' / 'bin').mkdir(parents=True)
    (checkout / '.venv' / 'bin' / 'python').symlink_to(sys.executable)

    def seen(**variables):
        line = ['tools/env.sh', 'sh', '-c', 'echo $ROS_AUTOMATIC_DISCOVERY_RANGE']
        return set_up(checkout, machine, line, **variables).stdout.strip()

    (machine / 'sh').symlink_to('/bin/sh')
    assert seen() == 'LOCALHOST'
    assert seen(ROS_AUTOMATIC_DISCOVERY_RANGE='SUBNET') == 'SUBNET'
    assert seen(ROS_LOCALHOST_ONLY='1') == ''


def test_T53_two_test_processes_never_have_one_domain():
    code = 'import conftest; print(conftest.DOMAIN, flush=True); input()'
    processes = [
        subprocess.Popen(
            [sys.executable, '-c', code],
            cwd=ROOT / 'test',
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    domains = [process.stdout.readline() for process in processes]
    for process in processes:
        process.communicate('\n', timeout=20)
    assert len(set(domains)) == 4
    assert '' not in domains
