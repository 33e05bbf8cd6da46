"""The symbols of a relocatable ELF file, as a compiler writes it for 32 or 64 bits, little-endian."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from certus.core.errors import CertusError

_MAGIC: Final = b"\x7fELF"
_SYMBOL_TABLE: Final = 2  # a section's type
_FUNCTION: Final = 2  # a symbol's type
# By class: where the header tells of the sections, a section header, a symbol (named by `_Symbol`'s order).
_SECTIONS: Final = {1: (0x20, "<I", 0x2E), 2: (0x28, "<Q", 0x3A)}
_SECTION: Final = {1: struct.Struct("<IIIIIIIIII"), 2: struct.Struct("<IIQQQQIIQQ")}
_SYMBOL: Final = {1: struct.Struct("<IIIBBH"), 2: struct.Struct("<IBBHQQ")}


class NotAnObject(CertusError):
    """The bytes are no relocatable ELF file."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names in the order of the table: `functions` that are defined, static ones too, and what is
    `undefined`."""

    functions: tuple[str, ...]
    undefined: tuple[str, ...]


def symbols(data: bytes) -> Symbols:
    """The symbols of an object file; raises `NotAnObject`."""
    try:
        return _symbols(data)
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise NotAnObject(f"not a usable object file: {error}") from error


def _symbols(data: bytes) -> Symbols:
    if data[:4] != _MAGIC:
        raise NotAnObject("not an object file")
    size = data[4]
    offset_at, offset_form, count_at = _SECTIONS[size]
    (offset,) = struct.unpack_from(offset_form, data, offset_at)
    length, count = struct.unpack_from("<HH", data, count_at)
    sections = [_SECTION[size].unpack_from(data, offset + i * length) for i in range(count)]
    functions: dict[str, None] = {}
    undefined: dict[str, None] = {}
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        start, extent, link, entry = section[4], section[5], section[6], section[9]
        names = data[sections[link][4] :][: sections[link][5]]
        for at in range(start + entry, start + extent, entry):  # the first symbol is none
            found = _SYMBOL[size].unpack_from(data, at)
            kind, where = (found[3], found[5]) if size == 1 else (found[1], found[3])
            name = names[found[0] : names.index(b"\0", found[0])].decode("utf-8", "replace")
            if name and where == 0:
                undefined[name] = None
            elif name and kind & 15 == _FUNCTION:
                functions[name] = None
    return Symbols(tuple(functions), tuple(undefined))
