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
from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.memory_errors import LEAK
from certus.core.program import Alloc, Assign, Free, Havoc
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.instructions import Integer, Local, Operand, Symbol
from certus.frontend.c.ir.types import IntegerType, PointerType, StructType, Type
from certus.frontend.c.model.initialisers import leave_open, padding
from certus.frontend.c.model.operands import value_is_signed
from certus.frontend.c.model.terms import NULL, sort_of

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
        self._labels: list[ir.DebugRecord] = []
        self._begun: set[str] = set()  # variables that have markers
        self._saves: dict[str, ir.Instruction] = {}  # by variable, where it gets the end of the stack
        self._arrays: dict[Expr, ir.Alloca] = {}  # of variable length, by their addresses
        self._kept: dict[int, Expr] = {}  # the results of `alloca`, by the number of the instruction
        pointers: list[Local] = []
        for instruction in body.flow.instructions():
            if isinstance(instruction, ir.Declare) and isinstance(instruction.address, Local):
                self.declared.setdefault(instruction.address.name, instruction)
            elif isinstance(instruction, ir.DebugRecord) and "#dbg_label(" in instruction.text:
                self._labels.append(instruction)
            elif isinstance(instruction, ir.Call) and (variable := marked(instruction)):
                self._begun.add(variable)
            elif isinstance(instruction, ir.Store) and _is_save(body, instruction):
                self._saves[getattr(instruction.pointer, "name", "")] = instruction
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

    def location(self, name: str) -> int | None:
        """Return the debug location of a variable's declaration."""
        return self.declared[name].location if name in self.declared else None

    def pointed_size(self, pointer: Operand) -> int | None:
        """Return the size of the scalars that a pointer variable of the source points to."""
        body, debug = self._body, self._body.module.debug
        load = body.flow.definitions.get(pointer.name) if isinstance(pointer, Local) else None
        variable = load.pointer if isinstance(load, ir.Load) else None
        slot = self.slots.get(variable.name) if isinstance(variable, Local) else None
        if slot is None or slot.debug is None:
            return None
        target = debug.plain(debug.target(slot.debug.type))
        while target is not None and target.fields.get("tag") == "DW_TAG_array_type":
            target = debug.plain(target.reference("baseType"))
        if target is None or target.fields.get("tag") in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            return None
        return target.number("size") // 8 or None

    def _is_slot(self, name: str, alloca: ir.Alloca) -> bool:
        """Whether a scalar is only loaded and stored, as a whole."""
        if not isinstance(alloca.type, IntegerType | PointerType):
            return False
        for use in self._body.flow.uses.get(name, ()):
            match use:
                case ir.Store(value=Local(name=stored)) if stored == name:
                    return False
                case ir.Load(type=type_) | ir.Store(value=Operand(type=type_)):
                    if type_ is not alloca.type:
                        return False
                case ir.Declare() | ir.DebugRecord():
                    pass
                case ir.Call() if marked(use):
                    pass
                case _:
                    return False
        return True

    def _note_carried(self, name: str, alloca: ir.Alloca) -> None:
        """Give memory that only carries a record, to pass it in registers, the cells of the record."""
        type_, roots = alloca.type, self._body.roots
        if not isinstance(type_, IntegerType) and not (isinstance(type_, StructType) and not type_.name):
            return
        for use in self._body.flow.uses.get(name, ()):
            if isinstance(use, ir.Call) and _calls(use, "llvm.memcpy."):
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
            if slot.boolean:
                body.unit.names.booleans.add(slot.variable)
            if declared is not None:
                body.unit.names.declare(body.module, slot.variable, declared, self.location(name))

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
        body, name = self._body, instruction.address.name
        slot, local = self.slots.get(name), self.objects.get(name)
        if slot is not None and slot.debug is not None and not slot.debug.argument:
            assert slot.variable is not None
            body.registers.before_write(slot.variable)
            body.emit(Havoc((slot.variable,)), declares=True)
        elif local is not None and local.declaration is instruction and not local.marked:
            self._begin(local)

    # ------------------------------------------------------------------------------ lifetimes

    def begin_objects(self) -> None:
        """Create the objects of the function; those without a suitable declaration begin here."""
        body, flow = self._body, self._body.flow
        for name, alloca in self._allocas():
            if name in self.slots:
                continue
            debug, declare = self._debug(name), self.declared.get(name)
            ignored = (ir.Declare, ir.DebugRecord)
            uses = [u for u in flow.uses.get(name, ()) if not isinstance(u, ignored) and not marked(u)]
            returns = declare is not None and self._comes_back(declare)
            if declare is not None and (not all(flow.dominates(declare, use) for use in uses) or returns):
                declare = None
            has_markers = name in self._begun and not (returns and self._is_outermost(self.declared[name]))
            shown = debug.name if debug is not None and debug.name else _unnamed(name)
            base = body.registers.values[name] = body.local(f"$&{shown}", INT)
            local = LocalObject(alloca, base, shown, debug is not None, declare, has_markers)
            self.objects[name] = local
            body.extents[base] = body.layout.size(alloca.type)
            if debug is not None:
                body.unit.names.declare_object(body.module, base, debug, self.location(name))
            if body.unit.rules.memory and body.unit.is_program(body.module):
                if has_markers and returns:
                    what = f"a `goto` back over the declaration of `{shown}`"
                    body.refuse("unsupported-lifetime", what)
                elif not has_markers and not returns and self._outlives_scope(name):
                    what = f"the lifetime of `{shown}`, whose block is entered by a jump or is not marked,"
                    body.refuse("unsupported-lifetime", what)
            if declare is None and not has_markers:
                body.cursor.number = flow.number[alloca]
                self._begin(local)
        self._clear_arrays()

    def _is_outermost(self, declare: ir.Declare) -> bool:
        """Whether a variable is declared in the outermost block of the function."""
        debug = self._body.module.debug
        scopes = debug.scopes(debug.variable(declare.variable).scope)
        return (
            next((node.kind for _, node in scopes if node.kind != "DILexicalBlockFile"), "") == "DISubprogram"
        )

    def _outlives_scope(self, name: str) -> bool:
        """Whether an object without markers may end before the function returns, and its address may be used
        after that: it belongs to an inner block, and its address is stored or passed on."""
        body, flow, debug = self._body, self._body.flow, self._body.module.debug
        declare = self.declared.get(name)
        if declare is not None:
            if debug.variable(declare.variable).argument or self._is_outermost(declare):
                return False
        elif name.endswith(".compoundliteral") or ".compoundliteral" in name:
            places = [debug.place(use.location) for use in flow.uses.get(name, ())]
            blocks = [
                node.kind for place in places if place for _, node in list(debug.scopes(place.scope))[:1]
            ]
            if all(kind == "DISubprogram" for kind in blocks):
                return False
        elif not name.isidentifier() or name in _TEMPORARY:
            return False
        stack, seen = [name], {name}
        while stack:
            pointer = stack.pop()
            for use in flow.uses.get(pointer, ()):
                if _keeps(use, pointer):
                    return True
                moved = use.name if isinstance(use, ir.GetElementPointer) else None
                if moved is not None and moved not in seen:
                    seen.add(moved)
                    stack.append(moved)
        return False

    # -------------------------------------------------------------------------------- markers

    def pass_marker(self, instruction: ir.Call, name: str) -> None:
        """Begin or end a lifetime where Clang marks it."""
        body = self._body
        if name.startswith("llvm.stackrestore"):
            self._end_arrays(instruction)
            return
        variable = marked(instruction)
        local, slot = self.objects.get(variable), self.slots.get(variable)
        if local is not None and local.marked:
            if name.startswith("llvm.lifetime.start"):
                self._begin(local, instruction)
            else:
                self._end(local.base, local.shown)
        elif slot is not None and name.startswith("llvm.lifetime.end") and LEAK in body.unit.rules.memory:
            ends = isinstance(body.flow.blocks[body.flow.home[instruction]].last, ir.Return)
            if slot.variable is not None and slot.variable.sort is INT and not ends:
                body.cursor.text = f"end of {slot.debug.name if slot.debug else 'a variable'}"
                body.registers.assign(slot.variable, NULL)  # it does not keep track of an object any more

    def begin_array(self, alloca: ir.Alloca | None, base: Expr) -> Expr:
        """Note an object whose size is known only at run time: an array, or the result of `alloca`. Return
        its address."""
        body, flow = self._body, self._body.flow
        if not body.unit.rules.memory or not body.unit.is_program(body.module):
            return base
        if alloca is not None and self._owner(alloca) is not None:
            self._arrays[base] = alloca
            return base
        block, kept = body.cursor.block, self._kept.get(body.cursor.number)
        if kept is None or block in flow.behind(block):
            body.refuse("unsupported-lifetime", "`alloca` in a loop")
        else:
            body.emit(Assign((kept,), (base,)))
        return base

    def _clear_arrays(self) -> None:
        """Create a variable for each result of `alloca`: null until it is called."""
        body, flow = self._body, self._body.flow
        if not body.unit.rules.memory or not body.unit.is_program(body.module):
            return
        for instruction in flow.instructions():
            dynamic = isinstance(instruction, ir.Alloca) and (
                instruction.count is not None or flow.home[instruction] != flow.entry
            )
            if isinstance(instruction, ir.Call):
                dynamic = _calls(instruction, "alloca") or _calls(instruction, "__alloca")
            elif isinstance(instruction, ir.Alloca):
                dynamic = dynamic and self._owner(instruction) is None
            if dynamic:
                kept = self._kept[flow.number[instruction]] = body.local("$&alloca", INT)
                body.emit(Assign((kept,), (NULL,)), text="")

    def _owner(self, alloca: ir.Alloca) -> str | None:
        """Return the variable with the end of the stack to which an array belongs: the innermost one that was
        saved before the array and not restored since."""
        flow = self._body.flow
        saves = [(name, save) for name, save in self._saves.items() if flow.dominates(save, alloca)]
        restored = [
            name for name, _ in saves for restore in self._restores(name) if flow.dominates(restore, alloca)
        ]
        inner = [(flow.number[save], name) for name, save in saves if name not in restored]
        return max(inner)[1] if inner else None

    def _restores(self, name: str) -> list[ir.Instruction]:
        flow = self._body.flow
        loads = [use for use in flow.uses.get(name, ()) if isinstance(use, ir.Load)]
        return [
            use for load in loads for use in flow.uses.get(load.name or "", ()) if isinstance(use, ir.Call)
        ]

    def _end_arrays(self, restore: ir.Call) -> None:
        """End the arrays that certainly began in the scope that ends."""
        body, flow = self._body, self._body.flow
        operand = restore.arguments[0].operand
        load = flow.definitions.get(operand.name) if isinstance(operand, Local) else None
        name = getattr(load.pointer, "name", "") if isinstance(load, ir.Load) else ""
        for base, alloca in self._arrays.items():
            if self._owner(alloca) == name and flow.dominates(alloca, restore):
                self._end(base, alloca.name or "array")

    def _comes_back(self, declare: ir.Declare) -> bool:
        """Whether a jump to a label in the block of a variable, before its declaration, can lead to the
        declaration again: then the object lives on, and pointers to it stay valid."""
        flow = self._body.flow
        home, number = flow.home[declare], flow.number[declare]
        before = [label for label in self._labels if flow.number[label] < number]
        starts = [flow.home[label] for label in before if self._is_in_block(label, declare)]
        behind = flow.behind(home) if starts else set()
        return any(start in behind and (start == home or home in flow.behind(start)) for start in starts)

    def _is_in_block(self, label: ir.DebugRecord, declare: ir.Declare) -> bool:
        """Whether a label stands in the block that declares a variable, or in a block inside it."""
        debug = self._body.module.debug
        place, scope = debug.place(label.location), debug.variable(declare.variable).scope
        blocks = [number for number, node in debug.scopes(scope) if node.kind != "DILexicalBlockFile"]
        if place is None or not blocks:
            return True
        return any(number == blocks[0] for number, _ in debug.scopes(place.scope))

    def _begin(self, local: LocalObject, marker: ir.Call | None = None) -> None:
        """Allocate an object; a fill with zeros that follows is part of the allocation."""
        body, type_, declare = self._body, local.alloca.type, marker or local.declaration
        size, align = body.layout.size(type_), local.alloca.align or body.layout.align(type_)
        fill = None if declare is None else self._zeroing(declare, local.alloca.name or "", size)
        alloc = Alloc(local.base, build.integer(size), align, "stack", local.shown, fill is not None)
        body.emit(alloc, text=f"begin of {local.shown}")
        if fill is not None:
            body.registers.skipped.add(fill)
            leave_open(body, local.base, padding(body, type_, 0, size), fill.arguments[0].operand)

    def _zeroing(self, declare: ir.Instruction, name: str, size: int) -> ir.Call | None:
        """Return the fill with zeros that follows a declaration and covers the whole object."""
        flow = self._body.flow
        block = flow.blocks[flow.home[declare]].instructions
        for instruction in block[block.index(declare) + 1 :]:
            if isinstance(instruction, ir.GetElementPointer | ir.DebugRecord | ir.Declare):
                continue
            if not isinstance(instruction, ir.Call) or not _calls(instruction, "llvm.memset."):
                return None
            to, byte, count = (argument.operand for argument in instruction.arguments[:3])
            whole = isinstance(count, Integer) and count.value == size
            zero = isinstance(byte, Integer) and byte.value == 0
            same = isinstance(to, Local) and to.name == name
            return instruction if whole and zero and same else None
        return None

    def end_objects(self, last: ir.Instruction) -> None:
        """End the lifetimes that certainly began: the function returns."""
        body = self._body
        for name, local in self.objects.items():
            begun = local.declaration is None or body.flow.dominates(local.declaration, last)
            if begun and not local.marked:
                self._end(local.base, _unnamed(name))
        for kept in self._kept.values():
            body.when(build.ne(kept, NULL), partial(self._end, kept, "alloca"))

    def _end(self, base: Expr, shown: str) -> None:
        self._body.emit(Free(base, "stack"), text=f"end of {shown}")


def _unnamed(name: str) -> str:
    """Return a name to show for an object that only Clang has named."""
    if name.endswith(".compoundliteral"):
        return "literal"
    return name if name.isidentifier() and name not in ("tmp", "coerce") else "temporary"


_TEMPORARY: Final = ("tmp", "retval", "coerce", "undef", "nrvo")


def marked(instruction: ir.Instruction) -> str:
    """Return the variable whose lifetime an instruction begins or ends; empty for other instructions."""
    if not isinstance(instruction, ir.Call) or not _calls(instruction, "llvm.lifetime."):
        return ""
    operand = instruction.arguments[-1].operand
    return operand.name if isinstance(operand, Local) else ""


def _is_save(body: Body, store: ir.Store) -> bool:
    """Whether a store saves the end of the stack, before an array of variable length."""
    value = body.flow.definitions.get(store.value.name) if isinstance(store.value, Local) else None
    return isinstance(value, ir.Call) and _calls(value, "llvm.stacksave")


def _keeps(use: ir.Instruction, pointer: str) -> bool:
    """Whether an instruction may store a pointer or pass it on."""
    match use:
        case ir.Load() | ir.GetElementPointer() | ir.Declare() | ir.DebugRecord():
            return False
        case ir.Store(value=value):
            return isinstance(value, Local) and value.name == pointer
        case ir.Call():
            return not (marked(use) or _calls(use, "llvm.mem"))
    return True


def _calls(call: ir.Call, prefix: str) -> bool:
    return isinstance(call.callee, Symbol) and call.callee.name.startswith(prefix)
