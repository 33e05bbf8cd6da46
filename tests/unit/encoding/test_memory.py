"""Lowered operations, one by one."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.memory import Field, Partition, Pointer, Region
from certus.core.program import Assign, Assume, Free, Havoc, InspectBits, Op, Program
from certus.core.terms import BOOL, INT, Expr, array, machine
from certus.core.values import evaluate
from certus.encoding.address_terms import AddressTerms
from certus.encoding.addresses import MARGIN, AddressTypes, Mistyped
from certus.encoding.memory import lower_memory

U8, U16, I32, U32 = (
    machine(8, signed=False),
    machine(16, signed=False),
    machine(32, signed=True),
    machine(32, signed=False),
)
U64, I64 = machine(64, signed=False), machine(64, signed=True)
P, Q = build.var("main.p", INT), build.var("main.q", INT)
INDEX, W = build.var("main.i", I32), build.var("main.w", U64)
P_, Q_ = build.var("main.p", U64), build.var("main.q", U64)
BASE = 1 << 60  # the first address of a fixed layout


def terms(stride: int = 4) -> AddressTerms:
    region = Region(stride, None)
    return AddressTerms(AddressTypes(Partition(64, (region,), dict.fromkeys((P, Q, W), Pointer(0, 0)))))


def word(value: int) -> Expr:
    return build.constant(value, U64)


@pytest.mark.parametrize(
    ("term", "lowered"),
    [
        (build.eq(P, Q), build.eq(P_, Q_)),
        (build.eq(P, build.integer(0)), build.eq(P_, word(0))),
        (build.eq(P, build.integer(-16)), build.eq(P_, word(2**64 - 16))),
        (build.lt(P, Q), build.lt(P_, Q_)),
        (build.le(P, build.add(Q, build.integer(8))), build.le(P_, build.add(Q_, word(8)))),
        (build.wrap(P, U64), P_),
        (build.eq(P, build.to_int(W)), build.eq(P_, W)),
        (build.lt(build.to_int(INDEX), build.integer(3)), build.lt(build.to_int(INDEX), build.integer(3))),
    ],
)
def test_addresses_become_machine_integers(term: Expr, lowered: Expr) -> None:
    assert terms().plain(term) is lowered


def test_indexes_become_machine_arithmetic_without_detours() -> None:
    address = build.add(P, build.scale(4, build.to_int(INDEX)), build.integer(12))
    rewritten = terms().machine(address)
    assert evaluate(rewritten, {P_: 4096, INDEX: -3}) == 4096
    assert "(int)" not in repr(rewritten)


def test_distances_are_divided_as_signed_numbers() -> None:
    distance = build.div(build.sub(P, Q), build.integer(4))
    rewritten = terms().plain(build.wrap(distance, I64))
    assert rewritten.sort is I64
    for p, q, expected in ((4112, 4096, 4), (4096, 4112, -4), (4096, 4106, -3)):
        assert evaluate(rewritten, {P_: p, Q_: q}) == expected


def lowered(partition: Partition, *ops: Op) -> tuple[Program, list[Op]]:
    b = ProgramBuilder()
    for variable in (P, Q, INDEX, W):
        b.local("main", variable.name.partition(".")[2], variable.sort)
    for number, op in enumerate(ops):
        b.edge("main", "entry" if number == 0 else f"s{number}", f"s{number + 1}", op)
    lowered = lower_memory(b.build(), partition)
    return lowered, [edge.op for edge in lowered.procedures["main"].edges]


B = ProgramBuilder()


def test_fields_are_arrays_indexed_by_the_element() -> None:
    node = Region(0, (Field(0, 4), Field(8, 8)), layout="fixed")
    partition = Partition(64, (node,), {P: Pointer(0, 0), Q: Pointer(0, 8)})
    program, ops = lowered(partition, B.store(P, 8, W), B.load(W, Q), B.store(Q, -8, INDEX))
    link, key = build.var("mem$0$8", array(U64, U64)), build.var("mem$0$0", array(U64, U32))
    element = build.add(Q_, word(2**64 - 8))
    assert ops[0] == Assign((link,), (build.store(link, P_, W),))
    assert ops[1] == Assign((W,), (build.select(link, element),))
    assert ops[2] == Assign((key,), (build.store(key, element, build.wrap(INDEX, U32)),))
    assert set(program.globals) == {link, key}


def test_bytes_are_little_endian() -> None:
    partition = Partition(64, (Region(1, None),), {P: Pointer(0, 0)})
    n = build.constant(0x0201, U16)
    program, ops = lowered(partition, B.store(P, 0, n))
    memory = build.var("mem$0", array(U64, U8))
    one = build.store(memory, P_, build.constant(1, U8))
    assert ops == [Assign((memory,), (build.store(one, build.add(P_, word(1)), build.constant(2, U8)),))]
    assert program.initial == {}


def test_objects_of_zeros_start_with_zeros() -> None:
    partition = Partition(64, (Region(4, (Field(0, 4),), layout="fixed"),), {P: Pointer(0, 0)})
    program, _ = lowered(partition, B.alloc(P, 400, zero=True), B.load(INDEX, P))
    memory = build.var("mem$0$0", array(U64, U32))
    assert program.initial[memory] is build.const_array(U64, build.constant(0, U32))


def test_addresses_of_a_fixed_layout_are_counted() -> None:
    partition = Partition(64, (Region(0, (), layout="fixed"),), {P: Pointer(0, 0), Q: Pointer(0, 0)})
    program, ops = lowered(partition, B.alloc(P, 400), B.alloc(Q, 400))
    brk = build.var("mem$brk$0", U64)
    assert ops == [Assign((x, brk), (brk, build.add(brk, word(1)))) for x in (P_, Q_)]
    assert program.initial == {brk: word(BASE)}


def test_objects_of_elements_lie_one_after_the_other_without_gaps() -> None:
    elements = Region(4, (Field(0, 4),), layout="fixed")
    partition = Partition(64, (elements,), {P: Pointer(0, 0), Q: Pointer(0, 0)})
    _, ops = lowered(partition, B.alloc(P, 400), B.alloc(Q, 0))
    brk = build.var("mem$brk$0", U64)
    moved = [op for op in ops if isinstance(op, Assign)]
    assert moved == [
        Assign((P_, brk), (brk, build.add(brk, word(400)))),
        Assign((Q_, brk), (brk, build.add(brk, word(1)))),
    ]


def test_a_pointer_far_before_the_only_object_is_not_behind_it() -> None:
    partition = Partition(64, (Region(4, (Field(0, 4),), layout="fixed"),), {P: Pointer(0, 0)})
    _, ops = lowered(partition, B.alloc(P, 400))
    assert ops == [Assign((P_,), (word(BASE),))]
    before = terms().plain(build.lt(build.add(P, build.integer(-(1 << 40))), P))
    assert evaluate(before, {P_: BASE})


def test_other_addresses_are_arbitrary_below_or_above_all_objects() -> None:
    partition = Partition(64, (Region(0, ()),), {P: Pointer(0, 0)})
    program, ops = lowered(partition, B.alloc(P, 400))
    low, brk = build.var("mem$brk$low", U64), build.var("mem$brk", U64)
    assert ops[0] == Havoc((P_,))
    assert isinstance(ops[1], Assume)
    end = build.add(P_, word(400))
    assert build.or_(build.le(brk, P_), build.le(end, low)) in ops[1].condition.args
    below, above = build.ite(build.lt(P_, low), P_, low), build.ite(build.le(brk, P_), end, brk)
    assert ops[2] == Assign((low, brk), (below, above))
    assert program.initial == {low: word((1 << 64) - MARGIN), brk: word(1)}
    assert program.procedures["main"].edges[0].index == 0
    assert [edge.index for edge in program.procedures["main"].edges] == [0, 1, 2]


def test_an_element_at_an_unknown_index_is_a_choice_of_cells() -> None:
    region = Region(4, (Field(0, 4),), layout="fixed", storage="locals")
    partition = Partition(64, (region,), {P: Pointer(0, 0)})
    at = build.scale(4, build.to_int(INDEX))
    program, ops = lowered(
        partition, B.alloc(P, 8), B.load(INDEX, P, at), B.load(INDEX, P, 4), B.store(P, 0, INDEX)
    )
    cells = [build.var(f"main.p$+{n}", U32) for n in (0, 4)]
    assert program.procedures["main"].variables[-2:] == tuple(cells)
    offset = build.mul(word(4), build.wrap(INDEX, U64))
    choice = build.ite(build.eq(offset, word(0)), *cells)
    assert ops[:2] == [Assign((P_,), (word(BASE),)), Havoc(tuple(cells))]
    assert ops[2] == Assign((INDEX,), (build.wrap(choice, I32),))
    assert ops[3] == Assign((INDEX,), (build.wrap(cells[1], I32),))
    assert ops[4] == Assign((cells[0],), (build.wrap(INDEX, U32),))


def test_what_does_not_fit_is_not_lowered() -> None:
    partition = Partition(64, (Region(4, (Field(0, 4),)),), {P: Pointer(0, 0)})
    with pytest.raises(Mistyped, match="no field of 8 bytes"):
        lowered(partition, B.load(W, P))
    with pytest.raises(Mistyped, match="multiples of 4"):
        lowered(partition, B.load(INDEX, P, build.scale(2, build.to_int(INDEX))))
    with pytest.raises(Mistyped, match="has no region"):
        lowered(partition, B.alloc(Q, 4))


def repeated(partition: Partition, *ops: Op, kept: bool) -> list[Op]:
    """Lower a loop that allocates an object, executes statements, and, if `kept`, copies the address to a
    variable that the next round reads. Return the operations of the lowered loop."""
    b = ProgramBuilder()
    for variable in (P, Q, INDEX):
        b.local("main", variable.name.partition(".")[2], variable.sort)
    keep = [b.assign((Q, P))] if kept else []
    for number, op in enumerate((b.store(Q if kept else P, 0, INDEX), *ops, *keep)):
        b.edge("main", "entry" if number == 0 else f"s{number}", f"s{number + 1}", op)
    b.skip("main", f"s{len(ops) + 1 + len(keep)}", "entry")
    b.skip("main", "entry", "exit")
    return [edge.op for edge in lower_memory(b.build(), partition).procedures["main"].edges]


@pytest.mark.parametrize("bits", [32, 64])
def test_a_number_is_used_again_if_it_has_less_than_64_bits(bits: int) -> None:
    numbers = Region(0, (Field(0, 4),), layout="fixed")
    partition = Partition(bits, (numbers,), {P: Pointer(0, 0), Q: Pointer(0, 0)})
    ops = repeated(partition, B.alloc(P, 4, storage="heap"), Free(Q, "heap"), kept=True)
    memory = build.var("mem$0$0", array(machine(bits, signed=False), U32))
    again = [op for op in ops if isinstance(op, Havoc) and memory in op.targets]
    freed = build.var("mem$0$freed", BOOL)
    noted = [op for op in ops if isinstance(op, Assign) and freed in op.targets]
    assert (len(again), len(noted)) == ((1, 1) if bits == 32 else (0, 0))
    last = build.lt(
        build.var("mem$brk$0", partition.address), build.constant(1 << (bits - 1), partition.address)
    )
    assert Assume(last) in ops


def test_objects_that_are_used_one_at_a_time_have_one_address() -> None:
    elements = Region(4, (Field(0, 4),), layout="fixed")
    partition = Partition(64, (elements,), {P: Pointer(0, 0)})
    ops = repeated(partition, B.alloc(P, 400), kept=False)
    memory = build.var("mem$0$0", array(U64, U32))
    at = ops.index(Assign((P_,), (word(BASE),)))
    assert ops[at - 1] == Havoc((memory,))


def test_the_bits_of_such_objects_are_written_if_they_contain_zeros() -> None:
    elements = Region(4, (Field(0, 4),), layout="fixed")
    partition = Partition(64, (elements,), {P: Pointer(0, 0)})
    bits = build.var("main.bits", U32)
    ops = repeated(partition, B.alloc(P, 400, zero=True), InspectBits(bits, P), kept=False)
    memory, written = (build.var(name, array(U64, U32)) for name in ("mem$0$0", "mem$0$0$written"))
    zeros, ones = (build.const_array(U64, build.constant(value, U32)) for value in (0, U32.high))
    assert Assign((P_, memory, written), (word(BASE), zeros, ones)) in ops


def test_arbitrary_addresses_are_used_up_by_the_bytes_of_objects() -> None:
    partition = Partition(64, (Region(0, (Field(0, 4),)),), {P: Pointer(0, 0), Q: Pointer(0, 0)})
    ops = repeated(partition, B.alloc(P, 24, storage="heap"), Free(Q, "heap"), kept=True)
    used, needed = build.var("mem$brk$used", U64), word(24)
    fits = build.le(needed, build.sub(word((1 << 64) - MARGIN - 8), used))
    assert Assume(fits) in ops
    assert Assign((used,), (build.add(used, needed),)) in ops
    assert Assume(build.and_(build.var("mem$freed", BOOL), build.not_(fits))) in ops
