"""Random C programs, the same for the same seed. They avoid undefined behaviour, and effects
whose order C leaves open."""

from __future__ import annotations

from random import Random

from tests.laws.c_objects import Objects
from tests.laws.c_vocabulary import BITS, NARROW, PREAMBLE, WIDE, Place, Scope


def batch(seed: int, programs: int, *, wide: bool, portable: bool = False) -> str:
    """Return a C file with that number of programs. The first input, an `unsigned int`, chooses one to run.
    `wide` if there is `__int128`; `portable` if gcc's programs have to do the same as Clang's."""
    parts = [PREAMBLE, *(f"{t} __VERIFIER_nondet_{n}(void);\n" for t, n in NARROW.items())]
    for number in range(programs):
        parts += ["\n", program(Random(f"{seed}/{number}"), number, wide=wide, portable=portable)]
    cases = "".join(f"    case {n}: program_{n}(); break;\n" for n in range(programs))
    return "".join(
        [*parts, f"\nint main(void)\n{{\n    switch (__VERIFIER_nondet_uint()) {{\n{cases}    }}\n}}\n"]
    )


def program(random: Random, number: int, *, wide: bool, portable: bool) -> str:
    """The declarations and functions of one program, all named after its number."""
    return _Program(random, number, wide=wide, portable=portable).text()


class _Program(Objects):
    chosen = ""  # the type that a pointer handed to functions points to

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

    def function(self, shared: list[Place], functions: list[tuple[str, int]]) -> tuple[str, int]:
        n, name, count = self.number, self.name("f"), self.random.randint(1, 3)
        kinds = [self.type() for _ in range(count)]
        passed = ", ".join(f"{kind} p{i}" for i, kind in enumerate(kinds))
        result = self.type()
        self.say(f"{result} {name}({passed})")
        self.say("{")
        self.depth = 1
        scope = Scope([*shared, *(Place(f"p{i}", k) for i, k in enumerate(kinds))], [], list(functions), [])
        if self.chance(0.4):
            kind = self.type()
            self.say(f"static {kind} kept = {self.literal()};")
            scope.places.append(Place("kept", kind))
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

    def given(self, scope: Scope, count: int) -> str:
        return ", ".join(self.pure(scope, 1) for _ in range(count))

    def whole(self, shared: list[Place], functions: list[tuple[str, int]]) -> None:
        n = self.number
        self.by_value()
        self.say(f"void program_{n}(void)")
        self.say("{")
        self.depth = 1
        scope = Scope(list(shared), [], functions)
        for i in range(3):
            kind = self.random.choice(tuple(NARROW))
            self.say(f"{kind} c{i} = __VERIFIER_nondet_{NARROW[kind]}();")
            scope.frozen.append(f"c{i}")
        for _ in range(self.random.randint(2, 4)):
            kind, name = self.random.choice(tuple(NARROW)), self.name("v")
            self.say(f"{kind} {name} = __VERIFIER_nondet_{NARROW[kind]}();")
            scope.places.append(Place(name, kind))
            if self.chance(0.4):
                self.pointer(scope, name, kind)
            elif self.chance(0.3) and kind != "_Bool":
                size = max(1, BITS[kind] // 8)
                scope.places.append(Place(f"((unsigned char *)&{name})[@{size}]", "unsigned char"))
        self.say(f"struct s{n} own = {{ {self.frozen(scope, 1)} }};")
        scope.places += self.members("own", self.record_places)
        self.say(f"struct s{n} *there = {self.random.choice((f'&s{n}', '&own', f'z{n} + 1'))};")
        scope.places += self.members("(*there)", self.record_places)
        scope.places += self.members("there", [Place("$->t.x", "int")])
        self.pointers(scope)
        if self.chance(0.5):
            self.views(scope)
        self.say(f"{self.chosen} target = {self.frozen(scope, 1)};")
        scope.places.append(Place("target", self.chosen))
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
        scope = Scope([*members, Place("p", kind)], [], [])
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
            scope = Scope([Place("p", kind), Place("(*q)", results[1])], [], [])
            self.statement(scope, 1)
            self.say(f"return {self.effect(scope, 2)};")
            self.depth = 0
            self.say("}")
        self.say(f"{results[0]} (*table{n}[2])({kind}, {results[1]} *) = {{ o{n}_0, o{n}_1 }};")
        self.chosen = results[1]
