"""Small control-flow automata for tests, and what they do, by brute force.

An automaton is written as a list of `(source, op, target)` over numbered locations. States are
tuples of (variable, value) pairs; a `Havoc` takes every value of a given small domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from certus.core import build
from certus.core.program import (
    Assign,
    Assume,
    Block,
    Call,
    Choice,
    Edge,
    ErrorSite,
    Havoc,
    Location,
    Op,
    Procedure,
    Program,
    Return,
    Seq,
)
from certus.core.terms import INT, Expr
from certus.core.values import evaluate

State = tuple[int, ...]
Step = tuple[int, Op, int]

X, Y, Z, W = VARIABLES = tuple(build.var(name, INT) for name in "xyzw")


def number(value: int) -> Expr:
    return build.integer(value)


def assign(target: Expr, value: Expr) -> Assign:
    return Assign((target,), (value,))


def automaton(
    steps: Iterable[Step], *, exit_at: int, errors: Sequence[int] = (), entry: int = 0, name: str = "main"
) -> Program:
    """The program of one procedure with these steps, and an opaque procedure `f` to call."""
    steps = list(steps)
    numbers = sorted({entry, exit_at, *errors, *(n for s, _, t in steps for n in (s, t))})
    at = {n: Location(n, name) for n in numbers}
    edges = tuple(Edge(i, at[s], op, at[t]) for i, (s, op, t) in enumerate(steps))
    main = Procedure(name, (), (), (), at[entry], at[exit_at], edges)
    first, last = Location(100_000, "f"), Location(100_001, "f")
    callee = Procedure("f", (), (), (), first, last, (Edge(100_000, first, Return(()), last),))
    sites = tuple(ErrorSite(at[n], "assertion", None, "") for n in errors)
    return Program({name: main, "f": callee}, name, VARIABLES, sites)


def execute(op: Op, state: State, domain: Sequence[int]) -> list[State]:
    """The states after one basic op. A call sets x to 1; a return changes nothing."""
    env = dict(zip(VARIABLES, state, strict=True))
    if isinstance(op, Assume):
        return [state] if evaluate(op.condition, env) else []
    if isinstance(op, Assign):
        values = [evaluate(value, env) for value in op.values]
        return [_written(env, op.targets, values)]
    if isinstance(op, Havoc):
        return [_written(env, op.targets, values) for values in product(domain, repeat=len(op.targets))]
    if isinstance(op, Call):
        return [_written(env, (X,), (1,))]
    assert isinstance(op, Return)
    return [state]


def _written(env: dict[Expr, int], targets: Sequence[Expr], values: Sequence[object]) -> State:
    return tuple((env | dict(zip(targets, values, strict=True))).values())


def paths(block: Block | Op) -> list[tuple[Edge, ...]]:
    """Every way through a block, as the original edges it takes."""
    if isinstance(block, Seq):
        return [a + b for a in paths(block.first) for b in paths(block.second)]
    if isinstance(block, Choice):
        return [p for alternative in block.alternatives for p in paths(alternative)]
    assert isinstance(block, Edge)
    return paths(block.op) if isinstance(block.op, (Seq, Choice)) else [(block,)]


def after(edge: Edge, state: State, domain: Sequence[int] = ()) -> set[State]:
    """The states after an edge, with a block or not."""
    found = set()
    for path in paths(edge):
        states = {state}
        for step in path:
            states = {new for old in states for new in execute(step.op, old, domain)}
        found |= states
    return found


def reachable(procedure: Procedure, starts: Iterable[State], domain: Sequence[int]) -> set[tuple[int, State]]:
    """Every (location, state) an execution of the procedure visits."""
    found = {(procedure.entry.index, state) for state in starts}
    todo = [(procedure.entry, state) for _, state in found]
    while todo:
        location, state = todo.pop()
        for edge in procedure.successors.get(location, ()):
            for new in after(edge, state, domain):
                if (edge.target.index, new) not in found:
                    found.add((edge.target.index, new))
                    todo.append((edge.target, new))
    return found


def numbers(procedure: Procedure) -> list[int]:
    return [at.index for at in procedure.locations]
