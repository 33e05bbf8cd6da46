"""What native runs of a compiled program say about its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from certus.core.diagnostic import Diagnostic

MODEL_DISAGREES: Final = "model-disagrees"
UNDEFINED: Final = "undefined-behaviour"
CONTRADICTION: Final = "internal-contradiction"
COMPILERS_DISAGREE: Final = "compilers-disagree"
EVALUATION_ORDER: Final = "evaluation-order"
CLANG: Final = "clang"
GCC: Final = "gcc"


@dataclass(frozen=True, slots=True)
class Compilers:
    """The compilers whose programs `agreed` with the model. If gcc is not among them, `absent` says why it
    was not asked, or `differs` how its program ended instead."""

    agreed: tuple[str, ...] = ()
    absent: str = ""
    differs: str = ""

    @property
    def sentence(self) -> str:
        """What a report says of them; nothing if no compiled program was run to its end."""
        if not self.agreed:
            return ""
        return f"compilers: {', '.join(self.agreed)}" + (f" ({GCC}: {self.differs})" if self.differs else "")

    def json(self) -> dict[str, Any]:
        """The fields that reports of all kinds share."""
        return {"compilers": list(self.agreed), "gcc": self.differs or self.absent or None}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A native run that speaks against HOLDS: on which inputs, by the function that gave them, and how it and
    the interpreter's run of the model ended. If compilers disagree, `gcc` is how the run of its program
    ended, and `asked` are the functions that gave inputs, in order, by the compiler."""

    code: str
    inputs: Mapping[str, tuple[int, ...]]
    native: str
    model: str
    gcc: str = ""
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Challenge:
    """How many native runs were `compared` with runs of the interpreter, all of which agreed, and how many
    could not be. `why_not` says why the program was not run natively. `only_run_ended`: the program asks for
    no input, and its only run came to its end natively, too. `warnings` tell of a run with undefined
    behaviour, and of inputs that gcc asks for in another order. `gcc_compared` of the compared runs were
    repeated with the program that gcc compiled, and agreed."""

    compared: int = 0
    not_compared: int = 0
    why_not: str = ""
    only_run_ended: bool = False
    warnings: tuple[Diagnostic, ...] = ()
    disagreement: Disagreement | None = None
    compilers: Compilers = field(default_factory=Compilers)
    gcc_compared: int = 0

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
        said = f"challenged: {runs} of the compiled program {agree} with the model{others}"
        return "; ".join(filter(None, (said, self.compilers.sentence)))


def challenge_json(found: Challenge) -> dict[str, Any]:
    """The fields that reports of all kinds share."""
    return {
        "compared": found.compared,
        "not_compared": found.not_compared,
        "why_not": found.why_not or None,
        **found.compilers.json(),
        "gcc_compared": found.gcc_compared,
    }
