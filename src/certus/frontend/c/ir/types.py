"""Tokens of textual LLVM IR, and a cursor over them; types, and their layout in memory.

Types of one `TypeTable` are interned: equal types are one object. Arrays and structures may be nested as
deeply as Clang allows, so walks over them use stacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, dataclass_transform

from certus.core.walk import bottom_up

Item = TypeVar("Item")

# In order, after spaces: names, punctuation, metadata, groups of attributes, strings, numbers, words, others.
_TOKEN: Final = re.compile(
    r' *+([%@$][-\w$.]+|[%@$]"[^"]*"|[,()=*]|!"[^"]*"|![\w.]*|#\d+|c?"[^"]*"'
    r"|-?\d+\.\d*(?:[eE][-+]?\d+)?|-?(?:f?0x)\w+|-?\d+|[A-Za-z_][\w.$]*|\.\.\.|\S)"
)
_ESCAPE: Final = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")
_LOCATION: Final = re.compile(r"!dbg !(\d+)")
_DEPTH: Final = {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}


class NotUnderstood(Exception):
    """A line of IR that the reader does not understand. `location` is the number of its debug location."""

    def __init__(self, what: str, line: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        location = _LOCATION.search(line)
        self.location = int(location[1]) if location else None


def refusal(line: str, error: Exception) -> NotUnderstood:
    """Return the refusal of a line, given the error that reading it raised."""
    return NotUnderstood(error.what if isinstance(error, NotUnderstood) else "the line", line)


def tokens(text: str) -> list[str]:
    """Split text into tokens, followed by an empty one. A character that starts no token of IR is a token
    itself."""
    words: list[str] = _TOKEN.findall(text)
    words.append("")
    return words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def name_of(token: str) -> str:
    """Return the name in a token like `@f`, `%"a b"` or `$c`."""
    return text_of(token) if token.endswith('"') else token[1:]


def bytes_of(token: str) -> bytes:
    """Return the contents of a string token, with or without a prefix (`c"..."`, `!"..."`)."""
    raw = token[token.index('"') + 1 : -1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), raw)


def text_of(token: str) -> str:
    """Return the contents of a string token as text."""
    return bytes_of(token).decode("utf-8", "replace")


class Cursor:
    """A position in a list of tokens that ends with an empty one."""

    words: list[str]
    at: int

    def start(self, words: list[str]) -> None:
        """Go to the first of some other tokens."""
        self.words, self.at = words, 0

    def accept(self, word: str) -> bool:
        """Skip a token if it is next; return whether it was."""
        if self.words[self.at] == word:
            self.at += 1
            return True
        return False

    def expect(self, *words: str) -> None:
        """Skip tokens that must be next."""
        for word in words:
            if self.words[self.at] != word:
                raise NotUnderstood(f"`{self.words[self.at]}` instead of `{word}`")
            self.at += 1

    def take(self) -> str:
        """Skip and return the next token."""
        self.at += 1
        return self.words[self.at - 1]

    def name(self) -> str:
        """Read a name like `@f` or `%x`."""
        if self.words[self.at][:1] not in ("@", "%"):
            raise NotUnderstood(f"the name `{self.words[self.at]}`")
        return name_of(self.take())

    def end(self) -> None:
        """Check that no token is left."""
        if self.words[self.at]:
            raise NotUnderstood(f"`{self.words[self.at]}` at the end of a line")

    def listed(self, closing: str, read: Callable[[], Item]) -> list[Item]:
        """Read items that are separated by commas, up to a closing bracket."""
        items = []
        while not self.accept(closing):
            items.append(read())
            if self.words[self.at] != closing:
                self.expect(",")
        return items

    def skip_to(self, *ends: str) -> None:
        """Go to the next token in `ends` that is outside all brackets."""
        words, at, depth = self.words, self.at, 0
        while depth or words[at] not in ends:
            if not words[at]:
                raise NotUnderstood("a bracket that is not closed")
            depth += _DEPTH.get(words[at], 0)
            at += 1
        self.at = at


# ------------------------------------------------------------------------------------------- types


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class Record:
    """The base of plain records: each subclass is a dataclass whose instances are compared by identity."""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False)(cls)


class Type(Record):
    """A type; `text` is how IR writes it, perhaps cut short."""

    text: str

    def __repr__(self) -> str:
        return self.text


class VoidType(Type):
    """No value; also the types of labels, tokens and metadata, which are not values of programs."""


class IntegerType(Type):
    bits: int


class PointerType(Type):
    """An address in the usual address space."""


class FloatType(Type):
    bits: int


class ArrayType(Type):
    count: int
    element: Type


class VectorType(Type):
    count: int
    element: Type


class StructType(Type):
    """`name` is empty for a structure that is written where it is used; the fields of an opaque one are
    unknown."""

    name: str
    fields: tuple[Type, ...]
    packed: bool = False
    opaque: bool = False


class FunctionType(Type):
    result: Type
    parameters: tuple[Type, ...]
    variadic: bool


_FLOATS: Final = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80, "fp128": 128}


def parts_of(type_: Type) -> Sequence[Type]:
    """Return the types that a type consists of."""
    if isinstance(type_, ArrayType | VectorType):
        return (type_.element,)
    if isinstance(type_, FunctionType):
        return (type_.result, *type_.parameters)
    return type_.fields if isinstance(type_, StructType) else ()


def all_parts(type_: Type) -> Iterator[Type]:
    """Yield a type and the types that it consists of, directly or not."""
    stack = [type_]
    while stack:
        part = stack.pop()
        yield part
        stack += parts_of(part)


class TypeTable:
    """The types of a module. A table made from another one has the same types, except for named
    structures."""

    def __init__(self, other: TypeTable | None = None) -> None:
        self.scalars: dict[str, Type] = {} if other is None else other.scalars
        self._composites: dict[tuple[object, ...], Type] = {} if other is None else other._composites
        self._structures: dict[str, StructType] = {}
        if other is None:
            self.scalars |= {name: VoidType(name) for name in ("void", "label", "metadata", "token")}
            self.scalars |= {name: FloatType(name, bits) for name, bits in _FLOATS.items()}
            self.scalars["ptr"] = PointerType("ptr")
        self.pointer: Final = self.scalars["ptr"]

    def structure(self, token: str) -> StructType:
        """Return the structure with a name; it may be defined later."""
        if token not in self._structures:
            self._structures[token] = StructType(token, name_of(token), (), opaque=True)
        return self._structures[token]

    def scalar(self, token: str) -> Type:
        """Return the type that a single token stands for."""
        if token[:1] == "%":
            return self.structure(token)
        if token not in self.scalars:
            if token[:1] != "i" or not token[1:].isdigit():
                raise NotUnderstood(f"the type `{token}`")
            self.scalars[token] = IntegerType(token, int(token[1:]))
        return self.scalars[token]

    def integer(self, bits: int) -> Type:
        """Return the type `iN`."""
        return self.scalar(f"i{bits}")

    def composite(self, bracket: str, count: int, parts: Sequence[Type]) -> Type:
        """Return the array `[`, the vector `<`, the structure `{` or `<{` of parts. `(` is the function whose
        result is the first part, and which is variadic if `count` is 1."""
        key = (bracket, count, *map(id, parts))
        if key not in self._composites:
            self._composites[key] = _composite(bracket, count, parts)
        return self._composites[key]


def _composite(bracket: str, count: int, parts: Sequence[Type]) -> Type:
    if bracket == "[":
        return ArrayType(_short(f"[{count} x {parts[0].text}]"), count, parts[0])
    if bracket == "<":
        return VectorType(_short(f"<{count} x {parts[0].text}>"), count, parts[0])
    texts = [part.text for part in parts]
    if bracket == "(":
        text = _short(f"{texts[0]} ({', '.join(texts[1:] + ['...'] * count)})")
        return FunctionType(text, parts[0], tuple(parts[1:]), bool(count))
    text, packed = _short("{" + ", ".join(texts) + "}"), bracket == "<{"
    return StructType(f"<{text}>" if packed else text, "", tuple(parts), packed)


def _short(text: str) -> str:
    """Shorten the text of a type for messages: a deeply nested type would be long."""
    return text if len(text) < 200 else text[:190] + " ..."


# --------------------------------------------------------------------------------------- layout

LAYOUTS: Final = {
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128": 64,
    "e-m:e-p:32:32-p270:32:32-p271:32:32-p272:64:64-i128:128-f64:32:64-f80:32-n8:16:32-S128": 32,
}


class Layout:
    """Sizes, alignments and offsets, in bytes, for pointers of `pointer_bits`: x86-64 or i386 on Linux."""

    def __init__(self, pointer_bits: int) -> None:
        self.pointer_bits: Final = pointer_bits
        self.word: Final = pointer_bits // 8
        self._measures: dict[Type, tuple[int, int]] = {}  # size and alignment
        self._offsets: dict[StructType, tuple[int, ...]] = {}

    def size(self, type_: Type) -> int:
        """Return the distance between elements of an array of the type."""
        return self._measure(type_)[0]

    def align(self, type_: Type) -> int:
        """Return the alignment of the type in memory."""
        return self._measure(type_)[1]

    def offsets(self, type_: StructType) -> tuple[int, ...]:
        """Return the offsets of the fields of a structure."""
        self._measure(type_)
        return self._offsets[type_]

    def store_size(self, type_: Type) -> int:
        """Return the number of bytes that a load or a store of the type accesses."""
        start = 0
        while isinstance(type_, StructType) and type_.fields:
            start += self.offsets(type_)[-1]
            type_ = type_.fields[-1]
        return start + (self._bits(type_) + 7) // 8

    def _bits(self, type_: Type) -> int:
        if isinstance(type_, VectorType):
            return type_.count * self._bits(type_.element)
        return type_.bits if isinstance(type_, IntegerType | FloatType) else 8 * self.size(type_)

    def _measure(self, type_: Type) -> tuple[int, int]:
        return bottom_up(type_, parts_of, self._compute, self._measures)

    def _compute(self, type_: Type, parts: list[tuple[int, int]]) -> tuple[int, int]:
        """Return size and alignment of a type, given those of its parts."""
        if isinstance(type_, PointerType):
            return self.word, self.word
        if isinstance(type_, ArrayType):
            return type_.count * parts[0][0], parts[0][1]
        if isinstance(type_, StructType) and not type_.opaque:
            return self._structure(type_, parts)
        if not isinstance(type_, IntegerType | FloatType | VectorType):
            raise NotUnderstood(f"the size of {type_}")
        size = (self._bits(type_) + 7) // 8
        align = 1 << max(size - 1, 0).bit_length()  # that of the next wider type that the layout names
        if not isinstance(type_, VectorType):
            narrow = align == 8 or type_.text == "x86_fp80"
            align = 4 if self.pointer_bits == 32 and narrow else min(align, 16)
        return _round_up(size, align), align

    def _structure(self, type_: StructType, parts: list[tuple[int, int]]) -> tuple[int, int]:
        end, widest, offsets = 0, 1, []
        for size, natural in parts:
            align = 1 if type_.packed else natural
            offsets.append(_round_up(end, align))
            end, widest = offsets[-1] + size, max(widest, align)
        self._offsets[type_] = tuple(offsets)
        return _round_up(end, widest), widest


def _round_up(size: int, align: int) -> int:
    return -(-size // align) * align


def last_array(type_: Type) -> ArrayType | None:
    """Return the array that an object of a type is or ends with."""
    while isinstance(type_, StructType) and type_.fields:
        type_ = type_.fields[-1]
    return type_ if isinstance(type_, ArrayType) else None


def holds_pointers(type_: Type) -> bool:
    """Return whether an object of a type contains pointers."""
    return any(isinstance(part, PointerType) for part in all_parts(type_))
