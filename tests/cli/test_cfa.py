"""`certus cfa`: the automaton as text, DOT and SVG, with sizes before and after each rule."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Certus


def sizes(table: str) -> list[tuple[str, int, int]]:
    header, *rows = [line.split() for line in table.splitlines() if line]
    assert header == ["rule", "applied", "locations", "edges"]
    return [(" ".join(row[:-3]), int(row[-2]), int(row[-1])) for row in rows]


def test_text(certus: Certus) -> None:
    done = certus("cfa", "examples/gcd.lp")
    assert (done.returncode, done.stderr) == (0, "")
    table, _, edges = done.stdout.partition("main: ")
    found = sizes(table)
    assert found[-1][1] < found[0][1]
    assert found[-1][2] == sum(" -> " in line for line in edges.splitlines())


def test_adjustable_blocks(certus: Certus) -> None:
    """A higher threshold keeps fewer locations."""
    left = []
    for threshold in ("1", "3", "100"):
        flags = ("--blocks", "adjustable", "--set", f"blocks.threshold={threshold}")
        done = certus("cfa", "examples/locks.lp", *flags)
        assert done.returncode == 0
        left.append(sizes(done.stdout.partition("main: ")[0])[-1][1])
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == 3


def test_dot(certus: Certus) -> None:
    done = certus("cfa", "examples/gcd.lp", "--format", "dot")
    assert done.stdout.startswith("digraph")
    assert sizes(done.stderr)[0][0]


@pytest.mark.parametrize("blocks", ["single", "large", "advanced", "adjustable"])
def test_svg(blocks: str, certus: Certus, tmp_path: Path) -> None:
    target = tmp_path / "gcd.svg"
    done = certus("cfa", "examples/gcd.lp", "--blocks", blocks, "--format", "svg", "-o", target)
    assert (done.returncode, done.stdout) == (0, "")
    assert ElementTree.fromstring(target.read_text()).tag.endswith("svg")


def test_memory_operations_have_words(certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "memory.c").write_text(
        "#include <stdlib.h>\nint a[4];\n"
        "int main(void) { int *p = malloc(8); *p = 2; a[1] = *p; free(p); return a[1]; }\n"
    )
    done = certus("cfa", "memory.c", "--blocks", "single", cwd=tmp_path)
    assert done.returncode == 0
    for words in ("new static `a` of 16 bytes", "*(p) = 2", "= *(p)", "free(p)"):
        assert words in done.stdout
