"""Read witnesses, format 2.0. Every field is checked, and a malformed one is refused at its place.
Identifiers and times may be empty, since they say nothing about the program.

Of version 2.1 the part that is also in 2.0 is read. Its additions (ghost variables, contracts, threads,
transition invariants, non-termination) are recognised and refused, like older formats (GraphML, version 0.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.witness import (
    ACSL_EXPRESSION,
    C_EXPRESSION,
    EXTENDED_C_EXPRESSION,
    CorrectnessWitness,
    Place,
    ViolationWitness,
    Waypoint,
    Witness,
    WitnessInvariant,
    WitnessTask,
)
from certus.frontend import MODELS
from certus.frontend.source import read_source
from certus.frontend.tasks.yaml_nodes import Nodes

CODE: Final = "bad-witness"
VERSIONS: Final = ("2.0", "2.1")
VIOLATION, CORRECTNESS = "violation_sequence", "invariant_set"
_OLD_ENTRIES: Final = ("loop_invariant", "location_invariant", "loop-invariant", "precondition_")
_OTHER_KINDS: Final = {  # unsupported kinds of entries, invariants and waypoints, with their subjects
    "ghost_instrumentation": "ghost variables",
    "lemma_set": "lemmas",
    "protected_by": "locks",
    "flow_insensitive_invariant": "all program points at once",
    "loop_transition_invariant": "pairs of states",
    "location_transition_invariant": "pairs of states",
    "function_contract": "function contracts",
    "recurrence_condition": "non-termination",
    "cycle": "non-termination",
}
_INVARIANTS: Final = ("loop_invariant", "location_invariant")
_WAYPOINTS: Final = ("assumption", "branching", "function_enter", "function_return", "target")
_CONSTRAINED: Final = ("assumption", "branching")  # a constraint is required
_UNCONSTRAINED: Final = ("target", "function_enter")  # a constraint is not allowed
_BRANCHES: Final = re.compile(r"true|false|default|[+-]?\d+")
_HASH: Final = re.compile(r"[0-9a-fA-F]{64}")
_DIGITS: Final = re.compile(r"\d{1,9}")


def read_witness(path: Path) -> Witness:
    """Read a witness. Raises `InputError` with the place of the first mistake."""
    text = read_source(path).text.lstrip()
    if text.startswith("<"):
        span = Span(str(path), 1, 1, 1, 2, str(path), 1)
        message = "This is a GraphML witness (format 1.0), or no witness at all."
        raise InputError([Diagnostic(CODE, message, span=span, hint="Certus reads format 2.0, in YAML.")])
    return _Reader(Nodes(path, "a witness", CODE)).witness()


class _Reader:
    """Reads the parts of a witness from YAML nodes."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def witness(self) -> Witness:
        root = self._nodes.root()
        entries = self._nodes.sequence(root, "A witness")
        if not entries:
            self._nodes.refuse(root, "The witness has no entry.")
        witnesses = [self._entry(entry) for entry in entries]
        first = witnesses[0]
        if len(witnesses) == 1:
            return first
        invariants: list[WitnessInvariant] = []
        for witness, entry in zip(witnesses, entries, strict=True):
            if not isinstance(witness, CorrectnessWitness) or witness.task != first.task:
                message = "This entry is about another task or of another kind than the first one."
                self._nodes.refuse(entry, message, "Only sets of invariants may have several entries.")
            invariants.extend(witness.invariants)
        return CorrectnessWitness(first.task, tuple(invariants))

    def _entry(self, node: Any) -> Witness:
        kind = self._nodes.mapping(node, "An entry").get("entry_type")
        if kind is not None and self._nodes.is_scalar(kind) and str(kind.value).startswith(_OLD_ENTRIES):
            message = f"Entries of the kind {kind.value} belong to an older format than 2.0."
            self._nodes.refuse(kind, message, f"Certus reads {VIOLATION} and {CORRECTNESS}.")
        self._version(node)
        if kind is not None and self._nodes.is_scalar(kind):
            self._refuse_other(kind, "Entries of the kind")
        fields = self._fields(node, "An entry", ("entry_type", "metadata", "content"))
        name = self._one_of(fields["entry_type"], "entry_type", (VIOLATION, CORRECTNESS))
        task = self._metadata(fields["metadata"])
        content = self._nodes.sequence(fields["content"], "`content`")
        if name == CORRECTNESS:
            return CorrectnessWitness(task, tuple(self._invariant(each) for each in content))
        if not content:
            message = "The sequence has no segment; it needs at least one, with the target."
            self._nodes.refuse(fields["content"], message)
        segments = tuple(
            self._segment(each, is_last=number == len(content)) for number, each in enumerate(content, 1)
        )
        return ViolationWitness(task, segments)

    def _version(self, entry: Any) -> None:
        """Refuse other versions before anything else is read."""
        metadata = self._nodes.mapping(entry, "An entry").get("metadata")
        if metadata is None:
            return
        version = self._nodes.mapping(metadata, "`metadata`").get("format_version")
        if version is not None and self._text(version, "format_version") not in VERSIONS:
            message = f"The format version {version.value} is not {' or '.join(VERSIONS)}."
            self._nodes.refuse(version, message, f"Certus reads versions {' and '.join(VERSIONS)}.")

    def _refuse_other(self, node: Any, what: str) -> None:
        if str(node.value) in _OTHER_KINDS:
            message = (
                f"{what} {node.value} are about {_OTHER_KINDS[node.value]}, which Certus does not check."
            )
            self._nodes.refuse(node, message, "docs/witnesses.md lists what Certus checks.")

    # ------------------------------------------------------------------------------------- metadata

    def _metadata(self, node: Any) -> WitnessTask:
        names = ("format_version", "uuid", "creation_time", "producer", "task")
        fields = self._fields(node, "`metadata`", names)
        for name in ("uuid", "creation_time"):
            self._scalar(fields[name], name)
        more = ("configuration", "command_line", "description")
        producer = self._fields(fields["producer"], "`producer`", ("name", "version"), more)
        for name, each in producer.items():
            self._scalar(each, name)
        return self._task(fields["task"])

    def _task(self, node: Any) -> WitnessTask:
        names = ("input_files", "input_file_hashes", "data_model", "language")
        fields = self._fields(node, "`task`", names, ("specification",))
        inputs = fields["input_files"]
        listed = [inputs] if self._nodes.is_scalar(inputs) else self._nodes.sequence(inputs, "`input_files`")
        files = tuple(self._text(each, "input_files") for each in listed)
        hashes: dict[str, str] = {}
        for file, each in self._nodes.mapping(fields["input_file_hashes"], "`input_file_hashes`").items():
            digest = self._text(each, file)
            if _HASH.fullmatch(digest) is None:
                self._nodes.refuse(each, "This is not a SHA-256 sum: 64 hexadecimal digits are expected.")
            hashes[file] = digest.lower()
        for file, each in zip(files, listed, strict=True):
            if file not in hashes:
                self._nodes.refuse(each, f"`input_file_hashes` has no sum of {file}.")
        self._one_of(fields["language"], "language", ("C",))
        return WitnessTask(
            files,
            hashes,
            self._specification(fields.get("specification")),
            self._one_of(fields["data_model"], "data_model", MODELS),
            span=self._nodes.span(fields["input_file_hashes"]),
        )

    def _specification(self, node: Any) -> str:
        """Return the specification. Some tools leave it out or empty; then the user must name the
        property."""
        if node is None or (self._nodes.is_scalar(node) and not node.value):
            return ""
        return self._text(node, "specification")

    # -------------------------------------------------------------------------------------- content

    def _invariant(self, node: Any) -> WitnessInvariant:
        inner = self._fields(node, "An element of the set", ("invariant",))["invariant"]
        kind = self._nodes.mapping(inner, "`invariant`").get("type")
        if kind is not None and self._nodes.is_scalar(kind):
            self._refuse_other(kind, "Invariants of the type")
        fields = self._fields(inner, "`invariant`", ("type", "location", "value", "format"))
        return WitnessInvariant(
            self._one_of(fields["type"], "type", _INVARIANTS),
            self._location(fields["location"]),
            self._text(fields["value"], "value"),
            self._one_of(fields["format"], "format", (C_EXPRESSION, EXTENDED_C_EXPRESSION)),
            self._nodes.span(fields["value"]),
        )

    def _segment(self, node: Any, *, is_last: bool) -> tuple[Waypoint, ...]:
        if "cycle" in self._nodes.mapping(node, "An element of the sequence"):
            key = next(key for key, _ in node.value if key.value == "cycle")
            self._refuse_other(key, "Elements called")
        inner = self._fields(node, "An element of the sequence", ("segment",))["segment"]
        nodes = self._nodes.sequence(inner, "`segment`")
        waypoints = tuple(self._waypoint(each) for each in nodes)
        for number, (waypoint, each) in enumerate(zip(waypoints, nodes, strict=True), 1):
            action = "follow" if number == len(waypoints) else "avoid"
            if waypoint.action != action:
                message = (
                    f"The action must be `{action}`: the last waypoint of a segment is its only `follow`."
                )
                self._nodes.refuse(each, message)
            is_target = is_last and action == "follow"
            if (waypoint.kind == "target") is not is_target:
                message = "The last waypoint of the witness, and no other, must be the target."
                self._nodes.refuse(each, message)
        if not waypoints:
            self._nodes.refuse(inner, "The segment has no waypoint.")
        return waypoints

    def _waypoint(self, node: Any) -> Waypoint:
        inner = self._fields(node, "An element of a segment", ("waypoint",))["waypoint"]
        fields = self._fields(inner, "`waypoint`", ("type", "action", "location"), ("constraint",))
        for name, what in (("type", "Waypoints of the type"), ("action", "Waypoints of the action")):
            self._scalar(fields[name], name)
            self._refuse_other(fields[name], what)
        kind = self._one_of(fields["type"], "type", _WAYPOINTS)
        action = self._one_of(fields["action"], "action", ("follow", "avoid"))
        place = self._location(fields["location"])
        constraint_node = fields.get("constraint")
        if constraint_node is None:
            if kind in _CONSTRAINED:
                self._nodes.refuse(inner, f"A waypoint of type {kind} needs a `constraint`.")
            return Waypoint(kind, place, action, span=self._nodes.span(inner))
        if kind in _UNCONSTRAINED:
            self._nodes.refuse(constraint_node, f"A waypoint of type {kind} has no constraint.")
        constraint = self._fields(constraint_node, "`constraint`", ("value",), ("format",))
        value = self._text(constraint["value"], "value")
        span = self._nodes.span(constraint["value"])
        if kind == "branching" and _BRANCHES.fullmatch(value) is None:
            message = f"The branch {value} must be true, false, a number or `default`."
            self._nodes.refuse(constraint["value"], message)
        format_ = self._format(constraint.get("format"), kind)
        return Waypoint(kind, place, action, value, format_, span)

    def _format(self, node: Any, kind: str) -> str | None:
        if node is None:
            return None
        formats = (C_EXPRESSION, ACSL_EXPRESSION) if kind != "assumption" else (C_EXPRESSION,)
        return self._one_of(node, "format", formats)

    def _location(self, node: Any) -> Place:
        more = ("column", "function", "file_hash")
        fields = self._fields(node, "`location`", ("file_name", "line"), more)
        if "file_hash" in fields:
            self._scalar(fields["file_hash"], "file_hash")
        function = fields.get("function")
        return Place(
            self._text(fields["file_name"], "file_name"),
            self._count(fields["line"], "line"),
            self._count(fields["column"], "column") if "column" in fields else None,
            None if function is None else self._text(function, "function"),
        )

    # --------------------------------------------------------------------------------------- shapes

    def _fields(
        self, node: Any, what: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Mapping[str, Any]:
        fields = self._nodes.mapping(node, what)
        for key, _ in node.value:
            if key.id != "scalar" or key.value not in (*required, *optional):
                allowed = ", ".join((*required, *optional))
                name = key.value if key.id == "scalar" else "..."
                self._nodes.refuse(key, f"{what} has no field `{name}`.", f"Its fields: {allowed}.")
        for name in required:
            self._nodes.required(fields, name, node)
        return fields

    def _scalar(self, node: Any, name: str) -> None:
        if not self._nodes.is_scalar(node):
            self._nodes.refuse(node, f"`{name}` must be a single value.")

    def _text(self, node: Any, name: str) -> str:
        return self._nodes.text(node, name)

    def _one_of(self, node: Any, name: str, choices: tuple[str, ...]) -> str:
        value = self._text(node, name)
        if value not in choices:
            self._nodes.refuse(node, f"Unknown {name} {value}.", f"Choose from: {', '.join(choices)}.")
        return value

    def _count(self, node: Any, name: str) -> int:
        value = self._text(node, name)
        if _DIGITS.fullmatch(value) is None or int(value) == 0:
            self._nodes.refuse(node, f"The {name} {value} is not a number from 1.")
        return int(value)
