"""What the functions of a unit share while they are lowered: types, static objects, functions in use.

Functions and static objects become part of the program when lowered code mentions them, so what `main` cannot
reach costs nothing and can refuse nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.objects import SourceObject
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.layout import Layout, NoSize
from certus.frontend.c.lower.shapes import Shapes
from certus.frontend.c.lower.sourcetext import SourceText
from certus.frontend.c.lower.survey import Survey
from certus.frontend.c.lower.values import is_scalar, sort_of
from certus.frontend.c.types import ArrayType, CType, FunctionType, IntegerType

if TYPE_CHECKING:
    from certus.frontend.c.lower.body import IndirectCall
    from certus.frontend.c.lower.routines import Routine

FUNCTION_SPACING: Final = 16


@dataclass(frozen=True, slots=True)
class Home:
    """Where a variable lives: in a program variable, or at the address that a program variable holds."""

    variable: Expr
    in_memory: bool


@dataclass(frozen=True, slots=True)
class ErrorRules:
    """What is an error: calls of `functions` (by name, with the kind of error), or operations of `kind`."""

    kind: Literal["unreach-call", "no-overflow", "no-div-zero"]
    functions: Mapping[str, str]


@dataclass(slots=True, eq=False)
class StaticObject:
    """A static object that the program uses; `base` holds its address."""

    base: Expr
    type: CType
    name: str
    span: Span
    zero: bool  # whether its contents are zero at the start, or arbitrary
    variable: ast.Variable | None = None
    data: bytes | None = None  # of a string literal


@dataclass(slots=True)
class World:
    """Shared by all bodies. `surveys`: of the functions with a body, by name."""

    unit: ast.Unit
    layout: Layout
    shapes: Shapes
    text: SourceText
    errors: ErrorRules
    surveys: Mapping[str, Survey]
    addressed: frozenset[str]  # identities of variables whose address is taken somewhere
    initialised: Mapping[str, ast.Expression]  # initialisers of static objects, by identity
    sizes: Expr | None = None  # the sizes of heap objects by address, where the program needs them
    budget: Budget = field(default_factory=Budget)
    watched: frozenset[tuple[int, int | None]] = frozenset()  # lines and columns of `?` that must be branches
    invariants: bool = False  # whether probes are invariants, whose evaluation must be defined
    globals: dict[Expr, ast.Variable] = field(default_factory=dict)  # static scalars in use
    global_variables: set[Expr] = field(default_factory=set)
    objects: list[StaticObject] = field(default_factory=list)
    wanted: dict[str, None] = field(default_factory=dict)  # functions called directly, in order
    addresses: dict[str, Expr] = field(default_factory=dict)  # of functions whose address is taken
    indirect: list[IndirectCall] = field(default_factory=list)
    routines: dict[str, Routine] = field(default_factory=dict)  # library procedures in use
    warnings: dict[str, Diagnostic] = field(default_factory=dict)
    initial: dict[Expr, Expr] = field(default_factory=dict)  # values of globals at the start
    source_names: dict[Expr, str] = field(default_factory=dict)
    scopes: dict[Expr, Span] = field(default_factory=dict)  # where these names can be used
    named: dict[Expr, SourceObject] = field(default_factory=dict)  # variables in memory, by their address
    recast: dict[str | None, None] = field(default_factory=dict)  # functions whose address changes its type
    foreign: dict[CType, None] = field(default_factory=dict)  # types of values with pointers from outside
    static_scopes: dict[str, Span] = field(default_factory=dict)  # of static locals, by identity
    names: set[str] = field(default_factory=set)  # of all variables so far
    _homes: dict[str, Home] = field(default_factory=dict)
    _library: dict[str, Expr] = field(default_factory=dict)  # objects that library functions keep
    _strings: dict[tuple[bytes, CType], Expr] = field(default_factory=dict)

    @property
    def pointer_width(self) -> int:
        return self.unit.types.model.pointer

    @property
    def pointer_sort(self) -> MachineSort:
        return machine(self.pointer_width, signed=False)

    def mentions(self, *functions: str) -> bool:
        """Whether the program has one of these functions in it."""
        return any(name in survey.functions for survey in self.surveys.values() for name in functions)

    def align(self, type_: CType) -> int:
        """The alignment of a type; 1 if it is not known."""
        try:
            return self.layout.align(type_)
        except NoSize:
            return 1

    def align_of(self, variable: ast.Variable) -> int:
        return variable.align or self.align(variable.type)

    def in_memory(self, variable: ast.Variable) -> bool:
        return variable.identity in self.addressed or not is_scalar(variable.type)

    def static_home(self, variable: ast.Variable) -> Home:
        """The home of a static variable, which is thereby part of the program."""
        home = self._homes.get(variable.identity)
        if home is not None:
            return home
        name = variable.name if variable.function is None else f"{variable.function}.{variable.name}$static"
        if self.in_memory(variable):
            prefix = "" if variable.function is None else f"{variable.function}."
            base = self._variable(f"{prefix}$&{variable.name}")
            home = Home(base, in_memory=True)
            made = StaticObject(
                base, variable.type, variable.name, variable.span, variable.defined, variable=variable
            )
            self.objects.append(made)
        else:
            sort = sort_of(variable.type)
            assert sort is not None
            made_variable = build.var(self._unique(name), sort)
            home = Home(made_variable, in_memory=False)
            self.globals[made_variable] = variable
            self.global_variables.add(made_variable)
        scope = self.static_scopes.get(variable.identity)
        if variable.function is None:
            scope = self.text.rest(variable.span)
        if scope is not None:
            self.declare(variable, home, scope)
        self._homes[variable.identity] = home
        return home

    def declare(self, variable: ast.Variable, home: Home, scope: Span) -> None:
        """The variable's name can be used in `scope`."""
        if home.in_memory:
            self.named[home.variable] = SourceObject(variable.name, scope, self.shapes.of(variable.type))
        else:
            self.scopes[home.variable] = scope

    def string(self, data: bytes, type_: CType, span: Span) -> Expr:
        """The address of a string literal: compilers make one object of equal ones."""
        key = (data, type_)
        base = self._strings.get(key)
        if base is None:
            number = len(self._strings) + 1
            base = self._strings[key] = self._variable(f"$string{number}")
            self.objects.append(StaticObject(base, type_, f"string literal {number}", span, True, data=data))
        return base

    def library_static(self, name: str, data: bytes, span: Span, width: int = 8) -> Expr:
        """The address of a static object that the library keeps for itself, one for each name: integers of
        `width` bits."""
        base = self._library.get(name)
        if base is None:
            base = self._library[name] = self._variable(f"$&{name}")
            type_ = ArrayType(IntegerType("unsigned", width, False, 1), 8 * len(data) // width)
            self.objects.append(StaticObject(base, type_, f"of {name}", span, True, data=data))
        return base

    def function_address(self, name: str) -> Expr:
        """A constant that no object's address equals. The function may now be called through pointers."""
        found = self.addresses.get(name)
        if found is None:
            found = build.integer(-FUNCTION_SPACING * (len(self.addresses) + 1))
            self.addresses[name] = found
        return found

    def warn(self, key: str, code: str, message: str, span: Span, hint: str | None = None) -> None:
        if key not in self.warnings:
            self.warnings[key] = Diagnostic(code, message, Severity.WARNING, span, hint)

    def function_type(self, name: str) -> FunctionType:
        return self.unit.functions[name].type

    def _variable(self, name: str) -> Expr:
        return build.var(self._unique(name), INT)

    def _unique(self, name: str) -> str:
        wanted, number = name, 1
        while wanted in self.names:
            number += 1
            wanted = f"{name}{'' if '$' in name else '$'}{number}"
        self.names.add(wanted)
        return wanted
