"""Debug information: where instructions come from, the names and C types of variables, scopes and loops.

Nodes are kept as text and read when they are asked for. Nothing here changes what a program does, except the
signedness of variables, which only decides how a value is shown and which integers engines see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir.text import NotUnderstood, text_of, tokens

_PLACE: Final = re.compile(r"(?:distinct )?!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: !(\d+)")
_INLINED: Final = re.compile(r"inlinedAt: !(\d+)")
_NAMED: Final = re.compile(r'!\{!"([^"]*)"')
_NUMBER: Final = re.compile(r"i64 (\d+)")
_REFERENCE: Final = re.compile(r"!(\d+)")

Value = int | str | None | list["Value"]
TRANSPARENT: Final = frozenset(
    f"DW_TAG_{kind}"
    for kind in [
        "typedef",
        "const_type",
        "volatile_type",
        "restrict_type",
        "atomic_type",
        "member",
        "inheritance",
        "APPLE_ptrauth_type",
    ]
)


@dataclass(frozen=True, slots=True)
class Reference:
    """Another node, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node like `!DIBasicType(name: "int", size: 32)`: its kind and what it says."""

    kind: str
    fields: dict[str, str]

    def number(self, name: str) -> int:
        text = self.fields.get(name, "0")
        return int(text) if text.lstrip("-").isdigit() else 0

    def string(self, name: str) -> str:
        text = self.fields.get(name, '""')
        return text_of(text) if text.startswith('"') else text

    def reference(self, name: str) -> int | None:
        text = self.fields.get(name, "")
        return int(text[1:]) if text[:1] == "!" and text[1:].isdigit() else None


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the source; line 0 means none. `scope` is the number of its lexical block or function."""

    line: int
    column: int
    scope: int


@dataclass(frozen=True, slots=True)
class DebugVariable:
    """A variable of the source. `argument` is the number of a parameter, from 1, or 0."""

    name: str
    file: str
    line: int
    type: int | None
    scope: int | None
    argument: int
    artificial: bool


class Debug:
    """The metadata of a module, by number."""

    def __init__(self) -> None:
        self._nodes: dict[int, str] = {}
        self._named: dict[str, str] = {}
        self._read: dict[int, Node] = {}
        self._places: dict[int, Place | None] = {}

    def add(self, line: str) -> None:
        """Note a line `!N = ...` or `!name = ...`."""
        name, separator, text = line.partition(" = ")
        if not separator:
            raise NotUnderstood("metadata", line)
        if name[1:].isdigit():
            self._nodes[int(name[1:])] = text
        else:
            self._named[name[1:]] = text

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def text(self, name: str) -> str:
        """Return the text of the nodes that a named list refers to."""
        numbers = _REFERENCE.findall(self._named.get(name, ""))
        return " ".join(self._nodes.get(int(number), "") for number in numbers)

    # --------------------------------------------------------------------------------- nodes

    def node(self, number: int) -> Node:
        """Read a specialised node."""
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = self._parse(number)
        return found

    def _parse(self, number: int) -> Node:
        text = self._nodes.get(number)
        if text is None:
            raise NotUnderstood(f"the metadata !{number}, which is missing")
        words = tokens(text)
        at = 1 if words[0] == "distinct" else 0
        kind = words[at][1:]
        if words[at + 1] != "(":
            raise NotUnderstood("metadata of no known kind", text)
        fields: dict[str, str] = {}
        at += 2
        while words[at] != ")":
            name = words[at]
            if words[at + 1] != ":":
                raise NotUnderstood(f"the field `{name}` of metadata", text)
            start = at = at + 2
            depth = 0
            while depth or words[at] not in (",", ")"):
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(words[at], 0)
                if not words[at]:
                    raise NotUnderstood("metadata that does not end", text)
                at += 1
            fields[name] = " ".join(words[start:at])
            at += words[at] == ","
        return Node(kind, fields)

    def kind(self, number: int) -> str:
        """Return the kind of a node, such as `DIBasicType`; nothing for a plain tuple."""
        text = self._nodes.get(number, "").removeprefix("distinct ")
        return text[1 : text.index("(")] if text.startswith("!DI") else ""

    def elements(self, number: int | None) -> list[int | None]:
        """Return the nodes that a tuple consists of; None for `null` and what is no node."""
        if number is None:
            return []
        text = self._nodes.get(number, "").removeprefix("distinct ")
        if not text.startswith("!{"):
            raise NotUnderstood("a list of metadata", text)
        found: list[int | None] = []
        for part in text[2:-1].split(", "):
            if part:
                found.append(int(part[1:]) if part[0] == "!" and part[1:].isdigit() else None)
        return found

    def accessed(self, number: int) -> str:
        """Return the name of the type that `!tbaa` says an access is of, such as `p1 int` for an `int *`."""
        first = _REFERENCE.search(self._nodes.get(number, ""))
        found = None if first is None else _NAMED.match(self._nodes.get(int(first[1]), ""))
        return "" if found is None else found[1]

    def members(self, number: int) -> list[tuple[int, int]]:
        """Return offset and size, in bytes, of what `!tbaa.struct` lists."""
        found = [int(value) for value in _NUMBER.findall(self._nodes.get(number, ""))]
        return list(zip(found[::2], found[1::2], strict=True))

    # -------------------------------------------------------------------------------- places

    def place(self, number: int | None) -> Place | None:
        """Return the position of a debug location."""
        if number is None:
            return None
        if number not in self._places:
            match = _PLACE.match(self._nodes.get(number, ""))
            made = None
            if match is not None:
                made = Place(int(match[1]), int(match[2] or 0), int(match[3]))
            self._places[number] = made
        return self._places[number]

    def loop(self, number: int) -> tuple[Place, Place | None] | None:
        """Return where the loop of `!llvm.loop` starts and ends, if that is known."""
        found = [self.place(part) for part in self.elements(number)[1:] if part is not None]
        places = [place for place in found if place is not None]
        return (places[0], places[1] if len(places) > 1 else None) if places else None

    def file(self, number: int | None) -> str:
        """Return the path of a file node, or of the file that a scope is in."""
        while number is not None and self.kind(number) != "DIFile":
            node = self.node(number)
            number = node.reference("file") or node.reference("scope")
        if number is None:
            return ""
        node = self.node(number)
        name, directory = node.string("filename"), node.string("directory")
        return name if name.startswith("/") or not directory else f"{directory}/{name}"

    def scopes(self, number: int | None) -> Iterator[tuple[int, Node]]:
        """Yield a scope and those around it up to its function."""
        while number is not None:
            node = self.node(number)
            if node.kind not in ("DILexicalBlock", "DILexicalBlockFile", "DISubprogram"):
                return
            yield number, node
            if node.kind == "DISubprogram":
                return
            number = node.reference("scope")

    # ------------------------------------------------------------------------ variables, types

    def variable(self, number: int) -> DebugVariable:
        """Return the variable of a local or global node."""
        node = self.node(number)
        if node.kind == "DIGlobalVariableExpression":
            inner = node.reference("var")
            assert inner is not None
            node = self.node(inner)
        return DebugVariable(
            node.string("name"),
            self.file(node.reference("file")),
            node.number("line"),
            node.reference("type"),
            node.reference("scope"),
            node.number("arg"),
            "DIFlagArtificial" in node.fields.get("flags", ""),
        )

    def plain(self, number: int | None) -> Node | None:
        """Return a type without typedefs and qualifiers; None for `void`."""
        while number is not None:
            node = self.node(number)
            if node.kind != "DIDerivedType" or node.string("tag") not in TRANSPARENT:
                return node
            number = node.reference("baseType")
        return None

    def qualified(self, number: int | None, qualifier: str) -> bool:
        """Whether a type is `const` or `volatile`, perhaps through typedefs; arrays are as their elements."""
        while number is not None:
            node = self.node(number)
            if node.fields.get("tag") == f"DW_TAG_{qualifier}_type":
                return True
            array = node.fields.get("tag") == "DW_TAG_array_type"
            if not array and (node.kind != "DIDerivedType" or node.string("tag") not in TRANSPARENT):
                return False
            number = node.reference("baseType")
        return False

    def signed(self, number: int | None) -> bool | None:
        """Whether an integer type is signed; None for others."""
        node = self.plain(number)
        if node is not None and node.fields.get("tag") == "DW_TAG_enumeration_type":
            node = self.plain(node.reference("baseType"))
        if node is None or node.kind != "DIBasicType":
            return None
        encoding = node.fields.get("encoding", "")
        if encoding in ("DW_ATE_signed", "DW_ATE_signed_char"):
            return True
        if encoding in ("DW_ATE_unsigned", "DW_ATE_unsigned_char", "DW_ATE_boolean", "DW_ATE_UTF"):
            return False
        return None

    def boolean(self, number: int | None) -> bool:
        """Whether a type is `_Bool`."""
        node = self.plain(number)
        return node is not None and node.fields.get("encoding") == "DW_ATE_boolean"

    def target(self, number: int | None) -> int | None:
        """Return the type that a pointer type points to; None for `void *` and what is no pointer."""
        node = self.plain(number)
        if node is None or node.fields.get("tag") != "DW_TAG_pointer_type":
            return None
        return node.reference("baseType")

    def signature(self, function: int | None) -> list[int | None]:
        """Return the types of a function's result and parameters; `None` is `void` and, at the end, `...`."""
        if function is None:
            return []
        subroutine = self.node(function).reference("type")
        return self.elements(self.node(subroutine).reference("types")) if subroutine is not None else []
