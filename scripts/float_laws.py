"""Compare exact floating point with this machine's processor and with the solvers on many random operations.

`python scripts/float_laws.py` computes 1,000,000 operations of each format to nearest, and 100,000 in other
modes, as the processor does; it takes about a minute for each format and mode. `--solver z3` computes 2,000
operations of each kind, format and mode, and all combinations of special values, as that solver does.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, help="operations of each format to nearest, or of each question")
    parser.add_argument("--seed", type=int, default=1, help="determines the operands")
    parser.add_argument("--solver", choices=("z3", "bitwuzla", "cvc5"), help="compare with a solver instead")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    if arguments.solver is None:
        wrong = by_processor(arguments.count or 1_000_000, arguments.seed)
    else:
        wrong = by_solver(arguments.solver, arguments.count or 2_000, arguments.seed)
    print("\n".join(wrong[:20]))
    return 1 if wrong else 0


def by_processor(most: int, seed: int) -> list[str]:
    from tests.laws import float_hardware as hardware

    wrong: list[str] = []
    for mode in hardware.HARDWARE_MODES:
        count = most if mode == 0 else most // 10
        for format in hardware.FORMATS:
            wrong += hardware.disagreements(format, mode, count, seed)
        wrong += hardware.conversion_disagreements(mode, count, seed)
        print(f"mode {mode}: {count:,} operations of each format and conversions, {len(wrong)} wrong so far")
    return wrong


def by_solver(name: str, count: int, seed: int) -> list[str]:
    from tests.laws import float_solvers as solvers

    wrong: list[str] = []
    decided = undecided = 0
    for kind, format, mode in solvers.questions(name):
        tally = solvers.disagreements(name, kind, format, mode, count, seed)
        wrong += tally.wrong
        decided, undecided = decided + tally.decided, undecided + tally.undecided
        line = f"{name} {kind.name} {format.name} mode {mode}: {tally.decided:,} decided"
        print(f"{line}, {tally.undecided:,} not; {len(wrong)} wrong so far", flush=True)
    print(f"{name}: {decided:,} operations decided, {undecided:,} not, {len(wrong)} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
