"""The reference CFGs of range analysis: loops and branches in a row, some nested, all of them live.

A program has about the given number of blocks over the given number of variables, which start with small
inputs. Loops count up or down to a constant, to another variable or, in machine arithmetic, without end;
branches refine, copy and reset variables. It depends on the numbers and the seed only."""

from __future__ import annotations

from random import Random

from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.program import Program
from certus.core.terms import Expr, MachineSort, machine

SIXTEEN = machine(16, signed=True)


def reference_program(
    blocks: int, variables: int, *, seed: int = 0, sort: MachineSort = SIXTEEN, most: int = 100
) -> Program:
    return _Reference(blocks, variables, seed, sort, most).program()


class _Reference:
    def __init__(self, blocks: int, variables: int, seed: int, sort: MachineSort, most: int) -> None:
        self.random = Random(f"{blocks}/{variables}/{seed}")
        self.blocks, self.sort, self.most = blocks, sort, most
        self.builder = ProgramBuilder()
        self.names = [self.builder.local("main", f"x{n}", sort) for n in range(variables)]
        self.here, self.count = "entry", 0
        self.counters: list[Expr] = []  # of the loops around

    def program(self) -> Program:
        for x in self.names:
            self._step(self.builder.havoc(x))
            self._keep(build.and_(build.le(self._number(0), x), build.le(x, self._number(self.most))))
        self.count = 0
        while self.count < self.blocks:
            self.random.choice((self._loop, self._loop, self._branch, self._copy))(2)
        self.builder.edge("main", self.here, "exit", self.builder.returns())
        return self.builder.build()

    # ---------------------------------------------------------------------------------------- parts

    def _loop(self, depth: int) -> None:
        """Counts to an end, sometimes with a branch or another loop inside."""
        i, step = self._target(), self.random.randint(1, 3)
        up = self.random.random() < 0.7
        self._step(self.builder.assign((i, self._number(0 if up else self.most))))
        head, body, after = self._new(), self._new(), self._new()
        self.builder.edge("main", self.here, head, self.builder.assign((i, i)))
        kind = self.random.randrange(10)
        other = self._any(i)
        self.counters.append(other)
        if kind == 0:
            stop = build.ne(i, self._number(self.most if step == 1 and up else 0))
        elif kind <= 3:
            stop = build.lt(i, other) if up else build.gt(i, other)
        else:
            end = self._number(self.random.randint(1, self.most) if up else 0)
            stop = build.lt(i, end) if up else build.gt(i, end)
        self.builder.branch("main", head, stop, body, after)
        self.here = body
        self.counters.append(i)
        inner = self.random.randrange(4) if depth else 3
        if inner == 0:
            self._branch(depth - 1)
        elif inner == 1:
            self._loop(depth - 1)
        del self.counters[-2:]
        change = build.add(i, self._number(step)) if up else build.sub(i, self._number(step))
        self.builder.edge("main", self.here, head, self.builder.assign((i, change)))
        self.here = after

    def _branch(self, depth: int) -> None:
        x, y = self._any(), self._target()
        then, otherwise, after = self._new(), self._new(), self._new()
        condition = build.le(x, self._number(self.random.randint(0, self.most)))
        if self.random.random() < 0.4:
            condition = build.le(x, build.add(self._any(x), self._number(self.random.randint(0, 3))))
        self.builder.branch("main", self.here, condition, then, otherwise)
        self.builder.edge("main", then, after, self.builder.assign((y, x)))
        value = build.add(x, self._number(self.random.randint(0, 3)))
        if self.random.random() < 0.5:
            value = self._number(self.random.randint(0, self.most))
        self.builder.edge("main", otherwise, after, self.builder.assign((y, value)))
        self.here = after

    def _copy(self, depth: int) -> None:
        x, y = self._any(), self._any()
        choice = self.random.randrange(3)
        value = build.sub(x, y) if choice == 0 else y if choice == 1 else self._number(self.most // 2)
        self._step(self.builder.assign((self._target(), value)))

    # --------------------------------------------------------------------------------------- pieces

    def _number(self, value: int) -> Expr:
        return build.constant(value, self.sort)

    def _any(self, but: Expr | None = None) -> Expr:
        found = self.random.choice(self.names)
        while found is but:
            found = self.random.choice(self.names)
        return found

    def _target(self) -> Expr:
        """A variable to write: not what a loop around counts with, or may count to."""
        found = self._any()
        while found in self.counters:
            found = self._any()
        return found

    def _new(self) -> str:
        self.count += 1
        return f"b{len(self.names)}.{self.count}.{self.random.random()}"

    def _step(self, op: object) -> None:
        to = self._new()
        self.builder.edge("main", self.here, to, op)  # type: ignore[arg-type]
        self.here = to

    def _keep(self, condition: Expr) -> None:
        to = self._new()
        self.builder.branch("main", self.here, condition, to, "exit")
        self.here = to
