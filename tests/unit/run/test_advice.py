"""UNKNOWN that helps: why each gave up, and what to try."""

from __future__ import annotations

import re

import pytest

from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Unknown
from certus.core.horn import HornSystem
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.engines.registry import ENGINES
from certus.run.advice import advise, duration_text, size_text
from certus.run.settings import Settings


def gave_up(engine: str, code: str, hint: str | None = "of its own") -> Outcome:
    reason = Diagnostic(code, "it was too much", Severity.NOTE, hint=hint)
    return Outcome(Program({}, "main", (), ()), "unreach-call", Unknown(reason), engine)


def advice(settings: Settings, *given: tuple[str, str]) -> tuple[Diagnostic, list[str]]:
    outcome = advise([gave_up(*each) for each in given], settings)
    assert isinstance(outcome.verdict, Unknown)
    return outcome.verdict.reason, [note.message for note in outcome.diagnostics]


def test_every_engine_says_why() -> None:
    reason, notes = advice(Settings(), ("linear", "not-linear"), ("predicate", "diverging"))
    assert reason.code == "diverging"
    assert reason.message == "predicate: it was too much"
    assert notes == ["linear: it was too much"]


def test_engines_that_ran_out_of_time_are_listed() -> None:
    reason, notes = advice(
        Settings(), ("linear", "not-linear"), ("bmc", "time-limit"), ("kind", "time-limit")
    )
    assert reason.code == "time-limit"
    assert reason.message == "none of 3 engines found an answer in the time it had"
    assert [note.partition(":")[0] for note in notes] == ["linear", "bmc", "kind"]


@pytest.mark.parametrize(
    ("settings", "given", "hint"),
    [
        (
            Settings(timeout=60),
            [("bmc", "time-limit")],
            "try --timeout 5m, or --engines kind,predicate,linear,ranges,clp,spacer,arrays",
        ),
        (
            Settings(timeout=20),
            [("linear", "not-linear"), ("kind", "time-limit"), ("predicate", "time-limit")],
            "try --timeout 2m, or --engines bmc,ranges,clp,spacer,arrays",
        ),
        (
            Settings(memory=10**9),
            [("bmc", "memory-limit"), ("kind", "diverging")],
            "try --memory 2GB, or --engines predicate,linear,ranges,clp,spacer,arrays",
        ),
        (
            Settings(engine="kind", options={"kind.k": "5"}),
            [("kind", "k-reached")],
            "of its own",
        ),
        (Settings(engine="linear"), [("linear", "not-linear")], "try --engine auto"),
        (Settings(engine="bmc", bound=3), [("bmc", "bound-reached")], "of its own"),
        (Settings(), [("bmc", "trace-needs-unmodelled-value")], "of its own"),
        (Settings(solvers=2), [("bmc", "second-solver-missing"), ("kind", "time-limit")], "of its own"),
    ],
)
def test_what_to_try(settings: Settings, given: list[tuple[str, str]], hint: str) -> None:
    assert advice(settings, *given)[0].hint == hint


@pytest.mark.parametrize("code", ["tired", "time-limit", "memory-limit", "engine-crashed"])
def test_no_engine_that_was_tried_is_proposed(code: str) -> None:
    engines = list(ENGINES)
    for tried in (engines[:1], engines[1:], engines[2:5], engines):
        outcomes = [gave_up(name, code, hint="try --engines kind,predicate") for name in tried]
        told = advise(outcomes, Settings(memory=10**9)).verdict
        assert isinstance(told, Unknown)
        proposed = re.findall(r"--engines? ([\w,]+)", told.reason.hint or "")
        named = {name for names in proposed for name in names.split(",")}
        assert named.isdisjoint(tried)


def test_clauses_are_for_engines_that_solve_them() -> None:
    reason = Diagnostic("tired", "it was too much", Severity.NOTE)
    outcome = Outcome(HornSystem((), ()), "satisfiable", Unknown(reason), "spacer")
    told = advise([outcome], Settings()).verdict
    assert isinstance(told, Unknown)
    assert told.reason.hint == "try --engines clp"


def test_the_limit_that_ended_it_is_named() -> None:
    reason, _ = advice(Settings(cpu_time=10), ("bmc", "cpu-limit"))
    assert reason.hint is not None
    assert reason.hint.startswith("try --cpu-time 50s")


def test_a_defect_is_the_reason() -> None:
    reason, _ = advice(Settings(), ("kind", "internal-contradiction"), ("predicate", "time-limit"))
    assert reason.code == "internal-contradiction"


def test_a_trace_that_was_found_is_the_reason() -> None:
    reason, _ = advice(Settings(), ("bmc", "trace-not-replayed"), ("kind", "time-limit"))
    assert reason.code == "trace-not-replayed"


def test_an_object_that_may_be_lost_comes_before_limits() -> None:
    reason, _ = advice(Settings(), ("kind", "leak-before-endless-loop"), ("bmc", "time-limit"))
    assert reason.code == "leak-before-endless-loop"


def test_an_interruption_is_the_reason() -> None:
    reason, notes = advice(Settings(), ("bmc", "interrupted"), ("linear", "not-linear"))
    assert (reason.code, notes) == ("interrupted", ["linear: it was too much"])


def test_amounts_as_options_take_them() -> None:
    assert [duration_text(s) for s in (2.5, 75, 100, 300)] == ["2.5s", "75s", "2m", "5m"]
    assert [size_text(n) for n in (500_000_000, 4 * 10**9)] == ["500MB", "4GB"]
