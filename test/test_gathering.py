"""What is gathered of a recording, run through a rollout, against the replay of the same one."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')

from mime_motor_ros.offline.gathering import (  # noqa: E402
    gather,
    GatherError,
    rollout_motor,
    rollouts,
)
from mime_motor_ros.offline.recording import Recording  # noqa: E402
from mime_motor_ros.offline.replaying import replay  # noqa: E402
from test_recording import header, imu, ros, START_NS, tf, write  # noqa: E402

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'data'
MS = 1_000_000
FRAMES = {'rate': 200.0}
GEARED = {
    'wheel.gear.ratio': 5.0,
    'wheel.gear.inertia': 1e-5,
    'wheel.mode': 'velocity',
    'wheel.velocity.kp': 1e-3,
    'wheel.velocity.ki': 1e-2,
    'wheel.limit.torque': 5e-3,
    'wheel.friction.coulomb': 1e-4,
}
TWO = {
    'motors': ['wheel', 'fan'],
    'fan.axis': [0.0, 1.0, 1.0],
    'fan.placement.xyz': [0.1, 0.2, 0.3],
    'wheel.initial_spin': 30.0,
}


def numbers(*values):
    layout = ros('std_msgs/msg/MultiArrayLayout', [], 0)
    return ros('std_msgs/msg/Float64MultiArray', layout, np.array(values))


def load(stamp_ns, frame, force, torque):
    vector = 'geometry_msgs/msg/Vector3'
    wrench = ros('geometry_msgs/msg/Wrench', ros(vector, *force), ros(vector, *torque))
    return ros('geometry_msgs/msg/WrenchStamped', header(stamp_ns, frame), wrench)


def recorded(folder, seconds=1.0, motors=1, gap=(0.4, 0.6), frame=None):
    """Write a turning mount with commands, without a rate for a while, and loads in a frame."""
    messages = [('/tf_static', START_NS, tf(START_NS, 'base_link', 'imu_link'))]
    for k in range(round(seconds * 100)):
        at, stamp_ns = k / 100, START_NS + k * 10 * MS
        messages.append(('/tf', stamp_ns, tf(stamp_ns, 'odom', 'base_link')))
        if not gap[0] <= at < gap[1]:
            messages.append(('/imu/data', stamp_ns, imu(stamp_ns, (0.3, np.sin(9 * at), 2.0))))
        if k % 7 == 0 and k < 70:
            values = [5.0 * np.cos(3 * at) + i for i in range(motors)]
            messages.append(('/motor/commands', stamp_ns, numbers(*values)))
        if frame and k % 5 == 0:
            wrench = load(stamp_ns, frame, (1.0, at, 0.5), (0.0, 1e-3, 2e-3 * at))
            messages.append(('/motor/wheel/rotor_wrench', stamp_ns, wrench))
    return write(folder, messages)


def both(recording, parameters):
    """Return wrench, spin and angle of each step and motor, replayed and rolled out."""
    outcomes = list(replay(recording, parameters))
    gathering = gather(recording, parameters)
    motors = gathering.settings.motors
    replayed = [
        [
            [*s.mount_wrench.force, *s.mount_wrench.torque, s.state.spin, s.state.angle]
            for s in outcome.steps
        ]
        for outcome in outcomes
    ]
    stamps, rolled = [], []
    for rows, made in rollouts(
        [rollout_motor(x) for x in motors],
        [x.initial for x in motors],
        gathering,
        ('mount_wrench', 'spin', 'angle'),
    ):
        stamps += rows['stamp_ns'].tolist()
        parts = [made['mount_wrench'], made['spin'][..., None], made['angle'][..., None]]
        rolled.append(np.concatenate(parts, axis=2).transpose(1, 0, 2))
    assert stamps == [outcome.stamp_ns for outcome in outcomes]
    return np.array(replayed), np.concatenate(rolled), outcomes


@pytest.mark.parametrize(
    ('more', 'motors', 'frame'),
    [({}, 1, None), (GEARED, 1, None), (TWO, 2, 'base_link'), ({}, 1, 'odom')],
    ids=['plain', 'geared', 'two motors, a load of the mount', 'a load of the world'],
)
def test_a_rollout_of_what_was_gathered_is_the_replay_to_the_last_bits(
    tmp_path, more, motors, frame
):
    recording = recorded(tmp_path / 'r', motors=motors, frame=frame)
    replayed, rolled, outcomes = both(recording, {**FRAMES, **more})
    breaks = [a.stamp_ns != b.start_ns for a, b in zip(outcomes, outcomes[1:], strict=False)]
    assert (len(outcomes) > 150, any(breaks)) == (True, True)  # the pause is one of it
    np.testing.assert_allclose(rolled, replayed, rtol=1e-12, atol=1e-15)
    assert np.ptp(rolled[:, 0, 6]) > 1.0  # [rad/s]: the motor did something


def test_a_load_in_axes_of_a_rotor_is_refused(tmp_path):
    recording = recorded(tmp_path / 'r', frame='wheel_rotor')
    with pytest.raises(GatherError, match='in the frame of a rotor'):
        list(gather(recording, FRAMES))


def test_commands_that_feed_forward_are_refused(tmp_path):
    messages = [
        (
            '/motor/joint_command',
            START_NS + k * MS,
            ros(
                'sensor_msgs/msg/JointState',
                header(START_NS + k * MS, ''),
                ['wheel_joint'],
                np.array([]),
                np.array([1.0]),
                np.array([0.5 * (k > 50)]),
            ),
        )
        for k in range(100)
    ]
    still = {'world_frame': 'base_link', 'rate_source': 'zero', 'wheel.mode': 'velocity'}
    with pytest.raises(GatherError, match='feeds velocity or torque forward'):
        list(gather(write(tmp_path / 'r', messages), still))


def test_a_limit_that_all_motors_share_is_refused(tmp_path):
    with pytest.raises(GatherError, match=r'torque_limit must be 0 N m \(none\) here, got 0.5'):
        gather(recorded(tmp_path / 'r'), {'torque_limit': 0.5})


@pytest.mark.parametrize(
    ('frame', 'placed'), [(None, False), ('base_link', True), ('wheel_stator', True)]
)
def test_it_is_told_whether_the_place_of_a_stator_matters(tmp_path, frame, placed):
    gathering = gather(recorded(tmp_path / 'r', frame=frame), FRAMES)
    list(gathering)
    assert gathering.placed is placed


def with_commands(name, folder):
    """Write a recording again, with torques every 20 ms."""
    messages = []
    for record in Recording(SHARED / name).records():
        at = record.received_ns
        messages.append((record.topic, at, record.message))
        if not messages or at // (20 * MS) != messages[-2:][0][1] // (20 * MS):
            messages.append(('/motor/commands', at, numbers(1e-3 * np.sin(at * 1e-9))))
    return write(folder, messages)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}')
@pytest.mark.parametrize(
    ('name', 'world', 'mount'),
    [
        ('broad07_fast_rotation', 'omc_enu', 'imu_mount'),
        ('jackal_sim_imu_odom', 'odom', 'base_link'),
    ],
)
def test_a_real_recording_with_torques_gives_the_same_both_ways(tmp_path, name, world, mount):
    recording = with_commands(name, tmp_path / 'r')
    frames = {'world_frame': world, 'mount_frame': mount}
    replayed, rolled, outcomes = both(recording, frames)
    assert any(outcome.steps[0].torque for outcome in outcomes)
    np.testing.assert_allclose(rolled, replayed, rtol=1e-12, atol=1e-15)
