"""One function: its blocks in order, instruction by instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Assign, Assume, Return
from certus.core.terms import Expr, Kind
from certus.core.witness import BRANCH, is_of_witness
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Operand
from certus.frontend.c.ir.types import IntegerType, PointerType, VectorType
from certus.frontend.c.model import aggregates, atomics, calls, checks, memory, probing, vectors
from certus.frontend.c.model.decisions import DECIDING, Decisions, phis_of
from certus.frontend.c.model.hints import value_is_signed
from certus.frontend.c.model.operands import (
    address_of,
    from_integer,
    indexed,
    term_of,
    value_of,
)
from certus.frontend.c.model.terms import (
    Lanes,
    Pieces,
    Unmodelled,
    as_sort,
    binary,
    compare,
    convert,
    sort_of,
    taken,
    truth,
)
from certus.frontend.c.model.wording import chosen_text, condition_of
from certus.frontend.graph import Draft

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_TRUE_WAYS: Final = (
    *("if.then", "for.body", "while.body", "do.body", "cond.true"),
    *("land.lhs.true", "land.rhs"),
)
_FALSE_WAYS: Final = ("lor.lhs.false", "lor.rhs")


def lower_function(body: Body) -> None:
    """Lower all blocks of a function that control can reach."""
    _Function(body).run()
    body.lowered = True


class _Function:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.flow = body.flow
        self.decisions = Decisions(body, self.lower)
        self.nodes = {label: body.draft.node() for label in self.flow.order}
        self.origins: dict[str, int] = {}  # of blocks behind a branch: where its condition is evaluated
        self.exit, self.result = self._find_exit()

    def run(self) -> None:
        body, flow = self.body, self.flow
        start = body.draft.node()
        body.draft.skip(Draft.ENTRY, start)
        body.at = start
        body.place(None)
        body.births.begin_objects()
        body.draft.skip(body.at, self.nodes[flow.entry])
        self._name_phis()
        for label in flow.order:
            if label in self.decisions.absorbed:
                continue
            body.block, body.at = label, self.nodes[label]
            body.condition = self.origins.get(label)
            body.forget()
            for instruction in flow.blocks[label].instructions:
                self.lower(instruction)

    def _name_phis(self) -> None:
        """A phi is a variable that the ways to its block write."""
        body = self.body
        for label in self.flow.order:
            for phi in phis_of(body, label):
                if not isinstance(phi.type, IntegerType | PointerType):
                    continue
                hint = value_is_signed(body, phi.name or "")
                signed = hint if hint is not None else phi.type is body.module.types.integer(32)
                variable = body.fresh(sort_of(phi.type, signed=signed))
                body.phis[phi] = variable
                body.values[phi.name or ""] = variable

    def _find_exit(self) -> tuple[str, Expr | None]:
        """The block that only returns what a slot holds, and that slot's variable."""
        body = self.body
        for label in self.flow.order:
            found = [i for i in self.flow.blocks[label].instructions if not isinstance(i, ir.DebugRecord)]
            if len(found) != 2 or not isinstance(found[0], ir.Load) or not isinstance(found[1], ir.Return):
                continue
            load, value = found[0], found[1].value
            slot = body.births.slots.get(getattr(load.pointer, "name", ""))
            if slot is not None and slot.debug is None and getattr(value, "name", None) == load.name:
                return label, slot.variable
        return "", None

    # ---------------------------------------------------------------------------- instructions

    def lower(self, instruction: ir.Instruction) -> None:
        """Lower one instruction; what is not modelled is refused where it stands."""
        body = self.body
        if instruction in body.skipped:
            return
        body.place(instruction)
        if body.probe is not None:
            probing.check_pure(body, instruction, body.probe)
            if body.unit.invariants and probing.uses_poison(instruction):
                probing.failed_check(body, body.probe)
            elif body.unit.invariants and isinstance(instruction, ir.Binary):
                probing.require_defined(body, instruction, body.probe)
        try:
            if not _step(body, instruction):
                self._control(instruction)
        except Unmodelled as error:
            if body.folding:
                raise
            body.refuse(error.code, error.what, error.hint)
            self._anything(instruction)

    def _anything(self, instruction: ir.Instruction) -> None:
        """Go on after a refusal: with any value, and nowhere if control cannot be followed."""
        body = self.body
        if ir.successors(instruction) or isinstance(instruction, ir.Return):
            body.stop()
        elif isinstance(instruction, ir.Call) and isinstance(instruction.result, IntegerType | PointerType):
            body.define(instruction, body.havoc(sort_of(instruction.result)))

    def _control(self, instruction: ir.Instruction) -> None:
        match instruction:
            case ir.Jump():
                self._note_loop(instruction, [instruction.target])
                self._go(instruction.target)
            case ir.Branch():
                self._branch(instruction)
            case ir.Switch():
                self._switch(instruction)
            case ir.IndirectJump():
                self._indirect(instruction)
            case ir.Return():
                self._return(instruction)
            case ir.Unreachable():
                self.body.undefined("control reaches what must not be reached")
            case _:
                raise Unmodelled("unsupported-instruction", f"`{instruction.text.strip()}`")

    def _go(self, target: str, values: tuple[Expr, ...] | None = None) -> None:
        """Go to a block, whose phis get the values of this way."""
        body = self.body
        if target == self.exit and self._return_at_once():
            return
        phis = phis_of(body, target)
        strict = body.probe is not None and body.unit.invariants and values is None
        if strict and any(probing.is_poison(_way(phi, body.block)) for phi in phis):
            assert body.probe is not None
            probing.failed_check(body, body.probe)
            return
        if values is None:
            values = tuple(term_of(body, _way(phi, body.block)) for phi in phis)
        if self._decides_only(target):
            self._decide_here(target, values[0])
            return
        moves = [
            (body.phis[phi], as_sort(value, body.phis[phi].sort))
            for phi, value in zip(phis, values, strict=True)
            if phi in body.phis
        ]
        moves = [(variable, value) for variable, value in moves if variable is not value]
        if moves:
            op = Assign(tuple(v for v, _ in moves), tuple(t for _, t in moves))
            inside = body.unit.is_program(body.module) and not is_of_witness(body.text)
            body.emit(op, text=chosen_text(body, phis) if inside else None)
        body.draft.jump(body.at, self.nodes[target], body.span, body.text, body.order())
        body.stop()

    def _decides_only(self, label: str) -> bool:
        """Whether a block only branches by the value of `&&` or `||` that control comes with."""
        found = [i for i in self.flow.blocks[label].instructions if not isinstance(i, ir.DebugRecord)]
        if len(found) != 2 or not label.startswith(DECIDING) or label in self.decisions.absorbed:
            return False
        phi, branch = found
        tested = branch.condition if isinstance(branch, ir.Branch) else None
        same = isinstance(phi, ir.Phi) and getattr(tested, "name", None) == phi.name
        return same and "llvm.loop" not in branch.attached and self.flow.only_use(phi.name or "") is branch

    def _decide_here(self, label: str, value: Expr) -> None:
        """Go to one of the blocks behind such a block."""
        body, here = self.body, self.body.block
        branch = self.flow.blocks[label].last
        assert isinstance(branch, ir.Branch)
        condition, body.block = body.truth(value), label
        if condition.kind is Kind.CONST:
            self._go(branch.then if condition.value else branch.otherwise)
        else:
            if body.probe is None:
                body.place(branch)
            self._fork(condition, branch.then, branch.otherwise, {})
        body.block = here

    def _return_at_once(self) -> bool:
        """Return from here, if the last step was to set the result."""
        body = self.body
        last = body.draft.edges[-1] if body.draft.edges else None
        if last is None or last.target != body.at or not isinstance(last.op, Assign):
            return False
        if last.op.targets != (self.result,):
            return False
        body.draft.edges.pop()
        body.at, body.span, body.text = last.source, last.span, last.text
        body.births.end_objects(self.flow.blocks[body.block].last)
        body.emit(Return((as_sort(last.op.values[0], body.results[0].sort),)), target=Draft.EXIT)
        body.stop()
        return True

    def _branch(self, branch: ir.Branch) -> None:
        body = self.body
        condition = body.truth(value_of(body, branch.condition))
        self._note_loop(branch, [branch.then, branch.otherwise])
        for label in (branch.then, branch.otherwise):
            self.origins.setdefault(label, self.nodes[body.block])
        if body.probe is not None and not body.unit.invariants:
            others = [way for way in (branch.then, branch.otherwise) if not way.startswith("handler.")]
            if len(others) == 1:  # nothing in the expression is an error by itself
                self._go(others[0])
                return
        if condition.kind is Kind.CONST:
            self._go(branch.then if condition.value else branch.otherwise)
            return
        watched = body.unit.sources.watched(branch.location, body.unit.watched)
        decision = self.decisions.decide(branch, condition, unfolded=watched)
        for label in () if decision is None else (decision.then, decision.otherwise):
            self.origins.setdefault(label, self.nodes[body.block])
        body.place(branch)
        if decision is None and watched and self.decisions.unfolded:
            body.say(condition_of(body, branch))
            body.text = BRANCH
            self._fork(condition, branch.then, branch.otherwise, {})
            return
        ways = (branch.then, branch.otherwise) if decision is None else (decision.then, decision.otherwise)
        if body.probe is not None:
            pass
        elif any(way.startswith(DECIDING) for way in ways) and body.unit.is_program(body.module):
            body.say(condition_of(body, branch))
        elif any(way.startswith("handler.") for way in ways):
            body.say(checks.claimed(body, branch.location))
        if decision is None:
            self._fork(condition, branch.then, branch.otherwise, {})
        elif decision.then == decision.otherwise or decision.condition.kind is Kind.CONST:
            target = decision.then if decision.condition is build.TRUE else decision.otherwise
            self._go(target, decision.values[target])
        else:
            self._fork(decision.condition, decision.then, decision.otherwise, decision.values)

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
        start, text, tests = body.at, body.text, list[Expr]()
        for number, label in switch.cases:
            constant = build.constant(getattr(value.sort, "wrap")(number), value.sort)  # noqa: B009
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
        """`goto *p`: one of the labels whose address is taken."""
        body = self.body
        assert body.function is not None
        pointer = address_of(body, jump.address)
        start, known = body.at, list[Expr]()
        for label in dict.fromkeys(jump.targets):
            address = body.unit.label_address(body.module, body.function.name, label)
            body.at = start
            known.append(compare("eq", pointer, address))
            body.emit(Assume(known[-1]), branch=None)
            self._go(label)
        body.at = start
        body.assume(build.not_(build.disjunction(known)), "a label of another function, or none")
        body.undefined("a jump to what is no label of the function")

    def _return(self, instruction: ir.Return) -> None:
        body = self.body
        if instruction.value is None:
            body.births.end_objects(instruction)
            body.draft.skip(body.at, Draft.EXIT)
            body.stop()
            return
        value = value_of(body, instruction.value)
        cells = body.signature.result_cells
        if cells is not None:
            terms = taken(value, cells, body.unset)
        else:
            terms = [as_sort(body.scalar(value), body.results[0].sort)]
        body.births.end_objects(instruction)
        body.emit(Return(tuple(terms)), target=Draft.EXIT)
        body.stop()

    def _note_loop(self, instruction: ir.Instruction, targets: list[str]) -> None:
        """A jump back to the head of a loop says where the loop stands."""
        number = instruction.attached.get("llvm.loop")
        if number is None:
            return
        body = self.body
        rank = self.flow.rank
        heads = [t for t in targets if rank[t] <= rank[body.block]]
        span = body.unit.loop_span(body.module, number)
        if heads and span is not None:
            body.draft.loops.setdefault(self.nodes[heads[0]], span)


def _way(phi: ir.Phi, label: str) -> Operand:
    return next(value for value, source in phi.ways if source == label)


# ------------------------------------------------------------------------------------ operations


def _binary(body: Body, instruction: ir.Binary) -> None:
    left, right = value_of(body, instruction.left), value_of(body, instruction.right)
    operation = instruction.operation
    if operation[0] == "f":
        raise Unmodelled("unsupported-float", "floating point")
    hint = True if "nsw" in instruction.flags else None
    if isinstance(left, Lanes) and isinstance(right, Lanes):
        pairs = zip(left.parts, right.parts, strict=True)
        body.define(instruction, Lanes(tuple(binary(operation, a, b) for a, b in pairs)))
        return
    a, b = body.scalar(left), body.scalar(right)
    body.define(instruction, binary(operation, a, b, signed_hint=hint))


def _compare(body: Body, instruction: ir.Compare) -> None:
    if instruction.floating:
        raise Unmodelled("unsupported-float", "floating point")
    if instruction.name is not None and instruction.name.startswith(("fits_in_gp", "fits_in_fp")):
        body.define(instruction, build.FALSE)  # `va_start` says that no register is left
        return
    left, right = value_of(body, instruction.left), value_of(body, instruction.right)
    if isinstance(left, Lanes) and isinstance(right, Lanes):
        pairs = zip(left.parts, right.parts, strict=True)
        body.define(instruction, Lanes(tuple(compare(instruction.predicate, a, b) for a, b in pairs)))
        return
    body.define(instruction, compare(instruction.predicate, body.scalar(left), body.scalar(right)))


def _convert(body: Body, instruction: ir.Convert) -> None:
    value = value_of(body, instruction.operand)
    operation, type_ = instruction.operation, instruction.type
    if isinstance(value, Lanes) or isinstance(type_, VectorType):
        body.define(instruction, vectors.converted(body, operation, value, instruction.operand.type, type_))
    elif operation == "inttoptr":
        body.define(instruction, from_integer(body, body.scalar(value)))
    elif operation == "trunc" and isinstance(value, Expr) and value in body.unit.booleans:
        body.define(instruction, truth(value))
    elif isinstance(value, Pieces) and operation == "bitcast":
        body.define(instruction, value)
    else:
        body.define(instruction, convert(operation, body.scalar(value), type_))


def _select(body: Body, instruction: ir.Select) -> None:
    test = value_of(body, instruction.condition)
    then, otherwise = value_of(body, instruction.then), value_of(body, instruction.otherwise)
    if isinstance(then, Lanes) and isinstance(otherwise, Lanes):
        tests = test.parts if isinstance(test, Lanes) else (body.scalar(test),) * len(then.parts)
        triples = zip(tests, then.parts, otherwise.parts, strict=True)
        body.define(instruction, Lanes(tuple(build.ite(c, a, as_sort(b, a.sort)) for c, a, b in triples)))
        return
    a, b = body.scalar(then), body.scalar(otherwise)
    if a.kind is Kind.CONST:
        a = as_sort(a, b.sort)
    body.define(instruction, build.ite(body.truth(test), a, as_sort(b, a.sort)))


def _element_pointer(body: Body, instruction: ir.GetElementPointer) -> None:
    address = address_of(body, instruction.base)
    body.define(instruction, indexed(body, instruction.source, address, instruction.indices))


def _step(body: Body, instruction: ir.Instruction) -> bool:
    """Lower an instruction that is no jump; whether it was one."""
    match instruction:
        case ir.Load():
            memory.load(body, instruction)
        case ir.Store():
            memory.store(body, instruction)
        case ir.GetElementPointer():
            _element_pointer(body, instruction)
        case ir.Binary():
            _binary(body, instruction)
        case ir.Compare():
            _compare(body, instruction)
        case ir.Convert():
            _convert(body, instruction)
        case ir.Call():
            calls.call(body, instruction)
        case ir.Declare():
            body.births.declare(instruction)
        case ir.Alloca():
            if instruction.count is not None or body.block != body.flow.entry:
                calls.dynamic_object(body, instruction)
        case ir.Select():
            _select(body, instruction)
        case ir.Freeze():
            body.define(instruction, value_of(body, instruction.operand))
        case ir.ExtractValue():
            aggregates.extract(body, instruction)
        case ir.InsertValue():
            aggregates.insert(body, instruction)
        case ir.ExtractElement():
            vectors.extract(body, instruction)
        case ir.InsertElement():
            vectors.insert(body, instruction)
        case ir.ShuffleVector():
            vectors.shuffle(body, instruction)
        case ir.AtomicUpdate():
            atomics.update(body, instruction)
        case ir.CompareExchange():
            atomics.exchange(body, instruction)
        case ir.Phi() | ir.Fence() | ir.DebugRecord():
            pass  # the ways to its block write a phi
        case _:
            return False
    return True
