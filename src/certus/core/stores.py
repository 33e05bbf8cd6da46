"""Reading a constant index from a chain of writes at constant indices, without passing every write.

Walked stretches of a chain are remembered at the term where they begin: what they write, and where the chain
goes on below. A stretch at least as long as the next one is joined with it, like a carry in a binary counter,
so that a chain of n writes has a logarithmic number of stretches, and all of them together n log n entries.
"""

from __future__ import annotations

from certus.core.terms import Expr, Kind, Stretch

SHORT = 32  # writes that are walked without remembering them


def read(array: Expr, index: Expr) -> tuple[Expr | None, Expr]:
    """What the writes at constant indices on top of `array` leave at the constant `index`, if one of them is
    there; and the array below those that are elsewhere."""
    store, constant = Kind.STORE, Kind.CONST  # members of enumerations are slow to find
    at = start = array
    walked = 0
    found: Expr | None = None
    while found is None and at.kind is store:
        if at.stretch is not None:
            at = _remembered(start, walked, at)
            writes, below = _joined(at)
            found = writes.get(index)
            at = start = below
            walked = 0
            continue
        below, written, value = at.args
        if written is index:
            found = value
        elif written.kind is constant:
            at = below
            walked += 1
        else:
            break
    _remembered(start, walked, at)
    return found, at


def _remembered(start: Expr, walked: int, end: Expr) -> Expr:
    """Where the stretch to `end` is remembered; `end` itself if it is short."""
    if walked <= SHORT:
        return end
    writes: dict[Expr, Expr] = {}
    at = start
    for _ in range(walked):
        below, written, value = at.args
        writes.setdefault(written, value)
        at = below
    start.stretch = (writes, end)
    return start


def _joined(at: Expr) -> Stretch:
    """The stretch remembered at a term, joined with those below it that are no longer."""
    assert at.stretch is not None
    writes, below = at.stretch
    while below.stretch is not None and len(writes) >= len(below.stretch[0]):
        further, below = below.stretch
        writes = {**further, **writes}
    at.stretch = (writes, below)
    return at.stretch
