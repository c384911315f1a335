"""
Who is at the other end of a topic, and which of them exchange nothing with us, and why.

DDS matches by name, type and quality of service, and says nothing to either side where they do
not fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rclpy.qos import qos_check_compatible, QoSCompatibility, QoSProfile


class Peers(NamedTuple):
    """The nodes at the other end of one topic."""

    fitting: tuple[str, ...]
    """Full names of those whose messages arrive."""
    misfits: tuple[str, ...]
    """One phrase for each that does not match: who, and why."""


NOBODY = Peers((), ())


def senders(node: Any, subscription: Any) -> Peers:
    """Return who publishes what a subscription of ``node`` reads; the node itself is left out."""
    return _peers(node, subscription, sending=True)


def readers(node: Any, publisher: Any) -> Peers:
    """Return who subscribes to what a publisher of ``node`` sends; the node itself is left out."""
    return _peers(node, publisher, sending=False)


def type_name(kind: Any) -> str:
    """Return a message class as ROS writes it: sensor_msgs/msg/Imu."""
    package, _, middle = kind.__module__.partition('.')
    return f'{package}/{middle.partition(".")[0]}/{kind.__name__}'


def full_name(info: Any) -> str:
    """Return the full name of the node behind an endpoint."""
    if info.node_name.startswith('_'):  # as rmw says it of a participant that is no ROS node
        return 'a participant without a node name'
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'


def misfit(publisher_qos: QoSProfile, subscription_qos: QoSProfile) -> str:
    """Return why two ends exchange nothing, such as 'best effort publisher …', '' if they do."""
    compatibility, reason = qos_check_compatible(publisher_qos, subscription_qos)
    if compatibility != QoSCompatibility.ERROR:  # not "is": an enum of C++
        return ''
    parts = [part.split('ERROR: ')[-1].strip() for part in reason.split(';') if 'ERROR' in part]
    return ', '.join(part[:1].lower() + part[1:] for part in parts)


def _peers(node: Any, endpoint: Any, sending: bool) -> Peers:
    topic, kind = endpoint.topic_name, type_name(endpoint.msg_type)
    publishers = node.get_publishers_info_by_topic(topic)
    subscriptions = node.get_subscriptions_info_by_topic(topic)
    here, there = (subscriptions, publishers) if sending else (publishers, subscriptions)
    own_name = node.get_fully_qualified_name()
    # As it is in use: in the profile it was made of, what was left open stands as 0.
    qos = next((x.qos_profile for x in here if full_name(x) == own_name), endpoint.qos_profile)
    fitting, misfits = set(), set()
    for info in there:
        name = full_name(info)
        if name == own_name:
            continue
        if info.topic_type != kind:
            why = f'{info.topic_type} is not {kind}'
        elif sending:
            why = misfit(info.qos_profile, qos)
        else:
            why = misfit(qos, info.qos_profile)
        if why:
            misfits.add(f'{name}: {why}')
        else:
            fitting.add(name)
    return Peers(tuple(sorted(fitting)), tuple(sorted(misfits)))
