"""Which engines run for a program, in which order and for how long."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings
from certus.core.accounting import Budget
from certus.core.engine import LARGE, PROGRAMS, ProgramKind, kind_of
from certus.core.errors import BudgetExceeded
from certus.frontend import load_question, read_question
from certus.frontend.lp.load import load_lp
from certus.run.schedule import Turn, turns

LINEAR, CLAUSES = ProgramKind.LINEAR, ProgramKind.CLAUSES
QUICK = ("execution", "random")


def table(kind: ProgramKind) -> str:
    return ", ".join(f"{turn.engine} {turn.share:g}" for turn in turns(Settings(), 2, kind))


def test_the_schedule_as_a_table() -> None:
    """The slots of all engines together, as `auto` runs them on two cores."""
    assert {kind.value: table(kind) for kind in ProgramKind} == {
        "Boolean": "bmc 1, boolean 1, search 0.7, predicate 1, spacer 1",
        "without loops": "bmc 1, search 0.7, predicate 1, spacer 1",
        "floating point without loops": "bmc 1, search 0.7, predicate 1",
        "recursive": "bmc 1, search 0.7, linear 0.4, spacer 0.3, predicate 1, clp 1",
        "floating point": "bmc 1, search 0.7, kind 0.7, predicate 1",
        "large": "bmc 1, search 0.7, kind 0.15, predicate 1, spacer 1",
        "linear": "bmc 1, search 0.7, linear 0.25, spacer 0.2, kind 0.2, predicate 1, clp 1",
        "memory safety": "bmc 1, search 0.7, arrays 0.7, linear 0.2, kind 0.25, spacer 0.2, predicate 1",
        "arrays": "bmc 1, search 0.7, arrays 0.4, linear 0.2, kind 0.25, spacer 0.2, predicate 1",
        "other": "bmc 1, search 0.7, linear 0.2, kind 0.25, spacer 0.2, predicate 1, clp 1",
        "Horn clauses": "spacer 1, clp 1",
    }


@pytest.mark.parametrize("kind", PROGRAMS)
def test_quick_engines_run_in_the_first_process(kind: ProgramKind) -> None:
    first, *others = turns(Settings(), 2, kind)
    assert first.quick == QUICK
    assert all(turn.quick == () for turn in others)


def test_on_one_core_the_steady_engine_pauses() -> None:
    assert list(turns(Settings(), 1, LINEAR)) == [
        Turn("bmc", 0.2, pauses=True, quick=QUICK),
        Turn("search", 0.7),
        Turn("linear", 0.25),
        Turn("spacer", 0.2),
        Turn("kind", 0.2),
        Turn("predicate", 0.6),  # which has all of the time on more cores
        Turn("bmc"),
        Turn("clp", 0.6),
    ]


def test_on_one_core_clauses_are_for_one_engine_after_the_other() -> None:
    assert list(turns(Settings(), 1, CLAUSES)) == [Turn("spacer", 0.5), Turn("clp")]


def test_exactly_the_engines_that_the_user_names_run() -> None:
    assert list(turns(Settings(engine="kind"), 2, LINEAR)) == [Turn("kind")]
    assert list(turns(Settings(engines=("linear",)), 1, LINEAR)) == [Turn("linear")]
    assert list(turns(Settings(engines=("linear", "kind")), 2, LINEAR)) == [Turn("linear"), Turn("kind")]
    assert list(turns(Settings(engines=("ranges", "kind")), 1, LINEAR)) == [Turn("ranges", 0.5), Turn("kind")]
    assert list(turns(Settings(engines=QUICK), 2, LINEAR)) == [Turn("random", quick=("execution",))]


def test_a_bound_is_for_engines_that_have_one() -> None:
    assert list(turns(Settings(bound=3), 2, LINEAR)) == [Turn("bmc", quick=QUICK)]
    assert [turn.engine for turn in turns(Settings(bound=3), 2, CLAUSES)] == ["spacer", "clp"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("void main() { int x = *; assert(x == x); }", ProgramKind.ACYCLIC),
        (
            "int f(int n) { int r; if (n > 3) { r = f(n - 1); } return 2 * r; } void main() { f(9); }",
            ProgramKind.RECURSIVE,
        ),
        ("void main() { int x = *; while (x > 3) { x = x - 1; } assert(x < 9); }", ProgramKind.LINEAR),
        ("void main() { int x = *; while (x * x > 3) { x = x - 1; } assert(x < 9); }", ProgramKind.OTHER),
        (
            f"void main() {{ int x = *; while (x > 3) {{ {'x = x - 1; ' * LARGE} }} assert(x < 9); }}",
            ProgramKind.LARGE,
        ),
    ],
)
def test_kinds(text: str, kind: ProgramKind) -> None:
    assert kind_of(load_lp(text, "x.lp").program) is kind


def test_memory_makes_a_program_one_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "x.c"
    path.write_text("int a[9]; int main(void) { int i = 0; while (i < 9) { a[i] = i & 3; i++; } return 0; }")
    assert kind_of(load_question(read_question(path)).program) is ProgramKind.ARRAYS


def test_questions_about_memory_give_arrays_more_time(tmp_path: Path) -> None:
    path = tmp_path / "x.c"
    path.write_text("int main(int n, char **v) { int a[n], i = 0; while (i < n) a[i++] = 1; return 0; }")
    question = read_question(path, property="valid-memsafety")
    assert kind_of(load_question(question).program) is ProgramKind.MEMORY


def test_a_kind_is_not_computed_after_the_time_limit() -> None:
    program = load_lp("void main() { int x = *; while (x > 0) { x = x - 1; } }", "x.lp").program
    with pytest.raises(BudgetExceeded):
        kind_of(program, Budget(0.0))


def test_loops_with_floating_point_are_a_kind_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text("int main(void) { double x = 0; while (x < 9) x += 0.5; return x > 8; }")
    assert kind_of(load_question(read_question(path)).program) is ProgramKind.FLOATS


def test_most_time_for_floating_point_without_loops_is_for_bmc(tmp_path: Path) -> None:
    """It decides these programs, but the solvers may need long for one query."""
    path = tmp_path / "p.c"
    text = "double __VERIFIER_nondet_double(void); int main(void) { return __VERIFIER_nondet_double() > 8; }"
    path.write_text(text)
    kind = kind_of(load_question(read_question(path)).program)
    assert kind is ProgramKind.ACYCLIC_FLOATS
    *_, before, last = turns(Settings(), 1, kind)
    assert (before, last) == (Turn("predicate", 0.2), Turn("bmc"))
