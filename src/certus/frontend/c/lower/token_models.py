"""Models of functions that search strings and cut them up: `strstr`, `strpbrk`, `strtok`, `strsep`."""

from __future__ import annotations

from certus.core import build
from certus.core.build import add, eq, integer, not_, to_int
from certus.core.program import Call
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower.arguments import arguments
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.routines import ZERO, Routine, routine, span_routine
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, U8, address_bits
from certus.frontend.c.lower.world import World


def search(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    one, other = (yield from arguments(body, node))[:2]
    if entry.name == "strchrnul":
        made, passed = end_routine(body.world), (one, build.wrap(other, U8))
    else:
        make = substring_routine if entry.name == "strstr" else any_of_routine
        made, passed = make(body.world), (one, other)
    return _called(body, node, made, passed)


def token(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """`strtok` keeps its place in an object of its own, `strtok_r` where the caller says."""
    given = yield from arguments(body, node)
    world = body.world
    if entry.name == "strsep":
        return _called(body, node, separate_routine(world), tuple(given[:2]))
    if len(given) > 2:
        kept = given[2]
    else:
        width = world.pointer_width
        kept = world.library_static("strtok", bytes(width // 8), node.span, width)
    return _called(body, node, token_routine(world), (given[0], given[1], kept))


def _called(body: Body, node: ast.Call, name: str, passed: tuple[Expr, ...]) -> Expr:
    result = body.fresh(INT)
    body.emit(Call(name, passed, (result,)), node.span, body.text(node.span))
    return result


def end_routine(world: World) -> str:
    """`(s, c)`: where the character is first, or the end of the string."""

    def make(r: Routine) -> None:
        s, wanted = r.parameter("s"), r.parameter("wanted", U8)
        r.gives(INT)
        i, c = r.local("i"), r.local("c", U8)
        r.set(i, NULL)
        head = r.head()
        r.load(c, add(s, i))
        found = r.test(build.and_(not_(eq(c, wanted)), not_(eq(c, ZERO))))
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = found
        r.give(add(s, i))

    return routine(world, "strchrnul", make)


def substring_routine(world: World) -> str:
    """`(s, part)`: where `part` first occurs in `s`, or null."""

    def make(r: Routine) -> None:
        s, part = r.parameter("s"), r.parameter("part")
        r.gives(INT)
        i, j, c, d = r.local("i"), r.local("j"), r.local("c", U8), r.local("d", U8)
        r.set(i, NULL)
        outer = r.head()
        r.set(j, NULL)
        inner = r.head()
        r.load(d, add(part, j))
        complete = r.test(not_(eq(d, ZERO)))
        r.load(c, add(s, i, j))
        differ = r.test(eq(c, d))
        r.set(j, add(j, integer(1)))
        r.back(inner)
        r.at = complete
        r.give(add(s, i))
        r.at = differ
        over = r.test(not_(eq(c, ZERO)))
        r.set(i, add(i, integer(1)))
        r.back(outer)
        r.at = over
        r.give(NULL)

    return routine(world, "strstr", make)


def any_of_routine(world: World) -> str:
    """`(s, set)`: where the first character of the set is in `s`, or null."""
    span = span_routine(world, within=False)

    def make(r: Routine) -> None:
        s, chars = r.parameter("s"), r.parameter("set")
        r.gives(INT)
        n, c = r.local("n"), r.local("c", U8)
        r.step(Call(span, (s, chars), (n,)), "n = strcspn(s, set)")
        r.load(c, add(s, n))
        end = r.test(not_(eq(c, ZERO)))
        r.give(add(s, n))
        r.at = end
        r.give(NULL)

    return routine(world, "strpbrk", make)


def _cut(
    r: Routine,
    given: tuple[Expr, Expr, Expr],
    local: tuple[Expr, Expr],
    span: str,
    width: int,
    at_the_end: Expr,
) -> None:
    """End the token at `s` before the next character of the set, and keep what follows: where the string
    itself ends, `at_the_end` is kept."""
    (s, chars, kept), (n, c) = given, local
    r.step(Call(span, (s, chars), (n,)), "n = strcspn(s, set)")
    r.load(c, add(s, n))
    whole = r.test(not_(eq(c, ZERO)))
    r.store(add(s, n), ZERO)
    r.store(kept, address_bits(add(s, n, integer(1)), width))
    after = r.draft.node()
    r.draft.skip(r.at, after)
    r.at = whole
    r.store(kept, address_bits(at_the_end, width))
    r.draft.skip(r.at, after)
    r.at = after


def token_routine(world: World) -> str:
    """`(s, set, kept)`: `strtok_r`; the rest of the string is kept at the address `kept`."""
    word, width = world.pointer_sort, world.pointer_width
    skip, span = span_routine(world, within=True), span_routine(world, within=False)

    def make(r: Routine) -> None:
        s, chars, kept = r.parameter("s"), r.parameter("set"), r.parameter("kept")
        r.gives(INT)
        bits, n, c = r.local("bits", word), r.local("n"), r.local("c", U8)
        given = r.test(eq(s, NULL))
        r.load(bits, kept)
        r.set(s, to_int(bits))
        r.draft.skip(r.at, given)
        r.at = given
        going_on = r.test(eq(s, NULL))  # after the last token
        r.give(NULL)
        r.at = going_on
        r.step(Call(skip, (s, chars), (n,)), "n = strspn(s, set)")
        r.set(s, add(s, n))
        r.load(c, s)
        over = r.test(not_(eq(c, ZERO)))
        _cut(r, (s, chars, kept), (n, c), span, width, at_the_end=add(s, n))
        r.give(s)
        r.at = over
        r.store(kept, address_bits(s, width))
        r.give(NULL)

    return routine(world, "strtok", make)


def separate_routine(world: World) -> str:
    """`(kept, set)`: `strsep`."""
    word, width = world.pointer_sort, world.pointer_width
    span = span_routine(world, within=False)

    def make(r: Routine) -> None:
        kept, chars = r.parameter("kept"), r.parameter("set")
        r.gives(INT)
        bits, s, n, c = r.local("bits", word), r.local("s"), r.local("n"), r.local("c", U8)
        r.load(bits, kept)
        r.set(s, to_int(bits))
        over = r.test(not_(eq(s, NULL)))
        _cut(r, (s, chars, kept), (n, c), span, width, at_the_end=NULL)
        r.give(s)
        r.at = over
        r.give(NULL)

    return routine(world, "strsep", make)
