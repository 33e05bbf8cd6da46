"""Refinement: paths that come up again, cores that stand by themselves, all values of an automaton."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from certus import Settings, Unknown, verify
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.errors import Inconsistent
from certus.core.evidence import Point, Safe, Unsafe, Verdict
from certus.core.loops import loop_forest
from certus.core.program import Choice, Location, Program, Seq
from certus.core.terms import INT, Expr
from certus.core.walk import Substitution
from certus.encoding.block_formula import BlockFormula, Instance, block_formula
from certus.engines.predicate import Options, PredicateAbstraction
from certus.engines.predicate.abstraction import Abstraction, Group, Precision
from certus.engines.predicate.clauses import PathClauses
from certus.engines.predicate.engine import search
from certus.engines.predicate.enumerations import Enumerations
from certus.engines.predicate.reachability import Reachability
from certus.engines.predicate.refinement import Refinement
from certus.engines.predicate.steps import steps_of
from certus.engines.predicate.vocabulary import KnownRanges
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks
from certus.solvers.bdd import Regions

REPEATED = "a path came up again that its interpolants exclude"
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
    together, separate = (formula.instance(0, start, separate=s) for s in (False, True))
    alone = Substitution({**start, **separate.renamed})
    assert list(separate.definitions) == [alone.apply(d) for d in formula.definitions]
    assert together.definitions != separate.definitions


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
    verdict = search(task, Options(), Budget(60), statistics, precision)
    assert isinstance(verdict, Safe)
    assert statistics.counters["predicate.refinements"] <= 6


def test_variables_that_hold_constants_only() -> None:
    text = """
    int mode(int m) { return m; }
    void main() {
      int a = 1, b, c = 7, d = *, n = 0;
      while (*) { b = a; if (b == 5) { a = 2; } else { a = 9; } n = n + 1; c = mode(4); }
      assert(n >= 0);
    }
    """
    values = Enumerations(prepared(text))

    def spoken(name: str, *constants: int) -> list[str]:
        x = build.var(name, INT)
        result = values.all_values([build.eq(x, build.integer(c)) for c in constants])
        return sorted(str(p) for p in result)

    def equations(name: str, *constants: int) -> list[str]:
        x = build.var(name, INT)
        return sorted(str(build.eq(x, build.integer(c))) for c in constants)

    a, b, c, d, n = (build.var(f"main.{name}", INT) for name in "abcdn")
    assert values.include([a, b, c])
    assert not values.include([a, n])  # computed
    assert not values.include([a, d])  # an input
    assert spoken("main.a", 1, 2) == []  # two may be all that is needed
    assert spoken("main.a", 1, 2, 9) == equations("main.a", 1, 2, 9)
    assert spoken("main.b", 1, 2, 5) == equations("main.b", 1, 2, 5, 9)
    assert spoken("main.b", 1) == equations("main.b", 1, 2, 5, 9)  # from now on wherever it is spoken of
    assert spoken("main.n", 0, 1, 2) == []
    assert set(values.by_values((build.le(a, build.integer(1)),))) == {
        build.eq(a, build.integer(c)) for c in (1, 2, 9)
    }
    other = build.le(build.var("main.n", INT), build.integer(1))
    assert values.by_values((other,)) == (other,)


def test_what_paths_begin_with_is_executed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    executed: Counter[object] = Counter()
    execute = BlockFormula.instance

    def counted(
        block: BlockFormula, number: int, values: Mapping[Expr, Expr], *, separate: bool = False
    ) -> Instance:
        executed[block, number, *values.items()] += 1
        return execute(block, number, values, separate=separate)

    monkeypatch.setattr(BlockFormula, "instance", counted)
    statistics = Statistics()
    assert isinstance(run(AUTOMATON, statistics), Safe)
    assert statistics.counters["solver.path"] > 1
    assert set(executed.values()) == {1}


# --------------------------------------------------------------------------------------- recursion

MUTUAL = """
int even(int n) {{ if (n == 0) return 1; if (n < 0) {{ int b = half(n); assert(b == n); }}
    int r = odd(n - 1); return r; }}
int odd(int n) {{ if (n == 0) return 0; int r = even(n - 1); return r; }}
int half(int n) {{ return n; }}
void main() {{ int n = *; assume(n >= 0); int a = even(n); assert({claim}); }}
"""


def test_recursive_procedures_are_completed() -> None:
    """Paths that return at once, one to each assertion; the invariants of every call follow from them."""
    statistics = Statistics()
    assert isinstance(run(MUTUAL.format(claim="0 <= a && a <= 1"), statistics), Safe)
    assert statistics.counters["predicate.refinements"] == 2


def test_a_path_and_the_recursive_procedures_on_it() -> None:
    program = prepared(MUTUAL.format(claim="0 <= a && a <= 1"))
    steps = steps_of(program)
    abstraction = Abstraction(Regions(), 1000, Budget(60), Statistics())
    inner = Reachability(steps, abstraction, {}).error()
    assert inner is not None
    assert inner.location.procedure == "even"
    steps.before[inner.step.premises[0]].remove(inner.step)
    error = Reachability(steps, abstraction, {}).error()
    steps.before[inner.step.premises[0]].append(inner.step)
    assert error is not None
    path, completed = (
        PathClauses(error, steps, None, collapsed=True, completed=whole) for whole in (False, True)
    )
    assert path.is_recursive
    assert not path.has_cycles
    assert {at.procedure for at, _ in path.relations()} == {"main", "even"}
    assert {at.procedure for at, _ in completed.relations()} == set(program.procedures)
    assert len(path.system().clauses) < len(completed.system().clauses)
    assert not program.error_locations.intersection(at for at, _ in completed.relations())
    assert sum(clause.head is None for clause in completed.system().clauses) == 1


def test_a_defect_behind_recursion_is_found() -> None:
    result = run(MUTUAL.format(claim="a == 1"))
    assert isinstance(result, Unsafe)


# ------------------------------------------------------------------------------------------ ranges


def test_predicates_within_known_ranges() -> None:
    """Two values need one predicate, three need two at most; bounds of the range say nothing."""
    program = prepared(LOOP)
    at, elsewhere = program.procedures["main"].locations[:2]
    flag, state, count = (build.var(name, INT) for name in ("flag", "state", "count"))

    def equal(x: Expr, value: int) -> Expr:
        return build.eq(x, build.integer(value))

    def up_to(x: Expr, value: int) -> Expr:
        return build.le(x, build.integer(value))

    def at_least(x: Expr, value: int) -> Expr:
        return build.le(build.integer(value), x)

    limits = ((flag, 0, 1), (state, 0, 2))
    facts = [at_least(count, 0), *(f for x, a, b in limits for f in (at_least(x, a), up_to(x, b)))]
    ranges = KnownRanges(program, {Point(at): build.conjunction(facts)})
    alike = (up_to(flag, 0), equal(flag, 0), equal(flag, 1), at_least(flag, 1))
    assert ranges.simplified(at, alike) == (equal(flag, 0),)
    assert ranges.simplified(elsewhere, alike) == alike
    leaving = program.procedures["main"].exit
    assert (
        KnownRanges(program, {Point(leaving): build.conjunction(facts)}).simplified(leaving, alike) == alike
    )
    assert ranges.simplified(at, (up_to(flag, 1), up_to(flag, -1), equal(flag, 7))) == ()
    assert ranges.simplified(at, (up_to(state, 0), up_to(state, 1))) == (equal(state, 0), equal(state, 2))
    assert ranges.simplified(at, (equal(state, 1), up_to(count, 0))) == (equal(state, 1), equal(count, 0))
    assert ranges.simplified(at, (up_to(count, 5),)) == (up_to(count, 5),)


def test_ranges_save_predicates() -> None:
    text = """
    void main() {
      int s = 0, t = 0;
      while (*) { if (s == 0) { s = 1; t = 1; } else { assert(t >= 1); s = 0; } }
    }
    """
    program = prepared(text)
    (head,) = loop_forest(program.procedures["main"]).heads
    facts = [f for x in ("main.s", "main.t") for f in _between(build.var(x, INT), 0, 1)]
    precision = dict[Location, Precision]()
    task = Task(program, facts={Point(head): build.conjunction(facts)})
    verdict = search(task, Options(), Budget(60), Statistics(), precision)
    assert isinstance(verdict, Safe)
    assert len(precision[head].predicates) <= 2


def _between(x: Expr, low: int, high: int) -> tuple[Expr, Expr]:
    return build.le(build.integer(low), x), build.le(x, build.integer(high))
