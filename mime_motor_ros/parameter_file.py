"""
Parameter files of ROS nodes, read and written without ROS, by the rules of rcl.

    /**:
      ros__parameters:
        rate: 1000.0
        wheel: {inertia: 1e-4}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from pathlib import Path
import re
from typing import Any

import yaml  # type: ignore[import-untyped]

from .errors import MotorError

DEEPEST = 32  # mappings in each other
TRUE = {'y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'}
FALSE = {'n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'}
WHOLE = re.compile(r'[-+]?(0[xX][0-9a-fA-F]+|[0-9]+)')
FLOAT = re.compile(r'[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?')
SPECIAL = re.compile(r'[-+]?\.?(inf|Inf|INF|nan|NaN|NAN)')


class FileError(MotorError):
    """A parameter file cannot be taken; the text says which, where and why."""


def read(path: str | Path, node: str = '/motor') -> dict[str, Any]:
    """
    Return the parameters that a file has for a node, by full name with dots.

    Sections count that are keyed by the node's name, with or without its slash, or by a
    wildcard: ``/**``, ``/*``, ``/robot/*/motor``; of two that name the same parameter the later.

    Parameters
    ----------
    path
        The file.
    node
        Full name of the node.

    Raises
    ------
    FileError
        If it cannot be read, is no YAML, or has no section for a node.

    """
    path = Path(path)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else 'it is no text'
        raise FileError(f'parameter file {path} cannot be read: {why}.') from None
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise FileError(
                    f'parameter file {path} must have no aliases (*{event.anchor}), which rcl '
                    f'does not take, in line {event.start_mark.line + 1}.'
                )
        tree = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise FileError(
            f'parameter file {path} is not YAML: {" ".join(str(error).split())}.'
        ) from None
    values: dict[str, Any] = {}
    for key, section in _pairs(tree, path):
        names, inner = [key], section
        while isinstance(inner, yaml.MappingNode) and len(inner.value) == 1:
            ((name, below),) = _pairs(inner, path)
            if name == 'ros__parameters':
                break
            names.append(name)  # a namespace may be a level of its own
            inner = below
        of_node = dict(_pairs(inner, path)) if isinstance(inner, yaml.MappingNode) else {}
        if 'ros__parameters' not in of_node:
            raise FileError(
                f'parameter file {path} must have ros__parameters between the name of the node '
                f'(or /**) and the parameters, got {key} in line {section.start_mark.line + 1}.'
            )
        if _is_meant('/'.join(names), node):
            values.update(_flat(of_node['ros__parameters'], path))
    return values


def parse(rule: str) -> tuple[str, Any]:
    """
    Return name and value of NAME:=VALUE, as behind ``-p`` of ros2 run.

    Raises
    ------
    FileError
        If it is no such pair.

    """
    name, colon, text = rule.partition(':=')
    try:
        node = yaml.compose(text, yaml.SafeLoader) if name and colon else None
    except (yaml.YAMLError, RecursionError):
        node = None
    if node is None:
        raise FileError(f'-p must be NAME:=VALUE, got {rule!r}.')
    try:
        return name, _value(name, node, Path('-p'))
    except FileError:
        rule = 'a number, a text, or a list of numbers or of texts'
        raise FileError(f'{name} must be {rule}, got {text}.') from None


def _pairs(node: Any, path: Path) -> list[tuple[str, Any]]:
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise FileError(
            f'parameter file {path} must have names with a colon, as name: value, in line '
            f'{node.start_mark.line + 1}.'
        )
    return [(key.value if isinstance(key, yaml.ScalarNode) else '?', x) for key, x in node.value]


def _is_meant(key: str, node: str) -> bool:
    """Tell whether the key of a section means a node; * is one part of a name, ** any number."""
    pattern = re.escape('/' + key.strip('/'))
    pattern = pattern.replace(r'/\*\*', r'(/[^/]+)*').replace(r'\*', '[^/]+')
    return re.fullmatch(pattern, node) is not None


def _flat(node: Any, path: Path, name: str = '', depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in _pairs(node, path):
        full = f'{name}.{key}' if name else key
        if isinstance(value, yaml.MappingNode) and depth < DEEPEST:
            yield from _flat(value, path, full, depth + 1)
        else:
            yield full, _value(full, value, path)


def _value(name: str, node: Any, path: Path) -> Any:
    if not isinstance(node, yaml.SequenceNode):
        return _scalar(node, path)
    items = [_scalar(x, path) for x in node.value]
    if len({type(x) for x in items}) > 1:
        raise FileError(
            f'{name} must be a list of one type, numbers all written with a decimal point, as '
            f'[0.0, 0.5, 1.0], got {items}. It is in {path}, line {node.start_mark.line + 1}.'
        )
    return items


def _scalar(node: Any, path: Path) -> Any:
    """Return a value as rcl takes it: 1e-4 is a number there, which YAML 1.1 calls a text."""
    if not isinstance(node, yaml.ScalarNode):
        raise FileError(
            f'parameter file {path} must have numbers, texts or lists of them, in line '
            f'{node.start_mark.line + 1}.'
        )
    text = node.value
    if not (text or node.style):
        raise FileError(
            f'parameter file {path} must have a value behind each name, got none in line '
            f'{node.start_mark.line + 1}.'
        )
    if node.style:  # in quotes, or a block
        return text
    if text in TRUE or text in FALSE:
        return text in TRUE
    if WHOLE.fullmatch(text):
        digits = text.lstrip('+-')
        base = (
            16 if digits[:2] in ('0x', '0X') else 8 if digits[0] == '0' and len(digits) > 1 else 10
        )
        try:
            return int(text, base)
        except ValueError:  # 09
            return float(text)
    if FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text  # as rcl has it
    if SPECIAL.fullmatch(text):
        return float(text.replace('.', ''))
    return text


def write(path: str | Path, values: Mapping[str, Any], node: str = '/**') -> None:
    """
    Write parameters by full name as a file that a node takes, and `read` reads the same from.

    Raises
    ------
    FileError
        If it cannot be written.

    """
    lines = [f'{node}:', '  ros__parameters:']
    lines += [f'    {name}: {_written(value)}' for name, value in values.items()]
    try:
        Path(path).write_text('\n'.join(lines) + '\n')
    except OSError as error:
        raise FileError(f'parameter file {path} cannot be written: {error.strerror}.') from None


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        items = list(value)
        if any(isinstance(x, float) for x in items):
            items = [float(x) for x in items]
        return f'[{", ".join(map(_written, items))}]'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        if not math.isfinite(value):
            return '.nan' if math.isnan(value) else '.inf' if value > 0 else '-.inf'
        return repr(value)
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"
