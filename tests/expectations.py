"""Read what the programs in tests/programs expect: a verdict on each claim, engines in a comment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Expected:
    """`violated` are the lines whose claims fail; `decided_by` are the engines that must answer."""

    path: Path
    property_name: str
    violated: frozenset[int]
    decided_by: frozenset[str]

    @property
    def answer(self) -> str:
        return "VIOLATED" if self.violated else "HOLDS"


def expected(path: Path) -> Expected:
    text = path.read_text(encoding="utf-8")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "// VIOLATED" in line]
    assert lines or "// HOLDS" in text, f"{path.name} expects no verdict"
    property_name = _header(text, "property") or "unreach-call"
    engines = (_header(text, "decided-by") or "").split()
    return Expected(path, property_name, frozenset(lines), frozenset(engines))


def all_expected(pattern: str = "*.lp") -> list[Expected]:
    return [expected(path) for path in sorted(PROGRAMS.glob(pattern))]


def _header(text: str, key: str) -> str | None:
    match = re.search(rf"^// {key}: (.+)$", text, re.MULTILINE)
    return match and match[1]
