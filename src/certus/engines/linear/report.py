"""Turn path edges and summary edges into formulas, and report them with the unreachable statements."""

from __future__ import annotations

from collections.abc import Iterator

from certus.core import build
from certus.core.accounting import Finding
from certus.core.c_text import c_text
from certus.core.effects import terms
from certus.core.evidence import old
from certus.core.program import Assume, Call, Edge, Location, Program, statements
from certus.core.terms import Expr, Kind, is_linear
from certus.core.walk import Substitution, postorder
from certus.engines.linear.edges import Store, lift
from certus.engines.linear.tabulation import Tabulation

SHOWN = 100  # vertices, and disjuncts of one vertex
LENGTH = 400  # characters of a formula


def path_formula(search: Tabulation, at: Location) -> Expr:
    """Return the path edges of a vertex, over the values at the entry (`old`) and now."""
    store = search.paths.get(at)
    if store is None:
        return build.FALSE
    frame = search.transitions.frames[at.procedure]
    formula = store.whole().formula([old(x) for x in frame.entry], frame.state)
    return _plain(search, formula, at.procedure)


def state_formula(search: Tabulation, at: Location) -> Expr:
    """Return the states at a vertex, whatever the values at the entry."""
    store = search.paths.get(at)
    if store is None:
        return build.FALSE
    state = search.transitions.frames[at.procedure].state
    formula = store.whole().columns((), range(len(state))).formula((), state)
    return _plain(search, formula, at.procedure)


def _plain(search: Tabulation, formula: Expr, procedure: str) -> Expr:
    """Replace the columns of expressions by the expressions, and integers that stand for reals by these."""
    expressions, scaled = search.transitions.precision.of(procedure), search.transitions.scaled
    formula = Substitution(expressions).apply(formula) if expressions else formula
    return formula if scaled is None else scaled.formula(formula)


def summary_formula(search: Tabulation, name: str) -> Expr:
    """Return the summary edges of a procedure, over the values at the entry (`old`) and at the exit."""
    frame = search.transitions.frames[name]
    store = search.paths.get(frame.procedure.exit)
    if store is None:
        return build.FALSE
    formula = lift(store.whole(), frame).formula([old(x) for x in frame.entry], frame.exit)
    return _plain(search, formula, name)


def edge_findings(search: Tabulation) -> list[Finding]:
    """Report both kinds of edges, and the unreachable statements if the search ended without an error."""
    program = search.transitions.program
    result: list[Finding] = []
    for at, store in sorted(search.paths.items(), key=lambda item: item[0].index)[:SHOWN]:
        text = _many(store) or _text(search, path_formula(search, at))
        result.append(Finding("path edges", _place(at), text))
    for name, procedure in program.procedures.items():
        ended = search.paths.get(procedure.exit)
        if ended is not None and name != program.main:
            text = _many(ended) or _text(search, summary_formula(search, name))
            result.append(Finding("summary edges", f"procedure {name}", text))
    if not search.worklist and not search.errors:
        result += _unreachable(search)
    return result


def first_nonlinear(program: Program) -> tuple[Edge, Expr] | None:
    """Return the first statement with a nonlinear expression, and the smallest such expression in it."""
    candidates = [
        (each, term)
        for procedure in program.procedures.values()
        for edge in procedure.edges
        for each in statements(edge)
        for term in postorder(*terms(each.op))
        if not is_linear(term) and term.kind is not Kind.VAR
    ]
    return min(candidates, key=lambda pair: pair[0].index, default=None)


def _many(store: Store) -> str:
    return f"{len(store.edges)} disjuncts" if len(store.edges) > SHOWN else ""


def _text(search: Tabulation, formula: Expr) -> str:
    names = search.transitions.program.source_names
    shown = {**names, **{old(x): f"old({name})" for x, name in names.items()}}
    return c_text(formula, names=shown, limit=LENGTH)


def _place(at: Location) -> str:
    if at.loop is not None:
        return f"{at.name}, the loop in line {at.loop.line}"
    return at.name if at.span is None else f"{at.name}, line {at.span.line}"


def _unreachable(search: Tabulation) -> Iterator[Finding]:
    """Yield the statements that no execution reaches."""
    for procedure in search.transitions.program.procedures.values():
        reached: set[Edge] = set()
        every: list[Edge] = []
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                every.append(edge)
                reached.update([edge] if edge.source in search.paths else [])
            else:
                every += statements(edge)
                reached.update(_reached(search, edge))
        for edge in sorted(set(every) - reached, key=lambda e: e.index):
            if edge.span is not None and edge.text and not isinstance(edge.op, Assume):
                yield Finding("unreachable", f"line {edge.span.line}", edge.text)


def _reached(search: Tabulation, edge: Edge) -> Iterator[Edge]:
    """Yield the statements of a block that some execution reaches."""
    store = search.paths.get(edge.source)
    paths = search.transitions.paths(edge)
    if store is None or paths is None or len(store.edges) > SHOWN:
        yield from () if store is None else statements(edge)
        return
    here = store.whole()
    frame = search.transitions.frames[edge.source.procedure]
    for path in paths:
        if not search.transitions.labelled(path, frame).starting(here).is_empty():
            yield from path.statements
