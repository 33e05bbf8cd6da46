"""Local objects live as long as control is in their block, however it gets there."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.laws.c_scopes import RANGE, Scopes

from certus.core.errors import Unsupported
from certus.frontend.c.load import load_c
from certus.fuzz.memory.campaign import NONE, interpreted

INPUTS = 12
RUNS = 8
EXITED = "no edge is enabled"  # behind a call of `exit`


def disagreement(seed: int, directory: Path, model: str) -> str | None:
    """Return how the model of a random function differs from the rule of C; None if it does not. Raises
    `Unsupported`."""
    drawn = Scopes.drawn(seed, INPUTS)
    path = directory / f"{seed}.c"
    path.write_text(drawn.text, encoding="utf-8")
    program = load_c(path, property="valid-memsafety", model=model).program
    random = Random(seed)
    for _ in range(RUNS):
        inputs = tuple(random.randrange(RANGE) for _ in range(INPUTS))
        wanted = drawn.uses_ended_object(inputs)
        if wanted is None:
            continue
        said = interpreted(program, inputs)
        said = NONE if said == EXITED else said
        if said != ("valid-deref" if wanted else NONE):
            return f"{said} for {inputs}:\n{drawn.text}"
    return None


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_objects_end_with_their_blocks(tmp_path: Path, start: int) -> None:
    compared = refused = 0
    for seed in range(start, start + 20):
        try:
            assert disagreement(seed, tmp_path, ("LP64", "ILP32")[seed % 2]) is None
            compared += 1
        except Unsupported as error:
            refused += error.diagnostic.code == "unsupported-lifetime"
    assert (compared >= 10, compared + refused) == (True, 20)
