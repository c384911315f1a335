"""The tree of frames against tf2 itself on random trees; elsewhere data/frames stands for it."""

from random import Random

from mime_motor_ros.errors import FrameError
from mime_motor_ros.frames import FrameTree
from mime_motor_ros.model import Pose
from mime_motor_ros.vector import normalized
import pytest

tf2_py = pytest.importorskip('tf2_py', reason='tf2_py comes with a ROS 2 distribution only')
geometry_msgs = pytest.importorskip('geometry_msgs.msg', reason='needs ROS 2 messages')
duration = pytest.importorskip('rclpy.duration', reason='needs rclpy')
time = pytest.importorskip('rclpy.time', reason='needs rclpy')

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
FRAMES = ('map', 'odom', 'base', 'arm', 'hand', 'imu', 'lamp', 'island')
KINDS = {
    'LookupException': 'FrameLookupError',
    'ConnectivityException': 'FrameConnectivityError',
    'ExtrapolationException': 'FrameExtrapolationError',
}


class Tf2:
    """tf2's buffer with the names of our tree."""

    def __init__(self):
        self.buffer = tf2_py.BufferCore(duration.Duration(seconds=10))

    def insert(self, stamp_ns, parent, child, pose, static=False):
        message = geometry_msgs.TransformStamped()
        message.header.stamp = time.Time(nanoseconds=stamp_ns).to_msg()
        message.header.frame_id, message.child_frame_id = parent, child
        to, turn = message.transform.translation, message.transform.rotation
        to.x, to.y, to.z = pose.position
        turn.x, turn.y, turn.z, turn.w = pose.orientation
        insert = self.buffer.set_transform_static if static else self.buffer.set_transform
        insert(message, 'test')

    def lookup(self, target, source, at_ns):
        at = time.Time(nanoseconds=at_ns)
        answer = self.buffer.lookup_transform_core(target, source, at)
        to, turn = answer.transform.translation, answer.transform.rotation
        stamp = time.Time.from_msg(answer.header.stamp).nanoseconds
        return stamp, Pose((to.x, to.y, to.z), (turn.x, turn.y, turn.z, turn.w))


def random_pose(random):
    turn = normalized(tuple(random.gauss(0.0, 1.0) for _ in range(4)))
    return Pose(tuple(random.uniform(-2.0, 2.0) for _ in range(3)), turn)


def random_transforms(random, disorder):
    """Return transforms as they arrive; the more disorder, the more parents change and loop."""
    transforms = []
    for n, child in enumerate(FRAMES[1:-1], 1):
        static = random.random() < 0.3
        stamps = random.sample(range(40), 1 if static else random.randint(1, 8))
        parent = random.choice(FRAMES[:n])
        for stamp in stamps:
            if random.random() < disorder:
                parent = random.choice([name for name in FRAMES if name != child])
            pose = random_pose(random)
            transforms.append((START + stamp * SECOND // 10, parent, child, pose, static))
    random.shuffle(transforms)
    return transforms


def answer(look, *question):
    try:
        return look(*question)
    except (FrameError, tf2_py.TransformException) as error:
        return KINDS.get(type(error).__name__, type(error).__name__)


def assert_same(ours, theirs, what):
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs, what
        return
    assert ours[0] == theirs[0], what
    (p, q), (p_tf2, q_tf2) = ours[1], theirs[1]
    sign = 1.0 if sum(a * b for a, b in zip(q, q_tf2, strict=True)) > 0.0 else -1.0
    assert p == pytest.approx(p_tf2, abs=1e-9), what
    assert [sign * a for a in q] == pytest.approx(q_tf2, abs=1e-9), what


@pytest.mark.parametrize('disorder', [0.0, 0.1, 0.5])
@pytest.mark.parametrize('seed', range(20))
def test_lookups_are_those_of_tf2(seed, disorder):
    random = Random(f'{seed} {disorder}')
    ours, theirs = FrameTree(), Tf2()
    for transform in random_transforms(random, disorder):
        ours.insert(*transform)
        theirs.insert(*transform)
    times = [
        0,
        *(START + random.randint(-3, 43) * SECOND // 10 for _ in range(6)),
        *(START + random.randint(0, 4 * SECOND) for _ in range(6)),
    ]
    for target in (*FRAMES, 'nowhere'):
        for source in (*FRAMES, 'nowhere'):
            for at_ns in times:
                what = (target, source, at_ns)
                assert_same(answer(ours.lookup, *what), answer(theirs.lookup, *what), what)


@pytest.mark.parametrize('disorder', [0.0, 0.1, 0.5])
@pytest.mark.parametrize('seed', range(10))
def test_the_newest_until_a_time_is_the_newest_common_of_a_tf2_that_heard_no_more(seed, disorder):
    random = Random(f'until {seed} {disorder}')
    transforms = random_transforms(random, disorder)
    ours = FrameTree()
    for transform in transforms:
        ours.insert(*transform)
    for until_ns in (START + random.randint(0, 40) * SECOND // 10 for _ in range(5)):
        theirs = Tf2()
        for transform in transforms:
            if transform[0] <= until_ns or transform[4]:
                theirs.insert(*transform)
        for target in FRAMES:
            for source in FRAMES:
                got = answer(ours.newest, target, source, until_ns)
                wanted = answer(theirs.lookup, target, source, 0)
                if isinstance(wanted, str):
                    assert isinstance(got, str), (target, source, until_ns)
                elif target != source:
                    assert_same((got[0] or 0, got[1]), wanted, (target, source, until_ns))


def test_what_is_too_old_is_forgotten_as_in_tf2():
    ours, theirs = FrameTree(), Tf2()
    for seconds in (1, 2, 11.5, 12, 1.5):
        transform = (START + int(seconds * SECOND), 'map', 'base', Pose((seconds, 0.0, 0.0)))
        ours.insert(*transform)
        theirs.insert(*transform)
    for tenths in range(0, 130, 5):
        what = ('map', 'base', START + tenths * SECOND // 10)
        assert_same(answer(ours.lookup, *what), answer(theirs.lookup, *what), what)
