"""A program, or Horn clauses, decided by whoever decides Horn clauses.

A program is translated; machine integers become mathematical ones, clause by clause. What comes back is a
proof or an execution of the program, or why there is none. Both are checked by others: an execution of the
encoded clauses may be none of the program where the encoding is not exact.
"""

from __future__ import annotations

from collections.abc import Callable

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.horn import Derivation, HornSystem, Model, Step
from certus.core.program import Program
from certus.core.sorts import MachineSort
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr
from certus.core.values import ArrayValue, Datum, default_value
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.logic.integer_clauses import IntegerClauses, has_machine_integers
from certus.logic.integers import encoded_variable
from certus.transform.horn.evidence import inductive, trace
from certus.transform.horn.preprocess import decide
from certus.transform.horn.translate import translate


def decide_task(
    task: Task,
    search: Callable[[HornSystem], Verdict],
    *,
    simplify: bool,
    budget: Budget,
    statistics: Statistics,
) -> Verdict:
    """The verdict on a task's subject, from that of a search on its clauses, simplified or as they are."""

    def solve(system: HornSystem) -> Verdict:
        return decide(system, search, simplify=simplify, budget=budget, statistics=statistics)

    subject = task.subject
    return solve(subject) if isinstance(subject, HornSystem) else by_clauses(subject, solve, statistics)


def by_clauses(program: Program, solve: Callable[[HornSystem], Verdict], statistics: Statistics) -> Verdict:
    """The verdict on a program, whose edges may be blocks, from that on its clauses."""
    with statistics.timed("horn.translation"):
        translation = translate(program)
        system = translation.system
        encoded = IntegerClauses(system) if has_machine_integers(system) else None
    statistics.counters["horn.relations"] = len(system.relations)
    statistics.counters["horn.clauses"] = len(system.clauses)
    verdict = solve(system if encoded is None else encoded.system)
    if isinstance(verdict, Safe):
        assert isinstance(verdict.proof, Model)
        model = verdict.proof if encoded is None else encoded.decoded(verdict.proof)
        if model is None:
            message = "a model of the program's clauses was found, but compares whole arrays of integers"
            return Unknown(Diagnostic("answer-not-read", message, Severity.NOTE, hint="try another engine"))
        return Safe(inductive(translation, model))
    if isinstance(verdict, Unsafe):
        assert isinstance(verdict.refutation, Derivation)
        found = verdict.refutation
        if encoded is not None:
            found = _decoded(system, encoded.system, found)
        return Unsafe(trace(translation, found))
    return verdict


def _decoded(system: HornSystem, encoded: HornSystem, derivation: Derivation) -> Derivation:
    """The derivation with values of the original variables; 0 for those that the encoding lost."""
    steps = []
    for step in derivation.steps:
        known = dict(zip(encoded.clauses[step.clause].variables, step.values, strict=True))
        values = tuple(_value(x, known) for x in system.clauses[step.clause].variables)
        steps.append(Step(step.clause, values, step.premises))
    return Derivation(tuple(steps))


def _value(variable: Expr, known: dict[Expr, Datum]) -> Datum:
    value = known.get(encoded_variable(variable)[0])
    if value is None or isinstance(value, ArrayValue):
        return default_value(variable.sort)
    if isinstance(variable.sort, MachineSort):
        return variable.sort.wrap(int(value))
    return value
