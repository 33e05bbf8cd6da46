"""Random C programs, run by our interpreter and by the compiled program: they must do the same.

    python scripts/differential.py --programs 2000 --seed 0

Prints how many runs agreed, were discarded (undefined behaviour, found by Clang's sanitizers; too long) or
differ. Files with a difference are kept in the directory of `--keep`; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.laws.c_differential import Comparison, Result, compare  # noqa: E402

BATCH = 25  # programs in a file


def work(job: tuple[int, int, str, int, Path]) -> tuple[int, str, list[Comparison] | str]:
    seed, programs, model, tables, keep = job
    path = keep / f"{model}-{seed}.c"
    try:
        found = compare(seed, programs, tables=tables, model=model, keep=path)
    except Exception as error:  # a program that is refused is a difference as well
        return seed, model, f"{type(error).__name__}: {error}"
    if all(c.result is not Result.DIFFERING for c in found):
        path.unlink()
    return seed, model, found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first file; the others follow")
    parser.add_argument("--inputs", type=int, default=3, help="runs of each program")
    parser.add_argument(
        "--models", default="LP64,ILP32", help="data models; each gets a share of the programs"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("differing"))
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    models = options.models.split(",")
    jobs = []
    for number, first in enumerate(range(0, options.programs, BATCH)):
        programs = min(BATCH, options.programs - first)
        model = models[number % len(models)]
        jobs.append((options.seed + number, programs, model, options.inputs, options.keep))
    counts: Counter[str] = Counter()
    failed = False
    with Pool(options.jobs) as pool:
        try:
            for seed, model, found in pool.imap_unordered(work, jobs):
                failed |= counted(seed, model, found, counts)
        except KeyboardInterrupt:
            print("interrupted; so far:")
            failed = True
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    if not any(options.keep.iterdir()):
        options.keep.rmdir()
    return 1 if failed else 0


def counted(seed: int, model: str, found: list[Comparison] | str, counts: Counter[str]) -> bool:
    """Count the runs of one file; whether it has a difference, which is printed."""
    if isinstance(found, str):
        print(f"{model} seed {seed}: {found}", flush=True)
        return True
    counts["programs"] += len({one.program for one in found})
    for one in found:
        counts[f"{model} {one.result.value}"] += 1
        if one.result is Result.AGREED and one.ours.ending is not None:
            counts[f"{model} agreed: {one.ours.ending.value}"] += 1
        if one.result is Result.DIFFERING:
            print(f"{model} seed {seed}: {explained(one)}", flush=True)
    return any(one.result is Result.DIFFERING for one in found)


def explained(one: Comparison) -> str:
    """Where two runs part."""
    ours, theirs = one.ours, one.theirs
    place = f"program_{one.program} with inputs {one.inputs}"
    for at, (mine, other) in enumerate(zip(ours.observed, theirs.observed, strict=False)):
        if mine != other:
            return f"{place}: observation {at} is {mine:#x}, compiled {other:#x}"
    numbers = f"{len(ours.observed)} and {len(theirs.observed)} observations"
    return f"{place}: {numbers}; {ours.ending} ({ours.detail}), compiled {theirs.ending} ({theirs.detail})"


if __name__ == "__main__":
    sys.exit(main())
