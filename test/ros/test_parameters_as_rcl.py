"""Parameter files are read as rcl reads them."""

from math import isnan

from mime_motor_ros.parameter_file import read
import pytest
import rclpy
from rclpy.node import Node

TEXT = """
/**:
  ros__parameters:
    a: [1e-4, 1.0e-4, 1E5, 5., .5, .inf, -.INF, inf, .nan, 09.5]
    b: [0x10, 010, +5, -3]
    c: [on, y, no]
    quoted: ['on', "y"]
    d: 1e400
    e: [hello world, 1_000, 0o17]
    time: 12:30
    tilde: ~
    f: 09
    nest: {deep: {er: 3}, other: [a, b]}
    both: {x: 1}
    both.x: 2
    same: first
motor:
  ros__parameters: {same: second, own: true}
/*:
  ros__parameters: {same: third, star: true}
/robot/*:
  ros__parameters: {same: fourth, space: true}
robot:
  motor:
    ros__parameters: {level: 1}
"""


@pytest.mark.parametrize('namespace', ['', '/robot', '/robot/left'])
def test_a_parameter_file_is_read_as_rcl_reads_it(tmp_path, namespace):
    path = tmp_path / 'p.yaml'
    path.write_text(TEXT)
    context = rclpy.Context()
    args = ['--ros-args', '--params-file', str(path)]
    rclpy.init(args=args + ['-r', f'__ns:={namespace or "/"}'], context=context)
    node = Node('motor', context=context, start_parameter_services=False)
    wanted = {name: one.value for name, one in node._parameter_overrides.items()}
    node.destroy_node()
    rclpy.shutdown(context=context)
    found = read(path, f'{namespace}/motor')
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        for one, other in zip(*map(_listed, (found[name], value)), strict=True):
            assert type(one) is type(other), name
            assert one == other or (isnan(one) and isnan(other)), name


def _listed(value):
    return list(value) if hasattr(value, '__len__') and not isinstance(value, str) else [value]
