"""What this process and all below it have used: CPU time and memory, as the kernel counts them."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from certus.system.supervise import descendants, resident

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Of this process, of those below it, and of those that have been."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total + sum(map(_cpu, descendants()))


def _cpu(process: int) -> float:
    """Of a process and of its children that have ended."""
    try:
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, numbers[11:15])) / _TICKS


def memory_of(groups: Iterable[int], enough: int) -> dict[int, int]:
    """Bytes of memory of each process with all below it. Pages that several share are counted once, by
    shares, if the plain sum is more than `enough`: that takes longer."""
    trees = {root: (root, *descendants(root)) for root in groups}
    found = {root: sum(map(resident, tree)) for root, tree in trees.items()}
    if sum(found.values()) <= enough:
        return found
    return {root: sum(map(_proportional, tree)) for root, tree in trees.items()}


def _proportional(process: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return resident(process)
