"""Lifetimes: which objects begin and end where control passes from one scope to another.

An object of a block lives from the entry of the block to its end, however these are reached: by running into
and out of the block, by `break`, `continue`, `return`, `goto` or a `case` label. Which objects a block has is
known only when all of it has been lowered (compound literals and temporaries count), so passages between
scopes are collected and become `Alloc` and `Free` steps at the end.

A variable-length array begins at its declaration and ends with its block; C forbids to jump over it into its
scope, so those declared before a jump, in the order of the text, are those that end there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Alloc, BasicOp, Free
from certus.core.terms import Expr
from certus.frontend.graph import Draft


@dataclass(slots=True, eq=False)
class StackObject:
    """An object of automatic storage. `base` is the variable that holds its address."""

    base: Expr
    size: int
    align: int
    name: str
    span: Span
    zero: bool = False  # its initialiser leaves the rest of it zero


@dataclass(slots=True, eq=False)
class Scope:
    """`span` is the block, the loop or the function that the scope belongs to."""

    parent: Scope | None
    span: Span
    objects: list[StackObject] = field(default_factory=list)
    dynamic: list[Expr] = field(default_factory=list)  # addresses of variable-length arrays, so far
    whole: bool = False  # its names belong to all of it: those that a `for` declares

    def from_here(self, declared: Span) -> Span:
        """The stretch in which a name can be used that is declared in this scope."""
        own = self.span
        line, column = (own.line, own.column) if self.whole else (declared.end_line, declared.end_column)
        return Span(own.file, line, column, own.end_line, own.end_column)

    def chain(self) -> list[Scope]:
        """This scope and those around it."""
        found, at = [], self
        while True:
            found.append(at)
            if at.parent is None:
                return found
            at = at.parent


@dataclass(slots=True)
class Passage:
    """Control goes from `source` in the scope `left` to `target` in the scope `entered` (None: outside)."""

    source: int
    target: int
    left: Scope | None
    entered: Scope | None
    order: int
    span: Span
    text: str
    dynamic: tuple[tuple[Scope, int], ...]  # how many variable-length arrays each scope left has


class Passages:
    """All passages of one function."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._passages: list[Passage] = []

    def add(
        self, source: int, target: int, left: Scope | None, entered: Scope | None, span: Span, text: str
    ) -> Passage:
        """A passage; a `goto` fills in target and scope when the label is known."""
        order = self._draft.reserve()
        dynamic = tuple((s, len(s.dynamic)) for s in left.chain() if s.dynamic) if left else ()
        made = Passage(source, target, left, entered, order, span, text, dynamic)
        self._passages.append(made)
        return made

    def resolve(self) -> None:
        """Make the steps of every passage."""
        for passage in self._passages:
            ops = _ops(passage)
            at = passage.source
            for number, (op, span, text) in enumerate(ops):
                last = number == len(ops) - 1
                after = passage.target if last else self._draft.node()
                self._draft.edge(at, op, after, span, text, order=(passage.order, number))
                at = after
            if not ops:
                place = (passage.order, 0)
                self._draft.jump(passage.source, passage.target, passage.span, passage.text, place)


def _ops(passage: Passage) -> list[tuple[BasicOp, Span, str]]:
    left = passage.left.chain() if passage.left else []
    entered = passage.entered.chain() if passage.entered else []
    while left and entered and left[-1] is entered[-1]:
        left.pop()
        entered.pop()
    ops: list[tuple[BasicOp, Span, str]] = []
    counts = {id(scope): number for scope, number in passage.dynamic}
    for scope in left:
        ended = [(v, "array") for v in reversed(scope.dynamic[: counts.get(id(scope), 0)])]
        ended += [(o.base, o.name) for o in reversed(scope.objects)]
        ops += [(Free(base, "stack"), passage.span, f"end of {name}") for base, name in ended]
    for scope in reversed(entered):
        for o in scope.objects:
            alloc = Alloc(o.base, build.integer(o.size), o.align, "stack", o.name, o.zero)
            ops.append((alloc, o.span, f"begin of {o.name}"))
    return ops
