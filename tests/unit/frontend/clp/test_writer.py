"""Horn clauses printed as constraint logic programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import Unsupported
from certus.core.horn import HornSystem, clause_of
from certus.core.terms import BOOL, INT, REAL, Function, machine
from certus.frontend.chc.load import load_chc
from certus.frontend.clp.load import load_clp
from certus.frontend.clp.writer import clp_text
from certus.frontend.source import Source, read_source

X, Y = build.var("x", INT), build.var("y", INT)
R = Function("r", (INT,), BOOL)


def printed(text: str) -> list[str]:
    """The rules of a text after reading and printing it."""
    lines = clp_text(load_clp(Source(text, "test.clp"), Budget())).splitlines()
    return [line for line in lines if line and not line.startswith((":-", "%"))]


@pytest.mark.parametrize(
    "rule",
    [
        "r(X) :- s(X), X =< 0.",
        "r(X, Y) :- X \\= Y.",
        "r(X) :- \\+ X.",
        "false :- r(X), bvslt(X, bv(3, 8)).",
        "'E.main' :- 'T.x'(X, X + 1).",
        "r(A) :- const(array(int, int), 0) = A.",
        "r(extract(3, 0, X)) :- s(X), bvult(X, bv(3, 8)).",
    ],
)
def test_a_rule_prints_as_it_is_written(rule: str) -> None:
    assert printed(rule) == [rule]


def test_the_rules_of_the_paper_are_read_again() -> None:
    source = read_source(Path("tests/programs/chc/rational.smt2"))
    system = load_chc(source, Budget())
    again = load_clp(Source(clp_text(system, comment="one\ntwo"), "again.clp"), Budget())
    assert again.relations == system.relations
    assert [len(c.body) for c in again.clauses] == [len(c.body) for c in system.clauses]
    assert [c.head and c.head.function for c in again.clauses] == [
        c.head and c.head.function for c in system.clauses
    ]


def test_a_variable_outside_of_relations_states_its_sort() -> None:
    x = build.var("x", REAL)
    clause = clause_of((), build.lt(x, build.real(0)), None)
    assert "X : real" in clp_text(HornSystem((), (clause,)))


def test_names_stay_distinct() -> None:
    variables = [build.var(name, INT) for name in ("x", "X", "x.1", "x!1", "1")]
    relation = Function("r", (INT,) * 5, BOOL)
    system = HornSystem((relation,), (clause_of((), build.TRUE, build.apply(relation, variables)),))
    (clause,) = load_clp(Source(clp_text(system), "test.clp"), Budget()).clauses
    assert len(clause.variables) == 5


def test_a_quantifier_has_no_syntax() -> None:
    bits = machine(8, signed=False)
    inner = build.forall((bits,), build.lt(build.bound(0, bits), build.var("b", bits)))
    with pytest.raises(Unsupported, match="quantifier"):
        clp_text(HornSystem((), (clause_of((), inner, None),)))
