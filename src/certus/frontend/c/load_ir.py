"""From C files through LLVM IR to the `Program` that the rest of Certus works on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import CertusError, InputError, Unsupported
from certus.frontend.c.compile import Compiled, compile_file
from certus.frontend.c.ir.link import Clash, Mention, link
from certus.frontend.c.ir.module import Alias, Module
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.library.models import LibraryModels
from certus.frontend.c.load import collection_paused, error_rules
from certus.frontend.c.model.program import lower_program
from certus.frontend.c.model.sources import SourceFile, Sources
from certus.frontend.c.model.unit import Rules, Unit, refused
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
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    budget = budget or Budget()
    found = error_rules(property_of(property) if isinstance(property, str) else property)
    rules = Rules(found.kind, found.functions)
    files = []
    for each in paths:
        compiled = compile_file(
            each, property=rules.kind, model=model.name, arguments=arguments, budget=budget
        )
        source = SourceFile(compiled.main, str(each), read_source(each).text, blanked=compiled.blanked)
        files.append(_File(each, hashlib.sha256(each.read_bytes()).hexdigest(), source, compiled))
    with collection_paused():
        return _lowered(files, rules, model, budget, entry)


def _lowered(
    files: Sequence[_File], rules: Rules, model: DataModel, budget: Budget, entry: str
) -> LoadedProgram:
    sources: Sources | None = None
    try:
        module, bases = _linked(files, rules.functions)
        sources = Sources(module.debug, [each.source for each in files], bases)
        models = LibraryModels(module.types, model=model.name, property=rules.kind)
        unit = Unit(module, sources, models, rules, budget, entry)
        lowered = lower_program(unit, [each.digest for each in files], entry)
    except NotUnderstood as error:
        raise Unsupported(refused(error, sources, str(files[0].path))) from error
    return LoadedProgram(lowered.program, lowered.warnings)


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
