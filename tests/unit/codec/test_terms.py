"""The saved form of terms: its shape and what is refused. That it round-trips is a law."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from certus.codec.terms import decode_terms, decode_value, encode_terms, encode_value
from certus.core import build as b
from certus.core.terms import BOOL, INT, REAL, Function, array, machine, sort_named

U8 = machine(8, signed=False)
X = b.var("x", INT)
TABLE = {
    "version": 1,
    "sorts": ["Int", "Bool"],
    "functions": [],
    "nodes": [[2, 0, [], "x"], [1, 0, [], "3"], [15, 1, [0, 1]]],
    "roots": [2],
}


def test_the_table_of_a_small_formula() -> None:
    assert encode_terms([b.le(X, b.integer(3))]) == TABLE
    assert decode_terms(TABLE) == (b.le(X, b.integer(3)),)


def test_shared_terms_stand_in_the_table_once() -> None:
    total = b.add(X, b.var("y", INT))
    table = encode_terms([total, b.le(total, X), total])
    assert len(table["nodes"]) == 4
    assert decode_terms(table) == (total, b.le(total, X), total)


def test_quantifiers_functions_and_large_numbers() -> None:
    relation = Function("r", (INT, array(U8, BOOL)), BOOL)
    atom = b.apply(relation, (b.bound(1, INT), b.var("a", array(U8, BOOL))))
    inner = b.exists((REAL,), b.and_(atom, b.lt(b.bound(0, REAL), b.real(3))))
    roots = [b.forall((INT,), inner), b.lt(X, b.integer(-(7**9000))), b.apply(Function("c", (), INT), ())]
    assert list(decode_terms(encode_terms(roots))) == roots


def test_integers() -> None:
    for value in (0, -5, 10**30, 2**50_000, -(2**50_000)):
        assert decode_value(encode_value(value), INT) == value


@pytest.mark.parametrize(
    ("coded", "sort"),
    [
        (3, INT),
        ("3", BOOL),
        (True, INT),
        ("3", REAL),
        ("1/2", INT),
        ("1/0", REAL),
        ("256", U8),
        ("-1", U8),
        ("1_0", INT),
        (" 1", INT),
        ("", INT),
        ("0x", INT),
        (None, INT),
        ("3", array(INT, INT)),
        ("٣", INT),
        ("9" * 5000, INT),
        (1.5, REAL),
    ],
)
def test_values_that_do_not_fit(coded: object, sort: Any) -> None:
    with pytest.raises(ValueError, match="is not a value of sort"):
        decode_value(coded, sort)


def broken(**changes: object) -> dict[str, Any]:
    return {**copy.deepcopy(TABLE), **changes}


def with_node(
    *node: object, sorts: tuple[str, ...] = ("Int", "Bool", "u8", "Array(Int,Bool)")
) -> dict[str, Any]:
    """A table with x: Int, 3: Int, x <= 3, a: u8, m: Array(Int,Bool), then the node."""
    nodes = [*TABLE["nodes"], [2, 2, [], "a"], [2, 3, [], "m"], list(node)]  # type: ignore[misc]
    return broken(sorts=list(sorts), nodes=nodes, roots=[5])


@pytest.mark.parametrize(
    "table",
    [
        None,
        [],
        "x",
        {},
        3,
        broken(version=2),
        broken(version="1"),
        broken(sorts="Int"),
        broken(sorts=["Int", "Bool", "u0"]),
        broken(sorts=["Int", "i"]),
        broken(sorts=[1, 2]),
        broken(sorts=["Int", "Array(Int"]),
        broken(sorts=["u" + "9" * 50, "Bool"]),
        broken(sorts=["Int", "Array(" * 10_000]),
        broken(sorts=["Int"]),
        broken(roots=[3]),
        broken(roots=[-1]),
        broken(roots=[True]),
        broken(roots=2),
        broken(roots=["0"]),
        broken(nodes={}),
        broken(nodes=[3]),
        broken(nodes=[[]]),
        broken(nodes=[[2, 0, []]]),
        broken(nodes=[[15, 1, [0, 1]]]),
        broken(functions=[["f", 0]]),
        broken(functions=[[1, [], 0]]),
        broken(functions=[["f", [9], 0]]),
        with_node(99, 0, []),
        with_node("2", 0, [], "x"),
        with_node(2, 9, [], "x"),
        with_node(2, 0, [], 7),
        with_node(1, 0, [], 3),
        with_node(1, 2, [], "256"),
        with_node(1, 3, [], "0"),
        with_node(15, 1, [0, 3]),
        with_node(15, 0, [0, 1]),
        with_node(15, 1, [0]),
        with_node(15, 1, [2, 2]),
        with_node(15, 1, [0, 1], "data"),
        with_node(11, 1, [2]),
        with_node(11, 1, [0, 2]),
        with_node(10, 1, [0]),
        with_node(13, 0, [2, 0, 3]),
        with_node(20, 2, [3, 3, 3]),
        with_node(22, 0, [0, 0]),
        with_node(24, 1, [2, 2]),
        with_node(27, 2, [3, 3]),
        with_node(30, 0, [0, 1]),
        with_node(40, 0, [3]),
        with_node(41, 0, [0]),
        with_node(50, 1, [4, 3]),
        with_node(50, 0, [4, 0]),
        with_node(51, 3, [4, 0, 0]),
        with_node(52, 3, [0]),
        with_node(4, 0, [0], 0),
        with_node(3, 0, [], -1),
        with_node(60, 1, [2], []),
        with_node(60, 1, [0], [0]),
        with_node(60, 1, [2], [17]),
        with_node(14, 1, [0, 3]),
    ],
)
def test_nonsense_is_refused_with_a_sentence(table: object) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        decode_terms(table)


def test_bound_variables_must_have_the_sorts_of_their_quantifiers() -> None:
    """BOUND 0 as Int under a quantifier over Bool; then as Int and u8 in one term."""
    nodes: list[list[object]] = [[3, 0, [], 0], [15, 1, [0, 0]], [60, 1, [1], [1]]]
    with pytest.raises(ValueError, match="another sort than its quantifier"):
        decode_terms(broken(nodes=nodes, roots=[2]))
    nodes = [[3, 0, [], 0], [3, 2, [], 0], [15, 1, [0, 0]], [15, 1, [1, 1]], [11, 1, [2, 3]]]
    with pytest.raises(ValueError, match="two sorts"):
        decode_terms(broken(sorts=["Int", "Bool", "u8"], nodes=nodes, roots=[4]))


def test_sorts_have_readable_names() -> None:
    for sort in (BOOL, INT, REAL, U8, machine(64, signed=True), array(array(INT, U8), array(BOOL, REAL))):
        assert sort_named(sort.name) is sort
