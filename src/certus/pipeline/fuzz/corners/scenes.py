"""Draw whole corner programs: the same for the same seed and number.

A program is a few declarations at file scope and a `main` of scenes. A scene declares or observes something by what
is visible where it stands, in a scope that may shadow outer names, and is placed directly, in a macro or in a header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from certus.pipeline.fuzz.corners.declarations import NUMBERS
from certus.pipeline.fuzz.corners.drawing import VARIABLES, Routine, Variable
from certus.pipeline.fuzz.corners.idioms import Idioms
from certus.pipeline.fuzz.corners.parts import INPUTS, CornerProgram, Group, Input, Line, Part
from certus.pipeline.fuzz.corners.shapes import (
    Array,
    Floating,
    Integer,
    Leaf,
    Named,
    Pointer,
    Record,
    Type,
    aggregates,
    contains,
    declaration,
    fits,
    is_const,
    leaves,
    overaligned,
    stripped,
    type_name,
)

MODELS: Final = ("LP64", "ILP32")


def made(seed: int, number: int) -> CornerProgram:
    """Program `number` of a campaign."""
    random = Random(f"corners/{seed}/{number}")
    model = MODELS[0] if random.random() < 0.65 else MODELS[1]
    return _Scenes(random, model).program()


@dataclass(slots=True)
class _Scenes(Idioms):
    def program(self) -> CornerProgram:
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
        """An input whose value is fixed by an assumption."""
        type = self.integers[self.pick(tuple(INPUTS))]
        value = fits(self.pick(NUMBERS) * self.pick((1, -1)), type)
        name = f"in{number}"
        self.add(Input(name, type.spelling, value, self.chance(0.5)))
        self.bind("id", name, Variable(name, type, const=True))

    def scene(self, depth: int) -> None:
        """One scene, possibly from a macro or a header."""
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
        with self.block(self.pick(("{", "{", "do {", "if (1) {", "for (int once = 1; once; once = 0) {")), "}"):
            for _ in range(self.random.randint(1, 2)):
                self.weighted([(3, self.declare_type), (2, self.declare_object), (0.5, self.declare_group)])()
            for _ in range(self.random.randint(1, 4)):
                self.scene(depth - 1)
        group = self.buffers[-1][-1]
        if isinstance(group, Group) and group.head.startswith("do"):
            self.buffers[-1][-1] = Group(group.head, group.parts, "} while (0);", group.family)

    def observe_types(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            dice = self.random.random()
            if dice < 0.4:
                self.observe(f"sizeof({self.some_type()})")
            elif dice < 0.6:
                self.observe(f"{self.pick(('_Alignof', '__alignof__'))}({self.some_type()})")
            elif dice < 0.8:
                self.observe(f"sizeof {self.some_object()}")
            else:
                self.observe(f"_Generic({self.controlling(1)}, {self.associations()}default: 99)")

    def associations(self) -> str:
        """Cases of `_Generic` for types that are visible here and surely differ."""
        found: dict[int, str] = {}
        for type in self.types(lambda t: isinstance(stripped(t), Record))[:4]:
            found.setdefault(id(stripped(type)), type.spelling)
        cases = [f"{text}: {n}, {text} *: {n + 10}, " for n, text in enumerate(found.values(), 1)]
        return "".join(cases) + self.pick(("", "int: 50, ", "char *: 51, int *: 52, ", "unsigned: 53, long: 54, "))

    def observe_compatible(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.observe(self.compatible_types())

    def observe_layout(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            text = self.offset()
            if text:
                self.observe(text)
        found = self.variables()
        if found:
            chosen = self.pick(found)
            self.observe(f"sizeof({chosen.name})")
            if self.chance(0.4):
                self.observe(f"__alignof__({chosen.name})")
            if self.chance(0.4):
                self.observe(f"(unsigned long)&{chosen.name} % __alignof__({chosen.name})")

    def observe_values(self) -> None:
        """Write to some integers of an object, then look at all of them."""
        found = [v for v in self.variables() if any(leaf.integer for leaf in leaves(v.type))]
        if not found:
            return
        chosen = self.pick(found)
        own = [leaf for leaf in leaves(chosen.type, chosen.name) if leaf.integer and not leaf.union]
        for leaf in own:
            if not leaf.const and not chosen.const and self.chance(0.4):
                self.say(f"{leaf.path} = {self.value(1)};")
        for leaf in self.random.sample(own, min(len(own), 4)):
            self.observe(shown(leaf.path, leaf))

    def observe_expressions(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            text = self.value(3)
            self.observe(f"sizeof(+({text}))" if self.chance(0.25) else f"(unsigned long long)({text})")

    def observe_effects(self) -> None:
        """Assignments as expressions."""
        for _ in range(self.random.randint(1, 3)):
            places = self.integer_leaves(writable=True)
            if not places:
                return
            path, leaf = self.pick(places)
            operator = self.pick(("=", "+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="))
            value = f"({self.value(0)} & 7)" if operator in ("<<=", ">>=") else self.number_text(self.integers["int"])
            text = self.pick((f"{path} {operator} {value}", f"{path}++", f"--{path}", f"({path} = {value}, {path})"))
            self.observe(f"(unsigned long long)({text})")
            self.observe(shown(path, leaf))

    def observe_pointers(self) -> None:
        """Strides, and objects through pointers of several spellings."""
        found = [v for v in self.variables() if not overaligned(v.type)]
        if not found:
            return
        chosen = self.pick(found)
        name = self.new("id", VARIABLES)
        if name == chosen.name:
            return
        self.observe(f"(char *)(&{chosen.name} + 1) - (char *)&{chosen.name}")
        kind = self.pick(("__auto_type", f"__typeof__({chosen.name}) *", "named"))
        pointer = Pointer(chosen.type)
        if kind == "named" and self.spelled(chosen.type):
            self.add(declaration(pointer, name, end=f" = (void *)&{chosen.name};", family=self.family))
        else:
            kind = "__auto_type" if kind == "named" else kind
            self.say(f"{kind} {name} = {self.pointer_to(chosen)};")
        self.bind("id", name, Variable(name, pointer, const=True))
        if self.chance(0.6):
            with self.block():
                self.declare_type()
                self._through(name, chosen)
        else:
            self._through(name, chosen)

    def _through(self, name: str, target: Variable) -> None:
        if self.lookup("id", name) is None or not isinstance(self.lookup("id", name), Variable):
            return
        self.observe(f"(char *)({name} + 1) - (char *){name}")
        self.observe(f"sizeof(*{self.pick((name, f'({name} + 1)', f'(0, {name})', f'&{name}[0]'))})")
        inside = [leaf for leaf in leaves(target.type) if leaf.integer and not leaf.union]
        for leaf in self.random.sample(inside, min(2, len(inside))):
            base = self.pick((f"(*{name})", f"(*({name} + 0))", f"{name}[0]", f"(1 ? {name} : {name})[0]"))
            if not leaf.const and not target.const and self.chance(0.6):
                self.say(f"{base}{leaf.path} = {self.number_text(self.integers['int'])};")
            self.observe(shown(f"{base}{leaf.path}", leaf))

    def observe_copies(self) -> None:
        """A record copied in one of many ways, and what the copy holds."""
        found = [v for v in self.variables() if isinstance(stripped(v.type), Record)]
        if not found:
            return
        chosen = self.pick(found)
        if is_const(chosen.type) and not chosen.const:
            return
        name = self.new("id", VARIABLES)
        if name == chosen.name:
            return
        source = self.pick((chosen.name, f"*&{chosen.name}", f"({{ {chosen.name}; }})", f"(&{chosen.name})[0]"))
        word = self.pick(("__auto_type", "__typeof__"))
        if word == "__auto_type":
            self.say(f"__auto_type {name} = {source};")
        elif self.chance(0.5) and not is_const(chosen.type) and not chosen.const:
            self.say(f"__typeof__({chosen.name}) {name} = {source};")
        else:
            pair = f"(__typeof__({chosen.name}) [2]){{[1] = {source}}}" if not overaligned(chosen.type) else source
            self.say(f"__typeof__({chosen.name}) {name} = {pair}{'[1]' if pair != source else ''};")
        self.bind("id", name, Variable(name, chosen.type, const=True))
        inside = [leaf for leaf in leaves(chosen.type) if leaf.integer and not leaf.union]
        for leaf in self.random.sample(inside, min(3, len(inside))):
            self.observe(shown(f"{name}{leaf.path}", leaf))

    def observe_bytes(self) -> None:
        """An object whose bytes are all set, some members of it, and the bytes afterwards."""
        types = [t for t in self.records() if not is_const(t) and not contains(t, Floating) and not contains(t, Pointer)]
        if not types:
            return
        type = self.pick(types)
        number = self.number("image")
        pattern = 0 if self.chance(0.6) else 1
        if pattern and any("_BitInt" in str(leaf.type) for leaf in leaves(type)):
            pattern = 0
        name = f"image{number}"
        self.say(f"{type.spelling} {name}; __builtin_memset(&{name}, {pattern}, sizeof {name});")
        inside = [leaf for leaf in leaves(type, name) if leaf.integer and leaf.integer.bits <= 64]
        for leaf in self.random.sample(inside, min(3, len(inside))):
            if leaf.integer is not None and "_BitInt" not in str(leaf.type):
                self.say(f"{leaf.path} = {self.number_text(leaf.integer, leaf.width)};")
        self.say(
            f"unsigned long long hash{number} = 0; for (unsigned at_ = 0; at_ < sizeof {name}; at_++) "
            f"hash{number} = hash{number} * 31 + ((unsigned char *)&{name})[at_];"
        )
        self.observe(f"hash{number}")
        if self.chance(0.5):
            self.observe(f"((unsigned char *)&{name})[sizeof {name} - 1 < 3 ? 0 : 3]")

    def observe_unions(self) -> None:
        """Write one member of a union and read it, or a narrower one, back."""
        found = []
        for variable in self.variables(lambda v: not v.const and not is_const(v.type)):
            for path, type in aggregates(variable.type, variable.name):
                record = stripped(type)
                if isinstance(record, Record) and record.kind == "union":
                    found.append((path, record))
        if not found:
            return
        path, record = self.pick(found)
        parts = [leaf for leaf in leaves(record, path) if _plain(leaf)]
        if not parts:
            return
        widest = max(parts, key=_bits)
        self.say(f"{widest.path} = {self.value(1)};")
        for leaf in self.random.sample(parts, min(2, len(parts))):
            if leaf is widest or _bits(leaf) < _bits(widest):
                chosen = leaf if stripped(record) is record and _direct(leaf, path) and _direct(widest, path) else widest
                self.observe(shown(chosen.path, chosen))

    def vla(self) -> None:
        """Arrays of a length that is computed, and lengths with side effects."""
        number = self.number("vla")
        count, array = f"count{number}", f"vla{number}"
        self.say(f"int {count} = {self.pick((1, 2, 3, 5))} + (({self.value(1)}) & 3);")
        type = self.complete(0)
        if overaligned(type) or isinstance(stripped(type), Record) and contains(type, Floating):
            type = self.integers["short"]
        element = type_name(type) if not isinstance(type, Pointer) else "long"
        match self.random.randrange(6):
            case 0:
                self.say(f"{element} {array}[{count}];")
                self.say(f"{count} += 2;")
                self.observe(f"sizeof {array}")
            case 1:
                self.observe(f"sizeof({element}[{count}++])")
            case 2:
                self.say(f"typedef {element} shape{number}[{count}++]; shape{number} {array};")
                self.observe(f"sizeof {array} + sizeof(shape{number})")
            case 3:
                self.say(f"{element} {array}[{count}][3]; __typeof__({array}) *pointer{number} = &{array}; {count}--;")
                self.observe(f"sizeof *pointer{number} + sizeof {array}[0]")
                self.observe(f"(char *)(pointer{number} + 1) - (char *)pointer{number}")
            case 4:
                self.say(f"{element} {array}[2][{count}]; {count} = 1;")
                self.observe(f"(char *){array}[1] - (char *){array}[0]")
                self.observe(f"sizeof(__typeof__({array}[0]))")
            case _:
                self.say(f"{element} (*{array})[{count}] = 0; __typeof__(*{array}) *other{number} = {array};")
                self.observe(f"sizeof(*{array}) * 100 + sizeof *other{number}")
                self.observe(f"sizeof({self.pick((f'*({array} + ({count}++ & 0))', f'(*{array})[{count}++]'))})")
        self.observe(count)

    def statement_expressions(self) -> None:
        """A scope inside an expression, with declarations of its own."""
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
        """Loops and switches whose conversions decide how control goes on."""
        number = self.number("loop")
        count = f"steps{number}"
        type = self.basic(narrow=True)
        self.say(f"unsigned {count} = 0;")
        match self.random.randrange(4):
            case 0:
                start = self.pick((250, 65530, -3, 120))
                self.say(
                    f"for ({type_name(type)} i_ = {start}; i_ {self.pick(('>', '!='))} {self.pick((4, 9))} && "
                    f"{count} < 20; i_++) {count}++;"
                )
            case 1:
                value = self.value(2)
                self.say(
                    f"switch (({type_name(type)})({value})) {{ case 0: {count} += 1; case 1 ... 5: {count} += 10; break; "
                    f"case 44: {count} = 3; break; case -1: {count} = 7; break; default: {count} += 100; }}"
                    if type.signed and type.bits > 1
                    else f"if (({type_name(type)})({value})) {count} = 5; else {count} = 6;"
                )
            case 2:
                self.say(f"while (({type_name(type)})(~{count} * 64)) {{ if (++{count} > 9) break; }}")
            case _:
                self.say(f"do {{ {count}++; if ({count} == 3) continue; }} while ({count} < ({self.value(1)} & 7));")
        self.observe(count)

    def unevaluated(self) -> None:
        """Side effects that must not happen, and such that must."""
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
                    f"__builtin_constant_p({path}++)",
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
        self.observe(self.pick(("sizeof(L\"ab\")", "sizeof(u\"abc\")", "sizeof('a') + sizeof(L'a')", "\"a\\377\"[1]")))

    # -- functions

    def function(self) -> None:
        """A function with parameters of several kinds, which observes what they have become."""
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


def shown(path: str, leaf: Leaf) -> str:
    """An expression for the value of a scalar that fits 64 bits."""
    wide = leaf.integer is not None and leaf.integer.bits > 64
    return f"(unsigned long long)({path})" if wide else path


def _bits(leaf: Leaf) -> int:
    return leaf.integer.bits if leaf.integer else 0


def _plain(leaf: Leaf) -> bool:
    """Whether reading it after other bytes were written is harmless."""
    return leaf.integer is not None and leaf.width is None and leaf.integer.bits > 1 and "_BitInt" not in str(leaf.type)


def _direct(leaf: Leaf, union: str) -> bool:
    """Whether the leaf is a member of the union itself."""
    return leaf.path.count(".") == union.count(".") + 1 and "[" not in leaf.path[len(union) :]


def _line(part: Part) -> str:
    match part:
        case Line(text):
            return text
        case Group(head, parts, tail):
            return " ".join([head, *map(_line, parts), tail])
        case _:
            return ""


__all__ = ["MODELS", "Named", "made"]
