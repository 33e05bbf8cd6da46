"""Library functions with loops, as procedures of the program: built once each, on demand.

Counts and addresses are Int terms, so nothing wraps. Characters are compared as `unsigned char`, as C says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.build import add, and_, eq, integer, le, lt, not_, scale, to_int, wrap
from certus.core.program import UNSPECIFIED, Alloc, Assign, Assume, BasicOp, Havoc, Load, Return, Store
from certus.core.sorts import INT, Sort, machine
from certus.core.terms import Expr
from certus.frontend.c.lower.values import INT_SORT, NULL, U8
from certus.frontend.graph import Draft

if TYPE_CHECKING:
    from certus.frontend.c.lower.world import World

ZERO: Final = build.constant(0, U8)


class Routine:
    """A procedure under construction: steps are added at the present node `at`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.draft = Draft(name, None)
        self.at = Draft.ENTRY
        self.parameters: list[Expr] = []
        self.results: tuple[Expr, ...] = ()
        self.variables: dict[Expr, None] = {}

    def parameter(self, name: str, sort: Sort = INT) -> Expr:
        made = self.local(name, sort)
        self.parameters.append(made)
        return made

    def local(self, name: str, sort: Sort = INT) -> Expr:
        made = build.var(f"{self.name}.${name}", sort)
        self.variables[made] = None
        return made

    def gives(self, sort: Sort) -> None:
        """The routine has a result."""
        self.results = (self.local("result", sort),)

    def step(self, op: BasicOp, text: str) -> None:
        after = self.draft.node()
        self.draft.edge(self.at, op, after, None, text)
        self.at = after

    def set(self, target: Expr, value: Expr) -> None:
        self.step(Assign((target,), (value,)), f"{_short(target)} = {value!r}")

    def load(self, target: Expr, address: Expr) -> None:
        self.step(Load(target, address), f"{_short(target)} = *({address!r})")

    def store(self, address: Expr, value: Expr) -> None:
        self.step(Store(address, value), f"*({address!r}) = {value!r}")

    def havoc(self, target: Expr, approximates: str = "") -> None:
        self.step(Havoc((target,), None, approximates), f"{_short(target)} = any value")

    def head(self) -> int:
        """The present node, to go back to."""
        node = self.draft.node()
        self.draft.skip(self.at, node)
        self.at = node
        return node

    def back(self, node: int) -> None:
        self.draft.skip(self.at, node)
        self.at = self.draft.node()

    def test(self, condition: Expr) -> int:
        """Go on if the condition holds; the node where control is if it does not."""
        then, otherwise = self.draft.node(), self.draft.node()
        self.draft.edge(self.at, Assume(condition), then, None, f"{condition!r}", branch=True)
        self.draft.edge(self.at, Assume(not_(condition)), otherwise, None, f"{condition!r}", branch=False)
        self.at = then
        return otherwise

    def give(self, *values: Expr) -> None:
        """Return from the routine."""
        text = f"return {', '.join(repr(v) for v in values)}"
        self.draft.edge(self.at, Return(values), Draft.EXIT, None, text)
        self.at = self.draft.node()


def _short(variable: Expr) -> str:
    return variable.name.rpartition(".$")[2]


def routine(world: World, name: str, make: Callable[[Routine], None]) -> str:
    """The name of a procedure that `make` builds, unless the program has it."""
    name = f"${name}"
    if name not in world.routines:
        made = Routine(name)
        make(made)
        world.routines[name] = made
    return name


# ------------------------------------------------------------------------- objects, by elements


def copy_routine(world: World, width: int) -> str:
    """`(to, from, count)`: elements of `width` bytes, first to last."""

    def make(r: Routine) -> None:
        to, source, count = r.parameter("to"), r.parameter("from"), r.parameter("count")
        i, value = r.local("i"), r.local("value", machine(8 * width, signed=False))
        r.set(i, NULL)
        _copy_up(r, to, source, count, i, value, width)

    return routine(world, f"copy{8 * width}", make)


def _copy_up(r: Routine, to: Expr, source: Expr, count: Expr, i: Expr, value: Expr, width: int) -> None:
    """From `i` up to `count`; then return."""
    head = r.head()
    done = r.test(lt(i, count))
    r.load(value, add(source, scale(width, i)))
    r.store(add(to, scale(width, i)), value)
    r.set(i, add(i, integer(1)))
    r.back(head)
    r.at = done
    r.give()


def move_routine(world: World, width: int) -> str:
    """As `copy_routine`, where the objects may overlap."""

    def make(r: Routine) -> None:
        to, source, count = r.parameter("to"), r.parameter("from"), r.parameter("count")
        i, value = r.local("i"), r.local("value", machine(8 * width, signed=False))
        r.set(i, NULL)
        down = r.test(le(to, source))
        _copy_up(r, to, source, count, i, value, width)
        r.at = down
        r.set(i, count)
        head = r.head()
        done = r.test(lt(NULL, i))
        r.set(i, add(i, integer(-1)))
        r.load(value, add(source, scale(width, i)))
        r.store(add(to, scale(width, i)), value)
        r.back(head)
        r.at = done
        r.give()

    return routine(world, f"move{8 * width}", make)


def fill_routine(world: World, width: int) -> str:
    """`(to, value, count)`: elements of `width` bytes."""
    sort = machine(8 * width, signed=False)

    def make(r: Routine) -> None:
        to, value, count = r.parameter("to"), r.parameter("value", sort), r.parameter("count")
        i = r.local("i")
        r.set(i, NULL)
        head = r.head()
        done = r.test(lt(i, count))
        r.store(add(to, scale(width, i)), value)
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = done
        r.give()

    return routine(world, f"fill{8 * width}", make)


def havoc_routine(world: World, width: int, approximates: str = "") -> str:
    """`(to, count)`: each of `count` elements of `width` bytes gets any value."""

    def make(r: Routine) -> None:
        to, count = r.parameter("to"), r.parameter("count")
        i, value = r.local("i"), r.local("value", machine(8 * width, signed=False))
        r.set(i, NULL)
        head = r.head()
        done = r.test(lt(i, count))
        r.havoc(value, approximates)
        r.store(add(to, scale(width, i)), value)
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = done
        r.give()

    return routine(world, f"{'approximate' if approximates else 'havoc'}{8 * width}", make)


# --------------------------------------------------------------------------- strings, by bytes


def _difference(a: Expr, b: Expr, more: Expr) -> Expr:
    """A number with the sign of the difference of two characters. How large it is C leaves open: `more`."""
    one, less, extra = build.constant(1, INT_SORT), build.constant(-1, INT_SORT), wrap(more, INT_SORT)
    positive, negative = build.add(one, extra), build.sub(less, extra)
    return build.ite(lt(a, b), negative, build.ite(eq(a, b), build.constant(0, INT_SORT), positive))


OPEN: Final = machine(30, signed=False)  # of numbers whose size C leaves open


def compare_routine(world: World, *, strings: bool) -> str:
    """`(a, b, count)`: `strncmp`, or `memcmp` if not of strings; a negative count means no limit."""

    def make(r: Routine) -> None:
        a, b, count = r.parameter("a"), r.parameter("b"), r.parameter("count")
        r.gives(INT_SORT)
        i, x, y = r.local("i"), r.local("x", U8), r.local("y", U8)
        r.set(i, NULL)
        head = r.head()
        limited = r.test(not_(eq(i, count)))
        r.load(x, add(a, i))
        r.load(y, add(b, i))
        same = and_(eq(x, y), not_(eq(x, ZERO))) if strings else eq(x, y)
        differ = r.test(same)
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = differ
        more = r.local("more", OPEN)
        r.step(Havoc((more,), UNSPECIFIED), "more = any value")
        r.give(_difference(x, y, more))
        r.at = limited
        r.give(build.constant(0, INT_SORT))

    return routine(world, "strncmp" if strings else "memcmp", make)


def length_routine(world: World) -> str:
    """`(s, limit)`: `strnlen`; a negative limit means none. The result is an Int."""

    def make(r: Routine) -> None:
        s, limit = r.parameter("s"), r.parameter("limit")
        r.gives(INT)
        i, c = r.local("i"), r.local("c", U8)
        r.set(i, NULL)
        head = r.head()
        limited = r.test(not_(eq(i, limit)))
        r.load(c, add(s, i))
        end = r.test(not_(eq(c, ZERO)))
        r.set(i, add(i, integer(1)))
        r.back(head)
        for node in (end, limited):
            r.at = node
            r.give(i)

    return routine(world, "strnlen", make)


def copy_string_routine(world: World) -> str:
    """`(to, from, limit)`: `strcpy`, or at most `limit` characters and then a zero, if it is not negative."""

    def make(r: Routine) -> None:
        to, source, limit = r.parameter("to"), r.parameter("from"), r.parameter("limit")
        i, c = r.local("i"), r.local("c", U8)
        r.set(i, NULL)
        head = r.head()
        limited = r.test(not_(eq(i, limit)))
        r.load(c, add(source, i))
        r.store(add(to, i), c)
        end = r.test(not_(eq(c, ZERO)))
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = limited
        r.store(add(to, i), ZERO)
        r.give()
        r.at = end
        r.give()

    return routine(world, "strcat", make)


def pad_string_routine(world: World) -> str:
    """`(to, from, count)`: `strncpy`, which pads with zeros and may leave the string without an end."""

    def make(r: Routine) -> None:
        to, source, count = r.parameter("to"), r.parameter("from"), r.parameter("count")
        i, c = r.local("i"), r.local("c", U8)
        r.set(i, NULL)
        head = r.head()
        done = r.test(lt(i, count))
        r.load(c, add(source, i))
        r.store(add(to, i), c)
        r.set(i, add(i, integer(1)))
        padding = r.test(not_(eq(c, ZERO)))
        r.back(head)
        r.at = padding
        second = r.head()
        filled = r.test(lt(i, count))
        r.store(add(to, i), ZERO)
        r.set(i, add(i, integer(1)))
        r.back(second)
        for node in (done, filled):
            r.at = node
            r.give()

    return routine(world, "strncpy", make)


def find_routine(world: World, name: str) -> str:
    """`(s, c, count)`: `strchr`, `strrchr` (count negative) or `memchr`."""

    def make(r: Routine) -> None:
        s, wanted, count = r.parameter("s"), r.parameter("wanted", U8), r.parameter("count")
        r.gives(INT)
        i, c, found = r.local("i"), r.local("c", U8), r.local("found")
        r.set(i, NULL)
        r.set(found, NULL)
        head = r.head()
        limited = r.test(not_(eq(i, count)))
        r.load(c, add(s, i))
        other = r.test(eq(c, wanted))
        if name == "strrchr":
            r.set(found, add(s, i))
            r.draft.skip(r.at, other)
        else:
            r.give(add(s, i))
        r.at = other
        end = None if name == "memchr" else r.test(not_(eq(c, ZERO)))
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = limited
        r.give(found)
        if end is not None:
            r.at = end
            r.give(found)

    return routine(world, name, make)


def span_routine(world: World, *, within: bool) -> str:
    """`(s, set)`: `strspn`, the length of the first part of characters of the set, or `strcspn`."""

    def make(r: Routine) -> None:
        s, chars = r.parameter("s"), r.parameter("set")
        r.gives(INT)
        i, j, c, d = r.local("i"), r.local("j"), r.local("c", U8), r.local("d", U8)
        r.set(i, NULL)
        outer = r.head()
        r.load(c, add(s, i))
        end = r.test(not_(eq(c, ZERO)))
        r.set(j, NULL)
        inner = r.head()
        r.load(d, add(chars, j))
        missing = r.test(not_(eq(d, ZERO)))
        found = r.test(not_(eq(c, d)))
        r.set(j, add(j, integer(1)))
        r.back(inner)
        r.at = found if within else missing
        r.set(i, add(i, integer(1)))
        r.back(outer)
        for node in (end, missing if within else found):
            r.at = node
            r.give(i)

    return routine(world, "strspn" if within else "strcspn", make)


def line_routine(world: World) -> str:
    """`(to, size)`: a line of input with less than `size` characters, and a zero."""

    def make(r: Routine) -> None:
        to, size = r.parameter("to"), r.parameter("size")
        i, length, c = r.local("i"), r.local("length", machine(32, signed=False)), r.local("c", U8)
        r.havoc(length)
        count = to_int(length)
        short = le(size, integer(1))
        r.step(Assume(build.ite(short, eq(count, NULL), and_(lt(NULL, count), lt(count, size)))), "length")
        r.set(i, NULL)
        head = r.head()
        done = r.test(lt(i, count))
        r.havoc(c)
        last = eq(add(i, integer(1)), count)
        r.step(Assume(build.or_(last, not_(eq(c, build.constant(10, U8))))), "only the last is a newline")
        r.store(add(to, i), c)
        r.set(i, add(i, integer(1)))
        r.back(head)
        r.at = done
        r.store(add(to, count), ZERO)
        r.give()

    return routine(world, "fgets", make)


def arguments_routine(world: World) -> str:
    """`(count)`: the program's arguments, each a string of any length; the result is where they are listed.
    `ARGUMENT_LENGTH` and `ARGUMENT_BYTE` name the inputs."""
    word = world.pointer_width // 8

    def make(r: Routine) -> None:
        count = r.parameter("count")
        r.gives(INT)
        table, at, i, j = r.local("table"), r.local("at"), r.local("i"), r.local("j")
        length, c = r.local("length", machine(32, signed=False)), r.local("c", U8)
        size = scale(word, add(count, integer(1)))
        r.step(Alloc(table, size, word, "static", "argv"), "argv")
        r.set(i, NULL)
        outer = r.head()
        done = r.test(lt(i, count))
        r.step(Havoc((length,), ARGUMENT_LENGTH), "length = any length")
        r.step(Alloc(at, add(to_int(length), integer(1)), 1, "static", "an argument"), "argv[i]")
        r.set(j, NULL)
        inner = r.head()
        whole = r.test(lt(j, to_int(length)))
        r.step(Havoc((c,), ARGUMENT_BYTE), "c = any character")
        r.step(Assume(not_(eq(c, ZERO))), "c != 0")
        r.store(add(at, j), c)
        r.set(j, add(j, integer(1)))
        r.back(inner)
        r.at = whole
        r.store(add(at, to_int(length)), ZERO)
        r.store(add(table, scale(word, i)), wrap(at, world.pointer_sort))
        r.set(i, add(i, integer(1)))
        r.back(outer)
        r.at = done
        r.store(add(table, scale(word, count)), build.constant(0, world.pointer_sort))
        r.give(table)

    return routine(world, "argv", make)


ARGUMENT_LENGTH: Final = "$argv length"
ARGUMENT_BYTE: Final = "$argv byte"


def unsigned_char(term: Expr) -> Expr:
    """An `int` argument as the character that library functions use."""
    return wrap(term, U8)


def size(term: Expr) -> Expr:
    """A `size_t` argument as an Int."""
    return to_int(term)
