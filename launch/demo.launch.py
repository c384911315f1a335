"""
Start the motor node on a demo mount, in RViz: ros2 launch mime_motor_ros demo.launch.py.

The demo mount tumbles, carries an IMU and sends a torque to each motor. It goes by the motor's
parameter file: ``params_file:=…/wheels.yaml`` gets four torques and the frames named there.
``demo:=`` chooses another motion: bench, or a body that turns freely, with motors of its own:
precession, wheels.
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
from mime_motor_ros.demos import demo, DEMOS, USUAL
import yaml

MOTOR = Path(__file__).parent / 'motor.launch.py'
CONFIG = Path(__file__).parents[1] / 'config'


def generate_launch_description() -> LaunchDescription:
    """Describe the motor, the demo mount, and RViz where it is installed."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'rviz', default_value='true', description='start RViz as well: true or false'
            ),
            DeclareLaunchArgument(
                'demo', default_value=USUAL, description=f'what is shown: {", ".join(DEMOS)}'
            ),
            DeclareLaunchArgument(
                'mount_rate',
                default_value='',
                description='poses and IMU samples a second [Hz]: 200, of a free body 1000',
            ),
            DeclareLaunchArgument(
                'torque_amplitude',
                default_value='',
                description='amplitude of the torques [N m]: 0.005, for precession 0.001',
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
    """Refuse a wrong argument before anything is started: launch would leave that behind."""
    for name in ('mount_rate', 'torque_amplitude'):
        number(context, name, 1.0)
    file = demo(LaunchConfiguration('demo').perform(context)).file
    if file and 'params_file' not in context.launch_configurations:
        context.launch_configurations['params_file'] = str(CONFIG / file)
    return []


def mount(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return what moves the mount, with the motors and the frames that the motor node has."""
    name = LaunchConfiguration('demo').perform(context)
    program = demo(name).program
    values: dict[str, Any] = {'motors': ['wheel'], **of_the_file(context)}
    parameters: dict[str, Any] = {'motion': name}
    ros_arguments = ['--log-level', LaunchConfiguration('log_level')]
    if program == 'demo_mount':
        parameters |= {
            'rate': number(context, 'mount_rate', 200.0),
            'torque_amplitude': number(context, 'torque_amplitude', 0.005),
            'motors': len(values['motors']),
        }
    else:  # which reads what the motors are where the motor node does
        path = Path(LaunchConfiguration('params_file').perform(context)).expanduser()
        ros_arguments += ['--params-file', str(path)]
        parameters |= {
            'rate': number(context, 'mount_rate', 1000.0),
            'torque_amplitude': number(context, 'torque_amplitude', 0.001),
        }
    for frame_name in ('world_frame', 'mount_frame'):
        frame = LaunchConfiguration(frame_name).perform(context) or values.get(frame_name)
        if frame:
            parameters[frame_name] = frame
    if enclave := LaunchConfiguration('enclave').perform(context):
        ros_arguments += ['--enclave', enclave]
    for key, value in parameters.items():  # a text keeps its quotes: '007' is no number
        ros_arguments += ['-p', f'{key}:={json.dumps(value, ensure_ascii=False)}']
    return [
        Node(
            package='mime_motor_ros',
            executable=program,
            name=program,
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


def number(context: LaunchContext, name: str, default: float) -> float:
    """Return a launch argument as a number; 100 serves for 100.0, and nothing for the default."""
    argument = LaunchConfiguration(name)
    if not argument.perform(context):
        return default
    try:
        return float(ParameterValue(argument, value_type=float).evaluate(context))
    except ValueError:
        text = argument.perform(context)
        raise ValueError(f'{name} must be a number, got {text!r}.') from None
