"""Steps that write another variable than they were made for."""

from __future__ import annotations

from dataclasses import replace

from certus.core.program import Alloc, BasicOp, Call, Havoc, Load
from certus.core.terms import Expr


def redirected(op: BasicOp, old: Expr, new: Expr) -> BasicOp | None:
    """Return the step that writes `new` instead of `old`, if `old` is all it writes."""
    if isinstance(op, Havoc) and op.targets == (old,):
        return Havoc((new,), op.function, op.approximates)
    if isinstance(op, Call) and op.targets == (old,) and not op.procedure.startswith("$"):
        return Call(op.procedure, op.arguments, (new,))
    if isinstance(op, Alloc) and op.target is old:
        return replace(op, target=new)
    if isinstance(op, Load) and op.target is old:
        return Load(new, op.address)
    return None
