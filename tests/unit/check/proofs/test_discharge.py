"""Clauses are discharged by enough solvers and refuted by none; further answers do not delay a proof."""

from __future__ import annotations

import time

import pytest

from certus.check.proofs import discharge as module
from certus.check.proofs.discharge import Answers, discharge
from certus.check.proofs.expansion import Refused
from certus.check.proofs.ssa import Clause
from certus.core.accounting import Budget, Statistics
from certus.core.build import bit_and, lt, var
from certus.core.errors import BudgetExceeded
from certus.core.outcome import ProofCheck, Undecided
from certus.core.solver import Answer
from certus.core.terms import INT, machine

U32 = machine(32, signed=False)
N, M = var("n", U32), var("m", U32)
X, Y = var("x", INT), var("y", INT)
VALID = Clause("a number is below itself nowhere", (lt(N, M), lt(M, N)))
NUMBERS = Clause("integers", (lt(X, Y), lt(Y, X)))
ALL = ("_z3", "_bitwuzla", "_cvc5")


def discharged(*clauses: Clause, seconds: float | None = 30, solvers: int = 1) -> ProofCheck:
    return discharge(clauses, budget=Budget(seconds), statistics=Statistics(), solvers=solvers)


def refusal(*clauses: Clause, seconds: float | None = 30, solvers: int = 1) -> Refused:
    with pytest.raises(Refused) as refused:
        discharged(*clauses, seconds=seconds, solvers=solvers)
    return refused.value


def answer(monkeypatch: pytest.MonkeyPatch, *solvers: str, said: Answer) -> None:
    for solver in solvers:
        monkeypatch.setattr(module, solver, lambda _: lambda *_: said)


def test_bits_are_not_searched_for_in_integers_first() -> None:
    """The integers' model of a function symbol for `&` says nothing; one query over bit-vectors decides."""
    statistics = Statistics()
    larger = Clause("it is no larger", (lt(N, bit_and(N, M)),))
    result = discharge([larger], budget=Budget(30), statistics=statistics)
    assert result.discharged == {"z3": 1, "bitwuzla": 1, "cvc5": 1}
    assert result.undecided == {}
    assert statistics.counters["solver.validate"] == 1


def test_a_solver_is_named_if_it_treats_some_clause() -> None:
    assert discharged(NUMBERS).discharged == {"z3": 1, "cvc5": 1}
    result = discharged(NUMBERS, VALID)
    assert result.discharged == {"z3": 2, "bitwuzla": 1, "cvc5": 2}
    assert result.undecided == {"bitwuzla": {Undecided.UNSUITED: 1}}


def test_a_clause_that_is_not_valid_is_refuted_by_all() -> None:
    refused = refusal(VALID, Clause("all are below", (lt(N, M),)))
    assert str(refused) == "z3 and bitwuzla and cvc5 found a counterexample to the claim: all are below"


@pytest.mark.parametrize("solver", ALL)
def test_one_refutation_outweighs_the_others(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, solver, said=Answer.SAT)
    assert refusal(VALID).diagnostic.code == "proof-refuted"


@pytest.mark.parametrize("silent", [("_z3", "_cvc5"), ("_z3", "_bitwuzla"), ("_bitwuzla", "_cvc5")])
class TestOneSolverOnly:
    def test_it_is_enough_if_the_others_are_silent(
        self, silent: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer(monkeypatch, *silent, said=Answer.UNKNOWN)
        result = discharged(VALID, seconds=None)
        assert sorted(result.discharged.values()) == [0, 0, 1]
        assert list(result.undecided.values()) == [{Undecided.GAVE_UP: 1}] * 2
        assert result.by_one == 1

    def test_it_is_not_enough_where_two_are_demanded(
        self, silent: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer(monkeypatch, *silent, said=Answer.UNKNOWN)
        announced = refusal(VALID, VALID, solvers=2).diagnostic
        assert announced.code == "second-solver-missing"
        assert "2 of 2 clauses" in announced.message
        assert "--solvers 1" in (announced.hint or "")


@pytest.mark.parametrize("silent", ALL)
def test_two_solvers_are_enough_where_two_are_demanded(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, silent, said=Answer.UNKNOWN)
    result = discharged(VALID, solvers=2)
    assert sorted(result.discharged.values()) == [0, 1, 1]
    assert result.by_one == 0


def test_silence_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, *ALL, said=Answer.UNKNOWN)
    assert refusal(VALID).diagnostic.code == "proof-not-checked"


def test_the_lack_of_time_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> Answer:
        raise BudgetExceeded("time")

    for solver in ALL:
        monkeypatch.setattr(module, solver, lambda _: late)
    assert refusal(VALID).diagnostic.code == "evidence-not-checked"


def test_a_refutation_is_not_forgotten_when_the_solver_has_another_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([Answer.SAT, Answer.UNKNOWN])
    monkeypatch.setattr(module, "_decided", lambda *_: lambda *_: next(answers, Answer.UNKNOWN))
    answer(monkeypatch, "_bitwuzla", said=Answer.UNKNOWN)
    assert refusal(VALID).diagnostic.code == "proof-refuted"


class TestFurtherOpinions:
    """They come after the proof is complete, and end before the time does."""

    def hear(self, said: list[ProofCheck], *, seconds: float = 30, pause: float = 0.0) -> ProofCheck:
        def settled(check: ProofCheck) -> None:
            said.append(check)
            time.sleep(pause)

        return discharge([VALID], budget=Budget(seconds), statistics=Statistics(), on_settled=settled)

    def test_the_complete_proof_is_told_before_them(self) -> None:
        announced: list[ProofCheck] = []
        last = self.hear(announced)
        late = {Undecided.OUT_OF_TIME: 1}
        first = ProofCheck(1, {"z3": 1, "bitwuzla": 0, "cvc5": 0}, 0, {"bitwuzla": late, "cvc5": late}, 1)
        assert announced == [first]
        assert last == ProofCheck(1, {"z3": 1, "bitwuzla": 1, "cvc5": 1}, 0)

    def test_they_can_still_refute_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        answer(monkeypatch, "_cvc5", said=Answer.SAT)
        announced: list[ProofCheck] = []
        with pytest.raises(Refused, match="cvc5 found a counterexample"):
            self.hear(announced)
        assert len(announced) == 1

    def test_none_is_asked_for_within_the_margin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MARGIN", 30.0)
        result = self.hear([])
        assert result.discharged == {"z3": 1, "bitwuzla": 0, "cvc5": 0}
        assert result.undecided == {"bitwuzla": {Undecided.NO_TURN: 1}, "cvc5": {Undecided.NO_TURN: 1}}

    def test_the_margin_grows_with_the_time_that_an_outcome_takes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MARGIN_BY_SIZE", 1000.0)
        assert self.hear([], pause=0.05).discharged["cvc5"] == 0

    def test_who_uses_up_the_time_ran_out_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow(_: object, budget: Budget) -> Answer:
            time.sleep(budget.remaining() or 0.0)
            return Answer.UNKNOWN

        monkeypatch.setattr(module, "_cvc5", lambda _: slow)
        assert self.hear([]).undecided == {"cvc5": {Undecided.OUT_OF_TIME: 1}}


def test_clauses_left_when_the_time_of_a_solver_ends_are_out_of_time() -> None:
    answers = Answers([VALID, VALID], Statistics())
    answers.answers[0]["cvc5"] = Answer.UNSAT
    assert answers.tally().undecided["cvc5"] == {Undecided.OUT_OF_TIME: 1}
    assert answers.tally().undecided["z3"] == {Undecided.NO_TURN: 2}
