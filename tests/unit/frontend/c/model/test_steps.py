"""Counterexamples of the front end for LLVM IR in the words of the source: golden step lists.

Each program is run by the interpreter with given inputs, up to its violation, or up to the end of `main` if
nothing is violated before. `CERTUS_ACCEPT=1 pytest` writes the list anew; review the difference as code.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from certus.check.replay.replay import replay
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Trace, Unsafe
from certus.core.outcome import Outcome
from certus.core.program import Havoc, Program, Store
from certus.core.terms import Expr, MachineSort, Value
from certus.core.values import Datum, default_value
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run
from certus.report.counterexample import counterexample

HERE: Final = Path(__file__).parent
GOLDEN: Final = HERE / "steps.txt"
SHARED: Final = HERE.parents[3] / "programs" / "c"
INPUTS: Final = ((1,), (0,), (3, 1, 2, 0), (2147483647,), (100, -100, 7), (5,), (10,), (4, 1))
SELECTED: Final = """
arrays_bug assume_and_abort booleans_and_enums constructors division_by_zero error_functions
error_pointers function_pointers_bug goto_scopes heap heap_bug integer_promotions
loops_bug narrow_compound overflow_addition pointers pointers_bug reallocation
short_circuit_bug side_effects statics structs_bug switch_cases uninitialised
"""
PROGRAMS: Final = (
    *sorted((HERE / "programs").glob("*.c")),
    *(SHARED / f"{name}.c" for name in SELECTED.split()),
)


class _Given:
    """Inputs: each function of the environment gives the same numbers, again and again; the rest is 0."""

    def __init__(self, program: Program, numbers: Sequence[int]) -> None:
        self._program = program
        self._streams: dict[str, Iterator[int]] = defaultdict(lambda: cycle(numbers))
        self.inputs: dict[int, list[tuple[Value, ...]]] = defaultdict(list)
        self.contents: dict[int, tuple[bytes, ...]] = {}

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        op = self._program.edge[edge].op
        assert isinstance(op, Havoc)
        values = tuple(self._value(target, op.function) for target in targets)
        self.inputs[edge].append(values)
        return values

    def _value(self, target: Expr, function: str | None) -> Value:
        default = default_value(target.sort)
        assert isinstance(default, bool | int)
        if function is None or function.startswith("$") or not isinstance(target.sort, MachineSort):
            return default
        return target.sort.wrap(next(self._streams[function]))


def steps(file: Path) -> list[str]:
    """The steps of a program's first violation, one a line."""
    program = load_c(file, property=_property(file)).program
    for numbers in INPUTS:
        given = _Given(program, numbers)
        end = run(compile_program(program), given, step_limit=20_000, budget=Budget(20))
        if end.ending is Ending.ERROR:
            trace = Trace(end.location.name, {}, {edge: tuple(v) for edge, v in given.inputs.items()})
            check = replay(program, trace, budget=Budget(20))
            assert not isinstance(check, Diagnostic), check.message
            return list(_lines(Outcome(program, "unreach-call", Unsafe(trace), "test", check=check)))
    return []


def _property(file: Path) -> str:
    first = file.read_text().split("\n", 1)[0]
    return first.removeprefix("// property: ") if first.startswith("// property: ") else "unreach-call"


def _lines(outcome: Outcome) -> Iterator[str]:
    found = counterexample(outcome)
    assert found is not None
    for move in found.moves:
        line = 0 if move.span is None else move.span.line
        reason = f" ({move.reason})" if move.reason else ""
        yield f"{line:4} {'  ' * move.depth}{move.statement} => {move.effect}{reason}"
    span, site = found.error.span, found.error
    assert span is not None
    begun = None if site.start is None or site.start.span is None else site.start.span.line
    place = f"{span.line}:{span.column}-{span.end_line}:{span.end_column}"
    yield f"     {place} {site.kind}: {site.text} [{site.function}, from line {begun}]"


def _with_an_end(file: Path, directory: Path) -> Path:
    """The program, with an error at the end of `main`."""
    text = file.read_text()
    at = text.rfind("return 0;")
    at = at if at >= 0 else text.rindex("}")
    made = directory / file.name
    made.write_text(f"{text[:at]}reach_error(); {text[at:]}")
    return made


def _golden() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for section in GOLDEN.read_text().split("\n== ")[1:] if GOLDEN.exists() else ():
        name, *lines = section.rstrip("\n").split("\n")
        found[name] = lines
    return found


def _accept(name: str, lines: list[str]) -> None:
    known = _golden() | {name: lines}
    order = [each.stem for each in PROGRAMS]
    sections = [[f"== {each}", *known[each]] for each in sorted(known, key=order.index)]
    text = "\n".join(line for section in sections for line in section)
    GOLDEN.write_text(f"Step lists of test_steps.py.\n{text}\n")


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.stem)
def test_steps_have_the_words_of_the_source(file: Path, tmp_path: Path) -> None:
    found = steps(file) or steps(_with_an_end(file, tmp_path))
    assert found
    shown = [line for line in found if "$" in line or ".addr" in line]
    assert not shown, "names that are not the user's"
    if os.environ.get("CERTUS_ACCEPT"):
        _accept(file.stem, found)
    assert found == _golden()[file.stem]


def test_initialisers_name_functions_as_their_file_does(tmp_path: Path) -> None:
    text = "static int step(int x) {{ return x + {0}; }}\nint (*table{0}[2])(int) = {{step, step}};\n"
    main = "extern int (*table2[2])(int);\nint main(void) { return table2[0](table1[1](0)); }\n"
    paths = tmp_path / "first.c", tmp_path / "second.c"
    paths[0].write_text(text.format(1) + main)
    paths[1].write_text(text.format(2))
    program = load_c(paths).program
    stores = [
        edge.text for p in program.procedures.values() for edge in p.edges if isinstance(edge.op, Store)
    ]
    assert stores == ["step"] * 4
