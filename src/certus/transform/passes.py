"""An ordered list of passes, run one after the other, with the sizes `--show-passes` prints."""

from __future__ import annotations

from collections.abc import Sequence

from certus.core.horn import HornSystem
from certus.core.outcome import PassSize, Size
from certus.core.program import Program
from certus.core.task import BackMap, Pass, Task


def apply_passes(task: Task, passes: Sequence[Pass]) -> tuple[Task, BackMap, tuple[PassSize, ...]]:
    """The task after all passes, and the map that carries evidence back through all of them."""
    back = BackMap.identity()
    sizes = []
    before = size(task.subject)
    for step in passes:
        task, own = step.apply(task)
        back = own.after(back)
        after = size(task.subject)
        sizes.append(PassSize(step.name, before, after))
        before = after
    return task, back, tuple(sizes)


def size(subject: Program | HornSystem) -> Size:
    if isinstance(subject, HornSystem):
        return Size(len(subject.relations), len(subject.clauses))
    procedures = subject.procedures.values()
    return Size(sum(len(p.locations) for p in procedures), sum(len(p.edges) for p in procedures))
