"""Random programs: what they mean, that all texts agree, and that a lie is found and made small."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from certus.fuzz.campaign import COMPILED, Campaign, disagrees, execute
from certus.fuzz.program_text import as_c, as_lp
from certus.fuzz.random_programs import random_program
from certus.fuzz.semantics import Failed, Stopped, final_values, holds, machine, unbounded
from certus.fuzz.syntax import (
    Assign,
    Branch,
    Check,
    FuzzProgram,
    Input,
    Loop,
    Operation,
    Restrict,
    Step,
    smaller,
)

NONE = FuzzProgram((), (), ())


def ends(*main: object, step: tuple[object, ...] = (), **inputs: int) -> dict[str, int]:
    program = FuzzProgram((), step, main)  # type: ignore[arg-type]
    return final_values(program, inputs, machine)


def test_division_truncates_and_machine_integers_wrap() -> None:
    assert ends(Assign("x", Operation("/", -7, 2)))["x"] == -3
    assert ends(Assign("x", Operation("%", -7, 2)))["x"] == -1
    assert ends(Assign("x", Operation("+", "i0", 1)), i0=2**31 - 1)["x"] == -(2**31)
    program = FuzzProgram((), (), (Assign("x", Operation("*", 2**31 - 1, 2)),))
    assert final_values(program, {}, unbounded)["x"] == 2**32 - 2


def test_loops_calls_and_branches() -> None:
    count = Loop("k0", "i0", (Assign("x", Operation("+", "x", "k0")),))
    assert ends(count, i0=4)["x"] == 6
    step = (Assign("r", Operation("+", "a", 1)), Assign("g", "a"))
    assert ends(Step("y", 5), step=step) == {"x": 0, "y": 6, "g": 5}
    assert ends(Branch(Operation("<", "x", 0), (Assign("y", 1),), (Assign("y", 2),)))["y"] == 2
    with pytest.raises(Failed):
        ends(Check(Operation("==", "x", 1)))
    with pytest.raises(Stopped):
        ends(Restrict(Operation("==", "x", 1)), Check(Operation("==", "x", 1)))


def test_the_verdict_is_that_of_all_inputs() -> None:
    for value, verdict in ((3, False), (4, True)):
        main = (Check(Operation("!=", "i0", value)),)
        assert holds(FuzzProgram((Input("i0", 0, 3),), (), main), machine) is verdict


def test_programs_come_from_the_seed_and_have_both_verdicts() -> None:
    programs = [random_program(0, number) for number in range(60)]
    assert programs == [random_program(0, number) for number in range(60)]
    assert programs != [random_program(1, number) for number in range(60)]
    verdicts = [holds(program, unbounded) for program in programs]
    assert min(verdicts.count(True), verdicts.count(False)) >= 10


def test_the_compiled_program_agrees(tmp_path: Path) -> None:
    for number in range(4):
        program = random_program(7, number)
        assert execute(program, tmp_path) == ("HOLDS" if holds(program, machine) else "VIOLATED")


def test_engines_agree_on_a_few_programs() -> None:
    fuzzing = Campaign(["bmc", "ranges"], 60.0, lambda line: None)
    assert list(fuzzing.run(0, seconds=600.0, programs=2)) == []
    assert sum(number for (who, _), number in fuzzing.answers.items() if who == "bmc") == 4
    assert (fuzzing.answers["bmc", "HOLDS"], fuzzing.answers["bmc", "VIOLATED"]) == (
        fuzzing.answers["expected", "HOLDS"],
        fuzzing.answers["expected", "VIOLATED"],
    )


class Liar(Campaign):
    """Says HOLDS whenever the program has a loop."""

    def ask(self, program: FuzzProgram, language: str, engine: str, directory: Path) -> str:
        text = as_lp(program) if language == "lp" else as_c(program)
        truth = "HOLDS" if holds(program, unbounded if language == "lp" else machine) else "VIOLATED"
        return "HOLDS" if "while" in text else truth


class Crashing(Campaign):
    def ask(self, program: FuzzProgram, language: str, engine: str, directory: Path) -> str:
        return "UNKNOWN (engine-crashed)"


def test_a_crash_is_reported_once_for_each_language() -> None:
    fuzzing = Crashing(["crashing"], 1.0, lambda line: None)
    found = list(fuzzing.run(0, seconds=600.0, programs=3))
    assert [each.language for each in found] == ["lp", "c"]
    assert found[0].program.main == ()
    assert fuzzing.answers["crashing", "UNKNOWN (engine-crashed)"] == 6


def test_a_lie_is_found_and_made_small(tmp_path: Path) -> None:
    fuzzing = Liar(["liar"], 1.0, lambda line: None)
    until = time.monotonic() + 600
    found = next(
        found
        for number in range(100)
        for found in fuzzing.disagreements(random_program(3, number), until)
        if found.source != COMPILED
    )
    small = fuzzing.reduce(found)
    assert (small.answer, small.expected) == ("HOLDS", "VIOLATED")
    assert len(as_lp(small.program)) < len(as_lp(found.program))
    kinds = [type(statement) for statement in small.program.main]
    assert as_lp(small.program).count("while") == 1
    assert len(kinds) <= 3
    assert kinds[-1] is Check
    saved = small.save(tmp_path / "new", 1)
    assert saved.read_text().startswith("// liar (")
    assert "while" in saved.read_text()


def test_every_smaller_program_is_smaller() -> None:
    program = random_program(5, 2)
    size = len(repr(program))
    assert all(len(repr(less)) <= size + 1 for less in smaller(program))
    assert all(less != program for less in smaller(program))
    assert list(smaller(NONE)) == []


@pytest.mark.parametrize(
    ("answer", "expected", "verdict"),
    [
        ("HOLDS", "HOLDS", False),
        ("HOLDS", "VIOLATED", True),
        ("VIOLATED", "HOLDS", True),
        ("UNKNOWN (time-limit)", "HOLDS", False),
        ("UNKNOWN (engine-crashed)", "HOLDS", True),
        ("UNKNOWN (internal-contradiction)", "HOLDS", True),
        ("UNKNOWN (proof-refuted)", "HOLDS", True),
        ("UNKNOWN (trace-not-replayed)", "VIOLATED", True),
        ("refused (x)", "HOLDS", True),
    ],
)
def test_what_counts_as_a_disagreement(answer: str, expected: str, verdict: bool) -> None:
    assert disagrees(answer, expected) is verdict
