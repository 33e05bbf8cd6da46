"""The values of instructions that only compute: on scalars, on vectors element by element, and on parts of
aggregates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.floats import Format
from certus.core.program import Assign
from certus.core.terms import BOOL, INT, Expr, Kind
from certus.core.vocabulary import ELEMENT, READ, WRITE
from certus.core.witness import BRANCH
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import FloatType, IntegerType, Type, VectorType
from certus.frontend.c.model import cells as layouts
from certus.frontend.c.model import floats, terms
from certus.frontend.c.model.operands import (
    address_of,
    field_place,
    from_integer,
    indexed,
    pieces_at,
    term_of,
    value_of,
)
from certus.frontend.c.model.terms import Lanes, Piece, Pieces, Unmodelled, Value, as_sort, no_value, sort_of
from certus.frontend.c.source import expressions

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_COMPLEX: Final = re.compile(r"(?:add|sub|mul|neg)\.[ri][lr]?\d*")  # operations on parts of complex numbers
_QUOTIENTS: Final = ("sdiv", "udiv", "srem", "urem")
_CHECKED: Final = {  # operations that may be errors, by properties and kinds of checks
    **dict.fromkeys(("no-overflow", "overflow"), ("add", "sub", "mul", "shl", "sdiv", "srem")),
    **dict.fromkeys(("no-div-zero", "division"), _QUOTIENTS),
    **dict.fromkeys(("float-divide-by-zero", "float-divide"), ("fdiv",)),
    **dict.fromkeys(("float-cast-overflow", "float-cast"), ("fptosi", "fptoui")),
    "shift": ("shl", "lshr", "ashr"),
}


def lanewise(body: Body, compute: Callable[..., Expr], *values: Value) -> Value:
    """Compute an operation on scalars or, if an operand is a vector, element by element, each with all of the
    scalars."""
    count = max((len(value.parts) for value in values if isinstance(value, Lanes)), default=0)
    if not count:
        return compute(*map(body.scalar, values))
    parts = [v.parts if isinstance(v, Lanes) else (body.scalar(v),) * count for v in values]
    return Lanes(tuple(compute(*each) for each in zip(*parts, strict=True)))


def binary(body: Body, instruction: ir.Binary) -> Value:
    operation, hint = instruction.operation, True if "nsw" in instruction.flags else None
    _expect_checked(body, instruction, instruction.left)
    if operation[0] == "f":
        return _float_binary(body, instruction)
    compute = partial(terms.binary, operation, signed_hint=hint)
    return lanewise(body, compute, value_of(body, instruction.left), value_of(body, instruction.right))


def _expect_checked(body: Body, instruction: ir.Binary | ir.Convert, operand: ir.Operand) -> None:
    """Refuse an operation that the property is about if Clang does not check it: on vectors and on complex
    integers."""
    operation, asked = instruction.operation, body.unit.rules.kind.split(",")
    kinds = [kind for kind in asked if operation in _CHECKED.get(kind, ())]
    if not body.unit.is_program(body.module) or not kinds:
        return
    unchecked = isinstance(operand.type, VectorType) or _COMPLEX.fullmatch(instruction.name or "") is not None
    if isinstance(instruction, ir.Binary) and operation in (*_QUOTIENTS, "fdiv"):
        unchecked = unchecked or not _is_tested(body, instruction, kinds)
    if unchecked:
        raise Unmodelled("unsupported-vector", "a check of an operation on vectors or complex integers")


def _is_tested(body: Body, quotient: ir.Binary, kinds: list[str]) -> bool:
    """Return whether a comparison tests the divisor of a quotient, or none is needed: distances of pointers
    are `exact`, and a dividend that was widened is not the least number, so that its quotients fit."""
    divisor, dividend = quotient.right, body.flow.definition(quotient.left)
    if isinstance(divisor, ir.Integer | ir.Float) or "exact" in quotient.flags:
        return True
    widened = isinstance(dividend, ir.Convert) and dividend.operation in ("sext", "zext")
    if widened and set(kinds) <= {"no-overflow", "overflow"}:
        return True
    uses = body.flow.uses.get(divisor.name, ()) if isinstance(divisor, ir.Local) else ()
    return any(isinstance(use, ir.Compare) for use in uses)


def _on_floats(body: Body, compute: Callable[..., Expr], *operands: ir.Operand) -> Value:
    """Compute an operation, which gets the format and the bit patterns of floating-point numbers."""
    format = floats.format_of(element_of(operands[0].type))

    def on_patterns(*values: Expr) -> Expr:
        return compute(format, *(floats.pattern(value, format) for value in values))

    return lanewise(body, on_patterns, *(value_of(body, operand) for operand in operands))


def _float_binary(body: Body, instruction: ir.Binary) -> Value:
    def compute(format: Format, a: Expr, b: Expr) -> Expr:
        if instruction.operation == "frem":
            result = floats.remainder_of_division(format, a, b)
        else:
            kind = floats.ARITHMETIC[instruction.operation]
            result = floats.operation(kind, format, a, b, mode=body.unit.rounding)
        return floats.opened(body, result, format, instruction.name)

    return _on_floats(body, compute, instruction.left, instruction.right)


def element_of(type_: Type) -> Type:
    """Return the type of the elements of a vector, or the type itself."""
    return type_.element if isinstance(type_, VectorType) else type_


def _float_conversion(body: Body, instruction: ir.Convert) -> Value:
    source, target = element_of(instruction.operand.type), element_of(instruction.type)

    def compute(a: Expr) -> Expr:
        result = floats.convert(instruction.operation, a, source, target, body.unit.rounding)
        if not isinstance(target, FloatType) or not isinstance(source, FloatType):
            return result
        return floats.opened(body, result, floats.format_of(target), instruction.name)

    return lanewise(body, compute, value_of(body, instruction.operand))


def compare(body: Body, instruction: ir.Compare) -> Value:
    if instruction.floating:
        test = partial(floats.compare, instruction.predicate)
        return _on_floats(body, test, instruction.left, instruction.right)
    if instruction.name is not None and instruction.name.startswith(("fits_in_gp", "fits_in_fp")):
        return build.FALSE  # `va_start` marks all registers as used
    compute = partial(terms.compare, instruction.predicate)
    return lanewise(body, compute, value_of(body, instruction.left), value_of(body, instruction.right))


def convert(body: Body, instruction: ir.Convert) -> Value:
    operation, type_ = instruction.operation, instruction.type
    _expect_checked(body, instruction, instruction.operand)
    if operation.startswith("fp") or operation.endswith("fp"):
        return _float_conversion(body, instruction)
    value = value_of(body, instruction.operand)
    if isinstance(value, Lanes) or isinstance(type_, VectorType):
        return _convert_vector(body, operation, value, type_)
    if operation == "inttoptr":
        return from_integer(body, body.scalar(value))
    if operation == "trunc" and isinstance(value, Expr) and value in body.unit.names.booleans:
        return terms.truth(value)
    if isinstance(value, Pieces) and operation == "bitcast" and not isinstance(type_, FloatType):
        return value
    return terms.convert(operation, body.scalar(value), type_)


def select(body: Body, instruction: ir.Select) -> Value:
    test = value_of(body, instruction.condition)
    then, otherwise = value_of(body, instruction.then), value_of(body, instruction.otherwise)
    if isinstance(then, Expr) and body.is_watched(instruction):
        condition = terms.truth(body.scalar(test))
        return _branch_to_value(body, instruction, condition, then, body.scalar(otherwise))
    return lanewise(body, _choose, test, then, otherwise)


def _choose(condition: Expr, a: Expr, b: Expr) -> Expr:
    if a.kind is Kind.CONST:
        a = as_sort(a, b.sort)
    return build.ite(terms.truth(condition), a, as_sort(b, a.sort))


def _branch_to_value(body: Body, instruction: ir.Select, condition: Expr, a: Expr, b: Expr) -> Expr:
    """Make a branch of a `?:` that a witness refers to; return the value of the branch taken."""
    chosen, starts, after = body.fresh(a.sort), (body.draft.node(), body.draft.node()), body.draft.node()
    body.cursor.describe(body.unit.sources.part(instruction.location, expressions.tested))
    body.cursor.text = BRANCH
    body.fork(condition, *starts, branch=True)
    for start, value in zip(starts, (a, b), strict=True):
        body.at = start
        body.emit(Assign((chosen,), (as_sort(value, chosen.sort),)), text="", target=after)
    body.at = after
    return chosen


# ------------------------------------------------------------------------------------ aggregates


def _place(body: Body, type_: Type, indices: Iterable[int]) -> tuple[int, Type]:
    """Return the offset of a part of an aggregate, and its type."""
    offset = 0
    for index in indices:
        inner, type_ = field_place(body, type_, index)
        offset += inner
    return offset, type_


def extract_value(body: Body, instruction: ir.ExtractValue) -> Value:
    """Lower `extractvalue`. A scalar that is one piece keeps the sort of the piece."""
    value = value_of(body, instruction.aggregate)
    offset, type_ = _place(body, instruction.aggregate.type, instruction.indices)
    assert isinstance(value, Pieces)
    size = body.layout.store_size(type_)
    parts = [p for p in value.parts if p.offset < offset + size and offset < p.offset + p.size]
    inside = all(offset <= p.offset and p.offset + p.size <= offset + size for p in parts)
    if isinstance(type_, VectorType):
        cells = [(offset + start, size) for start, size in layouts.elements(body.layout, type_)]
        return Lanes(tuple(as_sort(p, sort_of(type_.element)) for p in terms.taken(value, cells, body.unset)))
    scalar = terms.is_scalar(type_)
    if scalar and [(p.offset, p.size) for p in parts] == [(offset, size)]:
        term, sort = parts[0].term, sort_of(type_)
        keep = term.sort not in (BOOL, INT) and sort not in (BOOL, INT) and not isinstance(type_, FloatType)
        return term if keep else as_sort(term, sort)
    if inside and (not scalar or (isinstance(type_, IntegerType) and len(parts) > 1)):
        return Pieces(size, tuple(Piece(p.offset - offset, p.size, p.term) for p in parts))
    return as_sort(terms.joined(value, offset, size, body.unset), sort_of(type_))


def insert_value(body: Body, instruction: ir.InsertValue) -> Value:
    whole = value_of(body, instruction.aggregate)
    offset, type_ = _place(body, instruction.aggregate.type, instruction.indices)
    size = body.layout.size(type_)
    assert isinstance(whole, Pieces)
    others = [p for p in whole.parts if p.offset + p.size <= offset or offset + size <= p.offset]
    new = pieces_at(body, value_of(body, instruction.value), offset, type_)
    parts = sorted((*others, *new), key=lambda p: p.offset)
    return Pieces(body.layout.size(instruction.aggregate.type), tuple(parts))


# --------------------------------------------------------------------------------------- vectors


def lanes(value: Value) -> tuple[Expr, ...]:
    """Return the elements of a vector."""
    if not isinstance(value, Lanes):
        raise Unmodelled("unsupported-vector", "a vector of this type")
    return value.parts


def _convert_vector(body: Body, operation: str, value: Value, type_: Type) -> Value:
    """Convert from or to a vector; `bitcast` keeps the bytes and changes the elements."""
    if operation != "bitcast":
        if not isinstance(type_, VectorType):
            raise no_value(type_)
        return Lanes(tuple(terms.convert(operation, part, type_.element) for part in lanes(value)))
    if not isinstance(type_, VectorType):
        size = body.layout.store_size(type_)
        return as_sort(terms.taken(value, [(0, size)], body.unset)[0], sort_of(type_))
    parts = terms.taken(value, layouts.elements(body.layout, type_), body.unset)
    return Lanes(tuple(as_sort(part, sort_of(type_.element)) for part in parts))


def extract_element(body: Body, instruction: ir.ExtractElement) -> Value:
    parts = lanes(value_of(body, instruction.vector))
    index = _index(body, instruction.index, len(parts), READ)
    value = parts[-1]
    for number in reversed(range(len(parts) - 1)):
        value = build.ite(_is(index, number), parts[number], value)
    return value


def insert_element(body: Body, instruction: ir.InsertElement) -> Value:
    parts, value = lanes(value_of(body, instruction.vector)), term_of(body, instruction.value)
    index = _index(body, instruction.index, len(parts), WRITE)
    new = [build.ite(_is(index, n), as_sort(value, part.sort), part) for n, part in enumerate(parts)]
    return Lanes(tuple(new))


def _index(body: Body, operand: ir.Operand, count: int, kind: str) -> Expr:
    """Return an index as an unsigned number. It is an error of this kind, or undefined behaviour, if a vector
    of `count` elements has none with this number."""
    index = terms.unsigned(term_of(body, operand))
    sort = terms.machine_sort(index)
    outside = build.le(build.constant(count, sort), index) if count <= sort.high else build.FALSE
    if kind in body.unit.rules.memory and outside is not build.FALSE:
        body.claim(build.not_(outside), kind, f"{ELEMENT}{body.cursor.text}")
    else:
        body.when(outside, lambda: body.undefined("an element that a vector does not have"))
    return index


def _is(index: Expr, number: int) -> Expr:
    return terms.equal(index, build.constant(number, index.sort))


def shuffle(body: Body, instruction: ir.ShuffleVector) -> Value:
    """Lower `shufflevector`; elements that it leaves open have any value."""
    both = [part for v in (instruction.left, instruction.right) for part in lanes(value_of(body, v))]
    sort, what = both[0].sort, "an element of a vector that is left open"
    parts = (body.havoc(sort, approximates=what) if n is None else both[n] for n in instruction.mask)
    return Lanes(tuple(parts))


COMPUTATIONS: Final[dict[type[ir.Instruction], Callable[..., Value]]] = {
    ir.GetElementPointer: lambda body, i: indexed(body, i.source, address_of(body, i.base), i.indices),
    ir.Binary: binary,
    ir.Negate: lambda body, i: _on_floats(body, floats.negated, i.operand),
    ir.Compare: compare,
    ir.Convert: convert,
    ir.Select: select,
    ir.Freeze: lambda body, i: value_of(body, i.operand),
    ir.ExtractValue: extract_value,
    ir.InsertValue: insert_value,
    ir.ExtractElement: extract_element,
    ir.InsertElement: insert_element,
    ir.ShuffleVector: shuffle,
}
