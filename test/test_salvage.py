"""Recordings that are not whole: what is readable is read, and the rest is one line."""

from pathlib import Path
import shutil

import pytest

pytest.importorskip('rosbags', reason='needs the package rosbags')
pytest.importorskip('mcap', reason='needs the package mcap')

from mcap.reader import make_reader  # noqa: E402
from mime_motor_ros.offline import replay_command  # noqa: E402
from mime_motor_ros.offline.recording import Recording, RecordingError  # noqa: E402
from mime_motor_ros.offline.salvage import readable  # noqa: E402
from rosbags import rosbag2  # noqa: E402
from test_recording import imu, KEPT, START_NS, STORE, tf  # noqa: E402

pytestmark = pytest.mark.usefixtures('restored_signals')
COUNT = 12_000  # messages: some chunks of an MCAP file


def record(folder, plugin=rosbag2.StoragePlugin.MCAP, first=0, count=COUNT):
    writer = rosbag2.Writer(folder, version=9, storage_plugin=plugin)
    if plugin == rosbag2.StoragePlugin.MCAP:
        writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
    kinds = {'/imu/data': 'sensor_msgs/msg/Imu', '/tf': 'tf2_msgs/msg/TFMessage'}
    with writer:
        topics = {
            name: writer.add_connection(name, kind, typestore=STORE, offered_qos_profiles=[KEPT])
            for name, kind in kinds.items()
        }
        for k in range(first, first + count // 2):
            now = START_NS + k * 10**6
            for name, message in (
                ('/tf', tf(now, 'odom', 'base_link')),
                ('/imu/data', imu(now, (0.1, 0.0, 0.1 * k), 'base_link')),
            ):
                data = STORE.serialize_cdr(message, kinds[name])
                writer.write(topics[name], now, bytes(data))
    return folder


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    return record(tmp_path_factory.mktemp('whole') / 'bag')


@pytest.fixture
def bag(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / 'bag'))


def contents(recording):
    return [(x.topic, x.type, x.received_ns, x.data) for x in recording.records()]


@pytest.mark.parametrize('kept', [0.5, 0.999])
@pytest.mark.parametrize('alone', [False, True])
def test_of_a_file_cut_short_all_whole_chunks_are_read_and_the_place_is_said(
    whole, bag, kept, alone
):
    file = bag / 'bag.mcap'
    data = file.read_bytes()
    file.write_bytes(data[: int(kept * len(data))])
    recording = readable(file if alone else bag)
    found = contents(recording)
    assert found == contents(Recording(whole))[: len(found)]
    assert len(found) > kept * COUNT - 5000
    seconds, size = (found[-1][2] - found[0][2]) * 1e-9, int(kept * len(data))
    assert recording.cut.startswith(f'{file} is cut short or damaged behind byte ')
    assert recording.cut.endswith(
        f' of {size}: the {len(found)} messages before that, {seconds:.3f} s, are '
        'used. Copy it again, or mend it with: mcap recover.'
    )
    assert {x.name for x in recording.topics} == {'/imu/data', '/tf'}
    assert recording.count == len(found)


def test_the_outputs_of_a_recording_cut_short_are_complete_to_there(bag, tmp_path, capsys):
    file, out = bag / 'bag.mcap', tmp_path / 'out'
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    count = readable(bag).count
    code = replay_command.main(
        [str(bag), '--step-on', 'imu', '--out', str(out), '--csv', f'{out}.csv']
    )
    said, err = capsys.readouterr()
    assert code == 1
    assert [line for line in err.splitlines() if 'cut short or damaged' in line]
    assert 'Traceback' not in err
    steps = int(said.split()[0])
    assert steps == count // 2 - 1
    assert {x.name: x.count for x in Recording(out).topics}['/motor/reaction'] == steps
    assert len(Path(f'{out}.csv').read_text().splitlines()) == steps + 1


def test_a_folder_without_metadata_is_read_by_its_files(whole, bag, capsys):
    (bag / 'metadata.yaml').unlink()
    recording = readable(bag)
    assert contents(recording) == contents(Recording(whole))
    assert recording.cut == ''
    assert replay_command.main([str(bag), '--step-on', 'imu', '--duration', '0.1']) == 0
    _, err = capsys.readouterr()
    assert err.splitlines()[0] == (
        f'motor_replay: {bag} has no metadata.yaml: its files are read as they are. ros2 bag '
        'reindex makes it anew.'
    )


def test_the_files_of_a_split_recording_are_read_as_one_the_last_of_them_cut(tmp_path):
    parts = [record(tmp_path / f'part{i}', first=i * 1000, count=2000) for i in range(3)]
    joined = tmp_path / 'joined'
    joined.mkdir()
    wanted = []
    for i, part in enumerate(parts):
        shutil.copy(part / f'{part.name}.mcap', joined / f'joined_{i}.mcap')
        wanted += contents(Recording(part))
    recording = readable(joined)
    assert contents(recording) == wanted
    assert {x.name: x.count for x in recording.topics} == {'/imu/data': 3000, '/tf': 3000}
    last = joined / 'joined_2.mcap'
    last.write_bytes(last.read_bytes()[:-100])  # the index alone is gone
    recording = readable(joined)
    assert contents(recording) == wanted
    assert str(last) in recording.cut


def test_of_a_spoilt_chunk_what_was_before_is_used(whole, bag):
    file = bag / 'bag.mcap'
    with open(file, 'rb') as opened:
        second = make_reader(opened).get_summary().chunk_indexes[1]
    data = bytearray(file.read_bytes())
    data[second.chunk_start_offset + second.chunk_length // 2] ^= 0xFF
    file.write_bytes(data[:-100])
    recording = readable(bag)
    found = contents(recording)
    assert 0.2 * COUNT < len(found) < 0.7 * COUNT
    assert found == contents(Recording(whole))[: len(found)]


def test_of_a_cut_sqlite_file_what_it_gives_is_read(tmp_path):
    bag = record(tmp_path / 'bag', rosbag2.StoragePlugin.SQLITE3)
    wanted = contents(Recording(bag))
    file = bag / 'bag.db3'
    file.write_bytes(file.read_bytes()[: int(0.9 * file.stat().st_size)])
    recording = readable(bag)
    found = contents(recording)
    assert 0.5 * COUNT < len(found) < COUNT
    assert found == wanted[: len(found)]
    assert recording.cut.endswith(
        f's, are used. Copy it again, or mend it with: sqlite3 {file} .recover.'
    )


def test_a_topic_of_an_unknown_type_is_no_hindrance(tmp_path):
    folder = tmp_path / 'bag'
    writer = rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
    with writer:
        known = writer.add_connection('/imu/data', 'sensor_msgs/msg/Imu', typestore=STORE)
        other = writer.add_connection(
            '/odd', 'odd_msgs/msg/Odd', msgdef='int32 x\n', rihs01='RIHS01_0'
        )
        for k in range(3):
            message = imu(START_NS + k, (0.0, 0.0, 0.0))
            writer.write(
                known, START_NS + k, bytes(STORE.serialize_cdr(message, message.__msgtype__))
            )
            writer.write(other, START_NS + k, b'\0\1\0\0\5\0\0\0')
    recording = readable(folder)
    assert {x.name: x.type for x in recording.topics} == {
        '/imu/data': 'sensor_msgs/msg/Imu', '/odd': 'odd_msgs/msg/Odd'}  # fmt: skip
    assert len(contents(recording)) == 6


@pytest.mark.parametrize('kept', [0, 1, 8, 9, 100])
def test_a_file_without_a_message_is_one_line(bag, kept):
    file = bag / 'bag.mcap'
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(RecordingError) as error:
        readable(bag)
    assert str(error.value) == f'{bag} holds no message that can be read. Copy it again.'


def test_a_folder_that_is_no_recording_is_one_line(tmp_path):
    with pytest.raises(RecordingError) as error:
        readable(tmp_path)
    assert str(error.value) == (
        f'{tmp_path} is no rosbag2 folder: it has neither metadata.yaml nor .mcap or .db3 files. '
        'Give the folder that holds them.'
    )


def test_what_is_not_there_is_one_line(tmp_path):
    with pytest.raises(
        RecordingError, match='none does not exist. Give the folder of a recording'
    ):
        readable(tmp_path / 'none')


def test_rows_of_a_cut_database_come_in_order_of_receipt(monkeypatch):
    from mime_motor_ros.offline import salvage

    monkeypatch.setattr(salvage, 'AHEAD', 3)
    times = [3, 1, 2, 6, 4, 5, 9, 8, 7]
    rows = iter([('/a', 'k', time, b'') for time in times])
    assert [row[2] for row in salvage._sorted(rows)] == sorted(times)


def test_a_log_beside_a_database_that_was_not_put_in_is_told(tmp_path):
    from mime_motor_ros.offline.salvage import readable

    bag = record(tmp_path / 'bag', rosbag2.StoragePlugin.SQLITE3)
    (file,) = bag.glob('*.db3')
    assert readable(bag).notes == []
    file.with_name(f'{file.name}-wal').write_bytes(b'pages')
    (note,) = readable(bag).notes
    assert note.startswith(f'{file}-wal is not read: its recorder was killed.')
