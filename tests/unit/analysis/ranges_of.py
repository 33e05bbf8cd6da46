"""Short ways to get the ranges of a program text in tests."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from certus.analysis.ranges.essa import Scope
from certus.analysis.ranges.result import Ranges, analyse
from certus.core.engine import Task
from certus.core.program import Location, Program
from certus.frontend.c.load import load_c
from certus.frontend.lp import load_lp
from certus.passes.memory import Memory

Pair = tuple[int | None, int | None]


def c_program(text: str) -> Program:
    """A program in C, without memory operations."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "t.c"
        path.write_text(text)
        lowered = Memory().apply(Task(load_c(path).program))[0].subject
    assert isinstance(lowered, Program)
    return lowered


def lp_program(text: str) -> Program:
    return load_lp(text, "t.lp", "unreach-call").program


class Analysed:
    """Ranges at locations that are easy to name, by the names of variables in the source."""

    def __init__(self, program: Program) -> None:
        self.ranges: Ranges = analyse(program, Scope(everywhere=True))
        self.program = self.ranges.program

    def at(self, location: Location) -> dict[str, Pair]:
        names = self.program.source_names
        return {names.get(x, x.name): (i.low, i.high) for x, i in self.ranges.at(location).items()}

    def heads(self, procedure: str = "main") -> list[dict[str, Pair]]:
        """At the loops of a procedure, in order of the source."""
        places = [(at.loop, at) for at in self.program.procedures[procedure].locations if at.loop]
        return [self.at(at) for _, at in sorted(places, key=lambda each: (each[0].line, each[0].column))]

    def before(self, text: str, procedure: str = "main") -> dict[str, Pair]:
        """In front of the one statement that reads `text`."""
        edges = [e for e in self.program.procedures[procedure].edges if e.text == text]
        assert len(edges) == 1, [e.text for e in self.program.procedures[procedure].edges]
        return self.at(edges[0].source)

    def of(self, name: str) -> Pair:
        """Return the range of all values assigned to a variable."""
        names = self.program.source_names
        ranges = {x: i for x in self.ranges.essa.defined if (i := self.ranges.of(x)) is not None}
        (only,) = [i for x, i in ranges.items() if names.get(x, x.name) == name]
        return only.low, only.high
