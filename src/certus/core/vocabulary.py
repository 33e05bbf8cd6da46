"""Names of functions whose meaning is a convention among verifiers: assumptions, assertions, inputs.

The front end models these functions, and the harness of compiled programs defines them.
"""

from __future__ import annotations

from typing import Final

# The execution continues only if the first argument is not 0.
ASSUMING: Final = (
    *("__VERIFIER_assume", "assume", "verifier_assume", "assume_abort_if_not", "assume_cycle_if_not"),
    *("__CPROVER_assume", "__ESBMC_assume", "klee_assume", "__llbmc_assume", "__LLBMC_assume"),
)
# An error if the first argument is 0.
ASSERTING: Final = (
    *("assert", "__VERIFIER_assert", "verifier_assert", "sassert"),
    *("__CPROVER_assert", "__ESBMC_assert", "klee_assert", "__llbmc_assert", "__LLBMC_assert"),
)
_INPUTS: Final = (
    *("__VERIFIER_nondet", "__CPROVER_nondet_", "__ESBMC_nondet_", "__SMACK_nondet_", "nondet_"),
    *("klee_int", "klee_char", "klee_short", "klee_long"),
)
# The input that decides whether an allocation fails, if allocations may fail: each asks for it once.
ALLOCATION_FAILS: Final = "$allocation fails"
# Prefixes of functions that have a meaning for some verifier, but are not modelled.
RESERVED: Final = (
    *("__VERIFIER_", "__CPROVER_", "__ESBMC_", "__SMACK_", "__SEAHORN_", "__SEA_", "__DIVINE_", "__BLAST_"),
    *("__llbmc_", "__LLBMC_", "klee_", "static_assert", "__assume"),
)
# Prefixes of functions that only compilers define.
BUILTIN: Final = ("__builtin_", "__sync_", "__atomic_", "__c11_", "__opencl_", "__scoped_")


def is_input(name: str) -> bool:
    """Return whether a function without a body only returns an input of the program."""
    return name.startswith(_INPUTS)
