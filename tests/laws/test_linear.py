"""Laws of the engine `linear`: sets of isl are the sets meant, and the search agrees with brute force."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.lp_programs import programs
from tests.laws.strategies import I3, U3, environments, terms
from tests.laws.test_verdicts import fails

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.errors import Undefined, Unsupported
from certus.core.evidence import Safe, Unsafe
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Call, Program
from certus.core.terms import BOOL, INT, Expr
from certus.core.values import evaluate
from certus.engines.linear import LinearReachability, Options
from certus.engines.linear.acceleration import Acceleration
from certus.engines.linear.edges import PathEdge
from certus.engines.linear.tabulation import Tabulation
from certus.engines.linear.transitions import Transitions
from certus.frontend.lp import ast
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.printer import print_lp
from certus.passes.large_blocks import LargeBlocks
from certus.run.publish import examine
from certus.solvers.isl.presburger import TooHard
from certus.solvers.isl.relations import Relations

COLUMNS = (*(build.var(n, INT) for n in "xy"), build.var("b", BOOL), build.var("i", I3), build.var("u", U3))


def number(value: object) -> int:
    assert isinstance(value, int)
    return int(value)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    formula=terms(BOOL, variables=COLUMNS, depth=4, functions=False),
    points=st.lists(environments(COLUMNS), min_size=3, max_size=3),
)
def test_solutions_are_the_values_that_satisfy_a_formula(
    formula: Expr, points: list[Mapping[Expr, object]]
) -> None:
    made = Relations(Statistics(), Budget(60)).of([formula], COLUMNS[:3], COLUMNS[3:])
    back = made.formula(COLUMNS[:3], COLUMNS[3:])
    for point in points:
        given_values = [number(point[x]) for x in COLUMNS]
        at = made.fixing(dict(enumerate(given_values[:3])), dict(enumerate(given_values[3:])))
        try:
            satisfied = evaluate(formula, point)
        except Undefined:
            continue
        if satisfied:
            assert not at.is_empty()
            assert evaluate(back, point)
        elif made.exact:
            assert at.is_empty()
            assert not evaluate(back, point)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(tree=programs())
def test_linear_agrees_with_brute_force(tree: ast.ProgramText) -> None:
    program = load_lp(print_lp(tree), "random.lp").program
    task, back = LargeBlocks("large").apply(Task(program))
    options = Options(steps=400)
    verdict = back.verdict(LinearReachability().run(task, options, Budget(60), Statistics()))
    if isinstance(verdict, Safe | Unsafe):
        assert isinstance(verdict, Unsafe if fails(program) else Safe)
        check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
        assert isinstance(check, Replay if isinstance(verdict, Unsafe) else ProofCheck), check


def newest(worklist: deque[PathEdge]) -> PathEdge:
    return worklist.pop()


def middle(worklist: deque[PathEdge]) -> PathEdge:
    worklist.rotate(len(worklist) // 2)
    return worklist.popleft()


@settings(max_examples=12, deadline=None, derandomize=True)
@given(tree=programs(), accelerate=st.booleans())
def test_any_order_of_the_worklist_gives_the_same_sets(tree: ast.ProgramText, accelerate: bool) -> None:
    program = LargeBlocks("large").apply(Task(load_lp(print_lp(tree), "random.lp").program))[0].subject
    transitions = Transitions(program, Relations(Statistics(), Budget(60)))  # type: ignore[arg-type]
    found: list[Tabulation] = []
    try:
        for pick in (deque.popleft, newest, middle):
            acceleration = Acceleration(transitions)
            if accelerate:
                acceleration.learn()
            search = Tabulation(transitions, acceleration, pick=pick)
            steps = 0
            while search.worklist and steps < 150:
                search.step(search.pick(search.worklist))
                steps += 1
            if search.worklist:
                return
            found.append(search)
    except (TooHard, Unsupported):
        return
    first, *others = found
    for other in others:
        assert set(first.paths) == set(other.paths)
        for vertex, store in first.paths.items():
            here, there = store.whole(), other.paths[vertex].whole()
            assert here.entails(there), vertex
            assert there.entails(here), vertex


@pytest.mark.parametrize("pick", [newest, middle])
def test_orders_differ(pick: object) -> None:
    worklist = deque([1, 2, 3, 4])
    assert pick(worklist) != 1  # type: ignore[operator]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(tree=programs())
def test_a_block_along_its_control_flow_is_the_union_of_its_paths(tree: ast.ProgramText) -> None:
    task, _ = LargeBlocks("large").apply(Task(load_lp(print_lp(tree), "random.lp").program))
    assert isinstance(task.subject, Program)
    transitions = Transitions(task.subject, Relations(Statistics(), Budget(60)))
    for procedure in task.subject.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Call) or edge.target in task.subject.error_locations:
                continue
            paths = transitions.paths(edge)
            if paths is None or len(paths) > 20:
                continue
            try:
                listed, along = transitions._union(edge, paths, ()), transitions._along(edge, ())
            except (TooHard, Unsupported):
                continue
            assert listed.entails(along)
            if listed.exact and along.exact:
                assert along.entails(listed)
