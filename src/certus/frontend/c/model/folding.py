"""Functions of the library's models without loops and memory, folded into one term at the call.

Such a function is executed symbolically: its blocks in order, each under the condition that control comes
there. What it leaves unspecified is a step of the caller, and so is a check that may fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.core import build
from certus.core.sorts import BOOL, machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Local, Symbol, Undefined
from certus.frontend.c.model.intrinsics import checked, is_checked
from certus.frontend.c.model.terms import as_sort, binary, compare, convert, decided

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

OPEN = machine(30, signed=False)  # of numbers whose size C leaves open


def unspecified(caller: Body, name: str, instruction: ir.Call) -> Expr:
    """Return a value that C leaves open."""
    from certus.core.program import UNSPECIFIED
    from certus.frontend.c.model.terms import sort_of

    sort = sort_of(instruction.result, signed=True)
    if name.endswith("_natural"):
        return as_sort(caller.havoc(OPEN, UNSPECIFIED), sort)
    return caller.havoc(sort, UNSPECIFIED)


def is_foldable(body: Body) -> bool:
    """Whether a function only computes."""
    if body.foldable is None:
        body.foldable = False  # not by recursion
        body.foldable = _only_computes(body)
    return body.foldable


def _only_computes(body: Body) -> bool:
    flow = body.flow
    if len(body.results) != 1 or body.more is not None or body.births.boxes or len(flow.order) > 60:
        return False
    if body.signature.result_cells is not None or any(cells is not None for cells in body.signature.cells):
        return False
    for instruction in flow.instructions():
        if any(isinstance(operand, Undefined) for operand in ir.operands(instruction)):
            return False
        for target in ir.successors(instruction):
            if flow.rank[target] <= flow.rank[flow.home[instruction]]:
                return False
        if not _is_simple(body, instruction):
            return False
    return True


def _is_simple(body: Body, instruction: ir.Instruction) -> bool:
    if isinstance(instruction, ir.Load | ir.Store):
        return isinstance(instruction.pointer, Local) and instruction.pointer.name in body.births.slots
    if isinstance(instruction, ir.Alloca):
        return instruction.name in body.births.slots
    if isinstance(instruction, ir.Call):
        callee = instruction.callee
        if not isinstance(callee, Symbol):
            return False
        if callee.name.startswith(("__certus_unspecified_", "__ubsan_handle_")) or is_checked(callee.name):
            return True
        called = body.unit.definition(body.module, callee.name)
        return called is not None and called.module is not body.unit.program and is_foldable(called)
    if isinstance(instruction, ir.Convert):
        return instruction.operation in ("trunc", "zext", "sext")
    if isinstance(instruction, ir.Compare):
        return not instruction.floating
    if isinstance(instruction, ir.Binary):
        return instruction.operation[0] != "f" and "div" not in instruction.operation
    return isinstance(instruction, _SIMPLE)


_SIMPLE = (
    ir.Select,
    ir.Freeze,
    ir.ExtractValue,
    ir.Phi,
    ir.Branch,
    ir.Jump,
    ir.Return,
    ir.Unreachable,
    ir.Declare,
    ir.DebugRecord,
)


def folded(caller: Body, callee: Body, arguments: tuple[Expr, ...]) -> Expr:
    """Return the result of a function that is foldable."""
    return _Fold(caller, callee, arguments).run()


class _Fold:
    def __init__(self, caller: Body, callee: Body, arguments: tuple[Expr, ...]) -> None:
        self.caller = caller
        self.callee = callee
        self.values: dict[str, Expr] = {}
        self.pairs: dict[str, tuple[Expr, Expr]] = {}  # results of checked operations
        self.slots: dict[str, Expr] = {}  # in the present block
        self.ways: dict[str, list[tuple[str, Expr, dict[str, Expr]]]] = {}  # to a block: from, when, slots
        self.results: list[tuple[Expr, Expr]] = []
        assert callee.function is not None
        for parameter, value in zip(callee.function.parameters, arguments, strict=True):
            self.values[parameter.name] = value

    def run(self) -> Expr:
        flow = self.callee.flow
        self.ways[flow.entry] = [("", build.TRUE, {})]
        for label in flow.order:
            ways = self.ways.get(label, [])
            reached = build.disjunction(condition for _, condition, _ in ways)
            if reached is build.FALSE:
                continue
            self.slots = _merged(ways)
            for instruction in flow.blocks[label].instructions:
                self._step(instruction, label, reached, ways)
        found = self.results[-1][1]
        for condition, value in reversed(self.results[:-1]):
            found = (
                decided(condition, value, found) if value.sort is BOOL else build.ite(condition, value, found)
            )
        return found

    def _value(self, operand: object) -> Expr:
        if isinstance(operand, Local):
            return self.values[operand.name]
        from certus.frontend.c.ir.operands import Operand
        from certus.frontend.c.model.operands import term_of

        assert isinstance(operand, Operand)
        return term_of(self.callee, operand)

    def _go(self, label: str, target: str, condition: Expr) -> None:
        self.ways.setdefault(target, []).append((label, condition, dict(self.slots)))

    def _step(
        self,
        instruction: ir.Instruction,
        label: str,
        reached: Expr,
        ways: list[tuple[str, Expr, dict[str, Expr]]],
    ) -> None:
        name = instruction.name or ""
        match instruction:
            case ir.Load():
                assert isinstance(instruction.pointer, Local)
                self.values[name] = self.slots[instruction.pointer.name]
            case ir.Store():
                assert isinstance(instruction.pointer, Local)
                slot = self.callee.births.slots[instruction.pointer.name].variable
                assert slot is not None
                self.slots[instruction.pointer.name] = as_sort(self._value(instruction.value), slot.sort)
            case ir.Binary():
                hint = True if "nsw" in instruction.flags else None
                left, right = self._value(instruction.left), self._value(instruction.right)
                self.values[name] = binary(instruction.operation, left, right, signed_hint=hint)
            case ir.Compare():
                left, right = self._value(instruction.left), self._value(instruction.right)
                self.values[name] = compare(instruction.predicate, left, right)
            case ir.Convert():
                self.values[name] = convert(
                    instruction.operation, self._value(instruction.operand), instruction.type
                )
            case ir.Select():
                then, other = self._value(instruction.then), self._value(instruction.otherwise)
                test = as_sort(self._value(instruction.condition), BOOL)
                self.values[name] = build.ite(test, then, as_sort(other, then.sort))
            case ir.Freeze():
                self.values[name] = self._value(instruction.operand)
            case ir.ExtractValue():
                assert isinstance(instruction.aggregate, Local)
                self.values[name] = self.pairs[instruction.aggregate.name][instruction.indices[0]]
            case ir.Phi():
                self.values[name] = self._phi(instruction, ways)
            case ir.Call():
                self._call(instruction, reached)
            case ir.Jump():
                self._go(label, instruction.target, reached)
            case ir.Branch():
                test = as_sort(self._value(instruction.condition), BOOL)
                self._go(label, instruction.then, build.and_(reached, test))
                self._go(label, instruction.otherwise, build.and_(reached, build.not_(test)))
            case ir.Return():
                result = self.callee.results[0]
                self.results.append((reached, as_sort(self._value(instruction.value), result.sort)))

    def _phi(self, phi: ir.Phi, ways: list[tuple[str, Expr, dict[str, Expr]]]) -> Expr:
        given = {label: value for value, label in phi.ways}
        found: Expr | None = None
        for label, condition, _ in reversed(ways):
            value = self._value(given[label])
            if found is None:
                found = value
            elif value.sort is BOOL:
                found = decided(condition, value, found)
            else:
                found = build.ite(condition, as_sort(value, found.sort), found)
        assert found is not None
        return found

    def _call(self, instruction: ir.Call, reached: Expr) -> None:
        callee = instruction.callee
        assert isinstance(callee, Symbol)
        if callee.name.startswith("__ubsan_handle_"):
            from certus.frontend.c.model.checks import claim

            claim(self.caller, callee.name, build.not_(reached))
            return
        if is_checked(callee.name):
            a, b = (self._value(argument.operand) for argument in instruction.arguments)
            self.pairs[instruction.name or ""] = checked(callee.name, a, b)
            return
        if callee.name.startswith("__certus_unspecified_"):
            self.values[instruction.name or ""] = unspecified(self.caller, callee.name, instruction)
            return
        called = self.callee.unit.definition(self.callee.module, callee.name)
        assert called is not None
        arguments = [self._value(argument.operand) for argument in instruction.arguments]
        passed = [as_sort(a, p.sort) for a, p in zip(arguments, called.parameters, strict=True)]
        self.values[instruction.name or ""] = folded(self.caller, called, tuple(passed))


def _merged(ways: list[tuple[str, Expr, dict[str, Expr]]]) -> dict[str, Expr]:
    """What slots hold where several ways meet; one that is not set on all of them is not read."""
    found = dict(ways[-1][2])
    for _, condition, slots in reversed(ways[:-1]):
        found = {
            name: value if slots[name] is value else build.ite(condition, slots[name], value)
            for name, value in found.items()
            if name in slots
        }
    return found
