"""Diagnostics: a sentence with its place, the source line and a caret."""

from __future__ import annotations

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.report.text import Palette, excerpt, render_diagnostic


def test_all_parts() -> None:
    diagnostic = Diagnostic(
        "undeclared", "`y` is not declared", span=Span("a.lp", 2, 5, 2, 6), hint="declare it"
    )
    assert render_diagnostic(diagnostic, "x = 1;\nx = y;\n") == (
        "a.lp:2:5: error[undeclared]: `y` is not declared\n    2 | x = y;\n      |     ^\n  hint: declare it"
    )


def test_without_a_place() -> None:
    assert render_diagnostic(Diagnostic("empty", "nothing there", Severity.WARNING)) == (
        "warning[empty]: nothing there"
    )


def test_a_span_of_several_lines_is_marked_to_the_end_of_its_first() -> None:
    assert excerpt(Span("a", 1, 1, 3, 2), "if (x) {\n  y;\n}")[1] == "      | ^~~~~~~~"


def test_tabs_keep_the_caret_in_place() -> None:
    assert excerpt(Span("a", 1, 3, 1, 4), "\t\tx = 1;") == ["    1 | \t\tx = 1;", "      | \t\t^"]


def test_a_place_at_the_end_of_the_file() -> None:
    assert excerpt(Span("a", 2, 1, 2, 1), "x\n") == ["    2 | ", "      | ^"]
    assert excerpt(Span("a", 9, 1, 9, 2), "x\n") == []


def test_a_very_long_line_is_cut_around_the_caret() -> None:
    shown, marks = excerpt(Span("a", 1, 5001, 1, 5004), "a" * 5000 + "bcd" + "e" * 5000)
    assert len(shown) < 120
    assert shown[marks.index("^") : marks.rindex("~") + 1] == "bcd"


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = render_diagnostic(Diagnostic("x", "a\x1b[2Jb", span=Span("a", 1, 1, 1, 2)), "\x07\x1b[31m")
    assert "\x1b" not in text
    assert "\x07" not in text


def test_windows_line_ends() -> None:
    assert excerpt(Span("a", 1, 1, 1, 2), "x = 1;\r\ny\r\n")[0] == "    1 | x = 1;"


def test_colours() -> None:
    text = render_diagnostic(Diagnostic("x", "sentence"), palette=Palette(coloured=True))
    assert text == "\x1b[31merror[x]\x1b[0m: sentence"
