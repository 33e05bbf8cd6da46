"""Build HTML: text is always escaped, and control characters in it are made visible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape

from certus.core.diagnostic import Span
from certus.report.text import printable

Key = int | str


def text(words: str) -> str:
    """Escape text; control characters, also those that change the direction of text, are replaced."""
    if not (words.isascii() and words.isprintable()):
        words = "\n".join(map(printable, words.split("\n")))
    return escape(words)


def code(words: str) -> str:
    """Return text as code."""
    return f"<code>{text(words)}</code>"


def sentence(words: str) -> str:
    """Return a sentence with text in backquotes and flags as code, and lines as links."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return _plain(words)
    return "".join(code(part) if n % 2 else _plain(part) for n, part in enumerate(parts))


def _plain(words: str) -> str:
    flagged = re.sub(r"(?<![\w-])--[a-z][\w-]*(?: \w[\w.=]*(?:,\w+)*)?", r"<code>\g<0></code>", text(words))
    return re.sub(r"\bline (\d+)\b(?! of \w)", r'<a class="go" href="#L\1">line \1</a>', flagged)


def data(name: str, content: object) -> str:
    """Return data for the script. Nothing in it can end the element or start another one."""
    words = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    escaped = words.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{escaped}</script>'


def line_key(span: Span | None, files: Sequence[str]) -> Key:
    """Return the identifier of a line on the page: its number, preceded by the number of the file except for
    the first file; 0 for a line that is not shown."""
    if span is None or span.file not in files:
        return 0
    number = list(files).index(span.file)
    return f"{number + 1}.{span.line}" if number else span.line


def line_link(span: Span | None, files: Sequence[str]) -> str:
    """Return a link to a line of the source, or the name of the place if the page does not show it."""
    if span is None:
        return ""
    key, place = line_key(span, files), f"{span.file}:{span.line}"
    if not key:
        return f'<span class="elsewhere">{text(place)}</span>'
    words = f"line {span.line}" if span.file == files[0] else text(place)
    return f'<a class="go" href="#L{key}">{words}</a>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of HTML cells; a `#` before the head of a column marks a column of numbers."""
    numeric = [head.startswith("#") for head in heads]
    marks = [' class="number"' if n else "" for n in numeric]
    top = "".join(
        f'<th scope="col"{mark}>{text(head.removeprefix("#"))}</th>'
        for head, mark in zip(heads, marks, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(f'<td{mark}>{cell}</td>' for cell, mark in zip(row, marks, strict=True))}</tr>\n"
        for row in rows
    )
    style = f' class="{kind}"' if kind else ""
    return f"<table{style}><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table>"
