"""Test the partitions of typical programs and the back map for evidence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.check import clauses_of
from certus.check.proofs.discharge import discharge
from certus.check.proofs.partition import check_partition
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.errors import Unsupported
from certus.core.evidence import Partitioned, Safe, Trace, Unrolling, Unsafe, Verdict
from certus.core.memory import Field, Partition, Pointer, Region
from certus.core.program import Alloc, Assign, Assume, Havoc, Load, Op, Program, Store
from certus.core.terms import Expr, machine
from certus.engines.bmc import BoundedModelChecking, Options
from certus.passes.memory import Memory, find_partition

U8, I32, U64 = machine(8, signed=False), machine(32, signed=True), machine(64, signed=False)


def number(value: int) -> Expr:
    return build.constant(value, I32)


def partition_of(program: Program) -> Partition:
    partition = find_partition(program)
    assert check_partition(program, partition) is None
    return partition


def region_of(b: ProgramBuilder, variable: Expr) -> Region:
    partition = partition_of(b.build())
    return partition.regions[partition.carriers[variable].region]


def verdict_of(program: Program) -> Verdict:
    task, back = Memory().apply(Task(program))
    return back.verdict(BoundedModelChecking().run(task, Options(), Budget(20), Statistics()))


def test_a_local_record_becomes_local_variables() -> None:
    b = ProgramBuilder()
    base, i = b.local("main", "$&r"), b.local("main", "i", I32)
    b.edge("main", "entry", "a", b.alloc(base, 8))
    b.edge("main", "a", "b", b.store(base, 4, i))
    b.edge("main", "b", "exit", b.load(i, base))
    assert region_of(b, base) == Region(0, (Field(0, 4), Field(4, 4)), layout="fixed", storage="locals")


def test_a_small_array_becomes_a_variable_per_element() -> None:
    b = ProgramBuilder()
    base, i = b.local("main", "$&a"), b.local("main", "i", I32)
    b.edge("main", "entry", "a", b.alloc(base, 40))
    b.edge("main", "a", "exit", b.store(base, build.scale(4, build.to_int(i)), i))
    assert region_of(b, base) == Region(4, (Field(0, 4),), layout="fixed", storage="locals")
    lowered = Memory().apply(Task(b.build()))[0].subject
    assert isinstance(lowered, Program)
    names = [x.name for x in lowered.procedures["main"].variables]
    assert names[2:] == [f"main.$&a$+{4 * n}" for n in range(10)]


def test_a_large_array_stays_an_array() -> None:
    b = ProgramBuilder()
    base, i = b.var("$&a"), b.local("main", "i", I32)
    b.edge("main", "entry", "a", b.alloc(base, 4000, zero=True, storage="static"))
    b.edge("main", "a", "exit", b.load(i, base, build.scale(4, build.to_int(i))))
    assert region_of(b, base) == Region(4, (Field(0, 4),), layout="fixed", storage="arrays")


def test_an_object_passed_on_becomes_global_variables_if_there_is_but_one() -> None:
    b = ProgramBuilder()
    base, p = b.local("main", "$&x"), b.parameter("f", "p")
    b.edge("main", "entry", "a", b.alloc(base, 4))
    b.edge("main", "a", "exit", b.call("f", base))
    b.edge("f", "entry", "exit", b.store(p, 0, number(3)))
    assert region_of(b, base) == Region(0, (Field(0, 4),), layout="fixed", storage="globals")
    b.edge("f", "exit", "again", b.alloc(p, 4))  # a second object for p
    assert region_of(b, base).storage == "arrays"


def list_program() -> tuple[ProgramBuilder, Expr, Expr]:
    """Up to three nodes (key at 0, next at 8) in a list; then it is walked."""
    b = ProgramBuilder()
    head, p, loaded = b.local("main", "head"), b.local("main", "p"), b.local("main", "$1", U64)
    n, key = b.local("main", "n", I32), b.local("main", "key", I32)
    b.edge("main", "entry", "start", b.havoc(key))
    b.edge("main", "start", "loop", b.assign((head, 0), (n, 0)))
    b.branch("main", "loop", build.and_(build.lt(n, key), build.lt(n, number(3))), "new", "walk")
    b.edge("main", "new", "n1", b.alloc(p, 16, storage="heap"))
    b.edge("main", "n1", "n2", b.store(p, 0, n))
    b.edge("main", "n2", "n3", b.store(p, 8, build.wrap(head, U64)))
    b.edge("main", "n3", "loop", b.assign((head, p), (n, build.add(n, number(1)))))
    b.edge("main", "walk", "next", b.assign((p, head)))
    b.branch("main", "next", build.ne(p, build.integer(0)), "w1", "exit")
    b.edge("main", "w1", "w2", b.load(key, p))
    b.check("main", "w2", build.lt(key, number(3)), "w3")
    b.edge("main", "w3", "w4", b.load(loaded, p, 8))
    b.edge("main", "w4", "next", b.assign((p, build.to_int(loaded))))
    return b, head, loaded


def test_list_nodes_have_one_array_per_member() -> None:
    b, head, loaded = list_program()
    partition = partition_of(b.build())
    assert partition.regions == (Region(0, (Field(0, 4), Field(8, 8, Pointer(0, 0))), layout="fixed"),)
    assert partition.carriers[head] == partition.carriers[loaded] == Pointer(0, 0)


def test_a_list_is_verified_with_its_partition_as_part_of_the_proof() -> None:
    program = list_program()[0].build()
    verdict = verdict_of(program)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Partitioned)
    assert isinstance(verdict.proof.proof, Unrolling)
    clauses = clauses_of(program, verdict.proof, Budget(), Statistics())
    assert clauses
    partition = discharge(clauses, budget=Budget(60), statistics=Statistics())
    assert partition.discharged["z3"] == len(clauses)


def test_accesses_of_different_widths_make_bytes() -> None:
    b = ProgramBuilder()
    base, p, c = b.local("main", "$&a"), b.local("main", "p"), b.local("main", "c", U8)
    b.edge("main", "entry", "a", b.alloc(base, 8))
    b.edge("main", "a", "b", b.assign((p, base)))
    b.edge("main", "b", "c", b.store(base, 0, number(258)))
    b.edge("main", "c", "d", b.load(c, p, 1))
    b.check("main", "d", build.eq(c, build.constant(1, U8)), "exit")
    assert region_of(b, base).fields is None
    assert isinstance(verdict_of(b.build()), Safe)


def test_members_of_records_in_an_array_are_distinct_fields() -> None:
    b = ProgramBuilder()
    base, p, i = b.local("main", "$&a"), b.local("main", "p"), b.local("main", "i", I32)
    b.edge("main", "entry", "a", b.alloc(base, 2400))
    b.edge(
        "main", "a", "b", b.assign((p, build.add(base, build.integer(8), build.scale(24, build.to_int(i)))))
    )
    b.edge("main", "b", "c", b.store(base, build.scale(24, build.to_int(i)), i))
    b.edge("main", "c", "exit", b.store(p, 0, build.constant(1, U64)))
    assert region_of(b, base) == Region(24, (Field(0, 4), Field(8, 8)), layout="fixed")
    assert partition_of(b.build()).carriers[p].phase == 8


def test_an_address_that_becomes_a_number_is_arbitrary() -> None:
    b = ProgramBuilder()
    one, two, n = b.local("main", "$&a"), b.local("main", "$&b"), b.local("main", "n", U64)
    b.edge("main", "entry", "a", b.alloc(one, 4))
    b.edge("main", "a", "b", b.alloc(two, 4))
    b.edge("main", "b", "c", b.assign((n, build.rem(build.wrap(one, U64), build.constant(64, U64)))))
    b.check("main", "c", build.eq(n, build.constant(0, U64)), "exit")
    partition = partition_of(b.build())
    assert [partition.regions[partition.carriers[x].region].layout for x in (one, two)] == ["free", "fixed"]
    assert isinstance(verdict_of(b.build()), Unsafe)


def test_arbitrary_addresses_are_aligned_and_disjoint() -> None:
    b = ProgramBuilder()
    one, two = b.local("main", "$&a"), b.local("main", "$&b")
    b.edge("main", "entry", "a", b.alloc(one, 4))
    b.edge("main", "a", "b", b.alloc(two, 4))
    distance = build.sub(two, one)
    apart = build.or_(build.le(build.integer(8), distance), build.le(distance, build.integer(-8)))
    b.check("main", "b", apart, "exit")
    assert region_of(b, one).layout == "free"
    assert isinstance(verdict_of(b.build()), Safe)


@pytest.mark.parametrize("end", [4, 8])
def test_the_end_of_one_object_may_be_the_start_of_another(end: int) -> None:
    b = ProgramBuilder()
    one, two = b.local("main", "$&a"), b.local("main", "$&b")
    b.edge("main", "entry", "a", b.alloc(one, 8))
    b.edge("main", "a", "b", b.alloc(two, 8))
    b.check("main", "b", build.ne(build.add(one, build.integer(end)), two), "exit")
    assert isinstance(verdict_of(b.build()), Safe if end == 4 else Unsafe)


def test_a_pointer_from_a_number_may_point_to_whatever_became_one() -> None:
    b = ProgramBuilder()
    base, p, n, i = (
        b.local("main", "$&a"),
        b.local("main", "p"),
        b.local("main", "n", U64),
        b.local("main", "i", I32),
    )
    b.edge("main", "entry", "a", b.alloc(base, 8))
    b.edge("main", "a", "b", b.assign((n, build.add(build.wrap(base, U64), build.constant(4, U64)))))
    b.edge("main", "b", "c", b.assign((p, build.to_int(build.sub(n, build.constant(4, U64))))))
    b.edge("main", "c", "d", b.store(base, 0, number(5)))
    b.edge("main", "d", "e", b.load(i, p))
    b.check("main", "e", build.eq(i, number(5)), "exit")
    assert region_of(b, base).wild
    assert isinstance(verdict_of(b.build()), Safe)


def error_after(b: ProgramBuilder, ops: Sequence[Op]) -> Program:
    """A main procedure of operations one after the other, and then an error."""
    for place, op in enumerate(ops):
        b.edge("main", "entry" if place == 0 else f"s{place}", f"s{place + 1}", op)
    b.error("main", f"s{len(ops)}")
    return b.build()


def test_any_pointer_points_to_the_member_it_is_compared_with() -> None:
    b = ProgramBuilder()
    base, p, i = b.local("main", "$&r"), b.local("main", "p"), b.local("main", "i", I32)
    ops = [
        b.alloc(base, 8),
        b.store(base, 0, number(0)),
        b.store(base, 4, number(0)),
        b.havoc(p),
        Assume(build.eq(p, build.add(base, build.integer(4)))),
        b.store(p, 0, number(5)),
        b.load(i, base, 4),
        Assume(build.eq(i, number(5))),
    ]
    program = error_after(b, ops)
    partition = partition_of(program)
    assert partition.carriers[p] == Pointer(0, 4)
    assert isinstance(verdict_of(program), Unsafe)


def test_any_pointer_points_to_what_it_is_compared_with_in_parts() -> None:
    b = ProgramBuilder()
    base, p, i = b.local("main", "$&r"), b.local("main", "p"), b.local("main", "i", I32)

    def half(pointer: Expr, shift: int) -> Expr:
        shifted = build.shr(build.wrap(pointer, U64), build.constant(shift, U64))
        return build.wrap(shifted, machine(32, signed=False))

    ops = [
        b.alloc(base, 4),
        b.store(base, 0, number(0)),
        b.havoc(p),
        *(Assume(build.eq(half(p, shift), half(base, shift))) for shift in (0, 32)),
        b.store(p, 0, number(5)),
        b.load(i, base, 0),
        Assume(build.eq(i, number(5))),
    ]
    assert isinstance(verdict_of(error_after(b, ops)), Unsafe)


def test_an_access_through_a_computed_number_is_not_supported() -> None:
    b = ProgramBuilder()
    n, i = b.local("main", "n", U64), b.local("main", "i", I32)
    b.edge("main", "entry", "exit", Load(i, build.to_int(build.add(n, build.constant(4, U64)))))
    with pytest.raises(Unsupported):
        Memory().apply(Task(b.build()))


def test_an_access_to_no_object_gives_any_value() -> None:
    b = ProgramBuilder()
    i = b.local("main", "i", I32)
    b.edge("main", "entry", "a", Load(i, build.integer(0)))
    b.edge("main", "a", "b", Store(build.integer(0), i))
    b.check("main", "b", build.eq(i, number(0)), "exit")
    assert isinstance(verdict_of(b.build()), Unsafe)


def test_a_trace_has_the_inputs_of_the_original_program_only() -> None:
    b = ProgramBuilder()
    base, i, n = b.local("main", "$&a"), b.local("main", "i", I32), b.local("main", "n", U64)
    shared = b.var("g", I32)
    b.edge("main", "entry", "a", b.alloc(base, 4))
    havoc = b.edge("main", "a", "b", b.havoc(i))
    b.edge("main", "b", "c", b.assign((n, build.bit_not(build.wrap(base, U64)))))
    b.check("main", "c", build.or_(build.ne(i, number(7)), build.ne(shared, number(2))), "exit")
    program = b.build()
    verdict = verdict_of(program)
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Trace)
    assert verdict.refutation.inputs == {havoc.index: ((7,),)}
    assert verdict.refutation.initial == {shared: 2}


def test_original_edges_and_locations_are_kept_and_added_ones_come_after() -> None:
    b = ProgramBuilder()
    base, n = b.local("main", "$&a"), b.local("main", "n", U64)
    b.edge("main", "entry", "a", b.alloc(base, 4))
    b.edge("main", "a", "exit", b.assign((n, build.bit_not(build.wrap(base, U64)))))
    program = b.build()
    lowered = Memory().apply(Task(program))[0].subject
    assert isinstance(lowered, Program)
    assert {e.index: e.source for e in program.edge.values()}.items() <= {
        e.index: e.source for e in lowered.edge.values()
    }.items()
    assert [type(lowered.edge[n].op) for n in (0, 2, 3)] == [Havoc, Assume, Assign]
    assert all(at in lowered.location.values() for at in program.location.values())


def test_a_program_without_memory_is_left_alone() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "exit")
    task = Task(b.build())
    assert Memory().apply(task)[0] is task


def test_zeroed_objects_are_zero_and_others_are_not() -> None:
    for zero in (True, False):
        b = ProgramBuilder()
        base, p, i = b.local("main", "$&a"), b.local("main", "p"), b.local("main", "i", I32)
        other = b.local("main", "$&b")
        b.edge("main", "entry", "x", b.alloc(other, 40))
        b.edge("main", "x", "a", b.alloc(base, 40, zero=zero))
        b.edge("main", "a", "b", b.assign((p, build.ite(build.eq(i, number(0)), base, other))))
        b.edge("main", "b", "c", b.load(i, base, build.scale(4, build.to_int(number(3)))))
        b.edge("main", "c", "c2", b.store(p, 0, i))
        b.check("main", "c2", build.eq(i, number(0)), "exit")
        assert isinstance(verdict_of(b.build()), Safe if zero else Unsafe)
        assert isinstance(b.build().edge[0].op, Alloc)
