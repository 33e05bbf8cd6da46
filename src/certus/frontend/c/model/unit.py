"""The whole program: its modules and their symbols, what is in use, and what all functions share.

Functions and objects become part of the program when lowered code mentions them, so what `main` cannot reach
costs nothing and can refuse nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.objects import SourceObject
from certus.core.program import Call
from certus.core.sorts import INT, MachineSort, Sort, array, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.module import Function, GlobalVariable, Module
from certus.frontend.c.ir.operands import (
    Bytes,
    Expression,
    Local,
    Operand,
    Symbol,
)
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.ir.types import IntegerType, PointerType
from certus.frontend.c.library.models import LibraryModels
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.indirect import IndirectCall
from certus.frontend.c.model.kinds import leads_to_functions
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.shapes import shape_of
from certus.frontend.c.model.signature import Signature, make_signature
from certus.frontend.c.model.sources import Sources
from certus.frontend.c.model.survey import Survey, is_thread_local
from certus.frontend.c.model.terms import Unmodelled, sort_of

FUNCTION_SPACING: Final = 16
SHOWN: Final = 24  # characters of a string literal in its name


@dataclass(frozen=True, slots=True)
class Rules:
    """What is an error: calls of `functions` (by name, with the kind of error), or checks of `kind`."""

    kind: str
    functions: Mapping[str, str]


@dataclass(slots=True, eq=False)
class StaticObject:
    """A static object that the program uses; `base` holds its address."""

    module: Module
    variable: GlobalVariable
    base: Expr
    name: str
    span: Span | None


class Unit:
    """Shared by all functions of a program."""

    def __init__(
        self,
        module: Module,
        sources: Sources,
        models: LibraryModels,
        rules: Rules,
        budget: Budget,
        entry: str = "main",
        watched: frozenset[tuple[int, int | None]] = frozenset(),
        *,
        invariants: bool = False,
    ) -> None:
        self.watched = watched  # places of `?` that must be branches
        self.invariants = invariants  # whether probes claim that their evaluation is defined
        self.program = module
        self.sources = sources
        self.models = models
        self.rules = rules
        self.budget = budget
        shown = sources.files[0].shown
        self.nowhere = Span(shown, 1, 1, 1, 1, shown, 1)
        self.bodies: dict[str, Body] = {}  # by the name of the procedure
        self.queue: list[Body] = []  # to be lowered
        self.objects: list[StaticObject] = []
        self.scalars: dict[Expr, tuple[Module, GlobalVariable]] = {}  # static variables in use
        self.shared: set[Expr] = set()
        self.booleans: set[Expr] = set()  # variables of type `_Bool`, which are 0 or 1
        self.destructors: list[str] = []
        self.addresses: dict[str, tuple[Module, str, Expr]] = {}  # of functions whose address is taken
        self.indirect: list[IndirectCall] = []
        self.foreign = False  # whether pointers from outside may be those of functions
        self.warnings: dict[str, Diagnostic] = {}
        self.source_names: dict[Expr, str] = {}
        self.scopes: dict[Expr, Span] = {}
        self.named: dict[Expr, SourceObject] = {}
        self.sizes: Expr | None = None
        self._library: dict[str, Expr] = {}
        self._streams: dict[str, Expr] = {}
        self._bases: dict[tuple[int, str], Expr] = {}
        self._variables: dict[tuple[int, str], Expr | None] = {}
        self.names: set[str] = set()
        self._labels: dict[tuple[int, str, str], Expr] = {}
        self.survey = Survey(module, entry)
        if self.mentions("realloc"):
            self.sizes = build.var("$sizes", array(self.pointer_sort, self.pointer_sort))

    # -------------------------------------------------------------------------------- symbols

    def is_program(self, module: Module) -> bool:
        """Whether a module is the user's, and no model of the library."""
        return module is self.program

    def resolve(self, module: Module, name: str) -> tuple[Module, str]:
        """Return the module that defines a symbol, and its name there: aliases are followed."""
        for _ in range(100):
            alias = module.aliases.get(name)
            if alias is not None:
                if alias.ifunc or not isinstance(alias.target, Symbol):
                    raise Unmodelled("unsupported-alias", f"the alias `{name}`")
                name = alias.target.name
                continue
            if _defines(module, name):
                return module, name
            if module is not self.program:
                found = self.models.defining(name)
                if found is not None:
                    return found, name
                if _defines(self.program, name) or name in self.program.aliases:
                    module = self.program
                    continue
            return module, name
        raise Unmodelled("unsupported-alias", f"the alias `{name}`")

    def definition(self, module: Module, name: str) -> Body | None:
        """Return the body of a function that is defined, which is thereby part of the program."""
        home, found = self.resolve(module, name)
        function = home.functions.get(found)
        return None if function is None or not function.defined else self.body(home, function)

    def body(self, module: Module, function: Function) -> Body:
        """Return the body of a function, made on demand and lowered later."""
        name = self.procedure_name(module, function.name)
        made = self.bodies.get(name)
        if made is None:
            made = Body(self, module, function, name)
            self.bodies[name] = made
            self.queue.append(made)
        return made

    def procedure_name(self, module: Module, name: str) -> str:
        """Return the name of the procedure of a function; those of the library's models have a `$`."""
        return name if module is self.program else f"${name}"

    def model(self, name: str) -> Body:
        """Return the body of a function of the library's models in C."""
        module = self.models.defining(name)
        assert module is not None, name
        return self.body(module, module.functions[name])

    def mentions(self, *names: str) -> bool:
        """Whether the program has one of these functions in it."""
        return any(name in self.survey.mentioned for name in names)

    # ------------------------------------------------------------------------------ addresses

    def address(self, module: Module, name: str) -> Expr:
        """Return the address of a symbol."""
        home, found = self.resolve(module, name)
        variable = home.globals.get(found)
        if variable is not None:
            if variable.initialiser is None and found.startswith(("__start_", "__stop_")):
                raise Unmodelled("unsupported-section", f"the section bound `{found}`")
            if variable.linkage == "extern_weak":
                return build.integer(0)  # the linker finds no definition
            return self._object(home, variable)
        function = home.functions.get(found)
        if function is None:
            raise Unmodelled("unsupported-symbol", f"the symbol `{name}`")
        if function.linkage == "extern_weak" and not function.defined:
            return build.integer(0)
        return self.function_address(home, found)

    def function_address(self, module: Module, name: str) -> Expr:
        """Return a constant that no object's address equals. The function may now be called by pointers."""
        key = self.procedure_name(module, name)
        known = self.addresses.get(key)
        if known is None:
            top = 1 << module.layout.pointer_bits
            made = build.integer(top - FUNCTION_SPACING * (len(self.addresses) + len(self._labels) + 1))
            known = self.addresses[key] = (module, name, made)
        return known[2]

    def label_address(self, module: Module, function: str, label: str) -> Expr:
        """Return a constant for a label whose address is taken."""
        key = (id(module), function, label)
        found = self._labels.get(key)
        if found is None:
            top = 1 << module.layout.pointer_bits
            found = build.integer(top - FUNCTION_SPACING * (len(self.addresses) + len(self._labels) + 1))
            self._labels[key] = found
        return found

    def _object(self, module: Module, variable: GlobalVariable) -> Expr:
        key = (id(module), variable.name)
        base = self._bases.get(key)
        if base is None:
            debug = None if variable.debug is None else module.debug.variable(variable.debug)
            literal = variable.linkage == "private" and variable.name.startswith(".str")
            if literal:
                number = 1 + sum(o.name.startswith('"') for o in self.objects)
                name, shown = f"$string{number}", _quoted(module.initialiser(variable))
            else:
                shown = debug.name if debug is not None and debug.name else variable.name
                name = f"$&{shown}"
            base = build.var(self._unique(name), INT)
            self._bases[key] = base
            span = None
            if debug is not None and debug.line and self.is_program(module):
                span = self.declaration(debug)[0]
                if debug.name:
                    scope = self.sources.scope(debug, None)
                    if scope is not None:
                        self.named[base] = SourceObject(debug.name, scope, shape_of(module, debug.type))
            self.objects.append(StaticObject(module, variable, base, shown, span))
        return base

    def declaration(self, debug: DebugVariable) -> tuple[Span, str]:
        """Return where a static variable is declared, and the text of it."""
        found = self.sources.declaration(debug)
        if found is None:
            return self.sources.line_span(debug.file, debug.line, debug.scope), debug.name
        return found

    def constant_text(self, term: Expr) -> str:
        """Return a part of an initialiser as the source may have it."""
        while term.kind is Kind.WRAP:
            term = term.args[0]
        if term.kind is Kind.CONST:
            for module, name, address in self.addresses.values():
                if address.value % (1 << self.pointer_sort.width) == term.value:
                    debug = module.functions[name].debug
                    return name if debug is None else module.debug.node(debug).string("name")
            return str(term.value)
        found = next((made.name for made in self.objects if made.base is term), "")
        return found if found.startswith('"') or not found else f"&{found}"

    def scalar(self, module: Module, name: str) -> Expr | None:
        """Return the variable of a static scalar whose address is not taken; None for all others."""
        try:
            home, found = self.resolve(module, name)
        except Unmodelled:
            return None
        key = (id(home), found)
        if key not in self._variables:
            self._variables[key] = self._new_scalar(home, found)
        return self._variables[key]

    def _new_scalar(self, module: Module, name: str) -> Expr | None:
        variable = module.globals.get(name)
        if variable is None or not isinstance(variable.type, IntegerType | PointerType):
            return None
        if variable.linkage == "extern_weak" or name in self.survey.addressed_in(module):
            return None
        if isinstance(variable.type, IntegerType) and variable.type.bits % 8:
            return None
        debug = None if variable.debug is None else module.debug.variable(variable.debug)
        signed = bool(debug is not None and module.debug.signed(debug.type))
        wanted = name.replace(".", "..", 1)  # no local variable is called so
        wanted = wanted if self.is_program(module) else f"${wanted}"
        made = build.var(self._unique(wanted), sort_of(variable.type, signed=signed))
        self.scalars[made] = (module, variable)
        if debug is not None and variable.initialiser is not None and module.debug.boolean(debug.type):
            self.booleans.add(made)
        self.shared.add(made)
        if debug is not None and debug.name and self.is_program(module):
            self.source_names[made] = debug.name
            scope = self.sources.scope(debug, None)
            if scope is not None:
                self.scopes[made] = scope
        return made

    def _unique(self, name: str) -> str:
        wanted, number = name, 1
        while wanted in self.names:
            number += 1
            wanted = f"{name}{'' if '$' in name else '$'}{number}"
        self.names.add(wanted)
        return wanted

    def thread_local_symbol(self, body: Body, pointer: Local) -> Symbol | None:
        """Return the variable whose address in the present thread a value is."""
        made = body.flow.definitions.get(pointer.name) if body.function is not None else None
        if made is None or not is_thread_local(made):
            return None
        assert isinstance(made, ir.Call)
        operand = made.arguments[0].operand
        return operand if isinstance(operand, Symbol) else None

    def changes_by_itself(self, body: Body, pointer: Operand) -> bool:
        """Whether a pointer leads into a variable from outside."""
        for _ in range(1000):
            if isinstance(pointer, Symbol):
                home, name = self.resolve(body.module, pointer.name)
                variable = home.globals.get(name)
                return variable is not None and variable.initialiser is None
            made = body.flow.definitions.get(pointer.name) if isinstance(pointer, Local) else None
            if isinstance(made, ir.GetElementPointer):
                pointer = made.base
            elif isinstance(pointer, Expression) and pointer.operation == "getelementptr":
                pointer = pointer.operands[0]
            else:
                return False
        return False

    # ------------------------------------------------------------------------- names and places

    def make_signature(self, body: Body) -> Signature:
        return make_signature(body)

    def span_of(self, module: Module, function: Function | None) -> Span | None:
        """Return where a function stands."""
        if function is None or not self.is_program(module):
            return None
        return self.sources.function_span(function)

    def name_variable(self, body: Body, variable: Expr, debug: DebugVariable) -> None:
        """A program variable is a variable of the source."""
        if not self.is_program(body.module) or debug.artificial or not debug.name:
            return
        self.source_names[variable] = debug.name
        scope = self.sources.scope(debug, body.declared_at.get(debug.name + str(debug.line)))
        if scope is not None:
            self.scopes[variable] = scope

    def name_object(self, body: Body, base: Expr, debug: DebugVariable) -> None:
        """An object is a variable of the source."""
        if not self.is_program(body.module) or debug.artificial:
            return
        scope = self.sources.scope(debug, body.declared_at.get(debug.name + str(debug.line)))
        if scope is not None:
            self.named[base] = SourceObject(debug.name, scope, shape_of(body.module, debug.type))

    def literal(self, module: Module, operand: Operand) -> str | None:
        """Return the text of a string literal that an operand points to."""
        variable = module.globals.get(operand.name) if isinstance(operand, Symbol) else None
        constant = None if variable is None else module.initialiser(variable)
        if not isinstance(constant, Bytes):
            return None
        return constant.data.rstrip(b"\0").decode("utf-8", "replace")

    def loop_span(self, module: Module, number: int) -> Span | None:
        """Return the loop statement that metadata speaks of."""
        if not self.is_program(module):
            return None
        found = module.debug.loop(number)
        if found is None:
            return None
        return self.sources.statement(self.sources.position(found[0]))

    def copied_members(self, module: Module, number: int) -> list[tuple[int, int]]:
        """Return offset and size of the members that `!tbaa.struct` lists."""
        return module.debug.members(number)

    def pointed_size(self, body: Body, pointer: Operand) -> int | None:
        """Return the size of the scalars that a pointer variable of the source points to."""
        if not isinstance(pointer, Local):
            return None
        made = body.flow.definitions.get(pointer.name)
        if not isinstance(made, ir.Load) or not isinstance(made.pointer, Local):
            return None
        slot = body.births.slots.get(made.pointer.name)
        if slot is None or slot.debug is None:
            return None
        debug = body.module.debug
        target = debug.plain(debug.target(slot.debug.type))
        while target is not None and target.fields.get("tag") == "DW_TAG_array_type":
            target = debug.plain(target.reference("baseType"))
        if target is None or target.fields.get("tag") in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            return None
        return target.number("size") // 8 or None

    def returns_signed(self, module: Module, name: str) -> bool:
        """Whether the result of a declared function is signed."""
        type_ = self.result_type(module, name)
        return type_ is not None and bool(module.debug.signed(type_))

    # ------------------------------------------------------------------------ the library's state

    def note_foreign(self, module: Module, type_: int | None) -> None:
        """A pointer of a C type comes from outside: it may lead to functions that are not in the program.
        Nothing is known of a `void *`."""
        if not self.foreign:
            self.foreign = leads_to_functions(module.debug, type_)

    def result_type(self, module: Module, name: str) -> int | None:
        """Return the C type of a declared function's result."""
        function = module.functions.get(name)
        types = [] if function is None else module.debug.signature(function.debug)
        return types[0] if types else None

    def library_variable(self, name: str, sort: Sort) -> Expr:
        """Return a variable that the library keeps for itself; it is 0 at the start."""
        found = self._library.get(name)
        if found is None:
            found = self._library[name] = build.var(self._unique(f"${name}"), sort)
            self.shared.add(found)
        return found

    def library_variables(self) -> tuple[Expr, ...]:
        return (*self._library.values(), *self._streams.values())

    def library_initial(self) -> dict[Expr, Expr]:
        """Return the values of the library's variables at the start."""
        found = {v: build.constant(0, v.sort) for v in self.library_variables()}
        if self.sizes is not None:
            address = self.pointer_sort
            found[self.sizes] = build.const_array(address, build.constant(0, address))
        return found

    def stream(self, name: str) -> Expr:
        """Return the address of the object that `stdin`, `stdout` or `stderr` points to."""
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = build.var(self._unique(f"$&{name}"), INT)
        return found

    @property
    def streams(self) -> Mapping[str, Expr]:
        return self._streams

    def run_registered(self, body: Body) -> None:
        """Run the functions that `atexit` registered, if the program may register some."""
        if self.mentions("atexit"):
            run_model(body, "__certus_run_registered", ())

    def call_all(self, body: Body, names: Sequence[str]) -> None:
        """Call constructors or destructors."""
        for name in names:
            callee = self.definition(self.program, name)
            if callee is None or callee.parameters:
                body.refuse("unsupported-attribute", f"the constructor or destructor `{name}`")
                continue
            targets = tuple(body.fresh(v.sort) for v in callee.results)
            body.span = callee.draft.span
            body.emit(Call(callee.name, (), targets), text=f"{name}()")
        body.span = body.draft.span

    def warn(self, key: str, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        if key not in self.warnings:
            self.warnings[key] = Diagnostic(code, message, Severity.WARNING, span, hint)

    @property
    def pointer_sort(self) -> MachineSort:
        """The sort of addresses in memory."""
        return machine(self.program.layout.pointer_bits, signed=False)


def _quoted(constant: Operand | None) -> str:
    """Return a string literal as it may be written, cut where it gets long."""
    data = constant.data if isinstance(constant, Bytes) else b""
    text = data.rstrip(b"\0").decode("utf-8", "replace")
    shown = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else repr(c)[1:-1] for c in shown) + '"'


def _defines(module: Module, name: str) -> bool:
    function, variable = module.functions.get(name), module.globals.get(name)
    return (function is not None and function.defined) or (
        variable is not None and variable.initialiser is not None
    )


def refused(error: NotUnderstood, unit_sources: Sources | None, shown: str) -> Diagnostic:
    """Return the diagnostic for IR that the reader does not understand."""
    written = None if unit_sources is None else unit_sources.written(error.location)
    span = Span(shown, 1, 1, 1, 1, shown, 1) if written is None else written.span
    message = f"The compiled program has what Certus does not read: {error.what}."
    return Diagnostic("unsupported-ir", message, span=span)
