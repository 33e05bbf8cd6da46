"""Build the graph of a procedure step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.program import Assign, Assume, BasicOp, Havoc
from certus.core.terms import INT, Expr, Sort, machine
from certus.frontend.c.model import terms
from certus.frontend.c.model.checks import Checked
from certus.frontend.c.model.sources import Cursor
from certus.frontend.graph import Draft, DraftEdge

if TYPE_CHECKING:
    from certus.frontend.c.model.unit import Unit


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
        """Go to one of two nodes. `branch` marks a branch of the source, whose sides `flip` exchanges."""
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
        self.set_freely(value, function, approximates)
        return value

    def set_freely(self, variable: Expr, function: str | None = None, approximates: str = "") -> None:
        """Give a variable any value of its type."""
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
        """Make the behaviour undefined: an execution that comes here ends as undefined."""
        sort = machine(32, signed=True)
        one, zero = build.constant(1, sort), build.constant(0, sort)
        self.emit(Assign((self.fresh(sort),), (build.quot(one, zero),)), text=f"undefined: {why}")
        self.stop()

    def stop(self) -> None:
        """End the execution; what follows starts at a node that nothing leads to."""
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
            self.checked.clear()
        self.at = after
        assert result is not None
        return result

    def when(
        self, condition: Expr, steps: Callable[[], None], otherwise: Callable[[], None] | None = None
    ) -> None:
        """Take steps if a condition holds, and perhaps others if it does not."""
        if condition is build.FALSE and otherwise is None:
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
