"""`certus fuzz`: random programs to every engine, or C programs of front-end corners to Certus as a whole."""

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
    from certus.pipeline.fuzz.corners.campaign import Disagreement as CornerDisagreement

_EPILOG = "exit codes: 0 no disagreement, 1 a disagreement, 2 usage, 3 interrupted before the end"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "fuzz",
        help="try every engine on random programs",
        description="Give random programs, whose verdict is known by trying all inputs, to every engine. "
        "With --corners, give C programs full of front-end corners to Certus, and compare with the compiled "
        "programs.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="which programs (0)")
    parser.add_argument("--minutes", metavar="M", type=minutes, default=60.0, help="how long (1)")
    parser.add_argument("--programs", metavar="N", type=cores, help="stop after so many programs")
    parser.add_argument("--engines", metavar="A,B,..", type=names, help="only these engines")
    parser.add_argument("--timeout", metavar="TIME", type=duration, default=10.0, help="for one answer (10s)")
    parser.add_argument(
        "--corners",
        action="store_true",
        help="compare Certus with compiled C programs that are full of front-end corners; "
        "a run that was stopped continues with the same seed and -o",
    )
    parser.add_argument(
        "--verify-every",
        metavar="N",
        type=cores,
        default=20,
        help="with --corners: give every N-th program to `verify`, all others only to the interpreter (20)",
    )
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
    from certus.engines.registry import ENGINES
    from certus.pipeline.settings import AUTO, bad_usage

    if arguments.corners:
        if arguments.engines:
            raise bad_usage("--corners and --engines cannot be combined", "leave out --engines")
        return run_corners(arguments)
    engines = arguments.engines or tuple(ENGINES)
    for name in engines:
        if name not in (AUTO, *ENGINES):
            raise bad_usage(f"there is no engine {name!r}", f"choose of: {', '.join((AUTO, *ENGINES))}")
    return run_engines(arguments, engines)


def run_engines(arguments: argparse.Namespace, engines: tuple[str, ...]) -> int:
    from certus.cli.terminal import ProgressLine, emit
    from certus.pipeline.fuzz.campaign import Fuzzing

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


def run_corners(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import ProgressLine, cannot_write, emit
    from certus.pipeline.fuzz.corners.campaign import Corners
    from certus.pipeline.fuzz.corners.summary import summary

    interrupted = False
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        corners = Corners(
            arguments.seed, arguments.timeout, progress.show, arguments.output, arguments.verify_every
        )
        campaign = corners.run(seconds=arguments.minutes, programs=arguments.programs)
        try:
            if corners.resume():
                emit(f"continuing the run in {arguments.output} with program {corners.next}")
            for number, disagreement in campaign:
                progress.clear()
                file = saved(disagreement, arguments.output, number)
                emit(f"DISAGREEMENT: {disagreement.sentence}\n  {file}")
        except KeyboardInterrupt:
            interrupted = True
        except OSError as error:
            raise cannot_write(arguments.output, error) from error
        finally:
            corners.save()
    emit(summary(corners))
    if corners.kinds:
        return Exit.VIOLATED
    return Exit.UNKNOWN if interrupted else Exit.HOLDS


def saved(disagreement: Disagreement | CornerDisagreement, directory: Path, number: int) -> Path:
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
