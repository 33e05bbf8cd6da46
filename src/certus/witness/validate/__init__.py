"""`certus validate`: check whether a witness is right about a program.

Nothing that the witness says is trusted, and no answer about a program built from it: a violation counts if
it is replayed on the program itself, a proof if it is checked there.

A *violation witness* guides the search (`product`). First the inputs that it names are replayed as they are;
then engines look for an execution that follows it. A proof that there is none refutes the witness.

A *correctness witness* has invariants. First these are checked as a proof, as they are. Then engines verify
the program in which every invariant is an assertion: a proof shows that all invariants hold, and with their
help the property. An execution that violates an invariant or the property refutes the witness.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.vocabulary import Property, check_supported
from certus.core.witness import ViolationWitness, Witness
from certus.run.settings import Settings
from certus.witness.read import read_witness
from certus.witness.validate.case import Judgement, Kind, Validation, load_case, property_for
from certus.witness.validate.checking import challenge
from certus.witness.validate.correctness import validate_correctness
from certus.witness.validate.violation import validate_violation

__all__ = ["Validation", "validate_witness"]


def validate_witness(
    file: Path, program: Path, settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> Validation:
    """Validate the witness in `file`. Raises `InputError` if it is malformed or about another program."""
    start, budget = time.monotonic(), Budget(settings.timeout)
    witness = read_witness(file)
    property = property_for(witness, program, settings)
    kind: Kind = "violation" if isinstance(witness, ViolationWitness) else "correctness"
    try:
        judgement = _judge(witness, program, property, settings, budget, on_progress)
    except Unsupported as refusal:
        judgement = Judgement("UNKNOWN", refusal.diagnostic)
    except BudgetExceeded:
        message = f"no answer within {settings.timeout:g} s"
        judgement = Judgement("UNKNOWN", Diagnostic("time-limit", message, hint="try a larger --timeout"))
    return Validation(
        str(file),
        str(program),
        property.name,
        kind,
        judgement.answer,
        judgement.reason,
        judgement.outcome,
        time.monotonic() - start,
    )


def _judge(
    witness: Witness,
    program: Path,
    property: Property,
    settings: Settings,
    budget: Budget,
    on_progress: Callable[[str], None] | None,
) -> Judgement:
    check_supported(property)
    case = load_case(witness, program, property, settings, budget, on_progress)
    if isinstance(witness, ViolationWitness):
        return challenge(case, property, validate_violation(case, witness))
    return challenge(case, property, validate_correctness(case, witness))
