"""Check that a release is consistent: the tag, the version, the citation and the changelog agree.

python scripts/release.py v0.2.0"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def disagreements(tag: str) -> list[str]:
    """Return one sentence for each file that does not name the version of the tag."""
    version = tag.removeprefix("v")
    wanted = {
        "src/certus/core/version.py": rf'^VERSION = "{re.escape(version)}"$',
        "CITATION.cff": rf"^version: {re.escape(version)}$",
        "CHANGELOG.md": rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$",
    }
    return [
        f"{name} has no line that matches {pattern}"
        for name, pattern in wanted.items()
        if not re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
    ]


def main() -> int:
    if len(sys.argv) != 2 or not re.fullmatch(r"v\d+\.\d+\.\d+", sys.argv[1]):
        print("usage: python scripts/release.py vMAJOR.MINOR.PATCH", file=sys.stderr)
        return 2
    problems = disagreements(sys.argv[1])
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
