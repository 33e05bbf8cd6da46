"""Every range that `certus ranges` prints holds in runs of the program before slicing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.laws.observed_ranges import OutOfRange, Watch, numbers, run_observed

from certus.core.accounting import Budget
from certus.core.effects import targets
from certus.core.program import Edge, Program, leaves
from certus.core.terms import Expr, MachineSort, machine
from certus.frontend.c.load import load_c
from certus.interpreter.interpreter import Machine
from certus.report.ranges import RangeReport, VariableRange
from certus.run.ranges import numeric_report, without_memory

PROGRAMS = {
    "cells that the property does not need": """
        int arr[10];
        int main(void) { for (int i = 0; i < 10; i++) arr[i] = i; assert(arr[3] == 3); return 0; }""",
    "a field that the property does not need": """
        struct pair { int a, b; } p[3];
        int main(void) {
            for (int i = 0; i < 3; i++) { p[i].a = 2 * i; p[i].b = nondet() % 7; }
            assert(p[1].a == 2); p[2].a = 50; return p[0].b; }""",
    "writes after the last assertion": """
        int main(void) {
            int i; for (i = 0; i < 10; i++); assert(i == 10); i = 99; while (i > 0) i -= 2; return i; }""",
    "a variable index": """
        unsigned char table[5];
        int main(void) {
            int n = nondet(); if (n < 0 || n > 4) return 0;
            for (int k = 0; k < 5; k++) table[k] = (unsigned char)(10 * k);
            table[n] = 200; assert(table[0] >= 0); return table[n]; }""",
    "a callee": """
        int last, log[4];
        void note(int i, int x) { log[i] = x; last = x; }
        int main(void) {
            for (int i = 0; i < 4; i++) note(i, i * i - 3);
            assert(log[1] == -2); return last; }""",
    "a pointer to one of two globals": """
        int g1, g2;
        int main(void) {
            int *p = nondet() ? &g1 : &g2;
            for (int i = 0; i < 6; i++) { *p = i - 2; p = nondet() ? &g1 : &g2; }
            assert(g1 <= 3); g2 = 40; return g1; }""",
    "the heap": """
        void *malloc(unsigned long);
        struct node { int value; struct node *next; };
        int main(void) {
            struct node *list = 0;
            for (int i = 0; i < 4; i++) {
                struct node *n = malloc(sizeof *n); if (!n) return 0;
                n->value = 5 * i - 7; n->next = list; list = n; }
            assert(list->value == 8); list->value = 77; return 0; }""",
    "initial values": """
        int g = 5, h, z = 9; double d = 2.5; int f(int a) { z++; return a + h + g; }
        int main(void) { int e = h; h = g + z; d = 1; return f(e) + (int)d; }""",
    "two dimensions": """
        short m[2][3];
        int main(void) {
            for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) m[i][j] = (short)(i - j);
            assert(m[0][2] == -2); m[1][0] = -9; return 0; }""",
}
PROLOGUE = """
    int nondet(void);
    extern void reach_error(void);
    #define assert(c) do { if (!(c)) reach_error(); } while (0)
"""


class WatchWrites(Watch):
    """Compares each value that is written with the row of the report that stands for its variable."""

    def __init__(self, program: Program, rows: dict[Expr, tuple[VariableRange, MachineSort | None]]) -> None:
        super().__init__(program, {})
        self._rows, self._initial = rows, tuple(program.initial)

    def start(self, machine: Machine) -> None:
        for x in self._initial:
            self._compare(machine, x)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        for op in () if edge is None else leaves(edge):
            for x in targets(op):
                self._compare(machine, x)

    def _compare(self, machine: Machine, x: Expr) -> None:
        if x in self._rows:
            row, view = self._rows[x]
            for value in numbers(machine.value(x), view):
                self.compare(x, value, row.low, row.high, machine.location)


def printed(path: Path, text: str) -> tuple[Program, RangeReport, WatchWrites]:
    path.write_text(PROLOGUE + text)
    lowered, offsets = without_memory(load_c(path).program)
    report = numeric_report(lowered, None, Budget(30), offsets)
    by_name = {(row.procedure, row.name): row for row in report.variables if row.given and not row.objects}
    rows: dict[Expr, tuple[VariableRange, MachineSort | None]] = {}
    owners = {x: name for name, p in lowered.procedures.items() for x in p.variables}
    for x in (*lowered.globals, *owners):
        name = lowered.source_names.get(x)
        field = offsets.field(x) if offsets is not None and name is None else None
        row = by_name.get((owners.get(x), name or "")) or by_name.get((None, field or ""))
        if row is not None:
            rows[x] = row, sort_named(row.type)
    return lowered, report, WatchWrites(lowered, rows)


def sort_named(name: str) -> MachineSort | None:
    return machine(int(name[1:]), signed=name[0] == "i") if name[1:].isdigit() else None


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_written_lies_in_the_printed_range(name: str, tmp_path: Path) -> None:
    program, _, watch = printed(tmp_path / "program.c", PROGRAMS[name])
    assert run_observed(program, watch, runs=8, steps=2_000) >= 8


@pytest.mark.parametrize(
    ("name", "row"),
    [("a pointer to one of two globals", "g1/g2"), ("two dimensions", "m[]"), ("a callee", "log[]")],
)
def test_memory_is_watched(name: str, row: str, tmp_path: Path) -> None:
    """The law says something about memory: without room for the values, runs leave the range."""
    program, report, watch = printed(tmp_path / "program.c", PROGRAMS[name])
    (range_,) = (each for each in report.variables if each.name == row)
    object.__setattr__(range_, "high", range_.low)
    with pytest.raises(OutOfRange):
        run_observed(program, watch, runs=8, steps=2_000)


def test_a_range_that_is_too_narrow_is_noticed(tmp_path: Path) -> None:
    program, report, watch = printed(
        tmp_path / "program.c", PROGRAMS["cells that the property does not need"]
    )
    (row,) = (row for row in report.variables if row.name == "arr[]")
    assert (row.low, row.high) == (0, 9)
    object.__setattr__(row, "high", 3)
    with pytest.raises(OutOfRange):
        run_observed(program, watch, runs=1, steps=2_000)
