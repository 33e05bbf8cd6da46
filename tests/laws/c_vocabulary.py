"""Parts of random C programs: types, literals, variables in scope, and text with indentation."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

NARROW = {
    "_Bool": "bool",
    "char": "char",
    "signed char": "schar",
    "unsigned char": "uchar",
    "short": "short",
    "unsigned short": "ushort",
    "int": "int",
    "unsigned int": "uint",
    "long": "long",
    "unsigned long": "ulong",
    "long long": "longlong",
    "unsigned long long": "ulonglong",
}
WIDE = ("__int128", "unsigned __int128")  # only where pointers have 64 bits
BITS = {
    **{"_Bool": 1, "char": 8, "signed char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16},
    **{"int": 32, "unsigned int": 32, "long": 32, "unsigned long": 32},
    **{"long long": 64, "unsigned long long": 64, "__int128": 128, "unsigned __int128": 128},
}  # the least number of bits in any data model
LITERALS = (
    *("0", "1", "2", "3", "5", "7", "-1", "-2", "-7", "100", "127", "128", "-128", "255", "256", "32767"),
    *("0x8000", "65535", "0x7fffffff", "0x80000000", "4294967295", "0xffffffffU", "-2147483647 - 1"),
    *("0x7fffffffffffffffLL", "0x8000000000000000ULL", "1L", "3UL", "-1LL", "12345678901LL", "10U", "1ULL"),
    *("'a'", "'\\xff'", "'\\0'", "sizeof(int)", "sizeof(long)", "010", "0xabcdefU"),
)
PREAMBLE = """\
#ifdef COMPILED
void observe(unsigned long long value);
#else
void observe(unsigned long long value) { }
#endif
void reach_error(void);
void abort(void);
void __VERIFIER_assume(int holds);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ size);
void *memmove(void *to, const void *from, __SIZE_TYPE__ size);
void *memset(void *to, int value, __SIZE_TYPE__ size);
int memcmp(const void *one, const void *other, __SIZE_TYPE__ size);
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Something to read and assign; `@n` in its text is an index below n."""

    text: str
    type: str
    is_field: bool = False  # a bit-field


@dataclass(slots=True)
class Scope:
    """The variables and functions that the expressions of a function may use."""

    places: list[Place]
    frozen: list[str]  # what no effect within an expression changes
    calls: list[tuple[str, int]]  # functions, and how many integer parameters they have
    conditions: list[str] = field(default_factory=list)  # about pointers
    loops: int = 0
    labels: int = 0

    def inner(self) -> Scope:
        return Scope(
            list(self.places),
            list(self.frozen),
            self.calls,
            list(self.conditions),
            self.loops,
            self.labels,
        )


class Writer:
    """Text of one program, all of whose names carry its number. A portable program does not depend on the
    types of bit-fields."""

    def __init__(self, random: Random, number: int, *, wide: bool, portable: bool) -> None:
        self.random = random
        self.number = number
        self.portable = portable
        self.types = (*NARROW, *WIDE) if wide else tuple(NARROW)
        self.lines: list[str] = []
        self.depth = 0
        self.names = 0

    def chance(self, likely: float) -> bool:
        return self.random.random() < likely

    def type(self) -> str:
        return self.random.choice(self.types)

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.number}_{self.names}"

    def say(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def literal(self) -> str:
        return f"({self.random.choice((*LITERALS, f'A_{self.number}', f'B_{self.number}'))})"
