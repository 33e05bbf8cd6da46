"""Find the operations whose result, if it is NaN, the program can tell from another NaN.

Most programs only compare floating-point numbers and compute with them, and no such operation depends on the
sign or the payload of a NaN. A value is *visible* if it may reach a conversion to an integer by its bits, a
store to memory, the second operand of `copysign`, or a function that is not known. The analysis follows
values through variables, parameters and results of the program; everything else counts as visible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local, Operand, Symbol
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.ir.types import FloatType, Type, VectorType

Place = tuple[str, str]  # a value of a function, its result (""), or a global variable (of no function)
_COMPUTED: Final = (ir.Binary, ir.Compare)
_PASSING: Final = ("llvm.fabs.", "llvm.minnum.", "llvm.maxnum.", "llvm.minimumnum.", "llvm.maximumnum.")


class VisibleNans:
    """The visible values of a module, for the functions that the program may reach. `computing` are library
    functions whose result depends only on what a NaN argument is, not on its bits; `passing` are those that
    may return an argument."""

    def __init__(
        self, module: Module, reached: Iterable[str], computing: frozenset[str], passing: frozenset[str]
    ) -> None:
        self._module = module
        self._computing, self._passing = computing, passing
        self._sources: dict[Place, list[Place]] = {}  # from a place to those whose values come there
        self._visible: set[Place] = set()
        self._types: dict[str, dict[str, Type]] = {}  # of the local variables of functions
        self._work: list[Place] = []
        for name in sorted(reached):
            function = module.functions.get(name)
            if function is not None and function.defined:
                self._function(function)
            variable = module.globals.get(name)
            if variable is not None and variable.initialiser is not None:
                self._mentioned(module.initialiser(variable))
        while self._work:
            for source in self._sources.get(self._work.pop(), ()):
                self._see(source)
        self.any = bool(self._visible)

    def sees(self, function: str, name: str) -> bool:
        """Whether a value of a function is visible."""
        return (function, name) in self._visible

    def _see(self, place: Place) -> None:
        if place not in self._visible:
            self._visible.add(place)
            self._work.append(place)

    def _flow(self, source: Place | None, target: Place) -> None:
        if source is not None:
            self._sources.setdefault(target, []).append(source)

    def _mentioned(self, constant: Operand | None) -> None:
        """See everything whose address a constant contains."""
        stack = [] if constant is None else [constant]
        while stack:
            part = stack.pop()
            if isinstance(part, Symbol):
                self._see(("", part.name))
                self._see((part.name, ""))
            elif isinstance(part, ir.Aggregate):
                stack += part.parts
            elif isinstance(part, ir.Expression):
                stack += part.operands

    def _function(self, function: Function) -> None:
        for block in self._module.blocks(function):
            for instruction in block.instructions:
                self._instruction(function.name, instruction)

    def _instruction(self, home: str, instruction: ir.Instruction) -> None:
        def place(operand: Operand) -> Place | None:
            return (home, operand.name) if isinstance(operand, Local) else None

        def variable(pointer: Operand, type_: Type) -> Place | None:
            if isinstance(pointer, Local):
                return home, pointer.name
            owner = self._module.globals.get(pointer.name) if isinstance(pointer, Symbol) else None
            return ("", owner.name) if owner is not None and owner.type is type_ else None

        result = (home, instruction.name or "")
        match instruction:
            case ir.Load(pointer=pointer, type=type_):
                source = variable(pointer, type_)
                if not isinstance(type_, FloatType):
                    self._use(home, (pointer,))
                elif source is not None:
                    self._flow(source, result)
            case ir.Store(value=value, pointer=pointer):
                target = variable(pointer, value.type)
                if isinstance(pointer, Local) and not self._is_variable(home, pointer.name, value.type):
                    target = None
                if target is None or not isinstance(value.type, FloatType):
                    self._use(home, (value, pointer))
                else:
                    self._flow(place(value), target)
            case ir.Negate(operand=operand) | ir.Freeze(operand=operand):
                self._flow(place(operand), result)
            case ir.Select(condition=_, then=then, otherwise=otherwise):
                self._flow(place(then), result)
                self._flow(place(otherwise), result)
            case ir.Phi(incoming=incoming):
                for operand, _ in incoming:
                    self._flow(place(operand), result)
            case ir.Return(value=value):
                if value is not None:
                    self._flow(place(value), (home, ""))
            case ir.Convert(operation=operation, operand=operand):
                if operation == "bitcast":
                    self._use(home, (operand,))
            case ir.Call():
                self._call(home, instruction)
            case ir.Declare() | ir.DebugRecord() | ir.Alloca():
                pass
            case _ if not isinstance(instruction, _COMPUTED):
                self._use(home, instruction.operands)

    def _is_variable(self, home: str, name: str, type_: Type) -> bool:
        """Whether a pointer is a local variable of the type. Uses other than loads and stores make the
        variable visible by themselves."""
        return self._allocated(home).get(name) is type_

    def _allocated(self, home: str) -> dict[str, Type]:
        cached = self._types.get(home)
        if cached is None:
            cached = self._types[home] = {
                instruction.name or "": instruction.type
                for block in self._module.blocks(self._module.functions[home])
                for instruction in block.instructions
                if isinstance(instruction, ir.Alloca) and instruction.count is None
            }
        return cached

    def _use(self, home: str, operands: Iterable[Operand]) -> None:
        """See all operands of an instruction, by value or by address."""
        for operand in operands:
            if isinstance(operand, Local):
                self._see((home, operand.name))
            else:
                self._mentioned(operand)

    def _call(self, home: str, call: ir.Call) -> None:
        operands = [argument.operand for argument in call.arguments]
        name = call.callee.name if isinstance(call.callee, Symbol) else ""
        result = (home, call.name or "")
        called = self._module.functions.get(name)
        floating = [each for each in operands if isinstance(each.type, FloatType)]
        others = [each for each in operands if not isinstance(each.type, FloatType)]
        if called is not None and called.defined:
            count = len(called.parameters)
            for operand, parameter in zip(operands, called.parameters, strict=False):
                if isinstance(operand.type, FloatType) and operand.type is parameter.type:
                    if isinstance(operand, Local):
                        self._flow((home, operand.name), (name, parameter.name))
                else:
                    self._use(home, (operand,))
            self._use(home, operands[count:])
            if isinstance(call.result, FloatType):
                self._flow((name, ""), result)
            return
        self._use(home, others)
        if name.startswith("llvm.copysign.") or name in ("copysign", "copysignf", "copysignl"):
            self._use(home, floating[1:])
            self._pass(home, floating[:1], result)
        elif name.startswith(_PASSING) or name in self._passing:
            self._pass(home, floating, result)
        elif not name.startswith("llvm.") and name not in self._computing:
            self._use(home, floating)
        if any(isinstance(each.type, VectorType) for each in operands):
            self._use(home, operands)

    def _pass(self, home: str, operands: Iterable[Operand], result: Place) -> None:
        for operand in operands:
            if isinstance(operand, Local):
                self._flow((home, operand.name), result)
