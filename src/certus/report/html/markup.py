"""HTML by hand: text is always escaped, and controls in it are made visible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from certus.core.diagnostic import Span
from certus.report.diagnostics import printable


def text(words: str) -> str:
    """`words` as they are, whatever they contain. Signs that change the direction of text are not obeyed."""
    if not (words.isascii() and words.isprintable()):
        words = "\n".join(map(printable, words.split("\n")))
    return escape(words)


def code(words: str) -> str:
    return f"<code>{text(words)}</code>"


def sentence(words: str) -> str:
    """A sentence in which `this` and flags are code, and lines are links."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return _plain(words)
    return "".join(code(part) if n % 2 else _plain(part) for n, part in enumerate(parts))


def _plain(words: str) -> str:
    flagged = re.sub(r"(?<![\w-])--[a-z][\w-]*(?: \w[\w.=]*(?:,\w+)*)?", r"<code>\g<0></code>", text(words))
    return re.sub(r"\bline (\d+)\b", r'<a class="go" href="#L\1">line \1</a>', flagged)


def data(name: str, content: Any) -> str:
    """Data for the script. Nothing in it can end the element, or look like the begin of another."""
    words = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    harmless = words.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{harmless}</script>'


def line_link(span: Span | None, file: str) -> str:
    """A link to a line of the source that is shown; of another file, only its name."""
    if span is None:
        return ""
    if span.file != file:
        return f'<span class="elsewhere">{text(f"{span.file}:{span.line}")}</span>'
    return f'<a class="go" href="#L{span.line}">line {span.line}</a>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of cells that are HTML already; columns of numbers are told apart by their heads' `#`."""
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
