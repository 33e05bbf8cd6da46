"""Library functions by their effects alone: what they write, and where their result points.

Nothing of the values is computed. In proofs they are arbitrary; a counterexample must not depend on them, so
they are marked (`Havoc.approximates`). The effects of a function are words, of which each means:

- `target:N`     what argument N points to, unless that is null, gets any value of its type
- `bytes:N:M`    as many bytes as argument M says, from where argument N points to
- `string:N`     some bytes from there, nobody knows how many
- `object:N`     the pointer that argument N points to becomes one to a new object
- `end:N`        the pointer that argument N points to, unless that is null, is set into the string argument 0
- `count`        what argument 1 points to gets any value
- `line:N`       that, or some bytes from where it points to
- `same:N`       the result is argument N, a new object if that is null, or null
- `into:N`       the result points into the string argument N or is null
- `new`          the result points to a new object of the library or is null
- `static`       the result points into an object that all calls have in common or is null
- `around:N`     that, or into the string argument N
- `renews`       the object that all calls have in common has other contents now

Without one of `same`, `into`, `new`, `static` and `around` the result is any value of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from certus.core import build
from certus.core.program import Alloc, Store
from certus.core.sorts import INT, machine
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.library import FAILING, Entry
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    has_pointers,
    havoc_memory,
    havoc_some,
    havoc_up_to,
    pointed_to,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, U8, address_bits
from certus.frontend.c.types import FunctionType, PointerType, RecordType, VoidType, unqualified

_DISTANCE: Final = machine(32, signed=False)
LIBRARY_OBJECT: Final = 50_000  # bytes; accesses are assumed to stay inside, so it only has to be large


def effects(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    given: list[Expr] = yield from arguments(body, node)
    result: Callable[[], Any] | None = None
    for word in entry.detail.split():
        kind, *numbers = word.split(":")
        at = [int(number) for number in numbers]
        if any(number >= len(given) for number in at):
            continue
        if kind in _RESULTS:
            result = _Result(body, node, entry.name, _RESULTS[kind], given[at[0]] if at else NULL)
        else:
            _WRITES[kind](body, node, given, at)
    if not wanted:
        return None
    return any_result(body, node) if result is None or body.sort(node) is not INT else result()


def unless_null(body: Body, pointer: Expr, node: ast.Call, steps: Callable[[], None]) -> None:
    """Take steps if a pointer is not null."""
    if pointer is NULL:
        return
    inside, after = body.draft.node(), body.draft.node()
    body.branch(build.ne(pointer, NULL), inside, after, node.span, body.text(node.span), source_branch=False)
    body.at = inside
    steps()
    body.draft.skip(body.at, after)
    body.at = after
    body.wrote_anything()


# ---------------------------------------------------------------------------------- what is written


def _name(node: ast.Call) -> str:
    function = node.function
    while isinstance(function, ast.Cast):
        function = function.operand
    return str(getattr(function, "name", "the function"))


def _what(node: ast.Call) -> str:
    return f"what `{_name(node)}` writes"


def write_target(body: Body, argument: ast.Expression, term: Expr, approximates: str) -> None:
    """What an argument points to gets any contents: of its type, or, where its extent is not known, as many
    bytes as it may have."""
    target = pointed_to(argument)
    if target is None or isinstance(unqualified(target), FunctionType):
        return
    try:
        sized = not isinstance(unqualified(target), VoidType) and body.world.layout.size(target) > 0
    except NoSize:
        sized = False
    if sized:
        havoc_memory(body, term, target, argument.span, approximates)
    else:
        havoc_some(body, term, argument.span, approximates)


def _target(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    (number,) = at
    argument, term = node.arguments[number], given[number]
    unless_null(body, term, node, lambda: write_target(body, argument, term, _what(node)))


def _count(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    write_target(body, node.arguments[1], given[1], _what(node))


def _bytes(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    to, count = (given[number] for number in at)

    def steps() -> None:
        havoc_up_to(body, node.arguments[at[0]], to, build.to_int(count), node.span, _what(node))

    unless_null(body, to, node, steps)


def _string(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    (number,) = at
    argument, term = node.arguments[number], given[number]
    target = pointed_to(argument)
    whole = target is not None and not has_pointers(body.world, target) and _is_array(body, argument)

    def steps() -> None:
        if whole:
            write_target(body, argument, term, _what(node))
        else:
            havoc_some(body, term, node.span, _what(node))

    unless_null(body, term, node, steps)


def _is_array(body: Body, argument: ast.Expression) -> bool:
    while isinstance(argument, ast.Cast) and argument.conversion is not ast.Conversion.DECAY:
        argument = argument.operand
    return isinstance(argument, ast.Cast)


def _object(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    made = library_object(body, node, "heap")
    bits = address_bits(made, body.world.pointer_width)
    body.emit(Store(given[at[0]], bits), node.span, body.text(node.span))


def _line(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    """A buffer of the caller's is kept if it is large enough."""
    text, pointer = body.text(node.span), pointed_to(node.arguments[at[0]])
    kept, made, after = (body.draft.node() for _ in range(3))
    choice = body.havoc(U8, node.span, text, approximates=_what(node))
    body.branch(build.eq(choice, build.constant(0, U8)), made, kept, node.span, text, source_branch=False)
    body.at = kept
    if pointer is None or not isinstance(unqualified(pointer), PointerType):
        body.refuse(node.span, "unsupported-library-function", f"the buffer that `{text}` is given")
    else:
        buffer = places.read(body, places.at_address(pointer, given[at[0]]), node.span)
        havoc_some(body, buffer, node.span, _what(node))
    body.draft.skip(body.at, after)
    body.at = made
    _object(body, node, given, at)
    body.draft.skip(body.at, after)
    body.at = after
    body.wrote_anything()


def _end(body: Body, node: ast.Call, given: list[Expr], at: list[int]) -> None:
    to, string = given[at[0]], given[0]

    def steps() -> None:
        end = _inside(body, node, string)
        bits = address_bits(end, body.world.pointer_width)
        body.emit(Store(to, bits), node.span, body.text(node.span))

    unless_null(body, to, node, steps)


def _common(body: Body, node: ast.Call) -> tuple[Expr, Expr]:
    """Where the address of the object is kept that all calls of a function have in common, and the address,
    which is null before the first call."""
    name = _SHARED.get(_name(node), _name(node))
    width = body.world.pointer_width
    kept = body.world.library_static(f"{name}$result", bytes(width // 8), node.span, width)
    return kept, places.read(body, places.at_address(PointerType(VoidType()), kept), node.span)


def _renews(body: Body, node: ast.Call, given: Sequence[Expr], at: Sequence[int]) -> None:
    _, before = _common(body, node)
    unless_null(body, before, node, lambda: havoc_some(body, before, node.span, _what(node)))


_WRITES: Final[dict[str, Callable[[Body, ast.Call, list[Expr], list[int]], None]]] = {
    "target": _target,
    "bytes": _bytes,
    "string": _string,
    "object": _object,
    "line": _line,
    "end": _end,
    "count": _count,
    "renews": _renews,
}


# ------------------------------------------------------------------------------- where results point


def library_object(body: Body, node: ast.Call, storage: str = "static") -> Expr:
    """A new object with any contents, which the library made."""
    made, text = body.fresh(INT), body.text(node.span)
    size = build.integer(LIBRARY_OBJECT)
    kind: Any = storage
    body.emit(Alloc(made, size, 16, kind, text), node.span, text)
    return made


def unknown_pointer(body: Body, node: ast.Call, name: str, given: Sequence[Expr | None], other: Expr) -> Expr:
    """Where the result of a function that nobody defines may point: to an object of its own, which is new or
    known from a call before; to what an argument of its type points to; or anywhere, as `other` says."""
    plain = unqualified(node.type)
    if not isinstance(plain, PointerType) or isinstance(unqualified(plain.target), FunctionType):
        return other
    text, span, width = body.text(node.span), node.span, body.world.pointer_width
    kept = body.world.library_static(f"{name}$result", bytes(width // 8), span, width)
    choice, result, after = body.havoc(U8, span, text), body.fresh(INT), body.draft.node()

    def before() -> Expr:
        return places.read(body, places.at_address(plain, kept), span)

    target = unqualified(plain.target)
    same = [
        term
        for term, argument in zip(given, node.arguments, strict=True)
        if term is not None
        and (pointed := pointed_to(argument)) is not None
        and unqualified(pointed) == target
    ]
    makers: list[Callable[[], Expr]] = [lambda: library_object(body, node, "heap"), before]
    makers += [lambda term=term: term for term in same]  # type: ignore[misc]
    for number, make in enumerate(makers):
        chosen, others = body.draft.node(), body.draft.node()
        condition = build.eq(choice, build.constant(number + 1, U8))
        body.branch(condition, chosen, others, span, text, source_branch=False)
        body.at = chosen
        body.assign(result, make(), span, text)
        body.draft.skip(body.at, after)
        body.at = others
    body.assign(result, other, span, text)
    body.draft.skip(body.at, after)
    body.at = after
    body.emit(Store(kept, address_bits(result, width)), span, text)
    return result


def _inside(body: Body, node: ast.Call, string: Expr) -> Expr:
    """A pointer into a string, or to its end. No condition is put on the distance: a run goes on until the
    pointer matters."""
    distance = body.havoc(_DISTANCE, node.span, body.text(node.span), approximates=_result_name(node))
    return build.add(string, build.to_int(distance))


def _result_name(node: ast.Call) -> str:
    return f"the result of `{_name(node)}`"


class _Result:
    """A result that is null or what `make` gives. Whether it is null is an input where the environment
    decides: files may be missing. For other functions it is not known."""

    def __init__(
        self, body: Body, node: ast.Call, name: str, make: Callable[[Body, ast.Call, Expr], Expr], base: Expr
    ) -> None:
        self.body, self.node, self.name, self.make, self.base = body, node, name, make, base

    def __call__(self) -> Expr:
        body, node = self.body, self.node
        text = body.text(node.span)
        unknown = "" if self.name in FAILING else _result_name(node)
        choice = body.havoc(U8, node.span, text, approximates=unknown)
        failed = build.eq(choice, build.constant(0, U8))
        return _either(body, node, failed, lambda: NULL, lambda: self.make(body, node, self.base))


def _either(
    body: Body, node: ast.Call, condition: Expr, then: Callable[[], Expr], other: Callable[[], Expr]
) -> Expr:
    """One of two values, by a condition."""
    text, result = body.text(node.span), body.fresh(INT)
    yes, no, after = (body.draft.node() for _ in range(3))
    body.branch(condition, yes, no, node.span, text, source_branch=False)
    for at, make in ((yes, then), (no, other)):
        body.at = at
        body.assign(result, make(), node.span, text)
        body.draft.skip(body.at, after)
    body.at = after
    return result


def _argument(body: Body, node: ast.Call, base: Expr) -> Expr:
    """The argument; a function that is given null makes an object itself."""
    if base is NULL:
        return library_object(body, node)
    return _either(body, node, build.ne(base, NULL), lambda: base, lambda: library_object(body, node))


def _point_into(body: Body, node: ast.Call, base: Expr) -> Expr:
    return _inside(body, node, base)


def _new(body: Body, node: ast.Call, base: Expr) -> Expr:
    return library_object(body, node)


def _static(body: Body, node: ast.Call, base: Expr) -> Expr:
    """Whether the results of two calls are the same object is not known, so they point anywhere into one."""
    text, span, width = body.text(node.span), node.span, body.world.pointer_width
    kept, before = _common(body, node)

    def first() -> Expr:
        made = library_object(body, node)
        body.emit(Store(kept, address_bits(made, width)), span, text)
        body.wrote_anything()
        return made

    def again() -> Expr:
        distance = body.havoc(_DISTANCE, span, text, approximates=_result_name(node))
        target = unqualified(pointed_to(node) or VoidType())
        unit = 16 if isinstance(target, RecordType) else 1  # strings may begin anywhere
        return build.add(before, build.scale(unit, build.to_int(distance)))

    return _either(body, node, build.eq(before, NULL), first, again)


def _around(body: Body, node: ast.Call, base: Expr) -> Expr:
    choice = body.havoc(U8, node.span, body.text(node.span), approximates=_result_name(node))
    own = build.eq(choice, build.constant(0, U8))
    return _either(body, node, own, lambda: _static(body, node, base), lambda: _inside(body, node, base))


_SHARED: Final = {  # functions that may have one object in common
    "localeconv": "setlocale",
    "nl_langinfo": "setlocale",
    "setenv": "getenv",
    "unsetenv": "getenv",
    "clearenv": "getenv",
    "gmtime": "localtime",
    "ctime": "asctime",
    "getpwuid": "getpwnam",
    "getgrgid": "getgrnam",
    "readdir64": "readdir",
    "dirname": "basename",
    "secure_getenv": "getenv",
    "__secure_getenv": "getenv",
}
_RESULTS: Final[dict[str, Callable[[Body, ast.Call, Expr], Expr]]] = {
    "same": _argument,
    "into": _point_into,
    "new": _new,
    "static": _static,
    "around": _around,
}
