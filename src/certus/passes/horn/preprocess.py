"""Simplify Horn clauses by stages until nothing changes.

    values      eliminate variables with an equation; remove trivial clauses
    reachable   remove relations that no clause derives or no query needs
    inline      inline relations with one defining clause or one use
    arguments   remove irrelevant arguments
    facts       simplify clauses by intervals of arguments, and add bounds
    control     split a relation by the values of its control arguments, once

Each stage has a back map for models and derivations (`stages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Undefined
from certus.core.evidence import Refutation, Safe, Unknown, Unsafe, Verdict
from certus.core.horn import Clause, Derivation, HornSystem, Model, Step
from certus.core.terms import Expr, Function, Kind
from certus.core.values import Datum, default_value, evaluate
from certus.core.walk import postorder, substitute_all, variables
from certus.passes.horn.control import by_control
from certus.passes.horn.inline import without_relation
from certus.passes.horn.intervals import argument_intervals, with_facts
from certus.passes.horn.stages import (
    DerivedClause,
    Stage,
    Use,
    default,
    plain_use,
    simplified,
    stage,
    unchanged,
    widened,
)
from certus.solvers.z3.derivations import shared

ROUNDS: Final = 30


@dataclass(slots=True, eq=False)
class Preprocessed:
    """A simplified system and the stages that led to it."""

    system: HornSystem
    stages: list[Stage]

    @property
    def original(self) -> HornSystem:
        return self.stages[0].before if self.stages else self.system

    def verdict(self, verdict: Verdict) -> Verdict | None:
        """Return the verdict on the original clauses; None if a back map fails."""
        if isinstance(verdict, Safe):
            assert isinstance(verdict.proof, Model)
            model: Model | None = verdict.proof
            for stage_ in reversed(self.stages):
                model = None if model is None else stage_.model(model)
            return None if model is None else Safe(model)
        if isinstance(verdict, Unsafe):
            assert isinstance(verdict.refutation, Derivation)
            derivation = verdict.refutation
            try:
                for stage_ in reversed(self.stages):
                    derivation = stage_.derivation(derivation)
                return Unsafe(shared(self.original, derivation))
            except (Undefined, KeyError):  # a division by zero, or an uninterpreted function
                return None
        return verdict


def decide(
    system: HornSystem,
    search: Callable[[HornSystem], Verdict],
    *,
    simplify: bool,
    control: bool = True,
    budget: Budget,
    statistics: Statistics,
) -> Verdict:
    """Run a search on the simplified clauses and return its verdict for the original ones."""
    prepared = Preprocessed(system, [])
    if simplify:
        prepared = preprocess(system, control=control, budget=budget, statistics=statistics)
    verdict = search(prepared.system)
    with statistics.timed("horn.back"):
        original = prepared.verdict(verdict)
    if isinstance(verdict, Unsafe) and (original is None or isinstance(original, Unsafe)):
        functions = _functions(system, None if original is None else original.refutation)
        if functions:
            return Unknown(_for_one_meaning(functions))
    if original is not None:
        return original
    budget.check()
    message = "the simplified clauses were decided, but the answer could not be translated back to the input"
    return Unknown(Diagnostic("answer-not-read", message, Severity.NOTE, hint="try --set clp.preprocess=off"))


def _functions(system: HornSystem, derivation: Refutation | None) -> list[str]:
    """Return the uninterpreted functions in the clauses of a derivation, or in all clauses."""
    clauses = system.clauses
    if isinstance(derivation, Derivation):
        clauses = tuple(system.clauses[step.clause] for step in derivation.steps)
    terms = postorder(
        *(t for c in clauses for t in (c.constraint, *(a for atom in c.atoms for a in atom.args)))
    )
    return list(dict.fromkeys(t.function.name for t in terms if t.kind is Kind.APPLY))


def _for_one_meaning(functions: list[str]) -> Diagnostic:
    named = ", ".join(functions)
    message = f"false follows for one interpretation of the uninterpreted functions ({named}), not for all"
    return Diagnostic("uninterpreted-functions", message, Severity.NOTE)


def preprocess(
    system: HornSystem, *, control: bool = True, budget: Budget, statistics: Statistics
) -> Preprocessed:
    """Apply the stages until the system no longer changes, at most `ROUNDS` times. `control`: whether a
    relation may be split by control arguments, once."""
    result = Preprocessed(system, [])
    with statistics.timed("horn.preprocess"):
        for _ in range(ROUNDS):
            before = result.system
            for stage_ in _round(result, budget, statistics):
                result.stages.append(stage_)
                result.system = stage_.after
                budget.check()
            if result.system is not before:
                continue
            split = by_control(before, budget, statistics) if control else None
            if split is None:
                break
            control = False
            result.stages.append(split)
            result.system = split.after
    statistics.counters["horn.relations.after"] = len(result.system.relations)
    statistics.counters["horn.clauses.after"] = len(result.system.clauses)
    return result


def _round(result: Preprocessed, budget: Budget, statistics: Statistics) -> Iterator[Stage]:
    for step in (with_values, reachable, without_arguments):
        stage_ = step(result.system)
        if stage_ is not None:
            yield stage_
    while (inlined := without_relation(result.system, budget, statistics)) is not None:
        yield inlined
    intervals = argument_intervals(result.system, budget)
    if intervals is not None:
        informed = with_facts(result.system, intervals)
        if informed is not None:
            yield informed


def with_values(system: HornSystem) -> Stage | None:
    """Return the stage that eliminates variables with an equation, and removes trivial clauses; None if
    nothing changes. A clause is trivial if its constraint is false, its head is in its body, or it is a
    duplicate."""
    clauses: dict[Clause, DerivedClause] = {}
    changed = False
    for number, clause in enumerate(system.clauses):
        simpler = simplified(clause)
        if simpler is None or simpler[0] in clauses or simpler[0].head in simpler[0].body:
            changed = True
            continue
        simple, values = simpler
        changed = changed or simple is not clause
        use = plain_use(number, clause)
        uses = (Use(number, substitute_all(use.values, values), use.premises),)
        clauses[simple] = DerivedClause(simple, uses)
    if not changed:
        return None
    return stage(
        "values", system, list(clauses.values()), lambda m: default(m, system.relations, build.FALSE)
    )


def reachable(system: HornSystem) -> Stage | None:
    """Return the stage that removes relations that no clause derives or no query needs; None if there are
    none. In a model, the former are empty and the latter may be anything."""
    derived: set[Function] = set()
    grown = True
    while grown:
        grown = False
        for clause in system.clauses:
            new = clause.head is not None and clause.head.function not in derived
            if new and clause.head is not None and all(a.function in derived for a in clause.body):
                derived.add(clause.head.function)
                grown = True
    alive = [(n, c) for n, c in enumerate(system.clauses) if all(a.function in derived for a in c.body)]
    needed: set[Function] = set()
    grown = True
    while grown:
        grown = False
        for _, clause in alive:
            if clause.head is None or clause.head.function in needed:
                for atom in clause.body:
                    if atom.function not in needed:
                        needed.add(atom.function)
                        grown = True
    kept = [(n, c) for n, c in alive if c.head is None or c.head.function in needed]
    if len(kept) == len(system.clauses):
        return None
    empty = tuple(r for r in system.relations if r not in derived)

    def model_back(model: Model) -> Model:
        return default(default(model, empty, build.FALSE), system.relations, build.TRUE)

    return stage("reachable", system, [unchanged(n, c) for n, c in kept], model_back)


Positions = dict[Function, tuple[int, ...]]  # the relevant ones


def without_arguments(system: HornSystem) -> Stage | None:
    """Return the stage that removes irrelevant argument positions; None if there are none."""
    relevant = _relevant(system)
    if all(len(relevant[r]) == len(r.parameters) for r in system.relations):
        return None
    renamed = {
        r: r if len(relevant[r]) == len(r.parameters) else _narrowed(r, relevant[r]) for r in system.relations
    }
    clauses = tuple(_sliced(clause, relevant, renamed) for clause in system.clauses)
    after = HornSystem(tuple(renamed.values()), clauses, system.source, system.file)

    def model_back(model: Model) -> Model:
        return Model({r: widened(r, relevant[r], model.relations[renamed[r]]) for r in system.relations})

    return Stage("arguments", system, after, model_back, lambda d: _restored(system, after, d))


def _narrowed(relation: Function, places: tuple[int, ...]) -> Function:
    sorts = tuple(relation.parameters[n] for n in places)
    return Function(relation.name, sorts, relation.result)


def _relevant(system: HornSystem) -> Positions:
    relevant: dict[Function, set[int]] = {r: set() for r in system.relations}
    changed = True
    while changed:
        changed = False
        for clause in system.clauses:
            used = _used_variables(clause, relevant)
            for atom in clause.body:
                for n, argument in enumerate(atom.args):
                    if n not in relevant[atom.function] and (
                        argument.kind is not Kind.VAR or argument in used
                    ):
                        relevant[atom.function].add(n)
                        changed = True
    return {r: tuple(sorted(positions)) for r, positions in relevant.items()}


def _used_variables(clause: Clause, relevant: dict[Function, set[int]]) -> set[Expr]:
    """Return the variables in the constraint, twice in the body, or at a relevant position of the head."""
    used = set(variables(clause.constraint))
    once: set[Expr] = set()
    for atom in clause.body:
        for argument in atom.args:
            for x in variables(argument):
                (used if x in once else once).add(x)
    if clause.head is not None:
        own = relevant[clause.head.function]
        used.update(variables(*(a for n, a in enumerate(clause.head.args) if n in own)))
    return used


def _sliced(clause: Clause, relevant: Positions, renamed: dict[Function, Function]) -> Clause:
    def cut(atom: Expr) -> Expr:
        return build.apply(renamed[atom.function], [atom.args[n] for n in relevant[atom.function]])

    body = tuple(map(cut, clause.body))
    head = None if clause.head is None else cut(clause.head)
    used = set(variables(clause.constraint, *body, *(() if head is None else (head,))))
    return Clause(tuple(x for x in clause.variables if x in used), body, clause.constraint, head)


def _restored(before: HornSystem, after: HornSystem, derivation: Derivation) -> Derivation:
    steps: list[Step] = []
    concluded: list[tuple[Datum, ...]] = []
    for step in derivation.steps:
        clause = before.clauses[step.clause]
        values = dict(zip(after.clauses[step.clause].variables, step.values, strict=True))
        for atom, premise in zip(clause.body, step.premises, strict=True):
            for argument, value in zip(atom.args, concluded[premise], strict=True):
                if argument.kind is Kind.VAR and argument not in values:
                    values[argument] = value
        own = tuple(values.get(x, default_value(x.sort)) for x in clause.variables)
        env = dict(zip(clause.variables, own, strict=True))
        head = () if clause.head is None else clause.head.args
        concluded.append(tuple(evaluate(a, env) for a in head))
        steps.append(Step(step.clause, own, step.premises))
    return Derivation(tuple(steps))
