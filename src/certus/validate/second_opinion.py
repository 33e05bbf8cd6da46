"""Compare native runs of the program that gcc compiled with those of Clang's.

Only runs are repeated that Clang's program and the model agree on: these depend on nothing but their inputs,
and meet no undefined behaviour. The text is the same for both compilers, so a run of gcc's program must end
alike, unless it depends on what C leaves to the compiler. The most common such thing is which operand is
evaluated first: then the same inputs arrive at other places. That is harmless, since other inputs make up
for it, except if gcc's program reaches the error: no inputs make Clang's reach it if there is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from certus.core.budget import Budget
from certus.core.challenge import (
    CLANG,
    COMPILERS_DISAGREE,
    EVALUATION_ORDER,
    GCC,
    Challenge,
    Compilers,
    Disagreement,
)
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.program import Program
from certus.validate.build import Compiler, NotBuilt, no_gcc
from certus.validate.model_runs import Behaviour, End, Values, inputs_text
from certus.validate.native_binary import Binary

_SECONDS: Final = 2.0  # for gcc to compile the program
_SHARE: Final = 0.1  # of the time limit, likewise


def second_opinion(
    program: Program,
    found: Challenge,
    binary: Binary,
    runs: Sequence[tuple[Values, Behaviour]],
    *,
    budget: Budget,
    seconds: float,
) -> Challenge:
    """Return the challenge `found` with what gcc's program makes of `runs`: inputs on which model and Clang's
    program agree, and what the latter does. The runs have `seconds` in all."""
    absent = no_gcc(program)
    if not absent:
        limit = budget.part(_SHARE, at_most=_SECONDS).remaining() or 0.0
        try:
            supplies = [values for values, _ in runs]
            behaviours = binary.runs(supplies, Compiler.GCC, seconds=seconds, build_seconds=limit)
        except NotBuilt as error:
            absent = str(error)
    if absent:
        return replace(found, compilers=Compilers((CLANG,), absent))
    return _compared(found, runs, behaviours)


def _compared(
    found: Challenge, runs: Sequence[tuple[Values, Behaviour]], behaviours: Sequence[Behaviour]
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
            said = Disagreement(
                COMPILERS_DISAGREE, gcc.used(values), clang.detail, clang.detail, gcc.detail, asked
            )
            return Challenge(disagreement=said, warnings=_with(found.warnings, warning))
    compilers = Compilers((CLANG, GCC)) if agreed else Compilers((CLANG,), "no run could be compared")
    warnings = _with(found.warnings, warning)
    return replace(found, compilers=compilers, gcc_compared=agreed, warnings=warnings)


def _with(warnings: tuple[Diagnostic, ...], more: Diagnostic | None) -> tuple[Diagnostic, ...]:
    return warnings if more is None else (*warnings, more)


def _is_reordered(clang: Behaviour, gcc: Behaviour) -> bool:
    """Whether gcc's program asks for the same inputs in another order: where the two runs first differ, each
    asks for what the other asks for later."""
    for at, (first, second) in enumerate(zip(clang.asked, gcc.asked, strict=False)):
        if first != second:
            return first in gcc.asked[at:] and second in clang.asked[at:]
    return False


def _order_is_hidden(values: Values, clang: Behaviour) -> bool:
    """Whether the inputs may arrive in another order and nobody can see it: one function gives several
    that differ."""
    return any(len(set(given)) > 1 for given in clang.used(values).values())


def _order_warning(values: Values, clang: Behaviour, gcc: Behaviour) -> Diagnostic:
    inputs = [(name, value) for name, given in clang.used(values).items() for value in given]
    at = next(n for n, (a, b) in enumerate(zip(clang.asked, gcc.asked, strict=False)) if a != b)
    return Diagnostic(
        EVALUATION_ORDER,
        f"an execution{inputs_text(inputs)} asks for `{clang.asked[at]}()` first if Clang compiles the"
        f" program, and for `{gcc.asked[at]}()` if gcc does: C leaves open which operand is evaluated first,"
        " and Certus takes the order of Clang.",
        Severity.WARNING,
        hint="to fix the order, read the inputs in statements of their own",
    )
