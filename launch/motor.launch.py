"""
Start the motor node: ros2 launch mime_motor_ros motor.launch.py.

Arguments are shown by ``--show-args``. What is left empty is as the parameter file has it.

Several mounts, each in a namespace: the rotors' frames need names of their own on the common
/tf, so give each a prefix (``namespace:=r1 frame_prefix:=r1/``) and its own ``mount_frame``.
For a /tf to each namespace instead, include this file in a GroupAction that begins with
PushRosNamespace('r1'), SetRemap('/tf', 'tf') and SetRemap('/tf_static', 'tf_static').
"""

import json
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

CONFIG = Path(__file__).parent.parent / 'config'  # in share/ as in the sources

ARGUMENTS = [
    DeclareLaunchArgument(
        'namespace', default_value='', description='namespace of the node and its topics'
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(CONFIG / 'motor.yaml'),
        description='YAML file with the parameters of the node',
    ),
    DeclareLaunchArgument(
        'imu_topic',
        default_value='imu/data',
        description='topic of the IMU on the mount (sensor_msgs/Imu)',
    ),
    DeclareLaunchArgument(
        'rviz', default_value='false', description='start RViz as well: true or false'
    ),
    DeclareLaunchArgument(
        'rviz_config',
        default_value=str(CONFIG / 'motor.rviz'),
        description='what RViz shows, a .rviz file',
    ),
    DeclareLaunchArgument(
        'respawn',
        default_value='false',
        description='start the node again when it has ended: true or false',
    ),
    DeclareLaunchArgument(
        'enclave',
        default_value='',
        description='SROS 2 enclave of the node, as /motor; empty: none',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        description='least severity that is logged: debug, info, warn, error or fatal',
    ),
]
# Parameters that may be given here too: type and description.
OVERRIDES: dict[str, tuple[type, str]] = {
    'use_sim_time': (bool, 'take the time from /clock: true or false'),
    'world_frame': (str, 'frame the pose of the mount is given in'),
    'mount_frame': (str, 'frame of the mount'),
    'publish_tf': (bool, 'publish the frames of stators and rotors: true or false'),
    'frame_prefix': (str, "put before the motors' own frame ids"),
}
RESPAWN_DELAY = 1.0  # [s] so that a node that cannot start does not fill the log


def generate_launch_description() -> LaunchDescription:
    """Describe the motor node, RViz beside it when asked for, and what a user may change."""
    over_the_file = [
        DeclareLaunchArgument(
            name, default_value='', description=f'{text} (empty: as in params_file)'
        )
        for name, (_, text) in OVERRIDES.items()
    ]
    return LaunchDescription([*ARGUMENTS, *over_the_file, OpaqueFunction(function=nodes)])


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return all that is started; refuse a wrong argument before, launch would leave it behind."""
    return [*motor(context), *rviz(context)]


def motor(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the motor node."""
    path = file(context, 'params_file')
    # All in this order on the command line: there the last one counts. Not as `parameters` of
    # the action: it writes a text that looks like a number ('007', '12E5') without quotes.
    parameters = ['--params-file', path]
    parameters += enclave(context)
    for name, value in given(context).items():
        parameters += ['-p', f'{name}:={json.dumps(value, ensure_ascii=False)}']
    return [
        Node(
            package='mime_motor_ros',
            executable='motor',
            name='motor',
            namespace=LaunchConfiguration('namespace'),
            remappings=[('imu/data', LaunchConfiguration('imu_topic'))],
            ros_arguments=['--log-level', LaunchConfiguration('log_level'), *parameters],
            respawn=typed(context, 'respawn', bool),
            respawn_delay=RESPAWN_DELAY,
            output='screen',
        )
    ]


def enclave(context: LaunchContext) -> list[str]:
    """Return the arguments of ROS that put a node into the enclave given, if any."""
    name = LaunchConfiguration('enclave').perform(context)
    return ['--enclave', name] if name else []


def rviz(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return RViz in the namespace of the motor, or a line that says why there is none."""
    if not typed(context, 'rviz', bool):
        return []
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        return [LogInfo(msg='rviz2 is not installed: going on without RViz.')]
    values = given(context)
    fixed = ['--fixed-frame', values['world_frame']] if 'world_frame' in values else []
    sim_time = json.dumps(values.get('use_sim_time', False))
    return [
        Node(
            package='rviz2',
            executable='rviz2',
            name='rviz',
            namespace=LaunchConfiguration('namespace'),
            arguments=['--display-config', file(context, 'rviz_config'), *fixed],
            ros_arguments=['-p', f'use_sim_time:={sim_time}', *enclave(context)],
            output='screen',
        )
    ]


def given(context: LaunchContext) -> dict[str, Any]:
    """Return the parameters that were given as launch arguments, each in its own type."""
    return {
        name: typed(context, name, kind)
        for name, (kind, _) in OVERRIDES.items()
        if LaunchConfiguration(name).perform(context)
    }


def typed(context: LaunchContext, name: str, kind: type) -> Any:
    """Return an argument as a text or as true or false; launch's own refusal names neither."""
    argument = LaunchConfiguration(name)
    try:
        return ParameterValue(argument, value_type=kind).evaluate(context)
    except ValueError:
        text = argument.perform(context)
        raise ValueError(f'{name} must be true or false, got {text!r}.') from None


def file(context: LaunchContext, name: str) -> str:
    """Return the path of a file that an argument names; refuse one that is not there."""
    path = Path(LaunchConfiguration(name).perform(context)).expanduser()
    if not path.is_file():
        # The node would start without: launch only warns of a missing parameter file.
        raise FileNotFoundError(f'{name} must be the path of a file, got {str(path)!r}.')
    return str(path)
