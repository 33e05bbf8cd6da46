"""What statements and procedures read and write."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.effects import (
    assigned_variables,
    copies,
    global_reads,
    global_writes,
    procedure_writes,
    targets,
    terms,
    written,
)
from certus.core.program import Alloc, Assign, Assume, Call, Free, Havoc, Load, Op, Program, Return, Store
from certus.core.terms import INT, Expr

X, Y, R = (build.var(name, INT) for name in ("x", "y", "main.r"))


@pytest.mark.parametrize(
    ("op", "writes", "evaluates"),
    [
        (Assign((X,), (Y,)), (X,), (Y,)),
        (Assume(build.lt(X, Y)), (), (build.lt(X, Y),)),
        (Havoc((X, Y)), (X, Y), ()),
        (Call("f", (X,), (Y,)), (Y,), (X,)),
        (Return((X,)), (), (X,)),
        (Load(X, Y), (X,), (Y,)),
        (Store(X, Y), (), (X, Y)),
        (Alloc(X, Y, 1, "heap", "x"), (X,), (Y,)),
        (Free(X, "heap"), (), (X,)),
    ],
)
def test_a_statement(op: Op, writes: tuple[Expr, ...], evaluates: tuple[Expr, ...]) -> None:
    assert targets(op) == writes
    assert terms(op) == evaluates


def calls() -> tuple[Program, dict[str, Expr]]:
    """`main` calls `f`, and `f` and `g` call each other."""
    b = ProgramBuilder()
    names = {name: b.var(name) for name in ("read", "by_main", "by_g")}
    names["p"], names["result"], names["t"] = b.parameter("f", "p"), b.result("f"), b.local("main", "t")
    b.edge("main", "entry", "call", Assign((names["by_main"],), (build.integer(1),)))
    b.edge("main", "call", "exit", Call("f", (names["by_main"],), (names["t"],)))
    b.edge("f", "entry", "back", Call("g", (), ()))
    b.edge("f", "back", "exit", Return((names["p"],)))
    b.edge("g", "entry", "again", Assign((names["by_g"],), (names["read"],)))
    b.edge("g", "again", "exit", Call("f", (build.integer(0),), ()))
    return b.build(), names


def test_callees_write_and_read_for_their_callers() -> None:
    program, x = calls()
    assert global_writes(program) == {
        "main": {x["by_main"]: None, x["by_g"]: None},
        "f": {x["by_g"]: None},
        "g": {x["by_g"]: None},
    }
    assert global_reads(program) == {
        "main": {x["by_main"]: None, x["read"]: None},
        "f": {x["read"]: None},
        "g": {x["read"]: None},
    }


def test_a_procedure_writes_its_own_variables_too() -> None:
    program, x = calls()
    assert set(procedure_writes(program)["main"]) == {x["by_main"], x["by_g"], x["t"]}
    assert procedure_writes(program)["f"] == (x["result"], x["by_g"])
    returned = program.procedures["f"].edges[1].op
    assert written(returned, program.procedures["f"]) == (x["result"],)
    assert assigned_variables(program) == frozenset(x.values()) - {x["read"]}


def test_a_call_copies_arguments_and_results() -> None:
    program, x = calls()
    main = program.procedures["main"]
    assert list(copies(main.edges[1].op, main, program)) == [(x["p"], x["by_main"]), (x["t"], x["result"])]
