"""Where things stand: from Clang's byte offsets to spans with physical and presumed positions.

Clang leaves out what has not changed since the last position it printed, so file names have to be filled in
in the order of the document. Offsets are always there, and with the text of the file they give line and
column; the line markers of preprocessed files (`# 12 "f.c"`) give the presumed ones.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from certus.core.diagnostic import Span
from certus.frontend.c.edits import EditedText

_MARKER: Final = re.compile(
    rb'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)"[ \t\d]*)?[ \t]*\r?$', re.MULTILINE
)


_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_MACRO: Final = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE)
_IN_BRACKETS: Final = re.compile(r"\[([^][]*(?:\[[^][]*\][^][]*)*)\]")
_BRACKET: Final = re.compile(rb"[()]")
_TAG_BODY: Final = re.compile(r"\b(?:struct|union|enum)\b[^;,(){}*]*(?:\([^{}]*\)[^;,(){}*]*)?\{")


def _mentioned(tag: str, texts: Sequence[str]) -> bool:
    kind, _, name = tag.partition(" ")
    wanted = re.compile(rf"\b{kind}\b(?:\s|/\*.*?\*/)+{re.escape(name)}\b", re.DOTALL)
    return any(wanted.search(text) for text in texts)


def _closed(data: bytes, stop: int) -> int:
    """Where the arguments of a macro end whose name ends at `stop`; `stop` if there are none."""
    at = stop
    while data[at : at + 1].isspace():
        at += 1
    if data[at : at + 1] != b"(":
        return stop
    depth = 0
    for bracket in _BRACKET.finditer(data, at):
        depth += 1 if bracket[0] == b"(" else -1
        if depth == 0:
            return bracket.end()
    return stop


def fill_files(tree: dict[str, Any], main: str) -> None:
    """Give every position outside of `main` the name of its file, which Clang prints only when it changes.

    Positions are visited in the order in which they were printed."""
    current = ""
    stack: list[dict[str, Any]] = [tree]
    while stack:
        node = stack.pop()
        range_ = node.get("range")
        for place in (node.get("loc"), *(range_.values() if range_ else ())):
            if not place:
                continue
            parts = (place,) if "offset" in place else (place.get("spellingLoc"), place.get("expansionLoc"))
            for position in parts:
                if position:
                    if "file" in position:
                        current = position["file"]
                    elif current != main:
                        position["file"] = current
        children = node.get("array_filler") or node.get("inner")
        if children:
            stack.extend(reversed(children))


class FileText:
    """The bytes of one file, the starts of its lines and what its line markers claim."""

    def __init__(self, data: bytes, shown: str) -> None:
        self.data = data
        self.shown = shown
        self._ascii = data.isascii()
        self._starts = [0]
        at = data.find(b"\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = data.find(b"\n", at + 1)
        self._marked: list[int] = []  # lines of the markers
        self._claims: list[tuple[str, int]] = []  # file and line that the next line claims to be
        self._read_markers()

    def _read_markers(self) -> None:
        file = self.shown
        if b"#" not in self.data:
            return
        for match in _MARKER.finditer(self.data):
            if match.group(2) is not None:
                file = re.sub(rb"\\(.)", rb"\1", match.group(2)).decode(errors="replace")
            self._marked.append(bisect_right(self._starts, match.start(1)))
            self._claims.append((file, int(match.group(1))))

    @cached_property
    def macros(self) -> dict[str, str]:
        """What the macros of the file are defined as; all definitions of one name together."""
        found: dict[str, str] = {}
        for match in _MACRO.finditer(self.data):
            name, text = match[1].decode(), match[2].decode(errors="replace")
            found[name] = found.get(name, "") + text
        return found

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1; columns count characters."""
        line = bisect_right(self._starts, offset)
        start = self._starts[line - 1]
        if self._ascii:
            return line, offset - start + 1
        return line, len(self.data[start:offset].decode(errors="replace")) + 1

    def end(self, offset: int, line: int) -> tuple[int, int]:
        """The same for the end of a stretch that starts in `line`, where it mostly ends too."""
        if self._ascii and (line == len(self._starts) or offset < self._starts[line]):
            return line, offset - self._starts[line - 1] + 1
        return self.position(offset)

    def presumed(self, line: int) -> tuple[str, int]:
        if not self._marked:
            return self.shown, line
        at = bisect_right(self._marked, line - 1) - 1
        if at < 0:
            return self.shown, line
        file, claimed = self._claims[at]
        return file, claimed + line - self._marked[at] - 1


class Positions:
    """Spans of the nodes of one tree. `main` is the file as Clang knows it, `shown` as the user does. If it
    was `edited` for Clang, spans are those of the original."""

    def __init__(self, main: str, shown: str, data: bytes, edited: EditedText | None = None) -> None:
        self.main = main
        self.text = FileText(data, shown)
        self._edited = edited
        self._original = self.text if edited is None else FileText(edited.original, shown)
        self._texts: dict[str, FileText | None] = {main: self.text}
        self._spans: dict[tuple[str, int, int], Span] = {}
        self.nowhere = Span(shown, 1, 1, 1, 1, shown, 1)

    def span(self, node: dict[str, Any], otherwise: Span | None = None) -> Span:
        """The span of a node's range; a macro's expansion stands where its name stands."""
        try:  # the common case: no macro, no other file
            range_ = node["range"]
            begin, end = range_["begin"], range_["end"]
            key = (begin.get("file", self.main), begin["offset"], end["offset"] + end["tokLen"])
        except KeyError:
            return self._expanded(node, otherwise)
        found = self._spans.get(key)
        if found is None:
            if key[2] < key[1] or "file" in end:
                return self._expanded(node, otherwise)
            found = self._spans[key] = self._make(*key)
        return found

    def _expanded(self, node: dict[str, Any], otherwise: Span | None) -> Span:
        range_ = node.get("range")
        if not range_:
            return otherwise or self.nowhere
        begin, end = range_.get("begin"), range_.get("end")
        if not begin:
            return otherwise or self.nowhere
        begin = begin.get("expansionLoc", begin)
        end = end.get("expansionLoc", end) if end else begin
        first = begin.get("offset")
        if first is None:
            return otherwise or self.nowhere
        last = end.get("offset", first) + end.get("tokLen", 0)
        file = begin.get("file", self.main)
        if end.get("file", self.main) != file or last < first:
            last = first + begin.get("tokLen", 0)
        key = (file, first, last)
        found = self._spans.get(key)
        if found is None:
            found = self._spans[key] = self._make(file, first, last)
        return found

    def _make(self, file: str, first: int, last: int) -> Span:
        text = self._text(file)
        if text is None:
            return Span(file, 1, 1, 1, 1, file, 1)
        if self._edited is not None and text is self.text:
            text, first, last = self._original, self._edited.back(first), self._edited.back(last)
        line, column = text.position(first)
        end_line, end_column = text.end(last, line)
        claimed_file, claimed_line = text.presumed(line)
        return Span(text.shown, line, column, end_line, end_column, claimed_file, claimed_line)

    def _text(self, file: str) -> FileText | None:
        if file not in self._texts:
            try:
                self._texts[file] = FileText(Path(file).read_bytes(), os.path.normpath(file))
            except OSError:
                self._texts[file] = None
        return self._texts[file]

    def claimed(self, location: dict[str, Any]) -> str:
        """`file:line:column` as Clang prints it in the names of unnamed records."""
        location = location.get("expansionLoc", location)
        file = location.get("file", self.main)
        text = self._text(file)
        if text is None or "offset" not in location:
            return "?"
        line, _ = text.position(location["offset"])
        claimed, number = text.presumed(line)
        if claimed == text.shown:
            claimed = file
        return f"{claimed}:{number}:{location.get('col', 0)}"

    def defines_tag(self, node: dict[str, Any], tag: str, is_typedef: Callable[[str], bool]) -> bool:
        """Whether the type that a node is written with may define `tag` (`struct s`), which the tree does not
        show: false only if the text, or the macro that is used there, mentions the tag or, for a parameter, a
        typedef of an array, and defines none."""
        texts = self._written(node)
        words = {word for text in texts for word in _WORD.findall(text)}
        if texts and not _mentioned(tag, texts):
            known = [text for text in self._texts.values() if text is not None]
            texts += [text.macros[word] for word in sorted(words) for text in known if word in text.macros]
        behind = node["kind"] == "ParmVarDecl" and any(map(is_typedef, words))
        return not (behind or _mentioned(tag, texts)) or any(_TAG_BODY.search(text) for text in texts)

    def _written(self, node: dict[str, Any]) -> list[str]:
        """The text of a node where it stands and, if it comes from a macro, in the macro's definition."""
        range_ = node.get("range", {})
        begin, end = range_.get("begin", {}), range_.get("end", {})
        found: list[str] = []
        for part in ("expansionLoc", "spellingLoc") if "spellingLoc" in begin else ("",):
            first, last = begin.get(part, begin), end.get(part, end)
            text = self._text(first.get("file", self.main))
            if text is None or "offset" not in first:
                continue
            start = first["offset"]
            stop = max(last.get("offset", 0), start) + last.get("tokLen", 1)
            if first.get("file") != last.get("file"):
                stop = start + first.get("tokLen", 1)
            if text.data[start : start + 1] == b"(":  # a cast, whose operand does not matter
                stop = start
            found.append(text.data[start : _closed(text.data, stop)].decode(errors="replace"))
        return found

    def brackets(self, node: dict[str, Any]) -> list[str]:
        """What stands between square brackets in the text of a declaration, macros in it written out once."""
        texts = self._written(node)
        words = sorted({word for text in texts for word in _WORD.findall(text)})
        known = [text for text in self._texts.values() if text is not None]
        texts += [text.macros[word] for word in words for text in known if word in text.macros]
        return [part for text in texts for part in _IN_BRACKETS.findall(text)]

    def macro(self, name: str) -> str | None:
        """What a macro is defined as; None if no file that was read defines it."""
        known = [text.macros[name] for text in self._texts.values() if text and name in text.macros]
        return "".join(known) if known else None

    def spelled(self, node: dict[str, Any]) -> str | None:
        """The whole text of a node as it is spelled; None if it does not stand in one piece of one file."""
        begin, end = (node.get("range", {}).get(part, {}) for part in ("begin", "end"))
        if ("spellingLoc" in begin) != ("spellingLoc" in end):
            return None
        begin, end = begin.get("spellingLoc", begin), end.get("spellingLoc", end)
        text = self._text(begin.get("file", self.main))
        if text is None or begin.get("file") != end.get("file") or "offset" not in begin:
            return None
        stop = end.get("offset", 0) + end.get("tokLen", 0)
        return text.data[begin["offset"] : stop].decode(errors="replace")

    def source_of(self, node: dict[str, Any], length: int = 400) -> str | None:
        """The text from a node's first token on, as it is spelled; None if it stands in no file."""
        begin = node.get("range", {}).get("begin", {})
        begin = begin.get("spellingLoc", begin)
        text = self._text(begin.get("file", self.main))
        offset = begin.get("offset")
        if text is None or offset is None:
            return None
        return text.data[offset : offset + length].decode(errors="replace")
