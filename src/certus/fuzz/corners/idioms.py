"""Scenes with a fixed core: builtins, variadic functions, array parameters, evaluation order, the
preprocessor, linkage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

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
    flat,
    is_const,
    joined,
    leaves,
    members,
    overaligned,
    stripped,
    type_name,
)
from certus.fuzz.corners.drawing import TAGS, Variable
from certus.fuzz.corners.expressions import Expressing
from certus.fuzz.corners.program_tree import Group, Line


@dataclass(slots=True)
class Idioms(Expressing):
    """Draws scenes. `ticks` says whether the program has a function with a side effect; `variadic` and
    `taking` are the calls that fit the functions of the program."""

    ticks: bool = False
    variadic: list[Callable[[], str | None]] = field(default_factory=list)
    taking: list[Callable[[], str | None]] = field(default_factory=list)

    # -- functions at file scope

    def helpers(self) -> None:
        """Draw functions that later scenes call."""
        if self.chance(0.4):
            self.say("static int ticks; static int tick(void) { return ++ticks; }")
            self.ticks = True
        if self.chance(0.3):
            with self.as_family("variadic"):
                self._variadic()
        if self.chance(0.4):
            with self.as_family("parameters"):
                self._array_parameter()

    def _variadic(self) -> None:
        name = f"gather{self.number('variadic')}"
        promoted = [self.integers[n] for n in ("int", "unsigned int", "long", "unsigned long", "long long")]
        records = [t for t in self.records() if _readable(t)]
        types: list[Type] = [
            self.pick(records) if records and self.chance(0.3) else self.pick(promoted)
            for _ in range(self.random.randint(1, 4))
        ]
        with self.block(f"static unsigned long long {name}(int first, ...) {{", "return sum; }"):
            self.say(
                "unsigned long long sum = first; __builtin_va_list list; __builtin_va_start(list, first);"
            )
            for type in types:
                item = f"__builtin_va_arg(list, {type_name(type)})"
                readable = _readable(type)
                self.say(f"sum = sum * 31 + {item}{self.pick(readable).path if readable else ''};")
            self.say("__builtin_va_end(list);")

        def call() -> str | None:
            arguments = [self._passed(type) for type in types]
            return (
                None
                if None in arguments
                else f"{name}({', '.join([self.value(0), *filter(None, arguments)])})"
            )

        self.variadic.append(call)

    def _passed(self, type: Type) -> str | None:
        """Draw an argument whose promoted type is this one."""
        if isinstance(stripped(type), Record):
            return self.argument(type, 0)
        narrow = self.pick(("char", "short", "_Bool", "unsigned char", "unsigned short"))
        shown = narrow if type_name(type) == "int" and self.chance(0.6) else type_name(type)
        return f"({shown})({self.value(1)})"

    def _array_parameter(self) -> None:
        name = f"taking{self.number('taking')}"
        type = self.complete(0)
        inner = stripped(type)
        if overaligned(type) or not isinstance(inner, (Integer, Record)) or contains(type, Floating):
            type = self.integers["short"]
        element, lengths = type_name(type), ["", "n", "n++", "static 2", "const 3", "n + 1", "4"]
        if self.ticks:
            lengths += ["tick()", "tick() + n"]
        first, second = self.pick(lengths), self.pick(("3", "n", "n++", "n + 1", "(n ? n : 1)"))
        flat_one = self.chance(0.5)
        if not flat_one and first.startswith(("static", "const")):
            first = "2"
        shape = f"a[{first}]" if flat_one else f"a[{first}][{second}]"
        with self.block(f"static int {name}(int n, {element} {shape}) {{", "return n; }"):
            self.observe("n")
            self.observe("sizeof(a)")
            self.observe("sizeof(a[0])")
            if not flat_one:
                self.observe("(char *)(a + 1) - (char *)a")
        count = self.random.randint(1, 3)

        def call() -> str | None:
            if not flat_one:
                return f"{name}({count}, 0)"
            return f"{name}({count}, ({element} [64]){{}})" if self.spelled(type) else None

        self.taking.append(call)

    # -- scenes

    def variadic_calls(self) -> None:
        text = self.pick(self.variadic)() if self.variadic else None
        if text:
            self.observe(text)

    def array_parameters(self) -> None:
        text = self.pick(self.taking)() if self.taking else None
        if text:
            self.observe(text)
        if self.ticks:
            self.observe("ticks")

    def order(self) -> None:
        """Draw operands with side effects, in the order of Clang."""
        if not self.ticks:
            return
        number = self.number("order")
        name = f"order{number}"
        self.say(f"int {name}[8] = {{0}};")
        self.observe(
            self.pick(
                (
                    "tick() * 100 + tick()",
                    "tick() - tick() * 10",
                    f"({name}[tick() & 7] = tick())",
                    f"({name}[tick() & 7] += tick())",
                    "((int[]){tick(), tick(), tick()})[1]",
                    "((struct { int a, b; }){.b = tick(), .a = tick()}).b",
                    "(tick(), tick()) + (tick() ? tick() : 0)",
                    "({ int l_ = tick(); l_ * 10 + tick(); })",
                    "(tick() && 0) || tick() > 1",
                )
            )
        )
        self.say(
            f"int after{number} = 0; "
            f"for (int at_ = 0; at_ < 8; at_++) after{number} = after{number} * 7 + {name}[at_];"
        )
        self.observe(f"after{number}")
        self.observe("ticks")

    def builtins(self) -> None:
        number = self.number("builtin")
        for _ in range(self.random.randint(1, 2)):
            value = self.value(1)
            dice = self.random.random()
            if dice < 0.4:
                type = self.integers[
                    self.pick(("int", "unsigned int", "long long", "signed char", "unsigned short"))
                ]
                name = f"result{number}_{self.number('result')}"
                self.say(f"{type.spelling} {name} = 0;")
                operation = self.pick(("add", "sub", "mul"))
                second = self.value(1)
                self.observe(f"__builtin_{operation}_overflow(({value}), ({second}), &{name})")
                self.observe(name)
            else:
                self.observe(
                    self.pick(
                        (
                            f"__builtin_popcount({value})",
                            f"__builtin_popcountll({value})",
                            f"__builtin_ffs({value})",
                            f"__builtin_clz(({value}) | 1)",
                            f"__builtin_ctzl(({value}) | 64)",
                            f"__builtin_parity({value})",
                            f"__builtin_bswap16({value})",
                            f"__builtin_bswap32({value})",
                            f"__builtin_bswap64({value})",
                            f"__builtin_expect(({value}), 1)",
                            f"__builtin_choose_expr(sizeof({self.some_type()}) > 4, {value}, 3)",
                            f"__builtin_constant_p(3) + __builtin_constant_p({self.literal(5)})",
                        )
                    )
                )

    def preprocessor(self) -> None:
        """Draw macros that paste, make strings or count, and text that only looks like C."""
        number = self.number("preprocessor")
        match self.random.randrange(7):
            case 0:
                fields = [(type_name(self.basic()), f"m{n}") for n in range(self.random.randint(1, 3))]
                listed = " ".join(f"X({t}, {n})" for t, n in fields)
                self.say(f"#define FIELDS{number}(X) {listed}")
                self.say(f"#define FIELD{number}(t, n) t n;")
                self.say(f"#define SIZE{number}(t, n) + sizeof(t)")
                self.say(f"struct fields{number} {{ FIELDS{number}(FIELD{number}) }};")
                self.observe(f"sizeof(struct fields{number})")
                self.observe(f"0 FIELDS{number}(SIZE{number})")
            case 1:
                self.say(f"#define PASTE{number}(a, b) a##b")
                self.say(f"unsigned PASTE{number}(pasted, {number}) = {self.value(1)};")
                self.observe(f"pasted{number}")
            case 2:
                self.say(f"#define TEXT{number}(...) #__VA_ARGS__")
                self.observe(
                    f"sizeof(TEXT{number}({self.pick(('a b', 'struct { int x; }', '1, 2', '/* */ x'))}))"
                )
            case 3:
                self.say(f"#define COUNT{number}(...) (sizeof((int[]){{__VA_ARGS__}}) / sizeof(int))")
                self.observe(
                    f"COUNT{number}({', '.join(self.value(0) for _ in range(self.random.randint(1, 4)))})"
                )
            case 4:
                self.say(
                    f'const char *text{number} = "struct T {{ int x; }}; #pragma pack(1)"; '
                    "/* typedef char T; } */"
                )
                self.observe(f"text{number}[{self.random.randint(0, 12)}]")
            case 5:
                self.say(f"short digraph{number}<:3:> = <%1, 2, 3%>;")
                self.observe(f"sizeof digraph{number} + digraph{number}<:1:>")
            case _:
                self.observe(
                    self.pick(("__COUNTER__ * 0 + 1", "sizeof(__func__)", "__INT_MAX__", "__SIZEOF_LONG__"))
                )

    def linkage(self) -> None:
        """Draw a name with external linkage that inner scopes hide and declare again, and static locals."""
        outer = [
            (key[1], b)
            for key, b in self.scopes[0].items()
            if isinstance(b, Variable) and isinstance(stripped(b.type), Integer) and self._external(b)
        ]
        if outer and self.chance(0.6):
            name, variable = self.pick(outer)
            leaf = Leaf(name, variable.type)
            with self.block():
                self.say(f"short {name} = {self.pick((3, 7, 300))}; {name}++;")
                self.observe(name)
                with self.block():
                    if self._respelled(variable.type):
                        self.say(f"extern {type_name(variable.type)} {name};")
                        self.observe(f"(unsigned long long){leaf.path}")
            return
        number = self.number("static")
        self.say(f"unsigned total{number} = 0;")
        with self.block(f"for (int round{number} = 0; round{number} < 3; round{number}++) {{", "}"):
            self.say(f"static {type_name(self.basic(narrow=True))} kept = {self.pick((1, 100, 250))};")
            self.say(f"kept += 3; total{number} = total{number} * 5 + kept;")
        self.observe(f"total{number}")

    def _external(self, variable: Variable) -> bool:
        return not variable.const and isinstance(variable.type, Integer) and variable.external

    def _respelled(self, type: Type) -> bool:
        return self.spelled(type) and not is_const(type)

    def declared_in_expression(self) -> None:
        """Draw tags and enumerators that an expression declares, and their use in the same expression."""
        tag = self.pick(TAGS)
        self.scopes.append({})
        self.bind("tag", tag, Variable(tag, self.integers["int"]))
        record = self.record(1)
        self.scopes.pop()
        head = joined((record.kind, record.attributes, tag, "{"))
        text = flat(Group(head, members(record), joined(("}", record.after))))
        name = f"{record.kind} {tag}"
        with self.block():
            self.observe(
                self.pick(
                    (
                        f"sizeof({text}) * 1000 + sizeof({name})",
                        f"sizeof(({text} *)0) + sizeof({name}) * 100",
                        f"(char *)(({text} *)0 + 1) - (char *)(({name} *)0)",
                        f"_Alignof({text}) * 1000 + sizeof({name} [2])",
                        "sizeof(enum { LOW = -3, HIGH = 9 }) * 100 + HIGH",
                        f"({{ {text}; sizeof({name}); }})",
                    )
                )
            )

    def function_pointers(self) -> None:
        number = self.number("pointer")
        routines = [r for r in self.functions() if isinstance(stripped(r.result), Integer)]
        routines = [r for r in routines if all(isinstance(stripped(p), Integer) for p in r.parameters)]
        if not routines:
            return
        routine = self.pick(routines)
        self.say(f"__typeof__({routine.name}) *call{number} = {self.pick(('', '&', '*'))}{routine.name};")
        arguments = ", ".join(self.value(0) for _ in routine.parameters)
        how = self.pick(
            (f"call{number}", f"(*call{number})", f"(***call{number})", f"(1 ? call{number} : 0)")
        )
        self.observe(f"(unsigned long long){how}({arguments})")
        self.observe(f"sizeof(call{number}({arguments}))")

    def tentative(self) -> None:
        """Draw arrays whose length a later declaration or the initialiser determines."""
        number = self.number("tentative")
        type = self.complete(0)
        if overaligned(type) or contains(type, Floating) or is_const(type):
            type = self.integers["unsigned short"]
        length = self.random.randint(1, 4)
        name = f"array{number}"
        if self.at_file_scope:
            self.add(declaration(Array(type, length), name, before="extern", family=self.family))
            text = declaration(Array(type, length), name, family=self.family)
            if isinstance(text, Line):
                self.say(text.text.replace(f"[{length}]", "[]", 1))
                self.add(text)
            self.bind("id", name, Variable(name, Array(type, length), const=True))
        else:
            items = ", ".join(f"[{self.random.randrange(6)}] = {self.initialiser(type)}" for _ in range(2))
            self.add(declaration(type, f"{name}[]", end=f" = {{{items}}};", family=self.family))
            self.observe(f"sizeof {name}")
            self.observe(f"sizeof {name} / sizeof *{name}")

    def flexible(self) -> None:
        number = self.number("flexible")
        first, last = self.scalar(), self.complete(0)
        if overaligned(last) or contains(last, Floating) or is_const(last) or isinstance(last, Pointer):
            last = self.integers["char"]
        self.say(f"struct flexible{number} {{ {type_name(first)} head; {type_name(last)} rest[]; }};")
        self.observe(
            f"sizeof(struct flexible{number}) * 100 + __builtin_offsetof(struct flexible{number}, rest)"
        )
        self.observe(f"__builtin_offsetof(struct flexible{number}, rest[2])")

    def atomic(self) -> None:
        """Draw atomic integers; no `_Bool`, whose sum Clang does not convert back."""
        type = self.basic(narrow=True)
        if type.bits == 1:
            return
        number = self.number("atomic")
        spelling = type_name(type)
        self.say(
            f"_Atomic({spelling}) atomic{number} = {self.pick((1, 100))}; "
            f"atomic{number} += {self.pick((3, 200))};"
        )
        self.observe(f"atomic{number}")
        self.observe(f"sizeof atomic{number} * 10 + _Alignof(_Atomic({spelling}))")


def _readable(type: Type) -> list[Leaf]:
    """Return the integers of a record that can be passed and observed; none for other types."""
    if (
        not isinstance(stripped(type), Record)
        or contains(type, Floating)
        or is_const(type)
        or overaligned(type)
    ):
        return []
    return [leaf for leaf in leaves(type) if leaf.integer and not leaf.union and leaf.integer.bits <= 64]
