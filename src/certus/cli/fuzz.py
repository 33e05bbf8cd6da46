"""`certus fuzz`: test the engines on random programs, or the front end on unusual C programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from certus.cli.arguments import duration, engine_names, positive
from certus.cli.terminal import Exit

if TYPE_CHECKING:
    from certus.fuzz.campaign import Campaign, Disagreement
    from certus.fuzz.corners.campaign import Campaign as CornerCampaign
    from certus.fuzz.corners.campaign import Disagreement as CornerDisagreement
    from certus.fuzz.memory.campaign import Campaign as MemoryCampaign
    from certus.fuzz.memory.campaign import Disagreement as MemoryDisagreement

_DESCRIPTION = """Run every engine on random programs and compare the answers with the verdict that trying all
inputs gives. With --corners, compare Certus with compiled C programs that use unusual features of C; with
--memory, with compiled programs that have memory bugs."""
_EPILOG = """exit codes:
  0  no disagreement
  1  a disagreement
  2  wrong usage
  3  interrupted before the end"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add = parser.add_argument
    add("--seed", metavar="S", type=int, default=0, help="seed of the random programs (default: 0)")
    add("--minutes", metavar="M", type=minutes, default=60.0, help="time for all programs (default: 1)")
    add("--programs", metavar="N", type=positive, help="stop after N programs")
    add("--engines", metavar="A,B,..", type=engine_names, help="only these engines (default: all)")
    add("--timeout", metavar="TIME", type=duration, default=10.0, help="time for one answer (default: 10s)")
    add(
        "--corners",
        action="store_true",
        help="test the C front end on unusual programs; the same --seed and -o continue an earlier run",
    )
    add(
        "--memory",
        action="store_true",
        help="test programs with and without memory bugs; the same --seed and -o continue an earlier run",
    )
    add(
        "--verify-every",
        metavar="N",
        type=positive,
        default=20,
        help="with --corners: verify every N-th program, and only interpret the others (default: 20)",
    )
    add("-q", "--quiet", action="store_true", help="do not print progress")
    add(
        "-o",
        dest="output",
        metavar="DIR",
        type=Path,
        default=Path("disagreements"),
        help="save programs with a disagreement in DIR (default: disagreements)",
    )


def minutes(text: str) -> float:
    """Read a number of minutes as seconds."""
    return duration(f"{text}m")


def run(arguments: argparse.Namespace) -> int:
    """Test the engines or the front end, and print all disagreements."""
    from certus.engines.registry import ENGINES
    from certus.run.settings import AUTO, bad_usage

    chosen = [name for name in ("corners", "memory", "engines") if getattr(arguments, name)]
    if len(chosen) > 1:
        raise bad_usage(f"--{chosen[0]} and --{chosen[1]} cannot be combined", f"leave out --{chosen[1]}")
    if arguments.corners or arguments.memory:
        return run_programs(arguments)
    engines = arguments.engines or tuple(ENGINES)
    for name in engines:
        if name not in (AUTO, *ENGINES):
            raise bad_usage(f"there is no engine {name!r}", f"choose from: {', '.join((AUTO, *ENGINES))}")
    return run_engines(arguments, engines)


def run_engines(arguments: argparse.Namespace, engines: tuple[str, ...]) -> int:
    """Test the engines on random programs."""
    from certus.cli.terminal import ProgressLine, emit
    from certus.fuzz.campaign import Campaign

    number = 0
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        campaign = Campaign(engines, arguments.timeout, progress.show)
        disagreements = campaign.run(arguments.seed, seconds=arguments.minutes, programs=arguments.programs)
        try:
            for number, disagreement in enumerate(disagreements, 1):
                progress.clear()
                file = _save(disagreement, arguments.output, number)
                emit(f"DISAGREEMENT: {disagreement.sentence}\n  {file}")
        except KeyboardInterrupt:
            campaign.interrupted = True
    emit(_table(campaign))
    if number:
        return Exit.VIOLATED
    return Exit.UNKNOWN if campaign.interrupted else Exit.HOLDS


def run_programs(arguments: argparse.Namespace) -> int:
    """Test unusual C programs, or programs with memory bugs; continue an earlier run if there is one."""
    from certus.cli.terminal import ProgressLine, cannot_write, emit
    from certus.fuzz.corners import campaign as corner_campaign
    from certus.fuzz.memory import campaign as memory_campaign

    interrupted = False
    with ProgressLine(sys.stderr, wanted=not arguments.quiet) as progress:
        common = (arguments.seed, arguments.timeout, progress.show, arguments.output)
        campaign: CornerCampaign | MemoryCampaign
        if arguments.memory:
            campaign = memory_campaign.Campaign(*common)
        else:
            campaign = corner_campaign.Campaign(*common, arguments.verify_every)
        disagreements = campaign.run(seconds=arguments.minutes, programs=arguments.programs)
        try:
            if campaign.resume():
                emit(f"continuing the run in {arguments.output} with program {campaign.next}")
            for number, disagreement in disagreements:
                progress.clear()
                file = _save(disagreement, arguments.output, number)
                emit(f"DISAGREEMENT: {disagreement.sentence}\n  {file}")
        except KeyboardInterrupt:
            interrupted = True
        except OSError as error:
            raise cannot_write(arguments.output, error) from error
        finally:
            campaign.save()
    emit(
        memory_campaign.summary(campaign)
        if isinstance(campaign, memory_campaign.Campaign)
        else corner_campaign.summary(campaign)
    )
    if campaign.kinds:
        return Exit.VIOLATED
    return Exit.UNKNOWN if interrupted else Exit.HOLDS


def _save(
    disagreement: Disagreement | CornerDisagreement | MemoryDisagreement, directory: Path, number: int
) -> Path:
    try:
        return disagreement.save(directory, number)
    except OSError as error:
        from certus.cli.terminal import cannot_write

        raise cannot_write(directory, error) from error


def _table(campaign: Campaign) -> str:
    """Return how often each engine gave which answer."""
    lines = [f"{campaign.programs} programs, as .lp and as C"]
    for name in dict.fromkeys(name for name, _ in campaign.answers):
        counts = sorted((said, count) for (own, said), count in campaign.answers.items() if own == name)
        lines.append(f"{name:<12}" + ", ".join(f"{said} {count}" for said, count in counts))
    return "\n".join(lines)
