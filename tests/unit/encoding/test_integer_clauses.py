"""Horn clauses over machine integers, solved over Int and read back; the solver that works so."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, parameters
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr, Function, array, machine
from certus.core.walk import substitute, variables
from certus.encoding.canonical_atoms import as_equalities, canonical, predicates
from certus.encoding.integer_clauses import IntegerClauses, has_machine_integers
from certus.interpolation.affine import affine_equations
from certus.interpolation.interpolants import are_interpolants, invariants, path_system
from certus.solvers.z3.integer_solver import IntegerSolver

U32, I32 = machine(32, signed=False), machine(32, signed=True)
X, Y, N = (build.var(name, U32) for name in "xyn")
STATE = Function("state", (U32, U32, U32), BOOL)


def constant(value: int) -> Expr:
    return build.constant(value, U32)


def clause(body: list[Expr], constraint: Expr, head: Expr | None) -> Clause:
    terms = (*body, constraint, *([] if head is None else [head]))
    return Clause(variables(*terms), tuple(body), constraint, head)


def countdown(claim: Expr) -> HornSystem:
    """x = n; y = 0; while (x > 0) { x--; y++; } claim"""
    state = build.apply(STATE, (X, Y, N))
    one = constant(1)
    moved = build.apply(STATE, (build.sub(X, one), build.add(Y, one), N))
    return path_system(
        (
            clause([], build.TRUE, build.apply(STATE, (N, constant(0), N))),
            clause([state], build.lt(constant(0), X), moved),
            clause([state], build.and_(build.eq(X, constant(0)), build.not_(claim)), None),
        )
    )


def test_an_invariant_of_unsigned_counters_is_a_sum() -> None:
    system = countdown(build.eq(Y, N))
    assert has_machine_integers(system)
    relations = invariants(system, budget=Budget(30), statistics=Statistics())
    assert relations is not None
    names, formula = relations[STATE]
    x, y, n = (build.to_int(v) for v in names)
    total = build.eq(build.add(x, y), n)
    assert predicates(total)[0] in predicates(formula)


def test_a_false_claim_has_no_invariant() -> None:
    system = countdown(build.ne(Y, constant(7)))
    assert invariants(system, budget=Budget(30), statistics=Statistics()) is None


def test_encoded_clauses_have_ranges_and_no_functions() -> None:
    both = build.bit_and(X, Y)
    relation = Function("bits", (U32, U32), BOOL)
    encoded = IntegerClauses(path_system((clause([], build.TRUE, build.apply(relation, (X, both))),)))
    (only,) = encoded.system.clauses
    assert only.head is not None
    assert all(a.sort is INT for a in only.head.args)
    assert not has_machine_integers(encoded.system)
    assert all(len(v.args) == 0 for v in only.variables)


def test_reads_and_writes_of_arrays_and_equations_between_them_come_back() -> None:
    sort = array(INT, I32)
    relation = Function("heap", (sort, INT), BOOL)
    a, i = build.var("a", sort), build.var("i", INT)
    encoded = IntegerClauses(path_system((clause([], build.TRUE, build.apply(relation, (a, i))),)))
    (inside,) = encoded.system.relations
    heap, index = parameters(inside)
    read = build.le(build.select(heap, index), build.integer(3))
    back = encoded.decoded(Model({inside: ((heap, index), read)}))
    assert back is not None
    (b, j), formula = back.relations[relation]
    assert formula is build.le(build.to_int(build.select(b, j)), build.integer(3))
    written = build.eq(build.store(heap, index, build.integer(1)), heap)
    back = encoded.decoded(Model({inside: ((heap, index), written)}))
    assert back is not None
    (b, j), formula = back.relations[relation]
    assert formula is build.eq(build.store(b, j, build.constant(1, I32)), b)
    inner = array(INT, array(INT, INT))
    nested = build.eq(build.store(build.var("n", inner), index, heap), build.var("n", inner))
    assert encoded.decoded(Model({inside: ((heap, index), nested)})) is None


# ----------------------------------------------------------------------------------- equations


def test_affine_equations_over_the_integers_and_modulo_two() -> None:
    """x, b = 0, true; loop { x, b = x + 1, !b }: nothing but b + x odd."""
    relation = Function("flip", (INT, BOOL, INT), BOOL)
    x, b, y = build.var("x", INT), build.var("b", BOOL), build.var("y", INT)
    zero, one = build.integer(0), build.integer(1)
    state = build.apply(relation, (x, b, y))
    moved = build.apply(relation, (build.add(x, one), build.not_(b), build.sub(y, build.integer(3))))
    system = path_system(
        (
            clause([], build.TRUE, build.apply(relation, (zero, build.TRUE, zero))),
            clause([state], build.TRUE, moved),
        )
    )
    equations = affine_equations(system, budget=Budget(30), statistics=Statistics())[relation]
    p, q, r = parameters(relation)
    bit = build.ite(q, one, zero)
    line = build.eq(build.add(build.scale(3, p), r), zero)
    assert predicates(equations[0]) == predicates(line)
    odd = build.eq(build.mod(build.add(p, bit), build.integer(2)), one)
    model = Model({relation: ((p, q, r), build.and_(*equations))})
    claimed = substitute(odd, {p: x, q: b})
    wanted = path_system((*system.clauses, clause([state], build.not_(claimed), None)))
    assert are_interpolants(wanted, model, budget=Budget(30), statistics=Statistics())


# -------------------------------------------------------------------------------------- atoms


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        (build.le(build.to_int(X), build.integer(5)), build.le(X, constant(5))),
        (build.lt(build.to_int(X), build.to_int(Y)), build.not_(build.le(Y, X))),
        (build.eq(build.to_int(X), build.to_int(Y)), build.eq(X, Y)),
        (build.le(build.to_int(X), build.integer(-1)), build.FALSE),
        (build.le(build.to_int(X), build.integer(1 << 32)), build.TRUE),
        (build.le(constant(5), X), build.not_(build.le(X, constant(4)))),
        (build.eq(build.wrap(X, I32), build.constant(-1, I32)), build.eq(X, constant((1 << 32) - 1))),
    ],
)
def test_comparisons_are_made_on_the_machine_integers(spelled: Expr, meant: Expr) -> None:
    assert canonical(spelled) is meant


def test_bounds_in_disjunctions_with_one_rest_are_an_equation() -> None:
    p = build.var("p", BOOL)
    x, five = build.var("i", INT), build.integer(5)
    both = build.and_(build.or_(p, build.le(x, five)), build.or_(p, build.ge(x, five)))
    assert canonical(both) is build.or_(p, build.eq(x, five))


def test_bounds_next_to_known_constants_become_equations() -> None:
    x, three = build.var("i", INT), build.integer(3)
    below, above = build.le(x, build.integer(2)), build.le(x, three)
    assert as_equalities(above, (3,), equal=True) is build.eq(x, three)
    assert as_equalities(below, (3,), equal=True) is build.ne(x, three)
    assert as_equalities(build.not_(below), (3,), equal=True) is build.eq(x, three)
    assert as_equalities(above, (7,), equal=True) is above


# ------------------------------------------------------------------------------------- solver


def test_the_solver_works_on_int_while_that_is_exact_and_then_on_bits() -> None:
    solver = IntegerSolver(Statistics())
    solver.add(build.eq(build.add(X, constant(1)), constant(0)))
    assert solver.check(budget=Budget(30), purpose="test") is Answer.SAT
    assert solver.value(X) == (1 << 32) - 1
    assert solver.is_exact
    solver.push()
    solver.add(
        build.eq(build.bit_and(X, Y), constant(6)), build.eq(build.bit_or(Y, constant(1)), constant(7))
    )
    assert not solver.is_exact
    assert solver.check(budget=Budget(30), purpose="test") is Answer.SAT
    assert solver.values((X, Y)) == ((1 << 32) - 1, 6)
    solver.add(build.eq(Y, constant(7)))
    assert solver.check(budget=Budget(30), purpose="test") is Answer.UNSAT
    solver.pop()
    assert solver.check(budget=Budget(30), purpose="test") is Answer.SAT
