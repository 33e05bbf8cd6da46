"""Operands of instructions, and the constants that initialisers are made of.

A constant may be nested as deep as the program's data, and long: it is read with a stack, and an array of
integers in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir.text import NotUnderstood, bytes_of, name_of, word_set
from certus.frontend.c.ir.types import (
    ArrayType,
    FloatType,
    IntegerType,
    StructType,
    Type,
    TypeTable,
    VectorType,
)


@dataclass(slots=True, eq=False)
class Operand:
    """What an instruction takes or an initialiser is made of."""

    type: Type


@dataclass(slots=True, eq=False)
class Local(Operand):
    """The result of an instruction, or a parameter: `%name`."""

    name: str


@dataclass(slots=True, eq=False)
class Integer(Operand):
    value: int


@dataclass(slots=True, eq=False)
class Float(Operand):
    """A number as IR writes it."""

    text: str


@dataclass(slots=True, eq=False)
class Null(Operand):
    """The null pointer."""


@dataclass(slots=True, eq=False)
class Zero(Operand):
    """`zeroinitializer`, or `none` of a token."""


@dataclass(slots=True, eq=False)
class Undefined(Operand):
    """`undef` or, if `poison`, the result of what must not happen."""

    poison: bool


@dataclass(slots=True, eq=False)
class Symbol(Operand):
    """The address of a global variable, a function or an alias: `@name`."""

    name: str


@dataclass(slots=True, eq=False)
class Aggregate(Operand):
    """An array, a vector or a structure, part by part."""

    parts: list[Operand]


@dataclass(slots=True, eq=False)
class Data(Operand):
    """An array or a vector of integers."""

    values: list[int]


@dataclass(slots=True, eq=False)
class Bytes(Operand):
    """An array of bytes: `c"..."`."""

    data: bytes


@dataclass(slots=True, eq=False)
class Expression(Operand):
    """An operation on constants; `source` is the type that `getelementptr` indexes."""

    operation: str
    operands: list[Operand]
    source: Type | None


@dataclass(slots=True, eq=False)
class BlockAddress(Operand):
    """The address of a label: `&&label`."""

    function: str
    label: str


_OPERATIONS: Final = word_set(
    "getelementptr ptrtoint ptrtoaddr inttoptr bitcast addrspacecast trunc add sub xor"
)
_FLAGS: Final = word_set("inbounds nuw nusw nsw exact")


@dataclass(slots=True)
class _Open:
    """An aggregate, or an operation, whose parts are being read."""

    kind: str  # "[", "{", "<", "<{", "splat" or the name of an operation
    type: Type
    parts: list[Operand]
    source: Type | None = None


def read_operand(types: TypeTable, words: list[str], at: int, type_: Type) -> tuple[Operand, int]:
    """Read an operand of a type that is known; return it and the position behind it."""
    found = _simple(words[at], type_)
    if found is not None:
        return found, at + 1
    return _nested(types, words, at, type_)


def _simple(word: str, type_: Type) -> Operand | None:
    first = word[:1]
    if first == "%":
        return Local(type_, word[1:] if word[1] != '"' else name_of(word))
    if first.isdigit() or (first == "-" and len(word) > 1):
        if isinstance(type_, IntegerType):
            return Integer(type_, int(word))
        if isinstance(type_, FloatType):
            return Float(type_, word)
        raise NotUnderstood(f"the number {word} of type {type_}")
    if first == "@":
        return Symbol(type_, name_of(word))
    if word in ("true", "false"):
        return Integer(type_, int(word == "true"))
    if word == "null":
        return Null(type_)
    if word in ("zeroinitializer", "none"):
        return Integer(type_, 0) if isinstance(type_, IntegerType) else Zero(type_)
    if word in ("undef", "poison"):
        return Undefined(type_, word == "poison")
    if word[:2] == 'c"':
        return Bytes(type_, bytes_of(word))
    if isinstance(type_, FloatType) and word[:3] == "f0x":
        return Float(type_, word)
    return None


def _nested(types: TypeTable, words: list[str], at: int, type_: Type) -> tuple[Operand, int]:
    stack: list[_Open] = []
    while True:
        word = words[at]
        found = _simple(word, type_)
        if found is not None:
            at += 1
        elif word == "blockaddress":
            found, at = _block_address(words, at, type_)
        elif (data := _data(words, at, type_)) is not None:
            found, at = data
        else:
            opened, at = _open(types, words, at, type_)
            stack.append(opened)
        while True:  # `found` is complete, or the innermost part has just been opened
            if not stack:
                assert found is not None
                return found, at
            top = stack[-1]
            if found is not None:
                top.parts.append(found)
                found = None
                if words[at] == ",":
                    at += 1
                    type_, at = types.read(words, at)
                    break
            elif not _is_closed(top, words, at):
                type_, at = types.read(words, at)
                break
            stack.pop()
            found, at = _close(types, top, words, at)


def _block_address(words: list[str], at: int, type_: Type) -> tuple[Operand, int]:
    """Read `blockaddress(@f, %label)`."""
    if words[at + 1] != "(" or words[at + 3] != "," or words[at + 5] != ")":
        raise NotUnderstood("the address of a label", " ".join(words[at : at + 6]))
    return BlockAddress(type_, name_of(words[at + 2]), name_of(words[at + 4])), at + 6


def _data(words: list[str], at: int, type_: Type) -> tuple[Operand, int] | None:
    """Read an array or a vector all of whose elements are written as integers."""
    if not isinstance(type_, ArrayType | VectorType) or not isinstance(type_.element, IntegerType):
        return None
    end = at + 3 * type_.count
    if words[at] not in ("[", "<") or len(words) <= end or words[end] not in ("]", ">"):
        return None
    kinds, numbers, commas = words[at + 1 : end : 3], words[at + 2 : end : 3], words[at + 3 : end : 3]
    if any(kind != type_.element.text for kind in kinds) or any(comma != "," for comma in commas):
        return None
    try:
        return Data(type_, list(map(int, numbers))), end + 1
    except ValueError:
        return None


def _open(types: TypeTable, words: list[str], at: int, type_: Type) -> tuple[_Open, int]:
    word = words[at]
    if word == "<" and words[at + 1] == "{":
        return _Open("<{", type_, []), at + 2
    if word in ("[", "{", "<"):
        return _Open(word, type_, []), at + 1
    if word == "splat" and words[at + 1] == "(":
        return _Open(word, type_, []), at + 2
    if word not in _OPERATIONS:
        raise NotUnderstood(f"the constant `{word}`")
    at += 1
    while words[at] in _FLAGS:
        at += 1
    if words[at] == "inrange":
        while words[at] != ")":
            at += 1
        at += 1
    if words[at] != "(":
        raise NotUnderstood(f"the constant `{word} {words[at]}`")
    source = None
    if word == "getelementptr":
        source, at = types.read(words, at + 1)
        if words[at] != ",":
            raise NotUnderstood(f"the constant `{word}`")
    return _Open(word, type_, [], source), at + 1


def _is_closed(top: _Open, words: list[str], at: int) -> bool:
    """Whether there are no parts at all."""
    return words[at] in ("]", "}", ">")


def _close(types: TypeTable, top: _Open, words: list[str], at: int) -> tuple[Operand, int]:
    kind, closing = top.kind, {"[": "]", "{": "}", "<": ">", "<{": "}"}.get(top.kind, ")")
    if kind in _OPERATIONS and words[at] == "to":
        to, at = types.read(words, at + 1)
        if to is not top.type:
            raise NotUnderstood(f"a conversion to {to} where {top.type} is expected")
    if words[at] != closing or (kind == "<{" and words[at + 1] != ">"):
        raise NotUnderstood(f"`{words[at]}` in a constant")
    at += 2 if kind == "<{" else 1
    if kind == "splat":
        if not isinstance(top.type, VectorType | ArrayType):
            raise NotUnderstood("a splat that is no vector")
        return Aggregate(top.type, top.parts * top.type.count), at
    if kind in _OPERATIONS:
        return Expression(top.type, kind, top.parts, top.source), at
    expected = len(top.type.fields) if isinstance(top.type, StructType) else None
    if isinstance(top.type, ArrayType | VectorType):
        expected = top.type.count
    if expected != len(top.parts):
        raise NotUnderstood(f"a constant of {len(top.parts)} parts of type {top.type}")
    return Aggregate(top.type, top.parts), at
