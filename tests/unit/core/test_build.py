"""Constructors: each simplification by name. That they keep values is a law (`laws/test_terms.py`)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from certus.core.build import (
    FALSE,
    TRUE,
    add,
    and_,
    apply,
    bit_not,
    bit_xor,
    bound,
    const_array,
    constant,
    div,
    eq,
    exists,
    floor,
    forall,
    ge,
    gt,
    implies,
    integer,
    ite,
    le,
    lt,
    mod,
    mul,
    ne,
    neg,
    not_,
    or_,
    quot,
    rdiv,
    real,
    rem,
    scale,
    select,
    shl,
    shr,
    store,
    sub,
    to_int,
    to_real,
    var,
    wrap,
)
from certus.core.terms import BOOL, INT, REAL, Expr, Function, Kind, array, machine

I8, U8, U16, I16 = (machine(w, signed=s) for w, s in ((8, True), (8, False), (16, False), (16, True)))
X, Y, Z = (var(n, INT) for n in "xyz")
P, Q, R = (var(n, BOOL) for n in "pqr")
A, B = var("a", U8), var("b", U8)
S, T = var("s", I8), var("t", I8)
M = var("m", array(INT, INT))


def u8(value: int) -> Expr:
    return constant(value, U8)


def i8(value: int) -> Expr:
    return constant(value, I8)


class TestConstants:
    def test_terms_with_equal_parts_are_one_object(self) -> None:
        assert add(X, Y) is add(Y, X)
        assert constant(3, INT) is integer(3)

    def test_equal_python_values_of_different_sorts_are_different_terms(self) -> None:
        assert len({integer(1), real(1), TRUE, u8(1), i8(1)}) == 5

    def test_truth_values_given_as_integers_become_integers(self) -> None:
        assert type(integer(True).value) is int
        assert type(constant(True, INT).value) is int

    @pytest.mark.parametrize("value", [-1, 256])
    def test_a_machine_integer_out_of_range_is_refused(self, value: int) -> None:
        with pytest.raises(ValueError, match="not a value of sort u8"):
            constant(value, U8)

    def test_a_fraction_is_no_integer(self) -> None:
        with pytest.raises(ValueError, match="1/2 is not a value of sort Int"):
            constant(Fraction(1, 2), INT)

    def test_there_are_no_array_constants(self) -> None:
        with pytest.raises(ValueError, match="not a value of sort Array"):
            constant(0, array(INT, INT))

    def test_integers_of_any_size_have_a_digest_and_a_text(self) -> None:
        huge = integer(1 << 100_000)
        assert huge.digest != integer(-(1 << 100_000)).digest
        assert len(repr(huge)) == 4000

    def test_digests_of_small_constants_differ(self) -> None:
        numbers = [*range(-1000, 1000), 2**61 - 2, 2**61 - 1, 2**61, 2**63, 2**64 - 1, 2**64]
        assert len({integer(n).digest for n in numbers}) == len(numbers)


class TestBool:
    def test_connectives_are_flat_sorted_and_without_repetition(self) -> None:
        assert and_(P, and_(Q, R), Q) is and_(R, Q, P)
        assert set(and_(P, and_(Q, R)).args) == {P, Q, R}
        assert or_(and_(P, Q), and_(Q, P)) is and_(P, Q)

    def test_neutral_and_absorbing_elements(self) -> None:
        assert and_() is TRUE
        assert or_() is FALSE
        assert and_(P, TRUE) is P
        assert and_(P, FALSE) is FALSE
        assert or_(P, TRUE) is TRUE

    def test_a_part_and_its_negation(self) -> None:
        assert and_(P, Q, not_(P)) is FALSE
        assert or_(P, Q, not_(P)) is TRUE

    def test_the_negation_of_flattened_parts_is_seen(self) -> None:
        assert implies(or_(P, Q), or_(P, Q, R)) is TRUE
        assert and_(P, not_(and_(P, Q)), Q) is FALSE
        assert and_(P, not_(and_(P, Q))) not in (TRUE, FALSE)
        assert and_(P, not_(or_(P, Q))).kind is Kind.AND

    def test_double_negation(self) -> None:
        assert not_(not_(P)) is P
        assert not_(TRUE) is FALSE

    def test_choices_of_truth_values_are_connectives(self) -> None:
        assert ite(P, TRUE, FALSE) is P
        assert ite(P, FALSE, TRUE) is not_(P)
        assert ite(P, Q, FALSE) is and_(P, Q)
        assert ite(P, TRUE, Q) is or_(P, Q)
        assert ite(not_(P), X, Y) is ite(P, Y, X)
        assert ite(P, X, X) is X

    def test_branches_of_different_sorts_are_refused(self) -> None:
        with pytest.raises(AssertionError):
            ite(P, X, A)


class TestComparison:
    def test_equality_is_symmetric(self) -> None:
        assert eq(X, Y) is eq(Y, X)
        assert ne(X, Y) is not_(eq(X, Y))

    def test_equality_of_truth_values(self) -> None:
        assert eq(P, TRUE) is P
        assert eq(FALSE, P) is not_(P)
        assert eq(P, not_(P)) is FALSE

    def test_different_arrays_may_be_equal(self) -> None:
        zeros, stored = const_array(INT, integer(0)), store(M, X, integer(0))
        assert eq(zeros, stored).kind is Kind.EQ
        assert eq(store(M, X, Y), store(M, Y, X)).kind is Kind.EQ
        assert eq(zeros, zeros) is TRUE

    def test_constants_are_compared(self) -> None:
        assert lt(integer(1), integer(2)) is TRUE
        assert ge(real(1), real(2)) is FALSE
        assert eq(i8(-1), i8(1)) is FALSE

    def test_the_range_of_a_machine_sort_is_known(self) -> None:
        assert le(u8(0), A) is TRUE
        assert le(A, u8(255)) is TRUE
        assert lt(A, u8(0)) is FALSE
        assert gt(A, u8(255)) is FALSE
        assert le(S, i8(127)) is TRUE
        assert le(i8(0), S).kind is Kind.LE
        assert le(A, u8(0)).kind is Kind.LE

    def test_sorts_must_agree(self) -> None:
        with pytest.raises(AssertionError):
            eq(X, A)
        with pytest.raises(AssertionError):
            le(A, S)


class TestArithmetic:
    def test_sums_are_in_linear_normal_form(self) -> None:
        assert sub(add(X, Y), X) is Y
        assert add(X, X) is mul(integer(2), X)
        assert sub(X, X) is integer(0)
        assert add(X, integer(1), Y, integer(-1)) is add(Y, X)
        assert scale(3, add(X, integer(2))) is add(scale(3, X), integer(6))

    def test_products(self) -> None:
        assert mul(mul(integer(2), X), mul(Y, integer(3))) is scale(6, mul(Y, X))
        assert mul(add(X, Y), scale(3, Z)) is scale(3, mul(add(Y, X), Z))
        assert mul(X, integer(0)) is integer(0)

    def test_operands_of_different_sorts_are_refused(self) -> None:
        for operation in (add, sub, mul, quot, bit_xor, shl):
            with pytest.raises(AssertionError):
                operation(A, S)

    def test_machine_arithmetic_wraps(self) -> None:
        assert add(u8(200), u8(100)) is u8(44)
        assert neg(i8(-128)) is i8(-128)
        assert mul(i8(64), i8(2)) is i8(-128)
        assert sub(u8(0), u8(1)) is u8(255)
        assert neg(neg(A)) is A

    @pytest.mark.parametrize(
        ("a", "b", "quotient", "remainder"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1)]
    )
    def test_c_division_truncates(self, a: int, b: int, quotient: int, remainder: int) -> None:
        assert quot(integer(a), integer(b)) is integer(quotient)
        assert rem(integer(a), integer(b)) is integer(remainder)
        assert quot(i8(a), i8(b)) is i8(quotient)
        assert rem(i8(a), i8(b)) is i8(remainder)

    @pytest.mark.parametrize(
        ("a", "b", "quotient", "remainder"), [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -3, 1), (-7, -2, 4, 1)]
    )
    def test_smt_division_has_no_negative_remainder(
        self, a: int, b: int, quotient: int, remainder: int
    ) -> None:
        assert div(integer(a), integer(b)) is integer(quotient)
        assert mod(integer(a), integer(b)) is integer(remainder)

    def test_the_least_integer_divided_by_minus_one(self) -> None:
        assert quot(i8(-128), i8(-1)) is i8(-128)
        assert rem(i8(-128), i8(-1)) is i8(0)

    def test_division_by_zero_stays(self) -> None:
        assert quot(integer(1), integer(0)).kind is Kind.QUOT
        assert rdiv(real(1), real(0)).kind is Kind.RDIV

    def test_division_by_one(self) -> None:
        assert quot(X, integer(1)) is X
        assert mod(X, integer(1)) is integer(0)

    def test_real_division_by_a_constant_is_a_product(self) -> None:
        r = var("r", REAL)
        assert rdiv(r, real(4)) is scale(Fraction(1, 4), r)


class TestBitsAndConversions:
    def test_shifts(self) -> None:
        assert shr(i8(-8), i8(1)) is i8(-4)
        assert shr(u8(248), u8(1)) is u8(124)
        assert shl(u8(255), u8(4)) is u8(240)
        assert shl(A, u8(0)) is A

    def test_oversized_shifts_stay(self) -> None:
        assert shl(u8(1), u8(8)).kind is Kind.SHL
        assert shr(i8(1), i8(-1)).kind is Kind.SHR

    def test_bits(self) -> None:
        assert bit_not(i8(0)) is i8(-1)
        assert bit_not(u8(0)) is u8(255)
        assert bit_xor(A, A) is u8(0)

    def test_a_wrap_through_a_wider_sort_vanishes(self) -> None:
        assert wrap(wrap(A, U16), U8) is A
        assert wrap(wrap(X, U16), U8) is wrap(X, U8)
        assert wrap(wrap(A, I16), U16) is wrap(A, U16)  # every u8 is an i16

    def test_a_wrap_that_loses_values_stays(self) -> None:
        narrow = wrap(var("w", U16), U8)
        assert wrap(narrow, U16).args == (narrow,)
        flipped = wrap(S, U8)  # -1 becomes 255
        assert wrap(flipped, I16).args == (flipped,)
        assert wrap(flipped, I8) is S
        assert to_int(flipped).args == (flipped,)

    def test_conversions_that_keep_the_value(self) -> None:
        assert to_int(wrap(A, I16)) is to_int(A)
        assert wrap(to_int(A), U16) is wrap(A, U16)
        assert floor(to_real(X)) is X
        assert floor(real(Fraction(-1, 2))) is integer(-1)

    def test_only_integers_are_wrapped(self) -> None:
        with pytest.raises(AssertionError):
            wrap(var("r", REAL), U8)


class TestArrays:
    def test_reading_what_was_written(self) -> None:
        assert select(store(M, X, Y), X) is Y
        assert select(const_array(INT, Y), X) is Y

    def test_reading_past_writes_to_other_constants(self) -> None:
        written = store(store(M, integer(1), X), integer(2), Y)
        assert select(written, integer(1)) is X
        assert select(written, integer(3)) is select(M, integer(3))

    def test_a_write_that_may_be_to_the_same_place_stays(self) -> None:
        assert select(store(M, X, Z), Y).args[0] is store(M, X, Z)
        beyond = select(store(store(M, X, Z), integer(1), Y), integer(2))
        assert beyond.args == (store(M, X, Z), integer(2))

    def test_the_last_write_to_a_place_counts(self) -> None:
        assert store(store(M, X, Y), X, Z) is store(M, X, Z)
        between = store(store(store(M, X, Y), Y, X), X, Z)
        assert select(between, X) is Z

    def test_writing_back_what_was_read(self) -> None:
        assert store(M, X, select(M, X)) is M

    def test_sorts_must_agree(self) -> None:
        with pytest.raises(AssertionError):
            select(M, A)
        with pytest.raises(AssertionError):
            store(M, X, P)


class TestFunctionsAndQuantifiers:
    def test_applications_check_their_arguments(self) -> None:
        f = Function("f", (INT, BOOL), INT)
        assert apply(f, (X, P)).sort is INT
        with pytest.raises(AssertionError):
            apply(f, (P, X))

    def test_quantifiers_over_nothing_or_constants(self) -> None:
        assert forall((), P) is P
        assert exists((INT,), FALSE) is FALSE
        assert forall((INT,), eq(bound(0, INT), X)).bound_sorts == (INT,)
