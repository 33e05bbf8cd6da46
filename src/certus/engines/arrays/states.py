"""Guess claims without quantifiers that claims about all elements or objects rely on.

- *safe*: the condition of an error does not hold now (as in 1-induction);
- *defined*: a variable has the value that a step gave it, in terms of other variables: `size == n`;
- *ordered*: of two terms that are compared, one is at most the other: `i <= n`, or they differ: `*p != 0`;
- *aligned*: the low bits of a variable that changes by multiples of 4 are constant: `(p & 3) == 0`, so that
  `p < end` and `p != end - 4` mean `p + 4 < end`;
- *fixed*: an element has the value that a step wrote there: `s[n - 1] == 0`, `size[p] == n`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from certus.core import build
from certus.core.program import Program
from certus.core.terms import ArraySort, Expr, Kind, MachineSort
from certus.core.walk import substitute, variables
from certus.encoding.block_formula import BlockFormula, Merge
from certus.engines.arrays.claims import COMPARISONS, Claim, Step, comparisons, reads, written_elements
from certus.engines.arrays.equations import change_of

MOST: Final = 300  # limit of claims
CONSTANTS: Final = 3  # limit of constants of a variable


def state_claims(program: Program, steps: Sequence[Step]) -> list[Claim]:
    """Return claims about single variables and elements."""
    return _claims(f for step in steps for f in _formulas(program, step))


def order_claims(program: Program, steps: Sequence[Step]) -> list[Claim]:
    """Return inequalities between variables, equations `x == c` for variables that get only constants, and
    alignments of variables that grow in steps of several bytes."""
    inner = [formula for edge, formula in steps if edge.target not in program.error_locations]
    aligned = _alignments(inner)
    return _claims(chain(_constants(inner), aligned, *map(_bounds, inner), *map(_orders, inner)))


def _claims(formulas: Iterable[Expr]) -> list[Claim]:
    different = (f for f in dict.fromkeys(formulas) if f is not build.TRUE)
    return [Claim(None, formula) for formula in islice(different, MOST)]


def _formulas(program: Program, step: Step) -> Iterator[Expr]:
    edge, formula = step
    symbols = frozenset(formula.symbols)
    if edge.target in program.error_locations:
        if symbols.isdisjoint(variables(formula.guard)):
            yield build.not_(formula.guard)
        return
    for element, value in written_elements(formula):
        place, contents = after(element, formula), after(value, formula)
        if place is not None and contents is not None and not reads(contents):
            yield build.eq(place, contents)
    yield from (build.eq(x, term) for x, term in _definitions(formula))


def _definitions(formula: BlockFormula) -> Iterator[tuple[Expr, Expr]]:
    """Yield each variable that a step writes, with a term that has the same value after the step."""
    for x, value in formula.values.items():
        if not isinstance(x.sort, ArraySort):
            for each in choices(value, formula):
                term = after(each, formula, other_than=x)
                if term is not None and x not in variables(term):
                    yield x, term


def _bounds(formula: BlockFormula) -> Iterator[Expr]:
    """Yield the two inequalities of each definition: one stays true if the variable is only
    counted up or only counted down afterwards."""
    for x, term in _definitions(formula):
        if isinstance(x.sort, MachineSort):
            yield build.le(x, term)
            yield build.le(term, x)


def _constants(formulas: Iterable[BlockFormula]) -> Iterator[Expr]:
    """Yield `x == c` for each variable to which only constants and other such variables are assigned."""
    sources: dict[Expr, dict[Expr, None]] = {}
    for formula in formulas:
        for x, value in formula.values.items():
            sources.setdefault(x, {}).update(dict.fromkeys(choices(value, formula)))
    copies = {x: own for x, own in sources.items() if all(v.kind in (Kind.CONST, Kind.VAR) for v in own)}
    changed = True
    while changed:
        changed = False
        for own in copies.values():
            more = [c for v in own for c in copies.get(v, ()) if c.kind is Kind.CONST and c not in own]
            own.update(dict.fromkeys(more))
            changed |= bool(more)
    for x, own in copies.items():
        yield from islice((build.eq(x, c) for c in own if c.kind is Kind.CONST), CONSTANTS)


def _alignments(formulas: Iterable[BlockFormula]) -> Iterator[Expr]:
    """Yield that the low bits of x are those of a constant, or 0, for each variable x that a step changes by
    a multiple of a power of 2."""
    powers: dict[Expr, int] = {}
    starts: dict[Expr, dict[int, None]] = {}
    for formula in formulas:
        for x, value in formula.values.items():
            if isinstance(x.sort, MachineSort):
                for each in choices(value, formula):
                    if each.kind is Kind.CONST:
                        starts.setdefault(x, {0: None})[int(each.value)] = None
                    elif change := change_of(x, each):
                        powers[x] = powers.get(x, 0) | change
    for x, steps in powers.items():
        mask = (steps & -steps) - 1
        for low in dict.fromkeys(start & mask for start in starts.get(x, {0: None})):
            if mask:
                bits = build.bit_and(x, build.constant(mask, x.sort))
                yield build.eq(bits, build.constant(low, x.sort))


def choices(value: Expr, formula: BlockFormula) -> list[Expr]:
    """Return the values between which branches and conditional expressions choose."""
    merges = {d.symbol: [v for _, v in d.choices] for d in formula.defined if isinstance(d, Merge)}
    values: dict[Expr, None] = {}
    work = [value]
    while work:
        term = work.pop()
        if term in merges:
            work += reversed(merges.pop(term))
        elif term.kind is Kind.ITE:
            work += reversed(term.args[1:])
        else:
            values[term] = None
    return list(values)


def _orders(formula: BlockFormula) -> Iterator[Expr]:
    """Yield inequalities between the terms that a step compares, about the state before the step and
    about the state after it. If these are elements, only whether they are equal."""
    symbols = frozenset(formula.symbols)
    for atom in comparisons(formula):
        before = atom if symbols.isdisjoint(variables(atom)) else None
        for each in (before, after(atom, formula)):
            if each is not None and each.kind in COMPARISONS and isinstance(each.args[0].sort, MachineSort):
                yield build.ne(*each.args)
                if reads(each):
                    yield build.eq(*each.args)
                else:
                    yield build.le(*each.args)
                    yield build.le(*reversed(each.args))


def after(term: Expr, formula: BlockFormula, other_than: Expr | None = None) -> Expr | None:
    """Return a term over the state after a step, without a certain variable, that equals a term inside the
    step; None if none is known."""
    values = formula.values.items()
    names = {v: x for x, v in values if v.kind is not Kind.CONST and x is not other_than}
    own = frozenset(names.values())
    about = variables(named := substitute(term, names))
    unchanged = all(y in own or y not in formula.values for y in about)
    return named if unchanged and frozenset(formula.symbols).isdisjoint(about) else None
