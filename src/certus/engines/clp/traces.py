"""Decide whether an abstract derivation is a derivation (Flanagan 2004, sections 3.1 and 6).

A trace is a DAG; each node applies a clause, and is a variant of its head's relation. The trace is
satisfiable, and so a derivation, if there are values for all variables of all nodes. A node that several
others use has the same values for all of them. So the abstract derivation is first decided as it is; if it is
unsatisfiable, it is unfolded to a tree, where every use has values of its own. If the tree is too large,
Spacer decides the equivalent clauses without cycles that have one relation for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from certus.core import build
from certus.core.errors import Unsupported
from certus.core.horn import Clause, Derivation, HornSystem, Step
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr, Function, Kind
from certus.core.walk import substitute_all
from certus.engines.clp.abstraction import Variant
from certus.engines.clp.fixpoint import Fact, Prover
from certus.interpolation.interpolants import path_system
from certus.solvers.z3.derivations import Unexplained, derive
from certus.solvers.z3.spacer import Fact as Conclusion
from certus.solvers.z3.spacer import horn_answer

LARGEST = 3000  # nodes of a tree
EFFORT = 10_000_000  # resource limit of z3 for a derivation whose tree would be larger


@dataclass(slots=True, eq=False)
class Node:
    """One application of a clause; children first in `Trace.nodes`."""

    clause: int
    children: tuple[int, ...]
    kept: tuple[Expr, ...] = ()  # conjuncts of its constraint in the unsatisfiable core


@dataclass(slots=True, eq=False)
class Trace:
    """Nodes, the root last."""

    system: HornSystem
    nodes: list[Node] = field(default_factory=list)

    @property
    def key(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The structure that distinguishes traces."""
        return tuple((node.clause, node.children) for node in self.nodes)

    @property
    def tree_size(self) -> int:
        """The number of nodes after unfolding."""
        sizes: list[int] = []
        for node in self.nodes:
            sizes.append(1 + sum(sizes[child] for child in node.children))
        return sizes[-1]

    @property
    def is_tree(self) -> bool:
        return self.tree_size == len(self.nodes)

    @property
    def has_cycles(self) -> bool:
        """Return whether some relation occurs above itself."""
        bases = self.relations()
        below: list[frozenset[Function]] = []  # the relations in each subtree
        for number, node in enumerate(self.nodes):
            inside = frozenset().union(*(below[c] for c in node.children))
            if number in bases and bases[number] in inside:
                return True
            below.append(inside | {bases[number]} if number in bases else inside)
        return False

    def clause(self, node: Node) -> Clause:
        return self.system.clauses[node.clause]

    def relations(self) -> dict[int, Function]:
        """Return the relation that each node but the root derives."""
        return {n: base.relation for n, base in self.variants().items() if base.relation is not None}

    def variants(self) -> dict[int, Variant]:
        """Return the variant that each node is."""
        heads = ((n, node.clause, self.clause(node).head) for n, node in enumerate(self.nodes))
        return {n: Variant(None if head is None else head.function, clause) for n, clause, head in heads}


def trace_of(system: HornSystem, error: Fact) -> Trace:
    """Return the trace of an abstract derivation, with a node for each fact."""
    trace = Trace(system)
    places: dict[Fact, int] = {}
    stack = [error]
    while stack:
        fact = stack[-1]
        missing = [premise for premise in fact.premises if premise not in places]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if fact not in places:
            places[fact] = len(trace.nodes)
            trace.nodes.append(Node(fact.clause, tuple(places[p] for p in fact.premises)))
    return trace


def unfold(trace: Trace) -> Trace | None:
    """Unfold the trace to a tree; return None if that is too large."""
    if trace.tree_size > LARGEST:
        return None
    tree = Trace(trace.system)
    finished: list[int] = []
    work = [(len(trace.nodes) - 1, False)]
    while work:
        number, ready = work.pop()
        node = trace.nodes[number]
        if not ready:
            work.append((number, True))
            work.extend((child, False) for child in reversed(node.children))
            continue
        split = len(finished) - len(node.children)
        children = tuple(finished[split:])
        del finished[split:]
        finished.append(len(tree.nodes))
        tree.nodes.append(Node(node.clause, children))
    return tree


# ------------------------------------------------------------------------------- satisfiability


def satisfied(trace: Trace, prover: Prover) -> Derivation | Literal[False] | None:
    """Return a derivation if the trace is satisfiable; False if not, and keep the core at its nodes; None if
    the solver gives up."""
    conjuncts: dict[Expr, tuple[int, Expr]] = {}
    bindings: list[Expr] = []
    names = [_renaming(trace.clause(node), number) for number, node in enumerate(trace.nodes)]
    for number, node in enumerate(trace.nodes):
        clause = trace.clause(node)
        own = clause.constraint.args if clause.constraint.kind is Kind.AND else (clause.constraint,)
        for part, renamed in zip(own, substitute_all(own, names[number]), strict=True):
            if renamed is not build.TRUE:
                conjuncts.setdefault(renamed, (number, part))
        for atom, child in zip(clause.body, node.children, strict=True):
            head = trace.clause(trace.nodes[child]).head
            assert head is not None
            arguments = substitute_all(atom.args, names[number])
            parameters = substitute_all(head.args, names[child])
            bindings += [build.eq(a, b) for a, b in zip(arguments, parameters, strict=True)]
    solver = prover.solver()
    solver.add(*(b for b in bindings if b is not build.TRUE))
    answer = solver.check(list(conjuncts), budget=prover.budget, purpose="clp.trace")
    if answer is Answer.UNKNOWN:
        return None
    if answer is Answer.UNSAT:
        for part in solver.core():
            number, original = conjuncts[part]
            trace.nodes[number].kept += (original,)
        return False
    try:
        steps = tuple(
            Step(
                node.clause,
                solver.values([names[n][x] for x in trace.clause(node).variables]),
                node.children,
            )
            for n, node in enumerate(trace.nodes)
        )
    except Unsupported:
        return None
    return Derivation(steps)


def _renaming(clause: Clause, number: int) -> dict[Expr, Expr]:
    return {x: build.var(f"{x.name}@{number}", x.sort) for x in clause.variables}


def refuted(trace: Trace, prover: Prover) -> Derivation | None:
    """Return a derivation where each use of a node may have values of its own, if Spacer finds one. This is
    for a trace whose tree is too large."""
    relations = {n: Function(f"@{n}", base.parameters, BOOL) for n, base in trace.relations().items()}
    clauses: list[Clause] = []
    for number, node in enumerate(trace.nodes):
        clause = trace.clause(node)
        places = zip(clause.body, node.children, strict=True)
        body = tuple(build.apply(relations[child], atom.args) for atom, child in places)
        head = None if clause.head is None else build.apply(relations[number], clause.head.args)
        clauses.append(Clause(clause.variables, body, clause.constraint, head))
    system = path_system(tuple(clauses))
    facts = horn_answer(
        system, budget=prover.budget, statistics=prover.statistics, purpose="clp.dag", effort=EFFORT
    )
    numbers = [node.clause for node in trace.nodes]
    return derived(system, numbers, facts, prover) if isinstance(facts, list) else None


def derived(
    part: HornSystem, numbers: Sequence[int], facts: Sequence[Conclusion], prover: Prover
) -> Derivation | None:
    """Build a derivation from facts about the clauses with these numbers; None if a fact is unexplained."""
    try:
        derivation = derive(part, facts, budget=prover.budget, statistics=prover.statistics)
    except Unexplained:
        return None
    steps = (Step(numbers[step.clause], step.values, step.premises) for step in derivation.steps)
    return Derivation(tuple(steps))


def keep_all(trace: Trace) -> None:
    """Keep the whole constraint of each node, as part of the contradiction."""
    for node in trace.nodes:
        node.kept = (trace.clause(node).constraint,)
