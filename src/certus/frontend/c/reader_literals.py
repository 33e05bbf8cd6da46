"""String literals as Clang prints them: escapes, prefixes, and the bytes they stand for."""

from __future__ import annotations

import re
from typing import Final

_UNIT: Final = re.compile(
    r'""|\\([0-7]{1,3})|\\x([0-9A-Fa-f]+)|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\(.)|([^\\])', re.DOTALL
)
_ESCAPES: Final = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27}


def literal_bytes(printed: str, width: int, length: int) -> bytes:
    """The `length` elements of `width` bytes each that a printed literal initialises, zeros at the end."""
    units: list[int] = []
    body = printed[printed.index('"') + 1 : printed.rindex('"')]
    for octal, hexadecimal, short, long, escaped, plain in _UNIT.findall(body):
        if octal:
            units.append(int(octal, 8))
        elif hexadecimal:
            units.append(int(hexadecimal, 16))
        elif short or long:
            units += _encoded(chr(int(short or long, 16)), width)
        elif escaped:
            units.append(_ESCAPES.get(escaped, ord(escaped)))
        elif plain:
            units += _encoded(plain, width)
    data = b"".join((unit & ((1 << (8 * width)) - 1)).to_bytes(width, "little") for unit in units)
    return data[: length * width].ljust(length * width, b"\0")


def _encoded(character: str, width: int) -> list[int]:
    """The code units of a character in UTF-8, UTF-16 or UTF-32."""
    if width == 1:
        return list(character.encode("utf-8", errors="replace"))
    if width == 2:
        data = character.encode("utf-16-le", errors="surrogatepass")
        return [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]
    return [ord(character)]
