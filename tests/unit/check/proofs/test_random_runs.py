"""Random runs contradict planted wrong proofs, and no correct one."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.random_runs import challenge
from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Execution, Inductive, KInductive, Point, Proof, Unrolling, in_frame, old
from certus.core.outcome import Replay
from certus.core.program import Assume, Program
from certus.core.terms import INT, Expr

ZERO, ONE, TEN = (build.integer(n) for n in (0, 1, 10))


def contradiction(program: Program, proof: Proof) -> Diagnostic:
    reason = challenge(program, proof).contradiction
    assert reason is not None
    assert reason.code == "internal-contradiction"
    return reason


def unharmed(program: Program, proof: Proof) -> int:
    result = challenge(program, proof, seconds=30.0)
    assert result.contradiction is None, result.contradiction.message
    return result.runs


class Loop:
    """`n = *; assume 0 <= n <= 10; x = 0; while (x < n) x++; assert x == n;`"""

    def __init__(self, *, slip: bool = False) -> None:
        b = ProgramBuilder()
        self.n, self.x = n, x = b.local("main", "n"), b.local("main", "x")
        b.edge("main", "entry", "asked", b.havoc(n))
        b.edge("main", "asked", "start", Assume(build.and_(build.le(ZERO, n), build.le(n, TEN))))
        b.edge("main", "start", "loop", b.assign((x, 0)))
        b.branch("main", "loop", build.lt(x, n), "body", "after")
        b.edge("main", "body", "loop", b.assign((x, build.add(x, ONE))))
        claim = build.ne(x, build.integer(5)) if slip else build.eq(x, n)
        self.error = b.check("main", "after", claim, "exit")
        self.head = b.at("main", "loop")
        self.program = b.build()


def test_a_right_invariant_stands() -> None:
    case = Loop()
    proof = Inductive({Point(case.head): build.le(case.x, case.n)})
    assert unharmed(case.program, proof) > 20


def test_a_wrong_invariant_falls_with_its_values() -> None:
    case = Loop()
    reason = contradiction(case.program, Inductive({Point(case.head): build.lt(case.x, case.n)}))
    assert case.head.name in reason.message
    assert "main.x = " in reason.message
    assert "main.n = " in reason.message


def test_a_wrong_k_inductive_formula_falls() -> None:
    case = Loop()
    contradiction(case.program, KInductive(2, {Point(case.head): build.ne(case.x, build.integer(4))}))


def test_a_reachable_error_contradicts_any_proof_and_replays() -> None:
    case = Loop(slip=True)
    result = challenge(case.program, Inductive({}))
    assert result.contradiction is not None
    assert case.error.name in result.contradiction.message
    assert result.trace is not None
    assert isinstance(replay(case.program, result.trace, budget=Budget()), Replay)


@pytest.mark.parametrize(("bound", "stands"), [(11, True), (10, False), (1, False)])
def test_bounds_of_loops(bound: int, stands: bool) -> None:
    case = Loop()
    proof = Unrolling({case.head.name: bound})
    if stands:
        unharmed(case.program, proof)
    else:
        assert case.head.name in contradiction(case.program, proof).message


def test_a_loop_without_bound_may_not_be_entered() -> None:
    contradiction(Loop().program, Unrolling({}))


def test_an_inner_loop_is_counted_anew_each_time_it_is_come_to() -> None:
    b = ProgramBuilder()
    i, j = b.local("main", "i"), b.local("main", "j")
    three = build.integer(3)
    b.edge("main", "entry", "outer", b.assign((i, 0)))
    b.branch("main", "outer", build.lt(i, three), "begin", "exit")
    b.edge("main", "begin", "inner", b.assign((j, 0)))
    b.branch("main", "inner", build.lt(j, three), "body", "next")
    b.edge("main", "body", "inner", b.assign((j, build.add(j, ONE))))
    b.edge("main", "next", "outer", b.assign((i, build.add(i, ONE))))
    outer, inner = b.at("main", "outer").name, b.at("main", "inner").name
    program = b.build()
    assert unharmed(program, Unrolling({outer: 4, inner: 4})) == 1, "without inputs one run is enough"
    contradiction(program, Unrolling({outer: 3, inner: 4}))
    contradiction(program, Unrolling({outer: 4, inner: 3}))


def test_a_visit_that_ends_the_run_counts_once() -> None:
    b = ProgramBuilder()
    x = b.var("x", initial=0)
    b.skip("main", "entry", "loop")
    b.edge("main", "loop", "body", Assume(build.lt(x, build.integer(3))))
    b.edge("main", "body", "loop", b.assign((x, build.add(x, ONE))))
    head = b.at("main", "loop").name
    program = b.build()
    unharmed(program, Unrolling({head: 4}))
    contradiction(program, Unrolling({head: 3}))


class Recursive:
    """`f(n): g++; return n <= 0 ? 0 : f(n - 1) + 1`, called with an input from 0 to 5."""

    def __init__(self) -> None:
        b = ProgramBuilder()
        self.n, t = b.parameter("f", "n"), b.local("f", "t")
        self.r = b.result("f", "r")
        self.g = b.var("g")
        b.edge("f", "entry", "counted", b.assign((self.g, build.add(self.g, ONE))))
        b.branch("f", "counted", build.le(self.n, ZERO), "base", "step")
        b.edge("f", "base", "exit", b.returns(ZERO))
        b.edge("f", "step", "back", b.call("f", build.sub(self.n, ONE), into=(t,)))
        b.edge("f", "back", "exit", b.returns(build.add(t, ONE)))
        self.x, self.y = b.local("main", "x"), b.local("main", "y")
        b.edge("main", "entry", "asked", b.havoc(self.x))
        limited = build.and_(build.le(ZERO, self.x), build.le(self.x, build.integer(5)))
        b.edge("main", "asked", "call", Assume(limited))
        self.call = b.edge("main", "call", "after", b.call("f", self.x, into=(self.y,)))
        b.check("main", "after", build.eq(self.x, self.y), "exit")
        self.entry, self.counted = b.at("f", "entry"), b.at("f", "counted")
        self.program = b.build()

    def summary(self, result: Expr, calls: Expr) -> Expr:
        return build.and_(
            build.eq(self.r, result), build.eq(self.g, build.add(old(self.g), calls)), build.le(ZERO, self.r)
        )


def test_summaries_speak_of_the_entry() -> None:
    case = Recursive()
    n = old(case.n)
    right = Inductive(
        {
            Point(case.entry): build.le(ZERO, case.n),
            Point(case.counted): build.and_(
                build.eq(case.n, n), build.eq(case.g, build.add(old(case.g), ONE))
            ),
        },
        {"f": case.summary(n, build.add(n, ONE))},
    )
    assert unharmed(case.program, right) > 20
    for wrong in (case.summary(n, n), case.summary(build.add(n, ONE), build.add(n, ONE))):
        contradiction(case.program, Inductive({}, {"f": wrong}))


def test_bounds_of_recursion() -> None:
    case = Recursive()
    unharmed(case.program, Unrolling({}, {"f": 6}))
    reason = contradiction(case.program, Unrolling({}, {"f": 5}))
    assert "6 activations of f" in reason.message
    contradiction(case.program, Unrolling({}, {}))


class Wrapped:
    """`main: x = *; p(x); p(x + 1)` where `p(a): q(a)` and q has a location of interest."""

    def __init__(self) -> None:
        b = ProgramBuilder()
        self.c = b.parameter("q", "c")
        b.skip("q", "entry", "here")
        b.skip("q", "here", "exit")
        self.a = b.parameter("p", "a")
        self.inner = b.edge("p", "entry", "exit", b.call("q", self.a))
        self.x = b.local("main", "x")
        b.edge("main", "entry", "one", b.havoc(self.x))
        self.first = b.edge("main", "one", "two", b.call("p", self.x))
        self.second = b.edge("main", "two", "exit", b.call("p", build.add(self.x, ONE)))
        self.here = b.at("q", "here")
        self.program = b.build()

    def at(self, *calls: int) -> Point:
        return Point(self.here, calls)


def test_call_strings_tell_visits_apart() -> None:
    case = Wrapped()
    first, second = (case.first.index, case.inner.index), (case.second.index, case.inner.index)
    c = in_frame(case.c, 2)
    right = {
        case.at(*first): build.and_(build.eq(c, case.x), build.eq(in_frame(case.a, 1), c)),
        case.at(*second): build.eq(c, build.add(case.x, ONE)),
    }
    assert unharmed(case.program, Inductive(right)) > 20
    contradiction(case.program, Inductive({**right, case.at(*second): build.eq(c, case.x)}))


def test_strings_start_at_summarised_procedures() -> None:
    case = Wrapped()
    inside = case.at(case.inner.index)
    c = in_frame(case.c, 1)
    right = Inductive(
        {inside: build.and_(build.eq(c, case.a), build.eq(case.a, old(case.a)))}, {"p": build.TRUE}
    )
    assert unharmed(case.program, right) > 20
    contradiction(case.program, Inductive({inside: build.ne(c, ONE)}, {"p": build.TRUE}))


def test_nothing_is_claimed_of_a_procedure_that_is_entered_under_another_name() -> None:
    """The empty string at q would stand for calls by contract, and there are none."""
    case = Wrapped()
    unharmed(case.program, Inductive({case.at(): build.FALSE}))


def test_formulas_without_value_claim_nothing() -> None:
    case = Loop()
    quantified = build.forall((INT,), build.lt(build.bound(0, INT), case.x))
    undefined = build.eq(build.quot(ONE, ZERO), case.x)
    unharmed(case.program, Inductive({Point(case.head): quantified}))
    unharmed(case.program, Inductive({Point(case.head): undefined}))
    unharmed(case.program, Inductive({Point(case.head): build.eq(build.var("other.y", INT), case.x)}))


def test_reached_errors_are_told_from_those_never_come_to() -> None:
    b = ProgramBuilder()
    x = b.var("x", initial=0)
    seen = b.check("main", "entry", build.eq(x, ZERO), "next")
    b.branch("main", "next", build.eq(x, ONE), "never", "exit")
    unseen = b.check("main", "never", build.eq(x, ZERO), "exit")
    result = challenge(b.build(), Execution(1))
    assert seen.name in result.reached
    assert unseen.name not in result.reached


def test_equal_seeds_give_equal_runs() -> None:
    case = Loop(slip=True)
    results = [challenge(case.program, Inductive({}), seed=3) for _ in range(2)]
    assert results[0] == results[1]
