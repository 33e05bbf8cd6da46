"""The objects of random programs: records, unions, arrays, and pointers to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from tests.laws.c_statements import Statements
from tests.laws.c_vocabulary import BITS, NARROW, Place, Scope


class Objects(Statements):
    def __init__(self, random: Random, number: int, *, wide: bool, portable: bool) -> None:
        super().__init__(random, number, wide=wide, portable=portable)
        self.record_places: list[Place] = []  # members, with `$` for the record
        self.union_places: list[Place] = []

    def records(self) -> None:
        n = self.number
        self.say(f"struct t{n} {{ {self.type()} x; {self.type()} y; }};")
        plain = self.random.choice([t for t in self.types if t != "_Bool"])
        self.say(f"struct r{n} {{ short a; {plain} b; }};")
        self.say(f"struct s{n} {{")
        for i in range(self.random.randint(2, 6)):
            kind, dice = self.type(), self.random.random()
            is_field = 0.45 <= dice < 0.85
            if dice < 0.45:
                self.say(f"    {kind} m{i};")
            elif is_field:
                kind = self.random.choice(tuple(NARROW))
                self.say(f"    {kind} m{i} : {self.random.randint(1, BITS[kind])};")
                if self.chance(0.1):
                    self.say(f"    {kind} : 0;")
            else:
                self.say(f"    {kind} m{i}[3];")
                self.record_places.append(Place(f"$.m{i}[@3]", kind))
                continue
            self.record_places.append(Place(f"$.m{i}", kind, is_field))
        self.say(f"    struct t{n} t;")
        self.say("    union { short low; unsigned char half[2]; };")
        self.say(f"}}{' __attribute__((packed))' if self.chance(0.15) else ''};")
        self.record_places += [Place("$.t.x", "int"), Place("$.t.y", "int")]
        self.record_places += [Place("$.low", "short"), Place("$.half[@2]", "unsigned char")]
        members = [t for t in self.random.sample(tuple(NARROW), 3) if t != "_Bool"]
        self.say(f"union u{n} {{ unsigned char bytes[16]; unsigned long long all[2];")
        self.union_places = [
            Place("$.bytes[@8]", "unsigned char"),
            Place("$.all[@2]", "unsigned long long"),
        ]
        for i, kind in enumerate(members):
            self.say(f"    {kind} m{i};")
            self.union_places.append(Place(f"$.m{i}", kind))
        self.say("    struct { unsigned int low : 5; int middle : 7; unsigned int high : 20; } bits; };")
        self.union_places += [Place(f"$.bits.{b}", "int", True) for b in ("low", "middle", "high")]
        self.say(f"union u{n};")

    def members(self, record: str, of: Sequence[Place]) -> list[Place]:
        return [replace(p, text=p.text.replace("$", record)) for p in of]

    def globals(self) -> list[Place]:
        n, places = self.number, []
        for _ in range(self.random.randint(2, 4)):
            name, kind = self.name("g"), self.type()
            start = f" = {self.literal()}" if self.chance(0.7) else ""
            words = f"{'static ' if self.chance(0.3) else ''}{'volatile ' if self.chance(0.1) else ''}"
            self.say(f"{words}{kind} {name}{start};")
            places.append(Place(name, kind))
        self.say(f"enum e{n} h{n} = B_{n};")
        places.append(Place(f"h{n}", "int"))
        size, kind = self.random.choice((2, 3, 4, 5, 8)), self.type()
        given = ", ".join(self.literal() for _ in range(self.random.randint(1, size)))
        if size > 3 and self.chance(0.3):
            given = f"[1 ... 2] = {self.literal()}, {self.literal()}, [0] = {self.literal()}"
        self.say(f"{kind} a{n}[{size}] = {{ {given} }};")
        places.append(Place(f"a{n}[@{size}]", kind))
        kind = self.type()
        self.say(f"{kind} d{n}[2][3] = {{ [1] = {{ {self.literal()}, [2] = {self.literal()} }} }};")
        places.append(Place(f"d{n}[@2][@3]", kind))
        self.say(f'char str{n}[8] = "a\\376{self.random.choice(("bc", "", "0123"))}";')
        places.append(Place(f"str{n}[@8]", "char"))
        self.say(f"struct s{n} s{n} = {{ .t = {{ .y = {self.literal()} }} }},")
        start = f"{{ [1].t.x = {self.literal()}, [1].half[1] = {self.literal()} }}"
        self.say(f"    z{n}[2] = {start};" if self.chance(0.6) else f"    z{n}[2];")
        places += self.members(f"s{n}", self.record_places)
        places += self.members(f"z{n}[@2]", self.record_places)
        self.say(f"union u{n} w{n} = {{ .all = {{ {self.literal()} }} }};")
        places += self.members(f"w{n}", self.union_places)
        return places

    def pointer(self, scope: Scope, name: str, kind: str) -> None:
        pointer = self.name("q")
        self.say(f"{kind} *{pointer} = &{name};")
        scope.places.append(Place(f"*{pointer}", kind))
        scope.places[-1] = Place(f"(*{pointer})", kind)
        if self.chance(0.4):
            self.say(f"{kind} **{pointer}p = &{pointer};")
            scope.places.append(Place(f"(**{pointer}p)", kind))

    def pointers(self, scope: Scope) -> None:
        """Pointers into an array, and to functions."""
        kind, size = self.type(), self.random.choice((4, 8))
        array, first, second = self.name("x"), self.name("q"), self.name("q")
        given = ", ".join(self.frozen(scope, 1) for _ in range(self.random.randint(1, size)))
        self.say(f"{kind} {array}[{size}] = {{ {given} }};")
        self.say(f"{kind} *{first} = {array} + ({self.frozen(scope, 1)} & {size - 1});")
        self.say(f"{kind} *{second} = &{array}[{self.frozen(scope, 1)} & {size - 1}];")
        scope.places += [
            Place(f"{array}[@{size}]", kind),
            Place(f"(*{first})", kind),
            Place(f"(*({array} + (@{size})))", kind),
            Place(f"(@{size})[{array}]", kind),
            Place(f"{second}[0]", kind),
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

    def views(self, scope: Scope) -> None:
        """Memory seen through pointers of several types, and an array of variable length."""
        raw, other, size = self.name("x"), self.name("q"), self.name("n")
        plain = [t for t in self.types if t != "_Bool"]
        given = ", ".join(self.frozen(scope, 1) for _ in range(4))
        self.say(f"long long {raw}[4] __attribute__((aligned(16))) = {{ {given} }};")
        self.say(f"void *{other} = (char *){raw} + 16;")
        for kind in self.random.sample(plain, 3):
            scope.places.append(Place(f"(({kind} *){raw})[@2]", kind))
            scope.places.append(Place(f"(*({kind} *){other})", kind))
        kind = self.random.choice(plain)
        scope.places.append(Place(f"(*({kind} *)(unsigned long){other})", kind))
        scope.places.append(Place(f"((struct r{self.number} *){raw})->b", "int"))
        kind = self.type()
        self.say(f"int {size} = ({self.frozen(scope, 1)} & 3) + 2;")
        self.say(f"{kind} {size}v[{size}][2];")
        given = f"{size}v[i][1] = {self.frozen(scope, 1)}"
        self.say(f"for (int i = 0; i < {size}; i++) {size}v[i][0] = i, {given};")
        scope.places.append(Place(f"{size}v[@2][@2]", kind))
        scope.conditions += [f"sizeof {size}v", f"&{size}v[1] - {size}v", f"(char *){other} - (char *){raw}"]

    def copy(self, scope: Scope) -> None:
        """Assignments of whole records."""
        n, dice = self.number, self.random.random()
        if self.chance(0.2):
            self.say(self.random.choice((f"copied = w{n};", f"w{n} = copied;")))
        if self.chance(0.4):
            chosen = f"table{n}[{self.frozen(scope, 1)} & 1]"
            self.say(f"observe({chosen}({self.pure(scope, 2)}, &target));")
        records = ["own", "(*there)", f"s{n}", f"z{n}[1]", f"z{n}[{self.frozen(scope, 1)} & 1]"]
        left, right = self.random.choice(records), self.random.choice(records)
        if dice < 0.3:
            chosen = f"{self.frozen(scope, 1)} ? {right} : {self.random.choice(records)}"
            self.say(f"{left} = {chosen if self.chance(0.3) else right};")
        elif dice < 0.6:
            function = self.random.choice((f"by{n}", f"call{n}", f"(*call{n})"))
            self.say(f"{left} = {function}({right}, {self.pure(scope, 2)});")
        elif dice < 0.7:
            self.say(f"{left} = (struct s{n}){{ .t.x = {self.frozen(scope, 1)} }};")
        elif dice < 0.8:
            self.say(f"if (&{left} != &{right}) memcpy(&{left}, &{right}, sizeof {left});")
        elif dice < 0.9:
            self.say(f"memset(a{n}, {'0' if self.chance(0.5) else '1'}, sizeof a{n});")
            self.say(f"memmove(a{n} + 1, a{n}, sizeof *a{n}); observe(memcmp(a{n}, a{n} + 1, sizeof *a{n}));")
        else:
            self.say(f"{left}.t = by{n}({right}, {self.frozen(scope, 1)}).t;")
