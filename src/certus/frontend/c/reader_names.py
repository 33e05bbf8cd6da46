"""Names in scope while a tree is read: typedefs, tags, variables; and the types that strings denote.

Clang gives types as strings, in which a name means what it means at that place. Scopes are opened and
closed in the order of the document; a string's type is remembered until some name changes its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from certus.frontend.c.ast import Variable
from certus.frontend.c.layout import Layout
from certus.frontend.c.types import CType, DataModel, OtherType, RecordType, Types
from certus.frontend.c.typetext import SEVERAL, difference_type, parse_type, size_type

Node = dict[str, Any]
Key = tuple[str, str]  # the kind of a name (`struct`, `typedef`, `place` ...) and the name

_PLACE: Final = re.compile(r"\((?:unnamed|anonymous)\b[^()]*? at (.*)\)$")
_WORDS: Final = re.compile(r"[A-Za-z_$][\w$]*")
_WORD: Final = re.compile(r"[A-Za-z_$][\w$]*$")


def _key(kind: str, name: str) -> Key:
    place = _PLACE.search(name)
    return ("place", place.group(1)) if place else (kind, name)


class ScopedNames:
    """Implements `typetext.Names`. `types_by_id` has the types of typedef declarations by Clang's ids."""

    def __init__(self, model: DataModel) -> None:
        self.model = model
        self.types = Types(model)
        self.layout = Layout(self.types)
        self.types_by_id: dict[str, CType] = {}
        self.doubtful: frozenset[Key] = frozenset()  # what has several meanings in the function being read
        self.has_aligned = False  # whether any typedef has the attribute `aligned`
        self.expression_type: Callable[[str], CType | None] = lambda _: None
        self._bound: dict[Key, Any] = {}
        self._undo: list[list[tuple[Key, Any]]] = []
        self._cache: dict[str, CType] = {}
        for name, type_ in (
            ("__size_t", size_type(model)),
            ("__signed_size_t", difference_type(model)),
            ("__ptrdiff_t", difference_type(model)),
        ):
            self.bind_typedef(name, type_)

    # ------------------------------------------------------------------------------- scopes

    def open_scope(self) -> None:
        self._undo.append([])

    def close_scope(self) -> None:
        for key, before in reversed(self._undo.pop()):
            if key[0] != "variable":
                self._cache.clear()
            if before is None:
                del self._bound[key]
            else:
                self._bound[key] = before

    def enter_function(self, doubtful: frozenset[Key]) -> None:
        """Open the scope of a function in which the given names have several meanings."""
        self.open_scope()
        self.doubtful = doubtful
        self._cache.clear()

    def leave_function(self, doubtful: frozenset[Key]) -> None:
        """Close it; `doubtful` are the names that have several meanings outside."""
        self.close_scope()
        self.doubtful = doubtful
        self._cache.clear()

    def _bind(self, key: Key, meaning: Any) -> None:
        before = self._bound.get(key)
        if before == meaning:
            return
        if key[0] != "variable":
            self._cache.clear()
        if self._undo:
            self._undo[-1].append((key, before))
        self._bound[key] = meaning

    def bind_typedef(self, name: str, type_: CType, align: int | None = None) -> None:
        """`align` is that of the attribute `aligned`, in bytes."""
        self._bind(("typedef", name), type_)
        if align is not None or self.aligned(name) is not None:
            self._bind(("aligned", name), align or 0)
            self.has_aligned = True

    def bind_tag(self, kind: str, name: str, type_: CType) -> None:
        self._bind((kind, name), type_)

    def bind_alias(self, kind: str, name: str, type_: CType) -> None:
        """An unnamed record or enumeration is printed with the name of its typedef."""
        self._bind((kind, name), type_)

    def bind_place(self, place: str, type_: CType) -> None:
        """An unnamed record or enumeration is printed with its place in the source."""
        self._bind(("place", place), type_)

    def bind_variable(self, variable: Variable) -> None:
        self._bind(("variable", variable.name), variable)

    def bind_constant(self, name: str, value: int, type_: CType) -> None:
        self._bind(("variable", name), (value, type_))

    def meaning(self, name: str) -> Variable | tuple[int, CType] | None:
        """What an identifier in an expression means: a variable or an enumeration constant."""
        found: Variable | tuple[int, CType] | None = self._bound.get(("variable", name))
        return found

    # -------------------------------------------------------------------------------- types

    def typedef(self, name: str) -> CType | None:
        found: CType | None = self._bound.get(("typedef", name))
        return found

    def aligned(self, name: str) -> int | None:
        """The alignment in bytes that a typedef asks for; 0 if another typedef of this name did."""
        found: int | None = self._bound.get(("aligned", name))
        return found

    def doubt(self, kind: str, name: str) -> bool:
        return bool(self.doubtful) and _key(kind, name) in self.doubtful

    def tag(self, kind: str, name: str) -> CType | None:
        place = _PLACE.search(name)
        found: CType | None = self._bound.get(_key(kind, name))
        if found is None and place is not None and kind in ("struct", "union"):
            shown = f"{kind} {name}"  # defined inside an expression, where the tree does not show it
            return RecordType(shown, shown)
        return found

    def typeof(self, text: str) -> CType | None:
        return self.expression_type(text)

    def of_text(self, text: str) -> CType:
        found = self._cache.get(text)
        if found is None:
            found = parse_type(text, self)
            if "typeof" not in text:
                self._cache[text] = found
        return found

    def of(self, described: Node, *, spelled: bool = True) -> CType:
        """The type that the value of a `type` attribute describes. If it is not `spelled` there, names in a
        `typeof` may mean something else by now."""
        text = described["qualType"]
        if not spelled and "typeof" in text and any(self.doubt("variable", w) for w in _WORDS.findall(text)):
            desugared = described.get("desugaredQualType", "typeof")
            if "typeof" in desugared:
                return OtherType(text, "unsupported-ambiguous-type", SEVERAL.format(text))
            return self.of_text(desugared)
        found = self._cache.get(text)
        if found is not None and not isinstance(found, OtherType):
            return found
        alias = described.get("typeAliasDeclId")
        if alias is not None and _WORD.match(text) and alias in self.types_by_id:
            return self.types_by_id[alias]
        found = self.of_text(text)
        desugared = described.get("desugaredQualType")
        if isinstance(found, OtherType) and desugared is not None:
            found = self.of_text(desugared)
        return found
