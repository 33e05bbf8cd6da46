"""Lowered programs for tests: C text in, and what to ask of the program that comes out."""

from __future__ import annotations

from pathlib import Path

from certus.core.program import BasicOp, Edge, Program
from certus.frontend.c.load import load_c
from certus.frontend.graph import LoadedProgram

DECLARATIONS = """
extern int __VERIFIER_nondet_int(void);
extern unsigned __VERIFIER_nondet_uint(void);
extern void __VERIFIER_assume(int);
extern void reach_error(void);
extern void abort(void);
"""


def loaded(
    directory: Path, text: str, *, property: str = "unreach-call", model: str = "LP64"
) -> LoadedProgram:
    """The program of a text, after the usual declarations."""
    path = directory / "program.c"
    path.write_text(DECLARATIONS + text, encoding="utf-8")
    return load_c(path, property=property, model=model)


def edges(program: Program, procedure: str = "main") -> tuple[Edge, ...]:
    return program.procedures[procedure].edges


def ops(program: Program, kind: type, procedure: str = "main") -> list[BasicOp]:
    """The ops of one kind in a procedure, in order."""
    return [e.op for e in edges(program, procedure) if isinstance(e.op, kind)]  # type: ignore[misc]
