"""Faults of a bench on the node itself, by their numbers in doc/faults.md."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TransformStamped, TwistStamped, Vector3Stamped, WrenchStamped
from mime_motor_ros.taking import MOST_BYTES
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from wire_messages import imu, stamp, tf

pytestmark = pytest.mark.ros

STILL = {'world_frame': 'base_link', 'rate_source': 'zero'}
TWO = {'motors': ['left', 'right'], 'right__initial_spin': 5.0}
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
STAMPED = {
    '/motor/reaction': WrenchStamped,
    '/motor/mount_wrench': WrenchStamped,
    '/motor/momentum': Vector3Stamped,
    '/motor/left/rotor_twist': TwistStamped,
    '/joint_states': JointState,
}


def headers(bench):
    """Return the header of every message that has come of the stamped topics, and transforms."""
    found = [message.header for topic in STAMPED for message in bench.heard(topic)]
    for topic in ('/tf', '/tf_static'):
        found += [t.header for message in bench.heard(topic) for t in message.transforms]
    return found


def listening(make_bench, **values):
    bench = make_bench(**STILL, **TWO, rate=100.0, tf_rate=0.0, **values)
    for topic, kind in STAMPED.items():
        bench.hear(kind, topic)
    bench.hear(TFMessage, '/tf')
    bench.hear(TFMessage, '/tf_static', LATCHED)
    return bench


def test_T11_one_cycle_looks_at_the_clock_once(make_bench, monkeypatch):
    bench = make_bench(**STILL, rate=100.0)
    bench.tick(1.0)
    clock = bench.motor.get_clock()
    looks, now = [], type(clock).now

    def counted(self):
        looks.append(self is clock)
        return now(self)

    monkeypatch.setattr(type(clock), 'now', counted)
    assert len(bench.tick(1.05)) == 5
    assert sum(looks) == 1


def test_T12_every_stamp_is_of_the_simulated_clock(make_bench):
    bench = listening(make_bench)
    bench.hear(DiagnosticArray, '/diagnostics')
    bench.tick(5.0)
    bench.tick(5.01)
    bench.motor.diagnostics.publish()
    found = [*headers(bench), *(message.header for message in bench.heard('/diagnostics'))]
    assert len(found) == 5 + 2 + 2 + 1  # stamped topics, rotors, stators, diagnostics
    assert {header.stamp.sec for header in found} == {5}


def test_T13_each_transform_has_a_stamp_of_its_own_over_ten_seconds(make_bench):
    bench = listening(make_bench)
    sent = []
    for k in range(41):
        bench.tick(5.0 + 0.25 * k)
        if k:
            sent += bench.heard('/tf', 25)
    stamps = [
        (t.child_frame_id, t.header.stamp.sec, t.header.stamp.nanosec)
        for message in sent
        for t in message.transforms
    ]
    assert len(stamps) == len(set(stamps)) == 2 * 1000


def test_T16_T05_without_a_clock_or_a_transform_services_are_answered(make_bench):
    from rclpy.executors import SingleThreadedExecutor
    from std_srvs.srv import Trigger

    bench = make_bench()
    client = bench.peer.create_client(Trigger, 'motor/reset')
    executor = SingleThreadedExecutor(context=bench.motor.context)
    executor.add_node(bench.motor)
    executor.add_node(bench.peer)
    bench.until(client.service_is_ready, 'the service')
    future = client.call_async(Trigger.Request())
    bench.until(lambda: executor.spin_once(timeout_sec=0.01) or future.done(), 'the answer')
    assert future.result().success
    assert bench.motor.cycle() == []
    executor.shutdown()


def test_T21_a_placement_set_while_it_runs_is_refused_with_the_reason(make_bench):
    motor = make_bench().motor
    result = motor.set_parameters_atomically(
        [Parameter('wheel.placement.xyz', value=[1.0, 0.0, 0.0])]
    )
    assert not result.successful
    assert result.reason == (
        'wheel.placement.xyz is read-only: it is taken at the start. Start the node anew with it.'
    )
    assert list(motor.get_parameter('wheel.placement.xyz').value) == [0.0, 0.0, 0.0]


def test_T23_T19_every_frame_we_name_is_in_the_tree_and_none_is_empty(make_bench):
    bench = listening(make_bench)
    bench.tick(5.0)
    bench.tick(5.01)
    found = headers(bench)
    tree = {'base_link', 'left_stator', 'right_stator', 'left_rotor', 'right_rotor'}
    # A JointState has no frame: REP 103 and its definition give it none.
    assert {header.frame_id for header in found} - {''} <= tree
    assert len([header for header in found if not header.frame_id]) == 1


def test_T24_joint_states_have_all_that_a_state_publisher_needs_at_every_step(make_bench):
    bench = listening(make_bench)
    bench.tick(5.0)
    bench.tick(5.1)
    states = bench.heard('/joint_states', 10)
    times = [s.header.stamp.sec * 10**9 + s.header.stamp.nanosec for s in states]
    assert times == [5 * 10**9 + 10**7 * (k + 1) for k in range(10)]
    assert all(s.name == ['left_joint', 'right_joint'] for s in states)
    assert all(len(s.position) == len(s.velocity) == len(s.effort) == 2 for s in states)
    assert states[-1].position[1] > states[0].position[1]


def test_T25_the_transforms_of_a_message_keep_the_order_of_the_motors(make_bench):
    bench = listening(make_bench)
    bench.tick(5.0)
    bench.tick(5.1)
    children = {tuple(t.child_frame_id for t in m.transforms) for m in bench.heard('/tf', 10)}
    assert children == {('left_rotor', 'right_rotor')}
    (latched,) = bench.heard('/tf_static')
    assert [t.child_frame_id for t in latched.transforms] == ['left_stator', 'right_stator']


# floods


def test_a_flood_of_frames_fills_no_memory_and_stops_no_step(make_bench):
    bench = make_bench(rate=100.0)
    session = bench.motor.session
    now = 1.0
    for k in range(40):
        message = TFMessage(
            transforms=[
                TransformStamped(child_frame_id=f'tag {k} {i}', header=tf_header(now))
                for i in range(250)
            ]
        )
        bench.send(message, '/tf')
        bench.send(tf(now, 'odom', 'base_link'), '/tf')
        bench.send(imu(now, (0.0, 0.0, 1.0)), 'imu/data')
        made = bench.tick(now)
        assert k == 0 or len(made) == 1, session.waiting
        now += 0.01
    assert session.held['frames'] <= 4096
    assert session.counts['tf', 'frames'] > 5000
    assert session.held['samples waiting'] == 0


def test_a_flood_of_commands_and_samples_is_read_in_bounded_pieces(make_bench):
    bench = make_bench(rate=100.0, step_on='imu')
    bench.tick(1.0)
    senders = [
        (bench.peer.create_publisher(Imu, 'imu/data', 20_000), lambda k: imu(1.0, (k, 0.0, 0.0))),
        (
            bench.peer.create_publisher(Float64MultiArray, '/motor/commands', 20_000),
            lambda k: Float64MultiArray(data=[k]),
        ),
    ]
    for publisher, _ in senders:
        bench.until(lambda p=publisher: p.get_subscription_count() > 0, 'a reader')
    for k in range(3000):
        for publisher, message in senders:
            publisher.publish(message(float(k)))
        if k % 100 == 0:
            bench.tick(1.0 + k * 1e-5)
    bench.tick(1.1)
    assert sum(bench.motor.session.held.values()) < 100
    assert bench.motor.received['imu'] > 100
    assert bench.motor.session.counts['imu', 'repeated'] > 100


def test_no_cycle_reads_more_bytes_than_its_share(make_bench):
    bench = make_bench(**STILL)
    publisher = bench.peer.create_publisher(Float64MultiArray, '/motor/commands', 10)
    bench.until(lambda: publisher.get_subscription_count() > 0, 'a reader')
    count = MOST_BYTES // 8 // 2
    for _ in range(4):
        publisher.publish(Float64MultiArray(data=[0.0] * count))
    pieces = []
    bench.until(lambda: pieces.append(len(bench.motor._read())) or sum(pieces) == 4, 'all four')
    assert max(pieces) <= 2


def tf_header(seconds):
    header = TransformStamped().header
    header.stamp, header.frame_id = stamp(seconds), 'odom'
    return header


def test_values_of_no_known_type_and_long_requests_are_refused(make_bench):
    bench = make_bench(**STILL)
    services = bench.motor._parameter_services
    odd = ParameterMessage(name='wheel.inertia', value=ParameterValue(type=99))
    good = ParameterMessage(name='max_gap', value=ParameterValue(type=3, double_value=0.25))
    each = services._set_parameters_callback(
        SetParameters.Request(parameters=[odd, good]), SetParameters.Response()
    )
    assert [result.successful for result in each.results] == [False, True]
    assert each.results[0].reason == 'wheel.inertia must have a known type of parameter, got 99.'
    both = services._set_parameters_atomically_callback(
        SetParametersAtomically.Request(parameters=[good, odd]),
        SetParametersAtomically.Response(),
    )
    assert not both.result.successful
    many = services._set_parameters_callback(
        SetParameters.Request(parameters=[good] * 1001), SetParameters.Response()
    )
    assert [x.reason for x in many.results] == [
        'a request must have at most 1000 parameters, got 1001.'
    ]


def test_an_override_that_is_none_cannot_be_set_live(make_bench):
    bench = make_bench(**STILL)
    name = 'qos_overrides./tf.publisher.depth'
    (answer,) = bench.motor.set_parameters([Parameter(name, value=3)])
    assert answer.reason == f'{name!r} must be the name of a parameter of this node, got 3.'
