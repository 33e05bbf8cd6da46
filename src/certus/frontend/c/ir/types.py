"""Types of LLVM IR, and how they lie in memory.

Types of one `TypeTable` are interned: equal types are one object. Walks use stacks of their own, since arrays
and structures may be nested as deep as Clang allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir.text import NotUnderstood, name_of


@dataclass(slots=True, eq=False, repr=False)
class Type:
    """A type; `text` is how IR writes it, perhaps cut short."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(slots=True, eq=False, repr=False)
class VoidType(Type):
    """No value; also the types of labels, tokens and metadata, which are no values of programs."""


@dataclass(slots=True, eq=False, repr=False)
class IntegerType(Type):
    bits: int


@dataclass(slots=True, eq=False, repr=False)
class PointerType(Type):
    """An address in the usual address space."""


@dataclass(slots=True, eq=False, repr=False)
class FloatType(Type):
    bits: int


@dataclass(slots=True, eq=False, repr=False)
class ArrayType(Type):
    count: int
    element: Type


@dataclass(slots=True, eq=False, repr=False)
class VectorType(Type):
    count: int
    element: Type


@dataclass(slots=True, eq=False, repr=False)
class StructType(Type):
    """`name` is empty for a structure written where it is used; an opaque one has no known fields."""

    name: str
    fields: tuple[Type, ...]
    packed: bool = False
    opaque: bool = False


@dataclass(slots=True, eq=False, repr=False)
class FunctionType(Type):
    result: Type
    parameters: tuple[Type, ...]
    variadic: bool


_FLOATS: Final = {
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
    "x86_fp80": 80,
    "fp128": 128,
    "ppc_fp128": 128,
}


@dataclass(slots=True)
class _Open:
    """A type whose parts are being read."""

    kind: str  # "[", "<", "{", "<{"
    count: int
    parts: list[Type]


class TypeTable:
    """The types of a module. Those of a table made from another are the same but for named structures."""

    def __init__(self, other: TypeTable | None = None) -> None:
        self._known: dict[str, Type] = {name: VoidType(name) for name in ("label", "metadata", "token")}
        self._known |= {name: FloatType(name, bits) for name, bits in _FLOATS.items()}
        self._known |= {"void": VoidType("void"), "ptr": PointerType("ptr")}
        self._made: dict[tuple[object, ...], Type] = {}
        if other is not None:
            self._known |= {name: type_ for name, type_ in other._known.items() if name[0] != "%"}
            self._made = other._made
        self.void: Final = self._known["void"]
        self.pointer: Final = self._known["ptr"]

    def integer(self, bits: int) -> IntegerType:
        """Return the type `iN`."""
        found = self._known.get(f"i{bits}")
        if found is None:
            found = self._known[f"i{bits}"] = IntegerType(f"i{bits}", bits)
        assert isinstance(found, IntegerType)
        return found

    def named(self, token: str) -> StructType:
        """Return the structure of this name, which may be defined later."""
        found = self._known.get(token)
        if found is None:
            found = self._known[token] = StructType(token, name_of(token), (), opaque=True)
        assert isinstance(found, StructType)
        return found

    def define(self, token: str, words: list[str], at: int) -> None:
        """Read the definition of a named structure."""
        made = self.named(token)
        if words[at:] == ["opaque", ""]:
            return
        body, end = self.read(words, at)
        if not isinstance(body, StructType) or words[end]:
            raise NotUnderstood(f"the type {token}", " ".join(words))
        made.fields, made.packed, made.opaque = body.fields, body.packed, False

    def read(self, words: list[str], at: int) -> tuple[Type, int]:
        """Read the type at a position; return it and the position behind it."""
        found = self._known.get(words[at])
        if found is not None and words[at + 1] != "addrspace":
            return found, at + 1
        return self._composite(words, at)

    def function(self, result: Type, parameters: tuple[Type, ...], *, variadic: bool) -> FunctionType:
        """Return the type of a function."""
        key = ("function", id(result), *map(id, parameters), variadic)
        found = self._made.get(key)
        if found is None:
            inner = ", ".join([p.text for p in parameters] + ["..."] * variadic)
            text = _short(f"{result.text} ({inner})")
            found = self._made[key] = FunctionType(text, result, parameters, variadic)
        assert isinstance(found, FunctionType)
        return found

    def read_callee(self, words: list[str], at: int) -> tuple[Type, int]:
        """Read the type in front of a callee: its result, or all of a function type."""
        result, at = self.read(words, at)
        if words[at] != "(":
            return result, at
        parameters, variadic, at = list[Type](), False, at + 1
        while words[at] != ")":
            if words[at] == "...":
                variadic, at = True, at + 1
            else:
                part, at = self.read(words, at)
                parameters.append(part)
            if words[at] == ",":
                at += 1
            elif words[at] != ")":
                raise NotUnderstood(f"`{words[at]}` in a function type")
        return self.function(result, tuple(parameters), variadic=variadic), at + 1

    def _scalar(self, words: list[str], at: int) -> Type:
        word = words[at]
        if word == "ptr" and words[at + 1] == "addrspace":
            raise NotUnderstood("an address space")
        found = self._known.get(word)
        if found is not None:
            return found
        if word[0] == "i" and word[1:].isdigit():
            return self.integer(int(word[1:]))
        if word[0] == "%":
            return self.named(word)
        raise NotUnderstood(f"the type `{word}`")

    def _composite(self, words: list[str], at: int) -> tuple[Type, int]:
        stack: list[_Open] = []
        while True:
            word = words[at]
            made: Type | None = None
            if word == "[" or (word == "<" and words[at + 1] != "{"):
                if words[at + 2] != "x":
                    raise NotUnderstood(f"the type `{word} {words[at + 1]} {words[at + 2]}`")
                stack.append(_Open(word, int(words[at + 1]), []))
                at += 3
                continue
            if word in ("{", "<"):
                kind = "{" if word == "{" else "<{"
                at += len(kind)
                stack.append(_Open(kind, 0, []))
                if words[at] != "}":
                    continue
            else:
                made = self._scalar(words, at)
                at += 1
            while True:
                if not stack:
                    assert made is not None
                    return made, at
                top = stack[-1]
                if made is not None:
                    top.parts.append(made)
                if top.kind[-1] == "{" and words[at] == ",":
                    at += 1
                    break
                closing = {"[": "]", "<": ">", "{": "}", "<{": "}"}[top.kind]
                if words[at] != closing:
                    raise NotUnderstood(f"`{words[at]}` in a type")
                at += 2 if top.kind == "<{" else 1
                stack.pop()
                made = self._make(top)

    def _make(self, read: _Open) -> Type:
        key = (read.kind, read.count, *map(id, read.parts))
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = _made(read)
        return found


def _made(read: _Open) -> Type:
    if read.kind == "[":
        (element,) = read.parts
        return ArrayType(_short(f"[{read.count} x {element.text}]"), read.count, element)
    if read.kind == "<":
        (element,) = read.parts
        return VectorType(_short(f"<{read.count} x {element.text}>"), read.count, element)
    packed = read.kind == "<{"
    inner = _short("{" + ", ".join(part.text for part in read.parts) + "}")
    return StructType(f"<{inner}>" if packed else inner, "", tuple(read.parts), packed)


def _short(text: str) -> str:
    """Texts are for people; those of deeply nested types would be long."""
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
        self._sizes: dict[Type, tuple[int, int]] = {}  # size and alignment
        self._offsets: dict[StructType, tuple[int, ...]] = {}

    def size(self, type_: Type) -> int:
        """Return the distance between elements of an array of the type."""
        return self._measure(type_)[0]

    def align(self, type_: Type) -> int:
        """Return the alignment of the type in memory."""
        return self._measure(type_)[1]

    def store_size(self, type_: Type) -> int:
        """Return how many bytes a load or a store of the type accesses."""
        if isinstance(type_, IntegerType | FloatType):
            return (type_.bits + 7) // 8
        if isinstance(type_, VectorType):
            return (type_.count * self._bits(type_.element) + 7) // 8
        if isinstance(type_, StructType) and type_.fields:
            return self.offsets(type_)[-1] + self.store_size(type_.fields[-1])
        return self.size(type_)

    def offsets(self, type_: StructType) -> tuple[int, ...]:
        """Return where the fields of a structure start."""
        self._measure(type_)
        return self._offsets[type_]

    def _bits(self, type_: Type) -> int:
        if isinstance(type_, IntegerType | FloatType):
            return type_.bits
        return 8 * self.size(type_)

    def _measure(self, type_: Type) -> tuple[int, int]:
        found = self._sizes.get(type_)
        if found is not None:
            return found
        stack = [type_]
        while stack:
            top = stack[-1]
            missing = [part for part in _parts(top) if part not in self._sizes]
            if missing:
                stack += missing
            else:
                stack.pop()
                self._sizes[top] = self._compute(top)
        return self._sizes[type_]

    def _compute(self, type_: Type) -> tuple[int, int]:
        """Measure a type whose parts are measured."""
        if isinstance(type_, PointerType):
            return self.word, self.word
        if isinstance(type_, IntegerType):
            return self._rounded((type_.bits + 7) // 8, self._integer_align(type_.bits))
        if isinstance(type_, FloatType):
            return self._rounded((type_.bits + 7) // 8, self._float_align(type_.bits))
        if isinstance(type_, ArrayType):
            size, align = self._sizes[type_.element]
            return type_.count * size, align
        if isinstance(type_, VectorType):
            size = (type_.count * self._bits(type_.element) + 7) // 8
            return self._rounded(size, 1 << max(size - 1, 0).bit_length())
        if isinstance(type_, StructType) and not type_.opaque:
            return self._structure(type_)
        raise NotUnderstood(f"the size of {type_}")

    @staticmethod
    def _rounded(size: int, align: int) -> tuple[int, int]:
        return -(-size // align) * align, align

    def _integer_align(self, bits: int) -> int:
        """A width without an entry has the alignment of the next wider one, or of the widest."""
        align = min(1 << ((bits + 7) // 8 - 1).bit_length(), 16)
        return 4 if self.pointer_bits == 32 and align == 8 else align

    def _float_align(self, bits: int) -> int:
        if bits in (64, 80) and self.pointer_bits == 32:
            return 4
        return 16 if bits == 80 else bits // 8

    def _structure(self, type_: StructType) -> tuple[int, int]:
        at, widest, offsets = 0, 1, []
        for part in type_.fields:
            size, align = self._sizes[part]
            if type_.packed:
                align = 1
            at = -(-at // align) * align
            offsets.append(at)
            at += size
            widest = max(widest, align)
        self._offsets[type_] = tuple(offsets)
        return -(-at // widest) * widest, widest


def _parts(type_: Type) -> Iterator[Type]:
    if isinstance(type_, ArrayType | VectorType):
        yield type_.element
    elif isinstance(type_, StructType):
        yield from type_.fields
