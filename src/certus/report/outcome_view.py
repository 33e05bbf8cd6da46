"""The contents of an outcome in the user's terms (source names, lines, C expressions), for all report
formats.

Counterexamples are in `certus.report.counterexample`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from certus.core import float_text, floats
from certus.core.c_text import c_text
from certus.core.diagnostic import Span
from certus.core.effects import terms, uses_memory
from certus.core.evidence import (
    Inductive,
    KInductive,
    Partitioned,
    Point,
    Proof,
    Safe,
    Standing,
    Unrolling,
    Unsafe,
    stands_for,
)
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.memory import Partition
from certus.core.outcome import Outcome, ProofCheck, Replay, Step, Undecided, violated_site
from certus.core.program import Alloc, Edge, Free, Havoc, Location, Op, Program
from certus.core.terms import INT, Expr, Kind, MachineSort, Value
from certus.core.values import ArrayValue, Datum
from certus.core.vocabulary import (
    ALLOCATION_FAILS,
    FREE,
    KINDS,
    NO_FUNCTION,
    OTHER_TYPE,
    READ,
    SCAN,
    UNDEFINED_STEP,
    UNINITIALISED,
    WRITE,
    kinds_of,
    operation_of,
)
from certus.core.walk import postorder, variables
from certus.report.memory_names import MemoryNames

_READABLE_BITS: Final = 2000
_CASES: Final = 8  # a disjunction with more cases is long
_SHOWN_CASES: Final = 3  # that are shown of a long one
_NUMBERED: Final = re.compile(r"(?<=.)\$\d[\d.]*$")
INPUT: Final = "*"  # the name of a nondeterministic value that the source assigns to no variable
RESULT: Final = "(result)"  # the name of a procedure's return value


@dataclass(frozen=True, slots=True)
class Invariant:
    """A formula that always holds at a location; `calls` are the lines of the calls that lead there."""

    location: Location
    calls: tuple[int, ...]
    formula: str
    brief: str  # the formula, with only some cases of a long disjunction
    conjuncts: tuple[str, ...]  # the formula in parts

    @property
    def span(self) -> Span | None:
        return self.location.loop or self.location.span


@dataclass(frozen=True, slots=True)
class Bound:
    """The largest number of entries of a loop, or of activations of a recursive procedure (`span` None)."""

    name: str
    span: Span | None
    count: int


def file_of(outcome: Outcome) -> str:
    """Return the name of the first file."""
    return outcome.subject.file or "<input>"


def function_name(procedure: str) -> str:
    """Return the name of a function in its file, without the `$` and number that make it unique."""
    return _NUMBERED.sub("", procedure)


def files_of(outcome: Outcome) -> list[str]:
    """Return the files that were verified: one for each translation unit."""
    others = outcome.subject.others if isinstance(outcome.subject, Program) else ()
    return [outcome.subject.file, *(each.file for each in others)]


def title_of(outcome: Outcome) -> str:
    """Return the names of all files."""
    return ", ".join(files_of(outcome)) or "<input>"


def nothing_to_check(outcome: Outcome) -> str:
    """Return a sentence if no check site is reachable, so that the property holds vacuously; else ''."""
    if not outcome.vacuous:
        return ""
    if outcome.kinds:
        kinds = [outcome.kind] if outcome.kind else outcome.kinds
        missing = joined([KINDS[kind].missing for kind in kinds])
    elif outcome.property_name in _NOTHING_ASKED:
        missing = _NOTHING_ASKED[outcome.property_name]
    elif outcome.error_function is not None:
        missing = f"no call of {outcome.error_function}"
    elif outcome.subject.file.lower().endswith(".lp"):
        missing = "no assertion or error label"
    else:
        missing = "no assertion or error call"
    return f"nothing to check: {missing} is reachable from main"


_NO_ALLOCATION: Final = "no allocation of an object on the heap"
_NOTHING_ASKED: Final = {
    **{each.property: each.missing for each in KINDS.values() if each.property not in ("", "unreach-call")},
    "valid-deref": "no memory access that could be invalid",
    "valid-free": "no call of free that could be invalid",
    "valid-memtrack": _NO_ALLOCATION,
    "valid-memcleanup": _NO_ALLOCATION,
    "array-bounds": "no index that could be outside of its array",
}


def total_seconds(outcome: Outcome) -> float:
    return outcome.seconds.get("total", sum(outcome.seconds.values()))


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 step`, `1,200 steps`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


class FloatBits(int):
    """The bits of a floating-point number of a format."""

    format: str

    def __new__(cls, value: int, format: str) -> FloatBits:
        bits = super().__new__(cls, value)
        bits.format = format
        return bits


def value_text(value: Datum) -> str:
    """Return a value as C programmers write it; very large numbers are abbreviated."""
    if isinstance(value, FloatBits):
        return float_text.shown(floats.FORMATS[value.format], int(value))
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
    """Say whether a number has too many digits to read, or for Python to print in decimal."""
    return isinstance(value, int) and value.bit_length() > _READABLE_BITS


# ------------------------------------------------------------------------------------------ names


class Names:
    """The user's names for the variables of a program and of the formulas about it."""

    __slots__ = ("_by_name", "_formats", "_memory", "_results", "_source")

    def __init__(self, program: Program, partition: Partition | None = None) -> None:
        own = (*program.globals, *(v for p in program.procedures.values() for v in p.variables))
        self._source = program.source_names
        self._formats = program.formats
        self._by_name = {v.name: v for v in own}
        self._memory = None if partition is None else MemoryNames(program, partition, self._by_name)
        self._results = frozenset(v for p in program.procedures.values() for v in p.results)

    def of(self, variable: Expr) -> str:
        added = None if self._memory is None or variable in self._source else self._memory.of(variable)
        return added or self._source.get(variable, variable.name)

    def visible(self, variable: Expr) -> str | None:
        """Return the name in the source, or `RESULT`; None for other internal variables."""
        return self._source.get(variable, RESULT if variable in self._results else None)

    def values(self, changes: Iterable[tuple[Expr, Value]]) -> tuple[tuple[str, Value], ...]:
        """Return the changes of visible variables."""
        named = ((self.visible(v), self._value(v, value)) for v, value in changes)
        return tuple((name, value) for name, value in named if name is not None)

    def changes(self, edge: Edge, step: Step) -> tuple[tuple[str, Value], ...]:
        named = ((self.written(edge, v), self._value(v, value)) for v, value in step.changes)
        return tuple((name, value) for name, value in named if name is not None)

    def _value(self, variable: Expr, value: Value) -> Value:
        """Return a value, marked if it is the bits of a floating-point number."""
        format = self._formats.get(variable)
        return FloatBits(value, format) if format is not None and isinstance(value, int) else value

    def written(self, edge: Edge, variable: Expr) -> str | None:
        """Return the user's name for the variable that a step writes; None if it is internal."""
        if isinstance(edge.op, Havoc):
            function = (edge.op.function or "$").removeprefix(SCAN)  # internal names contain `$`
            return self._source.get(variable, INPUT if function.startswith("$") else f"{function}()")
        return self.visible(variable)

    def formula(self, formula: Expr) -> str:
        """Return a formula of a proof as C text."""
        return c_text(formula, names=self._chosen(formula))

    def brief(self, formula: Expr) -> str:
        """Return a formula of a proof as C text; of a long disjunction only some short cases."""
        if formula.kind is not Kind.OR or len(formula.args) <= _CASES:
            return self.formula(formula)
        names = self._chosen(formula)
        cases = sorted(
            (c_text(case, names=names) for case in formula.args), key=lambda text: (len(text), text)
        )
        return f"{' || '.join(cases[:_SHOWN_CASES])} || ... ({len(cases)} cases; --verbose prints all)"

    def conjuncts(self, formula: Expr) -> tuple[str, ...]:
        """Return the conjuncts of a formula as C text, with the names that the whole formula uses."""
        names = self._chosen(formula)
        parts = formula.args if formula.kind is Kind.AND else (formula,)
        return tuple(c_text(part, names=names) for part in parts)

    def _chosen(self, formula: Expr) -> dict[Expr, str]:
        """Choose names for the variables of a formula. Where source names clash, internal names are used,
        which contain the procedure and the frame."""
        chosen: dict[Expr, str] = {}
        taken: set[str] = set()
        for variable in variables(formula):
            standing = stands_for(variable, self._by_name) or Standing(variable)
            for candidate in (self.of(standing.variable), standing.variable.name):
                name = f"old({candidate})" if standing.is_old else candidate
                if name not in taken:
                    break
            else:
                name = variable.name
            chosen[variable] = name
            taken.add(name)
        return chosen


# ----------------------------------------------------------------------------------------- proofs


def invariants(outcome: Outcome) -> tuple[Invariant, ...]:
    """Return the formulas of an inductive proof, in program order."""
    proof, program = proof_of(outcome), outcome.subject
    if not isinstance(proof, (Inductive, KInductive)) or not isinstance(program, Program):
        return ()
    names = Names(program, _partition_of(outcome))
    ordered = sorted(proof.invariants.items(), key=lambda item: (item[0].location.index, item[0].calls))
    return tuple(
        Invariant(
            point.location,
            _call_lines(point, program),
            names.formula(formula),
            names.brief(formula),
            names.conjuncts(formula),
        )
        for point, formula in ordered
    )


def _call_lines(point: Point, program: Program) -> tuple[int, ...]:
    """Return the lines of the calls that lead to a point, without the internal call of `main`."""
    edges = (program.edge[index] for index in point.calls if index in program.edge)
    spans = (edge.span for edge in edges if not edge.source.procedure.startswith("$"))
    return tuple(span.line for span in spans if span is not None)


def summaries(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """Return the procedure summaries of a proof: (name, formula)."""
    proof, program = proof_of(outcome), outcome.subject
    if not isinstance(proof, Inductive) or not isinstance(program, Program):
        return ()
    names = Names(program, _partition_of(outcome))
    return tuple((name, names.formula(f)) for name, f in sorted(proof.summaries.items()))


def bounds(proof: Proof, program: Program) -> tuple[tuple[Bound, ...], tuple[Bound, ...]]:
    """Return the bounds of an unrolling: of loops, in program order, and of recursive procedures."""
    if not isinstance(proof, Unrolling):
        return (), ()
    loops = []
    for name, count in proof.loops.items():
        at = program.location[name]
        loops.append((at.index, Bound(name, at.loop or at.span, count)))
    recursion = [Bound(name, None, count) for name, count in sorted(proof.recursion.items())]
    return tuple(bound for _, bound in sorted(loops, key=lambda item: item[0])), tuple(recursion)


def relations(proof: Proof) -> tuple[tuple[str, str], ...]:
    """Return the relations of a model of Horn clauses: (head, formula)."""
    if not isinstance(proof, Model):
        return ()
    return tuple(
        (f"{function.name}({', '.join(p.name for p in parameters)})", c_text(formula))
        for function, (parameters, formula) in proof.relations.items()
    )


# ---------------------------------------------------------------------------------- refutations


def derivation(outcome: Outcome) -> tuple[tuple[int, tuple[tuple[str, Datum], ...], tuple[int, ...]], ...]:
    """Return the derivation of a contradiction from Horn clauses: (clause, values, premises) for each
    step."""
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
    """Return the proof in terms of the program, without its partition of memory."""
    proof = outcome.verdict.proof if isinstance(outcome.verdict, Safe) else None
    return proof.proof if isinstance(proof, Partitioned) else proof


def _partition_of(outcome: Outcome) -> Partition | None:
    proof = outcome.verdict.proof if isinstance(outcome.verdict, Safe) else None
    return proof.partition if isinstance(proof, Partitioned) else None


def assumptions(outcome: Outcome) -> tuple[str, ...]:
    """Return the assumptions of a proof about the program's environment, as sentences."""
    verdict, program = outcome.verdict, outcome.subject
    if not isinstance(verdict, Safe) or not isinstance(program, Program):
        return ()
    ops = [edge.op for edge in program.edge.values()]
    ended = {op.storage for op in ops if isinstance(op, Free)}
    sentences, observed, compared = [], False, False
    checked = kinds_of(",".join(outcome.kinds) or outcome.property_name)
    if not {READ, WRITE} <= checked and (uses_memory(program) or isinstance(verdict.proof, Partitioned)):
        sentences.append("memory accesses are valid")
    elif READ in checked and FREE not in checked and "heap" in ended:
        sentences.append("calls of `free` are valid")
    assumed = [f"{KINDS[kind].claim} ({kind}: {answer})" for kind, answer in outcome.assumed]
    if outcome.vacuous:
        return (*sentences, *assumed)
    if isinstance(verdict.proof, Partitioned):
        partition = verdict.proof.partition
        observed = any(region.layout == "free" for region in partition.regions)
        compared = observed or _compares(ops, partition.address)
    may_fail = any(isinstance(op, Havoc) and op.function == ALLOCATION_FAILS for op in ops)
    if any(isinstance(op, Alloc) and op.storage == "heap" for op in ops) and not may_fail:
        sentences.append("allocations succeed")
    if "heap" in ended or (ended and compared):
        sentences.append("the address of an object that has ended is not used again")
    if observed:
        sentences.append("no object lies between two that were there before it")
    texts = {edge.text.removeprefix(UNDEFINED_STEP) for edge in program.edge.values()}
    if OTHER_TYPE in texts or (NO_FUNCTION in texts and READ not in checked):
        sentences.append("a function is called through a pointer only as one of its own type")
    codes = {each.code for each in outcome.diagnostics}
    if "escaped-address" in codes:
        sentences.append("functions without a body do not use addresses after they have returned")
    if "inline-assembly" in codes:
        sentences.append("assembly accesses only what is valid, and writes only where its operands point to")
    if "evaluation-order" in codes:
        sentences.append("operands are evaluated in the order of Clang")
    return (*sentences, *assumed)


def answer_parts(outcome: Outcome) -> list[tuple[Outcome, list[str]]]:
    """Return the answers to the default question: violations first, then UNKNOWN, in the order in which they
    were found. Kinds with the same evidence, or the same reason for UNKNOWN, are listed together."""
    order = ("VIOLATED", "UNKNOWN", "HOLDS")
    parts: list[tuple[Outcome, list[str]]] = []
    for each in sorted(outcome.answers, key=lambda each: (order.index(each.answer), total_seconds(each))):
        kinds = next((kinds for part, kinds in parts if part.verdict is each.verdict), None)
        if kinds is None:
            parts.append((each, [each.kind]))
        else:
            kinds.append(each.kind)
    return parts


def proved_lines(outcome: Outcome, kinds: Sequence[str]) -> Iterator[str]:
    """Yield what a HOLDS of the default question says about these kinds of checks."""
    answers = {each.kind: each for each in outcome.answers}
    for kind in kinds:
        if not answers[kind].vacuous:
            yield f"proved: {KINDS[kind].claim}"
    vacuous = [kind for kind in kinds if answers[kind].vacuous]
    if vacuous:
        yield f"nothing to check: {', '.join(vacuous)}"


def sentence_of(outcome: Outcome) -> str:
    """Return what a counterexample of a program shows, in one sentence with its place:
    `sum.c:9: signed overflow: a + b is 2147483648, outside int`."""
    program, check = outcome.subject, outcome.check
    if not isinstance(program, Program) or not isinstance(check, Replay):
        return ""
    site = violated_site(program, check)
    place = f"{program.file}: " if site.span is None else f"{site.span.file}:{site.span.line}: "
    if check.defect is not None:
        return place + check.defect.sentence(program)
    what = check.finding or operation_of(site.kind, site.text)
    return f"{place}{_FOUND.get(site.kind, '{}').format(what)}"


_FOUND: Final = {  # by the kind of the error
    "assertion": "assertion fails: {}",
    "reach-error": "the error is reached: {}",
    "error-label": "the error is reached: {}",
    "overflow": "signed overflow: {}",
    "division-by-zero": "division by zero: {}",
    "shift": "undefined shift: {}",
    UNINITIALISED: "read of what was never written: {}",
    "float-cast-overflow": "undefined conversion: {}",
    "float-division-by-zero": "floating-point division by zero: {}",
}


def _compares(ops: Iterable[Op], address: MachineSort) -> bool:
    """Say whether the program tests the equality of two addresses, or of numbers that may be addresses."""
    roots = (term for op in ops for term in terms(op))
    return any(
        term.kind is Kind.EQ
        and term.args[0].sort in (INT, address)
        and all(side.kind is not Kind.CONST for side in term.args)
        for term in postorder(*roots)
    )


# ---------------------------------------------------------------------------------------- solvers


_UNDECIDED: Final = {
    Undecided.OUT_OF_TIME: "{} ran out of time",
    Undecided.GAVE_UP: "{} gave up",
    Undecided.NO_TURN: "no time was left for {}",
    Undecided.UNSUITED: "{} does not apply",
}


def solver_text(check: ProofCheck) -> str:
    """Say which solvers proved the clauses of a proof, and why others did not:
    `14 clauses proved by bitwuzla (14), z3 (12); z3 (2) and cvc5 ran out of time`.

    The number is left out if a solver proved all clauses, or none."""
    if not check.clauses:
        return "no clause needs a solver"
    proving = [(name, number) for name, number in check.discharged.items() if number]
    proving.sort(key=lambda item: -item[1])
    if all(number == check.clauses for _, number in proving):
        names = joined([name for name, _ in proving])
    else:
        names = ", ".join(f"{name} ({number:,})" for name, number in proving)
    return "; ".join((f"{counted(check.clauses, 'clause')} proved by {names}", *silent_texts(check)))


def silent_texts(check: ProofCheck) -> Iterator[str]:
    """Yield for each reason the solvers that left clauses undecided, with their number unless it is all."""
    for reason, words in _UNDECIDED.items():
        left = [(name, reasons[reason]) for name, reasons in check.undecided.items() if reason in reasons]
        if left:
            names = [name if number == check.clauses else f"{name} ({number:,})" for name, number in left]
            plural = words.replace("does not", "do not") if len(names) > 1 else words
            yield plural.format(joined(names))


def joined(names: Sequence[str]) -> str:
    """Join names as in a sentence: `a`, `a and b`, `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
