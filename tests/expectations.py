"""The programs in tests/programs and what they expect: the verdict stands on the line of each claim."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Expected:
    """`violated` are the lines whose claims fail. `bounded`: some unrolling decides the program."""

    path: Path
    property_name: str
    violated: frozenset[int]
    bounded: bool

    @property
    def answer(self) -> str:
        return "VIOLATED" if self.violated else "HOLDS"


def expected(path: Path) -> Expected:
    text = path.read_text(encoding="utf-8")
    named = re.search(r"^// property: (\S+)$", text, re.MULTILINE)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "// VIOLATED" in line]
    assert lines or "// HOLDS" in text, f"{path.name} expects nothing"
    return Expected(
        path, named[1] if named else "unreach-call", frozenset(lines), "// needs: invariant" not in text
    )


def all_expected() -> list[Expected]:
    return [expected(path) for path in sorted(PROGRAMS.glob("**/*.lp"))]
