"""Measure the CPU time and memory of this process and its descendants, as the kernel counts them."""

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
    """Return the CPU time of this process and of its descendants, including those that have ended."""
    total = 0.0
    for processes in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(processes)
        total += usage.ru_utime + usage.ru_stime
    return total + sum(map(_cpu, descendants()))


def _cpu(process: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    try:
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, numbers[11:15])) / _TICKS


def memory_of(groups: Iterable[int], enough: int) -> dict[int, int]:
    """Return the bytes of memory of each process with its descendants. If the plain sum exceeds `enough`,
    shared pages are divided among the processes that share them, which takes longer."""
    trees = {root: (root, *descendants(root)) for root in groups}
    used = {root: sum(map(resident, tree)) for root, tree in trees.items()}
    if sum(used.values()) <= enough:
        return used
    return {root: sum(map(_proportional, tree)) for root, tree in trees.items()}


def _proportional(process: int) -> int:
    """Return the memory of a process, with its share of shared pages."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return resident(process)
