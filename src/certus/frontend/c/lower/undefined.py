"""Calls of functions that nobody defines.

They return anything, and write anything where their arguments point to. A function of the user's own is
assumed to do no more than that, and the outcome says so. One of the C library does what its manual says,
which may be to call back, or to write where a pointer leads that it only finds in memory: such calls are
refused.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from certus.core import build
from certus.core.sorts import INT
from certus.core.terms import Expr, Kind
from certus.core.vocabulary import BUILTIN, RESERVED, is_input
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.library import STANDARD
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    doubtful,
    has_pointers,
    havoc_elements,
    havoc_memory,
    is_approximate,
    of_library,
    one_of,
    parts,
    pointed_to,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.effects import unknown_pointer
from certus.frontend.c.lower.steps import Steps, run
from certus.frontend.c.lower.values import NULL, sort_of
from certus.frontend.c.types import (
    ArrayType,
    CType,
    FunctionType,
    IntegerType,
    PointerType,
    Qualified,
    VoidType,
    unqualified,
)

ESCAPED: Final = "escaped-address"
_KEPT: Final = "`{}` is not defined and gets an address: it is assumed not to use it once it has returned."


def undefined(body: Body, node: ast.Call, name: str, function: ast.Function | None) -> Steps[Expr | None]:
    given = yield from arguments(body, node)
    if name.startswith(BUILTIN):
        refused = body.refuse(node.span, "unsupported-builtin", f"the function `{name}`", sort_of(node.type))
        return refused  # type: ignore[no-any-return]
    if name.startswith(RESERVED) and not is_input(name):
        code, what = "unsupported-verifier-function", f"the function `{name}`, which is not defined,"
        return body.refuse(node.span, code, what, sort_of(node.type))  # type: ignore[no-any-return]
    if not is_input(name):
        message = (
            f"`{name}` is not defined: its result is nondeterministic, and it is assumed to write only "
            "where its arguments point to, and not to call back."
        )
        body.world.warn(name, "undefined-function", message, node.span)
    parameters = function.type.parameters if function is not None else None
    for number, (argument, term) in enumerate(zip(node.arguments, given, strict=True)):
        declared = parameters[number] if parameters is not None and number < len(parameters) else None
        if term is not None and term.sort is INT:
            if term.kind is not Kind.CONST and not is_input(name):
                body.world.warn(ESCAPED, ESCAPED, _KEPT.format(name), argument.span)
            _passed(body, name, argument, term, declared)
    if function is not None and function.noreturn:
        body.stop()
    elif function is not None and of_library(function.span) and name not in STANDARD:
        doubtful(body, node.span, f"what follows on `{name}`")  # which may not come back
    result: Expr | None = any_result(body, node)
    if result is not None and not is_input(name):
        result = unknown_pointer(body, node, name, given, result)
    return result


def _passed(body: Body, name: str, argument: ast.Expression, term: Expr, declared: CType | None) -> None:
    """A function gets a pointer."""
    target = pointed_to(argument)
    if target is None or term is NULL:
        return
    if is_approximate(body.world, name) and _leads_on(body, target):
        what = f"what `{name}` does with the pointer it gets here"
        body.refuse(argument.span, "unsupported-library-function", what)
    elif term.kind is not Kind.CONST and not _protected(declared):  # a constant is null, or a function
        _written_through(body, name, argument, term, target)


def _leads_on(body: Body, target: CType) -> bool:
    """Whether the memory behind a pointer may hold further pointers to write through, or to call."""
    return any(
        isinstance(part, FunctionType) or (isinstance(part, PointerType) and not _is_constant(part.target))
        for part in parts(body.world, target)
    )


def _is_constant(type_: CType) -> bool:
    return isinstance(type_, Qualified) and type_.const


def _protected(declared: CType | None) -> bool:
    """Whether a parameter's type promises not to write through it."""
    plain = unqualified(declared) if declared is not None else None
    return isinstance(plain, IntegerType) or (isinstance(plain, PointerType) and _is_constant(plain.target))


def _written_through(body: Body, name: str, argument: ast.Expression, term: Expr, target: CType) -> None:
    if isinstance(unqualified(target), FunctionType):
        return
    try:
        known_extent = not isinstance(unqualified(target), VoidType) and body.world.layout.size(target) >= 0
    except NoSize:
        known_extent = False
    if not known_extent or has_pointers(body.world, target):
        what = f"The function `{name}` is not defined and may write through the pointer it gets here."
        hint = f"Define `{name}`, or declare the pointer's target const."
        body.refuse(argument.span, "unsupported-external-function", what, hint=hint)
        return
    what = f"what `{name}` writes" if is_approximate(body.world, name) else ""
    array = _array_of(argument)
    if array is not None:
        havoc_memory(body, run(body.value(array)), array.operand.type, argument.span, what)
        return

    def all_of_it() -> None:
        havoc_memory(body, term, target, argument.span, what)

    if _names_all(argument):
        all_of_it()
    else:
        more = partial(_written_around, body, name, argument, term, target)
        one_of(body, argument.span, all_of_it, more)


def _array_of(argument: ast.Expression) -> ast.Cast | None:
    """The variable, as a pointer to its first element, if an argument is written as a place in an array."""
    while not (isinstance(argument, ast.Cast) and argument.conversion is ast.Conversion.DECAY):
        if isinstance(argument, ast.Cast) and argument.conversion in _SAME_ADDRESS:
            argument = argument.operand
        elif isinstance(argument, ast.AddressOf) and isinstance(argument.operand, ast.Subscript):
            argument = argument.operand.pointer
        elif isinstance(argument, ast.Binary) and argument.operator in "+-":
            pointers = [side for side in (argument.left, argument.right) if pointed_to(side) is not None]
            if len(pointers) != 1:
                return None
            (argument,) = pointers
        else:
            return None
    array = argument.operand
    known = isinstance(array, ast.VariableReference) and isinstance(unqualified(array.type), ArrayType)
    return argument if known else None


def _names_all(argument: ast.Expression) -> bool:
    """Whether an argument is written as the address of all that can be reached from it: a variable or a
    member, and no element of an array."""
    while isinstance(argument, ast.Cast) and argument.conversion in _SAME_ADDRESS:
        argument = argument.operand
    if not isinstance(argument, ast.Cast | ast.AddressOf):
        return False
    address = isinstance(argument, ast.AddressOf) or argument.conversion is ast.Conversion.DECAY
    return address and isinstance(argument.operand, ast.VariableReference | ast.Member)


_SAME_ADDRESS = (ast.Conversion.POINTER, ast.Conversion.NONE)


def _written_around(body: Body, name: str, argument: ast.Expression, term: Expr, target: CType) -> None:
    """A pointer may lead into an array, whose other elements are written too. How many there are is not
    known here, so that a counterexample must not depend on it."""
    if not (size := body.world.layout.size(target)):
        return
    width, number = places.element(body.world, target)
    what, text = f"how much `{name}` writes", body.text(argument.span)
    before, count = (body.havoc(INT, argument.span, text, approximates=what) for _ in range(2))
    first = build.sub(term, build.scale(size, before))
    havoc_elements(body, first, build.scale(number, count), width, argument.span, what)
