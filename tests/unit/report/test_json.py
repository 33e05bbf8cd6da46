"""The report for programs says the same as the one for people."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from certus.core import build
from certus.core.accounting import Finding, Statistics
from certus.core.diagnostic import Diagnostic, Span
from certus.core.evidence import (
    Execution,
    Inductive,
    KInductive,
    Point,
    Safe,
    Trace,
    Unknown,
    Unrolling,
    Unsafe,
    Verdict,
)
from certus.core.outcome import (
    Challenge,
    Compilers,
    Outcome,
    PassSize,
    ProofCheck,
    Reason,
    Replay,
    Role,
    Size,
    Step,
    Undecided,
)
from certus.core.version import VERSION
from certus.report.json import render_input_error_json, render_json

DOCUMENT = Path(__file__).parents[3] / "docs" / "json.md"


def read(counting: SimpleNamespace, verdict: Verdict, check: ProofCheck | Replay | None = None) -> Any:
    findings = [Finding("unreachable", "line 4", "x = 1;")]
    statistics = Statistics(Counter({"solver.bmc": 2}), {"solver.bmc": 0.1}, findings)
    passes = (PassSize("large-blocks", Size(8, 8), Size(4, 3)),)
    outcome = Outcome(
        counting.program, "unreach-call", verdict, "bmc", check, statistics, (), {"load": 0.25}, passes
    )
    return json.loads(render_json(outcome))


def test_the_challenge_tells_of_compilers(counting: SimpleNamespace) -> None:
    challenge = Challenge(200, 56, compilers=Compilers(("clang", "gcc")), gcc_compared=190)
    outcome = Outcome(counting.program, "unreach-call", Safe(Execution(9)), "bmc", challenge=challenge)
    assert json.loads(render_json(outcome))["challenge"] == {
        **{"compared": 200, "not_compared": 56, "why_not": None},
        **{"compilers": ["clang", "gcc"], "gcc": None, "gcc_compared": 190},
    }


def test_the_frame(counting: SimpleNamespace) -> None:
    check = ProofCheck(3, {"z3": 3, "cvc5": 2}, 40, {"cvc5": {Undecided.OUT_OF_TIME: 1}}, 1)
    found = read(counting, Safe(Execution(9)), check)
    assert found == {
        "certus": VERSION,
        "format": 2,
        "file": "count.lp",
        "property": "unreach-call",
        "engine": "bmc",
        "verdict": "HOLDS",
        "vacuous": False,
        "expected": None,
        "proof": {"kind": "execution", "steps": 9},
        "check": {
            "kind": "proof",
            "clauses": 3,
            "discharged": {"z3": 3, "cvc5": 2},
            "undecided": {"cvc5": {"out-of-time": 1}},
            "by_one": 1,
            "runs": 40,
        },
        "diagnostics": [],
        "passes": [
            {
                "name": "large-blocks",
                "before": {"locations": 8, "edges": 8},
                "after": {"locations": 4, "edges": 3},
            }
        ],
        "findings": [{"kind": "unreachable", "place": "line 4", "text": "x = 1;"}],
        "statistics": {"counters": {"solver.bmc": 2}, "seconds": {"solver.bmc": 0.1}},
        "seconds": {"total": 0.25, "load": 0.25},
    }


def test_that_nothing_was_asked_is_a_field_of_every_answer(counting: SimpleNamespace) -> None:
    unasked = SimpleNamespace(**vars(counting) | {"program": replace(counting.program, errors=())})
    assert read(unasked, Safe(Execution(9)))["vacuous"] is True
    assert read(unasked, Unknown(Diagnostic("time-limit", "too slow")))["vacuous"] is False


def test_proofs(counting: SimpleNamespace) -> None:
    assert read(counting, Safe(Unrolling({"main:1": 4}, {"step": 2})))["proof"] == {
        "kind": "unrolling",
        "loops": [{"location": "main:1", "line": 4, "column": 3, "entries": 4}],
        "recursion": [{"procedure": "step", "activations": 2}],
    }
    x, limit = counting.x, counting.limit
    formula = build.eq(x, limit)
    found = read(counting, Safe(Inductive({Point(counting.head): formula}, {"step": build.TRUE})))["proof"]
    assert found["kind"] == "inductive"
    assert found["summaries"] == [{"procedure": "step", "formula": "true"}]
    (invariant,) = found["invariants"]
    assert invariant.pop("formula") in ("x == limit", "limit == x")
    assert invariant == {
        "location": "main:1",
        "loop": True,
        "line": 4,
        "column": 3,
        "called_from_lines": [],
    }
    found = read(counting, Safe(KInductive(3, {Point(counting.head, (2,)): formula})))["proof"]
    assert (found["kind"], found["k"]) == ("k-inductive", 3)
    assert found["invariants"][0]["called_from_lines"] == [5]


def test_a_trace(counting: SimpleNamespace) -> None:
    trace = Trace("main:5", {counting.limit: 10**900})
    replay = Replay(
        4,
        (Step(0, 0, 0, ((counting.x, 7),)), Step(3, 5, 1, (), Reason(Role.CLAIM, 3, 5))),
        "main:5",
        matter=2,
    )
    found = read(counting, Unsafe(trace), replay)
    assert found["verdict"] == "VIOLATED"
    assert found["check"] == {"kind": "replay", "steps": 4}
    alone = Compilers(("clang",), "it is not installed")
    found = read(counting, Unsafe(trace), replace(replay, compiled="confirmed", compilers=alone))
    assert found["check"] == {
        **{"kind": "replay", "steps": 4, "compiled": "confirmed"},
        **{"compilers": ["clang"], "gcc": "it is not installed"},
    }
    assert found["trace"] == {
        "steps": 4,
        "matter": 2,
        "initial": [{"name": "limit", "value": hex(10**900)}],
        "head": [
            {
                "number": 0,
                "file": "count.lp",
                "line": 3,
                "column": 3,
                "statement": "int x = *;",
                "branch": None,
                "depth": 0,
                "changes": [{"name": "x", "value": 7}],
                "shown": [{"name": "x", "value": "7"}],
                "because": [],
                "reason": None,
            }
        ],
        "omitted": 2,
        "tail": [
            {
                "number": 3,
                "file": "count.lp",
                "line": 7,
                "column": 3,
                "statement": "assert(x == limit);",
                "branch": False,
                "depth": 1,
                "changes": [],
                "shown": [],
                "because": [],
                "reason": "the violated claim",
            }
        ],
        "violated": {"kind": "assertion", "claim": "x == limit", "line": 7, "column": 3},
    }


def test_fractions_are_text(counting: SimpleNamespace) -> None:
    trace = Trace("main:5", {counting.limit: Fraction(1, 3)})
    found = read(counting, Unsafe(trace), Replay(0, (), "main:5"))
    assert found["trace"]["initial"] == [{"name": "limit", "value": "1/3"}]


def test_unknown(counting: SimpleNamespace) -> None:
    found = read(counting, Unknown(Diagnostic("time", "the time limit was reached", hint="try --timeout 5m")))
    assert found["verdict"] == "UNKNOWN"
    assert found["check"] is None
    assert found["reason"] == {
        "severity": "error",
        "code": "time",
        "message": "the time limit was reached",
        "hint": "try --timeout 5m",
        "file": None,
        "line": None,
        "column": None,
    }


def test_malformed_input() -> None:
    found = json.loads(
        render_input_error_json(
            "a.lp", [Diagnostic("syntax", "unexpected `;`", span=Span("a.lp", 2, 5, 2, 6))]
        )
    )
    assert found["verdict"] is None
    assert (found["diagnostics"][0]["line"], found["diagnostics"][0]["column"]) == (2, 5)


def test_every_field_is_documented(counting: SimpleNamespace) -> None:
    outcomes = [
        read(counting, Safe(Unrolling({"main:1": 4}, {"step": 2})), ProofCheck(1, {"z3": 1}, 1)),
        read(counting, Safe(KInductive(3, {Point(counting.head): build.TRUE}))),
        read(
            counting,
            Unsafe(Trace("main:5")),
            Replay(1, (Step(0, 0, 0, ((counting.x, 7),)),), "main:5"),
        ),
        read(counting, Unknown(Diagnostic("time", "late"))),
    ]
    free = ("counters", "seconds", "discharged")  # their keys are data
    keys: dict[str, None] = {}
    stack: list[Any] = list(outcomes)
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            keys |= dict.fromkeys(item)
            stack += [value for key, value in item.items() if key not in free]
        elif isinstance(item, list):
            stack += item
    text = DOCUMENT.read_text()
    assert [key for key in keys if f"`{key}`" not in text] == []
