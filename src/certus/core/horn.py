"""Constrained Horn clauses, their models and their derivations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from certus.core.terms import Expr, Function
from certus.core.values import Datum


@dataclass(frozen=True, slots=True)
class Clause:
    """For all `variables`: `constraint` and all of `body` imply `head`; no head means false.

    `body` and `head` are applications of relations."""

    variables: tuple[Expr, ...]
    body: tuple[Expr, ...]
    constraint: Expr
    head: Expr | None


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
