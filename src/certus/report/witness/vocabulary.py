"""What the variables of a proof are called at a place of the source.

Each lvalue that can be named there is a variable of its own (`c$a[2]`), of the sort of its C type, so that it
is not mixed up with variables of other frames. A proof about memory speaks of cells, arrays and addresses as
its partition has them (`logic.memory`): the bits of a cell are those of the lvalue that denotes it, and so
are those of an array read at the address of a named object. Where objects lie is a choice of the encoding,
so of addresses only this can be told: whether they are null, that of an object, or the same as another of
their type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.evidence import in_frame
from certus.core.memory import Partition, Pointer, Region
from certus.core.objects import SourceObject, extent, lvalue
from certus.core.program import Alloc, Program
from certus.core.sorts import INT, MachineSort, Sort, machine
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder, rebuild, substitute, transform, variables
from certus.logic.memory import BASE
from certus.logic.memoryterms import replacement
from certus.report.witness.scope import names_at

_BREAK: Final = "mem$brk"  # the variables with the end of the last object
_ADDRESS: Final = "c$&"  # the variables that are the addresses of objects


class Lexicon:
    """The variables of a program, and of the proof about it, which may rest on a partition of its memory."""

    def __init__(self, program: Program, partition: Partition | None) -> None:
        self.program = program
        self.partition = partition
        self.cells: Mapping[Expr, tuple[Expr, int]] = {}
        self.arrays: Mapping[Expr, tuple[int, int | None]] = {}
        self.anchors: Mapping[int, Expr] = {}
        own = [x for p in program.procedures.values() for x in p.variables]
        self.locals = frozenset(map(self.lowered, own))
        self._bases: frozenset[str] = frozenset()
        if partition is not None:
            made = replacement(program, partition)
            self.cells, self.arrays, self.anchors = made.cells, made.arrays, made.anchors
            inner = [x for x, (base, _) in made.cells.items() if self._region(base).storage == "locals"]
            self.locals |= frozenset(inner)
            objects = [e.op.target for e in program.edge.values() if isinstance(e.op, Alloc)]
            self._bases = frozenset(x.name for x in objects if self._region(x).layout == "fixed")

    def lowered(self, variable: Expr) -> Expr:
        """The variable of the proof for one of the program."""
        if self.partition is None or variable.sort is not INT or variable not in self.partition.carriers:
            return variable
        return build.var(variable.name, self.partition.address)

    def carried(self, variable: Expr) -> Pointer | None:
        """The type of the addresses in a variable of the program."""
        return None if self.partition is None else self.partition.carriers.get(variable)

    def held(self, region: int, offset: int) -> Pointer | None:
        """The type of the addresses in the field at an offset of an object."""
        assert self.partition is not None
        found = self.partition.regions[region]
        for each in found.fields or ():
            apart = offset - each.offset
            if (apart % found.stride if found.stride else apart) == 0:
                return each.holds
        return found.holds

    def is_of_encoding(self, literal: Expr) -> bool:
        """Whether it only tells where the encoding has put objects."""
        found = [x.name.partition("/")[0] for x in variables(literal)]
        ours = (name.startswith((_BREAK, _ADDRESS)) or name in self._bases for name in found)
        return bool(found) and all(ours)

    def at(self, place: Span, *, in_loop: bool) -> Vocabulary:
        """All that can be named at a place."""
        found = Vocabulary(self)
        for variable, name in names_at(self.program, place, in_loop=in_loop).items():
            made = self.program.objects.get(variable)
            if made is None:
                found.declare(variable, name)
            elif self.carried(variable) is not None:
                found.declare_object(variable, made)
        return found

    def _region(self, base: Expr) -> Region:
        assert self.partition is not None
        return self.partition.regions[self.partition.carriers[base].region]


@dataclass(slots=True)
class Vocabulary:
    """`names` of the lvalues, and the types of those that are `pointers`; `meanings` of the variables of the
    proof, in the frame that control is in, as terms over lvalues; `objects` by the variables of the proof
    that hold their addresses."""

    lexicon: Lexicon
    names: dict[Expr, str] = field(default_factory=dict)
    pointers: dict[Expr, Pointer | None] = field(default_factory=dict)
    meanings: dict[Expr, Expr] = field(default_factory=dict)
    objects: dict[Expr, SourceObject] = field(default_factory=dict)

    # ------------------------------------------------------------------------------- what has a name

    def declare(self, variable: Expr, name: str) -> None:
        """A variable of the program. An integer that carries an address means nothing that C could say."""
        type_, lowered = self.lexicon.carried(variable), self.lexicon.lowered(variable)
        is_pointer = variable.sort is INT
        if type_ is None or is_pointer:
            self.meanings[lowered] = self._lvalue(name, lowered.sort)
        if is_pointer:
            self.pointers[self.meanings[lowered]] = type_

    def declare_object(self, base: Expr, made: SourceObject) -> None:
        """An object, with the cells that it has become."""
        lowered, type_ = self.lexicon.lowered(base), self.lexicon.carried(base)
        assert type_ is not None
        self.objects[lowered] = made
        self.meanings[lowered] = self._address(made, 0, type_)
        for cell, (owner, offset) in self.lexicon.cells.items():
            if owner is base:
                bits = self._bits(made, type_.region, offset, cell.sort)
                if bits is not None:
                    self.meanings[cell] = bits

    def _lvalue(self, text: str, sort: Sort) -> Expr:
        found = build.var(f"c${text}", sort)
        self.names[found] = text
        return found

    def _address(self, made: SourceObject, offset: int, type_: Pointer) -> Expr:
        assert self.lexicon.partition is not None
        text = f"&{made.name}" if offset == 0 else f"((char *)&{made.name} + {offset})"
        found = self._lvalue(text, self.lexicon.partition.address)
        self.pointers[found] = type_
        return found

    def _bits(self, made: SourceObject, region: int, offset: int, sort: Sort) -> Expr | None:
        """The bits of a part of an object, as a term over the lvalue that denotes it."""
        assert isinstance(sort, MachineSort)
        found = None if made.shape is None else lvalue(made.name, made.shape, offset, sort.width // 8)
        if found is None:
            return None
        text, shape = found
        held = self.lexicon.held(region, offset)
        if held is not None and not shape.pointer:
            return None
        variable = self._lvalue(text, machine(shape.width, signed=shape.signed))
        if shape.pointer:
            self.pointers[variable] = held
        return build.wrap(variable, sort)

    # ------------------------------------------------------------------------------------- formulas

    def formula(self, formula: Expr, depth: int) -> Expr:
        """The formula of a point whose call string has `depth` calls, in these words as far as they go."""
        framed = {self._framed(x, depth): term for x, term in self.meanings.items()}
        objects = {self._framed(x, depth): x for x in self.objects}
        if self.lexicon.arrays:
            formula = transform(formula, lambda term, args: self._read(term, args, objects))
        return transform(substitute(formula, framed), self._equation)

    def is_sayable(self, literal: Expr) -> bool:
        """Whether what it says of addresses does not depend on where the encoding has put objects."""
        for term in postorder(literal):
            if term.kind is Kind.EQ:
                sides = [_inside(each) for each in term.args]
                known = [self.pointers[x] for x in sides if x in self.pointers]
                if len(known) == 2 and known[0] != known[1]:
                    return False
        return True

    def _framed(self, variable: Expr, depth: int) -> Expr:
        return in_frame(variable, depth) if variable in self.lexicon.locals else variable

    def _read(self, term: Expr, args: tuple[Expr, ...], objects: Mapping[Expr, Expr]) -> Expr:
        """A read of an array at the address of a named object as the lvalue that is there."""
        term = rebuild(term, args) if args else term
        if term.kind is not Kind.SELECT:
            return term
        array, index = term.args
        region, field_offset = self.lexicon.arrays.get(array, (-1, None))
        if field_offset is None:
            return term
        base, offset = _split(index)
        if base is not None:
            base = objects.get(base)
        elif region in self.lexicon.anchors:
            base, offset = self.lexicon.lowered(self.lexicon.anchors[region]), offset - BASE
        made = None if base is None else self.objects.get(base)
        bits = None if made is None else self._bits(made, region, offset + field_offset, term.sort)
        return term if bits is None else bits

    def _equation(self, term: Expr, args: tuple[Expr, ...]) -> Expr:
        """Equal bits are equal values, and the address of the only object of a region is the object's."""
        term = rebuild(term, args) if args else term
        if term.kind is not Kind.EQ:
            return term
        for one, other in (term.args, term.args[::-1]):
            if one.kind is Kind.WRAP and _is_view(one) and _fits(other, one.args[0].sort):
                inner = one.args[0]
                assert isinstance(inner.sort, MachineSort)
                return self._equation(build.eq(inner, build.wrap(other, inner.sort)), ())
            address = self._of_object(one, other)
            if address is not None:
                return build.eq(one, address)
        return term

    def _of_object(self, pointer: Expr, constant: Expr) -> Expr | None:
        """A constant that a pointer is compared with, as the address of (or behind, or in) a named object."""
        type_ = self.pointers.get(pointer)
        anchor = None if type_ is None else self.lexicon.anchors.get(type_.region)
        if constant.kind is not Kind.CONST or type_ is None or anchor is None:
            return None
        made, offset = self.objects.get(self.lexicon.lowered(anchor)), int(constant.value) - BASE
        if made is None or not (offset == 0 or 0 < offset <= extent(made.shape)):
            return None
        return self._address(made, offset, type_)


def _is_view(term: Expr) -> bool:
    """Whether a conversion keeps the bits."""
    sorts = (term.sort, term.args[0].sort)
    widths = [sort.width for sort in sorts if isinstance(sort, MachineSort)]
    return len(widths) == 2 and widths[0] == widths[1]


def _fits(term: Expr, sort: Sort) -> bool:
    """Whether a term of the same bits can be told as a value of the sort."""
    return term.kind is Kind.CONST or _inside(term).sort is sort


def _inside(term: Expr) -> Expr:
    """Without conversions."""
    while term.kind in (Kind.WRAP, Kind.TO_INT):
        term = term.args[0]
    return term


def _split(index: Expr) -> tuple[Expr | None, int]:
    """An index as a variable, if there is one, and a constant; (None, -1) if it is more than that."""
    parts = index.args if index.kind is Kind.ADD else (index,)
    variables_ = [x for x in parts if x.kind is Kind.VAR]
    constants = [x for x in parts if x.kind is Kind.CONST]
    if len(parts) != len(variables_) + len(constants) or len(variables_) > 1:
        return None, -1
    assert isinstance(index.sort, MachineSort)
    total = machine(index.sort.width, signed=True).wrap(sum(int(x.value) for x in constants))
    return (variables_[0] if variables_ else None), total
