"""Random well-sorted terms, and their values computed in a second, naive way.

A `Tree` records calls of constructors before anything is simplified. `build(tree)` makes the term with
`certus.core.build`; `naive(tree, env)` computes its value from the definitions of the operators alone,
sharing no code with the constructors or with `evaluate`.

    terms(BOOL)                           formulas over VARIABLES
    terms(INT, variables=(x, y))          integer terms over x and y
    environments(VARIABLES)               values for them
    cases(INT)                            a tree and values for its variables
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import strategies as st

from certus.core import build as make
from certus.core.terms import BOOL, INT, REAL, ArraySort, Expr, Function, MachineSort, Sort, array, machine
from certus.core.values import ArrayValue, as_value

MACHINES = tuple(machine(width, signed=signed) for width in (1, 3, 8) for signed in (False, True))
U3, I3 = machine(3, signed=False), machine(3, signed=True)
ARRAYS = (array(INT, INT), array(U3, BOOL), array(BOOL, I3), array(INT, array(BOOL, REAL)))
SCALARS = (BOOL, INT, REAL, *MACHINES)
SORTS = (*SCALARS, *ARRAYS, array(BOOL, REAL))
VARIABLES = tuple(make.var(f"{letter}.{sort.name}", sort) for sort in SORTS for letter in "xy")

# Uninterpreted functions, with an interpretation to evaluate them under.
INTERPRETATION: dict[Function, Callable[..., Any]] = {
    Function("f", (INT, BOOL), INT): lambda a, b: a * a - (3 if b else 7),
    Function("g", (I3,), U3): lambda a: (a * 5 + 2) % 8,
    Function("h", (REAL, U3), REAL): lambda a, b: a / 3 - b,
    Function("p", (INT, INT), BOOL): lambda a, b: a < b or a == 5,
    Function("c", (), BOOL): lambda: True,
}


@dataclass(frozen=True)
class Tree:
    """A call of the constructor `operator` with result `sort`; `data` is what it takes beside `args`."""

    operator: str
    sort: Sort
    args: tuple[Tree, ...] = ()
    data: Any = None


def terms(
    sort: Sort, *, variables: Sequence[Expr] = VARIABLES, depth: int = 4, functions: bool = True
) -> st.SearchStrategy[Expr]:
    """Terms of `sort`, at most `depth` constructors deep; with or without uninterpreted functions."""
    return trees(sort, variables=variables, depth=depth, functions=functions).map(build)


def trees(
    sort: Sort, *, variables: Sequence[Expr] = VARIABLES, depth: int = 4, functions: bool = True
) -> st.SearchStrategy[Tree]:
    return _trees(sort, tuple(variables), depth, functions)


def values(sort: Sort) -> st.SearchStrategy[Any]:
    """Values of a sort, those at its limits often."""
    if sort is BOOL:
        return st.booleans()
    if sort is INT:
        return st.one_of(st.integers(-4, 4), st.integers(-300, 300), st.integers(-(2**70), 2**70))
    if sort is REAL:
        return st.one_of(
            st.integers(-3, 3).map(Fraction), st.fractions(min_value=-9, max_value=9, max_denominator=9)
        )
    if isinstance(sort, MachineSort):
        limits = (sort.low, sort.high, max(sort.low, -1), 0, min(sort.high, 1))
        return st.one_of(st.sampled_from(limits), st.integers(sort.low, sort.high))
    assert isinstance(sort, ArraySort)
    entries = st.dictionaries(values(sort.index), values(sort.element), max_size=3)
    return st.builds(ArrayValue, st.just(sort), values(sort.element), entries)


def environments(variables: Sequence[Expr] = VARIABLES) -> st.SearchStrategy[dict[Expr, Any]]:
    """A value for each variable."""
    return st.fixed_dictionaries({v: values(v.sort) for v in variables})


@st.composite
def cases(draw: st.DrawFn, sort: Sort | None = None, *, depth: int = 4) -> tuple[Tree, dict[Expr, Any]]:
    """A tree (of any sort, unless one is given) and values for the variables in it."""
    tree = draw(trees(draw(st.sampled_from(SORTS)) if sort is None else sort, depth=depth))
    return tree, draw(environments(leaves(tree)))


def leaves(tree: Tree) -> tuple[Expr, ...]:
    """The variables of a tree, each once."""
    own = (tree.data,) if tree.operator == "var" else ()
    return tuple(dict.fromkeys((*own, *(v for a in tree.args for v in leaves(a)))))


def literal(value: Any, sort: Sort) -> Expr:
    """The closed term with this value."""
    if not isinstance(sort, ArraySort):
        return make.constant(value, sort)
    term = make.const_array(sort.index, literal(value.default, sort.element))
    for index, element in value.entries.items():
        term = make.store(term, literal(index, sort.index), literal(element, sort.element))
    return term


# --------------------------------------------------------------------------------- generation


@cache
def _trees(sort: Sort, variables: tuple[Expr, ...], depth: int, functions: bool) -> st.SearchStrategy[Tree]:
    leaves = [values(sort).map(lambda v: Tree("constant", sort, (), v))]
    own = [v for v in variables if v.sort is sort]
    if own:
        leaves.append(st.sampled_from(own).map(lambda v: Tree("var", sort, (), v)))
    if depth == 0:
        return st.one_of(leaves)

    def part(wanted: Sort) -> st.SearchStrategy[Tree]:
        return _trees(wanted, variables, depth - 1, functions)

    options = _shapes(sort)
    if functions:
        applied = [f for f in INTERPRETATION if f.result is sort]
        options = (*options, *(("apply", f.parameters, f) for f in applied))
    calls = [
        st.tuples(*(st.deferred(lambda s=s: part(s)) for s in parameters)).map(
            lambda args, operator=operator, data=data: Tree(operator, sort, args, data)
        )
        for operator, parameters, data in options
    ]
    return st.one_of(*leaves, *calls)


Shape = tuple[str, tuple[Sort, ...], Any]


def _shapes(sort: Sort) -> tuple[Shape, ...]:
    """The constructors with result `sort`: name, sorts of arguments, other data."""
    arrays = [s for s in SORTS if isinstance(s, ArraySort)]
    shapes: list[Shape] = [("ite", (BOOL, sort, sort), None)]
    shapes += [("select", (a, a.index), None) for a in arrays if a.element is sort]
    if sort is BOOL:
        shapes += [("not_", (BOOL,), None), ("implies", (BOOL, BOOL), None)]
        shapes += [(name, (BOOL,) * n, None) for name in ("and_", "or_") for n in (2, 3, 4)]
        shapes += [(name, (s, s), None) for name in ("eq", "ne") for s in SORTS]
        shapes += [(name, (s, s), None) for name in ("le", "lt", "ge", "gt") for s in (INT, REAL, *MACHINES)]
    elif isinstance(sort, ArraySort):
        shapes += [("store", (sort, sort.index, sort.element), None)] * 2
        shapes.append(("const_array", (sort.element,), None))
    else:
        shapes += [("add", (sort,) * n, None) for n in (2, 3)]
        shapes += [(name, (sort, sort), None) for name in ("sub", "mul")] + [("neg", (sort,), None)]
    if sort is INT:
        shapes += [(name, (INT, INT), None) for name in ("quot", "rem", "div", "mod")]
        shapes += [("to_int", (m,), None) for m in MACHINES] + [("floor", (REAL,), None)]
    elif sort is REAL:
        shapes += [("rdiv", (REAL, REAL), None), ("to_real", (INT,), None)]
    elif isinstance(sort, MachineSort):
        names = ("quot", "rem", "bit_and", "bit_or", "bit_xor", "shl", "shr")
        shapes += [(name, (sort, sort), None) for name in names] + [("bit_not", (sort,), None)]
        shapes += [("wrap", (s,), None) for s in (INT, *MACHINES)]
    return tuple(shapes)


def build(tree: Tree) -> Expr:
    """Build the term of a tree with the constructors."""
    args = [build(a) for a in tree.args]
    operator = tree.operator
    if operator == "constant":
        return literal(tree.data, tree.sort)
    if operator == "var":
        return tree.data
    if operator == "apply":
        return make.apply(tree.data, args)
    if operator == "wrap":
        return make.wrap(args[0], tree.sort)
    if operator == "const_array":
        return make.const_array(tree.sort.index, args[0])
    return getattr(make, operator)(*args)


# --------------------------------------------------------------------------- naive evaluation

UNDEFINED = object()


def naive(tree: Tree, env: dict[Expr, Any]) -> Any:
    """The value of a tree, or UNDEFINED if it depends on a division by zero or an oversized shift."""
    operator, sort = tree.operator, tree.sort
    if operator == "constant":
        return as_value(tree.data, sort)
    if operator == "var":
        return env[tree.data]
    args = [naive(a, env) for a in tree.args]
    if operator == "ite":
        return UNDEFINED if args[0] is UNDEFINED else args[1] if args[0] else args[2]
    if operator == "implies":
        operator, args = "or_", [UNDEFINED if args[0] is UNDEFINED else not args[0], args[1]]
    if operator in ("and_", "or_"):
        decisive = operator == "or_"
        if decisive in [a for a in args if a is not UNDEFINED]:
            return decisive
        return UNDEFINED if UNDEFINED in args else not decisive
    if any(a is UNDEFINED for a in args):
        return UNDEFINED
    if operator == "apply":
        return INTERPRETATION[tree.data](*args)
    result = _naive_operation(operator, tree, args)
    return _fitted(result, sort) if isinstance(sort, MachineSort) and result is not UNDEFINED else result


def _fitted(value: int, sort: MachineSort) -> int:
    """The low bits of `value`, read as the sort reads them."""
    bits = value & ((1 << sort.width) - 1)
    return bits - (1 << sort.width) if sort.signed and bits >> (sort.width - 1) else bits


def _naive_operation(operator: str, tree: Tree, args: Sequence[Any]) -> Any:
    a, b = args[0], args[-1]
    if operator in ("quot", "rem", "div", "mod", "rdiv") and b == 0:
        return UNDEFINED
    if operator in ("shl", "shr") and not 0 <= b < tree.sort.width:
        return UNDEFINED
    if operator == "const_array":
        return ArrayValue(tree.sort, a)
    return _NAIVE[operator](args) if operator in _NAIVE else _NAIVE_BINARY[operator](a, b)


def _truncated(a: int, b: int) -> int:
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


def _smt_div(a: int, b: int) -> int:
    return a // b if b > 0 else -(a // -b)


def _by_bits(table: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """A bitwise operation one bit at a time, in 64-bit two's complement."""
    return lambda a, b: sum(table(a >> k & 1, b >> k & 1) << k for k in range(64))


def _total(args: Sequence[Any]) -> Any:
    total = args[0]
    for item in args[1:]:
        total = total + item
    return total


_NAIVE: dict[str, Callable[[Sequence[Any]], Any]] = {
    "add": _total,
    "not_": lambda a: not a[0],
    "neg": lambda a: -a[0],
    "bit_not": lambda a: -1 - a[0],
    "wrap": lambda a: a[0],
    "to_int": lambda a: a[0],
    "to_real": lambda a: Fraction(a[0], 1),
    "floor": lambda a: a[0].__floor__(),
    "store": lambda a: a[0].store(a[1], a[2]),
}

_NAIVE_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "quot": _truncated,
    "rem": lambda a, b: a - _truncated(a, b) * b,
    "div": _smt_div,
    "mod": lambda a, b: a - b * _smt_div(a, b),
    "rdiv": lambda a, b: a / b,
    "bit_and": _by_bits(lambda a, b: a * b),
    "bit_or": _by_bits(max),
    "bit_xor": _by_bits(lambda a, b: (a + b) % 2),
    "shl": lambda a, b: a * 2**b,
    "shr": lambda a, b: a // 2**b,
    "select": lambda a, b: a[b],
}
