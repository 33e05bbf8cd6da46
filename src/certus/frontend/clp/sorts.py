"""Infer the sorts of variables and relations from their uses.

Every use of a variable, of an argument and of an operator is an equation between sorts, solved by
unification. What stays open is `Int`. An equation that contradicts another one is left out: elaboration then
reports the term, at its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core.terms import BOOL, INT, REAL, ArraySort, Sort, array


class Open:
    """A sort that is not known yet, or that equals another one."""

    __slots__ = ("equal",)

    def __init__(self) -> None:
        self.equal: Type | None = None


class ArrayType:
    """An array whose index and elements may have open sorts."""

    __slots__ = ("element", "index")

    def __init__(self, index: Type, element: Type) -> None:
        self.index: Final = index
        self.element: Final = element


Type = Sort | Open | ArrayType
_DEPTH: Final = 50  # most nested arrays


def resolve(type: Type) -> Type:
    """Follow the equations of an open sort."""
    while isinstance(type, Open) and type.equal is not None:
        type = type.equal
    return type


def unify(one: Type, other: Type, depth: int = 0) -> None:
    """Make two sorts equal as far as possible."""
    one, other = resolve(one), resolve(other)
    if one is other or depth > _DEPTH:
        return
    if isinstance(one, Open):
        one.equal = other
    elif isinstance(other, Open):
        other.equal = one
    else:
        first, second = _parts(one), _parts(other)
        if first is not None and second is not None:
            unify(first.index, second.index, depth + 1)
            unify(first.element, second.element, depth + 1)


def _parts(type: Type) -> ArrayType | None:
    if isinstance(type, ArraySort):
        return ArrayType(type.index, type.element)
    return type if isinstance(type, ArrayType) else None


def sort_of(type: Type, depth: int = 0) -> Sort:
    """Return the sort, with `Int` for all that is open."""
    type = resolve(type)
    if isinstance(type, Open) or depth > _DEPTH:
        return INT
    if isinstance(type, ArrayType):
        return array(sort_of(type.index, depth + 1), sort_of(type.element, depth + 1))
    return type


_EQUAL: Final = ("=", "distinct", "<", "<=", ">", ">=")
_NUMBERS: Final = ("+", "-", "*")
_BOOLEAN: Final = ("and", "or", "not", "=>", "implies", "xor", "iff")
_ORDERS: Final = tuple(f"bv{sign}{order}" for sign in "us" for order in ("lt", "le", "gt", "ge"))
_INTEGERS: Final = ("div", "mod", "abs")
_FROM_BITS: Final = ("bv2nat", "ubv_to_int", "bv2int", "sbv_to_int")


def apply_operator(name: str, arguments: Sequence[Type]) -> Type:
    """Return the sort of an operator's result, after adding the equations that its arguments satisfy."""
    result: Type = Open()
    if name in _BOOLEAN:
        _all(arguments, BOOL)
        return BOOL
    if name in _EQUAL or name in _ORDERS:
        _all(arguments, Open())
        return BOOL
    if name in _INTEGERS:
        _all(arguments, INT)
        return INT
    if name in _FROM_BITS or name == "to_int":
        return INT
    if name == "is_int":
        return BOOL
    if name in ("/", "to_real"):
        if name == "/":
            _all(arguments, REAL)
        return REAL
    if name in _NUMBERS or (name.startswith("bv") and name != "bvcomp"):
        _all(arguments, result)
    elif name == "ite" and len(arguments) == 3:
        unify(arguments[0], BOOL)
        _all(arguments[1:], result)
    elif name == "select" and len(arguments) == 2:
        unify(arguments[0], ArrayType(arguments[1], result))
    elif name == "store" and len(arguments) == 3:
        unify(arguments[0], ArrayType(arguments[1], arguments[2]))
        return arguments[0]
    return result


def _all(types: Sequence[Type], type: Type) -> None:
    for each in types:
        unify(each, type)
