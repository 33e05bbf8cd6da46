"""How the program starts: static objects get their contents, then `main` is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core import build
from certus.core.program import Alloc, Call, Havoc
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Kind
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.library import STREAMS
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import any_value, havoc_memory, of_library
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.exits import run_registered
from certus.frontend.c.lower.function import RULES, finish_jumps
from certus.frontend.c.lower.initialisers import initialise, store_bytes
from certus.frontend.c.lower.routines import arguments_routine
from certus.frontend.c.lower.steps import run
from certus.frontend.c.lower.values import is_record, sort_of
from certus.frontend.c.lower.world import StaticObject, World
from certus.frontend.c.typenames import refusal
from certus.frontend.c.types import ArrayType, RecordType, unqualified
from certus.frontend.graph import Draft

START: Final = "$start"


class Start:
    """The procedure that runs first. Its objects are allocated before any initialiser is evaluated."""

    def __init__(self, world: World, main: ast.Function) -> None:
        self.world = world
        self.main = main
        self.body = Body(world, RULES, START, main.span)
        self._allocated = self.body.draft.node()  # from here on all objects exist
        self._order = self.body.draft.reserve()
        self.body.at = self._allocated
        self._objects = self._globals = 0  # how many are initialised

    def initialise_new(self) -> bool:
        """Initialise what was mentioned since the last time; whether there was anything."""
        found = False
        while self._objects < len(self.world.objects):
            found = True
            made = self.world.objects[self._objects]
            self._objects += 1
            self._initialise_object(made)
        variables = list(self.world.globals.items())
        for variable, declared in variables[self._globals :]:
            found = True
            self._globals += 1
            self._initialise_global(variable, declared)
        return found

    def _initialise_object(self, made: StaticObject) -> None:
        if made.data is not None:
            text = self.body.text(made.span)
            store_bytes(self.body, made.base, made.data, made.type, made.span, text, True)
            return
        assert made.variable is not None
        expression = self.world.initialised.get(made.variable.identity)
        if expression is None and _is_unknown(made.variable):
            what = f"the value of `{made.name}`"
            havoc_memory(self.body, made.base, made.type, made.span, what)
        elif expression is not None:
            place = places.at_address(made.type, made.base)
            run(initialise(self.body, place, expression, made.span, zeroed=made.zero))

    def _initialise_global(self, variable: Expr, declared: ast.Variable) -> None:
        expression = self.world.initialised.get(declared.identity)
        if expression is None:
            if declared.defined:
                self.world.initial[variable] = build.constant(0, variable.sort)
            elif declared.name in STREAMS and variable.sort is INT:
                self.world.initial[variable] = build.constant(0, variable.sort)
                stream = self.world.library_static(declared.name, bytes(1), declared.span)
                self.body.assign(variable, stream, declared.span, declared.name)
            elif _is_unknown(declared):
                what = f"the value of `{declared.name}`"
                self.body.set_freely((variable,), declared.span, declared.name, approximates=what)
            return
        term: Expr = run(self.body.value(expression))
        if term.kind is Kind.CONST:
            self.world.initial[variable] = term
        else:
            self.world.initial[variable] = build.constant(0, variable.sort)
            self.body.assign(variable, term, declared.span, self.body.text(declared.span))

    def finish(self) -> None:
        """Allocate the objects, call `main`. Nothing is needed if `main` can be the start itself."""
        body, draft = self.body, self.body.draft
        around = self.world.unit.constructors or self.world.unit.destructors
        if not draft.edges and not self.world.objects and not self.main.parameters and not around:
            return
        self._call_main()
        first, at = draft.node(), Draft.ENTRY
        draft.skip(at, first)
        start = draft.node()
        body.passages.add(first, start, None, body.scope, self.main.span, "start")
        at = start
        for number, made in enumerate(self.world.objects):
            after = draft.node()
            size, variable = self._size(made), made.variable
            align = self.world.align(made.type) if variable is None else self.world.align_of(variable)
            op = Alloc(made.base, build.integer(size), align, "static", made.name, made.zero)
            draft.edge(at, op, after, made.span, f"static {made.name}", order=(self._order, number))
            at = after
        draft.skip(at, self._allocated)
        finish_jumps(body)

    def _size(self, made: StaticObject) -> int:
        """An array without a length has that of its initialiser, or one element."""
        plain = unqualified(made.type)
        if isinstance(plain, ArrayType) and plain.length is None:
            return self.body.size_of(plain.element, made.span)
        try:
            return self.world.layout.size(made.type) + self._flexible(made)
        except NoSize:
            # an object of a type that is only declared: nothing of it can be accessed
            return 1

    def _flexible(self, made: StaticObject) -> int:
        """The size of the initialised flexible array at the end of a record."""
        return 0 if made.variable is None else flexible_size(self.world, made)

    def _call_main(self) -> None:
        body, main = self.body, self.main
        self._call_all(self.world.unit.constructors)
        passed = self._arguments_of_main() if main.name == ast.MAIN else self._any_arguments()
        sort_result = sort_of(main.type.result)
        targets = (body.fresh(sort_result),) if sort_result is not None else ()
        body.emit(Call(main.name, tuple(passed), targets), main.span, f"{main.name}()")
        run_registered(body, main.span)
        self._call_all(self.world.unit.destructors)
        body.draft.skip(body.at, Draft.EXIT)

    def _any_arguments(self) -> list[Expr]:
        """Another function than `main` may be called with anything."""
        body, passed = self.body, list[Expr]()
        if is_record(self.main.type.result) or self.main.type.variadic:
            body.refuse(
                self.main.span, "unsupported-entry", f"`{self.main.name}` as the beginning of a program"
            )
        for parameter in self.main.parameters:
            plain = unqualified(parameter.type)
            if isinstance(plain, RecordType) or sort_of(plain) is not None:
                passed.append(any_value(body, plain, parameter.span, f"any {parameter.name}"))
            else:
                passed.append(body.refuse(parameter.span, *refusal(plain)))
        return passed

    def _arguments_of_main(self) -> list[Expr]:
        body, main = self.body, self.main
        passed: list[Expr] = []
        for number, parameter in enumerate(main.parameters):
            sort = sort_of(parameter.type) or INT
            if number > 0 and parameter.identity in self.world.surveys[main.name].variables:
                passed.append(self._arguments(parameter, number, passed[0]))
                continue
            value = body.fresh(sort)  # nobody reads it, unless it is the number of arguments
            text = f"{parameter.name} is an argument of the program"
            body.emit(Havoc((value,)), parameter.span, text)
            if number == 0 and isinstance(sort, MachineSort):
                most = min(sort.high, (1 << self.world.pointer_width) // (self.world.pointer_width // 8) - 2)
                natural = build.le(build.constant(0, sort), value)
                listed = build.le(value, build.constant(most, sort))  # with a null pointer behind them
                text = f"there can be {parameter.name} arguments"
                body.assume(build.and_(natural, listed), parameter.span, text)
            passed.append(value)
        return passed

    def _arguments(self, parameter: ast.Variable, number: int, count: Expr) -> Expr:
        """`argv`: made only where the program looks at it."""
        body, text = self.body, f"{parameter.name}: the arguments of the program"
        if number > 1:
            what = f"the use of the program's environment through `{parameter.name}`"
            refused: Expr = body.refuse(parameter.span, "unsupported-arguments", what)
            return refused
        made = body.fresh(INT)
        body.emit(Call(arguments_routine(self.world), (build.to_int(count),), (made,)), parameter.span, text)
        return made

    def _call_all(self, names: Sequence[str]) -> None:
        """Call constructors or destructors."""
        body = self.body
        for name in names:
            function = self.world.unit.functions[name]
            if function.parameters:
                body.refuse(function.span, "unsupported-attribute", f"the parameters of `{name}`")
            sort = sort_of(function.type.result)
            targets = () if sort is None else (body.fresh(sort),)
            given = tuple(body.fresh(sort_of(p.type) or INT) for p in function.parameters)
            body.emit(Call(name, given, targets), function.span, f"{name}()")


def _is_unknown(variable: ast.Variable) -> bool:
    """Whether it has some value that the C library or the linker gave it. (Variables of other files may have
    any.)"""
    linked = variable.name.startswith(("__start_", "__stop_"))  # where a section begins and ends
    return not variable.defined and (linked or of_library(variable.span))


def flexible_size(world: World, made: StaticObject) -> int:
    """Bytes that an initialiser gives to a flexible array member beyond the size of the record."""
    plain = unqualified(made.type)
    assert made.variable is not None
    expression = world.initialised.get(made.variable.identity)
    if not isinstance(plain, RecordType) or not isinstance(expression, ast.InitialiserList):
        return 0
    record = world.unit.types.records.get(plain.identity)
    if record is None or not record.fields:
        return 0
    last = unqualified(record.fields[-1].type)
    if (
        not isinstance(last, ArrayType)
        or last.length is not None
        or len(expression.items) < len(record.fields)
    ):
        return 0
    given = expression.items[-1]
    if isinstance(given, ast.InitialiserList):
        return len(given.items) * world.layout.size(last.element)
    return len(given.data) if isinstance(given, ast.StringLiteral) else 0
