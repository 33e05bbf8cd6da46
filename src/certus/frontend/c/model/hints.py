"""Which integers are signed in C, as far as their uses tell. A wrong guess costs engines precision, never a
right answer: all operations are defined on bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core.sorts import MachineSort
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Local, Symbol

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_SIGNED: Final = frozenset(("sext", "sitofp", "sdiv", "srem", "ashr"))
_UNSIGNED: Final = frozenset(("zext", "uitofp", "udiv", "urem", "lshr"))


def value_is_signed(body: Body, name: str) -> bool | None:
    """Return whether the uses of a value treat it as signed; None if they do not tell."""
    for use in body.flow.uses.get(name, ()):
        if isinstance(use, ir.Convert | ir.Binary):
            if use.operation in _SIGNED:
                return True
            if use.operation in _UNSIGNED:
                return False
            if isinstance(use, ir.Binary) and use.operation in ("add", "sub", "mul"):
                return "nsw" in use.flags
        elif isinstance(use, ir.Compare) and use.predicate[0] in "su":
            return use.predicate[0] == "s"
        elif isinstance(use, ir.Store) and isinstance(use.value, Local) and use.value.name == name:
            sort = _stored_sort(body, use)
            if sort is not None:
                return sort.signed
    return None


def _stored_sort(body: Body, store: ir.Store) -> MachineSort | None:
    """The sort of the variable that a store writes."""
    pointer, variable = store.pointer, None
    if isinstance(pointer, Local):
        slot = body.births.slots.get(pointer.name)
        variable = None if slot is None else slot.variable
    elif isinstance(pointer, Symbol):
        variable = body.unit.scalar(body.module, pointer.name)
    return variable.sort if variable is not None and isinstance(variable.sort, MachineSort) else None
