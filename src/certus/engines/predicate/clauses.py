"""Translate a path to an error into Horn clauses (see `refinement`).

A *node* is an item on the main path, or on a path through a callee that returns. Each group of nodes has one
relation over the variables that matter to it. Every node is a group of its own; if the path is *collapsed*,
all nodes at one location (and on the same kind of path) are one group. If the path is also *completed*, it
has all steps of its recursive procedures and of their callees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from certus.core import build
from certus.core.evidence import old
from certus.core.horn import Clause, HornSystem, clause_of
from certus.core.intervals import conjuncts
from certus.core.loops import call_graph
from certus.core.program import Location
from certus.core.terms import BOOL, Expr, Function
from certus.core.walk import Substitution, variables
from certus.encoding.bindings import bindings
from certus.engines.predicate.paths import Kept, Node
from certus.engines.predicate.reachability import Item
from certus.engines.predicate.steps import Step, Steps
from certus.interpolation.interpolants import path_system

Group = tuple[Item | Location, bool]


@dataclass(frozen=True, slots=True, eq=False)
class _Sliced:
    """A step without the conjuncts that do not matter: its constraint, and the values after it."""

    constraint: Expr
    values: Mapping[Expr, Expr]


@dataclass(slots=True, eq=False)
class PathClauses:
    """The clauses of the path to `error`, with the conjuncts `kept` of its steps (None: all)."""

    error: Item
    steps: Steps
    kept: Kept | None
    collapsed: bool = field(default=False, kw_only=True)
    completed: bool = field(default=False, kw_only=True)
    _nodes: list[Node] = field(default_factory=list)  # premises first, the error last
    _sliced: dict[Node, _Sliced] = field(default_factory=dict)
    _needed: dict[Group, dict[Expr, None]] = field(
        default_factory=dict
    )  # variables that matter, without `old`
    _atoms: dict[Group, Expr] = field(
        default_factory=dict
    )  # the relation, applied to the variables that matter

    def __post_init__(self) -> None:
        self._collect()
        self._slice()
        while self._need_more():
            pass
        for node in self._nodes[:-1]:
            group = self._group(node)
            if group not in self._atoms:
                needed = (*self._needed[group], *self._olds(node))
                relation = Function(f"@{len(self._atoms)}", tuple(x.sort for x in needed), BOOL)
                self._atoms[group] = build.apply(relation, needed)

    @property
    def has_cycles(self) -> bool:
        """Return whether the path visits some location twice."""
        return len({(item.location, nested) for item, nested in self._nodes}) < len(self._nodes)

    @property
    def is_recursive(self) -> bool:
        """Return whether a recursive procedure returns on the path."""
        return any(nested and item.location.procedure in self.steps.recursive for item, nested in self._nodes)

    def relations(self) -> Iterator[tuple[Location, Expr]]:
        """Yield for each relation the location of its items, and the relation applied to their variables."""
        for (place, _), atom in self._atoms.items():
            yield place if isinstance(place, Location) else place.location, atom

    def _group(self, node: Node) -> Group:
        return (node[0].location, node[1]) if self.collapsed else node

    def _premises(self, node: Node) -> list[Node]:
        item, nested = node
        if nested and item.step.kind in ("enter", "start"):
            return []
        return [(premise, nested or position == 1) for position, premise in enumerate(item.premises)]

    def _collect(self) -> None:
        nodes: dict[Node, None] = {}
        stack: list[Node] = [(self.error, False)]
        while stack:
            node = stack.pop()
            if node not in nodes:
                nodes[node] = None
                stack.extend(self._premises(node))
        self._nodes = sorted(nodes, key=lambda node: (node[0].number, node[1]))
        if self.completed:
            self._nodes[:0] = self._further()

    def _further(self) -> list[Node]:
        """Return nodes for the steps of recursive procedures that the path does not take."""
        item_at = {item.location: item for item, nested in self._nodes if nested}
        taken = {item.step for item, nested in self._nodes if nested}
        calls = call_graph(self.steps.program)
        procedures = [name for name in calls if name in self.steps.recursive & {x.procedure for x in item_at}]
        for name in procedures:
            procedures.extend(callee for callee in calls[name] if callee not in procedures)
        steps_left = [
            step
            for place, steps in self.steps.before.items()
            for step in steps
            if place.procedure in procedures
            and step not in taken
            and step.target not in self.steps.program.error_locations
        ]
        nodes: list[Node] = []
        while ready := [s for s in steps_left if s.kind == "enter" or all(x in item_at for x in s.premises)]:
            steps_left = [step for step in steps_left if step not in ready]
            for step in ready:
                premises = () if step.kind == "enter" else tuple(item_at[x] for x in step.premises)
                item = Item(0, step.target, self.error.region, step, premises)
                item_at.setdefault(step.target, item)
                nodes.append((item, True))
        return nodes

    # ----------------------------------------------------------------------------------- slices

    def _slice(self) -> None:
        """Reduce each step to its kept conjuncts; if collapsed, to those kept at any of its nodes."""
        anywhere: dict[Step, set[int]] = {}
        for node in self._nodes:
            numbers_here = () if self.kept is None else self.kept.get(node, ())
            anywhere.setdefault(node[0].step, set()).update(numbers_here)
        sliced: dict[tuple[Step, frozenset[int] | None], _Sliced] = {}
        for node in self._nodes:
            step = node[0].step
            numbers: frozenset[int] | None = None
            if self.kept is not None:
                numbers = frozenset(anywhere[step] if self.collapsed else self.kept.get(node, ()))
            if (step, numbers) not in sliced:
                sliced[step, numbers] = _sliced(step, numbers)
            self._sliced[node] = sliced[step, numbers]

    # ------------------------------------------------------------------------- variables that matter

    def _need_more(self) -> bool:
        """Pass the variables that matter from every node to its premises; return whether to repeat that."""
        before = sum(map(len, self._needed.values()))
        for node in reversed(self._nodes):
            self._need(node)
        return self.collapsed and sum(map(len, self._needed.values())) > before

    def _need(self, node: Node) -> None:
        step, sliced, premises = node[0].step, self._sliced[node], self._premises(node)
        needed = self._needed.setdefault(self._group(node), {})
        if not premises:
            return
        terms = [sliced.constraint, *(sliced.values.get(x, x) for x in needed)]
        if step.kind == "call":
            reading = step.readings[1]
            after = {step.values[x] for x in needed if x in step.values}
            self._add(premises[1], (x for x, symbol in reading.items() if symbol in after))
            terms.extend((*step.call.arguments, *self.steps.read[step.call.procedure]))
        self._add(premises[0], (x for x in variables(*terms) if x not in step.symbols))

    def _add(self, node: Node, names: Iterable[Expr]) -> None:
        self._needed.setdefault(self._group(node), {}).update((x, None) for x in names)

    def _olds(self, node: Node) -> list[Expr]:
        """Return the entry values that matter to a path through a callee; none on the main path."""
        if not node[1]:
            return []
        entry = node
        while premises := self._premises(entry):
            entry = premises[0]
        inputs = self.steps.inputs[node[0].location.procedure]
        needed = self._needed[self._group(entry)]
        return [old(x) for x in inputs if x in needed]

    # ---------------------------------------------------------------------------------- clauses

    def system(self) -> HornSystem:
        return path_system(tuple(dict.fromkeys(self._clauses())))

    def _clauses(self) -> Iterator[Clause]:
        for node in self._nodes:
            item, nested = node
            sliced, premises = self._sliced[node], self._premises(node)
            if nested and not premises:
                inputs = self.steps.inputs[item.location.procedure]
                entry = self._read(self._atoms[self._group(node)], {old(x): x for x in inputs})
                yield clause_of([], build.TRUE, entry)
                continue
            body = [
                self._read(self._atoms[self._group(premise)], item.step.readings[position])
                for position, premise in enumerate(premises)
            ]
            head = None
            if item is not self.error:
                head = self._read(self._atoms[self._group(node)], sliced.values)
            yield clause_of(body, sliced.constraint, head)

    def _read(self, atom: Expr, reading: Mapping[Expr, Expr]) -> Expr:
        return build.apply(atom.function, Substitution(reading).apply_all(atom.args))


def _sliced(step: Step, numbers: frozenset[int] | None) -> _Sliced:
    """Return the step with these of its conjuncts, simplified: literals that must be true, and symbols equal
    to a term, are replaced."""
    parts = [
        part
        for number, part in enumerate((*step.definitions, *conjuncts(step.condition)))
        if numbers is None or number in numbers
    ]
    values = dict(step.values)
    while bound := bindings(parts, step.symbols.__contains__):
        substitution = Substitution(bound)
        whole = build.conjunction(substitution.apply_all(parts))
        parts = list(conjuncts(whole))
        values = dict(zip(values, substitution.apply_all(values.values()), strict=True))
    return _Sliced(build.conjunction(parts), values)
