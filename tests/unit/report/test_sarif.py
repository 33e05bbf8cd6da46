"""SARIF: its form, and what it says of each kind of answer."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sarif import SCHEMA, faults, form_faults, schema_faults

from certus.core import build
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import Inductive, Partitioned, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.horn import Clause, Derivation, HornSystem
from certus.core.horn import Step as Inference
from certus.core.memory import Partition
from certus.core.outcome import Outcome, ProofCheck, Reason, Replay, Role, Step
from certus.core.program import Edge, Program
from certus.report.sarif import render_sarif
from certus.report.sarif_results import MOST_STEPS


def outcome(program: Program, verdict: Verdict, check: ProofCheck | Replay | None = None) -> Outcome:
    return Outcome(program, "unreach-call", verdict, "bmc", check, seconds={"total": 0.5})


def run_of(found: Outcome, exit_code: int = 1) -> Any:
    """The run of a log, after a look at the form of the log."""
    log = json.loads(render_sarif(found, exit_code=exit_code))
    assert faults(log) == []
    (run,) = log["runs"]
    return run


def violated(counting: SimpleNamespace, *, loops: int = 1) -> Outcome:
    """Return a trace of an input that does not matter, rounds of a loop, and the violation."""
    kept = [Step(0, 0, 0, ((counting.x, 7),))]
    last = 3 * loops + 1
    for n in range(1, last, 3):
        kept += [Step(n, 1, 0, ()), Step(n + 1, 2, 0, ((counting.given, n),)), Step(n + 2, 6, 1, ())]
    kept.append(Step(last, 5, 0, ()))
    claim = Reason(Role.CLAIM, last, 5)
    matter = [s if s.edge == 0 else replace(s, reason=replace(claim, role=Role.VALUE)) for s in kept[:-1]]
    matter.append(replace(kept[-1], reason=claim))
    check = Replay(last + 1, tuple(matter), "main:5", matter=last, initial=(counting.limit,))
    trace = Trace("main:5", {counting.limit: 3}, {0: ((7,),)})
    return outcome(counting.program, Unsafe(trace), check)


def test_that_nothing_was_asked_is_a_warning(counting: SimpleNamespace) -> None:
    unasked = replace(counting.program, errors=())
    run = run_of(outcome(unasked, Safe(Inductive({})), ProofCheck(0, {}, 1)), 0)
    assert (run["properties"]["verdict"], run["properties"]["vacuous"]) == ("HOLDS", True)
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (note["descriptor"]["id"], note["level"]) == ("nothing-to-check", "warning")
    assert note["message"]["text"] == (
        "Nothing to check: no assertion or error label is reachable from main."
    )


def test_a_violation_is_a_result_with_its_path(counting: SimpleNamespace) -> None:
    run = run_of(violated(counting))
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], result["ruleId"], result["level"]) == ("assertion", "assertion", "error")
    assert (
        result["message"]["text"] == "The assertion `x == limit` is violated with limit = 3, after 5 steps."
    )
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "count.lp", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 7, "startColumn": 3, "endLine": 7, "endColumn": 22}
    (flow,) = result["codeFlows"][0]["threadFlows"]
    assert flow["initialState"] == {"limit": {"text": "3"}}
    steps = flow["locations"]
    assert [s["executionOrder"] for s in steps] == [1, 2, 3, 4, 5]
    assert [s["nestingLevel"] for s in steps] == [0, 0, 0, 1, 0]
    assert [s["importance"] for s in steps] == ["unimportant", *["essential"] * 4]
    assert steps[0]["state"] == {"x": {"text": "7"}}
    assert [s.get("kinds") for s in steps[1:4]] == [
        ["branch", "true"],
        ["call", "function"],
        ["return", "function"],
    ]
    assert (
        steps[-1]["location"]["message"]["text"]
        == "assert(x == limit): false, as x = 7, limit = 3 (the violated claim)"
    )
    assert run["invocations"][0]["executionSuccessful"] is True
    assert run["invocations"][0]["exitCode"] == 1


def test_the_calls_that_lead_to_a_violation(counting: SimpleNamespace) -> None:
    found = violated(counting)
    assert isinstance(found.check, Replay)
    inside = replace(found, check=replace(found.check, kept=found.check.kept[:-1]))
    frames = run_of(inside)["results"][0]["stacks"][0]["frames"]
    assert [f["location"]["physicalLocation"]["region"]["startLine"] for f in frames] == [7, 5]


def test_a_long_path_keeps_what_matters(counting: SimpleNamespace) -> None:
    (result,) = run_of(violated(counting, loops=400))["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == MOST_STEPS
    assert steps[-1]["executionOrder"] == 1202
    assert all(s["importance"] == "essential" for s in steps)


def test_steps_without_a_place(counting: SimpleNamespace) -> None:
    found = violated(counting)
    program = counting.program
    main = program.procedures["main"]
    edges = tuple(replace(e, span=None) if isinstance(e, Edge) else e for e in main.edges)
    bare = replace(program, procedures={**program.procedures, "main": replace(main, edges=edges)})
    (result,) = run_of(replace(found, subject=bare))["results"]
    first = result["codeFlows"][0]["threadFlows"][0]["locations"][0]
    assert first["location"] == {"message": {"text": "int x = *: x = 7"}}


def test_it_is_not_said_what_matters_if_nobody_knows(counting: SimpleNamespace) -> None:
    found = violated(counting)
    assert isinstance(found.check, Replay)
    kept = tuple(replace(s, reason=Reason(Role.UNKNOWN, s.number, s.edge)) for s in found.check.kept)
    (result,) = run_of(replace(found, check=replace(found.check, kept=kept, matter=None)))["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert {s["importance"] for s in steps} == {"important"}
    assert "matter" not in steps[0]["location"]["message"]["text"]


def fingerprint(found: Outcome) -> str:
    (result,) = run_of(found)["results"]
    return str(result["partialFingerprints"]["primaryLocationLineHash"])


def moved(found: Outcome, source: str, lines: int) -> Outcome:
    """Move the claim some lines further down in another source."""
    program = found.subject
    assert isinstance(program, Program)
    (site,) = program.errors
    assert site.span is not None
    line = site.span.line + lines
    further = replace(site, span=replace(site.span, line=line, end_line=line))
    return replace(found, subject=replace(program, source=source, errors=(further,)))


def test_the_fingerprint_is_of_the_line_not_of_its_number(counting: SimpleNamespace) -> None:
    found = violated(counting)
    source = counting.program.source
    first = fingerprint(found)
    assert first.endswith(":1")
    assert fingerprint(moved(found, f"// one\n// two\n{source}", 2)) == first
    assert fingerprint(moved(found, source.replace("  assert(x", "\tassert(x"), 0)) == first
    assert fingerprint(moved(found, f"assert(x == limit);\n{source}", 1)) == first[:-1] + "2"
    assert fingerprint(moved(found, source.replace("assert(x", "assert (x"), 0)) != first


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("src/a b.c", {"uri": "src/a%20b.c", "uriBaseId": "%SRCROOT%"}),
        ("/srv/a.c", {"uri": "file:///srv/a.c"}),
        ("", {"uri": "%3Cinput%3E", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_files_are_uris(counting: SimpleNamespace, file: str, uri: dict[str, str]) -> None:
    proof = Safe(Inductive({}))
    run = run_of(outcome(replace(counting.program, file=file), proof), 0)
    assert run["artifacts"][0]["location"] == uri


def test_a_proof_is_a_note_and_so_is_what_it_assumes(counting: SimpleNamespace) -> None:
    warning = Diagnostic(
        "never-reached", "Line 7 is never reached.", Severity.WARNING, Span("count.lp", 7, 3, 7, 22)
    )
    safe = Safe(Partitioned(Partition(64, (), {}), Inductive({})))
    found = replace(outcome(counting.program, safe, ProofCheck(1, {"z3": 1}, 1)), diagnostics=(warning,))
    run = run_of(found, 0)
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 0)
    notes = invocation["toolExecutionNotifications"]
    assert [(n["descriptor"]["id"], n["level"]) for n in notes] == [
        ("holds", "note"),
        ("assuming", "note"),
        ("never-reached", "warning"),
    ]
    assert notes[1]["message"]["text"] == "The proof assumes that memory accesses are valid."
    assert notes[2]["locations"][0]["physicalLocation"]["region"]["startLine"] == 7
    known = [each["id"] for each in run["tool"]["driver"]["notifications"]]
    assert known == ["assuming", "holds", "never-reached"]


def test_unknown_is_no_clean_bill(counting: SimpleNamespace) -> None:
    reason = Diagnostic(
        "unsupported-asm", "Not modelled.", span=Span("count.lp", 3, 1, 3, 4), hint="Remove it."
    )
    run = run_of(outcome(counting.program, Unknown(reason)), 3)
    (invocation,) = run["invocations"]
    assert (run["results"], invocation["executionSuccessful"], invocation["exitCode"]) == ([], False, 3)
    (note,) = invocation["toolExecutionNotifications"]
    assert (note["descriptor"]["id"], note["level"]) == ("unsupported-asm", "error")
    assert note["message"]["text"] == "Not modelled. Hint: Remove it."


def test_a_derivation_is_a_path_without_places() -> None:
    system = HornSystem((), (Clause((), (), build.TRUE, None),), file="a.smt2")
    found = Outcome(system, "check-sat", Unsafe(Derivation((Inference(0, (), ()),))), "clp")
    run = run_of(found)
    (result,) = run["results"]
    assert result["ruleId"] == "check-sat"
    (step,) = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert step["location"]["message"]["text"] == "step 0: clause 0"


def test_the_same_outcome_gives_the_same_bytes(counting: SimpleNamespace) -> None:
    found = violated(counting)
    later = replace(violated(counting), seconds={"total": 9.0})
    assert render_sarif(found, exit_code=1) == render_sarif(later, exit_code=1)


def test_the_look_at_the_form_sees_faults(counting: SimpleNamespace) -> None:
    log = json.loads(render_sarif(violated(counting), exit_code=1))
    result = log["runs"][0]["results"][0]
    del result["message"]
    result["level"] = "fatal"
    result["column"] = 3
    assert len(form_faults(log)) == 4  # the property is not known, and not looked into
    assert len(schema_faults(log)) == (3 if SCHEMA else 0)
