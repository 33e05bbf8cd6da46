"""Compute bounds of counting loops: how often the head of `for (i = c1; i < c3; i += c2)` is entered.

A loop is a counting loop if control enters it at its head only, with a constant c1 in a variable i; every
path from the head back to it passes the loop's only write to i, `i = i + c2`, exactly once; and one branch,
on every such path before or after the write, leaves the loop as soon as a comparison of i with a constant is
false. Then arithmetic gives the number of entries, including wrapping of machine integers. (If slicing has
removed all code after the loop, the branch ends the execution instead.) The loop may have other exits
(`break`, `assume`): the number is *exact* only without them. An assertion is not an exit, because an
execution that fails it ends there.

The pass adds these numbers to the task, for engines that unroll. It does not change the program, and no
evidence depends on the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from certus.core import build
from certus.core.effects import single_statements, written
from certus.core.engine import BackMap, Task
from certus.core.loops import Loop, LoopBound, components, loop_forest, may_stop
from certus.core.program import Assign, Assume, Call, Edge, Location, Procedure, Program
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort
from certus.core.values import evaluate
from certus.core.walk import rebuild, variables
from certus.passes.constants import ConstantStates, propagate

FURTHEST: Final = 1 << 200  # iterations after which a condition is considered to hold forever


@dataclass(frozen=True, slots=True)
class Bounds:
    """The pass that adds loop bounds to a task."""

    @property
    def name(self) -> str:
        return "bounds"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        return replace(task, bounds=loop_bounds(program)), BackMap.identity()


def loop_bounds(program: Program) -> dict[str, LoopBound]:
    """Return the bounds of all counting loops by the name of the head."""
    loops = [(p, loop) for p in program.procedures.values() for loop in loop_forest(p).loops]
    states = propagate(program) if loops else None
    bounds: dict[str, LoopBound] = {}
    if states is None:
        return bounds
    for procedure, loop in loops:
        bound = _bound(procedure, loop, states)
        if bound is not None:
            bounds[loop.head.name] = bound
    return bounds


def _bound(procedure: Procedure, loop: Loop, states: ConstantStates) -> LoopBound | None:
    if len(loop.entries) > 1:
        return None
    inside = [e for at in procedure.locations if at in loop.body for e in procedure.successors[at]]
    unavoidable = _on_every_iteration(procedure, loop)
    exits = [e for e in inside if e.target not in loop.body]
    best: LoopBound | None = None
    for branch in sorted(unavoidable, key=unavoidable.__getitem__):
        if all(e.target in loop.body for e in procedure.successors[branch]) and not may_stop(
            procedure, branch
        ):
            continue
        entries = _count(procedure, loop, branch, inside, unavoidable, states)
        if entries is not None and (best is None or entries < best.entries):
            exact, fails = _other_exits(states.program, procedure, branch, exits)
            best = LoopBound(entries, exact and not _may_end(procedure, loop, branch, inside), fails)
    return best


def _other_exits(
    program: Program, procedure: Procedure, branch: Location, exits: list[Edge]
) -> tuple[bool, bool]:
    """Tell whether all exits other than the branch fail, and whether some do."""
    failing = [_fails(program, procedure, e.target) for e in exits if e.source is not branch]
    return all(failing), any(failing)


def _fails(program: Program, procedure: Procedure, at: Location) -> bool:
    """Tell whether control goes from a location to an error without branching."""
    for _ in procedure.locations:
        edges = procedure.successors[at]
        if len(edges) != 1:
            break
        at = edges[0].target
    return at in program.error_locations


def _may_end(procedure: Procedure, loop: Loop, branch: Location, inside: list[Edge]) -> bool:
    """Tell whether an execution may end inside a loop or its callees, other than by an error of the loop or
    at the branch."""
    if any(isinstance(e.op, Call) for e in inside):
        return True
    return any(may_stop(procedure, e.source) for e in inside if e.source is not branch)


def _on_every_iteration(procedure: Procedure, loop: Loop) -> dict[Location, int]:
    """Return the locations on every path from the head back to it, visited exactly once, with their order."""

    def targets(at: Location) -> Iterator[Location]:
        edges = procedure.successors[at]
        return (e.target for e in edges if e.target in loop.body and e.target is not loop.head)

    groups = components([loop.head, *_others(loop)], targets)
    groups.reverse()  # sources first
    position = {at: n for n, group in enumerate(groups) for at in group}
    unavoidable: dict[Location, int] = {}
    reach = 0  # the furthest group that an edge from an earlier group leads to
    for n, group in enumerate(groups):
        cyclic = len(group) > 1 or group[0] in targets(group[0])
        if not cyclic and reach <= n:
            unavoidable[group[0]] = n
        for at in group:
            for edge in procedure.successors[at]:
                if edge.target is loop.head:
                    reach = len(groups)
                elif edge.target in loop.body:
                    reach = max(reach, position[edge.target])
    return unavoidable


def _others(loop: Loop) -> list[Location]:
    return sorted(loop.body - {loop.head}, key=lambda at: at.index)


def _count(
    procedure: Procedure,
    loop: Loop,
    branch: Location,
    inside: list[Edge],
    unavoidable: dict[Location, int],
    states: ConstantStates,
) -> int | None:
    """Return the entries of the head until `branch` leaves the loop; None if it does not count."""
    continuing = [e for e in procedure.successors[branch] if e.target in loop.body]
    if len(continuing) != 1 or not isinstance(continuing[0].op, Assume):
        return None
    state = states.at(branch) or {}
    (condition,) = states.folded(continuing[0].op, state)
    if len(variables(condition)) != 1:
        return None
    (counter,) = variables(condition)
    start = _start(procedure, loop, counter, states)
    increment = _increment(procedure, counter, inside, unavoidable, states)
    if start is None or increment is None:
        return None
    writer, step = increment
    stepped = unavoidable[writer.source] < unavoidable[branch]
    return _iterations(counter, start + (step if stepped else 0), step, condition)


def _increment(
    procedure: Procedure,
    counter: Expr,
    inside: list[Edge],
    unavoidable: dict[Location, int],
    states: ConstantStates,
) -> tuple[Edge, int] | None:
    """Return the loop's only write to a counter and the constant that it adds in every iteration."""
    writers = [e for e in inside if counter in written(e.op, procedure)]
    calls = (e.op.procedure for e in inside if isinstance(e.op, Call))
    if any(counter in states.writes[name] for name in calls) or len(writers) != 1:
        return None
    (writer,) = writers
    if writer.source not in unavoidable or not isinstance(writer.op, Assign):
        return None
    step = _step(writer.op, counter)
    return None if step is None else (writer, step)


def _start(procedure: Procedure, loop: Loop, counter: Expr, states: ConstantStates) -> int | None:
    """Return the counter's value on every entry of the loop from outside; None if it is not constant."""
    values: dict[Expr | None, None] = {}
    for edge in procedure.predecessors[loop.head]:
        if edge.source not in loop.body:
            state = states.at(edge.source)
            after = None if state is None else states.after(edge, state)
            if after is not None:
                values[states.constant(counter, after)] = None
    if loop.head is procedure.entry or len(values) != 1:
        return None
    (value,) = values
    return None if value is None else int(value.value)


def _step(op: Assign, counter: Expr) -> int | None:
    """Return the constant that an assignment adds to the counter."""
    (value,) = (v for t, v in zip(op.targets, op.values, strict=True) if t is counter)
    moves = _moves(value, counter)
    return None if moves is None else sum(move for move, _ in moves)


def _moves(term: Expr, counter: Expr) -> list[tuple[int, Sort]] | None:
    """Return a term as the counter plus constants, in one sort or another: each constant and the sort of its
    sum, innermost first; None for other terms."""
    moves: list[tuple[int, Sort]] = []
    while term is not counter:
        if term.kind in (Kind.WRAP, Kind.TO_INT):
            moves.append((0, term.sort))
            term = term.args[0]
        elif term.kind in (Kind.ADD, Kind.SUB) and len(term.args) == 2:
            fixed = 0 if term.kind is Kind.ADD and term.args[0].kind is Kind.CONST else 1
            if term.args[fixed].kind is not Kind.CONST:
                return None
            move = int(term.args[fixed].value)
            moves.append((move if term.kind is Kind.ADD else -move, term.sort))
            term = term.args[1 - fixed]
        else:
            return None
    moves.reverse()
    return moves


def _iterations(counter: Expr, value: int, step: int, condition: Expr) -> int | None:
    """Return 1 plus the number of values among value, value + step, ... before the condition first fails;
    None if it never fails, or the counter or the compared term wraps before."""
    compared = condition.args[0] if condition.kind is Kind.NOT else condition
    sides = [a for a in compared.args if a.kind is not Kind.CONST]
    if len(compared.args) != 2 or len(sides) != 1 or step == 0:
        return None
    side = sides[0]
    moves = _moves(side, counter)
    if moves is None or not (counter.sort is INT or isinstance(counter.sort, MachineSort)):
        return None
    moved = build.var("moved", side.sort)
    about = rebuild(compared, [moved if a is side else a for a in compared.args])
    if condition is not compared:
        about = build.not_(about)

    def holds(iterations: int) -> bool | None:
        now = value + step * iterations
        for move, sort in ((0, counter.sort), *moves):
            now += move
            if isinstance(sort, MachineSort) and not sort.low <= now <= sort.high:
                return None
        return bool(evaluate(about, {moved: now}))

    if compared.kind is Kind.EQ:
        (goal,) = (int(a.value) for a in compared.args if a is not side)
        iterations, rest = divmod(goal - value - sum(move for move, _ in moves), step)
        if not holds(0):
            return 1
        if condition is compared:
            return 2
        return 1 + iterations if rest == 0 and iterations > 0 else None
    return _first_failure(holds) if compared.kind in (Kind.LE, Kind.LT) else None


def _first_failure(holds: Callable[[int], bool | None]) -> int | None:
    """Return the number, from 1, of the first iteration where a condition fails that then fails forever."""
    low, high = -1, 0  # it holds at low
    while holds(high):
        low, high = high, 2 * high + 1
        if high > FURTHEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return 1 + high if holds(high) is False else None
