"""Read YAML files as nodes with positions, and check their structure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.frontend.source import read_source

if TYPE_CHECKING:
    import yaml

_DEPTH: Final = 40  # deepest nesting; the YAML library is recursive


class Nodes:
    """A YAML file as nodes with positions. `what` names the kind of file in messages, `code` is the
    diagnostic code of errors in it, and `twice` that of a repeated key."""

    def __init__(self, path: Path, what: str, code: str, *, twice: str | None = None) -> None:
        self.path = path
        self._source = read_source(path)
        self._what = what
        self._code = code
        self._twice = twice

    def root(self) -> yaml.Node:
        """Parse the file; raise `InputError` if it is not YAML."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the former is ten times as fast
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
            self._fail(f"The file is empty, not {self._what}.", self._start())
        return node

    def _check_depth(self, events: Iterator[yaml.Event]) -> None:
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

    def is_scalar(self, node: yaml.Node) -> bool:
        return bool(node.id == "scalar")

    def text(self, node: yaml.Node, what: str) -> str:
        """Return the text of a node, which must be a single value."""
        if not self.is_scalar(node) or not node.value:
            self.refuse(node, f"`{what}` is not a single value.", "Write one value.")
        if "\0" in node.value:
            self.refuse(node, f"`{what}` contains a NUL character.", "Remove it.")
        return str(node.value)

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        """Return the items of a node, which must be a list."""
        if node.id != "sequence":
            self.refuse(node, f"{what} is not a list.", "Write each item on a line after `- `.")
        return list(node.value)

    def mapping(self, node: yaml.Node, what: str) -> Mapping[str, yaml.Node]:
        """Return the entries of a node, which must be a mapping, with single values as keys."""
        if node.id != "mapping":
            self.refuse(node, f"{what} is not a list of `key: value`.", "Write `key: value` on each line.")
        entries: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not self.is_scalar(key):
                continue
            if key.value in entries:
                self.refuse(key, f"The key `{key.value}` occurs twice.", "Remove one.", code=self._twice)
            entries[key.value] = value
        return entries

    def required(
        self, fields: Mapping[str, yaml.Node], name: str, owner: yaml.Node | None = None
    ) -> yaml.Node:
        """Return a mandatory field; `owner` is the node that should have it, if not the whole file."""
        if name not in fields:
            whole = self._what[0].upper() + self._what[1:]
            if owner is None:
                self._fail(f"{whole} needs `{name}`, which is missing.", self._start(), f"Add `{name}: ...`.")
            self.refuse(owner, f"`{name}` is missing here.", f"Add `{name}: ...`.")
        return fields[name]

    def span(self, node: yaml.Node) -> Span:
        return self._at(node.start_mark, node.end_mark)

    def refuse(
        self, node: yaml.Node, message: str, hint: str | None = None, *, code: str | None = None
    ) -> NoReturn:
        """Raise `InputError` at a node."""
        self._fail(message, self.span(node), hint, code)

    def _start(self) -> Span:
        return Span(self._source.file, 1, 1, 1, 1, self._source.file, 1)

    def _at(self, start: yaml.Mark, end: yaml.Mark) -> Span:
        file, line = self._source.file, start.line + 1
        return Span(file, line, start.column + 1, end.line + 1, end.column + 1, file, line)

    def _fail(self, message: str, span: Span, hint: str | None = None, code: str | None = None) -> NoReturn:
        raise InputError([Diagnostic(code or self._code, message, span=span, hint=hint)])
