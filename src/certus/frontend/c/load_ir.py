"""From C files through LLVM IR to the `Program` that the rest of Certus works on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.errors import CertusError, InputError, Unsupported
from certus.core.program import Program
from certus.core.witness import probe_number
from certus.frontend.c.compile import Compiled, compile_text
from certus.frontend.c.ir.link import Clash, Mention, link
from certus.frontend.c.ir.module import Alias, Module
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.library.models import LibraryModels
from certus.frontend.c.load import blame, collection_paused, error_rules
from certus.frontend.c.model.order import order_warning
from certus.frontend.c.model.probing import Impure
from certus.frontend.c.model.program import lower_program
from certus.frontend.c.model.sources import SourceFile, Sources
from certus.frontend.c.model.unit import Rules, Unit, refused
from certus.frontend.c.source.probes import Probe, ProbedText, refuse
from certus.frontend.c.source.statements import Statements
from certus.frontend.c.types import LP64, DataModel
from certus.frontend.loaded import LoadedProgram
from certus.frontend.properties import UNREACH_CALL, Property, property_of
from certus.frontend.source import read_source


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the program: as it was read, and as it was compiled."""

    path: Path
    digest: str
    source: SourceFile
    compiled: Compiled


def load_ir(
    path: str | Path | Sequence[str | Path],
    *,
    property: str | Property = UNREACH_CALL,
    model: DataModel = LP64,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str = "main",
) -> LoadedProgram:
    """Return the program of a C file, or of several; `arguments` are for Clang. It begins with the function
    `entry`.

    Raises `InputError` for what Clang or a linker refuses and for an unknown property, `Unsupported` for what
    Certus does not model, and `BudgetExceeded`."""
    paths = (path,) if isinstance(path, str | Path) else path
    found = error_rules(property_of(property) if isinstance(property, str) else property)
    loading = _Loading(
        tuple(Path(each) for each in paths),
        Rules(found.kind, found.functions),
        model,
        tuple(arguments),
        budget or Budget(),
        entry,
    )
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
    loading = _Loading((path,), Rules(found.kind, found.functions), model, tuple(arguments), budget, "main")
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
    """What is asked about a program."""

    paths: tuple[Path, ...]
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
        """Compile the files, link and lower them. Only a program in one file can have probes."""
        rules = self.rules
        files = [self._compiled(path, probed) for path in self.paths]
        sources: Sources | None = None
        try:
            module, bases = _linked(files, rules.functions)
            sources = Sources(module.debug, [each.source for each in files], bases)
            models = LibraryModels(module.types, model=self.model.name, property=rules.kind)
            unit = Unit(
                module, sources, models, rules, self.budget, self.entry, watched, invariants=invariants
            )
            lowered = lower_program(unit, [each.digest for each in files], self.entry)
        except NotUnderstood as error:
            raise Unsupported(refused(error, sources, str(self.paths[0]))) from error
        if invariants and probed is not None:
            _refuse_folded(files[0].compiled, probed)
        program = lowered.program
        told = [warning for each in files for warning in _told(each, program)]
        order = order_warning(program, {each.source.shown: each.source.statements for each in files})
        told += [] if order is None else [order]
        decided = [name for each in files for name in self._decided(program, each.source)]
        program = replace(program, decided=tuple(dict.fromkeys((*program.decided, *decided))))
        return LoadedProgram(program, (*told, *lowered.warnings))

    def _compiled(self, path: Path, probed: ProbedText | None) -> _File:
        data, text = path.read_bytes(), read_source(path).text
        compiled = compile_text(
            path,
            data if probed is None else probed.data,
            property=self.rules.kind,
            model=self.model.name,
            arguments=self.arguments,
            budget=self.budget,
        )
        source = SourceFile(compiled.main, str(path), text, blanked=compiled.blanked, probed=probed)
        return _File(path, hashlib.sha256(data).hexdigest(), source, compiled)

    def _decided(self, program: Program, source: SourceFile) -> list[str]:
        """The procedures with assertions whose conditions are constants. Clang leaves no trace of those that
        are true: they are in the text alone."""
        functions = self.rules.functions
        if "assertion" not in functions.values():
            return []
        if any("NDEBUG" in each for each in (source.text, *self.arguments)):
            return []
        names = {"assert", *(name for name, kind in functions.items() if kind == "assertion")}
        tokens = source.statements.tokens
        lines = [
            tokens.place(tokens.starts[at])[0]
            for at, text in enumerate(tokens.texts[:-1])
            if text in names and tokens.texts[at + 1] == "("
        ]
        return [
            name
            for name, p in program.procedures.items()
            if p.span is not None
            and p.span.file == source.shown
            and any(p.span.line <= line <= p.span.end_line for line in lines)
        ]


def _linked(files: Sequence[_File], kept: Iterable[str]) -> tuple[Module, Sequence[int]]:
    """Return the module of the whole program, and where the metadata of each file starts."""
    if len(files) == 1:
        return Module(files[0].compiled.text), (0,)
    modules = []
    for each in files:
        try:
            modules.append(Module(each.compiled.text))
        except NotUnderstood as error:
            raise Unsupported(refused(error, None, str(each.path))) from error
    try:
        linked = link([each.compiled.text for each in files], modules, kept)
    except Clash as clash:
        raise _refusal(clash, files, modules) from clash
    return Module(linked.text), linked.bases


def _told(file: _File, program: Program) -> list[Diagnostic]:
    """What Clang warns of in functions of a file that are part of the program."""
    shown = file.source.shown
    extents = [p.span for p in program.procedures.values() if p.span is not None and p.span.file == shown]
    found: dict[tuple[str, int, int], Diagnostic] = {}
    for warning in file.compiled.warnings:
        span = file.source.span_at(warning.file, warning.line, warning.column)
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


# ------------------------------------------------------------------------ what does not fit together


def _refusal(clash: Clash, files: Sequence[_File], modules: Sequence[Module]) -> CertusError:
    first, second = (
        _span(each, clash.name, files[each.unit], modules[each.unit]) for each in (clash.first, clash.second)
    )
    if clash.code == "defined-twice":
        hint = "Make one of them `static`, or declare it `extern` in all files but one."
        return InputError(
            [
                Diagnostic(clash.code, f"`{clash.name}` is defined here and at {b}.", span=a, hint=hint)
                for a, b in ((first, second), (second, first))
            ]
        )
    if clash.code == "inline-otherwise":
        message = (
            f"`{clash.name}` is an inline function here and defined otherwise at {first}: C does not say "
            "which of them a call calls."
        )
        hint = "Define it in a header that both files include."
    else:
        message = (
            f"`{clash.name}` has another type here than at {first}: in C, the behaviour of such a program "
            "is undefined."
        )
        hint = "Declare it in a header that both files include."
    return Unsupported(Diagnostic(clash.code, message, span=second, hint=hint))


def _span(mention: Mention, name: str, file: _File, module: Module) -> Span:
    """Return where a file declares or defines a name. Of variables that are only declared, and of aliases,
    no debug information tells: then it is the first line with the name."""
    symbol, sources = mention.symbol, Sources(module.debug, [file.source])
    if not isinstance(symbol, Alias) and symbol.debug is not None:
        node = module.debug.node(symbol.debug)
        if node.kind == "DIGlobalVariableExpression":
            variable = module.debug.variable(symbol.debug)
            return _of_name(name, sources.line_span(variable.file, variable.line, None), file)
        return _of_name(
            name, sources.line_span(module.debug.file(symbol.debug), node.number("line"), None), file
        )
    match = re.search(rf"\b{re.escape(name)}\b", file.source.text)
    line = 1 if match is None else file.source.text.count("\n", 0, match.start()) + 1
    return _of_name(name, file.source.presuming(Span(file.source.shown, line, 1, line, 2)), file)


def _of_name(name: str, line: Span, file: _File) -> Span:
    """Return the stretch of a name in a line of the file."""
    column = file.source.column_of(name, line.line) if line.file == file.source.shown else None
    if column is None:
        return line
    end = column + len(name)
    return Span(line.file, line.line, column, line.line, end, line.presumed_file, line.presumed_line)
