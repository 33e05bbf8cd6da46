"""Laws of abstractions (seed 003, section 4.3), and CAR against Spacer on random clauses."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.sorts import BOOL, INT
from certus.core.terms import Expr, Function
from certus.engines.clp.abstraction import Abstraction, collapse, formals, replicate

RELATIONS = tuple(Function(f"R{n}", (INT, INT), BOOL) for n in range(3))


@st.composite
def interfaces(draw: st.DrawFn) -> dict[Function, dict[Expr, None]]:
    found: dict[Function, dict[Expr, None]] = {}
    x, y = formals((INT, INT))
    for relation in RELATIONS:
        bounds = draw(st.lists(st.tuples(st.sampled_from((x, y)), st.integers(-3, 3)), max_size=4))
        known = {build.le(v, build.integer(n)): None for v, n in bounds}
        if known:
            found[relation] = known
    return found


@settings(derandomize=True, deadline=None, max_examples=60)
@given(interfaces(), st.lists(st.sampled_from(RELATIONS), min_size=0, max_size=6))
def test_collapse_undoes_replicate(
    interface: dict[Function, dict[Expr, None]], copies: list[Function]
) -> None:
    """With a variant of every relation (each is a variant of itself), collapse(replicate(a)) = a."""
    variants = dict(enumerate((*RELATIONS, *copies)))
    assert collapse(replicate(Abstraction(interface), variants), variants) == interface


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_replicate_of_collapse_knows_at_least_as_much(data: st.DataObject) -> None:
    variants = dict(enumerate((*RELATIONS, *RELATIONS)))
    x, y = formals((INT, INT))
    atom = st.builds(lambda v, n: build.le(v, build.integer(n)), st.sampled_from((x, y)), st.integers(-3, 3))
    own = {n: tuple(data.draw(st.lists(atom, max_size=3))) for n in variants}
    back = replicate(Abstraction(collapse(own, variants)), variants)
    assert all(set(own[n]) <= set(back[n]) for n in variants)
