"""Solve constrained Horn clauses with z3's Spacer.

z3's transformations that merge and slice clauses are off by default: they lead to models of single values and
quantifiers. A model is returned as z3 states it; callers must check it before they rely on it.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, parameters
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr, Function, MachineSort, Sort
from certus.solvers.z3.api import Z3Context, pointers
from certus.solvers.z3.reader import Unreadable, Z3Reader
from certus.solvers.z3.terms import Z3Terms

_ANSWERS: Final = {1: Answer.SAT, -1: Answer.UNSAT, 0: Answer.UNKNOWN}
_UNLIMITED: Final = (1 << 32) - 1  # z3's value for no limit on milliseconds
_OFF: Final = ("xform.inline_eager", "xform.inline_linear", "xform.slice")
_AND, _EQ = 0x105, 0x102  # z3's operator kinds
_HYPER_RESOLUTION, _MODUS_PONENS = 0x529, 0x504  # kinds of proof steps
_QUANTIFIER: Final = 3  # z3's kind of syntax tree


@dataclass(frozen=True, slots=True)
class Fact:
    """A derived fact: the relation holds of the values because the facts at `premises` hold."""

    relation: Function
    values: tuple[Expr, ...]
    premises: tuple[int, ...]


def horn_model(
    system: HornSystem, *, budget: Budget, statistics: Statistics, purpose: str, effort: int | None = None
) -> Model | None:
    """Return a model of the clauses; None if z3 finds none, or one that cannot be read back."""
    answer = horn_answer(system, budget=budget, statistics=statistics, purpose=purpose, effort=effort)
    return answer if isinstance(answer, Model) else None


def horn_answer(
    system: HornSystem, *, budget: Budget, statistics: Statistics, purpose: str, effort: int | None = None
) -> Model | list[Fact] | None:
    """Return a model of the clauses, or facts that derive false; None if z3 finds neither, or its answer
    cannot be read back. `effort` is z3's `rlimit`: the search then ends at the same point every time."""
    budget.check()
    statistics.count(f"solver.{purpose}")
    with statistics.timed(f"solver.{purpose}"):
        fixedpoint = Fixedpoint(system)
        try:
            answer = fixedpoint.query(budget, effort)
            if answer is Answer.UNKNOWN:
                return None
            return fixedpoint.model() if answer is Answer.UNSAT else fixedpoint.refutation()
        except Unreadable:
            return None
        finally:
            fixedpoint.close()


class Fixedpoint:
    """Clauses in a z3 context of their own. Clauses without head derive the relation `@false`, which is the
    query. `simplified`: whether z3 may merge and slice clauses first."""

    def __init__(self, system: HornSystem, *, simplified: bool = False) -> None:
        self._system: Final = system
        self._context: Final = Z3Context()
        self._call: Final = self._context.call
        self._pointer: Final = self._context.pointer
        self._terms: Final = Z3Terms(self._context)
        self._failure: Final = build.apply(Function("@false", (), BOOL), ())
        fixedpoint = self._call["mk_fixedpoint"](self._pointer)
        if fixedpoint is None:
            raise self._context.error()
        self._fixedpoint: Final[int] = fixedpoint
        self._call["fixedpoint_inc_ref"](self._pointer, fixedpoint)
        self._configure(simplified)
        for relation in (*system.relations, self._failure.function):
            self._call["fixedpoint_register_relation"](
                self._pointer, self._fixedpoint, self._terms.function(relation)
            )
        for number, clause in enumerate(system.clauses):
            self._add(clause, number)
        self._context.check()

    def close(self) -> None:
        self._call["fixedpoint_dec_ref"](self._pointer, self._fixedpoint)
        self._context.close()

    def _configure(self, simplified: bool) -> None:
        call, pointer = self._call, self._pointer
        parameters = call["mk_params"](pointer)
        call["params_inc_ref"](pointer, parameters)
        try:
            key, engine = (call["mk_string_symbol"](pointer, word) for word in (b"engine", b"spacer"))
            call["params_set_symbol"](pointer, parameters, key, engine)
            for name in () if simplified else _OFF:
                symbol = call["mk_string_symbol"](pointer, name.encode())
                call["params_set_bool"](pointer, parameters, symbol, False)
            call["fixedpoint_set_params"](pointer, self._fixedpoint, parameters)
            self._context.check()
        finally:
            call["params_dec_ref"](pointer, parameters)

    def _add(self, clause: Clause, number: int) -> None:
        call, pointer = self._call, self._pointer
        head = self._failure if clause.head is None else clause.head
        body = self._terms.ast(build.and_(clause.constraint, *clause.body))
        rule = self._context.keep(call["mk_implies"](pointer, body, self._terms.ast(head)))
        if clause.variables:
            bound = [self._terms.ast(x) for x in clause.variables]
            rule = self._context.keep(
                call["mk_forall_const"](pointer, 0, len(bound), pointers(bound), 0, None, rule)
            )
        name = call["mk_int_symbol"](pointer, number)
        call["fixedpoint_add_rule"](pointer, self._fixedpoint, rule, name)

    def query(self, budget: Budget, effort: int | None) -> Answer:
        """Check whether a clause without head applies; UNSAT means the clauses have a model."""
        left = budget.remaining()
        milliseconds = _UNLIMITED if left is None else max(1, min(ceil(left * 1000), _UNLIMITED - 1))
        self._call["update_param_value"](self._pointer, b"timeout", str(milliseconds).encode())
        self._call["update_param_value"](self._pointer, b"rlimit", str(effort or 0).encode())
        goal = self._terms.ast(self._failure)
        answer = _ANSWERS[self._call["fixedpoint_query"](self._pointer, self._fixedpoint, goal)]
        if answer is Answer.UNKNOWN:
            reason = self._call["fixedpoint_get_reason_unknown"](self._pointer, self._fixedpoint) or b""
            if reason == b"interrupted from keyboard":
                signal.raise_signal(signal.SIGINT)
        return answer

    def model(self) -> Model:
        """Return z3's interpretation of the relations."""
        answer = self._context.keep(self._call["fixedpoint_get_answer"](self._pointer, self._fixedpoint))
        reader = Z3Reader(self._context, {})
        by_declaration = {self._terms.function(r): r for r in self._system.relations}
        interpretation: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for equation in reader.arguments(answer) if reader.operator(answer) == _AND else [answer]:
            body = equation
            if self._call["get_ast_kind"](self._pointer, equation) == _QUANTIFIER:
                body = self._call["get_quantifier_body"](self._pointer, equation)
            if reader.operator(body) != _EQ:
                raise Unreadable("an answer that is not a definition")
            applied, meaning = reader.arguments(body)
            relation = by_declaration.get(reader.declaration(applied) or 0)
            if relation is None:
                continue
            names = parameters(relation)
            bound = {
                self._call["get_index_value"](self._pointer, v): p
                for v, p in zip(reader.arguments(applied), names, strict=True)
            }
            interpretation[relation] = (names, reader.read(meaning, bound))
        derivable = _derivable(self._system)
        for relation in self._system.relations:
            if relation not in interpretation:  # irrelevant: nothing derives it, or no query needs it
                interpretation[relation] = (parameters(relation), build.boolean(relation in derivable))
        return Model(interpretation)

    def refutation(self) -> list[Fact]:
        """Return the facts of z3's refutation, premises first; the last one is `@false`."""
        answer = self._context.keep(self._call["fixedpoint_get_answer"](self._pointer, self._fixedpoint))
        reader = Z3Reader(self._context, {})
        by_declaration = {
            self._terms.function(r): r for r in (*self._system.relations, self._failure.function)
        }
        facts: list[Fact] = []
        places: dict[int, int | None] = {}  # the index in `facts` of each step of z3's proof
        stack = [answer]
        while stack:
            step = stack[-1]
            premises = [] if step in places else _premises(reader, step)
            missing = [p for p in premises if p not in places]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if step in places:
                continue
            used = tuple(place for p in premises if (place := places[p]) is not None)
            fact = self._fact(reader, step, by_declaration, used)
            places[step] = None if fact is None else len(facts)
            if fact is not None:
                facts.append(fact)
        if not facts or facts[-1].relation is not self._failure.function:
            raise Unreadable("a refutation that does not end")
        return facts

    def _fact(
        self, reader: Z3Reader, step: int, relations: Mapping[int, Function], used: tuple[int, ...]
    ) -> Fact | None:
        """Return the conclusion of a step of z3's proof, if it is about a relation of the system."""
        if reader.operator(step) != _HYPER_RESOLUTION:
            return None
        conclusion = reader.arguments(step)[-1]
        relation = relations.get(reader.declaration(conclusion) or 0)
        if relation is None:
            return None
        arguments = zip(reader.arguments(conclusion), relation.parameters, strict=True)
        return Fact(relation, tuple(_as(reader.read(a, {}), sort) for a, sort in arguments), used)


def _derivable(system: HornSystem) -> dict[Function, None]:
    """Return the relations for which the clauses may derive facts."""
    derivable: dict[Function, None] = {}
    size = -1
    while len(derivable) > size:
        size = len(derivable)
        for clause in system.clauses:
            if clause.head is not None and all(a.function in derivable for a in clause.body):
                derivable[clause.head.function] = None
    return derivable


def _premises(reader: Z3Reader, step: int) -> list[int]:
    """Return the premises of a step of z3's proof."""
    if reader.operator(step) not in (_HYPER_RESOLUTION, _MODUS_PONENS):
        return []
    return [
        a for a in reader.arguments(step)[:-1] if reader.operator(a) in (_HYPER_RESOLUTION, _MODUS_PONENS)
    ]


def _as(term: Expr, sort: Sort) -> Expr:
    """Convert a term to its sort, since z3 does not distinguish signed from unsigned."""
    return build.wrap(term, sort) if isinstance(sort, MachineSort) else term
