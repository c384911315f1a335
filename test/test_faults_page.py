"""doc/faults.md: every fault has its row, every row names tests that are there."""

from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / 'doc' / 'faults.md').read_text()
ROWS = {
    cells[1].strip(): cells
    for line in TEXT.splitlines()
    if line.startswith('| T') and len(cells := line.split('|')) == 7
}
TESTS = {
    name
    for path in (ROOT / 'test').rglob('test_*.py')
    for name in re.findall(r'^def (test_\w+)', path.read_text(), re.MULTILINE)
}


def test_every_fault_has_one_row():
    assert list(ROWS) == [f'T{k:02d}' for k in range(1, 59)]


def test_every_row_names_tests_that_are_there_and_carry_its_number():
    for number, cells in ROWS.items():
        named = re.findall(r'`(test_\w+)`', cells[5])
        assert set(named) <= TESTS, number
        assert all(number in name for name in named), number
        assert named or 'the same' in cells[5] or 'make bench' in cells[5], number


def test_every_test_of_a_fault_is_told():
    told = set(re.findall(r'`(test_\w+)`', TEXT))
    assert {name for name in TESTS if re.search(r'_T\d\d_', name)} <= told
