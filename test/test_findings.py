"""Each check finds what it is for, and says nothing of good input."""

import json
from math import cos, sin, sqrt
from pathlib import Path
from random import Random

from mime_motor_ros.check.case import Finding, Seen, Topic
from mime_motor_ros.check.findings import findings, is_good
from mime_motor_ros.check.rehearsal import elapsed, Received, rehearse
from mime_motor_ros.demo_mount import gyro, IMU_ON_MOUNT, tumble
from mime_motor_ros.inputs import Commands, Imu, JointCommand, Load, Odometry, Transform, Twist
from mime_motor_ros.settings import POSE_SOURCES, RATE_SOURCES, settings
from mime_motor_ros.vector import conjugate, rotate
import pytest
from sessions import MS, ORIGIN, SECOND, START, UPRIGHT, yawed

DEGREES = 57.29577951308232
NAN = float('nan')
PERIOD = 5 * MS
SENSOR = Topic('imu', '/imu/data', 'sensor_msgs/msg/Imu', ('/driver',))
FRAMES = Topic('tf', '/tf', 'tf2_msgs/msg/TFMessage', ('/localisation',))
LATCHED = Topic('tf', '/tf_static', 'tf2_msgs/msg/TFMessage', ('/localisation',))
TORQUES = Topic('commands', '/motor/commands', 'std_msgs/msg/Float64MultiArray', ('/controller',))
TOPICS = (FRAMES, LATCHED, SENSOR, TORQUES)


def same(item):
    return item


def stream(
    seconds=2.0, imu=same, tf=same, static=same, more=(), commands=True, late=MS, motion=tumble
):
    """
    Return what is heard of the demo mount, as a clock of 1 kHz tells it.

    The functions spoil the messages of a kind: each returns another in place, or None.
    """
    heard = []
    mounted = Transform(START, 'base_link', 'imu_link', *IMU_ON_MOUNT, static=True)
    for now in range(START, START + round(seconds * SECOND), MS):
        items = [static(mounted)] if now == START else []
        if (now - START) % PERIOD == 0:
            stamp = now - late
            pose, rate = motion((now - START) / SECOND)
            items.append(tf(Transform(stamp, 'odom', 'base_link', *pose)))
            items.append(imu(Imu(stamp, 'imu_link', gyro(rate))))
            items += [Commands((1e-3,))] if commands else []
            items += [one(stamp) for one in more]
        heard += [Received(now, item) for item in items if item is not None]
        heard.append(Received(now))
    return heard


def found(received=None, topics=TOPICS, seen=None, **values):
    """Return the findings of the good stream or another, for parameters by name."""
    values = {name.replace('__', '.'): value for name, value in values.items()}
    received = stream() if received is None else received
    return findings(settings(values), Seen(received, topics, **(seen or {})))


def wrong(*args, **values):
    """Return what is not good, as (level, subject, text)."""
    return [tuple(one)[:3] for one in found(*args, **values) if one.level != 'ok']


def texts(subject, *args, **values):
    return [one.text for one in found(*args, **values) if one.subject == subject]


def spoil(**changes):
    """Return a function that replaces fields of a message."""
    return lambda item: item._replace(**changes)


def rated(function):
    """Return a function that puts another rate into a message."""
    return lambda item: item._replace(angular_velocity=function(*item.angular_velocity))


def nth(n, function):
    """Return a function that changes each n-th message only."""
    count = iter(range(10**9))
    return lambda item: function(item) if next(count) % n == n - 1 else item


# good


def test_nothing_is_wrong_with_good_input():
    assert [tuple(one)[:3] for one in found()] == [
        ('ok', 'time', 'follows the clock of this machine, 2.0 s were looked at'),
        (
            'ok',
            'mount pose',
            'odom -> base_link: 200.0 Hz, 3 ms old where it is read, 5 ms at the most '
            '(pose_timeout 500 ms)',
        ),
        (
            'ok',
            'mount rate',
            '/imu/data: 200.0 Hz, 3 ms old where it is read, 5 ms at the most '
            '(rate_timeout 100 ms)',
        ),
        ('ok', 'frames', 'connected: odom -> base_link, base_link -> imu_link'),
        ('ok', 'command', '400 received, every 5 ms'),
        ('ok', 'transforms', 'the frames of the motors are free: nobody publishes them yet'),
        (
            'ok',
            'pose and rate',
            'they turn alike: correlation 1.000, 0.999 for 1 rad/s, at 1 rad/s rms',
        ),
        ('ok', 'session', 'would run, without a step missed'),
    ]
    assert is_good(found())


def test_a_finding_has_its_figures_for_programs():
    one = next(one for one in found() if one.subject == 'mount rate')
    assert isinstance(one, Finding)
    assert one.values == {
        'messages': 400,
        'rate (Hz)': pytest.approx(200.0),
        'longest pause (s)': pytest.approx(0.005),
        'stamp to receipt (s)': pytest.approx(0.001),
    }


def test_a_mount_that_cannot_move_needs_nothing():
    assert wrong([Received(START + i * MS) for i in range(100)], (), world_frame='base_link',
                 rate_source='zero') == []  # fmt: skip


def test_nothing_at_all_is_told_as_missing():
    assert wrong([], ()) == [
        ('error', 'mount pose', 'there are no tf messages.'),
        ('error', 'mount rate', 'there are no imu messages.'),
        ('error', 'session', 'would make no steps: the first step is not due yet.'),
    ]


# who publishes


def test_a_topic_without_publisher_is_named_with_those_of_its_type():
    quiet = SENSOR._replace(fitting=())
    received = stream(imu=lambda _: None)
    (_, subject, text), session = wrong(received, (FRAMES, LATCHED, quiet))
    assert subject == 'mount rate'
    assert text == (
        'nobody publishes /imu/data (sensor_msgs/msg/Imu). Start its publisher; is its '
        'ROS_DOMAIN_ID the same as here?'
    )
    assert session == (
        'error',
        'session',
        'would make no steps: no imu message yet for the mount rate.',
    )
    quiet = quiet._replace(elsewhere=('/imu/data_raw', '/base/imu'))
    assert texts('mount rate', received, (FRAMES, LATCHED, quiet)) == [
        'nobody publishes /imu/data (sensor_msgs/msg/Imu). There is such a thing on '
        '/imu/data_raw, /base/imu: start with --ros-args -r imu/data:=/imu/data_raw'
    ]


def test_a_publisher_that_sends_nothing_is_named():
    received = stream(imu=lambda _: None)
    assert texts('mount rate', received) == [
        '/driver publishes /imu/data and sent nothing in 2.0 s.'
    ]


def test_publishers_that_do_not_fit_are_named_with_what_to_do():
    why = '/driver: best effort publisher and reliable subscription'
    misfit = SENSOR._replace(fitting=(), misfits=(why,))
    received = [one._replace(arrives=type(one.item) is not Imu) for one in stream()]
    assert wrong(received, (FRAMES, LATCHED, misfit)) == [
        (
            'error',
            'mount rate',
            f'/imu/data: what these publish does not arrive: {why}. Make the publisher reliable, '
            'or start with --ros-args -p qos_overrides./imu/data.subscription.reliability:='
            'best_effort',
        ),
        ('error', 'session', 'would make no steps: no imu message yet for the mount rate.'),
    ]
    # What was heard of it in another way is judged all the same.
    assert texts('pose and rate', received, (FRAMES, LATCHED, misfit))[0].startswith('they turn')


@pytest.mark.parametrize(
    ('why', 'do'),
    [
        ('/a: std_msgs/msg/String is not sensor_msgs/msg/Imu', 'Remap one of the two to another'),
        (
            '/a: volatile publisher and transient local subscription',
            'Make the publisher transient',
        ),
    ],
)
def test_what_does_not_fit_decides_what_to_do(why, do):
    (text, *_) = texts('mount rate', topics=(FRAMES, SENSOR._replace(misfits=(why,))))
    assert do in text


def test_transforms_that_do_not_arrive_are_told_as_such():
    misfit = FRAMES._replace(misfits=('/mocap: best effort publisher and reliable subscription',))
    received = [
        one._replace(arrives=type(one.item) is not Transform or one.item.static)
        for one in stream()
    ]
    pose, frames, session = wrong(received, (misfit, SENSOR))
    assert pose[:2] == ('warning', 'mount pose')
    assert pose[2].endswith('Make the publisher reliable.')
    assert frames[2] == (
        "mount pose: no way from 'base_link' to 'odom': no transform that arrives names 'odom'. "
        'It is in some that do not arrive: see their publishers above.'
    )
    assert session[2].startswith('would make no steps: mount pose: no transform names frame')


def test_two_publishers_of_one_sensor_are_a_warning():
    topics = (FRAMES, SENSOR._replace(fitting=('/driver', '/driver2')))
    assert wrong(topics=topics) == [
        (
            'warning',
            'mount rate',
            '/imu/data comes from /driver, /driver2: a session mixes them. Let one alone send '
            'it, or remap.',
        )
    ]
    topics = (*TOPICS[:3], TORQUES._replace(fitting=('/a', '/b')))
    assert texts('command', topics=topics)[0] == (
        '/motor/commands comes from /a, /b: the newest torque acts, whoever sent it.'
    )


def test_messages_that_cannot_be_read_are_counted():
    topics = (FRAMES, SENSOR._replace(unreadable=3))
    assert wrong(topics=topics) == [
        (
            'warning',
            'mount rate',
            '/imu/data: 3 messages cannot be read as sensor_msgs/msg/Imu. Is the sender built '
            'with other message definitions?',
        )
    ]


# frames


def test_a_misspelt_frame_is_told_with_the_nearest():
    (_, subject, text), imu, session = wrong(mount_frame='Base_Lnk')
    assert (subject, imu[1], session[1]) == ('frames', 'frames', 'session')
    assert text == (
        "mount pose: no way from 'Base_Lnk' to 'odom': no transform that arrives names "
        "'Base_Lnk'. Is 'base_link' meant for 'Base_Lnk'?"
    )


def test_frames_of_which_none_is_near_are_listed():
    (text, *_) = texts('frames', world_frame='vicon/world')
    assert text.endswith("names 'vicon/world'. There are base_link, imu_link, odom.")


def test_two_trees_are_told_by_where_they_end():
    received = stream(tf=spoil(child='base_footprint'))
    (text, *_) = texts('frames', received)
    assert text == (
        "mount pose: no way from 'base_link' to 'odom': no transform joins 'base_link' and "
        "'odom': their trees end at 'base_link' and 'odom'. Publish one that does."
    )


def test_an_imu_frame_that_nothing_leads_to_is_told():
    received = stream(static=lambda _: None)
    (_, subject, text), session = wrong(received)
    assert (subject, session[1]) == ('frames', 'session')
    assert text.startswith("mount rate: no way from 'imu_link' to 'base_link'")
    none = stream(static=lambda _: None, tf=lambda _: None)
    assert texts('frames', none)[0].endswith(
        'there are no transforms at all: start who publishes them.'
    )


def test_a_leading_slash_and_an_empty_frame_are_told():
    assert wrong(stream(imu=spoil(frame='/imu_link'))) == [
        (
            'warning',
            'frames',
            "the leading '/' of frame '/imu_link' is left out. tf2 refuses such names: correct "
            'the sender.',
        )
    ]
    (_, subject, text), session = wrong(stream(imu=spoil(frame='')))
    assert (subject, session[1]) == ('mount rate', 'session')
    assert text == (
        "400 of 400 messages refused: imu: '' is not a frame id. Set the frame ids of the sender "
        '(frame_id, child_frame_id).'
    )


def test_frame_ids_that_change_are_told():
    assert wrong(stream(imu=nth(2, spoil(frame='base_link'))))[0] == (
        'warning',
        'mount rate',
        'its frame_id changes between base_link, imu_link: let one node alone send it, under one '
        'name.',
    )


# rates and ages


def test_a_sensor_slower_than_its_timeout_is_an_error():
    received = [
        one for i, one in enumerate(stream(seconds=3.0))
        if type(one.item) is not Imu or one.item.stamp % (300 * MS) == 299 * MS
    ]  # fmt: skip
    rate, session = wrong(received)
    assert rate == (
        'error',
        'mount rate',
        '/imu/data: 3.3 Hz, 145 ms old where it is read, 300 ms at the most: beyond rate_timeout '
        '(100 ms) the motors pause. Send it faster, look for what holds it up, or raise the '
        'parameter.',
    )
    assert session[:2] == ('warning', 'session')
    assert 'would make steps in 36 % of the time; else the mount rate (imu) is' in session[2]


def test_a_sensor_that_pauses_once_is_a_warning():
    received = [
        one for one in stream()
        if type(one.item) is not Imu or not START + SECOND < one.item.stamp < START + 1.3 * SECOND
    ]  # fmt: skip
    rate, session = wrong(received)
    assert rate[0] == 'warning'
    assert '305 ms at the most: beyond rate_timeout (100 ms) the motors pause' in rate[2]
    assert session[2].startswith('would make steps in 90 % of the time')
    received = [
        one for one in stream()
        if type(one.item) is not Imu or not START + SECOND < one.item.stamp < START + 1.18 * SECOND
    ]  # fmt: skip
    assert texts('session', received)[0].startswith('would make steps in 96 % of the time')


def test_a_check_that_was_held_up_itself_says_so():
    def is_there(time):
        return not START + SECOND < time <= START + 1.2 * SECOND

    received = [one for one in stream() if is_there(one.now_ns)]
    late = [one._replace(now_ns=START + round(1.2 * SECOND)) for one in stream()
            if not is_there(one.now_ns) and one.now_ns < START + 1.05 * SECOND]  # fmt: skip
    at = next(i for i, one in enumerate(received) if one.now_ns > START + SECOND)
    ((level, subject, text),) = wrong(received[:at] + late + received[at:], rate_timeout=0.12)
    assert (level, subject) == ('warning', 'mount rate')
    assert text.endswith(
        'The check itself was held up for 200 ms meanwhile: this machine may be too busy.'
    )


def test_a_sensor_that_stops_for_good_is_an_error():
    received = [
        one for one in stream()
        if type(one.item) is not Imu or one.item.stamp < START + SECOND
    ]  # fmt: skip
    *_, session = wrong(received)
    assert session == (
        'error',
        'session',
        'would make no steps at the end: the mount rate (imu) is 1.000 s old.',
    )


def test_a_sensor_that_may_not_lose_one_message_is_a_warning():
    received = [
        one for one in stream()
        if type(one.item) is not Imu or one.item.stamp % (80 * MS) == 79 * MS
    ]  # fmt: skip
    assert wrong(received) == [
        (
            'warning',
            'mount rate',
            '/imu/data: 12.5 Hz, 41 ms old where it is read, 80 ms at the most (rate_timeout '
            '100 ms); when one message is lost, rate_timeout (0.1 s) is over: send it faster, or '
            'raise it.',
        )
    ]


def test_what_settle_puts_off_is_not_old():
    assert wrong(settle=1.0) == []


def test_a_static_chain_does_not_age():
    received = stream(tf=lambda item: item._replace(static=True, orientation=UPRIGHT,
                                                    position=ORIGIN),
                      imu=rated(lambda *_: ORIGIN))  # fmt: skip
    assert wrong(received) == []
    assert texts('mount pose', received) == ['odom -> base_link: all static, it does not age']


def test_a_pose_that_lags_is_told():
    received = stream(tf=lambda item: item._replace(stamp=item.stamp - 700 * MS))
    pose, session = wrong(received)
    assert pose[:2] == ('error', 'mount pose')
    assert '703 ms old where it is read' in pose[2]
    assert 'beyond pose_timeout (500 ms) the motors pause' in pose[2]
    assert session[:2] == ('error', 'session')


# stamps


def test_stamp_0_is_told():
    assert wrong(stream(imu=spoil(stamp=0))) == [
        (
            'warning',
            'mount rate',
            '/imu/data: 400 of 400 messages have stamp 0: their time of receipt is used, which '
            'shakes. Let the sender stamp them.',
        )
    ]


@pytest.mark.parametrize(('offset', 'words'), [(-900, 'behind'), (3600, 'ahead of')])
def test_stamps_of_another_clock_are_told(offset, words):
    received = stream(imu=lambda item: item._replace(stamp=item.stamp + offset * SECOND), late=0)
    (level, subject, text), *_ = wrong(received)
    assert (level, subject) == ('error', 'mount rate')
    assert text == (
        f'/imu/data: 200.0 Hz, stamped {abs(offset)} s {words} the clock of this machine: one '
        'follows another clock. Set use_sim_time alike for the sender and here.'
    )


def test_stamps_a_little_ahead_are_of_the_clock_of_another_host():
    ahead = stream(imu=lambda item: item._replace(stamp=item.stamp + 50 * MS))
    assert wrong(ahead) == [
        (
            'warning',
            'mount rate',
            '/imu/data: 200.0 Hz, stamped 0.049 s ahead of its receipt, which no delay can do: '
            'the clocks of two hosts differ. Synchronise them (chrony, PTP).',
        )
    ]
    far = stream(imu=lambda item: item._replace(stamp=item.stamp + 2 * SECOND))
    levels = [(level, subject) for level, subject, _ in wrong(far)]
    assert levels == [('error', 'mount rate')] * 2 + [('error', 'session')]
    assert '400 of 400 messages refused: imu: stamp is 1.999 s ahead' in wrong(far)[1][2]


def test_a_coarse_simulated_clock_is_no_other_clock():
    """A stamp may be as far ahead as the next /clock, which has not come yet."""
    received = [
        one._replace(now_ns=one.now_ns // (20 * MS) * (20 * MS)) for one in stream(seconds=3.0)
    ]
    assert wrong(received, seen={'simulated': True, 'clocks': ['/gazebo']}) == []


def test_stamps_that_repeat_or_go_back_are_told():
    assert wrong(stream(imu=nth(2, lambda item: item._replace(stamp=item.stamp - PERIOD)))) == [
        (
            'warning',
            'mount rate',
            '/imu/data: 200 of 400 messages repeat the stamp of the one before: these are '
            'dropped. Let one node alone send it, and stamp each anew.',
        )
    ]
    back = stream(imu=nth(2, lambda item: item._replace(stamp=item.stamp - 3 * PERIOD)))
    assert wrong(back)[0] == (
        'warning',
        'mount rate',
        '/imu/data: the stamp goes back 200 times in 400 messages. Do two nodes send it, or one '
        'with two clocks?',
    )


def test_now_and_then_a_repeated_stamp_is_usual():
    assert wrong(stream(imu=nth(150, lambda item: item._replace(stamp=item.stamp - PERIOD)))) == []


# time


def test_simulated_time_without_a_clock_is_told():
    heard = [one._replace(now_ns=0) for one in stream()]
    first, last = wrong(heard, seen={'simulated': True})
    assert first == (
        'error',
        'time',
        'use_sim_time is set and nothing came on /clock: nobody publishes it. Start the '
        'simulator or player, or leave use_sim_time out.',
    )
    assert last == ('error', 'session', 'would make no steps: no clock yet.')


def test_a_clock_that_stands_still_and_two_clocks_are_told():
    stands = [one._replace(now_ns=START) for one in stream(seconds=0.1)]
    assert texts('time', stands, seen={'simulated': True, 'clocks': ['/a']}) == [
        '/clock stands still. Let the simulator or player run.'
    ]
    assert texts('time', seen={'simulated': True, 'clocks': ['/a', '/b']}) == [
        '/clock comes from /a, /b: let one of them alone send it.'
    ]
    assert texts('time', seen={'simulated': True, 'clocks': ['/a']}) == [
        'follows /clock, 2.0 s were looked at'
    ]


def test_a_clock_that_goes_back_is_told():
    received = stream()
    (level, subject, text), *_ = wrong(received + received)
    assert (level, subject) == ('warning', 'time')
    assert text == (
        'the clock went back by 1.999 s: inputs dropped, angle and spin held (1 times back, 0 '
        'gaps).'
    )


# what the session refuses


@pytest.mark.parametrize(
    ('imu', 'text'),
    [
        (
            spoil(covariance=-1.0),
            'imu: angular_velocity_covariance[0] is -1: the sender does not report it. Set it to '
            '0 (unknown) in the driver if the field is filled, or take another rate_source or '
            'pose_source.',
        ),
        (
            rated(lambda x, y, z: (x, NAN, z)),
            'imu: nan is not finite. The sender must leave out what it does not know.',
        ),
    ],
)
def test_a_rate_that_is_refused_is_told(imu, text):
    (level, subject, said), session = wrong(stream(imu=imu))
    assert (level, subject, session[1]) == ('error', 'mount rate', 'session')
    assert said == f'400 of 400 messages refused: {text}'
    (level, _, said) = wrong(stream(imu=nth(40, imu)))[0]
    assert (level, said) == ('warning', f'10 of 400 messages refused: {text}')


def test_a_quaternion_that_is_no_rotation_is_told():
    zero = spoil(orientation=(0.0, 0.0, 0.0, 0.0))
    _, (level, subject, text), _ = wrong(stream(tf=zero))
    assert (level, subject) == ('error', 'transforms')
    assert text.startswith('400 of 401 messages refused: tf: a quaternion of length 0, not 1.')
    (_, subject, text), *_ = wrong(
        stream(imu=lambda item: zero(item)._replace(orientation_covariance=0.0)),
        pose_source='imu',
    )
    assert (subject, text[:34]) == ('mount rate', '400 of 400 messages refused: imu: ')


def test_torques_of_the_wrong_size_or_name_are_told():
    assert wrong(motors=['left', 'right']) == [
        (
            'warning',
            'command',
            '400 of 400 messages refused: commands: 1 torques for 2 motors. Send one number for '
            'each motor, in the order of the parameter motors, or for each joint that is named.',
        )
    ]
    received = stream(more=[lambda stamp: JointCommand(stamp, ('weel_joint',), (1.0,))])
    assert wrong(received) == [
        (
            'warning',
            'command',
            "400 of 400 messages refused: joint_command: no joint 'weel_joint', there are "
            'wheel_joint. Use the names of the parameter joint.',
        )
    ]


def test_torques_that_pause_longer_than_their_timeout_are_told():
    received = [
        one for one in stream()
        if type(one.item) is not Commands or not START + SECOND < one.now_ns < START + 1.7 * SECOND
    ]  # fmt: skip
    assert wrong(received) == [
        (
            'warning',
            'command',
            '261 received, every 5 ms, once after 700 ms: beyond command_timeout (500 ms) the '
            'torque is 0. Send it faster or raise the parameter.',
        )
    ]
    assert wrong(received, command_timeout=0.0) == []
    assert texts('command', stream(commands=False)) == [
        'nobody sends torques on /motor/commands: torque 0'
    ]


def test_a_load_in_a_frame_that_nothing_leads_to_is_told():
    load = lambda stamp: Load(stamp, 'wheel', 'rotor', 'tool', (0.0, 0.0, 1.0), ORIGIN)  # noqa: E731
    ((level, subject, text),) = wrong(stream(more=[load]))
    assert (level, subject) == ('warning', 'loads')
    assert text.startswith("wheel rotor_wrench: no transform names frame 'tool'")


# a second authority


def rotor(stamp, parent='wheel_stator', orientation=None, **more):
    turn = yawed(0.01 * (stamp - START) / MS)
    return Transform(stamp, parent, 'wheel_rotor', ORIGIN, orientation or turn, **more)


def stator(stamp=START, parent='base_link', position=ORIGIN, **more):
    return Transform(stamp, parent, 'wheel_stator', position, UPRIGHT, **{'static': True, **more})


def with_ours(*extra, running=('/motor',), seen=None, **values):
    """Return what is wrong where the motor node runs and these come too."""
    received = []
    for i, one in enumerate(stream()):
        received.append(one)
        if type(one.item) is Imu:
            received.append(Received(one.now_ns, rotor(one.item.stamp), True, i))
        if one.item is not None and one.item == received[0].item:
            received.append(Received(one.now_ns, stator()))
    for k, item in enumerate(extra):
        received.insert(20 * (k + 1), Received(received[20 * (k + 1)].now_ns, item, True, k))
    seen = {'motors': running, 'senders_of_tf': ['/motor', '/rsp'], **(seen or {})}
    return wrong(received, seen=seen, **values)


def test_the_frames_of_a_motor_node_that_runs_are_its_own():
    assert with_ours() == []


def test_our_frames_without_a_motor_node_are_of_somebody_else():
    (level, subject, text), second = with_ours(running=(), seen={'senders_of_tf': ['/rsp']})
    assert (level, subject) == ('error', 'transforms')
    assert text == (
        "somebody publishes our frame 'wheel_stator' (under 'base_link'), and no motor node of "
        'this name runs; transforms come from /rsp. Rename one of the two frames, or set '
        'publish_tf to false.'
    )
    assert "our frame 'wheel_rotor'" in second[2]
    assert with_ours(running=(), publish_tf=False) == []


@pytest.mark.parametrize(
    ('extra', 'words'),
    [
        (
            [rotor(START + MS, parent='base_link')],
            "is published under 'base_link', 'wheel_stator'",
        ),
        ([rotor(START + MS + i) for i in range(5)], 'comes from a second publisher too'),
        ([rotor(START, static=True)], 'is published as static too'),
        ([stator(static=False)], "'wheel_stator' is published as moving too"),
        ([stator(START + 1)], "'wheel_stator' has several static transforms"),
        (
            [rotor(START + MS, orientation=(sin(0.5), 0.0, 0.0, cos(0.5)))],
            "1 of 401 transforms of our frame 'wheel_rotor' are not a turn about its axis",
        ),
    ],
)
def test_a_second_authority_beside_the_motor_node_is_found(extra, words):
    ((level, subject, text),) = with_ours(*extra)
    assert (level, subject) == ('error', 'transforms')
    assert words in text
    assert 'transforms come from /rsp' in text


def test_a_stator_that_is_not_where_these_parameters_put_it_is_told():
    ((level, subject, text),) = with_ours(wheel__placement__xyz=[0.0, 0.0, 0.1])
    assert (level, subject) == ('error', 'transforms')
    assert text.startswith("1 of 1 transforms of our frame 'wheel_stator' are not its placement")
    assert 'or the motor node runs with other parameters' in text


def test_two_motor_nodes_of_one_name_are_told():
    ((_, _, text),) = with_ours(running=('/motor', '/motor'))
    assert text.startswith('2 motor nodes of one name run: /motor, /motor.')


def test_a_frame_of_the_mount_with_two_parents_is_told():
    received = stream(more=[lambda stamp: Transform(stamp, 'map', 'base_link', ORIGIN, UPRIGHT)])
    text = next(text for level, _, text in wrong(received) if 'several parents' in text)
    assert text == (
        "frame 'base_link' is published under several parents: 'odom' (400 times), 'map' (400 "
        'times). A frame has one parent and one publisher.'
    )


def test_a_frame_of_the_mount_both_static_and_moving_is_told():
    fixed = Transform(START, 'odom', 'base_link', ORIGIN, UPRIGHT, True)
    said = [text for _, _, text in wrong(stream(more=[lambda _: fixed]))]
    assert said[0].startswith("frame 'base_link' is published both as static and as moving")


def test_static_transforms_of_the_sensor_that_differ_are_told():
    other = Transform(START - 1, 'base_link', 'imu_link', ORIGIN, UPRIGHT, True)
    said = [text for _, _, text in wrong(stream(more=[lambda _: other]))]
    assert said[0] == (
        "frame 'imu_link' has static transforms that differ: the one of the latest stamp wins. "
        'Stop all but one publisher.'
    )


def test_two_publishers_of_the_mount_are_told_by_their_counts():
    received, numbers = [], {0: 1000, 1: 7}
    for one in stream():
        if type(one.item) is Transform and not one.item.static:
            for which in numbers:
                numbers[which] += 1
                item = one.item._replace(stamp=one.item.stamp + which * MS)
                received.append(one._replace(item=item, sequence=numbers[which]))
        else:
            received.append(one)
    ((level, _, text),) = wrong(received)
    assert level == 'warning'
    assert text.startswith("frame 'base_link' comes from two publishers at once")
    alone = [one for one in received if one.sequence is None or one.sequence > 900]
    assert wrong(alone) == []


# degrees, axes, signs


def agreed(received, **values):
    ((level, text),) = [
        (one.level, one.text)
        for one in found(received, **values)
        if one.subject == 'pose and rate'
    ]
    return level, text


def test_degrees_are_told():
    level, text = agreed(stream(imu=rated(lambda *w: tuple(DEGREES * x for x in w))))
    assert (level, text) == (
        'error',
        'The gyro reads 57.2 for 1 rad/s of the pose: it looks like degrees, and has to be '
        'rad/s. Multiply it by pi/180 in the driver.',
    )
    level, text = agreed(stream(imu=rated(lambda *w: tuple(x / DEGREES for x in w))))
    assert level == 'error'
    assert 'reads 0.0174 for 1 rad/s of the pose: it looks like rad/s taken for degrees' in text


def test_another_scale_is_told():
    level, text = agreed(stream(imu=rated(lambda *w: tuple(2.0 * x for x in w))))
    assert (level, text) == (
        'warning',
        'the gyro reads 2 for 1 rad/s of the pose (correlation 1.00). Check its scale and unit.',
    )


@pytest.mark.parametrize(
    ('turned', 'words'),
    [
        (lambda x, y, z: (x, y, -z), ["its z looks like the mount's -z"]),
        (lambda x, y, z: (y, x, z), ["x looks like the mount's y", "y looks like the mount's x"]),
        (lambda x, y, z: (-y, x, z), ["its x looks like the mount's -y"]),
        (lambda x, y, z: (-x, -y, -z), ["x looks like the mount's -x"]),
        (lambda x, y, z: (y, z, x), ["z looks like the mount's x"]),
    ],
)  # fmt: skip
def test_other_axes_and_signs_are_told(turned, words):
    frame = stream(imu=lambda item: rated(turned)(item._replace(
        frame='base_link', angular_velocity=gyro(item.angular_velocity))))  # fmt: skip
    level, text = agreed(frame)
    assert level == 'error'
    assert text.startswith("The gyro, turned into the axes of 'base_link': ")
    assert text.endswith('Correct the axes in the driver.')
    for one in words:
        assert one in text


def test_a_wrong_mounting_is_told_with_the_right_one():
    wrongly = spoil(orientation=UPRIGHT)
    level, text = agreed(stream(static=wrongly))
    half = sqrt(0.5)
    assert IMU_ON_MOUNT.orientation == (half, half, 0.0, 0.0)
    assert (level, text) == (
        'error',
        "The gyro, turned into the axes of 'base_link': its x looks like the mount's y, its y "
        "looks like the mount's x, its z looks like the mount's -z. Correct the transform from "
        "'base_link' to 'imu_link' as the rotation x y z w = [0.7071, 0.7071, 0, 0], or the axes "
        'in the driver.',
    )
    assert agreed(stream(static=spoil(orientation=(0.7071, 0.7071, 0.0, 0.0))))[0] == 'ok'


def test_a_mounting_turned_about_a_diagonal_is_told_with_the_right_one():
    def cyclic(item):  # an IMU whose x is the mount's y, its y the mount's z
        x, y, z = gyro(item.angular_velocity)
        return item._replace(angular_velocity=(y, z, x))

    level, text = agreed(stream(imu=cyclic, static=spoil(orientation=UPRIGHT)))
    assert level == 'error'
    assert 'as the rotation x y z w = [0.5, 0.5, 0.5, 0.5]' in text
    assert rotate((0.5, 0.5, 0.5, 0.5), (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0))
    assert agreed(stream(imu=cyclic, static=spoil(orientation=(0.5, 0.5, 0.5, 0.5))))[0] == 'ok'


def test_q_and_minus_q_are_one_rotation():
    flipped = nth(7, lambda item: item._replace(orientation=tuple(-x for x in item.orientation)))
    assert wrong(stream(tf=flipped)) == []


def test_degrees_and_axes_at_once_are_told_both():
    level, text = agreed(
        stream(imu=rated(lambda x, y, z: (DEGREES * y, DEGREES * x, DEGREES * z)))
    )
    assert level == 'error'
    assert 'looks like' in text
    assert 'degrees' in text


def test_a_rate_in_the_axes_of_the_world_is_told():
    def in_world(t):
        pose, rate = tumble(t)
        return pose, gyro(rotate(pose.orientation, rate))  # seen from the IMU: of the world

    received = stream(motion=in_world, imu=spoil(frame='base_link'), seconds=4.0)
    assert agreed(received) == (
        'error',
        "the gyro looks like one in the axes of 'odom', not of the frame its messages name. Set "
        "their frame_id to 'odom', or turn it in the driver.",
    )
    right = stream(motion=in_world, imu=spoil(frame='odom'), seconds=4.0)
    assert agreed(right)[0] == 'ok'


def test_an_inverted_pose_is_told():
    received = stream(
        tf=lambda item: item._replace(orientation=conjugate(item.orientation)), seconds=4.0
    )
    assert agreed(received) == (
        'error',
        "the pose looks inverted: it turns as that of 'odom' in 'base_link' would. Publish the "
        "pose of 'base_link' in 'odom'.",
    )


def test_an_orientation_that_is_a_placeholder_is_told():
    level, text = agreed(stream(tf=spoil(orientation=UPRIGHT)))
    assert (level, text) == (
        'error',
        'the pose hardly turns (0 rad/s rms), and the gyro says 1 rad/s: the orientation is a '
        'placeholder, or the rate is in degrees, or of another body.',
    )
    level, _ = agreed(
        stream(imu=spoil(orientation_covariance=0.0), static=spoil(orientation=UPRIGHT)),
        pose_source='imu',
    )
    assert level == 'error'


def slowly(t):
    pose, rate = tumble(0.01 * t)
    return pose, tuple(0.01 * x for x in rate)


def test_a_mount_that_hardly_turns_is_not_judged():
    level, text = agreed(stream(motion=slowly, imu=rated(lambda x, y, z: (y, z, x))))
    assert (level, text) == (
        'ok',
        'not judged: the mount hardly turns (0.0148 rad/s rms, 0.1 are needed). Turn it by hand '
        'about all its axes meanwhile.',
    )


def test_degrees_show_even_where_the_mount_hardly_turns():
    level, text = agreed(stream(motion=slowly, imu=rated(lambda *w: tuple(57.3 * x for x in w))))
    assert level == 'error'
    assert 'looks like degrees' in text


def test_one_axis_is_judged_and_the_others_are_named():
    def about_z(t):
        pose, _ = tumble(0.0)
        return pose._replace(orientation=yawed(0.8 * t)), (0.0, 0.0, 0.8)

    level, text = agreed(stream(motion=about_z))
    assert level == 'ok'
    assert text.endswith('; nothing told about x, y, which it hardly turns about')
    level, text = agreed(stream(motion=about_z, imu=rated(lambda x, y, z: (y, x, -z))))
    assert level == 'error'
    assert "z looks like the mount's -z." in text
    assert "looks like the mount's x" not in text


def test_two_bodies_have_little_in_common():
    level, text = agreed(stream(imu=rated(lambda x, y, z: (1.0, -1.0, 0.3)), seconds=4.0))
    assert level == 'warning'
    assert 'little in common' in text


def test_a_jump_of_the_pose_and_a_spike_of_the_gyro_are_no_reason():
    jump = nth(350, spoil(orientation=(1.0, 0.0, 0.0, 0.0)))
    spike = nth(300, rated(lambda *_: (500.0, 0.0, 0.0)))
    assert agreed(stream(tf=jump, imu=spike, seconds=4.0))[0] == 'ok'


def test_odometry_with_its_twist_in_the_wrong_frame_is_told():
    def odometry(turned):
        def made(stamp):
            pose, rate = tumble((stamp + MS - START) / SECOND)
            return Odometry(stamp, 'odom', 'base_link', *pose,
                            rotate(pose.orientation, rate) if turned else rate)  # fmt: skip

        return stream(more=[made], imu=lambda _: None, tf=lambda _: None, seconds=4.0)

    assert wrong(odometry(False), (), rate_source='odometry') == []
    level, text = agreed(odometry(True), rate_source='odometry')
    assert level == 'error'
    assert text.startswith("the odometry rate looks like one in the axes of 'odom'")


def test_other_sources_of_the_rate_are_judged_too():
    def twist(stamp):
        return Twist(stamp, 'base_link', tumble((stamp + MS - START) / SECOND)[1])

    received = stream(more=[twist], imu=lambda _: None)
    assert wrong(received, (), rate_source='twist') == []
    assert wrong(received, (), rate_source='tf') == []
    assert wrong(received, (), rate_source='zero') == [
        (
            'warning',
            'mount rate',
            'rate_source is zero, but the pose turns at 1 rad/s rms: choose imu, twist, '
            'odometry or tf.',
        )
    ]
    assert wrong(step_on='imu') == []


# the rehearsal


def test_a_rehearsal_is_a_session_fed_with_the_same():
    made = rehearse(settings(), stream())
    assert made.session.steps == 1999
    assert made.looks == made.stepping
    assert made.given == {'tf': 401, 'imu': 400, 'commands': 400}
    assert [stamp for stamp, _ in made.rates] == [START - MS + PERIOD * i for i in range(400)]
    assert made.rates[100][1] == pytest.approx(tumble(0.5)[1])


def test_what_came_before_the_first_clock_makes_no_long_recording_of_a_short_one():
    before = [Received(0, one.item) for one in stream(seconds=0.1)]
    assert rehearse(settings(), before + stream()).session.steps == 1999
    assert elapsed(before + stream()) == pytest.approx(1.999)
    assert elapsed(stream() + stream()) == pytest.approx(2 * 1.999)
    soon = [one._replace(now_ns=one.now_ns % SECOND + 30 * SECOND) for one in stream(0.9)]
    assert elapsed(before + soon) == pytest.approx(0.899)
    far = [one._replace(now_ns=one.now_ns + 10**18) for one in stream()]
    assert elapsed(stream() + far) == pytest.approx(2 * 1.999)


def test_a_long_recording_is_stepped_more_rarely():
    many = settings({'motors': [f'm{i}' for i in range(60)], 'rate': 10_000.0})
    assert 100 < rehearse(many, stream(commands=False)).session.steps < 1100


def test_how_long_was_listened_and_how_many_motors_there_are_changes_no_answer():
    motors = [f'm{i}' for i in range(64)]
    short = found(stream(2.0, commands=False), motors=motors[:1])
    long = found(stream(20.0, commands=False), motors=motors)
    assert [(one.level, one.subject) for one in short] == [
        (one.level, one.subject) for one in long
    ]
    assert all(one.level == 'ok' for one in long)


def test_a_flood_ends_the_listening_and_is_told():
    assert wrong(seen={'flooded': True})[0][:2] == ('warning', 'time')
    assert 'Look for who sends so many.' in wrong(seen={'flooded': True})[0][2]


@pytest.mark.parametrize(('scale', 'level'), [(1.25, 'ok'), (1.35, 'warning'), (0.75, 'warning')])
def test_a_scale_is_told_from_three_tenths_on(scale, level):
    heard = stream(imu=rated(lambda *w: tuple(scale * x for x in w)))
    assert agreed(heard)[0] == level


def test_names_that_cannot_be_printed_are_quoted():
    heard = stream(static=spoil(parent='od\x1b[31m\nom'))
    assert not any('\x1b' in one.text or '\n' in one.text for one in found(heard))


def test_messages_that_cannot_be_read_did_come():
    topics = tuple(t._replace(unreadable=9) if t.source == 'imu' else t for t in TOPICS)
    heard = stream(imu=lambda _: None)
    assert texts('mount rate', heard, topics)[0] == 'nothing that can be read came on /imu/data.'


def test_whatever_comes_it_ends_in_findings_that_json_can_tell():
    numbers = [0.0, 1.0, -1.0, NAN, float('inf'), 1e300, 1e-300, 3]
    names = ['', '/', '/odom', 'odom', 'base_link', 'imu_link', 'wheel_rotor', 'wheel_stator', 'x']
    yes_no = [True, False]
    times = [0, 1, -1, START, START + 50 * MS, START + SECOND, 1 << 62]

    def vector(pick, size=3):
        return tuple(pick(numbers) for _ in range(size))

    def item(pick):
        stamp, frame, child = pick(times), pick(names), pick(names)
        return pick([
            lambda: None,
            lambda: Transform(stamp, frame, child, vector(pick), vector(pick, 4), pick(yes_no)),
            lambda: Transform(stamp, 'odom', 'base_link', ORIGIN, UPRIGHT),
            lambda: Imu(stamp, frame, vector(pick), pick(numbers), vector(pick, 4), pick(numbers)),
            lambda: Imu(stamp, 'base_link', (0.0, 0.0, 1.0)),
            lambda: Odometry(stamp, frame, child, vector(pick), vector(pick, 4), vector(pick)),
            lambda: Twist(stamp, frame, vector(pick)),
            lambda: Commands(vector(pick, pick([0, 1, 2]))),
            lambda: JointCommand(stamp, (frame,), vector(pick, pick([0, 1]))),
            lambda: Load(stamp, pick(['wheel', 'x']), 'rotor', frame, vector(pick), vector(pick)),
        ])()  # fmt: skip

    for seed in range(60):
        pick = Random(seed).choice
        heard = [
            Received(max(0, pick(times[:6]) + pick([0, MS, 20 * MS])), item(pick), pick(yes_no),
                     pick([None, 1, 2]))
            for _ in range(80)
        ]  # fmt: skip
        given = [(source, pose) for source in RATE_SOURCES for pose in POSE_SOURCES]
        source, pose = given[seed % len(given)]
        told = found(heard, pick([TOPICS, ()]), rate_source=source, pose_source=pose,
                     seen={'simulated': pick([True, False])})  # fmt: skip
        assert {one.level for one in told} <= {'ok', 'warning', 'error'}
        json.dumps([one._asdict() for one in told], allow_nan=False)


# real recordings

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'data'
needs_recordings = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}'
)
TURNING = ['broad07_fast_rotation', 'px4_auavx21_handheld', 'husky_imu_odom']


@pytest.fixture(scope='module')
def recorded():
    pytest.importorskip('rosbags', reason='needs the package rosbags')
    from mime_motor_ros import messages
    from mime_motor_ros.offline.recording import guess_frames, IMU, Recording, TF

    read = {}

    def given(name):
        if name not in read:
            recording = Recording(SHARED / name)
            frames, heard = guess_frames(recording), []
            for record in recording.records():
                items = ()
                if record.type == TF:
                    items = messages.transforms(record.message, 'static' in record.topic)
                elif record.type == IMU:
                    items = (messages.imu(record.message),)
                heard += [Received(record.received_ns, item) for item in items]
            chosen = settings({'world_frame': frames.world, 'mount_frame': frames.mount})
            read[name] = chosen, heard
        return read[name]

    return given


def spoilt(heard, function):
    change = rated(function)
    return [one._replace(item=change(one.item)) if type(one.item) is Imu else one for one in heard]


def not_good(chosen, heard):
    found = findings(chosen, Seen(heard))
    return [tuple(one)[:3] for one in found if one.level != 'ok']


@needs_recordings
@pytest.mark.parametrize('name', TURNING)
def test_nothing_is_wrong_with_a_real_recording(recorded, name):
    chosen, heard = recorded(name)
    assert not_good(chosen, heard) == []


@needs_recordings
def test_the_wheels_of_the_simulated_jackal_slip_as_its_notes_say(recorded):
    chosen, heard = recorded('jackal_sim_imu_odom')
    ((level, subject, text),) = not_good(chosen, heard)
    assert (level, subject) == ('warning', 'pose and rate')
    assert 'little in common (correlation 0.5' in text


@needs_recordings
@pytest.mark.parametrize('name', TURNING)
@pytest.mark.parametrize(
    ('function', 'words'),
    [
        (lambda *w: tuple(DEGREES * x for x in w), 'it looks like degrees'),
        (lambda *w: tuple(x / DEGREES for x in w), 'it looks like rad/s taken for degrees'),
        (lambda x, y, z: (x, -y, z), "looks like the mount's -"),
        (lambda x, y, z: (y, z, x), "looks like the mount's "),
        (lambda x, y, z: (-x, -y, -z), "looks like the mount's -z"),
    ],
    ids=['degrees', 'once too often', 'one sign', 'axes', 'all signs'],
)
def test_a_spoilt_copy_of_a_real_recording_is_found(recorded, name, function, words):
    chosen, heard = recorded(name)
    ((level, subject, text),) = not_good(chosen, spoilt(heard, function))
    assert (level, subject) == ('error', 'pose and rate')
    assert words in text


@needs_recordings
def test_the_same_five_seconds_of_a_recording_at_a_time_are_no_alarm(recorded):
    """As long as the check listens: most are too calm to be judged, none is judged wrongly."""
    judged = 0
    for name in TURNING:
        chosen, heard = recorded(name)
        static = [one for one in heard if getattr(one.item, 'static', False)]
        for start in range(heard[0].now_ns, heard[-1].now_ns - 5 * SECOND, 25 * SECOND):
            part = [one for one in heard if start <= one.now_ns < start + 5 * SECOND]
            part = [one._replace(now_ns=part[0].now_ns) for one in static] + part
            told = findings(chosen, Seen(part))
            bad = [one for one in told if one.level != 'ok']
            assert bad == [], (name, (start - heard[0].now_ns) / SECOND)
            judged += any('turn alike' in one.text for one in told)
    assert judged >= 3


def test_where_the_moving_transforms_are_not_published_that_is_said():
    topics = (FRAMES._replace(fitting=(), elsewhere=('/robot/tf',)), LATCHED, SENSOR, TORQUES)
    assert (
        'nobody publishes /tf (tf2_msgs/msg/TFMessage). There is such a thing on /robot/tf: start '
        'with --ros-args -r /tf:=/robot/tf'
    ) in texts('mount pose', stream(tf=lambda _: None), topics)


def test_torques_on_another_topic_are_told_as_a_hint():
    topics = (FRAMES, LATCHED, SENSOR, TORQUES._replace(fitting=(), elsewhere=('/torques',)))
    assert texts('command', stream(commands=False), topics) == [
        'nobody sends torques on /motor/commands: torque 0. There is such a thing on /torques: '
        'start with --ros-args -r ~/commands:=/torques'
    ]


def test_what_waits_for_a_clock_that_does_not_come_is_no_flood():
    heard = [Received(0, Imu(START + k, 'imu_link', ORIGIN)) for k in range(5000)]
    assert {one[1] for one in wrong(heard, seen={'simulated': True})} == {'time', 'session'} | {
        one[1] for one in wrong(heard[:10], seen={'simulated': True})
    }


def test_a_mirror_is_mended_in_the_driver_alone():
    heard = stream(imu=rated(lambda x, y, z: (-x, -y, -z)))
    assert agreed(heard)[1].endswith(
        'No way of mounting it does that: correct the axes in the driver.'
    )
