"""Partitions are checked, not trusted: right ones pass, each planted mistake is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.check import clauses_of
from certus.check.proofs.expansion import Refused
from certus.check.proofs.partition import check_partition
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Partitioned, Unrolling
from certus.core.memory import Field, Partition, Pointer, Region
from certus.core.program import Assume, Program
from certus.core.terms import INT, Expr, machine

I32, U64 = machine(32, signed=True), machine(64, signed=False)
P, Q, T = (build.var(f"main.{n}", s) for n, s in (("p", INT), ("q", INT), ("t", U64)))
A, B_ = build.var("main.$&a", INT), build.var("main.$&b", INT)
INDEX, N = build.var("main.i", I32), build.var("main.n", U64)


def program_of(*more: Callable[[ProgramBuilder], object]) -> Program:
    """Two objects of 16 bytes: an integer at 0, a pointer at 8. `more` are operations that follow."""
    b = ProgramBuilder()
    for variable in (P, Q, T, A, B_, INDEX, N):
        assert b.local("main", variable.name.partition(".")[2], variable.sort) is variable
    ops = [
        b.alloc(A, 16),
        b.alloc(B_, 16),
        b.assign((P, A), (Q, B_)),
        b.store(P, 0, INDEX),
        b.store(P, 8, build.wrap(Q, U64)),
        b.load(T, P, 8),
        b.assign((Q, build.to_int(T))),
        b.load(INDEX, Q),
        *(make(b) for make in more),
    ]
    for number, op in enumerate(ops):
        b.edge("main", "entry" if number == 0 else f"s{number}", f"s{number + 1}", op)  # type: ignore[arg-type]
    b.skip("main", f"s{len(ops)}", "exit")
    return b.build()


NODE = Region(0, (Field(0, 4), Field(8, 8, Pointer(0, 0))), layout="fixed")
RIGHT = Partition(64, (NODE,), dict.fromkeys((P, Q, T, A, B_), Pointer(0, 0)))


def with_region(**changes: object) -> Partition:
    return replace(RIGHT, regions=(replace(NODE, **changes),))  # type: ignore[arg-type]


def test_a_right_partition_is_accepted() -> None:
    assert check_partition(program_of(), RIGHT) is None
    assert check_partition(program_of(), with_region(layout="free")) is None


SPLIT = Partition(
    64,
    (NODE, replace(NODE, fields=(Field(0, 4), Field(8, 8, Pointer(1, 0))))),
    {**RIGHT.carriers, Q: Pointer(1, 0), B_: Pointer(1, 0)},
)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (replace(RIGHT, bits=32), "pointers have 64 bits"),
        (replace(RIGHT, carriers={v: p for v, p in RIGHT.carriers.items() if v is not T}), "become pointers"),
        (replace(RIGHT, carriers={v: p for v, p in RIGHT.carriers.items() if v is not A}), "no fitting type"),
        (
            replace(RIGHT, carriers={v: p for v, p in RIGHT.carriers.items() if v is not P}),
            "is not an address",
        ),
        (replace(RIGHT, carriers={**RIGHT.carriers, INDEX: Pointer(0, 0)}), "not a variable"),
        (replace(RIGHT, carriers={**RIGHT.carriers, build.var("x", INT): Pointer(0, 0)}), "not a variable"),
        (replace(RIGHT, carriers={**RIGHT.carriers, P: Pointer(0, 8)}), "where"),
        (replace(RIGHT, carriers={**RIGHT.carriers, A: Pointer(0, 8)}), "no fitting type"),
        (replace(RIGHT, carriers={**RIGHT.carriers, P: Pointer(1, 0)}), "no region 1"),
        (replace(RIGHT, carriers=dict.fromkeys(RIGHT.carriers, Pointer(-1, 0))), "no region -1"),
        (with_region(stride=-16, fields=None), "stride of a region is negative"),
        (SPLIT, "is expected"),
        (with_region(fields=(Field(0, 4),)), "no field of 8 bytes at 8"),
        (with_region(fields=(Field(0, 4), Field(8, 8))), "numbers depend|become pointers"),
        (with_region(fields=(Field(0, 12), Field(8, 8, Pointer(0, 0)))), "overlap"),
        (with_region(fields=(Field(0, 8), Field(8, 8, Pointer(0, 0)))), "no field of 4 bytes at 0"),
        (with_region(fields=(Field(0, 4, Pointer(0, 0)), Field(8, 8, Pointer(0, 0)))), "too small"),
        (with_region(stride=12), "inside its stride"),
        (with_region(stride=8, fields=(Field(0, 4), Field(0, 8, Pointer(0, 0)))), "overlap"),
        (with_region(storage="locals"), "exactly one object"),
        (with_region(storage="globals"), "exactly one object"),
        (with_region(wild=True), "only where addresses are arbitrary"),
        (with_region(wild=True, layout="free"), "every byte can be"),
        (with_region(fields=None), "cannot be numbered"),
        (with_region(fields=None, stride=1), "not an address|become pointers|numbers depend"),
        (with_region(fields=None, stride=1, holds=Pointer(0, 0)), "that consist of bytes must be arbitrary"),
        (with_region(fields=None, holds=Pointer(0, 0), storage="globals"), "must be an array"),
    ],
)
def test_a_wrong_partition_is_refused(wrong: Partition, why: str) -> None:
    refusal = check_partition(program_of(), wrong)
    assert refusal is not None
    assert refusal.code == "partition-refused"
    assert any(part in refusal.message for part in why.split("|")), refusal.message


BYTE = build.constant(1, U64)


def depending_on(condition: Expr) -> Expr:
    """A number that depends on the condition."""
    return build.ite(condition, INDEX, build.neg(INDEX))


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (lambda b: b.assign((N, build.add(build.wrap(P, U64), BYTE))), "numbers depend"),
        (lambda b: b.assign((N, build.wrap(P, U64))), "numbers depend"),
        (lambda b: b.assign((N, T)), "numbers depend"),
        (lambda b: b.assign((INDEX, build.wrap(P, I32))), "numbers depend"),
        (lambda b: b.assign((N, build.wrap(build.sub(P, Q), U64))), "the order of objects"),
        (
            lambda b: b.assign((INDEX, build.ite(build.lt(P, Q), INDEX, build.neg(INDEX)))),
            "the order of objects",
        ),
        (
            lambda b: b.assign(
                (INDEX, build.ite(build.eq(P, build.add(Q, build.integer(8))), INDEX, build.neg(INDEX)))
            ),
            "the distance of objects",
        ),
        (
            lambda b: b.assign((INDEX, build.ite(build.eq(P, build.integer(4096)), INDEX, build.neg(INDEX)))),
            "numbers depend",
        ),
        (lambda b: b.assign((P, build.to_int(N))), "integers become pointers"),
        (lambda b: b.assign((T, N)), "integers become pointers"),
        (lambda b: b.assign((P, 4096)), "integers become pointers"),
        (lambda b: b.store(P, 8, N), "integers become pointers"),
        (lambda b: b.load(N, P, 8), "numbers depend"),
        (lambda b: b.load(INDEX, P, 2), "no field of 4 bytes at 2"),
        (lambda b: b.load(INDEX, P, build.scale(4, build.to_int(INDEX))), "multiples of 0"),
        (lambda b: b.assign((P, build.add(Q, build.integer(8)))), "is expected"),
        (lambda b: b.alloc(P, build.to_int(T)), "numbers depend"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(
    operation: Callable[[ProgramBuilder], object], why: str
) -> None:
    refusal = check_partition(program_of(operation), RIGHT)
    assert refusal is not None
    assert why in refusal.message


def test_equality_of_pointers_to_the_same_member_is_no_secret() -> None:
    same = build.ite(build.eq(P, Q), INDEX, build.neg(INDEX))
    assert check_partition(program_of(lambda b: b.assign((INDEX, same))), RIGHT) is None
    null = build.ite(build.eq(P, build.integer(0)), INDEX, build.neg(INDEX))
    assert check_partition(program_of(lambda b: b.assign((INDEX, null))), RIGHT) is None


def one_object(*, loop: bool = False, copied: bool = False, read: bool = False) -> tuple[Program, Partition]:
    """Return a program that allocates an object, may copy its address to `p`, and may read `p` before the
    copy."""
    b = ProgramBuilder()
    base, p, i = b.local("main", "$&a"), b.local("main", "p"), b.local("main", "i", I32)
    b.edge("main", "entry", "a", b.alloc(base, 8))
    b.edge("main", "a", "b", b.store(p if read else base, build.scale(4, build.to_int(i)), i))
    if copied:
        b.edge("main", "b", "c", b.assign((p, base)))
    else:
        b.skip("main", "b", "c")
    b.skip("main", "c", "entry" if loop else "exit")
    carriers: dict[Expr, Pointer] = {base: Pointer(0, 0)}
    if copied:
        carriers[p] = Pointer(0, 0)
    region = Region(4, (Field(0, 4),), layout="fixed", storage="locals")
    return b.build(), Partition(64, (region,), carriers)


def test_cells_are_local_variables_only_if_nobody_else_holds_the_address() -> None:
    assert check_partition(*one_object()) is None
    assert check_partition(*one_object(loop=True)) is None
    refusal = check_partition(*one_object(copied=True))
    assert refusal is not None
    assert "hold the address" in refusal.message


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_cells_are_global_variables_only_if_one_object_is_in_use(loop: bool, read: bool) -> None:
    program, partition = one_object(loop=loop, copied=True, read=read)
    region = replace(partition.regions[0], storage="globals")
    refusal = check_partition(program, replace(partition, regions=(region,)))
    assert (refusal is None) is not (loop and read)
    if refusal is not None:
        assert "may be in use" in refusal.message


def test_a_base_that_is_moved_is_no_base() -> None:
    b = ProgramBuilder()
    base, i = b.local("main", "$&a"), b.local("main", "i", I32)
    b.edge("main", "entry", "a", b.alloc(base, 8))
    b.edge("main", "a", "b", b.assign((base, build.add(base, build.integer(4)))))
    b.edge("main", "b", "exit", b.store(base, 0, i))
    region = Region(4, (Field(0, 4),), layout="fixed", storage="locals")
    refusal = check_partition(b.build(), Partition(64, (region,), {base: Pointer(0, 0)}))
    assert refusal is not None
    assert "does not always hold" in refusal.message


def test_names_must_not_clash() -> None:
    b = ProgramBuilder()
    base, i = b.local("main", "$&a"), b.local("main", "i", I32)
    b.local("main", "$&a$+0", machine(32, signed=False))
    b.edge("main", "entry", "a", b.alloc(base, 4))
    b.edge("main", "a", "exit", b.store(base, 0, i))
    region = Region(0, (Field(0, 4),), layout="fixed", storage="locals")
    refusal = check_partition(b.build(), Partition(64, (region,), {base: Pointer(0, 0)}))
    assert refusal is not None
    assert "the name of another" in refusal.message


def test_addresses_and_numbers_do_not_mix_in_results() -> None:
    b = ProgramBuilder()
    base, p = b.local("main", "$&a"), b.local("main", "p")
    result = b.result("f")
    b.edge("main", "entry", "a", b.alloc(base, 4))
    b.edge("main", "a", "exit", b.call("f", into=(p,)))
    b.edge("f", "entry", "exit", b.returns(build.integer(0)))
    region = Region(1, (), layout="free", wild=True)
    for carriers in ({base, p}, {base, result}):
        partition = Partition(64, (region,), dict.fromkeys(carriers, Pointer(0, 0)))
        refusal = check_partition(b.build(), partition)
        assert refusal is not None
        assert "not both" in refusal.message


def lower(pointer: Expr) -> Expr:
    return build.wrap(build.wrap(pointer, U64), machine(32, signed=False))


def upper(pointer: Expr) -> Expr:
    return lower(build.shr(build.wrap(pointer, U64), build.constant(32, U64)))


FREE = replace(NODE, layout="free", fields=(Field(0, 4), Field(8, 8)))
APART = Partition(64, (FREE, FREE), {P: Pointer(0, 0), A: Pointer(0, 0), Q: Pointer(1, 0), B_: Pointer(1, 0)})


def compared(*conditions: Expr, havoc: bool = True, shift: int = 0) -> Program:
    """P gets any value, or the address of the one object; Q that of the other, plus `shift`."""
    b = ProgramBuilder()
    for variable in (P, Q, A, B_, INDEX, N):
        b.local("main", variable.name.partition(".")[2], variable.sort)
    ops = [
        b.alloc(A, 16),
        b.alloc(B_, 16),
        b.assign((Q, build.add(B_, build.integer(shift)))),
        b.havoc(P) if havoc else b.assign((P, A)),
        *map(Assume, conditions),
        b.store(P, 0, INDEX),
    ]
    for number, op in enumerate(ops):
        b.edge("main", "entry" if number == 0 else f"s{number}", f"s{number + 1}", op)
    b.skip("main", f"s{len(ops)}", "exit")
    return b.build()


@pytest.mark.parametrize(
    "conditions",
    [
        (build.eq(P, Q),),
        (build.le(P, Q), build.le(Q, P)),
        (build.eq(build.wrap(P, U64), build.mul(N, BYTE)), build.eq(build.to_int(N), Q)),
        (build.eq(lower(P), lower(Q)), build.eq(upper(P), upper(Q))),
    ],
)
def test_any_pointer_may_be_the_address_it_is_compared_with(conditions: tuple[Expr, ...]) -> None:
    refusal = check_partition(compared(*conditions), APART)
    assert refusal is not None
    assert "become pointers into region 0" in refusal.message
    assert check_partition(compared(*conditions, havoc=False), APART) is None
    assert check_partition(compared(build.eq(P, build.integer(0))), APART) is None
    assert check_partition(compared(), APART) is None


@pytest.mark.parametrize("condition", [build.eq(P, Q), build.eq(build.sub(P, Q), build.integer(0))])
def test_any_pointer_may_be_the_member_it_is_compared_with(condition: Expr) -> None:
    carriers = {**dict.fromkeys((P, A, B_), Pointer(0, 0)), Q: Pointer(0, 8)}
    member = replace(APART, regions=(FREE,), carriers=carriers)
    refusal = check_partition(compared(condition, shift=8), member)
    assert refusal is not None
    assert "become pointers into region 0" in refusal.message
    assert check_partition(compared(condition, shift=8, havoc=False), member) is None


def test_a_proof_with_a_wrong_partition_is_refused() -> None:
    wrong = Partitioned(with_region(storage="globals"), Unrolling({}))
    with pytest.raises(Refused, match="exactly one object"):
        clauses_of(program_of(), wrong, Budget(), Statistics())
    assert clauses_of(program_of(), Partitioned(RIGHT, Unrolling({})), Budget(), Statistics()) == []
