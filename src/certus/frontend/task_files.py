"""Task definitions (`.yml`) as in SV-COMP: an input, its data model, properties and their expected verdicts.

What is asked is a `Question`; it comes from a task file or from the user alone. A task file that is malformed
or contradicts itself, its files or the user is refused at the line in question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.frontend.properties import (
    CHECK_SAT,
    SUPPORTED,
    UNREACH_CALL,
    Property,
    property_of,
    read_property_file,
)
from certus.frontend.source import read_source

SUFFIXES: Final = (".yml", ".yaml")
C_SUFFIXES: Final = (".c", ".i")
CHC_SUFFIXES: Final = (".smt2",)
_LANGUAGES: Final = {"C": C_SUFFIXES, "SMT-LIB": CHC_SUFFIXES}
MODELS: Final = ("ILP32", "LP64")

_DEPTH: Final = 40  # of nesting in a task file; the reader of YAML is recursive
_BOOLEANS: Final = {"true": True, "false": False}
_SUBPROPERTIES: Final = {"valid-memsafety": ("valid-deref", "valid-free", "valid-memtrack")}


@dataclass(frozen=True, slots=True)
class Question:
    """Does the program in `file` have the property? `data_model` is None where the language has none,
    `expected` is the verdict that the task file states, and `span` the place where it asks."""

    file: Path
    property: Property
    data_model: str | None = None
    expected: bool | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class TaskProperty:
    """A property of a task file, with the verdict that its authors expect (None: not known)."""

    property: Property
    expected: bool | None
    span: Span


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task definition. `data_model` is None if it states none."""

    path: Path
    input: Path
    properties: tuple[TaskProperty, ...]
    data_model: str | None
    data_model_span: Span | None

    def choose(self, wanted: str | None) -> TaskProperty:
        """The property a user names; else `unreach-call`, else the first that is supported."""
        if wanted is None:
            return min(self.properties, key=lambda each: _rank(each.property))
        asked = property_of(wanted)
        for each in self.properties:
            if each.property == asked or (asked.function is None and each.property.name == asked.name):
                return each
        known = ", ".join(_title(each.property) for each in self.properties)
        message = f"{self.path} does not ask for the property {_title(asked)}."
        span = self.properties[0].span
        raise InputError(
            [Diagnostic("contradictory-task", message, span=span, hint=f"It asks for: {known}.")]
        )


def read_question(path: Path, *, property: str | None = None, data_model: str | None = None) -> Question:
    """What to verify, from a program or a task file and what the user says. Raises `InputError`."""
    if path.suffix.lower() not in SUFFIXES or path.is_dir():
        usual = CHECK_SAT if path.suffix.lower() in CHC_SUFFIXES else UNREACH_CALL
        return Question(path, property_of(property or usual), data_model)
    task = read_task_file(path)
    if data_model is not None and task.data_model not in (None, data_model):
        message = f"The task file says {task.data_model}, the command line {data_model}."
        hint = "Leave out --data-model."
        raise InputError([Diagnostic("contradictory-task", message, span=task.data_model_span, hint=hint)])
    chosen = task.choose(property)
    return Question(task.input, chosen.property, data_model or task.data_model, chosen.expected, chosen.span)


def read_task_file(path: Path) -> TaskFile:
    """The task definition in a file. Raises `InputError`, located, if it is none."""
    reader = _Reader(path)
    root = reader.mapping(reader.root(), "A task definition")
    version = reader.text(reader.required(root, "format_version"), "format_version")
    if not version.startswith("2."):
        reader.refuse(root["format_version"], f"The format version {version} is not 2.0.")
    options = reader.mapping(root["options"], "`options`") if "options" in root else {}
    model = options.get("data_model")
    if model is not None and reader.text(model, "data_model") not in MODELS:
        reader.refuse(model, f"There is no data model {model.value}.", f"Choose {' or '.join(MODELS)}.")
    language = options.get("language")
    file = _input_file(reader, reader.required(root, "input_files"))
    _check_language(reader, language, file)
    return TaskFile(
        path,
        file,
        _properties(reader, reader.required(root, "properties")),
        None if model is None else model.value,
        None if model is None else reader.span(model),
    )


def _input_file(reader: _Reader, node: Any) -> Path:
    nodes = [node] if reader.is_scalar(node) else list(reader.sequence(node, "`input_files`"))
    if len(nodes) != 1:
        reader.refuse(node, f"The task has {len(nodes)} input files; Certus reads programs in one file.")
    path = reader.path.parent / reader.text(nodes[0], "input_files")
    if not path.is_file():
        reader.refuse(nodes[0], f"There is no input file {path}.", code="cannot-read")
    if path.suffix.lower() in SUFFIXES:
        reader.refuse(nodes[0], f"The input {path} is a task definition, not a program.")
    return path


def _check_language(reader: _Reader, node: Any, file: Path) -> None:
    if node is None:
        return
    language = reader.text(node, "language")
    if language not in _LANGUAGES:
        message = f"Tasks in the language {language} are not supported yet."
        raise Unsupported(Diagnostic("unsupported-language", message, span=reader.span(node)))
    suffixes = _LANGUAGES[language]
    if file.suffix.lower() not in suffixes:
        message = f"The language is {language}, but {file.name} is no {language} file by its name."
        hint = f"{language} files end in {' or '.join(suffixes)}."
        reader.refuse(node, message, hint, code="contradictory-task")


def _properties(reader: _Reader, node: Any) -> tuple[TaskProperty, ...]:
    found: dict[Property, TaskProperty] = {}
    for entry in reader.sequence(node, "`properties`"):
        each = _property(reader, entry)
        earlier = found.setdefault(each.property, each)
        if earlier.expected is not each.expected:
            message = (
                f"The property {each.property.name} has another expected verdict in line {earlier.span.line}."
            )
            reader.refuse(entry, message, code="contradictory-task")
    if not found:
        reader.refuse(node, "The task has no properties.")
    return tuple(found.values())


def _property(reader: _Reader, entry: Any) -> TaskProperty:
    fields = reader.mapping(entry, "A property")
    named = fields.get("property_file")
    if named is None:
        reader.refuse(entry, "This property has no `property_file`.")
    path = reader.path.parent / reader.text(named, "property_file")
    if not path.is_file():
        reader.refuse(named, f"There is no property file {path}.", code="cannot-read")
    wanted = read_property_file(path)
    expected = None
    if "expected_verdict" in fields:
        verdict = fields["expected_verdict"]
        expected = _BOOLEANS.get(reader.text(verdict, "expected_verdict").lower())
        if expected is None:
            reader.refuse(verdict, "The expected verdict is neither true nor false.")
    if "subproperty" in fields:
        _check_subproperty(reader, fields["subproperty"], wanted, expected)
    return TaskProperty(wanted, expected, reader.span(named))


def _check_subproperty(reader: _Reader, node: Any, wanted: Property, expected: bool | None) -> None:
    """A subproperty says which part of the property is violated."""
    name = reader.text(node, "subproperty")
    if expected is not False:
        message = f"The subproperty {name} is violated, but the expected verdict is not false."
        reader.refuse(node, message, code="contradictory-task")
    if name not in _SUBPROPERTIES.get(wanted.name, ()):
        message = f"{name} is no part of the property {wanted.name}."
        reader.refuse(node, message, code="contradictory-task")


def _rank(wanted: Property) -> int:
    return 0 if wanted.name == UNREACH_CALL else 1 if wanted.name in SUPPORTED else 2


def _title(wanted: Property) -> str:
    return wanted.name if wanted.function is None else f"{wanted.name} ({wanted.function})"


class _Reader:
    """A YAML file as nodes with positions, whose kinds are checked as they are looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._source = read_source(path)

    def root(self) -> Any:
        import yaml

        try:
            self._check_depth(yaml.parse(self._source.text, Loader=yaml.SafeLoader))
            node = yaml.compose(self._source.text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            what = " ".join(part for part in (error.context, error.problem) if part)
            mark = error.problem_mark or error.context_mark
            span = self._start() if mark is None else self._at(mark, mark)
            self._fail(f"This is not YAML: {what}.", span)
        except yaml.YAMLError as error:
            self._fail(f"This is not YAML: {' '.join(str(error).split())}.", self._start())
        if node is None:
            self._fail("The task file is empty.", self._start())
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
                self._fail("This is nested too deeply for a task definition.", where)

    def is_scalar(self, node: Any) -> bool:
        return bool(node.id == "scalar")

    def text(self, node: Any, what: str) -> str:
        if not self.is_scalar(node) or not node.value:
            self.refuse(node, f"`{what}` is not a single value.")
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
                self.refuse(key, f"The key `{key.value}` stands here twice.", code="contradictory-task")
            found[key.value] = value
        return found

    def required(self, fields: Mapping[str, Any], name: str) -> Any:
        if name not in fields:
            self._fail(f"The task definition has no `{name}`.", self._start())
        return fields[name]

    def span(self, node: Any) -> Span:
        return self._at(node.start_mark, node.end_mark)

    def refuse(
        self, node: Any, message: str, hint: str | None = None, *, code: str = "bad-task-file"
    ) -> NoReturn:
        self._fail(message, self.span(node), hint, code)

    def _start(self) -> Span:
        return Span(self._source.file, 1, 1, 1, 1, self._source.file, 1)

    def _at(self, start: Any, end: Any) -> Span:
        file, line = self._source.file, start.line + 1
        return Span(file, line, start.column + 1, end.line + 1, end.column + 1, file, line)

    def _fail(
        self, message: str, span: Span, hint: str | None = None, code: str = "bad-task-file"
    ) -> NoReturn:
        raise InputError([Diagnostic(code, message, span=span, hint=hint)])
