"""What can be said of a witness that somebody wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from certus.core.diagnostic import Diagnostic
from certus.core.outcome import Outcome

Answer = Literal["CONFIRMED", "REFUTED", "UNKNOWN"]
Kind = Literal["violation", "correctness"]


@dataclass(frozen=True, slots=True)
class Validation:
    """`reason` is why, in a sentence. `outcome` is what was found about the program: the violation that the
    witness leads to, the proof that its invariants help to, the counterexample to an invariant, or the
    proof that no execution follows the witness."""

    witness: str
    file: str
    property_name: str
    kind: Kind
    answer: Answer
    reason: Diagnostic
    outcome: Outcome | None = None
    seconds: float = 0.0
