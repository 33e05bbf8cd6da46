"""Calls of library functions, and their effects that are not computed: values and memory get arbitrary
contents.

In proofs these contents are arbitrary. No counterexample may depend on them, so they are marked
(`Havoc.approximates`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from certus.core import build
from certus.core.program import Access, Alloc, Assign, Storage, Store
from certus.core.terms import INT, Expr, Kind, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Operand
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.types import PointerType, Type, VoidType
from certus.frontend.c.library.models import VARIABLES
from certus.frontend.c.model.cells import UNROLLED, cells_between, element
from certus.frontend.c.model.checks import check, is_checked, when_valid
from certus.frontend.c.model.memory import at, loop_width, run_model
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import NULL, U8, Cell, Unmodelled, Value, as_sort, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

P = ParamSpec("P")
R = TypeVar("R")
LIBRARY_OBJECT: Final = 50_000  # bytes; accesses are assumed to stay inside, so it only has to be large


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of the library function `name` with the arguments that belong to this function. `described` are
    the numbers of the arguments that something has looked at."""

    body: Body
    instruction: ir.Call
    name: str
    arguments: list[Operand]
    described: set[int] = field(default_factory=set)

    def operand(self, number: int) -> Operand:
        """Return an argument; refuse a call without a prototype that lacks it."""
        if not -len(self.arguments) <= number < len(self.arguments):
            what = f"a call of `{self.name}` without all of its arguments"
            raise Unmodelled("unsupported-library-function", what)
        self.described.add(number % len(self.arguments))
        return self.arguments[number]

    def term(self, number: int) -> Expr:
        return term_of(self.body, self.operand(number))

    def integer(self, number: int) -> Expr:
        """Return an argument as a mathematical integer."""
        return as_sort(self.term(number), INT)

    def address(self, number: int) -> Expr:
        return address_of(self.body, self.operand(number))

    def pointer(self, number: int) -> Expr:
        """Return an argument as an address; null if there is no such argument."""
        return self.address(number) if number < len(self.arguments) else NULL

    def when_not_null(self, number: int, steps: Callable[[Expr], None]) -> None:
        """Take steps with the address that an argument is, unless it is null."""
        address = self.pointer(number)
        self.body.when(build.ne(address, NULL), lambda: steps(address))

    def define(self, value: Value) -> None:
        """Set the result of the call, which may differ from the instruction in the function."""
        name, body = self.instruction.name, self.body
        if name is not None:
            original = body.flow.definitions.get(name)
            body.registers.values[name] = value
            if original is not None:
                body.registers.define(original, value)

    def define_anything(self) -> None:
        """Make the result any value of its type, on which no counterexample may depend."""
        result, body = self.instruction.result, self.body
        if self.instruction.name is None or isinstance(result, VoidType):
            return
        if isinstance(result, PointerType):
            body.unit.environment.pass_pointer(body.module, body.module.result_type(self.name))
        self.define(body.havoc(sort_of(result, signed=True), approximates=self.result))

    @property
    def result(self) -> str:
        """Describe the result."""
        return f"the result of `{self.name}`"

    @property
    def read(self) -> str:
        """Describe what the function reads."""
        return f"what `{self.name}` reads"

    @property
    def written(self) -> str:
        """Describe what the function writes."""
        return f"what `{self.name}` writes"


Meaning = Callable[[LibraryCall], None]


def with_options(
    function: Callable[Concatenate[LibraryCall, P], R],
) -> Callable[P, Callable[[LibraryCall], R]]:
    """Turn a function of a call and options into a function of the options that returns a function of the
    call."""

    def bind(*arguments: P.args, **options: P.kwargs) -> Callable[[LibraryCall], R]:
        return lambda call: function(call, *arguments, **options)

    return bind


# ------------------------------------------------------------------------------------ writing anything


def maybe(body: Body, approximates: str = "") -> Expr:
    """Return a nondeterministic condition."""
    return build.eq(body.havoc(U8, approximates=approximates), build.constant(0, U8))


def any_count(body: Body, what: str) -> Expr:
    """Return any number of bytes, on which no counterexample may depend."""
    return build.to_int(body.havoc(body.unit.pointer_sort, approximates=what))


def write_any(body: Body, address: Expr, size: int, what: str) -> None:
    """Give `size` bytes arbitrary contents."""
    body.emit(Store(address, body.havoc(machine(8 * size, signed=False), approximates=what)))


def write_cells(body: Body, address: Expr, cells: list[Cell], what: str) -> None:
    """Give cells arbitrary contents. If reads without a value are errors, those that `what` describes may
    also stay as they are: nothing says that the function succeeds, and writes all of them."""
    for offset, size in cells:
        write = partial(write_any, body, at(address, offset), size, what)
        if what and body.initialisation is not None:
            body.when(maybe(body, what), write)
        else:
            write()


def write_bytes(body: Body, address: Expr, count: Expr, what: str, width: int = 1) -> None:
    """Give `count` elements arbitrary contents; these are inputs if `what` is empty."""
    if what:
        kind = "unknown" if body.initialisation is None else "perhaps"
        run_model(body, f"__certus_{kind}{width}", (address, count))
    else:
        run_model(body, "__certus_input1", (address, build.scale(width, count)))


def write_object(
    body: Body, address: Expr, size: int, cells: list[Cell] | None, what: str, width: int = 1
) -> None:
    """Give an object arbitrary contents: cell by cell, if its cells are known and few, or else by elements of
    `width` bytes."""
    if cells is not None and len(cells) <= UNROLLED:
        write_cells(body, address, cells, what)
    else:
        write_bytes(body, address, build.integer(size // width), what, width)


def write_some(body: Body, address: Expr, what: str) -> None:
    """Give an unknown number of bytes from `address` on arbitrary contents, if they are valid."""
    count = any_count(body, what or "how much is written")
    when_valid(body, address, count, lambda: write_bytes(body, address, count, what or "what is written"))


def make_number(body: Body, address: Expr) -> None:
    """Note that the program may know an address as a number from now on."""
    number = body.unit.library.variable("number", U8)
    body.registers.assign(number, as_sort(address, U8))


def write_part(body: Body, pointer: Operand, address: Expr, what: str, most: Expr | None = None) -> None:
    """Give at most `most` bytes of the object that a pointer leads to arbitrary contents; without `most` the
    whole object, or some bytes if it is not known. If accesses are checked, or if the object may have less
    room, it is any number of bytes: no counterexample depends on it, and without `most` no proof can bound
    it."""
    root = body.roots.of(pointer)
    room = 0 if root is None or not root.whole else body.layout.size(root.type) - root.offset
    if is_checked(body, "write"):
        write_checked(body, address, most, what)
    elif most is not None:
        everything = partial(write_bytes, body, address, most, what)
        if most.kind is Kind.CONST and int(most.value) <= room:
            everything()
        else:
            body.when(maybe(body), everything, partial(write_checked, body, address, most, what))
    elif root is None or room <= 0:
        write_some(body, address, what)
    else:
        write_stretch(body, root.type, root.offset, room, address, what)


def write_stretch(body: Body, type_: Type, start: int, size: int, address: Expr, what: str) -> None:
    """Give `size` bytes from `start` in an object of this type arbitrary contents; they begin at
    `address`."""
    cells = cells_between(body.layout, type_, start, size)
    write_object(body, address, size, cells, what, loop_width(element(body.layout, type_), size))


def renew_variables(body: Body) -> None:
    """Give `errno` and the other variables of the library any values: a function of the library may have set
    them. `errno` may also be a variable that the program declares."""
    symbols, program = body.unit.symbols, body.unit.program
    module = symbols.models.defining("__certus_errno") if symbols.mentions("__errno_location") else None
    if module is not None:
        _set_freely(body, module, "__certus_errno", "errno")
    for name in sorted(VARIABLES):
        declared = program.globals.get(name)
        if declared is not None and declared.initialiser is None and symbols.mentions(name):
            _set_freely(body, program, name, name)


def _set_freely(body: Body, module: Module, name: str, shown: str) -> None:
    """Give a variable of the library any value, on which no counterexample may depend."""
    symbols, layout = body.unit.symbols, body.layout
    what, variable = f"the value of `{shown}`", symbols.scalar(module, name)
    if variable is not None:
        body.registers.assign(variable, body.havoc(variable.sort, approximates=what))
        return
    type_ = module.globals[name].type
    for offset, size in cells_between(layout, type_, 0, layout.size(type_)) or []:
        write_any(body, at(symbols.address(module, name), offset), size, what)


def write_checked(body: Body, address: Expr, limit: Expr | None, what: str) -> None:
    """Write an unknown number of bytes, at most `limit`, that must be valid."""
    write_bytes(body, address, check_some(body, address, limit, "write", what), what)


def read_unknown(body: Body, address: Expr, what: str, limit: Expr | None = None) -> None:
    """Check that an unknown number of bytes, at most `limit`, can be read."""
    if is_checked(body, "read"):
        check_some(body, address, limit, "read", what)


def check_some(body: Body, address: Expr, limit: Expr | None, access: Access, what: str) -> Expr:
    """Check an access to an unknown number of bytes, at most `limit`; return this number."""
    count = any_count(body, what)
    if limit is not None:
        body.assume(build.le(count, limit))
    check(body, address, count, access)
    return count


def store_pointer(body: Body, address: Expr, pointer: Expr) -> None:
    check(body, address, body.layout.word, "write")
    body.emit(Store(address, build.wrap(pointer, body.unit.pointer_sort)))


def library_object(body: Body, storage: Storage = "static") -> Expr:
    """Create a new object of the library with arbitrary contents. If accesses are checked, nothing is known
    about its size, but that it is not empty."""
    base, size = body.fresh(INT), build.integer(LIBRARY_OBJECT)
    if body.unit.rules.memory:
        size = any_count(body, "the size of an object of the C library")
        body.assume(build.lt(NULL, size))
    body.emit(Alloc(base, size, 16, storage, body.cursor.text, filled=True))
    if storage == "heap":
        note_size(body, base, size)
    return base


def note_size(body: Body, base: Expr, size: Expr) -> None:
    """Record the size of a new object on the heap, if `realloc` needs it."""
    sizes, sort = body.unit.library.sizes, body.unit.pointer_sort
    if sizes is not None:
        noted = build.store(sizes, build.wrap(base, sort), build.wrap(size, sort))
        body.emit(Assign((sizes,), (noted,)), text=f"the size of {body.cursor.text}")
