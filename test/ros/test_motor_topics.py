"""What a motor tells of itself: its state and what its sensors measure, over DDS."""

from control_msgs.msg import DynamicJointState
from mime_motor_ros.drive import Active
from mime_motor_ros.motor import report
import pytest
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

pytestmark = pytest.mark.ros

STILL = {'world_frame': 'base_link', 'rate_source': 'zero', 'rate': 100.0}
MOTOR = {
    **STILL,
    'wheel__voltage__resistance': 0.5,
    'wheel__voltage__torque_constant': 0.02,
    'wheel__winding__thermal_resistance': 2.0,
    'wheel__winding__thermal_capacity': 5.0,
    'wheel__limit__torque': 0.01,
    'wheel__encoder__counts': 1000,
    'wheel__torque_sensor__enabled': True,
}
TOPICS = {'motor/wheel/motor_state': DynamicJointState, 'motor/wheel/measured': JointState}


def begun(make_bench, **values):
    bench = make_bench(**{**MOTOR, **values})
    for topic, kind in TOPICS.items():
        bench.hear(kind, topic)
    bench.tick(1.0)
    bench.send(Float64MultiArray(data=[0.5]), 'motor/commands')
    return bench


def stamp(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def test_the_type_of_the_state_is_that_of_the_distribution():
    """The hash of control_msgs of ROS 2 Jazzy, as other implementations have it."""
    import json
    from pathlib import Path

    from ament_index_python.packages import get_package_share_directory

    share = Path(get_package_share_directory('control_msgs'))
    found = json.loads((share / 'msg' / 'DynamicJointState.json').read_text(encoding='utf-8'))
    hashes = {one['type_name']: one['hash_string'] for one in found['type_hashes']}
    assert hashes['control_msgs/msg/DynamicJointState'] == (
        'RIHS01_18024c98a62697680f581108eeed40b28fb4542fa0ac5a8e36f56c62b6813d26'
    )


def test_the_state_and_the_measurement_come_back_bit_for_bit(make_bench):
    bench = begun(make_bench)
    outcomes = bench.tick(1.05)
    motor = bench.motor.session.settings.motors[0]
    states = bench.heard('motor/wheel/motor_state', 5)
    for message, outcome in zip(states, outcomes, strict=True):
        assert stamp(message) == outcome.stamp_ns
        assert list(message.joint_names) == ['wheel_joint']
        (values,) = message.interface_values
        said = dict(zip(values.interface_names, values.values, strict=True))
        assert said == report(motor, outcome.steps[0], outcome.drives[0])
    assert said['limits'] == Active.TORQUE_LIMIT
    assert said['effort'] == 0.01
    assert said['current'] == 0.5
    assert said['temperature'] > 25.0
    measured = bench.heard('motor/wheel/measured', 5)
    for message, outcome in zip(measured, outcomes, strict=True):
        assert stamp(message) == outcome.stamp_ns
        assert list(message.name) == ['wheel_joint']
        lists = ([] if x is None else [x] for x in outcome.measured[0])
        assert [list(message.position), list(message.velocity), list(message.effort)] == [*lists]
    assert list(measured[0].velocity) == []  # an encoder has no speed at its first sample
    assert list(measured[-1].effort) == [0.01]


def test_the_state_follows_what_is_there_while_running(make_bench):
    bench = make_bench(**STILL)
    bench.hear(DynamicJointState, 'motor/wheel/motor_state')
    bench.tick(1.0)

    def names(seconds):
        bench.tick(seconds)
        return list(bench.heard('motor/wheel/motor_state')[0].interface_values[0].interface_names)

    assert names(1.01) == ['effort', 'friction_torque', 'mechanical_power', 'limits']
    given = {'wheel.voltage.resistance': 0.5, 'wheel.voltage.torque_constant': 0.02}
    result = bench.motor.set_parameters_atomically(
        [Parameter(name, value=value) for name, value in given.items()]
    )
    assert result.successful, result.reason
    assert names(1.02)[-3:] == ['current', 'voltage', 'electrical_power']


def test_without_sensors_there_is_no_topic_of_a_measurement(make_bench):
    topics = [name for name, _ in make_bench(**STILL).motor.get_topic_names_and_types()]
    assert '/motor/wheel/motor_state' in topics
    assert '/motor/wheel/measured' not in topics


@pytest.mark.parametrize(
    ('fault', 'sent'), [('drop', ([], [], [])), ('off', ([0.0], [0.0], [0.0]))]
)
def test_a_fault_is_a_parameter(make_bench, fault, sent):
    bench = begun(make_bench)
    bench.tick(1.05)
    bench.heard('motor/wheel/measured', 5)
    faults = [
        Parameter(f'wheel.fault.{name}', value=fault)
        for name in ('position', 'velocity', 'effort')
    ]
    assert bench.motor.set_parameters_atomically(faults).successful
    bench.tick(1.06)
    bench.heard('motor/wheel/motor_state', 6)
    if fault == 'drop':
        assert bench.silent('motor/wheel/measured')
    else:
        (message,) = bench.heard('motor/wheel/measured')
        assert (list(message.position), list(message.velocity), list(message.effort)) == sent


def test_the_delay_of_a_command_is_a_live_parameter_up_to_its_bound(make_bench):
    bench = make_bench(**STILL, wheel__command__max_delay=0.1)
    result = bench.motor.set_parameters_atomically([Parameter('wheel.command.delay', value=0.2)])
    assert not result.successful
    assert result.reason == (
        'wheel.command.delay must be <= command.max_delay, which is 0.1 s, got 0.2. '
        'Set command.max_delay, at the start.'
    )
    delay = [Parameter('wheel.command.delay', value=0.03)]
    assert bench.motor.set_parameters_atomically(delay).successful
    bench.tick(1.0)
    bench.send(Float64MultiArray(data=[0.5]), 'motor/commands')
    bench.tick(1.01)  # received then
    assert [o.torques[0] for o in bench.tick(1.1)] == [0.0] * 2 + [0.5] * 7
