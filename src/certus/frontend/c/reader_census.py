"""Find the names that have several meanings, so that Clang's type strings do not tell which one is meant.

Clang prints a type by name (`struct s *`), and an unnamed record by place (`struct (unnamed at f.c:1:8)`),
wherever an expression has that type: also where another declaration of the name is in scope. One macro
expansion, a header that is included twice, and `#line` give several unnamed records one place. Strings with
such names are refused. A function sees the names of the file and its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from certus.frontend.c.positions import Positions
from certus.frontend.c.reader_names import Key, Node

_COUNTED: Final = frozenset(
    ("RecordDecl", "EnumDecl", "TypedefDecl", "VarDecl", "ParmVarDecl", "FunctionDecl", "EnumConstantDecl")
)
_BUILTIN: Final = re.compile(
    r"(?:(?:void|char|short|int|long|signed|unsigned|float|double|_Bool|__int128|const|volatile)\b|[\s*])+$"
)
_DECLARING: Final = frozenset(("RecordDecl", "EnumDecl", "TypedefDecl"))
_ORDINARY: Final = frozenset(("VarDecl", "ParmVarDecl", "FunctionDecl", "EnumConstantDecl"))
# What may make Clang print `_Bool` as `bool`: a macro, which may stand in a header.
_BOOL_MACRO: Final = re.compile(rb'stdbool|\bdefine[ \t]+bool\b|#[ \t]*include[ \t]*"')


class Census:
    """The declarations of types of a file, by name. `doubtful` are the names that have several meanings."""

    def __init__(self, positions: Positions, tree: Node) -> None:
        self._positions = positions
        self._first: dict[str, str] = {}  # the first declaration of a type, by the id of any of them
        self._kinds: dict[str, str] = {}  # `struct`, `union` or `enum`, by the id of an unnamed one
        self._incomplete: set[str] = set()  # enumerations that were declared before they were defined
        self._meanings: dict[Key, set[str]] = {}
        self._doubtful: set[Key] = set()
        self.aliases: dict[str, str] = {}  # the typedefs of unnamed records and enumerations, by Clang's id
        top = tree.get("inner", ())
        self._count(_nested(n for n in top if n.get("kind") in _DECLARING), self._meanings, self._doubtful)
        for node in top:
            if node.get("kind") in ("VarDecl", "FunctionDecl"):
                self._meanings.setdefault(("variable", node["name"]), set()).add("of the file")
        self.doubtful = frozenset(self._doubtful)

    def of_function(self, node: Node) -> frozenset[Key]:
        """Return the names that have several meanings in a function."""
        meanings: dict[Key, set[str]] = {}
        doubtful = set(self._doubtful)
        self._count(_all(node), meanings, doubtful)
        doubtful |= {key for key, own in meanings.items() if len(own | self._meanings.get(key, own)) > 1}
        return frozenset(doubtful)

    def _count(self, nodes: Iterable[Node], meanings: dict[Key, set[str]], doubtful: set[Key]) -> None:
        for node in nodes:
            for key, meaning in self._declared(node, doubtful):
                known = meanings.setdefault(key, set())
                known.add(meaning)
                if len(known) > 1:
                    doubtful.add(key)

    def _declared(self, node: Node, doubtful: set[Key]) -> Iterator[tuple[Key, str]]:
        """The names that a declaration declares, each with what identifies its meaning."""
        kind, name = node["kind"], node.get("name", "")
        if kind in _ORDINARY:
            linked = kind == "FunctionDecl" or node.get("storageClass") == "extern"
            yield ("variable", name), "of the file" if linked else node["id"]
            return
        previous = node.get("previousDecl", "")
        first = self._first[node["id"]] = self._first.get(previous, previous) or node["id"]
        if kind == "TypedefDecl":
            text = node.get("type", {}).get("qualType", "")
            yield ("typedef", name), text if _BUILTIN.match(text) else first
            yield ("variable", name), first
            if name == "bool" and text != "_Bool" and _BOOL_MACRO.search(self._positions.text.data):
                doubtful.add(("typedef", name))
            tag = self._first.get(unnamed_tag(node), "")
            if tag in self._kinds:
                self.aliases.setdefault(tag, name)
                yield (self._kinds[tag], name), tag
            return
        sort = "enum" if kind == "EnumDecl" else node["tagUsed"]
        if not name:
            self._kinds[node["id"]] = sort
            yield ("place", self._positions.claimed(node.get("loc", {}))), first
            return
        yield (sort, name), first
        if kind == "EnumDecl" and "fixedUnderlyingType" not in node:
            constants = [c for c in node.get("inner", ()) if c.get("kind") == "EnumConstantDecl"]
            if not constants:
                self._incomplete.add(first)
            elif first in self._incomplete and not all(map(_is_unsigned, constants)):
                doubtful.add((sort, name))  # what was read before the definition has another type


def _is_unsigned(constant: Node) -> bool:
    """Whether an enumeration constant is certainly an `unsigned int`, the type of enumerations by default."""
    given = [part for part in constant.get("inner", ()) if "valueCategory" in part]
    return not given or 0 <= int(given[0].get("value", -1)) < 1 << 31


def unnamed_tag(node: Node) -> str:
    """The id of the unnamed record or enumeration that a typedef is a name of; empty if there is none."""
    current: Node | None = node
    while current is not None:
        children = [child for child in current.get("inner", ()) if not child.get("kind", "").endswith("Attr")]
        current = children[0] if children else None
        if current is not None and current.get("kind") in ("RecordType", "EnumType"):
            declaration = current.get("decl", {})
            return "" if declaration.get("name") else str(declaration.get("id", ""))
        if current is None or current.get("kind") not in ("ElaboratedType", "QualType"):
            return ""
    return ""


def _nested(nodes: Iterable[Node]) -> Iterator[Node]:
    """Declarations of types, and what is declared inside them."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if node["kind"] in ("RecordDecl", "EnumDecl"):
            inside = _DECLARING | {"EnumConstantDecl"}
            stack.extend(c for c in reversed(node.get("inner", ())) if c.get("kind") in inside)


def _all(root: Node) -> Iterator[Node]:
    """All declarations inside a node, in the order of the document."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.get("kind") in _COUNTED and node is not root:
            yield node
        children = node.get("array_filler") or node.get("inner")
        if children:
            stack.extend(reversed(children))
