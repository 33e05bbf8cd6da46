"""The command line: the only place that turns answers and errors into exit codes.

Commands import what they need when they run, so that `--help` stays quick. Every error a user can
meet ends as a sentence; `CERTUS_DEBUG=1` shows the traceback of an internal one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from certus.cli import abstract, bench, cfa, chc, check, engines, fuzz, library, ranges, validate, verify
from certus.cli.exits import Exit
from certus.cli.terminal import CannotWrite
from certus.core.diagnostic import Diagnostic
from certus.core.errors import CertusError, InputError, Unsupported
from certus.core.version import VERSION

_DESCRIPTION = "Certus verifies programs: every HOLDS and VIOLATED comes with evidence that was checked."
_EPILOG = """exit codes:
  0  the property holds
  1  the property is violated
  2  malformed input or usage
  3  unknown: a limit was reached, the input is not supported, or Ctrl-C was pressed
  4  internal error (CERTUS_DEBUG=1 shows where)"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parsed(argv)
    try:
        return int(arguments.run(arguments))
    except InputError as error:
        return _refuse(arguments, error.diagnostics, Exit.INPUT, answered=isinstance(error, CannotWrite))
    except Unsupported as error:
        return _refuse(arguments, [error.diagnostic], Exit.UNKNOWN)
    except KeyboardInterrupt:
        _say("interrupted before anything was known")
        return Exit.UNKNOWN
    except BrokenPipeError:
        return Exit.INTERNAL
    except Exception as error:  # the door to the user: whatever it is, it leaves as a sentence
        if os.environ.get("CERTUS_DEBUG"):
            raise
        return _apologise(arguments, f"internal error: {_sentence(error)}; CERTUS_DEBUG=1 shows where")


def run() -> NoReturn:
    """Run one command as a process of its own. The process ends at once, without taking apart what was
    built: for a large program that takes most of a second."""
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or nobody reads it any more
            stream.flush()
    os._exit(code)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. Files may stand between options, where `argparse` does not look for them."""
    top = parser()
    arguments, others = top.parse_known_args(argv)
    if others:
        if not isinstance(getattr(arguments, "file", None), list) or any(w[:1] == "-" for w in others):
            top.error(f"unrecognized arguments: {' '.join(others)}")
        arguments.file += map(Path, others)
    return arguments


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="certus",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"certus {VERSION}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (verify, validate, chc, abstract, cfa, check, bench, fuzz, engines, library, ranges):
        command.add(commands)
    return top


def _refuse(
    arguments: argparse.Namespace, diagnostics: Sequence[Diagnostic], code: Exit, *, answered: bool = False
) -> Exit:
    """Say what is wrong; where there is no answer, in the reports that were asked for, too."""
    from certus.cli.refusals import write_refusals

    texts = _given(arguments)
    _report_diagnostics(diagnostics, texts)
    if not answered:
        write_refusals(arguments, diagnostics, code, lambda file: _text_of(file, texts))
    return code


def _apologise(arguments: argparse.Namespace, sentence: str) -> Exit:
    from certus.cli.refusals import write_refusals

    _say(sentence)
    write_refusals(arguments, [Diagnostic("internal-error", sentence)], Exit.INTERNAL, lambda file: None)
    return Exit.INTERNAL


def _given(arguments: argparse.Namespace) -> dict[str, str | None]:
    """The options that are texts with positions of their own."""
    return {f"--{name}": getattr(arguments, name, None) for name in ("predicates", "assume")}


def _text_of(file: str, texts: Mapping[str, str | None]) -> str | None:
    """The text of a file, or of an option; `texts` are sources that are no files."""
    from certus.cli.sources import source_of

    return texts.get(file) or source_of(file)


def _report_diagnostics(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str | None]) -> None:
    from certus.cli.terminal import coloured, write
    from certus.report.diagnostics import Palette, render_diagnostic

    palette = Palette(coloured(sys.stderr))
    for diagnostic in diagnostics:
        source = _text_of("" if diagnostic.span is None else diagnostic.span.file, texts)
        write(sys.stderr, render_diagnostic(diagnostic, source, palette=palette) + "\n")


def _sentence(error: Exception) -> str:
    if isinstance(error, CertusError):
        return str(error)
    from certus.system.child import describe

    return describe(error)


def _say(sentence: str) -> None:
    from certus.cli.terminal import write

    write(sys.stderr, f"certus: {sentence}\n")
