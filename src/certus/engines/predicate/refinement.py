"""New predicates from an infeasible path (seed 001, section 6).

The path's items become relations and its steps Horn clauses (see `logic.interpolation`); variables
that do not matter to the path are left out. The path through a callee that returns starts at its
entry with nothing known but old(x) = x, so what is found there is a summary, good for
every call. Where the path ends inside a call, the callee's entry is reached from the call, and `old` is
not spoken of.

The atoms of the interpolant at an item become predicates at its location only, those of one conjunct
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from certus.core import build
from certus.core.budget import Budget
from certus.core.evidence import old
from certus.core.horn import Clause
from certus.core.program import Location
from certus.core.sorts import BOOL
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import Substitution, substitute, variables
from certus.engines.predicate.abstraction import Group
from certus.engines.predicate.reachability import Item
from certus.engines.predicate.steps import Step, Steps
from certus.logic.interpolation import canonical, interpolants, path_system, predicates

Node = tuple[Item, bool]  # an item; whether it is on a path through a callee that returns


def new_predicates(
    error: Item, steps: Steps, *, budget: Budget, statistics: Statistics
) -> list[tuple[Location, Group]] | None:
    """Groups of predicates at locations that exclude the path to `error`; None if no interpolants were
    found. A group has the atoms of one conjunct of an interpolant."""
    path = _Path(error, steps)
    system = path_system(tuple(path.clauses()))
    found = interpolants(system, budget=budget, statistics=statistics)
    if found is None:
        return None
    result: dict[tuple[Location, Group], None] = {}
    for node, atom in path.atoms.items():
        parameters, formula = found[atom.function]
        meaning = canonical(substitute(formula, dict(zip(parameters, atom.args, strict=True))))
        for conjunct in meaning.args if meaning.kind is Kind.AND else (meaning,):
            group = predicates(conjunct)
            if group:
                result[node[0].location, group] = None
    return list(result)


@dataclass(slots=True, eq=False)
class _Path:
    """The clauses of a path. `atoms` gives each node its relation, applied to the variables that matter."""

    error: Item
    steps: Steps
    atoms: dict[Node, Expr] = field(default_factory=dict)
    _nodes: list[Node] = field(default_factory=list)  # premises first, the error last
    _needed: dict[Node, dict[Expr, None]] = field(default_factory=dict)  # what matters, `old` aside

    def __post_init__(self) -> None:
        self._collect()
        for node in reversed(self._nodes):
            self._need(node)
        for number, node in enumerate(self._nodes[:-1]):
            needed = (*self._needed[node], *self._olds(node))
            relation = Function(f"@{number}", tuple(x.sort for x in needed), BOOL)
            self.atoms[node] = build.apply(relation, needed)

    def premises(self, node: Node) -> list[Node]:
        item, nested = node
        if nested and item.step.kind in ("enter", "start"):
            return []
        return [(premise, nested or position == 1) for position, premise in enumerate(item.premises)]

    def _collect(self) -> None:
        found: dict[Node, None] = {}
        stack: list[Node] = [(self.error, False)]
        while stack:
            node = stack.pop()
            if node not in found:
                found[node] = None
                stack.extend(self.premises(node))
        self._nodes = sorted(found, key=lambda node: (node[0].number, node[1]))

    def _need(self, node: Node) -> None:
        """Tell the premises of a node what matters to it."""
        step, premises = node[0].step, self.premises(node)
        needed = self._needed.setdefault(node, {})
        if not premises:
            return
        terms = [step.condition, *step.definitions, *(step.values.get(x, x) for x in needed)]
        if step.kind == "call":
            reading = step.readings[1]
            after = {step.values[x] for x in needed if x in step.values}
            results = (x for x, symbol in reading.items() if symbol in after)
            self._add(premises[1], results)
            terms.extend((*step.call.arguments, *self.steps.read[step.call.procedure]))
        self._add(premises[0], (x for x in variables(*terms) if x not in step.symbols))

    def _add(self, node: Node, found: Iterable[Expr]) -> None:
        self._needed.setdefault(node, {}).update((x, None) for x in found)

    def _olds(self, node: Node) -> list[Expr]:
        """On a path through a callee: the values at its entry that matter to what follows."""
        if not node[1]:
            return []
        entry = node
        while self.premises(entry):
            entry = self.premises(entry)[0]
        inputs = self.steps.inputs[node[0].location.procedure]
        needed = self._needed[entry]
        return [old(x) for x in inputs if x in needed]

    # ---------------------------------------------------------------------------------- clauses

    def clauses(self) -> Iterable[Clause]:
        for node in self._nodes:
            item, nested = node
            step, premises = item.step, self.premises(node)
            if nested and not premises:
                inputs = self.steps.inputs[item.location.procedure]
                yield self._clause([], build.TRUE, self._read(self.atoms[node], {old(x): x for x in inputs}))
                continue
            body = [
                self._read(self.atoms[premise], step.readings[position])
                for position, premise in enumerate(premises)
            ]
            head = None if item is self.error else self._read(self.atoms[node], step.values)
            yield self._clause(body, build.and_(step.condition, *step.definitions), head)

    def _read(self, atom: Expr, reading: Mapping[Expr, Expr]) -> Expr:
        return build.apply(atom.function, Substitution(reading).apply_all(atom.args))

    def _clause(self, body: list[Expr], constraint: Expr, head: Expr | None) -> Clause:
        terms = (*body, constraint, *(() if head is None else (head,)))
        return Clause(variables(*terms), tuple(body), constraint, head)


def step_chain(error: Item) -> tuple[Step, ...]:
    """All steps an item depends on, each once."""
    found: dict[Item, None] = {}
    stack = [error]
    while stack:
        item = stack.pop()
        if item not in found:
            found[item] = None
            stack.extend(item.premises)
    return tuple(dict.fromkeys(item.step for item in found))
