"""B(P) over-approximates P: every execution of a random program is one of its abstraction. The engine
`boolean` decides every B(P), and its evidence is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws.lp_programs import programs
from tests.laws.test_verdicts import Guess

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.boolean import BooleanProgram, Guard, Invoke, Predicate, ScopedPredicates, Statement, Update
from certus.core.engine import NoOptions, Task
from certus.core.evidence import Unknown, Unsafe, old
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Edge, Program
from certus.core.terms import BOOL, INT, Expr
from certus.core.values import evaluate
from certus.engines.bmc import BoundedModelChecking, Options
from certus.engines.boolean import BooleanReachability
from certus.frontend.lp import ast
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.printer import print_lp
from certus.interpreter.compile import Compiled, compile_program
from certus.interpreter.interpreter import Ending, Machine, run
from certus.passes.boolean import abstract_program
from certus.passes.large_blocks import LargeBlocks
from certus.report.boolean_program import render_boolean
from certus.run.publish import examine

Valuation = dict[Expr, bool]
RUNS = 30


@st.composite
def predicates(draw: Any, program: Program, most: int = 2) -> ScopedPredicates:
    """A few comparisons of variables in scope, and Boolean variables themselves."""

    def some(scope: Sequence[Expr]) -> tuple[Predicate, ...]:
        found: dict[Expr, Predicate] = {}
        for _ in range(draw(st.integers(0, most))):
            x, y = draw(st.sampled_from(scope)), draw(st.sampled_from(scope))
            if x.sort is BOOL or y.sort is BOOL:
                term = x if x.sort is BOOL else y
            elif draw(st.booleans()):
                term = build.le(x, build.integer(draw(st.integers(-1, 2))))
            else:
                term = build.le(build.sub(x, y), build.integer(draw(st.integers(-1, 1))))
            if term not in (build.TRUE, build.FALSE):
                found[term] = Predicate(term, f"p{len(found)}")
        return tuple(found.values())

    shared = some(program.globals) if program.globals else ()
    own = {}
    for name, procedure in program.procedures.items():
        inputs = (*program.globals, *procedure.parameters)
        scope = [x for x in (*inputs, *procedure.variables, *map(old, inputs)) if x.sort in (INT, BOOL)]
        own[name] = some(scope) if scope else ()
    return ScopedPredicates(shared, own)


class Simulation:
    """Follows an execution in the abstraction: after each step the predicates' values must be possible."""

    def __init__(self, compiled: Compiled, abstraction: BooleanProgram) -> None:
        self.compiled = compiled
        self.abstraction = abstraction
        self.watched = frozenset(at for p in abstraction.program.procedures.values() for at in p.locations)
        self.olds: list[dict[Expr, Any]] = []
        self.now: list[Valuation] = []
        self.before: list[Valuation] = []  # of callers, when they called

    def values(self, machine: Machine) -> dict[Expr, Any]:
        program = self.abstraction.program
        name = machine.location.procedure
        globals_ = dict(zip(program.globals, machine.globals, strict=True))
        return {**globals_, **dict(zip(self.compiled.locals[name], machine.frame, strict=False))}

    def valuation(self, machine: Machine) -> Valuation:
        values = {**self.values(machine), **self.olds[-1]}
        known = {
            **self.abstraction.predicates,
            **self.abstraction.procedures[machine.location.procedure].predicates,
        }
        return {b: bool(evaluate(p.term, values)) for b, p in known.items()}

    def start(self, machine: Machine) -> None:
        self.olds, self.now, self.before = [], [], []
        self._begin(machine)
        for b, value in self.abstraction.shared.items():
            assert value.allows(self.now[-1][b], {})

    def _begin(self, machine: Machine) -> None:
        self.olds.append({old(x): value for x, value in self.values(machine).items()})
        self.now.append(self.valuation(machine))
        procedure = self.abstraction.procedures[machine.location.procedure]
        for b, value in procedure.declared.items():
            assert value.allows(self.now[-1][b], {})
        self._take(procedure.start, self.now[-1], self.now[-1])

    def enter(self, machine: Machine, edge: Edge) -> None:
        caller = self.abstraction.procedures[edge.source.procedure]
        (invoke, *_) = caller.steps[edge]
        assert isinstance(invoke, Invoke)
        self.before.append(self.now[-1])
        self._begin(machine)
        callee = self.abstraction.procedures[invoke.procedure]
        for b, value in zip(callee.parameters, invoke.arguments, strict=True):
            assert value.allows(self.now[-1][b], self.before[-1])

    def leave(self, machine: Machine, edge: Edge) -> None:
        caller = self.abstraction.procedures[edge.source.procedure]
        (invoke, *rest) = caller.steps[edge]
        assert isinstance(invoke, Invoke)
        ended = self.now.pop()
        self.olds.pop()
        self.now.pop()
        shared = {b: ended[b] for b in self.abstraction.predicates}
        callee = self.abstraction.procedures[invoke.procedure]
        received = {b: ended[r] for b, r in zip(invoke.targets, callee.results, strict=False)}
        between = {**self.before.pop(), **shared, **received}
        after = self.valuation(machine)
        self._take(rest, between, {**received, **after})
        self.now.append(after)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is None or edge.target.procedure != edge.source.procedure:
            return
        after = self.valuation(machine)
        steps = self.abstraction.procedures[edge.source.procedure].steps[edge]
        if not any(isinstance(step, Invoke) for step in steps):
            self._take(steps, self.now[-1], after)
            self.now[-1] = after

    def _take(self, steps: Sequence[Statement], before: Valuation, after: Valuation) -> None:
        """The statements lead from the one valuation to the other."""
        now = before
        for step in steps:
            if isinstance(step, Guard):
                assert step.condition.holds(now), step
            else:
                assert isinstance(step, Update)
                for b, value in zip(step.targets, step.values, strict=True):
                    assert value.allows(after[b], now), (b, value, now, after)
                now = {**now, **{b: after[b] for b in step.targets}}
        assert all(now[b] is after[b] for b in after), (steps, before, after)


CALLS = (
    """
    int g = 0, h = *;
    int add(int a, int b) { g = g + a; if (b > 1) { b = 1; } return a + b; }
    void main() { int x = *, y = 1; x = add(x, y); h = add(g, x); y = add(y - x, h); }
    """,
    """
    int g;
    int, bool split(int n) { int r, s = n; bool b = n > 0; if (b) { r, b = split(n - 1); g = g + 1; s = r; }
      return s, n == g; }
    void main() { int x = *; bool c = *; g = x; x, c = split(x); if (c) { g, c = split(x + 1); } }
    """,
    """
    int g = 1;
    void up(int n) { int k = g; if (n > 0) { down(n - 1); g = k + 1; } else { g = n; } }
    void down(int n) { g = g - n; if (n > 0) { up(n - 1); } }
    void main() { int x = *; up(x); assert(g <= x + 1); }
    """,
)


def follow(program: Program, given_: ScopedPredicates) -> None:
    """All executions are executions of the abstraction, and an error remains one."""
    made = abstract_program(program, given_, budget=Budget(60), statistics=Statistics())
    compiled = compile_program(program)
    guess = Guess()
    fails = False
    for _ in range(RUNS):
        end = run(compiled, guess, budget=Budget(60), observer=Simulation(compiled, made))
        fails = fails or end.ending is Ending.ERROR
        if not guess.advance():
            break
    text = render_boolean(made)
    loaded = load_lp(text, "boolean.lp").program
    task, back = LargeBlocks("large").apply(Task(loaded))
    verdict = BoundedModelChecking().run(task, Options(bound=12), Budget(60), Statistics())
    if fails:
        assert isinstance(verdict, Unsafe), text
    decided = back.verdict(BooleanReachability().run(task, NoOptions(), Budget(60), Statistics()))
    assert isinstance(verdict, Unknown | type(decided)), text
    checked = examine(loaded, decided, budget=Budget(60), statistics=Statistics())
    assert isinstance(checked, ProofCheck | Replay), (text, checked)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=18)
def test_every_execution_is_one_of_the_abstraction(data: st.DataObject) -> None:
    tree: ast.ProgramText = data.draw(programs())
    program = load_lp(print_lp(tree), "random.lp").program
    given_ = data.draw(predicates(program))
    assume(given_.shared or any(given_.own.values()))
    follow(program, given_)


@pytest.mark.parametrize("text", CALLS)
@given(data=st.data())
@settings(derandomize=True, deadline=None, max_examples=10)
def test_calls_pass_what_is_known_and_return_it(text: str, data: st.DataObject) -> None:
    program = load_lp(text, "calls.lp").program
    follow(program, data.draw(predicates(program, most=4)))
