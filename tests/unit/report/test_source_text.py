"""Pieces of source text."""

from __future__ import annotations

import pytest

from certus.core.program import Call
from certus.report.source_text import behind_arrow, call_text, condition_of, is_place, is_statement, left_side


def test_conditions() -> None:
    assert condition_of("if (x < 5)") == "x < 5"
    assert condition_of("for (; i < n;)") == "i < n"
    assert condition_of("assert((a) && (b));") == "(a) && (b)"
    assert condition_of("a[i] < 3") == "a[i] < 3"


@pytest.mark.parametrize("text", ["a", "a[i + 1].x", "p->items[p->n % 4]", "*p", "(*p).next"])
def test_places(text: str) -> None:
    assert is_place(text)


@pytest.mark.parametrize("text", ["", "1", "'a'", "f(x)", "a == b", "x = 3", "a" * 61, "3 + a"])
def test_what_is_no_place(text: str) -> None:
    assert not is_place(text)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("x = 3", "x"),
        ("unsigned int a[2] = {1}", "a[2]"),
        ("p->n += 1", "p->n"),
        ("p->n++", "p->n"),
        ("--x", "x"),
        ("a[i] <<= 2", "a[i]"),
        ("x == 3", ""),
        ("2", ""),
    ],
)
def test_what_is_assigned_to(text: str, side: str) -> None:
    assert left_side(text) == side


def test_members() -> None:
    assert behind_arrow("p->next->items[q->n]") == (True, "items[q->n]")
    assert behind_arrow("a[p->n]") == (False, "a[p->n]")


def test_statements_and_values() -> None:
    assert all(map(is_statement, ("return x", "x = 3", "x++", "if (x)", "f();")))
    assert not any(map(is_statement, ("x == 3", "a <= b", "f(x)", "returned")))


def test_calls() -> None:
    call = Call("sum", (), ())
    assert call_text(call, "sum(n - 1)") == "sum(n - 1)"
    assert call_text(call, "assert(sum(n) != 7)") == "sum(...)"
    assert call_text(call, "x = sum(n)") == "sum(...)"
