"""Read task definitions (`.yml`) of SV-COMP: input files, data model, properties and expected verdicts.

A task file that is malformed or contradicts itself, its files or the command line is rejected, with the line
of the problem.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.vocabulary import PARTS, SUPPORTED, UNREACH_CALL, Property
from certus.frontend import C_SUFFIXES, CHC_SUFFIXES, MODELS, SUFFIXES
from certus.frontend.tasks.properties import property_of, read_property_file

if TYPE_CHECKING:
    import yaml

    from certus.frontend.tasks.yaml_nodes import Nodes

_LANGUAGES: Final = {"C": C_SUFFIXES, "SMT-LIB": CHC_SUFFIXES}

_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class TaskProperty:
    """A property of a task file, with the expected verdict (None if it has none)."""

    property: Property
    expected: bool | None
    span: Span


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task definition; `data_model` is None if it has none."""

    path: Path
    inputs: tuple[Path, ...]
    properties: tuple[TaskProperty, ...]
    data_model: str | None
    data_model_span: Span | None

    def choose(self, wanted: str | None) -> TaskProperty:
        """Return the property with this name; if None, `unreach-call`, else the first supported one."""
        if wanted is None:
            return min(self.properties, key=lambda each: _rank(each.property))
        asked = property_of(wanted)
        for each in self.properties:
            if each.property == asked or (asked.function is None and each.property.name == asked.name):
                return each
        titles = ", ".join(_title(each.property) for each in self.properties)
        message = f"{self.path} does not have the property {_title(asked)}."
        span = self.properties[0].span
        raise InputError(
            [Diagnostic("contradictory-task", message, span=span, hint=f"Its properties are: {titles}.")]
        )


def read_task_file(path: Path) -> TaskFile:
    """Read a task definition; raise `InputError` with a position if it is malformed."""
    from certus.frontend.tasks.yaml_nodes import Nodes

    reader = Nodes(path, "a task definition", "bad-task-file", twice="contradictory-task")
    root = reader.mapping(reader.root(), "A task definition")
    version = reader.text(reader.required(root, "format_version"), "format_version")
    if not version.startswith("2."):
        message = f"The format version is {version}, but Certus reads version 2."
        reader.refuse(root["format_version"], message, "Write `format_version: '2.0'`.")
    options = reader.mapping(root["options"], "`options`") if "options" in root else {}
    model = options.get("data_model")
    if model is not None and reader.text(model, "data_model") not in MODELS:
        reader.refuse(model, f"There is no data model {model.value}.", f"Choose {' or '.join(MODELS)}.")
    language = options.get("language")
    files = _input_files(reader, reader.required(root, "input_files"))
    for file in files:
        _check_language(reader, language, file)
    return TaskFile(
        path,
        files,
        _properties(reader, reader.required(root, "properties")),
        None if model is None else model.value,
        None if model is None else reader.span(model),
    )


def _input_files(reader: Nodes, node: yaml.Node) -> tuple[Path, ...]:
    nodes = [node] if reader.is_scalar(node) else list(reader.sequence(node, "`input_files`"))
    if not nodes:
        reader.refuse(node, "The task has no input files.", "List the files of the program.")
    files: dict[str, Path] = {}
    for each in nodes:
        path = reader.path.parent / reader.text(each, "input_files")
        if not path.is_file():
            hint = "Paths are relative to the task file."
            reader.refuse(each, f"There is no input file {path}.", hint, code="cannot-read")
        if path.suffix.lower() in SUFFIXES:
            reader.refuse(each, f"The input file {path} is a task definition.", "Name a program instead.")
        if len(nodes) > 1 and path.suffix.lower() not in C_SUFFIXES:
            message = f"The task has {len(nodes)} input files, but {path} is not a C file."
            reader.refuse(each, message, "Only C programs can have several files.")
        if files.setdefault(os.path.realpath(path), path) is not path:
            reader.refuse(each, f"The input file {path} is listed twice.", "List each file once.")
    return tuple(files.values())


def _check_language(reader: Nodes, node: yaml.Node | None, file: Path) -> None:
    if node is None:
        return
    language = reader.text(node, "language")
    if language not in _LANGUAGES:
        message = f"Tasks in the language {language} are not supported yet."
        hint = f"Supported: {', '.join(_LANGUAGES)}."
        raise Unsupported(Diagnostic("unsupported-language", message, span=reader.span(node), hint=hint))
    suffixes = _LANGUAGES[language]
    if file.suffix.lower() not in suffixes:
        message = f"The language is {language}, but {file.name} is not a {language} file by its suffix."
        hint = f"{language} files end in {' or '.join(suffixes)}."
        reader.refuse(node, message, hint, code="contradictory-task")


def _properties(reader: Nodes, node: yaml.Node) -> tuple[TaskProperty, ...]:
    properties: dict[Property, TaskProperty] = {}
    for entry in reader.sequence(node, "`properties`"):
        each = _property(reader, entry)
        earlier = properties.setdefault(each.property, each)
        if earlier.expected is not each.expected:
            name, line = each.property.name, earlier.span.line
            message = f"The property {name} has another expected verdict in line {line}."
            reader.refuse(entry, message, "Remove one of them.", code="contradictory-task")
    if not properties:
        reader.refuse(node, "The task has no properties.", "Add `- property_file: ...`.")
    return tuple(properties.values())


def _property(reader: Nodes, entry: yaml.Node) -> TaskProperty:
    fields = reader.mapping(entry, "A property")
    named = fields.get("property_file")
    if named is None:
        reader.refuse(entry, "This property has no `property_file`.", "Add `property_file: ...`.")
    path = reader.path.parent / reader.text(named, "property_file")
    if not path.is_file():
        hint = "Paths are relative to the task file."
        reader.refuse(named, f"There is no property file {path}.", hint, code="cannot-read")
    wanted = read_property_file(path)
    expected = None
    if "expected_verdict" in fields:
        verdict = fields["expected_verdict"]
        expected = _BOOLEANS.get(reader.text(verdict, "expected_verdict").lower())
        if expected is None:
            reader.refuse(verdict, "The expected verdict is neither true nor false.", "Write one of them.")
    if "subproperty" in fields:
        _check_subproperty(reader, fields["subproperty"], wanted, expected)
    return TaskProperty(wanted, expected, reader.span(named))


def _check_subproperty(reader: Nodes, node: yaml.Node, wanted: Property, expected: bool | None) -> None:
    """Check that a subproperty, the violated part of a property, fits the property and the verdict."""
    name = reader.text(node, "subproperty")
    if expected is not False:
        message = f"The subproperty {name} is violated, but the expected verdict is not false."
        hint = "Remove `subproperty`, or write `expected_verdict: false`."
        reader.refuse(node, message, hint, code="contradictory-task")
    if name not in PARTS.get(wanted.name, ()):
        message = f"{name} is not a part of the property {wanted.name}."
        reader.refuse(node, message, "Remove `subproperty`.", code="contradictory-task")


def _rank(wanted: Property) -> int:
    return 0 if wanted.name == UNREACH_CALL else 1 if wanted.name in SUPPORTED else 2


def _title(wanted: Property) -> str:
    return wanted.name if wanted.function is None else f"{wanted.name} ({wanted.function})"
