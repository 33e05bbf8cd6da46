"""Where the order of evaluation matters, the user is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.frontend.c.load import load_c

FUNCTIONS = """int g;
int one(void) { g = 1; return 0; } int two(void) { g = 2; return 0; }
int next(void) { return ++g; } int twice(void) { return next() + 1; }
int step(int *p) { *p += 1; return *p; }
int pure(int x) { int y = x; y++; return y; }
void both(int x, int y) {}
int outside(int);
"""


def lines_told_of(path: Path, body: str) -> list[int]:
    path.write_text(
        f"{FUNCTIONS}int main(void) {{ int i = 0, x = 0, a[3] = {{0}}, *p = a;\n{body}\nreturn 0; }}\n"
    )
    return [w.span.line for w in load_c(path).warnings if w.code == "evaluation-order" and w.span]


@pytest.mark.parametrize(
    "body",
    [
        "both(one(), two());",
        "x = g + next();",
        "x = twice() * g;",  # by a call of a call
        "a[g] = next();",
        "g += next();",
        "x = i++ + i;",
        "x = step(&i) - step(&i);",
        "x = *p + step(p);",
        "both(i = 1, i);",
        "x = a[i] + (a[1] = 3);",
        "x = i[a + (i = 1)];",
    ],
)
def test_orders_that_matter(body: str, tmp_path: Path) -> None:
    assert lines_told_of(tmp_path / "p.c", body) == [9]


@pytest.mark.parametrize(
    "body",
    [
        "g = next(); x = next(); i = x;",
        "x = pure(1) + pure(pure(2)); both(pure(x), pure(i));",
        "a[i++] = 3; *p++ = 1; *p = *p + 1; i = i + 1;",
        "x = next() && next() || g; x = (next(), g); x = next() ? g : two();",
        "x = outside(1) + outside(2);",
        "x = a[i] + (i == 1); i += i; for (i = 0; i < 3; i++) x += i;",
    ],
)
def test_orders_that_do_not_matter(body: str, tmp_path: Path) -> None:
    assert lines_told_of(tmp_path / "p.c", body) == []
