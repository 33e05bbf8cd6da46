"""Refinement: paths that come up again, cores that stand by themselves, all values of an automaton."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, Unknown, verify
from certus.core import build
from certus.core.budget import Budget
from certus.core.errors import Inconsistent
from certus.core.program import Choice, Location, Program, Seq
from certus.core.sorts import INT
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.verdict import Safe, Verdict
from certus.core.walk import Substitution
from certus.engines.predicate import Options, PredicateAbstraction
from certus.engines.predicate.abstraction import Group, Precision
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.refinement import Refinement
from certus.frontend.lp.load import load_lp
from certus.logic.blocks import block_formula
from certus.transform.large_blocks import LargeBlocks

REPEATED = "a path was found again that its interpolants exclude"
LOOP = "void main() { int x = 0; while (*) { x = 1 - x; } assert(x <= 1); }"


def prepared(text: str) -> Program:
    subject = LargeBlocks("large").apply(Task(load_lp(text, "test.lp").program))[0].subject
    assert isinstance(subject, Program)
    return subject


def run(text: str, statistics: Statistics | None = None) -> Verdict:
    return PredicateAbstraction().run(Task(prepared(text)), Options(), Budget(60), statistics or Statistics())


# -------------------------------------------------------------------------- a path that comes up again


@pytest.fixture
def useless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refinement that finds nothing new, whatever the path."""

    def nothing(*_: object) -> list[tuple[Location, Group]]:
        return []

    monkeypatch.setattr(Refinement, "new_predicates", nothing)


@pytest.mark.usefixtures("useless")
def test_a_second_repetition_of_a_path_is_an_internal_error() -> None:
    statistics = Statistics()
    with pytest.raises(Inconsistent, match=REPEATED):
        run(LOOP, statistics)
    assert statistics.counters["predicate.repeated"] == 1  # the first one: its blocks abstracted exactly
    assert statistics.counters["predicate.refinements"] == 3


@pytest.mark.usefixtures("useless")
def test_the_user_is_told_of_it(tmp_path: Path) -> None:
    file = tmp_path / "loop.lp"
    file.write_text(LOOP)
    outcome = verify(file, Settings(engine="predicate", ranges=False))
    assert isinstance(outcome.verdict, Unknown)
    reason = outcome.verdict.reason
    assert reason.code == "engine-crashed"
    assert REPEATED in reason.message
    assert reason.hint == "this is a defect of Certus: please report it"


# ------------------------------------------------------------------------------------------- cores


def test_formulas_used_apart_do_not_lean_on_each_other() -> None:
    """No definition loses a literal because another one says that it is false: a core may have it alone."""
    program = prepared("int s; void main() { int x; if (s == 1) { x = 1; } else { x = 2; } assert(x == 2); }")
    main = program.procedures["main"]
    block = main.edges[0].op
    assert isinstance(block, Seq | Choice)
    formula = block_formula(block, main)
    assert formula is not None
    start = {program.globals[0]: build.integer(2)}
    together, apart = (formula.instance(0, start, apart=a) for a in (False, True))
    alone = Substitution({**start, **apart.renamed})
    assert list(apart.definitions) == [alone.apply(d) for d in formula.definitions]
    assert together.definitions != apart.definitions


# ------------------------------------------------------------------------------------- enumerations

AUTOMATON = """
void main() {
  int state = 10, flag = 0;
  while (*) {
    if (state == 10) { state = 20; }
    else if (state == 20) { if (flag == 0) { flag = 1; } state = 30; }
    else if (state == 30) { if (flag == 1) { flag = 2; } state = 40; }
    else if (state == 40) { if (flag == 2) { flag = 3; } state = 50; }
    else if (state == 50) { assert(flag != 4); state = 60; }
    else if (state == 60) { if (flag == 5) { flag = 4; } state = 20; }
  }
}
"""


def test_the_values_of_an_automaton_come_at_once() -> None:
    task = Task(prepared(AUTOMATON))
    statistics, precision = Statistics(), dict[Location, Precision]()
    verdict = PredicateAbstraction().search(task, Options(), Budget(60), statistics, precision)
    assert isinstance(verdict, Safe)
    assert statistics.counters["predicate.refinements"] <= 6


def test_variables_that_hold_constants_only() -> None:
    text = """
    int mode(int m) { return m; }
    void main() {
      int a = 1, b, c = 7, n = 0;
      while (*) { b = a; if (b == 5) { a = 2; } else { a = 9; } n = n + 1; c = mode(4); }
      assert(n >= 0);
    }
    """
    values = Enumerations(prepared(text))

    def spoken(name: str, *constants: int) -> list[str]:
        x = build.var(name, INT)
        found = values.completed([build.eq(x, build.integer(c)) for c in constants])
        return sorted(str(p) for p in found)

    def equations(name: str, *constants: int) -> list[str]:
        x = build.var(name, INT)
        return sorted(str(build.eq(x, build.integer(c))) for c in constants)

    assert spoken("main.a", 1, 2) == []  # two may be all that is needed
    assert spoken("main.a", 1, 2, 9) == equations("main.a", 1, 2, 9)
    assert spoken("main.b", 1, 2, 5) == equations("main.b", 1, 2, 5, 9)
    assert spoken("main.b", 1) == equations("main.b", 1, 2, 5, 9)  # from now on wherever it is spoken of
    assert spoken("main.n", 0, 1, 2) == []
    a, bound = build.var("main.a", INT), build.le(build.var("main.a", INT), build.integer(1))
    assert set(values.spelled((bound,))) == {build.eq(a, build.integer(c)) for c in (1, 2, 9)}
    other = build.le(build.var("main.n", INT), build.integer(1))
    assert values.spelled((other,)) == (other,)
