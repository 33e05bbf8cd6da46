"""Loading from disk, and expressions that stand alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core import build
from certus.core.errors import InputError
from certus.core.terms import BOOL, INT
from certus.frontend import load
from certus.frontend.lp import load_lp, parse_expression
from certus.frontend.source import MAX_BYTES, Source

PROGRAM = "void main() { assert(true); }\n"


def refused(path: Path) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        load(path)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message


class TestFiles:
    def test_a_program(self, tmp_path: Path) -> None:
        path = tmp_path / "a.lp"
        path.write_text(PROGRAM)
        program = load(path).program
        assert program.file == str(path)
        assert program.source == PROGRAM
        assert load(str(path)).program.main == "main"

    def test_a_byte_order_mark_and_foreign_line_ends_are_accepted(self, tmp_path: Path) -> None:
        path = tmp_path / "a.LP"
        path.write_bytes(b"\xef\xbb\xbfvoid main()\r\n{ assert(true); }\r\n")
        (site,) = load(path).program.errors
        assert site.span is not None
        assert (site.span.line, site.span.column) == (2, 3)

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"", "missing-main"),
            (b"  \n// nothing\n", "missing-main"),
            (b"void main() { \0 }", "not-text"),
            (b"\x7fELF\x02\x01\x01\0\0\0", "not-text"),
            (b"void main() { // \xff\n}", "not-text"),
        ],
    )
    def test_contents_that_are_no_program(self, tmp_path: Path, data: bytes, code: str) -> None:
        path = tmp_path / "a.lp"
        path.write_bytes(data)
        assert refused(path)[0] == code

    def test_a_file_that_is_too_large(self, tmp_path: Path) -> None:
        path = tmp_path / "a.lp"
        with path.open("wb") as file:
            file.truncate(MAX_BYTES + 1)
        assert refused(path) == ("file-too-large", f"{path} is larger than {MAX_BYTES // 1_000_000} MB.")

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        assert refused(tmp_path / "none.lp") == ("cannot-read", f"There is no file {tmp_path / 'none.lp'}.")
        (tmp_path / "dir.lp").mkdir()
        assert refused(tmp_path / "dir.lp")[0] == "cannot-read"
        assert refused(tmp_path)[0] == "cannot-read"
        loop = tmp_path / "loop.lp"
        loop.symlink_to(loop)
        assert refused(loop)[0] == "cannot-read"

    def test_a_file_without_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        path = tmp_path / "a.lp"
        path.write_text(PROGRAM)
        monkeypatch.setattr(Path, "open", refuse)
        assert refused(path) == ("cannot-read", f"You have no permission to read the file {path}.")

    def test_an_unknown_language(self, tmp_path: Path) -> None:
        path = tmp_path / "a.pas"
        path.write_text(PROGRAM)
        with pytest.raises(InputError) as caught:
            load(path)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "unknown-language"
        assert diagnostic.hint is not None
        assert ".lp" in diagnostic.hint

    def test_an_unknown_property(self) -> None:
        with pytest.raises(InputError) as caught:
            load_lp(PROGRAM, "t.lp", "no-overflow")
        assert caught.value.diagnostics[0].code == "unknown-property"


def test_positions() -> None:
    source = Source("ab\n\ncd", "t")
    assert [source.position(i) for i in range(7)] == [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2), (3, 3)]
    span = source.span(1, 5)
    assert (span.line, span.column, span.end_line, span.end_column, span.presumed_line) == (1, 2, 3, 2, 1)


X, Y, B = build.var("main.x", INT), build.var("y", INT), build.var("b", BOOL)
OLD_Y, INNER_Y = build.var("old(y)", INT), build.var("g.y/1", INT)
SCOPE = {"x": X, "main.x": X, "y": Y, "b": B, "old(y)": OLD_Y, "g.y/1": INNER_Y}


class TestAnnotations:
    def test_terms(self) -> None:
        parsed = parse_expression("main.x + 2 * y <= old(y) && (b || x == g.y/1)", SCOPE)
        assert parsed is build.and_(
            build.le(build.add(X, build.scale(2, Y)), OLD_Y),
            build.or_(B, build.eq(X, INNER_Y)),
        )
        assert parse_expression("y / 1 + 0", SCOPE) is Y

    @pytest.mark.parametrize(
        ("text", "code", "column"),
        [
            ("x +", "syntax-error", 4),
            ("x > 1)", "syntax-error", 6),
            ("z > 1", "undeclared-variable", 1),
            ("y > *", "nondeterministic-value", 5),
            ("f(x) > 1", "nested-call", 1),
            ("x + 1", "type-mismatch", 1),
            ("b && y", "type-mismatch", 6),
        ],
    )
    def test_errors(self, text: str, code: str, column: int) -> None:
        with pytest.raises(InputError) as caught:
            parse_expression(text, SCOPE, sort=BOOL)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.span is not None
        assert (diagnostic.code, diagnostic.span.column) == (code, column)
