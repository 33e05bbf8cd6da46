"""Divide the program into steps between locations, each with one formula.

A *state* at a location relates the values at the entry of the present activation, `old(x)` for globals and
parameters, to the present ones. There are four kinds of steps:

    start   the program begins: a state at the entry of main
    block   a block of statements within one activation
    enter   from a call to the entry of the callee, where old(x) = x
    call    over a call: a state before it and one at the callee's exit (its summary) give one after

So a step has up to two premises, and a call keeps all locals of its caller. Only blocks lead to errors. Facts
are checked invariants at locations: a step assumes the fact at its source, and the fact at its target holds
after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from certus.core import build
from certus.core.effects import global_reads, global_writes
from certus.core.evidence import old
from certus.core.loops import recursive
from certus.core.program import Call, Edge, Location, Procedure, Program
from certus.core.terms import Expr
from certus.core.walk import substitute
from certus.encoding.block_formula import BlockFormula, edge_formula

Kind = Literal["start", "block", "enter", "call"]
Facts = Mapping[Location, Expr]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step from states at `premises` to a state at `target`. `readings`: for each premise, the variables of
    its states in terms of the step (missing: unchanged). `values`: likewise the variables of the state at
    `target`. The step is possible if `condition` and `definitions` hold. `ensured`: the fact at `target`,
    true after every execution of the step."""

    kind: Kind
    edge: Edge | None
    premises: tuple[Location, ...]
    target: Location
    readings: tuple[Mapping[Expr, Expr], ...]
    values: Mapping[Expr, Expr]
    condition: Expr = build.TRUE
    ensured: Expr = build.TRUE
    definitions: tuple[Expr, ...] = ()
    symbols: frozenset[Expr] = frozenset()  # variables that belong to no state
    formula: BlockFormula | None = None  # of a block

    @property
    def call(self) -> Call:
        assert self.edge is not None
        assert isinstance(self.edge.op, Call)
        return self.edge.op


@dataclass(slots=True, eq=False)
class Steps:
    """All steps of a program by the location of a premise, steps to errors first."""

    program: Program
    start: Step
    before: dict[Location, list[Step]] = field(default_factory=dict)  # by the first premise
    over: dict[Location, list[Step]] = field(default_factory=dict)  # by the second premise: exits of callees
    inputs: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # globals and parameters
    read: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # globals that a call may read
    recursive: frozenset[str] = frozenset()  # names of procedures
    position: dict[Location, int] = field(default_factory=dict)  # of locations in reverse postorder

    def procedure(self, location: Location) -> Procedure:
        return self.program.procedures[location.procedure]


def steps_of(program: Program, facts: Facts | None = None) -> Steps:
    """Return the steps of `program`, whose edges may be blocks. `facts` are about present values only."""
    facts = facts or {}
    main = program.procedures[program.main]
    initial = {x: program.initial.get(x, x) for x in program.globals}
    values = {**initial, **{old(x): v for x, v in initial.items()}, **{old(x): x for x in main.parameters}}
    start = Step("start", None, (), main.entry, (), values, ensured=_read_at(facts, main.entry, values))
    result = Steps(
        program, start, recursive=frozenset(name for group in recursive(program) for name in group)
    )
    writes = global_writes(program)
    for name, procedure in program.procedures.items():
        result.inputs[name] = (*program.globals, *procedure.parameters)
    result.read.update((name, tuple(reads)) for name, reads in global_reads(program).items())
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                _add_call(result, edge, edge.op, writes[edge.op.procedure], facts)
            else:
                _add_block(result, edge, facts)
    for steps in result.before.values():
        steps.sort(key=lambda s: s.target not in program.error_locations)
    result.position = _positions(result)
    return result


def _positions(steps: Steps) -> dict[Location, int]:
    """Number the locations in reverse postorder: the target of a step comes after its premises, unless the
    step goes back."""
    successors: dict[Location, Iterator[Step]] = {}
    finished: list[Location] = []
    stack = [steps.start.target]
    while stack:
        at = stack[-1]
        if at not in successors:
            successors[at] = iter((*steps.before.get(at, ()), *steps.over.get(at, ())))
        following = next((s.target for s in successors[at] if s.target not in successors), None)
        if following is not None:
            stack.append(following)
        else:
            finished.append(stack.pop())
    return {at: number for number, at in enumerate(reversed(finished))}


def _read_at(facts: Facts, target: Location, values: Mapping[Expr, Expr]) -> Expr:
    """Return the fact at the target of a step, in terms of the step."""
    return substitute(facts.get(target, build.TRUE), values)


def _add_block(result: Steps, edge: Edge, facts: Facts) -> None:
    formula = edge_formula(edge, result.program)
    if formula is not None:
        step = Step(
            "block",
            edge,
            (edge.source,),
            edge.target,
            ({},),
            formula.values,
            build.and_(formula.guard, facts.get(edge.source, build.TRUE)),
            _read_at(facts, edge.target, formula.values),
            formula.definitions,
            frozenset(formula.symbols),
            formula,
        )
        result.before.setdefault(edge.source, []).append(step)


def _add_call(result: Steps, edge: Edge, call: Call, writes: Mapping[Expr, None], facts: Facts) -> None:
    program, fact = result.program, facts.get(edge.source, build.TRUE)
    callee = program.procedures[call.procedure]
    bound = dict(zip(callee.parameters, call.arguments, strict=True))
    unassigned = {x: build.var(f"{x.name}@entry", x.sort) for x in callee.variables if x not in bound}
    at_entry = {**{x: x for x in program.globals}, **bound}
    olds = {old(x): v for x, v in at_entry.items()}
    entered_values = {**bound, **unassigned, **olds}
    enter = Step(
        "enter",
        edge,
        (edge.source,),
        callee.entry,
        ({},),
        entered_values,
        fact,
        _read_at(facts, callee.entry, entered_values),
        symbols=frozenset(unassigned.values()),
    )
    after = {g: build.var(f"{g.name}@after", g.sort) for g in program.globals if g in writes}
    results = {r: build.var(f"{r.name}@after", r.sort) for r in callee.results}
    targets = dict(zip(call.targets, results.values(), strict=False))
    call_step = Step(
        "call",
        edge,
        (edge.source, callee.exit),
        edge.target,
        ({}, {**olds, **after, **results}),
        {**after, **targets},
        fact,
        _read_at(facts, edge.target, {**after, **targets}),
        symbols=frozenset((*after.values(), *results.values())),
    )
    result.before.setdefault(edge.source, []).extend((enter, call_step))
    result.over.setdefault(callee.exit, []).append(call_step)
