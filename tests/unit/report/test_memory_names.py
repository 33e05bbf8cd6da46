"""Variables that the encoding of memory adds are shown in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core import build
from certus.core.memory import Partition, Pointer
from certus.core.program import Alloc
from certus.core.terms import INT
from certus.frontend.c.load import load_c
from certus.report.memory_names import MemoryNames

TEXT = """\
#include <stdlib.h>
int main(void) {
    char buf[4];
    char *p = malloc(8);
    char *q = malloc(9);
    p[7] = buf[1] = *q = 0;
}
"""


@pytest.fixture
def names(tmp_path: Path) -> MemoryNames:
    path = tmp_path / "p.c"
    path.write_text(TEXT)
    program = load_c(path, property="valid-memsafety").program
    targets = {e.span.line: e.op.target for e in program.edge.values() if isinstance(e.op, Alloc) and e.span}
    carriers = {
        target: Pointer(0 if line == 3 else 1 if line == 4 else 2, 0) for line, target in targets.items()
    }
    own = {x.name: x for p in program.procedures.values() for x in p.variables}
    return MemoryNames(program, Partition(64, (), carriers), own)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mem$1$8", "line4.at8"),
        ("mem$1", "line4.bytes"),
        ("mem$1$dead", "line4.ended"),
        ("mem$2$8$holder", "line5.holder_at8"),
        ("mem$2$8$base", "line5.object_at8"),
        ("mem$brk$2", "line5.next"),
        ("mem$0$size", "buf.size"),
        ("mem$7$size", "objects7.size"),
        ("mem$brk", "memory.end"),
        ("mem$heap", "heap.live"),
        ("main.$&buf$live", "buf.live"),
        ("main.$&buf$+2", "buf.at2"),
        ("main.p$base", "p.object"),
        ("main.$&buf", "&buf"),
        ("main.p", None),
        ("main.$3", None),
    ],
)
def test_words(names: MemoryNames, name: str, shown: str | None) -> None:
    assert names.of(build.var(name, INT)) == shown
