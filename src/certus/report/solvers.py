"""Which solvers proved the clauses of a proof, and why others did not, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from certus.core.outcome import ProofCheck, Undecided
from certus.report.content import counted

_WORDS: Final = {
    Undecided.OUT_OF_TIME: "{} ran out of time",
    Undecided.GAVE_UP: "{} gave up",
    Undecided.NO_TURN: "no time was left for {}",
    Undecided.UNSUITED: "{} does not apply",
}


def solver_text(check: ProofCheck) -> str:
    """`14 clauses proved by bitwuzla (14), z3 (12); z3 (2) and cvc5 ran out of time`.

    Numbers of clauses are left out where a solver proved all of them, or none."""
    if not check.clauses:
        return "no clause needs a solver"
    proving = [(name, number) for name, number in check.discharged.items() if number]
    proving.sort(key=lambda item: -item[1])
    if all(number == check.clauses for _, number in proving):
        names = joined([name for name, _ in proving])
    else:
        names = ", ".join(f"{name} ({number:,})" for name, number in proving)
    return "; ".join((f"{counted(check.clauses, 'clause')} proved by {names}", *silent_texts(check)))


def silent_texts(check: ProofCheck) -> Iterator[str]:
    """For each reason, the solvers that left clauses undecided for it; with how many if that is not all."""
    for reason, words in _WORDS.items():
        left = [(name, reasons[reason]) for name, reasons in check.undecided.items() if reason in reasons]
        if left:
            names = [name if number == check.clauses else f"{name} ({number:,})" for name, number in left]
            plural = words.replace("does not", "do not") if len(names) > 1 else words
            yield plural.format(joined(names))


def joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
