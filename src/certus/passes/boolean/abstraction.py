"""Compute B(P), the Boolean program of a program and predicates (Wolff 2015, section 3, after Ball et al.
2001).

Each edge is abstracted separately: an assignment to `F(wp(s, p)) ? true : F(wp(s, not p)) ? false : any` for
each predicate p it may change, a condition c to the assumption G(c). Two points go beyond the seed:

- *Parameters and results.* Predicates of a procedure over its parameters, globals and `old` values become
  parameters of its abstraction. Predicates over results or globals that it writes, but over no other locals,
  are returned. A caller passes the values that its own predicates imply for the former, over its arguments,
  and gains values of its predicates from the latter.
- *Contradictions.* Independent nondeterministic values may contradict each other: `x <= 3` and not `x <= 5`.
  Where a step can lead to such values of predicates, an assumption excludes them.

Invariant: if an edge leads from one concrete state to another, its statements lead from the predicates'
values in the first state to those in the second. So every execution of P is one of B(P).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.boolean import (
    FALSE,
    TRUE,
    UNKNOWN,
    BooleanProcedure,
    BooleanProgram,
    Choose,
    Condition,
    Cube,
    Guard,
    Invoke,
    Literal,
    Predicate,
    ScopedPredicates,
    Statement,
    Update,
)
from certus.core.effects import procedure_writes, written
from certus.core.evidence import old
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Procedure, Program, Return
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr
from certus.core.walk import substitute, variables
from certus.passes.boolean.strengthening import MINTERMS, Vocabulary
from certus.solvers.z3.solver import Z3Solver

Predicates = dict[Expr, Predicate]  # by their Boolean variables


def abstract_program(
    program: Program,
    predicates: ScopedPredicates,
    *,
    budget: Budget,
    statistics: Statistics,
    minterms: int = MINTERMS,
) -> BooleanProgram:
    """Abstract a program without memory operations, whose edges are single statements."""
    work = _Abstraction(program, predicates, budget, statistics, minterms)
    procedures = {name: work.procedure(p) for name, p in program.procedures.items()}
    initial = {x: program.initial.get(x, x) for x in program.globals}
    start = work.vocabulary({})
    shared = {x: start.choose(substitute(p.term, initial)) for x, p in work.shared.items()}
    return BooleanProgram(program, work.shared, shared, procedures)


@dataclass(frozen=True, slots=True)
class _Interface:
    """The interface of a procedure's abstraction: Boolean variables and the predicates they represent.

    `passed` are formulas over globals and parameters at the entry, `returned` over globals and results at the
    exit and `old` values of globals and parameters. `constant` variables have a fixed value at the entry."""

    predicates: Predicates
    passed: Mapping[Expr, Expr]
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
    writes: Mapping[str, tuple[Expr, ...]] = field(init=False)
    shared: Predicates = field(init=False)
    interfaces: dict[str, _Interface] = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names(self.program.procedures)
        self.writes = procedure_writes(self.program)
        self.shared = self._named(self.predicates.shared)
        self.interfaces = {name: self._interface(p) for name, p in self.program.procedures.items()}

    def _named(self, predicates: Iterable[Predicate]) -> Predicates:
        return {self.names.variable(p.text): p for p in predicates}

    def vocabulary(self, meaning: Mapping[Expr, Expr]) -> Vocabulary:
        return Vocabulary(meaning, budget=self.budget, statistics=self.statistics, minterms=self.minterms)

    def _interface(self, procedure: Procedure) -> _Interface:
        """Compute the interface of a procedure; main has no parameters unless it is called."""
        own = self._named(self.predicates.own.get(procedure.name, ()))
        inputs = (*self.program.globals, *procedure.parameters)
        at_entry = {old(x): x for x in inputs}
        written = set(self.writes[procedure.name])
        kept = [x for x in inputs if x not in written]
        olds = {x: old(x) for x in kept}
        news = {*(x for x in self.program.globals if x in written), *procedure.results}
        visible = {*news, *at_entry}
        passed: dict[Expr, Expr] = {}
        constant: dict[Expr, Choose] = {}
        returned: dict[Expr, Expr] = {}
        for x, predicate in own.items():
            at_start = substitute(predicate.term, at_entry)
            if at_start in (build.TRUE, build.FALSE):
                constant[x] = TRUE if at_start is build.TRUE else FALSE
            elif set(variables(at_start)) <= set(inputs):
                passed[x] = at_start
            at_end = substitute(predicate.term, olds)
            mentioned = set(variables(at_end))
            if mentioned <= visible and not mentioned.isdisjoint(news):
                returned[x] = at_end
        if procedure.name == self.program.main and not self._is_called(procedure.name):
            first = {x: self.program.initial.get(x, x) for x in self.program.globals}
            empty = self.vocabulary({})
            constant |= {x: empty.choose(substitute(at_start, first)) for x, at_start in passed.items()}
            passed, returned = {}, {}
        return _Interface(own, passed, constant, returned)

    def _is_called(self, name: str) -> bool:
        edges = (edge for p in self.program.procedures.values() for edge in p.edges)
        return any(isinstance(edge.op, Call) and edge.op.procedure == name for edge in edges)

    # ------------------------------------------------------------------------------- procedures

    def procedure(self, procedure: Procedure) -> BooleanProcedure:
        interface = self.interfaces[procedure.name]
        body = _Body(self, procedure)
        steps = {edge: tuple(body.statements(edge)) for edge in procedure.edges}
        declared = {
            x: interface.constant.get(x, UNKNOWN) for x in interface.predicates if x not in interface.passed
        }
        entering = dict.fromkeys((*interface.passed, *self.shared), UNKNOWN)
        first = procedure.name == self.program.main
        return BooleanProcedure(
            procedure,
            interface.predicates,
            tuple(interface.passed),
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
    """The abstraction of the statements of one procedure."""

    def __init__(self, whole: _Abstraction, procedure: Procedure) -> None:
        self.whole = whole
        self.procedure = procedure
        self.predicates: Predicates = {**whole.shared, **whole.interfaces[procedure.name].predicates}
        self.vocabulary = whole.vocabulary({x: p.term for x, p in self.predicates.items()})
        self.consistency = Consistency(self.vocabulary.contradictions(), whole.budget, whole.statistics)
        self.received: Predicates = {}  # variables for results of callees
        self._receivers: dict[Expr, Expr] = {}

    def statements(self, edge: Edge) -> Iterable[Statement]:
        op = edge.op
        if isinstance(op, Assume):
            condition = self.vocabulary.weakened(op.condition)
            return [] if condition.always and edge.branch is None else [Guard(condition)]
        if isinstance(op, Assign | Return):
            targets = written(op, self.procedure)
            return self._assigned(dict(zip(targets, op.values, strict=True)))
        if isinstance(op, Havoc):
            return self._assigned({x: build.var(f"{x.name}@any", x.sort) for x in op.targets})
        assert isinstance(op, Call), "an edge is a single statement that does not access memory"
        return self._called(op)

    def _assigned(self, values: Mapping[Expr, Expr]) -> list[Statement]:
        """Abstract an assignment by substitution, its weakest precondition; a nondeterministic value is a
        symbol."""
        changes: dict[Expr, Choose] = {}
        for x, predicate in self.predicates.items():
            before = substitute(predicate.term, values)
            if before is not predicate.term:
                changes[x] = self.vocabulary.choose(before)
        return [*_update(changes), *self.consistency.after(changes)]

    def _called(self, call: Call) -> list[Statement]:
        """Abstract a call. Values after it follow from the caller's own predicates before it, from shared
        ones at the callee's exit, and from returned ones."""
        program, callee = self.whole.program, self.whole.program.procedures[call.procedure]
        interface = self.whole.interfaces[call.procedure]
        bound = dict(zip(callee.parameters, call.arguments, strict=True))
        arguments = tuple(self.vocabulary.choose(substitute(p, bound)) for p in interface.passed.values())
        written = set(self.whole.writes[call.procedure])
        exit_ = {g: build.var(f"{g.name}@exit", g.sort) for g in program.globals if g in written}
        results = {r: build.var(f"{r.name}@exit", r.sort) for r in callee.results}
        after = {**exit_, **dict(zip(call.targets, results.values(), strict=False))}
        changed = {
            x: formula
            for x, p in self.predicates.items()
            if (formula := substitute(p.term, after)) is not p.term
            and (x not in self.whole.shared or formula is not substitute(p.term, exit_))
        }
        receivers: dict[Expr, Expr] = {}
        if changed:
            receivers = {x: self._receiver(x, interface.predicates[x]) for x in interface.returned}
        olds = {**{old(g): g for g in program.globals}, **{old(x): v for x, v in bound.items()}}
        at_caller = {**olds, **exit_, **results}
        meaning = {
            x: substitute(p.term, exit_) if x in self.whole.shared else p.term
            for x, p in self.predicates.items()
        }
        for x, formula in interface.returned.items():
            if x in receivers:
                meaning[receivers[x]] = substitute(formula, at_caller)
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
        """Return the variable for this result of a callee, the same for all calls."""
        receiver = self._receivers.get(variable)
        if receiver is None:
            receiver = self._receivers[variable] = self.whole.names.variable(f"{variable.name}_returned")
            self.received[receiver] = predicate
        return receiver


def _update(changes: Mapping[Expr, Choose]) -> list[Statement]:
    return [Update(tuple(changes), tuple(changes.values()))] if changes else []


_WORDS: Final = {
    "<=": "le",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    ">": "gt",
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "over",
    "%": "mod",
    "&&": "and",
    "||": "or",
    "!": "not",
}
_TOKEN: Final = re.compile(r"[A-Za-z_0-9]+|&&|\|\||[<>=!]=|[-<>+*/%!]")
_LONGEST: Final = 40
_KEYWORDS: Final = (
    *("int", "bool", "void", "if", "else", "while", "goto", "break", "continue", "return"),
    *("assert", "assume", "true", "false", "unknown", "main", "ERROR"),
)


class Names:
    """A generator of unique names."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *_KEYWORDS}

    def variable(self, text: str) -> Expr:
        """Return a Boolean variable for the predicate with this text."""
        words = [_WORDS.get(token, token) for token in _TOKEN.findall(text)]
        base = "_".join(words)
        if not base or len(base) > _LONGEST:
            base = "p"
        elif base[0].isdigit():
            base = f"p_{base}"
        name = base if base != "p" else "p1"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}{number}" if base == "p" else f"{base}_{number}"
        self._taken.add(name)
        return build.var(name, BOOL)


class Consistency:
    """The contradictions between predicates of a procedure."""

    def __init__(self, contradictions: Sequence[Cube], budget: Budget, statistics: Statistics) -> None:
        self._cubes = tuple(contradictions)
        self._budget = budget
        self._solver = Z3Solver(statistics)
        self._solver.add(Condition(self._cubes, negated=True).term())
        self._free = Z3Solver(statistics)

    def after(
        self, changes: Mapping[Expr, Choose], *, consistent: bool = True, besides: Collection[Expr] = ()
    ) -> list[Guard]:
        """Return the assumption, if one is needed, after a simultaneous assignment of these values.

        `consistent`: the values before have no contradictions. `besides`: variables that do not contradict
        each other."""
        solver = self._solver if consistent else self._free
        possible = []
        for cube in self._cubes:
            if any(x in changes for x, _ in cube) and any(x not in besides for x, _ in cube):
                literals = [_may_be(literal, changes) for literal in cube]
                answer = solver.check(literals, budget=self._budget, purpose="abstraction")
                if answer is not Answer.UNSAT:
                    possible.append(cube)
        return [Guard(Condition(tuple(possible), negated=True))] if possible else []


def _may_be(literal: Literal, changes: Mapping[Expr, Choose]) -> Expr:
    """Return the condition before a step under which the literal may be true after it."""
    x, value = literal
    chosen = changes.get(x)
    if chosen is None:
        return x if value else build.not_(x)
    yes, no = chosen.yes.term(), chosen.no.term()
    return build.or_(yes, build.not_(no)) if value else build.not_(yes)
