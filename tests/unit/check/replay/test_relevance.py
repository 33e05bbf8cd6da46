"""Which steps of a run its violation depends on: small programs, with steps written by hand."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.check.replay import replay as replaying
from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.outcome import Replay, Role
from certus.core.program import Assume, Edge, Location
from certus.core.terms import Expr, machine

I32 = machine(32, signed=True)
ZERO, ONE, TWO = (build.integer(n) for n in range(3))


class Case:
    """A program of statements in a row, some of which are to matter."""

    def __init__(self) -> None:
        self.b = ProgramBuilder()
        self.x, self.y, self.n = (self.b.local("main", name) for name in "xyn")
        self.matter: dict[int, Role] = {}  # by edge
        self.here = "entry"

    def add(self, op: object, role: Role | None = None, procedure: str = "main") -> Edge:
        there = f"after {self.here}"
        edge = self.b.edge(procedure, self.here, there, op)  # type: ignore[arg-type]
        self.here = there
        if role is not None:
            self.matter[edge.index] = role
        return edge

    def fail_if(self, condition: Expr) -> Location:
        return self.b.check("main", self.here, build.not_(condition), "exit")

    def replay(self, error: Location, keep: int = 400, **inputs: int) -> Replay:
        program = self.b.build()
        by_name = {
            edge.index: ((inputs[target.name.removeprefix("main.")],),)
            for edge in program.edge.values()
            for target in getattr(edge.op, "targets", ())
            if target.name.removeprefix("main.") in inputs
        }
        havocs = {e: v for e, v in by_name.items() if type(program.edge[e].op).__name__ == "Havoc"}
        replayed = replay(program, Trace(error.name, {}, havocs), budget=Budget(), keep=keep)
        assert isinstance(replayed, Replay)
        return replayed

    def roles(self, replayed: Replay) -> dict[int, Role]:
        """The roles of the steps that matter, by edge, without the last step."""
        return {step.edge: step.reason.role for step in replayed.kept[:-1] if step.reason is not None}


def test_values_come_from_their_last_writers() -> None:
    case = Case()
    b, x, y = case.b, case.x, case.y
    case.add(b.havoc(x))
    case.add(b.havoc(y), Role.VALUE)
    case.add(b.assign((x, y)), Role.VALUE)
    case.add(b.assign((y, 7)))
    replayed = case.replay(case.fail_if(build.eq(x, TWO)), y=2)
    assert case.roles(replayed) == case.matter
    assert replayed.matter == 3


def test_a_parallel_assignment_reads_what_is_demanded_only() -> None:
    case = Case()
    b, x, y = case.b, case.x, case.y
    case.add(b.havoc(x))
    case.add(b.havoc(y), Role.VALUE)
    case.add(b.assign((x, y), (y, x)), Role.VALUE)
    assert case.roles(case.replay(case.fail_if(build.eq(x, ZERO)))) == case.matter


def test_bytes_are_told_apart() -> None:
    case = Case()
    b = case.b
    array, value = b.local("main", "array"), b.local("main", "value", I32)
    seven, nine = build.constant(7, I32), build.constant(9, I32)
    case.add(b.alloc(array, 8), Role.VALUE)
    case.add(b.store(array, 0, nine))
    case.add(b.store(array, 4, seven), Role.MEMORY)
    case.add(b.store(array, 0, seven))
    case.add(b.load(value, array, 4), Role.VALUE)
    assert case.roles(case.replay(case.fail_if(build.eq(value, seven)))) == case.matter


@pytest.mark.parametrize("which", ["same", "other", "unknown"])
def test_what_a_branch_passes_over_may_be_in_another_object(which: str) -> None:
    case = Case()
    b, x = case.b, case.x
    one, two, pointer = (b.local("main", name) for name in ("one", "two", "pointer"))
    value, seven = b.local("main", "value", I32), build.constant(7, I32)
    matters = which != "other"
    case.add(b.havoc(x), Role.VALUE if matters else None)
    case.add(b.alloc(one, 4), Role.VALUE)
    case.add(b.alloc(two, 4))
    case.add(b.assign((pointer, two)))
    case.add(b.store(one, 0, seven), Role.MEMORY)
    taken = b.edge("main", case.here, "meet", Assume(build.eq(x, ZERO)))
    b.edge("main", case.here, "write", Assume(build.ne(x, ZERO)))
    target = {"same": one, "other": two, "unknown": pointer}[which]
    b.edge("main", "write", "meet", b.store(target, 0, build.constant(8, I32)))
    case.here = "meet"
    case.add(b.load(value, one), Role.VALUE)
    replayed = case.replay(case.fail_if(build.eq(value, seven)))
    assert case.roles(replayed) == case.matter | ({taken.index: Role.KEEP} if matters else {})


def test_contents_of_a_new_object_come_from_its_making() -> None:
    case = Case()
    b = case.b
    array, other, value = b.local("main", "array"), b.local("main", "other"), b.local("main", "value", I32)
    case.add(b.alloc(array, 8, zero=True), Role.VALUE)
    case.add(b.alloc(other, 8, zero=True))
    case.add(b.load(value, array, 4), Role.VALUE)
    assert case.roles(case.replay(case.fail_if(build.eq(value, build.constant(0, I32))))) == case.matter


def test_a_loop_that_does_nothing_for_the_violation_is_left_out() -> None:
    case = Case()
    b, x, n = case.b, case.x, case.n
    case.add(b.havoc(x), Role.VALUE)
    case.add(b.assign((n, 0)))
    head = case.here
    b.branch("main", head, build.lt(n, build.integer(20_000)), "body", "left")
    b.edge("main", "body", head, b.assign((n, build.add(n, ONE))))
    case.here = "left"
    case.add(b.assign((case.y, x)), Role.VALUE)
    replayed = case.replay(case.fail_if(build.eq(case.y, TWO)), keep=1, x=2)
    assert replayed.steps > 40_000
    assert replayed.matter == 3
    assert case.roles(replayed) == case.matter
    assert [step.number for step in replayed.kept] == [0, replayed.steps - 2, replayed.steps - 1]


def test_branches_that_decide_and_branches_that_do_not() -> None:
    case = Case()
    b, x, y, n = case.b, case.x, case.y, case.n
    case.add(b.havoc(x), Role.VALUE)
    case.add(b.havoc(y))
    case.add(b.havoc(n), Role.VALUE)
    b.branch("main", case.here, build.eq(y, ZERO), "yes", "no")  # both sides go on alike
    b.edge("main", "yes", "meet", b.assign((y, 1)))
    b.edge("main", "no", "meet", b.assign((y, 2)))
    keep = b.edge("main", "meet", "kept", Assume(build.eq(n, ZERO)))  # else x is overwritten
    b.edge("main", "meet", "other", Assume(build.ne(n, ZERO)))
    b.edge("main", "other", "kept", b.assign((x, 0)))
    into = b.edge("main", "kept", "inside", Assume(build.lt(ZERO, x)))
    b.edge("main", "kept", "exit", Assume(build.le(x, ZERO)))
    case.here = "inside"
    replayed = case.replay(case.fail_if(build.eq(x, TWO)), x=2)
    assert case.roles(replayed) == case.matter | {keep.index: Role.KEEP, into.index: Role.BRANCH}


def test_an_assumption_matters_since_it_could_end_the_run() -> None:
    case = Case()
    case.add(case.b.havoc(case.x), Role.VALUE)
    case.add(Assume(build.le(ONE, case.x)), Role.BRANCH)
    case.add(case.b.assign((case.y, 5)), Role.VALUE)
    assert case.roles(case.replay(case.fail_if(build.eq(case.y, build.integer(5))), x=1)) == case.matter


def test_an_assertion_that_holds_does_not_matter() -> None:
    case = Case()
    case.add(case.b.havoc(case.x))
    case.b.check("main", case.here, build.eq(case.x, ONE), "on")
    case.here = "on"
    case.add(case.b.assign((case.y, 5)), Role.VALUE)
    assert case.roles(case.replay(case.fail_if(build.eq(case.y, build.integer(5))), x=1)) == case.matter


def procedure(b: ProgramBuilder, *, stops: bool) -> tuple[Edge, Edge]:
    """g adds 1 to what it is given, and counts its calls; or it stops for negative numbers."""
    p, calls = b.parameter("g", "p"), b.var("calls", initial=0)
    b.result("g", "r")
    if stops:
        first = b.edge("g", "entry", "counted", Assume(build.le(ZERO, p)))
    else:
        first = b.edge("g", "entry", "counted", b.assign((calls, build.add(calls, ONE))))
    return first, b.edge("g", "counted", "exit", b.returns(build.add(p, ONE)))


@pytest.mark.parametrize("stops", [False, True])
def test_a_call_matters_for_its_result_or_because_it_might_not_return(stops: bool) -> None:
    case = Case()
    b, x, y = case.b, case.x, case.y
    first, result = procedure(b, stops=stops)
    case.add(b.havoc(x), Role.VALUE if stops else None)
    case.add(b.havoc(y), Role.VALUE)
    case.add(b.call("g", x, into=(case.n,)), Role.CALL if stops else None)
    case.add(b.call("g", y, into=(x,)), Role.CALL)
    error = case.fail_if(build.eq(x, TWO))
    replayed = case.replay(error, x=1, y=1)
    matter = case.matter | {result.index: Role.VALUE} | ({first.index: Role.BRANCH} if stops else {})
    assert case.roles(replayed) == matter
    assert sum(step.edge == result.index and step.reason is not None for step in replayed.kept) == 1


def test_an_error_in_a_procedure_makes_its_call_matter() -> None:
    case = Case()
    b = case.b
    p = b.parameter("g", "p")
    error = b.check("g", "entry", build.ne(p, ONE), "exit")
    case.add(b.havoc(case.x), Role.VALUE)
    case.add(b.havoc(case.y))
    case.add(b.call("g", case.y))
    case.add(b.call("g", case.x), Role.CALL)
    b.skip("main", case.here, "exit")
    replayed = case.replay(error, x=1, y=3)
    roles = [(s.edge, s.reason.role) for s in replayed.kept if s.reason is not None]
    assert dict(roles[:-1]) == case.matter
    assert roles[-1][1] is Role.CLAIM


def test_a_call_that_always_fails_is_as_good_as_an_error() -> None:
    case = Case()
    b = case.b
    b.skip("fail", "entry", "bad")
    error = b.error("fail", "bad")
    case.add(b.havoc(case.x), Role.VALUE)
    case.add(b.havoc(case.y))
    b.branch("main", case.here, build.eq(case.y, ONE), "fails", "goes on")
    b.edge("main", "fails", "exit", b.call("fail"))
    taken = b.edge("main", "goes on", "fails", Assume(build.eq(case.x, ONE)))
    b.edge("main", "goes on", "exit", Assume(build.ne(case.x, ONE)))
    replayed = case.replay(error, x=1, y=3)
    roles = case.roles(replayed)
    assert roles[taken.index] is Role.BRANCH
    assert {e: r for e, r in roles.items() if e in case.matter} == case.matter


def test_initial_values_matter_if_they_are_read() -> None:
    b = ProgramBuilder()
    g, h = b.var("g"), b.var("h")
    b.edge("main", "entry", "after", b.assign((h, 3)))
    error = b.check("main", "after", build.ne(g, TWO), "exit")
    replayed = replay(b.build(), Trace(error.name, {g: 2, h: 5}), budget=Budget())
    assert isinstance(replayed, Replay)
    assert replayed.initial == (g,)


def test_of_a_run_too_long_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "EXAMINED", 1)
    case = Case()
    case.add(case.b.havoc(case.x))
    replayed = case.replay(case.fail_if(build.eq(case.x, ONE)), x=1)
    assert (replayed.matter, replayed.initial) == (None, None)
    assert [s.reason.role for s in replayed.kept if s.reason is not None] == [Role.UNKNOWN, Role.UNKNOWN]


def test_loops_that_cannot_be_left() -> None:
    """Where no way leads to an end, dependence is still defined."""
    case = Case()
    b, x = case.b, case.x
    case.add(b.havoc(x), Role.VALUE)
    head = case.here
    b.branch("main", head, build.lt(ZERO, x), "round", "round")
    b.check("main", "round", build.ne(x, ONE), "again")
    b.edge("main", "again", head, b.assign((x, build.sub(x, ONE))))
    error = next(site.location for site in b.build().errors)
    replayed = case.replay(error, x=3)
    assert replayed.matter is not None
    assert replayed.matter >= 3
