"""Control dependence in procedures."""

from __future__ import annotations

from certus.check.replay.flow import Flows
from certus.frontend.lp import load_lp


def test_a_loop_that_only_an_error_ends_may_go_on_for_ever() -> None:
    """So the error depends on the assertion, although no execution ends otherwise."""
    source = "void main() {\n  int x = 0;\n  while (true) {\n    x = x + 1;\n    assert(x < 3);\n  }\n}\n"
    program = load_lp(source, "endless.lp").program
    flow = Flows(program).of("main")
    lines = [at.span.line for at in flow.failure if at.span is not None]
    assert lines == [5]
    assert not flow.fails()
