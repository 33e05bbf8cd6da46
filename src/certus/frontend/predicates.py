"""Parse predicates on the command line: `global: x <= 5, y >= 13; swap: t == old(x)`.

Each predicate belongs to the globals or to a procedure; a scope lasts until the next one. Names are those of
the source. `result` (or `result0`, `result1`, ...) is the result of a procedure, and `old(x)` the value of a
global or parameter at its entry.

Predicates about C range over mathematical integers: `x + y <= 5` is false where the sum is too large for an
`int`. They are then converted to machine arithmetic that is wide enough to be exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import Final

from certus.core import build
from certus.core.boolean import Predicate, ScopedPredicates
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.evidence import old
from certus.core.program import Program
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort, machine
from certus.core.walk import postorder, rebuild, transform, variables
from certus.frontend.lp.annotation import parse_expression
from certus.frontend.source import Source

FILE: Final = "--predicates"  # the file name in positions
GLOBAL: Final = "global"
_SCOPE: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*:")
_WIDEST: Final = 512  # most bits of machine arithmetic


def parse_predicates(text: str, program: Program) -> ScopedPredicates:
    """Parse predicates; raise `InputError` with the positions of all errors."""
    source = Source(text, FILE)
    errors: list[Diagnostic] = []
    shared: dict[Expr, Predicate] = {}
    own: dict[str, dict[Expr, Predicate]] = {}
    scope: str | None = None
    for first, end in _items(text):
        match = _SCOPE.match(text, first, end)
        start = match.end() if match else first
        if match:
            scope = match[1]
            if scope != GLOBAL and scope not in program.procedures:
                listed = ", ".join(f"`{name}`" for name in (GLOBAL, *list(program.procedures)[:10]))
                message = f"The program has no procedure `{scope}`."
                errors.append(_error(source, *match.span(1), message, f"Scopes: {listed}."))
        if not text[start:end].strip():
            continue
        if scope is None:
            message = "This predicate has no scope."
            hint = "Write `global: ...` or `PROCEDURE: ...` before it."
            errors.append(_error(source, start, end, message, hint))
        elif scope == GLOBAL or scope in program.procedures:
            try:
                term = _predicate(source, start, end, scope, program)
            except InputError as error:
                errors.extend(error.diagnostics)
                continue
            members = shared if scope == GLOBAL else own.setdefault(scope, {})
            members.setdefault(term, Predicate(term, " ".join(text[start:end].split())))
    if errors:
        raise InputError(errors)
    return ScopedPredicates(tuple(shared.values()), {name: tuple(p.values()) for name, p in own.items()})


def names_in(program: Program, scope: str) -> dict[str, Expr]:
    """Return the variables in a scope by their names, own variables before globals."""
    names: dict[str, Expr] = {}

    def add(name: str, variable: Expr) -> None:
        if isinstance(variable.sort, MachineSort):
            names.setdefault(name, build.to_int(variable))
        elif variable.sort in (BOOL, INT):
            names.setdefault(name, variable)

    inputs = program.globals
    if scope != GLOBAL:
        procedure = program.procedures[scope]
        inputs = (*procedure.parameters, *inputs)
        own = {x: program.source_names.get(x) or x.name.partition(".")[2] for x in procedure.variables}
        for x, name in own.items():
            add(name, x)
        for n, x in enumerate(procedure.results):
            add("result" if len(procedure.results) == 1 else f"result{n}", x)
        for x in procedure.variables:
            add(x.name.partition(".")[2], x)
            add(x.name, x)
    for x in program.globals:
        add(program.source_names.get(x, x.name), x)
        add(x.name, x)
    if scope != GLOBAL:
        for x in inputs:
            name = program.source_names.get(x) or x.name.rpartition(".")[2]
            add(f"old({name})", old(x))
    return names


def _items(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between `;` and `,` outside of parentheses."""
    start = depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == ";" or (character == "," and depth <= 0):
            yield start, at
            start = at + 1
    yield start, len(text)


def _predicate(source: Source, start: int, end: int, scope: str, program: Program) -> Expr:
    before = "".join(c if c == "\n" else " " for c in source.text[:start])
    names = names_in(program, scope)
    term = in_machine_arithmetic(
        parse_expression(before + source.text[start:end], names, sort=BOOL, file=FILE)
    )
    if not variables(term):
        message = "This predicate has the same value in every state."
        raise InputError([_error(source, start, end, message, "Compare variables of the program.")])
    return term


def _error(source: Source, start: int, end: int, message: str, hint: str) -> Diagnostic:
    text = source.text[start:end]
    start += len(text) - len(text.lstrip())
    return Diagnostic("bad-predicate", message, span=source.span(start, start + len(text.strip())), hint=hint)


# ---------------------------------------------------------------------------- machine arithmetic


def in_machine_arithmetic(predicate: Expr) -> Expr:
    """Convert comparisons of integers that depend on machine integers to machine arithmetic."""

    def step(term: Expr, args: tuple[Expr, ...]) -> Expr:
        term = rebuild(term, args) if args else term
        if term.kind not in (Kind.LE, Kind.LT, Kind.EQ) or term.args[0].sort is not INT:
            return term
        sort = _common(term.args[0], term.args[1]) or _wide(*term.args)
        return term if sort is None else rebuild(term, [_as(arg, sort) for arg in term.args])

    return transform(predicate, step)


def _common(left: Expr, right: Expr) -> MachineSort | None:
    """Return the sort of a variable that is compared with a constant or a variable of its sort."""
    for one, other in ((left, right), (right, left)):
        if one.kind is Kind.TO_INT:
            sort = one.args[0].sort
            assert isinstance(sort, MachineSort)
            if other.kind is Kind.CONST and sort.low <= int(other.value) <= sort.high:
                return sort
            if other.kind is Kind.TO_INT and other.args[0].sort is sort:
                return sort
    return None


def _wide(*terms: Expr) -> MachineSort | None:
    """Return a signed sort in which the terms do not overflow; None without machine integers."""
    most: dict[Expr, int] = {}  # the largest absolute value of a term
    for term in _integers(*terms):
        if term.kind is Kind.CONST:
            most[term] = abs(int(term.value))
        elif term.kind is Kind.TO_INT:
            sort = term.args[0].sort
            assert isinstance(sort, MachineSort)
            most[term] = max(-sort.low, sort.high)
        elif term.kind is Kind.ADD:
            most[term] = sum(most[a] for a in term.args)
        elif term.kind is Kind.MUL:
            most[term] = reduce(lambda x, y: x * y, (most[a] for a in term.args))
        elif term.kind is Kind.ITE:
            most[term] = max(most[a] for a in term.args[1:])
        elif term.kind in (Kind.QUOT, Kind.REM):
            most[term] = max(most[term.args[0]], most[term.args[1]])
        else:
            return None
    width = max(most.values()).bit_length() + 1
    from_machine = any(term.kind is Kind.TO_INT for term in most)
    return machine(width, signed=True) if from_machine and width <= _WIDEST else None


def _integers(*terms: Expr) -> Iterator[Expr]:
    """Yield the Int subterms of sums and products, arguments first, except those inside conditions."""
    conditions = [t.args[0] for t in postorder(*terms) if t.kind in (Kind.TO_INT, Kind.ITE)]
    excluded = set(postorder(*conditions))
    return (t for t in postorder(*terms) if t.sort is INT and t not in excluded)


def _as(root: Expr, sort: MachineSort) -> Expr:
    done: dict[Expr, Expr] = {}
    for term in _integers(root):
        if term.kind is Kind.CONST:
            done[term] = build.constant(int(term.value), sort)
        elif term.kind is Kind.TO_INT:
            done[term] = build.wrap(term.args[0], sort)
        elif term.kind is Kind.ADD:
            done[term] = reduce(build.add, (done[a] for a in term.args))
        elif term.kind is Kind.MUL:
            done[term] = reduce(build.mul, (done[a] for a in term.args))
        elif term.kind is Kind.ITE:
            done[term] = build.ite(term.args[0], done[term.args[1]], done[term.args[2]])
        else:
            make = build.quot if term.kind is Kind.QUOT else build.rem
            done[term] = make(done[term.args[0]], done[term.args[1]])
    return done[root]
