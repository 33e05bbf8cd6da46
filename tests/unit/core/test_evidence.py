"""What variables of formulas stand for."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.evidence import Standing, in_frame, old, stands_for
from certus.core.terms import INT, Expr, machine

X = build.var("p.x", INT)
G = build.var("g", INT)
NAMED = {v.name: v for v in (X, G)}


@pytest.mark.parametrize(
    ("variable", "standing"),
    [
        (X, Standing(X)),
        (old(G), Standing(G, is_old=True)),
        (in_frame(X, 12), Standing(X, depth=12)),
        (build.var("p.x/2", machine(64, signed=False)), Standing(X, depth=2)),
    ],
)
def test_a_variable_stands_for_one_of_the_program(variable: Expr, standing: Standing) -> None:
    assert stands_for(variable, NAMED) == standing
    assert standing.of(standing.variable).name == variable.name


@pytest.mark.parametrize("name", ["y", "old(y)", "p.x/", "p.x/one", "p.x/1/2", "p.x/²"])
def test_others_are_not_of_the_program(name: str) -> None:
    assert stands_for(build.var(name, INT), NAMED) is None
