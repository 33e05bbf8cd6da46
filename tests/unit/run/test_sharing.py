"""Facts pass from engine to engine, if they fit and hold."""

from __future__ import annotations

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Point
from certus.core.loops import loop_forest
from certus.core.program import Program
from certus.core.terms import INT, Expr
from certus.frontend.lp.load import load_lp
from certus.run.sharing import EARLIER, RANGES, Exchange, decode_facts, encode_facts, source_of

COUNT = "void main() { int x = 0; int y = 0; while (x < 9) { x = x + 1; y = y + 1; } assert(y == 9); }"


def loaded(text: str) -> Program:
    return load_lp(text, "count.lp").program


def loop(program: Program) -> tuple[Point, Expr, Expr]:
    main = program.procedures[program.main]
    x, y = (next(v for v in main.variables if v.name.endswith(name)) for name in "xy")
    return Point(loop_forest(main).heads[0]), x, y


def test_facts_travel_as_text() -> None:
    program = loaded(COUNT)
    head, x, y = loop(program)
    data = encode_facts("linear", {head: build.eq(x, y)})
    assert source_of(data) == "linear"
    assert decode_facts(data, program) == {head: build.eq(x, y)}


def test_what_does_not_fit_is_left_out() -> None:
    program = loaded(COUNT)
    head, x, _ = loop(program)
    stranger = build.var("main.stranger", INT)
    assert decode_facts(encode_facts("linear", {head: build.eq(x, stranger)}), program) == {}
    elsewhere = loaded("void main() { }")
    assert decode_facts(encode_facts("linear", {head: build.eq(x, x)}), elsewhere) == {}


def test_ranges_are_found_once() -> None:
    program = loaded(COUNT)
    sent: list[bytes] = []
    first = Exchange(send=sent.append).ranges(program, Budget(20), Statistics())
    assert first
    (data,) = sent
    statistics = Statistics()
    second = Exchange({source_of(data): data}, sent.append).ranges(program, Budget(20), statistics)
    assert second == first
    assert len(sent) == 1
    assert statistics.counters["facts.received"] == len(first)
    Exchange({source_of(data): data}, sent.append, inlined=False).ranges(program, Budget(20), Statistics())
    assert len(sent) == 2  # of another program


def test_invariants_of_others_are_checked() -> None:
    program = loaded(COUNT)
    head, x, y = loop(program)
    nothing = encode_facts(RANGES[True], {})
    for claim, holds in ((build.eq(x, y), True), (build.lt(y, x), False)):
        exchange = Exchange({RANGES[True]: nothing, "linear": encode_facts("linear", {head: claim})})
        found = exchange.ranges(program, Budget(20), Statistics())
        assert found == ({head: claim} if holds else {})


def test_ranges_of_an_earlier_question_are_checked_again() -> None:
    """They may come from a program that was sliced differently, so no engine trusts them."""
    program = loaded(COUNT)
    head, x, _ = loop(program)
    for most, received in ((9, True), (5, False)):
        facts = {head: build.le(x, build.integer(most))}
        statistics = Statistics()
        exchange = Exchange({f"{EARLIER}{RANGES[True]}": encode_facts(RANGES[True], facts)})
        assert (exchange.ranges(program, Budget(20), statistics) == facts) == received
        assert statistics.counters["facts.received"] == received
