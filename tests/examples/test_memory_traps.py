"""Traps of memory safety: programs that a careless encoding, slice or leak check answers wrongly.

Each has the answers that are right. Where Certus may give up, UNKNOWN is one of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import certus
from certus.run.settings import Settings

FOLDER = Path(__file__).parents[1] / "programs" / "c" / "memory"
HEADER = """#include <stdlib.h>
#include <string.h>
int __VERIFIER_nondet_int(void);
"""


@dataclass(frozen=True)
class Trap:
    """A program, in a file or as text, and the part of the property that it violates (empty: it holds). If it
    is `lost`, no execution ends, and an object is lost: there is no right answer but UNKNOWN."""

    name: str
    violated: str = ""
    text: str = ""
    model: str = "LP64"
    property: str = "valid-memsafety"
    may_give_up: bool = False
    lost: bool = False


DEREF, FREE, TRACK = "valid-deref", "valid-free", "valid-memtrack"
TRAPS = (
    # addresses that only a check may doubt
    Trap("unset_pointer", DEREF),
    Trap("wrapped_index_32", DEREF, model="ILP32"),
    Trap("wrapped_index_64", DEREF),
    Trap(
        "an index that does not fit into a pointer",
        DEREF,
        """int a[4]; int main(void) { long long i = __VERIFIER_nondet_int(); i <<= 32;
        int *p = a + 2 * i; *p = a[i]; }""",
        model="ILP32",
    ),
    Trap(
        "an index that the program cuts itself",
        "",
        "int a[4]; int main(void) { long long i = __VERIFIER_nondet_int(); i <<= 32; a[(int)i] = 1; }",
        model="ILP32",
    ),
    Trap("neighbour", DEREF),
    Trap("element_of_vector", DEREF),
    Trap("neighbour_on_stack", DEREF),
    Trap(
        "one past an object, where the next one may start",
        DEREF,
        "int main(void) { char *p = malloc(1); p++; char *q = malloc(2); *p = *q = 1; free(q); free(p-1); }",
    ),
    # ends of scopes
    Trap("scope_of_loop", DEREF),
    Trap("scope_by_goto", DEREF),
    Trap("scope_left_by_break", DEREF),
    Trap("scope_kept"),
    Trap(
        "a compound literal of an inner block",
        DEREF,
        "int main(void) { int *p = 0; { p = &(int){3}; } return *p; }",
        may_give_up=True,
    ),
    # null and an offset
    Trap("address_of_member"),
    Trap("null_and_offset", DEREF),
    # regions that start at the same number
    Trap(
        "two regions, one of them freed",
        "",
        """struct a { struct a *next; } *a; struct b { int x; struct b *next; } *b;
        int main(void) { a = malloc(sizeof *a); b = malloc(sizeof *b); free(a); a = 0; b->x = 1; }""",
    ),
    Trap(
        "two regions, the other one freed",
        DEREF,
        """struct a { struct a *next; } *a; struct b { int x; struct b *next; } *b;
        int main(void) { a = malloc(sizeof *a); b = malloc(sizeof *b); free(b); a->next = 0; b->x = 1; }""",
    ),
    Trap(
        "a new object in the place of a freed one",
        DEREF,
        """int main(void) { int *p = malloc(4); free(p); int *q = malloc(4); *q = 1;
        if (p == q) *p = 2; else *p = 3; free(q); }""",
    ),
    # sizes
    Trap("no_bytes"),
    Trap("object_without_bytes", DEREF),
    Trap(
        "an array without elements",
        "",
        "int main(void) { int n = __VERIFIER_nondet_int() & 0; int a[n]; return 0; }",
    ),
    Trap("negative_length", DEREF),
    Trap(
        "a negative size that becomes large",
        "",
        "int main(void) { int n = -1; char *p = malloc(n); if (p) p[5] = 1; free(p); }",
        may_give_up=True,
    ),
    # realloc
    Trap("old_object_of_realloc", DEREF),
    Trap("realloc_of_freed", FREE),
    # parts of objects
    Trap("bits_of_field"),
    Trap("pointer_bytes_overwritten", TRACK),
    Trap("pointer_copied_by_bytes"),
    Trap("overlapping_and_misaligned"),
    # objects that are lost before an endless loop
    *(
        Trap(text, "", text, lost=True)
        for text in (
            "int *p; int main(void) { p = malloc(1); p = 0; for (;;); }",
            "int *p; int main(void) { while (1) p = malloc(1); }",
            "int *p; int main(void) { while (__VERIFIER_nondet_int() || 1) { p = malloc(1); } }",
        )
    ),
    Trap(
        "a kept object before an endless loop",
        "",
        "int *p; int main(void) { p = malloc(1); for (;;); }",
        may_give_up=True,
    ),
    Trap(
        "two objects of one allocation, one of them reached",
        TRACK,
        """struct n { struct n *next; } *kept; int main(void) { struct n *lost = 0;
        for (int i = 0; i < 2; i++) {
            struct n *x = malloc(sizeof *x); x->next = 0; if (i) kept = x; else lost = x; } }""",
    ),
    # what must not be freed
    Trap("free_of_alloca", FREE),
    Trap("free_of_static", FREE),
    Trap("free of an argument", FREE, "int main(int argc, char **argv) { if (argc > 0) free(argv[0]); }"),
    Trap("free of the environment", FREE, 'int main(void) { free(getenv("HOME")); }', may_give_up=True),
    Trap("free_twice", FREE),
    # not lost, but not freed
    Trap("kept_by_global"),
    Trap("kept_by_global", "valid-memcleanup", property="valid-memcleanup"),
    Trap("freed_at_exit", property="valid-memcleanup"),
    # functions without a body
    Trap(
        "a function that may keep its argument",
        "",
        "void keep(int *); int main(void) { int *p = malloc(4); *p = 1; keep(p); }",
        may_give_up=True,
    ),
)


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: f"{trap.name[:50]}-{trap.property[6:]}")
def test_trap(trap: Trap, tmp_path: Path) -> None:
    path = FOLDER / f"{trap.name}.c"
    if trap.text:
        path = tmp_path / "trap.c"
        path.write_text(f"{HEADER}{trap.text}\n")
    limit = 4.0 if trap.lost or (trap.may_give_up and not trap.violated) else 60.0
    settings = Settings(property_name=trap.property, data_model=trap.model, timeout=limit)
    outcome = certus.verify(path, settings)
    right = set() if trap.lost else {"VIOLATED" if trap.violated else "HOLDS"}
    uncertain = {"UNKNOWN"} if trap.lost or trap.may_give_up else set()
    assert outcome.answer in right | uncertain, outcome.verdict
    if outcome.answer == "VIOLATED":
        assert trap.violated in (outcome.subproperty, trap.property)
