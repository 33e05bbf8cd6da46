"""Find the variables whose bits are read as floating-point numbers.

A variable that the source declares with a floating-point type is one; and so is a variable that the source
does not name, if an operation on floating-point numbers reads it or is assigned to it, or if it is copied
from or to one that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.system import element
from certus.analysis.ranges.views import read_terms
from certus.core import floats
from certus.core.program import Program
from certus.core.terms import FLOATS, Expr, Kind, MachineSort
from certus.core.walk import postorder

_ORDERS: Final = {format.width: FloatOrder(format) for format in floats.FORMATS.values()}


def float_views(program: Program) -> Mapping[Expr, FloatOrder]:
    """Return the variables whose quantities are ranks of floating-point numbers."""
    viewed = {x: None for x in program.formats if _order(x) is not None}
    copies: dict[Expr, dict[Expr, None]] = {}
    for term, reader in read_terms(program):
        sources = tuple(_sources(term))
        for part in postorder(term):
            if part.kind in FLOATS and part.kind is not Kind.F_FROM:
                viewed.update(dict.fromkeys(x for a in part.args for x in _sources(a) if x.kind is Kind.VAR))
        if isinstance(reader, Expr):
            for x in sources:
                if x.kind is Kind.VAR:
                    copies.setdefault(x, {})[reader] = None
                    copies.setdefault(reader, {})[x] = None
                elif x.kind in FLOATS and x.kind is not Kind.F_TO:
                    viewed[reader] = None
    pending = [x for x in viewed if _is_open(x, program)]
    views = dict.fromkeys(pending)
    while pending:
        for x in copies.get(pending.pop(), ()):
            if x not in views and _is_open(x, program):
                views[x] = None
                pending.append(x)
    return {x: order for x in views if (order := _order(x)) is not None}


def _is_open(x: Expr, program: Program) -> bool:
    """Return whether a variable may be a floating-point number: the source does not name it otherwise."""
    return x in program.formats or x not in program.source_names


def _order(x: Expr) -> FloatOrder | None:
    sort = element(x.sort)
    return None if not isinstance(sort, MachineSort) or sort.signed else _ORDERS.get(sort.width)


def _sources(term: Expr) -> Iterator[Expr]:
    """Yield the terms that a value is copied from: through choices, and from and to elements of arrays."""
    stack, done = [term], set()
    while stack:
        part = stack.pop()
        if part in done:
            continue
        done.add(part)
        if part.kind is Kind.ITE:
            stack.extend(part.args[1:])
        elif part.kind in (Kind.SELECT, Kind.CONST_ARRAY):
            stack.append(part.args[0])
        elif part.kind is Kind.STORE:
            stack.extend((part.args[0], part.args[2]))
        else:
            yield part
