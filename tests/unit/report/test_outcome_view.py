"""The line on solvers is short if all went well, and names those that did not prove a clause and why."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from certus.core.outcome import ProofCheck, Undecided
from certus.report.outcome_view import solver_text

OUT, GAVE_UP, NO_TURN, UNSUITED = Undecided


@pytest.mark.parametrize(
    ("discharged", "undecided", "text"),
    [
        ({"z3": 14, "cvc5": 14}, {}, "14 clauses proved by z3 and cvc5"),
        ({"z3": 14, "bitwuzla": 14, "cvc5": 14}, {}, "14 clauses proved by z3, bitwuzla and cvc5"),
        (
            {"z3": 0, "bitwuzla": 14, "cvc5": 0},
            {"z3": {OUT: 14}, "cvc5": {OUT: 14}},
            "14 clauses proved by bitwuzla; z3 and cvc5 ran out of time",
        ),
        (
            {"z3": 12, "bitwuzla": 14, "cvc5": 0},
            {"z3": {OUT: 2}, "cvc5": {OUT: 14}},
            "14 clauses proved by bitwuzla (14), z3 (12); z3 (2) and cvc5 ran out of time",
        ),
        (
            {"z3": 14, "bitwuzla": 9, "cvc5": 0},
            {"bitwuzla": {GAVE_UP: 1, UNSUITED: 4}, "cvc5": {NO_TURN: 14}},
            "14 clauses proved by z3 (14), bitwuzla (9); bitwuzla (1) gave up; no time was left for cvc5; "
            "bitwuzla (4) does not apply",
        ),
    ],
)
def test_texts(
    discharged: Mapping[str, int], undecided: Mapping[str, Mapping[Undecided, int]], text: str
) -> None:
    assert solver_text(ProofCheck(14, discharged, 0, undecided)) == text


def test_one_clause_and_none() -> None:
    assert solver_text(ProofCheck(1, {"z3": 1}, 0)) == "1 clause proved by z3"
    assert solver_text(ProofCheck(0, {}, 0)) == "no clause needs a solver"
