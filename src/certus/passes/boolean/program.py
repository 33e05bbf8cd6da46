"""Turn a Boolean program into a `Program`, so that it can be searched like any other.

The locations of the abstracted program keep their identity. A statement with a nondeterministic value reads
an input first. What happens around a call, and at an entry, gets edges and locations of its own; `origin`
says which edge of the abstracted program an edge belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.boolean import BooleanProcedure, BooleanProgram, Choose, Guard, Invoke, Statement, Update
from certus.core.program import (
    Assign,
    Assume,
    BasicOp,
    Block,
    Call,
    Edge,
    Havoc,
    Location,
    Procedure,
    Program,
    Seq,
)
from certus.core.terms import BOOL, Expr


@dataclass(frozen=True, slots=True)
class AsProgram:
    """A Boolean program as a `Program`. `origin`: the edge of the abstracted program, by index of edges;
    edges at entries have none."""

    program: Program
    origin: Mapping[int, Edge]


def as_program(abstraction: BooleanProgram) -> AsProgram:
    """Return the Boolean program in the form of other programs."""
    work = _Translation(abstraction)
    procedures = {name: work.procedure(p) for name, p in abstraction.procedures.items()}
    original = abstraction.program
    initial = {x: _value(value) for x, value in abstraction.shared.items() if value.determined}
    program = Program(
        procedures, original.main, tuple(abstraction.shared), original.errors, initial, file=original.file
    )
    return AsProgram(program, work.origin)


def _value(choice: Choose, otherwise: Expr | None = None) -> Expr:
    """Return a value as a term; `otherwise` stands for the nondeterministic one."""
    if choice.determined or otherwise is None:
        return choice.yes.term()
    return build.ite(choice.yes.term(), build.TRUE, build.and_(build.not_(choice.no.term()), otherwise))


@dataclass(slots=True, eq=False)
class _Translation:
    abstraction: BooleanProgram
    origin: dict[int, Edge] = field(default_factory=dict)
    _edges: Iterable[int] = field(default_factory=count)
    _locations: Iterable[int] = field(init=False)
    _inputs: list[Expr] = field(default_factory=list)  # those of the present procedure

    def __post_init__(self) -> None:
        places = self.abstraction.program.location.values()
        self._locations = count(1 + max((at.index for at in places), default=0))

    def procedure(self, boolean: BooleanProcedure) -> Procedure:
        original = boolean.procedure
        self._inputs = []
        entry = self._location(original.name)
        declared = Update(tuple(boolean.declared), tuple(boolean.declared.values()))
        edges = [self._edge(entry, [declared, *boolean.start], original.entry, original.name)]
        for edge, statements in boolean.steps.items():
            edges += self._step(edge, statements)
        own = (*boolean.parameters, *boolean.declared, *boolean.received, *self._inputs)
        variables = tuple(dict.fromkeys(own))
        return Procedure(
            original.name, boolean.parameters, boolean.results, variables, entry, original.exit, tuple(edges)
        )

    def _step(self, edge: Edge, statements: tuple[Statement, ...]) -> Iterable[Edge]:
        name = edge.source.procedure
        if not statements or not isinstance(statements[0], Invoke):
            yield self._edge(edge.source, statements, edge.target, name, edge)
            return
        invoke, *rest = statements
        assert isinstance(invoke, Invoke)
        before, after = self._location(name), self._location(name)
        inputs = [self._input(name) for _ in invoke.arguments]
        arguments = tuple(map(_value, invoke.arguments, inputs))
        yield self._block(edge.source, [Havoc(tuple(inputs))] if inputs else [], before, edge)
        yield self._block(before, [Call(invoke.procedure, arguments, invoke.targets)], after, edge)
        yield self._edge(after, rest, edge.target, name, edge)

    def _edge(
        self,
        source: Location,
        statements: Iterable[Statement],
        target: Location,
        name: str,
        origin: Edge | None = None,
    ) -> Edge:
        ops: list[BasicOp] = []
        for statement in statements:
            if isinstance(statement, Guard):
                ops.append(Assume(statement.condition.term()))
            else:
                assert isinstance(statement, Update), "a call comes first"
                inputs = [None if value.determined else self._input(name) for value in statement.values]
                if read := tuple(x for x in inputs if x is not None):
                    ops.append(Havoc(read))
                values = tuple(map(_value, statement.values, inputs))
                ops.append(Assign(statement.targets, values))
        return self._block(source, ops, target, origin)

    def _block(self, source: Location, ops: list[BasicOp], target: Location, origin: Edge | None) -> Edge:
        first, *others = ops or [Assume(build.TRUE)]
        if not others:
            return self._numbered(source, first, target, origin)
        block: Block = self._numbered(source, first, target, origin)
        for op in others:
            block = Seq(block, self._numbered(source, op, target, origin))
        assert isinstance(block, Seq)
        return self._numbered(source, block, target, origin)

    def _numbered(self, source: Location, op: BasicOp | Seq, target: Location, origin: Edge | None) -> Edge:
        edge = Edge(next(iter(self._edges)), source, op, target)
        if origin is not None:
            self.origin[edge.index] = origin
        return edge

    def _location(self, procedure: str) -> Location:
        return Location(next(iter(self._locations)), procedure)

    def _input(self, procedure: str) -> Expr:
        x = build.var(f"{procedure}.any{len(self._inputs)}", BOOL)
        self._inputs.append(x)
        return x
