"""Programs and their models on the same inputs: really compiled, really run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from certus.core.budget import Budget
from certus.core.challenge import CONTRADICTION, MODEL_DISAGREES, Challenge
from certus.core.program import Program
from certus.frontend.c.load import load_c
from certus.frontend.c.types import DATA_MODELS
from certus.frontend.properties import Property
from certus.validate.build import RUNS as MANY
from certus.validate.build import UNCONFINED, Builds, Built, NotBuilt, Wanted
from certus.validate.harness import Code, runs_harness
from certus.validate.native import NOT_EXECUTED, RUNS, ErrorCodes, challenge

MODELS = tuple(DATA_MODELS)
CALLS = ErrorCodes({"reach_error": Code.ERROR, "__assert_fail": Code.ASSERTION})
DECLARED = """
extern int __VERIFIER_nondet_int(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void *__VERIFIER_nondet_pointer(void);
extern void __VERIFIER_assume(int);
extern void reach_error(void), abort(void), exit(int), unknown(void);
"""


def program_of(directory: Path, text: str, *, model: str = "LP64", property: str = "unreach-call") -> Program:
    path = directory / "p.c"
    path.write_text(DECLARED + text)
    return load_c(path, property=Property(property), model=DATA_MODELS[model]).program


def challenged(program: Program, other: str | None = None, errors: ErrorCodes = CALLS) -> Challenge:
    """Challenge a program, or the model of one with the binary of another."""
    source = program.source if other is None else DECLARED + other
    return challenge(replace(program, source=source), errors, budget=Budget(60))


ALIKE = {
    "inputs of several types": """int main() {
        int x = __VERIFIER_nondet_int(); unsigned char c = __VERIFIER_nondet_uchar();
        if (__VERIFIER_nondet_bool()) __VERIFIER_assume(x > c);
        if (x < -100) abort();
        if (x == 2147483647) exit(3);
        return __VERIFIER_nondet_pointer() != 0; }""",
    "inputs in a loop": """int main() {
        int sum = 0;
        while (__VERIFIER_nondet_int() > 0) sum += __VERIFIER_nondet_uchar();
        return sum; }""",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("what", ALIKE)
def test_a_right_model_stands_up_to_all_runs(what: str, model: str, tmp_path: Path) -> None:
    found = challenged(program_of(tmp_path, ALIKE[what], model=model))
    assert found.disagreement is None
    assert not found.why_not
    assert found.compared + found.not_compared == RUNS
    assert found.compared > RUNS // 2


@pytest.mark.parametrize("model", MODELS)
def test_a_program_without_inputs_has_one_run(model: str, tmp_path: Path) -> None:
    found = challenged(program_of(tmp_path, "int main(int argc, char **argv) { return argc; }", model=model))
    assert (found.compared, found.not_compared, found.only_run_ended) == (1, 0, True)


BASE = "int main() { int x = __VERIFIER_nondet_int(); if (x > 5) exit(1); return 0; }"
WRONG = {
    "another ending": "int main() { int x = __VERIFIER_nondet_int(); if (x > 6) exit(1); return 0; }",
    "an error": "int main() { int x = __VERIFIER_nondet_int(); if (x > 5) exit(1);"
    " if (x == 3) reach_error(); return 0; }",
    "more inputs": "int main() { int x = __VERIFIER_nondet_int(); if (x > 5) exit(1);"
    " return __VERIFIER_nondet_int(); }",
    "another function": "int main() { int x = __VERIFIER_nondet_uchar(); if (x > 5) exit(1); return 0; }",
    "a crash": "int main() { int x = __VERIFIER_nondet_int(); if (x > 5) exit(1); return *(int *)8; }",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_model_is_found(what: str, model: str, tmp_path: Path) -> None:
    """The model is that of one program, the binary that of another."""
    found = challenged(program_of(tmp_path, BASE, model=model), WRONG[what])
    assert found.disagreement is not None
    assert found.disagreement.code == MODEL_DISAGREES


def test_an_error_in_both_is_a_contradiction(tmp_path: Path) -> None:
    text = "int main() { if (__VERIFIER_nondet_int() == 4) reach_error(); return 0; }"
    found = challenged(program_of(tmp_path, text)).disagreement
    assert found is not None
    assert found.code == CONTRADICTION
    assert found.inputs == {"__VERIFIER_nondet_int": (4,)}


@pytest.mark.parametrize(
    ("property", "kind", "text"),
    [
        ("no-overflow", "overflow", "int main() { return __VERIFIER_nondet_int() + 1; }"),
        ("no-div-zero", "division-by-zero", "int main() { return 1 / __VERIFIER_nondet_int(); }"),
    ],
)
def test_operations_are_errors(property: str, kind: str, text: str, tmp_path: Path) -> None:
    program = program_of(tmp_path, text, property=property)
    found = challenged(program, errors=ErrorCodes({}, kind)).disagreement
    assert found is not None
    assert found.code == CONTRADICTION


NOT_COMPARED = {
    "a value nobody set": "int main() { int x; __VERIFIER_nondet_int(); if (x == 7) return 1; return 0; }",
    "an address": "int main() { int x; __VERIFIER_nondet_int(); return (long)&x % 4096 == 16; }",
    "a function nobody defines": "int main() { __VERIFIER_nondet_int(); unknown(); return 0; }",
    "an endless loop": "int main() { __VERIFIER_nondet_int(); for (;;) ; }",
}


@pytest.mark.parametrize("what", NOT_COMPARED)
def test_what_depends_on_more_than_inputs_is_not_compared(what: str, tmp_path: Path) -> None:
    found = challenged(program_of(tmp_path, NOT_COMPARED[what]))
    assert found.disagreement is None
    assert found.compared == 0
    assert found.sentence.startswith("not challenged: ")


def test_undefined_behaviour_is_told_and_not_compared(tmp_path: Path) -> None:
    text = (
        "int main() { int a[4]; int i = __VERIFIER_nondet_int(); if (i != 4) return 0; a[i] = 1; return 0; }"
    )
    found = challenged(program_of(tmp_path, text))
    assert found.disagreement is None
    assert found.warnings
    assert found.warnings[0].code == "undefined-behaviour"
    assert "a write of 4 bytes at offset 16 of `a`" in found.warnings[0].message
    assert "with the inputs __VERIFIER_nondet_int() = 4" in found.warnings[0].message


def test_an_error_after_undefined_behaviour_is_no_contradiction(tmp_path: Path) -> None:
    text = """int main() { int a[4]; int i = __VERIFIER_nondet_int(); if (i != 4) return 0;
        a[i] = 1; reach_error(); return 0; }"""
    found = challenged(program_of(tmp_path, text))
    assert found.disagreement is None
    assert found.warnings


def test_without_execution_the_interpreter_still_warns(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { int a[4]; a[4] = 1; return 0; }")
    found = challenge(program, CALLS, budget=Budget(60), execute=False)
    assert found.why_not == NOT_EXECUTED
    assert found.warnings


def test_a_program_that_does_not_link_says_why(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { return 0; }")
    found = challenged(program, "int main(")
    assert "could not be compiled" in found.sentence


def test_a_file_that_cannot_be_executed_is_a_line_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that is mounted without execution."""
    plain = tmp_path / "plain"
    plain.write_text("no program")
    monkeypatch.setattr(Builds, "build", lambda *_, **__: Built(plain, (), ""))
    found = challenged(program_of(tmp_path, "int main() { return 0; }"))
    assert found.disagreement is None
    assert found.sentence.startswith("not challenged: the compiled program could not be run")


def test_other_machines_do_not_run_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    found = challenged(program_of(tmp_path, "int main() { return 0; }"))
    assert found.sentence == "not challenged: this machine is aarch64, not x86"


def test_without_confinement_assembly_is_not_executed(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { return 0; }")
    wanted = Wanted({}, lambda undefined: runs_harness(undefined, {}, {}, ()), defines=(MANY, UNCONFINED))
    assert Builds(program, wanted, directory=tmp_path).build().executable.exists()
    assembly = replace(program, source='int main() { asm volatile ("nop"); return 0; }')
    with pytest.raises(NotBuilt, match="inline assembly is disabled"):
        Builds(assembly, wanted, directory=tmp_path).build()


@pytest.mark.parametrize("model", MODELS)
def test_model_and_binary_see_the_same_macros(model: str, tmp_path: Path) -> None:
    """Among them those that depend on code generation, and the name of the file."""
    text = """int main() {
        int a = sizeof __FILE__, b = 0;
    #if defined __PIC__ || defined __PIE__ || defined __SSP__ || defined __OPTIMIZE__
        b = 1;
    #endif
        if (a > %d || b) reach_error();
        return 0; }"""
    length = len(str(tmp_path / "p.c")) + 1
    assert challenged(program_of(tmp_path, text % length, model=model)).compared == 1
    found = challenged(program_of(tmp_path, text % (length - 1), model=model)).disagreement
    assert found is not None
    assert found.code == CONTRADICTION


def test_system_calls_end_a_run(tmp_path: Path) -> None:
    """The binary would write a file, if it were not confined."""
    program = program_of(tmp_path, "int main() { return 0; }")
    path = tmp_path / "written"
    calls = f"""int main() {{ long result;
        asm volatile ("syscall" : "=a"(result) : "a"(2), "D"("{path}"), "S"(0101), "d"(0666)
                      : "rcx", "r11", "memory");
        return 0; }}"""
    found = challenged(program, calls)
    assert found.compared == 0
    assert not path.exists()
