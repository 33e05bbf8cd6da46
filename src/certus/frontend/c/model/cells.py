"""The cells of memory: the scalars that a type consists of, the objects that pointers certainly lead to, and
records that are passed cell by cell.

Cells never change the meaning of an access: memory is bytes, and reading a record cell by cell reads its
bytes. They only make accesses to one object alike, so that its memory can be split into typed regions.

The calling convention passes a small record as one or two integers. Where such an integer is stored to an
object of a known type, it is passed cell by cell instead, and so is a record that is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from certus.core.terms import INT, Expr, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Expression, Integer, Local, Operand, Symbol
from certus.frontend.c.ir.module import Module, Parameter
from certus.frontend.c.ir.types import (
    ArrayType,
    IntegerType,
    Layout,
    NotUnderstood,
    StructType,
    Type,
    VectorType,
    VoidType,
    last_array,
)
from certus.frontend.c.model.terms import (
    Cell,
    Lanes,
    Piece,
    Pieces,
    Unmodelled,
    Value,
    as_sort,
    no_value,
    sort_of,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

UNROLLED: Final = 64  # an object of more cells is copied by a loop
_SIMPLE: Final = (1, 2, 4, 8, 16)  # sizes of cells


@dataclass(frozen=True, slots=True)
class Root:
    """A pointer leads to `offset` in an object of this type. If it is not `whole`, the object may be an
    element of an array of unknown length, as `p[1]` is."""

    type: Type
    offset: int
    whole: bool = True


def element_step(layout: Layout, type_: ArrayType | VectorType) -> int:
    """Return the distance between elements in memory; refuse vectors of packed elements."""
    if _is_packed(layout, type_):
        raise no_value(type_)
    return layout.size(type_.element)


def _is_packed(layout: Layout, type_: ArrayType | VectorType) -> bool:
    """Return whether elements are closer together than their size: those of vectors of bits."""
    return layout.store_size(type_) != type_.count * layout.size(type_.element)


def scalars(layout: Layout, type_: Type) -> list[Cell] | None:
    """Return the cells of a type in order, without padding; None if there are more than `UNROLLED`."""
    cells: list[Cell] = []
    stack: list[tuple[int, Type]] = [(0, type_)]
    while stack:
        offset, part = stack.pop()
        if len(cells) + len(stack) > UNROLLED + 1:
            return None
        if isinstance(part, StructType):
            starts = layout.offsets(part)
            stack += [(offset + at, field) for field, at in zip(part.fields[::-1], starts[::-1], strict=True)]
        elif isinstance(part, ArrayType | VectorType) and not _is_packed(layout, part):
            if part.count > UNROLLED:
                return None
            size = layout.size(part.element)
            stack += [(offset + i * size, part.element) for i in reversed(range(part.count))]
        else:
            cells += simple([(offset, layout.store_size(part))])
    return cells if len(cells) <= UNROLLED else None


def element(layout: Layout, type_: Type) -> int:
    """Return the size of the scalars of an array; 1 for any other object."""
    while isinstance(type_, ArrayType):
        type_ = type_.element
    return 1 if isinstance(type_, StructType) else layout.store_size(type_)


def words(start: int, end: int) -> Iterator[Cell]:
    """Divide a range of bytes into aligned words."""
    while start < end:
        size = next(size for size in (8, 4, 2, 1) if start % size == 0 and start + size <= end)
        yield start, size
        start += size


def simple(cells: Iterable[Cell]) -> list[Cell]:
    """Split cells of odd sizes (of `i24` or `x86_fp80`) into words."""
    split: list[Cell] = []
    for offset, size in cells:
        split += ((offset, size),) if size in _SIMPLE else words(offset, offset + size)
    return split


def gaps(cells: list[Cell], start: int, end: int) -> list[Cell]:
    """Return the bytes from `start` to `end` outside all cells, as words; the cells are in order."""
    free: list[Cell] = []
    for offset, size in (*cells, (end, 0)):
        if start < offset:
            free += words(start, offset)
        start = offset + size
    return free


def cells_between(layout: Layout, type_: Type, start: int, size: int) -> list[Cell] | None:
    """Return the cells of an object between two offsets, relative to the first, with padding in words; None
    if a scalar crosses a boundary or there are too many."""
    while not layout.size(type_) or (cells := scalars(layout, type_)) is None:
        place = _part_around(layout, type_, start, size)
        if place is None:
            return None
        type_, start = place
    end = start + size
    inside = [(o, w) for o, w in cells if o < end and start < o + w]
    sticks_out = inside and (inside[0][0] < start or end < sum(inside[-1]))
    if sticks_out or (size and start > layout.size(type_)):
        return None
    return [(o - start, w) for o, w in sorted(inside + gaps(inside, start, end))]


def _part_around(layout: Layout, type_: Type, start: int, size: int) -> tuple[Type, int] | None:
    """Return the part of an array or a structure that contains some bytes, and their offset in it."""
    if isinstance(type_, ArrayType):
        step = layout.size(type_.element)
        inside = step > 0 and start % step + size <= step
        return (type_.element, start % step) if inside else None
    if isinstance(type_, StructType):
        for field, at in zip(type_.fields[::-1], layout.offsets(type_)[::-1], strict=True):
            if at <= start and start + size <= at + layout.size(field):
                return field, start - at
    return None


def cells_at(layout: Layout, root: Root | None, size: int) -> list[Cell] | None:
    """Return the cells of `size` bytes at a root, if it is known."""
    return None if root is None else cells_between(layout, root.type, root.offset, size)


# ------------------------------------------------------------------------------------- pointers


def path(layout: Layout, source: Type, indices: list[Operand]) -> Iterator[tuple[int, Operand | None, Type]]:
    """Yield the steps of `getelementptr`: a number of bytes, the index that multiplies it (None: a member of
    a structure at this offset), and the type there."""
    type_ = source
    for number, index in enumerate(indices):
        if number and isinstance(type_, StructType):
            assert isinstance(index, Integer)
            offset, type_ = layout.offsets(type_)[index.value], type_.fields[index.value]
            yield offset, None, type_
            continue
        if number:
            if not isinstance(type_, ArrayType | VectorType):
                raise Unmodelled("unsupported-type", f"an index into `{type_.text}`")
            type_ = type_.element
        yield layout.size(type_), index, type_


class Roots:
    """The objects that the pointers of one function lead to, as far as they can be determined."""

    def __init__(self, module: Module, definitions: Mapping[str, ir.Instruction]) -> None:
        self._module = module
        self._definitions = definitions
        self._known: dict[str, Root | None] = {}

    def declare(self, name: str, type_: Type) -> None:
        """Note that a parameter points to an object of this type, or that memory only carries one."""
        self._known[name] = Root(type_, 0)

    def of(self, pointer: Operand) -> Root | None:
        """Return the root of a pointer, if it is known."""
        match pointer:
            case Local(name=name):
                if name not in self._known:
                    self._known[name] = self._defined(self._definitions.get(name))
                return self._known[name]
            case Symbol(name=name) if name in self._module.globals:
                type_ = self._module.globals[name].type
                array = last_array(type_)  # without a length, if only another file knows it
                return self._start(type_, whole=array is None or array.count > 0)
            case Expression(operation="getelementptr", source=Type() as source, operands=[base, *indices]):
                return self._indexed(source, base, indices)
        return None

    def _defined(self, definition: ir.Instruction | None) -> Root | None:
        if isinstance(definition, ir.Alloca):
            return self._start(definition.type, whole=definition.count is None)
        if isinstance(definition, ir.GetElementPointer):
            return self._indexed(definition.source, definition.base, definition.indices)
        return None

    def _start(self, type_: Type, offset: int = 0, *, whole: bool = True) -> Root | None:
        try:
            self._module.layout.size(type_)
        except NotUnderstood:
            return None
        return Root(type_, offset, whole)

    def _indexed(self, source: Type, base: Operand, indices: list[Operand]) -> Root | None:
        """Return the root of an indexed pointer: inside the object of the base, if all indices are constant,
        and otherwise inside the element of the last array on the path. A member is inside a whole object,
        unless it is an array of unknown length at the end (`char text[1]`)."""
        outer, total, member = self.of(base), 0, False
        constant, last, inside = True, source, 0
        for number, (size, index, type_) in enumerate(path(self._module.layout, source, indices)):
            if index is None:
                total, inside = total + size, inside + size
                member = not _is_open(type_)
                continue
            if isinstance(index, Integer):
                total += index.value * size
            else:
                constant = False
            if number:
                last, inside, member = type_, 0, False
        if outer is not None and constant:
            return Root(outer.type, outer.offset + total, outer.whole or member)
        return self._start(last, inside, whole=member)


def _is_open(type_: Type) -> bool:
    """Return whether an object of this type may end in an array of unknown length (`char text[1]`)."""
    array = last_array(type_)
    return array is not None and array.count <= 1


# ---------------------------------------------------------------------------- parameters and results

Cells = list[Cell] | None  # how a value is passed: cell by cell, or (None) as one variable


@dataclass(slots=True)
class Signature:
    """How a function takes its parameters and returns its result. `cells` has an element for each parameter;
    `foldable` tells whether a call can be one term (see `folding`), None if this is not known yet."""

    result: Type
    parameters: list[Expr] = field(default_factory=list)
    variadic: Expr | None = None  # the address of the variadic arguments, if the function reads them
    results: tuple[Expr, ...] = ()
    cells: list[Cells] = field(default_factory=list)
    result_cells: Cells = None
    result_signed: bool = False
    foldable: bool | None = None


def make_signature(body: Body) -> None:
    """Create the variables of the parameters and results of a function that is defined."""
    function, debug = body.function, body.module.debug
    assert function is not None
    types = debug.signature(function.debug)
    plain = [p for p in function.parameters if p.passing.sret is None]
    declared = types[1:] if len(types) - 1 - function.type.variadic == len(plain) else []
    signs = {p.name: debug.signed(t) for p, t in zip(plain, declared, strict=False)}
    result = function.type.result
    signature = body.signature = Signature(result)
    signature.result_signed = bool(types and types[0] is not None and debug.signed(types[0]))
    signature.cells += [_take(body, p, signs.get(p.name)) for p in function.parameters]
    calls = map(ir.called, body.flow.instructions())
    if function.type.variadic and any(name.startswith("llvm.va_start") for name in calls):
        signature.variadic = body.local("$more", INT)
        signature.parameters.append(signature.variadic)
    if not isinstance(result, VoidType):
        cells = signature.result_cells = _returned_cells(body, result)
        signature.results = _variables(body, "$result", result, cells, signature.result_signed)
    _slots_of_parameters(body)
    body.locals.name_variables()


def _take(body: Body, parameter: Parameter, signed: bool | None) -> Cells:
    """Create the variables of a parameter; return its cells, if it is passed cell by cell."""
    name, type_, passing = parameter.name, parameter.type, parameter.passing
    pointed = passing.byval or passing.sret
    if pointed is not None:
        body.roots.declare(name, pointed)
    split, store = isinstance(type_, IntegerType | VectorType), store_of(body, name)
    cells = passed_cells(body, type_, None if store is None else store.pointer) if split else None
    signed = passing.extension == "signext" if signed is None else signed
    shown = name.replace("_", "a").isalnum() and not name[0].isdigit() and cells is None
    variables = _variables(body, name if shown else f"${name}", type_, cells, signed)
    body.signature.parameters += variables
    if passing.byval is not None:
        body.extents[variables[0]] = body.layout.size(passing.byval)
    value = variables[0] if cells is None else passed(body.layout, type_, cells, variables)
    body.registers.values[name] = value
    return cells


def passed_cells(body: Body, type_: Type, pointer: Operand | None) -> Cells:
    """Return how a value of a type is passed that is stored to, or was loaded from, the object at a pointer:
    as the elements of a vector, the cells of the object or, if they are not known, the fields of a record."""
    layout, root = body.layout, None if pointer is None else body.roots.of(pointer)
    if isinstance(type_, VectorType):
        return elements(layout, type_)
    cells = cells_at(layout, root, layout.store_size(type_))
    if isinstance(type_, StructType) and cells is None:
        return list(zip(layout.offsets(type_), map(layout.store_size, type_.fields), strict=True))
    return cells if cells is not None and (len(cells) > 1 or isinstance(type_, StructType)) else None


def elements(layout: Layout, type_: VectorType) -> list[Cell]:
    """Return the elements of a vector as cells."""
    step = element_step(layout, type_)
    return [(number * step, step) for number in range(type_.count)]


def passed(layout: Layout, type_: Type, cells: Iterable[Cell], terms: Iterable[Expr]) -> Value:
    """Return a value that is passed cell by cell: a vector if it has this type, and otherwise a record."""
    if isinstance(type_, VectorType):
        return Lanes(tuple(as_sort(term, sort_of(type_.element)) for term in terms))
    parts = [Piece(offset, size, term) for (offset, size), term in zip(cells, terms, strict=True)]
    return Pieces(layout.store_size(type_), tuple(parts))


def _variables(body: Body, name: str, type_: Type, cells: Cells, signed: bool) -> tuple[Expr, ...]:
    """Create the variable of a value of a type, or the variables of its cells."""
    if cells is None:
        variable = body.local(name, sort_of(type_, signed=signed))
        body.unit.names.note_format(variable, type_)
        return (variable,)
    return tuple(body.local(f"{name}.{o}", machine(8 * w, signed=False)) for o, w in cells)


def store_of(body: Body, name: str) -> ir.Store | None:
    """Return the only use of a value, if it is a store of it."""
    match body.flow.only_use(name):
        case ir.Store(value=Local(name=stored)) as store if stored == name:
            return store
    return None


def _returned_cells(body: Body, result: Type) -> Cells:
    """Return the cells of the object that a result is loaded from, or the fields of a record."""
    returns = [block.last for block in body.flow.blocks.values() if isinstance(block.last, ir.Return)]
    loads = [body.flow.definition(last.value) for last in returns]
    for pointer in (load.pointer for load in loads if isinstance(load, ir.Load)):
        root = body.roots.of(pointer)
        if root is not None and not isinstance(root.type, IntegerType):
            return passed_cells(body, result, pointer)
    return passed_cells(body, result, None)


def _slots_of_parameters(body: Body) -> None:
    """Let a slot be the parameter itself, if storing the parameter is the first access to the slot."""
    flow = body.flow
    assert body.function is not None
    for parameter in body.function.parameters:
        store, value = store_of(body, parameter.name), body.registers.values[parameter.name]
        if store is None or not isinstance(store.pointer, Local) or not isinstance(value, Expr):
            continue
        slot = body.locals.slots.get(store.pointer.name)
        if slot is None or flow.home[store] != flow.entry:
            continue
        accesses = [u for u in flow.uses[store.pointer.name] if isinstance(u, ir.Load | ir.Store)]
        if min(accesses, key=lambda use: flow.number[use]) is not store:
            continue
        slot.variable = value
        body.registers.skipped.add(store)
        if slot.debug is not None:
            location = body.locals.location(store.pointer.name)
            body.unit.names.declare(body.module, value, slot.debug, location)
