"""Programs and their models on the same inputs: really compiled, really run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from certus.check.challenge.native import NOT_EXECUTED, RUNS, ErrorCodes, challenge
from certus.check.replay.build import RUNS as MANY
from certus.check.replay.build import UNCONFINED, Builds, Built, NotBuilt, Wanted
from certus.check.replay.harness import ExitCode, runs_harness
from certus.core.accounting import Budget
from certus.core.outcome import CONTRADICTION, MODEL_DISAGREES, Challenge
from certus.core.program import Program
from certus.core.vocabulary import Property, default_kinds, property_of_kinds
from certus.frontend.c.load import load_c

MODELS = ("ILP32", "LP64")
CALLS = ErrorCodes({"reach_error": ExitCode.ERROR, "__assert_fail": ExitCode.ASSERTION})
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
    return load_c(path, property=Property(property), model=model).program


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
    outcome = challenged(program_of(tmp_path, ALIKE[what], model=model))
    assert outcome.disagreement is None
    assert not outcome.why_not
    assert outcome.compared + outcome.not_compared == RUNS
    assert outcome.compared > RUNS // 2


@pytest.mark.parametrize("model", MODELS)
def test_a_program_without_inputs_has_one_run(model: str, tmp_path: Path) -> None:
    outcome = challenged(
        program_of(tmp_path, "int main(int argc, char **argv) { return argc; }", model=model)
    )
    assert (outcome.compared, outcome.not_compared, outcome.only_run_ended) == (1, 0, True)


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
    outcome = challenged(program_of(tmp_path, BASE, model=model), WRONG[what])
    assert outcome.disagreement is not None
    assert outcome.disagreement.code == MODEL_DISAGREES


def test_an_error_in_both_is_a_contradiction(tmp_path: Path) -> None:
    text = "int main() { if (__VERIFIER_nondet_int() == 4) reach_error(); return 0; }"
    result = challenged(program_of(tmp_path, text))
    assert result.disagreement is None
    assert list(result.reached) == ["reach-error"]
    assert result.reached["reach-error"].code == CONTRADICTION
    assert result.reached["reach-error"].inputs == {"__VERIFIER_nondet_int": (4,)}


def test_a_run_ends_at_its_first_error_of_any_kind(tmp_path: Path) -> None:
    text = """int main() {
        int x = __VERIFIER_nondet_int();
        int y = x + 1;
        if (y == 6 / x) reach_error();
        return 0; }"""
    kinds = ("overflow", "division-by-zero", "shift")
    path = tmp_path / "p.c"
    path.write_text(DECLARED + text)
    program = load_c(path, property=property_of_kinds(default_kinds())).program
    result = challenged(program, errors=replace(CALLS, kinds=kinds))
    assert result.disagreement is None
    assert sorted(result.reached) == ["division-by-zero", "overflow", "reach-error"]
    assert result.compared > 200


@pytest.mark.parametrize(
    ("property", "kind", "text"),
    [
        ("no-overflow", "overflow", "int main() { return __VERIFIER_nondet_int() + 1; }"),
        ("no-div-zero", "division-by-zero", "int main() { return 1 / __VERIFIER_nondet_int(); }"),
        (
            *("float-divide-by-zero", "float-division-by-zero"),
            "int main() { float x = __VERIFIER_nondet_int(); return 1 / x > 2; }",
        ),
        (
            *("float-cast-overflow", "float-cast-overflow"),
            "int main() { float x = __VERIFIER_nondet_int(); return (signed char)x; }",
        ),
    ],
)
def test_operations_are_errors(property: str, kind: str, text: str, tmp_path: Path) -> None:
    program = program_of(tmp_path, text, property=property)
    result = challenged(program, errors=ErrorCodes({}, (kind,)))
    assert result.reached[kind].code == CONTRADICTION


NOT_COMPARED = {
    "an unset value": "int main() { int x; __VERIFIER_nondet_int(); if (x == 7) return 1; return 0; }",
    "an address": "int main() { int x; __VERIFIER_nondet_int(); return (long)&x % 4096 == 16; }",
    "an undefined function": "int main() { __VERIFIER_nondet_int(); unknown(); return 0; }",
    "an endless loop": "int main() { __VERIFIER_nondet_int(); for (;;) ; }",
}


@pytest.mark.parametrize("what", NOT_COMPARED)
def test_what_depends_on_more_than_inputs_is_not_compared(what: str, tmp_path: Path) -> None:
    outcome = challenged(program_of(tmp_path, NOT_COMPARED[what]))
    assert outcome.disagreement is None
    assert outcome.compared == 0
    assert outcome.sentence.startswith("not challenged: ")


def test_undefined_behaviour_is_told_and_not_compared(tmp_path: Path) -> None:
    text = (
        "int main() { int a[4]; int i = __VERIFIER_nondet_int(); if (i != 4) return 0; a[i] = 1; return 0; }"
    )
    outcome = challenged(program_of(tmp_path, text))
    assert outcome.disagreement is None
    assert outcome.warnings
    assert outcome.warnings[0].code == "undefined-behaviour"
    assert "a write of 4 bytes at offset 16 of `a`" in outcome.warnings[0].message
    assert "with the inputs __VERIFIER_nondet_int() = 4" in outcome.warnings[0].message


def test_an_error_after_undefined_behaviour_is_no_contradiction(tmp_path: Path) -> None:
    text = """int main() { int a[4]; int i = __VERIFIER_nondet_int(); if (i != 4) return 0;
        a[i] = 1; reach_error(); return 0; }"""
    outcome = challenged(program_of(tmp_path, text))
    assert outcome.disagreement is None
    assert outcome.warnings


def test_an_error_after_a_memory_error_is_no_contradiction(tmp_path: Path) -> None:
    text = """int main() { int a[4]; int i = __VERIFIER_nondet_int();
        a[i == 4 ? 4 : 0] = 1;
        return i == 4 ? i * 2147483647 : 0; }"""
    path = tmp_path / "p.c"
    path.write_text(DECLARED + text)
    program = load_c(path, property=property_of_kinds(default_kinds())).program
    result = challenged(program, errors=replace(CALLS, kinds=("overflow",)))
    assert result.disagreement is None
    assert [(kind, run.model) for kind, run in result.reached.items()] == [
        ("invalid-write", "it has the memory error invalid-write")
    ], "this contradicts a HOLDS about memory, not one about overflow"
    assert 0 < result.compared < RUNS


def test_without_execution_the_interpreter_still_warns(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { int a[4]; a[4] = 1; return 0; }")
    outcome = challenge(program, CALLS, budget=Budget(60), execute=False)
    assert outcome.why_not == NOT_EXECUTED
    assert outcome.warnings


def test_a_program_that_does_not_link_says_why(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { return 0; }")
    outcome = challenged(program, "int main(")
    assert "could not be compiled" in outcome.sentence


def test_a_file_that_cannot_be_executed_is_a_line_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that is mounted without execution."""
    plain = tmp_path / "plain"
    plain.write_text("no program")
    monkeypatch.setattr(Builds, "build", lambda *_, **__: Built(plain, (), ""))
    outcome = challenged(program_of(tmp_path, "int main() { return 0; }"))
    assert outcome.disagreement is None
    assert outcome.sentence.startswith("not challenged: the compiled program could not be run")


def test_other_machines_do_not_run_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    outcome = challenged(program_of(tmp_path, "int main() { return 0; }"))
    assert outcome.sentence == "not challenged: this machine is aarch64, not x86"


def test_without_confinement_assembly_is_not_executed(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { return 0; }")
    wanted = Wanted({}, lambda undefined: runs_harness(undefined, {}, {}, (), {}), defines=(MANY, UNCONFINED))
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
    result = challenged(program_of(tmp_path, text % (length - 1), model=model))
    assert list(result.reached) == ["reach-error"]


def test_system_calls_end_a_run(tmp_path: Path) -> None:
    """The binary would write a file, if it were not confined."""
    program = program_of(tmp_path, "int main() { return 0; }")
    path = tmp_path / "written"
    calls = f"""int main() {{ long result;
        asm volatile ("syscall" : "=a"(result) : "a"(2), "D"("{path}"), "S"(0101), "d"(0666)
                      : "rcx", "r11", "memory");
        return 0; }}"""
    outcome = challenged(program, calls)
    assert outcome.compared == 0
    assert not path.exists()
