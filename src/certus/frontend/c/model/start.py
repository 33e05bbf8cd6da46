"""How the program starts: static objects, constructors, the call of `main`, destructors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Alloc, Assign, Assume, BasicOp, Call, Havoc, Store
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.core.vocabulary import ARGUMENT, LEAK, NOT_FREED, WRITE
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Aggregate, Integer, Local, Symbol
from certus.frontend.c.ir.module import Function, GlobalVariable, Module
from certus.frontend.c.ir.types import holds_pointers
from certus.frontend.c.library.models import STREAMS, VARIABLES
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.checks import check_heap
from certus.frontend.c.model.initialisers import contents
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.operands import term_of
from certus.frontend.c.model.symbols import StaticObject
from certus.frontend.c.model.terms import Unmodelled, as_sort
from certus.frontend.c.model.unit import Unit
from certus.frontend.graph import Draft

START: Final = "$start"
# Variables in these sections are lists of functions that run before and after `main`; so does the code in
# `.init` and `.fini`.
_RUN_SECTIONS: Final = (".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors")
_FROM_OUTSIDE: Final = (
    "`{}` is not defined: its value is nondeterministic, and pointers in it are assumed to lead to no object "
    "and no function of the program."
)
_DEFINE: Final = "Name the file that defines it, too, or define it in the program."
_NUMBERS: Final = re.compile(r"p\d+ (?:omnipotent char|short|int|long|long long)")


class Start:
    """The procedure that runs first. It allocates all static objects before it evaluates any initialiser."""

    def __init__(self, unit: Unit, main: Function) -> None:
        self.unit = unit
        self.main = unit.body(unit.program, main)
        self.function = main
        self.body = Body(unit, unit.program, None, START)
        span = self.body.draft.span = unit.span_of(unit.program, main)
        self.body.cursor.span = self.body.cursor.statement = span
        self._allocated = self._filled = self.body.draft.node()  # from here on all objects exist
        self._objects = self._scalars = 0
        self.constructors = self._listed("llvm.global_ctors")
        unit.destructors = self._listed("llvm.global_dtors")[::-1]
        for name in (*self.constructors, *unit.destructors):
            unit.definition(unit.program, name)
        if unit.program.assembly:
            self.body.refuse("unsupported-asm", "assembly outside functions")
        for symbol in (*unit.program.globals.values(), *unit.program.functions.values()):
            if symbol.section.startswith(_RUN_SECTIONS) or symbol.section in (".init", ".fini"):
                what = f"the section `{symbol.section}` of `{symbol.name}`"
                self.body.refuse("unsupported-attribute", what)
        self.initial: dict[Expr, Expr] = {}
        self.needed = False
        self._calls = self.body.at = self.body.draft.node()
        self._call_main()
        self._steps = len(self.body.draft.edges)  # those of the calls

    def _listed(self, name: str) -> list[str]:
        """Return the functions in a list of constructors, by priority."""
        variable = self.unit.program.globals.get(name)
        constant = None if variable is None else self.unit.program.initialiser(variable)
        listed: list[tuple[int, str]] = []
        for item in constant.parts if isinstance(constant, Aggregate) else ():
            match item:
                case Aggregate(parts=[Integer() as priority, Symbol() as function, *_]):
                    listed.append((priority.value, function.name))
        return [name for _, name in sorted(listed, key=lambda pair: pair[0])]

    # ------------------------------------------------------------------------------- contents

    def initialise_new(self) -> bool:
        """Initialise what was mentioned since the last call; return whether there was anything."""
        before = self._objects, self._scalars
        self.body.at, self.body.cursor.number = self._filled, -1
        while new := list(self.unit.symbols.objects.values())[self._objects :]:
            self._objects += len(new)
            for static in new:
                self._fill(static)
        for variable, (module, declared) in list(self.unit.symbols.scalars.items())[self._scalars :]:
            self._scalars += 1
            self._set(variable, module, declared)
        self._filled = self.body.at
        return before != (self._objects, self._scalars)

    def _fill(self, static: StaticObject) -> None:
        body = self.body
        body.module, body.cursor.text, body.cursor.span = static.module, f"static {static.name}", static.span
        try:
            constant = static.module.initialiser(static.variable)
            if constant is None:
                self._outside(static)
                return
            for offset, _, term in contents(body, constant):
                text = static.name if static.name.startswith('"') else self.unit.symbols.constant_text(term)
                body.emit(Store(build.add(static.base, build.integer(offset)), term), text=text or None)
        except Unmodelled as error:
            body.refuse(error.code, error.what, error.hint)

    def _outside(self, static: StaticObject) -> None:
        """Handle an object of another file, or of the C library: it has any contents."""
        layout = static.module.layout
        self._expect_one_name(static.name)
        if static.name in STREAMS and layout.size(static.variable.type) == layout.word:
            stream = self.unit.library.stream(static.name)
            self.body.emit(Store(static.base, build.wrap(stream, self.unit.pointer_sort)))
        else:
            self._note_foreign(static.module, static.variable)

    def _expect_one_name(self, name: str) -> None:
        """Refuse a variable of the library that the program also uses by its other name."""
        other = name.removeprefix("__") if name.startswith("__") else f"__{name}"
        if {name, other} <= VARIABLES and self.unit.symbols.mentions(other):
            what = f"the variable `{name}` of the C library, which is also used as `{other}`,"
            raise Unmodelled("unsupported-extern", what)

    def _note_foreign(self, module: Module, variable: GlobalVariable) -> None:
        """Note that a variable from outside may hold pointers, also to functions. Clang shows its type only
        in accesses."""
        if variable.name not in VARIABLES and self.unit.is_program(module) and holds_pointers(variable.type):
            span, message = self.body.cursor.span, _FROM_OUTSIDE.format(variable.name)
            self.unit.warn(f"variable {variable.name}", "undefined-variable", message, span, _DEFINE)
        if _NUMBERS.fullmatch(self.unit.symbols.usage.accesses.get(variable.name, "")):
            return
        type_ = None if variable.debug is None else module.debug.variable(variable.debug).type
        self.unit.environment.pass_pointer(module, type_)

    def _set(self, variable: Expr, module: Module, declared: GlobalVariable) -> None:
        body = self.body
        place = body.draft.span, declared.name
        if declared.debug is not None and self.unit.is_program(module):
            place = self.unit.sources.declaration(module.debug.variable(declared.debug))
        body.module = module
        body.cursor.describe(place)
        try:
            constant = module.initialiser(declared)
            if constant is None:
                if declared.name in STREAMS and variable.sort is INT:
                    self.initial[variable] = build.integer(0)
                    body.emit(Assign((variable,), (self.unit.library.stream(declared.name),)))
                elif variable.sort is INT:
                    self._note_foreign(module, declared)
                if declared.name in VARIABLES:
                    self._expect_one_name(declared.name)
                    body.set_freely(variable, approximates=f"the value of `{declared.name}`")
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
        """Allocate the objects and call `main`. The procedure is not needed if `main` itself can be the
        start."""
        draft, unit = self.body.draft, self.unit
        called = any(
            isinstance(edge.op, Call) and edge.op.procedure == self.main.name
            for each in unit.bodies.values()
            for edge in each.draft.edges
        )
        around = self.constructors or unit.destructors or unit.symbols.mentions("atexit") or draft.refusals
        filled = len(draft.edges) > self._steps or unit.symbols.objects
        checked = unit.environment.allocates and not unit.rules.memory.isdisjoint((LEAK, NOT_FREED))
        if not (checked or filled or self.main.signature.parameters or around or called):
            return
        self.needed = True
        draft.skip(self._filled, self._calls)
        at = draft.node()
        draft.skip(Draft.ENTRY, at)
        for number, (op, name, span) in enumerate(self._allocations()):
            after = draft.node()
            draft.edge(at, op, after, span, f"static {name}", order=(-2, number))
            at = after
        draft.skip(at, self._allocated)

    def _allocations(self) -> Iterator[tuple[BasicOp, str, Span | None]]:
        """Yield the steps that create all static objects, with their names. An object of another file whose
        size is not declared has any size, on which no counterexample may depend."""
        for name, base in self.unit.library.streams.items():
            yield Alloc(base, build.integer(1), 16, "static", name), name, None
        for static in self.unit.symbols.objects.values():
            name, variable, span = static.name, static.variable, static.span
            zero = variable.initialiser is not None
            size = build.integer(static.extent)
            if not zero and static.is_open:
                size, least = self.body.fresh(INT), build.integer(max(static.extent, 1))
                yield Havoc((size,), approximates=f"the size of `{name}`"), name, span
                yield Assume(build.and_(build.le(least, size), self.body.are_addresses((size,)))), name, span
            constant = variable.constant and WRITE in self.unit.rules.memory
            yield Alloc(static.base, size, variable.align, "static", name, zero, constant), name, span

    def _call_main(self) -> None:
        body = self.body
        self.unit.call_all(body, self.constructors)
        try:
            passed = self._arguments_of_main() if self.function.name == "main" else self._any_arguments()
        except Unmodelled as error:
            body.refuse(error.code, error.what, error.hint)
            passed = [body.havoc(v.sort) for v in self.main.signature.parameters]
        targets = tuple(body.fresh(v.sort) for v in self.main.signature.results)
        body.emit(Call(self.main.name, tuple(passed), targets), text=f"{self.function.name}()")
        self.unit.end_program(body)
        if (span := body.draft.span) is not None:
            presumed = None if span.presumed_line is None else span.presumed_line + span.end_line - span.line
            last = max(span.end_column - 1, 1)
            body.cursor.span = replace(span, line=span.end_line, column=last, presumed_line=presumed)
        body.cursor.text = "the end of the program"
        check_heap(body)
        body.draft.skip(body.at, Draft.EXIT)

    def _any_arguments(self) -> list[Expr]:
        """Return any arguments: a function other than `main` may be called with any."""
        self.unit.environment.foreign = True
        passed = [p.passing for p in self.function.parameters]
        copied = any(p.byval is not None or p.sret is not None for p in passed)
        if copied or self.function.type.variadic:
            raise Unmodelled("unsupported-entry", f"`{self.function.name}` as the entry point")
        return [self.body.havoc(v.sort) for v in self.main.signature.parameters]

    def _arguments_of_main(self) -> list[Expr]:
        body, passed = self.body, list[Expr]()
        for parameter, variable in zip(self.function.parameters, self.main.signature.parameters, strict=True):
            if passed and self._is_read(parameter.name):
                if len(passed) > 1:
                    what = f"the use of the program's environment through `{parameter.name}`"
                    raise Unmodelled("unsupported-arguments", what)
                body.cursor.text = f"{parameter.name}: the arguments of the program"
                arguments = run_model(body, "__certus_arguments", (passed[0],))
                assert arguments is not None
                passed.append(arguments)
                continue
            value, sort = body.fresh(variable.sort), variable.sort
            body.emit(Havoc((value,)), text=f"{parameter.name} {ARGUMENT}")
            if not passed and isinstance(sort, MachineSort):
                word = body.layout.word
                most = min(sort.high, (1 << 8 * word) // word - 2)  # with a null pointer behind them
                natural = build.le(build.constant(0, sort), value)
                listed = build.le(value, build.constant(most, sort))
                body.assume(build.and_(natural, listed), f"there can be {parameter.name} arguments")
            passed.append(value)
        return passed

    def _is_read(self, name: str) -> bool:
        """Return whether `main` does more with a parameter than storing it to a variable that it never
        reads."""
        flow = self.main.flow
        store = flow.only_use(name)
        if store is None:
            return bool(flow.uses.get(name))
        if not isinstance(store, ir.Store) or not isinstance(store.pointer, Local):
            return True
        return any(
            use is not store and not isinstance(use, ir.Declare) for use in flow.uses[store.pointer.name]
        )
