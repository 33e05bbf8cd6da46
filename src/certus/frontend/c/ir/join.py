"""Join the IR texts of several files into one, token by token.

Each file has numbers of metadata and attributes, and names of structures, of its own. Which symbols are
renamed or left out is decided before (`link`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from certus.frontend.c.ir.text import NotUnderstood, name_of

_TOKEN: Final = re.compile(r'([@%])(?:"[^"]*"|[-\w$.]+)|"[^"]*"|([!#])(\d+)')
_SYMBOL: Final = re.compile(r'@(?:"[^"]*"|[-\w$.]+)')
_LIST: Final = re.compile(r"(@[\w.]+ = appending global) \[(\d+) x ([^\[\]]*)\] \[(.*)\]((?:, section .*)?)")
_LINKAGE: Final = re.compile(r" (?:weak|weak_odr|linkonce|linkonce_odr|common|available_externally) ")


@dataclass(frozen=True, slots=True)
class Linked:
    """The text of the whole program. `bases` are the numbers at which the metadata of each file starts."""

    text: str
    bases: tuple[int, ...]


@dataclass(slots=True)
class Changes:
    """How the text of one file changes. `symbols` get other names; those in `dropped` are defined in another
    file; definitions in `aside` stay under another name, for the file's own aliases of them."""

    symbols: dict[str, str] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    aside: dict[str, str] = field(default_factory=dict)


def join(texts: Sequence[str], changes: Sequence[Changes]) -> Linked:
    """Return the text of one module for all files."""
    joined = _Joined()
    types = _other_types(texts)
    for text, change, names in zip(texts, changes, types, strict=True):
        joined.add(text, change, names)
    return joined.finish()


class _Joined:
    """The text of the files that were added. Lists that all files contribute to are joined at the end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._types: set[str] = set()
        self._lists: dict[str, list[re.Match[str]]] = {}
        self._named: dict[str, list[str]] = {}
        self._bases: list[int] = []
        self._next = {"!": 0, "#": 0}  # the first free number of metadata and attributes

    def add(self, text: str, change: Changes, types: Mapping[str, str]) -> None:
        self._bases.append(self._next["!"])
        starts, used = dict(self._next), dict(self._next)

        def token(match: re.Match[str]) -> str:
            sigil, mark, number = match.groups()
            if mark is not None:
                moved = starts[mark] + int(number)
                used[mark] = max(used[mark], moved + 1)
                return f"{mark}{moved}"
            if sigil == "%":
                return types.get(match[0], match[0])
            return _renamed(match[0], change.symbols) if sigil == "@" else match[0]

        first, lines = len(self._bases) == 1, iter(text.split("\n"))
        for line in lines:
            if line[:1] in ("", ";") or (line.startswith(("source_filename ", "target ")) and not first):
                continue
            name = _defined_name(line)
            body = [*iter(lambda: next(lines), "}"), "}"] if line.startswith("define ") else []
            if name is None or name not in change.dropped:
                head = line if name is None else _set_aside(line, name, change.aside)
                self._top_level(_TOKEN.sub(token, head))
                self._lines += [_TOKEN.sub(token, each) for each in body]
        self._next = used

    def _top_level(self, line: str) -> None:
        head, _, rest = line.partition(" = ")
        if line[0] == "!" and not line[1].isdigit():
            self._named.setdefault(head, []).append(rest[2:-1])
        elif rest.startswith("appending "):
            part = _LIST.fullmatch(line)
            if part is None:
                raise NotUnderstood("a list of several files' parts", line)
            self._lists.setdefault(part[1], []).append(part)
        elif line[0] != "%" or head not in self._types:
            if line[0] == "%":
                self._types.add(head)
            self._lines.append(line)

    def finish(self) -> Linked:
        for head, parts in self._lists.items():
            items, count = ", ".join(part[4] for part in parts), sum(int(part[2]) for part in parts)
            self._lines.append(f"{head} [{count} x {parts[0][3]}] [{items}]{parts[0][5]}")
        for head, nodes in self._named.items():
            self._lines.append(f"{head} = !{{{', '.join(filter(None, nodes))}}}")
        return Linked("\n".join(self._lines) + "\n", tuple(self._bases))


def _defined_name(line: str) -> str | None:
    """Return the symbol that a line declares or defines."""
    found = _SYMBOL.search(line) if line.startswith(("@", "define ", "declare ")) else None
    return None if found is None else name_of(found[0])


def _set_aside(line: str, name: str, aside: Mapping[str, str]) -> str:
    """Rename a definition that is only there for aliases, where it is defined, and in these aliases."""
    alias = " alias " in line and line.startswith("@")
    if name in aside:
        line = _LINKAGE.sub(" internal ", line, count=1)
    elif not alias:
        return line
    return _SYMBOL.sub(lambda match: _renamed(match[0], aside), line, count=0 if alias else 1)


def _renamed(token: str, names: Mapping[str, str]) -> str:
    """Return the token of a symbol, with what its new name has more than the old one."""
    name = name_of(token)
    if name not in names:
        return token
    ending = names[name][len(name) :]
    return f'{token[:-1]}{ending}"' if token.endswith('"') else token + ending


# ------------------------------------------------------------------------------------------ structures


def _other_types(texts: Sequence[str]) -> list[dict[str, str]]:
    """Return the new names of structures in each file. Structures of one name stay one type if their
    definitions are the same text, and so are those of the structures in them."""
    known: dict[str, str] = {}
    found: list[dict[str, str]] = []
    for number, text in enumerate(texts, 1):
        own = dict(line.split(" = type ", 1) for line in text.split("\n") if _defines_type(line))
        other = {name for name, body in own.items() if known.get(name, body) != body}
        size = -1
        while size != len(other):
            size = len(other)
            other |= {name for name, body in own.items() if any(m[0] in other for m in _TOKEN.finditer(body))}
        names = {name: _other_name(name, f"${number}", known, own) for name in own if name in other}
        for name, body in own.items():
            known.setdefault(names.get(name, name), body)
        found.append(names)
    return found


def _defines_type(line: str) -> bool:
    return line.startswith("%") and " = type " in line


def _other_name(name: str, ending: str, *taken: Mapping[str, str]) -> str:
    quote = '"' if name.endswith('"') else ""
    wanted = name.removesuffix('"') + ending
    while any(wanted + quote in names for names in taken):
        wanted += ending
    return wanted + quote
