"""`abstract`: the Boolean program of a program and predicates, as text that can be verified in turn.

The default predicates are those that the engine `predicate` finds within half of the time limit, whether or
not it finds an answer with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from certus.core.accounting import Budget, Statistics
from certus.core.boolean import Predicate, ScopedPredicates
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import uses_memory
from certus.core.engine import Task
from certus.core.errors import BudgetExceeded, CertusError, Inconsistent, Unsupported
from certus.core.evidence import old
from certus.core.program import Location, Program
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.frontend import load_question, read_question
from certus.frontend.predicates import parse_predicates
from certus.passes.memory import Memory
from certus.run.settings import Settings
from certus.system.child import Kind, Reporter, run_limited

SEARCH_SHARE = 0.5  # of the time limit, for finding predicates
_LONGEST = 200  # characters of a predicate in a comment


def abstract(
    path: str | Path,
    predicates: str | None = None,
    settings: Settings | None = None,
    *,
    on_progress: Callable[[str], None] | None = None,
) -> str:
    """Return the Boolean program of the program in a file. Raises `InputError` if the program or a predicate
    is malformed, and `Unsupported` if there is no abstraction within the limits."""
    settings = settings or Settings()
    budget = Budget(settings.timeout)
    question = read_question(Path(path), property=settings.property_name, data_model=settings.data_model)
    try:
        program = load_question(question, arguments=settings.clang_arguments, budget=budget).program
        budget.check()
    except BudgetExceeded:
        raise _no_abstraction("timeout", "", settings) from None
    if uses_memory(program):
        lowered = Memory().apply(Task(program))[0].subject
        assert isinstance(lowered, Program)
        program = lowered
    chosen = None if predicates is None else parse_predicates(predicates, program)
    limit = budget.remaining()
    result = run_limited(
        lambda reporter: _work(program, chosen, Budget(limit), reporter),
        seconds=limit,
        memory=settings.memory,
        on_progress=on_progress,
    )
    if result.payload is None:
        raise _no_abstraction(result.kind, result.detail, settings)
    text = json.loads(result.payload)
    assert isinstance(text, str)
    return text


def _work(program: Program, chosen: ScopedPredicates | None, budget: Budget, reporter: Reporter) -> bytes:
    """Compute the abstraction in the child process."""
    from certus.passes.boolean import abstract_program
    from certus.report.boolean_program import render_boolean

    statistics = Statistics(on_progress=reporter.progress)
    predicates = find_predicates(program, budget.part(SEARCH_SHARE), statistics) if chosen is None else chosen
    abstraction = abstract_program(program, predicates, budget=budget, statistics=statistics)
    return json.dumps(render_boolean(abstraction)).encode()


def find_predicates(program: Program, budget: Budget, statistics: Statistics) -> ScopedPredicates:
    """Return the predicates with which the engine `predicate` tried to decide a program."""
    from certus.engines.predicate import Options
    from certus.engines.predicate.abstraction import Precision
    from certus.engines.predicate.engine import search
    from certus.passes.large_blocks import LargeBlocks

    task, _ = LargeBlocks("large").apply(Task(program))
    precisions: dict[Location, Precision] = {}
    with suppress(BudgetExceeded, Inconsistent):
        search(task, Options(), budget, statistics, precisions)
    shared: dict[Expr, None] = {}
    own: dict[str, dict[Expr, None]] = {}
    for location, precision in precisions.items():
        for predicate in precision.predicates:
            if set(program.globals).issuperset(variables(predicate)):
                shared[predicate] = None
            else:
                own.setdefault(location.procedure, {})[predicate] = None
    names = _names(program)
    return ScopedPredicates(
        tuple(_shown(p, names) for p in shared),
        {name: tuple(_shown(p, names) for p in own[name]) for name in program.procedures if name in own},
    )


def _shown(predicate: Expr, names: Mapping[Expr, str]) -> Predicate:
    return Predicate(predicate, c_text(predicate, names=names, limit=_LONGEST))


def _names(program: Program) -> dict[Expr, str]:
    """Return the variables by their names in the source."""
    names = {x: program.source_names.get(x, x.name) for x in program.globals}
    for procedure in program.procedures.values():
        for x in procedure.variables:
            names[x] = program.source_names.get(x) or x.name.partition(".")[2]
        for n, x in enumerate(procedure.results):
            names[x] = "result" if len(procedure.results) == 1 else f"result{n}"
    return names | {old(x): f"old({name})" for x, name in names.items()}


def _no_abstraction(kind: Kind, detail: str, settings: Settings) -> CertusError:
    """Return the error that says why there is no abstraction."""
    if kind == "timeout":
        message = f"no abstraction within {settings.timeout:g} s"
        hint = "try fewer predicates or a larger --timeout"
        return Unsupported(Diagnostic("time-limit", message, Severity.NOTE, hint=hint))
    if kind == "memory":
        hint = "try fewer predicates or a larger --memory"
        return Unsupported(Diagnostic("memory-limit", detail, Severity.NOTE, hint=hint))
    if kind == "interrupted":
        return Unsupported(Diagnostic("interrupted", "interrupted before the abstraction was complete"))
    return Inconsistent(f"the abstraction failed: {detail}")
