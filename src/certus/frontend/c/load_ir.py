"""From a C file through LLVM IR to the `Program` that the rest of Certus works on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import InputError, Unsupported
from certus.core.program import Program
from certus.core.witness import probe_number
from certus.frontend.c.compile import Compiled, compile_text
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.library.models import LibraryModels
from certus.frontend.c.load import blame, collection_paused, error_rules
from certus.frontend.c.model.order import order_warning
from certus.frontend.c.model.probing import Impure
from certus.frontend.c.model.program import lower_program
from certus.frontend.c.model.sources import Sources
from certus.frontend.c.model.unit import Rules, Unit, refused
from certus.frontend.c.source.probes import Probe, ProbedText, refuse
from certus.frontend.c.source.statements import Statements
from certus.frontend.c.types import LP64, DataModel
from certus.frontend.loaded import LoadedProgram
from certus.frontend.properties import UNREACH_CALL, Property, property_of
from certus.frontend.source import read_source


def load_ir(
    path: str | Path,
    *,
    property: str | Property = UNREACH_CALL,
    model: DataModel = LP64,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str = "main",
) -> LoadedProgram:
    """Return the program of a C file; `arguments` are for Clang. It begins with the function `entry`.

    Raises `InputError` for what Clang refuses and for an unknown property, `Unsupported` for what Certus
    does not model, and `BudgetExceeded`."""
    path, budget = Path(path), budget or Budget()
    found = error_rules(property_of(property) if isinstance(property, str) else property)
    loading = _Loading(path, Rules(found.kind, found.functions), model, tuple(arguments), budget, entry)
    with collection_paused():
        return loading.run()


def load_probed_ir(
    path: Path,
    probes: Sequence[Probe],
    watched: frozenset[tuple[int, int | None]] = frozenset(),
    *,
    property: Property,
    model: DataModel,
    arguments: Sequence[str] = (),
    budget: Budget,
    invariants: bool = False,
) -> tuple[LoadedProgram, Program]:
    """Return the program of a C file, and the same with probes, and with branches where `watched` has the `?`
    of a `?:`. With `invariants`, probes claim that their evaluation is defined. Raises `InputError`, at the
    place of the probe, for one that has no place or is no expression; otherwise as `load_ir`."""
    found = error_rules(property)
    loading = _Loading(path, Rules(found.kind, found.functions), model, tuple(arguments), budget, "main")
    with collection_paused():
        original = loading.run()
        if not probes:
            return original, loading.run(watched).program if watched else original.program

        def probed(some: Sequence[Probe]) -> Program:
            statements = Statements(str(path), read_source(path).text)
            text = ProbedText(statements, path.read_bytes(), some)
            return loading.run(watched, text, invariants=invariants).program

        try:
            made = probed(probes)
        except Impure as error:
            refuse(next(p for p in probes if p.number == error.number), str(error))
        except InputError as error:
            blame(probes, probed, error)
        reached = {probe_number(site.kind) for site in made.errors}
        for probe in probes:
            if probe.number not in reached:
                message = f"Line {probe.place.line} is in no function that `main` can call."
                raise Unsupported(Diagnostic("unreachable-place", message, span=probe.span))
        return original, made


@dataclass(frozen=True, slots=True)
class _Loading:
    """What is asked about a file."""

    path: Path
    rules: Rules
    model: DataModel
    arguments: tuple[str, ...]
    budget: Budget
    entry: str

    def run(
        self,
        watched: frozenset[tuple[int, int | None]] = frozenset(),
        probed: ProbedText | None = None,
        *,
        invariants: bool = False,
    ) -> LoadedProgram:
        """Compile the file, with probes if they are given, and lower it."""
        path, rules, model = self.path, self.rules, self.model.name
        data = path.read_bytes()
        compiled = compile_text(
            path,
            data if probed is None else probed.data,
            property=rules.kind,
            model=model,
            arguments=self.arguments,
            budget=self.budget,
        )
        sources: Sources | None = None
        try:
            module = Module(compiled.text)
            text = read_source(path).text
            sources = Sources(
                module.debug, compiled.main, str(path), text, blanked=compiled.blanked, probed=probed
            )
            models = LibraryModels(module.types, model=model, property=rules.kind)
            unit = Unit(
                module, sources, models, rules, self.budget, self.entry, watched, invariants=invariants
            )
            lowered = lower_program(unit, str(path), hashlib.sha256(data).hexdigest(), self.entry)
        except NotUnderstood as error:
            raise Unsupported(refused(error, sources, str(path))) from error
        told = _told(compiled, sources, lowered.program)
        order = order_warning(lowered.program, sources.statements)
        told += [] if order is None else [order]
        if invariants and probed is not None:
            _refuse_folded(compiled, probed)
        program = lowered.program
        if not any("NDEBUG" in each for each in (text, *self.arguments)):
            program = replace(program, decided=_decided(program, sources.statements, rules))
        return LoadedProgram(program, (*told, *lowered.warnings))


def _decided(program: Program, statements: Statements, rules: Rules) -> tuple[str, ...]:
    """The procedures with assertions whose conditions are constants. Clang leaves no trace of those that are
    true: they are in the text alone."""
    names = {"assert", *(name for name, kind in rules.functions.items() if kind == "assertion")}
    texts, starts = statements.tokens.texts, statements.tokens.starts
    lines = [
        statements.tokens.place(starts[at])[0]
        for at, text in enumerate(texts[:-1])
        if text in names and texts[at + 1] == "(" and "assertion" in rules.functions.values()
    ]
    found = [
        name
        for name, p in program.procedures.items()
        if p.span is not None and any(p.span.line <= line <= p.span.end_line for line in lines)
    ]
    return tuple(dict.fromkeys((*program.decided, *found)))


def _told(compiled: Compiled, sources: Sources, program: Program) -> list[Diagnostic]:
    """What Clang warns of in functions that are part of the program."""
    extents = [p.span for p in program.procedures.values() if p.span is not None]
    found: dict[tuple[str, int, int], Diagnostic] = {}
    for warning in compiled.warnings:
        span = sources.span_at(warning.file, warning.line, warning.column)
        if span is None or not any(e.line <= span.line <= e.end_line for e in extents):
            continue
        message = f"Clang warns: {warning.text}."
        code = f"clang-{warning.name}"
        found.setdefault((code, span.line, span.column), Diagnostic(code, message, Severity.WARNING, span))
    return list(found.values())


def _refuse_folded(compiled: Compiled, probed: ProbedText) -> None:
    """Clang computes constants that overflow without a trace in the IR: an invariant with such a part may
    have no defined value."""
    for warning in compiled.warnings:
        if warning.name != "integer-overflow" or warning.file != compiled.main:
            continue
        if probed.probe(warning.line, warning.column) is not None:
            message = "A constant in an invariant overflows, so that its value may not be defined."
            raise Unsupported(Diagnostic("unsupported-invariant", message))
