"""Translate terms into Python source, from which the interpreter computes their values.

`Writer.terms` appends statements that compute some terms and returns one Python expression for each.
Shared and deep subterms become temporaries. So the text is linear in the size of the DAG, and nesting stays
below the limits of Python's parser.

A term is *partial* if it contains a division whose divisor may be zero, a shift whose amount may be too
large, or a conversion of a float to an integer. A partial term always is a temporary, with None for
"undefined". None propagates by the rules of `core.values`: `ite` depends on the chosen branch only, a
false conjunct or a true disjunct decides, and every other operation on None is None. Other terms are never
undefined and need no test for None.

No text of the analysed program enters the source: variables are slots, and unusual constants are names in
the namespace of the generated code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as product_of
from typing import Final, cast

from certus.core import floats
from certus.core.diagnostic import Diagnostic
from certus.core.errors import CertusError, Unsupported
from certus.core.terms import FLOATS, ArraySort, Expr, Kind, MachineSort, Sort
from certus.core.values import ArrayValue, Datum, fold_float
from certus.core.walk import postorder
from certus.interpreter.indeterminate import Indeterminate, number

Namespace = dict[str, object]  # the globals of generated code
_FEW: Final = 2  # unknown bits of an operand for which all values are tried
_DEPTH: Final = 8  # operators nested in one Python expression
_LENGTH: Final = 300  # characters of one Python expression
_WIDTH: Final = 16  # operands of one n-ary operator
_BITS: Final = 1 << 22  # of a product; larger numbers would take too much time and memory


class Overgrown(CertusError):
    """A value or the memory of a run has become too large to go on."""


@dataclass(slots=True)
class Text:
    """A Python expression: `atomic` if it may be evaluated repeatedly, `partial` if it may be None."""

    text: str
    depth: int = 0
    atomic: bool = True
    partial: bool = False


class Writer:
    """Writes the statements of Python functions. `names` maps variables to their slots."""

    __slots__ = ("_constants", "_names", "_namespace", "_temporaries", "indent", "lines")

    def __init__(self, names: Mapping[Expr, str], namespace: Namespace) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self._names = names
        self._namespace = namespace  # of the generated code
        self._constants: dict[Expr, str] = {}  # names of constants in the namespace
        self._temporaries = 0

    def line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def terms(self, roots: Sequence[Expr]) -> list[Text]:
        """Write statements that compute `roots`. They overwrite the temporaries of earlier calls."""
        self._temporaries = 0
        uses: dict[Expr, int] = {}
        order = list(postorder(*roots))
        for term in (*(a for t in order for a in t.args), *roots):
            uses[term] = uses.get(term, 0) + 1
        done: dict[Expr, Text] = {}
        for term in order:
            text = self._term(term, done)
            spill = uses[term] > 1 or text.depth >= _DEPTH or len(text.text) > _LENGTH
            if not text.atomic and (spill or text.partial):
                text = self._temporary(text)
            done[term] = text
        return [done[root] for root in roots]

    def _temporary(self, text: Text) -> Text:
        if text.atomic:
            return text
        name = f"t{self._temporaries}"
        self._temporaries += 1
        self.line(f"{name} = {text.text}")
        return Text(name, partial=text.partial)

    def _term(self, term: Expr, done: dict[Expr, Text]) -> Text:
        kind = term.kind
        if kind is Kind.VAR:
            return Text(self._names[term])
        if kind is Kind.CONST:
            return Text(self._constant(term))
        operation = _OPERATIONS.get(kind)
        if operation is None:
            raise Unsupported(
                Diagnostic("unsupported-term", f"no value can be computed for {kind.name} terms")
            )
        args = [done[a] for a in term.args]
        while len(args) > _WIDTH:  # only associative operators have that many
            first = self._operation(term, operation, args[:_WIDTH])
            args = [self._temporary(first), *args[_WIDTH:]]
        return self._operation(term, operation, args)

    def _operation(self, term: Expr, operation: Operation, args: list[Text]) -> Text:
        hazard = _HAZARDS.get(term.kind)
        partial = any(a.partial for a in args) or (hazard is not None and hazard(term, "") != "")
        partial = partial or term.kind is Kind.F_TO  # None is its result where it is undefined
        if partial or term.kind in _REPEATING:
            args = [self._temporary(a) for a in args]
        depth = 1 + max(a.depth for a in args)
        texts = [a.text for a in args]
        if not partial:
            return Text(operation(self, term, texts), depth, atomic=False)
        if term.kind in (Kind.AND, Kind.OR):
            text = _lattice(args, absorbing=term.kind is Kind.OR)
        elif term.kind is Kind.ITE:
            text = operation(self, term, texts)
            text = f"None if {texts[0]} is None else {text}" if args[0].partial else text
        else:
            missing = [f"{a.text} is None" for a in args if a.partial]
            if hazard is not None and hazard(term, ""):
                missing.append(hazard(term, texts[1]))
            text = operation(self, term, texts)
            text = f"None if {' or '.join(missing)} else {text}" if missing else text
        return Text(text, depth, atomic=False, partial=True)

    def _constant(self, term: Expr) -> str:
        value = term.value
        if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 64):
            return repr(value) if value >= 0 else f"({value})"
        return self.define_constant(term, value)

    def define_function(self, term: Expr) -> str:
        """Return the name of the function that computes an operation on floating-point numbers."""
        assert isinstance(term.data, str)
        name = f"{term.kind.name.lower()}_{term.data.replace(' ', '_')}_{term.sort.name}"
        if name not in self._namespace:
            operand = floats.FORMATS[term.data.split()[0]]
            self._namespace[name] = _FloatOperation(term.kind, term.data, term.sort, operand)
        return name

    def define_constant(self, term: Expr, value: object) -> str:
        """Return the name of `value`, which belongs to `term`, in the namespace."""
        name = self._constants.get(term)
        if name is None:
            name = self._constants[term] = f"k{len(self._namespace)}"
            self._namespace[name] = value
        return name


def _lattice(args: Sequence[Text], *, absorbing: bool) -> str:
    """Return the text of a conjunction (absorbing: False) or disjunction with parts that may be None."""
    decisive = [
        (f"{a.text} is not None and " if a.partial else "") + (a.text if absorbing else f"not {a.text}")
        for a in args
    ]
    missing = [f"{a.text} is None" for a in args if a.partial]
    either = " or ".join(f"({d})" for d in decisive)
    return f"{absorbing} if {either} else None if {' or '.join(missing)} else {not absorbing}"


# ------------------------------------------------------------------------------------ operators

Operation = Callable[[Writer, Expr, list[str]], str]


def _machine(sort: Sort, text: str) -> str:
    """Return `text`, reduced modulo 2**width into the range of `sort` if that is a machine sort."""
    if not isinstance(sort, MachineSort):
        return text
    mask = (1 << sort.width) - 1
    return f"(({text} + {-sort.low} & {mask}) - {-sort.low})" if sort.signed else f"({text} & {mask})"


def _infix(operator: str) -> Operation:
    return lambda _, term, a: _machine(term.sort, f"({f' {operator} '.join(a)})")


def _prefix(operator: str) -> Operation:
    return lambda _, term, a: _machine(term.sort, f"({operator}{a[0]})")


def _mul(_: Writer, term: Expr, a: list[str]) -> str:
    if isinstance(term.sort, MachineSort):
        return _machine(term.sort, f"({a[0]} * {a[1]})")
    if term.args[0].kind is Kind.CONST and len(a) == 2:
        return f"(-{a[1]})" if term.args[0].value == -1 else f"({a[0]} * {a[1]})"
    text = a[0]
    for factor in a[1:]:
        text = f"product({text}, {factor})"
    return text


def _unsigned(term: Expr) -> bool:
    return isinstance(term.sort, MachineSort) and not term.sort.signed


def _quot(_: Writer, term: Expr, a: list[str]) -> str:
    x, y = a
    divisor = term.args[1]
    if _unsigned(term):
        return f"({x} // {y})"
    if divisor.kind is Kind.CONST and divisor.value > 0:
        return f"({x} // {y} if {x} >= 0 else -(-{x} // {y}))"
    return _machine(term.sort, f"({x} // {y} if ({x} >= 0) == ({y} > 0) else -(-{x} // {y}))")


def _rem(_: Writer, term: Expr, a: list[str]) -> str:
    x, y = a
    if _unsigned(term):
        return f"({x} % {y})"
    return f"({x} % abs({y}) if {x} >= 0 else -(-{x} % abs({y})))"


def _div(_: Writer, term: Expr, a: list[str]) -> str:
    x, y = a
    return f"({x} // {y} if {y} > 0 else -({x} // -{y}))"


def _select(_: Writer, term: Expr, a: list[str]) -> str:
    return f"{a[0]}[{a[1]}]"


def _const_array(writer: Writer, term: Expr, a: list[str]) -> str:
    assert isinstance(term.sort, ArraySort)
    return f"{writer.define_constant(term, _ConstantArray(term.sort))}({a[0]})"


@dataclass(frozen=True, slots=True)
class _ConstantArray:
    """Makes arrays that have one value everywhere."""

    sort: ArraySort

    def __call__(self, value: Datum) -> ArrayValue:
        return ArrayValue(self.sort, value)


def _float(writer: Writer, term: Expr, a: list[str]) -> str:
    assert isinstance(term.data, str)
    return f"{writer.define_function(term)}({', '.join(a)})"


@dataclass(frozen=True, slots=True)
class _FloatOperation:
    """Computes an operation on floating-point numbers. Where the bits of a NaN are unknown, it is still
    NaN."""

    kind: Kind
    data: str
    sort: Sort
    operand: floats.Format  # of the operands

    def __call__(self, *args: int) -> object:
        for argument in args:
            if argument.__class__ is not int:
                return self._partly_known(args)
        return fold_float(self.kind, self.data, args, self.sort)

    def _partly_known(self, args: Sequence[object]) -> object:
        """Return the result where bits of operands are unknown: the bits that are the same in all cases."""
        cases = list(product_of(*(_cases(self.operand, a) for a in args)))
        results = [fold_float(self.kind, self.data, case, self.sort) for case in cases]
        first = results[0]
        if all(result == first for result in results):
            return first
        fault = next(a.fault for a in args if isinstance(a, Indeterminate))
        if any(result is None or isinstance(result, bool) for result in results) or self.sort_is_signed:
            raise type(fault)(*fault.args)
        different = 0
        for result in results:
            different |= cast(int, result) ^ cast(int, first)
        return Indeterminate(cast(int, first) & ~different, different, fault)

    @property
    def sort_is_signed(self) -> bool:
        return isinstance(self.sort, MachineSort) and self.sort.signed


def _cases(format: floats.Format, value: object) -> list[int]:
    """Return all values of an operand, if few of its bits are unknown. One that is certainly NaN need not be
    known bit by bit."""
    if not isinstance(value, Indeterminate):
        return [number(value)]
    fraction = (1 << (format.precision - 1)) - 1
    unknown = value.unknown & ((1 << format.width) - 1)
    is_nan = value.bits & format.infinity == format.infinity and value.bits & fraction
    if is_nan and not unknown & format.infinity:
        return [format.nan]
    if unknown.bit_count() > _FEW:
        return [number(value)]  # raises its fault
    values = [value.bits & ((1 << format.width) - 1)]
    while unknown:
        bit = unknown & -unknown
        values += [each | bit for each in values]
        unknown ^= bit
    return values


_OPERATIONS: dict[Kind, Operation] = {
    Kind.NOT: _prefix("not "),
    Kind.AND: _infix("and"),
    Kind.OR: _infix("or"),
    Kind.ITE: lambda _, t, a: f"({a[1]} if {a[0]} else {a[2]})",
    Kind.EQ: _infix("=="),
    Kind.LE: _infix("<="),
    Kind.LT: _infix("<"),
    Kind.ADD: _infix("+"),
    Kind.MUL: _mul,
    Kind.SUB: _infix("-"),
    Kind.NEG: _prefix("-"),
    Kind.QUOT: _quot,
    Kind.REM: _rem,
    Kind.DIV: _div,
    Kind.MOD: lambda _, t, a: f"({a[0]} % abs({a[1]}))",
    Kind.RDIV: _infix("/"),
    Kind.BIT_AND: _infix("&"),
    Kind.BIT_OR: _infix("|"),
    Kind.BIT_XOR: _infix("^"),
    Kind.BIT_NOT: _prefix("~"),
    Kind.SHL: _infix("<<"),
    Kind.SHR: _infix(">>"),
    Kind.WRAP: _prefix("+"),
    Kind.TO_INT: _prefix("+"),
    Kind.TO_REAL: lambda _, t, a: f"Fraction(+{a[0]})",
    Kind.FLOOR: lambda _, t, a: f"({a[0]} // 1)",
    Kind.SELECT: _select,
    Kind.STORE: lambda _, t, a: f"{a[0]}.store({a[1]}, {a[2]})",
    Kind.CONST_ARRAY: _const_array,
    **dict.fromkeys(FLOATS, _float),
}

# Operators whose text repeats an operand.
_REPEATING: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV})


def _by_zero(term: Expr, divisor: str) -> str:
    operand = term.args[1]
    return "" if operand.kind is Kind.CONST and operand.value != 0 else f"not {divisor}"


def _too_far(term: Expr, amount: str) -> str:
    assert isinstance(term.sort, MachineSort)
    operand, width = term.args[1], term.sort.width
    return "" if operand.kind is Kind.CONST and 0 <= operand.value < width else f"not 0 <= {amount} < {width}"


# The condition under which an operator is undefined, from the text of its second operand; empty if never.
_HAZARDS: dict[Kind, Callable[[Expr, str], str]] = {
    Kind.QUOT: _by_zero,
    Kind.REM: _by_zero,
    Kind.DIV: _by_zero,
    Kind.MOD: _by_zero,
    Kind.RDIV: _by_zero,
    Kind.SHL: _too_far,
    Kind.SHR: _too_far,
}


def product(a: int | Fraction, b: int | Fraction) -> int | Fraction:
    """Multiply two Int or Real values; raises `Overgrown` if the product is too large."""
    if a.numerator.bit_length() + b.numerator.bit_length() > _BITS:
        raise Overgrown("a product has more than four million bits")
    return a * b


def new_namespace() -> Namespace:
    """Return the names that all generated code may use."""
    return {"product": product, "Fraction": Fraction}


def define(source: str, name: str, namespace: Namespace) -> None:
    """Execute generated definitions in a namespace. They contain no text of the analysed program."""
    exec(compile(source, f"<{name}>", "exec"), namespace)
