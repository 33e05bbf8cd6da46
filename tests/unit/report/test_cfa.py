"""Pictures of control-flow automata."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from tests.automata import X, Y, assign, automaton, number

from certus.core import build
from certus.core.errors import Unsupported
from certus.core.program import Assume, Call, Choice, Edge, Havoc, Location, Program, Return, Seq
from certus.report.cfa import LINE, LINES, edge_lines, statement, to_dot, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def positive(variable) -> Assume:
    return Assume(build.gt(variable, number(0)))


def example() -> Program:
    """Entry 0, loop head 1, error 3, exit 4, and a call."""
    steps = [(0, Havoc((X, Y)), 1), (1, positive(X), 2), (2, assign(X, build.sub(X, Y)), 1)]
    steps += [(1, Assume(build.le(X, number(0))), 3), (1, positive(Y), 5), (5, Call("f", (), ()), 4)]
    steps += [(1, assign(Y, number(1)), 1)]
    return automaton(steps, exit_at=4, errors=[3])


def edge(op) -> Edge:
    return Edge(0, Location(0, "p"), op, Location(1, "p"))


class TestLabels:
    @pytest.mark.parametrize(
        ("op", "text"),
        [
            (positive(X), "[a > 0]"),
            (Assume(build.TRUE), "skip"),
            (assign(X, build.add(X, number(1))), "a = a + 1"),
            (Havoc((X, Y)), "a, y = *"),
            (Call("f", (X, number(2)), (Y,)), "y = f(a, 2)"),
            (Call("f", (), ()), "f()"),
            (Return((X,)), "return a"),
            (Return(()), "return"),
        ],
    )
    def test_statements(self, op, text):
        assert statement(edge(op), {X: "a"}) == text

    def test_blocks(self):
        choice = Choice((edge(positive(X)), Seq(edge(positive(Y)), edge(assign(X, Y)))))
        lines = edge_lines(edge(Seq(edge(Havoc((X,))), choice)), {})
        assert " ".join(lines) == "x = *; ([x > 0] | [y > 0]; x = y)"
        assert all(len(line) <= LINE for line in lines)

    def test_long_blocks_are_cut_and_counted(self):
        block = edge(positive(X))
        for _ in range(99):
            block = Seq(block, edge(positive(Y)))
        lines = edge_lines(edge(block), {})
        assert len(lines) == LINES
        assert lines[-1] == "… 100 statements"

    def test_a_deep_block_is_not_unfolded(self):
        """2 ** 5000 ways through it."""
        block = edge(positive(X))
        for _ in range(5000):
            block = Choice((Seq(block, edge(positive(X))), Seq(block, edge(positive(Y)))))
        assert edge_lines(edge(block), {})[-1] == "… 10001 statements"

    def test_a_long_statement_is_cut(self):
        lines = edge_lines(edge(Call("f" * 100, (), ())), {})
        assert lines == ("f" * (LINE - 1) + "…",)


class TestDot:
    def test_every_location_and_edge_is_there(self):
        program, text = example(), to_dot(example())
        for procedure in program.procedures.values():
            assert all(f'"{at.name}" [' in text for at in procedure.locations)
            assert all(f'"{e.source.name}" -> "{e.target.name}"' in text for e in procedure.edges)
        assert text.count("subgraph cluster_") == 2
        assert text.count("->") == sum(len(p.edges) for p in program.procedures.values())

    def test_marks(self):
        line = dict(re.findall(r'(?m)^ *"(main:\d+)" \[(.*)\];', to_dot(example())))
        assert "dashed" in line["main:0"]
        assert "peripheries=2" in line["main:1"]
        assert "peripheries" not in line["main:2"]
        assert 'fillcolor="#d62728"' in line["main:3"]

    def test_quotes_and_backslashes_are_escaped(self):
        program = automaton([(0, Call('f"\\n', (), ()), 1)], exit_at=1)
        assert r'f\"\\n()\l"' in to_dot(program)


@pytest.fixture
def picture() -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(example()))


class TestSvg:
    def test_it_is_an_svg_document_with_all_texts(self, picture):
        assert picture.tag == f"{SVG}svg"
        texts = [t.text.strip() for t in picture.iter(f"{SVG}text") if t.text]
        for expected in (
            "main()",
            "f()",
            "0",
            "1",
            "2",
            "3",
            "4",
            "5",
            "error",
            "exit",
            "[x > 0]",
            "x = x - y",
        ):
            assert expected in texts

    def test_it_has_every_location_and_edge(self):
        program = example()
        document = ElementTree.fromstring(to_svg(program))
        kinds = [rect.get("class") or "" for rect in document.iter(f"{SVG}rect")]
        assert sum(k.startswith("node") for k in kinds) == sum(
            len(p.locations) for p in program.procedures.values()
        )
        assert kinds.count("inner") == 1
        assert kinds.count("node error") == 1
        assert kinds.count("node entry") == 2
        arrows = [p for p in document.iter(f"{SVG}path") if (p.get("class") or "").startswith("arrow")]
        assert len(arrows) == sum(len(p.edges) for p in program.procedures.values())

    def test_it_is_the_same_every_time(self):
        assert to_svg(example()) == to_svg(example())

    def test_special_characters_are_escaped(self):
        program = automaton([(0, Call("a<b>&c", (), ()), 1)], exit_at=1)
        document = ElementTree.fromstring(to_svg(program))
        assert "a<b>&c()" in [t.text for t in document.iter(f"{SVG}text")]

    def test_a_huge_graph_is_refused(self):
        program = automaton([(n, positive(X), n + 1) for n in range(3000)], exit_at=3000)
        with pytest.raises(Unsupported, match="has 3001 edges") as refusal:
            to_svg(program)
        assert refusal.value.diagnostic.hint == "try --blocks large, or --format dot"
