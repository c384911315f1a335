"""MuJoCo as a witness: every row of its table holds, and one that does not is seen."""

from pathlib import Path
import re
import sys

from mime_motor_ros import drive
import pytest

for module in ('mujoco', 'rich', 'rosbags'):
    pytest.importorskip(module, reason=f'needs the package {module}')

import witness  # noqa: E402
from witness import CASES, main, Moved, Row, ROWS  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def said(monkeypatch, capsys, restored_signals):
    """Return what runs the program on some rows: its exit code and what it printed."""

    def run(*names):
        monkeypatch.setattr(sys, 'argv', ['witness.py'])
        monkeypatch.setattr(witness, 'ROWS', {name: ROWS[name] for name in names})
        code = main()
        return code, capsys.readouterr()

    return run


@pytest.mark.parametrize('name', ROWS)
def test_a_row_holds(name):
    row = ROWS[name]()
    assert row.holds, row


def test_the_table_of_rows_that_hold_ends_with_code_0(said):
    code, printed = said('motor', 'dcmotor, Vmax')
    assert (code, printed.err) == (0, '')
    assert re.search('motor .* 4.51106 .* 4.51106 .* 4.51188 .* holds ', printed.out)
    assert 'holds: MuJoCo goes beyond' in printed.out
    assert 'DOES NOT HOLD' not in printed.out


BROKEN = {
    'motor': {'actuator': lambda _: 'motor gear="1.000001"'},
    'velocity': {'speed': CASES['motor'].speed},
    'position': {'damping': 0.0},
    'position, implicit': {'actuator': CASES['position'].actuator},
    'intvelocity, implicit': {'ahead': 0.0},
    'dcmotor, inductance': {'actuator': CASES['dcmotor'].actuator},
}


@pytest.mark.parametrize('name', BROKEN)
def test_a_row_of_which_one_side_is_another_does_not_hold(said, monkeypatch, name):
    monkeypatch.setitem(CASES, name, CASES[name]._replace(**BROKEN[name]))
    code, printed = said(name)
    assert (code, printed.err) == (1, '')
    assert 'DOES NOT HOLD' in printed.out
    assert printed.out.splitlines()[-1] == f'does not hold: {name}'


def test_one_row_of_all_that_does_not_hold_is_enough(said, monkeypatch):
    monkeypatch.setitem(ROWS, 'damper', lambda: Row('', ('1', '2', '-'), '', '', False))
    code, printed = said('motor', 'damper', 'velocity')
    assert code == 1
    assert [line for line in printed.out.splitlines() if line.startswith('does not')] == [
        'does not hold: damper'
    ]


@pytest.mark.parametrize('name', ['velocity', 'damper', 'dcmotor', 'dcmotor, Vmax'])
def test_a_drive_that_is_wrong_by_a_millionth_is_seen(monkeypatch, name):
    law = drive._law

    def wrong(*arguments):
        torque, slope, *more = law(*arguments)
        return 1.000001 * torque, 1.000001 * slope, *more

    monkeypatch.setattr(drive, '_law', wrong)
    assert not ROWS[name]().holds


@pytest.mark.parametrize('name', ['friction, stalled', 'friction, coasting', 'dcmotor, Vmax'])
def test_a_mujoco_that_does_it_right_is_seen(monkeypatch, name):
    right = ROWS[name]().numbers[0]
    moved = Moved(float(right), 0.0 if 'friction' in name else float(right), 0.0)
    monkeypatch.setattr(witness, 'theirs', lambda *_, **__: [moved])
    assert not ROWS[name]().holds


def test_without_mujoco_it_says_what_to_do(said, monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    code, printed = said('motor')
    assert (code, printed.out) == (1, '')
    assert printed.err == 'witness: mujoco is not installed; run: make setup\n'


def test_the_page_has_every_row_and_what_is_stated_of_it():
    page = (ROOT / 'doc' / 'witness.md').read_text()
    told = dict(re.findall(r'^\| `([^`]+)` \|.*\| ([^|]+) \|$', page, re.MULTILINE))
    assert list(told) == list(ROWS)
    assert told == {name: row().stated for name, row in ROWS.items()}


def test_the_page_names_the_version_that_is_compared_with():
    wanted = (ROOT / 'tools' / 'requirements-test.txt').read_text()
    version = re.search(r'^mujoco==(.+)$', wanted, re.MULTILINE)[1]
    assert f'MuJoCo {version}' in (ROOT / 'doc' / 'witness.md').read_text()
