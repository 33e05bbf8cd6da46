"""Witnesses against programs: what is confirmed, what is refuted, and that nothing is believed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.expectations import PROGRAMS, expected

from certus.core.errors import InputError
from certus.core.evidence import Safe, Unsafe
from certus.core.witness import CorrectnessWitness, ViolationWitness
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.witness.validate import Validation, validate_witness
from certus.witness.write import render_witness, witness_of

BRANCHES = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
int twice(int a) { return 2 * a; }
int main(void) {
  int open = 0;
  int x = __VERIFIER_nondet_int();
  int y = __VERIFIER_nondet_int();
  if (x > 3 && twice(y) == 8)
    open = 1;
  switch (x) {
    case 7: y = 5; break;
    default: y = 6;
  }
  if (y == 5 && open == 1)
    reach_error();
  if (y == 6 && x == 9) reach_error();
  return 0;
}
"""
COUNTING = """\
extern unsigned __VERIFIER_nondet_uint(void);
extern void reach_error(void);
int main(void) {
  unsigned n = __VERIFIER_nondet_uint(), x = 0, y = 0;
  unsigned last[1] = {0};
  while (x != n) {
    x++;
    y++;
    last[0] = x;
  }
  if (y != n) reach_error();
  return 0;
}
"""
PARTS = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
struct point { unsigned char kind; int at[2]; } shared;
int steps(void) {
  static int taken = 0;
  if (taken < 10) taken += 2;
  while (__VERIFIER_nondet_int())
    shared.kind = 3;
  return taken;
}
int main(void) {
  int table[3] = {7, 8, 9};
  shared.kind = 3;
  shared.at[1] = 4;
  while (__VERIFIER_nondet_int()) {
    table[1] = table[1] == 8 ? 8 : table[0];
    if (steps() % 2 == 1) reach_error();
  }
  if (table[1] != 8 || shared.kind != 3 || shared.at[1] != 4) reach_error();
  return 0;
}
"""
METADATA = """\
  metadata:
    format_version: '2.0'
    uuid: 91023a0f-9f45-4385-88c4-1152ade45537
    creation_time: 2024-01-01T00:00:00Z
    producer: {name: other, version: '1'}
    task:
      input_files: [p.c]
      input_file_hashes: {p.c: HASH}
      specification: G ! call(reach_error())
      data_model: LP64
      language: C
"""


def waypoint(kind: str, place: str, value: str = "", action: str = "follow") -> str:
    line, _, column = place.partition(":")
    at = f"{{file_name: p.c, line: {line}{f', column: {column}' if column else ''}}}"
    form = "acsl_expression" if "result" in value else "c_expression"
    constraint = f", constraint: {{value: '{value}', format: {form}}}" if value else ""
    return f"    - waypoint: {{type: {kind}, action: {action}, location: {at}{constraint}}}\n"


def violation(*segments: str) -> str:
    content = "".join(f"  - segment:\n{each}" for each in segments)
    return f"- entry_type: violation_sequence\n{METADATA}  content:\n{content}"


def invariants(*each: tuple[str, str, str]) -> str:
    entry = f"- entry_type: invariant_set\n{METADATA}  content:"
    if not each:
        return f"{entry} []\n"
    found = [
        f"  - invariant: {{type: {kind}, location: {{file_name: p.c, line: {line}}}, value: '{value}',"
        " format: c_expression}\n"
        for kind, line, value in each
    ]
    return f"{entry}\n{''.join(found)}"


def validate(directory: Path, program: str, witness: str, *, seconds: float = 60.0) -> Validation:
    file, path = directory / "p.c", directory / "w.yml"
    file.write_text(program)
    path.write_text(witness.replace("HASH", hashlib.sha256(program.encode()).hexdigest()))
    return validate_witness(path, file, Settings(timeout=seconds))


INPUTS = (
    waypoint("function_return", "6:33", r"\result == 7"),
    waypoint("function_return", "7:33", r"\result == 4"),
)
FIRST, SECOND = waypoint("target", "15:5"), waypoint("target", "16")


class TestViolation:
    """What follows a witness is tested in tests/unit/transform/test_guide.py."""

    @pytest.mark.parametrize(
        "segments",
        [(*INPUTS, FIRST), (waypoint("assumption", "14:3", "x == 7 && y < 6 && y > 4"), FIRST)],
        ids=["inputs", "search"],
    )
    def test_it_leads_to_the_violation(self, segments: tuple[str, ...], tmp_path: Path) -> None:
        found = validate(tmp_path, BRANCHES, violation(*segments))
        assert found.answer == "CONFIRMED", found.reason
        assert found.outcome is not None
        assert isinstance(found.outcome.verdict, Unsafe)
        assert found.outcome.subject.source == BRANCHES

    @pytest.mark.parametrize(
        ("waypoints", "answer"),
        [
            (((r"\result == 07", "6:33"),), "CONFIRMED"),
            (((r"\result == 010", "6:33"),), "REFUTED"),
            ((("", "6:33"), (r"\result == 7", "6:33")), "CONFIRMED"),
            (((r"\result == 7", "6:33"), ("", "6:33")), "REFUTED"),
        ],
        ids=["octal", "another octal", "enter before return", "return before enter"],
    )
    def test_calls_of_inputs(
        self, waypoints: tuple[tuple[str, str], ...], answer: str, tmp_path: Path
    ) -> None:
        kinds = ("function_return" if value else "function_enter" for value, _ in waypoints)
        segments = [waypoint(kind, at, v) for kind, (v, at) in zip(kinds, waypoints, strict=True)]
        found = validate(tmp_path, BRANCHES, violation(*segments, FIRST))
        assert found.answer == answer, found.reason

    @pytest.mark.parametrize("value", [r"\result == 08", r"((\result == 7)"])
    def test_what_is_no_comparison_with_a_constant(self, value: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"constant|compared"):
            validate(tmp_path, BRANCHES, violation(waypoint("function_return", "6:33", value), FIRST))

    def test_no_execution_follows_it(self, tmp_path: Path) -> None:
        found = validate(tmp_path, BRANCHES, violation(INPUTS[0], SECOND))
        assert found.answer == "REFUTED", found.reason
        assert found.outcome is not None
        assert isinstance(found.outcome.verdict, Safe)

    def test_what_has_no_place_is_refused_where_the_witness_says_it(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="No statement starts") as refused:
            validate(tmp_path, BRANCHES, violation(waypoint("assumption", "9:6", "x == 2"), FIRST))
        assert refused.value.diagnostics[0].span is not None
        assert refused.value.diagnostics[0].span.file.endswith("w.yml")

    def test_a_target_where_nothing_is_violated_is_unknown(self, tmp_path: Path) -> None:
        found = validate(tmp_path, BRANCHES, violation(waypoint("target", "9:5")))
        assert (found.answer, found.reason.code) == ("UNKNOWN", "no-target")


class TestCorrectness:
    @pytest.mark.parametrize(
        "given",
        [
            [("loop_invariant", "6", "x == y")],
            [("loop_invariant", "6", "last[0] == x && x == y"), ("location_invariant", "11", "x == n")],
        ],
        ids=["a proof by itself", "with memory"],
    )
    def test_invariants_that_hold_help(self, given: list[tuple[str, str, str]], tmp_path: Path) -> None:
        found = validate(tmp_path, COUNTING, invariants(*given))
        assert found.answer == "CONFIRMED", found.reason
        assert found.outcome is not None
        assert isinstance(found.outcome.verdict, Safe)
        assert found.outcome.subject.source == COUNTING
        assert all(site.kind == "reach-error" for site in found.outcome.subject.errors)

    @pytest.mark.parametrize(
        "given",
        [
            [("loop_invariant", "6", "x == y"), ("location_invariant", "8", "x == y")],
            [("loop_invariant", "6", "last[0] == 0")],
        ],
        ids=["elsewhere", "about memory"],
    )
    def test_a_wrong_invariant_has_a_counterexample(
        self, given: list[tuple[str, str, str]], tmp_path: Path
    ) -> None:
        found = validate(tmp_path, COUNTING, invariants(*given))
        assert (found.answer, found.reason.code) == ("REFUTED", "invariant-violated")
        assert found.outcome is not None
        assert isinstance(found.outcome.verdict, Unsafe)

    @pytest.mark.parametrize(
        ("given", "answer"),
        [
            ("1 / 0 == 1 / 0", "REFUTED"),
            ("1 << 40 == 256 || 1", "REFUTED"),
            ("7 % y == 7 % y", "REFUTED"),
            ("y == 0 || 7 % y == 7 % y", "CONFIRMED"),
            ("y ? 7 / y <= 7 : 1", "CONFIRMED"),
            ("x >= 0 && (int)n + 1 == (int)n + 1", "REFUTED"),
            ("(long long)(int)n + 1 > (int)n", "CONFIRMED"),
            ("-(int)n == -(int)n", "REFUTED"),
            ("x >> n == x >> n", "REFUTED"),
            ("last[0] == x && (last[0] != x || 1 / 0)", "REFUTED"),
            ("last[0] == x || 7 / (last[0] - x) > 1", "CONFIRMED"),
        ],
    )
    def test_the_evaluation_of_an_invariant_must_be_defined(
        self, given: str, answer: str, tmp_path: Path
    ) -> None:
        found = validate(tmp_path, COUNTING, invariants(("loop_invariant", "6", given)))
        assert found.answer == answer, found.reason
        assert answer == "CONFIRMED" or found.reason.code == "invariant-undefined"

    def test_an_undefined_invariant_where_nothing_comes_is_harmless(self, tmp_path: Path) -> None:
        program = COUNTING.replace("  return 0;", "  if (x < y)\n    x = 0;\n  return 0;")
        found = validate(tmp_path, program, invariants(("location_invariant", "13", "1 / 0 == 1")))
        assert found.answer == "CONFIRMED", found.reason

    def test_a_part_of_a_wrong_invariant_is_not_taken_for_it(self, tmp_path: Path) -> None:
        given = "x == y && !(last[0] == x && last[0] == x)"
        found = validate(tmp_path, COUNTING, invariants(("loop_invariant", "6", given)))
        assert (found.answer, found.reason.code) == ("REFUTED", "invariant-violated")

    def test_a_column_behind_the_end_of_its_line_is_refused(self, tmp_path: Path) -> None:
        witness = invariants(("loop_invariant", "6, column: 99", "x == y"))
        with pytest.raises(InputError, match="ends before column 99"):
            validate(tmp_path, COUNTING, witness)

    def test_a_wrong_verdict_is_refuted(self, tmp_path: Path) -> None:
        wrong = COUNTING.replace("y != n", "y == 2")
        found = validate(tmp_path, wrong, invariants(("loop_invariant", "6", "x == y")))
        assert (found.answer, found.reason.message) == ("REFUTED", "an execution violates the property")


@pytest.mark.parametrize("name", ["overflow_addition", "recursion"])
def test_golden_programs_there_and_back(name: str, tmp_path: Path) -> None:
    path = PROGRAMS / "c" / f"{name}.c"
    outcome = verify(path, Settings(checks=(), property_name=expected(path).property_name))
    told = witness_of(outcome)
    assert not isinstance(told, str)
    file = tmp_path / "w.yml"
    file.write_text(render_witness(told[0], engine=outcome.engine, remark=told[1], created=""))
    found = validate_witness(file, path, Settings())
    assert found.answer == "CONFIRMED", found.reason


def test_what_lives_in_memory_is_told_and_confirmed(tmp_path: Path) -> None:
    path, file = tmp_path / "p.c", tmp_path / "w.yml"
    path.write_text(PARTS)
    outcome = verify(path, Settings(checks=(), engine="predicate"))
    told = witness_of(outcome)
    assert not isinstance(told, str)
    assert isinstance(told[0], CorrectnessWitness)
    by_line = {each.place.line: each.value for each in told[0].invariants}
    assert {"table[1] == 8", "shared.kind == 3", "shared.at[1] == 4"} <= {*by_line[15].split(" && ")}
    assert "taken" in by_line[7]
    assert "taken" not in by_line[15]
    assert "2 formulas" in told[1]  # `table` has no name in `steps`, nor `taken` in `main`
    file.write_text(render_witness(told[0], engine=outcome.engine, remark=told[1], created=""))
    found = validate_witness(file, path, Settings())
    assert found.answer == "CONFIRMED", found.reason


def test_no_statement_starts_in_the_head_of_a_loop(tmp_path: Path) -> None:
    """What an uninitialised variable contains is said before the loop."""
    program = """\
extern void reach_error(void);
int main(void) {
  int open;
  for (int i = 0, j; i < 1; i++) j = open;
  if (open == 5) reach_error();
  return 0;
}
"""
    path, file = tmp_path / "p.c", tmp_path / "w.yml"
    path.write_text(program)
    outcome = verify(path, Settings(checks=(), engine="bmc"))
    told = witness_of(outcome)
    assert not isinstance(told, str)
    assert isinstance(told[0], ViolationWitness)
    places = [(w.kind, w.place.line, w.place.column) for (w,) in told[0].segments]
    assert places == [("assumption", 4, 3), ("target", 5, 18)]
    file.write_text(render_witness(told[0], engine=outcome.engine, remark=told[1], created=""))
    found = validate_witness(file, path, Settings())
    assert found.answer == "CONFIRMED", found.reason


def test_pointers_in_invariants_that_prove_nothing_alone(tmp_path: Path) -> None:
    program = COUNTING.replace("int main", "int *unset;\nint main").replace(
        "x++;", "x++; if (unset) y = *unset;"
    )
    witness = invariants(("loop_invariant", "7", "unset == (int *)0"))
    found = validate(tmp_path, program, witness)
    assert found.answer == "CONFIRMED", found.reason
    assert "with their help the property was proved" in found.reason.message


def test_another_program_is_refused(tmp_path: Path) -> None:
    witness = invariants().replace("HASH", "0" * 64)
    with pytest.raises(InputError, match="about another program"):
        validate(tmp_path, COUNTING, witness)


def test_another_property_is_not_supported(tmp_path: Path) -> None:
    witness = invariants().replace("G ! call(reach_error())", "F end")
    found = validate(tmp_path, COUNTING, witness)
    assert (found.answer, found.reason.code) == ("UNKNOWN", "unsupported-property")


def test_the_property_of_the_user_and_of_the_witness_must_agree(tmp_path: Path) -> None:
    file, path = tmp_path / "p.c", tmp_path / "w.yml"
    file.write_text(COUNTING)
    witness = invariants().replace("G ! call(reach_error())", "G valid-deref")
    path.write_text(witness.replace("HASH", hashlib.sha256(COUNTING.encode()).hexdigest()))
    with pytest.raises(InputError, match="about valid-deref, but --property is no-overflow"):
        validate_witness(path, file, Settings(property_name="no-overflow"))
    assert validate_witness(path, file, Settings(property_name="valid-memsafety")).answer == "CONFIRMED"


def test_places_are_physical_lines_whatever_line_markers_say(tmp_path: Path) -> None:
    text = '# 100 "other.c"\n' + BRANCHES
    file, path = tmp_path / "p.i", tmp_path / "w.yml"
    file.write_text(text)
    given = [waypoint("function_return", f"{n}", rf"\result == {value}") for n, value in ((7, 7), (8, 4))]
    witness = violation(*given, waypoint("target", "16:5")).replace("p.c", "p.i")
    path.write_text(witness.replace("HASH", hashlib.sha256(text.encode()).hexdigest()))
    found = validate_witness(path, file, Settings(timeout=60.0))
    assert found.answer == "CONFIRMED", found.reason
    assert found.outcome is not None
    told = witness_of(found.outcome)
    assert not isinstance(told, str)
    assert isinstance(told[0], ViolationWitness)
    assert [(w.kind, w.place.line) for (w,) in told[0].segments] == [
        ("function_return", 7),
        ("function_return", 8),
        ("target", 16),
    ]
