"""Random C programs, the same for the same seed. They do nothing undefined on purpose, and nothing whose
order C leaves open: of two operands that are not sequenced at most one has effects, and the other one then
reads only what no effect changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

NARROW = {
    "_Bool": "bool",
    "char": "char",
    "signed char": "schar",
    "unsigned char": "uchar",
    "short": "short",
    "unsigned short": "ushort",
    "int": "int",
    "unsigned int": "uint",
    "long": "long",
    "unsigned long": "ulong",
    "long long": "longlong",
    "unsigned long long": "ulonglong",
}
WIDE = ("__int128", "unsigned __int128")  # only where pointers have 64 bits
BITS = {
    **{"_Bool": 1, "char": 8, "signed char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16},
    **{"int": 32, "unsigned int": 32, "long": 32, "unsigned long": 32},
    **{"long long": 64, "unsigned long long": 64, "__int128": 128, "unsigned __int128": 128},
}  # at least so many on every data model
LITERALS = (
    *("0", "1", "2", "3", "5", "7", "-1", "-2", "-7", "100", "127", "128", "-128", "255", "256", "32767"),
    *("0x8000", "65535", "0x7fffffff", "0x80000000", "4294967295", "0xffffffffU", "-2147483647 - 1"),
    *("0x7fffffffffffffffLL", "0x8000000000000000ULL", "1L", "3UL", "-1LL", "12345678901LL", "10U", "1ULL"),
    *("'a'", "'\\xff'", "'\\0'", "sizeof(int)", "sizeof(long)", "010", "0xabcdefU"),
)
PREAMBLE = """\
#ifdef COMPILED
void observe(unsigned long long value);
#else
void observe(unsigned long long value) { }
#endif
void reach_error(void);
void abort(void);
void __VERIFIER_assume(int holds);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ size);
void *memset(void *to, int value, __SIZE_TYPE__ size);
"""


def batch(seed: int, programs: int, *, wide: bool) -> str:
    """A C file with so many programs; the first input, an `unsigned int`, chooses the one that runs.
    `wide` if there is `__int128`."""
    parts = [PREAMBLE, *(f"{t} __VERIFIER_nondet_{n}(void);\n" for t, n in NARROW.items())]
    for number in range(programs):
        parts += ["\n", program(Random(f"{seed}/{number}"), number, wide=wide)]
    cases = "".join(f"    case {n}: program_{n}(); break;\n" for n in range(programs))
    return "".join(
        [*parts, f"\nint main(void)\n{{\n    switch (__VERIFIER_nondet_uint()) {{\n{cases}    }}\n}}\n"]
    )


def program(random: Random, number: int, *, wide: bool) -> str:
    """The declarations and functions of one program, all named after its number."""
    return _Program(random, number, wide).text()


@dataclass(frozen=True, slots=True)
class _Place:
    """Something to read and assign; `@n` in its text is an index below n."""

    text: str
    type: str


@dataclass(slots=True)
class _Scope:
    """What the expressions of a function may name."""

    places: list[_Place]
    frozen: list[str]  # what no effect within an expression changes
    calls: list[tuple[str, int]]  # functions with so many integer parameters
    conditions: list[str] = field(default_factory=list)  # about pointers
    loops: int = 0
    labels: int = 0

    def inner(self) -> _Scope:
        return _Scope(
            list(self.places),
            list(self.frozen),
            self.calls,
            list(self.conditions),
            self.loops,
            self.labels,
        )


class _Program:
    def __init__(self, random: Random, number: int, wide: bool) -> None:
        self.random = random
        self.number = number
        self.types = (*NARROW, *WIDE) if wide else tuple(NARROW)
        self.lines: list[str] = []
        self.depth = 0
        self.names = 0
        self.chosen = ""  # what a pointer handed to functions points to
        self.record_places: list[_Place] = []  # members, with `$` for the record
        self.union_places: list[_Place] = []

    # ------------------------------------------------------------------------------ helpers

    def chance(self, likely: float) -> bool:
        return self.random.random() < likely

    def type(self) -> str:
        return self.random.choice(self.types)

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.number}_{self.names}"

    def say(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def literal(self) -> str:
        return f"({self.random.choice((*LITERALS, f'A_{self.number}', f'B_{self.number}'))})"

    # -------------------------------------------------------------------------- expressions

    def index(self, size: int, scope: _Scope, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return str(self.random.randrange(size))
        value = self.frozen(scope, depth - 1)
        return f"(unsigned)({value}) % {size}u" if size & size - 1 else f"({value}) & {size - 1}"

    def place(self, scope: _Scope, depth: int) -> _Place:
        chosen = self.random.choice(scope.places)
        first, *rest = chosen.text.split("@")
        parts = [first]
        for part in rest:
            parts += [self.index(int(part[0]), scope, depth), part[1:]]
        return _Place("".join(parts), chosen.type)

    def frozen(self, scope: _Scope, depth: int) -> str:
        def leaf(_: int) -> str:
            return self.random.choice(scope.frozen) if scope.frozen and self.chance(0.6) else self.literal()

        return leaf(0) if depth <= 0 or self.chance(0.3) else self.operation(leaf, leaf, 0)

    def pure(self, scope: _Scope, depth: int) -> str:
        if depth <= 0 or self.chance(0.15):
            dice = self.random.random()
            if dice < 0.65:
                return self.place(scope, 1).text
            if dice < 0.7 and scope.conditions:
                return f"({self.random.choice(scope.conditions)})"
            return self.frozen(scope, 0)
        operand = lambda d: self.pure(scope, d)  # noqa: E731
        return self.operation(operand, operand, depth - 1)

    def effect(self, scope: _Scope, depth: int) -> str:
        """An expression that may change something."""
        dice = self.random.random()
        if depth <= 0 or dice < 0.3:
            return self.change(scope)
        inner = lambda d: self.effect(scope, d)  # noqa: E731
        still = lambda d: self.frozen(scope, min(d, 1))  # noqa: E731
        if dice < 0.5:
            return self.operation(inner, still, depth - 1)
        if dice < 0.58:
            return f"({inner(depth - 1)} {self.random.choice(('&&', '||'))} {inner(depth - 1)})"
        if dice < 0.66:
            return f"({self.pure(scope, 1)} ? {inner(depth - 1)} : {inner(depth - 1)})"
        if dice < 0.7:
            return f"({inner(depth - 1)}, {self.pure(scope, 1)})"
        if dice < 0.75:
            return f"({self.pure(scope, 1)}, {inner(depth - 1)})"
        if dice < 0.8:
            name = self.name("e")
            return f"({{ {self.type()} {name} = {inner(depth - 1)}; {name}++; {name}; }})"
        if scope.calls:
            function, parameters = self.random.choice(scope.calls)
            changing = self.random.randrange(parameters)
            given = [inner(depth - 1) if i == changing else still(1) for i in range(parameters)]
            return f"{function}({', '.join(given)})"
        return self.change(scope)

    def change(self, scope: _Scope) -> str:
        target = self.place(scope, 1)
        dice = self.random.random()
        if dice < 0.2:
            return f"({target.text}{self.random.choice(('++', '--'))})"
        if dice < 0.4:
            return f"({self.random.choice(('++', '--'))}{target.text})"
        if dice < 0.65:
            return f"({target.text} = {self.pure(scope, 2)})"
        return f"({target.text} {self.compound(lambda d: self.pure(scope, d))})"

    def compound(self, operand: Callable[[int], str]) -> str:
        operator = self.random.choice(("+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>"))
        return f"{operator}= {self.right(operator, operand(2), 32)}"

    def right(self, operator: str, value: str, width: int) -> str:
        """A right operand with which the operator is defined."""
        if operator in ("<<", ">>"):
            return f"(({value}) & {width - 1})"
        if operator in ("/", "%"):
            most = self.random.choice((1, 7, 255, 65535))
            divisor = f"((({value}) & {most}) + {self.random.choice((1, 2, 3))})"
            return f"(-{divisor} - 1)" if self.chance(0.25) else divisor
        return value

    def operation(self, left: Callable[[int], str], right: Callable[[int], str], depth: int) -> str:
        """An operator with operands; only `left` may have effects."""
        dice = self.random.random()
        if dice < 0.3:
            operator = self.random.choice(("+", "-", "*", "&", "|", "^"))
        elif dice < 0.4:
            operator = self.random.choice(("/", "%"))
        elif dice < 0.5:
            cast = self.type()
            width = max(32, BITS[cast])
            operator = self.random.choice(("<<", ">>"))
            amount = self.right(operator, right(depth), width)
            return f"(({cast})({left(depth)}) {operator} {amount})"
        elif dice < 0.65:
            operator = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        elif dice < 0.72:
            operator = self.random.choice(("&&", "||"))
        elif dice < 0.8:
            return f"({left(depth)} ? {right(depth)} : {right(depth)})"
        elif dice < 0.9:
            return f"(({self.type()}){left(depth)})"
        else:
            return f"({self.random.choice(('-', '~', '!', '+'))}{left(depth)})"
        return f"({left(depth)} {operator} {self.right(operator, right(depth), 32)})"

    # ---------------------------------------------------------------------------- statements

    def statement(self, scope: _Scope, level: int) -> None:
        dice = self.random.random()
        if dice < 0.2 or level <= 0:
            self.say(f"{self.place(scope, 2).text} = {self.pure(scope, 3)};")
        elif dice < 0.3:
            self.say(f"{self.place(scope, 2).text} {self.compound(lambda d: self.pure(scope, d))};")
        elif dice < 0.42:
            self.say(f"{self.effect(scope, 3)};")
        elif dice < 0.5:
            name = self.name("v")
            kind = self.type()
            self.say(f"{kind} {name} = {self.effect(scope, 3)};")
            scope.places.append(_Place(name, kind))
        elif dice < 0.58:
            self.observe(scope)
        elif dice < 0.7:
            self.say(f"if ({self.effect(scope, 2) if self.chance(0.5) else self.pure(scope, 3)}) {{")
            self.block(scope, level - 1)
            if self.chance(0.5):
                self.say("} else {")
                self.block(scope, level - 1)
            self.say("}")
        elif dice < 0.82:
            self.loop(scope, level)
        elif dice < 0.9:
            self.switch(scope, level)
        elif dice < 0.92 and scope.loops:
            word = self.random.choice(("break", "continue"))
            self.say(f"if ({self.pure(scope, 2)}) {word};")
        elif dice < 0.94:
            self.jump(scope, level)
        elif dice < 0.955:
            end = self.random.choice(
                ("reach_error();", "abort();", f"__VERIFIER_assume(!({self.pure(scope, 2)}));")
            )
            self.say(f"if ({self.pure(scope, 2)} && {self.pure(scope, 2)} && {self.pure(scope, 2)}) {end}")
        else:
            self.observe(scope)

    def block(self, scope: _Scope, level: int, most: int = 3) -> None:
        self.depth += 1
        inner = scope.inner()
        for _ in range(self.random.randint(1, most)):
            self.statement(inner, level)
        self.depth -= 1

    def loop(self, scope: _Scope, level: int) -> None:
        counter, times = self.name("i"), self.random.randint(1, 4)
        kind = self.random.choice(("int", "unsigned int", "signed char", "unsigned long long", "short"))
        inner = scope.inner()
        inner.frozen.append(counter)
        inner.loops += 1
        dice = self.random.random()
        if dice < 0.5:
            self.say(f"for ({kind} {counter} = 0; {counter} < {times}; {counter}++) {{")
            self.block(inner, level - 1)
            self.say("}")
        elif dice < 0.75:
            self.say(f"{kind} {counter} = {times};")
            self.say(f"while ({counter}-- > 0 && ({self.effect(inner, 1)} | 1)) {{")
            self.block(inner, level - 1)
            self.say("}")
        else:
            self.say(f"{kind} {counter} = 0;")
            self.say("do {")
            self.block(inner, level - 1)
            self.say(f"}} while (++{counter} < {times} && {self.pure(inner, 1)});")

    def switch(self, scope: _Scope, level: int) -> None:
        inner = scope.inner()
        inner.loops = 0  # `continue` may still be meant for a loop; leave it out
        mask = self.random.choice((3, 7, 255))
        self.say(f"switch (({self.effect(scope, 2)}) & {mask}) {{")
        for value in self.random.sample(range(4), self.random.randint(1, 3)):
            self.say(f"case {value}:")
            self.block(inner, level - 1, 2)
            if self.chance(0.6):
                self.say("    break;")
        if self.chance(0.5):
            self.say("case 5 ... 100:")
            self.block(inner, level - 1, 1)
        if self.chance(0.7):
            self.say("default:")
            self.block(inner, level - 1, 1)
        self.say("}")

    def jump(self, scope: _Scope, level: int) -> None:
        label = self.name("l")
        self.say(f"{{ if ({self.pure(scope, 2)}) goto {label};")
        self.block(scope, level - 1)
        self.say(f"{label}: ; }}")

    def observe(self, scope: _Scope) -> None:
        value = self.pure(scope, 3) if self.chance(0.7) else self.effect(scope, 3)
        self.say(f"observe({value});")

    # -------------------------------------------------------------------------- declarations

    def text(self) -> str:
        n = self.number
        low = self.random.choice(("-3", "0", "7"))
        self.say(f"enum e{n} {{ A_{n} = {low}, B_{n}, C_{n} = 40 }};")
        self.records()
        shared = self.globals()
        functions: list[tuple[str, int]] = []
        for _ in range(self.random.randint(1, 3)):
            functions.append(self.function(shared, functions))
        self.whole(shared, functions)
        return "\n".join(self.lines) + "\n"

    def records(self) -> None:
        n = self.number
        self.say(f"struct t{n} {{ {self.type()} x; {self.type()} y; }};")
        self.say(f"struct s{n} {{")
        for i in range(self.random.randint(2, 6)):
            kind, dice = self.type(), self.random.random()
            if dice < 0.45:
                self.say(f"    {kind} m{i};")
            elif dice < 0.85:
                kind = self.random.choice(tuple(NARROW))
                self.say(f"    {kind} m{i} : {self.random.randint(1, BITS[kind])};")
                if self.chance(0.1):
                    self.say(f"    {kind} : 0;")
            else:
                self.say(f"    {kind} m{i}[3];")
                self.record_places.append(_Place(f"$.m{i}[@3]", kind))
                continue
            self.record_places.append(_Place(f"$.m{i}", kind))
        self.say(f"    struct t{n} t;")
        self.say(f"}}{' __attribute__((packed))' if self.chance(0.15) else ''};")
        self.record_places += [_Place("$.t.x", "int"), _Place("$.t.y", "int")]
        members = [t for t in self.random.sample(tuple(NARROW), 3) if t != "_Bool"]
        self.say(f"union u{n} {{ unsigned char bytes[16]; unsigned long long all[2];")
        self.union_places = [
            _Place("$.bytes[@8]", "unsigned char"),
            _Place("$.all[@2]", "unsigned long long"),
        ]
        for i, kind in enumerate(members):
            self.say(f"    {kind} m{i};")
            self.union_places.append(_Place(f"$.m{i}", kind))
        self.say("    struct { unsigned int low : 5; int middle : 7; unsigned int high : 20; } bits; };")
        self.union_places += [_Place(f"$.bits.{b}", "int") for b in ("low", "middle", "high")]
        self.say(f"union u{n};")

    def members(self, record: str, of: Sequence[_Place]) -> list[_Place]:
        return [_Place(p.text.replace("$", record), p.type) for p in of]

    def globals(self) -> list[_Place]:
        n, places = self.number, []
        for _ in range(self.random.randint(2, 4)):
            name, kind = self.name("g"), self.type()
            start = f" = {self.literal()}" if self.chance(0.7) else ""
            self.say(f"{'static ' if self.chance(0.3) else ''}{kind} {name}{start};")
            places.append(_Place(name, kind))
        self.say(f"enum e{n} h{n} = B_{n};")
        places.append(_Place(f"h{n}", "int"))
        size, kind = self.random.choice((2, 3, 4, 5, 8)), self.type()
        given = ", ".join(self.literal() for _ in range(self.random.randint(1, size)))
        self.say(f"{kind} a{n}[{size}] = {{ {given} }};")
        places.append(_Place(f"a{n}[@{size}]", kind))
        kind = self.type()
        self.say(f"{kind} d{n}[2][3] = {{ [1] = {{ {self.literal()}, [2] = {self.literal()} }} }};")
        places.append(_Place(f"d{n}[@2][@3]", kind))
        self.say(f'char str{n}[8] = "a\\376{self.random.choice(("bc", "", "0123"))}";')
        places.append(_Place(f"str{n}[@8]", "char"))
        self.say(f"struct s{n} s{n} = {{ .t = {{ .y = {self.literal()} }} }}, z{n}[2];")
        places += self.members(f"s{n}", self.record_places)
        places += self.members(f"z{n}[@2]", self.record_places)
        self.say(f"union u{n} w{n} = {{ .all = {{ {self.literal()} }} }};")
        places += self.members(f"w{n}", self.union_places)
        return places

    def function(self, shared: list[_Place], functions: list[tuple[str, int]]) -> tuple[str, int]:
        n, name, count = self.number, self.name("f"), self.random.randint(1, 3)
        kinds = [self.type() for _ in range(count)]
        passed = ", ".join(f"{kind} p{i}" for i, kind in enumerate(kinds))
        result = self.type()
        self.say(f"{result} {name}({passed})")
        self.say("{")
        self.depth = 1
        scope = _Scope([*shared, *(_Place(f"p{i}", k) for i, k in enumerate(kinds))], [], list(functions), [])
        if self.chance(0.4):
            kind = self.type()
            self.say(f"static {kind} kept = {self.literal()};")
            scope.places.append(_Place("kept", kind))
        if self.chance(0.4):
            self.say(
                f"static int depth; if (depth < 2) {{ depth++; p0 += {name}({self.given(scope, count)}); }}"
            )
        if self.chance(0.4):
            self.say(f"struct s{n} own = s{n};")
            scope.places += self.members("own", self.record_places)
        for _ in range(self.random.randint(1, 3)):
            self.statement(scope, 1)
        self.say(f"return {self.effect(scope, 2) if self.chance(0.5) else self.pure(scope, 3)};")
        self.depth = 0
        self.say("}")
        return name, count

    def given(self, scope: _Scope, count: int) -> str:
        return ", ".join(self.pure(scope, 1) for _ in range(count))

    def whole(self, shared: list[_Place], functions: list[tuple[str, int]]) -> None:
        n = self.number
        self.by_value()
        self.say(f"void program_{n}(void)")
        self.say("{")
        self.depth = 1
        scope = _Scope(list(shared), [], functions)
        for i in range(3):
            kind = self.random.choice(tuple(NARROW))
            self.say(f"{kind} c{i} = __VERIFIER_nondet_{NARROW[kind]}();")
            scope.frozen.append(f"c{i}")
        for _ in range(self.random.randint(2, 4)):
            kind, name = self.random.choice(tuple(NARROW)), self.name("v")
            self.say(f"{kind} {name} = __VERIFIER_nondet_{NARROW[kind]}();")
            scope.places.append(_Place(name, kind))
            if self.chance(0.4):
                self.pointer(scope, name, kind)
            elif self.chance(0.3) and kind != "_Bool":
                size = max(1, BITS[kind] // 8)
                scope.places.append(_Place(f"((unsigned char *)&{name})[@{size}]", "unsigned char"))
        self.say(f"struct s{n} own = {{ {self.frozen(scope, 1)} }};")
        scope.places += self.members("own", self.record_places)
        self.say(f"struct s{n} *there = {self.random.choice((f'&s{n}', '&own', f'z{n} + 1'))};")
        scope.places += self.members("(*there)", self.record_places)
        scope.places += self.members("there", [_Place("$->t.x", "int")])
        self.pointers(scope)
        self.say(f"{self.chosen} target = {self.frozen(scope, 1)};")
        scope.places.append(_Place("target", self.chosen))
        self.say(f"union u{n} copied = w{n};")
        scope.places += self.members("copied", self.union_places)
        for _ in range(self.random.randint(4, 9)):
            self.statement(scope, 2)
            if self.chance(0.25):
                self.copy(scope)
        for place in scope.places:
            if "@" not in place.text:
                self.say(f"observe({place.text});")
                if place.type in WIDE:
                    self.say(f"observe({place.text} >> 64);")
        for array, size in (
            (f"a{n}", f"sizeof a{n} / sizeof *a{n}"),
            (f"str{n}", "8"),
            (f"w{n}.bytes", "16"),
        ):
            self.say(f"for (unsigned i = 0; i < {size}; i++) observe({array}[i]);")
        self.say(f"for (int i = 0; i < 6; i++) observe(d{n}[i / 3][i % 3]);")
        self.depth = 0
        self.say("}")

    def by_value(self) -> None:
        n, kind = self.number, self.type()
        members = self.members("r", self.record_places)
        self.say(f"struct s{n} by{n}(struct s{n} r, {kind} p)")
        self.say("{")
        self.depth = 1
        scope = _Scope([*members, _Place("p", kind)], [], [])
        for _ in range(2):
            self.statement(scope, 0)
        self.say("return r;")
        self.depth = 0
        self.say("}")
        self.say(f"struct s{n} (*call{n})(struct s{n}, {kind}) = by{n};")
        results = [self.type() for _ in range(2)]
        for i in range(2):
            self.say(f"{results[0]} o{n}_{i}({kind} p, {results[1]} *q)")
            self.say("{")
            self.depth = 1
            scope = _Scope([_Place("p", kind), _Place("(*q)", results[1])], [], [])
            self.statement(scope, 1)
            self.say(f"return {self.effect(scope, 2)};")
            self.depth = 0
            self.say("}")
        self.say(f"{results[0]} (*table{n}[2])({kind}, {results[1]} *) = {{ o{n}_0, o{n}_1 }};")
        self.chosen = results[1]

    def pointer(self, scope: _Scope, name: str, kind: str) -> None:
        pointer = self.name("q")
        self.say(f"{kind} *{pointer} = &{name};")
        scope.places.append(_Place(f"*{pointer}", kind))
        scope.places[-1] = _Place(f"(*{pointer})", kind)
        if self.chance(0.4):
            self.say(f"{kind} **{pointer}p = &{pointer};")
            scope.places.append(_Place(f"(**{pointer}p)", kind))

    def pointers(self, scope: _Scope) -> None:
        """Pointers into an array, and to functions."""
        kind, size = self.type(), self.random.choice((4, 8))
        array, first, second = self.name("x"), self.name("q"), self.name("q")
        given = ", ".join(self.frozen(scope, 1) for _ in range(self.random.randint(1, size)))
        self.say(f"{kind} {array}[{size}] = {{ {given} }};")
        self.say(f"{kind} *{first} = {array} + ({self.frozen(scope, 1)} & {size - 1});")
        self.say(f"{kind} *{second} = &{array}[{self.frozen(scope, 1)} & {size - 1}];")
        scope.places += [
            _Place(f"{array}[@{size}]", kind),
            _Place(f"(*{first})", kind),
            _Place(f"(*({array} + (@{size})))", kind),
            _Place(f"(@{size})[{array}]", kind),
            _Place(f"{second}[0]", kind),
        ]
        scope.conditions += [
            f"{first} == {second}",
            f"{first} < {second}",
            f"{first} - {second}",
            f"{array} + {size} - {first}",
            f"!{first}",
            f"{first} != 0",
        ]
        if self.chance(0.3):
            name = self.name("k")
            self.say(f"int {name} = {self.frozen(scope, 1)} & 3;")
            scope.conditions.append(f"&{array}[{name}] >= {first}")

    def copy(self, scope: _Scope) -> None:
        """Records as wholes."""
        n, dice = self.number, self.random.random()
        if self.chance(0.2):
            self.say(self.random.choice((f"copied = w{n};", f"w{n} = copied;")))
        if self.chance(0.4):
            chosen = f"table{n}[{self.frozen(scope, 1)} & 1]"
            self.say(f"observe({chosen}({self.pure(scope, 2)}, &target));")
        records = ["own", "(*there)", f"s{n}", f"z{n}[1]", f"z{n}[{self.frozen(scope, 1)} & 1]"]
        left, right = self.random.choice(records), self.random.choice(records)
        if dice < 0.3:
            self.say(f"{left} = {right};")
        elif dice < 0.6:
            function = self.random.choice((f"by{n}", f"call{n}", f"(*call{n})"))
            self.say(f"{left} = {function}({right}, {self.pure(scope, 2)});")
        elif dice < 0.7:
            self.say(f"{left} = (struct s{n}){{ .t.x = {self.frozen(scope, 1)} }};")
        elif dice < 0.8:
            self.say(f"if (&{left} != &{right}) memcpy(&{left}, &{right}, sizeof {left});")
        elif dice < 0.9:
            self.say(f"memset(a{n}, {'0' if self.chance(0.5) else '1'}, sizeof a{n});")
        else:
            self.say(f"{left}.t = by{n}({right}, {self.frozen(scope, 1)}).t;")
