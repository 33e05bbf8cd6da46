"""Evaluation where it is not simply computing: undefined values, missing ones, arrays."""

from __future__ import annotations

from fractions import Fraction

import pytest

from certus.core.build import (
    add,
    and_,
    apply,
    bound,
    const_array,
    constant,
    eq,
    forall,
    integer,
    ite,
    lt,
    mul,
    or_,
    quot,
    select,
    shl,
    store,
    to_int,
    to_real,
    var,
)
from certus.core.errors import Undefined
from certus.core.terms import BOOL, INT, REAL, Expr, Function, array, machine
from certus.core.values import ArrayValue, as_value, decimal, default_value, domain_size, evaluate

U2, U8, I8 = machine(2, signed=False), machine(8, signed=False), machine(8, signed=True)
X, Y, P = var("x", INT), var("y", INT), var("p", BOOL)
M = var("m", array(INT, INT))
BAD = eq(quot(X, Y), X)  # undefined where y is 0


class TestUndefined:
    def test_division_by_zero(self) -> None:
        with pytest.raises(Undefined):
            evaluate(quot(X, Y), {X: 1, Y: 0})

    def test_only_the_chosen_branch_matters(self) -> None:
        term = ite(P, quot(X, Y), X)
        assert evaluate(term, {P: False, X: 3, Y: 0}) == 3
        with pytest.raises(Undefined):
            evaluate(term, {P: True, X: 3, Y: 0})

    def test_an_undefined_condition(self) -> None:
        with pytest.raises(Undefined):
            evaluate(ite(BAD, X, Y), {X: 3, Y: 0})

    def test_a_decided_connective_does_not_depend_on_the_rest(self) -> None:
        env = {X: 3, Y: 0, P: False}
        assert evaluate(and_(BAD, P), env) is False
        assert evaluate(or_(BAD, P, eq(Y, integer(0))), env) is True
        for term in (or_(BAD, P), and_(BAD, eq(Y, integer(0)))):
            with pytest.raises(Undefined):
                evaluate(term, env)

    @pytest.mark.parametrize("amount", [-1, 8, 127])
    def test_oversized_shifts(self, amount: int) -> None:
        s, t = var("s", I8), var("t", I8)
        with pytest.raises(Undefined):
            evaluate(shl(s, t), {s: 1, t: amount})

    def test_operations_on_undefined_values(self) -> None:
        for term in (add(quot(X, Y), X), mul(quot(X, Y), Y), select(store(M, X, quot(X, Y)), Y)):
            with pytest.raises(Undefined):
                evaluate(term, {X: 1, Y: 0, M: ArrayValue(array(INT, INT), 0)})


class TestMeaning:
    def test_a_variable_without_value(self) -> None:
        with pytest.raises(KeyError):
            evaluate(add(X, Y), {X: 1})

    def test_functions(self) -> None:
        f = Function("f", (INT,), INT)
        assert evaluate(apply(f, (X,)), {X: 4}, {f: lambda n: n * n}) == 16
        with pytest.raises(KeyError):
            evaluate(apply(f, (X,)), {X: 4})

    def test_quantifiers_have_no_computable_value(self) -> None:
        term = forall((INT,), lt(bound(0, INT), X))
        with pytest.raises(ValueError, match="quantified"):
            evaluate(term, {X: 1})
        with pytest.raises(ValueError, match="bound variable"):
            evaluate(bound(0, INT), {})

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            (X, True),
            (P, 1),
            (var("a", U8), 256),
            (X, Fraction(1, 2)),
            (M, 0),
            (X, ArrayValue(array(INT, INT), 0)),
        ],
    )
    def test_a_value_must_fit_its_variable(self, variable: Expr, value: object) -> None:
        with pytest.raises(ValueError, match="is not a value of sort"):
            evaluate(variable, {variable: value})  # type: ignore[dict-item]

    def test_reals_are_fractions_even_if_given_as_integers(self) -> None:
        r = var("r", REAL)
        for term in (r, add(r, to_real(X))):
            assert type(evaluate(term, {r: 2, X: 1})) is Fraction

    def test_machine_values_as_integers(self) -> None:
        s = var("s", I8)
        assert evaluate(to_int(add(s, s)), {s: -100}) == 56


class TestArrayValue:
    def test_entries_that_repeat_the_default_vanish(self) -> None:
        sort = array(INT, INT)
        assert ArrayValue(sort, 0, {1: 0, 2: 5}) == ArrayValue(sort, 0, {2: 5})
        assert ArrayValue(sort, 0).store(3, 1).store(3, 0) == ArrayValue(sort, 0)
        assert len({ArrayValue(sort, 0, {1: 2, 3: 4}), ArrayValue(sort, 0, {3: 4, 1: 2})}) == 1

    def test_equality_is_that_of_functions_on_finite_domains(self) -> None:
        sort = array(BOOL, INT)
        assert ArrayValue(sort, 0, {True: 1}) == ArrayValue(sort, 1, {False: 0})
        assert ArrayValue(sort, 7, {True: 1, False: 0}) == ArrayValue(sort, 0, {True: 1})
        assert hash(ArrayValue(sort, 7, {True: 1, False: 1})) == hash(ArrayValue(sort, 1))
        small = array(U2, BOOL)
        assert ArrayValue(small, True, {0: False, 1: False}) == ArrayValue(small, False, {2: True, 3: True})
        assert ArrayValue(small, True, {0: False, 1: False}) != ArrayValue(small, False, {0: True, 1: True})

    def test_arrays_indexed_by_arrays(self) -> None:
        inner = array(BOOL, BOOL)
        identity = ArrayValue(inner, False, {True: True})
        outer = array(inner, INT)
        assert ArrayValue(outer, 0, {identity: 5})[ArrayValue(inner, True, {False: False})] == 5
        everywhere = {ArrayValue(inner, a, {True: b}): 3 for a in (False, True) for b in (False, True)}
        assert ArrayValue(outer, 0, everywhere) == ArrayValue(outer, 3)

    def test_text(self) -> None:
        assert repr(ArrayValue(array(INT, INT), 0, {2: 5, -1: 4})) == "{-1: 4, 2: 5, else: 0}"

    def test_sizes_of_domains(self) -> None:
        assert [domain_size(s) for s in (BOOL, U8, array(BOOL, U2), INT, array(INT, BOOL))] == [
            2, 256, 16, None, None,
        ]  # fmt: skip
        assert domain_size(array(machine(64, signed=False), machine(64, signed=False))) is None

    def test_a_long_chain_of_stores_is_evaluated_in_one_go(self) -> None:
        term = M
        for n in range(20_000):
            term = store(term, add(X, integer(n)), integer(n))
        result = evaluate(select(term, Y), {M: ArrayValue(array(INT, INT), -1), X: 10, Y: 15_010})
        assert result == 15_000

    def test_constant_arrays(self) -> None:
        assert evaluate(const_array(BOOL, X), {X: 3}) == ArrayValue(array(BOOL, INT), 3)
        assert default_value(array(INT, array(BOOL, REAL))) == ArrayValue(
            array(INT, array(BOOL, REAL)), ArrayValue(array(BOOL, REAL), Fraction(0))
        )

    def test_default_values(self) -> None:
        assert [default_value(s) for s in (BOOL, INT, U8)] == [False, 0, 0]
        assert as_value(default_value(REAL), REAL) == 0


def test_decimal_text_of_huge_integers() -> None:
    assert decimal(10**5000 + 7) == "1" + "0" * 4999 + "7"
    assert decimal(-(10**5000)) == "-1" + "0" * 5000
    assert decimal(-12) == "-12"
    assert evaluate(constant(3, U8), {}) == 3
