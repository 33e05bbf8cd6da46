"""Lower one function: its blocks in order, instruction by instruction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Assign, Assume, Return
from certus.core.terms import Expr, Kind
from certus.core.witness import BRANCH, is_of_witness
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Integer, Local
from certus.frontend.c.ir.types import FloatType
from certus.frontend.c.model import calls, floats, intrinsics, memory, operands, operations, probes, terms
from certus.frontend.c.model.checks import Checked
from certus.frontend.c.model.folding import Decisions, is_deciding, phis_of
from certus.frontend.c.model.lifetimes import marked
from certus.frontend.c.model.operands import term_of, value_is_signed, value_of
from certus.frontend.c.model.sources import chosen_text, condition_of
from certus.frontend.c.model.terms import Unmodelled, Value, as_sort, sort_of
from certus.frontend.graph import Draft

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

# The labels of blocks begin like this to which Clang branches if a condition of the source holds, or fails.
_TRUE_WAYS: Final = ("if.then", "for.body", "while.body", "do.body", "cond.true", "land.lhs.true", "land.rhs")
_FALSE_WAYS: Final = ("lor.lhs.false", "lor.rhs")
_SHORT: Final = 2  # instructions of blocks that only decide, jump or return


class Lowering:
    """The lowering of one function."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.flow = body.flow
        self.decisions = Decisions(body)
        self.nodes = {label: body.draft.node() for label in self.flow.order}
        self.entered = {self.flow.entry}  # blocks that control goes to
        self.checked_after: dict[str, list[Checked]] = {}  # bytes that are valid at the end of a block
        self.following: str | None = None  # the block that goes on where the present one ends
        self.short: dict[str, list[ir.Instruction]] = {}  # the first steps of blocks
        self.exit, self.result = self._find_exit()
        self._skip_constant_result()

    def run(self) -> None:
        """Lower all blocks that control can reach."""
        body, flow = self.body, self.flow
        start = body.at = body.draft.node()
        body.draft.skip(Draft.ENTRY, start)
        body.cursor.move_to(None)
        body.locals.begin_objects()
        body.draft.skip(body.at, self.nodes[flow.entry])
        self._name_phis()
        skipped: list[str] = []
        for label in flow.order:
            if label in self.decisions.absorbed or self._decides_only(label):
                skipped.append(label)
                continue
            body.cursor.block, body.at = label, self.nodes[label]
            body.registers.forget()
            body.checked = self._checked_before(label)
            following: str | None = label
            while following is not None:
                last, self.following = following, None
                for instruction in flow.blocks[following].instructions:
                    self.lower(instruction)
                following = self.following
            self.checked_after[last] = list(body.checked)
        assert self.entered.isdisjoint(skipped), "control goes to a block without steps"

    def _checked_before(self, label: str) -> list[Checked]:
        """Return the bytes that are valid at the start of a block: those at the end of its only
        predecessor."""
        before = self.flow.predecessors[label]
        if len(before) != 1 or label == self.flow.entry or phis_of(self.body, label):
            return []
        return list(self.checked_after.get(before[0], ()))

    def _name_phis(self) -> None:
        """Create the variables of the phis, which the edges to their blocks write."""
        body = self.body
        for label in self.flow.order:
            for phi in phis_of(body, label):
                if terms.is_scalar(phi.type):
                    signed = value_is_signed(body, phi.name or "")
                    if signed is None:
                        signed = phi.type is body.module.types.integer(32)
                    variable = body.fresh(sort_of(phi.type, signed=signed))
                    body.registers.phis[phi] = body.registers.values[phi.name or ""] = variable

    def _steps_of(self, label: str) -> list[ir.Instruction]:
        """Return the instructions of a block that do something; those of a long one are cut short."""
        if label not in self.short:
            slots, code = self.body.locals.slots, self.flow.blocks[label].instructions
            steps = (i for i in code if not isinstance(i, ir.DebugRecord) and marked(i) not in slots)
            self.short[label] = list(islice(steps, _SHORT + 1))
        return self.short[label]

    def _find_exit(self) -> tuple[str, Expr | None]:
        """Return the block that only returns the value of a slot, and the variable of this slot."""
        for label in self.flow.order:
            match self._steps_of(label):
                case [ir.Load(pointer=Local(name=name)) as load, ir.Return(value=Local(name=returned))]:
                    slot = self.body.locals.slots.get(name)
                    if slot is not None and slot.debug is None and returned == load.name:
                        return label, slot.variable
        return "", None

    def _skip_constant_result(self) -> None:
        """Drop the slot of the result if only one constant is ever stored to it, at the start: the result of
        a `main` that ends without `return`."""
        body, flow = self.body, self.flow
        slot, uses = body.locals.slots.get("retval"), flow.uses.get("retval", [])
        stores = [use for use in uses if isinstance(use, ir.Store)]
        if slot is None or slot.debug is not None or len(stores) != 1 or stores[0] is not uses[0]:
            return
        if isinstance(stores[0].value, Integer) and flow.home[stores[0]] == flow.entry:
            body.registers.skipped.update(uses)
            for use in uses[1:]:
                body.registers.values[use.name or ""] = value_of(body, stores[0].value)

    # ---------------------------------------------------------------------------- instructions

    def lower(self, instruction: ir.Instruction) -> None:
        """Lower one instruction; if it is not modelled, refuse it where it stands."""
        body = self.body
        if instruction in body.registers.skipped:
            return
        body.cursor.move_to(instruction)
        probe = body.cursor.probe
        if probe is not None:
            probes.check_pure(body, instruction, probe)
            if body.unit.rules.invariants and probes.uses_poison(instruction):
                probes.fail_probe(body)
            elif body.unit.rules.invariants and isinstance(instruction, ir.Binary):
                probes.require_defined(body, instruction)
        try:
            self._step(instruction)
        except Unmodelled as error:
            if body.registers.folding:
                raise
            body.refuse(error.code, error.what, error.hint)
            body.registers.refused[instruction.name or ""] = error
            self._anything(instruction)

    def _anything(self, instruction: ir.Instruction) -> None:
        """Continue after a refusal: with any value, or nowhere if the instruction decides where control
        goes."""
        body = self.body
        if ir.successors(instruction) or isinstance(instruction, ir.Return):
            body.stop()
        elif isinstance(instruction, ir.Call) and terms.is_scalar(instruction.result):
            body.registers.define(instruction, body.havoc(sort_of(instruction.result)))

    def _step(self, instruction: ir.Instruction) -> None:
        kind = type(instruction)
        if (value := _VALUES.get(kind)) is not None:
            self.body.registers.define(instruction, value(self.body, instruction))
        elif (step := _STEPS.get(kind)) is not None:
            step(self, instruction)
        elif kind is ir.Loose:
            raise Unmodelled("unsupported-float", "a pragma about floating-point operations")
        elif kind not in _NO_STEP:
            raise Unmodelled("unsupported-instruction", f"`{instruction.text.strip()}`")

    def _jump(self, jump: ir.Jump) -> None:
        self._note_loop(jump)
        self._go(jump.target)

    # ----------------------------------------------------------------------------- to other blocks

    def _go(self, target: str, values: tuple[Expr, ...] | None = None) -> None:
        """Go to a block; its phis get the values of this edge."""
        body = self.body
        if self._leads_to_exit(target) and self._return_at_once():
            return
        phis = phis_of(body, target)
        if values is None:
            ways = [phi.incoming[body.cursor.block] for phi in phis]
            claims = body.unit.rules.invariants and body.cursor.probe is not None
            if claims and any(map(probes.is_poison, ways)):
                probes.fail_probe(body)
                return
            values = tuple(term_of(body, way) for way in ways)
        if self._decides_only(target):
            self._decide_here(target, values[0])
            return
        moves = [
            (variable, term)
            for phi, value in zip(phis, values, strict=True)
            if (variable := body.registers.phis.get(phi)) is not None
            and (term := as_sort(value, variable.sort)) is not variable
        ]
        if moves:
            op = Assign(tuple(v for v, _ in moves), tuple(t for _, t in moves))
            inside = body.unit.is_program(body.module) and not is_of_witness(body.cursor.text)
            body.emit(op, text=chosen_text(body, phis) if inside else None)
        self.entered.add(target)
        body.draft.jump(body.at, self.nodes[target], body.cursor.span, body.cursor.text, body.cursor.order())
        body.stop()

    def _follow(self, target: str, values: tuple[Expr, ...]) -> None:
        """Continue with a block that control reaches only from here: its phis need no variables."""
        body = self.body
        body.cursor.block = self.following = target
        self.decisions.absorbed.add(target)
        for phi, value in zip(phis_of(body, target), values, strict=True):
            body.registers.define(phi, value)

    def _decides_only(self, label: str) -> bool:
        """Return whether a block only branches on the value of `&&` or `||` that control arrives with. All
        blocks before it branch in its place: control never reaches the block itself, and its successors
        must not be folded into it."""
        if not is_deciding(label) or label in self.decisions.absorbed:
            return False
        match self._steps_of(label):
            case [ir.Phi() as phi, ir.Branch() as branch] if "llvm.loop" not in branch.attached:
                same = getattr(branch.condition, "name", None) == phi.name
                return same and self.flow.only_use(phi.name or "") is branch
        return False

    def _decide_here(self, label: str, value: Expr) -> None:
        """Branch here to one of the successors of such a block."""
        body, here = self.body, self.body.cursor.block
        branch = self.flow.blocks[label].last
        assert isinstance(branch, ir.Branch)
        condition, body.cursor.block = body.truth(value), label
        if condition.kind is Kind.CONST:
            self._go(branch.then if condition.value else branch.otherwise)
        else:
            if body.cursor.probe is None:
                body.cursor.move_to(branch)
            self._fork(condition, branch.then, branch.otherwise, {})
        body.cursor.block = here

    def _leads_to_exit(self, label: str) -> bool:
        """Return whether nothing happens from the start of a block until the function returns its result.
        Blocks in between have only markers of variables without objects."""
        for _ in self.flow.order:
            if label == self.exit:
                return True
            match self._steps_of(label):
                case [ir.Jump(target=label)]:
                    pass
                case _:
                    break
        return False

    def _return_at_once(self) -> bool:
        """Return from here, if the last step set the result; return whether it did."""
        body = self.body
        last = body.last_step()
        if last is None or not isinstance(last.op, Assign) or last.op.targets != (self.result,):
            return False
        body.draft.edges.pop()
        body.at, body.cursor.span, body.cursor.text = last.source, last.span, last.text
        body.locals.end_objects(self.flow.blocks[body.cursor.block].last)
        body.emit(Return((self._returned(last.op.values[0]),)), target=Draft.EXIT)
        body.stop()
        return True

    def _returned(self, value: Expr) -> Expr:
        """Return a value as the caller gets it."""
        body, (result,) = self.body, self.body.signature.results
        term, type_ = as_sort(value, result.sort), body.signature.result
        return floats.returned(body, type_, term, body.name) if isinstance(type_, FloatType) else term

    def _return(self, instruction: ir.Return) -> None:
        body = self.body
        if instruction.value is None:
            body.locals.end_objects(instruction)
            body.draft.skip(body.at, Draft.EXIT)
        else:
            value, cells = value_of(body, instruction.value), body.signature.result_cells
            if cells is not None:
                results = terms.taken(value, cells, body.unset)
            else:
                results = [self._returned(body.scalar(value))]
            body.locals.end_objects(instruction)
            body.emit(Return(tuple(results)), target=Draft.EXIT)
        body.stop()

    # ----------------------------------------------------------------------------------- branches

    def _branch(self, branch: ir.Branch) -> None:
        body = self.body
        condition = body.truth(value_of(body, branch.condition))
        self._note_loop(branch)
        if condition.kind is Kind.CONST:
            self._go(branch.then if condition.value else branch.otherwise)
            return
        inside, exits = self.decisions.region(branch)
        ways, values = (branch.then, branch.otherwise), dict[str, tuple[Expr, ...]]()
        watched = bool(inside) and body.is_watched(branch)
        if inside and not watched:
            folded = self.decisions.fold(branch, condition, inside, exits, self.lower)
            if folded is not None:
                (condition, values), ways = folded, (exits[0], exits[-1])
        body.cursor.move_to(branch)
        if watched:
            body.cursor.describe(condition_of(body, branch))
            body.cursor.text = BRANCH
        elif body.cursor.probe is None and body.unit.is_program(body.module) and any(map(is_deciding, ways)):
            body.cursor.describe(condition_of(body, branch))
        if condition.kind is not Kind.CONST:
            self._fork(condition, *ways, values)
            return
        target = ways[0] if condition is build.TRUE else ways[1]
        if {body.cursor.block, *inside}.issuperset(self.flow.predecessors[target]):
            self._follow(target, values[target])
        else:
            self._go(target, values[target])

    def _fork(self, condition: Expr, then: str, otherwise: str, values: dict[str, tuple[Expr, ...]]) -> None:
        body = self.body
        flip = (otherwise.startswith(_TRUE_WAYS) and not then.startswith(_TRUE_WAYS)) or (
            then.startswith(_FALSE_WAYS) and not otherwise.startswith(_FALSE_WAYS)
        )
        starts = body.draft.node(), body.draft.node()
        body.fork(condition, *starts, branch=True, flip=flip)
        for start, label in zip(starts, (then, otherwise), strict=True):
            body.at = start
            self._go(label, values.get(label))

    def _switch(self, switch: ir.Switch) -> None:
        body = self.body
        value = term_of(body, switch.value)
        sort = terms.machine_sort(value)
        start, text, tests = body.at, body.cursor.text, list[Expr]()
        for number, label in switch.cases:
            constant = build.constant(sort.wrap(number), sort)
            tests.append(build.eq(value, constant))
            if tests[-1] is not build.FALSE:
                body.at = start
                body.emit(Assume(tests[-1]), branch=True, text=f"{text} case {constant.value}")
                self._go(label)
        body.at = start
        others = build.not_(build.disjunction(tests))
        body.emit(Assume(others), branch=False, text=f"{text} default")
        self._go(switch.default)

    def _indirect(self, jump: ir.IndirectJump) -> None:
        """Lower `goto *p`: a jump to one of the labels whose address is taken."""
        body = self.body
        assert body.function is not None
        pointer = operands.address_of(body, jump.address)
        start, tests = body.at, list[Expr]()
        for label in dict.fromkeys(jump.targets):
            address = body.unit.symbols.label_address(body.module, body.function.name, label)
            body.at = start
            tests.append(terms.compare("eq", pointer, address))
            body.emit(Assume(tests[-1]))
            self._go(label)
        body.at = start
        body.assume(build.not_(build.disjunction(tests)), "a label of another function, or none")
        body.undefined("a jump to an address that is not a label of the function")

    def _note_loop(self, instruction: ir.Instruction) -> None:
        """Record the span of a loop, which the jump back to its head has."""
        number = instruction.attached.get("llvm.loop")
        if number is None:
            return
        body, rank = self.body, self.flow.rank
        heads = [label for label in ir.successors(instruction) if rank[label] <= rank[body.cursor.block]]
        span = body.unit.loop_span(body.module, number)
        if heads and span is not None:
            body.draft.loops.setdefault(self.nodes[heads[0]], span)


# What each instruction means: its value, or its steps and where control goes. Any other one is refused.
_VALUES: Final[dict[type[ir.Instruction], Callable[..., Value]]] = {
    ir.Load: memory.load,
    **operations.COMPUTATIONS,
    ir.AtomicUpdate: intrinsics.update,
    ir.CompareExchange: intrinsics.exchange,
}
_STEPS: Final[dict[type[ir.Instruction], Callable[..., None]]] = {
    ir.Store: lambda lowering, store: memory.store(lowering.body, store),
    ir.Call: lambda lowering, call: calls.call(lowering.body, call),
    ir.Alloca: lambda lowering, alloca: calls.allocate(lowering.body, alloca),
    ir.Declare: lambda lowering, declare: lowering.body.locals.declare(declare),
    ir.Unreachable: lambda lowering, _: lowering.body.undefined("code that must be unreachable"),
    ir.Jump: Lowering._jump,
    ir.Branch: Lowering._branch,
    ir.Switch: Lowering._switch,
    ir.IndirectJump: Lowering._indirect,
    ir.Return: Lowering._return,
}
_NO_STEP: Final = (ir.Phi, ir.Fence, ir.DebugRecord)  # a phi is written by the steps to its block
