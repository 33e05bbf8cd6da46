"""Machine integers as mathematical ones: never unsatisfiable without cause, and exact where claimed."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.laws.strategies import terms

from certus.core import build as make
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Undefined
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr, MachineSort, array, machine
from certus.core.values import evaluate
from certus.core.walk import postorder, substitute
from certus.encoding.integers import Style, eliminate_machine
from certus.solvers.z3.solver import Z3Solver

LAW = settings(derandomize=True, deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
styles: st.SearchStrategy[Style] = st.sampled_from(("mod", "ite"))


@pytest.fixture(scope="module")
def solver() -> Z3Solver:
    return Z3Solver(Statistics())


def ask(solver: Z3Solver, formulas: tuple[Expr, ...]) -> Answer:
    solver.reset()
    solver.add(*formulas)
    return solver.check(budget=Budget(0.3), purpose="law")


def agree(solver: Z3Solver, formulas: tuple[Expr, ...], style: Style) -> None:
    """The encoding of the formulas, and of each alone, says nothing that bit-vectors deny."""
    encoded = eliminate_machine(formulas, style)
    assert not any(isinstance(t.sort, MachineSort) for f in encoded.formulas for t in postorder(f))
    selections = [(formulas, encoded.formulas)]
    selections += [((f,), (e,)) for f, e in zip(formulas, encoded.formulas, strict=True)]
    for original, selected in selections:
        truth = ask(solver, original)
        found = ask(solver, (*selected, *encoded.ranges))
        if found is Answer.UNSAT:
            assert truth is not Answer.SAT
        if found is Answer.SAT and encoded.exact:
            assert truth is not Answer.UNSAT


@LAW
@given(st.lists(terms(BOOL, depth=3), min_size=1, max_size=2), styles)
def test_any_formulas(solver: Z3Solver, formulas: list[Expr], style: Style) -> None:
    agree(solver, tuple(formulas), style)


# ------------------------------------------------- arithmetic under bounds, widths 3 to 8

VARIABLES = 3


def variable(sort: MachineSort) -> st.SearchStrategy[Expr]:
    return st.sampled_from([make.var(f"v{i}", sort) for i in range(VARIABLES)])


def constant(sort: MachineSort) -> st.SearchStrategy[Expr]:
    return st.integers(sort.low, sort.high).map(lambda value: make.constant(value, sort))


def arithmetic(sort: MachineSort, other: MachineSort) -> st.SearchStrategy[Expr]:
    """Sums, products and conversions, where wraps matter; with divisions and bits by constants."""

    def grow(part: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        rings = [st.builds(operation, part, part) for operation in (make.add, make.sub, make.mul)]
        by_constant = [
            st.builds(operation, part, constant(sort))
            for operation in (
                make.quot,
                make.rem,
                make.bit_and,
                make.bit_or,
                make.bit_xor,
                make.shl,
                make.shr,
            )
        ]
        there_and_back = part.map(lambda t: make.wrap(make.wrap(t, other), sort))
        via_int = part.map(lambda t: make.wrap(make.add(make.to_int(t), make.integer(1)), sort))
        divided = st.builds(make.quot, part, part)
        return st.one_of(
            *rings, *by_constant, there_and_back, via_int, divided, part.map(make.neg), part.map(make.bit_not)
        )

    return st.recursive(st.one_of(variable(sort), constant(sort)), grow, max_leaves=4)


@st.composite
def bounded(draw: st.DrawFn) -> Expr:
    """Bounds on variables, equations between variables and terms, and a comparison: one conjunction."""
    sort = machine(draw(st.integers(3, 8)), signed=draw(st.booleans()))
    other = machine(draw(st.integers(3, 8)), signed=draw(st.booleans()))
    term = arithmetic(sort, other)
    bound = st.builds(
        lambda operation, x, c, swap: operation(c, x) if swap else operation(x, c),
        st.sampled_from((make.le, make.lt, make.ge, make.gt)),
        variable(sort),
        constant(sort),
        st.booleans(),
    )
    equation = st.builds(make.eq, variable(sort), term)
    comparison = st.builds(
        lambda operation, a, b: operation(a, b),
        st.sampled_from((make.le, make.lt, make.eq, make.ne)),
        term,
        term,
    )
    parts = draw(st.lists(bound, min_size=1, max_size=4))
    parts += draw(st.lists(equation, max_size=2)) + draw(st.lists(comparison, min_size=1, max_size=2))
    return make.conjunction(parts)


@LAW
@given(bounded(), bounded(), styles)
def test_bounds_leave_out_wraps_only_where_they_change_nothing(
    solver: Z3Solver, one: Expr, other: Expr, style: Style
) -> None:
    agree(solver, (one, other), style)


@settings(LAW, max_examples=40)
@given(st.data(), styles)
def test_values_are_what_the_evaluator_says(solver: Z3Solver, data: st.DataObject, style: Style) -> None:
    """Variables have values, given separately; the formula has bounds around them, a definition, and a
    claim about the value of a term."""
    sort = machine(data.draw(st.integers(3, 8)), signed=data.draw(st.booleans()))
    other = machine(data.draw(st.integers(3, 8)), signed=data.draw(st.booleans()))
    free = [make.var(f"v{i}", sort) for i in range(VARIABLES)]
    env = {v: data.draw(st.integers(sort.low, sort.high)) for v in free}
    fixed = [make.eq(v, make.constant(env[v], sort)) for v in free]
    parts = []
    for v in data.draw(st.lists(st.sampled_from(free), max_size=3)):
        low, high = data.draw(st.integers(sort.low, env[v])), data.draw(st.integers(env[v], sort.high))
        parts += [make.le(make.constant(low, sort), v), make.lt(v, make.constant(high, sort))]
        parts[-1] = parts[-1] if env[v] < high else make.le(v, make.constant(high, sort))
    middle, claimed = data.draw(arithmetic(sort, other)), data.draw(arithmetic(sort, other))
    result = make.var("result", sort)
    try:
        env[result] = evaluate(middle, env)
        claimed = substitute(claimed, {free[0]: result})
        expected = make.constant(evaluate(claimed, env), sort)  # type: ignore[arg-type]
    except Undefined:
        assume(False)
    definition = make.eq(result, middle)
    right = make.conjunction([*parts, definition, make.eq(claimed, expected)])
    wrong = make.conjunction([*parts, definition, make.ne(claimed, expected)])
    for formula, denied in ((right, Answer.UNSAT), (wrong, Answer.SAT)):
        encoded = eliminate_machine((*fixed, formula), style)
        answer = ask(solver, (*encoded.formulas, *encoded.ranges))
        assert answer is not denied or (denied is Answer.SAT and not encoded.exact)


# ----------------------------------------------------------------- arrays with wide indices

U32 = machine(32, signed=False)
I8 = machine(8, signed=True)
MEMORY = array(U32, I8)
indices = st.one_of(
    st.sampled_from([make.var(n, U32) for n in "ij"]), st.integers(0, 2).map(lambda n: make.constant(n, U32))
)
elements = st.one_of(st.sampled_from([make.var(n, I8) for n in "xy"]), constant(I8))
memories = st.recursive(
    st.one_of(
        st.sampled_from([make.var(n, MEMORY) for n in "ab"]), elements.map(lambda e: make.const_array(U32, e))
    ),
    lambda part: st.one_of(
        st.builds(make.store, part, indices, elements),
        st.builds(make.ite, st.builds(make.lt, indices, indices), part, part),
    ),
    max_leaves=3,
)
reads = st.builds(make.select, memories, indices)
about_memory = st.one_of(
    st.builds(make.eq, memories, memories),
    st.builds(make.ne, memories, memories),
    st.builds(make.le, st.builds(make.add, reads, reads), elements),
    st.builds(make.eq, reads, elements),
    st.builds(make.ne, indices, indices),
)


@LAW
@given(st.lists(about_memory, min_size=1, max_size=4), styles)
def test_arrays(solver: Z3Solver, formulas: list[Expr], style: Style) -> None:
    agree(solver, tuple(formulas), style)


@settings(LAW, max_examples=25)
@given(st.data(), styles)
def test_quantifiers(solver: Z3Solver, data: st.DataObject, style: Style) -> None:
    sort = machine(data.draw(st.integers(3, 4)), signed=data.draw(st.booleans()))
    inside = arithmetic(sort, machine(4, signed=True))
    left, right = data.draw(inside), data.draw(inside)
    hole = data.draw(variable(sort))
    body = make.lt(left, right) if data.draw(st.booleans()) else make.ne(left, right)
    quantify = make.forall if data.draw(st.booleans()) else make.exists
    agree(solver, (quantify((sort,), substitute(body, {hole: make.bound(0, sort)})), body), style)


def test_int_functions_keep_their_names() -> None:
    formula = make.le(make.var("n", INT), make.integer(3))
    assert eliminate_machine((formula,)).formulas == (formula,)
