"""Draw integer expressions without side effects, and the values of types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from certus.fuzz.corners.c_types import (
    Array,
    Floating,
    Integer,
    Leaf,
    Named,
    Pointer,
    Qualified,
    Record,
    Type,
    contains,
    is_const,
    leaves,
    overaligned,
    stripped,
    type_name,
)
from certus.fuzz.corners.declarations import Declaring
from certus.fuzz.corners.drawing import Routine, Variable

_PLAIN: Final = ("char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int")
DISTINCT: Final = (
    *_PLAIN,
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "_Bool",
    "float",
    "double",
)


@dataclass(slots=True)
class Expressing(Declaring):
    """Draws expressions."""

    def integer_leaves(self, *, writable: bool = False, field: bool = True) -> list[tuple[str, Leaf]]:
        """Return the integers in visible variables, outside of unions: their paths and their leaves."""
        integers = []
        for variable in self.variables()[:6]:
            for leaf in leaves(variable.type, variable.name, limit=8):
                if leaf.integer is None or leaf.union or (leaf.width is not None and not field):
                    continue
                if writable and (leaf.const or variable.const):
                    continue
                integers.append((leaf.path, leaf))
        return integers

    def value(self, depth: int = 2) -> str:
        """Draw an integer expression. Nothing in it has a side effect."""
        if depth <= 0:
            return self.atom()
        ways: list[tuple[float, Callable[[int], str]]] = [
            (3, lambda _: self.atom()),
            (5, self._binary),
            (2, self._unary),
            (3, self._cast),
            (1.5, self._conditional),
            (1, lambda _: f"sizeof({self.sized()})"),
            (1, self._comma),
            (1, self._compound_literal),
            (1, self._statement),
            (1, self._generic),
            (1, self._call),
            (0.7, self._member),
        ]
        return self.weighted(ways)(depth - 1)

    def atom(self) -> str:
        dice = self.random.random()
        places = self.integer_leaves()
        if places and dice < 0.6:
            return self.pick(places)[0]
        if self.constants() and dice < 0.7:
            return self.pick(self.constants()).name
        if dice < 0.75:
            return self.pick(
                ('"abc"[1]', "'ab'", '"a\\0b"[2]', "L'x'", "(short)-1", 'sizeof("a\\0b")', "(1 ? -1 : 1u)")
            )
        return self.number_text(
            self.integers[self.pick(("int", "unsigned char", "unsigned int", "long long"))]
        )

    def _unary(self, depth: int) -> str:
        return f"({self.pick(('-', '~', '!', '+'))}({self.value(depth)}))"

    def _binary(self, depth: int) -> str:
        left = self.value(depth)
        dice = self.random.random()
        if dice < 0.15:
            return f"(({left}) {self.pick(('<<', '>>'))} ({self.value(0)} & {self.pick((7, 15, 3))}))"
        if dice < 0.25:
            return f"(({left}) {self.pick(('/', '%'))} {self.pick((3, 7, 10, '5u', '6L', '9ull'))})"
        operator = self.pick(("+", "-", "*", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||"))
        return f"(({left}) {operator} ({self.value(depth)}))"

    def _cast(self, depth: int) -> str:
        type = self.scalar()
        return f"(({type_name(type)})({self.value(depth)}))"

    def _conditional(self, depth: int) -> str:
        if self.chance(0.2):
            return f"(({self.value(depth)}) ?: ({self.value(depth)}))"
        return f"(({self.value(0)}) ? ({self.value(depth)}) : ({self.value(depth)}))"

    def _comma(self, depth: int) -> str:
        return f"((void)({self.value(0)}), {self.value(depth)})"

    def _compound_literal(self, depth: int) -> str:
        type = self.scalar()
        if self.chance(0.4) and not overaligned(type):
            items = ", ".join(self.value(0) for _ in range(3))
            return f"(({type_name(type)}[]){{{items}}})[{self.random.randrange(3)}]"
        return f"(({type_name(type)}){{{self.value(depth)}}})"

    def _statement(self, depth: int) -> str:
        type = self.scalar()
        return f"({{ {type_name(type)} t_ = {self.value(depth)}; t_; }})"

    def _generic(self, depth: int) -> str:
        chosen = self.random.sample(DISTINCT, self.random.randint(1, 3))
        cases = "".join(f"{name}: {self.value(0)}, " for name in chosen)
        return f"_Generic(({self.controlling(depth)}), {cases}default: {self.value(depth)})"

    def controlling(self, depth: int) -> str:
        """Draw an expression for `_Generic` to examine."""
        variables = self.variables()
        if variables and self.chance(0.4):
            chosen = self.pick(variables)
            return self.pick((chosen.name, f"&{chosen.name}"))
        return self.value(depth)

    def _call(self, depth: int) -> str:
        routines = [r for r in self.functions() if isinstance(stripped(r.result), Integer)]
        return (self.call(self.pick(routines), depth) if routines else None) or self.atom()

    def call(self, routine: Routine, depth: int = 0) -> str | None:
        """Draw a call with arguments of the right types, if there are any."""
        arguments = [self.argument(type, depth) for type in routine.parameters]
        return f"{routine.name}({', '.join(a for a in arguments if a)})" if None not in arguments else None

    def argument(self, type: Type, depth: int) -> str | None:
        match stripped(type):
            case Integer():
                return self.value(depth)
            case Pointer(target):
                same = [
                    v
                    for v in self.variables()
                    if stripped(v.type) is stripped(target) and not is_const(v.type)
                ]
                return f"&{self.pick(same).name}" if same else None
            case Array():
                same = [v for v in self.variables() if stripped(v.type) == stripped(type)]
                return self.pick(same).name if same else None
            case other:
                same = [v for v in self.variables() if stripped(v.type) is other]
                if same:
                    return self.pick(same).name
                if self.spelled(type):
                    return f"({type_name(type)}){self.initialiser(type)}"
                return None

    def _member(self, depth: int) -> str:
        """Draw a member of a compound literal, of a call or of a statement expression."""
        text, type = self.record_value()
        integers = [leaf for leaf in leaves(type) if leaf.integer and not leaf.union]
        return f"({text}){self.pick(integers).path}" if text and integers else self.value(depth)

    def record_value(self) -> tuple[str, Type]:
        """Draw an expression of a record type, and that type; "" if there is none."""
        objects = self.variables(lambda v: isinstance(stripped(v.type), Record))
        routines = [r for r in self.functions() if isinstance(stripped(r.result), Record)]
        ways: list[tuple[float, str, Type]] = []
        if objects:
            chosen = self.pick(objects)
            ways.append((3, chosen.name, chosen.type))
            ways.append((1, f"({{ {chosen.name}; }})", chosen.type))
            ways.append((1, f"*&{chosen.name}", chosen.type))
            ways.append((0.5, f"(0, {chosen.name})", chosen.type))
        types = [t for t in self.records() if not contains(t, Floating)]
        if types and not self.at_file_scope:
            type = self.pick(types)
            ways.append((2, f"({type_name(type)}){self.initialiser(type)}", type))
        if routines:
            routine = self.pick(routines)
            text = self.call(routine)
            if text:
                ways.append((2, text, routine.result))
        if not ways:
            return "", Named("int", self.integers["int"])
        _, text, chosen_type = self.weighted([(way[0], way) for way in ways])
        return text, chosen_type

    # -- what only depends on types

    def sized(self) -> str:
        """Draw a type name or an expression, for sizeof."""
        return self.some_type() if self.chance(0.5) else self.some_object()

    def some_type(self) -> str:
        """Draw the spelling of a complete type."""
        if self.chance(0.1):
            return type_name(self.record(1))
        if self.chance(0.15):
            return f"{self.pick(('__typeof__', 'typeof'))}({self.some_object()})"
        type: Type = self.complete()
        if self.chance(0.1):
            type = Qualified(self.pick(("const", "volatile")), type)
        return type_name(type)

    def some_object(self) -> str:
        """Draw an expression that has a size: no bit-field, no function."""
        ways = [(1.0, self.value(1))]
        variables = self.variables()
        if variables:
            chosen = self.pick(variables)
            inside = [leaf for leaf in leaves(chosen.type, chosen.name) if leaf.integer]
            paths = [leaf.path for leaf in inside if leaf.width is None]
            ways += [
                (3, chosen.name),
                (1, f"&{chosen.name}"),
                (1, f"*&{chosen.name}"),
                (2, f"*(&{chosen.name} + 0)"),
            ]
            ways += [(1, f"({{ {chosen.name}; }})"), (1, f"(0, {chosen.name})"), (1, f"(&{chosen.name})[0]")]
            if paths and inside:
                ways += [
                    (2, self.pick(paths)),
                    (1, f"*(&{self.pick(paths)} + 0)"),
                    (1, f"+{self.pick(inside).path}"),
                ]
        text, _ = self.record_value()
        if text:
            ways.append((2, text))
        return f"({self.weighted(ways)})"

    def compatible_types(self) -> str:
        """Draw `__builtin_types_compatible_p` of two types that may be compatible."""
        first = self.type_spelling()
        second = self.related(first) if self.chance(0.6) else self.type_spelling()
        return f"__builtin_types_compatible_p({first}, {second})"

    def type_spelling(self) -> str:
        base = self.some_type() if self.chance(0.6) else type_name(self.basic())
        return self.derived(base)

    def derived(self, base: str) -> str:
        form = self.pick(
            (
                "{}",
                "{}",
                "const __typeof__({})",
                "__typeof__({}) *",
                "__typeof__({})[3]",
                "__typeof__({}) (*)[3]",
            )
        )
        if self.chance(0.15):
            form = self.pick(
                ("__typeof__({}) *(*)(void)", "int (*)(__typeof__({}) *)", "__typeof__({}) *const")
            )
        return form.format(base)

    def related(self, text: str) -> str:
        return self.pick(
            (
                f"__typeof__({text})",
                f"const __typeof__({text})",
                f"volatile __typeof__({text})",
                text.removesuffix("[3]") + "[]" if text.endswith("[3]") else text,
                text.removesuffix("(void)") + "()" if text.endswith("(void)") else text,
                text.replace("int", "unsigned int", 1) if text.startswith("int") else text,
                f"__typeof__((__typeof__({text}) *)0)",
            )
        )

    def offset(self) -> str | None:
        """Draw an expression for the offset of a member."""
        named = [t for t in self.records() if self._paths(t)]
        objects = [v for v in self.variables() if self._paths(v.type)]
        if named and (not objects or self.chance(0.5)):
            type = self.pick(named)
            path = self.pick(self._paths(type))
            if self.chance(0.5):
                return f"__builtin_offsetof({type.spelling}, {path.removeprefix('.')})"
            return f"(unsigned long)&(({type.spelling} *)0)->{path.removeprefix('.')}"
        if objects:
            chosen = self.pick(objects)
            return f"(char *)&{chosen.name}{self.pick(self._paths(chosen.type))} - (char *)&{chosen.name}"
        return None

    def _paths(self, type: Type) -> list[str]:
        if not isinstance(stripped(type), Record):
            return []
        return [leaf.path for leaf in leaves(type) if leaf.width is None and leaf.path.startswith(".")]

    def pointer_to(self, variable: Variable) -> str:
        """Draw an expression that points to a variable."""
        return self.pick((f"&{variable.name}", f"(&{variable.name} + 0)", f"&*&{variable.name}"))
