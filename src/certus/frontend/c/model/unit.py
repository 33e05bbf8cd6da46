"""The state that all functions of a program share: its modules, symbols, static objects and names.

Functions and objects become part of the program when lowered code mentions them. What `main` cannot reach
costs nothing and is never refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build, float_terms
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.program import Call
from certus.core.terms import INT, Expr, MachineSort, Sort, array, machine
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.ir.types import NotUnderstood
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.c_types import leads_to_functions
from certus.frontend.c.model.floats import VisibleNans
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.sources import Sources
from certus.frontend.c.model.symbols import Symbols

if TYPE_CHECKING:
    from certus.frontend.c.model.calls import IndirectCall


@dataclass(frozen=True, slots=True)
class Rules:
    """The errors of a property: calls of `functions` (by name, with the kind of error) and checks of the
    property `kind`, which may also be a list of kinds of checks (`core.vocabulary`); `memory` are the kinds
    of memory errors among them. `watched` are the places of `?` that must become branches; with `invariants`,
    probes claim that their evaluation is defined; with `malloc_may_fail`, the environment decides whether an
    allocation succeeds."""

    kind: str
    functions: Mapping[str, str]
    memory: frozenset[str] = frozenset()
    watched: frozenset[tuple[int, int | None]] = frozenset()
    invariants: bool = False
    malloc_may_fail: bool = False


@dataclass(slots=True)
class Environment:
    """What functions outside the program may do. `strangers`: the program may call functions that have no
    body and no meaning; `allocates`: there may be objects on the heap; `foreign`: pointers from outside may
    lead to functions."""

    strangers: bool = True
    allocates: bool = True
    foreign: bool = False

    def pass_pointer(self, module: Module, type_: int | None) -> None:
        """Note that a pointer of a C type comes from outside: it may lead to functions that are not in the
        program. A `void *` may point to anything."""
        self.foreign = self.foreign or leads_to_functions(module.debug, type_)


class LibraryState:
    """The internal state of the C library. `streams` are the addresses of the objects that `stdin`, `stdout`
    and `stderr` point to; `sizes` holds the sizes of objects on the heap, for `realloc`, unless the program
    can ask how large they are."""

    def __init__(self, symbols: Symbols, *, sizes: bool) -> None:
        self._names, self._shared = symbols.names, symbols.shared
        self._variables: dict[str, Expr] = {}
        self.streams: dict[str, Expr] = {}
        self.sizes: Expr | None = None
        if sizes and symbols.mentions("realloc", "reallocarray"):
            sort = machine(symbols.program.layout.pointer_bits, signed=False)
            self.sizes = build.var("$sizes", array(sort, sort))

    def variable(self, name: str, sort: Sort) -> Expr:
        """Return a variable that holds internal state of the library; it is 0 at the start."""
        if name not in self._variables:
            self._variables[name] = build.var(self._names.unique(f"${name}"), sort)
            self._shared.add(self._variables[name])
        return self._variables[name]

    def initial(self) -> dict[Expr, Expr]:
        """Return the variables with internal state of the library, and their initial values."""
        return {v: build.constant(0, v.sort) for v in (*self._variables.values(), *self.streams.values())}

    def stream(self, name: str) -> Expr:
        """Return the address of the object that `stdin`, `stdout` or `stderr` points to."""
        if name not in self.streams:
            self.streams[name] = build.var(self._names.unique(f"$&{name}"), INT)
        return self.streams[name]


class Unit:
    """The state that all functions of a program share."""

    def __init__(self, symbols: Symbols, rules: Rules, budget: Budget) -> None:
        self.symbols, self.rules, self.budget = symbols, rules, budget
        self.names, self.program, self.sources = symbols.names, symbols.program, symbols.names.sources
        self.library = LibraryState(symbols, sizes=not rules.memory)
        self.bodies: dict[str, Body] = {}  # by the name of the procedure
        self.queue: list[Body] = []  # to be lowered
        self.destructors: list[str] = []
        self.indirect: list[IndirectCall] = []
        self.environment = Environment()
        self.warnings: dict[str, Diagnostic] = {}
        self._nans: VisibleNans | None = None

    def is_program(self, module: Module) -> bool:
        """Return whether a module is the user's program, not a model of the library."""
        return module is self.program

    @property
    def pointer_sort(self) -> MachineSort:
        """The sort of addresses in memory."""
        return machine(self.program.layout.pointer_bits, signed=False)

    def warn(self, key: str, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        """Add a warning, unless there is one for this key."""
        self.warnings.setdefault(key, Diagnostic(code, message, Severity.WARNING, span, hint))

    def definition(self, module: Module, name: str) -> Body | None:
        """Return the body of a function that is defined; the function becomes part of the program."""
        home, name = self.symbols.resolve(module, name)
        function = home.functions.get(name)
        return None if function is None or not function.defined else self.body(home, function)

    def error_function(self, module: Module, name: str) -> str | None:
        """Return the error function that a symbol of the program means, perhaps as an alias."""
        if not self.is_program(module):
            return None
        names = (name, self.symbols.resolve(module, name)[1]) if name in module.aliases else (name,)
        return next((each for each in names if each in self.rules.functions), None)

    def body(self, module: Module, function: Function) -> Body:
        """Return the body of a function; a new one is queued to be lowered."""
        name = self.symbols.procedure_name(module, function.name)
        if name not in self.bodies:
            self.bodies[name] = Body(self, module, function, name)
            self.queue.append(self.bodies[name])
        return self.bodies[name]

    def model(self, name: str) -> Body:
        """Return the body of a function of the library's models in C."""
        module = self.symbols.models.defining(name)
        assert module is not None, name
        return self.body(module, module.functions[name])

    @property
    def rounding(self) -> Expr:
        """The rounding mode: to nearest, or what `fesetround` set."""
        if not self.symbols.mentions("fesetround"):
            return float_terms.TO_NEAREST
        return self.library.variable("rounding", float_terms.ROUNDING)

    def sees_nans(self, module: Module, function: str | None = None, name: str = "") -> bool:
        """Return whether the program may see the bits of a NaN that is the value `name` of a function or,
        without a name, its result; without a function, of any value."""
        if not self.is_program(module):
            return True
        if self._nans is None:
            from certus.frontend.c.model.math_functions import COMPUTING, PASSING

            self._nans = VisibleNans(module, self.symbols.usage.mentioned, COMPUTING, PASSING)
        return self._nans.any if function is None else self._nans.sees(function, name)

    def span_of(self, module: Module, function: Function | None) -> Span | None:
        """Return the span of a function of the program."""
        if function is None or not self.is_program(module):
            return None
        return self.sources.function_span(function)

    def loop_span(self, module: Module, number: int) -> Span | None:
        """Return the span of the loop statement that metadata describes."""
        location = module.debug.loop(number) if self.is_program(module) else None
        return self.sources.statement(self.sources.token(location))

    def dissolve(self) -> None:
        """Break all reference cycles, so that memory is freed at once and not by the garbage collector."""
        for body in self.bodies.values():
            vars(body).clear()
        vars(self).clear()

    def end_program(self, body: Body) -> None:
        """Run the functions that `atexit` registered, if the program uses `atexit`, and the destructors."""
        place = body.cursor.span, body.cursor.text
        if self.symbols.mentions("atexit"):
            run_model(body, "__certus_run_registered", ())
        self.call_all(body, self.destructors)
        body.cursor.span, body.cursor.text = place

    def call_all(self, body: Body, names: Sequence[str]) -> None:
        """Call constructors or destructors."""
        for name in names:
            callee = self.definition(self.program, name)
            if callee is None or callee.signature.parameters:
                body.refuse("unsupported-attribute", f"the constructor or destructor `{name}`")
                continue
            targets = tuple(body.fresh(v.sort) for v in callee.signature.results)
            body.cursor.span = callee.draft.span
            body.emit(Call(callee.name, (), targets), text=f"{name}()")
        body.cursor.span = body.draft.span


def refused(error: NotUnderstood, unit_sources: Sources | None, shown: str) -> Diagnostic:
    """Return the diagnostic for IR that the reader does not understand."""
    written = None if unit_sources is None else unit_sources.written(error.location)
    span = Span(shown, 1, 1, 1, 1, shown, 1) if written is None else written.span
    message = f"Certus cannot read this part of the compiled program: {error.what}."
    return Diagnostic("unsupported-ir", message, span=span)
