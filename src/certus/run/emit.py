"""Write a program as Horn clauses, for any CHC solver: satisfiable means that the property holds.

Machine integers become mathematical ones if that is exact for every clause, and bit-vectors otherwise. The
passes that keep every answer come first; calls are not inlined."""

from __future__ import annotations

from pathlib import Path

from certus.codec.smtlib_horn import horn_script
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.horn import HornSystem
from certus.core.memory import uses_memory
from certus.core.program import Program
from certus.core.task import Pass, Task
from certus.frontend import has_clauses, load_question, read_question
from certus.passes import apply_passes
from certus.passes.constants import Constants
from certus.passes.horn.translate import translate
from certus.passes.large_blocks import LargeBlocks
from certus.passes.memory import Memory
from certus.passes.slice import Slice
from certus.run.settings import Settings


def emit_clauses(path: Path, settings: Settings) -> str:
    """Return the clauses of the program in a file as SMT-LIB. Raises `InputError` or `Unsupported`."""
    question = read_question(path, property=settings.property_name, data_model=settings.data_model)
    if has_clauses(question):
        message = f"{question.file} has Horn clauses already"
        raise InputError([Diagnostic("usage", message, hint="--emit writes the clauses of a program")])
    try:
        program = load_question(
            question, arguments=settings.clang_arguments, budget=Budget(settings.timeout)
        ).program
    except BudgetExceeded:
        message = "the program was not read within the time limit"
        raise Unsupported(
            Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
        ) from None
    system, integers = program_clauses(program, settings)
    numbers = "machine integers as mathematical ones" if integers else "machine integers as bit-vectors"
    comment = (
        f"{Path(program.file).name}, property {question.property.name}: sat if it holds, unsat if not"
        f"\nE.x: the states at x from which the program goes wrong; {numbers}"
        "\nT.x: how the states at x depend on those at the entry of the procedure"
    )
    return horn_script(system, comment=comment)


def program_clauses(program: Program, settings: Settings) -> tuple[HornSystem, bool]:
    """Return the clauses of a program, and whether they are over mathematical integers only."""
    from certus.encoding.integer_clauses import IntegerClauses, has_machine_integers, is_exact

    memory: list[Pass] = [Memory()] if uses_memory(program) else []
    passes: list[Pass] = [*memory, Constants(), Slice(), LargeBlocks(settings.blocks)]
    prepared = apply_passes(Task(program), passes)[0].subject
    assert isinstance(prepared, Program)
    system = translate(prepared).system
    if not has_machine_integers(system):
        return system, True
    return (IntegerClauses(system).system, True) if is_exact(system) else (system, False)
