"""The meanings that functions of the C library may have, for `table.py`, which says which has which, and for
the lowering, which does what they say.

Functions that are known by their effects alone (`Effects`) compute nothing: what they write and give is
arbitrary in proofs, and no counterexample may depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

# ------------------------------------------------------------------------------------- what is written


@dataclass(frozen=True, slots=True)
class Target:
    """What an argument points to, unless it is null: an object of the type that `EXTENTS` has the size of."""

    argument: int
    type: str


@dataclass(frozen=True, slots=True)
class Bytes:
    """As many bytes, at most, as the argument `count` says, from where an argument points to unless it is
    null."""

    argument: int
    count: int


@dataclass(frozen=True, slots=True)
class Some:
    """An unknown number of bytes from where an argument points to, unless it is null."""

    argument: int


@dataclass(frozen=True, slots=True)
class NewObject:
    """The pointer that an argument points to becomes one to a new object, which the program may free."""

    argument: int


@dataclass(frozen=True, slots=True)
class LineBuffer:
    """That, or some bytes are written where the pointer that the argument points to leads."""

    argument: int


@dataclass(frozen=True, slots=True)
class EndPointer:
    """The pointer that an argument points to, unless that is null, is set into the string that is
    `string`."""

    argument: int
    string: int


@dataclass(frozen=True, slots=True)
class Renewed:
    """The object that all calls have in common (`Shared`) gets other contents, if there is one by now."""

    name: str


Write = Target | Bytes | Some | NewObject | LineBuffer | EndPointer | Renewed

# ----------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value of the result's type."""


@dataclass(frozen=True, slots=True)
class SameArgument:
    """An argument, a new object of the library if that is null, or null."""

    argument: int


@dataclass(frozen=True, slots=True)
class NewResult:
    """A new object of the library, or null."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Anywhere in the object that all calls of functions with this name have in common, or null."""

    name: str


@dataclass(frozen=True, slots=True)
class SharedOrInto:
    """As `Shared`, or into the string that an argument points to."""

    name: str
    argument: int


Result = Anything | SameArgument | NewResult | Shared | SharedOrInto

# --------------------------------------------------------------------------------------- meanings


@dataclass(frozen=True, slots=True)
class Effects:
    """`input_null`: the environment decides whether the result is null, so that it is an input. `returns`:
    false for functions after which control may never come back: counterexamples end there. `no_pointer`: the
    argument that must be a null constant, or the call is refused: the library would keep it and write there
    later."""

    writes: tuple[Write, ...] = ()
    result: Result = Anything()
    input_null: bool = False
    returns: bool = True
    no_pointer: int | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """The function `symbol` of the file `c/FILE`. `of_locale`: the effects instead, if the program mentions
    `setlocale`. `callback`: the argument that is a function which must do nothing but look (no writes,
    inputs, error sites), or `unquiet` is the symbol. `elements`: `symbol1`, `symbol2`, `symbol4`, `symbol8`
    and likewise `unquiet` are for elements of so many bytes, of which the lowering takes the largest that the
    cells of the object allow."""

    file: str
    symbol: str
    of_locale: Effects | None = None
    callback: int | None = None
    unquiet: str = ""
    elements: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """The execution ends here."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The functions run that `atexit` registered, if `registered`, and the execution ends: if the argument
    `status` is not zero, where there is one."""

    registered: bool = True
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Assume:
    """Executions end where the first argument is zero."""


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert` as a function, without its header: a claim if assertions are errors, otherwise an
    assumption."""


@dataclass(frozen=True, slots=True)
class Allocate:
    """A new object: its size is the product of the arguments `size`. `alignment` is the argument that must be
    a constant power of two (of `words`: at least the size of a pointer), else the call is refused. `into` is
    the argument that points to where the address is stored; then the result is 0. `fails`: it may return
    null, which is an input."""

    size: tuple[int, ...]
    zero: bool = False
    align: int = 16
    alignment: int | None = None
    words: bool = False
    into: int | None = None
    fails: bool = False
    stack: bool = False


@dataclass(frozen=True, slots=True)
class Reallocate:
    """`realloc(pointer, size)`: a new object with what fits of the old one, which ends; of no bytes it may be
    null."""


@dataclass(frozen=True, slots=True)
class Release:
    """The object that the first argument points to ends, unless that is null."""


@dataclass(frozen=True, slots=True)
class Natural:
    """An input between 0 and 2^31 - 1; after a second seed the numbers are not known."""


@dataclass(frozen=True, slots=True)
class Seed:
    """Numbers that were drawn before may come again."""


@dataclass(frozen=True, slots=True)
class Character:
    """An input between -1 and 255."""


@dataclass(frozen=True, slots=True)
class Time:
    """An input, which is also stored where the first argument points to, unless that is null."""


@dataclass(frozen=True, slots=True)
class Block:
    """An input, the number of elements read, and as many bytes of input, from where the argument `to` points
    to on. `size` is the argument that is an element's size; without it, an element is a byte, and the result
    may be -1, always if the argument 0, the file, is negative. The rest of an element that is not complete is
    not known."""

    to: int
    count: int
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """`fgets(to, size, file)`: null, an input, and then the contents are not known, or `__certus_line(to,
    size)`."""


@dataclass(frozen=True, slots=True)
class InputMemory:
    """As many bytes of input as argument 1 says, from where argument 0 points to."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A function of the family of `scanf`. `outside`: it reads input, and no string of the program."""

    format: int
    outside: bool


@dataclass(frozen=True, slots=True)
class Print:
    """A function of the family of `printf`: only `%n` writes, but for what goes to `buffer`, at most as many
    bytes as the argument `limit` says. `format` is None if the arguments come in a `va_list`."""

    format: int | None
    buffer: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    """`signal(number, handler)`: refused unless the handler is a constant (`SIG_IGN`, `SIG_DFL`), which
    changes nothing."""


@dataclass(frozen=True, slots=True)
class Refused:
    code: str


Meaning = (
    Effects
    | Model
    | Stop
    | Exit
    | Assume
    | Assert
    | Allocate
    | Reallocate
    | Release
    | Natural
    | Seed
    | Character
    | Time
    | Block
    | Line
    | InputMemory
    | Scan
    | Print
    | Signal
    | Refused
)


@dataclass(frozen=True, slots=True)
class Function:
    """`name` is the one to look up in `SIGNATURES` and to show. `passed` tells which arguments of the call
    are those of the function, the last one and all behind it if `variadic`; None: all. Those checked variants
    (`__memcpy_chk`) that Clang and glibc make have more arguments, which do not matter."""

    name: str
    meaning: Meaning
    passed: tuple[int, ...] | None = None
    variadic: bool = False
