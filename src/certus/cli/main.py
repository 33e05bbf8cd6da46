"""The command line: parses arguments, runs one command, and turns answers and errors into exit codes.

The module of a command is imported only when that command runs, so `--help` starts quickly. Every error
reaches the user as a sentence; `CERTUS_DEBUG=1` shows the traceback of an internal error."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from certus.cli.terminal import CannotWrite, Exit
from certus.core.errors import CertusError, InputError, Unsupported
from certus.core.version import VERSION

_COMMANDS: Final = {  # each is a module of this package
    "verify": "verify a program",
    "validate": "check a witness that another tool wrote",
    "chc": "solve constrained Horn clauses, or write a program as clauses",
    "abstract": "print the Boolean program for a set of predicates",
    "linear": "print the Linear Program that abstracts a program",
    "cfa": "print or draw the control-flow automaton of a program",
    "check": "check saved evidence again",
    "bench": "compare engines and other tools on many tasks",
    "fuzz": "test all engines on random programs",
    "engines": "list the engines and their options",
    "library": "print example programs of the eureka library",
    "ranges": "print proved ranges of variables",
}
_DESCRIPTION = """Certus verifies C programs. It answers HOLDS with a checked proof, VIOLATED with a replayed
execution that reaches the error, or UNKNOWN with the reason."""
_EPILOG = """certus COMMAND --help explains the options of a command.

examples:
  certus verify program.c                          assertions, memory, signed overflow, divisions, shifts
  certus verify program.c --checks assert,division only some of these checks
  certus verify program.c --property no-overflow   one property, as in competitions
  certus verify program.c --html report.html       write a report with the source and every step

exit codes:
  0  everything that was asked for holds
  1  a property, or a kind of checks, is violated
  2  malformed input or wrong usage
  3  unknown: a limit was reached, the input is not supported, or Ctrl-C was pressed
  4  internal error (CERTUS_DEBUG=1 shows the traceback)"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parse(sys.argv[1:] if argv is None else argv)
    try:
        return int(arguments.run(arguments))
    except InputError as error:
        from certus.cli.refusals import refuse

        is_answered = isinstance(error, CannotWrite)
        return refuse(arguments, error.diagnostics, Exit.INPUT, is_answered=is_answered)
    except Unsupported as error:
        from certus.cli.refusals import refuse

        return refuse(arguments, [error.diagnostic], Exit.UNKNOWN)
    except KeyboardInterrupt:
        from certus.cli.terminal import write

        write(sys.stderr, "certus: interrupted before there was an answer\n")
        return Exit.UNKNOWN
    except BrokenPipeError:
        return Exit.INTERNAL
    except Exception as error:  # the last boundary: any other error becomes a sentence
        if os.environ.get("CERTUS_DEBUG"):
            raise
        from certus.cli.refusals import report_internal_error

        sentence = f"internal error: {_describe(error)}; CERTUS_DEBUG=1 shows the traceback"
        return report_internal_error(arguments, sentence)


def run() -> NoReturn:
    """Run one command as a process. The process exits without freeing its data, which would take most of a
    second for a large program. A signal that ends it first removes its temporary files."""
    _open_standard_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)
    try:
        code = main()
    except _Terminated as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        signal.raise_signal(ended.number)
        os._exit(Exit.INTERNAL)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # the stream is closed, or None
            stream.flush()
    os._exit(code)


def _open_standard_streams() -> None:
    """Open the null device for each standard stream that is closed: otherwise pipes between processes would
    get their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the least number that is free


class _Terminated(BaseException):
    """Raised by a signal that asks this process to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    raise _Terminated(number)


class _Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage as a sentence with a hint, without the list of all options."""

    command = "certus"  # whose help explains the usage

    def error(self, message: str) -> NoReturn:
        self.exit(Exit.INPUT, f"error[usage]: {message}\n  hint: see `{self.command} --help`\n")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Files may also stand between options, which `argparse` does not support."""
    top = parser(next((word for word in argv if word in _COMMANDS), None))
    arguments, others = top.parse_known_args(argv)
    if others:
        if not isinstance(getattr(arguments, "file", None), list) or any(w[:1] == "-" for w in others):
            top.error(f"`{top.command}` has no option or argument {' '.join(others)}")
        arguments.file += map(Path, others)
    return arguments


def parser(selected: str | None) -> _Parser:
    """Return a parser with the options of one command, and only the names of the others."""
    top = _Parser(
        prog="certus",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"certus {VERSION}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if name == selected:
            top.command = command.command = f"certus {name}"
            module = import_module(f"certus.cli.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return top


def _describe(error: Exception) -> str:
    if isinstance(error, CertusError):
        return str(error)
    from certus.system.child import describe

    return describe(error)
