"""Encode terms as a table of nodes, arguments before the terms that use them, and read them back.

    {"version": 1, "sorts": ["Int", "Bool"], "functions": [],
     "nodes": [[2, 0, [], "x"], [1, 0, [], "3"], [15, 1, [0, 1]]], "roots": [2]}

is `x <= 3`. A node is [kind, sort, arguments] or [kind, sort, arguments, data]: the number of its `Kind`,
a position in the table of sorts, positions of earlier nodes, and

    for a constant            true, false, or a string: an integer, or two with a `/` between them
    for a variable            its name
    for a bound variable      its index
    for an application        the position of [name, parameter sorts, result sort] in "functions"
    for a quantifier          the positions of the sorts it binds
    for floating point        the formats: "f64", or "f32 f64" for a conversion

Decoding returns the same interned terms. It checks every sort, so that no table leads to an ill-sorted term,
and raises ValueError on any data that encoding does not produce.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from certus.codec.reading import Json, JsonObject, mapping, natural, position, sequence, shown, text
from certus.core import build, float_terms, floats
from certus.core.terms import (
    BOOL,
    FLOATS,
    INT,
    REAL,
    ArraySort,
    Data,
    Expr,
    Function,
    Kind,
    MachineSort,
    Sort,
    Value,
    sort_named,
)
from certus.core.values import ArrayValue, Datum
from certus.core.walk import QUANTIFIERS, postorder

VERSION: Final = 1


def encode_terms(roots: Sequence[Expr]) -> JsonObject:
    """Encode all of `roots` in one table, which has each shared subterm once."""
    sorts: dict[Sort, int] = {}
    functions: dict[Function, int] = {}
    positions: dict[Expr, int] = {}
    nodes: list[list[Json]] = []
    for term in postorder(*roots):
        node: list[Json] = [
            int(term.kind),
            sorts.setdefault(term.sort, len(sorts)),
            [positions[a] for a in term.args],
        ]
        if term.kind is Kind.CONST:
            node.append(encode_value(term.value))
        elif term.kind is Kind.APPLY:
            node.append(functions.setdefault(term.function, len(functions)))
        elif term.kind in QUANTIFIERS:
            node.append([sorts.setdefault(s, len(sorts)) for s in term.bound_sorts])
        elif isinstance(term.data, (str, int)):  # a name, or the index of a bound variable
            node.append(term.data)
        positions[term] = len(nodes)
        nodes.append(node)
    signatures: list[Json] = [
        [f.name, [sorts.setdefault(s, len(sorts)) for s in f.parameters], sorts[f.result]] for f in functions
    ]
    return {
        "version": VERSION,
        "sorts": [s.name for s in sorts],
        "functions": signatures,
        "nodes": nodes,
        "roots": [positions[r] for r in roots],
    }


def decode_terms(table: object) -> tuple[Expr, ...]:
    """Read the terms that `encode_terms` encoded."""
    fields = mapping(table, "a term table", ("version", "sorts", "functions", "nodes", "roots"))
    if fields["version"] != VERSION:
        raise ValueError(f"a term table of version {VERSION} was expected, not {fields['version']!r}")
    return _Reader(fields).roots


def encode_value(value: Value) -> bool | str:
    """Encode a constant: a truth value as itself, a number of any size as a string."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _digits(value)
    return f"{_digits(value.numerator)}/{_digits(value.denominator)}"


def decode_value(coded: object, sort: Sort) -> Value:
    """Read a value of `sort`."""
    if sort is BOOL:
        if isinstance(coded, bool):
            return coded
    elif isinstance(coded, str) and (match := _NUMBER.fullmatch(coded)):
        numerator, denominator = int(match[1], 0), int(match[2] or "1", 0)
        if sort is REAL and match[2] is not None and denominator != 0:
            return Fraction(numerator, denominator)
        in_range = sort is INT or (isinstance(sort, MachineSort) and sort.low <= numerator <= sort.high)
        if in_range and match[2] is None:
            return numerator
    raise ValueError(f"{shown(coded)} is not a value of sort {sort}")


def encode_datum(value: Datum) -> Json:
    """Encode a value of any sort; an array as its default and the exceptions from it."""
    if not isinstance(value, ArrayValue):
        return encode_value(value)
    entries = [[encode_datum(index), encode_datum(element)] for index, element in value.entries.items()]
    return {"default": encode_datum(value.default), "entries": entries}


def decode_datum(coded: object, sort: Sort) -> Datum:
    """Read a value of `sort`."""
    if not isinstance(sort, ArraySort):
        return decode_value(coded, sort)
    fields = mapping(coded, "an array", ("default", "entries"))
    entries: list[tuple[Datum, Datum]] = []
    for item in sequence(fields["entries"], "the entries of an array"):
        index, element = sequence(item, "an entry of an array", 2)
        entries.append((decode_datum(index, sort.index), decode_datum(element, sort.element)))
    return ArrayValue(sort, decode_datum(fields["default"], sort.element), entries)


_DIGITS: Final = r"(?:0|[1-9][0-9]{0,4000}|0x[0-9a-f]+)"
_NUMBER: Final = re.compile(f"(-?{_DIGITS})(?:/({_DIGITS}))?")


def _digits(value: int) -> str:
    """Return decimal digits, or hexadecimal ones for numbers that Python refuses to print in decimal."""
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _kind(number: object) -> Kind:
    kind = _KINDS.get(natural(number, "the kind of a term"))
    if kind is None:
        raise ValueError(f"there is no kind of term with number {number}")
    return kind


class _Reader:
    """The tables of encoded terms, checked as they are read."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._sorts = [
            sort_named(text(name, "a sort")) for name in sequence(fields["sorts"], "the table of sorts")
        ]
        self._functions = [
            self._function(entry) for entry in sequence(fields["functions"], "the table of functions")
        ]
        self._terms: list[Expr] = []
        # For each term the bound variables it leaves open, by index, and their sorts.
        self._loose: list[Mapping[int, Sort]] = []
        for number, node in enumerate(sequence(fields["nodes"], "the table of terms")):
            try:
                self._read(node)
            except ValueError as error:
                raise ValueError(f"term {number} of the table: {error}") from None
        self.roots = tuple(self._terms[i] for i in self._arguments(fields["roots"]))

    def _sort(self, at: object) -> Sort:
        return self._sorts[position(at, len(self._sorts), "sort")]

    def _function(self, entry: object) -> Function:
        name, parameters, result = sequence(entry, "a function", 3)
        sorts = tuple(self._sort(s) for s in sequence(parameters, "the parameters of a function"))
        return Function(text(name, "the name of a function"), sorts, self._sort(result))

    def _arguments(self, positions: object) -> list[int]:
        return [position(at, len(self._terms), "earlier term") for at in sequence(positions, "arguments")]

    def _read(self, node: object) -> None:
        parts = sequence(node, "a term")
        if len(parts) not in (3, 4):
            raise ValueError(f"a term has three or four parts: {shown(node)}")
        kind = _kind(parts[0])
        sort = self._sort(parts[1])
        positions = self._arguments(parts[2])
        args = tuple(self._terms[i] for i in positions)
        if (len(parts) == 4) != (kind in _WITH_DATA):
            raise ValueError(f"{kind.name} {'needs' if kind in _WITH_DATA else 'has no'} data")
        data = self._data(kind, sort, parts[3]) if len(parts) == 4 else None
        if not well_sorted(kind, args, data, sort):
            sorts = ", ".join(a.sort.name for a in args)
            raise ValueError(f"{kind.name} from ({sorts}) to {sort} is not well-sorted")
        loose = self._open_variables(kind, data, sort, positions)
        self._terms.append(Expr(kind, args, data, sort))
        self._loose.append(loose)

    def _data(self, kind: Kind, sort: Sort, coded: object) -> Data:
        if kind is Kind.CONST:
            return build.constant(decode_value(coded, sort), sort).data
        if kind is Kind.VAR:
            return text(coded, "the name of a variable")
        if kind in FLOATS:
            return text(coded, "the format of floating-point numbers")
        if kind is Kind.BOUND:
            return natural(coded, "the index of a bound variable")
        if kind is Kind.APPLY:
            return self._functions[position(coded, len(self._functions), "function")]
        return tuple(self._sort(s) for s in sequence(coded, "the sorts of bound variables"))

    def _open_variables(
        self, kind: Kind, data: Data, sort: Sort, positions: Sequence[int]
    ) -> Mapping[int, Sort]:
        if kind is Kind.BOUND:
            assert isinstance(data, int)
            return {data: sort}
        """Return the bound variables that a term leaves open, by index, with their sorts."""
        loose: dict[int, Sort] = {}
        for at in positions:
            for index, other in self._loose[at].items():
                if loose.setdefault(index, other) is not other:
                    raise ValueError(f"bound variable {index} has two sorts")
        if isinstance(data, tuple):  # the last variable of a quantifier has index 0
            for index, own in enumerate(reversed(data)):
                if loose.pop(index, own) is not own:
                    raise ValueError(f"bound variable {index} has another sort than its quantifier says")
            loose = {index - len(data): other for index, other in loose.items()}
        return loose or _NONE


_KINDS: Final = {int(kind): kind for kind in Kind}
_NONE: Final[Mapping[int, Sort]] = {}
_WITH_DATA: Final = (Kind.CONST, Kind.VAR, Kind.BOUND, Kind.APPLY, Kind.FORALL, Kind.EXISTS, *FLOATS)


def well_sorted(kind: Kind, args: Sequence[Expr], data: Data, sort: Sort) -> bool:
    """Return whether a term of these parts is well-sorted; its arguments are."""
    sorts = tuple(a.sort for a in args)
    if kind is Kind.APPLY:
        return isinstance(data, Function) and sorts == data.parameters and sort is data.result
    if kind in (Kind.FORALL, Kind.EXISTS):
        return isinstance(data, tuple) and data != () and sorts == (BOOL,) and sort is BOOL
    if kind in FLOATS:
        return isinstance(data, str) and _float(kind, data, sorts, sort)
    return _RULES[kind](sorts, sort) and isinstance(data, _DATA.get(kind, type(None)))


def _float(kind: Kind, data: str, sorts: tuple[Sort, ...], sort: Sort) -> bool:
    """Return whether an operation on floating-point numbers of these formats is well-sorted."""
    formats = [floats.FORMATS.get(name) for name in data.split(" ")]
    first, last = formats[0], formats[-1]
    if first is None or last is None or len(formats) != (2 if kind is Kind.F_CONVERT else 1):
        return False
    bits, mode = float_terms.float_sort(first), float_terms.ROUNDING
    if kind is Kind.F_TO:
        return sorts == (bits,) and isinstance(sort, MachineSort)
    if kind is Kind.F_FROM:
        integer = len(sorts) == 2 and isinstance(sorts[0], MachineSort)
        return integer and sorts[1] is mode and sort is bits
    if kind in (Kind.F_EQ, Kind.F_LT, Kind.F_LE):
        return sorts == (bits, bits) and sort is BOOL
    operands = (bits,) * _FLOAT_OPERANDS.get(kind, 2)
    expected = operands if kind is Kind.F_REM else (*operands, mode)
    return sorts == expected and sort is float_terms.float_sort(last)


_FLOAT_OPERANDS: Final = {Kind.F_FMA: 3, Kind.F_SQRT: 1, Kind.F_RTI: 1, Kind.F_CONVERT: 1}


def _number(sort: Sort) -> bool:
    return sort is INT or sort is REAL or isinstance(sort, MachineSort)


def _machine(sort: Sort) -> bool:
    return isinstance(sort, MachineSort)


def _integer(sort: Sort) -> bool:
    return sort is INT or isinstance(sort, MachineSort)


Rule = Callable[[tuple[Sort, ...], Sort], bool]


def _leaf(sorts: tuple[Sort, ...], _: Sort) -> bool:
    return sorts == ()


def _exactly(*parameters: Sort, result: Sort) -> Rule:
    return lambda sorts, sort: sorts == parameters and sort is result


def _connective(sorts: tuple[Sort, ...], sort: Sort) -> bool:
    return len(sorts) >= 2 and all(s is BOOL for s in sorts) and sort is BOOL


def _comparison(of: Callable[[Sort], bool]) -> Rule:
    return lambda sorts, sort: len(sorts) == 2 and sorts[0] is sorts[1] and of(sorts[0]) and sort is BOOL


def _within(count: int, of: Callable[[Sort], bool]) -> Rule:
    """Accept `count` arguments of one sort, which is also the sort of the result."""
    return lambda sorts, sort: sorts == (sort,) * count and of(sort)


def _sum(sorts: tuple[Sort, ...], sort: Sort) -> bool:
    enough = len(sorts) == 2 if isinstance(sort, MachineSort) else len(sorts) >= 2
    return enough and _number(sort) and all(s is sort for s in sorts)


def _converted(of: Callable[[Sort], bool], to: Callable[[Sort], bool]) -> Rule:
    return lambda sorts, sort: len(sorts) == 1 and of(sorts[0]) and to(sort)


def _is(expected: Sort) -> Callable[[Sort], bool]:
    return lambda sort: sort is expected


def _element(sorts: tuple[Sort, ...], sort: Sort) -> bool:
    if len(sorts) != 2 or not isinstance(sorts[0], ArraySort):
        return False
    return sorts[1] is sorts[0].index and sort is sorts[0].element


def _stored(sorts: tuple[Sort, ...], sort: Sort) -> bool:
    return isinstance(sort, ArraySort) and sorts == (sort, sort.index, sort.element)


def _everywhere(sorts: tuple[Sort, ...], sort: Sort) -> bool:
    return isinstance(sort, ArraySort) and sorts == (sort.element,)


_DATA: Final[dict[Kind, type | tuple[type, ...]]] = {
    Kind.CONST: (bool, int, Fraction),
    Kind.VAR: str,
    Kind.BOUND: int,
}

_RULES: Final[dict[Kind, Rule]] = {
    Kind.CONST: lambda sorts, sort: sorts == () and not isinstance(sort, ArraySort),
    Kind.VAR: _leaf,
    Kind.BOUND: _leaf,
    Kind.NOT: _exactly(BOOL, result=BOOL),
    Kind.AND: _connective,
    Kind.OR: _connective,
    Kind.ITE: lambda sorts, sort: sorts == (BOOL, sort, sort),
    Kind.EQ: _comparison(lambda _: True),
    Kind.LE: _comparison(_number),
    Kind.LT: _comparison(_number),
    Kind.ADD: _sum,
    Kind.MUL: _sum,
    Kind.SUB: _within(2, _machine),
    Kind.NEG: _within(1, _machine),
    Kind.QUOT: _within(2, _integer),
    Kind.REM: _within(2, _integer),
    Kind.DIV: _exactly(INT, INT, result=INT),
    Kind.MOD: _exactly(INT, INT, result=INT),
    Kind.RDIV: _exactly(REAL, REAL, result=REAL),
    Kind.BIT_AND: _within(2, _machine),
    Kind.BIT_OR: _within(2, _machine),
    Kind.BIT_XOR: _within(2, _machine),
    Kind.BIT_NOT: _within(1, _machine),
    Kind.SHL: _within(2, _machine),
    Kind.SHR: _within(2, _machine),
    Kind.WRAP: _converted(_integer, _machine),
    Kind.TO_INT: _converted(_machine, _is(INT)),
    Kind.TO_REAL: _exactly(INT, result=REAL),
    Kind.FLOOR: _exactly(REAL, result=INT),
    Kind.SELECT: _element,
    Kind.STORE: _stored,
    Kind.CONST_ARRAY: _everywhere,
}
