"""The state while one function is lowered: the graph so far, the values of instructions, variables.

The value of an instruction is kept as a term over program variables. A term that reads variables which the
program may change is *pending*: it is computed into a temporary before one of them is written, or at once if
it is used in another block. All other terms stay as they are: what they read is written only once, before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.program import Assign, Assume, BasicOp, Havoc
from certus.core.sorts import INT, MachineSort, Sort, machine
from certus.core.terms import Expr, Kind
from certus.core.witness import probe_kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.model.births import Births
from certus.frontend.c.model.cells import Roots
from certus.frontend.c.model.flow import Flow
from certus.frontend.c.model.redirect import redirected
from certus.frontend.c.model.terms import (
    Lanes,
    Piece,
    Pieces,
    Unmodelled,
    Value,
    as_sort,
    joined,
    terms_in,
    truth,
)
from certus.frontend.c.model.wording import part_of
from certus.frontend.graph import Draft, DraftEdge

if TYPE_CHECKING:
    from certus.frontend.c.model.signature import Signature
    from certus.frontend.c.model.unit import Unit

_NOTHING: Final[frozenset[Expr]] = frozenset()
HEAVY: Final = 300  # a term made of more instructions than this is computed into a temporary


class Body:
    """One function, or the start of the program, while it is lowered."""

    def __init__(self, unit: Unit, module: Module, function: Function | None, name: str) -> None:
        self.unit = unit
        self.module = module
        self.layout = module.layout
        self.function = function
        self.name = name
        self.draft = Draft(name, unit.span_of(module, function))
        self.at = Draft.ENTRY
        self.parameters: list[Expr] = []
        self.results: tuple[Expr, ...] = ()
        self.variables: dict[Expr, None] = {}  # all locals, in order
        self.temporaries: set[Expr] = set()
        self.values: dict[str, Value] = {}
        self.skipped: set[ir.Instruction] = set()  # what another step does
        self.more: Expr | None = None  # where the arguments behind the named ones are
        self.span: Span | None = None  # of the step that is being lowered
        self.statement: Span | None = None
        self.text = ""
        self.begun: dict[Span, int] = {}  # where statements begin
        self.probe: int | None = None  # whose expression is being lowered
        self._instruction: ir.Instruction | None = None  # whose words are not looked up yet
        self.number = 0
        self.block = ""
        self.condition: int | None = None  # where the condition is evaluated that decided to come here
        self._sequence = 0
        self._pending: dict[str, tuple[frozenset[Expr], float]] = {}  # what they read, and their last use
        self._weight: dict[str, int] = {}
        self._read: dict[Expr, frozenset[Expr]] = {}  # the changing variables of terms
        self.folding = False
        self.lowered = function is None
        self.foldable: bool | None = None
        self.phis: dict[ir.Phi, Expr] = {}
        self.mutable: set[Expr] = set()  # local variables that are written more than once
        self.declared_at: dict[str, int | None] = {}  # locations of declarations, by name and line
        self._location: int | None = None
        self.roots = Roots(module, {})
        if function is not None:
            self.flow = Flow(module.blocks(function))
            self.roots = Roots(module, self.flow.definitions)
            self.births = Births(self)
            self.signature: Signature = unit.make_signature(self)
            self.mutable = {s.variable for s in self.births.slots.values() if s.variable is not None}

    # --------------------------------------------------------------------------------- names

    def local(self, name: str, sort: Sort) -> Expr:
        """Make a local variable with a name like this."""
        wanted, number = f"{self.name}.{name}", 1
        while wanted in self.unit.names:
            number += 1
            wanted = f"{self.name}.{name}${number}"
        self.unit.names.add(wanted)
        made = build.var(wanted, sort)
        self.variables[made] = None
        return made

    def fresh(self, sort: Sort) -> Expr:
        """Make a temporary. It is written once, before it is read."""
        made = self.local(f"${len(self.temporaries) + 1}", sort)
        self.temporaries.add(made)
        return made

    # ------------------------------------------------------------------------------- places

    def place(self, instruction: ir.Instruction | None) -> None:
        """Steps from here on are of this instruction."""
        if instruction is None:
            self.number, self._location = 0, None
            self.span, self.text, self.statement = self.draft.span, "", self.draft.span
            return
        self.number, self._location = self.flow.number[instruction], instruction.location
        if not self.unit.is_program(self.module):
            self.text = f"{self.name.lstrip('$')}(...)"
            return
        written = self.unit.sources.written(instruction.location)
        self.probe = self.unit.sources.probe(instruction.location)
        if self.probe is not None:
            self.span = None if written is None else written.span
            self.text = probe_kind(self.probe)
        elif instruction.location is None:
            self._instruction = instruction
        elif written is not None:
            self.span, self.text, self.statement = written.span, written.text, written.statement
            self._instruction = instruction
            if written.statement not in self.begun and written.text:
                self.begun[written.statement] = self.at
                self.draft.starts[self.at] = written.statement

    @property
    def span(self) -> Span | None:
        self._look_up()
        return self._span

    @span.setter
    def span(self, span: Span | None) -> None:
        self._span, self._instruction = span, None

    @property
    def text(self) -> str:
        self._look_up()
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._text, self._instruction = text, None

    def _look_up(self) -> None:
        """Find the part of the statement whose step comes next."""
        if self._instruction is not None:
            found = part_of(self, self._instruction)
            self._instruction = None
            if found is not None:
                self._span, self._text = found

    def say(self, words: tuple[Span | None, str] | None) -> None:
        """Steps from here on are of this part of the statement."""
        if words is not None:
            self.span, self.text = words

    def call_span(self) -> Span | None:
        """Return the stretch of the call that is being lowered."""
        if not self.unit.is_program(self.module):
            return None
        found = self.unit.sources.call(self._location)
        return self.span if found is None else found[0]

    def written_call(self, name: str) -> str:
        """Return the call that is being lowered as it is written, which may be the use of a macro."""
        found = self.unit.sources.call(self._location) if self.unit.is_program(self.module) else None
        return found[1] if found is not None else self.text or f"{name}()"

    def condition_start(self) -> int | None:
        """Return where the evaluation began of what decided that control comes here: of the statement, if it
        has conditions itself, and else of the `if` around it."""
        begun = None if self.statement is None else self.begun.get(self.statement)
        if begun is not None and begun != self.at:
            return begun
        around = self.unit.sources.around(self._location) if self.unit.is_program(self.module) else None
        return None if around is None else self.begun.get(around, self.condition)

    # --------------------------------------------------------------------------------- steps

    def order(self) -> tuple[int, int]:
        """Return the place of the next step among the steps of the function: as in the text."""
        self._sequence += 1
        return self.number, self._sequence

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
        after = self.draft.node() if target is None else target
        made = self.draft.edge(
            self.at,
            op,
            after,
            self.span,
            self.text if text is None else text,
            branch=branch,
            declares=declares,
            order=self.order(),
            call=call,
        )
        self.at = after
        return made

    def assume(self, condition: Expr, text: str | None = None) -> None:
        if condition is not build.TRUE:
            self.emit(Assume(condition), text=text)

    def fork(
        self, condition: Expr, then: int, otherwise: int, *, branch: bool = False, flip: bool = False
    ) -> None:
        """Go to one of two nodes. With `branch` the source has a branch here, which `flip` turns around."""
        at = self.at
        for holds, target in ((True, then), (False, otherwise)):
            term = condition if holds else build.not_(condition)
            if term is not build.FALSE:
                self.at = at
                self.emit(Assume(term), branch=(holds != flip) if branch else None, target=target)
        self.at = self.draft.node()

    def havoc(self, sort: Sort, function: str | None = None, approximates: str = "") -> Expr:
        """Make an input of the program: natural, and below the end of memory, if it is an address."""
        made = self.fresh(sort)
        self.set_freely((made,), function, approximates)
        return made

    def set_freely(
        self, targets: tuple[Expr, ...], function: str | None = None, approximates: str = ""
    ) -> None:
        """Give variables any values. `approximates`: see `Havoc`."""
        self.emit(Havoc(targets, function, approximates), call=None if function is None else self.span)
        self.assume(self.are_addresses(targets))

    def are_addresses(self, targets: Iterable[Expr]) -> Expr:
        """Whether all that are pointers fit into pointers."""
        low, high = build.integer(0), build.integer(1 << self.layout.pointer_bits)
        found = [build.and_(build.le(low, v), build.lt(v, high)) for v in targets if v.sort is INT]
        return build.conjunction(found)

    def doubtful(self, why: str) -> None:
        """No counterexample gets past here."""
        sort = machine(8, signed=False)
        marker = self.havoc(sort, approximates=why)
        self.assume(build.eq(marker, build.constant(0, sort)))

    def undefined(self, why: str) -> None:
        """The behaviour is undefined from here on: an execution that comes here ends as undefined."""
        sort = machine(32, signed=True)
        one, zero = build.constant(1, sort), build.constant(0, sort)
        self.emit(Assign((self.fresh(sort),), (build.quot(one, zero),)), text=f"undefined: {why}")
        self.stop()

    def stop(self) -> None:
        """The execution does not go on; what follows starts at a node nothing leads to."""
        self.at = self.draft.node()

    def refuse(self, code: str, what: str, hint: str | None = None) -> None:
        """Record that what stands here is not modelled. It matters only if control can reach it."""
        message = what if what[:1].isupper() and what.endswith(".") else f"{what} is not modelled."
        span = self.span or self.unit.nowhere
        diagnostic = Diagnostic(code, message[:1].upper() + message[1:], span=span, hint=hint)
        self.draft.refusals.append((self.at, diagnostic))

    def claim(self, condition: Expr, kind: str, text: str, function: str | None = None) -> None:
        """An error unless the condition holds."""
        start, after, failed = self.at, self.draft.node(), self.draft.node()
        self.draft.error(
            failed, kind, self.span, text, statement=self.statement, function=function, start=start
        )
        if condition is not build.TRUE:
            self.fork(condition, after, failed, branch=True)
            self.at = after

    def choose(self, condition: Expr, then: Callable[[], Expr], otherwise: Callable[[], Expr]) -> Expr:
        """Take the steps of one of two ways; the value is that of the way taken."""
        nodes = self.draft.node(), self.draft.node()
        after = self.draft.node()
        self.fork(condition, *nodes)
        result: Expr | None = None
        for node, make in zip(nodes, (then, otherwise), strict=True):
            self.at = node
            value = make()
            if result is None:
                result = self.fresh(value.sort)
            self.emit(Assign((result,), (value,)), target=after)
        self.at = after
        assert result is not None
        return result

    def when(self, condition: Expr, steps: Callable[[], None]) -> None:
        """Take steps if a condition holds."""
        if condition is build.FALSE:
            return
        inside, after = self.draft.node(), self.draft.node()
        self.fork(condition, inside, after)
        self.at = inside
        steps()
        self.draft.skip(self.at, after)
        self.at = after

    # -------------------------------------------------------------------------------- values

    def define(self, instruction: ir.Instruction, value: Value) -> None:
        """Note the value of an instruction."""
        name = instruction.name
        if name is None:
            return
        self.values[name] = value
        if self.folding or (isinstance(value, Expr) and value.kind is Kind.CONST):
            return
        reads = self._reads(*terms_in(value))
        heavy = self._weigh(instruction, name)
        if not reads and not heavy:
            return
        if heavy or self._escapes(instruction, name):
            self.hold(name)
        else:
            self._pending[name] = (reads, self._last_use(name))

    def _reads(self, *terms: Expr) -> frozenset[Expr]:
        """The variables that terms read and that may change."""
        known = self._read
        stack = [term for term in terms if term not in known]
        while stack:
            term = stack[-1]
            missing = [argument for argument in term.args if argument not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            if term.kind is Kind.VAR and (term in self.mutable or term in self.unit.shared):
                known[term] = frozenset((term,))
            else:
                parts = [reads for argument in term.args if (reads := known[argument])]
                known[term] = parts[0].union(*parts[1:]) if parts else _NOTHING
        if len(terms) == 1:
            return known[terms[0]]
        return _NOTHING.union(*(known[term] for term in terms))

    def _weigh(self, instruction: ir.Instruction, name: str) -> bool:
        total = 1
        for operand in ir.operands(instruction):
            total += self._weight.get(getattr(operand, "name", ""), 0)
        heavy = total > HEAVY
        self._weight[name] = 1 if heavy else total
        return heavy

    def _escapes(self, instruction: ir.Instruction, name: str) -> bool:
        """Whether a value is used in another block; by the phis of a successor it is used in its own."""
        home = self.flow.home[instruction]
        for use in self.flow.uses.get(name, ()):
            if isinstance(use, ir.Phi):
                if any(getattr(value, "name", "") == name and label != home for value, label in use.ways):
                    return True
            elif self.flow.home[use] != home:
                return True
        return False

    def _last_use(self, name: str) -> float:
        """The number of the last instruction that uses a value; a phi does so at the end of the block."""
        number = self.flow.number
        uses = self.flow.uses.get(name, ())
        return max((float("inf") if isinstance(use, ir.Phi) else number[use] for use in uses), default=0)

    def hold(self, name: str) -> None:
        """Compute the value of an instruction into temporaries."""
        value = self.values[name]
        if isinstance(value, Expr):
            self.values[name] = self.held(value)
        elif isinstance(value, Pieces):
            parts = tuple(Piece(p.offset, p.size, self.held(p.term)) for p in value.parts)
            self.values[name] = Pieces(value.size, parts)
        else:
            self.values[name] = Lanes(tuple(self.held(part) for part in value.parts))

    def held(self, term: Expr) -> Expr:
        """Compute a term into a temporary, unless it cannot change."""
        if term.kind is Kind.CONST or term in self.temporaries:
            return term
        made = self.fresh(term.sort)
        self.emit(Assign((made,), (term,)))
        return made

    def forget(self) -> None:
        """A new block begins: what is pending is not used any more."""
        self._pending.clear()

    def before_write(self, written: Expr) -> None:
        """A variable is about to change: compute what reads it and is used later."""
        if self._pending:
            self._compute(lambda reads: written in reads)

    def before_call(self) -> None:
        """A call may change all global variables."""
        if self._pending:
            shared = self.unit.shared
            self._compute(lambda reads: not shared.isdisjoint(reads))

    def _compute(self, changes: Callable[[frozenset[Expr]], bool]) -> None:
        """Compute pending values that change, and forget those that are not used any more."""
        for name, (reads, last) in list(self._pending.items()):
            if last <= self.number:
                del self._pending[name]
            elif changes(reads):
                del self._pending[name]
                self.hold(name)

    def assign(self, variable: Expr, term: Expr, name: str | None = None) -> None:
        """`variable = term`. If the last step only gave `term` its value, it writes `variable` instead. If
        the instruction `name` has this value and is used later, it is read from the variable then."""
        if name is not None and self._is_kept(name, variable):
            self._pending.pop(name, None)
            self.before_write(variable)
            last = self.draft.edges[-1] if self.draft.edges else None
            op, made = None, self.flow.number[self.flow.definitions[name]]
            if last is not None and last.target == self.at and last.order[0] == made:
                op = redirected(last.op, term, variable) if term.sort is variable.sort else None
            if op is not None and last is not None:
                last.op, last.span, last.text = op, self.span, self.text or last.text
            else:
                self.emit(Assign((variable,), (term,)))
            kept = self.values[name]
            assert isinstance(kept, Expr)
            self.values[name] = as_sort(variable, kept.sort)
            self._pending[name] = (frozenset((variable,)), self._last_use(name))
            return
        self.before_write(variable)
        last = self.draft.edges[-1] if self.draft.edges else None
        if last is not None and last.target == self.at and term in self.temporaries:
            op = redirected(last.op, term, variable)
            if op is not None and term.sort is variable.sort and self._is_dead(term):
                last.op, last.span, last.text = op, self.span, self.text or last.text
                return
        self.emit(Assign((variable,), (term,)))

    def _is_kept(self, name: str, variable: Expr) -> bool:
        """Whether the value of an instruction, which is being stored, is used again in its block, and nowhere
        else, nor was it used before."""
        value, uses = self.values.get(name), self.flow.uses.get(name, ())
        made = self.flow.definitions.get(name)
        if not isinstance(value, Expr) or value.kind is Kind.CONST or made is None or len(uses) < 2:
            return False
        wanted, sort = variable.sort, value.sort
        same = sort is wanted or (
            isinstance(sort, MachineSort) and isinstance(wanted, MachineSort) and sort.width == wanted.width
        )
        here = self.flow.home[made] == self.block and not self._escapes(made, name)
        return same and here and all(self.flow.number[use] >= self.number for use in uses)

    def _is_dead(self, temporary: Expr) -> bool:
        """Whether no other value needs a temporary that has just been written."""
        return self._spare is temporary

    _spare: Expr | None = None  # the temporary of an instruction whose only use is the present one

    def spare(self, temporary: Expr | None) -> None:
        self._spare = temporary

    # -------------------------------------------------------------------------- uncertain values

    def unset(self, size: int) -> Expr:
        """Return `size` bytes without a value."""
        return self.havoc(machine(8 * size, signed=False), approximates="bytes that have no value")

    def truth(self, value: Value) -> Expr:
        """Return a value as a condition."""
        return truth(self.scalar(value))

    def scalar(self, value: Value) -> Expr:
        """Return a value as one term."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, Pieces):
            return joined(value, 0, value.size, self.unset)
        raise Unmodelled("unsupported-vector", "a vector as a number")
