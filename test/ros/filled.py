"""Messages filled attribute by attribute: what the bytes of ``wire`` are compared with."""

from array import array
from math import cos, sin

from geometry_msgs.msg import TransformStamped


def head(msg, stamp_ns, frame):
    msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
    msg.header.frame_id = frame


def put(target, vector):
    target.x, target.y, target.z = vector


def wrench(msg, stamp_ns, frame, value):
    head(msg, stamp_ns, frame)
    put(msg.wrench.force, value.force)
    put(msg.wrench.torque, value.torque)


def number(msg, value):
    msg.data = value


def vector(msg, stamp_ns, frame, value):
    head(msg, stamp_ns, frame)
    put(msg.vector, value)


def angular(msg, stamp_ns, frame, value):
    head(msg, stamp_ns, frame)
    put(msg.twist.angular, value)


def inertia(msg, stamp_ns, frame, rows):
    head(msg, stamp_ns, frame)
    (
        (msg.inertia.ixx, msg.inertia.ixy, msg.inertia.ixz),
        (_, msg.inertia.iyy, msg.inertia.iyz),
        (_, _, msg.inertia.izz),
    ) = rows


def joints(msg, outcome, names):
    head(msg, outcome.stamp_ns, '')
    msg.name = names
    msg.position = array('d', [step.state.angle for step in outcome.steps])
    msg.velocity = array('d', [step.relative_speed for step in outcome.steps])
    msg.effort = array('d', outcome.torques)


def rotor(msg, outcome, stator, rotor):
    """Fill a TFMessage with the turn of a rotor about the z of its stator."""
    transform = TransformStamped(child_frame_id=rotor)
    head(transform, outcome.stamp_ns, stator)
    half = 0.5 * outcome.steps[0].state.angle
    turn, s = transform.transform.rotation, sin(half)
    turn.x, turn.y, turn.z, turn.w = s * 0.0, s * 0.0, s, cos(half)
    msg.transforms = [transform]
