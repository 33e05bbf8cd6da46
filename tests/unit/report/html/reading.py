"""Parse a page as a browser does, and check that it contains nothing forbidden."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """`elements` are all of (tag, attributes), `ids` the text inside elements that have one, `scripts` the
    contents of scripts by their type ("" for one that runs)."""

    def __init__(self, words: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: dict[str, str] = {}
        self.scripts: list[tuple[str, str]] = []
        self.comments: list[str] = []
        self._open: list[tuple[str, str | None]] = []
        self.feed(words)
        self.close()
        assert self._open == [], "elements are closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        name = attributes.get("id")
        if name is not None:
            assert name not in self.ids, f"{name} is there twice"
            self.ids[name] = ""
        if tag == "script":
            self.scripts.append((attributes.get("type") or "", ""))
        if tag not in VOID:
            self._open.append((tag, name))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            kind, words = self.scripts[-1]
            self.scripts[-1] = (kind, words + data)
            return
        for _, name in self._open:
            if name is not None:
                self.ids[name] += data

    @property
    def trace(self) -> Any:
        return json.loads(next(words for kind, words in self.scripts if kind == "application/json"))

    def tags(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == tag]
