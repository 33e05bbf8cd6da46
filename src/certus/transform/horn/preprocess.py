"""Simplification of Horn clauses, step by step until nothing changes.

    values      an equation gives a variable of a clause its value; clauses that say nothing go
    reachable   relations that nothing derives are empty, and what no query needs may be anything
    inline      a relation with one clause, or with one use, is replaced by its clauses
    arguments   an argument that nothing looks at goes
    facts       intervals of arguments decide formulas in clauses, and are given where they may help

Each step has its way back for models and derivations (`stages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Undefined
from certus.core.evidence import Refutation
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.statistics import Statistics
from certus.core.terms import Kind
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.core.walk import postorder
from certus.logic.derive import shared
from certus.transform.horn.arguments import without_arguments
from certus.transform.horn.equations import with_values
from certus.transform.horn.facts import with_facts
from certus.transform.horn.inline import without_relation
from certus.transform.horn.intervals import argument_intervals
from certus.transform.horn.reachable import reachable
from certus.transform.horn.stages import Stage

ROUNDS: Final = 30


@dataclass(slots=True, eq=False)
class Preprocessed:
    """A system and all that was done to it."""

    system: HornSystem
    stages: list[Stage]

    @property
    def original(self) -> HornSystem:
        return self.stages[0].before if self.stages else self.system

    def verdict(self, verdict: Verdict) -> Verdict | None:
        """The verdict on the original clauses; None if its evidence does not come back."""
        if isinstance(verdict, Safe):
            assert isinstance(verdict.proof, Model)
            model: Model | None = verdict.proof
            for done in reversed(self.stages):
                model = None if model is None else done.model(model)
            return None if model is None else Safe(model)
        if isinstance(verdict, Unsafe):
            assert isinstance(verdict.refutation, Derivation)
            found = verdict.refutation
            try:
                for done in reversed(self.stages):
                    found = done.derivation(found)
                return Unsafe(shared(self.original, found))
            except (Undefined, KeyError):  # a division by zero; a function without a meaning
                return None
        return verdict


def decide(
    system: HornSystem,
    search: Callable[[HornSystem], Verdict],
    *,
    simplify: bool,
    budget: Budget,
    statistics: Statistics,
) -> Verdict:
    """The verdict of a search on the simplified clauses, as one on the clauses as they are."""
    prepared = Preprocessed(system, [])
    if simplify:
        prepared = preprocess(system, budget=budget, statistics=statistics)
    verdict = search(prepared.system)
    with statistics.timed("horn.back"):
        found = prepared.verdict(verdict)
    if isinstance(verdict, Unsafe) and (found is None or isinstance(found, Unsafe)):
        functions = _functions(system, None if found is None else found.refutation)
        if functions:
            return Unknown(_for_one_meaning(functions))
    if found is not None:
        return found
    budget.check()
    message = "an answer was found, but not what it means for the clauses as they were given"
    return Unknown(Diagnostic("answer-not-read", message, Severity.NOTE, hint="try --set clp.preprocess=off"))


def _functions(system: HornSystem, derivation: Refutation | None) -> list[str]:
    """The uninterpreted functions of the clauses that a derivation uses, or that there are."""
    clauses = system.clauses
    if isinstance(derivation, Derivation):
        clauses = tuple(system.clauses[step.clause] for step in derivation.steps)
    terms = postorder(
        *(t for c in clauses for t in (c.constraint, *(a for atom in c.atoms for a in atom.args)))
    )
    return list(dict.fromkeys(t.function.name for t in terms if t.kind is Kind.APPLY))


def _for_one_meaning(functions: list[str]) -> Diagnostic:
    named = ", ".join(functions)
    message = f"false was derived for one meaning of the uninterpreted functions ({named}), not for every one"
    return Diagnostic("uninterpreted-functions", message, Severity.NOTE)


def preprocess(system: HornSystem, *, budget: Budget, statistics: Statistics) -> Preprocessed:
    """The system after all steps, as often as they change it."""
    done = Preprocessed(system, [])
    with statistics.timed("horn.preprocess"):
        for _ in range(ROUNDS):
            before = done.system
            for found in _round(done, budget, statistics):
                done.stages.append(found)
                done.system = found.after
                budget.check()
            if done.system is before:
                break
    statistics.counters["horn.relations.after"] = len(done.system.relations)
    statistics.counters["horn.clauses.after"] = len(done.system.clauses)
    return done


def _round(done: Preprocessed, budget: Budget, statistics: Statistics) -> Iterator[Stage]:
    for step in (with_values, reachable, without_arguments):
        found = step(done.system)
        if found is not None:
            yield found
    while (inlined := without_relation(done.system, budget, statistics)) is not None:
        yield inlined
    known = argument_intervals(done.system, budget)
    if known is not None:
        informed = with_facts(done.system, known)
        if informed is not None:
            yield informed
