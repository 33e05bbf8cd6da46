"""The scopes of local variables, and objects on the stack whose sizes are known only at run time.

In C a variable lives from the entry into its block until the block ends, also if `goto` goes back to a label
in it. Clang ends the lifetime at such a `goto`. `scopes` marks the variables that Clang leaves unmarked.

An array of variable length ends with its scope: Clang saves the end of the stack before it and restores it
there. The object of `alloca` ends when the function returns. Lifetimes matter, and are modelled, only for
memory properties.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Assign, Free
from certus.core.terms import INT, Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.instructions import Local, Symbol
from certus.frontend.c.model.scopes import LITERAL, blocks_around, is_function
from certus.frontend.c.model.terms import NULL

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def calls(call: ir.Call, prefix: str) -> bool:
    """Whether a call is one of a function whose name begins like this."""
    return isinstance(call.callee, Symbol) and call.callee.name.startswith(prefix)


def marked(instruction: ir.Instruction) -> str:
    """Return the variable whose lifetime an instruction begins or ends; empty for other instructions."""
    if not isinstance(instruction, ir.Call) or not calls(instruction, "llvm.lifetime."):
        return ""
    operand = instruction.arguments[-1].operand
    return operand.name if isinstance(operand, Local) else ""


def comes_back(body: Body, declare: ir.Declare) -> bool:
    """Whether a jump to a label in the block of a variable, before its declaration, can lead to the
    declaration again: then the object lives on, and pointers to it stay valid. The jump comes from behind the
    declaration, in the block as well; one without a place may."""
    flow, debug = body.flow, body.module.debug
    blocks = blocks_around(debug, debug.variable(declare.variable).scope)[:1]
    number = flow.number[declare]

    def is_inside(step: ir.Instruction) -> bool:
        place = debug.place(step.location)
        return place is None or not blocks or blocks[0] in (each for each, _ in debug.scopes(place.scope))

    for label in flow.instructions():
        if isinstance(label, ir.DebugRecord) and "#dbg_label(" in label.text and flow.number[label] < number:
            jumps = (flow.blocks[source].last for source in flow.predecessors[flow.home[label]])
            if is_inside(label) and any(flow.number[each] > number and is_inside(each) for each in jumps):
                return True
    return False


def is_outermost(body: Body, declare: ir.Declare) -> bool:
    """Whether a variable is declared in the outermost block of the function."""
    return is_function(body.module.debug, body.module.debug.variable(declare.variable).scope)


def is_variable(body: Body, name: str, debug: DebugVariable | None) -> bool:
    """Whether something local is a variable of the source, not a temporary of Clang."""
    return debug is not None or name in body.scopes.undeclared


def outlives_scope(body: Body, name: str, declare: ir.Declare | None) -> bool:
    """Whether an object without markers may end before the function returns, and its address may be used
    after that: it may belong to an inner block, and its address is stored or passed on."""
    flow, block = body.flow, body.scopes.blocks.get(name)
    if block is not None and is_function(body.module.debug, block):
        return False
    if declare is not None:
        if body.module.debug.variable(declare.variable).argument:
            return False
    elif LITERAL not in name and name not in body.scopes.undeclared:
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


def _keeps(use: ir.Instruction, pointer: str) -> bool:
    """Whether an instruction may store a pointer or pass it on."""
    match use:
        case ir.Load() | ir.GetElementPointer() | ir.Declare() | ir.DebugRecord():
            return False
        case ir.Store(value=value):
            return isinstance(value, Local) and value.name == pointer
        case ir.Call():
            return not (marked(use) or calls(use, "llvm.mem"))
    return True


# --------------------------------------------------------------------- arrays of variable length, `alloca`


class StackArrays:
    """The objects of one function."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._arrays: dict[Expr, ir.Alloca] = {}  # by their addresses
        self._kept: dict[int, Expr] = {}  # the results of `alloca`, by the number of the instruction

    def prepare(self) -> None:
        """Create a variable for each result of `alloca`, which is null until it is called."""
        body, flow = self._body, self._body.flow
        for instruction in flow.instructions():
            if isinstance(instruction, ir.Alloca):
                dynamic = instruction.count is not None or flow.home[instruction] != flow.entry
                dynamic = dynamic and self._owner(instruction) is None
            else:
                dynamic = isinstance(instruction, ir.Call) and (
                    calls(instruction, "alloca") or calls(instruction, "__alloca")
                )
            if dynamic:
                kept = self._kept[flow.number[instruction]] = body.local("$&alloca", INT)
                body.emit(Assign((kept,), (NULL,)), text="")

    def begin(self, alloca: ir.Alloca | None, base: Expr) -> None:
        """Note a new object. It is an array if `alloca` belongs to a saved end of the stack."""
        body, flow = self._body, self._body.flow
        if alloca is not None and self._owner(alloca) is not None:
            self._arrays[base] = alloca
            return
        block, kept = body.cursor.block, self._kept.get(body.cursor.number)
        if kept is None or block in flow.behind(block):
            body.refuse("unsupported-lifetime", "`alloca` in a loop")
        else:
            body.emit(Assign((kept,), (base,)))

    def restore(self, restore: ir.Call) -> None:
        """End the arrays that certainly began in the scope that ends."""
        flow, operand = self._body.flow, restore.arguments[0].operand
        load = flow.definitions.get(operand.name) if isinstance(operand, Local) else None
        name = getattr(load.pointer, "name", "") if isinstance(load, ir.Load) else ""
        for base, alloca in self._arrays.items():
            if self._owner(alloca) == name and flow.dominates(alloca, restore):
                self._end(base, self._body.locals.shown(alloca.name or ""))

    def end_all(self) -> None:
        """End the objects of `alloca`: the function returns."""
        for kept in self._kept.values():
            self._body.when(build.ne(kept, NULL), partial(self._end, kept, "alloca"))

    def _end(self, base: Expr, shown: str) -> None:
        self._body.emit(Free(base, "stack"), text=f"end of {shown}")

    # --------------------------------------------------------------------------------- scopes

    @cached_property
    def _saves(self) -> dict[str, ir.Store]:
        """By the name of a variable: the store of the end of the stack to it."""
        flow, saves = self._body.flow, dict[str, ir.Store]()
        for each in flow.instructions():
            if (
                isinstance(each, ir.Store)
                and isinstance(each.value, Local)
                and isinstance(each.pointer, Local)
            ):
                saved = flow.definitions.get(each.value.name)
                if isinstance(saved, ir.Call) and calls(saved, "llvm.stacksave"):
                    saves[each.pointer.name] = each
        return saves

    def _owner(self, alloca: ir.Alloca) -> str | None:
        """Return the variable with the end of the stack to which an array belongs: the innermost one that was
        saved before the array and not restored since."""
        flow = self._body.flow
        saves = [(name, save) for name, save in self._saves.items() if flow.dominates(save, alloca)]
        open_ = [
            (flow.number[save], name)
            for name, save in saves
            if not any(flow.dominates(restore, alloca) for restore in self._restores(name))
        ]
        return max(open_)[1] if open_ else None

    def _restores(self, name: str) -> list[ir.Instruction]:
        flow = self._body.flow
        loads = [use for use in flow.uses.get(name, ()) if isinstance(use, ir.Load)]
        return [
            use for each in loads for use in flow.uses.get(each.name or "", ()) if isinstance(use, ir.Call)
        ]
