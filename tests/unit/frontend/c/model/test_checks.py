"""Which accesses of a C program are checked, and how: kinds of errors, sizes, places and lifetimes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend.c.lowering import edges, loaded, ops

from certus.core.errors import Unsupported
from certus.core.program import Alloc, Assume, Call, Free, Havoc, Inspect, InspectHeap, Load, Program, Store
from certus.core.terms import Kind
from certus.core.vocabulary import ALLOCATION_FAILS
from certus.frontend.c.library.models import signed_names
from certus.frontend.c.load import load_c
from certus.frontend.c.model.c_types import without_reads
from certus.frontend.c.model.effects import EFFECTS

MEMORY = "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n"


def lowered(directory: Path, text: str, property: str = "valid-memsafety", model: str = "LP64") -> Program:
    return loaded(directory, MEMORY + text, property=property, model=model).program


def checks(program: Program, procedure: str = "main") -> list[tuple[str, object]]:
    """Access and size of each check, in order; the size is None if it is computed."""
    return [
        (op.access, int(op.size.value) if op.size.kind is Kind.CONST else None)
        for op in ops(program, Inspect, procedure)
        if isinstance(op, Inspect)
    ]


def kinds(program: Program) -> list[str]:
    return [site.kind for site in program.errors]


class TestWhichAccesses:
    def test_objects_in_scope_need_no_check(self, tmp_path: Path) -> None:
        text = """
        struct s { int a; char b[3]; } g;
        int main(void) { struct s l[2]; int *p = 0; l[1].b[2] = 1; g.a = l[1].b[2]; g.b[0]++; return g.a; }
        """
        assert checks(lowered(tmp_path, text)) == []

    def test_outside_of_an_object_in_scope(self, tmp_path: Path) -> None:
        text = "int a[2]; int main(void) { int b[2]; *(&b[0] - 1) = a[2]; return 0; }"
        assert checks(lowered(tmp_path, text)) == [("read", 4), ("write", 4)]

    def test_pointers_and_indices_are_checked(self, tmp_path: Path) -> None:
        text = """
        struct n { int v; struct n *next; };
        int main(void) {
            int i = __VERIFIER_nondet_int(), a[3] = {0};
            struct n *p = malloc(sizeof *p);
            a[i] = 1; p->next = 0; return p->next->v;
        }
        """
        program = lowered(tmp_path, text)
        assert checks(program) == [("write", 4), ("write", 8), ("read", 4)]
        assert checks(lowered(tmp_path, text, model="ILP32")) == [("write", 4), ("write", 4), ("read", 4)]

    def test_bytes_checked_before_are_not_checked_again(self, tmp_path: Path) -> None:
        text = "int f(int *p) { *p = 1; p[0]++; return *p; } int main(void) { return f(malloc(4)); }"
        assert checks(lowered(tmp_path, text), "f") == [("write", 4)]

    def test_a_read_does_not_allow_a_write(self, tmp_path: Path) -> None:
        text = "int f(int *p) { int x = *p; *p = 1; return x; } int main(void) { return f(malloc(4)); }"
        assert checks(lowered(tmp_path, text), "f") == [("read", 4), ("write", 4)]

    @pytest.mark.parametrize("between", ["free(q)", "g()", "p = q", "p++"])
    def test_what_happens_in_between_asks_again(self, tmp_path: Path, between: str) -> None:
        text = f"""
        void g(void) {{ }}
        int f(int *p, int *q) {{ int x = *p; {between}; return x + *p; }}
        int main(void) {{ return f(malloc(4), malloc(4)); }}
        """
        reads = [check for check in checks(lowered(tmp_path, text), "f") if check[0] == "read"]
        assert len(reads) == 2

    def test_one_branch_does_not_check_for_the_other(self, tmp_path: Path) -> None:
        text = """
        int f(int *p, int c) { if (c) *p = 1; return *p; }
        int main(void) { return f(malloc(4), __VERIFIER_nondet_int()); }
        """
        assert checks(lowered(tmp_path, text), "f") == [("write", 4), ("read", 4)]

    @pytest.mark.parametrize(
        ("body", "number"),
        [
            ("while (*p) { if (*p > 3) x += *p; p++; }", 1),  # known in both blocks behind the condition
            ("if (*p) x = *p; else x = -*p;", 1),
            ("if (*p) p++; x = *p;", 2),  # control comes from two blocks
            ("if (*p) { free(p); x = *p; }", 2),
            ("switch (*p) { case 1: x = *p; case 2: x += *p; }", 2),
        ],
    )
    def test_a_block_knows_what_its_only_predecessor_checked(
        self, tmp_path: Path, body: str, number: int
    ) -> None:
        program = lowered(
            tmp_path, f"int f(int *p) {{ int x = 0; {body} return x; }} int main(void) {{ f(0); }}"
        )
        assert checks(program, "f").count(("read", 4)) == number

    def test_ranges_are_checked_once(self, tmp_path: Path) -> None:
        text = """
        struct s { int a[5]; };
        int f(struct s *p, struct s *q, unsigned n) {
            *p = *q; memset(p, 0, n); memcpy(p, q, 0); return memcmp(p, q, 4);
        }
        int main(void) { return f(malloc(20), malloc(20), __VERIFIER_nondet_uint()); }
        """
        program = lowered(tmp_path, text)
        assert checks(program, "f") == [("write", 20), ("read", 20), ("write", None)]
        assert checks(program, "$memcmp")[:2] == [("read", None), ("read", None)]

    def test_bit_fields_are_checked_by_their_bytes(self, tmp_path: Path) -> None:
        text = """
        struct s { unsigned a : 3; int b : 10; unsigned c : 19; };
        int f(struct s *p) { p->a = 1; return p->b; }
        int main(void) { return f(malloc(2)); }
        """
        program = lowered(tmp_path, text)
        assert checks(program, "f") == [("write", 1), ("read", 2)]
        widths = [op.target.sort for op in ops(program, Load, "f") if isinstance(op, Load)]
        assert [str(sort) for sort in widths] == ["u8", "u16"]

    def test_strings_are_read_byte_by_byte_inside_the_function(self, tmp_path: Path) -> None:
        text = 'int main(void) { char b[9]; strcpy(b, "x"); printf("%s %d", b, 1); return puts(b); }'
        program = lowered(tmp_path, text)
        assert checks(program) == []
        assert checks(program, "$strcpy") == [("read", 1), ("write", 1)]
        assert checks(program, "$strnlen") == [("read", 1)]
        spans = [site.span for site in program.errors if site.location.procedure.startswith("$st")]
        assert spans
        assert set(spans) == {None}

    @pytest.mark.parametrize(
        ("call", "wanted"),
        [
            ('sprintf(p, "%d-%s", 123, "ab")', [("write", 7)]),
            ('sprintf(p, "%d", n)', [("write", None)]),
            ('snprintf(p, 3, "%s", "abcdef")', [("write", 3)]),
            ('scanf("%d", (int *)p)', [("write", 4)]),
            ('scanf("%4s", p)', [("write", None)]),
            ("fread(p, 2, 3, stdin)", [("read", 1), ("write", None), ("write", None)]),
            ("fwrite(p, 2, 3, stdout)", [("read", 1), ("read", 6)]),
            ("fgets(p, 5, stdin)", [("read", 1), ("write", None)]),
        ],
    )
    def test_input_and_output(self, tmp_path: Path, call: str, wanted: list[tuple[str, int | None]]) -> None:
        main = "int main(void) { f(malloc(9), __VERIFIER_nondet_int()); }"
        text = f"void f(char *p, int n) {{ {call}; }}\n{main}"
        assert checks(lowered(tmp_path, text), "f") == wanted


class TestReadsOfTheLibrary:
    """Functions without a model read strings, streams and objects through their arguments."""

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ("openat(1, p, 0)", []),  # the string is read in a model
            ("fgetc(q)", [("read", 1)]),
            ("fflush(0)", []),
            ("fwrite(p, 2, 3, q)", [("read", 1), ("read", 6)]),
            ("nanosleep(q, 0)", [("read", 16)]),
            ("mblen(p, 3)", [("read", None)]),  # not in the table: nothing bounds what is read
            ("mblen(0, 3)", []),
            ("wcstol(q, 0, 10)", [("read", None)]),
        ],
    )
    def test_one_call(self, tmp_path: Path, call: str, expected: list[tuple[str, object]]) -> None:
        headers = "#include <fcntl.h>\n#include <time.h>\n#include <wchar.h>\n"
        text = (
            f"{headers}int f(char *p, void *q) {{ {call}; return 0; }} int main(void) {{ return f(0, 0); }}"
        )
        assert checks(lowered(tmp_path, text), "f") == expected

    @pytest.mark.parametrize(
        ("call", "model"),
        [
            *((call, "strnlen") for call in ("openat(1, p, 0)", "atof(p)", "strtod(p, 0)", "stat64(p, q)")),
            *((call, "__certus_format") for call in ("err(1, p)", "warnx(p)", "fprintf(q, p)")),
        ],
    )
    def test_strings(self, tmp_path: Path, call: str, model: str) -> None:
        files = ("fcntl.h", "sys/stat.h", "err.h", "stdio.h")
        headers = "#define _GNU_SOURCE\n" + "".join(f"#include <{each}>\n" for each in files)
        text = f"int f(char *p, void *q) {{ {call}; return 0; }} int main(void) {{ return f(0, 0); }}"
        program = loaded(tmp_path, headers + MEMORY + text, property="valid-memsafety").program
        assert ("read", 1) in checks(program, f"${model}")

    def test_no_function_with_effects_is_forgotten(self, tmp_path: Path) -> None:
        """Each function of the table that gets a pointer checks it."""
        refused = ("setvbuf", "setbuf", "setbuffer")  # unless the pointer is null
        signatures = {name: without_reads(each) for _, text in EFFECTS for name, each in signed_names(text)}
        names = [
            name for name, each in signatures.items() if set(each[2:]) & set("p*r") and name not in refused
        ]
        declared = "".join(map(_calling, names, (signatures[name] for name in names)))
        calls = "".join(f"f_{name}(p);" for name in names)
        text = f"{declared} int main(void) {{ void *p = (void *)(long)__VERIFIER_nondet_int(); {calls} }}"
        program = loaded(tmp_path, "struct s;" + text, property="valid-memsafety").program
        for name in names:
            reads_string = any(op.procedure == "$strnlen" for op in ops(program, Call, f"f_{name}"))
            assert reads_string or ops(program, Inspect, f"f_{name}"), name


def _calling(name: str, signature: str) -> str:
    """The declaration of a function, and a function `f_NAME` that passes it a pointer."""
    types = {"v": "void", "i": "int", "f": "double", "p": "char *", "r": "struct s *", "*": "void *"}
    types |= {"u": "struct s *", "F": "void *", "s": "int", "a": "__builtin_va_list"}
    kinds = signature[2:-1].removesuffix("...")
    parameters = ", ".join(types[each] for each in kinds) + ", ..." * signature.endswith("...)")
    passed = ", ".join("p" if each in "pr*uF" else "1" if each != "a" else "l" for each in kinds)
    own = "__builtin_va_list l; " * ("a" in kinds)
    return (
        f"{types[signature[0]]} {name}({parameters}); void f_{name}(void *p) {{ {own}{name}({passed}); }}\n"
    )


class TestKinds:
    TEXT = """
    int main(void) { int *p = malloc(4); int x = *p; *p = 1; free(p); return x; }
    """

    @pytest.mark.parametrize(
        ("property", "wanted"),
        [
            ("valid-memsafety", {"invalid-read", "invalid-write", "invalid-free", "memory-leak"}),
            ("valid-deref", {"invalid-read", "invalid-write"}),
            ("valid-free", {"invalid-free"}),
            ("valid-memtrack", {"memory-leak"}),
            ("valid-memcleanup", {"not-freed"}),
            ("unreach-call", set()),
        ],
    )
    def test_of_properties(self, tmp_path: Path, property: str, wanted: set[str]) -> None:
        assert set(kinds(lowered(tmp_path, self.TEXT, property))) == wanted

    def test_sites_say_what_is_accessed_and_where(self, tmp_path: Path) -> None:
        text = """
        struct n { int v; struct n *next; };
        int main(void) { struct n *p = malloc(16); return p->next->v; }
        """
        sites = [site for site in lowered(tmp_path, text).errors if site.kind == "invalid-read"]
        wanted = ["read of 8 bytes by p->next", "read of 4 bytes by p->next->v"]
        assert [site.text for site in sites] == wanted
        assert [site.span.column for site in sites if site.span is not None] == [59, 59]

    def test_literals_and_constants_are_not_written(self, tmp_path: Path) -> None:
        text = """
        const int c = 1; int v; const int *p = &c; int *q = &v;
        int main(void) { return *p + *"x" + *q; }
        """
        made = ops(lowered(tmp_path, text), Alloc, "$start")
        constant = {op.name: op.constant for op in made if isinstance(op, Alloc)}
        assert constant == {"c": True, "v": False, '"x"': True}

    def test_constants_are_marked_for_memory_properties_only(self, tmp_path: Path) -> None:
        text = 'int main(void) { char *p = "x"; return p[__VERIFIER_nondet_int()]; }'
        made = ops(lowered(tmp_path, text, "unreach-call"), Alloc, "$start")
        assert [op.constant for op in made if isinstance(op, Alloc)] == [False]

    def test_bounds_of_arrays(self, tmp_path: Path) -> None:
        text = """
        struct s { int a[2], b; };
        int main(void) { struct s s = {0}; int i = __VERIFIER_nondet_int(); return s.a[i]; }
        """
        (site,) = lowered(tmp_path, text, "array-bounds").errors
        assert (site.kind, site.text) == ("array-bounds", "the index of s.a[i] is within the array")


class TestHeap:
    def heap(self, program: Program) -> dict[str, list[str]]:
        """The questions about the heap, by procedure."""
        asked: dict[str, list[str]] = {}
        for name in program.procedures:
            for op in ops(program, InspectHeap, name):
                assert isinstance(op, InspectHeap)
                asked.setdefault(name, []).append(op.retained)
        return asked

    def test_where_the_program_ends(self, tmp_path: Path) -> None:
        text = """
        void f(void) { exit(1); }
        void g(void) { abort(); }
        void assume_abort_if_not(int c) { if (!c) abort(); }
        int main(void) { int *p = malloc(4); assume_abort_if_not(p != 0);
            if (__VERIFIER_nondet_int()) f(); g(); __VERIFIER_assume(0); return 0; }
        """
        assert self.heap(lowered(tmp_path, text)) == {
            "$start": ["tracked"],
            "f": ["tracked"],
            "g": ["tracked"],
        }
        cleanup = self.heap(lowered(tmp_path, text, "valid-memcleanup"))
        assert cleanup == {name: ["freed"] for name in ("$start", "f", "g")}

    def test_without_a_heap_there_is_nothing_to_ask(self, tmp_path: Path) -> None:
        assert lowered(tmp_path, "int main(void) { exit(0); }").errors == ()

    def test_the_end_of_main_is_shown(self, tmp_path: Path) -> None:
        (site,) = lowered(
            tmp_path, "int main(void) {\n  malloc(1);\n  return 0;\n}\n", "valid-memtrack"
        ).errors
        assert site.span is not None
        assert site.location.procedure == "$start"
        assert site.span.column == 1

    def test_unknown_functions_may_keep_a_pointer(self, tmp_path: Path) -> None:
        text = "void keep(const int *p); int main(void) { int *p = malloc(4); keep(p); p = 0; return 0; }"
        open_ = [
            op.approximates for op in ops(lowered(tmp_path, text), Havoc, "$start") if isinstance(op, Havoc)
        ]
        assert open_ == ["what a function without a body keeps"]

    def test_a_pointer_that_is_out_of_scope_keeps_nothing(self, tmp_path: Path) -> None:
        text = "int main(void) { { int *p = malloc(4); *p = 1; } exit(0); }"
        assert "end of p" in [edge.text for edge in edges(lowered(tmp_path, text))]


class TestLifetimes:
    def ends(self, program: Program, procedure: str = "main") -> list[str]:
        return [
            edge.text.removeprefix("end of ")
            for edge in edges(program, procedure)
            if isinstance(edge.op, Free) and edge.op.storage == "stack"
        ]

    def test_objects_end_with_their_blocks(self, tmp_path: Path) -> None:
        text = """
        int main(void) {
            int *p = 0, n = __VERIFIER_nondet_int();
            for (int i = 0; i < n; i++) {
                int x = i; p = &x;
                if (x == 3) break;
                if (x == 4) continue;
                if (x == 5) return 1;
                if (x == 6) goto out;
            }
        out:
            return 0;
        }
        """
        program = lowered(tmp_path, text)
        assert self.ends(program) == ["x"] * 5
        assert not any(v.name.endswith("cleanup.dest.slot") for v in program.procedures["main"].variables)

    def test_control_flow_is_that_without_markers(self, tmp_path: Path) -> None:
        text = """
        int f(int n) {
            for (int i = 0; i < n; i++) {
                int x = i * n;
                if (x == 3) break;
                while (x) { int y = x--; if (y == 7) continue; if (y == 9) goto out; if (y == n) return y; }
            }
            switch (n) { case 1: { int z = n; n = z; break; } default: n++; }
        out:
            return n;
        }
        int main(void) { return f(__VERIFIER_nondet_int()); }
        """
        with_markers = lowered(tmp_path, text)
        without = lowered(tmp_path, text, "unreach-call")
        shapes = [
            [(type(edge.op).__name__, edge.text) for edge in edges(program, "f")]
            for program in (with_markers, without)
        ]
        assert sorted(shapes[0]) == sorted(shapes[1])

    def test_arrays_of_variable_length_end_with_their_blocks(self, tmp_path: Path) -> None:
        text = """
        int f(int n) {
            int outer[n];
            for (int i = 0; i < n; i++) { char a[n]; if (i == 2) break; short b[i + 1]; b[0] = a[0] = 1; }
            return outer[0] = 1;
        }
        int main(void) { return f(3); }
        """
        program = lowered(tmp_path, text)
        assert sorted(self.ends(program, "f")) == ["a", "a", "b", "outer"]

    def test_what_alloca_returns_ends_with_the_function(self, tmp_path: Path) -> None:
        text = """
        int f(int n) { char *p = 0; if (n) { p = __builtin_alloca(n); *p = 1; } return p ? *p : 0; }
        int main(void) { return f(3); }
        """
        assert self.ends(lowered(tmp_path, text), "f") == ["alloca"]

    @pytest.mark.parametrize("name", ["valid-memsafety", "unreach-call"])
    def test_an_object_that_is_declared_again_has_no_contents(self, tmp_path: Path, name: str) -> None:
        text = """
        struct s { int n; int *p; };
        int main(void) {
            int k = 0;
        again:;
            struct s a;
            int zeros[9] = {0};
            if (!k) a.n = zeros[8];
            if (k++ < a.n) goto again;
            return 0;
        }
        """
        left = [
            e.op.approximates for e in edges(lowered(tmp_path, text, name), "main") if isinstance(e.op, Havoc)
        ]
        assert sum("`a` contains where it is declared again" in each for each in left) == 3
        assert not any("zeros" in each for each in left)

    @pytest.mark.parametrize(
        "body",
        [
            "int *p, n = 3; while (n--) p = &(int){n}; return *p;",
            "int n = 3; char *p; while (n--) p = __builtin_alloca(n); return *p;",
            "KEEP void exit(int); exit(0);",
        ],
        ids=["literal-in-a-loop-without-braces", "alloca-in-loop", "pointer-in-a-macro"],
    )
    def test_lifetimes_that_are_not_modelled(self, tmp_path: Path, body: str) -> None:
        keep = "#define KEEP switch (1) { int *p; case 1: p = __builtin_malloc(4); }\n"
        with pytest.raises(Unsupported) as caught:
            lowered(tmp_path, f"{keep}int main(void) {{ {body} }}")
        assert caught.value.diagnostic.code == "unsupported-lifetime"
        lowered(tmp_path, f"{keep}int main(void) {{ {body} }}", "unreach-call")

    def test_a_negative_length_is_an_error_where_the_array_is_declared(self, tmp_path: Path) -> None:
        text = "int main(void) { int n = __VERIFIER_nondet_int(); int a[n]; return 0; }"
        (site,) = lowered(tmp_path, text).errors
        assert (site.kind, site.text) == (
            "invalid-write",
            "the length of the array is not negative: int a[n]",
        )


class TestFailingAllocations:
    def test_the_environment_decides(self, tmp_path: Path) -> None:
        path = tmp_path / "p.c"
        text = "char *p = malloc(1); p = realloc(p, 2); return posix_memalign(&q, 8, 1);"
        path.write_text(f"{MEMORY}int main(void) {{ void *q; {text} }}")
        program = load_c(path, malloc_may_fail=True).program
        inputs = [op.function for op in ops(program, Havoc) if isinstance(op, Havoc) and op.function]
        assert inputs == [ALLOCATION_FAILS] * 3
        assert ALLOCATION_FAILS not in [
            op.function for op in ops(load_c(path).program, Havoc) if isinstance(op, Havoc)
        ]


def test_other_properties_have_no_questions(tmp_path: Path) -> None:
    text = """
    int main(void) { int *p = malloc(4); { int x = 1; p = &x; } strcpy((char *)p, "a"); free(p); exit(0); }
    """
    for property in ("unreach-call", "no-overflow", "no-div-zero"):
        program = lowered(tmp_path, text, property)
        asked = [edge for edge in program.edge.values() if isinstance(edge.op, Inspect | InspectHeap)]
        assert asked == []
        assert any(isinstance(edge.op, Store | Assume) for edge in program.edge.values())


@pytest.mark.parametrize(
    "body",
    [
        "l:; int b[2]; if (k == 0) b[0] = 1; s += b[0]; if (k++ < 2) goto l;",
        "{ if (k) goto m; l:; int b[2]; b[0] = k; m: s += b[0]; if (k++ < 2) goto l; }",
    ],
)
def test_values_that_are_lost_by_a_jump_are_not_modelled(tmp_path: Path, body: str) -> None:
    text = f"int main(void) {{ int k = 0, s = 0; {body} return s; }}"
    with pytest.raises(Unsupported, match="declaration of"):
        lowered(tmp_path, text, "no-uninitialised-read")


def test_a_declaration_that_is_reached_again_takes_the_value(tmp_path: Path) -> None:
    text = "int main(void) { int k = 0, s = 0; l:; int x; if (!k) x = 1; s += x; if (k++ < 2) goto l; }"
    (site,) = lowered(tmp_path, text, "no-uninitialised-read").errors
    assert (site.kind, site.text) == ("uninitialised-read", "x has been initialised")
