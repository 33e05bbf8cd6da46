"""Where pointers point: unification, with offsets (after Steensgaard).

Each variable that can hold an address has a `Node`, the place it points to. Nodes that may be one place are
unified; a class of nodes keeps the distance of each to its root, exactly or, once distances contradict each
other, modulo their greatest common divisor: the stride. A place that is accessed as a pointer holds a
node of its own, the place the pointer there points to. Reading one class at two offsets that are equal modulo
the stride gives the same node, so refining a stride may unify further.

The result is a proposal. It is turned into a `Partition` by `transform.memory` and checked by `validate`.
"""

from __future__ import annotations

from collections import deque
from math import gcd

from certus.core.program import Edge


class Node:
    """A place. For a root the fields describe its class, all offsets relative to the root:
    `contents` what pointers at an offset point to, `accesses` (offset, width) and `allocs` (edge, offset)."""

    __slots__ = ("accesses", "allocs", "contents", "offset", "parent", "stride")

    def __init__(self) -> None:
        self.parent: Node | None = None
        self.offset = 0  # from the parent
        self.stride = 0
        self.accesses: dict[tuple[int, int], None] = {}
        self.contents: dict[int, Node] = {}
        self.allocs: dict[Edge, int] = {}

    def root(self) -> tuple[Node, int]:
        """The root of the class, and the offset from it."""
        path: list[Node] = []
        at = self
        while at.parent is not None:
            path.append(at)
            at = at.parent
        total = 0
        for node in reversed(path):
            total += node.offset
            node.parent, node.offset = at, total
        return at, total

    @property
    def pointing(self) -> bool:
        """Whether the class has objects, or is accessed as if it had."""
        root, _ = self.root()
        return bool(root.allocs or root.accesses)


Spot = tuple[Node, int]  # a place at a distance from a node


class Places:
    """The classes. `changes` counts what has been learnt."""

    def __init__(self) -> None:
        self.changes = 0
        self._pending: deque[tuple[Spot, Spot]] = deque()

    def unify(self, one: Spot, other: Spot) -> None:
        """The two places may be the same."""
        self._pending.append((one, other))
        while self._pending:
            self._unify(*self._pending.popleft())

    def _unify(self, one: Spot, other: Spot) -> None:
        (kept, at), (gone, where) = one[0].root(), other[0].root()
        shift = at + one[1] - where - other[1]
        if kept is gone:
            self._narrow(kept, shift)
            return
        self.changes += 1
        gone.parent, gone.offset = kept, shift
        stride, gone_contents = gcd(kept.stride, gone.stride), gone.contents
        accesses, allocs = gone.accesses, gone.allocs
        gone.contents, gone.accesses, gone.allocs = {}, {}, {}
        self._narrow(kept, stride)
        for offset, node in gone_contents.items():
            self._hold(kept, offset + shift, node)
        for offset, width in accesses:
            kept.accesses[self._key(kept, offset + shift), width] = None
        for edge, offset in allocs.items():
            self._add_alloc(kept, edge, offset + shift)

    def narrow(self, node: Node, step: int) -> None:
        """Places of the class that are `step` apart may be one."""
        self._narrow(node.root()[0], step)
        while self._pending:
            self._unify(*self._pending.popleft())

    def _narrow(self, root: Node, step: int) -> None:
        stride = gcd(root.stride, step)
        if stride == root.stride:
            return
        self.changes += 1
        root.stride = stride
        contents, accesses = root.contents, root.accesses
        root.contents, root.accesses = {}, {}
        for offset, node in contents.items():
            self._hold(root, offset, node)
        for offset, width in accesses:
            root.accesses[self._key(root, offset), width] = None

    def _key(self, root: Node, offset: int) -> int:
        return offset % root.stride if root.stride else offset

    def _hold(self, root: Node, offset: int, node: Node) -> None:
        key = self._key(root, offset)
        known = root.contents.setdefault(key, node)
        if known is not node:
            self._pending.append(((known, 0), (node, 0)))

    def _add_alloc(self, root: Node, edge: Edge, offset: int) -> None:
        root.allocs[edge] = offset
        self._narrow(root, offset - next(iter(root.allocs.values())))

    def alloc(self, spot: Spot, edge: Edge) -> None:
        """An object starts at the place."""
        root, offset = spot[0].root()
        if edge not in root.allocs:
            self.changes += 1
            self._add_alloc(root, edge, offset + spot[1])
            self.narrow(root, 0)

    def access(self, spot: Spot, width: int) -> None:
        """`width` bytes at the place are read or written."""
        root, offset = spot[0].root()
        key = (self._key(root, offset + spot[1]), width)
        if key not in root.accesses:
            self.changes += 1
            root.accesses[key] = None

    def held(self, spot: Spot) -> Node:
        """What a pointer kept at the place points to."""
        root, offset = spot[0].root()
        key = self._key(root, offset + spot[1])
        if key not in root.contents:
            self.changes += 1
            root.contents[key] = Node()
        return root.contents[key]

    def base(self, root: Node) -> int:
        """Where the objects of a class start."""
        return next(iter(root.allocs.values()), 0)

    def fields(self, root: Node) -> list[tuple[int, int]] | None:
        """The accesses as (offset from the start of an object, width); None if some overlap."""
        base, stride = self.base(root), root.stride
        found = sorted({(self._key(root, offset - base), width) for offset, width in root.accesses})
        end = found[0][0] if found else 0
        for offset, width in found:
            if offset < end or (stride and offset + width > stride):
                return None
            end = offset + width
        return found
