"""Partitions: their JSON, and what is executed once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import ProgramBuilder

from certus.codec.evidence import decode_partition, decode_proof, encode_partition, encode_proof
from certus.core import build
from certus.core.effects import uses_memory
from certus.core.evidence import Partitioned, Unrolling
from certus.core.memory import Field, Partition, Pointer, Region, executed_once
from certus.core.terms import INT, machine

P, W = build.var("main.p", INT), build.var("main.w", machine(64, signed=False))
PARTITION = Partition(
    64,
    (
        Region(0, (Field(0, 4), Field(8, 8, Pointer(0, 0))), layout="fixed"),
        Region(1, None, Pointer(0, 0), wild=True),
        Region(24, (Field(-0, 1),), layout="fixed", storage="globals"),
    ),
    {P: Pointer(0, 8), W: Pointer(1, 0)},
)


def test_a_partition_survives_json() -> None:
    assert decode_partition(json.loads(json.dumps(encode_partition(PARTITION)))) == PARTITION


def test_a_partitioned_proof_survives_json() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "exit")
    proof = Partitioned(PARTITION, Unrolling({"main:0": 3}))
    assert decode_proof(json.loads(json.dumps(encode_proof(proof))), b.build()) == proof


def test_a_program_is_partitioned_once() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "exit")
    twice = encode_proof(Partitioned(PARTITION, Partitioned(PARTITION, Unrolling({}))))
    with pytest.raises(ValueError, match="partitioned once"):
        decode_proof(twice, b.build())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.update(bits=65), "width of pointers cannot be 65"),
        (lambda d: d["types"].pop(), "must have 2 parts"),
        (lambda d: d["types"].__setitem__(0, [7, 0]), "no region number 7"),
        (lambda d: d["types"].__setitem__(0, None), "has no type"),
        (lambda d: d["regions"][0].update(layout="odd"), "layout of a region cannot be 'odd'"),
        (lambda d: d["regions"][0].update(storage="odd"), "storage of a region cannot be 'odd'"),
        (lambda d: d["regions"][0].update(stride=-1), "must be a natural number"),
        (lambda d: d["regions"][0]["fields"].append([0, 1]), "must have 3 parts"),
        (lambda d: d["regions"][0]["fields"].append([0.5, 1, None]), "must be an integer"),
        (lambda d: d["regions"][0].pop("wild"), "lacks the field 'wild'"),
    ],
)
def test_nonsense_is_refused(damage: Callable[[dict[str, Any]], object], message: str) -> None:
    data = encode_partition(PARTITION)
    damage(data)
    with pytest.raises(ValueError, match=message):
        decode_partition(data)


def test_what_is_executed_once() -> None:
    b = ProgramBuilder()
    x = b.local("main", "x")
    first = b.edge("main", "entry", "loop", b.call("f"))
    again = b.edge("main", "loop", "loop", b.call("g"))
    inner = b.edge("f", "entry", "exit", b.call("h"))
    deep = b.edge("h", "entry", "exit", b.assign())
    often = b.edge("g", "entry", "exit", b.assign())
    assert executed_once(b.build()) == {first.index, inner.index, deep.index}
    assert again.index != often.index
    b.edge("g", "exit", "after", b.call("h"))  # now h is called from two places
    assert deep.index not in executed_once(b.build())
    assert not uses_memory(b.build())
    b.edge("main", "loop", "exit", b.alloc(x, 4))
    assert uses_memory(b.build())


def test_a_recursive_main_is_executed_more_than_once() -> None:
    b = ProgramBuilder()
    b.edge("main", "entry", "exit", b.call("main"))
    assert executed_once(b.build()) == frozenset()
