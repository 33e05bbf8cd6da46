"""The C examples have the verdicts that their names promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_bisect() -> None:
    assert verify(EXAMPLES / "bisect.c", Settings(engine="spacer", timeout=120.0)).answer == "HOLDS"
    found = verify(EXAMPLES / "bisect_bug.c", Settings(timeout=120.0))
    answers = {each.kind: each.answer for each in found.answers}
    assert [kind for kind, answer in answers.items() if answer == "VIOLATED"] == ["assert"]
    assert answers["overflow"] == "HOLDS"  # unsigned arithmetic wraps


def test_window() -> None:
    assert verify(EXAMPLES / "window.c", Settings(checks=(), timeout=120.0)).answer == "HOLDS"
    assert verify(EXAMPLES / "window_bug.c", Settings(checks=(), timeout=120.0)).answer == "VIOLATED"


@pytest.mark.parametrize(
    ("name", "answer", "iterations"), [("rational", "HOLDS", 2), ("rational_bug", "VIOLATED", 1)]
)
@pytest.mark.parametrize("flags", [(), ("no-div-zero", "-DNDEBUG")])
def test_rational(name: str, answer: str, iterations: int, flags: tuple[str, ...]) -> None:
    """Flanagan 2004, Figure 1: by its assertion, and by the division itself."""
    asked = Settings(
        engine="clp",
        timeout=120.0,
        property_name=flags[0] if flags else "unreach-call",
        clang_arguments=flags[1:],
    )
    found = verify(EXAMPLES / f"{name}.c", asked)
    assert found.answer == answer
    assert found.statistics.counters["clp.iterations"] == iterations


def test_rational_ends_with_delta() -> None:
    """Section 4, without preprocessing. The object is split into its members and calls are inlined before
    there are clauses: so of delta there are the loop's interface, `d == 0` (of an unsigned number), and for
    main that d == 0 and d == y imply y == 0. The clause of the assertion says how to read d as signed."""
    options = {"clp.preprocess": "off", "clp.explication": "proofs"}
    found = verify(EXAMPLES / "rational.c", Settings(checks=(), engine="clp", timeout=120.0, options=options))
    assert found.answer == "HOLDS"
    assert found.statistics.counters["clp.iterations"] == 2
    kinds = [(f.kind, f.text) for f in found.statistics.findings]
    assert [text for kind, text in kinds if kind == "interface"] == ["x0 <= 0"]
    explicated = [text for kind, text in kinds if kind == "explicated"]
    assert len(explicated) == 2
    assert "main.y@0:i32 != 0" in explicated[0]
    assert "@argument.0:u32 <= 0" in explicated[0]
    assert explicated[1].startswith("mem$0$4:u32 <= 0 || ")


@pytest.mark.parametrize(
    ("name", "engine", "answer"), [("queue", "predicate", "HOLDS"), ("queue_bug", "bmc", "VIOLATED")]
)
def test_queue(name: str, engine: str, answer: str) -> None:
    assert verify(EXAMPLES / f"{name}.c", Settings(checks=(), engine=engine, timeout=120.0)).answer == answer
