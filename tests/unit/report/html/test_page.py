"""The page as a whole: what it says, what it may load, and that no text from a program becomes markup."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.unit.report.html.reading import Page

from certus.core import build
from certus.core.accounting import Finding, Refinement, Statistics
from certus.core.diagnostic import Diagnostic, Severity, Span
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
    old,
)
from certus.core.horn import Clause, Derivation, HornSystem, Model
from certus.core.horn import Step as Inference
from certus.core.outcome import (
    CONFIRMED,
    Challenge,
    Compilers,
    DerivationCheck,
    Outcome,
    PassSize,
    ProofCheck,
    Reason,
    Replay,
    Role,
    Size,
    Step,
)
from certus.core.terms import BOOL, INT, Function
from certus.report.html.page import render_html

NASTY = "</script><script>alert(1)</script><!-- & \"'` <img src=x onerror=alert(2)> ]]> \u202e \x00 </style>"


def violated(counting: SimpleNamespace, **changed: object) -> Outcome:
    """x = 7 is above the limit 3 from the start."""
    matters = Reason(Role.VALUE, 2, 5, counting.x)
    kept = (Step(0, 0, 0, ((counting.x, 7),), matters), Step(1, 3, 0, ()), Step(2, 5, 0, (), matters))
    trace = Trace("main:5", {counting.limit: 3}, {0: ((7,),)})
    check = Replay(3, kept, "main:5", CONFIRMED, compilers=Compilers(("clang", "gcc")))
    made = Outcome(counting.program, "unreach-call", Unsafe(trace), "bmc", check, seconds={"total": 0.5})
    return replace(made, **changed)  # type: ignore[arg-type]


def holds(counting: SimpleNamespace, proof: object = None) -> Outcome:
    invariant = build.and_(build.le(counting.x, counting.limit), build.ge(counting.x, build.integer(0)))
    summary = build.eq(counting.result, build.add(old(counting.given), build.integer(1)))
    chosen = proof or Inductive({Point(counting.head): invariant}, {"step": summary})
    check = ProofCheck(31, {"z3": 31, "cvc5": 29}, 212)
    return Outcome(counting.program, "unreach-call", Safe(chosen), "kind", check)  # type: ignore[arg-type]


def test_that_nothing_was_asked_stands_below_the_answer(counting: SimpleNamespace) -> None:
    found = holds(counting, Inductive({}))
    words = render_html(replace(found, subject=replace(counting.program, errors=())))
    said = "Nothing to check: no assertion or error label is reachable from main."
    assert f'<p class="claim">{said} So <code>unreach-call</code> holds' in words
    assert "Nothing to check" not in render_html(found)


def test_a_violation(counting: SimpleNamespace) -> None:
    assert "replayed by the compiled program; compilers: clang, gcc" in render_html(violated(counting))
    page = Page(render_html(violated(counting)))
    assert page.tags("html")[0]["data-answer"] == "VIOLATED"
    assert page.ids["L7"] == "7  assert(x == limit);"
    assert page.ids["S0"] == "3int x = *;x = 7"
    assert page.ids["S2"] == "7assert(x == limit);false"
    assert next(a for t, a in page.elements if a.get("id") == "L7")["class"] == "line met matters violated"
    assert next(a for t, a in page.elements if a.get("id") == "S1")["class"] == "folded"
    first, _, last = page.trace["steps"]
    assert first["set"] == [[0, "main.x", "x", "7"]]
    assert first["reason"]
    assert last["why"] == ["x == limit", False, [["x", "7"], ["limit", "3"]]]
    assert page.trace["initially"] == [[-1, "limit", "limit", "3"]]
    assert page.trace["claim"] == "violated: x == limit"


def test_a_proof(counting: SimpleNamespace) -> None:
    words = render_html(holds(counting))
    page = Page(words)
    assert page.trace is None
    after_the_loop = words.split('id="L4"')[1].split('id="L5"')[0]
    assert "loop invariant" in after_the_loop
    assert "<li><code>x &lt;= limit</code></li><li><code>x &gt;= 0</code></li>" in after_the_loop
    assert "z3 proved 31 of 31 clauses" in words
    assert "cvc5 proved 29 of 31 clauses" in words
    assert "212 random runs" in words
    assert "old(x) + 1" in words.split('id="L9"')[1].split('id="L10"')[0]


def test_only_passed_checks_are_ticked(counting: SimpleNamespace) -> None:
    challenged, not_challenged = Challenge(compared=256), Challenge(why_not="it was not run")
    passed = render_html(replace(holds(counting), challenge=challenged))
    assert "<li>challenged: 256 native runs" in passed
    assert 'class="missing"' not in passed
    missing = render_html(replace(holds(counting), challenge=not_challenged))
    assert '<li class="missing">not challenged: it was not run</li>' in missing
    unconfirmed = replace(violated(counting).check, compiled="it ended otherwise")  # type: ignore[type-var]
    words = render_html(violated(counting, check=unconfirmed))
    assert '<li class="missing">not replayed by the compiled program: it ended otherwise</li>' in words


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (Execution(34), "ends after 34 steps"),
        (Unrolling({"main:1": 5}, {"step": 2}), "entered at most 5 times"),
        (Unrolling({}), "No loop is entered"),
    ],
)
def test_other_proofs(counting: SimpleNamespace, proof: object, said: str) -> None:
    words = render_html(holds(counting, proof))
    Page(words)
    assert said in words


def test_k_induction_and_many_calls(counting: SimpleNamespace) -> None:
    points = {Point(counting.head, (2,) * n): build.ge(counting.x, build.integer(n)) for n in range(12)}
    words = render_html(holds(counting, KInductive(2, points)))
    assert "in 2 visits of a loop" in words
    assert "4 more, for other calls" in words


def test_an_unknown(counting: SimpleNamespace) -> None:
    place = Span("count.lp", 4, 3, 4, 20)
    reason = Diagnostic(
        "diverging", "the loop at line 4 `x < limit` is unrolled", Severity.NOTE, place, "try --bound 9"
    )
    header = Diagnostic("odd", "a warning", Severity.WARNING, Span("other.h", 2, 1, 2, 2))
    made = Outcome(counting.program, "unreach-call", Unknown(reason), "auto", diagnostics=(header,))
    words = render_html(made)
    page = Page(words)
    assert 'the loop at <a class="go" href="#L4">line 4</a> <code>x &lt; limit</code>' in words
    assert "<code>--bound 9</code>" in words
    assert "other.h:2" in words
    assert page.trace is None


def test_a_program_that_was_not_read() -> None:
    from certus.core.program import Program

    nothing = Program({}, "main", (), (), source="int main", file="x.c")
    words = render_html(
        Outcome(nothing, "unreach-call", Unknown(Diagnostic("unsupported-asm", "asm")), "auto")
    )
    assert Page(words).ids["L1"] == "1int main"


def test_horn_clauses() -> None:
    relation = Function("inv", (INT,), BOOL)
    x = build.var("x", INT)
    clause = Clause((x,), (), build.eq(x, build.integer(0)), build.apply(relation, (x,)))
    system = HornSystem((relation,), (clause,), "(set-logic HORN) ; <b>", "a.smt2")
    model = Model({relation: ((x,), build.ge(x, build.integer(0)))})
    words = render_html(Outcome(system, "satisfiable", Safe(model), "spacer", ProofCheck(1, {"z3": 1}, 0)))
    Page(words)
    assert "<code>inv(x)</code>" in words
    assert "<code>x &gt;= 0</code>" in words
    derived = Derivation((Inference(0, (4,), ()),))
    words = render_html(Outcome(system, "satisfiable", Unsafe(derived), "spacer", DerivationCheck(1)))
    assert "x = 4" in words


def test_findings_and_statistics(counting: SimpleNamespace) -> None:
    statistics = Statistics(
        Counter({"solver.bmc": 1234, "predicate.refinements": 5}),
        {"engine": 0.25},
        [Finding("predicates", "line 4", "x < 3")],
        [
            Refinement(("line 4 (2 times)", "line 7"), (("line 4", "x < 3"), ("line 4", "x < y"))),
            Refinement(("main:9",), ()),
        ],
    )
    passes = (PassSize("slice", Size(10, 12), Size(4, 5)),)
    page = Page(render_html(replace(holds(counting), statistics=statistics, passes=passes)))
    assert "x < 3" in page.ids["findings"]
    assert "line 4 (2 times) → line 7" in page.ids["findings"]
    assert "line 4: x < 3, x < y" in page.ids["findings"]
    assert "none that were not there already" in page.ids["findings"]
    assert "3 more rounds" in page.ids["findings"]
    assert "1,234" in page.ids["statistics"]
    assert "slice" in page.ids["statistics"]


class TestSafety:
    def nasty(self, counting: SimpleNamespace) -> Outcome:
        """Somebody's markup wherever somebody's text can be."""
        edges = counting.program.procedures["main"].edges
        names = dict.fromkeys(counting.program.source_names, NASTY)
        main = replace(
            counting.program.procedures["main"], edges=tuple(replace(e, text=NASTY) for e in edges)
        )
        sites = tuple(replace(s, text=NASTY, kind=NASTY) for s in counting.program.errors)
        program = replace(
            counting.program,
            procedures={**counting.program.procedures, "main": main},
            source=f'// {NASTY}\nchar *s = "{NASTY}";\n{NASTY}\n#define {NASTY}\n/* {NASTY}',
            file=f"{NASTY}.c",
            source_names=names,
            errors=sites,
        )
        spot = Span(NASTY, 1, 1, 1, 2)
        told = Diagnostic(NASTY, NASTY, Severity.NOTE, spot, NASTY)
        rounds = [Refinement((NASTY,), ((NASTY, NASTY),))]
        statistics = Statistics(Counter({NASTY: 1}), {NASTY: 1.0}, [Finding(NASTY, NASTY, NASTY)], rounds)
        return violated(
            counting,
            subject=program,
            diagnostics=(told,),
            statistics=statistics,
            engine=NASTY,
            property_name=NASTY,
        )

    def test_text_stays_text(self, counting: SimpleNamespace) -> None:
        tame = Page(render_html(violated(counting)))
        page = Page(render_html(self.nasty(counting)))
        assert [kind for kind, _ in page.scripts] == ["application/json", ""]
        assert page.scripts[1] == tame.scripts[1]
        assert page.comments == []
        assert page.tags("img") == []
        assert "alert" not in page.scripts[1][1]
        assert page.ids["L3"] == "3" + NASTY.replace("\u202e", "\ufffd").replace("\x00", "\ufffd")
        assert page.trace["steps"][0]["set"][0][2] == NASTY

    def test_no_element_has_code_or_an_address(self, counting: SimpleNamespace) -> None:
        for made in (self.nasty(counting), holds(counting)):
            for tag, attributes in Page(render_html(made)).elements:
                assert tag not in ("iframe", "object", "embed", "link", "base", "form")
                assert not [name for name in attributes if name.startswith("on") or name in ("style", "src")]
                assert (attributes.get("href") or "#").startswith("#")

    def test_the_policy_permits_this_style_and_script_and_nothing_else(
        self, counting: SimpleNamespace
    ) -> None:
        words = render_html(violated(counting))
        page = Page(words)
        (policy,) = (
            a["content"] for a in page.tags("meta") if a.get("http-equiv") == "Content-Security-Policy"
        )
        style = words.split("<style>")[1].split("</style>")[0]
        digests = [
            base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
            for part in (style, page.scripts[1][1])
        ]
        assert policy == (
            f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
            "base-uri 'none'; form-action 'none'"
        )
        assert "http" not in style + page.scripts[1][1]

    def test_the_same_outcome_gives_the_same_bytes(self, counting: SimpleNamespace) -> None:
        assert render_html(violated(counting)) == render_html(violated(counting))


def test_an_unknown_stands_at_the_loop_that_it_names(counting: SimpleNamespace) -> None:
    reason = Diagnostic("time-limit", "no answer within 5 s; last: unrolling the loop at line 4 to bound 15")
    words = render_html(Outcome(counting.program, "unreach-call", Unknown(reason), "bmc"))
    assert "to bound 15" in words.split('id="L4"')[1].split('id="L5"')[0]
