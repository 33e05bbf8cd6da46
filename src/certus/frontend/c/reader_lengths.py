"""Variable-length arrays: their lengths are computed once, where control passes the type.

Clang prints lengths as text inside types. Where a type is declared (a variable, a parameter, a typedef) or
named (a cast, `sizeof`), every length gets a variable of its own; whoever meets the type later reads that.
"""

from __future__ import annotations

from certus.core.diagnostic import Span
from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion, Storage, Variable
from certus.frontend.c.reader_core import Reading
from certus.frontend.c.reader_text import parse_expression
from certus.frontend.c.types import (
    INT_TYPE,
    ArrayType,
    CType,
    IntegerType,
    PointerType,
    Qualified,
    VariableArrayType,
    unqualified,
)
from certus.frontend.c.typetext import size_type

Lengths = list[tuple[Variable, ast.Expression]]


def is_variable(type_: CType) -> bool:
    """Whether there is a variable-length array in the type, as an element or behind pointers."""
    while not isinstance(type_, VariableArrayType):
        if isinstance(type_, PointerType):
            type_ = type_.target
        elif isinstance(type_, Qualified):
            type_ = type_.type
        elif isinstance(type_, ArrayType):
            type_ = type_.element
        else:
            return False
    return True


def lengthless(type_: CType) -> bool:
    """Whether a length of a variable-length array has not been computed."""
    while isinstance(type_, VariableArrayType | ArrayType):
        if isinstance(type_, VariableArrayType) and type_.length is None:
            return True
        type_ = unqualified(type_.element)
    return False


def fixed(reading: Reading, type_: CType, span: Span) -> tuple[CType, Lengths]:
    """The type with variables for lengths that have none, and the values these variables get."""
    if not is_variable(type_):
        return type_, []
    shells: list[PointerType | Qualified | ArrayType | VariableArrayType] = []
    while isinstance(type_, PointerType | Qualified | ArrayType | VariableArrayType):
        shells.append(type_)
        if isinstance(type_, PointerType):
            type_ = type_.target
        else:
            type_ = type_.type if isinstance(type_, Qualified) else type_.element
    lengths: Lengths = []
    for shell in reversed(shells):
        if isinstance(shell, PointerType):
            type_ = PointerType(type_)
        elif isinstance(shell, Qualified):
            type_ = Qualified(type_, shell.const, shell.volatile)
        elif isinstance(shell, ArrayType):
            type_ = ArrayType(type_, shell.length)
        elif shell.length is not None:
            type_ = VariableArrayType(type_, shell.text, shell.length)
        else:
            variable, value = _length(reading, shell.text, span)
            lengths.append((variable, value))
            type_ = VariableArrayType(type_, shell.text, variable.identity)
    return type_, lengths[::-1]


def _length(reading: Reading, text: str, span: Span) -> tuple[Variable, ast.Expression]:
    value = parse_expression(reading, text, span)
    type_ = INT_TYPE if value is None else unqualified(value.type)
    if value is None or not isinstance(type_, IntegerType):
        what = f"the length `{text}` of a variable-length array" if text else "an array of unknown length"
        value = ast.Unmodelled(INT_TYPE, span, "unsupported-vla", what)
        type_ = INT_TYPE
    identity = reading.unique(f"{reading.function}.$length")
    variable = Variable(identity, "$length", type_, Storage.AUTOMATIC, span, reading.function)
    reading.lengths[identity] = variable
    return variable, value


def declarations(lengths: Lengths, span: Span) -> list[ast.Statement]:
    """The statements that compute lengths."""
    return [ast.Declaration(variable, value, span) for variable, value in lengths]


def after(lengths: Lengths, value: ast.Expression) -> ast.Expression:
    """`value`, computed after the lengths."""
    for variable, length in reversed(lengths):
        target = ast.VariableReference(variable.type, length.span, variable)
        assigned = ast.Assignment(variable.type, length.span, target, length)
        value = ast.Comma(value.type, value.span, assigned, value)
    return value


def size_value(reading: Reading, type_: CType, span: Span) -> ast.Expression | None:
    """The size of a variable-length array in bytes; None if a length is not known. Raises `NoSize`."""
    size, factors = size_type(reading.names.model), []
    while isinstance(type_, VariableArrayType):
        variable = None if type_.length is None else reading.lengths.get(type_.length)
        if variable is None:
            return None
        read = ast.VariableReference(variable.type, span, variable)
        loaded = ast.Cast(variable.type, span, Conversion.LOAD, read)
        factors.append(ast.Cast(size, span, Conversion.INTEGER, loaded))
        type_ = unqualified(type_.element)
    found: ast.Expression = ast.IntegerConstant(size, span, reading.layout.size(type_))
    for factor in factors:
        found = ast.Binary(size, span, "*", factor, found)
    return found
