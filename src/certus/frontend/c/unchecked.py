"""Find operations that Clang does not check.

An attribute may switch checks off. And Clang computes constant initialisers of arrays and records, calls of
builtin functions with constant arguments, and `offsetof`, without a trace in LLVM IR, even if an operation in
them overflows; its warnings miss some of these errors. So this module reads its syntax tree, as Clang prints
it. Intervals of values show which operations in these constants have no error: a value that the tree does not
say may be any of its type.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

_KIND: Final = re.compile(r"[ |`-]*(\w*)")
_TYPE: Final = re.compile(r"'([^']*)'(?::'([^']*)')?")  # as written, and without names of types
_OPERATOR: Final = re.compile(r" '([^'\w]+)'(?: cannot overflow)?$")
_PLACE: Final = re.compile(r"[< ](?:line|([^<>\n:]+)):(\d+):(\d+)[,> ]")
_ENUMERATOR: Final = re.compile(r" EnumConstant (0x\w+) ")
_DEFINED: Final = re.compile(r"-EnumConstantDecl (0x\w+)")
_VALUE: Final = re.compile(r"-value: Int (-?\d+)")
_SWITCHED_OFF: Final = re.compile(r"-NoSanitizeAttr 0x\w+ <.*> (?!thread$)")
_FUNCTION: Final = re.compile(r" (\w+) '")
_RENAMING: Final = re.compile(r'-(?:AsmLabel|WeakRef|Overloadable)Attr 0x[^"]*(?:"(?:.*\W)?(\w*)")?')
_COLUMN: Final = re.compile(r"<col:(\d+)")
_VARIABLE: Final = re.compile(r"-DeclRefExpr .* (?:Var|ParmVar) 0x(?!.*non_odr_use)")
_BUILTIN: Final = re.compile(r"-DeclRefExpr .* Function 0x\w+ '__builtin_")
_COMPUTED: Final = re.compile(r"-(?:InitListExpr|OffsetOfExpr|CallExpr) 0x")
_SAME_VALUE: Final = ("ParenExpr", "ConstantExpr", "ImplicitCastExpr", "CStyleCastExpr")
_TRUTH: Final = ("<", ">", "<=", ">=", "==", "!=", "&&", "||", "!")

_INTEGER: Final = re.compile(r"(?:const )?(unsigned |signed )?(?:_BitInt\((\d+)\)|(\w+(?: long)?))")
_BITS: Final = {"_Bool": 1, "char": 8, "short": 16, "int": 32, "long long": 64, "__int128": 128}
_RESULTS: Final[dict[str, Callable[..., float]]] = {  # of operations on numbers that are not negative
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor, ">>": operator.rshift},
}
_OVERFLOW, _SHIFT = {"overflow", "no-overflow"}, {"shift", "no-overflow"}
_DIVISION, _CONVERSION = {"float-divide", "float-divide-by-zero"}, {"float-cast", "float-cast-overflow"}

Interval = tuple[float, float]
_ANY: Final = (-math.inf, math.inf)  # of a floating-point number or a pointer
_UNKNOWN: Final = (math.inf, -math.inf)  # of a vector and the like: no result fits


@dataclass(frozen=True, slots=True)
class Unchecked:
    """An attribute, or an operation in a constant that may be an error; its position in a file of Clang's."""

    is_attribute: bool
    file: str
    line: int
    column: int


def unchecked(tree: str, asked: Collection[str], *, long: int) -> Iterator[Unchecked]:
    """Yield what Clang does not check in a syntax tree, for the kinds of checks asked. `long` is the width of
    this type."""
    lines = tree.splitlines()
    reader = _Reader(lines, frozenset(asked), long)
    at = 0
    while at < len(lines):
        line, start, at = lines[at], at, at + 1
        is_global = line.startswith(("|-", "`-")) and "-FunctionDecl 0x" not in line
        is_static = "-VarDecl 0x" in line and " static " in line
        is_computed = _COMPUTED.search(line) is not None
        if is_global or is_static or is_computed:
            depth = _depth(line)
            while at < len(lines) and _depth(lines[at]) > depth:
                at += 1
        if is_computed and not is_static:
            yield from (Unchecked(False, *_place(lines, each)) for each in reader.errors(start, at))
        if _SWITCHED_OFF.search(line):
            yield Unchecked(True, *_place(lines, start))


def renamed_functions(tree: str) -> Iterator[tuple[str, str]]:
    """Yield the functions with another name for the linker in a syntax tree, and that name; it is empty for a
    `weakref`, which is no symbol, and for an overloaded function."""
    names: dict[int, str] = {}  # of functions around a line, by depth
    for line in tree.splitlines():
        if "-FunctionDecl 0x" in line and (function := _FUNCTION.search(line)):
            names[_depth(line)] = function[1]
        elif attribute := _RENAMING.search(line):
            yield names.get(_depth(line) - 2, ""), attribute[1] or ""


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" |`-"))


def _place(lines: Sequence[str], at: int) -> tuple[str, int, int]:
    """Return file, line and column of an expression. The tree names files and lines where they change."""
    column, line = _COLUMN.search(lines[at]), 0
    for text in reversed(lines[: at + 1]):
        for file, number, start in reversed(_PLACE.findall(text)):
            line = line or int(number)
            if file:
                return file, line, int(column[1] if column else start)
    return "", line, 0


def _within(values: Interval, limits: Interval) -> bool:
    return limits[0] <= values[0] <= values[1] <= limits[1]


def _rounded(values: Interval) -> Interval:
    """Return the values of numbers that are converted to `float` or printed with six digits."""
    low, high = values
    return low - abs(low) / 1e5, high + abs(high) / 1e5


@dataclass(slots=True)
class _Part:
    """A part of the syntax tree: the values it may have; the lines of operations in it that may be errors,
    and of those that Clang does not check; whether it names a variable, and whether it is no constant, since
    it reads one or calls a function."""

    values: Interval = _ANY
    errors: list[int] = field(default_factory=list)
    unchecked: list[int] = field(default_factory=list)
    names_variable: bool = False
    is_computed: bool = False


class _Reader:
    """Computes the values of expressions in the lines of a syntax tree."""

    def __init__(self, lines: Sequence[str], asked: frozenset[str], long: int) -> None:
        self._lines = lines
        self._asked = asked
        self._bits = _BITS | {"long": long}

    @cached_property
    def _enumerators(self) -> dict[str, int]:
        """The values of the constants of all enumerations, by the addresses of their definitions."""
        values: dict[str, int] = {}
        value, defined, depth = -1, "", 0
        for line in self._lines:
            if _depth(line) <= depth:
                defined = ""
            if "-EnumDecl 0x" in line:
                value = -1
            elif definition := _DEFINED.search(line):
                defined, depth, value = definition[1], _depth(line), value + 1
                values[defined] = value
            elif defined and (written := _VALUE.search(line)):
                values[defined] = value = int(written[1])
        return values

    def errors(self, start: int, end: int) -> list[int]:
        """Return the lines of unchecked operations that may be errors, in a part of the tree."""
        waiting: list[tuple[int, _Part]] = []  # for the line of the expression that they are parts of
        for at in range(end - 1, start - 1, -1):
            depth, parts = _depth(self._lines[at]), list[_Part]()
            while waiting and waiting[-1][0] > depth:
                parts.append(waiting.pop()[1])
            waiting.append((depth, self._part(at, parts)))
        return sorted(waiting[-1][1].unchecked)

    def _part(self, at: int, parts: Sequence[_Part]) -> _Part:
        """Return the part that starts at a line, given those that it consists of."""
        line = self._lines[at]
        if "-IntegerLiteral 0x" in line:
            return _Part((int(line.rsplit(maxsplit=1)[-1]),) * 2)
        part = _Part(
            errors=[error for each in parts for error in each.errors],
            unchecked=[error for each in parts for error in each.unchecked],
            names_variable=_VARIABLE.search(line) is not None or any(each.names_variable for each in parts),
            is_computed=any(each.is_computed for each in parts),
        )
        type_ = _TYPE.search(line)
        limits = _ANY if type_ is None else self._limits(type_[2] or type_[1])
        values = self._values(line, [each.values for each in parts], limits)
        if values is None:
            part.errors.append(at)
        if values is None or not _within(values, limits):
            values = _ANY if limits == _UNKNOWN else limits
        part.values = values
        calls = "-CallExpr 0x" in line and not any(map(_BUILTIN.search, self._lines[at + 1 : at + 3]))
        part.is_computed |= calls or ("<LValueToRValue>" in line and part.names_variable)
        if _COMPUTED.search(line) and not part.is_computed:
            part.unchecked, part.errors = part.unchecked + part.errors, []
        return part

    def _limits(self, type_: str) -> Interval:
        """Return the least and the largest value of a type."""
        if type_.endswith(("*", "float", "double")):
            return _UNKNOWN if "_Complex" in type_ else _ANY
        integer = _INTEGER.fullmatch(type_)
        bits = 0 if integer is None else int(integer[2] or self._bits.get(integer[3], 0))
        if integer is None or not bits:
            return _UNKNOWN
        if integer[1] == "unsigned " or bits == 1:
            return 0, (1 << bits) - 1
        return -(1 << bits - 1), (1 << bits - 1) - 1

    def _values(self, line: str, operands: Sequence[Interval], limits: Interval) -> Interval | None:
        """Return the values of an expression, if its type can hold them; None if it may be an error."""
        kind = match[1] if (match := _KIND.match(line)) else ""
        if kind == "CharacterLiteral":
            return (int(line.rsplit(maxsplit=1)[-1]),) * 2
        if kind == "FloatingLiteral":
            return _rounded((float(line.rsplit(maxsplit=1)[-1]),) * 2)
        if enumerator := _ENUMERATOR.search(line):
            return (self._enumerators[enumerator[1]],) * 2
        if kind in _SAME_VALUE and len(operands) == 1:
            if "<FloatingCast>" in line or "<IntegralToFloating>" in line:
                return _rounded(operands[0])
            if "<FloatingToIntegral>" not in line:
                return operands[0]
            fits = limits[0] - 1 < operands[0][0] and operands[0][1] < limits[1] + 1
            return self._unless(not fits, _CONVERSION, limits)
        if kind == "ConditionalOperator" and len(operands) == 3:
            return min(operands[1][0], operands[2][0]), max(operands[1][1], operands[2][1])
        symbol = match[1] if (match := _OPERATOR.search(line)) else ""
        if symbol in _TRUTH:
            return 0, 1
        if kind == "UnaryOperator" and symbol in ("-", "~"):
            return self._arithmetic("-", (-1, -1) if symbol == "~" else (0, 0), operands[0], limits)
        if kind != "BinaryOperator" or len(operands) != 2:
            return limits
        return self._arithmetic(symbol, operands[0], operands[1], limits)

    def _arithmetic(self, symbol: str, a: Interval, b: Interval, limits: Interval) -> Interval | None:
        """Return the values of an operation, as `_values` does."""
        signed, values = limits[0] != 0, limits
        if limits == _ANY:
            return self._unless(symbol == "/" and b[0] <= 0 <= b[1], _DIVISION, limits)
        if symbol in ("<<", ">>"):
            width = 0 if limits == _UNKNOWN else int(limits[1] - limits[0]).bit_length()
            if not 0 <= b[0] <= b[1] < width:
                return self._unless(True, {"shift"} if symbol == ">>" else _SHIFT, limits)
            if symbol == "<<":
                values = int(a[0]) << int(b[0]), int(a[1]) << int(b[1])
                return self._unless(signed and (a[0] < 0 or values[1] > limits[1]), _SHIFT, values)
        elif symbol in ("+", "-", "*"):
            corners = [_RESULTS[symbol](x, y) for x in a for y in b]
            values = min(corners), max(corners)
            return self._unless(signed and not _within(values, limits), _OVERFLOW, values)
        elif symbol in ("/", "%") and signed and b[0] <= -1 <= b[1] and a[0] <= limits[0]:
            return self._unless(True, _OVERFLOW, limits)
        if symbol in _RESULTS and a[0] == a[1] >= 0 and b[0] == b[1] > 0:
            values = (_RESULTS[symbol](int(a[0]), int(b[0])),) * 2
        return values

    def _unless(self, is_error: bool, kinds: Collection[str], values: Interval) -> Interval | None:
        """Return the values, or None for an error of one of the kinds."""
        return None if is_error and not self._asked.isdisjoint(kinds) else values
