"""The order of evaluation is that of Clang: the compiled program agrees, and a proof says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.evidence import Unknown
from certus.core.outcome import CONFIRMED, Replay
from certus.report.outcome_view import assumptions

PROGRAM = """extern void reach_error(void);
int g, ia[5];
struct S { int a, b; } gs, sa[5];
struct B { unsigned x : 3, y : 5; } bits[5];
int n(void) { return ++g; }
int set(int v) { g = v; return v; }
int change(void) { gs.a = 7; return 1; }
int *element(void) { return &ia[++g]; }
struct S made(void) { struct S s = {++g, g * 10}; return s; }
int two(int a, int b) { return a * 10 + b; }
int three(int a, int b, int c) { return a * 100 + b * 10 + c; }
int of(struct S s, int b) { return s.a * 10 + b; }
int (*chosen(void))(int, int) { g += 3; return two; }
int main(void) {
    int r = 0;
    STEPS
    if (r CLAIM) reach_error();
    return 0;
}
"""
# the statement, and the order in which Clang evaluates it
ORDERS = {
    "ia[n()] = n(); r = two(ia[1], ia[2]);": 1,
    "*element() = n(); r = two(ia[1], ia[2]);": 1,
    "ia[g] = set(2); r = two(ia[0], ia[2]);": 2,
    "ia[n()] = ia[n()] = n(); r = three(ia[1], ia[2], ia[3]);": 11,
    "ia[1] = 5; ia[2] = 6; ia[n()] += n(); r = three(0, ia[1], ia[2]);": 57,
    "*element() -= n(); r = two(ia[1], ia[2]);": -1,
    "g = 2; g += set(5); r = g;": 10,
    "int *p = ia; *p = (p = ia + 1, 3); r = two(ia[0], ia[1]);": 3,
    "struct S *p = sa; p->a = (p = sa + 1, 3); r = two(sa[0].a, sa[1].a);": 3,
    "bits[n()].x = n(); r = two(bits[1].x, bits[2].x);": 1,
    "bits[n()].x += n(); r = two(bits[1].x, bits[2].x);": 1,
    "_Bool b[4] = {0}; b[n()] = n() == 2; r = two(b[1], b[2]);": 0,
    "ia[n()] = ({ int z = n(); z * 2; }); r = two(ia[1], ia[2]);": 2,
    "sa[n()] = made(); r = two(sa[1].a, sa[2].a);": 20,  # of records the object comes first
    "sa[1].a = 1; sa[2].a = 2; sa[n()] = sa[n()]; r = two(sa[1].a, sa[2].a);": 22,
    "r = three(n(), n(), n());": 123,
    "r = three(g, n(), g);": 11,
    "r = chosen()(g, n());": 34,
    "gs.a = 1; r = of(gs, change());": 71,
    "gs.a = 1; r = of((change(), gs), (gs.a = 5, 2));": 72,
    "gs.a = 1; r = of(g ? sa[0] : gs, change());": 11,
    "sa[0].a = 3; sa[1].a = 4; r = of(sa[g], n());": 31,
    "r = g * 100 + n() * 10 + g;": 11,
    "r = two(g < n(), g);": 11,
    "int *q[2] = {ia, ia + 1}; ia[1] = 8; ia[2] = 9; r = q[g][n()];": 8,
    "int *q[2] = {ia, ia + 1}; ia[1] = 8; ia[2] = 9; r = n()[q[g]];": 9,
    "int a[3] = {[2] = n(), [0] = n(), n()}; r = three(a[0], a[1], a[2]);": 123,
}


def program(path: Path, steps: str, claim: str) -> Path:
    path.write_text(PROGRAM.replace("STEPS", steps).replace("CLAIM", claim))
    return path


@pytest.mark.parametrize("steps", ORDERS)
def test_the_compiled_program_agrees(steps: str, tmp_path: Path) -> None:
    outcome = verify(
        program(tmp_path / "p.c", steps, f"== {ORDERS[steps]}"), Settings(checks=(), timeout=60.0)
    )
    assert outcome.answer == "VIOLATED"
    assert isinstance(outcome.check, Replay)
    assert outcome.check.compiled == CONFIRMED


@pytest.mark.parametrize(
    ("property_name", "assumed"),
    [
        ("unreach-call", ("a function is called through a pointer only as one of its own type",)),
        ("valid-deref", ()),
    ],
)
def test_a_proof_with_calls_through_pointers_says_what_it_assumes(
    property_name: str, assumed: tuple[str, ...], tmp_path: Path
) -> None:
    """Under valid-deref a call through any other pointer is an error."""
    path = tmp_path / "p.c"
    path.write_text(
        "extern void reach_error(void); extern int n(void); static int a(int x) { return x; }\n"
        "int main(void) { int (*f)(int) = n() ? a : 0; if (f && f(1) != 1) reach_error(); }"
    )
    outcome = verify(path, Settings(property_name=property_name, engine="bmc", timeout=60.0))
    assert outcome.answer == "HOLDS"
    assert set(assumed) == {each for each in assumptions(outcome) if "through a pointer" in each}


def test_a_proof_says_what_it_assumes(tmp_path: Path) -> None:
    path = program(tmp_path / "p.c", "r = three(n(), n(), n());", "!= 123")
    open_ = verify(path, Settings(checks=(), timeout=60.0, execute=False))
    fixed = verify(program(tmp_path / "q.c", "r = n(); r += n();", "!= 3"), Settings(timeout=60.0))
    assert (open_.answer, fixed.answer) == ("HOLDS", "HOLDS")
    compilers = verify(path, Settings(checks=(), timeout=60.0)).verdict  # gcc has another order
    assert isinstance(compilers, Unknown)
    assert compilers.reason.code == "compilers-disagree"
    assert assumptions(open_) == ("operands are evaluated in the order of Clang",)
    assert assumptions(fixed) == ()
