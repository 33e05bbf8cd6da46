"""Violations of C programs, and what the compiled program says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Trace, Unknown, Unsafe
from certus.core.outcome import COMPILERS_DISAGREE, Compilers, Replay
from certus.core.program import Havoc
from certus.core.vocabulary import LEAK, MEMORY_SAFETY, READ, Property
from certus.frontend.c.load import load_c
from certus.run.publish import examine, replay_compiled
from certus.run.settings import Settings
from certus.run.verify import verify

TEXT = """
extern int __VERIFIER_nondet_int(void);
void reach_error(void) { }
int main() { if (__VERIFIER_nondet_int() == 77) reach_error(); return 0; }
"""


def test_a_violation_is_replayed_twice(tmp_path: Path) -> None:
    source, kept = tmp_path / "p.c", tmp_path / "kept.c"
    source.write_text(TEXT)
    outcome = verify(source, Settings(harness=kept))
    assert outcome.answer == "VIOLATED"
    assert isinstance(outcome.check, Replay)
    assert outcome.check.compiled == "confirmed"
    assert outcome.check.compilers == Compilers(("clang", "gcc"))
    assert "{77ULL}" in kept.read_text()


def test_the_compiled_program_is_not_run_against_the_users_wish(tmp_path: Path) -> None:
    source, kept = tmp_path / "p.c", tmp_path / "kept.c"
    source.write_text(TEXT)
    outcome = verify(source, Settings(harness=kept, execute=False))
    assert outcome.answer == "VIOLATED"
    assert isinstance(outcome.check, Replay)
    assert outcome.check.compiled == ""
    assert not kept.exists()


def test_values_of_unset_variables_become_zero_if_that_is_an_error_too(tmp_path: Path) -> None:
    source, kept = tmp_path / "p.c", tmp_path / "kept.c"
    source.write_text("""#include <stdlib.h>
        int main(void) {
            unsigned long n;
            char *text = malloc(n);
            return text[0] == 1;
        }""")
    program = load_c(source, property=Property(MEMORY_SAFETY)).program
    (unset,) = (edge.key for edge in program.edge.values() if isinstance(edge.op, Havoc))
    lost = next(site.location.name for site in program.errors if site.kind == LEAK)
    trace = Trace(lost, inputs={unset: ((5,),)})
    check = examine(program, Unsafe(trace), budget=Budget(60), statistics=Statistics())
    assert isinstance(check, Replay)
    found, how = replay_compiled(program, Unsafe(trace), check, Settings(harness=kept), budget=Budget(60))
    assert isinstance(found, Unsafe)
    assert isinstance(found.refutation, Trace)
    assert program.error_at(program.location[found.refutation.error]).kind == READ
    assert not found.refutation.inputs
    assert how is not None
    assert how.compiled == "confirmed"
    assert "invalid-read" in kept.read_text()


def test_a_disagreement_is_unknown(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text(TEXT)
    program = load_c(source).program
    error = program.errors[0].location.name
    verdict, check = Unsafe(Trace(error)), Replay(1, (), error)  # 0 is not 77
    found, how = replay_compiled(program, verdict, check, Settings(), budget=Budget(60))
    assert isinstance(found, Unknown)
    assert how is None
    assert found.reason.code == "compiled-replay-disagrees"
    assert found.reason.message.endswith("but in the compiled program main returned")


def test_a_violation_that_only_gcc_confirms_is_unknown(tmp_path: Path) -> None:
    """The model is that of a program that reaches the error, the binaries are of one that does with gcc."""
    source, kept = tmp_path / "p.c", tmp_path / "kept"
    source.write_text("void reach_error(void) { }\nint main() { reach_error(); return 0; }\n")
    text = "void reach_error(void) { }\nint n; int next(void) { return ++n; }\n"
    text += (
        "void f(int a, int b) { if (a > b) reach_error(); }\nint main() { f(next(), next()); return 0; }\n"
    )
    program = replace(load_c(source).program, source=text)
    error = program.errors[0].location.name
    verdict, check = Unsafe(Trace(error)), Replay(1, (), error)
    found, how = replay_compiled(program, verdict, check, Settings(evidence=kept), budget=Budget(60))
    assert isinstance(found, Unknown)
    assert how is None
    assert found.reason.code == COMPILERS_DISAGREE
    assert "with Clang, main returned; with gcc, the error was reached" in found.reason.message
    saved = json.loads((kept / "disagreement.json").read_text())
    assert (saved["clang"], saved["gcc"]) == ({"ended": "main returned"}, {"ended": "the error was reached"})
    assert (kept / "program.c").read_text() == text


def test_what_cannot_be_compiled_is_said(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text(TEXT)
    program = replace(load_c(source).program, source="int main(")
    error = program.errors[0].location.name
    verdict, check = Unsafe(Trace(error)), Replay(1, (), error)
    found, how = replay_compiled(program, verdict, check, Settings(), budget=Budget(60))
    assert found is verdict
    assert isinstance(how, Replay)
    assert "could not be compiled" in how.compiled
