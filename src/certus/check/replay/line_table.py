"""Find the source lines of addresses in an executable, from its line tables (DWARF 4).

A line table is a program for a machine with a few registers, which appends one row after another: an address
with a file and a line. Code without a table has no lines.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

# By class: the position of the section table in the header, and of its numbers; the layout of its entries.
_TABLE_AT: Final = {1: (0x20, "<I", 0x2E), 2: (0x28, "<Q", 0x3A)}
_SECTION: Final = {1: struct.Struct("<IIIIIIIIII"), 2: struct.Struct("<IIQQQQIIQQ")}
_VERSION: Final = 4


class Line(NamedTuple):
    """A line of a source file."""

    file: str
    line: int


class LineTable:
    """The lines of an executable; `data` is its content. An executable without line tables has no lines."""

    def __init__(self, data: bytes) -> None:
        rows: list[tuple[int, Line | None]] = []
        try:
            for unit in _units(_section(data, b".debug_line")):
                rows.extend(unit)
        except (struct.error, IndexError, KeyError, ValueError):
            rows = []
        rows.sort(key=lambda row: (row[0], row[1] is not None))  # a range may start where another ends
        self._addresses = [address for address, _ in rows]
        self._lines = [line for _, line in rows]

    def line(self, return_address: int) -> Line | None:
        """Return the line of the call that returns to this address; None if it is not known."""
        at = bisect_right(self._addresses, return_address - 1) - 1
        return self._lines[at] if at >= 0 else None


def _section(data: bytes, wanted: bytes) -> bytes:
    """Return the content of a section of an ELF file; empty if there is none."""
    if data[:4] != b"\x7fELF":
        return b""
    kind = data[4]
    offset_at, offset_form, count_at = _TABLE_AT[kind]
    (offset,) = struct.unpack_from(offset_form, data, offset_at)
    length, count, names = struct.unpack_from("<HHH", data, count_at)
    sections = [_SECTION[kind].unpack_from(data, offset + i * length) for i in range(count)]
    text = data[sections[names][4] :][: sections[names][5]]
    for section in sections:
        if text[section[0] : text.index(b"\0", section[0])] == wanted:
            return data[section[4] :][: section[5]]
    return b""


class _Reader:
    """A position in bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, size: int) -> int:
        self.at += size
        if self.at > len(self.data):
            raise ValueError("the line table ends early")
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        start = self.at
        value = self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def string(self) -> str:
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text.decode("utf-8", "surrogateescape")


def _units(table: bytes) -> Iterator[list[tuple[int, Line | None]]]:
    """Yield the rows of each unit: addresses with lines, None after the end of a range."""
    reader = _Reader(table)
    while reader.at < len(table):
        length = reader.number(4)
        if length >= 0xFFFFFFF0:
            raise ValueError("a line table of 64-bit DWARF")
        unit = _Reader(table[reader.at : reader.at + length])
        reader.at += length
        if unit.number(2) == _VERSION:
            yield _rows(unit)


def _rows(unit: _Reader) -> list[tuple[int, Line | None]]:
    header = unit.number(4)
    start = unit.at + header
    minimum = unit.number(1)
    unit.number(2)  # operations per instruction, and whether a row is a statement
    line_base = (unit.number(1) ^ 0x80) - 0x80
    line_range, first_special = unit.number(1), unit.number(1)
    operands = [unit.number(1) for _ in range(first_special - 1)]
    files = _files(unit)
    unit.at = start
    rows: list[tuple[int, Line | None]] = []
    address, file, line = 0, 1, 1

    def add_row() -> None:
        rows.append((address, Line(files[file], line) if 0 < file < len(files) and line else None))

    while unit.at < len(unit.data):
        code = unit.number(1)
        if code >= first_special:
            address += (code - first_special) // line_range * minimum
            line += line_base + (code - first_special) % line_range
            add_row()
        elif code == 0:
            size = unit.unsigned()
            end = unit.at + size
            extended = unit.number(1)
            if extended == 1:  # the range ends
                rows.append((address, None))
                address, file, line = 0, 1, 1
            elif extended == 2:
                address = unit.number(size - 1)
            unit.at = end
        elif code == 1:
            add_row()
        elif code == 2:
            address += unit.unsigned() * minimum
        elif code == 3:
            line += unit.signed()
        elif code == 4:
            file = unit.unsigned()
        elif code == 8:
            address += (255 - first_special) // line_range * minimum
        elif code == 9:
            address += unit.number(2)
        else:
            for _ in range(operands[code - 1]):
                unit.unsigned()
    return rows


def _files(unit: _Reader) -> list[str]:
    """Return the files of a unit by number; the first has the number 1."""
    directories = [""]
    while unit.data[unit.at]:
        directories.append(unit.string())
    unit.at += 1
    files = [""]
    while unit.data[unit.at]:
        name, directory = unit.string(), unit.unsigned()
        unit.unsigned(), unit.unsigned()  # time and size
        folder = directories[directory] if directory < len(directories) else ""
        files.append(name if name.startswith("/") or not folder else f"{folder}/{name}")
    return files
