"""The C types of generated programs, for declarations, initialisers and paths to members.

The compiler determines layouts; widths serve only to choose constants that fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from certus.fuzz.corners.program_tree import Group, Line, Part


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer type."""

    spelling: str
    bits: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Floating:
    """A floating-point type: it has a layout, but no program computes with it."""

    spelling: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer type."""

    target: Type


@dataclass(frozen=True, slots=True)
class Array:
    """An array type."""

    element: Type
    length: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member; `name` is None for an anonymous record and an unnamed bit-field. `before` and `after` are
    attributes."""

    name: str | None
    type: Type
    width: int | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A struct or union type; two definitions are never equal. `attributes` follow the keyword, `after`
    follows the closing brace."""

    kind: str
    members: tuple[Member, ...]
    attributes: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A named type. Its name is in the name space `space`: "tag", "id", "once" for a spelling that is valid
    at one place only, or "" for a keyword. Arrays of an `overaligned` type are not allowed."""

    spelling: str
    actual: Type
    space: str = ""
    name: str = ""
    overaligned: bool = False


@dataclass(frozen=True, slots=True)
class Qualified:
    """A type with qualifiers such as `const`."""

    words: str
    type: Type


Type = Integer | Floating | Pointer | Array | Record | Named | Qualified

VOID: Final = Named("void", Integer("void", 0, False))


def integers(model: str) -> dict[str, Integer]:
    """Return the integer types of a data model, by their usual spelling."""
    word = 64 if model == "LP64" else 32
    widths = {"char": 8, "short": 16, "int": 32, "long": word, "long long": 64}
    types = {"_Bool": Integer("_Bool", 1, False), "signed char": Integer("signed char", 8, True)}
    for name, bits in widths.items():
        types[name] = Integer(name, bits, True)
        types[f"unsigned {name}"] = Integer(f"unsigned {name}", bits, False)
    if model == "LP64":
        types["__int128"] = Integer("__int128", 128, True)
        types["unsigned __int128"] = Integer("unsigned __int128", 128, False)
    return types


def stripped(type: Type) -> Type:
    """Return the type without names and qualifiers."""
    while isinstance(type, (Named, Qualified)):
        type = type.actual if isinstance(type, Named) else type.type
    return type


def is_const(type: Type) -> bool:
    """Say whether the object, or a member of it, must not be assigned to."""
    match type:
        case Qualified(words, inner):
            return "const" in words or is_const(inner)
        case Named(actual=inner) | Array(element=inner):
            return is_const(inner)
        case Record(members=members):
            return any(is_const(member.type) for member in members)
        case _:
            return False


def contains(type: Type, kind: type[Floating] | type[Pointer]) -> bool:
    """Say whether objects of the type contain a scalar of that kind."""
    match stripped(type):
        case Array(element=inner):
            return contains(inner, kind)
        case Record(members=members):
            return any(contains(member.type, kind) for member in members)
        case other:
            return isinstance(other, kind)


def overaligned(type: Type) -> bool:
    """Say whether the size may not be a multiple of the alignment, so that C allows no arrays of the type."""
    match type:
        case Named(overaligned=mark, actual=inner):
            return mark or overaligned(inner)
        case Qualified(type=inner):
            return overaligned(inner)
        case _:
            return False


# -------------------------------------------------------------------------------- declarations


def declaration(
    type: Type, declarator: str, *, before: str = "", after: str = "", end: str = ";", family: str = ""
) -> Part:
    """Return the declaration `before type declarator after end`, with the definition of an unnamed record."""
    base, derived, words = _split(type, declarator)
    derived = joined((derived, after))
    first = " ".join(word for word in (before, words) if word)
    if isinstance(base, Record):
        head = " ".join(word for word in (first, base.kind, base.attributes, "{") if word)
        last = " ".join(word for word in ("}", base.after, derived) if word)
        return Group(head, members(base, family), f"{last}{end}", family)
    text = " ".join(word for word in (first, base.spelling, derived) if word)
    return Line(f"{text}{end}", family)


def members(record: Record, family: str = "") -> tuple[Part, ...]:
    """Return the lines between the braces of a record."""
    lines = []
    for member in record.members:
        declarator = member.name or ""
        if member.width is not None:
            declarator += f" : {member.width}"
        lines.append(
            declaration(member.type, declarator, before=member.before, after=member.after, family=family)
        )
    return tuple(lines)


def type_name(type: Type) -> str:
    """Return the type as in a cast."""
    return flat(declaration(type, "", end=""))


def flat(part: Part) -> str:
    """Return a declaration on one line."""
    match part:
        case Line(text):
            return text
        case Group(head, parts, tail):
            return " ".join([head, *map(flat, parts), tail])
        case _:
            return ""


Base = Integer | Floating | Record | Named


def _split(type: Type, declarator: str) -> tuple[Base, str, str]:
    """Return the base type of a declaration, the declarator, and qualifiers."""
    match type:
        case Pointer(target):
            inside = isinstance(target, Array)
            return _split(target, f"(*{declarator})" if inside else f"*{declarator}")
        case Array(element, length):
            return _split(element, f"{declarator}[{length}]")
        case Qualified(words, Pointer(target)):
            return _split(target, f"*{words} {declarator}")
        case Qualified(words, inner):
            base, derived, others = _split(inner, declarator)
            return base, derived, f"{words} {others}".strip()
        case _:
            return type, declarator, ""


# ---------------------------------------------------------------------------------------- paths


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar in an object: its path from the object, its type, and whether it is a bit-field (`width`),
    constant, or inside a union."""

    path: str
    type: Type
    width: int | None = None
    const: bool = False
    union: bool = False

    @property
    def integer(self) -> Integer | None:
        """Return the integer type, if it is one."""
        actual = stripped(self.type)
        return actual if isinstance(actual, Integer) and actual.bits else None


def leaves(type: Type, path: str = "", *, limit: int = 24) -> list[Leaf]:
    """Return the scalars in an object of that type; of an array, only the first and the last element."""
    scalars: list[Leaf] = []
    _gather(type, path, None, False, False, scalars)
    return scalars[:limit]


def _gather(type: Type, path: str, width: int | None, const: bool, union: bool, scalars: list[Leaf]) -> None:
    const = const or (isinstance(type, Qualified) and "const" in type.words)
    match type:
        case Qualified(type=inner):
            _gather(inner, path, width, const, union, scalars)
        case Named(actual=inner) if not isinstance(inner, (Integer, Floating, Pointer)):
            _gather(inner, path, width, const, union, scalars)
        case Array(element, length):
            for index in sorted({0, length - 1} if length else ()):
                _gather(element, f"{path}[{index}]", None, const, union, scalars)
        case Record(kind, parts):
            for member in parts:
                if member.name is None and member.width is not None:
                    continue
                inner_path = f"{path}.{member.name}" if member.name is not None else path
                _gather(member.type, inner_path, member.width, const, union or kind == "union", scalars)
        case _:
            scalars.append(Leaf(path, type, width, const, union))


def aggregates(type: Type, path: str = "") -> Iterator[tuple[str, Type]]:
    """Yield the object and all its named parts that are records or arrays."""
    yield path, type
    match stripped(type):
        case Array(element, length) if length:
            if isinstance(stripped(element), (Record, Array)):
                yield from aggregates(element, f"{path}[{length - 1}]")
        case Record(members=parts):
            for member in parts:
                if member.name is not None and isinstance(stripped(member.type), (Record, Array)):
                    yield from aggregates(member.type, f"{path}.{member.name}")
                elif member.name is None and member.width is None:
                    yield from list(aggregates(member.type, path))[1:]
        case _:
            pass


def fits(value: int, type: Integer, width: int | None = None) -> int:
    """Return the value wrapped to the type or bit-field."""
    bits = width if width is not None else type.bits
    wrapped = value % (1 << bits) if bits else 0
    return wrapped - (1 << bits) if type.signed and bits and wrapped >= 1 << (bits - 1) else wrapped


def joined(words: Sequence[str]) -> str:
    """Join nonempty words by spaces."""
    return " ".join(word for word in words if word)


def shown(path: str, leaf: Leaf) -> str:
    """Return an expression of at most 64 bits for the value of a scalar."""
    wide = leaf.integer is not None and leaf.integer.bits > 64
    return f"(unsigned long long)({path})" if wide else path
