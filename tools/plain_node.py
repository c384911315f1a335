"""
What the bench compares the motor node with: the same step and topics in an ordinary rclpy node.

A timer, callbacks, new message objects, ``rclpy.spin``: as one writes a node first. It lacks
everything else the motor node does (checks, frames, time-outs, services, parameters).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import (
    Inertia,
    InertiaStamped,
    Quaternion,
    Transform,
    TransformStamped,
    Twist,
    TwistStamped,
    Vector3,
    Vector3Stamped,
    Wrench,
    WrenchStamped,
)
from mime_motor_ros.demo_mount import IMU_ON_MOUNT
from mime_motor_ros.model import advance, MotorParameters, MotorState, Pose, StepInputs
from mime_motor_ros.session import Outcome
from mime_motor_ros.vector import rotate
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64, Header
from tf2_msgs.msg import TFMessage

RATE = 1000  # Hz
TF_RATE = 50  # Hz
PERIOD_NS = 1_000_000_000 // RATE
MOUNT, WORLD = 'base_link', 'odom'


def vector(v: Any) -> Vector3:
    """Return a message of three numbers."""
    return Vector3(x=v[0], y=v[1], z=v[2])


def wrench(header: Header, w: Any) -> WrenchStamped:
    """Return a message of force and torque."""
    return WrenchStamped(header=header, wrench=Wrench(force=vector(w[0]), torque=vector(w[1])))


def twist(header: Header, angular: Any) -> TwistStamped:
    """Return a message of an angular velocity."""
    return TwistStamped(header=header, twist=Twist(angular=vector(angular)))


def inertia(header: Header, rows: Any) -> InertiaStamped:
    """Return a message of a symmetric tensor."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = rows
    return InertiaStamped(
        header=header, inertia=Inertia(ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)
    )


class PlainNode(Node):
    """One wheel with the parameters the motor node has by default."""

    def __init__(self) -> None:
        super().__init__('motor')
        self.parameters = MotorParameters(inertia=1e-4, damping=1e-5)
        self.state = MotorState()
        self.pose: Pose | None = None
        self.rate: Any = None
        self.steps = 0

        def publisher(kind: type, topic: str) -> Any:
            return self.create_publisher(kind, topic, 10)

        self.reaction = publisher(WrenchStamped, '~/reaction')
        self.mount_wrench = publisher(WrenchStamped, '~/mount_wrench')
        self.momentum = publisher(Vector3Stamped, '~/momentum')
        self.joints = publisher(JointState, 'joint_states')
        self.spin = publisher(Float64, '~/wheel/spin')
        self.own_reaction = publisher(WrenchStamped, '~/wheel/reaction')
        self.own_mount_wrench = publisher(WrenchStamped, '~/wheel/mount_wrench')
        self.own_momentum = publisher(Vector3Stamped, '~/wheel/momentum')
        self.stator_twist = publisher(TwistStamped, '~/wheel/stator_twist')
        self.rotor_twist = publisher(TwistStamped, '~/wheel/rotor_twist')
        self.asymmetry = publisher(InertiaStamped, '~/wheel/asymmetry')
        self.asymmetry_next = publisher(InertiaStamped, '~/wheel/asymmetry_next')
        self.diagnostics = publisher(DiagnosticArray, '/diagnostics')
        self.tf = self.create_publisher(TFMessage, '/tf', 100)

        self.create_subscription(Imu, 'imu/data', self.on_imu, qos_profile_sensor_data)
        self.create_subscription(TFMessage, '/tf', self.on_tf, 100)
        self.create_timer(1.0, self.report)
        self.timer = self.create_timer(1.0 / RATE, self.step)
        self.due_ns = self.next_due()

    def next_due(self) -> int:
        """Return when the timer is due next, on the clock of the stamps."""
        return self.get_clock().now().nanoseconds + self.timer.time_until_next_call()

    def on_imu(self, msg: Imu) -> None:
        """Keep the rate, in mount axes."""
        w = msg.angular_velocity
        self.rate = rotate(IMU_ON_MOUNT.orientation, (w.x, w.y, w.z))

    def on_tf(self, msg: TFMessage) -> None:
        """Keep the pose of the mount."""
        for transform in msg.transforms:
            if (transform.header.frame_id, transform.child_frame_id) == (WORLD, MOUNT):
                p, q = transform.transform.translation, transform.transform.rotation
                self.pose = Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))

    def step(self) -> None:
        """Make one step and publish it."""
        # The stamp is the time the timer was due, so that lateness means the same for both.
        stamp_ns, self.due_ns = self.due_ns, self.next_due()
        if self.pose is None or self.rate is None:
            return
        rate = rotate(self.pose.orientation, self.rate)
        step = advance(self.parameters, self.state, StepInputs(self.pose, rate), 1.0 / RATE)
        self.state = step.state
        self.steps += 1

        # The motor node's own arithmetic from world to mount axes.
        start_ns = stamp_ns - PERIOD_NS
        outcome = Outcome(start_ns, stamp_ns, 1.0 / RATE, self.pose, rate, (step,), (), ())
        stamp = Time(sec=stamp_ns // 1_000_000_000, nanosec=stamp_ns % 1_000_000_000)
        header = Header(stamp=stamp, frame_id=MOUNT)
        self.reaction.publish(wrench(header, outcome.reaction()))
        self.mount_wrench.publish(wrench(header, outcome.mount_wrench()))
        self.momentum.publish(Vector3Stamped(header=header, vector=vector(outcome.momentum())))
        joints = JointState(header=Header(stamp=stamp), name=['wheel_joint'])
        joints.position = [step.state.angle]
        joints.velocity = [step.relative_speed]
        joints.effort = [0.0]
        self.joints.publish(joints)
        self.spin.publish(Float64(data=step.state.spin))
        self.own_reaction.publish(wrench(header, outcome.reaction(0)))
        self.own_mount_wrench.publish(wrench(header, outcome.mount_wrench(0)))
        self.own_momentum.publish(
            Vector3Stamped(header=header, vector=vector(outcome.momentum(0)))
        )
        self.stator_twist.publish(twist(header, outcome.in_mount(step.stator_angular_velocity)))
        self.rotor_twist.publish(twist(header, outcome.in_mount(step.rotor_angular_velocity)))
        self.asymmetry.publish(inertia(header, outcome.tensor_in_mount(step.asymmetry_now)))
        self.asymmetry_next.publish(inertia(header, outcome.tensor_in_mount(step.asymmetry_next)))
        if self.steps % (RATE // TF_RATE) == 0:
            self.send_rotor(stamp, outcome.rotor_in_stator(0, self.parameters.axis))

    def send_rotor(self, stamp: Time, rotor: Pose) -> None:
        """Publish the rotor in its stator."""
        x, y, z, w = rotor.orientation
        transform = TransformStamped(
            header=Header(stamp=stamp, frame_id='wheel_stator'),
            child_frame_id='wheel_rotor',
            transform=Transform(rotation=Quaternion(x=x, y=y, z=z, w=w)),
        )
        self.tf.publish(TFMessage(transforms=[transform]))

    def report(self) -> None:
        """Publish how many steps were made."""
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        steps = KeyValue(key='steps', value=str(self.steps))
        message.status = [DiagnosticStatus(name='motor: stepping', values=[steps])]
        self.diagnostics.publish(message)


def main() -> None:
    """Spin the node until it is interrupted."""
    rclpy.init()
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(PlainNode())


if __name__ == '__main__':
    main()
