"""SMT-LIB's operators have SMT-LIB's meaning, also where ours leave a value open: z3 says what that is."""

from __future__ import annotations

import pytest

from certus.core.accounting import Budget
from certus.core.values import evaluate
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source

VALUES = (0, 1, 2, 3, 7, 8, 9, 15)

BITS = {
    "bvudiv": lambda a, b: a // b if b else 15,
    "bvurem": lambda a, b: a % b if b else a,
    "bvsdiv": lambda a, b: _sdiv(_signed(a), _signed(b)) % 16 if b else (1 if a > 7 else 15),
    "bvsrem": lambda a, b: (_signed(a) - _signed(b) * _sdiv(_signed(a), _signed(b))) % 16 if b else a,
    "bvsmod": lambda a, b: _signed(a) % _signed(b) % 16 if b else a,
    "bvshl": lambda a, b: (a << b) % 16,
    "bvlshr": lambda a, b: a >> b,
    "bvashr": lambda a, b: (_signed(a) >> b) % 16,
    "bvsub": lambda a, b: (a - b) % 16,
    "bvnand": lambda a, b: ~(a & b) % 16,
    "bvxnor": lambda a, b: ~(a ^ b) % 16,
    "bvcomp": lambda a, b: int(a == b),
    "concat": lambda a, b: a * 16 + b,
    "(_ extract 2 1)": lambda a, _: (a >> 1) % 4,
    "(_ sign_extend 4)": lambda a, _: _signed(a) % 256,
    "(_ zero_extend 4)": lambda a, _: a,
    "(_ rotate_left 5)": lambda a, _: (a << 1 | a >> 3) % 16,
    "(_ rotate_right 1)": lambda a, _: (a >> 1 | a << 3) % 16,
    "(_ repeat 2)": lambda a, _: a * 17,
    "bv2nat": lambda a, _: a,
    "sbv_to_int": lambda a, _: _signed(a),
}


def _signed(a: int) -> int:
    return a - 16 if a > 7 else a


def _sdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def value(term: str, sort: str) -> object:
    """The value of a closed term, which an assertion compares with a variable."""
    text = f"(declare-fun P ({sort}) Bool)(assert (P {term}))"
    (clause,) = load_chc(Source(f"{text}\n(check-sat)", "test.smt2"), Budget(60)).clauses
    assert clause.head is not None
    return evaluate(clause.head.args[0], {})


@pytest.mark.parametrize("name", BITS)
def test_bit_vectors(name: str) -> None:
    widths = {"bvcomp": 1, "concat": 8, "(_ extract 2 1)": 2, "(_ sign_extend 4)": 8, "(_ zero_extend 4)": 8}
    sort = f"(_ BitVec {widths.get(name, 8 if 'repeat' in name else 4)})"
    if name in ("bv2nat", "sbv_to_int"):
        sort = "Int"
    unary = name.startswith("(_") or sort == "Int"
    for a in VALUES:
        for b in VALUES[:1] if unary else VALUES:
            arguments = f"#x{a:x}" if unary else f"#x{a:x} (_ bv{b} 4)"
            assert value(f"({name} {arguments})", sort) == BITS[name](a, b), (name, a, b)


@pytest.mark.parametrize(
    ("term", "sort", "expected"),
    [
        ("(- 5)", "Int", -5),
        ("(- 9 2 3)", "Int", 4),
        ("(div (- 7) 2)", "Int", -4),
        ("(mod (- 7) 2)", "Int", 1),
        ("(abs (- 7))", "Int", 7),
        ("(to_int 2.5)", "Int", 2),
        ("(ite (is_int 2.5) 1 0)", "Int", 0),
        ("(select (store ((as const (Array Int Int)) 4) 1 5) 2)", "Int", 4),
        ("((_ int2bv 4) 18)", "(_ BitVec 4)", 2),
        ("(xor true true true)", "Bool", True),
        ("(=> true false true)", "Bool", True),
        ("(< 1 2 2)", "Bool", False),
        ("(bvslt #xf #x0)", "Bool", True),
        ("(bvult #xf #x0)", "Bool", False),
        ("#b101", "(_ BitVec 3)", 5),
    ],
)
def test_other_operators(term: str, sort: str, expected: object) -> None:
    assert value(term, sort) == expected
