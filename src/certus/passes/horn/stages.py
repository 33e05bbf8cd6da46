"""Represent simplifications of Horn clauses with back maps for models and derivations.

A new clause that combines old clauses is a tree: each node applies an old clause to other nodes or to
premises of the new clause, with terms over the new clause's variables as values. So replacing each step by
its tree turns a derivation from new clauses into one from old clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certus.core import build
from certus.core.horn import Clause, Derivation, HornSystem, Model, Step, clause_of, parameters
from certus.core.intervals import conjuncts
from certus.core.terms import Expr, Function
from certus.core.values import Datum, default_value, evaluate
from certus.core.walk import substitute, substitute_all, variables
from certus.encoding.bindings import bindings

Meaning = tuple[tuple[Expr, ...], Expr]  # the parameters of a relation and a formula over them


@dataclass(frozen=True, slots=True)
class Use:
    """An application of an old clause with values for its variables. A premise n >= 0 is the node with that
    number; -1, -2, ... are the premises of the new clause."""

    clause: int
    values: tuple[Expr, ...]
    premises: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DerivedClause:
    """A new clause and its tree of old clauses, the root last."""

    clause: Clause
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A simplification of `before` to `after` with its back maps. `model` returns a model of the old clauses
    (None if it finds none), `derivation` a derivation from them."""

    name: str
    before: HornSystem
    after: HornSystem
    model: Callable[[Model], Model | None]
    derivation: Callable[[Derivation], Derivation]


def unchanged(number: int, clause: Clause) -> DerivedClause:
    """Return a clause that does not change."""
    return DerivedClause(clause, (plain_use(number, clause),))


def plain_use(number: int, clause: Clause) -> Use:
    """Return the application of a clause to its own variables and premises."""
    return Use(number, clause.variables, tuple(-1 - n for n in range(len(clause.body))))


def simplified(clause: Clause) -> tuple[Clause, dict[Expr, Expr]] | None:
    """Return the clause without variables that have an equation, and their values; None if it cannot
    apply."""
    constraint, values = clause.constraint, dict[Expr, Expr]()
    while equations := bindings(conjuncts(constraint)):
        constraint = substitute(constraint, equations)
        values = dict(zip(values, substitute_all(values.values(), equations), strict=True)) | equations
    if constraint is build.FALSE:
        return None
    if not values:
        return (clause, values)
    atoms = substitute_all(clause.atoms, values)
    body = atoms[: len(clause.body)]
    return clause_of(body, constraint, None if clause.head is None else atoms[-1]), values


def stage(
    name: str, before: HornSystem, derived: list[DerivedClause], model: Callable[[Model], Model | None]
) -> Stage:
    """Return the stage that replaces the old clauses by these."""
    used: dict[Function, None] = {}
    for item in derived:
        used.update((atom.function, None) for atom in item.clause.atoms)
    after = HornSystem(
        tuple(r for r in before.relations if r in used),
        tuple(item.clause for item in derived),
        before.source,
        before.file,
    )
    return Stage(name, before, after, model, lambda derivation: expanded(derived, derivation))


def expanded(derived: list[DerivedClause], derivation: Derivation) -> Derivation:
    """Turn a derivation from derived clauses into one from the old clauses."""
    steps: list[Step] = []
    roots: list[int] = []
    for step in derivation.steps:
        item = derived[step.clause]
        env: dict[Expr, Datum] = dict(zip(item.clause.variables, step.values, strict=True))
        for x in variables(*(v for use in item.uses for v in use.values)):
            env.setdefault(x, default_value(x.sort))  # a variable without influence
        places: list[int] = []
        for use in item.uses:
            premises = tuple(places[p] if p >= 0 else roots[step.premises[-1 - p]] for p in use.premises)
            places.append(len(steps))
            steps.append(Step(use.clause, tuple(evaluate(v, env) for v in use.values), premises))
        roots.append(places[-1])
    return Derivation(tuple(steps))


def widened(relation: Function, places: Sequence[int], narrow: Meaning) -> Meaning:
    """Turn a formula over some argument positions into one over all parameters of a relation."""
    whole, (kept, formula) = parameters(relation), narrow
    return whole, substitute(formula, {p: whole[n] for p, n in zip(kept, places, strict=True)})


def default(model: Model, relations: tuple[Function, ...], formula: Expr) -> Model:
    """Add `formula`, true or false, for the relations that the model lacks."""
    missing = {r: (parameters(r), formula) for r in relations if r not in model.relations}
    return Model({**model.relations, **missing})
