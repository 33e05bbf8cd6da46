"""Print terms as C-like text for reports.

Operators and precedence are C's. Beyond C: `forall integer i: ...`, `div` and `mod` for SMT-LIB's division,
`a[i := v]` for an array after a write, `{else: v}` for an array that is `v` everywhere, and `(integer)x` for
a machine integer as a mathematical one, which has no bounds and does not wrap (the notation of ACSL).
Operators on floating-point numbers have a point (`x +. y`, `x <=. 1.5`), since variables show their bits.

The text is printed from left to right up to a limit, so a shared DAG costs no more than its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import count
from typing import Final

from certus.core import float_terms, float_text, floats
from certus.core.build import monomial
from certus.core.terms import BOOL, FLOATS, INT, REAL, ArraySort, Expr, Kind, MachineSort, Sort, Value
from certus.core.values import decimal
from certus.core.walk import QUANTIFIERS, variables

# Precedences of operators, the weakest first.
_QUANTIFIER, _CHOICE, _OR, _AND, _BIT_OR, _BIT_XOR, _BIT_AND = range(7)
_COMPARISON, _SHIFT, _SUM, _PRODUCT, _UNARY, _ATOM = range(7, 13)

Fragment = str | tuple[Expr, int]  # text, or a term and the precedence of its context
Text = tuple[int, list[Fragment]]  # the precedence of an expression, and its parts


def c_text(term: Expr, *, names: Mapping[Expr, str] | None = None, limit: int = 4000) -> str:
    """Return `term` as text of at most `limit` characters; a longer one ends in `...`.

    `names` replaces variables (or any subterms) by other text."""
    names = names or {}
    taken: set[str] | None = None  # names a bound variable must not have; computed for the first one
    pieces: list[str] = []
    length = 0
    stack: list[tuple[Fragment, tuple[str, ...]]] = [((term, _QUANTIFIER), ())]
    while stack and length <= limit:
        fragment, scope = stack.pop()
        if isinstance(fragment, str):
            pieces.append(fragment)
            length += len(fragment)
            continue
        part, context = fragment
        strength: int
        fragments: list[Fragment]
        if part in names:
            strength, fragments = _ATOM, [names[part]]
        elif part.kind in QUANTIFIERS:
            if taken is None:
                taken = {names.get(v, v.name) for v in variables(term)}
            scope, strength, fragments = _quantified(part, scope, taken)
        elif part.kind is Kind.BOUND:
            strength, fragments = _ATOM, [_bound_name(part, scope)]
        else:
            strength, fragments = _EXPANSIONS[part.kind](part)
        if strength < context:
            fragments = ["(", *fragments, ")"]
        stack.extend((f, scope) for f in reversed(fragments))
    text = "".join(pieces)
    return text if len(text) <= limit and not stack else text[: max(0, limit - 3)] + "..."


def value_text(value: Value) -> str:
    """Return the text of a constant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or value.denominator == 1:
        return decimal(int(value))
    return f"{decimal(value.numerator)}/{decimal(value.denominator)}"


def sort_text(sort: Sort) -> str:
    """Return a sort as a type: `integer` (without bounds), `bool`, `real`, `u8`, `bool[integer]`."""
    suffix = ""
    while isinstance(sort, ArraySort):
        suffix += f"[{sort_text(sort.index)}]"
        sort = sort.element
    return {BOOL: "bool", INT: "integer", REAL: "real"}.get(sort, sort.name) + suffix


# ---------------------------------------------------------------------------------- quantifiers


def _quantified(
    term: Expr, scope: tuple[str, ...], taken: set[str]
) -> tuple[tuple[str, ...], int, list[Fragment]]:
    """Return the scope inside a quantifier, and its text."""
    candidates = (base + ("" if n == 0 else str(n)) for n in count() for base in "ijkmn")
    free = (name for name in candidates if name not in taken and name not in scope)
    own = [next(free) for _ in term.bound_sorts]
    declared = ", ".join(f"{sort_text(s)} {name}" for s, name in zip(term.bound_sorts, own, strict=True))
    word = "forall" if term.kind is Kind.FORALL else "exists"
    return (*scope, *own), _QUANTIFIER, [f"{word} {declared}: ", (term.args[0], _QUANTIFIER)]


def _bound_name(term: Expr, scope: tuple[str, ...]) -> str:
    index = term.data
    assert isinstance(index, int)
    return scope[-1 - index] if index < len(scope) else f"#{index - len(scope)}"


# ----------------------------------------------------------------------------------- operators


def _constant(term: Expr) -> Text:
    value = term.value
    if isinstance(value, Fraction) and value.denominator != 1:
        return _PRODUCT, [value_text(value)]
    return _UNARY if value < 0 else _ATOM, [value_text(value)]


def _joined(operator: str, strength: int) -> Callable[[Expr], Text]:
    """Print an associative and commutative operator between its arguments, a constant last."""

    def expand(term: Expr) -> Text:
        args = sorted(term.args, key=lambda a: a.kind is Kind.CONST)
        return strength, _between(operator, [(a, strength) for a in args])

    return expand


def _left(operator: str, strength: int) -> Callable[[Expr], Text]:
    """Print a binary operator that associates to the left."""
    return lambda t: (strength, [(t.args[0], strength), operator, (t.args[1], strength + 1)])


def _prefix(text: str) -> Callable[[Expr], Text]:
    return lambda t: (_UNARY, [text, (t.args[0], _ATOM)])


def _cast(term: Expr) -> Text:
    return _UNARY, [f"({sort_text(term.sort)})", (term.args[0], _UNARY)]


def _call(name: str, args: Sequence[Expr]) -> Text:
    return _ATOM, [f"{name}(", *_between(", ", [(a, _QUANTIFIER) for a in args]), ")"]


def _between(separator: str, parts: Sequence[Fragment]) -> list[Fragment]:
    fragments: list[Fragment] = []
    for part in parts:
        if fragments:
            fragments.append(separator)
        fragments.append(part)
    return fragments


def _negation(term: Expr) -> Text:
    inner = term.args[0]
    if inner.kind is Kind.EQ:
        return _compare("!=", "!=", inner)
    if inner.kind is Kind.LE:
        return _compare(">", "<", inner)
    if inner.kind is Kind.LT:
        return _compare(">=", "<=", inner)
    return _UNARY, ["!", (inner, _ATOM)]


def _compare(operator: str, mirrored: str, term: Expr) -> Text:
    """Print a comparison with a constant side on the right. Equality has no order: variables come first."""
    a, b = term.args
    if a.kind is Kind.CONST or (term.kind is Kind.EQ and b.kind is not Kind.CONST and _place(b) < _place(a)):
        a, b, operator = b, a, mirrored
    return _COMPARISON, [(a, _SHIFT), f" {operator} ", (b, _SHIFT)]


def _sum(term: Expr) -> Text:
    """Print the items to add before those to subtract, variables by name, the constant last."""
    added: list[tuple[str, Sequence[Fragment]]] = []
    subtracted: list[tuple[str, Sequence[Fragment]]] = []
    for item in term.args:
        if isinstance(item.sort, MachineSort) and item.kind is not Kind.CONST:
            added.append((_place(item), [(item, _SUM)]))  # addition modulo 2**width is associative
            continue
        factor, factors = _factors(item)
        if factor < 0:
            subtracted.append((_place(item), _product_of(-factor, factors)))
        else:
            added.append((_place(item), _product_of(factor, factors)))
    added.sort(key=lambda item: item[0])
    subtracted.sort(key=lambda item: item[0])
    total: list[Fragment] = []
    for _, fragments in added:
        total.extend((" + ", *fragments) if total else fragments)
    for _, fragments in subtracted:
        total.extend((" - " if total else "-", *fragments))
    return _SUM, total


def _place(item: Expr) -> str:
    """Return the sort key of an item of a sum, or of a side of an equality."""
    if item.kind is Kind.CONST:
        return "\uffff"
    base = item.args[-1] if item.kind is Kind.MUL else item
    return base.name if base.kind is Kind.VAR else "\ufffe"


def _factors(item: Expr) -> tuple[int | Fraction, tuple[Expr, ...]]:
    """Return the constant factor and the others."""
    if item.kind is Kind.CONST:
        return item.value, ()
    factor, base = monomial(item)
    return factor, base.args if base.kind is Kind.MUL else (base,)


def _product_of(factor: int | Fraction, factors: Sequence[Expr]) -> list[Fragment]:
    shown: list[Fragment] = [] if factor == 1 and factors else [value_text(factor)]
    shown.extend((f, _UNARY if len(factors) > 1 or shown else _PRODUCT) for f in factors)
    return _between(" * ", shown)


def _product(term: Expr) -> Text:
    first = term.args[0]
    if first.kind is Kind.CONST and first.value == -1 and len(term.args) == 2:
        return _UNARY, ["-", (term.args[1], _ATOM)]
    return _PRODUCT, _between(" * ", [(first, _PRODUCT), *((a, _UNARY) for a in term.args[1:])])


def _float(term: Expr) -> Text:
    """Print an operation on floating-point numbers as in C where it has an operator, and otherwise as a
    function; the mode only if it is not to nearest. Constant operands are numbers."""
    assert isinstance(term.data, str)
    kind, format = term.kind, floats.FORMATS[term.data.split()[0]]
    args: list[Fragment] = [_number(a, format) for a in term.args]
    rounds = kind not in (Kind.F_REM, Kind.F_EQ, Kind.F_LT, Kind.F_LE, Kind.F_TO)
    if kind is Kind.F_FROM:
        args = list(_arguments(term.args))
    if rounds:
        mode = args.pop()
        if term.args[-1] is not float_terms.TO_NEAREST:
            args.append(mode if isinstance(mode, str) else (term.args[-1], _QUANTIFIER))
    if kind in _FLOAT_OPERATORS and len(args) == 2:
        operator, strength = _FLOAT_OPERATORS[kind]
        sides = [a if isinstance(a, str) else (a[0], strength + n) for n, a in enumerate(args)]
        return strength, _between(f" {operator} ", sides)
    if len(args) == 1 and kind in (Kind.F_CONVERT, Kind.F_FROM, Kind.F_TO):
        result = term.sort.name if kind is Kind.F_TO else term.data.split()[-1]
        inner = args[0] if isinstance(args[0], str) else (args[0][0], _UNARY)
        return _UNARY, [f"({_FLOAT_TYPES.get(result, result)})", inner]
    return _ATOM, [f"{_FLOAT_NAMES.get(kind, kind.name.lower())}(", *_between(", ", args), ")"]


def _arguments(args: Sequence[Expr]) -> list[Fragment]:
    return [(a, _QUANTIFIER) for a in args]


def _number(term: Expr, format: floats.Format) -> Fragment:
    """Return an operand: a constant of the format as a number."""
    is_pattern = term.kind is Kind.CONST and term.sort is float_terms.float_sort(format)
    return float_text.literal(format, int(term.value)) if is_pattern else (term, _QUANTIFIER)


_FLOAT_TYPES: Final = {"f16": "_Float16", "f32": "float", "f64": "double", "x87": "long double"}
_FLOAT_NAMES: Final = {
    Kind.F_REM: "remainder",
    Kind.F_FMA: "fma",
    Kind.F_SQRT: "sqrt",
    Kind.F_RTI: "rint",
}
_FLOAT_OPERATORS: Final = {
    Kind.F_ADD: ("+.", _SUM),
    Kind.F_SUB: ("-.", _SUM),
    Kind.F_MUL: ("*.", _PRODUCT),
    Kind.F_DIV: ("/.", _PRODUCT),
    Kind.F_EQ: ("==.", _COMPARISON),
    Kind.F_LT: ("<.", _COMPARISON),
    Kind.F_LE: ("<=.", _COMPARISON),
}

_EXPANSIONS: Final[dict[Kind, Callable[[Expr], Text]]] = {
    Kind.CONST: _constant,
    Kind.VAR: lambda t: (_ATOM, [t.name]),
    Kind.APPLY: lambda t: _call(t.function.name, t.args),
    Kind.NOT: _negation,
    Kind.AND: _joined(" && ", _AND),
    Kind.OR: _joined(" || ", _OR),
    Kind.ITE: lambda t: (_CHOICE, [(t.args[0], _OR), " ? ", (t.args[1], _OR), " : ", (t.args[2], _CHOICE)]),
    Kind.EQ: lambda t: _compare("==", "==", t),
    Kind.LE: lambda t: _compare("<=", ">=", t),
    Kind.LT: lambda t: _compare("<", ">", t),
    Kind.ADD: _sum,
    Kind.MUL: _product,
    Kind.SUB: _left(" - ", _SUM),
    Kind.NEG: _prefix("-"),
    Kind.QUOT: _left(" / ", _PRODUCT),
    Kind.REM: _left(" % ", _PRODUCT),
    Kind.DIV: lambda t: _call("div", t.args),
    Kind.MOD: lambda t: _call("mod", t.args),
    Kind.RDIV: _left(" / ", _PRODUCT),
    Kind.BIT_AND: _joined(" & ", _BIT_AND),
    Kind.BIT_OR: _joined(" | ", _BIT_OR),
    Kind.BIT_XOR: _joined(" ^ ", _BIT_XOR),
    Kind.BIT_NOT: _prefix("~"),
    Kind.SHL: _left(" << ", _SHIFT),
    Kind.SHR: _left(" >> ", _SHIFT),
    Kind.WRAP: _cast,
    Kind.TO_INT: _cast,
    Kind.TO_REAL: _cast,
    Kind.FLOOR: lambda t: _call("floor", t.args),
    Kind.SELECT: lambda t: (_ATOM, [(t.args[0], _ATOM), "[", (t.args[1], _QUANTIFIER), "]"]),
    Kind.STORE: lambda t: (
        _ATOM,
        [(t.args[0], _ATOM), "[", (t.args[1], _CHOICE), " := ", (t.args[2], _CHOICE), "]"],
    ),
    Kind.CONST_ARRAY: lambda t: (_ATOM, ["{else: ", (t.args[0], _CHOICE), "}"]),
    **dict.fromkeys(FLOATS, _float),
}
