"""Find lost objects by watching an arbitrary one, for the answer to `InspectHeap`. Trusted.

Where the partition says `watched`, live objects of the heap are not counted in regions where they have
numbers (`encoding.lifetimes`). Instead, the question is asked about an arbitrary object: is there a live one
that no root reaches (`encoding.tracking`) and that no live object *before* it points to? "Before" is a strict
order of all watched objects: by regions, and in each region by numbers, upwards or downwards. If objects are
lost, consider the first lost one: a live object before it that points to it would be lost, too, so there is
none, and the answer is "no" in some execution. Conversely, let each live object be reached by a root, or
have a live object before it that points to it. Then a chain of pointers leads from a root to each live one,
and the answer is "yes".

The encoding does not search for the object that points to another one. Each field that holds addresses has a
*holder*: an array that maps an object to the one whose field was last set to its address, and to 0 after its
allocation. The question asks whether the holder is live and points to the object, so a wrong holder is sound.
Holders make a singly linked list look like a doubly linked one, and invariants about all objects need no
second quantifier.

A region has fewer than 2**(bits - 2) live objects ("allocations succeed").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.evidence import Point, in_frame
from certus.core.heap import Link, NumberedObjects
from certus.core.memory import Field, Pointer
from certus.core.program import Alloc, Assign, BasicOp, Havoc, InspectHeap, Procedure, Program, Store
from certus.core.terms import Expr, MachineSort, array
from certus.encoding.tracking import Frame, Key, Tracking, different

if TYPE_CHECKING:
    from certus.encoding.memory import MemoryLowering

Before = Callable[[Expr, Expr], Expr]  # whether the first number comes before the second
_UPWARDS: Before = build.lt
_DIRECTIONS: tuple[tuple[str, Before], ...] = (("up", _UPWARDS), ("down", lambda a, b: build.lt(b, a)))


class Watching:
    """The watched objects of one program."""

    def __init__(self, lowering: MemoryLowering, tracking: Tracking) -> None:
        self._lowering = lowering
        self._lifetimes = lowering.lifetimes
        self._address = lowering.address
        self._tracking = tracking

    @cached_property
    def objects(self) -> Mapping[int, NumberedObjects]:
        """The watched objects by region, in the order that "before" follows, with the fields that link
        them."""
        described = {}
        for number in self._order():
            links, others = tuple(self._links(number)), [f for f in self._fields(number) if f.holds is None]
            fields = tuple(self._lowering.array(number, field) for field in others)
            described[number] = replace(self._lifetimes.numbered(number), links=links, fields=fields)
        return described

    def _order(self) -> list[int]:
        """Return the watched regions: those that hold addresses of another come first, without cycles."""
        watched, order, entered = self._lifetimes.watched, list[int](), set[int]()
        for root in sorted(watched):
            work = [(root, False)]
            while work:
                number, done = work.pop()
                if done:
                    order.append(number)
                elif number not in entered:
                    entered.add(number)
                    held = {field.holds.region for field in self._fields(number) if field.holds is not None}
                    work += [(number, True), *((each, False) for each in sorted(held & watched))]
        return order[::-1]

    def _fields(self, number: int) -> Sequence[Field]:
        return self._lowering.partition.regions[number].fields or ()

    def _links(self, number: int) -> list[Link]:
        return [link for field in self._fields(number) if (link := self._link(number, field)) is not None]

    def _link(self, number: int, field: Field) -> Link | None:
        """Return the link that a field of a region is; None if it holds no address of a watched object."""
        if field.holds is None or not {number, field.holds.region} <= self._lifetimes.watched:
            return None
        holder = build.var(f"mem${number}${field.offset}$holder", array(self._address, self._address))
        self._lowering.declare(holder, None)
        phase = build.constant(self._address.wrap(field.holds.phase), self._address)
        return Link(self._lowering.array(number, field), field.holds.region, phase, holder)

    # ----------------------------------------------------------------------------- the operations

    def begun(self, op: Alloc) -> list[BasicOp]:
        """Return the assignments to holders after an allocation: nothing points to the object yet."""
        number = self._lowering.allocated(op).region
        into = [link for each in self.objects.values() for link in each.links if link.target == number]
        start, none = self._lowering.terms.variable(op.target), self._lowering.provenance.none
        values = tuple(build.store(link.holder, start, none) for link in into)
        return [Assign(tuple(link.holder for link in into), values)] if into else []

    def stored(self, op: Store) -> list[tuple[Expr, Expr]]:
        """Return the assignments of a store to holders."""
        pointer = self._lowering.types.of(op.address)
        assert isinstance(op.value.sort, MachineSort)
        field = None if pointer is None else self._lowering.types.field(pointer, op.value.sort.width // 8)
        link = None if pointer is None or field is None else self._link(pointer.region, field)
        if link is None or pointer is None:
            return []
        held = build.sub(self._lowering.provenance.word(op.value), link.phase)
        holder = self._lowering.index(op.address, pointer)
        return [(link.holder, build.store(link.holder, held, holder))]

    # ------------------------------------------------------------------------------- the question

    def asked(self, op: InspectHeap, procedure: Procedure) -> list[BasicOp]:
        """Return the statements that replace a question about the heap."""
        reached = self._tracking.reached([(procedure, {})]) if op.retained == "tracked" else {}
        choices: list[Expr] = []
        answers = [self._counted(reached)]
        for number in self.objects:
            ways = []
            for name, before in _DIRECTIONS:
                some = build.var(f"mem${number}$watch${name}", self._address)
                self._lowering.declare(some, None)
                choices.append(some)
                ways.append(self._kept(number, some, before, reached))
            answers.append(build.disjunction(ways))
        answer = Assign((op.target,), (build.conjunction(answers),))
        return [Havoc(tuple(choices)), answer] if choices else [answer]

    def tracked(self, program: Program, point: Point) -> Expr:
        """Return whether all objects on the heap are tracked at a point of the lowered `program`."""
        callers = [program.edge[call].source.procedure for call in point.calls]
        frames: list[Frame] = []
        for depth, name in enumerate((*callers, point.location.procedure)):
            local = {x: in_frame(x, depth) for x in program.procedures[name].variables}
            frames.append((self._lowering.original.procedures[name], local))
        reached = self._tracking.reached(frames)
        every = build.bound(0, self._address)
        answers = [self._counted(reached)]
        for number in self.objects:
            ways = [self._kept(number, every, before, reached) for _, before in _DIRECTIONS]
            answers.append(build.disjunction(build.forall((self._address,), way) for way in ways))
        return build.conjunction(answers)

    def _counted(self, reached: Mapping[Key, Expr]) -> Expr:
        """Return whether as many objects are reached as are live, of those that are counted."""
        if not self._lifetimes.counts:
            return build.TRUE
        counted = {key: holds for key, holds in reached.items() if key[0] not in self._lifetimes.watched}
        return self._lifetimes.retained(list(different(counted)))

    def _kept(self, number: int, some: Expr, before: Before, reached: Mapping[Key, Expr]) -> Expr:
        """Return whether a number is not that of a live object on the heap, or the object is reached, or a
        live one before it points to it."""
        target = self._lifetimes.located(Pointer(number, 0), some, None)
        assert target is not None, "a watched region has numbers"
        kept = [build.not_(self._lifetimes.tracks(number, target))]
        kept += (
            build.and_(holds, build.eq(start, some))
            for (region, start), holds in reached.items()
            if region == number and start is not None
        )
        for region, objects in self.objects.items():
            for link in objects.links:
                if link.target == number:
                    kept.append(self._held(region, link, some, before if region == number else None))
            if region == number:
                break
        return build.disjunction(kept)

    def _held(self, region: int, link: Link, some: Expr, before: Before | None) -> Expr:
        """Return whether the holder of an object is live, on the heap, before it, and points to it."""
        holder = build.select(link.holder, some)
        source = self._lifetimes.located(Pointer(region, 0), holder, None)
        phase = int(link.phase.value)
        signed = phase - (1 << self._address.width) if phase >> (self._address.width - 1) else phase
        held = build.select(link.memory, holder)
        target = self._lifetimes.located(Pointer(link.target, signed), held, None)
        assert source is not None
        assert target is not None
        conditions = [self._lifetimes.tracks(region, source), self._lifetimes.tracks(link.target, target)]
        conditions.append(build.eq(link.object_of(holder), some))
        return build.conjunction([*conditions, *([before(holder, some)] if before is not None else [])])
