"""Constrained Horn clauses, their models and their derivations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certus.core.terms import Expr, Function
from certus.core.values import Datum
from certus.core.walk import substitute, variables


@dataclass(frozen=True, slots=True)
class Clause:
    """For all `variables`: `constraint` and all of `body` imply `head`; no head means false.

    `body` and `head` are applications of relations."""

    variables: tuple[Expr, ...]
    body: tuple[Expr, ...]
    constraint: Expr
    head: Expr | None

    @property
    def atoms(self) -> tuple[Expr, ...]:
        """All of the body, and the head if there is one."""
        return self.body if self.head is None else (*self.body, self.head)


def clause_of(body: Sequence[Expr], constraint: Expr, head: Expr | None) -> Clause:
    """The clause with just the variables that occur in it."""
    terms = (constraint, *body, *(() if head is None else (head,)))
    return Clause(variables(*terms), tuple(body), constraint, head)


@dataclass(frozen=True, slots=True)
class HornSystem:
    """Clauses over `relations` (functions into Bool): satisfiable means safe."""

    relations: tuple[Function, ...]
    clauses: tuple[Clause, ...]
    source: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """For each relation its parameters and the formula that interprets it."""

    relations: Mapping[Function, tuple[tuple[Expr, ...], Expr]]

    def meaning(self, atom: Expr) -> Expr:
        """What the model says of a relation's application."""
        parameters, formula = self.relations[atom.function]
        return substitute(formula, dict(zip(parameters, atom.args, strict=True)))


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a clause: the values of its variables and the steps (by position) that
    derive its body atoms."""

    clause: int
    values: tuple[Datum, ...]
    premises: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A DAG of steps, premises first; the last one applies a clause without head."""

    steps: tuple[Step, ...]
