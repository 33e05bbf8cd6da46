"""The formula of a block has exactly the executions of the block, and its models read off as paths."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.program import Assign, Assume, BasicOp, Block, Choice, Edge, Havoc, Location, Procedure, Seq
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr
from certus.core.values import evaluate
from certus.core.walk import substitute
from certus.encoding.block_formula import block_formula
from certus.solvers.z3.solver import Z3Solver

X, Y, P = build.var("x", INT), build.var("y", INT), build.var("p", BOOL)
HERE = Location(0, "main")
MAIN = Procedure("main", (), (), (X, Y, P), HERE, Location(1, "main"), ())
State = tuple[int, int, bool]


@st.composite
def blocks(draw: Callable[..., object]) -> Block:
    """Blocks whose parts are shared at random. An edge occurs at most once on a path, and at most one
    alternative of a choice is possible."""
    number = iter(range(1000))

    def edge(op: BasicOp | None = None) -> Edge:
        return Edge(next(number), HERE, op or draw(ops()), HERE)

    made: list[Block] = [edge()]
    for _ in range(draw(st.integers(1, 6))):
        before = draw(st.sampled_from(made))
        if draw(st.booleans()):
            made.append(Seq(before, edge()))
        else:
            others = [Seq(before, edge()) if draw(st.booleans()) else edge() for _ in range(2)]
            signs = (
                build.lt(X, build.integer(0)),
                build.eq(X, build.integer(0)),
                build.gt(X, build.integer(0)),
            )
            ways = zip(signs, (before, *others), strict=True)
            made.append(Choice(tuple(Seq(edge(Assume(sign)), part) for sign, part in ways)))
    return made[-1]


@st.composite
def ops(draw: Callable[..., object]) -> BasicOp:
    k = draw(st.integers(-1, 2))
    number = build.integer(k)
    return draw(
        st.sampled_from(
            [
                Assign((X,), (build.add(X, number),)),
                Assign((Y,), (build.add(X, Y),)),
                Assign((X, Y), (Y, X)),
                Assign((P,), (build.le(X, Y),)),
                Assume(build.le(X, build.add(Y, number))),
                Assume(build.not_(P)),
                Assume(build.ne(X, number)),
                Havoc((P,)),
            ]
        )
    )


def executions(block: Block, state: State) -> set[State]:
    """All states the block can end in, by trying all paths."""
    if isinstance(block, Seq):
        return {end for middle in executions(block.first, state) for end in executions(block.second, middle)}
    if isinstance(block, Choice):
        return {end for part in block.alternatives for end in executions(part, state)}
    env = dict(zip((X, Y, P), state, strict=True))
    op = block.op
    if isinstance(op, Assume):
        return {state} if evaluate(op.condition, env) else set()
    if isinstance(op, Havoc):
        return {(state[0], state[1], value) for value in (False, True)}
    assert isinstance(op, Assign)
    env.update({t: evaluate(v, env) for t, v in zip(op.targets, op.values, strict=True)})
    return {(env[X], env[Y], env[P])}


def after(path_edges: list[tuple[Edge, tuple[object, ...]]], state: State) -> State | None:
    for edge, inputs in path_edges:
        if isinstance(edge.op, Havoc):
            state = (state[0], state[1], bool(inputs[0]))
            continue
        ends = executions(edge, state)
        if not ends:
            return None
        (state,) = ends
    return state


@settings(max_examples=90, deadline=None, derandomize=True)
@given(blocks(), st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()))
def test_models_are_executions(block: Block, state: State) -> None:
    expected = executions(block, state)
    formula = block_formula(block, MAIN)
    if formula is None:
        assert not expected
        return
    start = {x: build.constant(v, x.sort) for x, v in zip((X, Y, P), state, strict=True)}
    instance = formula.instance(7, start)
    solver = Z3Solver(Statistics())
    solver.add(instance.guard, *instance.definitions)
    ends: dict[Expr, Expr] = {x: instance.values.get(x, start[x]) for x in (X, Y, P)}
    found: set[State] = set()
    while solver.check(budget=Budget(30), purpose="law") is Answer.SAT:
        values = tuple(solver.value(ends[x]) for x in (X, Y, P))
        path = [(passage.edge, passage.inputs) for passage in instance.path(solver.value)]
        assert after(path, state) == values
        assert values not in found
        found.add(values)
        same = [build.eq(ends[x], build.constant(v, x.sort)) for x, v in zip((X, Y, P), values, strict=True)]
        solver.add(build.not_(build.conjunction(same)))
    assert found == expected


@settings(max_examples=60, deadline=None, derandomize=True)
@given(blocks(), st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()))
def test_the_length_counts_executed_edges(block: Block, state: State) -> None:
    formula = block_formula(block, MAIN, live=())
    if formula is None:
        return
    instance = formula.instance(
        3, {x: build.constant(v, x.sort) for x, v in zip((X, Y, P), state, strict=True)}
    )
    names = iter(range(1000))
    length, definitions = instance.length(INT, lambda: build.var(f"length@{next(names)}", INT))
    solver = Z3Solver(Statistics())
    solver.add(instance.guard, *instance.definitions, *definitions)
    if solver.check(budget=Budget(30), purpose="law") is Answer.SAT:
        assert solver.value(length) == len(instance.path(solver.value))


def test_a_chain_of_choices_stays_linear() -> None:
    """Diamonds in a row with an exit from each: linear in the edges, not in the paths."""
    sizes = []
    for n in (50, 100, 200):
        prefix: Block = Edge(0, HERE, Havoc((P,)), HERE)
        exits: list[Block] = []
        for i in range(n):
            up = Edge(4 * i + 1, HERE, Assign((X,), (build.add(X, build.integer(1)),)), HERE)
            down = Edge(4 * i + 2, HERE, Assign((Y,), (build.add(Y, build.integer(1)),)), HERE)
            prefix = Seq(prefix, Choice((up, down)))
            exits.append(Seq(prefix, Edge(4 * i + 3, HERE, Assume(build.le(X, Y)), HERE)))
        formula = block_formula(Choice(tuple(exits)), MAIN, live=())
        assert formula is not None
        sizes.append(len(formula.definitions))
    assert sizes[2] < 2.5 * sizes[1] < 6 * sizes[0]


def test_thousands_of_statements_in_sequence_need_no_recursion() -> None:
    block: Block = Edge(0, HERE, Assign((X,), (build.add(X, build.integer(1)),)), HERE)
    for i in range(1, 20_000):
        block = Seq(block, Edge(i, HERE, Assign((X,), (build.add(X, build.integer(1)),)), HERE))
    formula = block_formula(block, MAIN)
    assert formula is not None
    assert formula.values[X] is build.add(X, build.integer(20_000))
    assert substitute(formula.guard, {}) is build.TRUE
