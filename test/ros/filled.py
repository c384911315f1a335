"""Messages filled attribute by attribute: what the bytes of ``wire`` are compared with."""

from array import array


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
