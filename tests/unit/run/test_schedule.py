"""The schedule: the first checked answer wins; engines that crash, hang or contradict each other."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from certus import InputError, Settings, verify
from certus.codec.outcomes import encode_outcome
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Engine, NoOptions, Role, Task
from certus.core.errors import Unsupported
from certus.core.evidence import Inductive, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.outcome import Outcome, ProofCheck, Undecided
from certus.core.program import Program
from certus.core.solver import Answer
from certus.engines.registry import ENGINES
from certus.frontend import load_question, read_question
from certus.run import schedule
from certus.run.schedule import Allowance, Schedule
from certus.system.child import ChildResult

SAFE = "void main() { int x = *; assume(x > 3); assert(x > 2); }"


class Stub(Engine[NoOptions]):
    """An engine that answers as the test says. The one called `bmc` is steady, as the real one is."""

    summary = "for tests"
    evidence = (Inductive, Trace)

    def __init__(self, name: str, answer: Callable[[Program], Verdict]) -> None:
        self.name = name  # type: ignore[misc]
        self.role = Role.STEADY if name == "bmc" else Role.TURNS  # type: ignore[misc]
        self.answer = answer

    def run(self, task: Task, options: Any, budget: Budget, statistics: Statistics) -> Verdict:
        assert isinstance(task.subject, Program)
        return self.answer(task.subject)


class Patient(Stub):
    """An engine that answers only if it has no limit."""

    def run(self, task: Task, options: Any, budget: Budget, statistics: Statistics) -> Verdict:
        assert isinstance(task.subject, Program)
        return prove(task.subject) if budget.remaining() is None else hang(task.subject)


def give_up(_: Program) -> Verdict:
    return Unknown(Diagnostic("tired", "it was too much", Severity.NOTE))


def prove(_: Program) -> Verdict:
    return Safe(Inductive({}))


def hang(_: Program) -> Verdict:
    while True:
        time.sleep(1)


def crash(_: Program) -> Verdict:
    os.abort()


def refuse(_: Program) -> Verdict:
    raise Unsupported(Diagnostic("unsupported-model-value", "the model has no number for x"))


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(**answers: Stub | Callable[[Program], Verdict]) -> None:
        for name, answer in answers.items():
            engine = answer if isinstance(answer, Stub) else Stub(name, answer)
            monkeypatch.setitem(ENGINES, name, engine)

    return install


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "safe.lp"
    path.write_text(SAFE)
    return path


def test_that_a_tentative_engine_finds_nothing_is_no_reason(
    engines: Callable[..., None], tmp_path: Path
) -> None:
    engines(tired=give_up, weary=give_up)
    path = tmp_path / "counts.lp"
    path.write_text("void main() { int x = 0; while (*) { x = x + 1; } assert(x >= 0); }")
    outcome = verify(path, Settings(engines=("tired", "search", "weary"), cores=1, timeout=60))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "tired"
    assert [note.message for note in outcome.diagnostics] == ["tired: it was too much"]


def test_the_first_checked_answer_wins(engines: Callable[..., None], program: Path) -> None:
    engines(idle=hang, prover=prove)
    start = time.monotonic()
    outcome = verify(program, Settings(engines=("idle", "prover"), cores=2, timeout=60))
    assert outcome.answer == "HOLDS"
    assert outcome.engine == "prover"
    assert time.monotonic() - start < 30


class TestCompleteProofs:
    """Each clause is proved by z3; what cvc5 then does to its process does not change that."""

    def test_one_is_not_lost_when_the_time_ends(
        self, engines: Callable[..., None], program: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("certus.check.proofs.discharge._cvc5", lambda _: lambda *_: time.sleep(600))
        engines(idle=hang, prover=prove)
        outcome = verify(program, Settings(engines=("idle", "prover"), cores=2, timeout=8))
        assert (outcome.answer, outcome.engine) == ("HOLDS", "prover")
        assert isinstance(outcome.check, ProofCheck)
        assert outcome.check.discharged["z3"] == outcome.check.clauses > 0
        assert outcome.check.undecided["cvc5"] == {Undecided.OUT_OF_TIME: outcome.check.clauses}

    def test_one_is_not_lost_in_a_crash(
        self, engines: Callable[..., None], program: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("certus.check.proofs.discharge._cvc5", lambda _: lambda *_: os.abort())
        engines(prover=prove)
        outcome = verify(program, Settings(engine="prover", timeout=60))
        assert outcome.answer == "HOLDS"
        assert [told.code for told in outcome.diagnostics] == ["engine-crashed"]

    def test_two_solvers_may_be_demanded(
        self, engines: Callable[..., None], program: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engines(tired=give_up, prover=prove)
        settings = Settings(engines=("prover", "tired"), cores=1, solvers=2, timeout=60)
        assert verify(program, settings).answer == "HOLDS"
        monkeypatch.setattr("certus.check.proofs.discharge._cvc5", lambda _: lambda *_: Answer.UNKNOWN)
        outcome = verify(program, settings)
        assert isinstance(outcome.verdict, Unknown)
        assert outcome.verdict.reason.code == "second-solver-missing"
        with pytest.raises(InputError, match="3 solvers"):
            verify(program, Settings(solvers=3))


def test_what_one_finds_helps_the_next(tmp_path: Path) -> None:
    """`linear` finds the relation of x and y. Without refinement it cannot use it for the products; `kind`
    can, and does not find it."""
    path = tmp_path / "products.lp"
    path.write_text(
        "void main() { int x = 5; int y = 0 - 5; int z = *;"
        " while (*) { x = x - 3; y = y + 3; if (z > 0) { z = z - 1; } } assert(x * x * z == y * y * z); }"
    )
    options = {"linear.refinements": "0"}
    outcome = verify(path, Settings(engines=("linear", "kind"), cores=1, timeout=100, options=options))
    assert (outcome.answer, outcome.engine) == ("HOLDS", "kind")
    assert outcome.statistics.counters["facts.received"] >= 1


def test_what_an_engine_does_not_support_is_no_defect(engines: Callable[..., None], program: Path) -> None:
    engines(refuser=refuse)
    outcome = verify(program, Settings(engine="refuser", timeout=60))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.message == "the model has no number for x"


def test_a_crash_costs_nobody_else_anything(engines: Callable[..., None], program: Path) -> None:
    engines(wreck=crash, prover=prove)
    outcome = verify(program, Settings(engines=("wreck", "prover"), cores=1, timeout=60))
    assert outcome.answer == "HOLDS"
    assert [d.code for d in outcome.diagnostics] == ["engine-crashed"]


def test_who_rests_goes_on_where_it_was(
    engines: Callable[..., None], program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins once, and ends although it has had less than the seconds that it needs when others begin."""
    monkeypatch.setattr(schedule, "STEADY_SHARE", 0.02)
    begun = tmp_path / "begun"

    def work_long(subject: Program) -> Verdict:
        with begun.open("a") as file:
            file.write("bmc ")
        used = time.process_time()
        while time.process_time() < used + 4.0:
            pass
        return prove(subject)

    def work_shortly(subject: Program) -> Verdict:
        with begun.open("a") as file:
            file.write("other ")
        return give_up(subject)

    engines(bmc=work_long, other=work_shortly)
    outcome = verify(program, Settings(engines=("bmc", "other"), cores=1, timeout=100))
    assert (outcome.answer, outcome.engine) == ("HOLDS", "bmc")
    assert begun.read_text() == "bmc other "


def test_who_gives_up_before_it_has_to_rest_does_not_come_again(
    engines: Callable[..., None], program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "STEADY_SHARE", 0.02)

    def think(subject: Program) -> Verdict:
        time.sleep(4)
        return prove(subject)

    engines(bmc=give_up, other=think)
    outcome = verify(program, Settings(engines=("bmc", "other"), cores=1, timeout=100))
    assert (outcome.answer, outcome.engine) == ("HOLDS", "other")


@pytest.mark.parametrize(
    ("names", "other", "cores"),
    [
        (("slow", "bmc"), give_up, 1),
        (("bmc", "slow"), give_up, 1),  # whose second turn comes last, and is none
        (("bmc", "slow", "tired"), hang, 2),  # which leaves a processor free
    ],
)
def test_who_had_only_a_share_comes_again_if_time_is_left(
    engines: Callable[..., None],
    program: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    other: Callable[[Program], Verdict],
    cores: int,
) -> None:
    monkeypatch.setattr(schedule, "UNLIMITED", 1.0)
    engines(slow=Patient("slow", hang), bmc=other, tired=give_up)
    outcome = verify(program, Settings(engines=names, cores=cores, timeout=None))
    assert (outcome.answer, outcome.engine) == ("HOLDS", "slow")


def test_who_gave_up_with_time_to_spare_does_not_come_again(
    engines: Callable[..., None], program: Path, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"

    def give_up_noisily(subject: Program) -> Verdict:
        with begun.open("a") as file:
            file.write("x")
        return give_up(subject)

    engines(one=give_up_noisily, two=give_up_noisily)
    verify(program, Settings(engines=("one", "two"), cores=1, timeout=60))
    assert begun.read_text() == "xx"


def test_why_each_gave_up(engines: Callable[..., None], program: Path) -> None:
    engines(wreck=crash, tired=give_up)
    outcome = verify(program, Settings(engines=("wreck", "tired"), cores=1, timeout=60))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "tired"
    (note,) = outcome.diagnostics
    assert note.message.startswith("wreck: the engine crashed")


def test_a_wrong_answer_is_not_published(engines: Callable[..., None], program: Path) -> None:
    def lie(subject: Program) -> Verdict:
        return Unsafe(Trace(subject.errors[0].location.name))

    engines(liar=lie, prover=prove)
    outcome = verify(program, Settings(engines=("liar", "prover"), cores=1, timeout=60))
    assert outcome.answer == "HOLDS"


def test_the_limit_holds_for_all(engines: Callable[..., None], program: Path) -> None:
    engines(one=hang, two=hang)
    start = time.monotonic()
    outcome = verify(program, Settings(engines=("one", "two"), cores=2, timeout=1))
    assert time.monotonic() - start < 30
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "time-limit"
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(engines=("bmc", "frog")), "there is no engine 'frog'"),
        (Settings(engine="bmc", engines=("bmc",)), "--engine and --engines cannot be combined"),
    ],
)
def test_usage(settings: Settings, words: str, program: Path) -> None:
    with pytest.raises(InputError, match=words):
        verify(program, settings)


def test_contradicting_answers_are_a_defect_and_both_saved(program: Path, tmp_path: Path) -> None:
    first = verify(program, Settings(engine="bmc"))
    assert isinstance(first.subject, Program)
    opposite = replace(
        first, verdict=Unsafe(Trace(first.subject.errors[0].location.name)), engine="liar", check=None
    )

    class Finished:
        """The children of a race in which another member has just finished."""

        results: ClassVar = [
            ("liar", ChildResult("done", json.dumps(encode_outcome(opposite)).encode(), "", 0.0, 0))
        ]

        def ready_result(self) -> tuple[str, ChildResult] | None:
            return self.results.pop() if self.results else None

    question, place = read_question(program), tmp_path / "both"
    allowances = {"liar": Allowance(60)}
    race = Schedule(Task(first.subject), Settings(evidence=place), None, question, allowances=allowances)
    outcome = race._unless_contradicted(first, Finished())  # type: ignore[arg-type]
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "internal-contradiction"
    assert "bmc says HOLDS, liar says VIOLATED" in outcome.verdict.reason.message
    for who, answer in (("bmc", "HOLDS"), ("liar", "VIOLATED")):
        assert json.loads((place / who / "manifest.json").read_text())["verdict"] == answer
    assert outcome.verdict.reason.hint is not None
    assert str(place) in outcome.verdict.reason.hint


def test_an_engine_that_hardly_ran_is_no_reason(program: Path) -> None:
    subject = load_question(read_question(program)).program
    late = Unknown(Diagnostic("time-limit", "no answer in time", Severity.NOTE))
    planned = Schedule(Task(subject, "unreach-call"), Settings(timeout=60))
    planned.failures = {
        name: Outcome(subject, "unreach-call", late, name) for name in ("bmc", "kind", "linear")
    }
    left = {"bmc": 30.0, "kind": 0.2, "linear": 1.0}
    planned.allowances = {name: Allowance(60, left=seconds) for name, seconds in left.items()}
    assert planned._no_answer().engine == "bmc"
    planned.allowances = dict.fromkeys(planned.failures, Allowance(60, left=0.2))
    assert len(planned._no_answer().diagnostics) == 3
