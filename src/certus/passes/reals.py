"""Replace reals by integers with a common denominator, which stays arbitrary.

The new global `$unit` is an arbitrary positive integer that no statement writes. Let M be the common
denominator of the constants of the program, and w = M * unit. A real x becomes the integer x * w. So
comparisons, sums and products with constants stay linear, an integer i among reals becomes i * w, and a step
whose result would be no integer is not taken.

A finite execution over rationals has a common denominator: it is an execution of the new program for some
unit, and the other way round. So traces carry over.

Proofs: a formula that is inductive over the integers is inductive over the hyperintegers (transfer principle
of nonstandard analysis). Choose w infinite and divisible by every standard integer. Then x * w is a
hyperinteger for every rational x, and the formula for this w, read as one about x, is inductive over the
rationals. `ScaledProgram.formula` states it without w: numbers are polynomials in w, which the highest power
decides. The checker proves it for all reals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from math import lcm
from typing import Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import terms, with_terms
from certus.core.errors import Unsupported
from certus.core.evidence import Trace, old
from certus.core.loops import callees_of
from certus.core.program import (
    Assign,
    Assume,
    Block,
    Call,
    Choice,
    Edge,
    Havoc,
    Location,
    Op,
    Procedure,
    Program,
    Return,
    Seq,
    leaves,
    statements,
)
from certus.core.terms import INT, REAL, Expr, Kind, Value
from certus.core.walk import completed, postorder, rebuild
from certus.passes.polynomials import COMPARISONS, Polynomial, at_infinity

OTHER_ENGINES: Final = "try --engine predicate or spacer"
UNIT: Final = build.var("$unit", INT)


def has_reals(program: Program) -> bool:
    """Return whether the program has variables that are real numbers."""
    return any(x.sort is REAL for x in program.every_variable)


def scaled_program(program: Program) -> ScaledProgram:
    """Return the program over integers. Raises `Unsupported` for arrays and functions of reals, and if main
    calls itself: the assumptions at its start are about the first call."""
    if program.main in callees_of(program):
        message = "`linear` has no programs with reals that call their main procedure"
        reason = Diagnostic("engine-without-reals", message, Severity.NOTE, hint=OTHER_ENGINES)
        raise Unsupported(reason)
    denominators = [term.value.denominator for term in _constants(program)]
    return _Scaling(program, lcm(*denominators)).run()


def _constants(program: Program) -> Iterable[Expr]:
    ops = (op for p in program.procedures.values() for edge in p.edges for op in leaves(edge))
    every = (*program.initial.values(), *(term for op in ops for term in terms(op)))
    return (term for term in postorder(*every) if term.kind is Kind.CONST and term.sort is REAL)


def _integer(x: Expr) -> Expr:
    """Return the integer in place of a real; other variables stay."""
    return build.var(x.name, INT) if x.sort is REAL else x


def _integers(variables: Iterable[Expr]) -> tuple[Expr, ...]:
    return tuple(map(_integer, variables))


@dataclass(slots=True, eq=False)
class _Scaling:
    """The translation of a program. A real term becomes an integer term and a positive integer: its value
    times w is the quotient of both."""

    source: Program
    denominator: int  # M
    _plain: dict[Expr, tuple[Expr, int]] = field(default_factory=dict)
    _fresh: count[int] = field(init=False)

    def __post_init__(self) -> None:
        locations = (at.index for p in self.source.procedures.values() for at in p.locations)
        self._fresh = count(1 + max((*locations, *self.source.edge)))

    @property
    def w(self) -> Expr:
        return build.scale(self.denominator, UNIT)

    def run(self) -> ScaledProgram:
        source = self.source
        procedures = {name: self._procedure(p) for name, p in source.procedures.items()}
        main = procedures[source.main]
        real = {x: value for x, value in source.initial.items() if x.sort is REAL}
        start = [build.le(build.integer(1), UNIT)]
        start += [build.eq(_integer(x), self._whole(value)[0]) for x, value in real.items()]
        entry = Location(next(self._fresh), main.name, main.entry.span)
        first = Edge(next(self._fresh), entry, Assume(build.conjunction(start)), main.entry)
        procedures[main.name] = replace(main, entry=entry, edges=(first, *main.edges))
        program = replace(
            source,
            procedures=procedures,
            globals=(UNIT, *_integers(source.globals)),
            initial={x: value for x, value in source.initial.items() if x not in real},
            source_names={**source.source_names, **{_integer(x): n for x, n in source.source_names.items()}},
        )
        return ScaledProgram(source, program, self.denominator)

    # ------------------------------------------------------------------------------- control flow

    def _procedure(self, procedure: Procedure) -> Procedure:
        edges: list[Edge] = []
        for edge in procedure.edges:
            block, divisible = self._block(edge)
            if divisible is not build.TRUE:  # a call, which cannot be part of a block
                between = Location(next(self._fresh), procedure.name, edge.source.span)
                edges.append(Edge(next(self._fresh), edge.source, Assume(divisible), between))
                block = replace(block, source=between)
            edges.append(block)
        return replace(
            procedure,
            parameters=_integers(procedure.parameters),
            results=_integers(procedure.results),
            variables=_integers(procedure.variables),
            edges=tuple(edges),
        )

    def _block(self, edge: Edge) -> tuple[Edge, Expr]:
        """Return an edge over integers, and a condition to assume before it."""
        op = edge.op
        if isinstance(op, Seq | Choice):
            done: dict[int, Block] = {}
            return replace(edge, op=self._blocks(op, done)), build.TRUE
        if isinstance(op, Call):
            new, divisible = self._op(op)
            return replace(edge, op=new), divisible
        block = self._leaf(edge)
        return block if isinstance(block, Edge) else replace(edge, op=block), build.TRUE

    def _leaf(self, edge: Edge) -> Edge | Seq:
        """Return a statement over integers, which is executed only if its values are integers."""
        assert not isinstance(edge.op, Seq | Choice)
        op, divisible = self._op(edge.op)
        plain = replace(edge, op=op)
        return plain if divisible is build.TRUE else Seq(replace(edge, op=Assume(divisible)), plain)

    def _blocks(self, root: Seq | Choice, done: dict[int, Block]) -> Seq | Choice:
        """Return a block over integers; blocks stay shared."""
        stack: list[Block] = [root]
        while stack:
            block = stack[-1]
            parts = _parts(block)
            missing = [part for part in parts if id(part) not in done]
            if missing:
                stack += missing
                continue
            new = [done[id(part)] for part in parts]
            if isinstance(block, Edge):
                done[id(block)] = new[0] if new else self._leaf(block)
            else:
                done[id(block)] = Choice(tuple(new)) if isinstance(block, Choice) else Seq(new[0], new[1])
            stack.pop()
        result = done[id(root)]
        assert isinstance(result, Seq | Choice)
        return result

    def _op(self, op: Op) -> tuple[Op, Expr]:
        """Return an operation over integers, and the condition that its values are integers."""
        if isinstance(op, Havoc):
            return replace(op, targets=_integers(op.targets)), build.TRUE
        if isinstance(op, Assume):
            return Assume(self._whole(op.condition)[0]), build.TRUE
        assert isinstance(op, Assign | Return | Call), f"a program with reals has no {op}"
        values, divisible = [], []
        for number, by in map(self._whole, terms(op)):
            if by != 1:
                divisible.append(build.eq(build.mod(number, build.integer(by)), build.integer(0)))
            values.append(number if by == 1 else build.div(number, build.integer(by)))
        new = with_terms(op, values)
        if isinstance(new, Assign | Call):
            new = replace(new, targets=_integers(new.targets))
        return new, build.conjunction(divisible)

    # -------------------------------------------------------------------------------------- terms

    def _whole(self, root: Expr) -> tuple[Expr, int]:
        return completed(root, self._plain, self._term)

    def _term(self, term: Expr) -> tuple[Expr, int]:
        """Return a term over integers; the second number is 1 unless it is a real."""
        parts = [self._plain[a] for a in term.args]
        if term.sort is not REAL:
            if not any(a.sort is REAL for a in term.args):
                return rebuild(term, [a for a, _ in parts]), 1
            if term.kind not in COMPARISONS:
                raise self._unsupported(term)
            (a, b), _ = self._common(parts)
            return COMPARISONS[term.kind](a, b), 1
        kind = term.kind
        if kind is Kind.CONST:
            return build.scale(int(term.value * self.denominator), UNIT), 1
        if kind is Kind.VAR:
            return _integer(term), 1
        if kind is Kind.TO_REAL:
            return build.mul(parts[0][0], self.w), 1
        if kind is Kind.ADD:
            summands, by = self._common(parts)
            return build.add(*summands), by
        if kind is Kind.ITE:
            (then, otherwise), by = self._common(parts[1:])
            return build.ite(parts[0][0], then, otherwise), by
        if kind is Kind.MUL:
            return self._product(term, parts)
        if kind is Kind.RDIV:
            (a, b), _ = self._common(parts)
            return build.div(build.mul(a, self.w), b), 1
        raise self._unsupported(term)

    def _product(self, term: Expr, parts: Sequence[tuple[Expr, int]]) -> tuple[Expr, int]:
        """Return a product; one of variables needs a division by w, which is not linear."""
        factors = [part for part, a in zip(parts, term.args, strict=True) if a.kind is not Kind.CONST]
        number, by = factors[0]
        for other, divisor in factors[1:]:
            number, by = build.div(build.mul(number, other), self.w), by * divisor
        for a in term.args:
            if a.kind is Kind.CONST:
                number, by = build.scale(a.value.numerator, number), by * a.value.denominator
        return number, by

    def _common(self, parts: Sequence[tuple[Expr, int]]) -> tuple[list[Expr], int]:
        """Return quotients with the same divisor."""
        by = lcm(*(divisor for _, divisor in parts))
        return [build.scale(by // divisor, number) for number, divisor in parts], by

    def _unsupported(self, term: Expr) -> Unsupported:
        message = f"`linear` has no {term.kind.name.lower()} of reals"
        return Unsupported(Diagnostic("engine-without-reals", message, Severity.NOTE, hint=OTHER_ENGINES))


def _parts(block: Block) -> tuple[Block, ...]:
    if isinstance(block, Choice):
        return block.alternatives
    if isinstance(block, Seq):
        return block.first, block.second
    return (block.op,) if isinstance(block.op, Seq | Choice) else ()


# ------------------------------------------------------------------------------------------- back


@dataclass(frozen=True, slots=True, eq=False)
class ScaledProgram:
    """The `program` over integers in place of `source`; `denominator` is M."""

    source: Program
    program: Program
    denominator: int

    def trace(self, trace: Trace) -> Trace:
        """Return the execution over rationals."""
        w = self.denominator * int(trace.initial[UNIT])

        def values(targets: Sequence[Expr], numbers: Sequence[Value]) -> tuple[Value, ...]:
            pairs = zip(targets, numbers, strict=True)
            return tuple(Fraction(int(n), w) if x.sort is REAL else n for x, n in pairs)

        open_globals = [x for x in self.source.globals if x not in self.source.initial]
        numbers = [trace.initial[_integer(x)] for x in open_globals]
        targets = {
            edge.key: edge.op.targets
            for procedure in self.source.procedures.values()
            for each in procedure.edges
            for edge in statements(each)
            if isinstance(edge.op, Havoc)
        }
        return replace(
            trace,
            initial=dict(zip(open_globals, values(open_globals, numbers), strict=True)),
            inputs={
                key: tuple(values(targets[key], each) for each in inputs)
                for key, inputs in trace.inputs.items()
            },
        )

    def formula(self, formula: Expr) -> Expr:
        """Return a formula about the integers as one about the reals, for an infinite w that every integer
        divides."""
        names = {_integer(y): y for x in self.source.every_variable if x.sort is REAL for y in (x, old(x))}
        meaning: dict[Expr, Polynomial] = {x: {1: real} for x, real in names.items()}
        meaning[UNIT] = meaning[old(UNIT)] = {1: build.real(Fraction(1, self.denominator))}
        return at_infinity(formula, meaning)
