"""Debug information: source positions of instructions, names and C types of variables, scopes and loops.

Nodes are kept as text and read on demand. Debug information never changes the meaning of a program, except
for the signedness of variables, which only decides how a value is shown and which integers engines see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from certus.frontend.c.ir.types import NotUnderstood, bytes_of, text_of, word_set

_PLACE: Final = re.compile(r"(?:distinct )?!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: !(\d+)")
_NAMED: Final = re.compile(r'!\{!"([^"]*)"')
_NUMBER: Final = re.compile(r"i64 (\d+)")
_REFERENCE: Final = re.compile(r"!(\d+)")
_NODE: Final = re.compile(r"(?:distinct )?!(\w+)\((.*)\)")
_FIELD: Final = re.compile(r'(\w+): ("[^"]*"|(?:[^"(),]|\([^()]*\))+)(?:, |$)')
_TRANSPARENT: Final = word_set("typedef const volatile restrict atomic member inheritance APPLE_ptrauth")
_SIGNED: Final = dict.fromkeys(("DW_ATE_signed", "DW_ATE_signed_char"), True) | dict.fromkeys(
    ("DW_ATE_unsigned", "DW_ATE_unsigned_char", "DW_ATE_boolean", "DW_ATE_UTF"), False
)


@dataclass(frozen=True, slots=True)
class Node:
    """A node like `!DIBasicType(name: "int", size: 32)`: its kind, and its fields as text."""

    kind: str
    fields: dict[str, str]

    def number(self, name: str) -> int:
        text = self.fields.get(name, "0")
        return int(text) if text.lstrip("-").isdigit() else 0

    def string(self, name: str) -> str:
        text = self.fields.get(name, '""')
        return text_of(text) if text.startswith('"') else text

    def path(self, name: str) -> str:
        """Return a file name, which may have bytes that are no text."""
        text = self.fields.get(name, '""')
        return bytes_of(text).decode("utf-8", "surrogateescape") if text.startswith('"') else text

    def reference(self, name: str) -> int | None:
        return _referred(self.fields.get(name, ""))

    @property
    def tag(self) -> str:
        """The word that distinguishes types: `pointer` for `DW_TAG_pointer_type`."""
        return self.fields.get("tag", "").removeprefix("DW_TAG_").removesuffix("_type")

    @property
    def is_record(self) -> bool:
        return self.tag in ("structure", "union")


def _referred(text: str) -> int | None:
    """Return the number of the node that a text refers to, if it refers to one."""
    return int(text[1:]) if text[:1] == "!" and text[1:].isdigit() else None


class Place(NamedTuple):
    """A position in the source; line 0 means none. `scope` is the number of the lexical block or function."""

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
        self._texts: dict[str, str] = {}
        self._nodes: dict[int, Node] = {}
        self._places: dict[int, Place | None] = {}
        self._files: dict[int, str] = {}

    def add(self, line: str) -> None:
        """Add a line `!N = ...` or `!name = ...`."""
        name, separator, text = line.partition(" = ")
        if not separator:
            raise NotUnderstood("metadata", line)
        self._texts[name[1:]] = text

    def _text(self, number: int | str | None) -> str:
        return self._texts.get(str(number), "").removeprefix("distinct ")

    def text(self, name: str) -> str:
        """Return the text of the nodes that a named list refers to."""
        return " ".join(map(self._text, _REFERENCE.findall(self._text(name))))

    # --------------------------------------------------------------------------------- nodes

    def node(self, number: int) -> Node:
        """Read a specialised node."""
        if number not in self._nodes:
            text = self._text(number)
            match = _NODE.fullmatch(text)
            fields = [] if match is None else _FIELD.findall(match[2])
            if match is None or match[2] != ", ".join(f"{name}: {value}" for name, value in fields):
                raise NotUnderstood(f"the metadata !{number}", text)
            self._nodes[number] = Node(match[1], dict(fields))
        return self._nodes[number]

    def elements(self, number: int | None) -> list[int | None]:
        """Return the nodes of a tuple; None for `null` and anything that is not a node."""
        text = "!{}" if number is None else self._text(number)
        if not text.startswith("!{"):
            raise NotUnderstood("a list of metadata", text)
        return [_referred(part) for part in text[2:-1].split(", ") if part]

    def parts(self, node: Node) -> list[Node]:
        """Return the members of a record, or the lengths of an array."""
        numbers = self.elements(node.reference("elements"))
        return [self.node(number) for number in numbers if number is not None]

    def accessed(self, number: int) -> str:
        """Return the name of the type in the `!tbaa` of an access, such as `p1 int` for an `int *`."""
        first = _REFERENCE.search(self._text(number))
        name = None if first is None else _NAMED.match(self._text(first[1]))
        return "" if name is None else name[1]

    def members(self, number: int) -> list[tuple[int, int]]:
        """Return offset and size, in bytes, of the members in `!tbaa.struct`."""
        numbers = list(map(int, _NUMBER.findall(self._text(number))))
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    # -------------------------------------------------------------------------------- places

    def place(self, number: int | None) -> Place | None:
        """Return the position of a debug location."""
        if number is None:
            return None
        if number not in self._places:
            match = _PLACE.match(self._texts.get(str(number), ""))
            place = None if match is None else Place(int(match[1]), int(match[2] or 0), int(match[3]))
            self._places[number] = place
        return self._places[number]

    def loop(self, number: int) -> int | None:
        """Return the debug location where the loop of `!llvm.loop` starts."""
        return next((n for n in self.elements(number)[1:] if self.place(n) is not None), None)

    def file(self, number: int | None) -> str:
        """Return the path of a file node, or of the file that a scope is in."""
        if number is None:
            return ""
        if number not in self._files:
            node = self.node(number)
            name, directory = node.path("filename"), node.path("directory")
            if node.kind != "DIFile":
                name = self.file(node.reference("file") or node.reference("scope"))
            self._files[number] = f"{directory}/{name}" if directory and name[:1] != "/" else name
        return self._files[number]

    def scopes(self, number: int | None) -> Iterator[tuple[int, Node]]:
        """Yield a scope and the scopes around it, up to the function."""
        while number is not None:
            node = self.node(number)
            if node.kind not in ("DILexicalBlock", "DILexicalBlockFile", "DISubprogram"):
                return
            yield number, node
            number = None if node.kind == "DISubprogram" else node.reference("scope")

    # ------------------------------------------------------------------------ variables, types

    def _declared(self, number: int) -> Node:
        """Return the node of a function or a variable."""
        variable = self.node(number).reference("var")  # of a global variable
        return self.node(number if variable is None else variable)

    def position(self, number: int) -> tuple[str, int]:
        """Return file and line of the declaration of a function or a variable."""
        node = self._declared(number)
        return self.file(node.reference("file")), node.number("line")

    def variable(self, number: int) -> DebugVariable:
        """Return the variable of a local or global node."""
        node = self._declared(number)
        return DebugVariable(
            node.string("name"),
            *self.position(number),
            node.reference("type"),
            node.reference("scope"),
            node.number("arg"),
            "DIFlagArtificial" in node.fields.get("flags", ""),
        )

    def plain(self, number: int | None) -> Node | None:
        """Return a type without typedefs and qualifiers; None for `void`."""
        while number is not None:
            node = self.node(number)
            if node.kind != "DIDerivedType" or node.tag not in _TRANSPARENT:
                return node
            number = node.reference("baseType")
        return None

    def is_const(self, number: int | None) -> bool:
        """Return whether a type is `const`, perhaps through typedefs. An array is so if its elements are."""
        while number is not None:
            node = self.node(number)
            if node.tag == "const":
                return True
            derived = node.kind == "DIDerivedType" and node.tag in _TRANSPARENT
            number = node.reference("baseType") if derived or node.tag == "array" else None
        return False

    def signed(self, number: int | None) -> bool | None:
        """Return whether an integer type is signed; None for others."""
        node = self.plain(number)
        if node is not None and node.tag == "enumeration":
            node = self.plain(node.reference("baseType"))
        return _SIGNED.get(node.fields.get("encoding", "")) if node and node.kind == "DIBasicType" else None

    def boolean(self, number: int | None) -> bool:
        """Return whether a type is `_Bool`."""
        node = self.plain(number)
        return node is not None and node.fields.get("encoding") == "DW_ATE_boolean"

    def target(self, number: int | None) -> int | None:
        """Return the type that a pointer type points to; None for `void *` and other types."""
        node = self.plain(number)
        return node.reference("baseType") if node and node.tag == "pointer" else None

    def signature(self, function: int | None) -> list[int | None]:
        """Return the types of a function's result and parameters; None is `void` and, at the end, `...`."""
        type_ = None if function is None else self.node(function).reference("type")
        return [] if type_ is None else self.elements(self.node(type_).reference("types"))
