"""
What `mkdocs build` adds to the pages of doc/.

- The README is a page as well, ``overview.md``, so that its tables can be linked to.
- Files of the checkout that a page links to, as ``../config/wheels.yaml``, come along.
- In doc/api.md a line ``<!-- api: MODULE NAME ... -->`` becomes these names of the module, with
  signatures, fields and docstrings; without names, all classes and functions it defines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import is_dataclass
import enum
from functools import cached_property
from importlib import import_module
import inspect
from pathlib import Path
import posixpath
import re
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OVERVIEW = 'overview.md'
LINK = re.compile(r'(?<=\]\()(?!\w+:|#)([^)#\s]+)')
MARKER = re.compile(r'^<!-- api: ([\w.]+)((?: \w+)*) -->$', re.MULTILINE)
ITEM = re.compile(r'^(\S.*)\n((?:[ ]+.*\n?|\n(?=[ ]))*)', re.MULTILINE)  # of a docstring
FENCED = re.compile(r'^```.*?^```$', re.MULTILINE | re.DOTALL)


def links(text: str) -> list[str]:
    """Return where a page links to, but for places on the web and on the page itself."""
    return LINK.findall(FENCED.sub('', text))


def on_files(files: Any, config: Any) -> Any:
    """Add the README, and each file of the checkout that a page links to."""
    from mkdocs.structure.files import File

    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    files.append(File.generated(config, OVERVIEW, content=LINK.sub(_from_root, readme)))
    pages = [(ROOT / 'README.md', readme)]
    pages += [(path, path.read_text(encoding='utf-8')) for path in ROOT.glob('doc/*.md')]
    outside = set()
    for page, text in pages:
        for link in links(text):
            path = (page.parent / link).resolve()
            if path.is_file() and ROOT / 'doc' not in path.parents and path.name != 'README.md':
                outside.add(path)
    for path in sorted(outside):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def _from_root(found: re.Match[str]) -> str:
    """Return a link of the README as one from the folder doc/."""
    return found[1].removeprefix('doc/')


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with its links as they are on the site, and with the names it asks for."""
    if page.file.src_uri == OVERVIEW:
        return markdown

    def on_site(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join('doc', found[1]))
        if path == 'README.md':
            return OVERVIEW
        return found[1] if path.startswith('doc/') else path

    return MARKER.sub(
        lambda found: reference(found[1], found[2].split()), LINK.sub(on_site, markdown)
    )


# --- names and signatures ---------------------------------------------------------------------


def public(module: Any) -> list[str]:
    """Return the classes and functions of a module: those it lists, or defines."""
    if hasattr(module, '__all__'):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
        and not name.startswith('_')
    ]


def reference(module_name: str, names: list[str]) -> str:
    """Return the names of a module as Markdown."""
    module = import_module(module_name)
    return '\n\n'.join(described(name, getattr(module, name)) for name in names or public(module))


def signature(name: str, thing: Any) -> str:
    """Return name and signature; long ones have a line for each parameter."""
    try:
        found = inspect.signature(thing)
    except ValueError:  # an exception without an __init__ of its own
        return name
    parts = [_parameter(one) for one in found.parameters.values()]
    kinds = [one.kind for one in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), '*')
    back = found.return_annotation
    gives = '' if inspect.isclass(thing) or back is found.empty else f' -> {_text(back)}'
    line = f'{name}({", ".join(parts)}){gives}'
    if len(line) <= 80:
        return line
    inside = ''.join(f'    {part},\n' for part in parts)
    return f'{name}(\n{inside}){gives}'


def _parameter(one: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: '*', inspect.Parameter.VAR_KEYWORD: '**'}
    text = stars.get(one.kind, '') + one.name
    if one.annotation is not one.empty:
        text += f': {_text(one.annotation)}'
    if one.default is not one.empty:
        text += f' = {_default(one.default)}'
    return text


def _text(annotation: Any) -> str:
    """Return an annotation as it was written, on any version of Python."""
    if isinstance(annotation, str):
        return annotation
    if hasattr(annotation, '__forward_arg__'):
        return str(annotation.__forward_arg__)
    return 'None' if annotation is None else getattr(annotation, '__name__', str(annotation))


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value)
    if callable(value) or repr(value) == '<factory>':  # the latter of a dataclass
        return '...'
    is_made = is_dataclass(value) or hasattr(value, '_fields')
    return f'{type(value).__name__}(...)' if is_made else repr(value)


def described(name: str, thing: Any) -> str:
    """Return one class or function: heading, signature, docstring, fields, methods."""
    is_class = inspect.isclass(thing)
    parts = [f'### {name}', _fence(signature(name, thing)), docstring(thing)]
    if is_class:
        rows = [row for row in fields(thing) if row[2]]
        if rows:
            head = '| field | type | what it is |\n|---|---|---|\n'
            parts.append(head + '\n'.join(f'| `{a}` | {_cell(b)} | {c} |' for a, b, c in rows))
        for method, of in methods(thing):
            is_property = isinstance(of, (property, cached_property))
            told = _property(method, of) if is_property else signature(method, of)
            told = told.replace('(self, ', '(')
            told = told.replace('(self)', '()').replace('(\n    self,\n', '(\n')
            # No heading, or the contents would be longer than the screen.
            parts.append(f'**{name}.{method}**')
            parts += [_fence(told), docstring(of)]
    return '\n\n'.join(part for part in parts if part)


def _property(name: str, of: Any) -> str:
    made_by = of.func if isinstance(of, cached_property) else of.fget
    back = inspect.signature(made_by).return_annotation
    return name if back is inspect.Signature.empty else f'{name}: {_text(back)}'


def _fence(code: str) -> str:
    return f'```py\n{code}\n```'


def _cell(code: str) -> str:
    return f'<code>{code}</code>'.replace('|', '&#124;')


def methods(thing: type) -> Iterator[tuple[str, Any]]:
    """Return the public methods and properties that a class defines itself."""
    for name, value in vars(thing).items():
        if not name.startswith('_') and (
            inspect.isfunction(value) or isinstance(value, (property, cached_property))
        ):
            yield name, value


def fields(thing: type) -> list[tuple[str, str, str]]:
    """Return the annotated fields of a class: name, type and the text that stands below."""
    body = ast.parse(inspect.cleandoc('\n' + inspect.getsource(thing))).body[0].body  # type: ignore[attr-defined]
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = ''
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = _prose(inspect.cleandoc(str(after.value.value)))
            if not node.target.id.startswith('_'):
                found.append((node.target.id, ast.unparse(node.annotation), _line(text)))
    return found


def _line(text: str) -> str:
    return ' '.join(text.split()).replace('|', '&#124;')


def docstring(thing: Any) -> str:
    """Return a docstring of numpy's form as Markdown."""
    text = inspect.getdoc(thing) or ''
    sections = re.split(r'^(\w+)\n-+\n', text, flags=re.MULTILINE)
    parts = [_prose(sections[0].strip())]
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        items = re.findall(
            r'^(\S.*)\n((?:[ ]+.*\n?|\n(?=[ ]))*)', body.strip() + '\n', re.MULTILINE
        )
        lines = []
        for head, rest in items:
            first, colon, more = head.partition(' : ')
            told = ', '.join(f'`{x.strip()}`' for x in first.split(','))
            more += '.' if more and rest.strip() and more[-1] not in '.;:,' else ''
            words = _line(_prose(f'{more} {rest}'.strip()))
            lines.append(f'- {told}: {words}' if colon or words else f'- {told}')
        parts.append(f'{title}:\n\n' + '\n'.join(lines))
    return '\n\n'.join(parts)


def _prose(text: str) -> str:
    """Return text whose code is marked as Markdown has it."""
    return re.sub(r'``(.+?)``', r'`\1`', text).replace('<', '&lt;')
