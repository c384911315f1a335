"""What is to be swept: the file of a user, read and checked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
import math
from pathlib import Path
import re
from statistics import NormalDist
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from ... import parameter_file
from ...errors import MotorError, ParameterError
from ...names import names
from .figures import chosen, DEFAULT

MOST_STEPS = 1_000_000
MOST_POINTS = 1_000_000_000
KEYS = (
    'recordings',
    'parameters',
    'vary',
    'samples',
    'seed',
    'figures',
    'by',
    'remap',
    'columns',
    'start',
    'duration',
)
SHAPES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    'uniform': (('low', 'high'), {'scale': 'linear'}),
    'normal': (('mean', 'std'), {'low': -math.inf, 'high': math.inf}),
    'lognormal': (('median', 'sigma'), {'low': 0.0, 'high': math.inf}),
}
"""Of each distribution what it must be given, and what it may be given with the default."""


class SpecificationError(MotorError):
    """What is to be swept cannot be read; the text says where and why."""


class Distribution(NamedTuple):
    """A distribution, by its quantiles."""

    shape: str
    """One of SHAPES."""
    numbers: tuple[float, ...]
    """What it must be given, then what it may be given, in the order of SHAPES."""

    def at(self, share: float) -> float:
        """Return the value below which a share of all lies, 0 < share < 1."""
        if self.shape == 'uniform':
            low, high, is_log = self.numbers
            return low * (high / low) ** share if is_log else low + share * (high - low)
        centre, spread, low, high = self.numbers
        is_log = self.shape == 'lognormal'
        if is_log:
            centre = math.log(centre)
            low, high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
        normal = NormalDist(centre, spread)
        below, above = normal.cdf(low), normal.cdf(high)
        share = min(max(below + share * (above - below), 2.0**-54), 1.0 - 2.0**-53)
        value = normal.inv_cdf(share)
        try:
            return math.exp(value) if is_log else value
        except OverflowError:
            return math.inf  # which no parameter may be


class Varied(NamedTuple):
    """One parameter and what it takes: values of a grid, or a distribution."""

    name: str
    values: tuple[Any, ...] = ()
    distribution: Distribution | None = None


@dataclass(frozen=True)
class Specification:
    """
    What is swept.

    Attributes
    ----------
    recordings : paths
    parameters : of the node, by full name; None: its defaults, and the frames of the recording
    vary : parameters that change from point to point
    samples : how many are drawn for each point of the grid, where there are distributions
    seed : of what is drawn
    figures : names of what is told of each point
    options : how a recording is read, as of `replay`
    files : of which this was read

    """

    recordings: tuple[str, ...]
    parameters: Mapping[str, Any] | None
    vary: tuple[Varied, ...]
    samples: int
    seed: int
    figures: tuple[str, ...]
    options: Mapping[str, Any]
    files: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Return all paths that are read, which nothing may be written to."""
        return (*self.files, *self.recordings)


def read(given: str | Path | Mapping[str, Any]) -> Specification:
    """
    Return what a file, or a mapping of the same form, asks for.

    Paths in a file are relative to its folder. doc/offline.md says what may be in it.

    Raises
    ------
    MotorError
        If it cannot be read, or something in it breaks its rule.

    """
    folder = Path()
    files: list[str] = []
    if isinstance(given, (str, Path)):
        folder = Path(given).parent
        files.append(str(given))
        given = _tree(Path(given))
    if isinstance(given.get('parameters'), str):
        files.append(str(folder / given['parameters']))
    for key in given:
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, 1)
            hint = f'Did you mean {near[0]}?' if near else f'There are {", ".join(KEYS)}.'
            raise ParameterError(str(key), 'a name that a sweep knows', repr(key), hint)
    vary = given.get('vary')
    if not isinstance(vary, Mapping) or not vary:
        hint = 'As vary: {wheel.inertia: {from: 1e-4, to: 1e-3, steps: 5}}'
        rule = 'parameters and what each of them takes'
        raise ParameterError('vary', rule, _shown(vary), hint)
    varied = tuple(_varied(str(name), how) for name, how in vary.items())
    drawn = any(one.distribution for one in varied)
    samples = _whole(given, 'samples', 1, 1, MOST_POINTS)
    if drawn and 'samples' not in given:
        rule = 'a whole number >= 1 where a parameter has a distribution'
        raise ParameterError('samples', rule, 'nothing')
    if not drawn and samples != 1:
        rule = 'left out where no parameter has a distribution'
        raise ParameterError('samples', rule, samples)
    total = samples * math.prod(len(one.values) for one in varied if not one.distribution)
    if total > MOST_POINTS:
        raise ParameterError('vary', f'at most {MOST_POINTS} points', total)
    figures = tuple(_texts(given, 'figures')) or DEFAULT
    chosen(figures)
    return Specification(
        tuple(str(folder / path) for path in _texts(given, 'recordings')),
        _parameters(given.get('parameters'), folder, _texts(given, 'remap')),
        varied,
        samples,
        _whole(given, 'seed', 0, 0, 2**63 - 1),
        figures,
        _options(given),
        tuple(files),
    )


class _Loader(yaml.SafeLoader):
    """YAML where 1e-4 is a number, as in parameter files, and no key counts twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if isinstance(name, Hashable) and name in seen:
                line = key.start_mark.line + 1
                raise SpecificationError(
                    f'{name} is there twice, again in line {line}: leave one out.'
                )
            if isinstance(name, Hashable):
                seen.add(name)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    'tag:yaml.org,2002:float',
    re.compile(r'[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+'),
    list('-+.0123456789'),
)


def _tree(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else 'it is no text'
        raise SpecificationError(f'{path} cannot be read: {why}.') from None
    try:
        found = yaml.load(text, _Loader)  # noqa: S506 - a safe one
    except SpecificationError as error:
        raise SpecificationError(f'{path}: {error}') from None
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise SpecificationError(f'{path} is not YAML: {" ".join(str(error).split())}.') from None
    if not isinstance(found, Mapping):
        raise SpecificationError(
            f'{path} must have names with a colon, as vary: ..., got {_shown(found)}.'
        )
    return found


def _parameters(given: Any, folder: Path, remap: Sequence[str]) -> Mapping[str, Any] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return parameter_file.read(folder / given, names(remap).full_node)
    if not isinstance(given, Mapping):
        rule = 'the path of a parameter file, or names and values'
        raise ParameterError('parameters', rule, _shown(given))
    flat = dict(_flat(given))
    if deep := next((name for name, value in flat.items() if isinstance(value, Mapping)), ''):
        raise ParameterError('parameters', 'names and values, not nested so deep', repr(deep))
    return flat


def _flat(tree: Mapping[Any, Any], before: str = '', depth: int = 0) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        name = f'{before}{key}'
        is_deeper = isinstance(value, Mapping) and depth < parameter_file.DEEPEST
        found += _flat(value, f'{name}.', depth + 1) if is_deeper else [(name, value)]
    return found


def _varied(name: str, how: Any) -> Varied:
    full = f'vary.{name}'
    if isinstance(how, (list, tuple)):
        if not how:
            raise ParameterError(full, 'at least one value', '[]')
        return Varied(name, tuple(tuple(x) if isinstance(x, list) else x for x in how))
    if isinstance(how, Mapping) and 'from' in how:
        return Varied(name, _range(full, how))
    if isinstance(how, Mapping) and len(how) == 1 and (shape := next(iter(how))) in SHAPES:
        return Varied(name, distribution=_distribution(f'{full}.{shape}', shape, how[shape]))
    rule = (
        'a list of values, {from:, to:, steps:}, {uniform: {low:, high:}}, '
        '{normal: {mean:, std:}} or {lognormal: {median:, sigma:}}'
    )
    raise ParameterError(full, rule, _shown(how))


def _range(full: str, how: Mapping[str, Any]) -> tuple[float, ...]:
    _only(full, how, ('from', 'to', 'steps', 'scale'))
    low, high = _number(full, how, 'from'), _number(full, how, 'to')
    steps = _whole({f'{full}.steps': how.get('steps')}, f'{full}.steps', None, 1, MOST_STEPS)
    is_log = _is_log(full, how)
    if is_log and not (low > 0.0 and high > 0.0):
        raise ParameterError(full, 'from and to > 0 on a scale: log', f'{low:g} and {high:g}')
    if steps == 1 and low != high:
        raise ParameterError(f'{full}.steps', '>= 2 between two values', steps)
    shares = [i / max(1, steps - 1) for i in range(steps)]
    made = [low * (high / low) ** x if is_log else low + x * (high - low) for x in shares]
    return (*made[:-1], high)


def _distribution(full: str, shape: str, how: Any) -> Distribution:
    needed, optional = SHAPES[shape]
    if not isinstance(how, Mapping):
        raise ParameterError(full, ' and '.join(f'{name}:' for name in needed), _shown(how))
    _only(full, how, (*needed, *optional))
    numbers = [_number(full, how, name) for name in needed]
    if shape == 'uniform':
        is_log = _is_log(full, how)
        low, high = numbers
        if not low < high or (is_log and not low > 0.0):
            rule = f'low < high{", both > 0 on a scale: log" if is_log else ""}'
            raise ParameterError(full, rule, f'{low:g} and {high:g}')
        return Distribution(shape, (low, high, float(is_log)))
    centre, spread = numbers
    if not spread > 0.0:
        raise ParameterError(f'{full}.{needed[1]}', '> 0', spread)
    if shape == 'lognormal' and not centre > 0.0:
        raise ParameterError(f'{full}.median', '> 0', centre)
    low, high = (
        _number(full, how, name) if name in how else default for name, default in optional.items()
    )
    made = Distribution(shape, (centre, spread, low, high))
    middle = NormalDist(0.0, 1.0)
    ends = [
        (math.log(x) - math.log(centre) if x > 0.0 else -math.inf)
        if shape == 'lognormal'
        else x - centre
        for x in (low, high)
    ]
    if not middle.cdf(ends[0] / spread) < middle.cdf(ends[1] / spread):
        rule = 'low < high, and between them some of the distribution'
        raise ParameterError(full, rule, f'{low:g} and {high:g}')
    return made


def _only(full: str, how: Mapping[Any, Any], known: Sequence[str]) -> None:
    for key in how:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            hint = f'Did you mean {near[0]}?' if near else ''
            raise ParameterError(f'{full}.{key}', f'one of {", ".join(known)}', repr(key), hint)


def _is_log(full: str, how: Mapping[str, Any]) -> bool:
    scale = how.get('scale', 'linear')
    if scale not in ('linear', 'log'):
        raise ParameterError(f'{full}.scale', 'linear or log', repr(scale))
    return bool(scale == 'log')


def _number(full: str, how: Mapping[str, Any], name: str) -> float:
    value = how.get(name)
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        number = float(value) if good else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ParameterError(f'{full}.{name}', 'a finite number', _shown(value))
    return number


def _whole(given: Mapping[str, Any], name: str, default: int | None, low: int, high: int) -> int:
    value = given.get(name, default)
    if type(value) is not int or not low <= value <= high:
        raise ParameterError(name, f'a whole number from {low} to {high}', _shown(value))
    return value


def _texts(given: Mapping[str, Any], name: str) -> list[str]:
    value = given.get(name) or []
    texts = [value] if isinstance(value, (str, Path)) else value
    if not isinstance(texts, (list, tuple)) or not all(isinstance(x, (str, Path)) for x in texts):
        raise ParameterError(name, 'a list of texts', _shown(value))
    return [str(x) for x in texts]


def _options(given: Mapping[str, Any]) -> Mapping[str, Any]:
    by = given.get('by', 'receipt')
    if by not in ('receipt', 'stamp'):
        raise ParameterError('by', 'receipt or stamp', _shown(by))
    made: dict[str, Any] = {'by': by, 'remap': tuple(_texts(given, 'remap'))}
    if 'columns' in given:
        named = given['columns']
        if not isinstance(named, Mapping) or not all(isinstance(x, str) for x in named.values()):
            rule = 'names of inputs and the columns of a CSV file that they are'
            raise ParameterError('columns', rule, _shown(named))
        made['columns'] = {str(name): column for name, column in named.items()}
    for name, least in (('start', '>= 0 s'), ('duration', '> 0 s')):
        if name in given:
            value = _number('', {name: given[name]}, name) if given[name] is not None else -1.0
            if value < 0.0 or (name == 'duration' and not value):
                raise ParameterError(name, f'finite and {least}', _shown(given[name]))
            made[name] = value
    return made


def _shown(value: Any) -> str:
    return 'nothing' if value is None else repr(value)
