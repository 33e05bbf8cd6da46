"""Draw whole corner programs, the same for the same seed and number.

A program consists of a few declarations at file scope and a `main` of scenes. A scene declares or observes
something with the names that are visible there, in a scope that may shadow outer names. It is placed
directly, in a macro or in a header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from certus.fuzz.corners.c_types import (
    Array,
    Floating,
    Integer,
    Leaf,
    Pointer,
    Record,
    Type,
    contains,
    declaration,
    fits,
    is_const,
    leaves,
    shown,
    stripped,
    type_name,
)
from certus.fuzz.corners.drawing import VARIABLES, Routine, Variable
from certus.fuzz.corners.initialisers import NUMBERS
from certus.fuzz.corners.observations import Observing
from certus.fuzz.corners.program_tree import INPUTS, CornerProgram, Group, Input, Line, Part

MODELS: Final = ("LP64", "ILP32")


def random_program(seed: int, number: int) -> CornerProgram:
    """Draw program `number` of a campaign."""
    random = Random(f"corners/{seed}/{number}")
    model = MODELS[0] if random.random() < 0.65 else MODELS[1]
    return _Scenes(random, model).program()


@dataclass(slots=True)
class _Scenes(Observing):
    """Draws scenes and programs."""

    def program(self) -> CornerProgram:
        """Draw a program."""
        for _ in range(self.random.randint(2, 6)):
            self.file_scene()
        self.helpers()
        for _ in range(self.random.randint(0, 2)):
            self.function()
        with self.block("int main(void) {", "return 0; }"):
            for number in range(self.random.choice((0, 0, 1, 2))):
                self.input(number)
            for _ in range(self.random.randint(4, 9)):
                self.scene(2)
        return CornerProgram(self.model, tuple(self.buffers[0]), tuple(self.headers))

    def file_scene(self) -> None:
        """Draw a declaration at file scope."""
        self.weighted(
            [
                (6, self.declare_type),
                (3, self.declare_object),
                (1.5, self.declare_group),
                (2, self.change_packing),
                (0.7, self.tentative),
            ]
        )()

    def input(self, number: int) -> None:
        """Draw an input whose value an assumption fixes."""
        type = self.integers[self.pick(tuple(INPUTS))]
        value = fits(self.pick(NUMBERS) * self.pick((1, -1)), type)
        name = f"in{number}"
        self.add(Input(name, type.spelling, value, self.chance(0.5)))
        self.bind("id", name, Variable(name, type, const=True))

    def scene(self, depth: int) -> None:
        """Draw one scene, possibly in a macro or a header."""
        with self.gathered() as parts:
            self._scene(depth)
        if self.chance(0.15):
            with self.as_family("placed"):
                self.place(parts)
        else:
            self.add(*parts)

    def _scene(self, depth: int) -> None:
        scenes: list[tuple[float, str, Callable[[], object]]] = [
            (3, "types", self.observe_types),
            (3, "compatible", self.observe_compatible),
            (5, "layout", self.observe_layout),
            (5, "values", self.observe_values),
            (3, "conversions", self.observe_expressions),
            (3, "effects", self.observe_effects),
            (3, "pointers", self.observe_pointers),
            (3, "copies", self.observe_copies),
            (2, "bytes", self.observe_bytes),
            (2, "unions", self.observe_unions),
            (2, "vla", self.vla),
            (1.5, "linked", self.linked),
            (2, "statements", self.statement_expressions),
            (2, "control", self.control),
            (2, "calls", self.observe_calls),
            (1.5, "unevaluated", self.unevaluated),
            (1, "strings", self.strings),
            (1.5, "variadic", self.variadic_calls),
            (1.5, "parameters", self.array_parameters),
            (1.5, "order", self.order),
            (1.5, "builtins", self.builtins),
            (1.5, "preprocessor", self.preprocessor),
            (1.2, "linkage", self.linkage),
            (1.2, "expression-scope", self.declared_in_expression),
            (1, "function-pointers", self.function_pointers),
            (0.7, "tentative", self.tentative),
            (0.7, "flexible", self.flexible),
            (0.5, "atomic", self.atomic),
            (2.5, "types", self.declare_type),
            (3, "objects", self.declare_object),
            (1, "templates", self.declare_group),
            (0.7, "packing", self.change_packing),
        ]
        if depth:
            scenes.append((6, "shadowing", lambda: self.inner_block(depth)))
        _, family, scene = self.weighted([(s[0], s) for s in scenes])
        with self.as_family(family):
            scene()

    # -- scenes

    def inner_block(self, depth: int) -> None:
        """Draw a block with declarations that may shadow outer ones."""
        with self.block(
            self.pick(("{", "{", "do {", "if (1) {", "for (int once = 1; once; once = 0) {")), "}"
        ):
            for _ in range(self.random.randint(1, 2)):
                self.weighted([(3, self.declare_type), (2, self.declare_object), (0.5, self.declare_group)])()
            for _ in range(self.random.randint(1, 4)):
                self.scene(depth - 1)
        group = self.buffers[-1][-1]
        if isinstance(group, Group) and group.head.startswith("do"):
            self.buffers[-1][-1] = Group(group.head, group.parts, "} while (0);", group.family)

    def statement_expressions(self) -> None:
        """Draw a statement expression: a scope inside an expression, with its own declarations."""
        for _ in range(self.random.randint(1, 2)):
            self.scopes.append({})
            with self.gathered() as parts:
                for _ in range(self.random.randint(1, 2)):
                    self.weighted([(2, self.declare_type), (2, self.declare_object)])()
                text, type = self.record_value()
                inside = [leaf for leaf in leaves(type) if leaf.integer and not leaf.union]
                value = self.value(2)
            self.scopes.pop()
            plain = " ".join(_line(part) for part in parts)
            if "#" in plain:
                self.add(Group("{", tuple(parts), "}", self.family))
                continue
            if text and inside and self.chance(0.5):
                leaf = self.pick(inside)
                whole = f"({{ {plain} {text}; }})"
                self.observe(self.pick((shown(f"{whole}{leaf.path}", leaf), f"sizeof({whole})")))
            else:
                self.observe(f"(unsigned long long)({{ {plain} {value}; }})")

    def control(self) -> None:
        """Draw loops and switches whose control flow depends on conversions."""
        number = self.number("loop")
        count = f"steps{number}"
        type = self.basic(narrow=True)
        self.say(f"unsigned {count} = 0;")
        match self.random.randrange(4):
            case 0:
                start, end = self.pick((250, 65530, -3, 120)), self.pick(("> 4", "!= 9", "> -2"))
                self.say(f"for ({type.spelling} i_ = {start}; i_ {end} && {count} < 20; i_++) {count}++;")
            case 1:
                value = f"({type.spelling})({self.value(2)})"
                self.say(
                    f"switch ({value}) {{ case 0: {count} += 1; case 1 ... 5: {count} += 10; break; "
                    f"case 44: {count} = 3; break; case -1: {count} = 7; break; default: {count} += 100; }}"
                    if type.signed and type.bits > 1
                    else f"if ({value}) {count} = 5; else {count} = 6;"
                )
            case 2:
                self.say(f"while (({type.spelling})(~{count} * 64)) {{ if (++{count} > 9) break; }}")
            case _:
                limit = f"({self.value(1)} & 7)"
                self.say(f"do {{ {count}++; if ({count} == 3) continue; }} while ({count} < {limit});")
        self.observe(count)

    def unevaluated(self) -> None:
        """Draw operands with side effects that are not evaluated, next to some that are."""
        places = self.integer_leaves(writable=True, field=False)
        if not places:
            return
        path, leaf = self.pick(places)
        self.observe(
            self.pick(
                (
                    f"sizeof({path}++)",
                    f"sizeof({path} = 5, 3)",
                    f"__alignof__({path}++)",
                    f"_Generic({path}++, default: 4)",
                    f"sizeof(__typeof__({path}++))",
                    f"__builtin_choose_expr(1, 3, {path}++)",
                    f"__builtin_types_compatible_p(__typeof__({path}++), int)",
                    f"(0 && {path}++) + (1 || {path}++)",
                    f"((void)__builtin_constant_p({path}++), 2)",
                )
            )
        )
        self.observe(shown(path, leaf))

    def strings(self) -> None:
        name = self.new("id", VARIABLES)
        text = self.pick(('"abc"', '"a" "b\\0c"', '"\\x41" "2"', '"\\377"', '""'))
        self.say(f"{self.pick(('char', 'const char', 'unsigned char', 'signed char'))} {name}[] = {text};")
        self.bind("id", name, Variable(name, Array(self.integers["char"], 1), const=True))
        self.observe(f"sizeof {name} * 1000 + {name}[0]")
        self.observe(
            self.pick(('sizeof(L"ab")', 'sizeof(u"abc")', "sizeof('a') + sizeof(L'a')", '"a\\377"[1]'))
        )

    # -- functions

    def function(self) -> None:
        """Draw a function with parameters of several kinds that observes its arguments."""
        name = f"f{self.number('function')}"
        kinds = [self.parameter() for _ in range(self.random.randint(1, 3))]
        result: Type = self.scalar()
        records = [t for t in self.records() if not contains(t, Floating)]
        passed = next((t for t in kinds if isinstance(stripped(t), Record)), None)
        if passed is not None and self.chance(0.4):
            result = passed
        names = [f"p{n}" for n in range(len(kinds))]
        old = self.chance(0.12) and all(isinstance(stripped(k), Integer) for k in kinds)
        listed = ", ".join(self._parameter(k, n) for k, n in zip(kinds, names, strict=True))
        if old:
            lines = " ".join(f"{self._parameter(k, n)};" for k, n in zip(kinds, names, strict=True))
            head = f"{type_name(result)} {name}({', '.join(names)}) {lines} {{"
        else:
            head = f"{type_name(result)} {name}({listed}) {{"
        with self.as_family("functions"):
            self.scopes.append({})
            with self.gathered() as parts:
                for n, kind in zip(names, kinds, strict=True):
                    self.bind("id", n, Variable(n, kind, const=is_const(kind)))
                if self.chance(0.4) and records:
                    self.declare_type()
                for _ in range(self.random.randint(1, 2)):
                    self._scene(0)
                for n, kind in zip(names, kinds, strict=True):
                    self._look_at(n, kind)
                if passed is not None and result is passed:
                    last = names[kinds.index(passed)]
                else:
                    last = self.value(2)
                self.say(f"return {last};")
            self.scopes.pop()
            self.add(Group(head, tuple(parts), "}", self.family))
        self.bind("id", name, Routine(name, tuple(kinds), result))

    def parameter(self) -> Type:
        records = [t for t in self.records() if not contains(t, Floating) and not is_const(t)]
        ways: list[tuple[float, Callable[[], Type]]] = [(4, self.scalar)]
        if records:
            ways.append((3, lambda: self.pick(records)))
            ways.append((2, lambda: Pointer(self.pick(records))))
        return self.weighted(ways)()

    def _parameter(self, type: Type, name: str) -> str:
        part = declaration(type, name, end="")
        assert isinstance(part, Line)
        return part.text

    def _look_at(self, name: str, type: Type) -> None:
        if self.lookup("id", name) is None or not isinstance(self.lookup("id", name), Variable):
            return
        self.observe(f"sizeof({name})")
        match stripped(type):
            case Integer() as integer:
                self.observe(shown(name, Leaf(name, integer)))
            case Record():
                inside = [leaf for leaf in leaves(type, name) if leaf.integer and not leaf.union]
                for leaf in inside[:2]:
                    self.observe(shown(leaf.path, leaf))
            case Pointer(target):
                inside = [leaf for leaf in leaves(target, f"(*{name})") if leaf.integer and not leaf.union]
                for leaf in inside[:2]:
                    self.observe(shown(leaf.path, leaf))
            case _:
                pass

    def observe_calls(self) -> None:
        routines = self.functions()
        if not routines:
            return
        routine = self.pick(routines)
        text = self.call(routine, 1)
        if text is None:
            return
        if isinstance(stripped(routine.result), Integer):
            self.observe(f"(unsigned long long){text}")
            return
        inside = [leaf for leaf in leaves(routine.result) if leaf.integer and not leaf.union]
        if inside:
            leaf = self.pick(inside)
            self.observe(shown(f"{text}{leaf.path}", leaf))
        else:
            self.observe(f"sizeof({text})")


def _line(part: Part) -> str:
    match part:
        case Line(text):
            return text
        case Group(head, parts, tail):
            return " ".join([head, *map(_line, parts), tail])
        case _:
            return ""
