"""Fold code without loops and memory into terms: the blocks of `&&`, `||` and `?:` of the program, and whole
functions of the library models.

Clang compiles these operators to blocks. Where the blocks only read variables and all paths through them end
in two blocks, they are one condition; where they end in one block, they choose the values of its phis.

A function of the models is executed symbolically at the call: its blocks in order, each under the condition
that control reaches it. Unspecified values and checks that may fail become steps of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import UNSPECIFIED
from certus.core.terms import BOOL, Expr, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local, Operand, Symbol, Undefined
from certus.frontend.c.model import intrinsics
from certus.frontend.c.model.checks import claim_folded
from certus.frontend.c.model.intrinsics import is_checked
from certus.frontend.c.model.operands import term_of, value_of, variable_at
from certus.frontend.c.model.operations import COMPUTATIONS
from certus.frontend.c.model.probes import gives_poison, is_partial
from certus.frontend.c.model.terms import Unmodelled, Value, as_sort, choice, decided, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_LARGEST: Final = 400  # blocks of one decision
_PURE: Final = (ir.Binary, ir.Compare, ir.GetElementPointer, ir.Select, ir.Freeze, ir.Phi)


class Decisions:
    """The folded branches of one function; `absorbed` are the labels of folded blocks."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._pure: dict[str, bool] = {}
        self.absorbed: set[str] = set()

    # -------------------------------------------------------------------------------- the blocks

    def region(self, branch: ir.Branch) -> tuple[list[str], list[str]]:
        """Return the largest set of blocks behind a branch that only decide and have at most two exits, in an
        order from the branch on, and the exits. The first exit is the one that control takes if all
        conditions hold."""
        flow, here = self._body.flow, self._body.cursor.block
        region: dict[str, None] = {}
        exits = dict.fromkeys((branch.then, branch.otherwise))
        inside: list[str] = []
        ways: list[str] = []
        while len(region) < _LARGEST:
            label = next((x for x in exits if self._joins(x, here, region)), None)
            if label is None:
                break
            region[label] = None
            del exits[label]
            exits |= dict.fromkeys(x for x in ir.successors(flow.blocks[label].last) if x not in region)
            if len(exits) <= 2:
                inside, ways = list(region), list(exits)
        first = branch.then
        while first in inside:
            first = ir.successors(flow.blocks[first].last)[0]
        return inside, [first, *(way for way in ways if way != first)]

    def _joins(self, label: str, here: str, region: dict[str, None]) -> bool:
        if label == here or not is_deciding(label):
            return False
        if label not in self._pure:
            self._pure[label] = self._is_pure(label)
        return self._pure[label] and all(
            p == here or p in region for p in self._body.flow.predecessors[label]
        )

    def _is_pure(self, label: str) -> bool:
        """Return whether a block only reads variables, and its values are used only in it or by phis of its
        successors."""
        body, flow = self._body, self._body.flow
        block = flow.blocks[label]
        if not isinstance(block.last, ir.Branch | ir.Jump) or "llvm.loop" in block.last.attached:
            return False
        probe = body.unit.rules.invariants and body.unit.sources.probe(block.last.location) is not None
        if probe and gives_poison(body, label):
            return False
        for instruction in block.instructions[:-1]:
            if isinstance(instruction, ir.Load):
                checks = body.initialisation
                pure = variable_at(body, instruction.pointer) is not None
                pure = pure and not (checks is not None and checks.may_be_unset(instruction.pointer))
            elif isinstance(instruction, ir.Convert):
                pure = instruction.operation != "inttoptr"
            else:
                pure = isinstance(instruction, _PURE)
            if not pure or (probe and is_partial(instruction)):
                return False
            if flow.is_used_elsewhere(instruction):
                return False
        return True

    # ----------------------------------------------------------------------------------- folding

    def fold(
        self,
        branch: ir.Branch,
        condition: Expr,
        inside: list[str],
        exits: list[str],
        lower: Callable[[ir.Instruction], None],
    ) -> tuple[Expr, dict[str, tuple[Expr, ...]]] | None:
        """Fold the blocks `inside`, which are behind a branch; `lower` lowers an instruction. Return the
        condition that control leaves them by the first exit, and the values of the phis of all exits; None if
        a block contains something that is not modelled."""
        body, blocks = self._body, self._body.flow.blocks
        # For each block: the condition to continue with the first of two blocks, and both blocks.
        ways = {body.cursor.block: (condition, branch.then, branch.otherwise)}
        body.registers.folding = True
        try:
            for label in inside:
                phis = phis_of(body, label)
                for phi, value in zip(phis, self._arriving(label, phis, ways), strict=True):
                    body.registers.values[phi.name or ""] = value
                for instruction in blocks[label].instructions[len(phis) : -1]:
                    lower(instruction)
                last = blocks[label].last
                if isinstance(last, ir.Branch):
                    ways[label] = (body.truth(value_of(body, last.condition)), last.then, last.otherwise)
                else:
                    assert isinstance(last, ir.Jump)
                    ways[label] = (build.TRUE, last.target, last.target)
            values = {label: tuple(self._arriving(label, phis_of(body, label), ways)) for label in exits}
        except Unmodelled:
            return None
        finally:
            body.registers.folding = False
        self.absorbed.update(inside)
        leaving = {exits[-1]: build.FALSE, exits[0]: build.TRUE}
        for label, (test, then, otherwise) in reversed(ways.items()):
            leaving[label] = decided(test, leaving[then], leaving[otherwise])
        return leaving[body.cursor.block], values

    def _arriving(self, end: str, phis: list[ir.Phi], ways: dict[str, tuple[Expr, str, str]]) -> list[Expr]:
        """Return the values of the phis of a block if control comes there by these edges. On other paths they
        may have any value."""
        if not phis:
            return []
        values: dict[str, list[Expr] | None] = {}
        for label, (test, *targets) in reversed(ways.items()):
            yes, no = (
                [self._phi_value(phi, label) for phi in phis] if target == end else values.get(target)
                for target in targets
            )
            values[label] = _chosen(test, yes, no)
        arriving = values[self._body.cursor.block]
        assert arriving is not None
        return arriving

    def _phi_value(self, phi: ir.Phi, label: str) -> Expr:
        term, variable = term_of(self._body, phi.incoming[label]), self._body.registers.phis.get(phi)
        return term if variable is None else as_sort(term, variable.sort)


def _chosen(test: Expr, yes: list[Expr] | None, no: list[Expr] | None) -> list[Expr] | None:
    if yes is None or no is None:
        return no if yes is None else yes
    return [(decided if a.sort is BOOL else choice)(test, a, b) for a, b in zip(yes, no, strict=True)]


def is_deciding(label: str) -> bool:
    """Return whether a block belongs to `&&`, `||` or `?:`; labels of C have no dots."""
    return label.startswith(("land.", "lor.", "cond."))


def phis_of(body: Body, label: str) -> list[ir.Phi]:
    """Return the phis of a block; they come first in it."""
    return [i for i in body.flow.blocks[label].instructions if isinstance(i, ir.Phi)]


# ---------------------------------------------------------------------------- functions of the models

_OPEN: Final = machine(30, signed=False)  # of numbers whose size C leaves open
_BLOCKS: Final = 60  # in a function that is folded
_SIMPLE: Final = (
    *(ir.Select, ir.Freeze, ir.ExtractValue, ir.Phi, ir.Branch, ir.Jump, ir.Return, ir.Unreachable),
    *(ir.Declare, ir.DebugRecord),
)


def unspecified(caller: Body, name: str, instruction: ir.Call) -> Expr:
    """Return a value that C leaves unspecified."""
    sort = sort_of(instruction.result, signed=True)
    if name.endswith("_natural"):
        return as_sort(caller.havoc(_OPEN, UNSPECIFIED), sort)
    return caller.havoc(sort, UNSPECIFIED)


def is_foldable(body: Body) -> bool:
    """Return whether a function only computes a value."""
    signature = body.signature
    if signature.foldable is None:
        signature.foldable = False  # not by recursion
        signature.foldable = _only_computes(body)
    return signature.foldable


def _only_computes(body: Body) -> bool:
    flow, signature = body.flow, body.signature
    if len(signature.results) != 1 or signature.variadic is not None or signature.result_cells is not None:
        return False
    if body.locals.objects or len(flow.order) > _BLOCKS or any(c is not None for c in signature.cells):
        return False
    for instruction in flow.instructions():
        here = flow.rank[flow.home[instruction]]
        back = any(flow.rank[target] <= here for target in ir.successors(instruction))
        undefined = any(isinstance(operand, Undefined) for operand in instruction.operands)
        if back or undefined or not _is_simple(body, instruction):
            return False
    return True


def _is_simple(body: Body, instruction: ir.Instruction) -> bool:
    match instruction:
        case ir.Load(pointer=pointer) | ir.Store(pointer=pointer):
            return isinstance(pointer, Local) and pointer.name in body.locals.slots
        case ir.Alloca():
            return instruction.name in body.locals.slots
        case ir.Call(callee=Symbol(name=name)):
            if name.startswith(("__certus_unspecified_", "__ubsan_handle_")) or _is_computed(name):
                return True
            called = body.unit.definition(body.module, name)
            return called is not None and not body.unit.is_program(called.module) and is_foldable(called)
        case ir.Convert():
            return instruction.operation in ("trunc", "zext", "sext", "bitcast")
        case ir.Compare():
            return not instruction.floating
        case ir.Binary():
            return instruction.operation[0] != "f" and "div" not in instruction.operation
    return isinstance(instruction, _SIMPLE)


def _is_computed(name: str) -> bool:
    """Return whether a function is an intrinsic whose value is a term."""
    return is_checked(name) or name.startswith("llvm.is.fpclass.")


def folded(caller: Body, callee: Body, arguments: tuple[Expr, ...]) -> Expr:
    """Return the result of a foldable function. While it is executed, its values are those of this call."""
    fold, registers = _Fold(caller, callee, arguments), callee.registers
    before, registers.values, registers.folding = registers.values, fold.values, True
    try:
        return fold.run()
    finally:
        registers.values, registers.folding = before, False


def _choice(ways: Sequence[tuple[Expr, Expr]]) -> Expr:
    """Return the value of the first condition that holds; the last one holds if no other does."""
    result = ways[-1][1]
    for condition, value in reversed(ways[:-1]):
        if value.sort is BOOL:
            result = decided(condition, value, result)
        elif value is not result:
            result = build.ite(condition, as_sort(value, result.sort), result)
    return result


class _Fold:
    """The symbolic execution of one call."""

    def __init__(self, caller: Body, callee: Body, arguments: tuple[Expr, ...]) -> None:
        assert callee.function is not None
        self.caller = caller
        self.callee = callee
        names = [parameter.name for parameter in callee.function.parameters]
        self.values: dict[str, Value] = dict(zip(names, arguments, strict=True))
        self.slots: dict[str, Expr] = {}  # in the present block
        self.label, self.reached = callee.flow.entry, build.TRUE  # the present block
        self.ways: list[tuple[str, Expr, dict[str, Expr]]] = []  # to it: from, when, slots
        self.targets: dict[str, list[tuple[str, Expr, dict[str, Expr]]]] = {
            self.label: [("", build.TRUE, {})]
        }
        self.results: list[tuple[Expr, Expr]] = []

    def run(self) -> Expr:
        """Execute the blocks; return the result."""
        flow = self.callee.flow
        for self.label in flow.order:
            self.ways = self.targets.get(self.label, [])
            self.reached = build.disjunction(condition for _, condition, _ in self.ways)
            if self.reached is build.FALSE:
                continue
            set_on_all = [name for name in self.ways[-1][2] if all(name in slots for *_, slots in self.ways)]
            self.slots = {
                name: _choice([(c, slots[name]) for _, c, slots in self.ways]) for name in set_on_all
            }
            for instruction in flow.blocks[self.label].instructions:
                self._step(instruction)
        return _choice(self.results)

    def _go(self, target: str, condition: Expr) -> None:
        self.targets.setdefault(target, []).append((self.label, condition, dict(self.slots)))

    def _step(self, instruction: ir.Instruction) -> None:
        callee, name = self.callee, instruction.name or ""
        compute = COMPUTATIONS.get(type(instruction))
        if compute is not None:
            self.values[name] = compute(callee, instruction)
            return
        match instruction:
            case ir.Load(pointer=Local(name=slot)):
                self.values[name] = self.slots[slot]
            case ir.Store(pointer=Local(name=slot)):
                variable = callee.locals.slots[slot].variable
                assert variable is not None
                self.slots[slot] = as_sort(term_of(callee, instruction.value), variable.sort)
            case ir.Phi():
                ways = instruction.incoming
                incoming = [(c, term_of(callee, ways[label])) for label, c, _ in self.ways]
                self.values[name] = _choice(incoming)
            case ir.Call(callee=Symbol(name=function)):
                self._call(instruction, function)
            case ir.Jump(target):
                self._go(target, self.reached)
            case ir.Branch(condition, then_label, other_label):
                test = as_sort(term_of(callee, condition), BOOL)
                self._go(then_label, build.and_(self.reached, test))
                self._go(other_label, build.and_(self.reached, build.not_(test)))
            case ir.Return(value=Operand() as value):
                result = as_sort(term_of(callee, value), callee.signature.results[0].sort)
                self.results.append((self.reached, result))

    def _call(self, instruction: ir.Call, function: str) -> None:
        callee, name = self.callee, instruction.name or ""
        if function.startswith("__ubsan_handle_"):
            holds = as_sort(term_of(callee, instruction.arguments[0].operand), BOOL)
            claim_folded(self.caller, function, build.or_(build.not_(self.reached), holds))
        elif function.startswith("__certus_unspecified_"):
            self.values[name] = unspecified(self.caller, function, instruction)
        elif _is_computed(function):
            intrinsics.lower(callee, instruction, function)
        else:
            called = callee.unit.definition(callee.module, function)
            assert called is not None
            arguments = [term_of(callee, argument.operand) for argument in instruction.arguments]
            passed = [as_sort(a, p.sort) for a, p in zip(arguments, called.signature.parameters, strict=True)]
            self.values[name] = folded(self.caller, called, tuple(passed))
