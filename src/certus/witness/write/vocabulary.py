"""Name the variables of a proof at a place of the source.

Each lvalue that can be named there becomes a variable of its own (`c$a[2]`), of the sort of its C type, so
that variables of other frames cannot be confused with it. A proof about memory uses cells, arrays and
addresses of its partition (`encoding.memory`): the bits of a cell are those of the lvalue that denotes it,
and so are those of an array read at the address of a named object. The encoding chooses where objects lie, so
a witness states only three facts about an address: that it is null, that it is the address of an object, or
that it equals another address of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.evidence import in_frame
from certus.core.memory import Partition, Pointer, Region, extent, lvalue
from certus.core.program import Alloc, Program, SourceObject
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort, machine
from certus.core.walk import postorder, rebuild, substitute, transform, variables
from certus.encoding.memory import MemoryLowering
from certus.witness.write.scope import names_at

_BREAK: Final = "mem$brk"  # the variables with the end of the last object
_ADDRESS: Final = "c$&"  # the variables that are the addresses of objects


class Lexicon:
    """The variables of a program and of a proof about it. If the proof rests on a partition of memory,
    `cells` maps a variable that replaces memory to the variable with the object's address and an offset;
    `arrays` maps an array to a region and the offset of the field it holds in all objects there (None: their
    bytes); `anchors` maps a region to the variable with the address, `base`, of its only object."""

    def __init__(self, program: Program, partition: Partition | None) -> None:
        self.program = program
        self.partition = partition
        self.base = 0 if partition is None else partition.base
        self.cells: dict[Expr, tuple[Expr, int]] = {}
        self.arrays: dict[Expr, tuple[int, int | None]] = {}
        self.anchors: dict[int, Expr] = {}
        own = [x for p in program.procedures.values() for x in p.variables]
        self.locals = frozenset(map(self.lowered, own))
        self._bases: frozenset[str] = frozenset()
        if partition is not None:
            self._name_memory(partition)
            inner = [x for x, (base, _) in self.cells.items() if self._region(base).storage == "locals"]
            self.locals |= frozenset(inner)
            objects = [e.op.target for e in program.edge.values() if isinstance(e.op, Alloc)]
            self._bases = frozenset(x.name for x in objects if self._region(x).layout == "fixed")

    def _name_memory(self, partition: Partition) -> None:
        """Record the variables by which `lower_memory` replaces memory."""
        lowering = MemoryLowering(self.program, partition)
        self.cells = {x: (o.base, at) for o in lowering.objects.values() for at, x in o.cells.items()}
        for number, region in enumerate(partition.regions):
            if region.fields is None:
                self.arrays[lowering.bytes(number)] = (number, None)
            elif number not in lowering.objects:
                self.arrays.update((lowering.array(number, f), (number, f.offset)) for f in region.fields)
        carriers = partition.carriers.items()
        self.anchors = {pointer.region: x for x, pointer in carriers if x in lowering.anchors}

    def lowered(self, variable: Expr) -> Expr:
        """Return the variable of the proof for a variable of the program."""
        if self.partition is None or variable.sort is not INT or variable not in self.partition.carriers:
            return variable
        return build.var(variable.name, self.partition.address)

    def carried(self, variable: Expr) -> Pointer | None:
        """Return the type of the addresses in a variable of the program."""
        return None if self.partition is None else self.partition.carriers.get(variable)

    def held(self, region: int, offset: int) -> Pointer | None:
        """Return the type of the addresses in the field at an offset of an object."""
        assert self.partition is not None
        fields = self.partition.regions[region]
        for each in fields.fields or ():
            distance = offset - each.offset
            if (distance % fields.stride if fields.stride else distance) == 0:
                return each.holds
        return fields.holds

    def is_of_encoding(self, literal: Expr) -> bool:
        """Say whether a literal only describes where the encoding has placed objects."""
        names = [x.name.partition("/")[0] for x in variables(literal)]
        return bool(names) and all(
            name.startswith((_BREAK, _ADDRESS)) or name in self._bases for name in names
        )

    def at(self, place: Span, *, in_loop: bool) -> Vocabulary:
        """Return the vocabulary of a place: all that can be named there."""
        vocabulary = Vocabulary(self)
        for variable, name in names_at(self.program, place, in_loop=in_loop).items():
            source_object = self.program.objects.get(variable)
            if source_object is None:
                vocabulary.declare(variable, name)
            elif self.carried(variable) is not None:
                vocabulary.declare_object(variable, source_object)
        return vocabulary

    def _region(self, base: Expr) -> Region:
        assert self.partition is not None
        return self.partition.regions[self.partition.carriers[base].region]


@dataclass(slots=True)
class Vocabulary:
    """The words available at a place: `names` of lvalues; the types of those that are `pointers`; `meanings`,
    the variables of the proof in the current frame as terms over lvalues; `objects` by the variables of the
    proof that hold their addresses."""

    lexicon: Lexicon
    names: dict[Expr, str] = field(default_factory=dict)
    pointers: dict[Expr, Pointer | None] = field(default_factory=dict)
    meanings: dict[Expr, Expr] = field(default_factory=dict)
    objects: dict[Expr, SourceObject] = field(default_factory=dict)

    # ------------------------------------------------------------------------------- what has a name

    def declare(self, variable: Expr, name: str) -> None:
        """Add a variable of the program. C cannot express the value of an integer that carries an address."""
        type_, lowered = self.lexicon.carried(variable), self.lexicon.lowered(variable)
        is_pointer = variable.sort is INT
        if type_ is None or is_pointer:
            self.meanings[lowered] = self._lvalue(name, lowered.sort)
        if is_pointer:
            self.pointers[self.meanings[lowered]] = type_

    def declare_object(self, base: Expr, source_object: SourceObject) -> None:
        """Add an object, with the cells that replace it."""
        lowered, type_ = self.lexicon.lowered(base), self.lexicon.carried(base)
        assert type_ is not None
        self.objects[lowered] = source_object
        self.meanings[lowered] = self._address(source_object, 0, type_)
        for cell, (owner, offset) in self.lexicon.cells.items():
            if owner is base:
                bits = self._bits(source_object, type_.region, offset, cell.sort)
                if bits is not None:
                    self.meanings[cell] = bits

    def _lvalue(self, text: str, sort: Sort) -> Expr:
        variable = build.var(f"c${text}", sort)
        self.names[variable] = text
        return variable

    def _address(self, target: SourceObject, offset: int, type_: Pointer) -> Expr:
        assert self.lexicon.partition is not None
        text = f"&{target.name}" if offset == 0 else f"((char *)&{target.name} + {offset})"
        address = self._lvalue(text, self.lexicon.partition.address)
        self.pointers[address] = type_
        return address

    def _bits(self, owner: SourceObject, region: int, offset: int, sort: Sort) -> Expr | None:
        """Return the bits of a part of an object, as a term over the lvalue that denotes it."""
        assert isinstance(sort, MachineSort)
        part = None if owner.shape is None else lvalue(owner.name, owner.shape, offset, sort.width // 8)
        if part is None:
            return None
        text, shape = part
        if shape.format:
            return None
        held = self.lexicon.held(region, offset)
        if held is not None and not shape.pointer:
            return None
        variable = self._lvalue(text, machine(shape.width, signed=shape.signed))
        if shape.pointer:
            self.pointers[variable] = held
        return build.wrap(variable, sort)

    # ------------------------------------------------------------------------------------- formulas

    def formula(self, formula: Expr, depth: int) -> Expr:
        """Rewrite the formula of a point whose call string has `depth` calls over lvalues where possible."""
        framed = {self._framed(x, depth): term for x, term in self.meanings.items()}
        objects = {self._framed(x, depth): x for x in self.objects}
        if self.lexicon.arrays:
            formula = transform(formula, lambda term, args: self._read(term, args, objects))
        return transform(substitute(formula, framed), self._equation)

    def is_sayable(self, literal: Expr) -> bool:
        """Say whether a literal is independent of where the encoding has placed objects."""
        for term in postorder(literal):
            if term.kind is Kind.EQ:
                sides = [_inside(each) for each in term.args]
                types = [self.pointers[x] for x in sides if x in self.pointers]
                if len(types) == 2 and types[0] != types[1]:
                    return False
        return True

    def _framed(self, variable: Expr, depth: int) -> Expr:
        return in_frame(variable, depth) if variable in self.lexicon.locals else variable

    def _read(self, term: Expr, args: tuple[Expr, ...], objects: Mapping[Expr, Expr]) -> Expr:
        """Replace a read of an array at the address of a named object by the lvalue at that address."""
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
            base, offset = self.lexicon.lowered(self.lexicon.anchors[region]), offset - self.lexicon.base
        owner = None if base is None else self.objects.get(base)
        bits = None if owner is None else self._bits(owner, region, offset + field_offset, term.sort)
        return term if bits is None else bits

    def _equation(self, term: Expr, args: tuple[Expr, ...]) -> Expr:
        """Turn equal bits into equal values, and a constant address into that of a region's only object."""
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
        """Return a constant that a pointer is compared with as an address in or just after a named object."""
        type_ = self.pointers.get(pointer)
        anchor = None if type_ is None else self.lexicon.anchors.get(type_.region)
        if constant.kind is not Kind.CONST or type_ is None or anchor is None:
            return None
        target = self.objects.get(self.lexicon.lowered(anchor))
        offset = int(constant.value) - self.lexicon.base
        if target is None or not (offset == 0 or 0 < offset <= extent(target.shape)):
            return None
        return self._address(target, offset, type_)


def _is_view(term: Expr) -> bool:
    """Say whether a conversion keeps the bits."""
    sorts = (term.sort, term.args[0].sort)
    widths = [sort.width for sort in sorts if isinstance(sort, MachineSort)]
    return len(widths) == 2 and widths[0] == widths[1]


def _fits(term: Expr, sort: Sort) -> bool:
    """Say whether a term of the same bits can be read as a value of the sort."""
    return term.kind is Kind.CONST or _inside(term).sort is sort


def _inside(term: Expr) -> Expr:
    """Return the term inside all conversions."""
    while term.kind in (Kind.WRAP, Kind.TO_INT):
        term = term.args[0]
    return term


def _split(index: Expr) -> tuple[Expr | None, int]:
    """Split an index into a variable, if there is one, and a constant; (None, -1) if it has more parts."""
    parts = index.args if index.kind is Kind.ADD else (index,)
    variables_ = [x for x in parts if x.kind is Kind.VAR]
    constants = [x for x in parts if x.kind is Kind.CONST]
    if len(parts) != len(variables_) + len(constants) or len(variables_) > 1:
        return None, -1
    assert isinstance(index.sort, MachineSort)
    total = machine(index.sort.width, signed=True).wrap(sum(int(x.value) for x in constants))
    return (variables_[0] if variables_ else None), total
