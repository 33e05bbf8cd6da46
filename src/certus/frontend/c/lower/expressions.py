"""The values of expressions."""

from __future__ import annotations

from typing import Any

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assign
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import any_value, called_function
from certus.frontend.c.lower.body import Body, Joint
from certus.frontend.c.lower.checks import arithmetic, negated
from certus.frontend.c.lower.initialisers import initialise
from certus.frontend.c.lower.places import Place, moved, read, write
from certus.frontend.c.lower.pointers import from_integer
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import (
    NULL,
    address_bits,
    convert,
    equal,
    from_bool,
    function_of,
    integer_sort,
    is_pointer,
    is_record,
    is_scalar,
    sort_of,
    truth,
    way_of_passing,
)
from certus.frontend.c.types import (
    INT_TYPE,
    CType,
    FunctionType,
    IntegerType,
    PointerType,
    Qualified,
    VoidType,
    unqualified,
)

# ------------------------------------------------------------------------------------- leaves


def integer_constant(body: Body, node: ast.IntegerConstant) -> Expr:
    if is_pointer(node.type):
        return build.integer(node.value)
    sort = integer_sort(node.type)
    return build.constant(sort.wrap(node.value), sort)


def function_address(body: Body, node: ast.FunctionReference) -> Expr:
    return body.world.function_address(node.name)


def zero(body: Body, node: ast.ZeroInitialiser) -> Expr:
    sort = sort_of(node.type)
    if sort is not None and is_scalar(node.type):
        return build.constant(0, sort)
    made = body.temporary_object(node.type, node.span)
    places.zero_object(body, made, node.type, node.span, body.text(node.span))
    return made


def aggregate(body: Body, node: ast.InitialiserList) -> Steps[Expr]:
    """`{ value }` for a scalar."""
    if node.items and is_scalar(node.type):
        found: Expr = yield body.value(node.items[0])
        return found
    return zero(body, ast.ZeroInitialiser(node.type, node.span))


def unmodelled(body: Body, node: ast.Unmodelled) -> Any:
    sort = None if isinstance(unqualified(node.type), VoidType) else sort_of(node.type)
    return body.refuse(node.span, node.code, node.what, sort)


# --------------------------------------------------------------------------- objects and casts


def lvalue(body: Body, node: ast.Expression) -> Steps[Expr]:
    """An lvalue whose value is asked for without a conversion: an array or record stands for its address."""
    place: Place = yield body.place(node)
    return read(body, place, node.span)


def address_of(body: Body, node: ast.AddressOf) -> Steps[Expr]:
    operand = node.operand
    if isinstance(unqualified(operand.type), FunctionType):
        function: Expr = yield body.value(operand)
        return function
    place: Place = yield body.place(operand)
    if place.variable is not None or place.field is not None:
        refused: Expr = body.refuse(node.span, "unsupported-address", "taking this address")
        return refused
    return place.address


def dereference(body: Body, node: ast.Dereference) -> Steps[Expr]:
    if isinstance(unqualified(node.type), FunctionType):
        function: Expr = yield body.value(node.pointer)
        return function
    return (yield from lvalue(body, node))


def cast(body: Body, node: ast.Cast) -> Any:
    conversion, operand = node.conversion, node.operand
    if conversion is Conversion.LOAD:
        if _changes_by_itself(operand):
            return _volatile(body, node)
        if type(operand) is ast.VariableReference:
            return read(body, places.variable_place(body, operand), node.span)
        return lvalue(body, operand)
    if conversion is Conversion.NULL:
        return NULL if isinstance(operand, ast.IntegerConstant) else _null(body, operand)
    if conversion is Conversion.DECAY:
        return _decay(body, operand)
    return _cast_value(body, node)


def _changes_by_itself(operand: ast.Expression) -> bool:
    """Whether an lvalue is volatile and of a variable from outside, so that each time it may be another."""
    if not (isinstance(operand.type, Qualified) and operand.type.volatile):
        return False
    while not isinstance(operand, ast.VariableReference):
        if isinstance(operand, ast.Member):
            operand = operand.base
        elif isinstance(operand, ast.Subscript):
            operand = operand.pointer
        elif isinstance(operand, ast.Cast) and operand.conversion is Conversion.DECAY:
            operand = operand.operand
        else:
            return False
    return not operand.variable.defined


def _volatile(body: Body, node: ast.Cast) -> Steps[Any]:
    term: Expr | None = yield lvalue(body, node.operand)
    if is_record(node.type) or term is None:
        return term
    text = body.text(node.span)
    return any_value(body, unqualified(node.type), node.span, text, approximates=f"the value of `{text}`")


def _null(body: Body, operand: ast.Expression) -> Steps[Expr]:
    yield body.value(operand)
    return NULL


def _decay(body: Body, operand: ast.Expression) -> Steps[Expr]:
    place: Place = yield body.place(operand)
    return place.address


def _cast_value(body: Body, node: ast.Cast) -> Steps[Expr | None]:
    conversion = node.conversion
    if conversion is Conversion.TO_VOID:
        yield body.effect(node.operand)
        return None
    if _retyped(node):
        body.world.recast[called_function(node.operand)] = None
    term: Expr | None = yield body.value(node.operand)
    if term is None or conversion in (Conversion.NONE, Conversion.POINTER, Conversion.FUNCTION_DECAY):
        return term
    if conversion in (Conversion.INTEGER, Conversion.TO_BOOL):
        return convert(term, node.type)
    if conversion is Conversion.POINTER_TO_INTEGER:
        return build.wrap(term, integer_sort(node.type))
    assert conversion is Conversion.INTEGER_TO_POINTER, conversion
    return from_integer(body, term, node.span)


def _retyped(node: ast.Cast) -> bool:
    """Whether a pointer to a function becomes one by which functions are called differently, or a number."""
    before, after = (function_of(type_) for type_ in (node.operand.type, node.type))
    if before is None or node.conversion not in (Conversion.POINTER, Conversion.POINTER_TO_INTEGER):
        return False
    if after is None or before.parameters is None or after.parameters is None:
        return True
    ways = [[way_of_passing(t) for t in (f.result, *(f.parameters or ()))] for f in (before, after)]
    return ways[0] != ways[1] or before.variadic != after.variadic


def compound_literal_place(body: Body, node: ast.CompoundLiteral) -> Steps[Place]:
    home = body.homes.get(node.variable.identity)
    if node.variable.storage is ast.Storage.STATIC:
        home = body.world.static_home(node.variable)
        return places.place_of(node.type, home)
    if home is None:
        home = places.declare_home(body, node.variable)
    place = places.place_of(node.type, home)
    yield initialise(body, place, node.initialiser, node.span, local=body.text(node.span))
    return place


# ---------------------------------------------------------------------------------- operators


def unary(body: Body, node: ast.Unary) -> Steps[Expr]:
    term: Expr = yield body.value(node.operand)
    if node.operator == "!":
        return from_bool(build.not_(truth(term)), integer_sort(node.type))
    if node.operator == "-":
        return negated(body, term, node.span)
    return build.bit_not(term) if node.operator == "~" else term


def binary(body: Body, node: ast.Binary) -> Steps[Expr]:
    left, right = yield from body.operands((node.left, node.right))
    return combine(body, node.operator, (left, node.left.type), (right, node.right.type), node)


def combine(
    body: Body, operator: str, a: tuple[Expr, CType], b: tuple[Expr, CType], node: ast.Expression
) -> Expr:
    """`a operator b`, for integers and pointers."""
    (left, left_type), (right, _) = a, b
    pointers = left.sort is INT, right.sort is INT
    if operator in _COMPARISONS:
        return from_bool(_compare(body, operator, a, b), integer_sort(node.type))
    if not any(pointers):
        return arithmetic(body, operator, left, right, node.span)
    if all(pointers):
        size = _target_size(body, left_type, node.span)
        distance = build.sub(left, right)
        if size is not build.integer(1):
            distance = build.div(distance, size)
        return build.wrap(distance, integer_sort(node.type))
    if pointers[1]:
        (left, left_type), (right, _) = b, a
    size = _target_size(body, left_type, node.span)
    return moved(left, right, size if operator == "+" else build.neg(size))


_COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")


def _compare(body: Body, operator: str, a: tuple[Expr, CType], b: tuple[Expr, CType]) -> Expr:
    (left, left_type), (right, right_type) = a, b
    if operator in ("==", "!="):
        if function_of(left_type) is not None or function_of(right_type) is not None:
            width = body.world.pointer_width  # those read from memory are positive
            left, right = address_bits(left, width), address_bits(right, width)
        same = equal(left, right)
        return same if operator == "==" else build.not_(same)
    if operator in (">", ">="):
        left, right = right, left
    return build.lt(left, right) if operator in "<>" else build.le(left, right)


def _target_size(body: Body, pointer: CType, span: Span) -> Expr:
    """The size of what a pointer points to; that of `void` and of functions is 1, as compilers have it."""
    plain = unqualified(pointer)
    assert isinstance(plain, PointerType), plain
    target = unqualified(plain.target)
    if isinstance(target, VoidType | FunctionType):
        return build.integer(1)
    return body.extent(target, span)


def comma(body: Body, node: ast.Comma) -> Steps[Expr]:
    yield body.effect(node.left)
    found: Expr = yield body.value(node.right)
    return found


# --------------------------------------------------------------------------------- assignments


def assignment(body: Body, node: ast.Assignment) -> Steps[Expr]:
    place, term = yield from _target_and_value(body, node.target, node.value)
    return write(body, place, term, node.span, body.text(node.span))


def _target_and_value(body: Body, target: ast.Expression, value: ast.Expression) -> Steps[tuple[Place, Expr]]:
    """The object assigned to and the value. The value comes first, but that of a record: as in Clang."""
    joints: list[Joint] = []
    if not is_record(target.type):
        term: Expr = yield body.value(value)
        body.separate(joints)
        place: Place = yield body.place(target)
        (term,) = body.hold([term], joints)
        return place, term
    place = yield body.place(target)
    body.separate(joints)
    term = yield body.value(value)
    (address,) = body.hold([place.address], joints)
    return Place(place.type, None, address, place.field), term


def compound_assignment(body: Body, node: ast.CompoundAssignment) -> Steps[Expr]:
    place, term = yield from _target_and_value(body, node.target, node.value)
    old = read(body, place, node.target.span)
    if is_pointer(node.target.type):
        new = combine(body, node.operator, (old, node.target.type), (term, node.value.type), node)
    else:
        wide = convert(old, node.computation)
        new = convert(arithmetic(body, node.operator, wide, term, node.span), node.target.type)
    return write(body, place, new, node.span, body.text(node.span))


def increment(body: Body, node: ast.Increment) -> Steps[Expr]:
    return (yield from _increment(body, node, wanted=True))


def _increment(body: Body, node: ast.Increment, *, wanted: bool) -> Steps[Expr]:
    place: Place = yield body.place(node.operand)
    old = read(body, place, node.operand.span)
    text, type_ = body.text(node.span), node.operand.type
    if node.postfix and wanted and place.variable is not None:
        kept = body.fresh(old.sort)
        body.emit(Assign((kept,), (old,)), node.span, text)
        result: Expr | None = kept
    else:
        result = old if node.postfix else None
    if old.sort is INT:
        new = build.add(old, build.scale(node.delta, _target_size(body, type_, node.span)))
    else:
        new = _stepped(body, old, node)
    written = write(body, place, new, node.span, text)
    return written if result is None else result


def _stepped(body: Body, old: Expr, node: ast.Increment) -> Expr:
    """An integer plus or minus one, computed in its promoted type."""
    plain = unqualified(node.operand.type)
    assert isinstance(plain, IntegerType)
    wide = convert(old, INT_TYPE) if plain.width < INT_TYPE.width and not plain.exact else old
    sort = wide.sort
    assert isinstance(sort, MachineSort)
    operator = "+" if node.delta > 0 else "-"
    return convert(arithmetic(body, operator, wide, build.constant(1, sort), node.span), plain)


# --------------------------------------------------------------------- values that nobody uses


def increment_effect(body: Body, node: ast.Increment) -> Steps[Expr]:
    return _increment(body, node, wanted=False)


def cast_effect(body: Body, node: ast.Cast) -> Any:
    """A conversion changes nothing; reading an object does nothing, finding it may."""
    if node.conversion in (Conversion.LOAD, Conversion.DECAY):
        if isinstance(node.operand, ast.VariableReference | ast.StringLiteral | ast.ChooseConstant):
            return None
        return body.place(node.operand)
    if node.conversion in _INERT:
        return body.effect(node.operand)
    return body.value(node)


_INERT = (
    Conversion.TO_VOID,
    Conversion.NONE,
    Conversion.INTEGER,
    Conversion.POINTER,
    Conversion.TO_BOOL,
    Conversion.POINTER_TO_INTEGER,
)
