"""Draw types: integers in their spellings, and records with bit-fields, alignments and tags inside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from certus.fuzz.corners.c_types import (
    Array,
    Floating,
    Integer,
    Member,
    Named,
    Pointer,
    Qualified,
    Record,
    Type,
    joined,
    overaligned,
    stripped,
    type_name,
)
from certus.fuzz.corners.drawing import MEMBERS, TAGS, Constant, Drawing

SPELLINGS: Final = {  # other ways to write types
    "short": ("short int", "signed short"),
    "unsigned short": ("short unsigned int", "unsigned short int"),
    "unsigned int": ("unsigned", "int unsigned"),
    "int": ("signed", "signed int"),
    "long": ("long int", "signed long"),
    "unsigned long": ("long unsigned int", "unsigned long int", "__SIZE_TYPE__"),
    "long long": ("long long int", "__INT64_TYPE__"),
    "unsigned long long": ("long long unsigned",),
}


@dataclass(slots=True)
class Typing(Drawing):
    """Draws types."""

    def basic(self, *, narrow: bool = False) -> Integer:
        """Draw an integer type, in one of its spellings."""
        names = [n for n, t in self.integers.items() if t.bits <= 64]
        if not narrow and self.chance(0.04):
            names = [n for n, t in self.integers.items() if t.bits > 64] or names
        integer = self.integers[self.pick(names)]
        if integer.spelling in SPELLINGS and self.chance(0.2):
            return replace(integer, spelling=self.pick(SPELLINGS[integer.spelling]))
        return integer

    def scalar(self) -> Type:
        """Draw an integer type: basic, or one with a name."""
        named = self.types(lambda t: isinstance(stripped(t), Integer))
        if named and self.chance(0.4):
            return self.pick(named)
        if self.chance(0.03):
            return Integer(f"_BitInt({(bits := self.pick((3, 7, 9, 17, 33, 48)))})", bits, True)
        return self.basic()

    def complete(self, depth: int = 1) -> Type:
        """Draw a type of objects that can be named again here."""
        type: Type = self.weighted(
            [
                (3, self.scalar),
                (4, lambda: self.pick(self.types() or [Named("int", self.integers["int"])])),
                (1, lambda: Pointer(self.complete(0))),
            ]
        )()
        if depth and not overaligned(type) and self.chance(0.2):
            type = Array(type, self.random.randint(1, 4))
            type = Array(type, self.random.randint(1, 3)) if self.chance(0.3) else type
        return type

    def record(
        self,
        depth: int = 2,
        hole: Type | None = None,
        names: list[str] | None = None,
        *,
        tags: bool = False,
    ) -> Record:
        """Draw a record; `hole` is a type that it shall use. `names` are the member names that are left.
        Records inside it may have `tags`, which are pending until the record is placed."""
        names = self.random.sample(MEMBERS, len(MEMBERS)) if names is None else names
        members: list[Member] = []
        if hole is not None:
            members.append(Member(names.pop(), hole))
        for _ in range(self.random.choice((1, 2, 2, 3, 3, 4)) if self.chance(0.97) else 0):
            members += self._members(depth, names, tags=tags)
        if not tags:  # a tag is visible only after its definition
            self.random.shuffle(members)
        kind = "union" if self.chance(0.2) else "struct"
        if not any(member.name for member in members) and not any(m.width is None for m in members):
            members.append(Member(names.pop(), self.basic()))
        first = self.record_attribute() if self.chance(0.15) else ""
        last = self.record_attribute() if self.chance(0.12) else ""
        return Record(kind, tuple(members), first, last)

    def record_attribute(self) -> str:
        return self.weighted(
            [
                (4, "__attribute__((packed))"),
                (2, f"__attribute__((aligned({self.pick((2, 4, 8, 16, 32))})))"),
                (1, "__attribute__((aligned))"),
                (1, f"__attribute__((packed, aligned({self.pick((2, 4))})))"),
                (0.5, "__attribute__((ms_struct))"),
            ]
        )

    def _members(self, depth: int, names: list[str], *, tags: bool) -> list[Member]:
        dice = self.random.random()
        if dice < 0.25:
            return self._bit_fields(names)
        if dice < 0.45 and depth:
            if self.chance(0.4):
                return [Member(None, self.record(depth - 1, names=names, tags=tags))]
            inner: Type = (
                self._tagged(depth - 1) if tags and self.chance(0.4) else self.record(depth - 1, tags=tags)
            )
            inner = Array(inner, self.random.randint(1, 2)) if self.chance(0.2) else inner
            return [Member(names.pop(), inner)]
        if dice < 0.55:
            records = [t for t in self.records() if not overaligned(t)]
            if records:
                return [Member(names.pop(), self.pick(records))]
        type = self.scalar()
        if dice > 0.95:
            type = Pointer(type)
        elif dice > 0.91:
            type = Floating(self.pick(("float", "double", "double", "long double")))
        elif dice > 0.78 and not overaligned(type):
            type = Array(type, self.random.choice((0, 1, 2, 3, 3, 5)) if self.chance(0.2) else 3)
        elif dice > 0.75:
            type = Qualified(self.pick(("const", "volatile")), type)
        before = after = ""
        if self.chance(0.12):
            before, after = self._member_attribute(type)
        return [Member(names.pop(), type, None, before, after)]

    def _tagged(self, depth: int) -> Record:
        """Draw a record with a tag, defined inside another one."""
        tag = self.new("tag", TAGS)
        self.bind("tag", tag, Constant(tag))  # incomplete until it is defined
        record = self.record(depth, tags=True)
        record = replace(record, attributes=joined((record.attributes, tag)))
        self.pending.append(Named(f"{record.kind} {tag}", record, "tag", tag))
        return record

    def _member_attribute(self, type: Type) -> tuple[str, str]:
        """Draw attributes before and after a member."""
        inner = stripped(type)
        if self.chance(0.4):
            if isinstance(inner, Integer) and inner.bits <= 8 and not overaligned(type):
                aligned = self.scalar() if self.chance(0.6) else Integer("long double", 0, False)
                return f"_Alignas({type_name(aligned)})", ""
            return f"_Alignas({self.pick((32, 64))})", ""
        if self.chance(0.5):
            return "", f"__attribute__((aligned({self.pick((2, 4, 8, 16))})))"
        return "", "__attribute__((packed))"

    def _bit_fields(self, names: list[str]) -> list[Member]:
        members = []
        for _ in range(self.random.randint(1, 3)):
            type = self.scalar()
            integer = stripped(type)
            if not isinstance(integer, Integer) or integer.bits > 64 or "_BitInt" in integer.spelling:
                type = integer = self.integers["unsigned int"]
            if type != integer and self.chance(0.6):
                type = integer = self.integers[self.pick(("int", "unsigned int", "char", "long", "_Bool"))]
            limit = min(integer.bits, 8) if isinstance(type, Named) else integer.bits
            if self.chance(0.12):
                members.append(Member(None, type, 0 if self.chance(0.5) else self.random.randint(1, limit)))
            else:
                width = self.random.randint(1, limit)
                after = self._member_attribute(Pointer(type))[1] if self.chance(0.06) else ""
                members.append(Member(names.pop(), type, width, after=after))
        return members
