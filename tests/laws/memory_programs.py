"""Small programs with memory, and two ways to run them: on bytes, and after memory has been replaced.

Objects have wide gaps between them, so an access out of bounds hits none, and an address is inside an object
only if it was derived from it. Unwritten contents are 0 in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from hypothesis import strategies as st
from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.build import monomial
from certus.core.effects import targets, terms
from certus.core.program import (
    Access,
    Alloc,
    Assign,
    Assume,
    Call,
    Free,
    Havoc,
    Inspect,
    InspectHeap,
    Load,
    Location,
    Op,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort, machine
from certus.core.values import Datum, default_value, evaluate
from certus.core.walk import postorder

U8, I32, U64 = machine(8, signed=False), machine(32, signed=True), machine(64, signed=False)
I64 = machine(64, signed=True)
STEPS = 200
ROOTS = ("main.p0", "main.p1", "main.$&o0")  # the variables of the source
Draw = Callable[[st.SearchStrategy[int]], int]


class Invalid(Exception):
    """An access outside all objects."""


@dataclass
class Run:
    """The edges taken that the original program has, the last values of main's variables, and the answers to
    questions about memory, with their edges."""

    edges: list[int]
    values: dict[str, Datum]
    answers: list[tuple[int, Datum]]


# ------------------------------------------------------------------------------------- execution


@dataclass
class Object:
    """An object: its size, where it is, and whether it is live."""

    size: int
    op: Alloc
    live: bool = True


@dataclass
class Bytes:
    """Memory as it is: objects by address, and the bytes written."""

    objects: dict[int, Object]
    contents: dict[int, int]
    rounds: Counter[int]  # executions of each allocation

    def new(self, edge: int) -> int:
        """An address that depends on nothing but which object it is."""
        self.rounds[edge] += 1
        return 1_000_000 * self.rounds[edge] + 10_000 * edge

    def holds(self, address: int, width: int, *, ended: bool = False) -> bool:
        """Return whether bytes belong to one live object, or, with `ended`, to any one."""
        return any(
            base <= address and address + width <= base + each.size and (each.live or ended)
            for base, each in self.objects.items()
        )

    def check(self, address: int, width: int, *, ended: bool = False) -> None:
        if not self.holds(address, width, ended=ended):
            raise Invalid

    def freeable(self, address: int) -> bool:
        """Return whether `free` may be called with the address."""
        target = self.objects.get(address)
        return address == 0 or (target is not None and target.live and target.op.storage == "heap")

    def free(self, address: int) -> None:
        if not self.freeable(address):
            raise Invalid
        if address:
            self.objects[address].live = False

    def kept(self, op: InspectHeap, variables: Iterable[Datum]) -> bool:
        """The answer to a question about the heap."""
        live = {base for base, each in self.objects.items() if each.live}
        heap = {base for base in live if self.objects[base].op.storage == "heap"}
        if op.retained == "freed":
            return not heap
        reached: set[int] = set()
        work = sorted(live - heap)
        values = [value for value in variables if isinstance(value, int)]
        while work or values:
            while values:
                value = values.pop()
                inside = [base for base in live if 0 <= value - base <= max(self.objects[base].size, 0)]
                work += (base for base in inside if base not in reached)
                reached.update(inside)
            if work:
                base = work.pop()
                reached.add(base)
                for at in {written - n for written in self.contents for n in range(8)}:
                    if base <= at <= base + self.objects[base].size - 8:
                        word = bytes(self.contents.get(at + n, 0) for n in range(8))
                        values.append(int.from_bytes(word, "little"))
        return heap <= reached

    def answer(self, op: Inspect, address: int, size: int) -> bool:
        """The answer to a question about memory."""
        if op.access == "free":
            return self.freeable(address)
        constant = any(
            base <= address < base + max(each.size, 1) and each.op.constant
            for base, each in self.objects.items()
        )
        return size == 0 or (self.holds(address, size) and not (op.access == "write" and constant))


def run(program: Program, inputs: Mapping[int, int], known: frozenset[int] | None = None) -> tuple[Run, bool]:
    """Execute the program; gives the run and whether it ended because of an invalid access.

    `inputs` are the values of havocs by edge; `known` the edges worth noting, all if None. An address that is
    chosen arbitrarily is the one the object has in the run on bytes."""
    memory = Bytes({}, {}, Counter())
    env: dict[Expr, Datum] = {x: default_value(x.sort) for x in program.globals}
    env |= {x: evaluate(value, {}) for x, value in program.initial.items()}
    edges: list[int] = []
    answers: list[tuple[int, Datum]] = []
    invalid = False
    try:
        _activation(program, program.procedures[program.main], env, memory, inputs, edges, answers)
    except Invalid:
        invalid = True
    noted = edges if known is None else [e for e in edges if e in known]
    return Run(noted, {x.name: v for x, v in env.items()}, answers), invalid


def _activation(
    program: Program,
    procedure: Procedure,
    env: dict[Expr, Datum],
    memory: Bytes,
    inputs: Mapping[int, int],
    edges: list[int],
    answers: list[tuple[int, Datum]],
) -> None:
    for x in procedure.variables:
        if x not in procedure.parameters:
            env[x] = default_value(x.sort)
    at: Location = procedure.entry
    while at is not procedure.exit and len(edges) < STEPS:
        enabled = [
            e
            for e in procedure.successors[at]
            if not isinstance(e.op, Assume) or evaluate(e.op.condition, env) is True
        ]
        if not enabled:
            return
        assert len(enabled) == 1
        edge = enabled[0]
        edges.append(edge.index)
        if isinstance(edge.op, Call):
            callee = program.procedures[edge.op.procedure]
            values = [evaluate(a, env) for a in edge.op.arguments]
            env |= dict(zip(callee.parameters, values, strict=True))
            _activation(program, callee, env, memory, inputs, edges, answers)
            env |= {t: env[r] for t, r in zip(edge.op.targets, callee.results, strict=False)}
        else:
            _step(edge.index, edge.op, procedure, env, memory, inputs)
            answered = (x for x in targets(edge.op) if x.name.startswith("main.ok"))
            answers.extend((edge.index, env[x]) for x in answered)
        at = edge.target


def _step(
    index: int, op: Op, procedure: Procedure, env: dict[Expr, Datum], memory: Bytes, inputs: Mapping[int, int]
) -> None:
    if isinstance(op, Assign | Return):
        _check_distances(op.values, env, memory)
        written = op.targets if isinstance(op, Assign) else procedure.results
        env |= dict(zip(written, [evaluate(v, env) for v in op.values], strict=True))
    elif isinstance(op, Havoc):
        for x in op.targets:
            given = inputs.get(index)
            if given is None and x.name.startswith("main.$&o") and x.name.count("$") == 1:
                env[x] = memory.new(index)
            elif isinstance(x.sort, MachineSort):
                env[x] = x.sort.wrap(given or 0)
            else:
                env[x] = given or default_value(x.sort)
    elif isinstance(op, Alloc):
        address, size = memory.new(index), evaluate(op.size, env)
        assert isinstance(size, int)
        memory.objects[address] = Object(size, op)
        env[op.target] = address
    elif isinstance(op, Load):
        address, sort = evaluate(op.address, env), op.target.sort
        assert isinstance(sort, MachineSort)
        assert isinstance(address, int)
        memory.check(address, sort.width // 8)
        raw = bytes(memory.contents.get(address + n, 0) for n in range(sort.width // 8))
        env[op.target] = sort.wrap(int.from_bytes(raw, "little"))
    elif isinstance(op, Store):
        address, value, sort = evaluate(op.address, env), evaluate(op.value, env), op.value.sort
        assert isinstance(sort, MachineSort)
        assert isinstance(address, int)
        assert isinstance(value, int)
        memory.check(address, sort.width // 8)
        raw = (value % (1 << sort.width)).to_bytes(sort.width // 8, "little")
        memory.contents |= {address + n: byte for n, byte in enumerate(raw)}
    elif isinstance(op, Free):
        address = evaluate(op.address, env)
        assert isinstance(address, int)
        memory.free(address)
    elif isinstance(op, InspectHeap):
        env[op.target] = memory.kept(op, [env[build.var(name, INT)] for name in ROOTS])
    elif isinstance(op, Inspect):
        values = [evaluate(term, env) for term in terms(op)]
        env[op.target] = memory.answer(op, *(value for value in values if isinstance(value, int)))
    else:
        assert isinstance(op, Assume)


def _check_distances(values: Iterable[Expr], env: Mapping[Expr, Datum], memory: Bytes) -> None:
    for term in postorder(*values):
        if term.kind is Kind.ADD and term.sort is INT:
            parts = [monomial(item) for item in term.args]
            if any(factor == -1 and x.kind is Kind.VAR for factor, x in parts):
                for _, x in parts:
                    address = env.get(x, 0)
                    assert isinstance(address, int)
                    memory.check(address, 0, ended=True)


# ------------------------------------------------------------------------------------ generation


@dataclass(frozen=True)
class Made:
    program: Program
    inputs: dict[int, int]


@st.composite
def memory_programs(draw: Draw, *, statements: int = 9, inspected: bool = False) -> Made:  # type: ignore[misc]
    """Statements over a few objects, pointers and integers; some in a callee with a pointer parameter. If
    `inspected`, questions about memory stand before accesses, and indexes and sizes may be any numbers."""
    b = ProgramBuilder()
    inputs: dict[int, int] = {}
    bases = [b.local("main", f"$&o{n}") for n in range(draw(st.integers(1, 3)))]
    sizes = [draw(st.sampled_from((4, 8, 16, 24))) for _ in bases]
    pointers = [b.local("main", f"p{n}") for n in range(2)]
    smalls = [b.local("main", f"i{n}", I32) for n in range(2)]
    wides = [b.local("main", f"w{n}", U64) for n in range(2)]
    byte, far = b.local("main", "c", U8), b.local("main", "far", I64)
    again = draw(st.booleans())
    _callee(b, draw)
    numbers = count()
    at = "entry"

    def emit(op: Op) -> int:
        nonlocal at
        after = f"s{next(numbers)}"
        edge = b.edge("main", at, after, op)
        at = after
        return edge.index

    def inspect(address: Expr, size: Expr, access: Access) -> None:
        emit(Inspect(b.local("main", f"ok{next(numbers)}", BOOL), address, size, access))

    inputs[emit(Havoc((smalls[0],)))] = draw(
        st.sampled_from((0, 1, 2, 3, -1, 2**30, -(2**31))) if inspected else st.integers(0, 3)
    )
    if inspected:
        inputs[emit(Havoc((far,)))] = draw(st.sampled_from((0, 1, 2**61, 2**62, -(2**62), 2**63 - 1)))
    if again:  # the objects are allocated again in every round of a loop
        b.skip("main", at, "loop")
        b.branch("main", "loop", build.lt(smalls[1], build.constant(2, I32)), "body", "exit")
        at = "body"
    for base, size in zip(bases, sizes, strict=True):
        if inspected:
            emit(_inspected_object(draw, b, base, size, smalls[0]))
        else:
            emit(b.alloc(base, size, zero=draw(st.booleans()), storage="heap"))
    for _ in range(draw(st.integers(1, statements))):
        op = _statement(b, draw, (*bases, *pointers), pointers, smalls, wides, byte)
        if inspected and draw(st.integers(0, 3)) == 0:
            op = _asked(b, draw, (*bases, *pointers), pointers, far)
        if inspected and isinstance(op, Load | Store | Free):
            width = build.integer(_width(op))
            access: Access = "free" if isinstance(op, Free) else "read" if isinstance(op, Load) else "write"
            inspect(op.address, width, access)
            if draw(st.integers(0, 3)) == 0:
                inspect(op.address, build.to_int(smalls[draw(st.integers(0, 1))]), "write")
        emit(op)
        if inspected:
            at_hand = (*bases, *pointers)[draw(st.integers(0, len(bases) + 1))]
            inspect(at_hand, build.integer(4), "write")
    if inspected:
        emit(InspectHeap(b.local("main", f"ok{next(numbers)}", BOOL), "freed"))
        emit(InspectHeap(b.local("main", f"ok{next(numbers)}", BOOL), "tracked"))
    if again:
        emit(b.assign((smalls[1], build.add(smalls[1], build.constant(1, I32)))))
        b.skip("main", at, "loop")
    else:
        b.skip("main", at, "exit")
    named = {x: x.name for x in (*pointers, bases[0])}
    return Made(replace(b.build(), source_names=named), inputs)


def _width(op: Load | Store | Free) -> int:
    sort = U8 if isinstance(op, Free) else op.target.sort if isinstance(op, Load) else op.value.sort
    assert isinstance(sort, MachineSort)
    return 0 if isinstance(op, Free) else sort.width // 8


def _inspected_object(draw: Draw, b: ProgramBuilder, base: Expr, size: int, i: Expr) -> Alloc:
    """An object of any storage, of a constant size, or one that may be negative."""
    storage = draw(st.sampled_from(("heap", "heap", "heap", "stack")))
    op = b.alloc(base, size, zero=draw(st.booleans()), storage=storage)  # type: ignore[arg-type]
    if draw(st.integers(0, 5)) == 0:
        return replace(op, size=build.scale(4, build.to_int(i)))
    return replace(op, constant=draw(st.integers(0, 5)) == 0)


def _asked(b: ProgramBuilder, draw: Draw, readable: tuple[Expr, ...], pointers: list[Expr], far: Expr) -> Op:
    """A statement that frees an object, or goes far away."""
    p, target = readable[draw(st.integers(0, len(readable) - 1))], pointers[draw(st.integers(0, 1))]
    distance = build.scale(4, build.to_int(far))
    return (
        Free(p, "heap"),
        b.assign((target, build.add(p, distance))),
        b.load(b.local("main", "i0", I32), p, distance),
        b.store(p, -4, b.local("main", "i0", I32)),
    )[draw(st.sampled_from((0, 0, 0, 1, 2, 3)))]


def _callee(b: ProgramBuilder, draw: Draw) -> None:
    p, i = b.parameter("f", "p"), b.parameter("f", "i", I32)
    result = b.result("f")
    body = b.store(p, draw(st.sampled_from((0, 4))), i) if draw(st.booleans()) else Free(p, "heap")
    b.edge("f", "entry", "back", body)
    b.edge("f", "back", "exit", Return((build.add(p, build.integer(draw(st.sampled_from((0, 4, 8))))),)))
    assert result.sort is INT


def _statement(
    b: ProgramBuilder,
    draw: Draw,
    readable: tuple[Expr, ...],
    pointers: list[Expr],
    smalls: list[Expr],
    wides: list[Expr],
    byte: Expr,
) -> Op:
    p, q = (
        readable[draw(st.integers(0, len(readable) - 1))],
        readable[draw(st.integers(0, len(readable) - 1))],
    )
    target, wide = pointers[draw(st.integers(0, 1))], wides[draw(st.integers(0, 1))]
    offset = draw(st.sampled_from((0, 0, 4, 8)))
    i = smalls[0]
    element = build.scale(4, build.to_int(i))
    same = build.ite(build.eq(p, q), build.constant(1, I32), build.constant(0, I32))
    made: list[Op] = [
        b.store(p, offset, i),
        b.store(p, offset, build.constant(7, I32)),
        b.store(p, element, i),
        b.load(smalls[0], p, offset),
        b.load(smalls[0], p, element),
        b.store(p, offset, build.wrap(q, U64)),
        b.load(wide, p, offset),
        b.assign((target, build.to_int(wide))),
        b.assign((target, build.add(p, build.integer(offset)))),
        b.assign((target, build.add(p, element))),
        b.assign((target, 0)),
        b.assign((smalls[0], same)),
        b.call("f", p, i, into=(target,)),
        b.store(p, offset, build.constant(255, U8)),
        b.load(byte, p, offset),
        b.assign((smalls[0], build.wrap(build.add(p, build.scale(-1, q)), I32))),
        b.assign((wide, build.add(build.wrap(p, U64), build.constant(4, U64)))),
        b.store(p, offset, wide),
        b.assign((byte, build.ite(build.lt(p, q), build.constant(1, U8), build.constant(2, U8)))),
        b.assign((target, build.ite(build.eq(i, build.constant(1, I32)), p, q))),
    ]
    weights = (3, 2, 3, 3, 3, 3, 3, 3, 3, 2, 1, 2, 2, 1, 1, 1, 1, 2, 1, 1)
    choices = [n for n, weight in enumerate(weights) for _ in range(weight)]
    return made[draw(st.sampled_from(choices))]
