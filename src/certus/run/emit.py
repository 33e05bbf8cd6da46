"""Write a program as Horn clauses, for any CHC solver: satisfiable means that the property holds.

Machine integers become mathematical ones if that is exact for every clause, and bit-vectors otherwise. The
passes that keep every answer come first; calls are not inlined."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from certus.codec.smtlib_horn import horn_script
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import uses_memory
from certus.core.engine import Pass, Task, apply_passes
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.frontend import Question, has_clauses, load_clauses, load_question, read_question
from certus.passes.constants import Constants
from certus.passes.horn.translate import translate
from certus.passes.memory import Memory
from certus.passes.slice import Slice
from certus.run.settings import Settings, block_pass


def emit_clauses(path: Path, settings: Settings, *, format: Literal["smtlib", "clp"] = "smtlib") -> str:
    """Return the clauses of the program in a file, or those in a file of clauses, as SMT-LIB or as a
    constraint logic program. Raises `InputError` or `Unsupported`."""
    question = read_question(path, property=settings.property_name, data_model=settings.data_model)
    try:
        if has_clauses(question):
            system = load_clauses(question, Budget(settings.timeout))
            comment = f"{question.file.name}: sat if no query has an answer"
        else:
            system, comment = _of_program(question, settings)
    except BudgetExceeded:
        message = "the file was not read within the time limit"
        raise Unsupported(
            Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
        ) from None
    if format == "clp":
        from certus.frontend.clp.writer import clp_text

        return clp_text(system, comment=comment)
    return horn_script(system, comment=comment)


def _of_program(question: Question, settings: Settings) -> tuple[HornSystem, str]:
    """Return the clauses of a program, and a comment about them."""
    program = load_question(
        question, arguments=settings.clang_arguments, budget=Budget(settings.timeout)
    ).program
    system, integers = program_clauses(program, settings)
    numbers = "machine integers as mathematical ones" if integers else "machine integers as bit-vectors"
    return system, (
        f"{Path(program.file).name}, property {question.property.name}: sat if it holds, unsat if not"
        f"\nE.x: the states at x from which the program goes wrong; {numbers}"
        "\nT.x: how the states at x depend on those at the entry of the procedure"
    )


def program_clauses(program: Program, settings: Settings) -> tuple[HornSystem, bool]:
    """Return the clauses of a program, and whether they are over mathematical integers only."""
    from certus.encoding.integer_clauses import IntegerClauses, has_machine_integers, is_exact

    memory: list[Pass] = [Memory()] if uses_memory(program) else []
    passes: list[Pass] = [*memory, Constants(), Slice(), block_pass(settings)]
    prepared = apply_passes(Task(program), passes)[0].subject
    assert isinstance(prepared, Program)
    system = translate(prepared).system
    if not has_machine_integers(system):
        return system, True
    return (IntegerClauses(system).system, True) if is_exact(system) else (system, False)
