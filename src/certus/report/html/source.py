"""Render the source as HTML: one element for each line, with notes between the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from certus.report.html.markup import Key, text

COLOURED: Final = 6000  # lines; a longer source has no syntax colours
WHOLE: Final = 20_000  # lines; of a longer source only parts around marked lines are shown
AROUND: Final = 200  # lines before and after a marked line
CHUNK: Final = 500  # lines that a browser renders together, when they become visible
_CHUNK: Final = '<div class="chunk">'
_END_CHUNK: Final = "</div>"

_C: Final = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while _Bool"
)
_LP: Final = "int bool void if else while goto return assert assume true false unknown skip"
_SMT: Final = (
    "set-logic set-info set-option declare-fun declare-rel declare-var declare-datatypes define-fun assert "
    "rule query check-sat get-model exit forall exists let and or not ite"
)
_TOKEN: Final = r"""(?P<i>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<s>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|"""
_DIRECTIVE: Final = r"(?P<p>^[ \t]*\#[^\n]*?(?=//|/\*|$))|"


def pattern(file: str) -> re.Pattern[str] | None:
    """Return the pattern for comments, strings, directives and keywords of a file's language."""
    suffix = PurePath(file).suffix.lower()
    if suffix == ".smt2":
        return re.compile(rf"(?P<i>;[^\n]*)|(?P<b>(?<=\()(?:{_SMT.replace(' ', '|')})(?![\w-]))")
    words = _LP if suffix == ".lp" else _C
    directive = "" if suffix == ".lp" else _DIRECTIVE
    keywords = "|".join(words.split())
    return re.compile(rf"{_TOKEN}{directive}(?P<b>\b(?:{keywords})\b)", re.MULTILINE | re.DOTALL)


_OPEN: Final = {"i": "<i>", "b": "<b>", "s": '<span class="s">', "p": '<span class="p">'}
_CLOSE: Final = {"i": "</i>", "b": "</b>", "s": "</span>", "p": "</span>"}


def coloured_lines(source: str, file: str) -> list[str]:
    """Return the lines of a source as HTML, without carriage returns at their ends."""
    source = source.replace("\r\n", "\n")
    tokens = pattern(file)
    if tokens is None or source.count("\n") > COLOURED:
        return [text(line) for line in source.split("\n")]
    pieces: list[str] = []
    at = 0
    for match in tokens.finditer(source):
        kind = match.lastgroup or "b"
        pieces.append(text(source[at : match.start()]))
        at = match.end()
        inside = text(match[0]).replace("\n", f"{_CLOSE[kind]}\n{_OPEN[kind]}")
        pieces.append(f"{_OPEN[kind]}{inside}{_CLOSE[kind]}")
    pieces.append(text(source[at:]))
    return "".join(pieces).split("\n")


@dataclass(frozen=True, slots=True)
class Notes:
    """HTML notes by line (`markup.line_key`): above a line, what holds before it; all others below it."""

    above: Mapping[Key, list[str]]
    below: Mapping[Key, list[str]]


def listing(source: str, file: str, notes: Notes, marked: Mapping[Key, str], number: int = 1) -> str:
    """Render a source with notes between its lines; `marked` gives lines an additional class. `number` is the
    number of the file on the page."""
    lines = coloured_lines(source, file)
    if lines and not lines[-1]:
        lines.pop()
    return (
        "".join(_listed(lines, notes, marked, number)) if lines else '<p class="gap">There is no source.</p>'
    )


def _listed(lines: Sequence[str], notes: Notes, marked: Mapping[Key, str], file: int) -> Iterator[str]:
    shown = _shown(len(lines), set(_own_lines({*notes.above, *notes.below, *marked}, file)))
    yield '<div class="source">'
    before = 0  # the last line shown
    for number, line in enumerate(lines, 1):
        if shown is not None and number not in shown:
            continue
        if number % CHUNK == 1 and len(lines) > CHUNK:
            yield f"{_END_CHUNK if number > CHUNK else ''}{_CHUNK}"
        yield _gap(number - 1 - before)
        before = number
        key: Key = number if file == 1 else f"{file}.{number}"
        yield from notes.above.get(key, ())
        kind = f" {marked[key]}" if key in marked else ""
        yield f'<div class="line{kind}" id="L{key}"><a class="no" href="#L{key}">{number}</a>'
        yield f"<code>{line}</code></div>\n"
        yield from notes.below.get(key, ())
    yield f"{_gap(len(lines) - before)}{_END_CHUNK if len(lines) > CHUNK else ''}</div>"


def _own_lines(keys: set[Key], file: int) -> Iterator[int]:
    """Yield the lines of one file among the keys."""
    for key in keys:
        if isinstance(key, int) and file == 1:
            yield key
        elif isinstance(key, str) and key.startswith(f"{file}."):
            yield int(key.partition(".")[2])


def _gap(count: int) -> str:
    return f'<p class="gap">{count:,} lines are not shown</p>' if count else ""


def _shown(count: int, interesting: set[int]) -> set[int] | None:
    """Return the lines to show; None for all."""
    if count <= WHOLE:
        return None
    around = {1, *interesting}
    return {near for line in around for near in range(line - AROUND, line + AROUND + 1)}
