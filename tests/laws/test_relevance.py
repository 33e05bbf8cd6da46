"""Irrelevant steps of a counterexample are irrelevant: with any other values of their inputs the run still
ends in an error. Every relevant step contributes to a later one."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import ProgramBuilder

from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.outcome import Replay, Role
from certus.core.program import Assume, Havoc, Program
from certus.core.terms import Expr, machine
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import TraceInputs
from certus.interpreter.interpreter import Ending, run

I32 = machine(32, signed=True)


class Writer:
    """A program with inputs, branches, short loops, a procedure that may stop the execution, and two arrays.
    Every input is taken at most once, so that it is the same input in another run. Where a program writes in
    memory does not depend on inputs."""

    def __init__(self, seed: int) -> None:
        self.random, self.b, self.places = Random(seed), ProgramBuilder(), 0
        b = self.b
        self.variables = [b.var("g0", I32, 0), b.var("g1", I32), *(b.local("main", n, I32) for n in "xyz")]
        self.shared, self.arrays = self.variables[:2], [b.local("main", name) for name in ("&a", "&b")]
        self.pointer = b.local("main", "pointer")
        self.counters = [b.local("main", f"i{n}", I32) for n in range(3)]
        self.parameter = b.parameter("f", "p", I32)
        b.result("f", "r", I32)
        self.procedure = "f"
        self.body("entry", "done", 2)
        b.edge("f", "done", "exit", b.returns(self.value()))
        self.procedure = "main"
        b.edge("main", "entry", "a made", b.alloc(self.arrays[0], 8, zero=True))
        b.edge("main", "a made", "b made", b.alloc(self.arrays[1], 8, zero=True))
        b.edge("main", "b made", "begun", b.assign((self.pointer, self.random.choice(self.arrays))))
        here = "begun"
        for x in self.variables[2:]:
            here = self.add(here, b.havoc(x))
        for _ in range(3):
            after = self.place()
            self.body(here, after, 3)
            here = self.place()
            b.check("main", after, self.condition(), here)
        b.skip("main", here, "exit")
        self.program: Program = b.build()

    def place(self) -> str:
        self.places += 1
        return f"{self.places}"

    def add(self, here: str, op: object) -> str:
        there = self.place()
        self.b.edge(self.procedure, here, there, op)  # type: ignore[arg-type]
        return there

    def body(self, here: str, after: str, depth: int, *, looping: int = 0) -> None:
        for _ in range(self.random.randint(0 if depth < 3 else 2, 3)):
            here = self.statement(here, depth, looping)
        self.b.skip(self.procedure, here, after)

    def statement(self, here: str, depth: int, looping: int) -> str:
        b, chosen, main = self.b, self.random.randrange(15), self.procedure == "main"
        known = self.known()
        target = self.random.choice([x for x in known if x is not self.parameter])
        if chosen < 3 and depth:
            return self.choice(here, depth, looping)
        if chosen == 3 and depth and main:
            return self.loop(here, depth, looping)
        if chosen in (4, 5) and main:
            return self.add(here, b.call("f", self.value(), into=(target,)))
        if chosen == 6 and main and not looping:
            return self.add(here, b.havoc(target))
        if chosen == 7 and self.random.random() < 0.5:
            return self.add(here, Assume(self.condition()))
        if chosen in (8, 9, 10, 11) and main:
            base = self.random.choice((*self.arrays, self.pointer))
            if chosen >= 10:
                return self.add(here, b.store(base, self.random.choice((0, 4)), self.value()))
            offset = build.mul(build.integer(4), build.to_int(build.bit_and(self.value(), constant(1))))
            return self.add(here, b.load(target, base, offset))
        return self.add(here, b.assign((target, build.add(self.value(), self.value()))))

    def choice(self, here: str, depth: int, looping: int) -> str:
        one, other, after = self.place(), self.place(), self.place()
        self.b.branch(self.procedure, here, self.condition(), one, other)
        self.body(one, after, depth - 1, looping=looping)
        self.body(other, after, depth - 1, looping=looping)
        return after

    def loop(self, here: str, depth: int, looping: int) -> str:
        counter = self.counters[looping]
        head = self.add(here, self.b.assign((counter, 0)))
        body, step, after = self.place(), self.place(), self.place()
        goes_on = build.lt(counter, constant(self.random.randint(1, 3)))
        self.b.branch("main", head, goes_on, body, after)
        self.body(body, step, depth - 1, looping=looping + 1)
        self.b.edge("main", step, head, self.b.assign((counter, build.add(counter, constant(1)))))
        return after

    def known(self) -> list[Expr]:
        return self.variables if self.procedure == "main" else [*self.shared, self.parameter]

    def value(self) -> Expr:
        return self.random.choice((*self.known(), constant(self.random.randint(-2, 3))))

    def condition(self) -> Expr:
        compare = self.random.choice((build.le, build.lt, build.eq, build.ne))
        return compare(self.random.choice(self.known()), self.value())


def constant(value: int) -> Expr:
    return build.constant(value, I32)


def traces(program: Program, random: Random) -> list[Trace]:
    """Return traces to errors from random runs."""
    compiled, found = compile_program(program), []
    for _ in range(30):
        trace = chosen(program, random, {}, {})
        end = run(compiled, TraceInputs(program, trace), budget=Budget())
        if end.ending is Ending.ERROR:
            found.append(Trace(end.location.name, trace.initial, trace.inputs))
    return found[:3]


def chosen(program: Program, random: Random, initial: dict[Expr, int], inputs: dict[int, int]) -> Trace:
    """Return a random trace with some given values."""
    free = [x for x in program.globals if x not in program.initial]
    edges = [e.index for e in program.edge.values() if isinstance(e.op, Havoc)]
    return Trace(
        "",
        {x: initial.get(x, random.randint(-4, 4)) for x in free},
        {n: ((inputs.get(n, random.randint(-4, 4)),),) for n in edges},
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 99))
def test_what_does_not_matter_may_be_anything(seed: int) -> None:
    random = Random(seed)
    program = Writer(seed).program
    compiled = compile_program(program)
    for trace in traces(program, random):
        found = replay(program, trace, budget=Budget(), keep=10_000)
        assert isinstance(found, Replay)
        assert found.initial is not None
        initial = {x: int(trace.initial[x]) for x in found.initial if x in trace.initial}
        needed = [s.edge for s in found.kept if s.reason and isinstance(program.edge[s.edge].op, Havoc)]
        inputs = {edge: int(trace.inputs[edge][0][0]) for edge in needed}
        for _ in range(15):
            other = chosen(program, random, initial, inputs)
            end = run(compiled, TraceInputs(program, other), budget=Budget())
            assert end.ending is Ending.ERROR, (program, trace, other)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.integers(0, 99))
def test_every_step_that_matters_does_something_for_a_later_one(seed: int) -> None:
    program = Writer(seed).program
    for trace in traces(program, Random(seed)):
        found = replay(program, trace, budget=Budget(), keep=10_000)
        assert isinstance(found, Replay)
        assert [step.number for step in found.kept] == list(range(found.steps))
        assert found.matter == sum(step.reason is not None for step in found.kept)
        for step in found.kept:
            reason = step.reason
            if reason is None:
                continue
            user = found.kept[reason.by]
            assert (user.edge, user.reason is not None) == (reason.at, True)
            last = step.number == found.steps - 1
            assert (reason.role is Role.CLAIM, reason.by == step.number) == (last, last)
            assert reason.by >= step.number
