"""What an outcome says, before it is laid out, in the user's terms: source names, lines and C expressions.

Counterexamples are in `certus.report.steps`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from certus.core.ctext import c_text
from certus.core.diagnostic import Span
from certus.core.effects import terms
from certus.core.evidence import (
    Inductive,
    KInductive,
    Partitioned,
    Point,
    Proof,
    Standing,
    Unrolling,
    stands_for,
)
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.memory import uses_memory
from certus.core.outcome import Outcome, Step
from certus.core.program import Alloc, Edge, Free, Havoc, Location, Op, Program
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Kind, Value
from certus.core.values import ArrayValue, Datum
from certus.core.verdict import Safe, Unsafe
from certus.core.walk import postorder, variables

_READABLE_BITS: Final = 2000
_NUMBERED: Final = re.compile(r"(?<=.)\$\d[\d.]*$")
INPUT: Final = "*"  # the name of a nondeterministic value that the source does not give to a variable
RESULT: Final = "(result)"  # the name of what a procedure returns


@dataclass(frozen=True, slots=True)
class Invariant:
    """A formula that always holds at a place; `calls` are the lines of the calls that lead there."""

    location: Location
    calls: tuple[int, ...]
    formula: str
    conjuncts: tuple[str, ...]  # the formula in parts

    @property
    def span(self) -> Span | None:
        return self.location.loop or self.location.span


@dataclass(frozen=True, slots=True)
class Bound:
    """How often at most a loop head is entered, or how deep a procedure (`span` None) recurses."""

    name: str
    span: Span | None
    count: int


def file_of(outcome: Outcome) -> str:
    return outcome.subject.file or "<input>"


def function_name(procedure: str) -> str:
    """The name of a function in its file: if several files have one of this name, `$` and a number follow."""
    return _NUMBERED.sub("", procedure)


def files_of(outcome: Outcome) -> list[str]:
    """The files that were verified; there are several of a program in several units."""
    others = outcome.subject.others if isinstance(outcome.subject, Program) else ()
    return [outcome.subject.file, *(each.file for each in others)]


def title_of(outcome: Outcome) -> str:
    """The names of all files."""
    return ", ".join(files_of(outcome)) or "<input>"


def nothing_to_check(outcome: Outcome) -> str:
    """The sentence about a program in which nothing was asked; empty for all others."""
    if not outcome.vacuous:
        return ""
    if outcome.property_name in _NOTHING_ASKED:
        missing = _NOTHING_ASKED[outcome.property_name]
    elif outcome.error_function is not None:
        missing = f"no call of {outcome.error_function}"
    elif outcome.subject.file.lower().endswith(".lp"):
        missing = "no assertion or error label"
    else:
        missing = "no assertion or error call"
    return f"nothing to check: {missing} is reachable from main"


_NOTHING_ASKED: Final = {
    "no-overflow": "no signed arithmetic that could overflow",
    "no-div-zero": "no division that could be by zero",
}


def total_seconds(outcome: Outcome) -> float:
    return outcome.seconds.get("total", sum(outcome.seconds.values()))


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def value_text(value: Datum) -> str:
    if isinstance(value, ArrayValue):
        return repr(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_vast(value):
        return f"{'-' if value < 0 else ''}(about 2**{abs(int(value)).bit_length()})"
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{value.numerator}/{value.denominator}"
    return str(value)


def is_vast(value: Datum) -> bool:
    """Whether the number has too many digits to be read, or to be printed in decimal at all."""
    return isinstance(value, int) and value.bit_length() > _READABLE_BITS


# ------------------------------------------------------------------------------------------ names


class Names:
    """The user's names for the variables of a program and of the formulas about it."""

    __slots__ = ("_by_name", "_results", "_source")

    def __init__(self, program: Program) -> None:
        own = (*program.globals, *(v for p in program.procedures.values() for v in p.variables))
        self._source = program.source_names
        self._by_name = {v.name: v for v in own}
        self._results = frozenset(v for p in program.procedures.values() for v in p.results)

    def of(self, variable: Expr) -> str:
        return self._source.get(variable, variable.name)

    def known(self, variable: Expr) -> str | None:
        """The name a user gave, or that of a result; None for other variables of ours."""
        return self._source.get(variable, RESULT if variable in self._results else None)

    def values(self, changes: Iterable[tuple[Expr, Value]]) -> tuple[tuple[str, Value], ...]:
        """The changes a user can know of: not those of variables of ours, but for results."""
        named = ((self.known(v), value) for v, value in changes)
        return tuple((name, value) for name, value in named if name is not None)

    def changes(self, edge: Edge, step: Step) -> tuple[tuple[str, Value], ...]:
        named = ((self.written(edge, v), value) for v, value in step.changes)
        return tuple((name, value) for name, value in named if name is not None)

    def written(self, edge: Edge, variable: Expr) -> str | None:
        """What a user calls the variable that a step has written; None if it is ours."""
        if isinstance(edge.op, Havoc):
            function = edge.op.function or "$"  # a name with `$` is not the user's
            return self._source.get(variable, INPUT if function.startswith("$") else f"{function}()")
        return self.known(variable)

    def formula(self, formula: Expr) -> str:
        """A formula of a proof as C text."""
        return c_text(formula, names=self._chosen(formula))

    def conjuncts(self, formula: Expr) -> tuple[str, ...]:
        """The parts of a formula, each as C text, under the names they have in the whole."""
        names = self._chosen(formula)
        parts = formula.args if formula.kind is Kind.AND else (formula,)
        return tuple(c_text(part, names=names) for part in parts)

    def _chosen(self, formula: Expr) -> dict[Expr, str]:
        """Names for the variables of a formula. Where plain ones would clash, the procedure's stands in
        front, and the frame's number behind."""
        chosen: dict[Expr, str] = {}
        taken: set[str] = set()
        for variable in variables(formula):
            found = stands_for(variable, self._by_name) or Standing(variable)
            for candidate in (self.of(found.variable), found.variable.name):
                name = f"old({candidate})" if found.is_old else candidate
                if name not in taken:
                    break
            else:
                name = variable.name
            chosen[variable] = name
            taken.add(name)
        return chosen


# ----------------------------------------------------------------------------------------- proofs


def invariants(proof: Proof, program: Program) -> tuple[Invariant, ...]:
    """The formulas of an inductive proof, in program order."""
    if not isinstance(proof, (Inductive, KInductive)):
        return ()
    names = Names(program)
    ordered = sorted(proof.invariants.items(), key=lambda item: (item[0].location.index, item[0].calls))
    return tuple(
        Invariant(
            point.location,
            _call_lines(point, program),
            names.formula(formula),
            names.conjuncts(formula),
        )
        for point, formula in ordered
    )


def _call_lines(point: Point, program: Program) -> tuple[int, ...]:
    """The lines of the calls that lead to a point; what calls the user's main procedure has none."""
    edges = (program.edge[index] for index in point.calls if index in program.edge)
    spans = (edge.span for edge in edges if not edge.source.procedure.startswith("$"))
    return tuple(span.line for span in spans if span is not None)


def summaries(proof: Proof, program: Program) -> tuple[tuple[str, str], ...]:
    """What a proof claims of whole procedures: (name, formula)."""
    if not isinstance(proof, Inductive):
        return ()
    names = Names(program)
    return tuple((name, names.formula(f)) for name, f in sorted(proof.summaries.items()))


def bounds(proof: Proof, program: Program) -> tuple[tuple[Bound, ...], tuple[Bound, ...]]:
    """The bounds of an unrolling: of loops, in program order, and of recursive procedures."""
    if not isinstance(proof, Unrolling):
        return (), ()
    loops = []
    for name, count in proof.loops.items():
        at = program.location[name]
        loops.append((at.index, Bound(name, at.loop or at.span, count)))
    recursion = [Bound(name, None, count) for name, count in sorted(proof.recursion.items())]
    return tuple(bound for _, bound in sorted(loops, key=lambda item: item[0])), tuple(recursion)


def relations(proof: Proof) -> tuple[tuple[str, str], ...]:
    """The relations of a model of Horn clauses: (head, formula)."""
    if not isinstance(proof, Model):
        return ()
    return tuple(
        (f"{function.name}({', '.join(p.name for p in parameters)})", c_text(formula))
        for function, (parameters, formula) in proof.relations.items()
    )


# ---------------------------------------------------------------------------------- refutations


def derivation(outcome: Outcome) -> tuple[tuple[int, tuple[tuple[str, Datum], ...], tuple[int, ...]], ...]:
    """The derivation of a contradiction from Horn clauses: (clause, values, premises) for each step."""
    verdict, system = outcome.verdict, outcome.subject
    if not isinstance(verdict, Unsafe) or not isinstance(verdict.refutation, Derivation):
        return ()
    if not isinstance(system, HornSystem):
        return ()
    return tuple(
        (
            step.clause,
            tuple(
                (v.name, value)
                for v, value in zip(system.clauses[step.clause].variables, step.values, strict=True)
            ),
            step.premises,
        )
        for step in verdict.refutation.steps
    )


def proof_of(outcome: Outcome) -> Proof | None:
    """The proof in terms of the program; how its memory was partitioned is of no interest to a user."""
    proof = outcome.verdict.proof if isinstance(outcome.verdict, Safe) else None
    return proof.proof if isinstance(proof, Partitioned) else proof


def assumptions(outcome: Outcome) -> tuple[str, ...]:
    """What a proof takes for granted."""
    verdict, program = outcome.verdict, outcome.subject
    if not isinstance(verdict, Safe) or not isinstance(program, Program):
        return ()
    ops = [edge.op for edge in program.edge.values()]
    ended = {op.storage for op in ops if isinstance(op, Free)}
    found, observed, compared = [], False, False
    if uses_memory(program) or isinstance(verdict.proof, Partitioned):
        found.append("memory accesses are valid")
    if isinstance(verdict.proof, Partitioned):
        partition = verdict.proof.partition
        observed = any(region.layout == "free" for region in partition.regions)
        compared = observed or _compares(ops, partition.address)
    if any(isinstance(op, Alloc) and op.storage == "heap" for op in ops):
        found.append("allocations succeed")
    if "heap" in ended or (ended and compared):
        found.append("the address of an object that has ended is not used again")
    if observed:
        found.append("no object lies between two that were there before it")
    codes = {each.code for each in outcome.diagnostics}
    if "escaped-address" in codes:
        found.append("functions without a body do not use addresses after they have returned")
    if "evaluation-order" in codes:
        found.append("operands are evaluated in the order of Clang")
    return tuple(found)


def _compares(ops: Iterable[Op], address: MachineSort) -> bool:
    """Whether two addresses, or numbers that may be some, are asked to be equal."""
    roots = (term for op in ops for term in terms(op))
    return any(
        term.kind is Kind.EQ
        and term.args[0].sort in (INT, address)
        and all(side.kind is not Kind.CONST for side in term.args)
        for term in postorder(*roots)
    )
