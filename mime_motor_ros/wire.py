"""
Messages as the bytes that cross the wire (CDR), for what is sent or read at every step.

ROS turns a message object into bytes attribute by attribute, which costs more than the step
itself. Here it does so once, with an example, and of these bytes only stamp and numbers change:
the layout stays that of ROS. Nothing of ROS is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any

from .inputs import Imu, Transform
from .model import Pose
from .timeline import NANOSECONDS

Serialize = Callable[[str, Mapping[str, Any]], bytes]
FRONT = 4  # bytes before the message itself, which say how it is encoded
STAMP = 8  # bytes
HEADERS = {order: Struct(order + 'iII') for order in '<>'}  # stamp, length of the frame id
MARK = -1.0625e-301
"""Where the numbers of a message begin. Behind lists ROS leaves some bytes that mean nothing."""
LENGTHS = {order: Struct(order + 'I') for order in '<>'}
POSES = {order: Struct(order + '7d') for order in '<>'}
IMUS = {order: Struct(order + '25d') for order in '<>'}  # up to the covariance of the rate


class Template:
    """
    A message of which only the stamp and the numbers at its end change.

    Parameters
    ----------
    example
        The message as ROS serializes it, its texts and lengths as they will always be. Where it
        has lists, MARK is the first of their numbers.
    numbers
        What stands at its end, as a format of ``struct``.
    stamped
        Whether it begins with a header.

    """

    def __init__(self, example: bytes, numbers: str, stamped: bool) -> None:
        order = _order(example)
        end = example.find(Struct(order + 'd').pack(MARK))
        if end < 0:
            end = len(example) - Struct(order + numbers).size
        text = example[FRONT + STAMP * stamped : end]
        self._constant = example[:FRONT], text
        self._pack = Struct(f'{order}{FRONT}s{"iI" * stamped}{len(text)}s{numbers}').pack
        self._stamped = stamped

    def filled(self, stamp: tuple[int, int], numbers: Sequence[float]) -> bytes:
        """Return the message with these numbers, stamped (seconds, nanoseconds)."""
        front, text = self._constant
        if self._stamped:
            return self._pack(front, *stamp, text, *numbers)
        return self._pack(front, text, *numbers)


class Scattered:
    """
    A message of which some values change, wherever they stand.

    Parameters
    ----------
    example
        The message as ROS serializes it, its texts and lengths as they will always be.
    changing
        What changes, in the order of the message: its format of ``struct``, and the values that
        the example has there, which stand nowhere between this one and the one before.

    """

    def __init__(self, example: bytes, changing: Sequence[tuple[str, Sequence[Any]]]) -> None:
        order = _order(example)
        example += bytes(-len(example) % 4)  # as DDS does on the way, so a bag has what comes
        self._texts: list[bytes] = []
        form, start = order, 0
        for numbers, values in changing:
            found = example.index(Struct(order + numbers).pack(*values), start)
            self._texts.append(example[start:found])
            form += f'{found - start}s{numbers}'
            start = found + Struct(order + numbers).size
        self._texts.append(example[start:])
        self._pack = Struct(f'{form}{len(example) - start}s').pack

    def filled(self, values: Sequence[Sequence[Any]]) -> bytes:
        """Return the message with these values in place of those of the example."""
        given: list[Any] = []
        for text, some in zip(self._texts, values, strict=False):
            given.append(text)
            given += some
        return self._pack(*given, self._texts[-1])


class TransformsTemplate:
    """
    A tf2_msgs/TFMessage of which only stamp and poses change.

    ``example`` is the message as ROS serializes it, its frames as they will always be.
    """

    def __init__(self, example: bytes) -> None:
        order = _order(example)
        self._texts: list[bytes] = []
        form, start, front = order, 0, FRONT + 4
        for _, at in _each_transform(example):
            self._texts += [example[start:front], example[front + STAMP : at]]
            form += f'{front - start}siI{at - front - STAMP}s7d'
            start = front = at + POSES[order].size
        self._pack = Struct(form).pack

    def filled(self, stamp: tuple[int, int], poses: Sequence[Pose]) -> bytes:
        """Return the message with these poses, all stamped (seconds, nanoseconds)."""
        numbers: list[Any] = []
        texts = iter(self._texts)
        for position, orientation in poses:
            numbers += (next(texts), *stamp, next(texts), *position, *orientation)
        return self._pack(*numbers)


def lists_form(counts: Sequence[int]) -> str:
    """
    Return how lists of doubles stand at the end of a message, as a format of ``struct``.

    From the first number on: the length of the first list that is not empty stands before it.
    Each length is followed by a gap where a double would not begin at a multiple of 8.
    """
    first = next(i for i, count in enumerate(counts) if count)
    form, size = '', 0
    for i, count in enumerate(counts[first:]):
        if i:
            form, size = form + 'I', size + 4
        if count:
            form += f'{-size % 8}x{count}d'
            size += -size % 8 + 8 * count
    return form


def imu(data: bytes) -> Imu:
    """
    Return what counts of a serialized sensor_msgs/Imu.

    Raises
    ------
    struct.error, ValueError
        If the bytes are not such a message.

    """
    order = _order(data)
    seconds, nanoseconds, length = HEADERS[order].unpack_from(data, FRONT)
    frame = _text(data, FRONT + 12, length)
    numbers = IMUS[order].unpack_from(data, FRONT + (12 + length + 7) // 8 * 8)
    return Imu(
        seconds * NANOSECONDS + nanoseconds,
        frame,
        numbers[13:16],
        numbers[16],
        numbers[:4],
        numbers[4],
    )


def transforms(data: bytes, static: bool) -> list[Transform]:
    """
    Return what is in a serialized tf2_msgs/TFMessage; ROS takes ten times as long for it.

    Raises
    ------
    struct.error, ValueError
        If the bytes are not such a message.

    """
    found: list[Transform] = []
    pose_of = POSES[_order(data)]
    for (stamp, parent, child), at in _each_transform(data):
        x, y, z, *orientation = pose_of.unpack_from(data, at)
        found.append(Transform(stamp, parent, child, (x, y, z), tuple(orientation), static))
    return found


def _each_transform(data: bytes) -> Iterator[tuple[tuple[int, str, str], int]]:
    """Give stamp, parent and child of each transform of a TFMessage, and where its pose begins."""
    order = _order(data)
    header, length_of = HEADERS[order], LENGTHS[order]
    (count,) = length_of.unpack_from(data, FRONT)
    at = FRONT + 4
    for _ in range(count):
        seconds, nanoseconds, length = header.unpack_from(data, at)
        at += 12
        parent = _text(data, at, length)
        at = (at + length + 3) // 4 * 4
        (length,) = length_of.unpack_from(data, at)
        at += 4
        child = _text(data, at, length)
        at = (at + length - FRONT + 7) // 8 * 8 + FRONT
        yield (seconds * NANOSECONDS + nanoseconds, parent, child), at
        at += POSES[order].size


def _text(data: bytes, start: int, length: int) -> str:
    """Return a text that ends with a zero byte, which counts."""
    if start + length > len(data):
        raise ValueError('a text is longer than its message')
    return data[start : start + max(0, length - 1)].decode()


def _order(data: bytes) -> str:
    """Return the byte order of a message in plain CDR, the one encoding that ROS uses."""
    if data[:2] not in (b'\0\0', b'\0\1'):
        raise ValueError(f'encoding {data[:2].hex()} is not plain CDR')
    return '<' if data[1] else '>'
