"""Programs compiled by Clang and by gcc, on the same inputs: really compiled, really run."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from certus.check.challenge.native import ErrorCodes, challenge
from certus.check.replay.build import UNCONFINED, Builds, Compiler, NotBuilt, Wanted
from certus.check.replay.harness import ExitCode, Supply, harness, runs_harness
from certus.core.accounting import Budget
from certus.core.outcome import COMPILERS_DISAGREE, EVALUATION_ORDER, Challenge, Compilers
from certus.core.program import Program
from certus.core.vocabulary import Property
from certus.frontend.c.load import load_c
from certus.system.tools import find_tool, run_confined

CALLS = ErrorCodes({"reach_error": ExitCode.ERROR, "__assert_fail": ExitCode.ASSERTION})
BOTH = Compilers(("clang", "gcc"))
DECLARED = """
extern int __VERIFIER_nondet_int(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
extern void reach_error(void), abort(void), exit(int);
"""


def program_of(directory: Path, text: str, *, model: str = "LP64", property: str = "unreach-call") -> Program:
    path = directory / "p.c"
    path.write_text(DECLARED + text)
    return load_c(path, property=Property(property), model=model).program


def challenged(program: Program, other: str | None = None, errors: ErrorCodes = CALLS) -> Challenge:
    """Challenge a program, or the model of one with the binaries of another."""
    source = program.source if other is None else DECLARED + other
    return challenge(replace(program, source=source), errors, budget=Budget(60))


def hide_gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "certus.system.tools.find_tool", lambda name: None if name == "gcc" else find_tool(name)
    )


AGREEING = {
    "inputs": "int main() { int x = __VERIFIER_nondet_int(); if (x > 5) exit(1); return 0; }",
    "no inputs": "int main(int argc, char **argv) { return argc; }",
    "the compiler's macros": """int main() {
        int x = __VERIFIER_nondet_int();
    #if defined __clang__ && __clang_major__ > 4 && __has_builtin(__builtin_bitreverse8)
        if (x > 5) exit(1);
    #endif
        return 0; }""",
    "headers": """#include <ctype.h>
        #include <limits.h>
        #include <math.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <wchar.h>
        int main() { int x = __VERIFIER_nondet_int(); char *p = malloc(4);
            printf("hello\\n"); fprintf(stderr, "%d", x); fputs("x", stdout);
            memset(p, 'a', 4); if (isdigit(x & 127) && x < INT16_MAX) exit(1); return strlen("abc"); }""",
    "offsetof": """#include <stddef.h>
        struct s { char c; int i; };
        int main() { static char a[offsetof(struct s, i)];
            if (__VERIFIER_nondet_int() > sizeof a) exit(1); return 0; }""",
    "an inline function": """inline int twice(int x) { return 2 * x; }
        int main() { if (twice(__VERIFIER_nondet_int()) == 4) exit(1); return 0; }""",
    "an error function with a body": """void reach_error(void) { abort(); }
        int main() { if (__VERIFIER_nondet_int() * 2 == 3) reach_error(); return 0; }""",
    "a function that only gcc calls": """int main() {
        if (__builtin_popcountll((unsigned) __VERIFIER_nondet_int()) == 3) exit(1); return 0; }""",
    "old C": """int unused(); f(x) int x; { return x; }
        main() { int *p = 5; p = malloc(8); *p = f(__VERIFIER_nondet_int());
            if (*p > 3) exit(1); return; }""",
    "what cannot be reached": """int main() {
        if (__VERIFIER_nondet_int() > 3) __builtin_unreachable(); return 0; }""",
    "a constructor": """int n; __attribute__((constructor)) static void before(void) { n = 3; }
        int main() { if (__VERIFIER_nondet_int() > n) exit(1); return 0; }""",
}


@pytest.mark.parametrize("what", AGREEING)
def test_both_compilers_agree(what: str, tmp_path: Path) -> None:
    outcome = challenged(program_of(tmp_path, AGREEING[what]))
    assert outcome.disagreement is None
    assert outcome.compared > 0
    assert outcome.compilers == BOTH
    assert outcome.gcc_compared == outcome.compared
    assert outcome.sentence.endswith("; compilers: clang, gcc")


@pytest.mark.parametrize(
    ("property", "kind", "text"),
    [
        (
            "no-overflow",
            "overflow",
            "if (x > 0 && x < 99) return (x + 1) << 2; if (x < -1) return x / -1 > 3;",
        ),
        (
            "no-overflow",
            "overflow",
            "unsigned char c = x; c++; c += x & 255; return c << 4 | (unsigned) x << 9;",
        ),
        ("no-div-zero", "division-by-zero", "if (x) return 7 % x; return x / 3;"),
    ],
)
def test_operations_are_checked_alike(property: str, kind: str, text: str, tmp_path: Path) -> None:
    text = (
        f"int main() {{ int x = __VERIFIER_nondet_int(); if (x == -2147483648) exit(1); {text} return 0; }}"
    )
    outcome = challenged(program_of(tmp_path, text, property=property), errors=ErrorCodes({}, (kind,)))
    assert outcome.disagreement is None
    assert outcome.compilers == BOTH
    assert outcome.gcc_compared == outcome.compared > 100


# -------------------------------------------------------------------------- what C leaves to compilers

ARGUMENTS = "__VERIFIER_nondet_int(), __VERIFIER_nondet_uchar()"


def test_inputs_in_another_order_are_a_warning(tmp_path: Path) -> None:
    text = f"int f(int a, int b) {{ return a + b; }} int main() {{ return f({ARGUMENTS}) > 9; }}"
    outcome = challenged(program_of(tmp_path, text))
    assert outcome.disagreement is None
    assert (outcome.compilers.agreed, outcome.gcc_compared) == (("clang",), 0)
    (warning,) = outcome.warnings
    assert warning.code == EVALUATION_ORDER
    assert (
        "asks for `__VERIFIER_nondet_int()` first if Clang compiles the program, and for" in warning.message
    )
    assert "`__VERIFIER_nondet_uchar()` if gcc does" in warning.message


def test_inputs_of_one_function_may_arrive_in_another_order(tmp_path: Path) -> None:
    """The first argument may get the second input unnoticed, so such runs are not compared."""
    text = """int f(int a, int b) { if (a < b) abort(); return 0; }
        int main() { return f(__VERIFIER_nondet_int(), __VERIFIER_nondet_int()); }"""
    outcome = challenged(program_of(tmp_path, text))
    assert outcome.disagreement is None
    assert outcome.compilers == BOTH
    assert 0 < outcome.gcc_compared < outcome.compared


NEXT = "int n; int next(void) { return ++n; }"
DIFFERING = {
    "the error, by the order of calls": (
        f"""{NEXT} void f(int a, int b) {{ if (a > b) reach_error(); }}
        int main() {{ if (__VERIFIER_nondet_int() > 5) f(next(), next()); return 0; }}""",
        "the error was reached",
    ),
    "the error, by the type of a wide bit-field": (
        """struct { unsigned long long x : 40; } s;
        int main() { s.x = 1ull << 39; if (__VERIFIER_nondet_int() && s.x << 1 == 0) reach_error(); }""",
        "the error was reached",
    ),
    "another ending": (
        f"""{NEXT} int f(int a, int b) {{ if (a > b) exit(1); return 0; }}
        int main() {{ __VERIFIER_nondet_int(); return f(next(), next()); }}""",
        "it called exit",
    ),
}


@pytest.mark.parametrize("what", DIFFERING)
def test_programs_that_depend_on_the_compiler_are_found(what: str, tmp_path: Path) -> None:
    text, ending = DIFFERING[what]
    outcome = challenged(program_of(tmp_path, text))
    assert outcome.disagreement is not None
    assert outcome.disagreement.code == COMPILERS_DISAGREE
    assert (outcome.disagreement.native, outcome.disagreement.gcc) == ("main returned", ending)
    assert outcome.disagreement.asked["gcc"] == ("__VERIFIER_nondet_int",)
    assert outcome.warnings == ()


def test_an_error_with_inputs_in_another_order_counts(tmp_path: Path) -> None:
    text = f"""{NEXT} int first(int a) {{ return next(); }} int second(int a) {{ return next(); }}
        void f(int a, int b) {{ if (a > b) reach_error(); }}
        int main() {{ f(first(__VERIFIER_nondet_int()), second(__VERIFIER_nondet_uchar())); return 0; }}"""
    outcome = challenged(program_of(tmp_path, text))
    assert outcome.disagreement is not None
    assert outcome.disagreement.code == COMPILERS_DISAGREE
    assert outcome.disagreement.asked["gcc"] == tuple(reversed(outcome.disagreement.asked["clang"]))
    assert [warning.code for warning in outcome.warnings] == [EVALUATION_ORDER]


# --------------------------------------------------------------------------- where gcc takes no part


def test_gcc_is_not_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_gcc(monkeypatch)
    outcome = challenged(program_of(tmp_path, AGREEING["inputs"]))
    assert outcome.compilers == Compilers(("clang",), "it is not installed")
    assert outcome.sentence.endswith("agree with the model; compilers: clang")


def test_gcc_compiles_for_64_bits_only(tmp_path: Path) -> None:
    outcome = challenged(program_of(tmp_path, AGREEING["inputs"], model="ILP32"))
    assert outcome.compilers == Compilers(("clang",), "it compiles for LP64 only")


def test_what_gcc_refuses_it_does_not_run(tmp_path: Path) -> None:
    program = program_of(tmp_path, AGREEING["inputs"])
    outcome = challenged(program, AGREEING["inputs"].replace("int x", "int *_Nonnull p = 0; int x"))
    assert outcome.compared > 0
    assert outcome.compilers.agreed == ("clang",)
    assert outcome.compilers.absent.startswith("the program could not be compiled: ")


def test_an_attribute_that_gcc_does_not_know_is_refused(tmp_path: Path) -> None:
    """It may mean anything. Here it makes four numbers."""
    program = program_of(tmp_path, "int main() { return 0; }")
    outcome = challenged(
        program, "typedef int four __attribute__((ext_vector_type(4))); int main() { return !sizeof(four); }"
    )
    assert outcome.compared == 1
    assert "ext_vector_type" in outcome.compilers.absent


def test_another_compiler_of_that_name_takes_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "gcc"
    fake.write_text(f'#!/bin/sh\nexec {find_tool("gcc")} -D__clang__ "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(
        "certus.system.tools.find_tool", lambda name: fake if name == "gcc" else find_tool(name)
    )
    outcome = challenged(program_of(tmp_path, AGREEING["inputs"]))
    assert outcome.compilers.agreed == ("clang",)
    assert "not gcc" in outcome.compilers.absent


def test_without_time_gcc_takes_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certus.check.challenge.native._GCC_SECONDS", 0.0)
    outcome = challenged(program_of(tmp_path, AGREEING["inputs"]))
    assert outcome.compilers.agreed == ("clang",)
    assert "did not finish" in outcome.compilers.absent


# ------------------------------------------------------------------------------------ confinement


def test_the_program_of_gcc_is_confined(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { return 0; }")
    calls = (
        'int main() { long r; __asm__ volatile ("syscall" : "=a"(r) : "a"(39) : "rcx", "r11"); return 0; }'
    )
    wanted = Wanted({}, lambda undefined: harness(Supply(), undefined, None, about="nothing"))
    builds = Builds(replace(program, source=calls), wanted, directory=tmp_path)
    built = builds.build(Compiler.GCC)
    ended = run_confined(built.executable, directory=tmp_path, seconds=5, memory=1 << 30)
    assert ended.code == -signal.SIGSYS


def test_without_confinement_clang_refuses_assembly_first(tmp_path: Path) -> None:
    """gcc has no flag for that, so it is asked only for what Clang accepts."""
    program = program_of(tmp_path, "int main() { return 0; }")
    assembly = replace(program, source='int main() { __asm__ volatile ("nop"); return 0; }')
    wanted = Wanted({}, lambda undefined: runs_harness(undefined, {}, {}, (), {}), defines=(UNCONFINED,))
    with pytest.raises(NotBuilt, match="inline assembly is disabled"):
        Builds(assembly, wanted, directory=tmp_path).build(Compiler.GCC)
