"""Objects that begin one after the other need not fit into the address space together."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

ROUNDS = """
#include <stdlib.h>
extern void reach_error(void);
extern unsigned __VERIFIER_nondet_uint(void);
static void fill(char *bytes, unsigned at) {{ bytes[at % 100000000] = 1; }}
int main(void) {{
    char *older = 0;
    for (unsigned i = 0; i < 50; i++) {{
        {round}
    }}
    reach_error();
}}
"""
REPEATED = {
    "heap": "char *p = malloc(100000000); fill(p, __VERIFIER_nondet_uint()); free(older); older = p;",
    "heap, one at a time": "char *p = malloc(100000000); fill(p, __VERIFIER_nondet_uint()); free(p);",
    "stack": "char b[100000000]; if (i) fill(older, 1); fill(b, i); older = b;",
    "stack, one at a time": "char b[100000000]; fill(b, __VERIFIER_nondet_uint());",
}


@pytest.mark.parametrize("round", REPEATED.values(), ids=REPEATED)
def test_the_execution_goes_on_when_each_address_was_used_once(tmp_path: Path, round: str) -> None:
    file = tmp_path / "rounds.c"
    file.write_text(ROUNDS.format(round=round))
    settings = Settings(
        property_name="unreach-call", engine="linear", data_model="ILP32", timeout=60.0, execute=False
    )
    assert verify(file, settings).answer != "HOLDS"
