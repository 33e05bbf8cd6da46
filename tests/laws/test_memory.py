"""Replacing memory operations preserves the results of a program, under every accepted partition."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.memory_programs import Made, memory_programs, run

from certus.check.proofs.partition import check_partition
from certus.codec.evidence import decode_partition, encode_partition
from certus.core.errors import Unsupported
from certus.core.memory import Field, Partition, Pointer
from certus.core.program import Program
from certus.core.terms import INT
from certus.core.values import Datum
from certus.encoding.memory import lower_memory
from certus.passes.memory import find_partition

RUNS = settings(max_examples=150, derandomize=True, deadline=None)


def same_runs(made: Made, partition: Partition) -> bool:
    """Return whether both ways to run the program take the same edges and compute the same numbers; True if
    the run on bytes ends in an invalid access: then anything may happen."""
    expected, invalid = run(made.program, made.inputs)
    if invalid:
        return True
    lowered = lower_memory(made.program, partition)
    found, _ = run(lowered, made.inputs, frozenset(made.program.edge))
    if found.edges != expected.edges:
        return False
    carriers = {x.name for x in partition.carriers}
    numbers = {x.name for x in _variables(made.program) if x.name not in carriers}
    return all(found.values[name] == expected.values[name] for name in numbers)


def _variables(program: Program) -> list:  # type: ignore[type-arg]
    return [*program.globals, *program.procedures[program.main].variables]


@RUNS
@given(memory_programs())
def test_partitions_that_are_found_are_accepted_and_keep_all_runs(made: Made) -> None:
    try:
        partition = find_partition(made.program)
    except Unsupported:
        return
    assert check_partition(made.program, partition) is None
    assert same_runs(made, partition)
    assert decode_partition(encode_partition(partition)) == partition


@settings(RUNS, max_examples=300)
@given(memory_programs(inspected=True))
def test_no_invalid_access_is_called_valid(made: Made) -> None:
    try:
        partition = find_partition(made.program)
    except Unsupported:
        return
    assert check_partition(made.program, partition) is None
    for (edge, expected), (same, answer) in zip(*_answers(made, partition), strict=False):
        assert edge == same
        assert expected or not answer, f"edge {edge} accesses no live object"


def _answers(made: Made, partition: Partition) -> list[list[tuple[int, Datum]]]:
    """The answers to questions about memory, up to the first invalid access: those of the program, and
    those after memory operations have been replaced."""
    expected, invalid = run(made.program, made.inputs)
    found, _ = run(lower_memory(made.program, partition), made.inputs, frozenset(made.program.edge))
    assert invalid or found.edges == expected.edges or len(found.edges) < len(expected.edges)
    return [expected.answers, found.answers]


@RUNS
@given(memory_programs(statements=5, inspected=True), st.data())
def test_no_accepted_partition_calls_an_invalid_access_valid(made: Made, data: st.DataObject) -> None:
    try:
        partition = find_partition(made.program)
    except Unsupported:
        return
    for _ in range(data.draw(st.integers(1, 2))):
        partition = data.draw(_changed(partition))
    if check_partition(made.program, partition) is None:
        for (_, expected), (_, answer) in zip(*_answers(made, partition), strict=False):
            assert expected or not answer


@RUNS
@given(memory_programs(statements=5), st.data())
def test_partitions_that_are_accepted_keep_all_runs(made: Made, data: st.DataObject) -> None:
    try:
        partition = find_partition(made.program)
    except Unsupported:
        return
    for _ in range(data.draw(st.integers(1, 2))):
        partition = data.draw(_changed(partition))
    if check_partition(made.program, partition) is None:
        assert same_runs(made, partition)


def _changed(partition: Partition) -> st.SearchStrategy[Partition]:
    """Partitions that differ from the given one in one place."""
    regions, carriers = partition.regions, dict(partition.carriers)
    found: list[Partition] = []
    for n, region in enumerate(regions):
        variants = [replace(region, layout=layout) for layout in ("fixed", "free")]
        variants += [replace(region, storage=s) for s in ("arrays", "locals", "globals")]
        variants += [replace(region, stride=s) for s in (0, 1, 4, 8)] + [
            replace(region, wild=not region.wild)
        ]
        if region.fields is not None:
            variants += [replace(region, fields=None), replace(region, fields=region.fields[1:])]
            holding = [replace(f, holds=h) for f in region.fields for h in (None, Pointer(0, 0))]
            variants += [replace(region, fields=(f, *region.fields[1:])) for f in holding[:2]]
        else:
            variants.append(replace(region, fields=(Field(0, 4),)))
        found += [replace(partition, regions=(*regions[:n], v, *regions[n + 1 :])) for v in variants]
    for x, pointer in carriers.items():
        found.append(replace(partition, carriers={y: p for y, p in carriers.items() if y is not x}))
        others = [Pointer(r, pointer.phase) for r in range(len(regions))] + [Pointer(pointer.region, 4)]
        found += [replace(partition, carriers={**carriers, x: other}) for other in others]
        if x.sort is INT:  # the object in a region of its own
            extra = (*regions, replace(regions[pointer.region], layout="fixed"))
            found.append(Partition(partition.bits, extra, {**carriers, x: Pointer(len(regions), 0)}))
    return st.sampled_from(found)


def test_the_programs_are_worth_running() -> None:
    """Many runs are valid to the end, and regions of all kinds occur."""
    seen: Counter[str] = Counter()

    @settings(max_examples=300, derandomize=True, deadline=None, database=None)
    @given(memory_programs())
    def count(made: Made) -> None:
        _, invalid = run(made.program, made.inputs)
        seen["valid"] += not invalid
        try:
            partition = find_partition(made.program)
        except Unsupported:
            seen["unsupported"] += 1
            return
        for region in partition.regions:
            seen[region.layout] += 1
            seen[region.storage] += 1
            seen["bytes"] += region.fields is None
            seen["wild"] += region.wild
            seen["holding"] += any(f.holds is not None for f in region.fields or ())

    count()
    for kind, least in {
        "valid": 60,
        "fixed": 60,
        "free": 20,
        "arrays": 60,
        "locals": 20,
        "globals": 5,
    }.items():
        assert seen[kind] >= least, f"{kind}: {seen[kind]}"
    for kind in ("bytes", "holding", "wild"):
        assert seen[kind] >= 5, f"{kind}: {seen[kind]}"
