"""Constrained Horn clauses solved by z3's Spacer.

The transformations that merge and slice clauses are off: they lead to models of point values and
quantifiers. A model is read back as it is; whoever relies on it checks it first.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem, Model
from certus.core.sorts import BOOL, MachineSort, Sort
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function
from certus.logic.solver import Answer
from certus.logic.z3api import Z3Context, pointers
from certus.logic.z3read import Unreadable, Z3Reader
from certus.logic.z3terms import Z3Terms

_ANSWERS: Final = {1: Answer.SAT, -1: Answer.UNSAT, 0: Answer.UNKNOWN}
_UNLIMITED: Final = (1 << 32) - 1  # milliseconds, as z3 counts them
_OFF: Final = ("xform.inline_eager", "xform.inline_linear", "xform.slice")
_AND, _EQ = 0x105, 0x102  # operators of z3
_HYPER_RESOLUTION, _MODUS_PONENS = 0x529, 0x504  # steps of proofs
_QUANTIFIER: Final = 3  # a kind of syntax tree


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation that holds of values, because the facts at `premises` do."""

    relation: Function
    values: tuple[Expr, ...]
    premises: tuple[int, ...]


def horn_model(
    system: HornSystem, *, budget: Budget, statistics: Statistics, purpose: str, effort: int | None = None
) -> Model | None:
    """A model of the clauses; None if there is none, if z3 finds none, or one that cannot be read."""
    found = horn_answer(system, budget=budget, statistics=statistics, purpose=purpose, effort=effort)
    return found if isinstance(found, Model) else None


def horn_answer(
    system: HornSystem, *, budget: Budget, statistics: Statistics, purpose: str, effort: int | None = None
) -> Model | list[Fact] | None:
    """A model of the clauses, or facts that derive false; None if z3 finds neither, or nothing that can be
    read. `effort` limits the search in z3's unit of work, so that it ends at the same point every time."""
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
    """The clauses in one context. The query is whether a relation `false` of our own is derivable.
    `simplified`: z3 may merge and slice clauses first."""

    def __init__(self, system: HornSystem, *, simplified: bool = False) -> None:
        self._system: Final = system
        self._context: Final = Z3Context()
        self._call: Final = self._context.call
        self._pointer: Final = self._context.pointer
        self._terms: Final = Z3Terms(self._context)
        self._failure: Final = build.apply(Function("@false", (), BOOL), ())
        made = self._call["mk_fixedpoint"](self._pointer)
        if made is None:
            raise self._context.error()
        self._fixedpoint: Final[int] = made
        self._call["fixedpoint_inc_ref"](self._pointer, made)
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
        """Whether a clause without head applies: UNSAT means the clauses have a model."""
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
        """The interpretation z3 found."""
        answer = self._context.keep(self._call["fixedpoint_get_answer"](self._pointer, self._fixedpoint))
        reader = Z3Reader(self._context, {})
        by_declaration = {self._terms.function(r): r for r in self._system.relations}
        found: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for equation in reader.arguments(answer) if reader.operator(answer) == _AND else [answer]:
            body = equation
            if self._call["get_ast_kind"](self._pointer, equation) == _QUANTIFIER:
                body = self._call["get_quantifier_body"](self._pointer, equation)
            if reader.operator(body) != _EQ:
                raise Unreadable("an answer that is no definition")
            applied, meaning = reader.arguments(body)
            relation = by_declaration.get(reader.declaration(applied) or 0)
            if relation is None:
                continue
            parameters = tuple(build.var(f"@{i}", s) for i, s in enumerate(relation.parameters))
            bound = {
                self._call["get_index_value"](self._pointer, v): p
                for v, p in zip(reader.arguments(applied), parameters, strict=True)
            }
            found[relation] = (parameters, reader.read(meaning, bound))
        derivable = _derivable(self._system)
        for relation in self._system.relations:
            if relation not in found:  # it does not matter: nothing derives it, or no query needs it
                parameters = tuple(build.var(f"@{i}", s) for i, s in enumerate(relation.parameters))
                found[relation] = (parameters, build.boolean(relation in derivable))
        return Model(found)

    def refutation(self) -> list[Fact]:
        """How `false` was derived: facts, each after those it follows from. The last one is `false`."""
        answer = self._context.keep(self._call["fixedpoint_get_answer"](self._pointer, self._fixedpoint))
        reader = Z3Reader(self._context, {})
        by_declaration = {
            self._terms.function(r): r for r in (*self._system.relations, self._failure.function)
        }
        found: list[Fact] = []
        places: dict[int, int | None] = {}  # of the steps of z3's proof, in `found`
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
            places[step] = None if fact is None else len(found)
            if fact is not None:
                found.append(fact)
        if not found or found[-1].relation is not self._failure.function:
            raise Unreadable("a refutation that does not end")
        return found

    def _fact(
        self, reader: Z3Reader, step: int, relations: Mapping[int, Function], used: tuple[int, ...]
    ) -> Fact | None:
        """What a step of z3's proof concludes about a relation of ours, if it does."""
        if reader.operator(step) != _HYPER_RESOLUTION:
            return None
        conclusion = reader.arguments(step)[-1]
        relation = relations.get(reader.declaration(conclusion) or 0)
        if relation is None:
            return None
        arguments = zip(reader.arguments(conclusion), relation.parameters, strict=True)
        return Fact(relation, tuple(_as(reader.read(a, {}), sort) for a, sort in arguments), used)


def _derivable(system: HornSystem) -> dict[Function, None]:
    """The relations that clauses may derive something of."""
    found: dict[Function, None] = {}
    size = -1
    while len(found) > size:
        size = len(found)
        for clause in system.clauses:
            if clause.head is not None and all(a.function in found for a in clause.body):
                found[clause.head.function] = None
    return found


def _premises(reader: Z3Reader, step: int) -> list[int]:
    """The steps of z3's proof that a step uses."""
    if reader.operator(step) not in (_HYPER_RESOLUTION, _MODUS_PONENS):
        return []
    return [
        a for a in reader.arguments(step)[:-1] if reader.operator(a) in (_HYPER_RESOLUTION, _MODUS_PONENS)
    ]


def _as(term: Expr, sort: Sort) -> Expr:
    """z3 does not tell signed from unsigned."""
    return build.wrap(term, sort) if isinstance(sort, MachineSort) else term
