"""Which steps of an execution its violation depends on, and why: from the error back to the start.

The execution was written down (`Compiled.logging`). Walking it backwards, we know at each step what is
*demanded* there: the values of variables and bytes that steps that matter read later, and the decisions
they depend on. A step matters if it

- gives a value that is demanded: then what it reads is demanded before it;
- is the last branch before a step that matters, in the same activation, among those which that step
  depends on (`flow`);
- takes a side of a branch while another side may overwrite what is demanded;
- calls a procedure with a step that matters, or that might not return.

So whatever the steps that do not matter had been given for values, the steps that matter would happen all
the same, in the same order and with the same values, or another error would come first: provided that all
other steps end, do nothing undefined, and do not write what is demanded by other addresses than they used
(else all indices of an array would matter with one element).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from certus.core.budget import Budget
from certus.core.effects import written
from certus.core.outcome import Reason, Role
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Free,
    Havoc,
    Load,
    Location,
    Program,
    Return,
    Store,
)
from certus.core.sorts import MachineSort, Sort
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.validate.flow import Branches, Flows

_BREATH: Final = 0x3FFF  # steps between two looks at the clock, minus 1


User = tuple[int, int]  # a step that matters: its number and its edge


@dataclass(frozen=True, slots=True)
class Relevance:
    """How many steps matter, the reasons of those that are asked for, by number, and the globals whose values
    at the start matter."""

    matter: int
    reasons: Mapping[int, Reason]
    initial: tuple[Expr, ...]


def relevance(
    program: Program, log: list[int], steps: int, error: Location, depth: int, *, keep: int, budget: Budget
) -> Relevance:
    """Of an execution of so many `steps` to `error`, `depth` calls deep. The log is consumed; a return from
    the call over edge n is -1-n in it. Reasons are kept of the first and the last `keep` steps, and of the
    last `keep` between these that matter."""
    search = _Backwards(program, log, steps, depth, keep)
    search.start(error)
    while log:
        search.step()
        if not search.number & _BREATH:
            budget.check()
    shared = search.shared
    reasons = dict(sorted(search.reasons.items()))
    return Relevance(search.matter, reasons, tuple(v for v in program.globals if v in shared))


@dataclass(slots=True)
class _Activation:
    """What is demanded of one activation of a procedure, each with the next step that needs it."""

    values: dict[Expr, User] = field(default_factory=dict)
    decisions: dict[Branches, User] = field(default_factory=dict)  # the last of these branches
    matters: User | None = None  # the first step known to matter in it, or in what it calls


class _Backwards:
    def __init__(self, program: Program, log: list[int], steps: int, depth: int, keep: int) -> None:
        self.number = steps  # of the step that was looked at last
        self.matter = 0
        self.reasons: dict[int, Reason] = {}
        self.shared: dict[Expr, User] = {}  # globals demanded
        self._keep = keep
        self._between = keep  # how many reasons may still be kept between the first and the last steps
        self._log = log
        self._program = program
        self._flows = Flows(program)
        self._globals = frozenset(program.globals)
        self._bytes: dict[int, tuple[User, Expr | None]] = {}  # demanded, by address: for whom, and its base
        self._demanded: dict[Expr | None, int] = {}  # how many bytes are, by base
        self._readers: dict[Expr | None, User] = {}  # the last step met that reads by a base
        self._stack = [_Activation() for _ in range(depth + 1)]
        self._last = steps - 1
        self._here: User | None = None  # the present step, if it matters
        self._reads: dict[Expr, tuple[Expr, ...]] = {}  # the variables of a term
        self._branches: dict[int, Branches] = {}  # what decides that an edge is executed
        self._acts: dict[type, Callable[[Edge, Any], None]] = {
            Assign: self._assign,
            Assume: self._assume,
            Havoc: self._havoc,
            Return: self._assign,
            Load: self._load,
            Store: self._store,
            Alloc: self._alloc,
            Free: lambda edge, op: None,
            Call: self._call,
        }

    def start(self, error: Location) -> None:
        """The last step is the violation; what decides that it happens is demanded."""
        failure = self._flows.of(error.procedure).failure
        last = next((entry for entry in reversed(self._log) if entry >= 0), None)
        if failure and last is not None:
            self._stack[-1].decisions[failure] = (self._last, last)

    def step(self) -> None:
        entry = self._log.pop()
        if entry < 0:
            self._return(self._program.edge[-1 - entry])
            return
        self.number -= 1
        self._here = None
        edge = self._program.edge[entry]
        if self.number == self._last:
            self._claim(edge)
        else:
            self._acts[type(edge.op)](edge, edge.op)

    def _claim(self, edge: Edge) -> None:
        by = (self._last, edge.index)
        if isinstance(edge.op, Assume):
            self._decide(edge, Role.CLAIM, by)
        else:
            self._acts[type(edge.op)](edge, edge.op)
            self._mark(edge, Role.CLAIM, by)

    # ----------------------------------------------------------------------------------- demands

    def _mark(self, edge: Edge, role: Role, by: User, variable: Expr | None = None) -> None:
        """The present step matters: what decides that it happens is demanded."""
        activation = self._stack[-1]
        if self._here is None:
            self.matter += 1
            self._here = (self.number, edge.index)
            if self._is_kept():
                self.reasons[self.number] = Reason(role, *by, variable)
        activation.matters = self._here
        branches = self._branches.get(edge.index)
        if branches is None:
            branches = self._flows.of(edge.source.procedure).controllers(edge.source)
            self._branches[edge.index] = branches
        if branches:
            activation.decisions[branches] = self._here

    def _is_kept(self) -> bool:
        if self.number < self._keep or self.number > self._last - self._keep:
            return True
        self._between -= 1
        return self._between >= 0

    def _demand(self, term: Expr) -> None:
        """The present step reads a term."""
        found = self._reads.get(term)
        if found is None:
            found = self._reads[term] = tuple(variables(term))
        local, here = self._stack[-1].values, self._here
        assert here is not None
        for x in found:
            (self.shared if x in self._globals else local)[x] = here

    def _take(self, variable: Expr) -> User | None:
        """The step that needs the value which a variable is given here, if any."""
        found = self._stack[-1].values.pop(variable, None)
        return self.shared.pop(variable, None) if found is None else found

    def _awaited(self, at: Location) -> User | None:
        """The step that needs the decision which is made at `at`, if any."""
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

    def _assume(self, edge: Edge, op: Assume) -> None:
        by = self._awaited(edge.source)
        if by is not None:
            self._decide(edge, Role.BRANCH, by)
            return
        found = self._kept(edge)
        if found is not None:
            self._decide(edge, Role.KEEP, *found)

    def _decide(self, edge: Edge, role: Role, by: User, variable: Expr | None = None) -> None:
        assert isinstance(edge.op, Assume)
        self._awaited(edge.source)
        self._mark(edge, role, by, variable)
        self._demand(edge.op.condition)

    def _kept(self, edge: Edge) -> tuple[User, Expr | None] | None:
        """What is demanded, and might be overwritten on another side of a branch."""
        passed = self._flows.of(edge.source.procedure).passed_over(edge)
        for demanded in (self._stack[-1].values, self.shared):
            if passed.variables is None or not demanded.keys().isdisjoint(passed.variables):
                found = (x for x in demanded if passed.variables is None or x in passed.variables)
                for x in found:
                    return demanded[x], x
        if passed.memory:
            for base, count in self._demanded.items():
                if count and (base is None or base in passed.memory or None in passed.memory):
                    return self._readers[base], None
        return None

    # ------------------------------------------------------------------------------------ memory

    def _load(self, edge: Edge, op: Load) -> None:
        address = self._log.pop()
        by = self._take(op.target)
        if by is not None:
            self._mark(edge, Role.VALUE, by, op.target)
            self._demand(op.address)
            self._demand_bytes(range(address, address + _width(op.target.sort)), self._flows.base(op.address))

    def _store(self, edge: Edge, op: Store) -> None:
        address = self._log.pop()
        if self._bytes:
            by = self._overwritten(range(address, address + _width(op.value.sort)))
            if by is not None:
                self._mark(edge, Role.MEMORY, by)
                self._demand(op.address)
                self._demand(op.value)

    def _alloc(self, edge: Edge, op: Alloc) -> None:
        """The bytes of a new object have a value, too; no other step gives one to those still demanded."""
        address, extent = self._log.pop(), self._log.pop()
        inside = range(address, address + extent)
        if extent > len(self._bytes):
            contents = self._overwritten([at for at in self._bytes if at in inside])
        else:
            contents = self._overwritten(inside)
        by = self._take(op.target)
        if by is not None:
            self._mark(edge, Role.VALUE, by, op.target)
        elif contents is not None:
            self._mark(edge, Role.MEMORY, contents)

    def _demand_bytes(self, addresses: range, base: Expr | None) -> None:
        """The present step reads bytes."""
        self._overwritten(addresses)
        assert self._here is not None
        self._bytes.update(dict.fromkeys(addresses, (self._here, base)))
        self._demanded[base] = self._demanded.get(base, 0) + len(addresses)
        self._readers[base] = self._here

    def _overwritten(self, addresses: range | list[int]) -> User | None:
        """The step that needs bytes which are written here, if any; they are not demanded any more."""
        found: User | None = None
        for at in addresses:
            if at in self._bytes:
                user, base = self._bytes.pop(at)
                self._demanded[base] -= 1
                found = user if found is None else min(found, user)
        return found

    # ------------------------------------------------------------------------------------- calls

    def _return(self, edge: Edge) -> None:
        """Back into the callee of a call: results that are demanded, and that it returns if need be."""
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
