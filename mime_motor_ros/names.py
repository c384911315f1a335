"""Topic names as ROS resolves them: namespace, ``~/`` and remaps. No ROS here."""

from __future__ import annotations

from collections.abc import Iterable
import re
from typing import NamedTuple

from .errors import MotorError

TOKEN = r'[A-Za-z_][A-Za-z0-9_]*'
TOPIC = re.compile(rf'(~?/)?{TOKEN}(/{TOKEN})*')


class Names(NamedTuple):
    """Under which names a node has its topics."""

    node: str = 'motor'
    namespace: str = '/'
    rules: tuple[tuple[str, str], ...] = ()
    """Full names, and what they are remapped to; the first that fits counts."""

    @property
    def full_node(self) -> str:
        """Return the full name of the node."""
        return f'{self.namespace.rstrip("/")}/{self.node}'

    def expanded(self, topic: str) -> str:
        """Return the full name of a topic before any remap."""
        if topic.startswith('/'):
            return topic
        if topic.startswith('~'):
            return f'{self.full_node}/{topic[1:].lstrip("/")}'
        return f'{self.namespace.rstrip("/")}/{topic}'

    def full(self, topic: str) -> str:
        """Return the full name of a topic as it is used."""
        name = self.expanded(topic)
        return next((after for before, after in self.rules if before == name), name)


def names(remaps: Iterable[str]) -> Names:
    """
    Return the names that remaps FROM:=TO give, as behind ``-r`` of ros2 run.

    ``__node:=NAME`` (also ``__name``) and ``__ns:=/NAMESPACE`` name the node itself.

    Raises
    ------
    MotorError
        If one is not such a pair.

    """
    found, pairs = Names(), []
    for text in remaps:
        before, colon, after = text.partition(':=')
        if colon and before in ('__node', '__name') and re.fullmatch(TOKEN, after):
            found = found._replace(node=after)
        elif colon and before == '__ns' and re.fullmatch(rf'/|(/{TOKEN})+', after):
            found = found._replace(namespace=after)
        elif not before.startswith('__') and TOPIC.fullmatch(before) and TOPIC.fullmatch(after):
            pairs.append((before, after))
        else:
            raise MotorError(f"remap must be FROM:=TO, as 'imu/data:=/imu', got {text!r}.")
    rules = tuple((found.expanded(before), found.expanded(after)) for before, after in pairs)
    return found._replace(rules=rules)
