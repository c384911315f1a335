"""Install rules: the modules, what goes to share/, and the executables of ``ros2 run``."""

from glob import glob

from setuptools import find_packages, setup

NAME = 'mime_motor_ros'
# What the programs at the desk import, where no ROS has brought it along.
OFFLINE = [
    'argcomplete',
    'matplotlib',
    'mcap',
    'numpy',
    'pyarrow',
    'PyYAML',
    'rich',
    'rosbags',
    'scipy',
    'transforms3d',
]

setup(
    name=NAME,
    version='0.1.0',
    description='Gyroscopic actuators on a real mount: a motor model in step with TF and an IMU.',
    maintainer='mime_motor_ros maintainers',
    maintainer_email='maintainers@example.org',
    license='Apache-2.0',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    python_requires='>=3.10',
    install_requires=['setuptools'],
    extras_require={
        'test': ['pytest'],
        'offline': OFFLINE,
        'fast': ['numba'],
        'cluster': ['distributed'],
        'view': ['numpy', 'rich', 'viser'],
    },
    zip_safe=True,
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        (f'share/{NAME}/launch', sorted(glob('launch/*.launch.py'))),
        (f'share/{NAME}/config', sorted(glob('config/*'))),
    ],
    entry_points={
        'console_scripts': [
            f'motor = {NAME}.main:run',
            f'demo_body = {NAME}.demo_body:run',
            f'demo_mount = {NAME}.demo_mount:run',
            f'motor_top = {NAME}.top:run',
            f'motor_view = {NAME}.view:run',
            f'motor_check = {NAME}.check.command:run',
            f'motor_replay = {NAME}.offline.replay_command:run',
            f'motor_identify = {NAME}.offline.identifying.command:run',
            f'motor_sweep = {NAME}.offline.sweeping.command:run',
            f'motor_report = {NAME}.offline.reporting.command:run',
        ],
    },
)
