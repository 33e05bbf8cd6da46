"""Compute points-to classes by unification with offsets (after Steensgaard).

Each variable that can hold an address has a `Node`: the place it points to. Nodes that may be the same place
are unified. A class of nodes keeps the distance of each node to its root: exactly or, once distances
contradict each other, modulo their greatest common divisor, the stride. A place that is accessed as a pointer
contains a node of its own: the place that the pointer points to. Reading one class at two offsets that are
equal modulo the stride gives the same node, so refining a stride may cause further unification.

The result is a proposal: `passes.memory` turns it into a `Partition`, and `validate` checks that.
"""

from __future__ import annotations

from collections import deque
from math import gcd

from certus.core.program import Edge


class Node:
    """A place in memory. The fields of a root describe its class, with offsets relative to the root:
    `contents` are the targets of pointers at an offset, `accesses` pairs of offset and width, `allocs` the
    allocations with their offsets."""

    __slots__ = ("accesses", "allocs", "contents", "offset", "parent", "stride")

    def __init__(self) -> None:
        self.parent: Node | None = None
        self.offset = 0  # relative to the parent
        self.stride = 0
        self.accesses: dict[tuple[int, int], None] = {}
        self.contents: dict[int, Node] = {}
        self.allocs: dict[Edge, int] = {}

    def root(self) -> tuple[Node, int]:
        """Return the root of the class and the offset from it."""
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
        """Tell whether the class has objects, or is accessed as if it had some."""
        root, _ = self.root()
        return bool(root.allocs or root.accesses)


Spot = tuple[Node, int]  # the place at a distance from a node


class Places:
    """The classes of places; `changes` counts their changes."""

    def __init__(self) -> None:
        self.changes = 0
        self._pending: deque[tuple[Spot, Spot]] = deque()

    def unify(self, one: Spot, other: Spot) -> None:
        """Unify two places."""
        self._pending.append((one, other))
        while self._pending:
            self._unify(*self._pending.popleft())

    def _unify(self, one: Spot, other: Spot) -> None:
        (kept, at), (merged, where) = one[0].root(), other[0].root()
        shift = at + one[1] - where - other[1]
        if kept is merged:
            self._narrow(kept, shift)
            return
        self.changes += 1
        merged.parent, merged.offset = kept, shift
        stride, contents = gcd(kept.stride, merged.stride), merged.contents
        accesses, allocs = merged.accesses, merged.allocs
        merged.contents, merged.accesses, merged.allocs = {}, {}, {}
        self._narrow(kept, stride)
        for offset, node in contents.items():
            self._hold(kept, offset + shift, node)
        for offset, width in accesses:
            kept.accesses[self._key(kept, offset + shift), width] = None
        for edge, offset in allocs.items():
            self._add_alloc(kept, edge, offset + shift)

    def narrow(self, node: Node, step: int) -> None:
        """Unify places of the class whose distance is a multiple of `step`."""
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
        held = root.contents.setdefault(key, node)
        if held is not node:
            self._pending.append(((held, 0), (node, 0)))

    def _add_alloc(self, root: Node, edge: Edge, offset: int) -> None:
        root.allocs[edge] = offset
        self._narrow(root, offset - next(iter(root.allocs.values())))

    def alloc(self, spot: Spot, edge: Edge) -> None:
        """Record that an object starts at the place."""
        root, offset = spot[0].root()
        if edge not in root.allocs:
            self.changes += 1
            self._add_alloc(root, edge, offset + spot[1])
            self.narrow(root, 0)

    def access(self, spot: Spot, width: int) -> None:
        """Record a read or write of `width` bytes at the place."""
        root, offset = spot[0].root()
        key = (self._key(root, offset + spot[1]), width)
        if key not in root.accesses:
            self.changes += 1
            root.accesses[key] = None

    def held(self, spot: Spot) -> Node:
        """Return the target of a pointer stored at the place."""
        root, offset = spot[0].root()
        key = self._key(root, offset + spot[1])
        if key not in root.contents:
            self.changes += 1
            root.contents[key] = Node()
        return root.contents[key]

    def base(self, root: Node) -> int:
        """Return the offset at which the objects of a class start."""
        return next(iter(root.allocs.values()), 0)

    def fields(self, root: Node) -> list[tuple[int, int]] | None:
        """Return the accesses as (offset from the start of an object, width); None if some overlap."""
        base, stride = self.base(root), root.stride
        fields = sorted({(self._key(root, offset - base), width) for offset, width in root.accesses})
        end = fields[0][0] if fields else 0
        for offset, width in fields:
            if offset < end or (stride and offset + width > stride):
                return None
            end = offset + width
        return fields
