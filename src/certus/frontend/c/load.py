"""Load C files: through LLVM IR to the `Program` that the rest of Certus works on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import CertusError, InputError, Unsupported
from certus.core.program import Program
from certus.core.vocabulary import ASSERT, UNREACH_CALL, Property, check_supported, has_meaning, kinds_of
from certus.core.witness import probe_number
from certus.frontend.c.compile import Compiled, LibraryModels, compile_file
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.types import IntegerType, NotUnderstood
from certus.frontend.c.model.evaluation_order import order_warning
from certus.frontend.c.model.library import further_flags
from certus.frontend.c.model.probes import Impure
from certus.frontend.c.model.program import lower_program
from certus.frontend.c.model.sources import SourceFile, Sources
from certus.frontend.c.model.symbols import Names, Symbols
from certus.frontend.c.model.unit import Rules, Unit, refused
from certus.frontend.c.source.statements import Statements
from certus.frontend.graph import LoadedProgram, collection_paused
from certus.frontend.source import read_source
from certus.frontend.tasks.properties import property_of

if TYPE_CHECKING:
    from certus.frontend.c.ir.link import Clash
    from certus.frontend.c.source.probes import Probe, ProbedText

MAIN: Final = "main"
_NONE: Final = re.compile(r"NDEBUG|#\s*define\s+assert\b")  # then `assert` may check nothing
_ERRORS: Final = {
    **dict.fromkeys(("reach_error", "__VERIFIER_error"), "reach-error"),
    **dict.fromkeys(("__assert_fail", "__assert_rtn", "__assert", "__assert_func", "__assert2"), "assertion"),
}
_UNCHECKED: Final = {
    False: ("unsupported-constant", "This constant may be an error, but Clang computes it without a check."),
    True: ("unsupported-attribute", "This attribute switches checks off."),
}


def load_c(
    path: str | Path | Sequence[str | Path],
    *,
    property: str | Property = UNREACH_CALL,
    model: str = "LP64",
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str = MAIN,
    malloc_may_fail: bool = False,
) -> LoadedProgram:
    """Return the program of a C file, or of several, that begins with the function `entry`. `model` is the
    name of a data model; `arguments` are passed to Clang. `malloc_may_fail`: whether allocations may fail.

    Raises `InputError` for what Clang or a linker refuses and for an unknown property, `Unsupported` for what
    Certus does not model, and `BudgetExceeded`.
    """
    paths = tuple(map(Path, (path,) if isinstance(path, str | Path) else path))
    rules = error_rules(property_of(property) if isinstance(property, str) else property)
    rules = replace(rules, malloc_may_fail=malloc_may_fail)
    with collection_paused():
        return _Loading(paths, rules, model, tuple(arguments), budget or Budget(), entry).run()


def load_probed(
    path: Path,
    probes: Sequence[Probe],
    watched: frozenset[tuple[int, int | None]] = frozenset(),
    *,
    property: Property,
    model: str,
    arguments: Sequence[str] = (),
    budget: Budget,
    invariants: bool = False,
) -> tuple[LoadedProgram, Program]:
    """Return the program of a C file, and the same program with probes, and with branches where `watched`
    has the `?` of a `?:`. With `invariants`, probes claim that their evaluation is defined. Raises
    `InputError`, at the place of the probe, for a probe that has no place or is not an expression;
    otherwise as `load_c`."""
    from certus.frontend.c.source.probes import ProbedText, refuse

    loading = _Loading((path,), error_rules(property), model, tuple(arguments), budget, MAIN)

    def with_probes(some: Sequence[Probe]) -> Program:
        text = ProbedText(Statements(str(path), read_source(path).text), path.read_bytes(), some)
        return loading.run(watched, text, invariants=invariants).program

    with collection_paused():
        original = loading.run()
        if not probes:
            return original, loading.run(watched).program if watched else original.program
        try:
            program = with_probes(probes)
        except Impure as error:
            refuse(next(p for p in probes if p.number == error.number), str(error))
        except InputError as error:
            _blame(probes, with_probes, error)
        reached = {probe_number(site.kind) for site in program.errors}
        for probe in probes:
            if probe.number not in reached:
                message = f"Line {probe.place.line} is in no function that `main` can call."
                raise Unsupported(Diagnostic("unreachable-place", message, span=probe.span))
        return original, program


def error_rules(wanted: Property) -> Rules:
    """Return the errors of a property."""
    check_supported(wanted)
    functions = _ERRORS if (name := wanted.function) is None else {name: _ERRORS.get(name, "reach-error")}
    asserted = wanted.name == UNREACH_CALL or ASSERT in wanted.kinds
    return Rules(wanted.name, functions if asserted else {}, kinds_of(wanted.name))


def _blame(
    probes: Sequence[Probe], with_probes: Callable[[Sequence[Probe]], Program], error: InputError
) -> NoReturn:
    """Raise an error for the probe that Clang refuses."""
    from certus.frontend.c.source.probes import refuse

    if all(d.code == "clang-error" for d in error.diagnostics):
        for probe in probes:
            try:
                with_probes([probe])
            except InputError as own:
                refuse(probe, f"Clang refuses this expression there: {own.diagnostics[0].message}.")
    raise error


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the program: its source and its compiled form."""

    digest: str
    source: SourceFile
    compiled: Compiled
    module: Module


@dataclass(frozen=True, slots=True)
class _Loading:
    """A request for a program."""

    paths: tuple[Path, ...]
    rules: Rules
    model: str
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
        files = [self._compiled(path, probed) for path in self.paths]
        functions = {n: kind for n, kind in self.rules.functions.items() if not _is_own(n, kind, files)}
        if len(functions) < len(self.rules.functions) > 1:  # the property does not name the function
            loading = replace(self, rules=replace(self.rules, functions=functions))
            return loading.run(watched, probed, invariants=invariants)
        sources: Sources | None = None
        try:
            module, bases = self._linked(files)
            flags = [flag for flag in further_flags(module) if flag not in self.arguments]
            if flags:
                loading = replace(self, arguments=(*self.arguments, *flags))
                return loading.run(watched, probed, invariants=invariants)
            sources = Sources(module.debug, [each.source for each in files], bases)
            models = LibraryModels(module.types, model=self.model, property=self.rules.kind)
            rules = replace(self.rules, watched=watched, invariants=invariants)
            unit = Unit(Symbols(Names(module, sources), models, self.entry), rules, self.budget)
            program = lower_program(unit, [each.digest for each in files], self.entry)
        except NotUnderstood as error:
            raise Unsupported(refused(error, sources, str(self.paths[0]))) from error
        if invariants and probed is not None:
            _refuse_folded(files[0].compiled, probed)
        warnings = [warning for each in files for warning in _warnings(each, program)]
        order = order_warning(unit)
        warnings += [] if order is None else [order]
        decided = [name for each in files for name in self._decided(program, each.source)]
        program = replace(program, decided=tuple(dict.fromkeys((*program.decided, *decided))))
        warnings += unit.warnings.values()
        unit.dissolve()
        return LoadedProgram(program, tuple(warnings))

    def _compiled(self, path: Path, probed: ProbedText | None) -> _File:
        original = path.read_bytes()
        data = original if probed is None else probed.data
        flags = (*self.arguments, *(("-femit-all-decls",) if self.entry != MAIN else ()))  # also static ones
        names = [name for name, kind in self.rules.functions.items() if kind != "assertion"]
        names.append(self.entry)
        compiled = compile_file(path, self.rules.kind, self.model, flags, self.budget, data=data, names=names)
        for name, label in compiled.renamed:
            if name != label and any(each in names or has_meaning(each) for each in (name, label)):
                other = f"`{label}` for the linker" if label else "another function"
                message = f"The function `{name}` is {other}, so it is open which one a property means."
                raise Unsupported(Diagnostic("unsupported-name", message, hint="Remove the other name."))
        text = read_source(path).text
        source = SourceFile(compiled.main, str(path), text, blanked=compiled.blanked, probed=probed)
        if (place := compiled.unchecked) is not None:
            code, message = _UNCHECKED[place.is_attribute]
            span = source.span_at(place.file, place.line, place.column)
            raise Unsupported(Diagnostic(code, message, span=span))
        try:
            module = Module(compiled.text)
        except NotUnderstood as error:
            raise Unsupported(refused(error, None, str(path))) from error
        return _File(hashlib.sha256(original).hexdigest(), source, compiled, module)

    def _linked(self, files: Sequence[_File]) -> tuple[Module, Sequence[int]]:
        """Return the module of the whole program, and the numbers at which the metadata of each file
        starts."""
        if len(files) == 1:
            return files[0].module, (0,)
        from certus.frontend.c.ir.link import Clash, link

        texts, modules = [each.compiled.text for each in files], [each.module for each in files]
        try:
            linked = link(texts, modules, self.rules.functions)
        except Clash as clash:
            raise _refusal(clash, files) from clash
        return Module(linked.text), linked.bases

    def _decided(self, program: Program, source: SourceFile) -> list[str]:
        """Return the procedures with assertions whose conditions are constant. Clang leaves no trace of those
        that are true: only the text has them."""
        names = {name for name, kind in self.rules.functions.items() if kind == "assertion"}
        if not names or any(_NONE.search(each) for each in (source.text, *self.arguments)):
            return []
        tokens = source.tokens
        names.add("assert")
        words = zip(tokens.texts, tokens.texts[1:], tokens.starts, strict=False)
        starts = [start for text, following, start in words if text in names and following == "("]
        lines = [tokens.place(start)[0] for start in starts]
        extents = _extents(program, source)
        return [name for name, extent in extents.items() if any(line in extent for line in lines)]


def _extents(program: Program, source: SourceFile) -> dict[str, range]:
    """Return the lines of each procedure in a file."""
    spans = {name: p.span for name, p in program.procedures.items() if p.span is not None}
    return {name: range(s.line, s.end_line + 1) for name, s in spans.items() if s.file == source.shown}


def _is_own(name: str, kind: str, files: Sequence[_File]) -> bool:
    """Return whether the program defines an assertion that gets a number, as in `__assert(x > 0)`: unlike
    that of the library, it does not fail whenever it is called."""
    functions = [each.module.functions.get(name) for each in files]
    firsts = [f.type.parameters[:1] for f in functions if f is not None and f.defined]
    return kind == "assertion" and any(isinstance(type_, IntegerType) for first in firsts for type_ in first)


def _warnings(file: _File, program: Program) -> list[Diagnostic]:
    """Return Clang's warnings about the functions of a file that are part of the program."""
    extents = _extents(program, file.source).values()
    warnings: dict[tuple[str, int, int], Diagnostic] = {}
    for warning in file.compiled.warnings:
        span = file.source.span_at(warning.file, warning.line, warning.column)
        if span is not None and any(span.line in extent for extent in extents):
            code, message = f"clang-{warning.name}", f"Clang warns: {warning.text}."
            diagnostic = Diagnostic(code, message, Severity.WARNING, span)
            warnings.setdefault((code, span.line, span.column), diagnostic)
    return list(warnings.values())


def _refuse_folded(compiled: Compiled, probed: ProbedText) -> None:
    """Refuse invariants with constants that overflow: Clang computes these without a trace in the IR, so the
    value of such an invariant may be undefined."""
    for warning in compiled.warnings:
        inside = warning.file == compiled.main and probed.probe(warning.line, warning.column) is not None
        if inside and warning.name == "integer-overflow":
            message = "A constant in an invariant overflows, so its value may be undefined."
            raise Unsupported(Diagnostic("unsupported-invariant", message))


_CLASHES: Final = {
    "defined-twice": (
        "is defined here and at {}.",
        "Make one of them `static`, or declare it `extern` in all files but one.",
    ),
    "inline-otherwise": (
        "is an inline function here and has another definition at {}: C leaves open which one is called.",
        "Define it in a header that both files include.",
    ),
    "declared-otherwise": (
        "has another type here than at {}: in C, the behaviour of such a program is undefined.",
        "Declare it in a header that both files include.",
    ),
}


def _refusal(clash: Clash, files: Sequence[_File]) -> CertusError:
    """Return the error for files that cannot be linked."""
    message, hint = _CLASHES[clash.code]
    first, second = (
        Sources(files[each.unit].module.debug, [files[each.unit].source]).symbol_span(clash.name, each.symbol)
        for each in (clash.first, clash.second)
    )
    here, there = (
        Diagnostic(clash.code, f"`{clash.name}` {message.format(other)}", span=span, hint=hint)
        for span, other in ((first, second), (second, first))
    )
    return InputError([here, there]) if clash.code == "defined-twice" else Unsupported(there)
