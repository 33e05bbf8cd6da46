"""Random control flow over a few integer variables: programs for range analysis.

Blocks follow one another; each makes a few assignments and ends in a branch, now and then back to an earlier
block or far ahead. `FlowShape` says how large a program is, what sort its variables have, and what
statements it may contain; a program depends on the shape and the seed only."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.program import Op, Program
from certus.core.terms import INT, Expr, MachineSort, Sort, array, machine


@dataclass(frozen=True)
class FlowShape:
    """`linear`: no products, divisions, bits, arrays or calls. `constants`: the most that numbers in the
    program are, sign aside. Of 100 branches `back` lead to an earlier block. With `inputs` variables
    start with any value up to `constants`, else with 0. `parameters` of the main procedure are read only."""

    blocks: int = 8
    variables: int = 3
    sort: Sort = INT
    linear: bool = False
    constants: int = 20
    back: int = 25
    inputs: bool = False
    parameters: int = 0


class FlowPrograms:
    def __init__(self, seed: int | str, shape: FlowShape) -> None:
        self.random, self.shape = Random(seed), shape
        self.builder = ProgramBuilder()
        self.variables = [self.builder.var(f"x{n}", shape.sort, 0) for n in range(shape.variables)]
        self.parameters = [
            self.builder.parameter("main", f"p{n}", shape.sort) for n in range(shape.parameters)
        ]
        self.table = None if shape.linear else self.builder.local("main", "table", array(INT, shape.sort))

    def program(self) -> Program:
        shape, random = self.shape, self.random
        if not shape.linear:
            self._callee()
        if shape.inputs:
            self._read()
        for n in range(shape.blocks):
            here = f"b{n}" if n or shape.inputs else "entry"
            for step in range(random.randint(1, 2)):
                middle = f"b{n}.{step}"
                if not shape.linear and random.random() < 0.1:
                    target = random.choice(self.variables)
                    self.builder.edge(
                        "main", here, middle, self.builder.call("f", self._value(), into=(target,))
                    )
                else:
                    self.builder.edge("main", here, middle, self._statement())
                here = middle
            onward = self._onward(n)
            other = self._elsewhere(n)
            condition = self._condition()
            if random.random() < 0.5:
                onward, other = other, onward
            self.builder.branch("main", here, condition, onward, other)
        return self.builder.build()

    def _read(self) -> None:
        most = build.constant(self.shape.constants, self.shape.sort)
        bounded = [build.and_(build.le(build.sub(most, most), x), build.le(x, most)) for x in self.variables]
        self.builder.edge("main", "entry", "read", self.builder.havoc(*self.variables))
        self.builder.branch("main", "read", build.conjunction(bounded), "b0", "exit")

    def _callee(self) -> None:
        p = self.builder.parameter("f", "p", self.shape.sort)
        self.builder.result("f", "r", self.shape.sort)
        c = self._constant()
        self.builder.branch("f", "entry", build.le(p, c), "less", "more")
        self.builder.edge("f", "less", "exit", self.builder.returns(build.add(p, self._constant())))
        self.builder.edge("f", "more", "m", self.builder.assign((self.variables[0], c)))
        self.builder.edge("f", "m", "exit", self.builder.returns(p))

    def _onward(self, n: int) -> str:
        return "exit" if n + 1 >= self.shape.blocks else f"b{n + 1}"

    def _elsewhere(self, n: int) -> str:
        if n and self.random.random() * 100 < self.shape.back:
            to = self.random.randint(max(0, n - 6), n)
            return f"b{max(to, 1)}"
        ahead = n + self.random.randint(1, 4)
        return "exit" if ahead >= self.shape.blocks else f"b{ahead}"

    # ------------------------------------------------------------------------------------- statements

    def _constant(self) -> Expr:
        most = self.shape.constants
        low = 0 if isinstance(self.shape.sort, MachineSort) and not self.shape.sort.signed else -most
        return build.constant(self.random.randint(low, most), self.shape.sort)

    def _value(self) -> Expr:
        known = (*self.variables, *self.parameters)
        return self.random.choice(known) if self.random.random() < 0.7 else self._constant()

    def _statement(self) -> Op:
        target = self.random.choice(self.variables)
        chosen = self.random.randrange(10)
        if chosen == 0 and not self.shape.linear:
            return self.builder.havoc(target)
        if chosen == 1 and self.table is not None:
            index = build.integer(self.random.randint(0, 3))
            return self.builder.assign((self.table, build.store(self.table, index, self._value())))
        return self.builder.assign((target, self._term()))

    def _term(self) -> Expr:
        x, y = self.random.choice(self.variables), self._value()
        small = build.constant(self.random.randint(0, 3), self.shape.sort)
        kinds = 5 if self.shape.linear else 11
        chosen = self.random.randrange(kinds)
        if chosen == 0:
            return self._constant()
        if chosen <= 2:
            return build.add(x, small) if self.random.random() < 0.6 else build.sub(x, small)
        if chosen == 3:
            return y
        if chosen == 4:
            return build.add(x, y) if self.random.random() < 0.5 else build.sub(x, y)
        return self._other(chosen, x, y, small)

    def _other(self, chosen: int, x: Expr, y: Expr, small: Expr) -> Expr:
        if chosen == 5:
            return build.mul(x, y)
        if chosen == 6:
            return build.quot(x, y) if self.random.random() < 0.5 else build.rem(x, y)
        if chosen == 7:
            return build.ite(self._condition(), x, y)
        if chosen == 8:
            assert self.table is not None
            return build.select(self.table, build.integer(self.random.randint(0, 3)))
        if not isinstance(self.shape.sort, MachineSort):
            return build.mul(build.constant(self.random.randint(-3, 3), self.shape.sort), x)
        bits = (build.bit_and, build.bit_or, build.bit_xor, build.shl, build.shr)
        if chosen == 9:
            return self.random.choice(bits)(x, small if self.random.random() < 0.5 else y)
        other = machine(self.random.choice((4, 16)), signed=self.random.random() < 0.5)
        return build.wrap(build.wrap(x, other), self.shape.sort)

    def _condition(self) -> Expr:
        x, y = self.random.choice(self.variables), self._value()
        if self.random.random() < 0.3:
            y = build.add(y, build.constant(self.random.randint(0, 3), self.shape.sort))
        compare = (build.le, build.lt, build.ge, build.gt, build.eq, build.ne)
        atom = self.random.choice(compare)(x, y)
        if self.random.random() < 0.2:
            join = build.and_ if self.random.random() < 0.5 else build.or_
            return join(atom, self._condition())
        return atom


def flow_program(seed: int | str, shape: FlowShape) -> Program:
    return FlowPrograms(seed, shape).program()
