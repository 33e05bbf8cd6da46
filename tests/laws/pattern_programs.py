"""Programs over bit patterns: signed variables become unsigned ones of the same width, as cells of memory
are, and are converted wherever they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from certus.core import build
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Op, Procedure, Program, Return
from certus.core.terms import ArraySort, Expr, Kind, MachineSort, Sort, array, machine
from certus.core.walk import rebuild, transform


def as_patterns(program: Program, seed: int) -> Program:
    """A program of signed machine integers with some of its variables as patterns. Some of these are read as
    unsigned numbers, too."""
    return _Patterns(program, Random(seed)).program()


class _Patterns:
    def __init__(self, program: Program, random: Random) -> None:
        self.original, self.random = program, random
        everything = list(program.globals)
        everything += [x for p in program.procedures.values() for x in p.variables]
        tied = frozenset(x for p in program.procedures.values() for x in _tied(p))
        together = random.random() < 0.7
        chosen = [x for x in everything if (together if x in tied else random.random() < 0.7)]
        self.patterns = {x: build.var(f"{x.name}$0", _unsigned(x.sort)) for x in chosen}
        self.shared = [self.patterns[x] for x in program.globals if x in self.patterns]
        self.loose = [x for x in self.shared if random.random() < 0.2]

    def program(self) -> Program:
        procedures = {name: self._procedure(p) for name, p in self.original.procedures.items()}
        initial = {self._of(x): self._given(x, value) for x, value in self.original.initial.items()}
        named = tuple(map(self._of, self.original.globals))
        return replace(self.original, procedures=procedures, initial=initial, globals=named, source_names={})

    def _of(self, x: Expr) -> Expr:
        return self.patterns.get(x, x)

    def _procedure(self, p: Procedure) -> Procedure:
        return replace(
            p,
            parameters=tuple(map(self._of, p.parameters)),
            results=tuple(map(self._of, p.results)),
            variables=tuple(map(self._of, p.variables)),
            edges=tuple(self._edge(e, p) for e in p.edges),
        )

    def _edge(self, edge: Edge, procedure: Procedure) -> Edge:
        return replace(edge, op=self._op(edge.op, procedure))

    def _op(self, op: Op, procedure: Procedure) -> Op:
        if isinstance(op, Assume):
            return Assume(self._condition(self._read(op.condition)))
        if isinstance(op, Assign):
            stored = map(self._stored, op.targets, self._all(op.targets, op.values))
            return Assign(tuple(map(self._of, op.targets)), tuple(stored))
        if isinstance(op, Return):
            return Return(self._all(procedure.results, op.values))
        if isinstance(op, Havoc):
            return replace(op, targets=tuple(map(self._of, op.targets)))
        assert isinstance(op, Call)
        callee = self.original.procedures[op.procedure]
        given = self._all(callee.parameters, op.arguments)
        return replace(op, arguments=given, targets=tuple(map(self._of, op.targets)))

    def _condition(self, condition: Expr) -> Expr:
        if not self.loose or self.random.random() < 0.8:
            return condition
        x = self.random.choice(self.loose)
        return build.and_(condition, build.le(x, build.constant(self.random.randint(100, 200), x.sort)))

    def _all(self, targets: tuple[Expr, ...], values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self._given(x, value) for x, value in zip(targets, values, strict=True))

    def _given(self, x: Expr, value: Expr) -> Expr:
        made, sort = self._read(value), self._of(x).sort
        return build.wrap(made, sort) if isinstance(sort, MachineSort) else made

    def _stored(self, x: Expr, bits: Expr) -> Expr:
        """Stores at unknown offsets choose between the new bits and the old ones."""
        pattern = self._of(x)
        if pattern not in self.shared or self.random.random() < 0.7:
            return bits
        return build.ite(build.eq(self.random.choice(self.shared), bits), bits, pattern)

    def _read(self, term: Expr) -> Expr:
        return transform(term, self._part)

    def _part(self, term: Expr, args: tuple[Expr, ...]) -> Expr:
        if term.kind is Kind.VAR:
            found = self._of(term)
            return build.wrap(found, term.sort) if isinstance(term.sort, MachineSort) else found
        if term.kind is Kind.SELECT:
            read = build.select(*args)
            return build.wrap(read, term.sort) if isinstance(term.sort, MachineSort) else read
        if term.kind is Kind.STORE and isinstance(args[0].sort, ArraySort):
            kept = args[0].sort.element
            value = build.wrap(args[2], kept) if isinstance(kept, MachineSort) else args[2]
            return build.store(args[0], args[1], value)
        return rebuild(term, args) if term.args else term


def _tied(procedure: Procedure) -> Iterator[Expr]:
    """Results, and what they are assigned to: calls convert nothing."""
    yield from procedure.results
    for edge in procedure.edges:
        if isinstance(edge.op, Call):
            yield from edge.op.targets


def _unsigned(sort: Sort) -> Sort:
    if isinstance(sort, ArraySort):
        return array(sort.index, _unsigned(sort.element))
    return machine(sort.width, signed=False) if isinstance(sort, MachineSort) else sort
