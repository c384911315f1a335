"""What /diagnostics says: each fault in words that somebody can act on."""

from geometry_msgs.msg import WrenchStamped
from mime_motor_ros import graph
from mime_motor_ros.inputs import Commands
import pytest
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64, Float64MultiArray
from tf2_msgs.msg import TFMessage
from wire_messages import imu, tf

pytestmark = pytest.mark.ros

OK, WARN, ERROR, STALE = b'\x00', b'\x01', b'\x02', b'\x03'
STILL = {'world_frame': 'base_link', 'rate_source': 'zero'}
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def statuses(bench):
    """Look around, and return level and words of every status by its short name."""
    bench.motor.diagnostics.look_around()
    return {
        status.name.removeprefix('motor: '): status
        for status in bench.motor.diagnostics._statuses()
    }


def said(bench, name):
    status = statuses(bench)[name]
    return status.level, status.message


def values(bench, name):
    return {value.key: value.value for value in statuses(bench)[name].values}


def step(bench, seconds, rate=(0.0, 0.0, 1.0)):
    bench.send(tf(seconds, 'odom', 'base_link'), '/tf')
    bench.send(imu(seconds, rate), 'imu/data')
    return bench.tick(seconds)


def knows(bench, topic, publishers=1):
    """Wait until the motor node has seen the publishers of a topic."""

    def known():
        found = bench.motor.get_publishers_info_by_topic(topic)
        return len(found) == publishers and not any(x.node_name.startswith('_') for x in found)

    bench.until(known, f'publishers of {topic}')


def test_T32_an_input_without_publisher_says_so(make_bench):
    bench = make_bench(rate=100.0)
    bench.tick(1.0)
    bench.tick(1.1)
    assert said(bench, 'mount pose') == (
        STALE,
        "no pose of 'base_link' in 'odom' from /tf yet: /tf has no publisher; no transform names "
        "frame 'odom'. Check its spelling and that its publisher runs. The motors are held",
    )
    assert said(bench, 'mount rate') == (
        STALE,
        'no Imu on /imu/data yet: /imu/data has no publisher. The motors are held',
    )
    assert values(bench, 'mount rate')['publishers'] == 'none'


def test_T32_a_publisher_whose_qos_does_not_fit_is_named_with_the_reason(make_bench):
    bench = make_bench(**{'qos_overrides./imu/data.subscription.reliability': 'reliable'})
    bench.peer.create_publisher(Imu, 'imu/data', BEST_EFFORT)
    knows(bench, '/imu/data')
    bench.tick(1.0)
    assert said(bench, 'mount rate') == (
        STALE,
        'no Imu on /imu/data yet: /imu/data has no publisher that fits; nothing comes on '
        '/imu/data from /peer: best effort publisher and reliable subscription. The motors are '
        'held',
    )


def test_T32_a_publisher_of_another_type_is_named(make_bench):
    import rclpy

    bench = make_bench()
    context = rclpy.Context()
    rclpy.init(context=context)
    stranger = rclpy.create_node('stranger', context=context)
    stranger.create_publisher(Float64, '/motor/commands', 10)
    knows(bench, '/motor/commands')
    bench.tick(1.0)
    assert said(bench, 'command') == (
        WARN,
        'none yet: torque 0; nothing comes on /motor/commands from /stranger: '
        'std_msgs/msg/Float64 is not std_msgs/msg/Float64MultiArray',
    )
    stranger.destroy_node()
    rclpy.shutdown(context=context)


def test_T32_a_reader_of_ours_that_gets_nothing_is_named(make_bench):
    bench = make_bench(**STILL)
    bench.tick(1.0)
    assert said(bench, 'outputs') == (OK, '0 of 15 topics are read')
    bench.peer.create_subscription(WrenchStamped, '/motor/reaction', lambda _: None, LATCHED)
    bench.until(lambda: bench.motor.count_subscribers('/motor/reaction') == 1, 'the reader')
    assert said(bench, 'outputs') == (
        WARN,
        'nothing of /motor/reaction goes to /peer: '
        'volatile publisher and transient local subscription',
    )


def test_T31_silence_of_a_sensor_says_for_how_long_and_that_it_is_there(make_bench):
    bench = make_bench(rate=100.0)
    for k in range(3):
        step(bench, 1.0 + 0.01 * k)
    assert {status.level for status in statuses(bench).values()} == {OK}
    bench.send(tf(2.0, 'odom', 'base_link'), '/tf')
    statuses(bench)  # a second in which nothing came from the sensor
    bench.tick(1.3)
    bench.tick(2.0)
    assert said(bench, 'mount rate') == (
        STALE,
        'no Imu on /imu/data for 1.0 s: /peer publishes there, its QoS fits, and nothing comes. '
        'The motors are held',
    )
    assert said(bench, 'stepping')[0] == STALE
    step(bench, 2.01)
    assert said(bench, 'mount rate')[0] == OK


def test_what_is_refused_now_is_a_warning_and_one_of_long_ago_a_number(make_bench):
    bench = make_bench(rate=100.0)
    for k in range(3):
        step(bench, 1.0 + 0.01 * k)
    statuses(bench)
    bench.send(imu(1.03, (float('nan'), 0.0, 0.0)), 'imu/data')
    bench.send(tf(1.03, 'odom', 'base_link'), '/tf')
    bench.tick(1.03)
    level, text = said(bench, 'mount rate')
    assert level == WARN
    assert text.startswith('from imu; refused on /imu/data in the last ')
    assert text.endswith(' s: 1 non-finite (The sender must leave out what it does not know)')
    step(bench, 1.04)
    assert said(bench, 'mount rate') == (OK, 'from imu')
    assert values(bench, 'mount rate')['imu non-finite'] == '1'


def test_what_settle_puts_off_is_not_old(make_bench):
    bench = make_bench(rate=100.0, settle=1.0)
    for k in range(121):
        step(bench, 1.0 + 0.01 * k)
    assert {status.level for status in statuses(bench).values()} == {OK}
    assert abs(float(values(bench, 'mount rate')['age (s)'])) < 0.011


def test_the_rate_is_fine_where_only_the_pose_is_missing(make_bench):
    bench = make_bench(rate=100.0)
    for k in range(3):
        bench.send(imu(1.0 + 0.01 * k, (0.0, 0.0, 1.0)), 'imu/data')
        bench.tick(1.0 + 0.01 * k)
    assert said(bench, 'mount rate') == (OK, 'from imu')
    assert said(bench, 'mount pose')[0] == STALE


def test_T27_a_sensor_that_does_not_report_is_named_by_the_reason(make_bench):
    bench = make_bench(rate=100.0)
    message = imu(1.0, (0.0, 0.0, 1.0))
    message.angular_velocity_covariance[0] = -1.0
    bench.send(tf(1.0, 'odom', 'base_link'), '/tf')
    bench.send(message, 'imu/data')
    bench.tick(1.0)
    bench.tick(1.01)
    level, text = said(bench, 'mount rate')
    assert level == STALE
    assert text.startswith('no usable Imu on /imu/data yet: refused on /imu/data in the last ')
    assert ' s: 1 covariance (Set it to 0 (unknown) in the driver' in text


def test_T55_under_a_slow_clock_the_rate_is_that_of_the_clock(make_bench):
    bench = make_bench(**STILL, rate=100.0)
    bench.tick(1.0)
    statuses(bench)
    bench.tick(1.1)
    assert said(bench, 'stepping') == (OK, '100.0 steps/s')
    status = statuses(bench)['stepping']
    assert status.hardware_id == '/motor'


def test_a_clock_that_stands_still_or_is_not_there_is_said(make_bench, monkeypatch):
    bench = make_bench(**STILL)
    assert said(bench, 'time') == (
        STALE,
        'no clock: nothing on /clock yet (it has no publisher). No steps until it comes',
    )
    bench.tick(1.0)
    assert said(bench, 'time') == (OK, 'follows /clock')
    monkeypatch.setattr('mime_motor_ros.diagnostics.STANDS', 0.0)
    level, text = said(bench, 'time')
    assert (level, text.startswith('/clock stands still for ')) == (WARN, True)
    for _ in range(2):
        bench.peer.create_publisher(Clock, '/clock', 10)
    knows(bench, '/clock', 2)
    bench.tick(1.1)
    assert said(bench, 'time') == (WARN, '/clock has 2 publishers: time may jump between them')


def test_a_command_says_how_often_it_comes_and_from_whom(make_bench):
    bench = make_bench(**STILL)
    bench.tick(1.0)
    bench.send(Float64MultiArray(data=[0.1]), '/motor/commands')
    bench.tick(1.01)
    assert said(bench, 'command') == (OK, 'acts')
    assert values(bench, 'command')['publishers'] == '/peer'
    bench.send(Float64MultiArray(data=[0.1, 0.2]), '/motor/commands')
    bench.tick(1.02)
    level, text = said(bench, 'command')
    assert level == WARN
    assert text.startswith('acts; refused on /motor/commands in the last ')
    bench.tick(1.4)
    bench.tick(1.6)
    assert said(bench, 'command') == (WARN, '0.590 s old, more than 0.5 s: torque 0')


def test_many_motors_are_looked_at_in_turn(make_bench):
    names = [f'm{i}' for i in range(8)]
    bench = make_bench(**STILL, motors=names)
    bench.tick(1.0)
    bench.peer.create_subscription(WrenchStamped, '/motor/m7/reaction', lambda _: None, LATCHED)
    bench.until(lambda: bench.motor.count_subscribers('/motor/m7/reaction') == 1, 'the reader')
    found = [said(bench, 'outputs')[0] for _ in range(4)]
    assert WARN in found


def test_the_names_of_types_are_those_of_ros():
    assert graph.type_name(Imu) == 'sensor_msgs/msg/Imu'
    assert graph.type_name(TFMessage) == 'tf2_msgs/msg/TFMessage'


def test_a_motor_whose_energy_does_not_balance_is_a_warning(make_bench):
    bench = make_bench(**STILL, rate=100.0)
    bench.tick(1.0)
    bench.motor.session.take(Commands((1e-3,)), bench.now_ns)
    bench.tick(1.2)
    assert said(bench, 'wheel')[0] == OK
    energy = bench.motor.session.energy[0]
    energy.work *= 1.001
    level, text = said(bench, 'wheel')
    assert level == WARN
    assert text.startswith('energy does not balance: ')


def test_commands_are_told_as_fresh_where_only_the_pose_is_missing(make_bench):
    bench = make_bench(rate=100.0)
    bench.send(Float64MultiArray(data=[0.1]), '/motor/commands')
    for k in range(3):
        bench.tick(1.0 + 0.01 * k)
    assert said(bench, 'command') == (OK, 'acts')


def test_the_transform_that_no_longer_comes_is_named_and_others_do_not_count(make_bench):
    bench = make_bench(rate=100.0, tf_rate=0.0, rate_timeout=100.0)
    for k in range(5):
        step(bench, 1.0 + 0.01 * k)
    knows(bench, '/tf', 2)
    statuses(bench)
    for k in range(1, 3):
        bench.send(tf(1.04 + k, 'base_link', 'arm'), '/tf')
        bench.tick(1.04 + k)
    status = statuses(bench)['mount pose']
    assert status.level == STALE
    assert status.message == (
        "no pose of 'base_link' in 'odom' from /tf for 2.0 s: the newest transform of 'base_link' "
        'is stamped 2.0 s ago (/tf comes from /peer). The motors are held'
    )
    assert values(bench, 'mount pose')['rate (Hz)'] == '0.0'


def test_transforms_that_are_refused_are_told_also_where_none_is_needed(make_bench):
    bench = make_bench(**STILL)
    bench.tick(1.0)
    statuses(bench)
    bench.send(tf(1.0, 'odom', 'odom'), '/tf')
    bench.tick(1.1)
    bench.motor.diagnostics.look_around()
    status = statuses(bench)['transforms']
    assert status.level == WARN
    assert 'refused on /tf and /tf_static' in status.message
    assert {x.key: x.value for x in status.values} == {'tf frame': '1'}


def test_what_a_stranger_sends_does_not_lengthen_what_is_said(make_bench):
    bench = make_bench()
    bench.tick(1.0)
    bench.send(imu(1.0, (0.0, 0.0, 1.0), frame='x' * 100_000), 'imu/data')
    bench.send(tf(1.0, 'odom', 'base_link'), '/tf')
    bench.tick(1.01)
    assert max(len(status.message) for status in statuses(bench).values()) < 600


def test_the_figures_of_the_loop_are_those_of_the_session(make_bench):
    bench = make_bench(**STILL, rate=100.0, max_gap=0.5)
    bench.tick(1.0)
    bench.tick(1.05)  # five at once: four caught up
    bench.tick(3.0)  # a gap
    bench.send(Float64MultiArray(data=[1e300]), '/motor/commands')
    bench.tick(3.01)
    bench.motor.diagnostics.woke(1_000_000)
    bench.motor.diagnostics.woke(3_000_000)
    told = values(bench, 'stepping')
    assert told['steps caught up'] == '4'
    assert told['gaps'] == '1'
    assert told['overflows'] == '1'
    assert float(told['lateness p99 (ms)']) == 3.0
    assert told['wanted rate (Hz)'] == '100'
    bench.tick(2.0)
    assert values(bench, 'time')['jumps back'] == '1'


def test_frames_that_are_not_ours_to_publish_are_nobody_elses(make_bench):
    bench = make_bench(**STILL, publish_tf=False)
    bench.tick(1.0)
    bench.send(tf(1.0, 'wheel_stator', 'wheel_rotor'), '/tf')
    bench.tick(1.1)
    assert said(bench, 'transforms') == (OK, 'not published (publish_tf)')


def test_diagnostics_go_on_while_the_simulated_clock_stands(make_bench):
    bench = make_bench(**STILL)
    bench.tick(1.0)
    assert bench.motor.diagnostics._timer.clock.clock_type.name == 'STEADY_TIME'


def test_a_commanded_fault_of_a_sensor_is_said(make_bench):
    bench = make_bench(**STILL, wheel__encoder__counts=100)
    bench.motor.set_parameters_atomically([Parameter('wheel.fault.velocity', value='stuck')])
    bench.tick(1.0)
    assert said(bench, 'wheel') == (OK, '0 rad/s, sensor faults: velocity stuck')
