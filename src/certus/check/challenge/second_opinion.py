"""Compare native runs of the program that gcc compiles with those of Clang's program.

Only runs on which Clang's program and the model agree are repeated: they depend on their inputs only, and
have no undefined behaviour. The text is the same for both compilers, so a run of gcc's program must end
alike, unless it depends on a choice that C leaves to the compiler. The most common one is the evaluation
order of operands: then the same inputs go to other places. That is harmless, since other inputs have the
same effect, unless gcc's program reaches the error: with a proof, no inputs lead Clang's program to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from certus.check.challenge.binary import Binary
from certus.check.challenge.model_runs import Behaviour, End, Values, inputs_text
from certus.check.replay.build import Compiler, NotBuilt, no_gcc
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.outcome import (
    CLANG,
    COMPILERS_DISAGREE,
    EVALUATION_ORDER,
    GCC,
    Challenge,
    Compilers,
    Disagreement,
)
from certus.core.program import Program

_SECONDS: Final = 2.0  # for gcc to compile the program
_SHARE: Final = 0.1  # of the time limit, likewise


def second_opinion(
    program: Program,
    challenge: Challenge,
    binary: Binary,
    runs: Sequence[tuple[Values, Behaviour]],
    *,
    budget: Budget,
    seconds: float,
) -> Challenge:
    """Return the result `challenge`, extended by the comparison with gcc's program. `runs` are the inputs on
    which the model and Clang's program agree, with its behaviour; `seconds` limit all of them."""
    absent = no_gcc(program)
    if not absent:
        limit = budget.part(_SHARE, at_most=_SECONDS).remaining() or 0.0
        try:
            supplies = [values for values, _ in runs]
            behaviours = binary.runs(supplies, Compiler.GCC, seconds=seconds, build_seconds=limit)
        except NotBuilt as error:
            absent = str(error)
    if absent:
        return replace(challenge, compilers=Compilers((CLANG,), absent))
    return _compared(challenge, runs, behaviours)


def _compared(
    challenge: Challenge, runs: Sequence[tuple[Values, Behaviour]], behaviours: Sequence[Behaviour]
) -> Challenge:
    agreed, warning = 0, None
    pairs = sorted(zip(runs, behaviours, strict=False), key=lambda pair: pair[1].end is not End.ERROR)
    for (values, clang), gcc in pairs:
        if gcc.stubbed or not gcc.comparable:
            continue
        if gcc.like(clang):
            agreed += 1
            continue
        reordered = _is_reordered(clang, gcc)
        if reordered and warning is None:
            warning = _order_warning(values, clang, gcc)
        if gcc.end is End.ERROR or not (reordered or _order_is_hidden(values, clang)):
            asked = {CLANG: clang.asked, GCC: gcc.asked}
            disagreement = Disagreement(
                COMPILERS_DISAGREE, gcc.used(values), clang.detail, clang.detail, gcc.detail, asked
            )
            return Challenge(disagreement=disagreement, warnings=_with(challenge.warnings, warning))
    compilers = Compilers((CLANG, GCC)) if agreed else Compilers((CLANG,), "no run could be compared")
    warnings = _with(challenge.warnings, warning)
    return replace(challenge, compilers=compilers, gcc_compared=agreed, warnings=warnings)


def _with(warnings: tuple[Diagnostic, ...], more: Diagnostic | None) -> tuple[Diagnostic, ...]:
    return warnings if more is None else (*warnings, more)


def _is_reordered(clang: Behaviour, gcc: Behaviour) -> bool:
    """Return whether gcc's program requests the same inputs in another order: where the two runs first
    differ, each requests an input that the other requests later."""
    for at, (first, second) in enumerate(zip(clang.asked, gcc.asked, strict=False)):
        if first != second:
            return first in gcc.asked[at:] and second in clang.asked[at:]
    return False


def _order_is_hidden(values: Values, clang: Behaviour) -> bool:
    """Return whether another order of the inputs would not be visible: one function returns several different
    values."""
    return any(len(set(inputs)) > 1 for inputs in clang.used(values).values())


def _order_warning(values: Values, clang: Behaviour, gcc: Behaviour) -> Diagnostic:
    inputs = [(name, value) for name, used in clang.used(values).items() for value in used]
    at = next(n for n, (a, b) in enumerate(zip(clang.asked, gcc.asked, strict=False)) if a != b)
    return Diagnostic(
        EVALUATION_ORDER,
        f"an execution{inputs_text(inputs)} asks for `{clang.asked[at]}()` first if Clang compiles the"
        f" program, and for `{gcc.asked[at]}()` if gcc does: C leaves open which operand is evaluated first,"
        " and Certus takes the order of Clang.",
        Severity.WARNING,
        hint="to fix the order, read the inputs in statements of their own",
    )
