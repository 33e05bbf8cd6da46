"""Translate programs to Horn clauses with error and transfer relations (Flanagan 2004, section 2).

Each location from which an error may be reached has an error relation: the states from which the program
fails. A block, an iteration of a loop and a call are clauses from the states after it to those before it, so
a loop is a tail-recursive relation.

    E.head(x) :- x < 10, E.head(x + 1)          an iteration of a loop
    E.call(x) :- E.p(x)                         a failure in the callee
    E.call(x) :- T.p(x, y), E.after(y)          a failure after the call

A procedure that returns has transfer relations between the values at its entry and the states at a location;
the one at its exit is the transfer relation of the procedure. The query is whether an initial state is in the
error relation of main. Relations range over relevant variables only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from certus.core import build
from certus.core.effects import global_writes
from certus.core.evidence import old
from certus.core.horn import Clause, HornSystem, clause_of
from certus.core.program import Call, Edge, Location, Procedure, Program
from certus.core.terms import BOOL, Expr, Function
from certus.core.walk import Substitution, variables
from certus.encoding.block_formula import BlockFormula, edge_formula

Kind = Literal["start", "entry", "block", "enter", "over"]


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The part of the program that a clause describes; `backward` if it defines an error relation."""

    kind: Kind
    backward: bool
    edge: Edge | None = None
    formula: BlockFormula | None = None


@dataclass(slots=True, eq=False)
class Translation:
    """A program and its clauses, each with its origin in the program."""

    program: Program
    errors: dict[Location, Expr] = field(default_factory=dict)  # error relations, applied to their variables
    transfers: dict[Location, Expr] = field(default_factory=dict)  # likewise, to old and current values
    clauses: list[Clause] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)

    @property
    def system(self) -> HornSystem:
        atoms = (*self.transfers.values(), *self.errors.values())
        program = self.program
        return HornSystem(tuple(a.function for a in atoms), tuple(self.clauses), program.source, program.file)


def translate(program: Program) -> Translation:
    """Translate a program, whose edges may be blocks."""
    return _Translator(program).run()


class _Translator:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.written = global_writes(program)
        self.translation = Translation(program)
        self.formulas: dict[Edge, BlockFormula | None] = {}
        self.failing = self._failing()  # locations from which an error may be reached
        self.returning = self._returning()  # procedures whose effect matters
        self.needed: dict[tuple[Location, bool], dict[Expr, None]] = {}  # by location and backward

    def run(self) -> Translation:
        while self._need_more():
            pass
        for procedure in self.program.procedures.values():
            for at in procedure.locations:
                self._declare(procedure, at)
        self._start()
        for procedure in self.program.procedures.values():
            if procedure.name in self.returning:
                self._entry(procedure)
            for edge in procedure.edges:
                self._edge(procedure, edge)
        return self.translation

    # --------------------------------------------------------------------------- reachability

    def _formula(self, edge: Edge) -> BlockFormula | None:
        if edge not in self.formulas:
            self.formulas[edge] = edge_formula(edge, self.program)
        return self.formulas[edge]

    def _failing(self) -> frozenset[Location]:
        procedures = self.program.procedures
        failing = dict.fromkeys(  # passes may have removed unreachable errors
            at for at in self.program.error_locations if at in procedures[at.procedure].predecessors
        )
        waiting = list(failing)
        entries = {p.entry: p.name for p in self.program.procedures.values()}
        calls: dict[str, list[Location]] = {}
        for procedure in self.program.procedures.values():
            for edge in procedure.edges:
                if isinstance(edge.op, Call):
                    calls.setdefault(edge.op.procedure, []).append(edge.source)
        while waiting:
            at = waiting.pop()
            before = [e.source for e in self.program.procedures[at.procedure].predecessors[at]]
            before += calls.get(entries.get(at, ""), [])
            for source in before:
                if source not in failing:
                    failing[source] = None
                    waiting.append(source)
        return frozenset(failing)

    def _returning(self) -> dict[str, None]:
        """Return the procedures after whose return an error may be reached, and their callees."""
        returning: dict[str, None] = {}
        waiting = [
            edge.op.procedure
            for p in self.program.procedures.values()
            for edge in p.edges
            if isinstance(edge.op, Call) and edge.target in self.failing
        ]
        while waiting:
            name = waiting.pop()
            if name not in returning:
                returning[name] = None
                edges = self.program.procedures[name].edges
                waiting += [edge.op.procedure for edge in edges if isinstance(edge.op, Call)]
        return returning

    # --------------------------------------------------------------------- relevant variables

    def _need_more(self) -> bool:
        before = sum(map(len, self.needed.values()))
        for procedure in self.program.procedures.values():
            if procedure.name in self.returning:
                results = (*procedure.results, *self.written[procedure.name])
                self._add(procedure.exit, False, results)
            for edge in reversed(procedure.edges):
                for backward in self._directions(procedure, edge):
                    self._add(edge.source, backward, self._needs(procedure, edge, backward))
        return sum(map(len, self.needed.values())) > before

    def _directions(self, procedure: Procedure, edge: Edge) -> Iterator[bool]:
        if edge.source in self.failing:
            yield True
        if procedure.name in self.returning and edge.target not in self.program.error_locations:
            yield False

    def _add(self, at: Location, backward: bool, needed: Iterable[Expr]) -> None:
        self.needed.setdefault((at, backward), {}).update((x, None) for x in needed)

    def _needs(self, procedure: Procedure, edge: Edge, backward: bool) -> Iterator[Expr]:
        after = self.needed.get((edge.target, backward), {})
        if isinstance(edge.op, Call):
            callee = self.program.procedures[edge.op.procedure]
            bound = dict(zip(callee.parameters, edge.op.arguments, strict=True))
            inputs = [x for x in self.needed.get((callee.entry, False), {}) if x in self._inputs(callee)]
            if backward:
                inputs += self.needed.get((callee.entry, True), {})
            own = set(callee.variables)
            for x in inputs:
                if x in bound or x not in own:
                    yield from variables(bound.get(x, x))
            replaced = {*self.written[callee.name], *edge.op.targets}
            yield from (x for x in after if x not in replaced)
            return
        formula = self._formula(edge)
        if formula is None:
            return
        symbols = set(formula.symbols)
        terms = [formula.guard, *formula.definitions, *(formula.values.get(x, x) for x in after)]
        yield from (x for x in variables(*terms) if x not in symbols)

    def _inputs(self, procedure: Procedure) -> tuple[Expr, ...]:
        return (*self.program.globals, *procedure.parameters)

    # ----------------------------------------------------------------------------- relations

    def _declare(self, procedure: Procedure, at: Location) -> None:
        if at in self.program.error_locations:
            return
        everything = (*self.program.globals, *procedure.variables)
        if at in self.failing:
            needed = self.needed.get((at, True), {})
            self.translation.errors[at] = _applied(f"E.{at.name}", [x for x in everything if x in needed])
        if procedure.name in self.returning:
            entry = self.needed.get((procedure.entry, False), {})
            olds = [old(x) for x in self._inputs(procedure) if x in entry]
            needed = self.needed.get((at, False), {})
            nows = [x for x in everything if x in needed]
            self.translation.transfers[at] = _applied(f"T.{at.name}", [*olds, *nows])

    def _clause(self, origin: Origin, body: list[Expr], constraint: Expr, head: Expr | None) -> None:
        self.translation.clauses.append(clause_of(body, constraint, head))
        self.translation.origins.append(origin)

    def _start(self) -> None:
        entry = self.translation.errors.get(self.program.entry)
        if entry is not None:
            initial = _read(entry, self.program.initial)
            self._clause(Origin("start", True), [initial], build.TRUE, None)

    def _entry(self, procedure: Procedure) -> None:
        here = self.translation.transfers[procedure.entry]
        olds = {old(x): x for x in self._inputs(procedure)}
        self._clause(Origin("entry", False), [], build.TRUE, _read(here, olds))

    def _edge(self, procedure: Procedure, edge: Edge) -> None:
        for backward in self._directions(procedure, edge):
            relations = self.translation.errors if backward else self.translation.transfers
            if isinstance(edge.op, Call):
                self._call(edge, edge.op, backward, relations)
                continue
            formula = self._formula(edge)
            if formula is None:
                continue
            origin = Origin("block", backward, edge, formula)
            constraint = build.and_(formula.guard, *formula.definitions)
            after = relations.get(edge.target)
            if after is None and edge.target not in self.program.error_locations:
                continue
            reached = [] if after is None else [_read(after, formula.values)]
            if backward:
                self._clause(origin, reached, constraint, relations[edge.source])
            else:
                self._clause(origin, [relations[edge.source]], constraint, *reached)

    def _call(self, edge: Edge, call: Call, backward: bool, relations: Mapping[Location, Expr]) -> None:
        callee = self.program.procedures[call.procedure]
        bound = dict(zip(callee.parameters, call.arguments, strict=True))
        arbitrary = {x: build.var(f"{x.name}@entry", x.sort) for x in callee.variables if x not in bound}
        inside = self.translation.errors.get(callee.entry)
        if backward and inside is not None:
            entered = _read(inside, {**bound, **arbitrary})
            self._clause(Origin("enter", True, edge), [entered], build.TRUE, relations[edge.source])
        after, summary = relations.get(edge.target), self.translation.transfers.get(callee.exit)
        if summary is None or (after is None and edge.target not in self.program.error_locations):
            return
        olds = {old(x): bound.get(x, x) for x in self._inputs(callee)}
        changed = {g: build.var(f"{g.name}@after", g.sort) for g in self.written[callee.name]}
        results = {r: build.var(f"{r.name}@after", r.sort) for r in callee.results}
        passed = _read(summary, {**olds, **changed, **results})
        targets = dict(zip(call.targets, results.values(), strict=False))
        later = [] if after is None else [_read(after, {**changed, **targets})]
        origin, before = Origin("over", backward, edge), relations[edge.source]
        if backward:
            self._clause(origin, [passed, *later], build.TRUE, before)
        else:
            self._clause(origin, [before, passed], build.TRUE, *later)


def _applied(name: str, arguments: list[Expr]) -> Expr:
    return build.apply(Function(name, tuple(a.sort for a in arguments), BOOL), arguments)


def _read(atom: Expr, values: Mapping[Expr, Expr]) -> Expr:
    return build.apply(atom.function, Substitution(values).apply_all(atom.args))
