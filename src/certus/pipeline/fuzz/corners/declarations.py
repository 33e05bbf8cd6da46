"""Draw types and objects: records with bit-fields and alignments, enumerations, aliases, initialisers, packing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from certus.pipeline.fuzz.corners.drawing import (
    ALIASES,
    CONSTANTS,
    MEMBERS,
    TAGS,
    VARIABLES,
    Constant,
    Drawing,
    Variable,
)
from certus.pipeline.fuzz.corners.parts import Group, Line, Part
from certus.pipeline.fuzz.corners.shapes import (
    Array,
    Floating,
    Integer,
    Member,
    Named,
    Pointer,
    Qualified,
    Record,
    Type,
    contains,
    declaration,
    fits,
    flat,
    is_const,
    joined,
    members,
    overaligned,
    stripped,
    type_name,
)

NUMBERS: Final = (0, 1, 2, 3, 5, 7, 127, 128, 200, 255, 256, 300, 32767, 40000, 65535, 65536, 70000)
LARGE: Final = (2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33 + 5, 2**62, 2**63 - 1, 0x1234567890ABCDEF)
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
class Declaring(Drawing):
    """Draws declarations."""

    # -- types

    def basic(self, *, narrow: bool = False) -> Type:
        """An integer type, in one of its spellings."""
        names = [n for n, t in self.integers.items() if t.bits <= 64]
        if not narrow and self.chance(0.04):
            names = [n for n, t in self.integers.items() if t.bits > 64] or names
        found = self.integers[self.pick(names)]
        if found.spelling in SPELLINGS and self.chance(0.2):
            return replace(found, spelling=self.pick(SPELLINGS[found.spelling]))
        return found

    def scalar(self) -> Type:
        """An integer type: basic, or one with a name."""
        named = self.types(lambda t: isinstance(stripped(t), Integer))
        if named and self.chance(0.4):
            return self.pick(named)
        if self.chance(0.03):
            return Integer(f"_BitInt({(bits := self.pick((3, 7, 9, 17, 33, 48)))})", bits, True)
        return self.basic()

    def complete(self, depth: int = 1) -> Type:
        """A type of objects that can be named again here."""
        found: Type = self.weighted(
            [
                (3, self.scalar),
                (4, lambda: self.pick(self.types() or [Named("int", self.integers["int"])])),
                (1, lambda: Pointer(self.complete(0))),
            ]
        )()
        if depth and not overaligned(found) and self.chance(0.2):
            found = Array(found, self.random.randint(1, 4))
        return found

    def record(self, depth: int = 2, hole: Type | None = None, names: list[str] | None = None) -> Record:
        """A record; `hole` is a type that it shall use. `names` are the member names that are left."""
        names = self.random.sample(MEMBERS, len(MEMBERS)) if names is None else names
        made: list[Member] = []
        if hole is not None:
            made.append(Member(names.pop(), hole))
        for _ in range(self.random.choice((1, 2, 2, 3, 3, 4)) if self.chance(0.97) else 0):
            made += self._members(depth, names)
        self.random.shuffle(made)
        kind = "union" if self.chance(0.2) else "struct"
        if not any(member.name for member in made) and not any(m.width is None for m in made):
            made.append(Member(names.pop(), self.basic()))
        first = self.record_attribute() if self.chance(0.15) else ""
        last = self.record_attribute() if self.chance(0.12) else ""
        return Record(kind, tuple(made), first, last)

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

    def _members(self, depth: int, names: list[str]) -> list[Member]:
        dice = self.random.random()
        if dice < 0.25:
            return self._bit_fields(names)
        if dice < 0.45 and depth:
            if self.chance(0.4):
                return [Member(None, self.record(depth - 1, names=names))]
            inner: Type = self.record(depth - 1)
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

    def _member_attribute(self, type: Type) -> tuple[str, str]:
        """What stands before and after the member."""
        found = stripped(type)
        if self.chance(0.4):
            if isinstance(found, Integer) and found.bits <= 8 and not overaligned(type):
                aligned = self.scalar() if self.chance(0.6) else Integer("long double", 0, False)
                return f"_Alignas({type_name(aligned)})", ""
            return f"_Alignas({self.pick((32, 64))})", ""
        if self.chance(0.5):
            return "", f"__attribute__((aligned({self.pick((2, 4, 8, 16))})))"
        return "", "__attribute__((packed))"

    def _bit_fields(self, names: list[str]) -> list[Member]:
        made = []
        for _ in range(self.random.randint(1, 3)):
            type = self.scalar()
            found = stripped(type)
            if not isinstance(found, Integer) or found.bits > 64 or "_BitInt" in found.spelling:
                type = found = self.integers["unsigned int"]
            if type != found and self.chance(0.6):
                type = found = self.integers[self.pick(("int", "unsigned int", "char", "long", "_Bool"))]
            limit = min(found.bits, 8) if isinstance(type, Named) else found.bits
            if self.chance(0.12):
                made.append(Member(None, type, 0 if self.chance(0.5) else self.random.randint(1, limit)))
            else:
                width = self.random.randint(1, limit)
                after = self._member_attribute(Pointer(type))[1] if self.chance(0.06) else ""
                made.append(Member(names.pop(), type, width, after=after))
        return made

    # -- declarations of types

    def declare_type(self) -> None:
        self.weighted(
            [
                (5, self.declare_record),
                (4, self.declare_record_alias),
                (3, self.declare_alias),
                (3, self.declare_enumeration),
                (2.5, self.declare_template),
            ]
        )()

    def declare_record(self) -> None:
        """`struct S { ... };`, possibly with objects."""
        tag = self.new("tag", TAGS)
        self.bind("tag", tag, Constant(tag))  # incomplete until it is defined
        record = self.record()
        named = Named(f"{record.kind} {tag}", record, "tag", tag)
        with self.as_family("records"):
            head = joined((record.kind, record.attributes, tag, "{"))
            self.place([Group(head, members(record, self.family), joined(("}", record.after)) + ";", self.family)])
        self.bind("tag", tag, named)

    def declare_record_alias(self) -> None:
        """`typedef struct { ... } T;`."""
        record, name = self.record(), self.new("id", ALIASES)
        with self.as_family("aliases"):
            self.place([declaration(record, name, before="typedef", family=self.family)])
        self.bind("id", name, Named(name, record, "id", name))

    def declare_alias(self) -> None:
        """`typedef int T;`, also of arrays and pointers, with alignments and modes."""
        type = self.complete()
        name = self.new("id", ALIASES)
        mark, after = False, ""
        if self.chance(0.25):
            mark, after = True, f"__attribute__((aligned({self.pick((1, 2, 4, 8, 16, 32))})))"
        elif isinstance(type, Integer) and type.bits > 1 and self.chance(0.15):
            mode, bits = self.pick((("QI", 8), ("HI", 16), ("SI", 32), ("DI", 64), ("byte", 8)))
            after = f"__attribute__((mode({mode})))"
            type, shown = replace(type, bits=bits), self.integers["int" if type.signed else "unsigned int"]
            self._alias(name, shown, after, Named(name, type, "id", name))
            return
        if self.chance(0.15):
            type = Qualified(self.pick(("const", "volatile", "const volatile")), type)
        self._alias(name, type, after, Named(name, type, "id", name, mark))

    def _alias(self, name: str, shown: Type, after: str, named: Named) -> None:
        with self.as_family("aliases"):
            self.place([declaration(shown, name, before="typedef", after=after, family=self.family)])
        self.bind("id", name, named)

    def declare_enumeration(self) -> None:
        names: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            free = [n for n in CONSTANTS if ("id", n) not in self.scopes[-1] and n not in names]
            if free:
                names.append(self.pick(free))
        if not names:
            return
        attribute = self.weighted(
            [
                (6, ""),
                (1, "__attribute__((packed))"),
                (1, f"__attribute__((mode({self.pick(('byte', 'HI', 'QI', 'word', 'DI'))})))"),
            ]
        )
        tag = self.new("tag", TAGS)
        low = self.pick((0, 0, 0, -1, 1, -128, 40)) if attribute else self.pick((0, 0, -1, -5, 100, 2**31, 2**32 + 1))
        lines: list[Part] = []
        for at, name in enumerate(names):
            value = f" = {low}" if at == 0 and low else ""
            if at and self.chance(0.3):
                earlier = names[self.random.randrange(at)]
                value = f" = {self.pick((f'{earlier} + 2', f'sizeof({type_name(self.basic())})', '7'))}"
            lines.append(Line(f"{name}{value},", "enums"))
        base = ""
        if not attribute and low >= -5 and low <= 100 and self.chance(0.2):
            base = f" : {type_name(self.basic(narrow=True))}"
            if "_Bool" in base or ("unsigned" in base and low < 0) or "SIZE" in base:
                base = " : signed char"
        named = Named(f"enum {tag}", Integer(f"enum {tag}", 8 if attribute or base else 31, False), "tag", tag)
        alias = self.new("id", ALIASES) if self.chance(0.3) else ""
        if alias in names:
            alias = ""
        head = joined(("typedef" if alias else "", "enum", attribute, tag)) + f"{base} {{"
        with self.as_family("enums"):
            self.place([Group(head, tuple(lines), joined(("}", alias)) + ";", self.family)])
        self.bind("tag", tag, named)
        for name in names:
            self.bind("id", name, Constant(name))
        if alias:
            self.bind("id", alias, Named(alias, named.actual, "id", alias))

    def declare_template(self) -> None:
        """One text that makes several types: a macro or header with a parameter, used twice."""
        parameter = Named("PARAMETER", self.integers["int"])
        shape = self.record(hole=parameter)
        number = self.number("template")
        types = [self.pick([*self.integers.values()]) for _ in range(self.random.randint(2, 3))]
        if self.chance(0.4) and self.types():
            types[-1] = self._unaligned(self.pick(self.types()))
        with self.as_family("templates"):
            by_header, part = self.chance(0.4), declaration(shape, "NAME", before="typedef", family=self.family)
            if by_header:
                self.headers.append((f"template{number}.h", (part,)))
            else:
                head = f"#define TEMPLATE{number}(PARAMETER, NAME)"
                self.add(Group(head, (part,), "", self.family, macro=True))
            used = words(part)
            for type in types:
                name = self.new("id", [name for name in ALIASES if name not in used])
                spelling = type_name(type)
                if by_header:
                    lines = (
                        f"#define PARAMETER {spelling}",
                        f"#define NAME {name}",
                        f'#include "template{number}.h"',
                        "#undef PARAMETER",
                        "#undef NAME",
                    )
                    self.add(Group("", tuple(Line(text, self.family) for text in lines), "", self.family))
                else:
                    self.say(f"TEMPLATE{number}({spelling}, {name})")
                self.bind("id", name, Named(name, filled(shape, type), "id", name))

    def _unaligned(self, type: Type) -> Type:
        found = stripped(type)
        usable = not overaligned(type) and self.spelled(type) and not isinstance(found, Array)
        return type if usable else self.integers["short"]

    # -- packing

    def change_packing(self) -> None:
        """A pragma that changes, or seems to change, how later records are packed."""
        with self.as_family("packing"):
            amount = self.pick((1, 2, 4, 8, 16))
            shown = self.pick((str(amount), str(amount), hex(amount), f"0{amount:o}"))
            pragma = self.pick((f"pack(push, {shown})", f"pack({shown})", "pack()", "pack(pop)", f"pack(push, r, {shown})"))
            number = self.number("packing")
            match self.random.randrange(10):
                case 0:
                    self.say(f'_Pragma("{pragma}")')
                case 1:
                    self.say(f"#define AMOUNT{number} {shown}")
                    self.say(f"#pragma pack(push, AMOUNT{number})")
                case 2:
                    self.say(f'#define PACK{number} _Pragma("{pragma}")')
                    self.say(f"PACK{number}")
                case 3:
                    self.headers.append((f"pack{number}.h", (Line(f"#pragma {pragma}", self.family),)))
                    self.say(f'#include "pack{number}.h"')
                case 4:
                    self.add(Group("/*", (Line(f"#pragma {pragma}", self.family),), "*/", self.family))
                case 5:
                    self.add(Group("#if 0", (Line(f"#pragma {pragma}", self.family),), "#endif", self.family))
                case 6:
                    self.say(f"#pragma /* {amount} */ {pragma.replace('(', '( /* 1 */ ', 1)} // pack(1)")
                case 7:
                    self.add(Group("#pragma \\", (Line(f"  {pragma}", self.family),), "", self.family))
                case _:
                    self.say(f"#pragma {pragma}")

    # -- values and initialisers

    def number_text(self, type: Integer, width: int | None = None) -> str:
        """A constant that the type has, or almost."""
        value = self.pick(NUMBERS if self.chance(0.7) else LARGE)
        value = -value if self.chance(0.2) else value
        if type.spelling.startswith("enum"):
            return str(value % 8)
        if type.spelling == "_Bool":
            return str(value % 2)
        value = fits(value, type, width) if self.chance(0.85) else value
        return self.literal(value)

    def literal(self, value: int) -> str:
        """A spelling of a number of at most 64 bits."""
        size = abs(value) % (1 << 63)
        digits = self.weighted([(5, str(size)), (2, hex(size)), (1, f"0{size:o}" if size else "0")])
        suffix = self.weighted([(5, ""), (1, "u"), (1, "L"), (1, "UL"), (1, "ll"), (1, "uLL")])
        if size < 128 and self.chance(0.1):
            digits, suffix = self.pick((f"'\\{size:03o}'", f"'\\x{size:02x}'", f"L'\\{size:03o}'")), ""
        return f"(-{digits}{suffix})" if value < 0 else f"{digits}{suffix}"

    def initialiser(self, type: Type, width: int | None = None) -> str:
        """An initialiser of constants, with or without braces and designators."""
        match stripped(type):
            case Integer() as integer:
                text = self.number_text(integer, width)
                return f"{{{text}}}" if width is None and self.chance(0.05) else text
            case Array(element, length) if length:
                return self._array_initialiser(element, length)
            case Record() as record if any(m.name or m.width is None for m in record.members):
                return self._record_initialiser(record)
            case Pointer() | Floating():
                return "0"
            case _:
                return "{}"

    def _array_initialiser(self, element: Type, length: int) -> str:
        inner = stripped(element)
        if isinstance(inner, Integer) and inner.spelling in ("char", "unsigned char", "signed char") and self.chance(0.3):
            return '"' + "".join(self.pick("abz09") for _ in range(self.random.randint(0, length))) + '"'
        items = []
        at = 0
        while at < length and self.chance(0.75):
            if self.chance(0.2):
                at = self.random.randrange(length)
                last = self.random.randint(at, length - 1)
                where = f"[{at} ... {last}]" if last > at and self.chance(0.5) else f"[{at}]"
                at = last if "..." in where else at
                items.append(f"{where} = {self.initialiser(element)}")
            else:
                items.append(self.initialiser(element))
            at += 1
        return "{" + ", ".join(items) + (", " if items and self.chance(0.1) else "") + "}"

    def _record_initialiser(self, record: Record) -> str:
        usable = [m for m in record.members if m.name is not None or m.width is None]
        if record.kind == "union":
            usable = [self.pick(usable)]
            if usable[0].name is None:
                usable = [m for m in record.members if m.name is not None or m.width is None][:1]
                return "{" + self.initialiser(usable[0].type, usable[0].width) + "}"
        items = []
        if record.kind == "union" or self.chance(0.5):
            chosen = [m for m in usable if m.name is not None]
            self.random.shuffle(chosen)
            for member in chosen[: self.random.randint(1, len(chosen))] if chosen else ():
                value = self.initialiser(member.type, member.width)
                inner = stripped(member.type)
                if isinstance(inner, Array) and inner.length and self.chance(0.3):
                    at = self.random.randrange(inner.length)
                    items.append(f".{member.name}[{at}] = {self.initialiser(inner.element)}")
                else:
                    items.append(f".{member.name} = {value}")
        else:
            for member in usable[: self.random.randint(0, len(usable))]:
                items.append(self.initialiser(member.type, member.width))
        return "{" + ", ".join(items) + "}"

    # -- objects

    def declare_object(self) -> Variable | None:
        """A variable with an initialiser, of a type that has a name, or of a record that is defined here."""
        type = self._object_type()
        if contains(type, Floating):
            return None
        name = self.new("id", VARIABLES)
        storage = self.weighted([(4, ""), (1, "static"), (1, "_Alignas(64)"), (0.5, "const"), (0.5, "volatile")])
        static = self.at_file_scope or storage == "static"
        end = ";" if static and self.chance(0.3) else f" = {self.initialiser(type)};"
        if storage == "const" or is_const(type):
            end = f" = {self.initialiser(type)};"
        with self.as_family("objects"):
            self.place([declaration(type, name, before=storage, end=end, family=self.family)])
        made = Variable(name, type, storage == "const", external=self.at_file_scope and not storage)
        self.bind("id", name, made)
        return made

    def _object_type(self) -> Type:
        dice = self.random.random()
        if dice < 0.2:
            return self._inline(self.record())
        if dice < 0.35:
            found = self.variables(lambda v: not overaligned(v.type))
            if found:
                chosen = self.pick(found)
                word = self.pick(("__typeof__", "typeof", "__typeof"))
                return Named(f"{word}({chosen.name})", chosen.type, "once", chosen.name)
        if dice < 0.6 and self.records():
            record: Type = self.pick(self.records())
            return Array(record, self.random.randint(1, 3)) if self.chance(0.3) and not overaligned(record) else record
        return self.complete()

    def _inline(self, record: Record) -> Type:
        return Array(record, self.random.randint(1, 3)) if self.chance(0.2) else record

    def declare_group(self) -> None:
        """Several objects whose unnamed types stand at one place: one macro, used for each of them."""
        shape = self.record(hole=Named("PARAMETER", self.integers["int"]) if self.chance(0.5) else None)
        if contains(shape, Floating):
            return
        number = self.number("shape")
        with self.as_family("templates"):
            part = declaration(shape, "NAME", end="", family=self.family)
            self.add(Group(f"#define SHAPE{number}(PARAMETER, NAME)", (part,), "", self.family, macro=True))
            free = [name for name in VARIABLES if name not in words(part)]
            for _ in range(self.random.randint(2, 3)):
                type = self.pick([*self.integers.values()])
                name = self.new("id", free)
                actual = filled(shape, type)
                self.say(f"SHAPE{number}({type.spelling}, {name}) = {self.initialiser(actual)};")
                self.bind("id", name, Variable(name, actual))


def words(part: Part) -> set[str]:
    """The words in the text of a declaration."""
    return set(re.findall(r"\w+", flat(part)))


def filled(record: Record, type: Type) -> Record:
    """The record with a type for its parameter."""

    def inside(old: Type) -> Type:
        match old:
            case Named(spelling="PARAMETER"):
                return type
            case Array(element, length):
                return Array(inside(element), length)
            case Record():
                return filled(old, type)
            case _:
                return old

    made: Sequence[Member] = [replace(member, type=inside(member.type)) for member in record.members]
    return Record(record.kind, tuple(made), record.attributes, record.after)
