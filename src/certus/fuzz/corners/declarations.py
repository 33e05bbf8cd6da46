"""Draw declarations: records, aliases, enumerations, templates, packing, and objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    contains,
    declaration,
    flat,
    is_const,
    joined,
    leaves,
    members,
    overaligned,
    stripped,
    type_name,
)
from certus.fuzz.corners.drawing import ALIASES, CONSTANTS, TAGS, VARIABLES, Constant, Variable
from certus.fuzz.corners.initialisers import Initialising
from certus.fuzz.corners.program_tree import Group, Line, Part


@dataclass(slots=True)
class Declaring(Initialising):
    """Draws declarations."""

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
        """Draw `struct S { ... };`, possibly with objects."""
        tag = self.new("tag", TAGS)
        self.bind("tag", tag, Constant(tag))  # incomplete until it is defined
        record = self.record(tags=True)
        if self.chance(0.2):
            target = Named(f"{record.kind} {tag}", self.integers["int"], "once", tag)
            record = replace(record, members=(*record.members, Member("next", Pointer(target))))
        named = Named(f"{record.kind} {tag}", record, "tag", tag)
        alias = self.chance(0.2) and ("id", tag) not in self.scopes[-1]
        with self.as_family("records"):
            if alias:
                self.say(f"{named.spelling}; typedef {named.spelling} {tag};")
            head = joined((record.kind, record.attributes, tag, "{"))
            self.place(
                [Group(head, members(record, self.family), joined(("}", record.after)) + ";", self.family)]
            )
        self.bind("tag", tag, named)
        if alias:
            self.bind("id", tag, Named(tag, record, "id", tag))
        self.bind_pending()

    def declare_record_alias(self) -> None:
        """Draw `typedef struct { ... } T;`."""
        record, name = self.record(tags=True), self.new("id", ALIASES)
        with self.as_family("aliases"):
            self.place([declaration(record, name, before="typedef", family=self.family)])
        self.bind("id", name, Named(name, record, "id", name))
        self.bind_pending()

    def declare_alias(self) -> None:
        """Draw `typedef int T;`, also of arrays and pointers, with alignments and modes."""
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
        low = (
            self.pick((0, 0, 0, -1, 1, -128, 40))
            if attribute
            else self.pick((0, 0, -1, -5, 100, 2**31, 2**32 + 1))
        )
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
        named = Named(
            f"enum {tag}", Integer(f"enum {tag}", 8 if attribute or base else 31, False), "tag", tag
        )
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
        """Draw a text that defines several types: a macro or header with a parameter, used repeatedly."""
        parameter = Named("PARAMETER", self.integers["int"])
        shape = self.record(hole=parameter)
        number = self.number("template")
        types: list[Type] = [self.pick([*self.integers.values()]) for _ in range(self.random.randint(2, 3))]
        if self.chance(0.4) and self.types():
            types[-1] = self._unaligned(self.pick(self.types()))
        with self.as_family("templates"):
            part = declaration(shape, "NAME", before="typedef", family=self.family)
            by_header = self.chance(0.4)
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
        inner = stripped(type)
        usable = not overaligned(type) and self.spelled(type) and not isinstance(inner, Array)
        return type if usable else self.integers["short"]

    # -- packing

    def change_packing(self) -> None:
        """Draw a pragma that changes, or seems to change, how later records are packed."""
        with self.as_family("packing"):
            amount = self.pick((1, 2, 4, 8, 16))
            shown = self.pick((str(amount), str(amount), hex(amount), f"0{amount:o}"))
            pragma = self.pick(
                (f"pack(push, {shown})", f"pack({shown})", "pack()", "pack(pop)", f"pack(push, r, {shown})")
            )
            number = self.number("packing")
            match self.random.randrange(13):
                case 8:
                    self.say(f"#pragma options align={self.pick(('packed', 'natural', 'reset'))}")
                case 9:
                    self.say(f"#pragma ms_struct {self.pick(('on', 'off', 'reset'))}")
                case 10:
                    self.say(f'static const char *unused{number} = "\\n#pragma {pragma}\\n";')
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

    # -- objects

    def declare_object(self) -> Variable | None:
        """Draw a variable with an initialiser, of a named type or of a record defined in its declaration."""
        type = self._object_type()
        if contains(type, Floating):
            self.pending.clear()
            return None
        name = self.new("id", VARIABLES)
        storage = self.weighted(
            [(4, ""), (1, "static"), (1, "_Alignas(64)"), (0.5, "const"), (0.5, "volatile")]
        )
        static = self.at_file_scope or storage == "static"
        end = ";" if static and self.chance(0.3) else f" = {self.initialiser(type)};"
        if storage == "const" or is_const(type):
            end = f" = {self.initialiser(type)};"
        with self.as_family("objects"):
            self.place([declaration(type, name, before=storage, end=end, family=self.family)])
        variable = Variable(name, type, storage == "const", external=self.at_file_scope and not storage)
        self.bind("id", name, variable)
        self.bind_pending()
        return variable

    def _object_type(self) -> Type:
        dice = self.random.random()
        if dice < 0.2:
            return self._inline(self.record(tags=True))
        if dice < 0.35:
            variables = self.variables(lambda v: not v.const and not overaligned(v.type))
            if variables:
                chosen = self.pick(variables)
                word = self.pick(("__typeof__", "typeof", "__typeof"))
                inside = [
                    leaf for leaf in leaves(chosen.type, chosen.name) if leaf.integer and leaf.width is None
                ]
                inside = [leaf for leaf in inside if not leaf.const and not overaligned(leaf.type)]
                if inside and self.chance(0.4):
                    leaf = self.pick(inside)
                    path = self.pick((leaf.path, f"*&{leaf.path}", f"({leaf.path})"))
                    return Named(f"{word}({path})", leaf.type, "once", chosen.name)
                return Named(f"{word}({chosen.name})", chosen.type, "once", chosen.name)
        if dice < 0.6 and self.records():
            record: Type = self.pick(self.records())
            return (
                Array(record, self.random.randint(1, 3))
                if self.chance(0.3) and not overaligned(record)
                else record
            )
        return self.complete()

    def _inline(self, record: Record) -> Type:
        return Array(record, self.random.randint(1, 3)) if self.chance(0.2) else record

    def declare_group(self) -> None:
        """Draw several objects whose unnamed types come from one macro."""
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
    """Return the words in the text of a declaration."""
    return set(re.findall(r"\w+", flat(part)))


def filled(record: Record, type: Type) -> Record:
    """Return the record with a type for its parameter."""

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

    members: Sequence[Member] = [replace(member, type=inside(member.type)) for member in record.members]
    return Record(record.kind, tuple(members), record.attributes, record.after)
