"""Objects on the stack whose sizes are known only at run time: arrays of variable length, and what `alloca`
returns.

An array ends with its scope: Clang saves the end of the stack before it and restores it there. The object of
`alloca` ends when the function returns. Lifetimes matter, and are modelled, only for memory properties.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Assign, Free
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local
from certus.frontend.c.model.scopes import calls
from certus.frontend.c.model.terms import NULL

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


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
