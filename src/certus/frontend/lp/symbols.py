"""Collect the top-level declarations of a program: globals with their values, and procedures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.terms import BOOL, INT, REAL, Expr, Sort
from certus.frontend.lp import ast
from certus.frontend.lp.expressions import Elaborator
from certus.frontend.lp.messages import Findings

SORTS: Final[Mapping[str, Sort]] = {"int": INT, "bool": BOOL, "real": REAL}


@dataclass(frozen=True, slots=True)
class Signature:
    """The sorts of the parameters and results of a procedure."""

    parameters: tuple[Sort, ...]
    results: tuple[Sort, ...]


@dataclass(slots=True)
class Symbols:
    """The top-level symbols. `initial` has the globals with an initial value, `free` those declared with
    neither a value nor `*`, and `procedures` the first definition of each name."""

    globals: dict[str, Expr] = field(default_factory=dict)
    initial: dict[Expr, Expr] = field(default_factory=dict)
    free: list[Expr] = field(default_factory=list)
    procedures: dict[str, ast.ProcedureDefinition] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)


class _Constants:
    """The scope of initial values, which must not refer to variables."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def variable(self, name: ast.Name) -> None:
        self._refuse(name, f"The initial value of a global must be constant, but refers to `{name.name}`.")

    def any_value(self, star: ast.Nondet, sort: Sort) -> None:
        message = "A nondeterministic value must be the whole initial value, not a part of it."
        self._refuse(star, message)

    def invocation(self, call: ast.Invocation) -> None:
        self._refuse(call, "The initial value of a global must be constant, but calls a procedure.")

    def sort_of(self, name: str) -> None:
        return None

    def _refuse(self, node: ast.Node, message: str) -> None:
        hint = "Assign the value at the beginning of `main`."
        self._findings.error("not-constant", message, node.start, node.end, hint)


def collect(program: ast.ProgramText, findings: Findings) -> Symbols:
    """Return the declarations of a program; report duplicates and a missing `main`."""
    symbols = Symbols()
    for unit in program.units:
        if isinstance(unit, ast.Declaration):
            for declarator in unit.declarators:
                _declare_global(SORTS[unit.type], declarator, symbols, findings)
        else:
            _declare_procedure(unit, symbols, findings)
    if "main" not in symbols.procedures:
        findings.error(
            "missing-main",
            "The program has no procedure `main`.",
            0,
            0,
            "Execution starts there: add `void main() { ... }`.",
        )
    return symbols


def _taken(name: str, symbols: Symbols) -> str | None:
    if name in symbols.globals:
        return "a global variable"
    return "a procedure" if name in symbols.procedures else None


def _declare_global(sort: Sort, declarator: ast.Declarator, symbols: Symbols, findings: Findings) -> None:
    name, start = declarator.name, declarator.start
    taken = _taken(name, symbols)
    if taken:
        message = f"`{name}` is declared twice: it is already {taken}."
        findings.error("duplicate-declaration", message, start, start + len(name), "Choose another name.")
    variable = build.var(name, sort)
    if not taken:
        symbols.globals[name] = variable
    if declarator.value is None:
        symbols.free.append(variable)
    elif not isinstance(declarator.value, ast.Nondet):
        value = Elaborator(_Constants(findings), findings).elaborate(declarator.value, sort)
        for division, guard in value.divisions:
            if guard is build.FALSE:
                message, hint = "This initial value divides by zero.", "Write another constant."
                findings.error("division-by-zero", message, division.start, division.end, hint)
        symbols.initial[variable] = value.term


def _declare_procedure(unit: ast.ProcedureDefinition, symbols: Symbols, findings: Findings) -> None:
    taken = _taken(unit.name, symbols)
    if taken:
        message = f"`{unit.name}` is declared twice: it is already {taken}."
        end = unit.name_start + len(unit.name)
        findings.error("duplicate-declaration", message, unit.name_start, end, "Choose another name.")
        return
    symbols.procedures[unit.name] = unit
    symbols.signatures[unit.name] = Signature(
        tuple(SORTS[p.type] for p in unit.parameters), tuple(SORTS[r] for r in unit.results)
    )
