"""The report for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from certus import Settings, verify
from certus.core import build
from certus.core.accounting import Statistics
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import (
    Execution,
    Inductive,
    KInductive,
    Point,
    Proof,
    Safe,
    Trace,
    Unknown,
    Unrolling,
    Unsafe,
    Verdict,
    in_frame,
    old,
)
from certus.core.horn import Clause, Derivation, HornSystem, Model
from certus.core.horn import Step as Inference
from certus.core.outcome import Compilers, Outcome, PassSize, ProofCheck, Reason, Replay, Role, Size, Step
from certus.core.program import Program
from certus.core.terms import BOOL, INT, Function
from certus.report.outcome_view import value_text
from certus.report.text import Palette, render_passes, render_text


def outcome(program: Program, verdict: Verdict, check: ProofCheck | Replay | None = None) -> Outcome:
    return Outcome(program, "unreach-call", verdict, "bmc", check, seconds={"total": 0.5})


def holds(counting: SimpleNamespace, proof: Proof) -> str:
    return render_text(outcome(counting.program, Safe(proof), ProofCheck(31, {"z3": 31, "cvc5": 29}, 212)))


def violated(counting: SimpleNamespace, *, omitted: int = 0) -> Outcome:
    x = counting.x
    trace = Trace("main:5", {counting.limit: 3}, {0: ((7,),)})
    n = omitted + 2
    kept = (
        Step(0, 0, 0, ((x, 7),)),
        Step(1, 7, 0, ()),
        Step(n, 6, 1, ((counting.result, 8),)),
        Step(n + 1, 8, 0, ((build.var("main.$1", INT), 4),)),
        Step(n + 2, 3, 0, ()),
        Step(n + 3, 5, 0, ()),
    )
    return outcome(counting.program, Unsafe(trace), Replay(n + 4, kept, "main:5"))


@pytest.mark.parametrize(
    ("property_name", "function", "file", "said"),
    [
        ("unreach-call", None, "count.c", "no assertion or error call"),
        ("unreach-call", None, "count.lp", "no assertion or error label"),
        ("unreach-call", "reach_error", "count.c", "no call of reach_error"),
        ("no-overflow", None, "count.c", "no signed arithmetic that could overflow"),
        ("no-div-zero", None, "count.lp", "no division that could be by zero"),
        ("valid-memsafety", None, "count.c", "no memory access that could be invalid"),
        ("valid-memtrack", None, "count.c", "no allocation of an object on the heap"),
    ],
)
def test_the_first_line_says_that_nothing_was_asked(
    counting: SimpleNamespace, property_name: str, function: str | None, file: str, said: str
) -> None:
    program = replace(counting.program, errors=(), file=file)
    found = replace(
        outcome(program, Safe(Execution(9)), ProofCheck(0, {}, 1)),
        property_name=property_name,
        error_function=function,
    )
    assert render_text(found).splitlines()[0] == (
        f"HOLDS  {file}  {property_name}  nothing to check: {said} is reachable from main  (bmc, 0.50 s)"
    )
    assert found.answer == "HOLDS"


def test_a_counterexample(counting: SimpleNamespace) -> None:
    assert render_text(violated(counting, omitted=1200)) == (
        "VIOLATED  count.lp  unreach-call  (bmc, 0.50 s)\n"
        "counterexample, 1,205 steps:\n"
        "   initially  limit = 3\n"
        "     3  int x = *;           x = 7\n"
        "        ... 1,200 steps omitted ...\n"
        "    10    return x + 1;      returns 8\n"
        "     3  *                    = 4\n"
        "     4  while (x < limit)    false\n"
        "     7  assert(x == limit);  false\n"
        "count.lp:7:3: violated[assertion]: x == limit\n"
        "    7 |   assert(x == limit);\n"
        "      |   ^~~~~~~~~~~~~~~~~~~\n"
        "  checked: replayed on the program, 1,206 steps of the interpreter"
    )


def explained(counting: SimpleNamespace, *, matter: int = 3) -> Outcome:
    """Of steps 0, 1, 90, 91, 92 and 93 the first and the last two matter."""
    found = violated(counting, omitted=88)
    assert isinstance(found.check, Replay)
    start, skip, inside, given, loop, claim = found.check.kept
    kept = (
        replace(start, reason=Reason(Role.VALUE, 92, loop.edge, counting.x)),
        skip,
        inside,
        given,
        replace(loop, reason=Reason(Role.BRANCH, 93, claim.edge)),
        replace(claim, reason=Reason(Role.CLAIM, 93, claim.edge)),
    )
    return replace(found, check=replace(found.check, kept=kept, matter=matter, initial=()))


def test_steps_that_do_not_matter_are_folded(counting: SimpleNamespace) -> None:
    assert render_text(explained(counting)).splitlines()[1:5] == [
        "counterexample, 93 steps, 3 of which matter:",
        "     3  int x = *;           x = 7  (an input, read at line 4)",
        "        ... 90 steps that do not matter ...",
        "     4  while (x < limit)    false  (decides that line 7 is reached)",
    ]


def test_a_full_trace_shows_what_does_not_matter_too(counting: SimpleNamespace) -> None:
    assert render_text(explained(counting), full_trace=True).splitlines()[2:7] == [
        "   initially  limit = 3",
        "     3  int x = *;           x = 7      (an input, read at line 4)",
        "        ... 88 steps that do not matter ...",
        "    10    return x + 1;      returns 8",
        "     3  *                    = 4",
    ]


def test_omitted_steps_may_matter(counting: SimpleNamespace) -> None:
    text = render_text(explained(counting, matter=50))
    assert "93 steps, 50 of which matter" in text
    assert "... 90 steps omitted ..." in text


def test_a_short_counterexample_omits_nothing(counting: SimpleNamespace) -> None:
    assert "omitted" not in render_text(violated(counting))


@pytest.mark.parametrize(
    ("compiled", "said"),
    [("confirmed", "interpreter, compiled"), ("it took too long", "interpreter only; it took too long")],
)
def test_who_replayed_a_trace_is_told(counting: SimpleNamespace, compiled: str, said: str) -> None:
    outcome = violated(counting)
    assert isinstance(outcome.check, Replay)
    told = render_text(replace(outcome, check=replace(outcome.check, compiled=compiled)))
    assert told.endswith(f"\n  replayed: {said}")


def test_the_compilers_that_agree_are_told(counting: SimpleNamespace) -> None:
    outcome = violated(counting)
    assert isinstance(outcome.check, Replay)
    for compilers, said in (
        (Compilers(("clang", "gcc")), "clang, gcc"),
        (Compilers(("clang",), "it is not installed"), "clang"),
        (Compilers(("clang",), differs="main returned"), "clang (gcc: main returned)"),
    ):
        check = replace(outcome.check, compiled="confirmed", compilers=compilers)
        told = render_text(replace(outcome, check=check))
        assert told.endswith(f"\n  replayed: interpreter, compiled; compilers: {said}")


def test_loop_invariants_and_summaries(counting: SimpleNamespace) -> None:
    limit, x, given, result = counting.limit, counting.x, counting.given, counting.result
    proof = Inductive(
        {Point(counting.head): build.le(x, limit), Point(counting.entry): build.le(given, limit)},
        {"step": build.eq(result, build.add(old(given), build.integer(1)))},
    )
    text = holds(counting, proof).splitlines()
    assert text[0] == "HOLDS  count.lp  unreach-call  (bmc, 0.50 s)"
    assert text[1].startswith("  loop at line 4: ")
    assert set(text[1].partition(": ")[2].split()) <= {"x", "limit", "<=", ">="}
    assert text[2].startswith("  procedure step: ")
    assert "old(x)" in text[2]
    assert text[3] == "  checked: 31 clauses proved by z3 (31), cvc5 (29); 212 random runs"
    assert len(text) == 4


def test_verbose_shows_formulas_at_all_points(counting: SimpleNamespace) -> None:
    proof = Inductive({Point(counting.entry): build.le(counting.given, counting.limit)})
    safe = outcome(counting.program, Safe(proof))
    assert "step:6" not in render_text(safe)
    assert "  at step:6: " in render_text(safe, detail="verbose")


def test_clashing_names_are_told_apart(counting: SimpleNamespace) -> None:
    formula = build.le(counting.x, in_frame(counting.given, 1))
    proof = KInductive(2, {Point(counting.head, (2,)): formula})
    text = holds(counting, proof)
    assert "  the invariants are 2-inductive\n" in text
    assert "  loop at line 4, called from line 5: " in text
    shown = text.partition("line 5: ")[2].splitlines()[0]
    assert sorted(shown.replace("<=", " ").replace(">=", " ").split()) in (["main.x", "x"], ["step.x", "x"])


def test_an_unrolling(counting: SimpleNamespace) -> None:
    text = holds(counting, Unrolling({"main:1": 4}, {"step": 1}))
    assert "  loop at line 4: all executions end within 4 loop entries\n" in text
    assert "  procedure step: all executions end within 1 simultaneous activation\n" in text


def test_an_unrolling_without_loops(counting: SimpleNamespace) -> None:
    assert "all executions end without entering a loop" in holds(counting, Unrolling({}))


def test_an_execution(counting: SimpleNamespace) -> None:
    text = holds(counting, Execution(1_000_000))
    assert "one execution; it ends after 1,000,000 steps" in text
    assert text.endswith("  checked: run to its end by the interpreter")


def test_a_proof_that_needs_no_solver(counting: SimpleNamespace) -> None:
    report = outcome(counting.program, Safe(Unrolling({})), ProofCheck(0, {"z3": 0, "cvc5": 0}, 1))
    assert render_text(report).endswith("  checked: no clause needs a solver; 1 random run")


def test_a_place_in_another_file_has_no_excerpt(counting: SimpleNamespace) -> None:
    reason = Diagnostic("unsupported-asm", "Not modelled.", span=Span("other.h", 4, 3, 4, 9))
    assert render_text(outcome(counting.program, Unknown(reason))) == (
        "UNKNOWN  count.lp  unreach-call  unsupported-asm  (bmc, 0.50 s)\n"
        "other.h:4:3: unknown[unsupported-asm]: Not modelled."
    )


@pytest.mark.parametrize(
    ("verdict", "expected", "said"),
    [
        (Safe(Execution(1)), False, True),
        (Safe(Execution(1)), True, False),
        (Safe(Execution(1)), None, False),
        (Unknown(Diagnostic("time-limit", "too slow")), True, False),
    ],
)
def test_an_answer_against_the_task_file(
    verdict: Verdict, expected: bool | None, said: bool, counting: SimpleNamespace
) -> None:
    found = replace(outcome(counting.program, verdict), expected=expected)
    assert found.contradicted is said
    assert ("  expected: false (the task file says so)" in render_text(found).splitlines()) is said


def test_unknown_says_why_where_and_what_next(counting: SimpleNamespace) -> None:
    reason = Diagnostic(
        "bound-reached",
        "the loop may be entered more than 10 times",
        span=counting.head.loop,
        hint="try --bound 20",
    )
    assert render_text(outcome(counting.program, Unknown(reason))) == (
        "UNKNOWN  count.lp  unreach-call  bound-reached  (bmc, 0.50 s)\n"
        "count.lp:4:3: unknown[bound-reached]: the loop may be entered more than 10 times\n"
        "    4 |   while (x < limit) {\n"
        "      |   ^~~~~~~~~~~~~~~~~\n"
        "  hint: try --bound 20"
    )


def test_quiet_is_one_line(counting: SimpleNamespace) -> None:
    text = render_text(violated(counting), detail="quiet")
    assert text == "VIOLATED  count.lp  unreach-call  (bmc, 0.50 s)"


def test_warnings_stand_beside_the_answer(counting: SimpleNamespace) -> None:
    warning = Diagnostic(
        "never-written", "x is read before it is written", Severity.WARNING, Span("count.lp", 3, 7, 3, 8)
    )
    report = Outcome(counting.program, "unreach-call", Safe(Execution(1)), "bmc", diagnostics=(warning,))
    assert "count.lp:3:7: warning[never-written]: x is read before it is written\n" in render_text(report)


def test_verbose_has_statistics(counting: SimpleNamespace) -> None:
    statistics = Statistics(Counter({"solver.bmc": 12}), {"solver.bmc": 0.25})
    report = Outcome(counting.program, "unreach-call", Safe(Execution(1)), "bmc", statistics=statistics)
    text = render_text(report, detail="verbose").splitlines()
    assert [line.split() for line in text if line.startswith("  solver.bmc")] == [
        ["solver.bmc", "12"],
        ["solver.bmc", "0.250"],
    ]


def test_passes(counting: SimpleNamespace) -> None:
    passes = (PassSize("large-blocks", Size(80, 90), Size(4, 3)),)
    table = render_passes(Outcome(counting.program, "unreach-call", Safe(Execution(1)), "bmc", passes=passes))
    assert [line.split() for line in table.splitlines()] == [
        ["pass", "locations", "after", "edges", "after"],
        ["large-blocks", "80", "4", "90", "3"],
    ]


def test_colours_only_when_asked(counting: SimpleNamespace) -> None:
    plain, painted = (
        render_text(violated(counting), palette=palette) for palette in (Palette(), Palette(coloured=True))
    )
    assert "\x1b" not in plain
    assert painted.startswith("\x1b[31mVIOLATED\x1b[0m")


def horn() -> tuple[HornSystem, Function]:
    relation = Function("P", (INT,), BOOL)
    x = build.var("x", INT)
    atom = build.apply(relation, (x,))
    return HornSystem(
        (relation,),
        (Clause((x,), (), build.eq(x, build.integer(0)), atom), Clause((x,), (atom,), build.TRUE, None)),
        file="zero.smt2",
    ), relation


def test_a_model_of_horn_clauses() -> None:
    system, relation = horn()
    x = build.var("x", INT)
    model = Model({relation: ((x,), build.eq(x, build.integer(0)))})
    text = render_text(Outcome(system, "check-sat", Safe(model), "clp"))
    assert "  P(x): x == 0" in text or "  P(x): 0 == x" in text


def test_a_derivation() -> None:
    system, _ = horn()
    steps = (Inference(0, (0,), ()), Inference(1, (0,), (0,)))
    text = render_text(Outcome(system, "check-sat", Unsafe(Derivation(steps)), "clp"))
    assert text.splitlines()[1:] == ["  0: clause 0  x = 0", "  1: clause 1 from 0  x = 0"]


def test_values() -> None:
    assert [value_text(v) for v in (True, False, -3, Fraction(1, 3), Fraction(4))] == [
        "true",
        "false",
        "-3",
        "1/3",
        "4",
    ]
    assert value_text(-(10**5000)) == "-(about 2**16610)"


def test_the_middle_of_a_long_counterexample_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "long.c"
    path.write_text(
        "#include <assert.h>\nextern int __VERIFIER_nondet_int(void);\n"
        "int main(void) { int n = 0; while (__VERIFIER_nondet_int()) { n++; assert(n < 30); } }\n"
    )
    outcome = verify(path, Settings(property_name="unreach-call", engine="search", timeout=60, execute=False))
    short = render_text(outcome).splitlines()
    whole = render_text(outcome, full_trace=True).splitlines()
    assert len(short) < 70 < len(whole)
    assert sum("more lines: --full-trace" in line for line in short) == 1
    assert (short[:6], short[-6:]) == (whole[:6], whole[-6:])
