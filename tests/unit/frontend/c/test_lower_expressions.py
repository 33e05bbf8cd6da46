"""Values, assignments, calls and checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend.c.lowering import edges, loaded, ops

from certus.core.errors import Unsupported
from certus.core.program import Alloc, Assign, Assume, Call, Free, Havoc, Load, Store
from certus.core.terms import INT
from certus.run.settings import Settings
from certus.run.verify import verify


def assigned(directory: Path, body: str) -> list[str]:
    program = loaded(directory, f"int main(void) {{ {body} return 0; }}").program
    return [f"{op.targets[0]!r} = {op.values[0]!r}" for op in ops(program, Assign) if isinstance(op, Assign)]


def test_operands_keep_the_value_they_had(tmp_path: Path) -> None:
    found = assigned(tmp_path, "int x = 1, y; y = x + x++;")
    assert found[-1] == "main.y = main.$1 + main.$2"
    assert "main.$2 = main.x" in found  # the first operand, before the second changes it


def test_an_input_is_given_to_the_variable_itself(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { int x; x = __VERIFIER_nondet_int(); return x; }").program
    (havoc,) = [e for e in edges(program) if isinstance(e.op, Havoc)]
    assert havoc.text == "x = __VERIFIER_nondet_int()"
    assert isinstance(havoc.op, Havoc)
    assert [v.name for v in havoc.op.targets] == ["main.x"]
    assert havoc.op.function == "__VERIFIER_nondet_int"


def test_pointers_are_integers_and_bytes_in_memory(tmp_path: Path) -> None:
    text = "struct s { struct s *next; } a; int main(void) { a.next = &a; return a.next == 0; }"
    program = loaded(tmp_path, text).program
    assert repr(ops(program, Store)[0]) == "Store(address=$&a, value=(u64)$&a)"
    (load,) = ops(program, Load)
    assert isinstance(load, Load)
    assert load.target.sort.name == "u64"


def test_elements_are_base_and_offset(tmp_path: Path) -> None:
    text = "int a[3][4]; int main(void) { int i = __VERIFIER_nondet_int(); a[2][i] = 1; return 0; }"
    (store,) = ops(loaded(tmp_path, text).program, Store)
    assert isinstance(store, Store)
    assert repr(store.address) == "$&a + 4 * (integer)main.i + 32"


def test_a_pointer_may_pass_through_an_integer(tmp_path: Path) -> None:
    text = """struct s { int a, b; } v;
    int main(void) { struct s *p = &v; unsigned long t, u; t = (unsigned long)p; u = t + 4;
      *(int *)u = 5; return *(int *)((unsigned long)p + 4); }"""
    program = loaded(tmp_path, text).program
    (store,) = ops(program, Store)
    assert isinstance(store, Store)
    made = [op for op in ops(program, Assign) if isinstance(op, Assign) and op.targets == (store.address,)]
    assert [repr(op.values[0]) for op in made] == ["(integer)main.u"]


def test_other_integers_are_addresses_in_a_variable(tmp_path: Path) -> None:
    text = "int main(void) { int i = __VERIFIER_nondet_int(); return *(int *)(long)i; }"
    program = loaded(tmp_path, text).program
    (load,) = ops(program, Load)
    assert isinstance(load, Load)
    made = [op for op in ops(program, Assign) if isinstance(op, Assign) and op.targets == (load.address,)]
    assert [repr(op.values[0]) for op in made] == ["(integer)(u64)main.i"]


def test_a_call_through_a_pointer_means_functions_that_fit(tmp_path: Path) -> None:
    text = """int f(int x) { return x; } int g(int x) { return -x; }
    void h(void) {} long k(long x) { return x; }
    void (*other)(void) = h; long (*wide)(long) = k;
    int main(void) { int (*p)(int) = __VERIFIER_nondet_int() ? f : g; other(); wide(1); return p(3); }"""
    program = loaded(tmp_path, text).program
    calls = [op.procedure for op in ops(program, Call) if isinstance(op, Call)]
    assert calls == ["h", "k", "f", "g"]


def test_a_function_whose_address_is_converted_may_be_called_as_another(tmp_path: Path) -> None:
    text = """int f(int x) { return x; } void h(void) {} long k(long x) { return x; }
    void *taken[] = {h};
    int main(void) { int (*p)(int) = f; long (*wide)(long) = k; return p(3) + (taken[0] && wide); }"""
    program = loaded(tmp_path, text).program
    calls = [op.procedure for op in ops(program, Call) if isinstance(op, Call)]
    assert calls == ["f", "k", "h"]  # nothing else calls these


@pytest.mark.parametrize(
    ("given", "outside"),
    [
        ("int *", False),
        ("void *", True),
        ("struct { int n; struct { int (*open)(int); } *all; } *", True),
        ("struct { long (*open)(long, long); } *", True),  # their types count as equal
    ],
)
def test_a_pointer_may_be_that_of_a_function_from_outside(tmp_path: Path, given: str, outside: bool) -> None:
    text = f"""typedef {given}what; what give(void); int f(int x) {{ return x; }}
    int main(void) {{ int (*p)(int) = f; return give() ? p(3) : 0; }}"""
    program = loaded(tmp_path, text).program
    results = [op for op in ops(program, Havoc) if isinstance(op, Havoc) and op.targets[0].sort.name == "i32"]
    assert bool(results) is outside  # of the call


def test_a_function_from_outside_that_gets_pointers_is_refused(tmp_path: Path) -> None:
    text = "void *give(void); int main(void) { int x, (*p)(int *) = give(); return p(&x); }"
    with pytest.raises(Unsupported, match="outside the program"):
        loaded(tmp_path, text)


def test_a_function_from_outside_that_gets_null_is_called(tmp_path: Path) -> None:
    text = "void *give(void); int main(void) { void *(*p)(void *) = give(); p(0); return 0; }"
    assert loaded(tmp_path, text).program.procedures


def test_a_function_named_at_the_call_is_called_directly(tmp_path: Path) -> None:
    text = "int f(int x) { return x; } int main(void) { return (*f)(1) + (&f)(2) + (f)(3); }"
    program = loaded(tmp_path, text).program
    assert len(ops(program, Call)) == 3
    assert not ops(program, Assume)


def test_small_records_are_passed_and_returned_by_their_members(tmp_path: Path) -> None:
    text = """struct s { int a; char b; }; struct s f(struct s x) { x.a++; return x; }
    int main(void) { struct s v = {1, 2}; v = f(v); return v.a; }"""
    function = loaded(tmp_path, text).program.procedures["f"]
    assert [v.sort.name for v in function.parameters][:2] == ["u32", "u8"]
    assert [v.sort.name for v in function.results] == [v.sort.name for v in function.parameters]


def test_large_records_are_passed_and_returned_by_address(tmp_path: Path) -> None:
    text = """struct s { long a[3]; }; struct s f(struct s x) { x.a[0]++; return x; }
    int main(void) { struct s v = {{1, 2}}; v = f(v); return v.a[0]; }"""
    function = loaded(tmp_path, text).program.procedures["f"]
    assert [v.sort for v in function.parameters] == [INT, INT]
    assert function.results == ()


def test_allocation_and_release(tmp_path: Path) -> None:
    text = """extern void *malloc(unsigned long); extern void free(void *);
    int main(void) { int *p = malloc(40); free(p); return 0; }"""
    program = loaded(tmp_path, text).program
    (alloc,) = ops(program, Alloc)
    assert isinstance(alloc, Alloc)
    assert (alloc.storage, repr(alloc.size), alloc.target.name) == ("heap", "40", "main.p")
    (free,) = ops(program, Free)
    assert isinstance(free, Free)
    assert (free.address, free.storage, free.silent) == (alloc.target, "heap", False)
    assert [repr(op.condition) for op in ops(program, Assume) if isinstance(op, Assume)] == [
        "main.p != 0",
        "main.p == 0",
    ]


def test_known_sizes_are_filled_by_elements(tmp_path: Path) -> None:
    text = """extern void *memset(void *, int, unsigned long);
    int a[3]; int main(void) { memset(a, 0, sizeof a); return 0; }"""
    stores = ops(loaded(tmp_path, text).program, Store)
    assert [repr(op) for op in stores] == [
        "Store(address=$&a, value=0)",
        "Store(address=$&a + 4, value=0)",
        "Store(address=$&a + 8, value=0)",
    ]


def test_unknown_sizes_are_filled_by_a_routine(tmp_path: Path) -> None:
    text = """extern void *memset(void *, int, unsigned long);
    char a[300]; int main(void) { memset(a, 0, __VERIFIER_nondet_uint()); return 0; }"""
    program = loaded(tmp_path, text).program
    assert "$__certus_fill1" in program.procedures


def test_printing_changes_nothing(tmp_path: Path) -> None:
    text = 'extern int printf(const char *, ...); int main(void) { printf("%d", 3); return 0; }'
    program = loaded(tmp_path, text).program
    assert [type(e.op).__name__ for e in edges(program)] == ["Havoc", "Return"]  # its result
    assert not program.globals


def test_arguments_are_read_although_nobody_needs_their_values(tmp_path: Path) -> None:
    text = """extern int printf(const char *, ...), puts(const char *); extern void exit(int);
        int main(void) { int *p = 0; printf("%d", *p); exit(p[1]); return 0; }"""
    assert len(ops(loaded(tmp_path, text).program, Load)) == 2


WORDS = {
    "assumptions": (
        "void assume_abort_if_not(int); void klee_assume(unsigned long); void __CPROVER_assume(_Bool);"
        "int main(void) { int x = __VERIFIER_nondet_int();"
        " assume_abort_if_not(x > 1); klee_assume(x > 2); __CPROVER_assume(x > 3); return 0; }",
        3,
        0,
    ),
    "assertions": (
        "void sassert(int); void __VERIFIER_assert(int); void __ESBMC_assert(_Bool, const char *);"
        "int main(void) { int x = __VERIFIER_nondet_int();"
        ' sassert(x > 1); __VERIFIER_assert(x > 2); __ESBMC_assert(x > 3, "x"); return 0; }',
        6,
        3,
    ),
    "a body counts": (
        "void klee_assume(int c) { } void __VERIFIER_assert(int c) { }"
        "int main(void) { klee_assume(0); __VERIFIER_assert(0); return 0; }",
        0,
        0,
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_of_other_verifiers(tmp_path: Path, name: str) -> None:
    text, assumed, errors = WORDS[name]
    found = loaded(tmp_path, text)
    assert not found.warnings
    assert (len(ops(found.program, Assume)), len(found.program.errors)) == (assumed, errors)


@pytest.mark.parametrize("called", ["nondet_int", "__CPROVER_nondet_int", "__SMACK_nondet_int", "klee_int"])
def test_inputs_in_the_words_of_other_verifiers(tmp_path: Path, called: str) -> None:
    found = loaded(tmp_path, f"int {called}(void); int main(void) {{ return {called}(); }}")
    assert not found.warnings
    (op,) = ops(found.program, Havoc)
    assert isinstance(op, Havoc)
    assert op.function == called


@pytest.mark.parametrize(
    "call",
    ["klee_make_symbolic(&x, 4, 0)", "__CPROVER_havoc_object(&x)", "__VERIFIER_nothing()", "__assume(x)"],
)
def test_other_words_of_verifiers_are_refused(tmp_path: Path, call: str) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, f"int main(void) {{ int x = 0; {call}; return x; }}")
    assert caught.value.diagnostic.code == "unsupported-verifier-function"
    assert "__VERIFIER_assume" in (caught.value.diagnostic.hint or "")


def test_undefined_functions_are_told_of(tmp_path: Path) -> None:
    text = "extern int f(int *); int main(void) { int x = 1; f(&x); return x; }"
    found = loaded(tmp_path, text)
    assert [w.code for w in found.warnings] == ["undefined-function", "escaped-address"]
    assert len(ops(found.program, Havoc)) == 2
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, "extern int f(void *); void *p; int main(void) { return f(p); }")
    assert caught.value.diagnostic.code == "unsupported-external-function"


@pytest.mark.parametrize(
    ("expression", "kinds"),
    [
        ("x + y", ["overflow"]),
        ("x - 1", ["overflow"]),
        ("-x", ["overflow"]),
        ("x << 1", ["overflow"]),
        ("x / y", ["overflow"]),
        ("(short)x * (short)y", []),  # at most 2^30
        ("(unsigned short)x * (unsigned short)y", ["overflow"]),
        ("x >> 1", []),
        ("x & y", []),
        ("(int)((unsigned)x + 1u)", []),
        ("x++", ["overflow"]),
        ("1 + 2", []),
    ],
)
def test_overflow_is_checked_where_it_can_happen(tmp_path: Path, expression: str, kinds: list[str]) -> None:
    inputs = "int x = __VERIFIER_nondet_int(), y = __VERIFIER_nondet_int();"
    text = f"int main(void) {{ {inputs} return {expression}; }}"
    program = loaded(tmp_path, text, property="no-overflow").program
    assert [site.kind for site in program.errors] == kinds


def test_divisors_are_checked_in_their_context(tmp_path: Path) -> None:
    text = "int main(void) { int x = __VERIFIER_nondet_int(); return x != 0 && 5 / x > 1; }"
    program = loaded(tmp_path, text, property="no-div-zero").program
    (site,) = program.errors
    assert site.kind == "division-by-zero"
    assert site.text == "the divisor of 5 / x is not 0"


def test_only_the_named_function_is_the_error(tmp_path: Path) -> None:
    from certus.core.vocabulary import Property
    from certus.frontend.c.load import load_c

    path = tmp_path / "p.c"
    path.write_text("void f(void) {} void reach_error(void) {} int main(void) { reach_error(); f(); }")
    found = load_c(path, property=Property("unreach-call", "f")).program
    assert [site.text for site in found.errors] == ["f()"]
    assert "reach_error" in found.procedures


def test_deep_expressions_and_chains_need_no_stack(tmp_path: Path) -> None:
    chain = "".join(f"if (x == {i}) x = {i + 1}; else " for i in range(1200))
    total = "+".join(["x"] * 1200)
    text = f"int main(void) {{ int x = __VERIFIER_nondet_int(); {chain} x = 0; return {total}; }}"
    program = loaded(tmp_path, text).program
    assert len(edges(program)) > 2400


def test_a_pointer_from_a_function_without_body_may_point_to_an_object_of_its_own(tmp_path: Path) -> None:
    """Its contents are not those of the objects that the program has."""
    path = tmp_path / "program.c"
    path.write_text(
        "#include <assert.h>\nstruct s { int x; }; struct s *get(void); static struct s own;\n"
        "int __VERIFIER_nondet_int(void);\n"
        "int main(void) { struct s *p = &own; if (__VERIFIER_nondet_int()) p = get();\n"
        "  if (p) assert(p->x == 0); return 0; }\n"
    )
    settings = Settings(property_name="unreach-call", timeout=60.0)
    assert verify(path, settings).answer != "HOLDS"


@pytest.mark.parametrize("reads", [True, False])
def test_variadic_arguments_are_in_memory_if_the_function_reads_them(tmp_path: Path, reads: bool) -> None:
    start = "__builtin_va_list l; __builtin_va_start(l, n); n = __builtin_va_arg(l, int);" if reads else ""
    text = f"int f(int n, ...) {{ {start} return n; }} int main(void) {{ return f(1, 2); }}"
    names = [op.name for op in ops(loaded(tmp_path, text).program, Alloc) if isinstance(op, Alloc)]
    assert ("arguments" in names) is reads
