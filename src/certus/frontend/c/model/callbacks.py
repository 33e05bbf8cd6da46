"""Library functions that call back: `qsort` and `bsearch`.

Their models call the comparison as often as they need to, which is not what the machine's library does. That
makes no difference if the comparison only looks; otherwise another model stands for any sequence of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core.terms import Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.operands import Local, Operand, Symbol
from certus.frontend.c.library.meanings import Model
from certus.frontend.c.model.cells import element
from certus.frontend.c.model.operands import term_of
from certus.frontend.c.model.terms import Unmodelled

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body
    from certus.frontend.c.model.unit import Unit

_LOOKING: Final = frozenset(
    ("abs", "labs", "memcmp", "strcmp", "strlen", "strncmp", "strcasecmp", "toupper", "tolower")
)


def model_symbol(body: Body, instruction: ir.Call, name: str, meaning: Model) -> str:
    """Return the function of the models that a call of a function with a callback means."""
    assert meaning.callback is not None
    if meaning.callback >= len(instruction.arguments):
        raise Unmodelled("unsupported-library-function", f"the function `{name}`")
    operand = instruction.arguments[meaning.callback].operand
    quiet = isinstance(operand, Symbol) and _only_looks(body.unit, body.module, operand.name)
    symbol = meaning.symbol if quiet else meaning.unquiet
    return f"{symbol}{_width(body, instruction)}" if meaning.elements else symbol


def _width(body: Body, instruction: ir.Call) -> int:
    """The size of the scalars that the elements of a sorted array are made of."""
    base, size = instruction.arguments[0].operand, term_of(body, instruction.arguments[2].operand)
    root = body.roots.of(base)
    width = element(body.layout, root.type) if root is not None else body.unit.pointed_size(body, base) or 1
    whole = size.kind is Kind.CONST and width in (1, 2, 4, 8) and int(size.value) % width == 0
    return width if whole else 1


def _only_looks(unit: Unit, module: Module, name: str) -> bool:
    """Whether a function writes nothing but its own variables, reads no input and has no error."""
    stack, seen = [name], {name}
    while stack:
        home, found = unit.resolve(module, stack.pop())
        function = home.functions.get(found)
        if found in unit.rules.functions or function is None:
            return False
        if not function.defined:
            if found not in _LOOKING:
                return False
            continue
        own: set[str] = set()
        for block in home.blocks(function):
            for instruction in block.instructions:
                if isinstance(instruction, ir.Alloca):
                    own.add(instruction.name or "")
                elif isinstance(instruction, ir.Call):
                    called = _called(instruction)
                    if called is None:
                        return False
                    if called and called not in seen:
                        seen.add(called)
                        stack.append(called)
                elif not _is_harmless(instruction, own):
                    return False
    return True


def _called(instruction: ir.Call) -> str | None:
    """The function that is called, nothing for an intrinsic that only computes, None for others."""
    callee = instruction.callee
    if not isinstance(callee, Symbol):
        return None
    if callee.name.startswith("llvm."):
        writing = ("llvm.mem", "llvm.va_", "llvm.trap")
        return None if callee.name.startswith(writing) else ""
    return callee.name


def _is_harmless(instruction: ir.Instruction, own: set[str]) -> bool:
    if isinstance(instruction, ir.Store):
        return _is_own(instruction.pointer, own)
    if isinstance(instruction, ir.Load):
        return not instruction.volatile
    return not isinstance(
        instruction, ir.AtomicUpdate | ir.CompareExchange | ir.VariableArgument | ir.Unreachable
    )


def _is_own(pointer: Operand, own: set[str]) -> bool:
    return isinstance(pointer, Local) and pointer.name in own
