"""Sets of states of a Boolean program, and how statements change them.

A state at a location relates the values at the entry of the present activation, `old(x)` for globals and
parameters, to the present values. A set of states is a `Region` over these variables. `after` computes the
states after a statement, `before` the states from which a statement can lead into a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.evidence import old
from certus.core.program import (
    Assign,
    Assume,
    BasicOp,
    Block,
    Call,
    Choice,
    Edge,
    Havoc,
    Op,
    Procedure,
    Program,
    Return,
    Seq,
)
from certus.core.terms import Expr, Kind
from certus.core.walk import completed
from certus.solvers.bdd import Region, Regions


def later(variable: Expr) -> Expr:
    """Return the variable for the value after a statement, used while the statement is executed."""
    return build.var(f"{variable.name}'", variable.sort)


def inner(variable: Expr) -> Expr:
    """Return a variable of the callee that is joined with its caller. The two may be the same procedure."""
    return build.var(f"{variable.name}^", variable.sort)


@dataclass(slots=True, eq=False)
class States:
    """The sets of states of one program, all over the same diagrams."""

    program: Program
    regions: Regions = field(default_factory=Regions)
    _meanings: dict[Expr, Region] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep the copies of a variable together in the order of the diagrams."""
        for x in self.program.every_variable:
            self.regions.literal(x)
            self.regions.beside((x, old(x), later(x), inner(x), inner(old(x))))

    # --------------------------------------------------------------------------------- variables

    def remembered(self, procedure: Procedure) -> tuple[Expr, ...]:
        """Return the variables whose values at the entry belong to the states of a procedure."""
        return (*self.program.globals, *procedure.parameters)

    def present(self, procedure: Procedure) -> tuple[Expr, ...]:
        return (*self.program.globals, *procedure.variables)

    def complete(self, values: Mapping[Expr, bool], procedure: Procedure) -> dict[Expr, bool]:
        """Return a state with these values; other variables are false."""
        names = (*map(old, self.remembered(procedure)), *self.present(procedure))
        return {x: values.get(x, False) for x in names}

    def meaning(self, term: Expr) -> Region:
        """Return the valuations under which a Boolean term is true."""
        return completed(term, self._meanings, self._meaning)

    def _meaning(self, term: Expr) -> Region:
        regions = self.regions
        if term.kind is Kind.CONST:
            return regions.everything if term.value else regions.nothing
        if term.kind is Kind.VAR:
            return regions.literal(term)
        args = [self._meanings[a] for a in term.args]
        if term.kind is Kind.NOT:
            return regions.minus(regions.everything, args[0])
        if term.kind is Kind.ITE:
            return regions.choice(*args)
        if term.kind is Kind.EQ:
            return regions.equal(*args)
        assert term.kind in (Kind.AND, Kind.OR), f"{term.kind} is no Boolean operation"
        join = regions.both if term.kind is Kind.AND else regions.either
        result = args[0]
        for arg in args[1:]:
            result = join(result, arg)
        return result

    def same(self, pairs: Iterable[tuple[Expr, Expr]]) -> Region:
        """Return the valuations in which each variable has the value of its term."""
        result = self.regions.everything
        for variable, term in pairs:
            equal = self.regions.equal(self.regions.literal(variable), self.meaning(term))
            result = self.regions.both(result, equal)
        return result

    def renamed(self, region: Region, names: Mapping[Expr, Expr]) -> Region:
        return self.regions.substituted(region, {x: self.regions.literal(y) for x, y in names.items()})

    # -------------------------------------------------------------------------------- statements

    def initial(self) -> Region:
        """Return the states at the entry of main."""
        main = self.program.procedures[self.program.main]
        start = self.same(self.program.initial.items())
        return self.regions.both(start, self._at_entry(main))

    def _at_entry(self, procedure: Procedure) -> Region:
        return self.same((old(x), x) for x in self.remembered(procedure))

    def after(self, block: Op | Edge, region: Region, procedure: Procedure) -> Region:
        """Return the states after a block without calls that starts in a set of states."""
        return self._through(block, region, lambda op, each: self._after(op, each, procedure), ahead=True)

    def before(self, block: Op | Edge, region: Region, procedure: Procedure) -> Region:
        """Return the states from which a block without calls can lead into a set of states."""
        return self._through(block, region, lambda op, each: self._before(op, each, procedure), ahead=False)

    def _after(self, op: BasicOp, states: Region, procedure: Procedure) -> Region:
        if isinstance(op, Assume):
            return self.regions.both(states, self.meaning(op.condition))
        if isinstance(op, Havoc):
            return self.regions.without(states, op.targets)
        targets, values = _assigned(op, procedure)
        written = self.regions.both(states, self.same(zip(map(later, targets), values, strict=True)))
        return self.renamed(self.regions.without(written, targets), {later(x): x for x in targets})

    def _before(self, op: BasicOp, states: Region, procedure: Procedure) -> Region:
        if isinstance(op, Assume):
            return self.regions.both(states, self.meaning(op.condition))
        if isinstance(op, Havoc):
            return self.regions.without(states, op.targets)
        targets, values = _assigned(op, procedure)
        meanings = {x: self.meaning(value) for x, value in zip(targets, values, strict=True)}
        return self.regions.substituted(states, meanings)

    def _through(
        self, block: Op | Edge, region: Region, basic: Callable[[BasicOp, Region], Region], *, ahead: bool
    ) -> Region:
        """Execute a block, forwards or backwards. Two stacks take the place of recursion: blocks may be
        deep."""
        values = [region]
        todo: list[Callable[[], None] | Block | Op] = [block]

        def enter(start: Region) -> Callable[[], None]:
            return lambda: values.append(start)

        def join() -> None:
            one = values.pop()
            values.append(self.regions.either(values.pop(), one))

        while todo:
            top = todo.pop()
            if isinstance(top, Edge):
                todo.append(top.op)
            elif isinstance(top, Seq):
                todo += (top.second, top.first) if ahead else (top.first, top.second)
            elif isinstance(top, Choice):
                start = values.pop()
                values.append(self.regions.nothing)
                for alternative in top.alternatives:
                    todo += (join, alternative, enter(start))
            elif callable(top):
                top()
            else:
                values.append(basic(top, values.pop()))
        return values.pop()

    # ------------------------------------------------------------------------------------- calls

    def entered(self, call: Call, caller: Procedure) -> Region:
        """Return how a state of the caller, and the `inner` state at the entry of the callee, are related."""
        callee = self.program.procedures[call.procedure]
        bound = zip(map(inner, callee.parameters), call.arguments, strict=True)
        shared = ((inner(x), x) for x in self.program.globals)
        started = ((inner(old(x)), inner(x)) for x in self.remembered(callee))
        return self.same((*bound, *shared, *started))

    def callee_states(self, region: Region, call: Call, caller: Procedure) -> Region:
        """Return the states at the entry of the callee for states of the caller."""
        callee = self.program.procedures[call.procedure]
        joint = self.regions.both(region, self.entered(call, caller))
        alone = self.regions.without(joint, self._names(caller))
        return self.renamed(alone, {inner(x): x for x in self._names(callee)})

    def returned(self, call: Call, before: Region, exit_: Region, caller: Procedure) -> Region:
        """Return the states before a call together with the `inner` states at the exit of the callee that
        belong to it, and the values that the call leaves behind as `later` values."""
        callee = self.program.procedures[call.procedure]
        summary = self.renamed(exit_, {x: inner(x) for x in self._names(callee)})
        bound = zip((inner(old(x)) for x in callee.parameters), call.arguments, strict=True)
        shared = ((inner(old(x)), x) for x in self.program.globals)
        left = ((later(x), inner(x)) for x in self.program.globals)
        results = zip(map(later, call.targets), map(inner, callee.results), strict=False)
        values: dict[Expr, Expr] = {**dict(left), **dict(results)}
        joint = self.regions.both(before, summary)
        return self.regions.both(joint, self.same((*bound, *shared, *values.items())))

    def after_call(self, call: Call, before: Region, exit_: Region, caller: Procedure) -> Region:
        """Return the states after a call."""
        callee = self.program.procedures[call.procedure]
        written = dict.fromkeys((*self.program.globals, *call.targets))
        joint = self.returned(call, before, exit_, caller)
        kept = self.regions.without(joint, (*map(inner, self._names(callee)), *written))
        return self.renamed(kept, {later(x): x for x in written})

    def _names(self, procedure: Procedure) -> tuple[Expr, ...]:
        return (*map(old, self.remembered(procedure)), *self.present(procedure))


def _assigned(op: BasicOp, procedure: Procedure) -> tuple[Sequence[Expr], Sequence[Expr]]:
    if isinstance(op, Return):
        return procedure.results, op.values
    assert isinstance(op, Assign), f"{op} in a Boolean program"
    return op.targets, op.values
