"""The interpreter agrees with `core.evaluate` on terms, and with a naive interpreter on programs."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import ProgramBuilder
from tests.laws.strategies import SORTS, VARIABLES, environments, terms

from certus.core import build
from certus.core.budget import Budget
from certus.core.errors import Undefined
from certus.core.evaluate import evaluate
from certus.core.evidence import Trace
from certus.core.outcome import Replay
from certus.core.program import Assign, Assume, Call, Havoc, Program, Return
from certus.core.sorts import BOOL, INT
from certus.core.terms import Expr
from certus.core.values import Datum, default_value
from certus.validate.compile import compile_program
from certus.validate.expressions import Writer, define, pool
from certus.validate.inputs import TraceInputs
from certus.validate.interpreter import Ending, run
from certus.validate.replay import replay

LAW = settings(derandomize=True, deadline=None, max_examples=120)


def compiled_value(roots: list[Expr], env: dict[Expr, Any]) -> list[Any]:
    """The values of terms by way of Python text; None for what is undefined."""
    names = {v: f"x[{i}]" for i, v in enumerate(VARIABLES)}
    made = pool()
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


@LAW
@given(st.lists(terms(BOOL, functions=False, depth=2), min_size=2, max_size=40), environments())
def test_wide_and_shared_terms(parts: list[Expr], env: dict[Expr, Any]) -> None:
    roots = [build.conjunction(parts), build.disjunction(parts), *parts]
    assert compiled_value(roots, env) == [reference(r, env) for r in roots]


@LAW
@given(st.lists(terms(INT, functions=False, depth=2), min_size=20, max_size=40), environments())
def test_wide_sums(parts: list[Expr], env: dict[Expr, Any]) -> None:
    total = build.add(*parts)
    assert compiled_value([total], env) == [reference(total, env)]


# ------------------------------------------------------------------------------------- programs

GLOBALS = tuple(build.var(name, INT) for name in "gh")


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Two procedures that may call each other, over a few locations with random edges."""
    b = ProgramBuilder()
    for v in GLOBALS:
        b.var(v.name, INT, draw(st.sampled_from((None, 0, 3))))
    for name in ("main", "f"):
        b.local(name, "y")
    b.parameter("f", "p")
    b.result("f", "r")
    for name in ("main", "f"):
        places = ["entry", *(f"n{i}" for i in range(draw(st.integers(1, 5))))]
        for place in places:
            target = st.sampled_from((*places, "exit"))
            _random_edge(draw, b, name, place, target)
    return b.build()


def _random_edge(
    draw: st.DrawFn, b: ProgramBuilder, name: str, place: str, target: st.SearchStrategy[str]
) -> None:
    y = build.var(f"{name}.y", INT)
    own = (*GLOBALS, y) if name == "main" else (*GLOBALS, y, build.var("f.p", INT))
    number = terms(INT, variables=own, depth=2, functions=False)
    kind = draw(
        st.sampled_from(("assign", "swap", "havoc", "branch", "branch", "check", "call", "end", "stop"))
    )
    if kind == "assign":
        b.edge(name, place, draw(target), b.assign((draw(st.sampled_from(own)), draw(number))))
    elif kind == "swap":
        b.edge(name, place, draw(target), b.assign((own[0], draw(number)), (y, draw(number))))
    elif kind == "havoc":
        b.edge(name, place, draw(target), b.havoc(y, own[0]))
    elif kind == "branch":
        condition = build.lt(draw(number), draw(number))
        b.branch(name, place, condition, draw(target), draw(target))
    elif kind == "check":
        condition = terms(BOOL, variables=own, depth=2, functions=False)
        b.check(name, place, draw(condition), draw(target))
    elif kind == "call":
        b.edge(name, place, draw(target), b.call("f", draw(number), into=(draw(st.sampled_from(own)),)))
    elif kind == "end":
        values = () if name == "main" else (draw(number),)
        b.edge(name, place, "exit", b.returns(*values))


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


@st.composite
def runs(draw: st.DrawFn) -> tuple[Program, Trace]:
    program = draw(programs())
    small = st.integers(-3, 3)
    inputs = {
        e.index: tuple(draw(st.lists(st.tuples(small, small), max_size=4)))
        for e in program.edge.values()
        if isinstance(e.op, Havoc)
    }
    initial = {v: draw(small) for v in program.globals if v not in program.initial}
    return program, Trace("?", initial, inputs)


@LAW
@given(runs())
def test_programs_run_as_they_are_defined(case: tuple[Program, Trace]) -> None:
    program, trace = case
    ending, location, steps, shared = naive_run(program, trace, 200)
    compiled = compile_program(program)
    end = run(compiled, TraceInputs(program, trace), step_limit=200, budget=Budget())
    if ending == "LIMIT":
        assert end.ending is Ending.LIMIT or end.steps >= 200
        return
    assert (end.ending.name, end.location.name, end.steps) == (ending, location, steps)
    if ending == "ERROR":
        for keep in (1, 5, 300):
            found = replay(program, Trace(location, trace.initial, trace.inputs), budget=Budget(), keep=keep)
            assert isinstance(found, Replay)
            assert found.steps == steps == len(found.head) + found.omitted + len(found.tail)
            assert len(found.head) == min(keep, steps)
            assert len(found.tail) == min(keep, steps - len(found.head))
            values = {**_initially(program, trace)}
            if not found.omitted:
                for step in found.head + found.tail:
                    values.update((v, x) for v, x in step.changes if v in shared)
                assert values == shared


def _initially(program: Program, trace: Trace) -> dict[Expr, Datum]:
    return {
        v: program.initial[v].value if v in program.initial else trace.initial.get(v, 0)
        for v in program.globals
    }
