"""Generated C programs behave alike in our interpreter and compiled: in their end and all observed values."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from tests.laws.c_differential import Result, compare, compare_text
from tests.laws.c_programs import batch
from tests.laws.c_vocabulary import PREAMBLE

BATCH = 25  # programs in a file


@pytest.mark.parametrize(("model", "seed"), [("LP64", 0), ("ILP32", 1)])
def test_interpreted_and_compiled_programs_agree(model: str, seed: int) -> None:
    found = compare(seed, BATCH, tables=2, model=model, opinions=("O2",))
    different = [f"program_{c.program}: {c.ours} {c.theirs}" for c in found if c.result is Result.DIFFERING]
    assert not different, f"python scripts/differential.py --programs {BATCH} --models {model} --seed {seed}"
    counts = Counter(c.result for c in found)
    assert counts[Result.AGREED] > 0.8 * len(found)


def test_programs_compiled_by_another_compiler_agree() -> None:
    """That is gcc where it is installed; its programs must not depend on the types of bit-fields."""
    found = compare(2, BATCH, tables=2, model="LP64", opinions=("gcc" if shutil.which("gcc") else "O2",))
    different = [f"program_{c.program}: {c.ours} {c.theirs}" for c in found if c.result is Result.DIFFERING]
    assert not different, f"python scripts/differential.py --programs {BATCH} --models LP64 --seed 2"


def test_a_difference_is_seen() -> None:
    """The interpreter is not shown what the compiled program is: only that may differ."""
    text = PREAMBLE + (
        "unsigned int __VERIFIER_nondet_uint(void);\n"
        "int main(void) { __VERIFIER_nondet_uint();\n"
        "#ifdef COMPILED\nobserve(1);\n#else\nobserve(2);\n#endif\n}\n"
    )
    (one,) = compare_text(text, 1, seed=0, tables=1, model="LP64")
    assert one.result is Result.DIFFERING
    assert (one.ours.observed, one.theirs.observed) == ((2,), (1,))


def test_undefined_runs_are_discarded() -> None:
    text = PREAMBLE + (
        "unsigned int __VERIFIER_nondet_uint(void);\n"
        "int main(void) { unsigned int zero = __VERIFIER_nondet_uint(); observe(1u << (zero + 32)); }\n"
    )
    (one,) = compare_text(text, 1, seed=0, tables=1, model="LP64")
    assert one.result is Result.UNDEFINED


def test_portable_programs_read_bit_fields_in_their_declared_types() -> None:
    portable, other = (batch(3, 1, wide=True, portable=portable) for portable in (True, False))
    assert "((int)w0.bits.low)" in portable
    assert "((int)w0.bits.low)" not in other
    assert ".bits.high |= " in other
    assert ".bits.high |= " not in portable


def test_programs_are_the_same_for_the_same_seed() -> None:
    assert batch(3, 4, wide=True) == batch(3, 4, wide=True) != batch(4, 4, wide=True)
