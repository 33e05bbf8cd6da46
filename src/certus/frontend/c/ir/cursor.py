"""A line of IR, word by word: what all readers of instructions share."""

from __future__ import annotations

from typing import Final

from certus.frontend.c.ir.operands import Operand, read_operand
from certus.frontend.c.ir.text import NotUnderstood, name_of, word_set
from certus.frontend.c.ir.types import Type, TypeTable

_FLAGS: Final = word_set("nsw nuw exact disjoint nneg samesign fast nnan ninf nsz arcp contract afn reassoc")
_ORDERINGS: Final = word_set("unordered monotonic acquire release acq_rel seq_cst")
_NO_FLAGS: Final[frozenset[str]] = frozenset()


class Cursor:
    """A position in a list of words, the last of which is empty."""

    def __init__(self, types: TypeTable) -> None:
        self.types = types
        self.words: list[str] = []
        self.at = 0

    def accept(self, word: str) -> bool:
        """Go past a word if it is next."""
        if self.words[self.at] == word:
            self.at += 1
            return True
        return False

    def expect(self, *words: str) -> None:
        """Go past words that must be next."""
        for word in words:
            if self.words[self.at] != word:
                raise NotUnderstood(f"`{self.words[self.at]}` instead of `{word}`")
            self.at += 1

    def take(self) -> str:
        """Go past any word."""
        self.at += 1
        return self.words[self.at - 1]

    def type(self) -> Type:
        found, self.at = self.types.read(self.words, self.at)
        return found

    def operand(self, type_: Type) -> Operand:
        found, self.at = read_operand(self.types, self.words, self.at, type_)
        return found

    def typed(self) -> Operand:
        """Read a type and an operand of it."""
        type_, self.at = self.types.read(self.words, self.at)
        found, self.at = read_operand(self.types, self.words, self.at, type_)
        return found

    def flags(self, known: frozenset[str] = _FLAGS) -> frozenset[str]:
        if self.words[self.at] not in known:
            return _NO_FLAGS
        found = set()
        while self.words[self.at] in known:
            found.add(self.take())
        return frozenset(found)

    def label(self) -> str:
        self.expect("label")
        return name_of(self.take())

    def ordering(self) -> None:
        """Go past how an atomic operation is ordered: without threads it does not matter."""
        if self.accept("syncscope"):
            self.at += 3
        if self.words[self.at] not in _ORDERINGS:
            raise NotUnderstood(f"the ordering `{self.words[self.at]}`")
        self.at += 1

    def alignment(self) -> int:
        if self.words[self.at] == "," and self.words[self.at + 1] == "align":
            self.at += 3
            return int(self.words[self.at - 1])
        return 0
