"""Memory in the interpreter: the effect of accesses, and undefined behaviour."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.random_runs import challenge
from certus.check.replay.replay import check_execution, replay
from certus.codec.evidence import decode_refutation, encode_refutation
from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Inconsistent
from certus.core.evidence import Execution, Trace
from certus.core.outcome import Replay
from certus.core.program import Alloc, Assume, Free, Load, Location, Op, Program, Storage, Store
from certus.core.terms import Expr, MachineSort, machine
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs, Nondeterministic, TraceInputs, constants
from certus.interpreter.interpreter import Ending, Machine, Run, run

I8, I16, I32, I64 = (machine(w, signed=True) for w in (8, 16, 32, 64))
U8, U32, U64, U128 = (machine(w, signed=False) for w in (8, 32, 64, 128))


class Straight:
    """A main procedure of operations one after the other."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder()
        self._place = 0

    def local(self, name: str, sort: MachineSort | None = None) -> Expr:
        return self.builder.local("main", name, sort) if sort else self.builder.local("main", name)

    def do(self, *ops: Op) -> Straight:
        for op in ops:
            source = f"n{self._place}" if self._place else "entry"
            self._place += 1
            self.builder.edge("main", source, f"n{self._place}", op, text=type(op).__name__)
        return self

    def array(self, name: str, size: int, storage: Storage = "stack", *, zero: bool = False) -> Expr:
        base = self.local(name)
        self.do(alloc(base, size, storage, zero=zero))
        return base

    def expect(self, condition: Expr) -> Location:
        """Assert a condition."""
        source = f"n{self._place}"
        self._place += 1
        return self.builder.check("main", source, condition, f"n{self._place}")

    def program(self) -> Program:
        self.builder.skip("main", f"n{self._place}" if self._place else "entry", "exit")
        return self.builder.build()


def alloc(base: Expr, size: int, storage: Storage = "stack", *, zero: bool = False) -> Alloc:
    return Alloc(base, build.integer(size), 8, storage, base.name.removeprefix("main."), zero)


def at(base: Expr, offset: int) -> Expr:
    return build.add(base, build.integer(offset))


def value(number: int, sort: MachineSort) -> Expr:
    return build.constant(number, sort)


def ends(program: Program, *, opaque: bool = False) -> Run:
    inputs = NoInputs() if opaque else TraceInputs(program, Trace("?"))
    return run(compile_program(program), inputs, budget=Budget())


def final(program: Program, *variables: Expr) -> list[object]:
    compiled = compile_program(program)
    machine_ = Machine(compiled, TraceInputs(program, Trace("?")))
    end = machine_.advance(compiled.code(), budget=Budget())
    assert end.ending is Ending.EXIT, end
    return [machine_.value(v) for v in variables]


def undefined(s: Straight) -> str:
    """The cause for which a program's run is undefined, the same whether addresses are known or not."""
    program = s.program()
    end, opaque = ends(program), ends(program, opaque=True)
    assert end.ending is Ending.UNDEFINED
    assert (opaque.ending, opaque.steps, opaque.edge) == (end.ending, end.steps, end.edge)
    assert end.edge is not None
    assert end.location is end.edge.source
    return end.cause


# ------------------------------------------------------------------------------------- accesses


@pytest.mark.parametrize("sort", [U8, I8, I16, U32, I32, U64, I64, U128])
@pytest.mark.parametrize("zero", [True, False])
def test_what_is_stored_is_loaded(sort: MachineSort, zero: bool) -> None:
    for number in (sort.low, sort.high, 0, 1, 77):
        s = Straight()
        x = s.local("x", sort)
        a = s.array("a", 64, zero=zero)
        s.do(Store(at(a, 16), value(number, sort)), Load(x, at(a, 16)))
        assert final(s.program(), x) == [number]


def test_bytes_are_little_endian_and_signs_are_a_view() -> None:
    s = Straight()
    low, high, signed, wide = s.local("l", U8), s.local("h", I8), s.local("s", I16), s.local("w", U32)
    a = s.array("a", 8, zero=True)
    s.do(Store(a, value(0xFE01, machine(16, signed=False))))
    s.do(Load(low, a), Load(high, at(a, 1)), Load(signed, a), Load(wide, at(a, 1)))
    assert final(s.program(), low, high, signed, wide) == [1, -2, -511, 0xFE]


def test_objects_are_apart_and_aligned() -> None:
    s = Straight()
    bases = [s.array(f"a{i}", 3, "heap") for i in range(40)]
    values = [int(str(v)) for v in final(s.program(), *bases)]
    assert values == sorted(values)
    assert all(v > 0 and v % 8 == 0 for v in values)
    assert all(b - a > 3 for a, b in pairwise(values))


def test_a_run_depends_on_its_own_memory_only() -> None:
    s = Straight()
    x = s.local("x", I32)
    a = s.array("a", 4, zero=True)
    s.do(Load(x, a))
    s.expect(build.eq(x, value(0, I32)))
    s.do(Store(a, value(1, I32)))
    compiled = compile_program(s.program())
    for _ in range(2):
        assert run(compiled, TraceInputs(compiled.program, Trace("?")), budget=Budget()).ending is Ending.EXIT


def test_large_objects_cost_what_is_touched() -> None:
    s = Straight()
    x, y, z = s.local("x", I64), s.local("y", I32), s.local("z", I32)
    a = s.array("a", 1 << 40, "heap", zero=True)
    s.do(Store(at(a, (1 << 39) + 65532), value(-5, I64)), Load(x, at(a, (1 << 39) + 65532)))
    s.do(Load(y, at(a, (1 << 39) + 65536)), Load(z, at(a, (1 << 40) - 4)))
    assert final(s.program(), x, y, z) == [-5, -1, 0]
    assert ends(s.program(), opaque=True).ending is Ending.EXIT


def test_addresses_run_out() -> None:
    s = Straight()
    s.array("a", 1 << 63, "heap")
    s.array("b", 1 << 63, "heap")
    end = ends(s.program())
    assert end.ending is Ending.LIMIT
    assert "no addresses are left" in end.cause


def test_ended_objects_are_forgotten_in_time() -> None:
    b = ProgramBuilder()
    p, i = b.local("main", "p"), b.local("main", "i")
    b.edge("main", "entry", "loop", b.assign((i, 0)))
    b.branch("main", "loop", build.lt(i, build.integer(60_000)), "make", "exit")
    b.edge("main", "make", "use", alloc(p, 40))
    b.edge("main", "use", "end", Store(p, value(1, I32)))
    b.edge("main", "end", "next", Free(p, "stack"))
    b.edge("main", "next", "loop", b.assign((i, build.add(i, build.integer(1)))))
    program = b.build()
    for inputs in (TraceInputs(program, Trace("?")), NoInputs()):
        compiled = compile_program(program)
        machine_ = Machine(compiled, inputs)
        assert machine_.advance(compiled.code(), budget=Budget()).ending is Ending.EXIT
        assert len(machine_.memory._objects) < 30_000


# ------------------------------------------------------------------------- what ends as undefined


@pytest.mark.parametrize(
    ("offset", "sort", "cause"),
    [
        (40, I32, "a read of 4 bytes at offset 40 of `a`, which has 40 bytes"),
        (37, I32, "a read of 4 bytes at offset 37 of `a`, which has 40 bytes"),
        (400, U8, "a read of 1 byte at offset 400 of `a`, which has 40 bytes"),
        (1 << 31, U8, "a read of 1 byte at an address where no object is"),
    ],
)
def test_reads_out_of_bounds(offset: int, sort: MachineSort, cause: str) -> None:
    s = Straight()
    x = s.local("x", sort)
    a = s.array("a", 40, zero=True)
    program = s.do(Load(x, at(a, offset))).program()
    assert ends(program).cause == cause
    assert ends(program, opaque=True).ending is Ending.UNDEFINED


def test_a_write_before_the_start() -> None:
    s = Straight()
    a = s.array("a", 4)
    assert "a write of 4 bytes" in undefined(s.do(Store(at(a, -4), value(0, I32))))


def test_null() -> None:
    s = Straight()
    x, p = s.local("x", I32), s.local("p")
    s.array("a", 4)
    s.do(s.builder.assign((p, 0)), Load(x, p))
    assert undefined(s) == "a read of 4 bytes through a null pointer"


@pytest.mark.parametrize(("storage", "end"), [("heap", "freed"), ("stack", "out of scope")])
def test_after_the_end(storage: Storage, end: str) -> None:
    s = Straight()
    a = s.array("a", 4, storage)
    s.do(Store(a, value(1, I32)), Free(a, storage), Store(a, value(2, I32)))
    assert undefined(s) == f"a write of 4 bytes at offset 0 of `a`, which is {end}"


def test_the_cache_of_an_edge_does_not_outlive_the_object() -> None:
    b = ProgramBuilder()
    p, i = b.local("main", "p"), b.local("main", "i")
    b.edge("main", "entry", "start", alloc(p, 4, "heap"))
    b.edge("main", "start", "loop", b.assign((i, 0)))
    store = b.edge("main", "loop", "free", Store(p, value(1, I32)))
    b.edge("main", "free", "loop", Free(p, "heap"))
    end = ends(b.build())
    assert (end.ending, end.edge, end.steps) == (Ending.UNDEFINED, store, 4)


@pytest.mark.parametrize(
    ("storage", "offset", "twice", "cause"),
    [
        ("heap", 0, True, "a second free of `a`"),
        ("heap", 8, False, "a free of the middle of `a`, 8 bytes after its start"),
        ("stack", 0, False, "a free of `a`, which was not allocated on the heap"),
        ("heap", 99, False, "a free of an address where no object is"),
    ],
)
def test_bad_frees(storage: Storage, offset: int, twice: bool, cause: str) -> None:
    s = Straight()
    a = s.array("a", 16, storage)
    s.do(*[Free(at(a, offset), "heap")] * (1 + twice))
    assert undefined(s) == cause


def test_null_may_be_freed() -> None:
    s = Straight()
    p = s.local("p")
    s.do(s.builder.assign((p, 0)), Free(p, "heap"))
    assert ends(s.program()).ending is Ending.EXIT


def test_a_negative_size() -> None:
    s = Straight()
    s.array("a", -1)
    assert undefined(s) == "an allocation of -1 bytes"


def test_undefined_names_the_edge_in_the_middle_of_branches() -> None:
    b = ProgramBuilder()
    a, x, i = b.local("main", "a"), b.local("main", "x", I32), b.local("main", "i", I32)
    b.edge("main", "entry", "init", alloc(a, 40, zero=True))
    b.edge("main", "init", "loop", b.assign((i, 0)))
    b.branch("main", "loop", build.lt(i, value(100, I32)), "body", "exit")
    address = build.add(a, build.mul(build.integer(4), build.to_int(i)))
    load = b.edge("main", "body", "test", Load(x, address), text="x = a[i]")
    b.branch("main", "test", build.eq(x, value(0, I32)), "next", "other")
    b.edge("main", "next", "loop", b.assign((i, build.add(i, value(1, I32)))))
    b.skip("main", "other", "loop")
    end = ends(b.build())
    assert (end.ending, end.edge, end.steps) == (Ending.UNDEFINED, load, 2 + 10 * 4 + 1)
    assert end.cause == "a read of 4 bytes at offset 40 of `a`, which has 40 bytes"


# ----------------------------------------------------------------------------- uninitialised bytes


def test_uninitialised_values_may_be_copied_but_not_used() -> None:
    s = Straight()
    x, y = s.local("x", I32), s.local("y", I32)
    a, b = s.array("a", 8), s.array("b", 8)
    s.do(Store(at(a, 4), value(7, I32)), Load(x, a), Store(b, x), Load(x, at(a, 4)), Store(at(b, 4), x))
    s.do(Load(y, at(b, 4)))
    s.expect(build.eq(y, value(7, I32)))
    assert ends(s.program()).ending is Ending.EXIT
    s = Straight()
    x = s.local("x", I32)
    a = s.array("a", 8)
    s.do(Load(x, a), Assume(build.eq(x, value(0, I32))))
    assert undefined(s) == "the use of an uninitialised value (at offset 0 of `a`)"


def test_partly_initialised_words_keep_each_byte() -> None:
    s = Straight()
    word, byte, other = s.local("w", U64), s.local("b", U8), s.local("o", U8)
    a, b = s.array("a", 8), s.array("b", 8)
    s.do(Store(at(a, 3), value(9, U8)), Load(word, a), Store(b, word), Load(byte, at(b, 3)))
    s.expect(build.eq(byte, value(9, U8)))
    s.do(Load(other, at(b, 4)))
    s.do(Assume(build.eq(other, value(0, U8))))
    assert "uninitialised" in undefined(s)


def test_a_pointer_not_initialised_is_copied_through_its_address() -> None:
    s = Straight()
    word, p = s.local("w", U64), s.local("p")
    a, b = s.array("a", 8), s.array("b", 8)
    s.do(Load(word, a), s.builder.assign((p, build.to_int(word))), Store(b, build.wrap(p, U64)))
    s.do(Load(word, b), s.builder.assign((p, build.to_int(word))), Store(p, value(0, I32)))
    assert undefined(s) == "the use of an uninitialised value (at offset 0 of `b`)"


@pytest.mark.parametrize("sort", [U32, I32])
def test_bit_fields_of_an_uninitialised_unit(sort: MachineSort) -> None:
    s = Straight()
    unit, field = s.local("u", sort), s.local("f", sort)
    a = s.array("a", 4)

    def put(shift: int, number: int) -> None:
        kept = build.bit_and(unit, value(sort.wrap(~(7 << shift)), sort))
        s.do(Load(unit, a), Store(a, build.bit_or(kept, value(number << shift, sort))))

    def get(shift: int) -> None:
        moved = build.shr(unit, value(shift, sort))
        s.do(Load(unit, a), s.builder.assign((field, build.bit_and(moved, value(7, sort)))))

    put(3, 5)
    put(0, 2)
    get(3)
    s.expect(build.eq(field, value(5, sort)))
    get(0)
    s.expect(build.eq(field, value(2, sort)))
    get(5)
    s.do(Assume(build.eq(field, value(0, sort))))
    assert "uninitialised" in undefined(s)


# ---------------------------------------------------------------------- runs that are the only one


def deterministic(s: Straight) -> str | None:
    """Why the run is not the only one, if so."""
    try:
        end = ends(s.program(), opaque=True)
    except Nondeterministic as error:
        return str(error)
    assert end.ending is Ending.EXIT
    return None


def test_pointers_through_memory_are_deterministic() -> None:
    s = Straight()
    x, word, p, q = s.local("x", I32), s.local("w", U64), s.local("p"), s.local("q")
    a, b = s.array("a", 40, zero=True), s.array("b", 16, zero=True)
    s.do(Store(b, build.wrap(at(a, 8), U64)), Load(word, b), s.builder.assign((p, build.to_int(word))))
    s.do(Store(at(p, 4), value(5, I32)), Load(x, at(a, 12)))
    s.expect(build.eq(x, value(5, I32)))
    s.do(s.builder.assign((q, build.add(build.sub(p, a), a))))
    s.expect(build.eq(p, q))
    s.expect(build.ne(p, b))
    s.expect(build.ne(p, build.integer(0)))
    s.expect(build.lt(a, p))
    s.expect(build.eq(build.sub(p, a), build.integer(8)))
    assert deterministic(s) is None
    assert check_execution(s.builder.build(), Execution(1), Budget()) is None


@pytest.mark.parametrize("kind", ["order", "bits", "cast", "end", "narrow", "far"])
def test_what_depends_on_addresses_is_not_the_only_run(kind: str) -> None:
    s = Straight()
    a, b = s.array("a", 8, zero=True), s.array("b", 8, zero=True)
    byte = s.local("c", U8)
    conditions = {
        "order": build.lt(a, b),
        "bits": build.eq(build.bit_and(build.wrap(a, U64), value(4095, U64)), value(0, U64)),
        "cast": build.lt(build.wrap(a, U64), value(1 << 40, U64)),
        "end": build.eq(at(a, 8), b),
        "narrow": build.eq(build.wrap(a, U32), value(5, U32)),
        "far": build.eq(at(a, 100), b),
    }
    s.do(Assume(conditions[kind]), Load(byte, a))
    checked = deterministic(s)
    assert checked is not None
    assert "address of `a`" in checked


def test_inputs_go_through_memory_unseen() -> None:
    s = Straight()
    x, y, part = s.local("x", I32), s.local("y", I32), s.local("p", U8)
    a = s.array("a", 8, zero=True)
    s.do(s.builder.havoc(x), Store(a, x), Load(y, a), Load(part, at(a, 1)), Store(at(a, 4), value(3, I32)))
    assert deterministic(s) is None
    for used in (y, part):
        s = Straight()
        s.local("x", I32), s.local("y", I32), s.local("p", U8)
        a = s.array("a", 8, zero=True)
        s.do(s.builder.havoc(x), Store(a, x), Load(y, a), Load(part, at(a, 1)))
        s.do(Assume(build.eq(used, build.constant(0, used.sort))))
        assert "which nothing determines" in (deterministic(s) or "")


# ---------------------------------------------------------------------------- replay and checks of runs


def test_replay_says_what_was_undefined() -> None:
    s = Straight()
    x = s.local("x", I32)
    a = s.array("a", 40, zero=True)
    s.do(Load(x, at(a, 40)))
    error = s.expect(build.eq(x, value(1, I32)))
    checked = replay(s.program(), Trace(error.name), budget=Budget())
    assert isinstance(checked, Diagnostic)
    assert checked.code == "trace-needs-undefined-behaviour"
    assert "meets a read of 4 bytes at offset 40 of `a`, which has 40 bytes at main:" in checked.message
    assert "in `Load`" in checked.message


def test_replay_lists_what_loads_and_allocations_give() -> None:
    s = Straight()
    x, y = s.local("x", I32), s.local("y", I32)
    a = s.array("a", 8)
    s.do(Store(at(a, 4), value(3, I32)), Load(x, at(a, 4)), Load(y, a), Load(y, at(a, 4)))
    error = s.expect(build.eq(x, value(1, I32)))
    checked = replay(s.program(), Trace(error.name), budget=Budget())
    assert isinstance(checked, Replay)
    changes = [dict(step.changes) for step in checked.kept]
    assert list(changes[0]) == [a]
    assert changes[1:5] == [{}, {x: 3}, {y: 0}, {y: 3}]  # new objects are zero where a trace is replayed


def test_the_challenge_and_the_constants_know_memory() -> None:
    s = Straight()
    x = s.local("x", I32)
    a = s.array("a", 4, zero=True)
    s.do(s.builder.havoc(x), Store(a, value(1234, I32)), Load(x, at(a, 5)))
    program = s.program()
    assert 1234 in constants(program)[I32]
    assert 5 in constants(program)[I32]
    assert challenge(program, Execution(1), seconds=0.01).contradiction is None


def test_memory_operations_must_fit_their_sorts() -> None:
    s = Straight()
    x, p = s.local("x", machine(12, signed=True)), s.local("p")
    s.do(Load(x, p))
    with pytest.raises(Inconsistent):
        compile_program(s.program())


def test_loads_and_stores_are_fast() -> None:
    b = ProgramBuilder()
    a, x, i = b.local("main", "a"), b.local("main", "x", I32), b.local("main", "i", I32)
    b.edge("main", "entry", "init", alloc(a, 4096, zero=False))
    b.edge("main", "init", "loop", b.assign((i, 0)))
    b.branch("main", "loop", build.lt(i, value(60_000, I32)), "body", "exit")
    index = build.to_int(build.rem(i, value(1024, I32)))
    address = build.add(a, build.mul(build.integer(4), index))
    b.edge("main", "body", "load", Store(address, i))
    b.edge("main", "load", "next", Load(x, address))
    b.edge("main", "next", "loop", b.assign((i, build.add(i, value(1, I32)))))
    start = time.process_time()
    end = ends(b.build())
    assert end.ending is Ending.EXIT
    assert end.steps / (time.process_time() - start) > 50_000


def contents_program() -> tuple[Program, int, Location]:
    """`a` has four arbitrary bytes; the claim is that they are not 0x01020304."""
    straight = Straight()
    a, x = straight.array("a", 4), straight.local("x", U32)
    straight.do(Load(x, a))
    error = straight.expect(build.ne(x, value(0x01020304, U32)))
    program = straight.program()
    (allocation,) = [e.index for e in program.edge.values() if isinstance(e.op, Alloc)]
    return program, allocation, error


def test_a_trace_gives_new_objects_their_contents() -> None:
    program, allocation, error = contents_program()
    trace = Trace(error.name, {}, {allocation: ((4, 3, 2, 1),)})
    assert isinstance(replay(program, trace, budget=Budget()), Replay)
    assert decode_refutation(encode_refutation(trace), program) == trace
    shorter = replay(program, Trace(error.name, {}, {allocation: ((4, 3, 2),)}), budget=Budget())
    assert isinstance(shorter, Diagnostic)  # the rest is 0


@pytest.mark.parametrize("contents", [(4, 3, 2, 256), (4, -1)])
def test_contents_are_bytes(contents: tuple[int, ...]) -> None:
    program, allocation, error = contents_program()
    trace = Trace(error.name, {}, {allocation: (contents,)})
    refused = replay(program, trace, budget=Budget())
    assert isinstance(refused, Diagnostic)
    assert "not bytes" in refused.message
    with pytest.raises(ValueError, match="not a value of sort"):
        decode_refutation(encode_refutation(trace), program)
