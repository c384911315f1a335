"""The node on real rclpy: topics, parameters, services, and numbers that come back bit for bit."""

from threading import Thread
import time
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import (
    InertiaStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
from mime_motor_ros.errors import ParameterError
from mime_motor_ros.inputs import Commands
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs, Wrench
from mime_motor_ros.node import loop, MotorNode
from mime_motor_ros.settings import parameters
from mime_motor_ros.stopping import Stop
from nav_msgs.msg import Odometry
import pytest
from rclpy.clock import ClockType
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time as RclpyTime
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64, Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from wire_messages import imu, stamp, tf

pytestmark = pytest.mark.ros

STILL = {'world_frame': 'base_link', 'rate_source': 'zero'}
TWO = {
    'motors': ['left', 'right'],
    'left__inertia': 1e-3,
    'left__damping': 2e-3,
    'left__initial_spin': 7.0,
    'right__inertia': 2e-3,
    'right__axis': [0.0, 1.0, 0.0],
    'right__initial_spin': -3.0,
    'right__placement__xyz': [0.0, 0.2, 0.0],
    'right__placement__rpy': [0.1, 0.2, 0.3],
    'right__asymmetry': [1e-4, 0.0, 0.0, 0.0, 0.0, -1e-4],
}
PER_MOTOR = {
    'reaction': WrenchStamped,
    'mount_wrench': WrenchStamped,
    'momentum': Vector3Stamped,
    'stator_twist': TwistStamped,
    'rotor_twist': TwistStamped,
    'asymmetry': InertiaStamped,
    'asymmetry_next': InertiaStamped,
    'spin': Float64,
}


def vector(v):
    return (v.x, v.y, v.z)


def wrench(message):
    return Wrench(vector(message.wrench.force), vector(message.wrench.torque))


def test_every_topic_of_the_table_is_there_with_its_type(make_bench):
    motor = make_bench().motor
    name, space = motor.get_name(), motor.get_namespace()
    out = dict(motor.get_publisher_names_and_types_by_node(name, space))
    assert out['/motor/reaction'] == ['geometry_msgs/msg/WrenchStamped']
    assert out['/motor/mount_wrench'] == ['geometry_msgs/msg/WrenchStamped']
    assert out['/motor/momentum'] == ['geometry_msgs/msg/Vector3Stamped']
    assert out['/joint_states'] == ['sensor_msgs/msg/JointState']
    assert out['/tf'] == out['/tf_static'] == ['tf2_msgs/msg/TFMessage']
    assert out['/diagnostics'] == ['diagnostic_msgs/msg/DiagnosticArray']
    for topic, kind in PER_MOTOR.items():
        package = 'std' if kind is Float64 else 'geometry'
        assert out[f'/motor/wheel/{topic}'] == [f'{package}_msgs/msg/{kind.__name__}']
    into = dict(motor.get_subscriber_names_and_types_by_node(name, space))
    assert into['/tf'] == into['/tf_static'] == ['tf2_msgs/msg/TFMessage']
    assert into['/imu/data'] == ['sensor_msgs/msg/Imu']
    assert into['/motor/commands'] == ['std_msgs/msg/Float64MultiArray']
    assert into['/motor/joint_command'] == ['sensor_msgs/msg/JointState']
    assert into['/motor/wheel/rotor_wrench'] == ['geometry_msgs/msg/WrenchStamped']
    assert into['/motor/wheel/stator_wrench'] == ['geometry_msgs/msg/WrenchStamped']
    services = dict(motor.get_service_names_and_types_by_node(name, space))
    assert services['/motor/reset'] == ['std_srvs/srv/Trigger']
    assert services['/motor/pause'] == services['/motor/enable'] == ['std_srvs/srv/SetBool']


@pytest.mark.parametrize(
    ('source', 'topic', 'kind'),
    [
        ('twist', '/mount_twist', 'geometry_msgs/msg/TwistStamped'),
        ('odometry', '/odom', 'nav_msgs/msg/Odometry'),
    ],
)
def test_other_rate_sources_have_their_own_topics(make_bench, source, topic, kind):
    motor = make_bench(rate_source=source).motor
    into = dict(motor.get_subscriber_names_and_types_by_node('motor', '/'))
    assert into[topic] == [kind]
    assert '/imu/data' not in into


def test_the_qualities_of_service(make_bench):
    motor = make_bench().motor
    (reaction,) = motor.get_publishers_info_by_topic('/motor/reaction')
    assert reaction.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert reaction.qos_profile.durability == DurabilityPolicy.VOLATILE
    (static,) = motor.get_publishers_info_by_topic('/tf_static')
    assert static.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    (rate,) = motor.get_subscriptions_info_by_topic('/imu/data')
    assert rate.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    names = motor.get_parameters_by_prefix('qos_overrides')
    assert any(name.startswith('/motor/reaction.publisher') for name in names)
    assert any(name.startswith('/imu/data.subscription') for name in names)


def test_every_number_that_leaves_comes_back_bit_for_bit(make_bench):
    bench = make_bench(**TWO, rate=100.0, tf_rate=0.0)
    half = 0.5**0.5
    shared = {
        'motor/reaction': WrenchStamped,
        'motor/mount_wrench': WrenchStamped,
        'motor/momentum': Vector3Stamped,
        'joint_states': JointState,
        '/tf': TFMessage,
    }
    for topic, kind in shared.items():
        bench.hear(kind, topic)
    for topic, kind in PER_MOTOR.items():
        bench.hear(kind, f'motor/right/{topic}')
    bench.send(tf(9.999, 'odom', 'base_link', (1.0, 2.0, 3.0), (0.0, half, 0.0, half)), '/tf')
    bench.send(imu(9.999, (0.3, -0.4, 0.5)), 'imu/data')
    bench.tick(10.0)
    bench.send(Float64MultiArray(data=[0.01, -0.02]), 'motor/commands')
    outcomes = bench.tick(10.003) + bench.tick(10.021)
    assert [outcome.stamp_ns for outcome in outcomes] == [10_010_000_000, 10_020_000_000]
    assert outcomes[0].torques == (0.01, -0.02)

    def check(topic, read):
        for message, outcome in zip(bench.heard(topic, 2), outcomes, strict=True):
            assert message.header.stamp == stamp(outcome.stamp_ns * 1e-9)
            assert message.header.frame_id == ('base_link' if topic != 'joint_states' else '')
            read(message, outcome)

    def equal(read, of):
        def compare(message, outcome):
            assert read(message) == of(outcome)

        return compare

    check('motor/reaction', equal(wrench, lambda o: o.reaction()))
    check('motor/mount_wrench', equal(wrench, lambda o: o.mount_wrench()))
    check('motor/momentum', equal(lambda m: vector(m.vector), lambda o: o.momentum()))
    own = 'motor/right'
    check(f'{own}/reaction', equal(wrench, lambda o: o.reaction(1)))
    check(f'{own}/mount_wrench', equal(wrench, lambda o: o.mount_wrench(1)))
    check(f'{own}/momentum', equal(lambda m: vector(m.vector), lambda o: o.momentum(1)))
    check(
        f'{own}/stator_twist',
        equal(
            lambda m: vector(m.twist.angular),
            lambda o: o.in_mount(o.steps[1].stator_angular_velocity),
        ),
    )
    check(
        f'{own}/rotor_twist',
        equal(
            lambda m: vector(m.twist.angular),
            lambda o: o.in_mount(o.steps[1].rotor_angular_velocity),
        ),
    )
    for topic, field in (('asymmetry', 'asymmetry_now'), ('asymmetry_next', 'asymmetry_next')):

        def six(rows):
            return (*rows[0], *rows[1][1:], rows[2][2])

        check(
            f'{own}/{topic}',
            equal(
                lambda m: tuple(
                    getattr(m.inertia, f'i{ij}') for ij in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')
                ),
                lambda o, field=field: six(o.tensor_in_mount(getattr(o.steps[1], field))),
            ),
        )
    check(
        'joint_states',
        equal(
            lambda m: (list(m.name), list(m.position), list(m.velocity), list(m.effort)),
            lambda o: (
                ['left_joint', 'right_joint'],
                [s.state.angle for s in o.steps],
                [s.relative_speed for s in o.steps],
                list(o.torques),
            ),
        ),
    )
    spins = [message.data for message in bench.heard(f'{own}/spin', 2)]
    assert spins == [outcome.steps[1].state.spin for outcome in outcomes]
    ours = [m for m in bench.heard('/tf', 3) if len(m.transforms) == 2]
    for message, outcome in zip(ours, outcomes, strict=True):
        for i, (transform, motor) in enumerate(
            zip(message.transforms, ('left', 'right'), strict=True)
        ):
            assert transform.header.frame_id == f'{motor}_stator'
            assert transform.child_frame_id == f'{motor}_rotor'
            r = transform.transform.rotation
            axis = bench.motor.session.settings.motors[i].model.axis
            assert (r.x, r.y, r.z, r.w) == outcome.rotor_in_stator(i, axis).orientation


def test_the_step_is_that_of_the_model(make_bench):
    bench = make_bench(
        rate=100.0,
        wheel__inertia=2e-4,
        wheel__damping=1e-3,
        wheel__initial_spin=50.0,
        wheel__placement__xyz=[0.1, 0.0, 0.0],
    )
    bench.send(tf(1.0, 'odom', 'base_link'), '/tf')
    bench.send(imu(1.0, (0.1, 0.2, 0.3)), 'imu/data')
    bench.tick(1.0)
    (outcome,) = bench.tick(1.011)
    expected = advance(
        MotorParameters(2e-4, 1e-3, placement=Pose((0.1, 0.0, 0.0))),
        MotorState(0.0, 50.0),
        StepInputs(mount_angular_velocity=(0.1, 0.2, 0.3)),
        0.01,
    )
    assert outcome.steps == (expected,)


def test_reaction_and_momentum_are_sums_over_the_motors_in_mount_axes(make_bench):
    bench = make_bench(**TWO, **STILL, rate=100.0)
    bench.tick(1.0)
    (outcome,) = bench.tick(1.01)
    left, right = outcome.reaction(0), outcome.reaction(1)
    assert outcome.reaction().torque == pytest.approx(
        [a + b for a, b in zip(left.torque, right.torque, strict=True)], rel=1e-12
    )
    assert outcome.momentum(0) == pytest.approx((0.0, 0.0, 1e-3 * outcome.steps[0].state.spin))


def test_nothing_is_built_for_a_topic_nobody_reads(make_bench, monkeypatch):
    bench = make_bench(**STILL, wheel__encoder__counts=100)
    bench.hear(Float64, 'motor/wheel/spin')
    built = []
    for output in bench.motor.outputs:

        def send(*args, real=output.send, name=output.publisher.topic_name):
            built.append(name)
            real(*args)

        monkeypatch.setattr(output, 'send', send)
    bench.tick(1.0)
    bench.tick(1.0011)
    bench.heard('motor/wheel/spin')
    assert set(built) == {'/motor/wheel/spin'}


def test_T05_T10_the_first_clock_is_a_start_and_nothing_is_stamped_zero(make_bench):
    bench = make_bench(**STILL, rate=100.0)
    bench.hear(JointState, 'joint_states')
    assert bench.tick(0.0) == []
    assert bench.tick(1000.0) == []
    assert bench.silent('joint_states')
    (outcome,) = bench.tick(1000.011)
    assert outcome.stamp_ns == 1_000_010_000_000


def test_T03_a_blocked_node_catches_up_with_the_same_numbers(make_bench):
    values = {**STILL, 'rate': 100.0, 'wheel__initial_spin': 10.0, 'wheel__damping': 1e-3}
    blocked, smooth = make_bench(**values), make_bench(**values)
    blocked.tick(1.0)
    late = blocked.tick(1.105)
    smooth.tick(1.0)
    steady = [o for k in range(1, 12) for o in smooth.tick(1.0 + 0.01 * k - 0.005 * (k == 11))]
    assert len(late) == 10
    assert late == steady


def test_the_stators_are_sent_once_in_one_latched_message(make_bench):
    bench = make_bench(**TWO, **STILL)
    bench.tick(5.0)
    bench.tick(5.1)
    bench.hear(
        TFMessage, '/tf_static', QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    (message,) = bench.heard('/tf_static')
    assert [t.child_frame_id for t in message.transforms] == ['left_stator', 'right_stator']
    assert {t.header.frame_id for t in message.transforms} == {'base_link'}
    assert vector(message.transforms[1].transform.translation) == (0.0, 0.2, 0.0)
    assert message.transforms[0].header.stamp == stamp(5.0)


def test_publish_tf_false_leaves_the_frames_to_somebody_else(make_bench):
    motor = make_bench(**STILL, publish_tf=False).motor
    out = dict(motor.get_publisher_names_and_types_by_node('motor', '/'))
    assert '/tf' not in out
    assert '/tf_static' not in out


def test_T20_somebody_elses_frame_of_our_name_is_an_error(make_bench):
    bench = make_bench(**STILL)
    bench.tick(1.0)
    bench.tick(1.02)
    bench.send(tf(1.02, 'elsewhere', 'wheel_rotor'), '/tf')
    bench.tick(1.04)
    assert bench.motor.foreign == ['wheel_rotor']
    status = {s.name: s for s in bench.motor.diagnostics._statuses()}['motor: transforms']
    assert status.level == b'\x02'
    assert 'wheel_rotor' in status.message


def test_T20_a_twin_with_the_same_frames_on_the_same_grid_is_an_error(make_bench):
    bench = make_bench(**STILL, tf_rate=100.0)
    bench.tick(1.0)
    bench.tick(1.01)
    bench.until(lambda: bench.tick(1.012) or not bench.motor._sent, 'our own transforms')
    assert bench.motor.foreign == []
    bench.send(tf(1.01, 'wheel_stator', 'wheel_rotor'), '/tf')  # as ours to the bit
    bench.tick(1.013)
    assert bench.motor.foreign == ['wheel_rotor']


def test_our_own_transforms_that_come_back_are_no_error(make_bench):
    bench = make_bench(**STILL, tf_rate=0.0)
    bench.tick(1.0)
    bench.tick(1.005)
    bench.until(lambda: bench._read() >= 2, 'our own transforms')
    bench.tick(1.01)
    assert bench.motor.foreign == []


def test_frame_prefix_goes_before_our_frames_alone(make_bench):
    motor = make_bench(frame_prefix='r1/').motor.session.settings.motors[0]
    assert (motor.stator_frame, motor.rotor_frame) == ('r1/wheel_stator', 'r1/wheel_rotor')


def test_odometry_gives_pose_and_rate_in_one_message(make_bench):
    bench = make_bench(rate_source='odometry', rate=100.0)
    message = Odometry()
    message.header.stamp, message.header.frame_id = stamp(1.0), 'odom'
    message.child_frame_id = 'base_link'
    half = 0.5**0.5
    q = message.pose.pose.orientation
    q.x, q.w = half, half
    message.twist.twist.angular.z = 0.5
    bench.send(message, 'odom')
    bench.tick(1.0)
    (outcome,) = bench.tick(1.01)
    assert outcome.rate == pytest.approx((0.0, -0.5, 0.0), abs=1e-15)
    assert outcome.mount.orientation == pytest.approx((half, 0.0, 0.0, half))


def test_a_twist_is_the_rate_in_its_own_frame(make_bench):
    bench = make_bench(rate_source='twist', rate=100.0)
    message = TwistStamped()
    message.header.stamp, message.header.frame_id = stamp(1.0), 'base_link'
    message.twist.angular.x = 0.25
    bench.send(tf(1.0, 'odom', 'base_link'), '/tf')
    bench.send(message, 'mount_twist')
    bench.tick(1.0)
    (outcome,) = bench.tick(1.01)
    assert outcome.rate == (0.25, 0.0, 0.0)


def test_joint_command_is_by_name_and_loads_are_by_frame(make_bench):
    bench = make_bench(**TWO, **STILL, rate=100.0)
    bench.tick(1.0)
    bench.send(JointState(name=['right_joint'], effort=[0.5]), 'motor/joint_command')
    load = WrenchStamped()
    load.header.stamp, load.header.frame_id = stamp(1.0), 'base_link'
    load.wrench.torque.z, load.wrench.force.x = 0.125, 2.0
    bench.send(load, 'motor/left/rotor_wrench')
    (outcome,) = bench.tick(1.01)
    assert outcome.torques == (0.0, 0.5)
    assert outcome.steps[0].load_torque == 0.125
    assert outcome.reaction(0).force == (2.0, 0.0, 0.0)


@pytest.mark.parametrize('reliability', list(ReliabilityPolicy)[1:3])
def test_T32_reliable_and_best_effort_drivers_both_feed_us(make_bench, reliability):
    bench = make_bench(rate=100.0)
    bench.send(imu(1.0, (0.0, 0.0, 1.0)), 'imu/data', QoSProfile(depth=5, reliability=reliability))
    bench.tick(1.0)
    assert bench.motor.session._rate.value is None
    bench.tick(1.01)
    assert bench.motor.session._rate.value == ('base_link', (0.0, 0.0, 1.0))


def test_hostile_messages_are_counted_and_nothing_known_is_lost(make_bench):
    nan = float('nan')
    bench = make_bench(rate=100.0, command_timeout=0.0, pose_timeout=9.0, rate_timeout=9.0)
    bench.send(tf(1.0, 'odom', 'base_link'), '/tf')
    bench.send(imu(1.0, (0.0, 0.0, 1.0)), 'imu/data')
    bench.tick(1.0)
    bench.send(Float64MultiArray(data=[0.5]), 'motor/commands')
    bench.tick(1.01)
    bench.send(imu(1.02, (nan, 0.0, 0.0)), 'imu/data')
    refused = imu(1.02, (1.0, 0.0, 0.0))
    refused.angular_velocity_covariance[0] = -1.0
    bench.send(refused, 'imu/data')
    bench.send(imu(1.02, (1.0, 0.0, 0.0), frame=''), 'imu/data')
    bench.send(tf(1.02, 'odom', 'base_link', xyzw=(0.0, 0.0, 0.0, 0.0)), '/tf')
    bench.send(tf(1.02, 'base_link', 'base_link'), '/tf')
    bench.send(Float64MultiArray(data=[nan]), 'motor/commands')
    bench.send(Float64MultiArray(data=[1.0, 2.0]), 'motor/commands')
    bench.send(JointState(name=['nobody'], effort=[1.0]), 'motor/joint_command')
    outcomes = bench.tick(1.03)
    assert outcomes[-1].torques == (0.5,)
    assert outcomes[-1].rate == (0.0, 0.0, 1.0)
    counts = bench.motor.session.counts
    for source, reason in (
        ('imu', 'non-finite'),
        ('imu', 'covariance'),
        ('imu', 'frame'),
        ('tf', 'quaternion'),
        ('tf', 'frame'),
        ('commands', 'non-finite'),
        ('commands', 'size'),
        ('joint_command', 'name'),
    ):
        assert counts[source, reason] == 1, (source, reason)


# parameters


def test_every_parameter_is_described_with_its_unit_and_only_live_ones_may_change(make_bench):
    motor = make_bench().motor
    for name, parameter in parameters(['wheel']).items():
        descriptor = motor.describe_parameter(name)
        assert descriptor.description.startswith(parameter.text)
        assert f'[{parameter.unit}]' in descriptor.description or not parameter.unit
        assert descriptor.read_only is not parameter.live, name
        default = parameter.default
        value = motor.get_parameter(name).value
        assert (tuple(value) if isinstance(default, tuple) else value) == default, name


def test_T43_an_int_is_taken_for_a_double(make_bench):
    motor = make_bench(rate=200, wheel__axis=[0, 0, 1], wheel__inertia=1).motor
    assert motor.get_parameter('rate').value == 200.0
    assert motor.get_parameter('wheel.axis').value == [0.0, 0.0, 1.0]
    assert motor.session.settings.motors[0].model.inertia == 1.0
    assert motor.set_parameters([Parameter('wheel.inertia', value=2)])[0].successful
    assert motor.get_parameter('wheel.inertia').value == 2.0


def test_T46_a_misspelt_parameter_names_the_nearest(make_bench):
    with pytest.raises(
        ParameterError, match=r'wheel\.inertai must be .* Did you mean wheel\.inertia\?'
    ):
        make_bench(wheel__inertai=0.1)


def test_T47_a_bad_value_set_live_changes_nothing_and_says_what_the_start_says(make_bench):
    motor = make_bench().motor
    before = motor.session.settings
    result = motor.set_parameters_atomically(
        [Parameter('wheel.damping', value=0.5), Parameter('wheel.inertia', value=-1.0)]
    )
    assert not result.successful
    assert result.reason == 'wheel.inertia must be finite and > 0 kg m^2, got -1.0.'
    assert motor.session.settings is before
    assert motor.get_parameter('wheel.damping').value == 1e-5
    (result,) = motor.set_parameters([Parameter('wheel.axis', value=[0.0, 0.0, 0.0])])
    assert 'wheel.axis must be' in result.reason
    (result,) = motor.set_parameters([Parameter('rate', value=500.0)])
    assert 'read-only' in result.reason
    assert motor.set_parameters_atomically(
        [Parameter('wheel.damping', value=0.5), Parameter('wheel.inertia', value=2e-3)]
    ).successful
    model = motor.session.settings.motors[0].model
    assert (model.damping, model.inertia) == (0.5, 2e-3)


def test_rotor_inertia_shows_as_the_inertia_and_asymmetry_that_act(make_bench):
    motor = make_bench(wheel__rotor_inertia=[3e-4, 0.0, 0.0, 2e-4, 0.0, 4e-4]).motor
    assert motor.get_parameter('wheel.inertia').value == 4e-4
    assert motor.get_parameter('wheel.asymmetry').value == pytest.approx(
        [0.5e-4, 0.0, 0.0, -0.5e-4, 0.0, 0.0], abs=1e-18
    )


# services


def call(bench, kind, name, request):
    from rclpy.executors import SingleThreadedExecutor

    client = bench.peer.create_client(kind, name)
    executor = SingleThreadedExecutor(context=bench.motor.context)
    executor.add_node(bench.motor)
    executor.add_node(bench.peer)
    assert client.wait_for_service(10.0)
    future = client.call_async(request)
    executor.spin_until_future_complete(future, timeout_sec=10.0)
    executor.remove_node(bench.motor)
    executor.remove_node(bench.peer)
    return future.result()


def test_reset_puts_back_the_initial_state(make_bench):
    bench = make_bench(**STILL, rate=100.0, wheel__initial_spin=5.0, wheel__damping=1e-3)
    bench.tick(1.0)
    bench.tick(1.1)
    assert bench.motor.session.states[0].spin < 5.0
    assert call(bench, Trigger, 'motor/reset', Trigger.Request()).success
    assert bench.motor.session.states[0] == MotorState(0.0, 5.0)
    assert bench.tick(1.11)[0].stamp_ns == 1_110_000_000


def test_pause_holds_time_and_goes_on_without_an_impulse(make_bench):
    bench = make_bench(**STILL, rate=100.0, wheel__initial_spin=5.0, wheel__damping=1e-3)
    bench.tick(1.0)
    (one,) = bench.tick(1.01)
    assert call(bench, SetBool, 'motor/pause', SetBool.Request(data=True)).success
    assert bench.tick(1.2) == []
    assert call(bench, SetBool, 'motor/pause', SetBool.Request(data=False)).success
    (two,) = bench.tick(1.21)
    assert two.dt == one.dt
    j, b = 1e-4, 1e-3
    assert two.steps[0].state.spin == one.steps[0].state.spin * j / (j + 0.01 * b)


def test_enable_false_lets_the_rotor_coast(make_bench):
    bench = make_bench(**STILL, rate=100.0, command_timeout=0.0)
    bench.tick(1.0)
    bench.motor.session.take(Commands((0.5,)), bench.now_ns)
    (driven,) = bench.tick(1.01)
    assert driven.torques == (0.5,)
    call(bench, SetBool, 'motor/enable', SetBool.Request(data=False))
    (coasting,) = bench.tick(1.02)
    assert coasting.torques == (0.0,)
    call(bench, SetBool, 'motor/enable', SetBool.Request(data=True))
    assert bench.tick(1.03)[0].torques == (0.5,)


def test_T47_a_name_that_is_none_of_ours_cannot_be_set(make_bench):
    motor = make_bench().motor
    for name in ('joy_vendor', ''):
        result = motor.set_parameters_atomically([Parameter(name, value=1.0)])
        assert (result.successful, result.reason) == (
            False,
            f'{name!r} must be the name of a parameter of this node, got 1.0.',
        )


def test_an_override_of_one_topic_leaves_the_others_alone(make_bench):
    changed = {
        'qos_overrides./imu/data.subscription.reliability': 'reliable',
        'qos_overrides./imu/data.subscription.depth': 7,
        'qos_overrides./motor/reaction.publisher.depth': 77,
    }
    motor = make_bench(rate_source='imu', pose_source='odometry', **changed).motor
    read = {subscription.topic_name: subscription for _, subscription, _ in motor.inputs}
    assert read['/imu/data'].qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert read['/imu/data'].qos_profile.depth == 7
    assert read['/odom'].qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert read['/odom'].qos_profile.depth == 1000
    depths = {p.topic_name: p.qos_profile.depth for p in motor.publishers}
    assert depths['/motor/reaction'] == 77
    assert depths['/motor/mount_wrench'] == depths['/joint_states'] == 10


# diagnostics


def test_diagnostics_have_one_status_for_each_thing_that_can_fail(make_bench):
    bench = make_bench(rate=100.0)
    bench.hear(DiagnosticArray, '/diagnostics')
    bench.tick(1.0)
    bench.tick(1.1)
    bench.motor.diagnostics.publish()
    (message,) = bench.heard('/diagnostics')
    statuses = {status.name: status for status in message.status}
    assert list(statuses) == [
        f'motor: {name}'
        for name in (
            'mount pose',
            'mount rate',
            'command',
            'stepping',
            'time',
            'transforms',
            'outputs',
            'wheel',
        )
    ]
    assert {status.hardware_id for status in message.status} == {'/motor'}
    assert statuses['motor: mount pose'].level == b'\x03'
    assert 'tf' in statuses['motor: mount pose'].message
    assert statuses['motor: stepping'].level == b'\x03'
    bench.send(tf(1.1, 'odom', 'base_link'), '/tf')
    bench.send(imu(1.1, (0.0, 0.0, 1.0)), 'imu/data')
    bench.tick(1.12)
    bench.motor.diagnostics.publish()
    (message,) = bench.heard('/diagnostics')
    assert {status.level for status in message.status} == {b'\x00'}


def test_T22_two_motors_in_two_namespaces_do_not_meet(make_bench):
    import rclpy

    context = rclpy.Context()
    rclpy.init(context=context)
    names = set()
    nodes = [
        MotorNode(
            context=context,
            namespace=space,
            cli_args=['--ros-args', '-r', '/tf:=tf', '-r', '/tf_static:=tf_static'],
        )
        for space in ('r1', 'r2')
    ]
    for node in nodes:
        out = dict(node.get_publisher_names_and_types_by_node('motor', node.get_namespace()))
        ours = {
            name for name in out if name not in ('/rosout', '/parameter_events', '/diagnostics')
        }
        assert all(name.startswith(node.get_namespace() + '/') for name in ours)
        assert not names & ours
        names |= ours
        node.destroy_node()
    rclpy.shutdown(context=context)


def test_a_mount_that_static_transforms_place_is_no_reason_to_worry(make_bench):
    bench = make_bench(rate_source='zero', rate=100.0)
    bench.send(
        tf(0.0, 'odom', 'base_link'),
        '/tf_static',
        QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
    )
    bench.tick(1.0)
    assert len(bench.tick(1.01)) == 1
    pose = {s.name: s for s in bench.motor.diagnostics._statuses()}['motor: mount pose']
    assert (pose.level, pose.message) == (b'\x00', 'from tf, by transforms that are all static')


def test_a_fast_rotor_that_coasts_does_not_upset_the_energy_audit(make_bench):
    bench = make_bench(
        **STILL, wheel__damping=0.0, wheel__initial_spin=1e4, command_timeout=0.0, max_gap=5.0
    )
    bench.tick(1.0)
    bench.motor.session.take(Commands((1e-9,)), bench.now_ns)
    bench.tick(3.0)
    wheel = bench.motor.diagnostics._statuses()[-1]
    assert (wheel.level, wheel.name) == (b'\x00', 'motor: wheel')


JUNK = (b'', b'junk', b'no encoding that is known', b'\0\1\0\0' + b'\xff' * 60)
INPUTS = [
    ('/tf', TFMessage, 'tf', 'mount pose'),
    ('/tf_static', TFMessage, 'tf', 'mount pose'),
    ('/imu/data', Imu, 'imu', 'mount rate'),
    ('/motor/commands', Float64MultiArray, 'commands', 'command'),
    ('/motor/joint_command', JointState, 'joint_command', 'command'),
    ('/motor/wheel/rotor_wrench', WrenchStamped, 'wheel rotor_wrench', 'command'),
    ('/clock', Clock, 'clock', 'time'),
]


@pytest.mark.parametrize(('topic', 'kind', 'source', 'status'), INPUTS)
def test_bytes_that_are_no_message_are_counted_and_what_follows_is_read(
    make_bench, topic, kind, source, status
):
    bench = make_bench()
    bench.tick(1.0)
    latched = DurabilityPolicy.TRANSIENT_LOCAL if topic == '/tf_static' else None
    qos = QoSProfile(depth=10, durability=latched or DurabilityPolicy.VOLATILE)
    publisher = bench.peer.create_publisher(kind, topic, qos)
    bench.until(lambda: publisher.get_subscription_count() > 0, f'a reader of {topic}')
    motor, counts = bench.motor, bench.motor.session.counts
    taken = []

    def take():
        taken.extend(motor._read())
        if kind is Clock and motor._follow_clock():
            taken.append('clock')

    junk = JUNK[:2] if kind is Clock else JUNK  # no longer one fits a /clock
    for i, data in enumerate(junk):
        publisher.publish(data)
        if kind is Clock:  # of these only the newest waits
            bench.until(lambda: take() or counts[source, 'unreadable'] > i, 'junk')  # noqa: B023
    publisher.publish(Clock(clock=stamp(2.0)) if kind is Clock else kind())
    bench.until(
        lambda: (
            take() or (counts[source, 'unreadable'] == len(junk) and (taken or kind is TFMessage))
        ),
        'all that was sent',
    )
    assert motor.session.news[f'{topic} unreadable'].startswith(
        f'{topic}: a message cannot be read ('
    )
    statuses = {s.name: s for s in motor.diagnostics._statuses()}
    assert (f'{source} unreadable', str(len(junk))) in [
        (v.key, v.value) for v in statuses[f'motor: {status}'].values
    ]


def test_a_message_too_long_is_not_looked_at(make_bench):
    bench = make_bench()
    publisher = bench.peer.create_publisher(Float64MultiArray, '/motor/commands', 10)
    bench.until(lambda: publisher.get_subscription_count() > 0, 'a reader')
    publisher.publish(Float64MultiArray(data=[0.0] * 100_000))
    counts = bench.motor.session.counts
    bench.until(lambda: bench.motor._read() or counts['commands', 'unreadable'], 'the refusal')
    assert bench.motor.session.news['/motor/commands unreadable'] == (
        '/motor/commands: a message cannot be read (800020 bytes, more than 524288); not used'
    )


@pytest.mark.parametrize(('sec', 'nanosec'), [(-5, 0), (7, 4_000_000_000)])
def test_a_clock_that_is_no_time_is_counted_and_not_followed(make_bench, sec, nanosec):
    bench = make_bench(**STILL)
    bench.tick(1.0)
    publisher = bench.peer.create_publisher(Clock, '/clock', 10)
    bench.until(lambda: publisher.get_subscription_count() > 0, 'a reader of /clock')
    publisher.publish(Clock(clock=Time(sec=sec, nanosec=nanosec)))
    bench.until(
        lambda: bench.motor.cycle() or bench.motor.session.counts['clock', 'unreadable'],
        'the count of a bad /clock',
    )
    assert bench.motor.get_clock().now().nanoseconds == 1_000_000_000


def test_a_long_time_to_catch_up_is_taken_in_pieces(make_bench):
    bench = make_bench(**STILL, max_gap=10.0)
    bench.tick(1.0)
    first = bench.tick(3.0)
    assert 0 < len(first) < 2000
    rest = [outcome for _ in range(10) for outcome in bench.tick(3.0)]
    ends = [outcome.stamp_ns for outcome in first + rest]
    assert ends == list(range(1_001_000_000, 3_000_000_001, 1_000_000))


def test_T01_the_loop_goes_on_at_once_when_the_clock_of_the_machine_is_set_back(context):
    class Shifted:
        """The clock of this machine, and what it is set by."""

        ros_time_is_active, shift_ns = False, 0

        def now(self):
            return RclpyTime(
                nanoseconds=time.time_ns() + self.shift_ns, clock_type=ClockType.ROS_TIME
            )

    given = [Parameter(name, value=value) for name, value in {**STILL, 'rate': 200.0}.items()]
    motor, stop, clock = MotorNode(context=context, parameter_overrides=given), Stop(), Shifted()
    motor.get_clock = lambda: clock
    looped = Thread(target=loop, args=(motor, stop, SimpleNamespace(failure=None)))
    looped.start()

    def until(steps):
        end = time.monotonic() + 5.0
        while motor.session.steps < steps and time.monotonic() < end:
            time.sleep(0.01)
        return motor.session.steps >= steps

    try:
        assert until(50)
        clock.shift_ns = -60_000_000_000
        assert until(motor.session.steps + 100)
        assert motor.session.jumps == 1
    finally:
        stop.asked = True
        looped.join()
        motor.destroy_node()


def test_a_drive_is_commanded_by_its_mode_and_the_mode_is_set_live(make_bench):
    gains = {'wheel__velocity__kp': 1.0, 'wheel__velocity__ki': 10.0}
    bench = make_bench(**STILL, **gains, rate=1000.0, wheel__mode='velocity')
    bench.hear(JointState, 'joint_states')
    bench.tick(1.0)
    command = JointState(name=['wheel_joint'], velocity=[20.0])
    bench.send(command, '/motor/joint_command')
    bench.tick(1.001)  # without a stamp, it acts from its receipt
    bench.tick(1.4)
    last = bench.heard('joint_states', 400)[-1]
    assert last.velocity[0] == pytest.approx(20.0, rel=1e-3)
    (answer,) = bench.motor.set_parameters([Parameter('wheel.mode', value='torque')])
    assert answer.successful
    bench.tick(1.401)
    (after,) = bench.heard('joint_states')
    assert after.effort[0] == last.effort[0]
    (answer,) = bench.motor.set_parameters([Parameter('wheel.mode', value='voltage')])
    assert answer.reason.startswith('wheel.mode must be another one without an armature')
