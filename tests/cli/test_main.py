"""The entry point: whatever fails inside, the user gets a sentence and an exit code."""

from __future__ import annotations

import argparse
import io

import pytest

from certus.cli import engines
from certus.cli.main import main
from certus.cli.terminal import Exit, ProgressLine
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Inconsistent, Unsupported


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyError("lost"), 4, "certus: internal error: KeyError: 'lost' (test_main.py:"),
        (RecursionError("deep"), 4, "certus: internal error: RecursionError: deep"),
        (
            Inconsistent("two answers"),
            4,
            "certus: internal error: two answers; CERTUS_DEBUG=1 shows the traceback\n",
        ),
        (KeyboardInterrupt(), 3, "certus: interrupted before there was an answer\n"),
        (Unsupported(Diagnostic("too-large", "cannot be drawn")), 3, "error[too-large]: cannot be drawn\n"),
    ],
)
def test_errors_become_sentences(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: argparse.Namespace) -> int:
        raise error

    monkeypatch.delenv("CERTUS_DEBUG", raising=False)
    monkeypatch.setattr(engines, "run", fail)
    assert main(["engines"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_debugging_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: argparse.Namespace) -> int:
        raise KeyError("lost")

    monkeypatch.setenv("CERTUS_DEBUG", "1")
    monkeypatch.setattr(engines, "run", fail)
    with pytest.raises(KeyError):
        main(["engines"])


def test_exit_codes_are_what_the_documents_say() -> None:
    assert {code.name: code.value for code in Exit} == {
        "HOLDS": 0,
        "VIOLATED": 1,
        "INPUT": 2,
        "UNKNOWN": 3,
        "INTERNAL": 4,
    }
    assert [Exit.of(answer) for answer in ("HOLDS", "VIOLATED", "UNKNOWN")] == [0, 1, 3]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_rewritten_in_place_and_cleared() -> None:
    terminal = Terminal()
    with ProgressLine(terminal) as progress:
        progress.show("bound 1")
        progress.show("bound 2")  # too soon after the first to be seen
    assert terminal.getvalue() == "\r\x1b[K0.0 s bound 1\r\x1b[K"


def test_progress_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    ProgressLine(terminal).show("bound\n" * 100)
    assert "\n" not in terminal.getvalue()
    assert len(terminal.getvalue()) < 50


@pytest.mark.parametrize(("stream", "wanted"), [(io.StringIO(), True), (Terminal(), False)])
def test_no_progress_in_a_pipe_or_when_quiet(stream: io.StringIO, wanted: bool) -> None:
    with ProgressLine(stream, wanted=wanted) as progress:
        progress.show("bound 1")
    assert stream.getvalue() == ""
