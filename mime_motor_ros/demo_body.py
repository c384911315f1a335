"""
A free body that carries the motors, with an IMU on it: a mount that the rotors themselves turn.

It hears what the motor node publishes as any client does, integrates the body with it, and
publishes its pose, its IMU and commands. ``precession``: a body under a weight, on a fast rotor.
``wheels``: a body that is pointed by reaction wheels at one target after the other.

The body stands still until the motors' momentum is known, and is released there. A message that
comes late or is lost moves momentum from body to rotor later, and loses none: see `free_body`.
ROS is imported only when the node runs, see `demo_mount`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Any, NoReturn, TYPE_CHECKING

from .demo_mount import Carrier, Grid, Parameters, torques, wait_for_reader
from .free_body import Body, BodyState, from_outside, pushed, released, turned_on, ZERO
from .model import Pose
from .options import ros_only
from .pointing import (
    Array,
    bias_at,
    body_torque,
    error_angle,
    Gains,
    null_pattern,
    shifting,
    target_at,
    wheel_torques,
)
from .stopping import leave, Stop
from .vector import about, add, conjugate, cross, dot, rotate, scale, subtract, Vector

if TYPE_CHECKING:
    from rclpy.node import Node

    from .settings import MotorSettings

UP: Vector = (0.0, 0.0, 1.0)
POSITION: Vector = (0.0, 0.0, 0.5)  # m; of what it turns about, in the world
COMMAND_RATE = 200.0  # Hz, at most
LONGEST = 0.5  # s; what was slept through is made up for up to here
AWAY = 0.5  # s; a motor node that is silent for longer has perhaps started anew
SHIFT_TIME = 2.0  # s; in which the wheels go to a third of what is to be shifted

DEFAULTS: dict[str, dict[str, Any]] = {
    'precession': {
        'inertia': (0.01, 0.0, 0.0, 0.01, 0.0, 0.006),
        'tilt': 0.5,
        'weight': 0.02,
        'initial_rate': (0.6, 0.0, 0.0),
    },
    'wheels': {
        'inertia': (0.022, 0.0, 0.0, 0.025, 0.0, 0.018),
        'tilt': 0.0,
        'weight': 0.0,
        'initial_rate': (0.02, -0.03, 0.01),
    },
}


class FreeMount:
    """
    The body in time: what is heard of the motors goes in, states come out. No ROS.

    Parameters
    ----------
    body
        The rigid body.
    start
        Where it stands until it is released.
    rate
        At which it is released, body axes [rad/s].
    weight
        Mass times g times the height of the centre of mass above the pivot, along the body's z
        axis [N m].
    dt
        A step [s].

    """

    def __init__(self, body: Body, start: Pose, rate: Vector, weight: float, dt: float) -> None:
        self.body, self.weight, self.dt = body, weight, dt
        self._start, self._rate = start, rate
        self.state: BodyState | None = None
        self.rotors: Vector | None = None
        self._heard_ns = 0
        self._impulse = ZERO

    @property
    def pose(self) -> Pose:
        """Return the pose in the world."""
        if self.state is None:
            return self._start
        return Pose(self._start.position, self.state.orientation)

    @property
    def rate(self) -> Vector:
        """Return the rate in body axes [rad/s]."""
        return ZERO if self.state is None else self.state.rate

    def hear(self, stamp_ns: int, momentum: Vector, reaction: Vector | None) -> None:
        """
        Take the motors' momentum and, where it came too, their reaction; body axes.

        Between two steps in a row the two tell the loads from outside. After a long silence what
        has changed is no torque's: a node that starts anew does not kick the body.
        """
        if not all(map(math.isfinite, momentum)):
            return
        before, gap = self.rotors, (stamp_ns - self._heard_ns) * 1e-9
        self.rotors, self._heard_ns = momentum, stamp_ns
        if before is None:
            return
        if not 0.0 < gap < AWAY:
            self._impulse = add(self._impulse, subtract(momentum, before))
        elif reaction is not None and gap < 1.5 * self.dt:
            self._impulse = add(
                self._impulse, scale(gap, from_outside(reaction, before, momentum, gap))
            )

    def step(self, count: int) -> None:
        """Integrate so many steps; a body that is held is released where the motors are known."""
        if self.rotors is None:
            return
        if self.state is None:
            orientation = self._start.orientation
            self.state = released(self.body, orientation, self._rate, self.rotors)
            self._impulse = ZERO
            return
        state, half = pushed(self.body, self.state, self._impulse), 0.5 * self.dt
        self._impulse = ZERO
        for _ in range(count):
            state = self._pulled(state, half)
            state = turned_on(self.body, state, self.rotors, self.dt)
            state = self._pulled(state, half)
        self.state = state

    def _pulled(self, state: BodyState, dt: float) -> BodyState:
        """Return the body after the weight has acted on it: no torque about the vertical."""
        if not self.weight:
            return state
        up = rotate(conjugate(state.orientation), UP)
        return pushed(self.body, state, scale(-dt * self.weight, cross(UP, up)))


class Pilot:
    """Points a body with its wheels, by what is heard of their speeds. No ROS."""

    def __init__(self, motors: Sequence[MotorSettings], gains: Gains, most_torque: float) -> None:
        self.motors, self.gains, self.most_torque = motors, gains, most_torque
        self.array = Array([axis_of(motor) for motor in motors])
        self._pattern = null_pattern(self.array)
        self._bias: float | None = None

    def torques(self, t: float, mount: FreeMount, speeds: Sequence[float]) -> tuple[float, ...]:
        """Return the torque of each drive [N m] at a time [s], by the speeds on the body."""
        state = mount.state
        if state is None:
            return (0.0,) * len(self.motors)
        needed = body_torque(
            mount.body.tensor,
            state.orientation,
            state.rate,
            state.momentum,
            target_at(t),
            self.gains,
        )
        momenta = [
            motor.model.inertia * (speed + dot(axis, state.rate))
            for motor, axis, speed in zip(self.motors, self.array.axes, speeds, strict=True)
        ]
        if self._bias is None:  # what they were started with
            self._bias = sum(h * n for h, n in zip(momenta, self._pattern, strict=True))
        wanted = [bias_at(t) * self._bias * n for n in self._pattern]
        drags = [m.model.damping * v for m, v in zip(self.motors, speeds, strict=True)]
        shift = shifting(self.array, momenta, wanted, SHIFT_TIME)
        return wheel_torques(self.array, needed, shift, drags, self.most_torque)


def axis_of(motor: MotorSettings) -> Vector:
    """Return a motor's axis in mount axes."""
    return rotate(motor.model.placement.orientation, motor.model.axis)


class DemoBody:
    """The demo body on a node that is given: its parameters, its ears and its mouths."""

    def __init__(self, node: Node) -> None:
        from geometry_msgs.msg import Vector3Stamped, WrenchStamped
        from rclpy.qos import QoSProfile, ReliabilityPolicy
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64

        self.node = node
        read = Parameters(node)
        self.motion = read.choice('motion', 'precession', tuple(DEFAULTS), 'what is shown')
        rate = read.number('rate', 1000.0, 1.0, 10000.0, 'Hz', 'steps of the body a second')
        self.period_ns = round(1e9 / rate)
        default = DEFAULTS[self.motion]
        xx, xy, xz, yy, yz, zz = read.numbers(
            'inertia', default['inertia'], 'of the body: ixx, ixy, ixz, iyy, iyz, izz [kg m^2]'
        )
        body = Body((xx, xy, xz, yy, yz, zz))
        tilt = read.number('tilt', default['tilt'], -3.2, 3.2, 'rad', 'at the start, about y')
        weight = read.number(
            'weight', default['weight'], -1000.0, 1000.0, 'N m', 'moment when it lies on its side'
        )
        x, y, z = read.numbers(
            'initial_rate', default['initial_rate'], 'when it is let go, body axes [rad/s]'
        )
        self._amplitude = read.number(
            'torque_amplitude', 1e-3, -1000.0, 1000.0, 'N m', 'of the torques, for precession'
        )
        gains = Gains(
            read.number('bandwidth', 2.0, 1e-3, 100.0, 'rad/s', 'of the pointing'),
            read.number('slew_rate', 0.25, 1e-4, 100.0, 'rad/s', 'of the pointing, at most'),
        )
        most = read.number('wheel_torque', 0.02, 1e-9, 1e6, 'N m', 'of one wheel, at most')
        self.motors = _motors(node)
        start = Pose(POSITION, about((0.0, 1.0, 0.0), tilt))
        self.mount = FreeMount(body, start, (x, y, z), weight, self.period_ns * 1e-9)
        self._pilot = Pilot(self.motors, gains, most) if self.motion == 'wheels' else None
        self._carrier = Carrier(node, read)
        self._speeds: list[float] | None = None
        self._reactions: dict[int, Vector] = {}
        self._between = max(1, round(rate / COMMAND_RATE))
        self._ticks = 0
        self._start_ns = self._last_ns = 0
        self._error = node.create_publisher(Float64, '~/pointing_error', 10)
        self._told = Float64()

        # Read when asked; the executor, which serves the parameters, hands over what it takes.
        self._reads: list[tuple[Any, type, Callable[[Any], None]]] = []
        every = QoSProfile(depth=1000)
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._read(WrenchStamped, 'motor/reaction', self._on_reaction, every)
        self._read(Vector3Stamped, 'motor/momentum', self._on_momentum, every)
        if self._pilot is not None:
            self._read(JointState, 'joint_states', self._on_joints, newest)

    @property
    def is_read(self) -> bool:
        """Return whether somebody subscribes to the IMU."""
        return self._carrier.is_read

    def poll(self) -> None:
        """Take what the motor node has sent."""
        for subscription, kind, use in self._reads:
            handle = subscription.handle
            with handle:
                while (taken := handle.take_message(kind, False)) is not None:
                    use(taken[0])

    def tick(self, stamp_ns: int) -> None:
        """Bring the body to a time [ns], publish it there, and command its motors."""
        gap_ns = stamp_ns - self._last_ns
        count = round(gap_ns / self.period_ns) if 0 < gap_ns <= LONGEST * 1e9 else 1
        self._last_ns = stamp_ns
        self.poll()
        self.mount.step(count)
        self._carrier.publish(stamp_ns, self.mount.pose, self.mount.rate)
        if self.mount.state is None:
            return
        self._start_ns = self._start_ns or stamp_ns
        if self._ticks % self._between == 0:
            self._command((stamp_ns - self._start_ns) * 1e-9)
        self._ticks += 1

    def _command(self, t: float) -> None:
        if self._pilot is None:
            self._carrier.command(torques(t, len(self.motors), self._amplitude))
            return
        if self._speeds is not None:
            self._carrier.command(list(self._pilot.torques(t, self.mount, self._speeds)))
        self._told.data = error_angle(self.mount.pose.orientation, target_at(t))
        self._error.publish(self._told)

    def _read(self, kind: type, topic: str, use: Callable[[Any], None], qos: Any) -> None:
        self._reads.append((self.node.create_subscription(kind, topic, use, qos), kind, use))

    def _on_reaction(self, message: Any) -> None:
        torque = message.wrench.torque
        self._reactions[_ns(message.header.stamp)] = (torque.x, torque.y, torque.z)
        while len(self._reactions) > 1000:  # whose momentum was lost
            del self._reactions[next(iter(self._reactions))]

    def _on_momentum(self, message: Any) -> None:
        stamp_ns, vector = _ns(message.header.stamp), message.vector
        reaction = self._reactions.pop(stamp_ns, None)
        self.mount.hear(stamp_ns, (vector.x, vector.y, vector.z), reaction)

    def _on_joints(self, message: Any) -> None:
        speed = dict(zip(message.name, message.velocity, strict=False))
        try:
            self._speeds = [speed[motor.joint] for motor in self.motors]
        except KeyError:
            return  # the joints of something else


def _ns(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _motors(node: Node) -> tuple[MotorSettings, ...]:
    """
    Return the motors of the body, by the parameters that the motor node has.

    So one file serves both. Those that matter here are declared with the same descriptions.
    """
    from rcl_interfaces.msg import ParameterDescriptor

    # Here and not at the top: it needs what is not in the standard library, and --help does not.
    from .settings import motor_names, parameters, settings

    given = {name: one.value for name, one in node._parameter_overrides.items()}
    names = motor_names(given.get('motors', ['wheel']))
    table = parameters(names)
    own = tuple(f'{name}.' for name in names)
    chosen = settings(
        {k: v for k, v in given.items() if k == 'motors' or (k in table and k.startswith(own))}
    )

    def declare(name: str, value: Any) -> None:
        descriptor = ParameterDescriptor(description=table[name].description, read_only=True)
        node.declare_parameter(name, value, descriptor, ignore_override=True)

    declare('motors', list(names))
    for motor in chosen.motors:
        declare(f'{motor.name}.inertia', motor.model.inertia)
        declare(f'{motor.name}.damping', motor.model.damping)
        declare(f'{motor.name}.axis', list(motor.model.axis))
    return chosen.motors


def main(args: Sequence[str] | None = None) -> int:
    """Run the demo body until it is asked to stop; return the exit code of the process."""
    stop = Stop().catch_signals()
    ros_only('demo_body', 'Publish the pose and the IMU of a body its motors turn.', args)
    import sys

    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from .arguments import plain_line
    from .starting import initialise, REFUSED

    node = None
    try:
        initialise(args)
        node = rclpy.create_node('demo_body')
        body = DemoBody(node)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        wait_for_reader(body, executor, stop)
        grid = Grid(body.period_ns)
        between = max(1, round(1e8 / body.period_ns))
        ticks = 0
        while not stop:
            stamp_ns = grid.wait(stop)
            if stop:
                break
            body.tick(stamp_ns)
            ticks += 1
            if ticks % between == 0:
                executor.spin_once(timeout_sec=0.0)
        executor.remove_node(node)
    except REFUSED as error:
        print(f'demo_body: {plain_line(error)}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def run() -> NoReturn:
    """Be the console script ``demo_body``."""
    leave(main)


if __name__ == '__main__':
    run()
