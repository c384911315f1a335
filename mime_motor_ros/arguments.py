"""
What is wrong with arguments that never reach the node, because rcl cannot read them.

Its own text names a line of its source and not the parameter, and its YAML takes no list that
mixes 1 and 0.5. Here the same argument is looked at once more to say it in one line.
"""

from __future__ import annotations

from collections.abc import Iterator
import re
from typing import Any

import yaml  # type: ignore[import-untyped]

from .errors import MotorError, ParameterError
from .settings import MOTOR, NODE

DEEPEST = 32  # mappings in each other that are looked through


def plain_line(error: BaseException) -> str:
    """Return an error of ours, of rclpy or of rcl as one line that says what to do."""
    line = ' '.join(str(error).split()).removesuffix(' ^')  # which points at a place above it
    if isinstance(error, MotorError):
        return line
    line = re.sub(r', at \S+:\d+', '', line).removeprefix('failed to initialize rcl: ')
    if wrong := re.search(r"Trying to set parameter '(.+)' to '(.*)' of .* type '(\w+)'", line):
        return str(ParameterError(wrong[1], f'of type {wrong[3].lower()}', repr(wrong[2])))
    if type(error).__name__ == 'UnknownROSArgsError':
        return f'these arguments are unknown: {line}. Parameters are given as -p name:=value.'
    if file := re.search(r"'--params-file (.+)'\. Error", line):
        return _in_file(file[1]) or line
    if rule := re.search(r"'(?:-p|--param) (.+)'\. Error", line):
        return _in_rule(rule[1]) or line
    return line


def _in_file(path: str) -> str:
    """Return what is wrong with a parameter file, or nothing when it is not known."""
    try:
        with open(path, 'rb') as file:
            tree = yaml.safe_load(file)
    except OSError as error:
        return f'parameter file {path} cannot be read: {error.strerror}.'
    except (yaml.YAMLError, ValueError) as error:  # the latter of a day that is in no calendar
        return f'parameter file {path} is not YAML: {" ".join(str(error).split())}.'
    for keys, value in _leaves(tree):
        if 'ros__parameters' not in keys:
            return (
                f'parameter file {path} must have ros__parameters between the name of the node '
                f'(or /**) and the parameters, got {".".join(keys)}: {value}.'
            )
        if _is_mixed(value):
            name = '.'.join(keys[keys.index('ros__parameters') + 1 :])
            return f'{_mixed(name, value)} It is in {path}.'
    return ''


def _in_rule(rule: str) -> str:
    """Return what is wrong with the name:=value of the command line, or nothing."""
    name, given, text = rule.partition(':=')
    if not given:
        return str(ParameterError('-p', 'name:=value', rule))
    if not text:
        return str(ParameterError(name, 'a value as YAML has it', 'nothing'))
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return str(ParameterError(name, 'a value as YAML has it', text))
    return str(_mixed(name, value)) if _is_mixed(value) else ''


def _leaves(tree: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk through nested mappings to what is no mapping, or lies too deep (they may be loops)."""
    if isinstance(tree, dict) and len(keys) < DEEPEST:
        for key, value in tree.items():
            yield from _leaves(value, (*keys, str(key)))
    else:
        yield keys, tree


def _is_mixed(value: Any) -> bool:
    return isinstance(value, list) and len({type(item) for item in value}) > 1


def _mixed(name: str, value: list[Any]) -> ParameterError:
    units = [known.unit for known in (*NODE, *MOTOR) if f'.{name}'.endswith(f'.{known.name}')]
    unit = f' [{units[0]}]' if units and units[0] else ''
    return ParameterError(
        name, f'numbers{unit} all written with a decimal point, as [0.0, 0.5, 1.0]', value
    )
