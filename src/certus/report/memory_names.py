"""Words for the variables that the encoding of memory adds to a program (`encoding.memory`).

`line7` stands for the objects that line 7 allocates on the heap, and `buf` for the variable of this name:
`line7.at8[a]` is what is stored at byte 8 of the object that starts at a, `line7.ended[a]` is 1 if that
object has ended, and `line7.next` is where the next object will start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from certus.core.memory import Partition
from certus.core.program import Alloc, Program
from certus.core.terms import Expr

_OF_ONE: Final = re.compile(r"\.at\d")
_OF_MANY: Final = re.compile(r"\.(at\d+|bytes|ended|size|\w+_at\d+)\[")
_MANY: Final = 2  # names of objects that one name lists
_WORDS: Final = {"dead": "ended", "brk": "next", "base": "object", "": "bytes"}
_ADDED: Final = re.compile(r"mem\$(?P<region>\d+)(?:\$(?P<offset>\d+))?(?:\$(?P<what>\D.*))?")
_NEXT: Final = re.compile(r"mem\$brk\$(?P<region>\d+)")
_OF_VARIABLE: Final = re.compile(r"(?P<variable>.+)\$(?:\+(?P<offset>\d+)|(?P<what>[a-z]+))")
_SHARED: Final = {
    "mem$brk": "memory.end",
    "mem$brk$low": "memory.start",
    "mem$brk$used": "memory.used",
    "mem$freed": "memory.freed",
    "mem$heap": "heap.live",
}


class MemoryNames:
    """The words for one partition. `own` are the variables of the program by their names."""

    def __init__(self, program: Program, partition: Partition, own: Mapping[str, Expr]) -> None:
        self._source, self._own = program.source_names, own
        self._objects: dict[int, dict[str, None]] = {}
        for edge in program.edge.values():
            op = edge.op
            pointer = partition.carriers.get(op.target) if isinstance(op, Alloc) else None
            if isinstance(op, Alloc) and pointer is not None:
                line = f"line{edge.span.line}" if op.storage == "heap" and edge.span else op.name
                self._objects.setdefault(pointer.region, {})[line] = None

    def of(self, variable: Expr) -> str | None:
        """Return the words for an added variable, or for the address of an object; None for any other."""
        name = variable.name
        if name in _SHARED:
            return _SHARED[name]
        if (match := _NEXT.fullmatch(name)) is not None:
            return f"{self._region(match['region'])}.next"
        if (match := _ADDED.fullmatch(name)) is not None:
            return f"{self._region(match['region'])}.{_member(match['offset'], match['what'])}"
        if name in self._own and "$&" in name:
            return f"&{name.rpartition('$&')[2]}"
        match = _OF_VARIABLE.fullmatch(name)
        holder = None if match is None else self._own.get(match["variable"])
        if match is None or holder is None:
            return None
        shown = self._source.get(holder, holder.name.rpartition("$&")[2])
        return f"{shown}.{_member(match['offset'], match['what'])}"

    def _region(self, number: str) -> str:
        names = [name for name in self._objects.get(int(number), {}) if re.fullmatch(r"\w+", name)]
        return "_".join(names) if 0 < len(names) <= _MANY else f"objects{number}"


def legend(formulas: Iterable[str]) -> str:
    """Return what the words in some formulas mean; empty if there are none."""
    texts = list(formulas)
    if any(_OF_MANY.search(text) for text in texts):
        return (
            "X.at8[a] is what is at byte 8 of the object of X that starts at a; lineN are the objects that "
            "line N allocates"
        )
    return "X.at8 is what is at byte 8 of X" if any(_OF_ONE.search(text) for text in texts) else ""


def _member(offset: str | None, what: str | None) -> str:
    word = (what or "").replace("$", "_")
    word = _WORDS.get(word, word)
    if offset is None:
        return word
    return f"{word}_at{offset}" if what else f"at{offset}"
