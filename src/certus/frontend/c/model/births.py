"""Where local variables begin, and which of them need no memory.

A variable that is only loaded from and stored to, as a whole, becomes a program variable (a *slot*), with the
signedness of its C type. Others are objects: they begin where their declaration stands, if it comes before
all uses on every way, and otherwise at the start of the function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Alloc, Free, Havoc
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.operands import Local, Symbol
from certus.frontend.c.ir.types import IntegerType, PointerType, StructType, Type
from certus.frontend.c.model.hints import value_is_signed
from certus.frontend.c.model.initialisers import leave_open, padding, zeroing
from certus.frontend.c.model.terms import sort_of

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
class Box:
    """A local variable that is an object; `base` holds its address."""

    alloca: ir.Alloca
    base: Expr
    size: int
    debug: DebugVariable | None
    birth: ir.Declare | None  # None: the start of the function


class Births:
    """The local variables of a function."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.slots: dict[str, Slot] = {}
        self.boxes: dict[str, Box] = {}
        self.declared: dict[str, ir.Declare] = {}
        flow = body.flow
        for instruction in flow.instructions():
            if isinstance(instruction, ir.Declare) and isinstance(instruction.address, Local):
                self._note(instruction, instruction.address.name)
        for instruction in flow.blocks[flow.entry].instructions:
            if isinstance(instruction, ir.Alloca) and instruction.count is None:
                assert instruction.name is not None
                if self._is_slot(instruction):
                    self.slots[instruction.name] = Slot(instruction.type, self._debug(instruction.name))
                else:
                    self._carrier(instruction)
        for instruction in flow.instructions():
            if isinstance(instruction, ir.GetElementPointer) and instruction.name is not None:
                body.roots.of(Local(body.module.types.pointer, instruction.name))

    def _debug(self, name: str) -> DebugVariable | None:
        declare = self.declared.get(name)
        return None if declare is None else self._body.module.debug.variable(declare.variable)

    def _is_slot(self, alloca: ir.Alloca) -> bool:
        if not isinstance(alloca.type, IntegerType | PointerType):
            return False
        for use in self._body.flow.uses.get(alloca.name or "", ()):
            if isinstance(use, ir.Load):
                if use.type is not alloca.type:
                    return False
            elif isinstance(use, ir.Store):
                value = use.value
                if value.type is not alloca.type or (isinstance(value, Local) and value.name == alloca.name):
                    return False
            elif not isinstance(use, ir.Declare | ir.DebugRecord):
                return False
        return True

    def _carrier(self, alloca: ir.Alloca) -> None:
        """What a record is copied to or from, to be passed in registers, has the record's cells."""
        type_ = alloca.type
        if not isinstance(type_, IntegerType) and not (isinstance(type_, StructType) and not type_.name):
            return
        for use in self._body.flow.uses.get(alloca.name or "", ()):
            if is_copy(use):
                assert isinstance(use, ir.Call)
                for argument in use.arguments[:2]:
                    operand = argument.operand
                    if isinstance(operand, Local) and operand.name != alloca.name:
                        root = self._body.roots.of(operand)
                        if root is not None and root.offset == 0:
                            self._body.roots.carries(alloca.name or "", root.type)

    # --------------------------------------------------------------------------- declarations

    def name_variables(self) -> None:
        """Give the slots their variables, when the parameters have theirs."""
        body = self._body
        for name, slot in self.slots.items():
            if slot.debug is not None:
                slot.boolean = body.module.debug.boolean(slot.debug.type)
            if slot.variable is not None:
                continue
            shown = slot.debug.name if slot.debug is not None else ""
            signed = body.module.debug.signed(slot.debug.type) if slot.debug is not None else None
            if signed is None:
                signed = self._guess(name)
            slot.variable = body.local(shown or f"${name}", sort_of(slot.type, signed=signed))
            if slot.boolean:
                body.unit.booleans.add(slot.variable)
            if shown and slot.debug is not None:
                body.unit.name_variable(body, slot.variable, slot.debug)

    def _guess(self, name: str) -> bool:
        """Whether an integer that has no C type is used as a signed one."""
        body = self._body
        if name == "retval":
            return body.signature.result_signed
        for use in body.flow.uses.get(name, ()):
            if isinstance(use, ir.Load) and use.name is not None:
                hint = value_is_signed(body, use.name)
                if hint is not None:
                    return hint
        return False

    def begin_objects(self) -> None:
        """Make the objects of the function; those without a fitting declaration begin here."""
        body, flow = self._body, self._body.flow
        for instruction in flow.blocks[flow.entry].instructions:
            if not isinstance(instruction, ir.Alloca) or instruction.count is not None:
                continue
            name = instruction.name or ""
            if name in self.slots:
                continue
            debug, declare = self._debug(name), self.declared.get(name)
            uses = [u for u in flow.uses.get(name, ()) if not isinstance(u, ir.Declare | ir.DebugRecord)]
            if declare is not None and not all(flow.dominates(declare, use) for use in uses):
                declare = None
            shown = debug.name if debug is not None and debug.name else _unnamed(name)
            base = body.local(f"$&{shown}", INT)
            box = Box(instruction, base, body.layout.size(instruction.type), debug, declare)
            self.boxes[name] = box
            body.values[name] = base
            if debug is not None and debug.name:
                body.unit.name_object(body, base, debug)
            if declare is None:
                body.number = flow.number[instruction]
                self._begin(box)

    def _begin(self, box: Box) -> None:
        body = self._body
        name = box.debug.name if box.debug is not None and box.debug.name else _unnamed(box.alloca.name or "")
        align = box.alloca.align or body.layout.align(box.alloca.type)
        fill = None if box.birth is None else zeroing(body, box.birth, box.alloca.name or "", box.size)
        alloc = Alloc(box.base, build.integer(box.size), align, "stack", name, fill is not None)
        body.emit(alloc, text=f"begin of {name}")
        if fill is not None:
            body.skipped.add(fill)
            gaps = padding(body, box.alloca.type, 0, box.size)
            leave_open(body, box.base, gaps, fill.arguments[0].operand)

    def _note(self, declare: ir.Declare, name: str) -> None:
        """The first declaration of a variable counts."""
        if self.declared.setdefault(name, declare) is declare:
            debug = self._body.module.debug.variable(declare.variable)
            self._body.declared_at[f"{debug.name}{debug.line}"] = declare.location

    def declare(self, instruction: ir.Declare) -> None:
        """A declaration stands here: the variable has no value yet, the object begins."""
        if not isinstance(instruction.address, Local):
            return
        body, name = self._body, instruction.address.name
        slot, box = self.slots.get(name), self.boxes.get(name)
        if slot is not None and slot.debug is not None and not slot.debug.argument:
            assert slot.variable is not None
            body.before_write(slot.variable)
            body.emit(Havoc((slot.variable,)), declares=True)
        elif box is not None and box.birth is instruction:
            self._begin(box)

    def end_objects(self, last: ir.Instruction) -> None:
        """The function returns: objects that certainly began end."""
        body = self._body
        for box in self.boxes.values():
            if box.birth is None or body.flow.dominates(box.birth, last):
                body.emit(Free(box.base, "stack"), text=f"end of {_unnamed(box.alloca.name or '')}")


def _unnamed(name: str) -> str:
    """What to call an object that only Clang has a name for."""
    if name.endswith(".compoundliteral"):
        return "literal"
    return name if name.isidentifier() and name not in ("tmp", "coerce") else "temporary"


def is_copy(instruction: ir.Instruction) -> bool:
    """Whether an instruction is `llvm.memcpy`."""
    return (
        isinstance(instruction, ir.Call)
        and isinstance(instruction.callee, Symbol)
        and instruction.callee.name.startswith("llvm.memcpy.")
    )
