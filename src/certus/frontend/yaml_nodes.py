"""YAML files as nodes that know where they stand, for whatever checks their shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.frontend.source import read_source

_DEPTH: Final = 40  # of nesting; the reader of YAML is recursive


class Nodes:
    """A YAML file as nodes with positions, whose kinds are checked as they are looked at. `what` is what it
    should be, for people; `code` is that of what is refused, and `twice` that of a key that is repeated."""

    def __init__(self, path: Path, what: str, code: str, *, twice: str | None = None) -> None:
        self.path = path
        self._source = read_source(path)
        self._what = what
        self._code = code
        self._twice = twice

    def root(self) -> Any:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, if it is there
        try:
            self._check_depth(yaml.parse(self._source.text, Loader=loader))
            node = yaml.compose(self._source.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            what = " ".join(part for part in (error.context, error.problem) if part)
            mark = error.problem_mark or error.context_mark
            span = self._start() if mark is None else self._at(mark, mark)
            self._fail(f"This is not YAML: {what}.", span)
        except yaml.YAMLError as error:
            self._fail(f"This is not YAML: {' '.join(str(error).split())}.", self._start())
        if node is None:
            self._fail(f"The file is empty, and not {self._what}.", self._start())
        return node

    def _check_depth(self, events: Iterator[Any]) -> None:
        import yaml

        depth = 0
        for event in events:
            if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
                depth += 1
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                depth -= 1
            if depth > _DEPTH:
                where = self._at(event.start_mark, event.end_mark)
                self._fail(f"This is nested too deeply for {self._what}.", where)

    def is_scalar(self, node: Any) -> bool:
        return bool(node.id == "scalar")

    def text(self, node: Any, what: str) -> str:
        if not self.is_scalar(node) or not node.value:
            self.refuse(node, f"`{what}` is not a single value.")
        if "\0" in node.value:
            self.refuse(node, f"`{what}` contains a NUL character.", "Remove it.")
        return str(node.value)

    def sequence(self, node: Any, what: str) -> list[Any]:
        if node.id != "sequence":
            self.refuse(node, f"{what} is not a list.")
        return list(node.value)

    def mapping(self, node: Any, what: str) -> Mapping[str, Any]:
        """The entries whose keys are words."""
        if node.id != "mapping":
            self.refuse(node, f"{what} is not a list of `key: value`.")
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not self.is_scalar(key):
                continue
            if key.value in found:
                self.refuse(key, f"The key `{key.value}` stands here twice.", code=self._twice)
            found[key.value] = value
        return found

    def required(self, fields: Mapping[str, Any], name: str, owner: Any = None) -> Any:
        """A field that must be there; `owner` is the node that should have it, if not the whole file."""
        if name not in fields:
            whole = self._what[0].upper() + self._what[1:]
            if owner is None:
                self._fail(f"{whole} needs `{name}`, which is not there.", self._start())
            self.refuse(owner, f"`{name}` is missing here.")
        return fields[name]

    def span(self, node: Any) -> Span:
        return self._at(node.start_mark, node.end_mark)

    def refuse(
        self, node: Any, message: str, hint: str | None = None, *, code: str | None = None
    ) -> NoReturn:
        self._fail(message, self.span(node), hint, code)

    def _start(self) -> Span:
        return Span(self._source.file, 1, 1, 1, 1, self._source.file, 1)

    def _at(self, start: Any, end: Any) -> Span:
        file, line = self._source.file, start.line + 1
        return Span(file, line, start.column + 1, end.line + 1, end.column + 1, file, line)

    def _fail(self, message: str, span: Span, hint: str | None = None, code: str | None = None) -> NoReturn:
        raise InputError([Diagnostic(code or self._code, message, span=span, hint=hint)])
