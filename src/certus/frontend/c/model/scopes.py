"""The scopes of local variables: the blocks of C that they belong to, as far as Clang's markers and debug
information tell.

In C a variable lives from the entry into its block until the block ends, also if `goto` goes back to a label
in it. Clang ends the lifetime at such a `goto`, and marks neither variables whose declaration a jump may skip
nor compound literals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import DebugVariable
from certus.frontend.c.ir.instructions import Local, Symbol

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_TEMPORARY: Final = (
    "tmp",
    "retval",
    "coerce",
    "undef",
    "nrvo",
    "saved_stack",
)  # objects that Clang has named
_LITERAL: Final = ".compoundliteral"
_FILE: Final = "DILexicalBlockFile"  # a scope that is no block of C
_FUNCTION: Final = "DISubprogram"


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
    declaration again: then the object lives on, and pointers to it stay valid."""
    flow = body.flow
    home, number = flow.home[declare], flow.number[declare]
    before = [
        each
        for each in flow.instructions()
        if isinstance(each, ir.DebugRecord) and "#dbg_label(" in each.text and flow.number[each] < number
    ]
    starts = [flow.home[label] for label in before if _is_in_block(body, label, declare)]
    behind = flow.behind(home) if starts else set()
    return any(start in behind and (start == home or home in flow.behind(start)) for start in starts)


def _is_in_block(body: Body, label: ir.DebugRecord, declare: ir.Declare) -> bool:
    """Whether a label stands in the block that declares a variable, or in a block inside it."""
    debug = body.module.debug
    place, scope = debug.place(label.location), debug.variable(declare.variable).scope
    blocks = [number for number, node in debug.scopes(scope) if node.kind != _FILE]
    if place is None or not blocks:
        return True
    return any(number == blocks[0] for number, _ in debug.scopes(place.scope))


def is_outermost(body: Body, declare: ir.Declare) -> bool:
    """Whether a variable is declared in the outermost block of the function."""
    scope = body.module.debug.variable(declare.variable).scope
    return _is_function(body, scope)


def _is_function(body: Body, scope: int | None) -> bool:
    """Whether a scope is a function, not a block in it."""
    kinds = (node.kind for _, node in body.module.debug.scopes(scope) if node.kind != _FILE)
    return next(kinds, _FUNCTION) == _FUNCTION


def is_variable(name: str, debug: DebugVariable | None) -> bool:
    """Whether something local is a variable of the source. One without debug information is a variable whose
    declaration is never reached, or has a name that Clang gives."""
    return debug is not None or (name.isidentifier() and name not in _TEMPORARY)


def outlives_scope(body: Body, name: str, declare: ir.Declare | None) -> bool:
    """Whether an object without markers may end before the function returns, and its address may be used
    after that: it belongs to an inner block, and its address is stored or passed on."""
    flow, debug = body.flow, body.module.debug
    if declare is not None:
        if debug.variable(declare.variable).argument or is_outermost(body, declare):
            return False
    elif _LITERAL in name:
        places = [debug.place(use.location) for use in flow.uses.get(name, ())]
        if all(place is None or _is_function(body, place.scope) for place in places):
            return False
    elif not is_variable(name, None):
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
