"""Guess claims about loops that walk through strings and buffers.

- *end*: an index is at most the place of an element with a constant value: a loop that looks for this value
  goes no further than `s + n - 1` after `s[n - 1] = 0`;
- *rest*: where an offset grows while a counter falls, the offset and what is left to count are together
  within the bound of the offset: `d - buffer + n <= size` in `while (n-- > 0) *d++ = 0`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from certus.core import build
from certus.core.loops import Loop
from certus.core.program import Location, Program
from certus.core.terms import Expr, Kind, MachineSort, machine
from certus.core.walk import postorder, variables
from certus.encoding.block_formula import BlockFormula
from certus.engines.arrays.claims import Claim, Step, comparisons, reads, written_elements
from certus.engines.arrays.equations import change_of
from certus.engines.arrays.objects import accesses, array_name
from certus.engines.arrays.states import after, choices

MOST = 120  # limit of claims


def walk_claims(
    program: Program, steps: Sequence[Step], loops: Sequence[Loop], at: Iterable[Location]
) -> dict[Location, list[Claim]]:
    """Return claims about indices and offsets that steps change by constants, for each location `at`."""
    changes = _changes(formula for _, formula in steps)
    ends = dict.fromkeys(_ends(steps, changes))
    claims = {}
    for each in at:
        around = [loop.body for loop in loops if each in loop.body]
        inside = [step for step in steps if any(step[0].source in body for body in around)]
        rests = dict.fromkeys(_rests(program, inside, _falling(inside, changes), changes))
        claims[each] = [Claim(None, formula) for formula in islice((*ends, *rests), MOST)]
    return claims


def _changes(formulas: Iterable[BlockFormula]) -> dict[Expr, list[int]]:
    """Return the constants by which steps change each variable."""
    changes: dict[Expr, dict[int, None]] = {}
    for formula in formulas:
        for x, value in formula.values.items():
            if isinstance(x.sort, MachineSort):
                for each in choices(value, formula):
                    if change := change_of(x, each):
                        changes.setdefault(x, {})[change] = None
    return {x: list(some) for x, some in changes.items()}


def _ends(steps: Sequence[Step], changes: Mapping[Expr, object]) -> Iterator[Expr]:
    """Yield that the indices that steps read and change are at most those where constants are written."""
    ends: dict[str, dict[Expr, None]] = {}
    walking: dict[str, dict[Expr, None]] = {}
    for _, formula in steps:
        symbols = frozenset(formula.symbols)
        for element, value in written_elements(formula):
            place = after(element, formula)
            if value.kind is Kind.CONST and place is not None and place.kind is Kind.SELECT:
                ends.setdefault(element.args[0].name, {})[place.args[1]] = None
        for term in accesses(formula):
            about = variables(index := term.args[1])
            if symbols.isdisjoint(about) and any(x in changes for x in about) and not reads(index):
                walking.setdefault(array_name(term), {})[index] = None
    for name, places in ends.items():
        for place in places:
            yield from (build.le(x, place) for x in walking.get(name, {}) if x is not place)


def _falling(steps: Sequence[Step], changes: Mapping[Expr, Sequence[int]]) -> dict[Expr, int]:
    """Return the variables that these steps only decrease, with the amount."""
    written = dict.fromkeys(x for _, formula in steps for x in formula.values)
    return {y: -changes[y][0] for y in written if len(changes.get(y, ())) == 1 and changes[y][0] < 0}


def _rests(
    program: Program,
    steps: Sequence[Step],
    falling: Mapping[Expr, int],
    changes: Mapping[Expr, Sequence[int]],
) -> Iterator[Expr]:
    """Yield the sums of offsets and falling counters within the bounds that accesses must keep."""
    for edge, formula in steps if falling else ():
        if edge.target not in program.error_locations:
            continue
        excluded = frozenset(formula.symbols)
        for atom in comparisons(formula):
            offset, most = atom.args
            growing = [c for x in variables(offset) for c in changes.get(x, ()) if c > 0]
            numbers = atom.kind is Kind.LE and isinstance(offset.sort, MachineSort)
            if numbers and growing and excluded.isdisjoint(variables(atom)):
                for y, by in falling.items():
                    yield from _sums(offset, most, y, max(1, _scale(offset) * growing[0] // by))


def _scale(offset: Expr) -> int:
    """Return the first factor of a product with a constant in an offset, 1 if there is none."""
    products = (t for t in postorder(offset) if t.kind is Kind.MUL and t.args[0].kind is Kind.CONST)
    return next((int(t.args[0].value) for t in products), 1)


def _sums(offset: Expr, most: Expr, y: Expr, factor: int) -> Iterator[Expr]:
    """Yield that `factor * y` is at most what the offset leaves of the bound, or of the end of the last
    element. The difference does not wrap, since the offset is within the bound. Nor does the product, in a
    sort that is wide enough."""
    sort = offset.sort
    assert isinstance(sort, MachineSort)
    if _width(y) > sort.width - (factor > 1):
        sort = machine(2 * max(sort.width, _width(y)), signed=True)
    counted = build.mul(build.constant(factor, sort), build.wrap(y, sort))
    left = build.sub(build.wrap(most, sort), build.wrap(offset, sort))
    yield build.le(counted, left)
    yield build.le(counted, build.add(left, build.constant(factor, sort)))


def _width(term: Expr) -> int:
    assert isinstance(term.sort, MachineSort)
    return term.sort.width
