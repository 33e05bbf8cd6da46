"""The inputs of the runs of the engine `random`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final, cast

from certus.core.evidence import Trace
from certus.core.program import Alloc, Program
from certus.core.terms import Expr, Sort, Value
from certus.core.values import Datum
from certus.interpreter.inputs import Contents, RandomInputs

KEPT: Final = 0.97  # probability that a read of a steady input repeats the value before
WORDS: Final = 16  # of an object that get contents; the others are 0


class RunInputs(RandomInputs):
    """Random inputs of the run with a number, and random contents of the objects it creates: zeros, or one
    word, small or of any bits, again and again. `steady`: an input mostly repeats the value that was read
    before, so that a loop that reads whether to go on has many iterations."""

    def __init__(
        self, program: Program, number: int, constants: Mapping[Sort, tuple[Value, ...]], *, steady: bool
    ) -> None:
        self._seed = Random(f"look/{number}")
        super().__init__(self._seed, constants, program.formats)
        self._steady = steady
        random = Random(f"contents/{number}")
        allocs = [n for n, e in program.edge.items() if isinstance(e.op, Alloc) and not e.op.zero]
        self._drawn = {edge: _Drawn(random) for edge in allocs} if number % 2 else {}

    @property
    def contents(self) -> Contents:
        """The first bytes of the objects that each `Alloc` creates, endless sequences."""
        return cast(Contents, self._drawn)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        earlier = self._inputs.get(edge)
        if self._steady and earlier is not None and self._seed.random() < KEPT:
            earlier.append(earlier[-1])
            return earlier[-1]
        return super().havoc(edge, occurrence, targets)

    def trace(self, error: str) -> Trace:
        trace = super().trace(error)
        objects = {edge: drawn.objects for edge, drawn in self._drawn.items() if drawn.given}
        return replace(trace, inputs={**trace.inputs, **objects})


class _Drawn:
    """An endless sequence of contents of objects, which remembers those that it has given."""

    def __init__(self, random: Random) -> None:
        self.given: list[bytes] = []
        self._random = random

    @property
    def objects(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(tuple, self.given))

    def __iter__(self) -> Iterator[bytes]:
        random = self._random
        while True:
            small = random.random() < 0.7
            word = random.randint(-1, 6) if small else random.getrandbits(32)
            self.given.append((word % (1 << 32)).to_bytes(4, "little") * WORDS)
            yield self.given[-1]
