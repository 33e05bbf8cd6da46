"""What a search has to show: path edges and summary edges as formulas, and what it never reached."""

from __future__ import annotations

from collections.abc import Iterator

from certus.core import build
from certus.core.ctext import c_text
from certus.core.effects import terms
from certus.core.evidence import old
from certus.core.linearity import is_linear
from certus.core.program import Assume, Call, Edge, Location, Program
from certus.core.statistics import Finding
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder
from certus.engines.linear.edges import Store, lift
from certus.engines.linear.tabulation import Tabulation
from certus.engines.linear.transitions import statements

SHOWN = 100  # vertices, and disjuncts of one vertex
LENGTH = 400  # characters of a formula


def path_formula(search: Tabulation, at: Location) -> Expr:
    """The path edges of a vertex, over the values at the entry (`old`) and now."""
    store = search.paths.get(at)
    if store is None:
        return build.FALSE
    frame = search.transitions.frames[at.procedure]
    return store.whole().formula([old(x) for x in frame.entry], frame.state)


def state_formula(search: Tabulation, at: Location) -> Expr:
    """The states in which control comes to a vertex, whatever the values at the entry."""
    store = search.paths.get(at)
    if store is None:
        return build.FALSE
    state = search.transitions.frames[at.procedure].state
    return store.whole().columns((), range(len(state))).formula((), state)


def summary_formula(search: Tabulation, name: str) -> Expr:
    """The summary edges of a procedure, over the values at the entry (`old`) and at the exit."""
    frame = search.transitions.frames[name]
    store = search.paths.get(frame.procedure.exit)
    if store is None:
        return build.FALSE
    return lift(store.whole(), frame).formula([old(x) for x in frame.entry], frame.exit)


def findings(search: Tabulation) -> list[Finding]:
    """Both kinds of edges; and the unreachable statements, if the search came to its end without an error."""
    program = search.transitions.program
    found: list[Finding] = []
    for at, store in sorted(search.paths.items(), key=lambda item: item[0].index)[:SHOWN]:
        words = _many(store) or _words(search, path_formula(search, at))
        found.append(Finding("path edges", _place(at), words))
    for name, procedure in program.procedures.items():
        ended = search.paths.get(procedure.exit)
        if ended is not None and name != program.main:
            words = _many(ended) or _words(search, summary_formula(search, name))
            found.append(Finding("summary edges", f"procedure {name}", words))
    if not search.worklist and not search.errors:
        found += _unreachable(search)
    return found


def first_not_linear(program: Program) -> tuple[Edge, Expr] | None:
    """The first statement with an expression that is not linear, and the smallest such expression in it."""
    found = [
        (each, term)
        for procedure in program.procedures.values()
        for edge in procedure.edges
        for each in statements(edge)
        for term in postorder(*terms(each.op))
        if not is_linear(term) and term.kind is not Kind.VAR
    ]
    return min(found, key=lambda pair: pair[0].index, default=None)


def _many(store: Store) -> str:
    return f"{len(store.edges)} disjuncts" if len(store.edges) > SHOWN else ""


def _words(search: Tabulation, formula: Expr) -> str:
    names = search.transitions.program.source_names
    shown = {**names, **{old(x): f"old({name})" for x, name in names.items()}}
    return c_text(formula, names=shown, limit=LENGTH)


def _place(at: Location) -> str:
    if at.loop is not None:
        return f"{at.name}, the loop in line {at.loop.line}"
    return at.name if at.span is None else f"{at.name}, line {at.span.line}"


def _unreachable(search: Tabulation) -> Iterator[Finding]:
    """The statements that no execution comes to."""
    for procedure in search.transitions.program.procedures.values():
        met: set[Edge] = set()
        every: list[Edge] = []
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                every.append(edge)
                met.update([edge] if edge.source in search.paths else [])
            else:
                every += statements(edge)
                met.update(_met(search, edge))
        for edge in sorted(set(every) - met, key=lambda e: e.index):
            if edge.span is not None and edge.text and not isinstance(edge.op, Assume):
                yield Finding("unreachable", f"line {edge.span.line}", edge.text)


def _met(search: Tabulation, edge: Edge) -> Iterator[Edge]:
    """The statements of a block that some execution comes to."""
    store = search.paths.get(edge.source)
    if store is None or len(store.edges) > SHOWN:
        yield from () if store is None else statements(edge)
        return
    here = store.whole()
    frame = search.transitions.frames[edge.source.procedure]
    for path in search.transitions.paths(edge):
        if not search.transitions.labelled(path, frame).starting(here).is_empty():
            yield from path.statements
