"""Draw constants in their spellings, and initialisers with or without braces and designators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.fuzz.corners.c_types import (
    Array,
    Floating,
    Integer,
    Pointer,
    Record,
    Type,
    fits,
    leaves,
    stripped,
)
from certus.fuzz.corners.records import Typing

NUMBERS: Final = (0, 1, 2, 3, 5, 7, 127, 128, 200, 255, 256, 300, 32767, 40000, 65535, 65536, 70000)
LARGE: Final = (2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**33 + 5, 2**62, 2**63 - 1, 0x1234567890ABCDEF)


@dataclass(slots=True)
class Initialising(Typing):
    """Draws initialisers."""

    def number_text(self, type: Integer, width: int | None = None) -> str:
        """Draw a constant that fits the type, or nearly fits."""
        value = self.pick(NUMBERS if self.chance(0.7) else LARGE)
        value = -value if self.chance(0.2) else value
        if type.spelling.startswith("enum"):
            return str(value % 8)
        if type.spelling == "_Bool":
            return str(value % 2)
        value = fits(value, type, width) if self.chance(0.85) else value
        return self.literal(value)

    def literal(self, value: int) -> str:
        """Draw a spelling of a number of at most 64 bits."""
        size = abs(value) % (1 << 63)
        digits = self.weighted([(5, str(size)), (2, hex(size)), (1, f"0{size:o}" if size else "0")])
        suffix = self.weighted([(5, ""), (1, "u"), (1, "L"), (1, "UL"), (1, "ll"), (1, "uLL")])
        if size < 128 and self.chance(0.1):
            digits, suffix = self.pick((f"'\\{size:03o}'", f"'\\x{size:02x}'", f"L'\\{size:03o}'")), ""
        return f"(-{digits}{suffix})" if value < 0 else f"{digits}{suffix}"

    def initialiser(self, type: Type, width: int | None = None) -> str:
        """Draw an initialiser of constants, with or without braces and designators."""
        if isinstance(stripped(type), (Array, Record)) and self.chance(0.12):
            elided = self._elided(type)
            if elided is not None:
                return f"{{{elided}}}"
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

    def _elided(self, type: Type) -> str | None:
        """Draw the scalars of an aggregate without inner braces; None if it has no scalars, or unions."""
        match stripped(type):
            case Integer() as integer:
                return self.number_text(integer)
            case Array(element, length) if length:
                scalars = [self._elided(element) for _ in range(length)]
            case Record(kind="struct", members=parts) if parts:
                scalars = [self._elided(m.type) for m in parts if m.name is not None or m.width is None]
            case _:
                return None
        return None if None in scalars or not scalars else ", ".join(filter(None, scalars))

    def _array_initialiser(self, element: Type, length: int) -> str:
        inner = stripped(element)
        if (
            isinstance(inner, Integer)
            and inner.spelling in ("char", "unsigned char", "signed char")
            and self.chance(0.3)
        ):
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
                elif isinstance(inner, Record) and self.chance(0.4):
                    deep = [
                        leaf for leaf in leaves(inner, f".{member.name}") if leaf.integer and not leaf.union
                    ]
                    items += [
                        f"{leaf.path} = {self.initialiser(leaf.type, leaf.width)}"
                        for leaf in self.random.sample(deep, min(2, len(deep)))
                    ]
                else:
                    items.append(f".{member.name} = {value}")
        else:
            for member in usable[: self.random.randint(0, len(usable))]:
                items.append(self.initialiser(member.type, member.width))
        return "{" + ", ".join(items) + "}"
