"""The tab of automata: what is drawn, what is not, and how large it all is."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

from tests.automata import X, assign, automaton, number
from tests.unit.report.html.reading import Page
from tests.unit.report.html.test_page import violated

from certus.cli.verify import with_blocks
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Unknown
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.frontend.lp import load_lp
from certus.report.html import automata
from certus.report.html.page import render_html
from certus.run.settings import Settings


def test_every_procedure_is_drawn_before_and_after_large_blocks(counting: SimpleNamespace) -> None:
    words = render_html(with_blocks(violated(counting), Settings()))
    page = Page(words)
    drawn = {a["id"]: a["data-size"] for a in page.tags("template")}
    assert set(drawn) == {"before-0", "before-1", "after-0", "after-1"}
    assert drawn["before-1"] == "2 locations, 1 edges"
    heads = [a for a in page.tags("g") if a.get("data-at") == "main:1"]
    assert [a["data-line"] for a in heads] == ["4", "4"]
    assert page.trace["steps"][0]["at"] == "main:1"


def test_without_large_blocks_there_is_one_way(counting: SimpleNamespace) -> None:
    page = Page(render_html(violated(counting)))
    assert [a["id"] for a in page.tags("template")] == ["before-0", "before-1"]


def unknown(program: Program) -> Outcome:
    return Outcome(program, "unreach-call", Unknown(Diagnostic("time-limit", "no answer")), "auto")


def test_what_cannot_be_read_is_not_drawn() -> None:
    """5,000 locations."""
    steps = [(n, assign(X, number(n)), n + 1) for n in range(5000)]
    words = automata.panel(unknown(automaton(steps, exit_at=5000)))
    assert re.search(r"has 5,00\d edges; pictures are limited to 400", words)
    assert len(words) < 4000


def test_pictures_end_where_there_is_no_more_room(counting: SimpleNamespace, monkeypatch) -> None:
    whole = automata.panel(violated(counting))
    monkeypatch.setattr(automata, "ROOM", 2000)
    words = automata.panel(violated(counting))
    assert "too large" not in whole
    assert words.count("This picture would make the report too large") == 2
    assert (whole.count("automaton"), words.count("automaton")) == (2, 0)


def test_a_report_about_2000_lines_has_less_than_2_megabytes() -> None:
    procedures = []
    for n in range(100):
        steps = "\n".join(
            f"    if (x > {k}) {{ x = x + {k}; }} // and a comment of usual length" for k in range(14)
        )
        procedures.append(
            f"int f{n}(int x) {{\n  while (x < 100) {{\n    x = x + 1;\n{steps}\n  }}\n  return x;\n}}"
        )
    main = (
        "void main() {\n  int y = *;\n"
        + "".join(f"  y = f{n}(y);\n" for n in range(100))
        + "  assert(y > 0);\n}"
    )
    source = "\n".join([*procedures, main]) + "\n"
    program = load_lp(source, "large.lp").program
    assert source.count("\n") >= 2000
    assert len(render_html(with_blocks(unknown(program), Settings())).encode()) < 2_000_000


def test_no_program_no_pictures() -> None:
    assert automata.panel(unknown(Program({}, "main", (), ()))) == ""
    assert automata.panel(replace(unknown(Program({}, "main", (), ())), blocks=None)) == ""
