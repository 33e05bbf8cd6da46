"""Invariants about all elements of arrays: what is guessed, what is kept, what is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core import build
from certus.core.evidence import Inductive, Partitioned, Safe, Unknown
from certus.core.outcome import Outcome, ProofCheck
from certus.core.terms import Kind, machine
from certus.core.values import evaluate
from certus.core.walk import postorder
from certus.engines.arrays.claims import Claim

HEAD = """
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
int a[1000], b[1000];
"""
INPUTS = "for (int i = 0; i < 1000; i++) a[i] = __VERIFIER_nondet_int();"
HOLDING = {
    "what is written": """
        int n = __VERIFIER_nondet_int();
        for (int i = 0; i < 1000; i++) a[i] = n;
        for (int x = 0; x < 1000; x++) if (a[x] != n) reach_error();""",
    "what depends on the index": """
        int n = __VERIFIER_nondet_int();
        for (int i = 0; i < 1000; i++) a[i] = 3 * i + n;
        for (int x = 0; x < 1000; x++) if (a[x] != 3 * x + n) reach_error();""",
    "a copy": f"""{INPUTS}
        for (int i = 0; i < 1000; i++) b[i] = a[i];
        for (int x = 0; x < 1000; x++) if (a[x] != b[x]) reach_error();""",
    "a copy of all but one": f"""{INPUTS}
        int z = __VERIFIER_nondet_int();
        for (int i = 0; i < 1000; i++) if (i != z) b[i] = a[i];
        for (int x = 0; x < 1000; x++) if (x != z && a[x] != b[x]) reach_error();""",
    "a copy with a case of its own": f"""{INPUTS}
        int z = __VERIFIER_nondet_int();
        for (int i = 0; i < 1000; i++) if (i == z) b[i] = 3; else b[i] = a[i];
        for (int x = 0; x < 1000; x++) if (b[x] != 3 && a[x] != b[x]) reach_error();""",
    "the first half": """
        int n = __VERIFIER_nondet_int(), i;
        if (n < 0 || n > 1000) return 0;
        for (i = 0; i < n / 2; i++) a[i] = n;
        for (i = 0; i < n / 2; i++) if (a[i] != n) reach_error();""",
    "what was searched for": f"""{INPUTS}
        int i = 0;
        while (i < 1000 && a[i] != 7) i++;
        for (int x = 0; x < i; x++) if (a[x] == 7) reach_error();""",
    "the least of all": f"""{INPUTS}
        int least = a[0];
        for (int i = 0; i < 1000; i++) if (a[i] < least) least = a[i];
        for (int x = 0; x < 1000; x++) if (a[x] < least) reach_error();""",
    "what is known of inputs": """
        for (int i = 0; i < 1000; i++) {
            int x = __VERIFIER_nondet_int(), y = __VERIFIER_nondet_int();
            if (x >= y) return 0;
            a[i] = x; b[i] = y;
        }
        for (int x = 0; x < 1000; x++) if (a[x] >= b[x]) reach_error();""",
    "a new object of zeros in each round": """
        while (__VERIFIER_nondet_int()) {
            unsigned n = __VERIFIER_nondet_int(), k = __VERIFIER_nondet_int();
            if (n > 100 || k >= n) continue;
            int *p = __builtin_calloc(n, sizeof(int));
            if (p[k]) reach_error();
            p[k] = 7;
            __builtin_free(p);
        }""",
    "a loop that main starts with": """
        while (__VERIFIER_nondet_int()) {
            unsigned n = __VERIFIER_nondet_int(), k = __VERIFIER_nondet_int();
            if (n > 100 || k >= n) continue;
            int *p = __builtin_malloc(n * sizeof(int));
            for (unsigned i = 0; i < n; i++) p[i] = 1;
            if (p[k] != 1) reach_error();
            __builtin_free(p);
        }""",
    "what a flag says": f"""{INPUTS}
        int same = 1;
        for (int i = 0; i < 1000; i++) b[i] = __VERIFIER_nondet_int();
        for (int i = 0; i < 1000; i++) if (a[i] != b[i]) same = 0;
        if (same) for (int x = 0; x < 1000; x++) if (a[x] != b[x]) reach_error();""",
    "counters that move together": """
        unsigned n = __VERIFIER_nondet_int(), i = n, j = 4;
        while (i) { i--; j++; }
        if (j != n + 4) reach_error();""",
    "counters that move by multiples": """
        unsigned long n = (unsigned)__VERIFIER_nondet_int(), i = 0, j = 7;
        while (i < 2 * n) { i += 2; j += 3; }
        if (i == 2 * n && 2 * j != 14 + 3 * i) reach_error();""",
    "counters that branches move": """
        unsigned n = __VERIFIER_nondet_int(), i = n, j = 0, k = 0;
        while (i) {
            if (__VERIFIER_nondet_int()) { i--; j++; } else if (i > 1) { i -= 2; j += 2; k = i; }
            i += 4; j -= 4;
            i -= 4; j += 4;
        }
        if (j != n) reach_error();""",
    "the end of a counter": """
        int n = __VERIFIER_nondet_int(), i;
        if (n < 0) n = 0;
        for (i = 0; i < n; i++) ;
        if (i != n) reach_error();""",
    "one of few constants": """
        int mode = 1, next = 1;
        for (int i = 0; i < 1000; i++) {
            mode = next;
            next = __VERIFIER_nondet_int() ? mode : 1;
        }
        if (mode != 1) reach_error();""",
}
NOT_HOLDING = {
    "counters that branches do not move together": """
        unsigned n = __VERIFIER_nondet_int(), i = n, j = 0;
        while (i) if (__VERIFIER_nondet_int()) { i--; j++; } else i--;
        if (j != n) reach_error();""",
    "one too far": """
        int n = __VERIFIER_nondet_int();
        for (int i = 0; i < 999; i++) a[i] = n;
        for (int x = 0; x < 1000; x++) if (a[x] != n) reach_error();""",
    "changed afterwards": f"""{INPUTS}
        for (int i = 0; i < 1000; i++) b[i] = a[i];
        b[__VERIFIER_nondet_int() & 511] = 5;
        for (int x = 0; x < 1000; x++) if (a[x] != b[x]) reach_error();""",
}


def decided(path: Path, body: str) -> Outcome:
    path.write_text(f"{HEAD}int main(void) {{ {body} return 0; }}\n")
    return verify(path, Settings(engine="arrays", property_name="unreach-call", timeout=60.0))


@pytest.mark.parametrize("name", HOLDING)
def test_what_holds_of_all_elements_is_proved(name: str, tmp_path: Path) -> None:
    outcome = decided(tmp_path / "p.c", HOLDING[name])
    assert outcome.answer == "HOLDS", outcome.verdict
    assert isinstance(outcome.check, ProofCheck)


@pytest.mark.parametrize("name", NOT_HOLDING)
def test_nothing_is_claimed_of_elements_that_differ(name: str, tmp_path: Path) -> None:
    outcome = decided(tmp_path / "p.c", NOT_HOLDING[name])
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "claims-not-enough"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("while (__VERIFIER_nondet_int()) ; if (__VERIFIER_nondet_int()) reach_error();", "no-claims"),
        ("a[0] = f(3); if (a[0] != 3) reach_error();", "calls-left"),
    ],
)
def test_what_it_does_not_treat(body: str, code: str, tmp_path: Path) -> None:
    recursive = "int f(int n) { return n == 0 ? 0 : 1 + f(n - 1); }\n"
    path = tmp_path / "p.c"
    path.write_text(f"{HEAD}{recursive}int main(void) {{ {body} return 0; }}\n")
    outcome = verify(path, Settings(engine="arrays", property_name="unreach-call", timeout=60.0))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == code


def test_the_proof_has_just_the_claims_that_are_needed(tmp_path: Path) -> None:
    outcome = decided(tmp_path / "p.c", HOLDING["what is written"])
    assert isinstance(outcome.verdict, Safe)
    proof = outcome.verdict.proof
    proof = proof.proof if isinstance(proof, Partitioned) else proof
    assert isinstance(proof, Inductive)
    claims = [t for f in proof.invariants.values() for t in postorder(f) if t.kind is Kind.FORALL]
    assert len(claims) <= 2  # one at each loop


def test_a_claim_is_about_all_values() -> None:
    byte = machine(8, signed=False)
    each, limit = build.var("@each", byte), build.var("n", byte)
    claim = Claim(each, build.lt(each, limit))
    assert claim.of(build.constant(7, byte)) is build.lt(build.constant(7, byte), limit)
    assert claim.formula.kind is Kind.FORALL
    assert not any(term is each for term in postorder(claim.formula))
    assert evaluate(claim.of(build.constant(7, byte)), {limit: 8}) is True
