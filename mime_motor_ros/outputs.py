"""
What the motor node publishes: one table of topics, for the live node and for recorded files.

Both fill the same bytes (`wire`); only what makes an example of a message is their own: a
``Serialize`` takes the type as ROS writes it and those fields that are not zero or empty. No ROS
here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from . import messages
from .markers import Markers
from .model import Pose, Wrench
from .motor import report
from .overview import MOUNT, OF_MOTOR, OF_MOUNT
from .session import Outcome, Session
from .settings import Settings
from .timeline import Grid, NANOSECONDS
from .wire import lists_form, MARK, Scattered, Serialize, Template, TransformsTemplate

TF = 'tf2_msgs/msg/TFMessage'
Numbers = Callable[[Outcome], Sequence[float]]


class Output(Protocol):
    """One topic that is published."""

    topic: str
    """As the node names it: ``~/`` stands for its own name."""
    type: str
    paced: bool
    """Whether it knows itself which steps have a message, whatever ``publish_rate`` is."""

    def message(self, outcome: Outcome, stamp: tuple[int, int]) -> bytes | None:
        """Return the message about a step, None where there is none."""


class Fixed:
    """
    A message of which only stamp and numbers change.

    ``fields`` are those that stay; ``form`` says what numbers stand at its end, ``numbers`` gives
    them.
    """

    paced = False

    def __init__(
        self,
        serialize: Serialize,
        topic: str,
        kind: str,
        fields: Mapping[str, Any],
        form: str,
        numbers: Numbers,
        stamped: bool = True,
    ) -> None:
        self.topic, self.type = topic, kind
        self._template = Template(serialize(kind, fields), form, stamped)
        self._numbers = numbers

    def message(self, outcome: Outcome, stamp: tuple[int, int]) -> bytes:
        """Return the message about a step."""
        return self._template.filled(stamp, self._numbers(outcome))


class MotorState:
    """The quantities of one motor by name; which there are may change while running."""

    type = 'control_msgs/msg/DynamicJointState'
    paced = False

    def __init__(self, serialize: Serialize, topic: str, session: Session, index: int) -> None:
        self.topic = topic
        self._serialize, self._session, self._index = serialize, session, index
        self._templates: dict[tuple[str, ...], Template] = {}

    def message(self, outcome: Outcome, stamp: tuple[int, int]) -> bytes:
        """Return the message about a step."""
        i = self._index
        motor = self._session.settings.motors[i]
        quantities = report(motor, outcome.steps[i], outcome.drives[i])
        names = tuple(quantities)
        if names not in self._templates:
            values = {'interface_names': list(names), 'values': [MARK] * len(names)}
            fields = {'joint_names': [motor.joint], 'interface_values': [values]}
            example = self._serialize(self.type, fields)
            self._templates[names] = Template(example, f'{len(names)}d', True)
        return self._templates[names].filled(stamp, list(quantities.values()))


class MeasuredState:
    """What the sensors of one motor tell, once, stamped with when it was; lists may be empty."""

    type = 'sensor_msgs/msg/JointState'
    paced = True

    def __init__(self, serialize: Serialize, topic: str, joint: str, index: int) -> None:
        self.topic = topic
        self._serialize, self._joint, self._index, self._told = serialize, joint, index, 0
        self._templates: dict[tuple[int, ...], Template] = {}

    def message(self, outcome: Outcome, stamp: tuple[int, int]) -> bytes | None:
        """Return what was measured since the message before, None where nothing was."""
        measured, told_ns = outcome.measured[self._index], outcome.told_ns[self._index]
        if told_ns == self._told or measured is None:
            return None
        self._told = told_ns
        lists = [[] if value is None else [value] for value in measured]
        if not any(lists):
            return None
        counts = tuple(map(len, lists))
        if counts not in self._templates:
            names = ('position', 'velocity', 'effort')
            still = {name: [MARK] * n for name, n in zip(names, counts, strict=True)}
            example = self._serialize(self.type, {'name': [self._joint], **still})
            self._templates[counts] = Template(example, lists_form(counts), True)
        numbers = messages.list_numbers(lists)
        return self._templates[counts].filled(divmod(told_ns, NANOSECONDS), numbers)


STAMP = (0x5AC3_96A5, 0x2CD3_E1B4)  # of an example: nothing else has these bytes


class Overview:
    """
    All that is looked at, in one message, as often as ``overview_rate`` says.

    Of each motor `OF_MOTOR`; then, last and named `MOUNT`, `OF_MOUNT` of all motors together.
    """

    topic, type, paced = '~/overview', 'control_msgs/msg/DynamicJointState', True

    def __init__(self, serialize: Serialize, chosen: Settings) -> None:
        self._grid = Grid(chosen.overview_rate)
        names = [*(motor.name for motor in chosen.motors), MOUNT]
        held = [*(OF_MOTOR for _ in chosen.motors), OF_MOUNT]
        values = [(MARK, *(0.0 for _ in own[1:])) for own in held]
        fields = {
            'header': {
                'stamp': dict(zip(('sec', 'nanosec'), STAMP, strict=True)),
                'frame_id': chosen.mount_frame,
            },
            'joint_names': names,
            'interface_values': [
                {'interface_names': list(own), 'values': list(of)}
                for own, of in zip(held, values, strict=True)
            ],
        }
        changing = [('iI', STAMP), *((f'{len(of)}d', of) for of in values)]
        self._template = Scattered(serialize(self.type, fields), changing)

    def message(self, outcome: Outcome, stamp: tuple[int, int]) -> bytes | None:
        """Return the message about a step, None where none is due."""
        if not self._grid.crossed(outcome.start_ns, outcome.stamp_ns):
            return None
        own = [(x.state.spin, x.relative_speed, x.state.angle, x.torque) for x in outcome.steps]
        reaction, wrench = outcome.reaction(), outcome.mount_wrench()
        of_mount = (
            *outcome.momentum(),
            *messages.wrench_numbers(reaction),
            *messages.wrench_numbers(wrench),
        )
        return self._template.filled([stamp, *own, of_mount])


class Frames:
    """The transforms of the motors' own frames, as one message."""

    def __init__(
        self, serialize: Serialize, topic: str, frames: Sequence[tuple[str, str]]
    ) -> None:
        self.topic, self.type, self.frames = topic, TF, frames
        transforms = [
            {'header': {'frame_id': parent}, 'child_frame_id': child} for parent, child in frames
        ]
        self._template = TransformsTemplate(serialize(TF, {'transforms': transforms}))

    def placed(self, stamp_ns: int, poses: Sequence[Pose]) -> bytes:
        """Return the message with these poses, each of a child in its parent."""
        return self._template.filled(divmod(stamp_ns, NANOSECONDS), poses)


class Outputs:
    """All that a node publishes of a session, and when."""

    def __init__(self, session: Session, serialize: Serialize) -> None:
        self._session = session
        chosen = session.settings
        self.outputs = _outputs(session, serialize)
        """One message a step, or as often as ``publish_rate`` says."""
        self.outputs.append(Overview(serialize, chosen))
        self.markers: Markers | None = None
        if chosen.markers.rate:
            self.markers = Markers(serialize, session)
            self.outputs.append(self.markers)
        self._publish_grid = Grid(chosen.publish_rate) if chosen.publish_rate else None
        self._tf_grid = Grid(chosen.tf_rate) if chosen.tf_rate else None
        self.rotors: Frames | None = None
        self.stators: Frames | None = None
        if chosen.publish_tf:
            motors = chosen.motors
            turning = [(motor.stator_frame, motor.rotor_frame) for motor in motors]
            placed = [(chosen.mount_frame, motor.stator_frame) for motor in motors]
            self.rotors = Frames(serialize, '/tf', turning)
            self.stators = Frames(serialize, '/tf_static', placed)

    def are_due(self, outcome: Outcome) -> bool:
        """Tell whether what is not ``paced`` is sent of a step: ``publish_rate``."""
        grid = self._publish_grid
        return grid is None or grid.crossed(outcome.start_ns, outcome.stamp_ns)

    def stators_at(self, stamp_ns: int) -> bytes | None:
        """Return where the stators sit on the mount; sent once, and latched."""
        if self.stators is None:
            return None
        motors = self._session.settings.motors
        return self.stators.placed(stamp_ns, [motor.model.placement for motor in motors])

    def rotors_of(self, outcome: Outcome) -> bytes | None:
        """Return where the rotors are in their stators, None where that is not due."""
        grid = self._tf_grid
        if self.rotors is None or not (
            grid is None or grid.crossed(outcome.start_ns, outcome.stamp_ns)
        ):
            return None
        motors = self._session.settings.motors
        poses = [outcome.rotor_in_stator(i, x.model.axis) for i, x in enumerate(motors)]
        return self.rotors.placed(outcome.stamp_ns, poses)


def _outputs(session: Session, serialize: Serialize) -> list[Output]:
    chosen = session.settings
    found: list[Output] = []
    in_mount = {'header': {'frame_id': chosen.mount_frame}}

    def add(kind: str, topic: str, form: str, numbers: Numbers) -> None:
        """Add an output in mount axes."""
        kind = f'geometry_msgs/msg/{kind}'
        found.append(Fixed(serialize, topic, kind, in_mount, form, numbers))

    def add_wrench(topic: str, of: Callable[[Outcome], Wrench]) -> None:
        add('WrenchStamped', topic, '6d', lambda o: messages.wrench_numbers(of(o)))

    def add_motor(i: int, own: str) -> None:
        kind = 'std_msgs/msg/Float64'
        spin: Numbers = lambda o: (o.steps[i].state.spin,)  # noqa: E731 - as the others below
        found.append(Fixed(serialize, f'{own}/spin', kind, {}, 'd', spin, stamped=False))
        found.append(MotorState(serialize, f'{own}/motor_state', session, i))
        if not chosen.motors[i].sensors.is_none:
            joint = chosen.motors[i].joint
            found.append(MeasuredState(serialize, f'{own}/measured', joint, i))
        add_wrench(f'{own}/reaction', lambda o: o.reaction(i))
        add_wrench(f'{own}/mount_wrench', lambda o: o.mount_wrench(i))
        add('Vector3Stamped', f'{own}/momentum', '3d', lambda o: o.momentum(i))
        # The linear part of a twist is not known, mass and centre ride on the link: they stay 0.
        for name in ('stator', 'rotor'):
            add('TwistStamped', f'{own}/{name}_twist', '3d', partial(_turning, i, name))
        for name in ('now', 'next'):
            topic = f'{own}/asymmetry' + ('_next' if name == 'next' else '')
            add('InertiaStamped', topic, '6d', partial(_asymmetry, i, name))

    add_wrench('~/reaction', Outcome.reaction)
    add_wrench('~/mount_wrench', Outcome.mount_wrench)
    add('Vector3Stamped', '~/momentum', '3d', Outcome.momentum)
    joints = [motor.joint for motor in chosen.motors]
    n, still = len(joints), [MARK] * len(joints)
    fields = {'name': joints, 'position': still, 'velocity': still, 'effort': still}
    kind, form = 'sensor_msgs/msg/JointState', lists_form((n, n, n))
    found.append(Fixed(serialize, 'joint_states', kind, fields, form, messages.joint_numbers))
    for i, motor in enumerate(chosen.motors):
        add_motor(i, f'~/{motor.name}')
    return found


def _turning(i: int, link: str, outcome: Outcome) -> Sequence[float]:
    step = outcome.steps[i]
    return outcome.in_mount(
        step.stator_angular_velocity if link == 'stator' else step.rotor_angular_velocity
    )


def _asymmetry(i: int, when: str, outcome: Outcome) -> Sequence[float]:
    step = outcome.steps[i]
    rows = step.asymmetry_now if when == 'now' else step.asymmetry_next
    return messages.inertia_numbers(outcome.tensor_in_mount(rows))
