"""The abstraction of Wolff 2015, Listing 2, and what calls, inputs and contradictions become."""

from __future__ import annotations

from itertools import product

from certus.core.accounting import Budget, Statistics
from certus.core.boolean import UNKNOWN, BooleanProgram, Guard, Invoke, Statement, Update
from certus.core.program import Edge
from certus.frontend.lp.load import load_lp
from certus.frontend.predicates import parse_predicates
from certus.passes.boolean import abstract_program
from certus.report.boolean_program import render_boolean

LISTING_2 = """
int x;
int y;
void main() { x, y = 5, 13; swap(); assert(x > y); }
void swap() { x = x + y; y = x - y; x = x - y; }
"""


def abstraction(text: str, predicates: str) -> BooleanProgram:
    program = load_lp(text, "test.lp").program
    scoped = parse_predicates(predicates, program)
    return abstract_program(program, scoped, budget=Budget(60), statistics=Statistics())


def steps(abstract: BooleanProgram, procedure: str) -> dict[str, tuple[Statement, ...]]:
    """Statements by the text of their edge, and its polarity."""

    def name(edge: Edge) -> str:
        return edge.text if edge.branch is None else f"{edge.text} {edge.branch}"

    return {name(edge): statements for edge, statements in abstract.procedures[procedure].steps.items()}


def test_listing_2() -> None:
    abstract = abstraction(LISTING_2, "global: x <= 5, y >= 13")
    assert [p.text for p in abstract.predicates.values()] == ["x <= 5", "y >= 13"]
    p, q = abstract.predicates
    valuations = [dict(zip((p, q), values, strict=True)) for values in product((True, False), repeat=2)]

    swap = steps(abstract, "swap")
    (act1,), (act2,), (act3,) = swap.values()

    def table(act: Statement) -> list[tuple[bool, bool]]:
        assert isinstance(act, Update)
        (value,) = act.values
        return [(value.yes.holds(v), value.no.holds(v)) for v in valuations]

    assert [act.targets for act in (act1, act2, act3) if isinstance(act, Update)] == [(p,), (q,), (p,)]
    assert table(act1) == [(False, not v[p] and v[q]) for v in valuations]
    assert table(act2) == [(False, v[p] and v[q]) for v in valuations]
    assert table(act3) == [(v[p] and v[q], False) for v in valuations]
    main = steps(abstract, "main")
    (start,) = main["x, y = 5, 13;"]
    assert isinstance(start, Update)
    assert [value.allows(True, {}) and not value.allows(False, {}) for value in start.values] == [True, True]
    assert main["swap();"] == (Invoke("swap", (), ()),)
    (claimed,), (denied,) = main["assert(x > y); True"], main["assert(x > y); False"]
    assert isinstance(claimed, Guard)
    assert isinstance(denied, Guard)
    assert [claimed.condition.holds(v) for v in valuations] == [not v[p] or not v[q] for v in valuations]
    assert all(denied.condition.holds(v) for v in valuations)


def test_an_input_may_be_anything_and_contradictions_are_excluded() -> None:
    abstract = abstraction("int x; void main() { x = *; x = x + 1; }", "global: x <= 3, x <= 5")
    low, high = abstract.predicates
    update, guard = steps(abstract, "main")["x = *;"]
    assert update == Update((low, high), (UNKNOWN, UNKNOWN))
    assert isinstance(guard, Guard)
    assert [guard.condition.holds({low: a, high: b}) for a, b in product((True, False), repeat=2)] == [
        True,
        False,
        True,
        True,
    ]


def test_predicates_of_arguments_are_passed_and_those_of_results_returned() -> None:
    text = "int inc(int n) { return n + 1; } void main() { int x = *; if (x > 0) { x = inc(x); } }"
    abstract = abstraction(text, "main: x > 0, x > 1; inc: n > 0, result > 1, result == old(n) + 1")
    inc = abstract.procedures["inc"]
    assert [inc.predicates[x].text for x in inc.parameters] == ["n > 0"]
    assert [inc.predicates[x].text for x in inc.results] == ["result > 1", "result == old(n) + 1"]
    positive, large = abstract.procedures["main"].predicates
    (call, update) = steps(abstract, "main")["x = inc(x);"]
    assert isinstance(call, Invoke)
    assert [value.yes.holds({positive: True, large: False}) for value in call.arguments] == [True]
    assert isinstance(update, Update)
    after = {**dict.fromkeys(call.targets, True), positive: True, large: False}
    assert [value.allows(False, after) for value in update.values] == [False, False]
    assert "= inc(" in render_boolean(abstract)


def test_written_parameters_differ_from_the_arguments() -> None:
    text = "int g; void f(int n) { n = n + 1; g = n; } void main() { int x = 0; f(x); }"
    abstract = abstraction(text, "global: g > 0; main: x >= 0; f: n >= 0, g > n")
    assert abstract.procedures["f"].results == ()  # `n` is no longer what was passed
    assert [abstract.procedures["f"].predicates[x].text for x in abstract.procedures["f"].parameters] == [
        "n >= 0",
        "g > n",
    ]


def test_initial_values() -> None:
    abstract = abstraction("int g = 3, h; void main() { ; }", "global: g > 0, g > 5, h > 0; main: g == 3")
    assert [v.yes.always for v in abstract.shared.values()] == [True, False, False]
    assert [v.no.always for v in abstract.shared.values()] == [False, True, False]
    assert [v.yes.always for v in abstract.procedures["main"].declared.values()] == [True]
