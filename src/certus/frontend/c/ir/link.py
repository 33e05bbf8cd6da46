"""Link the IR of several files into the IR of one program, by the rules of ELF linkers and of C.

| what files say about one external name | which counts |
|---|---|
| one definition | it, for all files |
| two definitions | none: `Clash` |
| a definition and weak ones, or common ones | the definition |
| common definitions, perhaps weak ones | the common one with the largest alignment |
| weak definitions | the first, in the order of the files |
| an `inline` definition and an external one | the external one; both have to be the same text |
| only `inline` definitions | the first; all have to be the same text |
| only declarations | nobody defines it; 0 is its address if all declarations are weak |

Names that are internal to a file (`static`, literals) are renamed where another file has the name. Linkers do
not compare types. In C it is undefined behaviour if they differ, so `Clash` is raised if the IR types do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from certus.frontend.c.ir.join import Changes, Linked, join
from certus.frontend.c.ir.module import Alias, Function, GlobalVariable, Module
from certus.frontend.c.ir.operands import Symbol
from certus.frontend.c.ir.types import (
    ArrayType,
    FloatType,
    FunctionType,
    IntegerType,
    StructType,
    Type,
    VectorType,
)

_INTERNAL: Final = frozenset(("internal", "private"))

Definition = Function | GlobalVariable | Alias


class Strength(IntEnum):
    """What a file says about a symbol: of two, the linker takes the higher one."""

    DECLARED_WEAK = 0
    DECLARED = 1
    INLINE = 2
    WEAK = 3
    COMMON = 4
    DEFINED = 5


@dataclass(frozen=True, slots=True)
class Mention:
    """What one file, by its number, says about an external name."""

    unit: int
    symbol: Definition
    strength: Strength


class Clash(Exception):
    """What two files say about a name does not fit. `code` tells how: `defined-twice`, `declared-otherwise`,
    `inline-otherwise`. The first mention is the one that counts."""

    def __init__(self, code: str, name: str, first: Mention, second: Mention) -> None:
        super().__init__(f"{code}: {name}")
        self.code: Final = code
        self.name: Final = name
        self.first: Final = first
        self.second: Final = second


def link(texts: Sequence[str], modules: Sequence[Module], kept: Iterable[str] = ()) -> Linked:
    """Link files; `modules` are their texts, read. Internal functions of a name in `kept` mean the same in
    all files, whatever their bodies are, and keep the name. Raises `Clash`."""
    changes = [Changes() for _ in modules]
    taken = {name for module in modules for name in _names(module)}
    external: dict[str, list[Mention]] = {}
    internal: dict[str, list[int]] = {}
    fixed = frozenset(kept)
    for unit, module in enumerate(modules):
        for symbol in _symbols(module):
            if symbol.linkage in _INTERNAL and symbol.name not in fixed:
                internal.setdefault(symbol.name, []).append(unit)
            elif symbol.linkage != "appending":
                external.setdefault(symbol.name, []).append(Mention(unit, symbol, _strength(symbol)))
    for name, mentions in external.items():
        if not name.startswith("llvm."):
            _choose(name, mentions, modules, changes, taken)
        else:
            for mention in mentions[1:]:
                changes[mention.unit].dropped.add(name)
    for name, units in internal.items():
        for unit in units if name in external else units[1:]:
            changes[unit].symbols[name] = _fresh(f"{name}${unit + 1}", taken)
    return join(texts, changes)


def _names(module: Module) -> Iterator[str]:
    for table in (module.globals, module.functions, module.aliases):
        yield from table


def _symbols(module: Module) -> Iterator[Definition]:
    yield from module.globals.values()
    yield from module.functions.values()
    yield from module.aliases.values()


def _fresh(name: str, taken: set[str]) -> str:
    wanted, number = name, 1
    while wanted in taken:
        number += 1
        wanted = f"{name}.{number}"
    taken.add(wanted)
    return wanted


def _strength(symbol: Definition) -> Strength:
    if not isinstance(symbol, Alias) and not _is_defined(symbol):
        return Strength.DECLARED_WEAK if symbol.linkage == "extern_weak" else Strength.DECLARED
    if symbol.linkage == "available_externally":
        return Strength.INLINE
    if symbol.linkage == "common":
        return Strength.COMMON
    weak = symbol.linkage in _INTERNAL or symbol.linkage.startswith(("weak", "linkonce"))
    return Strength.WEAK if weak else Strength.DEFINED


def _is_defined(symbol: Function | GlobalVariable) -> bool:
    return symbol.defined if isinstance(symbol, Function) else symbol.initialiser is not None


# --------------------------------------------------------------------------------------------- symbols


def _choose(
    name: str, mentions: list[Mention], modules: Sequence[Module], changes: list[Changes], taken: set[str]
) -> None:
    """Choose the mention of a symbol that counts, and drop the others."""
    chosen = max(mentions, key=_rank)
    for other in mentions:
        if other is chosen:
            continue
        if chosen.strength is other.strength is Strength.DEFINED:
            raise Clash("defined-twice", name, chosen, other)
        if not _fits(modules, chosen, other):
            raise Clash("declared-otherwise", name, chosen, other)
        if other.strength is Strength.INLINE and _place(modules, chosen) != _place(modules, other):
            raise Clash("inline-otherwise", name, chosen, other)
        change = changes[other.unit]
        if any(_is_target(alias, name) for alias in modules[other.unit].aliases.values()):
            change.aside[name] = _fresh(f"{name}${other.unit + 1}", taken)
        else:
            change.dropped.add(name)


def _rank(mention: Mention) -> tuple[int, int]:
    """Of declarations, one with a prototype says more; of common variables, the alignment is the largest."""
    symbol, second = mention.symbol, 0
    if isinstance(symbol, Function) and mention.strength is Strength.DECLARED:
        second = int(not _is_unprototyped(symbol))
    elif isinstance(symbol, GlobalVariable) and mention.strength is Strength.COMMON:
        second = symbol.align
    return mention.strength, second


def _is_target(alias: Alias, name: str) -> bool:
    return isinstance(alias.target, Symbol) and alias.target.name == name


def _place(modules: Sequence[Module], mention: Mention) -> tuple[str, int]:
    """Return file and line of a function."""
    debug, symbol = modules[mention.unit].debug, mention.symbol
    number = None if isinstance(symbol, Alias) else symbol.debug
    return ("", 0) if number is None else (debug.file(number), debug.node(number).number("line"))


# ----------------------------------------------------------------------------------------------- types


def _fits(modules: Sequence[Module], first: Mention, second: Mention) -> bool:
    """Whether two mentions agree on the type, as far as compiled code depends on it."""
    one, other = (_aliased(modules[each.unit], each.symbol) for each in (first, second))
    if one is None or other is None:
        return True  # an alias of what is no symbol
    if isinstance(one, Function) and isinstance(other, Function):
        return _same_function(one, other)
    if isinstance(one, GlobalVariable) and isinstance(other, GlobalVariable):
        return one.thread_local == other.thread_local and _same_object(one.type, other.type)
    return False


def _aliased(module: Module, symbol: Definition) -> Function | GlobalVariable | None:
    for _ in range(100):
        if not isinstance(symbol, Alias):
            return symbol
        name = symbol.target.name if isinstance(symbol.target, Symbol) else ""
        found = module.functions.get(name) or module.globals.get(name) or module.aliases.get(name)
        if found is None:
            return None
        symbol = found
    return None


def _is_unprototyped(function: Function) -> bool:
    """Whether a declaration like `int f();` says nothing of the parameters."""
    return function.type.variadic and all(p.passing.sret is not None for p in function.parameters)


def _same_function(one: Function, other: Function) -> bool:
    if not same_type(one.type.result, other.type.result):
        return False
    if _is_unprototyped(one) or _is_unprototyped(other):
        return True
    if one.type.variadic != other.type.variadic or len(one.parameters) != len(other.parameters):
        return False
    for a, b in zip(one.parameters, other.parameters, strict=True):
        for x, y in ((a.type, b.type), (a.passing.byval, b.passing.byval), (a.passing.sret, b.passing.sret)):
            if (x is None) != (y is None) or (x is not None and y is not None and not same_type(x, y)):
                return False
    return True


def _same_object(one: Type, other: Type) -> bool:
    """Whether two types of a variable agree; an array may be declared without its length."""
    if isinstance(one, ArrayType) and isinstance(other, ArrayType) and 0 in (one.count, other.count):
        return same_type(one.element, other.element)
    return same_type(one, other)


def same_type(one: Type, other: Type) -> bool:
    """Whether types of two modules are the same but for the names of structures; one may be unknown."""
    stack = [(one, other)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, IntegerType | FloatType):
            if a.text != b.text:
                return False
        elif isinstance(a, ArrayType | VectorType) and isinstance(b, ArrayType | VectorType):
            if a.count != b.count:
                return False
            stack.append((a.element, b.element))
        elif isinstance(a, StructType) and isinstance(b, StructType):
            if a.opaque or b.opaque:
                continue
            if a.packed != b.packed or len(a.fields) != len(b.fields):
                return False
            stack += zip(a.fields, b.fields, strict=True)
        elif isinstance(a, FunctionType) and isinstance(b, FunctionType):
            if a.variadic != b.variadic or len(a.parameters) != len(b.parameters):
                return False
            stack += [(a.result, b.result), *zip(a.parameters, b.parameters, strict=True)]
    return True
