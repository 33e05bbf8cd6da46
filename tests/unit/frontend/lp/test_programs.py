"""The programs in tests/programs: what they say of themselves fits what they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.laws.test_lp_roundtrip import check_invariants

from certus.frontend import load
from certus.frontend.lp import parse, print_lp
from certus.frontend.source import Source

PROGRAMS = sorted((Path(__file__).parents[3] / "programs").glob("*.lp"))
MARK = re.compile(r"// (HOLDS|VIOLATED)$")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_claim_carries_its_verdict(path: Path) -> None:
    text = path.read_text()
    asked = re.match(r"// property: (\S+)", text)
    program = load(path, property=asked[1] if asked else "unreach-call").program
    marked = {i: m[1] for i, line in enumerate(text.splitlines(), 1) if (m := MARK.search(line))}
    assert sorted(marked) == sorted({site.span.line for site in program.errors if site.span})
    assert list(marked.values()).count("VIOLATED") <= 1
    check_invariants(program)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_printed_and_parsed_it_is_the_same(path: Path) -> None:
    tree = parse(Source(path.read_text(), path.name))
    assert parse(Source(print_lp(tree), path.name)) == tree
