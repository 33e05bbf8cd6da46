"""Short ways to load programs of the small language in tests."""

from __future__ import annotations

import pytest

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.program import Edge, Procedure, Program
from certus.frontend.lp import load_lp


def load(text: str, property_name: str = "unreach-call") -> Program:
    return load_lp(text, "t.lp", property_name).program


def main_of(body: str, property_name: str = "unreach-call") -> Procedure:
    """The procedure `main` with this body."""
    return load(f"void main() {{ {body} }}", property_name).procedures["main"]


def steps(procedure: Procedure) -> list[tuple[int, str, int]]:
    """Every edge as source, text and target; locations are counted from the entry."""
    return [(_place(e, 0), _marked(e), _place(e, 1)) for e in procedure.edges]


def _place(edge: Edge, side: int) -> int:
    return (edge.source, edge.target)[side].index


def _marked(edge: Edge) -> str:
    return edge.text if edge.branch is None else f"{edge.text} {'+' if edge.branch else '-'}"


def errors_of(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(InputError) as caught:
        load_lp(text, "t.lp")
    return caught.value.diagnostics


def located(diagnostics: tuple[Diagnostic, ...]) -> list[tuple[str, str]]:
    """Code and position of each diagnostic, as `line:column-column` or `line:column`."""
    positions = []
    for diagnostic in diagnostics:
        span = diagnostic.span
        assert span is not None
        end = f"-{span.end_column}" if span.end_line == span.line else ""
        positions.append((diagnostic.code, f"{span.line}:{span.column}{end}"))
    return positions


def warnings_of(text: str) -> list[tuple[str, str]]:
    return located(load_lp(text, "t.lp").warnings)
