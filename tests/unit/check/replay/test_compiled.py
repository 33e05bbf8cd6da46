"""Traces of C programs replayed by the compiled program: really compiled, really run."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random

import pytest

from certus.check.replay.build import _LIBRARY as LINKED
from certus.check.replay.compiled import CompiledReplay, compiled_replay
from certus.check.replay.harness import Supply, error_function, harness, hooks, stubs
from certus.check.replay.replay import replay
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.outcome import Compilers, Replay
from certus.core.program import Alloc, Havoc, Program
from certus.core.vocabulary import Property
from certus.frontend.c.load import load_c
from certus.frontend.c.model.library import FUNCTIONS, Model
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import RandomInputs, constants
from certus.interpreter.interpreter import Ending, run
from certus.system.tools import find_tool

MODELS = ("ILP32", "LP64")
NOT_COMPILED = """
memccpy memrchr rawmemchr memmem stpncpy strcasestr isascii strtoimax strtoumax
__isoc23_strtoll __isoc23_strtoull __strtol_internal __strtoul_internal htonl htons ntohl ntohs strcoll
strtoq strtouq __divdc3 __divsc3 __divxc3 cabs cabsf cabsl carg cargf cargl
"""
DECLARED = """
extern int __VERIFIER_nondet_int(void);
extern unsigned char __VERIFIER_nondet_uchar(void);
extern long long __VERIFIER_nondet_longlong(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assume(int);
extern void abort(void);
"""


def program_of(
    directory: Path, text: str, *, model: str = "LP64", property: str = "unreach-call", name: str = "p.c"
) -> Program:
    path = directory / name
    path.write_text(text)
    return load_c(path, property=Property(property), model=model).program


def some_trace(program: Program) -> Trace:
    """The inputs of the first of many random runs that reaches an error."""
    compiled, numbers = compile_program(program), constants(program)
    for number in range(3000):
        inputs = RandomInputs(Random(number), numbers)
        end = run(compiled, inputs, step_limit=20_000, budget=Budget())
        if end.ending is Ending.ERROR:
            return inputs.trace(end.location.name)
    raise AssertionError("no run reaches an error")


def replayed(program: Program, trace: Trace | None = None) -> CompiledReplay:
    trace = trace or some_trace(program)
    assert isinstance(replay(program, trace, budget=Budget()), Replay)
    return compiled_replay(program, trace, budget=Budget(60))


CONFIRMED = {
    "numbers that `fscanf` reads": """#include <stdio.h>
        void reach_error(void);
        int main() { short s; double d; long long n; int read = fscanf(stdin, "%hd %lf %lld", &s, &d, &n);
            if (read == 3 && s > 0 && d > 0 && n < 4) reach_error(); }""",
    "what `scanf` reads again and again": """#include <stdio.h>
        void reach_error(void);
        int main() { int n = 0, sum = 0; while (scanf("%d", &n) == 1) if ((sum += n) > 9) reach_error(); }""",
    "variables of a thread": """void reach_error(void); static __thread int n = 2; _Thread_local int m = 1;
        int main() { n += __VERIFIER_nondet_int(); if (n + m == 5) reach_error(); }""",
    "the error is only declared": """void reach_error(void);
        int main() { if (__VERIFIER_nondet_int() == 5) reach_error(); }""",
    "the error in a macro": """void reach_error(void);
        #define ERR() reach_error()
        int main() { if (__VERIFIER_nondet_int() == 5) ERR(); }""",
    "the error in a macro with a body": """void reach_error(void) { abort(); }
        #define __VERIFIER_assert(c) if (!(c)) reach_error()
        int main() { int x = __VERIFIER_nondet_int(); __VERIFIER_assert(x != 5); }""",
    "words of other verifiers": """int nondet_int(void); void klee_assume(unsigned long);
        void sassert(int);
        int main() { int x = nondet_int(); klee_assume(x > 4); sassert(x < 6); return 0; }""",
    "the user's own assumption, which does nothing": """void reach_error(void);
        void assume_abort_if_not(int c) { }
        int main() {
            int x = __VERIFIER_nondet_int();
            assume_abort_if_not(x > 4);
            if (x < 4) reach_error();
        }""",
    "the error called in parentheses": """void reach_error(void);
        int main() { if (__VERIFIER_nondet_int() == 5) (reach_error)(); }""",
    "the error has no effect of its own": "void reach_error() { } int main() { reach_error(); return 0; }",
    "the error is static": """static void reach_error(void) { abort(); }
        int main() { reach_error(); return 0; }""",
    "an assertion": """#include <assert.h>
        int main() { int x = __VERIFIER_nondet_int(); assert(x != 3); return 0; }""",
    "an undeclared assertion": """
        int main() { int x = __VERIFIER_nondet_int(); assert(x < 3); return 0; }""",
    "assumptions": """void reach_error();
        int main() {
            int x = __VERIFIER_nondet_int();
            __VERIFIER_assume(x > 4);
            if (x < 6) reach_error();
        }""",
    "inputs in order, by function": """void reach_error();
        int main() {
            int sum = 0;
            for (int i = 0; i < 3; i++)
                sum = 10 * sum + (__VERIFIER_nondet_int() & 1) + 2 * __VERIFIER_nondet_bool();
            if (sum == 120 || sum == 301) reach_error();
        }""",
    "narrow and wide inputs": """void reach_error();
        int main() {
            unsigned char c = __VERIFIER_nondet_uchar();
            long long w = __VERIFIER_nondet_longlong();
            if (c > 200 && w < 0) reach_error();
        }""",
    "division of wide integers": """void reach_error();
        int main() {
            long long w = __VERIFIER_nondet_longlong(), d = __VERIFIER_nondet_int();
            unsigned long long u = w;
            if (d == 0 || d == -1) abort();
            if (w / d * d + w % d == w && (u / 7) * 7 + u % 7 == u && w < -3) reach_error();
        }""",
    "memory and strings": """#include <stdlib.h>
        #include <string.h>
        void reach_error();
        struct node { struct node *next; char text[8]; };
        int main() {
            struct node *list = 0;
            int n = __VERIFIER_nondet_int();
            if (n < 0 || n > 5) abort();
            for (int i = 0; i < n; i++) {
                struct node *made = malloc(sizeof *made);
                strcpy(made->text, "abc");
                made->text[1] += i;
                made->next = list;
                list = made;
            }
            int length = 0;
            for (struct node *p = list; p; p = p->next) length += strlen(p->text) + memcmp(p->text, "a", 1);
            if (length > 9) reach_error();
            free(list);
        }""",
    "the number of arguments": """void reach_error();
        int main(int argc, char **argv) { if (argc == 4) reach_error(); }""",
    "constructors and destructors, in order": """void reach_error(); int atexit(void (*)(void));
        int n;
        __attribute__((constructor)) static void second() { n = n * 10 + 2; }
        __attribute__((constructor(200))) static void first() { n = n * 10 + 1; }
        __attribute__((destructor(200))) static void last() { if (n == 1235467) reach_error(); }
        __attribute__((destructor)) static void seventh() { n = n * 10 + 7; }
        __attribute__((destructor)) static void sixth() { n = n * 10 + 6; }
        static void handler() { n = n * 10 + 4; }
        int main() { atexit(handler); n = n * 10 + __VERIFIER_nondet_int(); n = n * 10 + 5; }""",
    "destructors at exit": """void reach_error(); void exit(int);
        int n;
        __attribute__((destructor(200))) static void last() { if (n == 12) reach_error(); }
        __attribute__((destructor)) static void first() { n = n * 10 + 2; }
        int main() { if (__VERIFIER_nondet_int()) { n = 1; exit(0); } }""",
    "variables that are never initialised, and not used": """void reach_error();
        int main() {
            int x, y = __VERIFIER_nondet_int();
            if (y == 2) { x = y; if (x == 2) reach_error(); }
        }""",
    "bit-fields and unions": """void reach_error();
        union u { struct { unsigned a : 3; int b : 5; } f; unsigned char bytes[4]; };
        int main() {
            static union u v = { { 0, 0 } };
            v.f.a = __VERIFIER_nondet_int();
            v.f.b = -3;
            if (v.bytes[0] == (5 | 0xe8)) reach_error();
        }""",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("what", CONFIRMED)
def test_the_compiled_program_confirms(what: str, model: str, tmp_path: Path) -> None:
    program = program_of(tmp_path, DECLARED + CONFIRMED[what], model=model)
    result = replayed(program)
    assert result.confirmed, result
    assert result.why_not is None


def test_functions_with_an_exact_model_are_there_when_compiled() -> None:
    """Runs that call one of the others are not compared."""
    parts = (files("certus.check.replay").joinpath(name) for name in ("start.c", "runtime.c", "math.c"))
    runtime = "".join(part.read_text(encoding="utf-8") for part in parts)
    defined = re.findall(r"^ *WEAK [\w ]+?\**(\w+)(##suffix)?\(", runtime, re.MULTILINE)
    written = {f"{name}{end}" for name, typed in defined for end in (("", "f", "l") if typed else ("",))}
    missing = [
        name
        for name, function in FUNCTIONS.items()
        if isinstance(function.meaning, Model) and not function.passed and name not in {*LINKED, *written}
    ]
    wide = [name for name in missing if name.startswith(("wcs", "wmem"))]
    assert [name for name in missing if name not in (*wide, *NOT_COMPILED.split())] == []


TRAPPED = {
    "no-overflow": """
        int main() { int x = __VERIFIER_nondet_int(); if (x < 5) return 0; return x + 2147483640; }""",
    "float-cast-overflow": """double __VERIFIER_nondet_double(void);
        int main() { double x = __VERIFIER_nondet_double(); if (!(x > 1e5)) return 0; return (short)x; }""",
    "float-divide-by-zero": """double __VERIFIER_nondet_double(void);
        int main() { double x = __VERIFIER_nondet_double(); return 1.0 / (x < 0 ? x : -0.0) > 1.0; }""",
    "no-div-zero": """int main() { long long x = __VERIFIER_nondet_longlong(); return 100 / (int) x; }""",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", TRAPPED)
def test_operations_that_must_not_happen_end_the_program(kind: str, model: str, tmp_path: Path) -> None:
    program = program_of(tmp_path, DECLARED + TRAPPED[kind], model=model, property=kind)
    result = replayed(program)
    assert result.confirmed, result
    assert result.compilers.agreed == (("clang", "gcc") if model == "LP64" else ("clang",))


OVERFLOWS = {
    "a sum": "x + 1",
    "a difference": "-2 - x",
    "a product": "x * 2",
    "a negation": "-(-x - 1)",
    "an increment": "++x",
    "a quotient": "(-x - 1) / (x ? -1 : 1)",
    "a shifted bit": "x << 1",
    "a shift by too many": "1 << (x & 63)",
    "a shift of what is negative": "(-x) << 1",
    "a quotient of a function": "div(-x - 1, x ? -1 : 1).rem",
    "an absolute value, by a pointer": "((int (*volatile)(int)){abs})(-x - 1)",
}


@pytest.mark.parametrize("what", OVERFLOWS)
def test_both_compilers_end_the_program_where_it_overflows(what: str, tmp_path: Path) -> None:
    main = f"int main() {{ int x = 2147483647; int y = {OVERFLOWS[what]}; return y == 7; }}"
    result = replayed(program_of(tmp_path, f"#include <stdlib.h>\n{main}", property="no-overflow"))
    assert result.confirmed, result
    assert result.compilers == Compilers(("clang", "gcc"))


def test_both_compilers_compute_constants_in_the_rounding_mode_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "round.h").write_text("int fesetround(int);\n#define UPWARD fesetround(0x800)\n")
    check = "if (1.0 / 3.0 == 0x1.5555555555556p-2) reach_error();"
    text = f'#include "round.h"\nvoid reach_error(void); int main() {{ UPWARD; {check} }}'
    result = replayed(program_of(tmp_path, text))
    assert result.confirmed, result
    assert result.compilers == Compilers(("clang", "gcc"))


def test_gcc_leaves_out_what_is_not_used(tmp_path: Path) -> None:
    program = program_of(tmp_path, "int main() { int x = 2147483647; x + 1; }", property="no-overflow")
    result = replayed(program)
    assert result.confirmed
    assert result.compilers == Compilers(("clang",), differs="main returned")


ORDERED = """void reach_error(void); int n; int next(void) { return ++n; }
    void f(int a, int b) { if (a < b) reach_error(); } int main() { f(next(), next()); return 0; }"""


def test_a_violation_stands_without_gcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(tmp_path, ORDERED)
    result = replayed(program)
    assert result.confirmed
    assert result.compilers == Compilers(("clang",), differs="main returned")
    assert result.compilers.sentence == "compilers: clang (gcc: main returned)"
    monkeypatch.setattr("certus.system.tools.find_tool", lambda _: None)
    result = replayed(program)
    assert result.confirmed
    assert result.compilers == Compilers(("clang",), "it is not installed")
    assert result.compilers.sentence == "compilers: clang"


def test_what_gcc_refuses_it_does_not_replay(tmp_path: Path) -> None:
    program = program_of(tmp_path, "void reach_error(void); int main() { int *_Nonnull p; reach_error(); }")
    result = replayed(program)
    assert result.confirmed
    assert result.compilers.agreed == ("clang",)
    assert result.compilers.absent.startswith("the program could not be compiled: ")


def test_preprocessed_text_is_compiled_as_it_is(tmp_path: Path) -> None:
    text = '# 7 "elsewhere.c"\n' + DECLARED + CONFIRMED["the error has no effect of its own"]
    assert replayed(program_of(tmp_path, text, name="p.i")).confirmed


def test_headers_beside_the_program_are_found(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("void reach_error(void);\n#define LIMIT 3\n")
    text = DECLARED + '#include "own.h"\nint main() { if (__VERIFIER_nondet_int() > LIMIT) reach_error(); }'
    assert replayed(program_of(tmp_path, text)).confirmed


# --------------------------------------------------------------- what the compiled program cannot know


def test_a_plain_inline_function_is_compiled_too(tmp_path: Path) -> None:
    """In C99 it is no definition of its own: by itself such a program cannot be linked."""
    text = (
        "void reach_error(void) {}\ninline int twice(int x) { return 2 * x; }\n"
        "int main(void) { int x = __VERIFIER_nondet_int(); if (twice(x) == 6) reach_error(); }\n"
    )
    assert replayed(program_of(tmp_path, DECLARED + text)).confirmed


def test_uninitialised_variables_explain_a_difference(tmp_path: Path) -> None:
    text = DECLARED + "void reach_error(); int main() { int x; if (x == 12345) reach_error(); }"
    program = program_of(tmp_path, text)
    (edge,) = [e.index for e in program.edge.values() if isinstance(e.op, Havoc)]
    error = program.errors[0].location.name
    result = replayed(program, Trace(error, {}, {edge: ((12345,),)}))
    assert (result.confirmed, result.ending, result.disagrees) == (False, "main returned", False)
    assert result.why_not is not None
    assert "`int x`" in result.why_not


def test_contents_of_new_objects_explain_a_difference(tmp_path: Path) -> None:
    program = program_of(
        tmp_path, "void reach_error(); int main() { int a[2]; if (a[1] == 7) reach_error(); }"
    )
    output = next(e.index for e in program.edge.values() if isinstance(e.op, Alloc))
    result = replayed(program, Trace(program.errors[0].location.name, {}, {output: ((0, 0, 0, 0, 7),)}))
    assert (result.confirmed, result.disagrees) == (False, False)
    assert result.why_not == "the run depends on the contents of `a` before the first write to it"


@pytest.mark.parametrize("model", MODELS)
def test_new_objects_on_the_heap_have_the_contents_of_the_trace(model: str, tmp_path: Path) -> None:
    text = """#include <stdlib.h>
        void reach_error(void) { }
        int main(void) {
            int *zeros = calloc(2, sizeof *zeros), *p = malloc(2 * sizeof *p), *q = malloc(sizeof *q);
            if (zeros[1] == 0 && p[0] == 0 && p[1] == 7 && *q == -2) reach_error();
            return 0;
        }"""
    program = program_of(tmp_path, text, model=model)
    p, q = (n for n, e in program.edge.items() if isinstance(e.op, Alloc) and not e.op.zero)
    trace = Trace(program.errors[0].location.name, inputs={p: ((0, 0, 0, 0, 7),), q: ((254, 255, 255, 255),)})
    result = compiled_replay(program, trace, budget=Budget(60))
    assert result.confirmed, result
    assert result.compilers.agreed == (("clang", "gcc") if model == "LP64" else ("clang",))


def test_functions_nobody_defines_explain_a_difference(tmp_path: Path) -> None:
    text = """int mystery(int); void reach_error();
        int main() { if (mystery(1) + mystery(2) == 9) reach_error(); }"""
    program = program_of(tmp_path, text)
    first, second = [e.index for e in program.edge.values() if isinstance(e.op, Havoc)]
    error = program.errors[0].location.name
    result = replayed(program, Trace(error, {}, {first: ((4,),), second: ((5,),)}))
    assert result.confirmed  # the harness supplies these values, too
    assert result.why_not is not None


def test_addresses_explain_a_difference(tmp_path: Path) -> None:
    text = """void reach_error(); int a, b;
        int main() {
            if ((unsigned long) &a % 4096 != (unsigned long) &b % 4096 + 100) reach_error();
            return &a == &b;
        }"""
    result = replayed(program_of(tmp_path, text))
    assert result.why_not is not None
    assert "address of `a`" in result.why_not or "address of `b`" in result.why_not


def test_a_trace_that_does_not_lead_to_the_error_is_not_confirmed(tmp_path: Path) -> None:
    text = DECLARED + "void reach_error(); int main() { if (__VERIFIER_nondet_int() == 5) reach_error(); }"
    program = program_of(tmp_path, text)
    result = compiled_replay(program, Trace(program.errors[0].location.name), budget=Budget(60))
    assert (result.confirmed, result.ending, result.disagrees) == (False, "main returned", True)


@pytest.mark.parametrize(
    ("statement", "ending"),
    [
        ("abort();", "it was aborted"),
        ("exit(11);", "it called exit"),
        ("__VERIFIER_assume(0);", "an assumption failed"),
        ("__VERIFIER_nondet_int(); __VERIFIER_nondet_int();", "it asked for more inputs than the trace has"),
        ("return 11;", "main returned"),
        ("*(volatile int *) 0 = 1;", "it accessed memory that does not exist"),
        ('asm volatile ("int $0x80" : : "a"(20));', "it was ended by SIGSYS"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_endings_are_told_apart(statement: str, ending: str, model: str, tmp_path: Path) -> None:
    """The program that is compiled is another one than the interpreter ran."""
    text = DECLARED + "extern void exit(int); void reach_error(void);"
    program = program_of(tmp_path, text + "int main() { reach_error(); return 0; }", model=model)
    other = text + f"int main() {{ {statement} reach_error(); return 0; }}"
    changed = replace(program, source=other)
    result = compiled_replay(changed, Trace(program.errors[0].location.name), budget=Budget(60))
    assert (result.confirmed, result.ending, result.disagrees) == (False, ending, True)


@pytest.mark.parametrize(
    "other",
    [
        "int f(int n) { return f(n + 1) + 1; } int main() { return f(0); }",
        "int n = 1 << 28; int main() { int a[n]; a[0] = 1; return a[0]; }",
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_running_out_of_stack_is_no_disagreement(other: str, model: str, tmp_path: Path) -> None:
    text = "void reach_error(void); int main() { reach_error(); return 0; }"
    program = program_of(tmp_path, text, model=model)
    changed = replace(program, source=f"void reach_error(void); {other}")
    result = compiled_replay(changed, Trace(program.errors[0].location.name), budget=Budget(60))
    assert (result.confirmed, result.ending, result.disagrees) == (False, "it ran out of stack", False)


def test_a_program_that_does_not_end_is_no_disagreement(tmp_path: Path) -> None:
    program = program_of(tmp_path, "void reach_error(void); int main() { reach_error(); return 0; }")
    other = "void reach_error(void); int main() { for (;;) ; }"
    changed = replace(program, source=other)
    result = compiled_replay(changed, Trace(program.errors[0].location.name), budget=Budget(2.5))
    assert (result.confirmed, result.ending, result.disagrees) == (False, "not finished", False)


def test_a_program_that_cannot_be_compiled_says_why(tmp_path: Path) -> None:
    program = program_of(tmp_path, "void reach_error(void); int main() { reach_error(); return 0; }")
    changed = replace(program, source="int main(")
    result = compiled_replay(changed, Trace(program.errors[0].location.name), budget=Budget(60))
    assert not result.disagrees
    assert result.why_not is not None
    assert result.why_not.startswith("the program could not be compiled: ")


def test_what_the_program_calls_is_not_done(tmp_path: Path) -> None:
    """Functions with effects outside the program are never linked."""
    target = tmp_path / "precious"
    target.write_text("kept")
    text = f"""#include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        void reach_error(void);
        int main() {{
            remove("{target}"); unlink("{target}"); system("rm {target}");
            reach_error();
        }}"""
    assert replayed(program_of(tmp_path, text)).confirmed
    assert target.read_text() == "kept"


@pytest.mark.skipif(find_tool("gcc") is None, reason="needs the linker of the system")
def test_pure_functions_of_a_c_library_are_linked(tmp_path: Path) -> None:
    text = """#include <stdio.h>
        void reach_error(void);
        int main() { char text[9]; sprintf(text, "%d", 12); reach_error(); return 11; }"""
    program = program_of(tmp_path, text)
    assert replayed(program, Trace(program.errors[0].location.name)).confirmed
    silent = replace(
        program, source=text.replace("reach_error(); return", "return text[0] == '1' ? 3 : 11; return")
    )
    result = compiled_replay(silent, Trace(program.errors[0].location.name), budget=Budget(60))
    assert (result.confirmed, result.ending) == (False, "main returned")
    late = """#include <stdio.h>
        void reach_error(void); int n;
        __attribute__((constructor)) static void before() { n++; }
        __attribute__((destructor)) static void after() { if (n == 1) reach_error(); }
        int main() { char text[9]; sprintf(text, "%d", 12); }"""
    assert replayed(program_of(tmp_path, late)).confirmed


# --------------------------------------------------------------------------------------- the harness


@pytest.mark.skipif(find_tool("gcc") is None, reason="needs the compiler of the system")
def test_a_kept_harness_works_with_any_compiler(tmp_path: Path) -> None:
    program = program_of(tmp_path, DECLARED + CONFIRMED["narrow and wide inputs"])
    kept, output = tmp_path / "kept.c", tmp_path / "made"
    assert compiled_replay(program, some_trace(program), budget=Budget(60), keep=kept).confirmed
    subprocess.run(["gcc", "-w", program.file, str(kept), "-o", str(output)], check=True)
    assert subprocess.run([str(output)], check=False).returncode == 11


def test_inputs_are_told_by_the_function_that_gives_them(tmp_path: Path) -> None:
    text = """
        #define ANY __VERIFIER_nondet_int()
        #define GET(x) x = __VERIFIER_nondet_int()
        void reach_error();
        int one() { return __VERIFIER_nondet_int(); }
        int main() {
            int w, x = ANY, y;
            GET(y);
            __VERIFIER_nondet_int();
            if (x > y + one() + ANY) reach_error();
        }"""
    program = program_of(tmp_path, DECLARED + text)
    result = replayed(program)
    assert (result.confirmed, result.why_not) == (True, None)


def test_the_error_is_named_by_its_call(tmp_path: Path) -> None:
    program = program_of(tmp_path, "void reach_error(void); int main() { reach_error(); return 0; }")
    assert error_function(program, program.errors[0].location.name) == "reach_error"
    program = program_of(tmp_path, "int main(int c, char **v) { return 1 / c; }", property="no-div-zero")
    assert error_function(program, program.errors[0].location.name) is None


def test_no_stub_stands_for_a_builtin_function(tmp_path: Path) -> None:
    text = """void reach_error(void);
        int main() { if (__builtin_add_overflow_p(1, 1, 0) == 0) reach_error(); }"""
    program = program_of(tmp_path, "int __builtin_add_overflow_p(int a, int b, int c) { return 0; }" + text)
    program = replace(program, source=text)
    result = compiled_replay(program, some_trace(program), budget=Budget(60))
    assert not result.confirmed
    assert "__builtin_add_overflow_p" in (result.why_not or "")


def test_the_text_of_a_harness() -> None:
    supply = Supply({"__VERIFIER_nondet_int": [-1, 2], "wide": [1 << 100]}, argc=3)
    text = harness(supply, ["__VERIFIER_nondet_int", "wide", "oops", "other"], "oops", about="*/ nothing")
    assert "{-1ULL, 2ULL}" in text
    assert "(unsigned __int128)68719476736ULL << 64 | 0ULL" in text
    assert "void oops() { certus_finish(11); }" in text
    assert "other" not in text
    assert "int certus_argc = 3;" in text
    assert text.count("*/") == 1
    assert hooks({"f": 11}, ["g"]) == ""
    assert "== (void *)f) certus_finish(11)" in hooks({"f": 11}, ["f", "g"])
    assert "char data[" in stubs(["data"], "extern int data; int x = data;")
    assert "call()" in stubs(["call"], "int x = call(3);")
