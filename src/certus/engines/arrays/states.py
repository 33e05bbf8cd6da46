"""Guess claims without quantifiers that claims about all elements or objects rely on.

- *safe*: the condition of an error does not hold now (as in 1-induction);
- *defined*: a variable has the value that a step gave it, in terms of other variables: `size == n`;
- *ordered*: of two terms that are compared, one is at most the other: `i <= n`;
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

MOST: Final = 300  # limit of claims
CONSTANTS: Final = 3  # limit of constants of a variable


def state_claims(program: Program, steps: Sequence[Step]) -> list[Claim]:
    """Return claims about single variables and elements."""
    return _claims(f for step in steps for f in _formulas(program, step))


def order_claims(program: Program, steps: Sequence[Step]) -> list[Claim]:
    """Return inequalities between variables, and equations `x == c` for variables that get only constants."""
    inner = [formula for edge, formula in steps if edge.target not in program.error_locations]
    return _claims(chain(_constants(inner), *map(_bounds, inner), *map(_orders, inner)))


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
        place, contents = _after(element, formula), _after(value, formula)
        if place is not None and contents is not None and not reads(contents):
            yield build.eq(place, contents)
    yield from (build.eq(x, term) for x, term in _definitions(formula))


def _definitions(formula: BlockFormula) -> Iterator[tuple[Expr, Expr]]:
    """Yield each variable that a step writes, with a term that has the same value after the step."""
    names = _names(formula)
    for x, value in formula.values.items():
        if not isinstance(x.sort, ArraySort) and names.get(value) is not x:
            for each in _choices(value, formula):
                term = _after(each, formula)
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
            sources.setdefault(x, {}).update(dict.fromkeys(_choices(value, formula)))
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


def _choices(value: Expr, formula: BlockFormula) -> list[Expr]:
    """Return the values between which branches and conditional expressions choose."""
    merges = {d.symbol: [v for _, v in d.choices] for d in formula.defined if isinstance(d, Merge)}
    found: dict[Expr, None] = {}
    work = [value]
    while work:
        term = work.pop()
        if term in merges:
            work += reversed(merges.pop(term))
        elif term.kind is Kind.ITE:
            work += reversed(term.args[1:])
        else:
            found[term] = None
    return list(found)


def _orders(formula: BlockFormula) -> Iterator[Expr]:
    """Yield inequalities between the terms that a step compares, about the state before the step and
    about the state after it."""
    symbols = frozenset(formula.symbols)
    for atom in comparisons(formula):
        if not isinstance(atom.args[0].sort, MachineSort) or reads(atom):
            continue
        before = atom if symbols.isdisjoint(variables(atom)) else None
        for each in (before, _after(atom, formula)):
            if each is not None and each.kind in COMPARISONS:
                yield build.le(*each.args)
                yield build.le(*reversed(each.args))


def _names(formula: BlockFormula) -> dict[Expr, Expr]:
    """Return for each value that a step computes the variable that has this value after the step."""
    return {value: x for x, value in formula.values.items() if value.kind is not Kind.CONST}


def _after(term: Expr, formula: BlockFormula) -> Expr | None:
    """Return a term over the state after a step that equals a term inside the step; None if none is known."""
    names = _names(formula)
    own = frozenset(names.values())
    about = variables(named := substitute(term, names))
    unchanged = all(y in own or y not in formula.values for y in about)
    return named if unchanged and frozenset(formula.symbols).isdisjoint(about) else None
