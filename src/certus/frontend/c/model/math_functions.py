"""The functions of `math.h`, and the intrinsics of LLVM that compute with floating-point numbers.

Where IEEE 754 or C fixes the value, the result is exact. Any other result (`sin`, `exp`) is within bounds
that every library keeps, exact where C fixes single values, and no counterexample may depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from certus.core import build, float_terms
from certus.core.floats import AWAY, DOWN, NEAREST, TO_ZERO, UP, Format
from certus.core.program import Assign
from certus.core.terms import Expr, Kind, MachineSort, Sort, machine
from certus.frontend.c.ir.types import FloatType, IntegerType, Type
from certus.frontend.c.model import floats
from certus.frontend.c.model.nondeterminism import LibraryCall, Meaning
from certus.frontend.c.model.terms import Unmodelled, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

Operands = Sequence[Expr]
Compute = Callable[["Body", Format, Operands], Expr]

# ---------------------------------------------------------------------------------- exact functions


def _rounded(mode: int | None) -> Compute:
    """Round to an integer in a mode; None: the present one."""

    def compute(body: Body, format: Format, args: Operands) -> Expr:
        rounding = body.unit.rounding if mode is None else build.constant(mode, float_terms.ROUNDING)
        return floats.operation(Kind.F_RTI, format, args[0], mode=rounding)

    return compute


def _difference(body: Body, format: Format, args: Operands) -> Expr:
    """Return `fdim(a, b)`."""
    a, b = args
    difference = floats.operation(Kind.F_SUB, format, a, b, mode=body.unit.rounding)
    zero = floats.constant(0, format)
    return build.ite(floats.less_equal(format, a, b), zero, difference)


def _arithmetic(kind: Kind) -> Compute:
    def compute(body: Body, format: Format, args: Operands) -> Expr:
        return floats.operation(kind, format, *args, mode=body.unit.rounding)

    return compute


_COMPUTED: Final[dict[str, tuple[int, Compute]]] = {  # the number of operands, and the result
    "floor": (1, _rounded(DOWN)),
    "ceil": (1, _rounded(UP)),
    "trunc": (1, _rounded(TO_ZERO)),
    "round": (1, _rounded(AWAY)),
    "roundeven": (1, _rounded(NEAREST)),
    "rint": (1, _rounded(None)),
    "nearbyint": (1, _rounded(None)),
    "sqrt": (1, _arithmetic(Kind.F_SQRT)),
    "fma": (3, _arithmetic(Kind.F_FMA)),
    "fmod": (2, lambda _, f, a: floats.remainder_of_division(f, a[0], a[1])),
    "remainder": (2, lambda _, f, a: float_terms.float_term(Kind.F_REM, f.name, a)),
    "fdim": (2, _difference),
    "fmin": (2, lambda body, f, a: floats.minimum(body, f, a[0], a[1], largest=False)),
    "fmax": (2, lambda body, f, a: floats.minimum(body, f, a[0], a[1], largest=True)),
}
_PASSED: Final[dict[str, tuple[int, Compute]]] = {  # the bits of the result are those of an operand
    "fabs": (1, lambda _, f, a: floats.magnitude(f, a[0])),
    "copysign": (2, lambda _, f, a: floats.with_sign(f, a[0], a[1])),
}
_EXACT: Final = _COMPUTED | _PASSED
_INTRINSICS: Final = {"minnum": "fmin", "maxnum": "fmax", "minimumnum": "fmin", "maximumnum": "fmax"}
_TO_INTEGER: Final = {"lrint": None, "llrint": None, "lround": AWAY, "llround": AWAY}


# ------------------------------------------------------------------------------- bounded functions

_OF_ONE_OPERAND: Final = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log log2 log10 log1p "
    "cbrt erf erfc tgamma lgamma gamma j0 j1 y0 y1"
)
BOUNDED: Final = {  # the number of operands
    **dict.fromkeys(_OF_ONE_OPERAND.split(), 1),
    **dict.fromkeys(("atan2", "pow", "hypot"), 2),
}
_COUNTS: Final = {name: count for name, (count, _) in _EXACT.items()} | BOUNDED


def _bounded(body: Body, format: Format, name: str, args: Operands, called: str) -> Expr:
    """Return any result that the bounds of a function allow, or the exact one where there is one.

    Libraries keep the bounds in rounding to nearest only: upwards, `expf` of a small negative number is more
    than 1."""
    from certus.frontend.c.model import math_bounds  # few programs need it

    result = body.fresh(float_terms.float_sort(format))
    facts = math_bounds.known(format, name, args, result)
    for condition, exact in facts.exact:
        if condition is build.TRUE:
            return exact
    value = body.havoc(result.sort, approximates=f"the result of `{called}`")
    for condition, exact in facts.exact:
        value = build.ite(condition, exact, value)
    body.emit(Assign((result,), (value,)))
    to_nearest = build.eq(body.unit.rounding, float_terms.TO_NEAREST)
    body.assume(build.implies(to_nearest, facts.bounds))
    return result


# --------------------------------------------------------------------------------------- meanings


def _patterns(call: LibraryCall, format: Format, count: int) -> list[Expr]:
    if len(call.arguments) < count or any(
        floats.format_of(a.type) is not format for a in call.arguments[:count]
    ):
        what = f"a call of `{call.name}` with arguments of other types"
        raise Unmodelled("unsupported-library-function", what)
    return [floats.pattern(call.term(number), format) for number in range(count)]


def _plain_name(name: str) -> str:
    """Return the name of a function without the suffix of its type and underscores."""
    bare = name.strip("_")
    return bare if bare in (*_COUNTS, *_TO_INTEGER) else bare[:-1]


def _result(
    body: Body, name: str, format: Format, operands: Operands, type_: Type, shown: str
) -> Expr | None:
    """Return the result of a function before its bits are open; None if the function is not known."""
    if name in BOUNDED:
        return _bounded(body, format, name, operands[: BOUNDED[name]], shown)
    if name in _EXACT:
        count, compute = _EXACT[name]
        return compute(body, format, operands[:count])
    if name not in _TO_INTEGER:
        return None
    sort = sort_of(type_, signed=True)
    assert isinstance(sort, MachineSort)
    return floats.to_integer(format, _rounded(_TO_INTEGER[name])(body, format, operands), sort)


def function(call: LibraryCall) -> None:
    """Lower a call of a function of `math.h`."""
    name, body, result = _plain_name(call.name), call.body, call.instruction.result
    format = floats.format_of(call.operand(0).type)
    if name not in _TO_INTEGER and floats.format_of(result) is not format:
        raise Unmodelled("unsupported-library-function", f"the type of `{call.name}`")
    value = _result(body, name, format, _patterns(call, format, _COUNTS.get(name, 1)), result, call.name)
    assert value is not None
    call.define(floats.opened(body, value, format, call.instruction.name) if name in _COMPUTED else value)


def set_rounding(call: LibraryCall) -> None:
    """`fesetround`: the numbers of the directions are those of x86, and no other changes anything."""
    body, wanted = call.body, build.wrap(call.term(0), machine(32, signed=False))
    variable = body.unit.rounding
    modes = [(mode, build.eq(wanted, build.constant(mode << 10, wanted.sort))) for mode in range(4)]
    chosen = variable
    for mode, condition in modes:
        chosen = build.ite(condition, build.constant(mode, float_terms.ROUNDING), chosen)
    sort = sort_of(call.instruction.result, signed=True)
    is_mode = build.disjunction(condition for _, condition in modes)
    call.define(build.ite(is_mode, build.constant(0, sort), build.constant(1, sort)))
    body.registers.assign(variable, chosen)


def get_rounding(call: LibraryCall) -> None:
    """`fegetround`."""
    sort = sort_of(call.instruction.result, signed=True)
    assert isinstance(sort, MachineSort)
    mode = build.wrap(call.body.unit.rounding, sort)
    call.define(build.shl(mode, build.constant(10, sort)))


def rounding_number(body: Body, sort: Sort) -> Expr:
    """Return the value of `FLT_ROUNDS`."""
    number = build.constant(1, sort)
    for mode, other in ((DOWN, 3), (UP, 2), (TO_ZERO, 0)):
        same = build.eq(body.unit.rounding, build.constant(mode, float_terms.ROUNDING))
        number = build.ite(same, build.constant(other, sort), number)
    return number


def not_a_number(call: LibraryCall) -> None:
    """`nan(text)`: a quiet NaN."""
    format = floats.format_of(call.instruction.result)
    call.define(floats.opened(call.body, floats.constant(format.nan, format), format, call.instruction.name))


def _all(names: Iterable[str]) -> list[str]:
    """Return the names of functions for all types."""
    return [f"{name}{suffix}" for name in names for suffix in ("", "f", "l")]


MEANINGS: Final[tuple[tuple[Meaning, str], ...]] = (
    *((function, f"f({'f' * count}) {' '.join(_all([name]))}") for name, count in _COUNTS.items()),
    (function, f"i(f) {' '.join(_all(_TO_INTEGER))}"),
    (not_a_number, "f(p) nan nanf nanl"),
    (set_rounding, "i(i) fesetround"),
    (get_rounding, "i() fegetround"),
)

# --------------------------------------------------------------------------------------- intrinsics

_INTRINSIC: Final = re.compile(
    r"llvm\.(?:experimental\.constrained\.)?([a-z0-9.]+?)\.(?:f16|f32|f64|f80|i\d+\.f\d+)$"
)


def is_float_intrinsic(name: str) -> bool:
    return re.search(r"\.f(?:16|32|64|80)\b", name) is not None


def intrinsic(
    body: Body, name: str, args: Operands, types: Sequence[Type], result: Type, register: str | None
) -> Expr:
    """Return the result of an intrinsic on floating-point numbers, which gets the name `register`."""
    match, format = _INTRINSIC.match(name), floats.format_of(types[0])
    word = "" if match is None else _INTRINSICS.get(match[1], match[1])
    operands = [
        floats.pattern(a, format) for a, t in zip(args, types, strict=True) if isinstance(t, FloatType)
    ]
    if word == "is.fpclass" and args[1].kind is Kind.CONST:
        return floats.is_class(format, operands[0], int(args[1].value))
    if word in ("fptosi.sat", "fptoui.sat") and isinstance(result, IntegerType):
        return _saturated(format, operands[0], machine(result.bits, signed=word == "fptosi.sat"))
    value = operands[0] if word == "canonicalize" else _result(body, word, format, operands, result, name)
    if value is None:
        raise Unmodelled("unsupported-float", f"the builtin `{name}`")
    opens = isinstance(result, FloatType) and word not in _PASSED
    return floats.opened(body, value, floats.format_of(result), register) if opens else value


def _saturated(format: Format, a: Expr, sort: MachineSort) -> Expr:
    """Return the nearest integer of a sort, towards zero; 0 for NaN."""
    value = floats.to_integer(format, a, sort)
    beyond = build.ite(
        floats.less(format, a, floats.constant(0, format)),
        build.constant(sort.low, sort),
        build.constant(sort.high, sort),
    )
    inside = build.ite(float_terms.float_fits(a, format, sort), value, beyond)
    return build.ite(floats.is_number(format, a), inside, build.constant(0, sort))


_CLASSIFYING: Final = "isnan finite isinf __isnan __finite __isinf __fpclassify"
_SCALING: Final = "scalbn scalbln ldexp logb ilogb"
COMPUTING: Final = frozenset(
    _all((*_COMPUTED, *_TO_INTEGER, *BOUNDED, *_CLASSIFYING.split(), *_SCALING.split()))
)
PASSING: Final = frozenset(_all(("fabs",)))
