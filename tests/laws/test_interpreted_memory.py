"""Memory in the interpreter agrees with a naive one: a dictionary of bytes by object and offset."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.program import Alloc, Assume, Edge, Free, Load, Program, Store
from certus.core.terms import Expr, Kind, MachineSort, machine
from certus.core.walk import variables
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs, Nondeterministic, TraceInputs
from certus.interpreter.interpreter import Ending, Machine

LAW = settings(derandomize=True, deadline=None, max_examples=200)
SORTS = tuple(machine(w, signed=s) for w in (8, 16, 32, 64) for s in (True, False))
U64 = machine(64, signed=False)
LIMIT = 150


class Chance:
    """A random program: one loop around operations on four objects, four pointers and a few integers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        b = self.builder = ProgramBuilder()
        self.bases = [b.local("main", f"base{i}") for i in range(4)]
        self.pointers = [b.local("main", f"p{i}") for i in range(4)]
        self.numbers = [b.local("main", f"x{i}", s) for i, s in enumerate(SORTS)]
        self.word = b.local("main", "word", U64)
        self.place = 0
        start = [b.assign((v, 0)) for v in (*self.bases, *self.numbers)]
        for op in (*start, *(self.alloc(i) for i in range(3)), *map(self.aim, self.pointers)):
            self.do(op)
        head = self.place
        for _ in range(self.random.randint(4, 14)):
            for op in self.chosen():
                self.do(op)
        b.skip("main", f"n{self.place}", f"n{head}")
        b.skip("main", "unreached", "exit")
        self.program: Program = b.build()

    def do(self, op: Any) -> None:
        source = f"n{self.place}" if self.place else "entry"
        self.place += 1
        self.builder.edge("main", source, f"n{self.place}", op)

    def alloc(self, which: int) -> Alloc:
        size = self.random.choice((1, 8, 8, 24, 24, 64))
        storage, zero = self.random.choice(("heap", "heap", "stack")), self.random.random() < 0.4
        return Alloc(self.bases[which], build.integer(size), 8, storage, f"o{which}", zero)

    def aim(self, pointer: Expr) -> Any:
        offset = self.random.choice((0, 0, 8, 8, 4, 1, 2, 7))
        target = build.add(self.random.choice(self.bases[:3]), build.integer(offset))
        return self.builder.assign((pointer, target))

    def chosen(self) -> list[Any]:
        random = self.random
        pointer, number = random.choice(self.pointers), random.choice(self.numbers)
        assert isinstance(number.sort, MachineSort)
        if random.random() < 0.04:
            return [self.alloc(random.randrange(4)) if random.random() < 0.6 else Free(pointer, "heap")]
        kind = random.randrange(8)
        if kind <= 1:
            return [Load(number, pointer)]
        if kind <= 3:
            constant = build.constant(random.choice((0, 1, number.sort.low, number.sort.high)), number.sort)
            return [Store(pointer, constant)]
        if kind == 4:
            return [Store(pointer, number)]
        if kind == 5:
            return [self.aim(pointer)]
        if kind == 6:
            other = random.choice(self.pointers)
            through = build.to_int(self.word)
            return [
                Store(pointer, build.wrap(other, U64)),
                Load(self.word, pointer),
                self.builder.assign((other, through)),
            ]
        zero, one = (build.constant(n, number.sort) for n in (0, 1))
        return [Assume(build.or_(build.ne(number, zero), build.ne(number, one)))]


@dataclass
class Thing:
    """An object of the naive memory. Each byte is None, a number, or (pointer, which byte of it)."""

    storage: str
    bytes: list[Any]
    live: bool = True


@dataclass
class Naive:
    """Pointers are pairs (object, offset), or 0. Integers are numbers, or lists of bytes that are none."""

    values: dict[Expr, Any]
    things: list[Thing] = field(default_factory=list)

    def address(self, term: Expr) -> Any:
        """Of the terms made here: a variable, or one plus a constant."""
        offset = 0
        for part in term.args or (term,):
            if part.kind is Kind.CONST:
                offset += int(part.value)
            else:
                base = self.values[part]
        return (base[0], base[1] + offset) if isinstance(base, tuple) else base or offset

    def bytes_at(self, pointer: Any, width: int) -> tuple[Thing, int] | None:
        if isinstance(pointer, (int, list)):
            return None
        thing, offset = self.things[pointer[0]], pointer[1]
        return (thing, offset) if thing.live and 0 <= offset <= len(thing.bytes) - width else None

    def step(self, edge: Edge) -> bool | None:
        """Execute a step; return whether it is defined, None if the naive memory cannot decide."""
        op, values = edge.op, self.values
        if isinstance(op, Alloc):
            self.things.append(Thing(op.storage, [0 if op.zero else None] * int(op.size.value)))
            values[op.target] = (len(self.things) - 1, 0)
        elif isinstance(op, Free):
            pointer = self.address(op.address)
            thing = self.things[pointer[0]] if isinstance(pointer, tuple) else None
            if thing is None or not thing.live or pointer[1] or thing.storage != op.storage:
                return pointer == 0
            thing.live = False
        elif isinstance(op, Load):
            assert isinstance(op.target.sort, MachineSort)
            return self._load(op, op.target.sort)
        elif isinstance(op, Store):
            return self._store(op)
        elif isinstance(op, Assume):
            return self._looked_at(values[variables(op.condition)[0]])
        else:
            return self._assign(op)
        return True

    def _looked_at(self, value: Any) -> bool | None:
        if isinstance(value, int):
            return True
        return None if any(isinstance(b, tuple) for b in value) else False

    def _load(self, op: Load, sort: MachineSort) -> bool:
        width = sort.width // 8
        found = self.bytes_at(self.address(op.address), width)
        if found is None:
            return False
        thing, offset = found
        data = thing.bytes[offset : offset + width]
        if all(isinstance(b, int) for b in data):
            self.values[op.target] = int.from_bytes(bytes(data), "little", signed=sort.signed)
        else:
            self.values[op.target] = list(data)
        return True

    def _store(self, op: Store) -> bool:
        assert isinstance(op.value.sort, MachineSort)
        width = op.value.sort.width // 8
        found = self.bytes_at(self.address(op.address), width)
        if found is None:
            return False
        thing, offset = found
        thing.bytes[offset : offset + width] = self._bytes(op.value, width)
        return True

    def _bytes(self, term: Expr, width: int) -> list[Any]:
        if term.args:  # a pointer
            pointer = self.values[term.args[0]]
            if not isinstance(pointer, (int, list)):
                return [(pointer, i) for i in range(8)]
            value: Any = pointer
        else:
            value = int(term.value) if term.kind is Kind.CONST else self.values[term]
        if isinstance(value, list):
            return value
        return list((value & ((1 << 8 * width) - 1)).to_bytes(width, "little"))

    def _assign(self, op: Any) -> bool | None:
        (target,), (value,) = op.targets, op.values
        if value.kind is Kind.CONST:
            self.values[target] = int(value.value)
        elif value.kind is not Kind.TO_INT:
            self.values[target] = self.address(value)
        else:
            word = self.values[value.args[0]]
            pointer = word[0][0] if isinstance(word, list) and isinstance(word[0], tuple) else word
            if isinstance(pointer, tuple) and word != [(pointer, i) for i in range(8)]:
                return None
            if isinstance(pointer, list) and any(isinstance(b, tuple) for b in pointer):
                return None
            self.values[target] = pointer
            return None if isinstance(pointer, int) and pointer else True
        return True


@LAW
@given(st.integers(0, 1 << 32))
def test_memory_is_bytes(seed: int) -> None:
    program = Chance(seed).program
    procedure = program.procedures["main"]
    naive = Naive({})
    at, steps, verdict = procedure.entry, 0, True
    while steps < LIMIT:
        (edge,) = procedure.successors[at]
        if not isinstance(edge.op, Assume) or edge.op.condition is not build.TRUE:
            found = naive.step(edge)
            if found is None:
                return
            if not found:
                verdict = False
                break
        at, steps = edge.target, steps + 1
    compiled = compile_program(program)
    for inputs in (TraceInputs(program, Trace("?")), NoInputs()):
        for watched in (frozenset(), compiled.everywhere):
            machine_ = Machine(compiled, inputs)
            try:
                end = machine_.advance(compiled.code(watched), limit=steps + (not verdict), budget=Budget())
            except Nondeterministic:  # a pointer beyond its object is stored
                assert isinstance(inputs, NoInputs)
                continue
            if not verdict:
                assert (end.ending, end.edge, end.steps) == (Ending.UNDEFINED, edge, steps)
            elif watched:
                assert (end.ending, end.steps) == (Ending.LIMIT, steps)
                for variable, value in naive.values.items():
                    if isinstance(value, int) and isinstance(variable.sort, MachineSort):
                        assert machine_.value(variable) == value
