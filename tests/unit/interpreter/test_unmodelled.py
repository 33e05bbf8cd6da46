"""A counterexample may not depend on values that stand for something that is not modelled."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Trace
from certus.core.outcome import Replay
from certus.core.program import Havoc, Program
from certus.core.terms import Expr


def program(*, used: bool) -> Program:
    """`x = f(); y = x; assert(y == 1)`, or `assert(z == 1)` where z = 0."""
    b = ProgramBuilder()
    x, y, z = (b.local("main", name) for name in "xyz")
    b.edge("main", "entry", "one", Havoc((x,), "f", "the result of `f`"))
    b.edge("main", "one", "two", b.assign((y, x), (z, 0)))
    claim: Expr = build.eq(y if used else z, build.integer(1))
    b.check("main", "two", claim, "exit")
    return b.build()


@pytest.mark.parametrize("values", [{}, {0: ((5,),)}])
def test_a_use_is_refused(values: dict[int, tuple[tuple[int, ...], ...]]) -> None:
    subject = program(used=True)
    result = replay(subject, Trace(subject.errors[0].location.name, {}, values), budget=Budget(10))
    assert isinstance(result, Diagnostic)
    assert result.code == "trace-needs-unmodelled-value"
    assert "the result of `f`" in result.message


def test_a_value_that_does_not_matter_is_harmless() -> None:
    subject = program(used=False)
    result = replay(subject, Trace(subject.errors[0].location.name), budget=Budget(10))
    assert isinstance(result, Replay)
