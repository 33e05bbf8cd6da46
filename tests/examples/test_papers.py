"""The running examples of the papers have the answers that their first lines claim, by the engine of the
paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

PAPERS = Path(__file__).parents[2] / "examples" / "papers"
ENGINES = {
    "armando2004": "linear",
    "flanagan2004": "clp",
    "mertens2014": "predicate",
    "wolff2015": "predicate",
    "zaks2006": "ranges",
}
REFUTES = {"zaks2006": "bmc"}  # ranges only prove
WORDS = {"sat": "HOLDS", "unsat": "VIOLATED"}
PROGRAMS = sorted(p for p in PAPERS.rglob("*.*") if p.suffix in (".c", ".lp", ".clp"))
SLOW = ("sort_16", "sort_32", "sort_32_bug")  # minutes; `scripts/bench_predicate.py` runs them


def claim(path: Path) -> str:
    word = path.read_text().split(":")[0].lstrip("/*% ")
    return WORDS.get(word, word)


@pytest.mark.parametrize(
    "path", [p for p in PROGRAMS if p.stem not in SLOW], ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_an_example_has_the_answer_it_claims(path: Path) -> None:
    paper = path.parent.name
    engine = REFUTES.get(paper, ENGINES[paper]) if claim(path) == "VIOLATED" else ENGINES[paper]
    assert verify(path, Settings(engine=engine, checks=(), timeout=120.0)).answer == claim(path)


def test_names_tell_the_claims() -> None:
    assert [claim(p) for p in PROGRAMS] == [
        "VIOLATED" if p.stem.endswith("_bug") else "HOLDS" for p in PROGRAMS
    ]


def test_every_paper_has_both_answers() -> None:
    assert {p.parent.name for p in PROGRAMS} == ENGINES.keys()
    for paper in ENGINES:
        assert {claim(p) for p in PROGRAMS if p.parent.name == paper} == {"HOLDS", "VIOLATED"}


def test_the_boolean_program_of_swap_is_the_one_that_is_printed() -> None:
    """Wolff 2015, Listing 2: the example without the comments that `certus abstract` prints beside it."""
    golden = Path(__file__).parents[1] / "cli" / "golden" / "abstract_swap.lp"

    def statements(path: Path) -> list[str]:
        lines = [line.split("//")[0].rstrip() for line in path.read_text().splitlines()]
        return [line for line in lines if line]

    assert statements(PAPERS / "wolff2015" / "swap_boolean_bug.lp") == statements(golden)
