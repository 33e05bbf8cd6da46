"""Random C programs that use memory, each with a twin that has one memory bug.

A scene is a function that works on one kind of object: a buffer, a list, a string, a record, an object of an
inner block. It takes an input from 0 to 7. `Scene.text` is its code without a bug, `Scene.broken` the code
with one. A bug may depend on the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from certus.core.vocabulary import FREE, LEAK, PART_OF_KIND, READ

INPUTS: Final = 8  # a scene gets a number from 0 to 7
INPUT: Final = "__VERIFIER_nondet_int"
_MODELS: Final = ("LP64", "ILP32")
_DEREF, _FREE, _TRACK = PART_OF_KIND[READ], PART_OF_KIND[FREE], PART_OF_KIND[LEAK]
# The kinds of bugs, and the part of valid-memsafety that they violate.
BUGS: Final = {
    **{"overflow": _DEREF, "underflow": _DEREF, "use-after-free": _DEREF, "null": _DEREF},
    **{"use-after-scope": _DEREF, "use-after-return": _DEREF},
    **{"double-free": _FREE, "invalid-free": _FREE, "leak": _TRACK},
}
_HEAD: Final = """\
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

extern int __VERIFIER_nondet_int(void);
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A function `name` of one `int`, without a bug (`text`) and with one of the kind `bug` (`broken`)."""

    name: str
    text: str
    broken: str
    bug: str


@dataclass(frozen=True, slots=True)
class MemoryProgram:
    """A program of some scenes; the one with the number `buggy` may have its bug."""

    model: str
    scenes: tuple[Scene, ...]
    buggy: int

    @property
    def bug(self) -> str:
        """The kind of the bug."""
        return self.scenes[self.buggy].bug

    @property
    def part(self) -> str:
        """The part of valid-memsafety that the bug violates."""
        return BUGS[self.bug]

    def text(self, *, broken: bool) -> str:
        """Return the program with or without the bug."""
        functions = [
            scene.broken if broken and number == self.buggy else scene.text
            for number, scene in enumerate(self.scenes)
        ]
        calls = [f"    sum += {scene.name}({INPUT}() & {INPUTS - 1});\n" for scene in self.scenes]
        main = f"int main(void)\n{{\n    int sum = 0;\n{''.join(calls)}    return sum < 0;\n}}\n"
        return "\n".join((_HEAD, *functions, main))


def random_program(seed: int, number: int) -> MemoryProgram:
    """Return the program with this number."""
    random = Random(f"memory/{seed}/{number}")
    scenes = tuple(
        _scene(random, name, random.choice(sorted(_SCENES))) for name in ("first", "second", "third")
    )
    scenes = scenes[: random.randint(1, 3)]
    return MemoryProgram(random.choice(_MODELS), scenes, random.randrange(len(scenes)))


def _scene(random: Random, name: str, kind: str) -> Scene:
    make, bugs = _SCENES[kind]
    bug, seed = random.choice(bugs), random.random()
    trigger = random.choice(("1", f"n == {random.randrange(INPUTS)}", f"n > {random.randrange(INPUTS - 1)}"))
    plain = make(Random(seed), name, _Bug("", trigger))
    return Scene(name, plain, make(Random(seed), name, _Bug(bug, trigger)), bug)


@dataclass(frozen=True, slots=True)
class _Bug:
    """The bug of a scene, empty if it has none, and the condition on the input `n` under which it shows."""

    kind: str
    trigger: str

    def step(self, kind: str, statement: str) -> str:
        """Return a line that is only executed by this bug; empty without the bug."""
        return f"    if ({self.trigger}) {statement}\n" if self.kind == kind else ""

    def unless(self, kind: str, statement: str) -> str:
        """Return a line that this bug leaves out."""
        return f"    if (!({self.trigger})) {statement}\n" if self.kind == kind else f"    {statement}\n"

    def more(self, kind: str) -> str:
        """Return a number to add: 1 with this bug, otherwise nothing."""
        return f" + ({self.trigger})" if self.kind == kind else ""


def _function(name: str, lines: Sequence[str], before: str = "") -> str:
    return f"{before}static int {name}(int n)\n{{\n{''.join(lines)}}}\n"


_TYPES: Final = ("char", "short", "int", "long", "unsigned char", "long long")


def _heap_buffer(random: Random, name: str, bug: _Bug) -> str:
    type_, count = random.choice(_TYPES), random.choice(("n + 1", "n + 2", "5", "12"))
    created = random.choice(
        (
            f"malloc(count * sizeof({type_}))",
            f"calloc(count, sizeof({type_}))",
            f"realloc(0, count * sizeof({type_}))",
        )
    )
    fill = random.choice(
        (
            "for (i = 0; i < count{more}; i++) p[i] = ({type})(i + n);",
            "memset(p, n, (count{more}) * sizeof({type}));",
            "for ({type} *q = p; q < p + count{more}; q++) *q = ({type})n;",
        )
    ).format(more=bug.more("overflow"), type=type_)
    reader = random.choice(("p[count - 1]", "*(p + n % count)", "p[0]"))
    return _function(
        name,
        (
            f"    int i, sum = 0, count = {count};\n    {type_} *p = {created};\n",
            f"    {fill}\n",
            bug.step("underflow", "p[-1] = 1;"),
            "    for (i = 0; i < count; i++) sum += p[i] & 1;\n",
            bug.step("invalid-free", "p++;"),
            bug.unless("leak", "free(p);"),
            bug.step("use-after-free", f"sum += {reader} & 1;"),
            bug.step("double-free", "free(p);"),
            "    (void)i;\n    return sum;\n",
        ),
    )


def _local_buffer(random: Random, name: str, bug: _Bug) -> str:
    type_, storage = random.choice(_TYPES), random.choice(("local", "static", "vla", "alloca", "member"))
    count = "n + 1" if storage in ("vla", "alloca") else "9"
    declared = {
        "local": f"    {type_} a[9], *p = a;\n",
        "static": f"    static {type_} a[9];\n    {type_} *p = a;\n",
        "vla": f"    {type_} a[count], *p = a;\n",
        "alloca": f"    {type_} *p = alloca(count * sizeof({type_}));\n",
        "member": f"    struct {{ {type_} a[9]; }} s;\n    {type_} *p = s.a;\n",
    }[storage]
    return _function(
        name,
        (
            f"    int sum = 0, count = {count};\n{declared}",
            f"    for (int i = 0; i < count{bug.more('overflow')}; i++) p[i] = ({type_})(i * n);\n",
            f"    for (int i = count - 1; i{bug.more('underflow')} >= 0; i--) sum += p[i] & 3;\n",
            bug.step("invalid-free", "free(p);"),
            "    return sum;\n",
        ),
    )


def _list(random: Random, name: str, bug: _Bug) -> str:
    link = f"    struct {name}_node *node = malloc(sizeof *node);\n        node->value = i;\n"
    ordered = random.choice(
        (
            "        node->next = head;\n        head = node;\n",
            "        node->next = 0;\n        if (head == 0) head = node; else last->next = node;\n"
            "        last = node;\n",
        )
    )
    value = random.choice(("char", "int", "long"))
    freed = bug.kind == "use-after-free"
    skip = f"if (!({bug.trigger}) || head->value != 0) " if bug.kind == "leak" else ""
    after = f"({bug.trigger}) ? head->next : next" if freed else "next"
    return _function(
        name,
        (
            f"    struct {name}_node *head = 0, *last = 0, *next;\n    int sum = 0;\n",
            f"    for (int i = 0; i <= n; i++) {{\n    {link}{ordered}    }}\n",
            f"    for (struct {name}_node *p = head; p; p = p->next) sum += p->value;\n",
            bug.step("null", "{ for (last = head; last; last = last->next); sum += last->value; }"),
            "    while (head) {\n        next = head->next;\n",
            f"        {skip}free(head);\n        last = head;\n        head = {after};\n    }}\n",
            bug.step("double-free", "free(last);"),
            "    (void)last;\n    return sum;\n",
        ),
        f"struct {name}_node {{ {value} value; struct {name}_node *next; }};\n",
    )


def _string(random: Random, name: str, bug: _Bug) -> str:
    text = "abcdefgh"[: random.randint(1, 8)]
    copy = random.choice(
        (
            "strcpy(to, from);",
            "memcpy(to, from, strlen(from) + 1);",
            "{ char *t = to; const char *f = from; while ((*t++ = *f++)); }",
            "strncpy(to, from, strlen(from) + 1);",
        )
    )
    less = f" - ({bug.trigger})" if bug.kind == "overflow" else ""
    missing = f"({bug.trigger}) ? 0 : to" if bug.kind == "null" else "to"
    return _function(
        name,
        (
            f'    const char *from = "{text}";\n    char *to = malloc(strlen(from) + 1{less});\n',
            f"    {copy}\n    int sum = (int)strlen({missing}) + n;\n",
            bug.unless("leak", "free(to);"),
            bug.step("use-after-free", "sum += to[0];"),
            bug.step("double-free", "free(to);"),
            "    return sum;\n",
        ),
    )


def _block(random: Random, name: str, bug: _Bug) -> str:
    loop = random.choice(("for (int i = 0; i <= n; i++) {", "{ int i = n;", "if (n >= 0) { int i = 1;"))
    size = random.choice(("int x = n + i; p = &x;", "int x[4] = {n, i}; p = x + 1;"))
    return _function(
        name,
        (
            "    int sum = 0, other = n, *p = &other;\n",
            f"    {loop}\n        {size}\n        sum += *p;\n    }}\n",
            bug.unless("use-after-scope", "p = &other;"),
            "    return sum + *p;\n",
        ),
    )


def _returned(random: Random, name: str, bug: _Bug) -> str:
    object_ = random.choice(("int x = n;", "int x[3] = {n, 1, 2};"))
    address = "&x" if "[" not in object_ else "x"
    own = f"    if ({bug.trigger}) p = {address};\n" if bug.kind == "use-after-return" else ""
    return _function(
        name,
        (f"    int *p = {name}_place(n);\n    *p = n;\n    return *p;\n",),
        f"static int *{name}_place(int n)\n{{\n    static int kept;\n    int *p = &kept;\n"
        f"    {object_}\n    kept = *({address});\n{own}    return p;\n}}\n",
    )


def _record(random: Random, name: str, bug: _Bug) -> str:
    member = random.choice(
        ("struct {0} {{ int a; char *part; }};\n", "struct {0} {{ char *part; short a; }};\n")
    )
    extra = random.choice(("", f"    struct {name} other = *r;\n    sum += other.part[n];\n"))
    return _function(
        name,
        (
            f"    struct {name} *r = malloc(sizeof *r);\n    int sum = 0;\n",
            "    r->part = calloc(1, n + 1);\n    r->a = 3;\n",
            bug.step("leak", "r->part = calloc(1, n + 1);"),
            bug.step("overflow", "r->part[n + 1] = 1;"),
            f"    sum += r->part[n] + r->a;\n{extra}",
            bug.step("null", "{ free(r->part); r->part = 0; sum += r->part[0]; }"),
            bug.step("use-after-free", "{ free(r); r->a = 2; }"),
            bug.step("double-free", "free(r->part);"),
            bug.step("invalid-free", "free(&r->a + (sizeof *r > 1));"),
            "    free(r->part);\n    free(r);\n    return sum;\n",
        ),
        member.format(name),
    )


def _global(random: Random, name: str, bug: _Bug) -> str:
    size, kept = random.choice(("n + 1", "16")), f"{name}_kept"
    last = "n" if size == "n + 1" else "15"
    unset = f" && !({bug.trigger})" if bug.kind == "null" else ""
    ending = f"    free({kept});\n    {kept} = 0;\n" if bug.kind or random.random() < 0.5 else ""
    return _function(
        name,
        (
            f"    if (n > 2{unset}) {kept} = malloc({size});\n",
            f"    if (n > 2) {kept}[{last}{bug.more('overflow')}] = 'x';\n",
            bug.step("leak", f"{kept} = malloc(2);"),
            bug.step("double-free", f"free({kept});"),
            ending,
            "    return n;\n",
        ),
        f"static char *{kept};\n\n",
    )


_SCENES: Final[dict[str, tuple[Callable[[Random, str, _Bug], str], tuple[str, ...]]]] = {
    "heap": (
        _heap_buffer,
        ("overflow", "underflow", "use-after-free", "double-free", "invalid-free", "leak"),
    ),
    "local": (_local_buffer, ("overflow", "underflow", "invalid-free")),
    "list": (_list, ("null", "use-after-free", "double-free", "leak")),
    "string": (_string, ("overflow", "null", "use-after-free", "double-free", "leak")),
    "block": (_block, ("use-after-scope",)),
    "returned": (_returned, ("use-after-return",)),
    "record": (_record, ("overflow", "null", "use-after-free", "double-free", "invalid-free", "leak")),
    "global": (_global, ("overflow", "null", "double-free", "leak")),
}
