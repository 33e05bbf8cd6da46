"""Inductive proofs by brute force: the reachable states of a program whose inputs have a small domain.

A point's formula lists the states in which executions come to it; recursive procedures get the pairs
of states at their entry and exit as summary, others are entered along call strings."""

from __future__ import annotations

from typing import Any

from tests.laws.test_verdicts import Guess

from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Inductive, Point, in_frame, old
from certus.core.loops import loop_forest, recursive
from certus.core.program import Edge, Program
from certus.core.terms import Expr
from certus.interpreter.compile import Compiled, compile_program
from certus.interpreter.interpreter import Ending, Machine, run

State = tuple[tuple[Expr, Any], ...]


class Unset:
    """The value of an unassigned local."""


class GuessAndUnset(Guess):
    def local(self, variable: Expr) -> Any:
        return Unset()


class States:
    """An observer that records the states at loop heads, and at entries and exits of recursive procedures."""

    def __init__(self, compiled: Compiled) -> None:
        program = self.program = compiled.program
        self.locals = compiled.locals
        self.recursive = {name for group in recursive(program) for name in group}
        heads = [at for p in program.procedures.values() for at in loop_forest(p).heads]
        ends = [at for n in self.recursive for p in [program.procedures[n]] for at in (p.entry, p.exit)]
        self.watched = frozenset((*heads, *ends))
        self.found: dict[Point, dict[State, None]] = {}
        self.stack: list[tuple[int, tuple[int, ...], State]] = []  # depth of the root, calls, old values

    def start(self, machine: Machine) -> None:
        self.stack = [self.root(machine)]

    def enter(self, machine: Machine, edge: Edge) -> None:
        depth, calls, before = self.stack[-1]
        if machine.location.procedure in self.recursive:
            self.stack.append(self.root(machine))
        else:
            self.stack.append((depth, (*calls, edge.index), before))

    def leave(self, machine: Machine, edge: Edge) -> None:
        self.stack.pop()

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        depth, calls, before = self.stack[-1]
        state = [*before, *known(self.program.globals, machine.globals)]
        owners = [*(self.program.edge[c].source.procedure for c in calls), machine.location.procedure]
        frames = [*machine.frames[depth:], machine.frame]
        for n, (owner, frame) in enumerate(zip(owners, frames, strict=True)):
            state += known([in_frame(x, n) for x in self.locals[owner]], frame)
        self.found.setdefault(Point(machine.location, calls), {})[tuple(state)] = None

    def root(self, machine: Machine) -> tuple[int, tuple[int, ...], State]:
        parameters = self.program.procedures[machine.location.procedure].parameters
        before = known(map(old, self.program.globals), machine.globals)
        return machine.depth, (), (*before, *known(map(old, parameters), machine.frame))


def known(variables: Any, values: Any) -> State:
    return tuple((x, v) for x, v in zip(variables, values, strict=False) if not isinstance(v, Unset))


def reachable_proof(program: Program, limit: int = 80) -> Inductive | None:
    """The proof that a program without failing execution is safe; None if there are too many states."""
    compiled, guess = compile_program(program), GuessAndUnset()
    states = States(compiled)
    while True:
        end = run(compiled, guess, step_limit=100_000, budget=Budget(60), observer=states)
        assert end.ending is not Ending.ERROR
        if not guess.advance():
            break
    if any(len(found) > limit for found in states.found.values()):
        return None
    points, summaries = dict(states.found), {}
    for name in sorted(states.recursive):
        procedure = program.procedures[name]
        wanted = {*map(old, program.globals), *map(old, procedure.parameters)}
        wanted |= {*program.globals, *procedure.results}
        ends = points.pop(Point(procedure.exit), {})
        summaries[name] = listed({tuple((x, v) for x, v in s if x in wanted): None for s in ends})
        points.setdefault(Point(procedure.entry), {})
    mentioned = {Point(at): {} for at in loop_forest(program.procedures[program.main]).heads}
    return Inductive({p: listed(found) for p, found in (mentioned | points).items()}, summaries)


def listed(states: dict[State, None]) -> Expr:
    return build.disjunction(
        build.conjunction(build.eq(x, build.constant(v, x.sort)) for x, v in state) for state in states
    )
