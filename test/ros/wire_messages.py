"""Messages by their numbers, for the tests that send them."""

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from sensor_msgs.msg import Imu
from tf2_msgs.msg import TFMessage


def stamp(seconds):
    ns = round(seconds * 1e9)
    return Time(sec=ns // 10**9, nanosec=ns % 10**9)


def imu(seconds, rate, frame='base_link'):
    message = Imu()
    message.header.stamp, message.header.frame_id = stamp(seconds), frame
    message.angular_velocity.x, message.angular_velocity.y, message.angular_velocity.z = rate
    return message


def tf(seconds, parent, child, xyz=(0.0, 0.0, 0.0), xyzw=(0.0, 0.0, 0.0, 1.0)):
    transform = TransformStamped()
    transform.header.stamp, transform.header.frame_id = stamp(seconds), parent
    transform.child_frame_id = child
    t, r = transform.transform.translation, transform.transform.rotation
    t.x, t.y, t.z = xyz
    r.x, r.y, r.z, r.w = xyzw
    return TFMessage(transforms=[transform])
