from itertools import pairwise
from pathlib import Path
import shutil

import numpy as np
import pytest

rosbag2 = pytest.importorskip('rosbags.rosbag2', reason='needs the package rosbags')

from mime_motor_ros.offline.recording import guess_frames, Recording, RecordingError  # noqa: E402
from rosbags import interfaces, typesys  # noqa: E402

STORE = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
KEPT = interfaces.Qos(
    interfaces.QosHistory.KEEP_LAST,
    1,
    interfaces.QosReliability.RELIABLE,
    interfaces.QosDurability.TRANSIENT_LOCAL,
    interfaces.QosTime(2147483647, 4294967295),
    interfaces.QosTime(2147483647, 4294967295),
    interfaces.QosLiveliness.AUTOMATIC,
    interfaces.QosTime(2147483647, 4294967295),
    False,
)
START_NS = 1_600_000_000_000_000_000


def ros(name, *values):
    return STORE.types[name](*values)


def header(stamp_ns, frame):
    stamp = ros('builtin_interfaces/msg/Time', stamp_ns // 10**9, stamp_ns % 10**9)
    return ros('std_msgs/msg/Header', stamp, frame)


def imu(stamp_ns, rate, frame='imu_link'):
    vector = 'geometry_msgs/msg/Vector3'
    return ros(
        'sensor_msgs/msg/Imu',
        header(stamp_ns, frame),
        ros('geometry_msgs/msg/Quaternion', 0.0, 0.0, 0.0, 1.0),
        np.array([-1.0] + [0.0] * 8),
        ros(vector, *rate),
        np.zeros(9),
        ros(vector, 0.0, 0.0, 9.81),
        np.zeros(9),
    )


def tf(stamp_ns, parent, child):
    transform = ros(
        'geometry_msgs/msg/Transform',
        ros('geometry_msgs/msg/Vector3', 1.0, 2.0, 3.0),
        ros('geometry_msgs/msg/Quaternion', 0.0, 0.0, 0.6, 0.8),
    )
    stamped = ros('geometry_msgs/msg/TransformStamped', header(stamp_ns, parent), child, transform)
    return ros('tf2_msgs/msg/TFMessage', [stamped])


def write(folder, messages, kept=('/tf_static',)):
    """Write (topic, receipt time, message) as a zstd-compressed MCAP recording."""
    writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
    writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for topic, received_ns, message in messages:
            name = message.__msgtype__
            if topic not in connections:
                qos = [KEPT] if topic in kept else []
                connections[topic] = writer.add_connection(
                    topic, name, typestore=STORE, offered_qos_profiles=qos
                )
            data = STORE.serialize_cdr(message, name)
            writer.write(connections[topic], received_ns, bytes(data))
    return folder


@pytest.fixture
def folder(tmp_path):
    """Three IMU messages received late, so that order of receipt is not order of stamps."""
    late_ns = 20_000_000
    messages = [('/tf_static', START_NS, tf(START_NS, '/base_link', 'imu_link'))]
    for k in range(3):
        stamp_ns = START_NS + k * 10_000_000
        messages.append(('/tf', stamp_ns, tf(stamp_ns, 'odom', 'base_link')))
        messages.append(('/imu/data', stamp_ns + late_ns, imu(stamp_ns, (0.1 * k, -0.0, 1e-300))))
    return write(tmp_path / 'small', messages)


def test_records_come_in_order_of_receipt_whatever_the_order_in_the_file(folder):
    records = list(Recording(folder).records())
    times = [record.received_ns - START_NS for record in records]
    assert times == [0, 0, 10_000_000, 20_000_000, 20_000_000, 30_000_000, 40_000_000]
    assert [record.topic for record in records[:2]] == ['/tf_static', '/tf']
    assert records[-1].topic == '/imu/data'


def test_a_message_has_the_fields_of_ros_and_the_very_bits_of_the_file(folder):
    messages = [record.message for record in Recording(folder).records(('/imu/data',))]
    assert [message.header.stamp.nanosec for message in messages] == [0, 10_000_000, 20_000_000]
    assert messages[1].header.stamp.sec == START_NS // 10**9
    assert messages[2].angular_velocity.x.hex() == (0.2).hex()
    assert messages[2].angular_velocity.y.hex() == (-0.0).hex()
    assert messages[2].angular_velocity.z == 1e-300
    assert messages[0].orientation_covariance[0] == -1.0


def test_a_record_outlives_the_reading_and_gives_the_bytes_it_was_made_of(folder):
    record = next(Recording(folder).records(('/tf',)))
    again = STORE.serialize_cdr(record.message, record.type)
    assert bytes(again) == record.data


def test_topics_tell_type_count_and_what_was_offered(folder):
    recording = Recording(folder)
    topics = {topic.name: topic for topic in recording.topics}
    assert {name: topic.count for name, topic in topics.items()} == {
        '/imu/data': 3,
        '/tf': 3,
        '/tf_static': 1,
    }
    assert topics['/imu/data'].type == 'sensor_msgs/msg/Imu'
    assert topics['/imu/data'].type_hash.startswith('RIHS01_')
    assert topics['/tf_static'].transient_local
    assert not topics['/tf'].transient_local
    assert (recording.name, recording.count) == ('small', 7)
    assert recording.seconds == pytest.approx(0.04)


def test_a_recording_can_be_read_twice_and_left_halfway(folder):
    recording = Recording(folder)
    half = recording.records()
    next(half)
    half.close()
    assert len(list(recording.records())) == len(list(recording.records())) == 7


def test_frames_are_found_from_the_imu_upwards(folder):
    assert guess_frames(Recording(folder)) == ('odom', 'base_link', 'imu_link', '/imu/data')


def test_a_damaged_transform_does_not_hide_the_others(tmp_path):
    writer = rosbag2.Writer(tmp_path / 'bag', version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
    with writer:
        places = {
            topic: writer.add_connection(topic, message.__msgtype__, typestore=STORE)
            for topic, message in (('/tf', tf(0, 'a', 'b')), ('/imu', imu(0, (0.0, 0.0, 1.0))))
        }
        writer.write(places['/tf'], START_NS, b'\xff' * 40)
        for k in range(3):
            now_ns = START_NS + k * 10**7
            for topic, message in (
                ('/tf', tf(now_ns, 'odom', 'base')),
                ('/imu', imu(now_ns, (0.0, 0.0, 1.0), 'base')),
            ):
                data = STORE.serialize_cdr(message, message.__msgtype__)
                writer.write(places[topic], now_ns, bytes(data))
    assert guess_frames(Recording(tmp_path / 'bag')) == ('odom', 'base', 'base', '/imu')


def test_an_imu_that_moves_by_itself_is_its_own_mount(tmp_path):
    messages = [
        ('/imu', START_NS, imu(START_NS, (0.0, 0.0, 0.0), 'imu_mount')),
        ('/tf', START_NS, tf(START_NS, 'room', 'imu_mount')),
    ]
    recording = Recording(write(tmp_path / 'bag', messages))
    assert guess_frames(recording) == ('room', 'imu_mount', 'imu_mount', '/imu')


def test_an_imu_on_a_still_chain_is_refused_with_its_frame(tmp_path):
    messages = [('/imu', START_NS, imu(START_NS, (0.0, 0.0, 0.0)))]
    recording = Recording(write(tmp_path / 'bag', messages))
    with pytest.raises(RecordingError, match="leads to the IMU frame 'imu_link'"):
        guess_frames(recording)
    with pytest.raises(RecordingError, match='has no topic /other; its IMU topics: /imu.'):
        guess_frames(recording, '/other')


def test_a_missing_folder_is_named_in_one_line(tmp_path):
    with pytest.raises(RecordingError) as error:
        Recording(tmp_path / 'none')
    assert str(error.value) == f'{tmp_path}/none does not exist. Give the folder of a recording.'


def test_a_folder_without_metadata_is_told_how_to_get_it(folder):
    (folder / 'metadata.yaml').unlink()
    with pytest.raises(RecordingError) as error:
        Recording(folder)
    assert str(error.value) == (
        f'{folder} has no metadata.yaml, so it is no rosbag2 folder. '
        'Give the folder that holds it, or make it anew with: ros2 bag reindex.'
    )


def test_a_file_that_is_no_recording_is_refused(tmp_path):
    path = tmp_path / 'notes.txt'
    path.write_text('spin')
    with pytest.raises(RecordingError, match='is no recording. Give a rosbag2 folder.'):
        Recording(path)


@pytest.mark.parametrize('kept', [0, 1, 8, 9, 100, 0.5, 0.9, 0.999])
def test_a_file_cut_anywhere_is_one_line_and_no_traceback_of_the_reader(folder, kept):
    path = folder / 'small.mcap'
    data = path.read_bytes()
    path.write_bytes(data[: kept if isinstance(kept, int) else int(kept * len(data))])
    with pytest.raises(RecordingError) as error:
        list(Recording(folder).records())
    text = str(error.value)
    assert text.startswith(f'{folder} is damaged or cut short: ')
    assert text.endswith('. Copy it again from its source.')
    assert '\n' not in text


def test_a_spoilt_byte_anywhere_never_brings_out_the_reader_s_own_errors(folder):
    path = folder / 'small.mcap'
    data = path.read_bytes()
    texts = []
    for at in range(0, len(data), 211):
        spoilt = bytearray(data)
        spoilt[at] ^= 0xFF
        path.write_bytes(spoilt)
        try:
            records = list(Recording(folder).records())
            for record in records:
                assert record.message is not None
        except RecordingError as error:
            texts.append(str(error))
    assert len(texts) > 3
    assert not any('\n' in text for text in texts)


def test_a_topic_that_is_not_there_is_refused_with_those_that_are(folder):
    with pytest.raises(RecordingError, match='has no topic /odom; it has /tf_static, /tf, /imu'):
        list(Recording(folder).records(('/odom',)))


SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'data'
RECORDINGS = {
    'broad07_fast_rotation': (11428, ('omc_enu', 'imu_mount', 'imu_mount', '/imu/data')),
    'husky_imu_odom': (9771, ('odom', 'base_link', 'imu_link', '/imu/data')),
    'px4_auavx21_handheld': (17098, ('odom_ned', 'base_link_frd', 'base_link_frd', '/imu/data')),
    'jackal_sim_imu_odom': (9181, ('odom', 'base_link', 'base_link', '/imu/data')),
}


@pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}')
@pytest.mark.parametrize('name', RECORDINGS)
def test_a_real_recording_is_read_whole_and_its_frames_are_found(name):
    count, frames = RECORDINGS[name]
    recording = Recording(SHARED / name)
    times = [record.received_ns for record in recording.records()]
    assert len(times) == recording.count == count
    assert all(before <= after for before, after in pairwise(times))
    assert (times[0], times[-1]) == (recording.start_ns, recording.end_ns)
    assert guess_frames(recording) == frames


@pytest.mark.skipif(not SHARED.is_dir(), reason=f'needs the recordings in {SHARED}')
def test_a_copy_of_a_real_recording_cut_in_its_middle_is_refused(tmp_path):
    copy = tmp_path / 'cut'
    shutil.copytree(SHARED / 'jackal_sim_imu_odom', copy)
    path = copy / 'jackal_sim_imu_odom.mcap'
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:200_000])
    with pytest.raises(RecordingError, match='damaged or cut short'):
        Recording(copy)
