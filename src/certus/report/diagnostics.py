"""Render diagnostics as text: `file:line:col: error[code]: sentence`, the source line, a caret, a hint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity, Span

_WIDTH: Final = 100  # columns shown of a source line
_CODES: Final = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "grey": "90",
    "bold": "1",
}
_SEVERITY_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours text for a terminal; a plain palette (the default) leaves text unchanged."""

    coloured: bool = False

    def paint(self, text: str, colour: str) -> str:
        """Return the text in a colour."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.coloured and text else text


PLAIN: Final = Palette()


def render_diagnostic(
    diagnostic: Diagnostic,
    source: str | None = None,
    *,
    palette: Palette = PLAIN,
    label: str | None = None,
    colour: str | None = None,
) -> str:
    """Render a diagnostic. `label` replaces the severity, `source` is the text that the span points into."""
    word = palette.paint(
        f"{label or diagnostic.severity.value}[{diagnostic.code}]",
        colour or _SEVERITY_COLOURS[diagnostic.severity],
    )
    place = "" if diagnostic.span is None else f"{diagnostic.span}: "
    lines = [f"{place}{word}: {printable(diagnostic.message)}"]
    if diagnostic.span is not None and source is not None:
        lines += excerpt(diagnostic.span, source, palette)
    if diagnostic.hint is not None:
        lines.append(f"  {palette.paint('hint', 'blue')}: {printable(diagnostic.hint)}")
    return "\n".join(lines)


def excerpt(span: Span, source: str, palette: Palette = PLAIN) -> list[str]:
    """Return the first source line of a span and a line that marks the part it covers."""
    lines = source.split("\n")
    if not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1].rstrip("\r")
    start = min(max(span.column - 1, 0), len(line))
    stop = min(span.end_column - 1, len(line)) if span.end_line == span.line else len(line.rstrip())
    first = max(0, start - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = printable(line[first : first + _WIDTH])
    # A tab below a tab keeps the caret in its column, independent of the terminal's tab stops.
    blanks = "".join("\t" if c == "\t" else " " for c in shown[: start - first])
    marks = "^" + "~" * max(0, min(stop, first + _WIDTH) - start - 1)
    number = f"{span.line:>5} | "
    gutter = " " * (len(number) - 2) + "| "
    return [
        palette.paint(number, "grey") + shown,
        palette.paint(gutter, "grey") + blanks + palette.paint(marks, "green"),
    ]


def printable(text: str) -> str:
    """Replace control characters, which could move the cursor of a terminal."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
