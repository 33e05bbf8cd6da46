"""The source as HTML."""

from __future__ import annotations

import re

import pytest
from tests.unit.report.html.reading import Page

from certus.report.html import source
from certus.report.html.source import Notes, coloured_lines, listing

NONE = Notes({}, {})


@pytest.mark.parametrize(
    ("file", "words", "lines"),
    [
        ("a.c", "int x; // if", ["<b>int</b> x; <i>// if</i>"]),
        ("a.c", "/* a\nb */ x", ["<i>/* a</i>", "<i>b */</i> x"]),
        (
            "a.c",
            'char *s = "/* \\" if";',
            ['<b>char</b> *s = <span class="s">&quot;/* \\&quot; if&quot;</span>;'],
        ),
        ("a.c", "#define X 1 // one", ['<span class="p">#define X 1 </span><i>// one</i>']),
        ("a.c", "/* never closed\nint", ["<i>/* never closed</i>", "<i>int</i>"]),
        (
            "a.c",
            'printf("%d", \'"\');',
            ['printf(<span class="s">&quot;%d&quot;</span>, <span class="s">&#x27;&quot;&#x27;</span>);'],
        ),
        ("a.lp", "while (x < 3)", ["<b>while</b> (x &lt; 3)"]),
        ("a.smt2", "(assert x) ; y", ["(<b>assert</b> x) <i>; y</i>"]),
        ("a.c", "a\r\nb", ["a", "b"]),
    ],
)
def test_words_are_told_apart(file: str, words: str, lines: list[str]) -> None:
    assert coloured_lines(words, file) == lines


def test_every_line_is_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "COLOURED", 1000)
    for count in (1, 499, 500, 501, 1001):
        page = Page(listing("if (x)\n" * count, "a.c", NONE, {}))
        assert list(page.ids) == [f"L{n}" for n in range(1, count + 1)]


def test_of_a_very_long_source_the_surroundings_are_shown() -> None:
    words = listing("x\n" * 30_000, "a.c", Notes({}, {12_000: ["<p>here</p>"]}), {29_990: "met"})
    page = Page(words)
    assert {"L1", "L11800", "L12000", "L12200", "L29790", "L30000"} <= set(page.ids)
    assert "L11799" not in page.ids
    gaps = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) lines are not shown", words)]
    assert sum(gaps) + len(page.ids) == 30_000


def test_notes_stand_after_their_lines() -> None:
    words = listing("a\nb\n", "a.c", Notes({2: ["<p>above</p>"]}, {1: ["<p>note</p>"]}), {})
    assert words.index('id="L1"') < words.index("note") < words.index("above") < words.index('id="L2"')


def test_an_empty_source() -> None:
    assert "There is no source." in listing("", "a.c", NONE, {})
