"""A look at all functions that a program may reach, before they are lowered: which static variables have
their address taken."""

from __future__ import annotations

from collections.abc import Iterator

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.ir.operands import Aggregate, BlockAddress, Expression, Local, Operand, Symbol


class Survey:
    """`mentioned` are the names of symbols that the entry may reach; `accesses` the names of types by which
    static variables are accessed."""

    def __init__(self, program: Module, entry: str) -> None:
        self._program = program
        self.mentioned: set[str] = set()
        self.accesses: dict[str, str] = {}
        self._addressed: dict[int, set[str]] = {}
        self._find(entry)

    def _find(self, entry: str) -> None:
        """Find the functions that `entry` may reach, and the static variables whose address they take."""
        module = self._program
        addressed: set[str] = set()
        stack = [
            entry,
            *(name for name in ("llvm.global_ctors", "llvm.global_dtors") if name in module.globals),
        ]
        seen: set[str] = set(stack)
        while stack:
            name = stack.pop()
            self.mentioned.add(name)
            found: list[str] = []
            function, variable = module.functions.get(name), module.globals.get(name)
            if function is not None and function.defined:
                found = list(module.mentioned(function))
                self._take_addresses(module, function, addressed)
            elif variable is not None:
                for symbol in _symbols(module.initialiser(variable)):
                    addressed.add(symbol)
                    found.append(symbol)
            elif name in module.aliases:
                for symbol in _symbols(module.aliases[name].target):
                    found.append(symbol)
            for each in found:
                if each not in seen:
                    seen.add(each)
                    stack.append(each)
        for alias in module.aliases.values():
            addressed.update(_symbols(alias.target))
            addressed.add(alias.name)
        self._addressed[id(module)] = addressed

    def addressed_in(self, module: Module) -> set[str]:
        """Return the static variables of a module whose address is taken."""
        found = self._addressed.get(id(module))
        if found is None:
            found = self._addressed[id(module)] = set()
            for function in module.functions.values():
                if function.defined:
                    self._take_addresses(module, function, found)
            for variable in module.globals.values():
                found.update(_symbols(module.initialiser(variable)))
        return found

    def _take_addresses(self, module: Module, function: Function, addressed: set[str]) -> None:
        local: dict[str, str] = {}  # results of `llvm.threadlocal.address`
        for block in module.blocks(function):
            for instruction in block.instructions:
                if is_thread_local(instruction):
                    assert isinstance(instruction, ir.Call)
                    symbol = instruction.arguments[0].operand
                    assert isinstance(symbol, Symbol)
                    local[instruction.name or ""] = symbol.name
                    continue
                for number, operand in enumerate(ir.operands(instruction)):
                    names = list(_symbols(operand))
                    if isinstance(operand, Local) and operand.name in local:
                        names.append(local[operand.name])
                    direct = len(names) == 1 and isinstance(operand, Symbol | Local)
                    if not (direct and _is_access(module, instruction, number, names[0])):
                        addressed.update(names)
                    elif "tbaa" in instruction.attached:
                        self.accesses[names[0]] = module.debug.accessed(instruction.attached["tbaa"])


def _symbols(constant: Operand | None) -> Iterator[str]:
    """Yield the symbols that a constant mentions."""
    stack: list[Operand] = [] if constant is None else [constant]
    while stack:
        part = stack.pop()
        if isinstance(part, Symbol):
            yield part.name
        elif isinstance(part, BlockAddress):
            yield part.function
        elif isinstance(part, Aggregate):
            stack += part.parts
        elif isinstance(part, Expression):
            stack += part.operands


def is_thread_local(instruction: ir.Instruction) -> bool:
    """Whether an instruction gives the address of a variable in the present thread."""
    return (
        isinstance(instruction, ir.Call)
        and isinstance(instruction.callee, Symbol)
        and instruction.callee.name.startswith("llvm.threadlocal.address")
        and isinstance(instruction.arguments[0].operand, Symbol)
    )


def _is_access(module: Module, instruction: ir.Instruction, number: int, name: str) -> bool:
    """Whether an operand is the address of a load or a store of the whole variable. One from outside that is
    volatile has no variable: it changes by itself."""
    variable = module.globals.get(name)
    if variable is None:
        return False
    if isinstance(instruction, ir.Load):
        outside = instruction.volatile and variable.initialiser is None
        return instruction.type is variable.type and not outside
    if isinstance(instruction, ir.Store):
        return number == 1 and instruction.value.type is variable.type
    if isinstance(instruction, ir.AtomicUpdate | ir.CompareExchange):
        value = instruction.value if isinstance(instruction, ir.AtomicUpdate) else instruction.new
        return number == 0 and value.type is variable.type
    return False
