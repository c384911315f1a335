"""One HTML file: no script, nothing from outside, made for paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

CSS = """
@page { size: A4; margin: 18mm 20mm; }
html { color: #111; background: #fff; font: 10.5pt/1.45 "DejaVu Sans", Verdana, sans-serif; }
body { max-width: 170mm; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.55em; line-height: 1.2; margin: 0 0 .2em; overflow-wrap: anywhere; }
h2 { font-size: 1.1em; margin: 1.8em 0 .5em; border-bottom: 1px solid #999; }
p.small { font-size: .86em; color: #333; margin: .4em 0; break-after: avoid; }
p.sub { margin: 0 0 1.2em; color: #555; }
table { border-collapse: collapse; width: 100%; font-size: .86em; }
th, td { text-align: left; vertical-align: top; padding: .18em .8em .18em 0; }
tr + tr > * { border-top: 1px solid #ddd; }
thead th { border-bottom: 1px solid #666; font-weight: 600; }
tbody th { font-weight: 400; color: #555; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { overflow-wrap: anywhere; }
th:last-child, td:last-child { padding-right: 0; }
table.head th { width: 8em; }
ul { margin: .3em 0; padding-left: 1.2em; }
li { margin: .15em 0; }
figure { margin: 1.4em 0 2em; break-inside: avoid; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .86em; color: #333; margin-top: .4em; }
figcaption b { color: #111; }
@media print {
  html { font-size: 9.5pt; }
  body { margin: 0; padding: 0; max-width: none; }
  h2 { break-after: avoid; }
  tr, li { break-inside: avoid; }
  thead { display: table-header-group; }
}
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    """Return a table; ``numbers`` are the columns that are set right."""
    of = [' class="n"' if i in numbers else '' for i in range(len(head))]
    parts = [f'<th{c}>{escape(x)}</th>' for x, c in zip(head, of, strict=True)]
    text = f'<table>\n<thead><tr>{"".join(parts)}</tr></thead>\n<tbody>\n'
    for row in rows:
        cells = [f'<td{c}>{escape(x)}</td>' for x, c in zip(row, of, strict=True)]
        text += f'<tr>{"".join(cells)}</tr>\n'
    return f'{text}</tbody>\n</table>\n'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values."""
    rows = [f'<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>' for a, b in pairs]
    return '<table class="head">\n<tbody>\n' + '\n'.join(rows) + '\n</tbody>\n</table>\n'


def items(texts: Iterable[str]) -> str:
    """Return a list."""
    return '<ul>\n' + ''.join(f'<li>{escape(x)}</li>\n' for x in texts) + '</ul>\n'


def paragraph(text: str) -> str:
    """Return a small paragraph."""
    return f'<p class="small">{escape(text)}</p>\n'


def section(title: str, body: str) -> str:
    """Return a part of the page."""
    return f'<h2>{escape(title)}</h2>\n{body}'


def figure(number: int, picture: Any) -> str:
    """Return a figure with its caption."""
    return (
        f'<figure id="{escape(picture.key)}">\n{picture.svg(number)}\n<figcaption><b>Figure '
        f'{number}. {escape(picture.title)}.</b> {escape(picture.caption)}</figcaption>\n'
        '</figure>\n'
    )


def page(title: str, sub: str, parts: Iterable[str]) -> str:
    """Return the whole."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n'
        f'<h1>{escape(title)}</h1>\n<p class="sub">{escape(sub)}</p>\n'
        + ''.join(parts)
        + '</body>\n</html>\n'
    )
