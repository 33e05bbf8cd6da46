"""Machine integers as mathematical ones: what is dropped, kept, corrected and left open."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Unsupported
from certus.core.intervals import ANY, Interval, bounds, quotient, remainder
from certus.core.solver import Answer
from certus.core.terms import INT, Expr, Function, Kind, array, machine
from certus.core.values import truncating_quotient
from certus.core.walk import postorder
from certus.encoding.integers import Encoded, Style, eliminate_machine
from certus.solvers.z3.solver import Z3Solver

I32, U32, U8 = machine(32, signed=True), machine(32, signed=False), machine(8, signed=False)
X, Y, Z = (build.var(name, I32) for name in "xyz")
B, C = build.var("b", U8), build.var("c", U8)
IX, IY = build.var("x:i32", INT), build.var("y:i32", INT)


def number(value: int, sort: object = I32) -> Expr:
    return build.constant(value, sort)  # type: ignore[arg-type]


def kinds(encoded: Encoded) -> set[Kind]:
    return {t.kind for t in postorder(*encoded.formulas)}


def answer(encoded: Encoded) -> Answer:
    solver = Z3Solver(Statistics())
    solver.add(*encoded.formulas, *encoded.ranges)
    return solver.check(budget=Budget(20), purpose="test")


def test_variables_get_ranges_and_names_of_their_sorts() -> None:
    encoded = eliminate_machine((build.le(X, Y),))
    assert encoded.formulas == (build.le(IX, IY),)
    assert encoded.symbols == {X: IX, Y: IY}
    low, high = build.integer(-(2**31)), build.integer(2**31 - 1)
    assert encoded.ranges == tuple(build.and_(build.le(low, v), build.le(v, high)) for v in (IX, IY))
    assert encoded.exact


def test_a_wrap_is_dropped_by_bounds_in_the_same_formula_only() -> None:
    bounded, step = build.lt(X, Y), build.eq(Z, build.add(X, number(1)))
    small = build.lt(X, number(100))
    together = eliminate_machine((build.and_(small, step, build.le(number(0), X)), bounded))
    assert Kind.MOD not in kinds(together)
    separate = eliminate_machine((small, step))
    assert Kind.MOD in kinds(separate)


def test_bounds_are_carried_through_equations_and_then_stated() -> None:
    encoded = eliminate_machine(
        (
            build.and_(
                build.le(number(0), X),
                build.lt(X, number(100)),
                build.eq(Y, build.add(X, number(1))),
                build.eq(Z, build.mul(Y, Y)),
            ),
        )
    )
    assert Kind.MOD not in kinds(encoded)
    assert build.le(build.var("z:i32", INT), build.integer(10000)) in encoded.formulas[0].args


@pytest.mark.parametrize(("style", "expected"), [("mod", Kind.MOD), ("ite", Kind.ITE)])
def test_the_style_of_a_wrap(style: Style, expected: Kind) -> None:
    encoded = eliminate_machine((build.eq(Z, build.add(X, Y)),), style)
    assert kinds(encoded) & {Kind.MOD, Kind.ITE} == {expected}


def test_too_many_moduli_are_not_corrected_one_by_one() -> None:
    encoded = eliminate_machine((build.eq(Z, build.mul(X, Y)),), "ite")
    assert kinds(encoded) & {Kind.MOD, Kind.ITE} == {Kind.MOD}


def test_a_chain_is_reduced_once() -> None:
    total = build.add(build.add(X, Y), build.add(Z, number(5)))
    encoded = eliminate_machine((build.eq(X, total),))
    assert sum(t.kind is Kind.MOD for t in postorder(*encoded.formulas)) == 1


@pytest.mark.parametrize("style", ["mod", "ite"])
def test_overflow_happens(style: Style) -> None:
    encoded = eliminate_machine((build.lt(build.add(X, number(1)), X),), style)
    assert answer(encoded) is Answer.SAT
    below = build.lt(X, number(2**31 - 1))
    assert answer(eliminate_machine((build.lt(build.add(X, number(1)), X), below), style)) is Answer.UNSAT


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (build.bit_and(B, number(0x3C, U8)), 0x24),
        (build.bit_or(B, number(0x0F, U8)), 0xAF),
        (build.bit_xor(B, number(0xFF, U8)), 0x5A),
        (build.bit_not(B), 0x5A),
        (build.shl(B, number(2, U8)), 0x94),
        (build.shr(B, number(3, U8)), 0x14),
        (build.to_int(build.wrap(B, machine(8, signed=True))), -91),
        (build.quot(build.wrap(B, machine(8, signed=True)), number(-2, machine(8, signed=True))), 45),
        (build.rem(build.wrap(B, machine(8, signed=True)), number(-2, machine(8, signed=True))), -1),
        (build.neg(B), 0x5B),
    ],
)
@pytest.mark.parametrize("style", ["mod", "ite"])
def test_operations_with_constants_are_exact(term: Expr, value: int, style: Style) -> None:
    fixed = build.eq(B, number(0xA5, U8))
    constant = build.constant(value, term.sort)
    encoded = eliminate_machine((fixed, build.ne(term, constant)), style)
    assert encoded.exact
    assert answer(encoded) is Answer.UNSAT


def test_bits_of_variables_are_a_function_with_true_axioms() -> None:
    larger = build.lt(build.bit_or(B, C), B)
    encoded = eliminate_machine((larger,))
    assert not encoded.exact
    assert answer(encoded) is Answer.UNSAT
    mask = build.and_(build.eq(C, number(255, U8)), build.ne(build.bit_and(B, C), B))
    assert answer(eliminate_machine((mask,))) is Answer.UNSAT


def test_shifts_by_variables_are_a_function_with_true_axioms() -> None:
    defined = build.lt(C, number(8, U8))
    encoded = eliminate_machine((defined, build.lt(B, build.shr(B, C))))
    assert not encoded.exact
    assert answer(encoded) is Answer.UNSAT


@pytest.mark.parametrize("operation", [build.quot, build.rem])
def test_division_by_zero_gives_any_value_of_the_sort(operation: object) -> None:
    term = operation(B, C)  # type: ignore[operator]
    zero = build.eq(C, number(0, U8))
    for value in (0, 255):
        assert answer(eliminate_machine((zero, build.eq(term, number(value, U8))))) is Answer.SAT
    assert answer(eliminate_machine((zero, build.lt(number(255, U8), term)))) is Answer.UNSAT


def test_functions_of_different_sorts_stay_apart() -> None:
    f, g = Function("f", (U8,), U8), Function("f", (I32,), U8)
    formula = build.ne(build.apply(f, (number(1, U8),)), build.apply(g, (number(1),)))
    assert answer(eliminate_machine((formula,))) is Answer.SAT


def test_array_reads_are_within_their_sort() -> None:
    memory = build.var("a", array(U32, U8))
    i = build.var("i", U32)
    encoded = eliminate_machine((build.lt(build.to_int(build.select(memory, i)), build.integer(0)),))
    assert answer(encoded) is Answer.UNSAT
    assert encoded.exact
    assert encoded.symbols[memory] is build.var("a:Array(u32,u8)", array(INT, INT))


def test_small_index_sorts_may_be_filled() -> None:
    """Two constant arrays are equal once every element is overwritten."""
    bit = machine(1, signed=False)
    zero, one = number(0, bit), number(1, bit)

    def filled(element: int) -> Expr:
        start = build.const_array(bit, number(element, U8))
        return build.store(build.store(start, zero, B), one, C)

    encoded = eliminate_machine((build.eq(filled(5), filled(7)),))
    assert answer(encoded) is Answer.SAT


def test_differences_of_arrays_are_not_exact_but_equations_are() -> None:
    a, b = build.var("a", array(U8, U8)), build.var("b", array(U8, U8))
    assert eliminate_machine((build.eq(a, build.store(b, B, C)),)).exact
    assert not eliminate_machine((build.ne(a, b),)).exact


def test_quantifiers_are_guarded() -> None:
    bound = build.bound(0, U8)
    assert answer(eliminate_machine((build.forall((U8,), build.le(bound, number(255, U8))),))) is Answer.SAT
    above = build.exists((U8,), build.lt(number(254, U8), bound))
    assert answer(eliminate_machine((above,))) is Answer.SAT
    wrapped = build.exists((U8,), build.lt(build.integer(255), build.to_int(bound)))
    assert answer(eliminate_machine((wrapped,))) is Answer.UNSAT


def test_quantified_arrays_are_refused() -> None:
    sort = array(U8, U8)
    formula = build.forall((sort,), build.eq(build.select(build.bound(0, sort), B), C))
    with pytest.raises(Unsupported):
        eliminate_machine((formula,))


@pytest.mark.parametrize("style", ["mod", "ite"])
def test_long_chains_stay_small(style: Style) -> None:
    total = X
    for step in range(2_000):
        total = build.add(build.mul(total, number(3)), number(step + 1))
    encoded = eliminate_machine((build.eq(total, Y),), style)
    numbers = [t.value for t in postorder(*encoded.formulas) if t.kind is Kind.CONST and t.sort is INT]
    assert max(abs(n) for n in numbers).bit_length() <= 4 * 32


# ---------------------------------------------------------------------------------- intervals


def test_intervals() -> None:
    some = Interval(-3, 5)
    assert some.plus(Interval(1, None)) == Interval(-2, None)
    assert some.times(Interval(-2, 2)) == Interval(-10, 10)
    assert some.times(ANY) == ANY
    assert some.meet(Interval(4, None)) == Interval(4, 5)
    assert some.meet(Interval(6, None)) is None
    assert some.hull(Interval(7, None)) == Interval(-3, None)
    assert some.within(ANY)
    assert not ANY.within(some)


@pytest.mark.parametrize("a", [(-7, 5), (0, 9), (-9, -2), (3, 3)])
@pytest.mark.parametrize("b", [(-3, 4), (1, 3), (0, 2), (-2, -1), (2, 2), (-2, -2)])
def test_division_intervals_hold_all_values(a: tuple[int, int], b: tuple[int, int]) -> None:
    quotients, remainders = quotient(Interval(*a), Interval(*b)), remainder(Interval(*a), Interval(*b))
    for x in range(a[0], a[1] + 1):
        for y in range(b[0], b[1] + 1):
            if y:
                q = truncating_quotient(x, y)
                assert Interval(q, q).within(quotients)
                assert Interval(x - q * y, x - q * y).within(remainders)


def test_bounds_are_read_from_comparisons() -> None:
    parts = (
        build.lt(X, number(10)),
        build.not_(build.lt(X, number(2))),
        build.eq(Y, number(4)),
        build.not_(build.le(Z, number(7))),
        build.ne(B, number(3, U8)),
    )
    intervals = bounds(parts)
    assert intervals == {X: Interval(2, 9), Y: Interval(4, 4), Z: Interval(8, 2**31 - 1)}
