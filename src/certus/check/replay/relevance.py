"""Compute which steps of an execution its violation depends on, and why, by a backward walk from the error.

The execution was logged (`Compiled.logging`). The walk knows at each step which values are *demanded*: those
of variables and bytes that relevant later steps read; and which decisions these steps depend on. A step is
relevant if it

- writes a demanded value: then the values that it reads become demanded;
- is the last branch before a relevant step, in the same activation, among the branches that this step depends
  on (`flow`);
- takes one side of a branch while another side may overwrite a demanded value, or free a demanded object;
- begins or ends the object that a relevant `Inspect` or `InspectHeap` asks about, or loses the last pointer
  to it;
- calls a procedure with a relevant step, or one that might not return.

So with any other values in the irrelevant steps, the relevant steps would happen in the same order and with
the same values, or another error would come first. This assumes that all other steps terminate, have no
undefined behaviour, and do not write demanded bytes through other addresses than they used (otherwise all
indices of an array would be relevant with one element). The result explains a counterexample; whether it is
one does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.check.replay.flow import Branches, Flows
from certus.core.accounting import Budget
from certus.core.effects import terms, written
from certus.core.outcome import Reason, Role
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    Location,
    MarkBits,
    Program,
    Return,
    Store,
)
from certus.core.terms import Expr, MachineSort, Sort
from certus.core.walk import variables

_INTERVAL: Final = 0x3FFF  # steps between two checks of the budget, minus 1

User = tuple[int, int]  # a relevant step: its number and its edge


@dataclass(frozen=True, slots=True)
class Relevance:
    """The number of relevant steps (`matter`), the reasons of those that are kept, by number, and the globals
    whose initial values are relevant."""

    matter: int
    reasons: Mapping[int, Reason]
    initial: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """The end of an execution: at an `error`, `depth` calls deep, after `steps` steps. `lost` is the number
    of the step that loses an object, if the error is about that."""

    error: Location
    depth: int
    steps: int
    lost: int | None = None


def relevance(program: Program, log: list[int], arrival: Arrival, *, keep: int, budget: Budget) -> Relevance:
    """Return the relevance of the steps of an execution to its error. The log is consumed; it has -1-n for a
    return from the call at edge n. Reasons are kept for the first and the last `keep` steps, and for the
    last `keep` relevant steps between them."""
    reasons = _Reasons(arrival.steps - 1, keep)
    walk = _Backwards(program, log, reasons, arrival)
    walk.start(arrival.error)
    while log:
        walk.step()
        if not walk.number & _INTERVAL:
            budget.check()
    initial = tuple(v for v in program.globals if v in walk.shared)
    return Relevance(reasons.matter, dict(sorted(reasons.kept.items())), initial)


class _Reasons:
    """The reasons of relevant steps; `last` is the number of the last step of the execution."""

    def __init__(self, last: int, keep: int) -> None:
        self.last = last
        self.matter = 0
        self.kept: dict[int, Reason] = {}
        self._keep = keep
        self._between = keep  # how many more may be kept between the first and the last steps

    def add(self, number: int, reason: Reason) -> None:
        """Count a relevant step, and keep its reason if it is one of those to keep."""
        self.matter += 1
        if self._keep <= number <= self.last - self._keep:
            self._between -= 1
            if self._between < 0:
                return
        self.kept[number] = reason


class _Bytes:
    """The demanded bytes of memory."""

    def __init__(self) -> None:
        self.by_address: dict[int, tuple[User, Expr | None]] = {}  # the step that needs a byte, and its base
        self._counts: dict[Expr | None, int] = {}  # of demanded bytes, by base
        self._readers: dict[Expr | None, User] = {}  # the first step after this one that reads by a base

    def demand(self, addresses: range, base: Expr | None, reader: User) -> None:
        """Demand bytes that `reader` reads."""
        self.overwrite(addresses)
        self.by_address.update(dict.fromkeys(addresses, (reader, base)))
        self._counts[base] = self._counts.get(base, 0) + len(addresses)
        self._readers[base] = reader

    def overwrite(self, addresses: Iterable[int]) -> User | None:
        """Return the first step that needs one of the bytes, if any; they are no longer demanded."""
        first: User | None = None
        for at in addresses:
            if at in self.by_address:
                user, base = self.by_address.pop(at)
                self._counts[base] -= 1
                first = user if first is None else min(first, user)
        return first

    def reader_of(self, written: frozenset[Expr | None]) -> User | None:
        """Return a step that needs a byte in an object with one of the bases, if any."""
        for base, count in self._counts.items():
            if count and (base is None or base in written or None in written):
                return self._readers[base]
        return None


@dataclass(slots=True)
class _Activation:
    """The demands on one activation of a procedure, each with the next step that needs it."""

    values: dict[Expr, User] = field(default_factory=dict)
    decisions: dict[Branches, User] = field(default_factory=dict)  # on the last of these branches
    matters: User | None = None  # its first relevant step so far, or that of a callee


class _Backwards:
    """The backward walk over the log of an execution."""

    def __init__(self, program: Program, log: list[int], reasons: _Reasons, arrival: Arrival) -> None:
        self.number = reasons.last + 1  # of the current step
        self.shared: dict[Expr, User] = {}  # demanded globals
        self._reasons = reasons
        self._log = log
        self._program = program
        self._flows = Flows(program)
        self._globals = frozenset(program.globals)
        self._bytes = _Bytes()
        self._stack = [_Activation() for _ in range(arrival.depth + 1)]
        self._objects: dict[int, User] = {}  # those whose lifetimes are demanded, by address
        self._lost = arrival.lost
        self._here: User | None = None  # the current step, if it is relevant
        self._reads: dict[Expr, tuple[Expr, ...]] = {}  # the variables of a term
        self._branches: dict[int, Branches] = {}  # by edge: the branches that decide whether it is executed

    def start(self, error: Location) -> None:
        """Demand the decisions that the violation, the last step, depends on."""
        failure = self._flows.of(error.procedure).failure
        last = next((entry for entry in reversed(self._log) if entry >= 0), None)
        if failure and last is not None:
            self._stack[-1].decisions[failure] = (self._reasons.last, last)

    def step(self) -> None:
        """Process the last entry of the log."""
        entry = self._log.pop()
        if entry < 0:
            self._return(self._program.edge[-1 - entry])
            return
        self.number -= 1
        self._here = None
        edge = self._program.edge[entry]
        if self.number == self._reasons.last:
            self._claim(edge)
        else:
            self._process(edge)
        if self.number == self._lost and self._objects:
            self._loses(edge)

    def _claim(self, edge: Edge) -> None:
        by = (self.number, edge.index)
        if isinstance(edge.op, Assume):
            self._decide(edge, Role.CLAIM, by)
        else:
            self._process(edge)
            self._mark(edge, Role.CLAIM, by)

    def _process(self, edge: Edge) -> None:
        match edge.op:
            case Assign() | Return() as op:
                self._assign(edge, op)
            case Assume():
                self._assume(edge)
            case Load() | InspectBits() as op:
                self._load(edge, op)
            case Store() as op:
                self._store(edge, op)
            case MarkBits():
                self._log.pop()  # the store before it brings the bits
            case Havoc() as op:
                self._havoc(edge, op)
            case Call() as op:
                self._call(edge, op)
            case Alloc() as op:
                self._alloc(edge, op)
            case Free():
                self._free(edge)
            case Inspect() | InspectHeap() as op:
                self._inspect(edge, op)

    # ----------------------------------------------------------------------------------- demands

    def _mark(self, edge: Edge, role: Role, by: User, variable: Expr | None = None) -> None:
        """Note that the current step is relevant, and demand the decisions that it depends on."""
        activation = self._stack[-1]
        if self._here is None:
            self._here = (self.number, edge.index)
            self._reasons.add(self.number, Reason(role, *by, variable))
        activation.matters = self._here
        branches = self._branches.get(edge.index)
        if branches is None:
            branches = self._flows.of(edge.source.procedure).controllers(edge.source)
            self._branches[edge.index] = branches
        if branches:
            activation.decisions[branches] = self._here

    def _demand(self, term: Expr) -> None:
        """Demand the variables of a term that the current step reads."""
        reads = self._reads.get(term)
        if reads is None:
            reads = self._reads[term] = tuple(variables(term))
        local, here = self._stack[-1].values, self._here
        assert here is not None
        for x in reads:
            (self.shared if x in self._globals else local)[x] = here

    def _take(self, variable: Expr) -> User | None:
        """Return the step that needs the value written to a variable here, if any; the demand ends."""
        user = self._stack[-1].values.pop(variable, None)
        return self.shared.pop(variable, None) if user is None else user

    def _awaited(self, at: Location) -> User | None:
        """Return the first step that needs the decision at `at`, if any; the demand ends."""
        decisions = self._stack[-1].decisions
        settled = [branches for branches in decisions if at in branches]
        return min([decisions.pop(branches) for branches in settled]) if settled else None

    # -------------------------------------------------------------------------------- statements

    def _assign(self, edge: Edge, op: Assign | Return) -> None:
        targets = written(op, self._program.procedures[edge.source.procedure])
        needed = [self._take(x) for x in targets]
        for x, by in zip(targets, needed, strict=True):
            if by is not None:
                self._mark(edge, Role.VALUE, by, x)
        for value, by in zip(op.values, needed, strict=True):
            if by is not None:
                self._demand(value)

    def _havoc(self, edge: Edge, op: Havoc) -> None:
        for x in op.targets:
            by = self._take(x)
            if by is not None:
                self._mark(edge, Role.VALUE, by, x)

    def _assume(self, edge: Edge) -> None:
        by = self._awaited(edge.source)
        if by is not None:
            self._decide(edge, Role.BRANCH, by)
            return
        preserved = self._preserved(edge)
        if preserved is not None:
            self._decide(edge, Role.KEEP, *preserved)

    def _decide(self, edge: Edge, role: Role, by: User, variable: Expr | None = None) -> None:
        assert isinstance(edge.op, Assume)
        self._awaited(edge.source)
        self._mark(edge, role, by, variable)
        self._demand(edge.op.condition)

    def _preserved(self, edge: Edge) -> tuple[User, Expr | None] | None:
        """Return a step that needs a value which another side of the branch may overwrite, and its variable;
        None if there is no such step."""
        passed = self._flows.of(edge.source.procedure).passed_over(edge)
        for demanded in (self._stack[-1].values, self.shared):
            if passed.variables is None or not demanded.keys().isdisjoint(passed.variables):
                overwritten = (x for x in demanded if passed.variables is None or x in passed.variables)
                for x in overwritten:
                    return demanded[x], x
        reader = self._bytes.reader_of(passed.memory) if passed.memory else None
        if reader is None and passed.frees and self._objects:
            reader = min(self._objects.values())
        return None if reader is None else (reader, None)

    # ------------------------------------------------------------------------------------ memory

    def _load(self, edge: Edge, op: Load | InspectBits) -> None:
        address = self._log.pop()
        by = self._take(op.target)
        if by is not None:
            self._mark(edge, Role.VALUE, by, op.target)
            self._demand(op.address)
            addresses = range(address, address + _width(op.target.sort))
            self._bytes.demand(addresses, self._flows.base(op.address), (self.number, edge.index))

    def _store(self, edge: Edge, op: Store) -> None:
        address = self._log.pop()
        by = self._bytes.overwrite(range(address, address + _width(op.value.sort)))
        if by is not None:
            self._mark(edge, Role.MEMORY, by)
            self._demand(op.address)
            self._demand(op.value)

    def _alloc(self, edge: Edge, op: Alloc) -> None:
        """Handle a new object: its first bytes are values that only this step can provide."""
        address, extent = self._log.pop(), self._log.pop()
        inside = range(address, address + extent)
        demanded = self._bytes.by_address
        few = extent > len(demanded)
        contents = self._bytes.overwrite([at for at in demanded if at in inside] if few else inside)
        by, lifetime = self._take(op.target), self._objects.pop(address, None)
        if lifetime is not None:
            self._mark(edge, Role.LIFETIME, lifetime)
            self._demand(op.size)
        elif by is not None:
            self._mark(edge, Role.VALUE, by, op.target)
        elif contents is not None:
            self._mark(edge, Role.MEMORY, contents)

    def _free(self, edge: Edge) -> None:
        by = self._objects.get(self._log.pop())
        if by is not None:
            assert isinstance(edge.op, Free)
            self._mark(edge, Role.LIFETIME, by)
            self._demand(edge.op.address)

    def _inspect(self, edge: Edge, op: Inspect | InspectHeap) -> None:
        """Handle a question: its answer depends on the address and on the lifetime of the object there."""
        start = self._log.pop()
        by = self._take(op.target)
        if by is None:
            return
        self._mark(edge, Role.VALUE, by, op.target)
        assert self._here is not None
        if isinstance(op, Inspect):
            self._demand(op.address)
            self._demand(op.size)
        if start >= 0:
            self._objects[start] = self._here

    def _loses(self, edge: Edge) -> None:
        """Handle the step that loses the last pointer to an object."""
        self._mark(edge, Role.LIFETIME, min(self._objects.values()))
        for term in terms(edge.op) if isinstance(edge.op, Store) else ():
            self._demand(term)

    # ------------------------------------------------------------------------------------- calls

    def _return(self, edge: Edge) -> None:
        """Go back into the callee of a call; demand its results, and its return if a decision needs that."""
        op, caller, inside = edge.op, self._stack[-1], _Activation()
        assert isinstance(op, Call)
        callee = self._program.procedures[op.procedure]
        needed = [self._take(x) for x in op.targets]
        for result, by in zip(callee.results, needed, strict=False):
            if by is not None:
                inside.values[result] = by
        waiting = [by for branches, by in caller.decisions.items() if edge.source in branches]
        branches = self._flows.of(callee.name).controllers(callee.exit)
        if waiting and branches:
            inside.decisions[branches] = min(waiting)
        self._stack.append(inside)

    def _call(self, edge: Edge, op: Call) -> None:
        inside = self._stack.pop()
        awaited = self._awaited(edge.source)
        if inside.matters is not None:
            self._mark(edge, Role.CALL, inside.matters)
        elif awaited is not None:
            self._mark(edge, Role.BRANCH, awaited)
        parameters = self._program.procedures[op.procedure].parameters
        for parameter, argument in zip(parameters, op.arguments, strict=True):
            if parameter in inside.values:
                self._demand(argument)


def _width(sort: Sort) -> int:
    assert isinstance(sort, MachineSort)
    return sort.width // 8
