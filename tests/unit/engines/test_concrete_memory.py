"""Memory safety of C programs by running them: what the engines `execution` and `random` answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.outcome import Outcome, Replay
from certus.run.verify import Settings, verify

HEAD = """#include <stdlib.h>
#include <string.h>
extern unsigned char __VERIFIER_nondet_uchar(void);
"""


def answered(tmp_path: Path, text: str, engine: str, property_name: str = "valid-memsafety") -> Outcome:
    file = tmp_path / "test.c"
    file.write_text(HEAD + text)
    return verify(file, Settings(engine=engine, execute=False, property_name=property_name))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "char keep[9]; int main(void) { char *p = malloc(5); const char *from = (const char *)&p;"
            " for (int i = 0; i < 8; i++) keep[i + 1] = from[i]; p = 0; return 0; }",
            id="a pointer copied byte by byte",
        ),
        pytest.param(
            "char keep[8]; int main(void) { char *p = malloc(5), *q; memcpy(keep, &p, 8); p = 0;"
            " memcpy(&q, keep, 8); free(q); return 0; }",
            id="a pointer copied there and back",
        ),
        pytest.param(
            "struct s { char *p; int n; };"
            " static struct s make(void) { struct s r = {malloc(3), 1}; return r; }"
            " int main(void) { struct s a = make(), b; b = make(); if (a.n + b.n) exit(0); return 0; }",
            id="pointers in local records at exit",
        ),
        pytest.param(
            "char *end; int main(void) { end = (char *)malloc(8) + 8; return 0; }", id="one past the end"
        ),
    ],
)
def test_tracked_objects(tmp_path: Path, text: str) -> None:
    assert answered(tmp_path, text, "execution").answer == "HOLDS"


def test_a_global_tracks_but_does_not_free(tmp_path: Path) -> None:
    text = "char *kept; int main(void) { kept = malloc(1); return 0; }"
    assert answered(tmp_path, text, "execution").answer == "HOLDS"
    assert answered(tmp_path, text, "execution", "valid-memcleanup").answer == "VIOLATED"


def test_a_free_of_uninitialised_contents_is_completed(tmp_path: Path) -> None:
    """With zeros in the new object it would be `free(0)`."""
    text = "int main(void) { char **p = malloc(8); free(*p); free(p); return 0; }"
    outcome = answered(tmp_path, text, "execution")
    assert outcome.answer == "VIOLATED"
    assert isinstance(outcome.check, Replay)
    assert outcome.check.defect is not None
    assert outcome.check.defect.cwe == 457


def test_random_inputs_find_an_error(tmp_path: Path) -> None:
    text = (
        "int main(void) { unsigned char n = __VERIFIER_nondet_uchar(); int *p = malloc(n * sizeof(int));"
        " if (n > 3 && n < 10) p[n] = 1; free(p); return 0; }"
    )
    outcome = answered(tmp_path, text, "random")
    assert outcome.answer == "VIOLATED"
    assert isinstance(outcome.check, Replay)
    assert outcome.check.defect is not None
    assert outcome.check.defect.cwe == 787
