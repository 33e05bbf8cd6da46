"""Logged queries are files that stand alone: read back by cvc5, they have the same answer."""

from __future__ import annotations

from pathlib import Path

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.solver import Answer
from certus.core.terms import INT, array, machine
from certus.solvers.cvc5 import Cvc5Solver
from certus.solvers.query_log import QueryLog
from certus.solvers.z3.solver import Z3Solver

U8 = machine(8, signed=False)
X, Y, M = build.var("main.x@1", INT), build.var("old(y)", INT), build.var("m/1", U8)
A = build.var("a", array(U8, INT))


def test_each_query_stands_alone(tmp_path: Path) -> None:
    solver = Z3Solver(Statistics(), log=QueryLog(tmp_path / "queries"))
    budget = Budget(20)
    answers = []
    solver.add(build.lt(X, Y), build.eq(build.select(A, M), X))
    answers.append(solver.check(budget=budget, purpose="reach"))
    answers.append(solver.check((build.lt(Y, X),), budget=budget, purpose="reach"))
    solver.push()
    solver.add(build.eq(build.quot(M, M), build.constant(0, U8)), build.ne(M, build.constant(0, U8)))
    answers.append(solver.check(budget=budget, purpose="a strange/purpose"))
    solver.pop()
    answers.append(solver.check((build.lt(build.integer(0), X),), budget=budget, purpose="reach"))
    assert answers == [Answer.SAT, Answer.UNSAT, Answer.UNSAT, Answer.SAT]

    files = sorted((tmp_path / "queries").iterdir())
    assert [f.name for f in files] == [
        "000001-reach.smt2",
        "000002-reach.smt2",
        "000003-a-strange-purpose.smt2",
        "000004-reach.smt2",
    ]
    cvc5 = Cvc5Solver(Statistics())
    for file, answer in zip(files, answers, strict=True):
        text = file.read_text(encoding="utf-8")
        assert cvc5.check_text(text, budget=Budget(20)) is answer
        assert f"; answer: {answer}" in text
    assert "; purpose: a strange/purpose" in files[2].read_text(encoding="utf-8")


def test_cvc5_logs_too_and_logs_share_a_directory(tmp_path: Path) -> None:
    for _ in range(2):
        solver = Cvc5Solver(Statistics(), log=QueryLog(tmp_path))
        solver.check_formulas((build.lt(X, Y),), budget=Budget(20), purpose="proof")
    files = sorted(tmp_path.iterdir())
    assert [f.name for f in files] == ["000001-proof.smt2", "000002-proof.smt2"]
    assert all("; solver: cvc5" in f.read_text(encoding="utf-8") for f in files)
