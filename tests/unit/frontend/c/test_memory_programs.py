"""Programs with memory errors, and programs that only look as if they had one: the interpreter runs them, and
the answer stands in the program. `programs/c` has programs of this kind for the whole of Certus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from certus.check.proofs.partition import check_partition
from certus.core.accounting import Budget
from certus.core.terms import Expr, MachineSort
from certus.core.values import Datum, default_value
from certus.core.vocabulary import KINDS, PART_OF_KIND, PARTS
from certus.encoding.memory import lower_memory
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run
from certus.passes.memory import find_partition

FOLDER = Path(__file__).parents[3] / "programs" / "c"
PROGRAMS = sorted((*FOLDER.glob("memory/*.c"), *FOLDER.glob("uninitialised/*.c")))
MODELS = ("LP64", "ILP32")


@dataclass(frozen=True)
class Given:
    """Inputs in order, then zeros."""

    values: list[int]

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = [self.values.pop(0) if self.values else 0 for _ in targets]
        return tuple(
            target.sort.wrap(value) if isinstance(target.sort, MachineSort) else value
            for target, value in zip(targets, values, strict=True)
        )


def header(text: str, key: str) -> str:
    match = re.search(rf"^// {key}: (.+)$", text, re.MULTILINE)
    return "" if match is None else match[1]


def cases() -> list[tuple[Path, str]]:
    asked = {path: header(path.read_text(), "data-model") for path in PROGRAMS}
    return [(path, model) for path in PROGRAMS for model in MODELS if asked[path] in ("", model)]


@pytest.mark.parametrize(("path", "model"), cases(), ids=lambda x: x if isinstance(x, str) else x.stem)
def test_the_interpreter_finds_what_the_program_says(path: Path, model: str) -> None:
    text = path.read_text()
    violated = [n for n, line in enumerate(text.splitlines(), 1) if "// VIOLATED" in line]
    assert violated or "// HOLDS" in text
    wanted = header(text, "property")
    program = load_c(path, property=wanted, model=model).program
    inputs = Given([int(value) for value in header(text, "inputs").split()])
    end = run(compile_program(program), inputs, step_limit=100_000, budget=Budget())
    if not violated:
        assert end.ending in (Ending.EXIT, Ending.BLOCKED), end
        return
    assert end.ending is Ending.ERROR, end
    site = program.error_at(end.location)
    part = PART_OF_KIND.get(site.kind, KINDS["uninitialised"].property)
    assert part == (header(text, "subproperty") or wanted)
    assert wanted in PARTS or part == wanted
    assert site.span is None or site.span.line in violated


@pytest.mark.parametrize(
    "path", [p for p in PROGRAMS if p.parent.name == "uninitialised"], ids=lambda p: p.stem
)
def test_the_encoding_agrees_about_written_bits(path: Path) -> None:
    text = path.read_text()
    program = load_c(path, property=header(text, "property")).program
    partition = find_partition(program)
    check_partition(program, partition)
    lowered = lower_memory(program, partition)
    inputs = Given([int(value) for value in header(text, "inputs").split()])
    end = run(compile_program(lowered), inputs, step_limit=100_000, budget=Budget())
    if "// VIOLATED" not in text:
        assert end.ending is Ending.EXIT, end
        return
    assert end.ending is Ending.ERROR, end
    assert program.error_at(end.location).kind == "uninitialised-read"
