"""The operators of constraint logic programs, and the SMT-LIB operators they denote.

Other operators of SMT-LIB are written as functions: `select(A, I)`, `bvadd(X, Y)`. Those with indices have
these as first arguments: `extract(7, 0, X)`; `bv(5, 32)` is a bit-vector, `const(array(int, int), 0)` a
constant array.
"""

from __future__ import annotations

from typing import Final

# Precedences, the weakest first. Comparisons do not chain; the others associate to the left.
IMPLIES, OR, AND, NOT, COMPARISON, SUM, PRODUCT, MINUS, ATOM = range(9)

BINARY: Final[dict[str, tuple[int, str]]] = {
    "=>": (IMPLIES, "=>"),
    ";": (OR, "or"),
    ",": (AND, "and"),
    ":": (COMPARISON, ":"),
    "=": (COMPARISON, "="),
    "\\=": (COMPARISON, "distinct"),
    "<": (COMPARISON, "<"),
    "=<": (COMPARISON, "<="),
    "<=": (COMPARISON, "<="),
    ">": (COMPARISON, ">"),
    ">=": (COMPARISON, ">="),
    "+": (SUM, "+"),
    "-": (SUM, "-"),
    "*": (PRODUCT, "*"),
    "/": (PRODUCT, "/"),
    "div": (PRODUCT, "div"),
    "mod": (PRODUCT, "mod"),
}
PREFIX: Final[dict[str, tuple[int, str]]] = {"\\+": (NOT, "not"), "-": (MINUS, "-")}

# How each operator of SMT-LIB is written; `=<` as in Prolog.
INFIX: Final[dict[str, tuple[int, str]]] = {
    smtlib: (precedence, sign) for sign, (precedence, smtlib) in BINARY.items() if sign != "<="
}
INDEXED: Final[dict[str, int]] = {  # operators with indices, and how many
    "extract": 2,
    "zero_extend": 1,
    "sign_extend": 1,
    "rotate_left": 1,
    "rotate_right": 1,
    "repeat": 1,
    "int2bv": 1,
    "int_to_bv": 1,
    "nat2bv": 1,
}
