"""Functions without a body whose meaning is a convention of verifiers: assumptions, assertions, inputs.

The front end models them and the harness of compiled programs defines them, so both read the names here.
"""

from __future__ import annotations

from typing import Final

# The execution goes on only if the first argument is not 0.
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
# How the names of functions begin that mean something to a verifier, but nothing that is modelled.
RESERVED: Final = (
    *("__VERIFIER_", "__CPROVER_", "__ESBMC_", "__SMACK_", "__SEAHORN_", "__SEA_", "__DIVINE_", "__BLAST_"),
    *("__llbmc_", "__LLBMC_", "klee_", "static_assert", "__assume"),
)
# How the names of functions begin that only compilers define.
BUILTIN: Final = ("__builtin_", "__sync_", "__atomic_", "__c11_", "__opencl_", "__scoped_")


def is_input(name: str) -> bool:
    """Whether a function without a body gives an input of the program, and does nothing else."""
    return name.startswith(_INPUTS)
