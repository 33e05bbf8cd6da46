"""Terms as Python source: what the interpreter and the challenge compute values with.

`Writer.terms` appends statements that compute some terms and gives one Python expression for each.
Shared and deep subterms become temporaries, so the text is linear in the DAG and never nested deeply
(Python's parser has limits).

A term is *partial* if it contains a division whose divisor may be zero or a shift whose amount may be
too large. Such a term always is a temporary, with None for "undefined", and None is carried on by the
rules of `core.evaluate`: `ite` looks at the chosen branch only, a false conjunct and a true disjunct
decide, every other operation on None is None. All other terms need no such care.

No name of the analysed program enters the text: variables are slots, unusual constants are in `pool`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from certus.core.diagnostic import Diagnostic
from certus.core.errors import CertusError, Unsupported
from certus.core.sorts import ArraySort, MachineSort, Sort
from certus.core.terms import Expr, Kind
from certus.core.values import ArrayValue, Datum
from certus.core.walk import postorder

_DEPTH: Final = 8  # operators nested in one Python expression
_LENGTH: Final = 300  # characters of one Python expression
_WIDTH: Final = 16  # operands of one n-ary operator
_BITS: Final = 1 << 22  # of a product: beyond, numbers would eat all time and memory


class Overgrown(CertusError):
    """A product has more than four million bits."""


@dataclass(slots=True)
class Text:
    """A Python expression; `atomic` if it may be repeated, `partial` if it may be None."""

    text: str
    depth: int = 0
    atomic: bool = True
    partial: bool = False


class Writer:
    """Writes the statements of one Python function. `names` gives the slots of variables."""

    __slots__ = ("_names", "_pool", "_pooled", "_temporaries", "indent", "lines")

    def __init__(self, names: Mapping[Expr, str], pool: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self._names = names
        self._pool = pool  # what the text refers to beside its parameters
        self._pooled: dict[Expr, str] = {}
        self._temporaries = 0

    def line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def terms(self, roots: Sequence[Expr]) -> list[Text]:
        """Write what computes `roots`; temporaries of earlier calls are dead."""
        self._temporaries = 0
        uses: dict[Expr, int] = {}
        order = list(postorder(*roots))
        for term in (*(a for t in order for a in t.args), *roots):
            uses[term] = uses.get(term, 0) + 1
        done: dict[Expr, Text] = {}
        for term in order:
            found = self._term(term, done)
            spill = uses[term] > 1 or found.depth >= _DEPTH or len(found.text) > _LENGTH
            if not found.atomic and (spill or found.partial):
                found = self._temporary(found)
            done[term] = found
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
        while len(args) > _WIDTH:  # only associative operators have so many
            first = self._operation(term, operation, args[:_WIDTH])
            args = [self._temporary(first), *args[_WIDTH:]]
        return self._operation(term, operation, args)

    def _operation(self, term: Expr, operation: Operation, args: list[Text]) -> Text:
        hazard = _HAZARDS.get(term.kind)
        partial = any(a.partial for a in args) or (hazard is not None and hazard(term, "") != "")
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
            text = f"None if {' or '.join(missing)} else {operation(self, term, texts)}"
        return Text(text, depth, atomic=False, partial=True)

    def _constant(self, term: Expr) -> str:
        value = term.value
        if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 64):
            return repr(value) if value >= 0 else f"({value})"
        return self.pooled(term, value)

    def pooled(self, term: Expr, value: object) -> str:
        """The name of `value`, which belongs to `term`, in the pool."""
        name = self._pooled.get(term)
        if name is None:
            name = self._pooled[term] = f"k{len(self._pool)}"
            self._pool[name] = value
        return name


def _lattice(args: Sequence[Text], *, absorbing: bool) -> str:
    """A conjunction (absorbing: False) or disjunction some parts of which may be None."""
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
    """`text`; if `sort` is a machine sort, modulo 2**width in its range."""
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
    return f"{writer.pooled(term, _Constantly(term.sort))}({a[0]})"


@dataclass(frozen=True, slots=True)
class _Constantly:
    sort: ArraySort

    def __call__(self, value: Datum) -> ArrayValue:
        return ArrayValue(self.sort, value)


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
}

# Operators whose text repeats an operand.
_REPEATING: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV})


def _by_zero(term: Expr, divisor: str) -> str:
    known = term.args[1]
    return "" if known.kind is Kind.CONST and known.value != 0 else f"not {divisor}"


def _too_far(term: Expr, amount: str) -> str:
    assert isinstance(term.sort, MachineSort)
    known, width = term.args[1], term.sort.width
    return "" if known.kind is Kind.CONST and 0 <= known.value < width else f"not 0 <= {amount} < {width}"


# When an operator is undefined, given the text of its second operand; empty if never.
_HAZARDS: dict[Kind, Callable[[Expr, str], str]] = {
    Kind.QUOT: _by_zero,
    Kind.REM: _by_zero,
    Kind.DIV: _by_zero,
    Kind.MOD: _by_zero,
    Kind.RDIV: _by_zero,
    Kind.SHL: _too_far,
    Kind.SHR: _too_far,
}


def product(a: Any, b: Any) -> Any:
    """The product of two Int or Real values, unless it is too large to go on with."""
    if a.numerator.bit_length() + b.numerator.bit_length() > _BITS:
        raise Overgrown("a product has more than four million bits")
    return a * b


def pool() -> dict[str, Any]:
    """What all generated text may refer to."""
    return {"product": product, "Fraction": Fraction}


def define(source: str, name: str, names: dict[str, Any]) -> None:
    """Execute generated definitions (see the module text: only our own words are in them)."""
    exec(compile(source, f"<{name}>", "exec"), names)
