"""The table of recordings, and what it says where there is nothing to tell."""

import os
import subprocess
import sys

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from offline import main  # noqa: E402
from test_recording import imu, START_NS, tf, write  # noqa: E402

NAN = float('nan')
HEAD = 2  # lines of the table


def record(folder, rates):
    """Write a recording with a pose and a rate every 10 ms."""
    messages = [('/tf_static', START_NS, tf(START_NS, 'base_link', 'imu_link'))]
    for k, rate in enumerate(rates):
        stamp_ns = START_NS + k * 10_000_000
        messages.append(('/tf', stamp_ns, tf(stamp_ns, 'odom', 'base_link')))
        messages.append(('/imu/data', stamp_ns, imu(stamp_ns, rate)))
    return str(write(folder, messages))


@pytest.fixture
def said(capsys, monkeypatch):
    """Run the command; return its exit code, the rows of its table and what it complains of."""

    def said(*paths):
        monkeypatch.setattr(sys, 'argv', ['offline.py', *paths])
        code = main()
        out, err = capsys.readouterr()
        return code, out.splitlines()[HEAD:], err

    return said


def test_a_step_from_each_sample_to_the_next_makes_a_row(tmp_path, said):
    code, rows, err = said(record(tmp_path / 'turns', [(0.0, 0.0, 0.5)] * 4))
    assert (code, err) == (0, '')
    # b / J = 0.01 / s, so each step of 10 ms takes 1e-4 of the speed against the stator.
    spin = 0.5 + (200.0 - 0.5) / (1.0 + 1e-4)
    assert rows == [
        f'| turns | 0.0 s | 3 | none | {spin:.6f} rad/s | {1e-6 * (spin - 0.5):.6f} N m |'
    ]


@pytest.mark.parametrize(
    ('rates', 'row', 'why'),
    [
        (
            [(NAN, 0.0, 0.0)] * 3,
            '| none | 0.0 s | 0 | imu non-finite 3 | - | - |',
            'no usable IMU message; refused: imu non-finite 3',
        ),
        (
            [(0.0, 0.0, 0.5)],
            '| none | 0.0 s | 0 | none | - | - |',
            'the first rate only starts the clock',
        ),
    ],
)
def test_a_recording_that_gives_no_step_is_a_row_and_a_line(tmp_path, said, rates, row, why):
    code, rows, err = said(record(tmp_path / 'none', rates))
    assert rows == [row]
    assert err == f'offline: none gives no step: {why}.\n'
    assert code == 1


def test_one_that_gives_none_does_not_hide_the_next(tmp_path, said):
    paths = [
        record(tmp_path / name, [(0.0, 0.0, 0.5)] * count) for name, count in (('a', 1), ('b', 2))
    ]
    code, rows, err = said(*paths)
    assert [row.split('|')[1].strip() for row in rows] == ['a', 'b']
    assert (code, err.count('\n')) == (1, 1)


@pytest.mark.parametrize(
    ('program', 'module', 'line', 'found'),
    [
        ('motor_replay', 'offline.replay_command', 'motor_replay a.csv --by ', 'receipt'),
        ('motor_identify', 'offline.identifying.command', 'motor_identify --time-unit ', 'ms'),
        ('motor_sweep', 'offline.sweeping.command', 'motor_sweep --sch', '--scheduler'),
        ('motor_report', 'offline.reporting.command', 'motor_report --overw', '--overwrite'),
    ],
)
def test_the_shell_completes_what_was_begun(tmp_path, program, module, line, found):
    pytest.importorskip('argcomplete', reason='needs the package argcomplete')
    out = tmp_path / 'out'
    environment = {
        **os.environ,
        '_ARGCOMPLETE': '1',
        '_ARGCOMPLETE_STDOUT_FILENAME': str(out),
        '_ARGCOMPLETE_IFS': '\n',
        'COMP_LINE': line,
        'COMP_POINT': str(len(line)),
        'COMP_TYPE': '9',
    }
    command = [sys.executable, '-m', f'mime_motor_ros.{module}']
    subprocess.run(command, env=environment, timeout=60, check=True)
    assert found in [x.strip() for x in out.read_text().split('\n')]
