"""What package.xml, setup.py and the modules say of each other."""

import ast
from pathlib import Path
import sys
import xml.etree.ElementTree as ElementTree

import mime_motor_ros
import pytest

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ElementTree.parse(ROOT / 'package.xml').getroot()
KEYS = {
    'numpy': 'python3-numpy',
    'rich': 'python3-rich',
    'transforms3d': 'python3-transforms3d',
    'yaml': 'python3-yaml',
}
EXECUTABLES = [
    'demo_body',
    'demo_mount',
    'motor',
    'motor_check',
    'motor_replay',
    'motor_sweep',
    'motor_top',
    'motor_view',
]


def imported(files):
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (name.name.split('.')[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield node.module.split('.')[0]


def test_every_import_is_a_declared_dependency():
    files = [*ROOT.glob('mime_motor_ros/*.py'), *ROOT.glob('launch/*.py')]
    names = set(imported(files)) - sys.stdlib_module_names - {'mime_motor_ros'}
    assert "'fast': ['numba']" in (ROOT / 'setup.py').read_text()  # it runs without, slower
    assert "'view': ['numpy', 'rich', 'viser']" in (ROOT / 'setup.py').read_text()
    names -= {'numba', 'viser'}
    declared = {element.text for element in MANIFEST.iter('exec_depend')}
    assert {KEYS.get(name, name) for name in names} <= declared


def test_the_version_is_the_same_everywhere():
    version = mime_motor_ros.__version__
    assert MANIFEST.findtext('version') == version
    assert f"version='{version}'" in (ROOT / 'setup.py').read_text()


def test_the_package_imports_nothing_by_itself():
    tree = ast.parse((ROOT / 'mime_motor_ros' / '__init__.py').read_text())
    assert not [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def installed():
    packages = pytest.importorskip(
        'ament_index_python.packages', reason='needs ament_index_python of a ROS 2'
    )
    try:
        return Path(packages.get_package_prefix('mime_motor_ros'))
    except packages.PackageNotFoundError:
        pytest.skip('the package is not installed: run it by make test or colcon test')


@pytest.mark.parametrize('name', EXECUTABLES)
def test_an_executable_is_where_ros2_run_looks(name):
    assert (installed() / 'lib' / 'mime_motor_ros' / name).stat().st_mode & 0o100


@pytest.mark.parametrize('folder', ['config', 'launch'])
def test_what_is_shared_is_installed_as_it_is_here(folder):
    share = installed() / 'share' / 'mime_motor_ros'

    def files(folder):
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    assert files(share / folder) == files(ROOT / folder)


def test_the_index_knows_the_package():
    prefix = installed()
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    assert (index / 'mime_motor_ros').is_file()
    assert (prefix / 'share' / 'mime_motor_ros' / 'package.xml').is_file()
