"""What is said in C has the value of the term: random terms, evaluated by us and by the program they are put
into, which is read by the real Clang."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import Undefined
from certus.core.terms import BOOL, INT, Expr, MachineSort, machine
from certus.core.values import evaluate
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs
from certus.interpreter.interpreter import Ending, run
from certus.witness.write.c_expression import Inexpressible, c_expression

SORTS = tuple(machine(width, signed=signed) for width in (8, 16, 32, 64) for signed in (True, False))
TYPES = {8: "char", 16: "short", 32: "int", 64: "long long"}
MACHINE = (build.add, build.sub, build.mul, build.bit_and, build.bit_or, build.bit_xor, build.quot, build.rem)


def values(sort: MachineSort) -> list[int]:
    return [sort.low, sort.low + 1, -1 if sort.signed else 1, 0, 1, 7, sort.high - 1, sort.high]


def number(chance: random.Random, names: list[Expr], depth: int) -> Expr:
    """A mathematical integer."""
    if depth == 0 or chance.random() < 0.3:
        return (
            build.to_int(chance.choice(names))
            if chance.random() < 0.7
            else build.integer(chance.randint(-9, 9))
        )
    a, b = (number(chance, names, depth - 1) for _ in range(2))
    which = chance.randrange(6)
    if which == 0:
        return build.div(a, build.integer(chance.choice((1, 2, 256))))
    if which == 1:
        return build.mod(a, build.integer(chance.choice((1, 3, 1 << 32))))
    return build.mul(a, build.integer(chance.randint(-4, 4))) if which == 2 else build.add(a, b)


def machine_term(chance: random.Random, names: list[Expr], sort: MachineSort, depth: int) -> Expr:
    own = [x for x in names if x.sort is sort]
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(own)
    if chance.random() < 0.2:
        return build.wrap(machine_term(chance, names, chance.choice(SORTS), depth - 1), sort)
    a, b = (machine_term(chance, names, sort, depth - 1) for _ in range(2))
    if chance.random() < 0.15:
        return chance.choice((build.neg, build.bit_not))(a)
    if chance.random() < 0.15:
        return chance.choice((build.shl, build.shr))(
            a, build.constant(chance.randint(0, sort.width - 1), sort)
        )
    return chance.choice(MACHINE)(a, b)


def truth(chance: random.Random, names: list[Expr]) -> Expr:
    compare = chance.choice((build.eq, build.le, build.lt, build.ne))
    if chance.random() < 0.5:
        return compare(number(chance, names, 3), number(chance, names, 2))
    sort = chance.choice(SORTS)
    return compare(machine_term(chance, names, sort, 3), machine_term(chance, names, sort, 2))


@pytest.mark.parametrize("seed", range(2))
def test_it_has_the_value_of_the_term(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    names = [build.var(f"v{n}_{sort.name}", sort) for sort in SORTS for n in range(2)]
    given = {x: chance.choice(values(x.sort)) for x in names if isinstance(x.sort, MachineSort)}
    lines, said = [], 0
    while said < 200:
        term = build.and_(truth(chance, names), truth(chance, names))
        if chance.random() < 0.3:
            term = build.or_(build.not_(term), truth(chance, names))
        try:
            expected = evaluate(term, given)
            text = c_expression(term, {x: x.name for x in names}).text
        except (Undefined, Inexpressible):
            continue
        said += 1
        lines.append(f"  if ({'!' if expected else ''}({text})) reach_error();")
    declared = [
        f"  {'signed' if x.sort.signed else 'unsigned'} {TYPES[x.sort.width]} {x.name} ="
        f" {literal(given[x], x.sort)};"
        for x in names
        if isinstance(x.sort, MachineSort)
    ]
    file = tmp_path / "said.c"
    file.write_text("\n".join(["void reach_error(void);", "int main(void) {", *declared, *lines, "}"]))
    assert ends_well(file)


def ends_well(file: Path) -> bool:
    end = run(compile_program(load_c(file).program), NoInputs(), budget=Budget(60))
    return end.ending is Ending.EXIT


def literal(value: int, sort: MachineSort) -> str:
    if not sort.signed:
        return f"{value}ULL"
    return f"({value + 1}LL - 1)"


def test_the_law_can_fail(tmp_path: Path) -> None:
    file = tmp_path / "wrong.c"
    file.write_text("void reach_error(void); int main(void) { int x = 1; if (!(x == 2)) reach_error(); }")
    assert not ends_well(file)


def test_addresses_and_unnamed_variables_are_not_said() -> None:
    x, p = build.var("x", SORTS[4]), build.var("p", INT)
    with pytest.raises(Inexpressible):
        c_expression(build.eq(x, build.constant(1, SORTS[4])), {})
    with pytest.raises(Inexpressible):
        c_expression(build.eq(p, build.integer(4096)), {p: "p"})
    assert c_expression(build.eq(p, build.integer(0)), {p: "p"}).text == "(void *)p == (void *)0"
    assert build.TRUE.sort is BOOL
