"""Options that several commands share, their values as users write them, and the `Settings` they give."""

from __future__ import annotations

import argparse
import math
import re
from argparse import ArgumentTypeError
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from certus.run.settings import Settings

BLOCKS = ("single", "large", "advanced", "adjustable")
MODELS = ("ILP32", "LP64")
CLANG_FLAGS = (  # names (Clang takes the first one and the value in one word), value, help
    (("-I",), "DIR", "search DIR for headers; may be repeated"),
    (("-D",), "NAME[=VALUE]", "define a macro; may be repeated"),
    (("-U",), "NAME", "undefine a macro; may be repeated"),
    (("-std", "--std"), "STANDARD", "version of the C standard, such as c11"),
)
_SETTINGS = (  # options with the names of the settings they set
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
    """Return the settings for the options that the user gave; the others keep their defaults."""
    from certus.run.settings import Settings

    values: dict[str, Any] = {name: getattr(arguments, name, None) for name in _SETTINGS}
    values["property_name"] = arguments.property
    values["checks"] = getattr(arguments, "checks", ())
    values["clang_arguments"] = tuple(arguments.clang) or None
    values["options"] = dict(getattr(arguments, "set", ())) or None
    values["execute"] = getattr(arguments, "execute", not getattr(arguments, "no_execute", False))
    for name in ("ranges", "inline"):
        values[name] = False if getattr(arguments, f"no_{name}", False) else None
    values["malloc_may_fail"] = getattr(arguments, "malloc_may_fail", False) or None
    return Settings(**{name: value for name, value in values.items() if value is not None})


# ----------------------------------------------------------------------------------------- options


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the program, or a task definition (.yml)")


def add_execute(parser: argparse.ArgumentParser) -> None:
    """Add `--execute`, for commands on files of others: these run only if the user asks for it."""
    parser.add_argument(
        "--execute", action="store_true", help="also compile the program and run it, in a sandbox"
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="ENGINE.FIELD=VALUE",
        type=assignment,
        action="append",
        default=[],
        help="set an option of an engine (see `certus engines`), or blocks.threshold; may be repeated",
    )


def add_question(parser: argparse.ArgumentParser, *, usual: str = "unreach-call") -> None:
    """Add the options that say what to verify, and how Clang reads C. `usual` is the default property."""
    parser.add_argument(
        "--property",
        metavar="P",
        help="unreach-call, no-overflow, no-div-zero, valid-memsafety, valid-memcleanup, array-bounds, "
        "no-uninitialised-read, float-cast-overflow, float-divide-by-zero, "
        f"or a .prp file (default: {usual})",
    )
    parser.add_argument(
        "--data-model",
        metavar="M",
        choices=MODELS,
        help="sizes of C types: ILP32 (32 bit) or LP64 (64 bit) (default: LP64)",
    )
    group = parser.add_argument_group("C programs")
    group.add_argument(
        "--malloc-may-fail", action="store_true", help="malloc, calloc, realloc ... may return a null pointer"
    )
    for flags, metavar, text in CLANG_FLAGS:
        group.add_argument(
            *flags,
            dest="clang",
            metavar=metavar,
            type=partial(clang_flag, flags[0]),
            action="append",
            default=[],
            help=text,
        )


def add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", metavar="TIME", type=duration, help="time limit, such as 60s, 2m or 500ms (default: 60s)"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", type=size, help="memory limit, such as 4GB or 500MB (default: none)"
    )


def add_solvers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--solvers",
        metavar="N",
        type=int,
        choices=(1, 2),
        help="number of solvers that must prove each clause of a proof: 1 or 2 (default: 1)",
    )


def add_records(parser: argparse.ArgumentParser) -> None:
    """Add the options that save evidence and queries for later checks."""
    parser.add_argument(
        "--evidence", metavar="DIR", type=Path, help="save the evidence in DIR, for `certus check DIR`"
    )
    parser.add_argument(
        "--log-queries", metavar="DIR", type=Path, help="save every solver query in DIR as SMT-LIB"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        type=Path,
        help="write the output to FILE (default: standard output)",
    )


def add_report(parser: argparse.ArgumentParser, *, verbose: str) -> None:
    """Add the options for the form of the answer; `verbose` is the help text of `--verbose`."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")
    parser.add_argument(
        "--sarif", metavar="FILE", type=Path, help="write a SARIF log to FILE, for editors and code hosts"
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-q", "--quiet", action="store_true", help="print one line only")
    amount.add_argument("--verbose", action="store_true", help=verbose)
    add_output(parser)


# ------------------------------------------------------------------------------------------ values


def clang_flag(flag: str, value: str) -> str:
    """Join a flag and its value to one word for Clang."""
    return f"{flag}={value}" if flag == "-std" else f"{flag}{value}"


def assignment(text: str) -> tuple[str, str]:
    """Split `engine.field=value` at the first `=`."""
    name, equals, value = text.partition("=")
    engine, dot, field = name.partition(".")
    if not (equals and dot and engine and field):
        raise ArgumentTypeError(f"{text!r} is not of the form engine.field=value")
    return name, value


def engine_names(text: str) -> tuple[str, ...]:
    """Split a list of names at commas and drop repetitions."""
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(names):
        raise ArgumentTypeError(f"{text!r} is not a list of engines such as bmc,predicate")
    return names


def check_names(text: str) -> tuple[str, ...]:
    """Split a list of kinds of checks at commas."""
    return tuple(part.strip() for part in text.split(","))


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def bound(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a number of entries of loop heads (1, 2, 3, ...)")
    return int(text)


_SECONDS: Final = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DECIMAL: Final = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES: Final = {**_DECIMAL, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")


def duration(text: str) -> float:
    """Read a time as seconds: `60`, `60s`, `1.5m`, `500ms`, `1h`."""
    seconds = _quantity(text, _SECONDS, "a duration such as 60s, 2m or 500ms")
    if not 0 < seconds < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a time limit: it must be more than zero")
    return seconds


def size(text: str) -> int:
    """Read a size as bytes: `4GB` is 4 * 10**9, `4GiB` is 4 * 2**30."""
    count = int(_quantity(text, _BYTES, "a size such as 4GB or 500MB"))
    if count <= 0:
        raise ArgumentTypeError(f"{text!r} is not a memory limit: it must be more than zero")
    return count


def _quantity(text: str, units: dict[str, float] | dict[str, int], expected: str) -> float:
    match = _QUANTITY.fullmatch(text.strip())
    unit = None if match is None else units.get(match[2].lower())
    if match is None or unit is None:
        raise ArgumentTypeError(f"{text!r} is not {expected}")
    return float(match[1]) * unit
