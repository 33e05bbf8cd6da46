"""`certus chc` as a process: words, evidence, exit codes, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Certus

SAFE = """(set-logic HORN)
(declare-fun Inv (Int) Bool)
(assert (Inv 0))
(assert (forall ((x Int)) (=> (and (Inv x) (< x 5)) (Inv (+ x 1)))))
(assert (forall ((x Int)) (=> (and (Inv x) (> x 5)) false)))
(check-sat)
"""
UNSAFE = SAFE.replace("(> x 5)", "(= x 2)")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "problem.smt2"


@pytest.mark.parametrize(("text", "word", "code"), [(SAFE, "sat", 0), (UNSAFE, "unsat", 1)])
def test_the_first_line_is_the_answer(text: str, word: str, code: int, certus: Certus, written: Path) -> None:
    written.write_text(text)
    done = certus("chc", written)
    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines()[0] == word
    assert certus("chc", written, "--quiet").stdout == f"{word}\n"
    verified = certus("verify", written)
    assert verified.returncode == code
    assert verified.stdout.split()[0] == ("HOLDS" if code == 0 else "VIOLATED")


def test_a_model_is_a_list_of_definitions(certus: Certus, written: Path) -> None:
    written.write_text(SAFE)
    lines = certus("chc", written).stdout.splitlines()
    assert lines[1] == "("
    assert lines[2].startswith("  (define-fun Inv ((x0 Int)) Bool ")
    assert lines[3] == ")"
    assert lines[4] == ";   checked: 2 clauses proved by z3 and cvc5"


def test_a_derivation_is_shown_and_was_computed_again(certus: Certus, written: Path) -> None:
    written.write_text(UNSAFE)
    saved = written.parent / "evidence"
    lines = certus("chc", written, "--evidence", saved).stdout.splitlines()
    assert lines[1:] == [
        ";   0: clause 0",
        ";   1: clause 1 from 0  x = 0",
        ";   2: clause 1 from 1  x = 1",
        ";   3: clause 2 from 2  x = 2",
        ";   checked: evaluated again, 4 steps",
    ]
    again = certus("check", saved)
    assert again.returncode == 1
    assert again.stdout == f"VIOLATED  {saved}  check-sat  evaluated again, 4 steps\n"


def test_json(certus: Certus, written: Path) -> None:
    written.write_text(UNSAFE)
    found = json.loads(certus("chc", written, "--json").stdout)
    assert found["verdict"] == "VIOLATED"
    assert found["property"] == "check-sat"
    assert [step["clause"] for step in found["derivation"]] == [0, 1, 1, 2]
    assert found["check"] == {"kind": "derivation", "steps": 4}


def test_a_task_definition(certus: Certus, written: Path) -> None:
    written.write_text(SAFE)
    (written.parent / "check-sat.prp").write_text("CHECK( init(main()), LTL(G sat) )\n")
    task = written.with_suffix(".yml")
    task.write_text(
        "format_version: '2.0'\ninput_files: problem.smt2\nproperties:\n"
        "  - property_file: check-sat.prp\n    expected_verdict: true\noptions:\n  language: SMT-LIB\n"
    )
    done = certus("chc", task, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["expected"] is True


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("(assert\n  (foo))", 2, "problem.smt2:2:4: error[bad-smtlib]: There is no function `foo`."),
        ("(assert true", 2, "problem.smt2:1:1: error[bad-smtlib]: This parenthesis is never closed."),
        ("", 2, "problem.smt2:1:1: error[bad-smtlib]: The script ends without `(check-sat)`"),
        (
            "(assert true)\n\n",
            2,
            "problem.smt2:1:13: error[bad-smtlib]: The script ends without `(check-sat)`",
        ),
        ("(declare-datatypes ((T 0)) (((c))))", 3, "Algebraic data types are not supported."),
        ("(declare-fun P () Bool)(declare-fun Q () Bool)(assert (or P Q))", 3, "more than one head"),
    ],
)
def test_bad_input(text: str, code: int, part: str, certus: Certus, written: Path) -> None:
    written.write_text(text)
    done = certus("chc", written)
    assert done.returncode == code
    assert part in done.stdout + done.stderr


def test_a_vast_file_ends_in_a_limit(certus: Certus, written: Path) -> None:
    written.write_text("(assert (forall ((x Int)) (=> (> x 0) (> x (- 1)))))\n" * 1_000_000)
    done = certus("chc", written, "--timeout", "1s")
    assert done.returncode == 3
    assert done.stdout.startswith("unknown")
    assert "time-limit" in done.stdout


def test_clauses_are_converted_between_formats(certus: Certus, written: Path) -> None:
    written.write_text(SAFE)
    rules, script = written.with_suffix(".clp"), written.parent / "again.smt2"
    done = certus("chc", written, "--emit", "--format", "clp", "-o", rules)
    assert done.returncode == 0, done.stderr
    assert "false :- Inv(X), 5 < X." in rules.read_text()
    assert certus("chc", rules, "--quiet").stdout == "sat\n"
    certus("chc", rules, "--emit", "-o", script)
    assert certus("chc", script, "--quiet").stdout == "sat\n"


def test_a_program_as_rules(certus: Certus) -> None:
    done = certus("chc", "examples/swap.lp", "--emit", "--format", "clp")
    assert done.returncode == 0, done.stderr
    assert "false :- " in done.stdout


def test_a_format_is_for_emit(certus: Certus, written: Path) -> None:
    written.write_text(SAFE)
    done = certus("chc", written, "--format", "clp")
    assert done.returncode == 2
    assert "--format is for --emit" in done.stderr


def test_mistakes_in_rules_have_a_place(certus: Certus, tmp_path: Path) -> None:
    path = tmp_path / "problem.clp"
    path.write_text("r(X) :-\n  X > 0, f(X) = 1.\n")
    done = certus("chc", path)
    assert done.returncode == 2
    assert "problem.clp:2:10: error[bad-clp]: There is no function `f`." in done.stderr
