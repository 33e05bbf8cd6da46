"""Translate the formulas of a proof to invariants in C.

Literals that C cannot express over the variables in scope are replaced by true. Negations stand only before
literals, so an invariant of the witness follows from the formula of the proof, and may be weaker. A location
at which the proof distinguishes call strings gets the disjunction of their formulas, provided that these are
all call strings under which it can be reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.evidence import Inductive, KInductive, Partitioned, Proof
from certus.core.program import Location, Program
from certus.core.terms import Expr, Kind, MachineSort
from certus.core.walk import Substitution, bottom_up, rebuild, substitute, transform, variables
from certus.core.witness import WitnessInvariant
from certus.witness.call_strings import CallStrings
from certus.witness.write.c_expression import Inexpressible, c_expression
from certus.witness.write.scope import place_at
from certus.witness.write.vocabulary import Lexicon, Vocabulary

_LOOP, _LOCATION = "loop_invariant", "location_invariant"
_KEYWORD: Final = re.compile(r"while\b|for\b|do\b")


@dataclass(frozen=True, slots=True)
class Translation:
    """Invariants in C, and the number of formulas that they do not fully express (`left_out`): C cannot
    express a part of the formula, or no invariant can stand at its place."""

    invariants: tuple[WitnessInvariant, ...]
    left_out: int


def translate(proof: Proof | None, program: Program) -> Translation:
    """Translate a proof, in program order. Only proofs by invariants have any to translate."""
    partition = proof.partition if isinstance(proof, Partitioned) else None
    proof = proof.proof if isinstance(proof, Partitioned) else proof
    if not isinstance(proof, (Inductive, KInductive)):
        return Translation((), 0)
    roots = {program.main, *(proof.summaries if isinstance(proof, Inductive) else ())}
    strings, lexicon = CallStrings(program, frozenset(roots)), Lexicon(program, partition)
    by_location: dict[Location, dict[tuple[int, ...], Expr]] = {}
    for point, formula in proof.invariants.items():
        by_location.setdefault(point.location, {})[point.calls] = formula
    invariants: list[WitnessInvariant] = []
    left_out = 0
    for location in sorted(by_location, key=lambda at: at.index):
        own, complete = _at_location(lexicon, location, by_location[location], strings)
        left_out += not complete
        invariants.extend(own)
    return Translation(tuple(invariants), left_out)


def _at_location(
    lexicon: Lexicon, location: Location, formulas: Mapping[tuple[int, ...], Expr], strings: CallStrings
) -> tuple[list[WitnessInvariant], bool]:
    """Return the invariant of a location, if C has one, and whether it expresses all the proof says there."""
    place = _place(lexicon.program, location)
    required = strings.of(location.procedure)
    if all(formula is build.TRUE for formula in formulas.values()):
        return [], True
    if place is None or required is None or any(string not in formulas for string in required):
        return [], False
    kind, span = place
    words = lexicon.at(span, in_loop=kind == _LOOP)
    parts, complete = [], True
    for string in required:
        part, whole = weakened(words.formula(formulas[string], len(string)), words)
        parts.append(part)
        complete &= whole
    try:
        expression = c_expression(build.disjunction(parts), words.names, words.pointers)
    except Inexpressible:
        return [], False
    if expression.is_constant:
        return [], complete
    return [WitnessInvariant(kind, place_at(span, location.procedure), expression.text)], complete


def _place(program: Program, location: Location) -> tuple[str, Span] | None:
    """Return the kind and place of the invariant for a location. The body of a `do` loop runs before its
    condition, so the head of such a loop is the first statement of its body, with a location invariant."""
    loop = location.loop
    if loop is None:
        return _statement(program, location)
    if loop.file not in program.texts:
        return None
    line = program.texts[loop.file].split("\n", loop.line)[loop.line - 1]
    keyword = _KEYWORD.match(line, loop.column - 1)  # None if a macro contains the keyword
    if keyword is None or keyword[0] != "do":
        return None if keyword is None else (_LOOP, loop)
    return _statement(program, location)


def _statement(program: Program, location: Location) -> tuple[str, Span] | None:
    """Return the statement that starts at a location, if it is the first of those that start at one place of
    the source (declarations, statements of a macro)."""
    span = location.statement
    if span is None or span.file not in program.texts:
        return None
    start = (span.line, span.column)
    for other in program.procedures[location.procedure].locations:
        own = other.statement
        if own is not None and (own.line, own.column) == start and own.file == span.file:
            return (_LOCATION, span) if other is location else None
    return None


# ------------------------------------------------------------------------------------------- weakening


def weakened(formula: Expr, words: Vocabulary) -> tuple[Expr, bool]:
    """Return the part of a formula that C can express in these words, and whether that is all of it. Literals
    that only describe the encoding do not count."""
    formula = transform(_without_copies(_pushed_in(formula), words.names), _quotient)
    parts: dict[Expr, Expr] = {}
    complete = True
    for literal in _literals(formula):
        parts[literal] = build.TRUE
        if words.lexicon.is_of_encoding(literal):
            continue
        try:
            expression = c_expression(literal, words.names, words.pointers)
        except Inexpressible:
            complete = False
            continue
        if not words.is_sayable(literal):
            complete = False
        else:
            parts[literal] = build.boolean(bool(expression.low)) if expression.is_constant else literal
    return Substitution(parts).apply(formula), complete


def _pushed_in(formula: Expr) -> Expr:
    """Push negations in to the literals, so that weakening a literal weakens the formula."""

    def parts(item: tuple[Expr, bool]) -> list[tuple[Expr, bool]]:
        term, positive = item
        inner = term.args if _is_join(term) or term.kind is Kind.NOT else ()
        return [(arg, positive is not (term.kind is Kind.NOT)) for arg in inner]

    def pushed(item: tuple[Expr, bool], args: list[Expr]) -> Expr:
        term, positive = item
        if not args:
            return term if positive else build.not_(term)
        if term.kind is Kind.NOT:
            return args[0]
        return build.conjunction(args) if (term.kind is Kind.AND) is positive else build.disjunction(args)

    return bottom_up((formula, True), parts, pushed, {})


def _quotient(term: Expr, args: tuple[Expr, ...]) -> Expr:
    """Rewrite `n * div(t, n)` to `t - mod(t, n)`, which is a conversion in C if n is a power of 2."""
    term = rebuild(term, args) if args else term
    if term.kind is Kind.MUL and len(term.args) == 2 and term.args[1].kind is Kind.DIV:
        (factor, (dividend, divisor)) = term.args[0], term.args[1].args
        if factor.kind is divisor.kind is Kind.CONST and divisor.value and factor.value % divisor.value == 0:
            times = build.integer(int(factor.value) // int(divisor.value))
            return build.mul(times, build.sub(dividend, build.mod(dividend, divisor)))
    return term


def _is_join(term: Expr) -> bool:
    return term.kind in (Kind.AND, Kind.OR)


def _literals(formula: Expr) -> Iterator[Expr]:
    """Yield the parts of a formula that `&&` and `||` join."""
    seen: set[Expr] = set()
    stack = [formula]
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if _is_join(term):
            stack.extend(reversed(term.args))
        else:
            yield term


def _without_copies(formula: Expr, names: Mapping[Expr, str]) -> Expr:
    """Replace variables without a name by named variables that the formula says are equal to them."""
    conjuncts = formula.args if formula.kind is Kind.AND else (formula,)
    named: dict[Expr, Expr] = {}
    for conjunct in conjuncts:
        pair = _equal_variables(conjunct)
        if pair is None:
            continue
        for hidden, shown in (pair, pair[::-1]):
            if hidden not in names and shown in names and hidden not in named:
                named[hidden] = shown
    return substitute(formula, named) if named else formula


def _equal_variables(term: Expr) -> tuple[Expr, Expr] | None:
    """Recognise `x == y` with x and y of one sort, also as `x - y == 0` over mathematical integers."""
    if term.kind is not Kind.EQ:
        return None
    pair = variables(term)
    if len(pair) != 2 or pair[0].sort is not pair[1].sort or not isinstance(pair[0].sort, MachineSort):
        return None
    a, b = pair
    m, n = build.to_int(a), build.to_int(b)
    differences = [build.eq(d, build.integer(0)) for d in (build.sub(m, n), build.sub(n, m))]
    return (a, b) if term in (build.eq(a, b), build.eq(m, n), *differences) else None
