"""What core/program.py promises of every program, on all C programs of the test suite."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from tests.expectations import expected

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.effects import targets, terms
from certus.core.program import Alloc, Assign, Assume, Call, Havoc, InspectHeap, Load, Program, Return, Store
from certus.core.solver import Answer
from certus.core.terms import INT, Expr, MachineSort
from certus.core.walk import variables
from certus.frontend.c.load import load_c
from certus.solvers.z3.solver import Z3Solver

PROGRAMS = sorted((Path(__file__).parents[3] / "programs" / "c").glob("*.c"))


@cache
def program(path: Path) -> Program:
    return load_c(path, property=expected(path).property_name).program


def each(test):  # type: ignore[no-untyped-def]
    return pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)(test)


@each
def test_branches_exclude_each_other(path: Path) -> None:
    solver = Z3Solver(Statistics())
    for procedure in program(path).procedures.values():
        for out in procedure.successors.values():
            if len(out) < 2:
                continue
            conditions = [e.op.condition for e in out if isinstance(e.op, Assume)]
            assert len(conditions) == len(out)
            for a, b in combinations(conditions, 2):
                both = build.and_(a, b)
                if both is not build.FALSE:
                    solver.push()
                    solver.add(both)
                    assert solver.check(budget=Budget(30), purpose="test") is Answer.UNSAT
                    solver.pop()


@each
def test_errors_are_ends_and_are_expected(path: Path) -> None:
    found = program(path)
    assert found.errors
    lines = [site.span.line for site in found.errors if site.span is not None]
    assert expected(path).violated <= set(lines)
    for site in found.errors:
        procedure = found.procedures[site.location.procedure]
        assert not procedure.successors[site.location]
        assert procedure.predecessors[site.location]
        assert site.text


@each
def test_indices_are_unique_and_names_tell_whose_they_are(path: Path) -> None:
    found = program(path)
    edges = [e for p in found.procedures.values() for e in p.edges]
    locations = [at for p in found.procedures.values() for at in p.locations]
    assert [e.index for e in edges] == list(range(len(edges)))
    assert sorted(at.index for at in locations) == list(range(len(locations)))
    for procedure in found.procedures.values():
        own = set(procedure.variables)
        assert set(procedure.parameters) <= own
        assert set(procedure.results) <= own
        for variable in own:
            assert variable.name.startswith(f"{procedure.name}.")
            assert "$" in variable.name or variable in found.source_names
    everything = [*found.globals, *(v for p in found.procedures.values() for v in p.variables)]
    assert len({variable.name for variable in everything}) == len(everything)
    for variable in everything:
        assert not set("@/()") & set(variable.name)


@each
def test_variables_are_declared_and_sorts_fit(path: Path) -> None:
    found = program(path)
    for procedure in found.procedures.values():
        known = {*procedure.variables, *found.globals}
        for edge in procedure.edges:
            op = edge.op
            assert not isinstance(op, type(None))
            assert set(variables(*terms(op))) <= known, edge
            assert set(targets(op)) <= known, edge
            check_sorts(found, procedure.results, op)


def check_sorts(found: Program, results: tuple[Expr, ...], op: object) -> None:
    if isinstance(op, Assign):
        assert [t.sort for t in op.targets] == [v.sort for v in op.values]
    elif isinstance(op, Call):
        callee = found.procedures[op.procedure]
        assert [a.sort for a in op.arguments] == [p.sort for p in callee.parameters]
        assert [t.sort for t in op.targets] == [r.sort for r in callee.results][: len(op.targets)]
    elif isinstance(op, Return):
        assert [v.sort for v in op.values] == [r.sort for r in results]
    elif isinstance(op, Load):
        assert isinstance(op.target.sort, MachineSort)
        assert op.target.sort.width % 8 == 0
        assert op.address.sort is INT
    elif isinstance(op, Store):
        assert isinstance(op.value.sort, MachineSort)
        assert op.value.sort.width % 8 == 0
        assert op.address.sort is INT
    elif isinstance(op, Alloc):
        assert op.target.sort is INT
        assert op.size.sort is INT
    else:
        assert isinstance(op, Assume | Havoc | InspectHeap) or hasattr(op, "address")
