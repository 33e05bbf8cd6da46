"""What single statements read and write.

Memory is no variable here: `Load` reads its address, `Store` its address and value."""

from __future__ import annotations

from certus.core.program import Alloc, Assign, Assume, Call, Free, Havoc, Load, Op, Procedure, Return, Store
from certus.core.terms import Expr


def written(op: Op, procedure: Procedure) -> tuple[Expr, ...]:
    """The variables an op of `procedure` writes itself; what a callee writes is not among them."""
    if isinstance(op, Assign | Havoc | Call):
        return op.targets
    if isinstance(op, Return):
        return procedure.results
    return (op.target,) if isinstance(op, Load | Alloc) else ()


def terms(op: Op) -> tuple[Expr, ...]:
    """The terms an op evaluates."""
    if isinstance(op, Assume):
        return (op.condition,)
    if isinstance(op, Assign | Return):
        return op.values
    if isinstance(op, Call):
        return op.arguments
    if isinstance(op, Load | Free):
        return (op.address,)
    if isinstance(op, Store):
        return (op.address, op.value)
    return (op.size,) if isinstance(op, Alloc) else ()
