"""
A moving mount with an IMU on it, and torques for its motors: input to try the motor node with.

The motion is prescribed in closed form, so that pose and rate agree exactly at every instant: it
tumbles, or tilts as a bench does. It begins when somebody reads the IMU, so that a motor node
meets all of it, whenever they find each other; or after 5 s of nobody.
ROS is imported only when the node runs: the signals are caught before, and the motion can be
computed where no ROS is.
"""

from __future__ import annotations

import math
import time
from typing import Any, NoReturn, Protocol, TYPE_CHECKING

from .errors import ParameterError
from .model import Pose
from .options import ros_only
from .stopping import leave, Stop
from .vector import Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rclpy.executors import Executor
    from rclpy.node import Node

IMU_ON_MOUNT = Pose((0.05, 0.0, 0.02), (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0))
"""The IMU lies upside down and turned by a right angle, as real ones do (yaw 90, roll 180 deg)."""

PATIENCE = 5.0  # s; so long the motion waits for somebody who reads the IMU
GRACE = 0.2  # s; a writer sees its readers some time before they see it
TORQUE_PERIOD = 12.0  # s; long against the eye, short against a demo
LOOK = 0.2  # s; how often others who send commands are looked for
TILT_X, TILT_Y = 0.35, 0.3  # rad; how far the bench tilts, 20 and 17 degrees
PERIOD_X, PERIOD_Y = 7.0, 4.5  # s; no small multiple, so that it looks different each time
START_UP = 3.0  # s; in which the bench comes from rest to its full tilts


def tumble(t: float) -> tuple[Pose, Vector]:
    """
    Return the mount's pose in the world and its angular velocity in mount axes [rad/s].

    Three turns in a row about z, y and x (yaw, pitch, roll). Up to 2.3 rad/s; the yaw goes
    round for ever, so that a rotor's torque is seen from all sides.

    Parameters
    ----------
    t
        Time since the start of the motion [s].

    """
    yaw, d_yaw = 0.5 * t + 0.8 * math.sin(0.7 * t), 0.5 + 0.56 * math.cos(0.7 * t)
    pitch, d_pitch = 0.6 * math.sin(1.1 * t), 0.66 * math.cos(1.1 * t)
    roll, d_roll = 0.9 * math.sin(0.9 * t), 0.81 * math.cos(0.9 * t)

    cy, sy = math.cos(0.5 * yaw), math.sin(0.5 * yaw)
    cp, sp = math.cos(0.5 * pitch), math.sin(0.5 * pitch)
    cr, sr = math.cos(0.5 * roll), math.sin(0.5 * roll)
    # q = q_z(yaw) q_y(pitch) q_x(roll), as (x, y, z, w)
    orientation = (
        cy * cp * sr - sy * sp * cr,
        cy * sp * cr + sy * cp * sr,
        sy * cp * cr - cy * sp * sr,
        cy * cp * cr + sy * sp * sr,
    )
    rate = (
        d_roll - d_yaw * math.sin(pitch),
        d_pitch * math.cos(roll) + d_yaw * math.cos(pitch) * math.sin(roll),
        d_yaw * math.cos(pitch) * math.cos(roll) - d_pitch * math.sin(roll),
    )
    position = (
        0.3 * math.sin(0.6 * t),
        0.2 * math.sin(0.9 * t),
        0.5 + 0.1 * math.sin(1.3 * t),
    )
    return Pose(position, orientation), rate


def bench(t: float) -> tuple[Pose, Vector]:
    """
    Return the same of a tilting table, as a bench with hardware in the loop has.

    It lies level and at rest at the start, and tilts ever further about its x and its y axis, up
    to some 20 degrees each, with two periods.
    """
    s = min(1.0, max(0.0, t / START_UP))
    # A polynomial whose first two slopes are nothing at both ends: no jump of the acceleration.
    grown = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    d_grown = 30.0 * (s * (1.0 - s)) ** 2 / START_UP
    wx, wy = 2.0 * math.pi / PERIOD_X, 2.0 * math.pi / PERIOD_Y
    x, d_x = TILT_X * math.sin(wx * t), TILT_X * wx * math.cos(wx * t)
    y, d_y = TILT_Y * math.sin(wy * t), TILT_Y * wy * math.cos(wy * t)
    x, d_x = grown * x, grown * d_x + d_grown * x
    y, d_y = grown * y, grown * d_y + d_grown * y

    cx, sx = math.cos(0.5 * x), math.sin(0.5 * x)
    cy, sy = math.cos(0.5 * y), math.sin(0.5 * y)
    # q = q_x(x) q_y(y), the inner tilt carried by the outer one
    orientation = (sx * cy, cx * sy, sx * sy, cx * cy)
    rate = (d_x * math.cos(y), d_y, d_x * math.sin(y))
    return Pose((0.0, 0.0, 0.8), orientation), rate


MOTIONS = {'tumble': tumble, 'bench': bench}


def gyro(rate: Vector) -> Vector:
    """Return the mount's angular velocity in the axes of the IMU that lies on it (exact)."""
    x, y, z = rate
    return y, x, -z


def torques(t: float, motors: int, amplitude: float) -> list[float]:
    """Return one torque a motor [N m]: sines of 12 s, each a quarter behind the one before."""
    turn = 2.0 * math.pi
    return [
        amplitude * math.sin(turn * (t / TORQUE_PERIOD - 0.25 * motor)) for motor in range(motors)
    ]


class DemoMount:
    """The publishers of the demo mount, on a node that is given."""

    def __init__(self, node: Node) -> None:
        self.node = node
        read = Parameters(node)
        self._move = MOTIONS[read.choice('motion', 'tumble', tuple(MOTIONS), 'how it moves')]
        rate = read.number('rate', 200.0, 0.1, 10000.0, 'Hz', 'messages of each kind a second')
        self.period_ns = round(1e9 / rate)
        self.motors = int(read.number('motors', 1, 0, 100, '', 'torques in a command'))
        self.amplitude = read.number(
            'torque_amplitude', 5e-3, -1000.0, 1000.0, 'N m', 'amplitude of the torques'
        )
        self._carrier = Carrier(node, read)

    @property
    def is_read(self) -> bool:
        """Return whether somebody subscribes to the IMU."""
        return self._carrier.is_read

    def publish(self, stamp_ns: int, t: float) -> None:
        """Publish the mount as it is ``t`` seconds after its start, stamped ``stamp_ns``."""
        pose, rate = self._move(t)
        self._carrier.publish(stamp_ns, pose, rate)
        self._carrier.command(torques(t, self.motors, self.amplitude))


class Carrier:
    """
    What a mount of a demo publishes: its pose, the IMU on it, and commands for its motors.

    While somebody else publishes commands too, as a slider in a panel does, it has none of its
    own: two that take turns would make a torque that nobody wants.
    """

    def __init__(self, node: Node, read: Parameters) -> None:
        # ROS comes in here and not at the top: see the module's first lines.
        from geometry_msgs.msg import TransformStamped
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from sensor_msgs.msg import Imu
        from std_msgs.msg import Float64MultiArray
        from tf2_msgs.msg import TFMessage

        self.node = node
        self.world_frame = read.frame('world_frame', 'odom', 'frame the mount moves in')
        self.mount_frame = read.frame('mount_frame', 'base_link', 'frame of the mount')
        self.imu_frame = read.frame('imu_frame', 'imu_link', 'frame of the IMU on the mount')
        if len({self.world_frame, self.mount_frame, self.imu_frame}) < 3:
            frames = f'{self.world_frame}, {self.mount_frame}, {self.imu_frame}'
            raise ParameterError(
                'world_frame, mount_frame, imu_frame', 'three different frames', frames
            )

        self._tf = node.create_publisher(TFMessage, '/tf', 100)
        kept = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._tf_static = node.create_publisher(TFMessage, '/tf_static', kept)
        self._imu = node.create_publisher(Imu, 'imu/data', 10)
        self._commands = node.create_publisher(Float64MultiArray, 'motor/commands', 10)
        self._looked = -math.inf
        self._yields = False

        # The messages are filled anew each time, not built anew: half the cost.
        self._transform = TransformStamped()
        self._transform.header.frame_id = self.world_frame
        self._transform.child_frame_id = self.mount_frame
        self._moving = TFMessage(transforms=[self._transform])
        self._sample = Imu()
        self._sample.header.frame_id = self.imu_frame
        # REP 145: -1 says that a field is not given; zeros say that its covariance is unknown.
        self._sample.orientation_covariance[0] = -1.0
        self._sample.linear_acceleration_covariance[0] = -1.0
        self._command = Float64MultiArray()

        static = TransformStamped()
        static.header.stamp = node.get_clock().now().to_msg()
        static.header.frame_id = self.mount_frame
        static.child_frame_id = self.imu_frame
        _fill(static.transform, IMU_ON_MOUNT)
        self._tf_static.publish(TFMessage(transforms=[static]))

    @property
    def is_read(self) -> bool:
        """Return whether somebody subscribes to the IMU."""
        return bool(self._imu.get_subscription_count() > 0)

    @property
    def yields(self) -> bool:
        """Return whether somebody else sends commands; looked at some five times a second."""
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked = now
            self._yields = bool(self.node.count_publishers(self._commands.topic_name) > 1)
        return self._yields

    def publish(self, stamp_ns: int, pose: Pose, rate: Vector) -> None:
        """Publish a pose in the world, and a rate in mount axes [rad/s], at a time [ns]."""
        _stamp(self._transform.header.stamp, stamp_ns)
        _fill(self._transform.transform, pose)
        self._tf.publish(self._moving)

        _stamp(self._sample.header.stamp, stamp_ns)
        w = self._sample.angular_velocity
        w.x, w.y, w.z = gyro(rate)
        self._imu.publish(self._sample)

    def command(self, torques: Sequence[float]) -> None:
        """Publish a torque a motor [N m], unless somebody else does."""
        if not self.yields:
            self._command.data = torques
            self._commands.publish(self._command)


class Grid:
    """
    Instants at whole multiples of a period of the system clock, each told when it has come.

    The grid is the clock's own, so stamps do not drift against it. Instants that were slept
    through are left out; a clock that is set goes on with the next instant of the new time.
    """

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self._last = -1

    def due_ns(self, now_ns: int) -> int:
        """Return the next instant after ``now_ns``; never twice the same one."""
        tick = now_ns // self.period_ns + 1
        if tick == self._last:  # the sleep ended a hair early
            tick += 1
        self._last = tick
        return tick * self.period_ns

    def wait(self, stop: Stop) -> int:
        """Sleep until the next instant and return it [ns]; come back early when asked to stop."""
        due_ns = self.due_ns(time.time_ns())
        while not stop:
            left_ns = due_ns - time.time_ns()
            if left_ns <= 0:
                break
            if left_ns > 2 * self.period_ns:  # the clock was set back
                due_ns = self.due_ns(time.time_ns())
                continue
            # In pieces: a signal only sets the flag, the sleep itself goes on.
            time.sleep(min(left_ns * 1e-9, 0.1))
        return due_ns


class Read(Protocol):
    """A mount that somebody may read."""

    @property
    def is_read(self) -> bool:
        """Return whether somebody does."""


def wait_for_reader(mount: Read, executor: Executor, stop: Stop) -> None:
    """Serve the node until the IMU is read and its reader has found it too, 5 s at most."""
    end, is_read = time.monotonic() + PATIENCE, False
    while not stop and time.monotonic() < end:
        if mount.is_read and not is_read:
            end, is_read = time.monotonic() + GRACE, True
        executor.spin_once(timeout_sec=0.02)


def main(args: Sequence[str] | None = None) -> int:
    """Run the demo mount until it is asked to stop; return the exit code of the process."""
    stop = Stop().catch_signals()
    ros_only('demo_mount', 'Publish the pose and the IMU of a moving mount, and torques.', args)
    import sys

    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from .arguments import plain_line
    from .starting import initialise, REFUSED

    node = None
    try:
        initialise(args)
        node = rclpy.create_node('demo_mount')
        mount = DemoMount(node)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        wait_for_reader(mount, executor, stop)
        grid = Grid(mount.period_ns)
        start_ns = 0
        # Parameters and services are answered some ten times a second: spinning costs more
        # than all that is published here.
        between = max(1, round(1e8 / mount.period_ns))
        ticks = 0
        while not stop:
            stamp_ns = grid.wait(stop)
            if stop:
                break
            start_ns = start_ns or stamp_ns
            mount.publish(stamp_ns, (stamp_ns - start_ns) * 1e-9)
            ticks += 1
            if ticks % between == 0:
                executor.spin_once(timeout_sec=0.0)
        executor.remove_node(node)
    except REFUSED as error:
        print(f'demo_mount: {plain_line(error)}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


class Parameters:
    """Declares the node's parameters, described and read-only, and checks their values."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def number(
        self, name: str, default: float, low: float, high: float, unit: str, text: str
    ) -> float:
        """Return a number between two bounds; an int serves for a float."""
        shown = f'{text} [{unit}]' if unit else text
        value = self._declare(name, default, f'{shown}, {low:g} to {high:g}')
        kind = (int,) if isinstance(default, int) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
            what = 'a whole number' if isinstance(default, int) else 'a number'
            raise ParameterError(name, f'{what} from {low:g} to {high:g} {unit}'.rstrip(), value)
        return type(default)(value)

    def choice(self, name: str, default: str, choices: Sequence[str], text: str) -> str:
        """Return one of some words."""
        words = ', '.join(choices)
        value = self._declare(name, default, f'{text}; one of {words}')
        if value not in choices:
            raise ParameterError(name, f'one of {words}', repr(value))
        return str(value)

    def numbers(self, name: str, default: Vector | Sequence[float], text: str) -> list[float]:
        """Return as many finite numbers as the default has."""
        count = len(default)
        value = self._declare(name, list(default), f'{text}, {count} numbers')
        try:
            found = [float(x) for x in value]
        except (TypeError, ValueError):
            found = []
        if len(found) != count or not all(math.isfinite(x) for x in found):
            raise ParameterError(name, f'{count} finite numbers', value)
        return found

    def frame(self, name: str, default: str, text: str) -> str:
        """Return the name of a frame, without a leading slash."""
        value = self._declare(name, default, text)
        if not isinstance(value, str) or not value.strip('/'):
            raise ParameterError(name, 'the name of a frame', repr(value))
        return value.lstrip('/')

    def _declare(self, name: str, default: Any, text: str) -> Any:
        from rcl_interfaces.msg import ParameterDescriptor

        # Dynamic typing lets an int come in for a double, which we then take as one.
        descriptor = ParameterDescriptor(description=text, read_only=True, dynamic_typing=True)
        return self.node.declare_parameter(name, default, descriptor).value


def _stamp(stamp: Any, stamp_ns: int) -> None:
    """Write a time into a builtin_interfaces/Time."""
    stamp.sec, stamp.nanosec = divmod(stamp_ns, 1_000_000_000)


def _fill(transform: Any, pose: Pose) -> None:
    """Write a pose into a geometry_msgs/Transform."""
    p, q = transform.translation, transform.rotation
    p.x, p.y, p.z = pose.position
    q.x, q.y, q.z, q.w = pose.orientation


def run() -> NoReturn:
    """Be the console script ``demo_mount``."""
    leave(main)


if __name__ == '__main__':
    run()
