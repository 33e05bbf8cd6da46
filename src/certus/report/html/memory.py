"""The object that an invalid access means: its bytes with the accessed ones, where it began and where it
ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core.memory_defects import DefectKind, DefectObject, MemoryDefect
from certus.core.program import Program
from certus.report.html.markup import code, line_link, table
from certus.report.outcome_view import counted

_WIDTH: Final = 360  # of the figure, in pixels
_HEIGHT: Final = 34
_LEAST: Final = 4  # pixels of a range that is not empty


def panel(defect: MemoryDefect | None, program: Program, files: Sequence[str]) -> str:
    """Return the part about the object; empty if there is none."""
    if defect is None or defect.object is None:
        return ""
    target = defect.object

    def place(edge: int | None) -> str:
        span = program.edge[edge].span if edge is not None and edge in program.edge else None
        return line_link(span, files)

    rows = [("object", code(target.name)), ("size", counted(target.size, "byte"))]
    begin, end = ("allocated", "freed") if target.storage == "heap" else ("declared", "out of scope")
    rows += [(begin, place(target.allocated)), (end, place(target.ended))]
    if defect.lost is not None:
        rows.append(("last pointer lost", place(defect.lost.edge)))
    if defect.size:
        rows.append((defect.question, f"{counted(defect.size, 'byte')} at offset {defect.offset:,}"))
    shown = [row for row in rows if row[1]]
    figure = "" if defect.kind in (DefectKind.LOST, DefectKind.NOT_FREED) else _figure(defect, target)
    return f'<section class="object">\n<h2>Object</h2>\n{figure}{table(("", ""), shown)}</section>\n'


def _figure(defect: MemoryDefect, target: DefectObject) -> str:
    """Return a bar for the bytes of the object, and below it one for the accessed bytes."""
    length = max(defect.size, 1)
    low, high = min(0, defect.offset), max(target.size, defect.offset + length)
    margin = max((high - low) // 10, 1)
    low, high = low - margin, high + margin

    def bar(start: int, size: int, top: int, kind: str) -> str:
        x = (start - low) * _WIDTH / (high - low)
        width = max(size * _WIDTH / (high - low), _LEAST if size else 0)
        return f'<rect class="{kind}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="14"/>'

    label = f"bytes 0 to {target.size} of the object; the access is at {defect.offset}"
    life = "bytes" if target.ended is None else "bytes ended"
    return (
        f'<svg class="object" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
        f"{bar(0, target.size, 1, life)}{bar(defect.offset, length, 18, 'access')}</svg>\n"
    )
