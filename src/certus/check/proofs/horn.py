"""Check models and derivations of Horn clauses.

A model must make every clause valid: one obligation for each clause, discharged as for programs. A derivation
is computed again step by step: the constraint of each clause must evaluate to true, and each atom of its body
must be the conclusion of an earlier step. Uninterpreted functions are arbitrary: a model must be right for
all of them, and a derivation that uses one is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from certus.check.proofs.discharge import discharge
from certus.check.proofs.expansion import Refused
from certus.check.proofs.ssa import Clause
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Undefined
from certus.core.horn import Derivation, HornSystem, Model, Step
from certus.core.outcome import DerivationCheck, ProofCheck
from certus.core.terms import BOOL, Expr, Function, Kind
from certus.core.values import Datum, evaluate
from certus.core.walk import postorder, variables

Fact = tuple[Function, tuple[Datum, ...]]


def check_model(
    system: HornSystem,
    model: Model,
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_sufficient: Callable[[ProofCheck], None] | None = None,
) -> ProofCheck | Diagnostic:
    """Check that the model satisfies every clause; return the result, or why it is refused.

    `solvers` and `on_sufficient` have the same meaning as in `check_proof`."""
    try:
        start = time.monotonic()
        clauses = model_clauses(system, model)
        return discharge(
            clauses,
            budget=budget,
            statistics=statistics,
            solvers=solvers,
            on_settled=on_sufficient,
            size_seconds=time.monotonic() - start,
        )
    except Refused as refused:
        return refused.diagnostic


def model_clauses(system: HornSystem, model: Model) -> list[Clause]:
    """Return the obligations that make `model` a model; raises `Refused` if it cannot be one."""
    for relation in system.relations:
        if relation not in model.relations:
            raise Refused("proof-malformed", f"the model does not define the relation {relation.name}")
        _check_interpretation(system, relation, *model.relations[relation])
    obligations: list[Clause] = []
    for number, clause in enumerate(system.clauses):
        parts = [clause.constraint, *(model.meaning(atom) for atom in clause.body)]
        head = "false" if clause.head is None else clause.head.function.name
        if clause.head is not None:
            parts.append(build.not_(model.meaning(clause.head)))
        formulas = tuple(part for part in parts if part is not build.TRUE)
        if build.FALSE not in formulas:
            obligations.append(Clause(f"clause {number}, of {head}, holds in the model", formulas))
    return obligations


def _check_interpretation(
    system: HornSystem, relation: Function, parameters: tuple[Expr, ...], formula: Expr
) -> None:
    fits = (
        formula.sort is BOOL
        and tuple(p.sort for p in parameters) == relation.parameters
        and all(p.kind is Kind.VAR for p in parameters)
        and len(set(parameters)) == len(parameters)
        and set(variables(formula)) <= set(parameters)
        and all(t.kind is not Kind.APPLY or t.function not in system.relations for t in postorder(formula))
    )
    if not fits:
        message = f"the model does not define {relation.name} by a formula over its parameters"
        raise Refused("proof-malformed", message)


def check_derivation(
    system: HornSystem, derivation: Derivation, *, budget: Budget
) -> DerivationCheck | Diagnostic:
    """Compute a derivation again; return the number of its steps, or why it is refused."""
    concluded: list[Fact | None] = []
    for number, step in enumerate(derivation.steps):
        budget.check()
        if not 0 <= step.clause < len(system.clauses) or any(
            not 0 <= p < number or concluded[p] is None for p in step.premises
        ):
            return _refused(number, "it uses a clause or a step that does not exist")
        try:
            concluded.append(_conclusion(system, step, concluded))
        except _InvalidStep as error:
            return _refused(number, str(error))
        except Undefined:
            return _refused(number, "its value depends on a division by zero")
        except (KeyError, ValueError):
            return _refused(number, "it cannot be computed")
    if not concluded or concluded[-1] is not None:
        return _refused(len(concluded), "its last step does not conclude false")
    return DerivationCheck(len(derivation.steps))


class _InvalidStep(Exception):
    """A step does not apply its clause; the message says why."""


def _conclusion(system: HornSystem, step: Step, concluded: list[Fact | None]) -> Fact | None:
    """Return the conclusion of a step from those of earlier steps; None means false."""
    clause = system.clauses[step.clause]
    if len(step.values) != len(clause.variables) or len(step.premises) != len(clause.body):
        raise _InvalidStep("it does not fit its clause")
    values = dict(zip(clause.variables, step.values, strict=True))
    if evaluate(clause.constraint, values) is not True:
        raise _InvalidStep(f"{c_text(clause.constraint, limit=200)} is false")
    for atom, premise in zip(clause.body, step.premises, strict=True):
        if _fact(atom, values) != concluded[premise]:
            raise _InvalidStep(f"step {premise} does not conclude what {atom.function.name} needs")
    return None if clause.head is None else _fact(clause.head, values)


def _fact(atom: Expr, values: dict[Expr, Datum]) -> Fact:
    return atom.function, tuple(evaluate(a, values) for a in atom.args)


def _refused(step: int, why: str) -> Diagnostic:
    message = f"step {step} of the derivation is wrong: {why}"
    hint = "this is a defect of Certus, not of the clauses: please report it"
    return Diagnostic("derivation-refuted", message, hint=hint)
