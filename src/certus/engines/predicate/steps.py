"""The program as steps between locations, each with its meaning as one formula.

A *state* at a location relates the values at the entry of the present activation, `old(x)` for globals
and parameters, to the present ones. There are four kinds of steps:

    start   the program begins: a state at the entry of main
    block   a block of statements within one activation
    enter   from a call to the entry of the callee, where old(x) = x
    call    over a call: a state before it and one at the callee's exit (its summary) give one after

So a step has up to two premises, and all locals of a caller survive a call by themselves. Errors are
reached by blocks only. Facts, known invariants at locations, are conditions of all steps from there; those
at its target are known of what a step leads to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from certus.core import build
from certus.core.evidence import old
from certus.core.loops import call_graph, recursive
from certus.core.program import Call, Choice, Edge, Location, Procedure, Program, Seq, leaves
from certus.core.terms import Expr
from certus.core.walk import substitute, variables
from certus.logic.blocks import BlockFormula, block_formula
from certus.logic.regions import Shape, shapes

Kind = Literal["start", "block", "enter", "call"]
Facts = Mapping[Location, Expr]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """`premises`: where states are needed. `readings`: for each premise, how the variables of its states
    read in terms of the step (missing: as they are). `values`: the variables of the state at
    `target`, likewise. `condition`: with `definitions`, whether the step can be taken. `known`: what any
    execution of it makes true, since it is a fact at `target`."""

    kind: Kind
    edge: Edge | None
    premises: tuple[Location, ...]
    target: Location
    readings: tuple[Mapping[Expr, Expr], ...]
    values: Mapping[Expr, Expr]
    condition: Expr = build.TRUE
    known: Expr = build.TRUE
    definitions: tuple[Expr, ...] = ()
    symbols: frozenset[Expr] = frozenset()  # the variables that belong to no state
    formula: BlockFormula | None = None  # of a block

    @property
    def call(self) -> Call:
        assert self.edge is not None
        assert isinstance(self.edge.op, Call)
        return self.edge.op


@dataclass(slots=True, eq=False)
class Steps:
    """All steps of a program, by the location of each premise, steps to errors first."""

    program: Program
    start: Step
    before: dict[Location, list[Step]] = field(default_factory=dict)  # by the first premise
    over: dict[Location, list[Step]] = field(default_factory=dict)  # by the second: exits of callees
    inputs: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # globals and parameters
    read: dict[str, tuple[Expr, ...]] = field(default_factory=dict)  # globals read by a call
    recursive: frozenset[str] = frozenset()  # the procedures

    def procedure(self, location: Location) -> Procedure:
        return self.program.procedures[location.procedure]


def steps_of(program: Program, facts: Facts | None = None) -> Steps:
    """The steps of `program`, whose edges may be blocks. `facts` speak of present values only."""
    known = facts or {}
    main = program.procedures[program.main]
    initial = {x: program.initial.get(x, x) for x in program.globals}
    values = {**initial, **{old(x): v for x, v in initial.items()}, **{old(x): x for x in main.parameters}}
    start = Step("start", None, (), main.entry, (), values, known=_read_at(known, main.entry, values))
    found = Steps(program, start, recursive=frozenset(name for group in recursive(program) for name in group))
    shape = shapes(program)
    for name, procedure in program.procedures.items():
        found.inputs[name] = (*program.globals, *procedure.parameters)
    found.read.update(_read(program))
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Call):
                _add_call(found, edge, edge.op, shape[edge.op.procedure], known)
            else:
                _add_block(found, edge, procedure, known)
    for steps in found.before.values():
        steps.sort(key=lambda s: s.target not in program.error_locations)
    return found


def _read_at(facts: Facts, target: Location, values: Mapping[Expr, Expr]) -> Expr:
    """The fact at the target of a step, in terms of the step."""
    return substitute(facts.get(target, build.TRUE), values)


def _add_block(found: Steps, edge: Edge, procedure: Procedure, facts: Facts) -> None:
    live = () if edge.target in found.program.error_locations else None
    block = edge.op if isinstance(edge.op, Seq | Choice) else edge
    formula = block_formula(block, procedure, live=live)
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
        found.before.setdefault(edge.source, []).append(step)


def _add_call(found: Steps, edge: Edge, call: Call, shape: Shape, facts: Facts) -> None:
    program, callee, fact = found.program, shape.procedure, facts.get(edge.source, build.TRUE)
    bound = dict(zip(callee.parameters, call.arguments, strict=True))
    anything = {x: build.var(f"{x.name}@entry", x.sort) for x in callee.variables if x not in bound}
    at_entry = {**{x: x for x in program.globals}, **bound}
    olds = {old(x): v for x, v in at_entry.items()}
    begun = {**bound, **anything, **olds}
    entered = Step(
        "enter",
        edge,
        (edge.source,),
        callee.entry,
        ({},),
        begun,
        fact,
        _read_at(facts, callee.entry, begun),
        symbols=frozenset(anything.values()),
    )
    written = set(shape.written)
    after = {g: build.var(f"{g.name}@after", g.sort) for g in program.globals if g in written}
    results = {r: build.var(f"{r.name}@after", r.sort) for r in callee.results}
    targets = dict(zip(call.targets, results.values(), strict=False))
    passed = Step(
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
    found.before.setdefault(edge.source, []).extend((entered, passed))
    found.over.setdefault(callee.exit, []).append(passed)


def _read(program: Program) -> Mapping[str, tuple[Expr, ...]]:
    """The globals each procedure, or one it calls, may read."""
    shared = frozenset(program.globals)
    calls = call_graph(program)
    read = {
        name: dict.fromkeys(x for edge in p.edges for x in _variables_read(edge) if x in shared)
        for name, p in program.procedures.items()
    }
    changed = True
    while changed:
        changed = False
        for name, found in read.items():
            before = len(found)
            for callee in calls[name]:
                found.update(read[callee])
            changed |= len(found) > before
    return {name: tuple(found) for name, found in read.items()}


def _variables_read(edge: Edge) -> tuple[Expr, ...]:
    terms: list[Expr] = []
    for op in leaves(edge):
        for part in ("condition", "values", "arguments"):
            value = getattr(op, part, ())
            terms.extend(value if isinstance(value, tuple) else (value,))
    return variables(*terms)
