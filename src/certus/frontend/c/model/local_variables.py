"""The local variables of a function: which of them need memory, and where their lifetimes begin and end.

A variable that is only loaded and stored as a whole becomes a program variable (a *slot*) with the signedness
of its C type. Any other is an object. Its lifetime begins at its declaration, if the declaration dominates
all uses and no `goto` leads back to it, and otherwise at the start of the function; it ends when the function
returns. For memory properties Clang marks the lifetimes (`llvm.lifetime`, `llvm.stackrestore`), and an object
ends where its scope does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Alloc, Havoc
from certus.core.terms import INT, Expr
from certus.core.vocabulary import LEAK
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.instructions import Integer, Local, Operand
from certus.frontend.c.ir.types import IntegerType, StructType, Type
from certus.frontend.c.model.cells import UNROLLED, cells_between
from certus.frontend.c.model.initialisers import leave_open, padding
from certus.frontend.c.model.lifetimes import (
    LITERAL,
    StackArrays,
    comes_back,
    is_outermost,
    is_unmarked,
    is_variable,
    marked,
    outlives_scope,
)
from certus.frontend.c.model.operands import value_is_signed
from certus.frontend.c.model.stays import END, START
from certus.frontend.c.model.terms import is_scalar, machine_sort, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


@dataclass(slots=True, eq=False)
class Slot:
    """A local variable that is a program variable."""

    type: Type
    debug: DebugVariable | None
    variable: Expr | None = None
    boolean: bool = False


@dataclass(slots=True, eq=False)
class LocalObject:
    """A local variable that is an object; `base` holds its address. `named` tells whether the source has a
    name for it. Its lifetime begins at the declaration or, if that is None, at the start of the function."""

    alloca: ir.Alloca
    base: Expr
    shown: str
    named: bool
    declaration: ir.Declare | None
    marked: bool = False  # whether markers say where the lifetime begins and ends


class LocalVariables:
    """The local variables of a function, by their names in the IR."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.slots: dict[str, Slot] = {}
        self.objects: dict[str, LocalObject] = {}
        self.declared: dict[str, ir.Declare] = {}  # the first declaration of each variable
        self.arrays: StackArrays | None = None
        if body.unit.rules.memory and body.unit.is_program(body.module):
            self.arrays = StackArrays(body)
        self._begun: set[str] = set()  # variables that have markers
        pointers: list[Local] = []
        for instruction in body.flow.instructions():
            if isinstance(instruction, ir.Declare) and isinstance(instruction.address, Local):
                self.declared.setdefault(instruction.address.name, instruction)
            elif isinstance(instruction, ir.Call) and (variable := marked(instruction)):
                self._begun.add(variable)
            elif isinstance(instruction, ir.GetElementPointer) and instruction.name is not None:
                pointers.append(Local(body.module.types.pointer, instruction.name))
        for name, alloca in self._allocas():
            if self._is_slot(name, alloca):
                self.slots[name] = Slot(alloca.type, self._debug(name))
            else:
                self._note_carried(name, alloca)
        for pointer in pointers:
            body.roots.of(pointer)  # in order, so that the recursion is never deep

    def _allocas(self) -> Iterator[tuple[str, ir.Alloca]]:
        flow = self._body.flow
        for instruction in flow.blocks[flow.entry].instructions:
            if isinstance(instruction, ir.Alloca) and instruction.count is None:
                assert instruction.name is not None
                yield instruction.name, instruction

    def _debug(self, name: str) -> DebugVariable | None:
        declare = self.declared.get(name)
        return None if declare is None else self._body.module.debug.variable(declare.variable)

    def shown(self, name: str) -> str:
        """Return the name to show for an object whose size is known only at run time."""
        debug = self._debug(name)
        return debug.name if debug is not None and debug.name else "alloca"

    def location(self, name: str) -> int | None:
        """Return the debug location of a variable's declaration."""
        return self.declared[name].location if name in self.declared else None

    def pointed_size(self, pointer: Operand) -> int | None:
        """Return the size of the scalars that a pointer variable of the source points to."""
        body, debug = self._body, self._body.module.debug
        load = body.flow.definition(pointer)
        variable = load.pointer if isinstance(load, ir.Load) else None
        slot = self.slots.get(variable.name) if isinstance(variable, Local) else None
        if slot is None or slot.debug is None:
            return None
        target = debug.plain(debug.target(slot.debug.type))
        while target is not None and target.tag == "array":
            target = debug.plain(target.reference("baseType"))
        return None if target is None or target.is_record else target.number("size") // 8 or None

    def _is_slot(self, name: str, alloca: ir.Alloca) -> bool:
        """Return whether a scalar is only loaded and stored, as a whole."""
        if not is_scalar(alloca.type):
            return False
        for use in self._body.flow.uses.get(name, ()):
            match use:
                case ir.Store(value=Local(name=stored)) if stored == name:
                    return False
                case ir.Load(type=type_) | ir.Store(value=Operand(type=type_)) if type_ is alloca.type:
                    pass
                case ir.Declare() | ir.DebugRecord():
                    pass
                case _ if not marked(use):
                    return False
        return True

    def _note_carried(self, name: str, alloca: ir.Alloca) -> None:
        """Give memory that only carries a record, to pass it in registers, the cells of the record."""
        type_, roots = alloca.type, self._body.roots
        if not isinstance(type_, IntegerType) and not (isinstance(type_, StructType) and not type_.name):
            return
        for use in self._body.flow.uses.get(name, ()):
            if isinstance(use, ir.Call) and ir.called(use).startswith("llvm.memcpy."):
                for operand in (argument.operand for argument in use.arguments[:2]):
                    root = roots.of(operand) if isinstance(operand, Local) and operand.name != name else None
                    if root is not None and root.offset == 0:
                        roots.declare(name, root.type)

    # --------------------------------------------------------------------------- declarations

    def name_variables(self) -> None:
        """Create the variables of the slots, except those of parameters, which exist already."""
        body, debug = self._body, self._body.module.debug
        for name, slot in self.slots.items():
            declared = slot.debug
            slot.boolean = declared is not None and debug.boolean(declared.type)
            if slot.variable is not None:
                continue
            signed = None if declared is None else debug.signed(declared.type)
            sort = sort_of(slot.type, signed=self._is_signed(name) if signed is None else signed)
            shown = declared.name if declared is not None and declared.name else f"${name}"
            slot.variable = body.local(shown, sort)
            body.unit.names.note_format(slot.variable, slot.type)
            if slot.boolean:
                body.unit.names.booleans.add(slot.variable)
            if declared is not None:
                body.unit.names.declare(body.module, slot.variable, declared, self.location(name))
            elif name in body.scopes.undeclared:
                body.unit.names.variables[slot.variable] = name

    def _is_signed(self, name: str) -> bool:
        """Guess whether an integer without a C type is used as a signed one."""
        body = self._body
        if name == "retval":
            return body.signature.result_signed
        for use in body.flow.uses.get(name, ()):
            if isinstance(use, ir.Load) and use.name is not None:
                hint = value_is_signed(body, use.name)
                if hint is not None:
                    return hint
        return False

    def declare(self, instruction: ir.Declare) -> None:
        """Lower a declaration: a variable has no value yet, the lifetime of an object begins."""
        if not isinstance(instruction.address, Local):
            return
        name = instruction.address.name
        slot, local = self.slots.get(name), self.objects.get(name)
        if slot is not None and slot.debug is not None and not slot.debug.argument:
            self._forget(name, slot)
        elif local is not None and local.declaration is instruction and not local.marked:
            self._begin(local)
        elif local is not None and comes_back(self._body, instruction):
            self._forget_contents(local, instruction)

    def _forget_contents(self, local: LocalObject, declare: ir.Declare) -> None:
        """Let an object that lives on have no contents, where control comes back to its declaration."""
        body, size = self._body, self._body.layout.size(local.alloca.type)
        if self._zeroing(declare, local.alloca.name or "", size) is not None:
            return
        cells = cells_between(body.layout, local.alloca.type, 0, size)
        if cells is None or len(cells) > UNROLLED:
            body.refuse("unsupported-lifetime", f"a `goto` back over the declaration of `{local.shown}`")
        else:
            leave_open(body, local.base, cells, f"what `{local.shown}` contains where it is declared again")

    def _forget(self, name: str, slot: Slot) -> None:
        """Let a variable have no value."""
        body = self._body
        assert slot.variable is not None
        if LEAK in body.unit.rules.memory and name in self.declared and comes_back(body, self.declared[name]):
            self._release(slot)
        body.registers.before_write((slot.variable,))
        body.emit(Havoc((slot.variable,)), declares=True)
        if body.initialisation is not None:
            body.initialisation.note(name, written=False)

    # ------------------------------------------------------------------------------ lifetimes

    def begin_objects(self) -> None:
        """Create the objects of the function; those without a suitable declaration begin here."""
        body, flow = self._body, self._body.flow
        ends = [e for e in flow.instructions() if isinstance(e, ir.Return)] if body.unit.rules.memory else []
        for name, alloca in self._allocas():
            if name in self.slots:
                self._check_markers(name)
                continue
            debug, declare = self._debug(name), self.declared.get(name)
            ignored = (ir.Declare, ir.DebugRecord)
            uses = [u for u in flow.uses.get(name, ()) if not isinstance(u, ignored) and not marked(u)]
            uses += ends if declare is not None and is_outermost(body, declare) else []
            returns = declare is not None and comes_back(body, declare)
            if declare is not None and (not all(flow.dominates(declare, use) for use in uses) or returns):
                declare = None
            has_markers = name in self._begun and not (returns and is_outermost(body, self.declared[name]))
            by_scope = name in body.scopes.marked
            shown = debug.name if debug is not None and debug.name else _unnamed(name)
            shown = name if name in body.scopes.undeclared else shown
            base = body.registers.values[name] = body.local(f"$&{shown}", INT)
            local = LocalObject(alloca, base, shown, debug is not None, declare, has_markers)
            self.objects[name] = local
            body.extents[base] = body.layout.size(alloca.type)
            if debug is not None:
                body.unit.names.declare_object(body.module, base, debug, self.location(name))
            if body.unit.rules.memory and body.unit.is_program(body.module):
                if has_markers and returns and not by_scope:
                    what = f"a `goto` back over the declaration of `{shown}`"
                    body.refuse("unsupported-lifetime", what)
                elif not has_markers and outlives_scope(body, name, self.declared.get(name)):
                    what = f"the lifetime of `{shown}`, whose block is entered by a jump or is not marked,"
                    body.refuse("unsupported-lifetime", what)
            if by_scope and returns and body.initialisation is not None:
                body.initialisation.refuse_reentry(name, shown, returns=True)
            if declare is None and not has_markers:
                if body.initialisation is not None and is_variable(body, name, debug):
                    body.initialisation.refuse_reentry(name, shown, returns=returns)
                body.cursor.number = flow.number[alloca]
                self._begin(local)
        if body.initialisation is not None:
            body.initialisation.begin_slots()
        if self.arrays is not None:
            self.arrays.prepare()

    def _check_markers(self, name: str) -> None:
        """Refuse a pointer if nothing says where its block ends: until then it may keep an object."""
        body, slot = self._body, self.slots[name]
        if LEAK not in body.unit.rules.memory or name in self._begun or self.arrays is None:
            return
        pointer = slot.variable is not None and slot.variable.sort is INT
        if pointer and is_unmarked(body, name, self.declared.get(name)):
            what = f"the lifetime of `{name}`, whose block is entered by a jump,"
            body.refuse("unsupported-lifetime", what)

    def may_be_entered_again(self, name: str) -> bool:
        """Return whether the block of a variable may be entered again without passing its declaration: Clang
        marks no lifetime then."""
        declare, flow = self.declared.get(name), self._body.flow
        if name in self._begun or (declare is not None and is_outermost(self._body, declare)):
            return False
        homes = {flow.home[use] for use in flow.uses.get(name, ())}
        return any(home in flow.behind(home) for home in sorted(homes))

    # -------------------------------------------------------------------------------- markers

    def pass_marker(self, instruction: ir.Call, name: str) -> None:
        """Begin or end a lifetime where Clang marks it."""
        body = self._body
        if name.startswith("llvm.stackrestore"):
            if self.arrays is not None:
                self.arrays.restore(instruction)
            return
        variable = marked(instruction)
        local, slot = self.objects.get(variable), self.slots.get(variable)
        if local is not None and local.marked:
            if name.startswith("llvm.lifetime.start"):
                self._begin(local, instruction)
            else:
                body.end_object(local.base, local.shown, silent=name == END)
        elif slot is not None and name == START:
            self._forget(variable, slot)
        elif slot is not None and name.startswith("llvm.lifetime.end") and LEAK in body.unit.rules.memory:
            block = body.flow.blocks[body.flow.home[instruction]]
            rest = block.instructions[block.instructions.index(instruction) :]
            called = any(isinstance(each, ir.Call) and not marked(each) for each in rest)
            if called or not isinstance(block.last, ir.Return):
                body.cursor.text = f"end of {slot.debug.name if slot.debug else 'a variable'}"
                self._release(slot)

    def _release(self, slot: Slot) -> None:
        """Let a variable that may hold an address keep track of no object any more."""
        body, variable = self._body, slot.variable
        assert variable is not None
        if variable.sort is INT or machine_sort(variable).width == body.layout.pointer_bits:
            body.registers.assign(variable, build.constant(0, variable.sort))

    def _begin(self, local: LocalObject, marker: ir.Call | None = None) -> None:
        """Allocate an object; a fill with zeros that follows is part of the allocation."""
        body, type_, declare = self._body, local.alloca.type, marker or local.declaration
        size, align = body.layout.size(type_), local.alloca.align or body.layout.align(type_)
        fill = None if declare is None else self._zeroing(declare, local.alloca.name or "", size)
        alloc = Alloc(local.base, build.integer(size), align, "stack", local.shown, fill is not None)
        body.emit(alloc, text=f"begin of {local.shown}")
        if fill is not None:
            body.registers.skipped.add(fill)
            what = f"the padding of `{local.alloca.name}`"
            leave_open(body, local.base, padding(body, type_, 0, size), what)

    def _zeroing(self, declare: ir.Instruction, name: str, size: int) -> ir.Call | None:
        """Return the fill with zeros that follows a declaration and covers the whole object."""
        flow = self._body.flow
        block = flow.blocks[flow.home[declare]].instructions
        for instruction in block[block.index(declare) + 1 :]:
            if isinstance(instruction, ir.GetElementPointer | ir.DebugRecord | ir.Declare):
                continue
            match instruction:
                case ir.Call(
                    arguments=[(Local(name=to), _), (Integer(value=0), _), (Integer() as count, _), _]
                ):
                    fills = ir.called(instruction).startswith("llvm.memset.")
                    return instruction if fills and to == name and count.value == size else None
            return None
        return None

    def end_objects(self, last: ir.Instruction) -> None:
        """End the lifetimes that certainly began: the function returns."""
        body = self._body
        for name, local in self.objects.items():
            begun = local.declaration is None or body.flow.dominates(local.declaration, last)
            if begun and not local.marked:
                body.end_object(local.base, _unnamed(name))
        if self.arrays is not None:
            self.arrays.end_all()


def _unnamed(name: str) -> str:
    """Return a name to show for an object that only Clang has named."""
    if LITERAL in name:
        return "literal"
    return name if name.isidentifier() and name not in ("tmp", "coerce") else "temporary"
