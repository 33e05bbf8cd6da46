"""Random statements: assignments, branches, loops that end, jumps."""

from __future__ import annotations

from tests.laws.c_expressions import Expressions
from tests.laws.c_vocabulary import Place, Scope


class Statements(Expressions):
    def statement(self, scope: Scope, level: int) -> None:
        dice = self.random.random()
        if dice < 0.2 or level <= 0:
            self.say(f"{self.place(scope, 2).text} = {self.pure(scope, 3)};")
        elif dice < 0.3:
            self.say(f"{self.compound(self.place(scope, 2), lambda d: self.pure(scope, d))};")
        elif dice < 0.42:
            self.say(f"{self.effect(scope, 3)};")
        elif dice < 0.5:
            name = self.name("v")
            kind = self.type()
            self.say(f"{kind} {name} = {self.effect(scope, 3)};")
            scope.places.append(Place(name, kind))
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
            jump = self.random.choice((self.forward, self.backward, self.into_loop, self.switch_into_loop))
            jump(scope, level)
        elif dice < 0.955:
            end = self.random.choice(
                ("reach_error();", "abort();", f"__VERIFIER_assume(!({self.pure(scope, 2)}));")
            )
            self.say(f"if ({self.pure(scope, 2)} && {self.pure(scope, 2)} && {self.pure(scope, 2)}) {end}")
        else:
            self.observe(scope)

    def block(self, scope: Scope, level: int, most: int = 3) -> None:
        self.depth += 1
        inner = scope.inner()
        for _ in range(self.random.randint(1, most)):
            self.statement(inner, level)
        self.depth -= 1

    def loop(self, scope: Scope, level: int) -> None:
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

    def switch(self, scope: Scope, level: int) -> None:
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

    def forward(self, scope: Scope, level: int) -> None:
        label = self.name("l")
        self.say(f"{{ if ({self.pure(scope, 2)}) goto {label};")
        self.block(scope, level - 1)
        self.say(f"{label}: ; }}")

    def backward(self, scope: Scope, level: int) -> None:
        label, counter = self.name("l"), self.name("i")
        inner = scope.inner()
        inner.frozen.append(counter)
        self.say(f"{{ int {counter} = 0; {label}: ;")
        self.block(inner, level - 1)
        self.say(f"if (++{counter} < {self.random.randint(1, 4)} && {self.pure(inner, 2)}) goto {label}; }}")

    def into_loop(self, scope: Scope, level: int) -> None:
        """A loop with a second entry."""
        label, counter = self.name("l"), self.name("i")
        inner = scope.inner()
        inner.frozen.append(counter)
        self.say(f"{{ short {counter} = 0; if ({self.pure(inner, 2)}) goto {label};")
        self.say(f"while ({counter} < {self.random.randint(1, 3)}) {{")
        self.block(inner, level - 1, 2)
        self.say(f"{label}: {counter}++;")
        self.block(inner, level - 1, 2)
        self.say("} }")

    def switch_into_loop(self, scope: Scope, level: int) -> None:
        counter = self.name("i")
        inner = scope.inner()
        inner.frozen.append(counter)
        inner.loops = 0
        self.say(f"{{ unsigned char {counter} = 0; switch (({self.pure(inner, 2)}) & 3) {{")
        self.say("default: do {")
        for value in self.random.sample(range(4), 3):
            self.block(inner, level - 1, 1)
            self.say(f"case {value}: ;")
        self.block(inner, level - 1, 1)
        self.say(f"}} while (++{counter} < {self.random.randint(1, 3)}); }} }}")

    def observe(self, scope: Scope) -> None:
        value = self.pure(scope, 3) if self.chance(0.7) else self.effect(scope, 3)
        self.say(f"observe({value});")
