"""The interpreter agrees with `core.values` on terms, and with a naive interpreter on programs."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import ProgramBuilder
from tests.laws.strategies import SORTS, VARIABLES, environments, terms

from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import Undefined
from certus.core.evidence import Trace
from certus.core.outcome import Replay
from certus.core.program import Assign, Assume, Call, Havoc, Program, Return
from certus.core.terms import BOOL, INT, Expr
from certus.core.values import Datum, default_value, evaluate
from certus.interpreter.compile import compile_program
from certus.interpreter.expressions import Writer, define, new_namespace
from certus.interpreter.inputs import TraceInputs
from certus.interpreter.interpreter import Ending, Machine, run

LAW = settings(derandomize=True, deadline=None, max_examples=80)


def compiled_value(roots: list[Expr], env: dict[Expr, Any]) -> list[Any]:
    """The values of terms by way of Python text; None for what is undefined."""
    names = {v: f"x[{i}]" for i, v in enumerate(VARIABLES)}
    made = new_namespace()
    out = Writer(names, made)
    out.lines.append("def f(x):")
    texts = out.terms(roots)
    out.line(f"return [{', '.join(t.text for t in texts)}]")
    define("\n".join(out.lines), "law", made)
    values: list[Any] = made["f"]([env[v] for v in VARIABLES])
    for text, value in zip(texts, values, strict=True):
        assert text.partial or value is not None
    return values


def reference(term: Expr, env: dict[Expr, Any]) -> Any:
    try:
        return evaluate(term, env)
    except Undefined:
        return None


@LAW
@given(st.sampled_from(SORTS).flatmap(lambda s: terms(s, functions=False)), environments())
def test_compiled_terms_have_the_value_evaluate_gives(term: Expr, env: dict[Expr, Any]) -> None:
    (value,) = compiled_value([term], env)
    expected = reference(term, env)
    assert value == expected
    assert type(value) is type(expected)


@settings(LAW, max_examples=40)
@given(st.lists(terms(BOOL, functions=False, depth=2), min_size=2, max_size=40), environments())
def test_wide_and_shared_terms(parts: list[Expr], env: dict[Expr, Any]) -> None:
    roots = [build.conjunction(parts), build.disjunction(parts), *parts]
    assert compiled_value(roots, env) == [reference(r, env) for r in roots]


@settings(LAW, max_examples=30)
@given(st.lists(terms(INT, functions=False, depth=1), min_size=20, max_size=40), environments())
def test_wide_sums(parts: list[Expr], env: dict[Expr, Any]) -> None:
    total = build.add(*parts)
    assert compiled_value([total], env) == [reference(total, env)]


# ------------------------------------------------------------------------------------- programs

KINDS = ("assign",) * 4 + ("branch",) * 3 + ("swap", "havoc", "check", "call") * 2 + ("end", "stop")
GLOBALS = tuple(build.var(name, INT) for name in "gh")


class Chance:
    """A random program of two procedures that may call each other, and a random trace for it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.builder = b = ProgramBuilder()
        for v in GLOBALS:
            b.var(v.name, INT, self.random.choice((None, 0, 3)))
        self.own = {
            "main": (*GLOBALS, b.local("main", "y")),
            "f": (*GLOBALS, b.local("f", "y"), b.parameter("f", "p")),
        }
        b.result("f", "r")
        for name in ("main", "f"):
            places = ["entry", *(f"n{i}" for i in range(self.random.randint(3, 12))), "exit"]
            for place, following in pairwise(places):
                self.edge(name, place, [following, following, self.random.choice(places)])
        self.program = b.build()

    def trace(self) -> Trace:
        inputs = {
            e.index: tuple((self.small(), self.small()) for _ in range(self.random.randrange(5)))
            for e in self.program.edge.values()
            if isinstance(e.op, Havoc)
        }
        initial = {v: self.small() for v in self.program.globals if v not in self.program.initial}
        return Trace("?", initial, inputs)

    def small(self) -> int:
        return self.random.randint(-3, 3)

    def number(self, name: str) -> Expr:
        a, b = self.random.choices(self.own[name], k=2)
        shape = self.random.randrange(12)
        if shape == 0:
            return build.quot(a, b)
        if shape == 1:
            return build.ite(
                build.lt(a, b), build.rem(a, build.integer(3)), build.rem(build.mul(a, b), build.integer(101))
            )
        if shape < 6:
            return build.integer(self.small())
        return build.add(a, build.integer(self.small())) if shape < 10 else build.sub(a, b)

    def edge(self, name: str, place: str, targets: list[str]) -> None:
        b, own = self.builder, self.own[name]
        target, other = self.random.choices(targets, k=2)
        kind = self.random.choice(KINDS)
        if kind == "assign":
            b.edge(name, place, target, b.assign((self.random.choice(own), self.number(name))))
        elif kind == "swap":
            b.edge(name, place, target, b.assign((own[0], self.number(name)), (own[2], self.number(name))))
        elif kind == "havoc":
            b.edge(name, place, target, b.havoc(own[2], own[0]))
        elif kind == "branch":
            b.branch(name, place, build.lt(self.random.choice(own), self.number(name)), target, other)
        elif kind == "check":
            b.check(name, place, build.ne(self.random.choice(own), self.number(name)), target)
        elif kind == "call":
            into = (self.random.choice(own),)
            b.edge(name, place, target, b.call("f", self.number(name), into=into))
        elif kind == "end":
            b.edge(name, place, "exit", b.returns(*(() if name == "main" else (self.number(name),))))


def naive_run(program: Program, trace: Trace, limit: int) -> tuple[str, str, int, dict[Expr, Datum]]:
    """How a run ends, by `evaluate` alone: the ending, the location, the steps, the globals."""
    shared = {
        v: evaluate(program.initial[v], {}) if v in program.initial else trace.initial.get(v, 0)
        for v in program.globals
    }
    frame: dict[Expr, Datum] = _fresh(program, "main")
    stack: list[tuple[dict[Expr, Datum], Any]] = []
    counts: dict[int, int] = {}
    at, steps = program.entry, 0
    while steps < limit:
        procedure = program.procedures[at.procedure]
        if at in program.error_locations:
            return "ERROR", at.name, steps, shared
        if at is procedure.exit:
            if not stack:
                return "EXIT", at.name, steps, shared
            results = [frame[r] for r in procedure.results]
            frame, edge = stack.pop()
            _write(shared, frame, edge.op.targets, results)
            at = edge.target
            continue
        try:
            enabled = [
                e
                for e in procedure.successors[at]
                if not isinstance(e.op, Assume) or evaluate(e.op.condition, {**shared, **frame})
            ]
            if not enabled:
                return "BLOCKED", at.name, steps, shared
            (edge,) = enabled
            env = {**shared, **frame}
            if isinstance(edge.op, Assign):
                _write(shared, frame, edge.op.targets, [evaluate(v, env) for v in edge.op.values])
            elif isinstance(edge.op, Return):
                _write(shared, frame, procedure.results, [evaluate(v, env) for v in edge.op.values])
            elif isinstance(edge.op, Call):
                callee = program.procedures[edge.op.procedure]
                arguments = [evaluate(a, env) for a in edge.op.arguments]
                stack.append((frame, edge))
                frame = {
                    **_fresh(program, callee.name),
                    **dict(zip(callee.parameters, arguments, strict=True)),
                }
                at, steps = callee.entry, steps + 1
                continue
        except Undefined:
            return "UNDEFINED", at.name, steps, shared
        if isinstance(edge.op, Havoc):
            count = counts[edge.index] = counts.get(edge.index, -1) + 1
            given_values = trace.inputs.get(edge.index, ())
            values = given_values[count] if count < len(given_values) else (0,) * len(edge.op.targets)
            _write(shared, frame, edge.op.targets, values)
        at, steps = edge.target, steps + 1
    return "LIMIT", at.name, steps, shared


def _fresh(program: Program, name: str) -> dict[Expr, Datum]:
    return {v: default_value(v.sort) for v in program.procedures[name].variables}


def _write(shared: dict[Expr, Datum], frame: dict[Expr, Datum], targets: Any, values: Any) -> None:
    for target, value in zip(targets, values, strict=True):
        (shared if target in shared else frame)[target] = value


@settings(LAW, max_examples=80)
@given(st.integers(0, 1 << 32))
def test_programs_run_as_they_are_defined(seed: int) -> None:
    chance = Chance(seed)
    program, trace = chance.program, chance.trace()
    ending, location, steps, shared = naive_run(program, trace, 200)
    compiled = compile_program(program)
    inputs = TraceInputs(program, trace)
    end = run(compiled, inputs, step_limit=200, budget=Budget())
    slow = Machine(compiled, inputs)
    slow_end = slow.advance(compiled.code(compiled.everywhere), limit=200, budget=Budget())
    if ending == "LIMIT":
        assert end.ending is Ending.LIMIT or end.steps >= 200
    else:
        assert (end.ending.name, end.location.name, end.steps) == (ending, location, steps)
        assert (slow_end.ending.name, slow_end.location.name, slow_end.steps) == (ending, location, steps)
    at = program.location[location]
    if at is not program.procedures[at.procedure].exit:  # where the machine may be one return ahead
        assert {v: slow.value(v) for v in program.globals} == shared
    if ending == "ERROR":
        for keep in (1, 5, 300):
            found = replay(program, Trace(location, trace.initial, trace.inputs), budget=Budget(), keep=keep)
            assert isinstance(found, Replay)
            numbers = [step.number for step in found.kept]
            ends = (*range(min(keep, steps)), *range(max(steps - keep, 0), steps))
            assert found.steps == steps
            assert numbers == sorted(frozenset(numbers))
            assert frozenset(ends) <= frozenset(numbers) <= frozenset(range(steps))
            values = {**_initially(program, trace)}
            if len(numbers) == steps:
                for step in found.kept:
                    values.update((v, x) for v, x in step.changes if v in shared)
                assert values == shared


def _initially(program: Program, trace: Trace) -> dict[Expr, Datum]:
    return {
        v: program.initial[v].value if v in program.initial else trace.initial.get(v, 0)
        for v in program.globals
    }
