"""What native runs of a compiled program say about its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from certus.core.diagnostic import Diagnostic

MODEL_DISAGREES: Final = "model-disagrees"
UNDEFINED: Final = "undefined-behaviour"
CONTRADICTION: Final = "internal-contradiction"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A native run that speaks against HOLDS: on which inputs, by the function that gave them, and how it and
    the interpreter's run of the model ended."""

    code: str
    inputs: Mapping[str, tuple[int, ...]]
    native: str
    model: str


@dataclass(frozen=True, slots=True)
class Challenge:
    """How many native runs were `compared` with runs of the interpreter, all of which agreed, and how many
    could not be. `why_not` says why the program was not run natively. `only_run_ended`: the program asks for
    no input, and its only run came to its end natively, too. `warning` tells of a run with undefined
    behaviour."""

    compared: int = 0
    not_compared: int = 0
    why_not: str = ""
    only_run_ended: bool = False
    warning: Diagnostic | None = None
    disagreement: Disagreement | None = None

    @property
    def ran(self) -> bool:
        """Whether the program was run natively at all."""
        return self.compared + self.not_compared > 0

    @property
    def sentence(self) -> str:
        """What a report says of it."""
        if self.why_not:
            return f"not challenged: {self.why_not}"
        runs = f"{self.compared:,} native run{'' if self.compared == 1 else 's'}"
        agree = "agrees" if self.compared == 1 else "agree"
        others = f", {self.not_compared:,} could not be compared" if self.not_compared else ""
        return f"challenged: {runs} of the compiled program {agree} with the model{others}"


def challenge_json(found: Challenge) -> dict[str, Any]:
    """The fields that reports of all kinds share."""
    return {"compared": found.compared, "not_compared": found.not_compared, "why_not": found.why_not or None}
