"""Physical and presumed positions."""

from __future__ import annotations

from typing import Any

from certus.frontend.c.positions import FileText, Positions, fill_files

PREPROCESSED = b"""# 1 "dir/prog.c"
int a;
# 40 "other \\"x\\".h" 3 4
int b;
int c;
#line 7
int d;
"""


def located(offset: int, length: int, **more: object) -> dict[str, object]:
    return {"offset": offset, "tokLen": length, **more}


def test_line_markers_claim_other_places() -> None:
    text = FileText(PREPROCESSED, "prog.i")
    assert text.presumed(2) == ("dir/prog.c", 1)
    assert text.presumed(4) == ('other "x".h', 40)
    assert text.presumed(5) == ('other "x".h', 41)
    assert text.presumed(7) == ('other "x".h', 7)
    assert FileText(b"int a;\n", "plain.c").presumed(1) == ("plain.c", 1)


def test_a_span_has_both_positions() -> None:
    positions = Positions("/tmp/prog.i", "prog.i", PREPROCESSED)
    begin = PREPROCESSED.index(b"int c")
    node = {"range": {"begin": located(begin, 3), "end": located(begin + 4, 1)}}
    span = positions.span(node)
    assert (span.file, span.line, span.column, span.end_line, span.end_column) == ("prog.i", 5, 1, 5, 6)
    assert (span.presumed_file, span.presumed_line) == ('other "x".h', 41)


def test_a_macro_stands_where_it_is_used() -> None:
    positions = Positions("/m.c", "m.c", b"abc\nMACRO(1)\n")
    place = {"spellingLoc": located(0, 1), "expansionLoc": located(4, 5)}
    span = positions.span({"range": {"begin": place, "end": place}})
    assert (span.line, span.column, span.end_column) == (2, 1, 6)


def test_columns_count_characters() -> None:
    data = "/* é */ int x;".encode()
    positions = Positions("/u.c", "u.c", data)
    offset = data.index(b"int")
    assert positions.span({"range": {"begin": located(offset, 3), "end": located(offset, 3)}}).column == 9


def test_nodes_without_a_place_stand_where_they_are_said_to() -> None:
    positions = Positions("/u.c", "u.c", b"x")
    assert positions.span({}) is positions.nowhere
    assert positions.span({"range": {"begin": {}, "end": {}}}, positions.nowhere) is positions.nowhere


def test_file_names_are_filled_in_in_document_order() -> None:
    first, second, third = located(0, 1, file="a.h"), located(5, 1), located(9, 1, file="b.c")
    last = located(11, 1)
    tree: dict[str, Any] = {
        "loc": first,
        "range": {"begin": second, "end": {"spellingLoc": third, "expansionLoc": last}},
        "inner": [{"loc": located(1, 1)}, {"loc": located(3, 1, file="main.c")}, {"loc": located(4, 1)}],
    }
    fill_files(tree, "main.c")
    assert [one["file"] for one in (first, second, third, last)] == ["a.h", "a.h", "b.c", "b.c"]
    inside, _, after = tree["inner"]
    assert inside["loc"]["file"] == "b.c"
    assert "file" not in after["loc"]  # where it is not said, it is the main file
