"""`certus fuzz`: random programs to every engine; each answer must be that of trying all inputs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.arguments import cores, names
from certus.cli.exits import Exit
from certus.cli.units import duration

if TYPE_CHECKING:
    from certus.pipeline.fuzz.campaign import Disagreement, Fuzzing

_EPILOG = "exit codes: 0 no disagreement, 1 a disagreement, 2 usage, 3 interrupted before the end"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "fuzz",
        help="try every engine on random programs",
        description="Give random programs, whose verdict is known by trying all inputs, to every engine.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="which programs (0)")
    parser.add_argument("--minutes", metavar="M", type=minutes, default=60.0, help="how long (1)")
    parser.add_argument("--programs", metavar="N", type=cores, help="stop after so many programs")
    parser.add_argument("--engines", metavar="A,B,..", type=names, help="only these engines")
    parser.add_argument("--timeout", metavar="TIME", type=duration, default=10.0, help="for one answer (10s)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="DIR",
        type=Path,
        default=Path("disagreements"),
        help="save programs on which engines disagree here (disagreements)",
    )
    parser.set_defaults(run=run)


def minutes(text: str) -> float:
    """Minutes as seconds."""
    return duration(f"{text}m")


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, emit
    from certus.engines.registry import ENGINES
    from certus.pipeline.fuzz.campaign import Fuzzing
    from certus.pipeline.settings import AUTO, bad_usage

    engines = arguments.engines or tuple(ENGINES)
    for name in engines:
        if name not in (AUTO, *ENGINES):
            raise bad_usage(f"there is no engine {name!r}", f"choose of: {', '.join((AUTO, *ENGINES))}")
    found = 0
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        fuzzing = Fuzzing(engines, arguments.timeout, progress.show)
        campaign = fuzzing.run(arguments.seed, seconds=arguments.minutes, programs=arguments.programs)
        try:
            for found, disagreement in enumerate(campaign, 1):
                progress.clear()
                emit(
                    f"DISAGREEMENT: {disagreement.sentence}\n  {saved(disagreement, arguments.output, found)}"
                )
        except KeyboardInterrupt:
            fuzzing.interrupted = True
    emit(table(fuzzing))
    if found:
        return Exit.VIOLATED
    return Exit.UNKNOWN if fuzzing.interrupted else Exit.HOLDS


def saved(disagreement: Disagreement, directory: Path, number: int) -> Path:
    try:
        return disagreement.save(directory, number)
    except OSError as error:
        from certus.cli.terminal import cannot_write

        raise cannot_write(directory, error) from error


def table(fuzzing: Fuzzing) -> str:
    """How often each engine gave which answer."""
    answers = fuzzing.answers
    lines = [f"{fuzzing.programs} programs, as .lp and as C"]
    for who in dict.fromkeys(name for name, _ in answers):
        said = sorted((answer, number) for (name, answer), number in answers.items() if name == who)
        lines.append(f"{who:<12}" + ", ".join(f"{answer} {number}" for answer, number in said))
    return "\n".join(lines)
