"""Packs: small sets of variables of a procedure that widening relates to each other.

A hull over all columns at once costs more with every variable, whatever it has to do with the others. So
variables are put together that a statement, a condition or a call mentions together, and then those that
change together on some way through a block: first come, first served, while a pack has no more than `SIZE` of
them. What a statement relates across packs is a pack of its own, and every variable is in some pack. Packs
may overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from certus.core.program import Call
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder, variables
from certus.engines.linear.transitions import Frame, Path, Transitions

SIZE = 5  # variables, each with its value at the entry and now
ATOMS = (Kind.LE, Kind.LT, Kind.EQ)

Pack = tuple[Expr, ...]


def packs(frame: Frame, transitions: Transitions, size: int = SIZE) -> tuple[Pack, ...]:
    """The packs of a procedure, in the order of its columns."""
    place = {variable: number for number, variable in enumerate(frame.state)}
    pack_of: dict[Expr, dict[Expr, None]] = {variable: {variable: None} for variable in frame.state}
    across: dict[Pack, None] = {}
    for group in _groups(frame, transitions):
        related = [variable for variable in group if variable in place]
        merged = dict.fromkeys(x for variable in related for x in pack_of[variable])
        if len(merged) <= size:
            for variable in merged:
                pack_of[variable] = merged
        elif len(related) <= size:
            across[tuple(sorted(related, key=place.__getitem__))] = None
    found = dict.fromkeys(tuple(sorted(pack, key=place.__getitem__)) for pack in pack_of.values())
    whole = [frozenset(pack) for pack in found]
    found.update((pack, None) for pack in across if not any(other.issuperset(pack) for other in whole))
    return tuple(found)


def _groups(frame: Frame, transitions: Transitions) -> Iterator[Sequence[Expr]]:
    """The variables that belong together, the closest ones first."""
    later: list[Sequence[Expr]] = []
    for edge in frame.procedure.edges:
        if isinstance(edge.op, Call):
            yield [*variables(*edge.op.arguments), *edge.op.targets]
            continue
        for path in transitions.paths(edge):
            yield from _related(path)
            later.append(tuple(path.values))
    yield from later


def _related(path: Path) -> Iterator[Sequence[Expr]]:
    for atom in postorder(*path.conditions):
        if atom.kind in ATOMS:
            yield tuple(variables(atom))
    by_input: dict[Expr, dict[Expr, None]] = {}
    inputs = {symbol for _, symbols in path.inputs for symbol in symbols}
    for target, value in path.values.items():
        used = tuple(variables(value))
        yield (target, *used)
        for symbol in used:
            if symbol in inputs:
                by_input.setdefault(symbol, {})[target] = None
    yield from map(tuple, by_input.values())
