"""B(P): the Boolean program of a program and predicates (seed 001, section 3, after Ball et al. 2001).

Every edge is abstracted by itself: an assignment to `F(wp(s, p)) ? true : F(wp(s, not p)) ? false : any`
for each predicate p it may change, a condition c to the assumption G(c). Going beyond the seed:

- *Parameters and results.* Predicates of a procedure over its parameters, globals and `old` values become
  parameters of its abstraction; those that say something of results or globals that it writes, and
  nothing of other locals, are returned. A caller gives what its predicates know of the former,
  translated to its arguments, and learns from the latter, translated back.
- *Contradictions.* Values that are any independently of each other may contradict: `x <= 3` and not `x <= 5`.
  Where a step can lead to such values of two predicates, an assumption excludes them.

Invariant: if an edge leads from one concrete state to another, its statements lead from the predicates'
values in the first to those in the second. So every execution of P is one of B(P).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from certus.core import build
from certus.core.boolean import (
    FALSE,
    TRUE,
    UNKNOWN,
    BooleanProcedure,
    BooleanProgram,
    Choose,
    Guard,
    Invoke,
    Predicate,
    ScopedPredicates,
    Statement,
    Update,
)
from certus.core.budget import Budget
from certus.core.evidence import old
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Procedure, Program, Return
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.walk import substitute, variables
from certus.logic.regions import Shape, shapes
from certus.logic.strengthening import MINTERMS, Vocabulary
from certus.transform.boolean.consistency import Consistency
from certus.transform.boolean.naming import Names

Known = dict[Expr, Predicate]


def abstract_program(
    program: Program,
    predicates: ScopedPredicates,
    *,
    budget: Budget,
    statistics: Statistics,
    minterms: int = MINTERMS,
) -> BooleanProgram:
    """The abstraction of a program without memory operations, whose edges are single statements."""
    work = _Abstraction(program, predicates, budget, statistics, minterms)
    procedures = {name: work.procedure(p) for name, p in program.procedures.items()}
    initial = {x: program.initial.get(x, x) for x in program.globals}
    start = work.vocabulary({})
    shared = {x: start.choose(substitute(p.term, initial)) for x, p in work.shared.items()}
    return BooleanProgram(program, work.shared, shared, procedures)


@dataclass(frozen=True, slots=True)
class _Interface:
    """What a procedure's abstraction takes and gives: variables and the predicates they stand for.

    `given` are formulas over globals and parameters at the entry, `returned` over globals and results at the
    exit, and `old` values of globals and parameters. `constant` are those fixed at the entry."""

    known: Known
    given: Mapping[Expr, Expr]
    constant: Mapping[Expr, Choose]
    returned: Mapping[Expr, Expr]


@dataclass(slots=True, eq=False)
class _Abstraction:
    program: Program
    predicates: ScopedPredicates
    budget: Budget
    statistics: Statistics
    minterms: int
    names: Names = field(init=False)
    shapes: Mapping[str, Shape] = field(init=False)
    shared: Known = field(init=False)
    interfaces: dict[str, _Interface] = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names(self.program.procedures)
        self.shapes = shapes(self.program)
        self.shared = self._named(self.predicates.shared)
        self.interfaces = {name: self._interface(p) for name, p in self.program.procedures.items()}

    def _named(self, predicates: Iterable[Predicate]) -> Known:
        return {self.names.variable(p.text): p for p in predicates}

    def vocabulary(self, meaning: Mapping[Expr, Expr]) -> Vocabulary:
        return Vocabulary(meaning, budget=self.budget, statistics=self.statistics, minterms=self.minterms)

    def _interface(self, procedure: Procedure) -> _Interface:
        """Of the main procedure nothing is given, unless it is called."""
        known = self._named(self.predicates.own.get(procedure.name, ()))
        inputs = (*self.program.globals, *procedure.parameters)
        at_entry = {old(x): x for x in inputs}
        written = set(self.shapes[procedure.name].written)
        kept = [x for x in inputs if x not in written]
        olds = {x: old(x) for x in kept}
        news = {*(x for x in self.program.globals if x in written), *procedure.results}
        visible = {*news, *at_entry}
        given: dict[Expr, Expr] = {}
        constant: dict[Expr, Choose] = {}
        returned: dict[Expr, Expr] = {}
        for x, predicate in known.items():
            begins = substitute(predicate.term, at_entry)
            if begins in (build.TRUE, build.FALSE):
                constant[x] = TRUE if begins is build.TRUE else FALSE
            elif set(variables(begins)) <= set(inputs):
                given[x] = begins
            ends = substitute(predicate.term, olds)
            spoken = set(variables(ends))
            if spoken <= visible and not spoken.isdisjoint(news):
                returned[x] = ends
        if procedure.name == self.program.main and not self._is_called(procedure.name):
            first = {x: self.program.initial.get(x, x) for x in self.program.globals}
            empty = self.vocabulary({})
            constant |= {x: empty.choose(substitute(begins, first)) for x, begins in given.items()}
            given, returned = {}, {}
        return _Interface(known, given, constant, returned)

    def _is_called(self, name: str) -> bool:
        edges = (edge for p in self.program.procedures.values() for edge in p.edges)
        return any(isinstance(edge.op, Call) and edge.op.procedure == name for edge in edges)

    # ------------------------------------------------------------------------------- procedures

    def procedure(self, procedure: Procedure) -> BooleanProcedure:
        interface = self.interfaces[procedure.name]
        body = _Body(self, procedure)
        steps = {edge: tuple(body.statements(edge)) for edge in procedure.edges}
        declared = {
            x: interface.constant.get(x, UNKNOWN) for x in interface.known if x not in interface.given
        }
        entering = dict.fromkeys((*interface.given, *self.shared), UNKNOWN)
        first = procedure.name == self.program.main
        return BooleanProcedure(
            procedure,
            interface.known,
            tuple(interface.given),
            tuple(interface.returned),
            declared,
            body.received,
            tuple(
                body.consistency.after(
                    {**declared, **entering}, consistent=False, besides=() if first else self.shared
                )
            ),
            steps,
        )


class _Body:
    """The statements of one procedure."""

    def __init__(self, whole: _Abstraction, procedure: Procedure) -> None:
        self.whole = whole
        self.procedure = procedure
        self.known: Known = {**whole.shared, **whole.interfaces[procedure.name].known}
        self.vocabulary = whole.vocabulary({x: p.term for x, p in self.known.items()})
        self.consistency = Consistency(self.vocabulary.contradictions(), whole.budget, whole.statistics)
        self.received: Known = {}  # variables for results of callees
        self._receivers: dict[Expr, Expr] = {}

    def statements(self, edge: Edge) -> Iterable[Statement]:
        op = edge.op
        if isinstance(op, Assume):
            condition = self.vocabulary.weakened(op.condition)
            return [] if condition.always and edge.branch is None else [Guard(condition)]
        if isinstance(op, Assign | Return):
            targets = op.targets if isinstance(op, Assign) else self.procedure.results
            return self._assigned(dict(zip(targets, op.values, strict=True)))
        if isinstance(op, Havoc):
            return self._assigned({x: build.var(f"{x.name}@any", x.sort) for x in op.targets})
        assert isinstance(op, Call), "an edge is a single statement that does not access memory"
        return self._called(op)

    def _assigned(self, values: Mapping[Expr, Expr]) -> list[Statement]:
        """The weakest precondition of an assignment is substitution; any value is a fresh symbol."""
        changes: dict[Expr, Choose] = {}
        for x, predicate in self.known.items():
            before = substitute(predicate.term, values)
            if before is not predicate.term:
                changes[x] = self.vocabulary.choose(before)
        return [*_update(changes), *self.consistency.after(changes)]

    def _called(self, call: Call) -> list[Statement]:
        """What is known after a call: the caller's own predicates before it, the shared ones at the
        callee's exit, and what is returned."""
        program, callee = self.whole.program, self.whole.program.procedures[call.procedure]
        interface = self.whole.interfaces[call.procedure]
        bound = dict(zip(callee.parameters, call.arguments, strict=True))
        arguments = tuple(self.vocabulary.choose(substitute(p, bound)) for p in interface.given.values())
        written = set(self.whole.shapes[call.procedure].written)
        exit_ = {g: build.var(f"{g.name}@exit", g.sort) for g in program.globals if g in written}
        results = {r: build.var(f"{r.name}@exit", r.sort) for r in callee.results}
        after = {**exit_, **dict(zip(call.targets, results.values(), strict=False))}
        changed = {
            x: formula
            for x, p in self.known.items()
            if (formula := substitute(p.term, after)) is not p.term
            and (x not in self.whole.shared or formula is not substitute(p.term, exit_))
        }
        receivers = {x: self._receiver(x, interface.known[x]) for x in interface.returned} if changed else {}
        olds = {**{old(g): g for g in program.globals}, **{old(x): v for x, v in bound.items()}}
        learnt = {**olds, **exit_, **results}
        meaning = {
            x: substitute(p.term, exit_) if x in self.whole.shared else p.term for x, p in self.known.items()
        }
        for x, formula in interface.returned.items():
            if x in receivers:
                meaning[receivers[x]] = substitute(formula, learnt)
        changes: dict[Expr, Choose] = {}
        if changed:
            vocabulary = self.whole.vocabulary(meaning)
            changes = {x: vocabulary.choose(formula) for x, formula in changed.items()}
        shared = self.whole.shared.items()
        moved = {x: UNKNOWN for x, p in shared if not written.isdisjoint(variables(p.term))}
        return [
            Invoke(call.procedure, arguments, tuple(receivers.values())),
            *_update(changes),
            *self.consistency.after({**moved, **changes}, consistent=False, besides=moved.keys() - changes),
        ]

    def _receiver(self, variable: Expr, predicate: Predicate) -> Expr:
        """The variable that takes this result of a callee, the same for all calls."""
        found = self._receivers.get(variable)
        if found is None:
            found = self._receivers[variable] = self.whole.names.variable(f"{variable.name}_returned")
            self.received[found] = predicate
        return found


def _update(changes: Mapping[Expr, Choose]) -> list[Statement]:
    return [Update(tuple(changes), tuple(changes.values()))] if changes else []
