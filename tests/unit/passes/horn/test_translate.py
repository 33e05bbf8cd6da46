"""Programs as Horn clauses: z3's own CHC solver gives the answer that each program carries."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3
from tests.expectations import Expected, all_expected

from certus.codec.smtlib_horn import horn_script
from certus.core.accounting import Budget
from certus.core.engine import Task
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.frontend.chc.load import load_chc
from certus.frontend.lp.load import load_lp
from certus.frontend.source import Source
from certus.passes.horn.translate import translate
from certus.passes.large_blocks import LargeBlocks
from certus.run.emit import program_clauses
from certus.run.settings import Settings

QUICK = ("parity_bug", "counter", "goto_loop", "recursion_depth", "nested_loops", "traffic")
PROGRAMS = [e for e in all_expected() if e.path.stem.startswith(QUICK) or "bug" in e.path.stem]


def load(text: str) -> Program:
    return load_lp(text, "test.lp", "unreach-call").program


def clauses(program: Program) -> HornSystem:
    task, _ = LargeBlocks("large").apply(Task(program))
    assert isinstance(task.subject, Program)
    return translate(task.subject).system


@pytest.mark.parametrize("expected", PROGRAMS, ids=lambda e: e.path.stem)
def test_the_text_solves_to_the_programs_answer(expected: Expected) -> None:
    program = load_lp(expected.path.read_text(), expected.path.name, expected.property_name).program
    text = horn_script(program_clauses(program, Settings())[0])
    solver = z3.SolverFor("HORN")
    solver.set("rlimit", 3_000_000)
    solver.from_string(text)
    assert str(solver.check()) == ("sat" if expected.answer == "HOLDS" else "unsat")


def test_a_loop_calls_itself_last() -> None:
    system = clauses(load("void main() { int x = 0; while (x < 10) { x = x + 1; } assert(x == 10); }"))
    again = [
        c for c in system.clauses if c.head is not None and any(a.function is c.head.function for a in c.body)
    ]
    assert len(again) == 1
    assert [r.name[:2] for r in system.relations] == ["E."] * len(system.relations)
    assert sum(c.head is None for c in system.clauses) == 1


def test_a_procedure_has_a_transfer_and_an_error_relation() -> None:
    system = clauses(
        load(
            "int g; void p(int a) { assert(a > 0); g = a; } "
            "void main() { int y = *; assume(y > 3); p(y); assert(g > 3); }"
        )
    )
    procedures = {r.name.partition(":")[0] for r in system.relations}
    assert procedures == {"E.p", "T.p", "E.main"}


def test_what_does_not_matter_is_no_argument() -> None:
    system = clauses(
        load("void main() { int x = 0; int y = 0; while (x < 9) { x = x + 1; y = y + x; } assert(x == 9); }")
    )
    assert all(len(r.parameters) <= 1 for r in system.relations)


def test_a_program_without_errors_is_no_clause() -> None:
    assert clauses(load("void main() { int x = 0; }")).clauses == ()


def test_clauses_of_a_program_are_read_back() -> None:
    system = clauses(load("void main() { int x = *; while (x > 0) { x = x - 2; } assert(x < 1); }"))
    again = load_chc(Source(horn_script(system), "test.smt2"), Budget(60))
    assert len(again.clauses) == len(system.clauses)
    assert [r.name for r in again.relations] == [r.name for r in system.relations]


def test_rational() -> None:
    """Figure 1: the emitted clauses of both versions, solved by z3's Spacer."""
    from certus.frontend import load as load_file

    root = Path(__file__).parents[4] / "examples"
    for name, answer in (("rational.c", z3.sat), ("rational_bug.c", z3.unsat)):
        system, integers = program_clauses(load_file(root / name).program, Settings())
        assert integers
        solver = z3.SolverFor("HORN")
        solver.from_string(horn_script(system))
        assert solver.check() == answer
