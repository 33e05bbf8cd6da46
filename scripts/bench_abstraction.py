"""Compare Cartesian and Boolean abstraction under single and large blocks (figures `blocks-cartesian`).

    python scripts/bench_abstraction.py

The program reaches the loop with (x, y) in {(0, 1), (1, 0)}, the example of Mertens 2014, 2.2; its
predicates are x and y.
"""

from __future__ import annotations

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.loops import loop_forest
from certus.core.program import Program
from certus.core.terms import BOOL
from certus.engines.predicate import Options
from certus.engines.predicate.abstraction import Abstraction, Manner, Precision
from certus.engines.predicate.reachability import Reachability
from certus.engines.predicate.steps import steps_of
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks, Mode
from certus.solvers.bdd import Regions

EXAMPLE = """
void main() {
    bool x, y;
    if (*) { x, y = false, true; } else { x, y = true, false; }
    while (*) { ; }
}
"""
MANNERS: tuple[Manner, ...] = ("cartesian", "boolean")
MINTERMS = Options().minterms
BLOCKS: tuple[Mode, ...] = ("single", "large")


def abstract_states(manner: Manner, blocks: Mode) -> int:
    """The abstract states at the loop head of the example, with the predicates x and y everywhere."""
    task, _ = LargeBlocks(blocks).apply(Task(load_lp(EXAMPLE, "example.lp").program))
    assert isinstance(task.subject, Program)
    main = task.subject.procedures["main"]
    (head,) = loop_forest(main).heads
    names = tuple(build.var(f"main.{name}", BOOL) for name in "xy")
    regions = Regions()
    abstraction = Abstraction(regions, MINTERMS, Budget(60), Statistics(), manner)
    precision = dict.fromkeys(main.locations, Precision(names, (names,)))
    reached = Reachability(steps_of(task.subject), abstraction, precision)
    assert reached.error() is None
    return regions.count(reached.regions[head], names)


def main() -> None:
    print("| blocks | " + " | ".join(MANNERS) + " |")
    print("|---|" + "---:|" * len(MANNERS))
    for blocks in BLOCKS:
        counts = (str(abstract_states(manner, blocks)) for manner in MANNERS)
        print(f"| {blocks} | " + " | ".join(counts) + " |")


if __name__ == "__main__":
    main()
