"""Transform tasks by passes: each returns the new task and a back map for evidence.

A back map turns evidence about the new task into evidence about the old one, and the back maps of a sequence
of passes compose. No pass is trusted: the checker sees the original program and the evidence about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from certus.core.horn import HornSystem
from certus.core.outcome import PassSize, Size
from certus.core.program import Program
from certus.core.task import BackMap, Pass, Task


def apply_passes(task: Task, passes: Sequence[Pass]) -> tuple[Task, BackMap, tuple[PassSize, ...]]:
    """Apply the passes in order; return the task, the composed back map, and the sizes for
    `--show-passes`."""
    back = BackMap.identity()
    sizes = []
    before = size(task.subject)
    for pass_ in passes:
        task, pass_back = pass_.apply(task)
        back = pass_back.after(back)
        after = size(task.subject)
        sizes.append(PassSize(pass_.name, before, after))
        before = after
    return task, back, tuple(sizes)


def size(subject: Program | HornSystem) -> Size:
    """Count locations and edges, or relations and clauses."""
    if isinstance(subject, HornSystem):
        return Size(len(subject.relations), len(subject.clauses))
    procedures = subject.procedures.values()
    return Size(sum(len(p.locations) for p in procedures), sum(len(p.edges) for p in procedures))
