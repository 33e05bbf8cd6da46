"""Symbols of a program: which of them `main` may reach, which have their address taken, and the variables,
objects and constants that stand for them. A symbol becomes part of the program when lowered code mentions it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import SourceObject
from certus.core.terms import BOOL, FLOATS, INT, Expr, Kind
from certus.core.vocabulary import RESERVED, has_meaning
from certus.frontend.c.compile import LibraryModels
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.instructions import Operand, Symbol, symbols_in
from certus.frontend.c.ir.module import Definition, Function, GlobalVariable, Module
from certus.frontend.c.ir.types import IntegerType, NotUnderstood, Type, last_array
from certus.frontend.c.library.models import STANDARD, STREAMS, VARIABLES
from certus.frontend.c.model.c_types import shape_of
from certus.frontend.c.model.sources import Sources
from certus.frontend.c.model.terms import FORMATS, NULL, Unmodelled, is_scalar, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

FUNCTION_SPACING: Final = 16
ERROR_CODES: Final = 4096  # the last addresses, from which programs make pointers such as `ERR_PTR(-12)`
SHOWN: Final = 24  # characters of a string literal in its name
_LONGEST: Final = 1000  # steps from an alias to its object


class SymbolUsage:
    """The use of symbols in a program. `mentioned` are the names that the entry function may reach;
    `accesses` has the names of the types by which static variables are accessed."""

    def __init__(self, program: Module, entry: str) -> None:
        self.accesses: dict[str, str] = {}
        lists = (name for name in ("llvm.global_ctors", "llvm.global_dtors") if name in program.globals)
        self.mentioned, addressed = self._reach(program, [entry, *lists])
        self._addressed: dict[int, set[str]] = {id(program): addressed}

    def _reach(self, module: Module, stack: list[str]) -> tuple[set[str], set[str]]:
        """Return the symbols that some symbols may reach, and the static variables whose address is taken."""
        mentioned, addressed = set(stack), set[str]()
        while stack:
            name = stack.pop()
            function, variable = module.functions.get(name), module.globals.get(name)
            symbols: list[str] = []
            if function is not None and function.defined:
                symbols = list(module.mentioned(function))
                self._take_addresses(module, function, addressed)
            elif variable is not None:
                symbols = list(symbols_in(module.initialiser(variable)))
                addressed.update(symbols)
            elif name in module.aliases:
                symbols = list(symbols_in(module.aliases[name].target))
            stack += [symbol for symbol in dict.fromkeys(symbols) if symbol not in mentioned]
            mentioned.update(symbols)
        for alias in module.aliases.values():
            addressed.update((alias.name, *symbols_in(alias.target)))
        return mentioned, addressed

    def addressed_in(self, module: Module) -> set[str]:
        """Return the static variables of a module whose address is taken."""
        if id(module) not in self._addressed:
            self._addressed[id(module)] = self._reach(module, [*module.functions, *module.globals])[1]
        return self._addressed[id(module)]

    def _take_addresses(self, module: Module, function: Function, addressed: set[str]) -> None:
        for block in module.blocks(function):
            for instruction in block.instructions:
                if "@" not in instruction.text:
                    continue
                for number, operand in enumerate(instruction.operands):
                    name = operand.name if isinstance(operand, Symbol) else ""
                    if not _is_access(module, instruction, number, name):
                        addressed.update(symbols_in(operand))
                    elif "tbaa" in instruction.attached:
                        self.accesses[name] = module.debug.accessed(instruction.attached["tbaa"])


def _is_access(module: Module, instruction: ir.Instruction, number: int, name: str) -> bool:
    """Return whether an operand is the address of a load or a store of the whole variable. A volatile
    variable from outside changes by itself, so that no program variable can stand for it."""
    variable = module.globals.get(name)
    if variable is None:
        return False
    if isinstance(instruction, ir.Load):
        outside = instruction.volatile and variable.initialiser is None
        return instruction.type is variable.type and not outside
    if isinstance(instruction, ir.Store):
        return number == 1 and instruction.value.type is variable.type
    if isinstance(instruction, ir.AtomicUpdate | ir.CompareExchange):
        value = instruction.value if isinstance(instruction, ir.AtomicUpdate) else instruction.new
        return number == 0 and value.type is variable.type
    return False


class Names:
    """The names of program variables, and what the source says about those that it declares."""

    def __init__(self, program: Module, sources: Sources) -> None:
        self.program, self.sources = program, sources
        self.variables: dict[Expr, str] = {}
        self.scopes: dict[Expr, Span] = {}
        self.objects: dict[Expr, SourceObject] = {}  # by the variables that hold their addresses
        self.formats: dict[Expr, str] = {}  # of variables that are floating-point numbers
        self.booleans: set[Expr] = set()  # variables of type `_Bool`, which are 0 or 1
        self._used: set[str] = set()

    def note_format(self, variable: Expr, type_: Type) -> None:
        """Record the format of a variable of a floating-point type."""
        if type_.text in FORMATS:
            self.formats[variable] = FORMATS[type_.text]

    def note_result(self, variable: Expr, term: Expr) -> None:
        """Record that a variable is a floating-point number, as reports show it, if a term is one."""
        while term.kind in (Kind.ITE, Kind.BIT_XOR):
            term = term.args[1] if term.kind is Kind.ITE or term.args[0].kind is Kind.CONST else term.args[0]
        if term in self.formats:
            self.formats[variable] = self.formats[term]
        elif term.kind in FLOATS and term.kind is not Kind.F_TO and term.sort is not BOOL:
            assert isinstance(term.data, str)
            self.formats[variable] = term.data.split()[-1]

    def unique(self, name: str, mark: str | None = None) -> str:
        """Return a name that no other variable has; `mark` separates a number that has to be added."""
        mark = ("" if "$" in name else "$") if mark is None else mark
        wanted, number = name, 1
        while wanted in self._used:
            number += 1
            wanted = f"{name}{mark}{number}"
        self._used.add(wanted)
        return wanted

    def declare(self, module: Module, variable: Expr, debug: DebugVariable, location: int | None) -> None:
        """Note that a program variable is a variable of the source, declared at a debug location."""
        if module is self.program and debug.name and not debug.artificial:
            self.variables[variable] = debug.name
            scope = self.sources.scope(debug, location)
            if scope is not None:
                self.scopes[variable] = scope

    def declare_object(self, module: Module, base: Expr, debug: DebugVariable, location: int | None) -> None:
        """Note that an object is a variable of the source, declared at a debug location."""
        if module is self.program and debug.name and not debug.artificial:
            scope = self.sources.scope(debug, location)
            if scope is not None:
                self.objects[base] = SourceObject(debug.name, scope, shape_of(module, debug.type))


@dataclass(slots=True, eq=False)
class StaticObject:
    """A static object that the program uses; `base` holds its address. `extent` is its size as far as it is
    known: 0 if its type is only declared, or is an array of unknown length."""

    module: Module
    variable: GlobalVariable
    base: Expr
    name: str
    span: Span | None

    @property
    def extent(self) -> int:
        try:
            return self.module.layout.size(self.variable.type)
        except NotUnderstood:
            return 0

    @property
    def is_open(self) -> bool:
        """Return whether the object may be larger than its type says."""
        array = last_array(self.variable.type)
        return self.extent == 0 or (array is not None and array.count == 0)


class Symbols:
    """The symbols of the program and of the library models, and what stands for those in use."""

    def __init__(self, names: Names, models: LibraryModels, entry: str) -> None:
        self.names, self.program, self.models = names, names.program, models
        self.usage = SymbolUsage(names.program, entry)
        self.objects: dict[Expr, StaticObject] = {}  # static objects in use, by their addresses
        self.scalars: dict[Expr, tuple[Module, GlobalVariable]] = {}  # static variables in use
        self.shared: set[Expr] = set()  # all global variables, which any function may change
        self.addresses: dict[str, tuple[Module, str, Expr]] = {}  # functions whose address is taken
        self._bases: dict[tuple[int, str], Expr] = {}
        self._variables: dict[tuple[int, str], Expr | None] = {}
        self._labels: dict[tuple[int, str, str], Expr] = {}

    def mentions(self, *names: str) -> bool:
        """Return whether the program mentions one of these functions."""
        return any(name in self.usage.mentioned for name in names)

    def resolve(self, module: Module, name: str) -> tuple[Module, str]:
        """Return the module that defines a symbol, and its name there; aliases are followed."""
        for _ in range(_LONGEST):
            alias = module.aliases.get(name)
            if alias is not None:
                if alias.ifunc or not isinstance(alias.target, Symbol):
                    break
                name = alias.target.name
                continue
            if module is self.program or _defines(module, name):
                return module, name
            model = self.models.defining(name)
            if model is not None:
                return model, name
            if not _defines(self.program, name) and name not in self.program.aliases:
                return module, name
            module = self.program
        raise Unmodelled("unsupported-alias", f"the alias `{name}`")

    def procedure_name(self, module: Module, name: str) -> str:
        """Return the name of the procedure of a function; models of the library get a `$`."""
        return name if module is self.program else f"${name}"

    def address(self, module: Module, name: str) -> Expr:
        """Return the address of a symbol."""
        home, symbol = self.resolve(module, name)
        variable, function = home.globals.get(symbol), home.functions.get(symbol)
        if variable is not None:
            if variable.initialiser is None and symbol.startswith(("__start_", "__stop_")):
                raise Unmodelled("unsupported-section", f"the section bound `{symbol}`")
            return NULL if self.is_null(home, variable) else self._object(home, variable)
        if function is None:
            raise Unmodelled("unsupported-symbol", f"the symbol `{name}`")
        if self.is_null(home, function):
            return NULL
        key = self.procedure_name(home, symbol)
        if key not in self.addresses:  # the function may now be called by pointers
            self.addresses[key] = (home, symbol, self._code_address(home))
        return self.addresses[key][2]

    def is_null(self, module: Module, symbol: Definition) -> bool:
        """Return whether a symbol is weak and has the address 0, since nothing defines it. One that a library
        or the verifier may define is refused."""
        if symbol.defined or symbol.linkage != "extern_weak":
            return False
        if self._may_be_outside(module, symbol):
            raise Unmodelled("unsupported-weak", f"the weak declaration of `{symbol.name}`")
        return True

    def _may_be_outside(self, module: Module, symbol: Definition) -> bool:
        """Return whether a library or the verifier may define a symbol."""
        from certus.frontend.c.model.library import FUNCTIONS

        name, tables = symbol.name, (FUNCTIONS, STANDARD, VARIABLES, STREAMS)
        if has_meaning(name) or any(name in table for table in tables):
            return True
        declared = symbol.debug if isinstance(symbol, Function) else None
        of_library = declared is not None and self.names.sources.of_library(module.debug, declared)
        return of_library or name.startswith(("_", "pthread_", *RESERVED))

    def _code_address(self, module: Module) -> Expr:
        """Return a new constant that is neither the address of an object nor an error code."""
        number = len(self.addresses) + len(self._labels) + 1
        return build.integer((1 << module.layout.pointer_bits) - ERROR_CODES - FUNCTION_SPACING * number)

    def label_address(self, module: Module, function: str, label: str) -> Expr:
        """Return the constant address of a label."""
        key = (id(module), function, label)
        if key not in self._labels:
            self._labels[key] = self._code_address(module)
        return self._labels[key]

    def _object(self, module: Module, variable: GlobalVariable) -> Expr:
        key = (id(module), variable.name)
        base = self._bases.get(key)
        if base is not None:
            return base
        debug, span = _debug(module, variable), None
        if variable.linkage == "private" and variable.name.startswith(".str"):
            number = 1 + sum(o.name.startswith('"') for o in self.objects.values())
            literal = module.literal(Symbol(variable.type, variable.name))
            name, shown = f"$string{number}", _quoted(literal or "")
        else:
            shown = debug.name if debug is not None and debug.name else variable.name
            name = f"$&{shown}"
        base = self._bases[key] = build.var(self.names.unique(name), INT)
        if debug is not None and debug.line and module is self.program:
            span = self.names.sources.declaration(debug)[0]
            self.names.declare_object(module, base, debug, None)
        self.objects[base] = StaticObject(module, variable, base, shown, span)
        return base

    def scalar(self, module: Module, name: str) -> Expr | None:
        """Return the variable of a static scalar whose address is never taken; None for any other symbol."""
        try:
            home, name = self.resolve(module, name)
        except Unmodelled:
            return None
        key = (id(home), name)
        if key not in self._variables:
            self._variables[key] = self._new_scalar(home, name)
        return self._variables[key]

    def _new_scalar(self, module: Module, name: str) -> Expr | None:
        variable = module.globals.get(name)
        if variable is None or not is_scalar(variable.type):
            return None
        if variable.linkage == "extern_weak" or name in self.usage.addressed_in(module):
            return None
        if isinstance(variable.type, IntegerType) and variable.type.bits % 8:
            return None
        debug = _debug(module, variable)
        signed = bool(debug is not None and module.debug.signed(debug.type))
        wanted = name.replace(".", "..", 1)  # no local variable has such a name
        wanted = self.names.unique(wanted if module is self.program else f"${wanted}")
        scalar = build.var(wanted, sort_of(variable.type, signed=signed))
        self.names.note_format(scalar, variable.type)
        self.scalars[scalar] = (module, variable)
        self.shared.add(scalar)
        if debug is not None and variable.initialiser is not None and module.debug.boolean(debug.type):
            self.names.booleans.add(scalar)
        if debug is not None:
            self.names.declare(module, scalar, debug, None)
        return scalar

    def changes_by_itself(self, body: Body, pointer: Operand) -> bool:
        """Return whether a pointer leads into a variable that is defined outside the program, or is a
        constant number, the address of a register of a device."""
        pointer = body.flow.base(pointer)
        if isinstance(pointer, ir.Expression):
            return pointer.operation == "inttoptr" and isinstance(pointer.operands[0], ir.Integer)
        if not isinstance(pointer, Symbol):
            return False
        home, name = self.resolve(body.module, pointer.name)
        variable = home.globals.get(name)
        return variable is not None and variable.initialiser is None

    def constant_text(self, term: Expr) -> str:
        """Return a part of an initialiser as the source may write it."""
        while term.kind is Kind.WRAP:
            term = term.args[0]
        if term.kind is Kind.CONST:
            for module, name, address in self.addresses.values():
                if address.value % (1 << self.program.layout.pointer_bits) == term.value:
                    debug = module.functions[name].debug
                    return name if debug is None else module.debug.node(debug).string("name")
            return str(term.value)
        name = self.objects[term].name if term in self.objects else ""
        return name if name.startswith('"') or not name else f"&{name}"


def _debug(module: Module, variable: GlobalVariable) -> DebugVariable | None:
    return None if variable.debug is None else module.debug.variable(variable.debug)


def _quoted(text: str) -> str:
    """Return a string literal as it may be written, cut to a limited length."""
    shown = text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else repr(c)[1:-1] for c in shown) + '"'


def _defines(module: Module, name: str) -> bool:
    function, variable = module.functions.get(name), module.globals.get(name)
    defined = function is not None and function.defined
    return defined or (variable is not None and variable.initialiser is not None)
