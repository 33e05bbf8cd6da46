"""How the program starts, and the way from drafts to the `Program`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import Inconsistent, InputError, Unsupported
from certus.core.program import (
    Alloc,
    Assign,
    Call,
    ErrorSite,
    Havoc,
    Procedure,
    Program,
    SourceText,
    Store,
)
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Kind
from certus.core.walk import variables
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Function, GlobalVariable, Module
from certus.frontend.c.ir.operands import Aggregate, Integer, Local, Symbol
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.library.meanings import Model
from certus.frontend.c.library.table import STREAMS, lookup
from certus.frontend.c.lower.liveness import reads, writes
from certus.frontend.c.model import indirect
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.constants import contents
from certus.frontend.c.model.function import lower_function
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.operands import term_of
from certus.frontend.c.model.terms import Unmodelled, as_sort
from certus.frontend.c.model.tidying import tidied
from certus.frontend.c.model.unit import StaticObject, Unit
from certus.frontend.graph import Draft, Numbering, Settled

START: Final = "$start"
_NUMBERS: Final = re.compile(r"p\d+ (?:omnipotent char|short|int|long|long long)")


@dataclass(frozen=True, slots=True)
class Lowered:
    program: Program
    warnings: tuple[Diagnostic, ...]


def lower_program(unit: Unit, digests: Sequence[str], entry: str = "main") -> Lowered:
    """Lower what `entry` can reach; `digests` are the SHA-256 sums of the files. Raises `InputError`,
    `Unsupported`, `BudgetExceeded`."""
    main = unit.program.functions.get(entry)
    if main is None or not main.defined:
        names = [source.shown for source in unit.sources.files]
        code, hint = "no-main", "Certus verifies whole programs."
        if entry != "main":
            others = ", ".join(name for name, f in unit.program.functions.items() if f.defined)
            code, hint = "no-function", f"Functions: {others}."
        subject = names[0] if len(names) == 1 else f"None of {', '.join(names)}"
        message = f"{subject} defines {'no' if len(names) == 1 else 'a'} function `{entry}`."
        raise InputError([Diagnostic(code, message, span=unit.nowhere, hint=hint)])
    start = Start(unit, main)
    _lower_reachable(unit, start)
    return _Assembly(unit, start).run(digests)


def _lower_reachable(unit: Unit, start: Start) -> None:
    """Lower everything in use. What may be meant by a call through a pointer is part of the program before
    these calls are expanded; nothing may be left over."""
    while True:
        _lower_queue(unit)
        if start.initialise_new():
            continue
        for call in unit.indirect:
            for module, name, _ in list(unit.addresses.values()):
                if indirect.fits(call, module.functions[name].type):
                    _want(unit, module, name)
        if not unit.queue:
            break
    known = len(unit.addresses)
    for call in unit.indirect:
        indirect.expand(call, _meant(unit, call))
        _lower_queue(unit)
    while start.initialise_new():
        _lower_queue(unit)
    if len(unit.addresses) != known:
        what = "A call through a pointer may mean a function that a model of the library names."
        raise Unsupported(Diagnostic("unsupported-call", what, span=unit.nowhere))
    start.finish()


def _lower_queue(unit: Unit) -> None:
    while unit.queue:
        unit.budget.check()
        body = unit.queue.pop(0)
        if unit.is_program(body.module) and body.name.startswith("$"):
            what = f"The function `{body.name}` has a name that begins with `$`, which is not supported."
            raise Unsupported(Diagnostic("unsupported-name", what, span=body.draft.span, hint="Rename it."))
        lower_function(body)


def _want(unit: Unit, module: Module, name: str) -> None:
    """A function may be called through a pointer: it, or the model of it, is part of the program."""
    try:
        if unit.definition(module, name) is not None:
            return
    except Unmodelled:
        return
    known = lookup(name)
    if known is not None and isinstance(known.meaning, Model) and known.meaning.callback is None:
        unit.model(known.meaning.symbol)


def _meant(unit: Unit, call: indirect.IndirectCall) -> list[tuple[Expr, Body | str, bool]]:
    found: list[tuple[Expr, Body | str, bool]] = []
    for module, name, address in unit.addresses.values():
        function = module.functions[name]
        fit = indirect.fits(call, function.type)
        if not fit:
            continue
        try:
            defined = unit.definition(module, name)
        except Unmodelled:
            defined = None
        errors = name in unit.rules.functions
        found.append((address, name if defined is None or errors else defined, fit))
    return found


class Start:
    """The procedure that runs first. Its objects are allocated before any initialiser is evaluated."""

    def __init__(self, unit: Unit, main: Function) -> None:
        self.unit = unit
        self.main = unit.body(unit.program, main)
        self.function = main
        self.body = Body(unit, unit.program, None, START)
        self.body.span = self.body.statement = unit.span_of(unit.program, main)
        self.body.draft.span = self.body.span
        self._allocated = self._filled = self.body.draft.node()  # from here on all objects exist
        self._objects = self._scalars = 0
        self.constructors = self._listed("llvm.global_ctors")
        unit.destructors = self._listed("llvm.global_dtors")[::-1]
        for name in (*self.constructors, *unit.destructors):
            unit.definition(unit.program, name)
        if unit.program.assembly:
            self.body.refuse("unsupported-asm", "assembly outside functions")
        self.initial: dict[Expr, Expr] = {}
        self.needed = False
        self._calls = self.body.at = self.body.draft.node()
        self._call_main()
        self._steps = len(self.body.draft.edges)  # those of the calls

    def _listed(self, name: str) -> list[str]:
        """The functions that a list of constructors has, by priority."""
        variable = self.unit.program.globals.get(name)
        constant = None if variable is None else self.unit.program.initialiser(variable)
        found: list[tuple[int, str]] = []
        for item in constant.parts if isinstance(constant, Aggregate) else ():
            assert isinstance(item, Aggregate)
            priority, function = item.parts[:2]
            if isinstance(priority, Integer) and isinstance(function, Symbol):
                found.append((priority.value, function.name))
        return [function for _, function in sorted(found, key=lambda pair: pair[0])]

    # ------------------------------------------------------------------------------- contents

    def initialise_new(self) -> bool:
        """Initialise what was mentioned since the last time; whether there was anything."""
        found = False
        self.body.at, self.body.number = self._filled, -1
        while self._objects < len(self.unit.objects):
            found = True
            made = self.unit.objects[self._objects]
            self._objects += 1
            self._fill(made)
        scalars = list(self.unit.scalars.items())
        for variable, (module, declared) in scalars[self._scalars :]:
            found = True
            self._scalars += 1
            self._set(variable, module, declared)
        self._filled = self.body.at
        return found

    def _in_module(self, module: Module) -> Body:
        """The start, for the symbols of a module."""
        self.body.module = module
        return self.body

    def _fill(self, made: StaticObject) -> None:
        body = self._in_module(made.module)
        body.text = f"static {made.name}"
        body.span = made.span
        try:
            constant = made.module.initialiser(made.variable)
            if constant is None:
                self._outside(made)
                return
            for offset, _, term in contents(body, constant):
                text = made.name if made.name.startswith('"') else self.unit.constant_text(term)
                body.emit(Store(build.add(made.base, build.integer(offset)), term), text=text or body.text)
        except Unmodelled as error:
            body.refuse(error.code, error.what, error.hint)

    def _outside(self, made: StaticObject) -> None:
        """An object of another file, or of the C library, has any contents."""
        if made.name in STREAMS and made.module.layout.size(made.variable.type) == made.module.layout.word:
            stream = self.unit.stream(made.name)
            self.body.emit(Store(made.base, build.wrap(stream, self.unit.pointer_sort)))
            return
        self._note_foreign(made.module, made.variable)

    def _note_foreign(self, module: Module, variable: GlobalVariable) -> None:
        """A variable from outside may hold pointers to functions; Clang tells its type only by accesses."""
        if _NUMBERS.fullmatch(self.unit.survey.accesses.get(variable.name, "")):
            return
        known = None if variable.debug is None else module.debug.variable(variable.debug)
        self.unit.note_foreign(module, None if known is None else known.type)

    def _set(self, variable: Expr, module: Module, declared: GlobalVariable) -> None:
        body = self._in_module(module)
        body.text, body.span = declared.name, self.body.draft.span
        if declared.debug is not None and self.unit.is_program(module):
            body.span, body.text = self.unit.declaration(module.debug.variable(declared.debug))
        try:
            constant = module.initialiser(declared)
            if constant is None:
                if declared.name in STREAMS and variable.sort is INT:
                    self.initial[variable] = build.integer(0)
                    body.emit(Assign((variable,), (self.unit.stream(declared.name),)))
                elif variable.sort is INT:
                    self._note_foreign(module, declared)
                return
            term = as_sort(term_of(body, constant), variable.sort)
        except Unmodelled as error:
            body.refuse(error.code, error.what, error.hint)
            return
        if term.kind is Kind.CONST:
            self.initial[variable] = term
        else:
            self.initial[variable] = build.constant(0, variable.sort)
            body.emit(Assign((variable,), (term,)))

    # ---------------------------------------------------------------------------------- main

    def finish(self) -> None:
        """Allocate the objects, call `main`. Nothing is needed if `main` can be the start itself."""
        draft, unit = self.body.draft, self.unit
        called = any(
            isinstance(edge.op, Call) and edge.op.procedure == self.main.name
            for each in unit.bodies.values()
            for edge in each.draft.edges
        )
        around = self.constructors or unit.destructors or unit.mentions("atexit") or unit.program.assembly
        filled = len(draft.edges) > self._steps
        if not filled and not unit.objects and not self.main.parameters and not around and not called:
            return
        self.needed = True
        draft.skip(self._filled, self._calls)
        at = draft.node()
        draft.skip(Draft.ENTRY, at)
        for name, base in unit.streams.items():
            after = draft.node()
            op = Alloc(base, build.integer(1), 16, "static", name)
            draft.edge(at, op, after, None, f"static {name}", order=(-3, len(draft.edges)))
            at = after
        for number, made in enumerate(unit.objects):
            after = draft.node()
            variable = made.variable
            zero = variable.initialiser is not None
            op = Alloc(made.base, build.integer(self._size(made)), variable.align, "static", made.name, zero)
            draft.edge(at, op, after, made.span, f"static {made.name}", order=(-2, number))
            at = after
        draft.skip(at, self._allocated)

    def _size(self, made: StaticObject) -> int:
        try:
            return max(made.module.layout.size(made.variable.type), 1)
        except NotUnderstood:
            return 1  # of a type that is only declared: nothing of it can be accessed

    def _call_main(self) -> None:
        body = self.body
        self.unit.call_all(body, self.constructors)
        is_main = self.function.name == "main"
        try:
            passed = self._arguments_of_main() if is_main else self._any_arguments()
        except Unmodelled as error:
            body.refuse(error.code, error.what, error.hint)
            passed = [body.havoc(v.sort) for v in self.main.parameters]
        targets = tuple(body.fresh(v.sort) for v in self.main.results)
        body.emit(Call(self.main.name, tuple(passed), targets), text=f"{self.function.name}()")
        self.unit.run_registered(body)
        self.unit.call_all(body, self.unit.destructors)
        body.draft.skip(body.at, Draft.EXIT)

    def _any_arguments(self) -> list[Expr]:
        """Another function than `main` may be called with anything."""
        self.unit.foreign = True
        if self.main.more is not None or any(p.passing != ir.PLAIN for p in self.function.parameters):
            what = f"`{self.function.name}` as the beginning of a program"
            raise Unmodelled("unsupported-entry", what)
        return [self.body.havoc(v.sort) for v in self.main.parameters]

    def _arguments_of_main(self) -> list[Expr]:
        body, passed = self.body, list[Expr]()
        for number, (parameter, variable) in enumerate(
            zip(self.function.parameters, self.main.parameters, strict=True)
        ):
            if number > 0 and self._is_read(parameter.name):
                if number > 1:
                    what = f"the use of the program's environment through `{parameter.name}`"
                    raise Unmodelled("unsupported-arguments", what)
                body.text = f"{parameter.name}: the arguments of the program"
                made = run_model(body, "__certus_arguments", (passed[0],))
                assert made is not None
                passed.append(made)
                continue
            value = body.fresh(variable.sort)
            body.emit(Havoc((value,)), text=f"{parameter.name} is an argument of the program")
            if number == 0 and isinstance(variable.sort, MachineSort):
                self._limit_arguments(value, variable.sort, parameter.name)
            passed.append(value)
        return passed

    def _limit_arguments(self, value: Expr, sort: MachineSort, name: str) -> None:
        word = self.body.layout.word
        most = min(sort.high, (1 << 8 * word) // word - 2)  # with a null pointer behind them
        natural = build.le(build.constant(0, sort), value)
        listed = build.le(value, build.constant(most, sort))
        self.body.assume(build.and_(natural, listed), f"there can be {name} arguments")

    def _is_read(self, name: str) -> bool:
        flow = self.main.flow
        store = flow.only_use(name)
        if store is None:
            return bool(flow.uses.get(name))
        if not isinstance(store, ir.Store) or not isinstance(store.pointer, Local):
            return True
        return any(
            use is not store and not isinstance(use, ir.Declare) for use in flow.uses[store.pointer.name]
        )


class _Assembly:
    """From drafts to the program."""

    def __init__(self, unit: Unit, start: Start) -> None:
        self.unit = unit
        self.start = start
        self.bodies: dict[str, Body] = {START: start.body, **unit.bodies}
        self.settled: dict[str, Settled] = {}

    def run(self, digests: Sequence[str]) -> Lowered:
        unit = self.unit
        main = START if self.start.needed else self.start.main.name
        used = self._settle(main)
        self._refuse(used)
        numbering = Numbering()
        procedures: dict[str, Procedure] = {}
        errors: list[ErrorSite] = []
        decided: list[str] = []
        for name in self._in_source_order(used):
            body, graph = self.bodies[name], self.settled[name].number(numbering)
            mentioned = self._mentioned(name)
            keep = (*body.parameters, *body.results)
            local = tuple(dict.fromkeys((*keep, *(v for v in body.variables if v in mentioned))))
            procedures[name] = Procedure(
                name,
                tuple(body.parameters),
                body.results,
                local,
                graph.entry,
                graph.exit,
                graph.edges,
                body.draft.span if name != START else None,
            )
            errors += graph.errors
            decided += [name] if graph.decided else []
        initial = {made.base: build.integer(0) for made in unit.objects}
        initial |= unit.library_initial() | self.start.initial
        sizes = () if unit.sizes is None else (unit.sizes,)
        shared = (*unit.scalars, *unit.library_variables(), *(o.base for o in unit.objects), *sizes)
        files = [SourceText(s.shown, s.text, d) for s, d in zip(unit.sources.files, digests, strict=True)]
        program = Program(
            procedures,
            main,
            shared,
            tuple(errors),
            initial,
            unit.source_names,
            files[0].text,
            files[0].file,
            unit.program.layout.pointer_bits,
            unit.scopes,
            unit.named,
            files[0].digest,
            tuple(decided),
            tuple(files[1:]),
        )
        return Lowered(program, tuple(unit.warnings.values()))

    def _settle(self, main: str) -> dict[str, None]:
        """The procedures that control can reach."""
        used, stack = {main: None}, [main]
        while stack:
            name = stack.pop()
            if not self.bodies[name].lowered:
                raise Inconsistent(f"the procedure {name} has not been lowered")
            self.settled[name] = tidied(self.bodies[name])
            for edge in self.settled[name].edges:
                if isinstance(edge.op, Call) and edge.op.procedure not in used:
                    used[edge.op.procedure] = None
                    stack.append(edge.op.procedure)
        return used

    def _refuse(self, used: dict[str, None]) -> None:
        refused = [d for name in used for d in self.settled[name].refused]
        if refused:
            raise Unsupported(min(refused, key=lambda d: (_position(d.span), d.code)))

    def _in_source_order(self, used: dict[str, None]) -> list[str]:
        def key(name: str) -> tuple[int, tuple[str, int, int], str]:
            span = self.bodies[name].draft.span
            if name == START:
                return 0, ("", 0, 0), name
            return (2, ("", 0, 0), name) if span is None else (1, _position(span), name)

        return sorted(used, key=key)

    def _mentioned(self, name: str) -> set[Expr]:
        found: set[Expr] = set()
        terms: dict[Expr, None] = {}
        for edge in self.settled[name].edges:
            found.update(writes(edge.op))
            terms.update(dict.fromkeys(reads(edge.op)))
        found.update(variables(*terms))
        return found


def _position(span: Span | None) -> tuple[str, int, int]:
    return (span.file, span.line, span.column) if span is not None else ("", 0, 0)
