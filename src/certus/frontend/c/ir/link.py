"""Link the IR of several files into the IR of one program, by the rules of ELF linkers and of C.

| mentions of an external name in the files | the one that counts |
|---|---|
| one definition | it, for all files |
| two definitions | none: `Clash` |
| a definition and weak or common ones | the definition |
| common definitions, perhaps weak ones | the common one with the largest alignment |
| weak definitions | the first, in the order of the files |
| an `inline` definition and an external one | the external one; both must be the same text |
| only `inline` definitions | the first; all must be the same text |
| only declarations | the name is undefined; its address is 0 if all declarations are weak |

Names that are internal to a file (`static`, literals) are renamed where another file has the same name.
Linkers do not compare types. In C the behaviour is undefined if they differ, so `Clash` is raised if the IR
types differ.

The texts are joined token by token, because each file has its own numbers of metadata and attributes and its
own names of structures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from certus.frontend.c.ir import types
from certus.frontend.c.ir.instructions import Symbol
from certus.frontend.c.ir.module import SYMBOL, Alias, Definition, Function, GlobalVariable, Module
from certus.frontend.c.ir.types import NotUnderstood, name_of, word_set

_INTERNAL: Final = word_set("internal private")
_WEAK: Final = word_set("weak weak_odr linkonce linkonce_odr internal private")


class Strength(IntEnum):
    """The strength of a mention of a symbol: of two, the linker takes the stronger."""

    DECLARED_WEAK = 0
    DECLARED = 1
    INLINE = 2
    WEAK = 3
    COMMON = 4
    DEFINED = 5


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an external name in one file, given by its number."""

    unit: int
    symbol: Definition
    strength: Strength


class Clash(Exception):
    """Two mentions of a name contradict each other. `code` is `defined-twice`, `declared-otherwise` or
    `inline-otherwise`. The first mention is the one that counts."""

    def __init__(self, code: str, name: str, first: Mention, second: Mention) -> None:
        super().__init__(f"{code}: {name}")
        self.code: Final = code
        self.name: Final = name
        self.first: Final = first
        self.second: Final = second


def link(texts: Sequence[str], modules: Sequence[Module], kept: Iterable[str] = ()) -> Linked:
    """Link files; `modules` are the modules of the texts. Internal functions with a name in `kept` mean the
    same in all files, whatever their bodies are, and keep the name. Raises `Clash`."""
    linking, fixed = _Linking(modules), frozenset(kept)
    external: dict[str, list[Mention]] = {}
    internal: dict[str, list[int]] = {}
    for unit, module in enumerate(modules):
        for symbol in _symbols(module):
            if symbol.linkage in _INTERNAL and symbol.name not in fixed:
                internal.setdefault(symbol.name, []).append(unit)
            elif symbol.linkage != "appending":
                external.setdefault(symbol.name, []).append(Mention(unit, symbol, _strength(symbol)))
    for name, mentions in external.items():
        linking.choose(name, mentions)
    for name, units in internal.items():
        for unit in units if name in external else units[1:]:
            linking.changes[unit].symbols[name] = linking.fresh(name, unit)
    joined = _Joined()
    for text, changes, structures in zip(texts, linking.changes, _renamed_structures(texts), strict=True):
        joined.add(text, changes, structures)
    return joined.finish()


def _symbols(module: Module) -> Iterator[Definition]:
    yield from module.globals.values()
    yield from module.functions.values()
    yield from module.aliases.values()


def _strength(symbol: Definition) -> Strength:
    if not symbol.defined:
        return Strength.DECLARED_WEAK if symbol.linkage == "extern_weak" else Strength.DECLARED
    if symbol.linkage == "available_externally":
        return Strength.INLINE
    if symbol.linkage == "common":
        return Strength.COMMON
    return Strength.WEAK if symbol.linkage in _WEAK else Strength.DEFINED


# --------------------------------------------------------------------------------------------- symbols


class _Linking:
    """The changes to the texts of the files that are decided so far."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.changes = [Changes() for _ in modules]
        self._modules = modules
        self._names = {symbol.name for module in modules for symbol in _symbols(module)}

    def fresh(self, name: str, unit: int) -> str:
        """Return a name that no file has, for a symbol of one file."""
        base = fresh = f"{name}${unit + 1}"
        number = 1
        while fresh in self._names:
            number += 1
            fresh = f"{base}.{number}"
        self._names.add(fresh)
        return fresh

    def choose(self, name: str, mentions: list[Mention]) -> None:
        """Choose the mention of a symbol that counts, and drop the others."""
        intrinsic = name.startswith("llvm.")
        chosen = mentions[0] if intrinsic else max(mentions, key=_rank)
        for other in mentions:
            if other is chosen:
                continue
            if not intrinsic:
                self._compare(name, chosen, other)
            aliases = self._modules[other.unit].aliases.values()
            if any(isinstance(alias.target, Symbol) and alias.target.name == name for alias in aliases):
                self.changes[other.unit].aside[name] = self.fresh(name, other.unit)
            else:
                self.changes[other.unit].dropped.add(name)

    def _compare(self, name: str, chosen: Mention, other: Mention) -> None:
        """Raise `Clash` if two mentions of a name contradict each other."""
        if chosen.strength is other.strength is Strength.DEFINED:
            raise Clash("defined-twice", name, chosen, other)
        module, second = self._modules[chosen.unit], self._modules[other.unit]
        if not _fits(_aliased(module, chosen.symbol), _aliased(second, other.symbol), module.layout):
            raise Clash("declared-otherwise", name, chosen, other)
        if other.strength is Strength.INLINE and not self._same_text(chosen, other):
            raise Clash("inline-otherwise", name, chosen, other)

    def _same_text(self, one: Mention, other: Mention) -> bool:
        """Return whether two definitions of a function have the same place and the same meaning: macros and
        types that a header uses may differ between the files."""
        if self._place(one) != self._place(other):
            return False
        (first, parts), (second, others) = self._body(one), self._body(other)
        return first == second and all(map(same_type, parts, others))

    def _body(self, mention: Mention) -> tuple[list[str], list[types.Type]]:
        """Return the text of a function and of all internal variables that it uses, without the numbers and
        names that each file has for itself, and the structures and types in their place."""
        module, function = self._modules[mention.unit], mention.symbol
        assert isinstance(function, Function)
        numbers: dict[str, int] = {}  # of the internal variables
        parts: list[types.Type] = []
        pending = list(function.lines or ())

        def token(match: re.Match[str]) -> str:
            name = name_of(match[0]) if match[1] else ""
            variable = module.globals.get(name) if match[1] == "@" else None
            if match[0].startswith(("%struct.", "%union.")):
                parts.append(module.types.structure(match[0]))
                return "%"
            if variable is None or variable.linkage not in _INTERNAL:
                return match[2] or match[0]
            if name not in numbers:
                numbers[name] = len(numbers)
                parts.append(variable.type)
                pending.append(" ".join(variable.initialiser or ()))
            return f"@{numbers[name]}"

        return [_TOKEN.sub(token, text) for text in pending], parts

    def _place(self, mention: Mention) -> tuple[str, int]:
        """Return file and line of a function."""
        number = mention.symbol.debug
        return ("", 0) if number is None else self._modules[mention.unit].debug.position(number)


def _rank(mention: Mention) -> tuple[int, int]:
    """Return the rank of a mention: a prototype beats a declaration without one, and a larger alignment a
    smaller one of a common variable."""
    symbol, second = mention.symbol, 0
    if isinstance(symbol, Function) and mention.strength is Strength.DECLARED:
        second = int(not _is_unprototyped(symbol))
    elif isinstance(symbol, GlobalVariable) and mention.strength is Strength.COMMON:
        second = symbol.align
    return mention.strength, second


def _aliased(module: Module, symbol: Definition | None) -> Definition | None:
    """Return the symbol that an alias stands for, perhaps through others; None if it is not a symbol."""
    for _ in range(100):
        if not isinstance(symbol, Alias):
            return symbol
        name = symbol.target.name if isinstance(symbol.target, Symbol) else ""
        symbol = module.functions.get(name) or module.globals.get(name) or module.aliases.get(name)
    return None


# ----------------------------------------------------------------------------------------------- types


def _fits(one: Definition | None, other: Definition | None, layout: types.Layout) -> bool:
    """Return whether two symbols agree on the type, as far as compiled code depends on it."""
    if one is None or other is None:
        return True  # an alias of what is no symbol
    if isinstance(one, Function) and isinstance(other, Function):
        return _same_function(one, other)
    if isinstance(one, GlobalVariable) and isinstance(other, GlobalVariable):
        return one.thread_local == other.thread_local and _same_object(one.type, other.type, layout)
    return False


def _is_unprototyped(function: Function) -> bool:
    """Return whether a declaration like `int f();` leaves the parameters open."""
    return function.type.variadic and all(p.passing.sret is not None for p in function.parameters)


def _same_function(one: Function, other: Function) -> bool:
    first, second = _types(one), _types(other)
    if _is_unprototyped(one) or _is_unprototyped(other):
        return same_type(first[0], second[0])
    if one.type.variadic != other.type.variadic or len(first) != len(second):
        return False
    return all(map(same_type, first, second))


def _types(function: Function) -> list[types.Type]:
    """Return the type of the result, and the types of each parameter and of the object it points to."""
    parameters = [(p.type, p.passing.byval or p.type, p.passing.sret or p.type) for p in function.parameters]
    return [function.type.result, *(type_ for parameter in parameters for type_ in parameter)]


def _same_object(one: types.Type, other: types.Type, layout: types.Layout) -> bool:
    """Return whether two types of a variable agree. An array may be declared without its length, and an
    initialiser may give its variable a type without a name, of the same size (`{ i32, i8, [3 x i8] }`)."""
    if _is_made_up(one) or _is_made_up(other):
        try:
            first, second = layout.size(one), layout.size(other)
        except NotUnderstood:  # a type that is only declared agrees with all
            return True
        return first == second or 0 in (first, second)
    if isinstance(one, types.ArrayType) and isinstance(other, types.ArrayType):
        return same_type(one.element, other.element) and (
            one.count == other.count or not one.count * other.count
        )
    return same_type(one, other)


def _is_made_up(type_: types.Type) -> bool:
    """Return whether a type contains a structure without a name."""
    parts = (part for part in types.all_parts(type_) if isinstance(part, types.StructType))
    return any(not (part.name or part.opaque) for part in parts)


def same_type(one: types.Type, other: types.Type) -> bool:
    """Return whether types of two modules are the same, except for the names of structures; an opaque one
    agrees with all."""
    stack = [(one, other)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, types.StructType) and isinstance(b, types.StructType) and (a.opaque or b.opaque):
            continue
        if _shape(a) != _shape(b):
            return False
        stack += zip(types.parts_of(a), types.parts_of(b), strict=True)
    return True


def _shape(type_: types.Type) -> tuple[object, ...]:
    """Return what distinguishes a type from others, without its parts."""
    if isinstance(type_, types.ArrayType | types.VectorType):
        return type(type_), type_.count
    if isinstance(type_, types.StructType):
        return type_.packed, len(type_.fields)
    if isinstance(type_, types.FunctionType):
        return type(type_), type_.variadic, len(type_.parameters)
    return (type_.text,)


_TOKEN: Final = re.compile(r'([@%])(?:"[^"]*"|[-\w$.]+)|"[^"]*"|([!#])(\d+)')
_TYPE: Final = re.compile(r'^(%(?:"[^"]*"|\S+)) = type (.*)$', re.MULTILINE)
_LIST: Final = re.compile(r"(@[\w.]+ = appending global) \[(\d+) x ([^\[\]]*)\] \[(.*)\]((?:, section .*)?)")
_LINKAGE: Final = re.compile(r" (?:weak|weak_odr|linkonce|linkonce_odr|common|available_externally) ")


class Linked(NamedTuple):
    """The text of the whole program. `bases` are the numbers at which the metadata of each file starts."""

    text: str
    bases: tuple[int, ...]


@dataclass(slots=True)
class Changes:
    """The changes to the text of one file. `symbols` get other names; symbols in `dropped` are defined in
    another file; definitions in `aside` stay under another name, for the file's own aliases of them."""

    symbols: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    aside: dict[str, str] = field(default_factory=dict)


class _Joined:
    """The joined text so far. Lists to which all files contribute are joined at the end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._structures: set[str] = set()
        self._lists: dict[str, list[re.Match[str]]] = {}
        self._named: dict[str, list[str]] = {}
        self._bases: list[int] = []
        self._next = {"!": 0, "#": 0}  # the first free number of metadata and attributes

    def add(self, text: str, change: Changes, structures: Mapping[str, str]) -> None:
        self._bases.append(self._next["!"])
        starts, used = dict(self._next), self._next

        def token(match: re.Match[str]) -> str:
            sigil, mark, number = match.groups()
            if mark is not None:
                moved = starts[mark] + int(number)
                used[mark] = max(used[mark], moved + 1)
                return f"{mark}{moved}"
            if sigil == "%":
                return structures.get(match[0], match[0])
            return _renamed(match[0], change.symbols) if sigil == "@" else match[0]

        first, lines = len(self._bases) == 1, iter(text.split("\n"))
        for line in lines:
            if line[:1] in ("", ";") or (line.startswith(("source_filename ", "target ")) and not first):
                continue
            symbol = SYMBOL.search(line) if line.startswith(("@", "define ", "declare ")) else None
            name = "" if symbol is None else name_of(symbol[0])
            body = [*iter(lines.__next__, "}"), "}"] if line.startswith("define ") else []
            if name not in change.dropped:
                self._top_level(_TOKEN.sub(token, _set_aside(line, name, change.aside)))
                self._lines += [_TOKEN.sub(token, each) for each in body]

    def _top_level(self, line: str) -> None:
        head, _, rest = line.partition(" = ")
        if line[0] == "!" and not line[1].isdigit():
            self._named.setdefault(head, []).append(rest[2:-1])
        elif rest.startswith("appending "):
            part = _LIST.fullmatch(line)
            if part is None:
                raise NotUnderstood("a list of several files' parts", line)
            self._lists.setdefault(part[1], []).append(part)
        elif line[0] != "%" or head not in self._structures:
            if line[0] == "%":
                self._structures.add(head)
            self._lines.append(line)

    def finish(self) -> Linked:
        for head, parts in self._lists.items():
            items, count = ", ".join(part[4] for part in parts), sum(int(part[2]) for part in parts)
            self._lines.append(f"{head} [{count} x {parts[0][3]}] [{items}]{parts[0][5]}")
        for head, nodes in self._named.items():
            self._lines.append(f"{head} = !{{{', '.join(filter(None, nodes))}}}")
        return Linked("\n".join(self._lines) + "\n", tuple(self._bases))


def _set_aside(line: str, name: str, aside: Mapping[str, str]) -> str:
    """Rename a definition that exists only for aliases, in its definition and in these aliases."""
    alias = " alias " in line and line.startswith("@")
    if name in aside:
        line = _LINKAGE.sub(" internal ", line, count=1)
    elif not alias:
        return line
    return SYMBOL.sub(lambda match: _renamed(match[0], aside), line, count=0 if alias else 1)


def _renamed(token: str, names: Mapping[str, str]) -> str:
    """Return the token of a symbol with the ending that its new name adds."""
    name = name_of(token)
    return _extended(token, names[name][len(name) :]) if name in names else token


def _extended(token: str, ending: str) -> str:
    return f'{token[:-1]}{ending}"' if token.endswith('"') else token + ending


def _renamed_structures(texts: Sequence[str]) -> list[dict[str, str]]:
    """Return the new names of structures in each file. Structures with the same name stay one type if their
    definitions are the same text, and so are those of the structures in them."""
    bodies: dict[str, str] = {}  # of the structures of all files so far
    renamed: list[dict[str, str]] = []
    for number, text in enumerate(texts, 1):
        own = dict(_TYPE.findall(text))
        other, size = {name for name, body in own.items() if bodies.get(name, body) != body}, -1
        while size != len(other):
            size = len(other)
            other |= {name for name, body in own.items() if any(m[0] in other for m in _TOKEN.finditer(body))}
        names: dict[str, str] = {}
        for name, body in own.items():
            new = name
            while name in other and (new in bodies or new in own):
                new = _extended(new, f"${number}")
            names[name] = new
            bodies.setdefault(new, body)
        renamed.append(names)
    return renamed
