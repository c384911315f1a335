"""
What the tests of the README and of the pages in doc/ share: how a page is read and checked.

``check`` looks a command line up word by word: programs, files, launch arguments, topics, types,
services and parameters have to be there, and parameters have to be taken.
"""

import argparse
import importlib
import importlib.util
import os
from pathlib import Path
import re
import shlex
from xml.etree import ElementTree

from mime_motor_ros.names import names
from mime_motor_ros.parameter_file import parse
from mime_motor_ros.settings import check_names, MOTOR, NODE, settings
import yaml

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / 'README.md'
README_TEXT = README.read_text(encoding='utf-8') if README.is_file() else ''
PAGES = sorted(ROOT.glob('doc/*.md'))


# --- the parts of a page ----------------------------------------------------------------------


def blocks(language, text=README_TEXT):
    """Return the fenced blocks of a language."""
    return re.findall(rf'^```{language}\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)


def programs(text):
    """Return the Python blocks, each with the text block right below it, or None."""
    fence = r'^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?'
    return [(x[1], x[2]) for x in re.finditer(fence, text, re.MULTILINE | re.DOTALL)]


def lines(text):
    """Return the command lines of the blocks for the shell."""
    joined = [re.sub(r'\\\n\s*', '', block) for block in blocks('sh', text)]
    return [line for block in joined for line in block.splitlines()]


def section(title, text=README_TEXT):
    """Return the text under a heading, up to the next one of any level."""
    found = re.search(rf'^#+ {title}\n(.*?)(?=^#|\Z)', text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def tables(title, text=README_TEXT):
    """Return the tables of a section, each as its rows below the head."""
    found = re.findall(r'(?:^\|.*\n)+', section(title, text), re.MULTILINE)
    split = [[row.strip('|\n').split('|') for row in table.splitlines(True)] for table in found]
    return [[[cell.strip() for cell in row] for row in table[2:]] for table in split]


def code(cell):
    """Return what a cell has in backticks."""
    return cell.strip('`')


# --- what there is ----------------------------------------------------------------------------


def targets():
    return set(re.findall(r'^([a-z]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE))


def executables():
    """Return the modules of the programs, by name."""
    found = re.findall(r"'(\w+) = \{NAME\}([\w.]+):", (ROOT / 'setup.py').read_text())
    return {name: f'mime_motor_ros{module}' for name, module in found}


def topics():
    """Return the types by absolute topic, of one motor node in no namespace."""
    rows = tables('In')[0] + tables('Out')[0]
    return {absolute(code(row[0])): code(row[1]) for row in rows}


def absolute(name):
    name = name.replace('<motor>', 'wheel').replace('~', '/motor')
    return name if name.startswith('/') else f'/{name}'


def check_file(name, text):
    """Check that a file is one of the checkout, or that the page tells to write it."""
    assert (ROOT / name).is_file() or f'`{name}`' in text, name


# --- commands ---------------------------------------------------------------------------------


def check_launch(text, package, file, *arguments):
    assert package == 'mime_motor_ros'
    assert (ROOT / 'launch' / file).is_file()
    sources = ''.join(path.read_text() for path in ROOT.glob('launch/*.launch.py'))
    for argument in arguments:
        name, given, value = argument.partition(':=')
        assert given or name == '--show-args'
        assert not given or f"'{name}'" in sources, name
        if name == 'params_file':
            check_file(value, text)


def check_run(text, package, executable, *arguments):
    if (package, executable) == ('tf2_ros', 'static_transform_publisher'):
        options = dict(zip(arguments[::2], arguments[1::2], strict=True))
        frames = {options.pop('--frame-id'), options.pop('--child-frame-id')}
        assert len(frames) == 2
        assert set(options) == {'--x', '--y', '--z', '--roll', '--pitch', '--yaw'}
        assert [float(value) for value in options.values()]
        return
    assert package == 'mime_motor_ros'
    check_program(text, executables()[executable], arguments)


def check_program(text, module, arguments):
    """Check what a program is given: its own options, and those of ROS."""
    own, mark, of_ros = (*_split(arguments, '--ros-args'),)
    if hasattr(importlib.import_module(module), 'parser'):
        check_options(importlib.import_module(module).parser(), own, text)
    else:
        assert own == []
    if mark:
        check_ros_arguments(text, of_ros)


def _split(arguments, mark):
    arguments = list(arguments)
    at = arguments.index(mark) if mark in arguments else len(arguments)
    return arguments[:at], at < len(arguments), arguments[at + 1 :]


def check_options(parser, words, text):
    """Check that a program takes its options, and that files of ours among them are there."""
    for word in words:
        if word.startswith('config/'):
            check_file(word, text)
    try:
        parser.parse_args(
            [word.replace('$DATA', '/data').replace('$OUT', '/out') for word in words]
        )
    except (SystemExit, argparse.ArgumentError) as left:
        raise AssertionError(f'{parser.prog} does not take {words}') from left


def check_ros_arguments(text, arguments):
    values, rules = {}, []
    for option, argument in zip(arguments[::2], arguments[1::2], strict=True):
        if option == '--params-file':
            check_file(argument, text)
        elif option == '-p':
            name, value = parse(argument)
            values[name] = value
        else:
            assert option == '-r', option
            assert absolute(argument.partition(':=')[0]) in topics(), argument
            rules.append(argument)
    names(rules)
    assert check_names(values, ['wheel']) in ([], ['use_sim_time'])
    settings({name: value for name, value in values.items() if name != 'use_sim_time'})


def check_topic(text, verb, *words):
    words = [word for word in words if word != '--once']
    if verb == 'echo':
        assert words[0] in topics()
        return
    assert (verb, words[0]) == ('pub', '-r')
    assert float(words[1]) * settings().command_timeout > 1e9  # [ns]: before it runs out
    assert topics()[words[2]] == words[3]
    message = yaml.safe_load(words[4])
    if words[3] == 'std_msgs/msg/Float64MultiArray':
        assert all(isinstance(x, float) for x in message.pop('data'))
    else:
        assert len(message.pop('name')) == len(message.pop('effort'))
    assert not message


def check_service(text, verb, name, kind, request='{}'):
    services = {absolute(code(row[0])): code(row[1]) for row in tables('Services')[0]}
    assert (verb, services[name]) == ('call', kind)
    fields = {'std_srvs/srv/Trigger': set(), 'std_srvs/srv/SetBool': {'data'}}
    assert set(yaml.safe_load(request)) == fields[kind]


def check_param(text, verb, node, name, value):
    assert (verb, node) == ('set', '/motor')
    settings({name: yaml.safe_load(value)})
    assert next(p for p in (*NODE, *MOTOR) if name in (p.name, f'wheel.{p.name}')).live


ROS2 = {
    'launch': check_launch,
    'run': check_run,
    'topic': check_topic,
    'service': check_service,
    'param': check_param,
}


def check(line, text=README_TEXT):
    """Check that a command line names what is there, word by word."""
    for part in re.split(r' && ', line):
        _check(shlex.split(part, comments=True), text)


def _check(command, text):
    first, *words = command
    if first == 'make':
        assert words[0] in targets()
        assert all(re.match('(VIEW|DEMO|SECONDS|BAG|ARGS|MINUTES)=.', word) for word in words[1:])
    elif first == 'ros2':
        ROS2[words[0]](text, *words[1:])
    elif first == 'colcon':
        name = ElementTree.parse(ROOT / 'package.xml').findtext('name')
        assert words == ['build', '--packages-select', name]
    elif first == '.':
        assert words == ['install/setup.bash']
    elif first == 'python3':
        assert words == ['-m', 'venv', 'desk']
    elif first == 'export':
        assert words == ['PATH=$PWD/desk/bin:$PATH']
    elif first == 'desk/bin/pip':
        extras = re.fullmatch(r'\.\[(.+)\]', words[1])[1].split(',')
        rules = (ROOT / 'setup.py').read_text()
        assert all(f"'{extra}': " in rules for extra in extras)
    elif first in executables():
        check_options(importlib.import_module(executables()[first]).parser(), words, text)
    else:
        assert os.access(ROOT / first, os.X_OK), first
        assert words[0] == 'python'
        if words[1] == '-m':
            module = 'mime_motor_ros.check.command' if words[2].endswith('.check') else words[2]
            assert importlib.util.find_spec(words[2])
            check_program(text, module, words[3:])
        else:
            check_file(words[1], text)
