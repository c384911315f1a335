"""
Start the motor node on a demo mount, in RViz: ros2 launch mime_motor_ros demo.launch.py.

The demo mount tumbles, carries an IMU and sends a torque to each motor. It goes by the motor's
parameter file: ``params_file:=…/wheels.yaml`` gets four torques and the frames named there.
"""

import json
from pathlib import Path
from typing import Any

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
import yaml

MOTOR = Path(__file__).parent / 'motor.launch.py'


def generate_launch_description() -> LaunchDescription:
    """Describe the motor, the demo mount, and RViz where it is installed."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'rviz', default_value='true', description='start RViz as well: true or false'
            ),
            DeclareLaunchArgument(
                'mount_rate',
                default_value='200.0',
                description='poses, IMU samples and torques a second [Hz]',
            ),
            DeclareLaunchArgument(
                'torque_amplitude',
                default_value='0.005',
                description='amplitude of the torques [N m]',
            ),
            OpaqueFunction(function=check),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(MOTOR)),
                launch_arguments={'rviz': LaunchConfiguration('rviz')}.items(),
            ),
            # After the motor, so that its arguments have their defaults.
            OpaqueFunction(function=mount),
        ]
    )


def check(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Refuse a wrong figure before anything is started: launch would leave that behind."""
    for name in ('mount_rate', 'torque_amplitude'):
        number(context, name)
    return []


def mount(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the demo mount, with as many torques and the frames that the motor node has."""
    values: dict[str, Any] = {'motors': ['wheel'], **of_the_file(context)}
    parameters = {
        'rate': number(context, 'mount_rate'),
        'torque_amplitude': number(context, 'torque_amplitude'),
        'motors': len(values['motors']),
    }
    for name in ('world_frame', 'mount_frame'):
        frame = LaunchConfiguration(name).perform(context) or values.get(name)
        if frame:
            parameters[name] = frame
    ros_arguments = ['--log-level', LaunchConfiguration('log_level')]
    if enclave := LaunchConfiguration('enclave').perform(context):
        ros_arguments += ['--enclave', enclave]
    for name, value in parameters.items():  # a text keeps its quotes: '007' is no number
        ros_arguments += ['-p', f'{name}:={json.dumps(value, ensure_ascii=False)}']
    return [
        Node(
            package='mime_motor_ros',
            executable='demo_mount',
            name='demo_mount',
            namespace=LaunchConfiguration('namespace'),
            remappings=[('imu/data', LaunchConfiguration('imu_topic'))],
            ros_arguments=ros_arguments,
            output='screen',
        )
    ]


def of_the_file(context: LaunchContext) -> dict[str, Any]:
    """Return what the parameter file has for the motor node, as the node itself would read it."""
    path = Path(LaunchConfiguration('params_file').perform(context)).expanduser()
    content = yaml.safe_load(path.read_text(encoding='utf-8')) or {}
    values: dict[str, Any] = {}
    for node in ('/**', '/**/motor', 'motor', '/motor'):
        values |= content.get(node, {}).get('ros__parameters', {})
    return values


def number(context: LaunchContext, name: str) -> float:
    """Return a launch argument as a number; 100 serves for 100.0."""
    argument = LaunchConfiguration(name)
    try:
        return float(ParameterValue(argument, value_type=float).evaluate(context))
    except ValueError:
        text = argument.perform(context)
        raise ValueError(f'{name} must be a number, got {text!r}.') from None
