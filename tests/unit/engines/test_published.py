"""The loop of the paper: a Boolean program in each round, its trace lifted, interpolants as predicates."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.evidence import Inductive, Safe, Unknown

EXAMPLES = Path(__file__).parents[3] / "examples"
PUBLISHED = Settings(
    engine="predicate", options={"predicate.via": "boolean"}, blocks="single", inline=False, timeout=60
)


@pytest.mark.parametrize(
    ("name", "answer"),
    [("swap", "HOLDS"), ("swap_bug", "VIOLATED"), ("traffic_light", "HOLDS"), ("gcd_bug", "VIOLATED")],
)
def test_small_programs(name: str, answer: str) -> None:
    assert verify(EXAMPLES / f"{name}.lp", PUBLISHED).answer == answer


def test_a_small_procedure_has_a_summary() -> None:
    """Figure 3 of the paper: the call of swap() is passed over by what it does to x and y."""
    verdict = verify(EXAMPLES / "swap.lp", PUBLISHED).verdict
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Inductive)
    assert list(verdict.proof.summaries) == ["swap"]


def test_too_few_refinements() -> None:
    options = {"predicate.via": "boolean", "predicate.refinements": "1"}
    settings = Settings(engine="predicate", options=options, blocks="single", timeout=60)
    verdict = verify(EXAMPLES / "sum.lp", settings).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "refinements-reached"


def test_large_blocks_are_taken_apart() -> None:
    settings = Settings(engine="predicate", options={"predicate.via": "boolean"}, timeout=60)
    assert verify(EXAMPLES / "locks_bug.lp", settings).answer == "VIOLATED"
