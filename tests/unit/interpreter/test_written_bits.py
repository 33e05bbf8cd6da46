"""Which bits of memory count as written in runs."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.program import Alloc
from certus.core.terms import INT
from certus.interpreter.indeterminate import Fault, Indeterminate
from certus.interpreter.memory import Memory, OpaqueMemory, loader, storer

BASE = build.var("base", INT)


def new(
    memory: Memory, size: int = 8, *, zero: bool = False, storage: str = "heap", filled: bool = False
) -> int:
    op = Alloc(BASE, build.integer(size), 8, storage, "o", zero, filled=filled)  # type: ignore[arg-type]
    return memory.allocate(size, op, 0)


@pytest.mark.parametrize("layout", [Memory, OpaqueMemory])
def test_stores_write_all_their_bits(layout: type[Memory]) -> None:
    memory = layout(1, 64)
    start = new(memory)
    assert memory.written_bits(start, 4) == 0
    storer(2, signed=False)(memory, start + 1, 0, 7)
    assert memory.written_bits(start, 4) == 0x00FFFF00
    storer(4, signed=False)(memory, start, 0, 1)
    assert memory.written_bits(start, 8) == 0xFFFFFFFF


def test_addresses_and_unknown_values_count_as_written() -> None:
    memory = OpaqueMemory(1, 64)
    start = new(memory)
    storer(8, signed=False)(memory, start, 0, new(memory))
    assert memory.written_bits(start, 8) == 2**64 - 1
    storer(8, signed=False)(memory, start, 0, Indeterminate.unmodelled("a value"))  # type: ignore[arg-type]
    assert memory.written_bits(start, 8) == 2**64 - 1


def test_a_copy_keeps_bits_unwritten() -> None:
    memory = Memory(1, 64)
    start, other = new(memory), new(memory)
    storer(1, signed=False)(memory, start, 0, 5)
    value = loader(4, signed=False)(memory, start, 0)
    storer(4, signed=False)(memory, other, 0, value)
    assert memory.written_bits(other, 4) == 0xFF
    storer(4, signed=False)(memory, other, 0, 9)
    memory.mark_bits(other, 4, 0xFF)
    assert memory.written_bits(other, 4) == 0xFF


def test_marks_give_no_value() -> None:
    memory = Memory(1, 64)
    start = new(memory)
    memory.mark_bits(start, 4, 0xFFFFFFFF)
    assert memory.written_bits(start, 4) == 0


@pytest.mark.parametrize("given", [{"zero": True}, {"storage": "static"}, {"filled": True}])
def test_some_objects_are_written_from_the_start(given: dict[str, bool]) -> None:
    memory = Memory(1, 64)
    assert memory.written_bits(new(memory, **given), 2) == 0xFFFF  # type: ignore[arg-type]


def test_large_objects() -> None:
    memory = Memory(1, 64)
    start = new(memory, 1 << 21)
    storer(4, signed=False)(memory, start + (1 << 16) - 2, 0, 3)
    assert memory.written_bits(start + (1 << 16) - 4, 8) == 0x0000FFFFFFFF0000


def test_bits_outside_of_objects_are_a_fault() -> None:
    memory = Memory(1, 64)
    start = new(memory)
    with pytest.raises(Fault, match="which has 8 bytes"):
        memory.written_bits(start, 9)
