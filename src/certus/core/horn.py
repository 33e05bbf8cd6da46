"""Constrained Horn clauses, their models and their derivations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certus.core import build
from certus.core.terms import Expr, Function
from certus.core.values import Datum
from certus.core.walk import substitute, variables


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: for all `variables`, `constraint` and all of `body` imply `head`; no head means false.

    `body` and `head` are applications of relations."""

    variables: tuple[Expr, ...]
    body: tuple[Expr, ...]
    constraint: Expr
    head: Expr | None

    @property
    def atoms(self) -> tuple[Expr, ...]:
        """The body, and the head if there is one."""
        return self.body if self.head is None else (*self.body, self.head)


def clause_of(body: Sequence[Expr], constraint: Expr, head: Expr | None) -> Clause:
    """Return the clause over the variables that occur in it."""
    terms = (constraint, *body, *(() if head is None else (head,)))
    return Clause(variables(*terms), tuple(body), constraint, head)


def parameters(relation: Function) -> tuple[Expr, ...]:
    """Return the variables `@0`, `@1`, ... for the parameters of a relation."""
    return tuple(build.var(f"@{n}", sort) for n, sort in enumerate(relation.parameters))


@dataclass(frozen=True, slots=True)
class HornSystem:
    """Clauses over `relations`, which are functions into Bool. Satisfiable means safe."""

    relations: tuple[Function, ...]
    clauses: tuple[Clause, ...]
    source: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """An interpretation: for each relation its parameters and its formula."""

    relations: Mapping[Function, tuple[tuple[Expr, ...], Expr]]

    def meaning(self, atom: Expr) -> Expr:
        """Return the formula of an application of a relation."""
        parameters, formula = self.relations[atom.function]
        return substitute(formula, dict(zip(parameters, atom.args, strict=True)))


@dataclass(frozen=True, slots=True)
class Step:
    """An application of a clause: the values of its variables, and the steps (by position) that derive the
    atoms of its body."""

    clause: int
    values: tuple[Datum, ...]
    premises: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A refutation: a DAG of steps, premises first. The last one applies a clause without head."""

    steps: tuple[Step, ...]
