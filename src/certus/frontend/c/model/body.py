"""The state of the lowering of one function: its steps so far, and the values of its instructions.

The value of an instruction is a term over program variables. A term that reads variables which may still
change is *pending*: it is computed into a temporary before one of them is written, or at once if another
block uses it. All other terms stay as they are, because the variables they read are written only once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.program import Alloc, Assign, Assume, BasicOp, Call, Free, Havoc, Load
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort, Sort, machine
from certus.core.vocabulary import UNDEFINED_STEP, UNINITIALISED
from certus.core.walk import completed
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.ir.types import FloatType, IntegerType, PointerType, Type, VoidType
from certus.frontend.c.model import floats, terms
from certus.frontend.c.model.cells import Roots, Signature, make_signature
from certus.frontend.c.model.checks import Checked
from certus.frontend.c.model.flow import Flow
from certus.frontend.c.model.lifetimes import Scopes
from certus.frontend.c.model.local_variables import LocalVariables
from certus.frontend.c.model.sources import Cursor
from certus.frontend.c.model.terms import Lanes, Piece, Pieces, Unmodelled, Value
from certus.frontend.graph import Draft, DraftEdge

if TYPE_CHECKING:
    from certus.frontend.c.model.initialisation import Initialisation
    from certus.frontend.c.model.unit import Unit

_NOTHING: Final[frozenset[Expr]] = frozenset()
HEAVY: Final = 300  # a term of more instructions than this is computed into a temporary


class Registers:
    """The values of the instructions of a function."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.values: dict[str, Value] = {}
        self.phis: dict[ir.Phi, Expr] = {}
        self.mutable: set[Expr] = set()  # local variables that are written more than once
        self.folding = False  # whether all values stay terms
        self.skipped: set[ir.Instruction] = set()  # instructions that are part of another step
        self.refused: dict[str, Unmodelled] = {}  # why instructions have no value
        self._pending: dict[str, tuple[frozenset[Expr], float]] = {}  # variables read, number of the last use
        self._weight: dict[str, int] = {}  # how many instructions a term consists of
        self._read: dict[Expr, frozenset[Expr]] = {}  # the variables of a term that may change

    def define(self, instruction: ir.Instruction, value: Value) -> None:
        """Set the value of an instruction."""
        name = instruction.name
        if name is None:
            return
        self.values[name] = value
        if self.folding or (isinstance(value, Expr) and value.kind is Kind.CONST):
            return
        reads = self._reads(*terms.terms_in(value))
        weight = 1 + sum(self._weight.get(getattr(o, "name", ""), 0) for o in instruction.operands)
        heavy = weight > HEAVY
        self._weight[name] = 1 if heavy else weight
        if not reads and not heavy:
            return
        if heavy or self._body.flow.is_used_elsewhere(instruction):
            self._compute(name)
        else:
            self._pending[name] = (reads, self._body.flow.last_use(name))

    def _reads(self, *values: Expr) -> frozenset[Expr]:
        """Return the variables that some terms read and that may change."""
        mutable, shared = self.mutable, self._body.unit.symbols.shared

        def reads(term: Expr) -> frozenset[Expr]:
            if term.kind is Kind.VAR and (term in mutable or term in shared):
                return frozenset((term,))
            parts = [inner for argument in term.args if (inner := self._read[argument])]
            return parts[0].union(*parts[1:]) if parts else _NOTHING

        return _NOTHING.union(*(completed(value, self._read, reads) for value in values))

    def _compute(self, name: str) -> None:
        """Compute the value of an instruction into temporaries."""
        value = self.values[name]
        if isinstance(value, Expr):
            self.values[name] = self.in_temporary(value)
        elif isinstance(value, Pieces):
            parts = tuple(Piece(p.offset, p.size, self.in_temporary(p.term)) for p in value.parts)
            self.values[name] = Pieces(value.size, parts)
        else:
            self.values[name] = Lanes(tuple(self.in_temporary(part) for part in value.parts))

    def in_temporary(self, term: Expr) -> Expr:
        """Compute a term into a temporary, unless its value cannot change."""
        if term.kind is Kind.CONST or term in self._body.temporaries:
            return term
        temporary = self._body.fresh(term.sort)
        self._body.unit.names.note_result(temporary, term)
        self._body.emit(Assign((temporary,), (term,)))
        return temporary

    def forget(self) -> None:
        """Begin a new block: no pending value is used any more."""
        self._pending.clear()
        self._body.checked.clear()

    def before_write(self, written: Collection[Expr]) -> None:
        """Compute the pending values that read variables that are about to change, and forget those that are
        not used any more."""
        for name, (reads, last) in list(self._pending.items()):
            if last <= self._body.cursor.number:
                del self._pending[name]
            elif not reads.isdisjoint(written):
                del self._pending[name]
                self._compute(name)

    def before_call(self) -> None:
        """Compute the pending values that read global variables, which a call may change."""
        self.before_write(self._body.unit.symbols.shared)

    def assign(self, variable: Expr, term: Expr, name: str = "", *, spare: Expr | None = None) -> None:
        """Emit `variable = term`. If the last step only gave `term` its value, it writes `variable` instead:
        `spare` is a temporary that nothing else reads. If the instruction `name` has this value and is used
        later, it is then read from the variable."""
        body, flow, kept = self._body, self._body.flow, self._kept(name, variable)
        if kept is not None:
            self._pending.pop(name, None)
        self.before_write((variable,))
        last, op = body.last_step(), None
        if last is not None and term.sort is variable.sort:
            if kept is not None:
                redirects = last.order[0] == flow.number[flow.definitions[name]]
            else:
                redirects = term is spare and term in body.temporaries
            op = redirected(last.op, term, variable) if redirects else None
        if last is not None and op is not None:
            last.op, last.span, last.text = op, body.cursor.span, body.cursor.text or last.text
        else:
            body.emit(Assign((variable,), (term,)))
        if kept is not None:
            self.values[name] = terms.as_sort(variable, kept.sort)
            self._pending[name] = (frozenset((variable,)), flow.last_use(name))

    def _kept(self, name: str, variable: Expr) -> Expr | None:
        """Return the value of an instruction that is being stored, if all its uses are in its block, from the
        store on."""
        flow, cursor = self._body.flow, self._body.cursor
        definition, value, uses = flow.definitions.get(name), self.values.get(name), flow.uses.get(name, ())
        if not isinstance(value, Expr) or value.kind is Kind.CONST or definition is None or len(uses) < 2:
            return None
        wanted, sort = variable.sort, value.sort
        same = sort is wanted or (
            isinstance(sort, MachineSort) and isinstance(wanted, MachineSort) and sort.width == wanted.width
        )
        here = flow.home[definition] == cursor.block and not flow.is_used_elsewhere(definition)
        later = all(flow.number[use] >= cursor.number for use in uses)
        return value if same and here and later else None


class Steps:
    """The graph of a procedure while it is built, and its variables. `at` is the present node: the next step
    begins there."""

    def __init__(self, unit: Unit, name: str, span: Span | None, cursor: Cursor) -> None:
        self.unit = unit
        self.name = name
        self.draft = Draft(name, span)
        self.at = Draft.ENTRY
        self.cursor = cursor
        self.variables: dict[Expr, None] = {}  # all locals, in order
        self.temporaries: set[Expr] = set()
        self.checked: list[Checked] = []  # bytes that are valid at the present node

    # ----------------------------------------------------------------------------- variables

    def local(self, name: str, sort: Sort) -> Expr:
        """Create a local variable; its name is the given one, perhaps with a number."""
        variable = build.var(self.unit.names.unique(f"{self.name}.{name}", "$"), sort)
        self.variables[variable] = None
        return variable

    def fresh(self, sort: Sort) -> Expr:
        """Create a temporary, which is written once, before it is read."""
        temporary = self.local(f"${len(self.temporaries) + 1}", sort)
        self.temporaries.add(temporary)
        return temporary

    # --------------------------------------------------------------------------------- steps

    def emit(
        self,
        op: BasicOp,
        *,
        text: str | None = None,
        branch: bool | None = None,
        declares: bool = False,
        target: int | None = None,
        call: Span | None = None,
    ) -> DraftEdge:
        """Add a step from the present node to a new one, or to `target`."""
        self.unit.budget.check()
        if self.checked:
            self.checked = [each for each in self.checked if each.survives(op)]
        after = self.draft.node() if target is None else target
        cursor = self.cursor
        words, order = cursor.text if text is None else text, cursor.order()
        step = self.draft.edge(
            self.at, op, after, cursor.span, words, branch=branch, declares=declares, order=order, call=call
        )
        self.at = after
        return step

    def last_step(self) -> DraftEdge | None:
        """Return the step that was added last, if it leads to the present node."""
        last = self.draft.edges[-1] if self.draft.edges else None
        return last if last is not None and last.target == self.at else None

    def assume(self, condition: Expr, text: str | None = None) -> None:
        if condition is not build.TRUE:
            self.emit(Assume(condition), text=text)

    def fork(
        self, condition: Expr, then: int, otherwise: int, *, branch: bool = False, flip: bool = False
    ) -> None:
        """Branch to one of two nodes. `branch` marks a branch of the source, whose sides `flip` exchanges."""
        at = self.at
        for holds, target in ((True, then), (False, otherwise)):
            term = condition if holds else build.not_(condition)
            if term is not build.FALSE:
                self.at = at
                self.emit(Assume(term), branch=(holds != flip) if branch else None, target=target)
        self.at = self.draft.node()

    def havoc(self, sort: Sort, function: str | None = None, approximates: str = "") -> Expr:
        """Create an input of the program; an address is natural and below the end of memory. `approximates`:
        see `Havoc`."""
        value = self.fresh(sort)
        self.set_freely(value, function, approximates=approximates)
        return value

    def set_freely(self, variable: Expr, function: str | None = None, *, approximates: str) -> None:
        """Assign an arbitrary value of its type to a variable."""
        call = None if function is None else self.cursor.span
        self.emit(Havoc((variable,), function, approximates), call=call)
        self.assume(self.are_addresses((variable,)))

    def are_addresses(self, targets: Iterable[Expr]) -> Expr:
        """Return the condition that all pointers among some variables are addresses."""
        low, high = build.integer(0), build.integer(1 << self.unit.program.layout.pointer_bits)
        bounds = [build.and_(build.le(low, v), build.lt(v, high)) for v in targets if v.sort is INT]
        return build.conjunction(bounds)

    def bar_counterexamples(self, why: str) -> None:
        """Let no counterexample get past this point; `why` names what the model does not know."""
        sort = machine(8, signed=False)
        marker = self.havoc(sort, approximates=why)
        self.assume(build.eq(marker, build.constant(0, sort)))

    def undefined(self, why: str) -> None:
        """End an execution that comes here as undefined; `why` names the cause."""
        sort = machine(32, signed=True)
        one, zero = build.constant(1, sort), build.constant(0, sort)
        self.emit(Assign((self.fresh(sort),), (build.quot(one, zero),)), text=UNDEFINED_STEP + why)
        self.stop()

    def end_object(self, base: Expr, shown: str, *, silent: bool = False) -> None:
        """End the lifetime of an object on the stack."""
        self.emit(Free(base, "stack", silent), text=f"end of {shown}")

    def stop(self) -> None:
        """End the execution; what follows starts at a node that nothing leads to."""
        self.cursor.begin()
        self.at = self.draft.node()

    def refuse(self, code: str, what: str, hint: str | None = None) -> None:
        """Record that something is not modelled. The program is refused if control can reach this point."""
        message = what if what[:1].isupper() and what.endswith(".") else f"{what} is not modelled."
        message, hint = message[:1].upper() + message[1:], hint or terms.HINTS.get(code)
        span = self.cursor.span or self.unit.sources.start()
        self.draft.refusals.append((self.at, Diagnostic(code, message, span=span, hint=hint)))

    def claim(self, condition: Expr, kind: str, text: str, function: str | None = None) -> None:
        """Make it an error if the condition does not hold."""
        after, failed = self.draft.node(), self.draft.node()
        span, statement = self.cursor.span, self.cursor.statement
        self.draft.error(failed, kind, span, text, statement=statement, function=function, start=self.at)
        if condition is not build.TRUE:
            self.fork(condition, after, failed, branch=True)
            self.at = after

    def choose(self, condition: Expr, then: Callable[[], Expr], otherwise: Callable[[], Expr]) -> Expr:
        """Take the steps of one of two branches; return the value of the branch taken."""
        if condition.kind is Kind.CONST:
            return then() if condition is build.TRUE else otherwise()
        results: list[Expr] = []

        def take(value: Expr) -> None:
            results.append(results[0] if results else self.fresh(value.sort))
            self.emit(Assign((results[0],), (value,)))

        self.when(condition, lambda: take(then()), lambda: take(otherwise()))
        return results[0]

    def when(
        self, condition: Expr, steps: Callable[[], None], otherwise: Callable[[], None] | None = None
    ) -> None:
        """Take steps if a condition holds, and perhaps others if it does not."""
        if condition.kind is Kind.CONST:
            chosen = steps if condition is build.TRUE else otherwise
            if chosen is not None:
                chosen()
            return
        start, after = self.draft.node(), self.draft.node()
        other = after if otherwise is None else self.draft.node()
        self.fork(condition, start, other)
        for node, take in ((start, steps), (other, otherwise)):
            if take is not None:
                self.at = node
                take()
                self.checked.clear()
                self.draft.skip(self.at, after)
        self.at = after


class Body(Steps):
    """One function, or the start of the program, while it is lowered."""

    def __init__(self, unit: Unit, module: Module, function: Function | None, name: str) -> None:
        super().__init__(unit, name, unit.span_of(module, function), Cursor(self))
        self.module = module
        self.layout = module.layout
        self.function = function
        self.extents: dict[Expr, int] = {}  # of objects that live wherever the body can mention their address
        self.registers = Registers(self)
        self.roots = Roots(module, {})
        self.signature = Signature(VoidType("void"))
        self.initialisation: Initialisation | None = None  # unless reads without a value are errors
        if function is not None:
            self.scopes = Scopes(module, unit.sources)
            ends = bool(unit.rules.memory) and unit.is_program(module)
            self.flow = Flow(module.blocks(function), self.scopes.with_markers if ends else None)
            self.roots = Roots(module, self.flow.definitions)
            self.locals = LocalVariables(self)
            if UNINITIALISED in unit.rules.memory:
                from certus.frontend.c.model.initialisation import Initialisation

                self.initialisation = Initialisation(self)
            make_signature(self)
            slots = self.locals.slots.values()
            self.registers.mutable = {s.variable for s in slots if s.variable is not None}

    def is_watched(self, instruction: ir.Instruction) -> bool:
        """Return whether a witness refers to the `?:` of an instruction, so that it must become a branch."""
        watched, program = self.unit.rules.watched, self.unit.is_program(self.module)
        return program and self.unit.sources.watched(instruction.location, watched)

    def any_result(self, type_: Type, function: str, approximates: str = "") -> Expr:
        """Create an input: the result, of this type, of a function that is only declared."""
        result = self.module.result_type(function)
        if isinstance(type_, PointerType):
            self.unit.environment.pass_pointer(self.module, result)
        if isinstance(type_, IntegerType) and type_.bits == 1:
            return terms.as_sort(self.havoc(machine(1, signed=False), function, approximates), BOOL)
        signed = result is not None and bool(self.module.debug.signed(result))
        value = self.havoc(terms.sort_of(type_, signed=signed), function, approximates)
        self.unit.names.note_format(value, type_)
        if type_.text == "x86_fp80":
            self.assume(floats.is_valid(value))
        return floats.returned(self, type_, value) if isinstance(type_, FloatType) else value

    def unset(self, size: int) -> Expr:
        """Return `size` bytes that count as never written."""
        return self.havoc(machine(8 * size, signed=False), approximates="bytes that have no value")

    def truth(self, value: Value) -> Expr:
        """Return a value as a condition."""
        return terms.truth(self.scalar(value))

    def scalar(self, value: Value) -> Expr:
        """Return a value as one term."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, Pieces):
            return terms.joined(value, 0, value.size, self.unset)
        raise Unmodelled("unsupported-vector", "a vector as a number")


def redirected(op: BasicOp, old: Expr, new: Expr) -> BasicOp | None:
    """Return the step that writes `new` instead of `old`, if `old` is the only variable it writes."""
    if isinstance(op, Havoc | Call) and op.targets == (old,):
        of_library = isinstance(op, Call) and op.procedure.startswith("$")
        return None if of_library else replace(op, targets=(new,))
    if isinstance(op, Alloc | Load) and op.target is old:
        return replace(op, target=new)
    return None
