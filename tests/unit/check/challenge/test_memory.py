"""A sanitized program contradicts a proof of memory safety about a model that is not its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from certus.check.challenge.native import ErrorCodes, challenge
from certus.core.accounting import Budget
from certus.core.program import Program
from certus.frontend import load

SAFE = """
#include <stdlib.h>
extern unsigned __VERIFIER_nondet_uint(void);
int main(void) {
    unsigned n = __VERIFIER_nondet_uint() % 4;
    int *p = malloc(4 * sizeof *p);
    p[n] = 1;
    free(p);
    return 0;
}
"""


def loaded(tmp_path: Path) -> Program:
    path = tmp_path / "program.c"
    path.write_text(SAFE)
    return load(path, property="valid-memsafety").program


def test_a_safe_program_is_not_contradicted(tmp_path: Path) -> None:
    result = challenge(loaded(tmp_path), ErrorCodes({}), budget=Budget(60))
    assert result.compared > 0
    assert result.reached == {}


@pytest.mark.parametrize(
    ("line", "other", "kind"),
    [
        ("p[n] = 1;", "p[n + 4] = 1;", "invalid-write"),
        ("p[n] = 1;", "n = p[4];", "invalid-write"),  # reads and writes violate the same part
        ("free(p);", "free(p + 1);", "invalid-free"),
        ("free(p);", "p = 0;", "memory-leak"),
    ],
)
def test_memory_errors_that_the_model_lacks(line: str, other: str, kind: str, tmp_path: Path) -> None:
    program = replace(loaded(tmp_path), source=SAFE.replace(line, other))
    result = challenge(program, ErrorCodes({}), budget=Budget(60))
    assert kind in result.reached
