"""Task definitions (`.yml`) as in SV-COMP: the input, its data model, properties and their expected verdicts.

What is asked is a `Question`; it comes from a task file or from the user alone. A task file that is malformed
or contradicts itself, its files or the user is refused at the line in question.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

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
from certus.frontend.yaml_nodes import Nodes

SUFFIXES: Final = (".yml", ".yaml")
C_SUFFIXES: Final = (".c", ".i")
CHC_SUFFIXES: Final = (".smt2",)
_LANGUAGES: Final = {"C": C_SUFFIXES, "SMT-LIB": CHC_SUFFIXES}
MODELS: Final = ("ILP32", "LP64")

_BOOLEANS: Final = {"true": True, "false": False}
_SUBPROPERTIES: Final = {"valid-memsafety": ("valid-deref", "valid-free", "valid-memtrack")}


@dataclass(frozen=True, slots=True)
class Question:
    """Does the program in `file` have the property? `others` are the further files of a program in several.
    `data_model` is None where the language has none, `expected` is the verdict that the task file states, and
    `span` the place where it asks."""

    file: Path
    property: Property
    data_model: str | None = None
    expected: bool | None = None
    span: Span | None = None
    others: tuple[Path, ...] = ()

    @builtins.property
    def files(self) -> tuple[Path, ...]:
        return (self.file, *self.others)


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
    inputs: tuple[Path, ...]
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


def read_question(
    path: Path | Sequence[Path], *, property: str | None = None, data_model: str | None = None
) -> Question:
    """What to verify, from a program (in one file, or for C in several) or a task file, and what the user
    says. Raises `InputError`."""
    if not isinstance(path, Path):
        first, *others = path
        _check_files(path)
        asked = read_question(first, property=property, data_model=data_model)
        return replace(asked, others=(*asked.others, *others))
    if path.suffix.lower() not in SUFFIXES or path.is_dir():
        usual = CHECK_SAT if path.suffix.lower() in CHC_SUFFIXES else UNREACH_CALL
        return Question(path, property_of(property or usual), data_model)
    task = read_task_file(path)
    if data_model is not None and task.data_model not in (None, data_model):
        message = f"The task file says {task.data_model}, the command line {data_model}."
        hint = "Leave out --data-model."
        raise InputError([Diagnostic("contradictory-task", message, span=task.data_model_span, hint=hint)])
    chosen = task.choose(property)
    model, (first, *others) = data_model or task.data_model, task.inputs
    return Question(first, chosen.property, model, chosen.expected, chosen.span, tuple(others))


def _check_files(paths: Sequence[Path]) -> None:
    """Refuse several files that are not the files of one C program."""
    if len(paths) == 1:
        return
    for path in paths:
        if path.suffix.lower() not in C_SUFFIXES:
            message = f"Several files are given, and {path} is no C file by its name."
            hint = f"C files end in {' or '.join(C_SUFFIXES)}."
            raise InputError([Diagnostic("usage", message, hint=hint)])
    seen: set[str] = set()
    for path in paths:
        place = os.path.realpath(path)
        if place in seen:
            raise InputError([Diagnostic("usage", f"{path} is given twice.", hint="Name each file once.")])
        seen.add(place)


def read_task_file(path: Path) -> TaskFile:
    """The task definition in a file. Raises `InputError`, located, if it is none."""
    reader = Nodes(path, "a task definition", "bad-task-file", twice="contradictory-task")
    root = reader.mapping(reader.root(), "A task definition")
    version = reader.text(reader.required(root, "format_version"), "format_version")
    if not version.startswith("2."):
        reader.refuse(root["format_version"], f"The format version {version} is not 2.0.")
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


def _input_files(reader: Nodes, node: Any) -> tuple[Path, ...]:
    nodes = [node] if reader.is_scalar(node) else list(reader.sequence(node, "`input_files`"))
    if not nodes:
        reader.refuse(node, "The task has no input files.")
    found: dict[str, Path] = {}
    for each in nodes:
        path = reader.path.parent / reader.text(each, "input_files")
        if not path.is_file():
            reader.refuse(each, f"There is no input file {path}.", code="cannot-read")
        if path.suffix.lower() in SUFFIXES:
            reader.refuse(each, f"The input {path} is a task definition, not a program.")
        if len(nodes) > 1 and path.suffix.lower() not in C_SUFFIXES:
            reader.refuse(each, f"The task has {len(nodes)} input files, and {path} is no C file.")
        if found.setdefault(os.path.realpath(path), path) is not path:
            reader.refuse(each, f"The input file {path} is named twice.")
    return tuple(found.values())


def _check_language(reader: Nodes, node: Any, file: Path) -> None:
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


def _properties(reader: Nodes, node: Any) -> tuple[TaskProperty, ...]:
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


def _property(reader: Nodes, entry: Any) -> TaskProperty:
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


def _check_subproperty(reader: Nodes, node: Any, wanted: Property, expected: bool | None) -> None:
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
