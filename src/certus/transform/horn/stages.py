"""Simplified Horn clauses, with the way back for models and derivations.

A clause made from others is a tree of them: each node applies an old clause, with values that are terms over
the new clause's variables, to other nodes or to the new clause's own premises. So a derivation from new
clauses becomes one from old ones by putting the trees in the place of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certus.core import build
from certus.core.evaluate import evaluate
from certus.core.horn import Clause, Derivation, HornSystem, Model, Step
from certus.core.terms import Expr, Function
from certus.core.values import Datum, default_value
from certus.core.walk import substitute, variables

Meaning = tuple[tuple[Expr, ...], Expr]  # parameters, and a formula over them


@dataclass(frozen=True, slots=True)
class Use:
    """An old clause, with the values of its variables. A premise n >= 0 is the node before with that number,
    -1, -2, ... are the premises of the new clause."""

    clause: int
    values: tuple[Expr, ...]
    premises: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """A new clause and the nodes it is made of, the root last."""

    clause: Clause
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A simplification of `before` into `after`. `model` completes a model by what it lacks (None if that is
    not found), `derivation` gives one from the old clauses."""

    name: str
    before: HornSystem
    after: HornSystem
    model: Callable[[Model], Model | None]
    derivation: Callable[[Derivation], Derivation]


def unchanged(number: int, clause: Clause) -> Made:
    """A clause that stays what it was."""
    return Made(clause, (plain_use(number, clause),))


def plain_use(number: int, clause: Clause) -> Use:
    return Use(number, clause.variables, tuple(-1 - n for n in range(len(clause.body))))


def stage(name: str, before: HornSystem, made: list[Made], model: Callable[[Model], Model | None]) -> Stage:
    """The stage that puts these clauses in the place of the old ones."""
    used: dict[Function, None] = {}
    for item in made:
        used.update((atom.function, None) for atom in item.clause.atoms)
    after = HornSystem(
        tuple(r for r in before.relations if r in used),
        tuple(item.clause for item in made),
        before.source,
        before.file,
    )
    return Stage(name, before, after, model, lambda found: expanded(made, found))


def expanded(made: list[Made], derivation: Derivation) -> Derivation:
    """A derivation from the old clauses, given one from those that were made of them."""
    steps: list[Step] = []
    roots: list[int] = []
    for step in derivation.steps:
        item = made[step.clause]
        env: dict[Expr, Datum] = dict(zip(item.clause.variables, step.values, strict=True))
        for x in variables(*(v for use in item.uses for v in use.values)):
            env.setdefault(x, default_value(x.sort))  # a variable that does not matter any more
        places: list[int] = []
        for use in item.uses:
            premises = tuple(places[p] if p >= 0 else roots[step.premises[-1 - p]] for p in use.premises)
            places.append(len(steps))
            steps.append(Step(use.clause, tuple(evaluate(v, env) for v in use.values), premises))
        roots.append(places[-1])
    return Derivation(tuple(steps))


def widened(relation: Function, places: Sequence[int], narrow: Meaning) -> Meaning:
    """What is said of a relation by what was said of those of its arguments that were left."""
    whole = tuple(build.var(f"@{n}", sort) for n, sort in enumerate(relation.parameters))
    parameters, formula = narrow
    return whole, substitute(formula, {p: whole[n] for p, n in zip(parameters, places, strict=True)})


def default(model: Model, relations: tuple[Function, ...], formula: Expr) -> Model:
    """The model where relations it says nothing of mean `formula`, true or false."""
    missing = {
        r: (tuple(build.var(f"@{n}", s) for n, s in enumerate(r.parameters)), formula)
        for r in relations
        if r not in model.relations
    }
    return Model({**model.relations, **missing})
