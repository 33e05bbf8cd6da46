"""Bounds of counting loops: how often the head of `for (i = c1; i < c3; i += c2)` is entered.

A loop counts if control enters it at its head only, with a known constant c1 in a variable i; every way
from the head back to it passes the loop's only write to i, `i = i + c2`, exactly once; and one branch of the
loop, passed on every way round before or after the write, leaves the loop as soon as a comparison of
i with a constant is false. Then the number of entries follows by arithmetic, wrapping of machine
integers included. (Where nothing that matters follows the loop, slicing leaves a branch that ends the
execution instead.) There may be other ways out (`break`, `assume`): the number is *exact* only without
them. An assertion is none, since the execution that fails it goes nowhere.

Where start or condition are not known, ranges may be (`ranged_bounds`): a counter that every round moves by
c2, and that lies between two numbers whenever control is at the head, is there no more often than fits.

The pass adds these numbers to the task, for engines that unroll, and does not change the program. No evidence
depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from certus.core import build
from certus.core.control import may_stop
from certus.core.effects import written
from certus.core.evaluate import evaluate
from certus.core.loops import Loop, LoopBound, components, loop_forest
from certus.core.program import Assign, Assume, Call, Edge, Location, Procedure, Program
from certus.core.sorts import INT, MachineSort, Sort
from certus.core.task import BackMap, Task
from certus.core.terms import Expr, Kind
from certus.core.walk import rebuild, variables
from certus.logic.intervals import Interval
from certus.transform.effects import single_statements
from certus.transform.propagation import KnownConstants, propagate

FURTHEST: Final = 1 << 200  # rounds after which a condition is taken to hold forever


@dataclass(frozen=True, slots=True)
class Bounds:
    """The pass."""

    @property
    def name(self) -> str:
        return "bounds"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        return replace(task, bounds=loop_bounds(program)), BackMap.identity()


def loop_bounds(program: Program) -> dict[str, LoopBound]:
    """The bounds of all counting loops, by the name of the head."""
    loops = [(p, loop) for p in program.procedures.values() for loop in loop_forest(p).loops]
    known = propagate(program) if loops else None
    found: dict[str, LoopBound] = {}
    if known is None:
        return found
    for procedure, loop in loops:
        bound = _bound(procedure, loop, known)
        if bound is not None:
            found[loop.head.name] = bound
    return found


def _bound(procedure: Procedure, loop: Loop, known: KnownConstants) -> LoopBound | None:
    if len(loop.entries) > 1:
        return None
    inside = [e for at in procedure.locations if at in loop.body for e in procedure.successors[at]]
    always = _on_every_round(procedure, loop)
    leaving = [e for e in inside if e.target not in loop.body]
    best: LoopBound | None = None
    for branch in sorted(always, key=always.__getitem__):
        if all(e.target in loop.body for e in procedure.successors[branch]) and not may_stop(
            procedure, branch
        ):
            continue
        entries = _count(procedure, loop, branch, inside, always, known)
        if entries is not None and (best is None or entries < best.entries):
            exact, fails = _others_out(known.program, procedure, branch, leaving)
            best = LoopBound(entries, exact and not _may_end(procedure, loop, branch, inside), fails)
    return best


def _others_out(
    program: Program, procedure: Procedure, branch: Location, leaving: list[Edge]
) -> tuple[bool, bool]:
    """Whether all other ways out than by the branch fail, and whether some do."""
    failing = [_fails(program, procedure, e.target) for e in leaving if e.source is not branch]
    return all(failing), any(failing)


def _fails(program: Program, procedure: Procedure, at: Location) -> bool:
    """Whether control goes straight from a location to an error."""
    for _ in procedure.locations:
        edges = procedure.successors[at]
        if len(edges) != 1:
            break
        at = edges[0].target
    return at in program.error_locations


def _may_end(procedure: Procedure, loop: Loop, branch: Location, inside: list[Edge]) -> bool:
    """Whether an execution may end inside a loop or what it calls, other than by an error of the loop or at
    the branch."""
    if any(isinstance(e.op, Call) for e in inside):
        return True
    return any(may_stop(procedure, e.source) for e in inside if e.source is not branch)


def _on_every_round(procedure: Procedure, loop: Loop) -> dict[Location, int]:
    """The locations that every way from the head back to it passes exactly once, with their position."""

    def targets(at: Location) -> Iterator[Location]:
        edges = procedure.successors[at]
        return (e.target for e in edges if e.target in loop.body and e.target is not loop.head)

    groups = components([loop.head, *_others(loop)], targets)
    groups.reverse()  # sources first
    position = {at: n for n, group in enumerate(groups) for at in group}
    found: dict[Location, int] = {}
    reach = 0  # the furthest group an edge from before leads to
    for n, group in enumerate(groups):
        cyclic = len(group) > 1 or group[0] in targets(group[0])
        if not cyclic and reach <= n:
            found[group[0]] = n
        for at in group:
            for edge in procedure.successors[at]:
                if edge.target is loop.head:
                    reach = len(groups)
                elif edge.target in loop.body:
                    reach = max(reach, position[edge.target])
    return found


def _others(loop: Loop) -> list[Location]:
    return sorted(loop.body - {loop.head}, key=lambda at: at.index)


def _count(
    procedure: Procedure,
    loop: Loop,
    branch: Location,
    inside: list[Edge],
    always: dict[Location, int],
    known: KnownConstants,
) -> int | None:
    """The entries of the head until `branch` leaves the loop, if it counts."""
    staying = [e for e in procedure.successors[branch] if e.target in loop.body]
    if len(staying) != 1 or not isinstance(staying[0].op, Assume):
        return None
    state = known.at(branch) or {}
    (condition,) = known.folded(staying[0].op, state)
    if len(variables(condition)) != 1:
        return None
    (counter,) = variables(condition)
    start = _start(procedure, loop, counter, known)
    moved = _moved(procedure, counter, inside, always, known)
    if start is None or moved is None:
        return None
    writer, step = moved
    stepped = always[writer.source] < always[branch]
    return _rounds(counter, start + (step if stepped else 0), step, condition)


def _moved(
    procedure: Procedure,
    counter: Expr,
    inside: list[Edge],
    always: dict[Location, int],
    known: KnownConstants,
) -> tuple[Edge, int] | None:
    """The loop's only write to a counter, and the constant that it adds in every round."""
    writers = [e for e in inside if counter in written(e.op, procedure)]
    calls = (e.op.procedure for e in inside if isinstance(e.op, Call))
    if any(counter in known.writes[name] for name in calls) or len(writers) != 1:
        return None
    (writer,) = writers
    if writer.source not in always or not isinstance(writer.op, Assign):
        return None
    step = _step(writer.op, counter)
    return None if step is None else (writer, step)


def ranged_bounds(
    program: Program, ranges: Mapping[Location, Mapping[Expr, Interval]]
) -> dict[str, LoopBound]:
    """The bounds of loops whose counters have the given ranges at the head, by the name of the head."""
    found: dict[str, LoopBound] = {}
    loops = [(p, loop) for p in program.procedures.values() for loop in loop_forest(p).loops]
    loops = [(p, loop) for p, loop in loops if len(loop.entries) == 1 and ranges.get(loop.head)]
    known = propagate(program) if loops else None
    for procedure, loop in loops if known is not None else ():
        assert known is not None
        inside = [e for at in procedure.locations if at in loop.body for e in procedure.successors[at]]
        always = _on_every_round(procedure, loop)
        entries = []
        for x, range_ in ranges[loop.head].items():
            moved = _moved(procedure, x, inside, always, known)
            fitting = None if moved is None else _fitting(x.sort, range_, moved[1])
            if fitting is not None:
                entries.append(fitting)
        if entries:
            leaving = (e.target for e in inside if e.target not in loop.body)
            fails = any(_fails(program, procedure, at) for at in leaving)
            found[loop.head.name] = LoopBound(min(entries), exact=False, fails=fails)
    return found


def _fitting(sort: Sort, found: Interval, step: int) -> int | None:
    """How many numbers of a range follow each other by steps; None if a step may wrap, or there is no end."""
    if step == 0 or found.low is None or found.high is None:
        return None
    beyond = found.high + step if step > 0 else found.low + step
    if isinstance(sort, MachineSort) and not sort.low <= beyond <= sort.high:
        return None
    return (found.high - found.low) // abs(step) + 1


def _start(procedure: Procedure, loop: Loop, counter: Expr, known: KnownConstants) -> int | None:
    """The counter's value wherever control comes to the loop from outside."""
    values: dict[Expr | None, None] = {}
    for edge in procedure.predecessors[loop.head]:
        if edge.source not in loop.body:
            state = known.at(edge.source)
            after = None if state is None else known.after(edge, state)
            if after is not None:
                values[known.constant(counter, after)] = None
    if loop.head is procedure.entry or len(values) != 1:
        return None
    (value,) = values
    return None if value is None else int(value.value)


def _step(op: Assign, counter: Expr) -> int | None:
    """The constant that an assignment adds to the counter."""
    (value,) = (v for t, v in zip(op.targets, op.values, strict=True) if t is counter)
    moves = _moves(value, counter)
    return None if moves is None else sum(move for move, _ in moves)


def _moves(term: Expr, counter: Expr) -> list[tuple[int, Sort]] | None:
    """A term that is the counter moved by constants, in one sort or another: each move and the sort of its
    result, innermost first."""
    found: list[tuple[int, Sort]] = []
    while term is not counter:
        if term.kind in (Kind.WRAP, Kind.TO_INT):
            found.append((0, term.sort))
            term = term.args[0]
        elif term.kind in (Kind.ADD, Kind.SUB) and len(term.args) == 2:
            fixed = 0 if term.kind is Kind.ADD and term.args[0].kind is Kind.CONST else 1
            if term.args[fixed].kind is not Kind.CONST:
                return None
            move = int(term.args[fixed].value)
            found.append((move if term.kind is Kind.ADD else -move, term.sort))
            term = term.args[1 - fixed]
        else:
            return None
    found.reverse()
    return found


def _rounds(counter: Expr, value: int, step: int, condition: Expr) -> int | None:
    """How often the condition is met by value, value + step, ... before it fails, and once more; None if
    it never fails, or the counter, or what is compared, wraps before."""
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

    def holds(rounds: int) -> bool | None:
        now = value + step * rounds
        for move, sort in ((0, counter.sort), *moves):
            now += move
            if isinstance(sort, MachineSort) and not sort.low <= now <= sort.high:
                return None
        return bool(evaluate(about, {moved: now}))

    if compared.kind is Kind.EQ:
        (goal,) = (int(a.value) for a in compared.args if a is not side)
        rounds, rest = divmod(goal - value - sum(move for move, _ in moves), step)
        if not holds(0):
            return 1
        if condition is compared:
            return 2
        return 1 + rounds if rest == 0 and rounds > 0 else None
    return _first_failure(holds) if compared.kind in (Kind.LE, Kind.LT) else None


def _first_failure(holds: Callable[[int], bool | None]) -> int | None:
    """The number of the first round where a condition fails that fails from there on; 1 is the first."""
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
