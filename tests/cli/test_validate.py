"""Witnesses on the command line: written by `verify`, checked by `validate`."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Certus, Done

from certus.core.witness import ViolationWitness
from certus.witness.read import read_witness

BUG = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
int main(void) {
  int x = __VERIFIER_nondet_int();
  if (x == 7)
    reach_error();
  return 0;
}
"""
GOOD = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
int main(void) {
  unsigned x = 0;
  while (__VERIFIER_nondet_int())
    x += 2;
  if (x % 2)
    reach_error();
  return 0;
}
"""


def written(certus: Certus, directory: Path, program: str, *flags: str) -> str:
    """The witness that `certus verify` writes, without its time."""
    (directory / "p.c").write_text(program)
    done = certus("verify", "p.c", "--quiet", "--witness", "w.yml", *flags, cwd=directory)
    assert "Traceback" not in done.stderr
    text = (directory / "w.yml").read_text()
    return re.sub('creation_time: "[^"]*"', "creation_time: NOW", text)


def validated(certus: Certus, directory: Path, *flags: str) -> Done:
    done = certus("validate", "w.yml", "p.c", *flags, cwd=directory)
    assert "Traceback" not in done.stderr
    return done


def change(directory: Path, old: str, new: str) -> None:
    text = (directory / "w.yml").read_text()
    assert old in text
    (directory / "w.yml").write_text(text.replace(old, new, 1))


def test_a_violation_there_and_back(certus: Certus, tmp_path: Path) -> None:
    first = written(certus, tmp_path, BUG)
    assert first == written(certus, tmp_path, BUG)
    done = validated(certus, tmp_path, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert (found["command"], found["kind"], found["answer"]) == ("validate", "violation", "CONFIRMED")
    assert found["reason"]["message"] == "the inputs that the witness names lead to the violation"
    assert found["outcome"]["verdict"] == "VIOLATED"


def test_the_sum_is_that_of_the_bytes(certus: Certus, tmp_path: Path) -> None:
    """Of a file with a byte order mark and the line ends of another system."""
    data = b"\xef\xbb\xbf" + BUG.replace("\n", "\r\n").encode()
    (tmp_path / "p.c").write_bytes(data)
    assert certus("verify", "p.c", "--quiet", "--witness", "w.yml", cwd=tmp_path).returncode == 1
    witness = read_witness(tmp_path / "w.yml")
    assert witness.task.hashes == {"p.c": hashlib.sha256(data).hexdigest()}
    assert isinstance(witness, ViolationWitness)
    places = [(w.kind, w.place.line, w.place.column) for (w,) in witness.segments]
    assert places == [("function_return", 4, 33), ("target", 6, 5)]
    assert validated(certus, tmp_path).returncode == 0


def test_a_proof_there_and_back(certus: Certus, tmp_path: Path) -> None:
    written(certus, tmp_path, GOOD, "--engine", "predicate")
    assert read_witness(tmp_path / "w.yml").invariants
    done = validated(certus, tmp_path, "--quiet")
    assert (done.returncode, done.stdout.split()[0]) == (0, "CONFIRMED")
    value = re.search(r'value: "(.*)"', (tmp_path / "w.yml").read_text())
    assert value is not None
    change(tmp_path, value[1], "x < 2")
    done = validated(certus, tmp_path)
    assert (done.returncode, done.stdout.split()[0]) == (1, "REFUTED")
    assert "refuted[invariant-violated]: `x < 2` does not always hold at line 5:3" in done.stdout
    assert "violated[invariant]: x < 2" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'format_version: "2.0"',
            'format_version: "1.0"',
            "w.yml:3:21: error[bad-witness]: The format version 1.0",
        ),
        ("column: 33", "column: 30", "There is no call in line 4:30"),
        (
            'action: "follow"',
            'action: "follow"\n            colour: "red"',
            "`waypoint` has no field `colour`",
        ),
        ("entry_type:", "entry_type: [", "not YAML"),
    ],
)
def test_bad_witnesses_get_a_located_sentence(
    old: str, new: str, message: str, certus: Certus, tmp_path: Path
) -> None:
    (tmp_path / "p.c").write_text(BUG)
    (tmp_path / "w.yml").write_text(WITNESS)
    change(tmp_path, old, new)
    done = validated(certus, tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert re.match(r"w\.yml:\d+:\d+: error\[bad-witness\]", done.stderr)


def test_another_program_has_another_sum(certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "w.yml").write_text(WITNESS)
    (tmp_path / "p.c").write_text(GOOD)
    done = validated(certus, tmp_path)
    assert done.returncode == 2
    assert "The witness is about another program" in done.stderr


def test_no_verdict_no_witness(certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(BUG.replace("int x", "__float128 x"))
    done = certus("verify", "p.c", "--witness", "w.yml", cwd=tmp_path)
    assert done.returncode == 3
    assert "no witness is written: there is no verdict" in done.stderr
    assert not (tmp_path / "w.yml").exists()


WITNESS = """\
- entry_type: "violation_sequence"
  metadata:
    format_version: "2.0"
    uuid: "1c1ba6fe-6a0a-5ab2-a2b7-4a1c1d9a4d69"
    creation_time: "2024-01-01T00:00:00+00:00"
    producer:
      name: "Certus"
      version: "0"
    task:
      input_files:
        - "p.c"
      input_file_hashes:
        "p.c": "HASH"
      specification: "CHECK( init(main()), LTL(G ! call(reach_error())) )"
      data_model: "LP64"
      language: "C"
  content:
    - segment:
        - waypoint:
            type: "function_return"
            action: "follow"
            constraint:
              value: "\\\\result == 7"
              format: "acsl_expression"
            location:
              file_name: "p.c"
              line: 4
              column: 33
    - segment:
        - waypoint:
            type: "target"
            action: "follow"
            location:
              file_name: "p.c"
              line: 6
""".replace("HASH", hashlib.sha256(BUG.encode()).hexdigest())


FLOAT_BUG = """extern float __VERIFIER_nondet_float(void);
extern void reach_error(void);
int main(void) {
  float x = __VERIFIER_nondet_float();
  if (x > 0.1f && x * x < 0.0101f) reach_error();
}
"""


def test_inputs_that_are_floating_point_numbers(certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(FLOAT_BUG)
    assert certus("verify", "p.c", "--witness", "w.yml", cwd=tmp_path).returncode == 1
    assert re.search(r"\\result == 0x1\.[0-9a-f]+p-4f", (tmp_path / "w.yml").read_text())
    done = validated(certus, tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("CONFIRMED")
    wrong = re.sub(r"0x1\.[0-9a-f]+p-4f", "0.25f", (tmp_path / "w.yml").read_text())
    (tmp_path / "w.yml").write_text(wrong)
    assert not validated(certus, tmp_path).stdout.startswith("CONFIRMED")
