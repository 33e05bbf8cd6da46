"""Terms between processes and in files: a table of nodes, arguments before the terms that use them.

    {"version": 1, "sorts": ["Int", "Bool"], "functions": [],
     "nodes": [[2, 0, [], "x"], [1, 0, [], "3"], [15, 1, [0, 1]]], "roots": [2]}

is `x <= 3`. A node is [kind, sort, arguments] or [kind, sort, arguments, data]: the number of its `Kind`,
a position in the table of sorts, positions of earlier nodes, and

    for a constant            true, false, or a text: an integer or two with a `/` between
    for a variable            its name
    for a bound variable      its index
    for an application        the position of [name, parameter sorts, result sort] in "functions"
    for a quantifier          the positions of the sorts it binds

Decoding makes the very same terms again. It checks every sort, so that no table leads to an ill-sorted
term, and raises ValueError on anything that encoding does not produce.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from certus.core import build
from certus.core.reading import mapping, natural, position, sequence, shown, text
from certus.core.signatures import well_sorted
from certus.core.sorts import BOOL, INT, REAL, ArraySort, MachineSort, Sort, sort_named
from certus.core.terms import Data, Expr, Function, Kind, Value
from certus.core.values import ArrayValue, Datum
from certus.core.walk import QUANTIFIERS, postorder

VERSION: Final = 1


def encode_terms(roots: Sequence[Expr]) -> dict[str, Any]:
    """A table of JSON-able values that holds all of `roots`; shared subterms stand in it once."""
    sorts: dict[Sort, int] = {}
    functions: dict[Function, int] = {}
    positions: dict[Expr, int] = {}
    nodes: list[list[Any]] = []
    for term in postorder(*roots):
        node: list[Any] = [
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
        elif term.data is not None:
            node.append(term.data)
        positions[term] = len(nodes)
        nodes.append(node)
    signatures = [
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
    """The terms that `encode_terms` was given."""
    fields = mapping(table, "a term table", ("version", "sorts", "functions", "nodes", "roots"))
    if fields["version"] != VERSION:
        raise ValueError(f"a term table of version {VERSION} was expected, not {fields['version']!r}")
    return _Reader(fields).roots


def encode_value(value: Value) -> bool | str:
    """A constant: a truth value as itself, a number as text, so that it can have any size."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _digits(value)
    return f"{_digits(value.numerator)}/{_digits(value.denominator)}"


def decode_value(coded: object, sort: Sort) -> Value:
    """The value of `sort` that was encoded; ValueError if there is none."""
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
    raise ValueError(f"{shown(coded)} is no value of sort {sort}")


def encode_datum(value: Datum) -> Any:
    """A value of any sort; an array as its default and the exceptions from it."""
    if not isinstance(value, ArrayValue):
        return encode_value(value)
    entries = [[encode_datum(index), encode_datum(element)] for index, element in value.entries.items()]
    return {"default": encode_datum(value.default), "entries": entries}


def decode_datum(coded: object, sort: Sort) -> Datum:
    """The value of `sort` that was encoded; ValueError if there is none."""
    if not isinstance(sort, ArraySort):
        return decode_value(coded, sort)
    found = mapping(coded, "an array", ("default", "entries"))
    entries: list[tuple[Datum, Datum]] = []
    for item in sequence(found["entries"], "the entries of an array"):
        index, element = sequence(item, "an entry of an array", 2)
        entries.append((decode_datum(index, sort.index), decode_datum(element, sort.element)))
    return ArrayValue(sort, decode_datum(found["default"], sort.element), entries)


_DIGITS: Final = r"(?:0|[1-9][0-9]{0,4000}|0x[0-9a-f]+)"
_NUMBER: Final = re.compile(f"(-?{_DIGITS})(?:/({_DIGITS}))?")


def _digits(value: int) -> str:
    """Decimal, but hexadecimal beyond some thousand digits, where Python refuses decimal."""
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _kind(number: object) -> Kind:
    found = _KINDS.get(natural(number, "the kind of a term"))
    if found is None:
        raise ValueError(f"there is no kind of term with number {number}")
    return found


class _Reader:
    """The tables of an encoded object, checked as they are read."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
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
            given = ", ".join(a.sort.name for a in args)
            raise ValueError(f"{kind.name} from ({given}) to {sort} is not well-sorted")
        loose = self._open_variables(kind, data, sort, positions)
        self._terms.append(Expr(kind, args, data, sort))
        self._loose.append(loose)

    def _data(self, kind: Kind, sort: Sort, coded: object) -> Data:
        if kind is Kind.CONST:
            return build.constant(decode_value(coded, sort), sort).data
        if kind is Kind.VAR:
            return text(coded, "the name of a variable")
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
        found: dict[int, Sort] = {}
        for at in positions:
            for index, other in self._loose[at].items():
                if found.setdefault(index, other) is not other:
                    raise ValueError(f"bound variable {index} has two sorts")
        if isinstance(data, tuple):  # the last variable of a quantifier has index 0
            for index, own in enumerate(reversed(data)):
                if found.pop(index, own) is not own:
                    raise ValueError(f"bound variable {index} has another sort than its quantifier says")
            found = {index - len(data): other for index, other in found.items()}
        return found or _NONE


_KINDS: Final = {int(kind): kind for kind in Kind}
_NONE: Final[Mapping[int, Sort]] = {}
_WITH_DATA: Final = (Kind.CONST, Kind.VAR, Kind.BOUND, Kind.APPLY, Kind.FORALL, Kind.EXISTS)
