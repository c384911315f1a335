"""Every mistake that test/mutants.py plants in the equations is found by their tests."""

from pathlib import Path
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_planted_mistake_is_found():
    run = subprocess.run(
        [sys.executable, Path(__file__).with_name('mutants.py')], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    found, _, planted = run.stdout.splitlines()[-1].split()[:3]  # "69 of 69 mistakes ..."
    assert found == planted
    assert int(planted) >= 25
