"""Clauses about objects: which of them sampled states satisfy."""

from __future__ import annotations

from certus.core import build
from certus.core.terms import BOOL, machine
from certus.engines.arrays.clauses import Lattice
from certus.engines.arrays.samples import State, columns

U32 = machine(32, signed=False)
X, P, Q = build.var("x", U32), build.var("p", BOOL), build.var("q", BOOL)


def test_a_column_has_a_bit_for_each_state_in_which_a_formula_is_false() -> None:
    states: list[State] = [{X: 0}, {X: 5}, {X: 7}]
    big = build.lt(build.constant(5, U32), X)
    assert columns([big, build.not_(big)], states) == [0b011, 0b100]
    assert columns([big], []) == [0]
    assert columns([], states) == []


def test_the_shortest_clauses_that_all_states_satisfy_are_guessed() -> None:
    states: list[State] = [{X: 0, P: True, Q: False}, {X: 0, P: False, Q: True}]
    literals = [build.eq(X, build.constant(0, U32)), P, Q]
    lattice = Lattice(None, build.TRUE, literals, (1, 2), columns(literals, states))
    assert [claim.body for claim in lattice.claims(0)] == [literals[0]]
    assert [claim.body for claim in lattice.claims(2)] == [literals[0], build.or_(P, Q)]
