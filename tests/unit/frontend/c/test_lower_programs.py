"""The small C programs, from text to checked answer: the verdict stands on the line of each claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.expectations import expected

from certus.core.evidence import Trace, Unsafe
from certus.core.program import Program
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.witness.read import read_witness
from certus.witness.write import render_witness, witness_of

PROGRAMS = sorted((Path(__file__).parents[3] / "programs" / "c").glob("*.c"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_answer_is_right_and_its_witness_is_one(path: Path, tmp_path: Path) -> None:
    wanted = expected(path)
    engines = tuple(sorted(wanted.decided_by))  # none: all engines in turn
    outcome = verify(path, Settings(property_name=wanted.property_name, engines=engines, timeout=120.0))
    assert outcome.answer == wanted.answer, outcome.verdict
    if isinstance(outcome.verdict, Unsafe):
        assert isinstance(outcome.subject, Program)
        assert isinstance(outcome.verdict.refutation, Trace)
        site = outcome.subject.error_at(outcome.subject.location[outcome.verdict.refutation.error])
        assert site.span is not None
        assert site.span.line in wanted.violated
    witness, remark = witness_of(outcome)
    file = tmp_path / "w.yml"
    file.write_text(render_witness(witness, engine=outcome.engine, remark=remark, created="2024-01-01"))
    assert read_witness(file) == witness
