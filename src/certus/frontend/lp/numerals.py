"""Decimal numerals of any length: Python's own conversions refuse more than a few thousand digits."""

from __future__ import annotations

from typing import Final

_CHUNK: Final = 4000  # digits that Python converts by itself


def read_numeral(digits: str) -> int:
    """The number a string of decimal digits stands for."""
    if len(digits) <= _CHUNK:
        return int(digits)
    first = len(digits) % _CHUNK
    parts = [int(digits[:first] or "0")]
    parts += [int(digits[at : at + _CHUNK]) for at in range(first, len(digits), _CHUNK)]
    width = _CHUNK
    while len(parts) > 1:  # join neighbours; all but the first stand for `width` digits
        base = 10**width
        odd = len(parts) % 2
        parts = parts[:odd] + [parts[i] * base + parts[i + 1] for i in range(odd, len(parts), 2)]
        width *= 2
    return parts[0]


def numeral(value: int) -> str:
    """The decimal digits of a number that is not negative."""
    if value < 10**_CHUNK:
        return str(value)
    width = _CHUNK
    while 10 ** (2 * width) <= value:
        width *= 2
    parts = [value]
    while width >= _CHUNK:  # split every part into two of `width` digits
        base = 10**width
        parts = [half for part in parts for half in divmod(part, base)]
        width //= 2
    return "".join(str(part).zfill(_CHUNK) for part in parts).lstrip("0")
