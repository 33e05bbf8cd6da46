"""Compare exact floating point with this machine's processor on many random operations.

`python scripts/float_laws.py --count 1000000` takes about a minute for each format and mode.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="operations of each format, to nearest")
    parser.add_argument("--seed", type=int, default=1, help="determines the operands")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    from tests.laws import float_hardware as hardware

    wrong: list[str] = []
    for mode in hardware.HARDWARE_MODES:
        count = arguments.count if mode == 0 else arguments.count // 10
        for format in hardware.FORMATS:
            wrong += hardware.disagreements(format, mode, count, arguments.seed)
        wrong += hardware.conversion_disagreements(mode, count, arguments.seed)
        print(f"mode {mode}: {count:,} operations of each format and conversions, {len(wrong)} wrong so far")
    print("\n".join(wrong[:20]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
