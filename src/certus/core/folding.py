"""Python's integers: division and bitwise operations as C and SMT-LIB define them, and decimal text."""

from __future__ import annotations

from typing import Final

from certus.core.terms import Kind


def truncating_quotient(a: int, b: int) -> int:
    """C's `/` on mathematical integers."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def euclidean(a: int, b: int) -> tuple[int, int]:
    """SMT-LIB's (div, mod): the remainder is never negative."""
    remainder = a % abs(b)
    return (a - remainder) // b, remainder


def fold_division(kind: Kind, a: int, b: int) -> int:
    """The value of a division of `kind` by `b`, which is not zero."""
    if kind is Kind.QUOT:
        return truncating_quotient(a, b)
    if kind is Kind.REM:
        return a - b * truncating_quotient(a, b)
    return euclidean(a, b)[0 if kind is Kind.DIV else 1]


def fold_bits(kind: Kind, a: int, b: int) -> int:
    """Bitwise `kind` of two integers in (unbounded) two's complement."""
    if kind is Kind.BIT_AND:
        return a & b
    return a | b if kind is Kind.BIT_OR else a ^ b


def decimal(value: int) -> str:
    """Decimal digits of an integer of any size; `str` refuses those of more than some thousand digits."""
    if value.bit_length() < 10_000:
        return str(value)
    rest, chunks = abs(value), []
    while rest:
        rest, low = divmod(rest, _CHUNK)
        chunks.append(f"{low:03000d}")
    digits = "".join(reversed(chunks)).lstrip("0")
    return digits if value > 0 else f"-{digits}"


_CHUNK: Final = 10**3000
