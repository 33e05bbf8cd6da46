"""The state while one function is lowered: the graph so far, the node where the next step starts, names.

Evaluation emits steps from the current node `at` and gives terms over program variables. Two rules keep this
exact although terms are evaluated later than C would evaluate them:

- An operand whose variables are written before all operands are evaluated is first copied to a temporary
  (`operands`).
- Where evaluation is conditional (`&&`, `||`, `?:`), the conditional part starts at a node of its own. If it
  has emitted no step the result is one term; otherwise control flow leads to that node.

What is not modelled is recorded at the node where it would be executed (`refuse`); it matters only if that
node turns out to be reachable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.program import Alloc, Assign, Assume, BasicOp, Call, Havoc, Load, Store
from certus.core.sorts import INT, Sort
from certus.core.terms import Expr, Kind
from certus.core.walk import variables
from certus.frontend.c import ast
from certus.frontend.c.layout import NoSize
from certus.frontend.c.lower.evaluation import Evaluation
from certus.frontend.c.lower.scopes import Passage, Passages, Scope, StackObject
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import are_addresses, as_pointer, sort_of
from certus.frontend.c.lower.world import Home, World
from certus.frontend.c.typenames import HINTS, refusal
from certus.frontend.c.types import (
    CType,
    FloatType,
    FunctionType,
    OtherType,
    VariableArrayType,
    unqualified,
)
from certus.frontend.graph import Draft, DraftEdge, Order

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """How each kind of node is lowered: its value, the object it denotes, and what a statement does."""

    values: Mapping[type, Handler]
    effects: Mapping[type, Handler]  # of expressions whose value nobody uses, where this differs
    places: Mapping[type, Handler]
    statements: Mapping[type, Handler]


class _Everything:
    """Stands for all globals, or all memory, in the log of writes."""


GLOBALS: Final = _Everything()
MEMORY: Final = _Everything()


@dataclass(slots=True)
class Target:
    """Where `break`, `continue`, a label or a case leads to, and in which scope that is."""

    node: int
    scope: Scope


@dataclass(slots=True)
class SwitchFrame:
    """The cases found so far of a `switch` whose body is being lowered."""

    cases: list[tuple[int, int, Target, Span]] = field(default_factory=list)
    default: Target | None = None


@dataclass(frozen=True, slots=True)
class Joint:
    """Between two operands: where the first ends, where the next starts, how much was written before."""

    end: int
    start: int
    writes: int
    order: int


@dataclass(slots=True)
class IndirectCall:
    """A call through a pointer, made into a choice once all functions it may mean are known."""

    body: Body
    source: int
    target: int
    pointer: Expr
    type: FunctionType
    arguments: tuple[Expr, ...]
    kinds: tuple[CType, ...]
    result: Expr | None
    span: Span
    text: str
    order: int


class Body:
    """One procedure being lowered."""

    def __init__(self, world: World, rules: Rules, name: str, span: Span) -> None:
        self.world = world
        self.name = name
        self.draft = Draft(name, span)
        self.at = Draft.ENTRY
        self.scope = Scope(None, span)
        self.statement_span = span  # of the statement, or the condition of one, that is being lowered
        self.passages = Passages(self.draft)
        self.parameters: list[Expr] = []
        self.results: tuple[Expr, ...] = ()
        self.into: Expr | None = None  # where a result of record type goes
        self.more: Expr | None = None  # where the arguments behind the named ones are
        self.result_type: CType | None = None
        self.destination: Expr | None = None  # where the next call may put a result of record type
        self.variables: dict[Expr, None] = {}  # all locals, in order
        self.temporaries: set[Expr] = set()
        self.homes: dict[str, Home] = {}  # of local variables, by identity
        self.condition_start: int | None = None  # where the condition that decides what is lowered begins
        self.evaluation: Evaluation | None = None  # of the expression of a witness
        self.unseen = ""  # the text of what has no source in this file
        self.has_labels = False
        self.labels: dict[str, Target] = {}
        self.gotos: list[tuple[str, Passage]] = []
        self.breaks: list[Target] = []
        self.continues: list[Target] = []
        self.switches: list[SwitchFrame] = []
        self.writes: list[Expr | _Everything] = []  # everything written so far but temporaries
        self._rules = rules
        self._pointers: dict[Expr, Expr] = {}  # integer variables that hold a pointer, as it can be written
        self._pointers_at = self.at  # at this node only

    # ------------------------------------------------------------------------------- dispatch

    def value(self, node: ast.Expression) -> Any:
        """A routine for the value of an expression: a term, None for `void`."""
        self.world.budget.check()
        plain = unqualified(node.type)
        if isinstance(plain, FloatType | OtherType) and not isinstance(node, ast.Unmodelled):
            return self.refuse_type(node)
        return self._rules.values[type(node)](self, node)

    def effect(self, node: ast.Expression) -> Any:
        """A routine that evaluates an expression for what it does."""
        handler = self._rules.effects.get(type(node))
        return self.value(node) if handler is None else handler(self, node)

    def place(self, node: ast.Expression) -> Any:
        """A routine for the `Place` that an lvalue denotes."""
        return self._rules.places.get(type(node), self._rules.places[ast.Node])(self, node)

    def statement(self, node: ast.Statement) -> Any:
        """A routine that lowers a statement from `at` on."""
        self.statement_span = node.span
        if not isinstance(node, ast.Block):
            self.draft.starts[self.at] = node.span
        return self._rules.statements[type(node)](self, node)

    # ---------------------------------------------------------------------------------- names

    def name_local(self, name: str, sort: Sort) -> Expr:
        """A new local variable, called after the user's `name`."""
        names, wanted, number = self.world.names, f"{self.name}.{name}", 1
        while wanted in names:
            number += 1
            wanted = f"{self.name}.{name}${number}"
        names.add(wanted)
        made = build.var(wanted, sort)
        self.variables[made] = None
        return made

    def fresh(self, sort: Sort) -> Expr:
        """A new temporary. It is written once, before it is read."""
        made = self.name_local(f"${len(self.temporaries) + 1}", sort)
        self.temporaries.add(made)
        return made

    def stack_object(self, name: str, size: int, align: int, span: Span, *, zero: bool = False) -> Expr:
        """A new object of the present scope; its address."""
        base = self.name_local(f"$&{name}", INT)
        self.scope.objects.append(StackObject(base, size, align, name, span, zero))
        return base

    def size_of(self, type_: CType, span: Span) -> int:
        """The size of a type in bytes; what has none we know is refused."""
        try:
            return self.world.layout.size(type_)
        except NoSize as reason:
            self.refuse(span, reason.code, str(reason))
            return 1

    def extent(self, type_: CType, span: Span) -> Expr:
        """The size of a type in bytes as a term: lengths of variable-length arrays are variables."""
        lengths: list[Expr] = []
        plain = unqualified(type_)
        while isinstance(plain, VariableArrayType):
            home = None if plain.length is None else self.homes.get(plain.length)
            if home is None:
                self.refuse(span, *refusal(plain))
                return build.integer(1)
            lengths.append(build.to_int(home.variable))
            plain = unqualified(plain.element)
        found: Expr = build.integer(self.size_of(plain, span))
        for length in lengths:
            found = build.mul(length, found)
        return found

    def temporary_object(self, type_: CType, span: Span) -> Expr:
        """An unnamed object of the present scope; its address."""
        size = self.size_of(type_, span)
        return self.stack_object("temporary", size, self.world.align(type_), span)

    def text(self, span: Span) -> str:
        return self.world.text.line(span) or self.unseen

    # ---------------------------------------------------------------------------------- steps

    def emit(
        self, op: BasicOp, span: Span, text: str, *, declares: bool = False, call: Span | None = None
    ) -> DraftEdge:
        """A step from the present node to a new one."""
        self.world.budget.check()
        after = self.draft.node()
        made = self.draft.edge(self.at, op, after, span, text, declares=declares, call=call)
        mark = len(self.writes)
        self._log(op)
        self._forget(mark)
        self.go_on_at(after)
        return made

    def go_on_at(self, node: int) -> None:
        """Control goes on at `node`, which only the present node leads to."""
        if self._pointers_at == self.at:
            self._pointers_at = node
        self.at = node

    def _log(self, op: BasicOp) -> None:
        if isinstance(op, Store):
            self.writes.append(MEMORY)
            return
        if isinstance(op, Call):
            self.writes += (GLOBALS, MEMORY)
        targets: tuple[Expr, ...] = ()
        if isinstance(op, Assign | Havoc | Call):
            targets = op.targets
        elif isinstance(op, Load | Alloc):
            targets = (op.target,)
        self.writes += [t for t in targets if t not in self.temporaries]

    def wrote_anything(self) -> None:
        """A call that is not a step yet may write all globals and all memory."""
        self.writes += (GLOBALS, MEMORY)

    def _forget(self, mark: int) -> None:
        """Variables written since the log was `mark` long no longer hold known pointers."""
        if not self._pointers:
            return
        if self._pointers_at != self.at:
            self._pointers.clear()
            return
        for variable, pointer in list(self._pointers.items()):
            if variable in self.writes[mark:] or self._written(pointer, mark):
                del self._pointers[variable]

    def pointer(self, term: Expr) -> Expr | None:
        """An integer as a pointer, if it is one that was just converted, or a constant."""
        known = self._pointers if self._pointers_at == self.at else {}
        return as_pointer(term, self.world.pointer_width, known)

    def _remember(self, variable: Expr, pointer: Expr | None) -> None:
        """An integer variable holds a pointer from here on."""
        if pointer is not None and pointer.kind is not Kind.CONST and variable not in variables(pointer):
            if self._pointers_at != self.at:
                self._pointers.clear()
            self._pointers[variable], self._pointers_at = pointer, self.at

    def assign(self, variable: Expr, term: Expr, span: Span, text: str) -> None:
        """`variable = term`. If the last step only gave `term` its value, it writes `variable` instead."""
        pointer = None if variable.sort is INT else self.pointer(term)
        last = self.draft.edges[-1] if self.draft.edges else None
        if last is not None and last.target == self.at and term in self.temporaries:
            op = _redirected(last.op, term, variable)
            if op is not None:
                last.op, last.text, last.span = op, text or last.text, span
                self.writes.append(variable)
                self._forget(len(self.writes) - 1)
                return
        self.emit(Assign((variable,), (term,)), span, text)
        self._remember(variable, pointer)

    def havoc(
        self, sort: Sort, span: Span, text: str, function: str | None = None, approximates: str = ""
    ) -> Expr:
        """An input of the program, natural if it is an address or a count (`INT`)."""
        made = self.fresh(sort)
        self.set_freely((made,), span, text, function, approximates)
        return made

    def set_freely(
        self,
        targets: tuple[Expr, ...],
        span: Span,
        text: str,
        function: str | None = None,
        approximates: str = "",
    ) -> None:
        """Any values for variables; `function` is the one whose result it is. `approximates`: see `Havoc`."""
        call = None if function is None else span
        self.emit(Havoc(targets, function, approximates), span, text, call=call)
        self.assume(are_addresses(targets, self.world.pointer_width), span, text)

    def branch(
        self,
        condition: Expr,
        then: int,
        otherwise: int,
        span: Span,
        text: str,
        *,
        order: Order | None = None,
        source_branch: bool = True,
    ) -> None:
        """Go to `then` or to `otherwise`. Branches that are never taken are left out."""
        at = self.at
        yes, no = (True, False) if source_branch else (None, None)
        if condition is not build.FALSE:
            self.draft.edge(at, Assume(condition), then, span, text, branch=yes, order=order)
        if condition is not build.TRUE:
            second = (order[0], order[1] + 1) if order else None
            op = Assume(build.not_(condition))
            self.draft.edge(at, op, otherwise, span, text, branch=no, order=second)

    def claim(self, condition: Expr, kind: str, span: Span, text: str, *, start: int | None = None) -> None:
        """An error unless the condition, whose evaluation began at `start`, holds."""
        after, failed = self.draft.node(), self.draft.node()
        start = self.at if start is None else start
        if condition is not build.TRUE or kind == "assertion":
            self.draft.error(failed, kind, span, text, statement=self.statement_span, start=start)
        if condition is build.TRUE:
            return
        self.branch(condition, after, failed, span, text)
        self.at = after

    def assume(self, condition: Expr, span: Span, text: str) -> None:
        if condition is not build.TRUE:
            self.emit(Assume(condition), span, text)

    def stop(self) -> None:
        """The execution does not go on from here; what follows starts at a node nothing leads to."""
        self.at = self.draft.node()

    def refuse(
        self, span: Span, code: str, what: str, sort: Sort | None = INT, hint: str | None = None
    ) -> Any:
        """Record that what stands here is not modelled; an arbitrary value of `sort` for it."""
        message = what if what[:1].isupper() and what.endswith(".") else f"{what} is not modelled."
        diagnostic = Diagnostic(
            code, message[:1].upper() + message[1:], span=span, hint=hint or HINTS.get(code)
        )
        self.draft.refusals.append((self.at, diagnostic))
        return self.havoc(sort or INT, span, self.text(span))

    def refuse_type(self, node: ast.Expression) -> Expr:
        refused: Expr = self.refuse(node.span, *refusal(unqualified(node.type)))
        return refused

    def sort(self, node: ast.Expression) -> Sort:
        """The sort of an expression's values."""
        return sort_of(node.type) or INT

    # ------------------------------------------------------------------ order of evaluation

    def operands(self, nodes: Sequence[ast.Expression]) -> Steps[list[Expr]]:
        """The values of several expressions, evaluated from left to right."""
        found: list[Expr] = []
        joints: list[Joint] = []
        for node in nodes:
            if found:
                self.separate(joints)
            found.append((yield self.value(node)))
        return self.hold(found, joints)

    def separate(self, joints: list[Joint]) -> None:
        """An operand is evaluated; the next starts at a node of its own."""
        start = self.draft.node()
        joints.append(Joint(self.at, start, len(self.writes), self.draft.reserve()))
        self.go_on_at(start)

    def hold(self, terms: list[Expr], joints: list[Joint]) -> list[Expr]:
        """Join operands together; those that later ones change are copied first."""
        for number in reversed(range(len(joints))):
            joint, term = joints[number], terms[number]
            if self.at == joint.start:  # no step since
                self.go_on_at(joint.end)
            elif self._written(term, joint.writes):
                terms[number] = kept = self.fresh(term.sort)
                span, op = self.draft.location_span(joint.start), Assign((kept,), (term,))
                self.draft.edge(
                    joint.end, op, joint.start, span, f"{kept.name} = ...", order=(joint.order, 0)
                )
            else:
                self.draft.skip(joint.end, joint.start)
        return terms

    def _written(self, term: Expr, mark: int) -> bool:
        """Whether a variable of the term is written after the log was `mark` long."""
        if len(self.writes) == mark:
            return False
        since = set(self.writes[mark:])
        shared = GLOBALS in since
        return any(v in since or (shared and v in self.world.global_variables) for v in variables(term))

    def conditionally(self, routine: Any) -> Steps[tuple[Any, int, int]]:
        """Run a routine from a node of its own; its result and its first and last node. They are the same
        if it took no step. Control stays where it was."""
        at, start = self.at, self.draft.node()
        self.at = start
        result = yield routine
        end, self.at = self.at, at
        return result, start, end


def _redirected(op: BasicOp, old: Expr, new: Expr) -> BasicOp | None:
    """The step that writes `new` instead of `old`, if `old` is all it writes."""
    if old.sort is not new.sort:
        return None
    if isinstance(op, Havoc) and op.targets == (old,):
        return Havoc((new,), op.function, op.approximates)
    if isinstance(op, Call) and op.targets == (old,):
        return Call(op.procedure, op.arguments, (new,))
    if isinstance(op, Alloc) and op.target is old:
        return replace(op, target=new)
    if isinstance(op, Load) and op.target is old:
        return Load(new, op.address)
    return None
