"""The running examples of the papers have the answers that their first lines claim, by the engine of the
paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

PAPERS = Path(__file__).parents[2] / "examples" / "papers"
ENGINES = {"armando2004": "linear", "flanagan2004": "clp"}
WORDS = {"sat": "HOLDS", "unsat": "VIOLATED"}
PROGRAMS = sorted(p for p in PAPERS.rglob("*.*") if p.suffix in (".c", ".lp", ".clp"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_an_example_has_the_answer_it_claims(path: Path) -> None:
    claim = path.read_text().split(":")[0].lstrip("/*% ")
    settings = Settings(engine=ENGINES[path.parent.name], checks=(), timeout=120.0)
    assert verify(path, settings).answer == WORDS.get(claim, claim)


def test_every_paper_has_both_answers() -> None:
    for paper in ENGINES:
        names = [p.stem for p in PROGRAMS if p.parent.name == paper]
        assert any(name.endswith("_bug") for name in names)
        assert not all(name.endswith("_bug") for name in names)
