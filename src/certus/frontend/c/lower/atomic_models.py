"""Atomic operations. There are no threads, so each is the plain operations it stands for.

The first argument points to the object; `lower` sees the others without the memory orders. A weak exchange
does not fail without cause, as on the processors whose sizes we use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import arguments
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.places import Place
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import U8, equal, from_bool, integer_sort, is_scalar, sort_of, to_sort
from certus.frontend.c.types import UNSIGNED_CHAR, CType, PointerType, unqualified

_OPERATIONS: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "add": build.add,
    "sub": build.sub,
    "and": build.bit_and,
    "or": build.bit_or,
    "xor": build.bit_xor,
    "nand": lambda a, b: build.bit_not(build.bit_and(a, b)),
}


def atomic(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    given: list[Expr] = yield from arguments(body, node)
    operation, _, arithmetic = entry.detail.partition(":")
    if operation == "store-to":  # the value comes first
        operation, given = "store", given[::-1]
    target = _object_type(node.arguments[-1 if entry.detail == "store-to" else 0])
    if operation == "set" or (operation == "clear" and entry.name == "__atomic_clear"):
        target = UNSIGNED_CHAR
    if target is None or not is_scalar(target) or (arithmetic and sort_of(target) is INT):
        return body.refuse(node.span, "unsupported-atomic", f"this use of `{entry.name}`", sort_of(node.type))
    step = _Step(body, node, places.at_address(target, given[0]), given[1:])
    if arithmetic:
        return step.update(_OPERATIONS[arithmetic], new=operation == "new")
    return _STEPS[operation](step)


def _object_type(pointer: ast.Expression) -> CType | None:
    plain = unqualified(pointer.type)
    return unqualified(plain.target) if isinstance(plain, PointerType) else None


class _Step:
    """One operation on the object at `place`, with the other arguments."""

    def __init__(self, body: Body, node: ast.Call, place: Place, given: list[Expr]) -> None:
        self.body, self.node, self.place, self.given = body, node, place, given
        self.span: Span = node.span

    def read(self, place: Place) -> Expr:
        return places.read(self.body, place, self.span)

    def write(self, place: Place, value: Expr) -> None:
        places.write(self.body, place, self._fitted(value), self.span, self.body.text(self.span))

    def _fitted(self, value: Expr) -> Expr:
        sort = sort_of(self.place.type)
        if isinstance(sort, MachineSort) and isinstance(value.sort, MachineSort):
            return to_sort(value, sort)
        return value

    def at(self, number: int) -> Place:
        """What an argument points to, of the type of the object."""
        return places.at_address(self.place.type, self.given[number])

    def load(self) -> Expr:
        return self.read(self.place)

    def load_into(self) -> None:
        self.write(self.at(0), self.read(self.place))

    def store(self) -> None:
        self.write(self.place, self.given[0])

    def store_from(self) -> None:
        self.write(self.place, self.read(self.at(0)))

    def exchange(self) -> Expr:
        old = self.read(self.place)
        self.write(self.place, self.given[0])
        return old

    def exchange_from(self) -> None:
        old, new = self.read(self.place), self.read(self.at(0))
        self.write(self.place, new)
        self.write(self.at(1), old)

    def compare(self) -> Expr:
        return self._compare(self.given[1])

    def compare_from(self) -> Expr:
        return self._compare(self.read(self.at(1)))

    def _compare(self, desired: Expr) -> Expr:
        """If the object has the expected value it gets the desired one, else that is what is expected now."""
        old, expected = self.read(self.place), self.read(self.at(0))
        same = equal(old, expected)
        self._choose(same, lambda: self.write(self.place, desired), lambda: self.write(self.at(0), old))
        return from_bool(same, integer_sort(self.node.type))

    def swap_if(self) -> Expr:
        return from_bool(self._swap()[1], integer_sort(self.node.type))

    def swapped_if(self) -> Expr:
        return self._swap()[0]

    def _swap(self) -> tuple[Expr, Expr]:
        old = self.read(self.place)
        same = equal(old, self._fitted(self.given[0]))
        self._choose(same, lambda: self.write(self.place, self.given[1]), lambda: None)
        return old, same

    def _choose(self, condition: Expr, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        body = self.body
        yes, no, after = (body.draft.node() for _ in range(3))
        body.branch(condition, yes, no, self.span, body.text(self.span), source_branch=False)
        for start, steps in ((yes, then), (no, otherwise)):
            body.at = start
            steps()
            body.draft.skip(body.at, after)
        body.at = after

    def set(self) -> Expr:
        old = self.read(self.place)
        self.write(self.place, build.constant(1, U8))
        return from_bool(build.ne(old, build.constant(0, U8)), integer_sort(self.node.type))

    def clear(self) -> None:
        sort = sort_of(self.place.type)
        assert sort is not None
        self.write(self.place, build.constant(0, sort))

    def update(self, operation: Callable[[Expr, Expr], Expr], *, new: bool) -> Expr:
        """Wraps around, also for signed types."""
        old = self.read(self.place)
        after = operation(old, self._fitted(self.given[0]))
        self.write(self.place, after)
        return after if new else old


_STEPS: Final[dict[str, Callable[[_Step], Expr | None]]] = {
    "load": _Step.load,
    "load-into": _Step.load_into,
    "store": _Step.store,
    "store-from": _Step.store_from,
    "exchange": _Step.exchange,
    "exchange-from": _Step.exchange_from,
    "compare": _Step.compare,
    "compare-from": _Step.compare_from,
    "swap-if": _Step.swap_if,
    "swapped-if": _Step.swapped_if,
    "set": _Step.set,
    "clear": _Step.clear,
}
