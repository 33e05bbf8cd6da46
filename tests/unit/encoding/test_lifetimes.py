"""Questions about memory where memory operations are replaced: every kind of region, and the known traps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.builders import ProgramBuilder
from tests.laws.memory_programs import run

from certus.check.proofs.partition import check_partition
from certus.core import build
from certus.core.memory import Partition
from certus.core.program import Access, Alloc, Free, Havoc, Inspect, InspectHeap, Op, Program, Retained
from certus.core.terms import BOOL, Expr, machine
from certus.encoding.addresses import MARGIN
from certus.encoding.memory import lower_memory
from certus.passes.memory import find_partition
from certus.passes.slice import slice_program

I32, I64 = machine(32, signed=True), machine(64, signed=True)
U32, U64 = machine(32, signed=False), machine(64, signed=False)


class Questions:
    """A straight program that asks questions; `inputs` are the values of its havocs."""

    def __init__(self, bits: int = 64) -> None:
        self.b = ProgramBuilder()
        self.bits = bits
        self.inputs: dict[int, int] = {}
        self._count = 0
        self.i = self.b.local("main", "i", I32)
        self.j = self.b.local("main", "j", I64)
        self.w = self.b.local("main", "w", machine(bits, signed=False))
        self.p, self.q, self.x, self.y = (self.b.local("main", name) for name in "pqxy")

    def do(self, *ops: Op) -> Questions:
        for op in ops:
            self.b.edge("main", f"s{self._count}" if self._count else "entry", f"s{self._count + 1}", op)
            self._count += 1
        return self

    def input(self, x: Expr, value: int) -> Questions:
        self.inputs[self._count] = value
        return self.do(Havoc((x,)))

    def ask(
        self, base: Expr, offset: Expr | int = 0, size: Expr | int = 4, access: Access = "read"
    ) -> Questions:
        count = build.integer(size) if isinstance(size, int) else size
        return self.do(Inspect(self._answer(), self.b.address(base, offset), count, access))

    def ask_heap(self, retained: Retained) -> Questions:
        return self.do(InspectHeap(self._answer(), retained))

    def _answer(self) -> Expr:
        return self.b.local("main", f"ok{self._count}", BOOL)

    def same(self, one: Expr, other: Expr) -> Op:
        """Put the objects of two pointers into one region: a choice that takes the first."""
        chosen = build.ite(build.eq(self.i, build.constant(12345, I32)), other, one)
        return self.b.assign((one, chosen))

    @property
    def program(self) -> Program:
        named = {x: x.name for x in (self.p, self.q)}
        return replace(self.b.build(), pointer_bits=self.bits, source_names=named)

    def partition(self) -> Partition:
        partition = find_partition(self.program)
        assert check_partition(self.program, partition) is None
        return partition

    def answers(self) -> list[bool]:
        found, _ = run(lower_memory(self.program, self.partition()), self.inputs)
        return [answer is True for _, answer in found.answers]


def elements(index: Expr, size: int = 4) -> Expr:
    return build.scale(size, build.to_int(index))


def test_a_program_without_questions_gets_no_variables() -> None:
    t = Questions()
    t.do(t.b.alloc(t.p, 8, storage="heap"), t.b.store(t.p, elements(t.i), t.i), Free(t.p, "heap"))
    lowered = lower_memory(t.program, t.partition())
    names = [x.name for x in (*lowered.globals, *lowered.procedures["main"].variables)]
    assert not any(name.endswith(("$live", "$dead", "$size", "$base", "$heap")) for name in names)


@pytest.mark.parametrize(
    ("offset", "size", "valid"), [(0, 8, True), (4, 4, True), (4, 5, False), (-1, 1, False)]
)
def test_an_object_in_variables(offset: int, size: int, valid: bool) -> None:
    t = Questions()
    t.do(t.b.alloc(t.x, 8), t.b.store(t.x, 0, t.i)).ask(t.x, offset, size)
    assert t.partition().regions[0].storage == "locals"
    assert t.answers() == [valid]


def test_an_object_in_variables_ends() -> None:
    t = Questions()
    t.do(t.b.alloc(t.x, 8), t.b.store(t.x, 0, t.i)).ask(t.x)
    t.do(Free(t.x, "stack")).ask(t.x)
    t.do(t.b.alloc(t.x, 8)).ask(t.x)
    assert t.answers() == [True, False, True]


def two_nodes(t: Questions) -> Questions:
    """Two objects of 16 bytes in a region of stride 0: pointers in `p` and `q`."""
    t.do(t.b.alloc(t.x, 16, storage="heap"), t.b.alloc(t.y, 16, storage="heap"))
    t.do(t.b.assign((t.p, t.x)), t.b.assign((t.q, t.y)), t.same(t.p, t.q))
    return t.do(t.b.store(t.p, 8, t.i), t.b.store(t.q, 8, t.i))


def test_numbered_objects_end_one_by_one() -> None:
    t = two_nodes(Questions())
    t.ask(t.p, 8).ask(t.q, 8).ask(t.p, 12, 8)
    t.do(Free(t.p, "heap")).ask(t.p, 8).ask(t.q, 8).ask(t.p, 0, 0, "free").ask(t.q, 0, 0, "free")
    assert [(r.stride, r.layout, r.storage) for r in t.partition().regions] == [(0, "fixed", "arrays")]
    assert t.answers() == [True, True, False, False, True, False, True]


def two_arrays(t: Questions) -> Questions:
    """Two arrays of 16 bytes in a region of stride 4: pointers in `p` and `q`."""
    t.do(t.b.alloc(t.x, 16, storage="heap"), t.b.alloc(t.y, 16, storage="heap"))
    t.do(t.b.assign((t.p, t.x)), t.b.assign((t.q, t.y)), t.same(t.p, t.q))
    return t.do(t.b.store(t.p, 0, t.i), t.b.load(t.i, t.p, elements(t.i)))


def test_an_address_is_judged_by_the_object_it_was_derived_from() -> None:
    t = two_arrays(Questions()).input(t_index := build.var("main.i", I32), 8)
    t.ask(t.p, elements(t_index)).ask(t.q).ask(t.p, 12).ask(t.p, 16).ask(t.p, 16, 0)
    t.do(t.b.assign((t.p, build.add(t.p, elements(t_index))))).ask(t.p).ask(t.p, -32)
    assert [(r.stride, r.layout, r.storage) for r in t.partition().regions] == [(4, "fixed", "arrays")]
    assert t.answers() == [False, True, True, False, True, False, True]


def test_twins_go_through_memory_and_calls() -> None:
    t = Questions()
    b = t.b
    parameter, result = b.parameter("f", "a"), b.result("f")
    b.edge("f", "entry", "exit", b.returns(build.add(parameter, build.integer(4))))
    cell = b.local("main", "cell")
    two_arrays(t)
    t.do(b.alloc(cell, 8), b.store(cell, 0, build.wrap(t.q, U64)), b.load(t.w, cell, 0))
    t.do(b.assign((t.p, build.to_int(t.w))), b.call("f", t.p, into=(t.q,)))
    t.ask(t.p, 12).ask(t.q, 8).ask(t.q, 12).ask(t.q, -4).do(Free(t.p, "heap")).ask(t.q).ask(t.x)
    assert result.name == "f.result"
    assert t.answers() == [True, True, False, True, False, True]


def test_an_uninitialised_pointer_is_valid_nowhere() -> None:  # trap 1
    t = Questions()
    t.do(t.b.alloc(t.x, 4, storage="heap"), t.b.assign((t.p, t.x)), Havoc((t.p,)), t.b.store(t.p, 0, t.i))
    t.ask(t.p, 0, 4, "write").ask(t.x)
    assert t.answers() == [False, True]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("assigned", [False, True])
def test_indexes_do_not_wrap_around(bits: int, assigned: bool) -> None:  # trap 2
    t = Questions(bits)
    two_arrays(t).input(t.j, 1 << (bits - 2))
    if assigned:
        t.do(t.b.assign((t.p, build.add(t.p, elements(t.j))))).ask(t.p)
    else:
        t.ask(t.p, elements(t.j))
    t.ask(t.q, elements(t.i))
    assert t.answers() == [False, True]


@pytest.mark.parametrize("bits", [32, 64])
def test_a_single_array_does_not_wrap_around(bits: int) -> None:  # trap 2
    t = Questions(bits)
    t.do(t.b.alloc(t.x, 16), t.b.store(t.x, elements(t.i), t.i)).input(t.j, 1 << (bits - 2))
    t.ask(t.x, elements(t.j)).ask(t.x, elements(t.i))
    t.do(t.b.assign((t.p, build.add(t.x, elements(t.j))))).ask(t.p)
    assert t.answers() == [False, True, False]


def test_a_step_far_away_is_not_forgotten() -> None:  # trap 2
    t = two_arrays(Questions()).input(build.var("main.j", I64), 1 << 61)
    for _ in range(8):  # together 2**66 bytes
        t.do(t.b.assign((t.p, build.add(t.p, elements(t.j)))))
    assert t.ask(t.p).answers() == [False]


GIB = 1 << 30


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize(
    ("steps", "offset", "valid"),
    [
        ([GIB, GIB, GIB], -1, True),
        ([GIB, GIB, GIB], 0, False),
        ([3 * GIB, -3 * GIB], 0, True),
        ([GIB, GIB, GIB, GIB], 0, False),  # where the address is that of the object again
        ([3 * GIB, GIB, -GIB], -1, False),  # too far away to come back
        ([-MARGIN, MARGIN], 0, True),
        ([-MARGIN - 1, MARGIN + 1], 0, False),
    ],
)
def test_steps_in_an_object_of_most_of_the_address_space(
    steps: list[int], offset: int, valid: bool, indexed: bool
) -> None:
    t = Questions(bits=32)
    t.do(t.b.alloc(t.x, 3 * GIB, storage="heap"), t.b.assign((t.p, t.x)), t.b.store(t.p, 0, t.i))
    for step in steps:
        if indexed:
            t.input(t.j, step)
        moved = build.add(t.p, build.to_int(t.j) if indexed else build.integer(step))
        t.do(t.b.assign((t.p, moved)))
    assert t.ask(t.p, offset, 1).answers() == [valid]


@pytest.mark.parametrize("size", [(1 << 32) - MARGIN - 1, (1 << 32) - MARGIN])
def test_an_object_leaves_the_margin_of_the_address_space(size: int) -> None:
    t = Questions(bits=32)
    t.do(t.b.alloc(t.x, size, storage="heap"), t.b.assign((t.p, t.x)), t.b.store(t.p, 0, t.i)).ask(t.p)
    assert t.answers() == ([True] if size < (1 << 32) - MARGIN else [])


@pytest.mark.parametrize("offset", [4096, 8])
def test_null_with_an_offset_is_no_object(offset: int) -> None:  # trap 5
    t = two_arrays(Questions())
    t.do(t.b.assign((t.p, 0))).ask(t.p, offset).ask(t.p, 0, 0, "free").ask(t.p, offset, 0, "free")
    assert t.answers() == [False, True, False]


def test_null_with_the_offset_of_a_member_is_no_object() -> None:  # trap 5
    t = two_nodes(Questions())
    member = build.add(t.q, build.integer(8))
    t.do(t.b.assign((t.q, member)), t.b.assign((t.q, 0))).ask(t.q, -8).ask(t.q)
    assert t.answers() == [False, False]


def test_null_far_before_an_object_is_no_object() -> None:  # trap 5
    t = two_nodes(Questions())
    far = t.b.local("main", "far")
    base = 1 << 60  # the number of the first object
    t.do(t.b.assign((far, build.add(t.p, build.integer(-base)))), t.b.assign((far, 0)))
    t.ask(far, base + 8)
    assert [(r.stride, r.layout) for r in t.partition().regions] == [(0, "fixed")]
    assert t.answers() == [False]


def test_objects_of_different_regions_have_nothing_in_common() -> None:  # trap 6
    t = Questions()
    t.do(t.b.alloc(t.x, 400, storage="heap"), t.b.alloc(t.y, 400, storage="heap"))
    t.do(t.b.store(t.x, elements(t.i), t.i), t.b.store(t.y, elements(t.i, 8), t.j))
    t.do(Free(t.x, "heap")).ask(t.x).ask(t.y)
    assert len(t.partition().regions) == 2
    assert t.answers() == [False, True]


def test_a_new_object_is_not_the_one_that_ended() -> None:  # trap 7
    t = two_nodes(Questions())
    t.do(Free(t.q, "heap"), t.b.alloc(t.y, 16, storage="heap")).ask(t.q, 8).ask(t.y, 8)
    assert t.answers() == [False, True]


def test_objects_and_accesses_without_bytes() -> None:  # trap 8
    t = Questions().input(build.var("main.i", I32), 0)
    t.do(t.b.alloc(t.x, elements(t.i), storage="heap"), t.b.load(t.i, t.x, elements(t.i)))
    t.ask(t.x, 0, 1).ask(t.x, 0, 0, "free").ask(t.x, 100, elements(t.i)).do(t.b.assign((t.p, 0)))
    t.ask(t.p, 0, elements(t.i), "write")
    assert t.answers() == [False, True, True, True]


@pytest.mark.parametrize("storage", ["stack", "heap"])
def test_an_object_of_negative_size_has_no_bytes(storage: str) -> None:  # trap 9
    t = Questions().input(build.var("main.i", I32), -1)
    op = replace(t.b.alloc(t.x, elements(t.i)), storage=storage)
    t.do(op, t.b.load(t.i, t.x, elements(t.i))).ask(t.x, 0, 4)
    assert t.answers() == [False]


def test_only_objects_on_the_heap_are_freed() -> None:  # trap 16
    t = Questions()
    t.do(t.b.alloc(t.x, 16, storage="heap"), t.b.alloc(t.y, 16))
    t.do(t.b.assign((t.p, t.x)), t.b.assign((t.q, t.y)), t.same(t.p, t.q), t.b.store(t.p, 8, t.i))
    t.ask(t.p, 0, 0, "free").ask(t.q, 0, 0, "free").ask(t.p, 8, 0, "free")
    assert t.answers() == [True, False, False]


def test_constant_objects_are_not_written() -> None:
    t = Questions()
    literal: Alloc = replace(t.b.alloc(t.x, 16), constant=True)
    t.do(literal, t.b.alloc(t.y, 16), t.b.assign((t.p, t.x)), t.b.assign((t.q, t.y)), t.same(t.p, t.q))
    t.do(t.b.load(t.i, t.p, 4)).ask(t.p, 4, 4, "write").ask(t.q, 4, 4, "write").ask(t.p, 4)
    assert t.answers() == [False, True, True]


def test_a_slice_keeps_the_ends_of_objects() -> None:  # trap 17
    t = two_nodes(Questions())
    t.do(Free(t.p, "heap")).ask(t.q, 0, 0, "free")
    asked = build.var(f"main.ok{t._count - 1}", BOOL)
    t.b.check("main", f"s{t._count}", asked, "exit")
    kept = slice_program(t.program).procedures["main"].edges
    assert [edge.op for edge in kept if isinstance(edge.op, Free)] == [Free(t.p, "heap")]


def test_live_objects_on_the_heap_are_counted() -> None:
    t = two_nodes(Questions())
    t.ask_heap("freed").ask_heap("tracked").do(Free(t.p, "heap")).ask_heap("freed").ask_heap("tracked")
    t.do(t.b.assign((t.p, 0)), Free(t.p, "heap")).ask_heap("tracked")
    t.do(t.b.assign((t.q, 0))).ask_heap("tracked").do(Free(t.y, "heap")).ask_heap("freed")
    assert t.answers() == [False, True, False, True, True, False, True]


def test_two_pointers_to_one_object_do_not_track_two() -> None:  # trap 15
    t = two_nodes(Questions())
    t.do(t.b.assign((t.q, t.p))).ask_heap("tracked")
    assert t.answers() == [False]


@pytest.mark.parametrize(("nodes", "tracked"), [(3, True), (4, True), (5, False)])
def test_objects_are_tracked_over_three_links(nodes: int, tracked: bool) -> None:
    t = Questions()
    t.do(t.b.assign((t.p, 0)))
    for _ in range(nodes):
        t.do(t.b.alloc(t.x, 16, storage="heap"), t.b.store(t.x, 8, build.wrap(t.p, U64)))
        t.do(t.b.assign((t.p, t.x)))
    t.do(t.b.assign((t.x, 0)), t.b.load(t.w, t.p, 8)).ask_heap("tracked")
    t.do(t.b.assign((t.p, build.to_int(t.w)))).ask_heap("tracked")
    assert t.answers() == [tracked, False]
