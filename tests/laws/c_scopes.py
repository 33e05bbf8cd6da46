"""Random C functions with jumps into, out of and inside blocks, and what pointers to their variables mean.

A function is a list of steps, each with the chain of blocks that it is in, innermost last. Control that goes
from one step to another leaves the blocks that only the first is in, and enters those that only the second is
in. A variable is a new object each time its block is entered, wherever control enters. This is the rule of C
(6.2.4), stated without any compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

POINTERS: Final = 2
RANGE: Final = 4  # inputs are from 0 up to this
HEAD: Final = """\
extern int __VERIFIER_nondet_int(void);
extern void exit(int);
static int inputs, sum, *p0, *p1;
static int next(void) { if (inputs++ == %d) exit(0); return __VERIFIER_nondet_int(); }
static void use(int *p) { if (p) sum += *p; }
static void take(int **p, int *q) { *p = q; *q = 1; }
int main(void) {
"""


@dataclass(slots=True)
class Step:
    """`take`: a pointer gets the address of a variable; `use`: it is dereferenced; `branch`: an input decides
    which of `targets` comes next; `go`: the first of them; `end`. Without targets the next step follows."""

    kind: str
    chain: tuple[int, ...]
    pointer: int = 0
    variable: tuple[int, str] = (0, "")  # its block and its name
    targets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Scopes:
    """A function while it is drawn: its text and its steps. `depth` limits how blocks are nested."""

    random: Random
    steps: list[Step] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # to the steps that they stand before
    jumps: list[tuple[Step, int, str]] = field(default_factory=list)  # which target is which label
    blocks: int = 0
    names: int = 0

    @classmethod
    def drawn(cls, seed: int, inputs: int) -> Scopes:
        """Draw a function that reads at most this number of inputs."""
        scopes = cls(Random(seed))
        scopes.lines.append(HEAD % inputs)
        scopes.block((), [], 0, ())
        scopes.step("end", ())
        scopes.lines.append("return sum; }")
        for step, at, label in scopes.jumps:
            step.targets[at] = scopes.labels[label]
        return scopes

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def step(self, kind: str, chain: tuple[int, ...], **fields: object) -> Step:
        step = Step(kind, chain, **fields)  # type: ignore[arg-type]
        self.steps.append(step)
        return step

    @property
    def here(self) -> int:
        return len(self.steps)

    def block(
        self,
        chain: tuple[int, ...],
        visible: list[tuple[int, str]],
        depth: int,
        loops: tuple[tuple[str, str], ...],
        *,
        cases: Step | None = None,
    ) -> None:
        """Draw the contents of a block; `loops` has the labels behind `break` and `continue`."""
        random = self.random
        self.blocks += 1
        inner, own = (*chain, self.blocks), list(visible)
        for number in range(random.randint(2, 5)):
            if cases is not None and (number == 0 or random.random() < 0.4) and len(cases.targets) < RANGE:
                self.lines.append(f"case {len(cases.targets)}:;")
                cases.targets.append(self.here)
            if random.random() < 0.35:
                self.names += 1
                self.lines.append(f"goto l{self.names}; l{self.names}:;" if random.random() < 0.2 else ";")
                name = f"v{random.randint(0, 2)}" if random.random() < 0.5 else f"w{self.names}"
                if (inner[-1], name) not in own:
                    own.append((inner[-1], name))
                    self.lines.append(f"int {name}{random.choice(['', ' = 5', '[1]'])};")
            self.statement(inner, own, depth, loops)

    def statement(
        self,
        chain: tuple[int, ...],
        visible: list[tuple[int, str]],
        depth: int,
        loops: tuple[tuple[str, str], ...],
    ) -> None:
        random = self.random
        kind = random.choice(["take", "take", "use", "use", "jump", "jump", "literal", *["nest"] * 4])
        if kind == "take" and visible:
            self.take(chain, visible, random.choice(visible)[1])
        elif kind == "literal":
            self.names += 1
            which = random.randrange(POINTERS)
            self.step("take", chain, pointer=which, variable=(chain[-1], f"literal {self.names}"))
            self.lines.append(f"p{which} = &(int){{{self.names}}};")
        elif kind == "jump" and (known := [*loops, *self.back()]):
            words, label = random.choice(known)
            step = self.step("branch", chain, targets=[-1, self.here + 1])
            self.jumps.append((step, 0, label))
            self.lines.append(f"if (next() == 0) {words};")
        elif kind == "nest" and depth < 3:
            self.nest(chain, visible, depth + 1, loops)
        else:
            which = random.randrange(POINTERS)
            self.step("use", chain, pointer=which)
            self.lines.append(f"use(p{which});")

    def take(self, chain: tuple[int, ...], visible: list[tuple[int, str]], name: str) -> None:
        """Take the address of the innermost variable of a name."""
        which = self.random.randrange(POINTERS)
        block = max(b for b, n in visible if n == name)
        self.step("take", chain, pointer=which, variable=(block, name))
        self.lines.append(f"take(&p{which}, (int *)&{name});")

    def back(self) -> list[tuple[str, str]]:
        """Return some jumps back to labels."""
        named = [label for label in self.labels if " " not in label]
        return [(f"goto {label}", label) for label in named if self.random.random() < 0.15]

    def label(self) -> str:
        self.names += 1
        return f"k{self.names}"

    def place(self, label: str, *, shown: bool = True) -> None:
        self.labels[label] = self.here
        if shown:
            self.lines.append(f"{label}:;")

    def nest(
        self,
        chain: tuple[int, ...],
        visible: list[tuple[int, str]],
        depth: int,
        loops: tuple[tuple[str, str], ...],
    ) -> None:
        """Draw a statement with a body. A loop tests its condition in the block around its body."""
        random = self.random
        form = random.choice(["block", "if", "while", "for", "do", "ever", "switch", "jump in"])
        done, again, top = f"break {self.label()}", f"continue {self.label()}", f"top {self.label()}"
        inside = (("break", done), ("continue", again))
        if form == "block":
            self.lines.append("{")
            if random.random() < 0.5:
                self.place(self.label())
            self.block(chain, visible, depth, loops)
            self.lines.append("}")
        elif form == "if":
            step = self.step("branch", chain, targets=[-1, self.here + 1])
            self.jumps.append((step, 0, done))
            self.lines.append("if (next()) {")
            self.block(chain, visible, depth, loops)
            self.lines.append("}")
        elif form == "jump in":
            label = self.label()
            step = self.step("branch", chain, targets=[-1, self.here + 1])
            self.jumps.append((step, 0, label))
            self.lines.append(f"if (next() == 0) goto {label}; {{")
            self.names += 1
            name = f"x{self.names}"
            own = (self.blocks + 1, name)
            if random.random() < 0.5:
                self.lines.append(f"int {name};")
                self.lines.append(f"{label}:;")
            else:
                self.lines.append(f"{random.choice(['', 'sum++;'])} int {name}; {label}:;")
            self.labels[label] = self.here
            self.block(chain, [*visible, own], depth, loops)
            self.lines.append("}")
        elif form == "switch":
            step = self.step("branch", chain)
            self.lines.append("switch (next()) {")
            kept = tuple(each for each in loops if each[0] != "break")
            self.block(chain, visible, depth, (("break", done), *kept), cases=step)
            self.lines.append("}")
            while len(step.targets) < RANGE:
                step.targets.append(-1)
                self.jumps.append((step, len(step.targets) - 1, done))
        else:
            self.loop(form, chain, visible, depth, inside, top)
        self.place(done, shown=False)

    def loop(
        self,
        form: str,
        chain: tuple[int, ...],
        visible: list[tuple[int, str]],
        depth: int,
        inside: tuple[tuple[str, str], ...],
        top: str,
    ) -> None:
        done, again = inside[0][1], inside[1][1]
        self.place(top, shown=False)
        if form in ("while", "for"):
            self.place(again, shown=False)
            step = self.step("branch", chain, targets=[-1, self.here + 1])
            self.jumps.append((step, 0, done))
            self.lines.append("while (next()) {" if form == "while" else "for (; next(); ) {")
        else:
            self.step("go", chain, targets=[self.here + 1])  # outside the body
            self.lines.append("do {" if form == "do" else self.random.choice(["while (1) {", "for (;;) {"]))
        self.block(chain, visible, depth, inside)
        if form == "do":
            self.place(again, shown=False)
            step = self.step("branch", chain, targets=[self.here + 1, -1])
            self.jumps.append((step, 1, top))
            self.lines.append("} while (next());")
        else:
            if form == "ever":
                self.place(again, shown=False)
            step = self.step("go", chain, targets=[-1])
            self.jumps.append((step, 0, top))
            self.lines.append("}")

    # ------------------------------------------------------------------------------------- meaning

    def uses_ended_object(self, inputs: Sequence[int], limit: int = 2000) -> bool | None:
        """Return whether the function dereferences a pointer to an object that has ended; None if it is still
        running after `limit` steps."""
        at, chain, read, entries = 0, tuple[int, ...](), 0, 0
        stays: dict[int, int] = {}  # for each block that control is in, the number of this stay
        pointers: list[tuple[int, int] | None] = [None] * POINTERS
        for _ in range(limit):
            step = self.steps[at]
            for block in chain:
                if block not in step.chain:
                    del stays[block]
            for block in step.chain:
                if block not in stays:
                    entries += 1
                    stays[block] = entries
            chain = step.chain
            if step.kind == "end":
                return False
            if step.kind == "take":
                pointers[step.pointer] = step.variable[0], stays[step.variable[0]]
            elif step.kind == "use":
                held = pointers[step.pointer]
                if held is not None and stays.get(held[0]) != held[1]:
                    return True
            if step.kind == "branch":
                if read == len(inputs):
                    return False
                at = step.targets[min(inputs[read], len(step.targets) - 1)]
                read += 1
            else:
                at = step.targets[0] if step.targets else at + 1
        return None
