"""Find variables whose bits are only read as signed numbers.

A cell of memory is as wide as its accesses, and unsigned: each load decides the signedness. As unsigned
numbers the bit patterns of -1 .. 5 have no useful range. So if all reads of an internal variable convert it
to the signed type of its width, its quantities are signed numbers congruent to its value. Sums, choices,
elements and copies of it are read as they are; equality and conversion to a narrower type do not depend on
the signedness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from certus.analysis.ranges.system import element
from certus.core.program import Assign, Assume, Call, Procedure, Program, Return
from certus.core.terms import Expr, Kind, MachineSort, machine

SIGNED: Final = "signed"
UNSIGNED: Final = "unsigned"
EITHER: Final = "either"
Reader = Expr | str  # a variable that the value is assigned to, or how it is read
_PASSING: Final = frozenset((Kind.ADD, Kind.SUB, Kind.NEG, Kind.CONST_ARRAY))


def signed_views(program: Program) -> Mapping[Expr, MachineSort]:
    """Return the variables whose quantities are signed numbers, with the signed sort."""
    reads: dict[str, dict[Expr, None]] = {SIGNED: {}, UNSIGNED: {}}
    copies: dict[Expr, dict[Expr, None]] = {}  # from a variable to those assigned to it
    for term, reader in read_terms(program):
        for x, how in _readers(term, reader):
            if isinstance(how, Expr) and _is_bit_pattern(how):
                copies.setdefault(how, {})[x] = None
            elif how != EITHER:
                reads[UNSIGNED if isinstance(how, Expr) else how][x] = None
    for names in reads.values():
        pending = list(names)
        while pending:
            for x in copies.get(pending.pop(), ()):
                if x not in names:
                    names[x] = None
                    pending.append(x)
    return {x: _signed(x) for x in reads[SIGNED] if x not in reads[UNSIGNED]}


def _is_bit_pattern(x: Expr) -> bool:
    """Return whether a variable is internal and unsigned: variables of the source keep their type."""
    sort = element(x.sort)
    return isinstance(sort, MachineSort) and not sort.signed and "$" in x.name


def _signed(x: Expr) -> MachineSort:
    sort = element(x.sort)
    assert isinstance(sort, MachineSort)
    return machine(sort.width, signed=True)


def read_terms(program: Program) -> Iterator[tuple[Expr, Reader]]:
    """Yield all terms of a program, each with its reader."""
    yield from ((term, x) for x, term in program.initial.items())
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            yield from _of_op(edge.op, procedure, program)


def _of_op(op: object, procedure: Procedure, program: Program) -> Iterator[tuple[Expr, Reader]]:
    if isinstance(op, Assume):
        yield op.condition, EITHER
    elif isinstance(op, Assign):
        yield from zip(op.values, op.targets, strict=True)
    elif isinstance(op, Return):
        yield from zip(op.values, procedure.results, strict=True)
    elif isinstance(op, Call):
        callee = program.procedures[op.procedure]
        yield from zip(op.arguments, callee.parameters, strict=True)
        yield from zip(callee.results, op.targets, strict=True)


def _readers(term: Expr, reader: Reader) -> Iterator[tuple[Expr, Reader]]:
    """Yield the internal unsigned variables in a term, and how each is read."""
    done: set[tuple[Expr, Reader]] = set()
    stack = [(term, reader)]
    while stack:
        part, how = stack.pop()
        if (part, how) in done:
            continue
        done.add((part, how))
        if part.kind is Kind.VAR:
            if _is_bit_pattern(part):
                yield part, how
        else:
            stack.extend(zip(part.args, _passed(part, how), strict=True))


def _passed(term: Expr, how: Reader) -> tuple[Reader, ...]:
    """Return how a term that is read in some way reads its arguments."""
    kind, args = term.kind, term.args
    if kind in _PASSING:
        return (how,) * len(args)
    if kind is Kind.ITE:
        return EITHER, how, how
    if kind is Kind.SELECT:
        return how, UNSIGNED
    if kind is Kind.STORE:
        return how, UNSIGNED, how
    if kind is Kind.EQ:
        return EITHER, EITHER
    if kind is Kind.MUL and sum(a.kind is not Kind.CONST for a in args) == 1:
        return (how,) * len(args)
    if kind is Kind.WRAP:
        return (_converted(term.sort, args[0]),)
    return (UNSIGNED,) * len(args)


def _converted(sort: object, argument: Expr) -> Reader:
    if not isinstance(sort, MachineSort) or not isinstance(argument.sort, MachineSort):
        return UNSIGNED
    if sort.width == argument.sort.width:
        return SIGNED if sort.signed else UNSIGNED
    return EITHER if sort.width < argument.sort.width else UNSIGNED
