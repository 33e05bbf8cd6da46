"""Corner programs: how they are drawn, rendered, reduced, compiled, judged and counted."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from certus.core.errors import InputError
from certus.fuzz.corners import campaign, judge
from certus.fuzz.corners.campaign import Campaign, summary
from certus.fuzz.corners.judge import Judgement, Said, interpreted, verified
from certus.fuzz.corners.native import Code, Native
from certus.fuzz.corners.program_tree import (
    Claim,
    CornerProgram,
    Group,
    Input,
    Line,
    Observation,
    _with_fewer_parts,
    literal,
    reduced,
    rendered,
    without,
)
from certus.fuzz.corners.scenes import random_program


def program(*statements: Line | Group | Observation | Input, model: str = "LP64") -> CornerProgram:
    return CornerProgram(model, (Group("int main(void) {", statements, "return 0; }"),))


SIZE = program(Observation(0, "sizeof(long)", "types"))
TWICE = program(
    Input("in0", "unsigned char", 200),
    Line("signed char x = in0;", "objects"),
    Group("for (int i = 0; i < 2; i++) {", (Observation(0, "x + i", "values"),), "}"),
    Observation(1, "(unsigned long long)x", "values", "cast"),
)


@pytest.fixture
def native(tmp_path: Path) -> Native:
    return Native(tmp_path)


# -- drawing


def test_a_program_is_the_same_for_the_same_seed_and_number() -> None:
    assert rendered(random_program(3, 4), Claim.PROBE) == rendered(random_program(3, 4), Claim.PROBE)
    assert (
        rendered(random_program(3, 4), Claim.PROBE).main != rendered(random_program(3, 5), Claim.PROBE).main
    )


def test_programs_do_not_depend_on_hashing() -> None:
    script = (
        "from certus.fuzz.corners.scenes import random_program;"
        "from certus.fuzz.corners.program_tree import Claim, rendered;"
        "print([rendered(random_program(1, n), Claim.PROBE) for n in range(5)])"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_most_programs_compile_and_do_nothing_undefined(native: Native) -> None:
    codes = []
    for number in range(12):
        drawn = random_program(0, number)
        ended = native.run(rendered(drawn, Claim.PROBE), drawn.model, [i.value for i in drawn.inputs])
        codes.append(ended.code)
    assert codes.count(Code.RETURNED) >= 10


# -- rendering and reduction


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (2**31, "2147483648LL"),
        (2**64 - 3, "(-3LL)"),
        (2**63, "(-9223372036854775807LL - 1)"),
    ],
)
def test_literals(value: int, text: str) -> None:
    assert literal(value) == text


def test_what_renderings_do_with_observations() -> None:
    values = {0: (2**64 - 56, 2**64 - 55), 1: (2**64 - 56,)}
    hold = rendered(TWICE, Claim.HOLD, values).main
    assert "seen == 18446744073709551560ULL || seen == 18446744073709551561ULL" in hold
    assert "(unsigned long long)((unsigned long long)x) != 18446744073709551560ULL) reach_error();" in hold
    assert "__VERIFIER_assume(in0 == 200);" in hold
    wrong = rendered(TWICE, Claim.WRONG, values, 1).main
    assert "(void)(x + i);" in wrong
    assert "if (((unsigned long long)x) == (-56LL)) reach_error();" in wrong


def test_lines_of_a_macro_end_in_backslashes() -> None:
    macro = Group("#define M", (Line("int"), Line("x;")), "", macro=True)
    text = rendered(CornerProgram("LP64", (macro, Line("M"))), Claim.HOLD)
    assert text.main.endswith("#define M \\\n    int \\\n    x;\nM\n")
    assert text.lines[-1] == Line("M")


def test_reduction_keeps_what_is_needed() -> None:
    whole = program(
        Line("int unused;"),
        Group("{", (Line("int needed = 1 + 2;"), Line("int other;")), "}", loose=True),
        Observation(0, "needed", "values"),
    )
    small = reduced(whole, lambda p: "needed" in rendered(p, Claim.PROBE).main)
    assert rendered(small, Claim.PROBE).main.count("needed") == 1
    assert "other" not in rendered(small, Claim.PROBE).main


def test_a_part_is_dropped_wherever_it_stands() -> None:
    inner = Line("int x;")
    whole = CornerProgram("LP64", (Group("{", (inner, Line("int y;")), "}"),), (("a.h", (inner,)),))
    left = without(whole, inner)
    assert [part for part in left.parts if isinstance(part, Line)] == [Line("int y;")]


# -- the compiled program


def test_the_compiled_program_tells_the_values(native: Native) -> None:
    assert native.run(rendered(SIZE, Claim.PROBE), "LP64", []).values == {0: (8,)}
    assert native.run(rendered(SIZE, Claim.PROBE), "ILP32", []).values == {0: (4,)}
    twice = native.run(rendered(TWICE, Claim.PROBE), "LP64", [200])
    assert twice.code == Code.RETURNED
    assert twice.values == {0: (2**64 - 56, 2**64 - 55), 1: (2**64 - 56,)}
    assert native.run(rendered(TWICE, Claim.HOLD, twice.values), "LP64", [200]).code == Code.RETURNED
    assert native.run(rendered(TWICE, Claim.WRONG, twice.values, 1), "LP64", [200]).code == Code.ERROR
    assert native.run(rendered(TWICE, Claim.HOLD, twice.values), "LP64", [9]).code == Code.ASSUMPTION
    assert native.run(rendered(TWICE, Claim.PROBE), "LP64", []).code == Code.EXHAUSTED


def test_programs_that_are_none_or_do_something_undefined(native: Native) -> None:
    undefined = program(Line("int n = 40;"), Observation(0, "1 << n", "values"))
    code = native.run(rendered(undefined, Claim.PROBE), "LP64", []).code
    assert code is not None
    assert code < 0
    wrong = program(Line("int n = nothing;"))
    ended = native.run(text := rendered(wrong, Claim.PROBE), "LP64", [])
    assert ended.code is None
    assert "nothing" in ended.why_not
    assert ended.line is not None
    assert text.lines[ended.line - 1] == Line("int n = nothing;")


# -- what Certus says


def asked(native: Native, drawn: CornerProgram, claim: Claim, value: int) -> Judgement:
    file = native.write(rendered(drawn, claim, {0: (value,)}, 0))
    expected = Said.HOLDS if claim is Claim.HOLD else Said.VIOLATED
    return interpreted(file, drawn.model, [i.value for i in drawn.inputs], expected=expected)


def test_the_interpreter_is_asked(native: Native) -> None:
    assert asked(native, SIZE, Claim.HOLD, 8).said is Said.HOLDS
    assert asked(native, SIZE, Claim.WRONG, 8).said is Said.VIOLATED
    assert asked(native, SIZE, Claim.HOLD, 4).disagrees(expected=Said.HOLDS)
    assert asked(native, SIZE, Claim.WRONG, 4).disagrees(expected=Said.VIOLATED)
    assert asked(native, replace(SIZE, model="ILP32"), Claim.HOLD, 4).said is Said.HOLDS
    given = program(Input("in0", "short", -7, assumed=False), Observation(0, "in0 / 2", "values"))
    assert asked(native, given, Claim.HOLD, 2**64 - 3).said is Said.HOLDS


def test_refusals_have_a_line(native: Native) -> None:
    refused = program(Line("__float128 d = 1;"), Observation(0, "d > 0", "values"))
    found = asked(native, refused, Claim.HOLD, 1)
    assert (found.said, found.detail) == (Said.REFUSED, "unsupported-float")
    assert found.silent
    assert found.line is not None


def test_undefined_behaviour_and_crashes_are_told_apart(
    native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    undefined = program(Line("int n = 40;"), Observation(0, "1 << n", "values"))
    assert asked(native, undefined, Claim.HOLD, 0).said is Said.UNDEFINED

    def broken(*_: object, **__: object) -> None:
        raise KeyError("struct $unnamed")

    monkeypatch.setattr(judge, "load_question", broken)
    found = asked(native, SIZE, Claim.HOLD, 8)
    assert found.kind == "internal error: KeyError at test_corners.py:broken"
    assert found.disagrees(expected=Said.HOLDS)


def test_the_portfolio_is_asked(native: Native) -> None:
    file = native.write(rendered(SIZE, Claim.WRONG, {0: (8,)}, 0))
    assert verified(file, "LP64", 30.0).said is Said.VIOLATED


# -- campaigns

DRAWN = program(
    Line("int unused = 3;", "objects"),
    Line("struct S { char a; int b; } s = {0};", "records"),
    Observation(0, "sizeof(int)", "types"),
    Observation(1, "sizeof s", "layout"),
)


@pytest.fixture
def mistaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A front end that thinks that every `struct S` is an error."""

    def interpreter(file: Path, model: str, inputs: object, *, expected: Said) -> Judgement:
        lines = file.read_text().splitlines()
        line = next((n for n, text in enumerate(lines, 1) if "sizeof s" in text), None)
        return Judgement(expected) if line is None else Judgement(Said.VIOLATED, "", line)

    monkeypatch.setattr(campaign, "random_program", lambda seed, number: DRAWN)
    monkeypatch.setattr(campaign, "interpreted", interpreter)
    monkeypatch.setattr(campaign, "KEPT", 1)
    monkeypatch.setattr(campaign, "reduced", _with_fewer_parts)  # words take longer


@pytest.mark.usefixtures("mistaken")
def test_disagreements_are_made_small_saved_and_counted(tmp_path: Path) -> None:
    corners = Campaign(0, 10.0, lambda _: None, tmp_path, verify_every=0)
    found = list(corners.run(seconds=60, programs=3))
    assert [number for number, _ in found] == [1]
    assert corners.kinds == {"layout: interpreter: an error is reached": 3}
    file = found[0][1].save(tmp_path, 1)
    text = file.read_text()
    assert "unused" not in text
    assert "sizeof(int)" not in text
    assert "sizeof s" in text
    assert "certus verify --data-model LP64" in text
    assert "disagreements: 3 of 1 kinds" in summary(corners)


@pytest.mark.usefixtures("mistaken")
def test_a_later_run_continues(tmp_path: Path) -> None:
    first = Campaign(7, 10.0, lambda _: None, tmp_path, verify_every=0)
    assert not first.resume()
    list(first.run(seconds=60, programs=1))
    first.save()
    second = Campaign(7, 10.0, lambda _: None, tmp_path, verify_every=0)
    assert second.resume()
    assert (second.next, second.files, second.kinds) == (1, 1, first.kinds)
    with pytest.raises(InputError, match="another seed"):
        Campaign(8, 10.0, lambda _: None, tmp_path).resume()
    (tmp_path / campaign.STATE).write_text("{}")
    with pytest.raises(InputError, match="not the state of a run"):
        Campaign(7, 10.0, lambda _: None, tmp_path).resume()


def test_what_is_refused_is_dropped_with_what_depends_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = program(
        Line("__float128 d = 1;", "objects"),
        Line("__float128 e = d;", "objects"),
        Observation(0, "&d != &e", "values"),
        Observation(1, "sizeof(int)", "types"),
    )
    monkeypatch.setattr(campaign, "random_program", lambda seed, number: drawn)
    corners = Campaign(0, 10.0, lambda _: None, tmp_path, verify_every=0)
    assert list(corners.run(seconds=60, programs=1)) == []
    assert corners.counts["agreed"] == 1
    assert corners.counts["observations"] == 1
    assert corners.refusals == {"unsupported-float: objects": 1}
