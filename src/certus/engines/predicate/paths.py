"""Execute abstract counterexamples symbolically: get a trace or an unsat core (Wolff 2015, section 5).

An item at an error, with its premises, is a path with calls: where a step passes over a call, the second
premise is the end of a path through the callee. `flatten` turns it into a sequence of blocks, entries and
exits of calls. The formula of the path is the conjunction of the blocks' instances, linear in the length of
the path whatever choices its blocks have. A model of it is an execution. Without a model, an unsatisfiable
core has the conjuncts that matter: the path sliced to these is still infeasible.

Consecutive paths often have a common prefix. Symbols are named by position, so the formula of the prefix is
the same and is built and encoded only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Literal

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Trace
from certus.core.intervals import conjuncts
from certus.core.program import Havoc, Program
from certus.core.solver import Answer
from certus.core.terms import BOOL, ArraySort, Expr, Value
from certus.core.values import ArrayValue
from certus.core.walk import Substitution
from certus.encoding.block_formula import Instance
from certus.engines.predicate.reachability import Item
from certus.engines.predicate.steps import Step
from certus.solvers.z3.api import Z3Context
from certus.solvers.z3.integer_solver import Encodings, IntegerSolver
from certus.solvers.z3.terms import Z3Terms

Node = tuple[Item, bool]  # an item, and whether it is on a path through a callee that returns
Block = tuple[Instance, tuple[Expr, ...]]  # an instance, and those of the conjuncts of its step
Kept = Mapping[Node, frozenset[int]]  # conjuncts of the steps to items, by number
CORES = 2  # how often to compute a core of a core
FEW = 60  # larger cores are not minimised literal by literal
EFFORT = 5_000_000  # resource limit of z3 for one core: a few seconds
_PATH, _CORE = "path", "core"
_OPTIONS = {"rlimit": EFFORT, "arith.solver": 2}  # z3's older simplex: better on many choices, few numbers


@dataclass(frozen=True, slots=True)
class Action:
    """The last step to a node: execute a block, enter the callee of a call, or leave it."""

    what: Literal["block", "enter", "leave"]
    node: Node

    @property
    def step(self) -> Step:
        return self.node[0].step


def flatten(error: Item, budget: Budget) -> list[Action]:
    """Return the actions on the path to `error`, in order."""
    actions: list[Action] = []
    # still to be put in front of `actions`: an action, or the path to an item, which for a path through a
    # callee (`nested`) starts at its entry
    stack: list[Action | tuple[Item, bool]] = [(error, False)]
    while stack:
        top = stack.pop()
        if isinstance(top, Action):
            actions.append(top)
            continue
        budget.check()
        item, nested = top
        step = item.step
        if step.kind == "call":
            before, summary = item.premises
            actions.append(Action("leave", top))
            stack.extend(((before, nested), Action("enter", top), (summary, True)))
        elif step.kind == "block":
            actions.append(Action("block", top))
            stack.append((item.premises[0], nested))
        elif step.kind == "enter" and not nested:
            actions.append(Action("enter", top))
            stack.append((item.premises[0], False))
    actions.reverse()
    return actions


@dataclass(slots=True, eq=False)
class Executed:
    """Parts that the formulas of paths share: blocks executed at a position from certain values, and their
    encodings for solvers."""

    terms: Z3Terms = field(default_factory=lambda: Z3Terms(Z3Context()))
    encodings: Encodings = field(default_factory=dict)
    blocks: dict[tuple[object, ...], Block] = field(default_factory=dict)

    def block(self, step: Step, number: int, before: Mapping[Expr, Expr]) -> Block:
        key = (step, number, *before.items())
        block = self.blocks.get(key)
        if block is None:
            assert step.formula is not None
            instance = step.formula.instance(number, before, separate=True)
            guards = Substitution({**before, **instance.renamed}).apply_all(conjuncts(step.condition))
            block = self.blocks[key] = (instance, (*instance.definitions, *guards))
        return block


@dataclass(slots=True, eq=False)
class PathFormula:
    """A path executed symbolically: `constraints` are satisfiable exactly if it is feasible. `parts` has for
    each block its node and the instances of the conjuncts of its step."""

    program: Program
    actions: list[Action]
    shared: Executed = field(default_factory=Executed)
    parts: list[tuple[Node, tuple[Expr, ...]]] = field(default_factory=list)
    initial: dict[Expr, Expr] = field(default_factory=dict)  # symbols of globals without initial value
    instances: list[Instance] = field(default_factory=list)
    _literals: dict[Expr, list[Expr]] = field(
        default_factory=dict
    )  # for each conjunct a literal, with its instances
    _origins: dict[Expr, tuple[Node, int]] = field(default_factory=dict)  # the conjunct of each literal
    _conflict: tuple[Expr, ...] = ()  # an unsatisfiable core of the literals
    _globals: dict[Expr, Expr] = field(default_factory=dict)
    _frames: list[dict[Expr, Expr]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        for x in self.program.globals:
            value = self.program.initial.get(x)
            if value is None:
                value = self.initial[x] = build.var(f"{x.name}@start", x.sort)
            self._globals[x] = value
        self._push(self.program.main, {})
        for action in self.actions:
            if action.what == "block":
                self._block(action)
            elif action.what == "enter":
                arguments = Substitution(self._values()).apply_all(action.step.call.arguments)
                callee = self.program.procedures[action.step.call.procedure]
                self._push(callee.name, dict(zip(callee.parameters, arguments, strict=True)))
            else:
                self._leave(action.step)
        nodes: dict[Node, int] = {}
        for node, parts in self.parts:
            position = nodes.setdefault(node, len(nodes))
            for number, part in enumerate(parts):
                if part is not build.TRUE:
                    literal = build.var(f"@core.{position}.{number}", BOOL)
                    self._origins[literal] = (node, number)
                    self._literals.setdefault(literal, []).append(part)

    @property
    def constraints(self) -> list[Expr]:
        return [part for _, parts in self.parts for part in parts]

    def _values(self) -> dict[Expr, Expr]:
        return {**self._globals, **self._frames[-1]}

    def _push(self, name: str, bound: Mapping[Expr, Expr]) -> None:
        number = next(self._numbers)
        locals_ = self.program.procedures[name].variables
        frame = {x: build.var(f"{x.name}@entry.{number}", x.sort) for x in locals_ if x not in bound}
        self._frames.append({**frame, **bound})

    def _block(self, action: Action) -> None:
        instance, parts = self.shared.block(action.step, next(self._numbers), self._values())
        self.instances.append(instance)
        self.parts.append((action.node, parts))
        for x, value in instance.values.items():
            (self._globals if x in self._globals else self._frames[-1])[x] = value

    def _leave(self, step: Step) -> None:
        callee = self.program.procedures[step.call.procedure]
        frame = self._frames.pop()
        for target, result in zip(step.call.targets, callee.results, strict=False):
            (self._globals if target in self._globals else self._frames[-1])[target] = frame[result]

    def trace(self, budget: Budget, statistics: Statistics) -> Trace | Answer:
        """Return an execution along the path, UNSAT if there is none, or UNKNOWN."""
        terms, encodings = self.shared.terms, self.shared.encodings
        solver = IntegerSolver(statistics, options=_OPTIONS, terms=terms, encodings=encodings)
        for _, literals in groupby(self._literals.items(), lambda item: self._origins[item[0]][0]):
            solver.add(*_named(dict(literals)))
        answer = solver.check(tuple(self._literals), budget=budget, purpose=_PATH)
        if answer is Answer.UNSAT:
            self._conflict = solver.core()
        elif answer is Answer.UNKNOWN:  # without assumptions z3 has more strategies
            budget.check()
            solver = IntegerSolver(statistics, terms=terms)
            solver.add(*self.constraints)
            answer = solver.check(budget=budget, purpose=_PATH)
        if answer is not Answer.SAT:
            return answer

        def value(term: Expr) -> Value:
            result = solver.value(term)
            assert not isinstance(result, ArrayValue), "inputs are scalars"
            return result

        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for instance in self.instances:
            for passage in instance.path(value):
                if isinstance(passage.edge.op, Havoc):
                    inputs.setdefault(passage.edge.key, []).append(passage.inputs)
        scalars = {x: s for x, s in self.initial.items() if not isinstance(x.sort, ArraySort)}
        return Trace(
            self.actions[-1].step.target.name,
            {x: value(symbol) for x, symbol in scalars.items()},
            {edge: tuple(values) for edge, values in inputs.items()},
        )

    def core(self, budget: Budget, statistics: Statistics) -> Kept:
        """Return conjuncts of the blocks that are inconsistent, minimised with little effort."""
        parts = {literal: self._literals[literal] for literal in self._conflict or self._literals}
        kept: dict[Node, set[int]] = {}
        for literal in _minimal(parts, budget, statistics, self.shared.terms):
            node, number = self._origins[literal]
            kept.setdefault(node, set()).add(number)
        return {node: frozenset(numbers) for node, numbers in kept.items()}


def _named(parts: Mapping[Expr, list[Expr]]) -> Iterator[Expr]:
    """Return the parts, each implied by its literal."""
    return (build.implies(literal, part) for literal, instances in parts.items() for part in instances)


def _minimal(
    parts: dict[Expr, list[Expr]], budget: Budget, statistics: Statistics, terms: Z3Terms
) -> tuple[Expr, ...]:
    """Return literals whose parts are inconsistent: the core of a core, then without single literals."""
    literals = tuple(parts)
    for _ in range(CORES):
        solver = IntegerSolver(statistics, options=_OPTIONS, terms=terms)
        solver.add(*_named({literal: parts[literal] for literal in literals}))
        if solver.check(literals, budget=budget, purpose=_CORE) is not Answer.UNSAT:
            return literals
        core = solver.core()
        if len(core) == len(literals):
            break
        literals = core
    for literal in reversed(literals) if len(literals) <= FEW else ():
        if literal in literals:
            fewer = tuple(other for other in literals if other is not literal)
            if solver.check(fewer, budget=budget, purpose=_CORE) is Answer.UNSAT:
                core = solver.core()
                literals = tuple(other for other in literals if other in core)
    return literals
