"""Compare exact floating point with the solvers on many operations: random ones, and special values.

The operands are constants, so that a solver evaluates what our translation states. Many operations are one
question: whether all have the values of `core.floats`. For the first of them, which are special values, a
second question asks whether one can have another value. Where a solver says anything else, the operations
are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Final

from tests.laws.float_hardware import random_bits

from certus.core import build, float_terms
from certus.core.accounting import Budget, Statistics
from certus.core.floats import F16, F32, F64, FORMATS, Format
from certus.core.solver import Answer
from certus.core.terms import BOOL, FLOATS, Expr, Kind, MachineSort, Sort, machine
from certus.core.values import fold_float
from certus.interpreter.inputs import special_floats
from certus.solvers.bitwuzla.solver import BitwuzlaSolver
from certus.solvers.cvc5 import Cvc5Solver
from certus.solvers.z3.solver import Z3Solver

BATCH: Final = 100
UNIQUE: Final = 20  # operations that are asked whether they can have another value
SECONDS: Final = 60.0
OPERANDS: Final = {Kind.F_FMA: 3, **dict.fromkeys((Kind.F_SQRT, Kind.F_RTI, Kind.F_CONVERT, Kind.F_TO), 1)}
UNROUNDED: Final = (Kind.F_REM, Kind.F_EQ, Kind.F_LT, Kind.F_LE, Kind.F_TO)
CONDITIONS: Final = (Kind.F_EQ, Kind.F_LT, Kind.F_LE)
INTEGERS: Final = tuple(machine(width, signed=signed) for width in (8, 32, 64) for signed in (False, True))
SUPPORTED: Final[dict[str, tuple[Format, ...]]] = {
    "z3": tuple(FORMATS.values()),
    "bitwuzla": (F16, F32, F64),
    "cvc5": (F32, F64),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """The operations that a solver decided, those it did not, and those that differ."""

    decided: int
    undecided: int
    wrong: tuple[str, ...]


def disagreements(solver: str, kind: Kind, format: Format, mode: int, count: int, seed: int) -> Tally:
    """Compute all combinations of special values, and `count` random operations."""
    random = Random(f"{kind.name}/{format.name}/{mode}/{seed}")
    cases = list(operations(kind, format, mode, count, random, SUPPORTED[solver]))
    decided = undecided = 0
    wrong: list[str] = []
    for start in range(0, len(cases), BATCH):
        batch = cases[start : start + BATCH]
        first = start > 0 or agrees(solver, batch[:UNIQUE], unique=True)
        if first and agrees(solver, batch, unique=False):
            decided += len(batch)
            continue
        for case in batch:
            answer = agrees(solver, [case], unique=True)
            decided += answer is not None
            undecided += answer is None
            if answer is False:
                wrong.append(f"{solver}: {case[0]} is {case[1]}")
    return Tally(decided, undecided, tuple(wrong))


def operations(
    kind: Kind, format: Format, mode: int, count: int, random: Random, formats: Sequence[Format]
) -> Iterator[tuple[Expr, Expr]]:
    """Yield operations on constants and their values, where they have one."""
    special = special_floats(format)
    number = OPERANDS.get(kind, 2)
    if kind is Kind.F_FROM:
        for sort in INTEGERS:
            values = [0, 1, sort.low, sort.high]
            values += [random.randint(sort.low, sort.high) for _ in range(count // len(INTEGERS))]
            yield from (_valued(kind, format.name, (build.constant(v, sort),), mode, None) for v in values)
        return
    drawn: Iterator[tuple[int, ...]] = iter(product(special, repeat=number))
    randoms = (tuple(_near(format, random, number)) for _ in range(count))
    for patterns in (*drawn, *randoms):
        args = tuple(build.constant(bits, float_terms.float_sort(format)) for bits in patterns)
        if kind is Kind.F_CONVERT:
            target = random.choice([each for each in formats if each != format])
            yield _valued(kind, f"{format.name} {target.name}", args, mode, None)
        elif kind is Kind.F_TO:
            sort = random.choice(INTEGERS)
            if fold_float(kind, format.name, patterns, sort) is not None:
                yield _valued(kind, format.name, args, mode, sort)
        else:
            yield _valued(kind, format.name, args, mode, None)


def _near(format: Format, random: Random, number: int) -> Iterator[int]:
    near = 0
    for _ in range(number):
        near = random_bits(format, random, near)
        yield near


def _valued(
    kind: Kind, data: str, args: tuple[Expr, ...], mode: int, sort: MachineSort | None
) -> tuple[Expr, Expr]:
    """Return an operation that is not folded, and its value."""
    if kind not in UNROUNDED:
        args = (*args, build.constant(mode, float_terms.ROUNDING))
    target = FORMATS[data.rsplit(maxsplit=1)[-1]]
    result: Sort = sort or (BOOL if kind in CONDITIONS else float_terms.float_sort(target))
    value = fold_float(kind, data, [int(a.value) for a in args], result)
    assert value is not None
    return Expr(kind, args, data, result), build.constant(value, result)


def agrees(solver: str, cases: Sequence[tuple[Expr, Expr]], *, unique: bool) -> bool | None:
    """Return whether the operations have their values, and if `unique` no others; None if the solver does not
    know."""
    same = [_equation(term, value) for term, value in cases]
    questions = [(same, Answer.SAT)]
    if unique:
        questions.append(([build.disjunction(build.not_(each) for each in same)], Answer.UNSAT))
    for formulas, expected in questions:
        answer = ASK[solver](formulas)
        if answer is not expected:
            return None if answer is Answer.UNKNOWN else False
    return True


def _equation(term: Expr, value: Expr) -> Expr:
    if term.sort is BOOL:
        return term if value.value else Expr(Kind.NOT, (term,), None, BOOL)
    return Expr(Kind.EQ, (term, value), None, BOOL)


def _by_z3(formulas: Sequence[Expr]) -> Answer:
    solver = Z3Solver(Statistics())
    solver.add(*formulas)
    return solver.check(budget=Budget(SECONDS), purpose="law")


def _by_bitwuzla(formulas: Sequence[Expr]) -> Answer:
    solver = BitwuzlaSolver(Statistics())
    solver.add(*formulas)
    return solver.check(budget=Budget(SECONDS), purpose="law") if solver.fits else Answer.UNKNOWN


def _by_cvc5(formulas: Sequence[Expr]) -> Answer:
    return Cvc5Solver(Statistics()).check_formulas(formulas, budget=Budget(SECONDS), purpose="law")


ASK: Final[dict[str, Callable[[Sequence[Expr]], Answer]]] = {
    "z3": _by_z3,
    "bitwuzla": _by_bitwuzla,
    "cvc5": _by_cvc5,
}


def questions(solver: str) -> Iterator[tuple[Kind, Format, int]]:
    """Yield the operations, formats and modes that a solver supports. The remainder of `double` takes minutes
    for one question, and only z3 knows its constants."""
    for kind in sorted(FLOATS):
        for format in SUPPORTED[solver]:
            if kind is Kind.F_REM and format not in (F16, F32):
                continue
            for mode in range(1 if kind in UNROUNDED else 5):
                yield kind, format, mode
