"""`certus verify FILE`: the answer, and what backs it."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certus.cli.exits import Exit
from certus.cli.units import duration, size

if TYPE_CHECKING:
    from certus.core.outcome import Outcome
    from certus.pipeline.settings import Settings

BLOCKS = ("single", "large", "advanced")
MODELS = ("ILP32", "LP64")
CLANG_FLAGS = (  # names, the first of which Clang takes with the value in the same word
    (("-I",), "DIR", "look for headers in DIR; may be repeated"),
    (("-D",), "NAME[=VALUE]", "define a macro; may be repeated"),
    (("-U",), "NAME", "undefine a macro; may be repeated"),
    (("-std", "--std"), "STANDARD", "the version of C, such as c11"),
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "verify",
        help="verify a program",
        description="Verify FILE: HOLDS, VIOLATED or UNKNOWN, with checked evidence.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the program, or a task definition (.yml)")
    parser.add_argument("--engine", metavar="NAME", help="how to look for an answer; see `certus engines`")
    parser.add_argument("--engines", metavar="A,B,..", type=names, help="run these side by side")
    parser.add_argument("--cores", metavar="N", type=cores, help="processes at a time (all there are)")
    parser.add_argument(
        "--set",
        metavar="ENGINE.FIELD=VALUE",
        type=assignment,
        action="append",
        default=[],
        help="set an option of an engine; may be repeated",
    )
    parser.add_argument("--blocks", choices=BLOCKS, help="size of the blocks engines work on (large)")
    parser.add_argument("--bound", metavar="K", type=bound, help="unroll loops and recursion at most K times")
    add_question(parser)
    parser.add_argument("--timeout", metavar="TIME", type=duration, help="time limit: 60s, 2m, 500ms (60s)")
    parser.add_argument("--cpu-time", metavar="TIME", type=duration, help="limit on CPU time, all processes")
    parser.add_argument("--memory", metavar="SIZE", type=size, help="memory limit: 4GB, 500MB")
    parser.add_argument("--evidence", metavar="DIR", type=Path, help="save the evidence for `certus check`")
    parser.add_argument("--witness", metavar="FILE", type=Path, help="write a witness (format 2.0)")
    parser.add_argument("--log-queries", metavar="DIR", type=Path, help="save each solver query as SMT-LIB")
    parser.add_argument(
        "--no-ranges", action="store_true", help="engines get no ranges of variables as facts"
    )
    parser.add_argument("--no-execute", action="store_true", help="do not run a violating program, compiled")
    parser.add_argument("--harness", metavar="FILE", type=Path, help="save the inputs of a violation as C")
    parser.add_argument("--show-passes", action="store_true", help="print sizes before and after each pass")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON (docs/json.md)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a report to look at in a browser")
    parser.add_argument(
        "--full-trace", action="store_true", help="show also the steps that do not matter for a violation"
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quiet", action="store_true", help="one line only")
    amount.add_argument("--verbose", action="store_true", help="all formulas and statistics")
    parser.add_argument("-o", dest="output", metavar="FILE", type=Path, help="write the report to FILE")
    parser.set_defaults(run=run)


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


def asked(arguments: argparse.Namespace) -> Settings:
    """The settings of a command that takes the flags of `add_question` and limits, and nothing else."""
    from certus.pipeline.settings import Settings

    given = {
        "property_name": arguments.property,
        "data_model": arguments.data_model,
        "clang_arguments": tuple(arguments.clang) or None,
        "timeout": arguments.timeout,
        "memory": arguments.memory,
    }
    return Settings(**{name: value for name, value in given.items() if value is not None})


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


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit
    from certus.pipeline.settings import Settings
    from certus.pipeline.verify import verify

    settings = Settings(**chosen(arguments))
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        outcome = verify(arguments.file, settings, on_progress=progress.show)
    emit(render(outcome, arguments), arguments.output)
    if arguments.html is not None:
        from certus.pipeline.pictures import with_blocks
        from certus.report.html.page import render_html

        emit(render_html(with_blocks(outcome, settings.blocks)).rstrip("\n"), arguments.html)
    if arguments.witness is not None:
        from certus.cli.witness import write_witness

        write_witness(outcome, arguments.witness)
    return Exit.of(outcome.answer)


def chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings the user gave; `Settings` knows the others."""
    given = {
        "engine": arguments.engine,
        "engines": arguments.engines,
        "cores": arguments.cores,
        "options": dict(arguments.set) or None,
        "blocks": arguments.blocks,
        "bound": arguments.bound,
        "property_name": arguments.property,
        "data_model": arguments.data_model,
        "clang_arguments": tuple(arguments.clang) or None,
        "timeout": arguments.timeout,
        "cpu_time": arguments.cpu_time,
        "memory": arguments.memory,
        "evidence": arguments.evidence,
        "log_queries": arguments.log_queries,
        "execute": False if arguments.no_execute else None,
        "ranges": False if arguments.no_ranges else None,
        "harness": arguments.harness,
    }
    return {name: value for name, value in given.items() if value is not None}


def render(outcome: Outcome, arguments: argparse.Namespace) -> str:
    if arguments.json:
        from certus.report.json import render_json

        return render_json(outcome)
    from certus.cli.terminal import coloured
    from certus.report.diagnostics import Palette
    from certus.report.text import Detail, render_passes, render_text

    palette = Palette(arguments.output is None and coloured(sys.stdout))
    detail: Detail = "quiet" if arguments.quiet else "verbose" if arguments.verbose else "normal"
    report = render_text(outcome, detail=detail, palette=palette, full_trace=arguments.full_trace)
    return f"{report}\n{render_passes(outcome)}" if arguments.show_passes else report
