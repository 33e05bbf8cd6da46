"""The flags that several commands have, and what they mean to `Settings`."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certus.cli.units import duration, size

if TYPE_CHECKING:
    from certus.pipeline.settings import Settings

BLOCKS = ("single", "large", "advanced")
MODELS = ("ILP32", "LP64")
CLANG_FLAGS = (  # names, the first of which Clang takes with the value in the same word
    (("-I",), "DIR", "look for headers in DIR; may be repeated"),
    (("-D",), "NAME[=VALUE]", "define a macro; may be repeated"),
    (("-U",), "NAME", "undefine a macro; may be repeated"),
    (("-std", "--std"), "STANDARD", "the version of C, such as c11"),
)
_PLAIN = (  # flags that are settings by the same name
    "engine",
    "engines",
    "cores",
    "blocks",
    "bound",
    "data_model",
    "timeout",
    "cpu_time",
    "memory",
    "evidence",
    "log_queries",
    "harness",
    "solvers",
)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings the user gave, by whatever flags the command has; `Settings` knows the others."""
    from certus.pipeline.settings import Settings

    given: dict[str, Any] = {name: getattr(arguments, name, None) for name in _PLAIN}
    given["property_name"] = arguments.property
    given["clang_arguments"] = tuple(arguments.clang) or None
    given["options"] = dict(getattr(arguments, "set", ())) or None
    given["execute"] = getattr(arguments, "execute", not getattr(arguments, "no_execute", False))
    given["ranges"] = False if getattr(arguments, "no_ranges", False) else None
    return Settings(**{name: value for name, value in given.items() if value is not None})


# ------------------------------------------------------------------------------------------ flags


def add_execute(parser: argparse.ArgumentParser) -> None:
    """For commands that work on other people's files, which are not executed unless that is asked for."""
    parser.add_argument("--execute", action="store_true", help="compile the program and run it, confined")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of engines."""
    parser.add_argument(
        "--set",
        metavar="ENGINE.FIELD=VALUE",
        type=assignment,
        action="append",
        default=[],
        help="set an option of an engine; may be repeated",
    )


def add_question(parser: argparse.ArgumentParser) -> None:
    """The flags that say what is asked, and how Clang reads C."""
    parser.add_argument("--property", metavar="P", help="the property: a name or a .prp file (unreach-call)")
    parser.add_argument(
        "--data-model", metavar="M", choices=MODELS, help="sizes of C types: ILP32 or LP64 (LP64)"
    )
    flags = parser.add_argument_group("C programs")
    for names, metavar, text in CLANG_FLAGS:
        flags.add_argument(
            *names,
            dest="clang",
            metavar=metavar,
            type=partial(clang_flag, names[0]),
            action="append",
            default=[],
            help=text,
        )


def add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", metavar="TIME", type=duration, help="time limit: 60s, 2m, 500ms (60s)")
    parser.add_argument("--memory", metavar="SIZE", type=size, help="memory limit: 4GB, 500MB")


def add_solvers(parser: argparse.ArgumentParser) -> None:
    """How many solvers a proof needs."""
    parser.add_argument(
        "--solvers",
        metavar="N",
        type=int,
        choices=(1, 2),
        help="how many solvers must discharge each clause of a proof, with none refuting it: 1 or 2 (1)",
    )


def add_records(parser: argparse.ArgumentParser) -> None:
    """What a run leaves behind for others to check."""
    parser.add_argument("--evidence", metavar="DIR", type=Path, help="save the evidence for `certus check`")
    parser.add_argument("--log-queries", metavar="DIR", type=Path, help="save each solver query as SMT-LIB")


def add_report(parser: argparse.ArgumentParser, *, verbose: str) -> None:
    """The form of the answer; `verbose` is what there is more of."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")
    parser.add_argument("--sarif", metavar="FILE", type=Path, help="write it as SARIF (docs/sarif.md)")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-q", "--quiet", action="store_true", help="one line only")
    amount.add_argument("--verbose", action="store_true", help=verbose)
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write the report to FILE")


# ----------------------------------------------------------------------------------------- values


def clang_flag(flag: str, value: str) -> str:
    """A flag and its value in one word, as Clang takes them."""
    return f"{flag}={value}" if flag == "-std" else f"{flag}{value}"


def assignment(text: str) -> tuple[str, str]:
    """`engine.field=value`, taken apart at the first `=`."""
    name, equals, value = text.partition("=")
    engine, dot, field = name.partition(".")
    if not (equals and dot and engine and field):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form engine.field=value")
    return name, value


def names(text: str) -> tuple[str, ...]:
    """Names between commas, each once."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of engines such as bmc,predicate")
    return found


def cores(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes (1, 2, ...)")
    return int(text)


def bound(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of loop entries (0, 1, 2, ...)")
    return int(text)
