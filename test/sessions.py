"""What the tests of the session share: a mount that turns and messages about it."""

from math import cos, sin

from mime_motor_ros.inputs import Commands, Imu, JointCommand, Transform
from mime_motor_ros.session import Session
from mime_motor_ros.settings import settings

SECOND = 1_000_000_000
MS = 1_000_000
START = 1000 * SECOND
ORIGIN = (0.0, 0.0, 0.0)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
TURNING = (0.3, -0.2, 0.5)


def make(more=None, **values):
    """Return a session at 100 Hz with parameters by name."""
    return Session(settings({'rate': 100.0, **values, **(more or {})}))


def still(**values):
    """Return a session on a mount that stands still: nothing but time moves it."""
    more = {
        f'wheel.{name}': values.pop(name) for name in ('damping', 'initial_spin') if name in values
    }
    frames = {'world_frame': 'base_link', 'rate_source': 'zero'}
    return make({**frames, **more, **values})


def tf(
    stamp, parent='odom', child='base_link', position=ORIGIN, orientation=UPRIGHT, static=False
):
    return Transform(stamp, parent, child, position, orientation, static)


def imu(stamp, rate=TURNING, frame='base_link', **more):
    return Imu(stamp, frame, rate, **more)


def yawed(angle):
    """Return a turn about z."""
    return (0.0, 0.0, sin(angle / 2), cos(angle / 2))


def moving(stamp):
    """Return pose and rate of a mount on its way at a time."""
    t = (stamp - START) / SECOND
    pose = tf(stamp, position=(0.1 * t, 0.2, -0.3 * t), orientation=yawed(0.7 * t))
    return [pose, imu(stamp, (0.1 * sin(t), -0.2, 0.7))]


def play(session, until, every=10 * MS, messages=moving, torque=None):
    """Let time come to ``until``: at each moment the messages, a torque, then the steps."""
    made = []
    now = session.now_ns or START - every
    while now + every <= until:
        now += every
        for item in messages(now):
            session.take(item, now)
        if torque is not None:
            session.take(Commands((torque,)), now)
        made += session.advance_to(now)
    return made


def give(session, items, now=START):
    """Take all items at one moment."""
    for item in items:
        session.take(item, now)


def effort(stamp, torque, name='wheel_joint'):
    return JointCommand(stamp, (name,), (torque,))


def spins(outcomes):
    return [outcome.steps[0].state.spin for outcome in outcomes]


def stamps(outcomes):
    return [outcome.stamp_ns for outcome in outcomes]
