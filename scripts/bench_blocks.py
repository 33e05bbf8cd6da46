"""Measure large blocks, as Markdown on standard output (figures `blocks-*`).

    python scripts/bench_blocks.py                 # all three tables
    python scripts/bench_blocks.py sizes times     # only these

sizes   locations and edges under single, large and advanced blocks (Mertens 2014, Table 5.1)
times   seconds of the encoding itself, for locks 5..15 and an automaton of about 17,000 locations
bmc     bounded model checking of buggy locks 5..15 under the three block sizes
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from certus.core.engine import size
from certus.core.program import Program
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import MODES, encode_program

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LOCKS = range(5, 16)
THESIS = MODES[:3]  # single, large and advanced blocks
LARGE = 1887  # locks that make an automaton of about 17,000 locations
RUNS = 5
CROSSING = """
void main() {
    int x = *;
    if (x > 0) {
        while (x > 10) { x = x - 1; }
    } else {
        while (x < -10) { x = x + 1; }
    }
    if (x == 0) { x = 1; }
    assert(x <= 10);
}
"""  # two loops meet in one location: only the advanced rule removes it


def lock_program(number: int, *, bug: bool = False) -> str:
    spec = importlib.util.spec_from_file_location("locks", EXAMPLES / "locks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.locks(number, bug=bug)
    return text


def programs() -> Iterator[tuple[str, Program]]:
    """All examples, a program for the advanced rule, and the lock programs."""
    for path in sorted(EXAMPLES.glob("*.lp")):
        yield path.name, load_lp(path.read_text(), path.name).program
    yield "two loops that meet", load_lp(CROSSING, "crossing.lp").program
    for number in LOCKS:
        name = f"locks {number}"
        yield name, load_lp(lock_program(number), name).program


def table(heads: list[str], rows: Iterator[list[str]]) -> None:
    print("| " + " | ".join(heads) + " |")
    print("|---|" + "---:|" * (len(heads) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def sizes() -> None:
    print("### Locations / edges by size of blocks\n")
    rows = (
        [name, *(f"{s.locations} / {s.edges}" for s in (size(encode_program(p, m)[0]) for m in THESIS))]
        for name, p in programs()
    )
    table(["program", *THESIS], rows)


def times() -> None:
    print(f"### Seconds of the encoding (median of {RUNS})\n")

    def row(number: int) -> list[str]:
        program = load_lp(lock_program(number), f"locks {number}").program
        seconds = [f"{median(lambda m=mode: encode_program(program, m)):.4f}" for mode in THESIS]  # type: ignore[misc]
        left = {size(encode_program(program, mode)[0]).locations for mode in THESIS[1:]}
        return [f"locks {number}", str(size(program).locations), ", ".join(map(str, sorted(left))), *seconds]

    table(["program", "locations", "left", *THESIS], map(row, (*LOCKS, LARGE)))


def median(work: Callable[[], object]) -> float:
    found = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def bmc() -> None:
    from certus.run.settings import Settings
    from certus.run.verify import verify

    limit = 60.0
    print(f"### Bounded model checking of buggy locks: seconds of the whole run (limit {limit:.0f} s)\n")

    def cell(path: Path, mode: str) -> str:
        start = time.perf_counter()
        outcome = verify(path, Settings(engine="bmc", blocks=mode, timeout=limit))  # type: ignore[arg-type]
        seconds = time.perf_counter() - start
        solver = sum(n for key, n in outcome.statistics.counters.items() if key.startswith("solver."))
        return f"{outcome.answer} {seconds:.2f} ({solver} queries)"

    def row(directory: Path, number: int) -> list[str]:
        path = directory / f"locks{number}_bug.lp"
        path.write_text(lock_program(number, bug=True))
        return [f"locks {number}, bug", *(cell(path, mode) for mode in THESIS)]

    with tempfile.TemporaryDirectory() as directory:
        table(["program", *THESIS], (row(Path(directory), number) for number in LOCKS))


def main() -> None:
    tables = {"sizes": sizes, "times": times, "bmc": bmc}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of: {', '.join(tables)}")
    chosen = parser.parse_args().tables or list(tables)
    for name in chosen:
        if name not in tables:
            parser.error(f"no table {name!r}: choose from: {', '.join(tables)}")
        tables[name]()


if __name__ == "__main__":
    main()
