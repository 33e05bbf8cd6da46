"""Reading witnesses: what fits the format is read, and what does not is refused at its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.errors import InputError
from certus.core.witness import CorrectnessWitness, ViolationWitness
from certus.witness.read import read_witness

METADATA = """\
  metadata:
    format_version: '2.0'
    uuid: 91023a0f-9f45-4385-88c4-1152ade45537
    creation_time: 2024-01-01T00:00:00Z
    producer:
      name: other
      version: '1'
    task:
      input_files: [p.c]
      input_file_hashes:
        p.c: 511f45a8d763ef520f6d92d4135dcdcb5e3e9a3d6ba2fcb3c8b57c0cb4e8c1d5
      specification: G ! call(reach_error())
      data_model: ILP32
      language: C
"""
VIOLATION = (
    "- entry_type: violation_sequence\n"
    + METADATA
    + """\
  content:
  - segment:
    - waypoint:
        type: branching
        action: avoid
        constraint: {value: true}
        location: {file_name: p.c, line: 3}
    - waypoint:
        type: assumption
        action: follow
        constraint:
          value: x == 1
          format: c_expression
        location: {file_name: p.c, line: 4, column: 5, function: main}
  - segment:
    - waypoint:
        type: target
        action: follow
        location: {file_name: p.c, line: 9}
"""
)
CORRECTNESS = (
    "- entry_type: invariant_set\n"
    + METADATA
    + """\
  content:
  - invariant:
      type: loop_invariant
      location: {file_name: p.c, line: 3, column: 5}
      value: x >= 0
      format: c_expression
"""
)


def read(directory: Path, text: str) -> CorrectnessWitness | ViolationWitness:
    file = directory / "w.yml"
    file.write_text(text)
    return read_witness(file)


def test_a_violation_witness(tmp_path: Path) -> None:
    witness = read(tmp_path, VIOLATION)
    assert isinstance(witness, ViolationWitness)
    assert [[w.kind for w in segment] for segment in witness.segments] == [
        ["branching", "assumption"],
        ["target"],
    ]
    avoided, followed = witness.segments[0]
    assert (avoided.constraint, avoided.place.column) == ("true", None)
    assert (followed.constraint, followed.place.line, followed.place.function) == ("x == 1", 4, "main")
    assert followed.span is not None
    assert (followed.span.line, followed.span.column) == (27, 18)
    assert (witness.task.data_model, witness.task.files) == ("ILP32", ("p.c",))


def test_a_correctness_witness(tmp_path: Path) -> None:
    witness = read(tmp_path, CORRECTNESS)
    assert isinstance(witness, CorrectnessWitness)
    assert [i.value for i in witness.invariants] == ["x >= 0"]


def test_sets_of_invariants_are_joined(tmp_path: Path) -> None:
    witness = read(tmp_path, CORRECTNESS + CORRECTNESS.replace("x >= 0", "x <= 9"))
    assert isinstance(witness, CorrectnessWitness)
    assert [i.value for i in witness.invariants] == ["x >= 0", "x <= 9"]


def test_identifiers_may_be_empty(tmp_path: Path) -> None:
    assert read(tmp_path, CORRECTNESS.replace("uuid: 91023a0f-9f45-4385-88c4-1152ade45537", "uuid:"))


@pytest.mark.parametrize("given", ["", "      specification: ''\n"], ids=["left out", "empty"])
def test_the_property_may_be_for_the_user_to_name(given: str, tmp_path: Path) -> None:
    text = CORRECTNESS.replace("      specification: G ! call(reach_error())\n", given)
    assert read(tmp_path, text).task.specification == ""


def test_what_version_2_1_shares_with_2_0_is_read(tmp_path: Path) -> None:
    text = CORRECTNESS.replace("'2.0'", "'2.1'").replace(" c_expression", " ext_c_expression")
    witness = read(tmp_path, text.replace("line: 3", f"file_hash: {'0' * 64}, line: 3"))
    assert isinstance(witness, CorrectnessWitness)
    assert [(i.value, i.place.line) for i in witness.invariants] == [("x >= 0", 3)]


@pytest.mark.parametrize("text", [VIOLATION, CORRECTNESS], ids=["violation", "correctness"])
def test_whatever_happens_to_a_line_it_is_read_or_refused(text: str, tmp_path: Path) -> None:
    lines = text.split("\n")
    for at, line in enumerate(lines):
        new = ([], [line.replace(":", "")], [f"  {line}"], ["  - &a [*a]"])[at % 4]
        try:
            read(tmp_path, "\n".join((*lines[:at], *new, *lines[at + 1 :])))
        except InputError as error:
            refused = error.diagnostics[0]
        else:
            continue
        assert refused.span is not None
        assert refused.code == "bad-witness"


BAD = {
    "no YAML": (VIOLATION, "- segment:", "- [segment:", "not YAML", None),
    "no list": (CORRECTNESS, "- entry_type: invariant_set", "  entry_type: invariant_set", "not a list", 1),
    "an unknown kind": (CORRECTNESS, "invariant_set", "invariants", "Unknown ", 1),
    "version 0.1": (CORRECTNESS, "'2.0'", "'0.1'", "is not 2.0", 3),
    "an entry of version 0.1": (CORRECTNESS, "invariant_set", "loop_invariant", "older format", 1),
    "an unknown field": (CORRECTNESS, "column: 5", "colour: 5", "no field `colour`", 19),
    "a field twice": (CORRECTNESS, "line: 3,", "line: 3, line: 4,", "twice", 19),
    "no location": (CORRECTNESS, "      location: {file_name: p.c, line: 3, column: 5}\n", "", "missing", 18),
    "line 0": (CORRECTNESS, "line: 3", "line: 0", "not a number from 1", 19),
    "a word for a line": (CORRECTNESS, "line: 3", "line: three", "not a number from 1", 19),
    "a format of expressions": (CORRECTNESS, "c_expression", "smtlib", "Unknown ", 21),
    "a NUL": (CORRECTNESS, "value: ", 'value: "\\0" #', "NUL character", 20),
    "a data model": (CORRECTNESS, "ILP32", "16bit", "Unknown ", 14),
    "a language": (CORRECTNESS, "language: C", "language: Java", "Unknown ", 15),
    "no hash": (CORRECTNESS, "511f45a8d763ef520f6d92d4135dcdcb", "511f", "SHA-256", 12),
    "a hash of another file": (CORRECTNESS, "        p.c: 5", "        q.c: 5", "no sum of p.c", 10),
    "no metadata": (CORRECTNESS, METADATA, "", "`metadata` is missing", 1),
    "a target in the middle": (VIOLATION, "type: assumption", "type: target", "no constraint", 27),
    "no target": (VIOLATION, "type: target", "type: function_enter", "the target", 31),
    "two to follow": (VIOLATION, "action: avoid", "action: follow", "must be `avoid`", 18),
    "an assumption of nothing": (
        VIOLATION,
        "        constraint:\n          value: x == 1\n          format: c_expression\n",
        "",
        "needs a `constraint`",
        24,
    ),
    "a branch": (VIOLATION, "{value: true}", "{value: perhaps}", "must be true, false", 21),
    "nothing": (VIOLATION, VIOLATION, "", "empty", 1),
    "ghost variables": (CORRECTNESS, "invariant_set", "ghost_instrumentation", "about ghost variables", 1),
    "all places at once": (
        CORRECTNESS,
        "loop_invariant\n      location: {file_name: p.c, line: 3, column: 5}",
        "flow_insensitive_invariant",
        "about all program points",
        18,
    ),
    "two moments": (CORRECTNESS, "loop_invariant", "loop_transition_invariant", "about pairs of states", 18),
    "a cycle": (
        VIOLATION,
        "- segment:\n    - waypoint:\n        type: target",
        "- cycle:\n    - waypoint:\n        type: target",
        "about non-termination",
        30,
    ),
    "a waypoint of a cycle": (VIOLATION, "action: follow", "action: cycle", "about non-termination", 25),
    "threads": (
        VIOLATION,
        "action: avoid",
        "action: avoid\n        thread_id: 0",
        "no field `thread_id`",
        21,
    ),
    "a sequence of version 0.1": (
        VIOLATION.replace("'2.0'", "0.1"),
        "  content:",
        "  sequence:",
        "version 0.1 is not 2.0 or 2.1",
        3,
    ),
    "a task definition": (VIOLATION, VIOLATION, "format_version: '2.0'\ninput_files: p.c\n", "not a list", 1),
    "GraphML": (VIOLATION, VIOLATION, '<?xml version="1.0"?><graphml/>', "GraphML", 1),
    "too deep": (VIOLATION, VIOLATION, "[" * 60 + "]" * 60, "too deeply", 1),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    good, old, new, message, line = BAD[name]
    assert old in good
    with pytest.raises(InputError) as refused:
        read(tmp_path, good.replace(old, new, 1))
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "bad-witness"
    assert message in diagnostic.message
    assert diagnostic.span is not None
    assert line is None or diagnostic.span.line == line
