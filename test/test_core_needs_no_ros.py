"""Everything but the edges to ROS imports, and steps, where no ROS is installed."""

from pathlib import Path
import subprocess
import sys

import mime_motor_ros
import pytest

PACKAGE = Path(mime_motor_ros.__file__).parent
# To ROS, or of the node alone.
EDGES = {'node', 'arguments', 'diagnostics', 'graph', 'taking', 'parameter_services', 'main',
         'starting', 'demo_mount', 'demo_body', 'following', 'top', 'check.command',
         'check.listener', 'check.__main__'}  # fmt: skip
MODULES = {
    '.'.join(path.relative_to(PACKAGE).with_suffix('').parts) for path in PACKAGE.rglob('*.py')
}
CORE = sorted(MODULES - EDGES)
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        top = name.partition('.')[0]
        ros = top != 'rosbags' and top.startswith(
            ('rcl', 'ros', 'tf2', 'ament', 'launch')) or top.endswith(
            ('_msgs', '_srvs', '_interfaces'))
        if ros:
            raise ImportError(f'{name} is not installed')

sys.meta_path.insert(0, Blocker())
"""


def run(code):
    """Run code in a process in which nothing of ROS can be imported."""
    done = subprocess.run(
        [sys.executable, '-c', BLOCKER + code],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ''
    return done.stdout


@pytest.mark.parametrize('module', ['rclpy', 'geometry_msgs.msg', 'tf2_ros', 'rcl_interfaces'])
def test_the_blocker_blocks(module):
    caught = f'try:\n    import {module}\nexcept ImportError as error:\n    print(error)'
    assert 'is not installed' in run(caught)


@pytest.mark.parametrize('module', CORE)
def test_a_module_of_the_core_imports_without_ros(module):
    code = f'import mime_motor_ros.{module} as module; print(module.__name__)'
    assert run(code).strip() == f'mime_motor_ros.{module}'


def test_the_core_is_what_it_is_said_to_be():
    assert {'errors', 'vector', 'model', 'frames', 'timeline', 'settings', 'inputs', 'session',
            'messages', 'energy', 'check.findings'} <= set(CORE)  # fmt: skip
    assert EDGES <= MODULES


def test_the_equations_need_no_numpy_either():
    code = """
sys.modules['numpy'] = None
from mime_motor_ros.model import MotorParameters, MotorState, StepInputs, advance
step = advance(MotorParameters(0.5), MotorState(), StepInputs(torque=1.0), 0.1)
print(step.state.spin)
"""
    assert run(code).strip() == '0.2'


def test_a_session_steps_without_ros():
    code = """
from mime_motor_ros.inputs import Commands
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings

session = Session(settings({'world_frame': 'base_link', 'rate_source': 'zero', 'rate': 10,
                            'wheel.inertia': 0.1, 'wheel.damping': 0}))
session.advance_to(10**9)
session.take(Commands((1.0,)), 10**9)
(outcome,) = session.advance_to(11 * 10**8)
print(outcome.steps[0].state.spin)
"""
    assert float(run(code)) == pytest.approx(1.0)
